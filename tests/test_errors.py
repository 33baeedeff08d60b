"""basic/index, Error Codes: what a handler may raise, and what a client is told of it."""

import unittest

from mcp_ref import ProtocolError, Server, form, link, roots, sampling
from mcp_ref.base.errors import (
    HeaderMismatch,
    MissingClientCapability,
    UnsupportedProtocolVersion,
    received,
)

from .support import call, echo_server, message, post


class HandlersErrors(unittest.TestCase):
    """What a handler raises as a JSON-RPC error: by tool, prompt, resource and completer alike."""

    def replies(self, error):
        server = Server("errors", "1")

        def fail(*_):
            raise error
        server.tool(name="t")(lambda: fail())
        server.prompt(name="p")(lambda a="": fail())
        server.completion("p", "a")(fail)
        server.resource("x://r", name="r")(lambda: fail())
        server.add_resource_template("y://{a}", lambda a: a, name="y", instances=fail)
        for body in (message("tools/call", {"name": "t"}), message("prompts/get", {"name": "p"}),
                     message("resources/read", {"uri": "x://r"}), message("resources/list"),
                     message("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"},
                                                     "argument": {"name": "a", "value": ""}})):
            yield post(server, body)

    def test_a_defined_code_has_its_status(self):
        for code, status in ((-32601, 404), (-32602, 400), (-32603, 500)):
            body = {"code": code, "message": "mine", "data": {"a": 1}}
            for reply in self.replies(ProtocolError(code, "mine", {"a": 1})):
                self.assertEqual((reply.status, reply.error), (status, body))

    def test_an_own_code_goes_out_with_200(self):
        for code in (0, 1, -1, 1429, -31999, -32769, 10**12):
            for reply in self.replies(ProtocolError(code, "mine")):
                self.assertEqual((reply.status, reply.error["code"]), (200, code))

    def test_what_is_not_a_handlers_to_raise(self):
        for error in (ProtocolError(-32020, "x"), ProtocolError(-32021, "x"), ProtocolError(-32022, "x"),
                      ProtocolError(-32700, "x"), ProtocolError(-32600, "x"), ProtocolError(-32000, "x"),
                      ProtocolError(-32002, "x"), ProtocolError(-32099, "x"), ProtocolError(-32768, "x"),
                      ProtocolError(-32500, "x"), MissingClientCapability("x", {"roots": {}}),
                      HeaderMismatch("x"), UnsupportedProtocolVersion("1", ["2"])):
            with self.assertLogs("mcp_ref", "ERROR") as logs:
                for reply in self.replies(error):
                    self.assertEqual((reply.status, reply.error), (500, {"code": -32603, "message": "Internal error"}))
            self.assertEqual(len(logs.output), 5)
            self.assertIn(str(error.code), logs.output[0])

    def test_what_is_no_error_of_json_rpc(self):
        for error in (ProtocolError(True, "x"), ProtocolError(-32602.0, "x"), ProtocolError("1", "x"),
                      ProtocolError(None, "x"), ProtocolError([], "x"), ProtocolError(1, None), ProtocolError(1, b"x"),
                      ProtocolError(1, "\ud800"), ProtocolError(1, "x", float("nan")), ProtocolError(1, "x", b"x"),
                      ProtocolError(1, "x", {1: object()}), ProtocolError(1, "x", {"a": "\udc00"})):
            with self.assertLogs("mcp_ref", "ERROR") as logs:
                for reply in self.replies(error):
                    self.assertEqual((reply.status, reply.error["code"]), (500, -32603))
            self.assertEqual(len(logs.output), 5)

    def test_a_peers_error_is_not_passed_on(self):
        for error in (received({"code": -32602, "message": "theirs"}), received({"code": 7, "message": "theirs"})):
            with self.assertLogs("mcp_ref", "ERROR"):
                for reply in self.replies(error):
                    self.assertNotIn("theirs", str(reply.body))

    def test_all_that_a_round_lacks_is_named(self):
        server = Server("round", "1")
        questions = {"a": form("?", {"t": {"type": "string"}}), "b": link("?", "https://a.example/"),
                     "c": sampling("?", 10, tools=[]), "d": roots(), "e": sampling("?", 10)}

        @server.tool
        def ask(ctx) -> str:
            return str(ctx.ask(questions))

        for declared, lacking in (
                ({}, {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}),
                ({"elicitation": {}, "sampling": {}},
                 {"elicitation": {"url": {}}, "sampling": {"tools": {}}, "roots": {}}),
                ({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}}, {"roots": {}})):
            reply = call(server, "ask", capabilities=declared)
            self.assertEqual((reply.status, reply.error["code"]), (400, -32021))
            self.assertEqual(reply.error["data"], {"requiredCapabilities": lacking})
            for name in lacking:
                self.assertIn(name, reply.error["message"])
        self.assertEqual(reply.error["message"], "Server requires the roots capability for this request")


class Answers(unittest.TestCase):
    def test_nothing_of_an_exception_reaches_the_peer(self):
        server = echo_server()

        @server.tool
        def boom(ctx) -> str:
            raise RuntimeError("secret")

        with self.assertLogs("mcp_ref", "ERROR"):
            reply = call(server, "boom")
        self.assertTrue(reply.result["isError"])
        self.assertNotIn("secret", str(reply.body))


if __name__ == "__main__":
    unittest.main()
