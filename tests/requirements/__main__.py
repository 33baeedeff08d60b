"""`python3 -m tests.requirements`: whether every rule in scope has tests that prove it, or a reason why not.

In scope are the rows of mcp_ref/spec/requirements.tsv with role server, client or both, level MUST or MUST NOT, and
testable on the wire or by the API; others may be proven too. A rule of both has a test of either side. The tests say
themselves what they prove (support.proves); untested.tsv has the reasons, also of a rule of which only a part is
tested. Prints the tally, by side too, and the reasons, and closes with `N passed, N failed`: rules that are proven or
have a reason, and faults.
"""

import functools
import importlib
import sys
import unittest

from mcp_ref.explain import claims, ids_in, statements, untested

ROLES, LEVELS, TESTABLE = ("server", "client", "both"), ("MUST", "MUST NOT"), ("wire", "api")


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


def check(rows, proofs, reasons):
    """(id to names of its tests, id to reason, faults, each a line that begins with the id).

    rows, proofs, reasons: as explain's `statements`, `claims` and `untested` give them.
    """
    proven, excused, faults = {}, {}, []
    for text, name in proofs:
        for one in ids_in(text):
            proven.setdefault(one, []).append(name)
    for text, reason in reasons:
        excused.update(dict.fromkeys(ids_in(text), reason.strip()))
    known = {row.id for row in rows}
    scope = [row.id for row in rows if row.role in ROLES and row.level in LEVELS and row.testable in TESTABLE]
    faults += [f"{one} has an empty reason" for one, reason in excused.items() if not reason]
    faults += [f"{one} is claimed by {name}, which is no test" for one, names in proven.items() for name in names
               if not exists(name)]
    faults += [f"{one} is not in the table" for one in {**proven, **excused} if one not in known]
    faults += [f"{one} has neither test nor reason" for one in scope if one not in proven and one not in excused]
    faults += [f"{one} is out of scope and needs no reason" for one in excused if one in known - set(scope)]
    return proven, excused, faults


def main():
    rows = statements()
    proven, excused, faults = check(rows, claims(), untested())
    alone = [one for one in excused if one not in proven]
    names = {name for listed in proven.values() for name in listed}
    print(f"{len(proven)} rules are proven by {len(names)} tests, {len(alone)} have a reason why not")
    sides = [(role, sum(row.role == role and row.id in proven for row in rows)) for role in ROLES]
    print("  " + ", ".join(f"{count} of {role}" for role, count in sides))
    for reason in dict.fromkeys(excused.values()):
        print(f"  {reason}\n    {' '.join(one for one in excused if excused[one] == reason)}")
    for fault in faults:
        print(f"FAILED {fault}")
    good = {*proven, *excused} - {fault.split()[0] for fault in faults}
    print(f"{len(good)} passed, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
