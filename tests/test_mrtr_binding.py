"""An answer belongs to its question: changed questions, keys, forms from types, every way of asking and reading."""

import json
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List

from mcp_ref import InputRequired, Server, ToolError, form, link, roots, sampling
from mcp_ref.patterns.mrtr import MAX_ASKED

from .support import Talk, accept, call, message, not_on_wasm, post, served

OK = {"ok": {"type": "boolean"}}


METHODS = ("tools/call", "prompts/get", "resources/read")


class Questions(unittest.TestCase):
    def test_a_loop_asks_each_time(self) -> None:
        server = Server("s", "1")

        @server.tool
        def delete(ctx, names: List[str]) -> str:
            return ",".join(name for name in names if ctx.elicit(f"Delete {name}?", OK)["ok"])

        talk = Talk(server, name="delete", arguments={"names": ["a", "b", "b", "c"]})
        done = talk.run(lambda request: accept(ok="b" in request["params"]["message"]))
        self.assertEqual(talk.messages, ["Delete a?", "Delete b?", "Delete b?", "Delete c?"])
        self.assertEqual(done.text, "b,b")

    def test_a_loop_until_no_ends(self) -> None:
        server = Server("s", "1")

        @server.tool
        def more(ctx) -> int:
            count = 0
            while ctx.elicit("Again?", bool).value:
                count += 1
            return count

        for last in (accept(value=False), {"action": "decline"}, {"action": "cancel"}):
            talk = Talk(server, name="more")
            answers = [accept(value=True)] * 3 + [last]
            done = talk.run(lambda request, answers=answers: answers.pop(0))
            self.assertIn("3", done.text)
            self.assertEqual(len({key for requests in talk.asked for key in requests}), 4)

    def test_a_changed_question_is_asked_anew_in_each_style(self) -> None:
        """"Pay 10?" was agreed to; by then it is 99, and nothing is paid before that is agreed to."""
        prices = [10, 99]

        def by_elicit(ctx):
            price = prices.pop(0) if len(prices) > 1 else prices[0]
            answer = ctx.elicit(f"Pay {price}?", OK, "pay")
            return f"paid {price}" if answer and answer["ok"] else "kept"

        def without_a_key(ctx):
            price = prices.pop(0) if len(prices) > 1 else prices[0]
            return f"paid {price}" if ctx.elicit(f"Pay {price}?", bool) else "kept"

        def by_ask(ctx):
            price = prices.pop(0) if len(prices) > 1 else prices[0]
            answer = ctx.ask({"pay": form(f"Pay {price}?", OK)})["pay"]
            return f"paid {price}" if answer["action"] == "accept" else "kept"

        def by_return(ctx):
            price = prices.pop(0) if len(prices) > 1 else prices[0]
            question = form(f"Pay {price}?", OK)
            answer = ctx.input_response("pay", question)
            if answer is None:
                return InputRequired({"pay": question})
            return f"paid {price}" if answer["action"] == "accept" else "kept"

        for method in METHODS:
            for handler in (by_elicit, without_a_key, by_ask, by_return):
                prices[:] = [10, 99]
                _, talk = served(handler, method)
                done = talk.run(lambda request: {"action": "accept", "content": {
                    name: True for name in request["params"]["requestedSchema"]["properties"]}})
                self.assertEqual(talk.messages, ["Pay 10?", "Pay 99?"], (method, handler.__name__))
                self.assertIn("paid 99", json.dumps(done.result))

    def test_all_of_a_question_counts(self) -> None:
        """Message, schema, URL, mode, sampling messages, parameters: one changed member, and it is another question."""
        says = [{"role": "user", "content": {"type": "text", "text": "b"}}]
        base = form("?", {"n": {"type": "string"}})
        other_kinds = [link("?", "https://a.example/"), sampling("a", 5), roots()]
        pairs = [(base, form("!", {"n": {"type": "string"}})), (base, form("?", {"n": {"type": "integer"}})),
                 (base, form("?", {"n": {"type": "string"}}, required=[])),
                 (base, form("?", {"n": {"type": "string", "title": "Name"}})),
                 (link("?", "https://a.example/"), link("?", "https://b.example/")),
                 (sampling("a", 5), sampling("b", 5)), (sampling("a", 5), sampling(says, 5)),
                 (sampling("a", 5), sampling("a", 6)), (sampling("a", 5), sampling("a", 5, systemPrompt="x")),
                 *[(base, kind) for kind in other_kinds]]
        answers = {"elicitation/create": accept(n="1"), "roots/list": {"roots": []},
                   "sampling/createMessage": {"role": "assistant", "model": "m",
                                              "content": {"type": "text", "text": "x"}}}
        for first, second in pairs:
            server = Server("s", "1")
            questions = [first, second]
            server.tool(name="t")(lambda ctx, _q: str(ctx.ask({"k": questions[0]})))  # noqa: B023
            body = {"name": "t", "arguments": {"_q": 1}}
            state = post(server, message("tools/call", body)).result["requestState"]
            retry = message("tools/call", {**body, "requestState": state,
                                           "inputResponses": {"k": answers[first["method"]]}})
            self.assertEqual(post(server, retry).result["resultType"], "complete", first)
            del questions[0]
            self.assertEqual(post(server, retry).result["inputRequests"], {"k": second})

    def test_members_in_another_order_are_the_same_question(self) -> None:
        fields = [{"a": {"type": "string", "title": "A"}}, {"a": {"title": "A", "type": "string"}}]
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: ctx.elicit("?", fields[0], "k")["a"])
        state = call(server, "t").result["requestState"]
        del fields[0]
        self.assertEqual(call(server, "t", requestState=state, inputResponses={"k": accept(a="x")}).text, "x")

    def test_one_key_for_two_questions_is_the_handlers_error(self) -> None:
        def by_elicit(ctx):
            return str([ctx.elicit("first?", OK, "k")["ok"], ctx.elicit("second?", OK, "k")["ok"]])

        def by_both_styles(ctx):
            ctx.elicit("first?", OK, "k")
            return InputRequired({"k": form("second?", OK)})

        def by_reading_another(ctx):
            return InputRequired({"k": form("second?", OK)}) if not ctx.input_response("k", form("?", OK)) else "x"

        for handler, rounds in ((by_elicit, 1), (by_both_styles, 1), (by_reading_another, 0)):
            server = Server("s", "1")
            server.add_tool(handler, name="t")
            talk = Talk(server, name="t")
            with self.assertLogs("mcp_ref", "ERROR") as logs:
                done = talk.run(lambda request: accept(ok=True))
            self.assertTrue(done.result["isError"])
            self.assertEqual(len(talk.asked), rounds)
            self.assertIn("two different questions", "".join(logs.output))

    def test_an_endless_loop_over_one_key_is_the_handlers_error(self) -> None:
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: all(iter(lambda: ctx.elicit("Again?", bool, "k").value, False)))
        talk = Talk(server, name="t")
        with self.assertLogs("mcp_ref", "ERROR") as logs:
            self.assertTrue(talk.run(lambda request: accept(value=True)).result["isError"])
        self.assertIn(f"{MAX_ASKED} times", "".join(logs.output))

    def test_the_order_of_older_servers(self) -> None:
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: str(ctx.elicit("agree", "Agreed?", OK)["ok"]))
        talk = Talk(server, name="t")
        self.assertEqual(talk.run(lambda request: accept(ok=True)).text, "True")
        self.assertEqual((list(talk.asked[0]), talk.messages), (["agree"], ["Agreed?"]))

    def test_a_question_asked_again_voids_its_answer(self) -> None:
        """A handler that returns a question which was answered has no use for that answer, and gets it back no more."""
        server = Server("s", "1")
        question = form("Sure?", OK)

        @server.tool
        def t(ctx) -> Any:
            if ctx.round < 2:
                return InputRequired({"k": question})
            return InputRequired({"k": question}) if ctx.input_response("k", question) is None else "used"

        first = call(server, "t").result["requestState"]
        second = call(server, "t", requestState=first, inputResponses={"k": accept(ok=True)}).result["requestState"]
        third = call(server, "t", requestState=second)
        self.assertEqual(third.result["resultType"], "input_required")


class Open(unittest.TestCase):
    """A question that is open when the handler ends is asked, whatever became of it on its way."""

    @not_on_wasm("needs threads")
    def test_it_is_asked(self) -> None:
        def bare(ctx) -> str:
            try:
                return str(ctx.elicit("Sure?", OK)["ok"])
            except:  # noqa: E722 - as authors write it
                return "swallowed"

        def other(ctx) -> str:
            try:
                return str(ctx.elicit("Sure?", OK)["ok"])
            except BaseException as error:
                raise ToolError("rolled back") from error

        def ends(ctx) -> str:
            said: List[str] = []
            try:
                said.append(str(ctx.elicit("Sure?", OK)["ok"]))
            finally:
                return said[0]  # noqa: B012

        def thread(ctx) -> str:
            with ThreadPoolExecutor(1) as pool:
                failed = pool.submit(ctx.elicit, "Sure?", OK).exception()
                return str(ctx.elicit("Sure?", OK)["ok"]) if failed is None else "swallowed"

        for handler in (bare, other, ends, thread):
            server, talk = served(handler, "tools/call")
            with self.subTest(handler.__name__):
                reply = talk.run(lambda request: accept(ok=True))
                self.assertEqual((reply.text, set(talk.messages)), ("True", {"Sure?"}))

    def test_it_goes_along_with_what_is_returned(self) -> None:
        def handler(ctx) -> Any:
            try:
                ctx.elicit("A?", OK, key="a")
            except BaseException:
                return InputRequired({"b": form("B?", OK)}, request_state=1)
            return str(ctx.request_state)

        server, talk = served(handler, "tools/call")
        self.assertEqual(talk.run(lambda request: accept(ok=True)).text, "1")
        self.assertEqual(talk.messages, ["A?", "B?"])

    def test_one_key_stands_for_one_question_there_too(self) -> None:
        def handler(ctx) -> Any:
            try:
                ctx.elicit("A?", OK, key="a")
            except BaseException:
                return InputRequired({"a": form("B?", OK)})

        server, talk = served(handler, "tools/call")
        with self.assertLogs("mcp_ref", "ERROR") as logs:
            self.assertTrue(talk.run(lambda request: accept(ok=True)).result["isError"])
        self.assertIn("two different questions", "".join(logs.output))


class Answers(unittest.TestCase):
    def test_what_is_not_accepted_has_no_content(self) -> None:
        seen: List[Any] = []

        def read(ctx):
            seen.append([dict(ctx.input_responses), ctx.input_response("f", form("?", OK)),
                         ctx.input_response("u", link("?", "https://a.example/"))])
            return str(ctx.ask({"f": form("?", OK), "u": link("?", "https://a.example/")}))

        for method in METHODS:
            for answer in ({"action": "decline"}, {"action": "cancel"}):
                _, talk = served(read, method)
                talk.run(lambda request, answer=answer: {**answer, "content": {"ok": True}, "x": 1})
                said = {"f": answer, "u": answer}
                self.assertEqual(seen[-1], [said, answer, answer])
        _, talk = served(read, "tools/call")
        talk.run(lambda request: accept(ok=True, extra="slipped in"))
        self.assertEqual(seen[-1][0], {"f": accept(ok=True), "u": {"action": "accept"}})

    def test_what_is_read_cannot_be_changed(self) -> None:
        server = Server("s", "1")

        @server.tool
        def t(ctx) -> str:
            answer = ctx.ask({"k": form("?", OK)})["k"]
            answer["content"]["ok"] = "changed"
            with self.assertRaises(TypeError):
                ctx.input_responses["k"] = 1
            ctx.input_responses["k"]["content"]["ok"] = "changed"
            return str(ctx.input_response("k", form("?", OK))["content"]["ok"])

        self.assertEqual(Talk(server, name="t").run(lambda request: accept(ok=True)).text, "True")

    def test_an_incomplete_form_is_asked_again(self) -> None:
        fields = {"a": {"type": "string"}, "b": {"type": "integer"}}
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: str(dict(ctx.elicit("?", fields, "k"))))
        state = call(server, "t").result["requestState"]
        incomplete: List[Dict[str, Any]] = [{}, {"a": "x"}, {"b": 1}, {"other": 1}]
        wrong: List[Dict[str, Any]] = [{"a": 1}, {"a": None, "b": 1}, {"a": "x", "b": "1"}, {"b": 1.5}]
        for content in incomplete:
            reply = call(server, "t", requestState=state, inputResponses={"k": accept(**content)})
            self.assertEqual(list(reply.result["inputRequests"]), ["k"], content)
        for content in wrong:
            reply = call(server, "t", requestState=state, inputResponses={"k": accept(**content)})
            self.assertEqual(reply.error["code"], -32602, content)
        optional = Server("s", "1")
        optional.tool(name="t")(lambda ctx: str(dict(ctx.elicit("?", fields, "k", required=[]))))
        state = call(optional, "t").result["requestState"]
        done = call(optional, "t", requestState=state, inputResponses={"k": {"action": "accept"}})
        self.assertEqual(done.text, "{}")

    def test_keys_that_were_not_asked_are_ignored_with_or_without_a_state(self) -> None:
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: str([ctx.elicit("a?", OK, "a")["ok"], ctx.elicit("b?", OK, "b")["ok"]]))
        reply = call(server, "t", inputResponses={"other": accept(ok=True)})
        self.assertEqual(list(reply.result["inputRequests"]), ["a"])
        state = reply.result["requestState"]
        reply = call(server, "t", requestState=state, inputResponses={"a": accept(ok=True), "b": accept(ok=True)})
        self.assertEqual(list(reply.result["inputRequests"]), ["b"])
        reply = call(server, "t", inputResponses={"a": accept(ok=True)})
        self.assertEqual(reply.error, {"code": -32602, "message": "Invalid params: retry must carry the requestState "
                                       "returned with input_required"})

    def test_a_round_names_all_that_the_client_lacks(self) -> None:
        server = Server("s", "1")
        questions = {"f": form("?", OK), "u": link("?", "https://a.example/"), "s": sampling("?", 5, tools=[]),
                     "r": roots()}
        server.tool(name="t")(lambda ctx: str(ctx.ask(questions)))
        needed = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
        for declared, missing in (({}, needed), ({"roots": {}}, {name: needed[name] for name in ("elicitation",
                                                                                                "sampling")}),
                                  ({"elicitation": {}, "sampling": {}, "roots": {}},
                                   {"elicitation": {"url": {}}, "sampling": {"tools": {}}})):
            error = call(server, "t", capabilities=declared).error
            self.assertEqual((error["code"], error["data"]), (-32021, {"requiredCapabilities": missing}))
            for name in missing:
                self.assertIn(name, error["message"])


if __name__ == "__main__":
    unittest.main()
