"""subscriptions/listen on a server: which of the asked-for notifications its features can give."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple

from ..authorization.scopes import visible
from ..base.errors import InvalidParams
from ..base.request import Request
from ..lib.strict_json import encode
from ..patterns.subscriptions import LIST_CHANGED, MAX_FILTER, MAX_URIS, Matches, Subscription
from .state import State


def listen(state: State, request: Request) -> Subscription:
    """subscriptions/listen: a stream that begins with its acknowledgment. Raises InvalidParams, TooManySubscriptions.

    A URI is honoured if it is that of a resource, matches a template, or is the text of one, which then stands for
    all its resources; what the caller may not read is not honoured. It lasts no longer than the caller's token.
    """
    assert request.id is not None
    made = state.subscriptions.open(request.id, *_honoured(state, request))
    made.expires = request.principal.get("exp") if isinstance(request.principal, Mapping) else None
    return made


def _honoured(state: State, request: Request) -> Tuple[Dict[str, Any], List[Matches]]:
    """What is honoured of the filter, and what matches the URIs of the templates in it. Raises InvalidParams."""
    wanted = request.params.get("notifications")
    if not isinstance(wanted, dict):
        raise InvalidParams("Invalid params: params.notifications is required and must be an object")
    honoured: Dict[str, Any] = {}
    for name, method in LIST_CHANGED.items():
        if not isinstance(wanted.get(name, False), bool):
            raise InvalidParams(f"Invalid params: params.notifications.{name} must be a boolean")
        if wanted.get(name) and method.split("/")[1] in state.capabilities:
            honoured[name] = True
    uris = _uris(wanted.get("resourceSubscriptions", []))
    resources = visible(state.auth, request, state.resources)
    templates = visible(state.auth, request, state.resource_templates)
    granted = [uri for uri in uris if uri in resources or uri in templates
               or any(template.match(uri) is not None for template in templates.values())]
    if granted:
        honoured["resourceSubscriptions"] = granted
    return honoured, [templates[uri].match for uri in granted if uri in templates]


def _uris(value: Any) -> List[str]:
    if not isinstance(value, list) or not all(isinstance(uri, str) for uri in value):
        raise InvalidParams("Invalid params: params.notifications.resourceSubscriptions must be an array of strings")
    if len(value) > MAX_URIS or len(encode(value)) > MAX_FILTER:
        raise InvalidParams(f"Invalid params: at most {MAX_URIS} resourceSubscriptions in one subscription, of at most "
                            f"{MAX_FILTER} octets together")
    return list(dict.fromkeys(value))
