"""Prompts: what is listed, arguments, messages of every kind, questions, errors."""

import dataclasses
import enum
import functools
import logging
import unittest
from typing import Annotated, Any, Dict, List, Literal, Optional, Union

from mcp_ref import InputRequired, SchemaError, Server, content, form
from mcp_ref.server.prompts import PromptResult, assistant, user

from .support import message, post, proves, stdio

NAME = {"name": {"type": "string"}}


class Tone(enum.Enum):
    KIND = "kind"
    CURT = "curt"


def make():
    server = Server("prompts", "1")

    @server.prompt
    def plain() -> str:
        """A plain prompt."""
        return "Hello"

    @server.prompt(title="Review", icons=[{"src": "https://e.example/i.svg"}], meta={"k": 1})
    def p(a: Annotated[str, "The first", {"title": "A"}], b: Optional[str] = None):
        return f"{a!r} {b!r}"

    @server.prompt(name="styled", description="Own words")
    async def style(ctx, tone: Tone, size: Literal["s", "m"] = "s"):
        return [f"{tone!r} {size}", assistant("yes")]

    return server


def get(server, name, arguments=None, capabilities=None, **params):
    given = {"name": name, **params}
    if arguments is not None:
        given["arguments"] = arguments
    return post(server, message("prompts/get", given, capabilities=capabilities))


def text(reply):
    return reply.result["messages"][0]["content"]["text"]


class Lists(unittest.TestCase):
    @proves("PROMPT-02", "PROMPT-03")
    def test_capability_and_list(self):
        server = make()
        self.assertEqual(list(post(server, message("server/discover")).result["capabilities"]),
                         ["prompts", "completions"])
        result = post(server, message("prompts/list")).result
        self.assertEqual((result["resultType"], result["ttlMs"], result["cacheScope"]), ("complete", 0, "private"))
        self.assertEqual(result["prompts"], [
            {"name": "plain", "description": "A plain prompt."},
            {"name": "p", "title": "Review", "icons": [{"src": "https://e.example/i.svg"}], "_meta": {"k": 1},
             "arguments": [
                {"name": "a", "title": "A", "description": "The first", "required": True},
                {"name": "b", "required": False}]},
            {"name": "styled", "description": "Own words", "arguments": [
                {"name": "tone", "required": True}, {"name": "size", "required": False}]}])
        self.assertEqual(server.add_prompt(lambda: "", name="scoped", scopes=["read"]).scopes, ("read",))

    def test_without_prompts_there_is_no_method(self):
        server = Server("none", "1")
        for method in ("prompts/list", "prompts/get"):
            reply = post(server, message(method, {"name": "x"}))
            self.assertEqual((reply.status, reply.error["code"]), (404, -32601), method)

    def test_at_run_time(self):
        server = make()
        server.add_prompt(lambda: "late", name="late")
        self.assertEqual(text(get(server, "late")), "late")
        with self.assertRaises(ValueError):
            server.add_prompt(lambda: "late", name="late")
        server.remove_prompt("late")
        self.assertEqual(get(server, "late").error["code"], -32602)


@proves("C054")
class Arguments(unittest.TestCase):
    """C054, the server's half; G is refused."""

    def setUp(self):
        self.server = make()

    def refused(self, naming, *given, **params):
        reply = get(self.server, *given, **params)
        self.assertEqual((reply.status, reply.error["code"]), (400, -32602), given)
        self.assertIn(naming, reply.error["message"])

    def test_the_table(self):
        self.refused("nope", "nope")
        self.refused("arguments.a", "p")
        self.refused("arguments.a", "p", {"b": "x"})
        self.assertEqual(text(get(self.server, "p", {"a": ""})), "'' None", "an empty text is a value")
        for value in (1, None, True, 1.5, ["x"], {"x": "y"}):
            self.refused("arguments.a", "p", {"a": value})
            self.refused("arguments.b", "p", {"a": "x", "b": value})
        self.assertEqual(text(get(self.server, "plain")), "Hello")
        self.assertEqual(text(get(self.server, "plain", {})), "Hello")
        self.refused("zz", "p", {"a": "1", "zz": "2"})
        self.assertEqual(text(get(self.server, "p", {"a": "1", "b": "2"})), "'1' '2'")

    def test_arguments_must_be_an_object(self):
        for value in ([], "a", 1, False):
            self.refused("arguments must be an object", "p", value)
        reply = stdio(self.server, message("prompts/get", {"name": "plain", "arguments": None}))
        self.assertEqual(reply.error["code"], -32602)

    def test_name_must_be_a_text(self):
        for params in ({}, {"name": ""}, {"name": None}, {"name": 3}, {"name": ["p"]}):
            reply = stdio(self.server, message("prompts/get", params))
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), params)
            self.assertIn("params.name", reply.error["message"])

    def test_choices(self):
        self.assertEqual(text(get(self.server, "styled", {"tone": "kind"})), "<Tone.KIND: 'kind'> s")
        self.refused("arguments.tone", "styled", {"tone": "rude"})
        self.refused("arguments.size", "styled", {"tone": "kind", "size": "xl"})

    def test_an_argument_is_a_text(self):
        def number(count: int):
            return str(count)
        with self.assertRaisesRegex(SchemaError, "count arrives as text"):
            self.server.add_prompt(number)


class Messages(unittest.TestCase):
    def returning(self, value):
        server = Server("messages", "1")
        server.add_prompt(lambda: value, name="m", description="Own")
        return get(server, "m")

    @proves("PROMPT-07", "PROMPT-09")
    def test_shapes(self):
        hello = {"role": "user", "content": {"type": "text", "text": "hi"}}
        image = content.image(b"\xfb\xff", "image/png", annotations={"priority": 1})
        for value, expected in (
                ("hi", [hello]), (["hi", "hi"], [hello, hello]), (hello, [hello]), ([hello], [hello]), ([], []),
                ({"role": "assistant", "content": "hi"}, [{**hello, "role": "assistant"}]),
                (user("hi"), [hello]), ((user("hi"), assistant("hi")), [hello, {**hello, "role": "assistant"}]),
                (image, [{"role": "user", "content": image}]),
                (assistant(image), [{"role": "assistant", "content": image}])):
            with self.subTest(repr(value)):
                result = self.returning(value).result
                self.assertEqual(result["messages"], expected)
                self.assertEqual((result["resultType"], result["description"]), ("complete", "Own"))
                self.assertNotIn("ttlMs", result)
        self.assertEqual(image["data"], "+/8=")

    def test_blocks(self):
        for block in (content.audio(b"a", "audio/wav"), content.resource_link("a:b", "b"),
                      content.embedded_resource("a:b", "x", "text/plain"),
                      content.embedded_resource("a:b", b"x", "image/png")):
            self.assertEqual(self.returning(block).result["messages"], [{"role": "user", "content": block}])

    def test_a_whole_result(self):
        result = self.returning(PromptResult(["hi"], "Today's", {"k": 1})).result
        self.assertEqual((result["description"], result["_meta"]["k"]), ("Today's", 1))

    def test_what_is_no_message_is_the_servers_fault(self):
        for value in (None, 3, {"a": 1}, {"role": "system", "content": "x"}, {"role": "user"}, {"type": "video"},
                      {"type": "text"},
                      {"type": "image", "data": "eA=="}, {"type": "image", "data": b"x", "mimeType": "image/png"},
                      [["hi"]],
                      {"type": "resource", "resource": {"uri": "a:b"}}, {"type": "resource", "resource": {"text": "x"}},
                      {"type": "resource", "resource": "x"}, user([content.text("x")]),
                      {"type": "resource_link", "uri": "a:b"}, {"role": "user", "content": {"type": "text", "text": 5}},
                      content.text("x", annotations=None), PromptResult("x", meta={"a b": 1}), PromptResult("x", 5),
                      PromptResult("x", meta={"k": b"x"}), "\ud800", b"x"):
            with self.subTest(repr(value)), self.assertLogs("mcp_ref", logging.ERROR):
                self.assertEqual(self.returning(value).error, {"code": -32603, "message": "Internal error"})

    def test_data_that_is_promised_is_the_users_json(self):
        @dataclasses.dataclass
        class Book:
            title: str
        user_text = {"role": "user", "content": {"type": "text", "text": "x"}}
        for annotation, value, expected in (
                (Book, Book("Zürich"), '{"title":"Zürich"}'), (int, 3, "3"), (Tone, Tone.KIND, '"kind"'),
                (List[Book], [Book("a")], '[{"title":"a"}]'), (str, "x", "x"), (Union[Book, str], "x", "x"),
                (dict, user_text, "x"), (List[dict], [user_text], "x"), (list, ["x"], "x"), (List[str], ["x"], "x"),
                (PromptResult, PromptResult("x"), "x"), (Dict[str, Any], user_text, "x")):
            def handler(value=value):
                return value
            handler.__annotations__["return"] = annotation
            server = Server("messages", "1")
            server.add_prompt(functools.partial(handler, value=value), name="m")
            self.assertEqual(text(get(server, "m")), expected)

    def test_a_forgotten_return_is_told(self):
        def handler() -> str:  # type: ignore[empty-body]
            pass
        server = Server("messages", "1")
        server.add_prompt(handler, name="m")
        with self.assertLogs("mcp_ref", logging.ERROR) as logs:
            self.assertEqual(get(server, "m").error["code"], -32603)
        self.assertIn("a return is missing", "".join(logs.output))

    def test_a_handler_that_fails(self):
        def broken():
            raise RuntimeError("the password is 1234")
        server = Server("broken", "1")
        server.add_prompt(broken)
        with self.assertLogs("mcp_ref", logging.ERROR):
            reply = get(server, "broken")
        self.assertEqual((reply.status, reply.error), (500, {"code": -32603, "message": "Internal error"}))


@proves("C029")
class Asking(unittest.TestCase):
    """C029 for prompts/get."""

    def setUp(self):
        self.server = Server("asking", "1")

        @self.server.prompt
        def ask(ctx, what: str = "name"):
            return ctx.elicit(f"{what}?", NAME, "who")["name"]

        @self.server.prompt
        def raw(ctx):
            return InputRequired({"a": form("a?", NAME)}, "s") if ctx.request_state is None else str(ctx.request_state)

    def test_a_question_and_its_answer(self):
        asked = get(self.server, "ask", {"what": "x"}).result
        self.assertEqual((asked["resultType"], list(asked["inputRequests"])), ("input_required", ["who"]))
        for member in ("messages", "description", "ttlMs", "cacheScope"):
            self.assertNotIn(member, asked)
        retry = {"inputResponses": {"who": {"action": "accept", "content": {"name": "Ada"}}},
                 "requestState": asked["requestState"]}
        self.assertEqual(text(get(self.server, "ask", {"what": "x"}, **retry)), "Ada")
        self.assertEqual(get(self.server, "ask", {"what": "y"}, **retry).error["code"], -32602,
                         "bound to the arguments")
        self.assertEqual(get(self.server, "raw", **retry).error["code"], -32602, "bound to the prompt")

    def test_input_required_as_an_object(self):
        asked = get(self.server, "raw").result
        self.assertEqual((asked["resultType"], list(asked["inputRequests"])), ("input_required", ["a"]))
        self.assertNotIn("messages", asked)
        self.assertEqual(text(get(self.server, "raw", requestState=asked["requestState"])), "s")

    @proves("MRTR-15", "MRTR-16")
    def test_a_capability_that_is_missing(self):
        self.assertEqual(get(self.server, "ask", capabilities={}).error["code"], -32021)


class PromptContent(unittest.TestCase):
    def get(self, block):
        server = Server("prompts", "1")
        server.add_prompt(lambda: block, name="p")
        return post(server, message("prompts/get", {"name": "p"}))

    def resource(self, **members):
        return {"type": "resource", "resource": {"uri": "demo://x", "mimeType": "text/plain", "text": "x", **members}}

    @proves("PROMPT-07", "PROMPT-09", "PROMPT-11..13")
    def test_what_is_sent(self):
        for block in (content.image(b"\xfb\xff", "image/svg+xml"), content.audio(b"", "audio/ogg; codecs=opus"),
                      {"type": "image", "data": "+/8=", "mimeType": "image/png"}, self.resource(),
                      content.embedded_resource("file:///a.bin", b"\xff", "application/octet-stream")):
            self.assertEqual(self.get(block).result["messages"], [{"role": "user", "content": block}])

    def refused(self, block):
        with self.assertLogs("mcp_ref", logging.ERROR):
            reply = self.get(block)
        self.assertEqual((reply.status, reply.error["code"]), (500, -32603), block)

    @proves("PROMPT-07", "PROMPT-09")
    def test_data_is_base64(self):
        for kind, media in (("image", "image/png"), ("audio", "audio/wav")):
            for data in ("not base64!", "YQ", "Y\nQ==", "+_8=", "é", None, 7):
                self.refused({"type": kind, "data": data, "mimeType": media})

    @proves("PROMPT-08", "PROMPT-10")
    def test_a_mime_type_is_one(self):
        for kind in ("image", "audio"):
            for media in ("", "png", "image/", "/png", "image png", "image/png\r\nx: y", None, 7):
                self.refused({"type": kind, "data": "YQ==", "mimeType": media})

    @proves("PROMPT-11..13")
    def test_an_embedded_resource_is_whole(self):
        for members in ({"uri": "nonsense"}, {"uri": ""}, {"uri": "a b:c"}, {"uri": None}, {"mimeType": None},
                        {"mimeType": "text"}, {"text": None}, {"text": 7}, {"blob": "eA=="}):
            self.refused(self.resource(**members))
        for blob in ("not base64!", "YQ", "+_8=", None, 7):
            self.refused({"type": "resource", "resource": {"uri": "demo://x", "mimeType": "a/b", "blob": blob}})
        self.refused(content.embedded_resource("demo://x", "x"))
        self.refused({"type": "resource", "resource": {"uri": "demo://x", "mimeType": "text/plain"}})


if __name__ == "__main__":
    unittest.main()
