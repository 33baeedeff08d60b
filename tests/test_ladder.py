"""The ladder: every failing rung answers with its status, code, id and data, and the first that fails answers."""

import unittest

from mcp_ref import Server
from mcp_ref.base.errors import (
    ERRORS,
)
from mcp_ref.base.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from mcp_ref.base.request import Head
from mcp_ref.explain import explain, statements
from mcp_ref.ladder import ASIDE, HANDLER, LADDER
from mcp_ref.transports.endpoint import Endpoint

from .support import echo_server, exchange, headers, message, meta, post, proves, stdio


class Rungs(unittest.TestCase):
    def setUp(self):
        self.server = echo_server(era="modern")
        self.body = message("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, id="a")

    def refused(self, reply, status, code, id="a"):
        self.assertEqual((reply.status, reply.error["code"], reply.body.get("id")), (status, code, id), reply.body)

    def test_a_valid_request_passes_every_rung(self):
        lines = []
        self.server.on_trace = lines.append
        reply = post(self.server, self.body)
        self.assertEqual((reply.status, reply.body["id"], reply.text), (200, "a", "hi"))
        passed = " ".join(f"{rung.name} ok" for rung in (*LADDER, HANDLER))
        self.assertRegex(lines.pop(), rf'^tools/call id="a": {passed} -> 200 complete \(echo, round 1\) [0-9.]+ ms$')

    @proves("HTTP-01..03")
    def test_door(self):
        def at(method="POST", target="/mcp", **more):
            fields = {**headers(self.body, **more)}
            fields.setdefault("content-length", "5")
            return exchange(self.server, b"{}", Head(method, target, fields))

        self.assertEqual(at(target="/other").status, 404)
        self.assertEqual(at(target="/mcp/").status, 404)
        for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD", "FOO"):
            reply = at(method)
            self.assertEqual((reply.status, reply.headers["Allow"]), (405, "POST"), method)
        self.assertEqual(at(host=None).status, 400)
        self.assertEqual(at(host="evil.example").status, 403)
        self.assertEqual(at(origin="http://evil.example").status, 403)
        self.assertEqual(at(origin="null").status, 403)
        self.assertEqual(at(content_length="5", transfer_encoding="chunked").status, 400)
        self.assertEqual(at(content_length="-1").status, 400)
        self.assertEqual(at(content_length="5, 5").status, 400)
        self.assertEqual(at(content_length="abc").status, 400)
        self.assertEqual(at(transfer_encoding="gzip", content_length=None).status, 400)
        self.assertEqual(at(content_length="99999999").status, 413)
        self.assertEqual(at(content_length="9" * 5000).status, 413)

    def test_host_and_origin_come_before_path_and_method(self):
        def at(method, target, **more):
            return exchange(self.server, b"{}", Head(method, target, headers(self.body, **more)))

        for method in ("POST", "GET", "HEAD", "DELETE", "OPTIONS", "PUT", "FOO"):
            for target in ("/mcp", "/other", "/", "*", "/mcp?x=1"):
                for more, status in (({"origin": "https://evil.example"}, 403), ({"origin": "null"}, 403),
                                     ({"origin": ""}, 403), ({"host": "evil.example"}, 403), ({"host": None}, 400),
                                     ({"host": ""}, 400), ({"host": None, "origin": "https://evil.example"}, 400)):
                    reply = at(method, target, **more)
                    self.assertEqual(reply.status, status, (method, target, more))
                    self.assertNotIn("Allow", reply.headers)

    def test_the_refusal_of_a_host_names_it_and_what_to_do(self):
        for host in ("evil.example:81", "x" * 300, 'a"b\x1b'):
            reply = post(self.server, self.body, host=host)
            self.assertEqual(reply.status, 403)
            self.assertIn(host[:15].partition('"')[0], reply.body["detail"])
            self.assertIn("--origin", reply.body["detail"])
            self.assertTrue(reply.body["detail"].isprintable() and len(reply.body["detail"]) < 250)

    def test_door_without_a_length(self):
        self.assertEqual(exchange(self.server, b"", Head("POST", "/mcp", headers(self.body))).status, 411)

    @proves("C088")
    def test_accept(self):
        both = "application/json, text/event-stream"
        good = [both, "*/*", "application/json;q=0.9, text/event-stream", "APPLICATION/JSON,TEXT/*",
                "text/html, application/*;q=0.1, text/event-stream", "*/*;q=0.5, text/html;q=0",
                "application/json;charset=utf-8, text/event-stream; q=1.000"]
        bad = [None, "", "application/json", "text/event-stream", "text/html", "application/json;q=0, */*",
               "application/json, text/event-stream;q=0", "xapplication/json, text/event-stream",
               "application/json; q=banana, text/event-stream", both + ", text/*;q=1, text/event-stream;q=0.0"]
        for value in good:
            self.assertEqual(post(self.server, self.body, accept=value).status, 200, value)
        for value in bad:
            reply = post(self.server, self.body, accept=value)
            self.assertEqual((reply.status, reply.body.get("error")), (406, "not acceptable"), value)
            self.assertNotIn("jsonrpc", reply.body)

    @proves("C088")
    def test_content_type(self):
        for value in ("application/json", "Application/JSON; charset=utf-8", 'application/json;charset="UTF-8"'):
            self.assertEqual(post(self.server, self.body, content_type=value).status, 200, value)
        for value in (None, "text/plain", "application/jsonp", "application/json; charset=utf-16", "a, b"):
            self.assertEqual(post(self.server, self.body, content_type=value).status, 415, value)

    def test_weights_that_are_none_are_a_no(self):
        for weight in ("5", "1.1", "0.0001", "-1", "", "1e-1", "00.5"):
            value = f"application/json;q={weight}, text/event-stream"
            self.assertEqual(post(self.server, self.body, accept=value).status, 406, value)

    def test_octets_that_are_no_utf_8_within_a_string(self):
        raw = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xff"}}'
        reply = post(self.server, raw)
        self.assertEqual((reply.status, reply.error["code"], "id" in reply.body), (400, -32700, False))

    def test_params_are_an_object_where_they_are_given(self):
        for params in (None, [], 0, "", False):
            reply = post(self.server, {**self.body, "params": params})
            self.assertIn("params must be an object", reply.error["message"], params)
            notification = {"jsonrpc": "2.0", "method": "notifications/x", "params": params}
            self.assertEqual(stdio(self.server, notification).error["code"], -32602, params)

    @proves("BASE-02", "BASE-06", "BASE-12", "TRANS-01", "C004", "C006", "C095")
    def test_framing(self):
        for raw in (b"", b"{", b"{not json", b"\xff\xfe", b'\xef\xbb\xbf{}', b'{"a":NaN}', b'{"a":1e999}',
                    b"[" * 100000, b'{"a":1,"a":2}', b'{"jsonrpc":"2.0","id":1,"method":"x","n":' + b"1" * 5000 + b"}",
                    b'{"a":"\\ud800"}', b'{"a":"\x01"}', b'{} {}'):
            reply = post(self.server, raw)
            self.assertEqual((reply.status, reply.error["code"]), (400, -32700), raw[:40])
            self.assertNotIn("id", reply.body)
        for body, id in (([], None), ([self.body], None), (None, None), (7, None), ("x", None), ({}, None),
                         ({"jsonrpc": "1.0", "id": 1, "method": "server/discover"}, 1),
                         ({"jsonrpc": "2.0", "method": 1}, None), ({"jsonrpc": "2.0", "id": 4}, 4),
                         ({"jsonrpc": "2.0", "id": 4, "method": ""}, 4), ({"jsonrpc": "2.0", "id": 4, "result": {}}, 4),
                         ({"jsonrpc": "2.0", "id": None, "method": "tools/list"}, None),
                         ({"jsonrpc": "2.0", "id": True, "method": "tools/list"}, None),
                         ({"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}, None),
                         ({"jsonrpc": "2.0", "id": [], "method": "tools/list"}, None)):
            reply = stdio(self.server, body)
            self.assertEqual((reply.status, reply.error["code"], reply.body.get("id")), (400, -32600, id), body)
            self.assertEqual("id" in reply.body, id is not None, body)
        for params in ([1], None, 3, "x"):
            self.refused(post(self.server, {**self.body, "params": params}), 400, -32602)

    @proves("BASE-06", "BASE-12", "C006")
    def test_an_id_is_echoed_exactly(self):
        for id in (0, -1, 10**30, "", "é", "1", 1):
            reply = post(self.server, {**self.body, "id": id})
            self.assertEqual((reply.status, reply.body["id"], type(reply.body["id"])), (200, id, type(id)))

    @proves("C095")
    def test_depth(self):
        def nested(levels):
            return {**self.body, "params": {**self.body["params"], "x": eval("[" * levels + "]" * levels)}}

        self.assertEqual(post(self.server, nested(50)).status, 200)
        self.assertEqual(post(self.server, nested(90)).error["code"], -32700)
        in_text = {**self.body, "params": {**self.body["params"], "arguments": {"text": "[{" * 500 + '"\\'}}}
        self.assertEqual(post(self.server, in_text).status, 200)

    def test_a_message_holds_so_many_values(self):
        def holding(values, text=""):
            listed = {**self.body["params"], "x": [0] * values, "arguments": {"text": text}}
            return post(self.server, {**self.body, "params": listed})

        self.assertEqual(holding(199_000).status, 200)
        self.assertEqual(holding(10, "," * 300_000).status, 200, "commas in a text are none")
        self.assertEqual(holding(200_001).error["code"], -32700)

    @proves("BASE-01", "META-08", "META-09", "VERS-01", "HTTP-25", "HTTP-26", "HTTP-28", "HTTP-75", "HTTP-77..79",
            "HTTP-82", "C018")
    def test_version(self):
        def with_meta(fields):
            return {**self.body, "params": {**self.body["params"], "_meta": fields}}

        self.refused(post(self.server, self.body, mcp_protocol_version=None), 400, -32020)
        without = {**self.body, "params": {"name": "echo"}}
        for body in (without, with_meta(7), with_meta(None), with_meta({}), with_meta({PROTOCOL_VERSION: 1})):
            self.refused(post(self.server, body), 400, -32602)
        self.refused(post(self.server, self.body, mcp_protocol_version="2025-11-25"), 400, -32020)
        self.refused(post(self.server, self.body, repeated=["mcp-protocol-version"]), 400, -32020)
        for value in ("2099-01-01", "2000-01-01", "banana", "2025-11-25"):
            reply = post(self.server, with_meta({**meta(), PROTOCOL_VERSION: value}), mcp_protocol_version=value)
            self.refused(reply, 400, -32022)
            self.assertEqual(reply.error["data"], {"supported": ["2026-07-28"], "requested": value})
            for fields in ({}, None, [], {PROTOCOL_VERSION: 1}, {PROTOCOL_VERSION: None}, {"progressToken": 1}):
                reply = post(self.server, with_meta(fields), mcp_protocol_version=value)
                self.refused(reply, 400, -32022)
                self.assertEqual(reply.error["data"], {"supported": ["2026-07-28"], "requested": value})
            reply = post(self.server, without, mcp_protocol_version=value)
            self.assertEqual(reply.error["data"]["requested"], value)

    def test_an_empty_version_header_counts_as_missing(self):
        legacy = {"jsonrpc": "2.0", "id": "a", "method": "tools/list"}
        for body in (self.body, legacy, {**self.body, "params": {"_meta": {**meta(), PROTOCOL_VERSION: ""}}}):
            reply = post(self.server, body, mcp_protocol_version="")
            self.refused(reply, 400, -32020)
            self.assertIn("is required", reply.error["message"])

    @proves("VERS-04", "DISC-01", "C018")
    def test_supported_is_what_discover_says_and_each_is_served(self):
        discovered = post(self.server, message("server/discover")).result["supportedVersions"]
        wrong = {**meta(), PROTOCOL_VERSION: "x"}
        reply = post(self.server, message("server/discover", {"_meta": wrong}), mcp_protocol_version="x")
        self.assertEqual(reply.error["data"]["supported"], discovered)
        for value in discovered:
            fields = {**meta(), PROTOCOL_VERSION: value}
            reply = post(self.server, message("tools/list", {"_meta": fields}), mcp_protocol_version=value)
            self.assertEqual(reply.status, 200)

    @proves("META-08", "META-09")
    def test_meta(self):
        def with_meta(**fields):
            changed = {**meta(), **fields}
            return {**self.body, "params": {**self.body["params"],
                                            "_meta": {k: v for k, v in changed.items() if v is not ...}}}

        for fields in ({CLIENT_CAPABILITIES: ...}, {CLIENT_CAPABILITIES: None}, {CLIENT_CAPABILITIES: []},
                       {CLIENT_CAPABILITIES: {"elicitation": True}}, {CLIENT_INFO: 7}, {CLIENT_INFO: {"name": "x"}},
                       {LOG_LEVEL: "loud"}, {LOG_LEVEL: 1}, {"progressToken": None}, {"progressToken": True},
                       {"progressToken": 1.5}, {"progressToken": {}}):
            self.refused(post(self.server, with_meta(**fields)), 400, -32602)
        for fields in ({CLIENT_INFO: ...}, {"progressToken": 0}, {"progressToken": ""}, {LOG_LEVEL: "debug"}):
            self.assertEqual(post(self.server, with_meta(**fields)).status, 200, fields)

    def test_each_member_of_meta(self):
        def with_meta(name, value):
            body = message("tools/call", {"name": "echo"}, id="a")
            body["params"]["_meta"][name] = value
            return post(self.server, body)

        for name in ("elicitation", "sampling", "roots", "extensions", "experimental"):
            for value in (True, None, [], "x"):
                self.refused(with_meta(CLIENT_CAPABILITIES, {name: value}), 400, -32602)
            self.assertEqual(with_meta(CLIENT_CAPABILITIES, {name: {}}).status, 200, name)
        for info in ({}, {"name": "x"}, {"version": "1"}, {"name": 1, "version": "1"}, {"name": "x", "version": None}):
            self.refused(with_meta(CLIENT_INFO, info), 400, -32602)
        for level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"):
            self.assertEqual(with_meta(LOG_LEVEL, level).status, 200, level)
        for level in ("fatal", "DEBUG", "", None, ["debug"]):
            self.refused(with_meta(LOG_LEVEL, level), 400, -32602)

    @proves("HTTP-75", "HTTP-77", "HTTP-78", "HTTP-80..82")
    def test_the_name_of_each_method_that_has_one(self):
        """HTTP-77, HTTP-81: Mcp-Name is there and equal on tools/call, prompts/get and resources/read alike."""
        self.server.prompt(name="echo")(lambda ctx: "hi")
        self.server.resource("demo://echo", name="echo")(lambda: "hi")
        for method, params in (("tools/call", {"name": "echo"}), ("prompts/get", {"name": "echo"}),
                               ("resources/read", {"uri": "demo://echo"})):
            body = message(method, params, id="a")
            self.assertEqual(post(self.server, body).status, 200, method)
            for value in (None, "other", "", "ECHO", "=?base64?b3RoZXI=?="):
                self.refused(post(self.server, body, mcp_name=value), 400, -32020)
            self.refused(post(self.server, body, repeated=["mcp-name"]), 400, -32020)
        body = message("resources/read", {"uri": "demo://echo", "name": "other"}, id="a")
        self.refused(post(self.server, body, mcp_name="other"), 400, -32020)

    @proves("HTTP-75", "HTTP-77", "HTTP-78", "HTTP-80..82", "C008")
    def test_mirrors(self):
        for changed in ({"mcp_method": None}, {"mcp_method": "tools/list"}, {"mcp_method": "Tools/Call"},
                        {"mcp_name": None}, {"mcp_name": "other"}, {"mcp_name": "Echo"}):
            self.refused(post(self.server, self.body, **changed), 400, -32020)
        self.refused(post(self.server, self.body, repeated=["mcp-method"]), 400, -32020)
        self.refused(post(self.server, self.body, repeated=["mcp-name"]), 400, -32020)

    @proves("HTTP-27")
    def test_method(self):
        for method in ("resources/list", "tools/delete", "initialize", "ping", "logging/setLevel"):
            self.refused(post(self.server, message(method, id="a")), 404, -32601)
        self.refused(post(Server("bare", "1"), message("tools/list", id="a")), 404, -32601)

    @proves("VERS-10")
    def test_initialize_is_told_what_to_do_whichever_rung_refuses_it(self):
        legacy = {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
        for reply in (post(self.server, legacy, mcp_protocol_version=None), post(self.server, legacy),
                      post(self.server, message("initialize")), post(self.server, {**legacy, "params": 1}),
                      stdio(self.server, legacy)):
            self.assertIn("server/discover", reply.error["message"])
            self.assertIn("2026-07-28", reply.error["message"])

    @proves("BASE-24", "HTTP-12", "C002")
    def test_a_notification_is_accepted_and_never_answered(self):
        for method in ("notifications/roots/list_changed", "notifications/cancelled", "tools/call", "nonsense"):
            for reply in (post(self.server, {"jsonrpc": "2.0", "method": method}),
                          stdio(self.server, {"jsonrpc": "2.0", "method": method})):
                self.assertEqual((reply.status, reply.body), (202, None), method)

    @proves("HTTP-13")
    def test_a_bad_notification_has_no_id_in_its_answer(self):
        reply = post(self.server, {"jsonrpc": "2.0", "method": "notifications/x", "params": 3})
        self.assertEqual((reply.status, "id" in reply.body), (400, False))

    @proves("VERS-01")
    def test_stdio_climbs_without_door_accept_and_mirrors(self):
        self.assertEqual(stdio(self.server, self.body).text, "hi")
        wrong = {**self.body, "params": {**self.body["params"], "_meta": {**meta(), PROTOCOL_VERSION: "x"}}}
        self.assertEqual(stdio(self.server, wrong).error["code"], -32022)


class Order(unittest.TestCase):
    """Two faults at once: the earlier rung answers."""

    FAULTS = [
        ("door", {"host": "evil.example"}, {}, 403, None),
        ("accept", {"accept": "text/html"}, {}, 406, None),
        ("framing", {}, {"jsonrpc": "1.0"}, 400, -32600),
        ("version", {"mcp-protocol-version": "2025-11-25"}, {}, 400, -32020),
        ("meta", {}, {"meta": {CLIENT_CAPABILITIES: 7}}, 400, -32602),
        ("mirrors", {"mcp-name": "other"}, {}, 400, -32020),
        ("method", {}, {"method": "prompts/nothing"}, 404, -32601),
    ]

    def test_every_pair(self):
        server = echo_server(era="modern")
        lines = []
        server.on_trace = lines.append
        names = [fault[0] for fault in self.FAULTS]
        self.assertEqual(names, [rung.name for rung in LADDER[1:] if rung.name != "era"])
        for first in range(len(self.FAULTS)):
            for second in range(first + 1, len(self.FAULTS)):
                name, fields, change, status, code = self.FAULTS[first]
                if name == "mirrors" and names[second] == "method":
                    continue  # an unknown method has no Mcp-Name to be wrong
                body = message("tools/call", {"name": "echo"})
                extra = {**self.FAULTS[second][1], **fields}
                for part in (self.FAULTS[second][2], change):
                    if "meta" in part:
                        body["params"]["_meta"].update(part["meta"])
                    body.update({key: value for key, value in part.items() if key != "meta"})
                reply = post(server, body, extra)
                self.assertEqual(reply.status, status, (name, names[second]))
                if code is not None:
                    self.assertEqual(reply.error["code"], code, (name, names[second]))
                self.assertIn(f"{name} NO", lines[-1])

    def test_mirrors_before_method(self):
        reply = post(echo_server(), message("prompts/nothing"), mcp_method="tools/list")
        self.assertEqual((reply.status, reply.error["code"]), (400, -32020))


class Table(unittest.TestCase):
    def test_every_answer_of_the_table_is_in_the_explanation(self):
        text = explain()
        for rung in (*LADDER, HANDLER, ASIDE):
            for status, code, when in rung.answers:
                self.assertIn(f"{status}{'' if code is None else f' {code}'}  {when}", text)
                self.assertIn(rung.name, explain(str(status)))
                if code is not None:
                    self.assertIn(rung.name, explain(str(code)))

    def test_every_error_is_explained(self):
        for error in ERRORS:
            self.assertIn(str(error.defined), explain(str(error.defined)))

    def test_an_unknown_topic_is_named(self):
        with self.assertRaisesRegex(ValueError, "banana"):
            explain("banana")

    def test_ids_are_rows_of_the_requirements_table(self):
        known = {row.id for row in statements()}
        for rung in (*LADDER, HANDLER, ASIDE):
            self.assertLessEqual(set(rung.ids), known, rung.name)


@proves("C092")
class Hosts(unittest.TestCase):
    def allowed(self, host, endpoint=None, **more):
        server = echo_server()
        body = message("tools/list")
        fields = {**headers(body, **more), "content-length": "2"}
        fields["host"] = host
        import json
        return exchange(server, json.dumps(body).encode(), Head("POST", "/mcp", fields), endpoint).status

    def test_loopback_spellings(self):
        for host in ("127.0.0.1:8000", "localhost", "LOCALHOST:8000", "[::1]:8000", "127.0.0.1", "[::1]"):
            self.assertEqual(self.allowed(host), 200, host)
        for host in ("evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "[::1]evil",
                     "[::1]:99999", "[v1.a:b]", "localhost:8000@evil", "localhost:", "[", "127.0.0.1:80:80",
                     "localhost:8a"):
            self.assertEqual(self.allowed(host), 403, host)

    @proves("HTTP-02", "HTTP-03")
    def test_origins(self):
        endpoint = Endpoint(origins=["https://app.example", "http://other.example:8080"])
        for origin in ("https://app.example", "https://APP.example:443", "http://other.example:8080",
                       "http://localhost:3000", "https://127.0.0.1", "http://[::1]:5"):
            self.assertEqual(self.allowed("localhost", endpoint, origin=origin), 200, origin)
        for origin in ("http://app.example", "https://app.example:444", "null", "https://app.example.evil", "",
                       "https://app.example/path", "file://localhost", "https://app.example, https://app.example"):
            self.assertEqual(self.allowed("localhost", endpoint, origin=origin), 403, origin)
        self.assertEqual(self.allowed("app.example", endpoint), 200)

    def test_the_scheme_of_an_origin_has_no_case(self):
        endpoint = Endpoint(origins=["HTTPS://app.example"])
        for origin in ("https://app.example", "HTTPS://app.example:443", "HTTP://localhost:3000"):
            self.assertEqual(self.allowed("localhost", endpoint, origin=origin), 200, origin)

    def test_origins_whose_pages_may_call_are_let_in_and_so_are_their_hosts(self):
        endpoint = Endpoint(cors=["https://page.example"], public=["Mcp.Example"])
        self.assertEqual(self.allowed("localhost", endpoint, origin="https://page.example"), 200)
        for host, status in (("page.example", 200), ("mcp.example:8443", 200), ("other.example", 403)):
            self.assertEqual(self.allowed(host, endpoint), status, host)

    def test_a_query_is_no_part_of_the_path(self):
        fields = {**headers(message("tools/list")), "content-length": "2"}
        for target, status in (("/mcp?x=1", 400), ("/mcp?", 400), ("/mcpx?", 404), ("/?/mcp", 404)):
            self.assertEqual(exchange(echo_server(), b"{}", Head("POST", target, fields)).status, status, target)
        for path in ("mcp", "/a b", "/a?b", "/a#b", "/é", ""):
            self.assertRaises(ValueError, Endpoint, path)

    def test_the_announced_size(self):
        fields = headers(message("tools/list"))
        for length, status in (("8", 400), ("008", 400), ("9", 413), ("\xb2", 400), ("+8", 400), ("8 ", 400)):
            head = Head("POST", "/mcp", {**fields, "content-length": length})
            self.assertEqual(exchange(echo_server(), b'{"a": 1}', head, Endpoint(max_body=8)).status, status, length)

    def test_bound_elsewhere_any_host_but_no_foreign_origin(self):
        endpoint = Endpoint(host="0.0.0.0")
        self.assertEqual(self.allowed("mcp.example", endpoint), 200)
        self.assertEqual(self.allowed("mcp.example", endpoint, origin="https://evil.example"), 403)
        self.assertEqual(self.allowed("mcp.example", endpoint, origin="http://localhost"), 403)

    def test_a_bad_origin_is_refused_at_start(self):
        with self.assertRaisesRegex(ValueError, "web origin"):
            Endpoint(origins=["app.example"])


if __name__ == "__main__":
    unittest.main()
