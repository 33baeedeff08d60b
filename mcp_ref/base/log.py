"""The one log of the package, `logging.getLogger("mcp_ref")`, in which no record can be forged.

A method, a header, the text of an exception: what a peer or a handler wrote may hold line breaks that look like the
next record, and sequences that move a terminal's cursor. In what is logged here they are escaped; a traceback keeps its
lines, all of them indented, so that none begins where a record does.
"""

from __future__ import annotations

import logging
import traceback
from typing import Any, Iterator

from ..lib.text import printable

log = logging.getLogger("mcp_ref")


def _traceback(error: BaseException) -> Iterator[str]:
    for part in traceback.format_exception(type(error), error, error.__traceback__):
        part = part[:-1] if part.endswith("\n") else part
        frame = part.lstrip(" |+-").startswith('File "')  # the one part that has several lines of its own
        yield from map(printable, part.split("\n") if frame else [part])


class _Escaping(logging.Filter):
    """Lets every record pass, its message and its traceback escaped."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except Exception:  # arguments that do not fit are for the handler to tell
            return True
        if not message.isprintable():
            record.msg, record.args = printable(message), ()
        error: Any = record.exc_info[1] if record.exc_info else None
        if error is not None and not record.exc_text:
            record.exc_text = "\n".join("  " + line for line in _traceback(error))
        return True


log.addFilter(_Escaping())
