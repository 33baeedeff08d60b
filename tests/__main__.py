"""`python3 -m tests [NAME …]`: run all tests, or the modules named, and close with `N passed, N failed`."""

import logging
import sys
import unittest
from pathlib import Path


def main(names):
    logging.getLogger("mcp_ref").addHandler(logging.NullHandler())
    logging.getLogger("mcp_ref").propagate = False
    loader = unittest.TestLoader()
    root = Path(__file__).resolve().parent.parent
    if names:
        suite = loader.loadTestsFromNames([f"tests.{name}" for name in names])
    else:
        suite = loader.discover(str(root / "tests"), top_level_dir=str(root))
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=1, buffer=True).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
