"""basic/index, Composition Keyword Resource Use: what one validation carries, yields and may cost (BASE-48).

A check is a function of (value, run). It returns None when the value passes, and otherwise its failures: a tuple of
(path, keyword, message), the path relative to the value. Whoever descends into a member puts that member's name in
front, so a valid instance, the ordinary case, builds no path and no list at all.

A compiled schema holds no state of a validation; a `Run` does. It bounds the work: every loop and every reference is
paid for in steps, before it is taken, and whoever hands values to a subschema pays `Node.cost` for each.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Sequence, Tuple, Union

from .dialects import Dialect

MAX_VIOLATIONS = 10  # reported for one instance
MAX_STEPS = 200_000  # of one validation, about 0.2 microseconds each; whatever the size of the instance
STEPS_PER_NODE = 5  # further ones for each value in the instance and each 16 characters: the cost stays linear
MAX_DEPTH = 100  # references followed within one another
MAX_VALUE_DEPTH = 128  # nesting of a value that is compared as a whole (`enum`, `const`, `uniqueItems`)

Key = Union[str, int]
Path = Tuple[Key, ...]
Message = Union[str, Callable[[int], str]]
"""A text, or what makes it (see `said`): most failures are of alternatives, and nobody reads them."""
Failures = Tuple[Tuple[Path, str, Message], ...]
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
        where = root
        for step in self.path:
            if isinstance(step, int):
                where += f"[{step}]"
            elif len(str(step)) <= 60 and str(step).isidentifier():
                where += f".{step}" if where else step
            else:
                where += f"[{shown(str(step)[:80])}]"
        return f"{where or 'the value'} {self.message}"


class Run:
    """The state of one validation: steps left, depth of references, resources entered, outermost first.

    keys: the canonical forms so far of arrays and objects, by identity; unset until there is one.
    """

    __slots__ = ("left", "depth", "scope", "instance", "keys")
    keys: Dict[int, str]

    def __init__(self, instance: Any, scope: Tuple["Node", ...] = ()) -> None:
        self.left = MAX_STEPS
        self.depth = 0
        self.scope = scope
        self.instance = instance

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

    def enter(self, link: "Link") -> "Node":
        """Follow a reference, dynamic ones to the outermost resource that has the anchor; the caller leaves again."""
        target, anchor = link
        self.left -= 3 + target.cost + (len(self.scope) >> 2)
        if self.left < 0:
            self.extend()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Bounded("is nested too deeply to validate against its schema")
        if anchor:
            self.left -= 4
            target = next((entered.dynamic[anchor] for entered in self.scope if anchor in entered.dynamic), target)
        if target.resource not in self.scope:
            self.scope += (target.resource,)
        return target


Check = Callable[[Any, Run], Optional[Failures]]
Matcher = Callable[[str, Run], bool]
Link = Tuple["Node", str]
"""The node a reference means and, if others may take its place, the name of its dynamic anchor; otherwise ""."""


class Node:
    """A subschema where it stands, at a JSON pointer of a document.

    document: the nodes of the document by their pointers. keywords: those that its dialect knows.
    parts: the nodes of its subschemas by keyword, each one, a list or a dict as in the schema. links: its references.
    matchers: of its patterns. check: its validation. quick: the types accepted unseen. cost: steps of one check,
    beside those that its rules pay for themselves.
    resource: the node of the schema with a URI that it belongs to, which has that URI, the dialect, and the nodes
    with a `$dynamicAnchor`.
    """

    resource: "Node"
    check: Check
    quick: FrozenSet[type]
    cost: int
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


def fail(keyword: str, message: Message) -> Failures:
    """The failure of the value itself."""
    return (((), keyword, message),)


def said(message: Message, depth: int = 0) -> str:
    """The text of a message; depth: how many others it stands in."""
    return message if isinstance(message, str) else message(depth)


def at_names(names: Sequence[Any], keyword: str, message: Message) -> Optional[Failures]:
    """The failures of the members of these names, all for the same reason."""
    return tuple([((name,), keyword, message) for name in names[:MAX_VIOLATIONS]]) or None


def join(failures: Optional[Failures], found: Optional[Failures], *key: Key) -> Optional[Failures]:
    """The failures so far and those found, in the member `key` if it is given; no more than are reported."""
    if found and key:
        found = tuple([(key + path, keyword, message) for path, keyword, message in found])
    return (failures + found)[:MAX_VIOLATIONS] if failures and found else failures or found


def each(members: Iterable[Tuple[Key, Any]], child: Node, run: Run) -> Optional[Failures]:
    """Check members, given as (name or index, value), by one subschema; the caller has paid for them."""
    failures: Optional[Failures] = None
    quick, check = child.quick, child.check
    for key, item in members:
        if type(item) not in quick:
            found = check(item, run)
            if found is not None:
                run.charge(len(found))
                failures = join(failures, found, key)
                if failures and len(failures) >= MAX_VIOLATIONS:
                    break
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


def canonical(value: Any, run: Run, depth: int = 0) -> str:
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
    try:
        keys = run.keys
    except AttributeError:
        keys = run.keys = {}
    if id(value) not in keys:
        run.charge(8 + 3 * len(value))
        if kind is list:
            key = "[" + ",".join([canonical(item, run, depth + 1) for item in value]) + "]"
        else:
            key = "{" + ",".join(sorted([f"{str(name)!r}:{canonical(item, run, depth + 1)}"
                                         for name, item in value.items()])) + "}"
        run.charge(len(key) >> 6)
        keys[id(value)] = key if len(key) <= 100 else key[0] + sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return keys[id(value)]


def cut(text: str, limit: int) -> str:
    """The text, cut off when it is long."""
    return text if len(text) <= limit else text[:limit] + "…"


def shown(value: Any, limit: int = 60) -> str:
    """A value of the schema, or a name, as JSON, cut off when long."""
    return cut(json.dumps(value, ensure_ascii=False, default=repr), limit)


def listed(texts: Iterable[str], limit: int = 300) -> str:
    """Some texts, comma-separated, cut off when long."""
    return cut(", ".join(islice(texts, limit)), limit)
