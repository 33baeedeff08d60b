"""basic/transports/stdio, Cancellation: the other end of a connection that lasts, and the requests under way on it.

Implements CANC-20, CANC-22 to CANC-24.

On HTTP every request is a connection of its own and has no Peer. On stdio all share one channel: the transport gives
each Request the same Peer, and the core tells it

    begin(request)    at the end of framing, once the id of a request is known: what begins is in flight
    cancel(id, why)   of notifications/cancelled, whatever the era
    send(message)     for what goes to the client beside the Answer: notifications, and in the eras before 2026-07-28
                      server-to-client requests and the responses of requests whose Answer was empty

A request is in flight until its response is sent, by the transport from the Answer or by `send`, or it is cancelled.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ..lib.text import shown
from .errors import InvalidRequest
from .log import log
from .request import Request, RequestId


class Peer:
    """Whoever is at the other end of a connection that lasts; a transport says how it is written to.

    in_flight: the requests under way by their id; 1 and "1" are two. session: what an era with sessions keeps of this
    connection, once it is initialized.
    """

    def __init__(self) -> None:
        self.in_flight: Dict[RequestId, Request] = {}
        self.session: Optional[Any] = None

    def begin(self, request: Request) -> None:
        """`request` is framed, and under way from now on. A second time for the same one does nothing.

        Raises InvalidRequest where another one with its id is under way, and what the transport raises to have the
        request served again later.
        """
        assert request.id is not None
        if self.in_flight.setdefault(request.id, request) is not request:
            raise InvalidRequest("Invalid Request: the id is that of a request which is still under way")

    def end(self, request: Request) -> None:
        """Nothing more is sent for `request`: it is answered, or nobody waits for it."""
        request.notify = None
        if request.id is not None and self.in_flight.get(request.id) is request:
            del self.in_flight[request.id]

    def cancel(self, request_id: Any, reason: Any = None) -> Optional[Request]:
        """Have the request of that id end; returns it, or None where there is none under way, which is no error.

        Its handler learns of it as of a client that went away, and nothing more is sent for it.
        """
        request = self.in_flight.pop(request_id, None) if type(request_id) in (str, int) else None
        if request is not None:
            log.info("request %s is cancelled: %s", shown(request_id), shown(reason, 200))
            request.cancelled = True
        return request

    def send(self, message: Dict[str, Any]) -> None:
        """Write any message to it, whole, from any thread. A response is sent only while its request is in flight, and
        ends it.

        Raises patterns.notifications.Cancelled when the client is gone.
        """
        raise NotImplementedError
