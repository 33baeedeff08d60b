"""server/index: what a server has, and what follows from it: the methods it serves, what it advertises, who is told.

Implements TOOL-06, PROMPT-02, RES-02 (what is advertised), TOOL-12, PROMPT-03, RES-05 (notifications) and VERS-05.

`Server` here is the half of server.Server that an author fills. Its options are written out at each method, so that a
wrong one is told by the checker of types, by `help` and by Python, in the name of the method that was called.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, TypeVar, Union, overload

from ..base.meta import checked_extensions
from ..base.request import Request
from ..patterns.subscriptions import LIST_CHANGED, RESOURCE_UPDATED, Subscriptions
from . import tools
from .arguments import whole
from .discover import discover
from .listen import listen
from .registry import Item, Registry

if TYPE_CHECKING:
    import os

    from . import files, prompts, resources, server

Function = TypeVar("Function", bound=Callable[..., Any])
Handler = Callable[["server.Server", Request], Any]
Object = Optional[Dict[str, Any]]
Icons = Optional[Sequence[Dict[str, Any]]]
Instances = Optional[Callable[[], Iterable[Dict[str, Any]]]]

_ALIEN = {"size": "the resources of a template differ in size", "instances": "it is no template, it has no {variable}"}


def _decorator(add: Callable[[Any], object]) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        add(function)
        return function
    return register


class Server:
    """What is registered on a server, to be changed at any time from any thread. The arguments are server.Server's."""

    def __init__(self, info: Dict[str, Any], max_subscriptions: int, logging: bool,
                 extensions: Mapping[str, Mapping[str, Any]]) -> None:
        self.logging = logging
        self.extensions = checked_extensions(extensions)
        self.methods: Dict[str, Handler] = {}
        self.capabilities: Dict[str, Any] = {}
        self.subscriptions = Subscriptions(whole("max_subscriptions", max_subscriptions, 0), info)
        self.tools: Registry[tools.Tool] = Registry("tool", self.notify_tools_changed)
        self.resources: Registry[resources.Resource] = Registry("resource", self.notify_resources_changed)
        self.resource_templates: Registry[resources.ResourceTemplate] = Registry(
            "resource template", self.notify_resources_changed)
        self.prompts: Registry[prompts.Prompt] = Registry("prompt", self.notify_prompts_changed)
        self._refreshing = threading.Lock()
        self._features: Dict[Any, None] = {tools: None}
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
        return self._add(self.tools, tools.Tool(
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
        called at each list for the definitions (`uri`, `name`, …) of those that exist.

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
        from . import resources

        return self._add(self.resources, resources.Resource(
            uri, function, name=name, title=title, description=description, icons=icons, meta=meta, scopes=scopes,
            mime_type=mime_type, annotations=annotations, ttl_ms=ttl_ms, cache_scope=cache_scope, size=size), resources)

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
        from . import resources

        return self._add(self.resource_templates, resources.ResourceTemplate(
            uri_template, function, name=name, title=title, description=description, icons=icons, meta=meta,
            scopes=scopes, mime_type=mime_type, annotations=annotations, ttl_ms=ttl_ms, cache_scope=cache_scope,
            instances=instances), resources)

    def remove_resource_template(self, uri_template: str) -> None:
        """Take a resource template, or a folder by the template it has, away. Raises KeyError where there is none."""
        self.resource_templates.remove(uri_template)

    def add_folder(self, uri: str, path: "Union[str, os.PathLike[str]]", *, pattern: str = "**/*",
                   hidden: bool = False, max_size: int = 8 * 1024 * 1024, limit: int = 1000,
                   name: Optional[str] = None, title: Optional[str] = None,
                   description: str = "Files of a folder, by their relative path", icons: Icons = None,
                   meta: Object = None, scopes: Sequence[str] = (), annotations: Object = None,
                   ttl_ms: Optional[int] = None, cache_scope: Optional[str] = None) -> files.Folder:
        """List and serve the files of a folder, and nothing beyond it, under `uri`, which ends with /.

        path: the folder, which must exist. pattern: which files, a glob over the relative path; ** is any folders.
        hidden: whether names that begin with a dot are served. max_size: bytes of a file; larger ones are refused.
        limit: how many are listed at most; those beyond can be read. The other options are those of `resource`.

        Raises ValueError.
        """
        from . import files, resources

        folder = files.Folder(
            uri, path, pattern=pattern, hidden=hidden, max_size=max_size, limit=limit, name=name, title=title,
            description=description, icons=icons, meta=meta, scopes=scopes, annotations=annotations, ttl_ms=ttl_ms,
            cache_scope=cache_scope)
        self._add(self.resource_templates, folder, resources)
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
        from . import prompts

        return self._add(self.prompts, prompts.Prompt(
            function, name=name, title=title, description=description, icons=icons, meta=meta, scopes=scopes), prompts)

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
            if self.extensions:
                capabilities["extensions"] = self.extensions
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
