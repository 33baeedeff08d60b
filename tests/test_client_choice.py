"""basic/versioning, Backward Compatibility: how a client finds the era of a server, remembers it, and finds it anew."""

from __future__ import annotations

import unittest
from typing import Any, Dict, List
from unittest import mock

from mcp_ref import CallHandle, Client
from mcp_ref.base.errors import (
    BrokenOff,
    CallCancelled,
    HeaderMismatch,
    HTTPError,
    McpError,
    MethodNotFound,
    MissingClientCapability,
    ProtocolError,
    Timeout,
    TransportError,
    Unreachable,
    UnsupportedProtocolVersion,
    received,
)
from mcp_ref.client import choice
from mcp_ref.client.era import DISCOVER, FALLBACK, GET, INITIALIZE, Evidence, fallback, judge
from mcp_ref.client.responses import OtherId
from tests.stub_http import ClientCase, Scripted, Seen, asked, error, initialized, message, older, raw, result, said
from tests.support import ROOT, echo_server, proves, run_command

MODERN, LEGACY = "2026-07-28", "2025-11-25"
DISCOVERED = result(supportedVersions=[MODERN], capabilities={})
REFUSED = raw(400, b"", None)
OLD: Dict[str, Scripted] = {"tools/list": result(tools=[]), "tools/call": said()}
NEW: Dict[str, Scripted] = {**OLD, "server/discover": DISCOVERED, "initialize": error(-32020)}


def refused(code: int, status: int = 400, **data: Any) -> Evidence:
    return Evidence(None, received({"code": code, "message": "no", **({"data": data} if data else {})}, status))


def plain(status: int, body: str = "") -> Evidence:
    return Evidence(None, HTTPError(status, body))


EXAMPLES: List[Any] = [
    (DISCOVER, Evidence({"supportedVersions": [LEGACY, MODERN]}), "modern", "go on"),
    (DISCOVER, Evidence({"supportedVersions": [MODERN], "resultType": "complete"}), "modern", "go on"),
    (DISCOVER, refused(-32022, supported=[MODERN, LEGACY]), "modern", "again"),
    (DISCOVER, refused(-32022, supported=[MODERN])._replace(before=True), "modern", "stop"),
    (DISCOVER, refused(-32022, supported=[LEGACY, "2024-10-07"]), "legacy", "initialize"),
    (DISCOVER, Evidence({"supportedVersions": [LEGACY]}), "legacy", "initialize"),
    (DISCOVER, refused(-32022, supported=["2030-01-01"]), "modern", "stop"),
    (DISCOVER, refused(-32022, supported=["2030-01-01", LEGACY]), "modern", "stop"),
    (DISCOVER, refused(-32022, supported=[]), "modern", "stop"),
    (DISCOVER, refused(-32022), "modern", "stop"),
    (DISCOVER, Evidence({"supportedVersions": ["2030-01-01"]}), "modern", "stop"),
    (DISCOVER, refused(-32020), "modern", "stop"),
    (DISCOVER, refused(-32021), "modern", "stop"),
    (DISCOVER, refused(-32601, 404), "modern", "go on"),
    (DISCOVER, refused(-32601, 200), "legacy", "initialize"),
    *((DISCOVER, each, "none", "stop") for status in (301, 401, 403, 429, 500, 502, 503)
      for each in (plain(status), plain(status, "initialize first"), refused(-32600, status))),
    *((DISCOVER, plain(status, body), "open", "GET") for status in (404, 405)
      for body in ("", "not found", "<!DOCTYPE html><p>Cannot POST", '{"error": "no"}')),
    *((DISCOVER, plain(status, "<html><body>Sign in"), "none", "stop") for status in (200, 400)),
    *((DISCOVER, plain(status, body), "legacy", "initialize") for status in (400, 406, 415, 422)
      for body in ("", "expect initialize", '{"error": "session"}')),
    *((DISCOVER, refused(code, status), "legacy", "initialize") for status in (200, 400, 404)
      for code in (-32602, -32600, -32000, -32001, -32002, -32603, -32700, 7)),
    (DISCOVER, Evidence({}), "legacy", "initialize"),
    (DISCOVER, Evidence({"tools": [], "supportedVersions": 7}), "legacy", "initialize"),
    (DISCOVER, Evidence(None, OtherId("the id 7")), "legacy", "initialize"),
    (DISCOVER, Evidence(None, Timeout("10 s"), pipe=True), "legacy", "spawn"),
    (DISCOVER, Evidence(None, BrokenOff("ended"), pipe=True), "legacy", "spawn"),
    (DISCOVER, Evidence(None, Unreachable("no such program"), pipe=True), "none", "stop"),
    (DISCOVER, Evidence(None, Timeout("60 s")), "none", "stop"),
    (DISCOVER, Evidence(None, BrokenOff("cut")), "none", "stop"),
    (DISCOVER, Evidence(None, Unreachable("refused")), "none", "stop"),
    (DISCOVER, Evidence(None, TransportError("no JSON")), "none", "stop"),
    (DISCOVER, plain(202), "none", "stop"),
    (INITIALIZE, Evidence({"protocolVersion": LEGACY}), "legacy", "go on"),
    *((INITIALIZE, plain(status, body), "open", "GET") for status in (400, 404, 405) for body in ("", "no")),
    (INITIALIZE, plain(404, "<html>"), "open", "GET"),
    (INITIALIZE, plain(400, "<html>"), "none", "stop"),
    (INITIALIZE, plain(404)._replace(before=True), "none", "stop"),
    (INITIALIZE, refused(-32601, 404), "none", "stop"),
    (INITIALIZE, plain(401), "none", "stop"),
    (GET, Evidence({"endpoint": "http://x/"}), "legacy", "initialize"),
    (GET, plain(405), "none", "stop"),
    (GET, Evidence(None, TransportError("no endpoint")), "none", "stop"),
]


class Table(unittest.TestCase):
    @proves("STDIO-18..21", "HTTP-88..90", "C073", "C074", "C079")
    def test_what_came_decides(self) -> None:
        met = set()
        for asked_, evidence, verdict, step in EXAMPLES:
            row = judge(asked_, evidence)
            with self.subTest(f"{asked_}: {evidence}"):
                self.assertEqual((row.verdict, row.step), (verdict, step))
            met.add(row)
        self.assertEqual(met, set(FALLBACK), "a row that nothing meets")

    def test_the_readme_and_explain_have_the_table(self) -> None:
        self.assertIn(fallback(), (ROOT / "README.md").read_text(encoding="utf-8"))
        status, out, _ = run_command("explain", "fallback")
        self.assertEqual((status, out), (0, fallback() + "\n"))


class Finding(ClientCase):
    def setUp(self) -> None:
        choice.FINDINGS.clear()
        self.addCleanup(choice.FINDINGS.clear)

    def asks(self, script: Scripted, call: Any = None, **options: Any) -> Any:
        """What a client asked of a server that answers so, and what came of it."""
        outcome: Any = None
        with self.talk(script, era="auto", **options) as (stub, client):
            try:
                outcome = (call or (lambda it: it.list_tools()))(client)
            except McpError as failure:
                outcome = failure
            self.seen = list(stub.seen)
        return [asked(each) for each in self.seen if asked(each) not in ("GET", "DELETE")], outcome

    @proves("HTTP-88..90", "DISC-02")
    def test_the_way_of_each_verdict(self) -> None:
        old = ["server/discover", "initialize", "notifications/initialized", "tools/list"]
        listed = {"tools/list": result(tools=[])}
        empty = older({**listed, "server/discover": raw(400, b"", None)})
        foreign = older({**listed, "server/discover": message({"id": 77, "result": {}})})
        modern = {**listed, "server/discover": DISCOVERED}
        undiscovered = {**listed, "server/discover": error(-32601, status=404)}
        for script, expected in ((older(listed), old), (empty, old), (foreign, old),
                                 (older(modern), ["server/discover", "tools/list"]),
                                 (older(undiscovered), ["server/discover", "tools/list"])):
            self.assertEqual(self.asks(script), (expected, []))
            choice.FINDINGS.clear()

    @proves("VERS-02", "C074")
    def test_another_version_is_asked_for_once(self) -> None:
        again = iter([error(-32022, data={"supported": [MODERN]}), DISCOVERED])
        script = older({"server/discover": lambda seen: next(again)(seen), "tools/list": result(tools=[])})
        self.assertEqual(self.asks(script), (["server/discover", "server/discover", "tools/list"], []))

    @proves("VERS-03", "C074")
    def test_no_version_in_common_is_told_with_both_lists(self) -> None:
        for script in (error(-32022, data={"supported": ["2030-01-01"]}), result(supportedVersions=["2030-01-01"])):
            did, outcome = self.asks(older({"server/discover": script}))
            self.assertEqual(did, ["server/discover"], "no initialize")
            self.assertIsInstance(outcome, UnsupportedProtocolVersion)
            for version in ("2030-01-01", MODERN, LEGACY):
                self.assertIn(version, str(outcome))

    @proves("C074")
    def test_errors_to_be_corrected_are_no_fallback(self) -> None:
        for code, kind in ((-32020, HeaderMismatch), (-32021, MissingClientCapability)):
            did, outcome = self.asks(older({"server/discover": error(code)}))
            self.assertEqual((did, type(outcome)), (["server/discover"], kind))

    def test_the_newest_common_older_version_is_offered(self) -> None:
        for script in (error(-32022, data={"supported": ["2024-11-05", "2025-06-18"]}),
                       result(supportedVersions=["2025-06-18"])):
            did, _ = self.asks(older({"server/discover": script, "initialize": initialized("2025-06-18")}))
            self.assertEqual(did[:2], ["server/discover", "initialize"])
            opening = next(each for each in self.seen if asked(each) == "initialize")
            self.assertEqual(opening.params["protocolVersion"], "2025-06-18")
            choice.FINDINGS.clear()

    def test_what_is_no_evidence_is_an_error(self) -> None:
        for script, words in ((raw(401, b"{}"), "401"), (raw(403, b""), "403"),
                              (raw(500, b"boom", "text/plain"), "boom"),
                              (raw(200, b"<html>Sign in</html>", "text/html"), "Sign in"),
                              (raw(404, b"not found", "text/plain"), "no MCP endpoint here")):
            did, outcome = self.asks(older({"server/discover": script}))
            self.assertEqual(did, ["server/discover"])
            self.assertIn(words, str(outcome))
            self.assertNotIn("older era", str(outcome))
        self.assertEqual(choice.FINDINGS, {}, "nothing to remember")

    @proves("C079")
    def test_a_result_without_its_type_is_modern(self) -> None:
        script = older({"server/discover": message({"result": {"supportedVersions": [MODERN], "capabilities": {}}}),
                        "tools/list": message({"result": {"tools": []}})})
        self.assertEqual(self.asks(script), (["server/discover", "tools/list"], []))

    def test_discover_is_asked_once_where_it_is_what_was_wanted(self) -> None:
        did, outcome = self.asks(older({"server/discover": DISCOVERED}), lambda client: client.discover())
        self.assertEqual((did, outcome["supportedVersions"]), (["server/discover"], [MODERN]))
        did, outcome = self.asks(older({"server/discover": DISCOVERED}),
                                 lambda client: [client.discover(), client.discover()])
        self.assertEqual(len(did), 2, "asked again, it is asked for again")

    def test_a_client_of_one_era_does_not_ask(self) -> None:
        with self.talk(older({"tools/list": result(tools=[])}), era="modern") as (stub, client):
            self.assertEqual(client.list_tools(), [])
            self.assertEqual([asked(each) for each in stub.seen], ["tools/list"])
        with self.talk(older({"tools/list": result(tools=[])}), era="legacy") as (stub, client):
            self.assertEqual(client.list_tools(), [])
            self.assertEqual(asked(stub.seen[0]), "initialize")
        client = Client(echo_server())
        self.assertEqual((len(client.list_tools()), client.choice.steps), (1, []))
        with self.assertRaisesRegex(ValueError, "auto, modern, legacy"):
            Client("http://127.0.0.1:1/", era="both")

    def test_who_has_gone_is_no_evidence(self) -> None:
        handle = CallHandle()

        def gone(seen: Seen) -> Any:
            handle.cancel()
            return raw(200, iter(()), "application/json")(seen)

        with self.talk(older({"server/discover": gone}), era="auto") as (stub, client):
            with self.assertRaises(CallCancelled):
                client.list_tools(handle=handle)
            self.assertEqual([asked(each) for each in stub.seen], ["server/discover"])


class Remembered(ClientCase):
    """What was found of an origin holds for the next client, until it is no longer true."""

    def setUp(self) -> None:
        choice.FINDINGS.clear()
        self.addCleanup(choice.FINDINGS.clear)

    def did(self, stub: Any) -> List[str]:
        made = [asked(each) for each in stub.seen if asked(each) not in ("GET", "DELETE", "notifications/initialized")]
        stub.seen.clear()
        return made

    @proves("VERS-09")
    def test_the_next_client_asks_nothing(self) -> None:
        for answers, first in ((OLD, ["server/discover", "initialize", "tools/list"]),
                               (NEW, ["server/discover", "tools/list"])):
            with self.talk(older(answers), era="auto") as (stub, client):
                client.list_tools()
                client.list_tools()
                self.assertEqual(self.did(stub), [*first, "tools/list"])
                with Client(stub.url.replace("/mcp", "/other")) as other:
                    other.list_tools()
                self.assertEqual(self.did(stub), first[1:])

    @proves("C077")
    def test_a_legacy_server_that_is_modern_now(self) -> None:
        with self.talk(older(OLD), era="auto") as (stub, client):
            client.list_tools()
            self.did(stub)
            stub.script[:] = [older(NEW)]
            with Client(stub.url) as other:
                other.call_tool("t")
                self.assertEqual(self.did(stub), ["initialize", "server/discover", "tools/call"])
            with Client(stub.url) as third:
                third.list_tools()
            self.assertEqual(self.did(stub), ["tools/list"])

    @proves("C077")
    def test_a_modern_server_that_is_legacy_now(self) -> None:
        answers = {**OLD, "server/discover": REFUSED}

        for status in (400, 404, 405):
            def rolled_back(seen: Seen, status: int = status) -> Any:
                modern = seen.header("Mcp-Method")
                refused = REFUSED if modern == "server/discover" else raw(status, b"", None)
                return (older(answers) if modern is None else refused)(seen)

            with self.talk(older(NEW), era="auto") as (stub, client):
                client.list_tools()
                self.did(stub)
                stub.script[:] = [rolled_back]
                client.list_tools()
                self.assertEqual(self.did(stub), ["tools/list", "server/discover", "initialize", "tools/list"])

    def test_it_is_found_anew_once(self) -> None:
        with self.talk(older({**NEW, "tools/list": raw(404, b"", None)}), era="auto") as (stub, client):
            with self.assertRaisesRegex(HTTPError, "404"):
                client.list_tools()
            self.assertEqual(self.did(stub), ["server/discover", "tools/list"] * 2)

    @proves("C077")
    def test_no_call_of_a_tool_is_sent_twice(self) -> None:
        with self.talk(older(NEW), era="auto") as (stub, client):
            client.list_tools()
            self.did(stub)
            stub.script[:] = [older({**OLD, "tools/call": REFUSED})]
            with self.assertRaisesRegex(HTTPError, "another era"):
                client.call_tool("t")
            self.assertEqual(self.did(stub), ["tools/call"])
            stub.script[:] = [older(OLD)]
            self.assertEqual(client.call_tool("t")["content"][0]["text"], "ok")
            self.assertEqual(self.did(stub), ["server/discover", "initialize", "tools/call"])

    def test_a_session_whose_server_has_become_modern(self) -> None:
        with self.talk(older(OLD), era="auto") as (stub, client):
            client.list_tools()
            self.did(stub)
            became = iter([error(-32022, data={"supported": [MODERN]}), result(tools=[])])
            stub.script[:] = [older({**NEW, "tools/list": lambda seen: next(became)(seen)})]
            self.assertEqual(client.list_tools(), [])
            self.assertEqual(self.did(stub), ["tools/list", "server/discover", "tools/list"])

    def test_what_refuses_one_request_is_no_other_era(self) -> None:
        for refusal, kind in ((error(-32602), ProtocolError), (raw(500, b"boom"), HTTPError),
                              (error(-32601, status=200), MethodNotFound)):
            for answers in (OLD, NEW):
                with self.talk(older({**answers, "prompts/list": refusal, "initialize": initialized(prompts={})}),
                               era="auto") as (stub, client):
                    with self.assertRaises(kind):
                        client.list_prompts()
                    did = self.did(stub)
                    self.assertEqual((did[-1], did.count("prompts/list")), ("prompts/list", 1))
                    self.assertEqual(len(choice.FINDINGS), 1)
                choice.FINDINGS.clear()

    def test_findings_are_bounded(self) -> None:
        with mock.patch.object(choice, "MAX_ORIGINS", 3):
            for _ in range(5):
                with self.talk(older(NEW), era="auto") as (_, client):
                    client.list_tools()
        self.assertLessEqual(len(choice.FINDINGS), 3)


if __name__ == "__main__":
    unittest.main()
