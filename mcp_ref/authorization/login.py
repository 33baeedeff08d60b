"""basic/authorization, Authorization Flow Steps: a person logs in, in a browser, and the client is given a code.

Implements AUTH-22, AUTH-23, AUTH-26 to AUTH-32, AUTH-34, AUTHSEC-11 to AUTHSEC-17, AUTHSEC-19.

What a login expects back is made with it and kept in one place: the state, the PKCE verifier, the issuer. The answer
is held against them before the code in it goes anywhere, and before an error in it is read.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple
from urllib.parse import urlencode

from ..base.errors import AuthorizationError, Timeout
from ..lib.text import shown
from ..transports.calls import Deadline
from .discovery import AuthorizationServer
from .dpop import base64url
from .loopback import BASE, Loopback, has_state, parameters
from .oauth_client import Authorization
from .registration import Credentials, client_metadata, document_url, register
from .resource_server import web_url
from .tokens import Granted, Target

OFFLINE = "offline_access"


@dataclass(frozen=True, repr=False)
class Login:
    """What the answer to one authorization request has to fit."""

    server: AuthorizationServer
    redirect_uri: str
    state: str
    verifier: str

    def url(self, client_id: str, resource: str, scopes: Tuple[str, ...]) -> str:
        """The authorization request, for the browser."""
        endpoint = self.server.metadata["authorization_endpoint"]
        query = {"response_type": "code", "client_id": client_id, "redirect_uri": self.redirect_uri,
                 "state": self.state, "code_challenge_method": "S256", "resource": resource,
                 "code_challenge": base64url(hashlib.sha256(self.verifier.encode("ascii")).digest())}
        if scopes:
            query["scope"] = " ".join(scopes)
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def code(self, answer: str) -> str:
        """The code in the answer, a URL. Raises AuthorizationError for one that is not of this login, or a refusal."""
        if not has_state(answer, self.state):
            raise AuthorizationError("the answer to the login has not the state that it was begun with")
        given = parameters(answer)
        repeated = [name for name, values in given.items() if len(values) > 1]
        if repeated:
            raise AuthorizationError(f"the answer to the login has {shown(repeated[0])} more than once")
        issuer = given.get("iss", [None])[0]
        promised = self.server.metadata.get("authorization_response_iss_parameter_supported") is True
        if issuer != self.server.issuer and (promised or issuer is not None):
            said = "does not say who issued it" if issuer is None else f"was issued by {shown(issuer)}"
            raise AuthorizationError(f"the answer to the login {said}, and {self.server.issuer} was asked")
        if "error" in given:
            text = ": ".join(given[name][0] for name in ("error", "error_description") if name in given)
            raise AuthorizationError(f"the login was refused: {shown(text, 200)}", given["error"][0])
        if not given.get("code", [""])[0]:
            raise AuthorizationError("the answer to the login has neither code nor error")
        return given["code"][0]


class OAuth(Authorization):
    """Authorization by a person's login: `Client(url, auth=OAuth())`.

    metadata_url: where the client's metadata document stands, its client_id for authorization servers that know such;
        `client_metadata` makes it. name: what the client is called where it registers.
    redirect_uri: where the browser comes back to: by default a free port of 127.0.0.1, which is listened on for the
        time of a login; one that begins with http://127.0.0.1: is listened on as well.
    open_url: shows a person the URL to log in at; by default a browser is opened. visit: does the whole of it, given
        the URL, and returns the one that the login leads to; then redirect_uri is needed, and nothing listens.
    login_timeout: seconds that a person has. For the others see Authorization.

    Raises ValueError for what cannot be used.
    """

    def __init__(self, client_id: Optional[str] = None, client_secret: Optional[str] = None, *,
                 metadata_url: Optional[str] = None, name: str = "mcp_ref", redirect_uri: Optional[str] = None,
                 open_url: Optional[Callable[[str], Any]] = None, visit: Optional[Callable[[str], str]] = None,
                 login_timeout: float = 300.0, **options: Any) -> None:
        super().__init__(client_id, client_secret, **options)
        if redirect_uri is not None:
            web_url(redirect_uri, "redirect_uri", bare=False)
        if visit is None and redirect_uri is not None and not redirect_uri.startswith(BASE):
            raise ValueError("a redirect_uri that is not on 127.0.0.1 needs visit, since nothing here can listen on it")
        if visit is not None and redirect_uri is None:
            raise ValueError("visit needs the redirect_uri that the login leads to")
        self._document = None if metadata_url is None else document_url(metadata_url)
        self._name, self._redirect_uri = name, redirect_uri
        self._open, self._visit = open_url or _browse, visit
        self._login_timeout = Deadline(login_timeout).seconds

    def client_metadata(self) -> Dict[str, Any]:
        """The document to be served at metadata_url. Raises ValueError unless it and redirect_uri are given."""
        if self._document is None or self._redirect_uri is None:
            raise ValueError("a metadata document has a metadata_url and a redirect_uri")
        return {"client_id": self._document, **client_metadata(self._name, self._redirect_uri)}

    def credentials(self, server: AuthorizationServer) -> Optional[Credentials]:
        """By the page's priorities: given, the metadata document, registered before."""
        if self.client is None and self._document and (
                server.metadata.get("client_id_metadata_document_supported") is True):
            return Credentials(self._document)
        return super().credentials(server)

    def grant(self, target: Target, deadline: Deadline) -> Granted:
        """Have a person log in. Raises AuthorizationError."""
        server, web = target.server, target.web
        if "S256" not in server.lists("code_challenge_methods_supported"):
            raise AuthorizationError(f"{server.issuer} does not list S256 among its code_challenge_methods_supported: "
                                     "without PKCE no code is asked for")
        web.checked(server.metadata.get("authorization_endpoint"), "the authorization endpoint")
        if target.scopes and OFFLINE not in target.scopes and OFFLINE in server.lists("scopes_supported"):
            asked = (*target.scopes, OFFLINE)
        else:
            asked = target.scopes
        with ExitStack() as ended:
            known = self.credentials(server)
            listener = None if self._visit is not None else ended.enter_context(self._listener(known))
            redirect_uri = self._redirect_uri if listener is None else listener.redirect_uri
            assert redirect_uri is not None
            if known is None or known.redirect_uri not in (None, redirect_uri):
                known = register(web, self.store, server, self._name, redirect_uri)
            login = Login(server, redirect_uri, secrets.token_urlsafe(32), secrets.token_urlsafe(32))
            url = login.url(known.client_id, target.resource.resource, asked)
            answer = self._answered(login, url, listener, Deadline(self._login_timeout, deadline.handle))
        form = {"grant_type": "authorization_code", "code": login.code(answer), "redirect_uri": redirect_uri,
                "code_verifier": login.verifier}
        try:
            return target.granted(form, known)
        except AuthorizationError as error:
            error.passing = False  # whoever tries again would have the person log in again
            raise

    def _answered(self, login: Login, url: str, listener: Optional[Loopback], deadline: Deadline) -> str:
        if listener is None:
            assert self._visit is not None
            return self._visit(url)
        self._open(url)
        try:
            return listener.answer(login.state, deadline)
        except Timeout:
            raise AuthorizationError(f"nobody has logged in within {deadline.seconds:g} s") from None

    def _listener(self, known: Optional[Credentials]) -> Loopback:
        """On the port that is wanted, or was registered; where that one is taken, on another. Raises it otherwise."""
        before = (known.redirect_uri if known is not None else None) or ""
        try:
            return Loopback(self._redirect_uri or (before if before.startswith(BASE) else None))
        except OSError as error:
            if self._redirect_uri is not None:
                raise AuthorizationError(f"{self._redirect_uri} cannot be listened on: {error.strerror}") from None
            return Loopback()


def _browse(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        raise AuthorizationError("no browser can be opened for the login: give open_url, which shows a person the URL")
