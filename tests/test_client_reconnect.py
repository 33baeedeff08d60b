"""A subscription that is to last: opened anew when it is lost, in every era, on every transport, but not for ever."""

import io
import sys
import threading
import unittest
from typing import Any, List
from unittest import mock

from mcp_ref import Cache, Client, HTTPServer, ProtocolError, Server
from mcp_ref.base.errors import BrokenOff, HTTPError, MethodNotFound, Timeout, TransportError
from mcp_ref.base.meta import SUBSCRIPTION_ID
from mcp_ref.client import subscription
from mcp_ref.legacy import ways

from .stub_http import Answer, ClientCase, Seen, Stream, error, events, initialized, message, older, raw, result
from .support import not_on_wasm, proves, until
from .test_client_listen import ACK, TOOLS, note

UPDATED = "notifications/resources/updated"


def opened(*notes: Any, last: Any = None, **honoured: Any) -> Any:
    """A stream with an acknowledgment, then these notifications of the request's own id, then its end."""
    def answer(seen: Seen) -> Answer:
        id = seen.message["id"]
        made = events(note(id, ACK, notifications=honoured or {"toolsListChanged": True}),
                      *(note(id, each) for each in notes), last=last)
        return made(seen)
    return answer


DONE = result(_meta={})


def methods(heard: Any) -> List[str]:
    return [each["method"] for each in heard]


class Lasting(ClientCase):
    def setUp(self) -> None:
        swift = mock.patch.multiple(subscription, FIRST_PAUSE=0.001, LONGEST_PAUSE=0.01)
        swift.start()
        self.addCleanup(swift.stop)

    def test_what_may_have_been_missed_is_told(self) -> None:
        honoured = {"toolsListChanged": True, "resourceSubscriptions": ["x:a", "x:b"]}
        again = {"promptsListChanged": True, "resourceSubscriptions": ["x:b", "x:c"]}
        with self.talk(opened(TOOLS, **honoured), opened(last=DONE, **again)) as (stub, client):
            with client.listen(tools=True, prompts=True, uris=["x:a", "x:b", "x:c"], reconnect=True) as heard:
                self.assertEqual((next(heard)["params"]["_meta"], heard.reopened), ({SUBSCRIPTION_ID: 1}, 0))
                told = list(heard)
                self.assertEqual((heard.reopened, heard.id, heard.honoured), (1, 2, again))
            self.assertEqual(methods(told), [TOOLS, "notifications/prompts/list_changed", UPDATED, UPDATED, UPDATED])
            self.assertEqual([each["params"].get("uri") for each in told], [None, None, "x:a", "x:b", "x:c"])
            self.assertEqual({each["params"]["_meta"][SUBSCRIPTION_ID] for each in told}, {2})
            self.assertEqual(stub.seen[0].params["notifications"], stub.seen[1].params["notifications"])
            self.assertEqual(client._streams, set())

    def test_without_it_a_loss_is_told(self) -> None:
        with self.talk(opened(), opened(last=DONE)) as (stub, client):
            with self.assertRaises(BrokenOff):
                list(client.listen(tools=True))
            self.assertEqual(len(stub.seen), 1)

    def test_an_end_in_good_order_is_the_end(self) -> None:
        with self.talk(opened(TOOLS, last=DONE)) as (stub, client):
            self.assertEqual(methods(client.listen(tools=True, reconnect=True)), [TOOLS])
            self.assertEqual((len(stub.seen), client._streams), (1, set()))

    def test_attempts_are_bounded_and_the_last_tells(self) -> None:
        down = raw(503, b"down", "text/plain")
        with self.talk(opened(), down) as (stub, client):
            with self.assertRaisesRegex(HTTPError, "503"):
                list(client.listen(tools=True, reconnect=True))
            self.assertEqual((len(stub.seen), client._streams), (11, set()))
        with self.talk(opened()) as (stub, client):  # one that is opened and lost at once
            with mock.patch.object(subscription, "LONGEST_PAUSE", 30), self.assertRaises(BrokenOff):
                list(client.listen(tools=True, reconnect=True))
            self.assertEqual(len(stub.seen), 11)

    def test_a_message_or_time_makes_good_for_attempts(self) -> None:
        with self.talk(*[opened(TOOLS)] * 25, opened(last=DONE)) as (stub, client):
            told = list(client.listen(tools=True, reconnect=True))
            self.assertEqual((len(stub.seen), len(told)), (26, 50))
        with mock.patch.object(subscription, "LONGEST_PAUSE", 0.0):
            with self.talk(*[opened()] * 25, opened(last=DONE)) as (stub, client):
                list(client.listen(tools=True, reconnect=True))
                self.assertEqual(len(stub.seen), 26)

    def test_what_is_no_loss_ends_it(self) -> None:
        for script, kind in ((error(-32602), ProtocolError), (error(-32601, status=404), MethodNotFound),
                             (raw(200, b"{", "application/json"), TransportError), (raw(404, b"no"), HTTPError)):
            with self.talk(opened(), script, opened(last=DONE)) as (stub, client):
                with self.assertRaises(kind):
                    list(client.listen(tools=True, reconnect=True))
                self.assertEqual(len(stub.seen), 2)
        with self.talk(opened(last=error(-32603)), opened(last=DONE)) as (stub, client):
            with self.assertRaises(ProtocolError):
                list(client.listen(tools=True, reconnect=True))
            self.assertEqual(len(stub.seen), 1)
        with self.talk(raw(503, b"down"), opened(last=DONE)) as (stub, client):
            with self.assertRaises(HTTPError):
                client.listen(tools=True, reconnect=True)
            self.assertEqual(len(stub.seen), 1, "the first is the caller's")

    def test_silence_is_a_loss(self) -> None:
        def silent(seen: Seen) -> Answer:
            def body() -> Any:
                yield from opened()(seen).body
                stub.stopping.wait(20)
            return Answer(200, body(), {"Content-Type": "text/event-stream"})

        with self.talk(silent, opened(last=DONE)) as (stub, client):
            self.assertEqual(methods(client.listen(tools=True, idle=0.2, reconnect=True)), [TOOLS])
        with self.talk(silent) as (stub, client), self.assertRaises(Timeout):
            list(client.listen(tools=True, idle=0.2))

    def test_closing_ends_it_wherever_it_is(self) -> None:
        def stuck(seen: Seen) -> Answer:
            begun.set()
            stub.stopping.wait(20)
            return raw(503, b"")(seen)

        for last, pause in ((stuck, 0.001), (raw(503, b""), 60.0)):
            for whose in ("subscription", "client"):
                begun = threading.Event()
                with mock.patch.multiple(subscription, FIRST_PAUSE=pause, LONGEST_PAUSE=60.0):
                    with self.talk(opened(TOOLS), last) as (stub, client):
                        heard = client.listen(tools=True, reconnect=True)
                        next(heard)
                        thread = threading.Thread(target=lambda heard=heard: told.append(list(heard)))
                        told: List[Any] = []
                        thread.start()
                        if last is stuck:
                            self.assertTrue(begun.wait(20))
                        else:
                            until(lambda: heard._attempts)
                        (heard if whose == "subscription" else client).close()
                        thread.join(20)
                        self.assertEqual((told, client._streams), ([[]], set()))

    def test_the_cache_hears_of_it(self) -> None:
        cache = Cache()
        tools = result(tools=[], ttlMs=60_000, cacheScope="public")
        with self.talk(tools, opened(), opened(last=DONE), cache=cache) as (_, client):
            client.list_tools()
            heard = client.listen(tools=True, reconnect=True)
            self.assertEqual(len(cache), 1)
            next(heard)
            self.assertEqual(len(cache), 0)

    @not_on_wasm("it has sockets")
    def test_with_a_server_of_ours(self) -> None:
        server = Server("s", "1")
        server.add_tool(lambda: "", name="first")
        with HTTPServer(server, port=0) as running, Client(running.url, era="modern") as client:
            heard = client.listen(tools=True, reconnect=True)
            heard._exchange.hang_up()  # as when something between the two is started anew
            self.assertEqual(next(heard)["method"], TOOLS)
            server.add_tool(lambda: "", name="second")
            self.assertEqual((next(heard)["method"], heard.reopened), (TOOLS, 1))
            heard.close()


SERVER = """
import json, sys
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, id, meta = message["method"], message.get("id"), message.get("params", {}).get("_meta", {})
    print(method, file=sys.stderr, flush=True)
    if method == "server/discover" and MODERN:
        say(id=id, result={"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}})
    elif method == "subscriptions/listen":
        of = {"io.modelcontextprotocol/subscriptionId": id}
        say(method="notifications/subscriptions/acknowledged", params={"_meta": of, "notifications": {
            "toolsListChanged": True}})
    elif method == "initialize":
        say(id=id, result={"protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "1"},
                           "capabilities": {"tools": {"listChanged": True}}})
    elif method == "tools/call":
        sys.exit(3)
    elif id is not None and method in ("tools/list", "ping"):
        say(id=id, result={"resultType": "complete", "tools": []})
    elif id is not None:
        say(id=id, error={"code": -32601, "message": "no"})
"""


@not_on_wasm("it starts processes")
class OfAProcess(unittest.TestCase):
    def setUp(self) -> None:
        swift = mock.patch.multiple(subscription, FIRST_PAUSE=0.001, LONGEST_PAUSE=0.01)
        swift.start()
        self.addCleanup(swift.stop)
        self.said = io.StringIO()

    def client(self, modern: bool, **options: Any) -> Client:
        client = Client([sys.executable, "-c", f"MODERN = {modern}\n{SERVER}"], stderr=self.said, timeout=30, **options)
        self.addCleanup(client.close)
        return client

    @proves("SUBS-08")
    def test_it_is_asked_for_again(self) -> None:
        for modern in (True, False):
            self.said.truncate(0)
            client = self.client(modern, restart=True)
            heard = client.listen(tools=True, reconnect=True)
            with self.assertRaises(BrokenOff):
                client.call_tool("die")
            self.assertEqual((next(heard)["method"], heard.reopened), (TOOLS, 1), modern)
            self.assertEqual(client.list_tools(), [])
            client.close()
            self.assertEqual(list(heard), [])
            asked = "subscriptions/listen" if modern else "initialize"
            self.assertEqual(self.said.getvalue().split().count(asked), 2)

    def test_a_session_ends_with_its_process(self) -> None:
        client = self.client(False, restart=True)
        heard = client.listen(tools=True)
        with self.assertRaises(BrokenOff):
            client.call_tool("die")
        with self.assertRaises(BrokenOff):
            next(heard)
        self.assertEqual(client.list_tools(), [], "by a session with the new one")

    def test_one_that_is_not_started_again_is_not_waited_for(self) -> None:
        with self.assertRaisesRegex(ValueError, "restart=True"):
            self.client(True).listen(tools=True, reconnect=True)


class OfAnOlderEra(ClientCase):
    CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}

    def setUp(self) -> None:
        for swift in (mock.patch.multiple(subscription, FIRST_PAUSE=0.001, LONGEST_PAUSE=0.01),
                      mock.patch.multiple(ways, WAIT=0.001, LEAST_WAIT=0.001)):
            swift.start()
            self.addCleanup(swift.stop)

    def test_a_stream_without_event_ids_that_broke_may_have_missed_something(self) -> None:
        streams = [Stream(), Stream(), Stream()]
        rest = iter(streams)
        with self.talk(older({"GET": lambda seen: next(rest)(seen), "resources/subscribe": message({"result": {}}),
                              "resources/unsubscribe": message({"result": {}}),
                              "initialize": initialized(session="s", **self.CAPABILITIES)}), era="auto") as (_, client):
            heard = client.listen(tools=True, uris=["x:a"])
            streams[0].end()
            self.assertEqual(methods([next(heard), next(heard)]), [TOOLS, UPDATED])
            streams[1].send({"method": TOOLS}, id="7")
            streams[1].end()
            self.assertEqual(next(heard)["method"], TOOLS)
            streams[2].send({"method": UPDATED, "params": {"uri": "x:a"}})
            self.assertEqual(next(heard)["method"], UPDATED, "taken up where it was, so nothing was missed")
            heard.close()
            streams[2].end()

    def test_a_session_that_is_lost_is_begun_anew(self) -> None:
        first, second = Stream(), Stream()
        answers: Any = {"GET": first, "ping": message({"result": {}}),
                        "initialize": initialized(session="one", **self.CAPABILITIES)}

        def restarted(seen: Seen) -> Answer:
            if seen.header("Mcp-Session-Id") == "one":
                return raw(404, b"", None)(seen)
            return older({**answers, "GET": second,
                          "initialize": initialized(session="two", **self.CAPABILITIES)})(seen)

        with self.talk(older(answers), era="auto") as (stub, client):
            heard = client.listen(tools=True, reconnect=True)
            stub.script = [restarted]
            first.end()
            self.assertEqual((next(heard)["method"], heard.reopened), (TOOLS, 1))
            second.send({"method": TOOLS})
            self.assertEqual(next(heard)["method"], TOOLS)
            heard.close()
            second.end()


if __name__ == "__main__":
    unittest.main()
