"""basic/index, Composition Keyword Resource Use: what one validation carries, yields and may cost (BASE-48).

A check is a function of (value, run). It returns None when the value passes, and otherwise its failures: a tuple of
(path, keyword, message), the path relative to the value. Whoever descends into a member puts that member's name in
front, so a valid instance, the ordinary case, builds no path and no list at all.

A compiled schema holds no state of a validation; a `Run` does. It bounds the work: every check, every loop and every
reference is paid for in steps, before it is taken.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Sequence, Tuple, Union

from ..text import cut, quoted

MAX_VIOLATIONS = 10  # reported for one instance
MAX_STEPS = 200_000  # of one validation, about 0.2 microseconds each; whatever the size of the instance
STEPS_PER_NODE = 5  # further ones for each value in the instance and each 16 characters: the cost stays linear
MAX_VALUE_DEPTH = 128  # nesting of a value that is compared as a whole (`enum`, `const`, `uniqueItems`)

Key = Union[str, int]
Path = Tuple[Key, ...]
Failures = Tuple[Tuple[Path, str, str], ...]
JSON_TYPES = (dict, list, str, int, float, bool, type(None))
NUMBERS = (int, float)
NAMES: Dict[str, Tuple[str, Tuple[type, ...]]] = {
    "object": ("an object", (dict,)), "array": ("an array", (list,)), "string": ("a string", (str,)),
    "number": ("a number", NUMBERS), "integer": ("an integer", NUMBERS), "boolean": ("a boolean", (bool,)),
    "null": ("null", (type(None),)),
}
_GRANTED = object()


class Bounded(Exception):
    """The validation would go over a bound: it ends there, and the instance counts as invalid."""


class Violation(NamedTuple):
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
        return sentence(root, self.path, self.message)


def sentence(root: str, path: Path, message: str) -> str:
    """What a Violation of this path and message says of the instance that root names."""
    where = root
    for step in path:
        if isinstance(step, int):
            where += f"[{step}]"
        elif len(str(step)) <= 60 and str(step).isidentifier():
            where += f".{step}" if where else step
        else:
            where += f"[{quoted(str(step)[:80])}]"
    return f"{where or 'the value'} {message}"


class Run:
    """The state of one validation: steps left, depth of references, resources entered, outermost first.

    brief: whether one failure is enough, since it only matters whether there is any (see node.tried).
    keys: the comparable forms so far of arrays and objects, by identity.
    """

    __slots__ = ("left", "depth", "scope", "instance", "brief", "keys")

    def __init__(self, instance: Any, scope: Tuple[Any, ...] = (), brief: bool = False) -> None:
        self.brief = brief
        self.left = MAX_STEPS
        self.depth = 0
        self.scope = scope
        self.instance = instance
        self.keys: Dict[int, str] = {}

    def charge(self, steps: int) -> None:
        """Pay for steps about to be taken; raises Bounded when none are left."""
        self.left -= steps
        if self.left < 0:
            self.extend()

    def extend(self) -> None:
        """Called when the steps have run out: grants, once, what the instance's size allows."""
        if self.instance is not _GRANTED:
            self.left += STEPS_PER_NODE * size(self.instance)
            self.instance = _GRANTED
        if self.left < 0:
            raise Bounded("is too costly to validate against its schema")


Check = Callable[[Any, Run], Optional[Failures]]
Matcher = Callable[[str, Run], bool]

def fail(keyword: str, message: str) -> Failures:
    """The failure of the value itself."""
    return (((), keyword, message),)


def at_names(names: Sequence[Any], keyword: str, message: str) -> Failures:
    """The failures of the members of these names, all for the same reason."""
    return tuple([((name,), keyword, message) for name in names[:MAX_VIOLATIONS]])


def join(failures: Optional[Failures], found: Failures, *key: Key) -> Failures:
    """The failures so far and those found, in the member `key` if it is given; no more than are reported."""
    if key:
        found = tuple([(key + path, keyword, message) for path, keyword, message in found])
    return (failures + found)[:MAX_VIOLATIONS] if failures else found


def json_type(value: Any) -> Optional[type]:
    """The member of JSON_TYPES that a subclass of one of them, or a tuple, stands for; None for what is not JSON."""
    for kind in (bool, str, int, float, dict, list, type(None)):
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


def comparable(value: Any, run: Run, depth: int = 0) -> str:
    """A text equal for two values exactly when JSON Schema holds them equal: 1 and 1.0 are, 1 and true are not.

    That of an array or object is of bounded length, paid for and remembered by the run. Text, not a tuple of the
    parts: Python's hash of text is keyed and its hash of numbers is not, so an array of chosen numbers could make a
    set of them quadratic.
    """
    kind = type(value) if type(value) in JSON_TYPES else json_type(value)
    if kind is int:
        return hex(value)
    if kind is float:
        return hex(int(value)) if value.is_integer() else repr(value)
    if kind is not list and kind is not dict:
        return repr(value)
    if depth > MAX_VALUE_DEPTH:
        raise Bounded(f"is nested too deeply, more than {MAX_VALUE_DEPTH} levels")
    if id(value) not in run.keys:
        run.charge(8 + 3 * len(value))
        if kind is list:
            key = "[" + ",".join([comparable(item, run, depth + 1) for item in value]) + "]"
        else:
            key = "{" + ",".join(sorted([f"{str(name)!r}:{comparable(item, run, depth + 1)}"
                                         for name, item in value.items()])) + "}"
        run.charge(len(key) >> 6)
        if len(key) > 100:
            import hashlib  # OpenSSL, which takes a server's start some milliseconds

            key = key[0] + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        run.keys[id(value)] = key
    return run.keys[id(value)]


def enumerated(texts: Iterable[str], limit: int = 300) -> str:
    """Some texts, comma-separated, cut off when long."""
    return cut(", ".join(islice(texts, limit)), limit)
