"""The OpenAI Agents SDK: `python openai_agents_client.py ERA TARGET` does what it can of the steps of steps.py."""

from __future__ import annotations

import asyncio

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from mcp.shared.exceptions import MCPError
from telling import ABOUT, OVER_HTTP, TARGET, TIMEOUT, tell


def opened():
    if OVER_HTTP:
        return MCPServerStreamableHttp({"url": TARGET[0]}, client_session_timeout_seconds=TIMEOUT)
    return MCPServerStdio({"command": TARGET[0], "args": TARGET[1:]}, client_session_timeout_seconds=TIMEOUT)


async def pages(fetch, name):
    found, cursor = [], None
    while True:
        page = await fetch(cursor)
        found += getattr(page, name)
        cursor = page.next_cursor
        if cursor is None:
            return found


def steps(client):
    async def result(name, **arguments):
        return await client.call_tool(name, arguments)

    async def call(name, **arguments):
        return (await result(name, **arguments)).content[0].text

    async def connect():
        session = client.session
        return [session.protocol_version, session.server_info.name, session.instructions]

    async def list_tools():
        return sorted(tool.name for tool in await client.list_tools())

    async def structured():
        return (await result("add", a=2, b=3)).structured_content

    async def tool_error():
        found = await result("fail")
        return [found.is_error, found.content[0].text]

    async def bad_arguments():
        return (await result("add", a="two", b=3)).is_error

    async def read(uri, member="text"):
        return getattr((await client.read_resource(uri)).contents[0], member)

    async def list_prompts():
        return [[each.name, [[given.name, bool(given.required)] for given in each.arguments]]
                for each in (await client.list_prompts()).prompts]

    async def get_prompt():
        return (await client.get_prompt("advice", {"plant": "fern"})).messages[0].content.text

    async def listed(fetch, kind, name):
        return sorted(str(getattr(each, name)) for each in await pages(fetch, kind))

    return {
        "connect": connect,
        "list_tools": list_tools,
        "call": lambda: call("echo", text="hi, Zürich ☃"),
        "structured": structured,
        "tool_error": tool_error,
        "bad_arguments": bad_arguments,
        "unknown_tool": lambda: call("nothing"),
        "mirrored": lambda: call("route", region="Zürich", shard=-7, dry=True),
        "odd_name": lambda: call("grüße"),
        "list_resources": lambda: listed(client.list_resources, "resources", "uri"),
        "read": lambda: read(ABOUT),
        "read_octets": lambda: read("peers://dot", "blob"),
        "list_templates": lambda: listed(client.list_resource_templates, "resource_templates", "uri_template"),
        "read_template": lambda: read("peers://plants/fern"),
        "unknown_resource": lambda: read("peers://nothing"),
        "list_prompts": list_prompts,
        "get_prompt": get_prompt,
    }


async def main():
    async with opened() as client:
        await tell(steps(client), lambda error: error.error.code if isinstance(error, MCPError) else None)


if __name__ == "__main__":
    asyncio.run(main())
