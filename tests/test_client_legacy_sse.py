"""basic/transports of 2024-11-05, the client's side: HTTP+SSE, found out and spoken."""

from __future__ import annotations

import functools
import json
import threading
from typing import Any, Dict, List, Optional
from unittest import mock

from mcp_ref import CallHandle, Client
from mcp_ref.base.errors import BrokenOff, CallCancelled, HTTPError, McpError, MethodNotFound, Timeout
from mcp_ref.client import choice
from mcp_ref.transports.exchange import Exchange
from tests.stub_http import Answer, ClientCase, Seen, Stream, asked, raw
from tests.support import proves

INITIALIZED = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {"listChanged": True}},
               "serverInfo": {"name": "old", "version": "1"}}


class OldServer:
    """GET opens the stream, which tells the endpoint; what is POSTed there is answered on it."""

    def __init__(self, endpoint: str = "/messages?session=1") -> None:
        self.endpoint, self.stream = endpoint, Stream()
        self.opened = 0
        self.heard: List[Dict[str, Any]] = []
        self.results: Dict[str, Optional[Dict[str, Any]]] = {
            "initialize": INITIALIZED, "tools/list": {"tools": []}, "tools/call": {"content": []}}

    def __call__(self, seen: Seen) -> Answer:
        if seen.method == "GET" and seen.path == "/mcp":
            self.opened += 1
            self.stream.send(self.endpoint, event="endpoint")
            return self.stream(seen)
        if seen.path != self.endpoint or seen.method != "POST":
            return raw(404, b"<!DOCTYPE html><pre>Cannot POST /mcp</pre>", "text/html")(seen)
        self.heard.append(seen.message)
        result = self.results.get(asked(seen))
        if result is not None:
            self.stream.send({"id": seen.message["id"], "result": result})
        return raw(202, b"Accepted", "text/plain")(seen)


@proves("C073")
class OverSSE(ClientCase):
    def setUp(self) -> None:
        choice.FINDINGS.clear()
        self.addCleanup(choice.FINDINGS.clear)
        self.server = OldServer()
        self.addCleanup(self.server.stream.end)

    def methods(self) -> List[str]:
        return [message.get("method", "response") for message in self.server.heard]

    def test_it_is_found_and_spoken(self) -> None:
        with self.talk(self.server, era="auto") as (stub, client):
            self.assertEqual((client.list_tools(), client.call_tool("t")), ([], {"content": []}))
            self.assertEqual([(asked_, row.step) for asked_, _, row in client.choice.steps],
                             [("server/discover", "GET"), ("GET", "initialize"), ("initialize", "go on")])
            self.assertEqual([seen.path for seen in stub.seen][:2], ["/mcp", "/mcp"])
            versions = [seen.header("MCP-Protocol-Version") for seen in stub.seen if seen.path != "/mcp"]
            self.assertEqual(versions, [None, "2024-11-05", "2024-11-05", "2024-11-05"])
        self.assertEqual(self.methods(), ["initialize", "notifications/initialized", "tools/list", "tools/call"])
        self.assertEqual([each for each in self.server.heard if "_meta" in each.get("params", {})], [])

    def test_it_is_remembered(self) -> None:
        with self.talk(self.server, era="auto") as (stub, client):
            client.list_tools()
            self.server.stream = Stream()
            self.addCleanup(self.server.stream.end)
            before = len(stub.seen)
            with Client(stub.url) as other:
                other.list_tools()
            self.assertEqual([seen.method for seen in stub.seen[before:]], ["GET", "POST", "POST", "POST"])

    def test_initialize_that_is_refused_without_a_word_leads_there_too(self) -> None:
        for status in (400, 404, 405):
            server = OldServer()

            def script(seen: Seen, server: OldServer = server, status: int = status) -> Answer:
                refused = seen.path == "/mcp" and seen.method == "POST"
                return raw(status, b"", None)(seen) if refused else server(seen)

            with self.talk(script, era="legacy") as (_, client):
                self.assertEqual(client.list_tools(), [])
                server.stream.end()

    def test_what_is_no_stream_of_it(self) -> None:
        def script(seen: Seen, answer: Any) -> Answer:
            return raw(404, b"", None)(seen) if seen.method == "POST" else answer(seen)

        first, unnamed = Stream(), Stream()
        first.send({"method": "notifications/message"})
        unnamed.send("/messages?session=1", event="message")
        for answer in (raw(200, b"", "text/event-stream"), raw(200, b"{}"), raw(405, b"", None), first, unnamed):
            with self.talk(functools.partial(script, answer=answer), era="auto") as (_, client):
                with self.assertRaisesRegex(HTTPError, "no MCP endpoint here"):
                    client.list_tools()

    def test_an_endpoint_of_another_origin_is_not_gone_to(self) -> None:
        for place in ("http://evil.test/messages", "https://127.0.0.1/x", "//evil.test/", "ftp://x/"):
            server = OldServer(place)
            with self.talk(server, era="auto") as (stub, client):
                with self.assertRaises(HTTPError):
                    client.list_tools()
                self.assertEqual(server.heard, [])

    def test_questions_are_answered_and_changes_heard(self) -> None:
        with self.talk(self.server, era="auto", on_list_roots=list) as (_, client):
            with client.listen(tools=True) as heard:
                self.server.stream.send({"id": 1, "method": "roots/list"})
                self.server.stream.send({"method": "notifications/tools/list_changed"})
                self.assertEqual(next(heard)["method"], "notifications/tools/list_changed")
                while "response" not in self.methods():
                    threading.Event().wait(0.005)
        self.assertIn({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}, self.server.heard)

    def test_batches_are_received(self) -> None:
        self.server.results["tools/call"] = None

        def script(seen: Seen) -> Answer:
            if asked(seen) == "tools/call":
                self.server.stream.send(json.dumps([
                    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
                    {"jsonrpc": "2.0", "id": seen.message["id"], "result": {"content": []}}]))
            return self.server(seen)

        with self.talk(script, era="auto") as (_, client), client.listen(tools=True) as heard:
            self.assertEqual(client.call_tool("t"), {"content": []})
            self.assertEqual(next(heard)["method"], "notifications/tools/list_changed")

    def test_a_question_with_the_id_of_a_request_is_no_answer_to_it(self) -> None:
        self.server.results["tools/call"] = None

        def script(seen: Seen) -> Answer:
            if asked(seen) == "tools/call":
                known = seen.message["id"]
                self.server.stream.send({"id": known, "method": "ping"})
                self.server.stream.send({"id": str(known), "result": {"content": ["no"]}})
                self.server.stream.send({"id": known, "result": {"content": []}})
            return self.server(seen)

        with self.talk(script, era="auto") as (_, client):
            self.assertEqual(client.call_tool("t"), {"content": []})

    def test_without_a_thread_to_read_the_stream(self) -> None:
        start = threading.Thread.start

        def starting(thread: threading.Thread) -> None:
            if thread.name == "mcp-sse":
                raise RuntimeError("can't start new thread")
            start(thread)

        begun, ended = (mock.patch.object(Exchange, name, autospec=True, side_effect=getattr(Exchange, name))
                        for name in ("__enter__", "__exit__"))
        with self.talk(self.server, era="auto") as (_, client):
            with mock.patch.object(threading.Thread, "start", starting), begun as opened, ended as closed:
                self.assertRaises(McpError, client.list_tools)
            self.assertEqual(self.server.opened, 1)
            self.assertEqual(closed.call_count, opened.call_count)

    def test_no_answer_in_time(self) -> None:
        self.server.results["tools/call"] = None
        with self.talk(self.server, era="auto") as (_, client):
            client.list_tools()
            with self.assertRaises(Timeout):
                client.call_tool("t", timeout=0.2)
            self.assertEqual(self.methods()[-1], "notifications/cancelled")

    def test_its_end_is_told(self) -> None:
        self.server.results["tools/call"] = None
        with self.talk(self.server, era="auto") as (_, client):
            heard = client.listen(tools=True)
            threading.Timer(0.1, self.server.stream.end).start()
            with self.assertRaises(BrokenOff):
                client.call_tool("t")
            with self.assertRaises(BrokenOff):
                next(heard)

    def test_cancelling(self) -> None:
        self.server.results["tools/call"] = None
        handle = CallHandle()
        with self.talk(self.server, era="auto") as (_, client):
            client.list_tools()
            threading.Timer(0.1, handle.cancel).start()
            with self.assertRaises(CallCancelled):
                client.call_tool("t", handle=handle)
            self.assertEqual(self.methods()[-1], "notifications/cancelled")
            self.assertEqual(client.list_tools(), [], "the stream is everybody's")

    def test_what_is_not_advertised(self) -> None:
        with self.talk(self.server, era="auto") as (_, client), self.assertRaises(MethodNotFound):
            client.list_prompts()

    def test_a_message_that_is_refused(self) -> None:
        with self.talk(self.server, era="auto") as (_, client):
            client.list_tools()
            with mock.patch.object(self.server, "endpoint", "/gone"), self.assertRaises(HTTPError):
                client.call_tool("t")
