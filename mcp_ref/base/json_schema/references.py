"""basic/index, Ref Resolution: where every subschema is, and what a reference means (BASE-41, 42, 47, 48).

A reference reaches the schema it stands in, a document handed over by its URI, or a metaschema known here; nothing is
ever fetched, and there is no mode in which it would be (so BASE-43 to BASE-46 have nothing to govern). A reference
that reaches none of these is a SchemaError, not a schema that accepts everything.

A `Resource` is a schema with a URI of its own (its root, or one with `$id`), a `Place` is one subschema at one
location. Places are indexed without recursion, so that no nesting exhausts the stack before it meets its bound.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union
from urllib.parse import unquote, urljoin

from ..errors import SchemaError
from .metaschema import MODERN, Dialect, dialect_of, metaschema
from .model import shown

MAX_SCHEMA_DEPTH = 64
"""Subschemas lexically within one another."""
MAX_SUBSCHEMAS = 10_000
"""Subschemas in a schema and the documents it reaches."""
MAX_URI = 4_096
"""Characters in a URI."""

Pointer = Tuple[str, ...]
Parts = Dict[str, Union["Place", List["Place"], Dict[str, "Place"]]]


class Resource:
    """A schema with a URI: its base, its dialect, its root and its anchors."""

    def __init__(self, uri: str, dialect: Dialect, root: "Place") -> None:
        self.uri = uri
        self.dialect = dialect
        self.root = root
        self.anchors: Dict[str, Place] = {}
        self.dynamic: Dict[str, Place] = {}


class Place:
    """A subschema where it stands: its document, JSON pointer, surrounding place, resource, and what it holds."""

    resource: Resource

    def __init__(self, schema: Any, document: Dict[Pointer, "Place"], pointer: Pointer, parent: Optional["Place"]):
        self.schema = schema
        self.document = document
        self.pointer = pointer
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.keywords: Dict[str, Any] = {}
        self.parts: Parts = {}
        if parent:
            self.resource = parent.resource
        document[pointer] = self

    def __str__(self) -> str:
        return self.at()

    def at(self, *further: Union[str, int]) -> str:
        """The JSON pointer of the place, or of something in it."""
        tokens = [str(token).replace("~", "~0").replace("/", "~1") for token in self.pointer + further]
        return "#" + "".join(["/" + (token if len(token) <= 80 else token[:80] + "…") for token in tokens])

    @property
    def is_root(self) -> bool:
        """Whether a resource begins here."""
        return self.resource.root is self


class Index:
    """All places of a schema and of the documents it reaches, and the reading of references between them."""

    def __init__(self, documents: Mapping[str, Any], check_shape: Callable[[Place], None]) -> None:
        self._documents = {uri[:-1] if uri.endswith("#") else uri: schema for uri, schema in documents.items()}
        self._check_shape = check_shape
        self._by_uri: Dict[str, Resource] = {}
        self._count = 0
        self.resources: List[Resource] = []

    def add(self, uri: str, schema: Any, dialect: Dialect = MODERN) -> Place:
        """Index a document; `dialect` is its own unless it has a `$schema`."""
        place = Place(schema, {}, (), None)
        self._begin(place, uri, dialect)
        self._walk(place)
        return place

    def _begin(self, place: Place, uri: str, dialect: Dialect) -> None:
        """A resource begins at this place."""
        named = place.schema.get("$schema") if isinstance(place.schema, dict) else None
        if named is not None:
            if not isinstance(named, str):
                raise SchemaError(f"{place}: $schema must be a string")
            dialect = dialect_of(named, self._documents)
        place.resource = Resource(uri, dialect, place)
        self.resources.append(place.resource)
        self._name(uri, place.resource)

    def _name(self, uri: str, resource: Resource) -> None:
        if self._by_uri.setdefault(uri, resource) is not resource:
            raise SchemaError(f"two schemas have the $id {uri[:200]}")

    def _walk(self, start: Place) -> None:
        waiting = [start]
        while waiting:
            place = waiting.pop()
            self._count += 1
            if self._count > MAX_SUBSCHEMAS:
                raise SchemaError(f"the schema has more than {MAX_SUBSCHEMAS} subschemas")
            if place.depth > MAX_SCHEMA_DEPTH:
                raise SchemaError(f"the schema is nested more than {MAX_SCHEMA_DEPTH} subschemas deep")
            if isinstance(place.schema, dict):
                self._identify(place)
            self._check_shape(place)
            if isinstance(place.schema, dict):
                waiting.extend(self._read(place))

    def _identify(self, place: Place) -> None:
        """Read `$id` and the anchors. They are met before the shape is checked, as `$id` may change the dialect."""
        schema, resource = place.schema, place.resource
        legacy = resource.dialect.legacy
        uri = schema.get("$id")
        if isinstance(uri, str) and not (legacy and ("$ref" in schema or uri.startswith("#"))):
            absolute = join(resource.uri, uri.partition("#")[0])
            if place.is_root:
                resource.uri = absolute
                self._name(absolute, resource)
            else:
                self._begin(place, absolute, resource.dialect)
                resource = place.resource
        if legacy:
            if isinstance(uri, str) and uri.startswith("#") and len(uri) > 1 and "$ref" not in schema:
                self._anchor(place, resource, uri[1:])
            return
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = schema.get(keyword)
            if isinstance(name, str):
                self._anchor(place, resource, name)
                if keyword == "$dynamicAnchor":
                    resource.dynamic[name] = place

    def _anchor(self, place: Place, resource: Resource, name: str) -> None:
        if resource.anchors.setdefault(name, place) is not place:
            raise SchemaError(f"{place}: the anchor {name[:80]} is there twice")

    def _read(self, place: Place) -> Iterator[Place]:
        """Fill in the place's keywords and parts; yields the parts that are not indexed yet."""
        dialect = place.resource.dialect
        keywords = {name: value for name, value in place.schema.items() if name in dialect.names}
        if dialect.legacy and "$ref" in keywords:
            keywords = {name: keywords[name] for name in ("$ref", "definitions") if name in keywords}
        place.keywords = keywords
        for name in sorted(keywords.keys() & dialect.places.keys()):
            how, value = dialect.places[name], keywords[name]
            made: List[Place] = []
            if isinstance(value, list):
                place.parts[name] = [self._part(place, (name, str(at)), item, made) for at, item in enumerate(value)]
            elif how.startswith("map"):
                place.parts[name] = {key: self._part(place, (name, key), item, made) for key, item in value.items()
                                     if how == "map" or not isinstance(item, list)}
            else:
                place.parts[name] = self._part(place, (name,), value, made)
            yield from made

    def _part(self, place: Place, tokens: Pointer, schema: Any, made: List[Place]) -> Place:
        pointer = place.pointer + tokens
        known = place.document.get(pointer)
        if known is not None:
            return known
        made.append(Place(schema, place.document, pointer, place))
        return made[-1]

    def resolve(self, place: Place, reference: str) -> Place:
        """The place that a `$ref` (or the first reading of a `$dynamicRef`) at `place` means."""
        uri, _, fragment = reference.partition("#")
        resource = self._resource(join(place.resource.uri, uri), place) if uri else place.resource
        if resource is None:
            raise SchemaError(f"{place}: cannot resolve the reference {shown(reference, 200)}: no such document was "
                              "given, and references are never fetched")
        fragment = unquote(fragment)
        if not fragment:
            return resource.root
        found = self._follow(resource, fragment) if fragment.startswith("/") else resource.anchors.get(fragment)
        if found is None:
            raise SchemaError(f"{place}: cannot resolve the reference {shown(reference, 200)}: nothing is there")
        return found

    def _resource(self, uri: str, place: Place) -> Optional[Resource]:
        """The resource of that URI; a document without `$schema` is read in the dialect of who refers to it."""
        if uri not in self._by_uri:
            document = self._documents.get(uri)
            if document is None:
                document = metaschema(uri)
            if document is None:
                return None
            self.add(uri, document, place.resource.dialect)
        return self._by_uri[uri]

    def _follow(self, resource: Resource, fragment: str) -> Optional[Place]:
        """The place at a JSON pointer: one that is indexed, or any object or boolean, indexed now."""
        place, value, pointer = resource.root, resource.root.schema, resource.root.pointer
        tokens = fragment[1:].split("/")
        if len(tokens) > 4 * MAX_SCHEMA_DEPTH:
            return None
        for token in tokens:
            token = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and token in value:
                value = value[token]
            elif isinstance(value, list) and token.isdigit() and len(token) < 9 and int(token) < len(value):
                value = value[int(token)]
            else:
                return None
            pointer += (token,)
            place = place.document.get(pointer, place)
        if place.pointer != pointer:
            if not isinstance(value, (dict, bool)):
                return None
            place = Place(value, place.document, pointer, place)
            self._walk(place)
        return place


def join(base: str, reference: str) -> str:
    """RFC 3986 resolution of a reference without fragment."""
    if len(base) + len(reference) > MAX_URI:
        raise SchemaError(f"a URI is longer than {MAX_URI} characters")
    try:
        return urljoin(base, reference) if reference else base
    except ValueError:
        raise SchemaError(f"{shown(reference, 200)} is not a URI reference") from None
