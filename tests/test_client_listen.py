"""subscriptions/listen as a client: acknowledged first, told apart by typed id, ended in good order or not."""

import threading
import time
import unittest
from typing import Any, Dict, Iterator, List

from mcp_ref.base.errors import HTTPError, InvalidParams, InvalidRequest, MethodNotFound, Timeout, TransportError
from mcp_ref.base.meta import SUBSCRIPTION_ID
from mcp_ref.client.client import Client
from mcp_ref.client.subscription import Listener
from mcp_ref.server.server import Server
from mcp_ref.transports.http_server import HTTPServer
from tests.stub_http import Answer, ClientCase, Seen, error, events, message, raw, result
from tests.support import at_some_pace

from .support import proves, until

TOOLS = "notifications/tools/list_changed"
ACK = "notifications/subscriptions/acknowledged"


def note(id: Any = 1, method: str = TOOLS, **params: Any) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"_meta": {SUBSCRIPTION_ID: id}, **params}}


def ack(id: Any = 1, **honoured: Any) -> Dict[str, Any]:
    return note(id, ACK, notifications=honoured)


DONE = result(_meta={SUBSCRIPTION_ID: 1})


@proves("C037")
class Opening(ClientCase):
    def test_the_request_and_what_is_honoured(self) -> None:
        with self.talk(events(ack(toolsListChanged=True), last=DONE)) as (stub, client):
            with client.listen(tools=True, resources=True, uris=["file:///a"]) as subscription:
                self.assertEqual((subscription.id, subscription.honoured), (1, {"toolsListChanged": True}))
        seen, = stub.seen
        self.assertEqual(seen.header("Mcp-Method"), "subscriptions/listen")
        self.assertEqual(seen.params["notifications"], {"toolsListChanged": True, "resourcesListChanged": True,
                                                        "resourceSubscriptions": ["file:///a"]})

    def test_it_returns_on_a_late_acknowledgment_that_grants_nothing(self) -> None:
        acknowledged = threading.Event()

        def answer(seen: Seen) -> Answer:
            def body() -> Iterator[bytes]:
                yield b": wait\n\n"
                time.sleep(0.5)
                acknowledged.set()
                yield from events(ack(), note())(seen).body  # type: ignore[misc]
                stub.stopping.wait(10)
            return raw(200, body(), "text/event-stream")(seen)

        with self.talk(answer) as (stub, client):  # C037
            with client.listen(tools=True) as subscription:
                self.assertTrue(acknowledged.is_set(), "returned before the acknowledgment")
                self.assertEqual(subscription.honoured, {})
                self.assertEqual(next(subscription), note())

    def test_anything_else_first_is_refused(self) -> None:
        for first in (note(), ack("1"), ack(2), ack(True), ack(1.0), note(1, ACK), note(1, ACK, notifications=[]),
                      {"jsonrpc": "2.0", "method": ACK}, {"jsonrpc": "2.0", "method": ACK, "params": {"_meta": 7}}):
            with self.subTest(first), self.talk(events(first, ack(), last=DONE)) as (_, client):
                with self.assertRaisesRegex(TransportError, "acknowledgment"):
                    client.listen(tools=True)
        for script in (DONE, events(last=DONE), events(), events(b"data: [1]\n\n"), raw(200, b"{")):
            with self.talk(script) as (_, client), self.assertRaises(TransportError):
                client.listen(tools=True)

    def test_refusals_are_typed(self) -> None:
        for script, kind in ((error(-32601, status=404), MethodNotFound), (error(-32601, status=200), MethodNotFound),
                             (events(last=error(-32601)), MethodNotFound), (error(-32602), InvalidParams),
                             (raw(404, b"no", "text/plain"), HTTPError)):
            with self.talk(script) as (_, client):
                with self.assertRaises(kind):
                    client.listen(tools=True)
                self.assertEqual(client._streams, set())
        foreign = message({"id": "server-error", "error": {"code": -32600, "message": "Bad Request: no session"}}, 400)
        with self.talk(foreign) as (_, client), self.assertRaisesRegex(InvalidRequest, "older era") as caught:
            client.listen(tools=True)
        self.assertEqual(caught.exception.status, 400)

    def test_another_version_is_tried(self) -> None:
        class Both(Client):
            versions = ("2099-01-01", "2026-07-28")

        with self.talk(error(-32022, data={"supported": ["2026-07-28"]}), events(ack(2))) as (stub, _):
            with Both(stub.url, era="modern") as client:
                self.assertEqual(client.listen(tools=True).id, 2)

    def test_what_cannot_be_used(self) -> None:
        with self.talk(DONE) as (stub, client):
            for options in ({"uris": "file:///a"}, {"idle": 0}, {"timeout": -1}):
                with self.assertRaises(ValueError):
                    client.listen(**options)
            self.assertEqual(stub.seen, [])

    def test_the_timeout_is_until_the_acknowledgment(self) -> None:
        with self.talk(DONE) as (stub, client):
            stub.script = [raw(200, stub.drip(b": wait\n\n"), "text/event-stream")]
            with self.assertRaisesRegex(Timeout, "0.2 s"):
                client.listen(tools=True, timeout=0.2)


@proves("C035")
class Reading(ClientCase):
    def test_only_what_carries_the_typed_id_is_handed_on(self) -> None:
        other = [note("1"), note(99), note(True), note(1.0), note(None), {"jsonrpc": "2.0", "method": TOOLS},
                 {"jsonrpc": "2.0", "method": TOOLS, "params": []}, {"jsonrpc": "2.0", "method": TOOLS, "params": {}},
                 {**note(), "id": 5}, b": comment\n\n", b"data: \n\n"]
        with self.talk(events(ack(), *other, note(uri="a"), *other, last=DONE)) as (_, client):  # C035
            with client.listen(tools=True) as subscription:
                self.assertEqual(list(subscription), [note(uri="a")])
                self.assertEqual(list(subscription), [], "ended once, ended for good")
                self.assertEqual(client._streams, set())

    def test_ends(self) -> None:
        for script, kind in ((events(ack(), note()), TransportError),
                             (events(ack(), note(), last=message({"id": "1", "result": {}})), TransportError),
                             (events(ack(), note(), last=error(-32602)), InvalidParams),
                             (events(ack(), note(), b"data: {\n\n"), TransportError)):
            with self.talk(script) as (_, client), client.listen(tools=True) as subscription:
                self.assertEqual(next(subscription), note())
                with self.assertRaises(kind):
                    next(subscription)
                self.assertEqual(list(subscription), [])

    def test_a_line_or_an_event_without_end_ends_it(self) -> None:
        for part in (b"x" * 5000, b"data: " + b"x" * 5000 + b"\n", b"data:\n" * 1000, b"id: 1\n" * 1000):
            for begin in (ack(), b"data: "):
                with self.talk(DONE) as (stub, client):
                    client._transport.max_message = 100_000  # type: ignore[union-attr]
                    stub.script = [events(begin, *[part] * 200)]
                    with self.assertRaisesRegex(TransportError, "exceeds 100000 octets"):
                        next(client.listen(tools=True))

    def open_until_closed(self, *more: bytes) -> Any:
        """A script: the acknowledgment, then `more`, then nothing until the test is over."""
        def answer(seen: Seen) -> Answer:
            def body() -> Iterator[bytes]:
                yield from events(ack(seen.message["id"]), *more)(seen).body  # type: ignore[misc]
                self.stub.stopping.wait(10)
            return raw(200, body(), "text/event-stream")(seen)
        return answer

    def test_no_end_to_the_whole_but_to_silence(self) -> None:
        def attempt(seconds: float) -> None:
            def answer(seen: Seen) -> Answer:
                def body() -> Iterator[bytes]:
                    yield from events(ack())(seen).body  # type: ignore[misc]
                    for _ in range(5):
                        time.sleep(seconds / 3)
                        yield b": alive\n\n"
                    yield from events(note())(seen).body  # type: ignore[misc]
                    stub.stopping.wait(60)
                return raw(200, body(), "text/event-stream")(seen)

            with self.talk(answer) as (stub, client):
                subscription = client.listen(tools=True, timeout=seconds, idle=seconds)
                self.assertEqual(next(subscription), note(), "the timeout is over, comments are signs of life")
                with self.assertRaisesRegex(Timeout, f"nothing came for {seconds:g} s"):
                    next(subscription)

        at_some_pace(attempt, 0.3)

    def test_closed_by_another_thread(self) -> None:
        with self.talk(self.open_until_closed()) as (self.stub, client):
            for close in (Listener.close, lambda _: client.close()):
                subscription = client.listen(tools=True)
                got: List[Any] = []
                ended = threading.Event()

                def read(subscription: Listener = subscription, got: List[Any] = got,
                         ended: threading.Event = ended) -> None:
                    got.extend(subscription)
                    ended.set()

                thread = threading.Thread(target=read)
                thread.start()
                while not subscription._reading.locked():
                    time.sleep(0.001)
                close(subscription)
                self.assertTrue(ended.wait(60), "the iteration goes on")
                thread.join()
                self.assertEqual(got, [])
            with self.assertRaisesRegex(TransportError, "closed"):
                client.listen(tools=True)

    def test_closed_while_nobody_reads(self) -> None:
        with self.talk(self.open_until_closed(*[b"data: 1\n\n"] * 3)) as (self.stub, client):
            subscription = client.listen(tools=True)
            subscription.close()
            subscription.close()
            self.assertEqual(list(subscription), [])

    def test_the_wire_hook_sees_it_once_it_is_over(self) -> None:
        seen: List[Any] = []
        with self.talk(events(ack(), last=DONE), wire=lambda *both: seen.append(both)) as (_, client):
            with client.listen(tools=True) as subscription:
                self.assertEqual((list(subscription), len(seen)), ([], 1))
        self.assertIn("acknowledged", seen[0][1])


@proves("C037")
class AgainstTheServer(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server("test", "1")
        self.server.add_tool(lambda: "", name="first")
        self.server.add_resource("demo://one", lambda: "", name="one")
        self.http = HTTPServer(self.server, port=0, keep_alive=0.05).start()
        self.addCleanup(self.http.stop)
        self.client = Client(self.http.url, timeout=60.0)
        self.addCleanup(self.client.close)

    def test_several_at_once(self) -> None:
        tools = self.client.listen(tools=True, prompts=True, idle=5)
        one = self.client.listen(uris=["demo://one", "other://x"], idle=5)
        self.assertEqual(tools.honoured, {"toolsListChanged": True}, "this server has no prompts")
        self.assertEqual(one.honoured, {"resourceSubscriptions": ["demo://one"]})
        self.server.add_tool(lambda: "", name="second")
        self.server.notify_resource_updated("demo://one")
        first, update = next(tools), next(one)
        self.assertEqual((first["method"], first["params"]["_meta"][SUBSCRIPTION_ID]), (TOOLS, tools.id))
        self.assertEqual((update["params"]["uri"], update["params"]["_meta"][SUBSCRIPTION_ID]), ("demo://one", one.id))
        self.assertEqual(len(self.client.list_tools()), 2)

    def test_nothing_after_the_acknowledgment_is_lost(self) -> None:
        stop = threading.Event()

        def fire() -> None:
            while not stop.wait(0.0005):
                self.server.notify_tools_changed()

        thread = threading.Thread(target=fire)
        thread.start()
        try:
            for _ in range(10):  # C037
                with self.client.listen(tools=True, idle=5) as subscription:
                    self.assertEqual(next(subscription)["method"], TOOLS)
        finally:
            stop.set()
            thread.join()

    def test_closing_cancels_it_on_the_server(self) -> None:
        subscription = self.client.listen(tools=True)
        self.assertEqual(len(self.server.subscriptions), 1)
        subscription.close()
        until(lambda: len(self.server.subscriptions) == 0)

    def test_a_server_that_stops_ends_it_in_good_order(self) -> None:
        subscription = self.client.listen(tools=True)
        stopping = threading.Thread(target=self.http.stop)
        stopping.start()
        self.assertEqual(list(subscription), [])
        stopping.join()

    def test_a_server_without_subscriptions(self) -> None:
        with HTTPServer(Server("s", "1"), port=0) as running, Client(running.url) as client:
            with self.assertRaises(MethodNotFound):
                client.listen(tools=True)


if __name__ == "__main__":
    unittest.main()
