"""basic/index, JSON Schema Usage: the keywords that apply subschemas, to members or in place (BASE-33, 37, 48).

Every loop pays for its rounds in advance (`run.left -= …`, written out where it is hot). A member whose type its
subschema accepts unseen (`Node.quick`) is not even handed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Tuple

from .assertions import Maker, Rules, make_dependent_required
from .model import (
    JSON_TYPES,
    MAX_DEPTH,
    MAX_VIOLATIONS,
    Bounded,
    Check,
    Failures,
    Run,
    each,
    fail,
    join,
    listed,
    sentence,
    together,
    under,
)

if TYPE_CHECKING:
    from .compile import Link, Node


def enter(link: "Link", run: Run) -> "Node":
    """Follow a reference: pays for it, and keeps the resources entered where `$dynamicRef` needs them."""
    run.left -= 1
    if run.left < 0:
        run.extend()
    run.depth += link.weight
    if run.depth > MAX_DEPTH:
        raise Bounded("is nested too deeply to validate against its schema")
    node, scope = link.node, run.scope
    if scope is None:
        return node
    run.charge(len(scope) >> 2)
    if link.anchor is not None:
        candidates = link.anchor.nodes
        node = next((candidates[resource] for resource in scope if resource in candidates), node)
    if node.resource not in scope:
        run.scope = scope + (node.resource,)
    return node


def _reference(keyword: str) -> Maker:
    """`$ref`, `$dynamicRef`: the check of wherever it leads, looked up when it runs, as it may lead back here."""
    def make(node: "Node", value: Any) -> Rules:
        link = node.links[keyword]

        def rule(value: Any, run: Run) -> Optional[Failures]:
            scope = run.scope
            found = enter(link, run).check(value, run)
            run.depth -= link.weight
            run.scope = scope
            return found

        return [(JSON_TYPES, rule)]

    return make


def make_properties(node: "Node", value: Any) -> Rules:
    """`properties`, by way of whichever is shorter, the schema's names or the object's."""
    table = {name: (name, child.quick, child.check) for name, child in node.named("properties").items()}
    rows = tuple(table.values())

    def rule(members: Any, run: Run) -> Optional[Failures]:
        failures: Optional[Failures] = None
        some = rows if len(rows) <= len(members) else [table[name] for name in members if name in table]
        run.left -= len(some)
        if run.left < 0:
            run.extend()
        for name, quick, check in some:
            if name in members:
                item = members[name]
                if type(item) not in quick:
                    found = check(item, run)
                    if found is not None:
                        failures = under(failures, name, found)
        return failures

    return [((dict,), rule)]


def make_pattern_properties(node: "Node", value: Any) -> Rules:
    """`patternProperties`."""
    rows = [(node.matchers[pattern], child.check) for pattern, child in node.named("patternProperties").items()]

    def rule(members: Any, run: Run) -> Optional[Failures]:
        return each([(name, item, check) for name, item in members.items() for matches, check in rows
                     if matches(str(name), run)], run)

    return [((dict,), rule)] if rows else []


def make_additional_properties(node: "Node", value: Any) -> Rules:
    """`additionalProperties`."""
    known = frozenset(node.named("properties"))
    child, patterns = node.one("additionalProperties"), tuple(node.matchers.values())
    allowed = listed(node.named("properties")) or "none"
    closed = fail("additionalProperties", f"is not allowed (allowed: {allowed})")
    check: Check = (lambda item, run: closed) if child.never and not patterns else child.check

    def rule(members: Any, run: Run) -> Optional[Failures]:
        if members.keys() <= known:
            return None
        return each([(name, item, check) for name, item in members.items()
                     if name not in known and not any(matches(str(name), run) for matches in patterns)], run)

    return [((dict,), rule)] if not child.always else []


def make_property_names(node: "Node", value: Any) -> Rules:
    """`propertyNames`."""
    check = node.one("propertyNames").check

    def rule(members: Any, run: Run) -> Optional[Failures]:
        failures: Optional[Failures] = None
        run.charge(len(members))
        for name in members:
            found = check(name, run)
            if found is not None:
                message = f"is not a property name that is allowed: it {found[0][2]}"
                failures = join(failures, (((name,), "propertyNames", message),))
        return failures

    return [((dict,), rule)]


def make_prefix_items(node: "Node", value: Any) -> Rules:
    """`prefixItems`, and draft-07's list of `items`."""
    checks = [child.check for child in node.several("prefixItems" if "prefixItems" in node.keywords else "items")]

    def rule(items: Any, run: Run) -> Optional[Failures]:
        return each([(at, item, check) for at, (item, check) in enumerate(zip(items, checks))], run)

    return [((list,), rule)]


def make_items(node: "Node", value: Any) -> Rules:
    """`items`: of all items after `prefixItems`; in draft-07 a list of subschemas stands for that one too."""
    if isinstance(value, list):
        return make_prefix_items(node, value)
    return _rest(node.one("items"), len(node.several("prefixItems")))


def make_additional_items(node: "Node", value: Any) -> Rules:
    """draft-07's `additionalItems`, which means something only beside a list of `items`."""
    first = node.keywords.get("items")
    return _rest(node.one("additionalItems"), len(first)) if isinstance(first, list) else []


def _rest(child: "Node", start: int) -> Rules:
    quick, check = child.quick, child.check

    def rule(items: Any, run: Run) -> Optional[Failures]:
        failures: Optional[Failures] = None
        run.charge(len(items))
        for at, item in enumerate(items[start:] if start else items, start):
            if type(item) not in quick:
                found = check(item, run)
                if found is not None:
                    failures = under(failures, at, found)
                    if len(failures) >= MAX_VIOLATIONS:
                        break
        return failures

    return [((list,), rule)] if not child.always else []


def make_contains(node: "Node", value: Any) -> Rules:
    """`contains`, with `minContains` and `maxContains`."""
    check = node.one("contains").check
    least, most = node.keywords.get("minContains", 1), node.keywords.get("maxContains")
    few = fail("contains", f"must have at least {least} {'item that matches' if least == 1 else 'items that match'} "
                           "the schema in contains")
    many = fail("maxContains", f"must have at most {most} items that match the schema in contains")

    def rule(items: Any, run: Run) -> Optional[Failures]:
        run.charge(len(items))
        count = 0
        for item in items:
            count += check(item, run) is None
        return few if count < least else many if most is not None and count > most else None

    return [((list,), rule)]


def make_all_of(node: "Node", value: Any) -> Rules:
    """`allOf`."""
    children = node.several("allOf")
    checks = [child.check for child in children]

    def rule(value: Any, run: Run) -> Optional[Failures]:
        return together(checks, value, run)

    return [(_not_quick([kind for kind in JSON_TYPES if all(kind in child.quick for child in children)]), rule)]


def make_any_of(node: "Node", value: Any) -> Rules:
    """`anyOf`; a type that one of the alternatives accepts unseen needs no check at all."""
    children = node.several("anyOf")

    def rule(value: Any, run: Run) -> Optional[Failures]:
        run.charge(len(children))
        reasons = []
        for child in children:
            found = child.check(value, run)
            if found is None:
                return None
            reasons.append(found)
        return _none_of("anyOf", reasons)

    return [(_not_quick([kind for child in children for kind in child.quick]), rule)]


def make_one_of(node: "Node", value: Any) -> Rules:
    """`oneOf`."""
    children = node.several("oneOf")
    several = fail("oneOf", f"must match exactly one of the {len(children)} alternatives, but matches several")

    def rule(value: Any, run: Run) -> Optional[Failures]:
        run.charge(len(children))
        passed, reasons = 0, []
        for child in children:
            found = child.check(value, run)
            if found is not None:
                reasons.append(found)
                continue
            passed += 1
            if passed > 1:
                return several
        return None if passed else _none_of("oneOf", reasons)

    return [(JSON_TYPES, rule)]


def _not_quick(kinds: Iterable[type]) -> Tuple[type, ...]:
    quick = frozenset(kinds)
    return tuple([kind for kind in JSON_TYPES if kind not in quick])


def _none_of(keyword: str, reasons: List[Failures]) -> Failures:
    """No alternative passed: say what each of the first few asked for."""
    texts: List[str] = []
    for reason in reasons:
        path, _, message = reason[0]
        text = sentence(path, message) if path else message
        text = text if len(text) <= 150 else text[:150] + "…"
        if text not in texts:
            texts.append(text)
        if len(texts) > 4:
            break
    more = "; or …" if len(texts) > 4 else ""
    return fail(keyword, texts[0] if len(texts) == 1 else "matches no alternative: " + "; or ".join(texts[:4]) + more)


def make_not(node: "Node", value: Any) -> Rules:
    """`not`."""
    check = node.one("not").check
    failure = fail("not", "must not match the schema in not")

    def rule(value: Any, run: Run) -> Optional[Failures]:
        run.charge(1)
        return failure if check(value, run) is None else None

    return [(JSON_TYPES, rule)]


def make_if(node: "Node", value: Any) -> Rules:
    """`if`, `then`, `else`."""
    condition = node.one("if").check
    branches = [node.one(name).check if name in node.parts else None for name in ("then", "else")]

    def rule(value: Any, run: Run) -> Optional[Failures]:
        run.charge(2)
        branch = branches[0 if condition(value, run) is None else 1]
        return branch(value, run) if branch else None

    return [(JSON_TYPES, rule)] if branches != [None, None] else []


def make_dependent_schemas(node: "Node", value: Any) -> Rules:
    """`dependentSchemas`, and the subschemas in draft-07's `dependencies`."""
    children = node.named("dependentSchemas" if "dependentSchemas" in node.keywords else "dependencies")

    def rule(members: Any, run: Run) -> Optional[Failures]:
        run.charge(len(children))
        return together([child.check for name, child in children.items() if name in members], members, run)

    return [((dict,), rule)] if children else []


def make_dependencies(node: "Node", value: Any) -> Rules:
    """draft-07's `dependencies`, which 2020-12 parted in two."""
    return make_dependent_required(node, value) + make_dependent_schemas(node, value)


APPLICATORS: Dict[str, Maker] = {
    "$ref": _reference("$ref"),
    "$dynamicRef": _reference("$dynamicRef"),
    "properties": make_properties,
    "patternProperties": make_pattern_properties,
    "additionalProperties": make_additional_properties,
    "propertyNames": make_property_names,
    "prefixItems": make_prefix_items,
    "items": make_items,
    "additionalItems": make_additional_items,
    "contains": make_contains,
    "allOf": make_all_of,
    "anyOf": make_any_of,
    "oneOf": make_one_of,
    "not": make_not,
    "if": make_if,
    "dependentSchemas": make_dependent_schemas,
    "dependencies": make_dependencies,
}
