"""The commands `login` and `logout`: a token for a server, got once and kept for all later commands."""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING, Any, Dict

from ..lib.text import printable
from . import tokens
from .common import add_command, printed, show

if TYPE_CHECKING:
    from ..client.client import Client
    from .person import Person

TOLD = """\
The browser comes back to a port of 127.0.0.1. Whatever calls the same URL then sends the token that was kept, and
refreshes it by itself; a login is begun by this command alone, and by --login with another. With the name of a client
that was registered beforehand, its secret is read from the environment each time it is needed.

Shown are what is asked for and what was granted, and never a token, a code or a secret, by --raw neither. The status is
0 once the token is kept and the server has been asked with it, and 1 where none was granted."""

LOGGED_OUT = """\
Drop the token that is kept for a server. The client's registration with the authorization server stays, and other
servers may use it."""


def add_commands(commands: Any) -> None:
    """Add `login` and `logout` to the command line's subparsers."""
    login = add_command(commands, "login", _login, "log in to a server, and keep the token", TOLD)
    login.add_argument("--no-browser", action="store_true", help="print the URL to log in at, and open no browser")
    login.add_argument("--scope", metavar="SCOPES", help="ask for these, parted by blanks, and not for those that the "
                       "server names")
    login.add_argument("--client-id", metavar="ID", help="of the client, where it was registered beforehand")
    login.add_argument("--client-secret-env", metavar="NAME", help="the environment variable that holds its secret")
    login.add_argument("--client-metadata-url", metavar="URL", help="where the client's metadata document stands")
    login.add_argument("--issuer", metavar="URL", help="the authorization server to use of those that are named")
    login.set_defaults(login=True, timeout=300.0)
    logout = commands.add_parser("logout", help="drop the token that is kept for a server", description=LOGGED_OUT)
    logout.add_argument("url", metavar="URL", help="the MCP endpoint")
    tokens.add_store(logout)
    logout.set_defaults(run=_logout)


def _login(client: "Client", options: argparse.Namespace) -> int:
    from ..transports.calls import Deadline

    person: Person = options.auth
    try:
        client.discover()
        if person.granted is None:  # it may ask for a token later, and its metadata says for which
            server = tokens.server_of(options)
            person.of(server).attempt(Deadline(options.timeout)).challenged(401, (), "POST", server.url)
    finally:
        if person.granted is not None:
            _tell(person.told(), options)
    return 0


def _tell(told: Dict[str, Any], options: argparse.Namespace) -> None:
    end = told["expires"]
    if end is not None:
        told["expires"] = datetime.datetime.fromtimestamp(end, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    told["kept"] = tokens.store_path(options)
    if printed(options, told):
        return
    told.update({name: " ".join(told[name]) or "no scopes" for name in ("asked", "granted")},
                refreshed="by itself" if told["refreshed"] else "by another login")
    for name, text in told.items():
        show(printable(f"{name}: {text or 'not said'}"))


def _logout(options: argparse.Namespace) -> int:
    from .person import Store

    server = tokens.server_of(options)
    store = Store(tokens.store_path(options), server)
    if store.token() is not None:
        store.replace({})
        show(f"logged out of {server}")
    else:
        show(f"no token is kept for {server}")
    return 0
