"""What a handler is given: `ctx`, its view of the request it serves and its way to ask, report and log."""

from __future__ import annotations

import threading
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional

from ..base.meta import CLIENT_INFO
from ..base.request import CREDENTIALS, Request, RequestId
from ..base.trace_context import trace_context
from ..patterns import mrtr
from ..patterns.cancellation import Cancelled
from ..patterns.progress import Progress
from .logging import RequestLog


class Elicited(Mapping[str, Any]):
    """An ElicitResult: `action` is accept, decline or cancel; the fields of the form are its items."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.action: str = result["action"]
        self.content: Dict[str, Any] = result.get("content", {}) if self.accepted else {}  # nothing else was validated

    @property
    def accepted(self) -> bool:
        """Whether the user agreed; only then are there fields."""
        return self.action == "accept"

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)

    def __bool__(self) -> bool:
        return self.accepted

    def __repr__(self) -> str:
        return f"Elicited({self.action!r}, {sorted(self.content)})"


class Context:
    """One attempt at one request.

    The methods that ask (`elicit`, `elicit_url`, `sample`, `list_roots`, `ask`) return the answer if the client has
    given it; otherwise they end the round, and the handler is run again from its first line when the answer is there
    (deterministic replay). So whatever stands before a question is done again: ask first, act afterwards.
    """

    def __init__(self, request: Request, attempt: "mrtr.Round", logs: bool = True) -> None:
        self._request = request
        self._round = attempt
        self._progress: Optional[Progress] = None
        self._logs = logs
        self._log: Optional[RequestLog] = None
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
    def answers(self) -> Mapping[str, Any]:
        """The raw answers so far, by key, for handlers that return InputRequired themselves."""
        return self._round.answers

    @property
    def state(self) -> Any:
        """The handler's own state from the InputRequired of the last round; None in the first."""
        return self._round.state

    @property
    def round(self) -> int:
        """0 on the first attempt, one more on each retry."""
        return self._round.number

    def ask(self, questions: Mapping[str, Dict[str, Any]]) -> Dict[str, Any]:
        """Several questions in one round: key to request, as mrtr.form, link, sampling and roots make them.

        Returns key to raw answer once all are there; until then the round ends with those still open.
        """
        found = {key: self._round.answer(key, question) for key, question in questions.items()}
        missing = {key: question for key, question in questions.items() if found[key] is None}
        if missing:
            raise mrtr.InputRequired(missing)
        return found

    def elicit(self, key: str, message: str, fields: Mapping[str, Any],
               required: Optional[Iterable[str]] = None) -> Elicited:
        """Ask the user to fill a form (client/elicitation).

        fields: property name to a primitive schema, or a whole object schema. required: the names that must be
        filled, all by default. The answer has been validated against the schema, formats included.
        """
        return Elicited(self.ask({key: mrtr.form(message, fields, required)})[key])

    def elicit_url(self, key: str, message: str, url: str) -> Elicited:
        """Ask the user to open a URL; accepting says that the user agreed to, not that it is done."""
        return Elicited({"action": self.ask({key: mrtr.link(message, url)})[key]["action"]})

    def sample(self, key: str, messages: Any, max_tokens: int, **params: Any) -> Dict[str, Any]:
        """Have the client's model complete `messages` (a text or SamplingMessages); returns a CreateMessageResult."""
        result: Dict[str, Any] = self.ask({key: mrtr.sampling(messages, max_tokens, **params)})[key]
        return result

    def list_roots(self, key: str = "roots") -> List[Dict[str, Any]]:
        """The client's roots, objects with `uri` and perhaps `name`."""
        listed: List[Dict[str, Any]] = self.ask({key: mrtr.roots()})[key]["roots"]
        return listed

    def progress(self, progress: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Report progress, if the client asked for it, from any thread; what does not increase is not sent."""
        self.check_cancelled()
        with self._sending:
            if self._progress is None:
                self._progress = Progress(self._request)
            self._progress.report(progress, total, message)

    def log(self, level: str, data: Any, logger: Optional[str] = None) -> None:
        """Send a log message to the client, if it asked for this level or a lower one (server/utilities/logging).

        level: one of the eight of RFC 5424. data: any JSON value, without secrets. Raises ValueError.
        """
        self.check_cancelled()
        with self._sending:
            if self._log is None:
                self._log = RequestLog(self._request, self._logs)
            self._log.send(level, data, logger)

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
            self._request.notify = None
