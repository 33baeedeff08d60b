"""basic/patterns/subscriptions: long-lived streams of change notifications, and who is sent what.

Implements SUBS-01 to SUBS-03, SUBS-07, META-17.

Sans-IO: a Subscription is a queue of messages that a transport empties. `publish` may be called from any thread; it
encodes once, queues and wakes, and never waits for a reader. The acknowledgment is queued under the same lock that
makes the subscription known to `publish`, so that it comes first and nothing after it is missed.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ..base.errors import InvalidParams, TooManySubscriptions
from ..base.meta import SUBSCRIPTION_ID, stamped
from ..base.request import RequestId
from ..lib.strict_json import encode

LIST_CHANGED = {"toolsListChanged": "notifications/tools/list_changed",
                "promptsListChanged": "notifications/prompts/list_changed",
                "resourcesListChanged": "notifications/resources/list_changed"}
RESOURCE_UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
MAX_URIS = 1000
MAX_QUEUED = 256 * 1024
MAX_FILTER = 192 * 1024
"""Octets of the URIs asked for: they are matched, kept, and with an id of MAX_ID queued as the acknowledgment."""
MAX_FILTERS = 64 * 1024 * 1024
"""Octets of all the acknowledgments of what is open, and so of the URIs that are kept."""
MAX_ID = 1024
"""Octets of the id of a subscription, which each of its notifications repeats."""

Matches = Callable[[str], object]  # None for a URI that is none of the template


class Subscription:
    """One open stream: the filter that is honoured, and the messages that wait for its reader.

    wake: set by the transport, called (under a lock, from any thread) whenever there is something to take.
    overrun: the reader was too slow, and what it has not read was dropped; the transport hangs up.
    expires: when the token that it was opened with is over, in seconds since the epoch; the transport ends it then.
    """

    __slots__ = ("id", "tag", "methods", "uris", "templates", "wake", "overrun", "ended", "expires", "_hub",
                 "_queue", "_size")

    def __init__(self, hub: "Subscriptions", id: RequestId, honoured: Dict[str, Any], templates: List[Matches]) -> None:
        self.id = id
        self.tag = encode(id)
        self.methods = frozenset(method for name, method in LIST_CHANGED.items() if name in honoured)
        self.uris = frozenset(honoured.get("resourceSubscriptions", ()))
        self.templates = templates
        self.wake: Optional[Callable[[], None]] = None
        self.overrun = self.ended = False
        self.expires: Optional[float] = None
        self._hub = hub
        self._queue: List[bytes] = []
        self._size = 0

    def wants(self, method: str, uri: Optional[str], matching: Dict[Matches, bool]) -> bool:
        """Whether a notification is one that this stream asked for and was granted (SUBS-01).

        matching: which templates match `uri`, filled in as they are asked, so that streams which share one ask once.
        """
        if uri is None:
            return method in self.methods
        for matches in self.templates:
            if matches not in matching:
                matching[matches] = matches(uri) is not None
        return uri in self.uris or any(matching[matches] for matches in self.templates)

    def queue(self, data: bytes) -> None:
        """Add a message, as JSON; called with the hub's lock held."""
        if self.overrun or self.ended:
            return
        self._size += len(data)
        if self._size > MAX_QUEUED:
            self.overrun = True
            self._queue.clear()
        else:
            self._queue.append(data)
        if self.wake is not None:
            self.wake()

    def take(self) -> List[bytes]:
        """The messages that wait, as JSON, which then wait no longer."""
        with self._hub.lock:
            taken, self._queue, self._size = self._queue, [], 0
        return taken

    def end(self) -> None:
        """End it from the server's side: the listen result is the last message (SUBS-06)."""
        result = stamped({"resultType": "complete", "_meta": {SUBSCRIPTION_ID: self.id}}, self._hub.server_info)
        data = encode({"jsonrpc": "2.0", "id": self.id, "result": result})
        with self._hub.lock:
            self.queue(data)
            self._leave()

    def close(self) -> None:
        """Nothing more is queued: it has ended, or its reader is gone."""
        with self._hub.lock:
            self._leave()

    def _leave(self) -> None:
        """Be ended; called with the hub's lock held."""
        self._hub.kept -= self._hub.streams.pop(self, 0)
        self.ended = True


class Subscriptions:
    """All the subscriptions of one server. limit: how many may be open at once. server_info: for the last result.

    hear: told of every notification as well, for clients of the eras before.
    """

    def __init__(self, limit: int, server_info: Mapping[str, Any]) -> None:
        self.limit = limit
        self.lock = threading.Lock()
        self.server_info = server_info
        self.streams: Dict[Subscription, int] = {}  # to the octets of its acknowledgment
        self.kept = 0
        self.hear: Callable[[str, Optional[str]], None] = lambda method, uri: None

    def __len__(self) -> int:
        return len(self.streams)

    def open(self, id: RequestId, honoured: Dict[str, Any], templates: List[Matches]) -> Subscription:
        """A subscription whose first message is the acknowledgment of what is honoured of the filter that was sent.

        templates: what matches the URIs of those that stand in it by their text; one for all subscriptions that share
        it. Raises InvalidParams, and TooManySubscriptions beyond the limit or MAX_FILTERS.
        """
        if len(encode(id)) > MAX_ID:
            raise InvalidParams(f"Invalid params: the id of a subscription has at most {MAX_ID} octets")
        made = Subscription(self, id, honoured, templates)
        before, after = _around_the_id(ACKNOWLEDGED, {"notifications": honoured})
        first = before + made.tag + after
        with self.lock:
            if len(self.streams) >= self.limit or self.kept + len(first) > MAX_FILTERS:
                raise TooManySubscriptions(self.limit)
            made.queue(first)
            self.streams[made] = len(first)
            self.kept += len(first)
        return made

    def publish(self, method: str, uri: Optional[str] = None) -> None:
        """Send a notification to every stream that asked for it. uri: of the resource that was updated."""
        before, after = _around_the_id(method, {} if uri is None else {"uri": uri})
        matching: Dict[Matches, bool] = {}
        with self.lock:
            for subscription in list(self.streams):
                if subscription.wants(method, uri, matching):
                    subscription.queue(before + subscription.tag + after)
        self.hear(method, uri)


def _around_the_id(method: str, params: Mapping[str, Any]) -> Tuple[bytes, bytes]:
    """A notification encoded once for all its readers: what stands before and after the subscriptionId."""
    message = {"jsonrpc": "2.0", "method": method, "params": {"_meta": {SUBSCRIPTION_ID: None}, **params}}
    before, name, after = encode(message).partition(encode(SUBSCRIPTION_ID) + b":")
    return before + name, after[len(b"null"):]
