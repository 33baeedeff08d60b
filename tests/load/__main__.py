"""The command line of the load test: `python3 -m tests.load --help`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Sequence

from . import __doc__ as about
from .report import text
from .run import Plan, Run

RATE = 50.0  # calls a second and client: with 8 clients a fraction of what one processor serves


def main(arguments: Sequence[str]) -> int:
    """Run the load test; the exit status."""
    options = _options(arguments)
    seconds = options.seconds
    plan = Plan(options.streams, options.clients, seconds, options.rate, alone=seconds / 4, quiet=seconds / 6,
                keep_alive=seconds / 12, saturated=seconds / 12)
    print(f"{plan.streams} streams held for {seconds:g} s on one process; {plan.clients} clients with {plan.rate:g} "
          f"calls a second each, before and beside them", flush=True)
    _allow_open_files()
    run = Run(plan)
    try:
        run.run()
    except (OSError, ValueError) as error:
        run._check("the run came to its end", False, f"{type(error).__name__}: {error}")
    print(text(run.phases, run.facts, run.checks))
    if options.json:
        found = {"plan": plan._asdict(), "calls": {name: each.figures() for name, each in run.phases.items()},
                 **run.figures, "checks": [check._asdict() for check in run.checks]}
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 1 if any(check.held is False for check in run.checks) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python3 -m tests.load", description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000, help="how many are held (1000)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for how long (60); a run takes twice that")
    parser.add_argument("--clients", type=int, default=8, help="that call tools meanwhile (8)")
    parser.add_argument("--rate", type=float, default=RATE, help=f"calls a second of each of them ({RATE:g})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    return parser.parse_args(arguments)


def _allow_open_files() -> None:
    """A socket a stream: as many as the system allows, on this side too."""
    try:
        import resource
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
