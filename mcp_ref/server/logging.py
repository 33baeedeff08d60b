"""server/utilities/logging: log messages of one request, to the client that asked for them.

Implements LOG-03 to LOG-07, LOG-09, LOG-17.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ..base.meta import LOG_LEVEL, LOG_LEVELS
from ..base.request import Request
from ..patterns.allowance import Allowance
from ..patterns.progress import BURST, PER_SECOND


class RequestLog:
    """Sends notifications/message on the response stream of one request, at or above the level its `_meta` names.

    Without that field, or where the capability is not declared, nothing is sent (LOG-03, LOG-04). Beyond the Allowance
    messages below `error` are dropped.
    """

    def __init__(self, request: Request, declared: bool) -> None:
        self._request = request
        level = request.meta.get(LOG_LEVEL) if declared else None
        self._least: Optional[int] = None if level is None else LOG_LEVELS.index(level)
        self._allowance = Allowance(BURST, PER_SECOND)

    def send(self, level: str, data: Any, logger: Optional[str] = None) -> None:
        """level: one of the eight of RFC 5424. data: any JSON value, without secrets. Raises ValueError."""
        if level not in LOG_LEVELS:
            raise ValueError(f"a log level is one of {', '.join(LOG_LEVELS)}, not {level!r}")
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
