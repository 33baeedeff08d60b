"""The walkthrough's recorded exchanges, replayed against the server by the walkthrough's own program."""

import subprocess
import sys
import unittest

from .support import ROOT, SHARED

REPLAY = SHARED / "walkthrough" / "replay.py"


@unittest.skipUnless(REPLAY.exists(), "../shared is not here: the walkthrough is not replayed")
class Walkthrough(unittest.TestCase):
    def replay(self, *arguments):
        done = subprocess.run([sys.executable, str(REPLAY), *arguments], cwd=ROOT, capture_output=True, text=True)
        failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        return done.stdout.splitlines()[-1], failed

    def test_era_stub_byte_for_byte(self):
        self.assertEqual(self.replay("--start", f"{sys.executable} era_stub.py {{port}} {{mode}}"),
                         ("24 passed, 0 failed", []))

    def test_the_demo_means_the_same(self):
        closing, failed = self.replay("--semantic", "--start", f"{sys.executable} -m mcp_ref serve --port {{port}}")
        self.assertEqual(failed, ["FAILED legacy-initialize (legacy)"], "this server speaks the modern era alone")
        self.assertEqual(closing, "23 passed, 1 failed")


if __name__ == "__main__":
    unittest.main()
