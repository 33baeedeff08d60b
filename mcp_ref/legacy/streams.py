"""basic/transports of 2025-11-25, Resumability and Redelivery: event streams that outlive their connection.

A Stream is what the server says in answer to one POST, or, as number 0, on the one GET stream of a session. Its events
are numbered, `<stream>-<number>`, and kept, within bounds, for a client that comes back with Last-Event-ID. Where a
request or a response is not kept any more that comes after that event, the stream cannot be taken up again there, since
somebody would wait for it in vain; a notification may be missing. A Reader is one connection on which a stream is read;
it may leave, or be sent away, and the stream goes on and is kept. One stream has one reader at most, so that no message
is sent twice.

All of it changes under the lock of Kept, which no call holds for long; a reader's `wake` is called with it held.
"""

from __future__ import annotations

import collections
import re
import threading
import time
from typing import Callable, Deque, Dict, Iterable, List, Optional

MAX_KEPT = 256 * 1024
"""Octets of events kept of one session, the oldest given up first."""
MAX_ALL = 64 * 1024 * 1024
"""Octets of events kept of all sessions; the one that was sent something longest ago loses its own first."""
MAX_WAITING = 256 * 1024
"""Octets that wait for a reader, beyond which nothing is added and it is hung up on."""
MAX_READERS = 4096
COST = 256
"""Octets that an event takes beside its message."""
RETRY = 1000
"""Milliseconds after which a client may come back."""

_EVENT_ID = r"(\d{1,9})-(\d{1,9})"


class Event(bytes):
    """A message, as JSON. number: its place in its stream, from 1. awaited: whether somebody waits for it."""

    number: int
    awaited: bool


class Kept:
    """What the streams of all sessions share. readers: how many are open; octets: how much is kept."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.readers = self.octets = 0
        self.holders: Dict[Streams, None] = {}  # in the order in which they were last given something

    @property
    def full(self) -> bool:
        """Whether there are as many readers as may be."""
        return self.readers >= MAX_READERS


class Streams:
    """The streams of one session. primed: whether each begins with an event that has an id and no data."""

    def __init__(self, kept: Kept, primed: bool) -> None:
        self.kept, self.primed = kept, primed
        self.by_number: Dict[int, Stream] = {}
        self._order: Deque[Stream] = collections.deque()  # the stream of each event that is kept, the oldest first
        self._octets = self._last = 0

    @property
    def read(self) -> bool:
        """Whether any of them is being read."""
        return any(stream.reader is not None for stream in list(self.by_number.values()))

    def open(self, give_up: Callable[[], None] = lambda: None) -> "Stream":
        """A new stream, for the answer to a POST."""
        with self.kept.lock:
            self._last += 1
            made = self.by_number[self._last] = Stream(self, self._last, give_up)
        return made

    def standalone(self) -> "Stream":
        """The GET stream, which begins with its first reader."""
        return self.by_number.setdefault(0, Stream(self, 0))

    def resumed(self, last_event_id: str) -> "Optional[Reader]":
        """What goes on after that event, on the stream that it was of; None where there is no such stream any more."""
        match = re.fullmatch(_EVENT_ID, last_event_id)
        if match is None:
            return None
        with self.kept.lock:
            stream, number = self.by_number.get(int(match[1])), int(match[2])
            if stream is None or not stream.lost <= number <= stream.count:
                return None
            return stream.read_from(number)

    def keep(self, stream: "Stream", event: Event) -> None:
        """Keep an event, and no more than the bounds allow; with the lock held."""
        kept = self.kept
        self._order.append(stream)
        stream.events.append(event)
        self._octets += len(event) + COST
        kept.octets += len(event) + COST
        kept.holders.pop(self, None)
        kept.holders[self] = None
        while self._octets > MAX_KEPT:
            self._drop()
        while kept.octets > MAX_ALL:
            next(iter(kept.holders)).forget()

    def forget(self) -> None:
        """Keep nothing; with the lock held."""
        while self._order:
            self._drop()

    def _drop(self) -> None:
        stream = self._order.popleft()
        event = stream.events.popleft()
        stream.dropped = event.number
        if event.awaited:
            stream.lost = event.number
        cost = len(event) + COST
        self._octets -= cost
        self.kept.octets -= cost
        if not self._order:
            self.kept.holders.pop(self, None)
        self.prune(stream)

    def prune(self, stream: "Stream") -> None:
        """Forget a stream of which nothing is left to be read; with the lock held."""
        if stream.over and not stream.events and stream.reader is None:
            self.by_number.pop(stream.number, None)

    def end(self) -> None:
        """The session is over."""
        with self.kept.lock:
            for stream in list(self.by_number.values()):
                stream.over = True
                if stream.reader is not None:
                    stream.reader.leave()
            self.forget()


class Stream:
    """One stream. count: of its events so far. over: whether the last one was sent. events: those kept, in order.

    dropped, lost: the number of the last event that is not kept any more, and of the last such that somebody waits for.
    give_up: has whoever waits for the client wait no longer, and answer.
    """

    __slots__ = ("number", "count", "dropped", "lost", "over", "reader", "events", "streams", "give_up")

    def __init__(self, streams: Streams, number: int, give_up: Callable[[], None] = lambda: None) -> None:
        self.streams, self.number, self.give_up = streams, number, give_up
        self.count = self.dropped = self.lost = 0
        self.over = False
        self.reader: Optional[Reader] = None
        self.events: Deque[Event] = collections.deque()

    def put(self, data: bytes, last: bool = False, awaited: bool = False) -> None:
        """Say something, to the reader that there is and to one that comes later. last: whether nothing follows."""
        event = Event(data)
        event.awaited = awaited
        with self.streams.kept.lock:
            if self.over:
                return
            self.count += 1
            event.number, self.over = self.count, last
            if self.reader is not None:
                self.reader.queue(event)
            self.streams.keep(self, event)

    def finish(self) -> None:
        """End it without another word."""
        with self.streams.kept.lock:
            self.over = True
            if self.reader is not None:
                self.reader.leave()
            self.streams.prune(self)

    def hang_up(self) -> None:
        """Send the reader away, which may come back."""
        with self.streams.kept.lock:
            if self.reader is not None:
                self.reader.leave()

    def reader_from(self) -> "Reader":
        """A reader of what is yet to come; one that there is leaves."""
        with self.streams.kept.lock:
            return self.read_from(None)

    def only_reader(self) -> "Optional[Reader]":
        """A reader of what is yet to come; None where there is one."""
        with self.streams.kept.lock:
            return None if self.reader is not None else self.read_from(None)

    def read_from(self, number: Optional[int]) -> "Reader":
        """A reader of what comes after the event of that number, None for what is yet to come; with the lock held."""
        if self.reader is not None:
            self.reader.leave()
        if number is None:
            made = Reader(self)
            if self.streams.primed:
                made.opening = b"id: %d-%d\nretry: %d\ndata: \n\n" % (self.number, self.count, RETRY)
        else:
            made = Reader(self, (event for event in self.events if event.number > number), number < self.dropped)
        if self.over:
            made.ended = True
        else:
            self.reader = made
            self.streams.kept.readers += 1
        return made


class Queue:
    """What a transport takes messages from, as from a patterns.subscriptions.Subscription.

    opening: octets that it begins with. wake, overrun, ended, expires: as there.
    """

    __slots__ = ("opening", "wake", "overrun", "ended", "expires", "_kept", "_waiting", "_size")

    def __init__(self, kept: Kept, opening: bytes = b"") -> None:
        self.opening = opening
        self.wake: Optional[Callable[[], None]] = None
        self.overrun = self.ended = False
        self.expires: Optional[float] = None
        self._kept = kept
        self._waiting: List[bytes] = []
        self._size = 0

    def add(self, message: bytes) -> None:
        """Add a message; with the lock held."""
        if self._size > MAX_WAITING:
            self.overrun = True
            self._waiting.clear()
        else:
            self._waiting.append(message)
            self._size += len(message)
        if self.wake is not None:
            self.wake()

    def take(self) -> List[bytes]:
        """The messages that wait, which then wait no longer."""
        with self._kept.lock:
            taken, self._waiting, self._size = self._waiting, [], 0
        return taken


class Reader(Queue):
    """A connection that reads a stream. gap: whether it lacks events that are not kept any more."""

    __slots__ = ("stream", "gap")

    def __init__(self, stream: Stream, missed: Iterable[Event] = (), gap: bool = False) -> None:
        super().__init__(stream.streams.kept)
        self.stream, self.gap = stream, gap
        self._waiting.extend(missed)

    def queue(self, event: Event) -> None:
        """Add a message; with the lock held."""
        self.add(event)
        if self.overrun or self.stream.over:
            self.leave()

    def event(self, message: Event) -> bytes:
        """A message that was taken, as an event."""
        return b"id: %d-%d\nevent: message\ndata: %s\n\n" % (self.stream.number, message.number, message)

    def end(self) -> None:
        """The token is over, and so is this; or the server stops: the GET stream ends, and one that answers does with
        its answer, for which no client is waited for any more.
        """
        if self.stream.number == 0 or self.expires is not None and self.expires <= time.time():
            self.close()
        else:
            self.stream.give_up()

    def close(self) -> None:
        """The reader is gone. The stream is not."""
        with self._kept.lock:
            self.leave()
            self.stream.streams.prune(self.stream)

    def leave(self) -> None:
        """Read no more than what waits; with the lock held."""
        self.ended = True
        if self.stream.reader is self:
            self.stream.reader = None
            self._kept.readers -= 1
        if self.wake is not None:
            self.wake()
