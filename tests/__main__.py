"""`python3 -m tests [NAME …]`: run all tests, or the modules named, and close with `N passed, N failed`."""

import os
import sys
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from . import record
from .running import apart, begin, closing, run, work

SLOW = ("test_readme", "test_stdio_client", "test_stdio", "test_selector", "test_package", "test_cli", "test_workers")
"""The modules to begin with, so that none of them is the last one running."""


def slow_first(module):
    """A key to sort modules by."""
    return SLOW.index(module) if module in SLOW else len(SLOW), module


def everything():
    """The counts and the skipped of all modules, spread over the processors; each is told when it is done."""
    modules = sorted((path.stem for path in Path(__file__).parent.glob("test_*.py")), key=slow_first)
    counts, skipped = Counter(), []
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # some hundred interpreters are started; none compiles it all again
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).resolve().parent.parent / "build" / "bytecode"))
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        pending = {pool.submit(apart, module): module for module in modules}
        for done in as_completed(pending):
            outcome = done.result()
            print(f"{pending[done]}: {closing(Counter(outcome.counts))}", file=sys.stderr, flush=True)
            sys.stderr.write(outcome.details)
            counts.update(outcome.counts)
            skipped += outcome.skipped
            record.SEEN.update(outcome.seen)
    result = run(unittest.TestSuite(record.tests(whole=True)), sys.stderr)
    counts.update(result.counts)
    return counts, skipped


def named(names, whole=False):
    """The counts and the skipped of the modules or tests named, in this process. whole: whether they are all."""
    begin()
    suite = unittest.defaultTestLoader.loadTestsFromNames([f"tests.{name}" for name in names])
    suite.addTests(record.tests(whole))
    result = run(suite, sys.stderr)
    return result.counts, [(str(test), reason) for test, reason in result.skipped]


def main(names):
    if names[:1] == ["--outcome"]:
        return work(*names[1:])
    counts, skipped = named(names) if names else everything()
    for test, reason in skipped:
        print(f"skipped {test}: {reason}")
    print(closing(counts))
    return 1 if counts["failed"] or not sum(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
