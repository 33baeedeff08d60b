"""basic/versioning, Compatibility Matrix: each era of client and server, over HTTP, stdio and in memory."""

from __future__ import annotations

import contextlib
import io
import sys
import unittest
from typing import Any, Dict, Iterator, Tuple, Type
from unittest import mock

from mcp_ref import Client
from mcp_ref.base.errors import HeaderMismatch, InvalidParams, InvalidRequest, MethodNotFound
from mcp_ref.client import choice
from mcp_ref.transports.http_server import HTTPServer

from .support import ROOT, echo_server, proves

PROCESS = "import sys; sys.path.insert(0, {root!r}); from tests.support import echo_server; " \
          "echo_server(era={era!r}).serve_stdio()"
NEW, OLD = "2026-07-28", "2025-11-25"
SAYS_HOW = r"2026-07-28 stateless protocol; send server/discover instead of initialize"
SPEAKS_OLD = r"This server speaks an older era \(2025-11-25.*\), this client 2026-07-28"

WORKS: Dict[Tuple[str, str], str] = {
    ("modern", "modern"): NEW, ("modern", "dual"): NEW, ("auto", "modern"): NEW, ("auto", "dual"): NEW,
    ("auto", "legacy"): OLD, ("legacy", "dual"): OLD, ("legacy", "legacy"): OLD}
"""The revision that is spoken, by the era of client and server."""
FAILS: Dict[Tuple[str, str, str], Tuple[Type[Exception], str]] = {
    ("modern", "legacy", "http"): (InvalidRequest, SPEAKS_OLD),
    ("modern", "legacy", "stdio"): (MethodNotFound, SPEAKS_OLD),
    ("modern", "legacy", "memory"): (InvalidRequest, SPEAKS_OLD),
    ("legacy", "modern", "http"): (HeaderMismatch, SAYS_HOW),
    ("legacy", "modern", "stdio"): (InvalidParams, SAYS_HOW),
    ("legacy", "modern", "memory"): (InvalidParams, SAYS_HOW)}
"""The error, and what it says, where the two have no revision in common on that way."""


class Matrix(unittest.TestCase):
    @contextlib.contextmanager
    def served(self, era: str, way: str) -> Iterator[Any]:
        """Where a Client reaches a server of that era."""
        if way == "memory":
            yield echo_server(era=era)
        elif way == "stdio":
            yield [sys.executable, "-c", PROCESS.format(root=str(ROOT), era=era)]
        else:
            with HTTPServer(echo_server(era=era), port=0) as http:
                yield http.url

    def outcome(self, client: str, place: Any) -> str:
        """The revision that a call is made in; that its result is the right one."""
        options: Dict[str, Any] = {"stderr": io.StringIO()} if isinstance(place, list) else {}
        with mock.patch.dict(choice.FINDINGS, clear=True), Client(place, era=client, timeout=60.0, **options) as ours:
            result = ours.call_tool("echo", {"text": "x"})
            self.assertEqual(result["content"], [{"type": "text", "text": "x"}])
            versions = ours.discover()["supportedVersions"]
            self.assertEqual(len(versions), 1)
            self.assertEqual(result.get("resultType"), "complete" if versions == [NEW] else None)
            return str(versions[0])

    @proves("VERS-08", "VERS-10", "C074")
    def test_every_cell(self) -> None:
        cells = [(client, server, way) for client in ("modern", "auto", "legacy")
                 for server in ("modern", "dual", "legacy") for way in ("http", "stdio", "memory")]
        for cell in cells:
            with self.subTest("{} client, {} server, {}".format(*cell)), self.served(cell[1], cell[2]) as place:
                if cell not in FAILS:
                    self.assertEqual(self.outcome(cell[0], place), WORKS[cell[:2]])
                    continue
                fault, words = FAILS[cell]
                with self.assertRaises(fault) as caught:
                    self.outcome(cell[0], place)
                self.assertRegex(str(caught.exception), words)


if __name__ == "__main__":
    unittest.main()
