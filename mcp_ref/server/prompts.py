"""server/prompts: messages that a user picks by name and fills in.

Implements PROMPT-02 to PROMPT-05, PROMPT-07 to PROMPT-17, PROMPT-20, CACHE-03.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..authorization.scopes import require_scopes
from ..base.errors import InvalidParams
from ..base.jsonrpc import shown
from ..base.request import Request
from ..patterns.sampling import ROLES
from . import content as blocks
from .completion import choices
from .pagination import listed
from .registry import Registered
from .running import attempt
from .uri_template import is_uri

if TYPE_CHECKING:
    from .server import Server

_MEMBERS = {"text": ("text",), "image": ("data", "mimeType"), "audio": ("data", "mimeType"),
            "resource_link": ("uri", "name"), "resource": ()}


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
    return {"role": "user", "content": blocks.text(content) if isinstance(content, str) else content}


def assistant(content: Any) -> Dict[str, Any]:
    """A message of the assistant; content as for `user`."""
    return {**user(content), "role": "assistant"}


class Prompt(Registered):
    """A registered prompt. Its arguments are the function's parameters, all of them text.

    Annotated[str, "text"] describes an argument, a default makes it optional, Literal and Enum narrow it and complete
    by themselves. What the function returns is told at `messages`. The options are those of Registered.

    Raises SchemaError or ValueError for a definition that breaks a rule.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, **options)
        properties = self.signature.schema["properties"]
        required = self.signature.schema.get("required", [])
        self.arguments = tuple(properties)
        self.completers = choices(properties, f"prompt {self.name}")
        listed = [{"name": name, **{key: schema[key] for key in ("title", "description") if key in schema},
                   "required": name in required} for name, schema in properties.items()]
        self.define(arguments=listed or None)

    def check(self, arguments: Any) -> Dict[str, str]:
        """`arguments` if the prompt takes them. Raises InvalidParams that names what is missing, wrong or unknown."""
        if not isinstance(arguments, dict):
            raise InvalidParams("Invalid params: arguments must be an object")
        for name, value in arguments.items():
            if not isinstance(value, str):
                raise InvalidParams(f"Invalid params: arguments.{shown(name)[1:-1]} must be a string")
        faults = self.faults(arguments)
        if faults:
            raise InvalidParams("Invalid params: " + faults)
        return arguments

    def result(self, value: Any) -> Dict[str, Any]:
        """The GetPromptResult for what the handler returned. Raises TypeError or ValueError."""
        if not isinstance(value, PromptResult):
            value = PromptResult(value)
        description = value.description if value.description is not None else self.definition.get("description")
        result = {"resultType": "complete", "messages": messages(value.messages)}
        optional = {"description": description, "_meta": value.meta}
        return {**result, **{name: member for name, member in optional.items() if member is not None}}


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
    if not isinstance(content, dict) or content.get("type") not in _MEMBERS:
        raise TypeError(f"a message has a text or one block of {', '.join(_MEMBERS)}, not {shown(content)}")
    _check_members(content, _MEMBERS[content["type"]])
    if content["type"] == "resource":
        resource = content.get("resource")
        if not isinstance(resource, dict) or ("text" in resource) == ("blob" in resource):
            raise ValueError("a resource block needs a resource with either text or blob")
        _check_members(resource, ("uri", "mimeType", "blob" if "blob" in resource else "text"))
    return {**message, "content": content}


def _check_members(block: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        value = block.get(name)
        if not isinstance(value, str) or (name == "uri" and not is_uri(value)):
            raise ValueError(f"the {name} of a block cannot be {shown(value)}")
        if name in ("data", "blob"):
            blocks.check_base64(value)
        if name == "mimeType":
            blocks.check_media_type(value)


def advertise(server: "Server", methods: Dict[str, Any], capabilities: Dict[str, Any]) -> None:
    """Add the capability and the methods of this page, if there are prompts (PROMPT-02)."""
    if server.prompts.used:
        capabilities["prompts"] = {"listChanged": True}
        methods["prompts/list"] = list_prompts
        methods["prompts/get"] = get


def list_prompts(server: "Server", request: Request) -> Dict[str, Any]:
    """prompts/list: those that the caller may use, in the order of registration (PROMPT-03 to PROMPT-05)."""
    return listed(server, request, "prompts", server.prompts)


def get(server: "Server", request: Request) -> Dict[str, Any]:
    """prompts/get: the prompt is there, its arguments are texts that it takes, it runs.

    Absent arguments are none; "" is a value; one that the prompt does not have is refused like one that is missing.
    Raises InvalidParams, HTTPError 403 where the caller's token lacks a scope, and what the handler raises.
    """
    prompt = server.prompts.named(request.params.get("name"))
    require_scopes(server, request, prompt.scopes)
    arguments = prompt.check(request.params.get("arguments", {}))
    return attempt(server, request, prompt.name, arguments, prompt.handler(arguments), prompt.result)
