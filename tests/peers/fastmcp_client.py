"""FastMCP's client, of version 4 and of version 2: `python fastmcp_client.py ERA TARGET` does the steps of steps.py.

Runs in FastMCP's own virtual environment, never in mcp_ref's. Version 2 knows no 2026-07-28, no pages and no
subscriptions.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib.metadata import version

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from telling import ABOUT, ANSWERS, MODERN, OVER_HTTP, TARGET, TIMEOUT, tell

FOUR = version("fastmcp").startswith("4")
if FOUR:
    import mcp_types as types
    from mcp.shared.exceptions import MCPError as Failure
else:
    import mcp.types as types
    from mcp.shared.exceptions import McpError as Failure

action = "accept"
logs = []
news = asyncio.Queue()


def field(thing, name):
    """A member of a message, whose names are those of the wire in version 2."""
    first, *rest = name.split("_")
    return getattr(thing, name if FOUR else first + "".join(word.capitalize() for word in rest))


async def elicit(message, response_type, params, context):
    if getattr(params, "mode", "form") == "url":
        return ElicitResult(action="accept")
    if action != "accept":
        return ElicitResult(action=action)
    return {name: ANSWERS[name] for name in field(params, "requested_schema")["properties"]}


async def sample(messages, params, context):
    return "Paris"


async def on_log(message):
    if message.level != "debug":  # for which version 4 asks, and has no other way
        logs.append([message.level, message.logger, message.data])


async def on_message(message):
    news.put_nowait(getattr(message, "root", message))


def opened(**options):
    target = TARGET[0] if OVER_HTTP else StdioTransport(TARGET[0], TARGET[1:])
    if FOUR:
        options["mode"] = "auto" if MODERN else "legacy"
    return Client(target, timeout=TIMEOUT, **options)


def steps(client):
    async def call(name, arguments=None, **options):
        return (await client.call_tool(name, arguments or {}, **options)).content[0].text

    async def booked(wanted):
        global action
        action = wanted
        try:
            return await call("book", {"flight": "MC 1"})
        finally:
            action = "accept"

    async def connect():
        found = client.initialize_result
        if found is None:
            return [client.protocol_version, client.server_info.name, client.instructions]
        return [field(found, "protocol_version"), field(found, "server_info").name, found.instructions]

    async def structured():
        return (await client.call_tool("add", {"a": 2, "b": 3})).structured_content

    async def tool_error():
        try:
            return await call("fail")
        except ToolError as error:
            return [True, str(error)]

    async def bad_arguments():
        return field(await client.call_tool_mcp("add", {"a": "two", "b": 3}), "is_error")

    async def undeclared():
        async with opened() as other:
            return field(await other.call_tool_mcp("visit", {}), "is_error")

    async def progress():
        heard = []

        async def on_progress(progress, total, message):
            heard.append([progress, total, message])

        return [await call("count", progress_handler=on_progress), heard]

    async def log_messages():
        if not MODERN:
            await client.set_logging_level("info")
        logs.clear()
        return [await call("chat"), logs]

    async def cancel():
        started = asyncio.Event()

        async def on_progress(progress, total, message):
            started.set()

        waiting = asyncio.create_task(call("wait", progress_handler=on_progress))
        await started.wait()
        if not FOUR:  # which tells the server when a task ends
            await client.cancel(client.session._request_id - 1)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        return await call("waited")

    async def list_prompts():
        return [[each.name, [[given.name, bool(given.required)] for given in each.arguments]]
                for each in await client.list_prompts()]

    async def read(uri, member="text"):
        return getattr((await client.read_resource(uri))[0], member)

    async def complete(ref, name):
        return (await client.complete(ref, {"name": name, "value": "f"})).values

    async def listen():
        await client.session.subscribe_resource(ABOUT)
        await call("grow")
        while not isinstance(await news.get(), types.ToolListChangedNotification):
            pass
        await call("water")
        while True:
            event = await news.get()
            if isinstance(event, types.ResourceUpdatedNotification):
                return [True, str(event.params.uri)]

    async def listed(fetch, name):
        return sorted(str(field(each, name)) for each in await fetch())

    found = {
        "connect": connect,
        "mirrored_unlisted": lambda: call("route", {"region": "Zürich"}),
        "list_tools": lambda: listed(client.list_tools, "name"),
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
        "list_resources": lambda: listed(client.list_resources, "uri"),
        "read": lambda: read(ABOUT),
        "read_octets": lambda: read("peers://dot", "blob"),
        "list_templates": lambda: listed(client.list_resource_templates, "uri_template"),
        "read_template": lambda: read("peers://plants/fern"),
        "unknown_resource": lambda: read("peers://nothing"),
        "list_prompts": list_prompts,
        "get_prompt": lambda: prompt(client),
        "complete_prompt": lambda: complete(types.PromptReference(type="ref/prompt", name="advice"), "plant"),
        "complete_template": lambda: complete(
            types.ResourceTemplateReference(type="ref/resource", uri="peers://plants/{name}"), "name"),
    }
    if not MODERN:
        found["listen"] = listen
    return found


async def prompt(client):
    return (await client.get_prompt("advice", {"plant": "fern"})).messages[0].content.text


async def main():
    async with opened(elicitation_handler=elicit, sampling_handler=sample, roots=["file:///home/ada"],
                      log_handler=on_log, message_handler=on_message) as client:
        await tell(steps(client), lambda error: error.error.code if isinstance(error, Failure) else None)


if __name__ == "__main__":
    asyncio.run(main())
