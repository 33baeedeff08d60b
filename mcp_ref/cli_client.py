"""The commands that call a server: discover, list, call, read, prompt and listen (server/*, client/elicitation).

Exit status: 0 done; 1 the server or the tool said no, or what came back is not MCP; 2 wrong usage, or the server
cannot be reached.

A question of the server is asked in the terminal. Where standard input is no terminal it is declined, with a note,
rather than answered by whatever happens to be piped in; `--stdin` says that the piped lines are the answers, and
`--no-input` that the server may not ask at all (the capability is not declared). So it is with the arguments of a
prompt: one that is not given, or blank, is left out, and where it is required, all that are open are asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from .base.errors import McpError, Unreachable
from .base.meta import SERVER_INFO
from .cli import UsageError
from .client.arguments import from_json, from_pairs
from .client.elicitation import decline
from .client.resources import octets
from .client.terminal import printable, terminal

if TYPE_CHECKING:
    from .client.client import Client

Command = Callable[["Client", argparse.Namespace], int]

KINDS = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}


def add_commands(commands: Any) -> None:
    """Add the commands to the command line's subparsers."""
    _command(commands, "discover", _discover, "show what a server is, speaks and can do")
    listing = _command(commands, "list", _list, "list what a server has")
    listing.add_argument("--kind", choices=KINDS, default="tools")
    call = _command(commands, "call", _call, "call a tool", asks=True)
    call.add_argument("tool", metavar="TOOL")
    call.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE",
                      help="an argument, read as the tool's schema says: text as it is, anything else as JSON")
    call.add_argument("--json", metavar="OBJECT", help="all arguments as one JSON object, sent as they are")
    read = _command(commands, "read", _read, "read a resource", asks=True)
    read.add_argument("uri", metavar="RESOURCE")
    read.add_argument("--out", metavar="FILE", help="write the octets to a file; without it, text is printed and "
                      "anything else goes to standard output as it is, unless that is a terminal")
    prompt = _command(commands, "prompt", _prompt, "get a prompt", asks=True)
    prompt.add_argument("prompt", metavar="NAME")
    prompt.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help="an argument, a text")
    listen = _command(commands, "listen", _listen, "print changes as they happen, a line of JSON each, until Ctrl-C")
    for name in ("tools", "prompts", "resources"):
        listen.add_argument(f"--{name}", action="store_true", help=f"changes of the list of {name}")
    listen.add_argument("--uri", action="append", default=[], metavar="URI", help="updates of this resource")
    listen.add_argument("--count", type=int, metavar="N", help="end after so many")


def _command(commands: Any, name: str, run: Command, help: str, asks: bool = False) -> Any:
    """A command's parser, with the options of all. asks: whether the server may ask for input."""
    told = (__doc__ or "").rstrip().split("\n\n")[1:3 if asks else 2]
    made = commands.add_parser(name, help=help, description="\n\n".join([help[0].upper() + help[1:] + ".", *told]),
                               formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("url", metavar="URL", help="the MCP endpoint, such as http://127.0.0.1:8000/mcp")
    made.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds in all (default: 60)")
    made.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="sent every time")
    made.add_argument("--output", choices=("text", "json"), default="text", help="json: the result as it came")
    made.add_argument("--raw", action="store_true", help="print the exact HTTP exchanges in place of the result")
    if asks:
        made.add_argument("--no-input", action="store_true", help="do not let the server ask")
        made.add_argument("--stdin", action="store_true", help="read answers from standard input, terminal or not")
    made.set_defaults(run=functools.partial(_run, run))
    return made


def _run(command: Command, options: argparse.Namespace) -> int:
    """Run one command with its client; an McpError becomes one line."""
    from .client.client import Client  # loaded when it is used: `serve` needs none of it

    asks = "no_input" in options and not options.no_input
    try:
        client = Client(options.url, timeout=options.timeout, headers=_headers(options.header),
                        on_elicit=functools.partial(_elicit, options) if asks else None,
                        wire=_print_exchange if options.raw else None)
    except ValueError as error:
        raise UsageError(str(error)) from None
    options.shown_url = client.url
    try:
        with client:
            return command(client, options)
    except Unreachable as error:
        raise UsageError(printable(str(error))) from None
    except McpError as error:
        data = getattr(error, "data", None)  # the particulars of an error response
        words = " ".join(str(error).split()) + ("" if data is None else " " + json.dumps(data))
        print(f"mcp_ref: {printable(words)}", file=sys.stderr)
        return 1


def _headers(given: List[str]) -> Dict[str, str]:
    parts = [header.partition(":") for header in given]
    if not all(colon for _, colon, _ in parts):
        raise UsageError("a header is given as 'Name: value'")
    return {name.strip(): value.strip() for name, _, value in parts}


def _elicit(options: argparse.Namespace, params: Dict[str, Any]) -> Any:
    if _can_ask(options):
        return terminal(params, server=options.shown_url)
    print(f"mcp_ref: {options.shown_url} asks for input, which is declined: standard input is no terminal; --stdin "
          "takes answers from it", file=sys.stderr)
    return decline()


def _can_ask(options: argparse.Namespace) -> bool:
    return sys.stdin is not None and (options.stdin or sys.stdin.isatty())


def _progress(progress: float, total: Optional[float], message: Optional[str]) -> None:
    part = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
    print(f"progress {part} {printable(message or '')}".rstrip(), file=sys.stderr, flush=True)


def _print_exchange(sent: str, received: str) -> None:
    for text in (sent, received):
        _print(text.replace("\r\n", "\n").rstrip("\n") + "\n")


def _print(text: str) -> None:
    """Print a server's text: exactly into a file or pipe, with what a terminal would act on escaped on a terminal."""
    print(printable(text, "\n\t") if sys.stdout.isatty() else text, flush=True)


def _printed(options: argparse.Namespace, result: Any) -> bool:
    """Whether nothing is left to print: --raw has done it, or --output json does."""
    if not options.raw and options.output == "json":
        print(json.dumps(result, ensure_ascii=False, indent=2))
    return bool(options.raw or options.output == "json")


# The commands

def _discover(client: "Client", options: argparse.Namespace) -> int:
    result = client.discover()
    if _printed(options, result):
        return 0
    fields = result.get("_meta")
    info = fields.get(SERVER_INFO) if isinstance(fields, dict) else None
    if isinstance(info, dict):
        _print(f"{info.get('title') or info.get('name')} {info.get('version', '')}".rstrip())
    for label, name in (("versions", "supportedVersions"), ("capabilities", "capabilities")):
        listed = result.get(name)
        _print(f"{label}: " + (", ".join(map(str, listed)) if isinstance(listed, (list, dict)) and listed else "none"))
    if isinstance(result.get("instructions"), str):
        _print(result["instructions"])
    return 0


def _list(client: "Client", options: argparse.Namespace) -> int:
    listings = {"tools": client.list_tools, "resources": client.list_resources,
                "templates": client.list_resource_templates, "prompts": client.list_prompts}
    items = listings[options.kind]()
    if _printed(options, {KINDS[options.kind]: items}):
        return 0
    for item in items:
        name = item.get("uri") or item.get("uriTemplate") or item.get("name")
        text = str(item.get("description") or item.get("title") or "").strip()
        _print(f"{name}  {text.splitlines()[0]}" if text else str(name))
    return 0


def _call(client: "Client", options: argparse.Namespace) -> int:
    result = client.call_tool(options.tool, _arguments(client, options), on_progress=_progress)
    if not _printed(options, result):
        _print_content(result)
    return 1 if result.get("isError") is True else 0


def _arguments(client: "Client", options: argparse.Namespace) -> Optional[Dict[str, Any]]:
    """The arguments to send, the tool's schema looked up where --arg needs it. Raises UsageError."""
    if options.json is not None and options.arg:
        raise UsageError("give the arguments with --arg or with --json, not both")
    pairs = _pairs(options)
    try:
        if not pairs:
            return None if options.json is None else from_json(options.json)
        tools = {tool["name"]: tool for tool in client.list_tools()}
        schema = tools.get(options.tool, {}).get("inputSchema", {})
        return from_pairs(pairs, schema)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _pairs(options: argparse.Namespace) -> List[Tuple[str, str]]:
    """The name and value of each --arg. Raises UsageError."""
    pairs = [pair.partition("=") for pair in options.arg]
    if any(not name or not equals for name, equals, _ in pairs):
        raise UsageError("an argument is given as NAME=VALUE")
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise UsageError("an argument is given twice")
    return [(name, text) for name, _, text in pairs]


def _print_content(result: Dict[str, Any]) -> None:
    """The text of a tool's result, a line for each other block, and structuredContent where there is no text."""
    blocks = result["content"]
    if "structuredContent" in result and not any(block.get("type") == "text" for block in blocks):
        _print(json.dumps(result["structuredContent"], ensure_ascii=False, indent=2))
    for block in blocks:
        _print(_block(block))


def _block(block: Dict[str, Any]) -> str:
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else f"[{_described(block)}]"


def _described(block: Dict[str, Any]) -> str:
    resource = block.get("resource")
    inner = resource if isinstance(resource, dict) else block
    parts = [str(block.get("type", "block of no type"))]
    parts += [str(inner[name]) for name in ("name", "uri", "mimeType") if name in inner]
    data = inner.get("data", inner.get("blob"))
    if isinstance(data, str):
        parts.append(f"{len(data) * 3 // 4} octets")
    return ", ".join(parts)


def _read(client: "Client", options: argparse.Namespace) -> int:
    result = client.read_resource(options.uri)
    if options.out is not None:
        try:
            with open(options.out, "wb") as file:
                file.writelines(map(octets, result["contents"]))
        except OSError as error:
            raise UsageError(f"cannot write {options.out}: {error.strerror}") from None
    elif not _printed(options, result):
        for each in result["contents"]:
            _print_contents(each)
    return 0


def _print_contents(contents: Dict[str, Any]) -> None:
    data = octets(contents)
    if not isinstance(contents.get("blob"), str):
        _print(contents["text"])
    elif sys.stdout.isatty():
        _print(f"[{_described({'type': 'blob', **contents})}; --out FILE takes them]")
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _prompt(client: "Client", options: argparse.Namespace) -> int:
    result = client.get_prompt(options.prompt, _prompt_arguments(client, options))
    if not _printed(options, result):
        for message in result["messages"]:
            content = message.get("content")
            _print(f"{message.get('role')}: {_block(content if isinstance(content, dict) else {})}")
    return 0


def _prompt_arguments(client: "Client", options: argparse.Namespace) -> Dict[str, str]:
    """What is given and not blank; where a required one is missing, what the user says. Raises UsageError."""
    given = {name: text for name, text in _pairs(options) if text.strip()}
    listed = next((each.get("arguments") for each in client.list_prompts() if each.get("name") == options.prompt), None)
    declared = {each["name"]: each for each in (listed if isinstance(listed, list) else ())
                if isinstance(each, dict) and isinstance(each.get("name"), str) and each["name"] not in given}
    missing = [name for name, each in declared.items() if each.get("required") is True]
    if not missing:
        return given
    if _can_ask(options):
        fields = {name: {"type": "string", "description": str(each.get("description") or "")}
                  for name, each in declared.items()}
        said = terminal({"message": f"The arguments of the prompt {options.prompt}", "requestedSchema": {
            "type": "object", "properties": fields, "required": missing}}, server=client.url)
        if said["action"] == "accept":
            return {**given, **said["content"]}
    raise UsageError(printable(f"the prompt {options.prompt} needs the argument {', '.join(missing)}"))


def _listen(client: "Client", options: argparse.Namespace) -> int:
    if options.count is not None and options.count < 1:
        raise UsageError(f"--count is 1 or more, not {options.count}")
    every = not (options.tools or options.prompts or options.resources or options.uri)
    asked = {name: every or getattr(options, name) for name in ("tools", "prompts", "resources")}
    with contextlib.suppress(KeyboardInterrupt):
        with client.listen(**asked, uris=options.uri) as subscription:
            print(f"mcp_ref: granted: {json.dumps(subscription.honoured)}", file=sys.stderr, flush=True)
            for notification in itertools.islice(subscription, options.count):
                if not options.raw:
                    print(json.dumps(notification), flush=True)
    return 0
