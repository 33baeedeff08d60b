"""LlamaIndex's MCP client: `python llama_index_client.py ERA TARGET` does what it can of the steps of steps.py.

It begins a session for each call.
"""

from __future__ import annotations

import asyncio

from llama_index.tools.mcp import BasicMCPClient
from mcp.shared.exceptions import MCPError
from telling import ABOUT, TARGET, tell


def steps(client):
    async def call(name, arguments=None, **options):
        return (await client.call_tool(name, arguments, **options)).content[0].text

    async def connect():
        async with client._run_session() as session:
            return [session.protocol_version, session.server_info.name, session.instructions]

    async def structured():
        return (await client.call_tool("add", {"a": 2, "b": 3})).structured_content

    async def tool_error():
        found = await client.call_tool("fail")
        return [found.is_error, found.content[0].text]

    async def bad_arguments():
        return (await client.call_tool("add", {"a": "two", "b": 3})).is_error

    async def progress():
        heard = []

        async def on_progress(progress, total, message):
            heard.append([progress, total, message])

        return [await call("count", progress_callback=on_progress), heard]

    async def read(uri, member="text"):
        return getattr((await client.read_resource(uri)).contents[0], member)

    async def list_tools():
        return sorted(tool.name for tool in (await client.list_tools()).tools)

    async def list_resources():
        return sorted(str(each.uri) for each in (await client.list_resources()).resources)

    async def list_prompts():
        return [[each.name, [[given.name, bool(given.required)] for given in each.arguments]]
                for each in (await client.list_prompts()).prompts]

    async def get_prompt():
        return (await client.get_prompt("advice", {"plant": "fern"}))[0].content

    return {
        "connect": connect,
        "list_tools": list_tools,
        "call": lambda: call("echo", {"text": "hi, Zürich ☃"}),
        "structured": structured,
        "tool_error": tool_error,
        "bad_arguments": bad_arguments,
        "unknown_tool": lambda: call("nothing"),
        "mirrored": lambda: call("route", {"region": "Zürich", "shard": -7, "dry": True}),
        "odd_name": lambda: call("grüße"),
        "progress": progress,
        "list_resources": list_resources,
        "read": lambda: read(ABOUT),
        "read_octets": lambda: read("peers://dot", "blob"),
        "read_template": lambda: read("peers://plants/fern"),
        "unknown_resource": lambda: read("peers://nothing"),
        "list_prompts": list_prompts,
        "get_prompt": get_prompt,
    }


def code(error):
    while hasattr(error, "exceptions"):  # a group of them
        error = error.exceptions[0]
    return error.error.code if isinstance(error, MCPError) else None


async def main():
    client = BasicMCPClient(TARGET[0], args=TARGET[1:])
    await tell(steps(client), code)


if __name__ == "__main__":
    asyncio.run(main())
