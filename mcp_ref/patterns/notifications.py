"""basic/patterns, what is sent beside requests and answers: progress, log messages, and that a request is cancelled.

Implements PROG-03, PROG-05, PROG-06, PROG-08, PROG-09; LOG-03 to LOG-06, LOG-09, LOG-17 (server/utilities/logging);
CANC-15 to CANC-17.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Dict, Optional

from ..base.log import log
from ..base.meta import LOG_LEVEL, LOG_LEVELS, PROGRESS_TOKEN
from ..base.request import Request
from ..lib.text import shown
from ..lib.token_bucket import TokenBucket

CANCELLED = "notifications/cancelled"
BURST = 32
PER_SECOND = 50
"""What a TokenBucket lets through: so many at once, and so many a second from then on."""
OWN = dict(zip(LOG_LEVELS, (10, 20, 20, 30, 40, 50, 50, 50)))
"""The levels of Python's logging that those of RFC 5424 are written at."""
LONGEST = 1000
"""Characters of a message in the server's own log."""


class Cancelled(BaseException):
    """Ends a handler whose request was cancelled; raised by `ctx.check_cancelled()` and by whatever sends.

    It derives from BaseException so that a handler's `except Exception` does not carry on with work nobody wants.
    """


class Progress:
    """The progress of one request: strictly increasing, within a TokenBucket.

    The last step (progress equal to total) is never held back. Without a token nothing is sent. How far it is stands in
    the Request, which several attempts share in the eras before 2026-07-28.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._token = request.meta.get(PROGRESS_TOKEN)
        self._bucket = TokenBucket(BURST, PER_SECOND)

    def report(self, progress: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Send notifications/progress, unless there is no token, no increase, or too much was sent already."""
        if not all(isinstance(each, (int, float)) and not isinstance(each, bool)
                   for each in (progress, 0 if total is None else total)):
            raise TypeError(f"progress and total are numbers, not {progress!r} and {total!r}")
        if total is not None and not -math.inf < total < math.inf:
            raise ValueError(f"a total is finite, or left out where it is not known, not {total!r}")
        if not isinstance(message, (str, type(None))):
            raise TypeError(f"the message of a progress is a text, not {shown(message)}")
        send = self._request.notify
        if self._token is None or send is None or not self._request.progress < progress < math.inf:
            return
        if not self._bucket.take() and progress != total:
            return
        self._request.progress = progress
        params: Dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


@lru_cache(maxsize=None)
def advise() -> None:
    """Say, once in a process, how what handlers log gets to clients."""
    log.warning("what handlers log is written here; Server(…, logging=True) sends it to clients that ask for it")


class RequestLog:
    """Sends notifications/message on the response stream of one request, at or above the level its `_meta` names.

    Without that field nothing is sent (LOG-03). Where the capability is not declared nothing is either (LOG-04), and
    the server's own log has it. Beyond the TokenBucket messages below `error` are dropped.
    """

    def __init__(self, request: Request, declared: bool) -> None:
        self._request, self._declared = request, declared
        level = request.meta.get(LOG_LEVEL)
        self._least: Optional[int] = None if level is None else LOG_LEVELS.index(level)
        self._bucket = TokenBucket(BURST, PER_SECOND)

    def send(self, level: str, data: Any, logger: Optional[str] = None) -> None:
        """level: one of the eight of RFC 5424. data: any JSON value, without secrets. Raises ValueError, TypeError."""
        if level not in LOG_LEVELS:
            raise ValueError(f"a log level is one of {', '.join(LOG_LEVELS)}, not {level!r}")
        if not isinstance(logger, (str, type(None))):
            raise TypeError(f"the logger is a text that names it, not {shown(logger)}")
        if not self._declared:
            advise()
            text = data[:LONGEST] if isinstance(data, str) else shown(data, LONGEST)
            return log.log(OWN[level], "%s: %s", logger or shown(self._request.method), text)
        rank = LOG_LEVELS.index(level)
        send = self._request.notify
        if self._least is None or rank < self._least or send is None:
            return
        if not self._bucket.take() and rank < LOG_LEVELS.index("error"):
            return
        params: Dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
