"""server/utilities/pagination, the client's side: a whole list, page by page.

Implements PAGE-07 to PAGE-10.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from ..base.errors import InvalidParams, TransportError
from ..lib.text import shown
from ..transports.calls import Deadline
from .responses import listed

MAX_PAGES = 1000
MAX_ITEMS = 100_000


def pages(request: Callable[..., Dict[str, Any]], method: str, name: str, deadline: Deadline, again: bool = True,
          **options: Any) -> List[Dict[str, Any]]:
    """The items of all pages. A cursor is sent back as it came, and means nothing here.

    request: that of the client, called with these options. name: the member that holds them. Where a cursor is refused
    on the way (-32602), the list has changed under it and is fetched anew, once. again: whether that may still be.
    """
    found: List[Dict[str, Any]] = []
    params: Dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        try:
            result = request(method, params, timeout=deadline, **options)
        except InvalidParams:
            if not params or not again:
                raise
            return pages(request, method, name, deadline, False, **options)
        found += listed(result, name)
        cursor = result.get("nextCursor")
        if cursor is None:
            return found
        if not isinstance(cursor, str):
            raise TransportError(f"the nextCursor of {method} must be a string, not {shown(cursor)}")
        if len(found) > MAX_ITEMS:
            break
        params = {"cursor": cursor}
    raise TransportError(f"{method} goes on beyond {MAX_PAGES} pages or {MAX_ITEMS} items")
