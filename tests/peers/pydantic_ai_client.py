"""Pydantic AI's toolset: `python pydantic_ai_client.py ERA TARGET` does what it can of the steps of steps.py."""

from __future__ import annotations

import asyncio

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.mcp import MCPError, MCPToolset
from telling import ABOUT, ANSWERS, MODERN, OVER_HTTP, TARGET, tell

action = "accept"


async def elicit(message, response_type, params, context):
    if getattr(params, "mode", "form") == "url":
        return ElicitResult(action="accept")
    if action != "accept":
        return ElicitResult(action=action)
    return {name: ANSWERS[name] for name in params.requested_schema["properties"]}


def opened():
    """The toolset as it comes, which finds out about the era; or over a client that is told it."""
    target = TARGET[0] if OVER_HTTP else StdioTransport(TARGET[0], TARGET[1:])
    if MODERN:
        return MCPToolset(target, elicitation_handler=elicit)
    return MCPToolset(Client(target, mode="legacy", elicitation_handler=elicit))


def steps(client):
    async def call(name, **arguments):
        return await client.direct_call_tool(name, arguments)

    async def booked(wanted):
        global action
        action = wanted
        try:
            return await call("book", flight="MC 1")
        finally:
            action = "accept"

    async def connect():
        info = client.server_info
        return [client.client.protocol_version, info.name, client.instructions]

    async def retried(name, **arguments):
        try:
            return await call(name, **arguments)
        except ModelRetry as error:
            return error.message

    async def octets():
        return (await client.read_resource("peers://dot")).base64

    async def list_prompts():
        return [[each.name, [[given.name, bool(given.required)] for given in each.arguments]]
                for each in await client.list_prompts()]

    async def get_prompt():
        return (await client.get_prompt("advice", {"plant": "fern"})).messages[0].content.content

    async def listed(fetch, name):
        return sorted(str(getattr(each, name)) for each in await fetch())

    async def tool_error():
        return [True, await retried("fail")]

    async def bad_arguments():
        return "a" in await retried("add", a="two", b=3)

    return {
        "connect": connect,
        "list_tools": lambda: listed(client.list_tools, "name"),
        "call": lambda: call("echo", text="hi, Zürich ☃"),
        "structured": lambda: call("add", a=2, b=3),
        "tool_error": tool_error,
        "bad_arguments": bad_arguments,
        "mirrored": lambda: call("route", region="Zürich", shard=-7, dry=True),
        "odd_name": lambda: call("grüße"),
        "elicit_accept": lambda: booked("accept"),
        "elicit_decline": lambda: booked("decline"),
        "elicit_cancel": lambda: booked("cancel"),
        "elicit_url": lambda: call("visit"),
        "list_resources": lambda: listed(client.list_resources, "uri"),
        "read": lambda: client.read_resource(ABOUT),
        "read_octets": octets,
        "list_templates": lambda: listed(client.list_resource_templates, "uri_template"),
        "read_template": lambda: client.read_resource("peers://plants/fern"),
        "unknown_resource": lambda: client.read_resource("peers://nothing"),
        "list_prompts": list_prompts,
        "get_prompt": get_prompt,
    }


async def main():
    async with opened() as client:
        await tell(steps(client), lambda error: error.code if isinstance(error, MCPError) else None)


if __name__ == "__main__":
    asyncio.run(main())
