"""What gunicorn and waitress run: `app`, on a bus of Unix sockets or of Redis, as the environment says."""

from __future__ import annotations

import os
import threading
from typing import Any

from mcp_ref import Context, InputRequired, Server, form
from mcp_ref.transports.bus import UnixBus


def bus() -> Any:
    """The bus that BUS names: a redis:// URL, or a folder."""
    place = os.environ["BUS"]
    if not place.startswith("redis:"):
        return UnixBus(place)
    from tests.peers.redis_bus import RedisBus

    return RedisBus(place)


server = Server("hosted", "1", state_keys=[os.environ["MCP_STATE_KEY"]], bus=bus())
gone = os.path.join(os.environ["FOLDER"], "gone")


@server.tool
def who() -> str:
    """Which process this is."""
    return str(os.getpid())


@server.tool
def book(ctx: Context) -> Any:
    """Ask twice, one round after the other, and tell which process served each."""
    served = [*(ctx.request_state or []), os.getpid()]
    question = form("Book?" if len(served) == 1 else "Sure?", bool)
    if len(served) > 2:
        return f"{' '.join(map(str, served))};True, True"
    return InputRequired({str(len(served)): question}, request_state=served)


@server.tool
def count(ctx: Context) -> str:
    """Count to three."""
    for step in (1, 2, 3):
        ctx.progress(step, total=3)
    return "counted"


@server.tool
def tell() -> str:
    """Announce a change."""
    server.notify_tools_changed()
    return str(os.getpid())


@server.tool
def wait(ctx: Context) -> str:
    """Wait until the client has gone, and leave a file then."""
    ctx.progress(1)
    for _ in range(600):
        if ctx.cancelled:
            open(gone, "w", encoding="ascii").close()
            break
        threading.Event().wait(0.1)
    return "nobody left"


app = server.wsgi_app(keep_alive=0.5, health="/health")
