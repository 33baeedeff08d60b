"""basic/index, Ref Resolution: from a schema to closures (BASE-33, 37, 40, 41, 42, 47, 48).

Four steps: index every subschema, with its base URI and anchors, and check its shape; resolve the references, which
may reach further documents; refuse cycles that would never end; and build each subschema's check. A check holds for
each JSON type the rules that type must pass: `{"type": "string"}` has none for a string and one for all else.

A reference reaches the schema it stands in, a document handed over by its URI, or a metaschema known here. Any other
is a SchemaError, not a schema that accepts everything; nothing is ever fetched, and there is no mode in which it would
be (so BASE-43 to BASE-46 have nothing to govern).
"""

from __future__ import annotations

from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..errors import SchemaError
from ..text import quoted
from ..uri import joined, percent_decoded
from .applicators import APPLICATORS, unevaluated, within
from .assertions import ASSERTIONS, Maker, Rules, allowed_types
from .dialects import MODERN, Dialect, dialect_of, metaschema
from .node import Node
from .run import JSON_TYPES, Bounded, Check, Failures, Matcher, Run, fail, join, json_type

MAX_SCHEMA_DEPTH = 64  # subschemas lexically within one another
MAX_SUBSCHEMAS = 10_000  # in a schema and the documents it reaches
MAX_REFERENCE = 4_096  # characters in a URI
MAX_PATTERN_COST = 50_000  # characters and states in all patterns of a schema, a microsecond or two each

MAKERS: Dict[str, Maker] = {**ASSERTIONS, **APPLICATORS}
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_NEVER = fail("false", "is not allowed")
_NOT_JSON = fail("type", "must be a JSON value")


class Compiler:
    """Compiles one schema and what it refers to; `trusted` is for the shapes, which nothing needs to check."""

    def __init__(self, documents: Mapping[str, Any], formats: bool, trusted: bool = False) -> None:
        self._documents = {uri[:-1] if uri.endswith("#") else uri: schema for uri, schema in documents.items()}
        self._formats = formats
        self._trusted = trusted
        self._nodes: List[Node] = []
        self._by_uri: Dict[str, Node] = {}
        self._patterns: Dict[str, Matcher] = {}
        self._pattern_cost = 0

    def compile(self, schema: Any) -> Node:
        """The root's node, with everything below it and everything it refers to."""
        root = self._add("", schema, MODERN)
        for node in self._nodes:  # which grow by the documents and places that references reach
            self._refer(node)
        self._refuse_cycles()
        for node in reversed(self._nodes):  # parts stand behind the whole
            self._build(node)
        return root

    def _add(self, uri: str, schema: Any, dialect: Dialect) -> Node:
        """Index a document. dialect: its own, unless it has a `$schema`."""
        root = Node(schema, {}, (), None)
        self._begin(root, uri, dialect)
        self._index(root)
        return root

    def _begin(self, node: Node, uri: str, dialect: Dialect) -> None:
        """A resource begins at this node."""
        named = node.schema.get("$schema") if isinstance(node.schema, dict) else None
        if named is not None and not isinstance(named, str):
            raise SchemaError(f"{node.at()}: $schema must be a string")
        node.resource, node.uri = node, uri
        node.dialect = dialect if named is None else dialect_of(named, self._documents)
        if self._by_uri.setdefault(uri, node) is not node:
            raise SchemaError(f"{node.at()}: two schemas have the $id {uri[:200]}")

    def _index(self, start: Node) -> None:
        """A subschema and all within it, without recursion, so that no nesting exhausts the stack."""
        waiting = [start]
        while waiting:
            node = waiting.pop()
            self._nodes.append(node)
            if len(self._nodes) > MAX_SUBSCHEMAS:
                raise SchemaError(f"the schema has more than {MAX_SUBSCHEMAS} subschemas")
            if node.depth > MAX_SCHEMA_DEPTH:
                raise SchemaError(f"the schema is nested more than {MAX_SCHEMA_DEPTH} subschemas deep")
            if isinstance(node.schema, dict):
                self._identify(node, node.resource.dialect.legacy)
            if not self._trusted:
                check_shape(node)
            if isinstance(node.schema, dict):
                self._read(node)
                waiting.extend(node.children(node.parts))

    def _identify(self, node: Node, legacy: bool) -> None:
        """Read `$id` and the anchors. They are met before the shape is checked, as `$id` may change the dialect."""
        uri = node.schema.get("$id")
        if isinstance(uri, str) and not (legacy and ("$ref" in node.schema or uri.startswith("#"))):
            self._begin(node, _absolute(node.resource.uri, uri.partition("#")[0]), node.resource.dialect)
        anchors = {keyword: node.schema.get(keyword) for keyword in ("$anchor", "$dynamicAnchor")}
        if legacy:
            anchors = {"$id": uri[1:] or None} if isinstance(uri, str) and uri.startswith("#") else {}
        for keyword, name in anchors.items():
            if isinstance(name, str):
                if self._by_uri.setdefault(f"{node.resource.uri}#{name}", node) is not node:
                    raise SchemaError(f"{node.at()}: the anchor {name[:80]} is there twice")
                if keyword == "$dynamicAnchor":
                    node.resource.dynamic[name] = node

    def _read(self, node: Node) -> None:
        """Fill in the node's keywords and parts."""
        dialect = node.resource.dialect
        node.keywords = {name: value for name, value in node.schema.items() if name in dialect.keywords}
        if dialect.legacy and "$ref" in node.keywords:
            node.keywords = {name: node.keywords[name] for name in ("$ref", "definitions") if name in node.keywords}
        for name in sorted(node.keywords.keys() & dialect.places.keys()):
            value = node.keywords[name]
            if isinstance(value, list):
                node.parts[name] = [node.child(item, name, str(at)) for at, item in enumerate(value)]
            elif dialect.places[name]:  # by name; a list in draft-07's `dependencies` is of names
                node.parts[name] = {key: node.child(item, name, key) for key, item in value.items()
                                    if not isinstance(item, list)}
            else:
                node.parts[name] = node.child(value, name)
        if dialect.legacy:
            _rename(node)

    def _refer(self, node: Node) -> None:
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in node.keywords:
                reference = node.keywords[keyword]
                target, name = self._resolve(node, reference), reference.partition("#")[2]
                dynamic = keyword == "$dynamicRef" and target.resource.dynamic.get(name) is target
                node.links[keyword] = (target, name if dynamic else "")

    def _resolve(self, node: Node, reference: str) -> Node:
        """The node that a `$ref` (or the first reading of a `$dynamicRef`) means."""
        uri, _, fragment = reference.partition("#")
        resource = self._resource(_absolute(node.resource.uri, uri), node) if uri else node.resource
        fragment = percent_decoded(fragment).decode("utf-8", "replace")
        if resource is None:
            found, reason = None, "no such document was given, and references are never fetched"
        elif not fragment:
            return resource
        elif fragment.startswith("/"):
            found, reason = self._follow(resource, fragment), "nothing is there"
        else:
            found, reason = self._by_uri.get(f"{resource.uri}#{fragment}"), "nothing is there"
        if found is None:
            raise SchemaError(f"{node.at()}: cannot resolve the reference {quoted(reference, 200)}: {reason}")
        return found

    def _resource(self, uri: str, node: Node) -> Optional[Node]:
        """The resource of that URI; a document without `$schema` is read in the dialect of who refers to it."""
        if uri not in self._by_uri:
            document = self._documents[uri] if uri in self._documents else metaschema(uri)
            if document is None:
                return None
            self._add(uri, document, node.resource.dialect)
        return self._by_uri[uri]

    def _follow(self, node: Node, fragment: str) -> Optional[Node]:
        """The node at a JSON pointer: one that is indexed, or any object or boolean, indexed now."""
        tokens = fragment[1:].split("/")
        value, pointer = node.schema, node.pointer
        if len(tokens) > 4 * MAX_SCHEMA_DEPTH:
            return None
        for token in [token.replace("~1", "/").replace("~0", "~") for token in tokens]:
            if isinstance(value, dict) and token in value:
                value = value[token]
            elif isinstance(value, list) and token.isdecimal() and len(token) < 9 and int(token) < len(value):
                value = value[int(token)]
            else:
                return None
            pointer += (token,)
            node = node.document.get(pointer, node)
        if node.pointer != pointer:
            if not isinstance(value, (dict, bool)):
                return None
            node = Node(value, node.document, pointer, node)
            self._index(node)
        return node

    def _refuse_cycles(self) -> None:
        """A subschema that leads to itself, by references and in-place keywords alone, would never end."""
        graph: Dict[Any, List[Any]] = {}  # of nodes, and of the names of dynamic anchors, which lead to all so named
        for node in self._nodes:
            graph[node] = node.children(_IN_PLACE)
            for target, anchor in node.links.values():
                graph[node] += [target, anchor] if anchor else [target]
            for name, target in node.dynamic.items():
                graph.setdefault(name, []).append(target)
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            node = next(node for node in error.args[1] if isinstance(node, Node))
            raise SchemaError(f"{node.at()}: the schema refers to itself without going into the instance") from None

    def _build(self, node: Node) -> None:
        """File the rules of its keywords by type, and make the check."""
        never: Tuple[Check, ...] = (lambda value, run: _NEVER,) if node.schema is False else ()
        table: Dict[type, Tuple[Check, ...]] = dict.fromkeys(JSON_TYPES, never)
        allowed = allowed_types(node.keywords.get("type"))
        for keyword in MAKERS:
            if keyword in node.keywords:
                for kind, rule in self._rules(node, keyword).items():
                    if keyword == "type" or kind in allowed:
                        table[kind] += (rule,)
        for keyword, kind in (("unevaluatedProperties", dict), ("unevaluatedItems", list)):
            if keyword in node.parts:
                table[kind] = (partial(unevaluated, node, keyword, table[kind]),)
        node.quick = frozenset([kind for kind in JSON_TYPES if not table[kind]])
        node.check = _checker(table)
        if node is node.resource and node.pointer:
            node.check = partial(within, node.check, node)

    def _rules(self, node: Node, keyword: str) -> Rules:
        """The rules of one keyword; what goes wrong in the making is told with its place."""
        part: Any = node.links.get(keyword) or node.parts.get(keyword, node.keywords[keyword])
        try:
            if keyword in ("pattern", "patternProperties"):
                for pattern in [part] if keyword == "pattern" else part:
                    node.matchers[pattern] = self._pattern(pattern)
            return MAKERS[keyword](node, part) if keyword != "format" or self._formats else {}
        except (SchemaError, Bounded) as error:
            raise SchemaError(f"{node.at(keyword)}: {error}") from None

    def _pattern(self, pattern: str) -> Matcher:
        """The matcher of a pattern; all patterns of a schema together have a bound too."""
        if pattern not in self._patterns:
            from .patterns import compile_pattern  # for schemas that have one

            self._patterns[pattern], cost = compile_pattern(pattern)
            self._pattern_cost += cost
            if self._pattern_cost > MAX_PATTERN_COST:
                raise SchemaError("the patterns of the schema are too many or too large")
        return self._patterns[pattern]


def _rename(node: Node) -> None:
    """Call what draft-07 says in other words what 2020-12 calls it."""
    renamed = {}
    if "dependencies" in node.keywords:
        names = {name: each for name, each in node.keywords["dependencies"].items() if isinstance(each, list)}
        node.keywords["dependentRequired"] = names
        renamed["dependencies"] = "dependentSchemas"
    if isinstance(node.parts.get("items"), list):
        renamed.update({"items": "prefixItems", "additionalItems": "items"})
    for old, new in renamed.items():
        for table in (node.keywords, node.parts):
            if old in table:
                table[new] = table.pop(old)


def _checker(table: Dict[type, Tuple[Check, ...]]) -> Check:
    find = table.get

    def check(value: Any, run: Run) -> Optional[Failures]:
        rules = find(type(value))
        if rules is None:
            kind = json_type(value)
            if kind is None:
                return _NOT_JSON
            rules = table[kind]
        run.left -= 1 + len(rules)
        if run.left < 0:
            run.extend()
        failures: Optional[Failures] = None
        for rule in rules:
            found = rule(value, run)
            if found is not None:
                failures = join(failures, found)
                if run.brief:
                    break
        return failures

    return check


def check_shape(node: Node) -> None:
    """Hold a subschema, but not those within it, against its dialect's metaschema; raises SchemaError (BASE-40).

    Of the metaschema only what is said of the keywords at hand is compiled, once: few schemas have more than ten.
    """
    dialect = node.resource.dialect
    names = [name for name in node.schema if name in dialect.keywords] if isinstance(node.schema, dict) else []
    for keyword in names or [""]:
        if keyword not in dialect.checks:
            shape = dialect.shape(keyword)
            dialect.checks[keyword] = Compiler({}, formats=False, trusted=True).compile(shape).check
        try:
            found = dialect.checks[keyword](node.schema, Run(node.schema))
        except Bounded as error:
            raise SchemaError(f"{node.at(keyword)}: {error}") from None
        if found is not None:
            path, _, message = found[0]
            raise SchemaError(f"{node.at(*path)} {message}")


def _absolute(base: str, reference: str) -> str:
    """RFC 3986 resolution of a reference without fragment."""
    if len(base) + len(reference) > MAX_REFERENCE:
        raise SchemaError(f"a URI is longer than {MAX_REFERENCE} characters")
    return joined(base, reference) if reference else base
