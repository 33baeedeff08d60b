"""The server behind the front ends, `python3 -m mcp_ref serve tests.frontends.upstream:server`: each process of it
says its name, which FRONTENDS_NAME gives it."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import Any, Dict

from mcp_ref import Context, InputRequired, Server, form

NAME = os.environ.get("FRONTENDS_NAME", "nobody")
log = logging.getLogger("frontends")
MOST_SUBSCRIPTIONS = 2
server = Server("frontends", "1.0.0", max_subscriptions=MOST_SUBSCRIPTIONS)
going = threading.Semaphore(0)


@server.tool
def who() -> str:
    """The name of the process."""
    return NAME


@server.tool
def report() -> str:
    """The same, of the tool that has a machine of its own."""
    return NAME


def question(number: int) -> Dict[str, Any]:
    return form(f"Question {number}?", {"answer": {"type": "string"}})


@server.tool
def rounds(ctx: Context) -> Any:
    """Ask three times; the names of the processes that served the rounds, which the sealed state carries."""
    seen = list(ctx.request_state or [])
    if seen and ctx.input_response(str(len(seen)), question(len(seen))) is None:
        return "no answer to the question"
    seen.append(NAME)
    if len(seen) < 4:
        return InputRequired({str(len(seen)): question(len(seen))}, request_state=seen)
    return " ".join(seen)


@server.tool
def steps(ctx: Context, count: int) -> str:
    """Report progress so many times, and wait for `go` after each."""
    for step in range(1, count + 1):
        ctx.progress(step, total=count, message=NAME)
        if not going.acquire(timeout=20):
            return f"nobody said go after step {step}"
    return "done"


@server.tool
def go() -> str:
    """Let `steps` take its next one."""
    going.release()
    return NAME


@server.tool
async def wait(ctx: Context, quiet: bool = False) -> str:
    """Wait for nothing, until the client leaves; its log says when it began, and when it was cancelled."""
    if not quiet:
        ctx.progress(1, message=NAME)
    log.info("waiting")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        log.info("cancelled")
        raise
    return "never"


@server.tool
def length(text: str) -> int:
    """How many characters came."""
    return len(text)


@server.tool
def repeat(count: int) -> str:
    """So many characters."""
    return "x" * count


@server.tool
def grow() -> str:
    """Add a tool and take it away again, of which those who listen hear."""
    server.add_tool(lambda: "", name="passing", description="Gone at once.")
    server.remove_tool("passing")
    return NAME
