"""basic/index, Composition Keyword Resource Use: what one validation carries, yields and may cost (BASE-48).

A check is a function of (value, run). It returns None when the value passes, and otherwise its failures: a tuple of
(path, keyword, message), the path relative to the value. Whoever descends into a member puts that member's name in
front, so a valid instance, the ordinary case, builds no path and no list at all.

A `Run` is the state of one validation, so that a compiled schema holds none and any number of threads may share it.
It bounds the work: every loop and every reference is paid for in steps, every reference in depth, and the payment
comes before the work.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple, Union

MAX_VIOLATIONS = 10
"""Violations reported for one instance."""
MAX_STEPS = 100_000
"""Steps one validation may take, about 0.3 microseconds each; whatever the size of the instance."""
STEPS_PER_NODE = 10
"""Further steps for each value in the instance and for each 16 characters of text: the cost stays linear."""
MAX_DEPTH = 200
"""Subschemas entered one within another through references; with the instance they walk, far below Python's limit."""
MAX_VALUE_DEPTH = 128
"""Nesting of a value that is compared as a whole (`enum`, `const`, `uniqueItems`)."""

Path = Tuple[Union[str, int], ...]
Failures = Tuple[Tuple[Path, str, str], ...]
JSON_TYPES = (dict, list, str, int, float, bool, type(None))
NAMES: Dict[str, Tuple[str, Tuple[type, ...]]] = {
    "object": ("an object", (dict,)), "array": ("an array", (list,)), "string": ("a string", (str,)),
    "number": ("a number", (int, float)), "integer": ("an integer", (int, float)), "boolean": ("a boolean", (bool,)),
    "null": ("null", (type(None),)),
}


class Bounded(Exception):
    """The validation would go over a bound: it ends there, and the instance counts as invalid."""


@dataclass(frozen=True)
class Violation:
    """One way in which an instance breaks its schema.

    path: property names and array indexes from the instance's root to the place.
    message: what was expected there, as the rest of a sentence: "must be a string".
    keyword: the keyword of the schema that asked for it; "" when a bound was met.
    """

    path: Path
    message: str
    keyword: str

    def text(self, root: str = "") -> str:
        """A sentence such as "arguments.items[2].name is required"; root names the instance."""
        return sentence(self.path, self.message, root)


class Run:
    """The state of one validation: steps left, depth of references, resources entered (for `$dynamicRef`)."""

    __slots__ = ("left", "depth", "scope", "instance", "extended")

    def __init__(self, instance: Any, scope: Optional[Tuple[Any, ...]] = None) -> None:
        self.left = MAX_STEPS
        self.depth = 0
        self.scope = scope
        self.instance = instance
        self.extended = False

    def charge(self, steps: int) -> None:
        """Pay for steps about to be taken; raises Bounded when none are left."""
        self.left -= steps
        if self.left < 0:
            self.extend()

    def extend(self) -> None:
        """Called when the steps have run out: grants, once, what the instance's size allows."""
        if not self.extended:
            self.extended = True
            self.left += STEPS_PER_NODE * size(self.instance)
        if self.left < 0:
            raise Bounded("is too costly to validate against its schema")


Check = Callable[[Any, Run], Optional[Failures]]


def fail(keyword: str, message: str) -> Failures:
    """The failure of the value itself; made once, when the schema is compiled."""
    return (((), keyword, message),)


def under(failures: Optional[Failures], key: Union[str, int], found: Failures) -> Failures:
    """The failures so far and those found in the member `key`."""
    return join(failures, tuple([((key,) + path, keyword, message) for path, keyword, message in found]))


def join(failures: Optional[Failures], found: Failures) -> Failures:
    """Both, no more than are reported."""
    return found if failures is None else (failures + found)[:MAX_VIOLATIONS]


def each(rows: Sequence[Tuple[Union[str, int], Any, Check]], run: Run) -> Optional[Failures]:
    """Check members, given as (name or index, member, check)."""
    failures: Optional[Failures] = None
    run.charge(len(rows))
    for key, item, check in rows:
        found = check(item, run)
        if found is not None:
            failures = under(failures, key, found)
    return failures


def together(checks: Sequence[Check], value: Any, run: Run) -> Optional[Failures]:
    """Check one value in several ways, all of which must hold."""
    failures: Optional[Failures] = None
    run.charge(len(checks))
    for check in checks:
        found = check(value, run)
        if found is not None:
            failures = join(failures, found)
    return failures


def json_type(value: Any) -> Optional[type]:
    """The member of JSON_TYPES that a subclass of one of them, or a tuple, stands for; None for what is not JSON."""
    for kind in (bool, str, int, float, dict, list):
        if isinstance(value, kind):
            return kind
    return list if isinstance(value, tuple) else None


def size(value: Any) -> int:
    """The values within a value, text counted by length; without recursion, since it may be nested at will."""
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        total += 1
        if isinstance(item, str):
            total += len(item) >> 4
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
    return total


def canonical(value: Any, depth: int = 0) -> str:
    """A text equal for two values exactly when JSON Schema holds them equal: 1 and 1.0 are, 1 and true are not.

    Text, not a tuple of the parts: Python's hash of text is keyed and its hash of numbers is not, so an array of
    chosen numbers could make a set of them quadratic.
    """
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    if isinstance(value, (int, float)):
        return hex(int(value))
    if depth >= MAX_VALUE_DEPTH:
        raise Bounded(f"is nested too deeply, more than {MAX_VALUE_DEPTH} levels")
    if isinstance(value, dict):
        parts = sorted([f"{str(name)!r}:{canonical(item, depth + 1)}" for name, item in value.items()])
        return "{" + ",".join(parts) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([canonical(item, depth + 1) for item in value]) + "]"
    return f"<{type(value).__name__} {id(value)}>"


def shown(value: Any, limit: int = 60) -> str:
    """A value of the schema as JSON, cut off when long."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= limit else text[:limit] + "…"


def listed(values: Any, limit: int = 300) -> str:
    """Some values of the schema, comma-separated, cut off when many."""
    parts: List[str] = []
    room = limit
    for value in values:
        parts.append(value if isinstance(value, str) else shown(value))
        room -= len(parts[-1]) + 2
        if room < 0:
            return ", ".join(parts[:-1] + ["…"]) if len(parts) > 1 else parts[0][:limit] + "…"
    return ", ".join(parts)


def sentence(path: Path, message: str, root: str = "") -> str:
    """root.name[3]["odd name"] message"""
    where = root
    for step in path:
        if isinstance(step, int):
            where += f"[{step}]"
        elif str(step).isidentifier() and len(str(step)) <= 60:
            where += f".{step}" if where else step
        else:
            where += f"[{shown(str(step))}]"
    return f"{where or 'the value'} {message}"


def quick_of(table: Dict[type, Tuple[Check, ...]]) -> FrozenSet[type]:
    """The types a subschema accepts unseen."""
    return frozenset([kind for kind in JSON_TYPES if not table[kind]])
