"""client/elicitation, sampling and roots: what a server may ask, and what a client lets it ask."""

import unittest
from typing import Any, Dict

from mcp_ref import InputRequired, Server, form, link, roots, sampling
from mcp_ref.base.errors import InvalidParams, TransportError

from .stub_http import ClientCase, asks, said
from .support import call, proves

NAME = {"name": {"type": "string"}}
TEXT = {"type": "text", "text": "x"}
CITY = {"type": "tool_use", "id": "c1", "name": "city", "input": {}}
TIME = {"type": "tool_use", "id": "c2", "name": "time", "input": {}}


def done(id: Any) -> Dict[str, Any]:
    return {"type": "tool_result", "toolUseId": id, "content": [TEXT]}


def said_by(role: Any, *content: Any) -> Dict[str, Any]:
    return {"role": role, "content": list(content)}


def elicit(**params: Any) -> Dict[str, Any]:
    return {"method": "elicitation/create", "params": params}


class Asked(ClientCase):
    """Each question twice: a server does not send a wrong one, and a client does not put one to its user."""

    def server(self, question: Any, key: Any = "k") -> Any:
        server = Server("asking", "1")

        @server.tool
        def t(ctx: Any) -> Any:
            return InputRequired({key: question})
        return server

    def good(self, question: Any) -> None:
        self.assertEqual(call(self.server(question), "t").result["inputRequests"], {"k": question})
        answer = {"role": "assistant", "content": TEXT, "model": "m"}
        with self.talk(asks({"k": question}), said(), on_elicit=lambda params: {"name": "Ada"},
                       on_sample=lambda params: answer) as (stub, client):
            client.call_tool("t")
            self.assertEqual(len(stub.seen), 2)

    def bad(self, question: Any) -> None:
        def never(*_: Any) -> Any:
            raise AssertionError("nobody may be asked")

        with self.assertLogs("mcp_ref", "ERROR"):
            reply = call(self.server(question), "t")
        self.assertTrue(reply.result.get("isError"), question)
        with self.subTest(question):
            self.refused(asks({"k": question}), TransportError, on_elicit=never, on_sample=never, on_list_roots=never)


class Elicitation(Asked):
    SCHEMA = {"type": "object", "properties": NAME}

    @proves("ELIC-12", "ELIC-14", "ELIC-15")
    def test_a_form_has_a_message_and_an_object_schema(self) -> None:
        self.good(form("Name?", NAME))
        self.good(elicit(message="Name?", requestedSchema=self.SCHEMA))
        for message in (None, 7, [], {}):
            self.bad(elicit(mode="form", message=message, requestedSchema=self.SCHEMA))
        self.bad(elicit(mode="form", requestedSchema=self.SCHEMA))
        for schema in (None, 7, [], {}, True, {"type": "array"}, {"type": "string"}):
            self.bad(elicit(mode="form", message="Name?", requestedSchema=schema))
        self.bad(elicit(message="Name?"))

    def test_a_text_has_a_format_that_forms_have(self) -> None:
        for fmt in ("email", "uri", "date", "date-time"):
            question = form("Name?", {"name": {"type": "string", "format": fmt}})
            self.assertEqual(call(self.server(question), "t").result["inputRequests"], {"k": question})
        for fmt in ("ipv4", "uuid", "time", ""):
            question = form("Name?", {"name": {"type": "string", "format": fmt}}, required=[])
            with self.assertLogs("mcp_ref", "ERROR") as logs:
                self.assertTrue(call(self.server(question), "t").result["isError"], fmt)
            self.assertIn("email, uri, date, date-time, or none", "".join(logs.output))

    def test_a_field_allows_its_default_and_its_choices(self) -> None:
        field: Any
        for field in ({"type": "string", "default": "x"}, {"type": "integer", "minimum": 3, "default": 3},
                      {"type": "string", "enum": ["a", "b"], "default": "b"}, {"type": "boolean", "default": False},
                      {"type": "array", "items": {"type": "string", "enum": ["a"]}, "default": ["a"]}):
            question = form("Name?", {"name": field})
            self.assertEqual(call(self.server(question), "t").result["inputRequests"], {"k": question})
        for field in ({"type": "string", "default": 5}, {"type": "integer", "minimum": 3, "default": 2},
                      {"type": "string", "enum": ["a", "b"], "default": "c"}, {"type": "string", "enum": [1, 2]},
                      {"type": "string", "default": None},
                      {"type": "array", "items": {"type": "string", "enum": ["a"]}, "default": "a"}):
            with self.assertLogs("mcp_ref", "ERROR") as logs:
                self.assertTrue(call(self.server(form("Name?", {"name": field})), "t").result["isError"], field)
            self.assertIn("a default or a choice that it does not allow", "".join(logs.output))

    @proves("ELIC-11")
    def test_a_mode_is_form_or_url(self) -> None:
        for mode in ("", "FORM", "voice", None, 7, ["form"]):
            self.bad(elicit(mode=mode, message="Name?", requestedSchema=self.SCHEMA, url="https://x.example"))

    @proves("ELIC-12", "ELIC-17..20")
    def test_a_url_has_a_message_and_a_valid_url(self) -> None:
        url: Any
        for url in ("https://x.example", "http://127.0.0.1:8000/a?b=c%20d#e", "https://x.example/größe",
                    "com.example.app:open"):
            self.good(link("Open it.", url))
        for url in ("", "x.example/a", "/a", "https://", "https:///a", "https:x", "https://x example", "https://x\n",
                    "https://x/%zz", "https://x/\\", "://x", "9a:b", None, 7):
            self.bad(elicit(mode="url", message="Open it.", url=url))
        self.bad(elicit(mode="url", message="Open it."))
        self.bad(elicit(mode="url", url="https://x.example"))

    @proves("MRTR-06")
    def test_what_is_no_request_is_not_sent(self) -> None:
        for question in ({"method": "tools/call", "params": {}}, {"method": "elicitation/createe"}, {},
                         {"method": None}, {"method": "subscriptions/listen", "params": {}}):
            self.bad(question)

    @proves("MRTR-05")
    def test_a_key_is_a_text(self) -> None:
        for key in (1, None, True):
            with self.assertLogs("mcp_ref", "ERROR"):
                self.assertTrue(call(self.server(form("Name?", NAME), key), "t").result["isError"], key)


class Sampling(Asked):
    def test_messages_that_may_be_sent(self) -> None:
        for messages in ([], [said_by("user", TEXT)], [{"role": "assistant", "content": TEXT}],
                         [said_by("user", TEXT), said_by("assistant", TEXT, CITY), said_by("user", done("c1"))],
                         [said_by("assistant", CITY, TIME), said_by("user", done("c2"), done("c1")),
                          said_by("assistant", TIME), {"role": "user", "content": done("c2")}, said_by("user", TEXT)]):
            self.good(sampling(messages, 5))

    @proves("SAMP-17", "SAMP-18")
    def test_a_message_has_a_role_and_content(self) -> None:
        for message in (said_by("system", TEXT), said_by(None, TEXT), {"content": TEXT}, {"role": "user"},
                        {"role": "user", "content": None}, {"role": "user", "content": "x"}, said_by("user", "x"),
                        {"role": "user", "content": {}}, "x", None):
            self.bad(sampling([message], 5))
        for messages in (None, {}, 7):
            self.bad(sampling(messages, 5))

    def test_what_a_sampling_request_does_not_have_is_told_where_it_is_made(self) -> None:
        for params, words in (({"system_prompt": "x"}, "no system_prompt, did you mean systemPrompt"),
                              ({"zzz": 1}, "no zzz, only messages, maxTokens, systemPrompt, "),
                              ({"temperature": "hot"}, 'temperature .*"hot"'),
                              ({"temperature": True}, "temperature"), ({"systemPrompt": None}, "systemPrompt"),
                              ({"tools": {}}, "tools"), ({"toolChoice": "auto"}, "toolChoice"),
                              ({"stopSequences": "x"}, "stopSequences"),
                              ({"modelPreferences": []}, "modelPreferences")):
            with self.subTest(params), self.assertRaisesRegex(TypeError, words):
                sampling("x", 5, **params)
        sampling("x", 5, systemPrompt="", temperature=1, stopSequences=[], modelPreferences={}, metadata={},
                 includeContext="none", tools=[], toolChoice={}, _meta={})

    def test_what_a_sampling_request_does_not_have_is_not_sent(self) -> None:
        for params in ({"messages": []}, {"messages": [], "maxTokens": "5"}, {"messages": [], "maxTokens": 5, "x": 1}):
            with self.assertLogs("mcp_ref", "ERROR") as logs:
                question = {"method": "sampling/createMessage", "params": params}
                self.assertTrue(call(self.server(question), "t").result["isError"], params)
            self.assertIn("a sampling request", "".join(logs.output))

    @proves("SAMP-12", "SAMP-27")
    def test_tool_results_stand_alone(self) -> None:
        use = said_by("assistant", CITY)
        self.bad(sampling([use, said_by("user", TEXT, done("c1"))], 5))
        self.bad(sampling([use, said_by("user", done("c1"), {"type": "image", "data": "", "mimeType": "a/b"})], 5))
        self.bad(sampling([use, said_by("assistant", done("c1"))], 5))

    @proves("SAMP-13", "SAMP-14", "SAMP-26")
    def test_each_tool_use_is_answered_by_the_next_message(self) -> None:
        both = said_by("assistant", CITY, TIME)
        for rest in ([], [said_by("user", TEXT)], [said_by("user", done("c1"))],
                     [said_by("user", done("c1"), done("c3"))],
                     [said_by("user", done("c1")), said_by("user", done("c2"))],
                     [said_by("assistant", TEXT), said_by("user", done("c1"), done("c2"))],
                     [said_by("user", done("c1"), done("c2")), both]):
            self.bad(sampling([said_by("user", TEXT), both, *rest], 5))


class Answered(ClientCase):
    """Each answer twice: a client does not send a wrong one, and a server does not take one."""

    def check(self, question: Any, answer: Any, good: bool) -> None:
        server = Server("asking", "1")

        @server.tool
        def t(ctx: Any) -> Any:
            return InputRequired({"k": question}) if "k" not in ctx.answers else "taken"

        state = call(server, "t").result["requestState"]
        reply = call(server, "t", requestState=state, inputResponses={"k": answer})
        self.assertEqual((reply.status, good or reply.error["code"]), (200, True) if good else (400, -32602), answer)
        asked = asks({"k": question}), said()
        with self.talk(*asked, on_sample=lambda params: answer, sample_tools=True,
                       on_list_roots=lambda: answer) as (stub, client):
            if good:
                client.call_tool("t")
                self.assertEqual(stub.seen[1].params["inputResponses"], {"k": answer})
            else:
                with self.assertRaisesRegex(InvalidParams, "not sent"):
                    client.call_tool("t")
                self.assertEqual(len(stub.seen), 1)

    @proves("ROOT-04", "ROOT-06")
    def test_roots_are_file_uris_with_a_text_name(self) -> None:
        good: Any = [[], [{"uri": "file:///home/ada", "name": "Home"}], [{"uri": "file:///"}, {"uri": "file:///C:/a%20b"}],
                     [{"uri": "file://host/share"}], [{"uri": "file:///größe", "name": "", "_meta": {}}],
                     [{"uri": "file:///..a/b../c"}]]
        bad: Any = [None, 7, {}, ["file:///a"], [{"uri": None}], [{"name": "x"}], [{"uri": "file:///a"}, {}],
                    *([{"uri": "file:///a", "name": name}] for name in (7, None, [], {})),
                    *([{"uri": uri}] for uri in (
                        "", "/home", "https://x.example/", "file:/home", "file:", "file://", "file://host", "home",
                        " file:///a", "file:///a b", "file:///a\n", "file:///%zz", "file:///a/../b", "file:///a/..",
                        "file:///a/%2E%2e/b", "file:///a%2f..%2Fb", "file:///a\\..\\b", "file:///a%00b", "xfile:///a"))]
        for roots_ in good:
            self.check(roots(), {"roots": roots_}, True)
        for roots_ in bad:
            self.check(roots(), {"roots": roots_}, False)

    def test_a_sampling_result_has_a_model_and_content_blocks(self) -> None:
        question = sampling("Hi?", 5)
        image = {"type": "image", "data": "AA==", "mimeType": "image/png"}
        for content in (TEXT, [TEXT], [], [TEXT, image], image, {**image, "type": "audio"}, done("c1")):
            self.check(question, {"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}, True)
        good = {"role": "assistant", "content": TEXT, "model": "m"}
        for name in good:
            self.check(question, {each: value for each, value in good.items() if each != name}, False)
        for model in (None, 7, [], {}):
            self.check(question, {**good, "model": model}, False)
        for role in (None, "system", 7, []):
            self.check(question, {**good, "role": role}, False)
        blocks: Any = ["x", 7, None, {}, {"text": "x"}, {"type": "text"}, {"type": "text", "text": 5}, {"type": []},
                       {"type": "image", "mimeType": "a/b"}, {"type": "image", "data": "AA=="}, {"type": "video"},
                       {"type": "audio", "data": 5, "mimeType": "a/b"}, {"type": "tool_result", "toolUseId": "c"},
                       {"type": "resource_link", "uri": "x:y", "name": ""}, {"type": "tool_use", "id": "c"},
                       {**CITY, "input": []}, {**CITY, "id": 1}, {**done("c"), "toolUseId": {}}]
        for block in blocks:
            self.check(question, {**good, "content": block}, False)
            self.check(question, {**good, "content": [TEXT, block]}, False)
        for answer in (None, 7, "x", [], [good]):
            self.check(question, answer, False)


    @proves("SAMP-15", "SAMP-16")
    def test_a_model_uses_tools_as_it_was_told_to(self) -> None:
        tools: Any = [{"name": "city", "inputSchema": {"type": "object"}}]
        used: Any = ([TEXT, CITY], CITY, [CITY, TIME])
        plain: Any = (TEXT, [TEXT], [])
        for more, may_use, may_leave in (
                ({}, False, True), ({"tools": tools}, True, True), ({"tools": tools, "toolChoice": {}}, True, True),
                ({"tools": tools, "toolChoice": {"mode": "auto"}}, True, True),
                ({"tools": tools, "toolChoice": {"mode": "required"}}, True, False),
                ({"tools": tools, "toolChoice": {"mode": "none"}}, False, True),
                ({"toolChoice": {"mode": "none"}}, False, True)):
            for contents, good in ((used, may_use), (plain, may_leave)):
                for content in contents:
                    self.check(sampling("Where?", 5, **more), {"role": "assistant", "content": content, "model": "m"},
                               good)


@proves("ELIC-33")
class Failing(unittest.TestCase):
    def test_a_client_that_cannot_answer_is_asked_again_or_refused(self) -> None:
        """A client that gave no answer, an error in its place, or one of another shape harms its own request alone."""
        server = Server("asking", "1")

        @server.tool
        def t(ctx: Any) -> str:
            return str(ctx.elicit("Name?", NAME, "k")["name"])

        state = call(server, "t").result["requestState"]
        for responses in ({}, None, {"other": {"action": "accept"}}, {"k": {"action": "accept"}}):
            reply = call(server, "t", requestState=state, inputResponses=responses)
            self.assertEqual(reply.result["resultType"], "input_required", responses)
        for answer in (None, "failed", {"code": -32603, "message": "x"}, {"error": {"code": 1}}):
            reply = call(server, "t", requestState=state, inputResponses={"k": answer})
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), answer)
        done = call(server, "t", requestState=state,
                    inputResponses={"k": {"action": "accept", "content": {"name": "Ada"}}})
        self.assertEqual(done.text, "Ada")


if __name__ == "__main__":
    unittest.main()
