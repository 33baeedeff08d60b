"""basic/transports/stdio, Backward Compatibility: a client finds the era of a process, and speaks the older ones."""

from __future__ import annotations

import io
import json
import sys
import time
import unittest
from typing import Any, Dict, List
from unittest import mock

from mcp_ref import Client
from mcp_ref.base.errors import (
    BrokenOff,
    MethodNotFound,
    ProtocolError,
    Timeout,
    Unreachable,
    UnsupportedProtocolVersion,
)
from mcp_ref.client import choice
from tests.support import proves, until

SERVER = """
import json, os, sys

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

PROBED = %(probed)s
CAPABILITIES = {"tools": {"listChanged": True}, "logging": {}}
KNOWN = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {"name": "s"}},
         "logging/setLevel": {}, "tools/list": {"tools": []}}
begun = False
held = None
for line in sys.stdin:
    message = json.loads(line)
    print(line.strip(), file=sys.stderr, flush=True)
    method, id = message.get("method"), message.get("id")
    if method == "server/discover":
        held = id
        exec(PROBED)
    elif method == "tools/call" and message["params"]["name"] == "ask":
        asker = id
        send({"method": "notifications/progress", "params": {
            "progressToken": message["params"].get("_meta", {}).get("progressToken"), "progress": 1}})
        send({"method": "notifications/message", "params": {"level": "info", "data": "heard"}})
        send({"id": 1, "method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string"}}}}})
        send({"id": 2, "method": "ping"})
        send({"id": 3, "method": "sampling/createMessage", "params": {}})
    elif method == "tools/call" and message["params"]["name"] == "together":
        print(json.dumps([{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
                          {"jsonrpc": "2.0", "id": 4, "method": "ping"}, None,
                          {"jsonrpc": "2.0", "id": id, "result": {"content": []}}]), flush=True)
    elif method == "tools/call" and message["params"]["name"] == "die":
        os._exit(3)
    elif method == "tools/call":
        pass
    elif method is None:
        if message["id"] == 1:
            send({"method": "notifications/tools/list_changed"})
            send({"id": asker, "result": {"content": [{"type": "text", "text": json.dumps(message["result"])}]}})
    elif id is not None and method in KNOWN:
        if method == "initialize" and held is not None:
            send({"id": held, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}})
        send({"id": id, "result": KNOWN[method]})
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": "unknown"}})
"""


def refusing(error: str) -> str:
    return f"send({{'id': id, 'error': {error}}})"


class Case(unittest.TestCase):
    def server(self, probed: str = refusing("{'code': -32601, 'message': 'no'}"), **options: Any) -> Client:
        self.heard = io.StringIO()
        code = SERVER % {"probed": repr(probed)}
        client = Client([sys.executable, "-c", code], stderr=self.heard, **{"timeout": 60.0, **options})
        self.addCleanup(client.close)
        return client

    def sent(self) -> List[str]:
        """The methods of what the server heard."""
        return [json.loads(line).get("method", "response") for line in self.heard.getvalue().splitlines()
                if line.startswith("{")]

    def until(self, method: str, count: int = 1) -> None:
        until(lambda: self.sent().count(method) >= count)
        self.assertEqual(self.sent().count(method), count)


class Probing(Case):
    @proves("C073", "STDIO-17", "STDIO-20", "STDIO-21", "VERS-11")
    def test_whatever_the_error_initialize_comes_next(self) -> None:
        for error in ("{'code': -32601, 'message': 'no'}", "{'code': -32602, 'message': 'no'}",
                      "{'code': -32600, 'message': 'not initialized'}", "{'code': -32000, 'message': 'no'}"):
            client = self.server(refusing(error))
            self.assertEqual(client.list_tools(), [])
            client.close()
            self.assertEqual(self.sent()[:4], ["server/discover", "initialize", "notifications/initialized",
                                               "tools/list"], error)

    @proves("C073")
    def test_an_error_without_an_id(self) -> None:
        client = self.server("send({'id': None, 'error': {'code': -32600, 'message': 'no'}})")
        self.assertEqual(client.list_tools(), [])

    @proves("C073", "STDIO-20")
    def test_silence_and_a_late_answer(self) -> None:
        with mock.patch.object(choice, "PATIENCE", 0.5):
            client = self.server("")
            self.assertEqual((client.list_tools(), client.choice.finding and client.choice.finding.era), ([], "legacy"))
            self.assertEqual([row.step for _, _, row in client.choice.steps], ["spawn", "go on"])
        self.assertEqual(client._transport.starts, 2)  # type: ignore[union-attr]

    @proves("C073")
    def test_a_process_that_ends_of_the_question(self) -> None:
        client = self.server("os._exit(1)")
        self.assertEqual(client.list_tools(), [])
        self.assertEqual([row.step for _, _, row in client.choice.steps], ["spawn", "go on"])

    @proves("C074", "STDIO-18", "STDIO-19")
    def test_a_modern_server_stays_modern(self) -> None:
        client = self.server("send({'id': id, 'result': {'supportedVersions': ['2026-07-28'], 'capabilities': {}}})")
        self.assertEqual(client.list_tools(), [])
        client.close()
        self.assertEqual(self.sent(), ["server/discover", "tools/list"])
        refused = "{'code': -32022, 'message': 'no', 'data': {'supported': ['2030-01-01'], 'requested': '2026-07-28'}}"
        client = self.server(refusing(refused))
        with self.assertRaisesRegex(UnsupportedProtocolVersion, "2030-01-01.*2026-07-28"):
            client.list_tools()
        client.close()
        self.assertEqual(self.sent(), ["server/discover"])

    @proves("VERS-08")
    def test_it_is_asked_once(self) -> None:
        client = self.server()
        client.list_tools()
        client.list_tools()
        client.close()
        self.assertEqual([method for method in self.sent() if method in ("server/discover", "initialize")],
                         ["server/discover", "initialize"])

    @proves("VERS-11", "STDIO-22")
    def test_a_client_of_one_era_asks_first_too(self) -> None:
        client = self.server(era="modern")
        with self.assertRaisesRegex(ProtocolError, "older era"):
            client.call_tool("t")
        client.close()
        self.assertEqual(self.sent(), ["server/discover"])
        client = self.server(era="legacy")
        client.list_tools()
        client.close()
        self.assertEqual(self.sent()[0], "initialize")


class Session(Case):
    def test_questions_progress_and_log_messages(self) -> None:
        heard: List[Any] = []

        def slow(params: Dict[str, Any]) -> Dict[str, Any]:
            time.sleep(1.5)
            return {"name": params["message"]}

        client = self.server(on_elicit=slow, on_log=lambda level, data, _: heard.append(data))
        with client.listen(tools=True) as changes:
            result = client.call_tool("ask", timeout=1.0, on_progress=lambda progress, *_: heard.append(progress))
            self.assertIn('"content": {"name": "Who?"}', result["content"][0]["text"])
            self.assertEqual(next(changes)["method"], "notifications/tools/list_changed")
        self.assertEqual(heard, [1, "heard"])
        self.until("response", 3)

    def test_batches_are_received(self) -> None:
        client = self.server()
        with client.listen(tools=True) as changes:
            self.assertEqual(client.call_tool("together"), {"content": []})
            self.assertEqual(next(changes)["method"], "notifications/tools/list_changed")
        self.until("response")

    def test_a_process_that_is_started_anew_is_initialized_anew(self) -> None:
        client = self.server(restart=True)
        with client.listen(tools=True) as changes:
            with self.assertRaisesRegex(BrokenOff, "status 3"):
                client.call_tool("die")
            with self.assertRaises(BrokenOff):
                next(changes)
        self.assertEqual(client.list_tools(), [])
        client.close()
        asked = [method for method in self.sent() if not method.startswith("notifications/")]
        self.assertEqual(asked, ["server/discover", "initialize", "tools/call", "server/discover", "initialize",
                                 "tools/list"])
        client = self.server()
        self.assertRaises(BrokenOff, client.call_tool, "die")
        self.assertRaises(Unreachable, client.list_tools)

    def test_a_request_that_is_given_up(self) -> None:
        client = self.server()
        client.list_tools()
        with self.assertRaises(Timeout):
            client.call_tool("silent", timeout=0.3)
        self.until("notifications/cancelled")
        self.assertEqual((client.list_tools(), self.sent().count("notifications/cancelled")), ([], 1))

    def test_what_is_not_advertised(self) -> None:
        client = self.server()
        with self.assertRaises(MethodNotFound):
            client.list_prompts()
        client.close()
        self.assertNotIn("prompts/list", self.sent())


if __name__ == "__main__":
    unittest.main()
