"""server/tools, Tool Result: the content blocks that tools and prompts are made of, and what the schema says of them.

Implements TOOL-41. Each function returns the dict that goes on the wire; `annotations` and the like pass through as
keywords. A plain dict that a handler returns is data, whatever its members are called; a Block is content.
"""

from __future__ import annotations

import re
from typing import Any, Callable, ClassVar, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ..base.meta import checked_meta
from ..lib.strict_json import check_json
from ..lib.text import Octets, base64_text, instead, is_base64, shown
from ..lib.uri import is_uri
from ..patterns.sampling import ROLES

_MEDIA_TYPE = r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:[ \t]*;[\x20-\x7e\t]*)?"
_MOMENT = r"(?a)\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[-+]\d\d:?\d\d)?)?"
_ICON = "(?i)(?:https?|data):"
_SIZE = "[1-9][0-9]*x[1-9][0-9]*|any"


class Sent:
    """What goes on the wire as it stands, where a feature has a place for it, and is data for none. place: where."""

    place: ClassVar[str]


class Block(Dict[str, Any], Sent):
    """A content block, told by its class from data that looks like one."""

    place = "content of tools and prompts"


class Contents(Dict[str, Any], Sent):
    """The contents of one resource, told by its class from data that looks like it."""

    place = "what a resource returns"


def text(value: str, **members: Any) -> Block:
    """A text block."""
    return Block(type="text", text=value, **members)


def image(data: Octets, mime_type: str, **members: Any) -> Block:
    """An image block from octets and their media type. Raises TypeError for a text."""
    return Block(type="image", data=_base64(data), mimeType=mime_type, **members)


def audio(data: Octets, mime_type: str, **members: Any) -> Block:
    """An audio block from octets and their media type. Raises TypeError for a text."""
    return Block(type="audio", data=_base64(data), mimeType=mime_type, **members)


def _base64(data: Octets) -> str:
    if isinstance(data, str):
        raise TypeError("an image or audio is made of octets, not of a text; of Base64, of base64.b64decode(…)")
    return base64_text(data)


def resource_link(uri: str, name: str, **members: Any) -> Block:
    """A link to a resource that the client can read or subscribe to."""
    return Block(type="resource_link", uri=uri, name=name, **members)


def resource_contents(uri: str, value: Union[str, Octets], mime_type: Optional[str] = None,
                      **members: Any) -> Contents:
    """The contents of one resource: text for a string, Base64 for octets (server/resources, Resource Contents)."""
    contents = Contents(uri=uri)
    if mime_type is not None:
        contents["mimeType"] = mime_type
    if isinstance(value, str):
        contents["text"] = value
    else:
        contents["blob"] = base64_text(value)
    contents.update(members)
    return contents


def embedded_resource(uri: str, value: Union[str, Octets], mime_type: Optional[str] = None,
                      **members: Any) -> Block:
    """A resource inside a result; `members` such as annotations belong to the block."""
    return Block(type="resource", resource=resource_contents(uri, value, mime_type), **members)


# What the schema says of a block, and of what blocks, tools and resources are described with. All raise ValueError.


def check_base64(value: Any) -> None:
    """Octets in standard Base64."""
    if not isinstance(value, str) or not is_base64(value):
        raise ValueError("a blob is octets, or their standard Base64, padded and without line breaks")


def check_media_type(value: Any) -> None:
    """A media type such as image/png."""
    if not isinstance(value, str) or not re.fullmatch(_MEDIA_TYPE, value):
        raise ValueError(f"a mimeType is type/subtype, not {shown(value)}")


def check_uri(value: Any) -> None:
    """An absolute URI."""
    if not isinstance(value, str) or not is_uri(value):
        raise ValueError(f"a uri is one of RFC 3986, scheme included, not {shown(value)}")


def check_text(value: Any) -> None:
    """A text that has a UTF-8 form."""
    if not isinstance(value, str):
        raise ValueError(f"it must be a text, not {shown(value)}")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a text holds an unpaired surrogate") from None


def check_meta(value: Any) -> None:
    """A `_meta`: an object with well-formed keys and values of JSON."""
    if not isinstance(value, Mapping):
        raise ValueError(f"it must be a dict, not {shown(value)}")
    checked_meta(value)
    check_json(value)


def _check_icon(value: Any) -> None:
    check_uri(value)
    if not re.match(_ICON, value):
        raise ValueError(f"an icon is an http, https or data URI, not {shown(value)}")


def _must(be: str, good: Callable[[Any], Any]) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        if not good(value):
            raise ValueError(f"it must be {be}, not {shown(value)}")
    return check


def _is_number(value: Any, kind: Union[type, Tuple[type, ...]] = (int, float)) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_list(value: Any, good: Callable[[Any], Any]) -> bool:
    return isinstance(value, (list, tuple)) and all(good(each) for each in value)


check_flag = _must("True or False", lambda value: isinstance(value, bool))
check_size = _must("a number of octets, 0 or more", lambda value: _is_number(value, int) and value >= 0)

Rules = Mapping[str, Callable[[Any], None]]
ANNOTATIONS: Rules = {
    "audience": _must("a list of user and assistant", lambda value: _is_list(value, ROLES.__contains__)),
    "priority": _must("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1),
    "lastModified": _must("a text such as 2026-07-28T09:30:00Z",
                          lambda value: isinstance(value, str) and re.fullmatch(_MOMENT, value))}
TOOL_ANNOTATIONS: Rules = {"title": check_text, **dict.fromkeys(
    ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), check_flag)}
_ICON_MEMBERS: Rules = {
    "src": _check_icon, "mimeType": check_media_type, "theme": _must("light or dark", ("light", "dark").__contains__),
    "sizes": _must("a list such as ['48x48', 'any']", lambda value: _is_list(
        value, lambda size: isinstance(size, str) and re.fullmatch(_SIZE, size)))}


def check_known(what: str, value: Any, rules: Rules, required: Sequence[str] = ()) -> None:
    """An object with members of `rules` only, each as it is there, and all that are `required`."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be a dict, not {shown(value)}")
    for name in value:
        if name not in rules:
            raise ValueError(f"{what} cannot have {shown(name)}, "
                             + instead(name, rules, "; what is your own goes into meta"))
    _check_members(what, value, rules, required)


def _check_members(what: str, value: Mapping[str, Any], rules: Rules, required: Sequence[str] = ()) -> None:
    for name in required:
        if name not in value:
            raise ValueError(f"{what} must have {name}")
    for name, check in rules.items():
        if name in value:
            try:
                check(value[name])
            except ValueError as error:
                raise ValueError(f"{name} of {what}: {error}") from None


def check_annotations(value: Any) -> None:
    """The annotations of a block or a resource."""
    check_known("annotations", value, ANNOTATIONS)


def check_icons(value: Any) -> None:
    """A list of icons."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"icons must be a list of dicts with src, not {shown(value)}")
    for icon in value:
        check_known("an icon", icon, _ICON_MEMBERS, ("src",))


def check_contents(value: Any) -> None:
    """The contents of one resource: its URI, and either text or blob."""
    if not isinstance(value, Mapping) or ("text" in value) == ("blob" in value):
        raise ValueError("the contents of a resource are a dict with either text or blob")
    _check_whole("the contents of a resource", value, {
        "uri": check_uri, "mimeType": check_media_type, "text": check_text, "blob": check_base64, **_SHARED}, ("uri",))


def _check_whole(what: str, value: Mapping[str, Any], rules: Rules, required: Sequence[str], checked: str = "") -> None:
    """Members by `rules`; whatever else there is, but for the one that is `checked`, must be JSON."""
    _check_members(what, value, rules, required)
    rest = {name: member for name, member in value.items() if name not in rules and name != checked}
    if rest:
        check_json(rest)


_SHARED: Rules = {"annotations": check_annotations, "_meta": check_meta}
_MEDIA: Rules = {"data": check_base64, "mimeType": check_media_type, **_SHARED}
_KINDS: Dict[str, Rules] = {
    "text": {"text": check_text, **_SHARED}, "image": _MEDIA, "audio": _MEDIA,
    "resource_link": {"uri": check_uri, "name": check_text, "title": check_text, "description": check_text,
                      "mimeType": check_media_type, "size": check_size, "icons": check_icons, **_SHARED},
    "resource": {"resource": check_contents, **_SHARED}}
_REQUIRED = {"text": ("text",), "image": ("data", "mimeType"), "audio": ("data", "mimeType"),
             "resource_link": ("uri", "name"), "resource": ("resource",)}


def check_block(value: Any) -> None:
    """One of the five kinds of content block, whole."""
    kind = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"a content block is a text or of type {', '.join(_KINDS)}, not {shown(value)}")
    _check_whole(f"the {kind} block", value, _KINDS[kind], _REQUIRED[kind], "type")


def check_resource(value: Any) -> None:
    """The definition of a resource, as it is listed."""
    if not isinstance(value, Mapping):
        raise ValueError(f"the definition of a resource must be a dict, not {shown(value)}")
    _check_whole("the definition of a resource", value, _KINDS["resource_link"], _REQUIRED["resource_link"])


def content_blocks(value: Any) -> List[Dict[str, Any]]:
    """A text, a block, or a list of such, as checked blocks. Raises ValueError."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    for part in listed:
        check_text(part) if isinstance(part, str) else check_block(part)
    return [text(part) if isinstance(part, str) else part for part in listed]
