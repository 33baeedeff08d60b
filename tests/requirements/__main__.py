"""`python3 -m tests.requirements`: whether every rule in scope is bound to tests that exist, or has a reason why not.

In scope are the rows of ../shared/spec/requirements.tsv with role server or both, level MUST or MUST NOT, and testable
on the wire or by the API. Prints the tally and the reasons, and closes with `N passed, N failed`: rows that are bound
or have a reason, and faults. Without ../shared the bound tests are still looked up, and every bound id counts.
"""

import functools
import importlib
import re
import sys
import unittest
from pathlib import Path

from .bindings import REASONS, TESTS

TABLE = Path(__file__).resolve().parents[3] / "shared" / "spec" / "requirements.tsv"
ROLES, LEVELS, TESTABLE = ("server", "both"), ("MUST", "MUST NOT"), ("wire", "api")


def ids(text):
    """The ids of an entry, ranges written out: "HTTP-35..37" is HTTP-35, HTTP-36 and HTTP-37."""
    found = []
    for part in text.split():
        match = re.fullmatch(r"([A-Z]+)-(\d\d)(?:\.\.(\d\d))?", part)
        if match is None:
            raise ValueError(f"not an id or a range of ids: {part}")
        prefix, first, last = match.groups()
        found += [f"{prefix}-{number:02}" for number in range(int(first), int(last or first) + 1)]
    return found


def rows(table=TABLE):
    """(every id of the table, those in scope), in the table's order."""
    lines = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    scope = [line[0] for line in lines if line[2] in ROLES and line[1] in LEVELS and line[6] in TESTABLE]
    return [line[0] for line in lines], scope


@functools.lru_cache(maxsize=None)
def exists(name):
    """Whether `module.Class.method` is a test, or `module.Class` has any."""
    module, *path = name.split(".")
    try:
        case = getattr(importlib.import_module(f"tests.{module}"), path[0])
        tests = unittest.defaultTestLoader.getTestCaseNames(case)
    except (ImportError, AttributeError, IndexError, TypeError):
        return False
    return issubclass(case, unittest.TestCase) and (path[1:] in [[one] for one in tests] if path[1:] else bool(tests))


def check(known=None, scope=None, tests=TESTS, reasons=REASONS):
    """(id to names of its tests, id to reason, faults, each a line that begins with the id).

    known, scope: as `rows` gives them; None without the table.
    """
    bound, excused, faults = {}, {}, []
    for text, names in tests:
        for one in ids(text):
            bound.setdefault(one, []).extend(names.split())
    for text, reason in reasons:
        excused.update(dict.fromkeys(ids(text), reason.strip()))
    faults += [f"{one} has an empty reason" for one, reason in excused.items() if not reason]
    faults += [f"{one} has neither test nor reason" for one, names in bound.items() if not names]
    faults += [f"{one} is bound to {name}, which is no test" for one, names in bound.items() for name in names
               if not exists(name)]
    if known is not None and scope is not None:
        faults += [f"{one} is not in the table" for one in {**bound, **excused} if one not in set(known)]
        faults += [f"{one} has neither test nor reason" for one in scope if one not in bound and one not in excused]
        faults += [f"{one} is out of scope" for one in {**bound, **excused} if one in set(known) - set(scope)]
    return bound, excused, faults


def main():
    here = TABLE.exists()
    known, scope = rows() if here else (None, None)
    bound, excused, faults = check(known, scope)
    if not here:
        print("../shared is not here: whether every rule is bound cannot be told, only that the bound tests exist")
    alone = [one for one in excused if one not in bound]
    names = {name for listed in bound.values() for name in listed}
    print(f"{len(bound)} rules are bound to {len(names)} tests, {len(alone)} have a reason why not")
    for reason in dict.fromkeys(excused.values()):
        print(f"  {reason}\n    {' '.join(one for one in excused if excused[one] == reason)}")
    for fault in faults:
        print(f"FAILED {fault}")
    good = {*bound, *excused} - {fault.split()[0] for fault in faults}
    print(f"{len(good)} passed, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
