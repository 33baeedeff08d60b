"""subscriptions/listen on a server: which of the asked-for notifications its features can give.

Implements SUBS-01, SUBS-02; TOOL-12, PROMPT-03, RES-05 (when they are sent).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, List, Mapping, Optional

from ..authorization.scopes import visible
from ..base.request import Request
from ..patterns.subscriptions import Subscription

if TYPE_CHECKING:
    from .server import Server


def listen(server: "Server", request: Request) -> Subscription:
    """subscriptions/listen: a stream that begins with its acknowledgment. Raises InvalidParams, TooManySubscriptions.

    A URI is honoured if it is that of a resource, matches a template, or is the text of one, which then stands for
    all its resources; what the caller may not read is not honoured. It lasts no longer than the caller's token.
    """
    resources = visible(server, request, server.resources)
    templates = visible(server, request, server.resource_templates)

    def known(uri: str) -> bool:
        return uri in resources or any(template.match(uri) is not None for template in templates.values())

    def matcher(text: str) -> Optional[Callable[[str], object]]:
        found = templates.get(text)
        return None if found is None else found.match

    assert request.id is not None
    made = server.subscriptions.open(request.id, request.params.get("notifications"), supported(server), known, matcher)
    made.expires = request.principal.get("exp") if isinstance(request.principal, Mapping) else None
    return made


def supported(server: "Server") -> List[str]:
    """The members of a filter that this server can honour, by what it advertises."""
    names = {"tools": ["toolsListChanged"], "prompts": ["promptsListChanged"],
             "resources": ["resourcesListChanged", "resourceSubscriptions"]}
    return [name for feature in names if feature in server.capabilities for name in names[feature]]
