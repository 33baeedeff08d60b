"""basic/index, JSON Schema Usage: the validator (BASE-33 to BASE-48)."""

from __future__ import annotations

import http.server
import pathlib
import socket
import sys
import tempfile
import threading
import unittest
from reprlib import repr as short
from typing import Any, Dict, List, Optional
from unittest import mock

from mcp_ref.lib import json_schema as validator
from mcp_ref.lib.json_schema import DRAFT_07, DRAFT_2020_12, Schema, SchemaError, compile_schema
from mcp_ref.lib.json_schema import compile as compiling
from mcp_ref.lib.json_schema import run as running
from mcp_ref.lib.json_schema.patterns import Automaton, compile_pattern
from mcp_ref.lib.json_schema.run import MAX_VIOLATIONS, STEPS_PER_NODE, Run, size
from tests import schema_suite

from .support import proves

OBJECT: Dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 2}, "n": {"type": "integer"},
                   "items": {"type": "array", "items": {"type": "object", "required": ["name"]}}},
    "required": ["text"], "additionalProperties": False,
}


def texts(schema: Any, instance: Any, root: str = "arguments") -> List[str]:
    return [violation.text(root) for violation in compile_schema(schema).errors(instance)]


class Case(unittest.TestCase):
    def valid(self, schema: Any, *instances: Any, **options: Any) -> None:
        compiled = compile_schema(schema, **options)
        for instance in instances:
            self.assertEqual(compiled.errors(instance), [], f"{short(schema)} should accept {short(instance)}")

    def invalid(self, schema: Any, *instances: Any, **options: Any) -> None:
        compiled = compile_schema(schema, **options)
        for instance in instances:
            self.assertFalse(compiled.is_valid(instance), f"{short(schema)} should refuse {short(instance)}")
            self.assertTrue(compiled.errors(instance), f"{short(schema)} should say why not {short(instance)}")

    def refused(self, schema: Any, wording: str, documents: Optional[Dict[str, Any]] = None) -> None:
        with self.assertRaises(SchemaError, msg=short(schema)) as caught:
            compile_schema(schema, documents=documents)
        self.assertIn(wording, str(caught.exception))

    def quickly(self, calls: int = 10_000_000) -> "_Calls":
        return _Calls(calls)


class _Calls:
    """Counts the calls in its block, of Python functions and built-in ones, and fails beyond a limit.

    So the cost of something is tested without a clock, on a machine of any speed.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0

    def __enter__(self) -> "_Calls":
        sys.setprofile(self._called)
        return self

    def __exit__(self, *exception: Any) -> None:
        sys.setprofile(None)

    def _called(self, frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            self.count += 1
            if self.count > self.limit:
                sys.setprofile(None)
                raise AssertionError("too costly")


@proves("BASE-33", "C051")
class Semantics(Case):
    def test_integers_and_booleans(self) -> None:
        self.valid({"type": "integer"}, 3, 3.0, -1, 10 ** 400)
        self.invalid({"type": "integer"}, True, False, 3.5, "3", None, float("inf"))
        self.valid({"type": "number"}, 3, 3.5)
        self.invalid({"type": "number"}, True)
        self.valid({"type": ["integer", "null"]}, 3.0, None)

    def test_equality(self) -> None:
        self.invalid({"enum": [1]}, True)
        self.invalid({"const": 0}, False)
        self.invalid({"const": False}, 0)
        self.valid({"const": 1}, 1.0)
        self.invalid({"const": {"a": [1]}}, {"a": [True]})
        self.valid({"const": {"a": 1, "b": [2.0]}}, {"b": [2], "a": 1.0})
        self.valid({"uniqueItems": True}, [1, True, "1", [1], [True], {"a": 1}, {"a": True}, None, 0, False])
        self.invalid({"uniqueItems": True}, [1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [[1], [1.0]])

    def test_multiple_of_is_decimal(self) -> None:
        self.valid({"multipleOf": 0.0001}, 0.0075, 3)
        self.invalid({"multipleOf": 0.0001}, 0.00751, float("inf"), float("nan"))
        self.invalid({"multipleOf": 0.123456789}, 1e308)
        self.valid({"multipleOf": 3}, 3 * 10 ** 4000)

    def test_lengths_are_code_points(self) -> None:
        self.valid({"maxLength": 2}, "\U0001f432\U0001f432")

    def test_references(self) -> None:
        schema = {"$defs": {"a/b": {"type": "string"}, "ä": {"type": "integer"}, "t~": {"type": "null"}},
                  "properties": {"a": {"type": "boolean"}, "b": {"$ref": "#/properties/a"},
                                 "c": {"$ref": "#/$defs/a~1b"}, "d": {"$ref": "#/$defs/%C3%A4"},
                                 "e": {"$ref": "#/$defs/t~0"}}}
        self.valid(schema, {"b": True, "c": "x", "d": 1, "e": None})
        self.invalid(schema, {"b": 1}, {"c": 1}, {"d": "x"}, {"e": 0})

    def test_bases_and_anchors(self) -> None:
        schema = {"$id": "https://example.com/root", "$ref": "item#here",
                  "$defs": {"x": {"$id": "item", "$defs": {"y": {"$anchor": "here", "type": "string"}}}}}
        self.valid(schema, "x")
        self.invalid(schema, 1)

    def test_a_reference_to_any_place(self) -> None:
        self.invalid({"examples": [{"type": "string"}], "$ref": "#/examples/0"}, 1)

    def test_a_tree(self) -> None:
        tree = {"$defs": {"n": {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/n"}}}}},
                "$ref": "#/$defs/n"}
        self.valid(tree, {"kids": [{"kids": [{}, {"kids": []}]}]})
        self.assertEqual(texts(tree, {"kids": [{"kids": [{}, 3]}]}), ["arguments.kids[0].kids[1] must be an object"])
        deep: Any = {}
        for _ in range(30):
            deep = {"kids": [deep]}
        self.valid(tree, deep)

    def test_dynamic_reference(self) -> None:
        schema = {"$id": "https://example.com/numbers", "$ref": "list",
                  "$defs": {"element": {"$dynamicAnchor": "T", "type": "number"},
                            "list": {"$id": "list", "items": {"$dynamicRef": "#T"},
                                     "$defs": {"any": {"$dynamicAnchor": "T"}}}}}
        self.valid(schema, [1, 2])
        self.invalid(schema, [1, "x"])

    def test_unevaluated(self) -> None:
        schema = {"allOf": [{"properties": {"a": True}}], "anyOf": [{"required": ["b"], "properties": {"b": True}}, {}],
                  "unevaluatedProperties": False}
        self.valid(schema, {"a": 1, "b": 2})
        self.assertEqual(texts(schema, {"c": 1}), ["arguments.c is not allowed"])
        self.invalid({"prefixItems": [True], "contains": {"const": 1}, "unevaluatedItems": False}, [0, 1, 2])
        self.valid({"prefixItems": [True], "contains": {"const": 1}, "unevaluatedItems": False}, [0, 1, 1])

    def test_instances_of_python(self) -> None:
        class Name(str):
            pass

        self.valid({"items": {"type": "string"}}, ("a", Name("b")))
        self.invalid({"type": "string"}, object(), b"bytes")
        self.invalid({"patternProperties": {"1": False}, "const": {}}, {1: 2})
        self.assertEqual(texts({"properties": {}, "additionalProperties": False}, {(): 1}),
                         ['arguments["()"] is not allowed (allowed: none)'])

    def test_the_public_suite(self) -> None:
        root = schema_suite.BUILD / f"{schema_suite.PACKAGE}-{schema_suite.VERSION}" / "json"
        if not root.is_dir():
            self.skipTest("python -m tests.schema_suite downloads it")
        for draft, expected in schema_suite.EXPECTED.items():
            passed, failed = schema_suite.run(root, draft)
            self.assertEqual(failed, [])
            self.assertGreaterEqual(passed, expected)


class Messages(Case):
    def test_sentences(self) -> None:
        self.assertEqual(texts(OBJECT, {"text": 3}), ["arguments.text must be a string"])
        self.assertEqual(texts(OBJECT, {"text": "ok", "items": [{"name": 1}, {}]}),
                         ["arguments.items[1].name is required"])
        self.assertEqual(sorted(texts(OBJECT, {"n": 1.5, "x": 1})), [
            "arguments.n must be an integer", "arguments.text is required",
            "arguments.x is not allowed (allowed: text, n, items)"])
        self.assertEqual(texts(OBJECT, []), ["arguments must be an object"])
        self.assertEqual(texts(OBJECT, [], root=""), ["the value must be an object"])
        self.assertEqual(texts({"properties": {"a b": False}}, {"a b": 1}), ['arguments["a b"] is not allowed'])

    def test_what_was_expected(self) -> None:
        for schema, instance, wanted in [
            ({"type": ["string", "null"]}, 1, "must be one of: string, null"),
            ({"enum": ["a", "b"]}, 1, 'must be one of: "a", "b"'),
            ({"const": {"a": 1}}, 1, 'must be {"a": 1}'),
            ({"minimum": 3}, 2, "must be at least 3"),
            ({"exclusiveMaximum": 3}, 3, "must be less than 3"),
            ({"minLength": 1}, "", "must have at least 1 character"),
            ({"maxItems": 2}, [1, 2, 3], "must have at most 2 items"),
            ({"pattern": "^a"}, "b", "must match the pattern ^a"),
            ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1,
             "matches no alternative: must be a string; or must be null"),
            ({"oneOf": [True, True]}, 1, "must match exactly one of the 2 alternatives, but matches several"),
            ({"uniqueItems": True}, [1, 2, 1], "must not hold an item twice: [0] and [2] are equal"),
            ({"not": {}}, 1, "must not match the schema in not"),
            ({"contains": {"const": 1}}, [], "must have at least 1 item that matches the schema in contains"),
        ]:
            self.assertEqual(texts(schema, instance, "x"), [f"x {wanted}"])
        self.assertEqual(texts({"dependentRequired": {"a": ["b"]}}, {"a": 1}), [
            'arguments.b is required when "a" is given'])
        self.assertEqual(texts({"propertyNames": {"pattern": "^a"}}, {"b": 1}), [
            "arguments.b is not a property name that is allowed: it must match the pattern ^a"])

    def test_bounded(self) -> None:
        self.assertEqual(len(texts({"items": {"type": "string"}}, list(range(1000)))), MAX_VIOLATIONS)
        for schema in ({"enum": ["x" * 10_000, "y"]}, {"enum": list(range(10_000))}, {"const": ["x"] * 1000}):
            self.assertLess(len(texts(schema, "z" * 100_000)[0]), 500)

    def test_violation(self) -> None:
        violation = compile_schema(OBJECT).errors({"text": "ok", "items": [{}]})[0]
        self.assertEqual((violation.path, violation.keyword), (("items", 0, "name"), "required"))


class Dialects(Case):
    @proves("BASE-33", "BASE-36", "BASE-37")
    def test_default_and_named(self) -> None:
        tuples = {"prefixItems": [{"type": "string"}]}
        for schema in (tuples, {"$schema": DRAFT_2020_12, **tuples}, {"$schema": DRAFT_2020_12 + "#", **tuples}):
            self.invalid(schema, [1])

    @proves("BASE-37")
    def test_draft_07(self) -> None:
        for uri in (DRAFT_07, DRAFT_07 + "#"):
            self.valid({"$schema": uri, "prefixItems": [False], "dependentRequired": {"a": ["b"]}}, [1], {"a": 1})
            self.invalid({"$schema": uri, "items": [{"type": "string"}], "additionalItems": False}, [1], ["a", 1])
            self.invalid({"$schema": uri, "dependencies": {"a": ["b"], "c": {"maxProperties": 1}}}, {"a": 1},
                         {"c": 1, "d": 2})
            self.valid({"$schema": uri, "$ref": "#/definitions/s", "type": "null",
                        "definitions": {"s": {"type": "string"}}}, "x")
            self.refused({"$schema": uri, "items": [{"type": "strng"}]}, "#/items/0/type")

    @proves("BASE-37")
    def test_what_draft_07_evaluates_is_known_to_2020_12(self) -> None:
        old = {"$schema": DRAFT_07, "items": [{}],
               "dependencies": {"a": {"properties": {"a": {}, "b": {}}}, "c": ["a"]}}
        schema = {"$ref": "old:", "unevaluatedItems": False, "unevaluatedProperties": False}
        self.valid(schema, [1], {"a": 1, "b": 2}, documents={"old:": old})
        self.invalid(schema, [1, 2], {"a": 1, "c": 2}, {"b": 2}, documents={"old:": old})

    @proves("BASE-38")
    def test_unsupported(self) -> None:
        self.refused({"$schema": "https://example.org/my"}, "dialect not supported: https://example.org/my; supported: "
                     + DRAFT_2020_12)
        self.refused({"$schema": "http://json-schema.org/draft-04/schema#"}, "dialect not supported")
        self.refused({"$schema": 3}, "$schema must be a string")

    def test_custom_by_documents(self) -> None:
        vocabulary = "https://json-schema.org/draft/2020-12/vocab/"
        own = {"$schema": DRAFT_2020_12, "$vocabulary": {vocabulary + "core": True, vocabulary + "applicator": True}}
        schema = {"$schema": "https://example.org/my", "properties": {"n": {"minimum": 10}, "no": False}}
        self.valid(schema, {"n": 1}, documents={"https://example.org/my": own})
        self.invalid(schema, {"no": 1}, documents={"https://example.org/my": own})
        strange = {"$vocabulary": {"https://example.org/vocab": True}}
        self.refused(schema, "requires the vocabulary https://example.org/vocab", {"https://example.org/my": strange})

    def test_metaschemas_are_at_hand(self) -> None:
        self.invalid({"$ref": DRAFT_2020_12}, {"properties": {"a": {"type": 3}}}, {"minLength": -1}, 3)
        self.valid({"$ref": DRAFT_2020_12}, OBJECT, True)
        self.invalid({"$schema": DRAFT_07, "$ref": DRAFT_07 + "#"}, {"definitions": {"a": {"type": 3}}})


class Handing(http.server.BaseHTTPRequestHandler):
    """Hands a schema to whoever asks, and notes it."""

    asked: List[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"type": "string"}')

    def log_message(self, *_: Any) -> None:
        pass


@proves("C051")
class Refusals(Case):
    def test_invalid_schemas_are_named_with_their_place(self) -> None:
        for schema, wording in [
            ({"type": "strng"}, "#/type "), ({"minimum": "x"}, "#/minimum must be a number"),
            ({"required": [1]}, "#/required/0 must be a string"), ({"pattern": 3}, "#/pattern must be a string"),
            ({"pattern": "["}, "#/pattern: the pattern"), ({"patternProperties": {"(": {}}}, "#/patternProperties: "),
            ({"properties": {"a/b": {"items": {"maxLength": -1}}}}, "#/properties/a~1b/items/maxLength must be"),
            ({"properties": {"a": 3}}, "#/properties/a must be one of: object, boolean"), ({"allOf": []}, "#/allOf "),
            ({"$defs": {"unused": {"type": 3}}}, "#/$defs/unused/type "), ([], "# must be"), (None, "# must be"),
            ({"multipleOf": 0}, "#/multipleOf "), ({"multipleOf": float("inf")}, "#/multipleOf: must be finite"),
            ({"$anchor": "9"}, "#/$anchor "), ({"$id": "#a"}, "#/$id "),
            ({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}, "the anchor x is there twice"),
            ({"$defs": {"a": {"$id": "http://x/"}, "b": {"$id": "http://x/"}}}, "two schemas have the $id"),
        ]:
            self.refused(schema, wording)

    @proves("BASE-41", "BASE-42")
    def test_references_are_never_fetched(self) -> None:
        with mock.patch.object(socket, "socket", side_effect=AssertionError("opened a socket")):
            for reference in ("http://169.254.169.254/x", "https://example.com/s#/a", "file:///etc/passwd", "http://["):
                self.refused({"properties": {"a": {"$ref": reference}}}, "#/properties/a: cannot resolve")
                self.refused({"$dynamicRef": reference}, "cannot resolve")
        with tempfile.TemporaryDirectory() as folder, http.server.HTTPServer(("127.0.0.1", 0), Handing) as served:
            path = pathlib.Path(folder, "s.json")
            path.write_text('{"type": "string"}', encoding="utf-8")
            threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01}).start()
            try:  # documents that are really there: were they fetched, the schema would be good
                for uri in (f"http://127.0.0.1:{served.server_port}/s.json", path.as_uri(), str(path)):
                    for schema in ({"$ref": uri}, {"$ref": uri + "#"}, {"$dynamicRef": uri}, {"$schema": uri},
                                   {"$id": uri, "$ref": "other"}, {"$id": uri, "items": {"$ref": "s.json#/$defs/a"}},
                                   {"$schema": DRAFT_07, "$ref": uri}, {"$defs": {"a": {"$ref": uri}}},
                                   {"items": {"$schema": uri, "$id": "http://x/"}}):
                        self.assertRaises(SchemaError, compile_schema, schema)
                    for unread in ({"$id": uri}, {"$comment": uri, "default": {"$ref": uri}}):
                        self.valid(unread, 1)
            finally:
                served.shutdown()
            self.assertEqual(Handing.asked, [])
        self.refused({"$ref": "#/$defs/none"}, "nothing is there")
        self.refused({"$ref": "#none"}, "nothing is there")
        self.refused({"a": [3], "$ref": "#/a/0"}, "nothing is there")
        self.refused({"$defs": {"unused": {"$ref": "http://example.com/"}}}, "never fetched")

    def test_documents(self) -> None:
        documents = {"http://example.com/s": {"$defs": {"a": {"$ref": "t#/x"}}}, "http://example.com/t": {"x": False}}
        self.invalid({"$ref": "http://example.com/s#/$defs/a"}, 1, documents=documents)
        self.refused({"$ref": "http://example.com/u"}, "never fetched", documents)

    def test_cycles(self) -> None:
        itself = {"$ref": "#"}
        for schema in (itself, {"allOf": [itself]}, {"anyOf": [{}, itself]}, {"oneOf": [itself]}, {"not": itself},
                       {"if": itself}, {"if": {}, "then": itself}, {"if": {}, "else": itself},
                       {"dependentSchemas": {"a": itself}}, {"$dynamicRef": "#"},
                       {"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]},
                       {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}},
                       {"$schema": DRAFT_07, "dependencies": {"a": itself}}):
            self.refused(schema, "refers to itself without going into the instance")
        self.valid({"properties": {"a": itself}, "items": itself, "additionalProperties": itself}, {"a": [{}]})


@proves("C051")
class Bounds(Case):
    def test_schemas(self) -> None:
        for keyword in ("allOf", "not", "items"):
            schema: Any = {}
            for _ in range(10_000):
                schema = {keyword: [schema] if keyword == "allOf" else schema}
            with self.quickly():
                self.refused(schema, "nested more than 64 subschemas")
        with self.quickly():
            self.refused({"properties": {str(n): {} for n in range(20_000)}}, "more than 10000 subschemas")
            self.refused({"allOf": [{"pattern": f"a{{4000}}{n}"} for n in range(1000)]}, "patterns of the schema")
            self.refused({"const": nested(100_000)}, "nested too deeply")
            self.refused({"required": nested(200)}, "#/required: is nested too deeply")
            self.refused({"default": nested(100_000), "$ref": "#/default" + "/0" * 90_000}, "nothing is there")
            self.refused({"$id": "http://x/" + "y" * 5000}, "longer than")

    def test_ladders(self) -> None:
        for keyword in ("allOf", "anyOf", "oneOf"):
            rungs: Dict[str, Any] = {f"n{i}": {keyword: [{"$ref": f"#/$defs/n{i + 1}"}] * 2} for i in range(40)}
            schema = {"$ref": "#/$defs/n0", "$defs": {**rungs, "n40": {"type": "string"}}}
            with self.quickly():
                self.assertEqual(texts(schema, 1), ["arguments is too costly to validate against its schema"])

    def test_alternatives_that_hold_themselves(self) -> None:
        for keyword in ("anyOf", "oneOf"):
            node = {keyword: [{"type": "object", "required": ["kind", "parts"], "properties": {
                "kind": {"const": kind}, "parts": {"items": {"$ref": "#/$defs/node"}}}} for kind in ("sum", "product")]}
            value: Any = {"kind": "product", "parts": []}
            for _ in range(40):
                value = {"kind": "product", "parts": [value]}
            with self.quickly(10_000):
                self.valid({"$ref": "#/$defs/node", "$defs": {"node": node}}, value)

    def test_a_schema_times_an_instance(self) -> None:
        with self.quickly():
            self.invalid({"items": {"allOf": [{"items": {"type": "integer"}}] * 4_500}}, [[1] * 100] * 1000)
            self.valid({"items": OBJECT}, [{"text": "ok", "n": 1, "items": [{"name": 1}]}] * 30_000)

    def test_deep_instances_and_long_chains(self) -> None:
        deep = nested(100_000)
        tree = {"$ref": "#/$defs/n", "$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}}
        chain = {f"n{i}": {"$ref": f"#/$defs/n{i + 1}"} for i in range(2_000)}
        with self.quickly():
            for schema in (tree, {"const": [1]}, {"enum": [[1]]}, {"uniqueItems": True}):
                self.assertIn("nested too deeply", texts(schema, deep)[0])
            self.assertEqual(texts({"const": 1}, deep), ["arguments must be 1"])
            self.invalid({"$ref": "#/$defs/n0", "$defs": {**chain, "n2000": {}}}, 1)

    def test_many_values(self) -> None:
        with self.quickly():
            self.valid({"enum": list(range(100_000))}, 99_999)
            self.valid({"uniqueItems": True}, list(range(100_000)), [(2 ** 61 - 1) * n for n in range(100_000)])
            self.valid({"patternProperties": {f"^{n}x+$": {} for n in range(100)}}, {f"{n}": 0 for n in range(1000)})

    def test_a_step_costs_what_it_says(self) -> None:
        """Whatever keyword is made to work hardest: no more calls than steps were paid for, and those are bounded."""
        text, number = {"type": "string"}, {"type": "number", "minimum": 0, "maximum": 1e9, "not": {"const": 5}}
        numbers, records = list(range(3000)), [{"a": n, "b": str(n), "c": None} for n in range(700)]
        members, deep = {f"n{n}": n for n in range(3000)}, [nested(50) for _ in range(50)]
        tree = {"$ref": "#/$defs/n"}
        defs = {"n": {"type": ["array", "string"], "items": tree}}
        leaves: Any = list(range(10))
        for _ in range(40):
            leaves = [leaves]

        def hidden(schema: Any) -> Any:  # where every item is looked at, whatever the others were
            return {"contains": schema, "minContains": 0}

        def often(schema: Any, times: int = 30) -> Any:
            return {"allOf": [schema] * times}

        for schema, instance in [
            (hidden({"oneOf": [{"const": -n} for n in range(1, 300)]}), numbers),
            (hidden({"anyOf": [{"const": [n]} for n in range(300)]}), [[n, n] for n in range(3000)]),
            (hidden({"anyOf": [{"type": "string"}, {"items": text}]}), [[n] for n in range(3000)]),
            (hidden(often({"enum": numbers})), numbers), (often({"items": {"enum": [[1], [2]]}}), deep),
            (often({"items": number}), numbers), ({"items": often(number)}, numbers),
            (hidden(often({"multipleOf": 1e-7})), [n * 1e-7 for n in numbers]),
            (hidden(often({"multipleOf": 0.01})), [n / 7 for n in numbers]),
            (often({"uniqueItems": True}), numbers), (often({"uniqueItems": True}), records),
            (often({"items": {"uniqueItems": True}}), deep), (often(hidden(text)), numbers),
            (hidden({"required": ["a", "z"], "properties": {"a": text, "b": number, "c": text}}), records),
            (often({"properties": {f"m{n}": text for n in range(4000)}}, 2), {f"k{n}": 1 for n in range(3900)}),
            (hidden({"additionalProperties": False}), records), (often({"additionalProperties": number}), members),
            (often({"patternProperties": {"^x": text, "n": number}}), members),
            (often({"patternProperties": {"^n": {}}, "additionalProperties": text}), members),
            (often({"propertyNames": {"minLength": 1, "maxLength": 9, "not": {"const": "z"}}}), members),
            (hidden({"propertyNames": {"maxLength": 0}}), records),
            (hidden({"dependentRequired": {name: ["z"] for name in "abc"}}), records),
            (hidden(often({"dependentSchemas": {name: {"minProperties": 9} for name in "abc"}})), records),
            ({"items": often({"if": {"type": "integer"}, "then": number})}, numbers), (hidden(tree), deep),
            (often(tree, 20), deep), (hidden(tree), [leaves] * 50),
            ({"$id": "x:r", "$dynamicAnchor": "n", "type": "array", "items": {"$dynamicRef": "#n"}}, deep),
            (often({"properties": {"a": {}}, "unevaluatedProperties": True}), members),
            ({"items": often({"anyOf": [{"minProperties": 1}, {"additionalProperties": True}],
                              "unevaluatedProperties": False}, 20)}, records),
            (often({"contains": number, "unevaluatedItems": False}), numbers),
            (often({"items": {"pattern": "^(a|b)*a(a|b){9}$"}}), [bin(n)[2:] for n in numbers]),
            (hidden({"prefixItems": [number] * 20}), [[1, -1]] * 3000),
            (often({"items": {"format": "date-time"}}), ["2026-07-28T09:30:00Z"] * 3000),
        ]:
            compiled, runs, most = compile_schema({**schema, "$defs": defs}, formats=True), [], 20_000

            def made(*given: Any) -> Run:
                runs.append(Run(*given))
                return runs[0]

            with mock.patch.object(running, "MAX_STEPS", most), mock.patch.object(validator, "Run", made):
                with self.quickly() as calls:
                    compiled.errors(instance)
            granted = most + (STEPS_PER_NODE * size(instance) if runs[0].instance is not instance else 0)
            a_step = 4 if sys.implementation.name == "cpython" else 5  # PyPy counts calls that are no function's
            self.assertLess(calls.count / (granted - runs[0].left), a_step, short(schema))

    def test_a_large_instance_has_its_share(self) -> None:
        record = {"type": "object", "required": ["a", "b", "c"], "additionalProperties": False, "properties": {
            "a": {"type": "integer", "minimum": 0}, "b": {"type": "string", "minLength": 1, "pattern": "^[0-9]+$"},
            "c": {"type": ["string", "null"]}}}
        self.valid({"items": record}, [{"a": n, "b": str(n), "c": None} for n in range(50_000)])
        self.valid({"pattern": "^[A-Za-z0-9+/]*={0,2}$"}, "QUJD" * 1_000_000)
        self.valid({"items": {"multipleOf": 0.01}}, [n / 100 for n in range(100_000)])
        self.valid({"uniqueItems": True}, list(range(199_000)))

    def test_threads_share_a_schema(self) -> None:
        schema = compile_schema({**OBJECT, "patternProperties": {"^(x|xy)+$": {"type": "string"}}})
        wrong: List[Any] = []

        def work(seed: int) -> None:
            for n in range(500):
                instance = {"text": "ok", "x" * (n % 7 + 1) + "y": n if (n + seed) % 2 else "s"}
                if schema.is_valid(instance) == bool((n + seed) % 2):
                    wrong.append(instance)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Patterns(Case):
    def matches(self, pattern: str, text: str) -> bool:
        return compile_pattern(pattern)[0](text, Run(text))

    def test_ecma(self) -> None:
        for pattern, yes, no in [
            (r"^\d$", "1", "\u0967"), (r"^\w+$", "a_1", "é"), (r"^\s$", "\ufeff", "\x1c"), ("^a$", "a", "a\n"),
            ("^.$", "\x85", "\u2028"), (r"^\cA$", "\x01", "A"), (r"^\u0041\x42\u{43}$", "ABC", "abc"),
            (r"^\ud83d\udc32$", "\U0001f432", "x"), (r"^\p{Lu}\P{L}$", "Ä1", "ä1"), (r"^[^\W\d]+$", "ab", "a1"),
            (r"^[\]a-]$", "-", "b"), (r"^[\D]$", "x", "1"), (r"^a{$", "a{", "a"),
            (r"\bfoo\b", "a foo b", "afoo"), (r"^(?:a|b)*?c$", "abc", "abd"), (r"^(?<n>a)$", "a", "b"),
            (r"^a{2,3}$", "aa", "aaaa"), (r"^a|b$", "xb", "xa"), (r"^(?!.*--)(?=.*\d)[a-z\d-]+$", "a-1", "a--1"),
            ("^$", "", "a"), ("", "x", None), ("^(a?)*$", "aa", "b"), ("x{0}y", "y", "x"), (r"^[\s\S]$", "\n", ""),
        ]:
            self.assertTrue(self.matches(pattern, yes), (pattern, yes))
            if no is not None:
                self.assertFalse(self.matches(pattern, no), (pattern, no))

    def test_refused(self) -> None:
        for pattern, wording in [
            (r"(a)\1", "backreferences"), (r"(?<n>a)\k<n>", "backreferences"), ("(?<=a)b", "lookbehind"),
            ("a(?=b)", "lookahead"), ("^(?=a)b|c", "lookahead"), ("(?i)a", "no supported kind"), ("a{1,30000}", "more"),
            ("(a{100}){100}", "states"), ("((((){1000}){1000}){1000})", "states"), ("(" * 60 + ")" * 60, "nested"),
            ("a" * 3000, "longer"), ("[", "ends"), ("(a", "never closed"), ("a)", "closes nothing"), ("*a", "nothing"),
            ("a**", "without a group"), ("^*", "assertion"), ("[b-a]", "order"), ("a{2,1}", "order"), ("\\", "ends"),
            (r"\Z", "not an escape"), (r"\p{Script=Greek}", "not an escape"), (r"\p{Nope}", "property"),
        ]:
            with self.assertRaises(SchemaError, msg=pattern) as caught:
                compile_pattern(pattern)
            self.assertIn(wording, str(caught.exception), pattern)

    def test_attacks_take_linear_time(self) -> None:
        for pattern in ("(a|a)*$", "(a+)+$", "(.*a){20}", r"([a-z]+)*\d", "a*a*a*a*b", "(a?){30}a{30}", "(x+x+)+y",
                        "^(a|b)*a(a|b){15}$", "^a*a{500}$", "a{500}b", "(a|b|ab)*c", "^(([a-z])+.)+[A-Z]([a-z])+$"):
            with self.quickly():
                compiled = compile_schema({"pattern": pattern})
                for text in ("a" * 30 + "!", "a" * 50_000 + "!", "ab" * 25_000 + "!", "x" * 50_000):
                    compiled.errors(text)

    def test_a_step_of_an_automaton_is_paid_for_before_it_is_taken(self) -> None:
        members = "".join(map(chr, range(0x4E00, 0x4E00 + 1000)))
        matches = compile_pattern(f"(?:[{members}]?){{1200}}x")[0]
        with self.quickly(1_000_000), self.assertRaises(running.Bounded):
            matches("a", Run("a"))

    def test_memory_is_forgotten(self) -> None:
        matches = compile_pattern("^(a|b)*a(a|b){12}$")[0]
        automaton = getattr(matches, "__self__", None)
        self.assertIsInstance(automaton, Automaton)
        for seed in range(300):
            text = bin(seed * 2654435761)[2:].replace("0", "a").replace("1", "b")
            self.assertEqual(matches(text, Run(text)), len(text) > 12 and text[-13] == "a")


class Formats(Case):
    def test_asserted_when_asked_for(self) -> None:
        for name, good, bad in [
            ("email", ["a@example.com", '"a b"@example.com', "a.b+c@x.y", "a@[127.0.0.1]", "a@[IPv6:::1]"],
             ["a", "a@", "@b", "a..b@c", ".a@b", "a b@c", "a@b c", "a@-b.com", "a@[300.0.0.1]", "a@[IPv6:fe80::1%x]",
              "a@b@c", ""]),
            ("uri", ["https://example.com/a?b#c", "urn:x:y", "mailto:a@b.c", "http://[::1]:80/"],
             ["example.com", "/a", "http://a b", "http://[x]/", "http://a:b/", "http://x/%zz", ":", "", "a:#b#c"]),
            ("date", ["2024-02-29", "2026-07-28"], ["2023-02-29", "2026-7-28", "2026-13-01", "2026-00-10", "x", ""]),
            ("date-time", ["2026-07-28T09:30:00Z", "2026-07-28t09:30:00.5+02:00", "1998-12-31T15:59:60-08:00"],
             ["2026-07-28", "2026-07-28T09:30:00", "2026-07-28 09:30:00Z", "2026-07-28T24:00:00Z", "",
              "1998-12-31T22:59:60Z", "2026-07-28T09:30:00+24:00", "2026-02-30T09:30:00Z", "२026-07-28T09:30:00Z"]),
        ]:
            self.valid({"format": name}, *good, 3, formats=True)
            self.invalid({"format": name}, *bad, formats=True)
            self.valid({"format": name}, *bad)
        self.valid({"format": "ipv4"}, "x", formats=True)
        self.assertEqual(compile_schema({"format": "date"}, formats=True).errors("x")[0].message,
                         "must be a date, such as 2026-07-28")


class Once(Case):
    def test_compiled_once(self) -> None:
        schema = compile_schema(OBJECT)
        self.assertIsInstance(schema, Schema)
        self.assertIs(schema.source, OBJECT)
        with mock.patch.object(compiling.Compiler, "compile", side_effect=AssertionError("compiled again")):
            self.assertEqual(schema.errors({"text": "hello", "n": 3}), [])
            self.assertNotEqual(schema.errors({"text": 7}), [])


def nested(levels: int) -> List[Any]:
    value: List[Any] = []
    for _ in range(levels):
        value = [value]
    return value


if __name__ == "__main__":
    unittest.main()
