"""What the tests prove: every rule in scope, every case that is due; and the check of that notices what is missing."""

import contextlib
import io
import json
import re
import unittest
from unittest import mock

from mcp_ref import explain

from .requirements import __main__ as requirements
from .support import SHARED, proves

REAL = "test_ladder.Rungs.test_version"
CASES = SHARED / "cases" / "known-failures.jsonl"
CLIENT = ("client.", "cli.", "transports.http_client", "transports.exchange", "transports.pool", "transports.calls",
          "transports.sse", "transports.child", "transports.stdio_client", "legacy.client", "legacy.ways",
          "legacy.in_process",
          *(f"authorization.{name}" for name in ("challenges", "discovery", "dpop", "grants", "login", "loopback",
                                                 "oauth_client", "registration", "token_store", "tokens", "web")))
DUE = 6
"""The issues up to which the cases that broke other implementations are due."""


class Proven(unittest.TestCase):
    def test_every_rule_in_scope(self):
        proven, _, faults = requirements.check(explain.statements(), explain.claims(), explain.untested())
        self.assertEqual(faults, [])
        self.assertGreater(len(proven), 150)

    @unittest.skipUnless(CASES.exists(), "../shared is not here: whether every case is proven is not checked")
    def test_every_case_that_is_due(self):
        rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
        cases = {row["id"]: row["issue"] for row in rows}
        proven = {each for ids, _ in explain.claims() for each in re.findall(r"\bC\d{3}\b", ids)}
        self.assertEqual(proven - set(cases), set())
        self.assertEqual({case for case, issue in cases.items() if issue <= DUE} - proven, set())

    def test_a_claim_names_ids(self):
        for text in ("HTTP", "HTTP-1", "http-01", "HTTP-01-03", "C21", "HTTP-01 HTTP-02"):
            with self.assertRaisesRegex(ValueError, "not an id"):
                proves(text)


class Stated(unittest.TestCase):
    """Where the package says what it keeps."""

    def test_an_id_is_one_of_the_table_and_stated_once_on_each_side(self):
        known = {row.id for row in explain.statements()}
        for one, modules in explain.modules().items():
            self.assertIn(one, known, modules)
            places = {name for name in modules if not name.startswith("lib.")}
            asking = {name for name in places if name.startswith(CLIENT)}
            self.assertLessEqual(max(len(asking), len(places - asking)), 1, f"{one} is stated by {sorted(places)}")


class Checking(unittest.TestCase):
    def faults(self, proofs=(), reasons=(), known=("AA-01", "AA-02", "AA-03"), scope=("AA-01", "AA-02")):
        rows = [explain.Statement(one, "MUST", "client" if one in scope else "human", "any", "page", "", "wire")
                for one in known]
        return requirements.check(rows, proofs, reasons)[2]

    def test_nothing_to_find(self):
        self.assertEqual(self.faults([("AA-01..02", REAL)]), [])
        self.assertEqual(self.faults([("AA-01", "test_ladder.Rungs")], [("AA-02", "not here")]), [])
        self.assertEqual(self.faults([("AA-01..03", REAL)]), [])

    def test_what_is_missing_or_wrong(self):
        whole = ("AA-01..02", REAL)
        for proofs, reasons, fault in (
                ([("AA-01", REAL)], [], "AA-02 has neither test nor reason"),
                ([whole, ("AA-04", REAL)], [], "AA-04 is not in the table"),
                ([whole], [("BB-01", "why not")], "BB-01 is not in the table"),
                ([whole], [("AA-03", "why not")], "AA-03 is out of scope and needs no reason"),
                ([("AA-01", REAL)], [("AA-02", " ")], "AA-02 has an empty reason"),
                *(([whole, ("AA-01", name)], [], f"AA-01 is claimed by {name}, which is no test") for name in (
                    REAL + "x", "test_ladder.Rungz", "test_no_such_module.A.test_b", "test_ladder", "support.Reply",
                    "test_ladder.Rungs.setUp", "test_ladder.Order.FAULTS", REAL + ".__doc__"))):
            self.assertEqual(self.faults(proofs, reasons), [fault])

    def test_each_side_is_in_scope(self):
        for role, counts in (("server", True), ("client", True), ("both", True), ("human", False)):
            row = explain.Statement("AA-01", "MUST", role, "any", "page", "", "api")
            self.assertEqual(bool(requirements.check([row], [], [])[2]), counts, role)

    def run_with(self, found):
        told = io.StringIO()
        rows = [explain.Statement("AA-01", "MUST", "client", "any", "page", "", "api")]
        with mock.patch.object(requirements, "check", lambda *_: found), mock.patch.object(
                requirements, "statements", lambda: rows), contextlib.redirect_stdout(told):
            status = requirements.main()
        return status, told.getvalue().splitlines()

    def test_a_fault_fails_the_run(self):
        proven = {"AA-01": [REAL]}
        status, lines = self.run_with((proven, {}, ["AA-02 has neither test nor reason"]))
        self.assertEqual((status, lines[-2:]), (1, ["FAILED AA-02 has neither test nor reason", "1 passed, 1 failed"]))
        self.assertEqual(self.run_with((proven, {"AA-02": "why"}, [])), (0, [
            "1 rules are proven by 1 tests, 1 have a reason why not", "  0 of server, 1 of client, 0 of both", "  why",
            "    AA-02", "2 passed, 0 failed"]))


if __name__ == "__main__":
    unittest.main()
