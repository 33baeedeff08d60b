"""From the figures of the rounds to medians, ratios, targets and the plain text shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from .wrk import Load

SUBJECT = "mcp_ref"
# The server, the peer, and how many of its requests per second must be reached, by the number of connections.
RATE_TARGETS: tuple[tuple[str, str, dict[int, float]], ...] = (
    (SUBJECT, "bare", {1: 1.2, 16: 1.8, 128: 1.8}),
    (SUBJECT, "python_sdk", {1: 6.0, 16: 8.0, 128: 8.0}),
    (SUBJECT, "typescript_sdk", {1: 4.0, 16: 4.0, 128: 4.0}),
    (SUBJECT, "ceiling", {1: 0.5, 16: 0.3}),
    ("mcp_ref_pypy", SUBJECT, {16: 2.0}),
    ("mcp_ref_workers", SUBJECT, {16: 1.6, 128: 1.6}),
)
# Of the seconds from the start to the first answer of the bare server.
FIRST_ANSWER_TARGET = 1.6
RESIDENT_TARGET = 30_000_000
# Rounds that differ by more than this share of their median make no firm ratio.
FIRM_SPREAD = 0.25


@dataclass
class Figures:
    """All that was measured of one server: a list of rounds for each number of connections; `reason` when it failed."""

    loads: dict[int, list[Load]] = field(default_factory=dict)
    first_answers: list[float] = field(default_factory=list)
    resident_bytes: int = 0
    reason: str = ""

    def spread(self, connections: int) -> float:
        """How far the rounds lie apart: the highest rate less the lowest, divided by the median."""
        rates = [load.per_second for load in self.loads[connections]]
        return (max(rates) - min(rates)) / median(rates)

    def rate(self, connections: int) -> float | None:
        """The median of requests per second, or None when it was not measured."""
        rounds = self.loads.get(connections)
        return median(load.per_second for load in rounds) if rounds and not self.reason else None


@dataclass(frozen=True)
class Target:
    """One promise: what is measured, the figure wanted, the figure found (None: not measured), is it reached."""

    what: str
    wanted: str
    found: str | None
    reached: bool

    def line(self) -> str:
        """The target as a line of the report."""
        if self.found is None:
            return f"not measured  {self.what} {self.wanted}"
        return f"{'reached' if self.reached else 'NOT REACHED':<12}  {self.what} {self.wanted}: {self.found}"


def targets(results: dict[str, Figures]) -> list[Target]:
    """Every target of mcp_ref against the results."""
    subject = results.get(SUBJECT, Figures(reason="not asked for"))
    found = []
    for connections in sorted({count for figures in results.values() for count in figures.loads}):
        for name, peer, minima in RATE_TARGETS:
            if connections not in minima:
                continue
            ratio = _ratio(results.get(name), results.get(peer), connections)
            what = f"{name}, requests/s of {peer}, {connections} connection{'s' if connections > 1 else ''}"
            shown = None if ratio is None else f"{ratio:.2f} times"
            minimum = minima[connections]
            found.append(Target(what, f">= {minimum:g} times", shown, ratio is not None and ratio >= minimum))
    bare = results.get("bare", Figures(reason="not asked for"))
    measured = all(each.first_answers and not each.reason for each in (subject, bare))
    start = median(subject.first_answers) / median(bare.first_answers) if measured else 0.0
    size = 0 if subject.reason else subject.resident_bytes
    found.append(
        Target(
            "first answer, seconds of bare",
            f"<= {FIRST_ANSWER_TARGET} times",
            f"{start:.2f} times" if measured else None,
            measured and start <= FIRST_ANSWER_TARGET,
        )
    )
    found.append(
        Target(
            "memory under load",
            f"<= {RESIDENT_TARGET / 1e6:.0f} MB",
            f"{size / 1e6:.1f} MB" if size else None,
            0 < size <= RESIDENT_TARGET,
        )
    )
    return found


def _ratio(subject: Figures | None, peer: Figures | None, connections: int) -> float | None:
    ours = subject.rate(connections) if subject else None
    theirs = peer.rate(connections) if peer else None
    return ours / theirs if ours and theirs else None


def table(results: dict[str, Figures]) -> str:
    """The medians as an aligned table, a row for each server and number of connections."""
    peers = [name for name in ("bare", "python_sdk", "ceiling") if name in results]
    shares = [f"x {name}" for name in peers]
    rows = [["server", "conn", "req/s", "spread", "p50 ms", "p99 ms", *shares, "MB", "first s"]]
    for name, figures in results.items():
        for connections, rounds in figures.loads.items():
            rate = figures.rate(connections)
            if rate is None:
                continue
            ratios = [_ratio(figures, results[peer], connections) for peer in peers]
            rows.append(
                [
                    name,
                    str(connections),
                    f"{rate:.0f}",
                    f"{figures.spread(connections):.0%}",
                    f"{median(load.p50_ms for load in rounds):.2f}",
                    f"{median(load.p99_ms for load in rounds):.2f}",
                    *["-" if ratio is None else f"{ratio:.2f}" for ratio in ratios],
                    f"{figures.resident_bytes / 1e6:.1f}" if figures.resident_bytes else "-",
                    f"{median(figures.first_answers):.3f}",
                ]
            )
    return "\n".join(_aligned(rows))


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        row[0].ljust(widths[0]) + "".join(f"  {cell.rjust(width)}" for cell, width in zip(row[1:], widths[1:]))
        for row in rows
    ]


def text(results: dict[str, Figures]) -> str:
    """The whole report: the table, what was not measured and why, then the targets."""
    missing = [f"{name}: not measured: {figures.reason}" for name, figures in results.items() if figures.reason]
    unsteady = [
        f"{name}, {connections} connection{'s' if connections > 1 else ''}: the rounds differ by "
        f"{figures.spread(connections):.0%}, so no ratio to it is firm (busy machine? see --placement)"
        for name, figures in results.items()
        for connections in figures.loads
        if not figures.reason and figures.spread(connections) > FIRM_SPREAD
    ]
    return "\n".join([table(results), *missing, *unsteady, "", *[target.line() for target in targets(results)]])
