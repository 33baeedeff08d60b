"""basic/transports of 2025-11-25, in process: the way of a client's session to a server without a socket between them.

`Client(server, era="legacy")` is how an author tries a server as older clients meet it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Mapping

from ..base.peer import Peer
from ..base.request import Request
from ..lib.strict_json import decode
from ..patterns.notifications import Cancelled
from ..transports.calls import Deadline, encoded
from .ways import Gone, Hear, Message, Shared, Streamable, Way

if TYPE_CHECKING:
    from ..transports.memory import Memory


def way_by(transport: Any, heard: Hear, gone: Gone) -> "Way":
    """The way that belongs to a client's transport. heard, gone: its on_message and ended."""
    if hasattr(transport, "exchange"):
        return Streamable(transport, heard, gone)
    return Way(transport, heard, gone) if hasattr(transport, "notify") else InProcess(transport, heard, gone)


class InProcess(Shared):
    """To a server of this process, as if by stdio: there is no head, so whatever HTTP alone asks is not asked.

    A request is served by a thread of its own, and where none can be started by its caller's.
    """

    def __init__(self, memory: "Memory", heard: Hear, gone: Gone) -> None:
        super().__init__(heard, gone)
        self._memory, self._address, self._peer = memory, memory.address, _Inside(self._decoded)

    def begun(self, version: str, headers: Mapping[str, str]) -> None:
        """There is nothing to keep: the server knows the session by its peer."""

    def notify(self, message: Message, deadline: Deadline) -> None:
        """Hand it to the server."""
        octets = encoded(message)
        if self._memory.wire is not None:
            self._memory.wire(octets.decode("ascii"), "")
        request = Request(lambda: octets, None, self._decoded, peer=self._peer)
        if "method" in message and "id" in message:
            with suppress(RuntimeError):  # a Python without threads, or out of them
                return threading.Thread(target=self._serve, args=(request,), name="mcp-in-process", daemon=True).start()
        self._serve(request)

    def _serve(self, request: Request) -> None:
        with suppress(Cancelled):
            answer = self._memory.handle(request)
            if answer.body:
                self._peer.end(request)
                self._arrived(answer.body)

    def _decoded(self, message: Message) -> None:
        self._arrived(encoded(message))

    def _arrived(self, octets: bytes) -> None:
        if self._memory.wire is not None:
            self._memory.wire("", octets.decode("utf-8"))
        self._came(decode(octets))


class _Inside(Peer):
    """The client, as a server of this process knows it."""

    def __init__(self, write: Hear) -> None:
        super().__init__()
        self._write = write

    def send(self, message: Message) -> None:
        """Give a message to it; a response only while its request is in flight."""
        if "method" not in message:
            request = self.in_flight.get(message.get("id", ""))
            if request is None:
                return
            self.end(request)
        self._write(message)
