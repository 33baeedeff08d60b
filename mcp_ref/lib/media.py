"""RFC 9110, Content Negotiation: media types as they stand in Accept and Content-Type."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Dict, Tuple

_WEIGHT = r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)"


def _ranges(value: str) -> Dict[str, float]:
    """The media ranges of an Accept value with their weights; a malformed weight is a no."""
    ranges: Dict[str, float] = {}
    for part in value.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            key, _, text = parameter.partition("=")
            if key.strip() == "q":
                weight = float(text) if re.fullmatch(_WEIGHT, text.strip()) else 0.0
        ranges[name] = weight
    return ranges


@lru_cache(maxsize=256)
def accepts(value: str, kinds: Tuple[str, ...], by_name: bool = False) -> bool:
    """Whether an Accept value takes each of `kinds`: the most specific range decides; an empty value takes nothing.

    by_name: whether a wildcard is not enough.
    """
    ranges = _ranges(value)
    for wanted in kinds:
        names = (wanted,) if by_name else (wanted, wanted.split("/")[0] + "/*", "*/*")
        named = [ranges[name] for name in names if name in ranges]
        if not named or named[0] <= 0:
            return False
    return True


@lru_cache(maxsize=256)
def is_json(value: str) -> bool:
    """Whether a Content-Type is JSON: media type without case, any parameters but a charset other than UTF-8."""
    name, *parameters = (piece.strip().lower() for piece in value.split(";"))
    charsets = [text.partition("=")[2].strip('" ') for text in parameters if text.startswith("charset")]
    return name == "application/json" and all(charset in ("utf-8", "utf8") for charset in charsets)
