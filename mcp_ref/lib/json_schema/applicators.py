"""basic/index, JSON Schema Usage: the keywords that apply subschemas, to members or in place (BASE-33, 37, 48).

A rule is a function of (node, its part, value, run), the part being what the keyword holds: a node, or several in a
list or dict. A check pays for itself, so a rule pays for no more than the rounds in which it calls none.

What a subschema evaluates is not noted while it validates, which would tax every schema for `unevaluatedProperties`
and `unevaluatedItems`, but asked afterwards, by `mark`.
"""

from __future__ import annotations

from functools import partial
from itertools import count, repeat
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from ..text import cut
from .assertions import Maker, Rules
from .node import Link, Node, each, enter, tried
from .run import JSON_TYPES, MAX_VIOLATIONS, Check, Failures, Path, Run, at_names, enumerated, fail, join, sentence


def reference(node: Node, link: Link, value: Any, run: Run) -> Optional[Failures]:
    """`$ref`, `$dynamicRef`: wherever it leads, looked up now, as it may lead back here."""
    scope = run.scope
    found = enter(run, link).check(value, run)
    run.depth -= 1
    run.scope = scope
    return found


def within(check: Check, node: Node, value: Any, run: Run) -> Optional[Failures]:
    """The check of a subschema with an `$id` of its own, for `$dynamicRef` below it."""
    scope = run.scope
    run.charge(2 + (len(scope) >> 4))
    if node not in scope:
        run.scope += (node,)
    found = check(value, run)
    run.scope = scope
    return found


def make_properties(node: Node, children: Dict[str, Node]) -> Rules:
    """`properties`, by way of whichever is shorter, the schema's names or the object's."""
    def rule(members: Any, run: Run) -> Optional[Failures]:
        failures: Optional[Failures] = None
        few, many = (children, members) if len(children) <= len(members) else (members, children)
        run.left -= len(few)  # as charge does, without a call, since most validations come here
        if run.left < 0:
            run.extend()
        for name in few:
            if name in many:
                item, child = members[name], children[name]
                if type(item) not in child.quick:
                    found = child.check(item, run)
                    if found is not None:
                        run.charge(len(found))
                        failures = join(failures, found, name)
                        if run.brief:
                            break
        return failures

    return {dict: rule}


def pattern_properties(node: Node, children: Dict[str, Node], members: Any, run: Run) -> Optional[Failures]:
    """`patternProperties`."""
    failures: Optional[Failures] = None
    for pattern, child in children.items():
        matches = node.matchers[pattern]  # pays for the loop
        rows = [(name, item, child) for name, item in members.items() if matches(str(name), run)]
        found = each(rows, run)
        if found is not None:
            failures = join(failures, found)
    return failures


def make_additional_properties(node: Node, child: Node) -> Rules:
    """`additionalProperties`."""
    known = node.parts.get("properties", {}).keys()
    patterns = [node.matchers[pattern] for pattern in node.parts.get("patternProperties", ())]
    message = f"is not allowed (allowed: {enumerated(known) or 'none'})"

    def rule(members: Any, run: Run) -> Optional[Failures]:
        if members.keys() <= known:
            return None
        run.charge(4 + len(members))
        others = [(name, item, child) for name, item in members.items() if name not in known]
        if patterns:
            others = [row for row in others if not any(matches(str(row[0]), run) for matches in patterns)]
        elif child.schema is False:
            return at_names([name for name, _, _ in others], "additionalProperties", message)
        return each(others, run)

    return {dict: rule}


def property_names(node: Node, child: Node, members: Any, run: Run) -> Optional[Failures]:
    """`propertyNames`."""
    failures: List[Tuple[Path, str, str]] = []
    for name in members:
        found = tried(child, name, run)
        if found is not None:
            message = f"is not a property name that is allowed: it {found[0][2]}"
            failures.append(((name,), "propertyNames", message))
            if run.brief or len(failures) >= MAX_VIOLATIONS:
                break
    return tuple(failures) or None


def prefix_items(node: Node, children: List[Node], items: Any, run: Run) -> Optional[Failures]:
    """`prefixItems`."""
    run.charge(min(len(children), len(items)))
    return each(zip(count(), items, children), run)


def further_items(node: Node, child: Node, items: Any, run: Run) -> Optional[Failures]:
    """`items`: all after `prefixItems`."""
    start = len(node.parts.get("prefixItems", ()))
    run.charge(1 + (len(items) >> 1))
    return each(zip(count(start), items[start:] if start else items, repeat(child)), run)


def contains(node: Node, child: Node, items: Any, run: Run) -> Optional[Failures]:
    """`contains`, with `minContains` and `maxContains`."""
    passed = sum([tried(child, item, run) is None for item in items])
    least, most = node.keywords.get("minContains", 1), node.keywords.get("maxContains")
    if passed < least:
        what = "item that matches" if least == 1 else "items that match"
        return fail("contains", f"must have at least {least} {what} the schema in contains")
    if most is not None and passed > most:
        return fail("maxContains", f"must have at most {most} items that match the schema in contains")
    return None


def all_of(checks: Sequence[Check], value: Any, run: Run) -> Optional[Failures]:
    """The failures of several checks, as those of `allOf`."""
    failures: Optional[Failures] = None
    for check in checks:
        found = check(value, run)
        if found is not None:
            failures = join(failures, found)
            if run.brief:
                break
    return failures


def make_all_of(node: Node, children: List[Node]) -> Rules:
    """`allOf`."""
    return dict.fromkeys(JSON_TYPES, partial(all_of, [child.check for child in children]))


def make_any_of(node: Node, children: List[Node]) -> Rules:
    """`anyOf`; a type that one of them accepts unseen needs no rule."""
    rule = partial(any_of, node, children)
    return {kind: rule for kind in JSON_TYPES if not any(kind in child.quick for child in children)}


def any_of(node: Node, children: List[Node], value: Any, run: Run) -> Optional[Failures]:
    """`anyOf`."""
    reasons: List[Failures] = []
    for child in children:
        found = tried(child, value, run)
        if found is None:
            return None
        reasons.append(found)
    return _none_of("anyOf", reasons, run)


def one_of(node: Node, children: List[Node], value: Any, run: Run) -> Optional[Failures]:
    """`oneOf`."""
    reasons: List[Any] = [tried(child, value, run) for child in children]
    passed = reasons.count(None)
    if passed > 1:
        return fail("oneOf", f"must match exactly one of the {len(children)} alternatives, but matches several")
    return None if passed else _none_of("oneOf", reasons, run)


def _none_of(keyword: str, reasons: List[Failures], run: Run) -> Failures:
    """No alternative passed: what each of the first few asked for."""
    run.charge(10)
    firsts = [sentence("", path, message) if path else message for (path, _, message), *_ in reasons[:4]]
    texts = list(dict.fromkeys([cut(first, 150) for first in firsts]))
    if len(reasons) > 4:
        texts.append("…")
    return fail(keyword, texts[0] if len(texts) == 1 else "matches no alternative: " + "; or ".join(texts))


def not_(node: Node, child: Node, value: Any, run: Run) -> Optional[Failures]:
    """`not`."""
    return fail("not", "must not match the schema in not") if tried(child, value, run) is None else None


def if_(node: Node, condition: Node, value: Any, run: Run) -> Optional[Failures]:
    """`if`, `then`, `else`."""
    branch: Optional[Node] = node.parts.get("then" if tried(condition, value, run) is None else "else")
    return None if branch is None else branch.check(value, run)


def dependent_schemas(node: Node, children: Dict[str, Node], members: Any, run: Run) -> Optional[Failures]:
    """`dependentSchemas`."""
    run.charge(len(children))
    return all_of([child.check for name, child in children.items() if name in members], members, run)


def unevaluated(node: Node, keyword: str, checks: Sequence[Check], value: Any, run: Run) -> Optional[Failures]:
    """`unevaluatedProperties` or `unevaluatedItems`, once all other checks have passed."""
    run.charge(len(checks))
    failures = all_of(checks, value, run)
    if failures is not None:
        return failures
    seen: Set[Any] = set()
    mark(node, value, run, seen, own=True)
    run.charge(len(value))
    child, members = node.parts[keyword], value.items() if isinstance(value, dict) else enumerate(value)
    return each([(key, item, child) for key, item in members if key not in seen], run)


def mark(node: Node, value: Any, run: Run, seen: Set[Any], own: bool = False) -> None:
    """Collect in `seen` the names or indexes that `node`, and all that applies in place and passes, evaluates.

    `node` itself is known to pass; own leaves out its `unevaluated…`.
    """
    scope = run.scope
    run.charge(4 + (len(scope) >> 4))
    if node.resource not in scope:
        run.scope += (node.resource,)
    within = run.scope
    if isinstance(value, dict):
        _mark_properties(node, value, run, seen, own)
    else:
        _mark_items(node, value, run, seen, own)
    for child in _applied(node, value, run):
        mark(child, value, run, seen)
    for link in node.links.values():
        mark(enter(run, link), value, run, seen)
        run.depth -= 1
        run.scope = within
    run.scope = scope


def _mark_properties(node: Node, members: Any, run: Run, seen: Set[Any], own: bool) -> None:
    names = node.parts.get("properties", {})
    run.charge(1 + min(len(names), len(members)))
    seen.update(names.keys() & members.keys())
    for pattern in node.parts.get("patternProperties", ()):
        seen.update([name for name in members if node.matchers[pattern](str(name), run)])
    if "additionalProperties" in node.parts or ("unevaluatedProperties" in node.parts and not own):
        run.charge(len(members))
        seen.update(members)


def _mark_items(node: Node, items: Any, run: Run, seen: Set[Any], own: bool) -> None:
    run.charge(1 + len(items))
    everything = "items" in node.parts or ("unevaluatedItems" in node.parts and not own)
    seen.update(range(len(items) if everything else min(len(node.parts.get("prefixItems", ())), len(items))))
    if "contains" in node.parts:
        child = node.parts["contains"]
        seen.update([at for at, item in enumerate(items) if tried(child, item, run) is None])


def _applied(node: Node, value: Any, run: Run) -> Iterator[Node]:
    """The subschemas that apply to the value itself and pass."""
    parts = node.parts
    yield from parts.get("allOf", ())
    yield from [child for child in parts.get("anyOf", []) + parts.get("oneOf", []) if tried(child, value, run) is None]
    if "if" in parts:
        holds = tried(parts["if"], value, run) is None
        yield from [parts[keyword] for keyword in (("if", "then") if holds else ("else",)) if keyword in parts]
    if isinstance(value, dict):
        yield from [child for name, child in parts.get("dependentSchemas", {}).items() if name in value]


def _rule(rule: Callable[..., Optional[Failures]], *kinds: type) -> Maker:
    """The maker of a rule for which there is nothing to prepare."""
    return lambda node, part: dict.fromkeys(kinds, partial(rule, node, part))


APPLICATORS: Dict[str, Maker] = {
    "$ref": _rule(reference, *JSON_TYPES),
    "$dynamicRef": _rule(reference, *JSON_TYPES),
    "properties": make_properties,
    "patternProperties": _rule(pattern_properties, dict),
    "additionalProperties": make_additional_properties,
    "propertyNames": _rule(property_names, dict),
    "prefixItems": _rule(prefix_items, list),
    "items": _rule(further_items, list),
    "contains": _rule(contains, list),
    "allOf": make_all_of,
    "anyOf": make_any_of,
    "oneOf": _rule(one_of, *JSON_TYPES),
    "not": _rule(not_, *JSON_TYPES),
    "if": _rule(if_, *JSON_TYPES),
    "dependentSchemas": _rule(dependent_schemas, dict),
}
