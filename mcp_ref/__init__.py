"""The Model Context Protocol as an executable spec: a complete server and client of the Python standard library.

    from mcp_ref import Server, Client

Public names are loaded when they are first used, so a server does not pay for the client or the other way round.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, List

from .base.versioning import RELEASE

if TYPE_CHECKING:
    from .authorization.dpop import Signer
    from .authorization.grants import ClientCredentials, EnterpriseManaged, JWTBearer
    from .authorization.introspection import Introspection
    from .authorization.login import OAuth
    from .authorization.resource_server import ResourceServer, static_tokens
    from .authorization.token_store import FileTokenStore, TokenStore
    from .base.errors import (
        AuthorizationError,
        CallCancelled,
        HTTPError,
        McpError,
        ProtocolError,
        ResourceNotFound,
        SchemaError,
        Timeout,
        ToolError,
        TransportError,
    )
    from .client.cache import Cache
    from .client.client import Client
    from .client.elicitation import accept, cancel, decline
    from .patterns.mrtr import InputRequired, link, roots, sampling
    from .server import content
    from .server.context import Context
    from .server.elicitation import form
    from .server.prompts import PromptResult, assistant, user
    from .server.server import Server
    from .server.tools import ToolResult
    from .transports.bus import UnixBus
    from .transports.calls import CallHandle
    from .transports.http_server import HTTPServer, Limits

__version__ = RELEASE

_DEFINED_IN = {
    "Server": ".server.server", "Context": ".server.context", "ToolResult": ".server.tools",
    "PromptResult": ".server.prompts", "user": ".server.prompts", "assistant": ".server.prompts",
    "ResourceNotFound": ".base.errors",
    "InputRequired": ".patterns.mrtr", "form": ".server.elicitation", "link": ".patterns.mrtr",
    "sampling": ".patterns.mrtr", "roots": ".patterns.mrtr",
    "ResourceServer": ".authorization.resource_server", "static_tokens": ".authorization.resource_server",
    "Introspection": ".authorization.introspection",
    "OAuth": ".authorization.login", "ClientCredentials": ".authorization.grants",
    "JWTBearer": ".authorization.grants", "EnterpriseManaged": ".authorization.grants",
    "Signer": ".authorization.dpop", "TokenStore": ".authorization.token_store",
    "FileTokenStore": ".authorization.token_store", "AuthorizationError": ".base.errors",
    "UnixBus": ".transports.bus", "HTTPServer": ".transports.http_server", "Limits": ".transports.http_server",
    "Cache": ".client.cache", "Client": ".client.client", "CallHandle": ".transports.calls",
    "CallCancelled": ".base.errors",
    "accept": ".client.elicitation", "decline": ".client.elicitation", "cancel": ".client.elicitation",
    "McpError": ".base.errors", "ProtocolError": ".base.errors", "HTTPError": ".base.errors",
    "Timeout": ".base.errors", "TransportError": ".base.errors", "ToolError": ".base.errors",
    "SchemaError": ".base.errors",
}

__all__ = [
    "AuthorizationError", "Cache", "CallCancelled", "CallHandle", "Client", "ClientCredentials", "Context",
    "EnterpriseManaged", "FileTokenStore", "HTTPError", "HTTPServer", "InputRequired", "Introspection", "JWTBearer",
    "Limits", "McpError", "OAuth", "PromptResult", "ProtocolError", "ResourceNotFound", "ResourceServer", "SchemaError",
    "Server", "Signer", "Timeout", "TokenStore", "ToolError", "ToolResult", "TransportError", "UnixBus", "accept",
    "assistant", "cancel",
    "content", "decline", "form", "link", "roots", "sampling", "static_tokens", "user",
]


def __getattr__(name: str) -> Any:
    if name == "content":
        return import_module(".server.content", __name__)
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_DEFINED_IN[name], __name__), name)


def __dir__() -> List[str]:
    return __all__
