"""The terminal that asks the user for a server: what it shows, what it takes, and what it sends."""

import io
import unittest
from typing import Any, Dict, Tuple

from mcp_ref.cli.screen import printable
from mcp_ref.cli.terminal import suspicions, terminal


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
        self.assertIn("name (text, length 1 or more): That must not be empty.", shown)
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
        class Interrupted(io.StringIO):
            def readline(self, *_: Any) -> Any:
                raise KeyboardInterrupt

        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        made = terminal({"message": "m", "requestedSchema": schema}, input=Interrupted(), output=io.StringIO())
        self.assertEqual(made, {"action": "cancel"})

    def test_a_servers_text_cannot_drive_the_terminal(self) -> None:
        field = {"type": "string", "title": "t\u202e", "enum": ["\x07"]}
        _, shown = ask({"a\x1b[2J": field}, text="x\x1b[1m\nTrust us: y")
        self.assertNotRegex(shown, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
        self.assertIn("\\x1b[1m", shown)
        self.assertIn("  | Trust us: y", shown, "each line of the server's is marked as such")

    def test_printable(self) -> None:
        self.assertEqual(printable("aé世\n\t\x00\u2028\ud800", keep="\n"), "aé世\n\\t\\x00\\u2028\\ud800")

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
