"""One loop for all connections: who has it, who waits for whom, and what is bounded in sum."""

import errno
import gc
import json
import logging
import os
import queue
import socket
import sys
import threading
import time
import unittest
from unittest import mock

from mcp_ref import Server, serve
from mcp_ref.lib.http1 import Head
from mcp_ref.transports.bounds import COUNTED, MAX_SLOW, Room, Slow
from mcp_ref.transports.connection import MAX_HEAD, READ, Connection
from mcp_ref.transports.http_server import HTTPServer, Limits
from mcp_ref.transports.loop import TOGETHER, Loop
from mcp_ref.transports.outgoing import Outgoing

from .support import RawClient, message, until


def resident():
    """Octets of memory of this process; None where the system does not tell.

    On PyPy those that its collector holds: of what it gives back, the allocator beneath it keeps what it likes.
    """
    if sys.implementation.name == "pypy":
        return gc.get_stats()._s.total_gc_memory
    try:
        with open("/proc/self/statm", encoding="ascii") as told:
            return int(told.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class Served(unittest.TestCase):
    def serve(self, server=None, **limits):
        """An HTTPServer of a server with an echo."""
        self.mcp = server or Server("s", "1")
        self.mcp.tool(name="echo")(lambda text: text)
        self.http = HTTPServer(self.mcp, port=0, limits=Limits(**limits)).start()
        self.addCleanup(self.http.stop)
        return self.http

    def client(self, timeout=20.0):
        made = RawClient(self.http.url, timeout)
        self.addCleanup(made.socket.close)
        return made

    def echo(self, client, text="hi"):
        client.request(message("tools/call", {"name": "echo", "arguments": {"text": text}}))
        return client.response()


class Turns(unittest.TestCase):
    """The loop alone."""

    def setUp(self):
        self.loop = Loop(lambda: None, workers=3)
        self.done = queue.Queue()
        self.release = threading.Event()
        self.addCleanup(self.loop.stop)
        self.addCleanup(self.release.set)
        self.loop.start()

    def hold(self):
        self.done.put("begun")
        self.release.wait(20)
        return lambda: self.done.put("then" if self.loop.leads() else "then, by another thread")

    def got(self):
        return self.done.get(timeout=20)

    def test_quick_work_and_what_follows_it_stay_on_one_thread(self):
        def work():
            self.done.put(threading.get_ident())
            return lambda: self.done.put(threading.get_ident())
        for _ in range(100):
            self.loop.call_soon(lambda: self.loop.inline(work, lambda: self.done.put("late")))
            self.assertEqual(self.got(), self.got())

    def test_the_loop_goes_on_beside_work_that_does_not_come_back(self):
        self.loop.call_soon(lambda: self.loop.inline(self.hold, lambda: self.done.put("late")))
        self.assertEqual((self.got(), self.got()), ("begun", "late"))
        self.loop.call_soon(lambda: self.done.put("another"))
        self.assertEqual(self.got(), "another")
        self.release.set()
        self.assertEqual(self.got(), "then", "what follows belongs to the thread that has the loop")

    def test_without_a_thread_nothing_is_left_open(self):
        loop = Loop(lambda: None)
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError), self.assertRaises(RuntimeError):
            loop.start()
        self.assertFalse(loop.started)
        self.assertEqual((loop._wake_in.fileno(), loop._wake_out.fileno()), (-1, -1))
        loop.stop()

    def ready(self, seconds):
        """What is done, in order, where three sockets are ready at once, and each is looked at for so many seconds."""
        pairs = [socket.socketpair() for _ in range(3)]
        for ours, theirs in pairs:
            self.addCleanup(ours.close)
            self.addCleanup(theirs.close)
            theirs.send(b"x")

        def look(ours):
            ours.recv(1)
            time.sleep(seconds)
            self.done.put("event")
            self.loop.call_soon(lambda: self.done.put("then"))

        def register():
            for ours, _ in pairs:
                self.loop.selector.register(ours, READ, lambda _events, ours=ours: look(ours))
        self.loop.call_soon(register)
        return [self.got() for _ in range(6)]

    def test_what_follows_is_done_together(self):
        with mock.patch("mcp_ref.transports.loop.TOGETHER", 10.0):
            self.assertEqual(self.ready(0), ["event"] * 3 + ["then"] * 3)

    def test_what_follows_does_not_wait_for_what_takes_long(self):
        self.assertEqual(self.ready(2 * TOGETHER), ["event", "then"] * 3)

    def test_so_many_at_once_and_no_more(self):
        for _ in range(5):
            self.loop.submit(self.hold)
        self.assertEqual([self.got() for _ in range(3)], ["begun"] * 3)
        self.loop.call_soon(lambda: self.done.put("quick"))
        self.assertEqual(self.got(), "quick", "nothing quick waits for them, and no fourth has begun")
        self.release.set()
        self.assertEqual(sorted(self.got() for _ in range(7)), ["begun"] * 2 + ["then"] * 5)

    def test_inline_work_that_stays_away_is_bounded_too(self):
        for _ in range(3):
            self.assertFalse(self.loop.crowded)
            self.loop.call_soon(lambda: self.loop.inline(self.hold, lambda: self.done.put("late")))
            self.assertEqual((self.got(), self.got()), ("begun", "late"))
        self.assertTrue(self.loop.crowded)
        self.release.set()
        self.assertEqual([self.got() for _ in range(3)], ["then"] * 3)
        self.assertFalse(self.loop.crowded)

    def test_inline_work_that_stays_away_counts_among_what_is_slow(self):
        for _ in range(2):
            self.loop.call_soon(lambda: self.loop.inline(self.hold, lambda: self.done.put("late")))
            self.assertEqual((self.got(), self.got()), ("begun", "late"))
        for _ in range(3):
            self.loop.submit(self.hold)
        self.assertEqual(self.got(), "begun")
        with self.assertRaises(queue.Empty):
            self.done.get(timeout=0.1)
        self.release.set()
        self.assertEqual(sorted(self.got() for _ in range(7)), ["begun"] * 2 + ["then"] * 5)

    def test_work_that_fails_costs_no_thread(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        for fault in (ValueError, SystemExit):
            def fail(fault=fault):
                raise fault
            for _ in range(5):
                self.loop.submit(fail)
                self.loop.call_soon(fail)
                self.loop.call_soon(lambda: self.loop.inline(fail, fail))
        self.loop.call_soon(lambda: self.loop.inline(self.hold, lambda: self.done.put("late")))
        self.assertEqual((self.got(), self.got()), ("begun", "late"))
        self.loop.submit(self.hold)
        self.assertEqual(self.got(), "begun")

    def test_threads_end(self):
        self.loop.submit(self.hold)
        self.got()
        self.release.set()
        self.got()
        self.loop.stop()
        end = time.monotonic() + 20
        while self.loop._threads and time.monotonic() < end:
            time.sleep(0.002)
        self.assertEqual(self.loop._threads, 0)


class Awake(unittest.TestCase):
    """After an answer to a lone connection the loop looks for a moment before it sleeps, and then sleeps."""

    def test_it_looks_and_then_sleeps(self):
        loop = Loop(lambda: None)
        asked = []

        class Silent:
            def select(self, seconds):
                asked.append(seconds)
                return []

        loop.selector = Silent()
        self.assertEqual(loop._ready(7), [])
        self.assertEqual(asked, [7])
        asked.clear()
        loop.stay_awake(0.01)
        loop._ready(7)
        self.assertEqual((set(asked[:-1]), asked[-1]), ({0}, 7))
        asked.clear()
        loop._ready(7)
        self.assertEqual(asked, [7])

    def test_what_comes_meanwhile_is_found(self):
        loop = Loop(lambda: None)
        found = [[], [], ["ready"]]

        class Ready:
            def select(self, seconds):
                return found.pop(0)

        loop.selector = Ready()
        loop.stay_awake(60)
        self.assertEqual(loop._ready(7), ["ready"])

    def test_only_for_a_connection_that_is_alone(self):
        stayed = []
        with HTTPServer(Server("s", "1"), port=0) as http:
            with mock.patch.object(http.loop, "stay_awake", stayed.append), RawClient(http.url) as one:
                one.request(message("server/discover"))
                self.assertEqual(one.response().status, 200)
                with RawClient(http.url) as other:
                    other.request(message("server/discover"))
                    other.response()
                    one.request(message("server/discover"))
                    self.assertEqual(one.response().status, 200)
        self.assertEqual(stayed, [http.limits.awake])


class Handlers(Served):
    def test_handlers_that_sleep_hold_nobody_up(self):
        """As many as may be at once, and more of them waiting; a quick call is answered while all of them sleep."""
        asleep, release = threading.Semaphore(0), threading.Event()
        self.addCleanup(release.set)
        self.serve(handlers=16)
        self.http.loop._patience = 0.1  # no quick call is taken for slow where the machine is busy

        @self.mcp.tool
        def sleep() -> str:
            asleep.release()
            release.wait(30)
            return "slept"

        sleepers = [self.client(60) for _ in range(40)]
        for client in sleepers:
            client.request(message("tools/call", {"name": "sleep"}))
        for _ in range(16):
            self.assertTrue(asleep.acquire(timeout=20))
        quick = self.client()
        for _ in range(50):
            self.assertEqual(self.echo(quick).status, 200)
        self.assertFalse(asleep.acquire(blocking=False), "more than 16 at once")
        release.set()
        for client in sleepers:
            self.assertEqual(client.response().status, 200)

    def test_one_that_was_slow_begins_off_the_loop_until_it_is_quick(self):
        slow = [True]
        self.serve()

        @self.mcp.tool
        def work() -> str:
            while slow[0] and not self.http.slow._known:
                time.sleep(0.001)
            return str(self.http.loop.leads())

        client = self.client()
        led = []
        for cut in (1, 300, 1, 1, 1):  # one that stops to wait for its body has not shown that it is quick
            octets = client.octets(message("tools/call", {"name": "work"}))
            client.send(octets[:-cut])
            until(lambda: self.http.states["arriving"])
            client.send(octets[-cut:])
            led.append(client.response().json["result"]["content"][0]["text"])
            slow[0] = False
        self.assertEqual(led[:2], ["False", "False"])
        self.assertEqual(led[-1], "True")

    def test_what_is_known_to_be_slow_is_bounded_and_one_for_all_of_a_template(self):
        slow = Slow()
        for number in range(MAX_SLOW + 5):
            slow.add(Head("POST", "/mcp", {"mcp-method": "tools/call", "mcp-name": str(number)}))
        self.assertEqual(len(slow._known), MAX_SLOW)
        slow.add(Head("POST", "/mcp", {"mcp-method": "resources/read", "mcp-name": "db://row/1"}))
        self.assertIn(Head("POST", "/mcp", {"mcp-method": "resources/read", "mcp-name": "db://row/2"}), slow)

    def test_a_slow_reader_of_a_large_answer_holds_no_thread(self):
        self.serve(handlers=2)
        self.mcp.tool(name="large")(lambda: "x" * 8_000_000)
        stalled = [self.client(60) for _ in range(6)]
        for client in stalled:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            client.request(message("tools/call", {"name": "large"}))
        until(lambda: len(self.http.states["answering"]) == 6)
        self.assertEqual(self.http.busy, [])
        self.assertEqual(self.echo(self.client()).status, 200)
        for client in stalled:
            self.assertEqual(len(client.response().json["result"]["content"][0]["text"]), 8_000_000)
            self.assertEqual(self.echo(client).status, 200)

    def test_who_reads_no_answer_gets_no_next_one(self):
        """Else what waits for a client that sends one request after another would be bounded by nothing."""
        self.serve(write=60.0)
        calls = []
        self.mcp.tool(name="large")(lambda: calls.append(1) or "x" * 8_000_000)
        client = self.client()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        octets = client.octets(message("tools/call", {"name": "large"}))
        client.send(octets * 4)
        until(lambda: self.http.states["answering"])
        self.assertEqual(self.echo(self.client()).status, 200)
        self.assertEqual(len(calls), 1)
        for _ in range(4):
            self.assertEqual(client.response().status, 200)
        self.assertEqual(len(calls), 4)

    def test_stopping_finishes_an_answer_that_is_on_its_way(self):
        self.serve(grace=20.0)
        self.mcp.tool(name="large")(lambda: "x" * 8_000_000)
        clients = [self.client(), self.client()]
        for client, more in zip(clients, ({}, {"connection": "close"})):
            client.request(message("tools/call", {"name": "large"}), **more)
            client.head()
        stopping = threading.Thread(target=self.http.stop)
        stopping.start()
        until(lambda: self.http.stopping)
        for client in clients:
            self.assertEqual(len(client._exactly(8_000_000)), 8_000_000)
        stopping.join(20)
        self.assertFalse(stopping.is_alive())

    def test_pipelining_takes_turns(self):
        self.serve()
        order = []
        self.mcp.tool(name="note")(lambda who: order.append(who) or who)
        first, second = self.client(), self.client()
        call = [client.octets(message("tools/call", {"name": "note", "arguments": {"who": who}}))
                for client, who in ((first, "a"), (second, "b"))]
        first.send(call[0] * 20)
        second.send(call[1])
        for _ in range(20):
            self.assertEqual(first.response().status, 200)
        self.assertEqual(second.response().status, 200)
        self.assertEqual(sorted(order), ["a"] * 20 + ["b"])


class Bodies(Served):
    SIZE = 4_100_000

    def whole(self, size=SIZE):
        return message("tools/call", {"name": "echo", "arguments": {"text": "x" * size}})

    def test_two_hundred_and_fifty_large_bodies_at_once(self):
        before = resident()
        if before is None:
            self.skipTest("this system does not tell how much memory is used")
        self.serve(arrive=60.0)
        self.mcp.tool(name="measure")(lambda text: str(len(text)))
        call = message("tools/call", {"name": "measure", "arguments": {"text": "x" * self.SIZE}})
        octets = self.client().octets(call)
        before, most, right = resident(), 0, []

        def send():
            with RawClient(self.http.url, 60) as client:
                client.send(octets)
                right.append(client.response().json["result"]["content"][0]["text"] == str(self.SIZE))

        threads = [threading.Thread(target=send) for _ in range(250)]
        for thread in threads:
            thread.start()
        quick, answered = self.client(60), 0
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(self.echo(quick).status, 200)
            answered += 1
            most = max(most, resident() - before)
        self.assertEqual(right, [True] * 250)
        self.assertLess(most, 300_000_000 if COUNTED else 700_000_000)
        self.assertGreater(answered, 10, "another client is answered meanwhile")

    def test_beyond_the_bound_reading_waits(self):
        self.serve(bodies=1_000_000)
        held, waiting = self.client(), self.client()
        for client in (held, waiting):
            octets = client.octets(self.whole(700_000))
            client.send(octets[:5000])
        until(lambda: self.http.room._waiting)
        for size in (10, 60_000):  # a small body needs no room, in however many pieces it comes
            small = self.client()
            octets = small.octets(self.whole(size))
            small.send(octets[:400])
            time.sleep(0.01)
            small.send(octets[400:])
            self.assertEqual(small.response().status, 200)
        waiting.socket.setblocking(False)
        waiting.socket.send(octets[5000:])
        waiting.socket.settimeout(20)
        self.assertEqual(len(self.http.room._waiting), 1)
        held.send(held.octets(self.whole(700_000))[5000:])
        self.assertEqual(held.response().status, 200)
        until(lambda: not self.http.room._waiting)

    def test_at_the_end_of_its_time_it_is_told_503(self):
        self.serve(bodies=100_000, arrive=0.3)
        held, waiting = self.client(), self.client()
        for client in (held, waiting):
            client.send(client.octets(b" " * 90_000)[:500])
            until(lambda: self.http.room._reserved)
        until(lambda: self.http.room._waiting)
        reply = waiting.response()
        self.assertEqual((reply.status, reply.headers["retry-after"]), (503, "1"))
        self.assertEqual(held.response().status, 408)
        until(lambda: not self.http.open)
        room = self.http.room
        self.assertEqual((room._reserved, room._held, room._waiting, room._holders), (0, 0, {}, {}))

    def test_chunks_wait_too(self):
        self.serve(bodies=1_000_000)
        raw = json.dumps(self.whole(300_000)).encode()
        held = self.client()
        held.send(held.octets(b"x" * 900_000)[:500])
        until(lambda: self.http.room._reserved)
        client = self.client()
        client.send(client.octets(raw, content_length=None, transfer_encoding="chunked")[:-len(raw)])
        sending = threading.Thread(target=client.send, args=(b"%x\r\n%s\r\n0\r\n\r\n" % (len(raw), raw),))
        sending.start()
        until(lambda: self.http.room._waiting)
        held.socket.close()
        self.assertEqual(client.response().status, 400, "the octets of the message are no call of tools/list")
        sending.join()

    def test_a_body_larger_than_the_bound_comes_alone(self):
        self.serve(bodies=100_000)
        client = self.client()
        for _ in range(2):
            client.request(self.whole(500_000))
            self.assertEqual(client.response().status, 200)

    def test_half_read_heads_are_bounded_in_sum_and_the_longest_gives_way(self):
        self.serve(bodies=200_000)
        dripping = [self.client() for _ in range(20)]
        for client in dripping:
            client.send(b"POST /mcp HTTP/1.1\r\nA: " + b"x" * (MAX_HEAD // 2))
            until(lambda: self.http.room._held >= 16_000)
            self.assertEqual(self.echo(self.client()).status, 200)
        reply = dripping[0].response()
        self.assertEqual((reply.status, reply.headers["retry-after"]), (503, "1"))
        self.assertLessEqual(self.http.room._held, 100_000)
        dripping[-1].send(b"\r\n\r\n")
        self.assertEqual(dripping[-1].response().status, 400)

    def test_a_length_of_many_zeroes(self):
        self.serve()
        for length in ("0" * 12, "0" * 5):
            client = self.client()
            client.send(client.octets(b"", content_length=length))
            self.assertEqual(client.response().status, 400)
            self.assertEqual(self.echo(client).status, 200)
        client = self.client()
        client.send(client.octets(b"", content_length="\xb2"))
        self.assertEqual(client.response().status, 400)

    def test_a_handler_that_keeps_a_large_body_keeps_no_place_of_the_decoders(self):
        self.serve()
        begun, release = threading.Semaphore(0), threading.Event()
        self.addCleanup(release.set)

        @self.mcp.tool
        def keep(text: str) -> str:
            begun.release()
            release.wait(30)
            return "kept"

        clients = [self.client(60) for _ in range(4)]
        for client in clients:
            client.request(message("tools/call", {"name": "keep", "arguments": {"text": "x" * 100_000}}))
        for _ in clients:
            self.assertTrue(begun.acquire(timeout=20))
        release.set()
        for client in clients:
            self.assertEqual(client.response().status, 200)


class Connections(Served):
    def test_a_refused_client_that_goes_on_sending_is_read_away_up_to_a_bound(self):
        self.serve(linger=60.0)
        client = self.client()
        client.send(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999999\r\n\r\n")
        with mock.patch("mcp_ref.transports.connection.LINGER", 1_000_000), self.assertRaises(OSError):
            for _ in range(2000):
                client.send(b"x" * 10_000)

    def test_idle_ones_cost_no_thread_and_at_most_4_kb(self):
        self.serve()
        held = 300
        warm = [self.client() for _ in range(20)]
        for client in warm:
            self.echo(client)
        threads, before = threading.active_count(), resident()
        clients = []
        octets = warm[0].octets(message("tools/call", {"name": "echo", "arguments": {"text": "hi"}}))
        for _ in range(held):
            made = socket.create_connection(self.http.server_address[:2])
            self.addCleanup(made.close)
            made.sendall(octets)
            self.assertTrue(made.recv(4096).startswith(b"HTTP/1.1 200"))
            clients.append(made)
        until(lambda: len(self.http.idle) == held + len(warm))
        self.assertLess(threading.active_count() - threads, held // 10)  # one that was late may have called another
        if before is not None and COUNTED:  # elsewhere what a compiler takes meanwhile is more
            self.assertLess((resident() - before) / held, 4500)  # both ends of it are in this process

    def test_one_that_never_sent_an_octet_has_arrive_and_blank_lines_extend_nothing(self):
        self.serve(arrive=0.4, idle=0.4)
        silent, blank, kept = self.client(), self.client(), self.client()
        self.echo(kept)
        stop = threading.Event()

        def drip():
            try:
                while not stop.wait(0.02):
                    blank.send(b"\r\n")
                    kept.send(b"\r\n")
            except OSError:
                pass

        thread = threading.Thread(target=drip)
        thread.start()
        until(lambda: not self.http.open)
        stop.set()
        thread.join()
        self.assertTrue(silent.closed())

    def test_out_of_files_the_longest_idle_gives_way(self):
        self.serve()
        idle = self.client()
        self.echo(idle)
        until(lambda: self.http.idle)
        accept, faults = self.http.get_request, [OSError(errno.EMFILE, "no file left")]

        def get_request():
            if faults:
                raise faults.pop()
            return accept()

        with mock.patch.object(self.http, "get_request", get_request):
            self.assertEqual(self.echo(self.client()).status, 200)
            self.assertTrue(idle.closed())
            until(lambda: self.http.idle)
            faults += [OSError(errno.EMFILE, "no file left")] * 3  # which nobody's going helps
            self.assertEqual(self.echo(self.client()).status, 200)

    def test_what_is_sent_meets_no_closed_socket(self):
        """Its number could be another client's by then."""
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        ours.setblocking(False)
        out = Outgoing(ours, lambda: None)
        out.send(b"x")
        blocked = threading.Thread(target=lambda: self.assertRaises(OSError, out.send, b"x" * 4_000_000, wait=True))
        blocked.start()
        until(lambda: out._drained)
        out.close()
        blocked.join(20)
        self.assertFalse(blocked.is_alive())
        with self.assertRaises(OSError):
            out.send(b"x")

    def test_no_comment_comes_after_the_end_of_a_stream(self):
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            self.addCleanup(end.close)
        out = Outgoing(ours, lambda: None)
        out.comment(b": early")
        out.send(b"a", streaming=True)
        out.comment(b"b")
        out.send(b"c", streaming=False)
        out.comment(b": late")
        self.assertEqual(theirs.recv(100), b"abc")

    def test_a_fault_of_ours_ends_one_connection(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.serve()
        for name in ("_advance", "_work", "do_POST", "_next", "_flush"):
            client, other = self.client(), self.client()
            with mock.patch.object(Connection, name, side_effect=RuntimeError):
                try:
                    client.request(message("server/discover"))
                    client.more()
                except OSError:
                    pass
            self.assertEqual(self.echo(other).status, 200, name)

    def test_a_page_of_a_subclass_as_http_server_has_them(self):
        class Page(Connection):
            def do_GET(self):
                if self.path != "/page":
                    return super().do_GET()
                body = self.headers["x-name"].encode() + self.rfile.read()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.serve()
        self.http.RequestHandlerClass = Page
        client = self.client()
        for _ in range(2):
            client.send(b"GET /page HTTP/1.1\r\nHost: localhost\r\nX-Name: me\r\nContent-Length: 3\r\n\r\nabc")
            self.assertEqual(client.response().body, b"meabc")
        client.send(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(client.response().status, 406)
        self.assertEqual(self.echo(client).status, 200)

    def test_a_method_of_a_subclass_may_do_something_before_or_after(self):
        class Counting(Connection):
            def do_POST(self):
                super().do_POST()
                done.append(self.command)

        done = []
        self.serve()
        self.http.RequestHandlerClass = Counting
        client = self.client()
        for _ in range(2):
            self.assertEqual(self.echo(client).status, 200)
        self.assertEqual(done, ["POST"] * 2)

    def test_heads_with_credentials_are_not_remembered(self):
        self.serve()
        client = self.client()
        for name in ("Authorization", "Cookie", "X-Other"):
            client.send(f"GET /mcp HTTP/1.1\r\nHost: localhost\r\n{name}: secret\r\n\r\n".encode())
            client.response()
        self.assertEqual([b"X-Other" in head for head in self.http.heads], [True])

    def test_what_let_a_head_in_is_not_asked_of_it_again_and_all_else_is(self):
        self.serve()
        client, body = self.client(), message("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
        good = client.octets(body)
        rungs = []
        tell = serve._tell

        def told(state, request, *rest):
            rungs.append((request.let_in, request.rung))
            tell(state, request, *rest)
        with mock.patch.object(serve, "_tell", told):
            for octets, status in ((good, 200), (good, 200), (good.replace(b'"echo"', b'"Echo"'), 400), (good, 200)):
                client.send(octets)
                self.assertEqual(client.response().status, status)
        self.assertEqual(rungs, [(False, "handler"), (True, "handler"), (True, "mirrors"), (True, "handler")])
        for more, status in (({"host": "evil.example"}, 403), ({"accept": "text/html"}, 406)):
            for _ in range(2):
                client.request(body, **more)
                self.assertEqual(client.response().status, status)
        self.assertEqual([known.let_in for known in self.http.heads.values()], [True, False, False])

    def test_an_answer_does_not_wait_for_a_slow_call_that_came_with_it(self):
        release = threading.Event()
        self.addCleanup(release.set)
        self.serve()
        self.mcp.tool(name="hold")(lambda: str(release.wait(60)))
        quick, slow = self.client(), self.client(60)
        for client in (quick, slow):  # both are there by now
            self.assertEqual(self.echo(client).status, 200)
        self.http.loop.call_soon(lambda: time.sleep(0.1))
        quick.request(message("tools/call", {"name": "echo", "arguments": {"text": "hi"}}))
        slow.request(message("tools/call", {"name": "hold", "arguments": {}}))
        self.assertEqual(quick.response().status, 200)
        self.assertFalse(release.is_set())
        release.set()
        self.assertEqual(slow.response().status, 200)

    def test_of_an_answer_that_is_sent_nothing_is_held(self):
        self.serve()
        client = self.client()
        self.assertEqual(self.echo(client).status, 200)
        until(lambda: self.http.idle)
        self.assertEqual([each._last for each in self.http.open], [b""])

    def test_nothing_is_bound_where_a_bound_cannot_be_used(self):
        class Binding(HTTPServer):
            def server_bind(self):
                bound.append(self)
                super().server_bind()

        bound = []
        with self.assertRaises(TypeError):
            Binding(Server("s", "1"), port=0, limits=Limits(idle="soon"))
        self.assertEqual(bound, [])

    def test_it_may_be_made_before_a_fork_and_stopped_by_two_at_once(self):
        http = HTTPServer(Server("s", "1"), port=0)
        self.assertFalse(hasattr(http.loop, "selector"))
        http.start()
        stopping = [threading.Thread(target=http.stop) for _ in range(3)]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join(20)
            self.assertFalse(thread.is_alive())


class Counting(unittest.TestCase):
    """Room alone."""

    class Reader:
        def __init__(self):
            self.reserved = self.held = 0
            self.told = []

        def room_came(self):
            self.told.append("room")

        def too_late(self):
            self.told.append("late")

    def test_in_order_and_given_back(self):
        room = Room(100)
        a, b, c, d = (self.Reader() for _ in range(4))
        self.assertEqual([room.reserve(a, 60), room.reserve(b, 60), room.reserve(c, 10)], [True, False, False])
        room.release(b)
        self.assertEqual((b.told, c.told), ([], ["room"]), "one that has gone makes way for what it held up")
        self.assertFalse(room.reserve(d, 60))
        room.release(a)
        self.assertEqual(d.told, ["room"])
        room.keep(d, 500)
        room.release(c)
        room.release(d)
        self.assertEqual(room._reserved, 0)


if __name__ == "__main__":
    unittest.main()
