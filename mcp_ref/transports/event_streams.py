"""basic/transports/streamable-http, long-lived event streams: one thread that feeds them all.

Implements HTTP-18, HTTP-20, SUBS-06. A stream costs a socket and a small object, no thread. A reader that is slower
than what is sent to it is hung up on once its queue is full; nobody else waits for it.
"""

from __future__ import annotations

import collections
import selectors
import socket
import threading
import time
from typing import Deque, Dict, Optional

from ..patterns.subscriptions import Subscription
from . import sse

LAST_CHUNK = b"0\r\n\r\n"


class Stream:
    """One event stream: a socket in non-blocking mode, and the subscription whose messages go out on it."""

    __slots__ = ("connection", "subscription", "chunked", "pending", "sent_at", "queued", "watched", "last")

    def __init__(self, connection: socket.socket, subscription: Subscription, chunked: bool, head: bytes) -> None:
        self.connection, self.subscription, self.chunked = connection, subscription, chunked
        self.pending = head
        self.sent_at = time.monotonic()
        self.queued = self.last = False
        self.watched = 0

    def framed(self, data: bytes) -> bytes:
        """Octets of the stream as they go on the wire."""
        return b"%x\r\n%s\r\n" % (len(data), data) if self.chunked else data

    def fill(self) -> None:
        """Make what the subscription has queued pending; `last` is set once nothing can follow it."""
        ended = self.subscription.ended  # asked first: what was queued before the end is then among what is taken
        messages = self.subscription.take()
        if messages:
            self.pending = self.framed(b"".join(map(sse.event, messages)))
        if ended and not self.last:
            self.last = True
            self.pending += LAST_CHUNK if self.chunked else b""


class EventStreams:
    """Feeds event streams from one thread. keep_alive: seconds that a stream is silent at most, for a comment is sent.

    Raises ValueError for a keep_alive that is not above 0.
    """

    def __init__(self, keep_alive: float = 15.0) -> None:
        if not keep_alive > 0:
            raise ValueError(f"keep-alive is a number of seconds above 0, not {keep_alive}")
        self.keep_alive = keep_alive
        self._tick = min(1.0, keep_alive / 4)
        self.streams: Dict[Stream, None] = {}
        self._selector = selectors.DefaultSelector()
        self._ready: Deque[Stream] = collections.deque()
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self._selector.register(self._wake_out, selectors.EVENT_READ)
        self._awake = self._ending = self._stopping = False
        self._thread = threading.Thread(target=self._run, name="mcp-event-streams", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def adopt(self, connection: socket.socket, subscription: Subscription, chunked: bool, head: bytes) -> None:
        """Take over a connection: send `head`, then the subscription's messages until either side ends it."""
        connection.setblocking(False)
        stream = Stream(connection, subscription, chunked, head)
        self.streams[stream] = None
        subscription.wake = lambda: self._wake(stream)
        if self._ending:
            subscription.end()
        self._wake(stream)

    def _wake(self, stream: Optional[Stream]) -> None:
        if stream is not None and not stream.queued:
            stream.queued = True
            self._ready.append(stream)
        if not self._awake:
            self._awake = True
            try:
                self._wake_in.send(b"x")
            except OSError:
                pass

    def end_all(self) -> None:
        """End every subscription, and any that comes after: its result is sent, then the stream closed."""
        self._ending = True
        for stream in list(self.streams):
            stream.subscription.end()

    def stop(self) -> None:
        """Close whatever is open, and end the thread."""
        self._stopping = True
        self._awake = False
        self._wake(None)
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _run(self) -> None:
        swept = time.monotonic()
        while not self._stopping:
            for key, events in self._selector.select(self._tick):
                if key.data is None:
                    self._hear_wake()
                elif events & selectors.EVENT_READ and not self._hear(key.data):
                    self._close(key.data)
                elif events & selectors.EVENT_WRITE:
                    self._flush(key.data)
            while self._ready:
                stream = self._ready.popleft()
                stream.queued = False
                self._flush(stream)
            now = time.monotonic()
            if now - swept >= self._tick:
                swept = now
                self._keep_alive(now)
        for stream in list(self.streams):
            self._close(stream)
        self._selector.close()
        self._wake_in.close()
        self._wake_out.close()

    def _hear_wake(self) -> None:
        """Take the octets that woke this thread, then ask for new ones; the other way round, one sent between the two
        would be taken and its sender believe the thread awake."""
        try:
            while self._wake_out.recv(4096):
                pass
        except OSError:
            pass
        self._awake = False

    @staticmethod
    def _hear(stream: Stream) -> bool:
        """Read away what a client sends on a stream it listens to; False once it has closed it."""
        try:
            return stream.connection.recv(4096) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _keep_alive(self, now: float) -> None:
        """Send comments on silent streams, and end those whose token is over."""
        for stream in list(self.streams):
            expires = stream.subscription.expires
            if expires is not None and time.time() >= expires:
                stream.subscription.end()
            elif now - stream.sent_at >= self.keep_alive - self._tick and not stream.pending:
                stream.pending = stream.framed(sse.KEEP_ALIVE)
                self._flush(stream)

    def _flush(self, stream: Stream) -> None:
        """Send what the socket takes; the rest waits until it is writable."""
        if stream not in self.streams:
            return
        while True:
            if stream.subscription.overrun:
                return self._close(stream)
            if not stream.pending:
                stream.fill()
            if not stream.pending:
                break
            try:
                sent = stream.connection.send(stream.pending)
            except BlockingIOError:
                return self._watch(stream, selectors.EVENT_READ | selectors.EVENT_WRITE)
            except OSError:
                return self._close(stream)
            stream.sent_at = time.monotonic()
            stream.pending = stream.pending[sent:]
        if stream.last:
            return self._finish(stream)
        self._watch(stream, selectors.EVENT_READ)

    def _finish(self, stream: Stream) -> None:
        try:
            stream.connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self._close(stream)

    def _watch(self, stream: Stream, wanted: int) -> None:
        if not stream.watched:
            self._selector.register(stream.connection, wanted, stream)
        elif stream.watched != wanted:
            self._selector.modify(stream.connection, wanted, stream)
        stream.watched = wanted

    def _close(self, stream: Stream) -> None:
        if stream not in self.streams:
            return
        del self.streams[stream]
        stream.subscription.close()
        if stream.watched:
            self._selector.unregister(stream.connection)
        stream.connection.close()
