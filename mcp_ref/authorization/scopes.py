"""basic/authorization, Scope Selection and Step-Up: what a request's token permits of a server's features.

Implements AUTH-57, AUTH-58, AUTH-62 to AUTH-67, CACHE-25, CACHE-26. Apart from the resource server, which a server
without authorization does not load.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, FrozenSet, Mapping, Sequence, Tuple, TypeVar

from ..base.request import Request
from ..transports.endpoint import refusal

if TYPE_CHECKING:
    from ..server.registry import Registered
    from ..server.server import Server

Item = TypeVar("Item", bound="Registered")

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


def scope_names(scopes: Sequence[str]) -> Tuple[str, ...]:
    """Scopes as a tuple, given as one or as the space-separated text of OAuth; each once, in order.

    Raises ValueError for what is no scope, and for offline_access, which no resource requires (AUTH-57, AUTH-58).
    """
    names = tuple(scopes.split() if isinstance(scopes, str) else scopes)
    for name in names:
        if not isinstance(name, str) or not _SCOPE.fullmatch(name):
            raise ValueError(f"not a scope: {name!r}")
        if name == "offline_access":
            raise ValueError("offline_access is between client and authorization server: a resource never requires it")
    return tuple(dict.fromkeys(names))


def visible(server: "Server", request: Request, items: Mapping[str, Item]) -> Dict[str, Item]:
    """Those of `items` that the request's token may use, in their order: what a list method lists."""
    granted = None if request.head is None else _granted(server, request)
    return {key: item for key, item in items.items() if granted is None or granted.issuperset(item.scopes)}


def is_scoped(items: Mapping[str, "Registered"]) -> bool:
    """Whether what is listed of `items` depends on who asks."""
    return any(item.scopes for item in items.values())


def require_scopes(server: "Server", request: Request, scopes: Sequence[str]) -> None:
    """Raise the 403 that names all that this operation needs, unless the request's token grants `scopes`.

    To be called before anything is sent to the client. A server without `auth` grants no scope over HTTP.
    """
    if not scopes or request.head is None or _granted(server, request).issuperset(scopes):
        return
    if server.auth is None:
        raise refusal(403, "forbidden", "this needs scopes, and the server has no authorization that could grant them")
    raise server.auth.insufficient((*server.auth.scopes, *scopes))


def _granted(server: "Server", request: Request) -> FrozenSet[str]:
    return frozenset() if server.auth is None else server.auth.granted(request.principal)
