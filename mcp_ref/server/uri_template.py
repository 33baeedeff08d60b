"""server/resources, Resource Templates: URI templates (RFC 6570), filled in and matched back.

Implements RES-09, RES-14.

`expand` is the whole of RFC 6570. `match` is its inverse for what a server registers:

    {var}  {a,b}          text without / ? #              one segment, or a part of one
    {+path}               any text, / included
    {/a}  {/segments*}    /text, each optional            exploded: a list of the segments
    {.ext}  {;a}          .text and ;a=text, optional
    {?a,b}  {&a}          the query, in any order; absent ones are left out
    {?rest*}              exploded: a dict of all else that the query holds
    {#part}               the fragment, optional
    ?a={a}                a query written out: a is required

Values are percent-decoded once, never twice. What is not well-formed does not match: a bad escape, octets that are no
UTF-8, a NUL, or a value of the path with a `..` segment in it, plain or encoded. Where a URI can be read in several
ways, as few optional variables as possible are left out, and then the earlier variable takes as much as it can.
A match costs time linear in the URI's length for each part of the template, and no URI beyond MAX_URI matches.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union
from urllib.parse import quote

from ..base.errors import SchemaError
from ..base.jsonrpc import shown
from .uri_matching import Unit, check_separated, decoded, matched

MAX_URI = 8192

_RESERVED = ":/?#[]@!$&'()*+,;="
_CHARACTER = r"(?:[^\x00-\x20\"<>\\^`{|}\x7f%]|%[0-9A-Fa-f]{2})*"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:" + _CHARACTER)
_LITERAL = re.compile(_CHARACTER)
_ESCAPE = re.compile(r"(%[0-9A-Fa-f]{2})")
_NAME = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*"
_VARIABLE = re.compile(rf"({_NAME})(?:(\*)|:([1-9][0-9]{{0,3}}))?")


class _Operator(NamedTuple):
    """A row of the table in RFC 6570, appendix A."""

    first: str
    separator: str
    named: bool
    if_empty: str
    reserved: bool


_OPERATORS = {
    "": _Operator("", ",", False, "", False),
    "+": _Operator("", ",", False, "", True),
    "#": _Operator("#", ",", False, "", True),
    ".": _Operator(".", ".", False, "", False),
    "/": _Operator("/", "/", False, "", False),
    ";": _Operator(";", ";", True, "", False),
    "?": _Operator("?", "&", True, "=", False),
    "&": _Operator("&", "&", True, "=", False),
}


class _Variable(NamedTuple):
    name: str
    explode: bool
    most: Optional[int]


class _Expression(NamedTuple):
    operator: str
    variables: Tuple[_Variable, ...]


_Part = Union[str, _Expression]


def is_uri(text: str) -> bool:
    """Whether `text` has a scheme and then nothing that RFC 3986 forbids; characters beyond ASCII pass (RES-09)."""
    return _URI.fullmatch(text) is not None


class UriTemplate:
    """A URI template. Raises SchemaError for what is none by RFC 6570.

    variables: their names, in order. exploded: those of them with a `*`, which are lists or dicts.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = _parse(text)
        listed = [each for part in self._parts if isinstance(part, _Expression) for each in part.variables]
        self.variables = tuple(dict.fromkeys(each.name for each in listed))
        self.exploded = frozenset(each.name for each in listed if each.explode)
        self._repeated = len(listed) != len(self.variables)
        self._matcher: Optional[_Matcher] = None

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"

    def expand(self, values: Mapping[str, Any]) -> str:
        """The URI with these values: text, numbers, lists or dicts of them. None and what is missing is left out.

        Raises ValueError for a value that has no text form.
        """
        return "".join(_quoted(part, True) if isinstance(part, str) else _expanded(part, values)
                       for part in self._parts)

    def matcher(self) -> "_Matcher":
        """What matches it, compiled once. Raises SchemaError for a template whose URIs cannot be read back."""
        if self._matcher is None:
            if self._repeated:
                raise self._unreadable("a variable stands in it twice")
            try:
                self._matcher = _Matcher(self._parts)
            except SchemaError as error:
                raise self._unreadable(str(error)) from None
        return self._matcher

    def _unreadable(self, why: str) -> SchemaError:
        return SchemaError(f"URIs of the template {shown(self.text)} cannot be told apart: {why}")

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """Variable name to its decoded value, without those that are left out; None where `uri` does not match."""
        if len(uri) > MAX_URI:
            return None
        return self.matcher().match(uri if uri.isascii() else _quoted(uri, True))


def _parse(text: str) -> List[_Part]:
    parts: List[_Part] = []
    position = 0
    while position < len(text):
        start = text.find("{", position)
        literal = text[position:] if start < 0 else text[position:start]
        if not _LITERAL.fullmatch(literal):
            raise SchemaError(f"the template {shown(text)} has a character outside of braces that no URI has")
        if literal:
            parts.append(literal)
        if start < 0:
            break
        end = text.find("}", start)
        if end < 0:
            raise SchemaError(f"the template {shown(text)} has a brace that is not closed")
        parts.append(_expression(text[start + 1:end], text))
        position = end + 1
    return parts


def _expression(inner: str, text: str) -> _Expression:
    operator = inner[:1] if inner[:1] in _OPERATORS else ""
    variables = []
    for spec in inner[len(operator):].split(","):
        found = _VARIABLE.fullmatch(spec)
        if found is None:
            raise SchemaError(f"the template {shown(text)} has {{{inner}}}, which is no expression of RFC 6570")
        variables.append(_Variable(found.group(1), bool(found.group(2)), int(found.group(3) or 0) or None))
    return _Expression(operator, tuple(variables))


# Expansion


def _quoted(text: str, reserved: bool) -> str:
    if not reserved:
        return quote(text, safe="")
    pieces = _ESCAPE.split(text)
    return "".join(piece if index % 2 else quote(piece, safe=_RESERVED) for index, piece in enumerate(pieces))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError(f"a variable of a URI template is text or a number, not {type(value).__name__}")


def _expanded(expression: _Expression, values: Mapping[str, Any]) -> str:
    operator = _OPERATORS[expression.operator]
    pieces = []
    for variable in expression.variables:
        value = values.get(variable.name)
        if value is None or (isinstance(value, (list, tuple, Mapping)) and not value):
            continue
        pieces.append(_piece(operator, variable, value))
    return operator.first + operator.separator.join(pieces) if pieces else ""


def _piece(operator: _Operator, variable: _Variable, value: Any) -> str:
    def named(name: str, encoded: str) -> str:
        return name + ("=" + encoded if encoded else operator.if_empty)

    def encoded(item: Any) -> str:
        return _quoted(_plain(item), operator.reserved)

    if not isinstance(value, (list, tuple, Mapping)):
        text = _quoted(_plain(value)[:variable.most], operator.reserved)
        return named(variable.name, text) if operator.named else text
    if variable.most is not None:
        raise ValueError(f"{variable.name}:{variable.most} takes a text, not several values")
    if not variable.explode:
        items = [part for pair in value.items() for part in pair] if isinstance(value, Mapping) else value
        text = ",".join(encoded(item) for item in items)
        return named(variable.name, text) if operator.named else text
    if isinstance(value, Mapping):
        pairs = [(encoded(name), encoded(item)) for name, item in value.items()]
        return operator.separator.join(named(*pair) if operator.named else "=".join(pair) for pair in pairs)
    return operator.separator.join(named(variable.name, encoded(item)) if operator.named else encoded(item)
                                   for item in value)


# Matching


class _Matcher:
    """The parts of a template sorted into path, query and fragment. Raises SchemaError."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.path: List[Unit] = []
        self.fragment: Optional[List[Unit]] = None
        self.query: Optional[_Query] = None
        for part in parts:
            if isinstance(part, _Expression):
                self._add_expression(part)
                continue
            for piece in re.split(r"([?#])", part):
                if piece == "#" and self.fragment is None:
                    self.fragment = []
                elif piece == "?" and self.query is None and self.fragment is None:
                    self.query = _Query()
                elif piece:
                    self._add([Unit(_quoted(piece, True))])
        if self.query is not None:
            self.query.close()
        for units in [self.path, self.fragment or []]:
            check_separated(units)

    def _add_expression(self, expression: _Expression) -> None:
        if expression.operator in ("?", "&"):
            if (expression.operator == "?") != (self.query is None) or self.fragment is not None:
                raise SchemaError("a query begins with {?…} or ?, goes on with {&…}, and stands before the fragment")
            self.query = self.query or _Query()
            self.query.add_named(expression)
            return
        if expression.operator == "#":
            if self.fragment is not None:
                raise SchemaError("it has two fragments")
            self.fragment = []
        self._add(_units(expression))

    def _add(self, units: List[Unit]) -> None:
        if self.fragment is not None:
            self.fragment.extend(units)
        elif self.query is not None:
            self.query.add(units)
        else:
            self.path.extend(units)

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        fragment: Optional[str] = None
        query: Optional[str] = None
        if self.fragment is not None:
            uri, mark, text = uri.partition("#")
            fragment = text if mark else None
        if self.query is not None:
            uri, mark, text = uri.partition("?")
            query = text if mark else None
        values = matched(self.path, uri, safe=True)
        if values is None:
            return None
        if self.query is not None and not self.query.match(query, values):
            return None
        if self.fragment is not None:
            found = None
            if fragment is not None:
                found = matched(self.fragment, fragment)
            elif self.fragment and all(unit.optional for unit in self.fragment):
                found = {}
            if found is None:
                return None
            values.update(found)
        return values


class _Query:
    """The query of a template: pairs that are written out and so required, named variables, and the rest."""

    def __init__(self) -> None:
        self._pairs: List[List[Unit]] = [[]]
        self._required: Dict[str, List[Unit]] = {}
        self._named: List[str] = []
        self._rest: Optional[str] = None

    def add(self, units: List[Unit]) -> None:
        for unit in units:
            if unit.name:
                if unit.optional:
                    raise SchemaError(f"in a query, {{{unit.name}}} takes the operators ? and & only")
                self._pairs[-1].append(unit._replace(least=0, stop=unit.stop.replace("/?", "") + "&"))
                continue
            first, *others = unit.prefix.split("&")
            self._pairs[-1].append(Unit(first))
            self._pairs.extend([Unit(text)] for text in others)

    def add_named(self, expression: _Expression) -> None:
        self._pairs.append([])
        for variable in expression.variables:
            if not variable.explode:
                self._named.append(_whole(variable))
            elif self._rest is None:
                self._rest = variable.name
            else:
                raise SchemaError(f"{self._rest}* and {variable.name}* both take the rest of the query")

    def close(self) -> None:
        """All parts have been added: sort out the pairs."""
        for pair in self._pairs:
            units = [unit for unit in pair if unit.name or unit.prefix]
            if not units:
                continue
            name, equals, start = units[0].prefix.partition("=")
            if units[0].name or not name or (not equals and len(units) > 1) or name in self._required:
                raise SchemaError("a query is written as name={variable}, each name once")
            self._required[name] = ([Unit(start)] if start else []) + units[1:]
            check_separated(self._required[name])

    def match(self, query: Optional[str], values: Dict[str, Any]) -> bool:
        given: Dict[str, str] = {}
        for pair in (query or "").split("&") if query else []:
            name, _, value = pair.partition("=")
            if name in given or "#" in pair:
                return False
            given[name] = value
        for name, units in self._required.items():
            found = matched(units, given.pop(name)) if name in given else None
            if found is None:
                return False
            values.update(found)
        rest: Dict[str, str] = {}
        for raw_name, raw_value in given.items():
            plain_name, plain_value = decoded(raw_name), decoded(raw_value)
            if plain_name is None or plain_value is None or plain_name in rest:
                return False
            rest[plain_name] = plain_value
        values.update((name, rest.pop(name)) for name in self._named if name in rest)
        if self._rest is not None:
            values[self._rest] = rest
        return self._rest is not None or not rest


def _whole(variable: _Variable) -> str:
    if variable.most is not None:
        raise SchemaError(f"{variable.name}:{variable.most} gives a part of the value only")
    return variable.name


def _units(expression: _Expression) -> List[Unit]:
    operator = _OPERATORS[expression.operator]
    several = len(expression.variables) > 1
    units = []
    for index, variable in enumerate(expression.variables):
        name = _whole(variable)
        stop = "" if operator.reserved else "/?#"
        split = ""
        if variable.explode:
            if operator.named:
                raise SchemaError(f"{{;{name}*}} can be expanded only")
            split, stop = operator.separator, stop.replace(operator.separator, "")
        if several and operator.separator not in stop and not variable.explode:
            stop += operator.separator
        prefix = operator.separator if index else operator.first
        if expression.operator == "#" and not index:
            prefix = ""
        prefix += name + "=" if operator.named else ""
        units.append(Unit(prefix, name, stop, optional=bool(operator.first), split=split))
    return units
