"""The server that the bench runs under `mcp_ref serve`: one text tool, like each peer's."""

from mcp_ref import Server

server = Server("bench", "1.0.0")


@server.tool
def echo(ctx, text: str) -> str:
    """Return the text unchanged."""
    return text
