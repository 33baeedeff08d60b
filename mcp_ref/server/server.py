"""server/index: the server as its author sees it: what it has, and what follows from it: what it serves and advertises.

Implements TOOL-06, PROMPT-02, RES-02 (what is advertised); TOOL-12.

The author's API; what it serves with stands in state, how in serve. The options of what is registered are written out
at each method, so that a wrong one is told by the checker of types, by `help` and by Python, in the name of the method
that was called.
"""

from __future__ import annotations

import threading
from typing import (
    TYPE_CHECKING,
    Any,
    BinaryIO,
    Callable,
    Dict,
    Iterable,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from ..base.log import log
from ..base.meta import checked_extensions
from ..base.request import CACHEABLE, Answer, Request
from ..base.versioning import ERAS
from ..legacy.sessions import Sessions
from ..lib.token_bucket import RateLimits
from ..patterns.relay import Bus, Relay
from ..patterns.subscriptions import LIST_CHANGED, RESOURCE_UPDATED, Subscriptions
from ..serve import serve
from . import completion, prompts, resources, tools
from .arguments import METHODS, by_method, flag, having, keys_given, sealers, server_info, text_or_none, texts, whole
from .definitions import Registry
from .discover import discover
from .hosted import Hosted
from .listen import listen
from .lists import hints, hints_by_method
from .state import Method, State

if TYPE_CHECKING:
    import os

    from ..authorization.resource_server import ResourceServer
    from ..transports.http_server import Limits
    from .folders import FolderTemplate

Function = TypeVar("Function", bound=Callable[..., Any])
Object = Optional[Dict[str, Any]]
Icons = Optional[Sequence[Dict[str, Any]]]
Instances = Optional[resources.Instances]

_ALIEN = {"size": "the resources of a template differ in size", "instances": "it is no template, it has no {variable}"}


def _decorator(add: Callable[[Any], object]) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        add(function)
        return function
    return register


class Server(Hosted):
    """An MCP server: what it is called, and the tools, resources and prompts registered on it.

    name, version, title, description, website_url, icons: its serverInfo. instructions: guidance for models.
    state_keys: secrets shared by all processes that serve this server; the first signs, all verify. Without one the
        server makes its own, and a retry reaches this process only. requestState is signed, not secret: put nothing
        in it that the client may not read.
    state_ttl: seconds that a requestState holds, a finite number above 0.
    ttl_ms, cache_scope: caching hints of lists, reads and discovery.
    caching: those of one method where they differ, such as {"tools/list": (60_000, "public")}.
    page_size: items on a page of a list, None for all on one.
    max_subscriptions: subscriptions/listen streams open at once.
    logging: whether what handlers log is sent to clients that ask, which is then advertised; 2026-07-28 deprecates it.
        Without it `ctx.log` writes to the server's own log.
    rate_limits: requests a second that each caller may make of a method, such as {"tools/call": 20}. Without `auth`
        nobody is told apart, and all are one caller.
    cors: web origins whose pages may call this server, as "https://app.example".
    auth: a ResourceServer (authorization.resource_server) that every HTTP request must satisfy; None for a server open
        to all. Stdio asks for no token (AUTH-02).
    extensions: identifier to settings of the extensions it supports, as {"com.example/map": {}}, which it advertises.
    era: "dual" serves 2026-07-28 and the revisions before it, each message by itself; "modern" or "legacy" one of both.
    legacy_sessions: whether initialize begins a session over HTTP; without, several processes need no stickiness, and
        clients before 2026-07-28 cannot be asked anything.
    input_required_legacy_shim: whether questions of handlers reach clients of the eras before, as requests.
    bus: carries change notifications to all processes that serve this, as UnixBus(path) does (patterns.relay.Bus).

    Raises ValueError or TypeError for an argument that cannot be used.
    """

    def __init__(self, name: str, version: str, *, title: Optional[str] = None, description: Optional[str] = None,
                 website_url: Optional[str] = None, icons: Icons = None,
                 instructions: Optional[str] = None, state_keys: Sequence[Union[str, bytes]] = (),
                 state_ttl: float = 600.0, ttl_ms: int = 0, cache_scope: str = "private",
                 caching: Optional[Mapping[str, Tuple[Optional[int], Optional[str]]]] = None,
                 page_size: Optional[int] = None, max_subscriptions: int = 4096, cors: Sequence[str] = (),
                 rate_limits: Optional[Mapping[str, float]] = None, logging: bool = False,
                 auth: "Optional[ResourceServer]" = None,
                 extensions: Optional[Mapping[str, Mapping[str, Any]]] = None, era: str = "dual",
                 legacy_sessions: bool = True, input_required_legacy_shim: bool = True,
                 bus: Optional[Bus] = None) -> None:
        info = server_info(name=name, version=version, title=title, description=description, websiteUrl=website_url,
                           icons=icons)
        default = hints(ttl_ms, cache_scope)
        having("auth", auth, "a ResourceServer, which is made with the verifier of tokens", "host", "page")
        having("bus", bus, "what has publish and subscribe, as UnixBus has", "publish", "subscribe")
        self.cors = texts("cors", cors)
        self.public_hosts: Tuple[str, ...] = () if auth is None else (auth.host,)
        self.shared_key = bool(state_keys)
        self._state_keys, self._state_ttl = keys_given(state_keys), state_ttl
        state_sealer, cursor_sealer = sealers(self._state_keys, state_ttl)
        self._extensions = checked_extensions(extensions or {})
        self.tools: Registry[tools.Tool] = Registry("tool", self.notify_tools_changed)
        self.resources: Registry[resources.Resource] = Registry("resource", self.notify_resources_changed)
        self.resource_templates: Registry[resources.ResourceTemplate] = Registry(
            "resource template", self.notify_resources_changed)
        self.prompts: Registry[prompts.Prompt] = Registry("prompt", self.notify_prompts_changed)
        self.state = State(
            tools=self.tools, resources=self.resources, resource_templates=self.resource_templates,
            prompts=self.prompts, name=name, info=info, instructions=text_or_none("instructions", instructions),
            hints=default, hints_by=hints_by_method(by_method("caching", caching or {}, CACHEABLE), default),
            page_size=None if page_size is None else whole("page_size", page_size, 1), auth=auth,
            logging=flag("logging", logging),
            rate_limits=RateLimits(by_method("rate_limits", rate_limits, METHODS)) if rate_limits else None,
            state_sealer=state_sealer, cursor_sealer=cursor_sealer,
            subscriptions=Subscriptions(whole("max_subscriptions", max_subscriptions, 0), info),
            legacy_sessions=flag("legacy_sessions", legacy_sessions),
            input_required_legacy_shim=flag("input_required_legacy_shim", input_required_legacy_shim),
            sessions=Sessions())
        self.state.subscriptions.hear = self.state.sessions.publish
        self.set_era(era)
        super().__init__()
        self.relay = Relay(self.state.subscriptions, bus)
        self._refreshing = threading.Lock()
        self._refresh()

    @overload
    def tool(self, function: Function) -> Function: ...

    @overload
    def tool(self, function: None = None, *, name: Optional[str] = None, title: Optional[str] = None,
             description: Optional[str] = None, icons: Icons = None, meta: Object = None, scopes: Sequence[str] = (),
             input_schema: Object = None, output_schema: Object = None, annotations: Object = None,
             strict: bool = False, accept_unasked: bool = False) -> Callable[[Function], Function]: ...

    def tool(self, function: Any = None, *, name: Optional[str] = None, title: Optional[str] = None,
             description: Optional[str] = None, icons: Icons = None, meta: Object = None, scopes: Sequence[str] = (),
             input_schema: Object = None, output_schema: Object = None, annotations: Object = None,
             strict: bool = False, accept_unasked: bool = False) -> Any:
        """Register a function as a tool, as `@server.tool` or `@server.tool(title=…, strict=True, …)`.

        name: 1 to 128 of A-Z a-z 0-9 _ - . (the function's own by default).
        title, icons: for people; icons are objects with `src` and perhaps `mimeType`, `sizes`, `theme`.
        description: what a model reads to choose the tool (the docstring by default). meta: its `_meta` as listed.
        scopes: what a caller's token must grant to see and call it.
        input_schema: of the arguments (what the annotations say by default).
        output_schema: of structuredContent (what the return annotation says by default).
        annotations: hints for clients, as {"readOnlyHint": True}.
        strict: whether arguments that break the schema are a protocol error, -32602, and not one for the model.
        accept_unasked: whether answers count that come without having been asked for.

        Raises SchemaError or ValueError for a definition that breaks a rule.
        """
        register = _decorator(lambda each: self.add_tool(
            each, name=name, title=title, description=description, icons=icons, meta=meta, scopes=scopes,
            input_schema=input_schema, output_schema=output_schema, annotations=annotations, strict=strict,
            accept_unasked=accept_unasked))
        return register if function is None else register(function)

    def add_tool(self, function: Callable[..., Any], *, name: Optional[str] = None, title: Optional[str] = None,
                 description: Optional[str] = None, icons: Icons = None, meta: Object = None,
                 scopes: Sequence[str] = (), input_schema: Object = None, output_schema: Object = None,
                 annotations: Object = None, strict: bool = False, accept_unasked: bool = False) -> tools.Tool:
        """Register a tool at any time; the options are those of `tool`. Raises ValueError for a name in use."""
        return self.tools.add(tools.Tool(
            function, name=name, title=title, description=description, icons=icons, meta=meta, scopes=scopes,
            input_schema=input_schema, output_schema=output_schema, annotations=annotations, strict=strict,
            accept_unasked=accept_unasked))

    def remove_tool(self, name: str) -> None:
        """Take a tool away. Raises KeyError where there is none of that name."""
        self.tools.remove(name)

    def resource(self, uri: str, *, name: Optional[str] = None, title: Optional[str] = None,
                 description: Optional[str] = None, icons: Icons = None, meta: Object = None,
                 scopes: Sequence[str] = (), mime_type: Optional[str] = None, annotations: Object = None,
                 ttl_ms: Optional[int] = None, cache_scope: Optional[str] = None, size: Optional[int] = None,
                 instances: Instances = None) -> Callable[[Function], Function]:
        """Register what reads a resource, as `@server.resource("demo://greeting")`, or with a template such as
        `demo://{name}` what reads all its resources.

        uri: of RFC 3986, or a template of RFC 6570, each variable an argument of the function. name, title, icons,
        description, meta, scopes: as for `tool`. mime_type: of what is read. annotations: `audience`, `priority` and
        `lastModified`. ttl_ms, cache_scope: how many milliseconds what is read may be kept, and for whom, "public" or
        "private" (what the server says). size: of the content, in bytes; not for a template. instances: of a template,
        called at each list for the definitions (`uri`, `name`, …) of those that exist, plain or async.

        Raises SchemaError or ValueError for a definition that breaks a rule, TypeError for an option of the other kind.
        """
        if not isinstance(uri, str):
            raise TypeError(f"Server.resource() is given the URI, as @server.resource('demo://a'), not {uri!r}")
        template = "{" in uri
        alien = "size" if template and size is not None else "instances" if instances and not template else None
        if alien is not None:
            raise TypeError(f"Server.resource() takes no {alien} for {uri}: {_ALIEN[alien]}")
        add: Callable[..., Any] = self.add_resource_template if template else self.add_resource
        own: Dict[str, Any] = {"instances": instances} if template else {"size": size}
        return _decorator(lambda function: add(
            uri, function, name=name, title=title, description=description, icons=icons, meta=meta, scopes=scopes,
            mime_type=mime_type, annotations=annotations, ttl_ms=ttl_ms, cache_scope=cache_scope, **own))

    def add_resource(self, uri: str, function: Callable[..., Any], *, name: Optional[str] = None,
                     title: Optional[str] = None, description: Optional[str] = None, icons: Icons = None,
                     meta: Object = None, scopes: Sequence[str] = (), mime_type: Optional[str] = None,
                     annotations: Object = None, ttl_ms: Optional[int] = None, cache_scope: Optional[str] = None,
                     size: Optional[int] = None) -> resources.Resource:
        """Register a resource at any time; the options are those of `resource`. Raises ValueError for a URI in use."""
        return self.resources.add(resources.Resource(
            uri, function, name=name, title=title, description=description, icons=icons, meta=meta, scopes=scopes,
            mime_type=mime_type, annotations=annotations, ttl_ms=ttl_ms, cache_scope=cache_scope, size=size))

    def remove_resource(self, uri: str) -> None:
        """Take a resource away. Raises KeyError where there is none of that URI."""
        self.resources.remove(uri)

    def add_resource_template(self, uri_template: str, function: Callable[..., Any], *, name: Optional[str] = None,
                              title: Optional[str] = None, description: Optional[str] = None, icons: Icons = None,
                              meta: Object = None, scopes: Sequence[str] = (), mime_type: Optional[str] = None,
                              annotations: Object = None, ttl_ms: Optional[int] = None,
                              cache_scope: Optional[str] = None,
                              instances: Instances = None) -> resources.ResourceTemplate:
        """Register a resource template at any time; options as for `resource`. Raises ValueError for one in use."""
        return self.resource_templates.add(resources.ResourceTemplate(
            uri_template, function, name=name, title=title, description=description, icons=icons, meta=meta,
            scopes=scopes, mime_type=mime_type, annotations=annotations, ttl_ms=ttl_ms, cache_scope=cache_scope,
            instances=instances))

    def remove_resource_template(self, uri_template: str) -> None:
        """Take a resource template, or a folder by the template it has, away. Raises KeyError where there is none."""
        self.resource_templates.remove(uri_template)

    def add_folder(self, uri: str, path: "Union[str, os.PathLike[str]]", *, pattern: str = "**/*",
                   hidden: bool = False, max_size: int = 8 * 1024 * 1024, limit: int = 1000,
                   name: Optional[str] = None, title: Optional[str] = None,
                   description: str = "Files of a folder, by their relative path", icons: Icons = None,
                   meta: Object = None, scopes: Sequence[str] = (), annotations: Object = None,
                   ttl_ms: Optional[int] = None, cache_scope: Optional[str] = None) -> FolderTemplate:
        """List and serve the files of a folder, and nothing beyond it, under `uri`, which ends with /.

        path: the folder, which must exist. pattern: which files, a glob over the relative path; ** is any folders.
        hidden: whether names that begin with a dot are served. max_size: bytes of a file; larger ones are refused.
        limit: how many are listed at most; those beyond can be read. The other options are those of `resource`.

        Raises ValueError or TypeError for an option that cannot be used.
        """
        from .folders import FolderTemplate  # the one kind of resource that touches files

        folder = FolderTemplate(
            uri, path, pattern=pattern, hidden=hidden, max_size=max_size, limit=limit, name=name, title=title,
            description=description, icons=icons, meta=meta, scopes=scopes, annotations=annotations, ttl_ms=ttl_ms,
            cache_scope=cache_scope)
        self.resource_templates.add(folder)
        return folder

    @overload
    def prompt(self, function: Function) -> Function: ...

    @overload
    def prompt(self, function: None = None, *, name: Optional[str] = None, title: Optional[str] = None,
               description: Optional[str] = None, icons: Icons = None, meta: Object = None,
               scopes: Sequence[str] = ()) -> Callable[[Function], Function]: ...

    def prompt(self, function: Any = None, *, name: Optional[str] = None, title: Optional[str] = None,
               description: Optional[str] = None, icons: Icons = None, meta: Object = None,
               scopes: Sequence[str] = ()) -> Any:
        """Register a function as a prompt, as `@server.prompt` or `@server.prompt(title=…, …)`.

        Its arguments are the function's parameters, all of them text. name, title, icons, description, meta, scopes: as
        for `tool`.

        Raises SchemaError or ValueError for a definition that breaks a rule.
        """
        register = _decorator(lambda each: self.add_prompt(
            each, name=name, title=title, description=description, icons=icons, meta=meta, scopes=scopes))
        return register if function is None else register(function)

    def add_prompt(self, function: Callable[..., Any], *, name: Optional[str] = None, title: Optional[str] = None,
                   description: Optional[str] = None, icons: Icons = None, meta: Object = None,
                   scopes: Sequence[str] = ()) -> prompts.Prompt:
        """Register a prompt at any time; the options are those of `prompt`. Raises ValueError for a name in use."""
        return self.prompts.add(prompts.Prompt(
            function, name=name, title=title, description=description, icons=icons, meta=meta, scopes=scopes))

    def remove_prompt(self, name: str) -> None:
        """Take a prompt away. Raises KeyError where there is none of that name."""
        self.prompts.remove(name)

    def completion(self, target: str, argument: str) -> Callable[[Function], Function]:
        """Register what suggests values for an argument of a prompt, by name, or resource template, by its text.

        The function is as completion.Completer has it. Raises SchemaError, and ValueError where there is no such
        prompt, template or argument; it must be registered before.
        """
        def add(function: Callable[..., Any]) -> None:
            found = self.prompts.get(target) or self.resource_templates.get(target)
            completion.register(found, target, argument, function)
            self._refresh()
        return _decorator(add)

    def _refresh(self) -> None:
        """Advertise what there is: a method is served only with its capability (the method rung)."""
        with self._refreshing:
            methods: Dict[str, Method] = {"server/discover": discover}
            capabilities: Dict[str, Any] = {"logging": {}} if self.state.logging else {}
            for feature in (tools, resources, prompts, completion):
                feature.advertise(self.state, methods, capabilities)
            if capabilities.keys() - {"logging"}:
                methods["subscriptions/listen"] = listen
            if self._extensions:
                capabilities["extensions"] = self._extensions
            self.state.methods, self.state.capabilities = methods, capabilities

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
        self.relay.announce(LIST_CHANGED[member])

    def notify_resource_updated(self, uri: str) -> None:
        """Tell subscribers of `uri`, or of a template that it matches, that the resource changed. Raises TypeError."""
        if not isinstance(uri, str):
            raise TypeError(f"a resource is updated by its URI, a text, not {uri!r}")
        self.relay.announce(RESOURCE_UPDATED, uri)

    # What it is, and serving

    @property
    def name(self) -> str:
        """What it is called."""
        return self.state.name

    @property
    def info(self) -> Dict[str, Any]:
        """Its serverInfo."""
        return self.state.info

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What it advertises now."""
        return self.state.capabilities

    @property
    def subscriptions(self) -> Subscriptions:
        """The open subscriptions/listen streams."""
        return self.state.subscriptions

    @property
    def on_trace(self) -> Optional[Callable[[str], None]]:
        """Given the trace line of every request, if it is set."""
        return self.state.on_trace

    @on_trace.setter
    def on_trace(self, hear: Optional[Callable[[str], None]]) -> None:
        self.state.on_trace = hear

    def set_state_keys(self, keys: Sequence[Union[str, bytes]]) -> None:
        """Put these keys in force, the signing one first; none at all means a fresh one for this process."""
        self.shared_key, self._state_keys = bool(keys), keys_given(keys)
        self.set_state_ttl(self._state_ttl)

    def set_state_ttl(self, seconds: float) -> None:
        """Let a requestState hold for so long from now on. Raises ValueError unless that is finite and above 0."""
        self.state.state_sealer, self.state.cursor_sealer = sealers(self._state_keys, seconds)
        self._state_ttl = seconds

    @property
    def era(self) -> str:
        """What it serves: "dual", "modern" or "legacy"."""
        return self.state.era

    def set_era(self, era: str) -> None:
        """Serve "dual", "modern" or "legacy" from now on. Raises ValueError for any other."""
        if era not in ERAS:
            raise ValueError(f"an era is one of {', '.join(ERAS)}, not {era!r}")
        self.state.era = era

    def handle(self, request: Request) -> Answer:
        """The answer to one message; what a transport calls. Raises what `serve.serve` raises."""
        if self.relay.bus is not None:
            self.relay.attend()
        return serve(self.state, request)

    def serve(self, host: str = "127.0.0.1", port: int = 8000, *, path: str = "/mcp", origins: Iterable[str] = (),
              limits: "Optional[Limits]" = None, cors: Iterable[str] = (), keep_alive: float = 15.0,
              health: Optional[str] = None, unix: Optional[str] = None) -> None:
        """Serve over HTTP until the process is told to stop, by SIGINT or SIGTERM; call it from the main thread.

        host, port: the address to bind, port 0 for a free one. path: of the MCP endpoint. origins: web origins let in
        beside loopback ones. cors: web origins whose pages may call it, beside the server's own. limits: bounds, see
        Limits. keep_alive: seconds after which a silent event stream has a comment. health: a path that answers GET
        with 200, without a token and under any Host. unix: a Unix socket to serve on in place of host and port.

        Raises OSError where the address cannot be bound, ValueError for an argument that cannot be used.
        """
        from ..transports.process import stops_lent, wait_for_signal  # sockets only where they are used

        with stops_lent(), self.start(host, port, path=path, origins=origins, limits=limits, cors=cors,
                                      keep_alive=keep_alive, health=health, unix=unix) as running:
            wait_for_signal(lambda: log.warning("serving %s at %s", self.name, running.url))

    def serve_stdio(self, stdin: Optional[BinaryIO] = None, stdout: Optional[BinaryIO] = None, *,
                    max_line: int = 4 * 1024 * 1024) -> None:
        """Serve one client over standard input and output until the input ends, or the process is told to stop.

        stdin, stdout: other streams of octets in their place. Without, whatever else reads standard input from now on
        finds it empty, and whatever is printed goes to standard error. max_line: octets of the longest message taken.
        """
        from ..transports.process import stops_lent  # as above
        from ..transports.stdio import serve_stdio

        with stops_lent():
            serve_stdio(self, stdin, stdout, max_line)
