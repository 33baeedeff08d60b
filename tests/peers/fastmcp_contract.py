"""FastMCP 4's server of the interoperability table: `python fastmcp_contract.py PORT`, or `stdio` in place of a port.

Runs in FastMCP's own virtual environment, never in mcp_ref's. Offers what server.py does but for subscriptions, in
FastMCP's own ways.
"""

import asyncio
import contextlib
import sys
from typing import Annotated

import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import NotFoundError, ToolError
from pydantic import Field
from typing_extensions import TypedDict

server = FastMCP("peers", version="1.0.0", instructions="One of each thing that two implementations must agree on.")
PLANTS = {"fern": "shade", "fig": "sun", "cactus": "sun"}
gone = asyncio.Event()


class Sum(TypedDict):
    sum: int


def form(message, name, **schema):
    return types.ElicitRequest(params=types.ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": {name: schema}, "required": [name]}))


@server.tool(output_schema=None)
async def echo(text: str) -> str:
    return text


@server.tool()
async def add(a: int, b: int) -> Sum:
    return {"sum": a + b}


@server.tool(output_schema=None)
async def fail() -> str:
    raise ToolError("out of order")


@server.tool(output_schema=None)
async def route(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
                shard: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Shard"})] = 0,
                dry: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Dry-Run"})] = False) -> str:
    return f"region {region}, shard {shard}, {'dry' if dry else 'wet'}"


@server.tool(name="grüße", output_schema=None)
async def greetings() -> str:
    return "Grüße"


@server.tool(output_schema=None)
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


@server.tool(output_schema=None)
async def visit(ctx: Context) -> str | types.InputRequiredResult:
    answers = ctx.input_responses or {}
    if "page" not in answers:
        return types.InputRequiredResult(input_requests={"page": types.ElicitRequest(
            params=types.ElicitRequestURLParams(message="Sign in, please", url="https://example.com/sign-in"))})
    return answers["page"].action


@server.tool(output_schema=None)
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


@server.tool(output_schema=None)
async def count(ctx: Context) -> str:
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3, f"{step} of 3")
    return "counted"


@server.tool(output_schema=None)
async def chat(ctx: Context) -> str:
    await ctx.log("not for everybody", "debug")
    await ctx.log("begun", "info")
    await ctx.log("1 left", "warning", logger_name="chatter")
    return "logged"


@server.tool(output_schema=None)
async def wait(ctx: Context) -> str:
    gone.clear()
    await ctx.report_progress(1)
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        gone.set()
        raise
    return "nobody left"


@server.tool(output_schema=None)
async def waited() -> str:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(gone.wait(), 10)
    return "cancelled" if gone.is_set() else "not cancelled"


@server.tool(output_schema=None)
async def grow(ctx: Context) -> str:
    await ctx.send_notification(types.ToolListChangedNotification())
    return "grown"


@server.tool(output_schema=None)
async def water() -> str:
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
        raise NotFoundError(name)
    return PLANTS[name]


@server.prompt()
def advice(plant: str, season: str = "spring") -> str:
    return f"How do I look after a {plant} in {season}?"


@server.completion()
async def plants(ref, argument, context):
    return types.Completion(values=[name for name in PLANTS if name.startswith(argument.value)])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        sys.exit(server.run("stdio", show_banner=False))
    server.run("http", host="127.0.0.1", port=int(sys.argv[1]), path="/mcp", log_level="error", show_banner=False)
