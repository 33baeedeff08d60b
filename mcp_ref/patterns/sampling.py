"""client/sampling, Data Types and Message Content Constraints: what a sampling request and its result are made of.

Implements SAMP-12 to SAMP-18, SAMP-22, SAMP-26, SAMP-27.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Set, Tuple, Union

from ..lib.text import instead, shown

ROLES = ("user", "assistant")
_BLOCKS: Dict[str, Dict[str, type]] = {
    "text": {"text": str}, "image": {"data": str, "mimeType": str}, "audio": {"data": str, "mimeType": str},
    "tool_use": {"id": str, "name": str, "input": dict}, "tool_result": {"toolUseId": str, "content": list}}
"""The kinds of content block that the schema has for a sampling message, and the members that each must have."""

_PARAMS: Dict[str, Union[type, Tuple[type, ...]]] = {
    "messages": object, "maxTokens": int, "systemPrompt": str, "temperature": (int, float), "stopSequences": list,
    "modelPreferences": dict, "includeContext": str, "metadata": dict, "tools": list, "toolChoice": dict, "_meta": dict}
"""What a sampling request can have; the messages are told of in words of their own."""


def check_params(params: Mapping[str, Any]) -> None:
    """Raise TypeError for a member that no sampling request has, or of another kind than the schema says, and for none
    of maxTokens.
    """
    if "maxTokens" not in params:
        raise TypeError("a sampling request must have maxTokens")
    for name, value in params.items():
        kind = _PARAMS.get(name)
        if kind is None:
            raise TypeError(f"a sampling request has no {name}, {instead(name, _PARAMS)}")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(f"{name} of a sampling request cannot be {shown(value)}")


def check_messages(messages: Any) -> None:
    """Raise ValueError for messages that no sampling request may hold.

    Each has a role and content. One with tool results is the user's and holds nothing else. One with tool uses is
    followed at once by such a message with a result for each of them.
    """
    if not isinstance(messages, list):
        raise ValueError("the messages of a sampling request must be a list")
    unanswered: Set[str] = set()
    for message in messages:
        content = _blocks(message)
        results = [block.get("toolUseId") for block in content if block.get("type") == "tool_result"]
        if results and (message["role"] != "user" or len(results) != len(content)):
            raise ValueError("a sampling message with tool results is the user's and holds nothing else")
        if not unanswered.issubset(results):
            raise ValueError(f"tool uses {shown(sorted(unanswered))} must be answered by the very next message")
        unanswered = {str(block.get("id")) for block in content if block.get("type") == "tool_use"}
    if unanswered:
        raise ValueError(f"tool uses {shown(sorted(unanswered))} have no results after them")


def check_sampled(params: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """Raise ValueError for what is no CreateMessageResult: one has a role, content and the model that made it.

    params: what was asked. A model uses tools only where it was given some and not told to use none, and one at least
    where it was told to.
    """
    if not isinstance(result.get("model"), str):
        raise ValueError("the result of sampling must have a model, a text")
    used = any(block["type"] == "tool_use" for block in _blocks(result))
    choice = params.get("toolChoice")
    mode = choice.get("mode", "auto") if isinstance(choice, Mapping) else "auto" if "tools" in params else "none"
    if used == (mode == "none") and mode != "auto":
        raise ValueError(f"the toolChoice is {shown(mode)}, and the result of sampling uses "
                         f"{'a tool' if used else 'no tool'}")


def _blocks(message: Any) -> List[Dict[str, Any]]:
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        raise ValueError(f"a sampling message has the role user or assistant, which {shown(message)} has not")
    content = message.get("content")
    content = content if isinstance(content, list) else [content]
    for block in content:
        members = _BLOCKS.get(str(block.get("type"))) if isinstance(block, dict) else None
        if members is None or not all(isinstance(block.get(name), kind) for name, kind in members.items()):
            raise ValueError(f"the content of a sampling message is a block or a list of them ({', '.join(_BLOCKS)}), "
                             f"each with what its type needs, which {shown(block)} is not")
    return content
