"""server/utilities/completion: suggestions for the arguments of prompts and the variables of resource templates.

Implements COMP-02 to COMP-08, COMP-10, COMP-14.
"""

from __future__ import annotations

import inspect
from itertools import islice
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from ..authorization.resource_server import require_scopes
from ..base.errors import InvalidParams, SchemaError
from ..base.jsonrpc import shown
from ..base.request import Request
from .context import Context
from .running import attempt

if TYPE_CHECKING:
    from .prompts import Prompt
    from .resources import ResourceTemplate
    from .server import Server

MAX_VALUES = 100


class TextParameter(NamedTuple):
    """A parameter of a handler that the wire has as text.

    title, description: from its annotation. allowed: the only values it can have, None for any.
    """

    title: Optional[str]
    description: Optional[str]
    allowed: Optional[List[str]]


def text_parameters(properties: Mapping[str, Any], where: str) -> Dict[str, TextParameter]:
    """The parameters of a handler by name, from the schemas of its Signature.

    Raises SchemaError for one that is annotated as anything but text: str, Literal or Enum of texts, or Optional.
    """
    found = {}
    for name, schema in properties.items():
        inner = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
        allowed = inner[0].get("enum") if inner else None
        texts = allowed is None or all(isinstance(value, str) for value in allowed)
        if len(inner) != 1 or inner[0].get("type", "string") != "string" or not texts:
            raise SchemaError(f"{where}: {name} arrives as text; annotate it str, or Literal or Enum of texts")
        found[name] = TextParameter(schema.get("title"), schema.get("description"), allowed)
    return found


class Completer:
    """A function that suggests values for one argument.

    It is given the text typed so far and, if it takes a second parameter, the values of the other arguments so far
    (a dict of texts); the Context comes first if it takes `ctx`. It returns texts, the most relevant first, or yields
    them; only what fits into an answer is taken from a generator. It may be async, but it cannot ask.

    Raises SchemaError for a function with other parameters.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        self._takes_context = bool(parameters) and parameters[0].name == "ctx"
        rest = parameters[1:] if self._takes_context else parameters
        self._count = len(rest)
        if self._count not in (1, 2) or any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in rest):
            raise SchemaError("a completer takes ctx if it wants it, the value, and if it wants them the other values")
        self._function = function

    def call(self, context: Optional[Context], value: str, others: Dict[str, str]) -> Any:
        """What the function returns."""
        given = (value, others)[:self._count]
        return self._function(context, *given) if self._takes_context else self._function(*given)


def choices(parameters: Mapping[str, TextParameter]) -> Dict[str, Completer]:
    """Completers for the parameters that can have certain values only."""
    return {name: Completer(_chooser(parameter.allowed))
            for name, parameter in parameters.items() if parameter.allowed is not None}


def _chooser(allowed: List[str]) -> Callable[[str], List[str]]:
    def choose(value: str) -> List[str]:
        typed = value.casefold()
        found = [choice for choice in allowed if typed in choice.casefold()]
        return sorted(found, key=lambda choice: not choice.casefold().startswith(typed))
    return choose


def register(found: Union["Prompt", "ResourceTemplate", None], target: str, argument: str,
             function: Callable[..., Any]) -> None:
    """Let `function` complete an argument of what is called `target`. Raises SchemaError, ValueError."""
    if found is None:
        raise ValueError(f"there is no prompt or resource template {target} to complete arguments of")
    if argument not in found.arguments:
        raise ValueError(f"{target} has no argument {argument}, only {', '.join(found.arguments) or 'none at all'}")
    found.completers = {**found.completers, argument: Completer(function)}


def advertise(server: "Server", methods: Dict[str, Any], capabilities: Dict[str, Any]) -> None:
    """Add the capability and the method of this page, if anything can be completed (COMP-02, COMP-03)."""
    completed = [prompt.completers for prompt in server.prompts.values()]
    completed += [template.completers for template in server.resource_templates.values()]
    if any(completed):
        capabilities["completions"] = {}
        methods["completion/complete"] = complete


def complete(server: "Server", request: Request) -> Dict[str, Any]:
    """completion/complete. Raises InvalidParams for what is not there or malformed (COMP-04, COMP-05, COMP-10).

    An argument that nobody completes has no suggestions; one that does not exist is an error.
    """
    ref = _member(request.params, "ref", dict, "params")
    arguments, completers = _referred(server, request, ref)
    argument = _member(request.params, "argument", dict, "params")
    name, value = _member(argument, "name", str, "argument"), _member(argument, "value", str, "argument")
    others = _others(request.params)
    if name not in arguments:
        raise InvalidParams(f"Invalid params: there is no argument {shown(name)} to complete")
    completer = completers.get(name)
    if completer is None:
        return _result([])
    result = attempt(server, request, "", None, lambda context: completer.call(context, value, others), _result)
    if result["resultType"] != "complete":
        raise TypeError(f"the completer of {name} asks; only tools, prompts and resources can")
    return result


def _member(values: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    value = values.get(name)
    if not isinstance(value, kind):
        what = "a string" if kind is str else "an object"
        raise InvalidParams(f"Invalid params: {where}.{name} is required and must be {what}")
    return value


def _others(params: Mapping[str, Any]) -> Dict[str, str]:
    context = params.get("context", {})
    if not isinstance(context, dict):
        raise InvalidParams("Invalid params: context must be an object")
    others = context.get("arguments", {})
    if not isinstance(others, dict) or not all(isinstance(value, str) for value in others.values()):
        raise InvalidParams("Invalid params: context.arguments must be an object of strings")
    return others


def _referred(server: "Server", request: Request,
              ref: Mapping[str, Any]) -> Tuple[Iterable[str], Mapping[str, Completer]]:
    """The arguments of what `ref` names, and their completers. A URI stands for the template that it matches."""
    kind = ref.get("type")
    if kind == "ref/prompt":
        name = _member(ref, "name", str, "ref")
        prompt = server.prompts.get(name)
        if prompt is None:
            raise InvalidParams(f"Invalid params: unknown prompt {shown(name)}")
        require_scopes(server, request, prompt.scopes)
        return prompt.arguments, prompt.completers
    if kind == "ref/resource":
        uri = _member(ref, "uri", str, "ref")
        template = server.resource_templates.get(uri)
        if template is None and uri in server.resources:
            return (), {}
        if template is None:
            matching = (each for each in server.resource_templates.values() if each.match(uri) is not None)
            template = next(matching, None)
        if template is None:
            raise InvalidParams(f"Invalid params: unknown resource or template {shown(uri)}", {"uri": uri})
        require_scopes(server, request, template.scopes)
        return template.arguments, template.completers
    raise InvalidParams("Invalid params: ref.type must be ref/prompt or ref/resource")


def _result(values: Any) -> Dict[str, Any]:
    """The CompleteResult: at most MAX_VALUES, the total where it is known, and whether there are more."""
    if isinstance(values, (str, bytes)):
        raise TypeError("a completer returns several texts, not one")
    if isinstance(values, (list, tuple, set, frozenset, dict)):
        total: Optional[int] = len(values)
        taken = list(islice(values, MAX_VALUES))
        more = len(values) > MAX_VALUES
    else:
        taken = list(islice(values, MAX_VALUES + 1))
        more = len(taken) > MAX_VALUES
        total = None if more else len(taken)
        taken = taken[:MAX_VALUES]
    if not all(isinstance(value, str) for value in taken):
        raise TypeError("a completer returns texts only")
    completion: Dict[str, Any] = {"values": taken, "hasMore": more}
    if total is not None:
        completion["total"] = total
    return {"resultType": "complete", "completion": completion}
