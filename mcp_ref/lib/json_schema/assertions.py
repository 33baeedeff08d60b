"""basic/index, JSON Schema Usage: the keywords that assert something of the value itself (BASE-33, BASE-37).

A maker takes a subschema's `Node` and what the keyword holds (a value; for an applicator, nodes), and returns the check
for each JSON type it has one for; the node files them by type, so that no check asks again what it was given.

Of the formats, those are asserted, if any, that a form may ask for (client/elicitation, Requested Schema): email, uri,
date and date-time. Each is linear in the text: the expressions leave nothing to backtrack.
"""

from __future__ import annotations

import operator
import re
import sys
from calendar import monthrange
from functools import partial
from typing import Any, Callable, Dict, FrozenSet, Optional, Tuple

from ..errors import SchemaError
from ..text import cut, quoted
from ..uri import is_ip, is_uri
from .node import Node
from .run import (
    JSON_TYPES,
    NAMES,
    NUMBERS,
    Check,
    Failures,
    Run,
    at_names,
    comparable,
    enumerated,
    fail,
    join,
    json_type,
)

Rules = Dict[type, Check]
Maker = Callable[[Node, Any], Rules]


def allowed_types(value: Any) -> FrozenSet[type]:
    """The Python types that a `type` keyword lets pass, all of them if there is none; a float only if it is whole."""
    names = value if isinstance(value, list) else [value]
    return frozenset(JSON_TYPES if value is None else [kind for name in names for kind in NAMES[name][1]])


def make_type(node: Node, value: Any) -> Rules:
    """`type`: checks for the types that are not allowed, and for a float where only integers are."""
    names = value if isinstance(value, list) else [value]
    allowed = allowed_types(value)
    failure = fail("type", "must be " + (NAMES[names[0]][0] if len(names) == 1 else "one of: " + ", ".join(names)))
    rules: Rules = {kind: lambda value, run: failure for kind in JSON_TYPES if kind not in allowed}
    if "integer" in names and "number" not in names:
        rules[float] = lambda value, run: None if value.is_integer() else failure
    return rules


def _one_of(keyword: str, wording: str) -> Maker:
    """`enum`, and `const` as an `enum` of one."""
    def make(node: Node, value: Any) -> Rules:
        values = value if keyword == "enum" else [value]
        failure = fail(keyword, wording + (enumerated(quoted(value) for value in values) or "(none)"))
        kinds = {json_type(each) for each in values}
        if kinds & {int, float}:
            kinds.update(NUMBERS)
        unbounded = Run(values)
        unbounded.left = sys.maxsize
        strings = frozenset([each for each in values if isinstance(each, str)])
        keys = frozenset([comparable(each, unbounded) for each in values if not isinstance(each, str)])

        def by_key(value: Any, run: Run) -> Optional[Failures]:
            run.charge(2)
            return None if comparable(value, run) in keys else failure

        rules: Rules = {kind: by_key if kind in kinds else lambda value, run: failure for kind in JSON_TYPES}
        rules[str] = lambda value, run: None if value in strings else failure
        return rules

    return make


def _limit(keyword: str, kinds: Tuple[type, ...], broken: Callable[[Any, Any], bool], wording: str) -> Maker:
    """The maker of a rule that compares a number, or the length of all else, with the keyword's value.

    wording: has {} for that value and (singular|plural).
    """
    def make(node: Node, limit: Any) -> Rules:
        message = re.sub(r"\((.*)\|(.*)\)", r"\1" if limit == 1 else r"\2", wording.replace("{}", quoted(limit)))
        failure = fail(keyword, message)
        if kinds == NUMBERS:
            return dict.fromkeys(kinds, lambda value, run: failure if broken(value, limit) else None)
        return dict.fromkeys(kinds, lambda value, run: failure if broken(len(value), limit) else None)

    return make


def make_multiple_of(node: Node, value: Any) -> Rules:
    """`multipleOf`, exact: of the decimal numbers that were written, not of their nearest binary fractions."""
    if value - value != 0:
        raise SchemaError("must be finite")
    failure = fail("multipleOf", f"must be a multiple of {quoted(value)}")
    over, under = _ratio(value)

    def rule(number: Any, run: Run) -> Optional[Failures]:
        if number - number != 0:  # infinite, as JSON's 1e400 is to Python, or not a number
            return failure
        if type(number) is float:
            run.charge(4 if 1e-4 < abs(number) < 1e15 else 30)
        upper, lower = _ratio(number)
        return failure if (upper * under) % (lower * over) else None

    return dict.fromkeys(NUMBERS, rule)


def _ratio(number: Any) -> Tuple[int, int]:
    if isinstance(number, int):
        return number, 1
    whole, _, part = repr(number).partition(".")
    if part.isdecimal():
        return int(whole + part), 10 ** len(part)
    from decimal import Decimal

    return Decimal(repr(number)).as_integer_ratio()


def make_pattern(node: Node, value: Any) -> Rules:
    """`pattern`."""
    matches = node.matchers[value]
    failure = fail("pattern", f"must match the pattern {cut(value, 200)}")
    return {str: lambda text, run: None if matches(text, run) else failure}


def make_format(node: Node, value: Any) -> Rules:
    """`format`, of the few that can be asserted."""
    if value not in FORMATS:
        return {}
    message, holds = FORMATS[value]
    failure = fail("format", message)

    def rule(text: Any, run: Run) -> Optional[Failures]:
        run.charge(16 + (len(text) >> 1))
        return None if holds(text) else failure

    return {str: rule}


def make_unique_items(node: Node, value: Any) -> Rules:
    """`uniqueItems`."""
    def rule(items: Any, run: Run) -> Optional[Failures]:
        seen: Dict[str, int] = {}
        run.charge(4 * len(items))
        for at, item in enumerate(items):
            if type(item) is str:
                run.charge(len(item) >> 6)
            first = seen.setdefault(comparable(item, run), at)
            if first != at:
                return fail("uniqueItems", f"must not hold an item twice: [{first}] and [{at}] are equal")
        return None

    return {list: rule} if value else {}


def make_required(node: Node, value: Any) -> Rules:
    """`required`."""
    names = tuple(value)

    def rule(members: Any, run: Run) -> Optional[Failures]:
        run.left -= len(names)  # as charge does, without a call
        if run.left < 0:
            run.extend()
        for name in names:
            if name not in members:
                return at_names([name for name in names if name not in members], "required", "is required")
        return None

    return {dict: rule} if names else {}


def make_dependent_required(node: Node, value: Any) -> Rules:
    """`dependentRequired`."""
    rows = [(name, names, f"is required when {quoted(name)} is given") for name, names in value.items()]

    def rule(members: Any, run: Run) -> Optional[Failures]:
        failures: Optional[Failures] = None
        run.charge(len(rows))
        for name, names, message in rows:
            if name in members:
                run.charge(4 + len(names))
                missing = [other for other in names if other not in members]
                if missing:
                    failures = join(failures, at_names(missing, "dependentRequired", message))
        return failures

    return {dict: rule}


_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
_ATOMS = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"


def is_date(text: str) -> bool:
    """RFC 3339 full-date, a day of the calendar."""
    found = re.fullmatch(_DATE, text)
    if not found or not 1 <= int(found[2]) <= 12:
        return False
    return 1 <= int(found[3]) <= monthrange(int(found[1]), int(found[2]))[1]


def is_date_time(text: str) -> bool:
    """RFC 3339 date-time; a 60th second only where a leap second can be, at 23:59 UTC."""
    found = re.fullmatch(_TIME, text[11:])
    if not found or text[10] not in "Tt" or not is_date(text[:10]):
        return False
    hour, minute, second = int(found[1]), int(found[2]), int(found[3])
    ahead = int(found[5] or 0) * 60 + int(found[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or int(found[5] or 0) > 23 or int(found[6] or 0) > 59:
        return False
    utc = (hour * 60 + minute - (ahead if found[4] != "-" else -ahead)) % 1440
    return second < 60 or utc == 1439


def is_email(text: str) -> bool:
    """RFC 5321 Mailbox."""
    local, at, domain = text.rpartition("@")
    if not at or len(text) > 320 or not (re.fullmatch(_ATOMS, local) or re.fullmatch(_QUOTED, local)):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        inner = domain[1:-1]
        return is_ip(inner[5:], 6) if inner[:5].lower() == "ipv6:" else is_ip(inner, 4)
    return len(domain) <= 253 and all(re.fullmatch(_LABEL, label) for label in domain.split("."))


FORMATS: Dict[str, Tuple[str, Callable[[str], bool]]] = {
    "email": ("must be an email address", is_email),
    "uri": ("must be a URI with a scheme, such as https://example.com/", partial(is_uri, ascii=True)),
    "date": ("must be a date, such as 2026-07-28", is_date),
    "date-time": ("must be a date and time with a zone, such as 2026-07-28T09:30:00Z", is_date_time),
}

ASSERTIONS: Dict[str, Maker] = {
    "type": make_type,
    "enum": _one_of("enum", "must be one of: "),
    "const": _one_of("const", "must be "),
    "minimum": _limit("minimum", NUMBERS, operator.lt, "must be at least {}"),
    "maximum": _limit("maximum", NUMBERS, operator.gt, "must be at most {}"),
    "exclusiveMinimum": _limit("exclusiveMinimum", NUMBERS, operator.le, "must be greater than {}"),
    "exclusiveMaximum": _limit("exclusiveMaximum", NUMBERS, operator.ge, "must be less than {}"),
    "multipleOf": make_multiple_of,
    "minLength": _limit("minLength", (str,), operator.lt, "must have at least {} (character|characters)"),
    "maxLength": _limit("maxLength", (str,), operator.gt, "must have at most {} (character|characters)"),
    "pattern": make_pattern,
    "format": make_format,
    "minItems": _limit("minItems", (list,), operator.lt, "must have at least {} (item|items)"),
    "maxItems": _limit("maxItems", (list,), operator.gt, "must have at most {} (item|items)"),
    "uniqueItems": make_unique_items,
    "required": make_required,
    "minProperties": _limit("minProperties", (dict,), operator.lt, "must have at least {} (property|properties)"),
    "maxProperties": _limit("maxProperties", (dict,), operator.gt, "must have at most {} (property|properties)"),
    "dependentRequired": make_dependent_required,
}
