"""The walkthrough's 24 recorded exchanges: era_stub.py answers them to the byte, and the demo says the same by them.

walkthrough.json holds them: name, mode, headers, body, status and answer of each.
"""

import contextlib
import json
import subprocess
import sys
import threading
import unittest
from typing import Any, Iterator, List

import era_stub

from .support import ROOT, SHARED, RawClient

EXCHANGES: List[Any] = json.loads((ROOT / "tests" / "walkthrough.json").read_text(encoding="utf-8"))
REPLAY = SHARED / "walkthrough" / "replay.py"


@contextlib.contextmanager
def fixture(mode: str) -> Iterator[str]:
    """era_stub.py in a mode, on a free port; gives its URL."""
    with era_stub.Fixture(0, mode) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()
            thread.join()


class Recorded(unittest.TestCase):
    def test_to_the_byte(self) -> None:
        self.assertEqual(len(EXCHANGES), 24)
        for mode in ("modern", "input-required", "legacy"):
            with fixture(mode) as url, RawClient(url) as client:
                for case in EXCHANGES:
                    if case["mode"] == mode:
                        body = case["body"].encode("utf-8")
                        fields = {**case["headers"], "Host": client.host, "Content-Length": str(len(body))}
                        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                        client.send(f"POST / HTTP/1.1\r\n{head}\r\n".encode("ascii") + body)
                        got = client.response()
                        self.assertEqual((got.status, got.body.decode("utf-8")), (case["status"], case["answer"]),
                                         case["name"])


@unittest.skipUnless(REPLAY.exists(), "../shared is not here: the walkthrough is not replayed by its own program")
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
        self.assertEqual((closing, failed), ("24 passed, 0 failed", []))


if __name__ == "__main__":
    unittest.main()
