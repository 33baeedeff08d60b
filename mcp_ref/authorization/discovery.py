"""basic/authorization/authorization-server-discovery: from a 401 to the metadata of an authorization server.

Implements AUTH-08, AUTH-10, AUTH-11, AUTH-36 to AUTH-40, ASDISC-06 to ASDISC-08, ASDISC-10 to ASDISC-20.

Identifiers are compared as the strings they are: an issuer that differs by a slash is another issuer. Only whether a
resource covers the URL that is called is a question of URIs, since its identifier is the server's to choose.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ..base.errors import AuthorizationError
from ..lib.text import shown
from ..lib.uri import Address, Uri, parsed
from .resource_server import WELL_KNOWN, web_url
from .web import Web

OAUTH, OPENID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"


class Resource(NamedTuple):
    """The metadata of a protected resource: its identifier, byte for byte, and what it says beside it."""

    resource: str
    issuers: Tuple[str, ...]
    metadata: Dict[str, Any]

    @property
    def scopes(self) -> Tuple[str, ...]:
        """Its scopes_supported, () where it names none."""
        return _texts(self.metadata, "scopes_supported")


class AuthorizationServer(NamedTuple):
    """The metadata of an authorization server, whose `issuer` is the one that was asked for."""

    issuer: str
    metadata: Dict[str, Any]

    def lists(self, name: str) -> Tuple[str, ...]:
        """A member that is a list of texts, () where it is absent."""
        return _texts(self.metadata, name)


def protected_resource(web: Web, server: Address, place: Optional[str]) -> Resource:
    """The metadata of the MCP server (RFC 9728).

    place: where a challenge says that it is; otherwise it is at the well-known URI with the path, or without. Raises
    AuthorizationError, also for a resource that does not cover the server's URL, which would make the token another's.
    """
    uri = parsed(server.url)
    path = (uri.path if uri.path != "/" else "") + ("" if uri.query is None else "?" + uri.query)
    places = [place] if place is not None else [uri.site + WELL_KNOWN + path, uri.site + WELL_KNOWN]
    metadata = _first(web, list(dict.fromkeys(places)), "the protected resource metadata")
    resource, issuers = metadata.get("resource"), _texts(metadata, "authorization_servers")
    if not isinstance(resource, str):
        raise AuthorizationError("the protected resource metadata names no resource")
    if not _covers(resource, uri):
        raise AuthorizationError(f"the protected resource metadata is of {shown(resource)}, not of {server}")
    if not issuers:
        raise AuthorizationError("the protected resource metadata names no authorization server")
    return Resource(resource, issuers, metadata)


def authorization_server(web: Web, issuer: str) -> AuthorizationServer:
    """The metadata of this issuer (RFC 8414, or OpenID Connect Discovery 1.0). Raises AuthorizationError."""
    try:
        uri = parsed(web_url(issuer, "an issuer"))
    except ValueError as error:
        raise AuthorizationError(str(error)) from None
    path = uri.path.rstrip("/")
    places = [uri.site + OAUTH + path, uri.site + OPENID + path] + ([uri.site + path + OPENID] if path else [])
    metadata = _first(web, places, f"the metadata of {shown(issuer)}")
    if metadata.get("issuer") != issuer:
        raise AuthorizationError(f"the metadata of {shown(issuer)} is that of {shown(metadata.get('issuer'))}")
    web.checked(metadata.get("token_endpoint"), "the token endpoint")
    return AuthorizationServer(issuer, metadata)


def _first(web: Web, places: List[str], what: str) -> Dict[str, Any]:
    """The JSON object at the first of these places that has one. Raises AuthorizationError, which tells of all."""
    faults = []
    for place in places:
        try:
            reply = web.get(place, f"{what} at {place if len(places) > 1 else shown(place, 200)}")
            if reply.status == 200:
                return reply.object()
            faults.append(reply.fault(f"answered {reply.status}"))
        except AuthorizationError as error:
            faults.append(error)
    raise AuthorizationError("; ".join(map(str, faults)), passing=any(fault.passing for fault in faults))


def _covers(resource: str, server: Uri) -> bool:
    """Whether a resource identifier is the server's URL, or the origin or path that it is part of."""
    try:
        uri = parsed(resource, ascii=True)
    except ValueError:
        return False
    if uri.origin != server.origin or uri.user is not None or uri.fragment is not None:
        return False
    path = uri.path.rstrip("/")
    below = server.path.rstrip("/") == path or server.path.startswith(path + "/")
    return below and uri.query in (None, server.query)


def _texts(metadata: Dict[str, Any], name: str) -> Tuple[str, ...]:
    value = metadata.get(name)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
