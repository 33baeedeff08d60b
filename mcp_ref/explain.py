"""The ladder, the requirements and the pages as text, for a reader.

What it tells is looked up where it stands: the rungs in ladder.LADDER, the statements in spec/requirements.tsv, the
modules in their docstrings, and the tests, where the repository is there, in the decorators of the tests.
"""

from __future__ import annotations

import contextlib
import glob
import os
import pkgutil
import re
import sys
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from .ladder import ASIDE, HANDLER, LADDER, LEGACY, SERVED, Rung
from .lib.text import shown

ALL = (*LADDER, HANDLER, *LEGACY, SERVED, ASIDE)
SITE = re.compile(r"^(?:https?://modelcontextprotocol\.io)?/?(?:specification/)?(?:(?:\d{4}-\d\d-\d\d|draft)/)?"
                  r"|\.mdx?(?=#|$)")
IDS = re.compile(r"\b([A-Z]+)-(\d\d)\b(?: to (?:\1-)?(\d\d)\b|\.\.(\d\d)\b)?")
PROOFS = re.compile(r"^(?: *@proves\(([^)]*)\)\n(?: *@.*\n)*)?( *)(?:class|def) (\w+)", re.M)
TESTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests")


class Statement(NamedTuple):
    """A row of spec/requirements.tsv."""

    id: str
    level: str
    role: str
    transport: str
    page: str
    sentence: str
    testable: str


def explain(topic: Optional[str] = None) -> str:
    """The whole ladder as text, or what a topic is.

    topic: a rung's name, an HTTP status or an error code (the rungs that answer it, those lines marked), the id of a
    requirement, or a page of the specification, by its address, its path or its name. Raises ValueError for any other.
    """
    if topic is None:
        return "\n\n".join(_rung(rung) for rung in ALL)
    topic = topic.strip().lower()
    rungs = [rung for rung in ALL if topic == rung.name or _marked(rung, topic)]
    if rungs:
        return "\n\n".join(_rung(rung, topic) for rung in rungs)
    rows = statements()
    row = next((row for row in rows if row.id == topic.upper()), None)
    if row is not None:
        return _statement(row)
    page = SITE.sub("", topic).strip("/")
    if not any(_is_of(row.page, page) for row in rows):  # no section of ours, so the whole page
        page = page.partition("#")[0]
    found = [row for row in rows if page and _is_of(row.page, page)]
    if found:
        pages = dict.fromkeys(row.page.partition("#")[0] for row in found)
        return "\n\n".join(_page([row for row in found if _is_of(row.page, page)]) for page in pages)
    known = sorted({str(number) for rung in ALL for row in rung.answers for number in row[:2] if number})
    names = ", ".join(rung.name for rung in ALL)
    raise ValueError(f"nothing here is called {shown(topic)}; there are the rungs {names}, the codes "
                     f"{', '.join(known)}, ids such as {rows[0].id}, and pages such as {rows[0].page}")


# The ladder

def _marked(rung: Rung, topic: str) -> List[bool]:
    """Which of a rung's answers have that status or code; empty where none has."""
    marks = [topic.lstrip("-") in (str(status), str(code).lstrip("-")) for status, code, _ in rung.answers]
    return marks if any(marks) else []


def _rung(rung: Rung, topic: str = "") -> str:
    number = "-" if rung is ASIDE else ALL.index(rung)
    notes = ["HTTP only"] * rung.http + [rung.era] * bool(rung.era)
    lines = [f"{number} {rung.name}{' (' + ', '.join(notes) + ')' if notes else ''}", f"    asks     {rung.asks}"]
    marks = _marked(rung, topic) or [False] * len(rung.answers)
    for (status, code, when), marked in zip(rung.answers, marks):
        lines.append(f"{'  > ' if marked else '    '}answers  {status}{'' if code is None else f' {code}'}  {when}")
    return "\n".join([*lines, f"    page     {rung.page}", f"    ids      {' '.join(rung.ids)}".rstrip()])


# The requirements

def statements() -> List[Statement]:
    """All rows of the requirements table, in its order."""
    data = pkgutil.get_data(__package__, "spec/requirements.tsv") or b""
    return [Statement(*line.split("\t")) for line in data.decode("utf-8").splitlines()[1:]]


def _statement(row: Statement) -> str:
    rungs = [rung.name for rung in ALL if row.id in rung.ids]
    parts = [("level", f"{row.level} ({row.role}{'' if row.transport == 'any' else ', ' + row.transport})"),
             ("page", row.page), ("rung", ", ".join(rungs)), ("module", ", ".join(modules().get(row.id, ()))),
             *(("test", test) for ids, test in claims() if row.id in ids_in(ids)),
             *(("untested", reason) for ids, reason in untested() if row.id in ids_in(ids))]
    return "\n".join([f"{row.id}  {row.sentence}", *(f"    {name:<8} {text}" for name, text in parts if text)])


def _is_of(place: str, page: str) -> bool:
    """Whether a page with its section is meant by what somebody calls a page, be it the last part of its name."""
    whole, _, section = place.partition("#")
    name, _, wanted = page.partition("#")
    return (whole == name or whole.endswith(f"/{name}")) and wanted in ("", section)


def _page(rows: List[Statement]) -> str:
    """The statements of a page by section, with the modules and the rungs that are about it."""
    kept = modules()
    implementing = sorted({module for row in rows for module in kept.get(row.id, ())})
    page = rows[0].page.partition("#")[0]
    lines = [page, f"    module   {', '.join(implementing) or 'none'}"]
    lines += [f"    rung     {rung.name}" for rung in ALL if rung.page.partition("#")[0] == page]
    section = ""
    for row in rows:
        if row.page != section:
            section = row.page
            lines += ["", section]
        lines.append(f"    {row.id}  {row.level}  {row.sentence}")
    return "\n".join(lines)


def ids_in(text: str) -> Iterator[str]:
    """Every id that a text names; of a range such as HTTP-35 to HTTP-39, or HTTP-35..39, all that lie between."""
    for prefix, first, last, end in IDS.findall(text):
        for number in range(int(first), int(last or end or first) + 1):
            yield f"{prefix}-{number:02}"


def modules() -> Dict[str, List[str]]:
    """Id to the modules that keep it: those whose docstrings name it, and the ladder."""
    found = {each: ["ladder"] for rung in ALL for each in rung.ids}
    for place in pkgutil.walk_packages(sys.modules[__package__].__path__, f"{__package__}."):
        name = place.name[len(__package__) + 1:]
        file = name.replace(".", "/") + ("/__init__.py" if place.ispkg else ".py")
        with contextlib.suppress(OSError):  # a copy without its sources
            source = (pkgutil.get_data(__package__, file) or b"").decode("utf-8")
            for each in ids_in(source.split('"""', 2)[1] if source else ""):  # a module begins with its docstring
                found.setdefault(each, []).append(name)
    return found


def claims() -> List[Tuple[str, str]]:
    """(ids, test) of each `@proves(ids)`: module.Class or module.Class.test; none without the repository."""
    found = []
    for file in sorted(glob.glob(os.path.join(TESTS, "test_*.py"))):
        owner = ""
        with open(file, encoding="utf-8") as source:
            for ids, indent, name in PROOFS.findall(source.read()):
                if not indent:
                    owner = f"{os.path.basename(file)[:-3]}.{name}"
                if ids:
                    found.append((ids, f"{owner}.{name}" if indent else owner))
    return found


def untested() -> List[Tuple[str, str]]:
    """(ids, why no test proves them), as tests/requirements/untested.tsv has it; none without the repository."""
    file = os.path.join(TESTS, "requirements", "untested.tsv")
    if not os.path.isfile(file):
        return []
    with open(file, encoding="utf-8") as source:
        rows = [line.rstrip("\n").partition("\t") for line in source]
    return [(ids, reason) for ids, _, reason in rows]
