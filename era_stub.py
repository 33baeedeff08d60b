"""One small echo server in the protocol eras 2025-11-25 and 2026-07-28: the fixture of the migration walkthrough.

A teaching fixture, to be read from top to bottom. It imports nothing of `mcp_ref`, so that the two are independent
witnesses of the same rules. In order: the modes, the tools, how an answer is written and a body read, the server of
2025-11-25, the server of 2026-07-28 (twenty numbered checks, the first that fails answers), its elicitation form,
HTTP, the command line.

It follows the walkthrough where that parts from the published revision: clientInfo is required, and an id that could
not be read is answered as null. An empty header counts as missing.
"""
from __future__ import annotations

import json
import re
import signal
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

USAGE = """usage: era_stub.py PORT MODE [--log FILE]

Serves MCP over HTTP on 127.0.0.1:PORT until interrupted. --log empties FILE, then
appends the JSON-RPC method of each POST to it, one a line (None: no method).

modes:
  modern          2026-07-28, stateless: server/discover, tools/list, tools/call
  input-required  as modern, but tools/call without text asks for it with a form
  legacy          2025-11-25: initialize, tools/list, tools/call
  bad-schema      as legacy, with a tool whose schema is hard to port
  warn-schema     as legacy, with a tool whose schema has a type array
  no-capability   as legacy, but initialize advertises no tools
  auth            every POST: 401, with a WWW-Authenticate challenge
  forbidden       every POST: 403
  not-found       every POST: 404, plain text
  error-500       every POST: 500, plain text
  non-json        every POST: 200, a sign-in page in HTML
"""

# ---- The modes and the tools -----------------------------------------------------------------------------------------

MODERN_MODES = ("modern", "input-required")
LEGACY_MODES = ("legacy", "bad-schema", "warn-schema", "no-capability")
Headers = dict[str, str]  # the request's, by lower-case name
Answer = tuple[int, str, str]  # HTTP status, Content-Type, body
FIXED_ANSWERS: dict[str, Answer] = {
    "auth": (401, "application/json", '{"error":"unauthorized"}'),
    "forbidden": (403, "application/json", '{"error":"forbidden"}'),
    "not-found": (404, "text/plain", "not found"),
    "error-500": (500, "text/plain", "boom"),
    "non-json": (200, "text/html", "<html><body>Sign in</body></html>"),
}


def tool(name: str, description: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, **more}
    return {"name": name, "description": description, "inputSchema": schema}


ECHO = tool("echo", "Echo text.", {"text": {"type": "string"}}, required=["text"])
FLAG = tool("flag", "Tool with schemas that are hard to port.", {"x": True, "y": {"type": ["string", "null"]}, "z": {}})
MAYBE = tool("maybe", "Tool with a nullable field.", {"note": {"type": ["string", "null"]}})

# ---- How an answer is written and a body read ------------------------------------------------------------------------

PARSE_ERROR = -32700, "Parse error: "
INVALID_REQUEST = -32600, "Invalid Request: "
INVALID_PARAMS = -32602, "Invalid params: "
HEADER_MISMATCH = -32020, "Header mismatch: "
METHOD_NOT_FOUND = -32601  # this one and the next two are raised whole, the others by require()
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022
UNREADABLE = object()  # what a body that is not JSON parses to; None would be the JSON null


class Refusal(Exception):
    """A check that failed: the HTTP status and the JSON-RPC error that answer the request."""

    def __init__(self, status: int, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


def require(holds: bool, kind: tuple[int, str], text: str) -> None:
    """One check of the many that answer with status 400."""
    if not holds:
        raise Refusal(400, kind[0], kind[1] + text)


def reply(status: int, message: Any, **outcome: Any) -> Answer:
    """The JSON-RPC response to a message: its outcome is a result or an error."""
    return status, "application/json", json.dumps({"jsonrpc": "2.0", "id": id_of(message), **outcome})


def id_of(message: Any) -> Any:
    """The id to echo: the request's, whatever kind of JSON it is, or null for one beyond the numbers of JSON."""
    value = message.get("id") if isinstance(message, dict) else None
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:  # 1e999 is read as infinity
        return None
    return value


def parse(body: bytes) -> Any:
    """The JSON value of a body, or UNREADABLE: not UTF-8, not JSON, NaN, nested too deep, a number too long."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return UNREADABLE


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON, though Python's reader would take it for a number")


def require_object(message: Any) -> None:
    """Checks 2 and 3, in both eras."""
    require(message is not UNREADABLE, PARSE_ERROR, "request body is not valid JSON")
    require(isinstance(message, dict), INVALID_REQUEST, "body must be a single JSON-RPC request object")


# ---- The server of 2025-11-25 ----------------------------------------------------------------------------------------


def answer_legacy(mode: str, message: Any) -> Answer:
    """Answer a request of the era of `initialize`; once it is one, its errors come with HTTP status 200."""
    try:
        require_object(message)
        if message.get("id") is None:
            return 202, "application/json", ""
        return reply(200, message, result=legacy_result(mode, message.get("method")))
    except Refusal as refusal:
        return reply(refusal.status, message, error=refusal.error)


def legacy_result(mode: str, method: Any) -> dict[str, Any]:
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {} if mode == "no-capability" else {"tools": {}},
                "serverInfo": {"name": "stub", "version": "0"}}
    if method == "tools/list":
        return {"tools": [{"bad-schema": FLAG, "warn-schema": MAYBE}.get(mode, ECHO)]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "hi"}], "isError": False}
    raise Refusal(200, METHOD_NOT_FOUND, "Method not found")


# ---- The server of 2026-07-28: the checks in their order -------------------------------------------------------------

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
NOT_ACCEPTABLE: Answer = (406, "application/json", json.dumps(
    {"error": "not acceptable", "detail": "POST requires Accept: application/json, text/event-stream"}))
META = {"_meta": {PREFIX + "protocolVersion": VERSION}}  # in every complete result but that of server/discover


def answer_modern(mode: str, headers: Headers, message: Any) -> Answer:
    """Answer a stateless request: all that is needed to judge it is in its headers and its body."""
    if not accepts_both(headers.get("accept", "")):  # 1
        return NOT_ACCEPTABLE
    try:
        require_object(message)  # 2, 3
        method, params = message.get("method"), message.get("params", {})
        require(isinstance(method, str) and method != "", INVALID_REQUEST, "method must be a non-empty string")  # 4
        require(isinstance(params, dict), INVALID_PARAMS, "params must be an object")  # 5
        check_version(headers, params)  # 6 to 10
        for member in ("clientInfo", "clientCapabilities"):  # 11, 12
            require_meta(isinstance(params["_meta"].get(PREFIX + member), dict), f".{PREFIX}{member}", "an object")
        check_mirrors(headers, method, params)  # 13, 14
        return reply(200, message, result=modern_result(mode, method, params))  # 15 to 20
    except Refusal as refusal:
        return reply(refusal.status, message, error=refusal.error)


def accepts_both(accept: str) -> bool:
    """Both media types are named, in any case and order and with any parameters."""
    named = {item.split(";")[0].strip().lower() for item in accept.split(",")}
    return {"application/json", "text/event-stream"} <= named


def check_version(headers: Headers, params: dict[str, Any]) -> None:
    """The version is named twice, in the header and in the body, and both must name the one that is spoken here."""
    header, meta = headers.get("mcp-protocol-version"), params.get("_meta")
    require(bool(header), HEADER_MISMATCH, "MCP-Protocol-Version header is required")  # 6
    require_meta(isinstance(meta, dict), "", "an object")  # 7
    version = params["_meta"].get(PREFIX + "protocolVersion")
    require_meta(isinstance(version, str), f".{PREFIX}protocolVersion", "a string")  # 8
    require(header == version, HEADER_MISMATCH, "MCP-Protocol-Version header does not match params._meta")  # 9
    if version != VERSION:  # 10
        raise Refusal(400, UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version",
                      supported=[VERSION], requested=version)


def require_meta(holds: bool, member: str, what: str) -> None:
    require(holds, INVALID_PARAMS, f"params._meta{member} is required and must be {what}")


def check_mirrors(headers: Headers, method: str, params: dict[str, Any]) -> None:
    """The headers repeat the body, so that a gateway can route without reading it: the two must not differ."""
    require(headers.get("mcp-method") == method, HEADER_MISMATCH,
            "Mcp-Method header is required and must match the body method")  # 13
    name = headers.get("mcp-name")
    require(method != "tools/call" or (bool(name) and name == params.get("name")), HEADER_MISMATCH,
            "Mcp-Name header is required and must match params.name")  # 14


def modern_result(mode: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "server/discover":
        return {"resultType": "complete", "supportedVersions": [VERSION], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private",
                "_meta": {PREFIX + "serverInfo": {"name": "stub-modern", "version": "0"}},
                "instructions": "Echo server for the protocol-era examples."}
    if method == "tools/list":
        return {"tools": [ECHO], "resultType": "complete", "ttlMs": 0, "cacheScope": "private", **META}
    if method == "tools/call":
        return call_echo(mode, params)
    if method == "initialize":  # 15; a client of the era before is told where to go
        raise Refusal(404, METHOD_NOT_FOUND, "Method not found. This server implements the 2026-07-28 stateless "
                                             "protocol; send server/discover instead of initialize.")
    raise Refusal(404, METHOD_NOT_FOUND, "Method not found")  # 15


def call_echo(mode: str, params: dict[str, Any]) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments", {})
    require(isinstance(name, str) and name != "", INVALID_PARAMS, "params.name must be a non-empty string")  # 16
    require(name == "echo", INVALID_PARAMS, f"unknown tool {name!r}")  # 17
    require(isinstance(arguments, dict), INVALID_PARAMS, "arguments must be an object")  # 18
    text = arguments.get("text")
    require(text is None or isinstance(text, str), INVALID_PARAMS, "arguments.text must be a string")  # 19
    if mode == "input-required" and text is None:
        return ask_for_text(params)
    require(text is not None, INVALID_PARAMS, "arguments.text is required")  # 20
    return echoed(text)


def echoed(text: Any) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": False, **META}


# ---- Its elicitation form, in mode input-required --------------------------------------------------------------------

STATE = "stub-1"  # a real server seals its state; this one only shows that it must come back


def ask_for_text(params: dict[str, Any]) -> dict[str, Any]:
    """Ask with the form, or act on the user's answer where the request is the retry that carries it."""
    answers, state = params.get("inputResponses"), params.get("requestState")
    require(answers is None or isinstance(answers, dict), INVALID_PARAMS, "inputResponses must be an object")
    require(state is None or isinstance(state, str), INVALID_PARAMS, "requestState must be a string")
    if not answers and state is None:
        return form(params)
    require(state == STATE, INVALID_PARAMS, "retry must carry the requestState returned with input_required")
    return act_on(answers.get("text")) if answers else form(params)


def form(params: dict[str, Any]) -> dict[str, Any]:
    """The input_required result, for a client that has declared that it can show a form."""
    elicitation = params["_meta"][PREFIX + "clientCapabilities"].get("elicitation")
    if not (isinstance(elicitation, dict) and isinstance(elicitation.get("form"), dict)):
        raise Refusal(400, MISSING_CLIENT_CAPABILITY, "Server requires the elicitation capability for this request",
                      requiredCapabilities={"elicitation": {"form": {}}})
    ask = {"mode": "form", "message": "Provide the text to echo", "requestedSchema": ECHO["inputSchema"]}
    return {"resultType": "input_required", "requestState": STATE,
            "inputRequests": {"text": {"method": "elicitation/create", "params": ask}}}


def act_on(answer: Any) -> dict[str, Any]:
    """The result of the call, by what the user did with the form."""
    require(isinstance(answer, dict), INVALID_PARAMS, "inputResponses.text must be an ElicitResult object")
    action, content = answer.get("action"), answer.get("content")
    if action == "accept":
        text = content.get("text") if isinstance(content, dict) else None
        require(isinstance(text, str), INVALID_PARAMS, "inputResponses.text.content.text must be a string")
        return echoed(text)
    require(action in ("decline", "cancel"), INVALID_PARAMS,
            "inputResponses.text.action must be accept, decline or cancel")
    did = "declined" if action == "decline" else "cancelled"
    reason = f"echo not executed: user {did} the elicitation form"
    return {"resultType": "complete", "isError": True, "content": [{"type": "text", "text": reason}], **META}


# ---- HTTP ------------------------------------------------------------------------------------------------------------

MAX_BODY = 4 * 1024 * 1024  # bytes


class Handler(BaseHTTPRequestHandler):
    """One connection: reads each POST whole, records it, answers it."""

    server: Fixture
    protocol_version = "HTTP/1.1"
    timeout = 10  # seconds that a peer may stay silent, between requests or within one
    disable_nagle_algorithm = True  # head and body are two writes; the second must not wait for an ACK

    def do_POST(self) -> None:
        headers, mode = self.read_headers(), self.server.mode
        body = self.read_body(headers)
        message = UNREADABLE if body is None else parse(body)
        self.server.record(message)
        if mode in FIXED_ANSWERS:
            answer = FIXED_ANSWERS[mode]
        elif mode in MODERN_MODES and body is not None:
            answer = answer_modern(mode, headers, message)
        else:  # or there is no body to judge: 400, in either era alike
            answer = answer_legacy(mode, message)
        self.send(answer, close=body is None)

    def read_headers(self) -> Headers:
        """The headers as they came, a trailing blank included; one sent twice reads as one list, as HTTP has it. So
        neither ever equals a single value.
        """
        headers: Headers = {}
        for name, value in self.headers.items():
            key = name.lower()
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        return headers

    def read_body(self, headers: Headers) -> bytes | None:
        """The body, or None where no valid Content-Length names it or it does not come: the connection must close."""
        length = headers.get("content-length", "").strip(" \t")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MAX_BODY or "transfer-encoding" in headers:
            return None
        try:
            body = self.rfile.read(int(length))
        except OSError:  # reset by the peer, or silent for too long
            return None
        return body if len(body) == int(length) else None

    def send(self, answer: Answer, close: bool) -> None:
        status, content_type, text = answer
        body = text.encode("utf-8")
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Bearer realm="mcp"')
        if status == 405:
            self.send_header("Allow", "POST")
        if content_type:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if close:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send((405, "", ""), close=True)  # close: a body that came along stays unread

    do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """No access log."""


class Fixture(socketserver.ThreadingTCPServer):
    """A server in one mode on 127.0.0.1:port (0: any free one), its log emptied; OSError if either cannot be had."""

    allow_reuse_address = sys.platform != "win32"  # there it would let two servers share a port
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, mode: str, log: str | None = None) -> None:
        self.mode, self.log, self.log_lock = mode, log, threading.Lock()
        self.interrupted = False
        super().__init__(("127.0.0.1", port), Handler)

    def server_activate(self) -> None:
        """The port is had, so the log is no other fixture's; nobody can connect yet."""
        if self.log is not None:
            open(self.log, "w", encoding="utf-8").close()
        super().server_activate()

    def record(self, message: Any) -> None:
        """Append the method of a POST to the log; one that would break its line is written as Python's repr."""
        method = message.get("method") if isinstance(message, dict) else None
        line = method if isinstance(method, str) and method else "None"
        if self.log is not None:
            with self.log_lock, open(self.log, "a", encoding="utf-8") as file:
                file.write((line if line.isprintable() else repr(line)) + "\n")

    def interrupt(self, *_: Any) -> None:
        """For a signal, which may come in the middle of anything."""
        self.interrupted = True

    def service_actions(self) -> None:
        """Called between requests, where an interrupt ends the loop."""
        if self.interrupted:
            raise KeyboardInterrupt

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A peer that went away is no news; anything else is told in one line, and the fixture serves on."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError):
            print(f"era_stub.py: {type(error).__name__}: {error}", file=sys.stderr)


# ---- The command line ------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    fits = len(arguments) in (2, 4) and arguments[1] in (*MODERN_MODES, *LEGACY_MODES, *FIXED_ANSWERS)
    fits = fits and re.fullmatch("[0-9]{1,5}", arguments[0]) is not None and int(arguments[0]) <= 65535
    if not fits or arguments[2:3] not in ([], ["--log"]):
        print(USAGE, end="", file=sys.stderr)
        return 2
    try:
        server = Fixture(int(arguments[0]), arguments[1], *arguments[3:])
    except OSError as error:
        print(f"era_stub.py: cannot serve on port {arguments[0]}: {error}", file=sys.stderr)
        return 2
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, server.interrupt)
        server.serve_forever(0.1)
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
