"""basic/patterns/progress: what a handler reports while it works.

Implements PROG-03, PROG-05, PROG-06, PROG-08, PROG-09.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Optional

from ..base.meta import PROGRESS_TOKEN
from ..base.request import Request
from .allowance import Allowance

BURST = 32
PER_SECOND = 50


class Progress:
    """The progress of one request: strictly increasing, within an Allowance.

    The last step (progress equal to total) is never held back. Without a token nothing is sent.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._token = request.meta.get(PROGRESS_TOKEN)
        self._last = -math.inf
        self._allowance = Allowance(BURST, PER_SECOND)

    def report(self, progress: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Send notifications/progress, unless there is no token, no increase, or too much was sent already."""
        if not all(isinstance(each, (int, float)) for each in (progress, 0 if total is None else total)):
            raise TypeError(f"progress and total are numbers, not {progress!r} and {total!r}")
        send = self._request.notify
        if self._token is None or send is None or not self._last < progress < math.inf:
            return
        if not self._allowance.take() and progress != total:
            return
        self._last = progress
        params: Dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
