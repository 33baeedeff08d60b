"""The client over TLS, and through a proxy: what is read, sent and waited for there is not what the socket has."""

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Iterator, List, Tuple
from unittest import mock

from mcp_ref import CallCancelled, CallHandle, Client, Timeout
from mcp_ref.base.errors import Unreachable

from .raw_peer import Peer, Script, answered
from .support import ROOT

OTHER_EXAMPLE = Path(__file__).with_name("other_example.pem")
"""A key, and its certificate for other.example."""
TEXT = "x" * 3_000_000
_resolved = socket.getaddrinfo


def good(peer: Peer, number: int, message: Any) -> bool:
    peer.send(answered(message, text=message["params"].get("arguments", {}).get("text", "")))
    return True


def here(host: Any, *given: Any, **more: Any) -> Any:
    return _resolved("127.0.0.1" if host == "other.example" else host, *given, **more)


@contextlib.contextmanager
def talk(script: Script, **options: Any) -> Iterator[Tuple[Peer, Client]]:
    """A client of a peer with the certificate of other.example, which it trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(OTHER_EXAMPLE))
    with Peer(script, context) as peer, mock.patch.dict(os.environ, {"SSL_CERT_FILE": str(OTHER_EXAMPLE)}), \
            mock.patch.object(socket, "getaddrinfo", here):
        url = peer.url.replace("127.0.0.1", "other.example")
        with Client(url, **{"era": "modern", "timeout": 60.0, **options}) as client:
            yield peer, client


class Tls(unittest.TestCase):
    def test_one_connection_serves_one_request_after_another_however_large(self) -> None:
        with talk(good) as (peer, client):
            for text in ("", TEXT, "a", TEXT):
                self.assertEqual(client.call_tool("t", {"text": text})["text"], text)
            self.assertEqual((peer.connections, peer.requests), (1, 4))

    def test_what_has_been_decrypted_is_not_waited_for(self) -> None:
        def in_parts(peer: Peer, number: int, message: Any) -> bool:
            octets = answered(message, text="x" * 10_000)
            for part in (octets[:30], octets[30:5000], octets[5000:]):  # a record each
                peer.send(part)
                time.sleep(0.01 * (number % 2))
            return True

        with talk(in_parts) as (peer, client):
            for _ in range(4):
                self.assertEqual(len(client.call_tool("t")["text"]), 10_000)
            self.assertEqual(peer.connections, 1)

    def test_a_dead_one_is_replaced(self) -> None:
        with talk(lambda peer, number, message: good(peer, number, message) and False) as (peer, client):
            for _ in range(3):
                client.call_tool("t")
                self.assertTrue(peer.closed.acquire(timeout=60))
            self.assertEqual((peer.connections, peer.requests), (3, 3))

    def test_a_call_ends_in_time_and_when_it_is_cancelled(self) -> None:
        with talk(lambda *_: True) as (peer, client):
            with self.assertRaisesRegex(Timeout, "0.3 s"):
                client.call_tool("t", timeout=0.3)
            handle = CallHandle()
            peer.script = lambda *_: [handle.cancel()] != []  # type: ignore[func-returns-value]
            self.assertRaises(CallCancelled, client.call_tool, "t", handle=handle)
            for _ in range(2):
                self.assertTrue(peer.closed.acquire(timeout=60))

    def test_a_peer_that_does_not_shake_hands_has_as_long_as_the_call(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            with self.assertRaisesRegex(Timeout, "0.3 s"):
                Client(f"https://127.0.0.1:{silent.getsockname()[1]}/", era="modern").call_tool("t", timeout=0.3)


    def test_a_python_without_it(self) -> None:
        program = ("import sys; sys.modules['ssl'] = sys.modules['_ssl'] = None\n"
                   "from mcp_ref import Client\n"
                   "with Client(sys.argv[1], era='modern') as client: print(client.call_tool('t')['content'])\n"
                   "with Client('https://127.0.0.1:1/', era='modern') as client: client.call_tool('t')\n")
        with Peer(good) as peer:
            ended = subprocess.run([sys.executable, "-c", program, peer.url], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=str(ROOT), encoding="utf-8", timeout=60)
        self.assertEqual(ended.stdout, "[]\n", ended.stderr)
        self.assertRegex(ended.stderr, "Unreachable: .*built without ssl")


class Proxy:
    """A proxy that connects whoever asks with one place. says: its answer to CONNECT."""

    def __init__(self, place: str, says: Iterator[bytes]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://ada:pass@127.0.0.1:%d" % self.listener.getsockname()[1]
        self.place, self.says = place, says
        self.heads: List[bytes] = []
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.serve, daemon=True)]
        self.threads[0].start()

    def serve(self) -> None:
        connection, _ = self.listener.accept()
        host, _, port = self.place.partition(":")
        with connection, socket.create_connection((host, int(port))) as there, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(1024)
            self.heads.append(head)
            for part in self.says:
                connection.sendall(part)
                if self.over.wait(0.02 if len(part) == 1 else 0):
                    return
            back = threading.Thread(target=self.pass_on, args=(there, connection), daemon=True)
            back.start()
            self.pass_on(connection, there)
            back.join()

    def pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for octets in iter(lambda: one.recv(65536), b""):
                other.sendall(octets)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(60)


class ByProxy(unittest.TestCase):
    """A proxy that is asked to CONNECT."""

    @contextlib.contextmanager
    def talk(self, *says: bytes, **options: Any) -> Iterator[Tuple[Peer, Proxy, Client]]:
        with talk(good) as (peer, _), Proxy(peer.place, iter(says)) as proxy, \
                mock.patch.dict(os.environ, {"https_proxy": proxy.url, "no_proxy": ""}), \
                Client("https://other.example/mcp", era="modern", **options) as client:
            yield peer, proxy, client

    def test_calls_go_through_it_and_no_secret_is_shown(self) -> None:
        seen: List[Tuple[str, str]] = []
        with self.talk(b"HTTP/1.1 200 Connected\r\nVia: x\r\n\r\n", headers={"Authorization": "Bearer s3cret"},
                       wire=lambda *both: seen.append(both)) as (peer, proxy, client):
            for _ in range(2):
                client.call_tool("t")
            self.assertEqual((peer.connections, peer.requests, len(proxy.heads)), (1, 2, 1))
            self.assertRegex(proxy.heads[0], b"(?s)^CONNECT other.example:443 .*Proxy-Authorization: Basic ")
            self.assertIn(b"Authorization: Bearer s3cret", peer.heads[0])
            self.assertNotIn(b"Proxy", peer.heads[0])
        for sent, received in seen:
            self.assertIn("Authorization: …", sent)
            self.assertNotIn("s3cret", sent)
            self.assertNotIn("Basic ", sent)
            self.assertTrue(sent.startswith("POST /mcp ") and received.startswith("HTTP/1.1 200 OK"), sent + received)

    def test_what_it_says_beyond_its_answer_is_not_the_servers(self) -> None:
        forged = answered({"id": 1}, text="forged")
        with self.talk(b"HTTP/1.1 200 Connected\r\n\r\n" + forged) as (_, _proxy, client):
            with contextlib.suppress(Unreachable):
                self.assertNotEqual(client.call_tool("t")["text"], "forged")

    def test_a_refusal(self) -> None:
        with self.talk(b"HTTP/1.1 407 No\r\n\r\n") as (peer, _, client):
            with self.assertRaisesRegex(Unreachable, "407"):
                client.call_tool("t")
            self.assertEqual(peer.requests, 0)

    def test_one_that_drips_has_as_long_as_the_call(self) -> None:
        began = time.monotonic()
        with self.talk(b"HTTP/1.1 200 Connected\r\nVia: ", *[b"x"] * 3000) as (_, _proxy, client):
            with self.assertRaisesRegex(Timeout, "0.3 s"):
                client.call_tool("t", timeout=0.3)
        self.assertLess(time.monotonic() - began, 30)


if __name__ == "__main__":
    unittest.main()
