"""mcp_ref's server of the interoperability table: `python3 -m mcp_ref serve tests.peers.server:server`.

What it offers is the contract that python_sdk_contract.py and typescript_sdk_contract.mjs fulfil too; steps.py says
what each client must get from it.
"""

from __future__ import annotations

import threading
from typing import Annotated, List

from mcp_ref import Context, ResourceNotFound, Server, ToolError, ToolResult, content, form, roots, sampling

server = Server("peers", "1.0.0", instructions="One of each thing that two implementations must agree on.",
                page_size=4, logging=True)
PLANTS = {"fern": "shade", "fig": "sun", "cactus": "sun"}
DOT = bytes(range(256))
gone = threading.Event()


# Tools: each kind of result


@server.tool
def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@server.tool(output_schema={"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]})
def add(a: int, b: int) -> ToolResult:
    """Add two numbers."""
    return ToolResult([content.text(str(a + b))], structured={"sum": a + b})


@server.tool
def fail() -> str:
    """Fail in words for the model."""
    raise ToolError("out of order")


@server.tool
def route(region: Annotated[str, {"x-mcp-header": "Region"}], shard: Annotated[int, {"x-mcp-header": "Shard"}] = 0,
          dry: Annotated[bool, {"x-mcp-header": "Dry-Run"}] = False) -> str:
    """Take arguments that headers repeat."""
    return f"region {region}, shard {shard}, {'dry' if dry else 'wet'}"


@server.tool(name="grüße")
def greetings() -> str:
    """A tool whose name does not fit a header as it is."""
    return "Grüße"


# Tools that ask


@server.tool
def book(ctx: Context, flight: str) -> str:
    """Ask twice, one after the other."""
    agreed = ctx.elicit(f"Book {flight}?", {"agree": {"type": "boolean"}}, "agree")
    if not agreed.accepted:
        return f"not booked: {agreed.action}"
    seat = ctx.elicit("Which seat?", {"seat": {"type": "string", "enum": ["aisle", "window"]}}, "seat")
    return f"{flight} booked, seat {seat.get('seat')}"


@server.tool
def visit(ctx: Context) -> str:
    """Ask to open a page."""
    return ctx.elicit_url("Sign in, please", "https://example.com/sign-in", "page").action


@server.tool
def consult(ctx: Context) -> str:
    """Ask for three things in one round."""
    said = ctx.ask({"capital": sampling("What is the capital of France?", 100), "roots": roots(),
                    "name": form("Your name?", {"name": {"type": "string"}})})
    name, capital = said["name"]["content"]["name"], said["capital"]["content"]["text"]
    return f"{name}: {capital}, {said['roots']['roots'][0]['uri']}"


# Tools that speak before their result


@server.tool
def count(ctx: Context) -> str:
    """Count to three."""
    for step in (1, 2, 3):
        ctx.progress(step, total=3, message=f"{step} of 3")
        threading.Event().wait(0.05)  # the TypeScript SDK loses progress that it reads together with the result
    return "counted"


@server.tool
def chat(ctx: Context) -> str:
    """Log at three levels."""
    ctx.log("debug", "not for everybody")
    ctx.log("info", "begun")
    ctx.log("warning", {"left": 1}, "chatter")
    return "logged"


@server.tool
def wait(ctx: Context) -> str:
    """Wait until the client has gone."""
    gone.clear()
    ctx.progress(1)
    for _ in range(100):
        if ctx.cancelled:
            gone.set()
            break
        threading.Event().wait(0.1)
    return "nobody left"


@server.tool
def waited() -> str:
    """Whether the one who waited was told that its client had gone."""
    return "cancelled" if gone.wait(10) else "not cancelled"


# Tools that those who listen hear of


@server.tool
def grow() -> str:
    """Add a tool and take it away again."""
    server.add_tool(lambda: "", name="passing", description="Gone at once.")
    server.remove_tool("passing")
    return "grown"


@server.tool
def water() -> str:
    """Change a resource."""
    server.notify_resource_updated("peers://about")
    return "watered"


# Resources and prompts


@server.resource("peers://about", name="about", mime_type="text/plain")
def about() -> str:
    """A text."""
    return "About, in Zürich"


@server.resource("peers://dot", name="dot", mime_type="application/octet-stream")
def dot() -> bytes:
    """Octets."""
    return DOT


@server.resource("peers://plants/{name}", name="plant", mime_type="text/plain")
def plant(name: str) -> str:
    """What a plant needs."""
    if name not in PLANTS:
        raise ResourceNotFound()
    return PLANTS[name]


@server.completion("peers://plants/{name}", "name")
def plant_names(value: str) -> List[str]:
    return [name for name in PLANTS if name.startswith(value)]


@server.prompt
def advice(plant: str, season: str = "spring") -> str:
    """Ask how to look after a plant."""
    return f"How do I look after a {plant} in {season}?"


@server.completion("advice", "plant")
def advice_plants(value: str) -> List[str]:
    return [name for name in PLANTS if name.startswith(value)]
