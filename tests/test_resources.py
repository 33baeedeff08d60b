"""Resources: registration, lists and pages, reading fixed URIs and templates, contents, hints, not found."""

import asyncio
import dataclasses
import datetime
import enum
import logging
import unittest
from typing import Dict, List, Literal, Optional, Set, Union

from mcp_ref import (
    InputRequired,
    PromptResult,
    ProtocolError,
    ResourceNotFound,
    SchemaError,
    Server,
    ToolResult,
    content,
    form,
)
from mcp_ref.server.resources import ResourceTemplate

from .support import message, post, proves, stdio

NAME = {"name": {"type": "string"}}


class Shade(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Book:
    title: str
    day: datetime.date


def make(**options):
    server = Server("resources", "1", **options)

    @server.resource("demo://greeting", mime_type="text/plain", ttl_ms=60000, cache_scope="public")
    def greeting() -> str:
        """A greeting."""
        return "Hello"

    @server.resource("demo://octets", name="Octets", title="Some octets", description="Binary", size=103,
                     mime_type="application/octet-stream", icons=[{"src": "https://e.example/i.png"}],
                     annotations={"audience": ["user"], "priority": 0.5}, meta={"example.com/a": 1})
    def octets(ctx) -> bytes:
        return b"\xfb\xff\xfe" + bytes(100)

    @server.resource("demo://item/{key}", mime_type="text/plain")
    async def item(ctx, key: str) -> str:
        """One item."""
        await asyncio.sleep(0)
        return f"item {key}"

    @server.resource("demo://search{?q,n}")
    def search(q: str, n: str = "10"):
        return f"{q} {n}"

    @server.resource("demo://any/{+path}")
    def anything(path: str):
        return None if path == "none" else [] if path == "empty" else path

    return server


def read(server, uri, capabilities=None, **params):
    return post(server, message("resources/read", {"uri": uri, **params}, capabilities=capabilities))


def listing(server, method="resources/list", **params):
    return post(server, message(method, params))


class Lists(unittest.TestCase):
    def setUp(self):
        self.server = make()

    @proves("RES-02")
    def test_capability(self):
        capabilities = post(self.server, message("server/discover")).result["capabilities"]
        self.assertEqual(list(capabilities), ["resources"])

    def test_without_resources_there_is_no_method(self):
        server = Server("none", "1")
        for method in ("resources/list", "resources/templates/list", "resources/read"):
            reply = post(server, message(method, {"uri": "a:b"}))
            self.assertEqual((reply.status, reply.error["code"]), (404, -32601), method)

    @proves("RES-03")
    def test_resources(self):
        result = listing(self.server).result
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual((result["ttlMs"], result["cacheScope"]), (0, "private"))
        self.assertEqual(result["resources"], [
            {"uri": "demo://greeting", "name": "greeting", "description": "A greeting.", "mimeType": "text/plain"},
            {"uri": "demo://octets", "name": "Octets", "title": "Some octets", "description": "Binary", "size": 103,
             "mimeType": "application/octet-stream", "icons": [{"src": "https://e.example/i.png"}],
             "annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"example.com/a": 1}}])

    def test_templates(self):
        result = listing(self.server, "resources/templates/list").result
        self.assertEqual((result["resultType"], result["ttlMs"], result["cacheScope"]), ("complete", 0, "private"))
        self.assertEqual(result["resourceTemplates"], [
            {"uriTemplate": "demo://item/{key}", "name": "item", "description": "One item.", "mimeType": "text/plain"},
            {"uriTemplate": "demo://search{?q,n}", "name": "search"},
            {"uriTemplate": "demo://any/{+path}", "name": "anything"}])

    @proves("RES-02")
    def test_templates_alone_make_the_capability(self):
        server = Server("one", "1")
        server.add_resource_template("a://{b}", lambda b: b, name="b")
        self.assertEqual(listing(server).result["resources"], [])

    def test_instances_of_a_template_are_listed(self):
        server = Server("one", "1")
        server.add_resource("a://1", lambda: "fixed", name="first")
        server.add_resource_template("a://{b}", lambda b: b, name="b", instances=lambda: [
            {"uri": "a://1", "name": "one"}, {"uri": "a://2", "name": "two"}])
        self.assertEqual([entry["name"] for entry in listing(server).result["resources"]], ["first", "two"])

    def test_instances_may_be_async(self):
        async def instances():
            return [{"uri": "a://1", "name": "one"}]

        server = Server("one", "1")
        server.resource("a://{b}", instances=instances)(lambda b: b)
        self.assertEqual(listing(server).result["resources"], [{"uri": "a://1", "name": "one"}])

    def test_what_cannot_give_instances_is_told_when_it_is_registered(self):
        async def endless():
            yield {"uri": "a://1", "name": "one"}

        for instances in (5, [{"uri": "a://1", "name": "one"}], lambda b: [], lambda *, b: [], endless):
            with self.subTest(repr(instances)), self.assertRaisesRegex(SchemaError, "function without parameters"):
                Server("one", "1").resource("a://{b}", instances=instances)(lambda b: b)
        for instances in (list, lambda b=1: [], lambda *b: [], iter([[]]).__next__):
            Server("one", "1").resource("a://{b}", instances=instances)(lambda b: b)

    def test_a_malformed_instance_does_not_lose_the_list(self):
        server = Server("one", "1")
        server.add_resource_template("a://{b}", lambda b: b, name="b", instances=lambda: [
            {"uri": "a://1", "name": "one"}, {"name": "none"}, {"uri": "a://2"}, {"uri": "x", "name": "x"}, None,
            {"uri": "a://3", "name": "three", "_meta": {"since": {1}}}, {"uri": "a://4", "name": "four", "size": "4"}])
        with self.assertLogs("mcp_ref", logging.ERROR) as logs:
            self.assertEqual([entry["name"] for entry in listing(server).result["resources"]], ["one"])
        self.assertEqual(len(logs.output), 6)

    def test_at_run_time(self):
        self.server.add_resource("demo://late", lambda: "late", name="late")
        self.assertEqual(read(self.server, "demo://late").result["contents"][0]["text"], "late")
        self.server.remove_resource("demo://late")
        self.assertEqual(read(self.server, "demo://late").error["message"], "Resource not found")
        with self.assertRaises(KeyError):
            self.server.remove_resource("demo://late")
        with self.assertRaises(ValueError):
            self.server.add_resource("demo://greeting", lambda: "", name="again")
        with self.assertRaises(ValueError):
            self.server.add_resource_template("demo://item/{key}", lambda key: key, name="again")

    def test_scopes_are_kept(self):
        self.assertEqual(self.server.add_resource("a:b", lambda: "", name="b", scopes=["read"]).scopes, ("read",))
        self.assertEqual(self.server.resource_templates["demo://item/{key}"].scopes, ())


@proves("C061")
class Pages(unittest.TestCase):
    """C061: every page with the same hints."""

    def setUp(self):
        self.server = Server("pages", "1", page_size=2, ttl_ms=7, cache_scope="public")
        for number in range(5):
            self.server.add_resource(f"r://{number}", lambda: "", name=str(number))
            self.server.add_resource_template(f"t{number}://{{a}}", lambda a: "", name=str(number))
            self.server.add_prompt(lambda: "", name=str(number))

    @proves("BASE-30", "CACHE-22", "CACHE-23")
    def test_all_pages_have_the_same_scope(self):
        for method, member in (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates"),
                               ("prompts/list", "prompts")):
            names, params, scopes = [], {}, set()
            for _ in range(3):
                result = listing(self.server, method, **params).result
                names += [entry["name"] for entry in result[member]]
                scopes.add((result["ttlMs"], result["cacheScope"], result["resultType"]))
                params = {"cursor": result.get("nextCursor")}
            self.assertEqual(names, ["0", "1", "2", "3", "4"], method)
            self.assertEqual(scopes, {(7, "public", "complete")}, method)
            self.assertIsNone(params["cursor"], method)

    def refused(self, cursor, method="resources/list"):
        reply = listing(self.server, method, cursor=cursor)
        self.assertEqual((reply.status, reply.error["code"]), (400, -32602), cursor)

    def test_cursors_that_are_refused(self):
        cursor = listing(self.server).result["nextCursor"]
        for other in ("", "x", None, 3, {}, cursor[:-1], cursor + "A", cursor.swapcase(), "v1..",
                      cursor.replace("v1", "v2")):
            self.refused(other)
        self.refused(cursor, "resources/templates/list")
        self.refused(cursor, "prompts/list")
        foreign = Server("pages", "1", page_size=1)
        for number in range(2):
            foreign.add_resource(f"r://{number}", lambda: "", name="x")
        self.refused(listing(foreign).result["nextCursor"])

    def test_a_cursor_whose_item_is_gone_is_refused(self):
        cursor = listing(self.server).result["nextCursor"]
        self.server.remove_resource("r://0")
        self.assertEqual([e["name"] for e in listing(self.server, cursor=cursor).result["resources"]], ["2", "3"])
        self.server.remove_resource("r://1")
        self.refused(cursor)


@proves("C053")
class Reading(unittest.TestCase):
    """C053, the server's half."""

    def setUp(self):
        self.server = make(ttl_ms=5)

    def test_text_with_its_own_hints(self):
        result = read(self.server, "demo://greeting").result
        del result["_meta"]
        self.assertEqual(result, {"resultType": "complete", "ttlMs": 60000, "cacheScope": "public", "contents": [
            {"uri": "demo://greeting", "mimeType": "text/plain", "text": "Hello"}]})

    @proves("RES-16")
    def test_octets_in_standard_base64(self):
        result = read(self.server, "demo://octets").result
        [found] = result["contents"]
        self.assertEqual(found["blob"], "+//+" + "A" * 134 + "==", "standard alphabet, padded, no line breaks")
        self.assertNotIn("text", found)
        self.assertEqual((result["ttlMs"], result["cacheScope"]), (5, "private"), "the server's hints by default")

    def test_templates(self):
        self.assertEqual(read(self.server, "demo://item/a%20b").result["contents"],
                         [{"uri": "demo://item/a%20b", "mimeType": "text/plain", "text": "item a b"}])
        self.assertEqual(read(self.server, "demo://search?n=2&q=x").result["contents"][0]["text"], "x 2")
        self.assertEqual(read(self.server, "demo://search?q=x").result["contents"][0]["text"], "x 10")

    def test_fixed_before_templates_and_templates_in_order(self):
        self.server.add_resource("demo://item/fixed", lambda: "fixed", name="fixed")
        self.server.add_resource_template("demo://item/{+more}", lambda more: "second", name="second")
        self.assertEqual(read(self.server, "demo://item/fixed").result["contents"][0]["text"], "fixed")
        self.assertEqual(read(self.server, "demo://item/x").result["contents"][0]["text"], "item x")
        self.assertEqual(read(self.server, "demo://item/x/y").result["contents"][0]["text"], "second")

    @proves("BASE-20", "RES-10", "RES-13", "RES-14")
    def test_not_found(self):
        for uri in ("demo://none", "file:///none", "demo://item/", "demo://item/a/b", "demo://item/..",
                    "demo://item/%2e%2e%2fx",
                    "demo://search", "demo://search?q=1&q=2", "demo://any/none", "demo://any/empty",
                    "demo://any/a/../b",
                    "demo://any/a b", "demo://any/a\nb", "demo://any/%zz", "nonsense", " ", "DEMO://greeting",
                    "demo://greeting ",
                    "demo://any/" + "a" * 9000, "demo://any/\\x"):
            reply = read(self.server, uri)
            self.assertEqual((reply.status, reply.error), (400, {"code": -32602, "message": "Resource not found",
                                                                 "data": {"uri": uri}}), uri)

    @proves("RES-14")
    def test_uri_must_be_a_text(self):
        for params in ({}, {"uri": ""}, {"uri": None}, {"uri": 3}, {"uri": ["demo://greeting"]}):
            reply = stdio(self.server, message("resources/read", params))
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), params)
            self.assertIn("params.uri", reply.error["message"])

    def test_a_handler_says_not_found(self):
        def gone():
            raise ResourceNotFound()
        self.server.add_resource("demo://gone", gone)
        self.assertEqual(read(self.server, "demo://gone").error["data"], {"uri": "demo://gone"})

    def test_a_handler_that_fails(self):
        def broken():
            raise RuntimeError("the password is 1234")

        def refusing():
            raise ProtocolError(7, "try later")
        self.server.add_resource("demo://broken", broken)
        self.server.add_resource("demo://refusing", refusing)
        with self.assertLogs("mcp_ref", logging.ERROR) as logs:
            reply = read(self.server, "demo://broken")
        self.assertEqual((reply.status, reply.error), (500, {"code": -32603, "message": "Internal error"}))
        self.assertIn("1234", "".join(logs.output), "the log says why")
        self.assertEqual(read(self.server, "demo://refusing").error, {"code": 7, "message": "try later"})


class Contents(unittest.TestCase):
    def returning(self, value):
        server = Server("contents", "1")
        server.add_resource("a:b", lambda: value, name="b", mime_type="text/plain")
        return read(server, "a:b")

    def test_shapes(self):
        own = {"uri": "a:b", "mimeType": "text/plain"}
        for value, expected in (
                ("", [{**own, "text": ""}]), (b"", [{**own, "blob": ""}]), (bytearray(b"a"), [{**own, "blob": "YQ=="}]),
                (memoryview(b"a"), [{**own, "blob": "YQ=="}]),
                (["x", b"a"], [{**own, "text": "x"}, {**own, "blob": "YQ=="}]),
                (("c:d", "x"), [{**own, "uri": "c:d", "text": "x"}]),
                ([("c:d", "x"), ("e:f", b"a")], [{**own, "uri": "c:d", "text": "x"},
                                                 {**own, "uri": "e:f", "blob": "YQ=="}]),
                (content.resource_contents("c:d", "x", "text/css"),
                 [{"uri": "c:d", "mimeType": "text/css", "text": "x"}]),
                (content.Contents(text="x", _meta={"k": 1}), [{**own, "text": "x", "_meta": {"k": 1}}]),
                (content.Contents(blob="YQ=="), [{**own, "blob": "YQ=="}])):
            with self.subTest(repr(value)):
                self.assertEqual(self.returning(value).result["contents"], expected)

    @proves("RES-16")
    def test_what_is_no_contents_is_the_servers_fault(self):
        for members in ({}, {"text": "x", "blob": "eA=="}, {"text": 3}, {"blob": "+/_-"}, {"blob": "YQ"},
                        {"blob": "Y\nQ=="}, {"blob": 3}, {"blob": "é"}, {"text": "\ud800"}, {"text": "x", "uri": "b"},
                        {"text": "x", "mimeType": "text"}, {"text": "x", "_meta": {"a b": 1}},
                        {"text": "x", "own": {1}}):
            with self.subTest(repr(members)), self.assertLogs("mcp_ref", logging.ERROR):
                self.assertEqual(self.returning(content.Contents(members)).error["code"], -32603)
        for value in (object(), ["x", content.Contents()], {"a": b"x"}, {1: 2}, float("nan"), "\ud800", [b"x", 3]):
            with self.subTest(repr(value)), self.assertLogs("mcp_ref", logging.ERROR):
                self.assertEqual(self.returning(value).error["code"], -32603)

    def test_all_else_is_data_and_read_as_its_json(self):
        for value, text in (({"text": "Zürich"}, '{"text":"Zürich"}'), ({"type": "circle"}, '{"type":"circle"}'),
                            (["a", "b"], '["a","b"]'), ([{"a": 1}], '[{"a":1}]'), (3, "3"), (("a:b",), '["a:b"]')):
            self.assertEqual(self.returning(value).result["contents"],
                             [{"uri": "a:b", "mimeType": "text/plain", "text": text}])

    def annotated(self, value, annotation, **options):
        def handler():
            return value
        handler.__annotations__["return"] = annotation
        server = Server("contents", "1")
        resource = server.add_resource("a:b", handler, **options)
        return resource, read(server, "a:b")

    def test_data_is_written_by_the_annotation(self):
        for value, annotation, text in (({}, dict, "{}"), ([], list, "[]"), (Shade.RED, Shade, '"red"'),
                                        (Book("Erewhon", datetime.date(1872, 1, 1)), Book,
                                         '{"title":"Erewhon","day":"1872-01-01"}'),
                                        ({b"a"}, Set[bytes], '["YQ=="]')):
            resource, reply = self.annotated(value, annotation)
            self.assertEqual(reply.result["contents"], [{"uri": "a:b", "mimeType": "application/json", "text": text}])
            self.assertEqual(resource.definition["mimeType"], "application/json")
        resource, reply = self.annotated({}, dict, mime_type="application/geo+json")
        self.assertEqual(reply.result["contents"][0]["mimeType"], "application/geo+json")
        resource, reply = self.annotated("x", str)
        self.assertNotIn("mimeType", resource.definition)
        with self.assertRaisesRegex(SchemaError, "two floats"):
            self.annotated(1j, complex)

    def test_what_tools_and_prompts_return_is_no_data(self):
        for value, place in ((content.text("x"), "content of tools and prompts"),
                             (content.image(b"x", "image/png"), "content of tools and prompts"),
                             (ToolResult("x"), "what a tool returns"), (PromptResult("x"), "what a prompt returns")):
            with self.subTest(repr(value)):
                with self.assertLogs("mcp_ref", logging.ERROR) as logs:
                    self.assertEqual(self.returning(value).error["code"], -32603)
                self.assertIn(f"which is {place}", "".join(logs.output))
                for annotation in (type(value), List[type(value)], Optional[type(value)], Union[str, type(value)]):
                    with self.assertRaisesRegex(SchemaError, f"handler: a {type(value).__name__} is {place}"):
                        self.annotated(value, annotation)

    def test_nothing_is_not_found_and_a_forgotten_return_a_fault(self):
        self.assertEqual(self.annotated(None, Optional[Book])[1].error["message"], "Resource not found")
        for annotation in (str, Book, bytes):
            with self.assertLogs("mcp_ref", logging.ERROR) as logs:
                self.assertEqual(self.annotated(None, annotation)[1].error["code"], -32603)
            self.assertIn("a return is missing", "".join(logs.output))


@proves("C029")
class Asking(unittest.TestCase):
    """C029 for resources/read; C061: no hints on a question."""

    def setUp(self):
        self.server = Server("asking", "1", ttl_ms=9, cache_scope="public")

        @self.server.resource("ask://{what}")
        def ask(ctx, what: str):
            answer = ctx.elicit(f"{what}?", NAME, "who")
            return answer["name"] if answer.accepted else None

        @self.server.resource("raw://x")
        def raw(ctx):
            if ctx.request_state is None:
                return InputRequired({"a": form("a?", NAME)}, "s")
            return f"{ctx.request_state} {sorted(ctx.input_responses)}"

    def test_a_question_and_its_answer(self):
        asked = read(self.server, "ask://name").result
        self.assertEqual((asked["resultType"], list(asked["inputRequests"])), ("input_required", ["who"]))
        for member in ("contents", "ttlMs", "cacheScope", "content", "messages"):
            self.assertNotIn(member, asked)
        answers = {"who": {"action": "accept", "content": {"name": "Ada"}}}
        result = read(self.server, "ask://name", inputResponses=answers, requestState=asked["requestState"]).result
        self.assertEqual(result["contents"], [{"uri": "ask://name", "text": "Ada"}])
        self.assertEqual((result["ttlMs"], result["cacheScope"]), (0, "private"), "what answers made is nobody else's")
        other = read(self.server, "ask://other", inputResponses=answers, requestState=asked["requestState"])
        self.assertEqual(other.error["code"], -32602, "the state is bound to the URI")
        declined = read(self.server, "ask://name", inputResponses={"who": {"action": "decline"}},
                        requestState=asked["requestState"])
        self.assertEqual(declined.error["data"], {"uri": "ask://name"})

    def test_input_required_as_an_object(self):
        asked = read(self.server, "raw://x").result
        self.assertEqual((asked["resultType"], list(asked["inputRequests"])), ("input_required", ["a"]))
        self.assertNotIn("contents", asked)
        result = read(self.server, "raw://x", inputResponses={"a": {"action": "accept", "content": {"name": "b"}}},
                      requestState=asked["requestState"]).result
        self.assertEqual(result["contents"][0]["text"], "s ['a']")

    @proves("MRTR-15", "MRTR-16")
    def test_a_capability_that_is_missing(self):
        reply = read(self.server, "ask://name", capabilities={})
        self.assertEqual((reply.status, reply.error["code"]), (400, -32021))


class Definitions(unittest.TestCase):
    @proves("RES-09", "CACHE-13")
    def test_what_is_refused(self):
        server = Server("bad", "1")
        for uri, handler in (("nonsense", lambda: ""), ("a:b c", lambda: ""), ("a:b", lambda c: ""),
                             ("1a:b", lambda: ""),
                             ("a:{b}", lambda: ""), ("a:{b}", lambda b, c: ""), ("a:{b}", lambda c: ""),
                             ("a:{b", lambda b: ""),
                             ("a:{b}{c}", lambda b, c: ""), ("a:{b}", lambda **b: "")):
            with self.subTest(uri), self.assertRaises(ValueError):
                server.resource(uri, name="x")(handler)
        for options in ({"ttl_ms": -1}, {"ttl_ms": 1.5}, {"ttl_ms": True}, {"cache_scope": "secret"}):
            with self.subTest(options), self.assertRaises(ValueError):
                server.resource("a:b", name="x", **options)(lambda: "")
        self.assertEqual(server.capabilities, {})

    def test_a_variable_is_a_text(self):
        def number(key: int):
            return str(key)
        with self.assertRaisesRegex(SchemaError, "key arrives as text"):
            ResourceTemplate("a:{key}", number)

    def test_annotations_narrow_a_variable(self):
        server = Server("narrow", "1")

        @server.resource("a:{shade}/{size}{?note}")
        def paint(shade: Shade, size: Literal["s", "m"], note: Optional[str] = None):
            return f"{shade!r} {size} {note}"
        self.assertEqual(read(server, "a:red/m").result["contents"][0]["text"], "<Shade.RED: 'red'> m None")
        self.assertEqual(read(server, "a:red/m?note=x").result["contents"][0]["text"], "<Shade.RED: 'red'> m x")
        self.assertEqual(read(server, "a:green/m").error["message"], "Resource not found")
        self.assertEqual(read(server, "a:red/l").error["message"], "Resource not found")

    def test_exploded_variables(self):
        server = Server("exploded", "1")

        @server.resource("a:x{/parts*}{?rest*}")
        def parts(rest: Dict[str, str], parts: Optional[List[str]] = None):
            return f"{parts} {rest}"
        self.assertEqual(read(server, "a:x/b/c?d=e").result["contents"][0]["text"], "['b', 'c'] {'d': 'e'}")
        self.assertEqual(read(server, "a:x").result["contents"][0]["text"], "None {}")


if __name__ == "__main__":
    unittest.main()
