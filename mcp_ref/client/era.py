"""basic/versioning, Backward Compatibility: which era a server speaks, found out by asking it.

FALLBACK is the whole of it, one ordered table: what was asked, what came, what that shows, and what is done next. The
first row that fits decides. It drives the client (`client/choice`), `probe` and `explain fallback`, and is printed in
the README. Three rules stand behind its order: what a modern server alone can say is believed first; what a proxy, a
login page or a fault says is no evidence of anything; and whatever is left is of an older era, for no code is theirs
alone.

`older_era` is for a client that speaks 2026-07-28 alone: its user is told what is wrong. It also tells one that has a
finding when that has stopped being true.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Union

from ..base.errors import (
    BrokenOff,
    HeaderMismatch,
    HTTPError,
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    MissingClientCapability,
    ProtocolError,
    Timeout,
    UnsupportedProtocolVersion,
)
from ..base.versioning import LEGACY, MODERN
from ..lib.text import shown
from .responses import OtherId

DISCOVER, INITIALIZE, GET = "server/discover", "initialize", "GET"
"""What is asked."""
GO_ON, AGAIN, SPAWN, STOP = "go on", "again", "spawn", "stop"
"""What is done next, or else what is asked next. SPAWN: a process anew, and then initialize."""


class Evidence(NamedTuple):
    """What came for one question: a result, or an error of any kind. before: whether it had been asked already.

    pipe: whether it was asked of a process, which may have ended of the question or be waiting for another.
    """

    result: Optional[Dict[str, Any]] = None
    error: Optional[McpError] = None
    before: bool = False
    pipe: bool = False

    @property
    def status(self) -> int:
        """The HTTP status of what was no result; 0 where there was none."""
        return self.error.status if isinstance(self.error, (ProtocolError, HTTPError)) else 0

    @property
    def versions(self) -> Optional[List[str]]:
        """The versions that a DiscoverResult or -32022 names; None for any other answer."""
        if isinstance(self.error, UnsupportedProtocolVersion):
            return _listed(self.error.data, "supported")
        return _listed(self.result, "supportedVersions")

    def common(self, ours: Sequence[str]) -> Optional[str]:
        """The newest of our versions among those."""
        return next((each for each in ours if each in (self.versions or ())), None)

    def plain(self, *statuses: int) -> bool:
        """Whether it is an HTTP answer of such a status that is no JSON-RPC message."""
        return isinstance(self.error, HTTPError) and self.status in statuses

    def is_html(self) -> bool:
        """Whether it is a page for people."""
        return isinstance(self.error, HTTPError) and bool(re.search(_HTML, self.error.body[:MAX_TEXT]))

    def __str__(self) -> str:
        if self.result is None:
            status = f"HTTP {self.status}, " if isinstance(self.error, ProtocolError) and not self.pipe else ""
            return status + " ".join(str(self.error).split())
        if self.versions is not None:
            return f"supportedVersions {', '.join(self.versions)}"
        named = [f"{name} {self.result[name]}" for name in ("protocolVersion", "endpoint") if name in self.result]
        return named[0] if named else f"a result: {shown(self.result, 80)}"


class Row(NamedTuple):
    """A row of FALLBACK. verdict: "modern", "legacy", "none" (no evidence), or "open" until the next question."""

    asked: str
    came: str
    verdict: str
    next: str
    step: str
    fits: Callable[[Evidence], bool]


FALLBACK = (
    Row(DISCOVER, "a DiscoverResult with a modern version of ours", "modern", "go on with the newest of them", GO_ON,
        lambda it: it.error is None and it.common(MODERN) is not None),
    Row(DISCOVER, "-32022 whose `supported` has a modern version of ours", "modern", "ask again with it, once", AGAIN,
        lambda it: it.common(MODERN) is not None and not it.before),
    Row(DISCOVER, "either, but with older versions alone, one of them ours", "legacy", "initialize, which offers the "
        "newest of them", INITIALIZE, lambda it: it.common(LEGACY) is not None and it.common(MODERN) is None
        and all(each < min(MODERN) for each in it.versions or ())),
    Row(DISCOVER, "either, with no version of ours; -32022 again, or without versions", "modern", "an error that names "
        "the versions of both", STOP,
        lambda it: it.versions is not None or isinstance(it.error, UnsupportedProtocolVersion)),
    Row(DISCOVER, "-32020, -32021", "modern", "an error: the request is to be corrected", STOP,
        lambda it: isinstance(it.error, (HeaderMismatch, MissingClientCapability))),
    Row(DISCOVER, "HTTP 404 with -32601", "modern", "go on without server/discover", GO_ON,
        lambda it: isinstance(it.error, MethodNotFound) and it.status == 404),
    Row(DISCOVER, "HTTP 401, 403, 429, 3xx, 5xx, whatever the body", "none", "an error", STOP,
        lambda it: it.status in (401, 403, 429) or 300 <= it.status < 400 or it.status >= 500),
    Row(DISCOVER, "HTTP 404, 405 without JSON-RPC", "open", "GET, for the stream of HTTP+SSE", GET,
        lambda it: it.plain(404, 405)),
    Row(DISCOVER, "a page of HTML", "none", "an error", STOP, lambda it: it.is_html()),
    Row(DISCOVER, "HTTP 400, 406, 415, 422, empty or of another kind", "legacy", "initialize", INITIALIZE,
        lambda it: it.plain(400, 406, 415, 422)),
    Row(DISCOVER, "any other JSON-RPC error, whatever its code", "legacy", "initialize", INITIALIZE,
        lambda it: isinstance(it.error, ProtocolError)),
    Row(DISCOVER, "a result without supportedVersions; a response with another id", "legacy", "initialize", INITIALIZE,
        lambda it: it.error is None or isinstance(it.error, OtherId)),
    Row(DISCOVER, "stdio: nothing for 10 s, or the process ended", "legacy", "spawn it anew, then initialize", SPAWN,
        lambda it: it.pipe and isinstance(it.error, (Timeout, BrokenOff))),
    Row(DISCOVER, "anything else: no connection, no answer in time, no MCP", "none", "an error", STOP, lambda it: True),
    Row(INITIALIZE, "a result whose protocolVersion is ours", "legacy", "notifications/initialized, the GET stream, "
        "and go on", GO_ON, lambda it: it.error is None),
    Row(INITIALIZE, "HTTP 400, 404, 405 without JSON-RPC", "open", "GET, for the stream of HTTP+SSE", GET,
        lambda it: not it.before and (it.plain(404, 405) or it.plain(400) and not it.is_html())),
    Row(INITIALIZE, "anything else", "none", "an error; a finding that was remembered is dropped, and the server asked "
        "anew", STOP, lambda it: True),
    Row(GET, "an event stream that begins with `endpoint`", "legacy", "initialize over HTTP+SSE", INITIALIZE,
        lambda it: it.error is None),
    Row(GET, "anything else", "none", "an error: there is no MCP endpoint here", STOP, lambda it: True),
)


def judge(asked: str, evidence: Evidence) -> Row:
    """The row that decides: the first of FALLBACK that fits."""
    return next(row for row in FALLBACK if row.asked == asked and row.fits(evidence))


def fallback() -> str:
    """The table as Markdown, for the README and `explain fallback`."""
    rows = [("asked", "what came", "verdict", "next step"), ("---",) * 4, *(row[:4] for row in FALLBACK)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


# What an answer to any request shows

# Texts, since few clients ever meet what they are for: `re` compiles each when it is first used, and keeps it.
_HTML = r"(?i)\A\s*(?:<!doctype html|<html|<head|<body)|: <(?:!doctype html|html)"
_REVISION = r"\b20\d\d-\d\d-\d\d\b"
_VERSION = r"unsupported.{0,20}protocol.?version|protocol.?version.{0,40}(?:not supported|unsupported)"
_HANDSHAKE = r"|\b(?:un)?initiali[sz](?:e|ed|ation)\b"
_SESSION = (r"|session[- _]?id\b|\bno (?:valid |active )?session\b|\bsession (?:was |is )?(?:not found|required)"
            r"|\b(?:missing|invalid|unknown|expired) session\b")
_OF_PARAMS = "(?i)" + _VERSION + _HANDSHAKE
_OF_REQUEST = _OF_PARAMS + _SESSION
_CODES = (InvalidRequest.defined, *range(-32019, -31999))
"""What such a server refuses a request with that it does not understand, beside InvalidParams: any of those that mean
nothing by themselves (BASE-17)."""
MAX_TEXT = 10_000
_SHOWN = 6


def older_era(error: Union[ProtocolError, HTTPError], method: str) -> str:
    """A sentence for the user where the answer to a request of this method shows an older era; otherwise ""."""
    supported = _supported(error)
    text = " ".join([error.body if isinstance(error, HTTPError) else error.message, *supported])[:MAX_TEXT]
    revisions = sorted(set(re.findall(_REVISION, text)), reverse=True)
    modern = [each for each in supported if each in MODERN] + [each for each in revisions if each > max(MODERN)]
    if modern or not _shows(error, method, text):
        return ""
    older = [each for each in revisions if each < min(MODERN)]
    named = ", ".join(older[:_SHOWN]) or "2025-11-25 or before"
    return f"This server speaks an older era ({named}), this client {', '.join(MODERN)}."


def _supported(error: Union[ProtocolError, HTTPError]) -> List[str]:
    """The versions that the error's data lists."""
    return _listed(error.data, "supported") or [] if isinstance(error, ProtocolError) else []


def _listed(data: Any, name: str) -> Optional[List[str]]:
    """The texts in a member that is a list; None where there is none."""
    listed = data.get(name) if isinstance(data, dict) else None
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else None


def _shows(error: Union[ProtocolError, HTTPError], method: str, text: str) -> bool:
    """Whether an answer that names no modern version is one of an older era."""
    if method == "initialize":  # asked for in so many words, and refused in them by modern servers
        return False
    if isinstance(error, HTTPError):
        odd = error.status in (400, 404, 422) and re.search(_OF_REQUEST, text)
        return bool(odd) or error.status == 400 and not text
    if isinstance(error, UnsupportedProtocolVersion):
        return bool(_supported(error))
    if isinstance(error, MethodNotFound):
        return method == "server/discover"  # which every modern server has
    if isinstance(error, InvalidParams):
        return bool(re.search(_OF_PARAMS, text)) or method == "server/discover" and error.status == 200
    return error.code in _CODES and bool(re.search(_OF_REQUEST, text))
