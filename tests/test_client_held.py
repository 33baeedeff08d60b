"""basic/transports, the client's ends: a connection ends with what it was for, whatever is still remembered of that.

Whoever keeps an exception keeps its frames, and with them all that they hold; and a Python without reference counts
keeps everything for a while. So nothing here is left to be closed by being forgotten.
"""

import contextlib
import gc
import os
import socket
import threading
import time
import unittest
from typing import Any, Callable, Iterator, List
from unittest import mock

from mcp_ref import CallCancelled, CallHandle, Client, McpError, OAuth, TransportError
from mcp_ref.authorization.introspection import Introspection
from mcp_ref.authorization.loopback import Loopback
from mcp_ref.authorization.web import Web
from mcp_ref.lib.uri import Address
from mcp_ref.transports import pool
from mcp_ref.transports.calls import Deadline
from mcp_ref.transports.exchange import Exchange
from mcp_ref.transports.pool import Pool

from .fake_oauth import OAuthCase, sockets
from .raw_peer import Peer, Script, answered
from .support import not_on_wasm

SECONDS = 20
OK = b"HTTP/1.1 200 OK\r\n"
EVENTS = OK + b"Content-Type: text/event-stream\r\n\r\n"


def says(data: bytes, stays: bool = True) -> Script:
    """A peer that says this to every request, and leaves the connection open."""
    def script(peer: Peer, number: int, message: Any) -> bool:
        peer.send(data)
        return stays
    return script


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


CHUNKED = OK + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
CUT_OFF = {
    "no head": b"",
    "a head that is none": b"HELLO\r\n\r\n",
    "half a head": OK + b"Content-Type: appl",
    "a length that is none": OK + b"Content-Length: x\r\n\r\n",
    "interim answers alone": b"HTTP/1.1 100 Continue\r\n\r\n" * 40,
    "half a body": OK + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    "a chunk without its end": CHUNKED + b"5\r\n{",
    "a chunk that is none": CHUNKED + b"hello\r\n",
    "a body in no coding": OK + b"Content-Type: application/json\r\nContent-Encoding: br\r\nContent-Length: 9\r\n\r\n{",
    "a body in a broken coding": CHUNKED.replace(b"Transfer", b"Content-Encoding: gzip\r\nTransfer") + chunk(b"{}"),
    "a body without end": OK + b"Content-Type: text/html\r\n\r\n<html>",
    "an error without end": b"HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\n{",
    "a redirect without end": b"HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\nContent-Length: 100\r\n\r\n{",
    "a stream that is silent": EVENTS,
    "a stream that says no JSON": EVENTS + b"data: {\n\n",
    "a stream that says another's": EVENTS + b'data: {"jsonrpc":"2.0","id":"x","result":{}}\n\n',
}


@not_on_wasm("it has sockets")
class Held(unittest.TestCase):
    def setUp(self) -> None:
        self.kept: List[BaseException] = []
        gc.disable()
        self.addCleanup(gc.enable)

    def met(self, kind: Any, call: Callable[..., Any], *given: Any, **options: Any) -> Any:
        try:
            call(*given, **options)
        except kind as error:
            self.kept.append(error)
            return error
        self.fail(f"{call} did not fail")

    def test_a_call_that_fails(self) -> None:
        for name, data in CUT_OFF.items():
            with self.subTest(name), Peer(says(data)) as peer:
                client = Client(peer.url, era="modern", timeout=0.5)
                self.met(McpError, client.call_tool, "t")
                self.assertTrue(peer.closed.acquire(timeout=SECONDS), name)
                self.kept.append(client)  # type: ignore[arg-type]

    def test_a_subscription_that_fails(self) -> None:
        for name, data in CUT_OFF.items():
            with self.subTest(name), Peer(says(data)) as peer:
                client = Client(peer.url, era="modern", timeout=0.5)
                self.met(McpError, client.listen, tools=True)
                self.assertTrue(peer.closed.acquire(timeout=SECONDS), name)
                self.kept.append(client)  # type: ignore[arg-type]

    def test_an_older_era_that_fails(self) -> None:
        for name, data in CUT_OFF.items():
            with self.subTest(name), Peer(says(data)) as peer:
                client = Client(peer.url, era="legacy", timeout=0.5)
                self.met(McpError, client.list_tools)
                self.assertTrue(peer.closed.acquire(timeout=SECONDS), name)
                self.kept.append(client)  # type: ignore[arg-type]

    def test_a_stream_that_no_thread_can_read(self) -> None:
        def script(peer: Peer, number: int, message: Any) -> bool:
            refused = b"HTTP/1.1 405 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            peer.send(refused if message else EVENTS + b"event: endpoint\ndata: /messages\n\n")
            return not message

        start = threading.Thread.start

        def starts(thread: threading.Thread) -> None:
            if thread.name == "mcp-sse":
                raise RuntimeError("can't start new thread")
            start(thread)

        with Peer(script) as peer, mock.patch.object(threading.Thread, "start", starts):
            client = Client(peer.url, era="legacy")
            self.met(McpError, client.list_tools)
            for _ in range(peer.connections):
                self.assertTrue(peer.closed.acquire(timeout=SECONDS))

    def test_a_callback_that_fails(self) -> None:
        asks = {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}}}}

        def script(peer: Peer, number: int, message: Any) -> bool:
            peer.send(answered(message, **asks))
            return True

        def fails(*_: Any) -> Any:
            raise ZeroDivisionError

        with Peer(script) as peer, Client(peer.url, era="modern", on_elicit=fails) as client:
            self.met(ZeroDivisionError, client.call_tool, "t")
            client.close()
            self.assertTrue(peer.closed.acquire(timeout=SECONDS))

    def test_a_call_that_is_cancelled(self) -> None:
        handle = CallHandle()
        with Peer(lambda *_: [handle.cancel()] != []) as peer:  # type: ignore[func-returns-value]
            client = Client(peer.url, era="modern")
            self.met(CallCancelled, client.call_tool, "t", handle=handle)
            self.assertTrue(peer.closed.acquire(timeout=SECONDS))

    def test_a_reader_that_fails(self) -> None:
        def reads(client: Client) -> None:
            with client.listen(tools=True):
                raise ZeroDivisionError

        def script(peer: Peer, number: int, message: Any) -> bool:
            peer.send(EVENTS + b'data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{'
                      b'"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":%d}}}\n\n' % message["id"])
            return True

        with Peer(script) as peer:
            client = Client(peer.url, era="modern")
            self.met(ZeroDivisionError, reads, client)
            self.assertTrue(peer.closed.acquire(timeout=SECONDS))

    def test_a_proxy_that_refuses(self) -> None:
        for refusal in (b"HTTP/1.1 407 No\r\n\r\n", b"HELLO\r\n", b"HTTP/1.1 200 OK\r\n", b""):
            with self.subTest(refusal), self.peer(refusal) as place, mock.patch.dict(
                    os.environ, {"https_proxy": f"http://{place}", "no_proxy": ""}):
                client = Client("https://server.example/mcp", era="modern", timeout=0.5)
                self.met(McpError, client.call_tool, "t")
                self.assertTrue(self.ended.wait(SECONDS))

    def test_a_tunnel_that_is_closed(self) -> None:
        with self.peer(b"HTTP/1.1 200 OK\r\n\r\n") as place:
            connection = pool.Connection(place)
            connection.begin(Exchange(Address("http://server.example/"), Deadline(SECONDS)))
            connection.set_tunnel("server.example:443")
            connection.connect()
            connection.close()
            self.assertTrue(self.ended.wait(SECONDS))

    @contextlib.contextmanager
    def peer(self, says: bytes) -> Iterator[str]:
        """One that answers the first octets with this; `ended` is set when it sees the end of the connection."""
        self.ended = threading.Event()

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                with contextlib.suppress(OSError):
                    connection.sendall(says)
                    while connection.recv(4096):
                        pass
            self.ended.set()

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            yield f"127.0.0.1:{listener.getsockname()[1]}"
            thread.join(SECONDS)

    def test_no_time_left_to_connect(self) -> None:
        before = sockets()
        deadline = Deadline(0.01)
        with Exchange(Address("http://127.0.0.1:9/"), deadline, pool=Pool(True)) as exchange:
            connection = pool.Connection("127.0.0.1:9")
            connection.begin(exchange)
            time.sleep(0.02)
            self.met(McpError, connection.connect)
        self.assertEqual(sockets(), before)

    def test_a_thread_that_is_interrupted_while_it_connects(self) -> None:
        before = sockets()
        with Exchange(Address("http://127.0.0.1:9/"), Deadline(SECONDS), pool=Pool(True)) as exchange:
            connection = pool.Connection("127.0.0.1:9")
            connection.begin(exchange)

            class Interrupted(socket.socket):
                def connect(self, *_: Any) -> None:
                    raise KeyboardInterrupt

            with mock.patch("socket.socket", Interrupted):
                self.met(KeyboardInterrupt, connection.connect)
        self.assertEqual(sockets(), before)

    def test_a_handshake_that_fails(self) -> None:
        with self.peer(b"HELLO\r\n" * 10) as place:
            client = Client(f"https://{place}/mcp", era="modern", timeout=0.5)
            self.met(McpError, client.call_tool, "t")
            self.assertTrue(self.ended.wait(SECONDS))

    def test_an_authorization_server_that_fails(self) -> None:
        for name, data in CUT_OFF.items():
            with self.subTest(name), Peer(says(data)) as peer:
                web = Web(Address(peer.url), 0.5)
                if b"302" not in data and b"500" not in data and name != "a stream that says another's":
                    self.met(McpError, lambda: web.get(peer.url, "it").object())
                else:
                    self.met(McpError, web.post_json, peer.url, "it", {})
                self.assertTrue(peer.closed.acquire(timeout=SECONDS), name)

    def test_introspection_that_fails(self) -> None:
        for name, data in CUT_OFF.items():
            with self.subTest(name), self.peer(data) as place:
                asking = Introspection(f"http://{place}/", "me", "secret", timeout=0.5)
                self.met(TransportError, asking, "token")
                self.assertTrue(self.ended.wait(SECONDS), name)
                self.kept.append(asking)  # type: ignore[arg-type]

    def test_introspection_that_is_forgotten(self) -> None:
        with self.peer(OK + b"Content-Length: 16\r\n\r\n{\"active\":false}") as place:
            asking = Introspection(f"http://{place}/", "me", "secret")
            connections = asking._pool
            self.assertIsNone(asking("token"))
            del asking
            gc.collect()
            self.assertTrue(self.ended.wait(SECONDS), connections)


@not_on_wasm("it has sockets")
class HeldLogins(OAuthCase):
    def test_a_login_that_fails_leaves_no_listener(self) -> None:
        realm, seen = self.realm(), []

        def shows(url: str) -> None:
            seen.append(url)
            raise ZeroDivisionError

        client = self.client(realm, OAuth(open_url=shows))
        try:
            client.list_tools()
        except ZeroDivisionError as error:
            kept = error
        place = realm_port(seen[0])
        with self.assertRaises(ConnectionRefusedError, msg=kept):
            socket.create_connection(("127.0.0.1", place), 5).close()

    def test_a_listener_that_cannot_listen(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            before = sockets()
            try:
                Loopback(f"http://127.0.0.1:{taken.getsockname()[1]}/callback")
            except OSError as error:
                kept = error
            self.assertEqual(sockets(), before, kept)

    def test_what_a_session_remembers_of_a_failure_holds_no_frames(self) -> None:
        realm = self.realm()
        session = self.oauth(realm).of(Address(realm.url))
        realm.idp.metadata["issuer"] = "https://other.example"
        with self.assertRaises(McpError):
            session.attempt(Deadline(SECONDS)).challenged(401, (), "POST", realm.url)
        self.assertEqual([each for each in vars(session).values() if isinstance(each, BaseException)], [])


def realm_port(url: str) -> int:
    """The port that a login comes back to."""
    from urllib.parse import parse_qs, urlsplit

    return urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][0]).port or 0


if __name__ == "__main__":
    unittest.main()
