"""basic/authorization/client-registration: who the client is at an authorization server, and how it shows that.

Implements AUTH-06, AUTH-12, AUTH-55, REG-01 to REG-05, REG-10 to REG-13, REG-20 to REG-30, ASDISC-03, ASDISC-04.

In this order: credentials that the user has, the URL of a metadata document, dynamic registration. What an
authorization server issued is kept under its issuer, and shown to no other.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple
from urllib.parse import quote_plus

from ..base.errors import AuthorizationError
from ..lib.text import base64_text, shown
from ..lib.uri import is_loopback, parsed
from .discovery import AuthorizationServer
from .dpop import Signer
from .resource_server import web_url
from .token_store import TokenStore
from .web import Web

JWT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
NONE, BASIC, POST, PRIVATE_KEY_JWT = "none", "client_secret_basic", "client_secret_post", "private_key_jwt"


@dataclass(frozen=True)
class Credentials:
    """What a client is known by at one authorization server.

    method: how it authenticates, where its registration says so. redirect_uri: the one it was registered with.
    expires: epoch seconds after which the secret is void, 0 for never.
    """

    client_id: str
    secret: Optional[str] = field(default=None, repr=False)
    signer: Optional[Signer] = field(default=None, repr=False)
    method: Optional[str] = None
    redirect_uri: Optional[str] = None
    expires: float = 0

    def authentication(self, server: AuthorizationServer) -> Tuple[Dict[str, str], Dict[str, str]]:
        """The form and header fields that authenticate a token request. Raises AuthorizationError.

        The client_id stands in the form beside HTTP Basic too, since some servers look for it there alone.
        """
        method = self.method or self._method(server)
        if method == PRIVATE_KEY_JWT and self.signer is not None:
            assertion = self.signer.assertion(self.client_id, server.issuer)
            return {"client_assertion_type": JWT_ASSERTION, "client_assertion": assertion}, {}
        if method == NONE or self.secret is None:
            return {"client_id": self.client_id}, {}
        if method == POST:
            return {"client_id": self.client_id, "client_secret": self.secret}, {}
        if method == BASIC:
            pair = f"{quote_plus(self.client_id)}:{quote_plus(self.secret)}"
            return {"client_id": self.client_id}, {"Authorization": "Basic " + base64_text(pair.encode("ascii"))}
        raise AuthorizationError(f"the client was registered to authenticate by {shown(method)}, which it cannot")

    def _method(self, server: AuthorizationServer) -> str:
        offered = server.lists("token_endpoint_auth_methods_supported") or (BASIC,)
        able = [PRIVATE_KEY_JWT] if self.signer is not None else [BASIC, POST, NONE] if self.secret else [NONE]
        for method in able:
            if method in offered:
                return method
        if able == [NONE]:
            return NONE
        raise AuthorizationError(f"{server.issuer} lets clients authenticate by {', '.join(map(shown, offered))}, "
                                 f"and this one can {' or '.join(able)}")


def client_metadata(name: str, redirect_uri: str, method: str = NONE) -> Dict[str, Any]:
    """What a client says of itself (RFC 7591), in a registration or in a document at its client_id."""
    kind = "native" if is_loopback(parsed(redirect_uri).host or "") else "web"
    return {"client_name": name, "redirect_uris": [redirect_uri], "application_type": kind, "response_types": ["code"],
            "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": method}


def document_url(url: str) -> str:
    """`url`, if it can be a client_id that a metadata document stands at. Raises ValueError."""
    web_url(url, "metadata_url")
    uri = parsed(url)
    if uri.scheme != "https" or uri.path in ("", "/"):
        raise ValueError(f"metadata_url is an https URL with a path, not {url!r}")
    return url


def registered(store: TokenStore, server: AuthorizationServer) -> Optional[Credentials]:
    """The credentials of an earlier registration with this issuer, None where there is none that still holds."""
    held = store.load(_key(server.issuer))
    try:
        found = None if held is None else Credentials(**held)
    except TypeError:
        return None
    return None if found is None or 0 < found.expires <= time.time() else found


def register(web: Web, store: TokenStore, server: AuthorizationServer, name: str, redirect_uri: str) -> Credentials:
    """Register dynamically, and keep what was issued under the issuer. Raises AuthorizationError."""
    place = server.metadata.get("registration_endpoint")
    if place is None:
        raise AuthorizationError(f"{server.issuer} knows no clients by metadata document and registers none: "
                                 "register one by hand and give its client_id")
    offered = server.lists("token_endpoint_auth_methods_supported") or (NONE,)
    method = next((each for each in (NONE, BASIC, POST) if each in offered), NONE)
    reply = web.post_json(place, "the registration endpoint", client_metadata(name, redirect_uri, method))
    if reply.status not in (200, 201):
        raise reply.refusal()
    made = reply.object()
    client_id, expires = _text(made, "client_id"), made.get("client_secret_expires_at")
    if not client_id:
        raise reply.fault("registered a client without a client_id")
    found = Credentials(client_id, _text(made, "client_secret") or None, None,
                        _text(made, "token_endpoint_auth_method"), redirect_uri,
                        expires if isinstance(expires, (int, float)) else 0)
    store.save(_key(server.issuer), {**asdict(found), "signer": None})
    return found


def forget(store: TokenStore, issuer: str) -> None:
    """Drop the registration with this issuer, which no longer knows it."""
    store.save(_key(issuer), None)


def _text(members: Mapping[str, Any], name: str) -> Optional[str]:
    value = members.get(name)
    return value if isinstance(value, str) else None


def _key(issuer: str) -> str:
    return f"client {issuer}"
