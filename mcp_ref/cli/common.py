"""What the commands that call a server share: their options, their client, what they read and how they print."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import logging
import re
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from ..base.errors import HTTPError, ProtocolError
from ..base.log import log
from ..base.meta import LOG_LEVELS, SERVER_INFO
from ..client.elicitation import decline
from ..lib.text import printable, shown
from . import screen, tokens
from .faults import INTERRUPTED, UsageError
from .saving import check_folder
from .screen import Bar, is_terminal, note, paint
from .terminal import Interrupted, terminal

if TYPE_CHECKING:
    from ..client.client import Client
    from ..transports.calls import Wire

Command = Callable[["Client", argparse.Namespace], int]

ERAS = ("auto", "modern", "legacy")
FILES = "@FILE stands for what a file holds, @- for the standard input, and @@ for a text that begins with @"
ASKING = """\
A question of the server is asked in the terminal. Where standard input is no terminal it is declined, with a note,
rather than answered by whatever happens to be piped in; --stdin says that the piped lines are the answers, and
--no-input that the server may not ask at all (the capability is not declared). So it is with the arguments of a
prompt: one that is not given, or blank, is left out, and where it is required, all that are open are asked for."""
STDIN = """\
The lines that --stdin expects are one for each field of a form, in the order shown (an empty one takes the default, or
leaves the field out), then send, edit, decline or cancel; for a web page yes, no or cancel, and an empty line once it
is done. :decline or :cancel at any time, or the end of the input, which cancels, ends a question."""


def add_command(commands: Any, name: str, run: Command, help: str, *told: str,
                asks: bool = False) -> argparse.ArgumentParser:
    """A command's parser, with the options of all. told: as add_parser has it. asks: whether the server may ask for
    input.
    """
    made = add_parser(commands, name, help, *told, *((ASKING, STDIN) if asks else ()))
    made.add_argument("--era", choices=ERAS, default="auto", help="which era to speak: modern is 2026-07-28, legacy "
                      "2025-11-25 and before, auto what the server speaks (default: auto)")
    made.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="sent every time")
    if name != "login":
        made.add_argument("--login", action="store_true", help="log in, as `login` does, where the server asks for it")
    made.add_argument("--output", choices=("text", "json"), default="text", help="json: the result as it came")
    made.add_argument("--log-level", choices=LOG_LEVELS, metavar="LEVEL",
                      help=f"show the server's log messages of this level and above: {', '.join(LOG_LEVELS)}")
    if asks:
        made.add_argument("--no-input", action="store_true", help="do not let the server ask")
        made.add_argument("--stdin", action="store_true", help="read answers from standard input, terminal or not")
        made.add_argument("--save", metavar="DIR", help="write images, audio and blobs to new files in this folder")
    made.set_defaults(run=functools.partial(_run, run))
    return made


def add_parser(commands: Any, name: str, help: str, *told: str) -> argparse.ArgumentParser:
    """The parser of a command that calls a server. told: more paragraphs of its description."""
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description="\n\n".join([help[0].upper() + help[1:] + ".", *told]))
    if commands.server:
        made.set_defaults(url=commands.server)
    else:
        made.add_argument("url", metavar="URL", help="the MCP endpoint, such as http://127.0.0.1:8000/mcp; in place of "
                          "it, -- COMMAND … at the end of the line starts a stdio server, as in -- python3 server.py")
    made.add_argument("--timeout", type=float, default=60.0, metavar="S",
                      help="seconds in all, to listen until it is granted (default: %(default)g)")
    tokens.add_options(made)
    made.add_argument("--raw", action="store_true", help="print the exact exchanges in place of the result")
    made.add_argument("--pretty", action="store_true", help="as --raw, with the JSON in them indented")
    made.add_argument("--no-color", action="store_true", default=argparse.SUPPRESS, help="no colours (as NO_COLOR=1)")
    return made


def _run(command: Command, options: argparse.Namespace) -> int:
    """Run one command with its client."""
    from ..client.client import Client  # loaded when it is used: --help needs none of it

    begin(options)
    options.interrupted = False
    if getattr(options, "save", None) is not None:
        check_folder(options.save)
    asks = "no_input" in options and not options.no_input
    wire = exchange_printer(options)
    try:
        headers = {**_headers(options.header), **tokens.bearer(options)}
        options.auth = tokens.authorization(options, wire)
        client = Client(options.url, era=options.era, timeout=options.timeout, headers=headers, auth=options.auth,
                        on_elicit=functools.partial(_elicit, options) if asks else None,
                        on_log=_log if options.log_level else None, log_level=options.log_level, wire=wire)
    except ValueError as error:
        raise UsageError(str(error)) from None
    options.shown_url = client.url
    with client, Bar(sys.stderr) as options.bar, _noted():
        try:
            status = command(client, options)
        except (ProtocolError, HTTPError) as error:
            error.note = error.note or tokens.advice(options, error.status)
            raise
    return INTERRUPTED if options.interrupted else status


@contextlib.contextmanager
def _noted() -> Iterator[None]:
    """What the client warns of is a note beside the result."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: note(f"mcp_ref: {handler.format(record)}")  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def begin(options: argparse.Namespace) -> None:
    """What the options of every command come to. Raises UsageError where several would read the standard input."""
    screen.colours = not options.no_color
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="surrogateescape")  # what is no text is refused where it is read
    options.raw = options.raw or options.pretty
    given = vars(options)
    texts = [pair.partition("=")[2] for name in ("arg", "meta") for pair in given.get(name, ())]
    texts += [given.get(name) for name in ("json", "params", "body", "value")]
    if texts.count("@-") + given.get("stdin", False) > 1:
        raise UsageError("standard input can be read for one thing alone")


def _headers(given: List[str]) -> Dict[str, str]:
    parts = [header.partition(":") for header in given]
    if not all(colon for _, colon, _ in parts):
        raise UsageError("a header is given as 'Name: value'")
    return {name.strip(): value.strip() for name, _, value in parts}


# What a server says and asks on the way

def _elicit(options: argparse.Namespace, params: Dict[str, Any]) -> Any:
    if can_ask(options):
        answer = terminal(params, server=options.shown_url)
        options.interrupted = options.interrupted or isinstance(answer, Interrupted)
        return answer
    note(f"mcp_ref: {options.shown_url} asks for input, which is declined: standard input is no terminal; --stdin "
         "takes answers from it")
    return decline()


def can_ask(options: argparse.Namespace) -> bool:
    """Whether the user can be asked."""
    return sys.stdin is not None and not options.no_input and (options.stdin or sys.stdin.isatty())


def _log(level: str, data: Any, logger: Any) -> None:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    who = level if logger is None else f"{level} {logger}"
    note(f"{paint(printable(who), 'yellow', sys.stderr)}: {printable(text)}")


# What is printed

def show(text: str, end: str = "\n") -> None:
    """Print a server's text: exactly into a file or pipe, with what a terminal would act on escaped on a terminal."""
    print(printable(text, "\n\t") if is_terminal(sys.stdout) else text, end=end, flush=True)


def printed(options: argparse.Namespace, result: Any) -> bool:
    """Whether nothing is left to print: --raw has done it, or --output json does."""
    if not options.raw and options.output == "json":
        print(screen.as_json(result, sys.stdout), flush=True)
    return bool(options.raw or options.output == "json")


def server_info(result: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """What a server says that it is, in the result of server/discover; None where it says nothing."""
    fields = result.get("_meta")
    info = fields.get(SERVER_INFO) if isinstance(fields, dict) else None
    return info if isinstance(info, dict) else None


def exchange_printer(options: argparse.Namespace) -> "Optional[Wire]":
    """With --raw or --pretty a wire that prints each exchange, as it was or with its JSON indented."""
    def wire(sent: str, received: str) -> None:
        for text in (sent, received):
            text = text.replace("\r\n", "\n").rstrip("\n")
            if text:
                show((_pretty(text) if options.pretty else text) + "\n")
    return wire if options.raw else None


def _pretty(exchange: str) -> str:
    """One half of an exchange with each line of JSON, an event's too, indented; chunk sizes are left out.
    On stdio there are such lines alone.
    """
    head, blank, body = exchange.partition("\n\n") if exchange[:1] != "{" else ("", "", exchange)
    lines = body.split("\n")
    if re.search(r"^transfer-encoding:.*chunked", head, re.IGNORECASE | re.MULTILINE):
        lines = [line for line in lines if not re.fullmatch("[0-9A-Fa-f]{1,8}", line)]
    return head + blank + re.sub("\n{3,}", "\n\n", "\n".join(map(_indented, lines))).rstrip("\n")


def _indented(line: str) -> str:
    field, json_text = ("data: ", line[5:].strip()) if line.startswith("data:") else ("", line)
    try:
        value = json.loads(json_text)
    except (ValueError, RecursionError):
        return line
    return field + json.dumps(value, ensure_ascii=False, indent=2) if isinstance(value, (dict, list)) else line


# What is read

def content_of(text: str) -> str:
    """What @FILE, @- or @@… stands for; any other text itself. Raises UsageError for what is not read, or no text."""
    if not text.startswith("@") or text.startswith("@@"):
        return a_text(text[1:] if text.startswith("@@") else text)
    try:
        return octets_of(text).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{text[1:]} holds no text in UTF-8") from None


def a_text(word: str) -> str:
    """A word of the command line. Raises UsageError for one that is no text in the encoding of this system."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{shown(word)} is no text in the encoding of this system") from None
    return word


def octets_of(text: str) -> bytes:
    """The octets of @FILE or @-; of @@… and any other text, its own. Raises UsageError."""
    if not text.startswith("@") or text.startswith("@@"):
        return (text[1:] if text.startswith("@@") else text).encode("utf-8", "surrogateescape")
    name = text[1:]
    try:
        if name == "-":
            if sys.stdin is None:
                raise UsageError("there is no standard input to read from")
            binary = getattr(sys.stdin, "buffer", None)
            return sys.stdin.read().encode("utf-8") if binary is None else binary.read()
        with open(name, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the file {name!r}: {getattr(error, 'strerror', error)}") from None


def dash(text: str) -> str:
    """The text of an option that takes - for @-, the standard input."""
    return "@-" if text == "-" else text


def pairs(options: argparse.Namespace) -> List[Tuple[str, str]]:
    """The name and value of each --arg. Raises UsageError."""
    given = [pair.partition("=") for pair in options.arg]
    if any(not name or not equals for name, equals, _ in given):
        raise UsageError("an argument is given as NAME=VALUE")
    if len({name for name, _, _ in given}) < len(given):
        raise UsageError("an argument is given twice")
    return [(name, content_of(text)) for name, _, text in given]
