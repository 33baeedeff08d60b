"""RFC 3986, as far as a client needs it: the endpoint's URL, taken apart, checked, and shown without secrets.

Implements TRANS-01 (the client's side: what is called is what was named).
"""

from __future__ import annotations

import base64
import ipaddress
import re
from typing import Dict
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from .endpoint import DEFAULT_PORTS

_UNUSABLE = re.compile(r"[\x00-\x20\x7f\\]")


class Address:
    """A checked http or https URL. Raises ValueError, which names what is wrong with it.

    url: what is requested, without user, password and fragment. origin: (scheme, host, port), for comparison.
    loopback: whether the host is this machine.
    """

    def __init__(self, text: str) -> None:
        if _UNUSABLE.search(text):
            raise ValueError("a URL holds no blanks, backslashes or control characters")
        try:
            parts = urlsplit(text)
            host, port = (parts.hostname or "").encode("idna").decode("ascii"), parts.port
        except ValueError as error:
            raise ValueError(f"not a URL: {error}") from None
        scheme = parts.scheme.lower()
        if scheme not in DEFAULT_PORTS or not host:
            raise ValueError("an MCP server's URL begins with http:// or https:// and a host")
        self.origin = (scheme, host, str(port or DEFAULT_PORTS[scheme]))
        self.loopback = is_loopback(host)
        self._user, self._password = parts.username, parts.password
        netloc = (f"[{host}]" if ":" in host else host) + (f":{port}" if port is not None else "")
        path, query = (quote(part, safe="%/:?#[]@!$&'()*+,;=~-._") for part in (parts.path or "/", parts.query))
        self.url = urlunsplit((scheme, netloc, path, query, ""))

    def __str__(self) -> str:
        return self.url

    def authorization(self) -> Dict[str, str]:
        """The header for the user and password of the URL; {} where there are none."""
        if self._user is None:
            return {}
        pair = f"{unquote(self._user)}:{unquote(self._password or '')}"
        return {"Authorization": "Basic " + base64.b64encode(pair.encode("utf-8")).decode("ascii")}


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine: localhost, 127.0.0.0/8, ::1. No proxy can reach that."""
    name = host.lower().rstrip(".")
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
