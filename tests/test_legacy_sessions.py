"""basic/transports of 2025-11-25, Session Management: ids, their end, what a session takes, and questions in it."""

import gc
import re
import sys
import threading
import unittest
from unittest import mock

from mcp_ref import Server
from mcp_ref.legacy import sessions
from mcp_ref.legacy.sessions import Session, Sessions
from mcp_ref.patterns.notifications import Cancelled

from .support import Clock, Older, echo_server, full_server, not_on_wasm, proves


def size(value, seen):
    """The octets of an object and of all that it alone holds."""
    if id(value) in seen or isinstance(value, (type, Sessions)) or callable(value):
        return 0
    seen.add(id(value))
    inner = [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
    if isinstance(value, dict):
        inner = [*value, *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = list(value)
    return sys.getsizeof(value) + sum(size(each, seen) for each in inner)


class Ids(unittest.TestCase):
    def setUp(self):
        self.server = echo_server()

    def test_random_and_visible(self):
        ids = set()
        for _ in range(50):
            client = Older(self.server)
            client.initialize()
            self.assertRegex(client.session, r"^[\x21-\x7e]{22,}$")
            ids.add(client.session)
        self.assertEqual(len(ids), 50)
        self.assertTrue(all(re.fullmatch(r"[A-Za-z0-9_-]{22}", each) for each in ids), "128 bits in base64url")

    @proves("C072")
    def test_the_end_of_one_is_404(self):
        client = Older(self.server)
        client.initialize()
        self.assertEqual(client.send(b"", "DELETE").status, 200)
        for reply in (client.call("echo", text="x"), client.request("no/such"),
                      client.notify("notifications/initialized"),
                      client.send({"jsonrpc": "2.0", "id": 1, "result": {}}), client.send(b"", "DELETE"),
                      client.send(b"", "GET"), client.request("initialize", {"protocolVersion": "2025-11-25"})):
            self.assertEqual(reply.status, 404)
            self.assertNotIn("jsonrpc", reply.body, "a 404 with a response would be an answer, and not the end")
        client.session = None
        self.assertEqual(client.initialize().status, 200)
        self.assertEqual(client.call("echo", text="x").text, "x")

    @proves("C072")
    def test_none_where_one_is_needed_is_400(self):
        client = Older(self.server)
        for reply in (client.call("echo", text="x"), client.request("ping"), client.send(b"", "DELETE"),
                      client.request("ping", mcp_session_id="")):
            self.assertEqual((reply.status, reply.error["code"]), (400, -32600))
            self.assertIn("initialize", reply.error["message"])
        self.assertEqual(client.notify("notifications/initialized").status, 202)

    def test_of_another_process_or_twice(self):
        client = Older(echo_server())
        client.initialize()
        self.assertEqual(Older(self.server).request("ping", mcp_session_id=client.session).status, 404)


class Ends(unittest.TestCase):
    def test_an_hour_after_the_last_use(self):
        clock = Clock()
        with mock.patch.object(sessions, "time", clock):
            server = full_server()
            used, unused = Older(server), Older(server)
            used.initialize()
            unused.initialize()
            clock.ahead = 3000
            self.assertEqual(used.request("ping").status, 200)
            clock.ahead = 4000
            self.assertEqual((used.request("ping").status, unused.request("ping").status), (200, 404))
            self.assertEqual(len(server.state.sessions), 1)
            clock.ahead = 20_000
            Older(server).initialize()
            self.assertEqual(len(server.state.sessions), 1, "one that is over goes when another begins")

    def test_one_that_works_or_is_read_is_used(self):
        clock = Clock()
        with mock.patch.object(sessions, "time", clock):
            server = full_server()
            asking, reading = Older(server), Older(server)
            asking.initialize()
            reading.initialize()
            asking.call("ask")
            reader = server.state.sessions.find(reading.session, "").streams.standalone().reader_from()
            clock.ahead = 5000
            self.assertEqual((asking.request("ping").status, reading.request("ping").status), (200, 200))
            reader.close()
            clock.ahead = 10_000
            self.assertEqual(reading.request("ping").status, 404)

    def test_the_one_used_longest_ago_gives_way(self):
        with mock.patch.object(sessions, "LIMIT", 3):
            server = echo_server()
            clients = [Older(server) for _ in range(3)]
            for each in clients:
                each.initialize()
            clients[0].request("ping")
            late = Older(server)
            late.initialize()
            self.assertEqual([each.request("ping").status for each in (*clients, late)], [200, 404, 200, 200])

    def test_what_is_under_way_ends_with_it(self):
        server, seen = Server("s", "1"), []

        @server.tool
        def work(ctx) -> str:
            client.send(b"", "DELETE")
            seen.append(ctx.cancelled)
            ctx.check_cancelled()
            return "never"

        client = Older(server)
        client.initialize()
        reply = client.call("work")
        self.assertEqual((seen, reply.status, reply.body), ([True], 202, None))

    @not_on_wasm("questions lapse by a thread")
    def test_questions_end_with_it(self):
        server = full_server()
        client = Older(server)
        client.initialize()
        client.call("ask")
        self.assertEqual(len(server.state.sessions.waiting), 1)
        client.send(b"", "DELETE")
        self.assertEqual(len(server.state.sessions.waiting), 0)


class Sizes(unittest.TestCase):
    @unittest.skipUnless(sys.implementation.name == "cpython", "this Python does not tell the size of an object")
    def test_a_session_takes_at_most_5_kilobytes(self):
        server = echo_server()
        for capabilities in ({}, {"elicitation": {}, "sampling": {}, "roots": {}},
                             {"experimental": {str(n): {} for n in range(250)}}):
            client = Older(server, capabilities=capabilities)
            client.initialize()
            client.request("logging/setLevel", {"level": "debug"})
            client.call("echo", text="x")
            found = server.state.sessions.find(client.session, "")
            self.assertLess(size(found, set()), 5000, capabilities)

    def test_what_it_declares_is_bounded(self):
        reply = Older(echo_server(), capabilities={"experimental": {"x": "x" * 5000}}).initialize()
        self.assertEqual(reply.error["code"], -32602)

    def test_a_hundred_thousand_begun_and_abandoned(self):
        """Memory is flat: the cap holds, and what gave way is gone."""
        with mock.patch.object(sessions, "LIMIT", 500):
            hub = Sessions()

            def begin(count):
                for _ in range(count):
                    session = hub.begin("")
                    session.agree("2025-11-25", {"elicitation": {"form": {}}}, {"name": "x", "version": "1"})
                    session.streams.open().put(b"x" * 100)

            blocks = getattr(sys, "getallocatedblocks", lambda: 0)
            begin(2000)
            gc.collect()
            before = blocks()
            begin(98_000)
            gc.collect()
            grown = blocks() - before
        self.assertEqual(len(hub), 500)
        self.assertLess(grown, 500)
        self.assertLess(hub.kept.octets, 500 * 400)

    def test_what_a_session_follows_is_bounded(self):
        server = full_server()
        client = Older(server)
        client.initialize()
        codes = [client.request("resources/subscribe", {"uri": f"demo://{n}"}).body.get("error", {}).get("code")
                 for n in range(101)]
        self.assertEqual(codes, [None] * 100 + [-32602])
        self.assertEqual(client.request("resources/subscribe", {"uri": "demo://2"}).result, {}, "it follows that one")
        client.request("resources/unsubscribe", {"uri": "demo://1"})
        self.assertEqual(client.request("resources/subscribe", {"uri": "demo://" + "x" * 2000}).error["code"], -32602)
        self.assertEqual(client.request("resources/subscribe", {"uri": "demo://y"}).result, {})


class Outlet:
    stopping = False

    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)


class Gone:
    stopping = False

    def send(self, message):
        raise Cancelled()


class Questions(unittest.TestCase):
    def setUp(self):
        self.session, self.outlet, self.heard = Sessions().begin(""), Outlet(), []
        self.question = {"method": "roots/list", "params": {}}

    def ask(self):
        return self.session.ask(self.outlet, self.question, self.heard.append)

    def test_once(self):
        first, second = self.ask(), self.ask()
        self.assertNotEqual(first, second)
        self.assertEqual(self.outlet.sent[0], {"jsonrpc": "2.0", "id": first, **self.question})
        for id in (str(first), True, [], None, 99, second, second):
            self.session.answered({"id": id, "result": {"roots": []}})
        self.assertEqual(self.heard, [{"id": second, "result": {"roots": []}}])

    def test_withdrawn(self):
        id = self.ask()
        self.session.withdraw(id)
        self.session.withdraw(id)
        self.session.answered({"id": id, "result": {}})
        self.assertEqual(self.heard, [])
        self.assertEqual([each["params"] for each in self.outlet.sent[1:]], [{"requestId": id}])

    def test_nobody_to_ask(self):
        with self.assertRaises(Cancelled):
            self.session.ask(Gone(), self.question, self.heard.append)
        self.assertEqual(self.session.hub.waiting, {})

    def test_so_many_at_once(self):
        for _ in range(sessions.MAX_ASKED):
            self.ask()
        self.assertEqual(self.heard, [])
        self.ask()
        self.assertIn("error", self.heard[0])
        self.assertEqual(len(self.outlet.sent), sessions.MAX_ASKED)

    def test_what_is_given_up_was_asked_there(self):
        id, other = self.ask(), Outlet()
        self.session.ask(other, self.question, self.heard.append)
        self.session.give_up(other)
        self.assertEqual([each["error"]["message"] for each in self.heard], ["the server stops"])
        self.session.answered({"id": id, "result": {}})
        self.assertEqual(len(self.heard), 2)

    def test_so_much_waits_of_all_together(self):
        other = self.session.hub.begin("")
        self.assertTrue(self.session.hold(sessions.MAX_HELD - 1))
        self.assertEqual((other.hold(2), other.hold(1), other.hold(1)), (False, True, False))
        other.hold(-1)
        self.assertEqual((other.hold(2), other.hold(1)), (False, True))

    def test_a_question_never_answered(self):
        with mock.patch.object(sessions, "PATIENCE", 0.05):
            server = full_server()
            client = Older(server)
            client.initialize()
            heard = threading.Event()
            session = server.state.sessions.find(client.session, "")
            session.ask(self.outlet, self.question, lambda response: (self.heard.append(response), heard.set()))
            self.assertTrue(heard.wait(20))
        self.assertIn("0.05 seconds", self.heard[0]["error"]["message"])
        self.assertEqual(self.outlet.sent[1:], [
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}])
        session.answered({"id": 1, "result": {}})
        self.assertEqual(len(self.heard), 1)

    def test_a_question_whose_client_has_gone_lapses_too(self):
        id = self.ask()
        with mock.patch.object(self.outlet, "send", Gone().send):
            self.session.lapse(id)
        self.assertEqual(len(self.heard), 1)

    def test_a_session_that_is_not_kept_declares_nothing(self):
        self.assertEqual(Session(Sessions()).declared, ({}, {}))
        self.assertFalse(Session(Sessions()).kept)


if __name__ == "__main__":
    unittest.main()
