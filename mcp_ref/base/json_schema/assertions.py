"""basic/index, JSON Schema Usage: the keywords that assert something of the value itself (BASE-33, BASE-37).

A maker takes the compiled subschema's `Node` and the keyword's value, and returns the checks with the JSON types they
are for; the node files them by type, so that no check asks again what it was given.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, Optional, Tuple

from ..errors import SchemaError
from .formats import FORMATS
from .model import JSON_TYPES, NAMES, Check, Failures, Run, canonical, fail, join, listed, shown

if TYPE_CHECKING:
    from .compile import Node

Rules = List[Tuple[Tuple[type, ...], Check]]
Maker = Callable[["Node", Any], Rules]
NUMBERS = (int, float)


def allowed_types(value: Any) -> FrozenSet[type]:
    """The Python types that a `type` keyword lets pass, all of them if there is none; a float only if it is whole."""
    names = value if isinstance(value, list) else [value]
    return frozenset(JSON_TYPES if value is None else [kind for name in names for kind in NAMES[name][1]])


def make_type(node: "Node", value: Any) -> Rules:
    """`type`: checks for the types that are not allowed, and for a float where only integers are."""
    names = value if isinstance(value, list) else [value]
    allowed = allowed_types(value)
    failure = fail("type", "must be " + (NAMES[names[0]][0] if len(names) == 1 else "one of: " + ", ".join(names)))

    def wrong(value: Any, run: Run) -> Optional[Failures]:
        return failure

    def whole(value: Any, run: Run) -> Optional[Failures]:
        return None if value.is_integer() else failure

    rules: Rules = [(tuple([kind for kind in JSON_TYPES if kind not in allowed]), wrong)]
    return rules + ([((float,), whole)] if "integer" in names and "number" not in names else [])


def make_enum(node: "Node", value: Any) -> Rules:
    """`enum`."""
    return _one_of("enum", value, "must be one of: ")


def make_const(node: "Node", value: Any) -> Rules:
    """`const`."""
    return _one_of("const", [value], "must be ")


def _one_of(keyword: str, values: List[Any], wording: str) -> Rules:
    keys = frozenset([canonical(value) for value in values])
    failure = fail(keyword, wording + (listed(shown(value) for value in values) or "(none)"))
    strings = frozenset([value for value in values if isinstance(value, str)])

    def string(value: Any, run: Run) -> Optional[Failures]:
        return None if value in strings else failure

    def other(value: Any, run: Run) -> Optional[Failures]:
        key = canonical(value)
        run.charge(len(key) >> 4)
        return None if key in keys else failure

    return [((str,), string), (tuple([kind for kind in JSON_TYPES if kind is not str]), other)]


def _number(keyword: str, wording: str, broken: Callable[[Any, Any], bool]) -> Maker:
    def make(node: "Node", value: Any) -> Rules:
        failure = fail(keyword, f"must be {wording} {shown(value)}")

        def rule(number: Any, run: Run) -> Optional[Failures]:
            return failure if broken(number, value) else None

        return [(NUMBERS, rule)]

    return make


def _size(keyword: str, kind: type, wording: str, unit: Tuple[str, str], broken: Callable[[Any, Any], bool]) -> Maker:
    def make(node: "Node", value: Any) -> Rules:
        failure = fail(keyword, f"must have at {wording} {shown(value)} {unit[0] if value == 1 else unit[1]}")

        def rule(sized: Any, run: Run) -> Optional[Failures]:
            return failure if broken(len(sized), value) else None

        return [((kind,), rule)]

    return make


def make_multiple_of(node: "Node", value: Any) -> Rules:
    """`multipleOf`, exact: of the decimal numbers that were written, not of their nearest binary fractions."""
    if value - value != 0:
        raise SchemaError("must be finite")
    failure = fail("multipleOf", f"must be a multiple of {shown(value)}")
    over, under = _ratio(value)

    def rule(number: Any, run: Run) -> Optional[Failures]:
        if number - number != 0:  # infinite, as JSON's 1e400 is to Python, or not a number
            return failure
        upper, lower = _ratio(number)
        return failure if (upper * under) % (lower * over) else None

    return [(NUMBERS, rule)]


def _ratio(number: Any) -> Tuple[int, int]:
    if isinstance(number, int):
        return number, 1
    if number.is_integer() and abs(number) < 1e15:
        return int(number), 1
    from decimal import Decimal

    return Decimal(repr(number)).as_integer_ratio()


def make_pattern(node: "Node", value: Any) -> Rules:
    """`pattern`."""
    matches = node.compiler.pattern(value)
    failure = fail("pattern", "must match the pattern " + (value if len(value) <= 200 else value[:200] + "…"))

    def rule(text: Any, run: Run) -> Optional[Failures]:
        return None if matches(text, run) else failure

    return [((str,), rule)]


def make_format(node: "Node", value: Any) -> Rules:
    """`format`, of the few that are asserted when that is asked for."""
    if value not in FORMATS or not node.compiler.formats:
        return []
    message, holds = FORMATS[value]
    failure = fail("format", message)

    def rule(text: Any, run: Run) -> Optional[Failures]:
        return None if holds(text) else failure

    return [((str,), rule)]


def make_unique_items(node: "Node", value: Any) -> Rules:
    """`uniqueItems`."""
    if not value:
        return []

    def rule(items: Any, run: Run) -> Optional[Failures]:
        seen: Dict[str, int] = {}
        for at, item in enumerate(items):
            key = canonical(item)
            run.charge(1 + (len(key) >> 4))
            first = seen.setdefault(key, at)
            if first != at:
                return fail("uniqueItems", f"must not hold an item twice: [{first}] and [{at}] are equal")
        return None

    return [((list,), rule)]


def make_required(node: "Node", value: Any) -> Rules:
    """`required`."""
    names = tuple(value)

    def rule(members: Any, run: Run) -> Optional[Failures]:
        failures: Optional[Failures] = None
        run.left -= len(names)
        if run.left < 0:
            run.extend()
        for name in names:
            if name not in members:
                failures = join(failures, (((name,), "required", "is required"),))
        return failures

    return [((dict,), rule)] if names else []


def make_dependent_required(node: "Node", value: Any) -> Rules:
    """`dependentRequired`, and the lists of names in draft-07's `dependencies`."""
    wanted = {name: tuple(names) for name, names in value.items() if isinstance(names, list)}

    def rule(members: Any, run: Run) -> Optional[Failures]:
        failures: Optional[Failures] = None
        run.charge(len(wanted))
        for name, names in wanted.items():
            if name in members:
                run.charge(len(names))
                for other in names:
                    if other not in members:
                        message = f"is required when {shown(name)} is given"
                        failures = join(failures, (((other,), "dependentRequired", message),))
        return failures

    return [((dict,), rule)] if wanted else []


_CHARACTERS, _ITEMS, _PROPERTIES = ("character", "characters"), ("item", "items"), ("property", "properties")
ASSERTIONS: Dict[str, Maker] = {
    "type": make_type,
    "enum": make_enum,
    "const": make_const,
    "minimum": _number("minimum", "at least", operator.lt),
    "maximum": _number("maximum", "at most", operator.gt),
    "exclusiveMinimum": _number("exclusiveMinimum", "greater than", operator.le),
    "exclusiveMaximum": _number("exclusiveMaximum", "less than", operator.ge),
    "multipleOf": make_multiple_of,
    "minLength": _size("minLength", str, "least", _CHARACTERS, operator.lt),
    "maxLength": _size("maxLength", str, "most", _CHARACTERS, operator.gt),
    "pattern": make_pattern,
    "format": make_format,
    "minItems": _size("minItems", list, "least", _ITEMS, operator.lt),
    "maxItems": _size("maxItems", list, "most", _ITEMS, operator.gt),
    "uniqueItems": make_unique_items,
    "required": make_required,
    "minProperties": _size("minProperties", dict, "least", _PROPERTIES, operator.lt),
    "maxProperties": _size("maxProperties", dict, "most", _PROPERTIES, operator.gt),
    "dependentRequired": make_dependent_required,
}
