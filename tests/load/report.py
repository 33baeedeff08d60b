"""From what was measured to a table, and to one line a check."""

from __future__ import annotations

import json
import math
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

P99_TARGET_MS = 50.0
MEMORY_TARGET = 20_000  # octets a stream


class Check(NamedTuple):
    """One promise: what was asked, whether it held (None: this system does not tell), and what was found."""

    what: str
    held: Any
    found: str

    def line(self) -> str:
        """The check as a line of the report."""
        word = "not measured" if self.held is None else "ok" if self.held else "FAILED"
        return f"{word} {self.what}: {self.found}"


class Latency:
    """The calls of one phase. Raises ValueError for a phase that went wrong, with the reason."""

    def __init__(self, output: str) -> None:
        read = json.loads(output) if output else {"fault": "the calling process printed nothing"}
        if isinstance(read, dict) or not read:
            raise ValueError(f"the calls failed: {read['fault'] if read else 'there were none'}")
        self.timings: List[Tuple[float, float]] = [(start, took) for start, took in read]

    def during(self, spans: Sequence[Tuple[float, float]]) -> "Latency":
        """Those of the calls that were under way in one of these spans (start, end)."""
        kept = Latency.__new__(Latency)
        kept.timings = [(start, took) for start, took in self.timings
                        if any(start < end and start + took > begin for begin, end in spans)]
        return kept

    def ms(self, share: float) -> float:
        """The latency, in milliseconds, that `share` of the calls do not exceed; 0 for no calls."""
        ordered = sorted(took for _, took in self.timings)
        return 1000 * ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0

    def rate(self) -> float:
        """Calls in a second."""
        ends = [start + took for start, took in self.timings]
        span = max(ends) - min(start for start, _ in self.timings) if ends else 0.0
        return len(ends) / span if span else 0.0

    def figures(self) -> Dict[str, float]:
        """What is worth keeping."""
        return {"calls": len(self.timings), "per_second": round(self.rate(), 1), "p50_ms": round(self.ms(0.5), 3),
                "p99_ms": round(self.ms(0.99), 3), "slowest_ms": round(self.ms(1.0), 3)}


def table(phases: Dict[str, Latency]) -> str:
    """The calls of all phases."""
    lines = [f"{'calls':<32}{'number':>8}{'per s':>8}{'p50 ms':>9}{'p99 ms':>9}{'slowest':>9}"]
    for name, latency in phases.items():
        each = latency.figures()
        lines.append(f"{name:<32}{each['calls']:>8.0f}{each['per_second']:>8.0f}{each['p50_ms']:>9.2f}"
                     f"{each['p99_ms']:>9.2f}{each['slowest_ms']:>9.2f}")
    return "\n".join(lines)


def text(phases: Dict[str, Latency], facts: Dict[str, str], checks: Sequence[Check]) -> str:
    """The whole report."""
    failed = sum(check.held is False for check in checks)
    passed = sum(check.held is True for check in checks)
    width = max(map(len, facts), default=0)
    return "\n".join([table(phases), "", *[f"{name:<{width}}  {fact}" for name, fact in facts.items()], "",
                      *[check.line() for check in checks], f"{passed} passed, {failed} failed"])
