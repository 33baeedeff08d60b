"""The walkthrough's fixture, era_stub.py: every row of its tables, octet for octet, and that nothing takes it down."""

from __future__ import annotations

import ast
import contextlib
import http.client
import json
import socket
import threading
import unittest
from pathlib import Path
from typing import Any

import era_stub

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "era_stub.py"
TRANSCRIPT = ROOT.parent / "shared" / "walkthrough" / "transcript.json"
PREFIX = "io.modelcontextprotocol/"
MODES = ("modern", "input-required", "legacy", "bad-schema", "warn-schema", "no-capability",
         "auth", "forbidden", "not-found", "error-500", "non-json")
ABSENT = object()
Reply = tuple[int, str, str]  # status, Content-Type, body

PORTS: dict[str, int] = {}
SERVERS: list[tuple[era_stub.Fixture, threading.Thread]] = []


def setUpModule() -> None:
    for mode in MODES:
        PORTS[mode] = serve(mode)


def tearDownModule() -> None:
    while SERVERS:
        server, thread = SERVERS.pop()
        server.shutdown()
        server.server_close()
        thread.join()


def serve(mode: str, log: str | None = None) -> int:
    """Start a fixture in this process until the module ends; its port."""
    server = era_stub.Fixture(0, mode, log)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    SERVERS.append((server, thread))
    return int(server.server_address[1])


def exchange(port: int, headers: dict[str, str], body: str,
             method: str = "POST") -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, "/mcp", body.encode("utf-8", "surrogateescape"), headers)
        answer = connection.getresponse()
        return answer, answer.read().decode("utf-8")
    finally:
        connection.close()


def post(port: int, headers: dict[str, str], body: str) -> Reply:
    answer, text = exchange(port, headers, body)
    return answer.status, answer.getheader("Content-Type", ""), text


def raw(port: int, data: bytes) -> bytes:
    """Send bytes, end the sending side, and return all that comes back until the fixture closes."""
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return read_all(sock)


def read_all(sock: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionError):
        for chunk in iter(lambda: sock.recv(65536), b""):
            data += chunk
    return data


def put(target: dict[str, Any], name: str, value: Any) -> None:
    if value is not ABSENT:
        target[name] = value


def modern(parts: dict[str, Any]) -> tuple[dict[str, str], str]:
    """The headers and the body of a sound tools/call of echo, but for the parts given (ABSENT: left out)."""
    method, name = parts.get("method", "tools/call"), parts.get("name", "echo")
    meta: dict[str, Any] = {}
    put(meta, PREFIX + "protocolVersion", parts.get("version", "2026-07-28"))
    put(meta, PREFIX + "clientInfo", parts.get("clientInfo", {"name": "test", "version": "0"}))
    put(meta, PREFIX + "clientCapabilities", parts.get("clientCapabilities", {"elicitation": {"form": {}}}))
    arguments: dict[str, Any] = {}
    put(arguments, "text", parts.get("text", "hello"))
    params: dict[str, Any] = {}
    put(params, "name", name)
    put(params, "arguments", parts.get("arguments", arguments))
    put(params, "_meta", parts.get("meta", meta))
    for extra in ("inputResponses", "requestState"):
        put(params, extra, parts.get(extra, ABSENT))
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": parts.get("id", 51)}
    put(message, "method", method)
    put(message, "params", parts.get("params", params))
    headers: dict[str, str] = {}
    put(headers, "Accept", parts.get("Accept", "application/json, text/event-stream"))
    put(headers, "MCP-Protocol-Version", parts.get("MCP-Protocol-Version", "2026-07-28"))
    put(headers, "Mcp-Method", parts.get("Mcp-Method", str(method)))
    put(headers, "Mcp-Name", parts.get("Mcp-Name", str(name)))
    return headers, parts.get("body", json.dumps(message))


def error(code: int, message: str, id: str = "51", data: str = "") -> str:
    data = f', "data": {data}' if data else ""
    return f'{{"jsonrpc": "2.0", "id": {id}, "error": {{"code": {code}, "message": "{message}"{data}}}}}'


def result(text: str) -> str:
    return f'{{"jsonrpc": "2.0", "id": 51, "result": {text}}}'


def bad_params(what: str) -> tuple[int, str]:
    return 400, error(-32602, f"Invalid params: {what}")


def mismatch(what: str) -> tuple[int, str]:
    return 400, error(-32020, f"Header mismatch: {what}")


META = '"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}'
ECHOED = result('{"resultType": "complete", "content": [{"type": "text", "text": "hello"}], "isError": false, '
                + META + "}")
NOT_ACCEPTABLE = '{"error": "not acceptable", "detail": "POST requires Accept: application/json, text/event-stream"}'
PARSE_ERROR = error(-32700, "Parse error: request body is not valid JSON", "null")
NO_OBJECT = error(-32600, "Invalid Request: body must be a single JSON-RPC request object", "null")

# The answer of each check of the table.
ANSWERS: dict[int, tuple[int, str]] = {
    1: (406, NOT_ACCEPTABLE),
    2: (400, PARSE_ERROR),
    3: (400, NO_OBJECT),
    4: (400, error(-32600, "Invalid Request: method must be a non-empty string")),
    5: bad_params("params must be an object"),
    6: mismatch("MCP-Protocol-Version header is required"),
    7: bad_params("params._meta is required and must be an object"),
    8: bad_params(f"params._meta.{PREFIX}protocolVersion is required and must be a string"),
    9: mismatch("MCP-Protocol-Version header does not match params._meta"),
    10: (400, error(-32022, "Unsupported protocol version",
                    data='{"supported": ["2026-07-28"], "requested": "2025-11-25"}')),
    11: bad_params(f"params._meta.{PREFIX}clientInfo is required and must be an object"),
    12: bad_params(f"params._meta.{PREFIX}clientCapabilities is required and must be an object"),
    13: mismatch("Mcp-Method header is required and must match the body method"),
    14: mismatch("Mcp-Name header is required and must match params.name"),
    15: (404, error(-32601, "Method not found")),
    16: bad_params("params.name must be a non-empty string"),
    17: bad_params("unknown tool 'nope'"),
    18: bad_params("arguments must be an object"),
    19: bad_params("arguments.text must be a string"),
    20: bad_params("arguments.text is required"),
}

# One fault of each kind. Two are joined by {**later, **earlier}.
FAULTS: dict[int, dict[str, Any]] = {
    1: {"Accept": "application/json"},
    2: {"body": "{"},
    3: {"body": "[]"},
    4: {"method": ""},
    5: {"params": [1]},
    6: {"MCP-Protocol-Version": ABSENT},
    7: {"meta": 7},
    8: {"version": ABSENT},
    9: {"MCP-Protocol-Version": "2024-11-05"},
    10: {"MCP-Protocol-Version": "2025-11-25", "version": "2025-11-25"},
    11: {"clientInfo": ABSENT},
    12: {"clientCapabilities": ABSENT},
    13: {"Mcp-Method": ABSENT},
    14: {"method": "tools/call", "Mcp-Name": ABSENT},
    15: {"method": "resources/list"},
    17: {"name": "nope", "Mcp-Name": "nope"},
    18: {"arguments": [1]},
    19: {"text": 42},
    20: {"text": ABSENT},
}

# Other faults that the same check answers.
VARIANTS: list[tuple[int, dict[str, Any]]] = [
    (1, {"Accept": ABSENT}), (1, {"Accept": "*/*"}), (1, {"Accept": "text/event-stream;q=1"}), (1, {"Accept": ""}),
    (2, {"body": ""}), (2, {"body": "\udcff"}), (2, {"body": '{"id": NaN}'}), (2, {"body": "[" * 100000}),
    (2, {"body": '{"id": %s}' % ("9" * 5000)}), (2, {"body": "\ufeff{}"}), (2, {"body": '{"id": 1} {"id": 2}'}),
    (3, {"body": "null"}), (3, {"body": "7"}), (3, {"body": '"x"'}), (3, {"body": '[{"id": 51}]'}),
    (4, {"method": ABSENT}), (4, {"method": None}), (4, {"method": 5}), (4, {"method": ["tools/list"]}),
    (5, {"params": None}), (5, {"params": "x"}), (7, {"params": ABSENT}), (7, {"meta": ABSENT}), (7, {"meta": []}),
    (8, {"version": 20260728}), (8, {"version": None}),
    (6, {"MCP-Protocol-Version": ""}), (6, {"MCP-Protocol-Version": " "}), (6, {"MCP-Protocol-Version": "", "meta": 7}),
    (9, {"version": "2025-11-25"}), (9, {"MCP-Protocol-Version": "2026-07-28 "}),
    (9, {"MCP-Protocol-Version": "2026-07-28\t"}), (9, {"MCP-Protocol-Version": "2026-07-28 ", "version": "1"}),
    (11, {"clientInfo": "curl"}), (11, {"clientInfo": None}), (12, {"clientCapabilities": []}),
    (13, {"Mcp-Method": "tools/list"}), (13, {"Mcp-Method": "TOOLS/CALL"}),
    (13, {"Mcp-Method": ""}), (13, {"Mcp-Method": "tools/call "}), (14, {"Mcp-Name": "echo "}),
    (14, {"name": "", "Mcp-Name": ""}), (14, {"Mcp-Name": ""}),
    (14, {"Mcp-Name": "Echo"}), (14, {"name": ABSENT, "Mcp-Name": ABSENT}), (14, {"name": 5, "Mcp-Name": "5"}),
    (14, {"Mcp-Name": "=?base64?ZWNobw==?="}),
    (15, {"method": "tools/list/"}), (15, {"method": "ping"}),
    (18, {"arguments": None}), (18, {"arguments": "hello"}), (19, {"text": ["hello"]}), (20, {"text": None}),
    (20, {"arguments": ABSENT}),
]


class Checks(unittest.TestCase):
    """The modern modes: the order of the checks."""

    def expect(self, parts: dict[str, Any], status: int, body: str, mode: str = "modern") -> None:
        self.assertEqual(post(PORTS[mode], *modern(parts)), (status, "application/json", body), f"{mode}: {parts}")

    def test_each_check_answers_with_its_status_and_body(self) -> None:
        for number, fault in [*FAULTS.items(), *VARIANTS]:
            with self.subTest(check=number, fault=str(fault)[:80]):
                self.expect(fault, *ANSWERS[number])

    def test_of_two_faults_the_earlier_check_answers(self) -> None:
        for first, fault in FAULTS.items():
            for second in [number for number in FAULTS if number > first]:
                with self.subTest(first=first, second=second):
                    self.expect({**FAULTS[second], **fault}, *ANSWERS[first])

    def test_checks_1_to_19_are_the_same_in_mode_input_required(self) -> None:
        for number in [number for number in FAULTS if number < 20]:
            with self.subTest(check=number):
                self.expect(FAULTS[number], *ANSWERS[number], mode="input-required")

    def test_check_16_stands_behind_14_which_no_empty_name_passes(self) -> None:
        with self.assertRaises(era_stub.Refusal) as caught:
            era_stub.call_echo("modern", {"name": ""})
        self.assertEqual(caught.exception.error, json.loads(ANSWERS[16][1])["error"])

    def test_a_leading_blank_is_none_of_the_value(self) -> None:
        self.expect({"MCP-Protocol-Version": " \t2026-07-28", "Mcp-Name": "  echo"}, 200, ECHOED)

    def test_a_sound_call_echoes_in_both_modes(self) -> None:
        for mode in ("modern", "input-required"):
            self.expect({}, 200, ECHOED, mode)
        self.expect({"text": ""}, 200, ECHOED.replace("hello", ""))
        self.expect({"text": "\ud800\u00e9"}, 200, ECHOED.replace("hello", "\\ud800\\u00e9"))

    def test_accept_is_read_as_media_types(self) -> None:
        for accept in ("text/event-stream,application/json", "Application/JSON;q=0.9, TEXT/event-stream ; x=y, */*"):
            self.expect({"Accept": accept}, 200, ECHOED)

    def test_initialize_is_told_where_to_go(self) -> None:
        self.expect({"method": "initialize"}, 404, error(
            -32601, "Method not found. This server implements the 2026-07-28 stateless protocol; "
                    "send server/discover instead of initialize."))

    def test_the_tool_name_is_shown_as_python_writes_it(self) -> None:
        self.expect({"name": "it's", "Mcp-Name": "it's"}, *bad_params('unknown tool \\"it\'s\\"'))

    def test_the_id_is_echoed_whatever_kind_of_json_it_is(self) -> None:
        for id in ("a", 0, -1, 1.5, True, False, None, {}, [], [[]], {"a": [1, None, "\u00e9"]}, 10**30):
            self.expect({"id": id, "method": "ping"}, 404, error(-32601, "Method not found", json.dumps(id)))
            answer = post(PORTS["legacy"], {}, json.dumps({"id": id, "method": "ping"}))
            expected = error(-32601, "Method not found", json.dumps(id))
            status, expected = (202, "") if id is None else (200, expected)
            self.assertEqual(answer, (status, "application/json", expected))
        for body in ('{"id": 1e999}', '{"id": [{"a": -1e999}]}'):
            expected = error(-32600, "Invalid Request: method must be a non-empty string", "null")
            self.expect({"body": body}, 400, expected)

    def test_a_header_sent_twice_equals_nothing(self) -> None:
        headers, body = modern({})
        for name, number in (("MCP-Protocol-Version", 9), ("Mcp-Method", 13), ("Mcp-Name", 14)):
            lines = [f"{key}: {value}" for key, value in headers.items()] + [f"{name}: {headers[name]}"]
            head = "\r\n".join(["POST / HTTP/1.1", *lines, f"Content-Length: {len(body)}", "Connection: close", "", ""])
            answer = raw(PORTS["modern"], (head + body).encode("ascii"))
            self.assertTrue(answer.endswith(ANSWERS[number][1].encode("ascii")), f"{name}: {answer!r}")


ASK = result('{"resultType": "input_required", "requestState": "stub-1", "inputRequests": {"text": {"method": '
             '"elicitation/create", "params": {"mode": "form", "message": "Provide the text to echo", '
             '"requestedSchema": {"type": "object", "properties": {"text": {"type": "string"}}, '
             '"required": ["text"]}}}}}')
NO_CAPABILITY = error(-32021, "Server requires the elicitation capability for this request",
                      data='{"requiredCapabilities": {"elicitation": {"form": {}}}}')
NO_FORM: list[dict[str, Any]] = [{}, {"elicitation": {}}, {"elicitation": {"form": True}}, {"elicitation": []}]
NO_STATE = "retry must carry the requestState returned with input_required"
ACTION = "inputResponses.text.action must be accept, decline or cancel"
CONTENT = "inputResponses.text.content.text must be a string"
NO_ELICIT_RESULT = "inputResponses.text must be an ElicitResult object"


def refused(how: str) -> tuple[int, str]:
    text = f"echo not executed: user {how} the elicitation form"
    content = f'[{{"type": "text", "text": "{text}"}}]'
    return 200, result(f'{{"resultType": "complete", "isError": true, "content": {content}, {META}}}')


class InputRequired(unittest.TestCase):
    """Mode input-required, with no text."""

    def expect(self, responses: Any, state: Any, status: int, body: str, **parts: Any) -> None:
        parts = {"text": ABSENT, "inputResponses": responses, "requestState": state, **parts}
        self.assertEqual(post(PORTS["input-required"], *modern(parts)), (status, "application/json", body), str(parts))

    def test_what_is_asked(self) -> None:
        for responses in (ABSENT, None, {}):
            for state in (ABSENT, None, "stub-1"):
                self.expect(responses, state, 200, ASK)
                self.expect(responses, state, 200, ASK, text=None)
                for capabilities in NO_FORM:
                    self.expect(responses, state, 400, NO_CAPABILITY, clientCapabilities=capabilities)

    def test_what_is_refused(self) -> None:
        answer = {"text": {"action": "accept", "content": {"text": "hello"}}}
        for responses, state, what in (
                ([], "stub-1", "inputResponses must be an object"), ("", ABSENT, "inputResponses must be an object"),
                ([], 7, "inputResponses must be an object"), (answer, 7, "requestState must be a string"),
                (ABSENT, {}, "requestState must be a string"), (ABSENT, "stub-2", NO_STATE), ({}, "", NO_STATE),
                (answer, ABSENT, NO_STATE), (answer, None, NO_STATE), (answer, "stub-2", NO_STATE),
                ({"text": 7}, "stub-2", NO_STATE), ({"text": 7}, "stub-1", NO_ELICIT_RESULT),
                ({"other": {}}, "stub-1", NO_ELICIT_RESULT), ({"text": {"action": "accept"}}, "stub-1", CONTENT),
                ({"text": {"action": "accept", "content": "hello"}}, "stub-1", CONTENT),
                ({"text": {"action": "accept", "content": {"text": 7}}}, "stub-1", CONTENT),
                ({"text": {}}, "stub-1", ACTION), ({"text": {"action": "reject"}}, "stub-1", ACTION),
                ({"text": {"action": ["decline"]}}, "stub-1", ACTION)):
            self.expect(responses, state, *bad_params(what))
            self.expect(responses, state, *bad_params(what), clientCapabilities={})

    def test_what_the_user_did(self) -> None:
        self.expect({"text": {"action": "accept", "content": {"text": "hello"}}}, "stub-1", 200, ECHOED)
        self.expect({"text": {"action": "decline"}}, "stub-1", *refused("declined"))
        self.expect({"text": {"action": "cancel"}}, "stub-1", *refused("cancelled"))

    def test_a_text_given_is_echoed_whatever_else_is_there(self) -> None:
        self.expect([], 7, 200, ECHOED, text="hello")


FIXED: dict[str, Reply] = {
    "auth": (401, "application/json", '{"error":"unauthorized"}'),
    "forbidden": (403, "application/json", '{"error":"forbidden"}'),
    "not-found": (404, "text/plain", "not found"),
    "error-500": (500, "text/plain", "boom"),
    "non-json": (200, "text/html", "<html><body>Sign in</body></html>"),
}


class Modes(unittest.TestCase):
    """The legacy modes and the fixed answers."""

    def legacy(self, mode: str, body: str) -> Reply:
        return post(PORTS[mode], {"Content-Type": "application/json"}, body)

    def test_legacy_messages_that_are_no_request(self) -> None:
        for mode in ("legacy", "bad-schema", "warn-schema", "no-capability"):
            self.assertEqual(self.legacy(mode, "{"), (400, "application/json", PARSE_ERROR), mode)
            self.assertEqual(self.legacy(mode, "[]"), (400, "application/json", NO_OBJECT), mode)
            for body in ('{"method": "notifications/initialized"}', '{"id": null, "method": "initialize"}', "{}"):
                self.assertEqual(self.legacy(mode, body), (202, "application/json", ""), f"{mode}: {body}")

    def test_legacy_requests(self) -> None:
        def tools(name: str, description: str, schema: str) -> str:
            schema = '{"type": "object", "properties": ' + schema + "}"
            return f'{{"tools": [{{"name": "{name}", "description": "{description}", "inputSchema": {schema}}}]}}'
        echo = tools("echo", "Echo text.", '{"text": {"type": "string"}}, "required": ["text"]')
        lists = {
            "legacy": echo, "no-capability": echo,
            "bad-schema": tools("flag", "Tool with schemas that are hard to port.",
                                '{"x": true, "y": {"type": ["string", "null"]}, "z": {}}'),
            "warn-schema": tools("maybe", "Tool with a nullable field.", '{"note": {"type": ["string", "null"]}}'),
        }
        for mode, listed in lists.items():
            capabilities = "{}" if mode == "no-capability" else '{"tools": {}}'
            initialized = (f'{{"protocolVersion": "2025-11-25", "capabilities": {capabilities}, '
                           '"serverInfo": {"name": "stub", "version": "0"}}')
            called = '{"content": [{"type": "text", "text": "hi"}], "isError": false}'
            for method, outcome in (("initialize", result(initialized)), ("tools/list", result(listed)),
                                    ("tools/call", result(called)),
                                    ("server/discover", error(-32601, "Method not found"))):
                body = json.dumps({"jsonrpc": "2.0", "id": 51, "method": method})
                self.assertEqual(self.legacy(mode, body), (200, "application/json", outcome), f"{mode}: {method}")
            for method in ("5", "[]", "null"):
                answer = self.legacy(mode, f'{{"id": 51, "method": {method}}}')
                self.assertEqual(answer, (200, "application/json", error(-32601, "Method not found")), method)

    def test_fixed_answers(self) -> None:
        for mode, answer in FIXED.items():
            for body in (modern({})[1], "{", ""):
                self.assertEqual(post(PORTS[mode], {}, body), answer, mode)
        response, _ = exchange(PORTS["auth"], {}, "")
        self.assertEqual(response.getheader("WWW-Authenticate"), 'Bearer realm="mcp"')

    def test_a_fixed_answer_needs_no_body(self) -> None:
        for mode, (status, _, body) in FIXED.items():
            answer = raw(PORTS[mode], b"POST / HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status) and answer.endswith(body.encode()), answer)

    def test_only_post_is_answered(self) -> None:
        for mode in ("modern", "legacy", "auth"):
            for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"):
                response, text = exchange(PORTS[mode], {}, "", method)
                self.assertEqual((response.status, response.getheader("Allow"), text), (405, "POST", ""), method)
                self.assertEqual(response.getheader("Connection"), "close", "a body that came along stays unread")

    def test_http_1_1_with_content_length_on_any_path(self) -> None:
        headers, body = modern({})
        connection = http.client.HTTPConnection("127.0.0.1", PORTS["modern"], timeout=10)
        for path in ("/", "/mcp", "/a/b?c"):  # over one connection
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            self.assertEqual((answer.version, answer.getheader("Content-Length")), (11, str(len(ECHOED))))
            self.assertEqual(answer.read().decode(), ECHOED)
        connection.close()


class Transcript(unittest.TestCase):
    def test_the_recorded_exchanges_to_the_byte(self) -> None:
        if not TRANSCRIPT.is_file():
            self.skipTest(f"the walkthrough's transcript is not here: {TRANSCRIPT}")
        cases = json.loads(TRANSCRIPT.read_text(encoding="utf-8"))
        self.assertEqual(len(cases), 24)
        for case in cases:
            with self.subTest(case["name"]):
                answer = post(PORTS[case["mode"]], case["headers"], case["body"])
                self.assertEqual(answer, (case["status"], "application/json", case["answer"]))


class Independence(unittest.TestCase):
    def test_it_imports_the_standard_library_alone(self) -> None:
        imported = set()
        for node in ast.walk(ast.parse(STUB.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add("." * node.level + (node.module or ""))
        known = {"__future__", "http.server", "json", "math", "re", "signal", "socketserver", "sys", "threading",
                 "typing"}
        self.assertEqual(imported - known, set(), "era_stub.py imports more than it may")


if __name__ == "__main__":
    unittest.main()
