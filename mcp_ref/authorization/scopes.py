"""basic/authorization, Scope Selection and Step-Up: what a request's token permits of a server's features.

Implements AUTH-57, AUTH-58, AUTH-62 to AUTH-67, CACHE-25, CACHE-26. Apart from the resource server, which a server
without authorization does not load.
"""

from __future__ import annotations

import re
from typing import Any, Dict, FrozenSet, Mapping, Optional, Protocol, Sequence, Tuple, TypeVar

from ..base.errors import HTTPError, refusal
from ..base.request import Request


class Granting(Protocol):
    """What knows which scopes a token grants: authorization.resource_server.ResourceServer."""

    scopes: Tuple[str, ...]

    def granted(self, principal: Any) -> FrozenSet[str]:
        """The scopes that a principal's claims grant."""

    def insufficient(self, scopes: Sequence[str]) -> HTTPError:
        """The 403 that asks for a token with all of `scopes`."""


class Scoped(Protocol):
    """What a token with certain scopes may use."""

    scopes: Tuple[str, ...]


Item = TypeVar("Item", bound=Scoped)

_SCOPE = r"[\x21\x23-\x5b\x5d-\x7e]+"


def scope_names(scopes: Sequence[str]) -> Tuple[str, ...]:
    """Scopes as a tuple, given as one or as the space-separated text of OAuth; each once, in order.

    Raises ValueError for what is no scope, and for offline_access, which no resource requires (AUTH-57, AUTH-58).
    """
    names = tuple(scopes.split() if isinstance(scopes, str) else scopes)
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(_SCOPE, name):
            raise ValueError(f"not a scope: {name!r}")
        if name == "offline_access":
            raise ValueError("offline_access is between client and authorization server: a resource never requires it")
    return tuple(dict.fromkeys(names))


def visible(auth: Optional[Granting], request: Request, items: Mapping[str, Item]) -> Dict[str, Item]:
    """Those of `items` that the request's token may use, in their order: what a list method lists."""
    granted = None if request.head is None else _granted(auth, request)
    return {key: item for key, item in items.items() if granted is None or granted.issuperset(item.scopes)}


def is_scoped(items: Mapping[str, Scoped]) -> bool:
    """Whether what is listed of `items` depends on who asks."""
    return any(item.scopes for item in items.values())


def permit(auth: Optional[Granting], request: Request, scopes: Sequence[str]) -> None:
    """Raise the 403 that names all that this operation needs, unless the request's token grants `scopes`.

    To be called before anything is sent to the client. A server without `auth` grants no scope over HTTP.
    """
    if not scopes or request.head is None or _granted(auth, request).issuperset(scopes):
        return
    if auth is None:
        raise refusal(403, "forbidden", "this needs scopes, and the server has no authorization that could grant them")
    raise auth.insufficient((*auth.scopes, *scopes))


def _granted(auth: Optional[Granting], request: Request) -> FrozenSet[str]:
    return frozenset() if auth is None else auth.granted(request.principal)
