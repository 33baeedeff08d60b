"""RFC 9112, the client's side: connections that are kept, how each is made, and what is read from it.

A request goes by a connection of an earlier one where that is still there; a server may have closed it meanwhile, which
shows when it is taken, or, if it closes at that very moment, when it is used. Then the request is sent once more, by a
new connection, if it may be repeated (`repeatable`); of any other nobody knows whether the server acted on it.

An opener of urllib finds proxies and makes an http.client.HTTPConnection, which connects, by TLS and through them, and
what comes back is an http.client.HTTPResponse. Replaced is what stands between:

    urllib's http handlers       make a connection for each request and say `Connection: close`; here the opener gives
                                 the connection alone, and is asked for one where none is kept
    HTTPConnection.request       writes head and body apart, as two packets; here they are one
    HTTPResponse.begin           reads a head by the email parser, which takes some 60 microseconds where this takes 8
    a socket's timeout           bounds a single read or write, and has each wait its turn twice among the threads of a
                                 program, to look and to act; a socket that is connected does not block here, and is
                                 looked at where it has nothing, for as long as the deadline of the whole leaves
"""

from __future__ import annotations

import functools
import http.client
import io
import os
import re
import select
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import Any, List, Mapping, Optional, Tuple, Type

from ..lib.http1 import parse_fields
from ..lib.text import shown

try:
    import ssl
except ImportError:  # this Python is built without it: see `secure`
    _TLS_READS: Tuple[Type[OSError], ...] = ()
    _TLS_WRITES: Tuple[Type[OSError], ...] = ()
else:
    _TLS_READS, _TLS_WRITES = (ssl.SSLWantReadError,), (ssl.SSLWantWriteError,)

CHUNK = 64 * 1024
MAX_IDLE = 32
"""Connections that are kept while nobody uses them."""
MAX_AGE = 60.0
"""Seconds that one is kept."""

MAX_HEAD = 64 * 1024
"""Octets of a response's head."""
MAX_INTERIM = 32
"""Interim answers ahead of a response."""
MAX_RECORD = 8 * 1024 * 1024
"""Octets of an exchange that are recorded each way."""
READ, WRITE = getattr(select, "POLLIN", 1), getattr(select, "POLLOUT", 4)
"""What a socket can be ready for."""

_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\r\n]*))?\r?\n")
_FIELDS = re.compile(rb"(?:[^\r\n]+\r\n)*\r\n")
_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)")
_WAITS: Tuple[Type[OSError], ...] = (BlockingIOError, *_TLS_READS, *_TLS_WRITES)


class Pool:
    """The idle connections of one client, and the opener that makes them. Any number of threads may share it.

    direct: whether no proxy of the environment is used. What is idle is guarded by one lock.
    """

    def __init__(self, direct: bool) -> None:
        self._idle: List[Tuple[float, Connection]] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._opener = urllib.request.OpenerDirector()
        if not direct:
            self._opener.add_handler(urllib.request.ProxyHandler())
        self._opener.add_handler(_Handler())

    def open(self, method: str, url: str, body: Optional[bytes], fields: Mapping[str, str], exchange: Any,
             repeatable: bool) -> http.client.HTTPResponse:
        """Send a request; returns when the response's head is there. Raises what urllib and http.client do.

        url: as Address.url has it. exchange: the exchange.Exchange that it is for.
        """
        scheme, _, rest = url.partition("://")
        host = rest.partition("/")[0]
        site = f"{scheme}://{host}"
        connection = self._take(site)
        if connection is not None:
            try:
                return connection.exchanged(exchange, method, url, body, fields)
            except socket.timeout:
                raise
            except (OSError, http.client.HTTPException):
                connection.close()
                if connection.answered or connection.begun and not repeatable:
                    raise
        made = self._opener.open(url)
        assert isinstance(made, Connection)
        made.site, made.fields = site, {"Host": host, **made.fields}
        return made.exchanged(exchange, method, url, body, fields)

    def _take(self, site: str) -> "Optional[Connection]":
        """An idle connection to there that is alive, the one used last."""
        while True:
            with self._lock:
                self._tidy()
                row = next((row for row in reversed(self._idle) if row[1].site == site), None)
                if row is None:
                    return None
                self._idle.remove(row)
            if not row[1].has_news():
                return row[1]
            row[1].close()

    def give(self, connection: "Connection") -> None:
        """Keep a connection whose response is read."""
        with self._lock:
            self._tidy()
            self._idle.append((time.monotonic(), connection))

    def _tidy(self) -> None:
        """Close what is old, or too much; in a process that was forked, forget what belongs to the other."""
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), []
        while self._idle and (len(self._idle) > MAX_IDLE or self._idle[0][0] < time.monotonic() - MAX_AGE):
            self._idle.pop(0)[1].close()

    def close(self) -> None:
        """Close all that is idle."""
        with self._lock:
            for _, connection in self._idle:
                connection.close()
            self._idle = []


class _Handler(urllib.request.BaseHandler):
    """Makes the connection for a request, on which a handler ahead of it may have set a proxy."""

    def http_open(self, request: urllib.request.Request) -> "Connection":
        return self._made(Connection, request)

    def https_open(self, request: urllib.request.Request) -> "Connection":
        return self._made(secure(), request)

    def _made(self, kind: "Type[Connection]", request: Any) -> "Connection":
        made = kind(request.host)
        known = request.headers.get("Proxy-authorization")
        fields = {} if known is None else {"Proxy-Authorization": known}
        if request._tunnel_host:
            made.set_tunnel(request._tunnel_host, headers=fields)
        else:
            made.whole_urls, made.fields = request.has_proxy(), fields
        return made


class Connection(http.client.HTTPConnection):
    """Connects, sends and reads within the deadline of its exchange.

    A server may answer before it has all of the request, 413 or 401 say, and hang up (RFC 9112, section 9.5). So
    sending ends where an answer begins, and where sending fails an answer that is there is taken. Head and body go out
    together, for many a server looks at the two apart.

    site: how the URLs that it leads to begin, up to their path. whole_urls: whether a proxy is told the whole of them.
    fields: those that each of its requests has, for that proxy among them. connected: whether there was a connection.
    begun, answered: whether any octet was sent, or came, since the exchange began. ended: whether its peer has closed
    it. patient: whether a read waits for what is not there. reusable: whether another exchange may follow the response.
    """

    connected = begun = answered = ended = reusable = whole_urls = False
    patient = True
    site = ""

    def __init__(self, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self.fields: Mapping[str, str] = {}
        self._create_connection = self._first_that_answers
        self.response_class: Any = self._of_proxy

    def begin(self, exchange: Any) -> None:
        """What follows belongs to this exchange.Exchange, whose module knows this one."""
        self.exchange = exchange
        self.begun = self.answered = self.reusable = self._answering = False
        self.patient = True
        self._fault: Optional[OSError] = None
        self._method = "POST"
        exchange.connection = self

    def exchanged(self, exchange: Any, method: str, url: str, body: Optional[bytes],
                  fields: Mapping[str, str]) -> http.client.HTTPResponse:
        """The response to a request, once its head is there."""
        self.begin(exchange)
        target = url if self.whole_urls else url[len(self.site):]
        self.request(method, target, body or b"", {**self.fields, **fields})
        return self.getresponse()

    def has_news(self) -> bool:
        """Whether, idle, it was closed by its peer, or has octets that nobody asked for."""
        self.patient = False
        try:
            return self._reader.peek(1) != b"" or self.ended
        except (OSError, ValueError):
            return True

    def _first_that_answers(self, address: Tuple[str, int], *_: Any) -> socket.socket:
        failure = OSError("the name has no address")
        for family, kind, protocol, _name, place in socket.getaddrinfo(*address, 0, socket.SOCK_STREAM):
            if self.exchange.is_barred(address[0], str(place[0])):
                failure = OSError("its address is a private one")
                continue
            self.sock = made = socket.socket(family, kind, protocol)  # at once, so that `hang_up` finds it
            try:
                made.settimeout(self.exchange.deadline.left())
                made.connect(place)
                made.settimeout(self.exchange.deadline.left())  # of a handshake
                return made
            except BaseException as error:
                made.close()
                if not isinstance(error, OSError):
                    raise
                failure = error
        raise failure

    def _of_proxy(self, _: socket.socket, method: Optional[str]) -> http.client.HTTPResponse:
        """What answers CONNECT. What comes with it is not read: it would count as the server's, come by TLS."""
        return http.client.HTTPResponse(_Reader(_Octets(self)), method=method)  # type: ignore[arg-type]

    def connect(self) -> None:
        super().connect()
        self.sock.setblocking(False)
        self._reader = _Reader(_Octets(self))
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
                self.exchange.deadline.left()
                try:
                    count = self.sock.send(left[:CHUNK])
                except _WAITS as error:
                    self.wait(READ if isinstance(error, _TLS_READS) else WRITE)
                    continue
                self.begun = True
                self.record(self.exchange.sent, left[:count])
                left = left[count:]
                self._answering = bool(left) and self._answered()
        except socket.timeout:
            raise
        except OSError as error:
            self._answering, self._fault = True, error

    def record(self, part: bytearray, octets: memoryview) -> None:
        """Add to what an exchange sent or received, if anybody wants that; what is said to a proxy is no part of it."""
        if self.exchange.recorded and self.connected and len(part) < MAX_RECORD:
            part += octets

    def _answered(self) -> bool:
        """Whether an answer has begun while there is more to send; waits until either is possible."""
        if type(self.sock) is not socket.socket:
            return False  # what has come over TLS need not be an answer
        return bool(self.wait(READ | WRITE) & READ) and _INTERIM.match(self.sock.recv(12, socket.MSG_PEEK)) is None

    def wait(self, events: int) -> int:
        """What of these its socket is ready for, as soon as it is for one. Raises what the deadline does."""
        while True:
            ready = _ready(self.sock, events, self.exchange.deadline.left())
            if ready:
                return ready
            self.exchange.deadline.waited()

    def getresponse(self) -> http.client.HTTPResponse:
        """The response, once its head is there."""
        response = _Response(self._reader, method=self._method)  # type: ignore[arg-type]
        try:
            response.begin()
        except (OSError, http.client.HTTPException):
            if self._fault is not None:
                raise self._fault from None  # the first fault is the cause of the other
            raise
        self.reusable = not (response.will_close or self._answering)
        return response


def _ready(sock: socket.socket, events: int, seconds: float) -> int:
    """What of READ and WRITE a socket is ready for within so many seconds."""
    if hasattr(select, "poll"):
        watch = select.poll()
        watch.register(sock, events)
        found = watch.poll(int(seconds * 1000) + 1)
        return (found[0][1] & events or events) if found else 0
    can_read, can_write, _ = select.select([sock] if events & READ else [], [sock] if events & WRITE else [], [],
                                           seconds)
    return (READ if can_read else 0) | (WRITE if can_write else 0)


@functools.lru_cache(maxsize=None)
def secure() -> Type[Connection]:
    """The same over TLS, its certificate verified. Raises URLError on a Python without it."""
    if not hasattr(http.client, "HTTPSConnection"):
        raise urllib.error.URLError("this Python is built without ssl")

    class Secure(Connection, http.client.HTTPSConnection):
        """Over TLS."""

    return Secure


class _Octets(io.RawIOBase):
    """What a connection is read from: what there is of it, and where it is patient what comes within the deadline."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        connection = self._connection
        if connection.patient and connection.answered:
            connection.exchange.deadline.left()  # which ends a peer that never lets us wait
        elif connection.patient:
            connection.wait(READ)  # for to read what is not there yet would take a turn for nothing
        while True:
            try:
                count = connection.sock.recv_into(buffer)
                break
            except _WAITS as error:
                if not connection.patient:
                    return 0
                connection.wait(WRITE if isinstance(error, _TLS_WRITES) else READ)
        connection.ended = count == 0
        if count:
            connection.answered = True
            connection.record(connection.exchange.received, buffer[:count])
        return count


class _Reader(io.BufferedReader):
    """Outlasts the responses that are read from it, as the connection does."""

    def makefile(self, *_: Any) -> "_Reader":
        """For http.client, which asks a socket for it."""
        return self

    def close(self) -> None:
        """A response is at its end, or given up."""


class Fields:
    """Header fields, from the text of their lines. Raises ValueError.

    values: by name in lower case; those of a repeated field are joined by commas.
    """

    def __init__(self, text: str) -> None:
        self.values = parse_fields(text)[0] if text else {}
        self._text = text

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, whatever the case of its name."""
        return self.values.get(name.lower(), default)

    def items(self) -> List[Tuple[str, str]]:
        """Each name and value as it came."""
        pairs = (line.partition(":") for line in self._text.split("\r\n") if line)
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
        values = fields.values
        self.chunked = values.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        length = values.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 19):
            raise http.client.HTTPException(f"its Content-Length is {shown(length)}, no number")
        self.length = int(length) if "content-length" in values and not self.chunked else None
        if self.status in (204, 304) or self._method == "HEAD":  # type: ignore[attr-defined]
            self.length = 0
        closes = "close" in values.get("connection", "").lower() if self.version == 11 else True
        self.will_close = closes or self.length is None and not self.chunked

    def _head(self) -> Fields:
        """Sets version, status and reason. Raises HTTPException for what is no head of HTTP/1.1."""
        start = line = self._line(0)
        found = _STATUS.fullmatch(start)
        if found is None:
            raise http.client.BadStatusLine(shown(start.decode("latin-1")))
        self.version, self.status = 10 + int(found[1]), int(found[2])
        self.reason = (found[3] or b"").decode("latin-1").strip()
        there = _FIELDS.match(self.fp.peek(1))  # nearly always all of them
        fields = b"" if there is None else self.fp.read(there.end())
        while there is None and line not in (b"\r\n", b"\n"):
            line = self._line(len(start) + len(fields))
            fields += line.rstrip(b"\r\n") + b"\r\n"
        try:
            return Fields(fields[:-4].decode("latin-1"))
        except ValueError as error:
            raise http.client.HTTPException(f"the head of the response cannot be read: {error}") from None

    def _line(self, before: int) -> bytes:
        """The next line of a head of which so many octets are read."""
        line: bytes = self.fp.readline(MAX_HEAD + 1 - before)
        if line.endswith(b"\n"):
            return line
        if before + len(line) > MAX_HEAD:
            raise http.client.HTTPException(f"the head of the response has more than {MAX_HEAD} octets")
        if before or line:
            raise http.client.HTTPException("the head of the response is cut off")
        raise http.client.RemoteDisconnected("Remote end closed connection without response")
