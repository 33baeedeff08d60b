"""One message on its way through the server: what came in, and what each rung of the ladder learned from it.

The core is sans-IO. A transport makes a Request of what it read and hands it to the server; it gets an Answer back,
and moves its bytes. Whatever the handler sends before it has finished goes through `Request.notify`.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, NamedTuple, Optional, Protocol, Tuple, Union

from ..lib.http1 import Head as Head
from .errors import HTTPError

RequestId = Union[str, int]

CACHEABLE = ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
             "resources/read")
"""The methods whose results carry caching hints (server/utilities/caching, Cacheable Results)."""
CREDENTIALS = frozenset(("authorization", "proxy-authorization", "cookie"))
"""The header fields, in lower case, that no handler gets to see."""


class BodyAwaited(BaseException):
    """Raised by `read_body` while the body is not there yet: the transport serves the request again once it is."""


def _at_once(work: Callable[[], None]) -> None:
    work()


class Request:
    """A message being served.

    Given by the transport:
    head: the HTTP head, or None on stdio.
    read_body: returns the body's bytes; called by the framing rung, so that a request refused before it costs no body.
        Raises HTTPError where the body's own framing is wrong, and BodyAwaited.
    notify: sends a notification (a dict) to the client ahead of the answer.
    endpoint: the transports.endpoint.Endpoint that it came in through, which the door asks; None on stdio.
    fault: what the transport refuses it with where there is no request to speak of; the octets rung raises it.
    peer: on a connection that lasts, as stdio's, the base.peer.Peer at its other end; None on HTTP.
    later: has work done soon, by a thread of the transport's; at once and in this thread where it has none to give.
    let_in: whether the rungs that ask the head alone have let one of the very same octets in.
    stream: on HTTP, turns the response into an event stream that a Stream feeds from now on, although the handler has
        not ended; the Answer that comes then is not sent. None elsewhere.

    Set by the core: outlives, whether the work goes on when the client goes away, so that the transport does not set
    `cancelled` then; legacy, whether it is a message of a revision before 2026-07-28, and of such a one session, the
    legacy.sessions.Session that it belongs to; outlet, where what belongs to it goes; message, what it is where that is
    no request and no notification.

    Learned on the ladder, empty until then: id, method, params, meta, version, capabilities, principal.
    rung: the last that was asked. round: which attempt the handler made, 1 for the first, 0 for none yet.
    cancelled: set by the transport, from any thread, once nobody waits for the answer. progress: the last reported.
    """

    __slots__ = ("head", "read_body", "notify", "id", "method", "params", "meta", "version", "capabilities",
                 "principal", "rung", "round", "cancelled", "endpoint", "fault", "peer", "later", "stream", "let_in",
                 "outlives", "legacy", "session", "outlet", "message", "progress")

    def __init__(
        self,
        read_body: Callable[[], bytes],
        head: Optional[Head] = None,
        notify: Optional[Callable[[Dict[str, Any]], None]] = None,
        endpoint: Optional[Any] = None,
        fault: Optional[HTTPError] = None,
        peer: Optional[Any] = None,
        later: Optional[Callable[[Callable[[], None]], None]] = None,
        stream: Optional[Callable[[Any], None]] = None,
        let_in: bool = False,
    ) -> None:
        self.head = head
        self.read_body = read_body
        self.notify = notify
        self.endpoint = endpoint
        self.fault = fault
        self.peer = peer
        self.later = later or _at_once
        self.stream = stream
        self.let_in = let_in
        self.outlives = self.legacy = False
        self.session: Any = None
        self.outlet: Any = None
        self.message: Any = None
        self.id: Optional[RequestId] = None
        self.method = ""
        self.params: Dict[str, Any] = {}
        self.meta: Dict[str, Any] = {}
        self.version = ""
        self.capabilities: Dict[str, Any] = {}
        self.principal: Optional[Any] = None
        self.rung = ""
        self.round = 0
        self.cancelled = False
        self.progress: float = -math.inf


class Answer(NamedTuple):
    """What the transport sends back.

    status: the HTTP status code. body: the bytes, empty for a notification. content_type: of the body.
    headers: further header fields. stream: for subscriptions/listen, what feeds the response in place of a body.
    """

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Tuple[Tuple[str, str], ...] = ()
    stream: Optional[Any] = None

    @classmethod
    def plain(cls, error: HTTPError) -> Answer:
        """The answer that an HTTPError is: plain HTTP, no JSON-RPC message."""
        return cls(error.status, error.body.encode("utf-8"), headers=error.headers)


class Serving(Protocol):
    """What a transport serves, as far as it knows it: server.server.Server.

    cors: web origins whose pages may call it. public_hosts: further names that it is reached by.
    """

    cors: Tuple[str, ...]
    public_hosts: Tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def era(self) -> str:
        """Which messages it serves, of base.versioning.ERAS."""

    def handle(self, request: Request) -> Answer:
        """The answer to one message."""
