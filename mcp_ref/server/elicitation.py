"""client/elicitation, the server's side: forms from fields or from a type, and what the user said.

Implements ELIC-11, ELIC-12, ELIC-14, ELIC-15, ELIC-55.
"""

from __future__ import annotations

import typing
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, Mapping, NamedTuple, Optional, Tuple, TypeVar, cast

from ..base.errors import InvalidParams, SchemaError
from ..lib.text import shown
from ..lib.typed.scalars import Unfit
from ..lib.typed.typed import typed
from ..patterns.mrtr import ELICITATION

Value = TypeVar("Value")

NULL = {"type": "null"}


class Shape(NamedTuple):
    """What a form asks for. question: the elicitation. value: makes the answer's `value` of the accepted content."""

    question: Dict[str, Any]
    value: Callable[[Dict[str, Any]], Any]


def shape(message: str, fields: Any, required: Optional[Iterable[str]] = None) -> Shape:
    """The Shape of a form. fields: name to primitive schema, a whole requestedSchema with `type: object`, or a type.

    A dataclass or TypedDict has a field for each of its members; bool, int, float, str, an Enum, a Literal or a list of
    the last two is a form of one field named `value`. A member that is Optional, or has a default, may be left out.
    required: which of a dict of fields must be answered, all of them by default. Raises SchemaError for a type without
    a schema, and for `required` beside a type or a whole schema.
    """
    if isinstance(fields, Mapping):
        return Shape(_question(message, _object(fields, required)), lambda content: content)
    if not isinstance(fields, type) and typing.get_origin(fields) is None:
        raise SchemaError(f"the fields of a form are a dict of them, or a type such as a dataclass or a Literal, not "
                          f"{fields!r}")
    if required is not None:
        raise SchemaError("required goes with a dict of fields; of a type, what is Optional or has a default can be "
                          "left out")
    made = typed(fields, "the fields of a form")
    if "properties" not in made.schema:
        field, optional = _flat(made.schema)
        schema = {"type": "object", "properties": {"value": field}, "required": [] if optional else ["value"]}
        return Shape(_question(message, schema), lambda content: made.convert(content.get("value")))
    flat = {name: _flat(field) for name, field in made.schema["properties"].items()}
    needed = made.schema.get("required", [])
    absent = {name: None for name, (_, optional) in flat.items() if optional and name in needed}
    schema = {"type": "object", "properties": {name: field for name, (field, _) in flat.items()},
              "required": [name for name in needed if name not in absent]}
    return Shape(_question(message, schema), lambda content: made.convert({**absent, **content}))


def _question(message: str, schema: Dict[str, Any]) -> Dict[str, Any]:
    return {"method": ELICITATION, "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def _object(fields: Mapping[str, Any], required: Optional[Iterable[str]]) -> Dict[str, Any]:
    if fields.get("type") == "object" and isinstance(fields.get("properties"), Mapping):
        if required is not None:
            raise SchemaError("required is a member of the whole schema that was given")
        return dict(fields)
    for name, field in fields.items():
        if not isinstance(field, Mapping):
            raise SchemaError(f'the field {shown(name)} of a form is a schema such as {{"type": "string"}}, not '
                              f"{field!r}; for a form from types, take a dataclass")
    return {"type": "object", "properties": dict(fields), "required": list(fields if required is None else required)}


def _flat(schema: Dict[str, Any]) -> Tuple[Dict[str, Any], bool]:
    """The schema of a field, which is never null but left out, and whether it may be.

    No form has the format of a time or a UUID; their type reads the answer.
    """
    options = [option for option in schema.get("anyOf", ()) if option != NULL]
    optional = len(options) == 1
    if optional:
        schema = {**options[0], **{name: member for name, member in schema.items() if name != "anyOf"}}
    if schema.get("format") in ("time", "uuid"):
        schema = {name: member for name, member in schema.items() if name != "format"}
    return schema, optional


def form(message: str, fields: Any, required: Optional[Iterable[str]] = None) -> Dict[str, Any]:
    """An elicitation in form mode (client/elicitation, Form Mode); fields and required as `shape` takes them."""
    return shape(message, fields, required).question


class Elicited(Mapping[str, Any], Generic[Value]):
    """An ElicitResult: `action` is accept, decline or cancel; the fields of the form are its items.

    value: what was answered, of the type that was asked for, and the fields as a dict where none was; None unless the
    user accepted.
    """

    def __init__(self, result: Mapping[str, Any], value: Callable[[Dict[str, Any]], Any] = dict) -> None:
        self.action: str = result["action"]
        self.content: Dict[str, Any] = result.get("content", {})
        self.value: Optional[Value] = cast(Value, value(self.content)) if self.accepted else None

    @property
    def accepted(self) -> bool:
        """Whether the user agreed; only then are there fields."""
        return self.action == "accept"

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)

    def __bool__(self) -> bool:
        """Whether the user agreed; a form of one bool that was answered with no is no agreement."""
        return self.accepted and self.value is not False

    def __repr__(self) -> str:
        return f"Elicited({self.action!r}, {sorted(self.content)})"


def answered(key: str, answer: Mapping[str, Any], shape: Shape) -> Elicited[Any]:
    """The answer to the form of a Shape. Raises InvalidParams for one that the schema lets through and the type not."""
    try:
        return Elicited(answer, shape.value)
    except Unfit as error:
        raise InvalidParams("Invalid params: " + error.text(f"inputResponses.{key}.content")) from None
