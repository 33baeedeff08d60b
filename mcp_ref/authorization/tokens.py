"""basic/authorization, Access Token Usage and Refresh Tokens: what a token endpoint grants.

Implements AUTH-33, AUTH-35, AUTH-41 to AUTH-43, AUTH-45, AUTH-56, AUTHSEC-03, AUTHSEC-36.
"""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from ..lib.text import shown
from .discovery import AuthorizationServer, Resource
from .dpop import Proofs
from .registration import Credentials
from .web import Reply, Web

MAX_LIFETIME = 10 * 365 * 86400
_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True)
class Granted:
    """A token and what it belongs to; without a token, what is remembered of the last one.

    scopes: those that were asked for. allowed: those that the authorization server names as granted, None where it
    names none, which means all of them. place: where the resource's metadata was, as a challenge said. expires: epoch
    seconds, None where the server did not say.
    """

    issuer: str
    scopes: Tuple[str, ...] = ()
    place: Optional[str] = None
    access: Optional[str] = field(default=None, repr=False)
    kind: str = "Bearer"
    expires: Optional[float] = None
    refresh: Optional[str] = field(default=None, repr=False)
    client_id: Optional[str] = None
    allowed: Optional[str] = None

    @property
    def good(self) -> bool:
        """Whether there is a token, and its time is not over."""
        return self.access is not None and (self.expires is None or time.time() < self.expires)

    @property
    def authorization(self) -> str:
        """The value of the Authorization field that carries the token."""
        return f"{self.kind} {self.access}"

    def record(self) -> Dict[str, Any]:
        """As a TokenStore keeps it."""
        return asdict(self)


def remembered(record: Optional[Mapping[str, Any]]) -> Optional[Granted]:
    """What a TokenStore kept, None for nothing, and for what is none of ours."""
    try:
        held = Granted(**{**(record or {}), "scopes": tuple((record or {}).get("scopes", ()))})
    except TypeError:
        return None
    texts = (held.issuer, held.access or "", held.refresh or "", held.kind, held.place or "", *held.scopes,
             held.client_id or "", held.allowed or "")
    return held if all(isinstance(text, str) for text in texts) and type(held.expires) in (int, float, type(None)) \
        else None


class Target(NamedTuple):
    """What a token is asked for: which resource, of whom, with which scopes, and as whom."""

    web: Web
    resource: Resource
    server: AuthorizationServer
    scopes: Tuple[str, ...]
    place: Optional[str]
    proofs: Optional[Proofs]

    def granted(self, form: Mapping[str, str], client: Optional[Credentials]) -> Granted:
        """Ask the token endpoint, once. Raises AuthorizationError, whose code is the OAuth error's."""
        assert client is not None, "whoever asks for a token is known by then"
        fields, headers = client.authentication(self.server)
        form = {**form, "resource": self.resource.resource, **fields}
        endpoint = self.server.metadata["token_endpoint"]
        reply = self._posted(endpoint, form, headers, client.secret)
        if reply.status == 400 and self.proofs is not None and reply.refusal().code == "use_dpop_nonce":
            if self.proofs.take_nonce(endpoint, reply.headers.get("DPoP-Nonce")):
                reply = self._posted(endpoint, form, headers, client.secret)
        if reply.status != 200:
            raise reply.refusal()
        return replace(self._taken(reply, reply.object()), client_id=client.client_id)

    def _posted(self, endpoint: str, form: Mapping[str, str], headers: Mapping[str, str],
                secret: Optional[str]) -> Reply:
        if self.proofs is not None:
            headers = {**headers, "DPoP": self.proofs.proof("POST", endpoint)}
        return self.web.post(endpoint, "the token endpoint", form, headers, secret)

    def _taken(self, reply: Reply, given: Dict[str, Any]) -> Granted:
        token, kind, expires, refresh, allowed = (given.get(name) for name in (
            "access_token", "token_type", "expires_in", "refresh_token", "scope"))
        wanted = "Bearer" if self.proofs is None else "DPoP"
        if "error" in given:
            raise reply.refusal()
        if not isinstance(kind, str) or kind.lower() != wanted.lower():
            raise reply.fault(f"granted a token of the type {shown(kind)}, not {wanted}")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise reply.fault("granted no access_token that a header can carry")
        end = None  # what is no time above 0 says nothing, and a 401 will tell
        if isinstance(expires, (int, float)) and expires > 0:
            end = time.time() + min(expires, MAX_LIFETIME)
        return Granted(self.server.issuer, self.scopes, self.place, token, wanted, end,
                       refresh if isinstance(refresh, str) else None, None,
                       allowed if isinstance(allowed, str) else None)
