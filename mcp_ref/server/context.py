"""What a handler is given: `ctx`, its view of the request it serves and its way to ask, report and log."""

from __future__ import annotations

import threading
from copy import deepcopy
from functools import cached_property
from types import MappingProxyType
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Type, TypeVar, overload

from ..base.meta import CLIENT_INFO
from ..base.request import CREDENTIALS, Request, RequestId
from ..lib.trace_context import trace_context
from ..patterns import mrtr
from ..patterns.notifications import Cancelled, Progress, RequestLog
from .elicitation import Elicited, answered, shape

Value = TypeVar("Value")


class Context:
    """One attempt at one request.

    The methods that ask (`elicit`, `elicit_url`, `sample`, `list_roots`, `ask`) return the answer if the client has
    given it; otherwise they end the round, and the handler is run again from its first line when the answer is there
    (deterministic replay). So whatever stands before a question is done again: ask first, act afterwards.

    An answer belongs to its question: message, schema, URL, messages, all of it. A question that differs from what was
    answered is asked anew, so that a price which changes between two rounds is not paid with the consent to the old
    one. `key` names a question on the wire; left out, it is made from the question itself and how often this attempt
    has asked it, so that a loop asks anew each time. Under a key that is given, a question has one answer however often
    it is asked, and two different ones are a ValueError.
    """

    def __init__(self, request: Request, attempt: "mrtr.Round", logs: bool = True) -> None:
        self._request = request
        self._round = attempt
        self._logs = logs
        self._sending = threading.Lock()

    @property
    def request_id(self) -> Optional[RequestId]:
        """The JSON-RPC id of this attempt."""
        return self._request.id

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's `_meta`."""
        return self._request.meta

    @property
    def client_info(self) -> Mapping[str, Any]:
        """What the client says it is, {} where it does not; for display and logs only (META-15, META-16)."""
        info: Mapping[str, Any] = self._request.meta.get(CLIENT_INFO) or {}
        return info

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client declared on this request."""
        return self._request.capabilities

    @property
    def principal(self) -> Optional[Any]:
        """Who the request is from, as the token verifier said; None without authorization."""
        return self._request.principal

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's header fields by name in lower case, but those that hold credentials; {} elsewhere than HTTP.

        For display, logs and routing: a header is what the client, or a proxy on the way, says of itself.
        """
        head = self._request.head
        return {} if head is None else {name: head.headers[name] for name in head.headers if name not in CREDENTIALS}

    @property
    def trace(self) -> Mapping[str, str]:
        """The well-formed ones of `traceparent`, `tracestate` and `baggage` in the request's `_meta`."""
        return trace_context(self._request.meta)

    @property
    def protocol_version(self) -> str:
        """The revision that this request is served by."""
        return self._request.version

    @property
    def input_responses(self) -> Mapping[str, Any]:
        """The answers so far by key, a read-only copy. Not bound to questions: nothing here says what was answered.

        To act on an answer, read it with `input_response`, or ask with `elicit` and its like.
        """
        return MappingProxyType(deepcopy(self._round.answers))

    def input_response(self, key: str, question: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
        """The raw answer to this very question, for handlers that return InputRequired themselves; None without one.

        question: the request that is returned under `key` where there is no answer, as form, link, sampling and roots
        make it.
        """
        return deepcopy(self._round.answer(key, question))

    @property
    def request_state(self) -> Any:
        """The handler's own state from its last InputRequired; None in the first round."""
        return self._round.state

    answers, state = input_responses, request_state

    @property
    def round(self) -> int:
        """0 on the first attempt, one more on each retry."""
        return self._round.number

    def ask(self, questions: Mapping[str, Dict[str, Any]]) -> Dict[str, Any]:
        """Several questions in one round: key to request, as form, link, sampling and roots make them.

        Returns key to raw answer once all are there; until then the round ends with those still open.
        """
        return deepcopy(self._round.ask(questions))

    def _ask_one(self, question: Dict[str, Any], key: Optional[str]) -> Tuple[str, Any]:
        key, answer = self._round.ask_one(question, key)
        return key, deepcopy(answer)

    @overload
    def elicit(self, message: str, fields: Mapping[str, Any], key: Optional[str] = None,
               required: Optional[Iterable[str]] = None) -> Elicited[Dict[str, Any]]: ...

    @overload
    def elicit(self, message: str, fields: Type[Value], key: Optional[str] = None) -> Elicited[Value]: ...

    @overload
    def elicit(self, message: str, fields: Any, key: Optional[str] = None) -> Elicited[Any]: ...

    def elicit(self, message: str, fields: Any, key: Any = None,
               required: Optional[Iterable[str]] = None) -> Elicited[Any]:
        """Ask the user to fill a form (client/elicitation).

        fields: property name to a primitive schema, a whole object schema, or a type: a dataclass, a TypedDict, an
        Enum, a Literal, bool, int, float or str, of which the answer's `value` then is. required: the names that must
        be filled, all by default. The answer has been validated against the schema, formats included.
        """
        if isinstance(fields, str):  # key, message, fields: the order of 0.1.0
            key, message, fields = message, fields, key
        asked = shape(message, fields, required)
        key, answer = self._ask_one(asked.question, key)
        return answered(key, answer, asked)

    def elicit_url(self, message: str, url: str, key: Optional[str] = None) -> Elicited[Any]:
        """Ask the user to open a URL; accepting says that the user agreed to, not that it is done."""
        return Elicited(self._ask_one(mrtr.link(message, url), key)[1])

    def sample(self, messages: Any, max_tokens: int, key: Optional[str] = None, **params: Any) -> Dict[str, Any]:
        """Have the client's model complete `messages` (a text or SamplingMessages); returns a CreateMessageResult.

        params: further members of the request, such as systemPrompt, temperature or tools (client/sampling).
        """
        result: Dict[str, Any] = self._ask_one(mrtr.sampling(messages, max_tokens, **params), key)[1]
        return result

    def list_roots(self, key: Optional[str] = None) -> List[Dict[str, Any]]:
        """The client's roots, objects with `uri` and perhaps `name`."""
        listed: List[Dict[str, Any]] = self._ask_one(mrtr.roots(), key)[1]["roots"]
        return listed

    @cached_property
    def _progress(self) -> Progress:
        return Progress(self._request)

    @cached_property
    def _log(self) -> RequestLog:
        return RequestLog(self._request, self._logs)

    def progress(self, progress: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Report progress, if the client asked for it, from any thread; what does not increase is not sent."""
        self.check_cancelled()
        with self._sending:
            self._progress.report(progress, total, message)

    def log(self, level: str, data: Any, logger: Optional[str] = None) -> None:
        """Send a log message to the client, if it asked for this level or a lower one (server/utilities/logging).

        level: one of the eight of RFC 5424. data: any JSON value, without secrets. Raises ValueError.
        """
        self.check_cancelled()
        with self._sending:
            self._log.send(level, data, logger)

    def close_stream(self) -> None:
        """Let the client's connection go and the work go on: a client of 2025-11-25 comes back for the rest by itself.

        For work of minutes behind a proxy that cuts connections off. With any other client nothing happens.
        """
        with self._sending:
            if self._request.outlet is not None:
                self._request.outlet.hang_up()

    @property
    def cancelled(self) -> bool:
        """Whether the client has gone away or cancelled the request."""
        return self._request.cancelled

    def check_cancelled(self) -> None:
        """Raise Cancelled, which ends the handler, once the request is cancelled."""
        if self._request.cancelled:
            raise Cancelled()

    def close(self) -> None:
        """The handler has ended: a thread it left behind reports to nobody (PROG-09)."""
        with self._sending:
            self._request.notify = self._request.outlet = None
