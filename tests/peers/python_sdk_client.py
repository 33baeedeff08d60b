"""The official Python SDK's client: `python python_sdk_client.py ERA TARGET` does the steps of steps.py against it.

Runs in the SDK's own virtual environment, never in mcp_ref's.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from telling import ABOUT, ANSWERS, MODERN, OVER_HTTP, TARGET, TIMEOUT, listening, tell

action = "accept"
logs = []
news = asyncio.Queue()


async def elicit(context, params):
    if isinstance(params, types.ElicitRequestURLParams):
        return types.ElicitResult(action="accept")
    if action != "accept":
        return types.ElicitResult(action=action)
    return types.ElicitResult(action="accept",
                              content={name: ANSWERS[name] for name in params.requested_schema["properties"]})


async def sample(context, params):
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="Paris"),
                                     model="atlas")


async def list_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada")])


async def on_log(params):
    logs.append([params.level, params.logger, params.data])


async def on_message(message):
    if isinstance(message, (types.ToolListChangedNotification, types.ResourceUpdatedNotification)):
        news.put_nowait(message)


def opened(**options):
    """A client of the target."""
    server = TARGET[0] if OVER_HTTP else StdioServerParameters(command=TARGET[0], args=TARGET[1:])
    return Client(server, mode="auto" if MODERN else "legacy", read_timeout_seconds=TIMEOUT, **options)


async def pages(fetch, name):
    found, cursor, number = [], None, 0
    while True:
        page = await fetch(cursor=cursor)
        found += getattr(page, name)
        cursor, number = page.next_cursor, number + 1
        if cursor is None:
            return found, number


def steps(client):
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
        return [client.protocol_version, client.server_info.name, client.instructions]

    async def list_tools():
        return sorted(tool.name for tool in (await pages(client.list_tools, "tools"))[0])

    async def structured():
        return (await client.call_tool("add", {"a": 2, "b": 3})).structured_content

    async def tool_error():
        result = await client.call_tool("fail")
        return [result.is_error, result.content[0].text]

    async def bad_arguments():
        return (await client.call_tool("add", {"a": "two", "b": 3})).is_error

    async def undeclared():
        async with opened() as other:
            try:
                return (await other.call_tool("visit")).is_error
            except MCPError as error:
                refused = error
        raise refused  # out here, since the client makes an ExceptionGroup of what passes through it

    async def progress():
        heard = []

        async def on_progress(progress, total, message):
            heard.append([progress, total, message])

        return [await call("count", progress_callback=on_progress), heard]

    async def log_messages():
        if not MODERN:
            await client.set_logging_level("info")
        logs.clear()
        return [await call("chat"), logs]

    async def cancel():
        started = asyncio.Event()

        async def on_progress(progress, total, message):
            started.set()

        waiting = asyncio.create_task(call("wait", progress_callback=on_progress))
        await started.wait()
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        return await call("waited")

    async def list_resources():
        return sorted(each.uri for each in (await pages(client.list_resources, "resources"))[0])

    async def read():
        return (await client.read_resource(ABOUT)).contents[0].text

    async def read_octets():
        return (await client.read_resource("peers://dot")).contents[0].blob

    async def list_templates():
        found, _ = await pages(client.list_resource_templates, "resource_templates")
        return [each.uri_template for each in found]

    async def read_template():
        return (await client.read_resource("peers://plants/fern")).contents[0].text

    async def unknown_resource():
        return (await client.read_resource("peers://nothing")).contents

    async def list_prompts():
        found, _ = await pages(client.list_prompts, "prompts")
        return [[each.name, [[given.name, bool(given.required)] for given in each.arguments]] for each in found]

    async def get_prompt():
        return (await client.get_prompt("advice", {"plant": "fern"})).messages[0].content.text

    async def complete_prompt():
        ref = types.PromptReference(type="ref/prompt", name="advice")
        return (await client.complete(ref, {"name": "plant", "value": "f"})).completion.values

    async def complete_template():
        ref = types.ResourceTemplateReference(type="ref/resource", uri="peers://plants/{name}")
        return (await client.complete(ref, {"name": "name", "value": "f"})).completion.values

    async def listen():
        async with client.listen(tools_list_changed=True, resource_subscriptions=[ABOUT]) as subscription:
            await call("grow")
            first = type(await subscription.__anext__()).__name__
            await call("water")
            while True:
                event = await subscription.__anext__()
                if getattr(event, "uri", None) is not None:
                    return [first == "ToolsListChanged", event.uri]

    async def listen_before():
        await client.subscribe_resource(ABOUT)
        await call("grow")
        first = await news.get()
        await call("water")
        while True:
            event = await news.get()
            if isinstance(event, types.ResourceUpdatedNotification):
                return [isinstance(first, types.ToolListChangedNotification), event.params.uri]

    async def end_of_stream():
        async with client.listen(tools_list_changed=True) as subscription:
            listening()
            async for _ in subscription:
                pass
        return "graceful"

    found = {
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
        "list_resources": list_resources,
        "read": read,
        "read_octets": read_octets,
        "list_templates": list_templates,
        "read_template": read_template,
        "unknown_resource": unknown_resource,
        "list_prompts": list_prompts,
        "get_prompt": get_prompt,
        "complete_prompt": complete_prompt,
        "complete_template": complete_template,
        "listen": listen if MODERN else listen_before,
    }
    if MODERN and OVER_HTTP:
        found["end_of_stream"] = end_of_stream
    return found


async def main():
    async with opened(sampling_callback=sample, list_roots_callback=list_roots, elicitation_callback=elicit,
                      logging_callback=on_log, message_handler=on_message, log_level="info") as client:
        await tell(steps(client), lambda error: error.error.code if isinstance(error, MCPError) else None)


if __name__ == "__main__":
    asyncio.run(main())
