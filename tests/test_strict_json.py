"""basic/index, Messages: JSON is read strictly, in time that its length allows."""

import unittest
from unittest import mock

from mcp_ref import Server, ToolResult
from mcp_ref.lib import strict_json
from mcp_ref.lib import text as texts
from mcp_ref.lib.strict_json import MAX_DEPTH, MAX_NUMBER, NotJson, decode, encode
from mcp_ref.lib.text import shown

from .support import Timed, call


class Json(Timed):
    def refused(self, data):
        with self.assertRaises(NotJson) as caught:
            self.soon(decode, data)
        return str(caught.exception)

    def test_a_repeated_name_is_found_at_once_among_many(self):
        members = b",".join(b'"%d":0' % number for number in range(199_000))
        self.assertIn('"z" is repeated', self.refused(b"{" + members + b',"z":0,"z":0}'))

    def test_what_is_looked_over_afterwards_is_read_alike(self):
        for text in ('{"a":1,"b":{"a":":"}}', ' [1, -0.5e3, "x", null, true, {}] ', '"a:b"', '{"a" :1,"a":2}',
                     '{"a":1,"b":{"c":1,"c":1}}', '{"a" : 1, "\\u003a": 1, "a": 1}', '{"\\u0061":1,"a":2}', "[NaN]",
                     "[-Infinity]", "1e999", "[1,]", "[01]", '{"a":"\n"}', "", "{", '["\\ud800"]', '{"a\\\\":1}'):
            with self.subTest(text):
                self.assertEqual(self.outcome(strict_json._looked_over, text),
                                 self.outcome(strict_json._decoder.decode, text))

    def test_what_is_written_is_what_json_writes(self):
        loop = []
        loop.append({"loop": loop})
        for value in (1, 0.5, "é😀\n", None, True, [], {}, (1, [2]), {"a": {"b": None}}, {1: 2, None: 3},
                      float("nan"), [float("inf")], {(1,): 2}, [object()], loop):
            with self.subTest(repr(value)):
                self.assertEqual(self.outcome(lambda value: encode(value).decode(), value),
                                 self.outcome(strict_json._encoder.encode, value))

    def outcome(self, read, text):
        try:
            return repr(read(text))
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    def test_a_string_without_an_end_costs_no_more_than_its_length(self):
        for text in (b'\\"' * 500_000, b'\\\\\\"' * 300_000, b'"' * 1_000_001, b"\\" * 1_000_000):
            self.refused(b"[" + b"[]," * 2 * MAX_DEPTH + b'"' + text)

    def test_brackets_in_strings_are_no_nesting_and_others_are(self):
        for text in (b"[[{", b'\\"[', b"\\\\", b'\\\\\\"[[', b'[\\\\\\\\', b"\\u005c"):
            string = b'"' + text * 50 + b'"'
            for depth, good in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
                data = (b"[" + string + b",") * (depth - 1) + b"[" + string + b"]" * depth
                if good:
                    decode(data)
                else:
                    self.assertIn("nested deeper", self.refused(data), text)

    def test_a_number_is_refused_by_its_characters_and_the_same_on_every_python(self):
        most = b"1" * MAX_NUMBER
        for good in (most, b"-" + most[1:], b"0." + most[2:], b"[%s]" % b",".join([most] * 5000), b'"%s"' % (most * 9),
                     b'{"%s": 1}' % (most * 9), b'["' + b"-" * 100_000 + b'"]', b"0." + b"0" * 600 + b"1", b"1e-99999"):
            self.soon(decode, good)
        for bad in (most + b"1", b"-" + most, b"0." + most, b"1e" + most, most + b".0", most * 6000, b"-" + most * 9,
                    b"0." + most * 6000, b"1E-" + most, b'["%s",%s]' % (b" " * 319, most + b"1")):
            for before in (b"", b" ", b"[0," * 7, b"[" + b" " * 639, b'["\\\\", '):
                self.assertIn("a number has more than 640 characters", self.refused(before + bad))
        for huge in (b"1e309", b"-1E400", b"1e999999999", b"9" * 310 + b".5"):
            self.assertIn("out of the range of a double", self.refused(huge))
        for value in (10 ** MAX_NUMBER, [-10 ** (MAX_NUMBER - 1)], {"a": 10 ** 5000}):
            self.assertRaises(ValueError, encode, value)
        for value in (10 ** (MAX_NUMBER - 1), "1" * 5000, {"1" * 5000: [1.5, -10 ** 600]}):
            self.assertEqual(decode(encode(value)), value)

    def test_a_number_too_long_to_be_read_is_the_tools_failure(self):
        def handing(result):
            return lambda: result

        server = Server("hard", "1")
        for digits in (MAX_NUMBER + 1, 5000):
            for name, result in (("data", {"n": 10 ** digits}), ("structured", ToolResult(["x"], {"n": 10 ** digits})),
                                 ("list", [-10 ** digits])):
                server.add_tool(handing(result), name=f"{name}{digits}")
                with self.assertLogs("mcp_ref", "ERROR"):
                    reply = call(server, f"{name}{digits}")
                self.assertEqual((reply.status, reply.result["isError"]), (200, True), name)

    def test_a_value_is_shown_without_being_written_whole(self):
        for value, text in (("a" * 10**6, '"' + "a" * 58 + "…"), ("a" * 57, '"' + "a" * 57 + '"'), ("é", '"\\u00e9"'),
                            ([1] * 10**6, "[1, 1"), ({"a": [1, None]}, '{"a": [1, null]}'), ({1}, "set"),
                            (10**5000, "1" if len(shown(10**5000)) > 3 else "int"), ([{1}], "list")):
            self.assertTrue(shown(value).startswith(text), shown(value))
            self.assertLessEqual(len(shown(value)), 60)
        with mock.patch.object(texts, "_pieces", wraps=texts._pieces) as pieces:
            pieces.iterencode.side_effect = lambda value: iter(["x" * 100] + [self.fail] * 9)
            self.assertEqual(len(shown([])), 60)

    def test_what_we_send_is_what_we_read(self):
        for value in ("a\ud800", {"\udc80": 1}, ["\udc00\ud800"]):
            self.assertRaises(ValueError, encode, value)
        for value in ("\U0001f600", "\\ud800", "é"):
            self.assertEqual(decode(encode(value)), value)


if __name__ == "__main__":
    unittest.main()
