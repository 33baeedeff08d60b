"""RFC 9112, the client's side: connections that are kept, how each is made, and what is read from it.

A request goes by a connection of an earlier one where that is still there; a server may have closed it meanwhile, which
shows when it is taken, or, if it closes at that very moment, when it is used. Then the request is sent once more, by a
new connection, if it may be repeated (`repeatable`); of any other nobody knows whether the server acted on it.

An opener of urllib finds proxies, an http.client.HTTPConnection connects, by TLS and through them, and what comes back
is an http.client.HTTPResponse. Replaced is what stands between:

    urllib's http handlers       make a connection for each request and say `Connection: close`
    HTTPConnection.request       writes head and body apart, as two packets; here they are one
    HTTPResponse.begin           reads a head by the email parser, which takes some 60 microseconds where this takes 8
"""

from __future__ import annotations

import functools
import http.client
import io
import os
import re
import select
import selectors
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from copy import copy
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type

from ..lib.http1 import parse_fields
from ..lib.text import shown

CHUNK = 64 * 1024
MAX_IDLE = 32
"""Connections that are kept while nobody uses them."""
MAX_AGE = 60.0
"""Seconds that one is kept."""

MAX_KNOWN = 64
MAX_HEAD = 64 * 1024
"""Octets of a response's head."""
MAX_INTERIM = 32
"""Interim answers ahead of a response."""

_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\r\n]*))?\r?\n")
_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)")
_PEEK = socket.MSG_PEEK | getattr(socket, "MSG_DONTWAIT", 0)

Place = Tuple[type, str, Optional[str]]
"""Of a connection: its kind, whom it leads to, and the host beyond a proxy."""


class Pool:
    """The idle connections of one client, and the opener that uses them. Any number of threads may share it.

    direct: whether no proxy of the environment is used. All of it is guarded by one lock.
    """

    def __init__(self, direct: bool) -> None:
        self._idle: List[Tuple[float, Place, Connection]] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._known: Dict[str, urllib.request.Request] = {}  # by URL: to take one apart costs more than to copy it
        self._opener = urllib.request.OpenerDirector()
        if not direct:
            self._opener.add_handler(urllib.request.ProxyHandler())
        self._opener.add_handler(_Handler(self))

    def open(self, method: str, url: str, body: Optional[bytes], fields: Mapping[str, str], exchange: Any,
             repeatable: bool) -> http.client.HTTPResponse:
        """Send a request; returns when the response's head is there. Raises what urllib and http.client do."""
        known = self._known.get(url)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[url] = urllib.request.Request(url)
        request: Any = copy(known)
        request.method, request.exchange, request.repeatable = method, exchange, repeatable
        request.headers = {"Host": request.host, **fields}
        request.octets = body or b""
        response = self._opener.open(request, timeout=exchange.deadline.left())
        assert isinstance(response, http.client.HTTPResponse)
        return response

    def take(self, place: Place) -> "Optional[Connection]":
        """An idle connection to there that seems to be alive, the one used last."""
        while True:
            with self._lock:
                self._tidy()
                found = [row for row in self._idle if row[1] == place]
                if not found:
                    return None
                self._idle.remove(found[-1])
            if not _has_news(found[-1][2].sock):
                return found[-1][2]
            found[-1][2].close()

    def give(self, place: Place, connection: "Connection") -> None:
        """Keep a connection whose response is read."""
        with self._lock:
            self._tidy()
            self._idle.append((time.monotonic(), place, connection))

    def _tidy(self) -> None:
        """Close what is old, or too much; in a process that was forked, forget what belongs to the other."""
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), []
        while self._idle and (len(self._idle) > MAX_IDLE or self._idle[0][0] < time.monotonic() - MAX_AGE):
            self._idle.pop(0)[2].close()

    def close(self) -> None:
        """Close all that is idle."""
        with self._lock:
            for _, _, connection in self._idle:
                connection.close()
            self._idle = []


def _has_news(sock: Any) -> bool:
    """Whether an idle connection was closed by its peer, or has octets that nobody asked for."""
    try:
        if not hasattr(select, "poll"):
            return bool(select.select([sock], [], [], 0)[0])
        watch = select.poll()
        watch.register(sock, select.POLLIN)
        return bool(watch.poll(0))
    except (OSError, ValueError, AttributeError):
        return True


class _Handler(urllib.request.BaseHandler):
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self._open(Connection, request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self._open(secure(), request)

    def _open(self, kind: "Type[Connection]", request: Any) -> http.client.HTTPResponse:
        place = kind, request.host, request._tunnel_host
        connection = self._pool.take(place)
        if connection is not None:
            try:
                return self._send(connection, place, request)
            except socket.timeout:
                raise
            except (OSError, http.client.HTTPException):
                connection.close()
                if connection.answered or connection.begun and not request.repeatable:
                    raise
        return self._send(kind(request.host), place, request)

    def _send(self, connection: "Connection", place: Place, request: Any) -> http.client.HTTPResponse:
        connection.begin(request.exchange, functools.partial(self._pool.give, place, connection))
        fields = request.headers
        if request._tunnel_host:
            known = fields.pop("Proxy-authorization", None)
            if connection.sock is None:
                connection.set_tunnel(request._tunnel_host, headers=known and {"Proxy-Authorization": known})
        connection.request(request.method, request.selector, request.octets, fields)
        return connection.getresponse()


class Connection(http.client.HTTPConnection):
    """Connects, sends and reads within the deadline of its exchange.

    A server may answer before it has all of the request, 413 or 401 say, and hang up (RFC 9112, section 9.5). So
    sending ends where an answer begins, and where sending fails an answer that is there is taken. Head and body go out
    together, for many a server looks at the two apart.

    connected: whether there was a connection. begun, answered: whether any octet was sent, or came, since `begin`.
    surplus: whether octets came that belong to no response. patient: whether a read waits for what is not there.
    """

    connected = begun = answered = surplus = False

    def __init__(self, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._create_connection = self._first_that_answers

    def begin(self, exchange: Any, keep: Any = None) -> None:
        """What follows belongs to this exchange.Exchange, whose module knows this one. keep: called when its response
        is read and the next may come."""
        self.exchange, self._keep = exchange, keep
        self.begun = self.answered = self.surplus = self._answering = False
        self.patient = True
        self._fault: Optional[OSError] = None
        self._method = "POST"
        exchange.connection = self

    def keep(self) -> None:
        """The response is read: keep the connection, if it may be."""
        if self.sock is not None and self._keep is not None and not (
                self._fault or self._answering or self.surplus):
            self._keep()
        else:
            self.close()

    def _first_that_answers(self, address: Tuple[str, int], *_: Any) -> socket.socket:
        failure = OSError("the name has no address")
        for family, kind, protocol, _name, place in socket.getaddrinfo(*address, 0, socket.SOCK_STREAM):
            if self.exchange.is_barred(address[0], str(place[0])):
                failure = OSError("its address is a private one")
                continue
            made = socket.socket(family, kind, protocol)
            try:
                self.exchange.connecting = made
                made.settimeout(self.exchange.deadline.left())
                made.connect(place)
                return made
            except BaseException as error:
                made.close()
                if not isinstance(error, OSError):
                    raise
                failure = error
        raise failure

    def connect(self) -> None:
        with ExitStack() as ended:
            def answered(*given: Any, **options: Any) -> http.client.HTTPResponse:
                return ended.enter_context(http.client.HTTPResponse(*given, **options))

            # A proxy's answer, which http.client before 3.12 leaves to be collected, and so the socket.
            self.response_class = answered  # type: ignore[assignment]
            super().connect()
        self.connected = True

    def request(self, method: str, url: str, body: Any = b"", headers: Any = None, **_: Any) -> None:
        """Send a request in one piece. Raises ValueError for a field with a line break in it."""
        lines = [f"{method} {url} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()]]
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines)
        if head.count("\n") >= len(lines) or head.count("\r") >= len(lines):
            raise ValueError("a header field holds a line break")
        self._method = method
        if self.sock is None:
            self.connect()
        self.send((head + "\r\n\r\n").encode("latin-1") + body)

    def send(self, data: Any) -> None:
        left = memoryview(data)
        try:
            while left and not self._answering:
                self.sock.settimeout(self.exchange.deadline.left())
                count = self.sock.send(left[:CHUNK])
                self.begun = True
                self.exchange.record(self.exchange.sent, left[:count])
                left = left[count:]
                self._answering = bool(left) and self._answered()
        except socket.timeout:
            raise
        except OSError as error:
            self._answering, self._fault = True, error

    def _answered(self) -> bool:
        """Whether an answer has begun while there is more to send; waits until either is possible."""
        if type(self.sock) is not socket.socket:
            return False  # what has come over TLS need not be an answer
        with selectors.DefaultSelector() as watch:
            watch.register(self.sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
            ready = watch.select(self.exchange.deadline.left())
        if not ready or not ready[0][1] & selectors.EVENT_READ:
            return False
        return _INTERIM.match(self.sock.recv(12, _PEEK)) is None

    def getresponse(self) -> http.client.HTTPResponse:
        """The response, once its head is there."""
        response = _Response(_Octets(self, self.sock), method=self._method)  # type: ignore[arg-type]
        try:
            response.begin()
        except BaseException as error:
            response.close()  # or the socket would stay open until the response is collected
            if self._fault is not None and isinstance(error, (OSError, http.client.HTTPException)):
                raise self._fault  # the first fault is the cause of the other
            raise
        if response.will_close:
            self._keep = None
        return response


@functools.lru_cache(maxsize=None)
def secure() -> Type[Connection]:
    """The same over TLS, its certificate verified. Raises URLError on a Python without it."""
    if not hasattr(http.client, "HTTPSConnection"):
        raise urllib.error.URLError("this Python is built without ssl")

    class Secure(Connection, http.client.HTTPSConnection):
        """Over TLS."""

    return Secure


class _Octets(io.RawIOBase):
    """What a response is read from: each read takes no longer than the deadline leaves."""

    def __init__(self, connection: Connection, sock: socket.socket) -> None:
        super().__init__()
        self._connection, self._exchange, self._sock = connection, connection.exchange, sock
        self._open = sock.makefile("rb", buffering=0)  # while this is, so is the socket

    def makefile(self, *_: Any) -> io.BufferedReader:
        return _Reader(self)

    def readable(self) -> bool:
        return True

    def note(self, reader: io.BufferedReader) -> None:
        """The response is at its end, or given up: look, without waiting, for what comes after it."""
        self._connection.patient = False
        try:
            self._connection.surplus = bool(reader.peek(1))
        except (OSError, ValueError):
            self._connection.surplus = True

    def readinto(self, buffer: Any) -> int:
        patient, deadline = self._connection.patient, self._exchange.deadline
        while True:
            self._sock.settimeout(deadline.left() if patient else 0.0)
            try:
                count = self._sock.recv_into(buffer)
                break
            except socket.timeout:
                deadline.waited()
            except OSError:
                if patient:
                    raise
                return 0
        if count:
            self._connection.answered = True
            self._exchange.record(self._exchange.received, buffer[:count])
        return count

    def close(self) -> None:
        self._open.close()
        super().close()


class _Reader(io.BufferedReader):
    """Notes whether there is more than the response when http.client is done with it."""

    def close(self) -> None:
        if not self.closed:
            octets: Any = self.raw
            octets.note(self)
        super().close()


class Fields(Dict[str, str]):
    """Header fields, from their lines; the values of a repeated one are joined by commas.

    By name in lower case; `get` takes any case, and `items` has each as it came. Raises ValueError.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(parse_fields("\r\n".join(lines))[0] if lines else {})
        self._lines = lines

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)

    def items(self) -> Any:
        pairs = (line.partition(":") for line in self._lines)
        return [(name, value.strip()) for name, _, value in pairs]


class _Response(http.client.HTTPResponse):
    """Reads a head of at most MAX_HEAD octets, and passes over whatever interim answers come first (RFC 9110, 15.2)."""

    def begin(self) -> None:
        for _ in range(MAX_INTERIM):
            fields = self._head()
            if self.status >= 200 or self.status == 101:
                break
        else:
            raise http.client.HTTPException("interim answers do not end")
        self.headers = self.msg = fields  # type: ignore[assignment]
        self.code = self.status
        self.chunked = fields.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        length = fields.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 19):
            raise http.client.HTTPException(f"its Content-Length is {shown(length)}, no number")
        self.length = int(length) if "content-length" in fields and not self.chunked else None
        if self.status in (204, 304) or self._method == "HEAD":  # type: ignore[attr-defined]
            self.length = 0
        closes = "close" in fields.get("connection", "").lower() if self.version == 11 else True
        self.will_close = closes or self.length is None and not self.chunked

    def _head(self) -> Fields:
        """Sets version, status and reason. Raises HTTPException for what is no head of HTTP/1.1."""
        line = self._line(MAX_HEAD)
        if not line:
            raise http.client.RemoteDisconnected("Remote end closed connection without response")
        found = _STATUS.fullmatch(line)
        if found is None:
            raise http.client.BadStatusLine(shown(line.decode("latin-1")))
        self.version, self.status = 10 + int(found[1]), int(found[2])
        self.reason = (found[3] or b"").decode("latin-1").strip()
        lines, left = [], MAX_HEAD
        while line not in (b"\r\n", b"\n"):
            line = self._line(left)
            if not line:
                raise http.client.HTTPException("the head of the response is cut off")
            left -= len(line)
            lines.append(line.decode("latin-1").rstrip("\r\n"))
        lines.pop()
        try:
            return Fields(lines)
        except ValueError as error:
            raise http.client.HTTPException(f"the head of the response cannot be read: {error}") from None

    def _line(self, limit: int) -> bytes:
        line: bytes = self.fp.readline(limit + 1)
        if len(line) > limit:
            raise http.client.HTTPException(f"the head of the response has more than {MAX_HEAD} octets")
        if line and not line.endswith(b"\n"):
            raise http.client.HTTPException("the head of the response is cut off")
        return line
