"""`python3 -m tests.conformance [server | client …]`: the official conformance suite against server.py and client.py.

Needs npx. The client half is described in clients.py; both run where none is named. Of the server half: prints `ok
NAME`, `FAILED NAME: why` or `WARNING NAME: why` for each scenario and closes with `N passed, N failed`; exit status 1
unless all of at least 40 passed: the 37 that the revision requires and the three that the suite calls pending. A
warning fails, as does a check that the suite had to skip. Scenarios of extensions are named apart and do not count.
Everything said is kept in build/conformance.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from . import clients
from .suite import ROOT, SuiteError, conformance

RESULTS = ROOT / "build" / "conformance"
REVISION = "2026-07-28"
EXPECTED = 40
EXTENSIONS = ("tasks-", "sep-2640-")
SUITE_TIMEOUT = 900.0

_RESULT = re.compile(r"server-(.+)-(\d{4}-\d\d-\d\dT[\d-]+Z)")
_FAILING = {"FAILURE": "FAILED", "SKIPPED": "FAILED", "WARNING": "WARNING"}


@contextmanager
def fixture(log: Path) -> Iterator[str]:
    """Run the fixture in a process of its own; its URL."""
    with open(log, "wb") as errors:
        process = subprocess.Popen([sys.executable, "-m", "tests.conformance.server", "--port", "0"], cwd=ROOT,
                                   stdout=subprocess.PIPE, stderr=errors, encoding="utf-8")
        try:
            assert process.stdout is not None
            url = re.search(r"http://\S+", process.stdout.readline())
            if url is None:
                raise SuiteError(f"the fixture did not start, see {log}")
            yield url.group()
        finally:
            process.terminate()
            process.communicate(timeout=20)


def run_suite(url: str, log: Path) -> None:
    """Have the suite examine the server at `url` and leave its results in RESULTS. Raises SuiteError."""
    conformance(["server", "--url", url, "--requirements", REVISION, "--output-dir", str(RESULTS)], log, SUITE_TIMEOUT)


def results(folder: Path) -> Dict[str, List[Dict[str, Any]]]:
    """Scenario to its checks, in the order of the run; no checks where the scenario broke off."""
    found: List[Tuple[str, str, Path]] = []
    for path in folder.iterdir():
        named = _RESULT.fullmatch(path.name)
        if named is not None:
            found.append((named.group(2), named.group(1), path / "checks.json"))
    return {name: json.loads(checks.read_text(encoding="utf-8")) if checks.is_file() else []
            for _, name, checks in sorted(found)}


def objection(checks: List[Dict[str, Any]]) -> Optional[Tuple[str, str]]:
    """FAILED or WARNING, and why; None for a scenario that passed."""
    if not any(check["status"] == "SUCCESS" for check in checks):
        return "FAILED", "; ".join(_why(check) for check in checks) or "it broke off without a result"
    for status, kind in _FAILING.items():
        reasons = [_why(check) for check in checks if check["status"] == status]
        if reasons:
            return kind, "; ".join(reasons)
    return None


def _why(check: Dict[str, Any]) -> str:
    return f"{check['id']}: {check.get('errorMessage') or check['status'].lower()}"


def report(scenarios: Dict[str, List[Dict[str, Any]]]) -> Tuple[int, int]:
    """Print a line for each scenario; the numbers of those that passed and of those that did not."""
    counted = {name: objection(checks) for name, checks in scenarios.items() if not name.startswith(EXTENSIONS)}
    for name, found in counted.items():
        print(f"ok {name}" if found is None else f"{found[0]} {name}: {found[1]}")
    for name, checks in scenarios.items():
        if name not in counted:
            good = sum(check["status"] == "SUCCESS" for check in checks)
            print(f"not scored {name}: {good} of {len(checks)} checks passed")
    failed = sum(found is not None for found in counted.values())
    passed = len(counted) - failed
    if len(counted) < EXPECTED:
        print(f"FAILED: {len(counted)} scenarios ran, {EXPECTED} were expected; see {RESULTS}/suite.log")
        failed += 1
    return passed, failed


def server_half() -> Tuple[int, int]:
    """Run the suite against the server and report; the numbers of passed and failed."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    try:
        with fixture(RESULTS / "server.log") as url:
            run_suite(url, RESULTS / "suite.log")
        return report(results(RESULTS))
    except SuiteError as error:
        print(f"FAILED: {error}")
        return 0, 1


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for, everything by default, and report; the exit status."""
    counts = []
    if arguments[:1] != ["client"]:
        counts.append(server_half())
    if arguments[:1] != ["server"]:
        counts.append(clients.main(arguments[1:]))
    passed, failed = (sum(each) for each in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
