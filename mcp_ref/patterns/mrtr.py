"""basic/patterns/mrtr: a result that asks, and the retry that answers.

Implements MRTR-01, MRTR-04 to MRTR-06, MRTR-14 to MRTR-17, MRTR-24 to MRTR-27; ELIC-10, ELIC-17 to ELIC-20,
ELIC-34; ROOT-04, ROOT-06.

The flow of one request that asks, with deterministic replay:

    tools/call {}                          the handler runs, `ctx.elicit("a", …)` finds no answer: it stops there
      <- input_required, inputRequests {a}, requestState S1      S1 seals: nothing gathered, asked {a}
    tools/call {} inputResponses {a}, requestState S1
                                           the handler runs again from the top; "a" is answered, "b" is not
      <- input_required, inputRequests {b}, requestState S2      S2 seals: gathered {a: …}, asked {b}
    tools/call {} inputResponses {b}, requestState S2
      <- complete

An answer belongs to its question. It counts only under a key that the sealed state shows to have been asked, so the
client sends just its newest answers and cannot slip in one to a question that it was never shown. And it counts only
for the very question that was asked: S2 holds a digest of "a" beside the answer, and where "a" is another question
by then, be it one word of its message, the answer is dropped and the question asked.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NoReturn, Optional, Tuple

from ..base.errors import InvalidParams, SchemaError
from ..base.headers import NAMED_BY
from ..base.log import log
from ..base.meta import require_capabilities
from ..base.request import Request
from ..lib.strict_json import encode
from ..lib.text import shown
from ..lib.uri import is_uri, parsed, percent_decoded
from .sampling import check_messages, check_params, check_sampled
from .state_sealer import Claim, StateSealer, digest

if TYPE_CHECKING:
    from ..lib.json_schema import Schema

METHODS = ("tools/call", "prompts/get", "resources/read")
ELICITATION, SAMPLING, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
RESULTS = {ELICITATION: "ElicitResult", SAMPLING: "CreateMessageResult", ROOTS: "ListRootsResult"}
ACTIONS = ("accept", "decline", "cancel")
PRIMITIVES = ("string", "number", "integer", "boolean", "array")
MODES = ("form", "url")
FORMATS = ("email", "uri", "date", "date-time")
"""All that a text in a form can be."""
MAX_ANSWERS = 128 * 1024
"""Octets of the answers that travel on to a further round, as JSON; what a requestState holds is bounded."""
MAX_ASKED = 1000
"""How often one attempt may ask under one key: an answer stays what it is, so waiting for another is endless."""

_CLIMBING = r"[/\\]\.\.(?:[/\\?#]|$)|[\x00-\x1f\x7f]"


class InputRequired(BaseException):
    """Ends the round: raised by `ctx.elicit` and its like, or returned or raised by a handler itself.

    input_requests: key to input request, as `form`, `link`, `sampling` and `roots` make them. request_state: the
    handler's own state, any JSON value but null, found in `ctx.request_state` next time, and after rounds that
    `ctx.elicit` and its like end in between. It derives from BaseException so that a handler's `except Exception` does
    not swallow the question; one that a bare except swallows is asked all the same, when the handler ends.

    Raises TypeError or ValueError for requests that are none, and where there is neither (MRTR-06, MRTR-14).
    """

    def __init__(self, input_requests: Optional[Mapping[str, Dict[str, Any]]] = None,
                 request_state: Any = None) -> None:
        super().__init__("input required")
        if not isinstance(input_requests or {}, Mapping):
            raise TypeError(f"input_requests maps keys to input requests, which {shown(input_requests)} does not")
        self.input_requests = dict(input_requests or {})
        self.request_state = request_state
        if not self.input_requests and request_state is None:
            raise ValueError("InputRequired is given input_requests, a request_state or both")
        for key, request in self.input_requests.items():
            if not isinstance(key, str):
                raise TypeError(f"the key of an input request is a text, not {shown(key)}")
            if not isinstance(request, Mapping) or not isinstance(request.get("params", {}), Mapping):
                raise TypeError(f"the input request {shown(key)} is an object with method and params, as form, link, "
                                f"sampling and roots make it, not {shown(request)}")
            needed_capability(request)


def asked_in(error: BaseException) -> Optional[InputRequired]:
    """The InputRequired that `error` is, or that an exception group consists of, all its questions in one; else None.

    A task group wraps whatever its tasks raise; a group with anything else in it is a failure.
    """
    if isinstance(error, InputRequired):
        return error
    found = [asked_in(each) for each in getattr(error, "exceptions", ())]
    if not found or None in found:
        return None
    listed = [each for each in found if each is not None]
    states = [each.request_state for each in listed if each.request_state is not None]
    return InputRequired({key: request for each in listed for key, request in each.input_requests.items()},
                         states[0] if states else None)


def link(message: str, url: str) -> Dict[str, Any]:
    """An elicitation in URL mode: the user is asked to open `url`; nothing but consent comes back."""
    return {"method": ELICITATION, "params": {"mode": "url", "message": message, "url": url}}


def sampling(messages: Any, max_tokens: int, **params: Any) -> Dict[str, Any]:
    """A sampling request (client/sampling). messages: a text, or a list of SamplingMessage objects. params: its further
    members, by their names on the wire.

    Raises TypeError for a max_tokens that is no whole number, and for a member that there is not.
    """
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int):
        raise TypeError(f"max_tokens is a whole number, after the messages and before the key, not {max_tokens!r}")
    if isinstance(messages, str):
        messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
    params = {"messages": messages, "maxTokens": max_tokens, **params}
    check_params(params)
    return {"method": SAMPLING, "params": params}


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


def check_question(key: str, request: Mapping[str, Any]) -> None:
    """Raise ValueError for what nobody may be asked."""
    params = request.get("params") or {}
    if request["method"] == SAMPLING:
        check_messages(params.get("messages"))
    elif request["method"] == ELICITATION:
        if not isinstance(params.get("message"), str):
            raise ValueError(f"the question {shown(key)} must have a message, a text for the user")
        if params.get("mode", "form") == "form":
            _check_form(params, params.get("requestedSchema"))
        elif not isinstance(params.get("url"), str) or not is_uri(params["url"]):
            raise ValueError(f"{_named(params)} must have a valid URL, which {shown(params.get('url'))} is not")


def check_sent(request: Mapping[str, Any]) -> None:
    """Raise SchemaError or TypeError for what the schema has not in a question that may otherwise be asked.

    A client may overlook it; a server does not send it.
    """
    params = request.get("params") or {}
    if request["method"] == SAMPLING:
        check_params(params)
    elif request["method"] == ELICITATION and params.get("mode", "form") == "form":
        for name, field in params["requestedSchema"].get("properties", {}).items():
            if field.get("format", FORMATS[0]) not in FORMATS:
                raise SchemaError(f"the format of field {shown(name)} of {_named(params)} is {', '.join(FORMATS)}, or "
                                  f"none, not {shown(field['format'])}")
            values = [*field.get("enum", ()), *([field["default"]] if "default" in field else [])]
            if any(_compiled(field).errors(value) for value in values):
                raise SchemaError(f"field {shown(name)} of {_named(params)} has a default or a choice that it does "
                                  "not allow")


def _named(params: Mapping[str, Any]) -> str:
    return f"the question {shown(params['message'])}"


def _check_form(params: Mapping[str, Any], schema: Any) -> None:
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise SchemaError(f"requestedSchema of {_named(params)} must be an object schema")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise SchemaError(f"requestedSchema of {_named(params)} must have properties, an object")
    for name, field in properties.items():
        if not isinstance(field, Mapping) or field.get("type") not in PRIMITIVES:
            raise SchemaError(f"field {shown(name)} of {_named(params)} must be a string, number, boolean or enum; it "
                              "is flat")
        items = field.get("items")
        if field["type"] == "array" and not (isinstance(items, Mapping) and ("enum" in items or "anyOf" in items)):
            raise SchemaError(f"field {shown(name)} of {_named(params)} must have items with enum, or anyOf for titles")
    unknown = [name for name in schema.get("required", ()) if name not in properties]
    if unknown:
        raise SchemaError(f"{_named(params)} requires {shown(unknown[0])}, for which it has no field, so nobody could "
                          "answer it")
    _compiled(schema)


def _compiled(schema: Mapping[str, Any]) -> "Schema":
    from ..lib.json_schema import compile_schema  # a client loads it with the first form that it is asked

    return compile_schema(schema, formats=True)


class Incomplete(InvalidParams):
    """An accepted form without a field that it needs: not sent by a client; a server asks again (MRTR-27)."""


def check_answer(key: str, request: Mapping[str, Any], answer: Any) -> Dict[str, Any]:
    """What `answer` says to `request`: of an answer that is not accepted, or to a URL, nothing but its action.

    Fields of a form that were not asked for are left out (MRTR-26). Raises InvalidParams unless it is a result that
    `request` can have (MRTR-24, MRTR-25, ELIC-34), Incomplete where a form lacks a required field.
    """
    where = f"inputResponses.{key}"
    method = request["method"]
    if not isinstance(answer, dict):
        raise InvalidParams(f"Invalid params: {where} must be an object, the {RESULTS[method]}")
    if method == ELICITATION:
        return _form_answer(where, request["params"], answer)
    if method == ROOTS:
        listed = answer.get("roots")
        if not isinstance(listed, list) or not all(_is_root(root) for root in listed):
            raise InvalidParams(f"Invalid params: {where}.roots must be an array of roots: each an object with uri, a "
                                "valid file:// URI with a path and no .. in it, and name, a text, or none")
    else:
        try:
            check_sampled(request.get("params") or {}, answer)
        except ValueError as error:
            raise InvalidParams(f"Invalid params: {where}: {error}") from None
    return answer


def _is_root(value: Any) -> bool:
    """Whether a value is a root: a `file://` URI that does not climb, and a text or nothing for its name (ROOT-06)."""
    if not isinstance(value, dict) or not isinstance(value.get("name", ""), str):
        return False
    try:
        text: Any = value.get("uri")
        uri, plain = parsed(text), percent_decoded(text).decode("utf-8", "replace")
    except (TypeError, ValueError):
        return False
    return uri.scheme == "file" and uri.host is not None and uri.path[:1] == "/" and not re.search(_CLIMBING, plain)


def _form_answer(where: str, params: Mapping[str, Any], answer: Mapping[str, Any]) -> Dict[str, Any]:
    action = answer.get("action")
    if action not in ACTIONS:
        raise InvalidParams(f"Invalid params: {where}.action must be accept, decline or cancel")
    if action != "accept" or params.get("mode") == "url":
        return {"action": action}
    content = answer.get("content", {})
    if not isinstance(content, dict):
        raise InvalidParams(f"Invalid params: {where}.content must be an object")
    schema = params["requestedSchema"]
    violations = _compiled(schema).errors(content)
    for violation in sorted(violations, key=lambda each: each.keyword == "required"):
        kind = Incomplete if violation.keyword == "required" else InvalidParams
        raise kind("Invalid params: " + violation.text(f"{where}.content"))
    return {"action": action, "content": {name: content[name] for name in schema.get("properties", ())
                                          if name in content}}


class Round:
    """One attempt at a request, and what is known from the attempts before it.

    number: 0 for the first attempt. state: the handler's own, from `InputRequired.request_state`. principal, audience:
    as of the Claim that states are bound to. unasked: whether an answer counts that no state shows asked.

    Raises InvalidParams for a requestState that is not ours for this claim, and for answers that their questions cannot
    have.
    """

    def __init__(self, request: Request, sealer: StateSealer, principal: str, audience: str,
                 unasked: bool = False) -> None:
        self._request, self._sealer, self._unasked = request, sealer, unasked
        self._principal, self._audience = principal, audience
        self.number = 0
        self.state: Any = None
        self._gathered: Dict[str, List[Any]] = {}  # key to the digest of the question and its answer
        self._asking: Dict[str, List[Any]] = {}  # key to the digest of the question in this attempt, and how often
        self._repeats: Dict[str, int] = {}  # digest of a question to how often this attempt asked it without a key
        self.open: Dict[str, Any] = {}  # the questions of this attempt that have no answer
        given, token = request.params.get("inputResponses"), request.params.get("requestState")
        if given is not None and not isinstance(given, dict):
            raise InvalidParams("Invalid params: inputResponses must be an object")
        self._given: Dict[str, Any] = given or {}
        self._stateless = token is None
        if token is not None:
            self.number, self._gathered, asked, self.state = sealer.open(token, self._claim())
            for key, question in asked.items():
                if key in self._given:
                    self._gather(key, question)

    def _claim(self) -> Claim:
        method, params = self._request.method, self._request.params
        target = params[NAMED_BY[method]] if method in NAMED_BY else ""
        return Claim(self._principal, method, target, params.get("arguments", {}), self._audience)

    def _gather(self, key: str, request: Mapping[str, Any]) -> None:
        """Take the answer that this request brings, unless it is incomplete."""
        with suppress(Incomplete):
            self._gathered[key] = [digest(request), check_answer(key, request, self._given[key])]

    @property
    def answers(self) -> Dict[str, Any]:
        """The answers of earlier rounds and the valid new ones, by key, whatever they were asked."""
        return {key: answer for key, (_, answer) in self._gathered.items()}

    def answer(self, key: str, request: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
        """The answer to this very question; None where it has not been answered.

        Raises ValueError where the attempt has asked something else under this key.
        """
        return self._answer(key, request, digest(request))

    def _answer(self, key: str, request: Mapping[str, Any], mark: str) -> Optional[Dict[str, Any]]:
        self._note(key, mark)
        found = self._gathered.get(key)
        if found is None and self._unasked and key in self._given:
            self._gather(key, request)
            found = self._gathered.get(key)
        if found is not None and found[0] != mark:
            log.info("what was asked as %s has changed since it was answered, and is asked anew", shown(key))
            del self._gathered[key]
            found = None
        return None if found is None else found[1]

    def ask_one(self, question: Dict[str, Any], key: Optional[str] = None) -> Tuple[str, Dict[str, Any]]:
        """The key and the answer of a question; raises InputRequired until it is there.

        A question without a key is given one: at each attempt the same for the same question, asked as often.
        """
        mark = digest(question)
        if key is None:
            count = self._repeats[mark] = self._repeats.get(mark, 0) + 1
            key = f"{mark[:16]}-{count}"
        answer = self._answer(key, question, mark)
        return (key, answer) if answer is not None else self._open({key: question})

    def ask(self, questions: Mapping[str, Dict[str, Any]]) -> Dict[str, Any]:
        """Key to answer once all of `questions` are answered; until then raises InputRequired with those still open."""
        if not isinstance(questions, Mapping):
            raise TypeError(f"ask takes a dict of key to request, not {shown(questions)}")
        found = {key: self.answer(key, question) for key, question in questions.items()}
        asked = {key: question for key, question in questions.items() if found[key] is None}
        return self._open(asked) if asked else found

    def _open(self, asked: Dict[str, Dict[str, Any]]) -> NoReturn:
        required = InputRequired(asked)
        self.open.update(asked)
        raise required

    def _note(self, key: str, mark: str) -> None:
        """Hold on to the digest under a key in this attempt, so that it stands for one question."""
        if not isinstance(key, str):
            raise TypeError(f"the key of a question is a text, not {shown(key)}")
        seen = self._asking.setdefault(key, [mark, 0])
        seen[1] += 1
        if seen[0] != mark:
            raise ValueError(f"the key {shown(key)} stands for two different questions; give each a key of its own, or "
                             "ask with ctx.elicit or its like without a key")
        if seen[1] > MAX_ASKED:
            raise ValueError(f"the key {shown(key)} was asked {MAX_ASKED} times in one attempt; an answer does not "
                             "change, and a question that is asked again needs another key, or none")

    def result(self, required: InputRequired, capabilities: Mapping[str, Any]) -> Dict[str, Any]:
        """The InputRequiredResult that asks all that is open, its state sealed.

        Raises ValueError for a question that nobody may be asked, MissingClientCapability, which names all that the
        client lacks; InvalidParams where a question is already answered by a request without the state that shows it
        was asked, and for answers so far of more than MAX_ANSWERS.
        """
        for key, request in required.input_requests.items():
            if self.open.get(key) is not request:
                self._note(key, digest(request))
        requests = {**self.open, **required.input_requests}
        for key, request in requests.items():
            check_question(key, request)
            check_sent(request)
        require_capabilities(capabilities, [needed_capability(request) for request in requests.values()])
        if self._stateless and not self._unasked and any(key in self._given for key in requests):
            raise InvalidParams("Invalid params: retry must carry the requestState returned with input_required")
        gathered = {key: answer for key, answer in self._gathered.items() if key not in requests}
        if gathered and len(encode([answer for _, answer in gathered.values()])) > MAX_ANSWERS:
            raise InvalidParams(f"Invalid params: inputResponses exceed {MAX_ANSWERS} octets in all rounds together")
        state = required.request_state
        if state is None and required.input_requests.keys() <= self.open.keys():
            state = self.state  # which `ctx.elicit` and its like, asking in between, say nothing of
        content = [self.number + 1, gathered, requests, state]
        result: Dict[str, Any] = {"resultType": "input_required",
                                  "requestState": self._sealer.seal(self._claim(), content)}
        if requests:
            result["inputRequests"] = requests
        return result
