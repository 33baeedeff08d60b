"""The tool that breaks rules on purpose: an edit is made exactly once or not at all, and what survives is named."""

import contextlib
import io
import unittest
from unittest import mock

from tests.mutants import __main__ as mutants
from tests.support import ROOT


class Editing(unittest.TestCase):
    TEXT = "def f(a):\n    if a > 1:\n        return a\n    return a + 1\n"

    def test_an_edit_is_made(self):
        self.assertIn("if a >= 1:", mutants.edited(self.TEXT, "a > 1", "a >= 1"))

    def test_an_edit_that_is_out_of_date_is_an_error(self):
        for old, new in (("a > 2", "a"), ("return a", "return"), ("a > 1", "a > 1"), ("", "x")):
            self.assertRaises(ValueError, mutants.edited, self.TEXT, old, new)
        self.assertRaises(SyntaxError, mutants.edited, self.TEXT, "a > 1", "a >")

    def test_every_edit_is_up_to_date(self):
        stale = [(path, old) for path, (_, edits) in mutants.EDITS.items() for old, _ in edits
                 if (ROOT / "mcp_ref" / path).read_text(encoding="utf-8").count(old) != 1]
        self.assertEqual(stale, [])

    def test_there_are_enough_and_none_is_there_twice(self):
        rows = [(path, old, new) for path, (_, edits) in mutants.EDITS.items() for old, new in edits]
        self.assertGreaterEqual(len(rows), 150)
        self.assertEqual(len(set(rows)), len(rows))


class Running(unittest.TestCase):
    def ran(self, edits, *passing):
        """The exit status and output over one module; passing: what its tests say to the whole, then to each edit."""
        out = io.StringIO()
        with mock.patch.object(mutants, "EDITS", {"ladder.py": ("test_ladder", edits)}), \
                mock.patch.object(mutants.os, "cpu_count", lambda: 1), \
                mock.patch.object(mutants, "passes", side_effect=passing) as passes, \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            status = mutants.main([])
        return status, out.getvalue().splitlines(), [call.args[1] for call in passes.call_args_list]

    def test_what_is_noticed_passes_and_what_survives_fails(self):
        one, two = ("request.version = named", "pass"), ("request.meta = fields", "pass")
        self.assertEqual(self.ran([one, two], True, False, False),
                         (0, ["2 passed, 0 failed"], [["test_ladder"]] * 3))
        status, lines, _ = self.ran([one, two], True, False, True)
        self.assertEqual((status, lines[0], lines[-1]), (1, "ladder.py: survives", "1 passed, 1 failed"))
        self.assertIn("request.meta = fields", lines[1])

    def test_an_edit_that_cannot_be_made_fails(self):
        status, lines, called = self.ran([("no such text", "")], True)
        self.assertEqual((status, lines[-1], len(called)), (1, "0 passed, 1 failed", 1))
        self.assertIn("0 times", lines[0])

    def test_tests_that_fail_by_themselves_show_nothing(self):
        status, lines, called = self.ran([("request.version = named", "pass")], False)
        self.assertEqual((status, len(called)), (1, 1))
        self.assertIn("before anything is broken", lines[0])


if __name__ == "__main__":
    unittest.main()
