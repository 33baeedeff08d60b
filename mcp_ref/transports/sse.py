"""basic/transports/streamable-http, Receiving Messages: server-sent events, written and read.

Implements HTTP-14, HTTP-15, HTTP-18. Only what MCP needs of the format: `data` lines make a message, comments and
every other field are passed over.
"""

from __future__ import annotations

from typing import Iterable, Iterator, List

from ..base.errors import TransportError

KEEP_ALIVE = b": keep-alive\n\n"


def event(message: bytes) -> bytes:
    """One event that carries a JSON message, which holds no line break."""
    return b"event: message\ndata: " + message + b"\n\n"


def messages(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The data of each event in a stream that arrives in chunks of any size.

    Lines end in LF, CR or CRLF. An event cut off by the end of the stream is dropped, as the format says.
    limit: octets that one event may have; raises TransportError beyond.
    """
    data: List[bytes] = []
    size = 0
    for line in _lines(chunks, limit):
        if line == b"":
            if data:
                yield b"\n".join(data)
            data, size = [], 0
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value[1:] if value.startswith(b" ") else value
            data.append(value)
            size += len(value)
            if size > limit:
                raise TransportError(f"an event of the stream exceeds {limit} octets")


def _lines(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Lines without their ends; a CR at the end of a chunk waits, since the LF after it belongs to it."""
    rest = b""
    first = True
    for chunk in chunks:
        rest += chunk
        if first and len(rest) >= 3:
            rest = rest[3:] if rest.startswith(b"\xef\xbb\xbf") else rest
            first = False
        held = rest.endswith(b"\r")
        text = rest[:-1] if held else rest
        *whole, rest = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest += b"\r" if held else b""
        if len(rest) > limit:
            raise TransportError(f"a line of the event stream exceeds {limit} octets")
        yield from whole
    if rest.endswith(b"\r"):
        yield rest[:-1]
