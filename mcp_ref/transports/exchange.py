"""basic/patterns/cancellation, Timeouts: one HTTP exchange by urllib, bounded as a whole; its faults are McpErrors.

A socket timeout bounds each read, and a peer that drips octets would never meet it; here every wait has what is left
of the deadline. Name resolution is the one thing that cannot be bounded. Where connections come from, and that they are
kept, is told in transports/pool.
"""

from __future__ import annotations

import http.client
import re
import socket
import threading
import urllib.error
import zlib
from contextlib import suppress
from typing import Any, Callable, Iterator, Mapping, Optional

from ..base.errors import BrokenOff, McpError, TransportError, Unreachable
from ..lib.text import shown
from ..lib.uri import Address
from .calls import Deadline, Wire
from .pool import CHUNK, Connection, Pool, secure

_FAULTS = (OSError, http.client.HTTPException, ValueError)
_HEADS = r"(?s)(?:HTTP/1\.[01] 1(?!01).*?\r\n\r\n)*.*?(?:\r\n\r\n|\Z)"
SECRET_FIELD = (r"(?im)^(?=(?:proxy-)?authorization:|dpop:|(?:set-)?cookie:"
                r"|[^\s:]*(?:api-?key|-key\b|token|secret|password|credential|-auth\b))([^\s:]+):[^\r\n]*")
"""A header field whose value is nobody else's business, as a line."""


class Exchange:
    """One request and its response; a context manager, which is closed at its end.

    wire: called at the end with what was sent and what was received, as text, the values of secret headers left out.
    pool: where the connection comes from and goes back to; needed by `open`. No redirect is followed. response: once
    its head is there.
    """

    def __init__(self, address: Address, deadline: Deadline, wire: Optional[Wire] = None,
                 pool: Optional[Pool] = None) -> None:
        self.deadline = deadline
        self.connection: Optional[Connection] = None
        self.barred: Optional[Callable[[str], bool]] = None  # addresses that the server's name may not have
        self.recorded, self.sent, self.received = wire is not None, bytearray(), bytearray()
        self.authorized: Mapping[str, str] = {}  # the fields that say on whose behalf it was sent
        self.until: Optional[float] = None  # when the token that it was sent with is over, in epoch seconds
        self.response: Any = None
        self.headers: Any = {}  # of the response, once it is there: a mapping whose names have no case
        self.last_event_id: Optional[str] = None
        self.retry: Optional[float] = None  # seconds
        self._broken = False  # http.client closes a response that cannot be read as it does one that is at its end
        self._lock = threading.Lock()
        self._address, self._pool, self._wire, self._handle = address, pool, wire, deadline.handle

    def __enter__(self) -> "Exchange":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it: its connection is kept for another where the response is read to its end, and closed otherwise."""
        if self._handle is not None:
            self._handle.discard(self.hang_up)
        with self._lock:  # from here on its connection may be another's
            connection, self.connection = self.connection, None
        if connection is not None:
            whole = self.response is not None and self._is_whole(connection)
            if self.response is not None:
                self.response.close()
            if self._pool is None or not whole or self._handle is not None and self._handle.cancelled:
                connection.close()
            else:
                self._pool.give(connection)
        if self._wire is not None:
            self._wire(_without_secrets(self.sent), _without_secrets(self.received))
            self.sent, self.received = bytearray(), bytearray()  # its connection knows it until the next one

    def _is_whole(self, connection: Connection) -> bool:
        """Whether the response is at its end, or what is left of it is there already, and another may follow."""
        if self._broken:
            return False
        response: http.client.HTTPResponse = self.response
        if response.length is not None or response.isclosed():
            return connection.reusable and not response.length
        connection.patient = False
        with suppress(*_FAULTS):
            return connection.reusable and response.read1(CHUNK) == b"" and response.isclosed()
        return False

    def is_barred(self, host: str, place: str) -> bool:
        """Whether the server, and not a proxy, would be reached at an address that is barred."""
        return self.barred is not None and host == self._address.origin[1] and self.barred(place)

    def heard(self, event_id: Optional[str], retry: Optional[float]) -> None:
        """Keep what an event says of taking its stream up again; None where it says nothing."""
        self.last_event_id = self.last_event_id if event_id is None else event_id
        self.retry = self.retry if retry is None else retry

    def open(self, method: str, url: str, body: Optional[bytes], fields: Mapping[str, str],
             repeatable: bool = False) -> http.client.HTTPResponse:
        """Send a request; returns when the response's head is there. Raises Timeout, Unreachable, TransportError.

        repeatable: whether it may be sent again where a kept connection turns out to be dead.
        """
        assert self._pool is not None
        if self._handle is not None:
            self._handle.add(self.hang_up)
        try:
            response = self._pool.open(method, url, body, fields, self, repeatable)
        except _FAULTS as error:
            raise self._fault(error) from None
        self.response, self.headers = response, response.headers
        return response

    def send(self, octets: bytes) -> http.client.HTTPResponse:
        """Send octets that are a whole request already, past any proxy; otherwise as `open`.

        A peer that answers without reading on is heard all the same.
        """
        scheme, host, port = self._address.origin
        if self._handle is not None:
            self._handle.add(self.hang_up)
        try:
            connection = (secure() if scheme == "https" else Connection)(host, port=int(port))
            connection.begin(self)
            connection.connect()
            connection.send(octets)
            self.response = response = connection.getresponse()
        except _FAULTS as error:
            raise self._fault(error) from None
        return response

    def hang_up(self) -> None:
        """End the connection, from any thread: whoever reads it, or waits for it, finds it at its end."""
        with self._lock, suppress(OSError):
            sock = None if self.connection is None else self.connection.sock
            if sock is not None:
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
        too_large = TransportError(f"the answer exceeds {limit} octets")
        if (response.length or 0) > limit:
            raise too_large
        for piece in self.pieces(response):
            body += piece
            if len(body) > limit:
                raise too_large
        return bytes(body)

    def _arriving(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Counts by itself, since read1 of Python 3.9 would read on after Content-Length octets."""
        left = response.length
        while left is None or left > 0:
            try:
                data = response.read1(CHUNK if left is None else min(left, CHUNK))
            except _FAULTS as error:
                raise self._fault(error) from None
            if not data:
                break
            left = None if left is None else left - len(data)
            yield data
        if left:
            raise BrokenOff(f"{self._address} cut its answer off, {left} octets short")

    def _fault(self, error: Exception) -> McpError:
        """What the network raised, as an McpError that names the server."""
        self._broken = True
        cause: Any = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(cause, socket.timeout):
            return self.deadline.error()
        words = " ".join(str(getattr(cause, "strerror", None) or cause or type(cause).__name__).split())
        if self.connection is None or not self.connection.connected:
            return Unreachable(f"cannot reach {self._address}: {words}")
        return BrokenOff(f"the exchange with {self._address} broke off: {words}")


def _without_secrets(octets: bytearray) -> str:
    text = octets.decode("utf-8", "backslashreplace")
    heads: Any = re.match(_HEADS, text)
    return re.sub(SECRET_FIELD, r"\1: …", heads.group()) + text[heads.end():]


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
