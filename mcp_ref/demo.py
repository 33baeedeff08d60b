"""The server that `serve` runs when given none: the walkthrough's echo, and one of each thing a server can do."""

from __future__ import annotations

import time
from typing import Annotated, Optional

from .base.errors import ToolError
from .server.context import Context
from .server.server import Server

server = Server("mcp_ref-demo", "0.1.0", title="mcp_ref demo",
                instructions="Echo server for the protocol-era examples; greet asks for a name, count reports.")


@server.tool(strict=True)
def echo(ctx: Context, text: Optional[str] = None) -> str:
    """Echo text; asks for it when it is not given."""
    if text is None:
        answer = ctx.elicit("text", "Provide the text to echo", {"text": {"type": "string"}})
        if not answer.accepted:
            what = "declined" if answer.action == "decline" else "cancelled"
            raise ToolError(f"echo not executed: user {what} the elicitation form")
        return str(answer["text"])
    return text


@server.tool
def greet(ctx: Context) -> str:
    """Greet the user by name, once the user has said what it is."""
    answer = ctx.elicit("name", "What is your name?", {"name": {"type": "string", "minLength": 1}})
    return f"Hello, {answer['name']}!" if answer.accepted else "Hello, whoever you are!"


@server.tool
def count(ctx: Context, to: Annotated[int, {"minimum": 1, "maximum": 100}] = 5,
          pause: Annotated[float, "seconds between two steps", {"minimum": 0, "maximum": 1}] = 0.1) -> str:
    """Count to a number, reporting progress."""
    for step in range(1, to + 1):
        ctx.progress(step, total=to, message=f"{step} of {to}")
        if step < to:
            time.sleep(pause)
    return f"counted to {to}"
