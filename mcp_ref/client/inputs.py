"""basic/patterns/mrtr, Client Requirements: a server's input requests, each given to the callback that answers it.

Implements MRTR-18, ELIC-08, ELIC-09; what a client can answer is what it declares, and nothing else.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..base.errors import InvalidParams, McpError, TransportError
from ..base.jsonrpc import shown
from ..base.meta import declares
from ..patterns import mrtr
from . import elicitation

OnElicit = Callable[[Dict[str, Any]], Any]
OnSample = Callable[[Dict[str, Any]], Dict[str, Any]]
OnListRoots = Callable[[], List[Dict[str, Any]]]
MODES = ("form", "url")


class Inputs:
    """The callbacks of a client, and the capabilities that follow from them.

    on_elicit: see client/elicitation. on_sample: params of sampling/createMessage to a CreateMessageResult.
    on_list_roots: the roots, a list of objects with `uri`. modes: the elicitation modes that on_elicit handles.
    """

    def __init__(self, on_elicit: Optional[OnElicit], on_sample: Optional[OnSample],
                 on_list_roots: Optional[OnListRoots], modes: Sequence[str]) -> None:
        if not modes or any(mode not in MODES for mode in modes):
            raise ValueError(f"elicit_modes are form, url or both, not {modes!r}")
        self._on_elicit, self._on_sample, self._on_list_roots = on_elicit, on_sample, on_list_roots
        self.capabilities: Dict[str, Any] = {}
        if on_elicit is not None:
            self.capabilities["elicitation"] = {mode: {} for mode in modes}
        if on_sample is not None:
            self.capabilities["sampling"] = {}
        if on_list_roots is not None:
            self.capabilities["roots"] = {}

    def answers(self, requests: Mapping[str, Any]) -> Dict[str, Any]:
        """Key to answer for all of a round's input requests.

        Raises TransportError for a request that the server may not make, before anybody is asked; InvalidParams for
        an answer of a callback that cannot be sent.
        """
        for key, request in requests.items():
            self._check(key, request)
        return {key: self._answer(key, request["method"], request.get("params", {}))
                for key, request in requests.items()}

    def _check(self, key: str, request: Any) -> None:
        where = f"the server's input request {shown(key)}"
        _check_form(where, request)
        try:
            needed = mrtr.needed_capability(request)
            needed.get("sampling", {}).pop("context", None)
            if not declares(self.capabilities, needed):
                kind = " ".join([request["method"], *needed.get("elicitation", ())])
                raise TransportError(f"{where} is {kind}, for which this client declared no capability")
            mrtr.check_question(key, request, mrtr.needed_capability(request))
        except TransportError:
            raise
        except (McpError, ValueError) as error:
            raise TransportError(f"{where} cannot be answered: {error}") from None

    def _answer(self, key: str, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        if method == mrtr.ELICITATION:
            assert self._on_elicit is not None
            return elicitation.result(key, params, self._on_elicit(params))
        answer: Any
        if method == mrtr.SAMPLING:
            assert self._on_sample is not None
            answer = self._on_sample(params)
        else:
            assert self._on_list_roots is not None
            answer = self._on_list_roots()
            answer = {"roots": answer} if isinstance(answer, list) else answer
        try:
            mrtr.check_answer(key, {"method": method, "params": params}, answer)
        except InvalidParams as error:
            raise InvalidParams(f"not sent: {error.message}") from None
        made: Dict[str, Any] = answer
        return made


def _check_form(where: str, request: Any) -> None:
    """Raise TransportError unless the members of an input request have their types, whatever it asks."""
    if not isinstance(request, dict) or not isinstance(request.get("params", {}), dict):
        raise TransportError(f"{where} is no request object")
    params = request.get("params", {})
    schema = params.get("requestedSchema", {})
    if not isinstance(schema, dict) or not isinstance(schema.get("properties", {}), dict):
        raise TransportError(f"{where} has a malformed requestedSchema")
    if not isinstance(params.get("mode", ""), str):
        raise TransportError(f"{where} has a malformed mode")
    if request.get("method") == mrtr.ELICITATION:
        if not isinstance(params.get("message"), str):
            raise TransportError(f"{where} has no message for the user")
        if elicitation.is_url(params) and not isinstance(params.get("url"), str):
            raise TransportError(f"{where} has no url")
