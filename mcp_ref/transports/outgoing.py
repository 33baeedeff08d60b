"""RFC 9112, the server's side of the wire: an answer as octets, and their way to one client, from any thread.

An Outgoing is all of a connection that threads share: the handler's thread sends notifications and the answer, the
loop's thread sends the rest of them, comments on a silent stream, and closes. All of it happens under one lock, which
no call holds for long, since the socket does not block. So every piece goes out whole, no comment comes after the end
of its stream, and nothing is sent to a socket that is closed, whose number could be another client's by then.
"""

from __future__ import annotations

import socket
import threading
import time
from functools import lru_cache
from http import HTTPStatus
from typing import Callable, Iterable, Optional, Tuple

from ..base.request import Answer

LARGE = 64 * 1024
"""Octets of output beyond which who waits for its reader waits."""
AT_ONCE = 256 * 1024

STREAM_HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
               b"X-Accel-Buffering: no\r\n")

_REASONS = {status.value: status.phrase for status in HTTPStatus}


def fields(headers: Iterable[Tuple[str, str]]) -> bytes:
    """Header fields as octets."""
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


@lru_cache(maxsize=256)
def _first(status: int, kind: str) -> bytes:
    line = f"HTTP/1.1 {status} {_REASONS.get(status, '')}\r\n"
    return (line + (f"Content-Type: {kind}\r\n" if kind else "")).encode("latin-1")


def octets(answer: Answer, close: bool, more: bytes = b"", bodiless: bool = False) -> bytes:
    """An answer on the wire. close: whether the connection ends with it. more: further fields. bodiless: for HEAD."""
    status, body, kind, headers, _ = answer
    length = b"" if status == 204 else b"Content-Length: %d\r\n" % len(body)
    if headers:
        more = fields(headers) + more
    last = b"Connection: close\r\n\r\n" if close else b"\r\n"
    return b"".join((_first(status, kind if body else ""), length, more, last, b"" if bodiless else body))


class Outgoing:
    """What is on its way to one client, by a socket that does not block.

    on_rest: called, by any thread, when the socket has not taken all of a piece: `flush` is to be called once it takes
    more. left: what waits. progressed: when the client last took something, in monotonic seconds. streaming: whether a
    stream is open, into which a comment may go.
    """

    __slots__ = ("left", "progressed", "streaming", "_socket", "_on_rest", "_lock", "_drained", "_closed")

    def __init__(self, connection: socket.socket, on_rest: Callable[[], None]) -> None:
        self.left = bytearray()
        self.progressed = 0.0
        self.streaming = False
        self._socket, self._on_rest = connection, on_rest
        self._lock = threading.Lock()
        self._drained: Optional[threading.Event] = None
        self._closed = False

    def send(self, data: bytes, streaming: Optional[bool] = None, wait: bool = False) -> None:
        """Send what the socket takes now; the rest waits. Raises OSError where the client is gone.

        streaming: whether a stream is open from here on. wait: until the reader has taken nearly all of it.
        """
        with self._lock:
            if streaming is not None:
                self.streaming = streaming
            self._take(data)
            if not self.left:
                return
            drained = None
            if wait and len(self.left) > LARGE:
                drained = self._drained = self._drained or threading.Event()
        self._on_rest()
        if drained is not None:
            drained.wait()
            if self._closed:
                raise BrokenPipeError

    def comment(self, data: bytes) -> None:
        """Send this if a stream is open and nothing else is on its way. Raises OSError."""
        with self._lock:
            if not self.streaming or self.left:
                return
            self._take(data)
        if self.left:
            self._on_rest()

    def _take(self, data: bytes) -> None:
        if not self.left:
            try:
                sent = self._socket.send(data)
            except (BlockingIOError, InterruptedError):
                sent = 0
            self.progressed = time.monotonic()
            if sent == len(data):
                return
            data = data[sent:]
        self.left += data

    def flush(self) -> bool:
        """Send more of what waits; whether nothing waits any longer. Raises OSError."""
        with self._lock:
            if self.left and not self._closed:
                try:
                    del self.left[:self._socket.send(self.left[:AT_ONCE])]
                    self.progressed = time.monotonic()
                except (BlockingIOError, InterruptedError):
                    return False
            if self._drained is not None and len(self.left) <= LARGE:
                self._drained.set()
                self._drained = None
            return not self.left

    def close(self) -> None:
        """Close the socket; who waits for the reader is told."""
        with self._lock:
            self._closed = True
            self.left = bytearray()
            if self._drained is not None:
                self._drained.set()
            try:
                self._socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            self._socket.close()
