"""The calling side, a process of its own: `python3 -m tests.load.calls URL CLIENTS SECONDS RATE`.

Each client is a thread with one kept connection, and makes RATE calls a second, or one after the other where RATE is
0. Prints a JSON list of [start, seconds] of every call, or {"fault": …}. A call that had to wait for the one before it
counts from the time when it was due, so that a server which stalls is not flattered.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import List, Sequence, Tuple

from ..support import RawClient, message

TEXT = "The quick brown fox jumps over the lazy dog."


class Caller(threading.Thread):
    """One client. timings: start (monotonic seconds) and duration of each call. fault: why it gave up."""

    def __init__(self, url: str, number: int, clients: int, seconds: float, rate: float) -> None:
        super().__init__()
        self.timings: List[Tuple[float, float]] = []
        self.fault = ""
        self._client = RawClient(url)
        self._call = self._client.octets(message("tools/call", {"name": "echo", "arguments": {"text": TEXT}}, number))
        self._number, self._seconds, self._step = number, seconds, 1.0 / rate if rate else 0.0
        self._first = self._step * number / clients

    def run(self) -> None:
        try:
            self._run()
        except (OSError, ValueError, KeyError) as error:
            self.fault = f"{type(error).__name__}: {error}"

    def _run(self) -> None:
        due = ended = time.monotonic() + self._first
        until = due + self._seconds
        while due < until and not self.fault:
            time.sleep(max(0.0, due - time.monotonic()))
            start = due if self._step and ended > due else time.monotonic()
            self._client.send(self._call)
            answer = self._client.response()
            ended = time.monotonic()
            self.timings.append((start, ended - start))
            if answer.status != 200 or answer.json["id"] != self._number or \
                    answer.json["result"]["content"] != [{"type": "text", "text": TEXT}]:
                self.fault = f"HTTP {answer.status} {answer.body[:200]!r}"
            due = due + self._step if self._step else ended


def main(arguments: Sequence[str]) -> int:
    """Make the calls; the exit status."""
    url, clients, seconds, rate = arguments[0], int(arguments[1]), float(arguments[2]), float(arguments[3])
    callers = [Caller(url, number, clients, seconds, rate) for number in range(clients)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    faults = [caller.fault for caller in callers if caller.fault]
    timings = [[round(start, 6), round(took, 6)] for caller in callers for start, took in caller.timings]
    print(json.dumps({"fault": faults[0]} if faults else timings))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
