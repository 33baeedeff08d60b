"""The ceiling: the least that one thread of Python can do to read JSON over HTTP and answer a constant.

`python3 -m tests.bench.ceiling PORT`. One selector, one read, `json.loads`, one write; no head is parsed beyond its
length, nothing is checked, and no client is expected to be slow.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
from functools import partial

from .bare import ANSWER

OCTETS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)
LENGTH = b"Content-Length: "


def serve(port: int) -> None:
    """Serve for ever."""
    listener = socket.create_server(("127.0.0.1", port), backlog=512)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ, partial(answer, selector, connection, bytearray()))
            else:
                key.data()


def answer(selector: selectors.BaseSelector, connection: socket.socket, buffer: bytearray) -> None:
    """Read what is there, and answer each request that is whole."""
    try:
        data = connection.recv(65536)
    except OSError:
        data = b""
    if not data:
        selector.unregister(connection)
        return connection.close()
    buffer += data
    end = buffer.find(b"\r\n\r\n")
    while end >= 0:
        start = buffer.find(LENGTH) + len(LENGTH)
        whole = end + 4 + int(buffer[start:buffer.find(b"\r", start)])
        if len(buffer) < whole:
            return
        json.loads(buffer[end + 4:whole])
        del buffer[:whole]
        connection.send(OCTETS)
        end = buffer.find(b"\r\n\r\n")


if __name__ == "__main__":
    serve(int(sys.argv[1]))
