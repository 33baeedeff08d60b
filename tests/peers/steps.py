"""What each client of the interoperability table gets from each server, and where a peer parts from the specification.

A client prints `{"step": NAME, "got": VALUE}`, or `"error"` with the code of a JSON-RPC error or the words of any
other failure; mcp_ref's own refusals are "refused", with `words`. Values are compared as JSON.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Dict, Tuple

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

# A client of 2025-11-25 is told otherwise of a capability that it lacks and of an unknown resource, has a GET stream in
# place of listen, and mirrors nothing.
LEGACY: Dict[str, Dict[str, Any]] = {
    **{step: wanted for step, wanted in EXPECTED.items()
       if step not in ("mirrored_unlisted", "mirrored_like_encoded", "end_of_stream")},
    "connect": {"got": ["2025-11-25", *EXPECTED["connect"]["got"][1:]]},
    "undeclared": {"got": True},
    "unknown_resource": {"error": -32002},
}

# The command line does a part of them.
COMMANDS = ("connect", "list_tools", "call", "structured", "tool_error", "unknown_tool", "mirrored", "odd_name",
            "elicit_accept", "elicit_decline", "undeclared", "progress", "list_resources", "read", "read_octets",
            "read_template", "unknown_resource", "get_prompt", "listen")

# (server, step) to what that server gives instead, and why that is no fault of ours.
DIFFERENCES: Dict[Tuple[str, str], Tuple[Dict[str, Any], str]] = {
    ("python_sdk", "unknown_tool"): (
        {"got": "Unknown tool: nothing"},
        "a tool result with isError; server/tools, Error Handling, counts an unknown tool as a protocol error, -32602"),
    # Its resolvers do check; an InputRequiredResult that the handler returns goes out as it is.
    ("python_sdk", "undeclared"): (
        {"error": "refused", "words": "for which this client declared no capability"},
        "asks for what the client did not declare, and our client refuses; basic/patterns/mrtr, server requirement 1, "
        "forbids it, and basic/index, Per-request protocol fields, makes it -32021"),
    # Its ListenHandler.close would do it; MCPServer has no way to call it.
    ("python_sdk", "end_of_stream"): (
        {"error": "refused", "words": "broke"},
        "ends the stream without a result when it shuts down; a SHOULD of basic/patterns/subscriptions, Graceful "
        "Closure"),
}
