"""Annotations in JSON, both ways: whatever is read in is written out, or refused with what to write instead."""

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import sys
import types
import unittest
import uuid
from typing import (
    Annotated,
    Any,
    Callable,
    ClassVar,
    Collection,
    Deque,
    Dict,
    Final,
    FrozenSet,
    Generic,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    MutableMapping,
    MutableSequence,
    NamedTuple,
    NewType,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypedDict,
    TypeVar,
    Union,
)
from unittest import mock

from mcp_ref import SchemaError
from mcp_ref.lib.json_schema import Schema, compile_schema
from mcp_ref.lib.typed import typed as module
from mcp_ref.lib.typed.scalars import Unfit
from mcp_ref.lib.typed.typed import plain, typed

T = TypeVar("T")
Number = TypeVar("Number", int, float)
Bound = TypeVar("Bound", bound="Colour")
Seats = NewType("Seats", int)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Mixed(enum.Enum):
    NUMBER = 1
    TEXT = "1"
    NOTHING = None
    LIST = [1, 2]
    PAIR = (3, "x")
    FACT = True and {"a": 1}


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Opaque(enum.Enum):
    THING = object()


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0
    colour: Colour = Colour.RED


@dataclasses.dataclass
class Circle:
    radius: float


@dataclasses.dataclass
class Node:
    value: int
    children: List["Node"] = dataclasses.field(default_factory=list)
    parent: Optional["Node"] = None
    seen: Optional[datetime.date] = None


@dataclasses.dataclass
class Left:
    left: int
    below: List[Union["Left", "Right"]]


@dataclasses.dataclass
class Right:
    right: str
    below: List[Union[Left, "Right"]]


@dataclasses.dataclass
class Box(Generic[T]):
    value: T
    inner: Optional["Box[T]"] = None


@dataclasses.dataclass
class DayBox(Box[datetime.date]):
    note: str = ""


@dataclasses.dataclass
class Parcel:
    name: "Final[str]"  # type: ignore[misc]
    kind: ClassVar[str] = "parcel"
    raw: dataclasses.InitVar[int] = 0
    weight: float = dataclasses.field(init=False, default=1.5)

    def __post_init__(self, raw):
        if raw < 0:
            raise ValueError("the secret is 1234")


@dataclasses.dataclass(frozen=True)
class Key:
    name: str


class Pair(NamedTuple):
    first: int
    second: str = "z"


class Place(TypedDict, total=False):
    name: str
    points: List[Point]


class Tree(TypedDict):
    name: str
    below: "List[Tree]"


class Sum(TypedDict):
    parts: List[Union["Sum", "Product"]]
    kind: Literal["sum"]


class Product(TypedDict):
    parts: List[Union[Sum, "Product"]]
    kind: Literal["product"]


class Form:
    """A special form as typing_extensions has it."""

    def __init__(self, name):
        self._name, self.__module__ = name, "typing_extensions"


class Wrapped:
    """Form[T], of which typing knows no more than of those in typing_extensions on an old Python."""

    def __new__(cls, name, inner):
        import typing

        return typing._GenericAlias(Form(name), (inner,))


TABLE = [
    (int, 3), (float, 1.5), (str, "a"), (bool, True), (None, None), (type(None), None), (Any, {"a": [1, None]}),
    (object, "x"), (Seats, 3), (T, "x"), (Number, 1), (Bound, "red"),
    (list, [1, "a"]), (List[int], [1]), (Sequence[float], [1.5]), (MutableSequence[str], ["a"]), (Iterable[int], [1]),
    (Collection[int], [1]), (Deque[int], [1]), (collections.deque, [1]), (tuple, [1]), (Tuple[int, ...], [1, 2]),
    (Tuple[int, str], [1, "a"]), (Tuple[()], []), (Set[str], ["a", "b"]), (FrozenSet[Colour], ["blue"]), (set, ["a"]),
    (Set[Key], [{"name": "a"}]),
    (dict, {"a": 1}), (Dict[str, bool], {"a": True}), (Mapping[str, Point], {"a": {"x": 1, "y": 2.0, "colour": "red"}}),
    (MutableMapping[str, int], {"a": 1}), (Dict[Colour, int], {"red": 1}),
    (Dict[datetime.date, int], {"2026-01-01": 1}),
    (Dict[Any, int], {"a": 1}),
    (datetime.date, "2026-07-28"), (datetime.datetime, "2026-07-28T09:30:00+00:00"),
    (datetime.datetime, "2026-07-28T09:30:00.250000"), (datetime.time, "09:30:00"), (datetime.time, "09:30:00+02:00"),
    (uuid.UUID, "123e4567-e89b-12d3-a456-426614174000"), (decimal.Decimal, "12.50"), (decimal.Decimal, "-1E+3"),
    (pathlib.Path, "a/b"), (pathlib.PurePosixPath, "/a/b"), (bytes, "+//+"), (bytes, ""),
    (Literal["a", 1, None], "a"), (Literal["a", 1, True], 1), (Literal["a", 1, True], True),
    (Literal[Colour.RED], "red"),
    (Colour, "red"), (Size, 2), (Mixed, 1), (Mixed, "1"), (Mixed, None), (Mixed, [1, 2]), (Mixed, [3, "x"]),
    (Mixed, {"a": 1}),
    (Point, {"x": 1, "y": 2.5, "colour": "blue"}), (Pair, {"first": 1, "second": "a"}),
    (Place, {}), (Place, {"points": [{"x": 1, "y": 0.5, "colour": "red"}]}),
    (Node, {"value": 1, "children": [{"value": 2, "children": [], "parent": None, "seen": "2026-01-01"}],
            "parent": None, "seen": None}),
    (List[Node], [{"value": 1, "children": [], "parent": None, "seen": None}]),
    (Tree, {"name": "a", "below": [{"name": "b", "below": []}]}),
    (Box[int], {"value": 1, "inner": {"value": 2, "inner": None}}),
    (Box[List[Colour]], {"value": ["red"], "inner": None}), (Box, {"value": {"any": 1}, "inner": None}),
    (DayBox, {"value": "2026-01-01", "inner": None, "note": ""}),
    (Optional[int], None), (Optional[Point], {"x": 1, "y": 2.5, "colour": "blue"}), (Union[int, str], "a"),
    (Union[Point, Circle], {"radius": 1.0}), (Union[Circle, Point], {"x": 1, "y": 2.5, "colour": "blue"}),
    (Union[datetime.date, str], "2026-01-01"), (Union[datetime.date, str], "soon"),
    (Union[datetime.date, datetime.datetime], "2026-01-01T00:00:00"), (Union[List[Point], Point, None], None),
    (Annotated[Optional[int], {"minimum": 1}], 1),
    (Annotated[List[Annotated[str, "one", {"minLength": 1}]], {"maxItems": 2}], ["a"]),
    (Wrapped("ReadOnly", List[int]), [1]),
]


class BothWays(unittest.TestCase):
    def test_what_is_read_in_is_written_out(self):
        for annotation, value in TABLE:
            for out in (False, True):
                with self.subTest(f"{annotation} {value} {out}"):
                    schema = typed(annotation, "t", out).schema
                    json.dumps(schema)
                    self.assertEqual(compile_schema(schema).errors(value), [])
                    converted = typed(annotation, "t").convert(value)
                    self.assertEqual(typed(annotation, "t", out).dump(converted), value)
                    self.assertEqual(type(typed(annotation, "t", out).dump(converted)), type(value))

    def test_what_the_values_are(self):
        for annotation, value, expected in (
                (int, 3.0, 3), (float, 1, 1.0), (Sequence[Colour], ["red"], [Colour.RED]), (Set[int], [1, 2], {1, 2}),
                (Tuple[datetime.date, ...], ["2026-07-28"], (datetime.date(2026, 7, 28),)),
                (datetime.datetime, "2026-07-28t09:30:00.5z",
                 datetime.datetime(2026, 7, 28, 9, 30, 0, 500000, datetime.timezone.utc)),
                (datetime.datetime, "2026-07-28 09:30", datetime.datetime(2026, 7, 28, 9, 30)),
                (datetime.time, "09:30:00.1234567", datetime.time(9, 30, 0, 123456)),
                (decimal.Decimal, 12.5, decimal.Decimal("12.5")), (bytes, "YQ==", b"a"),
                (pathlib.Path, "a", pathlib.Path("a")), (Mixed, [3, "x"], Mixed.PAIR), (Pair, {"first": 1}, Pair(1)),
                (Union[Point, Circle], {"radius": 1}, Circle(1.0)), (Optional[Size], 1, Size.SMALL),
                (Dict[Colour, Size], {"red": 2}, {Colour.RED: Size.LARGE}),
                (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
                (Literal[Colour.RED, 1], "red", Colour.RED), (Box[Colour], {"value": "red"}, Box(Colour.RED))):
            self.assertEqual(typed(annotation, "t").convert(value), expected, annotation)
        self.assertIs(type(typed(float, "t").convert(1)), float)

    def test_alternatives_are_told_apart_by_what_is_in_them(self):
        one = dataclasses.make_dataclass("One", [("kind", Literal["a"]), ("size", int)])
        two = dataclasses.make_dataclass("Two", [("kind", Literal["b"]), ("size", int)])
        made = typed(Dict[str, Union[one, two, List[one], int]], "t")
        value = {"x": {"kind": "b", "size": 1}, "y": [{"kind": "a", "size": 2.0}], "z": 3.0}
        self.assertEqual(compile_schema(made.schema).errors(value), [])
        self.assertEqual(made.convert(value), {"x": two("b", 1), "y": [one("a", 2)], "z": 3})

    def test_nested_alternatives_are_not_validated_at_every_level(self):
        made = typed(Left, "t")
        with mock.patch.object(Schema, "is_valid", side_effect=AssertionError("validated again")):
            value = {"left": 1, "below": [{"right": "x", "below": [{"left": 2, "below": []}]}]}
            self.assertEqual(made.convert(value), Left(1, [Right("x", [Left(2, [])])]))

    def test_nested_alternatives_are_not_written_twice_at_every_level(self):
        bad, product = Left("no number", []), {"parts": [], "kind": "product"}
        for _ in range(12):
            bad = Left(1, [Right("x", [bad])])
            product = {"parts": [product], "kind": "product"}
        with mock.patch.object(module, "within", side_effect=module.within) as looked:
            self.assertRaises(Unfit, typed(Left, "t", out=True).dump, bad)
            self.assertEqual(typed(Product, "t", out=True).dump(product), product)
        self.assertEqual(list(typed(Product, "t").dump(product)), ["parts", "kind"])
        self.assertLess(looked.call_count, 500)

    def test_a_dataclass_comes_in_by_its_parameters_and_goes_out_by_its_fields(self):
        self.assertEqual(list(typed(Parcel, "t").schema["properties"]), ["name", "raw"])
        self.assertEqual(list(typed(Parcel, "t", out=True).schema["properties"]), ["name", "weight"])
        made = typed(Parcel, "t").convert({"name": "a", "raw": 1})
        self.assertEqual(typed(Parcel, "t", out=True).dump(made), {"name": "a", "weight": 1.5})
        with self.assertRaises(Unfit) as caught:
            typed(List[Parcel], "t").convert([{"name": "a", "raw": -1}])
        self.assertEqual(caught.exception.text("arguments.x"), "arguments.x[0] is no valid Parcel")

    def test_without_an_annotation_a_value_is_written_by_its_own_type(self):
        for value, expected in (({"a": (1, Colour.RED)}, {"a": [1, "red"]}), (Pair(1), {"first": 1, "second": "z"}),
                                ([Circle(1.0), {"when": datetime.date(2026, 1, 1)}],
                                 [{"radius": 1.0}, {"when": "2026-01-01"}]),
                                (decimal.Decimal("1.5"), "1.5"), (collections.OrderedDict(a=Size.LARGE), {"a": 2})):
            self.assertEqual(plain(value), expected)


class Schemas(unittest.TestCase):
    def test_each_annotation(self):
        colours = {"type": "string", "enum": ["red", "blue"]}
        point = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "number", "default": 0.0},
                                                  "colour": {**colours, "default": "red"}},
                 "required": ["x"], "additionalProperties": False}
        for annotation, schema in (
                (str, {"type": "string"}), (int, {"type": "integer"}), (float, {"type": "number"}),
                (bool, {"type": "boolean"}), (type(None), {"type": "null"}), (Any, {}), (object, {}),
                (list, {"type": "array"}), (List[int], {"type": "array", "items": {"type": "integer"}}),
                (Set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
                (Tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}],
                                   "items": False, "minItems": 2, "maxItems": 2}),
                (dict, {"type": "object"}),
                (Dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
                (Dict[Colour, Any], {"type": "object", "propertyNames": colours}),
                (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),
                (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
                (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
                (Literal["a", 1], {"type": ["string", "integer"], "enum": ["a", 1]}),
                (Literal[1, True], {"type": ["integer", "boolean"], "enum": [1, True]}),
                (Colour, colours), (Size, {"type": "integer", "enum": [1, 2]}), (Point, point),
                (Place, {"type": "object", "properties": {"name": {"type": "string"},
                                                          "points": {"type": "array", "items": point}}}),
                (datetime.date, {"type": "string", "format": "date"}),
                (uuid.UUID, {"type": "string", "format": "uuid"}),
                (bytes, {"type": "string", "contentEncoding": "base64"}),
                (Annotated[int, "how many", {"minimum": 1}],
                 {"type": "integer", "description": "how many", "minimum": 1}),
                (Tree, {"$ref": "#/$defs/Tree", "$defs": {"Tree": {
                    "type": "object", "properties": {"name": {"type": "string"},
                                                     "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
                    "required": ["name", "below"]}}})):
            self.assertEqual(typed(annotation, "t").schema, schema, annotation)

    def test_which_keys_of_a_typed_dict_must_be_there(self):
        self.assertEqual(typed(TypedDict("D", {"a": int}), "t").schema["required"], ["a"])
        names = {"a": Wrapped("NotRequired", int), "b": Wrapped("ReadOnly", Wrapped("NotRequired", int)), "c": int,
                 "d": Annotated[Wrapped("Required", int), "d"]}
        for total, required in ((True, ["c", "d"]), (False, ["d"])):
            schema = typed(TypedDict("D", names, total=total), "t").schema
            self.assertEqual(schema["required"], required)
            self.assertEqual({member["type"] for member in schema["properties"].values()}, {"integer"})

    @unittest.skipIf(sys.version_info < (3, 11), "NotRequired is of 3.11")
    def test_qualifiers_that_are_postponed(self):
        module = sys.modules["postponed"] = types.ModuleType("postponed")
        self.addCleanup(sys.modules.pop, "postponed")
        exec(compile("from __future__ import annotations\nfrom typing import *\nclass D(TypedDict):\n"
                     "    a: NotRequired[int]\n    b: Annotated[Required[int], 'bee']\n    c: int", "d", "exec"),
             vars(module))
        self.assertEqual(typed(vars(module)["D"], "t").schema["required"], ["b", "c"])

    def test_a_name_of_a_definition_is_used_once(self):
        def other():
            @dataclasses.dataclass
            class Node:
                below: Optional["Node"] = None
            return Node
        schema = typed(Tuple[Node, other()], "t").schema
        self.assertEqual(list(schema["$defs"]), ["Node", "Node_2"])
        compile_schema(schema)
        many = typed(Tuple[tuple(other() for _ in range(120))], "t").schema
        self.assertEqual(len(many["$defs"]), 120)

    @unittest.skipIf(sys.version_info < (3, 10), "X | Y is of 3.10")
    def test_unions_by_their_sign(self):
        self.assertEqual(typed(int | None, "t").schema, typed(Optional[int], "t").schema)
        self.assertEqual(typed(list[int | Colour], "t").convert(["red"]), [Colour.RED])

    @unittest.skipIf(sys.version_info < (3, 12), "type X = … is of 3.12")
    def test_aliases(self):
        names = {}
        exec("type Id = int\ntype Json = None | str | list[Json] | dict[str, Json]\ntype Pair[T] = tuple[T, T]\n"
             "class Stack[T]: ...", names)
        self.assertEqual(typed(names["Id"], "t").schema, {"type": "integer"})
        self.assertEqual(typed(names["Pair"][Colour], "t").convert(["red", "blue"]), (Colour.RED, Colour.BLUE))
        made = typed(names["Json"], "t")
        self.assertTrue(compile_schema(made.schema).is_valid({"a": [None, {"b": "c"}]}))
        self.assertFalse(compile_schema(made.schema).is_valid({"a": [1]}))


class Refusals(unittest.TestCase):
    def test_what_has_no_json_form_is_told_what_to_write_instead(self):
        for annotation, words in (
                (complex, "two floats"), (datetime.timedelta, "float"), (Iterator[int], r"List\[…\]"),
                (Dict[int, str], r"Dict\[str, …\]"), (collections.defaultdict, "Dict"), (bytearray, "bytes"),
                (Rights, "List"), (Opaque, "text or a number"), (Literal[Opaque.THING], "text or a number"),
                (enum.Enum("Empty", ""), "no value at all"), (Literal[b"a"], "text or a number"),
                (Set[List[int]], "List"), (Set[Point], "frozen"), (ValueError, "raised"), (type, "dataclass"),
                (Callable[[int], str], "dataclass"), (3, "Any"), ([int], "Any"), ("Nowhere", "import"),
                ("1 +", "cannot be resolved"), (List["Nowhere"], "import")):  # noqa: F821
            with self.subTest(str(annotation)), self.assertRaisesRegex(SchemaError, f"(?s)book\\(x\\).*{words}"):
                typed(annotation, "book(x)")

    def test_defaults_of_fields_are_of_their_annotation(self):
        for annotation, default in ((int, "1"), (int, True), (Literal["a"], "b"), (Colour, "red"),
                                    (List[int], (1, "2")),
                                    (Annotated[int, {"minimum": 1}], 0), (datetime.date, "2026-01-01"),
                                    (Optional[float], "x"), (float, float("nan"))):
            kind = dataclasses.make_dataclass("Kind", [("seats", annotation, dataclasses.field(default=default))])
            with self.subTest(f"{annotation} {default}"), self.assertRaisesRegex(SchemaError, "seats.*default"):
                typed(kind, "t")
        kind = dataclasses.make_dataclass("Kind", [("seats", int, dataclasses.field(default=None))])
        self.assertEqual(typed(kind, "t").convert({"seats": None}), kind(None), "None is as good as Optional")

    def test_a_value_that_is_not_of_its_type_is_named(self):
        for annotation, value, words in (
                (datetime.date, "2026-02-31", "v must be a date such as"),
                (datetime.date, "20260228", "v must be a date"),
                (datetime.datetime, "2026-02-28", "v must be a date and time"), (datetime.time, "25:00", "v must be a"),
                (uuid.UUID, "x", "v must be a UUID"), (bytes, "YQ", "v must be standard Base64"),
                (decimal.Decimal, "NaN", "v must be a decimal"), (float, 10**400, "v must be within"),
                (Dict[str, List[datetime.date]], {"a": ["2026-01-01", "x"]}, r"v\.a\[1\] must be a date"),
                (Set[Any], [[1]], "v must hold nothing but"),
                (Node, {"value": 1, "children": [{"value": 2, "seen": "soon"}]}, r"v\.children\[0\]\.seen must be")):
            with self.subTest(str(annotation)):
                with self.assertRaises(Unfit) as caught:
                    typed(annotation, "t").convert(value)
                self.assertRegex(caught.exception.text("v"), words)

    def test_what_is_not_of_its_annotation_is_not_written(self):
        for annotation, value in (
                (int, "1"), (int, True), (int, 1.0), (int, None), (float, "1"), (float, float("inf")), (str, b"a"),
                (bool, 1), (None, 0), (float, 10**400), (List[int], "ab"), (List[int], {1}), (List[int], [1, "2"]),
                (Set[int], [1]),
                (Tuple[int, int], (1,)), (Dict[str, int], [1]), (Dict[str, int], {1: 1}), (Point, {"x": 1}),
                (Point, Circle(1.0)), (Place, []), (Tree, {"name": "a"}), (Colour, "red"), (Literal[1], True),
                (datetime.date, datetime.datetime(2026, 1, 1)), (datetime.date, "2026-01-01"), (bytes, "YQ=="),
                (decimal.Decimal, decimal.Decimal("NaN")), (Union[int, Point], "x"), (Any, {"a": b"x"}), (Any, {1, 2}),
                (Any, object()), (Any, {1: 2}), (Any, ValueError("x")), (Any, (x for x in "ab")), (Any, float("nan")),
                (Annotated[int, {"minimum": 1}], 0)):
            with self.subTest(f"{annotation} {value!r}"), self.assertRaises(Unfit):
                typed(annotation, "t", out=True).dump(value)
        for value, words in (((1,), "must be a tuple of 2, not of 1"), ("ab", "must be a tuple of 2, not str")):
            with self.assertRaises(Unfit) as caught:
                typed(Tuple[int, int], "t", out=True).dump(value)
            self.assertIn(words, caught.exception.text("v"))


if __name__ == "__main__":
    unittest.main()
