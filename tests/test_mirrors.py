"""Mirrored headers: what a client writes and a server takes, value encoding, and the rules for x-mcp-header."""

import json
import time
import unittest

from mcp_ref import SchemaError, Server, TransportError
from mcp_ref.base.headers import annotated_parameters, decode_value, encode_value, mirrored_headers

from .support import message, post, proves

INPUT = {"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"},
    "limit": {"type": "integer", "x-mcp-header": "Limit"},
    "dry": {"type": "boolean", "x-mcp-header": "Dry"},
    "deep": {"type": "object", "properties": {"er": {"type": "string", "x-mcp-header": "Deeper"}}},
    "plain": {"type": "string"}}}


@proves("C016")
class Encoding(unittest.TestCase):
    PAIRS = [("us-west1", "us-west1"), ("", ""), ("a b", "a b"), ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
             (" padded ", "=?base64?IHBhZGRlZCA=?="), ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
             ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="), ("a\nb", "=?base64?YQpi?="),
             ("=?base64?aGk=?=", "=?base64?PT9iYXNlNjQ/YUdrPT89?="), ("größe", "=?base64?Z3LDtsOfZQ==?="),
             ("\t", "=?base64?CQ==?="), ("\x7f", "=?base64?fw==?="), ("=?base64?x", "=?base64?x")]

    def test_both_ways(self):
        for value, text in self.PAIRS:
            self.assertEqual(encode_value(value), text)
            self.assertEqual(decode_value(text), value)

    def test_no_utf8_form(self):
        with self.assertRaisesRegex(TransportError, "surrogate"):
            encode_value(json.loads('"\\ud800"'))

    @proves("C010")
    def test_degenerate_sentinels(self):
        for text in ("=?base64?=", "=?base64?@@@?=", "=?base64?/w==?=", "=?base64?YQ?=", "é", "a\x00b", "a\nb"):
            with self.assertRaises(ValueError, msg=text) as caught:
                decode_value(text)
            self.assertIn("Base64" if text.startswith("=") else "ASCII", str(caught.exception))
        self.assertEqual(decode_value("=?base64??="), "")
        self.assertEqual(decode_value("=?BASE64?YQ==?="), "=?BASE64?YQ==?=")


@proves("C016")
class Client(unittest.TestCase):
    def headers(self, arguments):
        return mirrored_headers(message("tools/call", {"name": "t", "arguments": arguments}),
                                annotated_parameters(INPUT))

    def test_values(self):
        made = self.headers({"region": "eu", "limit": -7, "dry": False, "deep": {"er": "x"}, "plain": "no"})
        self.assertEqual(made, {"Mcp-Method": "tools/call", "Mcp-Name": "t", "Mcp-Param-Region": "eu",
                                "Mcp-Param-Limit": "-7", "Mcp-Param-Dry": "false", "Mcp-Param-Deeper": "x"})

    def test_values_are_encoded_and_whole_numbers_are_integers(self):
        self.assertEqual(self.headers({"region": "ä", "limit": 7.0, "deep": {"er": " x"}}), {
            "Mcp-Method": "tools/call", "Mcp-Name": "t", "Mcp-Param-Region": "=?base64?w6Q=?=",
            "Mcp-Param-Limit": "7", "Mcp-Param-Deeper": "=?base64?IHg=?="})

    def test_null_and_absent_are_left_out(self):
        self.assertEqual(set(self.headers({"region": None, "deep": 3})), {"Mcp-Method", "Mcp-Name"})

    @proves("HTTP-40", "TOOL-27")
    def test_what_no_header_can_carry(self):
        for arguments in ({"limit": 2**53}, {"limit": -(2**53)}, {"limit": 1.5}, {"region": []}):
            with self.assertRaises(TransportError, msg=arguments):
                self.headers(arguments)

    def test_the_uri_is_the_name_of_a_resource(self):
        made = mirrored_headers(message("resources/read", {"uri": "demo://ä"}))
        self.assertEqual(made["Mcp-Name"], "=?base64?ZGVtbzovL8Ok?=")


class Annotations(unittest.TestCase):
    @proves("HTTP-35..39", "HTTP-41", "HTTP-42", "TOOL-22..26", "TOOL-28")
    def test_rules(self):
        def one(**schema):
            return {"type": "object", "properties": {"p": schema}}

        good = one(type="string", **{"x-mcp-header": "A-b.1"})
        self.assertEqual(annotated_parameters(good)[0].title, "Mcp-Param-A-b.1")
        bad = [one(type="string", **{"x-mcp-header": value}) for value in ("", "a b", "a\r\nb", "ä", 7, None, "a:b")]
        bad += [one(type=kind, **{"x-mcp-header": "A"}) for kind in ("number", "object", "array", "null", None)]
        bad += [one(type=kinds, **{"x-mcp-header": "A"}) for kinds in (["string"], ["string", "null"], [])]
        bad.append(one(**{"x-mcp-header": "A"}))
        bad += [{"type": kind, "x-mcp-header": "A"} for kind in ("object", "string")]
        bad.append({"type": "object", "properties": {"p": {"type": "string", "x-mcp-header": "A"},
                                                     "q": {"type": "string", "x-mcp-header": "a"}}})
        leaf = {"type": "string", "x-mcp-header": "A"}
        bad.append(one(type="array", items=leaf))
        bad += [one(**{word: [leaf]}) for word in ("oneOf", "anyOf", "allOf", "prefixItems")]
        bad += [one(**{word: leaf}) for word in ("not", "if", "then", "else", "additionalProperties")]
        bad.append({"type": "object", "$defs": {"p": leaf}, "properties": {"p": {"$ref": "#/$defs/p"}}})
        for schema in bad:
            with self.assertRaises(SchemaError, msg=schema):
                annotated_parameters(schema)

    def test_the_word_as_a_property_name_or_in_data_is_no_annotation(self):
        named = {"x-mcp-header": {"type": "string"}}
        for schema in ({"properties": {**named, "const": {"properties": named}}}, {"definitions": named},
                       {"$defs": named}, {"patternProperties": named}, {"dependentSchemas": named},
                       {"dependencies": {"x-mcp-header": ["p"]}}, {"dependencies": named},
                       {"dependentRequired": {"x-mcp-header": ["p"], "p": ["x-mcp-header"]}},
                       {"items": {"definitions": named}}, {"required": ["x-mcp-header"]},
                       {"properties": {"p": {"$vocabulary": {"x-mcp-header": True}}}},
                       *({"properties": {"p": {word: {"x-mcp-header": "A"}}}} for word in ("const", "default")),
                       *({"properties": {"p": {word: [{"x-mcp-header": "A"}]}}} for word in ("enum", "examples"))):
            self.assertEqual(annotated_parameters({"type": "object", **schema}), [], schema)

    def test_they_are_found_in_linear_time(self):
        schema = {"properties": {f"p{at}": {"type": "string", "x-mcp-header": f"P{at}"} for at in range(60_000)}}
        began = time.process_time()
        self.assertEqual(len(annotated_parameters(schema)), 60_000)
        self.assertLess(time.process_time() - began, 10.0)  # each looked for among all takes a minute

    def test_an_annotation_that_is_out_of_reach_is_told_by_its_place(self):
        leaf = {"type": "string", "x-mcp-header": "A"}
        for schema, place in (({"definitions": {"d": leaf}}, "/definitions/d"),
                              ({"items": [{}, leaf]}, "/items/1"),
                              ({"properties": {"p": {"dependencies": {"q": leaf}}}}, "/properties/p/dependencies/q"),
                              ({"properties": {"const": {"const": 1, "not": leaf}}}, "/properties/const/not"),
                              ({"dependentSchemas": {"p": {"properties": {"q": leaf}}}},
                               "/dependentSchemas/p/properties/q")):
            with self.assertRaisesRegex(SchemaError, f'"{place}"'):
                annotated_parameters({"type": "object", **schema})

    @proves("HTTP-35..39", "HTTP-41", "HTTP-42", "TOOL-22..26", "TOOL-28")
    def test_a_server_refuses_such_a_tool_at_registration(self):
        with self.assertRaises(SchemaError):
            Server("s", "1").tool(name="t", input_schema={"type": "object", "properties": {
                "p": {"type": "number", "x-mcp-header": "P"}}})(lambda arguments: "")


@proves("C014")
class ServerSide(unittest.TestCase):
    def setUp(self):
        self.server = Server("mirrors", "1")
        self.server.tool(name="page", input_schema=INPUT)(lambda ctx, arguments: json.dumps(arguments))
        self.server.tool(name="x")(lambda ctx: "x")

    def reply(self, arguments, extra=None, **more):
        return post(self.server, message("tools/call", {"name": "page", "arguments": arguments}), extra, **more)

    def assert_mismatch(self, reply, msg=None):
        self.assertEqual((reply.status, reply.error["code"], reply.body["id"]), (400, -32020, 1), msg)

    @proves("HTTP-52", "HTTP-54", "HTTP-83")
    def test_equal_values_pass(self):
        for value, text in ((42, "42"), (42, "42.0"), (42.0, "42"), (-7, "-7")):
            self.assertEqual(self.reply({"limit": value}, mcp_param_limit=text).status, 200, (value, text))
        for value, text in Encoding.PAIRS:
            self.assertEqual(self.reply({"region": value}, mcp_param_region=text).status, 200, text)
        self.assertEqual(self.reply({"dry": True}, mcp_param_dry="true").status, 200)
        self.assertEqual(self.reply({"deep": {"er": "q"}}, mcp_param_deeper="q").status, 200)
        self.assertEqual(self.reply({"region": "us"}, mcp_param_region="=?base64?dXM=?=").status, 200)

    @proves("HTTP-40", "HTTP-64..66", "HTTP-68", "HTTP-73", "HTTP-75", "HTTP-77", "HTTP-78", "HTTP-82", "HTTP-84",
            "TOOL-27")
    def test_differences(self):
        for arguments, fields in (
                ({"limit": 42}, {"mcp_param_limit": "43"}), ({"limit": 42}, {"mcp_param_limit": "abc"}),
                ({"limit": 42}, {"mcp_param_limit": "4_2"}), ({"limit": 42}, {"mcp_param_limit": "NaN"}),
                ({"limit": 42}, {"mcp_param_limit": "9" * 5000}), ({"limit": 2**53}, {"mcp_param_limit": str(2**53)}),
                ({"limit": 42}, {}), ({"region": "eu"}, {}), ({"region": "eu"}, {"mcp_param_region": "EU"}),
                ({}, {"mcp_param_region": "eu"}), ({"region": None}, {"mcp_param_region": "eu"}),
                ({"dry": True}, {"mcp_param_dry": "True"}), ({"dry": True}, {"mcp_param_dry": "1"}),
                ({"region": "ä"}, {"mcp_param_region": "ä"}), ({"region": []}, {"mcp_param_region": "[]"}),
                ({"region": "eu"}, {"mcp_param_region": "=?base64?@@?="})):
            self.assert_mismatch(self.reply(arguments, fields), (arguments, fields))
        self.assert_mismatch(self.reply({"region": "a, b"}, mcp_param_region="a, b", repeated=["mcp-param-region"]))

    @proves("HTTP-64..66", "HTTP-68", "HTTP-73", "HTTP-84")
    def test_a_nested_parameter_counts_like_any_other(self):
        """HTTP-65, HTTP-66, HTTP-84: at whatever depth, and whichever in the schema's order."""
        for fields in ({}, {"mcp_param_deeper": "x"}, {"mcp_param_deeper": ""}, {"mcp_param_deeper": "=?base64?@?="}):
            self.assert_mismatch(self.reply({"deep": {"er": "q"}}, fields), fields)
        for arguments in ({}, {"deep": {}}, {"deep": {"er": None}}, {"deep": None}, {"deep": 3}):
            self.assert_mismatch(self.reply(arguments, {"mcp_param_deeper": "q"}), arguments)
        self.assert_mismatch(self.reply({"deep": {"er": "q"}}, mcp_param_deeper="q", repeated=["mcp-param-deeper"]))

    def test_a_number_is_compared_as_one_and_only_a_whole_one_is(self):
        for value, text in ((42, "42.9"), (42, "42."), (42, ".42"), (42, "+42"), (42, "4.2e1"), (42.5, "42"),
                            (42.5, "42.5"), (42, "42.01"), (42, " 42 "), (42, "042 ")):
            self.assert_mismatch(self.reply({"limit": value}, mcp_param_limit=text), (value, text))

    @proves("HTTP-70", "HTTP-72")
    def test_null_and_absent_need_no_header(self):
        self.assertEqual(self.reply({"region": None}, mcp_param_unknown="x").status, 200)
        self.assertEqual(self.reply({}).status, 200)

    def test_an_empty_header_counts_as_missing(self):
        for name in ("mcp_method", "mcp_name"):
            self.assert_mismatch(self.reply({}, **{name: ""}), name)
        for arguments in ({"region": "eu"}, {"limit": 0}, {"dry": False}, {"deep": {"er": "x"}}):
            empty = {f"mcp_param_{name}": "" for name in ("region", "limit", "dry", "deeper")}
            reply = self.reply(arguments, empty)
            self.assert_mismatch(reply, arguments)
            self.assertIn("is required", reply.error["message"])
        self.assertEqual(self.reply({"region": None}, mcp_param_region="", mcp_param_limit="").status, 200)

    def test_an_empty_text_is_mirrored_by_an_empty_header(self):
        sent = mirrored_headers(message("tools/call", {"name": "t", "arguments": {"region": ""}}),
                                annotated_parameters(INPUT))
        self.assertEqual(sent["Mcp-Param-Region"], "")
        for text in ("", "=?base64??="):
            self.assertEqual(self.reply({"region": ""}, mcp_param_region=text).status, 200, text)
        self.assert_mismatch(self.reply({"region": ""}))
        self.assert_mismatch(self.reply({"region": None}, mcp_param_region="=?base64??="))

    @proves("HTTP-84", "C010")
    def test_degenerate_names(self):
        body = message("tools/call", {"name": "x"})
        for text in ("=?base64?=", "=?base64??=", "=?base64?@@@?=", "=?base64?/w==?="):
            self.assert_mismatch(post(self.server, body, mcp_name=text), text)
        self.assertEqual(post(self.server, body, mcp_name="=?base64?eA==?=").text, "x")

    @proves("HTTP-52", "HTTP-54", "HTTP-83", "HTTP-84", "C009")
    def test_a_name_that_is_not_ascii(self):
        with self.assertLogs("mcp_ref", "WARNING"):
            self.server.tool(name="größe")(lambda ctx: "groß")
        body = message("tools/call", {"name": "größe"})
        self.assertEqual(post(self.server, body, mcp_name="=?base64?Z3LDtsOfZQ==?=").text, "groß")
        self.assert_mismatch(post(self.server, body, mcp_name="größe"))

    def test_a_body_without_a_name(self):
        for name in (None, 7, ""):
            self.assertEqual(post(self.server, message("tools/call", {"name": name}), mcp_name="x").status, 400)
        self.assert_mismatch(post(self.server, message("tools/call", {"name": ""}), mcp_name=""))


if __name__ == "__main__":
    unittest.main()
