"""basic/index, Composition Keyword Resource Use: `pattern` and `patternProperties` in linear time (BASE-40, BASE-48).

Patterns are ECMA-262 (with the u flag), and Python's `re` not only reads them otherwise in places, it backtracks:
`(a+)+$` takes it a year for 50 characters. So a scanner of our own reads a pattern into a tree, and the tree becomes
an automaton that is in all its possible states at once (Thompson) and reads each character once. The sets of states
met are kept as the states of a second automaton, so that a character costs one look-up once its like has been seen;
the way in an unseen direction is charged to the validation's steps.

Refused, each by name: backreferences, lookbehind, lookahead anywhere but right after a leading `^`, flags in groups,
Unicode properties other than the general category, and what is over the bounds below.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple, Union
from unicodedata import category

from ..errors import SchemaError
from ..text import quoted
from .run import Matcher, Run

MAX_PATTERN = 2_048  # characters
MAX_GROUPS = 40  # within one another
MAX_STATES = 5_000  # of an automaton, and the most repeats
MAX_REMEMBERED = 20_000  # states of an automaton met on the way to what it has learnt

Chars = Callable[[str], bool]
Tree = Tuple[Any, ...]
"""("set", Chars, cost): one character; ("all", [Tree, ...]): one after the other; ("any", [Tree, ...]): one of them;
("repeat", Tree, low, high or None); ("at", kind): a place, "^", "$", "b" or "B"."""

EDGE, WORD, OTHER = range(3)
MATCH = 0
_AT_START: Tree = ("at", "^")
_ANYTHING: Tree = ("repeat", ("set", lambda char: True, 1), 0, None)

_QUANTIFIER = r"\{([0-9]{1,6})(?:(,)([0-9]{1,6})?)?\}|[*+?]"
_SHORT_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}

_PROPERTY = r"([pP])\{(?:(?:General_Category|gc)=)?([A-Za-z_]+)\}"
_PAIR = r"u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
_CODE = r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}"
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
_CATEGORY = r"(L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfson]?)\Z"
_CATEGORIES = {
    "letter": "L", "uppercase_letter": "Lu", "lowercase_letter": "Ll", "mark": "M", "number": "N", "digit": "Nd",
    "decimal_number": "Nd", "punctuation": "P", "symbol": "S", "separator": "Z", "space_separator": "Zs", "other": "C",
    "control": "Cc",
}


def _between(low: str, high: str) -> Chars:
    return lambda char: low <= char <= high


_LINE_ENDS = "\n\r\u2028\u2029"
_CLASSES: Dict[str, Chars] = {
    "d": _between("0", "9"),
    "w": lambda char: char == "_" or (char.isascii() and char.isalnum()),
    "s": lambda char: char in _LINE_ENDS + "\t\v\f\ufeff" or category(char) == "Zs",
}


def compile_pattern(pattern: str) -> Tuple[Matcher, int]:
    """A function of (text, run) that says whether the pattern is found in the text, in time linear in its length.

    Beside it what it cost to make: its characters and states.

    Raises SchemaError, naming the construct, for what is not a pattern or is refused (see above).
    """
    try:
        if len(pattern) > MAX_PATTERN:
            raise SchemaError(f"it is longer than {MAX_PATTERN} characters")
        automata = [(Automaton(tree), wanted) for tree, wanted in _Scanner(pattern).conditions()]
    except SchemaError as error:
        raise SchemaError(f"the pattern {quoted(pattern)} cannot be used: {error}") from None

    def matches(text: str, run: Run) -> bool:
        return all(automaton.matches(text, run) == wanted for automaton, wanted in automata)

    cost = len(pattern) + sum([automaton.built for automaton, _ in automata])
    return automata[0][0].matches if len(automata) == 1 else matches, cost


def _anchored(tree: Tree) -> bool:
    if tree[0] == "any":
        return all(_anchored(part) for part in tree[1])
    return bool(tree == _AT_START or (tree[0] == "all" and tree[1] and _anchored(tree[1][0])))


class _State(Dict[str, Union["_State", bool]]):
    """A set of states after some text, and where each character seen so far led: a state, or the final answer."""

    __slots__ = ("kernel", "before")

    def __init__(self, kernel: FrozenSet[int], before: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.before = before


class Automaton:
    """A matcher for one tree, wherever in a text. built: how many parts it was built from.

    Raises SchemaError when the repeats of the pattern multiply to more than MAX_STATES.
    """

    def __init__(self, tree: Tree) -> None:
        self._states: List[Tuple[Tree, List[int]]] = [(("match",), [])]
        self.built = 0
        self._start = self._build(tree if _anchored(tree) else ("all", [_ANYTHING, tree]), MATCH)
        self._forget()

    def _forget(self) -> None:
        self._remembered = 0
        self._known: Dict[Tuple[FrozenSet[int], int], _State] = {}
        self._first = _State(frozenset([self._start]), EDGE)

    def _add(self, what: Tree, *then: int) -> int:
        self._states.append((what, list(then)))
        return len(self._states) - 1

    def _build(self, tree: Tree, then: int) -> int:
        """The state in which `tree` is still to come and after it the state `then`."""
        self.built += 1
        if self.built > MAX_STATES:
            raise SchemaError(f"its repeats amount to more than {MAX_STATES} states")
        kind = tree[0]
        if kind in ("set", "at"):
            return self._add(tree, then)
        if kind == "all":
            for part in reversed(tree[1]):
                then = self._build(part, then)
            return then
        if kind == "any":
            return self._add(("fork",), *[self._build(part, then) for part in tree[1]])
        _, body, low, high = tree
        if high is None:
            loop = self._add(("fork",), then)
            self._states[loop][1].append(self._build(body, loop))
            then = loop
        else:
            end = then
            for _ in range(high - low):
                then = self._add(("fork",), self._build(body, then), end)
        for _ in range(low):
            then = self._build(body, then)
        return then

    def _step(self, state: _State, char: str, run: Run) -> Union[_State, bool]:
        """Where the next character leads, or "", the end of the text: to a state or to the answer."""
        after = EDGE if not char else WORD if _CLASSES["w"](char) else OTHER
        boundary = (state.before == WORD) != (after == WORD)
        holds = {"^": state.before == EDGE, "$": after == EDGE, "b": boundary, "B": not boundary}
        seen, waiting, kernel = set(state.kernel), list(state.kernel), set()
        following: Union[_State, bool] = False
        cost = 2
        run.charge(cost)
        while waiting and not following:
            tree, targets = self._states[waiting.pop()]
            price = 1 + tree[2] if tree[0] == "set" else 1
            run.charge(price)
            cost += price
            if tree[0] == "match":
                following = True
            elif tree[0] == "set":
                if char and tree[1](char):
                    kernel.update(targets)
            elif tree[0] == "fork" or holds[tree[1]]:
                waiting.extend([target for target in targets if target not in seen])
                seen.update(targets)
        if kernel and not following:
            following = self._known.setdefault((frozenset(kernel), after), _State(frozenset(kernel), after))
        self._remembered += cost
        if self._remembered > MAX_REMEMBERED:
            self._forget()
        state[char] = following
        return following

    def matches(self, text: str, run: Run) -> bool:
        """Whether the pattern is found in the text."""
        run.charge(1 + (len(text) >> 2))
        state = self._first
        for char in chain(text, ("",)):
            following: Optional[Union[_State, bool]] = state.get(char)
            if following is None:
                following = self._step(state, char, run)
            if following is True or following is False:
                return following
            state = following
        return False


class _Scanner:
    """Reads a pattern from left to right into a tree."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0

    def _take(self, expression: str) -> "Optional[re.Match[str]]":
        """What comes next, if it is this."""
        found = re.compile(expression).match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise SchemaError("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def conditions(self) -> List[Tuple[Tree, bool]]:
        """What must be found, or must not: the lookaheads right after a leading `^`, and the pattern itself."""
        found: List[Tuple[Tree, bool]] = []
        lookahead = self._take(r"\^\(\?([=!])")
        while lookahead:
            found.append((("all", [_AT_START, self._group(1)]), lookahead[1] == "="))
            lookahead = self._take(r"\(\?([=!])")
        tree = self._choice(0)
        if self.at < len(self.text):
            raise SchemaError("a ) closes nothing")
        if found and tree[0] == "any":
            raise SchemaError("lookahead is supported only where it governs the whole pattern: ^(?=…)…, without |")
        return [*found, (("all", [_AT_START, tree]) if found else tree, True)]

    def _group(self, depth: int) -> Tree:
        tree = self._choice(depth)
        if not self._take(r"\)"):
            raise SchemaError("a ( is never closed")
        return tree

    def _choice(self, depth: int) -> Tree:
        if depth > MAX_GROUPS:
            raise SchemaError(f"its groups are nested more than {MAX_GROUPS} deep")
        branches = [self._row(depth)]
        while self._take(r"\|"):
            branches.append(self._row(depth))
        return branches[0] if len(branches) == 1 else ("any", branches)

    def _row(self, depth: int) -> Tree:
        parts: List[Tree] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            grouped = self.text[self.at] == "("
            atom = self._atom(depth)
            count = self._count()
            if count and atom[0] == "at" and not grouped:
                raise SchemaError("an assertion is repeated")
            parts.append(("repeat", atom, *count) if count else atom)
        return parts[0] if len(parts) == 1 else ("all", parts)

    def _count(self) -> Optional[Tuple[int, Optional[int]]]:
        """The quantifier, if there is one. Whether it is lazy makes no difference to whether the pattern matches."""
        found = self._take(_QUANTIFIER)
        if not found:
            return None
        if found[0] in _SHORT_QUANTIFIERS:
            low, high = _SHORT_QUANTIFIERS[found[0]]
        else:
            low = int(found[1])
            high = int(found[3]) if found[3] else None if found[2] else low
        if max(low, high or 0) > MAX_STATES:
            raise SchemaError(f"it repeats something more than {MAX_STATES} times")
        if high is not None and high < low:
            raise SchemaError("the numbers of a repeat are out of order")
        self._take(r"\?")
        if self._take(_QUANTIFIER):
            raise SchemaError("a repeat is repeated without a group")
        return low, high

    def _atom(self, depth: int) -> Tree:
        if self._take(_QUANTIFIER):
            raise SchemaError("there is nothing to repeat")
        place = self._take(r"[$^]|\\[bB]")
        if place:
            return ("at", place[0][-1])
        if self._take(r"\((?:\?:|\?<[A-Za-z_$][\w$]*>|(?!\?))"):
            return self._group(depth + 1)
        if self._take(r"\(\?[=!]"):
            raise SchemaError("lookahead is supported only right after a leading ^")
        if self._take(r"\(\?<[=!]"):
            raise SchemaError("lookbehind is not supported")
        if self._take(r"\(\?"):
            raise SchemaError("a group begins with (? and is of no supported kind")
        if self._take(r"\["):
            return self._class()
        if self._take(r"\."):
            return ("set", lambda char: char not in _LINE_ENDS, 1)
        return ("set", _chars(self._character()), 1)

    def _class(self) -> Tree:
        negated = bool(self._take(r"\^"))
        members: List[Chars] = []
        while not self._take(r"\]"):
            low = "\b" if self._take(r"\\b") else self._character()
            high = low
            if self._take(r"-(?!\])"):
                high = "\b" if self._take(r"\\b") else self._character()
            if isinstance(low, str) and isinstance(high, str):
                if low > high:
                    raise SchemaError("a range of characters is out of order")
                members.append(_between(low, high))
            else:  # no range, even if it looks like one: [\w-.]
                members += [_chars(low), _chars(high)] + ([_chars("-")] if high is not low else [])
        return ("set", lambda char: any(member(char) for member in members) != negated, 1 + len(members) // 2)

    def _character(self) -> Union[str, Chars]:
        char = self._next()
        return self._escape() if char == "\\" else char

    def _escape(self) -> Union[str, Chars]:
        """What follows a backslash: a character, or several."""
        found = self._take(_PROPERTY)
        if found:
            wanted, name = found[1] == "p", _CATEGORIES.get(found[2].lower(), found[2])
            if not re.match(_CATEGORY, name):
                raise SchemaError(f"the Unicode property {found[2]} is not supported")
            return lambda char: category(char).startswith(name) == wanted
        found = self._take(_PAIR)
        if found:
            return bytes.fromhex(found[1] + found[2]).decode("utf-16-be")
        found = self._take(_CODE)
        if found:
            code = int(found[1] or found[2] or found[3], 16)
            if code > 0x10FFFF:
                raise SchemaError("an escape is beyond Unicode")
            return chr(code)
        found = self._take(r"c([A-Za-z])")
        if found:
            return chr(ord(found[1]) % 32)
        if self._take(r"k|0[0-9]|[1-9]"):
            raise SchemaError("backreferences are not supported")
        char = self._next()
        if char.lower() in _CLASSES:
            chars, positive = _CLASSES[char.lower()], char.islower()
            return lambda char: chars(char) == positive
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.isalpha():
            raise SchemaError(f"\\{char} is not an escape of ECMA-262")
        return char


def _chars(member: Union[str, Chars]) -> Chars:
    return _between(member, member) if isinstance(member, str) else member
