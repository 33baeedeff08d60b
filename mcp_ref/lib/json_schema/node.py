"""basic/index, JSON Schema Usage: a subschema where it stands, with what it refers to."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterable, List, Optional, Tuple

from ..text import cut
from .dialects import Dialect
from .run import MAX_VIOLATIONS, Bounded, Check, Failures, Key, Matcher, Path, Run, join

MAX_REFERENCES = 100  # followed within one another

Link = Tuple["Node", str]
"""The node a reference means and, if others may take its place, the name of its dynamic anchor; otherwise ""."""


class Node:
    """A subschema where it stands, at a JSON pointer of a document.

    document: the nodes of the document by their pointers. keywords: those that its dialect knows.
    parts: the nodes of its subschemas by keyword, each one, a list or a dict as in the schema. links: its references.
    matchers: of its patterns. check: its validation. quick: the types accepted unseen.
    resource: the node of the schema with a URI that it belongs to, which has that URI, the dialect, and the nodes
    with a `$dynamicAnchor`.
    """

    resource: "Node"
    check: Check
    quick: FrozenSet[type]
    uri: str
    dialect: Dialect

    def __init__(self, schema: Any, document: Dict[Path, "Node"], pointer: Path, parent: Optional["Node"]) -> None:
        self.schema = schema
        self.document = document
        self.pointer = pointer
        self.depth: int = parent.depth + 1 if parent else 0
        self.resource = parent.resource if parent else self
        self.keywords: Dict[str, Any] = {}
        self.parts: Dict[str, Any] = {}
        self.links: Dict[str, Link] = {}
        self.matchers: Dict[str, Matcher] = {}
        self.dynamic: Dict[str, Node] = {}
        document[pointer] = self

    def child(self, schema: Any, *tokens: str) -> "Node":
        """A new node for a subschema within this one."""
        return Node(schema, self.document, self.pointer + tokens, self)

    def children(self, keywords: Iterable[str]) -> List["Node"]:
        """The nodes of the subschemas of some keywords."""
        found: List[Node] = []
        for keyword in keywords:
            part = self.parts.get(keyword, [])
            found += part if isinstance(part, list) else part.values() if isinstance(part, dict) else [part]
        return found

    def at(self, *further: Key) -> str:
        """The JSON pointer of the node, or of something in it."""
        tokens = [str(token).replace("~", "~0").replace("/", "~1") for token in self.pointer + further]
        return "#" + "".join(["/" + cut(token, 80) for token in tokens])


def enter(run: Run, link: Link) -> Node:
    """Follow a reference, dynamic ones to the outermost resource that has the anchor; the caller leaves again."""
    target, anchor = link
    run.charge(3 + (len(run.scope) >> 2))
    run.depth += 1
    if run.depth > MAX_REFERENCES:
        raise Bounded("is nested too deeply to validate against its schema")
    if anchor:
        run.charge(4)
        target = next((entered.dynamic[anchor] for entered in run.scope if anchor in entered.dynamic), target)
    if target.resource not in run.scope:
        run.scope += (target.resource,)
    return target


def each(members: Iterable[Tuple[Key, Any, Node]], run: Run) -> Optional[Failures]:
    """Check members, given as (name or index, value, its subschema); the caller has paid for the rounds."""
    failures: Optional[Failures] = None
    for key, item, child in members:
        if type(item) not in child.quick:
            found = child.check(item, run)
            if found is not None:
                run.charge(len(found))
                failures = join(failures, found, key)
                if run.brief or len(failures) >= MAX_VIOLATIONS:
                    break
    return failures


def tried(child: Node, value: Any, run: Run) -> Optional[Failures]:
    """The first failure of a value that may satisfy the subschema, or another instead.

    One is enough: with all of them alternatives that hold themselves would cost twice as much at every level.
    """
    before, run.brief = run.brief, True
    found = child.check(value, run)
    run.brief = before
    return found
