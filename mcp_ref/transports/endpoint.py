"""basic/transports/streamable-http, Security & Endpoint: where a server is reached, and by whom.

The door of the ladder asks it, and the ids stand there.
"""

from __future__ import annotations

import re
from typing import FrozenSet, Iterable, Optional, Tuple

from ..base.errors import HTTPError, refusal
from ..base.request import Answer, Head
from ..lib.http1 import TOKEN
from ..lib.uri import DEFAULT_PORTS, is_loopback, origin

JSON, EVENT_STREAM = "application/json", "text/event-stream"
CORS_HEADERS = ("accept", "authorization", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version",
                "mcp-session-id", "last-event-id")
MAX_BODY = 4 * 1024 * 1024
"""Octets of a request's body, unless the transport is told otherwise."""

_PATH = re.compile(r"/[\x21\x22\x24-\x3e\x40-\x7e]*")
_PARAMETER = "mcp-param-" + TOKEN


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
        self.local = is_loopback(host.strip("[]"))
        self.cors = frozenset(self._known(text) for text in cors)
        self.origins: FrozenSet[Tuple[str, str, str]] = frozenset(self._known(text) for text in origins) | self.cors
        self.hosts = {host.strip("[]").lower(), *(place[1] for place in self.origins),
                      *(name.lower() for name in public)}

    @staticmethod
    def _known(text: str) -> Tuple[str, str, str]:
        place = origin(text)
        if place is None:
            raise ValueError(f"not a web origin such as https://app.example: {text!r}")
        return place

    def is_called(self, host: str) -> bool:
        """Whether the server is reached by this name; one that is not bound to loopback, by any."""
        return not self.local or host in self.hosts or is_loopback(host)

    def lets_in(self, value: str) -> bool:
        """Whether pages of this Origin may call: those of a known one, and of loopback where the server is there."""
        named = origin(value)
        local = self.local and named is not None and named[0] in DEFAULT_PORTS and is_loopback(named[1])
        return local or named in self.origins

    def healthy(self, head: Head) -> Answer:
        """The answer to a health check. Raises HTTPError for a method that is not GET or HEAD."""
        if head.method not in ("GET", "HEAD"):
            raise refusal(405, "method not allowed", "the health check takes GET", [("Allow", "GET, HEAD")])
        return Answer(200, b'{"status": "ok"}', headers=(("Cache-Control", "no-store"),))

    def too_large(self) -> HTTPError:
        """The 413 for a body over the limit, declared or found while reading."""
        return refusal(413, "content too large", f"a body has at most {self.max_body} octets")

    def exposed(self, head: Head) -> Tuple[Tuple[str, str], ...]:
        """The header fields that let a page of an allowed origin read the answer; none for anybody else (CORS)."""
        value = head.headers.get("origin")
        if value is None or origin(value) not in self.cors:
            return ()
        return (("Access-Control-Allow-Origin", value), ("Vary", "Origin"),
                ("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After, Mcp-Session-Id"))

    def preflight(self, head: Head) -> Optional[Answer]:
        """The answer to a browser of an allowed origin that asks before it sends; None for any other request."""
        if head.method != "OPTIONS" or "access-control-request-method" not in head.headers or not self.exposed(head):
            return None
        asked = head.headers.get("access-control-request-headers", "").lower().split(",")
        names = [name.strip() for name in asked]
        allowed = [name for name in names if name in CORS_HEADERS or re.fullmatch(_PARAMETER, name)]
        return Answer(204, headers=(("Access-Control-Allow-Methods", "POST, GET, DELETE"),
                                    ("Access-Control-Max-Age", "600"),
                                    ("Access-Control-Allow-Headers", ", ".join(allowed))))
