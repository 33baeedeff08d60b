"""The bench of clients: `python3 -m tests.bench.clients` measures, in one run, this project's against others.

All call one tool of one server, which is this project's, one after another in rounds. Prints the medians: calls a
second, the median of a call, and the seconds from the start of the process to its first answer; then the targets.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Callable, Dict, List, Sequence

from .servers import PYTHON_HOME, ROOT, SERVERS, SOURCES, install_nothing, install_python_sdk, installed_in, started
from .wrk import BenchError

FASTMCP_HOME = ROOT / "build" / "peers" / f"fastmcp-{sys.implementation.cache_tag}"
FASTMCP_PACKAGES = ["fastmcp==4.2.3"]
CALLER = [sys.executable, "-m", "tests.bench.caller"]


@dataclass
class Caller:
    """A row: `command` for a URL and seconds, and what was measured of it; `reason` where it was not."""

    name: str
    command: Callable[[str, str], List[str]]
    install: Callable[[], None] = install_nothing
    rates: List[float] = field(default_factory=list)
    calls: List[float] = field(default_factory=list)
    firsts: List[float] = field(default_factory=list)
    reason: str = ""


def callers() -> List[Caller]:
    """All that are measured."""
    sdk = str(SOURCES / "python_sdk_caller.py")
    return [
        Caller("mcp_ref", lambda url, seconds: [*CALLER, "mcp_ref", url, seconds, "1"]),
        Caller("bare", lambda url, seconds: [*CALLER, "bare", url, seconds, "1"]),
        Caller("mcp_ref, 16 threads", lambda url, seconds: [*CALLER, "mcp_ref", url, seconds, "16"]),
        Caller("bare, 16 threads", lambda url, seconds: [*CALLER, "bare", url, seconds, "16"]),
        Caller("python_sdk", lambda url, seconds: [str(PYTHON_HOME / "bin" / "python"), sdk, url, seconds],
               install_python_sdk),
        Caller("fastmcp", lambda url, seconds: [str(FASTMCP_HOME / "bin" / "python"), sdk, url, seconds],
               lambda: installed_in(FASTMCP_HOME, FASTMCP_PACKAGES)),
    ]


TARGETS = (("mcp_ref", "bare", 0.6), ("mcp_ref, 16 threads", "bare, 16 threads", 0.8), ("mcp_ref", "python_sdk", 4.0))
FIRST_SECONDS, FIRST_TIMES = 0.15, 1.6


def measure(caller: Caller, url: str, seconds: str) -> None:
    """One round of one caller."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings["PYTHONPYCACHEPREFIX"] = str(ROOT / "build" / "bytecode")  # as a program has it from its second run on
    begin = time.perf_counter()
    with subprocess.Popen(caller.command(url, seconds), cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8",
                          env=settings) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "first\n":
            raise BenchError(f"{caller.name} ended with status {process.wait()} before it had an answer")
        caller.firsts.append(time.perf_counter() - begin)
        found = json.loads(process.stdout.readline() or "{}")
    if not found:
        raise BenchError(f"{caller.name} ended with status {process.returncode}")
    caller.rates.append(found["per_second"])
    caller.calls.append(found["p50_ms"])


def report(found: Sequence[Caller]) -> List[str]:
    """The table, and the targets."""
    lines = [f"{'client':<22}{'calls/s':>9}{'p50 ms':>9}{'first s':>9}"]
    for each in found:
        lines.append(f"{each.name:<22}" + (f"not measured: {each.reason}" if each.reason else
                     f"{median(each.rates):>9.0f}{median(each.calls):>9.3f}{median(each.firsts):>9.3f}"))
    return lines + [""] + [line for _, line in targets(found)]


def targets(found: Sequence[Caller]) -> List[tuple[bool, str]]:
    """Whether each is reached, and the line that says so."""
    by_name: Dict[str, Caller] = {each.name: each for each in found if each.rates and not each.reason}
    made = []
    for name, peer, least in TARGETS:
        if name in by_name and peer in by_name:
            ratio = median(by_name[name].rates) / median(by_name[peer].rates)
            made.append((ratio >= least, f"calls/s of {name}, times {peer}, >= {least:g}: {ratio:.2f}"))
    if "mcp_ref" in by_name and "bare" in by_name:
        first, bare = median(by_name["mcp_ref"].firsts), median(by_name["bare"].firsts)
        made.append((first <= max(FIRST_SECONDS, FIRST_TIMES * bare),
                     f"start to first answer, <= {FIRST_SECONDS} s or {FIRST_TIMES:g} times bare: {first:.3f} s, "
                     f"{first / bare:.2f} times"))
    return [(reached, ("reached      " if reached else "NOT REACHED  ") + line) for reached, line in made]


def main(arguments: Sequence[str]) -> int:
    """Run it; the exit status is 1 where a target is missed and `--strict` given."""
    parser = argparse.ArgumentParser("python3 -m tests.bench.clients", description=__doc__)
    parser.add_argument("--seconds", default="3", help="of one round (3)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", help="measure this client only; may be repeated")
    parser.add_argument("--strict", action="store_true", help="fail when a target is missed")
    options = parser.parse_args(arguments)
    found = [each for each in callers() if not options.only or each.name in options.only]
    for each in found:
        try:
            each.install()
        except BenchError as error:
            each.reason = str(error)
    with started(SERVERS[0]) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        for _ in range(options.rounds):
            for each in [each for each in found if not each.reason]:
                try:
                    measure(each, url, options.seconds)
                except BenchError as error:
                    each.reason = str(error)
    print("\n".join(report(found)))
    return 1 if options.strict and not all(reached for reached, _ in targets(found)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
