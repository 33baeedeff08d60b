"""RFC 9112, Message Syntax: the octets of one connection, read as requests with a deadline and a bound on everything.

http.server reads a head line by line through the email parser; this reads it in one piece, refuses what the grammar
does not allow, and knows chunked bodies, which http.server does not.
"""

from __future__ import annotations

import re
import socket
import struct
import sys
import time
from typing import Dict, Optional, Set, Tuple

from ..base.errors import HTTPError
from ..base.request import TOKEN, Head
from ..patterns.cancellation import Cancelled
from .endpoint import Endpoint, refusal

MAX_HEAD = 32 * 1024
MAX_FIELDS = 100

_AT_ONCE = getattr(socket, "MSG_DONTWAIT", 0)

_LINE = re.compile(rb"(%s) ([\x21-\x7e]+) HTTP/1\.([01])" % TOKEN.encode("ascii"))
_ABSOLUTE = re.compile(r"https?://([^/?#]*)(/.*)?", re.IGNORECASE)
_FIELD_NAME = re.compile(TOKEN)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?")


class Gone(Cancelled):
    """The peer hung up, or kept silent between two requests: nobody waits for an answer."""


KERNEL_BOUNDS = sys.platform == "linux" and struct.calcsize("@l") == 8
"""Whether the kernel is known to take the time of a socket as two longs, seconds and microseconds."""


def bound(connection: socket.socket, option: int, seconds: float) -> None:
    """Bound each receive (SO_RCVTIMEO) or send (SO_SNDTIMEO) to come: in the kernel where that is known to work.

    Python's own timeout makes two system calls of each, and gives the interpreter lock away at both.
    """
    if KERNEL_BOUNDS:
        whole = int(seconds)
        connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", whole, int((seconds - whole) * 1e6) or 1))
    else:
        connection.settimeout(seconds)


class Reader:
    """Reads one connection. `deadline` (monotonic seconds) bounds whatever is being read; refusals are HTTPErrors."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._bound = 0.0
        self.buffer = bytearray()  # bytes would be copied whole at each octet of a drip, and at each small chunk
        self.deadline = 0.0

    def _receive(self, seconds: float) -> bytes:
        if seconds != self._bound or not KERNEL_BOUNDS:
            bound(self._socket, socket.SO_RCVTIMEO, seconds)
            self._bound = seconds
        return self._socket.recv(65536)

    def wait(self, idle: float, awake: float) -> None:
        """Wait at most `idle` seconds for the first octet of a request. Raises Gone.

        awake: of these, the seconds to look again and again before going to sleep. A client that asks at once after
        each answer is served half again as fast, for to be woken takes longer than to answer.
        """
        self.buffer = self.buffer.lstrip(b"\r\n")
        while not self.buffer:
            try:
                self.buffer += self._look(awake) or self._receive(idle)
            except (OSError, ValueError):
                raise Gone from None
            if not self.buffer:
                raise Gone
            self.buffer = self.buffer.lstrip(b"\r\n")

    def _look(self, seconds: float) -> bytes:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            try:
                return self._socket.recv(65536, _AT_ONCE)
            except BlockingIOError:
                pass
        return b""

    def _more(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise refusal(408, "request timeout", "the request did not arrive in time")
        try:
            data = self._receive(left)
        except (socket.timeout, BlockingIOError):
            raise refusal(408, "request timeout", "the request did not arrive in time") from None
        except OSError:
            raise Gone from None
        if not data:
            raise refusal(400, "bad request", "the request ended before it was complete")
        self.buffer += data

    def head(self) -> Tuple[Head, bool]:
        """The next head, and whether it is HTTP/1.1. Raises HTTPError 400, 408, 431 or Gone."""
        while True:
            end = self.buffer.find(b"\r\n\r\n", 0, MAX_HEAD)
            if end >= 0:
                raw = bytes(self.buffer[:end])
                del self.buffer[:end + 4]
                break
            if len(self.buffer) >= MAX_HEAD:
                raise refusal(431, "request header fields too large", f"a head has at most {MAX_HEAD} octets")
            if self.buffer[:1] < b"!":  # no method begins so, but TLS does
                raise refusal(400, "bad request", "the request line is not that of HTTP/1.1")
            self._more()
        line, _, fields = raw.partition(b"\r\n")
        match = _LINE.fullmatch(line)
        if match is None:
            raise refusal(400, "bad request", "the request line is not that of HTTP/1.1")
        method, target, minor = match.groups()
        headers, repeated = _fields(fields.decode("latin-1")) if fields else ({}, set())
        path = target.decode("ascii")
        absolute = _ABSOLUTE.fullmatch(path)
        if absolute is not None:
            path = absolute.group(2) or "/"
            if "host" in headers:  # it must be there (RFC 9112, section 3.2), though it counts for nothing
                headers["host"] = absolute.group(1)
        return Head(method.decode("ascii"), path, headers, frozenset(repeated)), minor == b"1"

    def body(self, head: Head, endpoint: Endpoint) -> bytes:
        """The body that a head let in by the door announces. Raises HTTPError 400, 408 or 413."""
        length = head.headers.get("content-length")
        if length is not None:
            return self._exactly(int(length))
        return self._chunks(endpoint)

    def _exactly(self, count: int) -> bytes:
        while len(self.buffer) < count:
            self._more()
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def _line(self) -> bytes:
        while True:
            end = self.buffer.find(b"\r\n", 0, 1024)
            if end >= 0:
                line = bytes(self.buffer[:end])
                del self.buffer[:end + 2]
                return line
            if len(self.buffer) >= 1024:
                raise refusal(400, "bad request", "a line of the chunked body is too long")
            self._more()

    def _chunks(self, endpoint: Endpoint) -> bytes:
        body = bytearray()
        while True:
            match = _CHUNK_LINE.fullmatch(self._line())
            if match is None:
                raise refusal(400, "bad request", "the chunked body is malformed")
            size = int(match.group(1), 16)
            if len(body) + size > endpoint.max_body:
                raise endpoint.too_large()
            if size == 0:
                break
            body += self._exactly(size)
            if self._exactly(2) != b"\r\n":
                raise refusal(400, "bad request", "the chunked body is malformed")
        for _ in range(MAX_FIELDS):
            line = self._line()
            if not line:
                return bytes(body)
            _fields(line.decode("latin-1"))  # what is no field could be the end of the body to another reader
        raise refusal(400, "bad request", "the chunked body has too many trailers")

    def linger(self, seconds: float, limit: int) -> None:
        """Close in stages (RFC 9112, section 9.6): say that no more will be sent, and read away what still comes, so
        that the answer is not lost to a reset. It ends with the peer's end, a second of silence, or the bounds.
        """
        until = time.monotonic() + seconds
        try:
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(1.0)
            while limit > 0 and time.monotonic() < until:
                data = self._socket.recv(65536)
                if not data:
                    return
                limit -= len(data)
        except OSError:
            pass

    def drain(self, count: int) -> bool:
        """Read away the `count` octets of a refused body; whether they came."""
        try:
            self._exactly(count)
        except (HTTPError, Gone):
            return False
        return True


def unread(head: Head, limit: int) -> Optional[int]:
    """How many octets a refused request's body has that are worth reading away: those of a length within `limit`.

    None for any other body, behind which no request can be found, or not soon.
    """
    length = head.headers.get("content-length", "0")
    if "transfer-encoding" in head.headers or not (length.isascii() and length.isdigit()) or len(length) > 15:
        return None
    return None if int(length) > limit or "expect" in head.headers else int(length)


def _fields(text: str) -> Tuple[Dict[str, str], Set[str]]:
    headers: Dict[str, str] = {}
    repeated: Set[str] = set()
    lines = text.split("\r\n")
    if len(lines) > MAX_FIELDS:
        raise refusal(431, "request header fields too large", f"a head has at most {MAX_FIELDS} fields")
    if _CONTROL.search(text.replace("\r\n", "")):
        raise refusal(400, "bad request", "a header field holds a control character")
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _FIELD_NAME.fullmatch(name):
            raise refusal(400, "bad request", "a header line is malformed")
        name = name.lower()
        value = value.strip(" \t")
        if name in headers:
            repeated.add(name)
            value = f"{headers[name]}, {value}"
        headers[name] = value
    return headers, repeated
