"""basic/patterns/cancellation on HTTP: noticing that a client has gone while its handler computes.

Implements CANC-04, HTTP-20. One thread looks at the sockets of all requests that have been served for longer than a
tick; a short request costs two dictionary operations and is never looked at. It keeps their event streams alive, too.
"""

from __future__ import annotations

import select
import socket
import threading
from typing import Callable, Dict, List, Tuple

from ..base.request import Request

TICK = 0.1

Watched = Tuple[socket.socket, Request, Callable[[], None]]


class Disconnects:
    """Sets `Request.cancelled` on the requests of clients that closed their connection, within two ticks."""

    def __init__(self) -> None:
        self._watched: Dict[int, Watched] = {}
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="mcp-disconnects", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping = True
        self._wake.set()

    def enter(self, connection: socket.socket, request: Request, tick: Callable[[], None]) -> None:
        """Begin to watch. tick: called at each look at a client that is there; an OSError says that it is not."""
        self._watched[id(request)] = (connection, request, tick)
        if not self._wake.is_set():
            self._wake.set()

    def leave(self, request: Request) -> None:
        """Watch no longer."""
        self._watched.pop(id(request), None)

    def cancel_all(self) -> None:
        """Cancel every request under way."""
        for _, request, _ in list(self._watched.values()):
            request.cancelled = True

    def _run(self) -> None:
        pause = threading.Event()
        seen: Dict[int, Watched] = {}
        while not self._stopping:
            if not self._watched:
                seen = {}
                self._wake.clear()
                if not self._watched:
                    self._wake.wait()
            pause.wait(TICK)
            seen = self._look_again(seen)

    def _look_again(self, before: Dict[int, Watched]) -> Dict[int, Watched]:
        now = dict(self._watched)
        self._look([each for key, each in now.items() if before.get(key) is each])
        return now

    @staticmethod
    def _look(watched: List[Watched]) -> None:
        for connection, request, tick in watched:
            try:
                if not request.cancelled and _closed(connection):
                    request.cancelled = True
                if not request.cancelled:
                    tick()
            except (OSError, ValueError):
                request.cancelled = True


_PEEK = socket.MSG_PEEK | getattr(socket, "MSG_DONTWAIT", 0)


def _at_end(connection: socket.socket) -> bool:
    """Whether the peer has sent its last. Never waits: the connection's own thread may have been faster to read."""
    try:
        return connection.recv(1, _PEEK) == b""
    except (BlockingIOError, socket.timeout):
        return False


if hasattr(select, "poll"):
    _HUNG_UP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

    def _closed(connection: socket.socket) -> bool:
        """Whether the peer closed its side; where poll cannot tell, a readable socket with nothing to read."""
        poll = select.poll()
        poll.register(connection, select.POLLIN | _HUNG_UP)
        events = poll.poll(0)
        if not events:
            return False
        return bool(events[0][1] & _HUNG_UP) or _at_end(connection)

    def writable(connection: socket.socket) -> bool:
        """Whether the connection takes octets without waiting."""
        poll = select.poll()
        poll.register(connection, select.POLLOUT)
        return bool(poll.poll(0))
else:
    def _closed(connection: socket.socket) -> bool:
        """Whether the peer closed: a socket that is readable and has nothing to read."""
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and _at_end(connection)

    def writable(connection: socket.socket) -> bool:
        """Whether the connection takes octets without waiting."""
        return bool(select.select([], [connection], [], 0)[1])
