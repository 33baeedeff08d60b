"""basic/transports/streamable-http, Receiving Messages: server-sent events, written and read.

Implements HTTP-15. Only what MCP needs of the format: `data` lines make a message; `id` and `retry` let the eras before
2026-07-28 take a stream up again, and `event` names the one that tells the `endpoint` of HTTP+SSE. Comments and every
other field are passed over.
"""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional

from ..base.errors import TransportError

KEEP_ALIVE = b": keep-alive\n\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def event(message: bytes) -> bytes:
    """One event that carries a JSON message, which holds no line break."""
    return b"event: message\ndata: " + message + b"\n\n"


class Event(NamedTuple):
    """What stands between two blank lines. data: None without a `data` line. id, retry (seconds): None where not there.
    """

    data: Optional[bytes]
    name: str
    id: Optional[str]
    retry: Optional[float]


def messages(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The data of each event in a stream, as `events` reads it."""
    return (event.data for event in events(chunks, limit) if event.data is not None)


def events(chunks: Iterable[bytes], limit: int) -> Iterator[Event]:
    """The events of a stream that arrives in chunks of any size.

    Lines end in LF, CR or CRLF, and nothing else. An event cut off by the end of the stream is dropped, as the format
    says. limit: octets that one event may have, its line breaks and other fields included; raises TransportError
    beyond, in the middle of a line too.
    """
    data: List[bytes] = []
    fields: Dict[bytes, bytes] = {}
    size = 0
    for number, line in enumerate(_lines(chunks, limit)):
        if number == 0:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if line == b"":
            if data or fields:
                yield _event(data, fields)
            data, fields, size = [], {}, 0
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif name in (b"event", b"id", b"retry"):
            fields[name] = value.removeprefix(b" ")
        if name:  # a comment is no part of the event
            size += len(line) + 1
        if size > limit:
            raise TransportError(f"an event of the stream exceeds {limit} octets")


def _event(data: List[bytes], fields: Dict[bytes, bytes]) -> Event:
    known, wait = fields.get(b"id"), fields.get(b"retry", b"")
    return Event(b"\n".join(data) if data else None, fields.get(b"event", b"message").decode("utf-8", "replace"),
                 None if known is None or b"\0" in known else known.decode("utf-8", "replace"),
                 int(wait) / 1000 if wait.isdigit() and len(wait) < 10 else None)


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
