"""Tool arguments from a command line, each read as the tool's inputSchema has it (server/tools, Calling Tools)."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence, Set, Tuple

from ..lib.json_schema import compile_schema
from ..lib.json_schema.run import NAMES
from ..lib.strict_json import NotJson, decode
from ..lib.text import shown

MAX_REFERENCES = 8


def from_json(text: str) -> Dict[str, Any]:
    """The arguments object that --json gives. Raises ValueError."""
    try:
        value = decode(text.encode("utf-8"))
    except ValueError as error:
        raise ValueError(f"--json must be a JSON object, not {shown(text)} ({_why(error)})") from None
    if not isinstance(value, dict):
        raise ValueError(f"--json must be a JSON object, not {shown(text)}")
    return value


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, NotJson) else "it is no text in UTF-8"


def from_pairs(pairs: Sequence[Tuple[str, str]], schema: Mapping[str, Any]) -> Dict[str, Any]:
    """The arguments object of NAME=VALUE pairs. Raises ValueError, which names the argument.

    A value is text where the schema allows text, otherwise JSON of a type that it allows. Where the schema does not
    say, it is JSON if it can be read as such, or else text.
    """
    properties = schema.get("properties")
    made: Dict[str, Any] = {}
    for name, text in pairs:
        types = _types(properties.get(name), schema) if isinstance(properties, Mapping) else set()
        made[name] = text if "string" in types else _value(f"argument {name}", text, types)
    return made


def _value(what: str, text: str, types: Set[str]) -> Any:
    value = _read(text)
    if types and not compile_schema({"type": sorted(types)}).is_valid(value):
        expected = " or ".join(NAMES[kind][0] for kind in sorted(types))
        raise ValueError(f"{what} must be {expected}, not {shown(text)}")
    return value


def _types(field: Any, root: Mapping[str, Any], depth: int = 0) -> Set[str]:
    """The JSON types that a schema lets a value have; none where it does not say, so that anything may do."""
    if not isinstance(field, Mapping) or depth > MAX_REFERENCES:
        return set()
    named = field.get("type")
    found = {kind for kind in NAMES if kind == named or isinstance(named, list) and kind in named}
    if found:
        return found
    values = [field["const"]] if "const" in field else field.get("enum")
    if isinstance(values, list):
        return {kind for kind in NAMES for value in values if compile_schema({"type": kind}).is_valid(value)}
    options = field.get("anyOf", field.get("oneOf"))
    kinds = [_types(option, root, depth + 1) for option in options] if isinstance(options, list) else []
    if kinds and all(kinds):
        return set().union(*kinds)
    return _types(referred(field.get("$ref"), root), root, depth + 1)


def referred(reference: Any, root: Mapping[str, Any]) -> Any:
    """The schema at a reference such as #/$defs/Size; None where there is none."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = root
    for part in reference[2:].split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


def _read(text: str) -> Any:
    """The JSON value of a text; the text itself where it is no JSON."""
    try:
        return decode(text.encode("utf-8"))
    except ValueError:
        return text
