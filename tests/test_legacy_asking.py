"""Handlers of 2026-07-28 that ask, over HTTP, and clients of the revisions before, each message on a raw socket."""

import json
import threading
import unittest
from typing import Any, Dict, List, Optional
from unittest import mock

from mcp_ref import InputRequired, Server, form, roots, sampling
from mcp_ref.base.versioning import LEGACY
from mcp_ref.legacy import sessions, shim

from .support import RawClient, ServerCase, accept, message

NEWEST, SECOND, THIRD, OLDEST = LEGACY
NAME = {"name": {"type": "string"}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}
ANSWERS = {"elicitation/create": accept(name="Ann"), "sampling/createMessage": SAID,
           "roots/list": {"roots": [{"uri": "file:///a"}]}}


def asking(**options: Any) -> Server:
    server = Server("asks", "1", logging=True, **options)
    server.ran = []  # type: ignore[attr-defined]

    @server.tool
    def greet(ctx) -> str:
        """Ask for a name."""
        server.ran.append(ctx.round)  # type: ignore[attr-defined]
        return f"Hello {ctx.elicit('Who are you?', NAME).get('name')}, {ctx.protocol_version}"

    @server.tool
    def three(ctx) -> str:
        """Ask three things at once."""
        answers = ctx.ask({"a": form("Who?", NAME), "b": sampling("Say hello", 9), "c": roots()})
        return f"{answers['a']['content']['name']} {answers['b']['content']['text']} {answers['c']['roots'][0]['uri']}"

    @server.tool
    def sampled(ctx) -> str:
        """Have the model say something."""
        return str(ctx.sample("Say hello", 9)["content"]["text"])

    @server.tool
    def steps(ctx) -> str:
        """Report, ask, report."""
        ctx.progress(1, total=2)
        ctx.log("info", "before")
        ctx.elicit("Go on?", NAME)
        ctx.progress(1, total=2)
        ctx.progress(2, total=2)
        return "done"

    @server.tool
    def wait(ctx) -> Any:
        """Come back later, twice."""
        number = ctx.request_state or 0
        return "done" if number == 2 else InputRequired(request_state=number + 1)

    @server.prompt
    def about(ctx) -> str:
        """Ask for a topic."""
        return "About " + ctx.elicit("What about?", NAME)["name"]

    @server.resource("test://asks")
    def asks(ctx) -> str:
        """Ask who."""
        return "I am " + ctx.elicit("Who?", NAME)["name"]

    return server


class EventStream:
    """A response that is an event stream: its messages one by one. last: the id of the newest event."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.buffer = b""
        self.last = ""
        self.fields: List[str] = []

    def event(self) -> Optional[str]:
        """The data of the next event; None at the end of the stream."""
        while True:
            while b"\n\n" not in self.buffer:
                data = self.client.chunk()
                if not data:
                    return None
                self.buffer += data
            block, _, self.buffer = self.buffer.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in block.decode().splitlines() if not line.startswith(":"))
            self.last = fields.get("id", self.last)
            self.fields = list(fields)
            if "data" in fields:
                return fields["data"]

    def message(self) -> Any:
        """The next message, empty events passed over."""
        data = self.event()
        while data == "":
            data = self.event()
        return None if data is None else json.loads(data)


class Older:
    """A client of a revision before 2026-07-28, with a session; a connection for each thing it says."""

    def __init__(self, case: ServerCase, version: str = NEWEST, capabilities: Any = None) -> None:
        self.case, self.version, self.session, self.ids = case, version, None, iter(range(1, 10_000))
        declared = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
        answer = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "clientInfo": {"name": "older", "version": "1"},
            "capabilities": declared if capabilities is None else capabilities}}).response()
        case.assertEqual(answer.json["result"]["protocolVersion"], version)
        self.session = answer.headers.get("mcp-session-id")
        case.assertEqual(self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).response().status, 202)

    def post(self, body: Any, method: str = "POST", **more: Any) -> RawClient:
        """Send a message on a connection of its own."""
        client = self.case.client()
        raw = b"" if body is None else json.dumps(body).encode()
        fields = {"Host": client.host, "Content-Type": "application/json", "Content-Length": str(len(raw)),
                  "Accept": "application/json, text/event-stream", **more}
        if self.session:
            fields.update({"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version})
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        client.send(f"{method} /mcp HTTP/1.1\r\n{head}\r\n".encode() + raw)
        return client

    def ask(self, method: str, params: Dict[str, Any]) -> RawClient:
        """Send a request."""
        return self.post({"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params})

    def call(self, tool: str, **meta: Any) -> RawClient:
        """Call a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": {}, "_meta": meta})

    def stream(self, client: RawClient) -> EventStream:
        """The response, an event stream."""
        head = client.head()
        self.case.assertEqual((head.status, head.headers["content-type"]), (200, "text/event-stream"))
        return EventStream(client)

    def answer(self, id: Any, result: Any) -> None:
        """Answer a question."""
        body = result if isinstance(result, dict) and "error" in result else {"result": result}
        response = self.post({"jsonrpc": "2.0", "id": id, **body}).response()
        self.case.assertEqual((response.status, response.body), (202, b""))

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.case.assertEqual(self.post({"jsonrpc": "2.0", "method": method, "params": params}).response().status, 202)


def text(result: Any) -> str:
    return str(result["result"]["content"][0]["text"])


class Asking(ServerCase):
    def setUp(self):
        self.server = asking()
        self.serve(self.server)

    def rest(self, stream: EventStream) -> List[Any]:
        return list(iter(stream.message, None))

    def test_a_question_goes_out_on_the_stream_of_the_request_and_so_does_the_result(self):
        for version, mode in ((NEWEST, "form"), (SECOND, None)):
            older = Older(self, version)
            stream = older.stream(older.call("greet"))
            question = stream.message()
            self.assertEqual((question["method"], question["params"].get("mode")), ("elicitation/create", mode))
            older.answer(question["id"], accept(name="Ann"))
            answer, *more = self.rest(stream)
            self.assertEqual(answer, {"jsonrpc": "2.0", "id": 1, "result": {
                "content": [{"type": "text", "text": f"Hello Ann, {version}"}]}})
            self.assertEqual(more, [])

    def test_all_of_a_round_is_asked_at_once(self):
        older = Older(self)
        stream = older.stream(older.call("three"))
        questions = [stream.message() for _ in range(3)]
        self.assertEqual(len({question["id"] for question in questions}), 3)
        for question in reversed(questions):
            older.answer(question["id"], ANSWERS[question["method"]])
        self.assertEqual([text(each) for each in self.rest(stream)], ["Ann hello file:///a"])

    def test_prompts_and_resources_ask_too(self):
        for method, params, found in (
                ("prompts/get", {"name": "about"}, lambda result: result["messages"][0]["content"]["text"]),
                ("resources/read", {"uri": "test://asks"}, lambda result: result["contents"][0]["text"])):
            older = Older(self)
            stream = older.stream(older.ask(method, params))
            older.answer(stream.message()["id"], accept(name="cats"))
            self.assertIn("cats", found(self.rest(stream)[0]["result"]))
            stream = older.stream(older.ask(method, params))
            older.answer(stream.message()["id"], {"error": {"code": -1, "message": "no"}})
            self.assertEqual(self.rest(stream)[0]["error"]["code"], -32603)

    def test_what_a_handler_reports_on_the_way(self):
        older = Older(self)
        stream = older.stream(older.call("steps", progressToken="t"))
        sent = [stream.message() for _ in range(3)]
        older.answer(sent[-1]["id"], accept(name="Ann"))
        sent += self.rest(stream)
        self.assertEqual([each.get("method") for each in sent], [
            "notifications/progress", "notifications/message", "elicitation/create", "notifications/message",
            "notifications/progress", None])
        told = [each["params"]["progress"] for each in sent if each.get("method") == "notifications/progress"]
        self.assertEqual(told, [1, 2])

    def test_an_answer_counts_in_its_own_session_and_once(self):
        one, two = Older(self), Older(self)
        streams = [each.stream(each.call("greet")) for each in (one, two)]
        ids = [stream.message()["id"] for stream in streams]
        self.assertEqual(*ids, "for what follows to mean something")
        two.answer(ids[0], accept(name="Bob"))
        one.answer("1", accept(name="Eve"))
        one.answer(99, accept(name="Eve"))
        one.answer(ids[0], accept(name="Ann"))
        one.answer(ids[0], accept(name="Eve"))
        self.assertEqual([text(self.rest(stream)[0]) for stream in streams],
                         [f"Hello Ann, {NEWEST}", f"Hello Bob, {NEWEST}"])

    def test_answers_of_2026_are_not_for_these_clients(self):
        older = Older(self)
        stream = older.stream(older.ask("tools/call", {"name": "greet", "inputResponses": {"a": accept(name="Eve")},
                                                       "requestState": "v1.e30.e30"}))
        older.answer(stream.message()["id"], accept(name="Ann"))
        self.assertEqual(text(self.rest(stream)[0]), f"Hello Ann, {NEWEST}")

    def test_a_cancelled_call_withdraws_its_questions_and_is_not_answered(self):
        older = Older(self)
        stream = older.stream(older.call("three"))
        ids = [stream.message()["id"] for _ in range(3)]
        older.tell("notifications/cancelled", requestId=1)
        sent = self.rest(stream)
        self.assertEqual(sorted(each["params"]["requestId"] for each in sent), sorted(ids))
        self.assertEqual({each["method"] for each in sent}, {"notifications/cancelled"})

    def test_a_client_that_goes_away_comes_back_for_the_answer(self):
        older = Older(self)
        stream = older.stream(older.call("greet"))
        question = stream.message()
        stream.client.socket.close()
        older.answer(question["id"], accept(name="Ann"))
        again = older.stream(older.post(None, "GET", **{"Last-Event-ID": stream.last}))
        self.assertEqual([text(each) for each in self.rest(again)], [f"Hello Ann, {NEWEST}"])
        self.assertEqual(self.server.ran, [0, 1])

    def test_a_session_that_ends_takes_its_questions_along(self):
        older = Older(self)
        stream = older.stream(older.call("greet"))
        stream.message()
        self.assertEqual(older.post(None, "DELETE").response().status, 200)
        self.assertEqual([each for each in self.rest(stream) if "result" in each or "error" in each], [])
        self.assertEqual(older.post({"jsonrpc": "2.0", "id": 1, "result": accept(name="Ann")}).response().status, 404)
        self.assertEqual(self.server.ran, [0])

    def test_a_question_that_is_never_answered(self):
        with mock.patch.object(sessions, "PATIENCE", 0.1):
            older = Older(self)
            stream = older.stream(older.call("greet"))
            stream.message()
            result = self.rest(stream)[-1]
        self.assertIs(result["result"]["isError"], True)
        self.assertIn("has not answered within", text(result))

    def test_bad_answers_are_told_to_the_model(self):
        for bad in ({"error": {"code": -1, "message": "no user"}}, {"action": "maybe"}, accept(name=3), [], None, "x"):
            with self.subTest(answer=bad):
                older = Older(self)
                stream = older.stream(older.call("greet"))
                older.answer(stream.message()["id"], bad)
                self.assertIs(self.rest(stream)[-1]["result"]["isError"], True)

    def test_capabilities_that_lack_cost_no_stream(self):
        for version, capabilities in ((NEWEST, {}), (THIRD, {"elicitation": {}}), (OLDEST, {"elicitation": {}})):
            older = Older(self, version, capabilities)
            answer = older.call("greet").response()
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "application/json"))
            self.assertIs(answer.json["result"]["isError"], True)
            answer = older.ask("prompts/get", {"name": "about"}).response()
            self.assertEqual((answer.status, answer.json["error"]["code"]), (200, -32603))

    def test_nobody_waits_in_a_thread(self):
        older = Older(self)
        older.call("greet").head()
        before = threading.active_count()
        streams = [older.stream(older.call("greet")) for _ in range(60)]
        ids = [stream.message()["id"] for stream in streams]
        self.assertLess(threading.active_count(), before + 10)
        for id in ids:
            older.answer(id, accept(name="Ann"))
        self.assertEqual({text(self.rest(stream)[0]) for stream in streams}, {f"Hello Ann, {NEWEST}"})

    def test_a_batch_that_asks(self):
        older = Older(self, THIRD)
        client = older.post([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sampled"}},
                             {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
        stream = older.stream(client)
        sent = [stream.message(), stream.message()]
        question = next(each for each in sent if "method" in each)
        older.answer(question["id"], SAID)
        answers = {each["id"]: each["result"] for each in sent + self.rest(stream) if "result" in each}
        self.assertEqual((answers[1]["content"][0]["text"], answers[2]), ("hello", {}))

    def test_rounds_that_ask_nothing(self):
        older = Older(self)
        with mock.patch.object(shim, "PAUSE", 0.01):
            stream = older.stream(older.call("wait"))
            self.assertEqual([text(each) for each in self.rest(stream)], ["done"])

    def test_modern_clients_beside_them(self):
        older = Older(self)
        stream = older.stream(older.call("greet"))
        question = stream.message()
        modern = self.client()
        modern.request(message("tools/call", {"name": "greet", "arguments": {}}))
        self.assertEqual(modern.response().json["result"]["resultType"], "input_required")
        older.answer(question["id"], accept(name="Ann"))
        self.assertEqual(text(self.rest(stream)[0]), f"Hello Ann, {NEWEST}")


class Switches(ServerCase):
    def test_without_sessions_nobody_is_asked(self):
        self.serve(asking(legacy_sessions=False))
        older = Older(self)
        self.assertIsNone(older.session)
        answer = older.call("greet").response()
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "application/json"))
        self.assertIs(answer.json["result"]["isError"], True)
        self.assertIn("keeps no session", text(answer.json))
        error = older.ask("prompts/get", {"name": "about"}).response().json["error"]
        self.assertEqual(error["code"], -32603)
        self.assertIn("keeps no session", error["message"])
        with mock.patch.object(shim, "PAUSE", 0.01):
            self.assertEqual(text(older.call("wait").response().json), "done", "which takes time, and no session")

    def test_without_the_shim_asking_is_an_error_that_names_the_revision(self):
        self.serve(asking(input_required_legacy_shim=False))
        for capabilities in (None, {}):
            older = Older(self, NEWEST, capabilities)
            for method, params in (("tools/call", {"name": "greet"}), ("prompts/get", {"name": "about"})):
                answer = older.ask(method, params).response()
                self.assertEqual((answer.status, answer.json["error"]["code"]), (200, -32603))
                self.assertIn("2026-07-28", answer.json["error"]["message"])


if __name__ == "__main__":
    unittest.main()
