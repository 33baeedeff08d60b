"""The binding of rules to tests: every rule in scope has one, and the check of that notices what is missing."""

import contextlib
import io
import unittest
from unittest import mock

from .requirements import __main__ as requirements

REAL = "test_ladder.Rungs.test_version"


class Binding(unittest.TestCase):
    def test_every_bound_test_exists(self):
        self.assertEqual(requirements.check()[2], [])

    def test_every_rule_in_scope_is_bound(self):
        if not requirements.TABLE.exists():
            self.skipTest("../shared is not here: whether every rule is bound is not checked")
        self.assertEqual(requirements.check(*requirements.rows())[2], [])


class Checking(unittest.TestCase):
    def faults(self, tests=(), reasons=(), known=("AA-01", "AA-02", "AA-03"), scope=("AA-01", "AA-02")):
        return requirements.check(known, scope, tests, reasons)[2]

    def test_nothing_to_find(self):
        self.assertEqual(self.faults([("AA-01..02", REAL)]), [])
        self.assertEqual(self.faults([("AA-01", "test_ladder.Rungs")], [("AA-02", "not here")]), [])

    def test_what_is_missing_or_wrong(self):
        whole = ("AA-01..02", REAL)
        for tests, reasons, fault in (
                ([("AA-01", REAL)], [], "AA-02 has neither test nor reason"),
                ([("AA-01", REAL), ("AA-02", " ")], [], "AA-02 has neither test nor reason"),
                ([whole, ("AA-04", REAL)], [], "AA-04 is not in the table"),
                ([whole], [("BB-01", "why not")], "BB-01 is not in the table"),
                ([whole, ("AA-03", REAL)], [], "AA-03 is out of scope"),
                ([("AA-01", REAL)], [("AA-02", " ")], "AA-02 has an empty reason"),
                *(([whole, ("AA-01", name)], [], f"AA-01 is bound to {name}, which is no test") for name in (
                    REAL + "x", "test_ladder.Rungz", "test_no_such_module.A.test_b", "test_ladder", "support.Reply",
                    "test_ladder.Rungs.setUp", "test_ladder.Order.FAULTS", REAL + ".__doc__"))):
            self.assertEqual(self.faults(tests, reasons), [fault])

    def test_ids(self):
        self.assertEqual(requirements.ids("HTTP-08..10 AA-01"), ["HTTP-08", "HTTP-09", "HTTP-10", "AA-01"])
        for text in ("HTTP", "HTTP-1", "http-01", "HTTP-01-03"):
            with self.assertRaisesRegex(ValueError, "not an id"):
                requirements.ids(text)

    def run_with(self, **changed):
        told = io.StringIO()
        with mock.patch.multiple(requirements, **changed), contextlib.redirect_stdout(told):
            status = requirements.main()
        return status, told.getvalue().splitlines()

    def test_without_the_table(self):
        status, lines = self.run_with(TABLE=requirements.TABLE / "nowhere")
        self.assertEqual(status, 0)
        self.assertIn("../shared is not here", lines[0])
        self.assertRegex(lines[-1], r"\A\d+ passed, 0 failed\Z")

    def test_a_fault_fails_the_run(self):
        found = {"AA-01": [REAL]}, {}, ["AA-02 has neither test nor reason"]
        status, lines = self.run_with(check=lambda *_: found, rows=lambda: (["AA-01", "AA-02"], ["AA-01", "AA-02"]),
                                      TABLE=requirements.Path(__file__))
        self.assertEqual((status, lines[-2:]), (1, ["FAILED AA-02 has neither test nor reason", "1 passed, 1 failed"]))


if __name__ == "__main__":
    unittest.main()
