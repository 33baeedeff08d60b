"""basic/versioning, Backward Compatibility: what shows a client that the server speaks an older era.

Servers of the revisions with an `initialize` handshake refuse a modern request in ways of their own: in words on
sessions and on initializing, neither of which there is any more, with a list of versions in the message, or with an
empty 400. A user who is shown no more than that cannot know what is wrong.
"""

from __future__ import annotations

import re
from typing import List, Union

from ..base.errors import (
    RETIRED,
    HTTPError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    ProtocolError,
    UnsupportedProtocolVersion,
)
from ..base.versioning import MODERN

_REVISION = re.compile(r"\b20\d\d-\d\d-\d\d\b")
_VERSION = r"unsupported.{0,20}protocol.?version|protocol.?version.{0,40}(?:not supported|unsupported)"
_HANDSHAKE = r"|\b(?:un)?initiali[sz](?:e|ed|ation)\b"
_SESSION = (r"|session[- _]?id\b|\bno (?:valid |active )?session\b|\bsession (?:was |is )?(?:not found|required)"
            r"|\b(?:missing|invalid|unknown|expired) session\b")
_OF_PARAMS = re.compile(_VERSION + _HANDSHAKE, re.IGNORECASE)
_OF_REQUEST = re.compile(_VERSION + _HANDSHAKE + _SESSION, re.IGNORECASE)
_CODES = (InvalidRequest.defined, -32000, -32001, RETIRED)
"""What such a server refuses a request with that it does not understand, beside InvalidParams."""
MAX_TEXT = 10_000
_SHOWN = 6


def older_era(error: Union[ProtocolError, HTTPError], method: str) -> str:
    """A sentence for the user where the answer to a request of this method shows an older era; otherwise ""."""
    supported = _supported(error)
    text = " ".join([error.body if isinstance(error, HTTPError) else error.message, *supported])[:MAX_TEXT]
    revisions = sorted(set(_REVISION.findall(text)), reverse=True)
    modern = [each for each in supported if each in MODERN] + [each for each in revisions if each > max(MODERN)]
    if modern or not _shows(error, method, text):
        return ""
    older = [each for each in revisions if each < min(MODERN)]
    named = ", ".join(older[:_SHOWN]) or "2025-11-25 or before"
    return f"This server speaks an older era ({named}), this client {', '.join(MODERN)}."


def _supported(error: Union[ProtocolError, HTTPError]) -> List[str]:
    """The versions that the error's data lists."""
    data = error.data if isinstance(error, ProtocolError) else None
    listed = data.get("supported") if isinstance(data, dict) else None
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


def _shows(error: Union[ProtocolError, HTTPError], method: str, text: str) -> bool:
    """Whether an answer that names no modern version is one of an older era."""
    if method == "initialize":  # asked for in so many words, and refused in them by modern servers
        return False
    if isinstance(error, HTTPError):
        return error.status == 400 and not text or error.status in (400, 404, 422) and bool(_OF_REQUEST.search(text))
    if isinstance(error, UnsupportedProtocolVersion):
        return bool(_supported(error))
    if isinstance(error, MethodNotFound):
        return method == "server/discover"  # which every modern server has
    if isinstance(error, InvalidParams):
        return bool(_OF_PARAMS.search(text)) or method == "server/discover" and error.status == 200
    return error.code in _CODES and bool(_OF_REQUEST.search(text))
