"""basic/lifecycle and basic/transports of 2025-11-25, the client's side: a session over Streamable HTTP."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
import unittest
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple
from unittest import mock

from mcp_ref import CallHandle, Client
from mcp_ref.base.errors import (
    BrokenOff,
    CallCancelled,
    HTTPError,
    InvalidParams,
    McpError,
    MethodNotFound,
    ProtocolError,
    ResourceNotFound,
    Timeout,
    TransportError,
)
from mcp_ref.legacy import client as legacy_client
from mcp_ref.legacy import ways
from mcp_ref.transports import calls
from tests.stub_http import (
    Answer,
    ClientCase,
    Scripted,
    Seen,
    Stream,
    Stub,
    asked,
    error,
    events,
    initialized,
    message,
    older,
    raw,
    said,
)
from tests.support import Clock, at_some_pace, proves, until

FORM = {"type": "object", "properties": {"name": {"type": "string", "default": "Ada"}}}
ELICIT: Dict[str, Any] = {"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create",
                          "params": {"message": "Who?", "requestedSchema": FORM}}
LISTED = {"tools/list": message({"result": {"tools": []}}), "tools/call": message(
    {"result": {"content": [{"type": "text", "text": "ok"}]}})}


def note(method: str, **params: Any) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


class LegacyCase(ClientCase):
    @contextlib.contextmanager
    def session(self, answers: Optional[Dict[str, Scripted]] = None, **options: Any) -> Iterator[Tuple[Stub, Client]]:
        """A server with a session `s1`, whose answers go by what is asked, and a client of the older eras."""
        known = {"initialize": initialized(session="s1"), **LISTED, **(answers or {})}
        with self.talk(older(known), era="legacy", **options) as talk:
            yield talk

    def of(self, stub: Stub, what: str) -> List[Seen]:
        return [seen for seen in list(stub.seen) if asked(seen) == what]


class Opening(LegacyCase):
    @proves("C075")
    def test_nothing_of_the_new_era_is_in_the_handshake(self) -> None:
        strict: List[str] = []

        def answer(seen: Seen) -> Answer:
            params = seen.message.get("params", {}) if seen.body else {}
            modern = [name for name, _ in seen.fields if name.lower() in ("mcp-method", "mcp-name")]
            if asked(seen) == "server/discover" or modern or "_meta" in params:
                strict.append(asked(seen))
                return raw(400, b"", None)(seen)
            return older({"initialize": initialized(session="s1"), **LISTED})(seen)

        with self.talk(answer, era="auto") as (stub, client):
            client.call_tool("t", {"a": 1})
        self.assertEqual(strict, ["server/discover"])
        discover, opening, opened, *_ = [seen for seen in stub.seen if seen.method == "POST"]
        self.assertEqual((asked(opening), asked(opened)), ("initialize", "notifications/initialized"))
        self.assertIsNone(opening.header("MCP-Protocol-Version"))
        self.assertIsNone(opening.header("Mcp-Session-Id"))
        self.assertEqual(opening.message, {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "mcp_ref", "version": mock.ANY}}})
        self.assertEqual(opened.message, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.assertEqual(self.of(stub, "tools/call")[0].message, {
            "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "t", "arguments": {"a": 1}}})
        for seen in stub.seen:
            if seen not in (discover, opening):
                self.assertEqual((seen.header("MCP-Protocol-Version"), seen.header("Mcp-Session-Id")),
                                 ("2025-11-25", "s1"), asked(seen))

    def test_any_older_version_is_accepted_and_no_other(self) -> None:
        for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"):
            with self.session({"initialize": initialized(version)}) as (stub, client):
                self.assertEqual(client.list_tools(), [])
                self.assertEqual(self.of(stub, "tools/list")[0].header("MCP-Protocol-Version"), version)
                self.assertIsNone(self.of(stub, "tools/list")[0].header("Mcp-Session-Id"), "none was given")
                self.assertEqual(client.discover()["supportedVersions"], [version])
        for unknown in ("2026-07-28", "2023-01-01", None):
            with self.session({"initialize": initialized(unknown)}) as (stub, client):
                with self.assertRaisesRegex(TransportError, "2024-11-05"):
                    client.list_tools()
                self.assertEqual(self.of(stub, "notifications/initialized"), [])

    def test_what_the_client_is_and_can_do_is_declared(self) -> None:
        with self.session(name="me", version="7", send_client_info=False, on_elicit=lambda _: None,
                          on_list_roots=list, extensions={"com.example/x": {}}) as (stub, client):
            client.list_tools()
        params = self.of(stub, "initialize")[0].params
        self.assertEqual(params["clientInfo"], {"name": "me", "version": "7"}, "older servers need it")
        self.assertEqual(params["capabilities"], {"elicitation": {"form": {}, "url": {}}, "roots": {}})

    def test_the_get_stream_is_there_before_anything_is_called(self) -> None:
        arrived = threading.Event()
        stream = Stream()

        def late(seen: Seen) -> Answer:
            time.sleep(0.1)
            arrived.set()
            return stream(seen)

        def call(seen: Seen) -> Answer:
            self.assertTrue(arrived.is_set())
            return LISTED["tools/call"](seen)

        with self.session({"GET": late, "tools/call": call}) as (stub, client):
            client.call_tool("t")
            stream.end()
        (opening,) = self.of(stub, "GET")
        self.assertEqual(opening.header("Accept"), "text/event-stream")
        self.assertIsNone(opening.header("Last-Event-ID"))

    def test_a_server_without_that_stream_is_as_good(self) -> None:
        for refusal in (raw(405, b"", None), raw(400, b"{}"), raw(404, b"<html>", "text/html"),
                        raw(501, b""), raw(200, b"{}")):
            with self.session({"GET": refusal}) as (stub, client):
                self.assertEqual(client.list_tools(), [])
                self.assertEqual(len(self.of(stub, "initialize")), 1)
                self.assertLessEqual(len(self.of(stub, "GET")), 1)

    def test_answers_to_notifications_are_not_read(self) -> None:
        for answer in (raw(200, b'{"jsonrpc":"2.0","result":{}}'), raw(204, b"", None), raw(202, b"nonsense", "x/y")):
            with self.session({"notifications/initialized": answer}) as (_, client):
                self.assertEqual(client.list_tools(), [])

    def test_a_session_id_that_no_header_can_carry(self) -> None:
        with self.session({"initialize": initialized(session="a b")}) as (_, client):
            with self.assertRaisesRegex(TransportError, "visible ASCII"):
                client.list_tools()

    def test_a_refused_initialize_is_told_in_the_servers_words(self) -> None:
        hint = "This server implements the 2026-07-28 stateless protocol; send server/discover instead of initialize."
        with self.session({"initialize": error(-32601, hint, 404)}) as (_, client):
            with self.assertRaisesRegex(MethodNotFound, "2026-07-28 stateless"):
                client.list_tools()

    def test_the_end_is_told_once(self) -> None:
        for refusal in (raw(200, b""), raw(405, b"", None), raw(404, b"")):
            with self.session({"DELETE": refusal}) as (stub, client):
                client.list_tools()
            (end,) = self.of(stub, "DELETE")
            self.assertEqual((end.header("Mcp-Session-Id"), end.body), ("s1", b""))
            with self.assertRaisesRegex(TransportError, "closed"):
                client.list_tools()
        with self.session({"initialize": initialized()}) as (stub, client):
            client.list_tools()
        self.assertEqual(self.of(stub, "DELETE"), [], "no session, nothing to end")


class Requests(LegacyCase):
    def test_results_are_as_ever(self) -> None:
        contents = [{"uri": "x://a", "text": "hi"}]
        answers = {"initialize": initialized(tools={}, resources={}, prompts={}, completions={}),
                   "resources/read": message({"result": {"contents": contents}}),
                   "prompts/get": message({"result": {"messages": []}}),
                   "completion/complete": message({"result": {"completion": {"values": ["a"]}}}),
                   "tools/list": message({"result": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}})}
        with self.session(answers) as (_, client):
            self.assertEqual([tool["name"] for tool in client.list_tools()], ["t"])
            self.assertEqual(client.call_tool("t"), {"content": [{"type": "text", "text": "ok"}]})
            self.assertEqual(client.read_resource("x://a")["contents"], contents)
            self.assertEqual(client.get_prompt("p")["messages"], [])
            self.assertEqual(client.complete({"type": "ref/prompt", "name": "p"}, "a", "")["values"], ["a"])
            found = client.discover()
            self.assertEqual((found["instructions"], found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]),
                             ("be kind", "older"))

    def test_what_is_not_advertised_is_not_asked_for(self) -> None:
        ref = {"type": "ref/prompt", "name": "p"}
        asks: List[Tuple[str, Callable[[Client], Any]]] = [
            ("tools", lambda it: it.list_tools()), ("tools", lambda it: it.call_tool("t")),
            ("prompts", lambda it: it.list_prompts()), ("prompts", lambda it: it.get_prompt("p")),
            ("resources", lambda it: it.list_resources()), ("resources", lambda it: it.read_resource("x://a")),
            ("resources", lambda it: it.list_resource_templates()),
            ("completions", lambda it: it.complete(ref, "a", ""))]
        with self.session({"initialize": initialized(experimental={})}) as (stub, client):
            client.discover()
            before = len(stub.seen)
            for name, ask in asks:
                with self.assertRaisesRegex(MethodNotFound, f"did not advertise {name}"):
                    ask(client)
            self.assertEqual(len(stub.seen), before)
        with self.session({"initialize": initialized("2024-11-05"), "completion/complete": message(
                {"result": {"completion": {"values": []}}})}) as (_, client):
            self.assertEqual(client.complete(ref, "a", "")["values"], [], "2024-11-05 has no such capability")

    def test_an_unknown_resource_of_the_older_eras(self) -> None:
        with self.session({"initialize": initialized(resources={}),
                           "resources/read": error(-32002, status=200)}) as (_, client):
            with self.assertRaises(ResourceNotFound):
                client.read_resource("x://a")

    def test_of_meta_only_what_is_not_reserved_is_sent(self) -> None:
        with self.session() as (stub, client):
            client.call_tool("t", meta={"com.example/a": 1}, on_progress=lambda *_: None)
        sent = self.of(stub, "tools/call")[0].params["_meta"]
        self.assertEqual(sent, {"com.example/a": 1, "progressToken": mock.ANY})

    def test_progress_and_log_messages_on_either_stream(self) -> None:
        heard: List[Any] = []
        stream = Stream()

        def answer(seen: Seen) -> Answer:
            token = seen.params["_meta"]["progressToken"]
            stream.send(note("progress", progressToken=token, progress=1))
            stream.send(note("message", level="info", data="beside"))
            until(lambda: len(heard) == 2)
            ahead = [note("progress", progressToken=token, progress=2), note("message", level="error", data="ahead"),
                     note("progress", progressToken="other", progress=3)]
            return events(*ahead, last=LISTED["tools/call"])(seen)

        with self.session({"GET": stream, "tools/call": answer}, on_log=lambda level, data, _: heard.append(data)) as (
                _, client):
            client.call_tool("t", on_progress=lambda progress, *_: heard.append(progress))
            stream.end()
        self.assertEqual(heard, [1, "beside", 2, "ahead"])

    def test_batches_are_received(self) -> None:
        heard: List[Any] = []
        stream = Stream()

        def answer(seen: Seen) -> Answer:
            stream.send(json.dumps([note("message", level="info", data=number) for number in (1, 2)]))
            until(lambda: len(heard) == 2)
            ahead = [note("message", level="info", data=3), {"jsonrpc": "2.0", "id": 1, "method": "ping"}]
            return events(ahead, [{"jsonrpc": "2.0", "id": seen.message["id"], "result": {"content": []}}])(seen)

        def listed(seen: Seen) -> Answer:
            answered = {"jsonrpc": "2.0", "id": seen.message["id"], "result": {"tools": []}}
            return raw(200, json.dumps([answered]).encode())(seen)

        with self.session({"initialize": initialized("2025-03-26"), "GET": stream, "tools/call": answer,
                           "tools/list": listed}, on_log=lambda level, data, _: heard.append(data)) as (stub, client):
            self.assertEqual((client.call_tool("t"), client.list_tools()), ({"content": []}, []))
            stream.end()
        self.assertEqual(heard, [1, 2, 3])
        self.assertEqual([seen.message["result"] for seen in self.of(stub, "response")], [{}])

    def test_log_messages_are_asked_for_where_there_are_any(self) -> None:
        for capabilities, options, levels in (({"logging": {}}, {"log_level": "error"}, ["error"]),
                                              ({"logging": {}}, {"on_log": lambda *_: None}, ["info"]),
                                              ({"logging": {}}, {}, []), ({}, {"log_level": "error"}, [])):
            with self.session({"initialize": initialized(tools={}, **capabilities),
                               "logging/setLevel": message({"result": {}})}, **options) as (stub, client):
                client.call_tool("t")
                self.assertEqual([seen.params["level"] for seen in self.of(stub, "logging/setLevel")], levels)
                if levels:
                    client.call_tool("t", log_level="debug")
                    self.assertEqual(self.of(stub, "logging/setLevel")[-1].params, {"level": "debug"})

    def test_a_request_that_is_given_up_is_cancelled_in_words(self) -> None:
        stream = Stream()
        with self.session({"tools/call": stream}) as (stub, client):
            with self.assertRaises(Timeout):
                client.call_tool("t", timeout=0.2)
            (cancelled,) = until(lambda: self.of(stub, "notifications/cancelled"))
            (called,) = self.of(stub, "tools/call")
            self.assertEqual(cancelled.params["requestId"], called.message["id"])
            handle = CallHandle()
            threading.Timer(0.1, handle.cancel).start()
            with self.assertRaises(CallCancelled):
                client.call_tool("t", handle=handle)
            until(lambda: len(self.of(stub, "notifications/cancelled")) == 2)
            stream.end()
            stream.end()

    def test_what_was_answered_is_not_cancelled(self) -> None:
        for answer in (error(-32602, status=200), raw(500, b""), said()):
            with self.session({"tools/call": answer}) as (stub, client), contextlib.suppress(McpError):
                client.call_tool("t")
            self.assertEqual(self.of(stub, "notifications/cancelled"), [])
        with self.session({"initialize": Stream()}) as (stub, client), self.assertRaises(Timeout):
            client.call_tool("t", timeout=0.2)
        self.assertEqual([asked(seen) for seen in stub.seen], ["initialize"], "which may not be cancelled")


class Questions(LegacyCase):
    def answers(self, stub: Stub, count: int = 1) -> List[Dict[str, Any]]:
        found = until(lambda: len(self.of(stub, "response")) >= count and self.of(stub, "response"))
        return [seen.message for seen in found]

    def test_on_the_stream_of_a_request(self) -> None:
        def answer(seen: Seen) -> Answer:
            def body() -> Iterator[bytes]:
                yield from events(ELICIT, {"jsonrpc": "2.0", "id": 5, "method": "ping"})(seen).body  # type: ignore
                self.answers(stub, 2)
                yield from events(last=LISTED["tools/call"])(seen).body  # type: ignore[misc]
            return raw(200, body(), "text/event-stream")(seen)

        options = {"on_elicit": lambda params: {"name": params["message"]}}
        with self.session({"tools/call": answer}, **options) as (stub, client):
            client.call_tool("t")
        self.assertEqual(self.answers(stub), [
            {"jsonrpc": "2.0", "id": "q1", "result": {"action": "accept", "content": {"name": "Who?"}}},
            {"jsonrpc": "2.0", "id": 5, "result": {}}])
        self.assertEqual(self.of(stub, "response")[0].header("Mcp-Session-Id"), "s1")

    @proves("BASE-18..20", "BASE-22")
    def test_on_the_get_stream(self) -> None:
        stream = Stream()
        sampled = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
        asks = [ELICIT, {"id": 2, "method": "roots/list"}, {"id": 3, "method": "ping"},
                {"id": 4, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
                {"id": 5, "method": "tasks/get"}]
        with self.session({"GET": stream}, on_elicit=lambda _: {}, on_sample=lambda _: sampled,
                          on_list_roots=lambda: [{"uri": "file:///a"}]) as (stub, client):
            client.list_tools()
            for ask in asks:
                stream.send(ask)
            made = {each["id"]: each for each in self.answers(stub, 5)}
            stream.end()
        self.assertEqual(made["q1"]["result"], {"action": "accept", "content": {"name": "Ada"}}, "the default")
        self.assertEqual((made[2]["result"], made[3]["result"]), ({"roots": [{"uri": "file:///a"}]}, {}))
        self.assertEqual((made[4]["result"], made[5]["error"]["code"]), (sampled, -32601))

    @proves("BASE-18..20", "BASE-22")
    def test_what_may_not_be_asked(self) -> None:
        stream = Stream()
        url = {"mode": "url", "message": "m", "url": "https://x/", "elicitationId": "1"}
        with self.session({"GET": stream}, on_elicit=lambda _: self.fail("nobody may be asked"),
                          elicit_modes=["form"]) as (stub, client):
            client.list_tools()
            for ask in ({"id": 1, "method": "roots/list"}, {"id": 2, "method": "elicitation/create", "params": url},
                        {"id": 3, "method": "elicitation/create", "params": {"message": 7}},
                        {"id": 4, "method": "sampling/createMessage", "params": {}}):
                stream.send(ask)
            codes = {each["id"]: each["error"]["code"] for each in self.answers(stub, 4)}
            stream.end()
        self.assertEqual(codes, {1: -32601, 2: -32602, 3: -32602, 4: -32601})

    def test_what_is_no_request_is_passed_over(self) -> None:
        bad: List[Dict[str, Any]] = [
            *({"id": id, "method": "ping"} for id in (None, True, 1.5, [1], {"a": 1})),
            *({"id": 1, "method": method} for method in (None, 5, ["ping"], {})),
            {"method": []}, {"id": 1, "result": {}},
            {"method": "notifications/cancelled", "params": {"requestId": ["q1"]}}]
        stream = Stream()
        on_the_way = [{"jsonrpc": "2.0", **each} for each in bad if "method" in each]
        answered: Dict[str, Scripted] = {**LISTED, "GET": stream,
                                         "tools/call": events(*on_the_way, last=LISTED["tools/call"])}
        with self.session(answered, on_elicit=lambda _: {}) as (stub, client):
            client.call_tool("t")
            for each in bad:
                stream.send(each)
            stream.send({"id": "last", "method": "ping"})
            self.assertEqual([each["id"] for each in self.answers(stub)], ["last"])
            stream.end()

    def test_what_is_withdrawn_is_named_by_its_own_id(self) -> None:
        stream, asked_for, withdrawn = Stream(), threading.Event(), threading.Event()

        def elicit(_: Any) -> Dict[str, Any]:
            asked_for.set()
            withdrawn.wait(30)
            return {}

        with self.session({"GET": stream}, on_elicit=elicit) as (stub, client):
            client.list_tools()
            stream.send({**ELICIT, "id": 1})
            self.assertTrue(asked_for.wait(30))
            for other in (True, 1.0, "1"):
                stream.send(note("cancelled", requestId=other))
            stream.send({"id": "after", "method": "ping"})
            self.answers(stub)
            withdrawn.set()
            self.assertEqual([each["id"] for each in self.answers(stub, 2)], ["after", 1])
            stream.end()

    @proves("BASE-18..20", "BASE-22")
    def test_a_callback_that_fails(self) -> None:
        def fails(_: Any) -> Any:
            raise RuntimeError("secret")

        def answer(seen: Seen) -> Answer:
            return events(ELICIT, last=LISTED["tools/call"])(seen)

        for callback, kind, code in ((fails, RuntimeError, -32603), (lambda _: {"name": 7}, InvalidParams, -32602)):
            with self.session({"tools/call": answer}, on_elicit=callback) as (stub, client):
                with self.assertRaises(kind):
                    client.call_tool("t")
                (told,) = self.answers(stub)
                self.assertEqual(told["error"]["code"], code)
                self.assertNotIn("secret", str(told))
                self.assertEqual(len(until(lambda: self.of(stub, "notifications/cancelled"))), 1)
        stream = Stream()
        with self.session({"GET": stream}, on_elicit=fails) as (stub, client), self.assertLogs("mcp_ref") as logged:
            client.list_tools()
            stream.send(ELICIT)
            self.assertEqual(self.answers(stub)[0]["error"]["code"], -32603)
            self.assertEqual(client.list_tools(), [])
            until(lambda: logged.records)  # which comes after the answer
            stream.end()

    def test_who_takes_time_to_answer_does_not_use_up_the_timeout(self) -> None:
        clock, stream = Clock(), Stream()

        def slow(params: Any) -> Any:
            clock.ahead += 1000
            return {}

        def by_itself(seen: Seen) -> Answer:
            stream.send(ELICIT)
            self.answers(self.stub)
            return LISTED["tools/call"](seen)

        for answer in (by_itself, lambda seen: events(ELICIT, last=LISTED["tools/call"])(seen)):
            with mock.patch.object(calls, "time", clock):
                with self.session({"GET": stream, "tools/call": answer}, on_elicit=slow) as (self.stub, client):
                    client.call_tool("t", timeout=500)

    def test_a_read_that_waits_goes_on_while_somebody_is_asked(self) -> None:
        def attempt(pace: float) -> None:
            stream = Stream()

            def slow(params: Any) -> Any:
                time.sleep(1.5 * pace)
                return {}

            def answer(seen: Seen) -> Answer:
                stream.send(ELICIT)
                self.answers(self.stub)
                return LISTED["tools/call"](seen)

            with self.session({"GET": stream, "tools/call": answer}, on_elicit=slow) as (self.stub, client):
                client.list_tools()
                client.call_tool("t", timeout=pace)
                stream.end()

        at_some_pace(attempt, 0.4)

    def test_a_question_that_is_withdrawn_is_not_answered(self) -> None:
        stream, asked_, told = Stream(), threading.Event(), threading.Event()

        def slow(params: Any) -> Any:
            asked_.set()
            told.wait(30)
            return {}

        with self.session({"GET": stream}, on_elicit=slow) as (stub, client):
            client.list_tools()
            stream.send(ELICIT)
            asked_.wait(30)
            stream.send(note("cancelled", requestId="q1"))
            stream.send({"id": 9, "method": "ping"})
            self.answers(stub)
            told.set()
            stream.send({"id": 10, "method": "roots/list"})
            self.assertEqual([each["id"] for each in self.answers(stub, 2)], [9, 10])
            stream.end()

    def test_too_many_at_once_are_left(self) -> None:
        stream, told = Stream(), threading.Event()
        with mock.patch.object(legacy_client, "MAX_QUESTIONS", 2):
            with self.session({"GET": stream}, on_elicit=lambda _: told.wait(30) and {}) as (stub, client):
                client.list_tools()
                with self.assertLogs("mcp_ref", "WARNING") as logs:
                    for number in range(3):
                        stream.send({**ELICIT, "id": number})
                    until(lambda: logs.output)
                told.set()
                self.assertEqual(len(self.answers(stub, 2)), 2)
                stream.end()


class Resumption(LegacyCase):
    def broken(self, *retry: int) -> Any:
        """A stream of a call that ends after its priming event, and what it goes on with."""
        first, then = Stream(), Stream()
        first.send("", id="1-0", **({"retry": retry[0]} if retry else {}))
        first.end()
        return first, then

    def test_a_stream_that_ends_early_is_taken_up_again_no_sooner_than_told(self) -> None:
        for version in ("2025-11-25", "2025-06-18", "2025-03-26"):
            first, then = self.broken(300)
            times: List[float] = []

            def call(seen: Seen, first: Stream = first, then: Stream = then, times: List[float] = times) -> Answer:
                times.append(time.monotonic())
                then.send(note("message", level="info", data="x"), id="1-1")
                then.send({"id": seen.message["id"], "result": {"content": []}}, id="1-2")
                return first(seen)

            def get(seen: Seen, then: Stream = then, times: List[float] = times) -> Answer:
                if seen.header("Last-Event-ID") is None:
                    return raw(405, b"", None)(seen)
                times.append(time.monotonic())
                return then(seen)

            answers = {"initialize": initialized(version, "s1"), "tools/call": call, "GET": get}
            with self.session(answers) as (stub, client):
                self.assertEqual(client.call_tool("t"), {"content": []})
            resumed = self.of(stub, "GET")[-1]
            self.assertEqual((resumed.header("Last-Event-ID"), resumed.header("Mcp-Session-Id")), ("1-0", "s1"))
            self.assertGreaterEqual(times[1] - times[0], 0.3)
            self.assertEqual(len(self.of(stub, "tools/call")), 1, "never sent again")

    def test_several_times_with_the_last_id(self) -> None:
        numbers = itertools.count(1)

        def get(seen: Seen) -> Answer:
            if seen.header("Last-Event-ID") is None:
                return raw(405, b"", None)(seen)
            stream, number = Stream(), next(numbers)
            answer: Any = "" if number < 3 else {"id": self.called, "result": {"content": []}}
            stream.send(answer, id=f"1-{number}", retry=10)
            stream.end()
            return stream(seen)

        def call(seen: Seen) -> Answer:
            self.called = seen.message["id"]
            return self.broken(10)[0](seen)

        with self.session({"tools/call": call, "GET": get}) as (stub, client):
            self.assertEqual(client.call_tool("t"), {"content": []})
        self.assertEqual([seen.header("Last-Event-ID") for seen in self.of(stub, "GET")], [None, "1-0", "1-1", "1-2"])

    def test_what_it_was_told_of_coming_back_holds_until_it_is_told_otherwise(self) -> None:
        times: List[float] = []

        def get(seen: Seen) -> Answer:
            if seen.header("Last-Event-ID") is None:
                return raw(405, b"", None)(seen)
            times.append(time.monotonic())
            stream = Stream()
            if len(times) == 1:
                stream.send(note("message", level="info", data="x"), id="é…")
            else:
                stream.send({"id": self.called, "result": {"content": []}})
            stream.end()
            return stream(seen)

        def call(seen: Seen) -> Answer:
            self.called = seen.message["id"]
            return self.broken(300)[0](seen)

        with mock.patch.object(ways, "WAIT", 0.01):
            with self.session({"tools/call": call, "GET": get}) as (stub, client):
                self.assertEqual(client.call_tool("t"), {"content": []})
        self.assertGreaterEqual(times[1] - times[0], 0.3)
        last = self.of(stub, "GET")[-1].header("Last-Event-ID") or ""
        self.assertEqual(last.encode("latin-1").decode("utf-8"), "é…")

    def test_what_cannot_be_taken_up_again(self) -> None:
        with self.session({"tools/call": lambda seen: self.broken(10)[0](seen)}) as (stub, client):
            with self.assertRaisesRegex(BrokenOff, "did not take it up again"):
                client.call_tool("t")
            self.assertEqual(len(self.of(stub, "initialize")), 1, "a refused resumption is no lost session")
        with self.session({"tools/call": events(note("message", level="info", data=""))}) as (stub, client):
            with self.assertRaises(BrokenOff):
                client.call_tool("t")
            self.assertEqual(len(self.of(stub, "GET")), 1, "no event had an id")
        with self.session({"tools/call": events(b"id: 1\ndata:\n\nid:\ndata:\n\n")}) as (stub, client):
            with self.assertRaises(BrokenOff):
                client.call_tool("t")
            self.assertEqual(len(self.of(stub, "GET")), 1, "the id was taken back")
        with self.session({"tools/call": lambda seen: self.broken(60_000)[0](seen)}) as (_, client):
            with self.assertRaises(Timeout):
                client.call_tool("t", timeout=5)

    def test_the_get_stream_goes_on_where_it_was(self) -> None:
        streams = [Stream(), Stream()]
        streams[0].send(note("message", level="info", data="one"), id="0-1", retry=10)
        streams[0].end()
        streams[1].send(note("message", level="info", data="two"), id="0-2")
        left = iter(streams)
        heard: List[Any] = []
        with self.session({"GET": lambda seen: next(left)(seen), "initialize": initialized(session="s1")},
                          on_log=lambda _, data, __: heard.append(data)) as (stub, client):
            client.list_tools()
            until(lambda: heard == ["one", "two"])
            self.assertEqual([seen.header("Last-Event-ID") for seen in self.of(stub, "GET")], [None, "0-1"])
            streams[1].end()

    def test_a_get_stream_that_brings_nothing_is_given_up(self) -> None:
        with mock.patch.multiple(ways, WAIT=0.01, LONGEST_WAIT=0.01):
            with self.session({"GET": events()}) as (stub, client):
                client.list_tools()
                until(lambda: len(self.of(stub, "GET")) >= ways.ATTEMPTS)
                time.sleep(0.2)
                self.assertEqual(len(self.of(stub, "GET")), ways.ATTEMPTS)


@proves("C072")
class Loss(LegacyCase):
    def forgetful(self, lost: int, refusal: Scripted = raw(404, b"", None)) -> Dict[str, Scripted]:
        """A server that has forgotten its session for so many calls; each initialize gives another."""
        sessions, left = (f"s{number}" for number in itertools.count(1)), iter(range(lost))

        def call(seen: Seen) -> Answer:
            return LISTED["tools/call"](seen) if next(left, None) is None else refusal(seen)

        return {"initialize": lambda seen: initialized(session=next(sessions))(seen), "tools/call": call}

    def test_another_is_begun_and_the_request_sent_again(self) -> None:
        for refusal in (raw(404, b"", None), raw(404, b"gone", "text/plain"), raw(404, (
                b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}'))):
            with self.session(self.forgetful(1, refusal)) as (stub, client):
                client.call_tool("t")
                did = [(asked(seen), seen.header("Mcp-Session-Id")) for seen in stub.seen if seen.method == "POST"]
            self.assertEqual(did, [("initialize", None), ("notifications/initialized", "s1"), ("tools/call", "s1"),
                                   ("initialize", None), ("notifications/initialized", "s2"), ("tools/call", "s2")])
            ids = [seen.message["id"] for seen in stub.seen if seen.body and "id" in seen.message]
            self.assertEqual(len(set(ids)), len(ids))
            self.assertEqual([seen.header("Mcp-Session-Id") for seen in self.of(stub, "GET")], ["s1", "s2"])

    def test_a_second_404_is_the_callers(self) -> None:
        with self.session(self.forgetful(2)) as (stub, client):
            with self.assertRaises(HTTPError):
                client.call_tool("t")
            self.assertEqual((len(self.of(stub, "tools/call")), len(self.of(stub, "initialize"))), (2, 2))

    def test_a_404_that_answers_the_request_is_an_answer(self) -> None:
        with self.session({"tools/call": error(-32601, status=404)}) as (stub, client):
            with self.assertRaises(MethodNotFound):
                client.call_tool("t")
            self.assertEqual(len(self.of(stub, "initialize")), 1)
        with self.session({"initialize": initialized(), "tools/call": raw(404, b"")}) as (stub, client):
            with self.assertRaises(HTTPError):
                client.call_tool("t")
            self.assertEqual(len(self.of(stub, "initialize")), 1, "without a session there is none to lose")

    def test_of_several_threads_one_begins_it_anew(self) -> None:
        everybody = threading.Barrier(4)
        sessions = (f"s{number}" for number in itertools.count(1))

        def call(seen: Seen) -> Answer:
            if seen.header("Mcp-Session-Id") != "s1":
                return LISTED["tools/call"](seen)
            everybody.wait(30)
            return raw(404, b"")(seen)

        begin: Scripted = lambda seen: initialized(session=next(sessions))(seen)  # noqa: E731
        with self.session({"initialize": begin, "tools/call": call}) as (stub, client):
            client.list_tools()
            threads = [threading.Thread(target=client.call_tool, args=("t",)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((len(self.of(stub, "initialize")), len(self.of(stub, "tools/call"))), (2, 8))

    def test_a_server_that_begins_no_other(self) -> None:
        once = iter([initialized(session="s1"), error(-32603, "no more", 500)])
        with self.session({**self.forgetful(1), "initialize": lambda seen: next(once)(seen)}) as (_, client):
            with self.assertRaisesRegex(ProtocolError, "no more"):
                client.call_tool("t")


class Listening(LegacyCase):
    CAPABILITIES: Any = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True}}

    def test_changes_and_updates_come_as_in_the_new_era(self) -> None:
        stream = Stream()
        done = message({"result": {}})
        with self.session({"GET": stream, "initialize": initialized(session="s1", **self.CAPABILITIES),
                           "resources/subscribe": done, "resources/unsubscribe": done}) as (stub, client):
            with client.listen(tools=True, prompts=True, resources=True, uris=["x://a"]) as heard:
                self.assertEqual(heard.honoured, {"toolsListChanged": True, "resourceSubscriptions": ["x://a"]})
                second = client.listen(uris=["x://a"])
                for method, params in (("prompts/list_changed", {}), ("resources/updated", {"uri": "x://b"}),
                                       ("resources/updated", {"uri": ["x://a"]}),
                                       ("tools/list_changed", {}), ("resources/updated", {"uri": "x://a"})):
                    stream.send({"method": f"notifications/{method}", **({"params": params} if params else {})})
                first, then = next(heard), next(heard)
                self.assertEqual(first["params"], {"_meta": {"io.modelcontextprotocol/subscriptionId": heard.id}})
                self.assertEqual((then["method"], then["params"]["uri"]), ("notifications/resources/updated", "x://a"))
                self.assertEqual(next(second)["params"]["_meta"], {"io.modelcontextprotocol/subscriptionId": second.id})
            self.assertEqual(self.of(stub, "resources/unsubscribe"), [], "another still follows it")
            second.close()
            self.assertEqual([len(self.of(stub, f"resources/{what}subscribe")) for what in ("", "un")], [1, 1])
            self.assertEqual(list(second), [])
            stream.end()

    def test_without_a_stream_there_is_nothing_to_listen_to(self) -> None:
        with self.session({"initialize": initialized(**self.CAPABILITIES)}) as (_, client):
            with self.assertRaisesRegex(MethodNotFound, "no stream"):
                client.listen(tools=True)

    def test_the_end_of_the_stream_ends_it(self) -> None:
        stream, get = Stream(), iter(range(1))
        with mock.patch.multiple(ways, WAIT=0.01):
            with self.session({"GET": lambda seen: stream(seen) if next(get, None) == 0 else raw(404, b"")(seen),
                               "initialize": initialized(**self.CAPABILITIES)}) as (_, client):
                heard = client.listen(tools=True)
                stream.end()
                with self.assertRaises(BrokenOff):
                    next(heard)

    def test_a_stream_taken_up_without_an_event_to_go_on_after_may_have_missed_all(self) -> None:
        streams, more = [Stream(), Stream()], iter(range(2))
        with mock.patch.multiple(ways, WAIT=0.01, LEAST_WAIT=0.01):
            with self.session({"GET": lambda seen: streams[next(more)](seen), "resources/subscribe": message(
                    {"result": {}}), "resources/unsubscribe": message({"result": {}}),
                    "initialize": initialized(**self.CAPABILITIES)}) as (_, client):
                heard = client.listen(tools=True, uris=["x://a"])
                streams[0].end()
                told = {next(heard)["method"], next(heard)["method"]}
                self.assertEqual(told, {"notifications/tools/list_changed", "notifications/resources/updated"})
                streams[1].end()

    def test_a_stream_that_cannot_go_on_where_it_was_is_begun_anew_and_may_have_missed_all(self) -> None:
        streams = [Stream(), Stream()]
        streams[0].send("", id="0-1", retry=10)
        left = iter(streams)

        def get(seen: Seen) -> Answer:
            return raw(400, b"", None)(seen) if seen.header("Last-Event-ID") else next(left)(seen)

        with mock.patch.multiple(ways, WAIT=0.01, LEAST_WAIT=0.01):
            with self.session({"GET": get, "initialize": initialized(**self.CAPABILITIES)}) as (stub, client):
                heard = client.listen(tools=True)
                streams[0].end()
                self.assertEqual(next(heard)["method"], "notifications/tools/list_changed")
                self.assertEqual([seen.header("Last-Event-ID") for seen in self.of(stub, "GET")], [None, "0-1", None])
                streams[1].end()

    def test_a_session_begun_anew_follows_what_was_followed(self) -> None:
        streams = iter([Stream(), Stream()])
        lost = iter(range(1))
        sessions = (f"s{number}" for number in itertools.count(1))
        answers = {"GET": lambda seen: next(streams)(seen), "resources/subscribe": message({"result": {}}),
                   "resources/unsubscribe": message({"result": {}}),
                   "initialize": lambda seen: initialized(session=next(sessions), **self.CAPABILITIES)(seen),
                   "tools/call": lambda seen: (raw(404, b"") if next(lost, None) == 0 else LISTED["tools/call"])(seen)}
        with self.session(answers) as (stub, client):
            heard = client.listen(uris=["x://a"])
            client.call_tool("t")
            self.assertEqual([seen.header("Mcp-Session-Id") for seen in self.of(stub, "resources/subscribe")],
                             ["s1", "s2"])
            heard.close()

    def test_what_cannot_be_followed_any_more_ends_for_who_listens_and_fails_no_call(self) -> None:
        streams, lost, known = [Stream(), Stream()], iter(range(1)), iter(range(2))
        left = iter(streams)
        sessions = (f"s{number}" for number in itertools.count(1))
        answers = {"GET": lambda seen: next(left)(seen), "resources/unsubscribe": message({"result": {}}),
                   "resources/subscribe": lambda seen: (
                       error(-32002) if next(known, None) is None else message({"result": {}}))(seen),
                   "initialize": lambda seen: initialized(session=next(sessions), **self.CAPABILITIES)(seen),
                   "tools/call": lambda seen: (raw(404, b"") if next(lost, None) == 0 else LISTED["tools/call"])(seen)}
        with self.session(answers) as (_, client):
            with client.listen(tools=True) as other, client.listen(uris=["x://a", "x://b"]) as heard:
                with self.assertLogs("mcp_ref", "WARNING"):
                    self.assertEqual(client.call_tool("t")["content"][0]["text"], "ok")
                self.assertEqual(next(other)["method"], "notifications/tools/list_changed")
                for _ in range(2):
                    self.assertEqual(next(heard)["method"], "notifications/resources/updated")
                self.assertRaises(BrokenOff, next, heard)
                streams[1].send(note("tools/list_changed"))
                self.assertEqual(next(other)["method"], "notifications/tools/list_changed", "it goes on")
                streams[1].end()


if __name__ == "__main__":
    unittest.main()
