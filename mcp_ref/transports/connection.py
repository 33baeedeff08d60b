"""basic/transports/streamable-http: one connection, and the requests on it one after another.

It moves octets and decides nothing: it makes a Request of what it read, hands it to `Server.handle`, and sends the
Answer. What it has of `http.server`, and what not, is told in transports/handler.

The life of a connection, each state with the time it may take (`Limits`):

    idle        nothing of a request is there          idle
    arriving    of a head, or the body it announces    arrive; a connection begins so, before its first octet
    serving     the core has the request               none; reading goes on, to notice that the client leaves
    answering   the answer waits for its reader        write, without progress
    listening   a subscription feeds it                none; a comment after `keep_alive` seconds of silence
    leaving     a last answer is on its way            write, then a second for the client to close
    gone        closed

Who closes its sending side counts as gone, as with nginx: the two look alike until something is written.

All of it belongs to the thread that has the loop, but for `do_POST` and what that calls, which may run on another
thread while the state is serving. What the two share: `out`, which has a lock of its own (transports/outgoing);
`message.cancelled` and `close_connection`, flags that are only ever set while it is serving; the rest of the request
is the handler's own until what it returned is called by the loop.
"""

from __future__ import annotations

import selectors
import socket
import time
from typing import Any, Optional

from ..base.errors import HTTPError, refusal
from ..base.request import Request
from ..lib.http1 import NO_LINE, Body, Chunks, Head, Malformed, Sized, TooMuch, begins_a_head
from . import sse
from .bounds import SMALL
from .handler import Handler
from .outgoing import Outgoing

MAX_HEAD = 32 * 1024
MUCH = 256 * 1024
"""Octets that are read at once of a large body."""
EARLY = 4 * 1024
"""Octets that are read at once while a request is served, and beyond which no more are."""
LINGER = 256 * 1024 * 1024
"""Octets that are read away of a client that goes on sending after it was refused."""

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
IDLE, ARRIVING, SERVING, ANSWERING, LISTENING, LEAVING, GONE = STATES = (
    "idle", "arriving", "serving", "answering", "listening", "leaving", "gone")


class Connection(Handler):
    """One connection, and the request on it that is under way."""

    server: Any  # the HTTPServer, whose module knows this one

    def setup(self) -> None:
        self.connection: socket.socket = self.request
        self.connection.setblocking(False)
        if self.server.unix is None:
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self.out = Outgoing(self.connection, self._on_rest)
        self.close_connection = self._let_in = False
        self.state = ARRIVING
        self.since = time.monotonic()
        self.message: Optional[Request] = None
        self.reserved = self.held = self._dropping = self._watched = 0
        self._in = bytearray()
        self._linger, self._lingered, self._cut_off, self.deadline = False, 0, 0.0, 0.0
        self._forget()

    def _forget(self) -> None:
        """What was known of the last request."""
        self._body: Optional[bytes] = None
        self._fault: Optional[HTTPError] = None
        self._coming: Optional[Body] = None
        self._last = b""
        self._unread = self._feeding = self._starved = self._waited = self._turned = False
        self._subscription: Any = None  # a Subscription, or what else is read like one

    def handle(self) -> None:
        """Put the connection under the loop's watch."""
        self.server.states[ARRIVING][self] = None
        self._watch(READ)

    def finish(self) -> None:
        """The connection has only begun."""

    def _become(self, state: str) -> None:
        states = self.server.states
        del states[self.state][self]
        self.state = state
        if state != GONE:
            states[state][self] = None

    def _watch(self, wanted: int) -> None:
        if wanted == self._watched:
            return
        selector = self.server.loop.selector
        if not self._watched:
            selector.register(self.connection, wanted, self._ready)
        elif not wanted:
            selector.unregister(self.connection)
        else:
            selector.modify(self.connection, wanted, self._ready)
        self._watched = wanted

    # Reading

    def _ready(self, events: int) -> None:
        try:
            if events & WRITE:
                self._flush()
            if events & self._watched & READ:
                self._read()
        except Exception:
            self._fail()

    def _read(self) -> None:
        try:
            data = self.connection.recv(MUCH if self.reserved else EARLY if self.state == SERVING else MAX_HEAD)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            return self.close()
        if not data:
            self._hear_the_end()
        elif self.state == LEAVING:
            self._lingered += len(data)
            self.deadline = min(time.monotonic() + 1.0, self._cut_off)
            if self._lingered > LINGER:
                self.close()
        elif self.state != LISTENING:  # what a client sends on a stream that it listens to is passed over
            self._in += data
            if self.state != SERVING:
                self._advance()
            else:
                if len(self._in) > EARLY:
                    self._watch(self._watched & ~READ)
                self.server.room.hold(self, len(self._in))

    def _hear_the_end(self) -> None:
        """The client has sent its last, and counts as gone; a request that it cut short is told so."""
        if self.state == ARRIVING and (self._in or self.message is not None):
            self._refuse(refusal(400, "bad request", "the request ended before it was complete"))
        elif self.state == SERVING and self.message is not None:
            self.close_connection = True
            self.message.cancelled = not self.message.outlives
            self._watch(self._watched & ~READ)
        else:
            self.close()

    def _advance(self) -> None:
        """Serve the request that is there, if it is: its head, or the body of the one that waits for it."""
        if self.state not in (IDLE, ARRIVING):
            return
        if self._coming is not None:
            if self._collect(self._coming):
                self._serve()
            return
        if self._dropping:
            count = min(self._dropping, len(self._in))
            del self._in[:count]
            self._dropping -= count
        while self._in.startswith((b"\r", b"\n")):
            del self._in[:1]
        end = self._in.find(b"\r\n\r\n", 0, MAX_HEAD)
        if end >= 0:
            self.raw_requestline = bytes(self._in[:end])
            del self._in[:end + 4]
            self.handle_one_request()
        elif self._in and not begins_a_head(self._in):  # a TLS handshake, for example, which would wait for an answer
            self._refuse(refusal(400, "bad request", NO_LINE))
        elif len(self._in) >= MAX_HEAD:
            self._refuse(refusal(431, "request header fields too large", f"a head has at most {MAX_HEAD} octets"))
        elif self._in:
            self._begin_to_arrive()
            self.server.room.hold(self, len(self._in))

    def _begin_to_arrive(self) -> None:
        if self.state != ARRIVING:
            self.since = time.monotonic()
            self._become(ARRIVING)

    # One request

    def handle_one_request(self) -> None:
        """Take the head that is there, and hand the request to the method of its name, `do_POST` for example."""
        if not self.parse_request():
            return
        if 0 <= self._length <= len(self._in):
            self._body = bytes(self._in[:self._length])
            del self._in[:self._length]
        else:
            self._begin_to_arrive()
        if self._in or self.held:
            self.server.room.hold(self, len(self._in))
        self.message = Request(self._read_body, self.head, self._notify, self.server.endpoint, later=self._later,
                               stream=self._turn, let_in=self._let_in)
        self._serve()

    def _serve(self) -> None:
        """Go on with the request: on the loop if it is likely to be quick, on a thread of its own if not."""
        self._become(SERVING)
        server = self.server
        if self._body is not None and len(self._body) > SMALL:
            server.decoding.submit(self._work_slowly)
        elif self.head in server.slow or server.loop.crowded:
            server.loop.submit(self._work_slowly)
        else:
            server.loop.inline(self._work, lambda: server.slow.add(self.head))

    # The body

    def _await_body(self) -> None:
        """The door let the head in, so its framing is known to be good: collect what it announces."""
        if self.state == GONE:
            return
        self._become(ARRIVING)
        headers = self.head.headers
        if headers.get("expect", "").lower() == "100-continue" and self.head.persistent and not self._in:
            try:
                self.out.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            except OSError:
                return self.close()
        if "content-length" in headers:
            size = int(headers["content-length"])
            self._coming = Sized(size)
            if size > SMALL:
                self._reserve(size)
        else:
            self._coming = Chunks(self.server.endpoint.max_body)
        if self.message is not None and self.message.cancelled:
            return self.close()
        self._watch(0 if self._starved else READ)
        self._advance()

    def _reserve(self, size: int) -> None:
        if not self.server.room.reserve(self, size):
            self._starved = self._waited = True
            self._watch(self._watched & ~READ)

    def room_came(self) -> None:
        self._starved = False
        self._watch(self._watched | READ)
        self.server.loop.call_soon(self._advance)

    def _collect(self, coming: Body) -> bool:
        """Whether the body is there, or what is wrong with it."""
        if self._starved:
            return False
        try:
            if not coming.feed(self._in):
                if len(coming.body) > SMALL and not self.reserved:
                    self._reserve(self.server.endpoint.max_body)
                if not self.reserved:
                    self.server.room.hold(self, len(self._in) + len(coming.body))
                return False
            self._body = bytes(coming.body)
        except Malformed as error:
            self._fault = refusal(400, "bad request", str(error))
        except TooMuch:
            self._fault = self.server.endpoint.too_large()
        self._coming = None
        return True

    def _refuse(self, error: HTTPError) -> None:
        """Answer what is no request, or none that could be read on, and leave."""
        self.close_connection = True
        self.server.room.release(self)
        self._starved = False
        if self.message is not None and self._body is None:
            self._fault = error
            return self._serve()
        self._coming, self._body, self._unread = None, b"", True
        self.head = Head("", "", {})
        self.message = Request(bytes, self.head, None, self.server.endpoint, error)
        self._serve()

    def _next(self) -> None:
        """The request is answered: leave, or wait for the next one, once the answer is taken."""
        if self.state == GONE:
            return
        if self._last:
            self.server.loop.call_soon(self._finish)
            return
        if not self._let_in and self.message is not None and self.message.version and not self.message.legacy:
            self._was_let_in()
        self.message = None
        linger = self._fault is not None or self._unread
        self._forget()
        if self.close_connection or self.server.stopping:
            return self._leave(linger)
        if not self.out.left:
            return self._rest()
        self._become(ANSWERING)
        self.server.room.keep(self, len(self.out.left))
        self._watch(WRITE)

    def _rest(self) -> None:
        if self.reserved:
            self.server.room.release(self)
        self.since = time.monotonic()
        self._become(ARRIVING if self._dropping else IDLE)
        self._watch(READ)
        if self._in:
            self.server.loop.call_soon(self._advance)  # in turn with other connections
        elif self.server.has_one:
            self.server.loop.stay_awake(self.server.limits.awake)

    def _on_rest(self) -> None:
        self.server.loop.call_soon(self._watch_out)

    def _watch_out(self) -> None:
        if self.state != GONE:
            self._watch(self._watched | WRITE)

    def _flush(self) -> None:
        """The socket takes more: send it what waits."""
        try:
            if not self.out.flush():
                return
        except OSError:
            return self.close()
        self._watch(self._watched & ~WRITE)
        if self.state == LISTENING:
            self._feed()
        elif self.state == ANSWERING:
            self._rest()
        elif self.state == LEAVING:
            self._leave(self._linger)

    # Subscriptions

    def _listen(self, subscription: Any) -> None:
        """The request is a subscription, and the response a stream that it feeds until either side ends it."""
        self._body = b""  # it is read, and this may last
        if self.state == GONE:
            subscription.close()
            return
        self._become(LISTENING)
        self._subscription = subscription
        self._in.clear()
        self.server.room.hold(self, 0)
        self.server.room.release(self)
        subscription.wake = self._hear_news
        self._watch(self._watched | READ)
        try:
            opening = getattr(subscription, "opening", b"")
            self.out.send(self._opening(True) + (self._chunk(opening) if opening else b""), streaming=True)
        except OSError:
            return self.close()
        if self.server.stopping:
            subscription.end()
        self._feed()

    def _hear_news(self) -> None:
        if not self._feeding:
            self._feeding = True
            self.server.loop.call_soon(self._feed)

    def _feed(self) -> None:
        """Send what the subscription has queued, if the reader has taken what was sent before."""
        self._feeding = False  # first, so that whoever queues something after the look at it calls again
        subscription = self._subscription
        if subscription is None or self.state != LISTENING:
            return
        if subscription.overrun:
            return self.close()
        if self.out.left:
            return
        ended = subscription.ended  # asked first: what was queued before the end is then among what is taken
        messages = subscription.take()
        data = self._chunk(b"".join(map(getattr(subscription, "event", sse.event), messages))) if messages else b""
        if ended and self.head.persistent:
            data += b"0\r\n\r\n"
        try:
            if data:
                self.out.send(data, streaming=not ended)
        except OSError:
            return self.close()
        if ended:
            self._leave(False)

    def end_stream(self) -> None:
        """End the subscription from the server's side."""
        if self._subscription is not None:
            self._subscription.end()

    # Time, and the end

    def check(self, now: float) -> None:
        """What is due while something is sent: called a few times a second."""
        subscription = self._subscription
        if self.out.left:
            if now - self.out.progressed > self.server.limits.write:
                self.close()
        elif self.state == LEAVING and now > self.deadline:
            self.close()
        elif subscription is not None and subscription.expires is not None and time.time() >= subscription.expires:
            subscription.end()
        elif self.out.streaming and now - self.out.progressed >= self.server.silence:
            try:
                self.out.comment(self._chunk(sse.KEEP_ALIVE))
            except OSError:
                self.close()

    def too_late(self) -> None:
        """It has not arrived in time, or not before there was no room for what it sent so far."""
        if self.state != ARRIVING or not (self._in or self.message is not None):
            self.close()
        elif self._waited or self.since + self.server.limits.arrive > time.monotonic():
            self._refuse(refusal(503, "service unavailable", "too many octets at once", [("Retry-After", "1")]))
        else:
            self._refuse(refusal(408, "request timeout", "the request did not arrive in time"))

    def _leave(self, linger: bool) -> None:
        """Close once the last answer is sent. linger: read away what still comes, so that no reset overtakes it."""
        if self.state != LEAVING:
            self._become(LEAVING)
            self._linger = linger
            self._in = bytearray()
            self.server.room.hold(self, 0)
        if self.out.left:
            return self._watch(WRITE)
        if not linger:
            return self.close()
        self._lingered, self._cut_off = 0, time.monotonic() + self.server.limits.linger
        self.deadline = min(time.monotonic() + 1.0, self._cut_off)
        self.server.room.release(self)
        self._watch(READ)
        try:
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()

    def close(self) -> None:
        """End the connection at once, and with it whatever is under way on it."""
        if self.state == GONE:
            return
        self._become(GONE)
        if self.message is not None and not (self.message.outlives and not self.server.stopping):
            self.message.cancelled = True
        if self._subscription is not None:
            self._subscription.close()
        self._watch(0)
        self.out.close()
        self._in = bytearray()
        self.server.room.hold(self, 0)
        self.server.room.release(self)
