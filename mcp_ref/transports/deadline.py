"""basic/patterns/cancellation, Timeouts: one bound on a whole request, however often the peer gives a sign of life.

Implements CANC-06, CANC-07, CANC-10, CANC-11.
"""

from __future__ import annotations

import time

from ..base.errors import Timeout

MAX_SECONDS = 10_000_000.0
"""What an operating system still takes as a socket timeout, some 115 days."""


class Deadline:
    """The time that a request may still take. seconds: its length, more than 0."""

    def __init__(self, seconds: float) -> None:
        self.seconds = checked(seconds)
        self._at = time.monotonic() + self.seconds

    def left(self) -> float:
        """Seconds left, more than 0. Raises Timeout when there are none."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise self.error()
        return left

    def extend(self, seconds: float) -> None:
        """Move the end: what a person took to answer is not the server's time."""
        self._at += seconds

    def error(self) -> Timeout:
        """The Timeout that tells how long was waited."""
        return Timeout(f"no answer within {self.seconds:g} s")


def checked(seconds: float) -> float:
    """`seconds` as a float within what a socket takes. Raises ValueError for what is no time to wait."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise ValueError(f"a timeout is a number of seconds above 0, not {seconds!r}")
    return min(float(seconds), MAX_SECONDS)
