"""basic/patterns/progress and server/utilities/logging: the notifications that come ahead of a response.

Implements PROG-01, PROG-02, PROG-07 and the receiver's half of LOG-17. A notification that is malformed, of another
request or of a kind unknown here is passed over: a notification is never answered, and no reason to fail a request.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Optional

from ..base.meta import LOG_LEVELS

OnProgress = Callable[[float, Optional[float], Optional[str]], None]
OnLog = Callable[[str, Any, Optional[str]], None]


class Heard:
    """Hands the notifications of one request on.

    token: its progressToken, None without. on_progress: called with progress, total and message, the last two None
    where not given. on_log: called with level, data and the logger's name, None where not given.
    """

    def __init__(self, token: Any, on_progress: Optional[OnProgress], on_log: Optional[OnLog]) -> None:
        self._token, self._on_progress, self._on_log = token, on_progress, on_log

    def __call__(self, message: Dict[str, Any]) -> None:
        """Hand on one notification."""
        params = message.get("params")
        if not isinstance(params, dict):
            return
        if message["method"] == "notifications/progress" and self._on_progress is not None:
            self._progress(params, self._on_progress)
        elif message["method"] == "notifications/message" and self._on_log is not None:
            logger = params.get("logger")
            if params.get("level") in LOG_LEVELS and "data" in params:
                self._on_log(params["level"], params["data"], logger if isinstance(logger, str) else None)

    def _progress(self, params: Dict[str, Any], on_progress: OnProgress) -> None:
        token, total, text = params.get("progressToken"), params.get("total"), params.get("message")
        if type(token) is not type(self._token) or token != self._token or not _is_number(params.get("progress")):
            return
        on_progress(params["progress"], total if _is_number(total) else None, text if isinstance(text, str) else None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
