"""A person at the command line who logs in, and what is kept of that; loaded where there is, or may be, a token."""

from __future__ import annotations

import argparse
import webbrowser
from contextlib import suppress
from typing import Any, Dict, Mapping, Optional

from ..authorization import registration
from ..authorization.login import OAuth
from ..authorization.loopback import parameters
from ..authorization.oauth_client import token_key
from ..authorization.token_store import FileTokenStore, Record
from ..authorization.tokens import Granted, Target, remembered
from ..base.errors import AuthorizationError
from ..lib.text import printable
from ..lib.uri import Address
from ..transports.calls import Deadline, Wire
from .faults import login_command
from .screen import conceal, note

SETTINGS = ("client_id", "client_secret_env", "client_metadata_url", "issuer")
"""The options of `login` that are kept: later commands refresh as the same client. A secret stays where it is."""
PATIENCE = 300.0
"""Seconds that a person has to log in."""


class Store(FileTokenStore):
    """The file that tokens are kept in, and what of it is of one server; nothing secret in it is ever shown.

    anew: whether the tokens in it count as absent; they stay until others are kept in their place.
    """

    def __init__(self, path: str, server: Address, anew: bool = False) -> None:
        super().__init__(path)
        self._server, self._place, self._anew = server, f"login {server.url}", anew

    def load(self, key: str) -> Optional[Record]:
        return None if self._anew and key.startswith("token ") else _quiet(super().load(key))

    def save(self, key: str, record: Optional[Record]) -> None:
        super().save(key, _quiet(record))

    def settings(self) -> Dict[str, str]:
        """Those of SETTINGS that the login to the server was told."""
        return settings(self.load(self._place) or {})

    def token(self) -> Optional[Record]:
        """The token for the server, or one that was and has not been logged out of."""
        return self.load(self._key())

    def replace(self, told: Mapping[str, str]) -> None:
        """Drop what is kept for the server, but for the client's registration, and keep what a login is told."""
        self.save(self._key(), None)
        self.save(self._place, dict(told) or None)

    def _key(self) -> str:
        return token_key(self._server, self.settings().get("client_id"))


def settings(given: Mapping[str, Any]) -> Dict[str, str]:
    """Those of SETTINGS that are given."""
    return {name: given[name] for name in SETTINGS if isinstance(given.get(name), str)}


def _quiet(record: Optional[Record]) -> Optional[Record]:
    """The record, whose secrets are never shown from now on."""
    conceal(*(value for name, value in (record or {}).items()
              if name in ("access", "refresh", "secret") and isinstance(value, str)))
    return record


class Person(OAuth):
    """The user of the command line, at one server.

    Logs in for `login` and with --login; any other command takes what is kept, and refreshes it. asked, granted: the
    scopes that a login asked for, and what it brought. said: what the login was told, or is, by name of SETTINGS.
    secret: of the client. Raises ValueError for what cannot be used.
    """

    def __init__(self, server: Address, store: Store, options: argparse.Namespace, said: Dict[str, str],
                 secret: Optional[str], wire: Optional[Wire]) -> None:
        self._anew = options.command == "login"
        super().__init__(said.get("client_id"), secret, metadata_url=said.get("client_metadata_url"),
                         issuer=said.get("issuer"), store=store, open_url=self._show, wire=wire,
                         login_timeout=options.timeout if self._anew else PATIENCE)
        self._server, self._kept, self._options, self._settings = server, store, options, said
        self._issuer = self.asked = ""
        self.granted: Optional[Granted] = None

    def grant(self, target: Target, deadline: Deadline) -> Granted:
        """Have the user log in, if the command may. Raises AuthorizationError, which says how to log in otherwise."""
        if not getattr(self._options, "login", False):
            raise AuthorizationError(self._what_to_do(target))
        wanted = getattr(self._options, "scope", None)
        target = target if wanted is None else target._replace(scopes=tuple(wanted.split()))
        self._issuer = target.server.issuer
        try:
            self.granted = super().grant(target, deadline)
        except AuthorizationError as error:
            if error.code in (None, "invalid_client", "unauthorized_client"):
                registration.forget(self.store, self._issuer)  # a client that is known no longer: the next one is new
            raise
        if self._anew:
            self._kept.replace(self._settings)
        return self.granted

    def _what_to_do(self, target: Target) -> str:
        """The one line for a server that takes what is kept no longer, or wants more scopes than it has."""
        held = remembered(self._kept.token())
        if held is not None and held.good and target.scopes != held.scopes:
            scopes = " ".join(target.scopes)
            return f"this needs a login with more scopes: {login_command(self._server.url, '--scope', scopes)}"
        return f"the token that is kept is not taken: {login_command(self._server.url)}"

    def _show(self, url: str) -> None:
        given = {name: values[0] for name, values in parameters(url).items()}
        self.asked = given.get("scope", "")
        scopes = f"the scopes {self.asked}" if self.asked else "no scopes"
        note(printable(f"mcp_ref: {self._issuer} is asked for {scopes}, by the client "
                       f"{given['client_id']}; to log in, go to"))
        note(printable(url))
        if not getattr(self._options, "no_browser", False):
            with suppress(webbrowser.Error):
                webbrowser.open(url)

    def told(self) -> Dict[str, Any]:
        """What was asked for and granted, nothing of it secret."""
        held = self.granted
        assert held is not None
        allowed = self.asked if held.allowed is None else held.allowed
        return {"server": self._server.url, "issuer": held.issuer, "client": held.client_id,
                "asked": self.asked.split(), "granted": allowed.split(), "expires": held.expires,
                "refreshed": held.refresh is not None}
