"""server/tools, inputSchema: how a handler is called, as its own signature says.

Implements TOOL-13. A handler is a function, a bound method, a functools.partial, or an object with __call__; plain or
async. Each parameter is an argument, but for the Context, which goes to the one that is named `ctx` or annotated
Context. What an annotation is in JSON is told in `typed`.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..base.errors import SchemaError
from ..lib.typed.annotations import At, evaluated, is_union
from ..lib.typed.scalars import Typed, Unfit, same
from ..lib.typed.typed import Maker
from .context import Context

_READS_AS_CONTEXT = r"(?s)(?:.*[\[.\s|'\"])?Context(?:[\]\s|'\",].*)?"
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Parameters(NamedTuple):
    """What a function takes. context: the parameter that is given the Context, None where there is none. rest: the
    others. positional: those without a name for a caller. at: where its annotations stand. returns: what it returns,
    Parameter.empty where it does not say.
    """

    context: Optional[inspect.Parameter]
    rest: List[inspect.Parameter]
    positional: Tuple[inspect.Parameter, ...]
    at: At
    returns: Any


def handler(function: Any, yields: bool = False) -> Callable[..., Any]:
    """`function` if it can be a handler, a static method unwrapped. yields: whether it may be a plain generator.

    Raises SchemaError that says what to register in its place.
    """
    if isinstance(function, staticmethod):
        function = function.__func__
    name = getattr(function, "__qualname__", None) or repr(function)
    if isinstance(function, classmethod):
        raise SchemaError(f"{function.__func__.__qualname__}: a class method has no class yet inside of its body; "
                          "register Class.method below the class")
    if isinstance(function, type):
        raise SchemaError(f"{name}: a class is no handler; register a function, a bound method, or an object with "
                          "__call__")
    if not callable(function):
        raise SchemaError(f"{function!r} is no function; options go by their names, as in @server.tool(name=…)")
    code = _code(function)
    if inspect.isasyncgenfunction(code) or not yields and inspect.isgeneratorfunction(code):
        raise SchemaError(f"{name}: a generator is no handler; report with ctx.progress, and return what there is, or "
                          "a list of it")
    return typing.cast(Callable[..., Any], function)


def _inner(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _code(function: Any) -> Any:
    """The function that runs when a handler is called."""
    function = _inner(function)
    return function if inspect.isroutine(function) else type(function).__call__


def name_of(function: Any) -> str:
    """What a handler is called: its own name, or that of the class of an object."""
    inner = _inner(function)
    return str(getattr(function, "__name__", None) or getattr(inner, "__name__", None) or type(inner).__name__)


def doc_of(function: Any) -> Optional[str]:
    """The docstring of a handler."""
    inner = _inner(function)
    doc = inner.__doc__ if inspect.isroutine(inner) else type(inner).__call__.__doc__ or type(inner).__doc__
    return doc if isinstance(doc, str) else None


def parameters(function: Callable[..., Any]) -> Parameters:
    """The Parameters of a handler. Raises SchemaError where no caller could tell what to give it."""
    where = getattr(_inner(function), "__qualname__", None) or name_of(function)
    try:
        read = inspect.signature(function)
    except (TypeError, ValueError, NameError) as error:
        raise SchemaError(f"{where}: its parameters cannot be read: {error}; write a function that calls it") from None
    bound = function.keywords if isinstance(function, functools.partial) else {}
    listed = [each for each in (*read.parameters.values(), *_of_wrapper(function, read, where))
              if each.name not in bound]
    body = where.rpartition(".")[0]
    if listed and listed[0].name in ("self", "cls") and body and not body.endswith("<locals>"):
        raise SchemaError(f"{where}: a method is registered once it is bound, as server.tool(obj."
                          f"{where.rpartition('.')[2]}), for nobody gives it {listed[0].name}")
    code = inspect.unwrap(_code(function))
    names = {**(getattr(code, "__globals__", None) or {}),  # PyPy's own functions have None
             **{variable.__name__: variable for variable in getattr(code, "__type_params__", ())}}
    at = At(where, names)
    given = [each for each in listed if each.kind not in _VARIADIC
             and (each.name == "ctx" or _is_context(each.annotation, names))]
    if len(given) > 1:
        raise SchemaError(f"{where}: the Context is given once, not as {' and '.join(each.name for each in given)}")
    return Parameters(given[0] if given else None, [each for each in listed if each not in given],
                      tuple(each for each in listed if each.kind is each.POSITIONAL_ONLY), at, read.return_annotation)


def _of_wrapper(function: Callable[..., Any], read: inspect.Signature, where: str) -> List[inspect.Parameter]:
    """What a decorator's wrapper takes besides `read`, which functools.wraps shows; SchemaError where it takes less."""
    try:
        own = inspect.signature(function, follow_wrapped=False).parameters
    except (TypeError, ValueError):  # a cache written in C, which takes what it wraps
        return []
    lost = [name for name in read.parameters if name not in own]
    if lost and not any(each.kind is each.VAR_KEYWORD for each in own.values()):
        raise SchemaError(f"{where}: the wrapper that its decorator puts around it does not take {', '.join(lost)} by "
                          "name; let it take *args and **kwargs")
    return [each for each in own.values() if each.name not in read.parameters and each.kind not in _VARIADIC]


def _is_context(annotation: Any, names: Mapping[str, Any]) -> bool:
    """Whether an annotation is Context, or an Optional or Annotated of it, be it imported for the type checker only."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        try:
            annotation = evaluated(annotation, names)
        except Exception:
            return re.fullmatch(_READS_AS_CONTEXT, annotation) is not None
        return _is_context(annotation, names)
    if hasattr(annotation, "__metadata__"):
        return _is_context(annotation.__origin__, names)
    if is_union(annotation):
        return any(_is_context(part, names) for part in typing.get_args(annotation))
    return isinstance(annotation, type) and issubclass(annotation, Context)


class Signature(NamedTuple):
    """How a handler is called.

    schema: its inputSchema. context: the parameter that is given the Context, "" for none. converts: what to do to
    which argument. whole: whether it takes all arguments as one dict. positional, returns, at: as of Parameters.
    """

    schema: Dict[str, Any]
    context: str
    converts: Dict[str, Callable[[Any], Any]]
    whole: bool
    positional: Tuple[inspect.Parameter, ...]
    returns: Any
    at: At


def invoke(function: Callable[..., Any], values: Dict[str, Any], positional: Sequence[inspect.Parameter]) -> Any:
    """Call `function` with `values` by their names, but for those parameters that have none for a caller."""
    first = [values.pop(each.name, each.default) for each in positional]
    return function(*first, **values)


def signature(function: Callable[..., Any], schema: Optional[Dict[str, Any]] = None) -> Signature:
    """The Signature of a handler: `schema` where given, otherwise what the annotations say.

    With a schema of its own, a handler whose only other parameter is named `arguments` gets them as one dict, and any
    other gets them as they came. A default of None allows null. Raises SchemaError.
    """
    found = parameters(function)
    context = "" if found.context is None else found.context.name
    if schema is not None:
        whole = [each.name for each in found.rest] == ["arguments"]
        if not whole:
            _check_given(schema, found)
        return Signature(schema, context, {}, whole, found.positional, found.returns, found.at)
    maker = Maker()
    parts: Dict[str, Tuple[inspect.Parameter, Typed, At]] = {}
    for each in found.rest:
        at = found.at._replace(where=f"{found.at.where}({each.name})")
        if each.kind in _VARIADIC:
            raise SchemaError(f"{at.where}: a handler takes named parameters; name them (a decorator's wrapper does "
                              "with functools.wraps), or give input_schema= and take `arguments`, one dict")
        made = maker.make(each.annotation, at)
        parts[each.name] = each, maker.optional(made) if each.default is None else made, at
    properties = {name: {**made.schema, **_default(maker, each, made, at)} for name, (each, made, at) in parts.items()}
    whole_schema: Dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [each.name for each in found.rest if each.default is each.empty]
    if required:
        whole_schema["required"] = required
    converts = {name: made.convert for name, (_, made, _) in parts.items() if made.convert is not same}
    return Signature(maker.rooted(Typed(whole_schema)).schema, context, converts, False,
                     found.positional, found.returns, found.at)


def _default(maker: Maker, parameter: inspect.Parameter, made: Typed, at: At) -> Dict[str, Any]:
    """The `default` of a schema. Raises SchemaError for one that is not of the annotation."""
    if parameter.default is parameter.empty or parameter.default is None:
        return {}
    if made.schema:
        return {"default": maker.default_json(made, parameter.default, at)}
    try:
        return {"default": made.dump(parameter.default)}
    except Unfit:  # a mark of the author's own; anything goes where nothing is annotated
        return {}


def _check_given(schema: Dict[str, Any], found: Parameters) -> None:
    """Raise SchemaError for an inputSchema that lets through what the handler cannot be called with."""
    advice = f"{found.at.where}: its input_schema must have %s; or take `arguments`, one dict"
    named = {each.name: each for each in found.rest if each.kind not in _VARIADIC}
    if not any(each.kind is each.VAR_KEYWORD for each in found.rest):
        if schema.get("additionalProperties") is not False or "patternProperties" in schema:
            raise SchemaError(advice % "additionalProperties: false, and no patternProperties")
        extra = [name for name in schema.get("properties", {}) if name not in named]
        if extra:
            raise SchemaError(advice % f"only properties that the handler has parameters for, not {', '.join(extra)}")
    for name, each in named.items():
        if each.default is each.empty and name not in schema.get("required", ()):
            raise SchemaError(advice % f"{name} among the required, for the parameter has no default")
