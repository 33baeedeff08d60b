"""Attacks that once got through: each of these made a worker slow, silent, leaky, or two readers differ."""

import gc
import io
import logging
import os
import select
import socket
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from mcp_ref import Server, ToolResult
from mcp_ref.base import jsonrpc
from mcp_ref.base.errors import HTTPError, InvalidParams, ParseError, ProtocolError
from mcp_ref.base.jsonrpc import MAX_DEPTH, MAX_NUMBER, decode, encode, shown
from mcp_ref.base.log import log
from mcp_ref.base.request import Head, Request
from mcp_ref.ladder import LADDER
from mcp_ref.patterns.cancellation import Cancelled
from mcp_ref.patterns.mrtr import MAX_ANSWERS
from mcp_ref.patterns.subscriptions import MAX_ASKED, MAX_ID
from mcp_ref.server import files
from mcp_ref.transports import disconnects
from mcp_ref.transports.endpoint import Endpoint
from mcp_ref.transports.http_reader import Reader
from mcp_ref.transports.http_server import HTTPServer, Limits

from .support import RawClient, call, headers, message, post

SOON = 30.0
"""Seconds for what takes milliseconds, and took minutes."""


def held(id):
    """The requests of that id that something still refers to."""
    return [each for each in gc.get_objects() if type(each) is Request and each.id == id]


class Timed(unittest.TestCase):
    def soon(self, function, *arguments):
        before = time.monotonic()
        result = function(*arguments)
        self.assertLess(time.monotonic() - before, SOON)
        return result

    def refused(self, data):
        with self.assertRaises(ParseError) as caught:
            self.soon(decode, data)
        return str(caught.exception)


class Json(Timed):
    def test_a_repeated_name_is_found_at_once_among_many(self):
        members = b",".join(b'"%d":0' % number for number in range(199_000))
        self.assertIn('"z" is repeated', self.refused(b"{" + members + b',"z":0,"z":0}'))

    def test_a_string_without_an_end_costs_no_more_than_its_length(self):
        for text in (b'\\"' * 500_000, b'\\\\\\"' * 300_000, b'"' * 1_000_001, b"\\" * 1_000_000):
            self.refused(b"[" + b"[]," * 2 * MAX_DEPTH + b'"' + text)

    def test_brackets_in_strings_are_no_nesting_and_others_are(self):
        for text in (b"[[{", b'\\"[', b"\\\\", b'\\\\\\"[[', b'[\\\\\\\\', b"\\u005c"):
            string = b'"' + text * 50 + b'"'
            for depth, good in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
                data = (b"[" + string + b",") * (depth - 1) + b"[" + string + b"]" * depth
                if good:
                    decode(data)
                else:
                    self.assertIn("nested deeper", self.refused(data), text)

    def test_a_number_is_refused_by_its_characters_and_the_same_on_every_python(self):
        most = b"1" * MAX_NUMBER
        for good in (most, b"-" + most[1:], b"0." + most[2:], b"[%s]" % b",".join([most] * 5000), b'"%s"' % (most * 9),
                     b'{"%s": 1}' % (most * 9), b'["' + b"-" * 100_000 + b'"]', b"0." + b"0" * 600 + b"1", b"1e-99999"):
            self.soon(decode, good)
        for bad in (most + b"1", b"-" + most, b"0." + most, b"1e" + most, most + b".0", most * 6000, b"-" + most * 9,
                    b"0." + most * 6000, b"1E-" + most, b'["%s",%s]' % (b" " * 319, most + b"1")):
            for before in (b"", b" ", b"[0," * 7, b"[" + b" " * 639, b'["\\\\", '):
                self.assertIn("Parse error: a number has more than 640 characters", self.refused(before + bad))
        for huge in (b"1e309", b"-1E400", b"1e999999999", b"9" * 310 + b".5"):
            self.assertIn("out of the range of a double", self.refused(huge))
        for value in (10 ** MAX_NUMBER, [-10 ** (MAX_NUMBER - 1)], {"a": 10 ** 5000}):
            self.assertRaises(ValueError, encode, value)
        for value in (10 ** (MAX_NUMBER - 1), "1" * 5000, {"1" * 5000: [1.5, -10 ** 600]}):
            self.assertEqual(decode(encode(value)), value)

    def test_a_number_too_long_to_be_read_is_the_tools_failure(self):
        def handing(result):
            return lambda: result

        server = Server("hard", "1")
        for digits in (MAX_NUMBER + 1, 5000):
            for name, result in (("data", {"n": 10 ** digits}), ("structured", ToolResult(["x"], {"n": 10 ** digits})),
                                 ("list", [-10 ** digits])):
                server.add_tool(handing(result), name=f"{name}{digits}")
                with self.assertLogs("mcp_ref", "ERROR"):
                    reply = call(server, f"{name}{digits}")
                self.assertEqual((reply.status, reply.result["isError"]), (200, True), name)

    def test_a_value_is_shown_without_being_written_whole(self):
        for value, text in (("a" * 10**6, '"' + "a" * 58 + "…"), ("a" * 57, '"' + "a" * 57 + '"'), ("é", '"\\u00e9"'),
                            ([1] * 10**6, "[1, 1"), ({"a": [1, None]}, '{"a": [1, null]}'), ({1}, "set"),
                            (10**5000, "1" if len(shown(10**5000)) > 3 else "int"), ([{1}], "list")):
            self.assertTrue(shown(value).startswith(text), shown(value))
            self.assertLessEqual(len(shown(value)), 60)
        with mock.patch.object(jsonrpc, "_pieces", wraps=jsonrpc._pieces) as pieces:
            pieces.iterencode.side_effect = lambda value: iter(["x" * 100] + [self.fail] * 9)
            self.assertEqual(len(shown([])), 60)

    def test_what_we_send_is_what_we_read(self):
        for value in ("a\ud800", {"\udc80": 1}, ["\udc00\ud800"]):
            self.assertRaises(ValueError, encode, value)
        for value in ("\U0001f600", "\\ud800", "é"):
            self.assertEqual(decode(encode(value)), value)


class Octets:
    """A socket that gives what it was given, a piece at each receive."""

    def __init__(self, pieces):
        self._pieces = iter(pieces)

    def recv(self, *_):
        return next(self._pieces, b"")

    def setsockopt(self, *_):
        pass

    def settimeout(self, _):
        pass


class Bodies(Timed):
    def read(self, pieces, **fields):
        reader = Reader(Octets(pieces))
        reader.deadline = time.monotonic() + 60
        return self.soon(reader.body, Head("POST", "/mcp", fields), Endpoint())

    def test_single_octets_onto_a_large_body(self):
        large, drip = b"x" * 3_000_000, [b"y"] * 30_000
        body = self.read([large, *drip], **{"content-length": str(len(large) + len(drip))})
        self.assertEqual(len(body), 3_030_000)

    def test_chunks_of_one_octet(self):
        wire = b"1\r\nx\r\n" * 200_000 + b"0\r\n\r\n"
        pieces = [wire[start:start + 65536] for start in range(0, len(wire), 65536)]
        self.assertEqual(self.read(pieces, **{"transfer-encoding": "chunked"}), b"x" * 200_000)

    def test_what_another_reader_could_take_for_the_end_of_a_body(self):
        for lines in (b"0\r\nA: b\nC: d\r\n\r\n", b"0\r\n\n\r\n\r\n", b"0\r\ngarbage\r\n\r\n", b"0\r\nA: \x00\r\n\r\n",
                      b"0 \r\n\r\n", b"0;a\x01\r\n\r\n"):
            with self.assertRaises(HTTPError, msg=lines) as caught:
                self.read([lines], **{"transfer-encoding": "chunked"})
            self.assertEqual(caught.exception.status, 400)
        self.assertEqual(self.read([b"0;a=b\r\nA: b\r\n\r\n"], **{"transfer-encoding": "chunked"}), b"")


class Wire(unittest.TestCase):
    def setUp(self):
        self.mcp = Server("hard", "1")
        self.mcp.add_tool(lambda text="": text, name="echo")
        self.http = HTTPServer(self.mcp, port=0, limits=Limits(arrive=5.0, grace=1.0)).start()
        self.addCleanup(self.http.stop)
        self.client = RawClient(self.http.url)
        self.addCleanup(self.client.socket.close)
        self.octets = self.client.octets(message("server/discover"))

    def test_an_empty_line_between_requests_however_it_arrives(self):
        self.client.send(self.octets + b"\r\n" + self.octets)
        self.assertEqual([self.client.response().status for _ in range(2)], [200, 200])
        self.client.send(b"\r\n")
        self.client.send(self.octets)
        self.assertEqual(self.client.response().status, 200)

    def test_an_absolute_target_does_not_stand_in_for_the_host_header(self):
        octets = self.octets.replace(b"POST /mcp", b"POST http://localhost/mcp")
        self.client.send(b"\r\n".join(line for line in octets.split(b"\r\n") if not line.startswith(b"host:")))
        self.assertEqual(self.client.response().status, 400)

    def test_http_1_0_knows_no_100(self):
        head, _, body = self.octets.partition(b"\r\n\r\n")
        self.client.send(head.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(select.select([self.client.socket], [], [], 0.2)[0], [])
        self.client.send(body)
        self.assertEqual(self.client.response().status, 200)

    def test_an_idle_connection_holds_nothing_of_its_last_request(self):
        self.client.request(message("tools/call", {"name": "nothing", "arguments": {"a": [[]] * 1000}}, id="marked"))
        self.assertEqual(self.client.response().status, 400)
        until = time.monotonic() + 60
        while held("marked") and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(held("marked"), [])

    def test_who_connects_while_it_stops_is_refused_at_once(self):
        entered, leave = threading.Event(), threading.Event()
        self.addCleanup(leave.set)
        self.mcp.add_tool(lambda: entered.set() or leave.wait(10), name="wait")
        self.client.request(message("tools/call", {"name": "wait"}))
        self.assertTrue(entered.wait(60))
        self.http.limits.grace = 60.0
        stopping = threading.Thread(target=self.http.stop)
        stopping.start()
        self.addCleanup(stopping.join)
        address, until, refused = self.http.server_address, time.monotonic() + 30, False
        while not refused and time.monotonic() < until:
            try:
                socket.create_connection(address, 1).close()
            except OSError:
                refused = True
        self.assertTrue(refused and stopping.is_alive(), "connections are taken that nobody will answer")
        leave.set()

    def test_a_thread_that_outlives_its_handler_writes_into_no_other_answer(self):
        answered, done = threading.Event(), threading.Event()

        @self.mcp.tool
        def spawn(ctx) -> str:
            def late():
                answered.wait(5)
                ctx.progress(1)
                ctx.log("error", "late")
                done.set()
            threading.Thread(target=late, daemon=True).start()
            return "ok"
        body = message("tools/call", {"name": "spawn"})
        body["params"]["_meta"].update({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"})
        self.client.request(body)
        self.assertEqual(self.client.response().headers["content-type"], "application/json")
        answered.set()
        self.assertTrue(done.wait(60))
        self.client.send(self.octets)
        self.assertEqual(self.client.response().headers["content-type"], "application/json")

    def test_stopping_what_never_started(self):
        server = HTTPServer(self.mcp, port=0)
        thread = threading.Thread(target=server.stop, daemon=True)
        thread.start()
        thread.join(60)
        self.assertFalse(thread.is_alive(), "stop hangs")


class Subscribing(Timed):
    def setUp(self):
        self.server = Server("hard", "1")
        for number in range(4):
            self.server.add_resource_template(f"a://{{x}}/{{y}}/{number}", lambda x, y: x)

    def listen(self, uris, id=1):
        wanted = {"notifications": {"resourceSubscriptions": uris}}
        return post(self.server, message("subscriptions/listen", wanted, id))

    def test_more_than_could_be_acknowledged_is_refused_and_not_matched(self):
        for uris in (["a://x/y" + "z" * MAX_ASKED], [f"a://{number}/{'é' * 4000}/no" for number in range(150)]):
            reply = self.soon(self.listen, uris)
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602))
        self.assertEqual(self.listen(["a://x/y/0"], "i" * MAX_ID).error["code"], -32602)
        self.assertEqual(len(self.server.subscriptions), 0)

    def test_what_is_granted_at_most_is_acknowledged(self):
        wanted = {"resourceSubscriptions": ["é" * (MAX_ASKED // 6 - 2)]}
        made = self.server.subscriptions.open("i" * (MAX_ID - 2), wanted, ["resourceSubscriptions"],
                                              lambda uri: True, lambda text: None)
        self.assertFalse(made.overrun)
        self.assertEqual(len(made.take()), 1)

    def test_a_client_that_left_meanwhile_leaves_no_subscription(self):
        raw = encode(message("subscriptions/listen", {"notifications": {"resourcesListChanged": True}}))
        head = Head("POST", "/mcp", {**headers({"method": "subscriptions/listen"}), "content-length": str(len(raw))})
        request = Request(lambda: raw, head, None, Endpoint())
        opened = self.server.subscriptions.open

        def leaving(*arguments):
            request.cancelled = True
            return opened(*arguments)
        with mock.patch.object(self.server.subscriptions, "open", leaving):
            self.assertRaises(Cancelled, self.server.handle, request)
        self.assertEqual(len(self.server.subscriptions), 0)


class Handlers(unittest.TestCase):
    def setUp(self):
        self.server = Server("hard", "1")

    def test_answers_too_large_to_travel_on_are_the_clients_fault(self):
        def ask(ctx) -> str:
            for key in ("a", "b"):
                ctx.elicit("?", {"t": {"type": "string"}}, key)
            return "done"
        self.server.add_prompt(ask)
        self.server.add_tool(ask)
        for method in ("prompts/get", "tools/call"):
            state = post(self.server, message(method, {"name": "ask"})).result["requestState"]
            for size, status in ((MAX_ANSWERS - 100, 200), (MAX_ANSWERS, 400)):
                answer = {"a": {"action": "accept", "content": {"t": "x" * size}}}
                reply = post(self.server, message(method, {"name": "ask", "requestState": state,
                                                           "inputResponses": answer}))
                self.assertEqual(reply.status, status, (method, size, str(reply.body)[:200]))

    def test_content_that_no_schema_was_asked_about_does_not_reach_the_handler(self):
        @self.server.tool
        def ask(ctx) -> str:
            return repr([ctx.elicit("?", {"t": {"type": "string"}}, "form").content,
                         ctx.elicit_url("?", "https://a.example/", "url").content])
        given = {"form": {"action": "decline", "content": {"t": 1}},
                 "url": {"action": "accept", "content": {"t": "slipped in"}}}
        first = call(self.server, "ask")
        second = call(self.server, "ask", inputResponses={"form": given["form"]},
                      requestState=first.result["requestState"])
        third = call(self.server, "ask", inputResponses={"url": given["url"]},
                     requestState=second.result["requestState"])
        self.assertEqual(third.text, "[{}, {}]")

    def test_a_tool_that_is_removed_while_it_is_looked_up(self):
        class Vanishing(dict):
            def __contains__(self, key):
                return self.pop(key, None) is not None or True
        self.server.add_tool(lambda: "x", name="t")
        self.server.tools._items = Vanishing()
        self.assertRaises(InvalidParams, self.server.tools.named, "t")


class Traces(unittest.TestCase):
    def setUp(self):
        self.server = Server("hard", "1")
        self.lines = []
        self.server.on_trace = self.lines.append

    def test_a_request_is_one_short_line_that_it_cannot_forge(self):
        @self.server.tool
        def refuse(text: str) -> str:
            raise InvalidParams(text)
        call(self.server, "refuse", {"text": "no\n\x1b[2Jtools/call id=2: door ok"})
        call(self.server, "refuse", {"text": "x" * 100_000})
        for method in ("tools/list id=1: door ok", "m" * 100_000, "a\nb\x1b[0m", "a\u202eb"):
            post(self.server, message(method), mcp_method="x")
        self.assertEqual(len(self.lines), 6)
        for line in self.lines:
            self.assertTrue(line.isprintable() and len(line) < 500, line[:300])
        self.assertTrue(self.lines[2].startswith('"tools/list id=1: door ok" id=1: door ok'), self.lines[2])

    def test_no_record_of_the_log_can_be_forged(self):
        forged = "no\n2026-11-30 12:00:00 INFO forged\r\x1b[2J\u202e\x9b1m"

        @self.server.tool
        def fail() -> str:
            try:
                raise KeyError(forged)
            except KeyError as error:
                raise RuntimeError(forged) from error

        @self.server.tool
        def refuse() -> str:
            raise ProtocolError(forged, "x")
        self.server.add_prompt(fail, name="p")
        written = io.StringIO()
        handler = logging.StreamHandler(written)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        self.addCleanup(log.removeHandler, handler)
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.INFO)
        call(self.server, "fail")
        call(self.server, "refuse")
        post(self.server, message("prompts/get", {"name": "p"}))
        post(self.server, message("a" + forged), mcp_method="x")
        log.warning("%s", forged)
        lines = written.getvalue().splitlines()
        for line in lines:
            self.assertTrue(line.isprintable(), line)
            self.assertRegex(line, r"\A(  |[0-9-]{10} [0-9:,]{12} (INFO|WARNING|ERROR) )")
        self.assertEqual(len([line for line in lines if "RuntimeError: no\\n2026" in line]), 2)
        self.assertEqual(len([line for line in lines if line.startswith("2026-11-30 12:00:00 INFO")]), 0)
        self.assertTrue(any("in fail" in line for line in lines), "the traceback itself is there")

    def test_a_cancelled_request_has_its_lines(self):
        @self.server.tool
        def leave(ctx) -> str:
            ctx._request.cancelled = True
            ctx.check_cancelled()
            return "never said"

        @self.server.tool
        def ignore(ctx) -> str:
            ctx._request.cancelled = True
            return "late"
        for name in ("leave", "ignore"):
            with self.assertLogs("mcp_ref", "INFO") as logs, self.assertRaises(Cancelled):
                call(self.server, name, id=name)
            self.assertEqual(logs.output, [f'INFO:mcp_ref:"tools/call" id="{name}" cancelled trace=-'])
            passed = "".join(f"{rung.name} ok " for rung in LADDER)
            self.assertRegex(self.lines[-1], f'^tools/call id="{name}": {passed}handler -> cancelled .{name}, round 1')

    def test_a_trace_that_cannot_be_written_costs_no_answer(self):
        closed = io.StringIO()
        closed.close()
        self.server.on_trace = closed.write
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertEqual(post(self.server, message("server/discover")).status, 200)


class Disconnecting(unittest.TestCase):
    def test_octets_that_their_own_thread_read_first_are_not_waited_for(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        theirs.send(b"x")

        class Raced:
            def fileno(self):
                return ours.fileno()

            def recv(self, size, flags):
                ours.recv(1)
                ours.settimeout(None if hasattr(socket, "MSG_DONTWAIT") else 0.1)
                return ours.recv(size, flags)
        found = []
        thread = threading.Thread(target=lambda: found.append(disconnects._closed(Raced())), daemon=True)
        thread.start()
        thread.join(60)
        self.assertEqual(found, [False], "whoever looks for disconnects waits for octets")
        theirs.close()
        self.assertTrue(disconnects._closed(ours))


    def test_a_request_that_is_over_is_not_held(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        watch = disconnects.Disconnects()
        request, looked, left = Request(bytes), threading.Event(), threading.Event()
        request.id = "watched"
        with mock.patch.object(disconnects, "TICK", 0.01), mock.patch.object(
                disconnects, "_closed", lambda _: looked.set() or not left.wait(5)):
            watch.start()
            self.addCleanup(watch.stop)
            watch.enter(ours, request, lambda: None)
            self.assertTrue(looked.wait(60))
            watch.leave(request)
            del request
            left.set()
            until = time.monotonic() + 60
            while held("watched") and time.monotonic() < until:
                time.sleep(0.01)
        self.assertEqual(held("watched"), [])


class Folders(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root, self.outside = Path(place.name) / "root", Path(place.name) / "outside"
        for folder, name in ((self.root / "sub", "inside.txt"), (self.outside, "secret.txt")):
            folder.mkdir(parents=True)
            (folder / name).write_text("x", encoding="utf-8")
        self.server = Server("hard", "1")
        self.server.add_folder("file:///d/", self.root)

    def names(self):
        return [entry["name"] for entry in post(self.server, message("resources/list")).result["resources"]]

    @unittest.skipUnless(files._STEPWISE, "no descriptors of folders here")
    def test_a_folder_that_becomes_a_link_while_it_is_listed(self):
        scandir, places = os.scandir, []

        def swapping(place):
            places.append(place)
            if len(places) == 2:
                (self.root / "sub").rename(self.root / "moved")
                (self.root / "sub").symlink_to(self.outside)
            return scandir(place)
        with mock.patch("os.scandir", swapping), mock.patch("os.supports_fd", {swapping}):
            names = self.names()
        self.assertEqual((len(places), names), (2, ["inside.txt"]))

    def test_a_date_that_no_calendar_has(self):
        with mock.patch.object(files, "LAST_SECOND", 10):
            [entry] = post(self.server, message("resources/list")).result["resources"]
        self.assertEqual(entry["annotations"]["lastModified"], "1970-01-01T00:00:10Z")

    @unittest.skipUnless(os.path.isdir("/proc/self/fd"), "no /proc here")
    def test_listing_leaves_no_descriptor_open(self):
        before = len(os.listdir("/proc/self/fd"))
        self.names()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


if __name__ == "__main__":
    unittest.main()
