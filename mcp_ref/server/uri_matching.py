"""server/resources, Resource Templates: a URI read against fixed texts and the values between them.

Implements RES-14. The matching half of uri_template, without backtracking: a template that says little and a URI made
to be ambiguous cost no more than the product of their lengths.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import unquote_to_bytes

from ..base.errors import SchemaError

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Unit(NamedTuple):
    """What matching sees: a fixed text and, with a name, the value that follows it.

    stop: characters the value cannot hold. least: how many it has at least. optional: whether the whole unit may be
    left out. split: what separates the elements of an exploded value.
    """

    prefix: str
    name: str = ""
    stop: str = ""
    least: int = 1
    optional: bool = False
    split: str = ""


def check_separated(units: Sequence[Unit]) -> None:
    """Raise SchemaError where two values follow one another directly."""
    for unit, following in zip(units, units[1:]):
        if unit.name and following.name and not following.prefix:
            raise SchemaError(f"nothing stands between {{{unit.name}}} and {{{following.name}}}")


def matched(units: Sequence[Unit], text: str, safe: bool = False) -> Optional[Dict[str, Any]]:
    """Name to decoded value where `units` make up all of `text`. safe: refuse values with a `..` segment.

    From the last unit to the first, `_step` finds what can follow from every position; then one walk reads it off.
    """
    if units and not units[0].name:
        if not text.startswith(units[0].prefix):
            return None
        text, units = text[len(units[0].prefix):], units[1:]
    costs: List[Optional[int]] = [None] * len(text) + [0]
    steps: List[List[Optional[int]]] = []
    for unit in reversed(units):
        costs, ends = _step(unit, text, costs)
        steps.append(ends)
    if costs[0] is None:
        return None
    values: Dict[str, Any] = {}
    position = 0
    for unit, ends in zip(units, reversed(steps)):
        end = ends[position]
        if end is None:
            continue
        if unit.name:
            value = _value(text[position + len(unit.prefix):end], unit.split, safe)
            if value is None:
                return None
            values[unit.name] = value
        position = end
    return values


def _step(unit: Unit, text: str,
          after: List[Optional[int]]) -> Tuple[List[Optional[int]], List[Optional[int]]]:
    """For each position, with `after` what the units after this one cost from there (None: they cannot match):

    what they cost together with this one, counted in optional units left out, and where this one ends (None: left
    out).
    """
    size = len(text)
    starts = _value_ends(unit, text, after) if unit.name else [
        None if cost is None else position for position, cost in enumerate(after)]
    costs: List[Optional[int]] = [None] * (size + 1)
    ends: List[Optional[int]] = [None] * (size + 1)
    width = len(unit.prefix)
    for position in range(size + 1):
        end = starts[position + width] if text.startswith(unit.prefix, position) else None
        if end is not None:
            costs[position], ends[position] = after[end], end
        skipped, cost = after[position], costs[position]
        if unit.optional and skipped is not None and (cost is None or skipped + 1 < cost):
            costs[position], ends[position] = skipped + 1, None
    return costs, ends


def _value_ends(unit: Unit, text: str, after: List[Optional[int]]) -> List[Optional[int]]:
    """For each position, the best end of a value that starts there: the cheapest, then the farthest."""
    size = len(text)
    best: Optional[int] = None
    cheapest = 0
    found: List[Optional[int]] = [None] * (size + 1)
    for position in range(size, -1, -1):
        if position < size:
            cost = after[position + 1]
            if text[position] in unit.stop:
                best = None
            elif cost is not None and (best is None or cost < cheapest):
                best, cheapest = position + 1, cost
        found[position] = best
        empty = after[position]
        if unit.least == 0 and empty is not None and (best is None or empty < cheapest):
            found[position] = position
    return found


def _value(raw: str, split: str, safe: bool) -> Any:
    if not split:
        return decoded(raw, safe)
    elements = [decoded(element, safe) for element in raw.split(split)]
    return elements if all(elements) else None


def decoded(raw: str, safe: bool = False) -> Optional[str]:
    """`raw` percent-decoded, once; None where it is malformed or, if `safe`, climbs up a path."""
    if _BAD_ESCAPE.search(raw):
        return None
    try:
        text = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in text or (safe and ".." in re.split(r"[/\\]", text)):
        return None
    return text
