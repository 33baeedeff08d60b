"""mcp-use's client: `python mcp_use_client.py ERA TARGET` does what it can of the steps of steps.py."""

from __future__ import annotations

import asyncio
import os

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"  # before it is imported

from mcp import types  # noqa: E402
from mcp.shared.exceptions import McpError  # noqa: E402
from mcp_use import MCPClient  # noqa: E402
from pydantic import AnyUrl  # noqa: E402
from telling import ABOUT, ANSWERS, OVER_HTTP, TARGET, tell  # noqa: E402

action = "accept"


async def elicit(context, params):
    if isinstance(params, types.ElicitRequestURLParams):
        return types.ElicitResult(action="accept")
    if action != "accept":
        return types.ElicitResult(action=action)
    return types.ElicitResult(action="accept",
                              content={name: ANSWERS[name] for name in params.requestedSchema["properties"]})


async def sample(context, params):
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="Paris"),
                                     model="atlas")



def steps(session):
    async def result(name, **arguments):
        return await session.call_tool(name, arguments)

    async def call(name, **arguments):
        return (await result(name, **arguments)).content[0].text

    async def booked(wanted):
        global action
        action = wanted
        try:
            return await call("book", flight="MC 1")
        finally:
            action = "accept"

    async def list_tools():
        return sorted(tool.name for tool in await session.list_tools())

    async def structured():
        return (await result("add", a=2, b=3)).structuredContent

    async def tool_error():
        found = await result("fail")
        return [found.isError, found.content[0].text]

    async def bad_arguments():
        return (await result("add", a="two", b=3)).isError

    async def list_resources():
        return sorted(str(each.uri) for each in await session.list_resources())

    async def read(uri, member="text"):
        return getattr((await session.read_resource(AnyUrl(uri))).contents[0], member)

    async def list_prompts():
        return [[each.name, [[given.name, bool(given.required)] for given in each.arguments]]
                for each in await session.list_prompts()]

    async def get_prompt():
        return (await session.get_prompt("advice", {"plant": "fern"})).messages[0].content.text

    return {
        "list_tools": list_tools,
        "call": lambda: call("echo", text="hi, Zürich ☃"),
        "structured": structured,
        "tool_error": tool_error,
        "bad_arguments": bad_arguments,
        "unknown_tool": lambda: call("nothing"),
        "mirrored": lambda: call("route", region="Zürich", shard=-7, dry=True),
        "odd_name": lambda: call("grüße"),
        "elicit_accept": lambda: booked("accept"),
        "elicit_decline": lambda: booked("decline"),
        "elicit_cancel": lambda: booked("cancel"),
        "elicit_url": lambda: call("visit"),
        "three_in_a_round": lambda: call("consult"),
        "list_resources": list_resources,
        "read": lambda: read(ABOUT),
        "read_octets": lambda: read("peers://dot", "blob"),
        "read_template": lambda: read("peers://plants/fern"),
        "unknown_resource": lambda: read("peers://nothing"),
        "list_prompts": list_prompts,
        "get_prompt": get_prompt,
    }


async def main():
    how = {"url": TARGET[0]} if OVER_HTTP else {"command": TARGET[0], "args": TARGET[1:]}
    client = MCPClient({"mcpServers": {"peers": how}}, elicitation_callback=elicit, sampling_callback=sample,
                       roots=[types.Root(uri="file:///home/ada")])
    try:
        session = await client.create_session("peers")
        await tell(steps(session), lambda error: error.error.code if isinstance(error, McpError) else None)
    finally:
        await client.close_all_sessions()


if __name__ == "__main__":
    asyncio.run(main())
