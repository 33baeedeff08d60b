"""server/tools, Tool Result: what a handler returns comes out as its annotation promises."""

import dataclasses
import datetime
import json
import unittest
from typing import (
    Any,
    Coroutine,
    Dict,
    Iterator,
    List,
    NamedTuple,
    NewType,
    Optional,
    Set,
    Tuple,
    TypedDict,
    Union,
)

from mcp_ref import (
    Context,
    InputRequired,
    PromptResult,
    SchemaError,
    Server,
    ToolError,
    ToolResult,
    content,
)
from mcp_ref.base.request import Request

from .support import call, message, proves, raising


@dataclasses.dataclass
class Weather:
    celsius: float
    when: Optional[datetime.date] = None


class Place(TypedDict):
    name: str


def tool_result() -> ToolResult:
    return ToolResult("x")


class Pair(NamedTuple):
    a: int
    b: str = ""


@proves("C048")
class Results(unittest.TestCase):
    def result(self, value, **options):
        server = Server("s", "1")
        server.tool(name="t", **options)(lambda ctx: value)
        reply = call(server, "t")
        self.assertEqual(reply.status, 200)
        return {key: inner for key, inner in reply.result.items() if key != "_meta"}

    def test_texts_and_blocks(self):
        image = content.image(b"\xfb\xff\xfe", "image/png", annotations={"priority": 0.5})
        self.assertEqual(image["data"], "+//+")
        link = content.resource_link("demo://x", "x")
        embedded = content.embedded_resource("demo://x", b"\x00", "application/octet-stream")
        sound = content.audio(b"\x00", "audio/wav")
        text = {"type": "text", "text": "x"}
        for value, blocks in (("x", [text]), (None, []), (image, [image]), (["x", image, link, embedded, sound],
                              [text, image, link, embedded, sound]), (ToolResult("x"), [text])):
            self.assertEqual(self.result(value), {"resultType": "complete", "content": blocks})

    def test_other_values_become_their_json(self):
        for value, text in ((7, "7"), (True, "true"), ({"a": 1}, '{"a":1}'), ([], "[]"), ([1], "[1]"),
                            (["a", "b"], '["a","b"]'), ({"type": "circle"}, '{"type":"circle"}'),
                            ({"type": "text", "text": "x"}, '{"type":"text","text":"x"}'),
                            ([{"type": "Point", "coordinates": [1, 2]}], '[{"type":"Point","coordinates":[1,2]}]'),
                            ({"a": Weather(1.0)}, '{"a":{"celsius":1.0,"when":null}}'), ((1, "a"), '[1,"a"]')):
            self.assertEqual(self.result(value),
                             {"resultType": "complete", "content": [{"type": "text", "text": text}]})

    def test_data_beside_blocks_is_text(self):
        block = content.text("x")
        self.assertEqual(self.result([block, "y", {"a": 1}, Weather(1.0)])["content"], [
            block, content.text("y"), content.text('{"a":1}'), content.text('{"celsius":1.0,"when":null}')])

    def test_a_whole_result_keeps_the_promise_of_the_annotation(self):
        server = Server("s", "1")

        @server.tool
        def t(celsius: Any) -> Weather:
            return ToolResult("x", structured={"celsius": celsius, "when": None})  # type: ignore[return-value]

        self.assertEqual(call(server, "t", {"celsius": 1}).result["structuredContent"]["celsius"], 1)
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertIn("celsius must be a number", call(server, "t", {"celsius": "warm"}).text)

    def test_what_a_model_reads_has_real_characters_and_the_wire_none(self):
        self.assertEqual(self.result({"Zürich": "☕"})["content"][0]["text"], '{"Zürich":"☕"}')
        server = Server("s", "1")
        server.tool(name="t")(lambda: {"Zürich": "☕"})
        body = message("tools/call", {"name": "t"})
        raw = server.handle(Request(lambda: json.dumps(body).encode(), None)).body
        self.assertTrue(raw.isascii())

    def test_errors_and_meta(self):
        made = self.result(ToolResult("no", is_error=True))
        self.assertEqual((made["isError"], made["content"]), (True, [{"type": "text", "text": "no"}]))
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: ToolResult("x", meta={"com.example/k": 1}))
        fields = call(server, "t").result["_meta"]
        self.assertEqual(fields["com.example/k"], 1)
        self.assertEqual(fields["io.modelcontextprotocol/serverInfo"], {"name": "s", "version": "1"})

    def test_structured_content_of_every_json_type(self):
        for schema, value in (({"type": "integer"}, 0), ({"type": "boolean"}, False), ({"type": "null"}, None),
                              ({"type": "array"}, []), ({"type": "object"}, {}), ({"type": "string"}, "")):
            made = self.result(value, output_schema=schema)
            self.assertEqual(made["structuredContent"], value)
            self.assertEqual(type(made["structuredContent"]), type(value))
            self.assertEqual(len(made["content"]), 1)

    @proves("TOOL-35")
    def test_structured_content_that_breaks_its_schema_is_never_sent(self):
        for value in ("x", None, ToolResult("text only"), ToolResult(structured="x")):
            server = Server("s", "1")
            server.tool(name="t", output_schema={"type": "integer"})(lambda ctx, value=value: value)
            server.tools["t"].signature.schema["properties"].clear()
            with self.assertLogs("mcp_ref", "ERROR"):
                made = call(server, "t").result
            self.assertTrue(made["isError"])
            self.assertNotIn("structuredContent", made)
        made = self.result(ToolResult("no", is_error=True), output_schema={"type": "integer"})
        self.assertTrue(made["isError"], "an error result needs no structured content")

    def returning(self, annotation, value):
        server = Server("s", "1")

        def handler():
            return value
        handler.__annotations__["return"] = annotation
        tool = server.add_tool(handler, name="t")
        return tool.definition.get("outputSchema"), call(server, "t").result

    def test_data_that_is_promised_is_structured(self):
        weather = {"type": "object", "properties": {"celsius": {"type": "number"}, "when": {
            "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}},
            "required": ["celsius", "when"], "additionalProperties": False}
        day = datetime.date(2026, 7, 28)
        warm = {"celsius": 21.5, "when": "2026-07-28"}
        for annotation, value, schema, expected in (
                (Weather, Weather(21.5, day), weather, warm), (int, 3, {"type": "integer"}, 3),
                (bool, False, {"type": "boolean"}, False), (float, 1.5, {"type": "number"}, 1.5),
                (dict, {"type": "text"}, {"type": "object"}, {"type": "text"}), (list, ["x"], {"type": "array"}, ["x"]),
                (List[str], [], {"type": "array", "items": {"type": "string"}}, []),
                (List[Weather], [Weather(21.5, day)], {"type": "array", "items": weather}, [warm]),
                (Dict[str, Weather], {"a": Weather(21.5, day)}, {"type": "object", "additionalProperties": weather},
                 {"a": warm}),
                (Optional[Weather], None, {"anyOf": [weather, {"type": "null"}]}, None),
                (Union[Weather, int], 3, {"anyOf": [weather, {"type": "integer"}]}, 3),
                (Place, {"name": "Zürich"}, {"type": "object", "properties": {"name": {"type": "string"}},
                                             "required": ["name"]}, {"name": "Zürich"}),
                (Pair, Pair(1, "z"),
                 {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
                  "required": ["a", "b"], "additionalProperties": False}, {"a": 1, "b": "z"}),
                (datetime.date, day, {"type": "string", "format": "date"}, "2026-07-28"),
                (bytes, b"a", {"type": "string", "contentEncoding": "base64"}, "YQ=="),
                (Set[str], {"b", "a"}, {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ["a", "b"]),
                (Union[int, InputRequired], 3, {"type": "integer"}, 3)):
            with self.subTest(str(annotation)):
                self.assertEqual(self.returning(annotation, value)[0], schema)
                made = self.returning(annotation, value)[1]
                self.assertEqual((made["structuredContent"], made.get("isError")), (expected, None))
                self.assertEqual(json.loads(made["content"][0]["text"]), expected)

    def test_async_handlers_likewise(self):
        async def later() -> Weather:
            return Weather(1.0)

        def started() -> Coroutine[Any, Any, Weather]:
            return later()
        for handler in (later, started):
            server = Server("s", "1")
            server.tool(handler)
            self.assertEqual(call(server, handler.__name__).result["structuredContent"], {"celsius": 1.0, "when": None})

    def test_texts_and_blocks_are_content_alone(self):
        block = content.text("x")
        blocks = [{"type": "text", "text": "x"}]
        for annotation, value, expected in (
                (str, "x", blocks), (Optional[str], None, []), (Optional[str], "x", blocks), (None, None, []),
                (content.Block, block, blocks), (List[content.Block], [block], blocks), (List[content.Block], [], []),
                (List[Union[str, content.Block]], ["x"], blocks), (Tuple[str, content.Block], ("x", block), blocks * 2),
                (ToolResult, ToolResult("x"), blocks), (Union[str, InputRequired], "x", blocks), (Any, "x", blocks),
                (Any, None, []), (object, "x", blocks), (Union[Weather, str], "x", blocks),
                (NewType("N", str), "x", blocks),
                (Union[Weather, str], Weather(1.0), [{"type": "text", "text": '{"celsius":1.0,"when":null}'}]),
                (Union[Weather, ToolResult], ToolResult("x"), blocks)):
            with self.subTest(str(annotation)):
                self.assertIsNone(self.returning(annotation, value)[0])
                made = self.returning(annotation, value)[1]
                self.assertEqual((made["content"], made.get("isError")), (expected, None))
                self.assertNotIn("structuredContent", made)

    def test_blocks_where_a_list_or_dict_is_promised_are_both(self):
        for annotation, value in ((list, ["x", content.text("y")]), (dict, content.text("y"))):
            made = self.returning(annotation, value)[1]
            self.assertEqual(made["structuredContent"], value)
            self.assertEqual(made["content"][-1], {"type": "text", "text": "y"})

    def test_an_image_is_made_of_octets(self):
        for make in (content.image, content.audio):
            self.assertEqual(make(b"x", "a/b")["data"], make(bytearray(b"x"), "a/b")["data"])
            with self.assertRaisesRegex(TypeError, "of Base64, of base64.b64decode"):
                make("eA==", "a/b")

    def test_what_resources_and_prompts_return_is_no_data(self):
        for value, place in ((content.resource_contents("a:b", "x"), "what a resource returns"),
                             (PromptResult("x"), "what a prompt returns")):
            with self.assertLogs("mcp_ref", "ERROR"):
                self.assertIn(f"which is {place}", self.returning(Any, value)[1]["content"][0]["text"])
            with self.assertRaisesRegex(SchemaError, place):
                self.returning(type(value), value)
        with self.assertRaisesRegex(SchemaError, "what a tool returns"):
            Server("s", "1").prompt(tool_result)

    def test_a_promise_that_is_broken_is_told_in_words(self):
        for annotation, value, words in (
                (int, None, "None where int is promised: a return is missing"), (str, None, "a return is missing"),
                (Weather, None, "a return is missing"), (ToolResult, None, "a return is missing"),
                (List[content.Block], None, "a return is missing"),
                (int, "3", "must be an integer, not str"), (str, 3, "int where str is promised"),
                (Weather, {"celsius": 1}, "must be a Weather, not dict"), (float, float("nan"), "nan"),
                (List[Weather], [Weather("x")], r"it\[0\]\.celsius must be a number"),
                (content.Block, {"type": "text", "text": "x"}, "dict where Block is promised")):
            with self.subTest(str(annotation)), self.assertLogs("mcp_ref", "ERROR") as logs:
                made = self.returning(annotation, value)[1]
                self.assertTrue(made["isError"])
                self.assertNotIn("structuredContent", made)
                self.assertRegex(made["content"][0]["text"], words)
                self.assertRegex("".join(logs.output), words)

    def test_a_return_annotation_without_a_json_form_is_refused(self):
        for annotation, words in ((complex, "two floats"), (Iterator[int], "List"),
                                  (datetime.timedelta, "float"), (ToolError, "raised"),
                                  (Dict[str, content.Block], "ToolResult"), (Context, "dataclass")):
            with self.subTest(str(annotation)), self.assertRaisesRegex(SchemaError, f"what .* returns.*{words}"):
                self.returning(annotation, None)

    def test_what_json_cannot_carry_is_the_tools_own_failure(self):
        cycle = []
        cycle.append(cycle)
        deep = []
        for _ in range(61):
            deep = [deep]
        for bad in (float("nan"), b"x", {1: 2}, "\ud800", cycle, deep, object(), {1, 2}, [0] * 200_001):
            for value in (bad, {"a": bad}, ToolResult(structured=bad), ToolResult("x", meta={"k": bad}),
                          ToolResult([content.text("x", own=bad)]), content.text("x", _meta={"k": bad}),
                          [content.text("x", annotations={"priority": bad})], ToolResult("x", meta={"a b": 1})):
                with self.subTest(f"{type(bad)} {type(value)}"), self.assertLogs("mcp_ref", "ERROR") as logs:
                    self.assertTrue(self.result(value)["isError"])
                    self.assertEqual(len(logs.output), 1)

    def test_a_block_is_one_of_the_five_kinds_and_whole(self):
        link, shown = {"type": "resource_link", "uri": "demo://x", "name": "x"}, {"type": "text", "text": "x"}
        image = {"type": "image", "data": "YQ==", "mimeType": "image/png"}
        for block, words in (
                ({"type": "image", "mimeType": "image/png"}, "must have data"), ({"type": "text", "text": 5}, "not 5"),
                ({"type": "text"}, "must have text"), ({**shown, "annotations": None}, "annotations"),
                ({**shown, "annotations": {"audience": "user"}}, "audience"),
                ({**shown, "annotations": {"audience": ["model"]}}, "audience"),
                ({**shown, "annotations": {"priority": 2}}, "priority"),
                ({**shown, "annotations": {"priority": True}}, "priority"),
                ({**shown, "annotations": {"lastModified": "yesterday"}}, "lastModified"),
                ({**shown, "annotations": {"prioritie": 1}}, "did you mean priority"),
                ({**shown, "_meta": None}, "_meta"), ({**shown, "_meta": {"a b": 1}}, "_meta"),
                ({**link, "uri": "x/y"}, "uri"), ({**link, "name": None}, "name"), ({**link, "size": -1}, "size"),
                ({**link, "mimeType": "text"}, "mimeType"), ({**link, "icons": [{}]}, "src"),
                ({**image, "data": "not base64!"}, "Base64"), ({**image, "data": "YQ"}, "Base64"),
                ({**image, "data": b"YQ=="}, "Base64"), ({**image, "mimeType": "png"}, "mimeType"),
                ({"type": "resource", "resource": {"uri": "demo://x"}}, "text or blob"),
                ({"type": "resource", "resource": {"uri": "x", "text": "y"}}, "uri"),
                ({"type": "resource", "resource": None}, "resource"), ({"type": "video"}, "of type"), ({}, "of type"),
                (None, "of type"), (5, "of type")):
            with self.subTest(str(block)), self.assertLogs("mcp_ref", "ERROR") as logs:
                made = self.result(ToolResult([block]))
                self.assertTrue(made["isError"])
                self.assertRegex(made["content"][0]["text"], words)
                self.assertRegex("".join(logs.output), words)
        for block in (link, shown, image, {**shown, "annotations": {"audience": ["user"], "priority": 1,
                                                                    "lastModified": "2025-01-12T15:00:58Z"}},
                      {"type": "resource", "resource": {"uri": "demo://x", "blob": ""}}):
            self.assertEqual(self.result(ToolResult([block]))["content"], [block])

    def test_what_is_returned_in_place_of_a_result(self):
        for value, words in ((ToolError("sold out"), "sold out"), (ValueError("secret"), "ValueError: raise it"),
                             ((x for x in "ab"), "return a list"), (ToolResult, "no JSON form")):
            with self.assertLogs("mcp_ref", "ERROR") as logs:
                made = self.result(value)
            self.assertTrue(made["isError"])
            self.assertIn(words, made["content"][0]["text"])
            self.assertNotIn("secret", made["content"][0]["text"] + "".join(logs.output))
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: ctx)
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertIn("Context", call(server, "t").text)

    def test_tool_errors_without_words_or_with_bad_ones(self):
        server = Server("s", "1")
        server.tool(name="silent")(raising(ToolError()))
        server.tool(name="broken")(raising(ToolError("\ud800")))
        self.assertIn("does not say why", call(server, "silent").text)
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertTrue(call(server, "broken").result["isError"])


if __name__ == "__main__":
    unittest.main()
