"""What is printed: secrets left out of it, what is safe on a terminal, widths, line breaks, colours, a progress bar.

A server's texts are foreign: whatever a terminal could act on in them is written as an escape. A server may also repeat
what it was sent; so all that a command prints, argparse and logging included, goes through an Output.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import unicodedata
from typing import Any, ClassVar, Iterable, Iterator, List, Optional, Set, cast

from ..lib.text import printable

STYLES = {"bold": "1", "red": "31", "yellow": "33", "cyan": "36"}
BAR = 24

colours = True
"""Whether --no-color was not given."""
LEAST, ANYWHERE = 4, 8
"""Characters of a secret that is looked for at all, and of one that is looked for within words too."""
_secrets: Set[str] = set()


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Have all that is printed go through an Output, in UTF-8; to a stream that is closed, nowhere. No secret is known
    yet.
    """
    _secrets.clear()
    with contextlib.ExitStack() as stack:
        for redirect, stream in ((contextlib.redirect_stdout, sys.stdout), (contextlib.redirect_stderr, sys.stderr)):
            if stream is None:
                stream = stack.enter_context(open(os.open(os.devnull, os.O_RDWR), "w", encoding="utf-8"))
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
            stack.enter_context(redirect(cast(Any, Output(stream))))
        yield


class Output:
    """A stream of text, or of octets, without the secrets in what is written to it, and with a bar out of the way."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        """Write text or octets; a secret is found where it comes in one call."""
        if Bar.standing is not None:
            Bar.standing.clear()
        self._stream.write(hidden(data))
        return len(data)

    def writelines(self, parts: Iterable[Any]) -> None:
        """Write all of them."""
        for part in parts:
            self.write(part)

    @property
    def buffer(self) -> "Output":
        """Where octets are written."""
        return Output(self._stream.buffer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def conceal(*secrets: str) -> None:
    """Show none of these from now on, whether as it is or as JSON has it."""
    for secret in secrets:
        if len(secret) >= LEAST:
            _secrets.update((secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]))


def hidden(data: Any) -> Any:
    """Text or octets with … for each secret in them, and for the beginning of one that was cut off by …"""
    if isinstance(data, bytes):
        return hidden(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    for secret in sorted(_secrets, key=len, reverse=True):
        data = _without(secret, data)
    return data


def _without(secret: str, text: str) -> str:
    if len(secret) < ANYWHERE:
        return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "…", text)
    if len(text) > len(secret) and "\n" in text[:-1]:  # an exchange in chunks has line ends and sizes between them
        text = re.sub(r"(?:\n(?:[0-9A-Fa-f]{1,8}\n)?)?".join(map(re.escape, secret)), "…", text)
    cut = rf"{re.escape(secret[:ANYWHERE])}[^…\s]{{0,{len(secret)}}}…"
    return re.sub(cut, lambda found: "…" if secret.startswith(found[0][:-1]) else found[0], text.replace(secret, "…"))


def note(text: str) -> None:
    """Print a line beside the result, on the standard error."""
    print(text, file=sys.stderr, flush=True)


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
    given = os.environ.get("COLUMNS", "")[:9]
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
    """The text, ended with … where it is wider than `width`; no part of a secret is left."""
    text = hidden(text)
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
    """The text in lines of at most `width` columns, broken at blanks, and within a word that alone is wider.

    Secrets are left out here: what is broken in two could not be recognised later.
    """
    width = max(width, 2)  # a wide character must fit
    lines = [""]
    for number, word in enumerate(hidden(text).split(" ")):
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

    A context manager that takes the line away again, as `clear` does, and an Output before anything else is printed.
    """

    standing: ClassVar[Optional["Bar"]] = None
    """The one whose line is on the terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._redraws = stream, moves(stream)
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
        self._draw(fitted("  ".join(part for part in parts if part), width))
        Bar.standing = self

    def _draw(self, line: str) -> None:
        Bar.standing = None  # in whose way it would be
        print(f"\r{line}\x1b[K", end="", file=self._stream, flush=True)

    def clear(self) -> None:
        """Take the line away, if there is one."""
        if Bar.standing is self:
            self._draw("")
