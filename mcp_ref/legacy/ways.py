"""basic/transports of 2025-11-25 and of 2024-11-05, the client's side: the ways by which a session's messages travel.

    Way           a connection that lasts (stdio), whose transport knows what is for whom
    Streamable    Streamable HTTP with a session: a POST a message, a GET stream for what the server says by itself, a
                  stream that ends early taken up again where it was left
    InProcess     a server of this process, in legacy/in_process
    OverSSE       HTTP+SSE of 2024-11-05: one GET stream with all that the server says, a POST elsewhere for a message

A way has `answer` and `notify`, as a transport has; `begun`, which keeps what initialize was answered with; and `open`,
after which the server can speak by itself. `heard` is given what it then says, `missed` called when some of it may have
been lost, and `gone` once nothing more can come. The revision that was negotiated decides on none of this.
"""

from __future__ import annotations

import queue
import re
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping, Optional, Tuple

from ..base.errors import AuthorizationError, BrokenOff, HTTPError, McpError, ProtocolError, TransportError
from ..base.log import log
from ..lib.text import shown
from ..lib.uri import Address, joined
from ..transports.calls import MAX_SECONDS, CallHandle, Deadline, Silence, encoded
from ..transports.endpoint import EVENT_STREAM

if TYPE_CHECKING:
    from ..transports.exchange import Exchange
    from ..transports.http_client import HTTPClient
    from ..transports.stdio_client import StdioClient

SESSION, VERSION = "Mcp-Session-Id", "MCP-Protocol-Version"
LEAST_WAIT, WAIT, LONGEST_WAIT = 0.05, 1.0, 30.0
"""Seconds until a stream is taken up again: at least, by default, and after attempts that brought nothing."""
ATTEMPTS = 5
"""Of these in a row the last is the last."""
OPENING = 2.0
"""Seconds that a first call waits for the GET stream; some servers send its head with the first event only."""
PARTING = 2.0
"""Seconds for the DELETE that ends a session."""

Message = Dict[str, Any]
Hear = Callable[[Message], None]
Gone = Callable[[], None]


class Way:
    """By a connection that lasts, whose transport tells apart what is for whom; and what all ways have."""

    cancels = True
    """Whether the transport itself tells the server of a request that was given up."""
    missed: Gone
    lost = False
    """Whether the server could speak by itself, and no longer can."""

    def __init__(self, transport: "StdioClient", heard: Hear, gone: Gone) -> None:
        self._transport = transport
        self._starts = 0
        transport.on_message, transport.on_ended = heard, gone

    def answer(self, message: Message, deadline: Deadline) -> Any:
        """As a transport's: a context manager that gives the exchange, with its `headers`, and the messages."""
        return self._transport.answer(message, {}, deadline)

    def notify(self, message: Message, deadline: Deadline) -> None:
        """As a transport's."""
        self._transport.notify(message, {}, deadline)

    def begun(self, version: str, headers: Mapping[str, str]) -> None:
        """The session begins. version: what was negotiated."""
        self._starts = self._transport.starts

    @property
    def over(self) -> bool:
        """Whether the connection, or the process, is gone that the session was begun by, and the session with it."""
        return self._starts > 0 and (self._transport.ended or self._transport.starts != self._starts)

    def open(self, deadline: Deadline) -> None:
        """Let the server speak by itself."""

    @property
    def hears(self) -> bool:
        """Whether it can."""
        return True

    @property
    def session(self) -> str:
        """What names the session on this way; a request refused under it may be sent under the next."""
        return ""

    def anew(self) -> None:
        """Forget the session, for an initialize that begins another."""

    def close(self) -> None:
        """End it. The transport is its owner's to close."""


class Streamable(Way):
    """By Streamable HTTP."""

    cancels = False
    over = False

    def __init__(self, http: "HTTPClient", heard: Hear, gone: Gone) -> None:
        self.heard, self._http, self._gone = heard, http, gone
        self._fields: Dict[str, str] = {}
        self._stream: Optional[_Stream] = None
        self._closed = threading.Event()

    @property
    def session(self) -> str:
        """Its Mcp-Session-Id."""
        return self._fields.get(SESSION, "")

    @property
    def hears(self) -> bool:
        """Whether there is a GET stream."""
        return self._stream is not None and self._stream.open.is_set()

    def begun(self, version: str, headers: Mapping[str, str]) -> None:
        """Keep the session's id and version for the headers of all that follows. Raises TransportError."""
        self._end_stream()
        named = headers.get(SESSION, "").strip()
        if not re.fullmatch("[\x21-\x7e]*", named):
            raise TransportError(f"a session's id is of visible ASCII characters, not {shown(named)}")
        self._fields = {VERSION: version, **({SESSION: named} if named else {})}

    def anew(self) -> None:
        """Forget the session, for an initialize that begins another."""
        self._end_stream()
        self._fields = {}

    def notify(self, message: Message, deadline: Deadline) -> None:
        """POST it."""
        self._http.notify(message, self._fields, deadline)

    @contextmanager
    def answer(self, message: Message, deadline: Deadline) -> Iterator[Tuple["Exchange", Iterator[Any]]]:
        """POST a request; its stream is taken up again by GET where it ends before the response."""
        with ExitStack() as stack:
            exchange, messages = stack.enter_context(self._http.answer(message, self._fields, deadline))
            yield exchange, self._whole(exchange, messages, deadline, stack)

    def _whole(self, exchange: "Exchange", messages: Iterator[Any], deadline: Deadline,
               stack: ExitStack) -> Iterator[Any]:
        while True:
            try:
                for message in _apart(messages):
                    yield message
                    if not isinstance(message, dict) or "method" not in message:
                        return
            except BrokenOff:
                if not exchange.last_event_id:
                    raise
            if not exchange.last_event_id:  # an empty one takes back what was there before
                return
            stack.close()
            deadline.pause(_wait(exchange, WAIT), self._closed)
            try:
                exchange, messages = stack.enter_context(self.resumed(exchange, deadline))
            except (ProtocolError, HTTPError) as error:
                raise BrokenOff(f"{self._http.address} ended its answer without the response, and did not take it up "
                                f"again: {error}") from None

    @contextmanager
    def resumed(self, before: "Optional[Exchange]", deadline: Deadline) -> Iterator[Tuple["Exchange", Iterator[Any]]]:
        """A stream by GET, which goes on after the last event of the exchange before, or is a new one."""
        fields = {"Accept": EVENT_STREAM, **self._fields}
        if before is not None and before.last_event_id:
            fields["Last-Event-ID"] = before.last_event_id.encode("utf-8").decode("latin-1")  # whose octets are sent
        with self._http.exchange("GET", None, fields, deadline) as exchange:
            if before is not None:
                exchange.heard(before.last_event_id, before.retry)
            yield exchange, _apart(self._http.told(exchange, self._http.events(exchange)))

    def open(self, deadline: Deadline) -> None:
        """Open the GET stream, and wait until it is there, or the server has said that it has none."""
        self.lost = False
        stream = self._stream = _Stream(self)
        stream.start(min(OPENING, deadline.left()))

    def lose(self) -> None:
        """The GET stream is gone."""
        self.lost = True
        self._gone()

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def close(self) -> None:
        """End the session by DELETE, which a server may refuse."""
        self._closed.set()
        self._end_stream()
        if self.session:
            fields, self._fields = self._fields, {}
            with suppress(McpError):
                with self._http.exchange("DELETE", None, fields, Deadline(PARTING)):
                    pass


class _Stream:
    """The GET stream, read by a thread of its own, and taken up again whenever it ends."""

    def __init__(self, way: Streamable) -> None:
        self.open = threading.Event()
        self._way = way
        self._tried, self._closed, self._handle = threading.Event(), threading.Event(), CallHandle()

    def start(self, seconds: float) -> None:
        """Begin, and wait so long for the answer."""
        with suppress(RuntimeError):  # a Python without threads, or out of them, hears nothing
            threading.Thread(target=self._read, name="mcp-get-stream", daemon=True).start()
            self._tried.wait(seconds)

    def close(self) -> None:
        """End it."""
        self._closed.set()
        self.open.clear()
        self._handle.cancel()

    def _read(self) -> None:
        exchange: "Optional[Exchange]" = None
        idle = 0
        while not self._closed.is_set() and idle < ATTEMPTS:
            wait, idle = min(WAIT * 2**idle, LONGEST_WAIT), idle + 1
            try:
                with self._way.resumed(exchange, Silence(MAX_SECONDS, self._handle)) as (resumed, messages):
                    if self.open.is_set() and not (exchange and exchange.last_event_id):
                        self._way.missed()
                    exchange = resumed
                    self.open.set()
                    self._tried.set()
                    for message in messages:
                        idle = 0
                        if isinstance(message, dict) and not self._closed.is_set():
                            self._way.heard(message)
            except (ProtocolError, HTTPError):  # 405, and whatever servers without such a stream answer
                if exchange is None or not exchange.last_event_id:
                    break
                exchange = None  # where it was it cannot go on, so that a new one is asked for
            except McpError as error:
                log.debug("the GET stream broke off: %s", error)
                if isinstance(error, AuthorizationError) and not error.passing:
                    break  # or a person would have to log in once for each attempt
            self._closed.wait(_wait(exchange, wait))
        self._tried.set()
        if self.open.is_set():
            self.open.clear()
            self._way.lose()


class Shared(Way):
    """By one channel, on which responses and all else come as they come."""

    cancels = False
    over = False
    _address: str

    def __init__(self, heard: Hear, gone: Gone) -> None:
        self._heard, self._gone = heard, gone
        self._calls: Dict[Any, "_Call"] = {}

    @contextmanager
    def answer(self, message: Message, deadline: Deadline) -> Iterator[Tuple["_Call", Iterator[Any]]]:
        """Send a request; its response comes by the channel."""
        call = self._calls[_key(message)] = _Call(deadline)
        if deadline.handle is not None:
            deadline.handle.add(call.hang_up)
        try:
            self.notify(message, deadline)
            yield call, call.messages(self._address)
        finally:
            self._calls.pop(_key(message), None)
            if deadline.handle is not None:
                deadline.handle.discard(call.hang_up)

    def _came(self, message: Any) -> None:
        """Whatever has come."""
        if isinstance(message, dict) and "method" in message:
            self._heard(message)
        elif isinstance(message, dict) and isinstance(message.get("id"), (str, int)):
            call = self._calls.get(_key(message))
            if call is not None:
                call.put(message)


class OverSSE(Shared):
    """By HTTP+SSE. Raises what shows that there is none: HTTPError, ProtocolError, TransportError, Timeout."""

    def __init__(self, http: "HTTPClient", heard: Hear, gone: Gone, deadline: Deadline) -> None:
        super().__init__(heard, gone)
        self._http, self._address = http, str(http.address)
        self._fields: Dict[str, str] = {}
        with ExitStack() as stack:
            opening = http.exchange("GET", None, {"Accept": EVENT_STREAM}, Deadline(deadline.left()))
            self._exchange = stack.enter_context(opening)
            events = http.events(self._exchange)
            first = next(events, None)
            if first is None or first.name != "endpoint" or first.data is None:
                raise TransportError(f"{http.address} sends an event stream that does not begin with endpoint")
            self.place = self._same_origin(first.data)
            self._exchange.deadline = Silence(MAX_SECONDS)
            self._stack = stack.pop_all()
        messages = _apart(http.told(self._exchange, events))
        try:
            threading.Thread(target=self._read, args=(messages,), name="mcp-sse", daemon=True).start()
        except RuntimeError:  # a Python without threads, or out of them
            self._stack.close()
            raise TransportError("HTTP+SSE takes a thread to read its stream, and none can be started") from None

    def _same_origin(self, data: bytes) -> str:
        """The URL that messages are to be sent to. Another origin's is not what the user named."""
        text = data.decode("utf-8", "replace").strip()
        try:
            there = Address(joined(self._http.address.url, text))
        except ValueError as error:
            raise TransportError(f"the endpoint event names no URL: {error}") from None
        if there.origin != self._http.address.origin:
            raise TransportError(f"the endpoint event names {there}, which is of another origin")
        return there.url

    def _read(self, messages: Iterator[Any]) -> None:
        with self._stack:
            try:
                for message in messages:
                    self._came(message)
            except McpError as error:
                log.debug("the event stream broke off: %s", error)
        self.over = True
        self._calls, ended = {}, list(self._calls.values())
        for call in ended:
            call.put(None)
        self._gone()

    def begun(self, version: str, headers: Mapping[str, str]) -> None:
        """Keep the version for the headers of all that follows."""
        self._fields = {VERSION: version}

    def notify(self, message: Message, deadline: Deadline) -> None:
        """POST it; of what answers the POST nothing is read."""
        with self._http.exchange("POST", encoded(message), self._fields, deadline, self.place) as exchange:
            if not 200 <= exchange.response.status < 300:
                raise HTTPError(exchange.response.status, "the message was refused", exchange.headers.items())

    def close(self) -> None:
        """End the stream, and with it the session."""
        self._exchange.hang_up()


class _Call:
    """One request that waits for its response on a stream that it shares."""

    headers: Mapping[str, str] = {}

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self._happened: "queue.SimpleQueue[Optional[Message]]" = queue.SimpleQueue()

    def put(self, message: Optional[Message]) -> None:
        """What has come for it; None for the end of the stream."""
        self._happened.put(message)

    def hang_up(self) -> None:
        """Whoever waits looks up."""
        self._happened.put(None)

    def messages(self, address: str) -> Iterator[Any]:
        """The response. Raises Timeout, CallCancelled, BrokenOff."""
        while True:
            try:
                message = self._happened.get(timeout=min(self.deadline.left(), MAX_SECONDS))
            except queue.Empty:
                self.deadline.waited()
                continue
            self.deadline.left()
            if message is None:
                raise BrokenOff(f"{address} ended its event stream without the response")
            yield message


def _key(message: Message) -> Any:
    """What a request and its response have in common: the id, its JSON type included."""
    return type(message.get("id")), message.get("id")


def _wait(exchange: "Optional[Exchange]", otherwise: float) -> float:
    """Seconds until a stream is taken up again: what the server has told, and `otherwise` where it has not."""
    return otherwise if exchange is None or exchange.retry is None else max(LEAST_WAIT, exchange.retry)


def _apart(messages: Iterator[Any]) -> Iterator[Any]:
    """Each message by itself: an array holds several (2025-03-26, basic/index, Batching)."""
    for message in messages:
        yield from message if isinstance(message, list) else (message,)
