"""basic/transports/streamable-http, Sending Messages and Receiving Messages: one POST a message.

Implements HTTP-06 to HTTP-08, HTTP-10, HTTP-11, HTTP-74. How octets travel is in transports/exchange, what a response
says is for client/responses to judge.
"""

from __future__ import annotations

import http.client
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, Optional, Protocol, Tuple

from ..base.errors import BrokenOff, HTTPError, TransportError, received
from ..base.versioning import RELEASE
from ..lib.strict_json import NotJson, decode
from ..lib.text import shown
from ..lib.uri import Address, joined
from . import sse
from .calls import Deadline, Headers, Notified, Sent, Wire, encoded, header_source
from .endpoint import EVENT_STREAM, JSON
from .exchange import Exchange
from .pool import Pool

MAX_MESSAGE = 64 * 1024 * 1024
MAX_ERROR_BODY = 1024 * 1024
MAX_REDIRECTS = 5
REPEATABLE = frozenset(("tools/list", "prompts/list", "resources/list", "resources/templates/list",
                        "server/discover", "resources/read", "completion/complete", "ping"))
"""Methods that change nothing, so that a request which may have been lost is sent again."""
SHOWN_BODY = 300
AGENT = {"User-Agent": f"mcp_ref/{RELEASE}"}
ACCEPTED = {"Accept": f"{JSON}, {EVENT_STREAM}", "Accept-Encoding": "identity"}
ACCEPTED_AND_SENT = {**ACCEPTED, "Content-Type": JSON}


class Attempting(Protocol):
    """The authorization of one request: authorization.oauth_client.Attempt. until: when the token that it was sent with
    is over, in epoch seconds."""

    @property
    def until(self) -> Optional[float]: ...

    def headers(self, method: str, url: str) -> Dict[str, str]:
        """The fields to send it with."""

    def challenged(self, status: int, fields: Iterable[Tuple[str, str]], method: str, url: str) -> bool:
        """Whether to send it again after a 401 or 403 with these fields."""


class Authorizing(Protocol):
    """The authorization at one server: authorization.oauth_client.Session."""

    def attempt(self, deadline: Deadline) -> Attempting:
        """That of one request."""

    def bearing(self) -> Optional[Dict[str, str]]:
        """The Authorization of one that is sent as things are; None where it is not known before."""


class HTTPClient:
    """Sends messages to one MCP endpoint. Any number of threads may use it at once.

    url: http or https; user and password in it are sent as Basic authorization and never shown. headers: sent with
    every request, or what makes them for each. wire: called after each HTTP exchange, see
    transports.exchange.Exchange. auth: gets the token that each request is sent with. Raises ValueError for a URL or
    a header that cannot be used.
    """

    timeout = 60.0

    def __init__(self, url: str, headers: Headers = None, wire: Optional[Wire] = None,
                 auth: Optional[Callable[[Address], Authorizing]] = None) -> None:
        self.address = Address(url)
        self._auth = None if auth is None else auth(self.address)
        self.max_message = MAX_MESSAGE
        self._wire = wire
        self._pool = Pool(direct=self.address.loopback)
        weakref.finalize(self, self._pool.close)
        self._given = header_source(headers)

    def authorized(self) -> Optional[Dict[str, str]]:
        """The header fields that say on whose behalf a request is sent: the URL's user, what the caller gives, a token.

        Of the proof that goes with a token nothing, since it is another each time. None where its token is to be
        renewed first, which nothing is asked for here.
        """
        own = {} if self._auth is None else self._auth.bearing()
        return None if own is None else _with(self._of_caller(), own)

    def _of_caller(self) -> Dict[str, str]:
        return _with(self.address.authorization(), self._given())

    def post(self, message: Mapping[str, Any], headers: Mapping[str, str], deadline: Deadline,
             notified: Notified, sent: Optional[Sent] = None) -> Any:
        """Send one request; returns what came as its response, any JSON value as yet.

        headers: those that belong to this message. notified: called with each notification that comes ahead of the
        response. sent: called with the fields of `authorized` that it really went with. Raises Timeout, Unreachable,
        HTTPError, the ProtocolError that an HTTP error carries, and TransportError, for a message that is not JSON
        before anything is sent.
        """
        with self._request(message, headers, deadline) as exchange:
            for answer in self._messages(exchange):
                if not isinstance(answer, dict) or "method" not in answer:
                    if sent is not None:
                        sent(exchange.authorized)
                    return answer
                if "id" not in answer:  # a request of the server's is passed over (HTTP-11)
                    notified(answer)
        raise BrokenOff(f"{self.address} ended its answer without the response")

    def close(self) -> None:
        """Close the connections that are kept."""
        self._pool.close()

    @contextmanager
    def answer(self, message: Mapping[str, Any], headers: Mapping[str, str],
               deadline: Deadline) -> Iterator[Tuple[Exchange, Iterator[Any]]]:
        """Send one request; gives the exchange, and the messages of its answer as they arrive, any JSON values as yet.

        Leaving it closes the connection, unless the answer is whole, when the next request may have it. It, and the
        iterator, raise what `post` does.
        """
        with self._request(message, headers, deadline) as exchange:
            yield exchange, self._messages(exchange)

    def _request(self, message: Mapping[str, Any], headers: Mapping[str, str], deadline: Deadline) -> Exchange:
        return self.exchange("POST", encoded(message), headers, deadline, repeatable=message["method"] in REPEATABLE)

    def notify(self, message: Mapping[str, Any], headers: Mapping[str, str], deadline: Deadline) -> None:
        """Send a notification or a response, which has no answer: of any 2xx the body is not read.

        Raises what `post` does.
        """
        with self.exchange("POST", encoded(message), headers, deadline) as exchange:
            if not 200 <= exchange.response.status < 300:
                raise self._refusal(exchange, "")

    def exchange(self, method: str, body: Optional[bytes], headers: Mapping[str, str], deadline: Deadline,
                 url: Optional[str] = None, repeatable: bool = False) -> Exchange:
        """One HTTP exchange with the endpoint, or another url of its origin, whose response is there; to be closed.

        It is made again where a redirect is followed, and where the client has been authorized meanwhile. repeatable:
        whether a POST may be sent again where a kept connection turns out to be dead. Raises Timeout, Unreachable,
        HTTPError for a redirect that is not followed, and TransportError; with authorization also AuthorizationError,
        and what a 401 or 403 carries.
        """
        url, redirects = url or self.address.url, 0
        given = self._of_caller()
        fields = {**_with(AGENT, given), **(ACCEPTED if body is None else ACCEPTED_AND_SENT), **headers}
        attempt = None if self._auth is None else self._auth.attempt(deadline)
        while redirects <= MAX_REDIRECTS:
            own = {} if attempt is None else attempt.headers(method, url)
            exchange = Exchange(self.address, deadline, self._wire, self._pool)
            try:
                exchange.authorized = _with(given, {name: own[name] for name in own if name == "Authorization"})
                exchange.until = None if attempt is None else attempt.until
                response = exchange.open(method, url, body, _with(fields, own), repeatable or method != "POST")
                again = self._redirect(response, url)
                if again is None and (attempt is None or response.status not in (401, 403)):
                    return exchange
                refused = None if again is not None else self._refusal(exchange, "")
            except BaseException:
                exchange.close()
                raise
            exchange.close()
            if again is not None:
                url, redirects = again, redirects + 1
            elif attempt is not None and not attempt.challenged(response.status, response.headers.items(), method, url):
                assert refused is not None
                raise refused
        raise TransportError(f"{self.address} redirects more than {MAX_REDIRECTS} times")

    def events(self, exchange: Exchange) -> Iterator[sse.Event]:
        """The events of a response that is an event stream. Raises the ProtocolError or HTTPError that it is instead.
        """
        response, kind = exchange.response, _media_type(exchange)
        if response.status != 200 or kind != EVENT_STREAM:
            why = f"a stream was asked for, and {shown(kind)} came: " if response.status == 200 else ""
            raise self._refusal(exchange, why)
        return sse.events(exchange.pieces(response), self.max_message)

    def told(self, exchange: Exchange, events: Iterator[sse.Event]) -> Iterator[Any]:
        """The messages of an event stream, any JSON values as yet. Raises TransportError."""
        for event in events:
            exchange.heard(event.id, event.retry)
            if event.data is not None and event.data.strip():
                yield self._decoded(event.data)

    def _redirect(self, response: http.client.HTTPResponse, url: str) -> Optional[str]:
        """The URL to send the same POST to; None where the response is no redirect. Raises HTTPError for any other.

        Anything but 307 and 308 would turn the POST into a GET, and another origin was not what the user named.
        """
        if response.status not in (301, 302, 303, 307, 308):
            return None
        target = response.headers.get("Location")
        if target is None:
            return None
        try:
            there = Address(joined(url, target))
        except ValueError:
            raise HTTPError(response.status, "redirected to what is no http or https URL") from None
        if response.status in (307, 308) and there.origin == self.address.origin:
            return there.url
        raise HTTPError(response.status, f"redirected to {there}, where nothing was sent; use that URL if it is right",
                        response.headers.items())

    def _messages(self, exchange: Exchange) -> Iterator[Any]:
        """By status and media type: one JSON object, an event stream, or what is not MCP, an HTTPError."""
        response, kind = exchange.response, _media_type(exchange)
        good = 200 <= response.status < 300
        if good and kind == JSON:
            yield self._decoded(exchange.whole(response, self.max_message))
        elif good and kind == EVENT_STREAM:
            yield from self.told(exchange, sse.events(exchange.pieces(response), self.max_message))
        else:
            raise self._refusal(exchange, f"a request was answered with {shown(kind)}: " if good else "")

    def _refusal(self, exchange: Exchange, why: str) -> Exception:
        """The ProtocolError that an HTTP error carries, for any other answer an HTTPError.

        An HTTP exchange has one request, so whatever id the error has it answers that: servers refuse before they have
        read it, and then have none, null, or a word of their own.
        """
        response = exchange.response
        try:
            body = exchange.whole(response, MAX_ERROR_BODY)
            message = decode(body)
        except TransportError:
            body, message = b"", None
        except NotJson:
            message = None
        if not why and isinstance(message, dict) and message.get("jsonrpc") == "2.0" and "error" in message:
            error = received(message["error"], response.status)
            error.id = message.get("id")
            return error
        text = body.decode("utf-8", "replace").strip()
        text = text if len(text) <= SHOWN_BODY else text[:SHOWN_BODY] + "…"
        return HTTPError(response.status, why + text, response.headers.items())

    def _decoded(self, data: bytes) -> Any:
        """The JSON value of a message. Raises TransportError."""
        try:
            return decode(data)
        except NotJson as error:
            raise TransportError(f"{self.address} sent what is not strict JSON: {error}") from None


def _with(given: Mapping[str, str], more: Mapping[str, str]) -> Dict[str, str]:
    """Header fields and more, which stand instead of those of the same name, whatever its case."""
    if not given or not more:
        return {**given, **more}
    names = {name.lower() for name in more}
    return {**{name: value for name, value in given.items() if name.lower() not in names}, **more}


def _media_type(exchange: Exchange) -> str:
    return str(exchange.headers.get("Content-Type", "")).partition(";")[0].strip().lower()
