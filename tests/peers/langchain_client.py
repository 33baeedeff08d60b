"""LangChain's adapters: `python langchain_client.py ERA TARGET` does what they can of the steps of steps.py."""

from __future__ import annotations

import asyncio
import base64

from langchain_core.tools import ToolException
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.shared.exceptions import McpError
from mcp.types import ElicitRequestURLParams, ElicitResult
from telling import ABOUT, ANSWERS, OVER_HTTP, TARGET, tell

action = "accept"
heard = []
logs = []


async def elicit(context, params, callback):
    if isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action="accept")
    if action != "accept":
        return ElicitResult(action=action)
    return ElicitResult(action="accept", content={name: ANSWERS[name] for name in params.requestedSchema["properties"]})


async def on_progress(progress, total, message, context):
    heard.append([progress, total, message])


async def on_log(params, context):
    logs.append([params.level, params.logger, params.data])


def opened():
    how = {"transport": "streamable_http", "url": TARGET[0]} if OVER_HTTP else \
        {"transport": "stdio", "command": TARGET[0], "args": TARGET[1:]}
    return MultiServerMCPClient({"peers": how}, callbacks=Callbacks(
        on_progress=on_progress, on_logging_message=on_log, on_elicitation=elicit))


async def steps(client):
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name, **arguments):
        message = await tools[name].ainvoke({"name": name, "args": arguments, "id": "1", "type": "tool_call"})
        return message.content if isinstance(message.content, str) else message.content[0]["text"]

    async def booked(wanted):
        global action
        action = wanted
        try:
            return await call("book", flight="MC 1")
        finally:
            action = "accept"

    async def connect():
        found = (await client.get_server_info())["peers"]
        return [found.protocolVersion, found.serverInfo.name, found.instructions]

    async def list_tools():
        return sorted(tools)

    async def structured():
        found = await tools["add"].ainvoke({"name": "add", "args": {"a": 2, "b": 3}, "id": "1", "type": "tool_call"})
        return found.artifact["structured_content"]

    async def tool_error():
        try:
            return [True, await call("fail")]
        except ToolException as error:
            return [True, str(error)]

    async def progress():
        heard.clear()
        return [await call("count"), heard]

    async def list_resources():
        return sorted(str(each.metadata["uri"]) for each in await client.get_resources("peers"))

    async def read(uri):
        (found,) = await client.get_resources("peers", uris=[uri])
        return found.as_string() if isinstance(found.data, str) else base64.b64encode(found.data).decode()

    async def get_prompt():
        return (await client.get_prompt("peers", "advice", arguments={"plant": "fern"}))[0].content

    return {
        "connect": connect,
        "list_tools": list_tools,
        "call": lambda: call("echo", text="hi, Zürich ☃"),
        "structured": structured,
        "tool_error": tool_error,
        "mirrored": lambda: call("route", region="Zürich", shard=-7, dry=True),
        "odd_name": lambda: call("grüße"),
        "elicit_accept": lambda: booked("accept"),
        "elicit_decline": lambda: booked("decline"),
        "elicit_cancel": lambda: booked("cancel"),
        "elicit_url": lambda: call("visit"),
        "progress": progress,
        "list_resources": list_resources,
        "read": lambda: read(ABOUT),
        "read_octets": lambda: read("peers://dot"),
        "read_template": lambda: read("peers://plants/fern"),
        "get_prompt": get_prompt,
    }


async def main():
    await tell(await steps(opened()), lambda error: error.error.code if isinstance(error, McpError) else None)


if __name__ == "__main__":
    asyncio.run(main())
