"""How a command ends: its exit status, and the error that wrong usage is."""

from __future__ import annotations

from ..base.errors import BrokenOff, Timeout, Unreachable

SAID_NO, USAGE, NOT_REACHED, INTERRUPTED = 1, 2, 3, 130

STATUSES = """\
exit status:
  0    done
  1    the tool or the server said no, what came back is not MCP, or the output failed
  2    wrong usage, or nothing could be started
  3    the server was not reached, or no answer came in time or whole
  130  interrupted (Ctrl-C); serve and listen are ended by it, with 0"""


class UsageError(Exception):
    """What the user asked for cannot be done; the message is the one line that is printed."""


def status_of(error: Exception) -> int:
    """The exit status of a command that ended with a UsageError or an McpError."""
    if isinstance(error, UsageError):
        return USAGE
    return NOT_REACHED if isinstance(error, (Unreachable, Timeout, BrokenOff)) else SAID_NO

