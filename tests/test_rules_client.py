"""client/elicitation and client/sampling, rule by rule: what a server may ask, and what a client lets it ask."""

import unittest
from typing import Any, Dict

from mcp_ref import InputRequired, Server, form, link, sampling
from mcp_ref.base.errors import TransportError

from .stub_http import ClientCase, asks, said
from .support import call

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

    def test_a_form_has_a_message_and_an_object_schema(self) -> None:
        self.good(form("Name?", NAME))
        self.good(elicit(message="Name?", requestedSchema=self.SCHEMA))
        for message in (None, 7, [], {}):
            self.bad(elicit(mode="form", message=message, requestedSchema=self.SCHEMA))
        self.bad(elicit(mode="form", requestedSchema=self.SCHEMA))
        for schema in (None, 7, [], {}, True, {"type": "array"}, {"type": "string"}):
            self.bad(elicit(mode="form", message="Name?", requestedSchema=schema))
        self.bad(elicit(message="Name?"))

    def test_a_mode_is_form_or_url(self) -> None:
        for mode in ("", "FORM", "voice", None, 7, ["form"]):
            self.bad(elicit(mode=mode, message="Name?", requestedSchema=self.SCHEMA, url="https://x.example"))

    def test_a_url_has_a_message_and_a_valid_url(self) -> None:
        for url in ("https://x.example", "http://127.0.0.1:8000/a?b=c%20d#e", "https://x.example/größe",
                    "com.example.app:open"):
            self.good(link("Open it.", url))
        for url in ("", "x.example/a", "/a", "https://", "https:///a", "https:x", "https://x example", "https://x\n",
                    "https://x/%zz", "https://x/\\", "://x", "9a:b", None, 7):
            self.bad(elicit(mode="url", message="Open it.", url=url))
        self.bad(elicit(mode="url", message="Open it."))
        self.bad(elicit(mode="url", url="https://x.example"))

    def test_what_is_no_request_is_not_sent(self) -> None:
        for question in ({"method": "tools/call", "params": {}}, {"method": "elicitation/createe"}, {},
                         {"method": None}, {"method": "subscriptions/listen", "params": {}}):
            self.bad(question)

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

    def test_a_message_has_a_role_and_content(self) -> None:
        for message in (said_by("system", TEXT), said_by(None, TEXT), {"content": TEXT}, {"role": "user"},
                        {"role": "user", "content": None}, {"role": "user", "content": "x"}, said_by("user", "x"),
                        {"role": "user", "content": {}}, "x", None):
            self.bad(sampling([message], 5))
        for messages in (None, {}, 7):
            self.bad(sampling(messages, 5))

    def test_tool_results_stand_alone(self) -> None:
        use = said_by("assistant", CITY)
        self.bad(sampling([use, said_by("user", TEXT, done("c1"))], 5))
        self.bad(sampling([use, said_by("user", done("c1"), {"type": "image", "data": "", "mimeType": "a/b"})], 5))
        self.bad(sampling([use, said_by("assistant", done("c1"))], 5))

    def test_each_tool_use_is_answered_by_the_next_message(self) -> None:
        both = said_by("assistant", CITY, TIME)
        for rest in ([], [said_by("user", TEXT)], [said_by("user", done("c1"))],
                     [said_by("user", done("c1"), done("c3"))],
                     [said_by("user", done("c1")), said_by("user", done("c2"))],
                     [said_by("assistant", TEXT), said_by("user", done("c1"), done("c2"))],
                     [said_by("user", done("c1"), done("c2")), both]):
            self.bad(sampling([said_by("user", TEXT), both, *rest], 5))


class Failing(unittest.TestCase):
    def test_a_client_that_cannot_answer_is_asked_again_or_refused(self) -> None:
        """A client that gave no answer, an error in its place, or one of another shape harms its own request alone."""
        server = Server("asking", "1")

        @server.tool
        def t(ctx: Any) -> str:
            return str(ctx.elicit("k", "Name?", NAME)["name"])

        state = call(server, "t").result["requestState"]
        for responses in ({}, None, {"other": {"action": "accept"}}):
            reply = call(server, "t", requestState=state, inputResponses=responses)
            self.assertEqual(reply.result["resultType"], "input_required", responses)
        for answer in (None, "failed", {"code": -32603, "message": "x"}, {"error": {"code": 1}}, {"action": "accept"}):
            reply = call(server, "t", requestState=state, inputResponses={"k": answer})
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), answer)
        done = call(server, "t", requestState=state,
                    inputResponses={"k": {"action": "accept", "content": {"name": "Ada"}}})
        self.assertEqual(done.text, "Ada")


if __name__ == "__main__":
    unittest.main()
