"""Tool arguments from a command line, each read as the tool's inputSchema has it (server/tools, Calling Tools)."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ..lib.json_schema import compile_schema
from ..lib.json_schema.run import NAMES
from ..lib.strict_json import decode
from ..lib.text import shown

MAX_LEVELS, MAX_STEPS, MAX_SHOWN = 6, 10_000, 4
"""How deep a schema is followed, how many subschemas of it in all, and how many values of an enum are shown."""


def from_json(text: str) -> Dict[str, Any]:
    """The arguments object that --json gives. Raises ValueError."""
    try:
        value, why = decode(text.encode("utf-8")), ""
    except ValueError as error:
        value, why = None, f" ({error})"
    if not isinstance(value, dict):
        raise ValueError(f"--json must be a JSON object, not {shown(text)}{why}")
    return value


def json_or_text(text: str) -> Any:
    """The JSON value of a text; the text itself where it is no JSON."""
    try:
        return decode(text.encode("utf-8"))
    except ValueError:
        return text


def from_pairs(pairs: Sequence[Tuple[str, str]], schema: Mapping[str, Any]) -> Dict[str, Any]:
    """The arguments object of NAME=VALUE pairs. Raises ValueError, which names the argument.

    A value is text where the schema allows text, otherwise JSON of a type that it allows. Where the schema does not
    say, it is JSON if it can be read as such, or else text.
    """
    properties, types = schema.get("properties"), Types(schema)
    made: Dict[str, Any] = {}
    for name, text in pairs:
        kinds = types.kinds(properties.get(name)) if isinstance(properties, Mapping) else set()
        made[name] = text if "string" in kinds else json_or_text(text)
        if kinds and not compile_schema({"type": sorted(kinds)}).is_valid(made[name]):
            expected = " or ".join(NAMES[kind][0] for kind in sorted(kinds))
            raise ValueError(f"argument {name} must be {expected}, not {shown(text)}")
    return made


class Types:
    """What the parts of a schema let values be. root: the schema, which holds what they refer to."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root, self._steps = root, 0

    def kinds(self, field: Any) -> Set[str]:
        """The JSON types that a value may have; none where the schema does not say, so that anything may do."""
        found: Set[str] = set()
        for leaf in self._leaves(field, 0):
            named = leaf.get("type")
            kinds = {kind for kind in NAMES if kind == named or isinstance(named, list) and kind in named} or {
                kind for kind in NAMES for value in _values(leaf) if compile_schema({"type": kind}).is_valid(value)}
            if not kinds:
                return set()
            found |= kinds
        return found

    def text(self, field: Any, depth: int = 0) -> str:
        """The same in short, with values and items: `integer|null`, `"a"|"b"|…`, `string[]`, `[string, integer]`."""
        return "|".join(dict.fromkeys(self._text(leaf, depth) for leaf in self._leaves(field, depth))) or "never"

    def _text(self, leaf: Mapping[str, Any], depth: int) -> str:
        values, kinds = _values(leaf), leaf.get("type", [])
        if values:
            return "|".join([in_json(value) for value in values[:MAX_SHOWN]] + ["…"] * (len(values) > MAX_SHOWN))
        return "|".join(self._array(leaf, depth + 1) if kind == "array" else str(kind)
                        for kind in (kinds if isinstance(kinds, list) else [kinds])) or "any"

    def _array(self, leaf: Mapping[str, Any], depth: int) -> str:
        fixed = leaf.get("prefixItems")
        if isinstance(fixed, list) and fixed:
            return f"[{', '.join(self.text(each, depth) for each in fixed)}]"
        inner = self.text(leaf.get("items"), depth)
        return "array" if inner == "any" else f"({inner})[]" if "|" in inner else f"{inner}[]"

    def _leaves(self, field: Any, depth: int) -> Iterator[Mapping[str, Any]]:
        """The schemas with a type or values of their own that a value may meet one of; {} for what says nothing."""
        self._steps += 1
        if field is False:
            return
        if not isinstance(field, Mapping) or depth > MAX_LEVELS or self._steps > MAX_STEPS:
            yield {}
        elif "type" in field or _values(field):
            yield field
        elif "$ref" in field:
            yield from self._leaves(self.referred(field["$ref"]), depth + 1)
        elif _listed(field, "anyOf") or _listed(field, "oneOf"):
            for option in _listed(field, "anyOf") or _listed(field, "oneOf"):
                yield from self._leaves(option, depth + 1)
        else:
            parts = (list(self._leaves(part, depth + 1)) for part in _listed(field, "allOf"))
            yield from next(filter(any, parts), [{}])

    def object_of(self, field: Any, depth: int = 0) -> Optional[Mapping[str, Any]]:
        """The schema with properties that a schema is, refers to, or has for its items; None where there is none."""
        self._steps += 1
        if not isinstance(field, Mapping) or depth > MAX_LEVELS or self._steps > MAX_STEPS:
            return None
        if isinstance(field.get("properties"), Mapping):
            return field
        options = [part for keyword in ("anyOf", "oneOf", "allOf") for part in _listed(field, keyword)]
        inner = (self.object_of(part, depth + 1)
                 for part in (self.referred(field.get("$ref")), field.get("items"), *options))
        return next((found for found in inner if found is not None), None)

    def referred(self, reference: Any) -> Any:
        """The schema at a reference such as #/$defs/Size; None where there is none."""
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return None
        found: Any = self._root
        for part in reference[2:].split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        return found


def _listed(field: Mapping[str, Any], keyword: str) -> List[Any]:
    listed = field.get(keyword)
    return listed if isinstance(listed, list) else []


def _values(field: Mapping[str, Any]) -> List[Any]:
    return [field["const"]] if "const" in field else _listed(field, "enum")


def in_json(value: Any) -> str:
    """A value as JSON with real characters."""
    return json.dumps(value, ensure_ascii=False)
