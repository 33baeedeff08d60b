"""Values and foreign text where people read them, in a message, a log or a terminal; and octets as text."""

from __future__ import annotations

import base64
import json
from typing import Any, Iterable, Union

Octets = Union[bytes, bytearray, memoryview]

_pieces = json.JSONEncoder()
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def shown(value: Any, limit: int = 60) -> str:
    """A peer's value as it may stand in a message or a log line: as JSON, ASCII, cut at `limit` characters."""
    text = ""
    try:
        for piece in _pieces.iterencode(value[: limit + 1] if isinstance(value, str) else value):
            text += piece
            if len(text) > limit:
                break
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cut(text: str, limit: int) -> str:
    """The text, cut off when it is long."""
    return text if len(text) <= limit else text[:limit] + "…"


def quoted(value: Any, limit: int = 60) -> str:
    """A value for those who wrote it, or a model: as JSON with real characters, cut off when long."""
    return cut(json.dumps(value, ensure_ascii=False, default=repr), limit)


def instead(name: Any, known: Iterable[str], besides: str = "") -> str:
    """What to tell who wrote a name that is not among those `known`: the one that was meant, or all there are, and what
    there is `besides`.
    """
    import difflib  # only mistakes pay for it

    known = list(known)
    near = difflib.get_close_matches(str(name), known, 1, 0.5)
    return f"did you mean {near[0]}?" if near else f"only {', '.join(known)}{besides}"


def printable(text: str, keep: str = "") -> str:
    """`text` with every character that a terminal could act on, but for those in `keep`, written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


def base64_text(data: Octets) -> str:
    """Octets in the standard alphabet, padded, without line breaks."""
    return base64.b64encode(data).decode("ascii")


def is_base64(text: str) -> bool:
    """Whether a text is octets in the standard alphabet, padded, without line breaks."""
    octets = text.encode("utf-8", "replace")
    body = octets.rstrip(b"=")
    return len(octets) % 4 == 0 and len(octets) - len(body) <= 2 and not body.translate(None, _ALPHABET)
