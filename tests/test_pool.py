"""Connections that a client keeps: one after another uses one, a dead one is replaced, and none is left behind."""

import contextlib
import gc
import os
import threading
import unittest
import warnings
from typing import Any, Iterator, Tuple
from unittest import mock

from mcp_ref import CallCancelled, CallHandle, Client, HTTPError, Server, Timeout, TransportError
from mcp_ref.base.errors import BrokenOff
from mcp_ref.lib.uri import Address
from mcp_ref.transports.calls import Deadline
from mcp_ref.transports.exchange import Exchange
from mcp_ref.transports.http_server import HTTPServer
from mcp_ref.transports.pool import MAX_HEAD, MAX_IDLE, Pool

from .raw_peer import Peer, Script, answered


def good(peer: Peer, number: int, message: Any) -> bool:
    peer.send(answered(message))
    return True


@contextlib.contextmanager
def talk(script: Script, **options: Any) -> Iterator[Tuple[Peer, Client]]:
    options = {"timeout": 60.0, "era": "modern", **options}
    with Peer(script) as peer, Client(peer.url, **options) as client:
        yield peer, client


class Kept(unittest.TestCase):
    def test_one_connection_serves_one_request_after_another(self) -> None:
        with talk(good) as (peer, client):
            for _ in range(5):
                client.call_tool("t")
            client.list_tools()
            self.assertEqual((peer.connections, peer.requests), (1, 6))
        self.assertNotIn(b"connection:", peer.heads[0].lower())
        self.assertTrue(peer.closed.acquire(timeout=60))  # by the client's close

    def test_an_event_stream_that_ended_with_its_answer_leaves_it(self) -> None:
        def stream(peer: Peer, number: int, message: Any) -> bool:
            body = answered(message).partition(b"\r\n\r\n")[2]
            event = b": hello\n\ndata: " + body + b"\n\n"
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                      + b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event))
            return True

        with talk(stream) as (peer, client):
            for _ in range(3):
                client.call_tool("t")
            self.assertEqual(peer.connections, 1)

    def test_one_that_goes_on_after_its_answer_is_closed(self) -> None:
        def stream(peer: Peer, number: int, message: Any) -> bool:
            event = b"data: " + answered(message).partition(b"\r\n\r\n")[2] + b"\n\n"
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                      + b"%x\r\n%b\r\n" % (len(event), event))
            return True

        with talk(stream) as (peer, client):
            client.call_tool("t")
            self.assertTrue(peer.closed.acquire(timeout=60))
            client.call_tool("t")
            self.assertEqual(peer.connections, 2)

    def test_refusals_leave_it_too(self) -> None:
        def refuse(peer: Peer, number: int, message: Any) -> bool:
            peer.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
            return True

        with talk(refuse) as (peer, client):
            for _ in range(3):
                self.assertRaises(HTTPError, client.call_tool, "t")
            self.assertEqual(peer.connections, 1)

    def test_what_says_close_or_has_no_length_is_not_kept(self) -> None:
        for fields in (b"HTTP/1.1 200 OK\r\nConnection: Close\r\n", b"HTTP/1.0 200 OK\r\n"):
            def script(peer: Peer, number: int, message: Any, fields: bytes = fields) -> bool:
                peer.send(answered(message).replace(b"HTTP/1.1 200 OK\r\n", fields))
                return True

            with self.subTest(fields), talk(script) as (peer, client):
                for _ in range(2):
                    client.call_tool("t")
                    self.assertTrue(peer.closed.acquire(timeout=60))
                self.assertEqual(peer.connections, 2)

    def test_a_timeout_and_a_cancelled_call_close_theirs(self) -> None:
        with talk(lambda *_: True) as (peer, client):
            try:
                client.call_tool("t", timeout=1.0)
            except Timeout as error:
                kept = error  # and with it what its frames hold: nothing is left to be closed by being forgotten
            self.assertTrue(peer.closed.acquire(timeout=60), kept)
            handle = CallHandle()
            peer.script = lambda *_: [handle.cancel()] != []  # type: ignore[func-returns-value]
            self.assertRaises(CallCancelled, client.call_tool, "t", handle=handle)
            self.assertTrue(peer.closed.acquire(timeout=60))
            peer.script = good
            client.call_tool("t")
            self.assertEqual(peer.connections, 3)

    def test_sixteen_threads_have_sixteen_and_no_more(self) -> None:
        meet = threading.Barrier(16, timeout=60)

        def together(peer: Peer, number: int, message: Any) -> bool:
            if number <= 16:
                meet.wait()
            peer.send(answered(message))
            return True

        with talk(together) as (peer, client):
            threads = [threading.Thread(target=lambda: [client.call_tool("t") for _ in range(20)]) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((peer.connections, peer.requests), (16, 320))

    def test_no_more_are_kept_than_may_be(self) -> None:
        count = MAX_IDLE + 4
        meet = threading.Barrier(count, timeout=60)

        def together(peer: Peer, number: int, message: Any) -> bool:
            meet.wait()
            peer.send(answered(message))
            return True

        with talk(together) as (peer, client):
            threads = [threading.Thread(target=client.call_tool, args=("t",)) for _ in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            peer.script = good
            client.call_tool("t")
            for _ in range(count - MAX_IDLE):
                self.assertTrue(peer.closed.acquire(timeout=60))

    def get(self, pool: Pool, peer: Peer, **fields: str) -> None:
        with Exchange(Address(peer.url), Deadline(20), pool=pool) as exchange:
            exchange.whole(exchange.open("POST", peer.url, b'{"id": 1}', fields), 1000)

    def test_a_connection_is_kept_for_its_own_place(self) -> None:
        with Peer(good) as one, Peer(good) as other, contextlib.closing(Pool(direct=True)) as pool:
            for peer in (one, other, one, other):
                self.get(pool, peer)
            self.assertEqual([(peer.connections, peer.requests) for peer in (one, other)], [(1, 2), (1, 2)])

    def test_one_that_was_hung_up_on_is_not_kept(self) -> None:
        with Peer(good) as peer, contextlib.closing(Pool(direct=True)) as pool:
            for cancelled in (False, True):
                handle = CallHandle()
                with Exchange(Address(peer.url), Deadline(20, handle), pool=pool) as exchange:
                    exchange.whole(exchange.open("POST", peer.url, b'{"id": 1}', {}), 1000)
                    if cancelled:
                        handle.cancel()
                self.assertEqual(len(pool._idle), 0 if cancelled else 1)

    def test_a_proxy_is_told_the_whole_url_each_time(self) -> None:
        with Peer(good) as proxy, mock.patch.dict(os.environ, {"http_proxy": f"http://ada:pass@{proxy.place}",
                                                               "no_proxy": ""}):
            with Client("http://server.test/mcp?x", era="modern") as client:
                for _ in range(2):
                    client.call_tool("t")
        self.assertEqual((proxy.connections, proxy.requests), (1, 2))
        for head in proxy.heads:
            lines = head.split(b"\r\n")
            self.assertEqual(lines[0], b"POST http://server.test/mcp?x HTTP/1.1")
            self.assertEqual([line for line in lines if line.startswith(b"Host:")], [b"Host: server.test"])
            self.assertIn(b"Proxy-Authorization: Basic YWRhOnBhc3M=", lines)

    def test_an_exchange_that_is_over_hangs_up_on_nobody(self) -> None:
        with Peer(good) as peer, contextlib.closing(Pool(direct=True)) as pool:
            with Exchange(Address(peer.url), Deadline(20), pool=pool) as exchange:
                exchange.whole(exchange.open("POST", peer.url, b'{"id": 1}', {}), 1000)
            exchange.hang_up()
            self.get(pool, peer)
            self.assertEqual(peer.connections, 1)

    def test_one_whose_answer_is_still_to_come_is_not_kept(self) -> None:
        def half(peer: Peer, number: int, message: Any) -> bool:
            peer.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n")
            return True

        with Peer(half) as peer, contextlib.closing(Pool(direct=True)) as pool:
            with Exchange(Address(peer.url), Deadline(20), pool=pool) as exchange:
                exchange.open("POST", peer.url, b'{"id": 1}', {})
            self.assertEqual(pool._idle, [])

    def test_no_field_begins_another(self) -> None:
        with Peer(good) as peer, contextlib.closing(Pool(direct=True)) as pool:
            for end in ("\r\n", "\n", "\r"):
                with self.assertRaisesRegex(TransportError, "line break"):
                    self.get(pool, peer, X=f"a{end}Evil: 1")
            self.assertEqual(peer.requests, 0)

    def test_a_client_that_nobody_closes_leaves_no_socket(self) -> None:
        with warnings.catch_warnings(), Peer(good) as peer:
            warnings.simplefilter("error")
            client = Client(peer.url, era="modern")
            client.call_tool("t")
            del client
            gc.collect()
            self.assertTrue(peer.closed.acquire(timeout=60))

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_a_forked_process_makes_its_own(self) -> None:
        with talk(good) as (peer, client):
            client.call_tool("t")
            child = os.fork()
            if not child:
                status = 1
                with contextlib.suppress(BaseException):
                    client.call_tool("t")
                    status = 0
                os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            client.call_tool("t")
            self.assertEqual(peer.connections, 2)


class Dead(unittest.TestCase):
    """A kept connection that the server has closed."""

    def test_one_that_was_closed_before_is_replaced_whatever_is_called(self) -> None:
        def once(peer: Peer, number: int, message: Any) -> bool:
            peer.send(answered(message))
            return False

        with talk(once) as (peer, client):
            for _ in range(3):
                client.call_tool("t")
                self.assertTrue(peer.closed.acquire(timeout=60))
            self.assertEqual((peer.connections, peer.requests), (3, 3))

    def test_what_may_be_repeated_is_when_it_closes_at_that_moment(self) -> None:
        for call in ("list_tools", "discover"):
            with talk(lambda peer, number, message: number != 2 and good(peer, number, message)) as (peer, client):
                getattr(client, call)()
                getattr(client, call)()
                self.assertEqual((peer.connections, peer.requests), (2, 3))

    def test_once_alone(self) -> None:
        with talk(lambda peer, number, message: number < 2 and good(peer, number, message)) as (peer, client):
            client.list_tools()
            with self.assertRaisesRegex(BrokenOff, "broke off"):
                client.list_tools()
            self.assertEqual((peer.connections, peer.requests), (2, 3))

    def test_a_call_of_a_tool_is_never_sent_twice(self) -> None:
        with talk(lambda peer, number, message: number != 2 and good(peer, number, message)) as (peer, client):
            client.call_tool("t")
            with self.assertRaisesRegex(BrokenOff, "broke off"):
                client.call_tool("t")
            self.assertEqual(peer.methods, ["tools/call"] * 2)

    def test_nor_what_was_answered_in_part(self) -> None:
        def cut(peer: Peer, number: int, message: Any) -> bool:
            peer.send(answered(message) if number == 1 else b"HTTP/1.1 200 OK\r\nCont")
            return number == 1

        with talk(cut) as (peer, client):
            client.list_tools()
            self.assertRaises(TransportError, client.list_tools)
            self.assertEqual(peer.requests, 2)

    def test_octets_that_nobody_asked_for_are_no_answer(self) -> None:
        def talkative(peer: Peer, number: int, message: Any) -> bool:
            peer.send(answered(message, number=number) + (b"HTTP/1.1 200 OK\r\n" if number == 1 else b""))
            return True

        with talk(talkative) as (peer, client):
            client.call_tool("t")
            self.assertEqual(client.call_tool("t")["number"], 2)
            self.assertEqual(peer.connections, 2)


class Heads(unittest.TestCase):
    """What is read in place of http.client's parser."""

    def refused(self, answer: bytes) -> str:
        def script(peer: Peer, number: int, message: Any) -> bool:
            peer.send(answer)
            return False

        with talk(script) as (_, client), self.assertRaises(TransportError) as caught:
            client.call_tool("t")
        return str(caught.exception)

    def test_what_is_none_is_a_typed_error(self) -> None:
        start = b"HTTP/1.1 200 OK\r\n"
        for answer in (b"", b"\r\n\r\n", b"SSH-2.0-x\r\n", b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/1.1 20 OK\r\n\r\n",
                       b"HTTP/1.1 099 x\r\n\r\n", b"HTTP/1.1 200 OK", start, start + b"no colon\r\n\r\n",
                       start + b" folded: x\r\n\r\n", start + b"A b: x\r\n\r\n", start + b"a: \0\r\n\r\n"):
            with self.subTest(answer):
                self.assertIn("broke off", self.refused(answer))

    def test_it_is_bounded(self) -> None:
        for answer in (b"HTTP/1.1 200 " + b"x" * MAX_HEAD, b"HTTP/1.1 200 OK\r\nA: " + b"x" * 1_000_000 + b"\r\n\r\n",
                       b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101 + b"\r\n",
                       b"HTTP/1.1 200 OK\r\n" + (b"A: " + b"x" * 4000 + b"\r\n") * 50):
            with self.subTest(answer[:30]):
                self.assertRegex(self.refused(answer), "more than 65536 octets|at most 100 fields")

    def test_line_feeds_alone_end_lines_and_a_phrase_may_be_missing(self) -> None:
        def bare(peer: Peer, number: int, message: Any) -> bool:
            peer.send(answered(message).replace(b" OK\r\n", b"\r\n", 1).replace(b"\r\n", b"\n"))
            return True

        with talk(bare) as (peer, client):
            client.call_tool("t")
            client.call_tool("t")
            self.assertEqual(peer.connections, 1)


class Ours(unittest.TestCase):
    def test_our_own_server_keeps_one_connection_for_calls_streams_and_refusals(self) -> None:
        server = Server("demo", "1")

        @server.tool
        def work(ctx: Any, steps: int) -> str:
            for step in range(steps):
                ctx.progress(step)
            return "done"

        with HTTPServer(server, port=0) as running, Client(running.url, on_progress=lambda *_: None) as client:
            for steps in (0, 3, 0, 1):
                client.call_tool("work", {"steps": steps})
            with self.assertRaisesRegex(Exception, "tool"):
                client.call_tool("none")
            self.assertEqual(len(running.open), 1)


if __name__ == "__main__":
    unittest.main()
