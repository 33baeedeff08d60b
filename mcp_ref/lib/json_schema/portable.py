"""JSON Schema as it is used, and not only as it is allowed: what readers of schemas in the field stumble over.

A model's API takes a subset, and the libraries that turn schemas into types take another. Three things that are right
in every dialect break on many of them: a bare boolean for a schema, a list for a type, a schema that says nothing.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Tuple

from .dialects import LEGACY, MODERN

_PLACES = {**LEGACY.places, **MODERN.places}
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_REST = ("additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems")
_LIMIT = 50
"""Levels that are looked at; what is deeper is hard for everybody."""


def hard_to_port(schema: Any, pointer: str = "", level: int = 0) -> Iterator[Tuple[str, str]]:
    """(JSON pointer, what is there) for each such place of a schema that stands at `pointer`.

    `additionalProperties` and its like may be booleans and empty: everybody knows those.
    """
    if isinstance(schema, bool):
        yield pointer, f"the bare boolean {str(schema).lower()}"
    elif schema == {}:
        yield pointer, "an empty schema"
    elif isinstance(schema, Mapping) and level < _LIMIT:
        if isinstance(schema.get("type"), list):
            yield f"{pointer}/type", "a list of types"
        for path, inner in _within(schema):
            yield from hard_to_port(inner, pointer + path, level + 1)


def _within(schema: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    for word, value in schema.items():
        if word in _PLACES and isinstance(value, list):
            yield from ((f"/{word}/{number}", each) for number, each in enumerate(value))
        elif _PLACES.get(word) and isinstance(value, Mapping):
            yield from ((f"/{word}/{_token(name)}", each) for name, each in value.items())
        elif _PLACES.get(word) is False and word not in _LISTS and not (word in _REST and value in (True, False, {})):
            yield f"/{word}", value


def _token(name: Any) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
