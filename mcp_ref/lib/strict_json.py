"""Strict JSON in and out, so that no two readers can read one text differently.

UTF-8 without a byte order mark, no duplicate member names, no NaN or Infinity (nor a number that overflows to it), no
number of more than MAX_NUMBER characters, no unpaired surrogates, at most MAX_DEPTH levels of nesting and MAX_VALUES
values. Anything else is NotJson, never another exception. Implements BASE-02, BASE-25, HTTP-13.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any, Callable, Dict, Iterable, List, Set, Tuple

from .text import shown

MAX_DEPTH = 64
MAX_VALUES = 200_000
"""A value of two octets can cost some sixty in memory, so that the size of a body does not bound what it takes."""
ENVELOPE = 4
"""Levels of a message around a value that a handler or a definition puts into it."""

MAX_NUMBER = 640
"""The least that Python's own bound on the digits of an integer can be set to. So ours is met first, on those Pythons
too that have none and read a million digits for a minute."""


class NotJson(ValueError):
    """What is not strict JSON; the message says why."""


_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF_A_NUMBER = re.compile(rb"[-+.0-9Ee]{%d}" % (MAX_NUMBER // 2))


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: Set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise NotJson(f"the member name {shown(name)} is repeated in one object")
            seen.add(name)
    return members


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise NotJson("a number is out of the range of a double")
    return number


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is not JSON")


def _short(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        if len(text) > MAX_NUMBER:
            raise NotJson(f"a number has more than {MAX_NUMBER} characters")
        return read(text)

    return number


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
_careful = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_short(_finite), parse_int=_short(int),
                            parse_constant=_no_constant)
_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_reader = json.JSONEncoder(separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def _pieces_encoder() -> Callable[[Any, int], Iterable[str]]:
    """What `_encoder` uses, without its search for what holds itself, and made once: json makes it anew for each value,
    which is a third of what a small one costs. Called with a value and 0."""
    made = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)
    python: Any = json.encoder
    pieces: Callable[[Any, int], Iterable[str]]
    try:
        pieces = python.c_make_encoder(None, made.default, python.encode_basestring_ascii, None, ":", ",", False, False,
                                       False)
    except (AttributeError, TypeError):  # a Python without, or one that makes it otherwise
        return lambda value, _: (made.encode(value),)
    return pieces


_pieces = _pieces_encoder()


def _is_plain(value: Any, text: str) -> bool:
    """Whether `text`, of which json.loads made `value`, repeats no name and overflows no number.

    Of a repeated name one member is left, and the text has more colons then than there are members, and in strings.
    """
    colons, left = text.count(":"), [value]
    while left:
        inner = left.pop()
        kind = type(inner)
        if kind is str:
            colons -= inner.count(":")
        elif kind is dict:
            colons -= len(inner)
            left.extend(inner)
            left.extend(inner.values())
        elif kind is list:
            left.extend(inner)
        elif kind is float and not math.isfinite(inner):
            return False
    return colons == 0 and "\\u" not in text  # an escape could be of a colon


def _looked_over(text: str) -> Any:
    """What `_decoder` reads, without its hooks where they are not needed: PyPy reads eight times as fast so."""
    try:
        value = json.loads(text)
        if _is_plain(value, text):
            return value
    except ValueError:
        pass
    return _decoder.decode(text)


_decode = _decoder.decode if sys.implementation.name == "cpython" else _looked_over


def _check_structure(data: bytes, levels: int = MAX_DEPTH) -> None:
    """Raise NotJson beyond `levels` or MAX_VALUES; a cheap count rules both out for nearly every message.

    Without escapes, every other piece between quotes is outside of strings. That holds up to the first fault of the
    JSON, beyond which nothing is read, and costs the same for every message, which a pattern of a string does not.
    """
    brackets = data.count(b"{") + data.count(b"[")
    if brackets <= levels and data.count(b",") < MAX_VALUES:
        return
    outside = b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    if outside.count(b",") + outside.count(b"[") + outside.count(b"{") >= MAX_VALUES:
        raise NotJson(f"more than {MAX_VALUES} values")
    depth = 0
    for octet in outside.translate(None, _NO_BRACKETS):
        depth += 1 if octet in b"[{" else -1
        if depth > levels:
            raise NotJson(f"nested deeper than {levels} levels")


def _may_hold_a_long_number(data: bytes) -> bool:
    """Whether `data` has to be read with care: a look at every so manyth octet does not miss a number that long."""
    return len(data) > MAX_NUMBER and any(_HALF_A_NUMBER.match(data, at) for at in range(0, len(data), MAX_NUMBER // 2))


def _no_long_number(data: bytes) -> None:
    """Raise ValueError where JSON of ours holds a number that `decode` would refuse."""
    try:
        _careful.decode(data.decode("utf-8"))
    except NotJson:
        raise ValueError(f"a number has more than {MAX_NUMBER} characters") from None


def _no_lone_surrogates(value: Any) -> None:
    """Raise UnicodeEncodeError, a ValueError, for a value with a string that has no UTF-8 form."""
    json.dumps(value, ensure_ascii=False).encode("utf-8")


def decode(data: bytes) -> Any:
    """The JSON value of `data`. Raises NotJson for whatever is not strict JSON."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"the message is not UTF-8 (byte {error.start})") from None
    if text.startswith("\ufeff"):
        raise NotJson("the message begins with a byte order mark")
    _check_structure(data)
    try:
        value = _careful.decode(text) if _may_hold_a_long_number(data) else _decode(text)
        if _SURROGATE.search(data):
            _no_lone_surrogates(value)
    except NotJson:
        raise
    except UnicodeEncodeError:
        raise NotJson("a string holds an unpaired surrogate") from None
    except (ValueError, RecursionError, MemoryError) as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise NotJson(f"not valid JSON{where}") from None
    return value


def encode(value: Any) -> bytes:
    """The JSON of `value` in ASCII on one line.

    Raises TypeError or ValueError for what JSON cannot say, RecursionError for what is nested too deeply to be said.
    """
    try:
        text = "".join(_pieces(value, 0))
    except RecursionError:  # what holds itself is told by the depth that it reaches, and then by name
        text = _encoder.encode(value)
    data = text.encode("ascii")
    if b"\\ud" in data:
        _no_lone_surrogates(value)
    if _may_hold_a_long_number(data):
        _no_long_number(data)
    return data


def readable(value: Any) -> str:
    """The JSON of `value` on one line, with real characters, for those who read it rather than decode it.

    Raises ValueError for what JSON cannot say, and for what `decode` would refuse within a message of ours.
    """
    try:
        text = _reader.encode(value)
        data = text.encode("utf-8")
        _check_structure(data, MAX_DEPTH - ENVELOPE)
        if _may_hold_a_long_number(data):
            _no_long_number(data)
    except UnicodeEncodeError:
        raise ValueError("a text holds an unpaired surrogate") from None
    except RecursionError:
        raise ValueError("it is nested too deeply, or holds itself") from None
    except TypeError as error:
        raise ValueError(str(error)) from None
    return text


def check_json(value: Any) -> None:
    """Raise the ValueError of `readable`, and one for a key that is no text, which JSON would make one of."""
    readable(value)
    left = [value]
    while left:
        inner = left.pop()
        if isinstance(inner, dict):
            if not all(isinstance(name, str) for name in inner):
                raise ValueError("a key is no text, and those of JSON are")
            left.extend(inner.values())
        elif isinstance(inner, (list, tuple)):
            left.extend(inner)
