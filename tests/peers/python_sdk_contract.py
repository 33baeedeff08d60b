"""The official Python SDK's server of the interoperability table: `python python_sdk_contract.py PORT`, or
`stdio` in place of a port.

Runs in the SDK's own virtual environment, never in mcp_ref's. Offers what server.py does, in the SDK's own ways.
"""

import asyncio
import contextlib
import sys
from typing import Annotated, TypedDict

import mcp_types as types
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from pydantic import Field

server = MCPServer("peers", version="1.0.0", log_level="ERROR",
                   instructions="One of each thing that two implementations must agree on.")
PLANTS = {"fern": "shade", "fig": "sun", "cactus": "sun"}
gone = asyncio.Event()


class Sum(TypedDict):
    sum: int


def form(message, name, **schema):
    return types.ElicitRequest(params=types.ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": {name: schema}, "required": [name]}))


@server.tool(structured_output=False)
async def echo(text: str) -> str:
    return text


@server.tool()
async def add(a: int, b: int) -> Sum:
    return {"sum": a + b}


@server.tool(structured_output=False)
async def fail() -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="out of order")], is_error=True)


@server.tool(structured_output=False)
async def route(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
                shard: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Shard"})] = 0,
                dry: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Dry-Run"})] = False) -> str:
    return f"region {region}, shard {shard}, {'dry' if dry else 'wet'}"


@server.tool(name="grüße", structured_output=False)
async def greetings() -> str:
    return "Grüße"


@server.tool(structured_output=False)
async def book(flight: str, ctx: Context) -> str | types.InputRequiredResult:
    answers = ctx.input_responses or {}
    if ctx.request_state != "agreed":
        if "agree" not in answers:
            return types.InputRequiredResult(input_requests={"agree": form(f"Book {flight}?", "agree", type="boolean")},
                                             request_state="asked")
        if answers["agree"].action != "accept":
            return f"not booked: {answers['agree'].action}"
    if "seat" not in answers:
        question = form("Which seat?", "seat", type="string", enum=["aisle", "window"])
        return types.InputRequiredResult(input_requests={"seat": question}, request_state="agreed")
    return f"{flight} booked, seat {answers['seat'].content['seat']}"


@server.tool(structured_output=False)
async def visit(ctx: Context) -> str | types.InputRequiredResult:
    answers = ctx.input_responses or {}
    if "page" not in answers:
        return types.InputRequiredResult(input_requests={"page": types.ElicitRequest(
            params=types.ElicitRequestURLParams(message="Sign in, please", url="https://example.com/sign-in"))})
    return answers["page"].action


@server.tool(structured_output=False)
async def consult(ctx: Context) -> str | types.InputRequiredResult:
    answers = ctx.input_responses or {}
    if len(answers) < 3:
        asked = types.SamplingMessage(role="user", content=types.TextContent(text="What is the capital of France?"))
        return types.InputRequiredResult(input_requests={
            "capital": types.CreateMessageRequest(
                params=types.CreateMessageRequestParams(messages=[asked], max_tokens=100)),
            "roots": types.ListRootsRequest(),
            "name": form("Your name?", "name", type="string"),
        })
    return f"{answers['name'].content['name']}: {answers['capital'].content.text}, {answers['roots'].roots[0].uri}"


@server.tool(structured_output=False)
async def count(ctx: Context) -> str:
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3, f"{step} of 3")
    return "counted"


@server.tool(structured_output=False)
async def chat(ctx: Context) -> str:
    await ctx.log("debug", "not for everybody")
    await ctx.log("info", "begun")
    await ctx.log("warning", {"left": 1}, logger_name="chatter")
    return "logged"


@server.tool(structured_output=False)
async def wait(ctx: Context) -> str:
    gone.clear()
    await ctx.report_progress(1)
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        gone.set()
        raise
    return "nobody left"


@server.tool(structured_output=False)
async def waited() -> str:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(gone.wait(), 10)
    return "cancelled" if gone.is_set() else "not cancelled"


@server.tool(structured_output=False)
async def grow(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    return "grown"


@server.tool(structured_output=False)
async def water(ctx: Context) -> str:
    await ctx.notify_resource_updated("peers://about")
    return "watered"


@server.resource("peers://about", name="about", mime_type="text/plain")
def about() -> str:
    return "About, in Zürich"


@server.resource("peers://dot", name="dot", mime_type="application/octet-stream")
def dot() -> bytes:
    return bytes(range(256))


@server.resource("peers://plants/{name}", name="plant", mime_type="text/plain")
def plant(name: str) -> str:
    if name not in PLANTS:
        raise ResourceNotFoundError(name)
    return PLANTS[name]


@server.prompt()
def advice(plant: str, season: str = "spring") -> str:
    return f"How do I look after a {plant} in {season}?"


@server.completion()
async def plants(ref, argument, context):
    return types.Completion(values=[name for name in PLANTS if name.startswith(argument.value)])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        sys.exit(server.run("stdio"))
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error",
                access_log=False, timeout_graceful_shutdown=1)
