"""What runs: `python -m mcp_ref COMMAND …`, with the commands of serve, commands, listing, probe, send and login."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import sys
from typing import Any, List, NoReturn, Optional, Sequence, Tuple

from ..base.errors import McpError
from ..base.versioning import LATEST, RELEASE
from . import screen
from .faults import INTERRUPTED, SAID_NO, STATUSES, USAGE, UsageError, called, in_a_line, status_of

_SECRET = (r"(?i)((?:authorization|cookie|api-?key|token|secret|password)\s*[:=]).*"
           r"|(?<=://)[^/@\s]*(?=@)|(?<=explicit argument ).*")


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command; returns the exit status."""
    with screen.printing():
        try:
            status = _run(sys.argv[1:] if arguments is None else list(arguments))
            sys.stdout.flush()
            return status
        except KeyboardInterrupt:
            return INTERRUPTED
        except (UsageError, McpError) as error:
            return _complain(in_a_line(error), status_of(error))
        except BrokenPipeError:  # whoever read the output has seen enough
            _abandon_output()
            return SAID_NO
        except OSError as error:  # of the network and of files it is one of those above
            _abandon_output()
            return _complain(f"the input or the output failed: {error.strerror or error}", SAID_NO)


def _run(words: List[str]) -> int:
    words, command = _divided(words)
    for at, word in enumerate(words):
        if word.endswith(":"):  # a header without quotes: what follows is its value
            screen.conceal(*itertools.takewhile(lambda word: word[:1] != "-", words[at + 1:]))
    made = parser(client=words[:1] != ["serve"], command=command)
    if not words:
        made.print_help(sys.stderr)
        return USAGE
    options = made.parse_args(words)
    return int(options.run(options) or 0)


def _divided(words: List[str]) -> Tuple[List[str], List[str]]:
    """The words of this program, and those after `--`, the command of a stdio server, which are none of its own."""
    named = next((word for word in words if not word.startswith("-")), None)
    if "--" not in words or named in (None, "serve", "explain"):
        return words, []
    at = words.index("--")
    if at == len(words) - 1:
        raise UsageError("the command of a stdio server follows --")
    return words[:at], words[at + 1:]


def _complain(words: str, status: int) -> int:
    with contextlib.suppress(OSError):
        print(f"mcp_ref: {words}", file=sys.stderr)
    return status


def _abandon_output() -> None:
    """Let what is still buffered go nowhere, or the interpreter would complain once more when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it may be none that has a number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Complains without repeating what may be a secret, and not in vain where its output cannot be written."""

    def __init__(self, **more: Any) -> None:
        super().__init__(epilog=STATUSES, formatter_class=argparse.RawDescriptionHelpFormatter, **more)

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized"):  # an option that is not known may have been given a secret
            message = re.sub(r"( -[^\s=]+)((?:=\S*)?(?: [^-\s]\S*)*)", lambda found: found[1] + " …" * bool(found[2]),
                             message)
        super().error(re.sub(_SECRET, lambda found: (found.group(1) or "") + "…", message))

    def _print_message(self, message: str, file: Any = None) -> None:
        print(message, end="", file=file or sys.stderr, flush=True)


def parser(client: bool = True, command: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The argument parser. client: with the client's commands; to serve, they are not even loaded. command: of a stdio
    server, which they call in place of one at a URL.
    """
    made = _Parser(prog=called(), description="The Model Context Protocol, 2026-07-28.")
    made.add_argument("--version", action="version",
                      version=f"mcp_ref {RELEASE} (Model Context Protocol {LATEST})")
    made.add_argument("--no-color", action="store_true", help="no colours, as with NO_COLOR=1")
    commands: Any = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.server = command
    from . import serve

    serve.add_commands(commands)
    if client:
        from . import commands as calls
        from . import login, probe, send

        for module in (calls, probe, send, login):
            module.add_commands(commands)
    explain = commands.add_parser("explain", help="print the validation ladder, or what a topic is",
                                  description="Print the validation ladder, or what a topic is.")
    explain.add_argument("topic", nargs="?", metavar="TOPIC", help="a rung's name, an HTTP status, an error code such "
                         "as -32020, a requirement such as HTTP-14, a page such as basic/patterns/mrtr, or fallback, "
                         "the table by which a client finds out the era of a server")
    explain.set_defaults(run=_explain)
    return made


def _explain(options: argparse.Namespace) -> int:
    from ..client.era import fallback
    from ..explain import explain

    try:
        print(fallback() if options.topic == "fallback" else explain(options.topic))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return 0
