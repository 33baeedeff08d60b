"""basic/index, _meta: the reserved keys, the meta rung, and what a client may have declared.

Implements META-01 to META-03, META-05, META-11, META-12, VERS-05.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, Mapping, Optional

from ..lib.strict_json import decode, encode
from ..lib.text import shown
from ..lib.trace_context import TRACE_CONTEXT, trace_context
from .errors import InvalidParams, MissingClientCapability

PREFIX = "io.modelcontextprotocol/"
PROTOCOL_VERSION = PREFIX + "protocolVersion"
CLIENT_INFO = PREFIX + "clientInfo"
CLIENT_CAPABILITIES = PREFIX + "clientCapabilities"
LOG_LEVEL = PREFIX + "logLevel"
SERVER_INFO = PREFIX + "serverInfo"
SUBSCRIPTION_ID = PREFIX + "subscriptionId"
PROGRESS_TOKEN = "progressToken"

OBJECTS = ("elicitation", "sampling", "roots", "extensions", "experimental")
"""The members of client capabilities that are objects where they are there."""
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

_KEY = (r"(?:[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*/)?"
        r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?")


def is_key(name: str) -> bool:
    """Whether `name` has the form of a `_meta` key (META-02, META-03, META-05)."""
    return bool(re.fullmatch(_KEY, name)) and name != ""


def checked_meta(fields: Optional[Mapping[str, Any]]) -> Optional[Mapping[str, Any]]:
    """`fields` that somebody puts into a `_meta` of ours.

    Raises ValueError for a key that breaks the key grammar, and for a malformed trace context (META-18, META-19).
    """
    if not fields:
        return fields
    for name in fields:
        if not isinstance(name, str) or not is_key(name):
            raise ValueError(f"not a _meta key, an optional prefix of labels and a name: {shown(name)}")
    traced = trace_context(fields)
    for name in TRACE_CONTEXT:
        if name in fields and name not in traced:
            raise ValueError(f"{name} is not in its W3C format: {shown(fields[name])}")
    return fields


def checked_level(name: str) -> str:
    """The name of a log level. Raises ValueError for any other."""
    if name not in LOG_LEVELS:
        raise ValueError(f"log_level is one of {', '.join(LOG_LEVELS)}, not {name!r}")
    return name


def checked_extensions(given: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
    """The `extensions` of a capabilities object, a copy: identifier to settings, {} for none (VERS-05).

    Raises ValueError for an identifier that is no prefixed `_meta` key, and for settings that are no JSON object.
    """
    made: Dict[str, Any] = {}
    if not isinstance(given, Mapping):
        raise ValueError(f'extensions map identifiers to settings, as {{"com.example/map": {{}}}}, not {shown(given)}')
    for name, settings in given.items():
        if not isinstance(name, str) or not is_key(name) or "/" not in name:
            raise ValueError(f"an extension is named by a prefix and a name, as com.example/map, not {shown(name)}")
        if not isinstance(settings, Mapping):
            raise ValueError(f"the settings of extension {name} are an object, {{}} for none, not {shown(settings)}")
        try:
            made[name] = decode(encode(dict(settings)))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the settings of extension {name} are not JSON: {error}") from None
    return made


def malformed(name: str, expected: str) -> InvalidParams:
    """The error that says `params._meta.<name> must be <expected>`."""
    return InvalidParams(f"Invalid params: params._meta.{name} must be {expected}")


def declares(capabilities: Mapping[str, Any], needed: Mapping[str, Any]) -> bool:
    """Whether client capabilities cover `needed`, a nested object such as {"elicitation": {"form": {}}}.

    `elicitation: {}` declares form mode (client/elicitation, Capabilities).
    """
    for name, inner in needed.items():
        have = capabilities.get(name)
        if not isinstance(have, Mapping):
            return False
        if name == "elicitation" and not have:
            have = {"form": {}}
        if not declares(have, inner):
            return False
    return True


def require_capabilities(capabilities: Mapping[str, Any], needs: Iterable[Mapping[str, Any]]) -> None:
    """Raise MissingClientCapability (-32021), which names all of `needs` that the client did not declare (META-12).

    needs: objects as `declares` takes them, one for each thing that is asked; those that lack are told as one object.
    """
    lacking: Dict[str, Any] = {}
    for needed in needs:
        if not declares(capabilities, needed):
            _merge(lacking, needed)
    if lacking:
        names = f"{' and '.join(lacking)} {'capability' if len(lacking) == 1 else 'capabilities'}"
        error = MissingClientCapability(f"Server requires the {names} for this request", lacking)
        error.found = True
        raise error


def _merge(into: Dict[str, Any], needed: Mapping[str, Any]) -> None:
    for name, inner in needed.items():
        _merge(into.setdefault(name, {}), inner)


def stamped(result: Dict[str, Any], server_info: Mapping[str, Any]) -> Dict[str, Any]:
    """`result` with this server's identity in its `_meta`, beside what the handler put there (META-14).

    Raises ValueError for a key that is none (META-02).
    """
    fields = {SERVER_INFO: server_info}
    own = result.get("_meta")
    if own:
        checked_meta(own)
        fields.update(own)
    result["_meta"] = fields
    return result
