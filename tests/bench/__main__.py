"""The command line of the bench: `python3 -m tests.bench --help`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from . import __doc__ as about
from . import report, wrk
from .placement import NAMES, Placement, placement
from .report import Figures
from .servers import SERVERS, Server, started

ROUNDS = 3
STARTS = 5
WARM_UP_SECONDS = 1


def main(arguments: Sequence[str]) -> int:
    """Run the bench; the exit status."""
    options = _options(arguments)
    servers = [server for server in SERVERS if not options.only or server.name in options.only]
    results = {server.name: Figures() for server in servers}
    try:
        wrk.require()
        places = placement(options.placement)
    except (wrk.BenchError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    machine = f"{_machine()}, placement {options.placement}"
    print(machine, flush=True)
    for server in servers:
        print(f"{server.name}: {server.what}", flush=True)
        _guarded(results[server.name], server.install)
    if options.install:
        for name, figures in results.items():
            print(f"{name}: {figures.reason or 'installed'}")
        return 1 if any(figures.reason for figures in results.values()) else 0
    _measure(servers, results, options, places)
    print("\n" + report.text(results))
    if options.json:
        options.json.write_text(json.dumps(_as_json(machine, results), indent=2) + "\n", encoding="utf-8")
    return 1 if options.strict and not all(target.reached for target in report.targets(results)) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python3 -m tests.bench", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=_positive, default=5, help="length of one load, whole seconds (5)")
    parser.add_argument("--connections", type=_counts, default=[1, 16, 128], help="numbers of connections (1,16,128)")
    names = [server.name for server in SERVERS]
    parser.add_argument("--only", action="append", choices=names, help="measure this server only; may be repeated")
    parser.add_argument("--placement", choices=NAMES, default="free", help="see tests/bench/placement.py (free)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures of every round to FILE")
    parser.add_argument("--install", action="store_true", help="install what the bench needs, measure nothing")
    parser.add_argument("--strict", action="store_true", help="fail when a target is missed or not measured")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _counts(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


def _machine() -> str:
    load = f"load average {os.getloadavg()[0]:.2f} before the run"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{platform.machine()}, {os.cpu_count()} cores, {python}, {load}"


def _guarded(figures: Figures, step: Callable[..., None], *arguments: object) -> None:
    """Do one step for a server that has not failed yet; its failure is kept as the reason and stops nothing else."""
    if figures.reason:
        return
    try:
        step(*arguments)
    except wrk.BenchError as error:
        figures.reason = " ".join(str(error).split())


def _measure(
    servers: list[Server], results: dict[str, Figures], options: argparse.Namespace, places: Placement
) -> None:
    for _ in range(STARTS):
        for server in servers:
            _guarded(results[server.name], _time_start, server, results[server.name], places)
    for number in range(ROUNDS):
        # Every other round runs backwards, so that a machine growing slower favours nobody.
        for server in servers if number % 2 == 0 else reversed(servers):
            print(f"round {number + 1} of {ROUNDS}: {server.name}", flush=True)
            _guarded(results[server.name], _load, server, results[server.name], options, places)


def _time_start(server: Server, figures: Figures, places: Placement) -> None:
    with started(server, places.server) as running:
        figures.first_answers.append(running.first_answer)


def _load(server: Server, figures: Figures, options: argparse.Namespace, places: Placement) -> None:
    with started(server, places.server) as running:

        def sample() -> None:
            figures.resident_bytes = max(figures.resident_bytes, running.resident_bytes())

        wrk.run(running.port, max(options.connections), WARM_UP_SECONDS, sample, places.wrk)
        for count in options.connections:
            running.check()
            load = wrk.run(running.port, count, options.seconds, sample, places.wrk)
            figures.loads.setdefault(count, []).append(load)
            running.check()


def _as_json(machine: str, results: dict[str, Figures]) -> dict[str, object]:
    return {
        "machine": machine,
        "servers": {name: asdict(figures) for name, figures in results.items()},
        "targets": [asdict(target) for target in report.targets(results)],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
