"""server/tools, inputSchema: the annotations that are one JSON value without parts, both ways.

Implements TOOL-13, together with typed.
"""

from __future__ import annotations

import base64
import enum
import math
import os
import re
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, Union

from ..errors import SchemaError
from ..json_schema.run import NAMES, sentence
from ..text import base64_text, is_base64
from .annotations import At, spelled

Convert = Callable[[Any], Any]


def same(value: Any) -> Any:
    """What it is given."""
    return value


class Typed(NamedTuple):
    """An annotation in JSON.

    schema: of its values. convert: what turns a value that satisfies it into the annotated type. dump: the way back.
    Both raise Unfit, convert where the schema alone does not tell, as with a date.
    """

    schema: Dict[str, Any]
    convert: Convert = same
    dump: Convert = same


class Unfit(ValueError):
    """A value is not of its annotation. path: where in it, as Violation has it. message: the rest of the sentence."""

    def __init__(self, message: str, *path: Union[str, int]) -> None:
        super().__init__(message)
        self.message, self.path = message, path

    def text(self, root: str) -> str:
        """A sentence such as "arguments.when must be a date such as 2026-07-28"; root names the whole value."""
        return sentence(root, self.path, self.message)


def within(step: Union[str, int], convert: Convert, value: Any) -> Any:
    """Convert what is under `step`, so that an Unfit names it."""
    try:
        return convert(value)
    except Unfit as error:
        error.path = (step, *error.path)
        raise


def kind_of(value: Any) -> str:
    if hasattr(type(value), "__await__"):
        return f"{type(value).__name__} (await it)"
    return "None" if value is None else type(value).__name__


def _scalar(name: str, kind: Any, convert: Convert = same) -> Typed:
    def dump(value: Any) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and name != "boolean"):
            raise Unfit(f"must be {NAMES[name][0]}, not {kind_of(value)}")
        if name == "number" and not math.isfinite(_float(value)):
            raise Unfit(f"cannot be {value}, which JSON has not")
        return value
    return Typed({"type": name}, convert, dump)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Unfit("must be within the range of a double") from None


def _bytes(value: str) -> bytes:
    if not is_base64(value):
        raise Unfit("must be standard Base64, padded and without line breaks")
    return base64.b64decode(value)


def _dump_bytes(value: Any) -> str:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise Unfit(f"must be bytes, not {kind_of(value)}")
    return base64_text(value)


SCALARS: Dict[Any, Typed] = {
    str: _scalar("string", str), bool: _scalar("boolean", bool), type(None): _scalar("null", type(None)),
    int: _scalar("integer", int, lambda value: int(value) if isinstance(value, float) else value),
    float: _scalar("number", (int, float), _float),
    bytes: Typed({"type": "string", "contentEncoding": "base64"}, _bytes, _dump_bytes),
}


class _Text(NamedTuple):
    """A type of the library whose JSON is a text: pattern, what it is called, format, and how a match becomes it."""

    pattern: str
    what: str
    format: Optional[str]
    read: Callable[[Any, "re.Match[str]"], Any] = lambda kind, match: kind(match.group())


def _clock(kind: Any, match: "re.Match[str]") -> Any:
    """A datetime or time as every Python reads it: with seconds, six digits of a fraction, and an offset for Z."""
    seconds, fraction = match["seconds"] or ":00", match["fraction"]
    fraction = f".{fraction[1:7]:0<6}" if fraction else ""
    zone = "+00:00" if match["zone"] in ("Z", "z") else match["zone"] or ""
    return kind.fromisoformat(match["start"].upper().replace(" ", "T") + seconds + fraction + zone)


_HOURS = r"\d\d:\d\d)(?P<seconds>:\d\d)?(?P<fraction>\.\d+)?(?P<zone>[Zz]|[-+]\d\d:\d\d)?"
_TEXTS = {
    "datetime.date": _Text(r"\d{4}-\d\d-\d\d", "a date such as 2026-07-28", "date",
                           lambda kind, match: kind.fromisoformat(match.group())),
    "datetime.datetime": _Text(r"(?P<start>\d{4}-\d\d-\d\d[Tt ]" + _HOURS,
                               "a date and time such as 2026-07-28T09:30:00Z", "date-time", _clock),
    "datetime.time": _Text("(?P<start>" + _HOURS, "a time such as 09:30:00", "time", _clock),
    "uuid.UUID": _Text(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
                       "a UUID such as 123e4567-e89b-12d3-a456-426614174000", "uuid"),
    "decimal.Decimal": _Text(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", "a decimal number such as 12.50", None),
}


def textual(kind: Type[Any], out: bool) -> Optional[Typed]:
    """The Typed of a class that is a text in JSON; None for another. They are known by name, so that none is loaded."""
    if issubclass(kind, os.PathLike) and any(base.__name__ == "PurePath" for base in kind.__mro__):
        return Typed({"type": "string"}, kind, lambda value: _written(kind, "a path", value))
    form = _TEXTS.get(f"{kind.__module__}.{kind.__qualname__}")
    if form is None:
        return None
    pattern, what, read = re.compile(form.pattern, re.ASCII), form.what, form.read
    schema: Dict[str, Any] = {"type": "string", "format": form.format}
    if form.format is None:
        schema = {"type": "string" if out else ["string", "number"], "pattern": f"^{form.pattern}$"}

    def convert(value: Any) -> Any:
        match = pattern.fullmatch(str(value))
        try:
            if match is not None:
                return read(kind, match)
        except (ValueError, ArithmeticError):
            pass
        raise Unfit("must be " + what)

    def dump(value: Any) -> str:
        text = _written(kind, what, value)
        if pattern.fullmatch(text) is None:  # a datetime for a date, a Decimal that is no number
            raise Unfit(f"must be {what}, not {kind_of(value)}")
        return text
    return Typed(schema, convert, dump)


def _written(kind: Type[Any], what: str, value: Any) -> str:
    if not isinstance(value, kind):
        raise Unfit(f"must be {what}, not {kind_of(value)}")
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array",
               dict: "object"}


def choices(pairs: Sequence[Tuple[Any, Any]], at: At) -> Typed:
    """One of some values. pairs: each as JSON, and what it stands for."""
    values = [value for value, _ in pairs]
    what = "one of " + ", ".join(str(member) for _, member in pairs[:10]) + ", …" * (len(pairs) > 10)
    if not values:
        raise SchemaError(f"{at.where}: an Enum without members allows no value at all")
    types = list(dict.fromkeys(_JSON_TYPES[next(base for base in type(value).__mro__ if base in _JSON_TYPES)]
                               for value in values))
    if "number" in types and "integer" in types:
        types.remove("integer")

    def convert(value: Any) -> Any:
        for known, member in pairs:
            if known == value and isinstance(known, bool) is isinstance(value, bool):
                return member
        raise Unfit("must be " + what)

    def dump(value: Any) -> Any:
        for known, member in pairs:
            if value is member or (type(value) is type(member) and value == member):
                return known
        raise Unfit(f"must be {what}, not {kind_of(value)}")
    return Typed({"type": types[0] if len(types) == 1 else types, "enum": values}, convert, dump)


def could_be(schema: Mapping[str, Any], value: Any, definitions: Mapping[str, Any], members: bool = True) -> bool:
    """Whether a value may satisfy a schema made here, by its JSON type, and by the names and types of its members.

    What was valid as a whole need not be validated again where one alternative is left, for that would cost as often as
    alternatives are nested.
    """
    if "$ref" in schema:
        return could_be(definitions[schema["$ref"].rsplit("/", 1)[-1]], value, definitions, members)
    if "anyOf" in schema:
        return any(could_be(part, value, definitions, members) for part in schema["anyOf"])
    kinds, kind = schema.get("type", ()), _JSON_TYPES.get(type(value))
    if kinds and kind not in ([kinds] if isinstance(kinds, str) else kinds):
        return kind in ("integer", "number") and ("integer" in kinds or "number" in kinds)
    if not members or kind != "object" or "properties" not in schema:
        return True
    known = schema["properties"]
    return value.keys() >= set(schema.get("required", ())) and all(
        could_be(known[name], member, definitions, False) if name in known
        else schema.get("additionalProperties") is not False for name, member in value.items())


_INSTEAD = {"complex": "two floats", "timedelta": "float, with its unit in the description", "range": "List[int]",
            "Iterator": "List[…]", "Generator": "List[…]", "AsyncIterator": "List[…]", "AsyncGenerator": "List[…]",
            "bytearray": "bytes", "PathLike": "Path", "memoryview": "bytes",
            "Block": "ToolResult, which holds content beside data,",
            "defaultdict": "Dict[str, …]", "Counter": "Dict[str, int]"}


def refused(annotation: Any, origin: Any, at: At) -> SchemaError:
    """What to write in place of an annotation that has no JSON form."""
    instead = "a dataclass, a NamedTuple or a TypedDict" if isinstance(origin, type) else "Any"
    if isinstance(origin, type) and issubclass(origin, enum.Flag):
        instead = "List[…] of an Enum"
    elif isinstance(origin, type) and issubclass(origin, (dict, str, int, float)):
        instead = "Dict[str, …]" if issubclass(origin, dict) else f"a NewType of {origin.__mro__[-2].__name__}"
    elif isinstance(origin, type) and issubclass(origin, BaseException):
        return SchemaError(f"{at.where}: an exception such as {spelled(annotation)} is raised, not annotated")
    instead = _INSTEAD.get(getattr(origin, "__name__", ""), instead)
    return SchemaError(f"{at.where}: {spelled(annotation)} has no JSON form; write {instead} instead")
