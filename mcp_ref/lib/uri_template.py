"""server/resources, Resource Templates: which URIs belong to a URI template (RFC 6570), and with what values.

Implements RES-09, RES-14. The forms that a server can register:

    {var}  {a,b}          text without / ? #              one segment, or a part of one
    {+path}               any text, / included
    {/a}  {/segments*}    /text, each optional            exploded: a list of the segments
    {.ext}  {;a}          .text and ;a=text, optional
    {?a,b}  {&a}          the query, in any order; absent ones are left out
    {?rest*}              exploded: a dict of all else that the query holds
    ?a={a}&b=text         a query written out: both are required
    {#part}               the fragment, optional

Values are percent-decoded once, never twice; a literal is compared as RFC 3986 has it, the case of its escapes aside.
What is not well-formed does not match: a bad escape, or octets that are no UTF-8. Nor does a value that could lead
elsewhere, plain or encoded: one with a control character or a `..` segment; and in a file: URI, one with a backslash, a
drive or a slash. {+path} and {#part} may have slashes there too, none of them encoded, nor one that follows on another.
Where a URI can be read in several ways, as few optional variables as possible are left out, and then the earlier one
takes as much as it can.
A match costs time linear in the URI's length for each part of the template, and no URI beyond MAX_URI matches.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import SchemaError
from .text import shown
from .uri import is_uri, percent_decoded, percent_encoded

MAX_URI = 8192

_CHARACTERS = r"(?:[^\x00-\x20\"<>\\^`{|}\x7f%]|%[0-9A-Fa-f]{2})*"
_NAME = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*"
_VARIABLE = rf"({_NAME})(?:(\*)|:([1-9][0-9]{{0,3}}))?"
_SECTIONS = (r"(?P<path>(?:[^{?#]|\{[^?&#][^}]*\})*)"
             r"(?P<query>(?:(?:\?|\{\?)(?:[^{#]|\{[^#][^}]*\})*)?)"
             r"(?P<fragment>(?:\{#[^}]*\}|#(?:[^{#]|\{[^?&#][^}]*\})*)?)")
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_DRIVE = r"(?:^|/)[A-Za-z][:|]"
_QUERY_PART = rf"&([^=&{{]+)(?:=(?:\{{\+?({_NAME})\}}|([^&{{]*)))?|\{{&([^}}]*)\}}"


class _Operator(NamedTuple):
    """A row of the table in RFC 6570, appendix A."""

    first: str
    separator: str
    named: bool
    reserved: bool


_OPERATORS = {
    "": _Operator("", ",", False, False), "+": _Operator("", ",", False, True), "#": _Operator("#", ",", False, True),
    ".": _Operator(".", ".", False, False), "/": _Operator("/", "/", False, False),
    ";": _Operator(";", ";", True, False), "?": _Operator("?", "&", True, False),
    "&": _Operator("&", "&", True, False),
}


class _Variable(NamedTuple):
    name: str
    explode: bool
    most: Optional[int]


_Expression = Tuple[_Operator, List[_Variable]]


class UriTemplate:
    """A URI template. Raises SchemaError for what is none by RFC 6570.

    variables: their names, in order. exploded: those of them with a `*`, which are lists or dicts.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = _parsed(text)
        listed = [each for part in self._parts if not isinstance(part, str) for each in part[1]]
        self.variables = tuple(each.name for each in listed)
        self.exploded = frozenset(each.name for each in listed if each.explode)
        self._matcher: Optional[_Matcher] = None

    def matcher(self) -> "_Matcher":
        """What matches it, compiled once. Raises SchemaError for a template whose URIs cannot be read back."""
        if self._matcher is None:
            try:
                self._matcher = _Matcher(self)
            except SchemaError as error:
                raise SchemaError(f"URIs of the template {shown(self.text)} cannot be told apart: {error}") from None
        return self._matcher

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """Variable name to its decoded value, without those that are left out; None where `uri` does not match."""
        if len(uri) > MAX_URI or not is_uri(uri):
            return None
        return self.matcher().match(uri if uri.isascii() and "%" not in uri else normal(uri))


def _parsed(text: str) -> List[Union[str, _Expression]]:
    """The literals, which are never empty, and the expressions of a template."""
    parts: List[Union[str, _Expression]] = []
    for index, piece in enumerate(re.split(r"\{([^{}]*)\}", text)):
        if index % 2:
            parts.append(_expression(piece))
        elif not re.fullmatch(_CHARACTERS, piece):
            raise SchemaError(f"the template {shown(text)} has a character outside of braces that no URI has")
        elif piece:
            parts.append(piece)
    return parts


def _expression(inner: str) -> _Expression:
    symbol = inner[:1] if inner[:1] in _OPERATORS else ""
    variables = []
    for spec in inner[len(symbol):].split(","):
        found = re.fullmatch(_VARIABLE, spec)
        if found is None:
            raise SchemaError(f"{{{inner}}} is no expression of RFC 6570")
        variables.append(_Variable(found.group(1), bool(found.group(2)), int(found.group(3) or 0) or None))
    return _OPERATORS[symbol], variables


def normal(text: str) -> str:
    """`text` percent-encoded, but for what has a meaning in a URI; escapes that are there in upper case."""
    return percent_encoded(re.sub("%[0-9A-Fa-f]{2}", lambda found: found[0].upper(), text))


class _Unit(NamedTuple):
    """A fixed text and, with a name, the value after it: one character or more, none of them in `stop`.

    optional: whether the whole unit may be left out. split: what separates the elements of an exploded value. slashes:
    whether the value may hold slashes in a file: URI, and first: whether it may begin with one.
    """

    prefix: str
    name: str = ""
    stop: str = ""
    optional: bool = False
    split: str = ""
    slashes: bool = False
    first: bool = False


class _Matcher:
    """The template as units, and its query, which has no order, apart from them. Raises SchemaError."""

    def __init__(self, template: UriTemplate) -> None:
        if len(set(template.variables)) < len(template.variables):
            raise SchemaError("a variable stands in it twice")
        sections = re.fullmatch(_SECTIONS, template.text)
        if sections is None:
            raise SchemaError("it is a path, one ?query or {?query}, and one #fragment or {#fragment}, in this order")
        path, query, fragment = sections.groups()
        self._query = _Query(query) if query else None
        self._units = _units(path, "?#" if query else "#" if fragment else "") + _units(fragment, "")
        for unit, following in zip(self._units, self._units[1:]):
            if unit.name and not following.prefix:
                raise SchemaError(f"nothing stands between {{{unit.name}}} and {{{following.name}}}")

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """As UriTemplate.match: the query is cut out and matched by itself."""
        local = uri[:5].lower() == "file:"
        if self._query is None:
            return _matched(self._units, uri, local)
        uri, mark, fragment = uri.partition("#")
        path, _, query = uri.partition("?")
        values, queried = _matched(self._units, path + mark + fragment, local), self._query.match(query, local)
        return None if values is None or queried is None else {**values, **queried}


def _units(section: str, reserved_stop: str) -> List[_Unit]:
    """The units of a path or a fragment. reserved_stop: what {+var} cannot hold."""
    units = []
    for part in _parsed(section):
        if isinstance(part, str):
            units.append(_Unit(normal(part)))
            continue
        before = units[-1].prefix if units else ""
        operator, variables = part
        for index, variable in enumerate(variables):
            prefix = operator.separator if index else operator.first
            stop, split = reserved_stop if operator.reserved else "/?#", ""
            if variable.explode:
                stop, split = stop.replace(operator.separator, ""), operator.separator
            elif len(variables) > 1:
                stop += operator.separator
            if operator.named:
                prefix += normal(variable.name) + "="
            if variable.most is not None or (operator.named and variable.explode):
                raise SchemaError(f"{variable.name} with a length, or as {{;{variable.name}*}}, cannot be matched")
            first = operator.reserved and (not before.endswith("/") or before.endswith("://"))
            units.append(_Unit(prefix, variable.name, stop, bool(operator.first), split, operator.reserved, first))
    return units


_Readings = Dict[int, Tuple[int, int]]
"""Of some units: each position from which they can make up all the rest of the text, and the best way that they do:
how many optional ones are left out, and where the first of them ends.
"""


def _matched(units: Sequence[_Unit], text: str, local: bool) -> Optional[Dict[str, Any]]:
    """Name to value where `units` make up all of `text`. local: whether it is of a file: URI.

    What is known after each step: where the units from this one to the last can take over, whatever stood before. It
    is found from the last unit to the first, since it follows for one unit from what is known of those after it: it
    can take over where its fixed text stands, then its value, and then a position where the next can. So a unit costs
    one pass over the text, however many ways to read it there are. In the end it is known whether the first can take
    over at 0, and a walk forward from there follows the ends. For x://{+a}/{b} and x://1/2/3, where x:// is cut off:

        text        1/2/3
        after all        5    nothing is left to read
        {b}             4     3 is its value; not 2/3, for it holds no slash
        /              3      in front of it; the other slash has nothing behind it that {b} could be
        {+a}        0         1/2 is its value, or would begin at 1 or 2
    """
    if units and not units[0].name:
        if not text.startswith(units[0].prefix):
            return None
        text, units = text[len(units[0].prefix):], units[1:]
    readings: List[_Readings] = [{len(text): (0, len(text))}]
    for unit in reversed(units):
        readings.append(_preceded(unit, text, readings[-1]))
    if 0 not in readings[-1]:
        return None
    values: Dict[str, Any] = {}
    end = 0
    for unit, found in zip(units, reversed(readings)):
        start, end = end, found[end][1]
        if unit.name and end > start:
            raw = text[start + len(unit.prefix):end]
            listed = raw.split(unit.split) if unit.split else [raw]
            elements = [_decoded(element, local, unit.slashes) or "" for element in listed]
            if not all(elements) or (local and raw.startswith("/") and not unit.first):
                return None
            values[unit.name] = elements if unit.split else elements[0]
    return values


def _preceded(unit: _Unit, text: str, after: _Readings) -> _Readings:
    """The readings that begin with `unit`, from those of what follows it: leaving out the least, then the longest.

    best: at each position, the best end of a value that starts there, and what is left out after it; None where there
    is none. One that starts further left may end there too, unless a character that it cannot hold lies between.
    """
    found: _Readings = {}
    best: Optional[Tuple[int, int]] = None
    for position in range(len(text), -1, -1):  # where the value would start
        if not unit.name:
            best = (after[position][0], position) if position in after else None
        elif position == len(text) or text[position] in unit.stop:
            best = None
        elif position + 1 in after and (best is None or after[position + 1][0] < best[0]):
            best = (after[position + 1][0], position + 1)
        start = position - len(unit.prefix)
        if best is not None and start >= 0 and text.startswith(unit.prefix, start):
            found[start] = best
    if unit.optional:
        for position, (left_out, _) in after.items():
            if position not in found or left_out + 1 < found[position][0]:
                found[position] = (left_out + 1, position)
    return found


def _decoded(raw: str, local: bool = False, slashes: bool = False) -> Optional[str]:
    """`raw` percent-decoded, once; None where that is no UTF-8, or could lead elsewhere.

    local: whether it is of a file: URI. slashes: whether it may hold slashes there, as they are.
    """
    try:
        text = percent_decoded(raw).decode("utf-8")
    except UnicodeDecodeError:
        return None
    if re.search(_CONTROL, text) or ".." in re.split(r"[/\\]", text):
        return None
    if local and (text.count("/") > (raw.count("/") if slashes else 0) or "\\" in text or re.search(_DRIVE, text)):
        return None
    return text


class _Query:
    """The query of a template. Raises SchemaError.

    _texts: name to the text that is written out after it. _variables: name to the variable that it gives a value, and
    whether it must be there. _rest: the variable that takes what is left, if there is one.
    """

    def __init__(self, text: str) -> None:
        self._texts: Dict[str, Optional[str]] = {}
        self._variables: Dict[str, Tuple[str, bool]] = {}
        self._rest: Optional[str] = None
        left = text.replace("?", "&", 1)
        while left:
            found = re.match(_QUERY_PART, left)
            if found is None:
                raise SchemaError("a query is name=text, name={variable}, {?…} or, after one of them, {&…}")
            left = left[found.end():]
            name, variable, value, listed = found.groups()
            if listed is not None:
                self._add(_expression("&" + listed)[1])
                continue
            name = self._new(name)
            if variable is None:
                self._texts[name] = _decoded(value or "")
            else:
                self._variables[name] = (variable, True)

    def _add(self, variables: Sequence[_Variable]) -> None:
        for variable in variables:
            if variable.most is not None or (variable.explode and self._rest is not None):
                raise SchemaError(f"{variable.name} takes a part of a value, or is the second that takes the rest")
            if variable.explode:
                self._rest = variable.name
            else:
                self._variables[self._new(variable.name)] = (variable.name, False)

    def _new(self, name: str) -> str:
        decoded = _decoded(name)
        if decoded is None or decoded in self._texts or decoded in self._variables:
            raise SchemaError(f"a query has each name once and in UTF-8, which {name} is not")
        return decoded

    def match(self, query: str, local: bool) -> Optional[Dict[str, Any]]:
        """Variable name to value; None where a pair is missing, unknown, malformed or there twice."""
        given: Dict[str, str] = {}
        for pair in query.split("&") if query else ():
            raw_name, _, raw_value = pair.partition("=")
            name, value = _decoded(raw_name), _decoded(raw_value, local)
            if name is None or value is None or name in given:
                return None
            given[name] = value
        values: Dict[str, Any] = {}
        for name, (variable, required) in self._variables.items():
            if name in given:
                values[variable] = given.pop(name)
            elif required:
                return None
        if any(given.pop(name, None) != text for name, text in self._texts.items()):
            return None
        if self._rest is not None:
            return {**values, self._rest: given}
        return None if given else values
