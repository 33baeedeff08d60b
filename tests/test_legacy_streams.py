"""basic/transports of 2025-11-25 and before: event streams over a socket, opened, cut off, resumed; HTTP with SSE."""

import json
import re
import threading
import time
import unittest
from unittest import mock

from mcp_ref import Server
from mcp_ref.legacy import serve, streams
from mcp_ref.legacy.http_sse import Channel
from mcp_ref.legacy.sessions import Sessions
from mcp_ref.legacy.streams import Kept, Streams
from mcp_ref.patterns.notifications import Cancelled
from mcp_ref.transports.bounds import Limits

from .support import RawClient, ServerCase, accept, full_server, message, proves, until

BOTH = "application/json, text/event-stream"


class Wire(ServerCase):
    """A client of 2025-11-25, or another revision, with a session."""

    def begin(self, server=None, version="2025-11-25", **options):
        self.mcp = server or full_server()
        self.serve(self.mcp, **options)
        self.session = None
        reply = self.post("initialize", {"protocolVersion": version, "clientInfo": {"name": "x", "version": "1"},
                                         "capabilities": {"elicitation": {}, "roots": {}}}).response()
        self.session = reply.headers["mcp-session-id"]
        self.assertEqual(self.post("notifications/initialized", id=None).response().status, 202)
        return self.mcp

    def octets(self, method, target="/mcp", body=b"", **more):
        fields = {"Host": "127.0.0.1", "Accept": BOTH, "Content-Type": "application/json",
                  "Mcp-Session-Id": self.session, "Content-Length": len(body) or None,
                  **{name.replace("_", "-"): value for name, value in more.items()}}
        lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
        return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode() + body

    def send(self, body, **more):
        client = self.client()
        client.send(self.octets("POST", body=json.dumps(body).encode(), **more))
        return client

    def post(self, method, params=None, id=1, **more):
        return self.send({"jsonrpc": "2.0", "method": method, "params": params or {},
                          **({} if id is None else {"id": id})}, **more)

    def call(self, tool, id=1, **arguments):
        return self.post("tools/call", {"name": tool, "arguments": arguments}, id)

    def get(self, last=None, **more):
        client = self.client()
        client.send(self.octets("GET", Last_Event_ID=last, **more))
        return client

    def event(self, client):
        """(id, message) of the next event; the id alone of one that primes."""
        text = client._until(b"\n\n").decode()
        text = re.sub(r"(?m)^[0-9a-f]+\r$\n|\r\n", "", text)  # chunks have no meaning
        fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        data = fields.get("data", "")
        return fields.get("id"), json.loads(data) if data.startswith("{") else data or None

    def rest(self, client):
        """The ids and messages up to the end of a response."""
        text = ""
        while True:
            chunk = client.chunk()
            if not chunk:
                break
            text += chunk.decode()
        return [(re.search(r"(?m)^id: (.*)$", part)[1], json.loads(re.search(r"(?m)^data: ?(.*)$", part)[1] or "null"))
                for part in text.split("\n\n") if part]

    def answer(self, question, result):
        reply = self.send({"jsonrpc": "2.0", "id": question["id"], "result": result}).response()
        self.assertEqual((reply.status, reply.body), (202, b""))


class Posts(Wire):
    def test_an_answer_alone_is_one_json_object(self):
        self.begin()
        reply = self.call("echo", text="hi").response()
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/json"))

    def test_what_is_sent_ahead_opens_a_stream(self):
        self.begin()
        client = self.call("work", id=7)
        self.assertEqual(client.head().headers["content-type"], "text/event-stream")
        events = self.rest(client)
        self.assertEqual([id for id, _ in events], ["1-0", "1-1", "1-2"])
        self.assertEqual([each and each.get("method", each.get("id")) for _, each in events],
                         [None, "notifications/message", 7])

    def test_only_clients_of_2025_11_25_are_primed(self):
        for version in ("2025-06-18", "2025-03-26", "2024-11-05"):
            self.begin(version=version)
            client = self.call("work")
            self.assertEqual(client.head().status, 200)
            self.assertEqual([id for id, _ in self.rest(client)], ["1-1", "1-2"])

    def test_a_question_and_its_answer(self):
        self.begin()
        client = self.call("ask", id="q")
        client.head()
        self.assertEqual(self.event(client), ("1-0", None))
        id, question = self.event(client)
        self.assertEqual((id, question["method"]), ("1-1", "elicitation/create"))
        self.answer(question, accept(name="Bo"))
        id, last = self.event(client)
        self.assertEqual((id, last["id"], last["result"]["content"][0]["text"]), ("1-2", "q", "Bo"))

    def test_a_server_that_stops_waits_for_no_answer(self):
        self.begin(limits=Limits(grace=60))
        client, other = self.call("ask", id="q"), self.call("ask", id="r")
        for each in (client, other):
            each.head()
            self.event(each)
            self.event(each)
        began = time.monotonic()
        self.http.stop()
        self.assertLess(time.monotonic() - began, 30)
        for each in (client, other):
            ((_, answer),) = Leaving.rest_of(self, each)
            self.assertIn("the server stops", answer["result"]["content"][0]["text"])
            self.assertIs(answer["result"]["isError"], True)

    def test_what_is_asked_of_a_client_while_the_server_stops_fails_at_once(self):
        server, go = Server("s", "1", logging=True), threading.Event()

        @server.tool
        def slow(ctx) -> str:
            ctx.log("info", "begun")
            go.wait(10)
            return ctx.elicit("Who?", {"name": {"type": "string"}})["name"]

        self.begin(server, limits=Limits(grace=60))
        client = self.call("slow", id="q")
        client.head()
        self.event(client)
        self.event(client)
        stopping = threading.Thread(target=self.http.stop)
        stopping.start()
        until(lambda: self.http.socket.fileno() < 0)
        self.http.loop.call_soon(go.set)  # once the streams have been told
        stopping.join(30)
        self.assertFalse(stopping.is_alive())
        ((_, answer),) = Leaving.rest_of(self, client)
        self.assertIn("the server stops", answer["result"]["content"][0]["text"])

    def test_questions_hold_no_thread(self):
        """More of them than there are threads for handlers, all waiting."""
        self.begin(limits=Limits(handlers=2))
        asking, before = [], threading.active_count()
        for id in range(20):
            client = self.call("ask", id=id)
            client.head()
            self.event(client)
            asking.append((client, self.event(client)[1]))
        self.assertEqual(self.call("echo", id="e", text="hi").response().json["id"], "e")
        self.assertLess(threading.active_count(), before + 15)
        for client, question in reversed(asking):
            self.answer(question, accept(name="Bo"))
            self.assertEqual(self.event(client)[1]["result"]["content"][0]["text"], "Bo")

    def test_progress_in_every_round(self):
        server = Server("s", "1")

        @server.tool
        def told(ctx) -> str:
            ctx.progress(1)
            name = ctx.elicit("Who?", {"name": {"type": "string"}})["name"]
            ctx.progress(2)
            return name

        self.begin(server)
        client = self.post("tools/call", {"name": "told", "_meta": {"progressToken": "t"}})
        client.head()
        self.event(client)
        self.assertEqual(self.event(client)[1]["params"]["progress"], 1)
        self.answer(self.event(client)[1], accept(name="Bo"))
        self.assertEqual(self.event(client)[1]["params"]["progress"], 2, "it only grows, though the handler ran again")
        self.assertEqual(self.event(client)[1]["result"]["content"][0]["text"], "Bo")

    def test_a_batch_that_asks_is_answered_on_its_stream(self):
        self.begin(version="2025-03-26")
        body = [{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}}
                for id, name in ((1, "echo"), (2, "work"), (3, "echo"))]
        client = self.send(body)
        client.head()
        answers = [each["id"] for _, each in self.rest(client) if "id" in each]
        self.assertEqual(answers, [1, 2, 3])

    def test_no_more_under_way_than_there_may_be(self):
        with mock.patch.object(serve, "MAX_UNDER_WAY", 2):
            self.begin()
            for id in (1, 2):
                self.call("ask", id=id).head()
            reply = self.call("ask", id=3).response()
            self.assertEqual((reply.status, reply.json["error"]["code"]), (200, 1503))
            again = self.call("echo", id=2).response()
            self.assertEqual((again.status, again.json["error"]["code"]), (400, -32600), "its id is under way")

    def test_no_more_streams_than_there_may_be(self):
        with mock.patch.object(streams, "MAX_READERS", 1):
            self.begin()
            listening = self.get()
            self.assertEqual(listening.head().status, 200)
            self.assertEqual(self.get().response().status, 503)
            reply = self.call("work").response()
            self.assertEqual(reply.headers["content-type"], "application/json")
            self.assertTrue(self.call("ask", id=2).response().json["result"]["isError"])


class Leaving(Wire):
    """A client that goes away, and one that cancels."""

    def setUp(self):
        self.server, self.go, self.done = Server("s", "1", logging=True), threading.Event(), threading.Event()
        self.outcomes = []

        @self.server.tool
        def work(ctx) -> str:
            ctx.log("info", "begun")
            self.go.wait(10)
            self.outcomes.append(ctx.cancelled)
            self.done.set()
            ctx.log("info", "going on")
            return "worked"

        self.begin(self.server)

    def test_going_away_cancels_nothing_and_the_rest_is_there_later(self):
        client = self.call("work", id=7)
        client.head()
        self.event(client)
        self.assertEqual(self.event(client)[0], "1-1")
        client.socket.close()
        until(lambda: not self.mcp.state.sessions.kept.readers)
        self.go.set()
        self.assertTrue(self.done.wait(10))
        self.assertEqual(self.outcomes, [False])
        back = self.get("1-1")
        self.assertEqual(back.head().headers["content-type"], "text/event-stream")
        events = self.rest(back)
        self.assertEqual([id for id, _ in events], ["1-2", "1-3"])
        self.assertEqual(events[1][1]["result"]["content"][0]["text"], "worked")
        again = self.get("1-3")
        again.head()
        self.assertEqual(self.rest(again), [], "nothing is left")

    def test_before_anything_was_sent(self):
        server = Server("s", "1")

        @server.tool
        def quiet(ctx) -> str:
            self.go.wait(10)
            self.outcomes.append(ctx.cancelled)
            self.done.set()
            return "x"

        self.begin(server)
        client = self.call("quiet")
        until(lambda: self.http.busy)
        client.socket.close()
        self.go.set()
        self.assertTrue(self.done.wait(10))
        self.assertEqual(self.outcomes, [False])

    def test_cancelled_there_is_no_answer(self):
        client = self.call("work", id=7)
        client.head()
        self.event(client)
        self.event(client)
        self.assertEqual(self.post("notifications/cancelled", {"requestId": 7}, None).response().status, 202)
        self.go.set()
        self.assertEqual(self.rest_of(client), [])
        self.assertEqual(self.outcomes, [True])

    def rest_of(self, client):
        try:
            return self.rest(client)
        except ValueError:  # the end of a chunk was taken with the event
            return self.rest(client)

    def test_cancelled_before_anything_was_sent(self):
        server = Server("s", "1")
        begun = threading.Event()

        @server.tool
        def quiet(ctx) -> str:
            begun.set()
            self.go.wait(10)
            ctx.check_cancelled()
            return "x"

        self.begin(server)
        client = self.call("quiet", id=9)
        begun.wait(10)
        self.post("notifications/cancelled", {"requestId": 9}, None).response()
        self.go.set()
        reply = client.response()
        self.assertEqual((reply.status, reply.body), (202, b""))

    def test_cancelled_while_it_asks(self):
        self.begin()
        client = self.call("ask", id=7)
        client.head()
        self.event(client)
        question = self.event(client)[1]
        self.post("notifications/cancelled", {"requestId": 7}, None).response()
        withdrawn = self.event(client)[1]
        self.assertEqual((withdrawn["method"], withdrawn["params"]), ("notifications/cancelled",
                                                                      {"requestId": question["id"]}))
        self.assertEqual(self.rest_of(client), [])
        self.answer(question, accept(name="late"))


class Resumed(Wire):
    def test_a_stream_that_the_handler_lets_go(self):
        server, there = Server("s", "1"), threading.Event()

        @server.tool
        def long(ctx) -> str:
            ctx.close_stream()
            there.wait(10)
            return "long enough"

        self.begin(server)
        client = self.call("long", id=3)
        client.head()
        [(last, nothing)] = self.rest(client)
        self.assertEqual((last, nothing), ("1-0", None))
        back = self.get(last)
        self.assertEqual(back.head().status, 200)
        there.set()
        [(id, answer)] = self.rest(back)
        self.assertEqual((id, answer["id"], answer["result"]["content"][0]["text"]), ("1-1", 3, "long enough"))

    def test_a_stream_that_the_handler_lets_go_in_a_later_round(self):
        server = Server("s", "1")

        @server.tool
        def long(ctx) -> str:
            name = ctx.elicit("Who?", {"name": {"type": "string"}})["name"]
            ctx.close_stream()
            return name

        self.begin(server)
        client = self.call("long", id=3)
        client.head()
        self.event(client)
        self.answer(self.event(client)[1], accept(name="Bo"))
        self.assertEqual(Leaving.rest_of(self, client), [])
        back = self.get("1-1")
        back.head()
        [(id, answer)] = self.rest(back)
        self.assertEqual((id, answer["result"]["content"][0]["text"]), ("1-2", "Bo"))

    def test_others_are_not_sent_away(self):
        server = Server("s", "1")

        @server.tool
        def long(ctx) -> str:
            ctx.close_stream()
            return "short"

        self.begin(server, "2025-06-18")
        self.assertEqual(self.call("long").response().json["result"]["content"][0]["text"], "short")
        client = RawClient(self.http.url)
        client.request(message("tools/call", {"name": "long"}))
        self.assertEqual(client.response().json["result"]["content"][0]["text"], "short")
        client.socket.close()

    def test_a_thread_left_behind_lets_nothing_go(self):
        server, behind = Server("s", "1"), []

        @server.tool
        def leave(ctx) -> str:
            behind.append(ctx.close_stream)
            return "left"

        self.begin(server)
        client = self.call("leave")
        self.assertEqual(client.response().json["result"]["content"][0]["text"], "left")
        behind[0]()
        client.send(self.octets("POST", body=json.dumps(message("tools/list", id=2)).encode()))
        self.assertEqual(client.response().json["id"], 2)

    def test_what_cannot_be_resumed(self):
        self.begin()
        for last in ("9-1", "1-1", "x", "1", "0-0", "1-99999999999", "-1-1"):
            self.assertEqual(self.get(last).response().status, 400, last)
        self.session = None
        self.assertEqual(self.get("1-1").response().status, 400)

    def test_a_question_that_is_not_kept_any_more(self):
        self.begin()
        with mock.patch.object(streams, "MAX_KEPT", 1):
            client = self.call("ask", id=7)
            client.head()
            self.event(client)
            question = self.event(client)[1]
            self.assertEqual(self.get("1-0").response().status, 400)
        back = self.get("1-1")
        self.assertEqual(back.head().status, 200, "it was heard")
        self.answer(question, accept(name="Bo"))
        self.assertEqual(self.event(back)[1]["id"], 7)

    def test_somebody_waits_for_questions_and_answers(self):
        self.begin(version="2025-03-26")
        client = self.send([{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}}
                            for id, name in ((1, "echo"), (2, "work"), (3, "echo"))])
        client.head()
        self.rest(client)
        self.assertEqual(self.kept(), [(1, True), (None, False), (2, True), (3, True)])
        self.begin()
        client = self.call("ask", id=4)
        client.head()
        self.event(client)
        self.event(client)
        self.assertEqual(self.kept(), [(1, True)])

    def kept(self):
        events = self.mcp.state.sessions.find(self.session, "").streams.by_number[1].events
        return [(json.loads(each).get("id"), each.awaited) for each in events]

    def test_only_that_stream_and_only_once(self):
        self.begin()
        first, second = self.call("ask", id=1), self.call("ask", id=2)
        for client in (first, second):
            client.head()
        self.event(first)
        self.event(second)
        asked = self.event(first)[1]
        back = self.get("1-0")
        back.head()
        self.assertEqual(self.event(back)[1], asked)
        self.assertEqual(self.rest_after(first), [], "its first reader is sent away")
        self.answer(asked, accept(name="Bo"))
        self.assertEqual(self.event(back)[1]["id"], 1)

    rest_after = Leaving.rest_of


class Listening(Wire):
    def test_changes_are_told_on_the_one_stream(self):
        self.begin()
        self.mcp.notify_tools_changed()
        listening = self.get()
        self.assertEqual(listening.head().headers["content-type"], "text/event-stream")
        self.assertEqual(self.event(listening), ("0-0", None))
        self.assertEqual(self.get().response().status, 409)
        self.post("resources/subscribe", {"uri": "demo://one"}).response()
        self.mcp.notify_resource_updated("demo://two")
        self.mcp.notify_resource_updated("demo://one")
        self.mcp.add_tool(lambda: "x", name="more")
        self.mcp.notify_prompts_changed()
        self.assertEqual([self.event(listening) for _ in range(3)], [
            ("0-1", {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "demo://one"}}),
            ("0-2", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
            ("0-3", {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"})])
        listening.socket.close()
        until(lambda: not self.mcp.state.sessions.kept.readers)
        self.mcp.notify_resources_changed()
        back = self.get("0-2")
        back.head()
        self.assertEqual([self.event(back)[0] for _ in range(2)], ["0-3", "0-4"])
        back.socket.close()

    def test_a_reader_that_comes_back_takes_the_place_of_the_one_before(self):
        self.begin()
        first = self.get()
        first.head()
        self.event(first)
        second = self.get("0-0")
        second.head()
        self.assertEqual(Leaving.rest_of(self, first), [])
        self.mcp.notify_tools_changed()
        self.assertEqual(self.event(second)[0], "0-1")

    def test_accept(self):
        self.begin()
        for value in ("application/json", None):
            self.assertEqual(self.get(Accept=value).response().status, 406)
        self.assertEqual(self.get(Accept="text/event-stream").head().status, 200)

    def test_it_ends_with_its_session_its_token_and_its_server(self):
        self.begin(limits=Limits(grace=10))
        listening = self.get()
        listening.head()
        self.event(listening)
        client = self.client()
        client.send(self.octets("DELETE"))
        self.assertEqual(client.response().status, 200)
        self.assertEqual(Leaving.rest_of(self, listening), [])
        self.begin(self.mcp)
        listening = self.get()
        listening.head()
        self.event(listening)
        reader = self.mcp.state.sessions.find(self.session, "").streams.standalone().reader
        reader.expires = 1.0
        self.assertEqual(Leaving.rest_of(self, listening), [])
        listening = self.get()
        listening.head()
        self.event(listening)
        self.http.stop()
        self.assertEqual(Leaving.rest_of(self, listening), [])

    def test_a_keep_alive_and_a_reader_that_is_too_slow(self):
        self.begin(keep_alive=0.05)
        listening = self.get()
        listening.head()
        self.event(listening)
        self.assertIn(": keep-alive", listening._until(b"\n\n").decode())


class Old(Wire):
    """2024-11-05: one stream, and POSTs to where it says."""

    def connect(self, server=None, **options):
        self.mcp = server or full_server()
        self.serve(self.mcp, **options)
        self.session = None
        self.stream = self.get(Accept="text/event-stream")
        self.assertEqual(self.stream.head().headers["content-type"], "text/event-stream")
        text = re.sub(r"(?m)^[0-9a-f]+\r$\n|\r\n", "", self.stream._until(b"\n\n").decode())
        kind, place = text.splitlines()
        self.assertEqual(kind, "event: endpoint")
        self.assertRegex(place, r"^data: /mcp\?session=[\w-]{22}$")
        self.place = place[len("data: "):]

    def tell(self, method, params=None, id=1, place=None, body=None, **more):
        raw = json.dumps(body or {"jsonrpc": "2.0", "method": method, "params": params or {},
                                  **({} if id is None else {"id": id})}).encode()
        client = self.client()
        client.send(self.octets("POST", place or self.place, raw, **{"Accept": "*/*", **more}))
        return client.response()

    def ask(self, method, params=None, id=1):
        reply = self.tell(method, params, id)
        self.assertEqual((reply.status, reply.body), (202, b""))
        return self.event(self.stream)[1]

    def start(self, version="2024-11-05"):
        reply = self.ask("initialize", {"protocolVersion": version, "capabilities": {"elicitation": {}, "roots": {}},
                                        "clientInfo": {"name": "x", "version": "1"}})
        self.tell("notifications/initialized", id=None)
        return reply

    def test_the_answers_come_on_the_stream(self):
        self.connect()
        self.assertEqual(self.tell("tools/list").status, 400, "initialize comes first")
        self.assertEqual(self.ask("ping")["result"], {})
        self.assertEqual(self.start()["result"]["protocolVersion"], "2024-11-05")
        reply = self.ask("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, 5)
        self.assertEqual((reply["id"], reply["result"]["content"][0]["text"]), (5, "hi"))
        self.assertEqual(self.ask("resources/read", {"uri": "nope://x"})["error"]["code"], -32002)
        self.mcp.notify_tools_changed()
        self.assertEqual(self.event(self.stream)[1]["method"], "notifications/tools/list_changed")

    def test_accept_is_not_asked_there(self):
        self.connect()
        self.start()
        for value in (None, "text/html"):
            self.assertEqual(self.tell("ping", Accept=value).status, 202)
            self.event(self.stream)

    def test_questions(self):
        self.connect()
        self.start("2025-11-25")
        question = self.ask("tools/call", {"name": "ask"}, 7)
        self.assertEqual(question["method"], "elicitation/create")
        self.tell("", body={"jsonrpc": "2.0", "id": question["id"], "result": accept(name="Bo")})
        self.assertEqual(self.event(self.stream)[1]["result"]["content"][0]["text"], "Bo")

    def test_a_post_is_accepted_before_the_work(self):
        server, go = Server("s", "1"), threading.Event()
        server.add_tool(lambda: str(go.wait(10)), name="wait")
        self.connect(server)
        self.start()
        self.assertEqual(self.tell("tools/call", {"name": "wait"}, 2).status, 202)
        go.set()
        self.assertEqual(self.event(self.stream)[1]["id"], 2)

    def test_the_session_is_the_streams(self):
        self.connect()
        self.start()
        self.assertEqual(self.tell("ping", place="/mcp?session=" + "x" * 22).status, 404)
        self.session = self.place.partition("=")[2]
        self.assertEqual(self.post("ping").response().status, 404, "it is not to be named by the header")
        self.session = None
        self.stream.socket.close()
        until(lambda: not len(self.mcp.state.sessions))
        self.assertEqual(self.tell("ping").status, 404)
        self.assertEqual(self.mcp.state.sessions.kept.readers, 0)

    def test_a_session_of_the_other_kind(self):
        self.begin()
        session, self.session = self.session, None
        self.assertEqual(self.tell("ping", place=f"/mcp?session={session}").status, 404)

    def test_it_ends_with_the_server(self):
        self.connect()
        self.start()
        self.http.stop()
        self.assertEqual(Leaving.rest_of(self, self.stream), [])

    def test_a_reader_that_takes_nothing_is_hung_up_on(self):
        session = Sessions().begin("")
        session.channel = channel = Channel(session, "/mcp")
        with self.assertRaises(Cancelled):
            for _ in range(100):
                channel.send({"x": "x" * 10_000})
        self.assertTrue(channel.overrun)


@proves("C070")
class Modern(Wire):
    def test_a_modern_post_has_nothing_of_a_session(self):
        self.begin()
        client = self.client()
        client.request(message("tools/list"), mcp_session_id=self.session, last_event_id="4")
        reply = client.response()
        self.assertEqual(reply.status, 200)
        self.assertNotIn("mcp-session-id", reply.headers)


class Keeping(unittest.TestCase):
    """What is kept, without a socket."""

    def setUp(self):
        self.kept = Kept()
        self.streams = Streams(self.kept, True)

    def test_bounded_by_session(self):
        stream = self.streams.open()
        for number in range(100):
            stream.put(b"%d" % number + b"x" * 10_000)
        self.assertLess(self.kept.octets, streams.MAX_KEPT)
        found = self.streams.resumed("1-50").take()
        self.assertEqual(found[-1][:2], b"99")
        self.assertLess(len(found), 30)

    def test_bounded_in_sum(self):
        with mock.patch.object(streams, "MAX_ALL", 50_000):
            many = [Streams(self.kept, True) for _ in range(20)]
            for each in many:
                each.open().put(b"x" * 10_000)
            self.assertLess(self.kept.octets, 50_000)
            self.assertEqual(many[0].resumed("1-0").take(), [])
            self.assertEqual(len(many[-1].resumed("1-0").take()), 1)

    def test_a_stream_of_which_nothing_is_left_is_forgotten(self):
        stream = self.streams.open()
        stream.put(b"x" * (streams.MAX_KEPT + 1), last=True)
        self.assertEqual((self.streams.by_number, self.kept.octets), ({}, 0))
        other = self.streams.open()
        reader = other.reader_from()
        other.finish()
        reader.close()
        self.assertEqual((self.streams.by_number, self.kept.readers), ({}, 0))

    def test_an_answer_larger_than_all_bounds_reaches_its_reader(self):
        stream = self.streams.open()
        reader = stream.reader_from()
        stream.put(b"x" * 1000)
        stream.put(b"y" * 1_000_000, last=True)
        self.assertEqual([len(each) for each in reader.take()], [1000, 1_000_000])
        self.assertTrue(reader.ended)

    def test_a_slow_reader_is_hung_up_on_and_may_come_back(self):
        stream = self.streams.open()
        reader = stream.reader_from()
        for _ in range(50):
            stream.put(b"x" * 10_000)
        self.assertTrue(reader.overrun)
        self.assertEqual(self.kept.readers, 0)
        self.assertGreater(len(self.streams.resumed("1-40").take()), 5)


if __name__ == "__main__":
    unittest.main()
