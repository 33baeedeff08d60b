"""basic/transports/stdio, Receiving Messages: what a server sends over a channel that all of its requests share.

Implements CANC-02, CANC-03, CANC-14.

Whoever has something to send while nobody is sending is the writer, and others put what they have into the outbox: so
one thread at most waits for a slow reader, and a message goes out whole. What is in there of a request that is
cancelled is never written. A subscription stands in it once, and is asked for its messages when its turn comes; it ends
with its response and then what this page has for it, notifications/cancelled, whether the server ends it or it overran.
"""

from __future__ import annotations

import collections
import select
import threading
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, Deque, Iterator, List, NamedTuple, Optional, Protocol

from ..base.errors import InternalError
from ..base.request import Request
from ..lib.strict_json import encode
from ..patterns.notifications import CANCELLED, Cancelled
from ..patterns.subscriptions import Subscription
from .loop import Loop, Then, nothing

MUCH = 4 * 1024 * 1024
"""Octets unread beyond which nothing more is read. Who sends notifications waits beyond half as many, so that their
cancellation is heard."""
AT_ONCE = 64 * 1024


class Channel(Protocol):
    """What the outbox asks of the connection that it is of."""

    loop: Loop

    def end(self, request: Request) -> None:
        """Its last message is being written."""

    def room_came(self) -> None:
        """It was full, and some of it is written."""

    def lose(self) -> None:
        """The reader is gone."""


class Piece(NamedTuple):
    """What waits to be written: a message, or whatever a subscription has by then. last: whether the request is over
    with it."""

    request: Optional[Request]
    octets: bytes
    last: bool
    news: Optional[Subscription] = None


class Outbox:
    """The messages on their way into `sink`, from any thread. changed: has the lock, and is told of what changes.

    writing: whether somebody is. gone: whether nobody reads any more.
    """

    def __init__(self, sink: BinaryIO, channel: Channel, changed: threading.Condition) -> None:
        self.writing = self.gone = False
        self._sink: Any = sink
        self._channel, self._changed = channel, changed
        self._pieces: Deque[Piece] = collections.deque()
        self._unsent = 0

    @property
    def full(self) -> bool:
        """Whether much is unread."""
        return self._unsent > MUCH

    def put(self, request: Optional[Request], octets: bytes, last: bool = False, wait: bool = False,
            here: bool = True) -> None:
        """Have a message written after all that waits. last: the request is over with it. wait: while much is unread.
        here: by this thread, if nobody is writing. Raises Cancelled when the reader is gone, or the request is."""
        self._put(Piece(request, octets, last), wait, here)

    def listen(self, request: Request, subscription: Subscription) -> None:
        """Write what a subscription has, now and whenever it has something."""
        self._wake(request, subscription)
        if request.cancelled:
            subscription.close()

    def _wake(self, request: Request, subscription: Subscription) -> None:
        """It stands among the pieces until its turn comes, and wakes nobody till then. Called with its lock held, so
        that nothing is taken here."""
        subscription.wake = None
        with suppress(Cancelled):
            self._put(Piece(request, b"", False, subscription), wait=False, here=False)

    def _put(self, piece: Piece, wait: bool, here: bool) -> None:
        with self._changed:
            while wait and self._unsent > MUCH // 2 and not self._forsaken(piece):
                self._changed.wait()
            if self._forsaken(piece):
                raise Cancelled()
            self._pieces.append(piece)
            self._unsent += len(piece.octets)
            if self.writing:
                return
            self.writing = True
        if here:
            self._write()
        else:
            self._channel.loop.submit(self._write)

    def _forsaken(self, piece: Piece) -> bool:
        return self.gone or piece.request is not None and piece.request.cancelled

    def _write(self) -> Then:
        """Write some of what waits; whoever has a message of its own does no more than that."""
        pieces: List[Piece] = []
        size = 0
        with self._changed:
            full = self.full
            while self._pieces and size < AT_ONCE:
                pieces.append(self._pieces.popleft())
                size += len(pieces[-1].octets)
            self._unsent -= size
            self._changed.notify_all()
        try:
            self._write_out(b"".join(octets + b"\n" for piece in pieces for octets in self._messages(piece)))
        except (OSError, ValueError):  # the second for a stream that is closed
            self._channel.lose()
        with self._changed:
            self.writing = more = bool(self._pieces)
            self._changed.notify_all()
        if more:
            self._channel.loop.submit(self._write)
        if full:
            self._channel.room_came()
        return nothing

    def _messages(self, piece: Piece) -> Iterator[bytes]:
        request = piece.request
        if request is not None and request.cancelled:
            return
        if request is not None and piece.last:
            self._channel.end(request)
        if piece.news is None:
            yield piece.octets
        elif request is not None:
            # First, so that whoever queues something after the look at it calls again.
            piece.news.wake = partial(self._wake, request, piece.news)
            yield from self._news(request, piece.news)

    def _news(self, request: Request, subscription: Subscription) -> Iterator[bytes]:
        ended, reason = subscription.ended, "the server ends it"  # asked first: what was queued before is then taken
        yield from subscription.take()
        if subscription.overrun:
            reason = "more was to be told than was read"
            error = InternalError(f"The subscription has ended: {reason}")
            yield encode({"jsonrpc": "2.0", "id": request.id, "error": error.body()})
            subscription.close()
        elif not ended:
            return
        self._channel.end(request)
        params = {"requestId": request.id, "reason": reason}
        yield encode({"jsonrpc": "2.0", "method": CANCELLED, "params": params})

    def _write_out(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = self._sink.write(left)
            if written is None:  # it is set not to block, by whoever shares it
                select.select([], [self._sink], [])
            else:
                left = left[written:]
        self._sink.flush()

    def close(self) -> None:
        """Nothing more is written, and nobody waits."""
        with self._changed:
            self.gone = True
            self._pieces.clear()
            self._unsent = 0
            self._changed.notify_all()
