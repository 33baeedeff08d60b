"""client/elicitation: what a user says to a server's question, and the check before it is sent.

Implements ELIC-13, ELIC-16, ELIC-54, and for callers' own callbacks the three actions of the page.

An `on_elicit` callback is given the params of an elicitation/create request (`mode`, `message`, and `requestedSchema`
or `url`), and returns one of

    accept({"name": "Ada"})      the user agreed; content for a form, none for a URL
    decline()                    the user said no
    cancel()                     the user did not decide
    {"name": "Ada"}              short for accept({"name": "Ada"})
    {"action": "decline"}        an ElicitResult as it goes on the wire, unless the form itself has a field `action`
    None                         short for decline()

Fields left out take the schema's defaults. Whatever is accepted is validated against the schema, formats included.
`terminal` in client/terminal is such a callback.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ..base.errors import InvalidParams
from ..base.jsonrpc import shown
from ..patterns.mrtr import ACTIONS, ELICITATION, check_answer


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


def result(key: str, params: Mapping[str, Any], returned: Any) -> Dict[str, Any]:
    """The ElicitResult to send for what a callback returned. Raises InvalidParams where it cannot be sent."""
    answer = _as_result(params, returned)
    if answer is None or answer.get("action") not in ACTIONS:
        raise InvalidParams(f"not sent: on_elicit returned {shown(returned)} for {shown(key)}; expected a dict or None")
    if answer["action"] != "accept":
        return {"action": answer["action"]}
    if is_url(params):
        return {"action": "accept"}
    content = answer.get("content", {})
    if isinstance(content, Mapping):
        content = {**defaults(params["requestedSchema"]), **content}
    made = {"action": "accept", "content": content}
    try:
        check_answer(key, {"method": ELICITATION, "params": params}, made)
    except InvalidParams as error:
        raise InvalidParams(f"not sent: {error.message}") from None
    return made


def _as_result(params: Mapping[str, Any], returned: Any) -> Optional[Mapping[str, Any]]:
    if returned is None:
        return decline()
    if isinstance(returned, ElicitResult):
        return returned
    if not isinstance(returned, Mapping):
        return None
    fields = {} if is_url(params) else params["requestedSchema"].get("properties", {})
    if "action" in returned and "action" not in fields:
        return returned
    return accept(returned)


def defaults(schema: Mapping[str, Any]) -> Dict[str, Any]:
    """Field name to default, for the fields that have one (ELIC-16)."""
    properties = schema.get("properties", {})
    return {name: field["default"] for name, field in properties.items() if "default" in field}
