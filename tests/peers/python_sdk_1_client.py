"""The Python SDK 1.x's client, which begins with initialize: `python python_sdk_1_client.py URL` does the steps of
steps.LEGACY against that server.

Runs in a virtual environment of that SDK. Prints a line of JSON for each step: its name, and what it got or the error
it ended with.
"""

from __future__ import annotations

import asyncio
import json
import sys

from mcp import ClientSession, types
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.exceptions import McpError
from pydantic import AnyUrl

ANSWERS = {"agree": True, "seat": "aisle", "name": "Ada"}
action = "accept"
logs, told = [], asyncio.Queue()


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
    if isinstance(message, types.ServerNotification):
        await told.put(message.root)


async def steps(client, initialized, url):
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
        return [initialized.protocolVersion, initialized.serverInfo.name, initialized.instructions]

    async def list_tools():
        found, cursor = [], None
        while True:
            page = await client.list_tools(cursor)
            found += [tool.name for tool in page.tools]
            cursor = page.nextCursor
            if cursor is None:
                return sorted(found)

    async def structured():
        return (await client.call_tool("add", {"a": 2, "b": 3})).structuredContent

    async def tool_error():
        result = await client.call_tool("fail")
        return [result.isError, result.content[0].text]

    async def bad_arguments():
        return (await client.call_tool("add", {"a": "two", "b": 3})).isError

    async def undeclared():
        async with (streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as other):
            await other.initialize()
            return (await other.call_tool("visit")).isError

    async def progress():
        heard = []

        async def on_progress(progress, total, message):
            heard.append([progress, total, message])

        return [await call("count", progress_callback=on_progress), heard]

    async def log_messages():
        await client.set_logging_level("info")
        logs.clear()
        return [await call("chat"), list(logs)]

    async def cancel():
        started = asyncio.Event()

        async def on_progress(progress, total, message):
            started.set()

        id = client._request_id
        waiting = asyncio.create_task(call("wait", progress_callback=on_progress))
        await started.wait()
        waiting.cancel()
        await client.send_notification(types.ClientNotification(types.CancelledNotification(
            params=types.CancelledNotificationParams(requestId=id))))
        return await call("waited")

    async def list_resources():
        return sorted(str(each.uri) for each in (await client.list_resources()).resources)

    async def read():
        return (await client.read_resource(AnyUrl("peers://about"))).contents[0].text

    async def read_octets():
        return (await client.read_resource(AnyUrl("peers://dot"))).contents[0].blob

    async def list_templates():
        return [each.uriTemplate for each in (await client.list_resource_templates()).resourceTemplates]

    async def read_template():
        return (await client.read_resource(AnyUrl("peers://plants/fern"))).contents[0].text

    async def unknown_resource():
        return (await client.read_resource(AnyUrl("peers://nothing"))).contents

    async def list_prompts():
        return [[each.name, [[given.name, bool(given.required)] for given in each.arguments]]
                for each in (await client.list_prompts()).prompts]

    async def get_prompt():
        return (await client.get_prompt("advice", {"plant": "fern"})).messages[0].content.text

    async def complete_prompt():
        ref = types.PromptReference(type="ref/prompt", name="advice")
        return (await client.complete(ref, {"name": "plant", "value": "f"})).completion.values

    async def complete_template():
        ref = types.ResourceTemplateReference(type="ref/resource", uri="peers://plants/{name}")
        return (await client.complete(ref, {"name": "name", "value": "f"})).completion.values

    async def listen():
        await client.subscribe_resource(AnyUrl("peers://about"))
        await call("grow")
        first = await wanted(types.ToolListChangedNotification)
        await call("water")
        return [first is not None, str((await wanted(types.ResourceUpdatedNotification)).params.uri)]

    async def wanted(kind):
        while True:
            found = await told.get()
            if isinstance(found, kind):
                return found

    return {
        "connect": connect, "list_tools": list_tools, "call": lambda: call("echo", {"text": "hi, Zürich ☃"}),
        "structured": structured, "tool_error": tool_error, "bad_arguments": bad_arguments,
        "unknown_tool": lambda: call("nothing"),
        "mirrored": lambda: call("route", {"region": "Zürich", "shard": -7, "dry": True}),
        "odd_name": lambda: call("grüße"), "elicit_accept": lambda: booked("accept"),
        "elicit_decline": lambda: booked("decline"), "elicit_cancel": lambda: booked("cancel"),
        "elicit_url": lambda: call("visit"), "three_in_a_round": lambda: call("consult"), "undeclared": undeclared,
        "progress": progress, "log_messages": log_messages, "cancel": cancel, "list_resources": list_resources,
        "read": read, "read_octets": read_octets, "list_templates": list_templates, "read_template": read_template,
        "unknown_resource": unknown_resource, "list_prompts": list_prompts, "get_prompt": get_prompt,
        "complete_prompt": complete_prompt, "complete_template": complete_template, "listen": listen,
    }


async def main(url):
    async with (streamablehttp_client(url) as (read, write, _),
                ClientSession(read, write, sampling_callback=sample, list_roots_callback=list_roots,
                              elicitation_callback=elicit, logging_callback=on_log,
                              message_handler=on_message) as client):
        initialized = await client.initialize()
        for name, step in (await steps(client, initialized, url)).items():
            try:
                said = {"step": name, "got": await asyncio.wait_for(step(), 20)}
            except McpError as error:
                said = {"step": name, "error": error.error.code}
            except Exception as error:
                said = {"step": name, "error": f"{type(error).__name__}: {error}"}
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
