"""server/utilities/caching, the client's side: results that a server lets clients keep, and for whom.

Implements CACHE-07 to CACHE-12, CACHE-14, CACHE-15, CACHE-17, CACHE-19.

A result is kept as the octets of its JSON, so that nobody alters another's, and so that the bound is one of memory. It
is found again by the server, the method and the parameters that it is the answer to; a private one also by the headers
that its request was authorized with, of which a digest is kept. Nothing is fetched in the background: who asks for what
is stale fetches it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from ..base.meta import LOG_LEVEL, PROGRESS_TOKEN
from ..base.request import CACHEABLE
from ..lib.strict_json import decode, encode
from ..lib.trace_context import TRACE_CONTEXT
from ..patterns.state_sealer import digest
from ..patterns.subscriptions import LIST_CHANGED, RESOURCE_UPDATED
from .pages import LISTS, MAX_PAGES, at
from .responses import INPUT_REQUIRED

READ = "resources/read"
CHANGED = {LIST_CHANGED["toolsListChanged"]: ("tools/list",), LIST_CHANGED["promptsListChanged"]: ("prompts/list",),
           LIST_CHANGED["resourcesListChanged"]: ("resources/list", "resources/templates/list")}
"""The lists that a notification says have changed."""
LONGEST = 2**53
"""Milliseconds of a ttlMs that count, which no process sees the end of."""
WITHOUT_EFFECT = frozenset((PROGRESS_TOKEN, LOG_LEVEL, *TRACE_CONTEXT))
"""The `_meta` of a request that its result does not depend on."""
_NUMBERS = itertools.count(1)


class Place(NamedTuple):
    """Where a result is kept. server, method: that it is of. uri: that was read, "" for a list. asked: a digest of the
    parameters. owner: a digest of the authorization, of a private result; "" for a public one.
    """

    server: str
    method: str
    uri: str
    asked: str
    owner: str


class Kept(NamedTuple):
    """octets: of the result as JSON. until: when it is stale."""

    octets: bytes
    until: float


class Cache:
    """Results kept for as long as their servers allow. Any number of clients and threads may share one.

    max_octets: of all results together, those used longest ago given up first; no single one has more than a quarter.
    clock: seconds, ever increasing.
    """

    def __init__(self, max_octets: int = 16 * 1024 * 1024, clock: Callable[[], float] = time.monotonic) -> None:
        if type(max_octets) is not int or max_octets < 1:
            raise ValueError(f"max_octets is a number of octets of at least 1, not {max_octets!r}")
        self._max, self._clock = max_octets, clock
        self._size = 0
        self._kept: "OrderedDict[Place, Kept]" = OrderedDict()
        self._lock = threading.Lock()
        self.changes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, server: str, method: str, params: Mapping[str, Any],
            authorization: Optional[Mapping[str, str]]) -> Optional[Dict[str, Any]]:
        """A fresh result of this very request, a copy; None where there is none.

        authorization: the header fields that the request would be sent with beside those of the protocol; None where
        they are not known, and only a public result will do.
        """
        if method not in CACHEABLE:
            return None
        place = _place(server, method, params, authorization or {})
        public = place._replace(owner="")
        with self._lock:
            for each in (public,) if authorization is None else (place, public):
                kept = self._kept.get(each)
                if kept is not None and self._clock() < kept.until:
                    self._kept.move_to_end(each)
                    break
            else:
                return None
        result: Dict[str, Any] = decode(kept.octets)
        return result

    def put(self, server: str, method: str, params: Mapping[str, Any], authorization: Mapping[str, str],
            result: Mapping[str, Any], changes: int) -> None:
        """Keep the result of a request, if it may be kept: one with a positive ttlMs that no question preceded.

        changes: the number `changes` as it was before the request: a result that was on its way while something was
        told to have changed may be of before it.
        """
        ttl, public = result.get("ttlMs"), result.get("cacheScope") == "public"
        asked = "inputResponses" in params or "requestState" in params or result.get("resultType") == INPUT_REQUIRED
        if type(ttl) is not int or ttl <= 0 or method not in CACHEABLE or asked:
            return
        place, octets = _place(server, method, params, authorization), encode(result)
        with self._lock:
            if changes != self.changes or len(octets) > self._max // 4:
                return
            self._drop(place)
            self._drop(place._replace(owner=""))
            until = self._clock() + min(ttl, LONGEST) / 1000
            self._kept[place._replace(owner="") if public else place] = Kept(octets, until)
            self._size += len(octets)
            while self._size > self._max:
                self._drop(next(iter(self._kept)))

    def hear(self, server: str, notification: Mapping[str, Any]) -> None:
        """Take a notification of this server's, and forget what it says has changed."""
        method = notification.get("method")
        if method == RESOURCE_UPDATED:
            self.forget(server, READ, (notification.get("params") or {}).get("uri"))
        for each in CHANGED.get(str(method), ()):
            self.forget(server, each)

    def forget(self, server: str, method: Optional[str] = None, uri: Optional[str] = None) -> None:
        """Drop what is kept of a server, of one method or one resource where they are given."""
        with self._lock:
            self.changes += 1
            for place in [place for place in self._kept if place.server == server
                          and method in (None, place.method) and uri in (None, place.uri)]:
                self._drop(place)

    def _drop(self, place: Place) -> None:
        kept = self._kept.pop(place, None)
        if kept is not None:
            self._size -= len(kept.octets)


class Share:
    """One client's part in a Cache: clients share what is of one URL; a server that is a process or in it is its own.

    transport: of the client, whose `authorized` tells the header fields that a request would be sent with now, beside
    those of the protocol, or None. What one was sent with may differ, where a token was renewed on the way. Raises
    TypeError.
    """

    def __init__(self, cache: Cache, transport: Any) -> None:
        if not isinstance(cache, Cache):
            raise TypeError(f"cache is a Cache, not {cache!r}")
        url = hasattr(transport.address, "origin")
        self._cache, self._authorized = cache, transport.authorized
        self._server = str(transport.address) if url else f"{transport.address} {next(_NUMBERS)}"

    def find(self, method: str, params: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
        """A fresh result of this request."""
        if method not in CACHEABLE:
            return None
        return self._cache.get(self._server, method, params, self._authorized())

    def pages(self, method: str, params: Mapping[str, Any]) -> Optional[List[Dict[str, Any]]]:
        """All pages of a list, if each of them is fresh."""
        found: List[Dict[str, Any]] = []
        cursor, authorization = None, self._authorized()
        while len(found) < MAX_PAGES:
            page = self._cache.get(self._server, method, {**params, **at(cursor)}, authorization)
            if page is None:
                return None
            found.append(page)
            cursor = page.get("nextCursor")
            if cursor is None:
                return found
        return None

    def ask(self, method: str, params: Mapping[str, Any],
            post: Callable[[Callable[[Mapping[str, str]], None]], Dict[str, Any]]) -> Dict[str, Any]:
        """The result of a request, which is kept. post: sends it, and tells what it was authorized with."""
        sent: Dict[str, str] = {}
        changes = self._cache.changes
        result = post(sent.update)
        self._cache.put(self._server, method, params, sent, result, changes)
        return result

    def refused(self, method: str, params: Mapping[str, Any]) -> None:
        """-32602 came: a list whose cursor it is has changed, and the tools may have, of which one was called."""
        if method == "tools/call":
            self._cache.forget(self._server, "tools/list")
        elif method in LISTS and params.get("cursor") is not None:
            self._cache.forget(self._server, method)

    def hear(self, notification: Mapping[str, Any]) -> None:
        """Take a notification of the server's."""
        self._cache.hear(self._server, notification)


def _place(server: str, method: str, params: Mapping[str, Any], authorization: Mapping[str, str]) -> Place:
    meta = {name: value for name, value in (params.get("_meta") or {}).items() if name not in WITHOUT_EFFECT}
    uri = params.get("uri")
    return Place(server, method, uri if isinstance(uri, str) else "", digest({**params, "_meta": meta}),
                 digest({name.lower(): value for name, value in authorization.items()}))
