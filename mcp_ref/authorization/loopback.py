"""basic/authorization/security-considerations, Open Redirection: where the browser brings the answer of a login.

Implements AUTHSEC-10, AUTHSEC-21, AUTHSEC-22. A listener on 127.0.0.1 takes one answer, the one with the `state` that
the login was begun with; whatever else comes gets a page that says so, and is no answer.
"""

from __future__ import annotations

import hmac
import selectors
import socket
from contextlib import suppress
from typing import Dict, List, Optional
from urllib.parse import parse_qs

from ..lib.uri import parsed
from ..transports.calls import GLANCE, Deadline

BASE, PATH = "http://127.0.0.1:", "/callback"
MAX_HEAD = 16 * 1024
MAX_CONNECTIONS = 32

_GOOD = "The login has been taken. Close this window and go back to the program that opened it."
_BAD = "This is not the answer to a login that is under way. Go back to the program and begin the login again."


def parameters(url: str) -> Dict[str, List[str]]:
    """The query of a URL, as a form: name to values, those that are empty included."""
    return parse_qs(url.partition("?")[2].partition("#")[0], keep_blank_values=True, max_num_fields=100)


def has_state(url: str, state: str) -> bool:
    """Whether the URL that a browser was sent to has this state, once."""
    try:
        given = parameters(url).get("state", [])
    except ValueError:
        return False
    return len(given) == 1 and hmac.compare_digest(given[0].encode("utf-8", "replace"), state.encode("ascii"))


class Loopback:
    """Listens on a port of 127.0.0.1, also a context manager. redirect_uri: there, a free port of it by default. Raises
    OSError."""

    def __init__(self, redirect_uri: Optional[str] = None) -> None:
        uri = parsed(redirect_uri or f"{BASE}0{PATH}")
        self._path = uri.path or "/"
        self._listener = socket.create_server(("127.0.0.1", int(uri.port or 80)))
        self._listener.setblocking(False)
        self._site = f"{BASE}{self._listener.getsockname()[1]}"
        self.redirect_uri = redirect_uri or self._site + PATH
        self._heads: Dict[socket.socket, bytes] = {}

    def __enter__(self) -> "Loopback":
        return self

    def __exit__(self, *_: object) -> None:
        for connection in (self._listener, *self._heads):
            connection.close()

    def answer(self, state: str, deadline: Deadline) -> str:
        """The URL that a browser brings, once it has this state. Raises what Deadline.left does."""
        with selectors.DefaultSelector() as watch:
            watch.register(self._listener, selectors.EVENT_READ)
            while True:
                for key, _ in watch.select(min(GLANCE, deadline.left())):
                    connection = key.fileobj
                    assert isinstance(connection, socket.socket)
                    if connection is self._listener:
                        self._accept(watch)
                        continue
                    target = self._read(connection)
                    if target is None:
                        continue
                    watch.unregister(connection)
                    good = target.partition("?")[0] == self._path and has_state(target, state)
                    self._say(connection, good)
                    if good:
                        return self._site + target

    def _accept(self, watch: selectors.BaseSelector) -> None:
        with suppress(OSError):
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            watch.register(connection, selectors.EVENT_READ)
            self._heads[connection] = b""
        if len(self._heads) > MAX_CONNECTIONS:  # the oldest gives way: browsers open some that they never use
            oldest = next(iter(self._heads))
            del self._heads[oldest]
            watch.unregister(oldest)
            oldest.close()

    def _read(self, connection: socket.socket) -> Optional[str]:
        """The target of the request, once its head is there; "" where there is to be none."""
        try:
            data = connection.recv(4096)
        except OSError:
            data = b""
        head = self._heads[connection] = self._heads[connection] + data
        if data and b"\r\n\r\n" not in head and len(head) <= MAX_HEAD:
            return None
        words = head.partition(b"\r\n")[0].split(b" ")
        return words[1].decode("latin-1") if len(words) == 3 and words[0] == b"GET" and data else ""

    def _say(self, connection: socket.socket, good: bool) -> None:
        """Answer with a page, which holds nothing of the request, and close."""
        page = f"<!doctype html><meta charset=utf-8><title>Login</title><p>{_GOOD if good else _BAD}</p>"
        head = (f"HTTP/1.1 {'200 OK' if good else '400 Bad Request'}\r\nContent-Type: text/html; charset=utf-8\r\n"
                f"Content-Length: {len(page)}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
                "Connection: close\r\n\r\n")
        del self._heads[connection]
        with suppress(OSError):
            connection.sendall((head + page).encode("ascii"))
        connection.close()
