"""The token that a command sends: one of an environment variable, or the one that `login` has kept for the server."""

from __future__ import annotations

import argparse
import base64
import os
import re
from typing import TYPE_CHECKING, Dict, List, Optional

from ..lib.uri import Address
from .faults import UsageError, login_command
from .screen import conceal

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
    conceal(value)
    return value


def bearer(options: argparse.Namespace) -> Dict[str, str]:
    """The header field for --token-env, {} without it; what other fields hold that is secret is never shown from here
    on. Raises UsageError.
    """
    from ..transports.exchange import SECRET_FIELD

    for line in _header_lines(options):
        if re.match(SECRET_FIELD, line):
            value = line.partition(":")[2].strip()
            conceal(value, *value.split()[-1:], *re.findall(r"[^\s;=]+=\s*([^\s;]+)", value))
    if options.token_env is None:
        return {}
    token = secret_of(options.token_env, "--token-env")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise UsageError("the environment variable of --token-env holds no token: one has no blanks, and ASCII alone")
    if _has_header(options):
        raise UsageError("what authorizes is given by --token-env or by a header, not by both")
    return {"Authorization": f"Bearer {token}"}


def server_of(options: argparse.Namespace) -> Address:
    """The server at the URL, whose user and password are never shown from here on. Raises UsageError."""
    try:
        server = Address(options.url)
    except ValueError as error:
        raise UsageError(f"{error}; expected one such as http://127.0.0.1:8000/mcp") from None
    for value in server.authorization().values():
        basic = value.split()[1]
        conceal(basic, base64.b64decode(basic).decode("utf-8", "replace").partition(":")[2])
    return server


def store_path(options: argparse.Namespace) -> str:
    """The file that tokens are kept in. Raises UsageError where there is no folder for it, and for what is no file."""
    chosen = str(options.token_store or os.environ.get(STORE) or "")
    if os.path.exists(chosen) and not os.path.isfile(chosen):  # a device would be replaced, a pipe never read
        raise UsageError(f"tokens are kept in a file, which {chosen} is not")
    if chosen:
        return chosen
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # which counts as not given
        folder = os.path.join(os.path.expanduser("~"), ".config")
    if not os.path.isabs(folder):
        raise UsageError(f"this user has no home folder to keep tokens in; --token-store or {STORE} names a file")
    return os.path.join(folder, "mcp_ref", "tokens.json")


def authorization(options: argparse.Namespace, wire: "Optional[Wire]" = None) -> "Optional[Person]":
    """What gets the command's tokens: None where it is given one, and where none is kept and nobody is to log in.
    Raises UsageError.
    """
    login = getattr(options, "login", False)
    if isinstance(options.url, list):
        if login:
            raise UsageError("a stdio server asks for no login")
        return None
    server = server_of(options)
    if _is_given(options, server):
        if login:
            raise UsageError("the command is given what authorizes it, and is not to log in as well")
        return None
    if not login and not _may_be_kept(options):
        return None
    from .person import Person, Store, settings

    new = options.command == "login"
    store = Store(store_path(options), server, anew=new)
    if not login and store.token() is None:
        return None
    said = settings(vars(options)) if new else store.settings()
    variable = said.get("client_secret_env")
    secret = None if variable is None else secret_of(
        variable, f"--client-secret-env{'' if new else ' of the login to ' + server.url}")
    try:
        return Person(server, store, options, said, secret, wire)
    except ValueError as error:
        raise UsageError(str(error)) from None


def fields(options: argparse.Namespace, server: Address, deadline: "Deadline") -> Dict[str, str]:
    """The header fields that authorize a single request. Raises UsageError, and AuthorizationError for a refresh that
    fails."""
    given, auth = bearer(options), authorization(options)
    return given if auth is None else auth.of(server).attempt(deadline).headers("POST", server.url)


def advice(options: argparse.Namespace, status: int) -> str:
    """What to do about a 401: to log in, unless the command was given its token."""
    if status != 401 or isinstance(options.url, list):
        return ""
    server = server_of(options)
    return "" if _is_given(options, server) else f"The server wants a token. To get one: {login_command(server.url)}"


def _may_be_kept(options: argparse.Namespace) -> bool:
    try:
        return os.path.exists(store_path(options))
    except UsageError:
        return False


def _header_lines(options: argparse.Namespace) -> List[str]:
    return [*getattr(options, "header", ()), *getattr(options, "set_header", ())]


def _has_header(options: argparse.Namespace) -> bool:
    return any(line.partition(":")[0].strip().lower() == "authorization" for line in _header_lines(options))


def _is_given(options: argparse.Namespace, server: Address) -> bool:
    """Whether the command is given what authorizes it."""
    return options.token_env is not None or _has_header(options) or bool(server.authorization())
