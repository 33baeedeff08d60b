"""The load test in small, and what it found: wake-ups, ends and templates of many streams."""

import json
import socket
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from mcp_ref import Server
from mcp_ref.base.request import Request
from mcp_ref.patterns.subscriptions import Subscription
from mcp_ref.transports.http_server import HTTPServer
from mcp_ref.transports.loop import Loop

from .load.report import Check, Latency, text
from .load.run import ANNOUNCEMENTS, Plan, Run
from .load.streams import SUBSCRIPTION_ID, Stream, announced
from .support import ROOT, RawClient, message


def listen(server, notifications, id=1):
    """The subscription that the core opens."""
    body = message("subscriptions/listen", {"notifications": notifications}, id)
    return server.handle(Request(lambda: json.dumps(body).encode())).stream


class InSmall(unittest.TestCase):
    def test_thirty_streams_hear_everything_once(self):
        run = Run(Plan(streams=30, clients=2, seconds=0.6, rate=50, alone=0.1, quiet=0.3, keep_alive=0.1, saturated=0))
        run.run()
        checks = {check.what.split(",")[0]: check for check in run.checks}
        figures = ("memory", "calls beside", "from notify")  # of so short a run tell nothing
        self.assertEqual([check.line() for check in run.checks
                          if check.held is False and not check.what.startswith(figures)], [])
        delivered = checks[f"{ANNOUNCEMENTS} notifications"]
        self.assertEqual(delivered.found, f"{30 * ANNOUNCEMENTS} of {30 * ANNOUNCEMENTS} deliveries, 30 streams right")
        self.assertIn("of these, during a fan-out", run.phases)


class Wakes(unittest.TestCase):
    def test_a_wake_while_others_are_taken_is_not_lost(self):
        """Who wakes the loop while it reads earlier wakes must not leave it believing that it is awake."""
        loop = Loop(lambda: None)
        real, loop._wake_in = socket.socketpair()
        self.addCleanup(real.close)
        self.addCleanup(loop._wake_in.close)
        real.setblocking(False)
        loop._leader = -1  # another thread
        loop.call_soon(lambda: None)

        class Interrupted:
            def recv(self, size):
                loop.call_soon(lambda: None)
                return real.recv(size)

        loop._wake_out = Interrupted()
        loop._hear(0)
        loop.call_soon(lambda: None)
        self.assertEqual(real.recv(10), b"x", "the loop is not woken until its next tick")

    def serving(self):
        server = Server("s", "1")
        server.tool(name="t")(lambda: "")
        http = HTTPServer(server, port=0, keep_alive=60).start()
        self.addCleanup(http.stop)
        client = RawClient(http.url)
        self.addCleanup(client.socket.close)
        return server, http, client

    def whole(self, client):
        while client.more():
            pass
        self.assertIn(b'"resultType":"complete"', client.buffer)
        self.assertTrue(client.buffer.endswith(b"0\r\n\r\n"), client.buffer)

    def test_a_stream_that_comes_while_all_are_ended_ends_too(self):
        server, http, client = self.serving()
        handle, stopping = server.handle, threading.Thread(target=http.stop)
        self.addCleanup(stopping.join)

        def stopped_meanwhile(request):
            answer = handle(request)
            stopping.start()
            while http.socket.fileno() >= 0:  # all streams that there are have been ended
                time.sleep(0.001)
            return answer

        with mock.patch.object(server, "handle", stopped_meanwhile):
            client.request(message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
            self.whole(client)

    def test_a_result_queued_while_the_loop_looks_is_sent(self):
        """The subscription ends between the look at its queue and the look at whether it has ended."""
        take, ending = Subscription.take, []

        def interrupted(subscription):
            messages = take(subscription)
            if not ending:
                ending.append(subscription)
                subscription.end()
            return messages

        _, _, client = self.serving()
        with mock.patch.object(Subscription, "take", interrupted):
            client.request(message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
            self.whole(client)

    def test_streams_that_share_a_template_ask_it_once(self):
        server = Server("s", "1")
        server.resource("demo://item/{n}", name="item")(lambda n: n)
        template = server.resource_templates["demo://item/{n}"]
        with mock.patch.object(type(template), "match", autospec=True, side_effect=type(template).match) as match:
            streams = [listen(server, {"resourceSubscriptions": ["demo://item/{n}"]}, id) for id in range(20)]
            match.reset_mock()
            server.notify_resource_updated("demo://item/7")
        self.assertEqual(match.call_count, 1)
        for id, stream in enumerate(streams):
            params = json.loads(stream.take()[-1])["params"]
            self.assertEqual(params, {"_meta": {SUBSCRIPTION_ID: id}, "uri": "demo://item/7"})


class OpenFiles(unittest.TestCase):
    def test_serve_raises_the_soft_limit(self):
        try:
            import resource
        except ImportError:
            self.skipTest("this system has no such limit")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        program = ("import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (64, r.getrlimit(r.RLIMIT_NOFILE)[1]));"
                   "from mcp_ref.cli import serve; serve._allow_open_files(); print(r.getrlimit(r.RLIMIT_NOFILE)[0])")
        done = subprocess.run([sys.executable, "-c", program], cwd=str(ROOT), capture_output=True, text=True,
                              timeout=60)
        self.assertIn(done.stdout.strip(), {str(hard), "10240"}, done.stderr)


class Judging(unittest.TestCase):
    """The load test's own eyes: what is wrong on a stream is seen."""

    ACK = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
        "_meta": {SUBSCRIPTION_ID: 1}, "notifications": {"toolsListChanged": True,
                                                         "resourceSubscriptions": ["load://news/{number}"]}}}

    def feed(self, *messages, head=b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", step=7):
        octets = head
        for each in messages:
            event = each if isinstance(each, bytes) else b"event: message\ndata: %s\n\n" % json.dumps(each).encode()
            octets += b"%x\r\n%s\r\n" % (len(event), event)
        stream = Stream(None, 1)
        for start in range(0, len(octets), step):
            stream.feed(octets[start:start + step])
        return stream

    def changed(self, tag):
        return {"jsonrpc": "2.0", "method": announced(2), "params": {"_meta": {SUBSCRIPTION_ID: tag}}}

    def test_a_good_stream(self):
        result = {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "_meta": {SUBSCRIPTION_ID: 1}}}
        stream = self.feed(self.ACK, b": keep-alive\n\n", self.changed(1), result, b"")
        self.assertEqual((stream.fault, stream.comments, stream.heard, stream.whole), ("", 1, [announced(2)], True))

    def test_faults(self):
        other = {"id": 2, "result": {"resultType": "complete", "_meta": {SUBSCRIPTION_ID: 1}}}
        for messages, told in (([self.changed(1)], "acknowledgment"), ([self.ACK, self.changed("1")], "tagged '1'"),
                               ([self.ACK, other], "not the result"), ([self.ACK, {"method": "x"}], "KeyError")):
            self.assertIn(told, self.feed(*messages).fault)
        self.assertIn("refused", self.feed(head=b"HTTP/1.1 503 Busy\r\n\r\n").fault)

    def test_the_report(self):
        calls = Latency(json.dumps([[0.0, 0.001]] * 98 + [[1.0, 0.005], [2.0, 0.1]]))
        self.assertEqual([calls.ms(share) for share in (0.5, 0.99, 1.0)], [1.0, 5.0, 100.0])
        self.assertEqual(len(calls.during([(0.9, 1.001), (2.05, 2.06)]).timings), 2)
        for output in ("", "[]", '{"fault": "HTTP 500"}'):
            with self.assertRaisesRegex(ValueError, "the calls failed"):
                Latency(output)
        shown = text({"a": calls}, {}, [Check("x", True, "1"), Check("y", False, "2"), Check("z", None, "3")])
        self.assertTrue(shown.endswith("ok x: 1\nFAILED y: 2\nnot measured z: 3\n1 passed, 1 failed"), shown)


if __name__ == "__main__":
    unittest.main()
