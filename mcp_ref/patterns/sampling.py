"""client/sampling, Message Content Constraints: what the messages of a sampling request are made of.

Implements SAMP-12 to SAMP-14, SAMP-17, SAMP-18, SAMP-26, SAMP-27.
"""

from __future__ import annotations

from typing import Any, Dict, List, Set

from ..base.jsonrpc import shown

ROLES = ("user", "assistant")


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


def _blocks(message: Any) -> List[Dict[str, Any]]:
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise ValueError(f"a sampling message has the role user or assistant, which {shown(message)} has not")
    content = message.get("content")
    content = content if isinstance(content, list) else [content]
    if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in content):
        raise ValueError(f"the content of a sampling message is a block or a list of them, not {shown(content)}")
    return content
