"""basic/transports of 2025-11-25: a message of the eras before in, an answer out, now or later.

What it may be: a request, whose methods are those of 2026-07-28 and a few of its own (legacy/lifecycle); a response to
what the server asked; a notification; in 2025-03-26 a batch of these; a GET or a DELETE. `ladder.climb` has let it in.

An Exchange is one request, from its session to its answer, which goes out by an Outlet (legacy/outlet). A client that
goes away cancels nothing: notifications/cancelled does, and then there is no answer.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Mapping, Optional

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
from ..patterns.notifications import CANCELLED
from ..patterns.subscriptions import LIST_CHANGED, RESOURCE_UPDATED
from ..server.invoke import Asks, principal_name
from ..server.state import State
from ..transports.endpoint import EVENT_STREAM
from .http_sse import Channel
from .lifecycle import OWN, call, kept, phase, prepare
from .outlet import Outlet
from .revisions import V2503, result
from .sessions import Session, change
from .shim import Conversation, Outcome, attempt

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
    """A session for a request without one: initialize begins it, and where none is kept it is for this request."""
    if request.method == "initialize" and request.head is not None and kept(state, request):
        begun: Session = state.sessions.begin(principal_name(request))
        return begun
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
    elif request.method == CANCELLED:
        id: Any = request.params.get("requestId")
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
            call(part, state)
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
    for each in asked:
        if request.peer is not None and not each.under_way:
            request.peer.end(each.request)  # it is answered in the array; of the others the answer is still to come
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
        assert session is not None
        if stream.gap:
            log.info("a stream is taken up again, and some of what came after %s is not kept any more", last)
            if stream.stream.number == 0:
                _catch_up(state, session)
    else:
        assert session is not None
        stream = session.streams.standalone().only_reader()
        if stream is None:
            raise refusal(409, "conflict", "this session has its event stream already")
        state.sessions.listening[session] = None
    stream.expires = request.principal.get("exp") if isinstance(request.principal, Mapping) else None
    return Answer(200, content_type=EVENT_STREAM, stream=stream)


def _catch_up(state: State, session: Session) -> None:
    """Tell that all may have changed that the client is told of: some of what was told is lost, which, nobody knows."""
    for method in LIST_CHANGED.values():
        if state.capabilities.get(method.split("/")[1], {}).get("listChanged"):
            session.tell(change(method))
    for uri in session.uris:
        session.tell(change(RESOURCE_UPDATED, uri))


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
        try:
            outcome = self.refused or self._outcome(session)
        except ProtocolError as error:
            outcome = error
        except HTTPError:
            self._over()
            if not self.outlet.batch and not self.outlet.late:
                raise
            outcome = InvalidRequest("Invalid Request: the token lacks a scope of what is called")
        if isinstance(outcome, Asks):
            self.conversation = Conversation(self.state, request, self.outlet, self.finish)
            self.conversation.put(outcome)
            return None
        failure = self.finish(outcome)
        if request.method == "initialize" and failure is None:
            self.outlet.established(request)
        elif request.method == "initialize" and session.version == "":
            session.end()
        return failure

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
            return attempt(state, request, self.outlet)
        return own(state, request, session)

    def finish(self, outcome: Outcome) -> Optional[ProtocolError]:
        """Give the answer: a result as 2026-07-28 has it, an error, or None for none. Returns the error."""
        request, session = self.request, self.outlet.session
        self._over()
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

    def _over(self) -> None:
        if self.under_way and self.request.id is not None:
            del self.outlet.session.under_way[self.request.id]

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
