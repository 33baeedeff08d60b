"""The client that the official conformance suite examines: what each scenario wants done, on mcp_ref's public names.

    python3 -m tests.conformance.client URL     as the suite calls it, the scenario named in MCP_CONFORMANCE_SCENARIO

It closes with one line, `done` or `failed: ` and the error, and exit status 0 or 1, so that what the suite keeps of
its output tells an error of the library's from a crash.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Dict

from mcp_ref import Client, McpError, accept

TIMEOUT = 60.0
"""Seconds for one call: the suite starts all of its scenarios at once."""

Run = Callable[[str, Dict[str, Any]], None]


def connect(url: str, **options: Any) -> Client:
    """A client of the era that the suite has set up."""
    legacy = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] < "2026-07-28"
    era: Dict[str, Any] = {"era": "legacy"} if legacy else {}
    return Client(url, name="mcp_ref-conformance", version="1.0.0", timeout=TIMEOUT,
                  on_elicit=lambda question: accept({}), **era, **options)


def lists(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        client.list_tools()


def calls(name: str, **arguments: Any) -> Run:
    """List the tools, then call one of them."""
    def run(url: str, context: Dict[str, Any]) -> None:
        with connect(url) as client:
            client.list_tools()
            client.call_tool(name, arguments)

    return run


def asks_for_the_state(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        for name in ("echo_state", "unrelated", "no_state", "no_result_type"):
            client.call_tool(f"test_mrtr_{name}")


def one_of_each(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        for tool in client.list_tools():
            client.call_tool(tool["name"], {})
        for resource in client.list_resources():
            client.read_resource(resource["uri"])
        for prompt in client.list_prompts():
            client.get_prompt(prompt["name"])


def calls_as_told(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        client.list_tools()
        for call in context["toolCalls"]:
            client.call_tool(call["name"], call["arguments"])


def calls_what_is_listed(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        for tool in client.list_tools():
            client.call_tool(tool["name"], {"region": "us-west1"})


def echoes_a_schema(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        schemas = {tool["name"]: tool["inputSchema"] for tool in client.list_tools()}
        client.call_tool("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


SCENARIOS: Dict[str, Run] = {
    "initialize": lists,
    "tools_call": calls("add_numbers", a=5, b=3),
    "elicitation-sep1034-client-defaults": calls("test_client_elicitation_defaults"),
    "sse-retry": calls("test_reconnection"),
    "request-metadata": lists,
    "sep-2322-client-request-state": asks_for_the_state,
    "http-standard-headers": one_of_each,
    "http-custom-headers": calls_as_told,
    "http-invalid-tool-headers": calls_what_is_listed,
    "json-schema-ref-no-deref": lists,
    "json-schema-2020-12-preservation": echoes_a_schema,
}


def main() -> int:
    """Run the scenario that the environment names; the exit status."""
    name = os.environ["MCP_CONFORMANCE_SCENARIO"]
    try:
        SCENARIOS[name](sys.argv[1], json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")))
    except McpError as error:
        print(f"failed: {type(error).__name__}: {error}")
        return 1
    print("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
