"""What each client of the interoperability table gets from each server, and where a peer parts from the specification.

A client prints `{"step": NAME, "got": VALUE}`, or `"error"` with the code of a JSON-RPC error or the words of any
other failure; mcp_ref's own refusals are "refused", with `words`. Values are compared as JSON.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Dict, NamedTuple, Tuple

HTTP, STDIO = "HTTP", "stdio"
MODERN, LEGACY = "2026-07-28", "2025-11-25"

TOOLS = ["add", "book", "chat", "consult", "count", "echo", "fail", "grow", "grüße", "route", "visit", "wait", "waited",
         "water"]

EXPECTED: Dict[str, Dict[str, Any]] = {
    "connect": {"got": ["2026-07-28", "peers", "One of each thing that two implementations must agree on."]},
    "mirrored_unlisted": {"got": "region Zürich, shard 0, wet"},
    "list_tools": {"got": TOOLS},
    "call": {"got": "hi, Zürich ☃"},
    "structured": {"got": {"sum": 5}},
    "tool_error": {"got": [True, "out of order"]},
    "bad_arguments": {"got": True},
    "unknown_tool": {"error": -32602},
    "mirrored": {"got": "region Zürich, shard -7, dry"},
    "mirrored_like_encoded": {"got": "region =?base64?eA==?=, shard 0, wet"},
    "odd_name": {"got": "Grüße"},
    "elicit_accept": {"got": "MC 1 booked, seat aisle"},
    "elicit_decline": {"got": "not booked: decline"},
    "elicit_cancel": {"got": "not booked: cancel"},
    "elicit_url": {"got": "accept"},
    "three_in_a_round": {"got": "Ada: Paris, file:///home/ada"},
    "undeclared": {"error": -32021},
    "progress": {"got": ["counted", [[1, 3, "1 of 3"], [2, 3, "2 of 3"], [3, 3, "3 of 3"]]]},
    "log_messages": {"got": ["logged", [["info", None, "begun"], ["warning", "chatter", {"left": 1}]]]},
    "cancel": {"got": "cancelled"},
    "list_resources": {"got": ["peers://about", "peers://dot"]},
    "read": {"got": "About, in Zürich"},
    "read_octets": {"got": b64encode(bytes(range(256))).decode("ascii")},
    "list_templates": {"got": ["peers://plants/{name}"]},
    "read_template": {"got": "shade"},
    "unknown_resource": {"error": -32602},
    "list_prompts": {"got": [["advice", [["plant", True], ["season", False]]]]},
    "get_prompt": {"got": "How do I look after a fern in spring?"},
    "complete_prompt": {"got": ["fern", "fig"]},
    "complete_template": {"got": ["fern", "fig"]},
    "listen": {"got": [True, "peers://about"]},
    "end_of_stream": {"got": "graceful"},
}

ALL = tuple(EXPECTED)

BEFORE: Dict[str, Dict[str, Any]] = {
    "connect": {"got": ["2025-11-25", "peers", "One of each thing that two implementations must agree on."]},
    "undeclared": {"got": True},
    "unknown_resource": {"error": -32002},
}
"""What is another one in 2025-11-25."""

FEATURES: Dict[str, Tuple[str, ...]] = {
    "tools": ("connect", "list_tools", "call", "structured", "tool_error", "bad_arguments", "unknown_tool", "odd_name"),
    "mirrored": ("mirrored_unlisted", "mirrored", "mirrored_like_encoded"),
    "input": ("elicit_accept", "elicit_decline", "elicit_cancel", "elicit_url", "three_in_a_round", "undeclared"),
    "progress": ("progress",),
    "log": ("log_messages",),
    "cancel": ("cancel",),
    "resources": ("list_resources", "read", "read_octets", "list_templates", "read_template", "unknown_resource"),
    "prompts": ("list_prompts", "get_prompt"),
    "completion": ("complete_prompt", "complete_template"),
    "changes": ("listen", "end_of_stream"),
}
"""The columns of the README's table, and the steps that each sums up."""

# The command line does a part of them.
COMMANDS = ("connect", "list_tools", "call", "structured", "tool_error", "unknown_tool", "mirrored", "odd_name",
            "elicit_accept", "elicit_decline", "undeclared", "progress", "list_resources", "read", "read_octets",
            "read_template", "unknown_resource", "get_prompt", "listen")



class Difference(NamedTuple):
    """What a peer does instead, and why that is no fault of ours. era, transport: where; everywhere if empty."""

    peer: str
    step: str
    said: Dict[str, Any]
    why: str
    era: str = ""
    transport: str = ""


FIRST_PAGE = {"got": ["add", "echo", "fail", "route"]}
ONE_PAGE = "asks for the first page alone, and the server has tools on four"
NO_RELIST = ("calls a tool that it has not listed without the headers, and gives up when it is refused; "
             "basic/transports/streamable-http, Client Behavior, has it list the tools and try again")

DIFFERENCES: Tuple[Difference, ...] = (
    # Servers
    Difference("Python SDK server", "unknown_tool", {"got": "Unknown tool: nothing"},
               "a tool result with isError; server/tools, Error Handling, counts an unknown tool as a protocol error, "
               "-32602"),
    # Its resolvers do check; an InputRequiredResult that the handler returns goes out as it is.
    Difference("Python SDK server", "undeclared",
               {"error": "refused", "words": "for which this client declared no capability"},
               "asks for what the client did not declare, and our client refuses; basic/patterns/mrtr, server "
               "requirement 1, forbids it, and basic/index, Per-request protocol fields, makes it -32021"),
    # Its ListenHandler.close would do it; MCPServer has no way to call it.
    Difference("Python SDK server", "end_of_stream", {"error": "refused", "words": "broke"},
               "ends the stream without a result when it shuts down; a SHOULD of basic/patterns/subscriptions, "
               "Graceful Closure"),
    *(Difference(f"{name} server", "unknown_tool", {"got": "Unknown tool: nothing"},
                 "a tool result with isError; server/tools, Error Handling, has it a protocol error, -32602")
      for name in ("Python SDK 1", "FastMCP 2")),
    *(Difference(f"{name} server", "unknown_resource", {"error": 0},
                 "an error of number 0; server/resources, Error Handling, has -32002")
      for name in ("Python SDK 1", "FastMCP 2")),
    Difference("FastMCP server", "unknown_tool", {"got": "Unknown tool: 'nothing'"},
               "a tool result with isError; server/tools, Error Handling, has it a protocol error, -32602"),
    Difference("FastMCP server", "undeclared",
               {"error": "refused", "words": "for which this client declared no capability"},
               "asks for what the client did not declare, as the Python SDK does, on which it stands"),
    Difference("FastMCP server", "log_messages",
               {"got": ["logged", [["info", None, {"msg": "begun", "extra": None}],
                                   ["warning", "chatter", {"msg": "1 left", "extra": None}]]]},
               "sends what is logged in an object of its own"),
    # Clients
    Difference("TypeScript SDK", "unknown_resource", {"error": -32602},
               "shows the number that 2026-07-28 has for it, whatever came", LEGACY),
    Difference("FastMCP", "mirrored_unlisted", {"error": -32020}, NO_RELIST, MODERN, HTTP),
    Difference("@ai-sdk/mcp", "mirrored_unlisted", {"error": -32020}, NO_RELIST, MODERN, HTTP),
    Difference("FastMCP 2", "list_tools", FIRST_PAGE, ONE_PAGE),
    Difference("llama-index-tools-mcp", "list_tools", FIRST_PAGE, ONE_PAGE),
    Difference("mcp-use", "list_tools", FIRST_PAGE, ONE_PAGE),
    Difference("Inspector", "unknown_resource",
               {"error": 'Refused: {"error":{"code":"error","message":"Resource not found"}}'},
               "shows the message of the error, not its number"),
)


def expected(peer: str, step: str, transport: str, era: str) -> Tuple[Dict[str, Any], str]:
    """What is to come of a step with this peer, and why where that is a difference. peer: its name, and `server`."""
    for each in DIFFERENCES:
        if each[:2] == (peer, step) and each.era in ("", era) and each.transport in ("", transport):
            return each.said, each.why
    wanted = EXPECTED[step] if era == MODERN else BEFORE.get(step, EXPECTED[step])
    return wanted, ""
