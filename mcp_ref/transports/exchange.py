"""basic/patterns/cancellation, Timeouts: one HTTP exchange by urllib, bounded as a whole; its faults are McpErrors.

Implements CANC-10, CANC-11.

A socket timeout bounds each read, and a peer that drips octets would never meet it; here every read has what is left
of the deadline. Name resolution is the one thing that cannot be bounded.
"""

from __future__ import annotations

import functools
import http.client
import io
import re
import selectors
import socket
import urllib.error
import urllib.request
import zlib
from contextlib import contextmanager, suppress
from typing import Any, Callable, Iterator, Optional, Tuple, Type, Union

from ..base.errors import BrokenOff, TransportError, Unreachable
from ..lib.text import shown
from ..lib.uri import Address
from .calls import Deadline, Wire

MAX_RECORD = 8 * 1024 * 1024
CHUNK = 64 * 1024

_SPELLED = {"Mcp-Protocol-Version": "MCP-Protocol-Version"}
"""urllib writes every header name in title case; this one the specification spells otherwise."""
_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)")
_PEEK = socket.MSG_PEEK | getattr(socket, "MSG_DONTWAIT", 0)
_HEADS = re.compile(r"(?:HTTP/1\.[01] 1(?!01).*?\r\n\r\n)*.*?(?:\r\n\r\n|\Z)", re.DOTALL)
_SECRET = re.compile(r"^(?=(?:proxy-)?authorization:|(?:set-)?cookie:|[^\s:]*(?:api-?key|token|secret|password))"
                     r"([^\s:]+):[^\r\n]*", re.IGNORECASE | re.MULTILINE)


class Exchange:
    """One request and its response; a context manager.

    wire: called at the end with what was sent and what was received, as text, the values of secret headers left out.
    Proxies are those of the environment, and none on loopback. No redirect is followed.
    """

    def __init__(self, address: Address, deadline: Deadline, wire: Optional[Wire] = None) -> None:
        self.deadline = deadline
        self.sock: Optional[socket.socket] = None  # once there is a connection
        self.connecting: Optional[socket.socket] = None
        self.barred: Optional[Callable[[str], bool]] = None  # addresses that the server's name may not have
        self.sent, self.received = bytearray(), bytearray()
        self._address, self._wire, self._handle = address, wire, deadline.handle

    def __enter__(self) -> "Exchange":
        if self._handle is not None:
            self._handle.add(self.hang_up)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.discard(self.hang_up)
        if self._wire is not None:
            self._wire(_without_secrets(self.sent), _without_secrets(self.received))

    def is_barred(self, host: str, place: str) -> bool:
        """Whether the server, and not a proxy, would be reached at an address that is barred."""
        return self.barred is not None and host == self._address.origin[1] and self.barred(place)

    def record(self, part: bytearray, data: Union[bytes, memoryview]) -> None:
        """Add octets to `sent` or `received`, if anybody wants them."""
        if self._wire is not None and len(part) < MAX_RECORD:
            part += data

    def open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Send the request; returns when the response's head is there. Raises Timeout, Unreachable, TransportError."""
        opener = urllib.request.OpenerDirector()
        if not self._address.loopback:
            opener.add_handler(urllib.request.ProxyHandler())
        opener.add_handler(_Handler(self))
        with self._faults():
            response = opener.open(request, timeout=self.deadline.left())
            assert isinstance(response, http.client.HTTPResponse)
            return response

    def send(self, octets: bytes) -> http.client.HTTPResponse:
        """Send octets that are a whole request already, past any proxy; otherwise as `open`.

        A peer that answers without reading on is heard all the same.
        """
        scheme, host, port = self._address.origin
        with self._faults():
            connection = (_secure() if scheme == "https" else _Connection)(self, host, port=int(port))
            connection.connect()
            connection.send(octets)
            response: http.client.HTTPResponse = connection.response_class(connection.sock, method="POST")
            connection.sock.close()  # once the response is
            response.begin()
            return response

    def hang_up(self) -> None:
        """End the connection, from any thread: whoever reads it, or waits for it, finds it at its end."""
        sock = self.sock or self.connecting
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def pieces(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """The body as it arrives, its content coding undone. Raises Timeout, TransportError."""
        coding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if coding in ("", "identity"):
            return self._arriving(response)
        if coding in ("gzip", "x-gzip", "deflate"):
            return _inflated(self._arriving(response))
        raise TransportError(f"{self._address} sent its answer in the coding {shown(coding)}, which nobody asked for")

    def whole(self, response: http.client.HTTPResponse, limit: int) -> bytes:
        """The whole body. Raises also TransportError for one of more than `limit` octets."""
        body = bytearray()
        for piece in self.pieces(response):
            body += piece
            if len(body) > limit:
                raise TransportError(f"the answer exceeds {limit} octets")
        return bytes(body)

    def _arriving(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Counts by itself, since read1 of Python 3.9 would read on after Content-Length octets."""
        left = response.length
        while left is None or left > 0:
            with self._faults():
                data = response.read1(CHUNK if left is None else min(left, CHUNK))
            if not data:
                break
            left = None if left is None else left - len(data)
            yield data
        if left:
            raise BrokenOff(f"{self._address} cut its answer off, {left} octets short")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What the network can raise, as McpErrors that name the server."""
        try:
            yield
        except (OSError, http.client.HTTPException, ValueError) as error:
            cause: Any = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(cause, socket.timeout):
                raise self.deadline.error() from None
            words = " ".join(str(getattr(cause, "strerror", None) or cause or type(cause).__name__).split())
            if self.sock is None:
                raise Unreachable(f"cannot reach {self._address}: {words}") from None
            raise BrokenOff(f"the exchange with {self._address} broke off: {words}") from None


def _without_secrets(octets: bytearray) -> str:
    text = octets.decode("utf-8", "backslashreplace")
    heads: Any = _HEADS.match(text)
    return _SECRET.sub(r"\1: …", heads.group()) + text[heads.end():]


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """gzip or zlib data decoded so that no piece grows beyond CHUNK octets."""
    decoder = zlib.decompressobj(wbits=47)
    try:
        for piece in pieces:
            while piece and not decoder.eof:
                yield decoder.decompress(piece, CHUNK)
                piece = decoder.unconsumed_tail
        yield decoder.flush()
    except zlib.error:
        raise TransportError("the answer is not in the coding that its Content-Encoding names") from None
    if not decoder.eof:
        raise TransportError("the compressed answer is cut off")


# How urllib is made to do so

class _Octets(io.RawIOBase):
    """What a response is read from: each read takes no longer than the deadline leaves."""

    def __init__(self, exchange: Exchange, sock: socket.socket) -> None:
        super().__init__()
        self._exchange, self._sock = exchange, sock
        self._raw = sock.makefile("rb", buffering=0)

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._exchange.deadline.left())
        count = self._raw.readinto(buffer) or 0
        self._exchange.record(self._exchange.received, buffer[:count])
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """Passes over whatever interim answers come first (RFC 9110, section 15.2); http.client does so for 100 alone."""

    def begin(self) -> None:
        super().begin()
        while 101 < self.status < 200:
            self.headers = None  # type: ignore[assignment]
            super().begin()


class _Connection(http.client.HTTPConnection):
    """Connects, sends and reads within the deadline of its exchange.

    A server may answer before it has all of the request, 413 or 401 say, and hang up (RFC 9112, section 9.5). So
    sending ends where an answer begins, and where sending fails an answer that is there is taken.
    """

    def __init__(self, exchange: Exchange, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._exchange = exchange
        self._sent = False
        self._fault: Optional[OSError] = None
        self._create_connection = self._first_that_answers
        self.response_class: Any = lambda sock, *args, **named: _Response(
            _Octets(exchange, sock), *args, **named)  # type: ignore[arg-type]

    def _first_that_answers(self, address: Tuple[str, int], *_: Any) -> socket.socket:
        failure = OSError("the name has no address")
        for family, kind, protocol, _name, place in socket.getaddrinfo(*address, 0, socket.SOCK_STREAM):
            if self._exchange.is_barred(address[0], str(place[0])):
                failure = OSError("its address is a private one")
                continue
            made = socket.socket(family, kind, protocol)
            try:
                self._exchange.connecting = made
                made.settimeout(self._exchange.deadline.left())
                made.connect(place)
                return made
            except OSError as error:
                failure = error
                made.close()
        raise failure

    def connect(self) -> None:
        super().connect()
        self._exchange.sock = self.sock

    def putheader(self, header: Any, *values: Any) -> None:
        super().putheader(_SPELLED.get(header, header), *values)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        left = memoryview(data)
        try:
            while left and not self._sent:
                self.sock.settimeout(self._exchange.deadline.left())
                count = self.sock.send(left[:CHUNK])
                self._exchange.record(self._exchange.sent, left[:count])
                left = left[count:]
                self._sent = bool(left) and self._answered()
        except socket.timeout:
            raise
        except OSError as error:
            self._sent, self._fault = True, error

    def _answered(self) -> bool:
        """Whether an answer has begun while there is more to send; waits until either is possible."""
        if type(self.sock) is not socket.socket:
            return False  # what has come over TLS need not be an answer
        with selectors.DefaultSelector() as watch:
            watch.register(self.sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
            ready = watch.select(self._exchange.deadline.left())
        if not ready or not ready[0][1] & selectors.EVENT_READ:
            return False
        return _INTERIM.match(self.sock.recv(12, _PEEK)) is None

    def getresponse(self) -> http.client.HTTPResponse:
        try:
            return super().getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._fault or error  # the first fault is the cause of the other


def _secure() -> Type[_Connection]:
    """The same over TLS. Raises URLError on a Python without it."""
    if not hasattr(http.client, "HTTPSConnection"):
        raise urllib.error.URLError("this Python is built without ssl")

    class Secure(_Connection, http.client.HTTPSConnection):
        """Over TLS."""

    return Secure


class _Handler(urllib.request.AbstractHTTPHandler):
    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_

    def __init__(self, exchange: Exchange) -> None:
        super().__init__()
        self._exchange = exchange

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(_Connection, self._exchange), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(_secure(), self._exchange), request)
