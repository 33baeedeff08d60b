"""server/index: the server as its author sees it, and the way from a request to its answer.

Implements BASE-06 to BASE-08, BASE-12, BASE-24, BASE-26, BASE-28, META-14, PATT-01, VERS-10.

The flow of one request:

    transport -> Request(head, read_body, notify)       bytes stay unread until a rung asks for them
    ladder.climb                                        seven rungs; the first that raises answers
    methods[request.method]                             tools.call, discover, …: one function a method
      running.attempt                                   the handler, its Context, its round of questions
    Answer(status, body)                                one JSON object; the transport moves it

Nothing is kept between requests (BASE-26): what spans them travels sealed, through the client.
"""

from __future__ import annotations

import logging
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload

from .. import ladder
from ..base import versioning
from ..base.errors import HTTPError, InternalError, McpError, ProtocolError
from ..base.jsonrpc import encode, shown
from ..base.meta import stamped
from ..base.request import Answer, Request
from ..patterns.cancellation import Cancelled
from ..patterns.state_sealer import Claim, StateSealer, random_key
from ..transports.mirrors import Parameter
from . import tools
from .caching import hints
from .discover import discover
from .pagination import page
from .registry import Registry
from .running import principal_name

log = logging.getLogger("mcp_ref")

Function = TypeVar("Function", bound=Callable[..., Any])
Handler = Callable[["Server", Request], Dict[str, Any]]


class Server:
    """An MCP server: what it is called, and the tools registered on it.

    name, version, title, description, website_url, icons: its serverInfo. instructions: guidance for models.
    state_keys: secrets shared by all processes that serve this server; the first signs, all verify. Without one the
        server makes its own, and a retry reaches this process only. requestState is signed, not secret: put nothing
        in it that the client may not read.
    state_ttl: seconds that a requestState holds. ttl_ms, cache_scope: caching hints of lists and discovery.
    page_size: items on a page of a list, None for all on one.
    """

    supported_versions: Tuple[str, ...] = versioning.MODERN

    def __init__(self, name: str, version: str, *, title: Optional[str] = None, description: Optional[str] = None,
                 website_url: Optional[str] = None, icons: Optional[Sequence[Dict[str, Any]]] = None,
                 instructions: Optional[str] = None, state_keys: Sequence[Union[str, bytes]] = (),
                 state_ttl: float = 600.0, ttl_ms: int = 0, cache_scope: str = "private",
                 page_size: Optional[int] = None) -> None:
        self.name = name
        info = {"name": name, "version": version, "title": title, "description": description,
                "websiteUrl": website_url, "icons": icons}
        self.info: Dict[str, Any] = {key: value for key, value in info.items() if value is not None}
        self.instructions = instructions
        self.hints = hints(ttl_ms, cache_scope)
        self.page_size = page_size
        self.methods: Dict[str, Handler] = {}
        self.capabilities: Dict[str, Any] = {}
        self.tools: Registry[tools.Tool] = Registry("tool", self._refresh)
        self.on_trace: Optional[Callable[[str], None]] = None
        self.state_ttl = state_ttl
        self.set_state_keys(state_keys)
        self._refresh()

    def set_state_keys(self, keys: Iterable[Union[str, bytes]]) -> None:
        """Put these keys in force, the signing one first; none at all means a fresh one for this process."""
        self.shared_key = bool(keys)
        listed = list(keys) or [random_key()]
        self.state_sealer = StateSealer(listed, "requestState", self.state_ttl)
        self.cursor_sealer = StateSealer(listed, "cursor", 24 * 3600.0)

    # Registration

    @overload
    def tool(self, function: Function) -> Function: ...

    @overload
    def tool(self, function: None = None, **options: Any) -> Callable[[Function], Function]: ...

    def tool(self, function: Optional[Function] = None, **options: Any) -> Any:
        """Register a function as a tool, as `@server.tool` or `@server.tool(title=…, strict=True, …)`.

        The options are those of tools.Tool. Raises SchemaError or ValueError for a definition that breaks a rule.
        """
        def register(handler: Function) -> Function:
            self.add_tool(handler, **options)
            return handler
        return register if function is None else register(function)

    def add_tool(self, function: Callable[..., Any], **options: Any) -> tools.Tool:
        """Register a tool at any time; the options are those of tools.Tool. Raises ValueError for a name in use."""
        tool = tools.Tool(function, **options)
        self.tools.add(tool.name, tool)
        return tool

    def remove_tool(self, name: str) -> None:
        """Take a tool away. Raises KeyError where there is none of that name."""
        self.tools.remove(name)

    def _refresh(self) -> None:
        """Advertise what there is: a method is served only with its capability (the method rung)."""
        methods: Dict[str, Handler] = {"server/discover": discover}
        capabilities: Dict[str, Any] = {}
        for feature in (tools,):
            feature.advertise(self, methods, capabilities)
        self.methods, self.capabilities = methods, capabilities

    # Serving

    def mirrored(self, request: Request) -> Sequence[Parameter]:
        """The parameters of the called tool that headers repeat; none for another method or an unknown tool."""
        if request.method == "tools/call":
            name = request.params.get("name")
            tool = self.tools.get(name) if isinstance(name, str) else None
            return tool.mirrored if tool is not None else ()
        return ()

    def handle(self, request: Request) -> Answer:
        """The answer to one message. Raises nothing but Cancelled, when nobody waits for an answer any more."""
        try:
            ladder.climb(request, self)
            if request.id is None:
                answer = Answer(202, b"")
            else:
                answer = self._complete(request, self.methods[request.method](self, request))
            failure: Optional[McpError] = None
        except (ProtocolError, HTTPError) as error:
            failure, answer = error, self._refused(request, error)
        except Cancelled:
            raise
        except Exception:
            log.exception("%s failed (request %s)", shown(request.method), shown(request.id))
            failure = InternalError("Internal error")
            answer = self._refused(request, failure)
        if self.on_trace is not None:
            self.on_trace(ladder.trace(request, failure))
        return answer

    def _complete(self, request: Request, result: Dict[str, Any]) -> Answer:
        return Answer(200, encode({"jsonrpc": "2.0", "id": request.id, "result": stamped(result, self.info)}))

    def _refused(self, request: Request, error: Union[ProtocolError, HTTPError]) -> Answer:
        if isinstance(error, HTTPError):
            return Answer(error.status, error.body.encode("utf-8"), headers=error.headers)
        body = error.body()
        if request.method == "initialize":
            body["message"] = f"{body['message']}. {versioning.initialize_hint(self.supported_versions)}"
        message: Dict[str, Any] = {"jsonrpc": "2.0"}
        if request.id is not None:
            message["id"] = request.id
        message["error"] = body
        try:
            return Answer(error.status, encode(message))
        except (TypeError, ValueError):
            log.exception("the data of an error is not JSON")
            return self._refused(request, InternalError("Internal error"))

    def serve(self, host: str = "127.0.0.1", port: int = 8000, **options: Any) -> None:
        """Serve over HTTP until the process is told to stop; the options are those of transports.http_server."""
        from ..transports.http_server import HTTPServer, wait_for_signal  # sockets only where they are used

        with HTTPServer(self, host, port, **options) as running:
            log.warning("serving %s at %s", self.name, running.url)
            wait_for_signal()

    def listed(self, request: Request, member: str, items: Mapping[str, Any]) -> Dict[str, Any]:
        """The result of a list method: the page asked for, with its caching hints.

        member: what the list is called in the result. items: key to definition, in order. Raises InvalidParams.
        """
        claim = Claim(principal_name(request), request.method, "", None, self.name)
        listed, rest = page(items, request, self.cursor_sealer, claim, self.page_size)
        return self.hints.onto({"resultType": "complete", member: listed, **rest})
