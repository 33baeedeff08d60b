"""The official Python SDK's server for the bench: `python python_sdk_server.py PORT [--uvloop]`.

Runs in the SDK's own virtual environment, never in mcp_ref's. Its fastest documented set-up: JSON answers, stateless,
an async tool (a plain one is sent to a thread pool), no structured copy of the text, no access log. By default on what
the SDK itself installs; with `--uvloop` on the C event loop and HTTP parser that one can add to its web server.
"""

import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", version="1.0.0", log_level="WARNING")


@server.tool(structured_output=False)
async def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


if __name__ == "__main__":
    added = "--uvloop" in sys.argv[2:]
    uvicorn.run(
        server.streamable_http_app(json_response=True, stateless_http=True),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="warning",
        access_log=False,
        loop="uvloop" if added else "asyncio",
        http="httptools" if added else "h11",
    )
