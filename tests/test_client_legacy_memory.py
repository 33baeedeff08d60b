"""In process: `Client(server, era="legacy")` speaks the eras before with a server of this process, without a socket."""

import unittest
from typing import Any, List
from unittest import mock

from mcp_ref import Client
from mcp_ref.base.errors import MethodNotFound, Timeout
from tests.support import full_server


class InProcess(unittest.TestCase):
    def setUp(self) -> None:
        self.server = full_server()
        self.heard: List[Any] = []
        self.client = Client(self.server, era="legacy", on_elicit=lambda _: {"name": "Ada"},
                             on_log=lambda _, data, __: self.heard.append(data))
        self.addCleanup(self.client.close)

    def test_results_questions_progress_and_log_messages(self) -> None:
        self.assertEqual(self.client.call_tool("echo", {"text": "x"}), {"content": [{"type": "text", "text": "x"}]})
        self.assertEqual(self.client.call_tool("ask")["content"][0]["text"], "Ada")
        self.client.call_tool("work", on_progress=lambda progress, *_: self.heard.append(progress))
        self.assertEqual(self.heard, [1, "half way", 2])
        self.assertEqual(self.client.discover()["supportedVersions"], ["2025-11-25"])

    def test_without_threads(self) -> None:
        with mock.patch("threading.Thread.start", side_effect=RuntimeError):
            self.assertEqual(self.client.call_tool("ask")["content"][0]["text"], "Ada")

    def test_changes(self) -> None:
        with self.client.listen(tools=True, uris=["demo://one"]) as changes:
            self.server.notify_resource_updated("demo://one")
            self.server.notify_tools_changed()
            self.assertEqual([next(changes)["method"] for _ in range(2)],
                             ["notifications/resources/updated", "notifications/tools/list_changed"])

    def test_a_handler_that_is_given_up(self) -> None:
        told: List[bool] = []

        @self.server.tool
        def slow(ctx: Any) -> str:
            while not ctx.cancelled:
                pass
            told.append(True)
            return ""

        with self.assertRaises(Timeout):
            self.client.call_tool("slow", timeout=0.2)
        with self.assertRaises(MethodNotFound):
            self.client.request("no/such")

    def test_the_wire(self) -> None:
        wire: List[Any] = []
        with Client(self.server, era="legacy", wire=lambda *both: wire.append(both)) as client:
            client.list_tools()
        self.assertIn('"initialize"', wire[0][0])


if __name__ == "__main__":
    unittest.main()
