"""server/tools, Tool Result: the content blocks that tools and prompts are made of.

Implements TOOL-33, TOOL-41. Each function returns the dict that goes on the wire; `annotations` and the like pass
through as keywords.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Dict, Optional, Union

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:[ \t]*;[\x20-\x7e\t]*)?")


def check_base64(text: Any) -> None:
    """Raise ValueError for what is not octets in standard Base64."""
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ValueError("a blob is octets, or their standard Base64, padded and without line breaks") from None


def check_media_type(text: Any) -> None:
    """Raise ValueError for what is no media type such as image/png."""
    if not isinstance(text, str) or not _MEDIA_TYPE.fullmatch(text):
        raise ValueError(f"a mimeType is type/subtype, not {text!r}")


def base64_text(data: Union[bytes, bytearray, memoryview]) -> str:
    """Octets in the standard alphabet, padded, without line breaks."""
    return base64.b64encode(data).decode("ascii")


def text(value: str, **members: Any) -> Dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value, **members}


def image(data: bytes, mime_type: str, **members: Any) -> Dict[str, Any]:
    """An image block from octets and their media type."""
    return {"type": "image", "data": base64_text(data), "mimeType": mime_type, **members}


def audio(data: bytes, mime_type: str, **members: Any) -> Dict[str, Any]:
    """An audio block from octets and their media type."""
    return {"type": "audio", "data": base64_text(data), "mimeType": mime_type, **members}


def resource_link(uri: str, name: str, **members: Any) -> Dict[str, Any]:
    """A link to a resource that the client can read or subscribe to."""
    return {"type": "resource_link", "uri": uri, "name": name, **members}


def resource_contents(uri: str, value: Union[str, bytes, bytearray, memoryview], mime_type: Optional[str] = None,
                      **members: Any) -> Dict[str, Any]:
    """The contents of one resource: text for a string, Base64 for octets (server/resources, Resource Contents)."""
    contents: Dict[str, Any] = {"uri": uri}
    if mime_type is not None:
        contents["mimeType"] = mime_type
    if isinstance(value, str):
        contents["text"] = value
    else:
        contents["blob"] = base64_text(value)
    contents.update(members)
    return contents


def embedded_resource(uri: str, value: Union[str, bytes], mime_type: Optional[str] = None,
                      **members: Any) -> Dict[str, Any]:
    """A resource inside a result; `members` such as annotations belong to the block."""
    return {"type": "resource", "resource": resource_contents(uri, value, mime_type), **members}
