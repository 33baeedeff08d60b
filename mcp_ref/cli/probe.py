"""The command `probe`: which era a server speaks, and what that was seen by, a line a step."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from ..base.errors import HTTPError, McpError, ProtocolError
from ..lib.text import printable
from . import tokens
from .common import add_command, printed, server_info, show
from .faults import in_a_line, status_of
from .listing import warnings

if TYPE_CHECKING:
    from ..client.client import Client

LEGACY = 4
TOLD = """\
Each line is a question, what came, and what that shows; `explain fallback` prints the table that decides. The tools are
then listed, and what clients stumble over in their schemas is told with a JSON pointer.

Exit status by verdict: 0 modern, 4 legacy, 1 neither (what answered is no MCP endpoint, wants authorization, failed, or
has no version in common), 3 where nothing was reached or no answer came in time."""


def add_commands(commands: Any) -> None:
    """Add `probe` to the command line's subparsers."""
    add_command(commands, "probe", _probe, "find out which era a server speaks, and show the evidence", TOLD)


def _probe(client: "Client", options: argparse.Namespace) -> int:
    refused: Optional[McpError] = None
    try:
        client.choice.find(options.timeout)
    except McpError as error:
        refused = error
        if isinstance(error, (ProtocolError, HTTPError)):
            error.note = error.note or tokens.advice(options, error.status)
    steps = client.choice.steps
    found = client.choice.finding
    verdict = found.era if found is not None else steps[-1][2].verdict if steps else "none"
    lines: List[str] = [] if refused is None else [in_a_line(refused)]
    told = _about(client) if found is not None else {}
    if found is not None:
        lines += _tools(client, told)
    rows = [{"asked": asked, "came": came, "verdict": row.verdict, "next": row.next} for asked, came, row in steps]
    if not printed(options, {"verdict": verdict, **told, "steps": rows, "notes": lines}):
        for row in rows:
            show(printable(f"{row['asked']}: {row['came']} -> {row['verdict']}: {row['next']}"))
        show(printable(" ".join(["verdict:", verdict, *(f"{name}={value}" for name, value in told.items())])))
        for line in lines:
            show(printable(line))
    if refused is not None:
        return status_of(refused)
    return LEGACY if verdict == "legacy" else 0


def _about(client: "Client") -> Dict[str, Any]:
    """What the server says of itself: versions, capabilities, name."""
    result = client.choice.about()
    made: Dict[str, Any] = {}
    versions, capabilities = result.get("supportedVersions"), result.get("capabilities")
    if isinstance(versions, list):
        made["versions"] = ",".join(map(str, versions))
    if isinstance(capabilities, dict):
        made["capabilities"] = ",".join(capabilities) or "none"
    info = server_info(result)
    if info is not None:
        made["server"] = f"{info.get('name')} {info.get('version', '')}".rstrip()
    return made


def _tools(client: "Client", told: Dict[str, Any]) -> List[str]:
    """Lines on the tools: how many there are, and what is hard to port in them."""
    if "capabilities" in told and "tools" not in told["capabilities"].split(","):
        return ["it advertises no tools"]
    try:
        tools = client.list_tools()
    except McpError as error:
        return [f"its tools cannot be listed: {in_a_line(error)}"]
    return [f"it has {len(tools)} tool{'' if len(tools) == 1 else 's'}", *warnings(tools)]
