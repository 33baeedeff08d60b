"""Tool arguments from a command line, each read as the tool's inputSchema has it (server/tools, Calling Tools)."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from ..base.errors import ParseError
from ..base.jsonrpc import decode, shown

TYPES = {"string": (str,), "integer": (int, float), "number": (int, float), "boolean": (bool,), "array": (list,),
         "object": (dict,), "null": (type(None),)}
MAX_REFERENCES = 8


def from_json(text: Optional[str]) -> Optional[Dict[str, Any]]:
    """The arguments object that --json gives; None for none. Raises ValueError."""
    if text is None:
        return None
    value = _decoded("--json", text)
    if not isinstance(value, dict):
        raise ValueError("--json must be a JSON object")
    return value


def from_pairs(pairs: Sequence[Tuple[str, str]], schema: Mapping[str, Any]) -> Dict[str, Any]:
    """The arguments object of NAME=VALUE pairs. Raises ValueError, which names the argument."""
    properties = schema.get("properties")
    made: Dict[str, Any] = {}
    for name, text in pairs:
        if name in made:
            raise ValueError(f"argument {name} is given twice")
        field = properties.get(name) if isinstance(properties, Mapping) else None
        made[name] = _value(name, text, _types(field, schema))
    return made


def _value(name: str, text: str, types: FrozenSet[str]) -> Any:
    """Text where the schema allows text; otherwise JSON of a type that it allows. Without a type, JSON or else text."""
    if "string" in types:
        return text
    try:
        value = _decoded(f"argument {name}", text)
    except ValueError:
        if not types:
            return text
        raise ValueError(f"argument {name} must be {_article(types)}, not {shown(text)}") from None
    if types and not any(_is(value, kind) for kind in types):
        raise ValueError(f"argument {name} must be {_article(types)}, not {shown(text)}")
    return value


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])


def _article(types: FrozenSet[str]) -> str:
    return " or ".join(("an " if kind[0] in "aio" else "a ") + kind for kind in sorted(types)).replace("a null", "null")


def _types(field: Any, root: Mapping[str, Any], depth: int = 0) -> FrozenSet[str]:
    """The JSON types that a schema lets a value have; none where it does not say, so that anything may do."""
    if not isinstance(field, Mapping) or depth > MAX_REFERENCES:
        return frozenset()
    named = field.get("type")
    listed: List[Any] = named if isinstance(named, list) else [named]
    found = {kind for kind in listed if isinstance(kind, str) and kind in TYPES}
    if found:
        return frozenset(found)
    values = field.get("enum", [field["const"]] if "const" in field else None)
    if isinstance(values, list):
        return frozenset(kind for kind in TYPES for value in values if _is(value, kind))
    options = [option for name in ("anyOf", "oneOf") for option in _list(field.get(name))]
    kinds = [_types(option, root, depth + 1) for option in options]
    if kinds and all(kinds):
        return frozenset().union(*kinds)
    reference = field.get("$ref")
    return _types(_local(reference, root), root, depth + 1) if isinstance(reference, str) else frozenset()


def _list(value: Any) -> List[Any]:
    return value if isinstance(value, list) else []


def _local(reference: str, root: Mapping[str, Any]) -> Any:
    """The schema at a reference such as #/$defs/Size; None where there is none."""
    if not reference.startswith("#/"):
        return None
    found: Any = root
    for part in reference[2:].split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


def _decoded(what: str, text: str) -> Any:
    try:
        return decode(text.encode("utf-8"))
    except (ParseError, UnicodeEncodeError):
        raise ValueError(f"{what} is not JSON: {shown(text)}") from None
