"""basic/index, Composition Keyword Resource Use: `pattern` and `patternProperties` (BASE-40, BASE-48).

JSON Schema's patterns are ECMA-262 (with the u flag), which `re` reads otherwise in places: `\\d` and `\\w` are ASCII
there, `$` is the end of the text only, `\\s` and `.` differ in a few characters. A scanner of our own reads them, as
Python's own parser of patterns is private and differs from one Python to another, and `automaton` runs them in linear
time. A pattern that is a mere row of characters, as most are, goes to `re`, where it cannot backtrack to speak of.

Refused, each by name: backreferences, lookbehind, lookahead anywhere but right after a leading `^`, flags in groups,
Unicode properties other than the general category, counts above MAX_REPEAT, patterns longer than MAX_PATTERN, groups
nested deeper than MAX_GROUPS, and whatever amounts to more than `automaton.MAX_STATES` states. Everything else is
accepted, nested repeats and overlapping alternatives too: they cost nothing extra here.
"""

from __future__ import annotations

import re
from typing import Callable, List, Optional, Tuple

from ..errors import SchemaError
from .automaton import MAX_STATES, WORD_RANGES, Automaton, CharSet, Ranges, Tree
from .model import Run, shown

MAX_PATTERN = 2_048
MAX_REPEAT = MAX_STATES
MAX_GROUPS = 40
Matcher = Callable[[str, Run], bool]

_LAST = 0x10FFFF
_DIGIT: Ranges = ((48, 57),)
_SPACE: Ranges = ((9, 13), (32, 32), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
                  (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF))
_NOT_DOT: Ranges = ((10, 10), (13, 13), (0x2028, 0x2029))
_CLASSES = {"d": _DIGIT, "w": WORD_RANGES, "s": _SPACE}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_CATEGORIES = {
    "letter": "L", "uppercase_letter": "Lu", "lowercase_letter": "Ll", "mark": "M", "number": "N", "digit": "Nd",
    "decimal_number": "Nd", "punctuation": "P", "symbol": "S", "separator": "Z", "space_separator": "Zs", "other": "C",
    "control": "Cc",
}
_COUNT = re.compile(r"\{([0-9]{1,6})(,([0-9]{1,6})?)?\}")
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")
_CATEGORY = re.compile(r"[pP]\{(?:(?:General_Category|gc)=)?([A-Za-z_]+)\}")
_AT_START: Tree = ("at", "^")


def compile_pattern(pattern: str) -> Tuple[Matcher, int]:
    """A function of (text, run) that says whether the pattern is found in the text, in time linear in its length.

    Beside it what it cost to make: its characters and states.

    Raises SchemaError, naming the construct, for what is not a pattern or is refused (see above).
    """
    try:
        if len(pattern) > MAX_PATTERN:
            raise SchemaError(f"it is longer than {MAX_PATTERN} characters")
        scanner = _Scanner(pattern)
        conditions = scanner.conditions()
        tree = scanner.whole()
        if conditions:
            tree = ("all", [_AT_START, tree])
            conditions.append((tree, True))
            parts = [(Automaton(part, search=False), wanted) for part, wanted in conditions]
            return _all_of(parts), len(pattern) + sum([part.built for part, _ in parts])
        straight = _straight(tree)
        if straight:
            return straight, len(pattern) + 50
        automaton = Automaton(tree, search=not _anchored(tree))
        return automaton.matches, len(pattern) + automaton.built
    except SchemaError as error:
        raise SchemaError(f"the pattern {shown(pattern)} cannot be used: {error}") from None


def _all_of(parts: List[Tuple[Automaton, bool]]) -> Matcher:
    def matches(text: str, run: Run) -> bool:
        for part, wanted in parts:
            if part.matches(text, run) != wanted:
                return False
        return True

    return matches


def _anchored(tree: Tree) -> bool:
    if tree[0] == "any":
        return all(_anchored(part) for part in tree[1])
    return bool(tree == _AT_START or (tree[0] == "all" and tree[1] and _anchored(tree[1][0])))


def _straight(tree: Tree) -> Optional[Matcher]:
    """The matcher by `re`, for a row of characters with little to backtrack: None for any other tree.

    At most one repeat without a narrow limit, and that only after `^`; `weight` bounds the work for each character.
    """
    parts = list(tree[1]) if tree[0] == "all" else [tree]
    anchored, wide, length, choices, text = _anchored(tree), 0, 1, 1, ""
    for index, part in enumerate(parts):
        body, low, high = part[1:] if part[0] == "repeat" else (part, 1, 1)
        if part[0] == "at" and (part[1], index) in (("^", 0), ("$", len(parts) - 1)):
            text += r"\A" if part[1] == "^" else r"\Z"
            continue
        if body[0] != "set" or body[1].categories:
            return None
        spread = None if high is None else high - low + 1
        if spread is None or spread > 8:
            wide += 1
        else:
            choices *= spread
        length += low
        text += f"{_class_text(body[1])}{{{low},{'' if high is None else high}}}"
    weight = length * choices
    many = bool(wide or not anchored)
    if wide > (1 if anchored else 0) or choices > 8 or weight > (64 if many else 512):
        return None
    found = re.compile(text).search

    def matches(subject: str, run: Run) -> bool:
        run.charge(1 + ((weight * len(subject) if many else weight) >> 5))
        return found(subject) is not None

    return matches


def _class_text(chars: CharSet) -> str:
    ranges = "".join([f"\\U{low:08x}-\\U{high:08x}" for low, high in chars.ranges])
    if not ranges:
        return f"[{'' if chars.negated else '^'}\\U00000000-\\U0010ffff]"
    return f"[{'^' if chars.negated else ''}{ranges}]"


def _complement(ranges: Ranges) -> Ranges:
    gaps, start = [], 0
    for low, high in sorted(ranges):
        if low > start:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    return tuple(gaps + [(start, _LAST)] if start <= _LAST else gaps)


class _Scanner:
    """Reads a pattern from left to right into a tree."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0

    def _take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise SchemaError("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def conditions(self) -> List[Tuple[Tree, bool]]:
        """The lookaheads right after a leading `^`: what follows must (or must not) begin so."""
        found: List[Tuple[Tree, bool]] = []
        self._take("^")
        while self.at and self.text.startswith(("(?=", "(?!"), self.at):
            wanted = self.text[self.at + 2] == "="
            self.at += 3
            found.append((("all", [_AT_START, self._choice(1)]), wanted))
            self._close()
        if not found:
            self.at = 0
        return found

    def whole(self) -> Tree:
        """The tree of all that is left."""
        start = self.at
        tree = self._choice(0)
        if self.at < len(self.text):
            raise SchemaError("a ) closes nothing")
        if start and tree[0] == "any":
            raise SchemaError("lookahead is supported only where it governs the whole pattern: ^(?=…)…, without |")
        return tree

    def _close(self) -> None:
        if not self._take(")"):
            raise SchemaError("a ( is never closed")

    def _choice(self, depth: int) -> Tree:
        if depth > MAX_GROUPS:
            raise SchemaError(f"its groups are nested more than {MAX_GROUPS} deep")
        branches = [self._row(depth)]
        while self._take("|"):
            branches.append(self._row(depth))
        return branches[0] if len(branches) == 1 else ("any", branches)

    def _row(self, depth: int) -> Tree:
        parts: List[Tree] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self._repeated(self.text[self.at], self._atom(depth)))
        return parts[0] if len(parts) == 1 else ("all", parts)

    def _repeated(self, first: str, atom: Tree) -> Tree:
        """The atom with its quantifier, if it has one; `first` is the character it begins with."""
        count = _COUNT.match(self.text, self.at)
        if count:
            self.at = count.end()
            low = int(count[1])
            high = low if not count[2] else int(count[3]) if count[3] else None
            if max(low, high or 0) > MAX_REPEAT:
                raise SchemaError(f"it repeats something more than {MAX_REPEAT} times")
            if high is not None and high < low:
                raise SchemaError("the numbers of a repeat are out of order")
        elif self.at < len(self.text) and self.text[self.at] in "*+?":
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self._next()]
        else:
            return atom
        if atom[0] == "at" and first != "(":
            raise SchemaError("an assertion is repeated")
        self._take("?")
        if (self.at < len(self.text) and self.text[self.at] in "*+?") or _COUNT.match(self.text, self.at):
            raise SchemaError("a repeat is repeated without a group")
        return ("repeat", atom, low, high)

    def _atom(self, depth: int) -> Tree:
        if _COUNT.match(self.text, self.at):
            raise SchemaError("there is nothing to repeat")
        char = self._next()
        if char in "^$":
            return ("at", char)
        if char == ".":
            return ("set", CharSet(_NOT_DOT, negated=True))
        if char == "[":
            return ("set", self._class())
        if char == "(":
            return self._group(depth)
        if char in "*+?":
            raise SchemaError("there is nothing to repeat")
        if char != "\\":
            return ("set", CharSet(((ord(char), ord(char)),)))
        if self.text.startswith(("b", "B"), self.at):
            return ("at", self._next())
        return ("set", self._escape())

    def _group(self, depth: int) -> Tree:
        if self.text.startswith(("?=", "?!"), self.at):
            raise SchemaError("lookahead is supported only right after a leading ^")
        if self.text.startswith(("?<=", "?<!"), self.at):
            raise SchemaError("lookbehind is not supported")
        name = re.compile(r"\?<[A-Za-z_$][\w$]*>").match(self.text, self.at)
        if name:
            self.at = name.end()
        elif not self._take("?:") and self.text.startswith("?", self.at):
            raise SchemaError("a group begins with (? and is of no supported kind")
        tree = self._choice(depth + 1)
        self._close()
        return tree

    def _escape(self) -> CharSet:
        """What follows a backslash, as a set."""
        category = _CATEGORY.match(self.text, self.at)
        if category:
            self.at = category.end()
            name = _CATEGORIES.get(category[1].lower(), category[1])
            if not re.match(r"(L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfson]?)\Z", name):
                raise SchemaError(f"the Unicode property {category[1]} is not supported")
            return CharSet((), ((name, category[0][0] == "p"),))
        number = _HEX.match(self.text, self.at)
        if number:
            self.at = number.end()
            return _one(self._pair(int(number[1] or number[2] or number[3], 16)))
        char = self._next()
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
            return CharSet(ranges if char.islower() else _complement(ranges))
        if char in _CONTROLS and not (char == "0" and self.text[self.at:self.at + 1].isdigit()):
            return _one(_CONTROLS[char])
        if char == "c" and re.match(r"[A-Za-z]", self.text[self.at:]):
            return _one(ord(self._next()) % 32)
        if char.isdigit() or char == "k":
            raise SchemaError("backreferences are not supported")
        if char.isalpha():
            raise SchemaError(f"\\{char} is not an escape of ECMA-262")
        return _one(ord(char))

    def _pair(self, code: int) -> int:
        """The code point of a surrogate pair written as two escapes."""
        low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(self.text, self.at)
        if low and 0xD800 <= code < 0xDC00:
            self.at = low.end()
            return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        if code > _LAST:
            raise SchemaError("an escape is beyond Unicode")
        return code

    def _class(self) -> CharSet:
        negated = self._take("^")
        ranges: Ranges = ()
        categories: Tuple[Tuple[str, bool], ...] = ()
        while not self._take("]"):
            low = self._member()
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self._member()
                first, last = _code(low), _code(high)
                if first is None or last is None:
                    low = CharSet(low.ranges + high.ranges + ((45, 45),), low.categories + high.categories)
                elif first > last:
                    raise SchemaError("a range of characters is out of order")
                else:
                    low = CharSet(((first, last),))
            ranges += low.ranges
            categories += low.categories
        return CharSet(ranges, categories, negated)

    def _member(self) -> CharSet:
        char = self._next()
        if char != "\\":
            return _one(ord(char))
        return _one(8) if self._take("b") else self._escape()


def _one(code: int) -> CharSet:
    return CharSet(((code, code),))


def _code(chars: CharSet) -> Optional[int]:
    single = len(chars.ranges) == 1 and chars.ranges[0][0] == chars.ranges[0][1] and not chars.categories
    return chars.ranges[0][0] if single else None
