"""What a caller holds in its own hands: pages, the rounds of a request, and how long it may take."""

import json
import time
import unittest
from typing import Any, Dict, List
from unittest import mock

from mcp_ref import Client, InputRequired, Server
from mcp_ref.base.errors import InvalidParams, ProtocolError, Timeout, TransportError, UnsupportedProtocolVersion
from mcp_ref.base.meta import CLIENT_CAPABILITIES, PROGRESS_TOKEN
from mcp_ref.transports import calls
from mcp_ref.transports.calls import Deadline

from .stub_http import (
    Answer,
    ClientCase,
    Seen,
    asks,
    error,
    events,
    initialized,
    mirroring,
    older,
    question,
    raw,
    result,
    said,
    tool,
)
from .support import Clock, at_some_pace, proves

ACCEPTED = {"action": "accept", "content": {"name": "Ada"}}


class Pages(ClientCase):
    @proves("PAGE-05", "PAGE-08", "PAGE-10")
    def test_one_at_a_time_and_only_when_it_is_wanted(self) -> None:
        script = [result(prompts=[{"name": "a"}, {}], nextCursor=""), result(prompts=[], nextCursor="x y"),
                  result(prompts=[{"name": "b"}])]
        with self.talk(*script) as (stub, client):
            pages = client.pages("prompts/list")
            self.assertEqual(stub.seen, [])
            with self.assertLogs("mcp_ref"):
                self.assertEqual(next(pages)["prompts"], [{"name": "a"}])
            self.assertEqual(len(stub.seen), 1)
            self.assertEqual([page["prompts"] for page in pages], [[], [{"name": "b"}]])
            self.assertEqual([seen.params.get("cursor") for seen in stub.seen], [None, "", "x y"])
            self.assertEqual([page.get("nextCursor") for page in client.pages("prompts/list", "x y")], [None])
            self.assertEqual(stub.seen[-1].params["cursor"], "x y")

    def test_a_page_by_its_cursor(self) -> None:
        lists: Any = (("tools/list", "tools", tool("a", {})), ("prompts/list", "prompts", {"name": "a"}),
                      ("resources/list", "resources", {"uri": "x:a"}),
                      ("resources/templates/list", "resourceTemplates", {"uriTemplate": "x:{a}"}))
        for method, name, item in lists:
            with self.talk(result(**{name: [item]}, nextCursor="3"), error(-32602)) as (stub, client):
                self.assertEqual(client.page(method, "2"),
                                 {"resultType": "complete", name: [item], "nextCursor": "3"})
                self.assertEqual((stub.seen[0].message["method"], stub.seen[0].params["cursor"]), (method, "2"))
                with self.assertRaises(InvalidParams):
                    list(client.pages(method, "3"))
                self.assertEqual(len(stub.seen), 2, "the caller begins anew")
        with self.talk(result(tools=[], nextCursor=7)) as (stub, client):
            with self.assertRaisesRegex(TransportError, "nextCursor"):
                client.page("tools/list")
            with self.assertRaisesRegex(ValueError, "a list is one of tools/list, "):
                client.page("tools/call")
            self.assertEqual(len(stub.seen), 1)

    def test_tools_of_a_page_are_known(self) -> None:
        script = [result(tools=[mirroring("t", "v", "string", "V")], nextCursor="2"),
                  result(tools=[mirroring("u", "v", "string", "U"), mirroring("bad", "v", "string", "a b")]), said()]
        with self.talk(*script) as (stub, client), self.assertLogs("mcp_ref"):
            names = [[each["name"] for each in page["tools"]] for page in client.pages("tools/list")]
            self.assertEqual(names, [["t"], ["u"]])
            client.call_tool("t", {"v": "x"})
            client.call_tool("u", {"v": "y"})
            with self.assertRaisesRegex(TransportError, "cannot be called"):
                client.call_tool("bad", {})
        self.assertEqual([stub.seen[2].header("Mcp-Param-V"), stub.seen[3].header("Mcp-Param-U")], ["x", "y"])


class Rounds(ClientCase):
    @proves("MRTR-03", "MRTR-19", "MRTR-20", "MRTR-21", "MRTR-22")
    def test_the_question_is_the_callers_and_so_is_the_answer(self) -> None:
        calls_by: Any = (("call_tool", ("t", {"x": 1}), said()), ("get_prompt", ("p", {"x": "1"}), result(messages=[])),
                         ("read_resource", ("x:a",), result(contents=[])),
                         ("request", ("tools/call", {"name": "t"}), said()))
        for name, arguments, done in calls_by:
            with self.talk(asks({"who": question()}, "S\u2603 1"), done) as (stub, client):
                with self.assertRaises(InputRequired) as caught:
                    getattr(client, name)(*arguments, rounds=0)
                kept = json.dumps([caught.exception.input_requests, caught.exception.request_state])
            requests, state = json.loads(kept)
            self.assertEqual((requests, state), ({"who": question()}, "S\u2603 1"))
            stub.script = [done]
            with self.talk(done) as (other, client):  # as in another process
                getattr(client, name)(*arguments, input_responses={"who": ACCEPTED}, request_state=state, rounds=0)
            first, second = stub.seen[0].params, other.seen[0].params
            self.assertEqual((second.pop("inputResponses"), second.pop("requestState")), ({"who": ACCEPTED}, state))
            self.assertEqual(first, second)

    def test_state_alone_and_questions_alone(self) -> None:
        for given, expected in ((asks(state="S"), ({}, "S")), (asks({"a": question()}), ({"a": question()}, None))):
            with self.talk(given) as (stub, client):
                with self.assertRaises(InputRequired) as caught:
                    client.call_tool("t", rounds=0)
                self.assertEqual((caught.exception.input_requests, caught.exception.request_state), expected)
                self.assertEqual(len(stub.seen), 1)
        with self.talk(said()) as (stub, client):
            client.call_tool("t", input_responses={})
            self.assertEqual(stub.seen[0].params["inputResponses"], {})
            self.assertNotIn("requestState", stub.seen[0].params)

    def test_callbacks_answer_so_many(self) -> None:
        script = [asks({"a": question()}, "1"), asks({"b": question()}, "2"), asks({"c": question()}, "3")]
        with self.talk(*script, on_elicit=lambda _: {"name": "x"}) as (stub, client):
            with self.assertRaises(InputRequired) as caught:
                client.call_tool("t", rounds=2)
            self.assertEqual((list(caught.exception.input_requests), len(stub.seen)), (["c"], 3))
            for wrong in (-1, True, 1.0, "1"):
                with self.assertRaisesRegex(ValueError, "rounds is a number"):
                    client.call_tool("t", rounds=wrong)  # type: ignore[arg-type]
            self.assertEqual(len(stub.seen), 3)

    def test_what_is_malformed_is_told_as_ever(self) -> None:
        requests: List[Any] = [7, {"a": 7}, {"a": {"method": 7}}, {"a": {"method": "elicitation/create", "params": 7}},
                               {"a": {"method": "tools/call"}}]
        for bad in requests:
            with self.talk(asks(bad, "S")) as (_, client), self.assertRaises(TransportError):
                client.call_tool("t", rounds=0)
        for script in (asks(), result(resultType="input_required", requestState=7)):
            with self.talk(script) as (_, client), self.assertRaises(TransportError):
                client.call_tool("t", rounds=0)

    def test_with_a_server_of_ours(self) -> None:
        server = Server("s", "1", state_keys=["x" * 32])

        @server.tool
        def greet(ctx: Any) -> str:
            return f"hello {ctx.elicit('Who?', {'name': {'type': 'string'}}, 'who')['name']}"

        meta: Dict[str, Any] = {CLIENT_CAPABILITIES: {"elicitation": {"form": {}}}}
        with self.assertRaises(InputRequired) as caught:
            Client(server).call_tool("greet", {}, rounds=0, meta=meta)
        kept = json.dumps({"questions": caught.exception.input_requests, "state": caught.exception.request_state})
        state = json.loads(kept)["state"]
        done = Client(server).call_tool("greet", {}, meta=meta, input_responses={"who": ACCEPTED}, request_state=state)
        self.assertEqual(done["content"][0]["text"], "hello Ada")
        with self.assertRaises(ProtocolError):
            Client(server).call_tool("greet", {}, meta=meta, input_responses={"who": ACCEPTED}, request_state="forged")

    def test_an_older_server_asks_in_another_way(self) -> None:
        options: Any = ({"rounds": 0}, {"rounds": 3}, {"input_responses": {}}, {"request_state": "S"})
        with self.talk(older({"tools/call": said()}), era="auto") as (stub, client):
            for given in options:
                with self.assertRaisesRegex(UnsupportedProtocolVersion, "by hand need 2026-07-28") as caught:
                    client.call_tool("t", **given)
                self.assertEqual(caught.exception.data["supported"], ["2025-11-25"])
            client.call_tool("t")
        asked = [seen.message.get("method") for seen in stub.seen if seen.method == "POST"]
        self.assertEqual([asked.count("initialize"), asked.count("tools/call")], [1, 1], "the session is what it was")


class Renewed(ClientCase):
    """A timeout that progress renews, and the maximum that nothing does."""

    def steps(self, count: int, seconds: float, token: Any = None) -> Any:
        def answer(seen: Seen) -> Answer:
            def body() -> Any:
                for number in range(count):
                    time.sleep(seconds)
                    told = {"progressToken": token or seen.params["_meta"][PROGRESS_TOKEN], "progress": number + 1}
                    yield from events({"jsonrpc": "2.0", "method": "notifications/progress",
                                       "params": told})(seen).body  # type: ignore[misc]
                yield from events(last=said())(seen).body  # type: ignore[misc]
            return Answer(200, body(), {"Content-Type": "text/event-stream"})
        return answer

    @proves("CANC-10", "CANC-11")
    def test_progress_renews_it(self) -> None:
        def attempt(pace: float) -> None:
            with self.talk(self.steps(4, pace)) as (_, client):
                client.call_tool("t", timeout=2.5 * pace, max_timeout=100 * pace)
            with self.talk(self.steps(4, pace), timeout=2.5 * pace, max_timeout=100 * pace) as (_, client):
                client.call_tool("t", on_progress=lambda *_: None)

        at_some_pace(attempt, 0.1)

    @proves("CANC-06", "CANC-11")
    def test_without_a_maximum_it_is_the_whole_time(self) -> None:
        with self.talk(self.steps(100, 0.05)) as (stub, client):
            with self.assertRaisesRegex(Timeout, "no answer within 0.3 s$"):
                client.call_tool("t", timeout=0.3, on_progress=lambda *_: None)

    @proves("CANC-11")
    def test_the_maximum_holds_whatever_the_progress(self) -> None:
        with self.talk(self.steps(400, 0.02)) as (_, client):
            begin = time.monotonic()
            with self.assertRaisesRegex(Timeout, "within 0.6 s, whatever its progress"):
                client.call_tool("t", timeout=0.3, max_timeout=0.6)
            self.assertLess(time.monotonic() - begin, 5)
            with self.assertRaisesRegex(Timeout, "within 0.2 s"):
                client.call_tool("t", timeout=30, max_timeout=0.2)

    def test_progress_of_another_request_renews_nothing(self) -> None:
        with self.talk(self.steps(400, 0.02, token="other")) as (_, client):
            with self.assertRaisesRegex(Timeout, "within 0.3 s, nor progress"):
                client.call_tool("t", timeout=0.3, max_timeout=60)

    def test_a_token_is_sent_where_it_is_of_use(self) -> None:
        with self.talk(said()) as (stub, client):
            client.call_tool("t")
            client.call_tool("t", max_timeout=5)
            client.call_tool("t", max_timeout=5, meta={PROGRESS_TOKEN: "mine"})
        self.assertEqual([seen.params["_meta"].get(PROGRESS_TOKEN) for seen in stub.seen], [None, 1, "mine"])

    def test_what_cannot_be_used(self) -> None:
        with self.talk(said()) as (stub, client):
            for wrong in (0, -1, True, "5"):
                with self.assertRaises(ValueError):
                    client.call_tool("t", max_timeout=wrong)  # type: ignore[arg-type]
                with self.assertRaises(ValueError):
                    Client(stub.url, max_timeout=wrong)  # type: ignore[arg-type]
            self.assertEqual(stub.seen, [])

    def test_the_clock(self) -> None:
        clock = Clock()
        with mock.patch.object(calls, "time", clock):
            deadline = Deadline(10, None, 25)
            clock.ahead = 9
            deadline.renew()
            self.assertAlmostEqual(deadline.left(), 10, delta=1)
            clock.ahead = 18
            deadline.renew()
            self.assertAlmostEqual(deadline.left(), 7, delta=1)
            with deadline.on_hold():
                clock.ahead = 1000
            self.assertAlmostEqual(deadline.left(), 7, delta=1)
            deadline.renew()
            self.assertAlmostEqual(deadline.left(), 7, delta=1)
            plain = Deadline(10)
            clock.ahead += 9
            plain.renew()
            self.assertAlmostEqual(plain.left(), 1, delta=1)

    def test_an_older_server_has_progress_too(self) -> None:
        def attempt(pace: float) -> None:
            answers: Any = {"tools/call": self.steps(4, pace), "initialize": initialized(),
                            "GET": raw(405, b"", None)}
            with self.talk(older(answers), era="auto") as (_, client):
                client.discover()
                client.call_tool("t", timeout=2.5 * pace, max_timeout=100 * pace)

        at_some_pace(attempt, 0.1)



if __name__ == "__main__":
    unittest.main()
