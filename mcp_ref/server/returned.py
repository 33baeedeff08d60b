"""server/tools, outputSchema: what a handler's return annotation promises, and how what it returned is written.

Each feature has kinds of its own that speak for themselves, such as a text or a content block; all else is data,
written by its annotation, or by its own type where there is none.
"""

from __future__ import annotations

import enum
import inspect
import typing
from typing import Any, Dict, NamedTuple, Optional, Tuple

from ..base.errors import SchemaError
from ..lib.json_schema import compile_schema
from ..lib.strict_json import check_json
from ..lib.typed.annotations import At, parts_of, resolved, special, spelled
from ..lib.typed.scalars import Typed, Unfit, kind_of
from ..lib.typed.typed import ARRAYS, Maker, plain
from ..patterns.mrtr import InputRequired
from .content import Sent


class Returned(NamedTuple):
    """What a handler promises to return.

    typed: how data is written, None where no data is promised. schema: of the data, None where something else may be
    returned as well. named: the annotation as a message names it, "" for none. none: whether nothing may be returned.
    """

    typed: Optional[Typed] = None
    schema: Optional[Dict[str, Any]] = None
    named: str = ""
    none: bool = True

    def data(self, value: Any) -> Any:
        """The JSON value of data that was returned. Raises Unfit for what was not promised."""
        try:
            if self.typed is not None:
                return self.typed.dump(value)
        except Unfit:
            if value is not None:
                raise
        if value is None and self.named and not self.none:
            raise Unfit(f"is None where {self.named} is promised: a return is missing")
        if isinstance(value, Sent):
            raise Unfit(f"is a {kind_of(value)}, which is {value.place}")
        if value is not None and self.named:
            raise Unfit(f"is {kind_of(value)} where {self.named} is promised")
        return plain(value)


def promised(annotation: Any, at: At, own: Tuple[type, ...], lists: bool = False) -> Returned:
    """What a return annotation promises.

    own: the classes that speak for themselves; a list of them does if it can hold more than texts, or with `lists`.
    Raises SchemaError for an annotation that has no JSON form.
    """
    annotation = resolved(annotation, at)
    if getattr(typing.get_origin(annotation), "__name__", "") in ("Coroutine", "Awaitable"):
        annotation = typing.get_args(annotation)[-1]
    parts = [part for part in parts_of(annotation, at)
             if part is not InputRequired and special(part) not in ("Never", "NoReturn")]
    if not parts or any(part in (Any, object, inspect.Parameter.empty) for part in parts):
        return Returned()
    nothing = [part for part in parts if part in (None, type(None))]
    ours = [part for part in parts if part not in nothing and _is_own(part, at, own, lists)]
    data = [part for part in parts if part not in nothing and part not in ours]
    named = " or ".join(spelled(part) for part in parts)
    for part in data:
        _check_place(part, at, own)
    if not data:
        return Returned(None, None, named, bool(nothing))
    maker, place = Maker(out=True), at._replace(where=f"what {at.where} returns")
    made = maker.make(data[0], place) if len(data + nothing) == 1 else maker.union([*data, *nothing], place)
    made = maker.rooted(made)
    check_json(made.schema)
    compile_schema(made.schema)  # what an Annotated adds may be no schema
    return Returned(made, None if ours else made.schema, named, bool(nothing))


def _check_place(annotation: Any, at: At, own: Tuple[type, ...]) -> None:
    """Raise SchemaError for what another feature sends, or a list of it."""
    for kind in (annotation, *typing.get_args(annotation)):
        plain_class = isinstance(kind, type) and typing.get_origin(kind) is None
        if plain_class and issubclass(kind, Sent) and not issubclass(kind, own):
            raise SchemaError(f"{at.where}: a {kind.__name__} is {kind.place}")


def _is_own(annotation: Any, at: At, own: Tuple[type, ...], lists: bool) -> bool:
    annotation = resolved(annotation, at)
    for member in ("__supertype__", "__origin__" if hasattr(annotation, "__metadata__") else "__value__"):
        if hasattr(annotation, member):
            return _is_own(getattr(annotation, member), at, own, lists)
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if not isinstance(origin, type):
        return False
    if ARRAYS.get(origin) in (list, tuple):
        items = [part for argument in arguments if argument is not ... for part in parts_of(argument, at)]
        ours = all(_is_own(item, at, own, lists) or lists and item in (Any, object) for item in items)
        return ours and (lists or any(not _is_own(item, at, (str,), False) for item in items))
    return issubclass(origin, own) and not issubclass(origin, enum.Enum)
