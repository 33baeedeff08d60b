"""A request on http.server, and its answer: what of `BaseHTTPRequestHandler` stays, and what is replaced.

`do_POST`, `do_GET`, `do_DELETE`, `do_OPTIONS`, `do_HEAD` are where the methods part; `command`, `path`, `headers`,
`request_version`, `client_address`, `close_connection`, `rfile`, `wfile` mean what they mean there, so that a subclass
serves a page of its own with `send_response`, `send_header`, `end_headers` and `wfile.write`. Replaced:

    `handle` reads until the   it registers the connection and returns; the loop calls `handle_one_request` for each
      connection ends          head that is there, so that one that is idle costs no thread
    `parse_request`            lib/http1, in one piece and strict; http.server takes what two readers read differently,
                               and spends some 35 microseconds where this needs 6, and 1 on a head that it has seen
    `rfile`, `wfile`           octets that are there, and the queue of what is on its way: neither ever waits
"""

from __future__ import annotations

import http.client
import http.server
import io
import time
from functools import partial
from typing import Any, Callable, Dict, NamedTuple, Optional

from ..base.errors import HTTPError, refusal
from ..base.log import log
from ..base.request import CREDENTIALS, Answer, BodyAwaited, Request
from ..lib.http1 import Head, Malformed, TooMuch, parse_head
from ..lib.strict_json import encode
from ..lib.text import shown
from ..patterns.notifications import Cancelled
from . import sse
from .loop import Then
from .outgoing import STREAM_HEAD, Outgoing, fields, octets

MAX_KNOWN, MAX_KNOWN_HEAD = 256, 1024
"""How many heads are remembered, and octets of one."""


class Known(NamedTuple):
    """What a server remembers of a head.

    closes: whether the connection ends with the answer. length: octets of the body, where that is plain and below
    100,000; otherwise -1. let_in: as of Request.
    """

    head: Head
    closes: bool
    length: int
    let_in: bool


class Handler(http.server.BaseHTTPRequestHandler):
    """A request as http.server has it, and the ways to answer it.

    head: of the request; _length, _let_in: as of Known. message: the request as the core has it. out: what is on its
    way to the client. _body: None until it is whole. _fault: why it never will be. _dropping: octets of a body that
    nobody wants, to be read away. _unread: whether the client may still be sending what nobody reads. _turned: whether
    the response became a stream. _last: the end of the answer, where it is still to be sent.
    """

    server: Any  # the HTTPServer, whose module knows this one
    protocol_version = "HTTP/1.1"
    head: Head
    _length: int
    _let_in: bool
    out: Outgoing
    message: Optional[Request]
    _body: Optional[bytes]
    _fault: Optional[HTTPError]
    _dropping: int
    _unread: bool
    _turned: bool
    _last: bytes
    raw_requestline: bytes

    _refuse: Callable[[HTTPError], None]  # these are the Connection's, on the loop
    _listen: Callable[[Any], None]
    _await_body: Then
    _next: Then
    close: Then

    def parse_request(self) -> bool:
        """Set `head`, and what follows from it, from the head's octets; whether they are good."""
        known = self.server.heads.get(self.raw_requestline)
        if known is None:
            try:
                known = self._learned(parse_head(self.raw_requestline))
            except Malformed as error:
                self._refuse(refusal(400, "bad request", str(error)))
                return False
            except TooMuch as error:
                self._refuse(refusal(431, "request header fields too large", str(error)))
                return False
        self.head, self.close_connection, self._length, self._let_in = known
        return True

    def _learned(self, head: Head) -> Known:
        """What follows from a head, remembered unless it is large or secret: clients repeat themselves."""
        headers, heads, length = head.headers, self.server.heads, head.headers.get("content-length", "")
        plain = length.isdecimal() and len(length) < 6 and "transfer-encoding" not in headers
        closes = not head.persistent or "close" in headers.get("connection", "").lower()
        known = Known(head, closes, int(length) if plain else -1, False)
        if len(self.raw_requestline) <= MAX_KNOWN_HEAD and CREDENTIALS.isdisjoint(headers):
            if len(heads) >= MAX_KNOWN:
                del heads[next(iter(heads))]
            heads[self.raw_requestline] = known
        return known

    def _was_let_in(self) -> None:
        known = self.server.heads.get(self.raw_requestline)
        if known is not None:
            self.server.heads[self.raw_requestline] = known._replace(let_in=True)

    def _work(self) -> Then:
        """Serve the request, on any thread; what the loop is to do then."""
        try:
            return getattr(self, "do_" + self.head.method, self.do_POST)() or self._next
        except BaseException:  # what a method of a subclass raises ends its connection, not a thread
            self.server.handle_error(self.connection, self.client_address)
            return self.close

    def _finish(self) -> None:
        """Send what is left of the answer; on the loop."""
        data, self._last = self._last, b""
        try:
            self.out.send(data, streaming=False)
            self._next()
        except OSError:
            self.close()
        except Exception:
            self._fail()

    def _fail(self) -> None:
        self.server.handle_error(self.connection, self.client_address)
        self.close()

    def _work_slowly(self) -> Then:
        whole, began = self._body is not None, time.perf_counter()
        then = self._work()
        took = time.perf_counter() - began

        def ended() -> None:
            if whole:  # one that stops to wait for its body is always quick
                self.server.slow.took(self.head, took)
            then()
        return ended

    def do_POST(self) -> Optional[Then]:
        """Have the core answer. A request whose body it waits for is served twice, the second time from where it
        stopped. Returns what follows, None for the next request."""
        assert self.message is not None
        try:
            answer = self.server.mcp.handle(self.message)
        except BodyAwaited:
            return self._await_body
        except Cancelled:
            return self.close
        if self._turned:
            return self._wait
        if answer.stream is not None:
            return partial(self._listen, answer.stream)
        if self._body is None:
            self._settle()
        data = self._octets(answer)
        if self.server.loop.leads():
            self._last = data  # it leaves with those of other requests
            return None
        try:
            self.out.send(data, streaming=False)
        except OSError:
            return self.close
        return None

    do_GET = do_HEAD = do_OPTIONS = do_DELETE = do_POST  # the core knows which of them are messages

    def _wait(self) -> None:
        """What the stream needs comes by itself."""

    # Answering, from any thread

    def _read_body(self) -> bytes:
        """The body, for the rung that asks for it. Raises BodyAwaited until it is whole, HTTPError if it never is."""
        if self._fault is not None:
            raise self._fault
        if self._body is None:
            raise BodyAwaited()
        return self._body

    def _settle(self) -> None:
        """Decide what becomes of the body of a request that was refused without it: read away where that is little."""
        headers, limit = self.head.headers, self.server.limits.drain
        length = headers.get("content-length", "0")
        if (self._fault is not None or "transfer-encoding" in headers or "expect" in headers
                or not length.isdecimal() or len(length) > 15 or int(length) > limit):
            self.close_connection = self._unread = True
        else:
            self._dropping = int(length)

    def _octets(self, answer: Answer) -> bytes:
        if self.out.streaming:
            last = b"0\r\n\r\n" if self.head.persistent else b""
            return self._chunk(sse.event(answer.body)) + last
        if self.server.stopping:
            self.close_connection = True
        return octets(answer, self.close_connection, self._exposed(), self.head.method == "HEAD")

    def _exposed(self) -> bytes:
        return fields(self.server.endpoint.exposed(self.head)) if "origin" in self.head.headers else b""

    def _notify(self, message: Dict[str, Any]) -> None:
        """Send a notification ahead of the answer, from any thread; the first one opens the event stream."""
        assert self.message is not None
        if self.message.cancelled:
            raise Cancelled()
        data = self._chunk(sse.event(encode(message)))
        try:
            if not self.out.streaming:
                data = self._opening(not self.head.persistent) + data
            self.out.send(data, streaming=True, wait=True)
        except OSError:
            self.message.cancelled = True
            raise Cancelled() from None

    def _turn(self, stream: Any) -> None:
        """Let the response be an event stream from now on, from any thread: `Request.stream`."""
        self._turned = True
        self.server.loop.call_soon(partial(self._listen, stream))

    def _later(self, work: Then) -> None:
        """Have work done by a thread of the loop's: `Request.later`."""
        def done() -> Then:
            work()
            return self._wait
        self.server.loop.submit(done)

    def _opening(self, last: bool) -> bytes:
        if last:
            self.close_connection = True
        close = b"Connection: close\r\n" if self.close_connection else b""
        chunked = b"Transfer-Encoding: chunked\r\n" if self.head.persistent else b""
        return STREAM_HEAD + self._exposed() + chunked + close + b"\r\n"

    def _chunk(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if self.head.persistent else data

    # For methods of a subclass

    @property
    def command(self) -> str:  # type: ignore[override]
        """The method of the request."""
        return self.head.method

    @property
    def path(self) -> str:  # type: ignore[override]
        """The target of the request."""
        return self.head.target

    @property
    def request_version(self) -> str:  # type: ignore[override]
        """HTTP/1.1 or HTTP/1.0."""
        return "HTTP/1.1" if self.head.persistent else "HTTP/1.0"

    @property
    def requestline(self) -> str:  # type: ignore[override]
        """The first line of the head."""
        return self.raw_requestline.partition(b"\r\n")[0].decode("latin-1")

    @property
    def headers(self) -> http.client.HTTPMessage:  # type: ignore[override]
        """The header fields, as http.server has them."""
        made = http.client.HTTPMessage()
        for name, value in self.head.headers.items():
            made[name] = value
        return made

    @property
    def rfile(self) -> io.BytesIO:  # type: ignore[override]
        """The body, of a request that came with it."""
        return io.BytesIO(self._body or b"")

    @property
    def wfile(self) -> "Handler":  # type: ignore[override]
        """Where an answer is written to: `write` and `flush`."""
        return self

    def write(self, data: bytes) -> int:
        """Send octets of an answer."""
        self.out.send(data)
        return len(data)

    def flush(self) -> None:
        """Nothing waits for it."""

    def log_message(self, format: str, *args: Any) -> None:
        """Into the server's own log."""
        log.info("%s", shown(format % args, 200))
