"""The servers on version 1 of the Python SDK: its own, and that of FastMCP 2: `python python_1_contract.py PORT`, or
`stdio` in place of a port.

Runs in the virtual environment of either, never in mcp_ref's. Offers what server.py does, but for subscriptions to
resources, of which neither knows; what it asks the client goes by the session, which both have of the SDK.
"""

import asyncio
import contextlib
import sys

from mcp import types
from mcp.shared.exceptions import McpError
from typing_extensions import TypedDict

try:
    from fastmcp import Context, FastMCP
    from fastmcp.exceptions import ToolError as Failure

    server = FastMCP("peers", version="1.0.0", instructions="One of each thing that two implementations must agree on.")
    BARE = {"output_schema": None}
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP

    server = FastMCP("peers", log_level="ERROR",
                     instructions="One of each thing that two implementations must agree on.")
    BARE = {"structured_output": False}
    Failure = None

PLANTS = {"fern": "shade", "fig": "sun", "cactus": "sun"}
gone = asyncio.Event()


class Sum(TypedDict):
    sum: int


def form(name, **schema):
    return {"type": "object", "properties": {name: schema}, "required": [name]}


@server.tool(**BARE)
async def echo(text: str) -> str:
    return text


@server.tool()
async def add(a: int, b: int) -> Sum:
    return {"sum": a + b}


@server.tool(**BARE)
async def fail() -> types.CallToolResult:
    if Failure is not None:
        raise Failure("out of order")
    return types.CallToolResult(content=[types.TextContent(type="text", text="out of order")], isError=True)


@server.tool(**BARE)
async def route(region: str, shard: int = 0, dry: bool = False) -> str:
    return f"region {region}, shard {shard}, {'dry' if dry else 'wet'}"


@server.tool(name="grüße", **BARE)
async def greetings() -> str:
    return "Grüße"


@server.tool(**BARE)
async def book(flight: str, ctx: Context) -> str:
    agreed = await ctx.session.elicit_form(f"Book {flight}?", form("agree", type="boolean"), ctx.request_id)
    if agreed.action != "accept":
        return f"not booked: {agreed.action}"
    seat = await ctx.session.elicit_form("Which seat?", form("seat", type="string", enum=["aisle", "window"]),
                                         ctx.request_id)
    return f"{flight} booked, seat {seat.content['seat']}"


@server.tool(**BARE)
async def visit(ctx: Context) -> str:
    if not ctx.session.check_client_capability(types.ClientCapabilities(elicitation=types.ElicitationCapability())):
        raise RuntimeError("the client shows no pages")
    found = await ctx.session.elicit_url("Sign in, please", "https://example.com/sign-in", "1", ctx.request_id)
    return found.action


@server.tool(**BARE)
async def consult(ctx: Context) -> str:
    asked = types.SamplingMessage(role="user", content=types.TextContent(type="text",
                                                                         text="What is the capital of France?"))
    capital = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
    roots = await ctx.session.list_roots()
    name = await ctx.session.elicit_form("Your name?", form("name", type="string"), ctx.request_id)
    return f"{name.content['name']}: {capital.content.text}, {str(roots.roots[0].uri)}"


@server.tool(**BARE)
async def count(ctx: Context) -> str:
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3, f"{step} of 3")
    return "counted"


@server.tool(**BARE)
async def chat(ctx: Context) -> str:
    await ctx.session.send_log_message("info", "begun", related_request_id=ctx.request_id)
    await ctx.session.send_log_message("warning", {"left": 1}, "chatter", related_request_id=ctx.request_id)
    return "logged"


@server.tool(**BARE)
async def wait(ctx: Context) -> str:
    gone.clear()
    await ctx.report_progress(1)
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        gone.set()
        raise
    return "nobody left"


@server.tool(**BARE)
async def waited() -> str:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(gone.wait(), 10)
    return "cancelled" if gone.is_set() else "not cancelled"


@server.tool(**BARE)
async def grow(ctx: Context) -> str:
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool(**BARE)
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
        raise McpError(types.ErrorData(code=-32002, message="no such plant"))
    return PLANTS[name]


@server.prompt()
def advice(plant: str, season: str = "spring") -> str:
    return f"How do I look after a {plant} in {season}?"


@server._mcp_server.set_logging_level()
async def level(level):
    """All levels are sent that it has."""


@server._mcp_server.completion()
async def plants(ref, argument, context):
    return types.Completion(values=[name for name in PLANTS if name.startswith(argument.value)])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        sys.exit(server.run("stdio"))
    if hasattr(server, "http_app"):
        server.run("http", host="127.0.0.1", port=int(sys.argv[1]), path="/mcp", log_level="error", show_banner=False)
    server.settings.host, server.settings.port = "127.0.0.1", int(sys.argv[1])
    server.run("streamable-http")
