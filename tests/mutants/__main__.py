"""`python3 -m tests.mutants [--every N] [WORD …]`: break each rule in one place, in copies of the tree, and name what
survives.

--every N: of the edits each N-th, a sample that is the same each time. WORD: only the edits of modules whose path holds
one of them. A mutant whose tests hang counts as noticed.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..support import ROOT, SHARED
from .edits import EDITS

TIMEOUT = 60.0  # seconds for the tests of one mutant, which take one or two
WHOLE_TIMEOUT = 900.0  # for all of them, before anything is broken
RUN = """
import sys, unittest
for name in sys.argv[1:]:
    tests = unittest.defaultTestLoader.loadTestsFromName("tests." + name)
    if not unittest.TextTestRunner(failfast=True, verbosity=0).run(tests).wasSuccessful():
        sys.exit(1)
"""
LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", "build", "dist", ".*_cache")


def edited(text, old, new):
    """The text with the edit made; raises ValueError where it cannot be: the list is out of date."""
    count = text.count(old)
    if count != 1:
        raise ValueError(f"the old text stands there {count} times, not once")
    made = text.replace(old, new)
    if made == text:
        raise ValueError("the edit changes nothing")
    compile(made, "the edited module", "exec", dont_inherit=True)
    return made


def passes(tree, modules, output=subprocess.DEVNULL, timeout=None):
    """Whether these test modules pass in a tree, run until the first failure; output: a file that is told of it."""
    process = subprocess.Popen([sys.executable, "-B", "-c", RUN, *modules], cwd=tree, stdout=subprocess.DEVNULL,
                               stderr=output, start_new_session=True)
    try:
        return process.wait(timeout or TIMEOUT) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # and what a test has started
        except (AttributeError, ProcessLookupError, PermissionError):
            process.kill()
        process.wait()


def survives(tree, path, old, new, modules):
    """Whether no test notices the edit. Raises ValueError or SyntaxError for one that cannot be made."""
    file = tree / "mcp_ref" / path
    text, stat = file.read_text(encoding="utf-8"), file.stat()
    changed = edited(text, old, new)
    try:
        file.write_text(changed, encoding="utf-8")
        return passes(tree, modules)
    finally:
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # its compiled form is good again


def verdict(trees, path, old, new, modules):
    """What is wrong with the tests, or the edit; "" where the edit is noticed."""
    tree = trees.get()
    try:
        return "survives" if survives(tree, path, old, new, modules) else ""
    except (ValueError, SyntaxError) as error:
        return f"cannot be made: {error}"
    finally:
        trees.put(tree)


def main(words):
    began, step = time.monotonic(), 1
    if words[:1] == ["--every"]:
        step, words = int(words[1]), words[2:]
    rows = [(path, old, new, modules.split()) for path, (modules, edits) in EDITS.items()
            if not words or any(word in path for word in words) for old, new in edits][::step]
    trees, workers = queue.Queue(), os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(workers) as pool:
        for number in range(workers):
            tree = Path(folder) / str(number) / "tree"
            shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
            if SHARED.exists():
                (tree.parent / SHARED.name).symlink_to(SHARED)
            subprocess.run([sys.executable, "-m", "compileall", "-q", "mcp_ref", "tests"], cwd=tree, check=True)
            trees.put(tree)
        whole = sorted({name for row in rows for name in row[3]})
        with open(Path(folder) / "told", "w+", encoding="utf-8") as told:
            if not passes(tree, whole, told, WHOLE_TIMEOUT):
                print("the tests fail before anything is broken:", " ".join(whole))
                print(told.seek(0) or told.read(), file=sys.stderr)
                return 1
        failed = 0
        for (path, old, new, _), wrong in zip(rows, pool.map(lambda row: verdict(trees, *row), rows)):
            if wrong:
                failed += 1
                print(f"{path}: {wrong}\n    {old!r}\n    {new!r}", flush=True)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
