"""Routing of eras: each message of a dual server goes by itself to the revision that it is of."""

import json
import unittest

from mcp_ref import Server
from mcp_ref.base.meta import PROTOCOL_VERSION
from mcp_ref.base.request import Head
from mcp_ref.transports.endpoint import Endpoint

from .support import Older, echo_server, exchange, full_server, headers, message, meta, post, proves, run_command, stdio

INITIALIZE = {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}


class Dual(unittest.TestCase):
    def setUp(self):
        self.server = full_server()
        self.lines = []
        self.server.on_trace = self.lines.append
        self.client = Older(self.server)

    def modern(self):
        """Whether the last message went on up the ladder."""
        self.assertIn(" era ", self.lines[-1])
        return "session" not in self.lines[-1]

    def test_what_is_modern(self):
        envelope = {"_meta": meta()}
        for body, fields in (
                (message("tools/list"), {}),
                (message("initialize"), {}),
                ({**INITIALIZE, "params": {**INITIALIZE["params"], "_meta": {PROTOCOL_VERSION: None}}}, {}),
                ({**INITIALIZE, "params": {"_meta": {PROTOCOL_VERSION: "2025-11-25"}}},
                 {"mcp_protocol_version": "2025-11-25"}),
                (INITIALIZE, {"mcp_protocol_version": "2026-07-28"}),
                ({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, {}),
                ({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, {"mcp_protocol_version": "2025-11-25"}),
                ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"mcp_protocol_version": "2031-01-01"}),
                ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"mcp_protocol_version": "banana"}),
                ({"jsonrpc": "2.0", "method": "notifications/x", "params": envelope}, {})):
            self.client.send(body, **fields)
            self.assertTrue(self.modern(), (body, fields, self.lines[-1]))

    def test_what_is_not(self):
        self.client.initialize()
        plain = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for body, fields in (
                (plain, {}), ({**plain, "params": {"_meta": {"progressToken": 1}}}, {}),
                (plain, {"mcp_protocol_version": ""}), (plain, {"mcp_protocol_version": "2024-11-05"}),
                (plain, {"mcp_protocol_version": "banana"}), (INITIALIZE, {"mcp_session_id": None}),
                ({"jsonrpc": "2.0", "id": 1, "result": {}}, {}), ([plain], {}),
                ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {})):
            self.client.send(body, **fields)
            self.assertFalse(self.modern(), (body, fields, self.lines[-1]))

    def test_stdio_is_routed_by_the_message_alone(self):
        for body, modern in ((message("tools/list"), True), (INITIALIZE, False), (message("initialize"), True),
                             ({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, True),
                             ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, False)):
            stdio(self.server, body)
            self.assertEqual(self.modern(), modern, body)

    def test_no_message_decides_for_the_next(self):
        for _ in range(2):
            self.assertEqual(post(self.server, message("server/discover")).result["supportedVersions"], ["2026-07-28"])
            self.client.initialize()
            self.assertNotIn("resultType", self.client.request("tools/list").result)
            self.assertEqual(post(self.server, message("tools/list")).result["resultType"], "complete")

    def test_a_revision_that_nobody_knows_is_told_the_served_ones(self):
        reply = self.client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, mcp_protocol_version="2031-01-01")
        self.assertEqual((reply.status, reply.error["code"]), (400, -32022))
        self.assertEqual(reply.error["data"], {"supported": ["2026-07-28"], "requested": "2031-01-01"})

    def test_a_batch_or_a_response_in_the_modern_era(self):
        for body in ([], [message("tools/list")], {"jsonrpc": "2.0", "id": 4, "result": {}}):
            reply = self.client.send(body, mcp_protocol_version="2026-07-28")
            self.assertEqual((reply.status, reply.error["code"]), (400, -32600), body)
            self.assertTrue(self.modern())

    def test_the_hint_names_plain_initialize(self):
        reply = post(self.server, message("initialize"))
        self.assertEqual((reply.status, reply.error["code"]), (404, -32601))
        for name in ("2026-07-28", "server/discover", "plain initialize", "2025-11-25"):
            self.assertIn(name, reply.error["message"])

    @proves("C070")
    def test_a_session_id_on_a_modern_message_is_passed_over(self):
        fields = {"mcp-session-id": "zzz", "last-event-id": "4"}
        reply = post(self.server, message("tools/list"), fields)
        self.assertEqual((reply.status, reply.headers), (200, {}))
        wrong = post(self.server, message("no/such"), fields)
        self.assertEqual((wrong.status, wrong.headers), (404, {}))

    @proves("C070")
    def test_get_and_delete(self):
        for method in ("GET", "DELETE"):
            for server, more in ((echo_server(era="modern"), {}), (echo_server(legacy_sessions=False), {}),
                                 (self.server, {"mcp_protocol_version": "2026-07-28"})):
                head = Head(method, "/mcp", headers({"method": "x"}, mcp_method=None, **{
                    "mcp_protocol_version": None, **more}))
                reply = exchange(server, b"", head, Endpoint())
                self.assertEqual((reply.status, reply.headers["Allow"]), (405, "POST"))
        head = Head("PUT", "/mcp", headers({"method": "x"}, mcp_protocol_version=None))
        self.assertEqual(exchange(self.server, b"", head).headers["Allow"], "POST, GET, DELETE")


class One(unittest.TestCase):
    def test_modern_alone_knows_of_no_other(self):
        server = echo_server(era="modern")
        client = Older(server)
        reply = client.initialize()
        self.assertEqual((reply.status, reply.error["code"]), (400, -32020))
        self.assertIn("server/discover instead of initialize", reply.error["message"])
        self.assertEqual(client.send([]).error["code"], -32600)
        self.assertEqual(client.send({"jsonrpc": "2.0", "id": 1, "result": {}}).error["code"], -32600)

    def test_legacy_alone_answers_what_it_always_did(self):
        server = echo_server(era="legacy")
        reply = post(server, message("server/discover"))
        self.assertEqual((reply.status, reply.error["code"], reply.body["id"]), (200, -32601, 1))
        reply = post(server, message("tools/list"))
        self.assertEqual((reply.status, reply.error["code"]), (400, -32600))
        self.assertIn("MCP-Protocol-Version", reply.error["message"])
        self.assertNotIn("2026-07-28,", reply.error["message"])
        client = Older(server)
        client.initialize()
        enveloped = client.send(message("tools/call", {"name": "echo", "arguments": {"text": "x"}}))
        self.assertNotIn("resultType", enveloped.result)
        self.assertEqual(stdio(server, message("server/discover")).error["code"], -32601)

    def test_an_era_is_one_of_three(self):
        with self.assertRaises(ValueError):
            Server("s", "1", era="both")
        server = Server("s", "1")
        self.assertEqual(server.state.era, "dual")
        server.set_era("legacy")
        self.assertEqual(server.state.era, "legacy")

    def test_the_command_line(self):
        status, _, said = run_command("serve", "--era", "both")
        self.assertEqual(status, 2)
        self.assertIn("dual", said)

    def test_explain_shows_where_they_part(self):
        shown = run_command("explain", "era")[1]
        self.assertIn("server/discover", shown)
        shown = run_command("explain")[1]
        for rung in ("session", "revision", "call", "phase", "served"):
            self.assertRegex(shown, rf"(?m)^\d+ {rung} \(.*before 2026-07-28\)")
        self.assertIn("404", run_command("explain", "session")[1])
        self.assertIn("served", run_command("explain", "-32002")[1])

    def test_json_in_and_out(self):
        reply = Older(echo_server()).send(json.dumps(INITIALIZE).encode() + b"]")
        self.assertEqual((reply.status, reply.error["code"]), (400, -32700))


if __name__ == "__main__":
    unittest.main()
