"""basic/patterns/subscriptions, the client's side: one open stream of notifications.

Implements SUBS-04 (what was honoured is there to be compared), SUBS-08, CANC-18, and the client's side of HTTP-20,
SUBS-02 and SUBS-06.

One that is to last (`reconnect=True`) is opened anew when its connection is lost, after pauses that grow, and when the
server ends it with the access token that it was opened with, which the next request renews. What changed
meanwhile nobody can tell, so the iteration then tells all that it may have been, in the words of the server: one
notification for each list and resource that was followed. Who fetches anew what is told needs nothing else.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Mapping, Optional, Protocol, Set, Tuple

from ..base.errors import PASSING, AuthorizationError, BrokenOff, McpError, Timeout, TransportError, Unreachable
from ..base.meta import SUBSCRIPTION_ID
from ..base.request import RequestId
from ..lib.text import shown
from ..patterns.subscriptions import ACKNOWLEDGED, LIST_CHANGED, RESOURCE_UPDATED
from ..transports.calls import CallHandle, Deadline, Silence
from .responses import result_of, same_id

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before a subscription is opened anew, at first and after several attempts; less by up to a half."""
ATTEMPTS = 10
"""Of these in a row, without a message or a stream that held for LONGEST_PAUSE, the last is the last."""
ABOUT = 5.0
"""Seconds by which two sides may differ about when a token is over."""


class Channel(Protocol):
    """What a transport's answer comes through. deadline: of each wait. until: when the token that it was asked for with
    is over, in epoch seconds. hang_up: ends it, from any thread."""

    deadline: Deadline
    until: Optional[float]

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

    hear: called with each notification before it is handed on. reopened: how often it was opened anew.
    """

    def __init__(self, answer: Opened, id: RequestId, silence: Silence, open: Set["Listener"]) -> None:
        self.id = id
        self.hear: Callable[[Dict[str, Any]], None] = lambda _: None
        self.reopened, self._open, self._closed = 0, open, False
        self._begin: Optional[Callable[[], Listener]] = None
        self._handle, self._over = CallHandle(), threading.Event()
        self._attempts, self._since = 0, time.monotonic()
        self._missed: List[Dict[str, Any]] = []
        self._reading = threading.Lock()
        with ExitStack() as stack:
            self._exchange, self._messages = stack.enter_context(answer)
            self.honoured: Dict[str, Any] = self._acknowledged()
            self._exchange.deadline = silence
            self._stack = stack.pop_all()
        self._stack.callback(open.discard, self)
        open.add(self)

    def last(self, begin: "Callable[[], Listener]", handle: CallHandle) -> None:
        """Have it opened anew by `begin` whenever it is lost. handle: ends that."""
        self._begin, self._handle = begin, handle

    def close(self) -> None:
        """Cancel the subscription by closing its connection, from any thread; the iteration ends at once."""
        ended, self._closed = self._closed, True
        self._over.set()
        self._handle.cancel()
        if not ended:  # otherwise the connection may be another's by now
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
                    self._open.discard(self)
                    self._stack.close()
        if message is None:
            raise StopIteration
        self.hear(message)
        return message

    def _next(self) -> Optional[Dict[str, Any]]:
        """The next notification of this subscription; None once the server has ended it in good order."""
        while not self._missed:
            try:
                return self._read()
            except McpError as error:
                if self._closed or self._begin is None or not _passing(error):
                    raise
                self._take_up(self._begin, error)
        return self._missed.pop(0)

    def _read(self) -> Optional[Dict[str, Any]]:
        for message in self._messages:
            if not isinstance(message, dict) or "method" not in message:
                result_of(message, self.id)
                until = self._exchange.until
                if self._begin is not None and until is not None and until - ABOUT <= time.time():
                    raise BrokenOff("the server ended the subscription with the token that it was opened with")
                return None
            if "id" not in message and self._is_ours(message):
                self._attempts = 0
                return message
        raise BrokenOff("the server broke the subscription off")

    def _take_up(self, begin: "Callable[[], Listener]", error: McpError) -> None:
        """Open it anew, and note what may have been missed. Raises what ended it, or what the last attempt met."""
        import random

        self._stack.close()
        self._open.add(self)  # so that the client's end is this one's too
        if time.monotonic() - self._since >= LONGEST_PAUSE:
            self._attempts = 0
        while self._attempts < ATTEMPTS:
            pause = min(FIRST_PAUSE * 2**self._attempts, LONGEST_PAUSE) * random.uniform(0.5, 1)
            self._attempts += 1
            if self._over.wait(pause):
                break
            try:
                other = begin()
            except McpError as met:
                if self._closed or not _passing(met):
                    raise
                error = met
            else:
                return self._become(other)
        raise error

    def _become(self, other: "Listener") -> None:
        before, self.honoured = self.honoured, other.honoured
        self.id, self._exchange, self._messages = other.id, other._exchange, other._messages
        self._stack = other._stack.pop_all()
        self._stack.callback(self._open.discard, self)
        self._open.discard(other)
        self.reopened, self._since = self.reopened + 1, time.monotonic()
        self._missed = [{**each, "params": {**each["params"], "_meta": {SUBSCRIPTION_ID: self.id}}}
                        for each in all_changed(before, self.honoured)]

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


def all_changed(*filters: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The notifications that all that the filters honour has changed."""
    listed = [LIST_CHANGED[name] for name in LIST_CHANGED if any(each.get(name) is True for each in filters)]
    uris = dict.fromkeys(uri for each in filters for uri in each.get("resourceSubscriptions") or ())
    return [*({"jsonrpc": "2.0", "method": method, "params": {}} for method in listed),
            *({"jsonrpc": "2.0", "method": RESOURCE_UPDATED, "params": {"uri": uri}} for uri in uris)]


def _passing(error: McpError) -> bool:
    """Whether it says that the server is not there, and not that it will not."""
    return (isinstance(error, (BrokenOff, Timeout, Unreachable)) or getattr(error, "status", 0) in PASSING
            or isinstance(error, AuthorizationError) and error.passing)
