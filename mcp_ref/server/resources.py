"""server/resources: data that a client can list and read, each under a URI of its own or as one of a template.

Implements RES-03 to RES-05, RES-09 to RES-11, RES-13, RES-14, RES-16.
"""

from __future__ import annotations

import inspect
from typing import Any, Awaitable, Callable, Dict, Iterable, Optional, Tuple, Union

from ..authorization.scopes import is_scoped, permit, visible
from ..base.errors import InvalidParams, ResourceNotFound, SchemaError
from ..base.log import log
from ..base.request import Request
from ..lib.strict_json import readable
from ..lib.text import shown
from ..lib.uri import is_uri
from ..lib.uri_template import UriTemplate
from .completion import choices
from .content import (
    Contents,
    check_annotations,
    check_contents,
    check_media_type,
    check_resource,
    check_size,
    resource_contents,
)
from .definitions import BadArguments, Registered
from .invoke import Asks, called, run
from .lists import hints, listed
from .state import Hints, State

Instances = Callable[[], Union[Iterable[Dict[str, Any]], Awaitable[Iterable[Dict[str, Any]]]]]

JSON = "application/json"
OCTETS = (bytes, bytearray, memoryview)


class Readable(Registered):
    """What resources and resource templates share.

    function: called at each read; what it returns is told at `finish`. mime_type: as listed; that of JSON by default
    where the function promises data. annotations: as listed. ttl_ms, cache_scope: caching hints of what is read, the
    server's by default. The other options are those of Registered.
    """

    own = (str, *OCTETS, Contents)

    def __init__(self, function: Callable[..., Any], *, mime_type: Optional[str] = None,
                 annotations: Optional[Dict[str, Any]] = None, ttl_ms: Optional[int] = None,
                 cache_scope: Optional[str] = None, **options: Any) -> None:
        super().__init__(function, **options)
        self.mime_type = mime_type = JSON if mime_type is None and self.returned.schema is not None else mime_type
        self._given_hints = ttl_ms, cache_scope
        hints(ttl_ms, cache_scope)
        self.define({"mimeType": check_media_type, "annotations": check_annotations}, mimeType=mime_type,
                    annotations=annotations)

    def hints(self, default: Hints) -> Hints:
        """The caching hints of what is read; private where not everybody may read it."""
        given = hints(*self._given_hints, default)
        return given._replace(scope="private") if self.scopes else given

    def finish(self, uri: str, value: Any, hints: Hints) -> Dict[str, Any]:
        """The ReadResourceResult for what the handler returned.

        value: a str (text); bytes (blob); what content.resource_contents makes; a pair of a URI and one of these; a
        list of such, for several; or data, which is written as the return annotation promises, as the text of its JSON.
        uri and the mime_type stand where it names none. Raises ResourceNotFound for None, and for an empty list unless
        that is promised, for a read is never empty (RES-13); ValueError for what has no JSON, or is malformed.
        """
        if value is None and self.returned.named:
            self.returned.data(value)
        if value is None or (value == [] and self.returned.typed is None):
            raise ResourceNotFound(uri)
        several = isinstance(value, list) and any(_is_contents(item) and not isinstance(item, str) for item in value)
        if several and self.returned.typed is not None:
            several = any(isinstance(item, Contents) for item in value)
        if several and not all(_is_contents(item) for item in value):
            raise ValueError("a list with contents of resources holds nothing else")
        made = [self._contents(uri, part) for part in (value if several else [value])]
        for part in made:
            check_contents(part)
        return hints.onto({"resultType": "complete", "contents": made})

    def _contents(self, uri: str, value: Any) -> Dict[str, Any]:
        if self.returned.typed is None and isinstance(value, tuple) and _is_contents(value):
            uri, value = value
        if isinstance(value, Contents):
            return {"uri": uri, **({} if self.mime_type is None else {"mimeType": self.mime_type}), **value}
        if isinstance(value, (str, *OCTETS)):
            return resource_contents(uri, value, self.mime_type)
        return resource_contents(uri, readable(self.returned.data(value)), self.mime_type or JSON)


def _is_contents(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and is_uri(value[0])
    return isinstance(value[1] if pair else value, (str, *OCTETS, Contents))


class Resource(Readable):
    """A resource under one URI. size: of the raw content, in bytes, where it is known. The rest as in Readable."""

    def __init__(self, uri: str, function: Callable[..., Any], *, size: Optional[int] = None, **options: Any) -> None:
        super().__init__(function, **options)
        if not is_uri(uri):
            raise ValueError(f"not a URI of RFC 3986, scheme included: {shown(uri)}")
        if self.signature.schema["properties"]:
            raise SchemaError(f"the handler of {uri} can take nothing but ctx, for the URI has no variables")
        self.key = uri
        self.define({"size": check_size}, uri=uri, size=size)


class ResourceTemplate(Readable):
    """Resources under all URIs of a template (RFC 6570), each variable an argument of the function.

    A variable is a text; an exploded one a list, or in a query a dict; Literal and Enum annotations narrow it, and
    complete by themselves. A variable that a URI leaves out has the function's default; without one, that URI is not
    found. instances: called at each resources/list for the definitions (`uri`, `name`, …) of those that exist, plain or
    async.
    """

    def __init__(self, uri_template: str, function: Callable[..., Any], *,
                 instances: Optional[Instances] = None, **options: Any) -> None:
        super().__init__(function, **options)
        self.key = uri_template
        if instances is not None and not _called_with_nothing(instances):
            raise SchemaError(f"instances of {uri_template} is a function without parameters that returns definitions, "
                              f"not {instances!r}")
        self.instances = instances
        self._template = UriTemplate(uri_template)
        self.arguments = self._template.variables
        properties = self.signature.schema["properties"]
        if set(properties) != set(self.arguments):
            raise SchemaError(f"the handler of {uri_template} takes {sorted(properties)}, and the variables of the "
                              f"template are {sorted(self.arguments)}")
        texts = {name: schema for name, schema in properties.items() if name not in self._template.exploded}
        self.completers = choices(texts, uri_template)
        self.define({}, uriTemplate=uri_template)

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """The arguments of the handler for `uri`; None where it is none of this template."""
        found = self._template.match(uri)
        try:
            if found is not None:
                self.check(found)
        except BadArguments:
            return None
        return found


def _called_with_nothing(function: Any) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # written in C, and does not say
        return True
    return not inspect.isasyncgenfunction(function)


def advertise(state: State, methods: Dict[str, Any], capabilities: Dict[str, Any]) -> None:
    """Add the capability and the methods of this page, if there are resources or templates (RES-02)."""
    if state.resources.used or state.resource_templates.used:
        capabilities["resources"] = {"listChanged": True, "subscribe": True}
        methods["resources/list"] = list_resources
        methods["resources/templates/list"] = list_templates
        methods["resources/read"] = read


def list_resources(state: State, request: Request) -> Dict[str, Any]:
    """resources/list: those registered, in that order, then the instances of templates that can tell (RES-03).

    What the caller may not read is not listed, nor is it as an instance of a template that happens to match its URI. An
    instance that is malformed is left out, and the log says why.
    """
    templates = state.resource_templates
    instances: Dict[str, Any] = {}
    for template in visible(state.auth, request, templates).values():
        for definition in called(state, request, template.instances) if template.instances is not None else ():
            try:
                check_resource(definition)
            except ValueError as error:
                log.error("an instance of %s is left out: %s", template.key, error)
                continue
            if definition["uri"] not in state.resources:
                instances.setdefault(definition["uri"], definition)
    return listed(state, request, "resources", state.resources, instances, is_scoped(templates))


def list_templates(state: State, request: Request) -> Dict[str, Any]:
    """resources/templates/list: those that the caller may read, in the order of registration."""
    return listed(state, request, "resourceTemplates", state.resource_templates)


def find(state: State, uri: Any) -> Tuple[Readable, Dict[str, Any]]:
    """What answers for `uri`, and its arguments: a resource, else the first template that matches.

    Raises InvalidParams for what is no text, and ResourceNotFound (RES-10).
    """
    if not isinstance(uri, str) or not uri:
        raise InvalidParams("Invalid params: params.uri must be a non-empty string")
    resource: Optional[Resource] = state.resources.get(uri)
    if resource is not None:
        return resource, {}
    for template in state.resource_templates.values():
        arguments = template.match(uri)
        if arguments is not None:
            return template, arguments
    raise ResourceNotFound(uri)


def read(state: State, request: Request) -> Dict[str, Any]:
    """resources/read. Raises InvalidParams, ResourceNotFound among them, and what the handler raises.

    A result that answers to questions came from is fresh for no time and private, since no cache may keep it
    (CACHE-08).
    """
    uri = request.params.get("uri", "")
    found, variables = find(state, uri)
    permit(state.auth, request, found.scopes)
    try:
        handler = found.check(variables)
        value = run(state, request, handler)
        if isinstance(value, Asks):
            return value
        answered = "inputResponses" in request.params or "requestState" in request.params
        return found.finish(uri, value, Hints() if answered else found.hints(state.hints_of(request.method)))
    except ResourceNotFound:
        raise ResourceNotFound(uri) from None
