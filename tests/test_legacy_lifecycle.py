"""basic/lifecycle of 2025-11-25 and before: initialize, and what a session is served before and after."""

import json
import unittest

from mcp_ref import Server
from mcp_ref.authorization.resource_server import ResourceServer, static_tokens
from mcp_ref.base.errors import InvalidParams, MethodNotFound, ProtocolError
from mcp_ref.base.peer import Peer
from mcp_ref.base.request import Request

from .support import Older, accept, call, echo_server, full_server, message, not_on_wasm, proves, stdio


def request(method, params=None, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


class Pipe(Peer):
    """A peer that keeps what it is sent."""

    def __init__(self, server):
        super().__init__()
        self.server, self.sent = server, []

    def send(self, message):
        self.sent.append(message)

    def line(self, body):
        """The answer to a line, None where there is none yet."""
        raw = json.dumps(body).encode()
        answer = self.server.handle(Request(lambda: raw, notify=self.send, peer=self))
        found = json.loads(answer.body) if answer.body else None
        for each in found if isinstance(found, list) else [found]:
            self.in_flight.pop(each and each.get("id"), None)
        return found


class Initialize(unittest.TestCase):
    def test_each_revision_is_agreed_on_and_an_unknown_one_is_answered_by_the_newest(self):
        for asked, agreed in (("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2025-03-26", "2025-03-26"),
                              ("2024-11-05", "2024-11-05"), ("2026-07-28", "2025-11-25"), ("1.0", "2025-11-25")):
            server = full_server(instructions="be kind")
            reply = Older(server, asked).initialize()
            self.assertEqual((reply.status, reply.result["protocolVersion"]), (200, agreed))
            self.assertEqual(set(reply.result), {"protocolVersion", "capabilities", "serverInfo", "instructions"})
            self.assertEqual(reply.result["serverInfo"], {"name": "full", "version": "1"})
            self.assertEqual("completions" in reply.result["capabilities"], agreed > "2025")
            self.assertEqual(reply.result["capabilities"]["resources"], {"listChanged": True, "subscribe": True})

    def test_malformed(self):
        good = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        for name, value in (("protocolVersion", None), ("protocolVersion", 1), ("capabilities", None),
                            ("capabilities", []), ("clientInfo", "x"), ("_meta", 1)):
            server = echo_server()
            reply = Older(server).request("initialize", {**good, name: value})
            self.assertEqual((reply.status, reply.error["code"], reply.headers), (200, -32602, {}), name)
            self.assertEqual(len(server.state.sessions), 0, "no session stays behind")

    def test_twice(self):
        client = Older(echo_server())
        client.initialize()
        again = client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        self.assertEqual((again.status, again.error["code"]), (400, -32600))
        self.assertIn("already", again.error["message"])
        self.assertEqual(client.call("echo", text="x").text, "x", "the session lives on")

    def test_what_a_handler_sees(self):
        server, seen = Server("s", "1"), []

        @server.tool
        def look(ctx) -> str:
            seen.append((ctx.protocol_version, ctx.client_info, ctx.client_capabilities, ctx.round))
            return "seen"

        client = Older(server, "2025-06-18", {"elicitation": {}, "roots": {"listChanged": True}})
        client.initialize()
        self.assertEqual(client.call("look").text, "seen")
        call(server, "look", capabilities={})
        self.assertEqual(seen[0], ("2025-06-18", {"name": "older", "version": "1"},
                                   {"elicitation": {"form": {}}, "roots": {"listChanged": True}}, 0))
        self.assertEqual(seen[1][0], "2026-07-28")

    def test_initialized_without_its_session_hinders_nobody(self):
        """As a widely used connector sends it."""
        client = Older(echo_server())
        client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}, mcp_session_id=None)
        begun = client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        self.assertEqual(client.notify("notifications/initialized").status, 202)
        client.session = begun.headers["Mcp-Session-Id"]
        self.assertEqual(client.call("echo", text="x").text, "x")

    def test_an_implementation_with_large_icons(self):
        server, seen = Server("s", "1"), []
        server.add_tool(lambda ctx: seen.append(ctx.client_info), name="look")
        client = Older(server)
        info = {"name": "x", "version": "1", "icons": [{"src": "data:" + "x" * 5000}]}
        reply = client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        client.session = reply.headers["Mcp-Session-Id"]
        client.call("look")
        self.assertEqual(seen, [{"name": "x", "version": "1"}])
        info["name"] = "x" * 5000
        reply = Older(server).request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                                     "clientInfo": info})
        self.assertEqual(reply.error["code"], -32602)


class Served(unittest.TestCase):
    def setUp(self):
        self.server = full_server()
        self.client = Older(self.server)
        self.client.initialize()

    @proves("C068")
    def test_nothing_modern_reaches_it(self):
        @self.server.tool
        def pair() -> list:
            return [1, 2]

        for reply in (self.client.request("tools/list"), self.client.call("pair"),
                      self.client.request("resources/read", {"uri": "demo://one"}),
                      self.client.call("echo", text="x"), self.client.request("prompts/list")):
            self.assertEqual({"resultType", "ttlMs", "cacheScope", "_meta"} & set(reply.result), set(), reply.result)
        self.assertNotIn("structuredContent", self.client.call("pair").result)
        self.assertEqual(self.client.call("pair").text, "[1,2]")
        tools = {tool["name"]: tool for tool in self.client.request("tools/list").result["tools"]}
        self.assertNotIn("outputSchema", tools["pair"])
        self.assertEqual(call(self.server, "pair").result["structuredContent"], [1, 2])

    @proves("C072")
    def test_an_unknown_method_is_an_answer(self):
        for method in ("no/such", "server/discovery", "subscriptions/listen", "tasks/get"):
            reply = self.client.request(method)
            self.assertEqual((reply.status, reply.error["code"], reply.body["id"]),
                             (200, -32601, self.client.count), method)
        bare = Older(Server("bare", "1"))
        bare.initialize()
        for method in ("tools/list", "logging/setLevel", "resources/subscribe", "completion/complete"):
            self.assertEqual(bare.request(method).error["code"], -32601, method)

    def test_errors_are_answers_with_the_codes_of_the_time(self):
        for method, params, code in (("resources/read", {"uri": "nope://x"}, -32002),
                                     ("tools/call", {"name": "x"}, -32602),
                                     ("prompts/get", {"name": 7}, -32602), ("tools/list", {"cursor": "x"}, -32602),
                                     ("tools/list", {"_meta": 7}, -32602),
                                     ("tools/list", {"_meta": {"progressToken": 1.5}}, -32602),
                                     ("resources/read", {"uri": "demo://broken"}, -32603),
                                     ("resources/subscribe", {"uri": "nope://x"}, -32002),
                                     ("resources/unsubscribe", {"uri": 7}, -32602)):
            reply = self.client.request(method, params)
            self.assertEqual((reply.status, reply.error["code"]), (200, code), method)
        self.assertEqual(self.client.request("resources/read", {"uri": "nope://x"}).error["data"], {"uri": "nope://x"})
        self.assertTrue(self.client.call("broken").result["isError"])

    def test_what_a_handler_raises(self):
        self.server.add_prompt(lambda: (_ for _ in ()).throw(InvalidParams("no")), name="no")
        self.server.add_prompt(lambda: (_ for _ in ()).throw(MethodNotFound("no")), name="none")
        self.server.add_prompt(lambda: (_ for _ in ()).throw(ProtocolError(7, "mine", {"a": 1})), name="mine")
        self.server.add_prompt(lambda: (_ for _ in ()).throw(ProtocolError(7, "mine", {1, 2})), name="odd")
        codes = [self.client.request("prompts/get", {"name": name}).error["code"] for name in
                 ("no", "none", "mine", "odd")]
        self.assertEqual(codes, [-32602, -32601, 7, -32603])

    def test_ping(self):
        self.assertEqual(self.client.request("ping").result, {})

    def test_a_level_of_the_session(self):
        def said(**arguments):
            return [each["params"]["level"] for each in self.client.call("work").sent]

        self.assertEqual(said(), ["info"])
        for level in ("loud", None, 7, ["info"]):
            self.assertEqual(self.client.request("logging/setLevel", {"level": level}).error["code"], -32602)
        self.assertEqual(self.client.request("logging/setLevel", {"level": "error"}).result, {})
        self.assertEqual(said(), [])
        other = Older(self.server)
        other.initialize()
        self.assertEqual([each["params"]["level"] for each in other.call("work").sent], ["info"])

    def test_progress(self):
        reply = self.client.request("tools/call", {"name": "work", "_meta": {"progressToken": "t"}})
        self.assertEqual([each["params"]["progressToken"] for each in reply.sent if "progress" in each["method"]],
                         ["t", "t"])

    def test_no_answers_but_those_that_were_asked_for(self):
        """What a modern client sends with its retry means nothing here."""
        reply = self.client.request("tools/call", {"name": "echo", "arguments": {"text": "x"}, "requestState": "v1.x.y",
                                                   "inputResponses": {"who": {"action": "accept"}}})
        self.assertEqual(reply.text, "x")

    def test_notifications_and_responses_have_no_body(self):
        for method in ("notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed",
                       "notifications/progress", "nonsense"):
            reply = self.client.notify(method, {"requestId": [], "progressToken": 1})
            self.assertEqual((reply.status, reply.body), (202, None), method)
        for body in ({"jsonrpc": "2.0", "id": 7, "result": {}}, {"jsonrpc": "2.0", "id": "x", "error": {}},
                     {"jsonrpc": "2.0", "result": {}}, {"id": [], "result": {}}):
            for session in (self.client.session, None):
                reply = self.client.send(body, mcp_session_id=session)
                self.assertEqual((reply.status, reply.body), (202, None), "a response to no request")

    def test_malformed_messages(self):
        for body, id in (({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 1), ({"jsonrpc": "2.0", "id": 4}, 4),
                         ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None), (7, None), ("x", None), ({}, None)):
            reply = self.client.send(body)
            self.assertEqual((reply.status, reply.error["code"], reply.body.get("id")), (400, -32600, id), body)

    def test_the_version_header(self):
        for value in ("2025-11-25", "2025-06-18", "2024-11-05", None, ""):
            self.assertEqual(self.client.request("ping", mcp_protocol_version=value).status, 200, value)
        reply = self.client.request("ping", mcp_protocol_version="2025-01-01")
        self.assertEqual((reply.status, reply.error["code"]), (400, -32600))
        self.assertEqual(self.client.notify("notifications/x", mcp_protocol_version="x").status, 400)

    def test_an_id_that_is_under_way(self):
        def again(ctx) -> str:
            self.client.count -= 1
            return str(self.client.request("ping").error["code"])

        self.server.add_tool(again)
        self.assertEqual(self.client.call("again").text, "-32600")

    def test_rate_limits(self):
        client = Older(echo_server(rate_limits={"tools/call": 1}))
        client.initialize()
        replies = [client.call("echo", text="x") for _ in range(3)]
        self.assertEqual((replies[-1].status, replies[-1].error["code"]), (200, 1429))


class Tokens(unittest.TestCase):
    def setUp(self):
        tokens = static_tokens({"ann": {"sub": "ann", "scope": "mcp"}, "bob": {"sub": "bob", "scope": "mcp write"}})
        self.server = echo_server(auth=ResourceServer(tokens, "http://127.0.0.1:8000/mcp", ["https://as.example"],
                                                      scopes=["mcp"]))
        self.server.add_tool(lambda ctx: ctx.principal["sub"], name="who", scopes=["write"])
        self.server.add_resource("demo://x", lambda: "x", name="x", scopes=["write"])

    def client(self, name):
        return Older(self.server, authorization=f"Bearer {name}")

    def test_a_token_with_every_message(self):
        self.assertEqual(Older(self.server).initialize().status, 401)
        ann = self.client("ann")
        ann.initialize()
        self.assertEqual(ann.call("echo", text="x").text, "x")
        self.assertEqual(Older(self.server).request("ping", mcp_session_id=ann.session).status, 401)

    def test_a_session_is_its_principals(self):
        ann, bob = self.client("ann"), self.client("bob")
        ann.initialize()
        bob.session = ann.session
        for reply in (bob.call("echo", text="x"), bob.notify("notifications/initialized"),
                      bob.send(b"", "DELETE"), bob.send(b"", "GET")):
            self.assertEqual(reply.status, 404)
        self.assertEqual(ann.call("echo", text="x").text, "x")

    def test_scopes(self):
        ann, bob = self.client("ann"), self.client("bob")
        ann.initialize()
        bob.initialize()
        self.assertEqual(bob.call("who").text, "bob")
        self.assertEqual(len(ann.request("tools/list").result["tools"]), 1)
        for reply in (ann.call("who"), ann.request("resources/read", {"uri": "demo://x"}),
                      ann.request("resources/subscribe", {"uri": "demo://x"})):
            self.assertEqual(reply.status, 403)
            self.assertIn("write", reply.headers["WWW-Authenticate"])
        self.assertEqual(self.server.state.sessions.find(ann.session, "x"), None)


class Alone(unittest.TestCase):
    """Without sessions, for processes that share nothing."""

    def setUp(self):
        self.server = full_server(legacy_sessions=False)
        self.client = Older(self.server)

    def test_no_id_is_issued_and_none_is_needed(self):
        reply = self.client.initialize()
        self.assertEqual((reply.status, reply.headers), (200, {}))
        self.assertEqual(reply.result["capabilities"],
                         {"tools": {}, "resources": {}, "prompts": {}, "completions": {}})
        for session in (None, "of-another-process"):
            self.assertEqual(self.client.request("tools/call", {"name": "echo", "arguments": {"text": "x"}},
                                                 mcp_session_id=session).text, "x")
        self.assertEqual(self.client.request("ping").result, {})
        for method in ("logging/setLevel", "resources/subscribe"):
            self.assertEqual(self.client.request(method, {"uri": "demo://one"}).error["code"], -32601)
        self.assertEqual(len(self.server.state.sessions), 0)

    def test_a_question_is_told_the_model(self):
        reply = self.client.call("ask")
        self.assertEqual((reply.result["isError"], reply.sent), (True, []))
        self.assertIn("session", reply.text)
        self.assertEqual(self.client.call("work").sent, [], "an answer is one JSON object")

    def test_the_header_is_the_version(self):
        self.server.tool(name="v")(lambda ctx: ctx.protocol_version)
        for value, served in (("2025-06-18", "2025-06-18"), (None, "2025-03-26")):
            reply = self.client.request("tools/call", {"name": "v"}, mcp_protocol_version=value)
            self.assertEqual(reply.text, served)

    def test_no_batch(self):
        self.assertEqual(self.client.send([request("ping")]).status, 400)


class Batches(unittest.TestCase):
    def setUp(self):
        self.server = full_server()
        self.client = Older(self.server, "2025-03-26")
        self.client.initialize()

    def test_each_message_as_if_it_came_alone(self):
        reply = self.client.send([
            request("ping", id=1), {"jsonrpc": "2.0", "method": "notifications/x"}, request("no/such", id="b"), 7,
            {"jsonrpc": "2.0", "id": 9, "result": {}}, request("resources/read", {"uri": "nope://x"}, id=3),
            request("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, id=4),
            request("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}}, id=5)])
        self.assertEqual(reply.status, 200)
        got = [(each.get("id"), each.get("error", {}).get("code")) for each in reply.body]
        self.assertEqual(got, [(1, None), ("b", -32601), (None, -32600), (3, -32002), (4, None), (5, -32600)])
        self.assertEqual(reply.body[4]["result"]["content"][0]["text"], "hi")

    def test_nothing_to_answer(self):
        reply = self.client.send([{"jsonrpc": "2.0", "method": "notifications/x"},
                                  {"jsonrpc": "2.0", "id": 9, "result": {}}])
        self.assertEqual((reply.status, reply.body), (202, None))

    def test_bounds(self):
        self.assertEqual(self.client.send([]).error["code"], -32600)
        self.assertEqual(len(self.client.send([request("ping", id=i) for i in range(50)]).body), 50)
        self.assertEqual(self.client.send([request("ping", id=i) for i in range(51)]).error["code"], -32600)

    def test_where_the_revision_has_none(self):
        for version in ("2025-11-25", "2025-06-18"):
            client = Older(self.server, version)
            client.initialize()
            reply = client.send([request("ping")])
            self.assertEqual((reply.status, reply.error["code"]), (400, -32600))
        self.assertEqual(Older(self.server).send([request("ping")]).status, 400)

    def test_a_scope_that_one_of_them_lacks(self):
        tokens = static_tokens({"ann": {"sub": "ann"}})
        server = echo_server(auth=ResourceServer(tokens, "http://127.0.0.1:8000/mcp", ["https://as.example"]))
        server.add_tool(lambda: "x", name="scoped", scopes=["write"])
        client = Older(server, "2025-03-26", authorization="Bearer ann")
        client.initialize()
        reply = client.send([request("ping", id=1), request("tools/call", {"name": "scoped"}, id=2)])
        self.assertEqual([each.get("error", {}).get("code") for each in reply.body], [None, -32600])


class Pipes(unittest.TestCase):
    """A connection that lasts has one session, its own."""

    def setUp(self):
        self.server = full_server()
        self.pipe = Pipe(self.server)

    def begin(self, version="2025-11-25"):
        return self.pipe.line(request("initialize", {"protocolVersion": version, "clientInfo": {"name": "p"},
                                                     "capabilities": {"elicitation": {}}}))

    def test_initialize_comes_first(self):
        self.assertEqual(self.pipe.line(request("tools/list"))["error"]["code"], -32600)
        self.assertEqual(self.pipe.line(request("ping"))["result"], {})
        self.assertEqual(self.begin()["result"]["protocolVersion"], "2025-11-25")
        self.assertEqual(self.begin()["error"]["code"], -32600)
        self.assertIsNone(self.pipe.line({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        self.assertEqual(len(self.pipe.line(request("tools/list"))["result"]["tools"]), 4)
        self.assertEqual(len(self.server.state.sessions), 0)

    def test_discover_then_initialize_then_a_call(self):
        self.assertIn("supportedVersions", self.pipe.line(message("server/discover"))["result"])
        self.begin()
        reply = self.pipe.line(request("tools/call", {"name": "echo", "arguments": {"text": "x"}}))
        self.assertNotIn("resultType", reply["result"])
        self.assertEqual(self.pipe.line(message("tools/list"))["result"]["resultType"], "complete")

    @not_on_wasm("questions lapse by a thread")
    def test_a_question_and_its_answer_on_the_pipe(self):
        self.begin()
        self.assertIsNone(self.pipe.line(request("tools/call", {"name": "ask"}, id=5)))
        question = self.pipe.sent.pop()
        self.assertEqual(question["method"], "elicitation/create")
        self.assertIn(5, self.pipe.in_flight)
        self.pipe.line({"jsonrpc": "2.0", "id": question["id"], "result": accept(name="Bo")})
        self.assertEqual(self.pipe.sent.pop()["result"]["content"][0]["text"], "Bo")

    @not_on_wasm("questions lapse by a thread")
    def test_cancelled_while_it_asks(self):
        self.begin()
        self.pipe.line(request("tools/call", {"name": "ask"}, id=5))
        question = self.pipe.sent.pop()
        self.pipe.line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
        self.assertEqual([(each["method"], each["params"]) for each in self.pipe.sent],
                         [("notifications/cancelled", {"requestId": question["id"]})])
        self.assertEqual(self.pipe.in_flight, {})
        self.pipe.line({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
        self.assertEqual(len(self.pipe.sent), 1, "no answer")

    def test_changes_are_told(self):
        self.begin()
        self.server.notify_tools_changed()
        self.assertEqual(self.pipe.sent, [], "not before it is initialized")
        self.pipe.line({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.server.notify_tools_changed()
        self.pipe.line(request("resources/subscribe", {"uri": "demo://one"}))
        self.server.notify_resource_updated("demo://one")
        self.server.notify_resource_updated("demo://two")
        self.pipe.line(request("resources/unsubscribe", {"uri": "demo://one"}))
        self.server.notify_resource_updated("demo://one")
        self.assertEqual([(each["method"], each.get("params")) for each in self.pipe.sent],
                         [("notifications/tools/list_changed", None),
                          ("notifications/resources/updated", {"uri": "demo://one"})])

    def test_a_batch(self):
        self.begin("2024-11-05")
        replies = self.pipe.line([request("ping", id=1), request("tools/call", {"name": "work"}, id=2)])
        self.assertEqual([each["id"] for each in replies], [1, 2])

    def test_a_message_without_a_pipe_stands_for_itself(self):
        self.assertEqual(stdio(self.server, request("ping")).result, {})
        self.assertEqual(len(stdio(self.server, request("tools/list")).result["tools"]), 4)


if __name__ == "__main__":
    unittest.main()
