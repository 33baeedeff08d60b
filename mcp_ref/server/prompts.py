"""server/prompts: messages that a user picks by name and fills in.

Implements PROMPT-02 to PROMPT-05, PROMPT-07 to PROMPT-17, PROMPT-20, CACHE-03.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..authorization.resource_server import is_scoped, require_scopes, scope_names, visible
from ..base.errors import InvalidParams
from ..base.json_schema import compile_schema
from ..base.jsonrpc import shown
from ..base.meta import checked
from ..base.request import Request
from . import content as blocks
from .completion import Completer, choices, text_parameters
from .context import Context
from .running import attempt
from .signature import signature
from .uri_template import is_uri

if TYPE_CHECKING:
    from .server import Server

ROLES = ("user", "assistant")
_NEEDED = {"text": ("text",), "image": ("data", "mimeType"), "audio": ("data", "mimeType"),
           "resource_link": ("uri", "name"), "resource": ("resource",)}


@dataclasses.dataclass
class PromptResult:
    """A whole prompt result, for handlers that want more than messages.

    messages: what a handler may return otherwise. description: the prompt's own by default.
    """

    messages: Any
    description: Optional[str] = None
    meta: Optional[Dict[str, Any]] = None


def user(content: Any) -> Dict[str, Any]:
    """A message of the user. content: a text, or a block as the functions of mcp_ref.content make them."""
    return _message("user", content)


def assistant(content: Any) -> Dict[str, Any]:
    """A message of the assistant; content as for `user`."""
    return _message("assistant", content)


def _message(role: str, content: Any) -> Dict[str, Any]:
    return {"role": role, "content": blocks.text(content) if isinstance(content, str) else content}


class Prompt:
    """A registered prompt. Its arguments are the function's parameters, all of them text.

    Annotated[str, "text"] describes an argument, a default makes it optional, Literal and Enum narrow it and complete
    by themselves. The Context comes first if the function takes `ctx`; it may be async, and may ask. What it returns
    is told at `messages`. name: that of the function by default. description: its docstring by default.

    Raises SchemaError or ValueError for a definition that breaks a rule.
    """

    def __init__(self, function: Callable[..., Any], *, name: Optional[str] = None, title: Optional[str] = None,
                 description: Optional[str] = None, icons: Optional[Sequence[Dict[str, Any]]] = None,
                 meta: Optional[Dict[str, Any]] = None, scopes: Sequence[str] = ()) -> None:
        self.name = name or function.__name__
        self.function = function
        self.scopes = scope_names(scopes)
        self.signature = signature(function)
        parameters = text_parameters(self.signature.schema["properties"], f"prompt {self.name}")
        self.arguments = tuple(parameters)
        self.completers: Dict[str, Completer] = choices(parameters)
        self._validator = compile_schema(self.signature.schema)
        required = self.signature.schema.get("required", [])
        listed = [_filled({"name": key, "title": parameter.title, "description": parameter.description,
                           "required": key in required}) for key, parameter in parameters.items()]
        text = description if description is not None else inspect.cleandoc(function.__doc__ or "")
        self.definition = _filled({"name": self.name, "title": title, "description": text or None,
                                   "arguments": listed or None, "icons": icons, "_meta": checked(meta)})

    def check(self, arguments: Any) -> Dict[str, str]:
        """`arguments` if the prompt takes them. Raises InvalidParams that names what is missing, wrong or unknown."""
        if not isinstance(arguments, dict):
            raise InvalidParams("Invalid params: arguments must be an object")
        for name, value in arguments.items():
            if not isinstance(value, str):
                raise InvalidParams(f"Invalid params: arguments.{shown(name)[1:-1]} must be a string")
        violations = self._validator.errors(arguments)
        if violations:
            raise InvalidParams("Invalid params: " + "; ".join(each.text("arguments") for each in violations))
        return arguments

    def result(self, value: Any) -> Dict[str, Any]:
        """The GetPromptResult for what the handler returned. Raises TypeError or ValueError."""
        if not isinstance(value, PromptResult):
            value = PromptResult(value)
        description = value.description if value.description is not None else self.definition.get("description")
        return _filled({"resultType": "complete", "description": description, "messages": messages(value.messages),
                        "_meta": value.meta})


def _filled(members: Dict[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}


def messages(value: Any) -> List[Dict[str, Any]]:
    """The messages that `value` stands for: a text or a block (of the user), a message, or a list of such.

    Raises TypeError or ValueError for what is no message (PROMPT-20).
    """
    return [_checked(item) for item in (value if isinstance(value, (list, tuple)) else [value])]


def _checked(item: Any) -> Dict[str, Any]:
    message = item if isinstance(item, dict) and "role" in item else user(item)
    if message["role"] not in ROLES:
        raise ValueError(f"the role of a message is user or assistant, not {shown(message['role'])}")
    content = message.get("content")
    if isinstance(content, str):
        content = blocks.text(content)
    if not isinstance(content, dict) or content.get("type") not in _NEEDED:
        raise TypeError(f"a message has a text or one block of {', '.join(_NEEDED)}, not {shown(content)}")
    _check_members(content, _NEEDED[content["type"]], content["type"])
    if content["type"] == "resource":
        _check_resource(content["resource"])
    elif "mimeType" in _NEEDED[content["type"]]:
        blocks.check_base64(content["data"])
        blocks.check_media_type(content["mimeType"])
    return {**message, "content": content}


def _check_resource(resource: Mapping[str, Any]) -> None:
    _check_members(resource, ("uri", "mimeType", "blob" if "blob" in resource else "text"), "resource")
    if not is_uri(resource["uri"]):
        raise ValueError(f"a resource has a URI of RFC 3986, not {shown(resource['uri'])}")
    if "blob" in resource:
        blocks.check_base64(resource["blob"])
    blocks.check_media_type(resource["mimeType"])


def _check_members(block: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    for name in names:
        if not isinstance(block.get(name), (dict if name == "resource" else str)):
            raise ValueError(f"a {what} block needs {name}")


def advertise(server: "Server", methods: Dict[str, Any], capabilities: Dict[str, Any]) -> None:
    """Add the capability and the methods of this page, if there are prompts (PROMPT-02)."""
    if server.prompts.used:
        capabilities["prompts"] = {"listChanged": True}
        methods["prompts/list"] = list_prompts
        methods["prompts/get"] = get


def list_prompts(server: "Server", request: Request) -> Dict[str, Any]:
    """prompts/list: those that the caller may use, in the order of registration (PROMPT-03 to PROMPT-05)."""
    permitted = visible(server, request, server.prompts)
    definitions = {name: prompt.definition for name, prompt in permitted.items()}
    return server.listed(request, "prompts", definitions, private=is_scoped(server.prompts))


def get(server: "Server", request: Request) -> Dict[str, Any]:
    """prompts/get: the prompt is there, its arguments are texts that it takes, it runs.

    Absent arguments are none; "" is a value; one that the prompt does not have is refused like one that is missing.
    Raises InvalidParams, HTTPError 403 where the caller's token lacks a scope, and what the handler raises.
    """
    prompt = named(server.prompts, request.params.get("name"))
    require_scopes(server, request, prompt.scopes)
    arguments = prompt.check(request.params.get("arguments", {}))

    def handler(context: Context) -> Any:
        return prompt.signature.call(prompt.function, context, arguments)

    return attempt(server, request, prompt.name, arguments, handler, prompt.result)


def named(prompts: Mapping[str, Prompt], name: Any) -> Prompt:
    """The prompt of that name. Raises InvalidParams."""
    if not isinstance(name, str) or not name:
        raise InvalidParams("Invalid params: params.name must be a non-empty string")
    prompt = prompts.get(name)
    if prompt is None:
        raise InvalidParams(f"Invalid params: unknown prompt {shown(name)}")
    return prompt
