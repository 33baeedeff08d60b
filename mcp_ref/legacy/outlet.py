"""basic/transports of 2025-11-25, Sending Messages to the Server: the ways by which an answer goes out.

As the body, where the handler has said nothing else. On an event stream, which the first message opens that a handler
sends, or the shim for it. Or by the channel of a session that has one (stdio, HTTP+SSE).
"""

from __future__ import annotations

import threading
from typing import Any, Dict, List, Optional, Tuple

from ..base.errors import ProtocolError
from ..base.log import log
from ..base.request import Answer, Request
from ..lib.strict_json import encode
from ..lib.text import shown
from ..patterns.notifications import Cancelled
from ..transports.endpoint import EVENT_STREAM
from .revisions import V2511
from .sessions import Session
from .streams import Reader, Stream


class Outlet:
    """For all that one POST or line asks: where the answers go, and what is sent ahead of them.

    left: answers that are still to be given. batch: whether they are for a batch. late: whether the POST or line has
    its own answer by now, so that these go by the channel. stopping: whether no client is waited for any more.
    """

    def __init__(self, session: Session, request: Request) -> None:
        self.session = session
        self.left = 1
        self.batch = self.stopping = False
        self._request, self._notify = request, request.notify
        self._headers: Tuple[Tuple[str, str], ...] = ()
        self._answers: List[Dict[str, Any]] = []
        self._stream: Optional[Stream] = None
        self._reader: Optional[Reader] = None
        self.late = request.head is not None and session.channel is not None
        self._lock = threading.Lock()

    @property
    def silent(self) -> bool:
        """Whether nothing goes out but the one answer, as a body."""
        return self._stream is None and not self.late and not self.batch

    def established(self, request: Request) -> None:
        """The session is agreed on: its client is told the id, and can be told what changes."""
        session = self.session
        if request.peer is not None:
            request.peer.session = session
        if session.channel is not None:
            session.hub.listening[session] = None
        elif session.id:
            self._headers = (("Mcp-Session-Id", session.id),)

    def send(self, message: Dict[str, Any]) -> bool:
        """Send a notification or a request ahead of the answers; whether there is a way. Raises Cancelled."""
        if self.session.channel is not None:
            self.session.channel.send(message)
            return True
        with self._lock:
            stream = self._opened()
        if stream is not None:
            stream.put(encode(message), awaited="id" in message)
        elif self._request.stream is None and self._notify is not None and self.session.kept:
            self._notify(message)
        else:
            return False
        return True

    def _opened(self) -> Optional[Stream]:
        """The event stream that the response is from now on, None where it cannot be one; with the lock held."""
        turn = self._request.stream
        if self._stream is None and turn is not None and self.session.kept and not self.session.hub.kept.full:
            self._stream = self.session.streams.open(self.give_up)
            self._reader = self._stream.reader_from()
            for each in self._answers:
                self._stream.put(encode(each), awaited=True)
            turn(self._reader)
        return self._stream

    def give_up(self) -> None:
        """The server stops: what is asked here has failed, and so has what is yet to be asked."""
        self.stopping = True
        self.session.give_up(self)

    def answer(self, message: Optional[Dict[str, Any]]) -> None:
        """Give one of the answers, None for that of a request that was cancelled."""
        with self._lock:
            self.left -= 1
            stream, by_channel = self._stream, self.late and self._stream is None
            if stream is not None and message is not None:
                stream.put(encode(message), self.left == 0, awaited=True)
            elif stream is not None and self.left == 0:
                stream.finish()
            elif message is not None and not by_channel:
                self._answers.append(message)
        if message is not None and by_channel:
            try:
                self.session.channel.send(message)
            except Cancelled:
                log.info("there is nobody to answer any more (request %s)", shown(message.get("id")))

    def settled(self) -> Answer:
        """What the transport is told, once all that could be done at once is done."""
        with self._lock:
            if self.left and self.session.channel is None and self._opened() is None:
                raise ProtocolError(1503, "Too many event streams are open to ask on one more")
            answers, self.late = self._answers, True
        if self._stream is not None:
            return Answer(200, content_type=EVENT_STREAM, stream=self._reader)
        if not answers:
            return Answer(202)
        body = encode(answers if self.batch else answers[0])
        return Answer(200, body, headers=self._headers)

    def hang_up(self) -> None:
        """End the connection, not the work: a client of 2025-11-25 comes back for the rest, no other is sent away."""
        if self.session.version >= V2511 and self.session.channel is None:
            with self._lock:
                stream = self._opened()
            if stream is not None:
                stream.hang_up()
