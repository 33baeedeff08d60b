"""In process: a client and a server without a socket between them. `Client(server)` is how an author tests a server.

Every message is JSON on its way, and climbs the whole ladder: it comes with the head that it would have on HTTP, so
that door, authorization, Accept and mirrors are asked as well, `ctx.headers` is what HTTP would make it, and a test
that passes here holds on the network. By the ladder of stdio, which asks none of these, it need not.

A call runs the handler in the thread of its caller, where a debugger, a database connection of a test and a Python
without threads can follow it. A call that may end before its handler does, for it has a timeout or a handle, runs the
handler in a thread of its own, and its caller hears the notifications; where no thread can be started it runs in the
caller's all the same, and ends when the handler does. A subscription is a queue that its reader empties.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from ..base.errors import HTTPError, TransportError, received
from ..base.request import Answer, Head, Request, Serving
from ..base.versioning import RELEASE
from ..lib.strict_json import NotJson, decode, encode
from ..patterns.notifications import Cancelled
from ..patterns.subscriptions import Subscription
from .calls import MAX_SECONDS, Deadline, Headers, Notified, Sent, Wire, encoded, header_source
from .endpoint import EVENT_STREAM, JSON, Endpoint


class Memory:
    """Sends messages to one server of this process, as http_client.HTTPClient does to one elsewhere.

    headers: sent with every request, or what makes them for each. wire: called after each exchange with what was sent
    and what was received, JSON messages of one line each. Raises ValueError for a header that cannot be used.
    """

    timeout = MAX_SECONDS

    def __init__(self, server: Serving, headers: Headers = None, wire: Optional[Wire] = None) -> None:
        self.address = f"memory:{server.name}"
        self.wire = wire
        self._server, self._given = server, header_source(headers)
        self._endpoint = Endpoint(cors=server.cors)

    def authorized(self) -> Dict[str, str]:
        """The caller's header fields."""
        return self._given()

    def post(self, message: Mapping[str, Any], headers: Mapping[str, str], deadline: Deadline,
             notified: Notified, sent: Optional[Sent] = None) -> Any:
        """Send one request; returns what came as its response. notified: called with each notification ahead of it.
        sent: called with the fields of `authorized` that it went with.

        Raises Timeout, CallCancelled, HTTPError, and TransportError, for a message that is not JSON before anything is
        sent.
        """
        given = self._given()
        with Call(self, message, {**given, **headers}, deadline) as call:
            if sent is not None:
                sent(given)
            answer = call.run_here(notified) if deadline.endless else call.run_beside(notified)
            for message in call.messages(answer):
                if not isinstance(message, dict) or "method" not in message:
                    return message
                notified(message)
        raise TransportError(f"{self.address} ended its answer without the response")

    @contextmanager
    def answer(self, message: Mapping[str, Any], headers: Mapping[str, str],
               deadline: Deadline) -> Iterator[Tuple["Call", Iterator[Any]]]:
        """Send one request; gives the exchange, and the messages of its answer as they arrive. Leaving it ends it.

        It, and the iterator, raise what `post` does.
        """
        early: List[Dict[str, Any]] = []
        with Call(self, message, {**self._given(), **headers}, deadline) as call:
            yield call, itertools.chain(early, call.messages(call.run_here(early.append)))

    @property
    def era(self) -> str:
        """The era to speak with the server, which need not be asked: 2026-07-28 wherever it is served."""
        return "legacy" if self._server.era == "legacy" else "modern"

    def close(self) -> None:
        """There is nothing to close."""

    def request(self, body: bytes, headers: Mapping[str, str]) -> Request:
        """The request that `body` is to the server, with the head that it would have on HTTP."""
        fields = {"Host": "127.0.0.1", "User-Agent": f"mcp_ref/{RELEASE}", "Content-Type": JSON,
                  "Accept": f"{JSON}, {EVENT_STREAM}", "Content-Length": str(len(body)), **headers}
        head = Head("POST", self._endpoint.path, {name.lower(): value for name, value in fields.items()})
        return Request(lambda: body, head, endpoint=self._endpoint)

    def handle(self, request: Request) -> Answer:
        """The server's answer. Raises Cancelled once nobody waits for it."""
        return self._server.handle(request)


class Call:
    """One request and its answer; a context manager. deadline: of each wait, and may be changed on the way."""

    until: Optional[float] = None

    def __init__(self, transport: Memory, message: Mapping[str, Any], headers: Mapping[str, str],
                 deadline: Deadline) -> None:
        self.deadline = deadline
        self._transport, self._handle = transport, deadline.handle
        self._sent = encoded(message)
        self._received: List[bytes] = []
        self._arrived = 0
        self._stream: Optional[Subscription] = None
        self._request = transport.request(self._sent, headers)
        self._happened: "queue.SimpleQueue[Any]" = queue.SimpleQueue()

    def __enter__(self) -> "Call":
        if self._handle is not None:
            self._handle.add(self.hang_up)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.discard(self.hang_up)
        self._request.cancelled = True  # a handler that is still running works for nobody
        if self._stream is not None:
            self._stream.close()
        if self._transport.wire is not None:
            self._transport.wire(self._sent.decode("ascii"), b"\n".join(self._received).decode("utf-8"))

    def hang_up(self) -> None:
        """End it, from any thread: the handler learns that nobody waits, and whoever waits looks up."""
        self._request.cancelled = True
        self._happened.put(None)

    def run_here(self, notified: Notified) -> Answer:
        """The answer, from a handler in this thread."""
        self._request.notify = lambda message: notified(self._decoded(encode(message)))
        return self._transport.handle(self._request)

    def run_beside(self, notified: Notified) -> Answer:
        """The answer, from a handler in a thread of its own: this one waits. Raises Timeout, CallCancelled."""
        self._request.notify = self._notify
        thread = threading.Thread(target=self._run, name="mcp-in-process", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # a Python without threads, or out of them
            self._run()
        while True:
            happened = self._next()
            if isinstance(happened, Answer):
                return happened
            if happened is not None:
                notified(self._decoded(happened))

    def _run(self) -> None:
        try:
            self._happened.put(self._transport.handle(self._request))
        except Cancelled:
            self._happened.put(None)

    def _notify(self, message: Dict[str, Any]) -> None:
        if self._request.cancelled:
            raise Cancelled()
        self._happened.put(encode(message))

    def _decoded(self, data: bytes) -> Any:
        self._arrived += 1
        if self._transport.wire is not None:
            self._received.append(data)
        try:
            return decode(data)
        except NotJson as error:
            raise TransportError(f"{self._transport.address} sent what is not strict JSON: {error}") from None

    def _next(self, at_most: float = MAX_SECONDS) -> Any:
        """What happens next. Raises Timeout, CallCancelled, and queue.Empty after `at_most` seconds."""
        left = self.deadline.left()
        try:
            return self._happened.get(timeout=min(left, at_most))
        except queue.Empty:
            if at_most < left:
                raise
            raise self.deadline.error() from None

    def messages(self, answer: Answer) -> Iterator[Any]:
        """The messages of an answer: its response, or those of a subscription as they are published.

        Raises the ProtocolError that an HTTP error carries, and HTTPError for an answer that is no JSON-RPC message.
        """
        self._stream = stream = answer.stream
        if stream is None:
            try:
                message = self._decoded(answer.body) if answer.body else None
            except TransportError:
                if answer.status == 200:
                    raise
                message = None
            if not isinstance(message, dict) or "jsonrpc" not in message:
                raise HTTPError(answer.status, answer.body.decode("utf-8"), answer.headers)
            if answer.status != 200 and self._arrived == 1:  # on HTTP, what comes first decides on the status
                raise received(message["error"], answer.status)
            yield message
            return
        stream.wake = lambda: self._happened.put(None)
        while True:
            ended = stream.ended  # asked first: what was queued before the end is then among what is taken
            yield from map(self._decoded, stream.take())
            if ended or self._request.cancelled:
                return
            if stream.overrun:
                raise TransportError(f"{self._transport.address} sent more than was read")
            try:
                self._next(MAX_SECONDS if stream.expires is None else max(0.0, stream.expires - time.time()))
            except queue.Empty:
                stream.end()  # the token that it was opened with is over
