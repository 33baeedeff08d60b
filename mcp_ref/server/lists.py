"""server/utilities/pagination and server/utilities/caching: a list in pages, and how long a result may be kept.

Implements PAGE-03, PAGE-04, PAGE-11; CACHE-01 to CACHE-06, CACHE-13, CACHE-22 to CACHE-24.

A cursor seals the key of the last item handed out, so a page begins where the last one ended even if items were added
or removed meanwhile. A cursor of another list, another principal, an altered one, one that is over, or one whose item
is gone, is -32602.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from ..authorization.scopes import is_scoped, visible
from ..base.errors import InvalidParams
from ..base.request import Request
from ..patterns.state_sealer import Claim
from .definitions import Item, Registry
from .invoke import principal_name
from .state import Hints, State

SCOPES = ("public", "private")


def hints(ttl_ms: Optional[int], scope: Optional[str], default: Hints = Hints()) -> Hints:
    """Checked hints, what is None taken from `default`. Raises ValueError for a negative time or an unknown scope."""
    made = Hints(default.ttl_ms if ttl_ms is None else ttl_ms, default.scope if scope is None else scope)
    if isinstance(made.ttl_ms, bool) or not isinstance(made.ttl_ms, int) or made.ttl_ms < 0:
        raise ValueError(f"ttl_ms is a number of milliseconds, 0 or more, not {made.ttl_ms!r}")
    if made.scope not in SCOPES:
        raise ValueError(f"cache_scope is public or private, not {made.scope!r}")
    return made


def hints_by_method(caching: Mapping[str, Any], default: Hints) -> Dict[str, Hints]:
    """Checked hints of methods from pairs of ttl_ms and cache_scope. Raises TypeError for what is no pair."""
    for method, pair in caching.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"caching of {method} is a pair, as (60_000, \"public\"), not {pair!r}")
    return {method: hints(pair[0], pair[1], default) for method, pair in caching.items()}


def listed(state: State, request: Request, member: str, registry: Registry[Item],
           more: Optional[Mapping[str, Any]] = None, private: bool = False) -> Dict[str, Any]:
    """The result of a list method: the page asked for, with its caching hints.

    member: what the list is called in the result. registry: what is listed of it is what the caller may use. more:
    further definitions by key. Where the list depends on who asks, or if `private`, its cacheScope is private whatever
    the server's is, on every page and to everybody. Raises InvalidParams.
    """
    items = {key: item.definition for key, item in visible(state.auth, request, registry).items()}
    items.update(more or {})
    keys = list(items)
    claim = Claim(principal_name(request), request.method, "", None, state.name)
    start = 0
    if "cursor" in request.params:
        start = _after(keys, state.cursor_sealer.open(request.params["cursor"], claim))
    end = len(keys) if state.page_size is None else start + state.page_size
    result = {"resultType": "complete", member: [items[key] for key in keys[start:end]]}
    if end < len(keys):
        result["nextCursor"] = state.cursor_sealer.seal(claim, keys[end - 1])
    hints = state.hints_of(request.method)
    return (hints._replace(scope="private") if private or is_scoped(registry) else hints).onto(result)


def _after(keys: List[str], last: str) -> int:
    try:
        return keys.index(last) + 1
    except ValueError:
        raise InvalidParams("Invalid params: the cursor is stale, list again from the start") from None
