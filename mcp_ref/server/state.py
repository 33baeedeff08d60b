"""What a server is while it serves: all that the rungs of the ladder and the features read of it.

`Server` is the author's API over it; nothing that serves a request knows more of a server than this.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from ..base.headers import decode_value
from ..base.request import Head, Request
from ..base.versioning import MODERN
from ..lib.token_bucket import RateLimits
from ..patterns.state_sealer import StateSealer
from ..patterns.subscriptions import Subscriptions
from .definitions import Registry
from .event_loop import EventLoop

if TYPE_CHECKING:
    from ..authorization.resource_server import ResourceServer

Method = Callable[["State", Request], Any]
"""Serves one method: returns its result, or a Subscription."""


class Hints(NamedTuple):
    """ttl_ms: milliseconds that a result may be considered fresh. scope: "public" or "private"."""

    ttl_ms: int = 0
    scope: str = "private"

    def onto(self, result: Dict[str, Any]) -> Dict[str, Any]:
        """`result` with ttlMs and cacheScope."""
        result["ttlMs"] = self.ttl_ms
        result["cacheScope"] = self.scope
        return result


@dataclass(eq=False, repr=False)
class State:
    """name, info: of the serverInfo. versions: those that it serves. hints: caching hints, hints_by: those of one
    method where they differ. page_size: items on a page of a list, None for all on one. auth: who may call, None for
    everybody. logging: whether handlers may send log messages to clients.

    tools, resources, resource_templates, prompts: what is registered. methods, capabilities: what follows from that,
    replaced as a whole when it changes. state_sealer, cursor_sealer: for requestState and for cursors. on_trace: given
    the trace line of every request.
    """

    name: str
    info: Dict[str, Any]
    instructions: Optional[str]
    hints: Hints
    hints_by: Mapping[str, Hints]
    page_size: Optional[int]
    auth: "Optional[ResourceServer]"
    rate_limits: Optional[RateLimits]
    logging: bool
    subscriptions: Subscriptions
    tools: Registry[Any]
    resources: Registry[Any]
    resource_templates: Registry[Any]
    prompts: Registry[Any]
    state_sealer: StateSealer
    cursor_sealer: StateSealer
    versions: Tuple[str, ...] = MODERN
    methods: Mapping[str, Method] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    event_loop: EventLoop = field(default_factory=EventLoop)
    on_trace: Optional[Callable[[str], None]] = None
    era: str = "dual"
    legacy_sessions: bool = True
    input_required_legacy_shim: bool = True
    sessions: Any = None

    def hints_of(self, method: str) -> Hints:
        """The caching hints of a method's results."""
        return self.hints_by.get(method, self.hints)

    def scopes_of(self, head: Head) -> Tuple[str, ...]:
        """The scopes of the item that the mirrored headers name, as far as they can be read."""
        called = {"tools/call": self.tools, "prompts/get": self.prompts, "resources/read": self.resources}
        registry = called.get(head.headers.get("mcp-method", ""))
        try:
            item = None if registry is None else registry.get(decode_value(head.headers.get("mcp-name", "")))
        except ValueError:
            return ()
        return () if item is None else tuple(item.scopes)
