"""`list`: signatures, alignment, all of one thing, and a server that has none; --save, which follows no name."""

import base64
import contextlib
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict
from unittest import mock

from mcp_ref.cli import main
from mcp_ref.cli.arguments import Types
from mcp_ref.demo import library
from mcp_ref.demo import server as demo
from mcp_ref.transports.http_server import HTTPServer
from tests.stub_http import Scripted, Stub, error, result
from tests.test_cli_client import Case, Done, run
from tests.test_screen import Terminal

BOOK = {"name": "book", "title": "Book", "description": "Book a flight.\nOnce agreed.", "inputSchema": {
    "type": "object", "properties": {
        "flight": {"type": "string", "description": "Its number", "pattern": "^[A-Z]"},
        "seats": {"type": "integer", "default": 1, "minimum": 1},
        "who": {"type": "array", "items": {"$ref": "#/$defs/Person"}}}, "required": ["flight"],
    "$defs": {"Person": {"type": "object", "properties": {"age": {"type": ["integer", "null"]}}}}},
    "outputSchema": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    "annotations": {"readOnlyHint": False}, "_meta": {"x": "y\x1b"}}
PLAIN = {"name": "日本", "description": "Rest.", "inputSchema": {"type": "object"}}


class Schemas(unittest.TestCase):
    def test_in_short(self) -> None:
        root: Dict[str, Any] = {"$defs": {"Size": {"enum": ["s", "m"]}, "Loop": {"$ref": "#/$defs/Loop"}}}
        for schema, words in (
                ({"type": "string"}, "string"), ({"type": ["integer", "null"]}, "integer|null"), ({}, "any"),
                (True, "any"), (False, "never"), ({"const": 1}, "1"), ({"enum": ["a", 1, None]}, '"a"|1|null'),
                ({"enum": list("abcdef")}, '"a"|"b"|"c"|"d"|…'), ({"$ref": "#/$defs/Size"}, '"s"|"m"'),
                ({"$ref": "#/$defs/Loop"}, "any"), ({"$ref": "http://x"}, "any"),
                ({"type": "array"}, "array"), ({"type": "array", "items": {"type": "string"}}, "string[]"),
                ({"type": "array", "items": {"type": ["string", "null"]}}, "(string|null)[]"),
                ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, "number[][]"),
                ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "[string, integer]"),
                ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer|null"),
                ({"oneOf": [{"type": "object"}, {"type": "object"}]}, "object"),
                ({"allOf": [{}, {"type": "string"}]}, "string"), ({"type": 7}, "7"), ({"enum": []}, "any"),
                ({"anyOf": 3}, "any"), (7, "any")):
            self.assertEqual(Types(root).text(schema), words, schema)

    def test_a_schema_that_grows_without_end_is_not_followed(self) -> None:
        names = [f"A{number}" for number in range(30)]
        for inner in ({"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]},
                      {"type": "array", "prefixItems": [{"$ref": f"#/$defs/{name}"} for name in names]}):
            types = Types({"$defs": dict.fromkeys(names, inner)})
            self.assertLess(len(types.text(inner)), 1_000_000)
            self.assertEqual(types.kinds({"anyOf": [{"type": "null"}, {}]}), set())
            self.assertIsNone(types.object_of(inner))


class Lists(Case):
    def test_signatures_are_aligned(self) -> None:
        with Stub(result(tools=[BOOK, PLAIN, {"name": "t", "inputSchema": {"type": "object"}}])) as stub:
            self.assertEqual(run("list", stub.url).out.splitlines(), [
                "book(flight: string, seats: integer = 1, who?: object[])  Book a flight.", "日本()  Rest.", "t()"])
        with Stub(result(tools=[PLAIN, {**BOOK, "inputSchema": {"type": "object"}}])) as stub:
            self.assertEqual(run("list", stub.url).out, "日本()  Rest.\nbook()  Book a flight.\n")

    def test_on_a_terminal_descriptions_wrap_beside_the_signature(self) -> None:
        screen = Terminal()
        with Stub(result(tools=[{**PLAIN, "description": "word " * 12}, BOOK])) as stub, \
                mock.patch.dict("os.environ", {"COLUMNS": "40", "NO_COLOR": "1"}), contextlib.redirect_stdout(screen):
            main(["list", "--era", "modern", stub.url])
        self.assertEqual(screen.getvalue().splitlines(), [
            "日本()  word word word word word word", "        word word word word word word",
            "book(flight: string, seats: integer = 1, who?: object[])", "        Book a flight."])
        screen = Terminal()
        tools = [{**PLAIN, "description": "word " * 6 + " \nMore."}, {"name": "t", "inputSchema": {}}]
        with Stub(result(tools=tools)) as stub, \
                mock.patch.dict("os.environ", {"COLUMNS": "20", "NO_COLOR": "1"}), contextlib.redirect_stdout(screen):
            main(["list", "--era", "modern", stub.url])
        self.assertEqual(screen.getvalue().splitlines(), [
            "日本()", "    word word word", "    word word word", "t()"])

    def test_colours_are_for_terminals_that_want_them(self) -> None:
        for given, coloured in (((), True), (("--no-color",), False)):
            screen = Terminal()
            with Stub(result(tools=[PLAIN])) as stub, contextlib.redirect_stdout(screen), \
                    mock.patch.dict("os.environ", {"TERM": "xterm", "NO_COLOR": ""}):
                main(["list", "--era", "modern", stub.url, *given])
                main(["--no-color", "list", "--era", "modern", stub.url])
            self.assertEqual("\x1b[1m日本\x1b[0m()" in screen.getvalue(), coloured)

    def test_the_other_kinds(self) -> None:
        with HTTPServer(library, port=0) as running:
            for kind, line in (("resources", "library://catalogue  All books, a line each."),
                               ("templates", "library://books/{number}  One book, by its number."),
                               ("prompts", "review(title, tone?)  Ask for a review of a book.")):
                self.assertEqual(run("list", running.url, "--kind", kind), Done(0, line + "\n", ""))

    def test_a_server_that_has_none(self) -> None:
        with HTTPServer(demo, port=0) as running:
            self.assertEqual(run("list", running.url, "--kind", "resources"),
                             Done(0, f"{running.url} has no resources\n", ""))
            self.assertIn("has no resource templates", run("list", running.url, "--kind", "templates").out)
            done = run("list", running.url, "--kind", "resources", "--output", "json")
            self.assertEqual((done.status, json.loads(done.out)), (0, {"resources": []}))
        scripts: Dict[str, Scripted] = {"empty": result(tools=[]), "absent": error(-32601, status=404)}
        for script in scripts.values():
            with Stub(script) as stub:
                self.assertEqual(run("list", stub.url), Done(0, f"{stub.url} has no tools\n", ""))
        with Stub(error(-32603, "broken", status=500)) as stub:
            self.fails(run("list", stub.url), 1, "broken")

    def test_names_cannot_forge_a_line(self) -> None:
        with Stub(result(tools=[{**PLAIN, "name": "a\nb\x1b[2J", "description": 7}])) as stub:
            self.assertEqual(run("list", stub.url).out, "a\\nb\\x1b[2J()  7\n")


class One(Case):
    def test_all_of_a_tool(self) -> None:
        with Stub(result(tools=[PLAIN, BOOK])) as stub:
            self.assertEqual(run("list", stub.url, "book").out, """\
book(flight: string, seats: integer = 1, who?: object[])
  Book
  Book a flight.
  Once agreed.

arguments
  flight: string
      Its number
      pattern "^[A-Z]"
  seats: integer, optional, default 1
      minimum 1
  who: object[], optional
      age: integer|null, optional

output: object
  code: string

annotations
  readOnlyHint: false
_meta: {
  "x": "y\\u001b"
}
""")
            self.assertEqual(json.loads(run("list", stub.url, "book", "--output", "json").out), BOOK)
            self.assertEqual(len(stub.seen), 2)

    def test_all_of_a_prompt(self) -> None:
        arguments = [{"name": "a", "title": "First", "description": "Of all\nof them", "required": True}, {"name": "b"}]
        with Stub(result(tools=[]), result(resources=[]), result(resourceTemplates=[]),
                  result(prompts=[{"name": "p", "arguments": arguments}])) as stub:
            self.assertEqual(run("list", stub.url, "p").out, "p(a, b?)\n\narguments\n  a\n      First\n      Of all\n"
                                                             "      of them\n  b, optional\n")

    def test_whatever_has_that_name(self) -> None:
        with HTTPServer(library, port=0) as running:
            for name, words in (("library://catalogue", "mimeType: text/plain"), ("review", "  tone, optional"),
                                ("library://books/{number}", "One book, by its number."), ("catalogue", "All books")):
                done = run("list", running.url, name)
                self.assertEqual(done.status, 0, done.err)
                self.assertIn(words, done.out)
            self.fails(run("list", running.url, "nothing\x1b"), 1, "has nothing of the name nothing\\x1b")
            self.fails(run("list", running.url, "review", "--kind", "tools"), 1, "has no tool of the name review")


class Saving(Case):
    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.outside = Path(made.name)
        self.folder = self.outside / "in" / "side"

    def saved(self) -> Dict[str, bytes]:
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in sorted(self.folder.iterdir())}

    def test_images_audio_and_blobs(self) -> None:
        data = base64.b64encode(b"\x00\xff").decode()
        blocks = [{"type": "text", "text": "hi"}, {"type": "image", "data": data, "mimeType": "image/png"},
                  {"type": "image", "data": data, "mimeType": "IMAGE/PNG; x=y"},
                  {"type": "audio", "data": data, "mimeType": "audio/wav"},
                  {"type": "resource", "resource": {"uri": "f://a/some%20report.PDF", "blob": data}},
                  {"type": "resource", "resource": {"uri": "f://a/b", "text": "t"}}]
        with Stub(result(content=blocks)) as stub:
            done = run("call", stub.url, "t", "--save", str(self.folder))
        self.assertEqual(done.out.splitlines()[:2], ["hi", "[image, image/png, 2 octets]"])
        self.assertEqual(self.saved(), dict.fromkeys(
            ["audio-1.wav", "image-1.png", "image-2.png", "some-20report-1.pdf"], b"\x00\xff"))
        self.assertEqual(done.err.splitlines()[0], f"saved {self.folder / 'image-1.png'}")

    def test_no_name_of_a_server_is_a_path(self) -> None:
        names = ["../../evil", "/etc/passwd", "..", ".", "", "a\x00b", "C:\\windows\\evil.exe", "~/.bashrc",
                 "x/../../y", "-rf", "con", "a" * 5000, "日本", "name.sh\n", "b.", ".hidden", "%2e%2e%2fevil"]
        kinds = ["image/png", "../../x", "image/../png", "a/b.c/../d", "", "text/x-\x00", 7]
        blocks = [{"uri": name, "blob": "AAAA", "mimeType": kinds[number % len(kinds)]}
                  for number, name in enumerate(names)]
        with Stub(result(contents=blocks)) as stub:
            self.assertEqual(run("read", stub.url, "x", "--save", str(self.folder)).status, 0)
        self.assertEqual(len(self.saved()), len(names))
        for name in self.saved():
            self.assertRegex(name, r"^[A-Za-z0-9][A-Za-z0-9-]{0,60}(\.[a-z0-9]{1,8})$")
        self.assertEqual([path.name for path in self.outside.iterdir()], ["in"])

    def test_nothing_is_overwritten_nor_a_link_followed(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "image-1.png").write_bytes(b"mine")
        os.symlink(self.outside / "target", self.folder / "image-2.png")
        with Stub(result(content=[{"type": "image", "data": "AAAA", "mimeType": "image/png"}])) as stub:
            run("call", stub.url, "t", "--save", str(self.folder))
        self.assertEqual((self.folder / "image-1.png").read_bytes(), b"mine")
        self.assertEqual((self.folder / "image-3.png").read_bytes(), b"\0\0\0")
        self.assertFalse((self.outside / "target").exists())

    def test_prompts_and_what_cannot_be_saved(self) -> None:
        image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        with Stub(result(prompts=[]), result(messages=[{"role": "user", "content": image}])) as stub:
            self.assertEqual(run("prompt", stub.url, "p", "--save", str(self.folder)).status, 0)
        self.assertEqual(list(self.saved()), ["image-1.png"])
        with Stub(result(content=[image])) as stub:
            done = run("call", stub.url, "t", "--save", str(self.folder / "image-1.png"))
            self.assertEqual((done.status, done.out), (2, ""))
            self.assertRegex(done.err, r"^mcp_ref: --save takes a folder, .*\n$")
            self.assertEqual(run("call", stub.url, "t", "--save", "").status, 2)
            self.assertEqual(stub.seen, [], "nothing is called in vain")
            self.assertRegex(run("call", stub.url, "t", "--save", "/dev/null/x").err, "cannot write to /dev/null/x: ")
        with Stub(result(content=[{**image, "data": "!"}, image])) as stub:
            done = run("call", stub.url, "t", "--save", str(self.folder))
            self.assertEqual(done.status, 1)
            self.assertRegex(done.err, "^saved .*image-2.png\nmcp_ref: a blob is not Base64\n$")


if __name__ == "__main__":
    unittest.main()
