"""basic/transports/stdio, the server's side: one line is one message, on pipes and in processes of its own."""

import asyncio
import io
import json
import logging
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from mcp_ref import Server
from mcp_ref.base.meta import SUBSCRIPTION_ID
from mcp_ref.base.request import Request
from mcp_ref.lib.strict_json import NotJson, decode
from mcp_ref.patterns import subscriptions
from mcp_ref.transports import outbox, stdio
from mcp_ref.transports.stdio import StdioServer

from .support import ROOT, accept, asking, at_some_pace, echo_server, full_server, message, not_on_wasm, proves

SECONDS = 20.0
"""More than anything here takes; who waits that long has failed."""


def line(body):
    return body if isinstance(body, bytes) else json.dumps(body).encode() + b"\n"


def call(tool, id=1, **arguments):
    return asking(tool, None, None, id, **arguments)


def cancelled(id, **more):
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, **more}}


class Lines:
    """The client's side: what it writes, and the lines that come back. Every wait is bounded."""

    def __init__(self, write, read):
        self._write, self._read, self._buffer = write, read, b""

    def send(self, *bodies):
        data = b"".join(map(line, bodies))
        while data:
            if not select.select([], [self._write], [], SECONDS)[1]:
                raise TimeoutError("the server does not read")
            data = data[os.write(self._write, data[:4096]):]

    def wait(self):
        """There is something to read, unread."""
        if not select.select([self._read], [], [], SECONDS)[0]:
            raise TimeoutError(f"the server says no more than {self._buffer[:200]!r}")

    def raw(self):
        """The next line, without its end; b"" at the end of the stream."""
        while b"\n" not in self._buffer:
            self.wait()
            data = os.read(self._read, 65536)
            if not data:
                assert not self._buffer, f"a line without its end: {self._buffer[:200]!r}"
                return b""
            self._buffer += data
        made, _, self._buffer = self._buffer.partition(b"\n")
        return made

    def receive(self):
        return json.loads(self.raw())

    def ask(self, *bodies):
        self.send(*bodies)
        return self.receive()

    def rest(self):
        """All messages up to the end of the stream."""
        return [json.loads(each) for each in iter(self.raw, b"")]

    def end(self):
        """Say that nothing more comes."""
        if self._write is not None:
            os.close(self._write)
            self._write = None

    def close(self):
        self.end()
        if self._read is not None:
            os.close(self._read)
            self._read = None


class StdioCase(unittest.TestCase):
    """Tests of a server over pipes: what is started here ends with the test."""

    def serve(self, server, **options):
        """A StdioServer over two pipes, and the client's side of them."""
        theirs, write = os.pipe()
        read, ours = os.pipe()
        os.set_blocking(write, False)  # so that the client never waits for longer than it says
        self.ended = threading.Event()
        self.lines = Lines(write, read)
        self.addCleanup(self.lines.close)
        source = self.enterStream(open(theirs, "rb", buffering=0))
        sink = self.enterStream(open(ours, "wb", buffering=0))
        self.running = StdioServer(server, source, sink, on_end=self.ended.set, **options)
        self.running.__enter__()
        self.addCleanup(self.running.stop)
        return self.lines

    def enterStream(self, stream):
        self.addCleanup(stream.close)
        return stream

    def assert_soon(self, holds):
        """`holds()` comes true within the time that is given to anything."""
        until = time.monotonic() + SECONDS
        while not holds():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)

    def assert_alive(self, lines):
        """The next that comes is the answer to a request that is sent now."""
        self.assertEqual(lines.ask(message("server/discover", id="alive"))["id"], "alive")


def waiting_server():
    """A server with `wait`, which waits until it is let go or cancelled, and `echo`; `held` has what is under way."""
    server = echo_server()
    server.begun, server.gone, server.let_go = threading.Semaphore(0), threading.Semaphore(0), threading.Event()
    server.ran = []

    @server.tool
    def wait(ctx, name: str = "") -> str:
        server.ran.append(name)
        server.begun.release()
        while not server.let_go.wait(0.005):
            if ctx.cancelled:
                server.gone.release()
                ctx.check_cancelled()
        return "let go"

    return server


@not_on_wasm("there are no threads")
class Framing(StdioCase):
    @proves("STDIO-01", "C039")
    def test_only_a_line_feed_ends_a_line(self):
        text = "a\u2028b\u2029c\u0085d\x0b\x0c\x1c e\r\n"
        lines = self.serve(echo_server())
        body = json.dumps(call("echo", text=text), ensure_ascii=False).encode()
        self.assertIn("\u2028".encode(), body)
        self.assertEqual(lines.ask(body.replace(b", ", b",\r") + b"\n")["id"], 1)
        lines.send(body + b"\r\n")
        raw = lines.raw()
        self.assertEqual(json.loads(raw)["result"]["content"][0]["text"], text)
        self.assertEqual(raw.splitlines(), [raw])
        self.assertTrue(raw.isascii())

    def test_messages_in_pieces_and_several_at_once(self):
        lines = self.serve(echo_server())
        data = b"".join(line(call("echo", id=number, text="x" * number)) for number in range(30))
        for start in range(0, len(data), 97):
            lines.send(data[start:start + 97])
        self.assertEqual({lines.receive()["id"] for _ in range(30)}, set(range(30)))

    def test_blank_lines_are_passed_over(self):
        lines = self.serve(echo_server())
        lines.send(b"\n", b"\r\n", b" \t \n\n")
        self.assert_alive(lines)

    def test_the_last_line_may_lack_its_end(self):
        lines = self.serve(echo_server())
        lines.send(line(call("echo"))[:-1])
        lines.end()
        self.assertEqual(lines.receive()["id"], 1)
        self.assertTrue(self.ended.wait(SECONDS))

    @proves("C006", "C095")
    def test_a_bad_line_is_answered_and_survived(self):
        lines = self.serve(echo_server())
        number = b'{"jsonrpc":"2.0","id":1,"method":"x","n":' + b"1" * 5000 + b"}\n"
        for raw, code, id in [
            (b'{"jsonrpc":"1.0","id":1,"method":"server/discover"}\n', -32600, 1),
            (b"{}\n", -32600, None), (b"null\n", -32600, None), (b"17\n", -32600, None), (b'"x"\n', -32600, None),
            (b'{"jsonrpc":"2.0","method":1}\n', -32600, None),
            (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}\n', -32600, None),
            (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}\n', -32600, None),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}\n', -32600, None),
            (b"{not json\n", -32700, None), (b"\xff\xfe\n", -32700, None), (b"\x00\n", -32700, None),
            (b"\xef\xbb\xbf{}\n", -32700, None), (b'{"a":1,"a":2}\n', -32700, None), (b"NaN\n", -32700, None),
            (number, -32700, None), (b"[" * 100_000 + b"\n", -32700, None), (b'{"a":1e999}\n', -32700, None),
            (b'{"jsonrpc":"2.0","id":5,"method":"x","params":[]}\n', -32602, 5),
            (line(call("echo", id=10**30))[:-1] + b"}\n", -32700, None),
            (b"Content-Length: 50\r\n", -32700, None),
        ]:
            with self.subTest(raw=raw[:60]):
                answer = lines.ask(raw)
                self.assertEqual((answer["error"]["code"], answer.get("id")), (code, id))
                self.assertEqual("id" in answer, id is not None)
                self.assert_alive(lines)
        self.assertEqual(lines.ask(call("echo", id=10**30))["id"], 10**30)

    def test_an_array_is_answered_and_survived(self):
        lines = self.serve(echo_server())
        for raw in (b"[]\n", line([1]), line([call("echo")])):
            self.assertEqual(lines.ask(raw)["error"]["code"], -32600)
            self.assert_alive(lines)

    @proves("C095")
    def test_a_long_line_is_refused_while_it_arrives_and_not_kept(self):
        lines = self.serve(echo_server(), max_line=1000)
        lines.send(b"{" + b"x" * 1000)
        self.assertEqual(lines.receive(), {"jsonrpc": "2.0", "error": {
            "code": -32600, "message": "Invalid Request: a message has at most 1000 octets"}})
        for _ in range(50):
            lines.send(b"x" * 1000)
        lines.send(b"x" * 500, b"}\n")
        self.assert_alive(lines)
        self.assertLess(len(self.running._in), 3000)
        fits = line(call("echo"))
        fits = fits[:-1] + b" " * (1001 - len(fits)) + b"\n"
        self.assertEqual(lines.ask(fits)["id"], 1)
        self.assertEqual(lines.ask(b" " + fits)["error"]["code"], -32600)
        self.assert_alive(lines)
        lines.send(b"y" * 5000)
        self.assertEqual(lines.receive()["error"]["code"], -32600)
        lines.end()
        self.assertTrue(self.ended.wait(SECONDS))
        self.running.stop()

    @proves("C002")
    def test_notifications_are_not_answered(self):
        lines = self.serve(echo_server())
        for method in ("notifications/roots/list_changed", "notifications/whatever", "tools/list", "x"):
            lines.send({"jsonrpc": "2.0", "method": method})
            lines.send({"jsonrpc": "2.0", "method": method, "params": {"_meta": {}}})
        self.assert_alive(lines)

    @proves("STDIO-08")
    def test_what_a_handler_asks_is_no_request_of_the_servers(self):
        answer = self.serve(full_server()).ask(call("ask"))
        self.assertEqual(answer["result"]["resultType"], "input_required")
        self.assertNotIn("method", answer)

    @proves("C037")
    def test_a_large_answer_arrives_whole(self):
        text = "x" * 3_000_000
        self.assertEqual(self.serve(echo_server()).ask(call("echo", text=text))["result"]["content"][0]["text"], text)

    def test_what_is_sent_ahead_of_an_answer_comes_ahead_of_it(self):
        lines = self.serve(full_server())
        lines.send(asking("work", "token", "debug", 1))
        methods = [lines.receive().get("method") for _ in range(4)]
        self.assertEqual(methods, ["notifications/progress", "notifications/message", "notifications/progress", None])


@not_on_wasm("there are no threads")
class AtOnce(StdioCase):
    @proves("C046", "STDIO-11", "CANC-19")
    def test_a_fast_one_overtakes_a_slow_one_which_is_cancelled(self):
        server = waiting_server()
        lines = self.serve(server)
        self.assertEqual(lines.ask(call("wait", id=1), message("server/discover", id=2))["id"], 2)
        lines.send(cancelled(1, reason="user"))
        self.assertTrue(server.gone.acquire(timeout=SECONDS))
        self.assert_alive(lines)
        lines.send(cancelled(1))  # once more, when there is nothing left of it
        self.assert_alive(lines)
        lines.end()
        self.running.stop()

    @proves("STDIO-11")
    def test_a_cancelled_handler_that_goes_on_is_not_heard(self):
        server = Server("s", "1")
        begun, go_on, told = threading.Event(), threading.Event(), []

        @server.tool
        def stubborn(ctx) -> str:
            begun.set()
            go_on.wait(SECONDS)
            try:
                ctx.progress(1)
            except BaseException as error:
                told.append(type(error).__name__)
            return "late"

        lines = self.serve(server)
        lines.send(asking("stubborn", "token", None, 1))
        self.assertTrue(begun.wait(SECONDS))
        lines.send(cancelled(1))
        self.assert_alive(lines)
        go_on.set()
        self.assert_soon(lambda: not self.running._running)
        self.assertEqual(told, ["Cancelled"])
        self.assert_alive(lines)

    def test_an_async_handler_is_cancelled_at_its_await(self):
        server = echo_server()
        begun, told = threading.Event(), threading.Event()

        @server.tool
        async def wait() -> None:
            begun.set()
            try:
                await asyncio.sleep(SECONDS)
            except asyncio.CancelledError:
                told.set()
                raise

        lines = self.serve(server)
        lines.send(call("wait"))
        self.assertTrue(begun.wait(SECONDS))
        lines.send(cancelled(1))
        self.assertTrue(told.wait(SECONDS))
        self.assert_alive(lines)

    @proves("C097")
    def test_what_a_cancellation_does_not_name_goes_on(self):
        server = waiting_server()
        lines = self.serve(server)
        lines.send(call("wait", id=1), call("wait", id="1"))
        for _ in range(2):
            self.assertTrue(server.begun.acquire(timeout=SECONDS))
        for params in ({"requestId": True}, {"requestId": 1.0}, {"requestId": None}, {}, {"requestId": [1]},
                       {"requestId": 99}, {"requestId": {}}):
            lines.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        lines.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
        self.assertEqual(lines.ask(call("echo", id=99))["id"], 99)
        lines.send(cancelled("1"))
        self.assertTrue(server.gone.acquire(timeout=SECONDS))
        server.let_go.set()
        answer = lines.receive()
        self.assertEqual((answer["id"], type(answer["id"])), (1, int))
        self.assert_alive(lines)

    def test_an_id_under_way_cannot_be_taken_again(self):
        server = waiting_server()
        lines = self.serve(server)
        lines.send(call("wait"))
        self.assertTrue(server.begun.acquire(timeout=SECONDS))
        refused = lines.ask(call("echo"))
        self.assertEqual((refused["id"], refused["error"]["code"]), (1, -32600))
        self.assertIn("still under way", refused["error"]["message"])
        server.let_go.set()
        self.assertEqual(lines.receive()["result"]["content"][0]["text"], "let go")
        self.assertIn("result", lines.ask(call("echo")))

    def test_beyond_the_places_requests_wait_and_can_be_cancelled_meanwhile(self):
        server = waiting_server()
        with mock.patch.object(stdio, "HANDLERS", 2):
            lines = self.serve(server)
            lines.send(call("wait", id=1, name="a"), call("wait", id=2, name="b"))
            for _ in range(2):
                self.assertTrue(server.begun.acquire(timeout=SECONDS))
            lines.send(call("wait", id=3, name="c"), call("wait", id=4, name="d"), cancelled(3), cancelled(1))
            self.assertTrue(server.gone.acquire(timeout=SECONDS))
            self.assertTrue(server.begun.acquire(timeout=SECONDS))
            self.assertEqual(sorted(server.ran), ["a", "b", "d"])
            server.let_go.set()
            self.assertEqual({lines.receive()["id"] for _ in range(2)}, {2, 4})
            self.assert_alive(lines)
            self.assert_soon(lambda: not self.running._running)
            self.assertEqual((self.running._held, self.running.in_flight), (0, {}))

    def test_what_waits_is_bounded_and_read_on_later(self):
        server = waiting_server()
        for name, bound in (("WAITING", 3), ("HELD", 1000)):
            server.let_go.clear()
            with mock.patch.object(stdio, "HANDLERS", 1), mock.patch.object(stdio, name, bound):
                lines = self.serve(server)
                lines.send(*(call("wait", id=number) for number in range(20)))
                self.assert_soon(lambda: self.running.in_flight and not self.running._watched)
                self.assertLess(len(self.running.in_flight), 10)
                server.let_go.set()
                self.assertEqual({lines.receive()["id"] for _ in range(20)}, set(range(20)))
                self.assert_alive(lines)
                lines.end()
                self.assertTrue(self.ended.wait(SECONDS))

    def test_many_slow_ones_at_once(self):
        server = waiting_server()
        lines = self.serve(server)
        lines.send(*(call("wait", id=number) for number in range(64)))
        for _ in range(64):
            self.assertTrue(server.begun.acquire(timeout=SECONDS))
        server.let_go.set()
        self.assertEqual({lines.receive()["id"] for _ in range(64)}, set(range(64)))

    def test_a_handler_that_raises_leaves_its_place(self):
        server = full_server()

        @server.tool
        def leave() -> None:
            sys.exit(1)

        with mock.patch.object(stdio, "HANDLERS", 1), self.assertLogs("mcp_ref", "ERROR"):
            lines = self.serve(server)
            for _ in range(3):
                self.assertIn("result", lines.ask(call("broken")))
                lines.ask(call("leave"))
            self.assert_alive(lines)


@not_on_wasm("there are no threads")
class SlowReader(StdioCase):
    def test_a_full_pipe_holds_up_no_cancellation(self):
        server = waiting_server()

        @server.tool
        def large() -> str:
            return "x" * 300_000

        lines = self.serve(server)
        lines.send(call("wait", id=1))
        self.assertTrue(server.begun.acquire(timeout=SECONDS))
        lines.send(*(call("large", id=number) for number in (2, 3, 4)), cancelled(4), cancelled(1))
        self.assertTrue(server.gone.acquire(timeout=SECONDS))
        self.assertEqual({lines.receive()["id"] for _ in range(2)}, {2, 3})  # 4 was not begun to be written
        self.assert_alive(lines)

    def test_beyond_a_bound_nothing_is_read_until_the_reader_reads(self):
        with mock.patch.object(outbox, "MUCH", 100_000):
            lines = self.serve(echo_server())
            asked = [call("echo", id=number, text="x" * 3000) for number in range(200)]
            sending = threading.Thread(target=lines.send, args=asked)
            sending.start()
            self.assert_soon(lambda: self.running.out._unsent > 100_000 and not self.running._watched)
            self.assertLess(self.running.out._unsent, 200_000)
            self.assertEqual({lines.receive()["id"] for _ in range(200)}, set(range(200)))
            sending.join()
            self.assert_alive(lines)

    def test_it_is_read_on_when_less_is_unread(self):
        server = full_server()

        @server.tool
        def large() -> str:
            return "x" * 300_000

        with mock.patch.object(outbox, "MUCH", 700_000):
            lines = self.serve(server)
            self.running.send({"method": "x" * 300_000})  # whoever writes this has nothing else to do
            lines.wait()
            lines.send(*(call("large", id=number) for number in range(3)))
            self.assert_soon(lambda: self.running.out.full and not self.running._running)
            lines.send(call("echo", id=3))
            self.assert_soon(lambda: not self.running._watched)
            self.assertEqual({lines.receive().get("id") for _ in range(5)}, {None, 0, 1, 2, 3})

    def test_what_is_sent_beside_answers(self):
        lines = self.serve(waiting_server())
        self.running.send({"jsonrpc": "2.0", "id": 99, "result": {}})  # of no request, so that it is not sent
        lines.send(call("wait", id=1))
        self.assertTrue(self.running.mcp.begun.acquire(timeout=SECONDS))
        self.running.send({"jsonrpc": "2.0", "id": 5, "method": "ping"})
        self.running.send({"jsonrpc": "2.0", "id": 1, "result": {"early": True}})
        self.assertEqual(lines.receive()["method"], "ping")
        self.assertEqual(lines.receive()["result"], {"early": True})
        self.assertEqual(self.running.in_flight, {})
        self.running.mcp.let_go.set()

    def test_who_sends_notifications_waits_for_the_reader(self):
        server = full_server()
        sent = []

        @server.tool
        def tell(ctx) -> None:
            for number in range(10):
                ctx.log("error", "x" * 80_000)
                sent.append(number)

        def begin():
            self.assert_soon(lambda: not self.running.out.writing)
            lines.send(call("echo", id=0, text="x" * 80_000))
            self.assert_soon(lambda: self.running.out.writing)  # the thread that answers, and nobody else
            lines.send(asking("tell", "token", "error", 1))
            self.assert_soon(lambda: self.running.out._unsent > 100_000)

        with mock.patch.object(outbox, "MUCH", 200_000):
            lines = self.serve(server)
            begin()
            self.assertLess(len(sent), 5)
            got = [lines.receive() for _ in range(12)]
            self.assertEqual([each.get("id") for each in got], [0, *[None] * 10, 1])
            begin()
            lines.send(cancelled(1))  # who waits so is let go, whether or not anything is read
            self.assert_soon(lambda: self.running._running == 1)  # that of the one who writes
            self.assertLess(len(sent), 15)
            self.assertEqual(lines.receive()["id"], 0)
            self.assert_soon(lambda: not self.running.out.writing)


@not_on_wasm("there are no threads")
class Subscriptions(StdioCase):
    def listen(self, id, **asked):
        return message("subscriptions/listen", {"notifications": asked or {"toolsListChanged": True}}, id)

    def tag(self, body):
        tag = body["params"]["_meta"][SUBSCRIPTION_ID]
        return type(tag), tag

    @proves("C035")
    def test_several_share_the_channel_and_keep_their_ids(self):
        server = echo_server()
        lines = self.serve(server)
        for id in (1, "1"):
            body = lines.ask(self.listen(id))
            self.assertEqual((body["method"], self.tag(body)),
                             ("notifications/subscriptions/acknowledged", (type(id), id)))
        server.remove_tool("echo")
        got = [lines.receive() for _ in range(2)]
        self.assertEqual({each["method"] for each in got}, {"notifications/tools/list_changed"})
        self.assertEqual({self.tag(each) for each in got}, {(int, 1), (str, "1")})

    @proves("STDIO-11")
    def test_a_cancelled_one_is_not_heard_of_again(self):
        server = echo_server()
        lines = self.serve(server)
        lines.ask(self.listen(1))
        lines.ask(self.listen(2))
        lines.send(cancelled(1))
        self.assert_alive(lines)
        self.assertEqual(len(server.subscriptions), 1)
        server.notify_tools_changed()
        self.assertEqual(self.tag(lines.receive()), (int, 2))
        self.assert_alive(lines)
        self.assertEqual(lines.ask(self.listen(1))["params"]["_meta"][SUBSCRIPTION_ID], 1)

    @proves("CANC-02", "CANC-03", "CANC-14")
    def test_one_that_the_server_ends_has_its_result_and_then_the_notification(self):
        lines = self.serve(echo_server())
        lines.ask(self.listen("news"))
        self.running.stop()
        result, notification = lines.receive(), lines.receive()
        self.assertEqual((result["id"], result["result"]["resultType"]), ("news", "complete"))
        self.assertEqual(result["result"]["_meta"][SUBSCRIPTION_ID], "news")
        self.assertEqual((notification["method"], notification["params"]["requestId"]),
                         ("notifications/cancelled", "news"))

    def test_who_reads_too_slowly_is_told_that_it_ends(self):
        server = echo_server()

        @server.tool
        def large() -> str:
            return "x" * 300_000

        lines = self.serve(server)
        lines.ask(self.listen(1))
        lines.send(call("large", id=2))
        lines.wait()
        with mock.patch.object(subscriptions, "MAX_QUEUED", 2000):
            for _ in range(100):
                server.notify_tools_changed()  # never waits for the reader
        self.assertEqual(lines.receive()["id"], 2)
        error, notification = lines.receive(), lines.receive()
        self.assertEqual((error["id"], error["error"]["code"]), (1, -32603))
        self.assertEqual((notification["method"], notification["params"]["requestId"]), ("notifications/cancelled", 1))
        self.assert_alive(lines)
        self.assertEqual((len(server.subscriptions), self.running.in_flight), (0, {}))

    def test_one_that_was_cancelled_before_it_began(self):
        server = echo_server()
        self.serve(server)
        request = Request(bytes)
        request.cancelled = True
        made = server.subscriptions.open(1, {"toolsListChanged": True}, [])
        self.running.out.listen(request, made)
        self.assertEqual(len(server.subscriptions), 0)

    def test_its_handlers_places_are_not_taken(self):
        with mock.patch.object(stdio, "HANDLERS", 1):
            lines = self.serve(echo_server())
            for number in range(5):
                lines.ask(self.listen(number))
            self.assert_alive(lines)


def legacy(method, params=None, id=1):
    """A message of the eras before; a notification where the id is None."""
    made = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
    return made if id is None else {**made, "id": id}


def initialize(version="2025-11-25", id=1, **capabilities):
    return legacy("initialize", {"protocolVersion": version, "capabilities": capabilities,
                                 "clientInfo": {"name": "old", "version": "1"}}, id)


INITIALIZED = legacy("notifications/initialized", id=None)


@not_on_wasm("there are no threads")
class BothEras(StdioCase):
    def test_discover_then_initialize_then_a_call_on_one_pipe(self):
        """As clients in the field begin, whichever era they go on in."""
        lines = self.serve(echo_server())
        self.assertIn("2026-07-28", lines.ask(message("server/discover", id=0))["result"]["supportedVersions"])
        self.assertEqual(lines.ask(initialize())["result"]["protocolVersion"], "2025-11-25")
        lines.send(INITIALIZED)
        answer = lines.ask(legacy("tools/call", {"name": "echo", "arguments": {"text": "a"}}, 2))
        self.assertEqual((answer["id"], answer["result"]["content"][0]["text"]), (2, "a"))
        self.assertNotIn("resultType", answer["result"])
        answer = lines.ask(call("echo", id=3, text="b"))
        self.assertEqual((answer["id"], answer["result"]["resultType"]), (3, "complete"))
        self.assertEqual(lines.ask(legacy("ping", id=4)), {"jsonrpc": "2.0", "id": 4, "result": {}})

    def begun(self, server, version="2025-11-25", **capabilities):
        lines = self.serve(server)
        lines.ask(initialize(version, **capabilities))
        lines.send(INITIALIZED)
        return lines

    def test_what_a_handler_asks_is_a_request_of_the_servers(self):
        lines = self.begun(full_server(), elicitation={})
        for number in (2, 3):
            asked = lines.ask(legacy("tools/call", {"name": "ask", "arguments": {}}, number))
            self.assertEqual(asked["method"], "elicitation/create")
            lines.send(legacy("ping", id="p"))
            self.assertEqual(lines.receive()["id"], "p")
            lines.send({"jsonrpc": "2.0", "id": "no question", "result": {}})
            lines.send({"jsonrpc": "2.0", "id": asked["id"], "result": accept(name="Ada")})
            answer = lines.receive()
            self.assertEqual((answer["id"], answer["result"]["content"][0]["text"]), (number, "Ada"))
            lines.send({"jsonrpc": "2.0", "id": asked["id"], "result": {}})
        self.assert_alive(lines)
        self.assert_soon(lambda: not self.running._running)
        self.assertEqual(self.running.in_flight, {})

    @proves("STDIO-11")
    def test_a_request_that_waits_for_an_answer_is_cancelled(self):
        lines = self.begun(full_server(), elicitation={})
        asked = lines.ask(legacy("tools/call", {"name": "ask", "arguments": {}}, 2))
        self.assertEqual(asked["method"], "elicitation/create")
        lines.send(cancelled(2))
        withdrawn = lines.receive()
        self.assertEqual((withdrawn["method"], withdrawn["params"]["requestId"]),
                         ("notifications/cancelled", asked["id"]))
        lines.send({"jsonrpc": "2.0", "id": asked["id"], "result": accept(name="Ada")})
        self.assert_alive(lines)
        self.assertEqual(self.running.in_flight, {})

    @proves("STDIO-11")
    def test_a_request_that_is_being_handled_is_cancelled(self):
        server = waiting_server()
        lines = self.begun(server)
        lines.send(legacy("tools/call", {"name": "wait"}, 2))
        self.assertTrue(server.begun.acquire(timeout=SECONDS))
        lines.send(cancelled(2))
        self.assertTrue(server.gone.acquire(timeout=SECONDS))
        self.assert_alive(lines)

    def test_progress_comes_ahead_of_its_answer_and_changes_are_told(self):
        server = full_server()
        lines = self.begun(server)
        lines.send(legacy("tools/call", {"name": "work", "_meta": {"progressToken": 5}}, 2))
        self.assertEqual([lines.receive().get("method") for _ in range(4)],
                         ["notifications/progress", "notifications/message", "notifications/progress", None])
        server.remove_tool("work")
        self.assertEqual(lines.receive()["method"], "notifications/tools/list_changed")

    def test_a_batch(self):
        server = waiting_server()
        lines = self.begun(server, "2025-03-26")
        for _ in range(2):  # the ids are free again
            self.assertEqual([each["id"] for each in lines.ask(b" " + line([
                legacy("ping", id=2), INITIALIZED, legacy("tools/call", {"name": "echo"}, 3)]))], [2, 3])
        with mock.patch.object(stdio, "HANDLERS", 1):
            lines.send([legacy("ping", id=2), legacy("tools/call", {"name": "wait"}, 3)])
            self.assertTrue(server.begun.acquire(timeout=SECONDS))
            lines.send([legacy("ping", id=4)], cancelled(3))  # read while a batch is being handled
            self.assertTrue(server.gone.acquire(timeout=SECONDS))
            self.assertEqual([each["id"] for each in lines.receive()], [2])
            self.assertEqual([each["id"] for each in lines.receive()], [4])
        self.assert_alive(lines)
        self.assert_soon(lambda: not self.running._running)
        self.assertEqual((self.running._held, self.running.in_flight), (0, {}))

    def test_a_response_is_never_answered(self):
        for era in ("modern", "legacy", "dual"):  # an answer would have the id of another request
            lines = self.serve(echo_server(era=era))
            for body in ({"result": {}}, {"error": {"code": 1, "message": "x"}}, {"result": 1, "error": 2}):
                lines.send({"jsonrpc": "2.0", "id": 1, **body}, {"jsonrpc": "2.0", "id": None, **body}, body)
            self.assertEqual(lines.ask(message("server/discover", id="alive"))["id"], "alive", era)
        lines.ask(initialize())
        lines.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        self.assert_alive(lines)

    def test_a_server_of_one_era(self):
        server = echo_server()
        server.set_era("modern")
        self.assertEqual(self.serve(server).ask(initialize())["error"]["code"], -32602)
        server.set_era("legacy")
        lines = self.begun(server)
        self.assertEqual(lines.ask(legacy("tools/call", {"name": "echo", "arguments": {"text": "a"}}, 2))
                         ["result"]["content"][0]["text"], "a")


@not_on_wasm("there are no threads")
class TheEnd(StdioCase):
    @proves("C042")
    def test_what_is_owed_is_written_when_the_input_ends(self):
        server = waiting_server()

        @server.tool
        def slow() -> str:
            time.sleep(0.3)
            return "done"

        lines = self.serve(server)
        lines.send(call("slow", id=1), message("server/discover", id=2))
        lines.end()
        self.assertTrue(self.ended.wait(SECONDS))
        self.running.stop()
        self.assertEqual([lines.receive()["id"] for _ in range(2)], [2, 1])
        self.assertFalse(self.running.abandoned)

    @proves("C042")
    def test_what_does_not_end_is_cancelled(self):
        def attempt(pace):
            server = waiting_server()
            lines = self.serve(server)
            lines.send(call("wait"))
            self.assertTrue(server.begun.acquire(timeout=SECONDS))
            lines.end()
            self.assertTrue(self.ended.wait(SECONDS))
            before = time.monotonic()
            self.running.stop()
            self.assertLess(time.monotonic() - before, 5 * pace)
            self.assertTrue(server.gone.acquire(timeout=SECONDS))
            self.assertFalse(self.running.abandoned)

        at_some_pace(attempt)

    def test_a_reader_that_went_away_ends_it(self):
        server = waiting_server()
        lines = self.serve(server)
        lines.send(call("wait"))
        self.assertTrue(server.begun.acquire(timeout=SECONDS))
        lines.send(message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 2))
        lines.receive()
        os.close(lines._read)
        lines._read = None
        server.notify_tools_changed()
        self.assertTrue(self.ended.wait(SECONDS))
        self.assertTrue(server.gone.acquire(timeout=SECONDS))
        self.assertEqual(len(server.subscriptions), 0)


PIECES = (b"null", b"1e999", b"{", b"[[", b'"', b"\\ud800", b"\xff", b"-", b'"id":7,', b"\r")


def mutated(chance, lines):
    """One of `lines`, or something like it: octets changed, taken out, put in, or moved."""
    data = bytearray(chance.choice(lines))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            data[at:at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            del data[at:at + chance.randrange(20)]
        elif kind == 2:
            data[at:at] = chance.choice(PIECES)
        elif kind == 3:
            data[at:at] = data[chance.randrange(len(data) + 1):][:30]
        else:
            data[at:at + 3] = bytes(chance.randrange(32, 127) for _ in range(3))
    return bytes(data).replace(b"\n", b" ")


@not_on_wasm("there are no threads")
class Fuzz(StdioCase):
    COUNT = 20_000

    def lines(self, seed):
        """Lines, many of them bad; no cancellation, which could name any of them."""
        chance = random.Random(seed)
        good = [json.dumps(each).encode() for each in (
            message("server/discover"), call("echo", id="x", text="y"), call("ask"), message("tools/list"),
            message("resources/read", {"uri": "demo://one"}), message("prompts/get", {"name": "greet"}),
            message("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"},
                                            "argument": {"name": "tone", "value": "c"}}),
            initialize(), INITIALIZED, legacy("ping"), legacy("tools/list"),
            legacy("tools/call", {"name": "echo", "arguments": {"text": "a"}}),
            [legacy("ping")], {"jsonrpc": "2.0", "id": 1, "result": {}})]
        return [mutated(chance, good) for _ in range(self.COUNT)]

    def owes(self, raw):
        """Whether a line is to be answered: it is no blank, no notification and no response."""
        try:
            body = decode(raw)
        except NotJson:
            return bool(raw.strip())
        if isinstance(body, list):
            return None  # which it is depends on the session
        if not isinstance(body, dict):
            return True
        if "method" not in body and ("result" in body or "error" in body):
            return False
        well = body.get("jsonrpc") == "2.0" and isinstance(body.get("method"), str) and body["method"] != ""
        return "id" in body or not (well and isinstance(body.get("params", {}), dict))

    @proves("C095")
    def test_fuzzed_lines_are_survived_and_what_can_be_answered_is(self):
        server, sent, told = full_server(), self.lines(5), []
        server.on_trace = told.append
        lines = self.serve(server)
        least = most = got = 0
        with self.assertLogs("mcp_ref", "ERROR") as logs:
            logging.getLogger("mcp_ref").error("so that there is one")
            for number in range(0, len(sent), 50):
                some = sent[number:number + 50]
                lines.send(*(each + b"\n" for each in some), message("server/discover", id="mark"))
                owed = [self.owes(each) for each in some]
                least += owed.count(True)
                most += len(owed) - owed.count(False)
                marked = False
                while not marked or got < least:
                    answer = lines.receive()
                    if isinstance(answer, list) or "method" not in answer:
                        marked = marked or "mark" in (answer[0] if isinstance(answer, list) else answer).values()
                        got += 1
                got -= 1  # that of the mark
            self.assertLessEqual(got, most)
            self.assert_alive(lines)
        self.assertEqual(len(logs.output), 1, logs.output[:3])
        self.assertGreater(len(told), self.COUNT * 0.9)
        self.assert_soon(lambda: not self.running._running)
        self.assertEqual((self.running._held, self.running.in_flight), (0, {}))


@not_on_wasm("there are no threads")
class Streams(unittest.TestCase):
    """Other streams in place of the process's own."""

    SENT = line(call("echo", text="a")) + b"bad\n" + line(message("server/discover", id=2))

    def check(self, out):
        got = [json.loads(each) for each in out.split(b"\n")[:-1]]
        self.assertEqual([each.get("id") for each in got], [1, None, 2])

    def test_in_memory(self):
        out = io.BytesIO()
        echo_server().serve_stdio(io.BytesIO(self.SENT), out)
        self.check(out.getvalue())

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "in")
            path.write_bytes(self.SENT)
            for buffering in (0, -1):
                with open(path, "rb", buffering) as source, open(Path(folder, "out"), "wb", buffering) as sink:
                    echo_server().serve_stdio(source, sink)
                self.check(Path(folder, "out").read_bytes())

    def test_a_bound(self):
        out = io.BytesIO()
        echo_server().serve_stdio(io.BytesIO(b"x" * 100), out, max_line=99)
        self.assertIn(b"at most 99 octets", out.getvalue())

    def test_what_a_buffer_has_read_already(self):
        (source, write), (read, sink) = os.pipe(), os.pipe()
        lines = Lines(write, read)
        lines.send(self.SENT)
        with open(source, "rb") as source, open(sink, "wb") as sink:
            source.peek()
            serving = threading.Thread(target=echo_server().serve_stdio, args=(source, sink))
            serving.start()
            try:
                self.assertEqual([lines.receive().get("id") for _ in range(3)], [1, None, 2])
            finally:
                lines.end()
                serving.join(SECONDS)
                lines.close()

    def test_pipes_that_do_not_block(self):
        (source, write), (read, sink) = os.pipe(), os.pipe()
        for each in (source, sink):
            os.set_blocking(each, False)
        text = "x" * 200_000
        with open(source, "rb", buffering=0) as source, open(sink, "wb", buffering=0) as sink:
            serving = threading.Thread(target=echo_server().serve_stdio, args=(source, sink))
            serving.start()
            lines = Lines(write, read)
            lines.send(call("echo", text=text))
            self.assertEqual(lines.receive()["result"]["content"][0]["text"], text)
            lines.end()
            serving.join(SECONDS)
            self.assertFalse(serving.is_alive())
            lines.close()


LOUD = """
import os, subprocess, sys
print("while it loads", flush=True)
sys.stdout.write("while it loads, and not yet flushed")
from mcp_ref import Server
server = Server("loud", "1")

@server.tool
def shout() -> list:
    print("printed")
    sys.__stdout__.write("printed too") and sys.__stdout__.flush()
    os.write(1, b"raw\\n")
    done = subprocess.run([sys.executable, "-c", "import sys; print('child', len(sys.stdin.read()))"])
    try:
        return [done.returncode, sys.stdin.read(), os.read(0, 10).decode(), input()]
    except EOFError:
        return [done.returncode, "no input"]
"""


@not_on_wasm("there are no processes")
class Process(unittest.TestCase):
    """`serve --stdio` and `serve_stdio()` as a client starts them."""

    def start(self, *arguments, code=None, **options):
        """The process, and the client's side of its streams."""
        command = [sys.executable, *(("-c", textwrap.dedent(code)) if code else ("-m", "mcp_ref", "serve", "--stdio"))]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "", **options.pop("environment", {})}
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([*command, *arguments], env=environment, cwd=self.folder(), **options)

        def end():
            if process.poll() is None:
                process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()

        self.addCleanup(end)
        self.process = process
        return Lines(process.stdin and process.stdin.fileno(), process.stdout and process.stdout.fileno())

    def folder(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        Path(made.name, "loud.py").write_text(LOUD, encoding="utf-8")
        return made.name

    def finish(self, seconds=SECONDS):
        """Close its input; its status, and what it wrote to standard error."""
        self.process.stdin.close()
        self.assertEqual(self.process.wait(seconds), 0)
        return self.process.stderr.read().decode("utf-8")

    @proves("STDIO-03", "C044")
    def test_nothing_but_messages_on_standard_output(self):
        for how in (("loud",), None):
            lines = self.start(*(how or ()), code=None if how else LOUD.replace("print(\"while it loads\", flush=True)",
                                                                              "") + "\nserver.serve_stdio()\n")
            lines.send(call("shout"), message("server/discover", id=2))
            got = {body["id"]: body for body in (lines.receive(), lines.receive())}
            self.assertEqual(got[1]["result"]["structuredContent"]["result"]
                             if "result" in got[1]["result"].get("structuredContent", ())
                             else json.loads(got[1]["result"]["content"][0]["text"]), [0, "no input"])
            told = self.finish()
            self.assertEqual(lines.rest(), [])
            for text in ("while it loads, and not yet flushed", "printed", "printed too", "raw", "child 0"):
                self.assertIn(text, told)
            if how:
                self.assertIn("while it loads\n", told)

    @proves("C042")
    def test_it_ends_within_a_second_of_its_input(self):
        code = """
            import time
            from mcp_ref import Server
            server = Server("s", "1")
            @server.tool
            def endless(ctx) -> None:
                while True:
                    time.sleep(0.01)
            @server.tool
            def short(ctx) -> str:
                time.sleep(0.2)
                return "done"
            server.serve_stdio()
            """

        def attempt(pace):
            lines = self.start(code=code)
            lines.ask(message("server/discover", id=0))
            lines.send(call("endless", id=1), call("short", id=2))
            before = time.monotonic()
            self.finish()
            self.assertLess(time.monotonic() - before, 5 * pace)
            self.assertEqual([each["id"] for each in lines.rest()], [2])

        at_some_pace(attempt)

    @proves("C042")
    def test_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            lines = self.start("--trace")
            lines.ask(message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 1))
            lines.send(call("count", id=2, to=100, pause=1))
            self.assertEqual(lines.ask(message("server/discover", id=3))["id"], 3)
            self.process.send_signal(number)
            self.assertEqual(self.process.wait(SECONDS), 0)
            told = [each.get("method", "result") for each in lines.rest()]
            self.assertEqual(told, ["result", "notifications/cancelled"])
            self.assertNotIn(b"Traceback", self.process.stderr.read())

    @proves("C042")
    def test_a_reader_that_went_away_is_a_quiet_end(self):
        lines = self.start()
        lines.ask(message("server/discover"))
        self.process.stdout.close()
        lines.send(message("server/discover", id=2))
        self.assertEqual(self.process.wait(SECONDS), 0)
        self.assertEqual(self.process.stderr.read(), b"")

    def test_standard_streams_that_are_closed(self):
        quoted = f"exec '{sys.executable}' -m mcp_ref serve --stdio"
        body = line(message("server/discover"))
        for closed, status in (("<&-", 0), (">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0), ("</dev/null", 0)):
            done = subprocess.run(["sh", "-c", f"{quoted} {closed}"], input=body, capture_output=True, cwd=ROOT,
                                  timeout=SECONDS)
            self.assertEqual((done.returncode, done.stderr), (status, b""), closed)
            self.assertEqual(done.stdout.count(b"\n"), 1 if closed == "2>&-" else 0, closed)

    def test_the_encoding_of_the_platform_says_nothing(self):
        lines = self.start(environment={"PYTHONIOENCODING": "cp037", "LC_ALL": "C", "PYTHONUTF8": "0"})
        text = "h\u00e9\u4e16\U0001f30d"
        lines.send(json.dumps(call("echo", text=text), ensure_ascii=False).encode("utf-8") + b"\n")
        self.assertEqual(lines.receive()["result"]["content"][0]["text"], text)
        self.finish()

    def test_the_trace_and_the_log_go_to_standard_error(self):
        lines = self.start("--trace", "--log-level", "info")
        lines.ask(call("echo", text="a"))
        told = self.finish()
        self.assertRegex(told, r"tools/call id=1: framing ok era ok version ok meta ok method ok handler ok -> "
                               r"200 complete \(echo, round 1\) [\d.]+ ms")
        self.assertIn('INFO "tools/call" id=1 200', told)
        self.assertEqual(lines.rest(), [])

    def test_the_largest_message_is_an_option(self):
        lines = self.start("--max-body", "50")
        self.assertIn("at most 50 octets", lines.ask(message("server/discover"))["error"]["message"])
        self.finish()

    def test_options_that_say_nothing_and_servers_that_are_not_there(self):
        for words, told in ((["--port", "1"], "--port is of HTTP"), (["--keep-alive", "3"], "--keep-alive is of HTTP"),
                            (["--origin", "http://a"], "--origin is of HTTP"), (["nowhere.py"], "no file nowhere.py")):
            self.start(*words)
            out, err = self.process.communicate(timeout=SECONDS)
            self.assertEqual((self.process.returncode, out), (2, b""), words)
            self.assertIn(told, err.decode())


if __name__ == "__main__":
    unittest.main()
