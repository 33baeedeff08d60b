"""basic/index, OpenTelemetry trace context: traceparent, tracestate and baggage, where they are well-formed.

Implements META-18, META-19. A value that breaks its W3C format is dropped, and fails no request; a tracestate goes
with the traceparent that it belongs to.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping

from .http1 import TOKEN

TRACE_CONTEXT = ("traceparent", "tracestate", "baggage")

_TRACEPARENT = r"(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\x21-\x7e]*)?"
_STATE_MEMBER = r"[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
_VALUE = r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"
_BAGGAGE_MEMBER = rf"{TOKEN}[ \t]*=[ \t]*{_VALUE}(?:[ \t]*;[ \t]*{TOKEN}(?:[ \t]*=[ \t]*{_VALUE})?)*"


def trace_context(meta: Mapping[str, Any]) -> Dict[str, str]:
    """The well-formed ones of `traceparent`, `tracestate` and `baggage` in a request's `_meta`."""
    found = {}
    parent, state, baggage = (meta.get(name) for name in TRACE_CONTEXT)
    if isinstance(parent, str) and len(parent) <= 512:
        match = re.fullmatch(_TRACEPARENT, parent)
        if match and (match.group(1) != "00" or match.group(2) is None):
            found["traceparent"] = parent
            if isinstance(state, str) and _is_list(state, _STATE_MEMBER, 32, 8192):
                found["tracestate"] = state
    if isinstance(baggage, str) and _is_list(baggage, _BAGGAGE_MEMBER, 180, 8192):
        found["baggage"] = baggage
    return found


def _is_list(value: str, member: str, most: int, length: int) -> bool:
    members = [part.strip(" \t") for part in value.split(",")]
    return (0 < len(value) <= length and len(members) <= most
            and all(not part or re.fullmatch(member, part) for part in members) and any(members))
