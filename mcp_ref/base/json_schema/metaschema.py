"""basic/index, Schema Dialect: the dialects, their keywords, and what each one's value must be (BASE-33, 37, 38, 40).

One table, VOCABULARIES, serves three readers: the compiler, which checks every subschema against `Dialect.shape`;
the index, which learns from it where subschemas sit; and any schema that refers to a metaschema by its URI, for which
the documents are put together here. Dialects: 2020-12, draft-07, and custom ones that name 2020-12's vocabularies.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Mapping, Optional

from ..errors import SchemaError
from .model import Check

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
_LEGACY: Dict[str, Any] = {
    **{name: VOCABULARIES["core"][name] for name in ("$schema", "$ref", "$comment")}, "$id": _TEXT, **_EVERYWHERE,
    **{name: value for name, value in VOCABULARIES["applicator"].items() if name not in
       ("dependentSchemas", "prefixItems")},
    "items": _ONE_OR_MORE, "additionalItems": _SCHEMA,
    "dependencies": {"type": "object", "additionalProperties": {"anyOf": [_SCHEMA, _NAMES]}},
    **{name: value for name, value in VOCABULARIES["validation"].items() if name not in
       ("minContains", "maxContains", "dependentRequired")},
    **VOCABULARIES["format-annotation"], "contentEncoding": _TEXT, "contentMediaType": _TEXT,
    **{name: value for name, value in VOCABULARIES["meta-data"].items() if name not in ("deprecated", "writeOnly")},
}


def _recursing(fragment: Any, schema: Dict[str, Any]) -> Any:
    """The fragment with `schema` in every place where a subschema stands."""
    if fragment is _SCHEMA:
        return schema
    if isinstance(fragment, dict):
        return {name: _recursing(value, schema) for name, value in fragment.items()}
    if isinstance(fragment, list):
        return [_recursing(value, schema) for value in fragment]
    return fragment


def metaschema(uri: str) -> Optional[Dict[str, Any]]:
    """The metaschema document of that URI (no fragment), or None."""
    kinds = ["object", "boolean"]
    if uri == DRAFT_07:
        return {"$schema": DRAFT_07 + "#", "$id": DRAFT_07 + "#", "type": kinds,
                "properties": _recursing(_LEGACY, {"$ref": "#"})}
    if uri == DRAFT_2020_12:
        return {"$schema": DRAFT_2020_12, "$id": DRAFT_2020_12, "$dynamicAnchor": "meta", "type": kinds,
                "$vocabulary": {_VOCAB + name: True for name in VOCABULARIES},
                "allOf": [{"$ref": "meta/" + name} for name in VOCABULARIES], "properties": _EVERYWHERE}
    name = uri[len(_META):] if uri.startswith(_META) else ""
    if name not in VOCABULARIES:
        return None
    return {"$schema": DRAFT_2020_12, "$id": uri, "$dynamicAnchor": "meta", "type": kinds,
            "$vocabulary": {_VOCAB + name: True}, "properties": VOCABULARIES[name],
            "$defs": {"nonNegativeInteger": _COUNT, "stringArray": _NAMES, "schemaArray": _SCHEMAS,
                      "simpleTypes": _SIMPLE, "anchorString": _ANCHOR}}


class Dialect:
    """A set of keywords.

    uri: what `$schema` calls it.
    names: its keywords. shape: what their values must be, as a schema that takes any object or boolean for a subschema.
    legacy: draft-07, in which `$ref` hides its siblings and `$id` may be an anchor.
    check: the shape compiled, once it has been.
    places: for each keyword that holds subschemas, how: "one", "list", "map", "one or list", "map or names".
    """

    def __init__(self, uri: str, keywords: Mapping[str, Any], legacy: bool = False) -> None:
        self.uri = uri
        self.legacy = legacy
        self.names: FrozenSet[str] = frozenset(keywords)
        self.places = {name: how for name, how in ((name, _how(value)) for name, value in keywords.items()) if how}
        held = {"type": ["object", "boolean"]}
        self.check: Optional[Check] = None
        self.shape = {"type": ["object", "boolean"], "properties": _recursing(dict(keywords), held)}


def _how(fragment: Any) -> str:
    forms = ((_SCHEMA, "one"), (_SCHEMAS, "list"), (_NAMED, "map"), (_ONE_OR_MORE, "one or list"),
             (_LEGACY["dependencies"], "map or names"))
    return next((how for form, how in forms if fragment is form), "")


def _of_vocabularies(uri: str, names: Any) -> Dialect:
    keywords = dict(_EVERYWHERE)
    for name in names:
        keywords.update(VOCABULARIES[name])
    return Dialect(uri, keywords)


MODERN = _of_vocabularies(DRAFT_2020_12, VOCABULARIES)
LEGACY = Dialect(DRAFT_07, _LEGACY, legacy=True)


def dialect_of(uri: str, documents: Mapping[str, Any], following: int = 0) -> Dialect:
    """The dialect that `$schema` names; a custom one only if its metaschema is among the documents.

    Raises SchemaError for any other, which says what is supported (BASE-38). Nothing is fetched.
    """
    name = uri[:-1] if uri.endswith("#") else uri
    if name in (DRAFT_2020_12, DRAFT_07):
        return MODERN if name == DRAFT_2020_12 else LEGACY
    document = documents.get(name, documents.get(uri))
    unsupported = SchemaError(f"dialect not supported: {uri[:200]}; supported: {DRAFT_2020_12}, {DRAFT_07}#")
    if not isinstance(document, dict) or following > 8:
        raise unsupported
    vocabulary = document.get("$vocabulary")
    if not isinstance(vocabulary, dict):
        parent = document.get("$schema", DRAFT_2020_12)
        if not isinstance(parent, str):
            raise unsupported
        return dialect_of(parent, documents, following + 1)
    known = {_VOCAB + each: each for each in VOCABULARIES}
    for each, needed in vocabulary.items():
        if each not in known and needed is not False:
            raise SchemaError(f"dialect not supported: {uri[:200]} requires the vocabulary {each[:200]}")
    return _of_vocabularies(uri, ["core"] + [known[each] for each in vocabulary if each in known])
