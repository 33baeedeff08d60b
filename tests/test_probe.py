"""The command `probe`: the verdict and the evidence for any server; and which schemas are hard to port."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
import unittest
from typing import Any, Iterator

import era_stub
from mcp_ref.lib.json_schema.portable import hard_to_port
from tests.stub_http import Stub, error, older, raw
from tests.support import ServerCase, echo_server, run_command

OLD = "server/discover: HTTP 200, -32601 Method not found -> legacy: initialize"
BEGUN = ("initialize: protocolVersion 2025-11-25 -> legacy: notifications/initialized, the GET stream, and go on")
MODES = {
    "modern": (0, ["server/discover: supportedVersions 2026-07-28 -> modern: go on with the newest of them",
                   "verdict: modern versions=2026-07-28 capabilities=tools server=stub-modern 0",
                   "it has 1 tool"]),
    "legacy": (4, [OLD, BEGUN, "verdict: legacy versions=2025-11-25 capabilities=tools server=stub 0",
                   "it has 1 tool"]),
    "no-capability": (4, [OLD, BEGUN, "verdict: legacy versions=2025-11-25 capabilities=none server=stub 0",
                          "it advertises no tools"]),
    "auth": (1, ['server/discover: HTTP 401: {"error":"unauthorized"} -> none: an error', "verdict: none",
                 'HTTP 401: {"error":"unauthorized"}. The server wants a token. To get one: LOGIN']),
    "forbidden": (1, ['server/discover: HTTP 403: {"error":"forbidden"} -> none: an error', "verdict: none",
                      'HTTP 403: {"error":"forbidden"}']),
    "not-found": (1, ["server/discover: HTTP 404: not found -> open: GET, for the stream of HTTP+SSE",
                      "GET: HTTP 405 -> none: an error: there is no MCP endpoint here", "verdict: none",
                      "HTTP 404: not found. There is no MCP endpoint here: GET shows no `endpoint` event of HTTP+SSE "
                      "either."]),
    "error-500": (1, ["server/discover: HTTP 500: boom -> none: an error", "verdict: none", "HTTP 500: boom"]),
    "non-json": (1, ['server/discover: HTTP 200: a request was answered with "text/html": <html><body>Sign in</body>'
                     "</html> -> none: an error", "verdict: none",
                     'HTTP 200: a request was answered with "text/html": <html><body>Sign in</body></html>']),
}
"""era_stub's modes: the exit status, and the lines."""
MODES["input-required"] = MODES["modern"]
STUMBLE = "which many clients stumble over"
MODES["bad-schema"] = (4, [*MODES["legacy"][1], f"flag: /inputSchema/properties/x is the bare boolean true, {STUMBLE}",
                           f"flag: /inputSchema/properties/y/type is a list of types, {STUMBLE}",
                           f"flag: /inputSchema/properties/z is an empty schema, {STUMBLE}"])
MODES["warn-schema"] = (4, [*MODES["legacy"][1],
                            f"maybe: /inputSchema/properties/note/type is a list of types, {STUMBLE}"])


@contextlib.contextmanager
def fixture(mode: str) -> Iterator[str]:
    """The URL of an era_stub in this mode."""
    server = era_stub.Fixture(0, mode)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Walkthrough(unittest.TestCase):
    def test_each_mode_has_its_verdict(self) -> None:
        self.assertEqual(set(MODES), {*era_stub.MODERN_MODES, *era_stub.LEGACY_MODES, *era_stub.FIXED_ANSWERS})
        for mode, (status, lines) in MODES.items():
            with self.subTest(mode), fixture(mode) as url:
                done, out, err = run_command("probe", url)
                out = re.sub(rf"\S+ -m mcp_ref login {url}$", "LOGIN", out, flags=re.MULTILINE)
                self.assertEqual((done, out.splitlines(), err), (status, lines, ""))

    def test_of_what_is_hard_to_port_list_tells_too(self) -> None:
        with fixture("bad-schema") as url:
            _, out, err = run_command("list", url)
            self.assertEqual(out, "flag(x?: any, y?: string|null, z?: any)  Tool with schemas that are hard to port.\n")
            self.assertEqual(err.splitlines(), [f"mcp_ref: {line}" for line in MODES["bad-schema"][1][-3:]])
            self.assertEqual(run_command("list", url, "flag")[2], err)
        with fixture("legacy") as url:
            self.assertEqual(run_command("list", url)[2], "")

    def test_every_command_speaks_either_era(self) -> None:
        with fixture("legacy") as url:
            for given in ((), ("--era", "legacy"), ("--era", "auto")):
                self.assertEqual(run_command("call", url, "echo", "--arg", "text=x", *given)[:2], (0, "hi\n"))
            status, _, err = run_command("call", url, "echo", "--json", "{}", "--era", "modern")
            self.assertEqual((status, err), (0, ""), "it does not look at what it is sent")
            status, _, err = run_command("discover", url, "--era", "modern")
            self.assertEqual((status, "older era" in err), (1, True))
            self.assertIn("versions: 2025-11-25", run_command("discover", url)[1])
        with fixture("modern") as url:
            self.assertEqual(run_command("call", url, "echo", "--arg", "text=x")[:2], (0, "x\n"))
            status, _, err = run_command("list", url, "--era", "legacy")
            self.assertEqual((status, "-32020" in err), (1, True))
        with fixture("no-capability") as url:
            self.assertEqual(run_command("list", url)[:2], (0, f"{url} has no tools\n"))

    def test_send_can_write_a_right_request_of_the_era_before(self) -> None:
        with fixture("legacy") as url:
            status, out, _ = run_command("send", url, "initialize", "--era", "legacy", "--raw")
            self.assertEqual((status, "Mcp-Method" in out, "_meta" in out, "MCP-Protocol-Version" in out),
                             (0, False, False, False))
            self.assertIn('"protocolVersion":"2025-11-25"', out)
            status, out, _ = run_command("send", url, "tools/list", "--era", "legacy", "--raw")
            self.assertEqual((status, "_meta" in out, "MCP-Protocol-Version: 2025-11-25" in out), (0, False, True))


class Verdicts(ServerCase):
    def test_this_server(self) -> None:
        url = self.serve(echo_server()).url
        status, out, _ = run_command("probe", url)
        self.assertEqual((status, out.splitlines()[0].split(" -> ")[1].split(":")[0]), (0, "modern"))

    def test_what_is_not_reached(self) -> None:
        with Stub(raw(200, b"")) as stub:
            url = stub.url
        status, out, _ = run_command("probe", url)
        self.assertEqual((status, out.splitlines()[1]), (3, "verdict: none"))

    def test_a_modern_server_that_cannot_be_spoken_with(self) -> None:
        for answer in (error(-32020), error(-32022, data={"supported": ["2030-01-01"]})):
            with Stub(older({"server/discover": answer})) as stub:
                status, out, _ = run_command("probe", stub.url)
            self.assertEqual((status, out.splitlines()[1]), (1, "verdict: modern"))
        self.assertIn("2030-01-01", out)

    def test_for_machines(self) -> None:
        with fixture("warn-schema") as url:
            status, out, _ = run_command("probe", url, "--output", "json")
        told = json.loads(out)
        self.assertEqual((status, told["verdict"], told["versions"]), (4, "legacy", "2025-11-25"))
        self.assertEqual([step["asked"] for step in told["steps"]], ["server/discover", "initialize"])
        self.assertIn("/inputSchema/properties/note/type", told["notes"][-1])

    def test_what_is_remembered_is_asked_again(self) -> None:
        with Stub(older({"tools/list": error(-32603, "broken", 200)})) as stub:
            for _ in range(2):
                status, out, _ = run_command("probe", stub.url)
                self.assertEqual((status, len(out.splitlines())), (4, 4))
                self.assertIn("its tools cannot be listed: -32603 broken", out)

    def test_of_a_process(self) -> None:
        command = ["--", sys.executable, "-c", STDIO]
        status, out, _ = run_command("probe", *command)
        self.assertEqual((status, out.splitlines()[0]), (4, "server/discover: -32000 no -> legacy: initialize"))


STDIO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        known = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s"}}}
        answer = {"result": known[asked["method"]]} if asked["method"] in known else {
            "error": {"code": -32000, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


class Portable(unittest.TestCase):
    def test_what_is_told(self) -> None:
        cases: Any = (
            ({"type": "object"}, []), ({"additionalProperties": False, "unevaluatedItems": {}}, []),
            ({"enum": [True], "const": {}, "default": {}, "examples": [{}], "required": []}, []),
            (True, [""]), ({}, [""]), ({"type": ["string"]}, ["/type"]),
            ({"properties": {"a/b~": False, "type": {"type": "string"}}}, ["/properties/a~1b~0"]),
            ({"items": {}}, ["/items"]), ({"items": [True]}, ["/items/0"]), ({"prefixItems": [{}]}, ["/prefixItems/0"]),
            ({"anyOf": [{"not": {"type": ["null"]}}]}, ["/anyOf/0/not/type"]),
            ({"contentSchema": {}, "dependencies": {"a": ["b"], "c": True}}, ["/contentSchema", "/dependencies/c"]),
            ({"$defs": {"a": {"additionalProperties": {"properties": {"b": True}}}}},
             ["/$defs/a/additionalProperties/properties/b"]), (None, []), (7, []), ({"properties": 7, "anyOf": {}}, []))
        for schema, pointers in cases:
            self.assertEqual([pointer for pointer, _ in hard_to_port(schema)], pointers, schema)

    def test_a_schema_without_end_has_one(self) -> None:
        schema: Any = {}
        for _ in range(5000):
            schema = {"items": schema}
        self.assertEqual(list(hard_to_port(schema)), [])


if __name__ == "__main__":
    unittest.main()
