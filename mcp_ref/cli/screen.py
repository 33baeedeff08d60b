"""What a terminal shows: what is safe on it, how wide a text is, where a line breaks, colours, and a progress bar.

A server's texts are foreign: whatever a terminal could act on in them is written as an escape.
"""

from __future__ import annotations

import json
import os
import sys
import time
import unicodedata
from typing import Any, List, Optional, Set

from ..lib.text import printable

STYLES = {"bold": "1", "red": "31", "yellow": "33", "cyan": "36"}
BAR = 24

colours = True
"""Whether --no-color was not given."""
secrets: Set[str] = set()
"""What the command line knows, and shows nobody: tokens and the like."""
SHORTEST = 8
"""Characters of a secret that is looked for in what is printed; shorter ones stand in any text."""


def hidden(text: str) -> str:
    """`text` with … for each of the secrets in it: a server may repeat what it was sent."""
    for secret in sorted((each for each in secrets if len(each) >= SHORTEST), key=len, reverse=True):
        text = text.replace(secret, "…")
    return text


def note(text: str) -> None:
    """Print a line beside the result, on the standard error."""
    print(hidden(text), file=sys.stderr, flush=True)


def as_json(value: Any, stream: Any) -> str:
    """`value` as indented JSON with real characters; for a terminal those that it could act on as \\u escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] if c > "\x7f" else f"\\u{ord(c):04x}"
                   for c in text) if is_terminal(stream) else text


def is_terminal(stream: Any) -> bool:
    """Whether a stream, which may be None, is a terminal."""
    return stream is not None and bool(stream.isatty())


def moves(stream: Any) -> bool:
    """Whether a stream is a terminal that takes control sequences."""
    return is_terminal(stream) and os.environ.get("TERM", "dumb") not in ("", "dumb")


def paint(text: str, style: str, stream: Any) -> str:
    """`text` in a style of STYLES, where the stream has colours and nobody said no to them (NO_COLOR, --no-color)."""
    plain = not colours or os.environ.get("NO_COLOR") or not moves(stream)
    return text if plain else f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def columns(stream: Any) -> int:
    """How wide the terminal is: as COLUMNS says, or as the stream knows; 80 where neither does."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (AttributeError, OSError, ValueError):
        return 80


def cells(text: str) -> int:
    """How many columns a text takes: a wide character two, a combining one none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(c) in "WF")
               for c in text)


def fitted(text: str, width: int) -> str:
    """The text, ended with … where it is wider than `width`."""
    return text if cells(text) <= width else _fitting(text, width - 1) + "…"


def _fitting(text: str, width: int) -> str:
    """The longest beginning of a text that is no wider than `width`."""
    taken = 0
    for number, c in enumerate(text):
        taken += cells(c)
        if taken > width:
            return text[:number]
    return text


def wrap(text: str, width: int) -> List[str]:
    """The text in lines of at most `width` columns, broken at blanks, and within a word that alone is wider."""
    width = max(width, 2)  # a wide character must fit
    lines = [""]
    for number, word in enumerate(text.split(" ")):
        if number and cells(lines[-1]) + 1 + cells(word) <= width:
            lines[-1] += " " + word
            continue
        if number:
            lines.append("")
        while cells(word) > width:
            lines[-1] = _fitting(word, width)
            word = word[len(lines[-1]):]
            lines.append("")
        lines[-1] += word
    return lines


class Bar:
    """An on_progress callback: one line that redraws in place on a terminal, elsewhere a line for each report.

    A context manager that takes the line away again, as `clear` does before something else is printed.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._redraws, self._drawn = stream, moves(stream), False
        self._first: Optional[float] = None
        self._began = 0.0

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def __call__(self, progress: float, total: Optional[float], message: Optional[str]) -> None:
        count = f"{progress:.12g}" if total is None else f"{progress:.12g}/{total:.12g}"
        said = printable(message or "")
        if not self._redraws:
            print(f"progress {count} {said}".rstrip(), file=self._stream, flush=True)
            return
        width = max(columns(self._stream) - 3, 1)  # ^C may come behind it
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = progress, now
        rate = (progress - self._first) / max(now - self._began, 1e-3)
        parts = [count, f"{rate:.3g}/s" if rate > 0 else "", said]
        if total is not None and total > 0:
            share = min(max(progress / total, 0.0), 1.0)
            size = min(BAR, width // 3)
            parts.insert(0, f"[{'#' * int(share * size):<{size}}] {share:4.0%}")
        line = fitted("  ".join(part for part in parts if part), width)
        print(f"\r{line}\x1b[K", end="", file=self._stream, flush=True)
        self._drawn = True

    def clear(self) -> None:
        """Take the line away, if there is one."""
        if self._drawn:
            print("\r\x1b[K", end="", file=self._stream, flush=True)
            self._drawn = False
