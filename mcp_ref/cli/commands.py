"""The commands that call a server: discover, call, read, prompt, complete and listen; `list` is in cli/listing."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from ..base.errors import TransportError
from ..client.resources import octets
from ..lib.text import printable
from . import listing
from .arguments import from_json, from_pairs
from .common import FILES, a_text, add_command, can_ask, content_of, dash, pairs, printed, server_info, show
from .faults import UsageError
from .saving import data_of, inner_of, save
from .screen import as_json, is_terminal, note
from .terminal import Interrupted, terminal

if TYPE_CHECKING:
    from ..client.client import Client


def add_commands(commands: Any) -> None:
    """Add the commands to the command line's subparsers."""
    add_command(commands, "discover", _discover, "show what a server is, speaks and can do")
    listing.add_commands(commands)
    call = add_command(commands, "call", _call, "call a tool", asks=True)
    call.add_argument("tool", metavar="TOOL", type=a_text)
    _takes_arguments(call, "an argument, read as the tool's schema says: text as it is, anything else as JSON")
    call.add_argument("--json", metavar="OBJECT", type=dash, help="all arguments as one JSON object, sent as they are; "
                      "@FILE is what a file holds, - the standard input")
    read = add_command(commands, "read", _read, "read a resource", asks=True)
    read.add_argument("uri", metavar="RESOURCE", type=a_text)
    read.add_argument("--out", metavar="FILE", help="write the octets to a file, - for standard output; without it, "
                      "text is printed and anything else goes to standard output as it is, unless that is a terminal")
    prompt = add_command(commands, "prompt", _prompt, "get a prompt", asks=True)
    prompt.add_argument("prompt", metavar="NAME", type=a_text)
    _takes_arguments(prompt, "an argument, a text")
    complete = add_command(commands, "complete", _complete, "print what an argument may be, a value a line")
    complete.add_argument("of", metavar="PROMPT|TEMPLATE", type=a_text, help="a prompt's name, or a resource "
                          "template such as library://books/{number}")
    complete.add_argument("argument", metavar="ARGUMENT", type=a_text, help="of the prompt, or a variable of the "
                          "template")
    complete.add_argument("value", metavar="BEGINNING", nargs="?", default="", help="what is typed of it so far")
    _takes_arguments(complete, "another argument, known already")
    listen = add_command(commands, "listen", _listen, "print changes as they happen, a line of JSON each, until Ctrl-C")
    for name in ("tools", "prompts", "resources"):
        listen.add_argument(f"--{name}", action="store_true", help=f"changes of the list of {name}")
    listen.add_argument("--uri", action="append", default=[], metavar="URI", help="updates of this resource")
    listen.add_argument("--count", type=int, metavar="N", help="end after so many")


def _takes_arguments(command: argparse.ArgumentParser, help: str) -> None:
    command.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help=f"{help}; {FILES}")


def _discover(client: "Client", options: argparse.Namespace) -> int:
    result = client.discover()
    if printed(options, result):
        return 0
    info = server_info(result)
    if info is not None:
        show(printable(f"{info.get('title') or info.get('name')} {info.get('version', '')}".rstrip()))
    for label, name in (("versions", "supportedVersions"), ("capabilities", "capabilities")):
        listed = result.get(name)
        words = map(str, listed) if isinstance(listed, (list, dict)) and listed else ["none"]
        show(printable(f"{label}: {', '.join(words)}"))
    if isinstance(result.get("instructions"), str):
        show(result["instructions"])
    return 0


def _call(client: "Client", options: argparse.Namespace) -> int:
    result = client.call_tool(options.tool, _arguments(client, options), on_progress=options.bar)
    blocks = result["content"]
    if not printed(options, result):
        if "structuredContent" in result and not any(block.get("type") == "text" for block in blocks):
            show(as_json(result["structuredContent"], sys.stdout))  # a server should say the same in a text
        for block in blocks:
            show(_block(block))
    _save(options, blocks)
    return 1 if result.get("isError") is True else 0


def _arguments(client: "Client", options: argparse.Namespace) -> Optional[Dict[str, Any]]:
    """The arguments to send, the tool's schema looked up where --arg needs it. Raises UsageError."""
    if options.json is not None and options.arg:
        raise UsageError("give the arguments with --arg or with --json, not both")
    given = pairs(options)
    try:
        if not given:
            return None if options.json is None else from_json(content_of(options.json))
        tool = next((tool for tool in client.list_tools() if tool["name"] == options.tool), {})
        return from_pairs(given, tool.get("inputSchema", {}))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _block(block: Dict[str, Any]) -> str:
    """The text of a block of content, of any other kind what it is."""
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else f"[{_described(block)}]"


def _described(block: Dict[str, Any]) -> str:
    inner, data = inner_of(block), data_of(block)
    parts = [str(block.get("type", "block of no type"))]
    parts += [str(inner[name]) for name in ("name", "uri", "mimeType") if name in inner]
    if data is not None:
        parts.append(f"{len(data.rstrip('=')) * 3 // 4} octets")
    return printable(", ".join(parts))


def _read(client: "Client", options: argparse.Namespace) -> int:
    result = client.read_resource(options.uri, on_progress=options.bar)
    if options.out is not None:
        _write(options.out, b"".join(map(octets, result["contents"])))
    elif not printed(options, result):
        for each in result["contents"]:
            _print_contents(each, options)
    _save(options, result["contents"])
    return 0


def _write(name: str, data: bytes) -> None:
    """Write octets to a file, or to the standard output, which - stands for. Raises UsageError."""
    if name == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        with open(name, "wb") as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {name}: {getattr(error, 'strerror', None) or error}") from None


def _print_contents(contents: Dict[str, Any], options: argparse.Namespace) -> None:
    data = octets(contents)
    if not isinstance(contents.get("blob"), str):
        show(contents["text"])
    elif options.save is not None:
        show(f"[{_described({'type': 'blob', **contents})}]")
    elif is_terminal(sys.stdout):
        show(f"[{_described({'type': 'blob', **contents})}; --out FILE or --save DIR takes them]")
    else:
        _write("-", data)


def _prompt(client: "Client", options: argparse.Namespace) -> int:
    result = client.get_prompt(options.prompt, _prompt_arguments(client, options), on_progress=options.bar)
    if not printed(options, result):
        for message in result["messages"]:
            content = message.get("content")
            show(f"{printable(str(message.get('role')))}: {_block(content if isinstance(content, dict) else {})}")
    _save(options, [message["content"] for message in result["messages"] if isinstance(message.get("content"), dict)])
    return 0


def _prompt_arguments(client: "Client", options: argparse.Namespace) -> Dict[str, str]:
    """What is given and not blank; where a required one is missing, what the user says. Raises UsageError."""
    given = {name: text for name, text in pairs(options) if text.strip()}
    listed = next((each.get("arguments") for each in client.list_prompts() if each.get("name") == options.prompt), None)
    declared = {each["name"]: each for each in (listed if isinstance(listed, list) else ())
                if isinstance(each, dict) and isinstance(each.get("name"), str) and each["name"] not in given}
    missing = [name for name, each in declared.items() if each.get("required") is True]
    if not missing:
        return given
    if can_ask(options):
        fields = {name: {"type": "string", "description": str(each.get("description") or "")}
                  for name, each in declared.items()}
        said = terminal({"message": f"The arguments of the prompt {options.prompt}", "requestedSchema": {
            "type": "object", "properties": fields, "required": missing}}, server=client.url)
        if isinstance(said, Interrupted):
            raise KeyboardInterrupt
        if said["action"] == "accept":
            return {**given, **said["content"]}
    raise UsageError(printable(f"the prompt {options.prompt} needs the argument {', '.join(missing)}"))


def _complete(client: "Client", options: argparse.Namespace) -> int:
    kind = {"type": "ref/resource", "uri": options.of} if "{" in options.of or "://" in options.of else {
        "type": "ref/prompt", "name": options.of}
    known = dict(pairs(options))
    result = client.complete(kind, options.argument, content_of(options.value), known or None)
    if printed(options, result):
        return 0
    values = result.get("values")
    for value in values if isinstance(values, list) else ():
        show(printable(str(value)))
    if result.get("hasMore") is True:
        total = result.get("total")
        note(f"mcp_ref: there are more{f', {total} in all' if isinstance(total, int) else ''}")
    return 0


def _save(options: argparse.Namespace, blocks: List[Dict[str, Any]]) -> None:
    """Write to files what can be written to files, if that was asked for."""
    failed = None
    for block in blocks if options.save is not None else ():
        if data_of(block) is not None:
            try:
                note(f"saved {printable(save(block, options.save))}")
            except TransportError as error:  # the others may still be good
                failed = error
    if failed is not None:
        raise failed


def _listen(client: "Client", options: argparse.Namespace) -> int:
    if options.count is not None and options.count < 1:
        raise UsageError(f"--count is 1 or more, not {options.count}")
    every = not (options.tools or options.prompts or options.resources or options.uri)
    asked = {name: every or getattr(options, name) for name in ("tools", "prompts", "resources")}
    with contextlib.suppress(KeyboardInterrupt):
        with client.listen(**asked, uris=options.uri) as subscription:
            note(f"mcp_ref: granted: {json.dumps(subscription.honoured)}")
            for notification in itertools.islice(subscription, options.count):
                if not options.raw:
                    show(json.dumps(notification))
    return 0
