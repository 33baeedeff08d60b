"""What a caller says of one request, and of all: it goes on the wire before what the client would say by itself."""

import socket
import sys
import threading
import unittest
from typing import Any, Dict, List

from mcp_ref import CallCancelled, CallHandle, Client, ProtocolError, SchemaError, TransportError
from mcp_ref.base.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, PROTOCOL_VERSION
from mcp_ref.transports.calls import Deadline

from .stub_http import Answer, ClientCase, Seen, asks, error, result, said, tool


class Meta(ClientCase):
    def test_it_wins_over_the_clients_own_fields_but_for_the_version(self) -> None:
        given = {LOG_LEVEL: "error", CLIENT_INFO: {"name": "other", "version": "2"}, CLIENT_CAPABILITIES: {"roots": {}},
                 PROGRESS_TOKEN: "mine", PROTOCOL_VERSION: "1999-01-01", "com.example/a": 1}
        with self.talk(said(), log_level="info", on_progress=lambda *_: None) as (stub, client):
            client.call_tool("t", meta=given)
            client.request("tools/call", {"name": "t", "_meta": given})
            client.request("tools/call", {"name": "t", "_meta": given}, meta={PROGRESS_TOKEN: "later"})
        for seen in stub.seen[:2]:
            self.assertEqual(seen.params["_meta"], {**given, PROTOCOL_VERSION: "2026-07-28"})
            self.assertEqual(seen.header("MCP-Protocol-Version"), "2026-07-28")
        self.assertEqual(stub.seen[2].params["_meta"][PROGRESS_TOKEN], "later")

    def test_the_log_level_of_one_call(self) -> None:
        with self.talk(said(), on_log=lambda *_: None) as (stub, client):
            client.call_tool("t")
            client.call_tool("t", log_level="debug")
            client.call_tool("t", log_level="debug", meta={LOG_LEVEL: "error"})
            client.call_tool("t")
            with self.assertRaisesRegex(ValueError, "log_level is one of debug, "):
                client.call_tool("t", log_level="loud")
        levels = [seen.params["_meta"][LOG_LEVEL] for seen in stub.seen]
        self.assertEqual(levels, ["info", "debug", "debug", "info"])

    def test_every_method_takes_them(self) -> None:
        page = result(tools=[], resources=[], resourceTemplates=[], prompts=[], contents=[], messages=[], content=[],
                      completion={"values": []})
        with self.talk(page) as (stub, client):
            options: Dict[str, Any] = {"timeout": 4, "on_progress": lambda *_: None, "meta": {"com.example/a": 1},
                                       "log_level": "notice", "handle": CallHandle()}
            client.discover(**options)
            client.list_tools(**options)
            client.list_resources(**options)
            client.list_resource_templates(**options)
            client.list_prompts(**options)
            client.call_tool("t", **options)
            client.read_resource("demo://a", **options)
            client.get_prompt("p", **options)
            client.complete({"type": "ref/prompt", "name": "p"}, "a", "", **options)
        self.assertEqual(len(stub.seen), 9)
        for seen in stub.seen:
            fields = seen.params["_meta"]
            self.assertEqual((fields["com.example/a"], fields[LOG_LEVEL]), (1, "notice"), seen.message["method"])
            self.assertIn(PROGRESS_TOKEN, fields)


class Headers(ClientCase):
    def test_they_are_made_for_each_request(self) -> None:
        tokens: List[str] = []

        def headers() -> Dict[str, str]:
            tokens.append(f"Bearer {len(tokens)}")
            return {"Authorization": tokens[-1]}

        with self.talk(asks(state="S"), said(), headers=headers) as (stub, client):
            client.call_tool("t")
            client.call_tool("t")
        self.assertEqual([seen.header("Authorization") for seen in stub.seen], ["Bearer 0", "Bearer 1", "Bearer 2"])

    def test_bad_ones_are_refused_before_anything_is_sent(self) -> None:
        made: Dict[str, Any] = {}
        with self.talk(said(), headers=lambda: made) as (stub, client):
            for bad in ({"Mcp-Method": "x"}, {"a b": "x"}, {"a": "x\r\nb: c"}, {"a": None}, {7: "x"}):
                made.clear()
                made.update(bad)  # type: ignore[arg-type]
                with self.subTest(bad), self.assertRaises(ValueError):
                    client.call_tool("t")
            made.clear()
            client.call_tool("t")
        self.assertEqual(len(stub.seen), 1)
        with self.talk(said(), headers=lambda: None) as (stub, client):
            client.call_tool("t")


class Output(ClientCase):
    def test_it_need_not_be_validated(self) -> None:
        listed = result(tools=[tool("t", {}, outputSchema={"type": "object", "required": ["a"]}),
                               tool("u", {}, outputSchema={"$ref": "#/nowhere"})])
        wrong = result(content=[], structuredContent={"b": 1})
        with self.talk(listed, wrong) as (_, client):
            client.list_tools()
            with self.assertRaisesRegex(TransportError, "outputSchema"):
                client.call_tool("t")
            with self.assertRaises(SchemaError):
                client.call_tool("u")
        with self.talk(listed, wrong, validate_output=False) as (_, client):
            client.list_tools()
            self.assertEqual(client.call_tool("t")["structuredContent"], {"b": 1})
            self.assertEqual(client.call_tool("u")["structuredContent"], {"b": 1})


class Handles(ClientCase):
    """What CallHandle promises beyond what test_client_memory shows of both transports."""

    def test_a_list_is_ended_between_its_pages(self) -> None:
        handle = CallHandle()

        def page(seen: Seen) -> Answer:
            if len(stub.seen) == 2:
                handle.cancel()
            return result(tools=[], nextCursor=str(len(stub.seen)))(seen)

        with self.talk(page) as (stub, client):
            with self.assertRaises(CallCancelled):
                client.list_tools(handle=handle)
            self.assertLessEqual(len(stub.seen), 3)

    def test_an_answer_that_never_ends_is_hung_up_on(self) -> None:
        handle, begun = CallHandle(), threading.Event()

        def endless(seen: Seen) -> Answer:
            def body() -> Any:
                for part in stub.drip(b" "):
                    begun.set()
                    yield part
            return Answer(200, body(), {"Content-Type": "application/json"})

        def cancel() -> None:
            begun.wait(10)
            handle.cancel()

        with self.talk(endless) as (stub, client):
            threading.Thread(target=cancel, daemon=True).start()
            with self.assertRaises(CallCancelled):
                client.call_tool("t", handle=handle)

    @unittest.skipUnless(sys.platform == "linux", "what a full backlog does is the system's affair")
    def test_a_connection_that_does_not_come_about(self) -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            place = full.getsockname()
            waiting = []
            try:
                for _ in range(8):  # the backlog: from some point on, nobody is let in or turned away
                    made = socket.socket()
                    made.setblocking(False)
                    made.connect_ex(place)
                    waiting.append(made)
                handle = CallHandle()
                threading.Timer(0.05, handle.cancel).start()
                with Client(f"http://127.0.0.1:{place[1]}/mcp", timeout=30) as client:
                    with self.assertRaises(CallCancelled):
                        client.discover(handle=handle)
            finally:
                for made in waiting:
                    made.close()

    def test_an_answer_that_is_there_is_given(self) -> None:
        handle = CallHandle()
        with self.talk(said("done"), error(-32602)) as (_, client):
            self.assertEqual(client.call_tool("t", handle=handle)["content"][0]["text"], "done")
            with self.assertRaises(ProtocolError):
                client.call_tool("t", handle=handle)
            handle.cancel()

    def test_a_deadline_that_is_shared_has_its_own(self) -> None:
        deadline = Deadline(5, CallHandle())
        with self.talk(said()) as (_, client):
            client.call_tool("t", timeout=deadline, handle=deadline.handle)
            with self.assertRaisesRegex(ValueError, "Deadline"):
                client.call_tool("t", timeout=deadline, handle=CallHandle())
            assert deadline.handle is not None
            deadline.handle.cancel()
            with self.assertRaises(CallCancelled):
                client.call_tool("t", timeout=deadline)


if __name__ == "__main__":
    unittest.main()
