"""basic/versioning, Protocol Version Negotiation: every request names its version, in `_meta` and in a header.

Implements VERS-01, VERS-10, META-06, META-08, META-09, HTTP-23 to HTTP-26, HTTP-28, HTTP-79.
"""

from __future__ import annotations

from typing import Sequence

from .errors import HeaderMismatch, InvalidParams, UnsupportedProtocolVersion
from .meta import PROTOCOL_VERSION
from .request import Request

LATEST = "2026-07-28"
MODERN = (LATEST,)
HEADER = "mcp-protocol-version"


def initialize_hint(versions: Sequence[str]) -> str:
    """What any refusal of `initialize` ends with, since a legacy client can only show it to its user (VERS-10)."""
    names = ", ".join(versions)
    return f"This server implements the {names} stateless protocol; send server/discover instead of initialize."


def version(request: Request, supported: Sequence[str]) -> None:
    """The version rung: the header is there, `_meta` names a version, the two are equal, and it is implemented.

    A client of another era names its version in the header alone: it is told the supported ones, by which it can go on,
    before it is told what its `_meta` lacks. Sets meta and version. Raises HeaderMismatch, InvalidParams,
    UnsupportedProtocolVersion. On stdio there is no header, and its half of the rung falls away.
    """
    fields = request.params.get("_meta")
    named = fields.get(PROTOCOL_VERSION) if isinstance(fields, dict) else None
    header = None
    if request.head is not None:
        header = request.head.headers.get(HEADER)
        if not header:
            raise HeaderMismatch("Header mismatch: MCP-Protocol-Version header is required")
        if HEADER in request.head.repeated:
            raise HeaderMismatch("Header mismatch: MCP-Protocol-Version header is repeated")
        if header not in supported and not isinstance(named, str):
            raise UnsupportedProtocolVersion(header, supported)
    if not isinstance(fields, dict):
        raise InvalidParams("Invalid params: params._meta is required and must be an object")
    if not isinstance(named, str):
        raise InvalidParams(f"Invalid params: params._meta.{PROTOCOL_VERSION} is required and must be a string")
    if header is not None and header != named:
        raise HeaderMismatch("Header mismatch: MCP-Protocol-Version header does not match params._meta")
    if named not in supported:
        raise UnsupportedProtocolVersion(named, supported)
    request.meta = fields
    request.version = named
