"""RFC 3986, read in one way by all who are given a URI, and RFC 3987, which lets characters beyond ASCII stand in it.

    parsed     a URI or IRI taken apart, or the ValueError that says what it is not; is_uri asks no more than whether
    authority  that of a Host field, origin the value of an Origin field
    Address    the http or https URL of a server: as it is requested, without what is secret in it
    joined     a reference, by a base;  percent_encoded, percent_decoded

An http or https URI has a host, in brackets one of IPv6, and a port that TCP has (RFC 9110, section 4.2); other schemes
may do as they please, and have an address of a version to come.
Implements TRANS-01 (the client's side: what is called is what was named).
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import Dict, List, NamedTuple, Optional, Tuple

DEFAULT_PORTS = {"http": "80", "https": "443"}

PARTING = ":/?#[]@!$&'()*+,;=%"
"""What parts a URI, or begins an escape in it."""

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DELIMS = "!$&'()*+,;=%"
_NO_ESCAPE = "%(?![0-9A-Fa-f]{2})"
_SCHEME = "[A-Za-z][A-Za-z0-9+.-]*"
_UNUSABLE = r"[\x00-\x20\x7f\\]"
_REFERENCE = rf"(?s)(?:({_SCHEME}):)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?"
_LOCALHOST = r"localhost|127(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}"


def _any(more: str = "") -> str:
    """The pattern of any number of characters of a part: what all parts have, `more`, and all beyond ASCII."""
    other = "".join(c for c in map(chr, range(128)) if c not in _UNRESERVED and c not in _DELIMS + more)
    return f"[^{re.escape(other)}]*"


_PLACE = (rf"(?:\[(?P<literal>[0-9A-Fa-f:.]+|[vV][0-9A-Fa-f]+\.{_any(':')})\]|(?P<name>{_any()}))"
          r"(?P<colon>:(?P<port>[0-9]*))?")
_URI = (rf"(?P<scheme>{_SCHEME}):(?://(?:(?P<user>{_any(':')})@)?{_PLACE}(?=[/?#]|\Z)|(?!//))"
                  rf"(?P<path>{_any(':@/')})(?:\?(?P<query>{_any(':@/?')}))?(?:#(?P<fragment>{_any(':@/?')}))?")


class Uri(NamedTuple):
    """A URI taken apart, its escapes as they are; what is not there is None, a port that is not there "".

    scheme, host: in lower case, the host without the brackets of an address. user: what stands before an @.
    """

    scheme: str
    user: Optional[str]
    host: Optional[str]
    port: str
    path: str
    query: Optional[str]
    fragment: Optional[str]

    @property
    def origin(self) -> Tuple[str, str, str]:
        """Scheme, host and port, the scheme's own where none is named: for comparison."""
        return self.scheme, self.host or "", self.port or DEFAULT_PORTS.get(self.scheme, "")

    @property
    def site(self) -> str:
        """How a URI of the same origin begins, the scheme's own port left out."""
        host = f"[{self.host}]" if ":" in (self.host or "") else self.host
        port = "" if self.port in ("", DEFAULT_PORTS.get(self.scheme)) else ":" + self.port
        return f"{self.scheme}://{host}{port}"


def parsed(text: str, ascii: bool = False) -> Uri:
    """The URI or IRI that `text` is, of the first only with `ascii`. Raises ValueError, which says what it is not."""
    found = _matched(text, ascii)
    if found is None:
        raise ValueError("not a URI of RFC 3986, scheme included")
    scheme, user, literal, name, _, port, path, query, fragment = found.groups()
    host = literal if name is None else name
    return Uri(scheme.lower(), user, None if host is None else host.lower(), _number(port), path, query, fragment)


def is_uri(text: str, ascii: bool = False) -> bool:
    """Whether `text` is a URI or IRI, or with `ascii` a URI."""
    return _matched(text, ascii) is not None


def _matched(text: str, ascii: bool) -> "Optional[re.Match[str]]":
    found = re.fullmatch(_URI, text)
    if found is None or re.search(_NO_ESCAPE, text) or not text.isascii() and (ascii or not _may_stand(text)):
        return None
    web, literal = found["scheme"].lower() in DEFAULT_PORTS, found["literal"]
    if literal and not is_ip(literal, 6) and (web or literal[0] not in "vV"):
        return None
    return None if web and not (_is_port(found["port"]) and (found["name"] or literal)) else found


def _may_stand(text: str) -> bool:
    """Whether nothing beyond ASCII in it is a control character, half of one, or for private use (RFC 3987)."""
    return not any("\x7f" < c <= "\xa0" or "\ud800" <= c <= "\uf8ff" or c > "\U000effff" for c in text)


def _number(port: Optional[str]) -> str:
    return (port or "").lstrip("0") or ("0" if port else "")


def _is_port(port: Optional[str]) -> bool:
    return len(_number(port)) < 6 and int(_number(port) or 0) < 65536


def is_ip(text: str, version: int) -> bool:
    """Whether `text` is an IP address of that version, without a zone."""
    import ipaddress  # for those who have such an address

    try:
        return "%" not in text and ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether a host name or address, without brackets, means this machine: localhost, 127.0.0.0/8, ::1."""
    name = host.lower()
    if ":" not in name:
        return re.fullmatch(_LOCALHOST, name[:-1] if name.endswith(".") else name) is not None
    import ipaddress

    return is_ip(name, 6) and ipaddress.ip_address(name).is_loopback


@lru_cache(maxsize=256)
def authority(value: str) -> Optional[Tuple[str, str]]:
    """(host in lower case without brackets, port or "") of a Host value; None where it is no whole authority."""
    found = re.fullmatch(_PLACE, value)
    if found is None or not value.isascii() or re.search(_NO_ESCAPE, value):
        return None
    if (found["literal"] and not is_ip(found["literal"], 6)) or not _is_port(found["port"]):
        return None
    host = found["literal"] or found["name"]
    return None if not host or found["colon"] == ":" else (host.lower(), _number(found["port"]))


@lru_cache(maxsize=256)
def origin(value: str) -> Optional[Tuple[str, str, str]]:
    """(scheme, host, port) of an Origin value, the scheme's default port filled in; None where it is none."""
    scheme, mark, rest = value.partition("://")
    place = authority(rest)
    if not mark or place is None or not re.fullmatch(_SCHEME, scheme):
        return None
    scheme = scheme.lower()
    return scheme, place[0], place[1] or DEFAULT_PORTS.get(scheme, "")


class Address:
    """A checked http or https URL. Raises ValueError, which names what is wrong with it.

    url: what is requested, without user, password and fragment. origin: (scheme, host, port), for comparison.
    loopback: whether the host is this machine.
    """

    def __init__(self, text: str) -> None:
        if re.search(_UNUSABLE, text):
            raise ValueError("a URL holds no blanks, backslashes or control characters")
        try:
            uri = parsed(text)
        except ValueError as error:
            raise ValueError(f"not a URL: {error}") from None
        if uri.scheme not in DEFAULT_PORTS or not uri.host:
            raise ValueError("an MCP server's URL begins with http:// or https:// and a host")
        if not uri.host.isascii():
            try:
                uri = uri._replace(host=uri.host.encode("idna").decode("ascii"))
            except UnicodeError as error:
                raise ValueError(f"not a URL: {error}") from None
        self.origin = uri.origin
        self.loopback = is_loopback(self.origin[1])
        self._user = uri.user
        self.url = uri.site + percent_encoded((uri.path or "/") + ("" if uri.query is None else "?" + uri.query))

    def __str__(self) -> str:
        return self.url

    def authorization(self) -> Dict[str, str]:
        """The header for the user and password of the URL; {} where there are none."""
        if self._user is None:
            return {}
        user, _, password = self._user.partition(":")
        pair = percent_decoded(user) + b":" + percent_decoded(password)
        return {"Authorization": "Basic " + base64.b64encode(pair).decode("ascii")}


def percent_encoded(text: str, keep: str = PARTING) -> str:
    """`text` percent-encoded, but for what stands for itself in any URI and what is in `keep`."""
    return "".join(c if c in _UNRESERVED or c in keep else "".join(f"%{octet:02X}" for octet in c.encode("utf-8"))
                   for c in text)


def percent_decoded(text: str) -> bytes:
    """The octets that `text` stands for: its escapes undone, once."""
    octets = text.encode("utf-8")
    if "%" not in text:
        return octets
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), octets)


def joined(base: str, reference: str) -> str:
    """The URI that a reference means where `base` is the one at hand (RFC 3986, section 5.2)."""
    scheme, place, path, query, fragment = re.findall(_REFERENCE, reference)[0]
    base_scheme, base_place, base_path, base_query, _ = re.findall(_REFERENCE, base)[0]
    if not base_scheme:
        return reference
    if not scheme:
        scheme = base_scheme
        if not place:
            place = base_place
            if not path:
                path, query = base_path, query or base_query
            elif path[0] != "/":
                above, slash, _ = base_path.rpartition("/")
                path = above + (slash or ("/" if place else "")) + path
    return f"{scheme}:{place}{_without_dots(path)}{query}{fragment}"


def _without_dots(path: str) -> str:
    """`path` without the segments `.` and `..` (section 5.2.4)."""
    kept: List[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == ".." and len(kept) > 1:
            kept.pop()
        elif segment not in (".", ".."):
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)
