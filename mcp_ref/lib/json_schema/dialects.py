"""basic/index, Schema Dialect: the dialects, their keywords, and what each one's value must be (BASE-33, 37, 38, 40).

One table, VOCABULARIES, says it all, and draft-07 is told by its differences. Three read it: the compiler, which
checks every subschema against `Dialect.shape` and learns from it where subschemas sit, and any schema that refers to
a metaschema by its URI, for which the documents are put together here.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ..errors import SchemaError

DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_07 = "http://json-schema.org/draft-07/schema"
_META = "https://json-schema.org/draft/2020-12/meta/"
_VOCAB = "https://json-schema.org/draft/2020-12/vocab/"

_SCHEMA: Dict[str, Any] = {"$dynamicRef": "#meta"}
_SCHEMAS = {"type": "array", "minItems": 1, "items": _SCHEMA}
_NAMED = {"type": "object", "additionalProperties": _SCHEMA}
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "minimum": 0}
_NAMES = {"type": "array", "items": _TEXT, "uniqueItems": True}
_ANCHOR = {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"}
_SIMPLE = {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}

VOCABULARIES: Dict[str, Dict[str, Any]] = {
    "core": {
        "$id": {"type": "string", "pattern": "^[^#]*#?$"}, "$schema": _TEXT, "$ref": _TEXT, "$anchor": _ANCHOR,
        "$dynamicRef": _TEXT, "$dynamicAnchor": _ANCHOR, "$comment": _TEXT, "$defs": _NAMED,
        "$vocabulary": {"type": "object", "additionalProperties": _FLAG},
    },
    "applicator": {
        "properties": _NAMED, "patternProperties": _NAMED, "additionalProperties": _SCHEMA, "propertyNames": _SCHEMA,
        "dependentSchemas": _NAMED, "prefixItems": _SCHEMAS, "items": _SCHEMA, "contains": _SCHEMA,
        "allOf": _SCHEMAS, "anyOf": _SCHEMAS, "oneOf": _SCHEMAS, "not": _SCHEMA,
        "if": _SCHEMA, "then": _SCHEMA, "else": _SCHEMA,
    },
    "unevaluated": {"unevaluatedItems": _SCHEMA, "unevaluatedProperties": _SCHEMA},
    "validation": {
        "type": {"anyOf": [_SIMPLE, {"type": "array", "items": _SIMPLE, "minItems": 1, "uniqueItems": True}]},
        "const": True, "enum": {"type": "array"}, "multipleOf": {"type": "number", "exclusiveMinimum": 0},
        "maximum": _NUMBER, "exclusiveMaximum": _NUMBER, "minimum": _NUMBER, "exclusiveMinimum": _NUMBER,
        "maxLength": _COUNT, "minLength": _COUNT, "pattern": _TEXT, "maxItems": _COUNT, "minItems": _COUNT,
        "uniqueItems": _FLAG, "maxContains": _COUNT, "minContains": _COUNT, "maxProperties": _COUNT,
        "minProperties": _COUNT, "required": _NAMES,
        "dependentRequired": {"type": "object", "additionalProperties": _NAMES},
    },
    "meta-data": {
        "title": _TEXT, "description": _TEXT, "default": True, "deprecated": _FLAG, "readOnly": _FLAG,
        "writeOnly": _FLAG, "examples": {"type": "array"},
    },
    "format-annotation": {"format": _TEXT},
    "content": {"contentEncoding": _TEXT, "contentMediaType": _TEXT, "contentSchema": _SCHEMA},
}
_EVERYWHERE = {"definitions": _NAMED}
"""2020-12 no longer defines `definitions`, but its metaschema still says what it holds, and schemas still use it."""

_ONE_OR_MORE = {"anyOf": [_SCHEMA, _SCHEMAS]}
_DEPENDENCIES = {"type": "object", "additionalProperties": {"anyOf": [_SCHEMA, _NAMES]}}
_NOT_IN_DRAFT_07 = {"$anchor", "$dynamicRef", "$dynamicAnchor", "$defs", "$vocabulary", "dependentSchemas",
                    "prefixItems", "unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains",
                    "dependentRequired", "deprecated", "contentSchema"}


class Dialect:
    """A set of keywords, given as what the value of each must be.

    places: those that hold subschemas, and whether they hold them by name.
    legacy: draft-07, in which `$ref` hides its siblings and `$id` may be an anchor.
    checks: the shapes that have been compiled, by keyword.
    """

    def __init__(self, keywords: Mapping[str, Any], legacy: bool = False) -> None:
        self.keywords = keywords
        self.legacy = legacy
        by_name, otherwise = (_NAMED, _DEPENDENCIES), (_SCHEMA, _SCHEMAS, _ONE_OR_MORE)
        self.places = {name: value in by_name for name, value in keywords.items() if value in by_name + otherwise}
        self.checks: Dict[str, Any] = {}

    def shape(self, keyword: str) -> Dict[str, Any]:
        """The schema of a subschema as far as this keyword goes; those within it are any object or boolean."""
        kinds = ["object", "boolean"]
        return {"type": kinds, "properties": {keyword: self.keywords.get(keyword, True)},
                "$defs": {"any": {"$anchor": "meta", "type": kinds}}}


def _keywords(vocabularies: Any) -> Dict[str, Any]:
    found = dict(_EVERYWHERE)
    for name in vocabularies:
        found.update(VOCABULARIES[name])
    return found


MODERN = Dialect(_keywords(VOCABULARIES))
LEGACY = Dialect({
    **{name: value for name, value in MODERN.keywords.items() if name not in _NOT_IN_DRAFT_07},
    "$id": _TEXT, "items": _ONE_OR_MORE, "additionalItems": _SCHEMA, "dependencies": _DEPENDENCIES,
}, legacy=True)


def metaschema(uri: str) -> Optional[Dict[str, Any]]:
    """The metaschema document of that URI (no fragment), or None. Draft-07's is told in the words of 2020-12."""
    document = {"$schema": DRAFT_2020_12, "$id": uri, "type": ["object", "boolean"]}
    if uri == DRAFT_07:
        return {**document, "$anchor": "meta", "properties": LEGACY.keywords}
    if uri == DRAFT_2020_12:
        return {**document, "$dynamicAnchor": "meta", "properties": _EVERYWHERE,
                "allOf": [{"$ref": "meta/" + name} for name in VOCABULARIES]}
    name = uri[len(_META):] if uri.startswith(_META) else ""
    return {**document, "$dynamicAnchor": "meta", "properties": VOCABULARIES[name]} if name in VOCABULARIES else None


def dialect_of(uri: str, documents: Mapping[str, Any]) -> Dialect:
    """The dialect that `$schema` names; a custom one only if its metaschema is among the documents.

    Raises SchemaError for any other, which says what is supported (BASE-38). Nothing is fetched.
    """
    name = uri[:-1] if uri.endswith("#") else uri
    for _ in range(8):  # metaschemas that name no vocabularies mean those of their own metaschema
        if name in (DRAFT_2020_12, DRAFT_07):
            return MODERN if name == DRAFT_2020_12 else LEGACY
        document = documents.get(name)
        if not isinstance(document, dict):
            break
        vocabulary = document.get("$vocabulary")
        if isinstance(vocabulary, dict):
            known = {_VOCAB + each: each for each in VOCABULARIES}
            for each, needed in vocabulary.items():
                if each not in known and needed is not False:
                    raise SchemaError(f"dialect not supported: {uri[:200]} requires the vocabulary {each[:200]}")
            return Dialect(_keywords(["core"] + [known[each] for each in vocabulary if each in known]))
        name = str(document.get("$schema", DRAFT_2020_12)).rstrip("#")
    raise SchemaError(f"dialect not supported: {uri[:200]}; supported: {DRAFT_2020_12}, {DRAFT_07}#")
