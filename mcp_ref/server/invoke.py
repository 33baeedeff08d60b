"""The step `run`: a handler, plain or async, once per attempt, with its Context and its round of questions."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import Any, Callable, Dict, Mapping

from ..base.errors import HTTPError, ProtocolError
from ..base.headers import NAMED_BY
from ..base.log import log
from ..base.request import Request
from ..patterns import mrtr
from ..patterns.notifications import Cancelled
from .context import Context
from .state import State


class Asks(Dict[str, Any]):
    """An InputRequiredResult, told apart from what a handler returns."""


def run(state: State, request: Request, handler: Callable[[Context], Any], unasked: bool = False) -> Any:
    """Run a handler that may ask (MRTR): what it returns, or the Asks that puts its questions.

    handler: with its arguments, as `check` gives it. unasked: whether answers count that no state shows asked. The
    requestState is bound to the method, what is called, its arguments, the principal and the audience. A question that
    is open when the handler ends is asked, whatever became of the exception on its way; only a group with another
    failure in it is a failure.
    Raises what the handler raises, InputRequired aside, and InvalidParams for a bad state or bad answers. RuntimeError
    is what asks with a method that cannot (MRTR-04), an error that a handler got from a peer of its own, which says
    nothing of this request, and a cancellation that is none.
    """
    attempt = mrtr.Round(request, state.state_sealer, principal_name(request), state.name, unasked)
    request.round = attempt.number + 1
    context = Context(request, attempt, state.logging)
    try:
        value = copy_context().run(called, state, request, handler, context)  # what it sets there is gone with it
        if not isinstance(value, mrtr.InputRequired):
            if request.cancelled:
                raise Cancelled()
            if not attempt.open:
                return value
            value = mrtr.InputRequired(attempt.open)  # which a bare except or a gather kept from ending the round
    except mrtr.InputRequired as asked:
        value = asked
    except Cancelled as error:
        if not request.cancelled:
            raise RuntimeError("the handler raised Cancelled, and the request is not") from error
        raise
    except KeyboardInterrupt as error:
        if threading.current_thread() is not threading.main_thread():  # where alone Ctrl-C arrives
            raise RuntimeError("the handler raised KeyboardInterrupt") from error
        raise
    except (ProtocolError, HTTPError) as error:
        if isinstance(error, HTTPError) or error.remote:
            raise RuntimeError("a peer that the handler called refused") from error
        raise
    except BaseException as error:
        value = mrtr.asked_in(error)
        if value is None:
            if not attempt.open or hasattr(error, "exceptions"):
                raise
            name = request.params.get(NAMED_BY.get(request.method, ""), "")
            log.info("%s ended with %s while a question is open, which is asked", name, type(error).__name__)
            value = mrtr.InputRequired(attempt.open)
    finally:
        context.close()
    if request.method not in mrtr.METHODS:
        raise RuntimeError(f"{request.method} asks; only tools, prompts and resources can")
    return Asks(attempt.result(value, request.capabilities))


def called(state: State, request: Request, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of the author's returns, an async one on the server's event loop."""
    value = function(*arguments)
    return state.event_loop.run(value, request) if hasattr(type(value), "__await__") else value


def principal_name(request: Request) -> str:
    """The name that tokens are bound to: "" without authorization.

    Of claims it is issuer and subject, since two issuers may call two people alike; a client that acts for nobody has
    no `sub` and goes by its client_id, which is kept apart from a subject of that name.
    """
    principal = request.principal
    if principal is None:
        return ""
    if not isinstance(principal, Mapping):
        return str(principal)
    kind = "sub" if principal.get("sub") else "client_id"
    return repr((str(principal.get("iss") or ""), kind, str(principal.get(kind) or "")))
