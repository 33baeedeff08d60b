"""The command `list`: a line for each thing that a server has, arguments as a signature; or all of one of them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Tuple

from ..base.errors import MethodNotFound
from ..lib.json_schema.portable import hard_to_port
from ..lib.text import printable
from .arguments import MAX_LEVELS, MAX_SHOWN, Types, in_json
from .common import add_command, printed, show
from .faults import SAID_NO
from .screen import as_json, cells, columns, is_terminal, note, paint, wrap

if TYPE_CHECKING:
    from ..client.client import Client

Item = Dict[str, Any]
KINDS = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}
WIDEST = 48
"""Columns of the longest signature that the descriptions are aligned to."""
NARROWEST = 20
"""Columns that a description beside a signature needs."""
APART = ("type", "description", "title", "default", "enum", "const", "properties", "required", "items", "prefixItems",
         "anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions", "$schema")
"""Keywords that are not limits: the type, the signature or the lines of the inner fields have them."""
TOLD = ("name", "uri", "uriTemplate", "title", "description", "inputSchema", "outputSchema", "arguments", "annotations")
"""Members of a definition that have a form of their own."""


def add_commands(commands: Any) -> None:
    """Add `list` to the command line's subparsers."""
    listing = add_command(commands, "list", _list, "list what a server has, or show all of one of it")
    listing.add_argument("name", nargs="?", metavar="NAME", help="show all of the one of this name or URI")
    listing.add_argument("--kind", choices=KINDS, help="of what (default: tools; with NAME, whatever has that name)")


def _list(client: "Client", options: argparse.Namespace) -> int:
    if options.name is not None:
        return _show_one(client, options)
    kind = options.kind or "tools"
    items = _items(client, kind)
    if printed(options, {KINDS[kind]: items}):
        return 0
    for line in warnings(items):
        note(f"mcp_ref: {printable(line)}")
    if not items:
        show(f"{client.url} has no {_words(kind)}")
    lines = [(printable(_signature(item)), printable(_first_line(item))) for item in items]
    widest = max((cells(left) for left, right in lines if right and cells(left) <= WIDEST), default=0)
    for left, right in lines:
        _print_row(left, right, widest)
    return 0


def _items(client: "Client", kind: str) -> List[Item]:
    """All of a kind; none where the server does not have the capability at all, which then is not asked for it."""
    from ..transports.calls import Deadline

    client.choice.session(Deadline(client.timeout))
    capabilities = client.choice.about().get("capabilities")  # where the server was asked to find out its era
    if isinstance(capabilities, dict) and ("resources" if kind == "templates" else kind) not in capabilities:
        return []
    listing: Callable[[], List[Item]] = getattr(client, f"list_{_words(kind).replace(' ', '_')}")
    try:
        return listing()
    except MethodNotFound as error:
        if error.note:  # it is another era that is missing
            raise
        return []


def warnings(items: Iterable[Item]) -> Iterator[str]:
    """A line for each place of the schemas that clients stumble over."""
    for item in items:
        for member in ("inputSchema", "outputSchema"):
            if member in item:
                for pointer, what in hard_to_port(item[member], f"/{member}"):
                    yield f"{_name(item)}: {pointer} is {what}, which many clients stumble over"


def _words(kind: str) -> str:
    return "resource templates" if kind == "templates" else kind


def _name(item: Item) -> str:
    return str(item.get("uri") or item.get("uriTemplate") or item.get("name"))


def _first_line(item: Item) -> str:
    text = str(item.get("description") or item.get("title") or "").strip()
    return text.splitlines()[0].rstrip() if text else ""


def _print_row(left: str, right: str, widest: int) -> None:
    """One row: aligned, and on a terminal wrapped, the description beside the signature or, for want of room, below."""
    if not is_terminal(sys.stdout):
        print(left + (" " * (widest - cells(left)) + "  " + right if right else ""), flush=True)
        return
    width = columns(sys.stdout)
    if width - widest - 2 < NARROWEST:
        widest = 2
    below = wrap(right, width - widest - 2) if right else []
    beside = " " * (widest - cells(left)) + "  " + below.pop(0) if below and cells(left) <= widest else ""
    print("\n".join([_painted(left) + beside, *(" " * (widest + 2) + line for line in below)]), flush=True)


def _painted(signature: str) -> str:
    name, bracket, rest = signature.partition("(")
    return paint(name, "bold", sys.stdout) + bracket + rest


# A signature

def _signature(item: Item) -> str:
    """A tool with its arguments' types and defaults, a prompt with its arguments' names; any other thing's name."""
    name = _name(item)
    if isinstance(item.get("inputSchema"), Mapping):
        types = Types(item["inputSchema"])
        return f"{name}({', '.join(_argument(*each, types) for each in _fields(item['inputSchema']))})"
    if "arguments" in item:
        return f"{name}({', '.join(each + ('' if needed else '?') for each, _, needed in _prompt_fields(item))})"
    return name


def _fields(schema: Mapping[str, Any]) -> Iterator[Tuple[str, Any, bool]]:
    """name, schema and required of each property."""
    properties, required = schema.get("properties"), schema.get("required")
    for name, field in properties.items() if isinstance(properties, Mapping) else ():
        yield str(name), field, isinstance(required, list) and name in required


def _prompt_fields(item: Item) -> Iterator[Tuple[str, Mapping[str, Any], bool]]:
    listed = item.get("arguments")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, Mapping):
            yield str(each.get("name")), each, each.get("required") is True


def _argument(name: str, field: Any, required: bool, types: Types) -> str:
    default = f" = {in_json(field['default'])}" if isinstance(field, Mapping) and "default" in field else ""
    return f"{name}{'' if required or default else '?'}: {types.text(field)}{default}"


# All of one

def _show_one(client: "Client", options: argparse.Namespace) -> int:
    for kind in [options.kind] if options.kind else KINDS:
        for item in _items(client, kind):
            if options.name in (item.get("name"), item.get("uri"), item.get("uriTemplate")):
                if not printed(options, item):
                    _print_whole(item)
                    for line in warnings([item]):
                        note(f"mcp_ref: {printable(line)}")
                return 0
    if not options.raw:
        what = f"no {_words(options.kind)[:-1]}" if options.kind else "nothing"
        note(f"mcp_ref: {client.url} has {what} of the name {printable(options.name)}")
    return SAID_NO


def _print_whole(item: Item) -> None:
    """A definition, member by member: nothing of it is left out."""
    print(_painted(printable(_signature(item))))
    _print_texts(item, 2)
    for member, what in (("inputSchema", "arguments"), ("outputSchema", "output")):
        if isinstance(item.get(member), Mapping):
            schema, types = item[member], Types(item[member])
            _heading(what + ("" if member == "inputSchema" else f": {types.text(schema)}"))
            _print_limits(schema, 2)
            _print_fields(schema, types, 2)
    if "arguments" in item:
        _heading("arguments")
        for name, field, required in _prompt_fields(item):
            show(f"  {printable(name)}{'' if required else ', optional'}")
            _print_texts(field, 6)
    if isinstance(item.get("annotations"), Mapping):
        _heading("annotations")
        for name, value in item["annotations"].items():
            show(f"  {printable(f'{name}: {in_json(value)}')}")
    for name, value in item.items():
        if name not in TOLD or (name == "name" and value != _name(item)):
            show(printable(f"{name}: ") + (printable(value) if isinstance(value, str) else as_json(value, sys.stdout)))


def _heading(text: str) -> None:
    print()
    print(paint(printable(text), "cyan", sys.stdout))


def _print_texts(told: Mapping[str, Any], indent: int) -> None:
    for text in (told.get("title"), told.get("description")):
        if isinstance(text, str):
            _paragraph(text, indent)


def _paragraph(text: str, indent: int) -> None:
    width = columns(sys.stdout) - indent if is_terminal(sys.stdout) else sys.maxsize
    for line in text.splitlines():
        for part in wrap(printable(line), width):
            print((" " * indent + part).rstrip())


def _print_fields(schema: Any, types: Types, indent: int, depth: int = 0) -> None:
    """The properties of a schema, or of its items, each with all that is said of it, and theirs."""
    inner = types.object_of(schema)
    for name, field, required in _fields(inner) if inner is not None and depth < MAX_LEVELS else ():
        known = field if isinstance(field, Mapping) else {}
        default = f", default {in_json(known['default'])}" if "default" in known else ""
        print(" " * indent + printable(f"{name}: {types.text(field)}{'' if required else ', optional'}{default}"))
        _print_texts(known, indent + 4)
        _print_limits(known, indent + 4)
        _print_fields(field, types, indent + 4, depth + 1)


def _print_limits(schema: Mapping[str, Any], indent: int) -> None:
    limits = [f"{keyword} {in_json(value)}" for keyword, value in schema.items() if keyword not in APART]
    values = schema.get("enum")
    if isinstance(values, list) and len(values) > MAX_SHOWN:
        limits.insert(0, "one of " + ", ".join(map(in_json, values)))
    _paragraph(", ".join(limits), indent)
