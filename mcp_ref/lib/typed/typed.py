"""server/tools, inputSchema and outputSchema: what an annotation is in JSON, both ways.

Implements TOOL-13. What is read in is written out the same. What each annotation becomes:

    str, int, float, bool, None           the JSON type; int is read from 3.0 as well
    List[T], Sequence, Iterable, deque    array of T; Set[T] and FrozenSet[T] with uniqueItems
    Tuple[T, U], Tuple[T, ...]            array of these, array of T
    Dict[str, T], Mapping                 object with values of T; keys that are texts in JSON, with propertyNames
    Optional[T], Union[T, U], T | U       anyOf; a value is the first of them that it fits
    Literal["a", 1], an Enum class        enum of the values, with their type
    dataclass, NamedTuple, TypedDict      object with these properties and what they are by default; one that holds
                                          itself stands under $defs
    date, datetime, time, UUID            text with this format
    Decimal, Path, bytes                  text: a number, a path, Base64; Decimal is read from a number too
    Annotated[T, "text", {"minimum": 1}]  the schema of T with this description and these members
    NewType, a type alias, a TypeVar      what it stands for
    Any, object, no annotation            anything JSON has; of what a handler returns, what its own type is here
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import inspect
import math
import re
import typing
from collections import abc
from functools import lru_cache
from itertools import chain, count
from typing import Any, Callable, Dict, List, Sequence, Tuple, Type

from ..errors import SchemaError
from ..json_schema import compile_schema
from .annotations import (
    UNKNOWN,
    At,
    bindings,
    fields_of,
    is_typed_dict,
    is_union,
    names_of,
    of_variable,
    resolved,
    special,
    spelled,
)
from .scalars import SCALARS, Typed, Unfit, choices, could_be, kind_of, refused, same, textual, within

_ATOMS = frozenset((str, int, bool, type(None)))


def plain(value: Any) -> Any:
    """The JSON value of what no annotation tells of, by its own type. Raises Unfit; octets and sets need one."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise Unfit(f"cannot be {value}, which JSON has not")
    if kind in (list, tuple):
        if _ATOMS.issuperset(map(type, value)):  # a long list of numbers costs next to nothing
            return list(value)
        return [within(index, plain, item) for index, item in enumerate(value)]
    if isinstance(value, abc.Mapping):
        return {_key(key): within(key, plain, member) for key, member in value.items()}
    if isinstance(value, BaseException):
        raise Unfit(f"is an exception, {kind.__name__}: raise it")
    if isinstance(value, (abc.Iterator, abc.AsyncIterator)):
        raise Unfit(f"is {kind.__name__}: return a list, and report with ctx.progress")
    if isinstance(value, abc.Awaitable):
        raise Unfit(f"is {kind_of(value)}")
    if kind in (set, frozenset, bytes, bytearray, memoryview):
        raise Unfit(f"is {kind.__name__}, which JSON has not: annotate what is returned, or return a list or a text")
    return _by_kind(kind).dump(value)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise Unfit(f"has a key of {type(key).__name__}, and those of JSON are texts")
    return key


@lru_cache(maxsize=256)
def _by_kind(kind: Any) -> Typed:
    for base in (str, int, float):
        if issubclass(kind, base) and not issubclass(kind, enum.Enum):
            return typed(base, kind.__name__)
    try:
        if kind is not object:
            return typed(kind, kind.__name__, out=True)
    except SchemaError:
        pass
    raise Unfit(f"is {kind.__name__}, which has no JSON form")


ANYTHING = Typed({}, same, plain)


class _Named:
    """A type that may hold itself: its name under $defs, and its Typed once that is made."""

    def __init__(self, name: str) -> None:
        self.name, self.used, self.made = name, False, ANYTHING
        self.reference = Typed({"$ref": f"#/$defs/{name}"}, lambda value: self.made.convert(value),
                               lambda value: self.made.dump(value))


def typed(annotation: Any, where: str, out: bool = False) -> Typed:
    """The Typed of one annotation. out: of what is returned. Raises SchemaError, naming `where`."""
    maker = Maker(out)
    return maker.rooted(maker.make(annotation, At(where)))


class Maker:
    """Makes the Typed of annotations whose schemas share one root. out: of what is written, where all fields are."""

    def __init__(self, out: bool = False) -> None:
        self._out = out
        self.definitions: Dict[str, Any] = {}
        self._open: Dict[Any, _Named] = {}
        self._defaults: List[Tuple[Dict[str, Any], Typed, Any, At]] = []

    def rooted(self, made: Typed) -> Typed:
        """`made` with the $defs that it refers to, once all else is checked that needs them."""
        while self._defaults:
            told, part, default, place = self._defaults.pop()
            told["default"] = self.default_json(part, default, place)
        return made._replace(schema={**made.schema, "$defs": self.definitions}) if self.definitions else made

    def make(self, annotation: Any, at: At) -> Typed:
        """The Typed of one annotation. Raises SchemaError."""
        try:
            return self._make(annotation, at)
        except RecursionError:
            raise SchemaError(f"{at.where}: the annotation is nested too deeply, or grows in itself") from None

    def _make(self, annotation: Any, at: At) -> Typed:
        annotation = resolved(annotation, at)
        if isinstance(annotation, typing.TypeVar):
            return self.make(of_variable(annotation), at._replace(names={**at.names, **names_of(annotation)}))
        if hasattr(annotation, "__metadata__"):
            return self._annotated(annotation, at)
        if hasattr(annotation, "__supertype__"):
            return self.make(annotation.__supertype__, at)
        if annotation in (Any, object, inspect.Parameter.empty):
            return ANYTHING
        if annotation is None:
            return SCALARS[type(None)]
        origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
        if special(origin) in ("Required", "NotRequired", "ReadOnly", "Final"):
            return self.make(arguments[0] if arguments else Any, at)
        if special(origin) == "Literal":
            return choices([(self._value(value, at), value) for value in arguments], at)
        if is_union(annotation):
            return self.union(arguments, at)
        if hasattr(origin, "__value__"):
            types = dict(zip(getattr(origin, "__type_params__", ()), arguments))
            return self._named(annotation, lambda: self.make(origin.__value__, At(at.where, names_of(origin), types)))
        if isinstance(origin, type):
            return self._of_type(annotation, origin, arguments, at)
        raise refused(annotation, origin, at)

    def _of_type(self, annotation: Any, origin: Type[Any], arguments: Tuple[Any, ...], at: At) -> Typed:
        found = SCALARS.get(origin) or textual(origin, self._out)
        if found is not None:
            return found
        if str(annotation).endswith("uple[()]"):
            return self._tuple((), at)
        if origin is tuple and arguments and (len(arguments) != 2 or arguments[1] is not ...):
            return self._tuple(arguments, at)
        if origin in ARRAYS:
            return self._array(origin, arguments, at)
        if origin in _OBJECTS:
            return self._object(origin, arguments, at)
        if issubclass(origin, enum.Enum) and not issubclass(origin, enum.Flag):
            return choices([(self._value(member, at), member) for member in origin], at)
        if dataclasses.is_dataclass(origin) or is_typed_dict(origin) or (
                issubclass(origin, tuple) and hasattr(origin, "_fields")):
            return self._named(annotation, lambda: self._members(origin, arguments, at))
        raise refused(annotation, origin, at)

    def _annotated(self, annotation: Any, at: At) -> Typed:
        made = self.make(annotation.__origin__, at)
        notes = [note for note in annotation.__metadata__ if isinstance(note, (str, dict))]
        schema = dict(made.schema)
        for note in notes:
            schema.update({"description": note} if isinstance(note, str) else note)
        if not any(isinstance(note, dict) for note in notes):
            return made._replace(schema=schema)
        valid = self.validator(schema)

        def dump(value: Any) -> Any:
            value = made.dump(value)
            if not valid(value):
                raise Unfit("is not what its Annotated allows")
            return value
        return Typed(schema, made.convert, dump)

    def validator(self, schema: Dict[str, Any]) -> Callable[[Any], bool]:
        """Whether a value satisfies a part of what is being made; compiled when first asked, for $defs fill up."""
        compiled: List[Any] = []

        def valid(value: Any) -> bool:
            if not compiled:
                compiled.append(compile_schema({**schema, "$defs": self.definitions} if self.definitions else schema))
            return bool(compiled[0].is_valid(value))
        return valid

    def union(self, arguments: Sequence[Any], at: At) -> Typed:
        """A value of any of these annotations. Raises SchemaError."""
        parts = [self.make(argument, at) for argument in arguments]
        schema = {"anyOf": [part.schema for part in parts]}
        valid = [self.validator(part.schema) for part in parts]
        kinds = [typing.get_origin(argument) or argument for argument in arguments]
        real = [part for part, kind in zip(parts, kinds) if kind not in (None, type(None))]

        def convert(value: Any) -> Any:
            failure = Unfit("must be one of what its annotation names")
            likely = [pair for pair in zip(parts, valid) if could_be(pair[0].schema, value, self.definitions)]
            for part, fits in likely:
                try:
                    if len(likely) == 1 or fits(value):
                        return part.convert(value)
                except Unfit as error:
                    failure = error
            raise failure

        def dump(value: Any) -> Any:
            for _, part in sorted(zip(kinds, parts), key=lambda pair: pair[0] is not type(value)):
                try:
                    return part.dump(value)
                except Unfit:
                    continue
            raise Unfit(f"must be one of what its annotation names, not {kind_of(value)}")
        if len(real) == 1 and len(parts) == 2:  # Optional, which needs no validation to tell
            return _or_none(schema, real[0])
        return Typed(schema, same if all(part.convert is same for part in parts) else convert, dump)

    def optional(self, made: Typed) -> Typed:
        """`made`, or null: what a default of None makes of an annotation that does not say so."""
        if self._nullable(made.schema) or "x-mcp-header" in made.schema:  # which stands on one type alone
            return made
        told = {name: made.schema[name] for name in ("title", "description") if name in made.schema}
        bare = {name: member for name, member in made.schema.items() if name not in told}
        return _or_none({"anyOf": [bare, SCALARS[type(None)].schema], **told}, made)

    def _nullable(self, schema: Any) -> bool:
        if "$ref" in schema:
            schema = self.definitions.get(schema["$ref"].rsplit("/", 1)[-1], {"type": "object"})
        if "anyOf" in schema:
            return any(self._nullable(part) for part in schema["anyOf"])
        return "type" not in schema or "null" in schema["type"]

    def _array(self, origin: Type[Any], arguments: Tuple[Any, ...], at: At) -> Typed:
        make = ARRAYS[origin]
        item = self.make(arguments[0] if arguments else Any, at._replace(where=at.where + "[]"))
        unique = make in (set, frozenset)
        takes = (abc.Set,) if unique else (list, tuple, origin)
        schema = {"type": "array", **({"items": item.schema} if item.schema else {}),
                  **({"uniqueItems": True} if unique else {})}
        if unique and arguments and getattr(typing.get_origin(arguments[0]) or arguments[0], "__hash__", True) is None:
            raise SchemaError(f"{at.where}: a set cannot hold {spelled(arguments[0])}; write List[…]"
                              + ", or make it a frozen dataclass" * dataclasses.is_dataclass(arguments[0]))

        def convert(value: Any) -> Any:
            items = value if item.convert is same else [
                within(index, item.convert, each) for index, each in enumerate(value)]
            try:
                return items if make is list else make(items)
            except TypeError:
                raise Unfit("must hold nothing but texts, numbers, booleans and null") from None

        def dump(value: Any) -> Any:
            if not isinstance(value, takes) or isinstance(value, (str, bytes, abc.Mapping)):
                raise Unfit(f"must be {'a set' if unique else 'a list'}, not {kind_of(value)}")
            written = [within(index, item.dump, each) for index, each in enumerate(value)]
            return sorted(written) if unique and all(isinstance(each, str) for each in written) else written
        return Typed(schema, same if make is list and item.convert is same else convert, dump)

    def _tuple(self, arguments: Sequence[Any], at: At) -> Typed:
        parts = [self.make(argument, at._replace(where=f"{at.where}[{index}]"))
                 for index, argument in enumerate(arguments)]
        count = len(parts)
        schema = {"type": "array", **({"prefixItems": [part.schema for part in parts]} if parts else {}),
                  "items": False, "minItems": count, "maxItems": count}

        def dump(value: Any) -> Any:
            if not isinstance(value, (tuple, list)):
                raise Unfit(f"must be a tuple of {count}, not {kind_of(value)}")
            if len(value) != count:
                raise Unfit(f"must be a tuple of {count}, not of {len(value)}")
            return [within(index, part.dump, value[index]) for index, part in enumerate(parts)]
        return Typed(schema, lambda value: tuple(
            within(index, part.convert, value[index]) for index, part in enumerate(parts)), dump)

    def _object(self, origin: Type[Any], arguments: Tuple[Any, ...], at: At) -> Typed:
        make = _OBJECTS[origin]
        key, member = [self.make(argument, at) for argument in arguments] or [ANYTHING, ANYTHING]
        if key.schema and key.schema.get("type") != "string":
            raise SchemaError(f"{at.where}: the keys of a JSON object are texts, not {spelled(arguments[0])}; "
                              "write Dict[str, …]")
        schema: Dict[str, Any] = {"type": "object"}
        if member.schema:
            schema["additionalProperties"] = member.schema
        if key.schema not in ({}, {"type": "string"}):
            schema["propertyNames"] = key.schema
        kept = make is dict and key.convert is same and member.convert is same

        def convert(value: Any) -> Any:
            return make((within(name, key.convert, name), within(name, member.convert, inner))
                        for name, inner in value.items())

        def dump(value: Any) -> Any:
            if not isinstance(value, abc.Mapping):
                raise Unfit(f"must be a dict, not {kind_of(value)}")
            return {_key(key.dump(name)): within(str(name), member.dump, inner) for name, inner in value.items()}
        return Typed(schema, same if kept else convert, dump)

    def _named(self, annotation: Any, build: Callable[[], Typed]) -> Typed:
        """What `build` makes; a reference where that is just being made, and then everywhere."""
        try:
            hash(annotation)
        except TypeError:  # an Annotated with a dict in it
            annotation = repr(annotation)
        known = self._open.get(annotation)
        if known is not None:
            known.used = True
            return known.reference
        text = str(annotation) if typing.get_origin(annotation) else getattr(annotation, "__name__", str(annotation))
        name = re.sub(r"\W+", "_", re.sub(r"[\w.<>]*\.", "", text)).strip("_")
        taken = {each.name for each in self._open.values()}
        names = chain((name,), (f"{name}_{n}" for n in count(2)))
        known = self._open[annotation] = _Named(next(each for each in names if each not in taken))
        known.made = build()
        if not known.used:
            del self._open[annotation]
            return known.made
        self.definitions[known.name] = known.made.schema
        return known.reference

    def _members(self, kind: Type[Any], arguments: Tuple[Any, ...], at: At) -> Typed:
        """A dataclass, NamedTuple or TypedDict: an object with a property for each field, in their order."""
        types = bindings(kind, arguments)
        parts: Dict[str, Typed] = {}
        properties: Dict[str, Dict[str, Any]] = {}
        required: List[str] = []
        for field in fields_of(kind, self._out, at):
            place = At(f"{at.where}.{field.name}", field.names, types)
            part = self.make(field.hint, place)
            parts[field.name] = part = self.optional(part) if field.default is None else part
            properties[field.name] = dict(part.schema)
            if field.default is not UNKNOWN and field.default is not None:
                told = {} if self._out else properties[field.name]
                self._defaults.append((told, part, field.default, place))
            if field.required:
                required.append(field.name)
        keys_free = is_typed_dict(kind)
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {}),
                  **({} if keys_free else {"additionalProperties": False})}

        def convert(value: Any) -> Any:
            members = {name: within(name, parts[name].convert, member) if name in parts else member
                       for name, member in value.items()}
            try:
                return members if keys_free else kind(**members)
            except ValueError:  # its own check, such as a __post_init__
                raise Unfit(f"is no valid {kind.__name__}") from None

        def dump(value: Any) -> Any:
            if not isinstance(value, abc.Mapping if keys_free else kind):
                raise Unfit(f"must be a {'dict, the ' * keys_free}{kind.__name__}, not {kind_of(value)}")
            if not keys_free:
                value = {name: getattr(value, name) for name in parts if hasattr(value, name)}
            for name in required:
                if name not in value:
                    raise Unfit("is required", name)
            # what has no parts comes first, so that the wrong one of alternatives mostly fails before what it holds
            names = sorted(value, key=lambda name: isinstance(value[name], (list, tuple, dict)))
            written = {name: within(name, parts[name].dump if name in parts else plain, value[name]) for name in names}
            return {_key(name): written[name] for name in value}
        return Typed(schema, convert, dump)

    def default_json(self, made: Typed, default: Any, at: At) -> Any:
        """A default as JSON. Raises SchemaError where it is not of its annotation."""
        try:
            value = made.dump(default)
        except Unfit as error:
            raise SchemaError(f"{at.where}: {error.text('its default')} ({default!r})") from None
        if not self.validator(made.schema)(value):
            raise SchemaError(f"{at.where}: its default is not what the annotation allows ({default!r})")
        return value

    def _value(self, value: Any, at: At) -> Any:
        """The JSON value of a member of an Enum or a Literal."""
        inner = value.value if isinstance(value, enum.Enum) else value
        try:
            if inner is not value and isinstance(inner, (set, bytes)) or isinstance(inner, enum.Enum):
                raise Unfit("has no JSON form")
            return plain(inner)
        except Unfit:
            raise SchemaError(f"{at.where}: {value!r} has no JSON value; give it a text or a number") from None


def _or_none(schema: Dict[str, Any], made: Typed) -> Typed:
    return Typed(schema, lambda value: value if value is None else made.convert(value),
                 lambda value: value if value is None else made.dump(value))


ARRAYS: Dict[Any, Any] = {
    **dict.fromkeys((list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection, abc.Container,
                     abc.Reversible), list),
    tuple: tuple, collections.deque: collections.deque, set: set, abc.MutableSet: set, frozenset: frozenset,
    abc.Set: frozenset}
_OBJECTS: Dict[Any, Any] = {dict: dict, abc.Mapping: dict, abc.MutableMapping: dict,
                            collections.OrderedDict: collections.OrderedDict}
