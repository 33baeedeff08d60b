"""What an author hands to a Server, checked when it is made: a mistake is told where it stands, in words."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ..base.request import CACHEABLE
from ..lib.strict_json import encode
from ..lib.text import instead, shown
from ..lib.uri import is_uri
from ..patterns.state_sealer import StateSealer, random_key
from .content import check_icons

METHODS = (*CACHEABLE, "tools/call", "prompts/get", "completion/complete", "subscriptions/listen", "initialize", "ping",
           "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
"""All that a client can ask, of whatever era."""


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


def flag(name: str, value: Any) -> bool:
    """`value`, True or False. Raises TypeError."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is True or False, not {shown(value)}")
    return value


def having(name: str, value: Any, what: str, *members: str) -> None:
    """Raise TypeError for a `value` that is neither None nor `what` has these members."""
    if value is not None and not all(hasattr(value, member) for member in members):
        raise TypeError(f"{name} is {what}, not {value!r}")


def by_method(name: str, given: Any, known: Sequence[str]) -> Mapping[str, Any]:
    """`given`, a mapping whose keys are `known` methods. Raises TypeError, ValueError for what would have no effect."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} is a dict by method, as {{{known[0]!r}: …}}, not {shown(given)}")
    for method in given:
        if method not in known:
            raise ValueError(f"{name} of {shown(method)}, which is none of its methods: {instead(method, known)}")
    return given


def server_info(*, icons: Any, **members: Any) -> Dict[str, Any]:
    """A serverInfo of its members, without those that are None. Raises TypeError or ValueError."""
    for name, value in members.items():
        text_or_none(name, value)
    for name in ("name", "version"):
        if not members[name]:
            raise ValueError(f"the {name} of a server is a text of at least one character, not {shown(members[name])}")
    if members["websiteUrl"] is not None and not is_uri(members["websiteUrl"]):
        raise ValueError(f"website_url is a URI, not {shown(members['websiteUrl'])}")
    if icons is not None:
        check_icons(icons)
    info = {**members, "icons": icons}
    return {name: value for name, value in info.items() if value is not None}


def keys_given(keys: Sequence[Union[str, bytes]]) -> List[Union[str, bytes]]:
    """These state keys, or a fresh one where there are none. Raises TypeError."""
    if isinstance(keys, (str, bytes)) or not all(isinstance(key, (str, bytes)) for key in keys):
        raise TypeError("state_keys is a list of keys, each a text or octets: state_keys=[key]")
    return list(keys) or [random_key()]


def sealers(keys: Sequence[Union[str, bytes]], ttl: float) -> Tuple[StateSealer, StateSealer]:
    """Of requestState and of cursors."""
    return StateSealer(keys, "requestState", ttl), StateSealer(keys, "cursor", 24 * 3600.0)
