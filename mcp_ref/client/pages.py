"""server/utilities/pagination, the client's side: one page of a list, and a whole list page by page.

Implements PAGE-07 to PAGE-10, CACHE-20, CACHE-21.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from ..base.errors import InvalidParams, TransportError
from ..lib.text import shown
from ..transports.calls import Deadline
from .responses import listed

LISTS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
         "resources/templates/list": "resourceTemplates"}
"""Method to the member that holds a page's items."""
MAX_PAGES = 1000
MAX_ITEMS = 100_000


def checked(result: Dict[str, Any], method: str) -> Dict[str, Any]:
    """A page, without the items that nobody could use. Raises TransportError for what is none."""
    cursor = result.get("nextCursor")
    if not isinstance(cursor, (str, type(None))):
        raise TransportError(f"the nextCursor of {method} must be a string, not {shown(cursor)}")
    return {**result, LISTS[method]: listed(result, LISTS[method])}


def whole(request: Callable[..., Dict[str, Any]], method: str, deadline: Deadline, again: bool = True,
          **options: Any) -> List[Dict[str, Any]]:
    """The items of all pages. A cursor is sent back as it came, and means nothing here.

    request: that of the client, called with these options. Where a cursor is refused on the way (-32602), the list has
    changed under it and is fetched anew, once. again: whether that may still be.
    """
    found: List[Dict[str, Any]] = []
    cursor: Optional[str] = None
    for _ in range(MAX_PAGES):
        try:
            page = checked(request(method, at(cursor), timeout=deadline, **options), method)
        except InvalidParams:
            if cursor is None or not again:
                raise
            return whole(request, method, deadline, False, **options)
        found += page[LISTS[method]]
        cursor = page.get("nextCursor")
        if cursor is None:
            return found
        if len(found) > MAX_ITEMS:
            break
    raise TransportError(f"{method} goes on beyond {MAX_PAGES} pages or {MAX_ITEMS} items")


def at(cursor: Optional[str]) -> Dict[str, Any]:
    """The params of a request for a page; None for the first."""
    return {} if cursor is None else {"cursor": cursor}
