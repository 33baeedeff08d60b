"""basic/index, JSON Schema Usage: the keywords that apply subschemas, to members or in place (BASE-33, 37, 48).

A rule is a function of (node, its part, value, run), the part being what the keyword holds: a node, or several in a
list or dict; where something can be prepared, a maker of a rule. Every loop pays for its rounds in advance, or as it
goes where it may end early. A member
whose type its subschema accepts unseen (`Node.quick`) is not even handed over.

What a subschema evaluates is not noted while it validates, which would tax every schema for `unevaluatedProperties`
and `unevaluatedItems`, but asked afterwards, by `mark`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from ..text import cut
from .assertions import Maker, Rules, make_dependent_required
from .node import Node, each, enter
from .run import JSON_TYPES, MAX_VIOLATIONS, Check, Failures, Run, Violation, at_names, enumerated, fail, join, said


def reference(node: Node, link: Tuple[Node, str], value: Any, run: Run) -> Optional[Failures]:
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


def make_properties(node: Node, value: Any) -> Rules:
    """`properties`, by way of whichever is shorter, the schema's names or the object's."""
    table = {name: (name, child.quick, child.check) for name, child in node.parts["properties"].items()}
    rows = tuple(table.values())
    size, (price, dearest) = len(rows), prices(node.parts["properties"].values())

    def rule(members: Any, run: Run) -> Optional[Failures]:
        failures: Optional[Failures] = None
        if size <= len(members):
            some: Sequence[Any] = rows
            run.left -= price
        else:
            some = [table[name] for name in members if name in table]
            run.left -= dearest * len(members)
        if run.left < 0:
            run.extend()
        for name, quick, check in some:
            if name in members:
                item = members[name]
                if type(item) not in quick:
                    found = check(item, run)
                    if found is not None:
                        run.charge(len(found))
                        failures = join(failures, found, name)
        return failures

    return {dict: rule}


def prices(children: Iterable[Node]) -> Tuple[int, int]:
    """What the checks of some subschemas cost in steps, all together, and the dearest of them."""
    costs = [child.cost for child in children]
    return sum(costs), max(costs, default=0)


def pattern_properties(node: Node, children: Dict[str, Node], members: Any, run: Run) -> Optional[Failures]:
    """`patternProperties`."""
    failures: Optional[Failures] = None
    for pattern, child in children.items():
        matches = node.matchers[pattern]  # pays for the loop
        some = [(name, item) for name, item in members.items() if matches(str(name), run)]
        run.charge(len(some) * child.cost)
        failures = join(failures, each(some, child, run))
    return failures


def make_additional_properties(node: Node, value: Any) -> Rules:
    """`additionalProperties`."""
    child, known = node.parts["additionalProperties"], frozenset(node.parts.get("properties", ()))
    patterns = [node.matchers[pattern] for pattern in node.parts.get("patternProperties", ())]
    message = f"is not allowed (allowed: {enumerated(node.parts.get('properties', ())) or 'none'})"

    def rule(members: Any, run: Run) -> Optional[Failures]:
        if members.keys() <= known:
            return None
        run.charge(4 + len(members))
        others = [(name, item) for name, item in members.items() if name not in known]
        if patterns:
            others = [row for row in others if not any(matches(str(row[0]), run) for matches in patterns)]
        elif value is False:
            return at_names([name for name, _ in others], "additionalProperties", message)
        run.charge(len(others) * child.cost)
        return each(others, child, run)

    return {dict: rule} if len(child.quick) < len(JSON_TYPES) else {}


def property_names(node: Node, child: Node, members: Any, run: Run) -> Optional[Failures]:
    """`propertyNames`."""
    failures: Optional[Failures] = None
    run.charge(len(members) * child.cost)
    for name in members:
        found = child.check(name, run)
        if found is not None:
            run.charge(4)
            failures = join(failures, at_names([name], "propertyNames", partial(_bad_name, found)))
            if failures and len(failures) >= MAX_VIOLATIONS:
                break
    return failures


def _bad_name(found: Failures, depth: int) -> str:
    return f"is not a property name that is allowed: it {said(found[0][2], depth + 1)}"


def prefix_items(node: Node, children: List[Node], items: Any, run: Run) -> Optional[Failures]:
    """`prefixItems`, and draft-07's list of `items`."""
    failures: Optional[Failures] = None
    for at, (item, child) in enumerate(zip(items, children)):
        run.charge(2 + child.cost)
        failures = join(failures, each([(at, item)], child, run))
    return failures


def make_items(node: Node, value: Any) -> Rules:
    """`items`: of all items after `prefixItems`; in draft-07 a list of subschemas stands for that one too."""
    if isinstance(value, list):
        return {list: partial(prefix_items, node, node.parts["items"])}
    return _rest(node.parts["items"], len(node.parts.get("prefixItems", ())))


def make_additional_items(node: Node, value: Any) -> Rules:
    """draft-07's `additionalItems`, which means something only beside a list of `items`."""
    first = node.parts.get("items")
    return _rest(node.parts["additionalItems"], len(first)) if isinstance(first, list) else {}


def _rest(child: Node, start: int) -> Rules:
    cost = child.cost

    def rule(items: Any, run: Run) -> Optional[Failures]:
        run.left -= cost * len(items)
        if run.left < 0:
            run.extend()
        return each(enumerate(items[start:] if start else items, start), child, run)

    return {list: rule} if len(child.quick) < len(JSON_TYPES) else {}


def contains(node: Node, child: Node, items: Any, run: Run) -> Optional[Failures]:
    """`contains`, with `minContains` and `maxContains`."""
    run.charge(len(items) * child.cost)
    count = sum([child.check(item, run) is None for item in items])
    least, most = node.keywords.get("minContains", 1), node.keywords.get("maxContains")
    if count < least:
        what = "item that matches" if least == 1 else "items that match"
        return fail("contains", f"must have at least {least} {what} the schema in contains")
    if most is not None and count > most:
        return fail("maxContains", f"must have at most {most} items that match the schema in contains")
    return None


def all_of(node: Node, price: int, checks: Sequence[Check], value: Any, run: Run) -> Optional[Failures]:
    """`allOf`."""
    failures: Optional[Failures] = None
    run.charge(price)
    for check in checks:
        found = check(value, run)
        if found is not None:
            failures = join(failures, found)
    return failures


def any_of(node: Node, children: List[Node], value: Any, run: Run) -> Optional[Failures]:
    """`anyOf`."""
    run.charge(4)
    reasons: List[Any] = []
    for child in children:
        run.charge(child.cost)
        reasons.append(child.check(value, run))
        if reasons[-1] is None:
            return None
    return _none_of("anyOf", reasons)


def one_of(node: Node, price: int, children: List[Node], value: Any, run: Run) -> Optional[Failures]:
    """`oneOf`."""
    run.charge(4 + price)
    reasons: List[Any] = [child.check(value, run) for child in children]
    passed = reasons.count(None)
    if passed > 1:
        return fail("oneOf", f"must match exactly one of the {len(children)} alternatives, but matches several")
    return None if passed else _none_of("oneOf", reasons)


def _none_of(keyword: str, reasons: List[Failures]) -> Failures:
    """No alternative passed."""
    return fail(keyword, partial(_alternatives, reasons[:5]))


def _alternatives(reasons: List[Failures], depth: int) -> str:
    """What each of the first few alternatives asked for; those of alternatives within them only so far down."""
    if depth > 2:
        return "matches no alternative"
    texts: Dict[str, None] = {}
    for (path, keyword, message), *_ in reasons[:4]:
        text = said(message, depth + 1)
        texts[cut(Violation(path, text, keyword).text() if path else text, 150)] = None
    if len(texts) == 1 and len(reasons) <= 4:
        return "".join(texts)
    return "matches no alternative: " + "; or ".join(texts) + ("; or …" if len(reasons) > 4 else "")


def make_all_of(node: Node, value: Any) -> Rules:
    """`allOf`; a type that all of them accept unseen needs no rule."""
    children = node.parts["allOf"]
    rule = partial(all_of, node, prices(children)[0], [child.check for child in children])
    return {kind: rule for kind in JSON_TYPES if not all(kind in child.quick for child in children)}


def make_any_of(node: Node, value: Any) -> Rules:
    """`anyOf`; a type that one of them accepts unseen needs no rule."""
    children = node.parts["anyOf"]
    rule = partial(any_of, node, children)
    return {kind: rule for kind in JSON_TYPES if not any(kind in child.quick for child in children)}


def make_one_of(node: Node, value: Any) -> Rules:
    """`oneOf`."""
    children = node.parts["oneOf"]
    return dict.fromkeys(JSON_TYPES, partial(one_of, node, prices(children)[0], children))


def not_(node: Node, child: Node, value: Any, run: Run) -> Optional[Failures]:
    """`not`."""
    run.charge(1 + child.cost)
    return fail("not", "must not match the schema in not") if child.check(value, run) is None else None


def if_(node: Node, condition: Node, value: Any, run: Run) -> Optional[Failures]:
    """`if`, `then`, `else`."""
    run.charge(1 + condition.cost)
    branch = node.parts.get("then" if condition.check(value, run) is None else "else")
    if branch is None:
        return None
    run.charge(branch.cost)
    found: Optional[Failures] = branch.check(value, run)
    return found


def dependent_schemas(node: Node, children: Dict[str, Node], members: Any, run: Run) -> Optional[Failures]:
    """`dependentSchemas`."""
    failures: Optional[Failures] = None
    run.charge(len(children))
    for name, child in children.items():
        if name in members:
            run.charge(child.cost)
            failures = join(failures, child.check(members, run))
    return failures


def make_dependencies(node: Node, value: Any) -> Rules:
    """draft-07's `dependencies`, which 2020-12 parted in two."""
    required = make_dependent_required(node, {name: names for name, names in value.items() if isinstance(names, list)})
    checks: List[Check] = [required[dict], partial(dependent_schemas, node, node.parts["dependencies"])]
    return {dict: partial(all_of, node, len(checks), checks)}


def unevaluated(node: Node, keyword: str, checks: Sequence[Check], value: Any, run: Run) -> Optional[Failures]:
    """`unevaluatedProperties` or `unevaluatedItems`, once all other checks have passed."""
    failures = all_of(node, len(checks), checks, value, run)
    if failures is not None:
        return failures
    seen: Set[Any] = set()
    mark(node, value, run, seen, own=True)
    run.charge(len(value) * node.parts[keyword].cost)
    members = value.items() if isinstance(value, dict) else enumerate(value)
    return each([(key, item) for key, item in members if key not in seen], node.parts[keyword], run)


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
        run.charge(len(items) * child.cost)
        seen.update([at for at, item in enumerate(items) if child.check(item, run) is None])


def _applied(node: Node, value: Any, run: Run) -> Iterator[Node]:
    """The subschemas that apply to the value itself and pass."""
    parts = node.parts
    yield from parts.get("allOf", ())
    for child in parts.get("anyOf", []) + parts.get("oneOf", []):
        run.charge(1 + child.cost)
        if child.check(value, run) is None:
            yield child
    if "if" in parts:
        run.charge(parts["if"].cost)
        holds = parts["if"].check(value, run) is None
        yield from [parts[keyword] for keyword in (("if", "then") if holds else ("else",)) if keyword in parts]
    if isinstance(value, dict):
        yield from [child for name, child in parts.get("dependentSchemas", {}).items() if name in value]


def _plain(keyword: str, kinds: Tuple[type, ...], rule: Callable[..., Optional[Failures]]) -> Maker:
    """The maker of a rule for which there is nothing to prepare."""
    return lambda node, value: dict.fromkeys(kinds, partial(rule, node, node.links.get(keyword) or node.parts[keyword]))


APPLICATORS: Dict[str, Maker] = {
    "$ref": _plain("$ref", JSON_TYPES, reference),
    "$dynamicRef": _plain("$dynamicRef", JSON_TYPES, reference),
    "properties": make_properties,
    "patternProperties": _plain("patternProperties", (dict,), pattern_properties),
    "additionalProperties": make_additional_properties,
    "propertyNames": _plain("propertyNames", (dict,), property_names),
    "prefixItems": _plain("prefixItems", (list,), prefix_items),
    "items": make_items,
    "additionalItems": make_additional_items,
    "contains": _plain("contains", (list,), contains),
    "allOf": make_all_of,
    "anyOf": make_any_of,
    "oneOf": make_one_of,
    "not": _plain("not", JSON_TYPES, not_),
    "if": _plain("if", JSON_TYPES, if_),
    "dependentSchemas": _plain("dependentSchemas", (dict,), dependent_schemas),
    "dependencies": make_dependencies,
}
