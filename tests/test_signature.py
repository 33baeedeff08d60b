"""Handlers: what can be one, what its parameters become, and how it is called."""

import dataclasses
import datetime
import enum
import functools
import unittest
from pathlib import Path
from typing import Annotated, Dict, List, Literal, Optional, TypedDict

from mcp_ref import Context, SchemaError, Server
from mcp_ref.server.signature import signature

from .support import call, message, post


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


def registered(function, **options):
    """The tool that a function becomes."""
    return Server("s", "1").add_tool(function, **options)


def postponed(text, **names):
    """The function `f` of a module with postponed annotations that holds `text`."""
    module = {"__name__": "postponed", **names}
    exec(compile("from __future__ import annotations\n" + text, "postponed", "exec"), module)
    return module["f"]


class Schemas(unittest.TestCase):
    def test_what_has_no_schema_is_named(self):
        for annotation in (complex, Dict[int, str], "Nowhere"):
            with self.assertRaisesRegex(SchemaError, "handler\\(x\\)"):
                def handler(ctx, x) -> str:
                    return ""
                handler.__annotations__["x"] = annotation
                handler.__qualname__ = "handler"
                signature(handler)

    def test_defaults_and_required(self):
        def handler(ctx, a: str, b: int = 2, c: Optional[str] = None, d: Colour = Colour.BLUE, e: object = object(),
                    f: Point = Point(1), g: Path = Path("a/b"), h: str = None):  # type: ignore[assignment]
            return ""
        made = signature(handler).schema
        self.assertEqual(made["required"], ["a"])
        self.assertEqual({name: member.get("default") for name, member in made["properties"].items()}, {
            "a": None, "b": 2, "c": None, "d": "blue", "e": None, "f": {"x": 1, "y": 0.0, "colour": "red"},
            "g": "a/b", "h": None})
        self.assertEqual(made["properties"]["h"], {"anyOf": [{"type": "string"}, {"type": "null"}]})
        self.assertFalse(made["additionalProperties"])

    def test_a_default_is_of_its_annotation(self):
        for annotation, default in ((int, "1"), (int, True), (str, 3), (Literal["a"], "b"), (Colour, "red"),
                                    (Annotated[int, {"maximum": 3}], 4), (List[int], ["1"]), (Path, "a"),
                                    (datetime.date, "2026-01-01")):
            def book(seats=default):
                return ""
            book.__annotations__["seats"] = annotation
            with self.assertRaisesRegex(SchemaError, r"book\(seats\): its default"):
                signature(book)

    def test_definitions_stand_at_the_root(self):
        @dataclasses.dataclass
        class Node:
            below: List["Node"]

        def handler(a: Node, b: Optional[Node] = None):
            return f"{a} {b}"
        made = signature(handler).schema
        self.assertEqual(made["properties"]["a"], {"$ref": "#/$defs/Node"})
        self.assertEqual(list(made["$defs"]), ["Node"])
        server = Server("s", "1")
        server.tool(handler)
        reply = call(server, "handler", {"a": {"below": [{"below": []}]}})
        self.assertEqual(reply.text, f"{Node([Node([])])} None")


class ContextParameter(unittest.TestCase):
    def given(self, function, **arguments):
        tool = registered(function, name="t")
        self.assertEqual(list(tool.definition["inputSchema"]["properties"]), list(arguments))
        server = Server("s", "1")
        server.tool(function, name="t")
        return call(server, "t", arguments).text

    def test_it_goes_to_its_parameter_wherever_that_stands(self):
        def last(a: int, ctx):
            return f"{a} {ctx.round}"

        def annotated(a: int, asking: Context):
            return f"{a} {asking.round}"

        def optional(a: int, *, asking: Optional[Context] = None):
            return f"{a} {asking and asking.round}"

        def noted(a: int, asking: Annotated[Context, "not for the model"]):
            return f"{a} {asking.round}"

        def text(asking: "Context", a: int):
            return f"{a} {asking.round}"

        def positional(a: int, ctx, /):
            return f"{a} {ctx.round}"
        for function in (last, annotated, optional, noted, text, positional):
            self.assertEqual(self.given(function, a=1), "1 0", function.__name__)

    def test_an_import_for_the_type_checker_only(self):
        for annotation in ("Context", "Optional[Context]", "mcp_ref.Context", "Context | None", "'Context'"):
            function = postponed(f"def f(a: int, asking: {annotation} = None): return f'{{a}} {{asking.round}}'",
                                 Optional=Optional)
            self.assertEqual(self.given(function, a=1), "1 0", annotation)
        function = postponed("def f(a: int, asking: Given): return f'{a} {asking.round}'", Given=Context)
        self.assertEqual(self.given(function, a=1), "1 0", "by another name")
        for annotation in ("Contextual", "MyContext", "Nowhere"):
            with self.assertRaisesRegex(SchemaError, "asking.*run time"):
                signature(postponed(f"def f(a: int, asking: {annotation}): ..."))

    def test_once(self):
        def twice(ctx, asking: Context):
            return ""
        with self.assertRaisesRegex(SchemaError, "ctx and asking"):
            signature(twice)

    def test_with_a_schema_of_its_own(self):
        def whole(arguments, ctx):
            return f"{arguments} {ctx.round}"
        server = Server("s", "1")
        server.tool(whole, input_schema={"type": "object"})
        self.assertEqual(call(server, "whole", {"a": 1}).text, "{'a': 1} 0")

    def test_of_prompts_resources_and_completers(self):
        server = Server("s", "1")
        server.add_prompt(lambda a, ctx: f"{a} {ctx.round}", name="p")
        server.add_resource("a:b", lambda ctx: f"{ctx.round}", name="r")
        server.add_resource_template("a:c/{d}", postponed(
            "def f(d: str, asking: Context): return f'{d} {asking.round}'"))
        server.completion("p", "a")(postponed(
            "def f(value, others, asking: Context): return [value, str(asking.round)]"))
        self.assertEqual(post(server, message("prompts/get", {"name": "p", "arguments": {"a": "x"}}))
                         .result["messages"][0]["content"]["text"], "x 0")
        for uri, text in (("a:b", "0"), ("a:c/x", "x 0")):
            self.assertEqual(post(server, message("resources/read", {"uri": uri})).result["contents"][0]["text"], text)
        self.assertEqual(post(server, message("completion/complete", {
            "ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}}))
            .result["completion"]["values"], ["v", "0"])


class Shop:
    """A shop."""

    def book(self, flight: str, seats: int = 1) -> str:
        """Book."""
        return f"{flight} {seats}"

    async def later(self, ctx, flight: str) -> str:
        return f"{flight} {ctx.round}"

    @staticmethod
    def add(a: int, b: int) -> str:
        return str(a + b)

    @classmethod
    def named(cls, suffix: str) -> str:
        return cls.__name__ + suffix

    def __call__(self, query: str) -> str:
        return query * 2


def base(ctx, flight: str, seats: int = 1, *, style: str = "plain") -> str:
    """Book in a style."""
    return f"{flight} {seats} {style} {ctx.round}"


def shouting(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs).upper()
    return wrapper


class Kinds(unittest.TestCase):
    def test_what_can_be_a_handler(self):
        for function, name, doc, arguments, text in (
                (Shop().book, "book", "Book.", {"flight": "a"}, "a 1"),
                (Shop().later, "later", None, {"flight": "a"}, "a 0"),
                (Shop.add, "add", None, {"a": 1, "b": 2}, "3"),
                (Shop.__dict__["add"], "add", None, {"a": 1, "b": 2}, "3"),
                (Shop.named, "named", None, {"suffix": "!"}, "Shop!"),
                (Shop(), "Shop", "A shop.", {"query": "a"}, "aa"),
                (functools.partial(base, seats=2), "base", "Book in a style.", {"flight": "a", "style": "b"},
                 "a 2 b 0"),
                (functools.partial(Shop.book, Shop()), "book", "Book.", {"flight": "a", "seats": 3}, "a 3"),
                (functools.partial(Shop(), query="a"), "Shop", "A shop.", {}, "aa"),
                (shouting(base), "base", "Book in a style.", {"flight": "a", "seats": 1, "style": "b"}, "A 1 B 0")):
            with self.subTest(name):
                tool = registered(function)
                self.assertEqual((tool.name, tool.definition.get("description")), (name, doc))
                self.assertLessEqual(set(arguments), set(tool.definition["inputSchema"]["properties"]))
                server = Server("s", "1")
                server.tool(function)
                self.assertEqual(call(server, name, arguments).text, text)
        self.assertNotIn("seats", registered(functools.partial(base, seats=2)).definition["inputSchema"]["properties"])

    def test_what_a_wrapper_takes_besides_is_a_parameter_too(self):
        def checked(function):
            @functools.wraps(function)
            def wrapper(ctx, *args, limit: int = 2, **more):
                return f"{ctx.round} {limit} {function(*args, **more)}"
            return wrapper

        def positional(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args)
            return wrapper

        def doubled(n: int) -> str:
            return str(2 * n)

        server = Server("s", "1")
        server.tool(checked(doubled))
        self.assertEqual(call(server, "doubled", {"n": 2, "limit": 5}).text, "0 5 4")
        with self.assertRaisesRegex(SchemaError, "doubled: the wrapper .* does not take n by name; .*kwargs"):
            server.tool(positional(doubled))

    def test_what_cannot_is_told_what_to_register_instead(self):
        def numbers(n: int):
            yield n

        async def later(n: int):
            yield n

        def star(*flights: str):
            return ""

        def wrapper(**options):
            return ""
        for function, words in ((Shop.book, r"server\.tool\(obj\.book\)"), (Shop.__dict__["named"], r"Class\.method"),
                                (Shop, "a class is no handler"), (numbers, r"ctx\.progress"), (later, r"ctx\.progress"),
                                (functools.partial(numbers, 1), r"ctx\.progress"), (star, r"functools\.wraps"),
                                (wrapper, "input_schema"), ("book", "by their names"), (None, "no function"),
                                (min, "(input_schema|a function that calls it)"), (type, "class is no handler")):
            for register in (Server("s", "1").add_tool, Server("s", "1").add_prompt,
                             lambda f: Server("s", "1").add_resource("a:b", f)):
                with self.subTest(str(function)), self.assertRaisesRegex(SchemaError, words):
                    register(function)

    def test_in_a_class_body(self):
        server = Server("s", "1")
        with self.assertRaisesRegex(SchemaError, r"obj\.book"):
            class Refused:
                @server.tool
                def book(self, flight: str):
                    return flight

        class Taken:
            @server.tool
            @staticmethod
            def add(a: int) -> str:
                return str(a)
        self.assertEqual(call(server, "add", {"a": 1}).text, "1")
        self.assertEqual(Taken.add(2), "2")

    def test_local_classes_with_postponed_annotations(self):
        @dataclasses.dataclass
        class Local:
            x: int
        tool = registered(postponed("def f(p: Local) -> Local: return p"))
        self.assertEqual(tool.definition["outputSchema"]["required"], ["x"])


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
        server.tool(name="names", input_schema={"type": "object", "properties": {"x": {}, "y": {}}, "required": ["x"],
                                                "additionalProperties": False})(lambda x, y="z": x + y)
        server.tool(name="all", input_schema={"type": "object"})(lambda **members: sorted(members))
        with self.assertRaisesRegex(SchemaError, "x among the required"):
            registered(lambda x, **members: x, name="t", input_schema={"type": "object"})
        self.assertEqual(call(server, "whole", {"a-b": "c"}).text, "c")
        self.assertEqual(call(server, "names", {"x": "y"}).text, "yz")
        self.assertEqual(call(server, "all", {"x": "y", "a": 1}).text, '["a","x"]')
        self.assertTrue(call(server, "whole", {}).result["isError"])
        self.assertTrue(call(server, "names", {"x": "y", "n": 1}).result["isError"])

    def test_a_schema_lets_nothing_through_that_the_handler_does_not_take(self):
        x = {"x": {"type": "string"}}
        for members, words in (({}, "additionalProperties"), ({"properties": x, "required": ["x"]}, "additionalProp"),
                               ({"properties": x, "additionalProperties": {"type": "string"}}, "additionalProperties"),
                               ({"properties": {**x, "y": {}}, "required": ["x"], "additionalProperties": False},
                                "not y"),
                               ({"properties": x, "required": ["x"], "additionalProperties": False,
                                 "patternProperties": {"^a": {}}}, "patternProperties"),
                               ({"properties": x, "additionalProperties": False}, "x among the required")):
            with self.subTest(str(members)), self.assertRaisesRegex(SchemaError, f"{words}.*arguments"):
                registered(lambda x: x, name="t", input_schema={"type": "object", **members})

    def test_what_the_schema_lets_through_and_the_type_does_not_is_an_argument_error(self):
        server = Server("s", "1")

        @server.tool
        def book(when: datetime.date, marks: List[bytes] = []) -> str:
            return str(when)
        server.tool(book, name="strict", strict=True)
        server.add_prompt(lambda when: when, name="p")

        @server.prompt
        def remind(when: datetime.date):
            return str(when)

        @server.resource("day://{when}")
        def day(when: datetime.date):
            return str(when)
        self.assertEqual(call(server, "book", {"when": "2026-07-28"}).text, "2026-07-28")
        for arguments, words in (({"when": "2026-02-31"}, "arguments.when must be a date such as 2026-07-28"),
                                 ({"when": "2026-07-28", "marks": ["YQ==", "?"]}, "arguments.marks[1] must be")):
            reply = call(server, "book", arguments)
            self.assertTrue(reply.result["isError"])
            self.assertIn(words, reply.text)
            self.assertIn(words, call(server, "strict", arguments).error["message"])
        reply = post(server, message("prompts/get", {"name": "remind", "arguments": {"when": "soon"}}))
        self.assertEqual((reply.status, reply.error["code"]), (400, -32602))
        self.assertIn("arguments.when must be a date", reply.error["message"])
        self.assertEqual(post(server, message("resources/read", {"uri": "day://2026-07-28"}))
                         .result["contents"][0]["text"], "2026-07-28")
        self.assertEqual(post(server, message("resources/read", {"uri": "day://soon"})).error["message"],
                         "Resource not found")


if __name__ == "__main__":
    unittest.main()
