"""The libraries by themselves: none needs the rest of the package, and what the small ones promise."""

import logging
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from mcp_ref.base.log import log
from mcp_ref.lib.errors import McpError, SchemaError
from mcp_ref.lib.media import accepts, is_json
from mcp_ref.lib.strict_json import ENVELOPE, MAX_DEPTH, NotJson, check_json, decode, encode, readable
from mcp_ref.lib.text import base64_text, cut, is_base64, printable, quoted, shown
from mcp_ref.lib.trace_context import trace_context

from .support import ROOT

LIB = ROOT / "mcp_ref" / "lib"


class Alone(unittest.TestCase):
    def test_each_module_works_in_a_folder_of_its_own(self):
        """Without the package around it, and each in whatever order."""
        modules = sorted(path.relative_to(LIB).with_suffix("").as_posix().replace("/", ".").replace(".__init__", "")
                         for path in LIB.rglob("*.py") if path != LIB / "__init__.py")
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(LIB, Path(place) / "libraries", ignore=shutil.ignore_patterns("__pycache__"))
            code = ("import importlib, sys\nfor name in %r:\n    for loaded in [m for m in sys.modules if "
                    "m.startswith('libraries.')]: del sys.modules[loaded]\n"
                    "    importlib.import_module('libraries.' + name)\n"
                    "from libraries.json_schema import compile_schema\n"
                    "print(compile_schema({'type': 'string'}).errors(3)[0].text('it'))" % (modules,))
            done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("it must be a string\n", ""))


class Errors(unittest.TestCase):
    def test_what_a_schema_error_is(self):
        self.assertTrue(issubclass(SchemaError, McpError) and issubclass(SchemaError, ValueError))
        error = SchemaError("it is bad.")
        error.note = "Look there."
        self.assertEqual(str(error), "it is bad. Look there.")


class Json(unittest.TestCase):
    def test_there_and_back(self):
        value = {"a": [1, 2.5, None, True, "ü\U0001f600"], "b": {}}
        self.assertEqual(decode(encode(value)), value)
        self.assertTrue(encode(value).isascii())
        self.assertEqual(readable(["ü"]), '["ü"]')

    def test_what_is_not_strict(self):
        for data in (b"", b"\xef\xbb\xbf{}", b"\xff", b'{"a":1,"a":2}', b"NaN", b"1e999", b'"\\ud800"', b"[1,]", b"1 2",
                     b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)):
            with self.subTest(data[:20]), self.assertRaises(NotJson):
                decode(data)
        for value in (float("nan"), "\ud800"):
            with self.assertRaises(ValueError):
                encode(value)
        deep = "x"
        for _ in range(MAX_DEPTH - ENVELOPE + 1):
            deep = [deep]
        for value in (deep, {1: 2}, [{"a": {2: 3}}], "\ud800", object()):
            with self.assertRaises(ValueError):
                check_json(value)
        check_json(deep[0])


class Text(unittest.TestCase):
    def test_values_and_texts_are_safe_to_show(self):
        self.assertEqual([shown("ü\n"), shown(object()), shown("a" * 99, 10)], ['"\\u00fc\\n"', "object", '"aaaaaaaa…'])
        self.assertEqual([quoted("ü"), quoted("a" * 99, 5), cut("abc", 2), cut("ab", 2)],
                         ['"ü"', '"aaaa…', "ab…", "ab"])
        self.assertEqual(printable("a\x1b[2J\nü\u202e", "\n"), "a\\x1b[2J\nü\\u202e")
        with self.assertLogs(log, logging.INFO) as caught:
            log.info("%s", "one\ntwo")
        self.assertEqual(caught.records[0].getMessage(), "one\\ntwo")

    def test_base64(self):
        for octets in (b"", b"a", b"ab", b"abc", bytes(range(256))):
            self.assertTrue(is_base64(base64_text(octets)))
        for text in ("a", "YQ", "YQ=", "Y=Q=", "YQ==\n", "Y-==", "YQ======", "====", "üüü="):
            self.assertFalse(is_base64(text), text)


class Media(unittest.TestCase):
    BOTH = ("application/json", "text/event-stream")

    def test_what_is_accepted(self):
        for value in ("application/json, text/event-stream", "*/*", "text/*;q=0.1, APPLICATION/JSON", "a/b, */*;q=0.5"):
            self.assertTrue(accepts(value, self.BOTH), value)
        for value in ("", "application/json", "*/*;q=0", "application/jsonx, text/event-stream", "*/*, text/*;q=0",
                      "*/*;q=x"):
            self.assertFalse(accepts(value, self.BOTH), value)

    def test_what_is_accepted_by_name(self):
        for value, expected in (("text/event-stream", True), ("*/*, Text/Event-Stream;q=0.1", True), ("*/*", False),
                                ("text/*", False), ("text/event-stream;q=0, */*", False)):
            self.assertIs(accepts(value, ("text/event-stream",), by_name=True), expected, value)

    def test_what_is_json(self):
        for value in ("application/json", "Application/JSON; charset=\"UTF-8\"", "application/json;x=y"):
            self.assertTrue(is_json(value), value)
        for value in ("", "text/json", "application/json; charset=latin-1", "application/jsonx"):
            self.assertFalse(is_json(value), value)


class TraceContext(unittest.TestCase):
    def test_what_is_well_formed_is_kept(self):
        parent = f"00-{'a' * 32}-{'b' * 16}-01"
        good = {"traceparent": parent, "tracestate": "a=1,b@c=2", "baggage": "k=v;p=q , l = w"}
        self.assertEqual(trace_context({**good, "other": 1}), good)
        for bad in ("ff" + parent[2:], parent + "-x", parent.upper(), f"00-{'0' * 32}-{'b' * 16}-01", 7):
            self.assertEqual(trace_context({**good, "traceparent": bad}), {"baggage": good["baggage"]}, bad)
        self.assertEqual(trace_context({"traceparent": parent, "tracestate": "A=1", "baggage": ","}),
                         {"traceparent": parent})


if __name__ == "__main__":
    unittest.main()
