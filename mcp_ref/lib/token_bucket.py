"""Rate limiting: a token bucket, and one for each caller (PROG-08, LOG-09, TOOL-40, COMP-09, COMP-15)."""

from __future__ import annotations

import math
import threading
import time
from typing import Dict, Mapping, Optional, Tuple

MAX_CALLERS = 4096


class TokenBucket:
    """`burst` at once, then `per_second`."""

    __slots__ = ("_burst", "_per_second", "_left", "_at")

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst, self._per_second = burst, per_second
        self._left = burst
        self._at = time.monotonic()

    def take(self) -> bool:
        """Whether one more may go now."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class RateLimits:
    """What each caller may ask: method to requests a second, which is also the burst (at least one).

    The callers least lately seen are forgotten beyond MAX_CALLERS, and begin afresh. Raises ValueError for a limit that
    is none.
    """

    def __init__(self, limits: Mapping[str, float]) -> None:
        for method, limit in limits.items():
            if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < math.inf:
                raise ValueError(f"a rate limit is a number of requests a second, above 0, not {limit!r} for {method}")
        self._limits = dict(limits)
        self._buckets: Dict[Tuple[str, str], TokenBucket] = {}
        self._lock = threading.Lock()

    def exceeded(self, method: str, caller: str) -> Optional[float]:
        """Count one more; the limit, where this caller has asked this method more often than that, otherwise None."""
        limit = self._limits.get(method)
        if limit is None:
            return None
        with self._lock:
            bucket = self._buckets.pop((method, caller), None) or TokenBucket(max(1.0, limit), limit)
            self._buckets[method, caller] = bucket
            if len(self._buckets) > MAX_CALLERS:
                del self._buckets[next(iter(self._buckets))]
            return None if bucket.take() else limit
