"""basic/transports/streamable-http, Receiving Messages: server-sent events, written and read.

Implements HTTP-15. Only what MCP needs of the format: `data` lines make a message, comments and every other field are
passed over.
"""

from __future__ import annotations

from typing import Iterable, Iterator, List

from ..base.errors import TransportError

KEEP_ALIVE = b": keep-alive\n\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def event(message: bytes) -> bytes:
    """One event that carries a JSON message, which holds no line break."""
    return b"event: message\ndata: " + message + b"\n\n"


def messages(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The data of each event in a stream that arrives in chunks of any size.

    Lines end in LF, CR or CRLF, and nothing else. An event cut off by the end of the stream is dropped, as the format
    says. limit: octets that one event may have, its line breaks and other fields included; raises TransportError
    beyond, in the middle of a line too.
    """
    data: List[bytes] = []
    size = 0
    for number, line in enumerate(_lines(chunks, limit)):
        if number == 0:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if line == b"":
            if data:
                yield b"\n".join(data)
            data, size = [], 0
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        if name:  # a comment is no part of the event
            size += len(line) + 1
        if size > limit:
            raise TransportError(f"an event of the stream exceeds {limit} octets")


def _lines(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Lines without their ends, each as soon as its end is there: a CR ends one, and an LF after it says no more."""
    rest = bytearray()
    after_cr = False
    for chunk in chunks:
        text = chunk[1:] if after_cr and chunk.startswith(b"\n") else chunk
        after_cr = chunk.endswith(b"\r") if chunk else after_cr
        begun, *more = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest += begun
        if len(rest) > limit:
            raise TransportError(f"a line of the event stream exceeds {limit} octets")
        if more:
            yield bytes(rest)
            yield from more[:-1]
            rest = bytearray(more[-1])
