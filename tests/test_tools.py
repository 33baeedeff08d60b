"""Tools: what they return, how their arguments are checked, how they are listed."""

import asyncio
import dataclasses
import threading
import unittest

from mcp_ref import HTTPError, ProtocolError, SchemaError, Server, ToolResult, content
from mcp_ref.base.errors import received
from mcp_ref.patterns.cancellation import Cancelled

from .support import call, message, post


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
        for value, text in ((7, "7"), (True, "true"), ({"a": 1}, '{"a":1}'), ([], "[]"), ([1], "[1]")):
            self.assertEqual(self.result(value)["content"][0]["text"], text)

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

    def test_an_output_schema_from_the_return_annotation(self):
        @dataclasses.dataclass
        class Weather:
            celsius: float

        server = Server("s", "1")

        def weather(ctx):
            return Weather(21.5)
        weather.__annotations__["return"] = Weather
        server.tool(weather)
        made = call(server, "weather").result
        self.assertEqual(made["structuredContent"], {"celsius": 21.5})
        self.assertEqual(made["content"][0]["text"], '{"celsius":21.5}')
        self.assertIn("outputSchema", server.tools["weather"].definition)

    def test_what_json_cannot_say(self):
        for value in (float("nan"), {"a": object()}, {1: {2}}):
            server = Server("s", "1")
            server.tool(name="t")(lambda ctx, value=value: ToolResult([{"type": "text", "text": value}]))
            server.tools["t"].signature.schema["properties"].clear()
            with self.assertLogs("mcp_ref", "ERROR"):
                reply = call(server, "t")
            self.assertEqual((reply.status, reply.error), (500, {"code": -32603, "message": "Internal error"}))


class Arguments(unittest.TestCase):
    def setUp(self):
        self.server = Server("s", "1")

        def book(ctx, flight: str, seats: int = 1) -> str:
            return f"{flight} {seats}"

        self.server.tool(book)
        self.server.tool(book, name="strict", strict=True)

    def test_violations_are_told_to_the_model(self):
        for arguments, words in (({}, "arguments.flight is required"),
                                 ({"flight": 7}, "arguments.flight must be a string"),
                                 ({"flight": "x", "seats": "2"}, "arguments.seats must be an integer"),
                                 ({"flight": "x", "seats": True}, "arguments.seats must be an integer"),
                                 ({"flight": "x", "nope": 1}, "nope")):
            reply = call(self.server, "book", arguments)
            self.assertEqual((reply.status, reply.result["isError"]), (200, True), arguments)
            self.assertIn(words, reply.text)
            reply = call(self.server, "strict", arguments)
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602))
            self.assertIn(words, reply.error["message"])

    def test_no_object_and_unknown_tools_are_protocol_errors(self):
        for arguments in ([], "x", None, 7):
            reply = post(self.server, message("tools/call", {"name": "book", "arguments": arguments}))
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), arguments)
        reply = call(self.server, "Book")
        self.assertEqual((reply.status, reply.error["code"]), (400, -32602))
        self.assertIn('"Book"', reply.error["message"])

    def test_absent_arguments_are_none(self):
        self.server.tool(name="free")(lambda ctx: "ok")
        self.assertEqual(post(self.server, message("tools/call", {"name": "free"})).text, "ok")


def raising(error):
    """A handler that raises `error`."""
    def handler():
        raise error
    return handler


class Failures(unittest.TestCase):
    """Whatever a handler raises ends one request, and says nothing of itself to the peer."""

    RAISED = [RuntimeError("secret"), SystemExit("secret"), asyncio.CancelledError("secret"), RecursionError(),
              HTTPError(401, "secret"), received({"code": -32603, "message": "secret"}), GeneratorExit(), Cancelled()]

    def test_in_a_tool(self):
        for error in self.RAISED:
            server = Server("s", "1")
            server.tool(name="t")(raising(error))
            with self.assertLogs("mcp_ref", "ERROR"):
                reply = call(server, "t")
            self.assertEqual((reply.status, reply.result["isError"]), (200, True), error)
            self.assertNotIn("secret", str(reply.body))

    def test_an_interrupt_in_a_thread_is_a_failure(self):
        server = Server("s", "1")
        server.tool(name="t")(raising(KeyboardInterrupt()))
        replies = []
        thread = threading.Thread(target=lambda: replies.append(call(server, "t")))
        with self.assertLogs("mcp_ref", "ERROR"):
            thread.start()
            thread.join(5)
        self.assertTrue(replies[0].result["isError"])

    def test_in_a_resource_and_a_prompt(self):
        for error in self.RAISED:
            server = Server("s", "1")
            handler = raising(error)
            server.resource("demo://x", name="x")(handler)
            server.prompt(name="p")(handler)
            for method, params in (("resources/read", {"uri": "demo://x"}), ("prompts/get", {"name": "p"})):
                with self.assertLogs("mcp_ref", "ERROR"):
                    reply = post(server, message(method, params))
                self.assertEqual((reply.status, reply.error), (500, {"code": -32603, "message": "Internal error"}))

    def test_data_of_an_error_that_is_not_json(self):
        server = Server("s", "1")
        server.tool(name="t")(raising(ProtocolError(1, "x", {1, 2})))
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertEqual(call(server, "t").error["code"], -32603)


class Definitions(unittest.TestCase):
    def test_listed_as_registered(self):
        server = Server("s", "1")

        @server.tool(title="Zed", annotations={"readOnlyHint": True}, icons=[{"src": "data:,"}], meta={"a/b": 1})
        def zed(ctx, x: int) -> str:
            """First line.

            Second line.
            """
            return ""

        server.tool(name="abc")(lambda ctx: "")
        reply = post(server, message("tools/list"))
        self.assertEqual([tool["name"] for tool in reply.result["tools"]], ["zed", "abc"])
        self.assertEqual(reply.result["tools"][0], {
            "name": "zed", "title": "Zed", "description": "First line.\n\nSecond line.",
            "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"],
                            "additionalProperties": False},
            "annotations": {"readOnlyHint": True}, "icons": [{"src": "data:,"}], "_meta": {"a/b": 1}})
        self.assertEqual((reply.result["ttlMs"], reply.result["cacheScope"]), (0, "private"))

    def test_hints_are_configured_and_checked(self):
        server = Server("s", "1", ttl_ms=5000, cache_scope="public")
        for method in ("server/discover",):
            made = post(server, message(method)).result
            self.assertEqual((made["ttlMs"], made["cacheScope"]), (5000, "public"))
        server = Server("s", "1", ttl_ms=5000, caching={"tools/list": (None, "public"), "resources/read": (7, None)})
        server.tool(name="t")(lambda ctx: "")
        server.resource("demo://x", name="x")(lambda: "")
        for method, params, expected in (("server/discover", {}, (5000, "private")),
                                         ("tools/list", {}, (5000, "public")),
                                         ("resources/list", {}, (5000, "private")),
                                         ("resources/read", {"uri": "demo://x"}, (7, "private"))):
            made = post(server, message(method, params)).result
            self.assertEqual((made["ttlMs"], made["cacheScope"]), expected, method)
        for options in ({"caching": {"tools/list": (-1, None)}}, {"ttl_ms": -1}, {"ttl_ms": 1.5}, {"ttl_ms": True},
                        {"cache_scope": "shared"}):
            with self.assertRaises(ValueError):
                Server("s", "1", **options)

    def test_definitions_that_break_a_rule(self):
        for options in ({"input_schema": {"type": "array"}}, {"input_schema": None, "output_schema": {"type": "strng"}},
                        {"input_schema": {"type": "object", "properties": {"x": {"type": "strng"}}}},
                        {"input_schema": {"type": "object", "$schema": "https://example.org/my"}},
                        {"input_schema": {"type": "object", "$ref": "http://169.254.169.254/x"}}):
            with self.assertRaises(SchemaError, msg=options):
                Server("s", "1").tool(name="t", **options)(lambda ctx: "")
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: "")
        with self.assertRaisesRegex(ValueError, "already"):
            server.tool(name="t")(lambda ctx: "")

    def test_removed_and_added_while_serving(self):
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: "")
        self.assertIn("tools", post(server, message("server/discover")).result["capabilities"])
        server.remove_tool("t")
        self.assertIn("tools", post(server, message("server/discover")).result["capabilities"], "it stays advertised")
        self.assertEqual(post(server, message("tools/list")).result["tools"], [])
        self.assertEqual(call(server, "t").error["code"], -32602)
        with self.assertRaises(KeyError):
            server.remove_tool("t")

    def test_discover(self):
        server = Server("s", "1", title="T", description="D", website_url="https://x", icons=[{"src": "data:,"}],
                        instructions="Use it.")
        made = post(server, message("server/discover")).result
        self.assertEqual(made["supportedVersions"], ["2026-07-28"])
        self.assertEqual(made["instructions"], "Use it.")
        self.assertEqual(made["_meta"]["io.modelcontextprotocol/serverInfo"], {
            "name": "s", "version": "1", "title": "T", "description": "D", "websiteUrl": "https://x",
            "icons": [{"src": "data:,"}]})

    def test_pages(self):
        server = Server("s", "1", page_size=2)
        for name in "abcde":
            server.tool(name=name)(lambda ctx: "")
        names, cursor = [], {}
        while True:
            made = post(server, message("tools/list", cursor)).result
            names.append("".join(tool["name"] for tool in made["tools"]))
            if "nextCursor" not in made:
                break
            cursor = {"cursor": made["nextCursor"]}
        self.assertEqual(names, ["ab", "cd", "e"])
        for bad in ("", "x", cursor["cursor"] + "x", None, 7):
            self.assertEqual(post(server, message("tools/list", {"cursor": bad})).error["code"], -32602, bad)
        server.remove_tool("d")
        self.assertEqual(post(server, message("tools/list", cursor)).error["code"], -32602, "stale")


if __name__ == "__main__":
    unittest.main()
