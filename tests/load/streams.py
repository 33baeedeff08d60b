"""The reading side: any number of subscriptions/listen streams on one thread, each checked as it arrives."""

from __future__ import annotations

import json
import selectors
import socket
import time
from typing import Any, Callable, Dict, List, Union

from ..support import RawClient, message
from .server import FLOOD, NEWS

SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
TOOLS_CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
WANTED = {"toolsListChanged": True, "resourceSubscriptions": [NEWS]}
AT_ONCE = 64  # streams that are being opened; a server lets in 256 connections that are not yet streams


def announced(number: int) -> str:
    """What a stream hears of `announce(number)`."""
    return TOOLS_CHANGED if number % 2 == 0 else NEWS.replace("{number}", str(number))


class Stream:
    """One stream as its reader sees it.

    heard: what the notifications told, in their order. comments: keep-alive comments. result: of the request, which
    ends the stream. whole: the last chunk arrived. closed: so did the end of the connection. fault: what was wrong.
    """

    def __init__(self, connection: socket.socket, id: Union[int, str]) -> None:
        self.connection, self.id = connection, id
        self.raw = self.text = b""
        self.opened = self.acknowledged = self.whole = self.closed = False
        self.heard: List[str] = []
        self.heard_at = 0.0
        self.comments = 0
        self.result: Any = None
        self.fault = ""

    def feed(self, data: bytes) -> None:
        """Take in what arrived; b"" is the end of the connection."""
        self.raw += data
        self.closed = data == b""
        try:
            while not self.whole and self._step():
                pass
        except (KeyError, TypeError, ValueError) as error:
            self.fault = self.fault or f"{type(error).__name__} {error} in {(self.text + self.raw)[:200]!r}"

    def _step(self) -> bool:
        """Take the head, or one chunk, off `raw`; False until there is more."""
        mark = b"\r\n" if self.opened else b"\r\n\r\n"
        line, found, rest = self.raw.partition(mark)
        if not found:
            return False
        if not self.opened:
            if not line.startswith(b"HTTP/1.1 200 "):
                raise ValueError("the request was refused")
            self.opened, self.raw = True, rest
            return True
        size = int(line, 16)
        if len(rest) < size + 2:
            return False
        self.whole = size == 0
        *events, self.text = (self.text + rest[:size]).split(b"\n\n")
        self.raw = rest[size + 2:]
        for event in events:
            self._event(event)
        return True

    def _event(self, event: bytes) -> None:
        if event.startswith(b":"):
            self.comments += 1
            return
        told = json.loads(event.partition(b"data: ")[2])
        if "result" in told:
            tag, self.result = told["result"]["_meta"][SUBSCRIPTION_ID], told["result"]
            if told["id"] != self.id or self.result["resultType"] != "complete":
                raise ValueError("not the result of this request")
        else:
            tag = told["params"]["_meta"][SUBSCRIPTION_ID]
            self._notification(told)
        if tag != self.id or type(tag) is not type(self.id):
            raise ValueError(f"tagged {tag!r}, not {self.id!r}")

    def _notification(self, told: Dict[str, Any]) -> None:
        if not self.acknowledged:
            self.acknowledged = told["method"] == ACKNOWLEDGED and told["params"]["notifications"] == WANTED
            if not self.acknowledged:
                raise ValueError("the first message is not the acknowledgment of all that was asked for")
            return
        self.heard.append(told["params"].get("uri", told["method"]))
        self.heard_at = time.monotonic()


class Streams:
    """All the streams of one run; they are read while `pump` runs."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.all: List[Stream] = []
        self._selector = selectors.DefaultSelector()

    def open(self, count: int, until: float) -> None:
        """Open `count` streams, a few at once, and wait for their acknowledgments."""
        while len(self.all) < count and time.monotonic() < until:
            for number in range(len(self.all), min(len(self.all) + AT_ONCE, count)):
                id: Union[int, str] = number if number % 2 else f"stream-{number}"
                client = RawClient(self.url)
                client.request(message("subscriptions/listen", {"notifications": WANTED}, id))
                client.socket.setblocking(False)
                stream = Stream(client.socket, id)
                self.all.append(stream)
                self._selector.register(stream.connection, selectors.EVENT_READ, stream)
            self.pump(until, lambda: all(stream.acknowledged or stream.fault for stream in self.all[-AT_ONCE:]))

    def pump(self, until: float, done: Callable[[], bool] = lambda: False) -> bool:
        """Read all streams until `done`, which is what is returned, or until a time (monotonic seconds)."""
        while not done():
            left = until - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self._selector.select(min(left, 0.05)):
                self._read(key.data)
        return True

    def _read(self, stream: Stream) -> None:
        try:
            data = stream.connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        stream.feed(data)
        if not data:
            self._selector.unregister(stream.connection)

    def close(self) -> None:
        """Close all that is open."""
        for stream in self.all:
            stream.connection.close()
        self._selector.close()


class SlowReader:
    """A stream that nobody reads, on a connection with little room."""

    def __init__(self, url: str) -> None:
        with RawClient(url) as client:
            wanted = {"resourceSubscriptions": [FLOOD]}
            octets = client.octets(message("subscriptions/listen", {"notifications": wanted}, "slow"))
            place = client.socket.getpeername()
        self.connection = socket.socket()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.connection.settimeout(10.0)
        self.connection.connect(place)
        self.connection.sendall(octets)
        self.connection.recv(1024, socket.MSG_PEEK)

    def left(self) -> bytes:
        """What the server had sent before it hung up, read at last; b"" if it never did."""
        parts = []
        try:
            while True:
                data = self.connection.recv(1 << 20)
                if not data:
                    return b"".join(parts)
                parts.append(data)
        except socket.timeout:
            return b""
        except OSError:
            return b"".join(parts) or b"reset"
        finally:
            self.connection.close()
