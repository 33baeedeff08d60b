"""The yardstick: what a bare `http.server` costs when it reads JSON and answers a constant, and does nothing else.

`python3 -m tests.bench.bare PORT`. Written as one would for speed with the documented knobs: HTTP/1.1 keep-alive, a
buffered output so that headers and body leave in one write, no Nagle delay, no log.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .request import TEXT

ANSWER = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"resultType": "complete", "content": [{"type": "text", "text": TEXT}], "isError": False},
    }
).encode("utf-8")


class Handler(BaseHTTPRequestHandler):
    """Answers every POST with the same JSON-RPC result."""

    protocol_version = "HTTP/1.1"
    wbufsize = 8192
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Read the body, parse it, answer."""
        json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A thread for each connection, and room for all of them to connect at once."""

    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
