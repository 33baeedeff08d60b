"""What is bounded in sum, over all connections of one server.

Beyond what each connection may do, `Limits` bounds what they may do together. All of it belongs to the loop's thread.

    large bodies     one beyond SMALL has room reserved before it is read, and keeps it until its answer is sent. Where
                     there is none, its reading waits in order, while `arrive` goes on and ends in a 503
    all other input  half-read heads, small bodies, what came early: counted as it is held. Beyond half as much, the
                     connection that has held some for the longest gives way, which is never one that is quick
    decoding         a large body costs many times its octets while it is decoded: DECODERS at once, the others wait.
                     One that takes more than a second is decoded by then, and busy in its handler
"""

from __future__ import annotations

import collections
import gc
import sys
import time
from typing import Any, Deque, Dict, Protocol, Tuple

from ..lib.http1 import Head
from .endpoint import MAX_BODY
from .loop import Loop, Then, Work

SMALL = 64 * 1024
"""Octets of a body that needs no reservation, and is decoded on the loop."""
DECODERS = 2
DECODED = 1.0
"""Seconds within which any body is decoded."""
QUICK = 0.002
"""Seconds within which a call that was slow before counts as quick again."""
MAX_SLOW = 1024


COUNTED = sys.implementation.name == "cpython"
"""Whether what is over is freed at once. Elsewhere a body of 4 MB leaves some 15 MB behind until it is collected."""


class Limits:
    """Bounds of the transport, in seconds, octets and counts.

    connections: open at once; beyond, the one that is idle longest gives way, and where none is, one more is told 503.
    idle: how long a kept connection may be silent. arrive: how long a request may take to arrive. write: how long the
    peer may take none of an answer. grace: how long answers under way may take once the server is stopping. drain:
    octets of a refused body that are read away to keep the connection; with more, it is closed. linger: how long a
    client that was refused may go on sending until it is cut off. max_body: octets of one body, one of more is told
    413. bodies: octets of all large bodies that are arriving or being served, and twice what is held of all other
    requests; beyond, reading waits. handlers: slow ones at once, more wait. awake: how long a connection that is the
    only one is looked at for its next request before its thread sleeps.
    """

    def __init__(self, connections: int = 10_000, idle: float = 75.0, arrive: float = 20.0, write: float = 20.0,
                 grace: float = 5.0, drain: int = 64 * 1024, linger: float = 5.0, max_body: int = MAX_BODY,
                 bodies: int = 64 * 1024 * 1024, handlers: int = 64, awake: float = 150e-6) -> None:
        self.connections, self.idle, self.arrive, self.write = connections, idle, arrive, write
        self.grace, self.drain, self.linger, self.handlers = grace, drain, linger, handlers
        self.max_body, self.bodies, self.awake = max_body, bodies, awake


class Reader(Protocol):
    """What the bounds know of a connection. reserved, held: octets counted for it; both are set here alone."""

    reserved: int
    held: int

    def room_came(self) -> None:
        """The room that was asked for is there."""

    def too_late(self) -> None:
        """Its time is over."""


class Room:
    """The octets of requests that are held in memory. bound: of large bodies; half as many of all else."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._reserved = self._held = self._left_behind = 0
        self._waiting: Dict[Any, int] = {}
        self._holders: Dict[Any, None] = {}  # in the order in which they began to hold something

    def reserve(self, reader: Reader, octets: int) -> bool:
        """Whether there is room for a body of so many octets; if not, `room_came` is called once there is."""
        if self._waiting or not self._fits(octets):
            self._waiting[reader] = octets
            return False
        self._give(reader, octets)
        return True

    def _give(self, reader: Reader, octets: int) -> None:
        self.hold(reader, 0)
        self.keep(reader, octets)

    def _fits(self, octets: int) -> bool:
        return not self._reserved or self._reserved + octets <= self._bound  # one alone always does

    def keep(self, reader: Reader, octets: int) -> None:
        """Count octets that are there, room or no room."""
        self._reserved += octets - reader.reserved
        reader.reserved = octets

    def release(self, reader: Reader) -> None:
        """The request is over: its room goes to those that wait."""
        if self._waiting:
            self._waiting.pop(reader, None)
        if reader.reserved:
            self._left_behind += reader.reserved
            self.keep(reader, 0)
        if self._left_behind > self._bound // 4 and not COUNTED:
            self._left_behind = 0
            gc.collect()
        while self._waiting:
            waiting, octets = next(iter(self._waiting.items()))
            if not self._fits(octets):
                return
            del self._waiting[waiting]
            self._give(waiting, octets)
            waiting.room_came()

    def hold(self, reader: Reader, octets: int) -> None:
        """Count what is held of a request that is not whole; where that is too much in sum, the longest gives way."""
        self._held += octets - reader.held
        reader.held = octets
        if octets:
            self._holders[reader] = None
        else:
            self._holders.pop(reader, None)
        while self._held > self._bound // 2 and len(self._holders) > 1:
            longest = next(iter(self._holders))
            del self._holders[longest]
            self._held -= longest.held
            longest.held = 0
            longest.too_late()


class Decoding:
    """Large bodies, a few at a time: each is served on a thread of its own, from its decoding on."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._waiting: Deque[Work] = collections.deque()
        self._begun: Dict[Work, float] = {}

    def submit(self, work: Work) -> None:
        """Do this work once there is a place."""
        self._waiting.append(work)
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and len(self._begun) < DECODERS:
            work = self._waiting.popleft()
            self._begun[work] = time.monotonic()
            self._loop.submit(self._ended(work))

    def _ended(self, work: Work) -> Work:
        def wrapped() -> Then:
            then = work()

            def ended() -> None:
                self._begun.pop(work, None)
                self._go_on()
                then()
            return ended
        return wrapped

    def check(self, now: float) -> None:
        """Who has been at it for long is decoded by now."""
        for work, begun in list(self._begun.items()):
            if now - begun > DECODED:
                del self._begun[work]
        self._go_on()


class Slow:
    """What is known to be slow, by the method and the name that a head says: it does not begin on the loop.

    Of a URI it is all up to the last slash, since what follows tends to be one of many.
    """

    def __init__(self) -> None:
        self._known: Dict[Tuple[str, str], None] = {}

    @staticmethod
    def _called(head: Head) -> Tuple[str, str]:
        name = head.headers.get("mcp-name", "")
        return head.headers.get("mcp-method", ""), name.rpartition("/")[0] or name

    def __contains__(self, head: Head) -> bool:
        return bool(self._known) and self._called(head) in self._known

    def add(self, head: Head) -> None:
        """It took so long that another thread had to take the loop over."""
        self._known[self._called(head)] = None
        if len(self._known) > MAX_SLOW:
            del self._known[next(iter(self._known))]

    def took(self, head: Head, seconds: float) -> None:
        """It took `seconds` on a thread of its own: if that was short, it goes back to the loop."""
        if seconds < QUICK:
            self._known.pop(self._called(head), None)


