"""What belongs to one request: progress, log messages, trace context, rate limits, cancellation in the core."""

import asyncio
import json
import threading
import unittest
from unittest import mock

from mcp_ref import Server
from mcp_ref.base.meta import LOG_LEVEL, LOG_LEVELS
from mcp_ref.base.request import Request
from mcp_ref.lib import token_bucket as allowance
from mcp_ref.lib.token_bucket import RateLimits, TokenBucket
from mcp_ref.lib.trace_context import trace_context
from mcp_ref.patterns.notifications import Cancelled, advise

from .support import asking, message, post, proves

PARENT = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"


def with_meta(method, params=None, **fields):
    body = message(method, params)
    body["params"]["_meta"].update(fields)
    return body


class Clock:
    """Stands in for time.monotonic."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@proves("C023")
class Progress(unittest.TestCase):
    def run_tool(self, function, **fields):
        server = Server("s", "1")
        server.tool(name="t")(function)
        return post(server, with_meta("tools/call", {"name": "t"}, **fields))

    @proves("PROG-03")
    def test_strictly_increasing_and_tagged(self):
        def steps(ctx):
            for value in (1, 1, 0.5, 2, float("nan"), 2.5, float("inf"), 3):
                ctx.progress(value, 3, "now")
            return ""

        reply = self.run_tool(steps, progressToken="p")
        self.assertEqual([one["params"] for one in reply.sent],
                         [{"progressToken": "p", "progress": value, "total": 3, "message": "now"}
                          for value in (1, 2, 2.5, 3)])
        self.assertEqual(self.run_tool(steps).sent, [])

    def test_what_is_no_number_is_the_authors_fault_with_or_without_a_token(self):
        server = Server("s", "1")

        @server.tool
        def t(ctx) -> None:
            ctx.progress("half")

        with self.assertLogs("mcp_ref", "ERROR") as logs:
            self.assertTrue(post(server, message("tools/call", {"name": "t"})).result["isError"])
        self.assertIn("progress and total are numbers", "".join(logs.output))

    def test_what_the_schema_does_not_have_is_the_authors_fault(self):
        for given, words in (((True,), "are numbers"), ((1, False), "are numbers"), ((1, 2, 5), "is a text, not 5"),
                             ((1, float("inf")), "total is finite"), ((1, float("nan")), "total is finite")):
            with self.subTest(given), self.assertLogs("mcp_ref", "ERROR") as logs:
                reply = self.run_tool(lambda ctx: ctx.progress(*given), progressToken="p")  # noqa: B023
            self.assertTrue(reply.result["isError"])
            self.assertIn(words, "".join(logs.output))

    @proves("PROG-06", "PROG-09")
    def test_nothing_after_the_answer(self):
        kept = []
        reply = self.run_tool(lambda ctx: kept.append(ctx) or ctx.progress(1), progressToken=7)
        kept[0].progress(2)
        kept[0].log("error", "late")
        self.assertEqual(len(reply.sent), 1)

    def test_a_flood_is_limited_and_the_last_step_is_sent(self):
        def flood(ctx):
            for step in range(10_001):
                ctx.progress(step, 10_000)

        reply = self.run_tool(flood, progressToken=7)
        self.assertLess(len(reply.sent), 200)
        self.assertEqual(reply.sent[-1]["params"]["progress"], 10_000)

    def test_from_async_handlers(self):
        async def steps(ctx) -> str:
            ctx.progress(1)
            await asyncio.sleep(0)
            ctx.progress(2)
            return "done"

        self.assertEqual(len(self.run_tool(steps, progressToken=7).sent), 2)


class Logs(unittest.TestCase):
    def logged(self, level, *calls, **options):
        server = Server("s", "1", **{"logging": True, **options})

        @server.tool
        def t(ctx) -> str:
            for call in calls:
                ctx.log(*call)
            return ""

        fields = {} if level is None else {LOG_LEVEL: level}
        return post(server, with_meta("tools/call", {"name": "t"}, **fields))

    @proves("LOG-04")
    def test_only_at_or_above_the_level_that_was_asked_for(self):
        calls = [(level, {"n": level}, "db") for level in LOG_LEVELS]
        self.assertEqual(self.logged(None, *calls).sent, [])
        for rank, level in enumerate(LOG_LEVELS):
            sent = self.logged(level, *calls).sent
            self.assertEqual([one["params"] for one in sent],
                             [{"level": name, "data": {"n": name}, "logger": "db"} for name in LOG_LEVELS[rank:]])
            self.assertEqual({one["method"] for one in sent}, {"notifications/message"})

    @proves("LOG-03")
    def test_the_capability_is_declared(self):
        for logging, capabilities, count in ((True, {"logging": {}}, 1), (False, {}, 0)):
            server = Server("s", "1", logging=logging)
            self.assertEqual(post(server, message("server/discover")).result["capabilities"], capabilities)
            server.tool(name="t")(lambda ctx: ctx.log("error", "x") or "")
            reply = post(server, with_meta("tools/call", {"name": "t"}, **{LOG_LEVEL: "debug"}))
            self.assertEqual(len(reply.sent), count)

    def test_without_the_capability_it_goes_to_the_servers_own_log_and_how_to_send_it_is_said_once(self):
        advise.cache_clear()
        calls = [(level, {"n": level}) for level in LOG_LEVELS] + [("error", "a\nb", "db"), ("info", "x" * 5000)]
        with self.assertLogs("mcp_ref", "DEBUG") as logs:
            self.assertEqual(self.logged("debug", *calls, logging=False).sent, [])
            self.logged(None, ("alert", "again"), logging=False)
        written = [(record.levelname, record.getMessage()) for record in logs.records if "trace=" not in record.msg]
        advice = [text for _, text in written if "logging=True" in text]
        self.assertEqual((len(advice), written[0][1]), (1, advice[0]))
        self.assertEqual([level for level, _ in written[1:9]], ["DEBUG", "INFO", "INFO", "WARNING", "ERROR"]
                         + ["CRITICAL"] * 3)
        self.assertEqual(written[1][1], '"tools/call": {"n": "debug"}')
        self.assertEqual(written[9], ("ERROR", "db: a\\nb"))
        self.assertLess(len(written[10][1]), 1100)
        self.assertEqual(written[11], ("CRITICAL", '"tools/call": again'))

    def test_an_unknown_level_or_logger_is_the_authors_fault(self):
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertTrue(self.logged("debug", ("loud", "x")).result["isError"])
        for logging in (True, False):
            with self.assertLogs("mcp_ref", "ERROR") as logs:
                self.assertTrue(self.logged("debug", ("info", "x", 5), logging=logging).result["isError"])
            self.assertIn("the logger is a text", "".join(logs.output))

    def test_a_flood_is_limited_but_errors_pass(self):
        sent = self.logged("debug", *([("debug", "x")] * 5000 + [("error", "y")])).sent
        self.assertLess(len(sent), 200)
        self.assertEqual(sent[-1]["params"]["level"], "error")


@proves("META-18", "META-19")
class Trace(unittest.TestCase):
    GOOD = {"traceparent": PARENT, "tracestate": "vendor=abc,t@v=x y,", "baggage": "user=al%20ice;p=1;q, k = v"}

    def test_well_formed_values_reach_the_handler_and_the_log(self):
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: json.dumps(dict(ctx.trace), sort_keys=True))
        with self.assertLogs("mcp_ref", "INFO") as logs:
            reply = post(server, with_meta("tools/call", {"name": "t"}, **self.GOOD))
        self.assertEqual(json.loads(reply.text), self.GOOD)
        self.assertIn(PARENT, logs.output[0])
        self.assertNotIn("alice", logs.output[0])

    def test_malformed_values_are_dropped_and_nothing_fails(self):
        zero = "00-" + "0" * 32 + "-00f067aa0ba902b7-01"
        for parent in (7, None, "", PARENT.upper(), PARENT + "-x", "ff" + PARENT[2:], zero, PARENT[:-1], PARENT + "\n",
                       "00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01", {"a": 1}):
            self.assertEqual(trace_context({**self.GOOD, "traceparent": parent}), {"baggage": self.GOOD["baggage"]})
        self.assertEqual(trace_context({"traceparent": "01" + PARENT[2:] + "-more"})["traceparent"][:2], "01")
        for state in (7, "", "UPPER=x", "a", "a=", "a=b=c", ",".join(["a=b"] * 33), "a=\x00", ","):
            self.assertNotIn("tracestate", trace_context({"traceparent": PARENT, "tracestate": state}), state)
        for baggage in (7, "", "a", "a b=c", "a=b c", 'a="b"', "a=é", ",".join(["a=b"] * 181), "a=" + "b" * 9000):
            self.assertEqual(trace_context({"baggage": baggage}), {}, baggage)
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: "ok")
        body = with_meta("tools/call", {"name": "t"}, traceparent=[], tracestate=1, baggage={"x": None})
        self.assertEqual(post(server, body).text, "ok")


@proves("TOOL-40", "COMP-15")
class Limits(unittest.TestCase):
    def test_a_bucket(self):
        clock = Clock()
        with mock.patch.object(allowance.time, "monotonic", clock):
            bucket = TokenBucket(2, 10)
            self.assertEqual([bucket.take() for _ in range(3)], [True, True, False])
            clock.now = 0.1
            self.assertEqual([bucket.take() for _ in range(2)], [True, False])
            clock.now = 100
            self.assertEqual([bucket.take() for _ in range(3)], [True, True, False])

    def test_each_caller_and_method_has_its_own(self):
        clock = Clock()
        with mock.patch.object(allowance.time, "monotonic", clock):
            limits = RateLimits({"tools/call": 1})
            asked = [("tools/call", "alice"), ("tools/call", "bob"), ("tools/list", "alice"), ("tools/call", "alice")]
            self.assertEqual([limits.exceeded(*each) for each in asked], [None, None, None, 1])

    def test_callers_are_forgotten(self):
        limits = RateLimits({"m": 1})
        for number in range(allowance.MAX_CALLERS + 10):
            limits.exceeded("m", str(number))
        self.assertEqual(len(limits._buckets), allowance.MAX_CALLERS)

    def test_on_the_wire(self):
        for method, params in (("tools/call", {"name": "t"}),
                               ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"},
                                                        "argument": {"name": "a", "value": ""}})):
            server = Server("s", "1", rate_limits={method: 1})
            server.tool(name="t")(lambda ctx: "")
            server.prompt(name="p")(lambda a: a)
            server.completion("p", "a")(lambda value: ["x"])
            self.assertEqual(post(server, message(method, params)).status, 200)
            reply = post(server, message(method, params))
            self.assertEqual((reply.status, reply.error["code"], reply.error["data"]), (429, 1429, {"limit": 1}))


@proves("C097")
class Cancellation(unittest.TestCase):
    def test_a_cancelled_request_is_not_answered(self):
        server = Server("s", "1")
        started = threading.Event()

        @server.tool
        def compute(ctx) -> str:
            started.set()
            while True:
                try:
                    ctx.check_cancelled()
                except Exception:
                    return "swallowed"

        request = Request(lambda: json.dumps(message("tools/call", {"name": "compute"})).encode())
        result = []

        def serve():
            try:
                result.append(server.handle(request))
            except Cancelled:
                result.append("cancelled")

        thread = threading.Thread(target=serve)
        thread.start()
        self.assertTrue(started.wait(60))
        request.cancelled = True
        thread.join(60)
        self.assertEqual(result, ["cancelled"])

    def test_an_answer_that_comes_after_the_cancellation_is_not_sent(self):
        server = Server("s", "1")
        request = Request(lambda: json.dumps(message("tools/call", {"name": "t"})).encode())

        @server.tool
        def t(ctx) -> str:
            request.cancelled = True
            return "too late"

        with self.assertRaises(Cancelled):
            server.handle(request)


class ProgressTokens(unittest.TestCase):
    def sent(self, tool, body):
        server = Server("progress", "1")
        server.add_tool(tool, name="t")
        return [one["params"] for one in post(server, body).sent]

    @proves("PROG-05")
    def test_only_the_token_of_the_request_is_used(self):
        def steps(ctx) -> str:
            ctx.progress(1)
            return ""
        for token in ("a", 0, "", 7):
            params, = self.sent(steps, asking("t", token))
            self.assertEqual((params["progressToken"], type(params["progressToken"])), (token, type(token)))
        self.assertEqual(self.sent(steps, asking("t")), [])


if __name__ == "__main__":
    unittest.main()
