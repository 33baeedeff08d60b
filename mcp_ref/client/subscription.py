"""basic/patterns/subscriptions, the client's side: one open stream of notifications.

Implements SUBS-04 (what was honoured is there to be compared), CANC-18, and the client's side of HTTP-20, SUBS-02 and
SUBS-06.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any, ContextManager, Dict, Iterator, Optional, Protocol, Set, Tuple

from ..base.errors import BrokenOff, McpError, TransportError
from ..base.meta import SUBSCRIPTION_ID
from ..base.request import RequestId
from ..lib.text import shown
from ..patterns.subscriptions import ACKNOWLEDGED
from ..transports.calls import Deadline, Silence
from .responses import result_of, same_id


class Channel(Protocol):
    """What a transport's answer comes through. deadline: of each wait. hang_up: ends it, from any thread."""

    deadline: Deadline

    def hang_up(self) -> None:
        """End it."""


Opened = ContextManager[Tuple[Channel, Iterator[Any]]]


class Listener:
    """A subscription that the server has acknowledged: an iterator of its notifications, as dicts, and a context
    manager that closes it.

    id: that of the listen request, which each of its messages carries. honoured: the part of the filter that the
    server agreed to. The iteration ends when the server ends the subscription in good order or `close` is called;
    otherwise it raises TransportError, Timeout after `idle` seconds of silence, or the ProtocolError that the server
    ended with. A message of any other subscription is passed over. open: the set in which it stands until then.
    """

    def __init__(self, answer: Opened, id: RequestId, silence: Silence, open: Set["Listener"]) -> None:
        self.id = id
        self._closed = False
        self._reading = threading.Lock()
        with ExitStack() as stack:
            self._exchange, self._messages = stack.enter_context(answer)
            self.honoured: Dict[str, Any] = self._acknowledged()
            self._exchange.deadline = silence
            self._stack = stack.pop_all()
        self._stack.callback(open.discard, self)
        open.add(self)

    def close(self) -> None:
        """Cancel the subscription by closing its connection, from any thread; the iteration ends at once."""
        self._closed = True
        self._exchange.hang_up()
        if self._reading.acquire(blocking=False):  # otherwise the thread that reads finds the end, and tidies up
            try:
                self._stack.close()
            finally:
                self._reading.release()

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> "Listener":
        return self

    def __next__(self) -> Dict[str, Any]:
        message: Optional[Dict[str, Any]] = None
        with self._reading:
            try:
                message = None if self._closed else self._next()
            except McpError:
                if not self._closed:
                    raise
            finally:
                if message is None:
                    self._closed = True
                    self._stack.close()
        if message is None:
            raise StopIteration
        return message

    def _next(self) -> Optional[Dict[str, Any]]:
        """The next notification of this subscription; None once the server has ended it in good order."""
        for message in self._messages:
            if not isinstance(message, dict) or "method" not in message:
                result_of(message, self.id)
                return None
            if "id" not in message and self._is_ours(message):
                return message
        raise BrokenOff("the server broke the subscription off")

    def _acknowledged(self) -> Dict[str, Any]:
        """The filter of the acknowledgment, which comes before anything else. Raises what refuses the subscription."""
        first = next(self._messages, None)
        if isinstance(first, dict) and "method" not in first:
            result_of(first, self.id)
        elif isinstance(first, dict) and first["method"] == ACKNOWLEDGED and self._is_ours(first):
            honoured = first["params"].get("notifications")
            if isinstance(honoured, dict):
                return honoured
        raise TransportError(f"a subscription begins with the acknowledgment of its id, not with {shown(first)}")

    def _is_ours(self, message: Dict[str, Any]) -> bool:
        params = message.get("params")
        fields = params.get("_meta") if isinstance(params, dict) else None
        return isinstance(fields, dict) and same_id(fields.get(SUBSCRIPTION_ID), self.id)
