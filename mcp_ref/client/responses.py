"""basic/index, Responses: what arrives for a request, checked before anybody gets to see it; and what comes ahead.

Implements BASE-09 to BASE-11, BASE-17, PROG-01, PROG-02, PROG-07 and the receiver's half of LOG-17.
"""

from __future__ import annotations

import itertools
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Set

from ..base.errors import TransportError, received
from ..base.log import log
from ..base.meta import LOG_LEVELS, PROGRESS_TOKEN
from ..base.request import RequestId
from ..lib.text import shown
from ..transports.calls import Deadline

COMPLETE, INPUT_REQUIRED = "complete", "input_required"
IDENTIFIED = {"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}
"""The member by which each kind of listed item is called or read."""


class OtherId(TransportError):
    """A response to a request that was not sent."""


OnProgress = Callable[[float, Optional[float], Optional[str]], None]
OnLog = Callable[[str, Any, Optional[str]], None]


def result_of(message: Any, request_id: RequestId) -> Dict[str, Any]:
    """The result of the response to the request of that id.

    Raises the ProtocolError that the response carries, or TransportError for what is no response to this request. An
    error may lack the id, or have null, where the server could not read it; a result may not.
    """
    if isinstance(message, list):
        raise TransportError("the server answered with a JSON array where one response object belongs")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or "method" in message:
        raise TransportError(f"the server answered with what is no JSON-RPC 2.0 response: {shown(message)}")
    if ("result" in message) == ("error" in message):
        raise TransportError("the server's response must have either a result or an error")
    given = message.get("id")
    if given is None and "error" in message:
        given = request_id
    if not same_id(given, request_id):
        raise OtherId(f"the server's response has the id {shown(given)}, not {shown(request_id)}")
    if "error" in message:
        raise received(message["error"])
    result = message["result"]
    if not isinstance(result, dict):
        raise TransportError(f"the server's result must be an object, not {shown(result)}")
    kind = result.get("resultType", COMPLETE)
    if kind not in (COMPLETE, INPUT_REQUIRED):
        raise TransportError(f"the server's result has the unknown resultType {shown(kind)}")
    return result


def same_id(given: Any, ours: Any) -> bool:
    """Whether a peer's id or token is ours, its JSON type included: 1, "1", 1.0 and true are four."""
    return type(given) is type(ours) and bool(given == ours)


def items(result: Dict[str, Any], name: str) -> Any:
    """A member that a result must have, a list of objects. Raises TransportError."""
    listed = result.get(name)
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise TransportError(f"the server's result needs {name}, a list of objects")
    return listed


def listed(result: Dict[str, Any], name: str) -> List[Dict[str, Any]]:
    """The items of one page of a list. Those that nobody could use are left out, with one warning.

    name: the list's member, a key of IDENTIFIED. Raises TransportError where it is no list.
    """
    page, key = result.get(name), IDENTIFIED[name]
    if not isinstance(page, list):
        raise TransportError(f"the server's result needs {name}, a list")
    found: List[Dict[str, Any]] = []
    left_out: List[Any] = []
    for item in page:
        (found if isinstance(item, dict) and isinstance(item.get(key), str) else left_out).append(item)
    if left_out:
        log.warning("%d of the %s listed are left out: each needs %s, a text, and the first of them is %s",
                    len(left_out), name, key, shown(left_out[0]))
    return found


class Heard:
    """Hands the notifications ahead of one response on.

    token: the request's progressToken. on_progress: called with progress, total and message, the last two None where
    not given. on_log: called with level, data and the logger's name or None. What either raises is logged: to show
    how a request goes is no reason to fail it. Nor is a notification that is malformed, of another request or of a
    kind unknown here, which is passed over. renew: called at each progress, before on_progress.
    """

    def __init__(self, token: Any, on_progress: Optional[OnProgress], on_log: Optional[OnLog],
                 renew: Callable[[], None] = lambda: None) -> None:
        self.token, self._on_progress, self._on_log, self._renew = token, on_progress, on_log, renew

    def __call__(self, message: Dict[str, Any]) -> None:
        """Hand on one notification."""
        method, params = message["method"], message.get("params")
        if not isinstance(params, dict):
            return
        if method == "notifications/progress":
            token, progress = params.get("progressToken"), _number(params.get("progress"))
            if self.token is None or not same_id(token, self.token) or progress is None:
                return
            self._renew()
            if self._on_progress is not None:
                _tell("on_progress", self._on_progress, progress, _number(params.get("total")),
                      _text(params.get("message")))
        elif method == "notifications/message" and self._on_log is not None:
            if params.get("level") in LOG_LEVELS and "data" in params:
                _tell("on_log", self._on_log, params["level"], params["data"], _text(params.get("logger")))


class Tokens:
    """The progress tokens of requests under way, of which no two are one. Any number of threads may use it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._taken: Set[Any] = set()

    def hearing(self, fields: Dict[str, Any], on_progress: Optional[OnProgress], on_log: Optional[OnLog],
                deadline: Deadline) -> Heard:
        """What hears the notifications of one request, whose token is taken until `release`.

        fields: its `_meta`; a token is put in where they have none and one is of use. Raises ValueError for one that is
        neither a text nor an integer, and for one that is taken (PROG-01, PROG-02).
        """
        token = fields.get(PROGRESS_TOKEN)
        if type(token) not in (str, int) and PROGRESS_TOKEN in fields:
            raise ValueError(f"a progressToken is a text or an integer, not {shown(token)}")
        if token is not None or on_progress is not None or deadline.longest is not None:
            with self._lock:
                if token is None:
                    token = fields[PROGRESS_TOKEN] = next(each for each in self._numbers if each not in self._taken)
                elif token in self._taken:
                    raise ValueError(f"the progressToken {shown(token)} is that of another request under way")
                self._taken.add(token)
        return Heard(token, on_progress, on_log, deadline.renew)

    def release(self, heard: Heard) -> None:
        """The request is over."""
        self._taken.discard(heard.token)


def _tell(name: str, callback: Callable[..., None], *given: Any) -> None:
    try:
        callback(*given)
    except Exception:
        log.exception("the callback %s failed; the request goes on", name)


def _number(value: Any) -> Optional[float]:
    """A finite number within a double's range; integers of JSON may be any length."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if number and abs(value) <= sys.float_info.max else None


def _text(value: Any) -> Optional[str]:
    return value if isinstance(value, str) else None
