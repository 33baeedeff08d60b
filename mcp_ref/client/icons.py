"""basic/index, Icons: the picture that an icon names, fetched only where that is safe, and taken for what it is.

Implements ICON-06 to ICON-11, ICON-13 to ICON-15.

An icon is a server's word, and a program that shows it lets the server choose what is fetched and parsed. So nothing
here happens by itself: who wants a picture asks for it. It comes from the server's own origin over https or stands in
a data URI; no redirect is followed and no credential sent; and its first octets say what it is, whatever is declared.
SVG and animations are left out: the one can hold scripts, the other any number of frames.
"""

from __future__ import annotations

import base64
from contextlib import closing
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple

from ..base.errors import HTTPError, TransportError
from ..base.versioning import RELEASE
from ..lib.text import shown
from ..lib.uri import Address
from ..transports.calls import Deadline
from ..transports.exchange import Exchange
from ..transports.pool import Pool

MAX_OCTETS = 256 * 1024
MAX_SIDE = 1024
PNG, JPEG = "image/png", "image/jpeg"
GENERIC = ("", "application/octet-stream")
_DECLARED = {PNG: PNG, JPEG: JPEG, "image/jpg": JPEG}
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class Picture(NamedTuple):
    """A picture that may be drawn. kind: its media type, image/png or image/jpeg. width, height: pixels."""

    kind: str
    octets: bytes
    width: int
    height: int


def picture(icon: Mapping[str, Any], server: str, timeout: float = 10.0) -> Picture:
    """What an entry of `icons` shows. server: the URL of the server that listed it, as `client.url`.

    Raises TransportError for a `src` or a picture that must not be used, Timeout, and HTTPError for any status but 200.
    """
    src: Any = icon.get("src")
    scheme = src.partition(":")[0].lower() if isinstance(src, str) else ""
    kind: Optional[str] = None
    if scheme == "data":
        kind, octets = _embedded(src)
    elif scheme == "https":
        kind, octets = _fetched(src, server, timeout)
    else:
        raise TransportError(f"the src of an icon is an https or a data URI, not {shown(src)}")
    found, width, height = _measured(octets)
    for said in (kind, icon.get("mimeType")):
        if said is not None and _DECLARED.get(str(said).lower()) != found:
            raise TransportError(f"an icon is said to be {shown(said)} and is {found}")
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise TransportError(f"an icon of {width} by {height} pixels, where {MAX_SIDE} each way are the most")
    return Picture(found, octets, width, height)


def _embedded(src: str) -> Tuple[str, bytes]:
    """The media type and the octets of a data URI."""
    head, comma, data = src.partition(",")
    kind, *parameters = head[len("data:"):].split(";")
    if not comma or parameters[-1:] != ["base64"] or len(data) > MAX_OCTETS * 4 // 3 + 4:
        raise TransportError(f"the data URI of an icon holds Base64 of at most {MAX_OCTETS} octets")
    try:
        return kind, base64.b64decode(data, validate=True)
    except ValueError:
        raise TransportError("the data URI of an icon is not Base64") from None


def _fetched(src: str, server: str, timeout: float) -> Tuple[Optional[str], bytes]:
    """The octets that a GET gives, of the server's own origin, and their media type if it is more than a generic one.
    """
    try:
        there, ours = Address(src), Address(server)
    except ValueError:
        raise TransportError(f"the icon at {shown(src)} is not of an HTTP server's own origin") from None
    if there.origin != ours.origin:
        raise TransportError(f"the icon at {shown(src)} is not of the server's own origin")
    fields = {"User-Agent": f"mcp_ref/{RELEASE}", "Accept": f"{PNG}, {JPEG}", "Accept-Encoding": "identity"}
    pool = Pool(direct=there.loopback)
    with closing(pool), Exchange(there, Deadline(timeout), pool=pool) as exchange:
        response = exchange.open("GET", there.url, None, fields)
        if response.status != 200:
            raise HTTPError(response.status, f"no icon came from {there}")
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
        return None if kind in GENERIC else kind, exchange.whole(response, MAX_OCTETS)


def _measured(octets: bytes) -> Tuple[str, int, int]:
    """(media type, width, height) as the octets say. Raises TransportError for what is no picture of a known kind."""
    try:
        if octets.startswith(_SIGNATURE):
            return (PNG, *_png(octets))
        if octets.startswith(b"\xff\xd8\xff"):
            return (JPEG, *_jpeg(octets))
    except IndexError:
        raise TransportError("an icon is cut off") from None
    raise TransportError(f"an icon is a PNG or a JPEG, which octets that begin with {octets[:8]!r} are not")


def _png(octets: bytes) -> Tuple[int, int]:
    at = len(_SIGNATURE)
    kinds: List[bytes] = []
    while kinds[-1:] != [b"IEND"]:
        kinds.append(octets[at + 4:at + 8])
        at += 12 + _number(octets, at, 4)
    if at > len(octets):
        raise IndexError
    if kinds[0] != b"IHDR" or b"acTL" in kinds:
        raise TransportError("an icon is a PNG that does not begin with its size, or one that moves")
    return _number(octets, 16, 4), _number(octets, 20, 4)


def _jpeg(octets: bytes) -> Tuple[int, int]:
    at = 2
    while not (0xC0 <= octets[at + 1] <= 0xCF and octets[at + 1] not in (0xC4, 0xC8, 0xCC)):
        if octets[at] != 0xFF:
            raise TransportError("an icon is a JPEG whose size cannot be found")
        at += 2 + _number(octets, at + 2, 2)
    return _number(octets, at + 7, 2), _number(octets, at + 5, 2)


def _number(octets: bytes, at: int, size: int) -> int:
    if at + size > len(octets):
        raise IndexError
    return int.from_bytes(octets[at:at + size], "big")
