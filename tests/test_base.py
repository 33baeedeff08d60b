"""basic/index and basic/versioning: messages, error codes, statelessness, `_meta`, UTF-8, extensions."""

import json
import logging
import unittest
from typing import Any, Dict

from mcp_ref import Client, Context, ProtocolError, Server, ToolResult
from mcp_ref.base.meta import CLIENT_CAPABILITIES, LOG_LEVEL, PROTOCOL_VERSION, stamped
from mcp_ref.base.request import Request
from mcp_ref.transports.http_server import HTTPServer

from .stub_http import ClientCase, result, said
from .support import LISTS, RawClient, call, events, full_server, message, meta, post, proves, stdio

NAME = {"name": {"type": "string"}}


COMPLETION = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "tone", "value": ""}}
GOOD = [("server/discover", {}), *((method, {}) for method in LISTS), ("completion/complete", COMPLETION),
        ("tools/call", {"name": "echo"}), ("tools/call", {"name": "ask"}), ("tools/call", {"name": "work"}),
        ("tools/call", {"name": "broken"}), ("tools/call", {"name": "echo", "arguments": {"text": 7}}),
        ("resources/read", {"uri": "demo://one"}), ("prompts/get", {"name": "greet"})]
BAD = [("nothing/such", {}, -32601), ("tools/call", {"name": "nope"}, -32602),
       ("tools/call", {"name": "echo", "arguments": []}, -32602), ("resources/read", {"uri": "other://x"}, -32602),
       ("resources/read", {"uri": "demo://broken"}, -32603), ("prompts/get", {"name": "nope"}, -32602),
       ("prompts/get", {"name": "greet", "arguments": {"tone": 1}}, -32602),
       ("tools/call", {"name": "ask", "requestState": "forged"}, -32602),
       ("tools/call", {"name": "ask", "inputResponses": 7}, -32602), ("completion/complete", {}, -32602),
       ("subscriptions/listen", {}, -32602), *((method, {"cursor": "forged"}, -32602) for method in LISTS)]


@proves("BASE-01", "BASE-02")
class Messages(unittest.TestCase):
    def setUp(self):
        self.server = full_server()
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def is_notification(self, sent):
        self.assertEqual(set(sent), {"jsonrpc", "method", "params"}, "no id, nothing else")
        self.assertEqual(sent["jsonrpc"], "2.0")
        self.assertTrue(sent["method"].startswith("notifications/"), sent)
        self.assertIsInstance(sent["params"], dict)

    @proves("BASE-06..08")
    def test_every_result_is_a_well_formed_response(self):
        for number, (method, params) in enumerate(GOOD):
            for reply in (post(self.server, message(method, params, id=f"n{number}")),
                          stdio(self.server, message(method, params, id=f"n{number}"))):
                self.assertEqual(set(reply.body), {"jsonrpc", "id", "result"}, method)
                self.assertEqual((reply.status, reply.body["jsonrpc"], reply.body["id"]), (200, "2.0", f"n{number}"))
                self.assertIn(reply.result["resultType"], ("complete", "input_required"), method)

    @proves("BASE-12..14")
    def test_every_error_is_a_well_formed_response(self):
        for number, (method, params, code) in enumerate(BAD):
            for reply in (post(self.server, message(method, params, id=number)),
                          stdio(self.server, message(method, params, id=number))):
                self.assertEqual(set(reply.body), {"jsonrpc", "id", "error"}, (method, params))
                self.assertEqual((reply.body["jsonrpc"], reply.body["id"], reply.error["code"]), ("2.0", number, code),
                                 (method, params))
                self.assertIs(type(reply.error["code"]), int)
                self.assertTrue(reply.error["message"] and isinstance(reply.error["message"], str))

    @proves("BASE-25", "HTTP-17", "PATT-01", "MRTR-01", "CANC-03", "CANC-14")
    def test_what_comes_ahead_is_notifications_alone(self):
        for method, params in GOOD:
            body = message(method, {**params, "_meta": meta(progressToken="p", **{LOG_LEVEL: "debug"})})
            sent = post(self.server, body).sent
            self.assertEqual(len(sent), 3 if params.get("name") == "work" else 0, params)
            for one in sent:
                self.is_notification(one)

    @proves("BASE-25", "CANC-03", "CANC-14")
    def test_a_subscription_sends_notifications_alone_and_its_result(self):
        everything = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True,
                      "resourceSubscriptions": ["demo://one"]}
        body = message("subscriptions/listen", {"notifications": everything}, id="s")
        stream = self.server.handle(Request(lambda: json.dumps(body).encode())).stream
        self.server.notify_tools_changed()
        self.server.notify_prompts_changed()
        self.server.notify_resources_changed()
        self.server.notify_resource_updated("demo://one")
        stream.end()
        *sent, last = [json.loads(data) for data in stream.take()]
        self.assertEqual(len(sent), 5)
        for one in sent:
            self.is_notification(one)
            self.assertNotEqual(one["method"], "notifications/cancelled")
        self.assertEqual((set(last), last["id"], last["result"]["resultType"]),
                         ({"jsonrpc", "id", "result"}, "s", "complete"))

    @proves("TRANS-01")
    def test_what_is_sent_is_utf_8(self):
        @self.server.tool
        def odd(ctx) -> str:
            ctx.progress(1, message="größer 世界")
            return "größer 世界 \U0001f600"

        with HTTPServer(self.server, port=0) as running, RawClient(running.url) as client:
            body = message("tools/call", {"name": "odd", "_meta": meta(progressToken=1)})
            client.request(body)
            sent, last = events(client.response().body)  # decodes strictly
            self.assertEqual(sent["params"]["message"], "größer 世界")
            self.assertEqual(last["result"]["content"][0]["text"], "größer 世界 \U0001f600")


class Codes(unittest.TestCase):
    """What a handler raises cannot break the rules of the code ranges."""

    def raised(self, code, message="no"):
        server = Server("codes", "1")

        def fails(ctx):
            raise ProtocolError(code, message)
        server.add_tool(fails, name="t")
        server.add_resource("a:b", fails)
        server.add_prompt(fails, name="p")
        return [post(server, one) for one in (message_("tools/call", name="t"), message_("resources/read", uri="a:b"),
                                              message_("prompts/get", name="p"))]

    @proves("BASE-14", "BASE-18", "BASE-20", "BASE-22")
    def test_reserved_and_retired_codes_are_never_sent(self):
        for code in (-32002, -32042, -32023, -32050, -32099, "x", 1.5, None, True):
            with self.assertLogs("mcp_ref", "ERROR"):
                for reply in self.raised(code):
                    self.assertEqual((reply.status, reply.error), (500, {"code": -32603, "message": "Internal error"}))

    @proves("BASE-13")
    def test_a_message_is_a_text(self):
        with self.assertLogs("mcp_ref", "ERROR"):
            for reply in self.raised(7, {"not": "text"}):
                self.assertEqual(reply.error["code"], -32603)

    def test_codes_of_an_application_are(self):
        for code in (7, -1, 42000, -31999, -32769):
            for reply in self.raised(code):
                self.assertEqual((reply.status, reply.error), (200, {"code": code, "message": "no"}))

    @proves("BASE-19")
    def test_each_defined_code_has_one_condition(self):
        """-32020 for headers alone, -32021 for capabilities alone, -32022 for the version alone."""
        server = full_server()
        wrong = {**meta(), PROTOCOL_VERSION: "2000-01-01"}
        ask = message("tools/call", {"name": "ask"}, capabilities={})
        self.assertEqual(post(server, ask).error["code"], -32021)
        self.assertEqual(post(server, ask, mcp_name="echo").error["code"], -32020)
        self.assertEqual(post(server, message("tools/list", {"_meta": wrong}), mcp_protocol_version="2000-01-01")
                         .error["code"], -32022)
        with self.assertLogs("mcp_ref", "ERROR"):
            for method, params, code in BAD:
                self.assertNotIn(post(server, message(method, params)).error["code"], range(-32099, -32019))


def message_(method, **params):
    return message(method, params)


@proves("BASE-26")
class Statelessness(unittest.TestCase):
    def test_nothing_is_taken_over_from_the_request_before(self):
        with HTTPServer(full_server(), port=0) as running, RawClient(running.url) as client:
            def answer(body, **fields):
                client.request(body, **fields)
                return client.response().json

            asking = {"name": "ask"}
            self.assertEqual(answer(message("tools/call", asking))["result"]["resultType"], "input_required")
            self.assertEqual(answer(message("tools/call", asking, capabilities={}))["error"]["code"], -32021)
            bare = message("tools/call", {"name": "echo"})
            for gone in (PROTOCOL_VERSION, CLIENT_CAPABILITIES):
                fields = {name: value for name, value in meta().items() if name != gone}
                body = {**bare, "params": {"name": "echo", "_meta": fields}}
                self.assertEqual(answer(body)["error"]["code"], -32602, gone)
            self.assertEqual(answer(bare, mcp_protocol_version=None)["error"]["code"], -32020)

    def test_who_the_client_is_is_not_remembered(self):
        server = Server("who", "1")
        server.tool(name="who")(lambda ctx: ctx.client_info.get("name", "nobody"))
        with HTTPServer(server, port=0) as running, RawClient(running.url) as client:
            body = message("tools/call", {"name": "who"})
            client.request(body)
            self.assertEqual(client.response().json["result"]["content"][0]["text"], "test")
            body["params"]["_meta"].pop("io.modelcontextprotocol/clientInfo")
            client.request(body)
            self.assertEqual(client.response().json["result"]["content"][0]["text"], "nobody")


class Meta(ClientCase):
    GOOD = ("k", "a/b", "com.example/k", "com.ex-ample.x9/k_1.2-3", "com.example/", "9", "a.b.c/9")
    BAD = ("", "/k", "9a/k", "a-/k", ".a/k", "a..b/k", "a b/k", "com.example/_k", "com.example/k.", "-k", "k-", "é",
           "a/b/c", "a_b/k", "k\n")

    @proves("META-02", "META-03", "META-05")
    def test_keys_of_ours_obey_the_grammar(self):
        for key in self.GOOD + self.BAD:
            fields = {key: 1}
            server = Server("meta", "1")
            server.tool(name="t")(lambda ctx, fields=fields: ToolResult("x", meta=fields))
            server.tools["t"].signature.schema["properties"].clear()
            adding = (lambda: server.add_tool(lambda: "", name="d", meta=fields),
                      lambda: server.add_prompt(lambda: "", name="d", meta=fields),
                      lambda: server.add_resource("a:b", lambda: "", name="d", meta=fields),
                      lambda: server.add_resource_template("a:{b}", lambda b: "", name="d", meta=fields))
            if key in self.GOOD:
                self.assertEqual(call(server, "t").result["_meta"][key], 1)
                for add in adding:
                    add()
            else:
                with self.assertLogs("mcp_ref", "ERROR"):
                    self.assertTrue(call(server, "t").result["isError"], key)
                for add in adding:
                    with self.assertRaises(ValueError, msg=key):
                        add()

    def test_a_result_with_another_key_is_not_stamped(self):
        for key in self.BAD:
            self.assertRaises(ValueError, stamped, {"_meta": {key: 1}}, {})

    @proves("META-02", "META-03", "META-05")
    def test_keys_that_a_client_sends_do_too(self):
        with self.talk(said()) as (stub, client):
            for key in self.GOOD:
                client.call_tool("t", meta={key: 1})
                self.assertEqual(stub.seen[-1].params["_meta"][key], 1)
            count = len(stub.seen)
            for key in self.BAD:
                with self.assertRaises(ValueError, msg=key):
                    client.call_tool("t", meta={key: 1})
            self.assertEqual(len(stub.seen), count, "nothing was sent")

    @proves("META-18", "META-19")
    def test_a_trace_context_that_is_malformed_is_not_sent(self):
        parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
        good = ({"traceparent": parent, "tracestate": "a=b"}, {"baggage": "user=1;p,q=2"})
        bad = ({"traceparent": parent.upper()}, {"traceparent": 7}, {"traceparent": parent, "tracestate": "a"},
               {"tracestate": "a=b"}, {"baggage": "a b"}, {"baggage": None})
        for fields in good + bad:
            server = Server("meta", "1")
            server.tool(name="t")(lambda ctx, fields=fields: ToolResult("x", meta=fields))
            server.tools["t"].signature.schema["properties"].clear()
            with self.talk(said()) as (stub, client):
                if fields in good:
                    client.call_tool("t", meta=fields)
                    self.assertLessEqual(fields.items(), stub.seen[0].params["_meta"].items())
                    self.assertLessEqual(fields.items(), call(server, "t").result["_meta"].items())
                    continue
                with self.assertRaises(ValueError, msg=fields):
                    client.call_tool("t", meta=fields)
                self.assertEqual(stub.seen, [])
                with self.assertLogs("mcp_ref", "ERROR"):
                    self.assertTrue(call(server, "t").result["isError"], fields)

    @proves("META-01")
    def test_nothing_is_assumed_of_values_at_reserved_keys(self):
        server = full_server()
        for value in (None, 7, "x", [], {"x": {}}, True):
            for key in ("io.modelcontextprotocol/new", "dev.mcp/x", "com.mcp.tools/y", "traceparent", "tracestate",
                        "io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/subscriptionId", "baggage"):
                fields = meta()
                fields[key] = value
                reply = post(server, message("tools/call", {"name": "echo", "_meta": fields}))
                self.assertEqual(reply.status, 200, (key, value))
                with self.talk(result(content=[], _meta={key: value})) as (_, client):
                    self.assertEqual(client.call_tool("t")["_meta"], {key: value})


@proves("VERS-06")
class Extensions(unittest.TestCase):
    def test_an_extension_that_is_unknown_here_changes_nothing(self):
        server = full_server()
        for extensions in ({}, {"com.example/x": {"y": 1}}, {"io.modelcontextprotocol/tasks": {}}):
            reply = call(server, "echo", {"text": "hi"}, capabilities={"extensions": extensions})
            self.assertEqual((reply.result["resultType"], reply.text), ("complete", "hi"))
        self.assertNotIn("extensions", post(server, message("server/discover")).result["capabilities"])
        self.assertNotIn("extensions", Client("http://127.0.0.1/")._inputs.capabilities)


@proves("VERS-05")
class DeclaredExtensions(unittest.TestCase):
    GIVEN: Dict[str, Any] = {"com.example/map": {"scale": [1, 2]}, "io.modelcontextprotocol/ui": {}}

    def test_a_server_advertises_them(self) -> None:
        server = Server("s", "1", extensions=self.GIVEN)
        capabilities = post(server, message("server/discover")).result["capabilities"]
        self.assertEqual(capabilities["extensions"], self.GIVEN)
        self.assertEqual(post(server, message("subscriptions/listen")).error["code"], -32601, "there is no list yet")
        self.assertNotIn("extensions", post(Server("s", "1"), message("server/discover")).result["capabilities"])

    def test_a_client_declares_them(self) -> None:
        server = Server("s", "1")

        @server.tool
        def declared(ctx: Context) -> str:
            return str(ctx.client_capabilities)

        with Client(server, extensions=self.GIVEN, on_sample=lambda params: {}) as client:
            said = client.call_tool("declared")["content"][0]["text"]
        self.assertEqual(said, str({"sampling": {}, "extensions": self.GIVEN}))

    def test_what_is_none(self) -> None:
        deep: Any = {}
        for _ in range(100):
            deep = {"a": deep}
        refused: Any = ({"map": {}}, {"/map": {}}, {"com.example/": None}, {"com.example/a b": {}}, {7: {}},
                        {"com..example/a": {}}, {"com.example/a": True}, {"com.example/a": []},
                        {"com.example/a": {"b": float("nan")}}, {"com.example/a": {"b": object()}},
                        {"com.example/a": deep}, ["com.example/a"], "com.example/a")
        for extensions in refused:
            for make in (lambda: Server("s", "1", extensions=extensions),  # noqa: B023
                         lambda: Client("http://127.0.0.1/", extensions=extensions)):  # noqa: B023
                with self.subTest(str(extensions)[:60]), self.assertRaisesRegex(ValueError, "extension"):
                    make()


if __name__ == "__main__":
    unittest.main()
