"""basic/transports/streamable-http, Security & Endpoint and Sending Messages: the door and the accept rung.

Implements HTTP-01 to HTTP-03, HTTP-08, HTTP-91, HTTP-92, TRANS-01.

All of it reads the head alone: a request refused here costs no body. What is refused here is plain HTTP, with a
small JSON object that says what was wrong, since the peer need not be speaking MCP at all.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Dict, FrozenSet, Iterable, Mapping, Optional, Tuple

from ..base.errors import HTTPError
from ..base.jsonrpc import encode, shown
from ..base.request import TOKEN, Answer, Head

LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
JSON, EVENT_STREAM = "application/json", "text/event-stream"
CORS_HEADERS = ("accept", "authorization", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version")
DEFAULT_PORTS = {"http": "80", "https": "443"}

MAX_BODY = 4 * 1024 * 1024
"""Octets of a request's body, unless the transport is told otherwise."""

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.+)")
_PATH = re.compile(r"/[\x21\x22\x24-\x3e\x40-\x7e]*")
_PARAMETER = re.compile("mcp-param-" + TOKEN)
_WEIGHT = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def refusal(status: int, error: str, detail: str, headers: Iterable[Tuple[str, str]] = ()) -> HTTPError:
    """The HTTPError that the door raises; its body is a JSON object with `error` and `detail`."""
    return HTTPError(status, '{"error": %s, "detail": %s}' % (encode(error).decode(), encode(detail).decode()),
                     tuple(headers))


@lru_cache(maxsize=256)
def authority(value: str) -> Optional[Tuple[str, str]]:
    """(host in lower case without brackets, port or "") of a Host value; None where it is no whole authority."""
    match = _AUTHORITY.fullmatch(value)
    if match is None or (match.group(2) and int(match.group(2)) > 65535):
        return None
    return match.group(1).strip("[]").lower(), match.group(2) or ""


@lru_cache(maxsize=256)
def origin(value: str) -> Optional[Tuple[str, str, str]]:
    """(scheme, host, port) of an Origin value, the scheme's default port filled in; None where it is none."""
    match = _ORIGIN.fullmatch(value)
    place = authority(match.group(2)) if match else None
    if match is None or place is None:
        return None
    scheme = match.group(1).lower()
    return scheme, place[0], place[1] or DEFAULT_PORTS.get(scheme, "")


class Endpoint:
    """Where the server is reached, and by whom.

    path: the one path that takes POST. host: the address it is bound to; when that is loopback, only a loopback Host
    or the host of an allowed origin is served. origins: further web origins, as "https://app.example". max_body:
    octets. cors: web origins whose pages may call it; they are let in like `origins`, their preflights are answered,
    and what they may read is exposed to them. public: further host names it is reached by, through a proxy. health:
    a path where GET is answered 200 without a token and under any Host, for who asks only whether the server lives.

    Raises ValueError for a path or an origin that is none, a health that is the path, and a max_body below 1.
    """

    def __init__(self, path: str = "/mcp", host: str = "127.0.0.1", origins: Iterable[str] = (),
                 max_body: int = MAX_BODY, cors: Iterable[str] = (), public: Iterable[str] = (),
                 health: Optional[str] = None) -> None:
        for each in (path, path if health is None else health):
            if not _PATH.fullmatch(each):
                raise ValueError(f"a path begins with / and is spelled as in a request line, without a query: {each!r}")
        if health == path:
            raise ValueError(f"health is another path than that of the endpoint, which is {path}")
        if isinstance(max_body, bool) or not isinstance(max_body, int) or max_body < 1:
            raise ValueError(f"max_body is a number of octets of at least 1, not {max_body!r}")
        self.path, self.health = path, health
        self.max_body = max_body
        self.local = host.strip("[]").lower() in LOOPBACK or host.startswith("127.")
        self.cors = frozenset(self._known(text) for text in cors)
        self.origins: FrozenSet[Tuple[str, str, str]] = frozenset(self._known(text) for text in origins) | self.cors
        self.hosts = (LOOPBACK | {host.strip("[]").lower()} | {place[1] for place in self.origins}
                      | {name.lower() for name in public})

    @staticmethod
    def _known(text: str) -> Tuple[str, str, str]:
        place = origin(text)
        if place is None:
            raise ValueError(f"not a web origin such as https://app.example: {text!r}")
        return place

    def door(self, head: Head) -> None:
        """The door: Host, Origin, path, method, and a body framed and bounded. Raises HTTPError."""
        self.admit(head)
        path = head.target.split("?", 1)[0]
        if path != self.path:
            raise refusal(404, "not found", f"the MCP endpoint of this server is {self.path}")
        if head.method != "POST":
            raise refusal(405, "method not allowed", "the MCP endpoint takes POST", [("Allow", "POST")])
        self._check_length(head.headers)

    def admit(self, head: Head) -> None:
        """Host and Origin, whatever else is asked: a page that got here by DNS rebinding is told nothing (HTTP-02)."""
        host = head.headers.get("host")
        if not host or "host" in head.repeated:
            raise refusal(400, "bad request", "exactly one Host header is required")
        place = authority(host)
        if place is None or (self.local and place[0] not in self.hosts):
            raise refusal(403, "forbidden", f"the Host header names {shown(host)}, which this server does not know; "
                                            "--origin URL (origins=) names a host that it is reached by")
        self._check_origin(head)

    def _check_origin(self, head: Head) -> None:
        source = head.headers.get("origin")
        if source is None:  # an empty one is no origin that anybody sends, and refused as the page has it
            return
        named = origin(source)
        local = self.local and named is not None and named[0] in DEFAULT_PORTS and named[1] in LOOPBACK
        if not local and named not in self.origins:
            raise refusal(403, "forbidden", "the Origin header names no origin that this server allows")

    def _check_length(self, headers: Mapping[str, str]) -> None:
        length, coding = headers.get("content-length"), headers.get("transfer-encoding")
        if coding is not None:
            if length is not None:
                raise refusal(400, "bad request", "Content-Length beside Transfer-Encoding")
            if coding.lower() != "chunked":
                raise refusal(400, "bad request", "the only Transfer-Encoding taken is chunked")
        elif length is None:
            raise refusal(411, "length required", "Content-Length or Transfer-Encoding: chunked is required")
        elif not (length.isascii() and length.isdigit()):
            raise refusal(400, "bad request", "Content-Length must be one decimal number")
        elif len(length) > 15 or int(length) > self.max_body:
            raise self.too_large()

    def exposed(self, head: Head) -> Tuple[Tuple[str, str], ...]:
        """The header fields that let a page of an allowed origin read the answer; none for anybody else."""
        value = head.headers.get("origin")
        if value is None or origin(value) not in self.cors:
            return ()
        return (("Access-Control-Allow-Origin", value), ("Vary", "Origin"),
                ("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After"))

    def aside(self, head: Head) -> Optional[Answer]:
        """The answer to what is no message and climbs no ladder, a health check or a preflight; None for all else."""
        try:
            if self.health is not None and head.target.split("?", 1)[0] == self.health:
                return self._healthy(head)
            return self._preflight(head) if head.method == "OPTIONS" else None
        except HTTPError as error:
            return Answer.plain(error)

    def _healthy(self, head: Head) -> Answer:
        self._check_origin(head)
        if head.method not in ("GET", "HEAD"):
            raise refusal(405, "method not allowed", "the health check takes GET", [("Allow", "GET, HEAD")])
        return Answer(200, b'{"status": "ok"}', headers=(("Cache-Control", "no-store"),))

    def _preflight(self, head: Head) -> Optional[Answer]:
        """The answer to a browser that asks before it sends (Fetch, CORS-preflight)."""
        if "access-control-request-method" not in head.headers or not self.exposed(head):
            return None
        self.admit(head)
        asked = head.headers.get("access-control-request-headers", "").lower().split(",")
        names = [name.strip() for name in asked]
        allowed = [name for name in names if name in CORS_HEADERS or _PARAMETER.fullmatch(name)]
        return Answer(204, headers=(("Access-Control-Allow-Methods", "POST, GET"), ("Access-Control-Max-Age", "600"),
                                    ("Access-Control-Allow-Headers", ", ".join(allowed))))

    def too_large(self) -> HTTPError:
        """The 413 for a body over the limit, declared or found while reading."""
        return refusal(413, "content too large", f"a body has at most {self.max_body} octets")


def _ranges(value: str) -> Dict[str, float]:
    """The media ranges of an Accept value with their weights; a malformed weight is a no."""
    ranges: Dict[str, float] = {}
    for part in value.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            key, _, text = parameter.partition("=")
            if key.strip() == "q":
                weight = float(text) if _WEIGHT.fullmatch(text.strip()) else 0.0
        ranges[name] = weight
    return ranges


@lru_cache(maxsize=256)
def accepts(value: str) -> bool:
    """Whether an Accept value takes both JSON and an event stream: the most specific range decides for each."""
    ranges = _ranges(value)
    for wanted in (JSON, EVENT_STREAM):
        for name in (wanted, wanted.split("/")[0] + "/*", "*/*"):
            if name in ranges:
                if ranges[name] <= 0:
                    return False
                break
        else:
            return False
    return True


@lru_cache(maxsize=256)
def is_json(value: str) -> bool:
    """Whether a Content-Type is JSON: media type without case, any parameters but a charset other than UTF-8."""
    name, *parameters = (piece.strip().lower() for piece in value.split(";"))
    charsets = [text.partition("=")[2].strip('" ') for text in parameters if text.startswith("charset")]
    return name == JSON and all(charset in ("utf-8", "utf8") for charset in charsets)


def accept(head: Head) -> None:
    """The accept rung (HTTP-08). Raises HTTPError 406 with the walkthrough's body."""
    if not accepts(head.headers.get("accept", "")):
        raise HTTPError(406, '{"error": "not acceptable", "detail": '
                             '"POST requires Accept: application/json, text/event-stream"}')


def content_type(head: Head) -> None:
    """The first check of the framing rung: the body is declared to be JSON. Raises HTTPError 415."""
    if not is_json(head.headers.get("content-type", "")):
        raise refusal(415, "unsupported media type", "Content-Type must be application/json")
