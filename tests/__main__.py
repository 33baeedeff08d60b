"""`python3 -m tests [NAME …]`: run all tests, or the modules named, and close with `N passed, N failed`."""

import logging
import signal
import sys
import unittest
from collections import Counter
from pathlib import Path

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


def main(names):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has it ignored, and children inherit that
    logging.getLogger("mcp_ref").addHandler(logging.NullHandler())
    logging.getLogger("mcp_ref").propagate = False
    record.begin()
    loader = unittest.TestLoader()
    root = Path(__file__).resolve().parent.parent
    if names:
        suite = loader.loadTestsFromNames([f"tests.{name}" for name in names])
    else:
        suite = loader.discover(str(root / "tests"), top_level_dir=str(root))
    suite.addTests(record.tests(whole=not names))
    result = run(suite, sys.stderr)
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    print(closing(result.counts))
    return 1 if result.counts["failed"] or not sum(result.counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
