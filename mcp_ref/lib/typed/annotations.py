"""Python's annotations as an author writes them: texts evaluated, fields of classes found, type variables filled in.

Nothing here knows of JSON. What comes from typing_extensions is known by its name, for it cannot be imported.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple, Type, Union

from ..errors import SchemaError


class At(NamedTuple):
    """Where an annotation stands. where: for messages. names: what its texts are evaluated with. types: of its
    TypeVars.
    """

    where: str
    names: Mapping[str, Any] = {}
    types: Mapping[Any, Any] = {}


UNKNOWN: Any = object()


class Field(NamedTuple):
    """A field of an object: its annotation as written, what that is evaluated with, whether it must be there, and its
    default if that is known.
    """

    name: str
    hint: Any
    names: Mapping[str, Any]
    required: bool
    default: Any = UNKNOWN


def fields_of(kind: Type[Any], out: bool, at: At) -> List[Field]:
    hints: Dict[str, Tuple[Any, Mapping[str, Any]]] = {}
    for base in reversed(kind.__mro__):
        hints.update((name, (hint, names_of(base))) for name, hint in _annotations(base).items())
    if is_typed_dict(kind):
        return [Field(name, hint, names, _is_required(hint, At(at.where, names), name in kind.__required_keys__))
                for name, (hint, names) in hints.items()]
    if not dataclasses.is_dataclass(kind):
        defaults = kind._field_defaults
        return [Field(name, *hints.get(name, (Any, {})), out or name not in defaults, defaults.get(name, UNKNOWN))
                for name in kind._fields]
    found = []
    params = kind.__dataclass_params__  # type: ignore[attr-defined]
    if not out and not params.init:
        raise SchemaError(f"{at.where}: {kind.__name__} has no __init__ of a dataclass; take its fields one by one")
    for field in kind.__dataclass_fields__.values():
        hint, names = hints.get(field.name, (field.type, {}))
        real = resolved(hint, At(f"{at.where}.{field.name}", names))
        extra = isinstance(real, dataclasses.InitVar) or real is dataclasses.InitVar
        if special(typing.get_origin(real) or real) == "ClassVar" or (extra if out else not field.init):
            continue
        missing = field.default is dataclasses.MISSING
        found.append(Field(field.name, getattr(real, "type", Any) if extra else real, names,
                            out or (missing and field.default_factory is dataclasses.MISSING),
                            UNKNOWN if missing else field.default))
    return found


def _annotations(kind: Type[Any]) -> Mapping[str, Any]:
    """Those of a class itself, without its bases, as they are written."""
    own: Any = getattr(inspect, "get_annotations", lambda kind: kind.__dict__.get("__annotations__", {}))
    found: Mapping[str, Any] = own(kind)
    return found


def _is_required(hint: Any, at: At, required: bool) -> bool:
    """Whether a TypedDict's key must be there, by its qualifiers first, which a text hides from Python itself."""
    hint = resolved(hint, at)
    name = special(typing.get_origin(hint))
    if name in ("Required", "NotRequired"):
        return name == "Required"
    if name == "ReadOnly" or hasattr(hint, "__metadata__"):
        inner = hint.__origin__ if hasattr(hint, "__metadata__") else typing.get_args(hint)[0]
        return _is_required(inner, at, required)
    return required


def bindings(kind: Type[Any], arguments: Sequence[Any]) -> Dict[Any, Any]:
    """What the TypeVars of a generic class, and of those it derives from, stand for."""
    found = dict(zip(getattr(kind, "__parameters__", ()), arguments))
    for base in kind.__mro__:
        for generic in base.__dict__.get("__orig_bases__", ()):
            for variable, value in zip(getattr(typing.get_origin(generic), "__parameters__", ()),
                                       typing.get_args(generic)):
                found.setdefault(variable, _substituted(value, found))
    return found


def _substituted(annotation: Any, types: Mapping[Any, Any]) -> Any:
    if not types:
        return annotation
    if isinstance(annotation, typing.TypeVar):
        return types.get(annotation, annotation)
    variables = getattr(annotation, "__parameters__", ())
    if not isinstance(variables, tuple) or typing.get_origin(annotation) is None or not set(variables) & set(types):
        return annotation
    return annotation[tuple(types.get(variable, variable) for variable in variables)]


def of_variable(variable: Any) -> Any:
    if variable.__constraints__:
        return Union[variable.__constraints__]
    return Any if variable.__bound__ is None else variable.__bound__


def resolved(annotation: Any, at: At) -> Any:
    """An annotation with a text evaluated and TypeVars filled in. Raises SchemaError for a text that has no meaning."""
    if isinstance(annotation, (str, typing.ForwardRef)):
        text, names = annotation, at.names
        if not isinstance(text, str):
            module: Any = getattr(annotation, "__forward_module__", None)  # by its name in newer Pythons
            text = text.__forward_arg__
            if module is not None:
                names = {**names, **vars(sys.modules[module] if isinstance(module, str) else module)}
        try:
            annotation = evaluated(text, names)
        except NameError as error:
            raise SchemaError(f"{at.where}: the annotation {text!r} cannot be resolved: {error}; import it at run "
                              "time, at the top of the module") from None
        except Exception as error:
            raise SchemaError(f"{at.where}: the annotation {text!r} cannot be resolved: {error}"
                              + "; write Union or Optional for this Python" * ("|" in text)) from None
        return resolved(annotation, at)
    return _substituted(annotation, at.types)


def evaluated(text: str, names: Mapping[str, Any]) -> Any:
    """What an annotation written as text means: by `names`, else by what is local where it is registered.

    Raises NameError, or whatever the text makes Python raise.
    """
    try:
        return eval(text, dict(names))
    except NameError as error:
        failure = error
    frame = inspect.currentframe()
    package = __name__.split(".", 1)[0]
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith(package + "."):
            try:
                return eval(text, {**names, **frame.f_locals})
            except NameError:
                pass
        frame = frame.f_back
    raise failure


def names_of(owner: Any) -> Dict[str, Any]:
    """What the annotations of a class or an alias are evaluated with: its module, itself, its own TypeVars."""
    names = dict(vars(sys.modules.get(owner.__module__, typing)))
    if owner.__module__ == "builtins":
        return names
    variables = getattr(owner, "__type_params__", ())
    return {**names, owner.__name__: owner, **{variable.__name__: variable for variable in variables}}


def special(form: Any) -> str:
    """The name of a special form such as NotRequired, whichever of the typing modules it comes from."""
    module = getattr(form, "__module__", "")
    return str(getattr(form, "_name", None) or "") if module in ("typing", "typing_extensions") else ""


def is_union(annotation: Any) -> bool:
    """Whether it is a Union, an Optional, or made with |."""
    return typing.get_origin(annotation) is Union or type(annotation).__name__ == "UnionType"


def parts_of(annotation: Any, at: At) -> List[Any]:
    """The alternatives of a union, or the one annotation that it is, each evaluated."""
    annotation = resolved(annotation, at)
    if not is_union(annotation):
        return [annotation]
    return [part for argument in typing.get_args(annotation) for part in parts_of(argument, at)]


def is_typed_dict(kind: Any) -> bool:
    """Whether it is a TypedDict class, of either of the typing modules."""
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def spelled(annotation: Any) -> str:
    """An annotation as a message names it."""
    return annotation.__name__ if isinstance(annotation, type) and not typing.get_args(annotation) else str(annotation)
