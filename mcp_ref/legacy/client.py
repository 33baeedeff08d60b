"""basic/lifecycle of 2025-11-25, the client's side: a session with a server of the eras before 2026-07-28.

It begins with initialize, which offers 2025-11-25 and takes any older revision; once that is done, and before anything
is called, the server can speak by itself. From then on both ends ask: what the server asks, on the stream of a request
or on the GET stream, is answered by the callbacks that answer the rounds of 2026-07-28, and the clock of the calls
stands still meanwhile. Results are what they are in the new era, but for `resultType`.

A session that the server has forgotten (404) is begun anew, once, and the request that showed it sent again, since a
server that knows no session has not acted on it. The way that messages travel is in legacy/ways.
"""

from __future__ import annotations

import itertools
import queue
import threading
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Set, Tuple

from ..base import meta as reserved
from ..base.errors import (
    BrokenOff,
    HTTPError,
    InternalError,
    InvalidParams,
    McpError,
    MethodNotFound,
    ProtocolError,
    TransportError,
)
from ..base.log import log
from ..base.versioning import LEGACY
from ..client.elicitation import Inputs
from ..client.responses import Heard, result_of, same_id
from ..client.subscription import Listener, all_changed
from ..lib.text import shown
from ..patterns.mrtr import ELICITATION, ROOTS, SAMPLING
from ..patterns.subscriptions import ACKNOWLEDGED, LIST_CHANGED, RESOURCE_UPDATED
from ..transports.calls import Deadline, Silence
from .in_process import way_by
from .ways import OverSSE

NEEDED = {"tools": "tools", "prompts": "prompts", "resources": "resources", "completion": "completions",
          "logging": "logging"}
"""What a server must have advertised for the methods that begin so."""
ASKS = {ELICITATION: "elicitation", SAMPLING: "sampling", ROOTS: "roots"}
"""What this client must have declared for what a server asks."""
SAYING, ANSWERING = 2.0, 30.0
"""Seconds to tell the server what it can do without, and to bring it the answer to its question."""
MAX_QUESTIONS = 100
"""Of the server's that are being answered."""

Message = Dict[str, Any]


class Session:
    """A session, once `initialize` has been answered. Any number of threads may use it at once.

    transport: of the client. inputs: its callbacks. info: its clientInfo. heard: what it makes of notifications that
    belong to no request. level: of the log messages that are to be sent, None for none. ids: its request ids, which no
    other era uses again. streams: its open subscriptions. refused: whether the server would not begin it anew.
    """

    def __init__(self, transport: Any, inputs: Inputs, info: Mapping[str, Any], heard: Heard, level: Optional[str],
                 ids: "itertools.count[int]", streams: Set[Listener]) -> None:
        self.refused = False
        self.version = ""
        self.capabilities: Dict[str, Any] = {}
        self._transport, self._inputs, self._info, self._heard = transport, inputs, dict(info), heard
        self._level, self._ids, self._streams = level, ids, streams
        self._sent_level: Optional[str] = None
        self._initialized: Dict[str, Any] = {}
        self._way = way_by(transport, self._hear, self._gone)
        self._way.missed = self._missed
        self._lock = threading.Lock()
        self._under_way: Dict[int, Tuple[Deadline, Heard]] = {}
        self._feeds: List[_Feed] = []
        self._room, self._asking = threading.Semaphore(MAX_QUESTIONS), threading.Lock()
        self._asked: Dict[Any, bool] = {}

    # Beginning and end

    @property
    def ended(self) -> bool:
        """Whether it can only be another session from now on."""
        return self.refused or self._way.over

    def connect(self, deadline: Deadline) -> Dict[str, Any]:
        """Go over to HTTP+SSE; returns the `endpoint`. Raises what shows that the server has none."""
        self._way = way = OverSSE(self._transport, self._hear, self._gone, deadline)
        return {"endpoint": way.place}

    def initialize(self, version: str, deadline: Deadline) -> Dict[str, Any]:
        """Begin the session; returns the InitializeResult. Raises what a request does, and TransportError for a version
        that nobody here speaks.
        """
        message = self._message("initialize", {"protocolVersion": version, "capabilities": self._inputs.capabilities,
                                               "clientInfo": self._info})
        with self._way.answer(message, deadline) as (exchange, messages):
            told = itertools.dropwhile(lambda each: isinstance(each, dict) and "method" in each, messages)
            result = result_of(next(told, None), message["id"])
            headers = exchange.headers
        if result.get("protocolVersion") not in LEGACY:
            raise TransportError(f"the server answered initialize with version {shown(result.get('protocolVersion'))}; "
                                 f"this client speaks {', '.join(LEGACY)}")
        given = result.get("capabilities")
        self.version, self.capabilities = result["protocolVersion"], given if isinstance(given, dict) else {}
        self._initialized = result
        self._way.begun(self.version, headers)
        self._way.notify({"jsonrpc": "2.0", "method": "notifications/initialized"}, deadline)
        self._way.open(deadline)
        self._sent_level = None
        if self._level is not None:
            self._set_level(self._level, deadline)
        return result

    def discovered(self) -> Dict[str, Any]:
        """What initialize was answered with, in the form of a DiscoverResult."""
        made: Dict[str, Any] = {"supportedVersions": [self.version], "capabilities": self.capabilities}
        if isinstance(self._initialized.get("instructions"), str):
            made["instructions"] = self._initialized["instructions"]
        if isinstance(self._initialized.get("serverInfo"), dict):
            made["_meta"] = {reserved.SERVER_INFO: self._initialized["serverInfo"]}
        return made

    def close(self) -> None:
        """End the session, and tell the server so where it has something to forget."""
        self._gone()
        self._way.close()

    # Requests

    def request(self, method: str, params: Mapping[str, Any], deadline: Deadline, heard: Heard) -> Dict[str, Any]:
        """Send any request, answer what the server asks on the way, and return the result.

        params: as 2026-07-28 has them; of their `_meta` what is not reserved there is sent. heard: given what is told
        on the way. Raises MethodNotFound, before anything is sent, for what the server did not advertise.
        """
        if method == "server/discover":
            return self.discovered()
        self._require(method)
        fields = dict(params.get("_meta") or {})
        level = fields.get(reserved.LOG_LEVEL)
        if level is not None and level != self._sent_level:
            self._set_level(level, deadline)
        params = {name: value for name, value in params.items() if name != "_meta"}
        fields = {name: value for name, value in fields.items() if not name.startswith(reserved.PREFIX)}
        if fields:
            params["_meta"] = fields
        session, message = self._way.session, self._message(method, params)
        try:
            return self._once(message, deadline, heard)
        except (HTTPError, ProtocolError) as error:
            answered = isinstance(error, ProtocolError) and same_id(error.id, message["id"])
            if not session or error.status != 404 or answered:
                raise
        self._anew(session, deadline)
        return self._once(self._message(method, params), deadline, heard)

    def _message(self, method: str, params: Mapping[str, Any]) -> Message:
        made = {"jsonrpc": "2.0", "id": next(self._ids), "method": method}
        return {**made, "params": dict(params)} if params else made

    def _require(self, method: str) -> None:
        name = NEEDED.get(method.partition("/")[0])
        if name == "completions" and self.version == "2024-11-05":  # which has no such capability
            return
        if name is not None and not isinstance(self.capabilities.get(name), dict):
            raise MethodNotFound(f"{self._transport.address} did not advertise {name} in its answer to initialize, so "
                                 f"{method} is not asked for")

    def _set_level(self, level: str, deadline: Deadline) -> None:
        """Ask for log messages of that level and above, where the server sends any."""
        self._sent_level = level
        if "logging" in self.capabilities:
            self._once(self._message("logging/setLevel", {"level": level}), deadline, self._heard)

    def _anew(self, session: str, deadline: Deadline) -> None:
        """Begin another session in place of one that the server has forgotten, unless another thread has."""
        with self._lock:
            if self._way.session != session:
                return
            self._way.anew()
            try:
                self.initialize(self.version, deadline)
            except (HTTPError, ProtocolError):
                self.refused = True
                raise
            self._missed()
            for uri in {uri for feed in self._feeds for uri in feed.uris}:
                self._follow_again(uri, deadline)

    def _follow_again(self, uri: str, deadline: Deadline) -> None:
        """Subscribe as the session before had. Where the server refuses, who listens is told, not who made a call."""
        try:
            self._once(self._message("resources/subscribe", {"uri": uri}), deadline, self._heard)
        except ProtocolError as error:
            log.warning("%s does not tell of %s any more: %s", self._transport.address, shown(uri), error)
            for feed in self._feeds:
                if uri in feed.uris:
                    feed.hang_up()

    def _once(self, message: Message, deadline: Deadline, heard: Heard) -> Dict[str, Any]:
        """One attempt. A request that is given up is cancelled by a notification, since to go away cancels nothing."""
        request_id = message["id"]
        self._under_way[request_id] = deadline, heard
        try:
            with self._way.answer(message, deadline) as (_, messages):
                for answer in messages:
                    if not isinstance(answer, dict) or "method" not in answer:
                        return result_of(answer, request_id)
                    if not self._is_said(answer):
                        continue
                    if "id" in answer:
                        self._reply(answer, [deadline])
                    else:
                        self._tell(answer, heard)
            raise BrokenOff(f"{self._transport.address} ended its answer without the response")
        except BaseException as error:
            came = isinstance(error, (HTTPError, TransportError)) or isinstance(error, ProtocolError) and error.remote
            left = deadline.handle is not None and deadline.handle.cancelled
            if (left or not came) and not self._way.cancels:
                why = "not wanted any more" if left else str(error)
                self._say("notifications/cancelled", {"requestId": request_id, "reason": why})
            raise
        finally:
            self._under_way.pop(request_id, None)

    def _say(self, method: str, params: Message) -> None:
        """Send a notification whose loss does no harm."""
        with suppress(McpError):
            self._way.notify({"jsonrpc": "2.0", "method": method, "params": params}, Deadline(SAYING))

    # What the server says by itself, and what it asks

    def _hear(self, message: Message) -> None:
        """A message that belongs to no answer, in the thread that reads: a question is answered in one of its own."""
        if not self._is_said(message):
            return
        if "id" not in message:
            return self._tell(message, None)
        if not self._room.acquire(blocking=False):
            return log.warning("%s asks too much at once; a question is not answered", self._transport.address)
        try:
            threading.Thread(target=self._reply_beside, args=(message,), name="mcp-answer", daemon=True).start()
        except RuntimeError:  # a Python without threads, or out of them
            self._reply_beside(message)

    def _is_said(self, message: Message) -> bool:
        """Whether it is a request or a notification; to what is neither there is no answer, and it is passed over."""
        good = isinstance(message.get("method"), str) and type(message.get("id", 0)) in (str, int)
        if not good:
            log.warning("%s sent what is no request and no notification: %s", self._transport.address,
                        shown(message, 200))
        return good

    def _reply_beside(self, message: Message) -> None:
        try:
            with self._asking if message["method"] != "ping" else nullcontext():
                self._reply(message, [deadline for deadline, _ in list(self._under_way.values())])
        except Exception:
            log.exception("a question of %s was answered with an error", self._transport.address)
        finally:
            self._room.release()

    def _reply(self, message: Message, clocks: List[Deadline]) -> None:
        """Answer a request of the server's; the clocks stand still meanwhile. Raises what a callback raises, once the
        server has been told that there will be no answer.
        """
        key, failure = message["id"], None  # type: Any, Optional[BaseException]
        self._asked[key] = True
        try:
            with ExitStack() as held:
                for clock in clocks:
                    held.enter_context(clock.on_hold())
                answer: Message = {"result": self._answered(message)}
        except ProtocolError as error:
            answer, failure = {"error": error.body()}, None if isinstance(error, (MethodNotFound, _Refused)) else error
        except BaseException as error:
            answer, failure = {"error": InternalError("the client could not answer").body()}, error
        wanted = self._asked.pop(key, False)
        with suppress(HTTPError, ProtocolError):  # a server that refuses it no longer waits
            if wanted:
                self._way.notify({"jsonrpc": "2.0", "id": key, **answer}, Deadline(ANSWERING))
        if failure is not None:
            raise failure

    def _answered(self, message: Message) -> Any:
        method = message["method"]
        if method == "ping":
            return {}
        if ASKS.get(method) not in self._inputs.capabilities:
            raise MethodNotFound(f"this client does not answer {shown(method)}")
        try:
            return self._inputs.answer(message)
        except TransportError as error:
            raise _Refused(str(error)) from None

    def _tell(self, message: Message, heard: Optional[Heard]) -> None:
        """Hand a notification on. heard: of the request on whose answer it came; None where it came by itself."""
        method, params = message["method"], message.get("params")
        if method == "notifications/progress":
            for each in [heard] if heard is not None else [each for _, each in list(self._under_way.values())]:
                each(message)
        elif method == "notifications/message":
            (heard or self._heard)(message)
        elif method == "notifications/cancelled" and isinstance(params, dict):
            id = params.get("requestId")
            if type(id) in (str, int) and id in self._asked:
                self._asked[id] = False
        if isinstance(params or {}, dict) and isinstance((params or {}).get("_meta") or {}, dict):
            for feed in list(self._feeds):
                feed.offer(message)

    # Subscriptions

    def listen(self, wanted: Mapping[str, Any], deadline: Deadline, silence: Silence) -> Listener:
        """A stream of notifications as subscriptions/listen gives it: each with a subscriptionId of this side's own.

        wanted: its filter; what the server did not advertise is not in `honoured`. silence: not asked, for the GET
        stream is taken up again whenever it ends; what may have been missed meanwhile is then told as changed. Raises
        MethodNotFound where the server cannot speak by itself, and BrokenOff where it no longer does.
        """
        lost = self._way.lost
        if lost:
            self.request("ping", {}, deadline, self._heard)  # which begins the session anew where it is lost too
            if self._way.lost:
                self._way.open(deadline)
        if lost and not self._way.hears:
            raise BrokenOff(f"{self._transport.address} does not take up again the stream of what it says by itself")
        if not self._way.hears:
            raise MethodNotFound(f"{self._transport.address} has no stream for what it says by itself, so there is "
                                 "nothing to listen to")
        honoured: Message = {}
        for name in wanted:
            listed = name in LIST_CHANGED
            given = self.capabilities.get(LIST_CHANGED[name].split("/")[1] if listed else "resources")
            if isinstance(given, dict) and given.get("listChanged" if listed else "subscribe") is True:
                honoured[name] = wanted[name]
        feed = _Feed(next(self._ids), honoured, silence)
        return Listener(self._open(feed, deadline), feed.id, silence, self._streams)

    @contextmanager
    def _open(self, feed: "_Feed", deadline: Deadline) -> Iterator[Tuple["_Feed", Iterator[Message]]]:
        followed = {uri for each in self._feeds for uri in each.uris}
        self._feeds.append(feed)
        try:
            for uri in feed.uris - followed:
                self.request("resources/subscribe", {"uri": uri}, deadline, self._heard)
            yield feed, feed.messages()
        finally:
            self._feeds.remove(feed)
            for uri in feed.uris - {uri for each in self._feeds for uri in each.uris}:
                with suppress(McpError):
                    self.request("resources/unsubscribe", {"uri": uri}, Deadline(SAYING), self._heard)

    def _missed(self) -> None:
        """What came by itself may have been lost."""
        for feed in list(self._feeds):
            feed.miss()

    def _gone(self) -> None:
        """Nothing comes by itself any more."""
        for feed in list(self._feeds):
            feed.hang_up()


class _Refused(InvalidParams):
    """A question that may not be asked so."""


class _Feed:
    """What a session hears, for one who listens. uris: the resources that it follows."""

    until: Optional[float] = None

    def __init__(self, id: int, honoured: Message, silence: Silence) -> None:
        self.id = id
        self.deadline: Deadline = silence
        self.uris: FrozenSet[str] = frozenset(honoured.get("resourceSubscriptions", ()))
        self._honoured = honoured
        self._methods = {LIST_CHANGED[name] for name in honoured if name in LIST_CHANGED}
        self._happened: "queue.SimpleQueue[Optional[Message]]" = queue.SimpleQueue()
        self._put({"method": ACKNOWLEDGED, "params": {"notifications": honoured}})

    def offer(self, message: Message) -> None:
        """Take a notification, if it is one that was asked for."""
        uri = (message.get("params") or {}).get("uri")
        updated = message["method"] == RESOURCE_UPDATED and isinstance(uri, str) and uri in self.uris
        if updated or message["method"] in self._methods:
            self._put(message)

    def miss(self) -> None:
        """All that is followed may have changed."""
        for message in all_changed(self._honoured):
            self._put(message)

    def _put(self, message: Message) -> None:
        params = message.get("params") or {}
        fields = {**(params.get("_meta") or {}), reserved.SUBSCRIPTION_ID: self.id}
        self._happened.put({"jsonrpc": "2.0", **message, "params": {**params, "_meta": fields}})

    def hang_up(self) -> None:
        """Nothing more comes."""
        self._happened.put(None)

    def messages(self) -> Iterator[Message]:
        """The acknowledgment, and what comes from then on."""
        return iter(self._happened.get, None)
