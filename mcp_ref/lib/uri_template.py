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
    """A URI template. Raises SchemaError for what is none by RFC 6570, and where its URIs cannot be read back.

    variables: their names, in order. exploded: those of them with a `*`, which are lists or dicts.
    """

    def __init__(self, text: str) -> None:
        listed = [each for part in _parsed(text) if not isinstance(part, str) for each in part[1]]
        self.variables = tuple(each.name for each in listed)
        self.exploded = frozenset(each.name for each in listed if each.explode)
        try:
            self._read(text)
        except SchemaError as error:
            raise SchemaError(f"URIs of the template {shown(text)} cannot be told apart: {error}") from None

    def _read(self, text: str) -> None:
        """Its units, and apart from them its query, which has no order."""
        if len(set(self.variables)) < len(self.variables):
            raise SchemaError("a variable stands in it twice")
        sections = re.fullmatch(_SECTIONS, text)
        if sections is None:
            raise SchemaError("it is a path, one ?query or {?query}, and one #fragment or {#fragment}, in this order")
        path, query, fragment = sections.groups()
        self._query = _Query(query) if query else None
        self._units = _units(path, "?#" if query else "#" if fragment else "") + _units(fragment, "")
        for unit, following in zip(self._units, self._units[1:]):
            if unit.name and not following.prefix:
                raise SchemaError(f"nothing stands between {{{unit.name}}} and {{{following.name}}}")

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """Variable name to its decoded value, without those that are left out; None where `uri` does not match."""
        if len(uri) > MAX_URI or not is_uri(uri):
            return None
        if not uri.isascii() or "%" in uri:
            uri = normal(uri)
        local = uri[:5].lower() == "file:"
        if self._query is None:
            return _matched(self._units, uri, local)
        uri, mark, fragment = uri.partition("#")
        path, _, query = uri.partition("?")
        values, queried = _matched(self._units, path + mark + fragment, local), self._query.match(query, local)
        return None if values is None or queried is None else {**values, **queried}


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

    From the last unit to the first: the positions from which it and all after it can take over, whatever stood before.
    It can where its fixed text stands, then its value, and then a position where the next one can, so each costs one
    pass over the text, however many ways to read it there are. Then a walk forward from 0 follows the ends. For
    x://{+a}/{b} and x://1/2/3, where x:// is cut off:

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
        if best is not None and start >= 0 and text.startswith(unit.prefix, start) and not _in_escape(text, start):
            found[start] = best
    if unit.optional:
        for position, (left_out, _) in after.items():
            if position not in found or left_out + 1 < found[position][0]:
                found[position] = (left_out + 1, position)
    return found


def _in_escape(text: str, position: int) -> bool:
    return "%" in text[max(position - 2, 0):position]


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

    _named: name to the variable that its value is of, "" for none; the text that it must be, None for any; and whether
    it must be there. _rest: the variable that takes what is left, if there is one.
    """

    def __init__(self, text: str) -> None:
        self._named: Dict[str, Tuple[str, Optional[str], bool]] = {}
        self._rest: Optional[str] = None
        left = text.replace("?", "&", 1)
        while left:
            found = re.match(_QUERY_PART, left)
            if found is None:
                raise SchemaError("a query is name=text, name={variable}, {?…} or, after one of them, {&…}")
            left = left[found.end():]
            name, variable, value, listed = found.groups()
            for each in () if listed is None else _expression("&" + listed)[1]:
                if each.most is not None or (each.explode and self._rest is not None):
                    raise SchemaError(f"{each.name} takes a part of a value, or is the second that takes the rest")
                if each.explode:
                    self._rest = each.name
                else:
                    self._add(each.name, each.name, None, False)
            if listed is None:
                self._add(name, variable or "", None if variable else value or "", True)

    def _add(self, name: str, variable: str, text: Optional[str], required: bool) -> None:
        decoded, wanted = _decoded(name), None if text is None else _decoded(text)
        if decoded is None or decoded in self._named:
            raise SchemaError(f"a query has each name once and in UTF-8, which {name} is not")
        if text is not None and wanted is None:
            raise SchemaError(f"no URI that matches has {text} in its query")
        self._named[decoded] = variable, wanted, required

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
        for name, (variable, text, required) in self._named.items():
            value = given.pop(name, None)
            if (value is None and required) or (text is not None and value != text):
                return None
            if variable and value is not None:
                values[variable] = value
        if self._rest is not None:
            return {**values, self._rest: given}
        return None if given else values
