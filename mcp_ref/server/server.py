"""server/index: the server as its author sees it, and the way from a request to its answer.

Implements BASE-06 to BASE-08, BASE-12, BASE-24, BASE-26, BASE-28, META-14, PATT-01, VERS-10.

The flow of one request:

    transport -> Request(head, read_body, notify)       bytes stay unread until a rung asks for them
    ladder.climb                                        seven rungs; the first that raises answers
    methods[request.method]                             tools.call, discover, …: one function a method
      running.attempt                                   the handler, its Context, its round of questions
    Answer(status, body)                                one JSON object; the transport moves it

Nothing is kept between requests (BASE-26): what spans them travels sealed, through the client.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, Tuple, Union

from .. import ladder
from ..base import versioning
from ..base.errors import HTTPError, InternalError, McpError, ProtocolError, from_handler
from ..base.jsonrpc import encode, shown
from ..base.log import log
from ..base.meta import stamped
from ..base.request import Answer, Request
from ..base.trace_context import trace_context
from ..patterns.allowance import RateLimits
from ..patterns.cancellation import Cancelled
from ..patterns.state_sealer import StateSealer, random_key
from ..patterns.subscriptions import Subscription
from ..transports.mirrors import Parameter
from . import registration
from .arguments import server_info, text_or_none, texts, whole
from .caching import Hints, hints, hints_by_method
from .event_loop import EventLoop
from .registration import Icons
from .running import principal_name

if TYPE_CHECKING:
    from ..authorization.resource_server import ResourceServer
    from ..transports.http_server import Limits


class Server(registration.Server):
    """An MCP server: what it is called, and the tools, resources and prompts registered on it.

    name, version, title, description, website_url, icons: its serverInfo. instructions: guidance for models.
    state_keys: secrets shared by all processes that serve this server; the first signs, all verify. Without one the
        server makes its own, and a retry reaches this process only. requestState is signed, not secret: put nothing
        in it that the client may not read.
    state_ttl: seconds that a requestState holds, a finite number above 0.
    ttl_ms, cache_scope: caching hints of lists, reads and discovery.
    caching: those of one method where they differ, such as {"tools/list": (60_000, "public")}.
    page_size: items on a page of a list, None for all on one.
    max_subscriptions: subscriptions/listen streams open at once.
    logging: whether what handlers log is sent to clients that ask, which is then advertised; 2026-07-28 deprecates it.
        Without it `ctx.log` writes to the server's own log.
    rate_limits: requests a second that each caller may make of a method, such as {"tools/call": 20}. Without `auth`
        nobody is told apart, and all are one caller.
    cors: web origins whose pages may call this server, as "https://app.example".
    auth: a ResourceServer (authorization.resource_server) that every HTTP request must satisfy; None for a server open
        to all. Stdio asks for no token (AUTH-02).
    extensions: identifier to settings of the extensions it supports, as {"com.example/map": {}}, which it advertises.

    Raises ValueError or TypeError for an argument that cannot be used.
    """

    supported_versions: Tuple[str, ...] = versioning.MODERN

    def __init__(self, name: str, version: str, *, title: Optional[str] = None, description: Optional[str] = None,
                 website_url: Optional[str] = None, icons: Icons = None,
                 instructions: Optional[str] = None, state_keys: Sequence[Union[str, bytes]] = (),
                 state_ttl: float = 600.0, ttl_ms: int = 0, cache_scope: str = "private",
                 caching: Optional[Mapping[str, Tuple[Optional[int], Optional[str]]]] = None,
                 page_size: Optional[int] = None, max_subscriptions: int = 4096, cors: Sequence[str] = (),
                 rate_limits: Optional[Mapping[str, float]] = None, logging: bool = False,
                 auth: "Optional[ResourceServer]" = None,
                 extensions: Optional[Mapping[str, Mapping[str, Any]]] = None) -> None:
        self.name = name
        self.info = server_info(name=name, version=version, title=title, description=description,
                                websiteUrl=website_url, icons=icons)
        self.instructions = text_or_none("instructions", instructions)
        self.hints = hints(ttl_ms, cache_scope)
        self._hints_of = hints_by_method(caching or {}, self.hints)
        self.page_size = None if page_size is None else whole("page_size", page_size, 1)
        self.auth = auth
        self.cors = texts("cors", cors)
        self.rate_limits = RateLimits(rate_limits or {})
        self.public_hosts = () if auth is None else (auth.host,)
        self.event_loop = EventLoop()
        self.on_trace: Optional[Callable[[str], None]] = None
        self.state_ttl = state_ttl
        self.set_state_keys(state_keys)
        super().__init__(self.info, max_subscriptions, logging, extensions or {})

    def set_state_keys(self, keys: Sequence[Union[str, bytes]]) -> None:
        """Put these keys in force, the signing one first; none at all means a fresh one for this process."""
        if isinstance(keys, (str, bytes)) or not all(isinstance(key, (str, bytes)) for key in keys):
            raise TypeError("state_keys is a list of keys, each a text or octets: state_keys=[key]")
        self.shared_key = bool(keys)
        self._state_keys = list(keys) or [random_key()]
        self.set_state_ttl(self.state_ttl)

    def set_state_ttl(self, seconds: float) -> None:
        """Let a requestState hold for so long from now on. Raises ValueError unless that is finite and above 0."""
        self.state_ttl = seconds
        self.state_sealer = StateSealer(self._state_keys, "requestState", seconds)
        self.cursor_sealer = StateSealer(self._state_keys, "cursor", 24 * 3600.0)

    def hints_of(self, method: str) -> Hints:
        """The caching hints of a method's results."""
        return self._hints_of.get(method, self.hints)

    def mirrored(self, request: Request) -> Sequence[Parameter]:
        """The parameters of the called tool that headers repeat; none for another method or an unknown tool."""
        name = request.params.get("name") if request.method == "tools/call" else None
        tool = self.tools.get(name) if isinstance(name, str) else None
        return () if tool is None else tool.mirrored

    def handle(self, request: Request) -> Answer:
        """The answer to one message. Raises nothing but Cancelled, when nobody waits for an answer any more."""
        began = 0.0 if self.on_trace is None else time.perf_counter()
        failure: Optional[McpError] = None
        try:
            answer = self._served(request)
        except (ProtocolError, HTTPError) as error:
            failure, answer = error.with_traceback(None), self._refused(request, error)  # its frames hold the request
        except Cancelled:
            self._told(request, None, None, began)
            raise
        except KeyboardInterrupt:
            raise
        except BaseException:  # a handler's sys.exit or a stray asyncio.CancelledError ends one request, not a worker
            log.exception("%s failed (request %s)", shown(request.method), shown(request.id))
            failure = InternalError("Internal error")
            answer = self._refused(request, failure)
        if request.cancelled:
            if answer.stream is not None:
                answer.stream.close()
            self._told(request, None, None, began)
            raise Cancelled()
        self._told(request, failure, answer, began)
        return answer

    def _told(self, request: Request, failure: Optional[McpError], answer: Optional[Answer], began: float) -> None:
        """Every request has its line in the log, and in the trace. answer: None for one that was cancelled."""
        if log.isEnabledFor(logging.INFO):
            outcome = "cancelled" if answer is None else answer.status
            log.info("%s id=%s %s trace=%s", shown(request.method), shown(request.id), outcome,
                     trace_context(request.meta).get("traceparent", "-"))
        if self.on_trace is not None:
            from ..explain import trace

            try:
                self.on_trace(trace(request, failure, answer, time.perf_counter() - began))
            except Exception:  # a closed stderr, for example, is no reason to leave a client without its answer
                log.exception("the trace of a request cannot be written")

    def _served(self, request: Request) -> Answer:
        document = self.auth.page(request) if self.auth is not None else None
        if document is not None:
            return document
        ladder.climb(request, self)
        if request.id is None:
            return Answer(202, b"")
        self.rate_limits.check(request.method, principal_name(request))
        try:
            result = self.methods[request.method](self, request)
        except ProtocolError as error:
            raise self._from_handler(request, error)
        if isinstance(result, Subscription):
            return Answer(200, content_type="text/event-stream", stream=result)
        return Answer(200, encode({"jsonrpc": "2.0", "id": request.id, "result": stamped(result, self.info)}))

    @staticmethod
    def _from_handler(request: Request, error: ProtocolError) -> ProtocolError:
        try:
            return from_handler(error)
        except ValueError as why:
            log.error("%s raised an error that may not be sent: %s", shown(request.method), shown(str(why), 200))
            return InternalError("Internal error")

    def _refused(self, request: Request, error: Union[ProtocolError, HTTPError]) -> Answer:
        if isinstance(error, HTTPError):
            return Answer.plain(error)
        body = error.body()
        if request.method == "initialize":
            body["message"] = f"{body['message']}. {versioning.initialize_hint(self.supported_versions)}"
        message: Dict[str, Any] = {"jsonrpc": "2.0"}
        if request.id is not None:
            message["id"] = request.id
        message["error"] = body
        try:
            return Answer(error.status, encode(message))
        except (TypeError, ValueError, RecursionError):
            log.exception("the data of an error is not JSON")
            return self._refused(request, InternalError("Internal error"))

    def serve(self, host: str = "127.0.0.1", port: int = 8000, *, path: str = "/mcp", origins: Iterable[str] = (),
              limits: "Optional[Limits]" = None, cors: Iterable[str] = (), keep_alive: float = 15.0,
              health: Optional[str] = None) -> None:
        """Serve over HTTP until the process is told to stop, by SIGINT or SIGTERM; call it from the main thread.

        host, port: the address to bind, port 0 for a free one. path: of the MCP endpoint. origins: web origins let in
        beside loopback ones. cors: web origins whose pages may call it, beside the server's own. limits: bounds, see
        Limits. keep_alive: seconds after which a silent event stream has a comment. health: a path that answers GET
        with 200, without a token and under any Host.

        Raises OSError where the address cannot be bound, ValueError for an argument that cannot be used.
        """
        from ..transports.http_server import HTTPServer, wait_for_signal  # sockets only where they are used

        with HTTPServer(self, host, port, path, origins, limits, cors, keep_alive, health) as running:
            wait_for_signal(lambda: log.warning("serving %s at %s", self.name, running.url))
