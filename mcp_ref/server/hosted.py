"""A server in somebody else's program: in threads of its own, or as a WSGI application. `Server` has these methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, List, Optional, cast

from ..base.request import Serving
from .state import State

if TYPE_CHECKING:
    from ..transports.http_server import HTTPServer, Limits
    from ..transports.wsgi import WSGIApp


class Hosted:
    """What a program that has its own way to run does with a server."""

    state: State

    def __init__(self) -> None:
        self._running: "List[HTTPServer]" = []

    def start(self, host: str = "127.0.0.1", port: int = 8000, *, path: str = "/mcp", origins: Iterable[str] = (),
              limits: "Optional[Limits]" = None, cors: Iterable[str] = (), keep_alive: float = 15.0,
              health: Optional[str] = None, unix: Optional[str] = None) -> "HTTPServer":
        """Serve over HTTP beside the rest of a program, on threads of its own; from any thread, and returns at once.

        Returns the running HTTPServer, whose `url` it is and which, as a context manager, stops at the end. Options and
        errors are those of `serve`. In a process forked from this one nothing runs: start there anew.
        """
        from ..transports.http_server import HTTPServer  # sockets only where they are used

        started = HTTPServer(cast(Serving, self), host, port, path, origins, limits, cors, keep_alive, health, unix)
        self._running = [each for each in self._running if not each.stopping] + [started.start()]
        return started

    def stop(self) -> None:
        """Stop whatever `start` began, within the grace period of its Limits; nothing where nothing runs."""
        for each in self._running:
            each.stop()

    def wsgi_app(self, *, path: str = "/mcp", origins: Iterable[str] = (), cors: Iterable[str] = (),
                 max_body: Optional[int] = None, keep_alive: float = 15.0, health: Optional[str] = None) -> "WSGIApp":
        """This server as a WSGI application, for gunicorn, waitress, mod_wsgi or a mount in another application.

        path, health: below where it is mounted, "/" for the mount itself. origins: the web origins that it is reached
        by, as "https://app.example"; without them only loopback names are served. max_body: octets of a request's
        body. cors, keep_alive: as for `serve`. From here on no sessions of clients before 2026-07-28 are kept.

        Raises ValueError for an argument that cannot be used.
        """
        from ..transports.endpoint import MAX_BODY
        from ..transports.wsgi import WSGIApp

        self.state.legacy_sessions = False  # who asks next may be another process
        return WSGIApp(cast(Serving, self), path, origins, cors, MAX_BODY if max_body is None else max_body, keep_alive,
                       health)
