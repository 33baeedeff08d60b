"""Two copies of this package in one process, such as a vendored one beside an installed one, where they meet.

What one copy made is no instance of the other's class of that name; without a word about it that looks absurd.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Optional


def other_copy(value: Any, ours: type) -> Optional[str]:
    """In words, that `value` is of the class `ours` as another copy of this package has it; None where it is not so."""
    root = __name__.rpartition(".base.")[0]
    inner = ours.__module__[len(root):]
    for kind in type(value).__mro__:
        if kind is not ours and kind.__name__ == ours.__name__ and kind.__module__.endswith(inner):
            theirs = kind.__module__[:-len(inner)]
            return (f"a {ours.__name__} of another copy of this package: it comes from {theirs} in {_folder(theirs)}, "
                    f"and this is {root} in {_folder(root)}; import {ours.__name__} from the one that runs")
    return None


def _folder(package: str) -> str:
    return os.path.dirname(getattr(sys.modules.get(package), "__file__", None) or "?") or "?"
