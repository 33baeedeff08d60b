"""ext-auth, the OAuth client credentials and enterprise-managed authorization: tokens without a person at a browser.

Each asks the token endpoint once, with one grant; what is refused is an error, and nothing else is tried in its place.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Union

from ..base.errors import AuthorizationError
from ..lib.text import shown
from ..lib.uri import Address
from ..transports.calls import Deadline
from .discovery import AuthorizationServer
from .oauth_client import Authorization
from .registration import Credentials
from .resource_server import web_url
from .tokens import Granted, Target
from .web import Web

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG, ID_TOKEN = "urn:ietf:params:oauth:token-type:id-jag", "urn:ietf:params:oauth:token-type:id_token"

Assertion = Union[str, Callable[[], str]]


class ClientCredentials(Authorization):
    """Authorization of the client itself: `Client(url, auth=ClientCredentials("id", "secret"))`, or with a signer.

    Raises ValueError unless there is a secret or a signer. For the options see Authorization.
    """

    def __init__(self, client_id: str, client_secret: Optional[str] = None, **options: Any) -> None:
        super().__init__(client_id, client_secret, **options)
        if client_secret is None and options.get("signer") is None:
            raise ValueError("client credentials are a client_secret or a signer")

    def grant(self, target: Target, deadline: Deadline) -> Granted:
        """One client_credentials request. Raises AuthorizationError."""
        return target.granted({"grant_type": "client_credentials", **_scope(target)}, self.client)


class JWTBearer(Authorization):
    """Authorization by a JWT that somebody else has signed (RFC 7523), such as a workload's identity.

    assertion: the JWT, or what gives one for each token request. For the options see Authorization.
    """

    def __init__(self, client_id: str, client_secret: Optional[str] = None, *, assertion: Assertion,
                 **options: Any) -> None:
        super().__init__(client_id, client_secret, **options)
        self._assertion = assertion if callable(assertion) else lambda: assertion

    def grant(self, target: Target, deadline: Deadline) -> Granted:
        """One jwt-bearer request. Raises AuthorizationError."""
        form = {"grant_type": JWT_BEARER, "assertion": self._asserted(target, deadline), **_scope(target)}
        return target.granted(form, self.client)

    def _asserted(self, target: Target, deadline: Deadline) -> str:
        return self._assertion()


class EnterpriseManaged(JWTBearer):
    """Authorization by an enterprise's identity provider, which exchanges a user's ID token for an assertion.

    id_token: of the user's single sign-on, or what gives one. idp_token_endpoint: the provider's, https or loopback.
    idp_client_id, idp_client_secret: the client as the provider knows it. client_id, client_secret: as the MCP server's
    authorization server does. For the options see Authorization.
    """

    def __init__(self, client_id: str, client_secret: Optional[str] = None, *, id_token: Assertion,
                 idp_token_endpoint: str, idp_client_id: str, idp_client_secret: Optional[str] = None,
                 **options: Any) -> None:
        super().__init__(client_id, client_secret, assertion=id_token, **options)
        self._idp = Address(web_url(idp_token_endpoint, "idp_token_endpoint", bare=False))
        self._idp_client = Credentials(idp_client_id, idp_client_secret)

    def _asserted(self, target: Target, deadline: Deadline) -> str:
        provider = AuthorizationServer(str(self._idp), {})
        fields, headers = self._idp_client.authentication(provider)
        form = {"grant_type": TOKEN_EXCHANGE, "requested_token_type": ID_JAG, "subject_token_type": ID_TOKEN,
                "subject_token": self._assertion(), "audience": target.server.issuer,
                "resource": target.resource.resource, **_scope(target), **fields}
        web = Web(self._idp, self.timeout, deadline.handle, self.wire)  # it was named by the user, and by no server
        reply = web.post(self._idp.url, "the identity provider", form, headers, self._idp_client.secret)
        if reply.status != 200:
            raise reply.refusal()
        given = reply.object()
        assertion = given.get("access_token")
        if given.get("issued_token_type") != ID_JAG or not isinstance(assertion, str):
            raise AuthorizationError("the identity provider issued no assertion but "
                                     f"{shown(given.get('issued_token_type'))}")
        return assertion


def _scope(target: Target) -> Dict[str, str]:
    return {"scope": " ".join(target.scopes)} if target.scopes else {}
