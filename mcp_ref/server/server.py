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
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload

from .. import ladder
from ..base import versioning
from ..base.errors import HTTPError, InternalError, McpError, ProtocolError, may_be_sent
from ..base.jsonrpc import encode, shown
from ..base.meta import stamped
from ..base.request import Answer, Request
from ..base.trace_context import trace_context
from ..patterns.allowance import RateLimits
from ..patterns.cancellation import Cancelled
from ..patterns.state_sealer import StateSealer, random_key
from ..patterns.subscriptions import LIST_CHANGED, RESOURCE_UPDATED, Subscription, Subscriptions
from ..transports.mirrors import Parameter
from . import tools
from .caching import Hints, hints
from .discover import discover
from .listen import listen
from .registry import Item, Registry
from .running import principal_name

if TYPE_CHECKING:
    from ..authorization.resource_server import ResourceServer
    from . import files, prompts, resources

log = logging.getLogger("mcp_ref")

Function = TypeVar("Function", bound=Callable[..., Any])
Handler = Callable[["Server", Request], Any]


def _decorator(add: Callable[[Any], object]) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        add(function)
        return function
    return register


class Server:
    """An MCP server: what it is called, and the tools, resources and prompts registered on it.

    name, version, title, description, website_url, icons: its serverInfo. instructions: guidance for models.
    state_keys: secrets shared by all processes that serve this server; the first signs, all verify. Without one the
        server makes its own, and a retry reaches this process only. requestState is signed, not secret: put nothing
        in it that the client may not read.
    state_ttl: seconds that a requestState holds. ttl_ms, cache_scope: caching hints of lists, reads and discovery.
    caching: those of one method where they differ, such as {"tools/list": (60_000, "public")}.
    page_size: items on a page of a list, None for all on one.
    max_subscriptions: subscriptions/listen streams open at once.
    logging: whether handlers may send log messages to clients, which is then advertised.
    rate_limits: requests a second that each caller may make of a method, such as {"tools/call": 20}. Without `auth`
        nobody is told apart, and all are one caller.
    cors: web origins whose pages may call this server, as "https://app.example".
    auth: a ResourceServer (authorization.resource_server) that every HTTP request must satisfy; None for a server open
        to all. Stdio asks for no token (AUTH-02).
    """

    supported_versions: Tuple[str, ...] = versioning.MODERN

    def __init__(self, name: str, version: str, *, title: Optional[str] = None, description: Optional[str] = None,
                 website_url: Optional[str] = None, icons: Optional[Sequence[Dict[str, Any]]] = None,
                 instructions: Optional[str] = None, state_keys: Sequence[Union[str, bytes]] = (),
                 state_ttl: float = 600.0, ttl_ms: int = 0, cache_scope: str = "private",
                 caching: Optional[Mapping[str, Tuple[Optional[int], Optional[str]]]] = None,
                 page_size: Optional[int] = None, max_subscriptions: int = 4096, cors: Sequence[str] = (),
                 rate_limits: Optional[Mapping[str, float]] = None, logging: bool = True,
                 auth: "Optional[ResourceServer]" = None) -> None:
        self.name = name
        info = {"name": name, "version": version, "title": title, "description": description,
                "websiteUrl": website_url, "icons": icons}
        self.info: Dict[str, Any] = {key: value for key, value in info.items() if value is not None}
        self.instructions = instructions
        self.hints = hints(ttl_ms, cache_scope)
        self._hints_of = {method: hints(*given, self.hints) for method, given in (caching or {}).items()}
        if page_size is not None and page_size < 1:
            raise ValueError(f"page_size is 1 or more, not {page_size}")
        self.page_size = page_size
        self.auth = auth
        self.cors = tuple(cors)
        self.rate_limits = RateLimits(rate_limits or {})
        self.logging = logging
        self.public_hosts = () if auth is None else (auth.host,)
        self.methods: Dict[str, Handler] = {}
        self.capabilities: Dict[str, Any] = {}
        self._refreshing = threading.Lock()
        self._features: Dict[Any, None] = {tools: None}
        self.subscriptions = Subscriptions(max_subscriptions, self.info)
        self.tools: Registry[tools.Tool] = Registry("tool", self.notify_tools_changed)
        self.resources: Registry[resources.Resource] = Registry("resource", self.notify_resources_changed)
        self.resource_templates: Registry[resources.ResourceTemplate] = Registry(
            "resource template", self.notify_resources_changed)
        self.prompts: Registry[prompts.Prompt] = Registry("prompt", self.notify_prompts_changed)
        self.on_trace: Optional[Callable[[str], None]] = None
        self.state_ttl = state_ttl
        self.set_state_keys(state_keys)
        self._refresh()

    def set_state_keys(self, keys: Sequence[Union[str, bytes]]) -> None:
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
        register = _decorator(partial(self.add_tool, **options))
        return register if function is None else register(function)

    def add_tool(self, function: Callable[..., Any], **options: Any) -> tools.Tool:
        """Register a tool at any time; the options are those of tools.Tool. Raises ValueError for a name in use."""
        return self._add(self.tools, tools.Tool(function, **options))

    def remove_tool(self, name: str) -> None:
        """Take a tool away. Raises KeyError where there is none of that name."""
        self.tools.remove(name)

    def resource(self, uri: str, **options: Any) -> Callable[[Function], Function]:
        """Register what reads a resource, as `@server.resource("demo://greeting")`, or with a template such as
        `demo://{name}` what reads all its resources. The options are those of resources.Resource and ResourceTemplate.

        Raises SchemaError or ValueError for a definition that breaks a rule.
        """
        add: Callable[..., Any] = self.add_resource_template if "{" in uri else self.add_resource
        return _decorator(partial(add, uri, **options))

    def add_resource(self, uri: str, function: Callable[..., Any], **options: Any) -> resources.Resource:
        """Register a resource at any time. Raises ValueError for a URI in use."""
        from . import resources

        return self._add(self.resources, resources.Resource(uri, function, **options), resources)

    def remove_resource(self, uri: str) -> None:
        """Take a resource away. Raises KeyError where there is none of that URI."""
        self.resources.remove(uri)

    def add_resource_template(self, uri_template: str, function: Callable[..., Any],
                              **options: Any) -> resources.ResourceTemplate:
        """Register a resource template at any time. Raises ValueError for one in use."""
        from . import resources

        template = resources.ResourceTemplate(uri_template, function, **options)
        return self._add(self.resource_templates, template, resources)

    def remove_resource_template(self, uri_template: str) -> None:
        """Take a resource template, or a folder by the template it has, away. Raises KeyError where there is none."""
        self.resource_templates.remove(uri_template)

    def add_folder(self, uri: str, path: str, **options: Any) -> files.Folder:
        """List and serve the files of a folder under `uri`, which ends with /; the options are those of files.Folder.

        Raises ValueError.
        """
        from . import files, resources

        folder = files.Folder(uri, path, **options)
        self._add(self.resource_templates, folder, resources)
        return folder

    @overload
    def prompt(self, function: Function) -> Function: ...

    @overload
    def prompt(self, function: None = None, **options: Any) -> Callable[[Function], Function]: ...

    def prompt(self, function: Optional[Function] = None, **options: Any) -> Any:
        """Register a function as a prompt, as `@server.prompt` or `@server.prompt(title=…, …)`.

        The options are those of prompts.Prompt. Raises SchemaError or ValueError for a definition that breaks a rule.
        """
        register = _decorator(partial(self.add_prompt, **options))
        return register if function is None else register(function)

    def add_prompt(self, function: Callable[..., Any], **options: Any) -> prompts.Prompt:
        """Register a prompt at any time; options as for prompts.Prompt. Raises ValueError for a name in use."""
        from . import prompts

        return self._add(self.prompts, prompts.Prompt(function, **options), prompts)

    def remove_prompt(self, name: str) -> None:
        """Take a prompt away. Raises KeyError where there is none of that name."""
        self.prompts.remove(name)

    def completion(self, target: str, argument: str) -> Callable[[Function], Function]:
        """Register what suggests values for an argument of a prompt, by name, or resource template, by its text.

        The function is as completion.Completer has it. Raises SchemaError, and ValueError where there is no such
        prompt, template or argument; it must be registered before.
        """
        from . import completion

        def add(function: Callable[..., Any]) -> None:
            found = self.prompts.get(target) or self.resource_templates.get(target)
            completion.register(found, target, argument, function)
            self._refresh()
        return _decorator(add)

    def _add(self, registry: "Registry[Item]", item: Item, feature: Any = tools) -> Item:
        """Register `item`, and serve its feature, the module of its page, which is loaded when first used."""
        if feature not in self._features:
            from . import completion  # of the arguments of whatever is no tool

            self._features.update({feature: None, completion: None})
        registry.add(item)
        return item

    def _refresh(self) -> None:
        """Advertise what there is: a method is served only with its capability (the method rung)."""
        with self._refreshing:
            methods: Dict[str, Handler] = {"server/discover": discover}
            capabilities: Dict[str, Any] = {"logging": {}} if self.logging else {}
            for feature in list(self._features):
                feature.advertise(self, methods, capabilities)
            if capabilities.keys() - {"logging"}:
                methods["subscriptions/listen"] = listen
            self.methods, self.capabilities = methods, capabilities

    # Notifications, from any thread

    def notify_tools_changed(self) -> None:
        """Tell subscribers that the tools changed; adding or removing one does so by itself."""
        self._changed("toolsListChanged")

    def notify_resources_changed(self) -> None:
        """Tell subscribers that the resources or templates changed; adding or removing one does so by itself."""
        self._changed("resourcesListChanged")

    def notify_prompts_changed(self) -> None:
        """Tell subscribers that the prompts changed; adding or removing one does so by itself."""
        self._changed("promptsListChanged")

    def _changed(self, member: str) -> None:
        """The list changed that subscribers ask for by this member of their filter."""
        self._refresh()
        self.subscriptions.publish(LIST_CHANGED[member])

    def notify_resource_updated(self, uri: str) -> None:
        """Tell subscribers of `uri`, or of a template that it matches, that the resource changed."""
        self.subscriptions.publish(RESOURCE_UPDATED, uri)

    # Serving

    def hints_of(self, method: str) -> Hints:
        """The caching hints of a method's results."""
        return self._hints_of.get(method, self.hints)

    def mirrored(self, request: Request) -> Sequence[Parameter]:
        """The parameters of the called tool that headers repeat; none for another method or an unknown tool."""
        name = request.params.get("name") if request.method == "tools/call" else None
        tool = self.tools.get(name) if isinstance(name, str) else None
        return () if tool is None else tool.mirrored

    def handle(self, request: Request) -> Answer:
        """The answer to one message. Raises nothing but Cancelled, when nobody waits for an answer any more."""
        try:
            answer = self._served(request)
            failure: Optional[McpError] = None
        except (ProtocolError, HTTPError) as error:
            failure, answer = error.with_traceback(None), self._refused(request, error)  # its frames hold the request
        except (Cancelled, KeyboardInterrupt):
            raise
        except BaseException:  # a handler's sys.exit or a stray asyncio.CancelledError ends one request, not a worker
            log.exception("%s failed (request %s)", shown(request.method), shown(request.id))
            failure = InternalError("Internal error")
            answer = self._refused(request, failure)
        self._trace(request, failure)
        if log.isEnabledFor(logging.INFO):
            log.info("%s id=%s %s trace=%s", shown(request.method), shown(request.id), answer.status,
                     trace_context(request.meta).get("traceparent", "-"))
        if request.cancelled:
            if answer.stream is not None:
                answer.stream.close()
            raise Cancelled()
        return answer

    def _trace(self, request: Request, failure: Optional[McpError]) -> None:
        if self.on_trace is not None:
            try:
                self.on_trace(ladder.trace(request, failure))
            except Exception:  # a closed stderr, for example, is no reason to leave a client without its answer
                log.exception("the trace of a request cannot be written")

    def _served(self, request: Request) -> Answer:
        document = self.auth.page(request) if self.auth is not None else None
        if document is not None:
            return document
        ladder.climb(request, self)
        if request.id is None:
            return Answer(202, b"")
        self.rate_limits.check(request.method, principal_name(request))
        result = self.methods[request.method](self, request)
        if isinstance(result, Subscription):
            return Answer(200, content_type="text/event-stream", stream=result)
        return Answer(200, encode({"jsonrpc": "2.0", "id": request.id, "result": stamped(result, self.info)}))

    def _refused(self, request: Request, error: Union[ProtocolError, HTTPError]) -> Answer:
        if isinstance(error, HTTPError):
            return Answer.plain(error)
        if not may_be_sent(error):
            log.error("%s raised an error that may not be sent: %s", shown(request.method), shown(error.code))
            error = InternalError("Internal error")
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
            wait_for_signal(lambda: log.warning("serving %s at %s", self.name, running.url))
