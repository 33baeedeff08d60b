"""server/utilities/pagination: a list in pages, with cursors that only this server can make.

Implements PAGE-03, PAGE-04, PAGE-11, CACHE-22 to CACHE-24.

A cursor seals the key of the last item handed out, so a page begins where the last one ended even if items were added
or removed meanwhile. A cursor of another list, another principal, an altered one, one that is over, or one whose item
is gone, is -32602.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from ..authorization.scopes import is_scoped, visible
from ..base.errors import InvalidParams
from ..base.request import Request
from ..patterns.state_sealer import Claim
from .registry import Item, Registry
from .running import principal_name

if TYPE_CHECKING:
    from .server import Server


def listed(server: "Server", request: Request, member: str, registry: Registry[Item],
           more: Optional[Mapping[str, Any]] = None, private: bool = False) -> Dict[str, Any]:
    """The result of a list method: the page asked for, with its caching hints.

    member: what the list is called in the result. registry: what is listed of it is what the caller may use. more:
    further definitions by key. Where the list depends on who asks, or if `private`, its cacheScope is private whatever
    the server's is, on every page and to everybody. Raises InvalidParams.
    """
    items = {key: item.definition for key, item in visible(server, request, registry).items()}
    items.update(more or {})
    keys = list(items)
    claim = Claim(principal_name(request), request.method, "", None, server.name)
    start = 0
    if "cursor" in request.params:
        start = _after(keys, server.cursor_sealer.open(request.params["cursor"], claim))
    end = len(keys) if server.page_size is None else start + server.page_size
    result = {"resultType": "complete", member: [items[key] for key in keys[start:end]]}
    if end < len(keys):
        result["nextCursor"] = server.cursor_sealer.seal(claim, keys[end - 1])
    hints = server.hints_of(request.method)
    return (hints._replace(scope="private") if private or is_scoped(registry) else hints).onto(result)


def _after(keys: List[str], last: str) -> int:
    try:
        return keys.index(last) + 1
    except ValueError:
        raise InvalidParams("Invalid params: the cursor is stale, list again from the start") from None
