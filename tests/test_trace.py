"""The trace and the log: a line for every request, which no request can forge."""

import io
import logging
import re
import unittest
from typing import List
from unittest import mock

from mcp_ref import ProtocolError, Server, ToolError, form
from mcp_ref.base.errors import (
    InvalidParams,
    refusal,
)
from mcp_ref.base.log import log
from mcp_ref.base.request import Head, Request
from mcp_ref.ladder import LADDER
from mcp_ref.patterns.notifications import Cancelled
from mcp_ref.transports.endpoint import Endpoint

from .support import call, echo_server, exchange, headers, message, post, stdio


class Lines(unittest.TestCase):
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
        self.assertTrue(self.lines[2].startswith('"tools/list id=1: door ok" id=1: octets ok door ok'), self.lines[2])

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


class Traces(unittest.TestCase):
    def test_what_the_transport_found_is_told_at_its_rung(self):
        server = echo_server()
        lines = []
        server.on_trace = lines.append
        body = message("tools/list")
        for status in (400, 408, 431, 503):
            fault = refusal(status, "why", "in words")
            request = Request(bytes, Head("", "", {}), None, Endpoint(), fault)
            self.assertEqual((server.handle(request).status, request.rung), (status, "octets"))
            self.assertRegex(lines.pop(), rf"^\? id=-: octets NO -> {status} [0-9.]+ ms$")
        for status in (400, 408, 413, 503):
            body_fault = mock.Mock(side_effect=refusal(status, "why", "in words"))
            head = Head("POST", "/mcp", headers(body, content_length="9"))
            self.assertEqual(server.handle(Request(body_fault, head, None, Endpoint())).status, status)
            self.assertRegex(lines.pop(), rf"^\? id=-: octets ok door ok accept ok framing NO -> {status} [0-9.]+ ms$")

    def test_what_climbs_nothing_has_its_line(self):
        server = echo_server()
        lines = []
        server.on_trace = lines.append
        endpoint = Endpoint(health="/live", cors=["https://app.example"])
        preflight = {"origin": "https://app.example", "access-control-request-method": "POST"}
        for method, target, fields, end in (
                ("GET", "/live", {}, "aside ok -> 200"), ("POST", "/live", {}, "aside NO -> 405"),
                ("GET", "/live", {"origin": "https://evil.example"}, "octets ok door NO -> 403"),
                ("OPTIONS", "/mcp", {"host": "localhost", **preflight}, "aside ok -> 204"),
                ("OPTIONS", "/mcp", {"host": "evil.example", **preflight}, "octets ok door NO -> 403")):
            exchange(server, b"", Head(method, target, fields), endpoint)
            self.assertRegex(lines.pop(), rf"^\? id=-: {end} [0-9.]+ ms$")

    def test_it_goes_on_past_the_ladder(self):
        server = echo_server(era="modern")
        lines = []
        server.on_trace = lines.append

        @server.tool
        def ask(ctx) -> str:
            raise ToolError(ctx.ask({"n": form("n?", {"n": {"type": "string"}})})["n"]["action"])

        first = call(server, "ask").result
        call(server, "ask", requestState=first["requestState"], inputResponses={"n": {"action": "decline"}})
        call(server, "echo", {"text": 7})
        call(server, "ask", capabilities={})
        call(server, "echo", requestState="x")
        post(server, {"jsonrpc": "2.0", "method": "notifications/x", "params": {}})
        post(server, message("server/discover"))

        @server.prompt
        def p(a: str) -> str:
            return a

        @server.completion("p", "a")
        def letters(value: str) -> List[str]:
            return [value]

        post(server, message("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"},
                                                     "argument": {"name": "a", "value": "x"}}))
        ends = [line.partition(" ok handler ")[2] or line.partition(": ")[2] for line in lines]
        self.assertEqual([re.sub(r" [0-9.]+ ms$", "", end) for end in ends], [
            "ok -> 200 input_required (ask, round 1)", "ok -> 200 complete isError (ask, round 2)",
            "ok -> 200 complete isError", mock.ANY, mock.ANY, "octets ok door ok accept ok framing ok era ok -> 202",
            "ok -> 200 complete", "ok -> 200 complete (round 1)"])
        self.assertRegex(ends[3], r"^NO -> 400 -32021 .* \(ask, round 1\) [0-9.]+ ms$")
        self.assertRegex(ends[4], r"^NO -> 400 -32602 .*requestState.* [0-9.]+ ms$")

    def test_on_stdio_it_names_the_rungs_that_are_climbed_there(self):
        server, lines = echo_server(), []
        server.on_trace = lines.append
        stdio(server, message("tools/call", {"name": "echo"}))
        passed = "framing ok era ok version ok meta ok method ok handler "
        self.assertTrue(lines[0].startswith(f"tools/call id=1: {passed}"), lines)

    def test_it_is_one_line_whatever_the_request_says(self):
        server, lines = echo_server(), []
        server.on_trace = lines.append
        for method, text in (("a b", '"a b"'), ("a\nb", '"a\\nb"'), ("x" * 100, '"' + "x" * 58 + "…"),
                             ("x" * 60, "x" * 60)):
            stdio(server, message(method))
            self.assertTrue(lines[-1].startswith(f"{text} id=1:"), lines[-1])
            self.assertIn(" method NO -> ", lines[-1])

        @server.tool
        def fails():
            raise ProtocolError(42, "one\ntwo" * 100)

        stdio(server, message("tools/call", {"name": "fails"}))
        self.assertTrue(lines[-1].isprintable(), lines[-1])
        self.assertIn('handler NO -> 200 42 "one\\ntwo', lines[-1])
        self.assertLess(len(lines[-1]), 400)


if __name__ == "__main__":
    unittest.main()
