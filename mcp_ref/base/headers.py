"""basic/transports/streamable-http, Request Metadata: what the headers repeat of the body.

Implements HTTP-29 to HTTP-32, HTTP-34 to HTTP-42, HTTP-46 to HTTP-54, HTTP-59, HTTP-60, HTTP-63, HTTP-64, HTTP-67 to
HTTP-74, HTTP-76, HTTP-83, HTTP-84; TOOL-20 to TOOL-27 (`x-mcp-header`).

Both ends are here: `mirrored_headers` is what a client sends, `decoded` and `check_parameter` what the rung asks.
A gateway routes on the header and the server acts on the body, so the two must say one thing: a header that is
missing, repeated, malformed or different is a HeaderMismatch (-32020). One that is there and empty counts as missing,
unless what it repeats is an empty text: that is sent as it is, so an empty header is its mirror.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ..lib.http1 import TOKEN
from ..lib.text import shown
from .errors import HeaderMismatch, SchemaError, TransportError
from .request import Head

MAX_SAFE_INTEGER = 2**53 - 1
TYPES = ("string", "integer", "boolean")
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_PREFIX, _SUFFIX = "=?base64?", "?="
_TOKEN = re.compile(TOKEN)
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_LEGAL = re.compile(r"[\x20-\x7e\t]*")
_INTEGER = r"(-?[0-9]{1,20})(?:\.0{1,20})?"


class Parameter(NamedTuple):
    """One annotated parameter of a tool.

    title: the header as written, `Mcp-Param-Region`. header: the same in lower case. path: property names from the
    root.
    """

    title: str
    header: str
    path: Tuple[str, ...]
    type: str


def encode_value(value: str) -> str:
    """The header form of a string: itself, or the Base64 sentinel where it is not safe as plain ASCII (HTTP-32).

    Raises TransportError for a string with no UTF-8 form (an unpaired surrogate).
    """
    if value == "" or (_PLAIN.fullmatch(value) and not (value.startswith(_PREFIX) and value.endswith(_SUFFIX))):
        return value
    try:
        octets = value.encode("utf-8")
    except UnicodeEncodeError:
        raise TransportError("a mirrored value holds an unpaired surrogate and has no UTF-8 form") from None
    return _PREFIX + base64.b64encode(octets).decode("ascii") + _SUFFIX


def decode_value(value: str) -> str:
    """The string that a header value stands for. Raises ValueError for what no client may send."""
    if not _LEGAL.fullmatch(value):
        raise ValueError("it holds characters outside visible ASCII")
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    if len(value) < len(_PREFIX) + len(_SUFFIX):
        raise ValueError("its Base64 sentinel is cut short")
    try:
        return base64.b64decode(value[len(_PREFIX):-len(_SUFFIX)], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("its Base64 sentinel does not hold Base64 of UTF-8") from None


def annotated_parameters(schema: Mapping[str, Any]) -> List[Parameter]:
    """The parameters of an inputSchema that carry `x-mcp-header`. Raises SchemaError where an annotation breaks a rule.

    A name is a header token, unique ignoring case; the type is string, integer or boolean; the property is reached
    from the root through `properties` alone (HTTP-35 to HTTP-42).
    """
    found: List[Parameter] = []
    _walk(schema, (), "", found)
    names: Set[str] = set()
    for parameter in found:
        if parameter.header in names:
            raise SchemaError(f"x-mcp-header {shown(parameter.header)} is used twice")
        names.add(parameter.header)
    return found


_DATA = ("const", "enum", "default", "examples", "$vocabulary", "x-mcp-header")
_NAMING = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies",
           "dependentRequired")
"""The keywords whose values are data, and those whose members are names and no keywords."""


def _walk(schema: Any, path: Optional[Tuple[str, ...]], where: str, found: List[Parameter]) -> None:
    """Find the annotations at `schema` and below. path: the properties that lead to it, None for any other way."""
    if isinstance(schema, list):
        for index, inner in enumerate(schema):
            _walk(inner, None, f"{where}/{index}", found)
    if not isinstance(schema, Mapping):
        return
    if "x-mcp-header" in schema:
        if not path:
            raise SchemaError(f"x-mcp-header stands at {shown(where or '/')}, where properties alone do not lead")
        found.append(_parameter(schema, path))
    for word, inner in schema.items():
        if word in _NAMING and isinstance(inner, Mapping):
            for name, each in inner.items():
                reached = path + (name,) if word == "properties" and path is not None else None
                _walk(each, reached, f"{where}/{word}/{name}", found)
        elif word not in _DATA:
            _walk(inner, None, f"{where}/{word}", found)


def _parameter(schema: Mapping[str, Any], path: Tuple[str, ...]) -> Parameter:
    name, kind, where = schema["x-mcp-header"], schema.get("type"), ".".join(path)
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise SchemaError(f"x-mcp-header of {where} must be a non-empty HTTP token, not {shown(name)}")
    if kind not in TYPES:
        raise SchemaError(f"x-mcp-header of {where} needs type string, integer or boolean, not {shown(kind)}")
    title = "Mcp-Param-" + name
    return Parameter(title, title.lower(), path, kind)


def value_at(arguments: Any, path: Sequence[str]) -> Any:
    """The argument at a property path; None where there is none (or null, which is not mirrored either)."""
    for name in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(name)
    return arguments


def mirrored_headers(message: Mapping[str, Any], parameters: Sequence[Parameter] = ()) -> Dict[str, str]:
    """The headers that repeat a request's body: Mcp-Method, Mcp-Name, and Mcp-Param-* of `parameters`.

    Raises TransportError for a value that no header can carry: an integer beyond ±(2^53−1), a value not of its
    annotated type, a string without a UTF-8 form.
    """
    headers = {"Mcp-Method": encode_value(message["method"])}
    params = message.get("params", {})
    member = NAMED_BY.get(message["method"])
    if member is not None:
        headers["Mcp-Name"] = encode_value(str(params.get(member, "")))
    for parameter in parameters:
        value = value_at(params.get("arguments"), parameter.path)
        if value is not None:
            headers[parameter.title] = _header_text(parameter, value)
    return headers


def _header_text(parameter: Parameter, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return encode_value(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        raise TransportError(f"argument {'.'.join(parameter.path)} is mirrored and must be a {parameter.type}")
    if abs(value) > MAX_SAFE_INTEGER:
        raise TransportError(f"argument {'.'.join(parameter.path)} is mirrored and must be within ±(2^53-1)")
    return str(value)


def decoded(head: Head, name: str, title: str) -> Optional[str]:
    """The text that a header stands for; None where it is missing or empty. Raises HeaderMismatch."""
    value = head.headers.get(name)
    if not value:
        return None
    if name in head.repeated:
        raise HeaderMismatch(f"Header mismatch: {title} header is repeated")
    try:
        return decode_value(value)
    except ValueError as error:
        raise HeaderMismatch(f"Header mismatch: {title} header is malformed: {error}") from None


def check_parameter(head: Head, parameter: Parameter, arguments: Any) -> None:
    """Raise HeaderMismatch unless the header of an annotated parameter says what `arguments` say."""
    value = value_at(arguments, parameter.path)
    title = parameter.title
    text = decoded(head, parameter.header, title)
    where = "arguments." + ".".join(parameter.path)
    if value is None:
        if text is not None:
            raise HeaderMismatch(f"Header mismatch: {title} header has no value at {where} in the body")
        return
    if text is None and value == "" == head.headers.get(parameter.header):
        return
    if text is None:
        raise HeaderMismatch(f"Header mismatch: {title} header is required since the body has {where}")
    if isinstance(value, str):
        same = text == value
    elif isinstance(value, bool):
        same = text == ("true" if value else "false")
    elif isinstance(value, (int, float)):
        if abs(value) > MAX_SAFE_INTEGER:
            raise HeaderMismatch(f"Header mismatch: {where} is mirrored and must be within ±(2^53-1)")
        number = re.fullmatch(_INTEGER, text)
        same = number is not None and int(number.group(1)) == value
    else:
        raise HeaderMismatch(f"Header mismatch: {where} is mirrored and must be a {parameter.type}")
    if not same:
        raise HeaderMismatch(f"Header mismatch: {title} header does not match {where}")
