"""basic/index, JSON Schema Usage: from an indexed schema to closures (BASE-33, 37, 40, 48).

Every place becomes a `Node`: its check, built once, holds for each JSON type the rules that type must pass, so that
`{"type": "string"}` has none for a string and one for everything else. Children are built before their parents and
bound directly; a reference keeps a `Link`, looked up when it runs, so that a tree may refer to itself and nothing is
ever inlined.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Set, Tuple, Union

from ..errors import SchemaError
from .applicators import APPLICATORS
from .assertions import ASSERTIONS, Maker, Rules, allowed_types
from .metaschema import Dialect
from .model import JSON_TYPES, Bounded, Check, Failures, Run, fail, join, json_type, quick_of
from .patterns import Matcher, compile_pattern
from .references import Index, Place, Resource
from .unevaluated import UNEVALUATED

MAX_PATTERN_COST = 50_000
"""Characters and states in all patterns of a schema, a microsecond or two each."""
MAKERS: Dict[str, Maker] = {**ASSERTIONS, **APPLICATORS, **UNEVALUATED}
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_NEVER = fail("false", "is not allowed")
_NOT_JSON = fail("type", "must be a JSON value")


class Anchor:
    """A name that `$dynamicRef` asks for: its subschema in each resource that has one."""

    def __init__(self) -> None:
        self.nodes: Dict[Resource, "Node"] = {}


class Link:
    """A reference: the node it means, the anchor for which others may take that one's place, and its weight.

    weight: the subschemas between the last reference's target and this reference, which bounds the stack's depth.
    """

    __slots__ = ("node", "anchor", "weight")

    def __init__(self, node: "Node", anchor: Optional[Anchor]) -> None:
        self.node = node
        self.anchor = anchor
        self.weight = 1


class Node:
    """A compiled subschema.

    check: its validation. quick: the types accepted unseen. parts: the nodes of its subschemas, by keyword.
    matchers: those of `patternProperties`. links: its references, by keyword. always, never: whether it is `true` (or
    {}), or `false`.
    """

    __slots__ = ("place", "keywords", "resource", "compiler", "check", "quick", "parts", "matchers", "links", "built",
                 "always", "never")
    check: Check

    def __init__(self, place: Place, compiler: "Compiler") -> None:
        self.place = place
        self.keywords = place.keywords
        self.resource = place.resource
        self.compiler = compiler
        self.quick: FrozenSet[type] = frozenset()
        self.parts: Dict[str, Any] = {}
        self.matchers: Dict[str, Matcher] = {}
        self.links: Dict[str, Link] = {}
        self.built = False
        self.always = place.schema is True or place.schema == {}
        self.never = place.schema is False

    def one(self, keyword: str) -> "Node":
        """The subschema of a keyword that has one."""
        child: Node = self.parts[keyword]
        return child

    def several(self, keyword: str) -> List["Node"]:
        """The subschemas of a keyword that has a list of them; none if it is not there."""
        children: List[Node] = self.parts.get(keyword, [])
        return children

    def named(self, keyword: str) -> Dict[str, "Node"]:
        """The subschemas of a keyword that has them by name; none if it is not there."""
        children: Dict[str, Node] = self.parts.get(keyword, {})
        return children


class Compiler:
    """Compiles one schema and what it refers to."""

    def __init__(self, documents: Mapping[str, Any], formats: bool) -> None:
        self.index = Index(documents, check_shape)
        self.formats = formats
        self.nodes: Dict[Place, Node] = {}
        self.waiting: List[Place] = []
        self.anchors: Dict[str, Anchor] = {}
        self._patterns: Dict[str, Matcher] = {}
        self._pattern_cost = 0

    def pattern(self, pattern: str) -> Matcher:
        """The matcher of a pattern; all patterns of a schema together have a bound too."""
        if pattern not in self._patterns:
            self._patterns[pattern], cost = compile_pattern(pattern)
            self._pattern_cost += cost
            if self._pattern_cost > MAX_PATTERN_COST:
                raise SchemaError("the patterns of the schema are too many or too large")
        return self._patterns[pattern]

    def compile(self, root: Place) -> Node:
        """The root's node, with everything below it and everything it refers to."""
        node = self.node(root)
        while self.waiting:
            while self.waiting:
                self.build(self.waiting.pop())
            for resource in self.index.resources:
                for name in resource.dynamic.keys() & self.anchors.keys():
                    self.anchors[name].nodes[resource] = self.node(resource.dynamic[name])
        self._refuse_cycles()
        self._weigh(root)
        return node

    def node(self, place: Place) -> Node:
        """The node of a place, built now or later."""
        if place not in self.nodes:
            self.nodes[place] = Node(place, self)
            self.waiting.append(place)
        return self.nodes[place]

    def build(self, place: Place) -> Node:
        """The node of a place, built now."""
        node = self.node(place)
        if not node.built:
            node.built = True
            for keyword, part in place.parts.items():
                if isinstance(part, list):
                    node.parts[keyword] = [self.build(each) for each in part]
                elif isinstance(part, dict):
                    node.parts[keyword] = {name: self.build(each) for name, each in part.items()}
                else:
                    node.parts[keyword] = self.build(part)
            self._refer(node)
            self._finish(node)
        return node

    def _refer(self, node: Node) -> None:
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in node.keywords:
                reference = node.keywords[keyword]
                target = self.index.resolve(node.place, reference)
                anchor = None
                name = reference.partition("#")[2]
                if keyword == "$dynamicRef" and target.resource.dynamic.get(name) is target:
                    anchor = self.anchors.setdefault(name, Anchor())
                node.links[keyword] = Link(self.node(target), anchor)

    def _finish(self, node: Node) -> None:
        """File the rules of its keywords by type, and make the check."""
        never: Tuple[Check, ...] = (lambda value, run: _NEVER,) if node.never else ()
        table: Dict[type, Tuple[Check, ...]] = dict.fromkeys(JSON_TYPES, never)
        late: Dict[type, Tuple[Check, ...]] = {}
        allowed = allowed_types(node.keywords.get("type"))
        for keyword in MAKERS:
            for kinds, rule in self._rules(node, keyword) if keyword in node.keywords else ():
                for kind in kinds:
                    if keyword in UNEVALUATED:
                        late[kind] = (rule,)
                    elif keyword == "type" or kind in allowed:
                        table[kind] += (rule,)
        node.check = _checker(table)
        node.quick = quick_of({kind: rules + late.get(kind, ()) for kind, rules in table.items()})
        if late:
            node.check = _with_late(node.check, late)
        if node.place.is_root and node.place.parent is not None:
            node.check = _scoped(node.check, node.resource)

    def _rules(self, node: Node, keyword: str) -> Rules:
        """The rules of one keyword; what goes wrong in the making is told with its place."""
        try:
            if keyword == "patternProperties":
                node.matchers = {pattern: self.pattern(pattern) for pattern in node.keywords[keyword]}
            return MAKERS[keyword](node, node.keywords[keyword])
        except (SchemaError, Bounded) as error:
            raise SchemaError(f"{node.place.at(keyword)}: {error}") from None

    def _refuse_cycles(self) -> None:
        """A subschema that leads to itself, by references and in-place keywords alone, would never end."""
        done: Set[Union[Node, Anchor]] = set()
        trail: List[Tuple[Union[Node, Anchor], Iterator[Union[Node, Anchor]]]]
        active: Set[Union[Node, Anchor]]
        for start in self.nodes.values():
            if start in done:
                continue
            trail = [(start, iter(_applied_in_place(start)))]
            active = {start}
            while trail:
                node, following = trail[-1]
                child = next(following, None)
                if child is None:
                    done.add(node)
                    active.discard(node)
                    trail.pop()
                elif child in active:
                    raise SchemaError(f"{start.place}: the schema refers to itself without going into the instance")
                elif child not in done:
                    active.add(child)
                    trail.append((child, iter(_applied_in_place(child))))

    def _weigh(self, root: Place) -> None:
        """Tell each link how many subschemas lie between it and where its evaluation was entered."""
        entered = {root}
        for anchor in self.anchors.values():
            entered.update([node.place for node in anchor.nodes.values()])
        for node in self.nodes.values():
            entered.update([link.node.place for link in node.links.values()])
        for node in self.nodes.values():
            for link in node.links.values():
                place: Optional[Place] = node.place
                while place is not None and place not in entered:
                    link.weight += 1
                    place = place.parent


def _applied_in_place(node: Union[Node, Anchor]) -> List[Union[Node, Anchor]]:
    if isinstance(node, Anchor):
        return list(node.nodes.values())
    found: List[Union[Node, Anchor]] = []
    for keyword in _IN_PLACE:
        part = node.parts.get(keyword)
        if part is not None:
            found.extend(part if isinstance(part, list) else part.values() if isinstance(part, dict) else [part])
    for link in node.links.values():
        found.append(link.node)
        if link.anchor is not None:
            found.append(link.anchor)
    return found


def _checker(table: Dict[type, Tuple[Check, ...]]) -> Check:
    find = table.get

    def check(value: Any, run: Run) -> Optional[Failures]:
        rules = find(type(value))
        if rules is None:
            kind = json_type(value)
            if kind is None:
                return _NOT_JSON
            rules = table[kind]
        failures: Optional[Failures] = None
        for rule in rules:
            found = rule(value, run)
            if found is not None:
                failures = join(failures, found)
        return failures

    return check


def _with_late(check: Check, late: Dict[type, Tuple[Check, ...]]) -> Check:
    def check_both(value: Any, run: Run) -> Optional[Failures]:
        failures = check(value, run)
        for rule in late.get(json_type(value) or object, ()) if failures is None else ():
            failures = rule(value, run)
        return failures

    return check_both


def _scoped(check: Check, resource: Resource) -> Check:
    """The check of a subschema with an `$id` of its own, for `$dynamicRef` below it."""
    def check_within(value: Any, run: Run) -> Optional[Failures]:
        scope = run.scope
        if scope is None or resource in scope:
            return check(value, run)
        run.scope = scope + (resource,)
        found = check(value, run)
        run.scope = scope
        return found

    return check_within


def check_shape(place: Place) -> None:
    """Hold a subschema, but not those within it, against its dialect's metaschema; raises SchemaError (BASE-40)."""
    if place.schema is True or place.schema is False:
        return
    found = _shape(place.resource.dialect)(place.schema, Run(place.schema))
    if found is not None:
        path, _, message = found[0]
        raise SchemaError(f"{place.at(*path)} {message}")


def _shape(dialect: Dialect) -> Check:
    """The dialect's shape, compiled when it is first needed; it needs no check of its own."""
    if dialect.check is None:
        compiler = Compiler({}, False)
        compiler.index = Index({}, lambda place: None)
        dialect.check = compiler.compile(compiler.index.add("", dialect.shape)).check
    return dialect.check
