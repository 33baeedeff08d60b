"""urllib's connections, bounded in time as a whole and written down as they are: what http_client sends through.

Implements CANC-11 for HTTP. A socket timeout alone bounds each read, and a peer that drips octets would never meet it;
here every read has what is left of the request's deadline. Name resolution is the one thing that cannot be bounded.
"""

from __future__ import annotations

import functools
import http.client
import io
import re
import socket
import urllib.request
from typing import Any, List, Mapping, Tuple

from .deadline import Deadline
from .url import Address

MAX_RECORD = 8 * 1024 * 1024

_SPELLED = {"Mcp-Protocol-Version": "MCP-Protocol-Version"}
"""urllib writes every header name in title case; this one the specification spells otherwise."""

_SECRET = re.compile(r"^((?:proxy-)?authorization|cookie|set-cookie):[^\r\n]*", re.IGNORECASE | re.MULTILINE)


class Exchange:
    """One HTTP exchange: its deadline, whether it got as far as a connection, and, if recorded, its octets."""

    def __init__(self, deadline: Deadline, recorded: bool) -> None:
        self.deadline = deadline
        self.connected = False
        self._recorded = recorded
        self._sent: List[bytes] = []
        self._received: List[bytes] = []
        self._size = 0

    def sent(self, data: bytes) -> None:
        """Write down octets that go out."""
        if self._recorded:
            self._sent.append(data)

    def received(self, data: bytes) -> None:
        """Write down octets that came in, up to MAX_RECORD."""
        if self._recorded and self._size < MAX_RECORD:
            self._received.append(data)
            self._size += len(data)

    def text(self) -> Tuple[str, str]:
        """What was sent and what was received, the values of secret headers replaced by "…"."""
        return _without_secrets(self._sent), _without_secrets(self._received)

    def connect(self, address: Tuple[str, int], *_: Any) -> socket.socket:
        """A connection to the first of the host's addresses that takes one, all within the deadline."""
        failure = OSError("the name has no address")
        for family, kind, protocol, _name, place in socket.getaddrinfo(address[0], address[1], 0, socket.SOCK_STREAM):
            made = socket.socket(family, kind, protocol)
            try:
                made.settimeout(self.deadline.left())
                made.connect(place)
                return made
            except OSError as error:
                failure = error
                made.close()
        raise failure


def _without_secrets(parts: List[bytes]) -> str:
    head, blank, body = b"".join(parts).decode("utf-8", "backslashreplace").partition("\r\n\r\n")
    return _SECRET.sub(r"\1: …", head) + blank + body


class Post(urllib.request.Request):
    """A POST that knows the exchange it belongs to."""

    def __init__(self, url: str, body: bytes, headers: Mapping[str, str], exchange: Exchange) -> None:
        super().__init__(url, body, dict(headers), method="POST")
        self.exchange = exchange


class _Octets(io.RawIOBase):
    """What arrives on a socket, each read bounded by what is left of the deadline."""

    def __init__(self, sock: socket.socket, exchange: Exchange) -> None:
        super().__init__()
        self._sock, self._exchange = sock, exchange
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._exchange.deadline.left())
        count = self._raw.readinto(buffer) or 0
        self._exchange.received(bytes(buffer[:count]))
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, exchange: Exchange, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Octets(sock, exchange))


class _Timed(http.client.HTTPConnection):
    """Connects, sends and reads within the deadline of its exchange."""

    def __init__(self, exchange: Exchange, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._exchange = exchange
        self._create_connection = exchange.connect
        self.response_class = functools.partial(_Response, exchange)  # type: ignore[assignment]

    def connect(self) -> None:
        super().connect()
        self._exchange.connected = True

    def putheader(self, header: Any, *values: Any) -> None:
        super().putheader(_SPELLED.get(header, header), *values)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        self.sock.settimeout(self._exchange.deadline.left())
        self._exchange.sent(data)
        super().send(data)


class _Plain(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        assert isinstance(request, Post)
        return self.do_open(functools.partial(_Timed, request.exchange), request)


def opener(address: Address) -> urllib.request.OpenerDirector:
    """What opens a Post: proxies as the environment has them, none for loopback; no redirect is followed."""
    made = urllib.request.OpenerDirector()
    if not address.loopback:
        made.add_handler(urllib.request.ProxyHandler())
    made.add_handler(_Plain())
    if hasattr(http.client, "HTTPSConnection"):
        made.add_handler(_secure())
    return made


def _secure() -> urllib.request.BaseHandler:
    """The handler for https; made here, as a Python built without ssl has no HTTPSConnection.

    Not from HTTPSHandler, which would load all certificates before anything asks for https.
    """
    class Secure(_Timed, http.client.HTTPSConnection):
        pass

    class Handler(urllib.request.AbstractHTTPHandler):
        https_request = urllib.request.AbstractHTTPHandler.do_request_

        def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
            assert isinstance(request, Post)
            return self.do_open(functools.partial(Secure, request.exchange), request)

    return Handler()
