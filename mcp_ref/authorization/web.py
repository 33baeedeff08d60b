"""basic/authorization/security-considerations, Communication Security: how metadata is read and tokens are asked for.

Implements AUTHSEC-02, AUTHSEC-08, AUTHSEC-09.

What these requests go to is named by others: a challenge, a document, a redirect. So https is required (loopback
excepted), a public MCP server can send nobody into a private network, redirects are followed by a GET alone and only a
few, answers are bounded in size and time, and no secret that was sent stands in an error.
"""

from __future__ import annotations

import ipaddress
import json
import re
import socket
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Tuple
from urllib.parse import urlencode

from ..base.errors import PASSING, AuthorizationError, BrokenOff, Timeout, TransportError, Unreachable
from ..base.versioning import RELEASE
from ..lib.strict_json import NotJson, decode
from ..lib.text import shown
from ..lib.uri import Address, is_loopback, joined
from ..transports.calls import CallHandle, Deadline, Wire
from ..transports.exchange import Exchange
from ..transports.pool import Pool
from .resource_server import web_url

MAX_ANSWER = 256 * 1024
MAX_REDIRECTS = 3


@dataclass(frozen=True, repr=False)
class Reply:
    """An answer. what: how an error calls its sender. secrets: values of the request that no error may show."""

    what: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    secrets: Tuple[str, ...] = ()

    def object(self) -> Dict[str, Any]:
        """The JSON object in it. Raises AuthorizationError."""
        try:
            value = decode(self.body)
        except NotJson as error:
            raise self.fault(f"answered {self.status} with what is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise self.fault(f"answered {self.status} with JSON that is no object")
        return value

    def fault(self, words: str, code: Optional[str] = None) -> AuthorizationError:
        """The error for this answer."""
        return AuthorizationError(f"{self.what} {words}", code, self.status in PASSING)

    def refusal(self) -> AuthorizationError:
        """The error for an answer that is an OAuth error response, or should be one."""
        try:
            given = decode(self.body)
        except NotJson:
            given = None
        code = given.get("error") if isinstance(given, dict) else None
        if not isinstance(code, str):
            return self.fault(f"answered {self.status} without an OAuth error")
        text = _without(self.secrets, ": ".join(
            given[name] for name in ("error", "error_description") if isinstance(given.get(name), str)))
        return self.fault(f"refuses: {shown(text, 200)}", code)


class Web:
    """Makes the requests of one authorization.

    server: the MCP server on whose word they are made. timeout: seconds for each. handle: what cancels them. wire:
    called after each with what was sent and received, without its secrets, a body that came in chunks as a whole.
    """

    def __init__(self, server: Address, timeout: float, handle: Optional[CallHandle] = None,
                 wire: Optional[Wire] = None) -> None:
        self._timeout, self._handle, self._wire = timeout, handle, wire
        host = server.origin[1]
        self._public = not server.loopback and not _resolves_privately(host)

    def get(self, url: str, what: str) -> Reply:
        """The answer to a GET, at most MAX_REDIRECTS redirects later. Raises AuthorizationError, CallCancelled."""
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._send(url, what, {})
            target = reply.headers.get("Location")
            if reply.status not in (301, 302, 303, 307, 308) or target is None:
                return reply
            url = joined(url, target)
        raise AuthorizationError(f"{what} redirects more than {MAX_REDIRECTS} times")

    def post(self, url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str],
             secret: Optional[str]) -> Reply:
        """The answer to a form, never redirected; secret: one that is in the headers. Raises as `get` does."""
        fields = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
        sent = {**{name: value for name, value in form.items() if name in _SECRETS}, "": secret}
        secrets = tuple(value for value in sent.values() if value)
        return self._send(url, what, fields, urlencode(form).encode("ascii"), secrets)

    def post_json(self, url: str, what: str, value: Mapping[str, Any]) -> Reply:
        """The answer to a JSON object, never redirected. Raises as `get` does."""
        return self._send(url, what, {"Content-Type": "application/json"}, json.dumps(value).encode("ascii"))

    def checked(self, url: Any, what: str) -> Address:
        """A URL that others named, once it may be used. Raises AuthorizationError."""
        try:
            address = Address(web_url(url, f"the URL of {what}", bare=False))
        except ValueError as error:
            raise AuthorizationError(str(error)) from None
        host = address.origin[1]
        if self._public and is_private(host):
            raise AuthorizationError(f"{what} would be at {shown(host)}, a private address named by a public server")
        return address

    def _send(self, url: str, what: str, headers: Mapping[str, str], data: Optional[bytes] = None,
              secrets: Tuple[str, ...] = ()) -> Reply:
        address = self.checked(url, what)
        fields = {"User-Agent": f"mcp_ref/{RELEASE}", "Accept": "application/json", "Accept-Encoding": "identity",
                  **headers}
        pool, body = Pool(direct=address.loopback), b""

        def wire(sent: str, received: str) -> None:
            assert self._wire is not None
            head, end, _ = received.partition("\r\n\r\n")
            self._wire(_without(secrets, sent), _without(secrets, head + end + body.decode("utf-8", "replace")))

        try:
            with closing(pool), Exchange(address, Deadline(self._timeout, self._handle), self._wire and wire,
                                         pool) as exchange:
                exchange.barred = is_private if self._public else None
                response = exchange.open("GET" if data is None else "POST", address.url, data, fields)
                body = exchange.whole(response, MAX_ANSWER)
                return Reply(what, response.status, exchange.headers, body, secrets)
        except (Timeout, TransportError) as error:
            raise AuthorizationError(f"{what} gives no answer that can be read: {error}",
                                     passing=isinstance(error, (Timeout, Unreachable, BrokenOff))) from None


_SECRETS = ("assertion", "client_assertion", "client_secret", "code", "code_verifier", "refresh_token", "subject_token")
_NAMES = "|".join((*_SECRETS, "access_token", "id_token", "registration_access_token"))
_MEMBER = re.compile(rf'((?:^|[?&])(?:{_NAMES})=)[^&\s]+|("(?:{_NAMES})"\s*:\s*)"(?:[^"\\]|\\.)*', re.MULTILINE)


def _without(secrets: Tuple[str, ...], text: str) -> str:
    """`text` with … for these values, and for what the members of a form or of JSON hold that are secret."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return _MEMBER.sub(lambda found: f"{found[1]}…" if found[1] else f'{found[2]}"…', text)


def is_private(host: str) -> bool:
    """Whether this is an IP address that is not everybody's, or a name of this machine; no for any other name."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return is_loopback(host)


def _resolves_privately(host: str) -> bool:
    """Whether a host has private addresses only; no where its name cannot be resolved, a proxy's doing then."""
    try:
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, None)]
    except (OSError, UnicodeError):
        found = [host]
    return all(map(is_private, found))
