"""basic/transports of 2024-11-05, HTTP with SSE: one event stream for all that the server says, and POSTs to it.

A GET without a session begins one, whose stream says first where to POST: the same path, the session in its query. A
POST there is answered 202, and what it asks for on the stream. The session ends with its stream.
"""

from __future__ import annotations

from typing import Any, Dict

from ..lib.strict_json import encode
from ..patterns.notifications import Cancelled
from .sessions import Session
from .streams import Queue


class Channel(Queue):
    """The stream of one session: its `channel`, and what a transport reads."""

    def __init__(self, session: Session, path: str) -> None:
        super().__init__(session.hub.kept, f"event: endpoint\ndata: {path}?session={session.id}\n\n".encode("ascii"))
        self._session = session
        self._kept.readers += 1

    def send(self, message: Dict[str, Any]) -> None:
        """Have the client sent a message. Raises Cancelled when it is gone."""
        data = encode(message)
        with self._kept.lock:
            if self.ended or self.overrun:
                raise Cancelled()
            self.add(data)

    def end(self) -> None:
        """The server ends it, and the session with it."""
        self.close()

    def close(self) -> None:
        """The client is gone, or is to go."""
        with self._kept.lock:
            if self.ended:
                return
            self.ended = True
            self._kept.readers -= 1
            if self.wake is not None:
                self.wake()
        self._session.end()
