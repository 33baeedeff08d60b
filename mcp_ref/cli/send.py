"""The command `send`: one right request, and in it what the options change; sent as it then is, and answered as it is.

Nothing is checked, corrected or sent again, so that every rung of a ladder can be reached by hand.
"""

from __future__ import annotations

import argparse
import codecs
import json
import queue
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from ..base import meta as reserved
from ..base.errors import BrokenOff
from ..base.versioning import LATEST, LEGACY, RELEASE
from ..lib.strict_json import decode, encode
from ..lib.text import printable
from . import tokens
from .arguments import json_or_text
from .common import add_parser, begin, content_of, dash, exchange_printer, octets_of, show
from .faults import SAID_NO, UsageError
from .screen import note

if TYPE_CHECKING:
    from ..transports.calls import Deadline

TOLD = """\
The request is a right one: every header that the transport asks for, the _meta that each request carries, and the
headers that mirror METHOD and --params. Each option then changes one thing, in this order: --meta, --drop-meta,
--body, --set-header, --drop-header; what it is told is what is sent, once, and nothing follows from it for the rest.
Without its mirrors: an argument annotated with x-mcp-header, which --set-header 'Mcp-Param-NAME: VALUE' adds.

A reserved key of _meta may be given without its prefix, as in --meta clientInfo=7 or --drop-meta clientCapabilities;
'*' is _meta as a whole. The status is 0 where the answer is a result, or 202 to what has no id, and else 1."""
RESERVED = {name[len(reserved.PREFIX):]: name for name in (
    reserved.PROTOCOL_VERSION, reserved.CLIENT_INFO, reserved.CLIENT_CAPABILITIES, reserved.LOG_LEVEL)}
CAPABILITIES: Dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
INITIALIZE = {"protocolVersion": LEGACY[0], "capabilities": {}, "clientInfo": {"name": "mcp_ref", "version": RELEASE}}

Headers = List[Tuple[str, bytes]]


def add_commands(commands: Any) -> None:
    """Add `send` to the command line's subparsers."""
    send = add_parser(commands, "send", "send one request, right but for what is changed, and print the answer", TOLD)
    send.add_argument("method", metavar="METHOD", help="of JSON-RPC, such as tools/list")
    send.add_argument("--era", choices=("modern", "legacy"), default="modern", help="legacy: a right request of "
                      "2025-11-25, without _meta and mirrors (default: modern)")
    send.add_argument("--params", metavar="JSON", type=dash, help="the params; @FILE is what a file holds, - the "
                      "standard input")
    send.add_argument("--id", metavar="JSON", default="1", help="the id (default: 1); empty for none, a notification")
    send.add_argument("--meta", action="append", default=[], metavar="KEY=JSON", help="set a member of _meta; what is "
                      "no JSON is taken as a text")
    send.add_argument("--drop-meta", action="append", default=[], metavar="KEY", help="leave a member of _meta out")
    send.add_argument("--body", metavar="@FILE", help="send these octets as the body; also @- or the text itself")
    send.add_argument("--set-header", action="append", default=[], metavar="'NAME: VALUE'", help="in place of the one "
                      "of that name, where there is one; given twice, it is sent twice")
    send.add_argument("--drop-header", action="append", default=[], metavar="NAME", help="leave a header out")
    send.set_defaults(run=_send)


def _send(options: argparse.Namespace) -> int:
    from ..transports.calls import Deadline

    begin(options)
    try:
        deadline = Deadline(options.timeout)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return (_by_stdio if isinstance(options.url, list) else _by_http)(options, deadline)


def _by_http(options: argparse.Namespace, deadline: "Deadline") -> int:
    from ..transports.exchange import Exchange

    address = tokens.server_of(options)
    octets = _request(options, address, {**address.authorization(), **tokens.fields(options, address, deadline)})
    answer, held = bytearray(), ""  # what is no whole line yet: a secret may have come in two pieces
    text = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    with Exchange(address, deadline, exchange_printer(options)) as exchange:
        with exchange.send(octets) as response:
            _print(options, f"HTTP {response.status} {printable(response.reason)}".rstrip() + "\n")
            try:
                for piece in exchange.pieces(response):
                    answer += piece
                    whole, end, held = (held + text.decode(piece)).rpartition("\n")
                    _print(options, whole + end)
            finally:
                _print(options, held + text.decode(b"", True))
    if answer and not answer.endswith(b"\n"):
        _print(options, "\n")
    advice = tokens.advice(options, response.status)
    if advice:
        note(f"mcp_ref: {advice}")
    accepted = response.status in (202, 204) and not answer
    return 0 if accepted or 200 <= response.status < 300 and _is_result(bytes(answer)) else SAID_NO


def _by_stdio(options: argparse.Namespace, deadline: "Deadline") -> int:
    """One line to a process that is started for it, and all lines up to the response; to what has none, up to the end
    of the process, whose input is closed then."""
    from ..transports.child import Child, Line, named

    if options.set_header or options.drop_header or options.token_env is not None:
        raise UsageError("there are no headers on stdio")
    body, notification = _message(options, _params(options)), options.body is None and not options.id
    heard: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
    child = Child(options.url, named(options.url), lambda: heard.put, lambda: heard.put, None, None, None)
    child.send(Line(body))
    answer: List[bytes] = []
    wire = exchange_printer(options)
    try:
        if notification:
            child.end()
        while not answer or not _is_response(answer[-1]):
            line = heard.get(timeout=deadline.left())
            if line is child:
                break
            answer.append(line or b"")
            _print(options, answer[-1].decode("utf-8", "backslashreplace") + "\n")
    except queue.Empty:
        raise deadline.error() from None
    finally:
        child.end()
        if wire is not None:
            wire(body.decode("utf-8", "backslashreplace"), b"\n".join(answer).decode("utf-8", "backslashreplace"))
    if not notification and not (answer and _is_response(answer[-1])):
        raise BrokenOff(f"{child.name} {child.fate}")
    return 0 if notification or _is_result(answer[-1]) else SAID_NO


def _print(options: argparse.Namespace, text: str) -> None:
    if not options.raw:
        show(text, end="")


def _message_in(octets: bytes) -> Dict[str, Any]:
    """The JSON object that octets are; {} where they are none."""
    try:
        message = json.loads(octets)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _is_response(line: bytes) -> bool:
    message = _message_in(line)
    return "result" in message or "error" in message


def _is_result(answer: bytes) -> bool:
    """Whether the last message of an answer is a result, and not that of a tool that failed."""
    from ..transports.sse import messages

    result = _message_in([answer, *messages([answer], len(answer))][-1]).get("result")
    return isinstance(result, dict) and result.get("isError") is not True


# The request

def _request(options: argparse.Namespace, address: Any, authorized: Dict[str, str]) -> bytes:
    """The whole request as octets. authorized: the header fields with a token. Raises UsageError for options that
    cannot be followed.
    """
    params = _params(options)
    headers = _headers(options, params, authorized, address)
    body = _message(options, params)
    headers.append(("content-length", f"Content-Length: {len(body)}".encode("ascii")))
    path = address.url.partition("://")[2].partition("/")[2]
    lines = [f"POST /{path} HTTP/1.1".encode("ascii"), *(line for _, line in _changed(headers, options))]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _message(options: argparse.Namespace, params: Any) -> bytes:
    """The message as octets, changed as the options say; params: of the right request. Raises UsageError."""
    if isinstance(params, dict):
        params = _with_meta(params, options)
    elif options.meta or options.drop_meta:
        raise UsageError("params that are no object have no _meta to change")
    identified = {"id": json_or_text(options.id)} if options.id else {}
    message = {"jsonrpc": "2.0", **identified, "method": options.method, "params": params}
    try:
        return encode(message) if options.body is None else octets_of(options.body)
    except ValueError:
        raise UsageError("the request holds what JSON cannot say; --body sends anything") from None


def _params(options: argparse.Namespace) -> Any:
    """The params of a right request: those given, with the _meta that every request has, as far as they can hold it."""
    try:
        params = {} if options.params is None else decode(content_of(options.params).encode("utf-8"))
    except ValueError:
        raise UsageError("--params must be JSON; --body sends anything") from None
    if options.era == "legacy":
        return {**INITIALIZE} if options.method == "initialize" and options.params is None else params
    given = params.get("_meta", {}) if isinstance(params, dict) else None
    if isinstance(given, dict):
        params["_meta"] = {reserved.PROTOCOL_VERSION: LATEST, reserved.CLIENT_INFO: {"name": "mcp_ref",
                           "version": RELEASE}, reserved.CLIENT_CAPABILITIES: CAPABILITIES, **given}
    return params


def _headers(options: argparse.Namespace, params: Any, authorized: Dict[str, str], address: Any) -> Headers:
    """The headers of a right request, but for Content-Length: (name in lower case, line)."""
    from ..base.headers import mirrored_headers

    fields = params.get("_meta") if isinstance(params, dict) else None
    version = fields.get(reserved.PROTOCOL_VERSION) if isinstance(fields, dict) else None
    told = {"MCP-Protocol-Version": version if isinstance(version, str) else LATEST, **mirrored_headers(
        {"method": options.method, "params": params if isinstance(params, dict) else {}})}
    if options.era == "legacy":
        told = {} if options.method == "initialize" else {"MCP-Protocol-Version": LEGACY[0]}
    named = {"Host": address.url.partition("://")[2].partition("/")[0], "User-Agent": f"mcp_ref/{RELEASE}",
             **authorized, "Accept": "application/json, text/event-stream",
             "Content-Type": "application/json", **told, "Connection": "close"}
    return [(name.lower(), f"{name}: {value}".encode("utf-8", "backslashreplace")) for name, value in named.items()]


def _with_meta(params: Dict[str, Any], options: argparse.Namespace) -> Dict[str, Any]:
    pairs = [pair.partition("=") for pair in options.meta]
    if not all(name and equals for name, equals, _ in pairs):
        raise UsageError("a member of _meta is given as KEY=JSON")
    changes = {RESERVED.get(name, name): json_or_text(content_of(text)) for name, _, text in pairs}
    if changes:
        params["_meta"] = {**params["_meta"], **changes} if isinstance(params.get("_meta"), dict) else changes
    for name in options.drop_meta:
        holder, key = (params, "_meta") if name == "*" else (params.get("_meta"), RESERVED.get(name, name))
        if not isinstance(holder, dict) or key not in holder:
            raise UsageError(f"_meta has no {name} to leave out")
        del holder[key]
    return params


def _changed(headers: Headers, options: argparse.Namespace) -> Headers:
    """The headers after --set-header and --drop-header."""
    ours = {name for name, _ in headers}
    for line in options.set_header:
        name, colon, _ = line.partition(":")
        if not name.strip() or not colon:
            raise UsageError("a header is given as 'Name: value'")
        key, made = name.strip().lower(), line.encode("utf-8", "surrogateescape")
        if key in ours:
            ours.discard(key)
            headers = [(key, made) if known == key else (known, kept) for known, kept in headers]
        else:
            headers.append((key, made))
    for name in options.drop_header:
        known = {known for known, _ in headers}
        if name.strip().lower() not in known:
            raise UsageError(f"there is no header {name} to leave out, but {', '.join(sorted(known))}")
        headers = [header for header in headers if header[0] != name.strip().lower()]
    return headers
