"""What an author hands to a Server, checked when it is made: a mistake is told where it stands, in words."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional, Tuple

from ..base.jsonrpc import encode, shown
from .uri_template import is_uri

_SOURCE = re.compile(r"(?:https?|data):", re.IGNORECASE)
_SIZE = re.compile(r"[1-9][0-9]*x[1-9][0-9]*|any")


def text_or_none(name: str, value: Any) -> Optional[str]:
    """`value`, a text that can be sent, or None. Raises TypeError, and ValueError for an unpaired surrogate."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is a text, not {shown(value)}")
    if value is not None:
        encode(value)
    return value


def texts(name: str, value: Any) -> Tuple[str, ...]:
    """`value`, several texts. Raises TypeError for one text, which is a sequence of its letters, and anything else."""
    if isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"{name} is a list of texts, not {shown(value)}")
    return tuple(value)


def whole(name: str, value: int, least: int) -> int:
    """`value`, an integer of `least` or more. Raises TypeError or ValueError."""
    if type(value) is not int:
        raise TypeError(f"{name} is a whole number, not {shown(value)}")
    if value < least:
        raise ValueError(f"{name} is {least} or more, not {value}")
    return value


def checked_icons(icons: Any) -> Any:
    """Icons, objects as the schema has them: `src`, a URI, and perhaps `mimeType`, `sizes`, `theme`.

    Raises TypeError or ValueError for what is none, and None for None.
    """
    if icons is None:
        return None
    if not isinstance(icons, (list, tuple)) or not all(isinstance(icon, Mapping) for icon in icons):
        raise TypeError(f'icons is a list of objects as {{"src": "https://app.example/icon.png"}}, not {shown(icons)}')
    return [_icon(icon) for icon in icons]


def _icon(icon: Mapping[str, Any]) -> Dict[str, Any]:
    source, sizes = icon.get("src"), icon.get("sizes", [])
    if not isinstance(source, str) or not is_uri(source) or not _SOURCE.match(source):
        raise ValueError(f"the src of an icon is an http, https or data URI, not {shown(source)}")
    if not isinstance(sizes, (list, tuple)) or not all(_SIZE.fullmatch(str(size)) for size in sizes):
        raise ValueError(f'the sizes of an icon are a list such as ["48x48", "any"], not {shown(sizes)}')
    if icon.get("theme", "light") not in ("light", "dark"):
        raise ValueError(f"the theme of an icon is light or dark, not {shown(icon['theme'])}")
    unknown = icon.keys() - {"src", "mimeType", "sizes", "theme"}
    if unknown:
        raise ValueError(f"an icon has src, mimeType, sizes and theme, no {shown(min(unknown, key=str))}")
    text_or_none("the mimeType of an icon", icon.get("mimeType"))
    return dict(icon)


def server_info(*, icons: Any, **members: Any) -> Dict[str, Any]:
    """A serverInfo of its members, without those that are None. Raises TypeError or ValueError."""
    for name, value in members.items():
        text_or_none(name, value)
    for name in ("name", "version"):
        if not members[name]:
            raise ValueError(f"the {name} of a server is a text of at least one character, not {shown(members[name])}")
    if members["websiteUrl"] is not None and not is_uri(members["websiteUrl"]):
        raise ValueError(f"website_url is a URI, not {shown(members['websiteUrl'])}")
    info = {**members, "icons": checked_icons(icons)}
    return {name: value for name, value in info.items() if value is not None}
