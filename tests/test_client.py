"""The client, judged by what is on the wire: requests, their headers, the results it accepts, lists."""

import gzip
import json
import subprocess
import sys
import threading
import unittest
from typing import Any, Dict, Iterator, List, Tuple
from unittest import mock

from mcp_ref import __version__
from mcp_ref.base.errors import (
    HeaderMismatch,
    HTTPError,
    InternalError,
    InvalidParams,
    MethodNotFound,
    ParseError,
    ProtocolError,
    SchemaError,
    TransportError,
    UnsupportedProtocolVersion,
)
from mcp_ref.base.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from mcp_ref.client.client import Client
from mcp_ref.client.responses import result_of
from mcp_ref.server.server import Server
from mcp_ref.transports.exchange import _inflated
from mcp_ref.transports.http_server import HTTPServer
from mcp_ref.transports.pool import CHUNK
from tests.stub_http import (
    Answer,
    ClientCase,
    Seen,
    asks,
    error,
    events,
    message,
    mirroring,
    question,
    raw,
    result,
    said,
    tool,
)

from .support import proves


class Requests(ClientCase):
    @proves("BASE-02")
    def test_a_request_on_the_wire(self) -> None:
        with self.talk(said(), headers={"X-Team": "blue"}) as (stub, client):
            client.call_tool("t", {"a": 1})
            client.call_tool("t")
        first, second = stub.seen
        self.assertEqual((first.method, first.path), ("POST", "/mcp"))
        expected = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
                    "Accept-Encoding": "identity", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
                    "Mcp-Name": "t", "X-Team": "blue", "Host": stub.place}
        self.assertEqual({name: first.header(name) for name in expected}, expected)
        self.assertIn("MCP-Protocol-Version", dict(first.fields), "spelled as the specification has it")
        self.assertRegex(first.header("User-Agent") or "", "^mcp_ref/")
        self.assertEqual(first.message["jsonrpc"], "2.0")
        self.assertEqual(first.params["_meta"], {
            PROTOCOL_VERSION: "2026-07-28", CLIENT_CAPABILITIES: {},
            CLIENT_INFO: {"name": "mcp_ref", "version": __version__}})
        self.assertEqual(first.params["arguments"], {"a": 1})
        self.assertNotIn("arguments", second.params)
        self.assertEqual([type(seen.message["id"]) for seen in stub.seen], [int, int])
        self.assertNotEqual(first.message["id"], second.message["id"], "BASE-05")

    def test_ids_are_unique_across_threads(self) -> None:
        with self.talk(said()) as (stub, client):
            threads = [threading.Thread(target=client.call_tool, args=("t",)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len({seen.message["id"] for seen in stub.seen}), 8)

    def test_capabilities_follow_from_the_callbacks(self) -> None:
        def nothing(*_: Any) -> Any:
            return None

        cases: List[Tuple[Dict[str, Any], Dict[str, Any]]] = [
            ({}, {}), ({"on_elicit": nothing}, {"elicitation": {"form": {}, "url": {}}}),
            ({"on_elicit": nothing, "elicit_modes": ("form",)}, {"elicitation": {"form": {}}}),
            ({"on_sample": nothing, "on_list_roots": nothing}, {"sampling": {}, "roots": {}})]
        for options, declared in cases:
            with self.subTest(declared), self.talk(said(), **options) as (stub, client):
                client.call_tool("t")
                self.assertEqual(stub.seen[0].params["_meta"][CLIENT_CAPABILITIES], declared)

    def test_client_info_can_be_left_out_and_the_log_level_asked_for(self) -> None:
        with self.talk(said(), send_client_info=False, log_level="warning") as (stub, client):
            client.call_tool("t", meta={"com.example/x": 1})
        fields = stub.seen[0].params["_meta"]
        self.assertNotIn(CLIENT_INFO, fields)
        self.assertEqual((fields[LOG_LEVEL], fields["com.example/x"]), ("warning", 1))

    def test_the_thin_methods(self) -> None:
        script = [result(supportedVersions=[]), result(contents=[]), result(messages=[]),
                  result(completion={"values": ["a"]}), result(resources=[{"uri": "u"}]), result(prompts=[]),
                  result(resourceTemplates=[])]
        with self.talk(*script) as (stub, client):
            client.discover()
            client.read_resource("file:///ä b")
            client.get_prompt("p", {"x": "y"})
            completion = client.complete({"type": "ref/prompt", "name": "p"}, "x", "a", {"k": "v"})
            self.assertEqual(completion["values"], ["a"])
            self.assertEqual(client.list_resources(), [{"uri": "u"}])
            client.list_prompts()
            client.list_resource_templates()
        self.assertEqual([(seen.header("Mcp-Method"), seen.header("Mcp-Name")) for seen in stub.seen], [
            ("server/discover", None), ("resources/read", "=?base64?ZmlsZTovLy/DpCBi?="), ("prompts/get", "p"),
            ("completion/complete", None), ("resources/list", None), ("prompts/list", None),
            ("resources/templates/list", None)])
        self.assertEqual(stub.seen[3].params["context"], {"arguments": {"k": "v"}})

    def test_what_cannot_be_used_is_a_value_error(self) -> None:
        for url in ("ftp://x/", "http://", "x", "http://a b/", "http://x:port/", "http://x\r\nA: b/"):
            with self.subTest(url), self.assertRaises(ValueError):
                Client(url)
        for options in ({"timeout": 0}, {"timeout": float("nan")}, {"log_level": "loud"}, {"elicit_modes": ()},
                        {"headers": {"Mcp-Method": "x"}}, {"headers": {"a b": "x"}}, {"headers": {"a": "x\r\nb: c"}}):
            with self.subTest(options), self.assertRaises(ValueError):
                Client("http://127.0.0.1/", **options)

    def test_what_is_not_json_is_not_sent(self) -> None:
        with self.talk(said()) as (stub, client):
            for value in ("\ud800", float("nan"), object(), {1, 2}):
                with self.assertRaises(TransportError):
                    client.call_tool("t", {"v": value})
            self.assertEqual(stub.seen, [])
            client.call_tool("t", {"v": "next"})


class Answers(ClientCase):
    @proves("HTTP-74", "BASE-11", "C088")
    def test_json_with_parameters_and_odd_case(self) -> None:
        body = b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
        with self.talk(raw(200, body, "Application/JSON; charset=utf-8")) as (_, client):
            self.assertEqual(client.call_tool("t"), {"content": []}, "no resultType counts as complete (BASE-11)")

    @proves("BASE-09", "TRANS-01", "C004")
    def test_what_is_no_response_to_the_request(self) -> None:
        wrapped = {"jsonrpc": "2.0", "id": 1, "result": {}}
        cases = [
            (raw(200, json.dumps([wrapped]).encode()), "array"),  # C004
            (raw(200, b"[]"), "array"),
            (message({"id": "1", "result": {}}), "id"), (message({"id": 2, "result": {}}), "id"),
            (message({"id": True, "result": {}}), "id"), (message({"id": 1.0, "result": {}}), "id"),
            (message({"id": None, "result": {}}), "id"),
            (message({}), "either"), (message({"result": {}, "error": {"code": 1, "message": ""}}), "either"),
            (message({"result": []}), "object"), (message({"jsonrpc": "1.0", "result": {}}), "no JSON-RPC"),
            (raw(200, b"true"), "no JSON-RPC"), (raw(200, b'{"jsonrpc":"2.0","id":1,"id":1,"result":{}}'), "repeated"),
            (raw(200, b"{"), "strict JSON"), (raw(200, b""), "strict JSON"), (raw(200, b"\xff"), "UTF-8"),
            (result(resultType="tasks/x"), "resultType"), (result(resultType=7), "resultType"),
            (result(content="x"), "content"), (result(content=["x"]), "content"), (result(), "content"),
            (raw(200, b"{}", Content_Length="9"), "cut"), (raw(200, b"", Content_Encoding="br"), "coding"),
        ]
        for script, words in cases:
            with self.subTest(words):
                self.refused(script, TransportError, words)

    def test_a_message_with_a_method_is_no_response(self) -> None:
        for members in ({"result": {}}, {"error": {"code": 1, "message": "x"}}):
            with self.assertRaisesRegex(TransportError, "no JSON-RPC 2.0 response"):
                result_of({"jsonrpc": "2.0", "id": 1, "method": "roots/list", **members}, 1)

    def test_errors_are_typed(self) -> None:
        made = self.refused(error(-32601, status=404), MethodNotFound)
        self.assertEqual((made.code, made.message), (-32601, "no"))
        self.refused(error(-32602, status=200), InvalidParams)
        self.assertEqual(self.refused(error(7, data={"a": 1}, status=200), ProtocolError).data, {"a": 1})
        self.refused(error(True, status=400), InternalError)

    def test_an_http_error_with_an_error_response_is_that_error(self) -> None:
        fault = {"code": -32700, "message": "x", "data": [1]}
        ids: List[Any] = [1, None, "server-error", "", "1", 9, 1.0, True, {}, []]
        bodies = [json.dumps({"jsonrpc": "2.0", "id": id, "error": fault}).encode() for id in ids]
        bodies.append(json.dumps({"jsonrpc": "2.0", "error": fault}).encode())
        for body in bodies:
            for status in (400, 404, 429, 500):
                for kind in ("application/json", "text/plain", None):
                    made = self.refused(raw(status, body, kind), ParseError)
                    self.assertEqual((made.code, made.message, made.data, made.status, made.remote),
                                     (-32700, "x", [1], status, True), (body, status))
        self.assertEqual(self.refused(raw(400, b'{"jsonrpc":"2.0","id":1,"error":7}'), InternalError).status, 400)

    def test_on_200_the_id_of_an_error_is_that_of_the_request_or_none(self) -> None:
        for id in ("server-error", "1", 9, True, 1.0, ""):
            last = message({"id": id, "error": {"code": 1, "message": ""}})
            self.refused(last, TransportError, "id")
            self.refused(events(last=last), TransportError, "id")
        for script in (error(-32601, status=200), message({"id": None, "error": {"code": -32601, "message": "no"}}),
                       events(last=error(-32601))):
            made = self.refused(script, MethodNotFound)
            self.assertEqual((made.status, made.remote), (200, True), "what came, not what it should have been")

    def test_http_errors(self) -> None:
        made = self.refused(raw(401, b'{"error":"unauthorized"}', WWW_Authenticate="Bearer"), HTTPError, "unauthorized")
        self.assertEqual(made.status, 401)
        self.assertIn(("WWW-Authenticate", "Bearer"), made.headers)
        self.assertLess(len(str(self.refused(raw(500, b"x" * 9999, "text/plain"), HTTPError))), 400)
        self.refused(raw(200, b"<html>Sign in", "text/html"), HTTPError, "text/html")
        fault = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
        self.refused(raw(200, fault, "text/plain"), HTTPError, "text/plain")
        self.refused(raw(202, b"", None), HTTPError, "HTTP 202")
        self.refused(raw(404, b'{"jsonrpc":"2.0","id":1,"result":{}}'), HTTPError, "HTTP 404")

    @proves("C090")
    def test_gzip_that_nobody_asked_for(self) -> None:
        packed = gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')
        with self.talk(raw(200, packed, Content_Encoding="gzip")) as (_, client):
            self.assertEqual(client.call_tool("t")["content"], [])
        self.refused(raw(200, packed[:-9], Content_Encoding="gzip"), TransportError, "cut off")
        self.refused(raw(200, b"plain", Content_Encoding="gzip"), TransportError, "coding")
        pieces = list(_inflated(iter([gzip.compress(b" " * 3_000_000)])))
        self.assertEqual(len(b"".join(pieces)), 3_000_000)
        self.assertLessEqual(max(map(len, pieces)), CHUNK, "a bomb is found out before it is in memory")

    def test_answers_are_bounded(self) -> None:
        bomb = gzip.compress(b" " * 3_000_000)
        for script in (raw(200, bomb, Content_Encoding="gzip"), raw(200, b" " * 3_000_000),
                       raw(200, b"data: " + b" " * 3_000_000, "text/event-stream")):
            with self.talk(script) as (_, client):
                client._transport.max_message = 1_000_000  # type: ignore[union-attr]
                with self.assertRaisesRegex(TransportError, "exceeds"):
                    client.call_tool("t")

    def test_an_open_connection_is_not_read_beyond_the_answer(self) -> None:
        def answer(seen: Seen) -> Answer:
            body = b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
            return Answer(200, self.and_then_hold(body), {"Content-Type": "application/json",
                                                          "Content-Length": str(len(body))})
        with self.talk(answer) as (stub, client):
            self.stopping = stub.stopping
            client.call_tool("t")

    def and_then_hold(self, body: bytes) -> Iterator[bytes]:
        yield body
        self.stopping.wait(10)


class Versions(ClientCase):
    def test_a_common_version_is_tried_once(self) -> None:
        refusal = error(-32022, data={"supported": ["2026-07-28"], "requested": "2027-01-01"})
        with mock.patch.object(Client, "versions", ("2027-01-01", "2026-07-28")):
            with self.talk(refusal, said()) as (stub, client):
                client.call_tool("t")
                client.call_tool("t")
        self.assertEqual([seen.header("MCP-Protocol-Version") for seen in stub.seen],
                         ["2027-01-01", "2026-07-28", "2026-07-28"])
        self.assertEqual(stub.seen[1].params["_meta"][PROTOCOL_VERSION], "2026-07-28")
        self.assertNotEqual(stub.seen[0].message["id"], stub.seen[1].message["id"])

    def test_the_refused_version_is_tried_again_where_it_is_supported(self) -> None:
        refusal = error(-32022, data={"supported": ["2026-07-28"]})
        with self.talk(refusal, said(), refusal) as (stub, client):
            client.call_tool("t")
            self.assertEqual(len(stub.seen), 2)
            with self.assertRaises(UnsupportedProtocolVersion):
                client.call_tool("t")
            self.assertEqual(len(stub.seen), 4, "one retry, never more")

    def test_another_one_goes_before_the_refused_one(self) -> None:
        for versions in (("2027-01-01", "2026-07-28"), ("2026-07-28", "2027-01-01")):
            refusal = error(-32022, data={"supported": list(versions)})
            with mock.patch.object(Client, "versions", versions), self.talk(refusal, said()) as (stub, client):
                client.call_tool("t")
            self.assertEqual([seen.header("MCP-Protocol-Version") for seen in stub.seen], list(versions))

    def test_without_one_the_error_is_raised(self) -> None:
        odd: List[Any] = [{"supported": ["2099-01-01"]}, {"supported": [7, None, []]}, {"supported": "2026-07-28"},
                          {"supported": {"2026-07-28": 1}}, {"supported": 7}, [], None]
        for data in odd:
            with self.talk(error(-32022, data=data)) as (stub, client):
                with self.assertRaises(UnsupportedProtocolVersion):
                    client.call_tool("t")
                self.assertEqual(len(stub.seen), 1)


@proves("C012", "C016")
class Mirrors(ClientCase):
    def test_values_that_need_the_sentinel(self) -> None:
        cases: List[Tuple[Any, Any]] = [  # C016
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="), (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("a\nb", "=?base64?YQpi?="), ("", ""), (None, None)]
        with self.talk(result(tools=[mirroring("t", "v", "string", "V"), mirroring("b", "v", "boolean", "V")]),
                       said()) as (stub, client):
            client.list_tools()
            for value, expected in cases:
                client.call_tool("t", {"v": value})
                self.assertEqual(stub.seen[-1].header("Mcp-Param-V"), expected, repr(value))
            client.call_tool("b", {"v": False})
            self.assertEqual(stub.seen[-1].header("Mcp-Param-V"), "false")
            client.call_tool("=?base64?aGk=?=")
            self.assertEqual(stub.seen[-1].header("Mcp-Name"), "=?base64?PT9iYXNlNjQ/YUdrPT89?=")
            count = len(stub.seen)
            with self.assertRaisesRegex(TransportError, "surrogate"):
                client.call_tool("t", {"v": json.loads('"\\ud800"')})
            self.assertEqual(len(stub.seen), count, "nothing was sent")
            client.call_tool("t", {"v": "next"})
            self.assertEqual(stub.seen[-1].header("Mcp-Param-V"), "next")

    @proves("HTTP-40", "TOOL-27")
    def test_integers_out_of_range(self) -> None:
        with self.talk(result(tools=[mirroring("t", "n", "integer", "N")]), said()) as (stub, client):
            client.list_tools()
            client.call_tool("t", {"n": -7})
            self.assertEqual(stub.seen[-1].header("Mcp-Param-N"), "-7")
            for value in (2**53, -(2**53)):
                with self.assertRaisesRegex(TransportError, "2\\^53"):
                    client.call_tool("t", {"n": value})
            self.assertEqual(len(stub.seen), 2)

    def test_every_leg_has_the_headers(self) -> None:
        deploy = result(tools=[mirroring("deploy", "region", "string", "Region")])  # C012
        with self.talk(deploy, asks({"a": question()}, "S"), said(), on_elicit=lambda params: {"name": "x"}) as (
                stub, client):
            client.list_tools()
            client.call_tool("deploy", {"region": "eu"})
        for seen in stub.seen[1:]:
            self.assertEqual([seen.header(name) for name in ("Mcp-Method", "Mcp-Name", "Mcp-Param-Region")],
                             ["tools/call", "deploy", "eu"])

    def test_a_header_mismatch_fetches_the_list_once(self) -> None:
        deploy = result(tools=[mirroring("deploy", "region", "string", "Region")])
        with self.talk(error(-32020), deploy, said()) as (stub, client):
            client.call_tool("deploy", {"region": "eu"})
            self.assertEqual([seen.header("Mcp-Method") for seen in stub.seen],
                             ["tools/call", "tools/list", "tools/call"])
            self.assertEqual([seen.header("Mcp-Param-Region") for seen in stub.seen], [None, None, "eu"])
        with self.talk(error(-32020), deploy, error(-32020)) as (stub, client):
            with self.assertRaises(HeaderMismatch):
                client.call_tool("deploy", {"region": "eu"})
            self.assertEqual(len(stub.seen), 3, "one retry, not more")
        for listing in (result(tools=[]), error(-32601, status=404)):
            with self.talk(error(-32020), listing) as (stub, client), self.assertRaises(HeaderMismatch):
                client.call_tool("deploy", {"region": "eu"})
            self.assertEqual(len(stub.seen), 2, "the same headers again would be refused again")

    def test_invalid_annotations_leave_the_tool_out(self) -> None:
        listed = [mirroring("bad", "v", "number", "V"), tool("good", {}), mirroring("odd", "v", "string", ""),
                  {"name": "none"}, {"inputSchema": {}}]
        with self.talk(result(tools=listed)) as (stub, client):
            with self.assertLogs("mcp_ref", "WARNING") as logged:
                self.assertEqual([each["name"] for each in client.list_tools()], ["good"])
            self.assertRegex("\n".join(logged.output), '"bad".*x-mcp-header.*number')
            with self.assertRaisesRegex(TransportError, "bad.*x-mcp-header"):
                client.call_tool("bad", {"v": 1})
            self.assertEqual(len(stub.seen), 1)


@proves("C048")
class Tools(ClientCase):
    def test_structured_content_is_checked(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        listing = result(tools=[tool("t", {}, outputSchema=schema)])
        broken: List[Tuple[Dict[str, Any], str]] = [
            ({"structuredContent": {"n": "x"}}, "structuredContent.n"), ({}, "no structuredContent")]
        for members, words in broken:
            with self.talk(listing, result(content=[], **members)) as (_, client):
                client.list_tools()
                with self.assertRaisesRegex(TransportError, words):
                    client.call_tool("t")
        fine: List[Dict[str, Any]] = [{"structuredContent": {"n": 1}}, {"isError": True}]
        for members in fine:
            with self.talk(listing, result(content=[], **members)) as (_, client):
                client.list_tools()
                client.call_tool("t")

    def test_falsy_structured_content_is_content(self) -> None:
        for schema, value, wrong in (({"type": "integer"}, 0, "x"), ({"type": "boolean"}, False, 0),
                                     ({"type": "null"}, None, False), ({"type": "array"}, [], {})):
            listing = result(tools=[tool("t", {}, outputSchema=schema)])
            script = [listing, result(content=[], structuredContent=value), result(content=[], structuredContent=wrong),
                      result(content=[], structuredContent=wrong, isError=True)]
            with self.subTest(schema), self.talk(*script) as (_, client):  # C048
                client.list_tools()
                made = client.call_tool("t")
                self.assertEqual((made["structuredContent"], "structuredContent" in made), (value, True))
                with self.assertRaisesRegex(TransportError, "breaks its outputSchema"):
                    client.call_tool("t")
                self.assertTrue(client.call_tool("t")["isError"], "a failure is not held to the schema")

    @proves("BASE-33", "BASE-36..38", "BASE-41", "BASE-42")
    def test_an_output_schema_that_cannot_be_used(self) -> None:
        unusable: List[Dict[str, Any]] = [{"$ref": "http://127.0.0.1:1/schema"},
                                          {"$schema": "http://json-schema.org/draft-03/schema#"}]
        for schema in unusable:
            with self.talk(result(tools=[tool("t", {}, outputSchema=schema)]), said()) as (stub, client):
                client.list_tools()
                with self.assertRaisesRegex(SchemaError, 'outputSchema of tool "t"'):
                    client.call_tool("t")
                self.assertEqual(len(stub.seen), 1, "refused before the tool has any effect")
        new, old = "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"
        for dialect, good in ((None, True), (new, True), (old, False)):  # prefixItems is of 2020-12 alone
            schema = {**({} if dialect is None else {"$schema": dialect}), "type": "array",
                      "prefixItems": [{"type": "integer"}]}
            listing = result(tools=[tool("t", {}, outputSchema=schema)])
            with self.talk(listing, result(content=[], structuredContent=["x"])) as (_, client):
                client.list_tools()
                if good:
                    self.assertRaisesRegex(TransportError, "breaks its outputSchema", client.call_tool, "t")
                else:
                    self.assertEqual(client.call_tool("t")["structuredContent"], ["x"])

    def test_is_error_is_a_result(self) -> None:
        with self.talk(result(content=[], isError=True)) as (_, client):
            self.assertTrue(client.call_tool("t")["isError"])


@proves("TRANS-02", "TRANS-03")
class AgainstTheServer(unittest.TestCase):
    def test_the_whole_way(self) -> None:
        server = Server("test", "1")

        @server.tool
        def greet(ctx: Any, greeting: str = "Hello") -> str:
            """Greet."""
            first = ctx.elicit("First name?", {"first": {"type": "string"}})
            last = ctx.elicit("Last name?", {"last": {"type": "string", "default": "Lovelace"}})
            ctx.progress(1, total=2)
            return f"{greeting}, {first['first']} {last['last']}!"

        heard: List[Any] = []
        with HTTPServer(server, port=0) as running:
            with Client(running.url, on_elicit=lambda params: {"first": "Ada"} if "First" in params["message"] else {},
                        on_progress=lambda *given: heard.append(given)) as client:
                self.assertEqual(client.discover()["supportedVersions"], ["2026-07-28"])
                self.assertEqual([each["name"] for each in client.list_tools()], ["greet"])
                made = client.call_tool("greet", {"greeting": "Hi"})
                self.assertEqual(made["content"][0]["text"], "Hi, Ada Lovelace!")
                self.assertEqual(heard, [(1, 2, None)])
                with self.assertRaises(InvalidParams):
                    client.call_tool("nope")


class Imports(unittest.TestCase):
    def test_the_terminal_is_not_loaded_with_the_client(self) -> None:
        code = "import sys, mcp_ref.client.client; print([n for n in sys.modules if n in sys.argv])"
        done = subprocess.run([sys.executable, "-c", code, "http.server", "argparse", "mcp_ref.cli.terminal",
                               "mcp_ref.server.server"], stdout=subprocess.PIPE, encoding="utf-8", check=True)
        self.assertEqual(done.stdout.strip(), "[]")


if __name__ == "__main__":
    unittest.main()
