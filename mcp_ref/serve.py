"""A request in, an answer out.

    octets, door, accept, framing, version, meta, mirrors, method      the ladder: `climb`
    find, permit, check, run, finish                                   the method's own page, as in server/tools.call

The first rung that raises answers. Beyond the ladder, `find` what is called, `permit` it to the caller's token, `check`
its arguments, `run` the handler with its round of questions, `finish` what it returned as a result; every page that
calls handlers has these five, under these names.

Implements BASE-06 to BASE-08, BASE-12, BASE-24, BASE-26, BASE-28, META-14, PATT-01, VERS-10. Nothing is kept between
requests (BASE-26): what spans them travels sealed, through the client.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Dict, Optional, Union

from .base.errors import HTTPError, InternalError, InvalidRequest, McpError, ProtocolError, RateLimited, from_handler
from .base.log import log
from .base.meta import stamped
from .base.request import Answer, BodyAwaited, Head, Request
from .base.versioning import initialize_hint
from .ladder import ASIDE, climb, door, known_host, known_origin
from .lib.strict_json import encode
from .lib.text import shown
from .lib.trace_context import trace_context
from .patterns.notifications import CANCELLED, Cancelled
from .patterns.subscriptions import Subscription
from .server.invoke import principal_name
from .server.state import State
from .trace import trace
from .transports.endpoint import Endpoint


def serve(state: State, request: Request) -> Answer:
    """The answer to one message.

    Raises nothing but Cancelled, when nobody waits for an answer any more, and BodyAwaited, when the body is not there
    yet; then it is called again with the same request.
    """
    began = 0.0 if state.on_trace is None else time.perf_counter()
    failure: Optional[McpError] = None
    try:
        answer = aside(state, request) or _served(state, request)
    except (ProtocolError, HTTPError) as error:
        failure, answer = error.with_traceback(None), refused(state, request, error)  # its frames hold the request
    except Cancelled:
        _tell(state, request, None, None, began)
        raise
    except (BodyAwaited, KeyboardInterrupt):
        raise
    except BaseException:  # a handler's sys.exit or a stray asyncio.CancelledError ends one request, not a worker
        log.exception("%s failed (request %s)", shown(request.method), shown(request.id))
        failure = InternalError("Internal error")
        answer = refused(state, request, failure)
    if request.cancelled and not request.legacy:
        if answer.stream is not None:
            answer.stream.close()
        _tell(state, request, None, None, began)
        raise Cancelled()
    _tell(state, request, failure, answer, began)
    return answer


def aside(state: State, request: Request) -> Optional[Answer]:
    """What is no message and climbs no ladder: a health check, a preflight, the metadata document; None for all else.

    Host and Origin are asked of it like of any other request, but for the Host of a health check. Raises HTTPError.
    """
    head: Optional[Head] = request.head
    endpoint: Optional[Endpoint] = request.endpoint
    if head is None or endpoint is None or head.method == "POST" and head.target == endpoint.path:
        return None
    healthy = endpoint.health is not None and head.target.split("?", 1)[0] == endpoint.health
    preflight = endpoint.preflight(head)
    page = state.auth is not None and state.auth.is_page(head)
    if not healthy and not page and preflight is None:
        return None
    request.rung = door.__name__
    if not healthy:
        known_host(head, endpoint)
    known_origin(head, endpoint)
    request.rung = ASIDE.name
    if healthy:
        return endpoint.healthy(head)
    return state.auth.page(head) if page and state.auth is not None else preflight


def _served(state: State, request: Request) -> Answer:
    climb(request, state)
    if request.peer is not None and request.method == CANCELLED:  # which does not tell of what era its request is
        request.peer.cancel(request.params.get("requestId"), request.params.get("reason"))
    if request.legacy:
        from .legacy.serve import serve as serve_legacy  # its sessions, streams and batches, for who still speaks so

        return serve_legacy(state, request)
    if request.id is None:
        return Answer(202)
    try:
        if state.rate_limits is not None:
            limit = state.rate_limits.exceeded(request.method, principal_name(request))
            if limit is not None:
                raise RateLimited(request.method, limit)
        result = state.methods[request.method](state, request)
    except ProtocolError as error:
        raise _from_handler(request, error)
    if isinstance(result, Subscription):
        return Answer(200, content_type="text/event-stream", stream=result)
    return Answer(200, encode({"jsonrpc": "2.0", "id": request.id, "result": stamped(result, state.info)}))


def _from_handler(request: Request, error: ProtocolError) -> ProtocolError:
    try:
        return from_handler(error)
    except ValueError as why:
        log.error("%s raised an error that may not be sent: %s", shown(request.method), shown(str(why), 200))
        return InternalError("Internal error")


def refused(state: State, request: Request, error: Union[ProtocolError, HTTPError]) -> Answer:
    """The answer that an error is: plain HTTP, or a JSON-RPC error response with the id, where it could be read."""
    if isinstance(error, HTTPError):
        return Answer.plain(error)
    body = error.body()
    if request.method == "initialize" and not request.legacy:
        body["message"] = f"{body['message']}. {initialize_hint(state.versions, state.era)}"
    message: Dict[str, Any] = {"jsonrpc": "2.0"}
    if request.id is not None:
        message["id"] = request.id
    message["error"] = body
    try:
        in_band = request.legacy and error.code != InvalidRequest.defined  # in those revisions an error is an answer
        return Answer(200 if in_band else error.status, encode(message))
    except (TypeError, ValueError, RecursionError):
        log.exception("the data of an error is not JSON")
        return refused(state, request, InternalError("Internal error"))


def _tell(state: State, request: Request, failure: Optional[McpError], answer: Optional[Answer], began: float) -> None:
    """Every request has its line in the log, and in the trace. answer: None for one that was cancelled."""
    if log.isEnabledFor(logging.INFO):
        outcome = "cancelled" if answer is None else answer.status
        log.info("%s id=%s %s trace=%s", shown(request.method), shown(request.id), outcome,
                 trace_context(request.meta).get("traceparent", "-"))
    if state.on_trace is not None:
        try:
            state.on_trace(trace(request, failure, answer, time.perf_counter() - began))
        except Exception:  # a closed stderr, for example, is no reason to leave a client without its answer
            log.exception("the trace of a request cannot be written")
