"""basic/transports/streamable-http, Sending Messages and Receiving Messages: one POST a message, by urllib.

Implements HTTP-06 to HTTP-08, HTTP-10, HTTP-11, HTTP-15, HTTP-74, CANC-08, CANC-11.

    HTTPClient.post
      _open            the POST, a redirect within the same origin repeated, any other refused
      _reply           by status and media type: one JSON object, an event stream, or an HTTPError
        _octets        what arrives: bounded in time by the deadline, its framing checked, gzip undone
    Reply(status, message)                              what the message says is for the client to judge

Whatever can go wrong on the way is an McpError: Timeout, Unreachable, TransportError or HTTPError.
"""

from __future__ import annotations

import http.client
import json
import socket
import urllib.error
import urllib.request
import zlib
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple
from urllib.parse import urljoin

from .. import __version__
from ..base.errors import HTTPError, McpError, ParseError, TransportError, Unreachable
from ..base.jsonrpc import decode, encode, shown
from . import sse
from .connection import Exchange, Post, opener
from .deadline import Deadline
from .endpoint import EVENT_STREAM, JSON
from .mirrors import TOKEN
from .url import Address

MAX_MESSAGE = 64 * 1024 * 1024
MAX_ERROR_BODY = 1024 * 1024
MAX_REDIRECTS = 5
SHOWN_BODY = 300
CHUNK = 64 * 1024

Notified = Callable[[Dict[str, Any]], None]
Wire = Callable[[str, str], None]


class Reply(NamedTuple):
    """status: of the HTTP answer. message: its JSON-RPC response, any JSON value as yet."""

    status: int
    message: Any


class HTTPClient:
    """Sends messages to one MCP endpoint.

    url: http or https; user and password in it are sent as Basic authorization and never shown. headers: sent with
    every request. wire: called after each HTTP exchange with what was sent and what was received, as text, the
    values of authorization and cookie headers left out. Proxies are those of the environment, but for loopback none.
    Raises ValueError for a URL or a header that cannot be used. Any number of threads may use it at once.
    """

    def __init__(self, url: str, headers: Optional[Mapping[str, str]] = None, wire: Optional[Wire] = None) -> None:
        self.address = Address(url)
        self.max_message = MAX_MESSAGE
        self._wire = wire
        self._opener = opener(self.address)
        self._headers = {
            "User-Agent": f"mcp_ref/{__version__}", **self.address.authorization(), **checked_headers(headers or {}),
            "Accept": f"{JSON}, {EVENT_STREAM}", "Accept-Encoding": "identity", "Content-Type": JSON,
        }

    def post(self, message: Mapping[str, Any], headers: Mapping[str, str], deadline: Deadline,
             notified: Notified) -> Reply:
        """Send one request and return its response.

        headers: those that belong to this message. notified: called with each notification that comes ahead of the
        response. Raises TransportError, before anything is sent, for a message that is not JSON.
        """
        body = _encoded(message)
        url = self.address.url
        for _ in range(MAX_REDIRECTS + 1):
            exchange = Exchange(deadline, self._wire is not None)
            try:
                with self._open(exchange, url, body, headers) as response:
                    again = self._redirect(response, url, exchange)
                    if again is None:
                        return self._reply(response, exchange, notified)
            finally:
                if self._wire is not None:
                    self._wire(*exchange.text())
            url = again
        raise TransportError(f"{self.address} redirects more than {MAX_REDIRECTS} times")

    def _open(self, exchange: Exchange, url: str, body: bytes, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        request = Post(url, body, {**self._headers, **headers}, exchange)
        with self._faults(exchange):
            response = self._opener.open(request, timeout=exchange.deadline.left())
            assert isinstance(response, http.client.HTTPResponse)
            return response

    @contextmanager
    def _faults(self, exchange: Exchange) -> Iterator[None]:
        """What the network can raise, as McpErrors that name the server."""
        try:
            yield
        except McpError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(cause, socket.timeout):
                raise exchange.deadline.error() from None
            if not exchange.connected:
                raise Unreachable(f"cannot reach {self.address}: {_words(cause)}") from None
            raise TransportError(f"the exchange with {self.address} broke off: {_words(cause)}") from None

    # What came back

    def _redirect(self, response: http.client.HTTPResponse, url: str, exchange: Exchange) -> Optional[str]:
        """The URL to send the same POST to; None where the response is no redirect. Raises HTTPError for any other.

        Anything but 307 and 308 would turn the POST into a GET, and another origin was not what the user named.
        """
        target = response.headers.get("Location")
        if response.status not in (301, 302, 303, 307, 308) or target is None:
            return None
        try:
            there = Address(urljoin(url, target))
        except ValueError:
            raise HTTPError(response.status, "redirected to what is no http or https URL") from None
        if response.status in (307, 308) and there.origin == self.address.origin:
            return there.url
        raise HTTPError(response.status, f"redirected to {there}, where nothing was sent; use that URL if it is right",
                        response.headers.items())

    def _reply(self, response: http.client.HTTPResponse, exchange: Exchange, notified: Notified) -> Reply:
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        octets = self._octets(response, exchange)
        if not 200 <= response.status < 300:
            return self._refusal(response, octets)
        if kind == JSON:
            return Reply(response.status, self._decoded(_whole(octets, self.max_message)))
        if kind == EVENT_STREAM:
            return Reply(response.status, self._from_stream(octets, notified))
        raise _http_error(response, _beginning(octets), f"a request was answered with {shown(kind)}")

    def _refusal(self, response: http.client.HTTPResponse, octets: Iterator[bytes]) -> Reply:
        body = _beginning(octets)
        try:
            message = decode(body)
        except ParseError:
            message = None
        if isinstance(message, dict) and message.get("jsonrpc") == "2.0" and isinstance(message.get("error"), dict):
            return Reply(response.status, message)
        raise _http_error(response, body)

    def _from_stream(self, octets: Iterable[bytes], notified: Notified) -> Any:
        for data in sse.messages(octets, self.max_message):
            if not data.strip():
                continue
            message = self._decoded(data)
            if not isinstance(message, dict) or "method" not in message:
                return message
            if "id" not in message:
                notified(message)
        raise TransportError(f"{self.address} ended the event stream without the response")

    def _decoded(self, data: bytes) -> Any:
        try:
            return decode(data)
        except ParseError as error:
            raise TransportError(f"{self.address} sent what is not strict JSON: {error.message}") from None

    def _octets(self, response: http.client.HTTPResponse, exchange: Exchange) -> Iterator[bytes]:
        """The body in chunks as they arrive, its content coding undone."""
        coding = response.headers.get("Content-Encoding", "identity").strip().lower()
        arriving = self._arriving(response, exchange)
        if coding in ("", "identity"):
            return arriving
        if coding in ("gzip", "x-gzip", "deflate"):
            return _inflated(arriving)
        raise TransportError(f"{self.address} sent its answer in the coding {shown(coding)}, which nobody asked for")

    def _arriving(self, response: http.client.HTTPResponse, exchange: Exchange) -> Iterator[bytes]:
        """Counts by itself, since read1 of Python 3.9 would read on after Content-Length octets."""
        left = response.length
        while left is None or left > 0:
            with self._faults(exchange):
                data = response.read1(CHUNK if left is None else min(left, CHUNK))
            if not data:
                break
            if left is not None:
                left -= len(data)
            yield data
        if left:
            raise TransportError(f"{self.address} cut its answer off, {left} octets short")


def checked_headers(headers: Mapping[str, str]) -> Dict[str, str]:
    """The headers a caller may add. Raises ValueError for a malformed one, and for one that the protocol sets."""
    made: Dict[str, str] = {}
    for name, value in headers.items():
        if not TOKEN.fullmatch(name):
            raise ValueError(f"{shown(name)} is no header name")
        if not isinstance(value, str) or not all(" " <= c <= "~" or c == "\t" or "\xa0" <= c <= "\xff" for c in value):
            raise ValueError(f"the value of the header {name} holds characters that no header can")
        if name.lower().startswith("mcp-") or name.lower() in _OURS:
            raise ValueError(f"the header {name} is set by the protocol")
        made[name] = value.strip(" \t")
    return made


_OURS = frozenset(("accept", "accept-encoding", "connection", "content-length", "content-type", "transfer-encoding"))


def _encoded(message: Mapping[str, Any]) -> bytes:
    try:
        body = encode(message)
        if b"\\ud" in body:
            json.dumps(message, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise TransportError("not sent: a string of the request holds an unpaired surrogate") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise TransportError(f"not sent: the request is not JSON: {error}") from None
    return body


def _whole(octets: Iterable[bytes], limit: int) -> bytes:
    parts: List[bytes] = []
    size = 0
    for part in octets:
        size += len(part)
        if size > limit:
            raise TransportError(f"the answer exceeds {limit} octets")
        parts.append(part)
    return b"".join(parts)


def _beginning(octets: Iterator[bytes]) -> bytes:
    """As much of an error's body as may matter; a body cut off is still worth showing."""
    data = b""
    try:
        while len(data) < MAX_ERROR_BODY:
            data += next(octets)
    except (StopIteration, TransportError):
        pass
    return data[:MAX_ERROR_BODY]


def _http_error(response: http.client.HTTPResponse, body: bytes, why: str = "") -> HTTPError:
    text = body.decode("utf-8", "replace").strip()
    text = text if len(text) <= SHOWN_BODY else text[:SHOWN_BODY] + "…"
    fields: List[Tuple[str, str]] = response.headers.items()
    return HTTPError(response.status, ": ".join(part for part in (why, text) if part), fields)


def _inflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """gzip or zlib data decoded piece by piece, so that no chunk grows beyond CHUNK octets."""
    decoder = zlib.decompressobj(wbits=47)
    try:
        for chunk in chunks:
            while chunk and not decoder.eof:
                yield decoder.decompress(chunk, CHUNK)
                chunk = decoder.unconsumed_tail
        yield decoder.flush()
    except zlib.error:
        raise TransportError("the answer is not in the coding that its Content-Encoding names") from None
    if not decoder.eof:
        raise TransportError("the compressed answer is cut off")


def _words(error: Any) -> str:
    """A fault in the words of the operating system, without an errno; never empty."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())
