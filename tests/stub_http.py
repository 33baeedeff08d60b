"""A scripted HTTP server for client tests: it writes down what is on the wire and answers what it was told to."""

import contextlib
import http.server
import json
import queue
import threading
import time
import unittest
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from mcp_ref.client.client import Client

JSON, EVENTS = "application/json", "text/event-stream"


class Seen(NamedTuple):
    """A request as it arrived: path as in the request line, header fields in order, body."""

    method: str
    path: str
    fields: Sequence[Tuple[str, str]]
    body: bytes

    @property
    def message(self) -> Dict[str, Any]:
        made: Dict[str, Any] = json.loads(self.body)
        return made

    @property
    def params(self) -> Dict[str, Any]:
        made: Dict[str, Any] = self.message["params"]
        return made

    def header(self, name: str) -> Optional[str]:
        """The value of a field, whatever its case; None where it did not come."""
        found = [value for field, value in self.fields if field.lower() == name.lower()]
        assert len(found) <= 1, f"{name} came {len(found)} times"
        return found[0] if found else None


class Answer(NamedTuple):
    """status, body or chunks of it, and fields; without a Content-Length the body ends with the connection."""

    status: int
    body: Union[bytes, Iterable[bytes]]
    fields: Dict[str, str]


Scripted = Callable[[Seen], Answer]


def raw(status: int, body: Union[bytes, Iterable[bytes]], kind: Optional[str] = JSON, **fields: str) -> Scripted:
    """An answer as given; `_` in a field's name stands for `-`."""
    made = {name.replace("_", "-"): value for name, value in fields.items()}
    if kind is not None:
        made["Content-Type"] = kind
    if isinstance(body, bytes):
        made.setdefault("Content-Length", str(len(body)))
    return lambda seen: Answer(status, body, made)


def message(members: Dict[str, Any], status: int = 200) -> Scripted:
    """A JSON-RPC response; the id is the request's unless it is among the members."""
    def answer(seen: Seen) -> Answer:
        body = json.dumps({"jsonrpc": "2.0", "id": seen.message["id"], **members}).encode()
        return raw(status, body)(seen)
    return answer


def result(**members: Any) -> Scripted:
    """A complete result, unless `resultType` says otherwise."""
    return message({"result": {"resultType": "complete", **members}})


def said(text: str = "ok") -> Scripted:
    """A tool's result of one text."""
    return result(content=[{"type": "text", "text": text}])


def asks(requests: Optional[Dict[str, Any]] = None, state: Optional[str] = None) -> Scripted:
    """An input_required result."""
    more: Dict[str, Any] = {} if requests is None else {"inputRequests": requests}
    if state is not None:
        more["requestState"] = state
    return result(resultType="input_required", **more)


def error(code: int, text: str = "no", status: int = 400, **members: Any) -> Scripted:
    """An error response."""
    return message({"error": {"code": code, "message": text, **members}}, status)


def events(*messages: Any, last: Optional[Scripted] = None, kind: str = EVENTS) -> Scripted:
    """An event stream: dicts become events, bytes go out as they are; then the body of `last` as the response."""
    def answer(seen: Seen) -> Answer:
        parts = [part if isinstance(part, bytes) else b"data: " + json.dumps(part).encode() + b"\n\n"
                 for part in messages]
        if last is not None:
            body = last(seen).body
            assert isinstance(body, bytes)
            parts.append(b"data: " + body + b"\n\n")
        return Answer(200, parts, {"Content-Type": kind})
    return answer


def asked(seen: Seen) -> str:
    """What a request of an older era asks: GET, DELETE, a message's method, or "response"."""
    return seen.method if seen.method != "POST" else str(seen.message.get("method", "response"))


def initialized(version: Any = "2025-11-25", session: Any = None, **capabilities: Any) -> Scripted:
    """The answer to initialize; with tools, unless other capabilities are given."""
    def answer(seen: Seen) -> Answer:
        made = message({"result": {"protocolVersion": version, "serverInfo": {"name": "older", "version": "1"},
                                   "capabilities": capabilities or {"tools": {}}, "instructions": "be kind"}})(seen)
        return made._replace(fields={**made.fields, **({"Mcp-Session-Id": session} if session else {})})
    return answer


def older(answers: Optional[Dict[str, Scripted]] = None, **more: Scripted) -> Scripted:
    """A server of an older era, whose answers go by what is asked; server/discover it has never heard of."""
    known = {"initialize": initialized(), "GET": raw(405, b"", None), "DELETE": raw(200, b""),
             "response": raw(202, b"", None), **(answers or {}), **more}

    def answer(seen: Seen) -> Answer:
        what = asked(seen)
        if what in known:
            return known[what](seen)
        return raw(202, b"", None)(seen) if what.startswith("notifications/") else error(-32601, status=200)(seen)
    return answer


class Stream:
    """An event stream whose events a test sends when it wants to; call it for the answer."""

    def __init__(self) -> None:
        self._parts: "queue.Queue[Optional[bytes]]" = queue.Queue()

    def __call__(self, seen: Seen) -> Answer:
        return Answer(200, iter(lambda: self._parts.get(timeout=60), None), {"Content-Type": EVENTS})

    def send(self, sent: Any, **fields: Any) -> None:
        """An event of this message, "" for one without; fields: `id`, `retry`, `event`."""
        lines = [f"{name}: {value}\n" for name, value in fields.items()]
        data = sent if isinstance(sent, str) else json.dumps({"jsonrpc": "2.0", **sent})
        self._parts.put(("".join(lines) + f"data: {data}\n\n").encode())

    def end(self) -> None:
        """No more, and the connection closes."""
        self._parts.put(None)


class Stub:
    """The server: answers with one entry of the script after another, and with the last one from then on."""

    def __init__(self, *script: Scripted) -> None:
        self.script = list(script)
        self.seen: List[Seen] = []
        self.stopping = threading.Event()
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                stub._serve(self)

            do_GET = do_CONNECT = do_DELETE = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.place = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.place}/mcp"

    def _serve(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        seen = Seen(handler.command, handler.path, handler.headers.items(), body)
        self.seen.append(seen)
        script = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        answer = script(seen)
        handler.send_response(answer.status)
        for name, value in answer.fields.items():
            handler.send_header(name, value)
        handler.end_headers()
        try:
            for part in [answer.body] if isinstance(answer.body, bytes) else answer.body:
                handler.wfile.write(part)
                handler.wfile.flush()
        except OSError:
            pass

    def drip(self, part: bytes) -> Iterator[bytes]:
        """The same octets again and again, until the test is over."""
        until = time.monotonic() + 60
        while not self.stopping.wait(0.01) and time.monotonic() < until:
            yield part

    def __enter__(self) -> "Stub":
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def question(schema: Dict[str, Any] = FORM) -> Dict[str, Any]:
    return {"method": "elicitation/create", "params": {"mode": "form", "message": "m", "requestedSchema": schema}}


def tool(name: str, properties: Dict[str, Any], **more: Any) -> Dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}, **more}


def mirroring(name: str, parameter: str, kind: str, header: Any) -> Dict[str, Any]:
    return tool(name, {parameter: {"type": kind, "x-mcp-header": header}})


class ClientCase(unittest.TestCase):
    """A test of a client against a stub."""

    @contextlib.contextmanager
    def talk(self, *script: Scripted, **options: Any) -> Iterator[Tuple[Stub, Client]]:
        """A stub with this script, and a client of it with these options, which does not probe unless it is told to."""
        options = {"timeout": 60.0, "era": "modern", **options}
        with Stub(*script) as stub, Client(stub.url, **options) as client:
            yield stub, client

    def refused(self, script: Any, fault: type, words: str = "", **options: Any) -> Any:
        """The error of a tools/call that the stub answers so."""
        caught: Any
        with self.talk(script, **options) as (_, client), self.assertRaises(fault) as caught:
            client.call_tool("t")
        self.assertIn(words, str(caught.exception))
        return caught.exception
