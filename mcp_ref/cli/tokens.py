"""The token that a command sends: one of an environment variable, or the one that `login` has kept for the server."""

from __future__ import annotations

import argparse
import os
import re
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from ..lib.uri import Address
from . import screen
from .faults import UsageError, login_command

if TYPE_CHECKING:
    from ..transports.calls import Deadline, Wire
    from .person import Person

STORE = "MCP_TOKEN_STORE"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of every command that calls a server."""
    command.add_argument("--token-env", metavar="NAME", help="send the token of this environment variable, and no "
                         "other (as Authorization: Bearer)")
    add_store(command)


def add_store(command: argparse.ArgumentParser) -> None:
    """Add the option that says where tokens are kept."""
    command.add_argument("--token-store", metavar="FILE", help="where `login` keeps tokens, readable by their owner "
                         f"alone (default: ${STORE}, or mcp_ref/tokens.json in $XDG_CONFIG_HOME or ~/.config)")


def secret_of(variable: str, what: str) -> str:
    """What an environment variable holds. Raises UsageError, without its name: that may be the secret itself.

    what: named the variable.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UsageError(f"there is no environment variable of the name that {what} gives, or nothing in it")
    screen.secrets.add(value)
    return value


def bearer(options: argparse.Namespace) -> Dict[str, str]:
    """The header field for --token-env, {} without it; what other fields hold that is secret is never shown from here
    on. Raises UsageError.
    """
    from ..transports.exchange import SECRET_FIELD

    given = _given(options)
    screen.secrets.update(*(line.split()[-1:] for line in given.values() if re.match(SECRET_FIELD, line)))
    if options.token_env is None:
        return {}
    token = secret_of(options.token_env, "--token-env")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise UsageError("the environment variable of --token-env holds no token: one has no blanks, and ASCII alone")
    if _has_authorization(given):
        raise UsageError("what authorizes is given by --token-env or by a header, not by both")
    return {"Authorization": f"Bearer {token}"}


def store_path(options: argparse.Namespace) -> str:
    """The file that tokens are kept in. Raises UsageError where there is no folder for it."""
    chosen = options.token_store or os.environ.get(STORE)
    if chosen:
        return str(chosen)
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # which counts as not given
        folder = os.path.join(os.path.expanduser("~"), ".config")
    if not os.path.isabs(folder):
        raise UsageError(f"this user has no home folder to keep tokens in; --token-store or {STORE} names a file")
    return os.path.join(folder, "mcp_ref", "tokens.json")


def authorization(options: argparse.Namespace, headers: Mapping[str, str],
                  wire: "Optional[Wire]" = None) -> "Optional[Person]":
    """What gets the command's tokens: None where it is given one, and where none is kept and nobody is to log in.

    Raises UsageError, and ValueError for what cannot be used.
    """
    login = getattr(options, "login", False)
    if isinstance(options.url, list):
        if login:
            raise UsageError("a stdio server asks for no login")
        return None
    server = Address(options.url)
    if _has_authorization(headers) or server.authorization():
        if login:
            raise UsageError("the command is given what authorizes it, and is not to log in as well")
        return None
    if not login and not _may_be_kept(options):
        return None
    from .person import Person, Store, is_kept, settings

    store = Store(store_path(options), anew=options.command == "login")
    if not login and not is_kept(store, server):
        return None
    new = options.command == "login"
    said = settings(vars(options) if new else store, server)
    variable = said.get("client_secret_env")
    secret = None if variable is None else secret_of(
        variable, f"--client-secret-env{'' if new else ' of the login to ' + server.url}")
    return Person(server, store, options, said, secret, wire)


def fields(options: argparse.Namespace, server: Address, deadline: "Deadline") -> Dict[str, str]:
    """The header fields that authorize a single request. Raises UsageError, and AuthorizationError for a refresh that
    fails."""
    given = bearer(options)
    auth = authorization(options, {**_given(options), **given})
    return given if auth is None else auth.of(server).attempt(deadline).headers("POST", server.url)


def advice(options: argparse.Namespace, status: int) -> str:
    """What to do about a 401: to log in, unless the command was given its token."""
    if status != 401 or isinstance(options.url, list) or options.token_env is not None or (
            _has_authorization(_given(options)) or Address(options.url).authorization()):
        return ""
    return f"The server wants a token. To get one: {login_command(Address(options.url).url)}"


def _may_be_kept(options: argparse.Namespace) -> bool:
    try:
        return os.path.exists(store_path(options))
    except UsageError:
        return False


def _given(options: argparse.Namespace) -> Dict[str, Any]:
    """The fields of --header and --set-header, by name."""
    lines = (*getattr(options, "header", ()), *getattr(options, "set_header", ()))
    return {line.partition(":")[0].strip(): line for line in lines}


def _has_authorization(headers: Mapping[str, Any]) -> bool:
    return any(name.lower() == "authorization" for name in headers)
