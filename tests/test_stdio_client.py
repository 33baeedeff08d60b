"""The client against stdio servers, good ones and bad ones: small programs that answer by hand."""

import contextlib
import gc
import io
import itertools
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Iterator, List
from unittest import mock

from mcp_ref.base.errors import (
    BrokenOff,
    CallCancelled,
    MethodNotFound,
    ProtocolError,
    Timeout,
    TransportError,
    Unreachable,
)
from mcp_ref.base.log import log
from mcp_ref.client.choice import Finding
from mcp_ref.client.client import Client
from mcp_ref.transports import child, stdio_client
from mcp_ref.transports.calls import CallHandle, Deadline
from mcp_ref.transports.child import lines, named
from mcp_ref.transports.stdio_client import StdioClient

from .support import ROOT, Timed, not_on_wasm, proves, run_command, until

PREAMBLE = """
import itertools, json, os, signal, subprocess, sys, time
heard = []
def say(*messages):
    for each in messages:
        raw = each if isinstance(each, str) else json.dumps(each)
        os.write(1, (raw + "\\n").encode())
def requests():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        heard.append(message)
        if "id" in message and "method" in message:
            yield message
def reply(message, **result):
    say({"jsonrpc": "2.0", "id": message["id"], "result": result})
def note(method, **params):
    say({"jsonrpc": "2.0", "method": "notifications/" + method, "params": params})
def serve():
    for message in requests():
        if message["method"] == "heard":
            reply(message, heard=heard, pid=os.getpid())
        elif message["method"] == "subscriptions/listen":
            acknowledge(message)
        elif message["method"] == "server/discover":
            reply(message, supportedVersions=["2026-07-28"], capabilities={})
        else:
            reply(message, content=[{"type": "text", "text": message["method"]}])
def of(message, **params):
    return {"_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]}, **params}
def acknowledge(message):
    note("subscriptions/acknowledged", **of(message, notifications=message["params"]["notifications"]))
"""


def program(code: str = "serve()", *arguments: str) -> List[str]:
    """The command of a server that runs `code`."""
    return [sys.executable, "-I", "-S", "-c", PREAMBLE + code, *arguments]


def alive(pid: int) -> bool:
    """Whether there is such a process; one that has ended counts until its parent has heard of it."""
    return bool(state(pid))


def state(pid: int) -> str:
    """The state of a process as ps has it, Z where it has ended; "" where there is none."""
    return subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, encoding="utf-8").stdout.strip()


@contextlib.contextmanager
def no_logs(case: unittest.TestCase) -> Iterator[None]:
    """assertNoLogs, which came with Python 3.10."""
    with case.assertLogs("mcp_ref") as logged:
        log.warning("the only one")
        yield
    case.assertEqual(len(logged.output), 1, logged.output)


@not_on_wasm("it starts no processes")
class Case(Timed):
    def soon(self, function: Any, *arguments: Any, seconds: float = 15.0) -> Any:
        """Long before a call's own time is over."""
        return super().soon(function, *arguments, seconds=seconds)

    def client(self, code: str = "serve()", *arguments: str, **options: Any) -> Client:
        options.setdefault("stderr", io.StringIO())
        options.setdefault("timeout", 30.0)
        client = Client(program(code, *arguments), **options)
        client.choice.finding = Finding("modern", "2026-07-28")  # what it asks first is not what is tested here
        self.addCleanup(client.close)
        return client

    def heard(self, client: Client) -> List[Dict[str, Any]]:
        """What the server has read, but for the request that asks for it."""
        listed: List[Dict[str, Any]] = client.request("heard")["heard"][:-1]
        return listed

    def transport(self, client: Client) -> StdioClient:
        assert isinstance(client._transport, StdioClient)
        return client._transport


class Exchanges(Case):
    @proves("STDIO-01", "STDIO-04")
    def test_a_message_is_one_line_of_json_whatever_is_in_it(self) -> None:
        client = self.client()
        client.call_tool("a\nb\u2028c\r", {"text": "\n\x85\u2029"})
        self.assertEqual(self.heard(client)[0]["params"]["arguments"], {"text": "\n\x85\u2029"})
        with self.assertRaisesRegex(TransportError, "not sent"):
            client.request("x", {"a": float("nan")})
        self.assertEqual([each["method"] for each in self.heard(client)], ["tools/call", "heard"])

    @proves("STDIO-01", "C039")
    def test_nothing_but_a_line_feed_ends_a_line(self) -> None:
        text = '{"jsonrpc":"2.0",\\r"id":1,"result":{"content":[],"s":"\u2028\u2029\u0085"}}\\r'
        client = self.client(f"next(requests()); say('{text}'); serve()")
        self.assertEqual(client.call_tool("t")["s"], "\u2028\u2029\u0085")
        self.assertEqual(list(lines([b"a\rb", b"\xe2\x80\xa8\n\nc", b"\n", b"cut off"], 9)),
                         [b"a\rb\xe2\x80\xa8", b"", b"c"])

    @proves("BASE-03")
    def test_many_threads_and_answers_in_any_order(self) -> None:
        client = self.client("""
got = [message for message in itertools.islice(requests(), 30)]
for message in reversed(got):
    for id in (str(message["id"]), float(message["id"]), [message["id"]], message["id"] + 1000):
        say({"jsonrpc": "2.0", "id": id, "result": {"mine": "no"}})
    reply(message, mine=message["params"]["n"])
serve()""")
        with ThreadPoolExecutor(30) as pool, self.assertLogs("mcp_ref", "WARNING"):
            found = list(pool.map(lambda n: client.request("x", {"n": n})["mine"], range(30)))
        self.assertEqual(found, list(range(30)))

    def test_progress_and_log_messages_reach_their_request(self) -> None:
        client = self.client("""
first, second = itertools.islice(requests(), 2)
if first["params"]["name"] != "a":
    first, second = second, first
for message in (second, first):
    token = message["params"]["_meta"]["progressToken"]
    note("progress", progressToken=str(token), progress=7)
    note("progress", progressToken=token, progress=1, message=message["params"]["name"])
note("message", level="info", data="once")
note("other", _meta=3)
say('{"jsonrpc":"2.0","method":"notifications/none"}')
reply(first, content=[]), reply(second, content=[])""")
        told: Dict[str, Any] = {"a": [], "b": []}
        logged: List[Any] = []
        client._on_log = lambda *given: logged.append(given)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: client.call_tool(name, on_progress=lambda *it: told[name].append(it)), "ab"))
        self.assertEqual((told, logged), ({"a": [(1, None, "a")], "b": [(1, None, "b")]}, [("info", "once", None)]))

    def test_a_round_of_questions(self) -> None:
        form = {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string"}}}}}
        client = self.client(f"""
for message in requests():
    answers = message["params"].get("inputResponses")
    if answers:
        reply(message, content=[{{"type": "text", "text": json.dumps(answers)}}])
    else:
        reply(message, resultType="input_required", inputRequests={{"who": {form!r}}}, requestState="s")""",
                             on_elicit=lambda params: {"action": "accept", "content": {"name": "x"}})
        self.assertIn('"name": "x"', client.call_tool("t")["content"][0]["text"])

    @proves("STDIO-06")
    def test_a_request_of_the_server_is_not_answered(self) -> None:
        client = self.client("""
for message in requests():
    say({"jsonrpc": "2.0", "id": message["id"], "method": "roots/list"})
    reply(message, heard=heard)""")
        self.heard(client)
        self.assertEqual([each["method"] for each in self.heard(client)], ["heard"])

    def test_what_is_for_no_request_goes_to_on_message_and_notify_answers_it(self) -> None:
        client = self.client("""
say({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}, {"method": "log"})
message = next(requests())
note("progress", progressToken=1, progress=1)
say({"jsonrpc": "2.0", "id": 2, "method": "notifications/message", "params": {"level": "info", "data": 1}})
reply(message), note("tools/list_changed")
serve()""", wire=lambda *pair: wired.append(pair))
        wired: List[Any] = []
        transport, told = self.transport(client), threading.Event()
        got: List[Any] = []

        def on_message(message: Dict[str, Any]) -> None:
            got.append(message)
            if message["method"] == "notifications/tools/list_changed":
                told.set()
            else:
                transport.notify({"jsonrpc": "2.0", "id": 1, "result": {}}, {}, Deadline(5))
                raise RuntimeError("a fault of a callback, after which the reading goes on")

        transport.on_message = on_message
        with self.assertLogs("mcp_ref", "ERROR"):
            client.request("x", on_progress=lambda *_: None)
            self.assertTrue(told.wait(20))
        self.assertEqual([each["method"] for each in got], ["roots/list", "notifications/message",
                                                            "notifications/tools/list_changed"])
        self.assertIn(("", '{"jsonrpc": "2.0", "id": 1, "method": "roots/list"}'), wired)
        self.assertIn(('{"jsonrpc":"2.0","id":1,"result":{}}', ""), wired)
        self.assertIn({"jsonrpc": "2.0", "id": 1, "result": {}}, self.heard(client))

    def test_an_error_without_an_id_is_that_of_the_request_that_waits(self) -> None:
        refusal = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "what?"}}
        for more in ({}, {"id": None}):
            client = self.client(f"for message in requests(): say({ {**refusal, **more} !r})")
            self.assertRaises(MethodNotFound, self.soon, client.discover)
        client = self.client(f"""
one, two = itertools.islice(requests(), 2)
say({refusal!r}), reply(one, content=[]), reply(two, content=[])""")
        with ThreadPoolExecutor(2) as pool, self.assertLogs("mcp_ref", "WARNING"):
            self.assertEqual([each["content"] for each in pool.map(client.call_tool, "ab")], [[], []])

    def test_an_open_subscription_waits_for_neither_an_error_nor_a_log_message(self) -> None:
        logged: List[Any] = []
        client = self.client("""
for message in requests():
    if message["method"] == "subscriptions/listen":
        acknowledge(message)
    else:
        note("message", level="info", data="log")
        say('{"jsonrpc":"2.0","error":{"code":-32601,"message":"what?"}}')""", on_log=lambda *it: logged.append(it))
        with client.listen():
            self.assertRaises(MethodNotFound, self.soon, client.discover)
        self.assertEqual(logged, [("info", "log", None)])

    def test_two_requests_of_one_id(self) -> None:
        client = self.client("first = next(requests())\nfor m in requests():\n reply(first, n=1), reply(m, n=2)")
        transport, message = self.transport(client), {"jsonrpc": "2.0", "id": "a", "method": "x"}
        with transport.answer(message, {}, Deadline(20)) as (call, messages):
            self.assertEqual(dict(call.headers), {})
            with self.assertRaisesRegex(TransportError, "under way already"):
                transport.post(message, {}, Deadline(20), lambda _: None)
            self.assertEqual(client.request("y")["n"], 2)
            self.assertEqual([each["result"]["n"] for each in messages], [1])

    def test_a_wire_is_told_each_exchange(self) -> None:
        told: List[Any] = []
        client = self.client("""
for m in requests():
    note("progress", progressToken=1, progress=1)
    if m["method"] != "z": reply(m, content=[])""", wire=lambda *pair: told.append(pair))
        client.request("y", on_progress=lambda *_: None)
        self.assertEqual([each.count("\n") for pair in told for each in pair], [0, 1])
        self.assertIn('"method":"y"', told[0][0])
        with self.assertRaises(Timeout):
            client.request("z", timeout=0.2)
        self.assertIn('\n{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}', told[1][0])

    def test_a_server_that_needs_long_to_start(self) -> None:
        self.assertEqual(self.client("time.sleep(0.4); serve()").call_tool("t")["content"][0]["text"], "tools/call")


class ForeignText(Case):
    @proves("C044")
    def test_it_is_passed_over_with_one_warning(self) -> None:
        client = self.client("""
say("Starting server...", '{"level":30}', "", "[1]", '"text"', "{", '{"error":"log"}', '{"method":"GET"}', "\\0\\33[m")
sys.stdout.flush(); os.write(1, b"\\xff\\xfe\\n")
serve()""")
        with self.assertLogs("mcp_ref", "WARNING") as logged:
            for _ in range(3):
                self.assertEqual(client.call_tool("t")["content"][0]["text"], "tools/call")
        self.assertEqual(len(logged.output), 1)
        self.assertIn("Starting server", logged.output[0])

    def test_blank_lines_say_nothing(self) -> None:
        with no_logs(self):
            self.client("say('', ' ', '\\r'); serve()").call_tool("t")

    def test_a_response_that_is_no_strict_json_ends_its_request_at_once(self) -> None:
        for text in ('{"jsonrpc":"2.0","id":1,"result":{"x":NaN,"id":2}}', '{"id": 1, "error": {"code": 1, "code": 2}}',
                     '{"result":{"id":[7],"x":NaN},"jsonrpc":"2.0","id":1}', '{"result":{"x":"\\ud800"},"id":1 } '):
            client = self.client(f"next(requests()); say({text!r}); serve()")
            with self.assertRaisesRegex(TransportError, "strict JSON"):
                self.soon(client.call_tool, "t")
            client.call_tool("t")
        for text in ('{"jsonrpc":"2.0","method":"x","params":{"x":NaN,"id":1}}', '{"id":1,"method":"x","x":NaN}',
                     '{"jsonrpc":"2.0","id":"1","result":{"x":NaN}}'):
            client = self.client(f"m = next(requests()); say({text!r}); reply(m, content=[])")
            with self.assertLogs("mcp_ref", "WARNING"):
                client.call_tool("t")

    def test_a_response_whose_method_is_none_is_one(self) -> None:
        for method in ("null", "[]", "7"):
            client = self.client(f"""
say('{{"jsonrpc":"2.0","id":%d,"method":{method},"result":{{"content":[]}}}}' % next(requests())["id"])
say('{{"jsonrpc":"2.0","method":{method},"error":{{"code":-32600,"message":"no"}}}}' if next(requests()) else "")
serve()""")
            self.assertEqual(self.soon(client.call_tool, "t")["content"], [])
            with self.assertRaises(ProtocolError):
                self.soon(client.call_tool, "t")

    def test_a_response_that_is_none_is_told(self) -> None:
        for text in ('{"id":1,"result":{}}', '{"jsonrpc":"2.0","id":1,"result":[]}',
                     '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}'):
            with self.assertRaises(TransportError):
                self.soon(self.client(f"next(requests()); say({text!r}); serve()").call_tool, "t")

    def test_a_line_that_is_too_long(self) -> None:
        self.assertEqual(list(lines([b"123456789", b"0\n123\n", b"1234\n12345\n"], 4)),
                         [None, b"123", b"1234", None])
        try:
            import tracemalloc
        except ImportError:
            self.skipTest("this Python does not count memory")
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        self.assertEqual(list(lines((b"x" * 10_000 for _ in range(1000)), 10_000)), [])
        self.assertLess(tracemalloc.get_traced_memory()[1], 1_000_000)
        client = self.client("""
next(requests())
for _ in range(300): os.write(1, b"x" * 10000)
os.write(1, b"\\n")
serve()""")
        with mock.patch.multiple(child, MAX_LINE=1_000_000), mock.patch.multiple(stdio_client, MAX_LINE=1_000_000):
            with self.assertRaisesRegex(TransportError, "a line of more than 1000000 octets"):
                self.soon(client.call_tool, "t")
            self.assertEqual(client.call_tool("t")["content"][0]["text"], "tools/call")

    def test_a_flood_without_an_end(self) -> None:
        client = self.client("next(requests())\nwhile True: os.write(1, b'x' * 65536)")
        with mock.patch.multiple(child, MAX_LINE=100_000), mock.patch.multiple(stdio_client, PATIENCE=0.2):
            self.assertRaises(Timeout, client.call_tool, "t", timeout=0.5)
            self.soon(client.close)

    def test_more_than_is_read(self) -> None:
        client = self.client("""
m = next(requests())
for n in range(1, 2000): note("progress", progressToken=1, progress=n, message="x" * 100)
for each in requests(): reply(each, heard=heard)""")
        read, go_on = threading.Event(), threading.Event()

        def slow(*_: Any) -> None:
            read.set()
            go_on.wait(20)

        with mock.patch.multiple(stdio_client, MAX_UNREAD=20_000), ThreadPoolExecutor(1) as pool:
            call = pool.submit(client.call_tool, "t", on_progress=slow)
            self.assertTrue(read.wait(20))
            until(lambda: not self.transport(client)._calls)
            self.assertEqual([each["method"] for each in self.heard(client)],
                             ["tools/call", "notifications/cancelled"])
            go_on.set()
            with self.assertRaisesRegex(TransportError, "more than was read"):
                call.result(20)


    def test_what_is_read_does_not_count(self) -> None:
        client = self.client("""
message = next(requests())
for n in range(1, 300):
    note("progress", progressToken=1, progress=n, message="x" * 100)
    sys.stdin.buffer.readline()
reply(message, content=[])""")
        read = {"jsonrpc": "2.0", "method": "notifications/read"}
        with mock.patch.multiple(stdio_client, MAX_UNREAD=5_000):
            client.call_tool("t", on_progress=lambda *_: self.transport(client).notify(read, {}, Deadline(20)))


class Subscriptions(Case):
    @proves("STDIO-07", "SUBS-05")
    def test_each_gets_its_own(self) -> None:
        client = self.client("""
one, two = itertools.islice(requests(), 2)
acknowledge(two), acknowledge(one)
for message, uri in ((one, "a"), (two, "b"), (one, "c")):
    note("resources/updated", **of(message, uri=uri))
note("resources/updated", uri="of nobody")
note("resources/updated", **of({"id": "1"}, uri="of another"))
note("message", level="info", data="of no subscription")
reply(two), note("cancelled", requestId=two["id"])
note("resources/updated", **of(one, uri="d")), note("resources/updated", **of(two, uri="late"))
reply(one)
serve()""")
        with ThreadPoolExecutor(1) as pool:
            later = pool.submit(client.listen, uris=["x:1"])
            streams = [client.listen(uris=["x:2"]), later.result(20)]
        found = {stream.id: [each["params"]["uri"] for each in stream] for stream in streams}
        self.assertEqual(found, {1: ["a", "c", "d"], 2: ["b"]})
        self.assertEqual(client.call_tool("t")["content"][0]["text"], "tools/call")

    def test_a_refusal(self) -> None:
        client = self.client("for m in requests(): say({'jsonrpc': '2.0', 'id': m['id'], "
                             "'error': {'code': -32601, 'message': 'none'}})")
        self.assertRaises(MethodNotFound, client.listen)

    @proves("STDIO-09")
    def test_close_cancels_it(self) -> None:
        client = self.client()
        with client.listen(tools=True) as stream:
            reader = threading.Thread(target=lambda: list(stream))
            reader.start()
        reader.join(20)
        self.assertFalse(reader.is_alive())
        self.assertEqual(self.heard(client)[1]["params"], {"requestId": stream.id})
        self.assertEqual(list(stream), [])

    def test_torn_down_without_a_result(self) -> None:
        client = self.client("""
m = next(requests())
acknowledge(m), note("cancelled", requestId=m["id"])
serve()""")
        with client.listen() as stream, self.assertRaises(BrokenOff):
            next(stream)

    def test_a_cancellation_of_what_is_no_subscription_says_nothing(self) -> None:
        client = self.client("for m in requests(): note('cancelled', requestId=m['id']), reply(m, content=[])")
        self.assertEqual(client.call_tool("t")["content"], [])

    def test_silence(self) -> None:
        with self.client().listen(idle=0.1) as stream, self.assertRaises(Timeout):
            next(stream)


class Slow(io.StringIO):
    """A terminal that takes its time."""

    def write(self, text: str) -> int:
        time.sleep(0.1)
        return super().write(text)


class Endings(Case):
    @proves("STDIO-09", "CANC-05", "CANC-12", "CANC-13", "BASE-25")
    def test_a_timeout_cancels_and_a_late_answer_is_dropped(self) -> None:
        client = self.client("""
late = next(requests())
for message in requests():
    reply(late, content=["late"])
    reply(message, heard=heard, content=[])""")
        self.transport(client)._running()  # to start it is none of what is timed
        with self.assertRaisesRegex(Timeout, "0.3 s"):
            client.call_tool("t", timeout=0.3)
        with no_logs(self):
            self.assertEqual(client.call_tool("t")["content"], [])
        self.assertEqual([each["method"] for each in self.heard(client)],
                         ["tools/call", "notifications/cancelled", "tools/call"])
        told = self.heard(client)[1]
        self.assertEqual((told["params"], "id" in told), ({"requestId": 1}, False))

    @proves("CANC-12", "CANC-13")
    def test_what_is_no_longer_under_way_is_not_cancelled(self) -> None:
        client, handle = self.client(), CallHandle()
        client.call_tool("t", handle=handle)
        handle.cancel()
        with client.listen(tools=True) as subscription:
            pass
        subscription.close()
        told = [each for each in self.heard(client) if each["method"] == "notifications/cancelled"]
        self.assertEqual([each["params"] for each in told], [{"requestId": subscription.id}], "once, and no other")

    @proves("STDIO-09", "CANC-05", "CANC-12", "CANC-13", "CANC-19")
    def test_a_handle_cancels(self) -> None:
        client, handle = self.client("one = next(requests()); say('here'); serve()"), CallHandle()
        with ThreadPoolExecutor(1) as pool, self.assertLogs("mcp_ref"):
            call = pool.submit(client.call_tool, "t", handle=handle)
            until(lambda: self.transport(client)._warned)
            handle.cancel()
            self.assertRaises(CallCancelled, call.result, 20)
        self.assertEqual(self.heard(client)[1]["params"], {"requestId": 1})
        self.assertRaises(CallCancelled, client.call_tool, "t", handle=handle)
        self.assertEqual(len(self.heard(client)), 3, "a handle that was cancelled sends nothing")
        other = CallHandle()
        message = {"jsonrpc": "2.0", "id": "a", "method": "subscriptions/listen", "params": {"notifications": {}}}
        with self.transport(client).answer(message, {}, Deadline(20, other)) as (_, messages):
            threading.Timer(0.1, other.cancel).start()
            self.assertRaises(CallCancelled, next, itertools.islice(messages, 1, None))

    def test_initialize_is_not_cancelled(self) -> None:
        client = self.client("next(requests()); serve()")
        self.transport(client)._running()
        with self.assertRaises(Timeout):
            client.request("initialize", timeout=0.2)
        self.assertEqual([each["method"] for each in self.heard(client)], ["initialize"])

    def test_a_server_that_does_not_read(self) -> None:
        """The first fills the pipe; the others are withdrawn, and a notification does not wait for ever either."""
        ready: "queue.Queue[Dict[str, Any]]"
        client, ready = self.client("""
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
note("ready", pid=os.getpid())
signal.sigwait({signal.SIGUSR1})
serve()"""), queue.Queue()
        self.transport(client).on_message = ready.put
        self.transport(client)._running()
        pid = ready.get(timeout=20)["params"]["pid"]
        with self.assertRaises(Timeout):
            self.soon(lambda: client.call_tool("first", {"text": "x" * 1_000_000}, timeout=0.3))
        for name in ("second", "third"):
            with self.assertRaises(Timeout):
                self.soon(lambda: client.call_tool(name, {}, timeout=0.1))
        with self.assertRaises(Timeout):
            self.transport(client).notify({"jsonrpc": "2.0", "method": "notifications/x"}, {}, Deadline(0.1))
        os.kill(pid, signal.SIGUSR1)
        self.assertEqual([each["method"] for each in self.heard(client)],
                         ["tools/call", "notifications/cancelled"], "a notification whose time is over is not sent")

    @proves("C042")
    def test_death_is_told_to_all_at_once(self) -> None:
        code = """
for message in itertools.islice(requests(), 5): pass
os.write(2, b"line one\\nit is \\x1b[31mout\\xff of order\\n")
%s"""
        for end, words in (("sys.exit(3)", "ended with exit status 3"),
                           ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
                           ("os.close(1); os.close(2); time.sleep(100)", "closed its pipes")):
            client = self.client(code % end)
            with ThreadPoolExecutor(5) as pool:
                calls = [pool.submit(client.call_tool, "t") for _ in range(5)]
                errors = self.soon(lambda calls=calls: [call.exception(20) for call in calls])
            for error in errors:
                self.assertIs(type(error), BrokenOff)
                self.assertIn(words, str(error))
                self.assertIn("line one\nit is \\x1b[31mout\\xff of order", str(error))
            with self.assertRaisesRegex(Unreachable, words):
                client.call_tool("t")
            self.assertEqual(self.transport(client).starts, 1)
            with mock.patch.multiple(stdio_client, PATIENCE=0.2):
                client.close()

    def test_a_server_that_closes_its_input(self) -> None:
        client = self.client("os.close(0); note('ready'); time.sleep(100)")
        ready = threading.Event()
        self.transport(client).on_message = lambda _: ready.set()
        self.transport(client)._running()
        self.assertTrue(ready.wait(20))
        with self.assertRaisesRegex(BrokenOff, "closed its pipes"):
            self.soon(client.call_tool, "t")
        self.assertRaises(Unreachable, client.call_tool, "t")
        with mock.patch.multiple(stdio_client, PATIENCE=0.1):
            client.close()

    def test_a_notification_to_a_server_that_dies_before_it_reads(self) -> None:
        client = self.client("time.sleep(0.2); sys.exit(5)")
        message = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": "x" * 1_000_000}}
        with self.assertRaisesRegex(BrokenOff, "exit status 5"):
            self.soon(self.transport(client).notify, message, {}, Deadline(30))

    def test_a_process_without_its_threads_leaves_nothing(self) -> None:
        start, folder, kept = threading.Thread.start, "/proc/self/fd", []
        for count in range(4):
            started = itertools.count()

            def starts(thread: threading.Thread, count: int = count, started: Any = started) -> None:
                if thread.name.startswith("mcp-stdio") and next(started) == count:
                    raise RuntimeError("can't start new thread")
                start(thread)

            before, running = len(os.listdir(folder)) if os.path.isdir(folder) else 0, set(threading.enumerate())
            with mock.patch.object(threading.Thread, "start", starts):
                try:
                    self.client().call_tool("t")
                except Unreachable as error:
                    kept.append(error)
            self.assertIn("cannot start stdio:", str(kept[count]))
            self.assertEqual(set(threading.enumerate()), running)
            self.assertRaises(ChildProcessError, os.waitpid, -1, os.WNOHANG)
            if before:
                self.assertEqual(len(os.listdir(folder)), before, count)

    def test_no_time_left(self) -> None:
        client, deadline = self.client(), Deadline(0.001)
        time.sleep(0.01)
        self.assertRaises(Timeout, client.call_tool, "t", timeout=deadline)
        self.assertEqual(self.transport(client).starts, 0, "nothing was sent")

    def test_the_tail_of_standard_error_is_bounded(self) -> None:
        shown = Slow()
        client = self.client("""
os.write(2, b"x" * 100_000 + b"first ")
next(requests())
os.write(2, b"in between ")
time.sleep(0.02)
os.write(2, b"last")
sys.exit(1)""", stderr=shown)
        self.transport(client)._running()
        until(lambda: shown.getvalue().endswith("first "))
        with self.assertRaises(BrokenOff) as caught:
            client.call_tool("t")
        self.assertLess(len(str(caught.exception)), 1300)
        self.assertTrue(str(caught.exception).endswith("xfirst in between last"), "however long it takes to show it")

    def test_a_server_that_ends_while_what_it_started_holds_its_output(self) -> None:
        client = self.client("""
other = subprocess.Popen(["sleep", "100"], stdin=subprocess.DEVNULL)
os.write(2, b"%d" % other.pid)
next(requests())
sys.exit(4)""")
        with self.assertRaisesRegex(BrokenOff, "exit status 4") as caught:
            self.soon(client.call_tool, "t")
        with mock.patch.multiple(stdio_client, PATIENCE=0.2):
            client.close()
        self.assertIn(state(int(str(caught.exception).rpartition(" ")[2]))[:1], "Z", "nothing of it is left")

    @proves("STDIO-16")
    def test_restart(self) -> None:
        client = self.client("""
for message in requests():
    if message["method"] == "die": sys.exit(1)
    elif message["method"] == "subscriptions/listen": acknowledge(message)
    else: reply(message, pid=os.getpid())""", restart=True)
        pids = set()
        ended: List[Any] = []
        self.transport(client).on_ended = lambda: ended.append(0)
        for _ in range(5):
            pids.add(client.request("x")["pid"])
            with client.listen() as stream:
                self.assertRaises(BrokenOff, client.request, "die")
                self.assertRaises(BrokenOff, next, stream)
        self.assertEqual((len(pids), self.transport(client).starts, len(ended)), (5, 5, 5))
        self.assertFalse(any(map(alive, pids)))

    def test_restart_ends_what_is_left_of_the_one_before(self) -> None:
        client = self.client("""
reply(next(requests()), pid=os.getpid())
next(requests())
os.close(1); os.close(2)
for _ in requests(): pass
time.sleep(100)""", restart=True)
        pid = client.request("x")["pid"]
        self.assertRaises(BrokenOff, client.request, "x")
        with mock.patch.multiple(stdio_client, HASTE=0.1, PATIENCE=0.1):
            self.assertNotEqual(client.request("x")["pid"], pid)
            self.assertFalse(alive(pid))
            client.close()

    def test_restart_is_bounded(self) -> None:
        client = self.client("sys.exit(1)", restart=True)
        for _ in range(stdio_client.MAX_STARTS):
            self.assertRaises(BrokenOff, client.call_tool, "t")
        with self.assertRaisesRegex(Unreachable, "3 times without an answer"):
            client.call_tool("t")
        self.assertEqual(self.transport(client).starts, 3)

    def test_restart_of_a_silent_server(self) -> None:
        """As after a probe that was never answered: the old process is gone, and the new one hears what follows."""
        mark = os.path.join(self.folder(), "mark")
        client = self.client("""
if os.path.exists(sys.argv[1]): serve(), sys.exit()
open(sys.argv[1], "w").close()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True: time.sleep(100)""", mark)
        transport = self.transport(client)
        with ThreadPoolExecutor(1) as pool, mock.patch.multiple(stdio_client, HASTE=0.1):
            call = pool.submit(client.discover)
            until(lambda: os.path.exists(mark))
            assert transport._child is not None
            old = transport._child._process
            transport.restart(Deadline(20))
            self.assertRaises(BrokenOff, call.result, 20)
        self.assertEqual(old.returncode, -signal.SIGKILL)
        self.assertEqual(self.heard(client), [])
        self.assertEqual(transport.starts, 2)

    def folder(self) -> str:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return made.name


class Shutdown(Case):
    """Nothing is left: no process, no thread, no file."""

    def setUp(self) -> None:
        gc.collect()
        self.before = set(os.listdir("/dev/fd")) if os.path.isdir("/dev/fd") else set()

    def ends(self, code: str, patience: float, *statuses: int) -> None:
        client = self.client(code)
        client.request("x")
        transport = self.transport(client)
        assert transport._child is not None
        process = transport._child._process
        threads = transport._child._threads
        with mock.patch.multiple(stdio_client, PATIENCE=patience):
            self.soon(client.close)
        self.assertIn(process.returncode, statuses)
        self.assertFalse(alive(process.pid))
        self.assertFalse(any(thread.is_alive() for thread in threads))
        self.assertEqual([each for each in threading.enumerate() if "mcp-stdio" in each.name], [])
        if self.before:
            self.assertEqual(set(os.listdir("/dev/fd")), self.before)

    @proves("STDIO-12", "STDIO-13", "C042")
    def test_its_input_is_closed_first(self) -> None:
        self.ends("serve(); time.sleep(0.1); sys.exit(7)", 20, 7)

    @proves("STDIO-13", "STDIO-14")
    def test_it_is_told_to_end(self) -> None:
        self.ends("serve()\nwhile True: time.sleep(100)", 1, -signal.SIGTERM)

    @proves("STDIO-14", "C042")
    def test_it_is_made_to_end(self) -> None:
        self.ends("""
for each in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}: signal.signal(each, signal.SIG_IGN)
serve()
while True: time.sleep(100)""", 0.3, -signal.SIGKILL)

    def test_what_it_started_ends_too(self) -> None:
        self.ends("""
subprocess.Popen([sys.executable, "-c", '''
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(flush=True)
time.sleep(100)'''], stdin=subprocess.DEVNULL)
serve()""", 0.3, 0, -signal.SIGTERM)

    def test_close_ends_what_is_under_way_and_what_would_begin(self) -> None:
        client = self.client("for m in requests(): m['method'] == 'x' and reply(m)")
        client.request("x")
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(client.call_tool, "t")
            until(lambda: len(self.transport(client)._calls) == 1)
            client.close()
            self.assertRaisesRegex(BrokenOff, "was ended by its client", call.result, 20)
        self.assertRaises(TransportError, client.call_tool, "t")
        self.assertRaises(TransportError, self.transport(client).notify, {}, {}, Deadline(5))
        client.close()

    def test_a_client_that_is_forgotten(self) -> None:
        client = Client(program())
        pid = client.request("heard")["pid"]
        del client
        gc.collect()
        until(lambda: not alive(pid))

    def test_the_end_of_the_program(self) -> None:
        def run(last: str) -> None:
            code = f"""
import sys, threading
from mcp_ref import Client
from mcp_ref.transports import child
child.Child.end.__defaults__ = (0.3,)
client = Client({program(stubborn)!r})
print(client.request("heard")["pid"], flush=True)
{last}"""
            done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=60)
            self.assertFalse(alive(int(done.stdout)), last)
            self.assertNotIn(b"Fatal", done.stderr)

        stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nserve()\nwhile True: time.sleep(100)"
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, ("", "sys.exit(1)", "raise KeyError",
                                "threading.Thread(target=client.call_tool, args='t').start()")))


class Processes(Case):
    @proves("STDIO-02")
    def test_standard_error_is_passed_on_and_no_error(self) -> None:
        code = "os.write(2, b'ERROR \\x1b]0;x\\x07\\r\\nnext\\n\\xc3'); os.write(2, b'\\xa9\\n')\nserve()"
        shown = io.StringIO()
        self.assertEqual(self.client(code, stderr=shown).call_tool("t")["content"][0]["text"], "tools/call")
        until(lambda: shown.getvalue().endswith("é\n"))
        self.assertEqual(shown.getvalue(), "ERROR \\x1b]0;x\\x07\nnext\né\n")
        with mock.patch.object(sys, "stderr", io.StringIO()) as shown:
            self.client(code, stderr=None).call_tool("t")
            until(lambda: shown.getvalue().endswith("é\n"))

    def test_standard_error_that_cannot_be_shown_does_not_stall_the_server(self) -> None:
        closed = io.StringIO()
        closed.close()
        self.client("for _ in range(100): os.write(2, b'x' * 10000)\nserve()", stderr=closed).call_tool("t")

    def test_arguments_environment_and_folder(self) -> None:
        given = ["$HOME; `id` *", "--opt", "", "a'b\"c"]
        here = os.path.realpath(tempfile.gettempdir())
        client = self.client("for m in requests(): reply(m, argv=sys.argv[1:], env=dict(os.environ), cwd=os.getcwd())",
                             *given, env={"MCP_REF_TEST": "ä b"}, cwd=here)
        result = client.request("x")
        self.assertEqual((result["argv"], result["env"]["MCP_REF_TEST"], result["cwd"]), (given, "ä b", here))
        self.assertEqual(result["env"]["PATH"], os.environ["PATH"], "what is given comes beside the rest")

    def test_what_cannot_be_started(self) -> None:
        for command, options in ((["/nonexistent/program"], {}), ([str(ROOT / "README.md")], {}), (["a\0b"], {}),
                                 (program(), {"cwd": "/nonexistent"}), (program(), {"cwd": 1}),
                                 (program(), {"env": {"a=b": "c"}})):
            with Client(command, **options) as client, self.assertRaisesRegex(Unreachable, "cannot start stdio:"):
                client.call_tool("t")
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            with Client(program()) as client, self.assertRaisesRegex(Unreachable, "new thread"):
                client.call_tool("t")

    def test_what_cannot_be_used(self) -> None:
        for command in ([], [1], ["python", b"x"], ()):
            with self.assertRaisesRegex(ValueError, "a list of strings"):
                Client(command)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "names and values of env"):
            Client(["x"], env={"A": 1})  # type: ignore[dict-item]
        with self.assertRaisesRegex(ValueError, "a text stream"):
            Client(["x"], stderr=subprocess.DEVNULL)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "no headers"):
            Client(["x"], headers={"A": "b"})
        for options in ({"env": {"A": "b"}}, {"cwd": "/"}, {"restart": True}, {"stderr": sys.stderr}):
            with self.assertRaisesRegex(ValueError, "env, cwd, stderr, restart are for"):
                Client("http://127.0.0.1/mcp", **options)

    def test_no_option_of_the_command_is_shown(self) -> None:
        for command, shown in (
                (["python3", "server.py"], "python3 server.py"), (["x", "--key", "s3cret"], "x …"),
                (["npx", "-y", "@scope/server@1.2", "token=s3cret"], "npx -y @scope/server@1.2 …"),
                (["pg", "postgres://u:s3cret@host/db"], "pg …"), (["C:\\My Files\\x.exe"], "'C:\\My Files\\x.exe'"),
                (["\x1b[31m"], "'\\x1b[31m'")):
            self.assertEqual((named(command), Client(command).url), (f"stdio:{shown}",) * 2)


class CommandLine(Case):
    def run_with(self, *words: str, code: str = "serve()") -> Any:
        return run_command(*words, "--", *program(code, "--kind", "--", "-x"))

    def test_every_command_takes_one(self) -> None:
        code = """
tool = {"name": "t", "inputSchema": {"type": "object"}, "description": json.dumps(sys.argv[1:])}
results = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "prompts": {}}},
    "tools/list": {"tools": [tool]}, "prompts/list": {"prompts": [{"name": "p"}]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
    "resources/read": {"contents": [{"uri": "x:y", "text": "read"}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "said"}}]},
    "completion/complete": {"completion": {"values": ["value"]}}}
for message in requests():
    if message["method"] == "subscriptions/listen":
        acknowledge(message), note("tools/list_changed", **of(message)), reply(message)
    else:
        reply(message, **results[message["method"]])"""
        for words, expected in (
                ("discover", "versions: 2026-07-28"), ("list", 't()  ["--kind", "--", "-x"]'),
                ("list --kind tools t", "t()"), ("call t --arg note=--dry-run", "done"), ("read x:y", "read"),
                ("prompt p", "user: said"), ("complete p a", "value"), ("listen --count 1", "list_changed"),
                ("send tools/call", '"done"'), ("--no-color list", "t()")):
            status, out, err = self.run_with(*words.split(), code=code)
            self.assertEqual(status, 0, (words, err))
            self.assertIn(expected, out)

    def test_raw(self) -> None:
        status, out, _ = self.run_with("call", "t", "--raw")
        *_, sent, received = out.strip().split("\n\n")  # after what it asks first
        self.assertIn('"method":"tools/call"', sent)
        self.assertIn('"result"', received)
        status, out, _ = self.run_with("call", "t", "--pretty")
        self.assertIn('\n  "method": "tools/call"', out)
        self.assertIn('\n  "result": {', out)

    def test_what_goes_wrong(self) -> None:
        status, out, err = run_command("list", "--", "/nonexistent/program")
        self.assertEqual((status, out), (3, ""))
        self.assertIn("cannot start stdio:/nonexistent/program", err)
        status, out, err = self.run_with("list", code="sys.exit('no \\x1b database')")
        self.assertEqual((status, out), (3, ""))
        self.assertEqual(err.count("no \\x1b database"), 3, "as it came, each of two times, and as the reason")
        for words, why in ((("list", "--"), "follows --"), (("list", "--header", "A: b", "--", "x"), "no headers"),
                           (("send", "x", "--set-header", "A: b", "--", "x"), "no headers"),
                           (("list", "http://127.0.0.1/mcp", "--kind", "x", "--", "x"), "invalid choice")):
            status, out, err = run_command(*words)
            self.assertEqual((status, out), (2, ""), err)
            self.assertIn(why, err)

    def test_help_says_so_and_other_commands_keep_their_words(self) -> None:
        self.assertIn("-- COMMAND", run_command("list", "--help")[1])
        self.assertEqual(run_command("explain", "--", "accept"), run_command("explain", "accept"))

    def test_send(self) -> None:
        code = """
say("hello")
for line in sys.stdin:
    say('{"jsonrpc":"2.0","method":"notifications/x"}')
    if line[0] == "[": say('{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}')
    elif line[0] == "!": sys.exit(9)
    elif '"id"' in line: say('{"jsonrpc":"2.0","id":1,"result":{}}')"""
        for words, status, last in ((("x",), 0, '"result":{}}'), (("x", "--body", "[]"), 1, '"no"}}'),
                                    (("x", "--id", ""), 0, "notifications/x"), (("x", "--body", "!"), 3, "x")):
            done = self.run_with("send", *words, code=code)
            self.assertEqual(done[0], status, done)
            self.assertEqual(done[1].splitlines()[0], "hello")
            self.assertIn(last, done[1].splitlines()[-1])
        status, out, err = self.run_with("send", "x", "--timeout", "0.2", code="next(requests()); time.sleep(0.5)")
        self.assertEqual((status, out), (3, ""))
        self.assertIn("no answer within", err)
        status, out, err = self.run_with("send", "x", "--raw")
        self.assertEqual(len(out.strip().split("\n\n")), 2)


class Refusals(Case):
    def test_an_error_is_typed(self) -> None:
        client = self.client("""
for m in requests(): say({"jsonrpc": "2.0", "id": m["id"], "error": {"code": 7, "message": "no", "data": [1]}})""")
        with self.assertRaises(ProtocolError) as caught:
            client.call_tool("t")
        self.assertEqual((caught.exception.code, caught.exception.data), (7, [1]))


if __name__ == "__main__":
    unittest.main()
