"""basic/index, JSON Schema Usage: `unevaluatedProperties` and `unevaluatedItems` (BASE-33).

What a subschema evaluates is not noted while it validates, which would tax every schema for these two keywords, but
asked afterwards of the subschemas that hold them: `mark` walks a subschema known to pass, and everything that applies
in place and passes too, and collects the names or indexes evaluated on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Set

from .applicators import enter
from .assertions import Maker, Rules
from .model import Failures, Run, each

if TYPE_CHECKING:
    from .compile import Node


def make_unevaluated_properties(node: "Node", value: Any) -> Rules:
    """`unevaluatedProperties`, run after all else has passed."""
    check = node.one("unevaluatedProperties").check

    def rule(members: Any, run: Run) -> Optional[Failures]:
        seen: Set[Any] = set()
        mark(node, members, run, seen, own=True)
        return each([(name, item, check) for name, item in members.items() if name not in seen], run)

    return [((dict,), rule)]


def make_unevaluated_items(node: "Node", value: Any) -> Rules:
    """`unevaluatedItems`, run after all else has passed."""
    check = node.one("unevaluatedItems").check

    def rule(items: Any, run: Run) -> Optional[Failures]:
        seen: Set[Any] = set()
        mark(node, items, run, seen, own=True)
        return each([(at, item, check) for at, item in enumerate(items) if at not in seen], run)

    return [((list,), rule)]


def mark(node: "Node", value: Any, run: Run, seen: Set[Any], own: bool = False) -> None:
    """Collect in `seen` what `node`, which `value` passes, evaluates of it; own leaves out its unevaluated*."""
    run.charge(1)
    scope = run.scope
    if scope is not None and node.resource not in scope:
        run.scope = scope + (node.resource,)
    if isinstance(value, dict):
        _mark_properties(node, value, run, seen, own)
    else:
        _mark_items(node, value, run, seen, own)
    for child in _in_place(node, value, run):
        mark(child, value, run, seen)
    for link in node.links.values():
        within = run.scope
        mark(enter(link, run), value, run, seen)
        run.depth -= link.weight
        run.scope = within
    run.scope = scope


def _mark_properties(node: "Node", members: Any, run: Run, seen: Set[Any], own: bool) -> None:
    if "additionalProperties" in node.parts or ("unevaluatedProperties" in node.parts and not own):
        run.charge(len(members))
        seen.update(members)
        return
    names = node.named("properties")
    run.charge(min(len(names), len(members)))
    seen.update([name for name in (names if len(names) < len(members) else members) if name in names
                 and name in members])
    for matches in node.matchers.values():
        run.charge(len(members))
        seen.update([name for name in members if matches(str(name), run)])


def _mark_items(node: "Node", items: Any, run: Run, seen: Set[Any], own: bool) -> None:
    run.charge(len(items))
    if "items" in node.parts or ("unevaluatedItems" in node.parts and not own):
        seen.update(range(len(items)))
        return
    seen.update(range(min(len(node.several("prefixItems")), len(items))))
    if "contains" in node.parts:
        check = node.one("contains").check
        seen.update([at for at, item in enumerate(items) if check(item, run) is None])


def _in_place(node: "Node", value: Any, run: Run) -> Iterator["Node"]:
    """The subschemas that apply to the value itself and pass."""
    yield from node.several("allOf")
    for key in ("anyOf", "oneOf"):
        for child in node.several(key):
            run.charge(1)
            if child.check(value, run) is None:
                yield child
    if "if" in node.parts:
        condition = node.one("if")
        holds = condition.check(value, run) is None
        if holds:
            yield condition
        if ("then" if holds else "else") in node.parts:
            yield node.one("then" if holds else "else")
    if isinstance(value, dict):
        for name, child in node.named("dependentSchemas").items():
            if name in value:
                yield child


UNEVALUATED: Dict[str, Maker] = {
    "unevaluatedProperties": make_unevaluated_properties,
    "unevaluatedItems": make_unevaluated_items,
}
