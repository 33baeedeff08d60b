"""Completion: prompts and templates, at most a hundred values, context, choices, errors."""

import logging
import unittest
from typing import Literal, Optional

from mcp_ref import SchemaError, Server

from .support import message, post, proves

ABSENT = object()
MANY = [f"v{number:03}" for number in range(250)]


def make():
    server = Server("completion", "1")

    @server.prompt
    def review(language: str, framework: str = "", size: Literal["small", "Medium", "extra small"] = "small",
               other: Optional[str] = None):
        return language

    server.add_resource("file:///fixed", lambda: "", name="fixed")
    server.add_resource_template("file:///{p}", lambda p: p, name="p")

    @server.completion("review", "language")
    def language(value):
        return [name for name in ("python", "pytorch", "perl") if name.startswith(value)]

    @server.completion("review", "framework")
    async def framework(ctx, value, others):
        assert ctx.client_info["name"] == "test"
        return [f"{key}={others[key]}" for key in sorted(others)] + [value]

    @server.completion("file:///{p}", "p")
    def path(value):
        return [name for name in MANY if name.startswith(value)]

    return server


def complete(server, ref, name="language", value="", context=ABSENT, capabilities=None):
    params = {"ref": ref, "argument": {"name": name, "value": value}}
    if context is not ABSENT:
        params["context"] = context
    return post(server, message("completion/complete", params, capabilities=capabilities))


PROMPT = {"type": "ref/prompt", "name": "review"}
TEMPLATE = {"type": "ref/resource", "uri": "file:///{p}"}


@proves("C055")
class Completing(unittest.TestCase):
    """C055; E is refused."""

    def setUp(self):
        self.server = make()

    def test_a_prompt(self):
        result = complete(self.server, PROMPT, value="py").result
        del result["_meta"]
        self.assertEqual(result, {"resultType": "complete",
                                  "completion": {"values": ["python", "pytorch"], "total": 2, "hasMore": False}})

    def test_a_hundred_values_at_most(self):
        result = complete(self.server, TEMPLATE, "p").result
        self.assertEqual(result["completion"], {"values": MANY[:100], "total": 250, "hasMore": True})
        self.assertEqual(complete(self.server, TEMPLATE, "p", "v1").result["completion"],
                         {"values": MANY[100:200], "total": 100, "hasMore": False},
                         "a hundred is not more than a hundred")

    def test_a_template_is_found_by_a_uri_of_it(self):
        found = complete(self.server, {"type": "ref/resource", "uri": "file:///x"}, "p", "v24").result["completion"]
        self.assertEqual(found["total"], 10)

    def test_context(self):
        self.assertEqual(complete(self.server, PROMPT, "framework", "f", {"arguments": {"language": "py", "x": "y"}})
                         .result["completion"]["values"], ["language=py", "x=y", "f"])
        for context in (ABSENT, {}, {"arguments": {}}):
            self.assertEqual(complete(self.server, PROMPT, "framework", "f", context).result["completion"]["values"],
                             ["f"])

    @proves("COMP-14")
    def test_context_is_checked(self):
        for context in (None, [], "x", {"arguments": None}, {"arguments": []}, {"arguments": {"language": 1}},
                        {"arguments": {"language": None}}):
            reply = complete(self.server, PROMPT, "framework", "f", context)
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), context)
            self.assertIn("context", reply.error["message"])

    @proves("COMP-14")
    def test_what_does_not_exist(self):
        for ref, name in (({"type": "ref/prompt", "name": "nope"}, "language"), (PROMPT, "nope"), (TEMPLATE, "nope"),
                          ({"type": "ref/resource", "uri": "http:///{p}"}, "p"),
                          ({"type": "ref/resource", "uri": "nope"}, "p"),
                          ({"type": "ref/resource", "uri": "file:///fixed"}, "p")):
            reply = complete(self.server, ref, name)
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), ref)

    def test_what_nobody_completes(self):
        self.assertEqual(complete(self.server, PROMPT, "other", "x").result["completion"],
                         {"values": [], "total": 0, "hasMore": False})

    @proves("COMP-14")
    def test_malformed(self):
        argument = {"name": "language", "value": ""}
        for params in ({}, {"ref": PROMPT}, {"argument": argument}, {"ref": "review", "argument": argument},
                       {"ref": {}, "argument": argument}, {"ref": {"type": "ref/prompt"}, "argument": argument},
                       {"ref": {"type": "ref/tool", "name": "review"}, "argument": argument},
                       {"ref": {"type": "ref/resource"}, "argument": argument},
                       {"ref": {"type": "ref/resource", "name": "p"}, "argument": argument},
                       {"ref": {"type": ["ref/prompt"], "name": "review"}, "argument": argument},
                       {"ref": {"type": "ref/prompt", "name": 3}, "argument": argument},
                       {"ref": PROMPT, "argument": []}, {"ref": PROMPT, "argument": {"name": "language"}},
                       {"ref": PROMPT, "argument": {"value": ""}},
                       {"ref": PROMPT, "argument": {"name": "language", "value": 1}},
                       {"ref": PROMPT, "argument": {"name": None, "value": ""}}):
            reply = post(self.server, message("completion/complete", params))
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), params)

    def test_choices_complete_by_themselves(self):
        for value, expected in (("", ["small", "Medium", "extra small"]), ("SMA", ["small", "extra small"]),
                                ("me", ["Medium"]), ("x", ["extra small"]), ("z", [])):
            found = complete(self.server, PROMPT, "size", value).result["completion"]["values"]
            self.assertEqual(found, expected, value)


@proves("COMP-02")
class Capability(unittest.TestCase):
    def test_only_where_something_can_be_completed(self):
        server = Server("none", "1")
        server.add_prompt(lambda a: a, name="p")
        reply = complete(server, {"type": "ref/prompt", "name": "p"}, "a")
        self.assertEqual((reply.status, reply.error["code"]), (404, -32601))
        self.assertNotIn("completions", server.state.capabilities)
        server.completion("p", "a")(lambda value: [value])
        self.assertEqual(post(server, message("server/discover")).result["capabilities"]["completions"], {})
        server.remove_prompt("p")
        self.assertNotIn("completions", server.state.capabilities)
        self.assertEqual(complete(server, {"type": "ref/prompt", "name": "p"}, "a").status, 404)


class Completers(unittest.TestCase):
    def answering(self, function, capabilities=None):
        server = Server("one", "1")
        server.add_prompt(lambda a: a, name="p")
        server.completion("p", "a")(function)
        return complete(server, {"type": "ref/prompt", "name": "p"}, "a", "x", capabilities=capabilities)

    def test_a_generator_is_taken_as_far_as_needed(self):
        def endless(value):
            number = 0
            while True:
                number += 1
                yield f"{value}{number}"
        found = self.answering(endless).result["completion"]
        self.assertEqual((len(found["values"]), found["hasMore"], "total" in found), (100, True, False))
        found = self.answering(lambda value: iter(MANY[:100])).result["completion"]
        self.assertEqual((len(found["values"]), found["hasMore"], found["total"]), (100, False, 100))

    def test_as_much_as_it_takes(self):
        for function, expected in ((lambda *given: map(str, given), ["x", "{}"]), (lambda value, /: [value], ["x"]),
                                   (lambda value, *rest: [value, *map(str, rest)], ["x", "{}"]),
                                   (lambda value, ctx, others: [value, str(others)], ["x", "{}"]),
                                   (lambda value, others, *, ctx: [str(ctx.round)], ["0"])):
            self.assertEqual(self.answering(function).result["completion"]["values"], expected)

    @proves("MRTR-04")
    def test_what_is_the_servers_fault(self):
        def asks(ctx, value):
            return [ctx.elicit("a?", {"a": {"type": "string"}})["a"]]

        def fails(value):
            raise RuntimeError("the password is 1234")
        for function in (asks, fails, lambda value: "text", lambda value: [1], lambda value: None, lambda value: 3,
                         lambda value: {"values": ["a"], "total": 1}):
            with self.assertLogs("mcp_ref", logging.ERROR):
                reply = self.answering(function)
            self.assertEqual((reply.status, reply.error), (500, {"code": -32603, "message": "Internal error"}))

    @proves("MRTR-04")
    def test_one_that_asks_is_the_servers_fault_whatever_the_client_can_do(self):
        for capabilities in ({}, {"elicitation": {}}):
            with self.assertLogs("mcp_ref", logging.ERROR) as logs:
                reply = self.answering(lambda ctx, value: ctx.elicit("a?", bool), capabilities)
            self.assertEqual(reply.error["code"], -32603)
            self.assertIn("only tools, prompts and resources can", "".join(logs.output))

    def test_what_cannot_be_registered(self):
        async def endless(value):
            yield value

        server = make()
        for target, argument, function in (("nope", "a", lambda value: []), ("review", "nope", lambda value: []),
                                           ("file:///{q}", "q", lambda value: []),
                                           ("review", "language", lambda *, b: []),
                                           ("review", "language", lambda a, b, c: []),
                                           ("review", "language", lambda *, a: []),
                                           ("review", "language", endless)):
            with self.subTest(f"{target} {argument}"), self.assertRaises(ValueError):
                server.completion(target, argument)(function)
        self.assertTrue(issubclass(SchemaError, ValueError))


if __name__ == "__main__":
    unittest.main()
