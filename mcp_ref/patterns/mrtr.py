"""basic/patterns/mrtr: a result that asks, and the retry that answers.

Implements MRTR-01, MRTR-04 to MRTR-06, MRTR-14 to MRTR-17, MRTR-24 to MRTR-27; ELIC-05 to ELIC-12, ELIC-14,
ELIC-15, ELIC-17 to ELIC-20, ELIC-34; ROOT-04, ROOT-06.

The flow of one request that asks, with deterministic replay:

    tools/call {}                          the handler runs, `ctx.elicit("a", …)` finds no answer: it stops there
      <- input_required, inputRequests {a}, requestState S1      S1 seals: nothing gathered, asked {a}
    tools/call {} inputResponses {a}, requestState S1
                                           the handler runs again from the top; "a" is answered, "b" is not
      <- input_required, inputRequests {b}, requestState S2      S2 seals: gathered {a: …}, asked {b}
    tools/call {} inputResponses {b}, requestState S2
      <- complete

An answer counts only under a key that the sealed state shows to have been asked; so the client sends just its newest
answers, and cannot slip in one to a question that it was never shown.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, Mapping, Optional
from urllib.parse import unquote

from ..base.errors import InvalidParams, SchemaError
from ..base.json_schema import compile_schema
from ..base.jsonrpc import encode, shown
from ..base.meta import require_capabilities
from .sampling import check_messages, check_sampled
from .state_sealer import Claim, StateSealer

METHODS = ("tools/call", "prompts/get", "resources/read")
ELICITATION, SAMPLING, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
RESULTS = {ELICITATION: "ElicitResult", SAMPLING: "CreateMessageResult", ROOTS: "ListRootsResult"}
ACTIONS = ("accept", "decline", "cancel")
PRIMITIVES = ("string", "number", "integer", "boolean", "array")
MODES = ("form", "url")
MAX_ANSWERS = 128 * 1024
"""Octets of the answers that travel on to a further round, as JSON; what a requestState holds is bounded."""

_URL = re.compile(r"(?!https?:(?!//[^/?#]))[A-Z][A-Z0-9+.-]*:"
                  r"(?:[^\x00-\x20\x7f-\xa0\"<>\\^`{|}%]|%[0-9A-F]{2})+", re.IGNORECASE)
_FILE = re.compile(r"file://[^/?#]*/")
_CLIMBING = re.compile(r"[/\\]\.\.(?:[/\\?#]|$)|[\x00-\x1f\x7f]")


class InputRequired(BaseException):
    """Ends the round: raised by `ctx.elicit` and its like, or returned or raised by a handler itself.

    requests: key to input request, as `form`, `link`, `sampling` and `roots` make them. state: the handler's own
    state, any JSON value, found in `ctx.state` next time. It derives from BaseException so that a handler's
    `except Exception` does not swallow the question.
    """

    def __init__(self, requests: Optional[Mapping[str, Dict[str, Any]]] = None, state: Any = None) -> None:
        super().__init__("input required")
        self.requests = dict(requests or {})
        self.state = state


def form(message: str, fields: Mapping[str, Any], required: Optional[Iterable[str]] = None) -> Dict[str, Any]:
    """An elicitation in form mode (client/elicitation, Form Mode).

    fields: property name to primitive schema, or a whole requestedSchema with `type: object`. required: the names
    that must be answered, all of them by default.
    """
    if fields.get("type") == "object" and isinstance(fields.get("properties"), Mapping):
        schema = dict(fields)
    else:
        schema = {"type": "object", "properties": dict(fields),
                  "required": list(fields if required is None else required)}
    return {"method": ELICITATION, "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def link(message: str, url: str) -> Dict[str, Any]:
    """An elicitation in URL mode: the user is asked to open `url`; nothing but consent comes back."""
    return {"method": ELICITATION, "params": {"mode": "url", "message": message, "url": url}}


def sampling(messages: Any, max_tokens: int, **params: Any) -> Dict[str, Any]:
    """A sampling request (client/sampling). messages: a text, or a list of SamplingMessage objects."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
    return {"method": SAMPLING, "params": {"messages": messages, "maxTokens": max_tokens, **params}}


def roots() -> Dict[str, Any]:
    """A roots request (client/roots)."""
    return {"method": ROOTS, "params": {}}


def needed_capability(request: Mapping[str, Any]) -> Dict[str, Any]:
    """The client capability that an input request needs, form and url mode apart (MRTR-15, ELIC-05)."""
    method, params = request.get("method"), request.get("params") or {}
    if method == ELICITATION:
        mode = params.get("mode", "form")
        if mode not in MODES:
            raise ValueError(f"the mode of an elicitation is form or url, not {shown(mode)}")
        return {"elicitation": {mode: {}}}
    if method == SAMPLING:
        inner: Dict[str, Any] = {"tools": {}} if "tools" in params or "toolChoice" in params else {}
        if params.get("includeContext") in ("thisServer", "allServers"):
            inner["context"] = {}
        return {"sampling": inner}
    if method == ROOTS:
        return {"roots": {}}
    raise ValueError(f"an input request is {ELICITATION}, {SAMPLING} or {ROOTS}, not {shown(method)}")


def check_question(key: str, request: Mapping[str, Any], capabilities: Mapping[str, Any]) -> None:
    """Raise MissingClientCapability (-32021) unless the client can answer; ValueError for what nobody may be asked."""
    if not isinstance(key, str):
        raise ValueError(f"the key of an input request is a text, not {shown(key)}")
    require_capabilities(capabilities, [needed_capability(request)])
    params = request.get("params") or {}
    if request["method"] == SAMPLING:
        check_messages(params.get("messages"))
    elif request["method"] == ELICITATION:
        if not isinstance(params.get("message"), str):
            raise ValueError(f"{shown(key)} must have a message, a text for the user")
        if params.get("mode", "form") == "form":
            _check_form(key, params.get("requestedSchema"))
        elif not isinstance(params.get("url"), str) or not _URL.fullmatch(params["url"]):
            raise ValueError(f"{shown(key)} must have a valid URL, which {shown(params.get('url'))} is not")


def _check_form(key: str, schema: Any) -> None:
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise SchemaError(f"requestedSchema of {shown(key)} must be an object schema")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise SchemaError(f"requestedSchema of {shown(key)} must have properties, an object")
    for name, field in properties.items():
        if not isinstance(field, Mapping) or field.get("type") not in PRIMITIVES:
            raise SchemaError(f"field {shown(name)} of {shown(key)} must be a string, number, boolean or enum")
        items = field.get("items")
        if field["type"] == "array" and not (isinstance(items, Mapping) and ("enum" in items or "anyOf" in items)):
            raise SchemaError(f"field {shown(name)} of {shown(key)} must have items with enum, or anyOf for titles")
    compile_schema(schema, formats=True)


def check_answer(key: str, request: Mapping[str, Any], answer: Any) -> None:
    """Raise InvalidParams unless `answer` is a result that `request` can have (MRTR-24, ELIC-34)."""
    where = f"inputResponses.{key}"
    method = request["method"]
    if not isinstance(answer, dict):
        raise InvalidParams(f"Invalid params: {where} must be an object, the {RESULTS[method]}")
    if method == ELICITATION:
        _check_elicited(where, request["params"], answer)
    elif method == ROOTS:
        listed = answer.get("roots")
        if not isinstance(listed, list) or not all(_is_root(root) for root in listed):
            raise InvalidParams(f"Invalid params: {where}.roots must be an array of roots: each an object with uri, a "
                                "valid file:// URI with a path and no .. in it, and name, a text, or none")
    else:
        try:
            check_sampled(answer)
        except ValueError as error:
            raise InvalidParams(f"Invalid params: {where}: {error}") from None


def _is_root(value: Any) -> bool:
    """Whether a value is a root: a `file://` URI that does not climb, and a text or nothing for its name (ROOT-06)."""
    if not isinstance(value, dict) or not isinstance(value.get("name", ""), str):
        return False
    uri = value.get("uri")
    return (isinstance(uri, str) and bool(_FILE.match(uri)) and bool(_URL.fullmatch(uri))
            and not _CLIMBING.search(unquote(uri)))


def _check_elicited(where: str, params: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    if answer.get("action") not in ACTIONS:
        raise InvalidParams(f"Invalid params: {where}.action must be accept, decline or cancel")
    if answer["action"] != "accept" or params.get("mode") == "url":
        return
    content = answer.get("content")
    if not isinstance(content, dict):
        raise InvalidParams(f"Invalid params: {where}.content must be an object")
    violations = compile_schema(params["requestedSchema"], formats=True).errors(content)
    if violations:
        raise InvalidParams("Invalid params: " + violations[0].text(f"{where}.content"))


class Round:
    """One attempt at a request, and what is known from the attempts before it.

    number: 0 for the first attempt. answers: those of earlier rounds and the valid new ones, by key. state: the
    handler's own, from `InputRequired.state`. Raises InvalidParams for a requestState that is not ours for this
    claim, and for answers that their questions cannot have.
    """

    def __init__(self, params: Mapping[str, Any], sealer: StateSealer, claim: Claim, unasked: bool = False) -> None:
        self._sealer, self._claim, self._unasked = sealer, claim, unasked
        self.number = 0
        self.answers: Dict[str, Any] = {}
        self.state: Any = None
        asked: Dict[str, Any] = {}
        given = params.get("inputResponses")
        if given is not None and not isinstance(given, dict):
            raise InvalidParams("Invalid params: inputResponses must be an object")
        self._given: Dict[str, Any] = given or {}
        token = params.get("requestState")
        if token is not None:
            self.number, self.answers, asked, self.state = sealer.open(token, claim)
        for key, request in asked.items():
            if key in self._given:
                check_answer(key, request, self._given[key])
                self.answers[key] = self._given[key]

    def answer(self, key: str, request: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
        """The answer to one question; None where it has not been answered."""
        if self._unasked and key not in self.answers and key in self._given:
            check_answer(key, request, self._given[key])
            self.answers[key] = self._given[key]
        found: Optional[Dict[str, Any]] = self.answers.get(key)
        return found

    def result(self, required: InputRequired, capabilities: Mapping[str, Any]) -> Dict[str, Any]:
        """The InputRequiredResult that asks, its state sealed.

        Raises MissingClientCapability; InvalidParams where a question is already answered by a request that does not
        show it was asked, and for answers so far of more than MAX_ANSWERS.
        """
        require_capabilities(capabilities, map(needed_capability, required.requests.values()))
        for key, request in required.requests.items():
            check_question(key, request, capabilities)
            if key in self._given and key not in self.answers:
                raise InvalidParams("Invalid params: retry must carry the requestState returned with input_required")
        if self.answers and len(encode(self.answers)) > MAX_ANSWERS:
            raise InvalidParams(f"Invalid params: inputResponses exceed {MAX_ANSWERS} octets in all rounds together")
        content = [self.number + 1, self.answers, required.requests, required.state]
        result: Dict[str, Any] = {"resultType": "input_required",
                                  "requestState": self._sealer.seal(self._claim, content)}
        if required.requests:
            result["inputRequests"] = required.requests
        return result
