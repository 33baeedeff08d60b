"""subscriptions/listen on a server: which of the asked-for notifications its features can give."""

from __future__ import annotations

from typing import Callable, List, Mapping, Optional

from ..authorization.scopes import visible
from ..base.request import Request
from ..patterns.subscriptions import Subscription
from .state import State


def listen(state: State, request: Request) -> Subscription:
    """subscriptions/listen: a stream that begins with its acknowledgment. Raises InvalidParams, TooManySubscriptions.

    A URI is honoured if it is that of a resource, matches a template, or is the text of one, which then stands for
    all its resources; what the caller may not read is not honoured. It lasts no longer than the caller's token.
    """
    resources = visible(state.auth, request, state.resources)
    templates = visible(state.auth, request, state.resource_templates)

    def known(uri: str) -> bool:
        return uri in resources or any(template.match(uri) is not None for template in templates.values())

    def matcher(text: str) -> Optional[Callable[[str], object]]:
        found = templates.get(text)
        return None if found is None else found.match

    assert request.id is not None
    made = state.subscriptions.open(request.id, request.params.get("notifications"), supported(state), known, matcher)
    made.expires = request.principal.get("exp") if isinstance(request.principal, Mapping) else None
    return made


def supported(state: State) -> List[str]:
    """The members of a filter that this server can honour, by what it advertises."""
    names = {"tools": ["toolsListChanged"], "prompts": ["promptsListChanged"],
             "resources": ["resourcesListChanged", "resourceSubscriptions"]}
    return [name for feature in names if feature in state.capabilities for name in names[feature]]
