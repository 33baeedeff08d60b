"""The client of the Python SDK's version 1: `python python_sdk_1_client.py ERA TARGET` does the steps of steps.py.

Runs in the SDK's own virtual environment, never in mcp_ref's.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError
from pydantic import AnyUrl
from telling import ABOUT, ANSWERS, OVER_HTTP, TARGET, tell

action = "accept"
logs = []
news = asyncio.Queue()


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


async def list_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada")])


async def on_log(params):
    logs.append([params.level, params.logger, params.data])


async def on_message(message):
    news.put_nowait(getattr(message, "root", None))


@asynccontextmanager
async def opened(**options):
    """A session with the target, and what it was told at initialize."""
    made = streamable_http_client(TARGET[0]) if OVER_HTTP else stdio_client(
        StdioServerParameters(command=TARGET[0], args=TARGET[1:]))
    async with made as (read, write, *_), ClientSession(read, write, **options) as session:
        yield session, await session.initialize()


async def pages(fetch, name):
    found, cursor = [], None
    while True:
        page = await fetch(params=types.PaginatedRequestParams(cursor=cursor))
        found += getattr(page, name)
        cursor = page.nextCursor
        if cursor is None:
            return found


def steps(client, begun):
    """The steps: name to a coroutine function that returns what the step got."""

    async def call(name, arguments=None, **options):
        return (await client.call_tool(name, arguments, **options)).content[0].text

    async def booked(wanted):
        global action
        action = wanted
        try:
            return await call("book", {"flight": "MC 1"})
        finally:
            action = "accept"

    async def connect():
        return [begun.protocolVersion, begun.serverInfo.name, begun.instructions]

    async def list_tools():
        return sorted(tool.name for tool in await pages(client.list_tools, "tools"))

    async def structured():
        return (await client.call_tool("add", {"a": 2, "b": 3})).structuredContent

    async def tool_error():
        result = await client.call_tool("fail")
        return [result.isError, result.content[0].text]

    async def bad_arguments():
        return (await client.call_tool("add", {"a": "two", "b": 3})).isError

    async def undeclared():
        async with opened() as (other, _):
            return (await other.call_tool("visit")).isError

    async def progress():
        heard = []

        async def on_progress(progress, total, message):
            heard.append([progress, total, message])

        return [await call("count", progress_callback=on_progress), heard]

    async def log_messages():
        await client.set_logging_level("info")
        logs.clear()
        return [await call("chat"), logs]

    async def cancel():
        """The id of a request is told to nobody, so it is read where the next one stands."""
        started = asyncio.Event()

        async def on_progress(progress, total, message):
            started.set()

        waiting = asyncio.create_task(call("wait", progress_callback=on_progress))
        await started.wait()
        await client.send_notification(types.ClientNotification(types.CancelledNotification(
            params=types.CancelledNotificationParams(requestId=client._request_id - 1))))
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        return await call("waited")

    async def read(uri, member="text"):
        return getattr((await client.read_resource(AnyUrl(uri))).contents[0], member)

    async def list_prompts():
        return [[each.name, [[given.name, bool(given.required)] for given in each.arguments]]
                for each in await pages(client.list_prompts, "prompts")]

    async def get_prompt():
        return (await client.get_prompt("advice", {"plant": "fern"})).messages[0].content.text

    async def complete(ref, name):
        return (await client.complete(ref, {"name": name, "value": "f"})).completion.values

    async def listen():
        await client.subscribe_resource(AnyUrl(ABOUT))
        await call("grow")
        while not isinstance(await news.get(), types.ToolListChangedNotification):
            pass
        await call("water")
        while True:
            event = await news.get()
            if isinstance(event, types.ResourceUpdatedNotification):
                return [True, str(event.params.uri)]

    async def listed(fetch, kind, name):
        return sorted(str(getattr(each, name)) for each in await pages(fetch, kind))

    return {
        "connect": connect,
        "mirrored_unlisted": lambda: call("route", {"region": "Zürich"}),
        "list_tools": list_tools,
        "call": lambda: call("echo", {"text": "hi, Zürich ☃"}),
        "structured": structured,
        "tool_error": tool_error,
        "bad_arguments": bad_arguments,
        "unknown_tool": lambda: call("nothing"),
        "mirrored": lambda: call("route", {"region": "Zürich", "shard": -7, "dry": True}),
        "mirrored_like_encoded": lambda: call("route", {"region": "=?base64?eA==?="}),
        "odd_name": lambda: call("grüße"),
        "elicit_accept": lambda: booked("accept"),
        "elicit_decline": lambda: booked("decline"),
        "elicit_cancel": lambda: booked("cancel"),
        "elicit_url": lambda: call("visit"),
        "three_in_a_round": lambda: call("consult"),
        "undeclared": undeclared,
        "progress": progress,
        "log_messages": log_messages,
        "cancel": cancel,
        "list_resources": lambda: listed(client.list_resources, "resources", "uri"),
        "read": lambda: read(ABOUT),
        "read_octets": lambda: read("peers://dot", "blob"),
        "list_templates": lambda: listed(client.list_resource_templates, "resourceTemplates", "uriTemplate"),
        "read_template": lambda: read("peers://plants/fern"),
        "unknown_resource": lambda: read("peers://nothing"),
        "list_prompts": list_prompts,
        "get_prompt": get_prompt,
        "complete_prompt": lambda: complete(types.PromptReference(type="ref/prompt", name="advice"), "plant"),
        "complete_template": lambda: complete(
            types.ResourceTemplateReference(type="ref/resource", uri="peers://plants/{name}"), "name"),
        "listen": listen,
    }


async def main():
    async with opened(sampling_callback=sample, list_roots_callback=list_roots, elicitation_callback=elicit,
                      logging_callback=on_log, message_handler=on_message) as (client, begun):
        await tell(steps(client, begun), lambda error: error.error.code if isinstance(error, McpError) else None)


if __name__ == "__main__":
    asyncio.run(main())
