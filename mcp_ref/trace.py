"""The trace of a request: in one line, how far up the ladder it came and what became of it."""

from __future__ import annotations

import json
from typing import Any, List, Optional

from .base.errors import McpError, ProtocolError
from .base.headers import NAMED_BY
from .base.request import Answer, Request
from .ladder import passed
from .lib.text import shown


def trace(request: Request, error: Optional[McpError], answer: Optional[Answer], seconds: float) -> str:
    """One line: the rungs passed, the one that refused or what the handler came to, and how long it took.

    error: why it was refused. answer: None where the client has gone. Of the request there is its method, its id and
    the name of what it calls, and no other value; nor can it make the line more than one: what holds a blank is
    quoted, and what is long is cut.
    """
    names = passed(request)
    what = f"{_plain(request.method) or '?'} id={shown(request.id) if request.id is not None else '-'}:"
    good = [f"{name} ok" for name in names[:names.index(request.rung)]] if request.rung in names else []
    end = " ".join([*_handled(request), f"{seconds * 1000:.1f} ms"])
    if error is None:
        last = f"{request.rung} ok " if answer is not None else "handler "
        return " ".join([what, *good, f"{last}-> {_came_to(answer)}", end])
    code = f"{error.code} " if isinstance(error, ProtocolError) else ""
    status = 500 if answer is None else answer.status
    message: Any = error.message if isinstance(error, ProtocolError) else ""
    if not isinstance(message, str) or not message.isprintable() or len(message) > 200:
        message = shown(message, 200)
    return " ".join([what, *good, f"{request.rung} NO -> {status} {code}{message}".rstrip(), end])


def _plain(text: str) -> str:
    return text if text.isprintable() and " " not in text and len(text) <= 60 else shown(text)


def _handled(request: Request) -> List[str]:
    """What was called, and in which round of questions; nothing where no handler was begun."""
    name = request.params.get(NAMED_BY.get(request.method, ""))
    return [f"({'' if name is None else f'{_plain(str(name))}, '}round {request.round})"] if request.round else []


def _came_to(answer: Optional[Answer]) -> str:
    """The status, and what kind of result it carries."""
    if answer is None:
        return "cancelled"
    if answer.stream is not None:
        return f"{answer.status} stream"
    result = json.loads(answer.body).get("result", {}) if answer.body else {}
    parts = [result.get("resultType"), "isError" if result.get("isError") else None]
    return " ".join([str(answer.status), *(part for part in parts if part)])
