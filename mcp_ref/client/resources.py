"""server/resources, the client's side: what is not there, and the octets of what is.

Implements RES-12, BASE-21.
"""

from __future__ import annotations

import base64
from typing import Any, Mapping

from ..base.errors import RETIRED, InvalidParams, ProtocolError, ResourceNotFound, TransportError

_STANDARD = str.maketrans("-_", "+/", " \t\r\n")


def not_found(error: ProtocolError) -> ProtocolError:
    """The ResourceNotFound for a server's error to resources/read that means it; any other error as it is."""
    if not error.remote or error.note or error.code not in (InvalidParams.defined, RETIRED):
        return error
    made = ResourceNotFound()
    made.code, made.message, made.data = error.code, error.message, error.data
    made.status, made.remote = error.status, True
    return made


def octets(contents: Mapping[str, Any]) -> bytes:
    """The octets of one item of `contents`: its decoded blob or its text in UTF-8, the blob where it has both.

    Line breaks, the URL-safe alphabet and missing padding are accepted. Raises TransportError for what is not Base64,
    and where there is neither.
    """
    blob, text = contents.get("blob"), contents.get("text")
    if isinstance(blob, str):
        digits = blob.translate(_STANDARD).rstrip("=")
        try:
            return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
        except ValueError:
            raise TransportError("a blob is not Base64") from None
    if not isinstance(text, str):
        raise TransportError("the contents of a resource need a text or a blob")
    return text.encode("utf-8")
