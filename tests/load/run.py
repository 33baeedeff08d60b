"""One run: calls alone, streams opened, a quiet time, calls beside them, a reader that does not read, the end.

All times follow from a Plan, so that a test runs in a second what `make load` runs in a minute. Nothing waits without
a bound.
"""

from __future__ import annotations

import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ..support import RawClient, message
from .process import Calls, Process
from .report import MEMORY_TARGET, P99_TARGET_MS, Check, Latency
from .streams import SlowReader, Stream, Streams, announced

ANNOUNCEMENTS = 10
FLOODS, AT_ONCE = 1000, 8  # notifications of 8 kB: more than the two ends of a connection hold, but never too many
#                            at once for a reader that does read
FANOUT_TARGET_MS = 500.0
PATIENCE = 20.0  # seconds that anything may take


class Plan(NamedTuple):
    """streams, clients: how many. seconds: that the streams are held beside calls. rate: calls a second and client.
    alone: seconds of calls without streams. quiet: seconds without anything. keep_alive: seconds between comments.
    saturated: seconds of calls one after the other, without streams and with them; 0 for none.
    """

    streams: int
    clients: int
    seconds: float
    rate: float
    alone: float
    quiet: float
    keep_alive: float
    saturated: float


class Run:
    """What one run found: `phases` of calls, `facts` for the table, `checks`, and `figures` for a file."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.phases: Dict[str, Latency] = {}
        self.facts: Dict[str, str] = {}
        self.checks: List[Check] = []
        self.figures: Dict[str, Any] = {}
        self._fanouts: List[Tuple[float, float]] = []
        self._resident: List[Optional[int]] = []

    def run(self) -> None:
        """Run it. Raises OSError or ValueError when it cannot go on."""
        self._server = Process(self.plan.keep_alive)
        self._streams = Streams(self._server.url)
        self._announcer = RawClient(self._server.url, PATIENCE)
        self._announcer.request(message("server/discover"))  # a connection that never asked anything is soon closed
        self._announcer.response()
        try:
            self._alone()
            self._open()
            self._quiet()
            self._beside()
            self._slow_reader()
            self._end()
        finally:
            self._announcer.socket.close()
            self._streams.close()
            self._server.kill()

    def _check(self, what: str, held: Optional[bool], found: str) -> None:
        self.checks.append(Check(what, held, found))

    def _calls(self, name: str, seconds: float, rate: float) -> None:
        calls = Calls(self._server.url, self.plan.clients, seconds, rate)
        try:
            self._streams.pump(time.monotonic() + seconds + PATIENCE, calls.ended)
        finally:
            printed = calls.output()
        self.phases[name] = Latency(printed)

    def _alone(self) -> None:
        self._calls("warm-up", min(1.0, self.plan.alone), self.plan.rate)
        del self.phases["warm-up"]
        if self.plan.saturated:
            self._calls("saturated, without streams", self.plan.saturated, 0)
        self._calls("without streams", self.plan.alone, self.plan.rate)

    def _open(self) -> None:
        count = self.plan.streams
        self._resident.append(self._server.resident())
        begun = time.monotonic()
        self._streams.open(count, begun + PATIENCE + count / 50)
        took = time.monotonic() - begun
        self._resident.append(self._server.resident())
        good = sum(stream.acknowledged and not stream.fault for stream in self._streams.all)
        self._check(f"{count} streams open on one process", good == count, f"{good} acknowledged in {took:.2f} s")
        self.figures["open_seconds"] = round(took, 3)

    def _quiet(self) -> None:
        before = self._server.processor_seconds()
        self._streams.pump(time.monotonic() + self.plan.quiet)
        after = self._server.processor_seconds()
        if before is not None and after is not None:
            share = 100 * (after - before) / self.plan.quiet
            self.figures["idle_processor_percent"] = round(share, 2)
            self.facts["idle streams"] = f"{share:.1f} % of one processor, a comment each {self.plan.keep_alive:g} s"
        least = min(stream.comments for stream in self._streams.all)
        most = max(stream.comments for stream in self._streams.all)
        self._check(f"comments in {self.plan.quiet:g} quiet seconds, one due each {self.plan.keep_alive:g} s",
                    least >= 1, f"{least} to {most} on each stream")

    def _beside(self) -> None:
        plan = self.plan
        begun = time.monotonic()
        used = self._server.processor_seconds()
        calls = Calls(self._server.url, plan.clients, plan.seconds, plan.rate)
        try:
            for number in range(1, ANNOUNCEMENTS + 1):
                self._streams.pump(begun + (number - 0.5) * plan.seconds / ANNOUNCEMENTS)
                self._announce(number)
            self._streams.pump(begun + plan.seconds + PATIENCE, calls.ended)
        finally:
            printed = calls.output()
        self.phases["beside the streams"] = Latency(printed)
        self._resident.append(self._server.resident())
        after = self._server.processor_seconds()
        if used is not None and after is not None:
            share = 100 * (after - used) / (time.monotonic() - begun)
            self.facts["held beside calls"] = f"{share:.0f} % of one processor"
        if plan.saturated:
            self._calls("saturated, beside the streams", plan.saturated, 0)
        self._judge()

    def _announce(self, number: int) -> None:
        """Have the server tell all streams, and wait until all have heard it (or some never did)."""
        begun = time.monotonic()
        told = announced(number)
        self._tell("announce", {"number": number})
        self._streams.pump(begun + min(PATIENCE, max(1.0, self.plan.seconds / 12)),
                           lambda: all(stream.heard[-1:] == [told] for stream in self._streams.all))
        self._announcer.response()
        last = max(stream.heard_at for stream in self._streams.all)
        self._fanouts.append((begun, last))

    def _tell(self, tool: str, arguments: Dict[str, Any]) -> None:
        self._announcer.request(message("tools/call", {"name": tool, "arguments": arguments}))

    def _judge(self) -> None:
        count, streams = self.plan.streams, self._streams.all
        expected = [announced(number) for number in range(1, ANNOUNCEMENTS + 1)]
        heard = sum(len(stream.heard) for stream in streams)
        right = sum(stream.heard == expected for stream in streams)
        self._check(f"{ANNOUNCEMENTS} notifications, once to each stream, in order, with its subscriptionId",
                    right == count, f"{heard} of {count * ANNOUNCEMENTS} deliveries, {right} streams right")
        self._faults("no stream lost", [stream for stream in streams if stream.closed or stream.fault])
        took = sorted(1000 * (end - begin) for begin, end in self._fanouts)
        middle = took[len(took) // 2]
        self._check(f"from notify to the last delivery, median under {FANOUT_TARGET_MS:g} ms",
                    middle < FANOUT_TARGET_MS,
                    f"{middle:.0f} ms, {took[0]:.0f} to {took[-1]:.0f}, the call and the reading included")
        self.figures["fanout_ms"] = [round(each, 1) for each in took]
        alone, beside = self.phases["without streams"], self.phases["beside the streams"]
        self.phases["of these, during a fan-out"] = beside.during(self._fanouts)
        ratio = beside.ms(0.99) / alone.ms(0.99)
        self._check(f"calls beside the streams, p99 under {P99_TARGET_MS:g} ms", beside.ms(0.99) < P99_TARGET_MS,
                    f"{beside.ms(0.99):.2f} ms, {ratio:.2f} times the {alone.ms(0.99):.2f} ms without")
        self._memory()

    def _faults(self, what: str, wrong: List[Stream]) -> None:
        found = "none" if not wrong else f"{len(wrong)}, such as {wrong[0].id!r}: {wrong[0].fault or 'closed'}"
        self._check(what, not wrong, found)

    def _memory(self) -> None:
        held = [each for each in self._resident if each is not None]
        what = f"memory of a stream, at most {MEMORY_TARGET / 1000:g} kB"
        if not held:
            return self._check(what, None, "this system does not tell")
        each = (max(held) - held[0]) / self.plan.streams
        self.figures["octets_a_stream"] = round(each)
        self._check(what, each <= MEMORY_TARGET, f"{each / 1000:.1f} kB ({held[0] / 1e6:.1f} MB before, "
                    f"{max(held) / 1e6:.1f} MB while held)")

    def _slow_reader(self) -> None:
        before = self._server.resident()
        slow = SlowReader(self._server.url)
        sent, slowest = 0, 0.0
        for number in range(ANNOUNCEMENTS + 1, ANNOUNCEMENTS + 5):
            for _ in range(FLOODS // 4 // AT_ONCE):
                self._tell("flood", {"times": AT_ONCE})
                self._announcer.response()
                sent += AT_ONCE
            self._announce(number)
            slowest = max(slowest, self._fanouts[-1][1] - self._fanouts[-1][0])
        after = self._server.resident()
        got = slow.left()
        heard = min(len(stream.heard) for stream in self._streams.all)
        grown = "" if before is None or after is None else f"; the server grew by {(after - before) / 1e6:.1f} MB"
        self._check("a reader that does not read is hung up on", got != b"" and not got.endswith(b"0\r\n\r\n"),
                    f"after {len(got) / 1e6:.1f} of {sent * 8000 / 1e6:.0f} MB{grown}")
        self._check("nobody waits for it", heard == ANNOUNCEMENTS + 4,
                    f"4 more notifications, each heard by all within {1000 * slowest:.0f} ms")

    def _end(self) -> None:
        begun = time.monotonic()
        self._server.terminate()
        streams = self._streams.all
        self._streams.pump(begun + PATIENCE, lambda: all(stream.closed for stream in streams))
        took = time.monotonic() - begun
        ended = [stream for stream in streams if stream.result and stream.whole and stream.closed and not stream.fault]
        status = self._server.status(PATIENCE)
        self._faults(f"SIGTERM: result and end of stream on all {len(streams)}",
                     [stream for stream in streams if stream not in ended])
        self._check("the server ends with status 0", status == 0, f"status {status}, streams ended in {took:.2f} s")
        self.figures["end_seconds"] = round(took, 3)
