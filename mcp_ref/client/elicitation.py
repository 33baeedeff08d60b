"""client/elicitation and basic/patterns/mrtr, Client Requirements: a server's questions, and the callbacks that answer.

Implements ELIC-08, ELIC-09, ELIC-13, ELIC-54, MRTR-18, ROOT-03, SAMP-07, SAMP-09, SAMP-20. What a client has a
callback for is what it declares, and nothing else is answered.

An `on_elicit` callback is given the params of an elicitation/create request (`mode`, `message`, and `requestedSchema`
or `url`), and returns one of

    accept({"name": "Ada"})      the user agreed; content for a form, none for a URL
    decline()                    the user said no
    cancel()                     the user did not decide
    {"name": "Ada"}              short for accept({"name": "Ada"})
    {"action": "decline"}        an ElicitResult as it goes on the wire, unless the form itself has a field `action`
    None                         short for decline()

Fields left out take the schema's defaults. Whatever is accepted is validated against the schema, formats included.
`terminal` in cli/terminal is such a callback.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..base.errors import InvalidParams, MissingClientCapability, TransportError
from ..base.meta import require_capabilities
from ..lib.text import shown
from ..patterns import mrtr

OnElicit = Callable[[Dict[str, Any]], Any]
OnSample = Callable[[Dict[str, Any]], Dict[str, Any]]
OnListRoots = Callable[[], List[Dict[str, Any]]]


class ElicitResult(Dict[str, Any]):
    """An ElicitResult, made by accept, decline or cancel: a dict as it goes on the wire."""


def accept(content: Optional[Mapping[str, Any]] = None) -> ElicitResult:
    """The user agreed. content: field name to value for a form; leave it out for a URL."""
    return ElicitResult(action="accept") if content is None else ElicitResult(action="accept", content=dict(content))


def decline() -> ElicitResult:
    """The user said no."""
    return ElicitResult(action="decline")


def cancel() -> ElicitResult:
    """The user dismissed the question without deciding."""
    return ElicitResult(action="cancel")


def is_url(params: Mapping[str, Any]) -> bool:
    """Whether a question is in URL mode; without a mode it is a form (ELIC-13)."""
    return bool(params.get("mode", "form") == "url")


def defaults(schema: Mapping[str, Any]) -> Dict[str, Any]:
    """Field name to default, for the fields that have one (ELIC-16)."""
    properties = schema.get("properties", {})
    return {name: field["default"] for name, field in properties.items() if "default" in field}


def as_sent(params: Mapping[str, Any], returned: Any) -> Any:
    """What an on_elicit callback returned, as it would go on the wire; `mrtr.check_answer` judges it."""
    returned = decline() if returned is None else returned
    if not isinstance(returned, Mapping):
        return returned
    schema = {} if is_url(params) else params["requestedSchema"]
    whole = "action" in returned and "action" not in schema.get("properties", {})
    if not whole and not isinstance(returned, ElicitResult):
        returned = accept(returned)
    if returned["action"] != "accept" or is_url(params):
        return {"action": returned["action"]}
    content = returned.get("content", {})
    return {"action": "accept", "content": {**defaults(schema), **content} if isinstance(content, Mapping) else content}


def _parts(result: Mapping[str, Any]) -> Tuple[Dict[str, Any], Optional[str]]:
    """The requests and the state of an input_required result. Raises TransportError."""
    requests, state = result.get("inputRequests"), result.get("requestState")
    if requests is None and state is None:
        raise TransportError("the server's input_required result has neither inputRequests nor requestState")
    if not isinstance({} if requests is None else requests, dict) or not isinstance(state, (str, type(None))):
        raise TransportError("the server's input_required result has malformed inputRequests or requestState")
    return requests or {}, state


def asked(result: Mapping[str, Any]) -> mrtr.InputRequired:
    """What an input_required result asks, for who answers by hand. Raises TransportError for one that is malformed."""
    requests, state = _parts(result)
    try:
        return mrtr.InputRequired(requests, state)
    except (TypeError, ValueError) as error:
        raise TransportError(f"the server's input_required result is malformed: {error}") from None


class Inputs:
    """The callbacks of a client, and the capabilities that follow from them.

    on_elicit: see above. on_sample: params of sampling/createMessage to a CreateMessageResult. on_list_roots: the
    roots, a list of objects with `uri`. modes: the elicitation modes that on_elicit handles; ValueError for others.
    tools: whether on_sample hands `tools` and `toolChoice` to its model; what asks for them is refused otherwise.
    """

    def __init__(self, on_elicit: Optional[OnElicit], on_sample: Optional[OnSample],
                 on_list_roots: Optional[OnListRoots], modes: Sequence[str], tools: bool = False) -> None:
        if not modes or any(mode not in mrtr.MODES for mode in modes):
            raise ValueError(f"elicit_modes are form, url or both, not {modes!r}")
        self._callbacks: Dict[str, Any] = {
            mrtr.ELICITATION: on_elicit, mrtr.SAMPLING: on_sample, mrtr.ROOTS: on_list_roots}
        self.capabilities: Dict[str, Any] = {}
        if on_elicit is not None:
            self.capabilities["elicitation"] = {mode: {} for mode in modes}
        if on_sample is not None:
            self.capabilities["sampling"] = {"tools": {}} if tools else {}
        if on_list_roots is not None:
            self.capabilities["roots"] = {}

    def retry(self, result: Mapping[str, Any]) -> Dict[str, Any]:
        """What an input_required result adds to the retry: inputResponses, where something was asked; requestState.

        Raises TransportError for what a server may not ask, before anybody is asked; InvalidParams for an answer of a
        callback that cannot be sent.
        """
        requests, state = _parts(result)
        for key, request in requests.items():
            self._check(key, request)
        retry: Dict[str, Any] = {} if state is None else {"requestState": state}
        if requests:
            retry["inputResponses"] = {key: self._answer(key, request) for key, request in requests.items()}
        return retry

    def answer(self, request: Mapping[str, Any]) -> Any:
        """The result for a request that a server of an older era sends. Raises as `retry` does."""
        key = request["method"]
        self._check(key, request)
        return self._answer(key, request)

    def _check(self, key: str, request: Any) -> None:
        where = f"the server's input request {shown(key)}"
        if not isinstance(request, dict) or not isinstance(request.get("params", {}), dict):
            raise TransportError(f"{where} is no request object")
        capabilities = dict(self.capabilities)
        if "sampling" in capabilities:
            capabilities["sampling"] = {**capabilities["sampling"], "context": {}}  # asked for undeclared, it may be
        try:
            require_capabilities(capabilities, [mrtr.needed_capability(request)])
            mrtr.check_question(key, request)
        except MissingClientCapability:
            kind = " ".join([request["method"], *mrtr.needed_capability(request).get("elicitation", ())])
            raise TransportError(f"{where} is {kind}, for which this client declared no capability") from None
        except ValueError as error:
            raise TransportError(f"{where} cannot be answered: {error}") from None

    def _answer(self, key: str, request: Mapping[str, Any]) -> Any:
        method, params = request["method"], request.get("params", {})
        answer = self._callbacks[method]() if method == mrtr.ROOTS else self._callbacks[method](params)
        if method == mrtr.ELICITATION:
            answer = as_sent(params, answer)
        elif method == mrtr.ROOTS and isinstance(answer, list):
            answer = {"roots": answer}
        try:
            return mrtr.check_answer(key, request, answer)
        except InvalidParams as error:
            raise InvalidParams(f"not sent: {error.message}") from None
