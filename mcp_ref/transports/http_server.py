"""basic/transports/streamable-http: the octets of the server's side, on http.server.

Implements HTTP-12, HTTP-14, HTTP-18 to HTTP-22, HTTP-94; CANC-04.

This module moves bytes and decides nothing: it makes a Request of what it read, hands it to `Server.handle`, and
writes the Answer. One thread a connection, HTTP/1.1 keep-alive, one write an answer. The first notification that a
handler sends opens the response as an event stream; a request that sends none is answered with one JSON object.

A refusal that needs no body is sent as soon as the head is there; only then is the body read away, or the connection
closed in stages, so that a client that is still sending learns why.
"""

from __future__ import annotations

import errno
import http.server
import signal
import socket
import socketserver
import sys
import threading
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple

from ..base.errors import HTTPError
from ..base.jsonrpc import encode
from ..base.log import log
from ..base.request import Answer, Head, Request
from ..patterns.cancellation import Cancelled
from ..patterns.subscriptions import Subscription
from . import sse
from .disconnects import TICK, Disconnects, writable
from .endpoint import MAX_BODY, Endpoint, refusal
from .event_streams import EventStreams
from .http_reader import KERNEL_BOUNDS, Reader, bound, unread

if TYPE_CHECKING:
    from ..server.server import Server

SMALL = 64 * 1024
"""Octets that a socket takes at once or nearly so; the time that more may take is bounded as a whole."""
LINGER = 256 * 1024 * 1024
"""Octets that are read away of a client that goes on sending after it was refused."""

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_STREAM_HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                b"X-Accel-Buffering: no\r\n")


class Limits:
    """Bounds of the transport, in seconds and counts.

    connections: served at once, one more is told 503. idle: how long a kept connection may be silent. arrive: how
    long a request may take to arrive. write: how long the peer may take to accept an answer. grace: how long answers
    under way may take once the server is stopping. drain: octets of a refused body that are read away to keep the
    connection; with more, it is closed. awake: how long a connection that is the only one is looked at for its next
    request before its thread sleeps. max_body: octets of a body, one of more is told 413. linger: how long a client
    that was refused may go on sending until it is cut off.
    """

    def __init__(self, connections: int = 256, idle: float = 75.0, arrive: float = 20.0, write: float = 20.0,
                 grace: float = 5.0, drain: int = 64 * 1024, awake: float = 150e-6, max_body: int = MAX_BODY,
                 linger: float = 5.0) -> None:
        self.connections, self.idle, self.arrive = connections, idle, arrive
        self.write, self.grace, self.drain, self.linger = write, grace, drain, linger
        self.max_body = max_body
        self.awake = awake if KERNEL_BOUNDS else 0.0  # a look at a socket with Python's timeout would wait for it


def _fields(headers: Iterable[Tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


def _octets(answer: Answer, close: bool, more: bytes = b"") -> bytes:
    kind = f"Content-Type: {answer.content_type}\r\n" if answer.body else ""
    length = "" if answer.status == 204 else f"Content-Length: {len(answer.body)}\r\n"
    first = f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, '')}\r\n{kind}{length}".encode("latin-1")
    last = b"Connection: close\r\n\r\n" if close else b"\r\n"
    return first + (_fields(answer.headers) if answer.headers else b"") + more + last + answer.body


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection: requests read and answered in turn until either side closes it."""

    server: "HTTPServer"
    _message: Request

    def setup(self) -> None:
        self.connection = self.request
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        bound(self.connection, socket.SO_SNDTIMEO, self.server.limits.write)
        self._reader = Reader(self.connection)
        self._streaming = self._unread = False
        self._chunked = True
        self._writing = threading.Lock()
        self._sent_at = 0.0
        self._rest = b""
        self._head = Head("", "", {})

    def finish(self) -> None:
        """Nothing is buffered that would have to be flushed."""

    def handle(self) -> None:
        self.close_connection = False
        try:
            while not self.close_connection:
                alone = len(self.server.open) == 1
                self._reader.wait(self.server.limits.idle, self.server.limits.awake if alone else 0.0)
                self.server.busy.add(self.connection)
                try:
                    left = self._serve_one()
                finally:
                    self.server.busy.discard(self.connection)
                if left and not self._reader.drain(left):
                    self.close_connection = self._unread = True
            if self._unread:
                self._reader.linger(self.server.limits.linger, LINGER)
        except (Cancelled, OSError):
            pass

    def _serve_one(self) -> int:
        """Read a request and answer it; returns how many octets of its body are still to be read away."""
        reader, server = self._reader, self.server
        reader.deadline = time.monotonic() + server.limits.arrive
        self._streaming = False
        self._head = Head("", "", {})
        try:
            head, self._chunked = reader.head()
        except HTTPError as error:
            self.close_connection = True
            self._unread = True
            self._send(Answer.plain(error))
            return 0
        self._head = head
        if not self._chunked or "close" in head.headers.get("connection", "").lower():
            self.close_connection = True
        self._body_asked = self._body_read = False
        message = self._message = Request(self._read_body, head, self._notify, server.endpoint)
        server.disconnects.enter(self.connection, message, self._keep_alive)
        try:
            answer = server.endpoint.aside(head) or server.mcp.handle(message)
        finally:
            server.disconnects.leave(message)
            del self._message  # which may be large, and the next request long in coming
        left: Optional[int] = 0
        if not self._body_read:
            left = None if self._body_asked else unread(head, server.limits.drain)
            if left is None:
                self.close_connection = self._unread = True
        if answer.stream is not None:
            self._hand_over(answer.stream)
        else:
            self._send(answer)
        return left or 0

    def _read_body(self) -> bytes:
        """The body of the request under way; called when a rung asks for it, which a client may wait to be told."""
        self._body_asked = True
        expected = self._chunked and self._head.headers.get("expect", "").lower() == "100-continue"
        if expected and not self._reader.buffer:
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        data = self._reader.body(self._head, self.server.endpoint)
        self._body_read = True
        return data

    def _hand_over(self, subscription: Subscription) -> None:
        """Give the connection to the thread that feeds all long-lived streams; this one is done with it."""
        self.close_connection = True
        self.server.detached.add(self.connection)
        head = _STREAM_HEAD + self._exposed() + self._framing(True)
        self.server.streams.adopt(self.connection, subscription, self._chunked, head)

    def _exposed(self) -> bytes:
        return _fields(self.server.endpoint.exposed(self._head))

    def _notify(self, message: Dict[str, Any]) -> None:
        """Send a notification ahead of the answer; the first one opens the event stream."""
        if self._message.cancelled:
            raise Cancelled()
        data = sse.event(encode(message))
        opening = b"" if self._streaming else _STREAM_HEAD + self._exposed() + self._framing(not self._chunked)
        try:
            self._write(opening + self._chunk(data))
        except OSError:
            self.close_connection = self._message.cancelled = True
            raise Cancelled() from None
        self._sent_at, self._streaming = time.monotonic(), True

    def _keep_alive(self) -> None:
        """Send a comment on an event stream that has been silent; called every tick while a handler runs, from the
        thread that watches them all, which therefore waits for nothing. Raises OSError where the client is gone.
        """
        if not self._streaming or time.monotonic() + TICK < self._sent_at + self.server.streams.keep_alive:
            return
        if not self._writing.acquire(blocking=False):
            return  # the handler is sending
        try:
            if self._streaming and not self._rest and writable(self.connection):
                data = self._chunk(sse.KEEP_ALIVE)
                self._rest = data[self.connection.send(data):]
                self._sent_at = time.monotonic()
        finally:
            self._writing.release()

    def _framing(self, last: bool) -> bytes:
        self.close_connection = self.close_connection or last
        close = b"Connection: close\r\n" if self.close_connection else b""
        return (b"Transfer-Encoding: chunked\r\n" if self._chunked else b"") + close + b"\r\n"

    def _chunk(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data

    def _send(self, answer: Answer) -> None:
        if self._streaming:
            self._write(self._chunk(sse.event(answer.body)) + (b"0\r\n\r\n" if self._chunked else b""), True)
        else:
            self.close_connection = self.close_connection or self.server.stopping
            octets = _octets(answer, self.close_connection, self._exposed())
            self._write(octets[:len(octets) - len(answer.body)] if self._head.method == "HEAD" else octets)

    def _write(self, data: bytes, ends: bool = False) -> None:
        """Send octets, behind what is left of a comment. ends: whether they end an event stream."""
        with self._writing:
            if self._rest:
                data, self._rest = self._rest + data, b""
            if ends:
                self._streaming = False
            if len(data) <= SMALL and KERNEL_BOUNDS:
                self.connection.sendall(data)
                return
            self.connection.settimeout(self.server.limits.write)
            self.connection.sendall(data)
            if KERNEL_BOUNDS:
                self.connection.settimeout(None)


class HTTPServer(http.server.ThreadingHTTPServer):
    """Serves one `Server` over Streamable HTTP, on a thread of its own, until `stop`; also a context manager.

    mcp: the server. host, port: the address to bind, port 0 for a free one. path: the MCP endpoint. origins: web
    origins let in beside loopback ones. cors: web origins whose pages may call it, beside the server's own. limits:
    bounds. keep_alive: seconds after which a silent event stream has a comment. health: a path that answers GET with
    200, without a token and under any Host.

    Raises OSError where the address cannot be bound, ValueError for a path, an origin, a bound or a keep_alive that is
    none.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, mcp: "Server", host: str = "127.0.0.1", port: int = 8000, path: str = "/mcp",
                 origins: Iterable[str] = (), limits: Optional[Limits] = None, cors: Iterable[str] = (),
                 keep_alive: float = 15.0, health: Optional[str] = None) -> None:
        self.mcp = mcp
        self.limits = limits or Limits()
        self.endpoint = Endpoint(path, host, origins, self.limits.max_body, [*cors, *mcp.cors], mcp.public_hosts,
                                 health)
        self.disconnects = Disconnects()
        self.streams = EventStreams(keep_alive)
        self.detached: "set[Any]" = set()
        self.stopping = False
        self.open: Dict[Any, None] = {}
        self.busy: "set[Any]" = set()
        self._lingering: List[Tuple[float, socket.socket]] = []
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host.strip("[]"), port), Connection)
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.1,), name="mcp-accept", daemon=True)

    def server_bind(self) -> None:
        """Bind without the name look-up that http.server makes, which can take seconds."""
        socketserver.TCPServer.server_bind(self)

    @property
    def url(self) -> str:
        """The URL of the MCP endpoint."""
        host, port = self.server_address[:2]
        name = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{name}:{port}{self.endpoint.path}"

    def start(self) -> "HTTPServer":
        """Begin to accept connections; returns at once."""
        self.disconnects.start()
        self.streams.start()
        self._accepting.start()
        return self

    def stop(self) -> None:
        """Stop: no new connection, answers under way finished within the grace period, then everything closed."""
        self.stopping = True
        if self._accepting.ident is not None:
            self.shutdown()
        self.server_close()  # at once, so that who connects now is refused instead of kept waiting
        until = time.monotonic() + self.limits.grace
        self.streams.end_all()
        while (self.busy or self.streams.streams) and time.monotonic() < until:
            time.sleep(0.01)
        self.disconnects.cancel_all()
        for connection in list(self.open):
            _hang_up(connection)
        self.streams.stop()
        self.disconnects.stop()

    def __enter__(self) -> "HTTPServer":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def get_request(self) -> Tuple[Any, Any]:
        """Accept a connection; out of files, wait a moment instead of asking again at once."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(0.05)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the connection a thread, or a 503 where there are too many already."""
        if len(self.open) >= self.limits.connections:
            return self._turn_away(request)
        self.open[request] = None
        try:
            super().process_request(request, client_address)
        except RuntimeError:
            self.open.pop(request, None)
            self._turn_away(request)

    def _turn_away(self, connection: socket.socket) -> None:
        error = refusal(503, "service unavailable", "too many connections", [("Retry-After", "1")])
        try:
            connection.settimeout(0.0)
            connection.send(_octets(Answer.plain(error), True))
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self._lingering.append((time.monotonic() + 1.0, connection))

    def service_actions(self) -> None:
        """Close the connections turned away a second ago: closed at once, a reset would overtake the 503."""
        now = time.monotonic()
        while self._lingering and (self._lingering[0][0] <= now or len(self._lingering) > 128):
            self._lingering.pop(0)[1].close()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection whose thread is done with it, unless it was handed over as an event stream."""
        self.open.pop(request, None)
        if request in self.detached:
            self.detached.discard(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A fault of this module; a client that goes away is none and never comes here."""
        log.error("connection failed", exc_info=sys.exc_info())


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def wait_for_signal(announce: Callable[[], None]) -> None:
    """Return at SIGINT or SIGTERM; call it from the main thread. announce: called once neither can be missed.

    It waits at a socket: on a lock, a signal that another thread takes, or that comes just before, wakes nobody.
    """
    stops = (signal.SIGINT, signal.SIGTERM)
    heard, woken = socket.socketpair()
    with heard, woken:
        woken.setblocking(False)
        signal.set_wakeup_fd(woken.fileno())
        try:
            for number in stops:
                signal.signal(number, lambda *_: None)
            announce()
            while heard.recv(1)[0] not in stops:
                pass
        finally:
            signal.set_wakeup_fd(-1)
