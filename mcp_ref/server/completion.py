"""server/utilities/completion: suggestions for the arguments of prompts and the variables of resource templates.

Implements COMP-02 to COMP-08, COMP-10, COMP-14.
"""

from __future__ import annotations

import inspect
from itertools import islice
from typing import Any, Callable, Dict, List, Mapping, Optional, Sized

from ..authorization.scopes import permit
from ..base.errors import InvalidParams, SchemaError
from ..base.request import Request
from ..lib.text import shown
from .definitions import Completer, Registered
from .invoke import run
from .signature import handler, invoke, parameters
from .state import State

MAX_VALUES = 100

def completer(function: Callable[..., Any]) -> Completer:
    """The Completer that calls `function` with as much as it takes.

    It takes the text typed so far and, if it has a second parameter, the values of the other arguments so far (a dict
    of texts), and the Context as a handler does. It returns texts, the most relevant first, or yields them;
    only what fits into an answer is taken from a generator. It may be async, but it cannot ask.

    Raises SchemaError for a function with other parameters.
    """
    function = handler(function, yields=True)
    found = parameters(function)
    names = [each.name for each in found.rest]
    kinds, parameter = {each.kind for each in found.rest}, inspect.Parameter
    several = parameter.VAR_POSITIONAL in kinds and found.context is None
    taken = {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
    if len(names) not in (1, 2) or kinds - (taken | {parameter.VAR_POSITIONAL} if several else taken):
        raise SchemaError("a completer takes ctx if it wants it, the value, and if it wants them the other values")

    def suggest(context: Any, value: str, others: Dict[str, str]) -> Any:
        if several:
            return function(value, others)
        values: Dict[str, Any] = dict(zip(names, (value, others)))
        if found.context is not None:
            values[found.context.name] = context
        return invoke(function, values, found.positional)
    return suggest


def choices(properties: Mapping[str, Any], where: str) -> Dict[str, Completer]:
    """Completers for those parameters of a handler that can have certain values only.

    properties: of the schema of its Signature. Raises SchemaError for a parameter that is annotated as anything but
    text: str, what a text stands for such as a date, Literal or Enum of texts, or Optional.
    """
    found = {}
    for name, schema in properties.items():
        inner = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
        allowed = inner[0].get("enum") if inner else None
        texts = allowed is None or all(isinstance(value, str) for value in allowed)
        if len(inner) != 1 or "string" not in inner[0].get("type", "string") or not texts:
            raise SchemaError(f"{where}: {name} arrives as text; annotate it str, date and the like, or Literal or "
                              "Enum of texts")
        if allowed is not None:
            found[name] = _chooser(allowed)
    return found


def _chooser(allowed: List[str]) -> Completer:
    def suggest(context: Any, value: str, others: Dict[str, str]) -> List[str]:
        typed = value.casefold()
        found = [choice for choice in allowed if typed in choice.casefold()]
        return sorted(found, key=lambda choice: not choice.casefold().startswith(typed))
    return suggest


def register(found: Optional[Registered], target: str, argument: str, function: Callable[..., Any]) -> None:
    """Let `function` complete an argument of what is called `target`. Raises SchemaError, ValueError."""
    if found is None:
        raise ValueError(f"there is no prompt or resource template {target} to complete arguments of")
    if argument not in found.arguments:
        raise ValueError(f"{target} has no argument {argument}, only {', '.join(found.arguments) or 'none at all'}")
    found.completers = {**found.completers, argument: completer(function)}


def advertise(state: State, methods: Dict[str, Any], capabilities: Dict[str, Any]) -> None:
    """Add the capability and the method of this page, if anything can be completed (COMP-02, COMP-03)."""
    if any(item.completers for item in (*state.prompts.values(), *state.resource_templates.values())):
        capabilities["completions"] = {}
        methods["completion/complete"] = complete


def complete(state: State, request: Request) -> Dict[str, Any]:
    """completion/complete. Raises InvalidParams for what is not there or malformed (COMP-04, COMP-05, COMP-10).

    An argument that nobody completes has no suggestions; one that does not exist is an error.
    """
    referred = find(state, _member(request.params, "ref", dict, "params"))
    permit(state.auth, request, referred.scopes)
    handler = check(referred, request.params)
    return finish(run(state, request, handler))


def _member(values: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    value = values.get(name)
    if not isinstance(value, kind):
        what = "a string" if kind is str else "an object"
        raise InvalidParams(f"Invalid params: {where}.{name} is required and must be {what}")
    return value


def find(state: State, ref: Mapping[str, Any]) -> Registered:
    """What `ref` names. A URI stands for the template that it matches, unless it is that of a resource."""
    if ref.get("type") == "ref/prompt":
        prompt: Registered = state.prompts.find(_member(ref, "name", str, "ref"))
        return prompt
    if ref.get("type") != "ref/resource":
        raise InvalidParams("Invalid params: ref.type must be ref/prompt or ref/resource")
    uri = _member(ref, "uri", str, "ref")
    template: Optional[Registered] = state.resource_templates.get(uri)
    if template is None and uri not in state.resources:
        template = next((each for each in state.resource_templates.values() if each.match(uri) is not None), None)
    if template is None:
        raise InvalidParams(f"Invalid params: unknown resource template {shown(uri)}", {"uri": uri})
    return template


def check(referred: Registered, params: Mapping[str, Any]) -> Callable[[Any], Any]:
    """What suggests values for the argument that `params` name. Raises InvalidParams."""
    argument = _member(params, "argument", dict, "params")
    name, value = _member(argument, "name", str, "argument"), _member(argument, "value", str, "argument")
    others = _member({"arguments": {}, **_member({"context": {}, **params}, "context", dict, "params")},
                     "arguments", dict, "context")
    if not all(isinstance(other, str) for other in others.values()):
        raise InvalidParams("Invalid params: context.arguments must be an object of strings")
    if name not in referred.arguments:
        raise InvalidParams(f"Invalid params: there is no argument {shown(name)} to complete")
    suggest = referred.completers.get(name)

    def handler(context: Any) -> Any:
        values: Any = [] if suggest is None else suggest(context, value, others)
        counted = isinstance(values, Sized) or hasattr(type(values), "__await__")
        return values if counted else iter(list(islice(values, MAX_VALUES + 1)))  # a generator's code runs here
    return handler


def finish(values: Any) -> Dict[str, Any]:
    """The CompleteResult: at most MAX_VALUES, the total where it is known, and whether there are more."""
    if isinstance(values, (str, bytes)):
        raise TypeError("a completer returns several texts, not one")
    if isinstance(values, Mapping):
        raise TypeError("a completer returns a list of texts, not a dict")
    taken = list(islice(values, MAX_VALUES + 1))
    if not all(isinstance(value, str) for value in taken):
        raise TypeError("a completer returns texts only")
    more = len(taken) > MAX_VALUES
    total: Optional[int] = len(values) if isinstance(values, Sized) else None if more else len(taken)
    completion: Dict[str, Any] = {"values": taken[:MAX_VALUES], "hasMore": more}
    if total is not None:
        completion["total"] = total
    return {"resultType": "complete", "completion": completion}
