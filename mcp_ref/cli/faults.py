"""How a command was begun and how it ends: its name, its exit status, and the error that wrong usage is."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys

from ..base.errors import BrokenOff, ProtocolError, Timeout, Unreachable
from ..lib.text import printable

SAID_NO, USAGE, NOT_REACHED, INTERRUPTED = 1, 2, 3, 130

STATUSES = """\
exit status:
  0    done
  1    the tool or the server said no, no token was to be had, what came back is not MCP, or the output failed
  2    wrong usage, or nothing could be started
  3    the server was not reached, or no answer came in time or whole
  130  interrupted (Ctrl-C); serve and listen are ended by it, with 0"""


class UsageError(Exception):
    """What the user asked for cannot be done; the message is the one line that is printed."""


def called() -> str:
    """The program as it was called: `python3 -m mcp_ref`, `mcp-ref` or `dist/mcp_ref.pyz`."""
    given = sys.argv[0] or "mcp_ref"
    if os.path.basename(given) in ("__main__.py", "-m", "-c"):
        python = os.path.basename((getattr(sys, "orig_argv", None) or [sys.executable or "python3"])[0])
        return f"{python} -m {__name__.rpartition('.cli.')[0]}"
    found = shutil.which(os.path.basename(given))
    return os.path.basename(given) if found is not None and os.path.abspath(given) == os.path.abspath(found) else given


def login_command(url: str, *more: str) -> str:
    """The command that logs in to a server, to be pasted."""
    return printable(f"{called()} login {' '.join(map(shlex.quote, (url, *more)))}")


def status_of(error: Exception) -> int:
    """The exit status of a command that ended with a UsageError or an McpError."""
    if isinstance(error, UsageError):
        return USAGE
    return NOT_REACHED if isinstance(error, (Unreachable, Timeout, BrokenOff)) else SAID_NO


def in_a_line(error: Exception) -> str:
    """An error in one line that no terminal acts on, an error response with its particulars."""
    data = error.data if isinstance(error, ProtocolError) else None
    return printable(" ".join(str(error).split()) + ("" if data is None else " " + json.dumps(data)))
