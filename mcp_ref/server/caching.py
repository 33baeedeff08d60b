"""server/utilities/caching: how long, and for whom, a result may be kept.

Implements CACHE-01 to CACHE-06, CACHE-13, CACHE-22 to CACHE-24.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional

SCOPES = ("public", "private")


class Hints(NamedTuple):
    """ttl_ms: milliseconds that a result may be considered fresh. scope: "public" or "private"."""

    ttl_ms: int = 0
    scope: str = "private"

    def onto(self, result: Dict[str, Any]) -> Dict[str, Any]:
        """`result` with ttlMs and cacheScope."""
        result["ttlMs"] = self.ttl_ms
        result["cacheScope"] = self.scope
        return result


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
