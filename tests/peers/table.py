"""The README's table of peers and features: written from what a run of all of them found.

A row is a peer in one part (its client calls our server, or its server is called by our client and our command line)
and in one way. A cell is `yes` where all steps of that feature went as the specification has them, `part` where the
peer has some of them and those did, `differs` where one went as steps.py says that it does with this peer, `no` where
one failed, and `–` where the peer's program has nothing of the kind.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List, Mapping, Tuple

from .catalogue import PEERS, Way
from .steps import FEATURES, HTTP, MODERN

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- make peers writes this table -->", "<!-- to here -->"
WORDS = ("yes", "part", "differs", "no", "–")
HEAD = ("peer", "its", "over", "in", *FEATURES)
Cells = Dict[str, List[str]]


def cell(feature: str, way: Way, verdicts: Mapping[str, List[str]]) -> str:
    """One of WORDS. verdicts: step to what was said of it by each client."""
    steps = [step for step in FEATURES[feature] if step != "end_of_stream" or way == Way(HTTP, MODERN)]
    found = [verdict for step in steps for verdict in verdicts.get(step, ())]
    if not found or feature == "mirrored" and way != Way(HTTP, MODERN):
        return "–"
    if "FAILED" in found:
        return "no"
    if "differs" in found:
        return "differs"
    return "yes" if all(step in verdicts for step in steps) else "part"


def text(cells: Mapping[Tuple[str, str, Way], Mapping[str, List[str]]]) -> str:
    """The table, with a line for each row of `cells`, in the order of the catalogue."""
    lines = [HEAD, ("---",) * len(HEAD)]
    for peer in PEERS:
        for part, way in [*(("client", way) for way in peer.calls), *(("server", way) for way in peer.serves)]:
            verdicts = cells.get((peer.name, part, way))
            if verdicts is not None:
                found = (cell(feature, way, verdicts) for feature in FEATURES)
                lines.append((f"{peer.name} {peer.version}", part, *way, *found))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write(cells: Mapping[Tuple[str, str, Way], Mapping[str, List[str]]]) -> None:
    """Put the table into the README, between its two marks."""
    readme = README.read_text(encoding="utf-8")
    block = f"{BEGIN}\n\n{text(cells)}\n{END}"
    README.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: block, readme, flags=re.DOTALL), encoding="utf-8")
