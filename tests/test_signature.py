"""Schemas from annotations, and arguments turned back into the annotated types."""

import dataclasses
import enum
import unittest
from typing import Annotated, Any, Dict, List, Literal, Optional, TypedDict, Union

from mcp_ref import SchemaError, Server
from mcp_ref.server.signature import signature, typed

from .support import call


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0
    colour: Colour = Colour.RED


class Place(TypedDict, total=False):
    name: str
    points: List[Point]


class Schemas(unittest.TestCase):
    def test_each_annotation(self):
        point = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "number"},
                                                  "colour": {"enum": ["red", "blue"]}},
                 "required": ["x"], "additionalProperties": False}
        for annotation, schema in (
                (str, {"type": "string"}), (int, {"type": "integer"}), (float, {"type": "number"}),
                (bool, {"type": "boolean"}), (None.__class__, {"type": "null"}), (Any, {}),
                (list, {"type": "array"}), (List[int], {"type": "array", "items": {"type": "integer"}}),
                (dict, {"type": "object"}),
                (Dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
                (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),
                (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
                (Literal["a", 1], {"enum": ["a", 1]}), (Colour, {"enum": ["red", "blue"]}), (Point, point),
                (Place, {"type": "object", "properties": {"name": {"type": "string"},
                                                          "points": {"type": "array", "items": point}}}),
                (Annotated[int, "how many", {"minimum": 1}],
                 {"type": "integer", "description": "how many", "minimum": 1})):
            self.assertEqual(typed(annotation, "t").schema, schema, annotation)


    def test_required_members_of_a_typed_dict(self):
        self.assertEqual(typed(TypedDict("T", {"a": int}), "t").schema["required"], ["a"])

    def test_what_has_no_schema_is_named(self):
        for annotation in (bytes, object, Dict[int, str], complex):
            with self.assertRaisesRegex(SchemaError, "handler\\(x\\)"):
                def handler(ctx, x) -> str:
                    return ""
                handler.__annotations__["x"] = annotation
                handler.__qualname__ = "handler"
                signature(handler)

        def star(ctx, *x) -> str:
            return ""
        with self.assertRaises(SchemaError):
            signature(star)

        def missing(ctx, x: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
            return ""
        with self.assertRaisesRegex(SchemaError, "Nowhere"):
            signature(missing)

    def test_defaults_and_required(self):
        def handler(ctx, a: str, b: int = 2, c: Optional[str] = None, d: Colour = Colour.BLUE, e: object = object()):
            return ""
        handler.__annotations__.pop("e")
        made = signature(handler).schema
        self.assertEqual(made["required"], ["a"])
        self.assertEqual(made["properties"]["b"]["default"], 2)
        self.assertEqual(made["properties"]["d"]["default"], "blue")
        self.assertNotIn("default", made["properties"]["c"])
        self.assertNotIn("default", made["properties"]["e"])
        self.assertFalse(made["additionalProperties"])


class Values(unittest.TestCase):
    def test_arguments_arrive_as_their_types(self):
        server = Server("s", "1")

        @server.tool
        def show(ctx, n: int, p: Point, c: Optional[Colour] = None, places: Dict[str, Place] = {}) -> str:
            return repr((n, p, c, places))

        reply = call(server, "show", {"n": 3.0, "p": {"x": 1, "colour": "blue"}, "c": "red",
                                      "places": {"home": {"points": [{"x": 2}]}}})
        self.assertEqual(reply.text, repr((3, Point(1, 0.0, Colour.BLUE), Colour.RED,
                                           {"home": {"points": [Point(2)]}})))

    def test_ctx_is_optional(self):
        server = Server("s", "1")
        server.tool(name="add")(lambda a, b: str(a + b))
        self.assertEqual(call(server, "add", {"a": 1, "b": 2}).text, "3")

    def test_a_schema_given_whole(self):
        server = Server("s", "1")
        schema = {"type": "object", "properties": {"a-b": {"type": "string"}}, "required": ["a-b"]}
        server.tool(name="whole", input_schema=schema)(lambda ctx, arguments: arguments["a-b"])
        server.tool(name="names", input_schema={"type": "object"})(lambda x: x)
        self.assertEqual(call(server, "whole", {"a-b": "c"}).text, "c")
        self.assertEqual(call(server, "names", {"x": "y"}).text, "y")
        self.assertTrue(call(server, "whole", {}).result["isError"])


if __name__ == "__main__":
    unittest.main()
