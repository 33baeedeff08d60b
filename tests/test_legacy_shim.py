"""Handlers of 2026-07-28 that ask, served to older clients by real requests: the rounds, without a transport."""

import logging
import threading
import unittest
from typing import Any, Dict, List, Optional
from unittest import mock

from mcp_ref import InputRequired, ProtocolError, Server, ToolError, form, roots, sampling
from mcp_ref.base.errors import HTTPError, InternalError, MissingClientCapability
from mcp_ref.base.request import Request
from mcp_ref.base.versioning import LEGACY
from mcp_ref.legacy import revisions, shim
from mcp_ref.lib.strict_json import encode
from mcp_ref.patterns.notifications import Cancelled
from mcp_ref.server.invoke import Asks

NEWEST, SECOND, THIRD, OLDEST = LEGACY
ALL = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
NAME = {"name": {"type": "string"}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}
ROOTS = {"roots": [{"uri": "file:///a"}]}


def accepted(**fields: Any) -> Dict[str, Any]:
    return {"action": "accept", "content": fields}


class Client:
    """A client, its session and the outlet to it: what it was sent, and the answers that it owes.

    given: answers by method, which are sent at once.
    """

    def __init__(self, version: str = NEWEST, capabilities: Any = None, **given: Any) -> None:
        self.version = version
        self.capabilities = revisions.client_capabilities(version, ALL if capabilities is None else capabilities)
        self.given = {name.replace("_", "/"): answers for name, answers in given.items()}
        self.sent: List[Dict[str, Any]] = []
        self.withdrawn: List[Any] = []
        self.owed: Dict[Any, Any] = {}
        self.gone, self.kept, self.session = False, True, self
        self.held, self.room = 0, 1_000_000
        self.on_ask: Any = None

    def send(self, message: Dict[str, Any]) -> None:
        if self.gone:
            raise Cancelled()
        self.sent.append(message)

    def ask(self, outlet: Any, question: Dict[str, Any], hear: Any) -> str:
        id = f"q{sum('id' in each for each in self.sent) + 1}"
        outlet.send({"jsonrpc": "2.0", "id": id, **question})
        self.owed[id] = hear
        if self.on_ask is not None:
            self.on_ask(id)
        answers = self.given.get(question["method"])
        if answers:
            self.answer(id, answers.pop(0))
        return id

    def withdraw(self, id: Any) -> None:
        self.withdrawn.append(id)
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})

    def hold(self, octets: int) -> bool:
        room = octets <= 0 or self.held + octets <= self.room
        self.held += octets if room else 0
        return room

    def answer(self, id: Any, result: Any) -> None:
        said = result if isinstance(result, dict) and set(result) & {"error"} else {"result": result}
        self.owed.pop(id)({"jsonrpc": "2.0", **said})

    @property
    def asked(self) -> List[str]:
        return [each["method"] for each in self.sent if "id" in each]


class Call:
    """A request of a legacy client on its way: outcomes has what `finish` was given."""

    def __init__(self, server: Server, client: Client, method: str, session: bool = True, **params: Any) -> None:
        self.outcomes: List[Any] = []
        self.finished = threading.Event()
        self.client = client
        outlet: Any = client
        client.kept = session
        self.request = request = Request(lambda: b"")
        request.id, request.method, request.params, request.version = 7, method, params, client.version
        request.capabilities = client.capabilities if session else {}
        request.meta = params.pop("meta", {})
        self.conversation: Optional[shim.Conversation] = None
        outcome = shim.attempt(server.state, request, outlet)
        if isinstance(outcome, Asks):
            self.conversation = shim.Conversation(server.state, request, outlet, self.finish)
            self.conversation.put(outcome)
        else:
            self.finish(outcome)

    def finish(self, outcome: Any) -> None:
        self.outcomes.append(outcome)
        self.finished.set()

    @property
    def outcome(self) -> Any:
        assert len(self.outcomes) == 1, self.outcomes
        return self.outcomes[0]

    @property
    def text(self) -> str:
        return self.outcome["content"][0]["text"]


def tool(server: Server, client: Client, name: str, **arguments: Any) -> Call:
    return Call(server, client, "tools/call", name=name, arguments=arguments)


def server() -> Server:
    made = Server("asks", "1")

    @made.tool
    def greet(ctx) -> str:
        """Ask for a name."""
        answer = ctx.elicit("Who are you?", NAME)
        return f"Hello {answer['name']}, {ctx.protocol_version}" if answer.accepted else f"Hello: {answer.action}"

    @made.tool
    def three(ctx) -> str:
        """Ask three things at once."""
        answers = ctx.ask({"b": sampling("Say hello", 9), "a": form("Who?", NAME), "c": roots()})
        return " ".join((answers["a"]["content"]["name"], answers["b"]["content"]["text"],
                         answers["c"]["roots"][0]["uri"]))

    @made.tool
    def endless(ctx, rounds: int = 99) -> str:
        """Ask again and again."""
        for number in range(rounds):
            ctx.elicit(f"Question {number}?", NAME)
        return f"after {ctx.round}"

    @made.tool
    def visit(ctx) -> str:
        """Ask to open a URL."""
        return ctx.elicit_url("Please pay", "https://pay.example/").action

    @made.tool
    def wait(ctx) -> Any:
        """Come back later, thrice."""
        number = ctx.request_state or 0
        return "done" if number == 3 else InputRequired(request_state=number + 1)

    @made.tool
    def several(ctx) -> str:
        """Ask for several choices."""
        return ctx.elicit("Which?", {"kinds": {"type": "array", "items": {"type": "string", "enum": ["a"]}}}).action

    @made.tool
    def refused(ctx, code: int) -> str:
        """Ask, then fail."""
        ctx.elicit("Sure?", NAME)
        raise ProtocolError(code, "not today")

    @made.tool
    def broken(ctx) -> str:
        """Ask, then fail in a way nobody expected."""
        ctx.elicit("Sure?", NAME)
        raise (ToolError("no seat") if ctx.client_capabilities.get("roots") is None else RuntimeError("secret"))

    @made.tool
    def leave(ctx) -> str:
        """Ask, then find that nobody waits."""
        ctx.elicit("Sure?", NAME)
        ctx.check_cancelled()
        return "done"

    @made.prompt
    def about(ctx) -> str:
        """Ask for a topic."""
        return "About " + ctx.elicit("What about?", NAME)["name"]

    @made.resource("test://endless")
    def resource(ctx) -> str:
        """Ask on."""
        for number in range(99):
            ctx.elicit(f"Question {number}?", NAME)
        return ""

    return made


class Rounds(unittest.TestCase):
    def setUp(self):
        self.server = server()

    def test_a_tool_asks_and_is_answered(self):
        for version in (NEWEST, SECOND):
            client = Client(version)
            call = tool(self.server, client, "greet")
            self.assertEqual(call.outcomes, [], "nobody has answered")
            question = client.sent[0]
            self.assertEqual({**question, "params": None},
                             {"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": None})
            self.assertEqual(question["params"].get("mode"), "form" if version == NEWEST else None)
            self.assertEqual(question["params"]["requestedSchema"]["properties"], NAME)
            client.answer("q1", accepted(name="Ann"))
            self.assertEqual(call.text, f"Hello Ann, {version}")
            self.assertEqual(client.withdrawn, [])

    def test_what_is_not_accepted_reaches_the_handler_as_that(self):
        for action in ("decline", "cancel"):
            client = Client(elicitation_create=[{"action": action, "content": {"name": "Ann"}}])
            self.assertEqual(tool(self.server, client, "greet").text, f"Hello: {action}")

    def test_the_questions_of_a_round_are_asked_at_once_and_answered_in_any_order(self):
        answers = {"elicitation/create": accepted(name="Ann"), "sampling/createMessage": SAID, "roots/list": ROOTS}
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
            client = Client()
            call = tool(self.server, client, "three")
            self.assertEqual(sorted(client.asked), sorted(answers))
            for index in order:
                self.assertEqual(call.outcomes, [])
                client.answer(client.sent[index]["id"], answers[client.sent[index]["method"]])
            self.assertEqual(call.text, "Ann hello file:///a")

    def test_answers_that_come_while_the_rest_is_still_being_sent(self):
        client = Client(elicitation_create=[accepted(name="Ann")], sampling_createMessage=[SAID], roots_list=[ROOTS])
        self.assertEqual(tool(self.server, client, "three").text, "Ann hello file:///a")
        self.assertEqual(client.withdrawn, [])

    def test_answers_from_many_threads_begin_one_round(self):
        for _ in range(30):
            client = Client()
            call = tool(self.server, client, "three")
            later, runs = call.request.later, []
            call.request.later = lambda work, later=later, runs=runs: (runs.append(work), later(work))[1]
            answers = {"elicitation/create": accepted(name="Ann"), "sampling/createMessage": SAID, "roots/list": ROOTS}
            threads = [threading.Thread(target=client.answer, args=(each["id"], answers[each["method"]]))
                       for each in list(client.sent)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((call.text, len(runs)), ("Ann hello file:///a", 1))

    def test_the_next_round_is_run_by_a_thread_of_the_transport(self):
        client = Client()
        call = tool(self.server, client, "greet")
        work: List[Any] = []
        call.request.later = work.append
        client.answer("q1", accepted(name="Ann"))
        self.assertEqual(call.outcomes, [], "the answer's own thread ran the handler")
        work.pop()()
        self.assertEqual(call.text, f"Hello Ann, {NEWEST}")

    def test_a_form_without_a_required_field_is_asked_again(self):
        client = Client(elicitation_create=[accepted(), accepted(name="Ann")])
        self.assertEqual(tool(self.server, client, "greet").text, f"Hello Ann, {NEWEST}")
        self.assertEqual(len(client.asked), 2)

    def test_eight_rounds_and_no_ninth(self):
        client = Client(elicitation_create=[accepted(name="Ann")] * 8)
        call = tool(self.server, client, "endless", rounds=8)
        self.assertEqual(call.text, "after 8")
        self.assertEqual(len(call.request.params["inputResponses"]), 1, "the newest, as a modern client sends them")
        for method, params in (("tools/call", {"name": "endless", "arguments": {}}),
                               ("resources/read", {"uri": "test://endless"})):
            client = Client(elicitation_create=[accepted(name="Ann")] * 20)
            error = Call(self.server, client, method, **params).outcome
            self.assertIsInstance(error, InternalError)
            self.assertEqual((error.code, str(error)),
                             (-32603, f"-32603 {method} asks its client for more than 8 rounds"))
            self.assertEqual(len(client.asked), 8)

    def test_rounds_that_ask_nothing_are_paced(self):
        with mock.patch.object(shim, "time") as clock:
            self.assertEqual(tool(self.server, Client(), "wait").text, "done")
            self.assertEqual(clock.sleep.mock_calls, [mock.call(shim.PAUSE)] * 3)
            with mock.patch("mcp_ref.base.request._at_once", side_effect=AssertionError("nobody comes later")):
                self.assertEqual(Call(self.server, Client(), "tools/call", session=False, name="wait").text, "done")
        self.assertGreaterEqual(shim.PAUSE, 0.05)

    def test_prompts_ask_too(self):
        call = Call(self.server, Client(elicitation_create=[accepted(name="cats")]), "prompts/get", name="about")
        self.assertEqual(call.outcome["messages"][0]["content"]["text"], "About cats")

    def test_what_the_handler_reports_later_goes_to_the_stream(self):
        @self.server.tool
        def steps(ctx) -> str:
            """Report after an answer."""
            ctx.elicit("Go?", NAME)
            ctx.progress(1, message="half")
            return "done"
        for version, message in ((SECOND, "half"), (OLDEST, None)):
            client = Client(SECOND)
            call = tool(self.server, client, "steps")
            call.request.version, call.request.meta = version, {"progressToken": "t"}
            client.answer("q1", accepted(name="Ann"))
            self.assertEqual(client.sent[1]["params"].get("message"), message)
            self.assertEqual(call.text, "done")

    def test_progress_only_grows_though_the_handler_begins_anew(self):
        @self.server.tool
        def steps(ctx) -> str:
            """Report before and after an answer."""
            ctx.progress(1)
            ctx.elicit("Go?", NAME)
            ctx.progress(1)
            ctx.progress(2)
            return "done"
        client = Client()
        call = Call(self.server, client, "tools/call", name="steps", meta={"progressToken": "t"})
        client.answer("q1", accepted(name="Ann"))
        self.assertEqual(call.text, "done")
        self.assertEqual([each["params"]["progress"] for each in client.sent if "id" not in each], [1, 2])

    def test_a_url_is_asked_for_with_an_id_made_up(self):
        client = Client(elicitation_create=[{"action": "accept"}])
        self.assertEqual(tool(self.server, client, "visit").text, "accept")
        self.assertRegex(client.sent[0]["params"].pop("elicitationId"), r"^[\w-]{22}$")
        self.assertEqual(client.sent[0]["params"], {"mode": "url", "message": "Please pay", "url": "https://pay.example/"})


class Failures(unittest.TestCase):
    """Told by isError to who calls a tool, by -32603 to the others."""

    def setUp(self):
        self.server = server()
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def failed(self, call: Call, text: str) -> None:
        self.assertEqual(call.outcome, {"resultType": "complete", "isError": True,
                                        "content": [{"type": "text", "text": text}]})

    def test_capabilities_of_the_whole_round_are_checked_before_any_is_asked(self):
        cases = [({"sampling": {}, "roots": {}}, "three", "elicitation (form)"), ({"roots": {}}, "three",
                 "sampling and elicitation (form)"), ({}, "greet", "elicitation (form)")]
        for capabilities, name, missing in cases:
            client = Client(NEWEST, capabilities)
            self.failed(tool(self.server, client, name),
                        f"tools/call needs the client's {missing}, which the client has not declared")
            self.assertEqual(client.sent, [])
        error = Call(self.server, Client(NEWEST, {}), "prompts/get", name="about").outcome
        self.assertEqual((error.code, error.message), (
            -32603, "prompts/get needs the client's elicitation (form), which the client has not declared"))

    def test_a_later_round_is_checked_as_well(self):
        @self.server.tool
        def then(ctx) -> str:
            """Ask, then sample."""
            ctx.elicit("Go?", NAME)
            return str(ctx.sample("Say", 1))
        client = Client(NEWEST, {"elicitation": {}}, elicitation_create=[accepted(name="a")])
        self.failed(tool(self.server, client, "then"),
                    "tools/call needs the client's sampling, which the client has not declared")
        self.assertEqual(client.asked, ["elicitation/create"])

    def test_a_url_is_for_the_newest_only(self):
        for version in (SECOND, THIRD, OLDEST):
            client = Client(version)
            self.failed(tool(self.server, client, "visit"),
                        "tools/call needs the client's elicitation (url), which the client has not declared")
            self.assertEqual(client.sent, [])

    def test_no_session_no_questions(self):
        client = Client()
        self.failed(Call(self.server, client, "tools/call", session=False, name="greet", arguments={}),
                    "tools/call needs the client's elicitation (form), which this server keeps no session to ask in")
        error = Call(self.server, client, "prompts/get", session=False, name="about").outcome
        self.assertIn("keeps no session", error.message)
        self.assertEqual(client.sent, [])

    def test_a_form_that_the_revision_cannot_put(self):
        client = Client(SECOND)
        self.failed(tool(self.server, client, "several"), 'tools/call cannot ask the client: field "kinds" takes '
                                                          "several choices, which revision 2025-06-18 has no form for")
        self.assertEqual(client.sent, [])

    def test_bad_answers(self):
        bad = "tools/call got what is no ElicitResult for its elicitation/create: Invalid params: "
        cases = [
            ({"error": {"code": -1, "message": "No user"}},
             "tools/call got an error for its elicitation/create: \"No user\""),
            ({"error": "no"}, "tools/call got an error for its elicitation/create: \"no\""),
            ({"error": {}}, "tools/call got an error for its elicitation/create: null"),
            ({"action": "perhaps"}, bad + "inputResponses.a.action must be accept, decline or cancel"),
            (accepted(name=3), bad), ([], bad), (None, bad),
        ]
        for answer, text in cases:
            with self.subTest(answer=answer):
                client = Client()
                call = tool(self.server, client, "three")
                asked = {each["method"]: each["id"] for each in client.sent}
                client.answer(asked["elicitation/create"], answer)
                self.assertTrue(call.text.startswith(text), call.text)
                self.assertIs(call.outcome["isError"], True)
                self.assertEqual(set(client.withdrawn), {asked["sampling/createMessage"], asked["roots/list"]})
                self.assertEqual([each["method"] for each in client.sent[3:]], ["notifications/cancelled"] * 2)
        for method, answer, named in (("sampling/createMessage", {"role": "assistant"}, "CreateMessageResult"),
                                      ("roots/list", {"roots": [{"uri": "https://a.example"}]}, "ListRootsResult")):
            client = Client()
            call = tool(self.server, client, "three")
            client.answer(next(each["id"] for each in client.sent if each["method"] == method), answer)
            self.assertIn(f"got what is no {named} for its {method}", call.text)
            self.assertEqual(len(client.withdrawn), 2)
        for more in ({"jsonrpc": "1.0"}, {"error": {"code": 1, "message": "No"}}):
            client = Client()
            call = tool(self.server, client, "three")
            asked = next(each["id"] for each in client.sent if each["method"] == "elicitation/create")
            client.owed.pop(asked)({"jsonrpc": "2.0", "result": accepted(name="Bo"), **more})
            self.assertIn("got what is no JSON-RPC response for its elicitation/create", call.text)
        error = Call(self.server, Client(elicitation_create=[{"error": {"code": 1, "message": "No"}}]), "prompts/get",
                     name="about").outcome
        self.assertEqual((error.code, error.message),
                         (-32603, 'prompts/get got an error for its elicitation/create: "No"'))

    def test_what_waits_is_bounded_with_what_has_come(self):
        client = Client()
        call = tool(self.server, client, "three")
        waiting = client.held
        self.assertGreater(waiting, 100)
        asked = {each["method"]: each["id"] for each in client.sent}
        client.room = waiting + 50
        client.answer(asked["roots/list"], {"roots": []})
        self.assertGreater(client.held, waiting)
        client.answer(asked["elicitation/create"], accepted(name="x" * 100))
        self.assertIn("too much waits for clients already", call.text)
        self.assertEqual((client.held, client.withdrawn), (0, [asked["sampling/createMessage"]]))
        client = Client()
        client.room = 100
        self.assertIn("too much waits", tool(self.server, client, "three").text)
        self.assertEqual((client.held, client.sent), (0, []))
        client = Client()
        call = tool(self.server, client, "endless", rounds=8)
        for count in range(1, 8):
            client.answer(f"q{count}", accepted(name="Bo"))
            self.assertEqual(client.held, len(encode(call.request.params)), "what waits, and no round before it")
        client.answer("q8", accepted(name="Bo"))
        self.assertEqual((call.text, client.held), ("after 8", 0))

    def test_the_first_failure_keeps_the_rest_from_being_sent(self):
        client = Client(sampling_createMessage=[{"error": {"message": "no"}}])
        call = tool(self.server, client, "three")
        self.assertIn("got an error", call.text)
        self.assertEqual(client.asked[-1], "sampling/createMessage")
        self.assertLess(len(client.asked), 3)
        for id in list(client.owed):
            client.answer(id, accepted(name="late"))
        self.assertEqual(len(call.outcomes), 1)

    def test_a_failure_while_a_question_is_being_sent_withdraws_that_too(self):
        client = Client()

        def fail_the_first(id: str) -> None:
            if id == "q2":
                client.answer("q1", {"error": {"message": "no"}})
        client.on_ask = fail_the_first
        call = tool(self.server, client, "three")
        self.assertIn("got an error", call.text)
        self.assertEqual(client.withdrawn, ["q2"])
        self.assertEqual(len(client.asked), 2)

    def test_the_rest_is_answered_after_the_failure(self):
        client = Client()
        call = tool(self.server, client, "three")
        ids = [each["id"] for each in client.sent]
        client.answer(ids[0], {"error": {"message": "no"}})
        for id in ids[1:]:
            client.owed.pop(id)({"jsonrpc": "2.0", "result": accepted(name="late")})
        self.assertEqual(len(call.outcomes), 1)

    def test_a_handler_says_what_it_needs_by_asking(self):
        @self.server.prompt
        def needs(ctx) -> str:
            """Raise what is not a handler's to raise."""
            raise MissingClientCapability("I need it", {"sampling": {}})
        error = Call(self.server, Client(), "prompts/get", name="needs").outcome
        self.assertEqual((error.code, error.message), (-32603, "Internal error"))

    def test_errors_of_the_handler(self):
        def after_an_answer(name: str, **arguments: Any) -> Any:
            return tool(self.server, Client(elicitation_create=[accepted(name="a")]), name, **arguments).outcome
        self.assertEqual(after_an_answer("refused", code=7).code, 7)
        self.assertEqual((after_an_answer("refused", code=-32020).code, after_an_answer("refused", code=-32021).code),
                         (-32603, -32603))
        self.assertNotIn("secret", str(after_an_answer("broken")))

        @self.server.prompt
        def bad(ctx) -> str:
            """Ask, then fail."""
            ctx.elicit("Go?", NAME)
            raise SystemExit("secret")
        error = Call(self.server, Client(elicitation_create=[accepted(name="a")]), "prompts/get", name="bad").outcome
        self.assertEqual((error.code, error.message), (-32603, "Internal error"))

    def test_a_scope_that_is_lacking_later(self):
        client = Client()
        call = tool(self.server, client, "greet")
        with mock.patch.object(shim, "attempt", side_effect=HTTPError(403)):
            client.answer("q1", accepted(name="Ann"))
        self.failed(call, "tools/call is not permitted any more")
        self.server.state.methods = {"tools/call": mock.Mock(side_effect=HTTPError(403))}
        with self.assertRaises(HTTPError):
            tool(self.server, client, "greet")

    def test_the_strict_mode_names_the_revision(self):
        self.server.state.input_required_legacy_shim = False
        for capabilities in (ALL, {}):
            for method, params in (("tools/call", {"name": "greet"}), ("prompts/get", {"name": "about"})):
                client = Client(NEWEST, capabilities)
                error = Call(self.server, client, method, **params).outcome
                self.assertEqual(error.code, -32603)
                self.assertEqual(error.message, f"{method} asks its client, which it does in protocol revision "
                                                "2026-07-28 only; this request is served in 2025-11-25")
                self.assertEqual(client.sent, [])


class Cancellation(unittest.TestCase):
    def setUp(self):
        self.server = server()

    def test_a_cancelled_request_withdraws_its_questions_and_has_no_answer(self):
        client = Client()
        call = tool(self.server, client, "three")
        client.answer("q2", {"elicitation/create": accepted(name="Ann")}.get(client.sent[1]["method"], SAID))
        call.request.cancelled = True
        call.conversation.cancel()
        self.assertEqual((call.outcomes, sorted(client.withdrawn)), ([None], ["q1", "q3"]))
        call.conversation.cancel()
        for id in list(client.owed):
            client.answer(id, ROOTS)
        self.assertEqual(call.outcomes, [None])

    def test_cancelled_while_the_questions_are_being_sent(self):
        client = Client()
        holder: List[Request] = []
        client.on_ask = lambda id: holder or holder.append(id) or setattr(self.seen, "cancelled", True)
        later = shim.attempt

        def attempt(state: Any, request: Request, outlet: Any) -> Any:
            self.seen = request
            return later(state, request, outlet)
        with mock.patch.object(shim, "attempt", attempt):
            call = tool(self.server, client, "three")
        self.assertEqual(call.outcomes, [None])
        self.assertEqual(sorted(client.withdrawn), sorted(each["id"] for each in client.sent if "id" in each))

    def test_cancelled_between_the_answer_and_the_next_round(self):
        client = Client()
        call = tool(self.server, client, "greet")
        work: List[Any] = []
        call.request.later = work.append
        client.answer("q1", accepted(name="Ann"))
        call.conversation.cancel()
        with mock.patch.object(shim, "attempt") as attempt:
            work.pop()()
        self.assertEqual((call.outcomes, attempt.mock_calls), ([None], []))

    def test_cancelled_while_the_handler_runs(self):
        client = Client()
        call = tool(self.server, client, "leave")
        call.request.cancelled = True
        client.answer("q1", accepted(name="Ann"))
        self.assertEqual(call.outcomes, [None])

    def test_a_client_that_is_gone(self):
        client = Client()
        client.gone = True
        self.assertEqual(tool(self.server, client, "three").outcomes, [None])
        client = Client()
        call = tool(self.server, client, "three")
        client.gone = True
        call.conversation.cancel()
        self.assertEqual((call.outcomes, len(client.withdrawn)), ([None], 3))


if __name__ == "__main__":
    unittest.main()
