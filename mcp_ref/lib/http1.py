"""RFC 9112, the grammar of HTTP/1.1: a head and a chunked body, from octets. No socket.

http.server reads a head line by line through the email parser. This reads it in one piece, refuses what the grammar
does not allow (two readers could take it for two requests), and knows chunked bodies, which http.server does not.
"""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, Mapping, NamedTuple, Set, Tuple, Union

MAX_FIELDS = 100
MAX_LINE = 1024
"""Octets of the line before a chunk and of a trailer."""

TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
"""The pattern of an HTTP token (RFC 9110, section 5.6.2): a field name, a method, a key of baggage."""

NO_LINE = "the request line is not that of HTTP/1.1"

_LINE = re.compile(rb"(%s) ([\x21-\x7e]+) HTTP/1\.([01])" % TOKEN.encode("ascii"))
_ABSOLUTE = re.compile(r"https?://([^/?#]*)(/.*)?", re.IGNORECASE)
_TOKEN_OCTETS = frozenset(octet for octet in range(128) if re.fullmatch(TOKEN, chr(octet)))
_FIELD_NAME = re.compile(TOKEN)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?")


class Malformed(ValueError):
    """Octets that are no HTTP/1.1; the message says why."""


class TooMuch(ValueError):
    """More fields than MAX_FIELDS, or a body beyond its limit."""


class Head(NamedTuple):
    """The head of an HTTP request.

    method, target: as in the request line; of a target in absolute form, its path, with its host as the Host field.
    headers: lower-case name to value, optional white space removed; a repeated field's values joined by ", ".
    repeated: the names of the fields that came more than once. persistent: whether it is HTTP/1.1, whose connections
    stay open and know chunks, and not 1.0.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    repeated: FrozenSet[str] = frozenset()
    persistent: bool = True


def begins_a_head(octets: bytearray) -> bool:
    """Whether what has come so far, an octet or more, begins with a character that a method may have."""
    return octets[0] in _TOKEN_OCTETS


def parse_head(raw: bytes) -> Head:
    """The Head in octets up to, and without, the empty line. Raises Malformed, TooMuch."""
    line, _, fields = raw.partition(b"\r\n")
    match = _LINE.fullmatch(line)
    if match is None:
        raise Malformed(NO_LINE)
    method, target, minor = match.groups()
    headers, repeated = parse_fields(fields.decode("latin-1")) if fields else ({}, set())
    path = target.decode("ascii")
    absolute = _ABSOLUTE.fullmatch(path)
    if absolute is not None:
        path = absolute.group(2) or "/"
        if "host" in headers:  # it must be there (RFC 9112, section 3.2), though it counts for nothing
            headers["host"] = absolute.group(1)
    return Head(method.decode("ascii"), path, headers, frozenset(repeated), minor == b"1")


def parse_fields(text: str) -> Tuple[Dict[str, str], Set[str]]:
    """Lower-case name to value of the lines of a head, and the names that came twice. Raises Malformed, TooMuch."""
    headers: Dict[str, str] = {}
    repeated: Set[str] = set()
    lines = text.split("\r\n")
    if len(lines) > MAX_FIELDS:
        raise TooMuch(f"a head has at most {MAX_FIELDS} fields")
    if _CONTROL.search(text.replace("\r\n", "")):
        raise Malformed("a header field holds a control character")
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _FIELD_NAME.fullmatch(name):
            raise Malformed("a header line is malformed")
        name = name.lower()
        value = value.strip(" \t")
        if name in headers:
            repeated.add(name)
            value = f"{headers[name]}, {value}"
        headers[name] = value
    return headers, repeated


class Sized:
    """A body of a known length as it arrives. body: the octets that came so far."""

    def __init__(self, length: int) -> None:
        self.body = bytearray()
        self._length = length

    def feed(self, buffer: bytearray) -> bool:
        """Take from `buffer` what belongs to the body; whether it is whole."""
        count = self._length - len(self.body)
        self.body += buffer[:count]
        del buffer[:count]
        return len(self.body) == self._length


class Chunks:
    """A chunked body as it arrives. limit: octets of its content; body: those that came so far."""

    def __init__(self, limit: int) -> None:
        self.body = bytearray()
        self._limit = limit
        self._left = 0  # octets of the chunk under way, its line end among them
        self._trailers = -1  # lines after the last chunk; -1 before it

    def feed(self, buffer: bytearray) -> bool:
        """Take from `buffer` what belongs to the body; whether it is whole. Raises Malformed, TooMuch."""
        while True:
            if self._left:
                if not self._chunk(buffer):
                    return False
                continue
            line = self._line(buffer)
            if line is None:
                return False
            if self._trailers >= 0:
                if not line:
                    return True
                self._trailers += 1
                if self._trailers > MAX_FIELDS:
                    raise Malformed("the chunked body has too many trailers")
                parse_fields(line.decode("latin-1"))  # what is no field could be the end of the body to another reader
                continue
            self._begin(line)

    def _begin(self, line: bytes) -> None:
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise Malformed("the chunked body is malformed")
        size = int(match.group(1), 16)
        if len(self.body) + size > self._limit:
            raise TooMuch(f"a body has at most {self._limit} octets")
        if size:
            self._left = size + 2
        else:
            self._trailers = 0

    def _chunk(self, buffer: bytearray) -> bool:
        """Take what there is of a chunk; whether that was all of it."""
        content = self._left - 2
        if content > 0:
            self.body += buffer[:content]
            taken = min(content, len(buffer))
            del buffer[:taken]
            self._left -= taken
        if self._left > 2 or len(buffer) < self._left:
            return False
        if buffer[:2] != b"\r\n":
            raise Malformed("the chunked body is malformed")
        del buffer[:2]
        self._left = 0
        return True

    @staticmethod
    def _line(buffer: bytearray) -> "bytes | None":
        end = buffer.find(b"\r\n", 0, MAX_LINE)
        if end >= 0:
            line = bytes(buffer[:end])
            del buffer[:end + 2]
            return line
        if len(buffer) >= MAX_LINE:
            raise Malformed("a line of the chunked body is too long")
        return None


Body = Union[Sized, Chunks]
