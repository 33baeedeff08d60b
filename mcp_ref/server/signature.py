"""server/tools, inputSchema: a schema from a function's annotations, and arguments turned back into their types.

Implements TOOL-13. What each annotation becomes:

    str, int, float, bool, None     the JSON type
    list[T], dict[str, T]           array of T, object with values of T
    Optional[T], Union[T, U]        anyOf
    Literal["a", 1], an Enum class  enum of the values
    TypedDict, dataclass            object with these properties
    Annotated[T, "text"]            the schema of T with this description
    Annotated[T, {"minimum": 1}]    the schema of T with these members
    Any, or no annotation           anything
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import typing
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from ..base.errors import SchemaError
from ..base.jsonrpc import encode

_SIMPLE = {str: "string", float: "number", bool: "boolean", type(None): "null"}


def _same(value: Any) -> Any:
    return value


class Typed(NamedTuple):
    """The schema of an annotation, and what turns a valid JSON value into the annotated type."""

    schema: Dict[str, Any]
    convert: Callable[[Any], Any] = _same


def typed(annotation: Any, where: str) -> Typed:
    """The Typed of one annotation. Raises SchemaError, naming `where`, for one that has no schema."""
    if hasattr(annotation, "__metadata__"):
        return _annotated(annotation, where)
    if annotation in (Any, inspect.Parameter.empty):
        return Typed({})
    if annotation in _SIMPLE:
        return Typed({"type": _SIMPLE[annotation]})
    if annotation is int:
        return Typed({"type": "integer"}, lambda value: int(value) if isinstance(value, float) else value)
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is typing.Literal:
        return Typed({"enum": list(arguments)})
    if arguments and (origin is Union or type(annotation).__name__ == "UnionType"):
        return _union(arguments, where)
    if origin in (list, List):
        return _array(arguments, where)
    if origin in (dict, Dict):
        return _object(arguments, where)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return Typed({"enum": [member.value for member in annotation]}, annotation)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _dataclass(annotation, where)
    if hasattr(annotation, "__required_keys__"):
        return _members(typing.get_type_hints(annotation, include_extras=True), annotation.__required_keys__, where)
    raise SchemaError(f"{where}: no JSON Schema for the annotation {annotation!r}; give the schema itself")


def _annotated(annotation: Any, where: str) -> Typed:
    schema, convert = typed(annotation.__origin__, where)
    for note in annotation.__metadata__:
        if isinstance(note, (str, dict)):
            schema = {**schema, **({"description": note} if isinstance(note, str) else note)}
    return Typed(schema, convert)


def _union(arguments: Tuple[Any, ...], where: str) -> Typed:
    parts = [typed(argument, where) for argument in arguments]
    schema = {"anyOf": [part.schema for part in parts]}
    real = [part.convert for part, argument in zip(parts, arguments) if argument is not type(None)]
    return Typed(schema, lambda value: real[0](value) if len(real) == 1 and value is not None else value)


def _array(arguments: Tuple[Any, ...], where: str) -> Typed:
    if not arguments or isinstance(arguments[0], typing.TypeVar):
        return Typed({"type": "array"})
    schema, convert = typed(arguments[0], where)
    return Typed({"type": "array", "items": schema}, lambda value: [convert(item) for item in value])


def _object(arguments: Tuple[Any, ...], where: str) -> Typed:
    if not arguments or isinstance(arguments[0], typing.TypeVar):
        return Typed({"type": "object"})
    if arguments[0] is not str:
        raise SchemaError(f"{where}: the keys of a JSON object are strings, not {arguments[0]!r}")
    schema, convert = typed(arguments[1], where)
    return Typed({"type": "object", "additionalProperties": schema},
                 lambda value: {name: convert(member) for name, member in value.items()})


def _members(hints: Dict[str, Any], required: typing.Collection[str], where: str) -> Typed:
    """An object with a property for each hint, in their order."""
    parts = {name: typed(hint, f"{where}.{name}") for name, hint in hints.items()}
    schema: Dict[str, Any] = {"type": "object", "properties": {name: part.schema for name, part in parts.items()}}
    if required:
        schema["required"] = [name for name in hints if name in required]
    return Typed(schema, lambda value: {name: parts[name].convert(member) if name in parts else member
                                        for name, member in value.items()})


def _dataclass(annotation: Any, where: str) -> Typed:
    fields = [field for field in dataclasses.fields(annotation) if field.init]
    hints = typing.get_type_hints(annotation, include_extras=True)
    missing = dataclasses.MISSING
    required = [field.name for field in fields if field.default is missing and field.default_factory is missing]
    schema, convert = _members({field.name: hints[field.name] for field in fields}, required, where)
    return Typed({**schema, "additionalProperties": False}, lambda value: annotation(**convert(value)))


class Signature(NamedTuple):
    """How a handler is called.

    schema: its inputSchema. takes_context: whether `ctx` comes first. converts: what to do to which argument.
    whole: whether it takes all arguments as one dict. returns: the annotation of what it returns, or None.
    """

    schema: Dict[str, Any]
    takes_context: bool
    converts: Dict[str, Callable[[Any], Any]]
    whole: bool
    returns: Any

    def call(self, function: Callable[..., Any], context: Any, arguments: Dict[str, Any]) -> Any:
        """Call `function` with valid `arguments`, each turned into its annotated type."""
        first = (context,) if self.takes_context else ()
        if self.whole:
            return function(*first, arguments)
        converted = {name: self.converts.get(name, _same)(value) for name, value in arguments.items()}
        return function(*first, **converted)


def parameters(function: Callable[..., Any]) -> Tuple[bool, List[inspect.Parameter]]:
    """Whether a function is given the Context, as a first parameter named ctx, and its other parameters."""
    listed = list(inspect.signature(function).parameters.values())
    takes_context = bool(listed) and listed[0].name == "ctx"
    return takes_context, listed[1:] if takes_context else listed


def signature(function: Callable[..., Any], schema: Optional[Dict[str, Any]] = None) -> Signature:
    """The Signature of a handler: `schema` where given, otherwise what the annotations say.

    A first parameter named ctx is given the Context. With a schema of its own, a handler whose only other parameter
    is named `arguments` gets them as one dict. Raises SchemaError.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise SchemaError(f"{function.__qualname__}: an annotation cannot be resolved: {error}") from None
    takes_context, rest = parameters(function)
    returns = hints.get("return")
    if schema is not None:
        whole = [parameter.name for parameter in rest] == ["arguments"]
        return Signature(schema, takes_context, {}, whole, returns)
    properties: Dict[str, Any] = {}
    converts: Dict[str, Callable[[Any], Any]] = {}
    for parameter in rest:
        where = f"{function.__qualname__}({parameter.name})"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise SchemaError(f"{where}: a handler takes named parameters; for others give the schema itself")
        made, converts[parameter.name] = typed(hints.get(parameter.name, Any), where)
        properties[parameter.name] = {**made, **_default(parameter)}
    whole_schema: Dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [parameter.name for parameter in rest if parameter.default is parameter.empty]
    if required:
        whole_schema["required"] = required
    return Signature(whole_schema, takes_context, converts, False, returns)


def _default(parameter: inspect.Parameter) -> Dict[str, Any]:
    """The `default` of a schema, if the parameter's is a JSON value."""
    value = parameter.default.value if isinstance(parameter.default, enum.Enum) else parameter.default
    try:
        encode(value)
    except (TypeError, ValueError):
        return {}
    return {} if value is None else {"default": value}
