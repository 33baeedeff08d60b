"""basic/transports of 2025-11-25: a message of the eras before in, an answer out, now or later.

What it may be: a request, whose methods are those of 2026-07-28 and a few of its own (legacy/lifecycle); a notification;
a response to what the server asked; in 2025-03-26 a batch of these; a GET or a DELETE. `ladder.climb` has let it in.

The answer of a request goes out in one of three ways. As the body, where the handler has said nothing else. On an event
stream, which the first message opens that a handler sends, or the shim for it. Or by the channel of a session that has
one (stdio, HTTP+SSE). An Outlet is that choice, for all that one POST or line brings; an Exchange is one request. A
client that goes away cancels nothing: notifications/cancelled does, and then there is no answer.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..base.errors import (
    RETIRED,
    HTTPError,
    InternalError,
    InvalidRequest,
    ProtocolError,
    RateLimited,
    ResourceNotFound,
    refusal,
)
from ..base.log import log
from ..base.request import Answer, Request
from ..base.versioning import HEADER as VERSION
from ..ladder import frame, is_response
from ..lib.strict_json import encode
from ..lib.text import shown
from ..patterns.notifications import Cancelled
from ..server.invoke import Asks, principal_name
from ..server.state import State
from ..transports.endpoint import EVENT_STREAM
from .http_sse import Channel
from .lifecycle import OWN, kept, phase, prepare
from .lifecycle import call as check_method
from .revisions import V2503, V2511, notification, result
from .sessions import Session
from .shim import Conversation, Outcome, attempt, converse
from .streams import Reader, Stream

MAX_UNDER_WAY = 100
"""Requests of one session without an answer."""


def serve(state: State, request: Request) -> Answer:
    """The answer to a message that has climbed. Raises ProtocolError and HTTPError."""
    head, message, session = request.head, request.message, request.session
    if head is not None and head.method == "GET":
        return _listen(state, request)
    if head is not None and head.method == "DELETE":
        session.end()
        return Answer(200)
    if is_response(message) or request.method and request.id is None:
        if session is not None:
            _hear(request, session, message)
        return Answer(202)
    if isinstance(message, list):
        return _batch(state, request, message)
    outlet = Outlet(session or _begun(state, request), request)
    exchange = Exchange(state, request, outlet)
    if outlet.late:  # some clients send nothing more, no cancellation for one, before they have the 202
        request.later(partial(_run, [exchange]))
        return Answer(202)
    error = exchange.run()
    if error is not None and outlet.silent:
        raise error
    return outlet.settled()


def _run(exchanges: List["Exchange"]) -> None:
    for each in exchanges:
        each.run()


def _begun(state: State, request: Request) -> Session:
    """A session for a request without one: one begins with initialize, and where none is kept it is for this request."""
    if request.method == "initialize" and request.head is not None and kept(state, request):
        return state.sessions.begin(principal_name(request))
    named = request.head.headers.get(VERSION) if request.head is not None else None
    made = Session(state.sessions, principal_name(request), "" if request.method == "initialize" else named or V2503)
    made.channel = request.peer
    return made


def _hear(request: Request, session: Session, message: Any) -> None:
    """Take a response or a notification; what is unknown is passed over."""
    if message is not None:
        return session.answered(message)
    if request.method == "notifications/initialized":
        session.ready = True
    elif request.method == "notifications/cancelled":
        id = request.params.get("requestId")
        exchange = session.under_way.get(id) if type(id) in (str, int) else None
        if exchange is not None:
            exchange.cancel()


def _batch(state: State, request: Request, messages: List[Any]) -> Answer:
    """JSON-RPC of 2025-03-26: each message as if it had come alone, but for initialize, which does."""
    asked = []
    outlet = Outlet(request.session, request)
    for message in messages:
        part = Request(bytes, request.head, None, request.endpoint, None, request.peer, request.later)
        part.legacy, part.principal, part.session = True, request.principal, request.session
        exchange = Exchange(state, part, outlet)
        try:
            if is_response(message):
                _hear(part, request.session, message)
                continue
            frame(part, message)
            if part.id is None:
                _hear(part, request.session, None)
                continue
            check_method(part, state)
            phase(part, state)
            if part.peer is not None:
                part.peer.begin(part)
        except ProtocolError as error:
            exchange.refused = error
        asked.append(exchange)
    outlet.left, outlet.batch = len(asked), True
    if outlet.late:
        request.later(partial(_run, asked))
        return Answer(202)
    _run(asked)
    answer = outlet.settled()
    for part in [each.request for each in asked if not each.under_way] if request.peer is not None else ():
        request.peer.end(part)  # what is answered in the array; the others are when their own answer is sent
    return answer


def _listen(state: State, request: Request) -> Answer:
    """GET: the stream of a session, or one that was cut off, or in 2024-11-05 the one stream there is."""
    session, head = request.session, request.head
    assert head is not None
    stream: Any
    if state.sessions.kept.full:
        raise refusal(503, "service unavailable", "too many event streams are open", [("Retry-After", "1")])
    last = head.headers.get("last-event-id")
    if session is None and not last:
        session = state.sessions.begin(principal_name(request))
        assert request.endpoint is not None
        session.channel = stream = Channel(session, request.endpoint.path)
    elif last:
        stream = None if session is None else session.streams.resumed(last)
        if stream is None:
            raise refusal(400, "bad request", "Last-Event-ID names no event of a stream that can be resumed")
    else:
        assert session is not None
        if session.streams.standalone().reader is not None:
            raise refusal(409, "conflict", "this session has its event stream already")
        stream = session.streams.standalone().reader_from()
        state.sessions.listening[session] = None
    stream.expires = request.principal.get("exp") if isinstance(request.principal, Mapping) else None
    return Answer(200, content_type=EVENT_STREAM, stream=stream)


class Exchange:
    """One request, until its answer. refused: why it is not served, where that is known before it is."""

    __slots__ = ("state", "request", "outlet", "refused", "conversation")

    def __init__(self, state: State, request: Request, outlet: "Outlet") -> None:
        self.state, self.request, self.outlet = state, request, outlet
        self.refused: Optional[ProtocolError] = None
        self.conversation: Optional[Conversation] = None

    @property
    def under_way(self) -> bool:
        """Whether it has no answer yet."""
        id = self.request.id
        return id is not None and self.outlet.session.under_way.get(id) is self

    def run(self) -> Optional[ProtocolError]:
        """Serve it as far as it goes without an answer of the client's; the error that it came to. Raises HTTPError."""
        request, session = self.request, self.outlet.session
        request.notify, request.outlet = self.report, self.outlet
        try:
            outcome = self.refused or self._outcome(session)
        except ProtocolError as error:
            outcome = error
        except HTTPError:
            session.under_way.pop(request.id, None)  # type: ignore[arg-type]
            if not self.outlet.batch and not self.outlet.late:
                raise
            outcome = InvalidRequest("Invalid Request: the token lacks a scope of what is called")
        if isinstance(outcome, Asks):
            self.conversation = converse(self.state, request, session, self.outlet, outcome, self.finish)
            if request.cancelled:
                self.conversation.cancel()
            return None
        error = self.finish(outcome)
        if request.method == "initialize" and error is None:
            self.outlet.established(request)
        elif session.version == "" and request.method == "initialize":
            session.end()
        return error

    def _outcome(self, session: Session) -> Any:
        state, request = self.state, self.request
        assert request.id is not None
        if session.under_way.setdefault(request.id, self) is not self:
            raise InvalidRequest("Invalid Request: the id is that of a request which is still under way")
        if len(session.under_way) > MAX_UNDER_WAY:
            raise ProtocolError(1503, f"Too many requests: {MAX_UNDER_WAY} of this session are under way")
        own = OWN.get(request.method)
        if request.method not in ("initialize", "ping"):
            session.ready = True
        prepare(request, session)
        limit = state.rate_limits and state.rate_limits.exceeded(request.method, principal_name(request))
        if limit:
            raise RateLimited(request.method, limit)
        if own is None:
            return attempt(state, request, session if session.kept else None)
        return own(state, request, session)

    def report(self, message: Dict[str, Any]) -> None:
        """Send a notification of the handler's. Raises Cancelled."""
        if self.request.cancelled:
            raise Cancelled()
        known = notification(self.request.version, message)
        if known is not None:
            self.outlet.send(known)

    def finish(self, outcome: Outcome) -> Optional[ProtocolError]:
        """Give the answer: a result as 2026-07-28 has it, an error, or None for none. Returns the error."""
        request, session = self.request, self.outlet.session
        if request.id is not None and session.under_way.get(request.id) is self:
            del session.under_way[request.id]
        if outcome is None or request.cancelled:
            self.outlet.answer(None)
            return None
        message: Dict[str, Any] = {"jsonrpc": "2.0"}
        if request.id is not None:
            message["id"] = request.id
        error: Optional[ProtocolError] = None
        if isinstance(outcome, ProtocolError):
            error = _retired(outcome)
            message["error"] = error.body()
        else:
            message["result"] = result(session.version, request.method, outcome)
        try:
            encode(message)
        except (TypeError, ValueError, RecursionError):
            log.exception("%s came to what is not JSON (request %s)", shown(request.method), shown(request.id))
            return self.finish(InternalError("Internal error"))
        self.outlet.answer(message)
        return error

    def cancel(self) -> None:
        """The client has cancelled it: there is no answer."""
        self.request.cancelled = True
        if self.request.peer is not None:
            self.request.peer.cancel(self.request.id)
        if self.conversation is not None:
            self.conversation.cancel()


def _retired(error: ProtocolError) -> ProtocolError:
    """An error by the code that it had before 2026-07-28."""
    return ProtocolError(RETIRED, error.message, error.data) if isinstance(error, ResourceNotFound) else error


class Outlet:
    """Where goes what one POST or line asks for: the answers, and what is sent ahead of them.

    left: answers that are still to be given. batch: whether they are for a batch. late: whether the POST or line has its
    own answer by now, so that these go by the channel.
    """

    def __init__(self, session: Session, request: Request) -> None:
        self.session = session
        self.left, self.batch = 1, False
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
            stream.put(encode(message))
        elif self._request.stream is None and self._notify is not None and self.session.kept:
            self._notify(message)
        else:
            return False
        return True

    def _opened(self) -> Optional[Stream]:
        """The event stream that the response is from now on, None where it cannot be one; with the lock held."""
        turn = self._request.stream
        if self._stream is None and turn is not None and self.session.kept and not self.session.hub.kept.full:
            self._stream = self.session.streams.open()
            self._reader = self._stream.reader_from()
            for each in self._answers:
                self._stream.put(encode(each))
            turn(self._reader)
        return self._stream

    def answer(self, message: Optional[Dict[str, Any]]) -> None:
        """Give one of the answers, None for that of a request that was cancelled."""
        with self._lock:
            self.left -= 1
            stream, late, last = self._stream, self.late, self.left == 0
            if stream is None and not late and message is not None:
                self._answers.append(message)
        if stream is not None and message is not None:
            stream.put(encode(message), last)
        elif stream is not None and last:
            stream.finish()
        elif late and message is not None:
            try:
                self.session.channel.send(message)  # type: ignore[union-attr]
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
