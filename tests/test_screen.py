"""What a terminal shows: widths, line breaks, colours, JSON without controls, and the bar that redraws in place."""

import io
import json
import unittest
from typing import Any, List
from unittest import mock

from mcp_ref.cli import screen
from mcp_ref.cli.screen import Bar, as_json, cells, columns, fitted, paint, wrap
from mcp_ref.lib.text import printable


class Terminal(io.StringIO):
    """A terminal of so many columns."""

    def isatty(self) -> bool:
        return True


def environment(**values: str) -> Any:
    return mock.patch.dict("os.environ", {"TERM": "xterm", "NO_COLOR": "", "COLUMNS": "40", **values})


class Text(unittest.TestCase):
    def test_printable(self) -> None:
        self.assertEqual(printable("aé世\n\t\x00\u2028\ud800", keep="\n"), "aé世\n\\t\\x00\\u2028\\ud800")

    def test_cells(self) -> None:
        for text, width in (("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("ｆ", 2), ("é", 1), ("😀", 2)):
            self.assertEqual(cells(text), width, text)

    def test_cut(self) -> None:
        self.assertEqual([fitted("abc", 3), fitted("abcd", 3), fitted("日本語", 5), fitted("日本語", 6)],
                         ["abc", "ab…", "日本…", "日本語"])

    def test_wrap(self) -> None:
        self.assertEqual(wrap("the quick brown fox", 9), ["the quick", "brown fox"])
        self.assertEqual(wrap("a verylongword b", 6), ["a", "verylo", "ngword", "b"])
        self.assertEqual(wrap("日本語 の", 4), ["日本", "語", "の"])
        self.assertEqual(wrap("", 5), [""])
        self.assertEqual(wrap("name: ", 20), ["name: "])
        for width in range(-1, 30):
            for text in ("the quick  brown fox 日本語日本語", "x" * 50, "日" * 20):
                lines = wrap(text, width)
                self.assertTrue(all(cells(line) <= max(width, 2) for line in lines), (text, width))
                self.assertEqual("".join(lines).replace(" ", ""), text.replace(" ", ""), "nothing is lost")

    def test_columns(self) -> None:
        for given, width in (("72", 72), ("0", 80), ("", 80), ("x", 80), ("²", 80), ("9" * 5000, 999_999_999)):
            with environment(COLUMNS=given):
                self.assertEqual(columns(io.StringIO()), width, given)

    def test_json_for_a_terminal_is_valid_and_safe(self) -> None:
        value = {"a\u202e": "\x1b[2J\x7f\x9b\u2028é世\ue000\U000e0001", "b": [1, "\ud800"]}
        text = as_json(value, Terminal())
        self.assertTrue(all(c.isprintable() or c == "\n" for c in text), text)
        self.assertEqual(json.loads(text), value)
        self.assertIn("é世", text)
        self.assertIn("\\udb40\\udc01", text)
        self.assertIn("\u202e", as_json(value, io.StringIO()), "a file gets what came")

    def test_colours(self) -> None:
        with environment():
            self.assertEqual(paint("x", "red", Terminal()), "\x1b[31mx\x1b[0m")
            self.assertEqual(paint("x", "red", io.StringIO()), "x")
            self.assertEqual(paint("x", "red", None), "x")
            with mock.patch.object(screen, "colours", False):
                self.assertEqual(paint("x", "red", Terminal()), "x")
        for values in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            with environment(**values):
                self.assertEqual(paint("x", "red", Terminal()), "x", values)


class Secrets(unittest.TestCase):
    def setUp(self) -> None:
        known = screen.printing()
        known.__enter__()
        self.addCleanup(known.__exit__, None, None, None)

    def test_as_it_is_and_as_json_has_it(self) -> None:
        secret = 'schlüssel"von-mir'
        screen.conceal(secret)
        for text in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
            self.assertEqual(screen.hidden(f"a {text}b"), "a …b")
        self.assertEqual(screen.hidden(f"\udcff{secret}".encode("utf-8", "surrogateescape")), b"\xff\xe2\x80\xa6")
        with screen.printing():
            self.assertEqual(screen.hidden(secret), secret, "a command knows its own alone")

    def test_one_that_is_cut_off(self) -> None:
        screen.conceal("0123456789abcdef")
        for text, told in (("x 01234567… y", "x … y"), ("x0123456789abcde…", "x…"), ("012345678x…", "012345678x…"),
                           ("01234567 …", "01234567 …"), ("0123456…", "0123456…"),
                           ("01234567" * 9 + "…", "01234567" * 9 + "…")):
            self.assertEqual(screen.hidden(text), told)

    def test_short_ones_are_found_as_words(self) -> None:
        screen.conceal("abc", "s3cr", "")
        self.assertEqual(screen.hidden("abc s3cret s3cr, 's3cr' as3cr"), "abc s3cret …, '…' as3cr")

    def test_every_way_to_write(self) -> None:
        screen.conceal("0123456789")
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        output = screen.Output(stream)
        self.assertEqual(output.write("0123456789"), 10)
        output.writelines(["0123456789", "x"])
        output.flush()
        output.buffer.write(b"0123456789")
        self.assertEqual(stream.buffer.getvalue().decode(), "……x…")  # type: ignore[attr-defined]


class Bars(unittest.TestCase):
    def drawn(self, *reports: Any, **values: str) -> List[str]:
        """What stood in the line, one after the other, and what is left of it."""
        terminal = Terminal()
        with environment(**values), Bar(terminal) as bar:
            for report in reports:
                bar(*report)
        text = terminal.getvalue()
        self.assertEqual(text.count("\n"), 0)
        self.assertTrue(text.startswith("\r"))
        parts = text.split("\r")[1:]
        self.assertTrue(all(part.endswith("\x1b[K") for part in parts))
        return [part[:-len("\x1b[K")] for part in parts]

    def test_on_a_terminal_one_line_redraws_and_is_gone(self) -> None:
        first, second, end = self.drawn((1, 4, "one"), (2, 4, "two"), COLUMNS="80")
        self.assertEqual(first, "[######                  ]  25%  1/4  one")
        self.assertRegex(second, r"^\[############            \]  50%  2/4  [0-9.e+]+/s  two$")
        self.assertEqual(end, "")
        self.assertEqual(self.drawn((1, 2, "one"), COLUMNS="33")[0], "[#####     ]  50%  1/2  one")

    def test_it_fits_and_cannot_be_driven(self) -> None:
        for width in (1, 10, 40, 41):
            *lines, _ = self.drawn((1, 2, "日本語" * 30), (1, None, "\x1b[2J\nx"), COLUMNS=str(width))
            for line in lines:
                self.assertLessEqual(cells(line), max(width - 3, 1))
                self.assertTrue(line.isprintable())

    def test_odd_numbers(self) -> None:
        *lines, _ = self.drawn((0, 0, None), (5, 2, None), (-1, 2, None), (1e308, 5e-324, None), (2.5, None, "x"),
                               COLUMNS="90")
        self.assertEqual(lines[0], "0/0")
        self.assertIn("100%  5/2", lines[1])
        self.assertIn("  0%  -1/2", lines[2])
        self.assertIn("2.5", lines[4])

    def test_elsewhere_a_line_each(self) -> None:
        for stream, term in ((io.StringIO(), "xterm"), (Terminal(), "dumb")):
            with environment(TERM=term), Bar(stream) as bar:
                bar(1, 2, "half\x1b")
                bar(2, None, None)
            self.assertEqual(stream.getvalue(), "progress 1/2 half\\x1b\nprogress 2\n")


if __name__ == "__main__":
    unittest.main()
