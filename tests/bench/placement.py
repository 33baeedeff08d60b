"""Which processor the server and `wrk` run on, a choice that moves the figures of a cheap server more than its code.

`free`: as the system likes, which is what anybody measures who just runs wrk. With one connection a fast server then
shows two speeds, by whether the scheduler puts the two processes together or apart. `apart`: one processor each, so
every exchange pays for waking an idle one, which weighs most on the cheapest server. `shared`: both on one processor,
which counts work alone, repeats best, and is the kindest to a cheap server in a ratio to a costly one. A ratio is
worth quoting only with the placement it was measured in.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

NAMES = ("free", "apart", "shared")


@dataclass(frozen=True)
class Placement:
    """The processor of the server and that of wrk; None leaves it to the system."""

    server: int | None = None
    wrk: int | None = None


def placement(name: str) -> Placement:
    """The placement of that name; raises ValueError where this machine cannot give it."""
    if name == "free":
        return Placement()
    if sys.platform != "linux" or shutil.which("taskset") is None:
        raise ValueError(f"placement {name} needs Linux and taskset")
    processors = sorted(os.sched_getaffinity(0))
    if name == "shared":
        return Placement(processors[0], processors[0])
    if len(processors) < 2:
        raise ValueError("placement apart needs two processors")
    return Placement(processors[0], processors[1])


def pinning(processor: int | None) -> list[str]:
    """What goes before a command to keep it on a processor; `taskset` becomes the command, so it is one process."""
    return [] if processor is None else ["taskset", "-c", str(processor)]
