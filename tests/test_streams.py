"""basic/transports/streamable-http, streams: what a response stream holds, and when it ends."""

import threading
import unittest

from mcp_ref import InputRequired, ProtocolError, Server, ToolError, form
from mcp_ref.base.meta import LOG_LEVEL
from mcp_ref.patterns.notifications import Cancelled

from .support import ServerCase, asking, events, message, meta, post, proves

ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


class Streams(ServerCase):
    def setUp(self):
        self.server = Server("streams", "1", logging=True)
        self.started, self.release = threading.Event(), threading.Event()
        self.serve(self.server)
        self.addCleanup(self.release.set)

    @proves("HTTP-16", "PROG-05", "LOG-06")
    def test_a_stream_has_what_concerns_its_own_request(self):
        both = threading.Barrier(2)

        @self.server.tool
        def report(ctx, name: str) -> str:
            both.wait(10)
            ctx.log("info", name)
            ctx.progress(1, message=name)
            self.server.notify_tools_changed()
            both.wait(10)
            return name

        clients = {name: self.client() for name in ("one", "two")}
        for name, client in clients.items():
            client.request(asking("report", name, "info", id=name, name=name))
        for name, client in clients.items():
            log, progress, last = events(client.response().body)
            self.assertEqual((log["method"], log["params"]["data"]), ("notifications/message", name))
            self.assertEqual((progress["method"], progress["params"]["progressToken"], progress["params"]["message"]),
                             ("notifications/progress", name, name))
            self.assertEqual((last["id"], last["result"]["content"][0]["text"]), (name, name))

    @proves("HTTP-17", "PATT-01", "MRTR-01")
    def test_no_request_is_ever_sent(self):
        @self.server.tool
        def ask(ctx) -> str:
            ctx.progress(1)
            return ctx.elicit("Name?", {"n": {"type": "string"}}, "n")["n"]

        client = self.client()
        client.request(asking("ask", "p"))
        progress, last = events(client.response().body)
        self.assertNotIn("id", progress)
        self.assertNotIn("method", last)
        self.assertEqual(last["result"]["resultType"], "input_required")

    @proves("LOG-05")
    def test_log_messages_stay_off_subscriptions(self):
        @self.server.tool
        def report(ctx) -> str:
            ctx.log("error", "seen by the caller alone")
            self.server.notify_tools_changed()
            return ""

        listener, caller = self.client(), self.client()
        body = message("subscriptions/listen", {"notifications": ALL, "_meta": meta(**{LOG_LEVEL: "debug"})}, "s")
        listener.request(body)
        listener.head()
        self.assertIn(b"acknowledged", listener.chunk())
        caller.request(asking("report", level="debug"))
        self.assertEqual([one.get("method") for one in events(caller.response().body)], ["notifications/message", None])
        got, = events(listener.chunk())
        self.assertEqual(got["method"], "notifications/tools/list_changed")

    @proves("HTTP-22")
    def test_after_a_disconnect_nothing_more_is_sent(self):
        """The client closes its sending side only, and so can hear whether anything still comes."""
        outcomes = {"returns": lambda: "result", "fails": self.raising(ToolError("result")),
                    "refuses": self.raising(ProtocolError(7, "result")), "breaks": self.raising(KeyError("result")),
                    "asks": self.raising(InputRequired({"result": form("?", {"n": {"type": "string"}})}))}
        for name, outcome in outcomes.items():
            self.server.add_tool(self.holding(outcome), name=name)
            self.started.clear()
            client = self.client()
            client.request(asking(name))
            self.assertTrue(self.started.wait(60))
            client.socket.shutdown(1)
            self.assertTrue(client.closed(), f"{name}: {client.buffer!r}")

    def holding(self, outcome):
        def hold(ctx) -> str:
            self.started.set()
            while not ctx.cancelled and not self.release.wait(0.01):
                pass
            return outcome()
        return hold

    @staticmethod
    def raising(error):
        def fail():
            raise error
        return fail

    @proves("HTTP-22")
    def test_what_a_cancelled_handler_sends_ends_it(self):
        done = []

        @self.server.tool
        def late(ctx) -> str:
            ctx._request.cancelled = True
            for send in (lambda: ctx.progress(1), lambda: ctx.log("info", "x")):
                with self.assertRaises(Cancelled):
                    send()
            done.append(True)
            return "never sent"

        with self.assertRaises(Cancelled):
            post(self.server, asking("late", "p", "debug"))
        self.assertEqual(done, [True])

    @proves("CANC-19")
    def test_a_cancellation_that_comes_too_late_does_no_harm(self):
        self.server.tool(name="quick")(lambda ctx: "done")
        client = self.client()
        client.request(asking("quick", id=9))
        self.assertEqual(client.response().status, 200)
        for params in ({"requestId": 9}, {"requestId": "unknown", "reason": "x"}, {}, {"requestId": None}):
            client.request({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            self.assertEqual(client.response().status, 202, params)
        client.request(asking("quick", id=9))
        self.assertEqual(client.response().status, 200)


if __name__ == "__main__":
    unittest.main()
