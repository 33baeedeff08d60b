"""The peers of the interoperability table: what each is, how it is installed and run, and what it can be asked.

Each has a folder of its own under build/peers, with the versions named here, installed when it is first wanted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

from tests.bench.servers import (
    NODE_CLIENT,
    NODE_HOME,
    NODE_PACKAGES,
    PYTHON_PACKAGES,
    ROOT,
    SOURCES,
    installed_in,
    node_installed_in,
)

from .steps import ALL, HTTP, LEGACY, MODERN, STDIO

NODE = str(NODE_HOME / "node_modules" / "node" / "bin" / "node")


class Way(NamedTuple):
    """How two of them talk: transport is HTTP or stdio, era the revision that they settle on."""

    transport: str
    era: str


EVERY_WAY = (Way(HTTP, MODERN), Way(STDIO, MODERN), Way(HTTP, LEGACY), Way(STDIO, LEGACY))
NEW_WAYS, OLD_WAYS = EVERY_WAY[:2], EVERY_WAY[2:]


class Peer(NamedTuple):
    """One of them.

    name, version: as its users know it. packages: of PyPI (`name==version`) or of npm (`name@version`). home: the name
    of its folder. client, server: the programs in this folder that run it, and what they are given ahead of a way;
    none where it is no such thing. serves, calls: its ways. steps: what its client is asked of steps.py. program: of a
    client that is a command line, where it stands among its packages; bridge: the same of one that is a server over
    stdio of another client, and a client of ours. unserved: steps that its server has nothing for;
    old: those that its client has for 2025-11-25 alone.
    """

    name: str
    version: str
    home: str
    packages: Tuple[str, ...]
    client: Tuple[str, ...] = ()
    calls: Tuple[Way, ...] = ()
    server: Tuple[str, ...] = ()
    serves: Tuple[Way, ...] = ()
    steps: Tuple[str, ...] = ALL
    program: str = ""
    bridge: str = ""
    unserved: Tuple[str, ...] = ()
    old: Tuple[str, ...] = ()

    @property
    def for_node(self) -> bool:
        return "==" not in self.packages[0]

    @property
    def folder(self) -> Path:
        """A virtual environment belongs to the interpreter that made it."""
        name = self.home if self.for_node else f"{self.home}-{sys.implementation.cache_tag}"
        return ROOT / "build" / "peers" / name

    def install(self) -> None:
        """Raises BenchError where it cannot be."""
        if self.for_node:
            node_installed_in(self.folder, dict(each.rsplit("@", 1) for each in self.packages))
        else:
            installed_in(self.folder, list(self.packages))

    def command(self, program: Tuple[str, ...]) -> List[str]:
        """The command that runs one of its programs."""
        file, *words = program
        if file.endswith(".mjs"):
            return [NODE, str(self.folder / file), *words]
        python = sys.executable if self.for_node else str(self.folder / "bin" / "python")
        return [python, "-W", "ignore", str(SOURCES / file), *words]

    def installed(self, program: str) -> List[str]:
        """The command of a program among its packages; none for none."""
        return [NODE, str(self.folder / "node_modules" / program)] if program else []

    def does(self, way: Way) -> Iterator[str]:
        """The steps that its client is asked in a way: a stream that the server ends is of HTTP and 2026-07-28."""
        return (step for step in self.steps if (step != "end_of_stream" or way == Way(HTTP, MODERN))
                and (step not in self.old or way.era != MODERN))


def _without(*steps: str) -> Tuple[str, ...]:
    return tuple(step for step in ALL if step not in steps)


UNSUBSCRIBED = ("listen", "end_of_stream")
NO_CLIENT_SIDE = ("undeclared", "log_messages", "cancel", "complete_prompt", "complete_template", "mirrored_unlisted",
                  "mirrored_like_encoded", *UNSUBSCRIBED)
UNASKED = ("elicit_accept", "elicit_decline", "elicit_cancel", "elicit_url", "three_in_a_round")
SDK_1 = "@modelcontextprotocol/sdk@1.32.2"
NODE_SDK = tuple(f"{name}@{version}" for name, version in {**NODE_PACKAGES, **NODE_CLIENT}.items())

PEERS = (
    Peer("Python SDK", "2.3.0", "python", tuple(PYTHON_PACKAGES), ("python_sdk_client.py",), EVERY_WAY,
         ("python_sdk_contract.py",), NEW_WAYS),
    Peer("Python SDK 1", "1.30.0", "mcp-1", ("mcp==1.30.0",), ("python_sdk_1_client.py",), OLD_WAYS,
         ("python_1_contract.py",), OLD_WAYS, unserved=UNSUBSCRIBED),
    Peer("TypeScript SDK", "2.4.0", NODE_HOME.name, NODE_SDK, ("typescript_sdk_client.mjs",), EVERY_WAY,
         ("typescript_sdk_contract.mjs",), NEW_WAYS),
    Peer("TypeScript SDK 1", "1.32.2", "sdk-1", (SDK_1, "zod@4.6.7"),
         ("typescript_sdk_1_client.mjs",), OLD_WAYS),
    Peer("Inspector", "2.12.0", "inspector", ("@modelcontextprotocol/inspector@2.12.0",),
         ("tool_client.py", "inspector"), (*NEW_WAYS, Way(HTTP, LEGACY)),
         steps=_without("connect", "unknown_tool", "progress", *UNASKED, *NO_CLIENT_SIDE),
         program="@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
    Peer("FastMCP", "4.2.3", "fastmcp", ("fastmcp==4.2.3",), ("fastmcp_client.py",), EVERY_WAY,
         ("fastmcp_contract.py",), NEW_WAYS, unserved=UNSUBSCRIBED, steps=_without("end_of_stream"), old=("listen",)),
    Peer("FastMCP 2", "2.14.7", "fastmcp-2", ("fastmcp==2.14.7",), ("fastmcp_client.py",), OLD_WAYS,
         ("python_1_contract.py",), OLD_WAYS, unserved=UNSUBSCRIBED),
    Peer("pydantic-ai", "2.68.0", "pydantic-ai", ("pydantic-ai-slim[mcp]==2.68.0",), ("pydantic_ai_client.py",),
         EVERY_WAY, steps=_without("unknown_tool", "three_in_a_round", "progress", *NO_CLIENT_SIDE)),
    Peer("openai-agents", "0.24.0", "openai-agents", ("openai-agents==0.24.0",), ("openai_agents_client.py",),
         NEW_WAYS, steps=_without("progress", *UNASKED, *NO_CLIENT_SIDE)),
    Peer("@ai-sdk/mcp", "2.0.99", "ai-sdk", ("@ai-sdk/mcp@2.0.99",), ("ai_sdk_client.mjs",), EVERY_WAY,
         steps=_without("elicit_url", "three_in_a_round", "undeclared", "progress", "log_messages", "cancel",
                        *UNSUBSCRIBED)),
    Peer("langchain-mcp-adapters", "0.3.2", "langchain", ("langchain-mcp-adapters==0.3.2",), ("langchain_client.py",),
         OLD_WAYS, steps=_without("bad_arguments", "unknown_tool", "three_in_a_round", "list_templates",
                                  "unknown_resource", "list_prompts", *NO_CLIENT_SIDE)),
    Peer("llama-index-tools-mcp", "0.6.0", "llama-index", ("llama-index-tools-mcp==0.6.0",),
         ("llama_index_client.py",), OLD_WAYS, steps=_without("list_templates", *UNASKED, *NO_CLIENT_SIDE)),
    Peer("mcp-remote", "0.15.1", "mcp-remote", ("mcp-remote@0.15.1", SDK_1, "zod@4.6.7"),
         ("typescript_sdk_1_client.mjs",), (Way(HTTP, LEGACY),), bridge="mcp-remote/dist/proxy.js"),
    Peer("mcp-use", "1.7.1", "mcp-use", ("mcp-use==1.7.1",), ("mcp_use_client.py",), OLD_WAYS,
         steps=_without("connect", "progress", "list_templates", *NO_CLIENT_SIDE)),
    Peer("mcporter", "0.12.3", "mcporter", ("mcporter@0.12.3",), ("tool_client.py", "mcporter"), OLD_WAYS,
         steps=("list_tools", "call", "structured", "tool_error", "mirrored", "odd_name"),
         program="mcporter/dist/cli.js"),
)
