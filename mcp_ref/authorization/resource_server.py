"""basic/authorization, Access Token Usage and Error Handling: the server as an OAuth 2.1 resource server.

Implements AUTH-01, AUTH-02, AUTH-07, AUTH-13, AUTH-39, AUTH-40, AUTH-42, AUTH-46 to AUTH-49, AUTH-51, AUTH-52, AUTH-59
to AUTH-61, AUTH-78, ASDISC-01, ASDISC-02, ASDISC-05, AUTHSEC-04, AUTHSEC-30 to AUTHSEC-34.

    door      `authorize`        who sent this? 401 without a valid token meant for this server, 403 without the scopes
                                 that every request needs; before the body is read
    lists     scopes.visible     what the token's scopes permit, and no more
    items     scopes.permit           403 insufficient_scope for a tool, prompt or resource that needs more (step-up)
    GET       `page`             the protected resource metadata (RFC 9728), which needs no token

Over stdio nothing of this is asked: there the credentials come from the environment (AUTH-02).

A token goes nowhere: it is read from the Authorization header alone, handed to the verifier, and taken out of the
request. No answer and no log line holds any part of it. All that can be wrong with a token has one answer, so nobody
learns whether it once was good; the reason is in the server's log.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
import traceback
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from ..base.errors import HTTPError, TransportError, refusal
from ..base.log import log
from ..base.request import Answer, Head, Request
from ..lib.strict_json import encode
from ..lib.uri import DEFAULT_PORTS, Uri, is_loopback, parsed, percent_decoded
from .scopes import scope_names

Verifier = Callable[[str], Optional[Mapping[str, Any]]]

WELL_KNOWN = "/.well-known/oauth-protected-resource"


THIS_RESOURCE = object()
"""An `aud` by which a verifier vouches that the token was issued for the server that asks; no JSON can forge it."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_QUOTABLE = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]+")
_STANDARD = ("aud", "client_id", "iss", "scope", "sub")


def web_url(text: str, what: str, bare: bool = True) -> str:
    """`text`, if it is an absolute https URL, or an http one on loopback for development.

    what: how an error calls it. bare: whether a query and a fragment are refused. Raises ValueError.
    """
    uri = _web(text) if isinstance(text, str) else None
    if uri is None or (bare and (uri.query, uri.fragment) != (None, None)):
        raise ValueError(f"{what} must be an absolute URL{' without query or fragment' if bare else ''}, not {text!r}")
    if uri.scheme != "https" and not is_loopback(uri.host or ""):
        raise ValueError(f"{what} must be https unless it is on loopback, and {text!r} is not")
    return text


def canonical(url: str) -> str:
    """The canonical URI of a server: scheme and host in lower case, no default port, no slash that stands alone.

    Whatever is not such a URL is returned as it is, and so equals no resource. A slash after a path is kept: it may
    carry meaning (AUTH-39, AUTH-40).
    """
    uri = _web(url)
    if uri is None:
        return url
    path, query, fragment = uri.path if uri.path != "/" else "", uri.query, uri.fragment
    return f"{uri.site}{path}{'' if query is None else '?' + query}{'' if fragment is None else '#' + fragment}"


def _web(text: str) -> Optional[Uri]:
    """An http or https URL, without anybody's name and password in it; None for anything else."""
    try:
        uri = parsed(text, ascii=True)
    except ValueError:
        return None
    return uri if uri.scheme in DEFAULT_PORTS and uri.user is None else None


class ResourceServer:
    """How a server knows who is asking, and where to send those it does not know: `Server(…, auth=ResourceServer(…))`.

    verifier: token text to its claims, or None for a token that is not good. Called once a request, from any thread,
        before the body is read. Claims: `aud` (text or list; must hold the resource, or be THIS_RESOURCE), `sub` or
        else `client_id` (one must be there), `scope` (space-separated text) or `scopes` (list), `exp` and `nbf`
        (epoch seconds), `iss` (one of the authorization servers, exactly). Only `aud` and who it is are required.
        A verifier that raises is one that is down: the client is told 503 with Retry-After, not that its token is bad.
    resource: the public URL of the endpoint, https or loopback; what clients name and tokens are issued for.
    authorization_servers: issuer identifiers, at least one. scopes: what every request needs. scopes_supported: what
        the metadata names, the minimum for basic use (`scopes` by default). implied: broad scope to the narrower ones
        that it grants too, such as {"admin": ["read", "write"]}; chains are followed.
    resource_name, resource_documentation (URL): for people, in the metadata. realm: in challenges.
    clock: epoch seconds.

    Raises ValueError for a URL, scope or realm that cannot be used.
    """

    def __init__(self, verifier: Verifier, resource: str, authorization_servers: Sequence[str], *,
                 scopes: Sequence[str] = (), scopes_supported: Optional[Sequence[str]] = None,
                 implied: Optional[Mapping[str, Sequence[str]]] = None, resource_name: Optional[str] = None,
                 resource_documentation: Optional[str] = None, realm: Optional[str] = None,
                 clock: Callable[[], float] = time.time) -> None:
        self._verifier, self._clock = verifier, clock
        self.resource = canonical(web_url(resource, "resource"))
        listed = [authorization_servers] if isinstance(authorization_servers, str) else authorization_servers
        self.issuers = tuple(web_url(issuer, "an authorization server") for issuer in listed)
        if not self.issuers:
            raise ValueError("authorization_servers names at least one")
        if realm is not None and not _QUOTABLE.fullmatch(realm):
            raise ValueError("realm is visible ASCII without quotes and backslashes")
        if resource_documentation is not None:
            web_url(resource_documentation, "resource_documentation", bare=False)
        self.realm = realm
        self.scopes = scope_names(scopes)
        self._implied = {broad: scope_names(narrow) for broad, narrow in (implied or {}).items()}
        uri = parsed(self.resource)
        self.host = uri.host or ""
        self._paths = (WELL_KNOWN, WELL_KNOWN + uri.path)
        self.metadata_url = uri.site + WELL_KNOWN + uri.path
        supported = self.scopes if scopes_supported is None else scope_names(scopes_supported)
        members = {"resource": self.resource, "authorization_servers": self.issuers,
                   "scopes_supported": supported or None, "bearer_methods_supported": ["header"],
                   "resource_name": resource_name, "resource_documentation": resource_documentation}
        self.metadata: Dict[str, Any] = {name: value for name, value in members.items() if value is not None}

    def is_page(self, head: Head) -> bool:
        """Whether the metadata document is asked for, at either well-known path (ASDISC-05)."""
        return head.target.split("?", 1)[0] in self._paths

    def page(self, head: Head) -> Answer:
        """The metadata document, which needs no token. Raises HTTPError for a method that is not GET or HEAD."""
        if head.method not in ("GET", "HEAD"):
            raise refusal(405, "method not allowed", "the metadata takes GET", [("Allow", "GET, HEAD")])
        return Answer(200, encode(self.metadata))

    def authorize(self, request: Request, named: Callable[[Head], Tuple[str, ...]]) -> None:
        """The last question of the door: a valid token meant for this server, with the scopes that all need.

        named: the scopes of what a head says it calls, so that one challenge asks for all (AUTH-67). Sets principal,
        and takes the token out of the head. Raises HTTPError 400, 401, 403 or 503.
        """
        head = request.head
        assert head is not None, "stdio asks for no token"
        request.principal = self._verified(self._token(head))
        kept = {name: value for name, value in head.headers.items() if name != "authorization"}
        request.head = head._replace(headers=kept)
        if not self.granted(request.principal).issuperset(self.scopes):
            raise self.insufficient(self.scopes + named(head))

    def _token(self, head: Head) -> str:
        """The token of the Authorization header. One in the query string is never taken, and beside a header it makes
        the request malformed (RFC 6750, section 2; AUTH-61).
        """
        query = head.target.partition("?")[2]
        queried = any(percent_decoded(part.partition("=")[0]) == b"access_token" for part in query.split("&"))
        value = head.headers.get("authorization")
        if "authorization" in head.repeated or (queried and value is not None):
            raise self._refused(400, "invalid_request", "exactly one Authorization header is taken, and no other place")
        scheme, _, token = (value or "").partition(" ")
        token = token.strip(" ")
        if scheme.lower() != "bearer" or not token:
            raise self._refused(401, None, "a bearer token in the Authorization header is required")
        if not _TOKEN.fullmatch(token):
            raise self._invalid()
        return token

    def _verified(self, token: str) -> Dict[str, Any]:
        """The claims of a good token, a copy of the token left out. Raises HTTPError 401 or 503."""
        try:
            claims = self._verifier(token)
        except Exception as error:
            log.error("the token verifier failed: %s", _cause(error, token))
            raise refusal(503, "service unavailable", "tokens cannot be verified at the moment",
                          [("Retry-After", "5")]) from None
        fault = self._fault(claims)
        if claims is None or fault is not None:
            log.info("a token was refused: %s", fault)
            raise self._invalid()
        principal = {name: value for name, value in claims.items()
                     if name in _STANDARD or not (isinstance(value, str) and value == token)}
        if principal["aud"] is THIS_RESOURCE:
            principal["aud"] = self.resource
        return principal

    def _fault(self, claims: Any) -> Optional[str]:
        """What makes these claims no good here, None if nothing does; what cannot be understood is no good."""
        if not isinstance(claims, Mapping):
            return "unknown, or the verifier returned no mapping of claims"
        now = self._clock()
        start, end, audience = claims.get("nbf"), claims.get("exp"), claims.get("aud")
        if claims.get("active", True) is not True:
            return "not active"
        if not all(limit is None or type(limit) in (int, float) for limit in (start, end)):
            return "exp or nbf is no number"
        if end is not None and not now < end:
            return "expired"
        if start is not None and not start <= now:
            return "not valid yet"
        if claims.get("iss") is not None and claims["iss"] not in self.issuers:
            return "iss is none of the authorization servers"
        if audience is not THIS_RESOURCE and self.resource not in [canonical(name) for name in _texts(audience)]:
            return f"aud does not hold {self.resource}"
        if not (claims.get("sub") or claims.get("client_id")):
            return "neither sub nor client_id says whose it is"
        return None

    def granted(self, principal: Any) -> FrozenSet[str]:
        """The scopes that a principal's claims grant, those that a broader one implies included (AUTH-78)."""
        claims = principal if isinstance(principal, Mapping) else {}
        ahead = [name for text in _texts(claims.get("scope")) + _texts(claims.get("scopes")) for name in text.split()]
        names = set(ahead)
        while ahead:
            implied = set(self._implied.get(ahead.pop(), ())) - names
            names |= implied
            ahead.extend(implied)
        return frozenset(names)

    def insufficient(self, scopes: Sequence[str]) -> HTTPError:
        """The 403 that asks for a token with all of `scopes`, every one that is needed (AUTH-62 to AUTH-67)."""
        return self._refused(403, "insufficient_scope", "the token lacks a scope that this operation needs", scopes)

    def _invalid(self) -> HTTPError:
        return self._refused(401, "invalid_token", "the access token is invalid, expired or not for this resource")

    def _refused(self, status: int, error: Optional[str], text: str, scopes: Sequence[str] = ()) -> HTTPError:
        """The refusal with its challenge (RFC 6750, section 3; RFC 9728, section 5.1)."""
        scope = " ".join(dict.fromkeys(scopes or self.scopes)) if status in (401, 403) else ""
        parameters = (("resource_metadata", self.metadata_url), ("scope", scope), ("error", error),
                      ("error_description", text if error else None), ("realm", self.realm))
        challenge = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters if value)
        return refusal(status, error or "unauthorized", text, [("WWW-Authenticate", challenge)])


def _texts(claim: Any) -> List[str]:
    """The texts of a claim that is a text or a list of them; none where it is anything else."""
    listed = claim if isinstance(claim, (list, tuple, set, frozenset)) else (claim,)
    return [item for item in listed if isinstance(item, str)]


def _cause(error: Exception, token: str) -> str:
    """What a verifier raised: where, but not in which words, since those may quote the token; ours do not."""
    if isinstance(error, TransportError):
        return str(error).replace(token, "…")
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {place.filename}:{place.lineno} in {place.name}"


def static_tokens(table: Mapping[str, Mapping[str, Any]]) -> Verifier:
    """A verifier for development: token to claims, such as {"s3cret": {"sub": "alice", "scope": "mcp w"}}.

    A token without `aud` is one for the server that asks. Digests are compared, all of them, in constant time. Raises
    ValueError for a token that no Authorization header can carry.
    """
    if not all(_TOKEN.fullmatch(token) for token in table):
        raise ValueError("a token is made of A-Z a-z 0-9 - . _ ~ + / and ends with any number of =")
    known = [(_digest(token), {"aud": THIS_RESOURCE, **claims}) for token, claims in table.items()]

    def verify(token: str) -> Optional[Mapping[str, Any]]:
        given = _digest(token)
        found = [claims for digest, claims in known if hmac.compare_digest(digest, given)]
        return found[0] if found else None

    return verify


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("ascii")).digest()
