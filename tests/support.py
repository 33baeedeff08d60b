"""What the tests share: requests as a client writes them, the server without a socket, and a raw socket."""

import contextlib
import copy
import importlib
import io
import json
import os
import re
import socket
import sys
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, TypeVar
from unittest import mock

from mcp_ref import Server, cli
from mcp_ref.base.headers import mirrored_headers
from mcp_ref.base.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from mcp_ref.base.request import Head, Request
from mcp_ref.base.versioning import LATEST
from mcp_ref.transports.endpoint import Endpoint
from mcp_ref.transports.http_server import HTTPServer

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
ALL_CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}, "roots": {}}
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
Test = TypeVar("Test")


def proves(*ids: str) -> Callable[[Test], Test]:
    """Name what a test, or every test of a class, fails without: requirements and recorded cases.

    ids: of mcp_ref/spec/requirements.tsv, "HTTP-35..39" for a range, or such as "C021" of ../shared/cases. They are
    read where they stand (explain.claims). A rule is broken only if one of its tests fails, so a rule with two halves
    (both ends of the wire, say) has a test for each.
    """
    for each in ids:
        if not re.fullmatch(r"[A-Z]+-\d\d(\.\.\d\d)?|C\d{3}", each):
            raise ValueError(f"not an id or a range of ids: {each}")
    return lambda test: test


def not_on_wasm(why):
    """Marks a test that cannot be on WebAssembly; tests/wasm skips by itself what asks for threads or sockets."""
    return unittest.skipIf(sys.platform in ("emscripten", "wasi"), why)


def meta(capabilities: Optional[Dict[str, Any]] = None, **more: Any) -> Dict[str, Any]:
    """The `_meta` of a request."""
    return {PROTOCOL_VERSION: LATEST, CLIENT_INFO: {"name": "test", "version": "0"},
            CLIENT_CAPABILITIES: copy.deepcopy(ALL_CAPABILITIES if capabilities is None else capabilities), **more}


def message(method: str, params: Optional[Dict[str, Any]] = None, id: Any = 1,
            capabilities: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """A valid JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta(capabilities), **(params or {})}}


def asking(tool: str, token: Any = None, level: Any = None, id: Any = 1, **arguments: Any) -> Dict[str, Any]:
    """tools/call with a progress token and a log level."""
    more = {} if token is None else {"progressToken": token}
    if level is not None:
        more[LOG_LEVEL] = level
    return message("tools/call", {"name": tool, "arguments": arguments, "_meta": meta(**more)}, id)


def headers(body: Dict[str, Any], **more: Any) -> Dict[str, str]:
    """The headers that a client sends with `body`; None takes one away, `_` in a name stands for `-`."""
    made = {"host": "127.0.0.1:8000", "content-type": "application/json",
            "accept": "application/json, text/event-stream", "mcp-protocol-version": LATEST}
    made.update({name.lower(): value for name, value in mirrored_headers(body).items()})
    made.update({name.replace("_", "-").lower(): value for name, value in more.items()})
    return {name: value for name, value in made.items() if value is not None}


class Reply(NamedTuple):
    """status, the JSON body, the header fields, and the notifications sent ahead."""

    status: int
    body: Any
    headers: Dict[str, str]
    sent: Any

    @property
    def result(self) -> Any:
        return self.body["result"]

    @property
    def error(self) -> Any:
        return self.body["error"]

    @property
    def text(self) -> str:
        return self.body["result"]["content"][0]["text"]


def exchange(server: Any, raw: bytes, head: Optional[Head], endpoint: Optional[Endpoint] = None) -> Reply:
    """Hand octets to the core, as a transport does."""
    sent: List[Any] = []
    request = Request(lambda: raw, head, sent.append, endpoint or (Endpoint() if head else None))
    answer = server.handle(request)
    body = json.loads(answer.body) if answer.body else None
    return Reply(answer.status, body, dict(answer.headers), sent)


def post(server: Any, body: Any, extra: Optional[Dict[str, Any]] = None, repeated: Any = (), **more: Any) -> Reply:
    """POST a message (or raw octets) to the core over HTTP without a socket. extra, more: headers to change."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    shape = body if isinstance(body, dict) and isinstance(body.get("method"), str) else {"method": "tools/list"}
    if not isinstance(shape.get("params", {}), dict):
        shape = {"method": shape["method"]}
    fields = headers(shape, **{**more, **(extra or {})})
    fields.setdefault("content-length", str(len(raw)))
    return exchange(server, raw, Head("POST", "/mcp", fields, frozenset(repeated)))


def call(server: Any, tool: str, arguments: Optional[Dict[str, Any]] = None, id: Any = 1,
         capabilities: Optional[Dict[str, Any]] = None, extra: Optional[Dict[str, Any]] = None, **params: Any) -> Reply:
    """tools/call."""
    body = message("tools/call", {"name": tool, "arguments": arguments or {}, **params}, id, capabilities)
    return post(server, body, extra)


def stdio(server: Any, body: Any) -> Reply:
    """A message by the stdio ladder: no head."""
    return exchange(server, body if isinstance(body, bytes) else json.dumps(body).encode(), None)


class Older:
    """A client of a revision before 2026-07-28, whose messages reach the core over HTTP without a socket.

    `initialize` begins its session; capabilities, version and more headers are what it says then and from then on.
    """

    def __init__(self, server: Any, version: str = "2025-11-25", capabilities: Optional[Dict[str, Any]] = None,
                 **more: str) -> None:
        self.server, self.version, self.more = server, version, more
        self.capabilities = {"elicitation": {}, "sampling": {}, "roots": {}} if capabilities is None else capabilities
        self.session: Optional[str] = None
        self.count = 0

    def send(self, body: Any, method: str = "POST", target: str = "/mcp", **more: Any) -> Reply:
        """Send a message, or octets. more: headers to change, as of `headers`."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"host": "127.0.0.1:8000", "content-type": "application/json", "content-length": str(len(raw)),
                  "accept": "application/json, text/event-stream", "mcp-session-id": self.session, **self.more,
                  **{name.replace("_", "-").lower(): value for name, value in more.items()}}
        fields = {name: value for name, value in fields.items() if value is not None}
        return exchange(self.server, raw, Head(method, target, fields))

    def request(self, method: str, params: Optional[Dict[str, Any]] = None, **more: Any) -> Reply:
        self.count += 1
        return self.send({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params or {}}, **more)

    def notify(self, method: str, params: Optional[Dict[str, Any]] = None, **more: Any) -> Reply:
        return self.send({"jsonrpc": "2.0", "method": method, "params": params or {}}, **more)

    def call(self, tool: str, **arguments: Any) -> Reply:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def initialize(self) -> Reply:
        """Begin a session, and say that it is."""
        reply = self.request("initialize", {"protocolVersion": self.version, "capabilities": self.capabilities,
                                            "clientInfo": {"name": "older", "version": "1"}})
        self.session = reply.headers.get("Mcp-Session-Id", self.session)
        self.notify("notifications/initialized")
        return reply


class Clock:
    """Stands in for the `time` of a module: `ahead` seconds can pass at once."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def time(self) -> float:
        return time.time() + self.ahead


def at_some_pace(attempt: Callable[[float], None], seconds: float = 0.2) -> None:
    """Call `attempt` with a time that something is to take, a longer one where the machine was too slow for it."""
    for pace in (seconds, 5 * seconds, 25 * seconds):
        try:
            return attempt(pace)
        except Exception:  # of any kind: a time that was too short shows in many ways
            pass
    attempt(125 * seconds)


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What `condition` gives, once it is true; the test fails where that does not come."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("it did not come to that")
        time.sleep(0.002)


def run_command(*arguments: str, **environment: str) -> Tuple[Any, str, str]:
    """(status, standard output, standard error) of one command line, in this process; its input is empty."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as changed:
        changed.enter_context(contextlib.redirect_stdout(out))
        changed.enter_context(contextlib.redirect_stderr(err))
        changed.enter_context(mock.patch.object(sys, "stdin", io.StringIO()))
        changed.enter_context(mock.patch.dict(os.environ, environment))
        changed.enter_context(mock.patch("logging.basicConfig"))
        try:
            status: Any = cli.main(list(arguments))
        except SystemExit as stop:
            status = stop.code
    return status, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """As a process of its own with that current folder: what is imported from below it is forgotten again."""
    before, path = os.getcwd(), list(sys.path)
    os.chdir(folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def echo_server(**options: Any) -> Server:
    """A server with the tool `echo`, which returns its text."""
    server = Server("echoing", "1", **options)

    @server.tool
    def echo(ctx: Any, text: str = "") -> str:
        return text

    return server


def full_server(**options: Any) -> Server:
    """A server with one of each, which `ask` asks for a name, and `work` tells how far it is."""
    server = Server("full", "1", logging=True, **options)

    @server.tool
    def echo(ctx: Any, text: str = "") -> str:
        return text

    @server.tool
    def ask(ctx: Any) -> str:
        return ctx.elicit("Who?", {"name": {"type": "string"}}, "who")["name"]

    @server.tool
    def work(ctx: Any) -> str:
        ctx.progress(1, total=2)
        ctx.log("info", "half way")
        ctx.progress(2, total=2)
        return "done"

    @server.tool
    def broken(ctx: Any) -> str:
        raise RuntimeError("out of order")

    @server.resource("demo://one", name="one")
    def one() -> str:
        return "1"

    @server.resource("demo://{key}", name="any")
    def any_of(key: str) -> str:
        if key == "broken":
            raise RuntimeError("out of order")
        return key

    @server.prompt
    def greet(tone: str = "kind") -> str:
        return tone

    server.completion("greet", "tone")(lambda value: ["kind", "curt"])
    return server


def raising(error: BaseException) -> Callable[[], str]:
    """A handler that raises `error`."""
    def handler() -> str:
        raise error

    return handler


def accept(**content: Any) -> Dict[str, Any]:
    """The answer of a user who fills in a form."""
    return {"action": "accept", "content": content}


class Talk:
    """A client that answers what it is asked, and keeps that round by round. target: what it calls, as params."""

    def __init__(self, server: Server, method: str = "tools/call", **target: Any) -> None:
        self.server, self.method, self.target = server, method, target
        self.asked: List[Dict[str, Any]] = []

    def once(self, **more: Any) -> Reply:
        reply = post(self.server, message(self.method, {**self.target, **more}))
        if "result" in reply.body and reply.result["resultType"] == "input_required":
            self.asked.append(reply.result.get("inputRequests", {}))
        return reply

    def run(self, answer: Any, rounds: int = 12) -> Reply:
        """The last reply. answer: gives the answer to one request."""
        reply = self.once()
        while "result" in reply.body and reply.result["resultType"] == "input_required" and rounds:
            rounds -= 1
            requests = reply.result.get("inputRequests", {})
            reply = self.once(requestState=reply.result["requestState"],
                              inputResponses={key: answer(request) for key, request in requests.items()})
        return reply

    @property
    def messages(self) -> List[str]:
        return [request["params"]["message"] for requests in self.asked for request in requests.values()]


def served(handler: Any, method: str) -> Tuple[Server, Talk]:
    """A server on which `handler` is what the method of that name reaches, and a Talk with it."""
    server = Server("served", "1")
    if method == "tools/call":
        server.add_tool(handler, name="it")
        return server, Talk(server, method, name="it")
    if method == "prompts/get":
        server.add_prompt(handler, name="it")
        return server, Talk(server, method, name="it")
    server.add_resource("x://it", handler, name="it")
    return server, Talk(server, method, uri="x://it")


class Timed(unittest.TestCase):
    """Tests of what takes milliseconds, and could take minutes."""

    def soon(self, function: Callable[..., Any], *arguments: Any, seconds: float = 3.0) -> Any:
        """What it returns; the seconds are those of the processor, which may have others to serve."""
        before = time.process_time()
        result = function(*arguments)
        self.assertLess(time.process_time() - before, seconds)
        return result


class ServerCase(unittest.TestCase):
    """Tests of a server over a socket: what is started and connected here ends with the test."""

    def serve(self, server: Server, **options: Any) -> HTTPServer:
        """Start it. options: of HTTPServer. Clients go to the one that was started last."""
        self.http = HTTPServer(server, port=0, **options).start()
        self.addCleanup(self.http.stop)
        return self.http

    def client(self, timeout: float = 10.0) -> "RawClient":
        made = RawClient(self.http.url, timeout)
        self.addCleanup(made.socket.close)
        return made


class RawResponse(NamedTuple):
    """An HTTP response as read from the wire."""

    status: int
    headers: Dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RawClient:
    """A socket that sends what it is told and reads responses; every wait is bounded."""

    def __init__(self, url: str, timeout: float = 60.0) -> None:
        place = url.split("//", 1)[1].split("/", 1)[0]
        host, port = place.rsplit(":", 1)
        self.host = place
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout)
        self.buffer = b""

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(self, body: Dict[str, Any], **more: Any) -> None:
        """Send a well-formed POST of a message."""
        self.send(self.octets(body, **more))

    def octets(self, body: Any, **more: Any) -> bytes:
        """A POST as octets; `more` changes headers."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        shape = body if isinstance(body, dict) else {"method": "tools/list"}
        fields = {"content_length": str(len(raw)), "host": self.host, **more}
        lines = [f"{name}: {value}" for name, value in headers(shape, **fields).items()]
        return ("POST /mcp HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + raw

    def more(self) -> bool:
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def closed(self) -> bool:
        """Whether the server closes the connection without sending more; waits for it."""
        try:
            while self.more():
                pass
        except ConnectionError:
            pass
        return self.buffer == b""

    def _until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            if not self.more():
                raise ConnectionError(f"closed before {mark!r}; got {self.buffer[:200]!r}")
        part, _, self.buffer = self.buffer.partition(mark)
        return part

    def _exactly(self, count: int) -> bytes:
        while len(self.buffer) < count:
            if not self.more():
                raise ConnectionError("closed within a body")
        part, self.buffer = self.buffer[:count], self.buffer[count:]
        return part

    def head(self) -> RawResponse:
        """The status and headers of the next response, its body left unread."""
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            fields[name.lower()] = value.strip()
        return RawResponse(int(lines[0].split()[1]), fields, b"")

    def chunk(self) -> bytes:
        """The next chunk of a chunked body; b"" at its end."""
        data = self._exactly(int(self._until(b"\r\n"), 16))
        self._exactly(2)
        return data

    def response(self) -> RawResponse:
        """The next response, whole."""
        head = self.head()
        if head.headers.get("transfer-encoding") == "chunked":
            chunks = []
            while True:
                chunk = self.chunk()
                if not chunk:
                    return head._replace(body=b"".join(chunks))
                chunks.append(chunk)
        return head._replace(body=self._exactly(int(head.headers.get("content-length", "0"))))


def events(body: bytes) -> Any:
    """The messages of an event stream."""
    return [json.loads(line[5:]) for line in body.decode().splitlines() if line.startswith("data:")]
