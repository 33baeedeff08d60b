"""Multi round trips: replay, several rounds and questions, what answers count, capabilities, keys."""

import asyncio
import unittest

from mcp_ref import InputRequired, ProtocolError, Server, ToolError, form, link, roots, sampling
from mcp_ref.base.request import Request
from mcp_ref.patterns.mrtr import MAX_ANSWERS

from .support import accept, call, message, post, proves, stdio

KEY = b"k" * 32
NAME = {"name": {"type": "string"}}


def make(**options):
    server = Server("mrtr", "1", **options)

    @server.tool
    def wizard(ctx) -> str:
        first = ctx.elicit("first?", NAME, "a")
        second = ctx.elicit(f"second, {first['name']}?", {"age": {"type": "integer", "minimum": 1}}, "b")
        return f"{first['name']} is {second['age']}"

    @server.tool
    def refund(ctx, amount: int, note: str = "") -> str:
        answer = ctx.elicit(f"refund {amount}?", {"ok": {"type": "boolean"}}, "sure")
        return f"{answer.action} {dict(answer)} {amount}"

    @server.tool
    def delete(ctx, amount: int, note: str = "") -> str:
        return "deleted" if ctx.elicit("delete?", {"ok": {"type": "boolean"}}, key="sure") else "kept"

    @server.tool
    def several(ctx) -> str:
        found = ctx.ask({"who": form("who?", NAME), "what": sampling("what?", 10), "where": roots()})
        who, what = found["who"]["content"]["name"], found["what"]["content"]["text"]
        return f"{who} {what} {found['where']['roots'][0]['uri']}"

    @server.tool
    def raw(ctx):
        question = form("name?", NAME)
        answer = ctx.input_response("name", question)
        if answer is None:
            return InputRequired({"name": question}, request_state={"seen": ctx.round})
        return f"{answer['content']['name']} {ctx.request_state} {ctx.round}"

    @server.tool
    def again(ctx):
        if ctx.round < 2:
            raise InputRequired(request_state=ctx.round)
        return f"state {ctx.request_state}"

    return server


@proves("C029")
class Rounds(unittest.TestCase):
    def setUp(self):
        self.server = make()

    def asked(self, reply, *keys):
        self.assertEqual((reply.status, reply.result["resultType"]), (200, "input_required"), reply.body)
        self.assertEqual(sorted(reply.result["inputRequests"]), sorted(keys))
        for member in ("content", "contents", "messages", "ttlMs", "cacheScope", "isError"):
            self.assertNotIn(member, reply.result)
        return reply.result["requestState"]

    def refused(self, reply, code=-32602):
        self.assertEqual((reply.status, reply.error["code"]), (400, code), reply.body)
        return reply.error

    @proves("BASE-01", "MRTR-14")
    def test_two_rounds_with_the_newest_answers_only(self):
        first = self.asked(call(self.server, "wizard"), "a")
        reply = call(self.server, "wizard", inputResponses={"a": accept(name="Ada")}, requestState=first)
        second = self.asked(reply, "b")
        self.assertEqual(reply.result["inputRequests"]["b"]["params"]["message"], "second, Ada?")
        self.assertNotEqual(first, second)
        done = call(self.server, "wizard", inputResponses={"b": accept(age=36)}, requestState=second)
        self.assertEqual((done.result["resultType"], done.text), ("complete", "Ada is 36"))

    @proves("ELIC-12", "ELIC-14", "ELIC-15")
    def test_the_request_as_it_goes_out(self):
        reply = call(self.server, "refund", {"amount": 3})
        self.assertEqual(reply.result["inputRequests"], {"sure": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "refund 3?", "requestedSchema": {
                "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}}})

    @proves("ELIC-31", "ELIC-32")
    def test_decline_and_cancel(self):
        for action in ("decline", "cancel"):
            for more in ({}, {"content": {"ok": True}}, {"content": {"ok": "yes", "x": 1}}, {"content": 7}):
                state = self.asked(call(self.server, "refund", {"amount": 3}), "sure")
                done = call(self.server, "refund", {"amount": 3}, inputResponses={"sure": {"action": action, **more}},
                            requestState=state)
                self.assertEqual(done.text, f"{action} {{}} 3", more)

    @proves("MRTR-01")
    def test_several_questions_in_one_round(self):
        state = self.asked(call(self.server, "several"), "who", "what", "where")
        what = {"role": "assistant", "content": {"type": "text", "text": "tea"}, "model": "m"}
        where = {"roots": [{"uri": "file:///x"}]}
        some = call(self.server, "several", inputResponses={"who": accept(name="Ada"), "where": where},
                    requestState=state)
        state = self.asked(some, "what")
        done = call(self.server, "several", inputResponses={"what": what}, requestState=state)
        self.assertEqual(done.text, "Ada tea file:///x")

    @proves("MRTR-17")
    def test_missing_answers_are_asked_for_again_and_others_ignored(self):
        for extra in ({}, {"inputResponses": {}}, {"inputResponses": None}, {"requestState": None},
                      {"inputResponses": {"wrong": accept(x=1)}}):
            self.asked(call(self.server, "wizard", **extra), "a")
        state = self.asked(call(self.server, "wizard"), "a")
        for answers in ({}, {"wrong": 7}):
            self.asked(call(self.server, "wizard", inputResponses=answers, requestState=state), "a")

    def test_an_answer_to_a_question_not_asked_does_not_count(self):
        self.assertIn("requestState", self.refused(call(self.server, "wizard",
                                                        inputResponses={"a": accept(name="Eve")}))["message"])
        first = self.asked(call(self.server, "wizard"), "a")
        second = self.asked(call(self.server, "wizard", requestState=first,
                                 inputResponses={"a": accept(name="Eve"), "b": accept(age=1)}), "b")
        self.asked(call(self.server, "wizard", requestState=second), "b")
        self.refused(call(self.server, "raw", inputResponses={"name": accept(name="Eve")}))

    def test_a_tool_may_take_answers_that_no_state_shows_asked(self):
        self.server.tool(name="loose", accept_unasked=True)(lambda ctx: ctx.elicit("?", NAME, "n")["name"])
        done = call(self.server, "loose", inputResponses={"n": accept(name="Ada"), "extra": 1})
        self.assertEqual(done.text, "Ada")
        self.refused(call(self.server, "loose", inputResponses={"n": 12345}))
        self.asked(call(self.server, "loose"), "n")

    @proves("ELIC-33")
    def test_answers_are_validated(self):
        def reply(answer):
            state = self.asked(call(self.server, "refund", {"amount": 3}), "sure")
            return call(self.server, "refund", {"amount": 3}, inputResponses={"sure": answer}, requestState=state)

        for answer, name in ((7, "sure"), ([], "sure"), ({}, "action"), ({"action": "reject"}, "action"),
                             ({"action": "accept", "content": []}, "content"),
                             (accept(ok="yes"), "ok"), (accept(ok=None), "ok")):
            self.assertIn(name, self.refused(reply(answer))["message"])
        self.assertEqual(reply(accept(ok=True)).text, "accept {'ok': True} 3")

    def test_an_incomplete_answer_that_no_state_shows_asked_is_asked_for_again(self):
        self.server.tool(name="loose", accept_unasked=True)(lambda ctx: ctx.elicit("?", NAME, key="n")["name"])
        self.asked(call(self.server, "loose", inputResponses={"n": accept()}), "n")

    def test_what_is_not_accepted_has_no_value(self):
        @self.server.tool
        def value(ctx) -> str:
            return repr(ctx.elicit("?", NAME, key="n").value)

        for action in ("decline", "cancel"):
            state = self.asked(call(self.server, "value"), "n")
            done = call(self.server, "value", inputResponses={"n": {"action": action, "content": {"name": "x"}}},
                        requestState=state)
            self.assertEqual(done.text, "None")

    def test_a_question_without_a_key_keeps_its_answer_when_others_come_before_it(self):
        @self.server.tool
        def turns(ctx) -> str:
            late = ctx.elicit("late?", NAME)["name"] if ctx.round else ""
            return ctx.elicit("first?", NAME)["name"] + late

        reply, asked = call(self.server, "turns"), []
        for _ in range(2):
            (key, question), = reply.result["inputRequests"].items()
            asked.append(question["params"]["message"])
            reply = call(self.server, "turns", inputResponses={key: accept(name=asked[-1])},
                         requestState=reply.result["requestState"])
        self.assertEqual((asked, reply.text), (["first?", "late?"], "first?late?"))

    def test_a_group_of_questions_is_one_round(self):
        class Group(BaseException):
            exceptions = (InputRequired({"a": form("?", NAME)}),
                          InputRequired({"b": roots()}, request_state={"n": 1}))

        @self.server.tool
        def group(ctx) -> str:
            if ctx.request_state is None:
                raise Group()
            return str(ctx.request_state)

        state = self.asked(call(self.server, "group"), "a", "b")
        self.assertEqual(call(self.server, "group", requestState=state).text, "{'n': 1}")

    @proves("MRTR-13")
    def test_a_handler_that_needs_it_takes_a_state_once(self):
        spent = set()

        @self.server.tool
        def pay(ctx) -> str:
            if ctx.request_state is None:
                raise InputRequired({"ok": form("Pay?", NAME)}, request_state={"order": len(spent)})
            order = ctx.request_state["order"]
            if order in spent:
                raise ToolError("that order is paid")
            spent.add(order)
            return "paid"

        state = self.asked(call(self.server, "pay"), "ok")
        again = {"requestState": state, "inputResponses": {"ok": accept(name="Ada")}}
        self.assertEqual(call(self.server, "pay", **again).text, "paid")
        refused = call(self.server, "pay", **again)
        self.assertEqual((refused.result["isError"], refused.text, len(spent)), (True, "that order is paid", 1))

    def test_formats_of_a_form_are_asserted(self):
        fields = {"mail": {"type": "string", "format": "email"}, "day": {"type": "string", "format": "date"}}
        self.server.tool(name="contact")(lambda ctx: str(dict(ctx.elicit("?", fields, "c"))))
        for content, good in (({"mail": "a@b.example", "day": "2026-02-28"}, True),
                              ({"mail": "nonsense", "day": "2026-02-28"}, False),
                              ({"mail": "a@b.example", "day": "2026-02-30"}, False)):
            state = self.asked(call(self.server, "contact"), "c")
            reply = call(self.server, "contact", inputResponses={"c": accept(**content)}, requestState=state)
            self.assertEqual(reply.status, 200 if good else 400, content)

    @proves("SAMP-17", "SAMP-18")
    def test_other_answers_are_validated(self):
        self.server.tool(name="where")(lambda ctx: str(ctx.list_roots("roots")))
        self.server.tool(name="think")(lambda ctx: ctx.sample("?", 5, "s")["content"]["text"])
        for tool, key, bad in (("where", "roots", {"roots": [{}]}), ("where", "roots", {}),
                               ("think", "s", {"content": {}}), ("think", "s", {"role": "assistant"})):
            state = self.asked(call(self.server, tool), key)
            self.refused(call(self.server, tool, inputResponses={key: bad}, requestState=state))

    def test_raw_requests_and_state_of_the_handler(self):
        state = self.asked(call(self.server, "raw"), "name")
        done = call(self.server, "raw", inputResponses={"name": accept(name="Ada")}, requestState=state)
        self.assertEqual(done.text, "Ada {'seen': 0} 1")

    def test_the_handlers_state_outlasts_questions_that_are_asked_in_between(self):
        @self.server.tool
        def mixed(ctx) -> str:
            if ctx.request_state is None:
                raise InputRequired({"a": form("a?", NAME)}, request_state={"order": 7})
            names = [ctx.elicit(f"{key}?", NAME, key)["name"] for key in "bc"]
            return f"{ctx.request_state['order']} {names}"

        @self.server.tool
        def over(ctx) -> str:
            if ctx.round == 2:
                return str(ctx.request_state)
            raise InputRequired({"a": form(f"a{ctx.round}?", NAME)}, request_state=None if ctx.round else 5)

        for tool, asked, text in (("mixed", "abc", "7 ['b', 'c']"), ("over", "aa", "None")):
            params = {}
            for key in asked:
                state = self.asked(call(self.server, tool, **params), key)
                params = {"requestState": state, "inputResponses": {key: accept(name=key)}}
            self.assertEqual(call(self.server, tool, **params).text, text)

    @proves("MRTR-14")
    def test_state_alone(self):
        reply = call(self.server, "again")
        self.assertNotIn("inputRequests", reply.result)
        reply = call(self.server, "again", requestState=reply.result["requestState"])
        done = call(self.server, "again", requestState=reply.result["requestState"])
        self.assertEqual(done.text, "state 1")

    @proves("MRTR-07")
    def test_malformed_members(self):
        self.refused(call(self.server, "wizard", inputResponses=[1]))
        self.refused(call(self.server, "wizard", inputResponses="x"))
        self.refused(call(self.server, "wizard", requestState=7))

    def test_an_except_in_the_handler_does_not_swallow_the_question(self):
        @self.server.tool
        def careless(ctx) -> str:
            try:
                return str(ctx.elicit("?", NAME, "a")["name"])
            except Exception:
                went_on.append("without the answer")
                return "swallowed"

        went_on = []
        self.asked(call(self.server, "careless"), "a")
        self.assertEqual(went_on, [])

    def test_async_handlers(self):
        @self.server.tool
        async def slow(ctx) -> str:
            await asyncio.sleep(0)
            answer = ctx.elicit("?", NAME, "a")
            await asyncio.sleep(0)
            return str(answer["name"])

        state = self.asked(call(self.server, "slow"), "a")
        done = call(self.server, "slow", inputResponses={"a": accept(name="Ada")}, requestState=state)
        self.assertEqual(done.text, "Ada")

    def test_without_a_socket_by_the_stdio_ladder_too(self):
        self.assertIn("a", stdio(self.server, message("tools/call", {"name": "wizard"})).result["inputRequests"])


@proves("MRTR-09", "MRTR-28", "C032")
class State(unittest.TestCase):
    """C031, C032: what a sealed state is good for."""

    def state(self, server, **arguments):
        return call(server, "refund", {"amount": 1, **arguments}).result["requestState"]

    def answer(self, server, state, tool="refund", **arguments):
        return call(server, tool, arguments or {"amount": 1}, requestState=state,
                    inputResponses={"sure": accept(ok=True)})

    @proves("BASE-30", "MRTR-17", "C031")
    def test_two_processes_with_one_key_and_a_restart(self):
        one, two = make(state_keys=[KEY]), make(state_keys=[KEY])
        state = self.state(one)
        for server in (two, one, make(state_keys=[KEY])):
            self.assertEqual(self.answer(server, state).status, 200)

    def test_without_a_shared_key_other_processes_refuse(self):
        self.assertEqual(self.answer(make(), self.state(make())).error["code"], -32602)

    def test_rotation(self):
        state = self.state(make(state_keys=[KEY]))
        self.assertEqual(self.answer(make(state_keys=[b"n" * 32, KEY]), state).status, 200)
        self.assertEqual(self.answer(make(state_keys=[b"n" * 32]), state).error["code"], -32602)

    def test_another_call_another_tool_another_time(self):
        server = make(state_keys=[KEY], state_ttl=30)
        state = self.state(server)
        self.assertEqual(self.answer(server, state, amount=9999).error["code"], -32602)
        self.assertEqual(self.answer(server, state, "delete", amount=1).error["code"], -32602)
        server.state.state_sealer._clock = lambda: 4e9
        self.assertEqual(self.answer(server, state).error["code"], -32602)

    def test_another_server_with_the_same_key(self):
        other = Server("bank", "1", state_keys=[KEY])
        other.tool(name="refund")(lambda ctx, amount: "paid")
        self.assertEqual(self.answer(other, self.state(make(state_keys=[KEY]))).error["code"], -32602)

    def test_members_of_arguments_in_another_order(self):
        server = make()
        state = call(server, "refund", {"amount": 1, "note": "x"}).result["requestState"]
        reply = call(server, "refund", {"note": "x", "amount": 1}, requestState=state,
                     inputResponses={"sure": accept(ok=True)})
        self.assertEqual(reply.status, 200)

    @proves("MRTR-07")
    def test_hostile_states(self):
        server = make()
        state = self.state(server)
        for hostile in ("", ".", state + "-TAMPERED", state[:-1], state.replace("v1", "v2", 1), "x" * 1024 * 1024,
                        "v1.e30.", "é"):
            reply = self.answer(server, hostile)
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602), hostile[:40])

    @proves("ELIC-34")
    def test_principal(self):
        server = make()
        body = message("tools/call", {"name": "refund", "arguments": {"amount": 1}})

        def as_user(name, body):
            import json

            request = Request(lambda: json.dumps(body).encode())
            request.principal = {"sub": name}
            return json.loads(server.handle(request).body)

        state = as_user("alice", body)["result"]["requestState"]
        retry = message("tools/call", {"name": "refund", "arguments": {"amount": 1}, "requestState": state,
                                       "inputResponses": {"sure": accept(ok=True)}})
        self.assertEqual(as_user("bob", retry)["error"]["code"], -32602)
        self.assertEqual(as_user("alice", retry)["result"]["resultType"], "complete")


class Capabilities(unittest.TestCase):
    """-32021 where the client did not declare what the question needs; form and url apart."""

    QUESTIONS = [
        (form("?", NAME), {"elicitation": {"form": {}}}, [{"elicitation": {}}, {"elicitation": {"form": {}}}],
         [{}, {"elicitation": {"url": {}}}, {"sampling": {}}]),
        (link("?", "https://x.example"), {"elicitation": {"url": {}}}, [{"elicitation": {"url": {}}}],
         [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}]),
        (sampling("?", 1), {"sampling": {}}, [{"sampling": {}}], [{}, {"elicitation": {}}]),
        (sampling("?", 1, tools=[]), {"sampling": {"tools": {}}}, [{"sampling": {"tools": {}}}], [{"sampling": {}}]),
        (sampling("?", 1, toolChoice={"mode": "auto"}), {"sampling": {"tools": {}}}, [{"sampling": {"tools": {}}}],
         [{"sampling": {}}, {"sampling": {"context": {}}}]),
        (sampling("?", 1, includeContext="thisServer"), {"sampling": {"context": {}}},
         [{"sampling": {"context": {}}}], [{"sampling": {}}]),
        (sampling("?", 1, includeContext="allServers"), {"sampling": {"context": {}}},
         [{"sampling": {"context": {}}}], [{"sampling": {}}]),
        (sampling("?", 1, includeContext="none"), {"sampling": {}}, [{"sampling": {}}], [{}]),
        (roots(), {"roots": {}}, [{"roots": {}}], [{}]),
    ]

    @proves("META-11..13", "MRTR-15", "MRTR-16", "ELIC-10", "SAMP-08")
    def test_each_kind(self):
        for question, needed, declared, undeclared in self.QUESTIONS:
            server = Server("s", "1")
            server.tool(name="t")(lambda ctx, question=question: str(ctx.ask({"k": question})))
            server.tools["t"].signature.schema["properties"].clear()
            for capabilities in declared:
                reply = call(server, "t", capabilities=capabilities)
                self.assertEqual(reply.result["inputRequests"], {"k": question})
            for capabilities in undeclared:
                reply = call(server, "t", capabilities=capabilities)
                self.assertEqual((reply.status, reply.error["code"]), (400, -32021), (question, capabilities))
                self.assertEqual(reply.error["data"], {"requiredCapabilities": needed})

    @proves("MRTR-04")
    def test_only_on_the_methods_that_may_ask(self):
        server = make()
        for method in ("tools/list", "server/discover"):
            reply = post(server, message(method, {"requestState": "x", "inputResponses": {}}))
            self.assertEqual(reply.result["resultType"], "complete")

    def test_a_form_may_be_a_whole_schema_and_need_not_ask_for_all(self):
        whole = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]}
        fields = whole["properties"]
        self.assertEqual(form("?", whole)["params"]["requestedSchema"], whole)
        self.assertEqual(form("?", fields, ["b"])["params"]["requestedSchema"], whole)
        self.assertEqual(form("?", fields)["params"]["requestedSchema"]["required"], ["a", "b"])
        self.assertEqual(form("?", fields, [])["params"]["requestedSchema"]["required"], [])

    def test_a_form_that_no_client_could_check_is_the_servers_fault(self):
        for schema in ({"type": "object", "properties": []}, {"type": "object", "properties": "x"},
                       {"type": "array", "properties": {}}, {"type": "object", "properties": {}, "required": "a"},
                       {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}, None):
            server = Server("s", "1")
            question = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": schema}}
            server.tool(name="t")(lambda ctx, question=question: InputRequired({"k": question}))
            with self.assertLogs("mcp_ref", "ERROR"):
                self.assertTrue(call(server, "t").result["isError"], schema)

    @proves("BASE-40")
    def test_a_form_that_breaks_the_rules_of_forms_is_the_servers_fault(self):
        for fields in ({"x": {"type": "object"}}, {"x": {"type": "strng"}}, {"x": True}, {"x": {"type": "array"}},
                       {"x": {"type": "array", "items": {"type": "object"}}}):
            server = Server("s", "1")
            server.tool(name="t")(lambda ctx, fields=fields: str(ctx.elicit("?", fields, "k")))
            with self.assertLogs("mcp_ref", "ERROR"):
                self.assertTrue(call(server, "t").result["isError"])

    @proves("MRTR-06")
    def test_a_request_of_another_method_is_never_sent(self):
        server = Server("s", "1")
        server.tool(name="t")(lambda ctx: InputRequired({"k": {"method": "tools/call", "params": {}}}))
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertTrue(call(server, "t").result["isError"])

    def test_errors_of_the_author(self):
        server = Server("s", "1")

        @server.tool
        def fails(ctx, how: str) -> str:
            if how == "tool":
                raise ToolError("no seats left")
            raise ProtocolError(42, "sold out", {"left": 0})

        reply = call(server, "fails", {"how": "tool"})
        self.assertEqual((reply.result["isError"], reply.text), (True, "no seats left"))
        reply = call(server, "fails", {"how": "code"})
        self.assertEqual((reply.status, reply.error), (200, {"code": 42, "message": "sold out", "data": {"left": 0}}))


class Large(unittest.TestCase):
    def setUp(self):
        self.server = Server("hard", "1")

    def test_answers_too_large_to_travel_on_are_the_clients_fault(self):
        def ask(ctx) -> str:
            for key in ("a", "b"):
                ctx.elicit("?", {"t": {"type": "string"}}, key)
            return "done"
        self.server.add_prompt(ask)
        self.server.add_tool(ask)
        for method in ("prompts/get", "tools/call"):
            state = post(self.server, message(method, {"name": "ask"})).result["requestState"]
            for size, status in ((MAX_ANSWERS - 100, 200), (MAX_ANSWERS, 400)):
                answer = {"a": {"action": "accept", "content": {"t": "x" * size}}}
                reply = post(self.server, message(method, {"name": "ask", "requestState": state,
                                                           "inputResponses": answer}))
                self.assertEqual(reply.status, status, (method, size, str(reply.body)[:200]))

    def test_content_that_no_schema_was_asked_about_does_not_reach_the_handler(self):
        @self.server.tool
        def ask(ctx) -> str:
            return repr([ctx.elicit("?", {"t": {"type": "string"}}, "form").content,
                         ctx.elicit_url("?", "https://a.example/", "url").content])
        given = {"form": {"action": "decline", "content": {"t": 1}},
                 "url": {"action": "accept", "content": {"t": "slipped in"}}}
        first = call(self.server, "ask")
        second = call(self.server, "ask", inputResponses={"form": given["form"]},
                      requestState=first.result["requestState"])
        third = call(self.server, "ask", inputResponses={"url": given["url"]},
                     requestState=second.result["requestState"])
        self.assertEqual(third.text, "[{}, {}]")


if __name__ == "__main__":
    unittest.main()
