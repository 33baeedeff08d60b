"""server/prompts: messages that a user picks by name and fills in.

Implements PROMPT-03 to PROMPT-05, PROMPT-07 to PROMPT-17, PROMPT-20.
"""

from __future__ import annotations

import dataclasses
from collections import abc
from typing import Any, Callable, Dict, List, Optional

from ..authorization.scopes import permit
from ..base.errors import InvalidParams
from ..base.request import Request
from ..lib.strict_json import readable
from ..lib.text import shown
from ..patterns.sampling import ROLES
from . import content as blocks
from .completion import choices
from .definitions import BadArguments, Registered
from .invoke import Asks, run
from .lists import listed
from .state import State


@dataclasses.dataclass
class PromptResult(blocks.Sent):
    """A whole prompt result, for handlers that want more than messages.

    messages: what a handler may return otherwise. description: the prompt's own by default.
    """

    place = "what a prompt returns"

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

    own = (str, abc.Mapping, PromptResult)
    lists = True

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, **options)
        properties = self.signature.schema["properties"]
        required = self.signature.schema.get("required", [])
        self.arguments = tuple(properties)
        self.completers = choices(properties, f"prompt {self.name}")
        listed = [{"name": name, **{key: schema[key] for key in ("title", "description") if key in schema},
                   "required": name in required} for name, schema in properties.items()]
        self.define({}, arguments=listed or None)

    def check(self, arguments: Any) -> Callable[[Any], Any]:
        """The handler with these arguments. Raises InvalidParams that names what is missing, wrong or unknown."""
        if not isinstance(arguments, dict):
            raise InvalidParams("Invalid params: arguments must be an object")
        for name, value in arguments.items():
            if not isinstance(value, str):
                raise InvalidParams(f"Invalid params: arguments.{shown(name)[1:-1]} must be a string")
        try:
            return super().check(arguments)
        except BadArguments as error:
            raise InvalidParams(f"Invalid params: {error}") from None

    def finish(self, value: Any) -> Dict[str, Any]:
        """The GetPromptResult for what the handler returned. Raises TypeError or ValueError."""
        if self.returned.typed is not None and not isinstance(value, (str, blocks.Block, PromptResult)):
            value = readable(self.returned.data(value))
        elif value is None:
            value = self.returned.data(value)
        if not isinstance(value, PromptResult):
            value = PromptResult(value)
        result: Dict[str, Any] = {"resultType": "complete", "messages": messages(value.messages)}
        description = value.description if value.description is not None else self.definition.get("description")
        for name, member, check in (("description", description, blocks.check_text),
                                    ("_meta", value.meta, blocks.check_meta)):
            if member is not None:
                check(member)
                result[name] = member
        return result


def messages(value: Any) -> List[Dict[str, Any]]:
    """The messages that `value` stands for: a text or a block (of the user), a message, or a list of such.

    Raises ValueError for what is no message (PROMPT-20).
    """
    return [_checked(item) for item in (value if isinstance(value, (list, tuple)) else [value])]


def _checked(item: Any) -> Dict[str, Any]:
    message = item if isinstance(item, dict) and "role" in item else user(item)
    if message["role"] not in ROLES:
        raise ValueError(f"the role of a message is user or assistant, not {shown(message['role'])}")
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        raise ValueError("a message has a text or one block; for several, return several messages")
    content, = blocks.content_blocks(content)
    if content["type"] == "resource" and "mimeType" not in content["resource"]:
        raise ValueError("a resource in a prompt has a mimeType")
    return {"role": message["role"], "content": content}


def advertise(state: State, methods: Dict[str, Any], capabilities: Dict[str, Any]) -> None:
    """Add the capability and the methods of this page, if there are prompts (PROMPT-02)."""
    if state.prompts.used:
        capabilities["prompts"] = {"listChanged": True}
        methods["prompts/list"] = list_prompts
        methods["prompts/get"] = get


def list_prompts(state: State, request: Request) -> Dict[str, Any]:
    """prompts/list: those that the caller may use, in the order of registration (PROMPT-03 to PROMPT-05)."""
    return listed(state, request, "prompts", state.prompts)


def get(state: State, request: Request) -> Dict[str, Any]:
    """prompts/get.

    Absent arguments are none; "" is a value; one that the prompt does not have is refused like one that is missing.
    Raises InvalidParams, HTTPError 403 where the caller's token lacks a scope, and what the handler raises.
    """
    prompt = state.prompts.find(request.params.get("name"))
    permit(state.auth, request, prompt.scopes)
    handler = prompt.check(request.params.get("arguments", {}))
    value = run(state, request, handler)
    return value if isinstance(value, Asks) else prompt.finish(value)
