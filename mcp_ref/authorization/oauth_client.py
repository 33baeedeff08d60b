"""basic/authorization, Error Handling and Step-Up: what a client does about a 401 or a 403, and which token it sends.

Implements AUTH-01, AUTH-02, AUTH-14 to AUTH-16, AUTH-18 to AUTH-21, AUTH-44, AUTH-50, AUTH-70, AUTH-71,
AUTH-73 to AUTH-77.

    Authorization   how tokens are got, and with which credentials: OAuth in login.py, the others in grants.py
    Session         one MCP server's: the token at hand, and how it is renewed, by one thread for all
    Attempt         one request's: what it was sent with, and how often it may be sent again

A 401 means that the metadata is read anew, since the authorization server may be another one by now; then a refresh
token is spent if there is one, and otherwise a token is asked for. A 403 asks for more scopes, beside those asked for
before, and a refresh would not bring them. A server that refuses what it has just been given is not asked again.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import Dict, FrozenSet, Iterator, Optional, Sequence, Set, Tuple

from ..base.errors import AuthorizationError, CallCancelled
from ..lib.uri import Address
from ..transports.calls import GLANCE, Deadline, Wire
from . import challenges
from .challenges import Asked, Fields
from .discovery import AuthorizationServer, Resource, authorization_server, protected_resource
from .dpop import Proofs, Signer
from .registration import Credentials, forget, registered
from .resource_server import web_url
from .token_store import TokenStore
from .tokens import Granted, Target, remembered
from .web import Web

MAX_RENEWALS = 3
"""What one request may cause: a refresh, a login, a step-up."""
_DEAD = ("invalid_grant", "invalid_client", "unauthorized_client")


class Authorization:
    """How a client gets its tokens: `Client(url, auth=…)`. One may serve any number of clients and threads.

    client_id, client_secret, signer: what the client was registered with beforehand, if it was. issuer: the
    authorization server that knows it; by default the first one that it is used with. store: where tokens are kept.
    dpop: the key that tokens are bound to, where the authorization server lists its algorithm (RFC 9449). timeout:
    seconds for each request to the authorization server. wire: called after each of those with what was sent and
    received, secrets left out. Raises ValueError for what cannot be used.
    """

    def __init__(self, client_id: Optional[str] = None, client_secret: Optional[str] = None, *,
                 signer: Optional[Signer] = None, issuer: Optional[str] = None, store: Optional[TokenStore] = None,
                 dpop: Optional[Signer] = None, timeout: float = 30.0, wire: Optional[Wire] = None) -> None:
        if client_id is None and (client_secret, signer) != (None, None):
            raise ValueError("a client_secret or signer belongs to a client_id")
        self.client = None if client_id is None else Credentials(client_id, client_secret, signer)
        self.issuer, self.timeout = issuer, Deadline(timeout).seconds
        self.store = TokenStore() if store is None else store
        self.proofs = None if dpop is None else Proofs(dpop)
        self.wire = wire

    def of(self, server: Address) -> "Session":
        """The authorization at one MCP server. Raises ValueError for one that no token may be sent to."""
        web_url(server.url, "an MCP server that tokens are sent to", bare=False)
        return Session(self, server)

    def grant(self, target: Target, deadline: Deadline) -> Granted:
        """Get a token, with nothing but credentials. deadline: that of the request, for its handle alone."""
        raise NotImplementedError

    def credentials(self, server: AuthorizationServer) -> Optional[Credentials]:
        """What is known by this authorization server, None for nothing as yet."""
        return self.client or registered(self.store, server)


def token_key(server: Address, client_id: Optional[str] = None) -> str:
    """What a TokenStore keeps the token of an MCP server under. client_id: of a client that was registered beforehand.
    """
    return f"token {server.url}" + ("" if client_id is None else f" {client_id}")


class Session:
    """The authorization of one client at one MCP server. Any number of threads may use it at once."""

    def __init__(self, auth: Authorization, server: Address) -> None:
        self._auth, self._server, self.proofs = auth, server, auth.proofs
        self._key = token_key(server, None if auth.client is None else auth.client.client_id)
        self._held: Optional[Granted] = remembered(auth.store.load(self._key))
        self._lock = threading.Lock()
        self._ended = 0
        self._failure: Optional[Tuple[str, Optional[str], bool]] = None  # and not the error, which holds its frames
        self._in_vain: Set[FrozenSet[str]] = set()

    def attempt(self, deadline: Deadline) -> "Attempt":
        """The authorization of one request, which has so much time."""
        return Attempt(self, deadline)

    def bearing(self) -> Optional[Dict[str, str]]:
        """The Authorization of a request that is sent as things are: {} before the first token, None where the token
        would be renewed."""
        held = self._held
        if held is None:
            return {}
        return {"Authorization": held.authorization} if held.good else None

    def at_hand(self, deadline: Deadline) -> Optional[Granted]:
        """The token to send, refreshed first where its time is over. Raises AuthorizationError."""
        held = self._held
        if held is None or held.good:
            return held
        if held.refresh is None:
            return None
        self.renew(Asked(metadata=held.place), held, True, deadline)
        return self._held

    def gives_up(self, scopes: Sequence[str]) -> bool:
        """Whether these scopes, which a token was asked for with already, have been asked for again in vain."""
        wanted = frozenset(scopes)
        known = wanted in self._in_vain
        self._in_vain.add(wanted)
        return known

    def renew(self, asked: Asked, sent: Optional[Granted], refreshing: bool, deadline: Deadline) -> bool:
        """Have a better token at hand than the one that was sent; whether it was asked for anew, and not refreshed.

        Of several threads one does it, and the others share what comes of it. Raises AuthorizationError.
        """
        seen = self._ended
        with self._turn(deadline):
            if self._ended != seen and self._failure is not None:
                raise AuthorizationError(*self._failure)
            if self._is_better(sent, asked):
                return False
            self._failure = None
            try:
                return self._renewed(asked, sent, refreshing, deadline)
            except AuthorizationError as error:
                self._failure = str(error), error.code, error.passing
                raise
            finally:
                self._ended += 1

    @contextmanager
    def _turn(self, deadline: Deadline) -> Iterator[None]:
        """One thread at a time, on nobody's clock: a login takes as long as a person does. Raises CallCancelled."""
        with deadline.on_hold():
            while not self._lock.acquire(timeout=GLANCE):
                if deadline.handle is not None and deadline.handle.cancelled:
                    raise CallCancelled()
            try:
                yield
            finally:
                self._lock.release()

    def _is_better(self, sent: Optional[Granted], asked: Asked) -> bool:
        """Whether another thread, or another process, has seen to it."""
        held = remembered(self._auth.store.load(self._key))
        if held is None or not held.good or (sent is not None and held.access == sent.access):
            return False
        self._held = held
        return set(asked.scopes) <= set(held.scopes)

    def _renewed(self, asked: Asked, sent: Optional[Granted], refreshing: bool, deadline: Deadline) -> bool:
        web = Web(self._server, self._auth.timeout, deadline.handle, self._auth.wire)
        resource = protected_resource(web, self._server, asked.metadata)
        before = remembered(self._auth.store.load(self._key)) or self._held
        server = authorization_server(web, self._chosen(resource, before))
        scopes = tuple(dict.fromkeys((*(before.scopes if before else ()), *asked.scopes))) or resource.scopes
        target = Target(web, resource, server, scopes, asked.metadata, self._bound(server, resource))
        if before is not None and before.issuer != server.issuer:
            self._keep(Granted(server.issuer, before.scopes))  # what another issued is not sent here any more
        elif before is not None and refreshing and before.refresh is not None:
            if self._refreshed(target, before, deadline):
                return False
        self._keep(self._auth.grant(target, deadline))
        return True

    def _chosen(self, resource: Resource, before: Optional[Granted]) -> str:
        """The issuer to go to. Raises AuthorizationError where credentials are another's (REG-30)."""
        bound = self._auth.issuer
        if bound is None and self._auth.client is not None and before is not None:
            bound = before.issuer
        if bound is None:
            return before.issuer if before is not None and before.issuer in resource.issuers else resource.issuers[0]
        if bound not in resource.issuers:
            raise AuthorizationError(f"the client's credentials are for {bound}, and the server has its tokens issued "
                                     f"by {', '.join(resource.issuers)}")
        return bound

    def _bound(self, server: AuthorizationServer, resource: Resource) -> Optional[Proofs]:
        """The proofs that a token is to be bound to, None for a bearer token."""
        proofs = self._auth.proofs
        if proofs is not None and proofs.algorithm in server.lists("dpop_signing_alg_values_supported"):
            return proofs
        if resource.metadata.get("dpop_bound_access_tokens_required") is True:
            raise AuthorizationError("the server takes DPoP-bound tokens alone, and there is no key for one")
        return None

    def _refreshed(self, target: Target, before: Granted, deadline: Deadline) -> bool:
        """Spend the refresh token; whether there is a new token. A dead refresh token is dropped (RFC 6749, 5.2)."""
        client = self._auth.credentials(target.server)
        if client is None or client.client_id != before.client_id:
            return False
        with self._auth.store.alone(Deadline(2 * self._auth.timeout, deadline.handle)):
            held = remembered(self._auth.store.load(self._key))
            if held is not None and held.refresh != before.refresh and held.good:
                self._held = held
                return True
            try:
                form = {"grant_type": "refresh_token", "refresh_token": before.refresh or ""}
                made = target._replace(scopes=before.scopes).granted(form, client)
            except AuthorizationError as error:
                if error.code not in _DEAD:
                    raise
                if error.code != "invalid_grant" and self._auth.client is None:
                    forget(self._auth.store, target.server.issuer)
                self._keep(replace(before, access=None, refresh=None))
                return False
            self._keep(replace(made, refresh=made.refresh or before.refresh))
            return True

    def _keep(self, held: Granted) -> None:
        self._auth.store.save(self._key, held.record())
        self._held = held


class Attempt:
    """The authorization of one request, however often it is sent."""

    def __init__(self, session: Session, deadline: Deadline) -> None:
        self._session, self._deadline = session, deadline
        self._sent: Optional[Granted] = None
        self._renewals, self._nonces = 0, 0
        self._refreshing, self._fresh = True, False

    @property
    def until(self) -> Optional[float]:
        """When the token that it was sent with is over, in epoch seconds, if that is known."""
        return None if self._sent is None else self._sent.expires

    def headers(self, method: str, url: str) -> Dict[str, str]:
        """The fields to send the request with; {} where there is no token yet. Raises AuthorizationError."""
        held = self._sent = self._session.at_hand(self._deadline)
        if held is None:
            return {}
        made, proofs = {"Authorization": held.authorization}, self._session.proofs
        if held.kind == "DPoP" and proofs is not None:
            made["DPoP"] = proofs.proof(method, url, held.access)
        return made

    def challenged(self, status: int, fields: Fields, method: str, url: str) -> bool:
        """Whether a request that was refused is worth sending again, with what `headers` then gives.

        fields: those of the answer. Raises AuthorizationError where no token is to be had, or none that is taken.
        """
        fields = tuple(fields)
        asked = challenges.asked(fields)
        if status == 401 and asked.error == "use_dpop_nonce":
            nonce = next((value for name, value in fields if name.lower() == "dpop-nonce"), None)
            proofs, self._nonces = self._session.proofs, self._nonces + 1
            return proofs is not None and self._nonces < MAX_RENEWALS and proofs.take_nonce(url, nonce)
        if status != 401 and (status != 403 or asked.error != "insufficient_scope"):
            return False
        sent = self._sent
        more = status == 403 and not (sent is not None and set(asked.scopes) <= set(sent.scopes))
        if self._renewals == MAX_RENEWALS or (self._fresh and not more) or (
                status == 403 and not more and self._session.gives_up(asked.scopes)):
            wanted = f" for scope {' '.join(asked.scopes)}" if asked.scopes else ""
            raise AuthorizationError(f"the server answers {status} {asked.error or 'unauthorized'}{wanted} "
                                     "to a token that was asked for as it says")
        self._renewals += 1
        self._fresh = self._session.renew(asked, sent, self._refreshing and status == 401, self._deadline)
        self._refreshing = False
        return True
