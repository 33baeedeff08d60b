"""The client half of the official conformance suite, against the fixture in client.py.

    python3 -m tests.conformance client                        what both revisions require, each in one run
    python3 -m tests.conformance client REVISION               what one of them requires
    python3 -m tests.conformance client REVISION SCENARIO…     these scenarios, one run each

The suite's own exit status overlooks warnings, scenarios that it only reports, and how the client ended. So every
check of every checks.json is judged here: FAILURE and WARNING fail, and so does a client that did not come to its end,
or that raised an error where the scenario leaves it no reason to.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .suite import ROOT, SuiteError, conformance

RESULTS = ROOT / "build" / "conformance-client"
EXPECTED = {"2026-07-28": 39, "2025-11-25": 25}
TIMEOUT = 120
"""Seconds for one client: a requirement set starts all of them at once."""
MAY_FAIL = frozenset((
    "http-invalid-tool-headers", "auth/scope-retry-limit", "auth/resource-mismatch", "auth/iss-supported-missing",
    "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized", "auth/metadata-issuer-mismatch"))
"""The scenarios in which the right client ends with an error."""

_RESULT = re.compile(r"(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


class Result(NamedTuple):
    """What the suite kept of one scenario: its checks, and the last line that the client said."""

    checks: List[Dict[str, Any]]
    ending: str


def run_suite(revision: str, folder: Path, scenario: Optional[str] = None) -> None:
    """Have the suite examine the fixture and leave its results in `folder`. Raises SuiteError."""
    which = ["--requirements", revision] if scenario is None else [
        "--scenario", scenario, "--spec-version", revision, "--force"]
    conformance(["client", "--command", f"{sys.executable} -m tests.conformance.client", *which, "--timeout",
                 str(TIMEOUT * 1000), "--output-dir", str(folder)], folder / "suite.log", TIMEOUT * 3)


def results(folder: Path) -> Dict[str, Result]:
    """Scenario to its result; no checks where it broke off."""
    found: Dict[str, Result] = {}
    for output in sorted(folder.glob("**/stdout.txt")):
        named = _RESULT.fullmatch(output.parent.relative_to(folder).as_posix())
        if named is not None:
            checks = output.with_name("checks.json")
            said = output.read_text(encoding="utf-8").splitlines()
            found[named[1]] = Result(json.loads(checks.read_text(encoding="utf-8")) if checks.is_file() else [],
                                     said[-1] if said else "")
    return found


def objection(scenario: str, result: Result) -> Optional[str]:
    """Why the scenario failed; None where it passed."""
    failing = [f"{check['id']} ({check['status'].lower()}): {check.get('errorMessage') or check['description']}"
               for check in result.checks if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")]
    if failing:
        return "; ".join(failing)
    if not any(check["status"] == "SUCCESS" for check in result.checks):
        return "no check passed"
    if result.ending == "done" or scenario in MAY_FAIL and result.ending.startswith("failed: "):
        return None
    return f"the client ended so: {result.ending or 'without a word'}"


def report(found: Dict[str, Result], expected: int) -> Tuple[int, int]:
    """Print a line for each scenario; how many passed, and how many did not, those that did not run included."""
    failed = max(expected - len(found), 0)
    if failed:
        print(f"FAILED: {len(found)} scenarios ran, {expected} were expected; see {RESULTS}")
    for name, result in found.items():
        why = objection(name, result)
        print(f"ok {name}" if why is None else f"FAILED {name}: {why}")
        failed += why is not None
    return max(expected, len(found)) - failed, failed


def examine(revision: str, scenarios: Sequence[str] = ()) -> Tuple[int, int]:
    """Run a revision's requirement set, or some scenarios at it, and report: the numbers of passed and failed."""
    folder = RESULTS / revision
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(f"client, {revision}")
    try:
        for scenario in scenarios or (None,):
            run_suite(revision, folder, scenario)
    except SuiteError as error:
        print(f"FAILED: {error}")
    return report(results(folder), len(scenarios) or EXPECTED[revision])


def main(arguments: Sequence[str]) -> Tuple[int, int]:
    """The client half as the command line asks for it; the numbers of passed and failed."""
    if arguments:
        return examine(arguments[0], arguments[1:])
    counts = [examine(revision) for revision in EXPECTED]
    return sum(passed for passed, _ in counts), sum(failed for _, failed in counts)
