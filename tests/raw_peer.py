"""A server of raw sockets for tests of a client: what a script sends goes out as it is."""

import contextlib
import json
import socket
import ssl
import threading
from typing import Any, Callable, List, Optional

Script = Callable[["Peer", int, Any], bool]


def answered(message: Any, **result: Any) -> bytes:
    members = {"resultType": "complete", "content": [], "tools": [], "contents": [], **result}
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": members}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Peer:
    """A server of raw sockets. script: called with (peer, number of the request, message); it sends what it likes by
    `peer.send`, and returns whether the connection stays open. connections: how many there were."""

    def __init__(self, script: Script, tls: Optional[ssl.SSLContext] = None) -> None:
        self.script, self.connections, self.requests = script, 0, 0
        self._tls = tls
        self.methods: List[str] = []
        self.heads: List[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = f"http{'s' if tls else ''}://{self.place}/mcp"
        self.closed = threading.Semaphore(0)  # released for each connection that ended
        self._local = threading.local()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def send(self, data: bytes) -> None:
        self._local.connection.sendall(data)

    def hang_up(self, linger: bytes) -> None:
        """Close at once, with these octets for SO_LINGER."""
        self._local.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._local.connection = connection
            with connection, connection.makefile("rb") as stream:
                self._answer(stream)
        self.closed.release()

    def _answer(self, stream: Any) -> None:
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = stream.readline()
                if not line:
                    return
                head += line
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or b"0")
            message = json.loads(stream.read(length) or b"{}")
            self.requests += 1
            self.methods.append(message.get("method"))
            self.heads.append(head)
            if not self.script(self, self.requests, message):
                return

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # which wakes its thread
        self._listener.close()
        self._accepting.join()
