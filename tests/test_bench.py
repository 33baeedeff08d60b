"""The bench's own arithmetic: reading wrk, judging an answer, medians, ratios and targets. Needs no wrk."""

from __future__ import annotations

import json
import sys
import unittest
from types import FrameType
from unittest import mock

from mcp_ref import serve
from mcp_ref.base.request import Request
from mcp_ref.lib.http1 import parse_head
from mcp_ref.transports.endpoint import Endpoint

from . import record
from .bench import report, wrk
from .bench.report import Figures
from .bench.request import BODY, TEXT, fault, wire
from .bench.server import server

CALLS = 55

PRINTED = """Running 5s test @ http://127.0.0.1:40000/mcp
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.50ms    1.50ms  32.44ms   98.90%
    Req/Sec     2.50k   145.58     2.74k    99.00%
  Latency Distribution
     50%  406.00us
     75%    6.63ms
     90%    6.83ms
     99%    1.05s
  9938 requests in 4.00s, 3.13MB read
Requests/sec:   2483.84
Transfer/sec:    800.46KB
"""


class WrkOutput(unittest.TestCase):
    def test_reads_rate_and_percentiles_in_milliseconds(self) -> None:
        load = wrk.parse(PRINTED)
        self.assertEqual(load.per_second, 2483.84)
        self.assertAlmostEqual(load.p50_ms, 0.406)
        self.assertAlmostEqual(load.p99_ms, 1050.0)

    def test_refuses_a_run_with_errors(self) -> None:
        for line in ("  Non-2xx or 3xx responses: 3", "  Socket errors: connect 0, read 1, write 0, timeout 0"):
            with self.subTest(line), self.assertRaisesRegex(wrk.BenchError, line.strip()):
                wrk.parse(PRINTED.replace("Requests/sec", line + "\nRequests/sec"))

    def test_refuses_output_without_figures(self) -> None:
        idle = PRINTED.replace("2483.84", "0.00")
        for output in ("", "unable to connect", idle, PRINTED.replace("99%    1", "98% 1")):
            with self.subTest(output[-40:]), self.assertRaises(wrk.BenchError):
                wrk.parse(output)

    def test_script_carries_the_whole_request(self) -> None:
        script = wrk.script()
        self.assertIn('wrk.headers["Mcp-Method"] = "tools/call"\n', script)
        self.assertIn("wrk.body = " + json.dumps(BODY), script)


class Answer(unittest.TestCase):
    def test_right_answer(self) -> None:
        result = {"content": [{"type": "text", "text": TEXT}], "resultType": "complete"}
        self.assertEqual(fault(200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()), "")

    def test_wrong_answers_are_told(self) -> None:
        text = [{"type": "text", "text": TEXT}]
        wrong = [
            {"id": 1, "error": {"code": -32603, "message": "no"}},
            {"id": 2, "result": {"content": text}},
            {"id": 1, "result": {"content": text, "isError": True}},
            {"id": 1, "result": {"content": [{"type": "text", "text": "other"}]}},
            [],
        ]
        for message in wrong:
            with self.subTest(message):
                self.assertIn("not the expected answer", fault(200, json.dumps(message).encode()))
        self.assertIn("HTTP 406", fault(406, b"{}"))
        self.assertIn("not the expected answer", fault(200, b"\xff"))

    def test_the_raw_request_counts_its_body(self) -> None:
        head, body = wire(1).split(b"\r\n\r\n")
        self.assertIn(b"Content-Length: %d\r\n" % len(body), head + b"\r\n")


def figures(rates: list[float], first: float = 0.1, resident: int = 20_000_000) -> Figures:
    loads = {1: [wrk.Load(rate, 0.1, 0.2) for rate in rates]}
    return Figures(loads, [first], resident)


class Report(unittest.TestCase):
    def test_targets_compare_medians(self) -> None:
        results = {"mcp_ref": figures([2000, 1200, 10], 0.12), "bare": figures([1000, 1000, 5000])}
        lines = [target.line() for target in report.targets(results)]
        self.assertEqual(lines[0], "reached       mcp_ref, requests/s of bare, 1 connection >= 1.2 times: 1.20 times")
        self.assertEqual(lines[1], "not measured  mcp_ref, requests/s of python_sdk, 1 connection >= 6 times")
        self.assertEqual(
            lines[-2:],
            [
                "reached       first answer, seconds of bare <= 1.6 times: 1.20 times",
                "reached       memory under load <= 30 MB: 20.0 MB",
            ],
        )

    def test_missed_targets_are_marked(self) -> None:
        results = {"mcp_ref": figures([600], 0.2, 31_000_000), "bare": figures([1000])}
        found = {target.what: target.reached for target in report.targets(results) if target.found}
        self.assertEqual(
            found,
            {
                "mcp_ref, requests/s of bare, 1 connection": False,
                "first answer, seconds of bare": False,
                "memory under load": False,
            },
        )

    def test_a_failed_server_gives_its_reason_and_no_row(self) -> None:
        failed = figures([1000])
        failed.reason = "HTTP 500"
        shown = report.text({"mcp_ref": figures([600]), "bare": failed})
        self.assertIn("bare: not measured: HTTP 500", shown)
        self.assertIn("not measured  mcp_ref, requests/s of bare", shown)
        self.assertEqual(sum(line.startswith("bare ") for line in shown.splitlines()), 0)

    def test_rounds_far_apart_are_told(self) -> None:
        told = "bare, 1 connection: the rounds differ by 40%, so no ratio to it is firm"
        self.assertIn(told, report.text({"bare": figures([800, 1000, 1200])}))
        self.assertNotIn("no ratio to it is firm", report.text({"bare": figures([900, 1000, 1100])}))

    def test_table_is_aligned(self) -> None:
        lines = report.table({"mcp_ref": figures([600]), "bare": figures([12345])}).splitlines()
        self.assertEqual(len({len(line) for line in lines}), 1, lines)


class Work(unittest.TestCase):
    def test_the_calls_of_one_call(self) -> None:
        """How many functions of Python one tools/call of a text tool takes, from its head and body to its answer.

        What is added on the way of every request is felt here, on any machine. Lower the number when it falls.
        """
        head, _, body = wire(8000).partition(b"\r\n\r\n")
        request = Request(lambda: body, parse_head(head), None, Endpoint())
        server.handle(Request(lambda: body, request.head, None, request.endpoint))
        called: list[str] = []

        def count(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and "mcp_ref" in frame.f_code.co_filename:  # what is the library's is Python in PyPy
                called.append(frame.f_code.co_name)

        with mock.patch.object(serve, "_tell", record.TELL):  # the record of the run is not counted
            sys.setprofile(count)
            try:
                answer = server.handle(request)
            finally:
                sys.setprofile(None)
        self.assertEqual(fault(answer.status, answer.body), "")
        self.assertLessEqual(len(called), CALLS, called)


if __name__ == "__main__":
    unittest.main()
