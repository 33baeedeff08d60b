"""What a server of an older era answers: the error that it is, and a sentence that says what is wrong."""

import json
import unittest
from typing import Any, List, Tuple

from mcp_ref.base.errors import (
    HTTPError,
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    ProtocolError,
    ResourceNotFound,
    UnsupportedProtocolVersion,
)
from tests.stub_http import ClientCase, Scripted, error, events, raw, result

REVISIONS = "2025-11-25, 2025-06-18, 2025-03-26"
OLDER = "This server speaks an older era"


def refusal(code: int, text: str, id: Any = None, status: int = 400, **members: Any) -> Scripted:
    """An error response as servers send it before they have read the request."""
    body = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text, **members}}
    return raw(status, json.dumps(body).encode())


class Shown(ClientCase):
    ANSWERS: List[Tuple[Scripted, type]] = [
        (refusal(-32600, f"Bad Request: Unsupported protocol version: 2026-07-28. Supported versions: {REVISIONS}",
                 "server-error"), InvalidRequest),
        (refusal(-32000, f"Bad Request: Unsupported protocol version: 2026-07-28 (supported versions: {REVISIONS})"),
         ProtocolError),
        (refusal(-32000, "Bad Request: Unsupported protocol version"), ProtocolError),
        (refusal(-32000, "Bad Request: The MCP-Protocol-Version header contains an unsupported version."),
         ProtocolError),
        (refusal(-32600, "Bad Request: Missing session ID", "server-error"), InvalidRequest),
        (refusal(-32000, "Bad Request: Mcp-Session-Id header is required"), ProtocolError),
        (refusal(-32000, "Bad Request: No valid session ID provided"), ProtocolError),
        (refusal(-32001, "Session not found", status=404), ProtocolError),
        (refusal(-32000, "Bad Request: Server not initialized"), ProtocolError),
        (refusal(-32002, "Server not initialized", 1, 200), ProtocolError),
        (refusal(-32602, "Received request before initialization was complete", 1, 200), InvalidParams),
        (refusal(-32600, "Call initialize first", 1), InvalidRequest),
        (refusal(-32602, "Unsupported protocol version", 1, data={"supported": REVISIONS.split(", ")}), InvalidParams),
        (error(-32022, data={"supported": REVISIONS.split(", "), "requested": "2026-07-28"}),
         UnsupportedProtocolVersion),
        (error(-32022, "Unsupported", 200, data={"supported": ["2024-11-05"]}), UnsupportedProtocolVersion),
        (events(last=error(-32600, "Please send initialize before anything else")), InvalidRequest),
        (raw(400, b"", None), HTTPError),
        (raw(400, f"Bad Request: Unsupported protocol version (supported versions: {REVISIONS})\n".encode(),
             "text/plain"), HTTPError),
        (raw(400, b'{"error":"Mcp-Session-Id header is required"}'), HTTPError),
        (raw(422, b"Unexpected message, expect initialize request", "text/plain"), HTTPError),
        (raw(404, b"session not found", "text/plain"), HTTPError)]

    def test_what_shows_an_older_era(self) -> None:
        for at, (script, kind) in enumerate(self.ANSWERS):
            with self.subTest(at):
                made = self.refused(script, kind, OLDER)
                self.assertTrue(str(made).endswith(made.note))
                self.assertIn("2026-07-28", made.note)
                self.assertNotIn("older era", getattr(made, "message", ""), "the peer's words stay the peer's")

    def test_the_versions_are_named_where_they_are(self) -> None:
        for at in (0, 1, 12, 13, 17):
            script, kind = self.ANSWERS[at]
            self.refused(script, kind, f"({REVISIONS})")
        shuffled = ", ".join(sorted(REVISIONS.split(", ")))
        self.refused(refusal(-32000, f"Unsupported protocol version (supported versions: {shuffled})"), ProtocolError,
                     f"({REVISIONS})")
        many = ", ".join(f"2025-01-{day:02}" for day in range(1, 32))
        made = self.refused(refusal(-32000, f"unsupported protocol version, not one of {many}"), ProtocolError, OLDER)
        self.assertLess(len(made.note), 200)

    def test_discover_shows_it_by_being_unknown(self) -> None:
        for script, kind in ((error(-32601, status=200), MethodNotFound), (error(-32601, status=404), MethodNotFound),
                             (error(-32602, "Invalid request parameters", 200), InvalidParams)):
            with self.talk(script) as (_, client), self.assertRaises(kind) as caught:
                client.discover()
            self.assertIn(OLDER, str(caught.exception))

    def test_a_resource_is_not_missing_where_the_era_is(self) -> None:
        script = refusal(-32602, "not initialized", 1, 200)
        with self.talk(script) as (_, client), self.assertRaises(InvalidParams) as it:
            client.read_resource("file:///a")
        self.assertNotIsInstance(it.exception, ResourceNotFound)


class NotShown(ClientCase):
    def test_what_modern_servers_answer(self) -> None:
        supported: List[Any] = [["2030-01-01"], ["2026-07-28"], ["2025-11-25", "2026-07-28"], [], [7], None,
                                "2025-11-25", ["2030-01-01", "2025-11-25"]]
        scripts = [error(-32022, data={"supported": each}) for each in supported]
        scripts += [error(-32022), error(-32020, "MCP-Protocol-Version header is required"), error(-32021),
                    error(-32601, status=404), error(-32601, status=200), error(-32603, "not initialized", 500),
                    error(-32602, "Invalid params: params._meta.io.modelcontextprotocol/protocolVersion is required"),
                    error(-32602, "Invalid params: unknown session id 7"), error(-32602, "date is after 2025-11-25"),
                    error(7, "session not found", 200), error(-32600, 'Invalid Request: jsonrpc must be "2.0"'),
                    error(-32600, "Unsupported protocol version 2026-07-28, supported: 2027-01-01"),
                    raw(400, b"Invalid Host", "text/plain"), raw(404, b"", None), raw(401, b"", None),
                    raw(403, b"", None), raw(500, b"session id", "text/plain"), raw(401, b"no session", "text/plain"),
                    raw(200, b"initialize", "text/plain")]
        for script in scripts:
            with self.talk(script) as (_, client), self.assertRaises(McpError) as caught:
                client.call_tool("t")
            self.assertEqual((caught.exception.note, "older era" in str(caught.exception)), ("", False),
                             str(caught.exception))
        with self.talk(error(-32602, "clientInfo is required")) as (_, client), self.assertRaises(InvalidParams) as it:
            client.discover()
        self.assertEqual(it.exception.note, "")

    def test_a_modern_server_that_refuses_initialize(self) -> None:
        hint = "This server implements the 2026-07-28 stateless protocol; send server/discover instead of initialize."
        with self.talk(error(-32600, hint), result()) as (_, client), self.assertRaises(InvalidRequest) as caught:
            client.request("initialize")
        self.assertEqual(caught.exception.note, "")


if __name__ == "__main__":
    unittest.main()
