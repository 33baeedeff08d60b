"""basic/patterns/cancellation, the caller's side: how long a request may take, and how it is ended from elsewhere.

Implements CANC-06 to CANC-08, CANC-10, CANC-11. Also what every transport of a client shares: the header fields that
go with a request, and its octets.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Union

from ..base.errors import CallCancelled, Timeout, TransportError
from ..lib.http1 import TOKEN
from ..lib.strict_json import encode
from ..lib.text import shown

MAX_SECONDS = 2_000_000.0
"""What poll() still takes in 32 bits of milliseconds, some 23 days."""
GLANCE = 0.05
"""Seconds between two looks at a handle while nothing is under way that could be broken off."""
OURS = frozenset(("accept", "accept-encoding", "connection", "content-length", "content-type", "transfer-encoding"))

Wire = Callable[[str, str], None]
Notified = Callable[[Dict[str, Any]], None]
Sent = Callable[[Mapping[str, str]], None]
Headers = Union[Mapping[str, str], Callable[[], Mapping[str, str]], None]


class CallHandle:
    """Cancels the requests that it is given to, as `handle=`, from any other thread.

    `cancel()` closes their connections at once, which tells the server that nobody waits for the answer; the thread
    that waits for it gets CallCancelled. So does every request that is given a cancelled handle, before it is sent.
    A callback that is answering the server's question is not interrupted: its answer is not sent.
    """

    def __init__(self) -> None:
        self._cancelled = False
        self._hang_ups: Dict[Callable[[], None], None] = {}
        self._lock = threading.Lock()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """End what is under way with this handle, and whatever would begin with it. Returns at once."""
        with self._lock:
            self._cancelled = True
            hang_ups = list(self._hang_ups)
        for hang_up in hang_ups:
            hang_up()

    def add(self, hang_up: Callable[[], None]) -> None:
        """Have a transport's `hang_up` called by `cancel`, from any thread. Raises CallCancelled where it was."""
        with self._lock:
            if self._cancelled:
                raise CallCancelled()
            self._hang_ups[hang_up] = None

    def discard(self, hang_up: Callable[[], None]) -> None:
        """What `add` was given is over."""
        with self._lock:
            self._hang_ups.pop(hang_up, None)


class Deadline:
    """The time that a request may take in all, or until its handle is cancelled.

    longest: the time that it may take in all, where every sign of progress renews `seconds`; None where none does.
    Raises ValueError unless both are a number above 0, and TypeError for a handle that is none.
    """

    def __init__(self, seconds: float, handle: Optional[CallHandle] = None, longest: Optional[float] = None) -> None:
        for given in (seconds,) if longest is None else (seconds, longest):
            if isinstance(given, bool) or not isinstance(given, (int, float)) or not given > 0:
                raise ValueError(f"a timeout is a number of seconds above 0, not {given!r}")
        if handle is not None and not isinstance(handle, CallHandle):
            raise TypeError(f"a handle is a CallHandle, not {handle!r}")
        self.longest = None if longest is None else float(min(longest, MAX_SECONDS))
        self.seconds = float(min(seconds, MAX_SECONDS if longest is None else longest, MAX_SECONDS))
        self.handle = handle
        self._end = time.monotonic() + self.seconds
        self._last = self._end - self.seconds + (self.longest or self.seconds)
        self._lock, self._holds = threading.Lock(), 0
        self._held: Optional[float] = None

    @property
    def endless(self) -> bool:
        """Whether neither time nor handle can end the request before its answer does."""
        return self.seconds == MAX_SECONDS and self.handle is None

    def left(self, needed: float = 0.0) -> float:
        """The seconds left, more than `needed`. Raises Timeout when there are not so many, and CallCancelled."""
        if self.handle is not None and self.handle.cancelled:
            raise CallCancelled()
        left = self._end - (self._held or time.monotonic())
        if left <= needed:
            raise self.error()
        return left

    def pause(self, seconds: float, ended: threading.Event) -> None:
        """Wait so long, or until `ended` is set. Raises what `left` does, at once where the time does not suffice."""
        self.left(seconds)
        until = time.monotonic() + seconds
        while seconds > 0 and not ended.wait(seconds if self.handle is None else min(seconds, GLANCE)):
            self.left()
            seconds = until - time.monotonic()

    def extend(self, seconds: float) -> None:
        """Move the end by so much."""
        self._end += seconds
        self._last += seconds

    def renew(self) -> None:
        """There is progress: the time begins anew, up to the longest."""
        with self._lock:
            self._end = max(self._end, min((self._held or time.monotonic()) + self.seconds, self._last))

    @contextmanager
    def on_hold(self) -> Iterator[None]:
        """The clock stands still meanwhile: what a person takes to answer is not the server's time."""
        with self._lock:
            self._holds += 1
            self._held = self._held or time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._holds -= 1
                if not self._holds and self._held is not None:
                    self.extend(time.monotonic() - self._held)
                    self._held = None

    def waited(self) -> None:
        """A wait as long as `left` said is over. Raises Timeout, unless the end was moved meanwhile."""
        self.left()

    def error(self) -> Timeout:
        """The Timeout that tells how long was waited."""
        if self.longest is not None and self._end >= self._last:
            return Timeout(f"no answer within {self.longest:g} s, whatever its progress")
        return Timeout(f"no answer within {self.seconds:g} s" + (", nor progress" if self.longest else ""))


class Silence(Deadline):
    """The time that may pass between two pieces of a stream that stays open; the whole has no end."""

    def left(self, needed: float = 0.0) -> float:
        """The whole time, at every read."""
        return self.seconds

    def waited(self) -> None:
        """Nothing came for so long. Raises Timeout."""
        raise self.error()

    def error(self) -> Timeout:
        """The Timeout that tells how long the stream was silent."""
        return Timeout(f"nothing came for {self.seconds:g} s")


def checked_headers(headers: Mapping[str, str]) -> Dict[str, str]:
    """The headers a caller may add. Raises ValueError for a malformed one, and for one that the protocol sets."""
    made: Dict[str, str] = {}
    for name, value in headers.items():
        if not isinstance(name, str) or not re.fullmatch(TOKEN, name):
            raise ValueError(f"{shown(name)} is no header name")
        if not isinstance(value, str) or not all(" " <= c <= "~" or c == "\t" or "\xa0" <= c <= "\xff" for c in value):
            raise ValueError(f"the value of the header {name} holds characters that no header can")
        if name.lower().startswith("mcp-") or name.lower() in OURS:
            raise ValueError(f"the header {name} is set by the protocol")
        made[name] = value.strip(" \t")
    return made


def header_source(headers: Headers) -> Callable[[], Dict[str, str]]:
    """What gives the caller's headers for one request: checked once, or made and checked for each by a callable.

    Raises ValueError as `checked_headers` does, at once or at each request.
    """
    if callable(headers):
        make = headers
        return lambda: checked_headers(make() or {})
    fixed = checked_headers(headers or {})
    return lambda: fixed


def encoded(message: Mapping[str, Any]) -> bytes:
    """The octets of a request. Raises TransportError for what is not JSON, before anything is sent."""
    try:
        return encode(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise TransportError(f"not sent: the request is not JSON: {error}") from None
