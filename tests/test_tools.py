"""server/tools: how arguments are checked, what a failure becomes, how tools are defined and listed."""

import asyncio
import datetime
import enum
import threading
import unittest

from mcp_ref import (
    HTTPError,
    ProtocolError,
    SchemaError,
    Server,
)
from mcp_ref.base.errors import InvalidParams, received
from mcp_ref.patterns.notifications import Cancelled

from .support import call, message, post, proves, raising


@proves("TOOL-38")
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
            thread.join(60)
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
    @proves("TOOL-07", "TOOL-13")
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

    def test_mistakes_name_the_member(self):
        server = Server("s", "1")
        for options, words in (({"output_schema": {"type": "objekt"}}, 'outputSchema of "t": #/type'),
                               ({"output_schema": False}, "an outputSchema is an object"),
                               ({"output_schema": int}, "left to the return annotation"),
                               ({"input_schema": {"type": "object", "minLength": "x"}}, 'inputSchema of "t": #/min'),
                               ({"strict": "no"}, "strict of \"t\": it must be True or False")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                server.tool(name="t", **options)(lambda arguments: "")

    @proves("CACHE-13")
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

    @proves("BASE-38", "BASE-40", "TOOL-13")
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

    def test_a_definition_that_cannot_be_listed_is_refused(self):
        now = datetime.datetime(2026, 7, 28)
        for options, words in (
                ({"annotations": {"readOnly": True}}, "did you mean readOnlyHint"), ({"annotations": []}, "a dict"),
                ({"annotations": {"readOnlyHint": "yes"}}, "True or False"), ({"annotations": {"title": 5}}, "title"),
                ({"annotations": {"priority": 1}}, "only title, readOnlyHint"), ({"title": 5}, "title"),
                ({"description": 5}, "description"), ({"name": 5}, "name"), ({"name": ""}, "name"),
                ({"title": "\ud800"}, "surrogate"), ({"icons": "x"}, "icons"), ({"icons": [{"url": "x"}]}, "src"),
                ({"icons": [{"src": "icon.png"}]}, "src"), ({"icons": [{"src": "javascript:x"}]}, "https or data"),
                ({"icons": [{"src": "data:,", "sizes": "48x48"}]}, "sizes"),
                ({"icons": [{"src": "data:,", "sizes": ["big"]}]}, "sizes"),
                ({"icons": [{"src": "data:,", "theme": "red"}]}, "light or dark"),
                ({"icons": [{"src": "data:,", "mimeType": "png"}]}, "mimeType"), ({"meta": {"since": now}}, "datetime"),
                ({"meta": {"a b": 1}}, "_meta"), ({"meta": ["a"]}, "_meta"),
                ({"output_schema": {"enum": [now]}}, "JSON"),
                ({"input_schema": {"type": "object", "default": float("nan")}}, "JSON")):
            with self.subTest(str(options)), self.assertRaisesRegex(ValueError, words):
                Server("s", "1").tool(**{"name": "t", **options})(lambda arguments: "")
        with self.assertRaisesRegex(TypeError, "titel"):
            Server("s", "1").add_tool(lambda: "", name="t", titel="x")

        class Shade(enum.Enum):
            RED = object()

        def paint(shade: Shade):
            return ""
        with self.assertRaisesRegex(SchemaError, r"paint\(shade\).*no JSON value"):
            Server("s", "1").tool(paint)

    @proves("TOOL-06", "TOOL-07")
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

    @proves("VERS-04", "DISC-01")
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


class Vanishing(unittest.TestCase):
    def setUp(self):
        self.server = Server("hard", "1")

    def test_a_tool_that_is_removed_while_it_is_looked_up(self):
        class Vanishing(dict):
            def __contains__(self, key):
                return self.pop(key, None) is not None or True
        self.server.add_tool(lambda: "x", name="t")
        self.server.tools._items = Vanishing()
        self.assertRaises(InvalidParams, self.server.tools.find, "t")


if __name__ == "__main__":
    unittest.main()
