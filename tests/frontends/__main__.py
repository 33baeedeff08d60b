"""`python3 -m tests.frontends [NAME …]`: mcp_ref behind nginx, haproxy and caddy.

They come from Debian's packages (`apt-get install nginx-light haproxy caddy`), and run on free loopback ports with
temporary folders. NAME is a class of cases.py, or a test of one. Closes with `N passed, N failed`.
"""

import sys
import unittest

from tests.running import closing, run

from . import cases
from .processes import missing


def main(names):
    absent = missing()
    if absent:
        print(f"not installed: {', '.join(absent)} (Debian: apt-get install nginx-light haproxy caddy)\n"
              f"0 passed, {len(absent)} failed")
        return 1
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(names, cases) if names else loader.loadTestsFromModule(cases)
    result = run(suite, sys.stderr)
    print(closing(result.counts))
    return 1 if result.counts["failed"] or not result.counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
