"""basic/transports/streamable-http: the server's side, on http.server.

Implements HTTP-12, HTTP-14, HTTP-18 to HTTP-22, HTTP-94, SUBS-06; CANC-04.

`HTTPServer` is an `http.server.HTTPServer`: `server_address`, `server_bind`, `get_request`,
`process_request`, `finish_request`, `serve_forever`, `shutdown`, `server_close`, `handle_error`, `service_actions` are
where they are there. Replaced is the thread for a connection: one loop serves them all (transports/loop), with 1.6
times as many requests a second at 16 connections, and no thread for one that is idle.

    transports/loop         the selector, and the threads that take turns at it
    transports/connection   one connection: what arrives, the request, the answer, the stream
    transports/handler      what of BaseHTTPRequestHandler a connection has
    transports/outgoing     what is sent, by any thread
    transports/bounds       what is bounded in sum, over all connections

All of a server belongs to the thread that has the loop, but for `stop`, which any thread may call: it asks the loop by
`call_soon`, and reads `states` with `list`, which is atomic.
"""

from __future__ import annotations

import errno
import http.server
import os
import socket
import socketserver
import sys
import threading
import time
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from ..base.errors import refusal
from ..base.log import log
from ..base.request import Answer, Serving
from ..lib.uri import percent_encoded
from . import unix_socket
from .bounds import Decoding, Limits, Room, Slow
from .connection import ANSWERING, ARRIVING, IDLE, LEAVING, LISTENING, READ, SERVING, STATES, Connection
from .endpoint import Endpoint
from .handler import Known
from .loop import IN_A_ROW, Loop
from .outgoing import octets
from .process import wait_for_signal

__all__ = ["HTTPServer", "Limits", "wait_for_signal"]

OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class HTTPServer(http.server.HTTPServer):
    """Serves one `Server` over Streamable HTTP, on a thread of its own, until `stop`; also a context manager.

    mcp: the server. host, port: the address to bind, port 0 for a free one. path: the MCP endpoint. origins: web
    origins let in beside loopback ones. cors: web origins whose pages may call it, beside the server's own. limits:
    bounds. keep_alive: seconds after which a silent event stream has a comment. health: a path that answers GET with
    200, without a token and under any Host. unix: the path of a Unix socket to serve on in place of host and port;
    Host and Origin are asked there as on loopback, since what forwards to it may be reached from anywhere.

    Raises OSError where the address cannot be bound, ValueError for a path, an origin, a bound or a keep_alive that is
    none.
    """

    request_queue_size = 512
    accepts = 64
    """Connections accepted before anything else is done; one where other processes accept at the same socket too."""

    def __init__(self, mcp: Serving, host: str = "127.0.0.1", port: int = 8000, path: str = "/mcp",
                 origins: Iterable[str] = (), limits: Optional[Limits] = None, cors: Iterable[str] = (),
                 keep_alive: float = 15.0, health: Optional[str] = None, unix: Optional[str] = None) -> None:
        if not keep_alive > 0:
            raise ValueError(f"keep-alive is a number of seconds above 0, not {keep_alive}")
        self.mcp = mcp
        self.unix = None if unix is None else os.path.abspath(unix)
        self._bound: Optional[Tuple[int, int]] = None  # the socket's file, and the process that made it
        self._started_by = 0
        host = host if unix is None else "127.0.0.1"
        self.limits = limits or Limits()
        self.endpoint = Endpoint(path, host, origins, self.limits.max_body, [*cors, *mcp.cors], mcp.public_hosts,
                                 health)
        self.keep_alive = keep_alive
        self.stopping = False
        self.abandoned: List[Connection] = []  # whose handlers did not end in the grace period
        self.states: Dict[str, Dict[Connection, None]] = {state: {} for state in STATES}  # each in order of entering
        self.idle, self.listening = self.states[IDLE], self.states[LISTENING]
        self.heads: Dict[bytes, Known] = {}
        self.room = Room(self.limits.bodies)
        self.slow = Slow()
        self._lingering: List[Tuple[float, socket.socket]] = []
        self._accept_at = 0.0
        self._ending, self._over = threading.Lock(), threading.Event()
        if ":" in host:
            self.address_family = socket.AF_INET6
        if self.unix is not None:
            self.address_family = unix_socket.family()
        tick = min(0.25, keep_alive / 4, *(seconds / 4 for seconds in (self.limits.idle, self.limits.arrive,
                                                                      self.limits.write)))
        self.silence = keep_alive - tick  # a stream is silent for `keep_alive` at most
        self.loop = Loop(self.service_actions, max(tick, 0.005), self.limits.handlers)
        self.decoding = Decoding(self.loop)
        address: Any = (host.strip("[]"), port) if self.unix is None else self.unix
        super().__init__(address, Connection)  # the last that can fail, so that what is open is somebody's to close
        self.socket.setblocking(False)

    def server_bind(self) -> None:
        """Bind without the name look-up that http.server makes, which can take seconds."""
        if self.unix is None:
            return socketserver.TCPServer.server_bind(self)
        self._bound = unix_socket.bind(self.socket, self.unix), os.getpid()
        self.server_address = self.unix  # type: ignore[assignment]

    def server_close(self) -> None:
        """Listen no more; the file of a Unix socket goes too, by the process that made it."""
        super().server_close()
        if self._bound is not None and self.unix is not None and self._bound[1] == os.getpid():
            unix_socket.remove(self.unix, self._bound[0])

    @property
    def url(self) -> str:
        """The URL of the MCP endpoint; on a Unix socket http+unix, with the path of the socket as its host."""
        if self.unix is not None:
            return f"http+unix://{percent_encoded(self.unix, '')}{self.endpoint.path}"
        host, port = self.server_address[:2]
        name = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{name}:{port}{self.endpoint.path}"

    @property
    def open(self) -> List[Connection]:
        """All connections."""
        return [each for state in self.states.values() for each in list(state)]

    @property
    def has_one(self) -> bool:
        """Whether there is one connection, and it is idle."""
        return len(self.idle) == 1 and sum(map(len, self.states.values())) == 1

    @property
    def busy(self) -> List[Connection]:
        """The connections whose request is being served."""
        return list(self.states[SERVING])

    def start(self) -> "HTTPServer":
        """Begin to accept connections; returns at once. Raises RuntimeError after `stop`, which is for good."""
        if self.stopping:
            raise RuntimeError("this HTTPServer was stopped; another one serves again")
        if not self.loop.started:
            self._started_by = os.getpid()
            self.loop.start()
            self.loop.call_soon(self._listen)
        return self

    def _listen(self) -> None:
        if not self.stopping:
            self.loop.selector.register(self.socket, READ, self._accept)

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        """Serve until `shutdown` is called by another thread."""
        self.start()
        self._over.wait()

    def shutdown(self) -> None:
        """The same as `stop`."""
        self.stop()

    def stop(self) -> None:
        """Stop: no new connection, answers under way finished within the grace period, then everything closed."""
        with self._ending:
            if self._over.is_set():
                return
            self.stopping = True
            if self.loop.started and self._started_by == os.getpid():  # a fork of this process has none of its threads
                self._have_done(self._stop_listening)
                until = time.monotonic() + self.limits.grace
                while self._answers_under_way() and time.monotonic() < until:
                    time.sleep(0.01)
                self._have_done(self._close_all)
                self.loop.stop()
            else:
                self.server_close()
            self._over.set()

    def _have_done(self, work: Callable[[], None]) -> None:
        done = threading.Event()
        self.loop.call_soon(work)
        self.loop.call_soon(done.set)
        done.wait()

    def _answers_under_way(self) -> bool:
        states = self.states
        return bool(states[SERVING] or states[ANSWERING] or states[LISTENING]
                    or any(each.out.left for each in list(states[LEAVING])))

    def _stop_listening(self) -> None:
        """At once, so that who connects now is refused instead of kept waiting."""
        if self.socket.fileno() in self.loop.selector.get_map():
            self.loop.selector.unregister(self.socket)
        self.server_close()
        for connection in list(self.listening):
            connection.end_stream()

    def _close_all(self) -> None:
        self.abandoned = self.busy
        for connection in self.open:
            connection.close()
        for _, each in self._lingering:
            each.close()

    def __enter__(self) -> "HTTPServer":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Accepting

    def _accept(self, _events: int) -> None:
        for _ in range(self.accepts):
            try:
                request, address = self.get_request()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in OUT_OF_FILES and not self._make_room():  # ask again in a moment, not at once
                    self._accept_at = time.monotonic() + 0.05
                    self.loop.selector.unregister(self.socket)
                return
            self.process_request(request, address)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection, for which the one that is idle longest gives way; a 503 where there is none."""
        if self._full() and not self._make_room():
            return self._turn_away(request)
        try:
            self.finish_request(request, client_address)
        except OSError:
            self.shutdown_request(request)

    def _make_room(self) -> bool:
        """Close the connection that is idle longest; whether there was one."""
        for longest in self.idle:
            longest.close()
            return True
        return False

    def _full(self) -> bool:
        """Whether there are as many connections as may be; event streams have a bound of their own."""
        states = self.states
        return sum(map(len, states.values())) - len(self.listening) >= self.limits.connections

    def _turn_away(self, connection: socket.socket) -> None:
        error = refusal(503, "service unavailable", "too many connections", [("Retry-After", "1")])
        try:
            connection.settimeout(0.0)
            connection.send(octets(Answer.plain(error), True))
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self._lingering.append((time.monotonic() + 1.0, connection))

    def service_actions(self) -> None:
        """What is due, a few times a second."""
        now = time.monotonic()
        while self._lingering and (self._lingering[0][0] <= now or len(self._lingering) > 128):
            self._lingering.pop(0)[1].close()  # closed at once, a reset would have overtaken the 503
        if 0 < self._accept_at <= now:
            self._accept_at = 0.0
            self._listen()
        for connection in self._due(IDLE, now - self.limits.idle):
            connection.close()
        for connection in self._due(ARRIVING, now - self.limits.arrive):
            connection.too_late()
        self._check([each for state in (SERVING, ANSWERING, LISTENING, LEAVING) for each in self.states[state]])
        self.decoding.check(now)

    def _check(self, connections: List[Connection]) -> None:
        """Look after some of these, and after the others in turn with what else there is to do."""
        now = time.monotonic()
        for connection in connections[:IN_A_ROW]:
            connection.check(now)
        if len(connections) > IN_A_ROW:
            self.loop.call_soon(partial(self._check, connections[IN_A_ROW:]))

    def _due(self, state: str, since: float) -> List[Connection]:
        """Those that are in this state since then: they stand first."""
        due = []
        for connection in self.states[state]:
            if connection.since > since:
                break
            due.append(connection)
        return due

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A fault of this module; a client that goes away is none and never comes here."""
        log.error("connection failed", exc_info=sys.exc_info())
