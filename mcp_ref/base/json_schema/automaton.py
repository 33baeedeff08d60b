"""basic/index, Composition Keyword Resource Use: regular expressions in linear time (BASE-48).

Python's `re` backtracks: `(a+)+$` takes it a second for 25 characters and a year for 50, and no list of forbidden
forms is complete without refusing harmless patterns such as `^[a-z]+(-[a-z]+)*$`. So a pattern becomes an automaton
that is in all its possible states at once (Thompson) and reads each character once, whatever the pattern. The sets
of states met are kept as the states of a second automaton, built while it is used, so that a character costs one
look-up in a dict once its like has been seen.

Bounded: MAX_STATES states, MAX_REMEMBERED of memory (then forgotten and built anew), and what a step in an unseen
direction costs is charged to the validation's steps.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple, Union

from ..errors import SchemaError
from .model import Run

MAX_STATES = 5_000
MAX_REMEMBERED = 20_000

Ranges = Tuple[Tuple[int, int], ...]
Tree = Tuple[Any, ...]
"""("set", CharSet) | ("all", [Tree, ...]) | ("any", [Tree, ...]) | ("repeat", Tree, low, high or None) | ("at", kind)

in order: one character; one after the other; one of them; repeated; a place: "^", "$", "b", "B".
"""

EDGE, WORD, OTHER = range(3)
WORD_RANGES: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
MATCH = 0


class CharSet:
    """A set of characters: ranges of code points, and Unicode general categories as (name, wanted or not)."""

    __slots__ = ("ranges", "categories", "negated")

    def __init__(self, ranges: Ranges, categories: Tuple[Tuple[str, bool], ...] = (), negated: bool = False) -> None:
        self.ranges = ranges
        self.categories = categories
        self.negated = negated

    def __contains__(self, char: object) -> bool:
        code = ord(str(char))
        for low, high in self.ranges:
            if low <= code <= high:
                return not self.negated
        if self.categories:
            from unicodedata import category

            name = category(str(char))
            for wanted, positive in self.categories:
                if name.startswith(wanted) == positive:
                    return not self.negated
        return self.negated


class _State(Dict[str, Union["_State", bool]]):
    """A set of states after some text, and where each character seen so far led: a state, or the final answer."""

    __slots__ = ("kernel", "before")

    def __init__(self, kernel: FrozenSet[int], before: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.before = before


class Automaton:
    """A matcher for one tree. search=False matches only at the start of the text.

    Raises SchemaError when the repeats of the pattern multiply to more than MAX_STATES.
    """

    def __init__(self, tree: Tree, search: bool = True) -> None:
        self._states: List[Tuple[str, Any, List[int]]] = [("match", None, [])]
        self.built = 0
        self._words = False
        self._start = self._build(tree, MATCH)
        self._search = search
        self._forget()

    def _forget(self) -> None:
        self._remembered = 0
        self._known: Dict[Tuple[FrozenSet[int], int], _State] = {}
        self._first = _State(frozenset([self._start]), EDGE)

    def _add(self, kind: str, what: Any, *then: int) -> int:
        self._states.append((kind, what, list(then)))
        return len(self._states) - 1

    def _build(self, tree: Tree, then: int) -> int:
        """The state in which `tree` is still to come and after it the state `then`."""
        self.built += 1
        if self.built > MAX_STATES:
            raise SchemaError(f"its repeats amount to more than {MAX_STATES} states")
        kind = tree[0]
        if kind == "set":
            return self._add("set", tree[1], then)
        if kind == "at":
            self._words = self._words or tree[1] in "bB"
            return self._add("at", tree[1], then)
        if kind == "all":
            for part in reversed(tree[1]):
                then = self._build(part, then)
            return then
        if kind == "any":
            return self._add("fork", None, *[self._build(part, then) for part in tree[1]])
        _, body, low, high = tree
        if high is None:
            loop = self._add("fork", None, then)
            self._states[loop][2].append(self._build(body, loop))
            then = loop
        else:
            end = then
            for _ in range(high - low):
                then = self._add("fork", None, self._build(body, then), end)
        for _ in range(low):
            then = self._build(body, then)
        return then

    def _open(self, state: _State, after: int) -> Tuple[List[Tuple[CharSet, int]], bool, int]:
        """The characters awaited, whether the match is complete, and the number of states visited on the way."""
        seen: Set[int] = set(state.kernel)
        waiting = list(seen)
        awaited: List[Tuple[CharSet, int]] = []
        while waiting:
            kind, what, targets = self._states[waiting.pop()]
            if kind == "match":
                return [], True, len(seen)
            if kind == "set":
                awaited.append((what, targets[0]))
                continue
            if kind == "at" and not _holds(what, state.before, after):
                continue
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return awaited, False, len(seen)

    def _kind(self, char: str) -> int:
        if not self._words:
            return OTHER
        return WORD if any(low <= ord(char) <= high for low, high in WORD_RANGES) else OTHER

    def _step(self, state: _State, char: str, run: Run) -> Union[_State, bool]:
        kind = self._kind(char)
        awaited, matched, visited = self._open(state, kind)
        run.charge(visited)
        following: Union[_State, bool] = matched
        if not matched:
            kernel = {then for chars, then in awaited if char in chars}
            if self._search:
                kernel.add(self._start)
            if kernel:
                key = (frozenset(kernel), kind)
                following = self._known.setdefault(key, _State(*key))
        self._remembered += visited
        if self._remembered > MAX_REMEMBERED:
            self._forget()
        state[char] = following
        return following

    def matches(self, text: str, run: Run) -> bool:
        """Whether the pattern is found in the text."""
        run.charge(1 + (len(text) >> 4))
        state = self._first
        for char in text:
            following: Optional[Union[_State, bool]] = state.get(char)
            if following is None:
                following = self._step(state, char, run)
            if following is True or following is False:
                return following
            state = following
        _, matched, visited = self._open(state, EDGE)
        run.charge(visited)
        return matched


def _holds(place: str, before: int, after: int) -> bool:
    if place == "^":
        return before == EDGE
    if place == "$":
        return after == EDGE
    return ((before == WORD) != (after == WORD)) == (place == "b")
