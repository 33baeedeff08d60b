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

Convert = Optional[Callable[[Any], Any]]
_SIMPLE = {str: "string", float: "number", bool: "boolean", type(None): "null"}
_UNION_TYPES = (Union, getattr(__import__("types"), "UnionType", Union))


class Typed(NamedTuple):
    """The schema of an annotation, and what turns a valid JSON value into the annotated type (None: itself)."""

    schema: Dict[str, Any]
    convert: Convert = None


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value


def typed(annotation: Any, where: str) -> Typed:
    """The Typed of one annotation. Raises SchemaError, naming `where`, for one that has no schema."""
    if hasattr(annotation, "__metadata__"):
        return _annotated(annotation, where)
    if annotation in (Any, inspect.Parameter.empty):
        return Typed({})
    if annotation in _SIMPLE:
        return Typed({"type": _SIMPLE[annotation]})
    if annotation is int:
        return Typed({"type": "integer"}, _whole)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return Typed({"enum": list(arguments)})
    if origin in _UNION_TYPES and arguments:
        return _union(arguments, where)
    if annotation in (list, List) or origin is list:
        return _array(arguments, where)
    if annotation in (dict, Dict) or origin is dict:
        return _object(arguments, where)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return Typed({"enum": [member.value for member in annotation]}, annotation)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _dataclass(annotation, where)
    if hasattr(annotation, "__total__"):
        return _typed_dict(annotation, where)
    raise SchemaError(f"{where}: no JSON Schema for the annotation {annotation!r}; give the schema itself")


def _annotated(annotation: Any, where: str) -> Typed:
    inner = typed(annotation.__origin__, where)
    schema = dict(inner.schema)
    for note in annotation.__metadata__:
        if isinstance(note, str):
            schema["description"] = note
        elif isinstance(note, dict):
            schema.update(note)
    return Typed(schema, inner.convert)


def _union(arguments: Tuple[Any, ...], where: str) -> Typed:
    parts = [typed(argument, where) for argument in arguments]
    real = [part for part, argument in zip(parts, arguments) if argument is not type(None)]
    convert: Convert = None
    if len(real) == 1 and real[0].convert is not None:
        inner = real[0].convert

        def convert(value: Any) -> Any:
            return None if value is None else inner(value)
    return Typed({"anyOf": [part.schema for part in parts]}, convert)


def _array(arguments: Tuple[Any, ...], where: str) -> Typed:
    if not arguments or isinstance(arguments[0], typing.TypeVar):
        return Typed({"type": "array"})
    item = typed(arguments[0], where)
    if item.convert is None:
        return Typed({"type": "array", "items": item.schema})
    inner = item.convert
    return Typed({"type": "array", "items": item.schema}, lambda value: [inner(element) for element in value])


def _object(arguments: Tuple[Any, ...], where: str) -> Typed:
    if len(arguments) < 2 or isinstance(arguments[0], typing.TypeVar):
        return Typed({"type": "object"})
    if arguments[0] is not str:
        raise SchemaError(f"{where}: the keys of a JSON object are strings, not {arguments[0]!r}")
    value = typed(arguments[1], where)
    schema = {"type": "object", "additionalProperties": value.schema}
    if value.convert is None:
        return Typed(schema)
    inner = value.convert
    return Typed(schema, lambda members: {name: inner(member) for name, member in members.items()})


def _members(hints: Dict[str, Any], required: List[str], where: str) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    parts = {name: typed(hint, f"{where}.{name}") for name, hint in hints.items()}
    schema: Dict[str, Any] = {"type": "object", "properties": {name: part.schema for name, part in parts.items()}}
    if required:
        schema["required"] = required
    return schema, {name: part.convert for name, part in parts.items() if part.convert is not None}


def _converted(value: Any, converts: Dict[str, Any]) -> Dict[str, Any]:
    return {name: converts[name](member) if name in converts else member for name, member in value.items()}


def _dataclass(annotation: Any, where: str) -> Typed:
    fields = [field for field in dataclasses.fields(annotation) if field.init]
    hints = typing.get_type_hints(annotation, include_extras=True)
    missing = dataclasses.MISSING
    required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
    schema, converts = _members({field.name: hints[field.name] for field in fields}, required, where)
    schema["additionalProperties"] = False
    return Typed(schema, lambda value: annotation(**_converted(value, converts)))


def _typed_dict(annotation: Any, where: str) -> Typed:
    hints = typing.get_type_hints(annotation, include_extras=True)
    required = [name for name in hints if name in annotation.__required_keys__]
    schema, converts = _members(hints, required, where)
    return Typed(schema, (lambda value: _converted(value, converts)) if converts else None)


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
        if self.converts:
            arguments = _converted(arguments, self.converts)
        if self.whole:
            return function(context, arguments) if self.takes_context else function(arguments)
        return function(context, **arguments) if self.takes_context else function(**arguments)


def _hints(function: Callable[..., Any]) -> Dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise SchemaError(f"{function.__qualname__}: an annotation cannot be resolved: {error}") from None


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
    hints = _hints(function)
    takes_context, rest = parameters(function)
    returns = hints.get("return")
    if schema is not None:
        whole = len(rest) == 1 and rest[0].name == "arguments"
        return Signature(schema, takes_context, {}, whole, returns)
    properties: Dict[str, Any] = {}
    required, converts = [], {}
    for parameter in rest:
        where = f"{function.__qualname__}({parameter.name})"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise SchemaError(f"{where}: a handler takes named parameters; for others give the schema itself")
        part = typed(hints.get(parameter.name, Any), where)
        properties[parameter.name] = _with_default(part.schema, parameter)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        if part.convert is not None:
            converts[parameter.name] = part.convert
    made: Dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        made["required"] = required
    return Signature(made, takes_context, converts, False, returns)


def _with_default(schema: Dict[str, Any], parameter: inspect.Parameter) -> Dict[str, Any]:
    default = parameter.default
    if isinstance(default, enum.Enum):
        default = default.value
    if default is None or default is parameter.empty:
        return schema
    try:
        encode(default)
    except (TypeError, ValueError):
        return schema
    return {**schema, "default": default}
