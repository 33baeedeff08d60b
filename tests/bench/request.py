"""The one request that every server of the bench answers, and what a right answer to it is."""

from __future__ import annotations

import http.client
import json
import socket

PATH = "/mcp"
TEXT = "hello era"
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "echo",
}
BODY = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "echo",
            "arguments": {"text": TEXT},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0.0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    },
    separators=(",", ":"),
)


def wire(port: int) -> bytes:
    """The request as bytes for a raw socket."""
    body = BODY.encode("utf-8")
    fields = {"Host": f"127.0.0.1:{port}", **HEADERS, "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {PATH} HTTP/1.1\r\n{head}\r\n".encode("ascii") + body


def ask(port: int, timeout: float) -> str:
    """Send the request once; an empty string when the answer is right, else what is wrong with it.

    `timeout` is in seconds. Raises OSError or http.client.HTTPException when there is no HTTP answer at all.
    """
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.sendall(wire(port))
        with http.client.HTTPResponse(connection, method="POST") as response:
            response.begin()
            return fault(response.status, response.read())


def fault(status: int, body: bytes) -> str:
    """What is wrong with an answer, or an empty string: HTTP 200, our id, one text, ours, and no error."""
    if status != 200:
        return f"HTTP {status}: {body[:200]!r}"
    try:
        message = json.loads(body)
        content = message["result"]["content"]
        texts = [block["text"] for block in content]
        right = message["id"] == 1 and texts == [TEXT] and not message["result"].get("isError", False)
    except (ValueError, KeyError, TypeError, AttributeError):
        right = False
    return "" if right else f"not the expected answer: {body[:200]!r}"
