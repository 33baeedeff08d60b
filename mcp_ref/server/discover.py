"""server/discover: what this server is, speaks and can do.

Implements DISC-01, DISC-03, VERS-04, CACHE-01.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

from ..base.request import Request

if TYPE_CHECKING:
    from .server import Server


def discover(server: "Server", request: Request) -> Dict[str, Any]:
    """The DiscoverResult, its serverInfo aside, which every result carries."""
    result: Dict[str, Any] = {"resultType": "complete", "supportedVersions": list(server.supported_versions),
                              "capabilities": server.capabilities}
    if server.instructions is not None:
        result["instructions"] = server.instructions
    return server.hints_of(request.method).onto(result)
