"""A run of tests, and what passed, failed and was skipped; `work` is what each process of a whole run does."""

import io
import logging
import signal
import unittest
from collections import Counter
from typing import Dict, List, NamedTuple, Tuple

from . import record


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
    """What a run of some modules came to. seen: the record's, which the whole run puts together."""

    counts: Counter
    skipped: List[Tuple[str, str]]
    details: str
    seen: Dict[record.Exchange, str]


def begin():
    """Prepare a process for tests."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has it ignored, and children inherit that
    logging.getLogger("mcp_ref").addHandler(logging.NullHandler())
    logging.getLogger("mcp_ref").propagate = False
    record.begin()


def work(module):
    """The Outcome of one module, in a process that `begin` has prepared; here details are kept."""
    stream = io.StringIO()
    result = run(unittest.defaultTestLoader.loadTestsFromName(f"tests.{module}"), stream)
    skipped = [(str(test), reason) for test, reason in result.skipped]
    return Outcome(result.counts, skipped, "" if result.wasSuccessful() else stream.getvalue(), dict(record.SEEN))
