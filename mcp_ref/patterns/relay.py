"""basic/patterns/subscriptions, across processes: a change announced in one reaches the streams of all.

Several processes that serve one server, workers or hosts, share a Bus. Each tells its own streams at once and puts the
news on the bus; whoever hears it there tells theirs. The news names the process that it comes from, so that a bus may
hand it back to its sender: no stream is told twice. A process hears the bus from the first request that it serves, and
so before any stream of its own is acknowledged; this is asked with each request, since a process may have been forked.

What a handler registers at run time stays in its process: the bus carries the news, not the tool.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Callable, Optional, Protocol

from ..base.log import log
from ..lib.strict_json import NotJson, decode, encode
from .subscriptions import LIST_CHANGED, RESOURCE_UPDATED, Subscriptions

RETRY = 1.0
"""Seconds until a bus that could not be subscribed to is asked again."""


class Bus(Protocol):
    """What carries octets to every process that serves the same server. Both methods are called from any thread.

    Each message arrives once and whole at each subscriber, those of one publisher in order; it may come back to its
    publisher too. What either method raises is logged, and the process goes on with its own streams alone.
    """

    def publish(self, message: bytes) -> None:
        """Hand this to all who subscribed, in whatever process."""

    def subscribe(self, hear: Callable[[bytes], None]) -> None:
        """Call `hear` with each message from now on, on any thread of this process; it does not wait."""


class Relay:
    """Between the streams of one process (`hub`) and those of all others. bus: None for a process that is alone."""

    def __init__(self, hub: Subscriptions, bus: Optional[Bus] = None) -> None:
        self._hub, self.bus = hub, bus
        self._made = os.urandom(8).hex()
        self._lock = threading.Lock()
        self._heard_by = 0  # the process that hears the bus
        self._again = 0.0

    def _self(self) -> str:
        return f"{self._made}.{os.getpid()}"  # of a fork, the second half differs

    def announce(self, method: str, uri: Optional[str] = None) -> None:
        """Send a notification to every stream that asked for it, in every process. uri: of an updated resource."""
        self._hub.publish(method, uri)
        if self.bus is not None:
            try:
                self.bus.publish(encode({"from": self._self(), "method": method, "uri": uri}))
            except Exception:
                log.exception("%s did not get to the other processes", method)

    def attend(self) -> None:
        """Hear the bus in this process, from the first call on."""
        if self._heard_by == os.getpid() or time.monotonic() < self._again:
            return
        with self._lock:
            if self._heard_by == os.getpid():
                return
            try:
                if self.bus is not None:
                    self.bus.subscribe(self._hear)
                self._heard_by = os.getpid()
            except Exception:
                self._again = time.monotonic() + RETRY
                log.exception("what other processes announce is not heard")

    def _hear(self, message: bytes) -> None:
        """Tell the streams of this process what another one announced; what is no news of ours is passed over."""
        try:
            news = decode(message)
        except NotJson:
            return log.debug("octets on the bus that are no JSON")
        if not isinstance(news, dict) or news.get("from") == self._self():
            return
        method, uri = news.get("method"), news.get("uri")
        if method == RESOURCE_UPDATED and isinstance(uri, str):
            self._hub.publish(RESOURCE_UPDATED, uri)
        elif method in LIST_CHANGED.values():
            self._hub.publish(str(method))
