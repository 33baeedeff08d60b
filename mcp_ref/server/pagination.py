"""server/utilities/pagination: a list in pages, with cursors that only this server can make.

Implements PAGE-03, PAGE-04, PAGE-11.

A cursor seals the key of the last item handed out, so a page begins where the last one ended even if items were added
or removed meanwhile. A cursor of another list, another principal, an altered one, one that is over, or one whose item
is gone, is -32602.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..base.errors import InvalidParams
from ..base.request import Request
from ..patterns.state_sealer import Claim, StateSealer


def page(items: Mapping[str, Any], request: Request, sealer: StateSealer, claim: Claim,
         size: Optional[int]) -> Tuple[List[Any], Dict[str, Any]]:
    """The items of the page asked for, and {} or {"nextCursor": …}.

    items: key to item, in the list's order. size: items a page, None for all in one. Raises InvalidParams.
    """
    keys = list(items)
    start = 0
    if "cursor" in request.params:
        start = _after(keys, sealer.open(_text(request.params["cursor"]), claim))
    if size is None or start + size >= len(keys):
        return [items[key] for key in keys[start:]], {}
    end = start + size
    return [items[key] for key in keys[start:end]], {"nextCursor": sealer.seal(claim, keys[end - 1])}


def _text(cursor: Any) -> str:
    if not isinstance(cursor, str):
        raise InvalidParams("Invalid params: cursor must be a string")
    return cursor


def _after(keys: List[str], last: str) -> int:
    try:
        return keys.index(last) + 1
    except ValueError:
        raise InvalidParams("Invalid params: the cursor is stale, list again from the start") from None
