"""Sessions and streams of the eras before at their edges: what is forgotten, what is not to be had, who says what."""

import json
import threading
import time
import unittest
from unittest import mock

from mcp_ref.base.meta import LOG_LEVEL
from mcp_ref.base.request import Head, Request
from mcp_ref.legacy import serve, streams
from mcp_ref.legacy.sessions import Session
from mcp_ref.legacy.streams import Kept, Streams
from mcp_ref.transports.endpoint import Endpoint

from .support import Older, echo_server, full_server, not_on_wasm


def get(server, target="/mcp", **fields):
    """What the core answers a GET; its stream is the Answer's."""
    given = {"host": "127.0.0.1:8000", "accept": "text/event-stream",
             **{name.replace("_", "-"): value for name, value in fields.items() if value is not None}}
    return server.handle(Request(lambda: b"", Head("GET", target, given), None, Endpoint()))


class AtTheEdge(unittest.TestCase):
    def setUp(self):
        self.server = full_server()
        self.client = Older(self.server)
        self.client.initialize()

    def levels(self, **meta):
        @self.server.tool
        def levels(ctx) -> str:
            """Log at two levels."""
            for level in ("debug", "info"):
                ctx.log(level, "said")
            return "done"
        reply = self.client.request("tools/call", {"name": "levels", "_meta": meta})
        return [each["params"]["level"] for each in reply.sent]

    def test_without_a_level_there_are_no_messages_for_debugging(self):
        self.assertEqual(self.levels(), ["info"])

    def test_a_request_does_not_say_what_its_session_has_said(self):
        self.assertEqual(self.levels(**{LOG_LEVEL: "debug"}), ["info"])

    def test_the_oldest_revision_has_no_message_with_progress_in_any_round(self):
        @self.server.tool
        def half(ctx) -> str:
            """Report progress with a message."""
            ctx.progress(1, message="half")
            return "done"
        for version, expected in (("2025-03-26", "half"), ("2024-11-05", None)):
            client = Older(self.server, version)
            client.initialize()
            reply = client.request("tools/call", {"name": "half", "_meta": {"progressToken": "t"}})
            self.assertEqual(reply.sent[0]["params"].get("message"), expected)

    def test_a_session_that_ended_listens_no_more(self):
        get(self.server, mcp_session_id=self.client.session)
        self.assertEqual(len(self.server.state.sessions.listening), 1)
        self.client.send(b"", "DELETE")
        self.assertEqual(self.server.state.sessions.listening, {})

    def test_two_session_ids_are_none(self):
        fields = {"host": "127.0.0.1:8000", "mcp-session-id": self.client.session}
        for repeated, status in ((frozenset(["mcp-session-id"]), 404), (frozenset(), 200)):
            head = Head("DELETE", "/mcp", fields, repeated)
            answer = self.server.handle(Request(lambda: b"", head, None, Endpoint()))
            self.assertEqual(answer.status, status)

    def test_the_address_of_http_sse_is_for_posts(self):
        first = get(self.server).stream
        place = first.opening.decode().split("data: ")[1].strip()
        second = get(self.server, place).stream
        self.assertIn(b"event: endpoint", second.opening)
        self.assertNotEqual(first.opening, second.opening)

    def test_only_who_names_an_event_stream_begins_one_without_a_session(self):
        for accept in ("*/*", "text/*", "text/html, */*;q=0.8", "text/event-stream;q=0, */*", ""):
            answer = get(self.server, accept=accept)
            self.assertEqual((answer.status, answer.stream), (406, None), accept)
            self.assertIn(b"text/event-stream", answer.body)
        self.assertEqual(len(self.server.state.sessions), 1)
        begun = get(self.server, accept="application/json, text/event-stream").stream
        self.assertIn(b"event: endpoint", begun.opening)
        self.assertEqual(get(self.server, accept="*/*", mcp_session_id=self.client.session).status, 200)

    def test_a_stream_ends_with_the_token_that_it_was_opened_with(self):
        over = time.time() + 60
        session = self.server.state.sessions.find(self.client.session, "")
        request = Request(lambda: b"", Head("GET", "/mcp", {}), None, Endpoint())
        request.session, request.principal = session, {"sub": "ann", "exp": over}
        self.assertEqual(serve.serve(self.server.state, request).stream.expires, over)
        session.streams.standalone().hang_up()
        request.principal = None
        self.assertIsNone(serve.serve(self.server.state, request).stream.expires)

    def test_a_client_that_comes_back_too_late_for_what_it_was_told_is_told_that_all_has_changed(self):
        self.client.request("resources/subscribe", {"uri": "demo://one"})
        first = get(self.server, mcp_session_id=self.client.session).stream
        with mock.patch.object(streams, "MAX_KEPT", 1200):
            for _ in range(10):
                self.server.notify_tools_changed()
        with self.assertLogs("mcp_ref", "INFO"):
            back = get(self.server, mcp_session_id=self.client.session, last_event_id="0-2").stream
        self.assertTrue(first.ended)
        told = [json.loads(each) for each in back.take()]
        again = [each["method"] for each in told[-4:]]
        self.assertEqual([each["method"] for each in told[:-4]], ["notifications/tools/list_changed"] * 3)
        self.assertEqual(again, [f"notifications/{what}/list_changed" for what in ("tools", "prompts", "resources")]
                         + ["notifications/resources/updated"])
        self.assertEqual(told[-1]["params"], {"uri": "demo://one"})
        back = get(self.server, mcp_session_id=self.client.session, last_event_id="0-13").stream
        self.assertEqual(len(back.take()), 1, "nothing is missing")

    def test_only_what_is_advertised_may_have_changed(self):
        server = echo_server()
        client = Older(server)
        client.initialize()
        get(server, mcp_session_id=client.session)
        with mock.patch.object(streams, "MAX_KEPT", 1):
            server.notify_tools_changed()
        back = get(server, mcp_session_id=client.session, last_event_id="0-0").stream
        self.assertEqual([json.loads(each)["method"] for each in back.take()], ["notifications/tools/list_changed"])

    def test_what_a_request_reported_may_be_missing_and_nothing_is_told_of_it(self):
        session = self.server.state.sessions.find(self.client.session, "")
        stream = session.streams.open()
        with mock.patch.object(streams, "MAX_KEPT", 300):
            stream.put(b"1")
            stream.put(b"2")
        back = get(self.server, mcp_session_id=self.client.session, last_event_id="1-0").stream
        self.assertEqual(back.take(), [b"2"])
        self.assertEqual(session.streams.standalone().count, 0)

    @not_on_wasm("needs threads")
    def test_cancelled_at_the_moment_it_asks(self):
        ask = Session.ask

        def cancelled(session, *arguments):
            for each in list(session.under_way.values()):
                each.cancel()
            return ask(session, *arguments)
        with mock.patch.object(Session, "ask", cancelled):
            reply = self.client.call("ask")
        self.assertEqual(reply.status, 202)
        question, withdrawn = reply.sent
        self.assertEqual(withdrawn["params"], {"requestId": question["id"]})


class OfStreams(unittest.TestCase):
    def setUp(self):
        self.kept = Kept()
        self.streams = Streams(self.kept, True)

    def test_an_event_that_was_never_sent(self):
        stream = self.streams.open()
        stream.put(b"1")
        self.assertIsNone(self.streams.resumed("1-2"))
        self.assertEqual(self.streams.resumed("1-1").take(), [])

    def test_where_somebody_would_wait_in_vain_nothing_is_taken_up_again(self):
        stream = self.streams.open()
        for number, awaited in ((1, False), (2, True), (3, False), (4, False)):
            stream.put(b"%d" % number, awaited=awaited)
        with mock.patch.object(streams, "MAX_KEPT", len(b"4") + streams.COST):
            stream.put(b"5")
        self.assertEqual([self.streams.resumed(f"1-{number}") for number in (0, 1)], [None, None])
        for number, gap in ((2, True), (3, True), (4, False), (5, False)):
            reader = self.streams.resumed(f"1-{number}")
            self.assertEqual((reader.take(), reader.gap), ([b"5"] if number < 5 else [], gap), number)

    def test_nothing_follows_the_last(self):
        stream = self.streams.open()
        stream.put(b"last", last=True)
        stream.put(b"more")
        self.assertEqual(self.streams.resumed("1-0").take(), [b"last"])

    def test_a_stream_begins_with_what_to_come_back_with_and_when(self):
        self.assertEqual(self.streams.open().reader_from().opening,
                         b"id: 1-0\nretry: %d\ndata: \n\n" % streams.RETRY)
        self.assertEqual(Streams(self.kept, False).open().reader_from().opening, b"")

    def test_the_server_ends_what_answers_nobody(self):
        answering, listening = self.streams.open().reader_from(), self.streams.standalone().reader_from()
        answering.end()
        listening.end()
        self.assertEqual((answering.ended, listening.ended), (False, True))

    def test_one_reader_is_the_first_however_many_ask_at_once(self):
        found = []
        begin = threading.Barrier(8)

        def ask():
            begin.wait()
            found.append(self.streams.standalone().only_reader())

        asking = [threading.Thread(target=ask) for _ in range(8)]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
        reader = next(each for each in found if each is not None)
        self.assertEqual((found.count(None), self.kept.readers, reader.ended), (7, 1, False))
        reader.close()
        self.assertIsNotNone(self.streams.standalone().only_reader())

    def test_a_stream_taken_up_again_ends_with_its_token(self):
        stream = self.streams.open()
        stream.put(b"1")
        reader = self.streams.resumed("1-0")
        reader.expires = time.time() + 60
        reader.end()
        self.assertFalse(reader.ended)
        reader.expires = 1.0
        reader.end()
        self.assertTrue(reader.ended)
        self.assertEqual(self.streams.resumed("1-0").take(), [b"1"], "it goes on for one who has another token")

    def test_who_was_sent_something_longest_ago_is_forgotten_first(self):
        one, two = Streams(self.kept, True), Streams(self.kept, True)
        opened = [each.open() for each in (one, two)]
        for stream in (*opened, opened[0]):
            stream.put(b"x" * 100)
        with mock.patch.object(streams, "MAX_ALL", self.kept.octets):
            opened[0].put(b"y")
        self.assertEqual((len(one.resumed("1-0").take()), two.resumed("1-0").take()), (3, []))


if __name__ == "__main__":
    unittest.main()
