"""The terminal that asks the user for a server: what it shows, what it takes, and what it sends."""

import io
import os
import select
import threading
import unittest
from typing import Any, Dict, Tuple
from unittest import mock

from mcp_ref.cli.screen import cells
from mcp_ref.cli.terminal import Interrupted, suspicions, terminal

from .support import not_on_wasm

try:
    import pty
except ImportError:  # no Unix
    pty = None  # type: ignore[assignment]


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


class Keys(Screen):
    """A terminal's keys, whose lines the screen shows."""

    def __init__(self, text: str, screen: io.StringIO) -> None:
        super().__init__(text)
        self._screen = screen

    def readline(self, *_: Any) -> Any:
        line = super().readline()
        self._screen.write(line)
        return line


def ask(properties: Dict[str, Any], *lines: str, required: Any = (), text: str = "Who are you?") -> Tuple[Any, str]:
    """The result and what was shown, for a form and the lines that the user types."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return talk({"mode": "form", "message": text, "requestedSchema": schema}, *lines)


def talk(params: Dict[str, Any], *lines: str) -> Tuple[Any, str]:
    output = io.StringIO()
    source = io.StringIO("".join(line + "\n" for line in lines))
    return terminal(params, server="http://s/mcp", input=source, output=output), output.getvalue()


def accepted(**content: Any) -> Dict[str, Any]:
    return {"action": "accept", "content": content}


class Forms(unittest.TestCase):
    def test_each_kind_of_field(self) -> None:
        titled = [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]
        properties = {
            "name": {"type": "string", "title": "Display name", "description": "As on your card"},
            "age": {"type": "integer", "minimum": 18}, "size": {"type": "number"}, "ok": {"type": "boolean"},
            "one": {"type": "string", "enum": ["small", "2"]}, "hue": {"type": "string", "oneOf": titled},
            "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2},
            "hues": {"type": "array", "items": {"anyOf": titled}}}
        made, shown = ask(properties, "Ada L", "36", "1.5", "yes", "2", "green", "Red", "send")
        self.assertEqual(made, {"action": "cancel"}, "one answer is asked again, so the lines run out")
        made, shown = ask(properties, "Ada L", "36", "1.5", "yes", "2", "Green", "1, c", "#0f0,Red", "send")
        self.assertEqual(made, accepted(name="Ada L", age=36, size=1.5, ok=True, one="2", hue="#0f0", many=["a", "c"],
                                        hues=["#0f0", "#f00"]))
        for words in ("http://s/mcp asks", "  | Who are you?", "Display name", "As on your card", "18 or more",
                      "1. Red (#f00)", "This would go to http://s/mcp", "name = Ada L", "ok = yes"):
            self.assertIn(words, shown)

    def test_bad_input_is_asked_again(self) -> None:
        made, shown = ask({"age": {"type": "integer", "minimum": 18}}, "x", "17", "1.5", "true", "NaN", "18", "s",
                          required=["age"])
        self.assertEqual(made, accepted(age=18))
        self.assertEqual(shown.count("age (a whole number, 18 or more): "), 6)
        made, _ = ask({"mail": {"type": "string", "format": "email"}}, "", "no", "a@b.example", "s", required=["mail"])
        self.assertEqual(made, accepted(mail="a@b.example"))
        made, shown = ask({"name": {"type": "string", "minLength": 1}}, "", "Ada", "s", required=["name"])
        self.assertEqual(made, accepted(name="Ada"))
        self.assertIn("name (text, length 1 or more): \nThat must not be empty.", shown)
        for field in ({"enum": ["r", "g"]}, {"oneOf": [{"const": "r"}, {"const": "g"}]},
                      {"type": "array", "items": {"enum": ["r", "g"]}}):
            made, shown = ask({"c": field}, "7", "x", "2", "s")
            self.assertEqual(made, accepted(c=["g"] if "items" in field else "g"))
            self.assertEqual(shown.count("That must be a number from 1 to 2, or one of the values."), 2)
        made, _ = ask({"ok": {"type": "boolean"}}, "maybe", "N", "s")
        self.assertEqual(made, accepted(ok=False))

    def test_defaults_and_optional_fields(self) -> None:
        properties = {"a": {"type": "string", "default": "x"}, "b": {"type": "string"},
                      "c": {"type": "integer", "default": 1}}
        made, shown = ask(properties, "", "", ":clear", "s", required=["a"])
        self.assertEqual(made, accepted(a="x"))
        self.assertIn("[x]", shown)

    def test_review_and_edit(self) -> None:
        made, shown = ask({"a": {"type": "string"}}, "one", "what?", "edit", "two", "s")
        self.assertEqual(made, accepted(a="two"))
        self.assertIn("[one]", shown)
        self.assertEqual(ask({"a": {"type": "string"}}, "one", "d")[0], {"action": "decline"})
        self.assertEqual(ask({"a": {"type": "string"}}, "one", "c")[0], {"action": "cancel"})

    def test_decline_and_cancel_at_any_time(self) -> None:
        properties = {"a": {"type": "string"}, "b": {"type": "boolean"}}
        self.assertEqual(ask(properties, ":decline")[0], {"action": "decline"})
        self.assertEqual(ask(properties, "x", ":Cancel")[0], {"action": "cancel"})
        self.assertEqual(ask(properties, "x", "yes", ":decline")[0], {"action": "decline"})
        self.assertEqual(ask(properties, "x")[0], {"action": "cancel"}, "end of input")

    def test_an_interrupt_cancels(self) -> None:
        class Stopped(io.StringIO):
            def readline(self, *_: Any) -> Any:
                raise KeyboardInterrupt

        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        made = terminal({"message": "m", "requestedSchema": schema}, input=Stopped(), output=io.StringIO())
        self.assertEqual(made, {"action": "cancel"})
        self.assertIsInstance(made, Interrupted)

    def test_the_summary_has_what_is_left_out_and_choices_by_name(self) -> None:
        hues = {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}], "default": "#f00"}
        many = {"type": "array", "items": {"anyOf": hues["oneOf"]}}
        made, shown = ask({"a": {"type": "string"}, "hue": hues, "b": {"type": "boolean", "default": False},
                           "many": many}, "", "", "", "1", "s")
        self.assertEqual(made, accepted(hue="#f00", b=False, many=["#f00"]))
        self.assertIn("hue (a number or value, optional) [Red (#f00)]: ", shown)
        self.assertIn("b (yes or no, optional) [no]: ", shown)
        self.assertTrue(shown.index("  a is left out\n") < shown.index("  hue = Red (#f00)\n  b = no\n  many = Red"))

    def test_on_a_terminal_it_wraps_at_words(self) -> None:
        field = {"type": "string", "title": "日本語の長い文章" * 4, "description": "what the traveller wants " * 9,
                 "enum": ["a choice of very many words " * 3, "b"]}
        screen, url = Screen(), "https://x.example/" + "a" * 80
        with mock.patch.dict("os.environ", {"COLUMNS": "40"}):
            terminal({"message": "Please tell us all about it. " * 5, "requestedSchema": {
                "type": "object", "properties": {"a": field}}}, "http://s/mcp", Keys("1\ns\n", screen), screen)
            terminal({"mode": "url", "message": "m", "url": url}, "s", Keys("n\n", screen), screen)
        for line in screen.getvalue().splitlines():
            self.assertTrue(cells(line) <= 41 or url in line, line)
        for words in ("  | Please tell us all about it. Please\n  | tell", f"  URL:  {url}\n",
                      "    1. a choice of very many\n       words a"):
            self.assertIn(words, screen.getvalue())

    def test_where_nobody_sits_it_says_what_lines_it_expects(self) -> None:
        _, shown = ask({"a": {"type": "string"}, "b\x1b": {"type": "string"}})
        self.assertIn("lines that the input is to hold: a, b\\x1b, then send, edit, decline or cancel; its end", shown)
        _, shown = talk({"mode": "url", "message": "m", "url": "https://x.example/"})
        self.assertIn("yes, no or cancel", shown)
        screen = Screen()
        terminal({"message": "m", "requestedSchema": {"type": "object", "properties": {}}}, "s", Screen("s\n"), screen)
        self.assertNotIn("The lines", screen.getvalue())

    @unittest.skipUnless(pty, "this system has no pseudo-terminals")
    @not_on_wasm("needs terminals")
    def test_what_was_typed_before_the_question_is_no_answer(self) -> None:
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with open(theirs, encoding="utf-8", closefd=True) as source:
            os.write(ours, b"evil\ns\n")
            select.select([source], [], [], 10)
            shown = Screen()
            told = threading.Event()
            shown.write = lambda text: told.set() if "a (text" in text else None  # type: ignore
            typing = threading.Thread(target=lambda: told.wait(10) and os.write(ours, b"Ada\ns\n"))
            typing.start()
            made = terminal({"message": "m", "requestedSchema": {"type": "object", "properties": {
                "a": {"type": "string"}}}}, "s", source, shown)
            typing.join()
        self.assertEqual(made, accepted(a="Ada"))

    def test_a_servers_text_cannot_drive_the_terminal(self) -> None:
        field = {"type": "string", "title": "t\u202e", "enum": ["\x07"]}
        _, shown = ask({"a\x1b[2J": field}, text="x\x1b[1m\nTrust us: y")
        self.assertNotRegex(shown, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
        self.assertIn("\\x1b[1m", shown)
        self.assertIn("  | Trust us: y", shown, "each line of the server's is marked as such")

    def test_a_surrogate_from_the_terminal_is_asked_again(self) -> None:
        made, _ = ask({"a": {"type": "string"}}, "x\udcff", "x", "s")
        self.assertEqual(made, accepted(a="x"))


class Links(unittest.TestCase):
    def ask(self, url: str, *lines: str) -> Tuple[Any, str]:
        return talk({"mode": "url", "message": "Sign in", "url": url}, *lines)

    def test_consent(self) -> None:
        made, shown = self.ask("https://pay.example.com/a?b=c", "what", "y", "")
        self.assertEqual(made, {"action": "accept"})
        for words in ("http://s/mcp asks", "  | Sign in", "https://pay.example.com/a?b=c", ">>> pay.example.com <<<"):
            self.assertIn(words, shown)
        self.assertNotIn("Warning", shown)
        self.assertEqual(self.ask("https://x.example/", "n")[0], {"action": "decline"})
        self.assertEqual(self.ask("https://x.example/", "y", ":cancel")[0], {"action": "cancel"})
        self.assertEqual(self.ask("https://x.example/")[0], {"action": "cancel"})

    def test_suspicious_urls(self) -> None:
        for url, words in (("http://x.example/", "https"), ("https://xn--pple-43d.com/", "Punycode"),
                           ("https://\u0430pple.com/", "ASCII"), ("https://good.example@evil.example/", "@"),
                           ("https://x.example/\u202e", "characters")):
            host, warnings = suspicions(url)
            self.assertTrue(host)
            self.assertIn(words, " ".join(warnings), url)
        self.assertEqual(suspicions("http://127.0.0.1:8000/x"), ("127.0.0.1", []))

    def test_what_is_no_web_page_is_declined_unasked(self) -> None:
        for url in ("javascript:alert(1)", "file:///etc/passwd", "https://", "https://[x", ""):
            made, shown = self.ask(url)
            self.assertEqual(made, {"action": "decline"}, url)
            self.assertIn("Declined", shown)


if __name__ == "__main__":
    unittest.main()
