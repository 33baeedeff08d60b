"""One message on its way through the server: what came in, and what each rung of the ladder learned from it.

The core is sans-IO. A transport makes a Request of what it read and hands it to the server; it gets an Answer back,
and moves its bytes. Whatever the handler sends before it has finished goes through `Request.notify`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, FrozenSet, Mapping, NamedTuple, Optional, Protocol, Tuple, Union

from .errors import HTTPError

RequestId = Union[str, int]

TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
"""The pattern of an HTTP token (RFC 9110, section 5.6.2): a field name, a method, a key of baggage."""

CREDENTIALS = frozenset(("authorization", "proxy-authorization", "cookie"))
"""The header fields, in lower case, that no handler gets to see."""


class Head(NamedTuple):
    """The head of an HTTP request.

    method, target: as in the request line.
    headers: lower-case name to value, optional white space removed; a repeated field's values joined by ", ".
    repeated: the names of the fields that came more than once.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    repeated: FrozenSet[str] = frozenset()


class Door(Protocol):
    """What an HTTP transport puts before the rest of the ladder."""

    def door(self, head: Head) -> None:
        """Raise HTTPError for a head that is not let in."""

    def admit(self, head: Head) -> None:
        """The part of it that every path asks, Host and Origin."""


class Request:
    """A message being served.

    Given by the transport:
    head: the HTTP head, or None on stdio.
    read_body: returns the body's bytes; called once, by the framing rung, so that a request refused before it costs
        no body. Raises HTTPError where the body's own framing is wrong.
    notify: sends a notification (a dict) to the client ahead of the answer.
    endpoint: what the request came in through, which is what the door rung asks; None on stdio.

    Learned on the ladder, empty until then: id, method, params, meta, version, capabilities, principal.
    rung: the last that was asked. round: which attempt the handler made, 1 for the first, 0 for none yet.
    cancelled: set by the transport, from any thread, once nobody waits for the answer.
    """

    __slots__ = ("head", "read_body", "notify", "id", "method", "params", "meta", "version", "capabilities",
                 "principal", "rung", "round", "cancelled", "endpoint")

    def __init__(
        self,
        read_body: Callable[[], bytes],
        head: Optional[Head] = None,
        notify: Optional[Callable[[Dict[str, Any]], None]] = None,
        endpoint: Optional[Door] = None,
    ) -> None:
        self.head = head
        self.read_body = read_body
        self.notify = notify
        self.endpoint = endpoint
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
