"""server/discover: what this server is, speaks and can do.

Implements DISC-01, DISC-03, VERS-04.
"""

from __future__ import annotations

from typing import Any, Dict

from ..base.request import Request
from .state import State


def discover(state: State, request: Request) -> Dict[str, Any]:
    """The DiscoverResult, its serverInfo aside, which every result carries."""
    result: Dict[str, Any] = {"resultType": "complete", "supportedVersions": list(state.versions),
                              "capabilities": state.capabilities}
    if state.instructions is not None:
        result["instructions"] = state.instructions
    return state.hints_of(request.method).onto(result)
