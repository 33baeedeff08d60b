"""basic/index, Messages: strict JSON in and out, and the framing rung.

Implements BASE-02, BASE-03, BASE-04, BASE-06, BASE-12, BASE-24, BASE-25, HTTP-11, HTTP-13.

The JSON is strict, so that no two readers can read one message differently: UTF-8 without a byte order mark, no
duplicate member names, no NaN or Infinity (nor a number that overflows to it), no number of more than MAX_NUMBER
characters, no unpaired surrogates, at most MAX_DEPTH levels of nesting and MAX_VALUES values. Anything else is a
ParseError, never another exception.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Set, Tuple

from .errors import InvalidParams, InvalidRequest, ParseError
from .request import Request

MAX_DEPTH = 64
MAX_VALUES = 200_000
"""A value of two octets can cost some sixty in memory, so that the size of a body does not bound what it takes."""
ENVELOPE = 4
"""Levels of a message around a value that a handler or a definition puts into it."""

MAX_NUMBER = 640
"""The least that Python's own bound on the digits of an integer can be set to. So ours is met first, on those Pythons
too that have none and read a million digits for a minute."""

_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF_A_NUMBER = re.compile(rb"[-+.0-9Ee]{%d}" % (MAX_NUMBER // 2))


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: Set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ParseError(f"Parse error: the member name {shown(name)} is repeated in one object")
            seen.add(name)
    return members


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ParseError("Parse error: a number is out of the range of a double")
    return number


def _no_constant(name: str) -> Any:
    raise ParseError(f"Parse error: {name} is not JSON")


def _short(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        if len(text) > MAX_NUMBER:
            raise ParseError(f"Parse error: a number has more than {MAX_NUMBER} characters")
        return read(text)

    return number


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
_careful = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_short(_finite), parse_int=_short(int),
                            parse_constant=_no_constant)
_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_reader = json.JSONEncoder(separators=(",", ":"), allow_nan=False, ensure_ascii=False)
_pieces = json.JSONEncoder()


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


def _check_structure(data: bytes, levels: int = MAX_DEPTH) -> None:
    """Raise ParseError beyond `levels` or MAX_VALUES; a cheap count rules both out for nearly every message.

    Without escapes, every other piece between quotes is outside of strings. That holds up to the first fault of the
    JSON, beyond which nothing is read, and costs the same for every message, which a pattern of a string does not.
    """
    brackets = data.count(b"{") + data.count(b"[")
    if brackets <= levels and data.count(b",") < MAX_VALUES:
        return
    outside = b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    if outside.count(b",") + outside.count(b"[") + outside.count(b"{") >= MAX_VALUES:
        raise ParseError(f"Parse error: more than {MAX_VALUES} values")
    depth = 0
    for octet in outside.translate(None, _NO_BRACKETS):
        depth += 1 if octet in b"[{" else -1
        if depth > levels:
            raise ParseError(f"Parse error: nested deeper than {levels} levels")


def _may_hold_a_long_number(data: bytes) -> bool:
    """Whether `data` has to be read with care: a look at every so manyth octet does not miss a number that long."""
    return len(data) > MAX_NUMBER and any(_HALF_A_NUMBER.match(data, at) for at in range(0, len(data), MAX_NUMBER // 2))


def _no_long_number(data: bytes) -> None:
    """Raise ValueError where JSON of ours holds a number that `decode` would refuse."""
    try:
        _careful.decode(data.decode("utf-8"))
    except ParseError:
        raise ValueError(f"a number has more than {MAX_NUMBER} characters") from None


def _no_lone_surrogates(value: Any) -> None:
    """Raise UnicodeEncodeError, a ValueError, for a value with a string that has no UTF-8 form."""
    json.dumps(value, ensure_ascii=False).encode("utf-8")


def decode(data: bytes) -> Any:
    """The JSON value of `data`. Raises ParseError for whatever is not strict JSON."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError(f"Parse error: the message is not UTF-8 (byte {error.start})") from None
    if text.startswith("\ufeff"):
        raise ParseError("Parse error: the message begins with a byte order mark")
    _check_structure(data)
    try:
        value = (_careful if _may_hold_a_long_number(data) else _decoder).decode(text)
        if _SURROGATE.search(data):
            _no_lone_surrogates(value)
    except ParseError:
        raise
    except UnicodeEncodeError:
        raise ParseError("Parse error: a string holds an unpaired surrogate") from None
    except (ValueError, RecursionError, MemoryError) as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise ParseError(f"Parse error: not valid JSON{where}") from None
    return value


def encode(value: Any) -> bytes:
    """The JSON of `value` in ASCII on one line. Raises TypeError or ValueError for what JSON cannot say."""
    data = _encoder.encode(value).encode("ascii")
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
    except ParseError as error:
        raise ValueError(error.message.replace("Parse error: ", "")) from None
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


def is_id(value: Any) -> bool:
    """Whether `value` may be a request id or a progress token: a string or an integer (BASE-03), and no boolean."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def framing(request: Request) -> None:
    """The framing rung: one strict JSON object, a JSON-RPC 2.0 request or notification with object params.

    Sets id, method and params. An id that can be read is set before anything is refused, so that the
    refusal carries it (BASE-12). Raises ParseError, InvalidRequest, InvalidParams.
    """
    message = decode(request.read_body())
    if not isinstance(message, dict):
        raise InvalidRequest("Invalid Request: body must be a single JSON-RPC request object")
    has_id = "id" in message
    good_id = has_id and is_id(message["id"])
    if good_id:
        request.id = message["id"]
    if message.get("jsonrpc") != "2.0":
        raise InvalidRequest('Invalid Request: jsonrpc must be "2.0"')
    method = message.get("method")
    if not isinstance(method, str) or not method:
        raise InvalidRequest("Invalid Request: method must be a non-empty string")
    if has_id and not good_id:
        raise InvalidRequest("Invalid Request: id must be a string or an integer")
    request.method = method
    params = message.get("params", {})
    if not isinstance(params, dict):
        raise InvalidParams("Invalid params: params must be an object")
    request.params = params
