"""client/elicitation, client/sampling, client/roots of 2025-11-25: older clients are asked by requests of their own.

Before 2026-07-28 a server asks by requests of its own, and no result asks. So what a handler asks is sent as real
requests, all of a round at once, on the stream of the request that is served; once the last of them is answered the
method is called again as a modern client calls it, with inputResponses and requestState. What binds an answer to its
question is done there, in patterns/mrtr, for both eras alike. No thread waits: the answer that completes a round has
the next one run by a thread of the transport's.

    tools/call                             the handler runs, and asks a and b: Asks {a, b}, state S1
      <- elicitation/create, roots/list
      -> their results                     the handler runs again, with inputResponses {a, b} and S1
      <- the result of tools/call

What goes wrong is told as each family of methods tells it: tools/call by a result with isError, for the model, the
others by -32603. A handler that goes on asking, and any that asks where the shim is off, is -32603 in both.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any, Callable, Dict, Mapping, Optional, Union

from ..base.errors import HTTPError, InternalError, InvalidParams, MissingClientCapability, ProtocolError, from_handler
from ..base.log import log
from ..base.request import Request
from ..base.versioning import LATEST
from ..lib.strict_json import encode
from ..lib.text import shown
from ..patterns.mrtr import RESULTS, Incomplete, check_answer
from ..patterns.notifications import Cancelled
from ..server.invoke import Asks
from ..server.state import State
from ..server.tools import failed
from .outlet import Outlet
from .revisions import notification, question
from .sessions import Session

MAX_ROUNDS = 8
PAUSE = 0.25
"""Seconds before a round that asks nothing, since nothing but time can have changed."""

TOO_MUCH = "cannot wait for its client: too much waits for clients already"

Outcome = Union[Dict[str, Any], ProtocolError, None]
"""What becomes of a request: its result as 2026-07-28 has it, its error, or None where it is cancelled: no answer."""


def attempt(state: State, request: Request, outlet: Outlet) -> Union[Asks, Outcome]:
    """Call the method of a request: what it returns, or the error that answers it, and None if it was cancelled.

    What the handler reports goes to the outlet. Raises HTTPError where the caller's token lacks a scope.
    """
    def report(message: Dict[str, Any]) -> None:
        if request.cancelled:
            raise Cancelled()
        known = notification(request.version, message)
        if known is not None:
            outlet.send(known)

    request.notify, request.outlet = report, outlet
    try:
        result: Asks = state.methods[request.method](state, request)
        return result
    except Cancelled:
        return None
    except (HTTPError, KeyboardInterrupt):
        raise
    except MissingClientCapability as error:
        return _lacking(state, request, outlet.session, error) if error.found else _broken(request)
    except ProtocolError as error:
        try:
            return from_handler(error)
        except ValueError:
            return _broken(request)
    except BaseException:  # a handler's sys.exit ends one request, not a worker
        return _broken(request)


def _broken(request: Request) -> ProtocolError:
    log.exception("%s failed (request %s)", shown(request.method), shown(request.id))
    return InternalError("Internal error")


def _lacking(state: State, request: Request, session: Session, error: MissingClientCapability) -> Outcome:
    """What -32021 would tell, which no legacy client knows."""
    if not state.input_required_legacy_shim:
        return _strict(request)
    needed = " and ".join(f"{name} ({', '.join(inner)})" if inner else name
                          for name, inner in error.data["requiredCapabilities"].items())
    why = "the client has not declared" if session.kept else "this server keeps no session to ask in"
    return _failure(request, f"needs the client's {needed}, which {why}")


def _strict(request: Request) -> ProtocolError:
    return InternalError(f"{request.method} asks its client, which it does in protocol revision {LATEST} only; this "
                         f"request is served in {request.version}")


def _failure(request: Request, text: str) -> Outcome:
    """What went wrong on the way, as the family of the method tells it."""
    text = f"{request.method} {text}"
    return failed(text) if request.method == "tools/call" else InternalError(text)


class Conversation:
    """The rounds of one request, from the first that asks until there is a result.

    finish: called once, from any thread, perhaps before `put` returns. Answers come from any thread too, and one may
    come before the id of its question is known. `_open` is what the round has no answer to: key to the id that it was
    sent under, None while that is not known. `_held`: octets that are kept for it meanwhile. The lock is for
    bookkeeping alone.
    """

    def __init__(self, state: State, request: Request, outlet: Outlet,
                 finish: Callable[[Outcome], object]) -> None:
        self._state, self._request, self._session, self._outlet = state, request, outlet.session, outlet
        self._finish = finish
        self._lock = threading.Lock()
        self._round = self._held = 0
        self._over = False
        self._open: Dict[str, Any] = {}
        self._answers: Dict[str, Any] = {}

    def put(self, asks: Asks) -> None:
        """Begin a round: send its questions, or none of them where one cannot be put."""
        self._round += 1
        request, asked = self._request, asks.get("inputRequests", {})
        if not self._state.input_required_legacy_shim:
            return self._end(_strict(request))
        if self._round > MAX_ROUNDS:
            return self._end(InternalError(f"{request.method} asks its client for more than {MAX_ROUNDS} rounds"))
        try:
            sent = {key: question(request.version, each) for key, each in asked.items()}
        except ValueError as error:
            return self._fail(f"cannot ask the client: {error}")
        request.params = {**request.params, "requestState": asks["requestState"]}
        if not self._hold(len(encode(request.params)) - self._held):
            return self._fail(TOO_MUCH)
        waiting: Dict[str, Any] = dict.fromkeys(sent)
        self._open, self._answers = waiting, {}
        for key, each in sent.items():
            self._ask(each, waiting, key, asked[key])
        if request.cancelled:
            self.cancel()
        elif not sent and not self._session.kept:
            self._after_a_pause()  # where no stream waits for what comes later
        elif not sent:
            request.later(self._after_a_pause)

    def _ask(self, sent: Dict[str, Any], waiting: Dict[str, Any], key: str, asked: Mapping[str, Any]) -> None:
        if self._over:
            return
        try:
            id = self._session.ask(self._outlet, sent, partial(self._heard, waiting, key, asked))
        except Cancelled:
            return self.cancel()
        with self._lock:
            late = key in waiting and self._over
            if key in waiting:
                waiting[key] = id
        if late:
            self._withdraw(id)

    def _heard(self, waiting: Dict[str, Any], key: str, asked: Mapping[str, Any],
               response: Mapping[str, Any]) -> None:
        """Take an answer. The last one of a round begins the next; the first bad one is the end."""
        problem = _problem(key, asked, response)
        if problem is None and not self._hold(len(encode(response["result"]))):
            problem = TOO_MUCH
        with self._lock:
            if problem is None:
                del waiting[key]
                self._answers[key] = response["result"]
            else:
                waiting[key] = None  # answered, and yet the round is never complete
            complete = not waiting
        if problem is not None:
            self._fail(problem)
        elif complete:
            self._request.later(self._again)

    def _hold(self, octets: int) -> bool:
        with self._lock:
            room = self._over or self._session.hold(octets)
            if room and not self._over:
                self._held += octets
        return room

    def _after_a_pause(self) -> None:
        time.sleep(PAUSE)
        self._again()

    def _again(self) -> None:
        """Call the method as a modern client would, with the answers of the round."""
        if self._over:
            return
        self._request.params = {**self._request.params, "inputResponses": self._answers}
        try:
            outcome = attempt(self._state, self._request, self._outlet)
        except HTTPError:
            return self._fail("is not permitted any more")
        if isinstance(outcome, Asks):
            self.put(outcome)
        else:
            self._end(outcome)

    def cancel(self) -> None:
        """The client has cancelled the request: its questions are withdrawn, and there is no answer."""
        self._end(None)

    def _fail(self, text: str) -> None:
        self._end(_failure(self._request, text))

    def _end(self, outcome: Outcome) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
            unanswered = [id for id in self._open.values() if id is not None]
            self._session.hold(-self._held)
        for id in unanswered:
            self._withdraw(id)
        self._finish(outcome)

    def _withdraw(self, id: Any) -> None:
        try:
            self._session.withdraw(id)
        except Cancelled:
            log.debug("there is nobody to tell that a question is withdrawn")


def _problem(key: str, asked: Mapping[str, Any], response: Mapping[str, Any]) -> Optional[str]:
    """What is wrong with a client's response to a question; a form without all its fields is asked again."""
    method = asked["method"]
    if response.get("jsonrpc") != "2.0" or ("result" in response) == ("error" in response):
        return f"got what is no JSON-RPC response for its {method}"
    if "result" not in response:
        error = response.get("error")
        said = error.get("message") if isinstance(error, Mapping) else error
        return f"got an error for its {method}: {shown(said, 500)}"
    try:
        check_answer(key, asked, response["result"])
    except Incomplete:
        return None
    except InvalidParams as error:
        return f"got what is no {RESULTS[method]} for its {method}: {error.message}"
    return None
