"""basic/transports/streamable-http, in a server that people already run: a WSGI application (PEP 3333).

The core is the same, and so is the ladder; what the WSGI server has done by then, no rung can do again:

    octets    the server's own: heads, their size, the time they take, slots
    door      all of it. Repeated fields come joined by commas: a repeated Host is an unknown one (403, not 400), a
              repeated Mcp-* header equals nothing in the body (-32020, as ever), a repeated token is no good one (401,
              not 400). The target comes decoded, so that another spelling of the path is the path
    framing   the body has the length announced, or the server says where it ends (wsgi.input_terminated); a server
              that does neither and is sent chunks answers 411

A call that may send notifications (it names a progressToken or a logLevel) runs in a thread of its own while the
server takes events from the iterable; every other call runs where the server called. A server learns that a client has
gone when it writes to it, a keep-alive comment at the latest; it then closes the iterable, by which the request is
cancelled. A call that has sent nothing yet cannot be cancelled. subscriptions/listen keeps a thread of the server's
for as long as it lasts, and is refused where the server has one alone (wsgi.multithread).
"""

from __future__ import annotations

import queue
import threading
import time
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from ..base.errors import HTTPError, TooManySubscriptions, refusal
from ..base.log import log
from ..base.request import Answer, BodyAwaited, Head, Request, Serving
from ..lib.strict_json import encode
from ..lib.uri import percent_encoded
from ..patterns.notifications import Cancelled
from . import sse
from .endpoint import EVENT_STREAM, MAX_BODY, Endpoint

MAY_STREAM = (b"progressToken", b"logLevel", b"\\u")
"""One of these stands in the body of every request that may have notifications; \\u since a name may be so spelled."""
QUEUED = 64
"""Events that wait for the server; whoever sends more waits."""
GLANCE = 0.25
"""Seconds between two looks of one who waits at whether the client is still there."""
PIECE = 64 * 1024
ONE_THREAD = "Too many subscriptions: this worker has one thread, which a stream would keep; run it with several"
STREAM_FIELDS = (("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"))

StartResponse = Callable[..., Any]


class WSGIApp:
    """One Server as a WSGI application; `Server.wsgi_app` makes it and says what the options mean.

    Raises ValueError for an option that cannot be used.
    """

    def __init__(self, mcp: Serving, path: str = "/mcp", origins: Iterable[str] = (), cors: Iterable[str] = (),
                 max_body: int = MAX_BODY, keep_alive: float = 15.0, health: Optional[str] = None) -> None:
        if not keep_alive > 0:
            raise ValueError(f"keep-alive is a number of seconds above 0, not {keep_alive}")
        self.mcp, self.path, self.keep_alive = mcp, path, keep_alive
        allowed, pages = list(origins), [*cors, *mcp.cors]

        @lru_cache(maxsize=16)
        def mounted(at: str) -> Endpoint:
            return Endpoint(at + path if path != "/" or not at else at, origins=allowed, max_body=max_body, cors=pages,
                            public=mcp.public_hosts, health=None if health is None else at + health)

        self.mounted = mounted
        mounted("")

    def __call__(self, environ: Dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        return Exchange(self, environ, start_response).run()


class Exchange:
    """One request of a WSGI server, and its answer."""

    def __init__(self, app: WSGIApp, environ: Dict[str, Any], start_response: StartResponse) -> None:
        at, place = (spelled(environ.get(name, "")) for name in ("SCRIPT_NAME", "PATH_INFO"))
        self._app, self._environ, self._start = app, environ, start_response
        self._endpoint = app.mounted(at.rstrip("/"))
        alone = app.path == "/" and place in ("", "/")
        self._head = head_of(environ, self._endpoint.path if alone else at + place)
        self._body: Optional[bytes] = None
        self._fault: Optional[HTTPError] = None
        self._request = Request(self._read_body, self._head, endpoint=self._endpoint)
        self._happened: "queue.Queue[Union[bytes, Answer]]" = queue.Queue(QUEUED)

    def run(self) -> Iterable[bytes]:
        """The body of the answer, whose head is given to start_response."""
        try:
            answer = self._app.mcp.handle(self._request)
        except BodyAwaited:
            self._collect()
            if self._body is not None and any(mark in self._body for mark in MAY_STREAM):
                return self._run_beside()
            answer = self._app.mcp.handle(self._request)
        return self._answer(answer)

    # The body

    def _read_body(self) -> bytes:
        if self._fault is not None:
            raise self._fault
        if self._body is None:
            raise BodyAwaited()
        return self._body

    def _collect(self) -> None:
        """Read the body, whose announced length the door let in, or say what is wrong with it."""
        length = self._head.headers.get("content-length")
        left = self._endpoint.max_body + 1 if length is None else int(length)
        pieces: List[bytes] = []
        try:
            while left:
                piece = self._environ["wsgi.input"].read(min(left, PIECE))
                if not piece:
                    break
                left -= len(piece)
                pieces.append(piece)
        except Exception as error:  # of whatever kind the server raises for chunks that are none, or a client gone
            log.info("a body cannot be read: %s", type(error).__name__)
            length, left = "", 1
        if length is None and not left:
            self._fault = self._endpoint.too_large()
        elif length is not None and left:
            self._fault = refusal(400, "bad request", "the request ended before it was complete")
        else:
            self._body = b"".join(pieces)

    # A call that may stream

    def _run_beside(self) -> Iterable[bytes]:
        """Have the handler run in a thread of its own; what comes first decides whether the answer is a stream."""
        self._request.notify = self._notify
        try:
            threading.Thread(target=self._work, name="mcp-wsgi", daemon=True).start()
        except RuntimeError:  # no more threads to be had: it runs here, and sends no notifications
            self._request.notify = None
            return self._answer(self._app.mcp.handle(self._request))
        first = self._happened.get()
        return self._stream(self._events(first)) if isinstance(first, bytes) else self._answer(first)

    def _work(self) -> None:
        try:
            self._put(self._app.mcp.handle(self._request))
        except Cancelled:  # the iterable is closed, and nobody takes anything from it
            pass

    def _notify(self, message: Dict[str, Any]) -> None:
        if not self._put(sse.event(encode(message))):
            raise Cancelled()

    def _put(self, happened: Union[bytes, Answer]) -> bool:
        """Hand this to the server's thread, once it has room for it; False if nobody takes it any more."""
        while not self._request.cancelled:
            try:
                self._happened.put(happened, timeout=GLANCE)
                return True
            except queue.Full:
                pass
        return False

    def _events(self, first: bytes) -> Iterator[bytes]:
        happened: Union[bytes, Answer] = first
        while isinstance(happened, bytes):
            yield happened
            try:
                happened = self._happened.get(timeout=self._app.keep_alive)
            except queue.Empty:
                happened = sse.KEEP_ALIVE
        yield sse.event(happened.body)

    # Answering

    def _answer(self, answer: Answer) -> Iterable[bytes]:
        stream = answer.stream
        if stream is not None:
            if self._environ.get("wsgi.multithread", True):
                return self._stream(self._news(stream), stream.close)
            stream.close()
            error = {**TooManySubscriptions(0).body(), "message": ONE_THREAD}
            answer = Answer(503, encode({"jsonrpc": "2.0", "id": self._request.id, "error": error}))
        fields = list(answer.headers)
        if answer.status != 204:  # of no other may a type be left out, as wsgiref.validate has it
            fields += [("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body)))]
        self._begin(answer.status, fields)
        return [answer.body] if answer.body and self._head.method != "HEAD" else []

    def _begin(self, status: int, fields: Iterable[Tuple[str, str]]) -> None:
        self._start(f"{status} {HTTPStatus(status).phrase}", [*fields, *self._endpoint.exposed(self._head)])

    def _stream(self, pieces: Iterator[bytes], close: Callable[[], None] = lambda: None) -> "EventStream":
        def end() -> None:
            self._request.cancelled = True
            close()

        self._begin(200, [("Content-Type", EVENT_STREAM), *STREAM_FIELDS])
        return EventStream(pieces, end)

    def _news(self, stream: Any) -> Iterator[bytes]:
        """A subscription, as events: what it has queued, and a comment when it is silent."""
        bell = threading.Event()
        stream.wake = bell.set
        while not stream.overrun:
            bell.clear()
            ended = stream.ended  # asked first: what was queued before the end is then among what is taken
            messages = stream.take()
            if messages:
                yield b"".join(map(sse.event, messages))
            if ended:
                return
            left = self._app.keep_alive if stream.expires is None else stream.expires - time.time()
            if bell.wait(max(0.0, min(left, self._app.keep_alive))):
                continue
            if stream.expires is not None and time.time() >= stream.expires:
                stream.end()
            else:
                yield sse.KEEP_ALIVE


class EventStream:
    """What the server iterates over, and closes when it has come to the end or its client has gone."""

    def __init__(self, pieces: Iterator[bytes], end: Callable[[], None]) -> None:
        self._pieces, self.close = pieces, end

    def __iter__(self) -> "EventStream":
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)


def spelled(place: str) -> str:
    """A path of the environ, octets as characters, as a request line has it."""
    return percent_encoded(place.encode("latin-1", "replace").decode("utf-8", "replace"), "/:@!$&'()*+,;=")


def head_of(environ: Dict[str, Any], target: str) -> Head:
    """The head that a request had, as far as its environ tells."""
    headers = {name[5:].replace("_", "-").lower(): value.strip(" \t") for name, value in environ.items()
               if name.startswith("HTTP_")}
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers[name.replace("_", "-").lower()] = environ[name]
    if "content-length" not in headers and not environ.get("wsgi.input_terminated"):
        headers.pop("transfer-encoding", None)  # nobody knows where such a body ends
    query = environ.get("QUERY_STRING")
    return Head(environ["REQUEST_METHOD"], f"{target}?{query}" if query else target, headers,
                persistent=environ.get("SERVER_PROTOCOL") != "HTTP/1.0")
