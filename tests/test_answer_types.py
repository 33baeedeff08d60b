"""basic/patterns/mrtr, answers as types: a dataclass, a model or an annotation asks, and its value comes back."""

import dataclasses
import datetime
import enum
import functools
import unittest
import uuid
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

from mcp_ref import InputRequired, Server, form, roots

from .support import Talk, accept, call, served

OK = {"ok": {"type": "boolean"}}


class Types(unittest.TestCase):
    """`fields` may be a type, of which the answer's value then is."""

    def ask(self, fields: Any, content: Dict[str, Any]) -> Any:
        server = Server("s", "1")
        found: List[Any] = []
        server.tool(name="t")(lambda ctx: found.append(ctx.elicit("?", fields, "k")))
        reply = call(server, "t")
        self.schema = reply.result["inputRequests"]["k"]["params"]["requestedSchema"]
        self.assertEqual(set(self.schema) - {"required"}, {"type", "properties"})
        reply = call(server, "t", requestState=reply.result["requestState"], inputResponses={"k": accept(**content)})
        self.assertEqual(reply.status, 200, reply.body)
        return found[0].value

    def test_of_one_field(self) -> None:
        class Colour(enum.Enum):
            RED = "red"
            BLUE = "blue"

        for fields, given, value in ((bool, True, True), (int, 3, 3), (int, 3.0, 3), (float, 1.5, 1.5), (str, "x", "x"),
                                     (Colour, "red", Colour.RED), (Literal["a", "b"], "b", "b"),
                                     (Optional[int], 3, 3), (List[Literal["a", "b"]], ["a"], ["a"])):
            made = self.ask(fields, {"value": given})
            self.assertEqual((made, type(made)), (value, type(value)))
            self.assertEqual(self.schema.get("required", []), [] if fields == Optional[int] else ["value"])
        self.assertIsNone(self.ask(Optional[int], {}))

    def test_of_several(self) -> None:
        class Size(enum.Enum):
            S = "s"
            L = "l"

        @dataclasses.dataclass
        class Order:
            size: Size
            count: int = 1
            note: Optional[str] = None

        class Name(TypedDict):
            first: str
            last: str

        self.assertEqual(self.ask(Order, {"size": "l"}), Order(Size.L))
        self.assertEqual(self.schema["required"], ["size"])
        self.assertEqual(self.ask(Order, {"size": "s", "count": 2, "note": "x"}), Order(Size.S, 2, "x"))
        self.assertEqual(self.ask(Name, {"first": "A", "last": "L"}), {"first": "A", "last": "L"})

    def test_a_time_and_a_uuid_are_texts_of_a_form_that_their_type_reads(self) -> None:
        @dataclasses.dataclass
        class Run:
            id: uuid.UUID
            at: Optional[datetime.time] = None

        self.assertEqual(self.ask(Run, {"id": str(uuid.UUID(int=5)), "at": "09:30:00"}),
                         Run(uuid.UUID(int=5), datetime.time(9, 30)))
        self.assertEqual(self.schema["properties"], {"id": {"type": "string"}, "at": {"type": "string"}})
        self.assertEqual(self.ask(datetime.date, {"value": "2026-07-28"}), datetime.date(2026, 7, 28))
        self.assertEqual(self.schema["properties"], {"value": {"type": "string", "format": "date"}})

    def test_no_is_no_agreement(self) -> None:
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: "deleted" if ctx.elicit("Delete?", bool) else "kept")
        for answer, text in ((accept(value=True), "deleted"), (accept(value=False), "kept"),
                             ({"action": "decline"}, "kept")):
            self.assertEqual(Talk(server, name="t").run(lambda request, answer=answer: answer).text, text)

    def test_a_type_that_is_no_form_is_the_handlers_error(self) -> None:
        @dataclasses.dataclass
        class Inner:
            x: int

        @dataclasses.dataclass
        class Outer:
            inner: Inner

        for fields in (Outer, Dict[str, int], List[int], complex, 5):
            server = Server("s", "1")
            server.tool(name="t")(lambda ctx, _f=None: ctx.elicit("?", fields))  # noqa: B023
            with self.assertLogs("mcp_ref", "ERROR"):
                self.assertTrue(call(server, "t").result["isError"], fields)


    def test_a_mistake_in_a_form_is_told_in_words(self) -> None:
        @dataclasses.dataclass
        class Nested:
            inner: Dict[str, int]

        for fields, required, words in (
                (["a", "b"], None, r"a dict of them, or a type .*not \['a', 'b'\]"), (5, None, "or a type .*not 5"),
                ({"name": str}, None, 'field "name" of a form is a schema .*dataclass'),
                ({"name": "string"}, None, 'field "name" of a form is a schema'),
                (Union[int, str], None, 'field "value" of the question "Who\\?".*flat'),
                (Nested, None, 'field "inner" of the question "Who\\?".*flat'),
                (bool, [], "required goes with a dict of fields"), (Nested, ["inner"], "required goes with a dict"),
                ({"type": "object", "properties": OK}, ["ok"], "required is a member of the whole schema"),
                (OK, ["okay"], 'the question "Who\\?" requires "okay", for which it has no field')):
            def handler(ctx, fields=fields, required=required) -> str:
                return str(ctx.elicit("Who?", fields, required=required))
            server, talk = served(functools.partial(handler, fields=fields, required=required), "tools/call")
            with self.subTest(repr(fields)), self.assertLogs("mcp_ref", "ERROR") as logs:
                self.assertTrue(talk.run(lambda request: accept()).result["isError"])
                self.assertRegex("".join(logs.output), words)

    def test_an_answer_that_its_type_refuses_is_told_by_the_key_on_the_wire(self) -> None:
        @dataclasses.dataclass
        class Seats:
            count: int

            def __post_init__(self) -> None:
                if self.count < 1:
                    raise ValueError("none")

        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: str(ctx.elicit("How many?", Seats)))
        asked = call(server, "t").result
        key, = asked["inputRequests"]
        reply = call(server, "t", requestState=asked["requestState"], inputResponses={key: accept(count=0)})
        self.assertEqual(reply.error["message"], f"Invalid params: inputResponses.{key}.content is no valid Seats")

    def test_what_a_field_is_by_default_is_shown(self) -> None:
        class Colour(enum.Enum):
            RED = "red"

        @dataclasses.dataclass
        class Seat:
            name: str
            row: int = 3
            colour: Colour = Colour.RED
            note: Optional[str] = None

        schema = form("Where?", Seat)["params"]["requestedSchema"]
        self.assertEqual({name: field.get("default") for name, field in schema["properties"].items()},
                         {"name": None, "row": 3, "colour": "red", "note": None})


class Making(unittest.TestCase):
    def test_input_required_checks_itself(self) -> None:
        question = form("?", OK)
        for wrong in ((), ({},), (None, None), ({"k": 5},), ({"k": {"method": "tools/call", "params": {}}},),
                      ({"k": {"params": {}}},), ({5: question},), ([question],), ({"k": {**question, "params": []}},),
                      ({"k": InputRequired({"k": question})},)):
            with self.assertRaises((TypeError, ValueError), msg=wrong):
                InputRequired(*wrong)
        for right in (({"k": question},), (None, 0), (None, ""), ({"k": roots()}, {"a": 1})):
            InputRequired(*right)

    def test_state_ttl(self) -> None:
        for wrong in (0, -1, float("inf"), float("nan"), "60", True, None):
            with self.assertRaisesRegex(ValueError, "finite number of seconds above 0"):
                Server("s", "1", state_ttl=wrong)  # type: ignore[arg-type]
        for right in (0.001, 60, 10**15, 1e300):
            server = Server("s", "1", state_ttl=right)
            server.tool(name="t")(lambda ctx: str(ctx.elicit("?", bool).value))
            self.assertIn("requestState", call(server, "t").result)

    def test_a_question_that_json_cannot_carry_is_the_handlers_failure(self) -> None:
        for fields in ({"a": {"type": "string", "default": object()}}, {"a": {"type": "string", "title": "\ud800"}}):
            server = Server("s", "1")
            server.tool(name="t")(lambda ctx: str(ctx.elicit("?", fields)))  # noqa: B023
            with self.assertLogs("mcp_ref", "ERROR"):
                self.assertTrue(call(server, "t").result["isError"])

    def test_the_protocol_version(self) -> None:
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: ctx.protocol_version)
        self.assertEqual(call(server, "t").text, "2026-07-28")


if __name__ == "__main__":
    unittest.main()
