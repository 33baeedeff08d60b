"""basic/transports of 2025-11-25, Session Management: what is known of a client between its requests.

A session over HTTP has an id of 128 random bits, which only the principal that began it can use. It ends by DELETE, an
hour after its last use, or when there are too many and it was used longest ago. On stdio it is the connection's, and
ends with it. What a client declared is kept as JSON, so that a session takes little, whatever it declares.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from itertools import islice
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Tuple

from ..base.errors import InvalidParams, refusal
from ..base.request import RequestId
from ..lib.strict_json import decode, encode
from ..patterns.notifications import Cancelled
from .revisions import V2511, notification
from .streams import Kept, Streams

HEADER = "mcp-session-id"
LIMIT, TTL = 10_000, 3600.0
"""Sessions at once; seconds that one lives without being used."""
PATIENCE = 600.0
"""Seconds that a client has to answer a question."""
MAX_ASKED = 100
"""Questions of one session that wait for an answer."""
MAX_HELD = 64 * 1024 * 1024
"""Octets of all the requests that wait for answers of their clients, and of the answers that have come."""
MAX_DECLARED = 3 * 1024
"""Octets of what a client declares of itself."""
LEVEL = "info"
"""Of the log messages that are sent to a client that has set none."""

Hear = Callable[[Dict[str, Any]], None]


class Session:
    """One client. version: the revision agreed on, "" before initialize. principal: the name of who began it.

    ready: whether the client is, so that it may be told of changes. level: of log messages. uris: of the resources that
    it follows. under_way: its requests that have no answer yet, by id, each with a `cancel()`. channel: where messages
    to it go, if not on the streams of their requests: stdio's Peer, or the event stream of HTTP+SSE.
    """

    __slots__ = ("hub", "id", "version", "principal", "ready", "level", "uris", "under_way", "channel", "used",
                 "_declared", "_asked", "_streams", "_count")

    def __init__(self, hub: "Sessions", principal: str = "", version: str = "") -> None:
        self.hub, self.principal, self.version = hub, principal, version
        self.id = ""
        self.ready = False
        self.level = LEVEL
        self.uris: FrozenSet[str] = frozenset()
        self.under_way: Dict[RequestId, Any] = {}
        self.channel: Any = None
        self.used = 0.0
        self._declared = b""
        self._asked: Dict[int, Tuple[Any, Hear]] = {}
        self._streams: Optional[Streams] = None
        self._count = 0

    def agree(self, version: str, capabilities: Mapping[str, Any], info: Mapping[str, Any]) -> None:
        """Take what initialize settles. Raises InvalidParams for more than MAX_DECLARED."""
        declared = encode([capabilities, info])
        if len(declared) > MAX_DECLARED:  # icons are what makes an implementation large, and for display only
            declared = encode([capabilities, {name: info[name] for name in info if name != "icons"}])
        if len(declared) > MAX_DECLARED:
            raise InvalidParams(f"Invalid params: capabilities and clientInfo have at most {MAX_DECLARED} octets")
        self._declared, self.version = declared, version

    @property
    def declared(self) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """The client's capabilities, as 2026-07-28 has them, and its clientInfo."""
        capabilities, info = decode(self._declared) if self._declared else ({}, {})
        return capabilities, info

    @property
    def kept(self) -> bool:
        """Whether there will be another request of it."""
        return self.id != "" or self.channel is not None

    @property
    def streams(self) -> Streams:
        """Its event streams."""
        with self.hub.lock:
            if self._streams is None:
                self._streams = Streams(self.hub.kept, self.version >= V2511)
        return self._streams

    @property
    def over(self) -> bool:
        """Whether its time is: it was not used for TTL, and nothing of it is under way or being read."""
        read = self._streams.read if self._streams is not None else self.channel is not None
        return self.used + TTL < time.monotonic() and not read and not self.under_way

    # Questions

    def ask(self, outlet: Any, question: Mapping[str, Any], hear: Hear) -> int:
        """Send a request by `outlet.send`; its id.

        hear: given the response, once and from any thread, or an error in its place after PATIENCE, and at once where
        the server stops. Raises Cancelled where there is nobody to ask.
        """
        with self.hub.lock:
            self._count += 1
            id, crowded = self._count, len(self._asked) >= MAX_ASKED
            self._asked[id] = outlet, hear
            self.hub.wait(self, id)
        if outlet.stopping:  # asked only now that it is known above: whichever comes second, this or give_up, sees it
            self.give_up(outlet)
            return id
        try:
            if crowded or outlet.send({"jsonrpc": "2.0", "id": id, **question}) is False:
                self.answered(_failed(id, "it cannot be asked now, for it is asked too much already"))
        except Cancelled:
            self._forget(id)
            raise
        return id

    def hold(self, octets: int) -> bool:
        """Whether so much more may be kept while it waits for a client; a negative number gives it back."""
        with self.hub.lock:
            room = self.hub.held + octets <= MAX_HELD
            self.hub.held += octets if room else 0
        return room

    def answered(self, message: Mapping[str, Any]) -> None:
        """Hear a response; one to no question of ours, or a second one, is passed over."""
        asked = self._forget(message.get("id"))
        if asked is not None:
            asked[1](dict(message))

    def lapse(self, id: int) -> None:
        """The time to answer a question is over, which the client is told."""
        asked = self._forget(id)
        if asked is not None:
            with suppress(Cancelled):
                asked[0].send(_withdrawal(id))
            asked[1](_failed(id, f"it has not answered within {PATIENCE:g} seconds"))

    def give_up(self, outlet: Any) -> None:
        """The server stops, and waits for no answer to what it asked there."""
        for id, (there, _) in list(self._asked.items()):
            if there is outlet:
                self.answered(_failed(id, "the server stops"))

    def withdraw(self, id: RequestId) -> None:
        """Nobody waits for that answer any more, which the client is told. Raises Cancelled where there is nobody."""
        asked = self._forget(id)
        if asked is not None:
            asked[0].send(_withdrawal(id))

    def _forget(self, id: Any) -> Optional[Tuple[Any, Hear]]:
        if type(id) is not int:
            return None
        with self.hub.lock:
            self.hub.waiting.pop((self, id), None)
            return self._asked.pop(id, None)

    # What is told unasked

    def hears(self, uri: Optional[str]) -> bool:
        """Whether this client is told of a change; uri: of the resource that was updated, None for that of a list."""
        return self.ready and (uri is None or uri in self.uris)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a notification that belongs to no request."""
        known = notification(self.version, message)
        if known is None:
            return
        if self.channel is None:
            return self.streams.standalone().put(encode(known))
        try:
            self.channel.send(known)
        except Cancelled:
            self.end()

    def end(self) -> None:
        """End it: what is under way is cancelled, and its streams end."""
        self.hub.drop(self)
        for exchange in list(self.under_way.values()):
            exchange.cancel()
        if self._streams is not None:
            self._streams.end()
        if self.channel is not None and self.id:
            self.channel.close()


def _withdrawal(id: RequestId) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}


def _failed(id: int, why: str) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": why}}


class Sessions:
    """All the sessions of one server. lock: of the table and the questions. held: octets, see MAX_HELD."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held = 0
        self.kept = Kept()
        self.listening: Dict[Session, None] = {}  # those that can be told something unasked
        self.waiting: Dict[Tuple[Session, int], float] = {}  # questions, and when each lapses; the oldest first
        self._by_id: Dict[str, Session] = {}  # the one used longest ago first
        self._watching = False

    def __len__(self) -> int:
        return len(self._by_id)

    def begin(self, principal: str) -> Session:
        """A new session over HTTP, for which the one used longest ago gives way where there are too many."""
        import secrets  # and OpenSSL with it, which takes a server's start some milliseconds

        made = Session(self, principal)
        made.id, made.used = secrets.token_urlsafe(16), time.monotonic()
        ended: List[Session] = []
        with self.lock:
            for oldest in list(islice(self._by_id.values(), 2)):
                if len(self._by_id) >= LIMIT or oldest.over:
                    ended.append(self._by_id.pop(oldest.id))
            self._by_id[made.id] = made
        for each in ended:
            each.end()
        return made

    def find(self, id: str, principal: str) -> Optional[Session]:
        """The session of an id, which is then used; None for one that is unknown, over or somebody else's."""
        with self.lock:
            session = self._by_id.get(id)
            if session is None or session.principal != principal:
                return None
            del self._by_id[id]
            over = session.over
            if not over:
                session.used = time.monotonic()
                self._by_id[id] = session
        if over:
            session.end()
        return None if over else session

    def drop(self, session: Session) -> None:
        """Forget one that ends."""
        with self.lock:
            self._by_id.pop(session.id, None)
            self.listening.pop(session, None)

    def publish(self, method: str, uri: Optional[str] = None) -> None:
        """Tell every client that listens, and follows `uri` where one is given."""
        if self.listening:
            message = change(method, uri)
            for session in list(self.listening):
                if session.hears(uri):
                    session.tell(message)

    # Time: one thread for all questions, which ends when none waits

    def wait(self, session: Session, id: int) -> None:
        """Have a question lapse in time; with the lock held."""
        self.waiting[session, id] = time.monotonic() + PATIENCE
        if not self._watching:
            try:
                threading.Thread(target=self._watch, name="mcp-questions", daemon=True).start()
                self._watching = True
            except RuntimeError:  # where no thread can be started, no question lapses
                pass

    def _watch(self) -> None:
        while True:
            with self.lock:
                first = next(iter(self.waiting), None)
                if first is None:
                    self._watching = False
                    return
                left = self.waiting[first] - time.monotonic()
            if left > 0:
                time.sleep(min(left, 1.0))
            else:
                first[0].lapse(first[1])


def change(method: str, uri: Optional[str] = None) -> Dict[str, Any]:
    """The notification of a change. uri: of the resource that was updated."""
    return {"jsonrpc": "2.0", "method": method, **({} if uri is None else {"params": {"uri": uri}})}


def unknown() -> Any:
    """The refusal of a session that there is not; its client begins a new one."""
    return refusal(404, "not found", "there is no such session; initialize, without a session id, begins one")
