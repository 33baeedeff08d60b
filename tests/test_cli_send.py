"""`send`: one request as it is told, sent once, and the answer as it came; all of the walkthrough's exchanges by it."""

import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List

from mcp_ref.base.meta import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
from mcp_ref.demo import server as demo
from mcp_ref.transports.http_server import HTTPServer
from tests.stub_http import Stub, error, events, raw, result
from tests.test_cli_client import Case, Done, run
from tests.test_walkthrough import EXCHANGES, fixture

STATE = {"requestState": "stub-1"}


def pairs(option: str, *values: str) -> List[str]:
    return [part for value in values for part in (option, value)]


def answering(answer: Any) -> str:
    """Params of a retry of `echo`."""
    return json.dumps({"name": "echo", "arguments": {}, "inputResponses": {"text": answer}, **STATE})


ACCEPTED = {"action": "accept", "content": {"text": "hello era"}}
ASKING = ["tools/call", "--params", '{"name": "echo", "arguments": {}}']
COMMANDS: Dict[str, List[str]] = {
    "legacy-initialize": ["initialize", "--params", json.dumps({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "curl", "version": "0"}}),
        "--drop-meta", "*", *pairs("--drop-header", "MCP-Protocol-Version", "Mcp-Method")],
    "discover": ["server/discover", "--id", "d1"],
    "modern-initialize": ["initialize", "--id", "2"],
    "tools-list": ["tools/list", "--id", "7"],
    "tools-call": ["tools/call", "--id", "8", "--params", '{"name": "echo", "arguments": {"text": "hello era"}}'],
    "input-required": [*ASKING, "--id", "3"],
    "resume-accept": ["tools/call", "--id", "32", "--params", answering(ACCEPTED)],
    "resume-without-state": ["tools/call", "--id", "30", "--params", json.dumps(
        {"name": "echo", "arguments": {}, "inputResponses": {"text": ACCEPTED}})],
    "resume-decline": ["tools/call", "--id", "34", "--params", answering({"action": "decline"})],
    "resume-bad-action": ["tools/call", "--id", "33", "--params", answering({"action": "reject"})],
    "N1-no-method-header": ["tools/list", "--id", "40", "--drop-header", "Mcp-Method"],
    "N2-version-header-differs": ["tools/list", "--id", "41", "--meta", "protocolVersion=2025-11-25"],
    "N3-unsupported-version": ["tools/list", "--id", "42", "--meta", f'{PROTOCOL_VERSION}="2025-11-25"',
                               "--set-header", "MCP-Protocol-Version: 2025-11-25"],
    "N4-accept-one-type": ["tools/list", "--id", "43", "--set-header", "Accept: application/json"],
    "N5-unknown-method": ["resources/list", "--id", "44"],
    "N6-no-name-header": ["tools/call", "--id", "45", "--params", '{"name": "echo", "arguments": {"text": "x"}}',
                          "--drop-header", "mcp-name"],
    "N7-no-client-info": ["tools/list", "--id", "46", "--drop-meta", "clientInfo"],
    "N8-no-version-header": ["tools/list", "--id", "47", "--drop-header", "mcp-protocol-version"],
    "N9-capability-not-declared": [*ASKING, "--id", "48", "--meta", "clientCapabilities={}"],
    "N10-top-level-array": ["tools/list", "--body", "[]"],
    "N11-params-array": ["tools/list", "--id", "51", "--params", "[1]"],
    "N12-meta-number": ["tools/list", "--id", "52", "--params", '{"_meta": 7}'],
    "N13-argument-number": ["tools/call", "--id", "53", "--params", '{"name": "echo", "arguments": {"text": 42}}'],
    "healthy-after": ["tools/list", "--id", "55"],
}


class Walkthrough(Case):
    def test_every_exchange(self) -> None:
        self.assertEqual(set(COMMANDS), {case["name"] for case in EXCHANGES})
        for mode in ("modern", "input-required", "legacy"):
            with fixture(mode) as url:
                for case in EXCHANGES:
                    if case["mode"] == mode:
                        with self.subTest(case["name"]):
                            done = run("send", url, *COMMANDS[case["name"]])
                            first, _, body = done.out.partition("\n")
                            self.assertEqual((int(first.split()[1]), body), (case["status"], case["answer"] + "\n"))
                            failed = case["status"] != 200 or json.loads(case["answer"])["result"].get("isError")
                            self.assertEqual((done.status, done.err), (1 if failed else 0, ""))


class Sent(Case):
    """What is on the wire."""

    def seen(self, *arguments: str, **options: Any) -> Any:
        with Stub(raw(200, b'{"result": {}}')) as stub:
            done = run("send", stub.url, *arguments, **options)
            self.assertEqual(done.status, 0, done.err)
            self.assertEqual(len(stub.seen), 1, "sent once")
        return stub.seen[0]

    def test_a_right_request(self) -> None:
        seen = self.seen("tools/call", "--params", '{"name": "gr\\u00fc\\u00dfe"}')
        self.assertEqual([name for name, _ in seen.fields], [
            "Host", "User-Agent", "Accept", "Content-Type", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name",
            "Connection", "Content-Length"])
        self.assertEqual(seen.header("Mcp-Name"), "=?base64?Z3LDvMOfZQ==?=")
        self.assertEqual((seen.message["id"], seen.params["name"]), (1, "grüße"))
        self.assertEqual(set(seen.params["_meta"]), {PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES})
        with HTTPServer(demo, port=0) as running:
            for method, params in (("server/discover", "{}"), ("tools/list", "{}"), ("tools/call", '{"name": "greet"}'),
                                   ("prompts/get", '{"name": "introduce", "arguments": {"name": "Ada"}}')):
                self.assertEqual(run("send", running.url, method, "--params", params).status, 0, method)

    def test_mirrors_follow_the_params_and_no_change_follows_from_another(self) -> None:
        seen = self.seen("tools/list", "--params", json.dumps({"_meta": {PROTOCOL_VERSION: "x"}}))
        self.assertEqual((seen.header("MCP-Protocol-Version"), seen.params["_meta"][PROTOCOL_VERSION]), ("x", "x"))
        seen = self.seen("tools/list", "--meta", "protocolVersion=x")
        self.assertEqual((seen.header("MCP-Protocol-Version"), seen.params["_meta"][PROTOCOL_VERSION]),
                         ("2026-07-28", "x"))
        seen = self.seen("tools/list", "--set-header", "Mcp-Method: x")
        self.assertEqual((seen.header("Mcp-Method"), seen.message["method"]), ("x", "tools/list"))

    def test_headers_are_as_told(self) -> None:
        seen = self.seen("tools/list", *pairs("--set-header", "accept:a", "Accept: b ", "X-New:", "Host: x"),
                         "--drop-header", "User-Agent")
        self.assertEqual(seen.fields[:3], [("Host", "x"), ("accept", "a"), ("Content-Type", "application/json")])
        self.assertIn(("X-New", ""), seen.fields)
        self.assertNotIn("User-Agent", [name for name, _ in seen.fields])
        sent = run("send", "http://127.0.0.1:9/", "m", *pairs("--set-header", "N:V ", "A:\tb"), "--raw").status
        self.assertEqual(sent, 3)
        with Stub(result()) as stub:
            out = run("send", stub.url, "m", *pairs("--set-header", "N:V ", "A:\tb"), "--raw").out
        self.assertIn("\nN:V \nA:\tb\n", out)

    def test_members_of_meta(self) -> None:
        seen = self.seen("m", *pairs("--meta", "a={}", "traceparent=no json", "clientInfo=7"),
                         *pairs("--drop-meta", "clientCapabilities", PROTOCOL_VERSION))
        self.assertEqual(seen.params["_meta"], {CLIENT_INFO: 7, "a": {}, "traceparent": "no json"})
        self.assertEqual(self.seen("m", "--params", '{"_meta": 7}', "--meta", "a=1").params, {"_meta": {"a": 1}})
        self.assertEqual(self.seen("m", "--drop-meta", "*").params, {})

    def test_ids(self) -> None:
        for given, sent in (("x", "x"), ('"7"', "7"), ("null", None), ("1.5", 1.5), ("{}", {})):
            self.assertEqual(self.seen("m", "--id", given).message["id"], sent)
        self.assertNotIn("id", json.loads(self.seen("m", "--id", "").body))

    def test_the_body_is_octets(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "body"
            file.write_bytes(b"\xff\r\n\x00")
            self.assertEqual(self.seen("m", "--body", f"@{file}").body, b"\xff\r\n\x00")
            file.write_bytes(b'\xef\xbb\xbf{"a": 1}')
            self.assertEqual(self.seen("m", "--params", f"@{file}").params["a"], 1)
        self.assertEqual(self.seen("m", "--body", "@@x").body, b"@x")
        self.assertEqual(self.seen("m", "--body", "@-", stdin=io.StringIO("piped")).body, b"piped")
        self.assertEqual(self.seen("m", "--params", "-", stdin=io.StringIO('{"a": 2}')).params["a"], 2)
        self.assertEqual(self.seen("m", "--body", "").body, b"")

    def test_what_cannot_be_done_is_named(self) -> None:
        for options, words in ((["--params", "{"], "--body sends anything"), (["--set-header", "x"], "Name: value"),
                               (["--drop-header", "X"], "no header X"), (["--drop-meta", "x"], "no x"),
                               (["--meta", "x"], "KEY=JSON"), (["--params", "[1]", "--meta", "a=1"], "no object"),
                               (["--body", "@/no/such"], "cannot read"), (["--timeout", "0"], "timeout"),
                               (["--params", "-", "--body", "@-"], "one thing alone"),
                               (["--meta", "a=@-", "--params", "@-"], "one thing alone"),
                               (["--id", "\udcff"], "JSON cannot say")):
            self.fails(run("send", "http://127.0.0.1:9/mcp", "m", *options), 2, words)
        self.fails(run("send", "ftp://x", "m"), 2, "http://")


class Answered(Case):
    def test_as_it_came(self) -> None:
        for script, out, status in (
                (raw(406, b'{"error":"no"}'), 'HTTP 406 Not Acceptable\n{"error":"no"}\n', 1),
                (raw(202, b""), "HTTP 202 Accepted\n", 0), (raw(200, b"\xff\xe2"), "HTTP 200 OK\n\\xff\\xe2\n", 1),
                (raw(200, b"<html>"), "HTTP 200 OK\n<html>\n", 1), (raw(200, b""), "HTTP 200 OK\n", 1),
                (raw(500, b"boom\n", "text/plain"), "HTTP 500 Internal Server Error\nboom\n", 1),
                (raw(302, b"", Location="/x"), "HTTP 302 Found\n", 1)):
            with Stub(script) as stub:
                self.assertEqual(run("send", stub.url, "m"), Done(status, out, ""))
                self.assertEqual(len(stub.seen), 1, "no redirect is followed")
        with Stub(error(-32022, data={"supported": ["2026-07-28"]})) as stub:
            self.assertIn("HTTP 400", run("send", stub.url, "m").out)
            self.assertEqual(len(stub.seen), 1, "nothing is corrected")

    def test_streams_and_tools_that_fail(self) -> None:
        with Stub(events({"jsonrpc": "2.0", "method": "x"}, last=result())) as stub:
            done = run("send", stub.url, "m")
        self.assertEqual(done.status, 0)
        self.assertEqual(done.out.count("\ndata: "), 2)
        data = b'data: {"jsonrpc": "2.0", "id": 1,\rdata: "result": {}}\r\r'
        for script, status in ((result(content=[], isError=True), 1), (events({"jsonrpc": "2.0", "method": "x"}), 1),
                               (raw(200, data, "text/event-stream"), 0), (raw(200, data + data[:9]), 0)):
            with Stub(script) as stub:
                self.assertEqual(run("send", stub.url, "m").status, status)

    def test_pretty_and_secret(self) -> None:
        with Stub(events({"jsonrpc": "2.0", "method": "x"}, last=result())) as stub:
            out = run("send", stub.url, "m", "--pretty", *pairs("--set-header", "Authorization: Bearer s3cret",
                                                               "X-Api-Key: s3cret",
                                                               "Ocp-Apim-Subscription-Key: s3cret")).out
        self.assertIn('\n  "method": "m",\n', out)
        self.assertIn('\ndata: {\n  "jsonrpc": "2.0",\n  "method": "x"\n}\n', out)
        self.assertIn("\nAuthorization: …\nX-Api-Key: …\nOcp-Apim-Subscription-Key: …\n", out)
        self.assertNotIn("s3cret", out)

    def test_an_answer_before_the_body_is_read(self) -> None:
        with HTTPServer(demo, port=0) as running:
            done = run("send", running.url, "m", "--body", "x" * 6_000_000)
        self.assertTrue(done.out.startswith("HTTP 413 ") or done.status == 3, done)


if __name__ == "__main__":
    unittest.main()
