"""basic/transports/stdio: the server's side. One message is one line, on one channel for all of them.

Implements STDIO-01, STDIO-05, STDIO-08, STDIO-10, STDIO-11, STDIO-15, TRANS-08.

It moves lines and decides nothing: of a line it makes a Request, which climbs the ladder without what only HTTP has,
and sends the Answer. A line is octets up to a \\n (a \\r before it is white space of JSON), so that no character in a
string can end it. A blank one says nothing and is passed over. One that is too long is refused, and read away unkept.

    the leader   has the loop (transports/loop). It reads, and has the core take each line as far as its framing before
                 it looks at the next: a request is in flight before a cancellation of it can be read, and no two take
                 one id. What is quick is answered right there; what is not loses the loop to another thread
    a place      is what a handler needs, of HANDLERS. A request beyond them is framed, waits, and can be cancelled

What is sent goes by transports/outbox. Nothing more is read while more than HELD octets of requests are in flight,
WAITING of them wait for a place, or too much waits for the reader. When the input ends, what is owed is written, for
GRACE seconds; then what still runs is cancelled.
"""

from __future__ import annotations

import collections
import io
import socket
import threading
from functools import partial
from selectors import EVENT_READ
from typing import Any, BinaryIO, Callable, Deque, Dict, Optional

from ..base.errors import InvalidRequest
from ..base.peer import Peer
from ..base.request import BodyAwaited, Request, Serving
from ..lib.strict_json import encode
from ..patterns.notifications import Cancelled
from ..patterns.subscriptions import Subscription
from .endpoint import MAX_BODY
from .loop import Loop, Then, Work, nothing
from .outbox import AT_ONCE, Outbox
from .process import Bell, take_over, wait_for_signal

HANDLERS = 64
WAITING = 1024
HELD = 64 * 1024 * 1024
GRACE, LAST = 0.6, 0.2
"""Seconds for what is owed once the input has ended, and for what is cancelled then to notice."""
PATIENCE = 0.001
"""Seconds that a line may take before another thread reads on."""


class Line(Request):
    """A line as the request it is.

    size: in octets. batch: whether it is one, of 2025-03-26. placed: whether it has one of the HANDLERS places. news:
    the subscription that it has become.
    """

    __slots__ = ("size", "batch", "placed", "news")

    def __init__(self, octets: Optional[bytes], pipe: "StdioServer") -> None:
        read = pipe.too_long if octets is None else lambda: octets
        super().__init__(read, None, partial(pipe.notify, self), peer=pipe, later=pipe.later)
        self.size = len(octets or b"")
        self.batch = octets is not None and octets[:64].lstrip()[:1] == b"["
        self.placed = False
        self.news: Optional[Subscription] = None


class StdioServer(Peer):
    """Serves one client over two streams of octets, on threads of its own, until the input ends; a context manager.

    source, sink: where lines come from and go to. max_line: octets of a line; a longer one is refused. on_end: called
    once, from any thread, when the input has ended or the reader is gone.
    """

    def __init__(self, mcp: Serving, source: BinaryIO, sink: BinaryIO, max_line: int = MAX_BODY,
                 on_end: Callable[[], None] = nothing) -> None:
        super().__init__()
        self.mcp, self.max_line = mcp, max_line
        self.loop = Loop(nothing, 60.0, HANDLERS + 2, PATIENCE)
        self.abandoned = False  # whether a handler did not end in the grace period
        self._source: Any = source
        self._pumped: Optional[socket.socket] = None  # where the source is read from if it is pumped
        self._read: Callable[[int], Optional[bytes]] = getattr(source, "read1", source.read)
        self._on_end = on_end
        # The leader's own:
        self._in = bytearray()
        self._looked = 0  # octets of it that hold no \n
        self._skipping = self._input_ended = self._watched = False
        # Set by the leader, cleared by the thread that serves it, which calls the leader:
        self._framing: Optional[Line] = None
        # Under the lock of this:
        self._changed = threading.Condition()
        self._running = self._held = 0
        self._waiting: Deque[Work] = collections.deque()
        self.out = Outbox(sink, self, self._changed)

    def __enter__(self) -> "StdioServer":
        self.loop.start()
        self.loop.call_soon(self._advance)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Reading, by the thread that has the loop

    def _watch(self, wanted: bool) -> None:
        """Have the loop read, or not. What a selector does not take, a file for example, is pumped through a socket."""
        selector = self.loop.selector
        if wanted and not self._watched:
            try:
                if not isinstance(self._source, (io.RawIOBase, socket.socket)):
                    raise ValueError("buffered, so that what is there may not be seen")
                selector.register(self._source, EVENT_READ, self._ready)
            except (OSError, ValueError):
                ours, theirs = socket.socketpair()
                threading.Thread(target=_pump, args=(self._read, theirs), name="mcp-stdin", daemon=True).start()
                self._source = self._pumped = ours
                self._read = ours.recv
                selector.register(ours, EVENT_READ, self._ready)
        elif self._watched and not wanted:
            selector.unregister(self._source)
        self._watched = wanted
        if self._input_ended and self._pumped is not None:
            self._pumped.close()

    def _ready(self, _events: int) -> None:
        try:
            data = self._read(AT_ONCE)
        except OSError:
            data = b""
        if data is not None:
            self._input_ended = not data
            self._in += data
            self._advance()

    def _advance(self) -> None:
        """Serve what lines there are, as far as this thread keeps the loop; then read on, or not."""
        while self.loop.leads() and self._framing is None:
            line = None if self._full() else self._next_line()
            if line is None:
                if self._input_ended and not self._in:
                    self._on_end()
                break
            self._framing = line
            if line.batch:  # its requests are handled one after another, in one place
                self._held += line.size
                self._queue(partial(self._serve, line, True))
                if self._waiting:
                    self._framing = None
            else:
                self.loop.inline(partial(self._serve, line), self._advance)
        if self.loop.leads():
            self._watch(not self._input_ended and self._framing is None and not self._full())

    def _full(self) -> bool:
        return self.out.full or self._held > HELD or len(self._waiting) > WAITING

    def _next_line(self) -> Optional[Line]:
        while True:
            end = self._in.find(b"\n", self._looked)
            if end < 0 and self._input_ended and self._in:
                end = len(self._in)  # the last line, without its end
            if end < 0:
                self._looked = len(self._in)
                if self._looked <= self.max_line:
                    return None
                self._in.clear()
                self._looked = 0
                if self._skipping:
                    return None
                self._skipping = True
                return Line(None, self)
            octets = bytes(self._in[:end])
            del self._in[:end + 1]
            self._looked = 0
            skipped, self._skipping = self._skipping, False
            if not skipped and octets.strip():
                return Line(octets if end <= self.max_line else None, self)

    def too_long(self) -> bytes:
        """The body of a line that is not kept. Raises InvalidRequest."""
        raise InvalidRequest(f"Invalid Request: a message has at most {self.max_line} octets")

    # Serving, by any thread

    def begin(self, request: Request) -> None:
        """As Peer has it; the next line is looked at from here on. Raises BodyAwaited where it waits for a place."""
        super().begin(request)
        batch = self._framing
        if not isinstance(request, Line) and batch is not None and batch.batch:  # a part of it, which has its place
            return self._framed(batch)
        self._framed(request)
        if isinstance(request, Line) and not request.placed:
            with self._changed:
                self._held += request.size
                if self._waiting or self._running >= HANDLERS:
                    raise BodyAwaited()
                self._running += 1
                request.placed = True

    def _framed(self, request: Request) -> None:
        if self._framing is request:
            self._framing = None
            if not self.loop.leads():
                self.loop.call_soon(self._advance)

    def _serve(self, line: Line, placed: bool = False) -> Then:
        """Have the core answer, and send that; once more with a place where it had to wait for one."""
        line.placed = placed
        try:
            if line.cancelled:
                raise Cancelled()
            answer = self.mcp.handle(line)
            if answer.stream is not None:
                line.news = answer.stream
                self.out.listen(line, answer.stream)
            elif answer.body:
                self.out.put(line, answer.body, last=True)
        except BodyAwaited:
            self._queue(partial(self._serve, line, True))
            return nothing
        except Cancelled:
            self.end(line)
        finally:
            self._framed(line)
        if line.placed:
            self._free(line.size)
        return nothing

    def later(self, work: Callable[[], None]) -> None:
        """Have work done that belongs to a request, in a place of its own, once there is one."""
        def placed() -> Then:
            try:
                work()
            finally:
                self._free(0)
            return nothing
        self._queue(placed)

    def _queue(self, work: Work) -> None:
        with self._changed:
            self._waiting.append(work)
            self._fill()

    def _fill(self) -> None:
        """Give places to those that wait; with the lock held."""
        while self._waiting and self._running < HANDLERS:
            self._running += 1
            self.loop.submit(self._waiting.popleft())

    def _free(self, octets: int) -> None:
        """A place is free, and octets of a line are not held any longer."""
        with self._changed:
            full = self._full()
            self._running -= 1
            self._held -= octets
            self._fill()
            self._changed.notify_all()
        if full:
            self.room_came()

    def cancel(self, request_id: Any, reason: Any = None) -> Optional[Request]:
        """As Peer has it; a subscription is closed."""
        request = super().cancel(request_id, reason)
        if isinstance(request, Line) and request.news is not None:
            request.news.close()
        with self._changed:
            self._changed.notify_all()  # it may be waiting for the reader
        return request

    # Sending, from any thread

    def send(self, message: Dict[str, Any]) -> None:
        """As Peer has it. It waits while far too much is unread already."""
        request = None
        if "method" not in message:
            request = self.in_flight.get(message.get("id", ""))
            if request is None:
                return
        self.out.put(request, encode(message), last=request is not None, wait=True, here=False)

    def notify(self, line: Line, message: Dict[str, Any]) -> None:
        """Send a notification of a request. Raises Cancelled where nobody waits for it, and what `encode` raises."""
        self.out.put(line, encode(message), wait=True)

    def room_came(self) -> None:
        """Less waits for the reader than before."""
        self.loop.call_soon(self._advance)

    def lose(self) -> None:
        """Nobody reads any more, so nobody waits for anything."""
        self.out.close()
        self._cancel_all("the client is gone")
        self._on_end()

    # The end

    def _cancel_all(self, reason: str) -> None:
        for request_id in list(self.in_flight):
            self.cancel(request_id, reason)

    def stop(self) -> None:
        """Stop: nothing more is read, what is owed is written within GRACE, then what still runs is cancelled."""
        self.loop.call_soon(self._stop_reading)
        for request in list(self.in_flight.values()):
            if isinstance(request, Line) and request.news is not None:
                request.news.end()
        with self._changed:  # whoever was cancelled is owed nothing, nor one whose client would have to answer first
            self._changed.wait_for(lambda: self._input_ended and not (
                self._waiting or self.out.writing or self.in_flight and self._running), GRACE)
        self._cancel_all("the server stops")
        with self._changed:
            self.abandoned = not self._changed.wait_for(lambda: not (self._running or self.out.writing), LAST)
        self.lose()
        self.loop.stop()

    def _stop_reading(self) -> None:
        self._input_ended = True
        self._in.clear()
        self._watch(False)
        with self._changed:
            self._changed.notify_all()


def _pump(read: Callable[[int], Optional[bytes]], into: socket.socket) -> None:
    with into:
        try:
            while True:
                data = read(AT_ONCE)
                if not data:
                    return
                into.sendall(data)
        except (OSError, ValueError):
            return


def serve_stdio(mcp: Serving, source: Optional[BinaryIO] = None, sink: Optional[BinaryIO] = None,
                max_line: int = MAX_BODY) -> bool:
    """Serve one client until the input ends, it is gone or, in the main thread, SIGINT or SIGTERM arrives.

    source, sink: the process's own standard streams where they are not given, see `take_over`. Returns whether all
    handlers have ended.
    """
    given = source, sink
    if source is None or sink is None:
        source, sink = take_over()
    bell = Bell()
    with StdioServer(mcp, source, sink, max_line, bell.ring) as running:
        wait_for_signal(nothing, bell)
    if None in given and not running.abandoned:
        sink.close()
    return not running.abandoned
