"""What a client puts on the wire, whatever it is called with: messages, metadata, the headers that mirror them."""

import base64
import io
import json
import socket
import threading
import unittest
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Tuple
from unittest import mock

from mcp_ref import CallHandle, Client, HTTPError, ProtocolError, ResourceNotFound, TransportError
from mcp_ref.base.errors import InvalidParams, received
from mcp_ref.base.meta import CLIENT_CAPABILITIES, PROGRESS_TOKEN, PROTOCOL_VERSION
from mcp_ref.cli.terminal import terminal
from mcp_ref.client.elicitation import accept, cancel, decline

from .stub_http import (
    Answer,
    ClientCase,
    Scripted,
    Seen,
    asks,
    error,
    events,
    message,
    question,
    raw,
    result,
    said,
    tool,
)
from .support import proves

PAGE = result(tools=[], resources=[], resourceTemplates=[], prompts=[], contents=[], messages=[], content=[],
              completion={"values": []}, supportedVersions=["2026-07-28"])
USES: Dict[str, Callable[[Client], Any]] = {
    "server/discover": lambda client: client.discover(), "tools/list": lambda client: client.list_tools(),
    "resources/list": lambda client: client.list_resources(),
    "resources/templates/list": lambda client: client.list_resource_templates(),
    "prompts/list": lambda client: client.list_prompts(), "tools/call": lambda client: client.call_tool("t", {"a": 1}),
    "resources/read": lambda client: client.read_resource("demo://a"),
    "prompts/get": lambda client: client.get_prompt("p", {"a": "b"}),
    "completion/complete": lambda client: client.complete({"type": "ref/prompt", "name": "p"}, "a", ""),
    "com.example/any": lambda client: client.request("com.example/any"),
    "subscriptions/listen": lambda client: client.listen(tools=True).close()}
LISTS = {"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
         "prompts/list": "prompts"}
OPTIONS: Dict[str, Any] = {"on_elicit": lambda params: accept({"name": "x"}), "on_list_roots": list,
                           "on_sample": lambda params: {}, "sample_tools": True}
DECLARED = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}


def anything(seen: Seen) -> Answer:
    """A result that is good for any method; of a subscription its acknowledgment."""
    if seen.message["method"] != "subscriptions/listen":
        return PAGE(seen)
    return events({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
        "notifications": {}, "_meta": {"io.modelcontextprotocol/subscriptionId": seen.message["id"]}}})(seen)


class Every(ClientCase):
    """Each method, each page of a list and each retry of a round."""

    def messages(self) -> List[Seen]:
        found: List[Seen] = []
        for method, use in USES.items():
            with self.talk(anything, **OPTIONS) as (stub, client):
                use(client)
                self.assertEqual([seen.message["method"] for seen in stub.seen], [method])
                found += stub.seen
        for method, name in LISTS.items():
            with self.talk(result(**{name: []}, nextCursor="2"), result(**{name: []}), **OPTIONS) as (stub, client):
                USES[method](client)
                self.assertEqual(len(stub.seen), 2)
                found += stub.seen
        for method in ("tools/call", "resources/read", "prompts/get"):
            with self.talk(asks({"a": question()}, "S"), PAGE, **OPTIONS) as (stub, client):
                USES[method](client)
                self.assertEqual(len(stub.seen), 2)
                found += stub.seen
        listed = result(tools=[tool("t", {"a": {"type": "integer", "x-mcp-header": "A"}})])
        with self.talk(error(-32020), listed, said(), **OPTIONS) as (stub, client):
            client.call_tool("t", {"a": 1})
            found += stub.seen
        return found

    @proves("BASE-02", "BASE-04", "META-06", "META-07", "MRTR-02", "PROMPT-01", "RES-01", "TOOL-01", "COMP-01",
            "PAGE-01", "ELIC-08", "ROOT-03", "SAMP-07", "SAMP-09", "HTTP-06..10", "HTTP-23", "HTTP-24", "HTTP-29")
    def test_message(self) -> None:
        for seen in self.messages():
            sent, method = seen.message, seen.message["method"]
            with self.subTest(method):
                self.assertEqual((seen.method, sent["jsonrpc"], type(sent["id"])), ("POST", "2.0", int))
                self.assertLessEqual(set(sent), {"jsonrpc", "id", "method", "params"})
                self.assertEqual(sent["params"]["_meta"][PROTOCOL_VERSION], "2026-07-28")
                self.assertEqual(sent["params"]["_meta"][CLIENT_CAPABILITIES], DECLARED)
                self.assertEqual(seen.header("MCP-Protocol-Version"), "2026-07-28")
                self.assertEqual(seen.header("Mcp-Method"), method)
                self.assertEqual(seen.header("Accept"), "application/json, text/event-stream")
                self.assertEqual(seen.header("Content-Type"), "application/json")

    @proves("HTTP-30..32", "HTTP-57")
    def test_the_name_is_mirrored_where_there_is_one(self) -> None:
        for seen in self.messages():
            params = seen.params
            name = params.get({"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(
                seen.message["method"], ""))
            self.assertEqual(seen.header("Mcp-Name"), name)
        for name in ("größe", " a", "a ", "a\tb\x7f", "a\nb", "=?base64?eA==?=", "\u2028", "a" * 3000):
            coded = "=?base64?" + base64.b64encode(name.encode()).decode() + "?="
            with self.talk(PAGE) as (stub, client):
                client.call_tool(name)
                client.get_prompt(name)
                client.read_resource(name)
            for seen in stub.seen:
                self.assertEqual(seen.header("Mcp-Name"), name if name == "a" * 3000 else coded)

    @proves("BASE-05")
    def test_no_two_requests_have_one_id(self) -> None:
        together = threading.Barrier(8)

        def answer(seen: Seen) -> Answer:
            together.wait(20)  # all of them are unanswered now
            return PAGE(seen)

        with self.talk(answer) as (stub, client):
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda use: use(client), [USES["tools/call"], USES["tools/list"]] * 4))
        self.assertEqual(len({seen.message["id"] for seen in stub.seen}), 8)

    @proves("HTTP-06", "HTTP-11", "BASE-24")
    def test_what_a_server_asks_on_a_stream_is_not_answered(self) -> None:
        asked = [{"jsonrpc": "2.0", "id": id, "method": method, "params": {}} for id, method in (
            (1, "sampling/createMessage"), ("a", "roots/list"), (2, "ping"), (3, "elicitation/create"))]
        told = [{"jsonrpc": "2.0", "method": "notifications/com.example"}]
        with self.talk(events(*asked, *told, last=PAGE), PAGE, **OPTIONS) as (stub, client):
            client.call_tool("t")
            client.list_tools()
        self.assertEqual([seen.message.get("method") for seen in stub.seen], ["tools/call", "tools/list"])

    @proves("HTTP-15")
    def test_both_content_types_are_read(self) -> None:
        for name, use in USES.items():
            if name != "subscriptions/listen":
                with self.talk(PAGE, events(last=PAGE)) as (_, client):
                    self.assertEqual(use(client), use(client))


class Codes(ClientCase):
    @proves("BASE-17")
    def test_none_but_one_of_the_older_range_means_anything(self) -> None:
        for code in range(-32019, -31999):
            self.assertIs(type(received({"code": code, "message": "x"})), ProtocolError, code)
            with self.talk(error(code, "no such thing", status=400)) as (stub, client):
                for use in USES.values():
                    with self.assertRaises(ProtocolError) as caught:
                        use(client)
                    known = code == -32002 and stub.seen[-1].message["method"] == "resources/read"
                    self.assertIs(type(caught.exception), ResourceNotFound if known else ProtocolError)
                    self.assertEqual((caught.exception.code, caught.exception.message, caught.exception.note),
                                     (code, "no such thing", ""))
                self.assertEqual(len(stub.seen), len(USES), "each was sent once")
        notes = set()
        for code in range(-32019, -31999):
            made = self.refused(error(code, "Server not initialized", status=400), ProtocolError)
            notes.add(made.note)
        self.assertEqual(len(notes), 1, "what is shown is shown by the words")

    @proves("BASE-10", "BASE-11")
    def test_result_types(self) -> None:
        for unknown in ("tasks/x", "Complete", "", "input_required ", 7, None, True, [], {}):
            for use in USES.values():
                with self.talk(result(resultType=unknown, content=[], tools=[], contents=[])) as (_, client):
                    self.assertRaises(TransportError, use, client)
        everything = {"tools": [], "resources": [], "resourceTemplates": [], "prompts": [], "contents": [],
                      "messages": [], "content": [], "completion": {"values": []}, "supportedVersions": []}
        for name, use in USES.items():
            if name != "subscriptions/listen":
                with self.talk(message({"result": everything})) as (_, client):
                    self.assertIsNotNone(use(client))


class Parameters(ClientCase):
    NESTED = {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"},
                                               "deep": {"type": "object", "properties": {
                                                   "n": {"type": "integer", "x-mcp-header": "Deep-N"}}}}}
    TOOL = tool("t", {"s": {"type": "string", "x-mcp-header": "S"}, "n": {"type": "integer", "x-mcp-header": "N"},
                      "b": {"type": "boolean", "x-mcp-header": "B"}, "at": NESTED, "plain": {"type": "string"}})

    def mirrored(self, arguments: Any) -> Dict[str, str]:
        with self.talk(result(tools=[self.TOOL]), said()) as (stub, client):
            client.list_tools()
            client.call_tool("t", arguments)
        seen = stub.seen[-1]
        self.assertEqual(seen.params.get("arguments"), arguments, "the body is as it was given")
        self.assertEqual((seen.header("Mcp-Method"), seen.header("Mcp-Name")), ("tools/call", "t"))
        return {name: value for name, value in seen.fields if name.lower().startswith("mcp-param-")}

    @proves("HTTP-33", "HTTP-34", "HTTP-46..51", "HTTP-55..60", "HTTP-67", "C016")
    def test_each_kind_of_value(self) -> None:
        cases: List[Tuple[Any, Dict[str, str]]] = [
            ({"s": "eu-1"}, {"S": "eu-1"}), ({"s": "a b\tc"}, {"S": "a b\tc"}), ({"s": "true"}, {"S": "true"}),
            ({"n": 42}, {"N": "42"}), ({"n": -7}, {"N": "-7"}), ({"n": 0}, {"N": "0"}), ({"n": 2.0}, {"N": "2"}),
            ({"n": 2**53 - 1}, {"N": "9007199254740991"}),
            ({"b": True}, {"B": "true"}), ({"b": False}, {"B": "false"}),
            ({"s": "größe"}, {"S": "=?base64?Z3LDtsOfZQ==?="}), ({"s": " x"}, {"S": "=?base64?IHg=?="}),
            ({"s": "x\t"}, {"S": "=?base64?eAk=?="}), ({"s": "\x00"}, {"S": "=?base64?AA==?="}),
            ({"s": "\x7f"}, {"S": "=?base64?fw==?="}), ({"s": "\r\nEvil: 1"}, {"S": "=?base64?DQpFdmlsOiAx?="}),
            ({"s": "\U0001f600"}, {"S": "=?base64?8J+YgA==?="}),
            ({"s": "=?base64?eA==?="}, {"S": "=?base64?PT9iYXNlNjQ/ZUE9PT89?="}),
            ({"s": "=?BASE64?eA==?="}, {"S": "=?BASE64?eA==?="}),
            ({"at": {"zone": "z", "deep": {"n": 3}}}, {"Zone": "z", "Deep-N": "3"}),
            ({"s": "a", "n": 1, "b": True, "at": {"zone": "z"}, "plain": "p"},
             {"S": "a", "N": "1", "B": "true", "Zone": "z"})]
        for arguments, expected in cases:
            with self.subTest(arguments):
                self.assertEqual(self.mirrored(arguments), {f"Mcp-Param-{name}": value
                                                           for name, value in expected.items()})

    @proves("HTTP-58", "HTTP-69", "HTTP-71")
    def test_no_value_no_header(self) -> None:
        nothing: Any = ({}, {"s": None, "n": None, "b": None}, {"at": None}, {"at": {}}, {"at": {"deep": None}},
                        {"at": {"deep": {}, "zone": None}}, {"at": "zone"}, {"at": [{"zone": "z"}]}, {"zone": "z"},
                        {"at.zone": "z"}, {"deep": {"n": 1}}, {"plain": "p"}, {"S": "x"})
        for arguments in nothing:
            with self.subTest(arguments):
                self.assertEqual(self.mirrored(arguments), {})

    @proves("HTTP-43", "HTTP-44", "TOOL-29", "TOOL-30")
    def test_a_tool_that_breaks_a_rule_is_left_out(self) -> None:
        broken: List[Any] = [
            *({"v": {"type": "string", "x-mcp-header": name}} for name in ("", "a b", "a:b", "ä", "a\n", 7, None, [])),
            *({"v": {"type": kind, "x-mcp-header": "V"}} for kind in ("number", "object", "array", "null", None,
                                                                      ["string", "null"])),
            {"v": {"x-mcp-header": "V"}},
            {"v": {"type": "string", "x-mcp-header": "V"}, "w": {"type": "string", "x-mcp-header": "v"}},
            {"v": {"type": "array", "items": {"type": "string", "x-mcp-header": "V"}}},
            {"v": {"anyOf": [{"type": "string", "x-mcp-header": "V"}]}},
            {"v": {"type": "object", "additionalProperties": {"type": "string", "x-mcp-header": "V"}}}]
        names = [f"t{number}" for number in range(len(broken))]
        listed = [tool("good", {}), *(tool(name, each) for name, each in zip(names, broken)), self.TOOL]
        with self.talk(result(tools=listed)) as (stub, client), self.assertLogs("mcp_ref", "WARNING") as logged:
            self.assertEqual([each["name"] for each in client.list_tools()], ["good", "t"])
            for name in names:
                self.assertRaisesRegex(TransportError, "x-mcp-header", client.call_tool, name, {"v": "x"})
            self.assertEqual((len(stub.seen), len(logged.records)), (1, len(broken)))


STATES = ("", " ", "S", "not base64!", '{"step": 1}', "v1.abc.def", "\u2028\x00\U0001f600", "a" * 100_000, "null")


class Rounds(ClientCase):
    @proves("MRTR-03", "MRTR-18..20", "MRTR-22", "TOOL-11")
    def test_the_state_is_sent_back_as_it_came(self) -> None:
        for state in STATES:
            for method in ("tools/call", "resources/read", "prompts/get"):
                with self.talk(asks({"a": question(), "b": question()}, state), PAGE, **OPTIONS) as (stub, client):
                    USES[method](client)
                first, retry = stub.seen
                self.assertEqual(retry.params["requestState"], state)
                answer = {"action": "accept", "content": {"name": "x"}}
                self.assertEqual(retry.params["inputResponses"], {"a": answer, "b": answer})
                self.assertNotEqual(retry.message["id"], first.message["id"])

    @proves("MRTR-21")
    def test_without_a_state_there_is_none(self) -> None:
        for more in ({}, {"requestState": None}):
            script = result(resultType="input_required", inputRequests={"a": question()}, **more)
            with self.talk(asks({"a": question()}, "old"), script, PAGE, **OPTIONS) as (stub, client):
                client.call_tool("t")
            self.assertEqual([seen.params.get("requestState", 0) for seen in stub.seen], [0, "old", 0])

    @proves("MRTR-23", "BASE-30")
    def test_a_round_belongs_to_its_own_request(self) -> None:
        together = threading.Barrier(6)

        def answer(seen: Seen) -> Answer:
            name = seen.params["name"]
            if name == "other" or "requestState" in seen.params:
                return said(name)(seen)
            together.wait(20)  # every one of them has a round open now
            return asks({name: question()}, name)(seen)

        with self.talk(answer, **OPTIONS) as (stub, client):
            def call(name: str) -> None:
                client.call_tool(name)
                client.call_tool("other")

            with ThreadPoolExecutor(6) as pool:
                list(pool.map(call, "abcdef"))
        retries = [seen.params for seen in stub.seen if "requestState" in seen.params]
        self.assertEqual(sorted(each["name"] for each in retries), list("abcdef"))
        for each in retries:
            self.assertEqual((each["requestState"], list(each["inputResponses"])), (each["name"], [each["name"]]))
        for seen in stub.seen:
            if seen.params["name"] == "other":
                self.assertFalse({"requestState", "inputResponses"} & set(seen.params))

    @proves("SAMP-07", "SAMP-15", "SAMP-16")
    def test_tools_are_for_a_model_of_a_client_that_declares_them(self) -> None:
        hi = {"role": "user", "content": {"type": "text", "text": "hi"}}
        use = {"role": "assistant", "model": "m", "content": {"type": "tool_use", "id": "1", "name": "n", "input": {}}}
        offered: Dict[str, Any] = {"messages": [hi], "maxTokens": 9, "tools": [{"name": "n", "inputSchema": {}}]}
        for more in ({}, {"toolChoice": {"mode": "required"}}):
            asked = asks({"s": {"method": "sampling/createMessage", "params": {**offered, **more}}})
            given: List[Any] = []
            with self.talk(asked, said(), on_sample=lambda it: given.append(it) or use,  # type: ignore[func-returns-value]
                           sample_tools=True) as (stub, client):
                client.call_tool("t")
            self.assertEqual((stub.seen[1].params["inputResponses"], given), ({"s": use}, [{**offered, **more}]))
            self.refused(asked, TransportError, "declared no capability", on_sample=lambda _: self.fail("not asked"))
        for params in ({**offered, "toolChoice": {"mode": "none"}}, {"messages": [hi], "maxTokens": 9}):
            self.refused(asks({"s": {"method": "sampling/createMessage", "params": params}}), InvalidParams, "not sent",
                         on_sample=lambda _: use, sample_tools=True)

    @proves("SAMP-20")
    def test_the_model_is_told_how_much_it_may_say(self) -> None:
        given: List[Any] = []
        answer = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
        for most in (1, 100, 2**40):
            asked = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": most}}
            with self.talk(asks({"s": asked}), said(),
                           on_sample=lambda params: given.append(params) or answer) as (_, client):  # type: ignore
                client.call_tool("t")
            self.assertEqual(given.pop(), asked["params"])

    @proves("ELIC-09", "ELIC-13")
    def test_a_form_is_one_that_names_no_mode(self) -> None:
        form = question()
        del form["params"]["mode"]
        for modes in (("form",), ("form", "url")):
            with self.talk(asks({"a": form}), said(), on_elicit=OPTIONS["on_elicit"], elicit_modes=modes) as (
                    stub, client):
                client.call_tool("t")
            self.assertEqual(stub.seen[1].params["inputResponses"]["a"]["content"], {"name": "x"})
            self.assertEqual(stub.seen[0].params["_meta"][CLIENT_CAPABILITIES]["elicitation"], dict.fromkeys(modes, {}))
        self.refused(asks({"a": form}), TransportError, "form", on_elicit=lambda _: self.fail("nobody is asked"),
                     elicit_modes=("url",))
        wrong: Any = ((), ("telepathy",), ("form", "x"), ("",))
        for modes in wrong:
            with self.assertRaisesRegex(ValueError, "form, url or both"):
                Client("http://127.0.0.1/", on_elicit=lambda _: None, elicit_modes=modes)

    @proves("ELIC-44", "ELIC-45")
    def test_a_url_is_neither_fetched_nor_opened(self) -> None:
        """Neither before the user has said anything nor after, whatever that was: to open it is the user's own act."""
        with self.talk(said()) as (stub, client):
            place = stub.url.replace("/mcp", "/consent")
            link = {"mode": "url", "message": "m", "url": place}
            asked = asks({"u": {"method": "elicitation/create", "params": link}})
            looking: Any = [lambda params: each for each in (accept(), decline(), cancel())]
            for line in ("yes\n\n", "no\n", ""):
                looking.append(lambda params, line=line: terminal(params, "s", io.StringIO(line), io.StringIO()))
            with mock.patch.object(webbrowser, "open") as opened, mock.patch.object(webbrowser, "get") as browser:
                for on_elicit in looking:
                    stub.script[:] = [asked, said()]
                    with Client(stub.url, era="modern", on_elicit=on_elicit) as other:
                        other.call_tool("t")
                with mock.patch.object(socket, "socket", side_effect=AssertionError("nothing is connected to")):
                    for on_elicit in looking:
                        on_elicit(link)
                opened.assert_not_called()
                browser.assert_not_called()
            self.assertEqual({(seen.method, seen.path) for seen in stub.seen}, {("POST", "/mcp")})
            self.assertEqual(len(stub.seen), 2 * len(looking))


class Progress(ClientCase):
    @proves("PROG-01")
    def test_a_token_is_a_text_or_an_integer(self) -> None:
        for use in (lambda client, **more: client.call_tool("t", **more),
                    lambda client, **more: client.list_tools(**more)):
            wrong: List[Any] = [1.5, True, None, [1], {"a": 1}, 1.0]
            for token in wrong:
                with self.talk(PAGE) as (stub, client):
                    for more in ({}, {"on_progress": lambda *_: None}):
                        with self.assertRaisesRegex(ValueError, "a text or an integer"):
                            use(client, meta={PROGRESS_TOKEN: token}, **more)
                    self.assertEqual(stub.seen, [])
            good: List[Any] = ["a", "", 0, -1, 2**60]
            for token in good:
                with self.talk(PAGE) as (stub, client):
                    use(client, meta={PROGRESS_TOKEN: token})
                    use(client, meta={PROGRESS_TOKEN: token})
                self.assertEqual([seen.params["_meta"][PROGRESS_TOKEN] for seen in stub.seen], [token] * 2)

    @proves("PROG-02")
    def test_no_two_requests_under_way_have_one(self) -> None:
        arrived, go_on = threading.Semaphore(0), threading.Event()

        def answer(seen: Seen) -> Answer:
            arrived.release()
            go_on.wait(30)
            return said()(seen)

        tokens: List[Any] = [1, 2, "1", None, None, None]
        with self.talk(answer, on_progress=lambda *_: None) as (stub, client), ThreadPoolExecutor(8) as pool:
            calls = []
            for token in tokens:
                calls.append(pool.submit(client.call_tool, "t", meta={} if token is None else {PROGRESS_TOKEN: token}))
                self.assertTrue(arrived.acquire(timeout=20))
            for taken in (1, 2, "1"):
                with self.assertRaisesRegex(ValueError, "another request under way"):
                    client.call_tool("t", meta={PROGRESS_TOKEN: taken})
            go_on.set()
            for call in calls:
                call.result(20)
            client.call_tool("t", meta={PROGRESS_TOKEN: 1})
        made = [seen.params["_meta"][PROGRESS_TOKEN] for seen in stub.seen]
        self.assertEqual((len({(type(each), each) for each in made[:-1]}), made[-1]), (len(tokens), 1))

    def test_a_token_is_free_again_after_a_failure(self) -> None:
        with self.talk(error(-32603), said()) as (stub, client):
            with self.assertRaises(ProtocolError):
                client.call_tool("t", meta={PROGRESS_TOKEN: "a"})
            client.call_tool("t", meta={PROGRESS_TOKEN: "a"})
            self.assertEqual(len(stub.seen), 2)


class Polling(ClientCase):
    @proves("CACHE-16")
    def test_nothing_is_fetched_that_nobody_asked_for(self) -> None:
        """A client that never polls needs no jitter: what is stale is stale until somebody asks."""
        with self.talk(result(tools=[], prompts=[], ttlMs=1), error(-32603, status=500)) as (stub, client):
            client.list_tools()
            self.assertRaises(ProtocolError, client.list_prompts)
            self.assertFalse(stub.stopping.wait(0.1), "a hundred times as long as the list was fresh")
            self.assertEqual(len(stub.seen), 2)


class Sessions(ClientCase):
    @proves("C070")
    def test_what_a_modern_server_says_of_sessions_and_events_is_not_repeated(self) -> None:
        def answer(seen: Seen) -> Answer:
            made = (events(b"id: 7\nretry: 1\n", last=PAGE) if len(stub.seen) % 2 else PAGE)(seen)
            return made._replace(fields={**made.fields, "Mcp-Session-Id": "s1", "Set-Cookie": "a=b"})

        with self.talk(answer) as (stub, client):
            for _ in range(2):
                for name in ("tools/list", "tools/call", "resources/read"):
                    USES[name](client)
        self.assertEqual([seen.method for seen in stub.seen], ["POST"] * 6)
        for seen in stub.seen:
            for name in ("Mcp-Session-Id", "Last-Event-ID", "Cookie"):
                self.assertIsNone(seen.header(name))


class Text(ClientCase):
    TEXT = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\r\n\x1e\ufeff"

    @proves("C039")
    def test_only_line_feeds_and_returns_end_lines(self) -> None:
        """What others take for the end of a line is text, in an event, in a plain answer, and on the way out."""
        whole = json.dumps({"resultType": "complete", "content": [{"type": "text", "text": self.TEXT}]},
                           ensure_ascii=False)
        for prefix, end, kind in ((b"", b"", "application/json"), (b"data: ", b"\n\n", "text/event-stream"),
                                  (b"data: ", b"\r\n\r\n", "text/event-stream"),
                                  (b"data:", b"\r\r", "text/event-stream")):
            def answer(seen: Seen, prefix: bytes = prefix, end: bytes = end, kind: str = kind) -> Answer:
                body = f'{{"jsonrpc":"2.0","id":{seen.message["id"]},"result":{whole}}}'.encode()
                return raw(200, prefix + body + end, kind)(seen)

            with self.talk(answer) as (stub, client):
                self.assertEqual(client.call_tool("t", {"v": self.TEXT})["content"][0]["text"], self.TEXT)
            self.assertEqual(stub.seen[0].params["arguments"], {"v": self.TEXT})

    def of_kind(self, kind: str) -> Scripted:
        return lambda seen: raw(200, PAGE(seen).body, kind)(seen)

    @proves("C088")
    def test_media_types_have_neither_case_nor_parameters(self) -> None:
        for kind in ("application/json", "application/json;charset=UTF-8", "APPLICATION/JSON ; a=b"):
            with self.talk(self.of_kind(kind)) as (_, client):
                self.assertEqual(client.list_tools(), [])
        for kind in ("text/event-stream", "Text/Event-Stream; charset=utf-8", "TEXT/EVENT-STREAM ;a=b"):
            with self.talk(events(last=PAGE, kind=kind)) as (_, client):
                self.assertEqual(client.list_tools(), [])
        for kind in ("application/jsonp", "text/json", "text/event-streams", "text/html", ""):
            with self.talk(self.of_kind(kind)) as (_, client):
                with self.assertRaisesRegex(HTTPError, "answered with"):
                    client.list_tools()


class Cancelling(ClientCase):
    def test_over_http_nothing_is_sent_for_it(self) -> None:
        handle, begun = CallHandle(), threading.Event()

        def slow(seen: Seen) -> Answer:
            begun.set()
            return raw(200, stub.drip(b" "))(seen)

        with self.talk(slow) as (stub, client), ThreadPoolExecutor(1) as pool:
            call = pool.submit(client.call_tool, "t", handle=handle)
            self.assertTrue(begun.wait(20))
            handle.cancel()
            self.assertIsNotNone(call.exception(20))
            self.assertEqual(len(stub.seen), 1)


class Whole(unittest.TestCase):
    def test_every_way_to_ask_is_here(self) -> None:
        """A method of Client that asks a server is among those whose messages are looked at."""
        ours = {name for name in dir(Client) if name.startswith(("list_", "call_", "read_", "get_"))} | {
            "discover", "complete", "listen", "request"}
        self.assertEqual(len(USES), len(ours), json.dumps(sorted(ours)))


if __name__ == "__main__":
    unittest.main()
