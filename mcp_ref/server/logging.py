"""server/utilities/logging: log messages of one request, to the client that asked for them, or to the server's log.

Implements LOG-03 to LOG-07, LOG-09, LOG-17.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Dict, Optional

from ..base.jsonrpc import shown
from ..base.log import log
from ..base.meta import LOG_LEVEL, LOG_LEVELS
from ..base.request import Request
from ..patterns.allowance import Allowance
from ..patterns.progress import BURST, PER_SECOND

OWN = dict(zip(LOG_LEVELS, (10, 20, 20, 30, 40, 50, 50, 50)))
"""The levels of Python's logging that those of RFC 5424 are written at."""
LONGEST = 1000
"""Characters of a message in the server's own log."""


@lru_cache(maxsize=None)
def advise() -> None:
    """Say, once in a process, how what handlers log gets to clients."""
    log.warning("what handlers log is written here; Server(…, logging=True) sends it to clients that ask for it")


class RequestLog:
    """Sends notifications/message on the response stream of one request, at or above the level its `_meta` names.

    Without that field nothing is sent (LOG-03). Where the capability is not declared nothing is either (LOG-04), and
    the server's own log has it. Beyond the Allowance messages below `error` are dropped.
    """

    def __init__(self, request: Request, declared: bool) -> None:
        self._request, self._declared = request, declared
        level = request.meta.get(LOG_LEVEL)
        self._least: Optional[int] = None if level is None else LOG_LEVELS.index(level)
        self._allowance = Allowance(BURST, PER_SECOND)

    def send(self, level: str, data: Any, logger: Optional[str] = None) -> None:
        """level: one of the eight of RFC 5424. data: any JSON value, without secrets. Raises ValueError."""
        if level not in LOG_LEVELS:
            raise ValueError(f"a log level is one of {', '.join(LOG_LEVELS)}, not {level!r}")
        if not self._declared:
            advise()
            text = data[:LONGEST] if isinstance(data, str) else shown(data, LONGEST)
            return log.log(OWN[level], "%s: %s", logger or shown(self._request.method), text)
        rank = LOG_LEVELS.index(level)
        send = self._request.notify
        if self._least is None or rank < self._least or send is None:
            return
        if not self._allowance.take() and rank < LOG_LEVELS.index("error"):
            return
        params: Dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
