"""A run of tests, and what passed, failed and was skipped; `apart` runs a module in a process of its own."""

import faulthandler
import io
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from typing import Dict, List, NamedTuple, Tuple

from . import record

LONGEST = 600
"""Seconds that a module may take."""


class Result(unittest.TextTestResult):
    """Counts each test once, whatever its subtests did: `counts` of passed, failed and skipped are all tests run.

    What goes wrong outside of a test, in setUpClass say, counts as a test that failed. A test of which only some
    subtests are skipped has passed.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.counts = Counter(passed=0, failed=0, skipped=0)
        self._outcome = None

    def startTest(self, test):
        super().startTest(test)
        self._outcome = "passed"

    def stopTest(self, test):
        super().stopTest(test)
        self.counts[self._outcome] += 1
        self._outcome = None

    def _note(self, outcome):
        if self._outcome is None:
            self.counts[outcome] += 1
        elif self._outcome != "failed":
            self._outcome = outcome

    def addError(self, test, error):
        super().addError(test, error)
        self._note("failed")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._note("failed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note("failed")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._note("failed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if not hasattr(test, "test_case"):  # that of a subtest
            self._note("skipped")


def run(suite, stream):
    """The Result of a suite; details go to the stream."""
    return unittest.TextTestRunner(stream=stream, verbosity=1, buffer=True, resultclass=Result).run(suite)


def closing(counts):
    """The last line of a run."""
    text = f"{counts['passed']} passed, {counts['failed']} failed"
    return text + (f", {counts['skipped']} skipped" if counts["skipped"] else "")


class Outcome(NamedTuple):
    """What a run of a module came to. seen: the record's, which the whole run puts together."""

    counts: Dict[str, int]
    skipped: List[Tuple[str, str]]
    details: str
    seen: Dict[record.Exchange, str]


def begin():
    """Prepare a process for tests."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has it ignored, and children inherit that
    logging.getLogger("mcp_ref").addHandler(logging.NullHandler())
    logging.getLogger("mcp_ref").propagate = False
    record.begin()


def apart(module):
    """The Outcome of a module in an interpreter of its own, so that none meets the threads of another.

    One that ends without an outcome, or has none within LONGEST seconds, counts as a failed test with what it printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "outcome.json")
        ran = subprocess.run([sys.executable, "-m", "tests", "--outcome", path, module], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if not os.path.exists(path):
            return Outcome({"failed": 1}, [], ran.stdout.decode("utf-8", "replace"), {})
        with open(path, encoding="utf-8") as file:
            counts, skipped, details, seen = json.load(file)
    return Outcome(counts, skipped, details, {tuple(exchange): shown for exchange, shown in seen})


def work(path, module):
    """Run a module in this process and write its Outcome to a file: `python3 -m tests --outcome PATH MODULE`."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    begin()
    stream = io.StringIO()
    result = run(unittest.defaultTestLoader.loadTestsFromName(f"tests.{module}"), stream)
    skipped = [(str(test), reason) for test, reason in result.skipped]
    details = "" if result.wasSuccessful() else stream.getvalue()
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump((result.counts, skipped, details, list(record.SEEN.items())), file)
    os.replace(path + ".part", path)
