"""The commands that call a server: arguments, output, exit status, and never a traceback."""

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any, List, NamedTuple
from unittest import mock

from mcp_ref.base.meta import CLIENT_CAPABILITIES, LOG_LEVEL, SERVER_INFO, SUBSCRIPTION_ID
from mcp_ref.cli import main
from mcp_ref.cli.arguments import from_pairs
from mcp_ref.client.choice import FINDINGS
from mcp_ref.demo import library
from mcp_ref.demo import server as demo
from mcp_ref.transports.http_server import HTTPServer
from tests.stub_http import Stub, asks, error, events, raw, result, said
from tests.support import proves

TOOL = {"name": "t", "description": "Does it.\nWell.", "inputSchema": {"type": "object", "properties": {
    "zip": {"type": "string"}, "n": {"type": "integer"}, "x": {"type": "number"}, "b": {"type": "boolean"},
    "l": {"type": "array"}, "o": {"type": "object"}, "m": {"type": ["integer", "null"]},
    "u": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "s": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "r": {"$ref": "#/$defs/Size"}, "e": {"enum": ["1", "2"]}, "any": {}},
    "$defs": {"Size": {"type": "integer"}}}}
FORM = {"a": {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {
    "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}}


class Done(NamedTuple):
    status: int
    out: str
    err: str


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*arguments: str, stdin: Any = None) -> Done:
    """Run a command. One that calls a server speaks 2026-07-28 alone: a stub's script begins with what is asked for."""
    if arguments[:1] not in (("serve",), ("send",), ("explain",)) and not {"--era", "--"} & set(arguments):
        arguments = (*arguments, "--era", "modern")
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "stdin", stdin or io.StringIO()), contextlib.redirect_stdout(out):
        with contextlib.redirect_stderr(err):
            try:
                status = main(list(arguments))
            except SystemExit as stop:
                status = int(stop.code or 0)
    return Done(status, out.getvalue(), err.getvalue())


class Case(unittest.TestCase):
    def fails(self, done: Done, status: int, words: str) -> None:
        """One line on the standard error, nothing on the standard output."""
        self.assertEqual((done.status, done.out), (status, ""), done.err)
        self.assertEqual(done.err.count("\n"), 1, done.err)
        self.assertTrue(done.err.startswith("mcp_ref: "), done.err)
        self.assertIn(words, done.err)


class Arguments(Case):
    def test_arguments_are_read_by_the_schema(self) -> None:
        given = ["zip=01234", "n=7", "x=1.5", "b=false", "l=[1]", 'o={"a":1}', "m=null", "u=3", "s=5", "r=4", "e=1",
                 "any=01", "other=[1]"]
        with Stub(result(tools=[TOOL]), said("done")) as stub:
            done = run("call", stub.url, "t", *[part for each in given for part in ("--arg", each)])
        self.assertEqual(done, Done(0, "done\n", ""))
        self.assertEqual(stub.seen[1].params["arguments"], {
            "zip": "01234", "n": 7, "x": 1.5, "b": False, "l": [1], "o": {"a": 1}, "m": None, "u": 3, "s": "5", "r": 4,
            "e": "1", "any": "01", "other": [1]})

    @proves("C099")
    def test_each_is_what_its_schema_says_and_not_what_it_looks_like(self) -> None:
        text = ("zip", "phone", "note", "eq", "empty")
        schema = {"type": "object", "properties": {
            **{name: {"type": "string"} for name in text}, "n": {"type": "integer"}, "flag": {"type": "boolean"},
            "tags": {"type": "array"}, "obj": {"type": "object"}}}
        given = ["zip=01234", "phone=5551234", "n=3", "flag=false", 'tags=["a","b"]', "note=--dry-run", 'obj={"k":1}',
                 "eq=a=b", "empty="]
        listed = result(tools=[{"name": "t", "inputSchema": schema}])
        words = [word for each in given for word in ("--arg", each)]
        with Stub(listed, result(content=[], isError=True), said(), listed) as stub:
            self.assertEqual(run("call", stub.url, "t", *words).status, 1, "the tool failed")
            self.assertEqual(stub.seen[1].params["arguments"], {
                "zip": "01234", "phone": "5551234", "n": 3, "flag": False, "tags": ["a", "b"], "note": "--dry-run",
                "obj": {"k": 1}, "eq": "a=b", "empty": ""})
            run("call", stub.url, "t", "--json", '{"zip":"01234"}')
            self.assertEqual(stub.seen[2].params["arguments"], {"zip": "01234"})
            self.fails(run("call", stub.url, "t", "--arg", "n=abc"), 2, "argument n must be an integer")
            self.assertEqual([seen.header("Mcp-Method") for seen in stub.seen[3:]], ["tools/list"])
        code = "import json, sys; print(json.dumps(sys.argv[1:]), file=sys.stderr)"
        done = run("list", "--era", "modern", "--", sys.executable, "-c", code, "--raw", "--arg", "--", "--header=x")
        self.assertIn('["--raw", "--arg", "--", "--header=x"]', done.err)

    def test_awkward_text(self) -> None:
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in ("eq", "empty", "note")}}
        with Stub(result(tools=[{"name": "t", "inputSchema": schema}]), said()) as stub:
            run("call", stub.url, "t", "--arg", "eq=a=b", "--arg", "empty=", "--arg", "note=--dry-run")
        self.assertEqual(stub.seen[1].params["arguments"], {"eq": "a=b", "empty": "", "note": "--dry-run"})

    def test_wrong_arguments_are_named_and_nothing_is_called(self) -> None:
        for given, words in (("n=abc", "argument n must be an integer"), ("n=1.5", "argument n"),
                             ("n=true", "argument n"),
                             ("b=yes", "argument b must be a boolean"), ("l={}", "argument l must be an array"),
                             ("u=x", "argument u must be an integer or null"), ("noequals", "NAME=VALUE"),
                             ("=x", "NAME=VALUE")):
            with self.subTest(given), Stub(result(tools=[TOOL]), said()) as stub:
                self.fails(run("call", stub.url, "t", "--arg", given), 2, words)
                self.assertNotIn("tools/call", [seen.header("Mcp-Method") for seen in stub.seen])
        with Stub(result(tools=[TOOL])) as stub:
            self.fails(run("call", stub.url, "t", "--arg", "n=1", "--arg", "n=2"), 2, "twice")
            self.fails(run("call", stub.url, "t", "--arg", "n=1", "--json", "{}"), 2, "not both")
            for text in ("[1]", "7", "{", '{"a":1,"a":2}'):
                self.fails(run("call", stub.url, "t", "--json", text), 2, "--json")

    def test_json_passes_as_it_is(self) -> None:
        with Stub(said()) as stub:
            run("call", stub.url, "t", "--json", '{"n": "abc", "zip": 1}')
        self.assertEqual(stub.seen[0].params["arguments"], {"n": "abc", "zip": 1})

    def test_files_and_standard_input(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            text, octets = os.path.join(folder, "text"), os.path.join(folder, "octets")
            with open(text, "w", encoding="utf-8", newline="") as file:
                file.write("7\n")
            with open(octets, "wb") as file:
                file.write(b"\xff")
            given = [f"zip=@{text}", f"n=@{text}", "s=@@home", "note=a@b"]
            with Stub(result(tools=[TOOL]), said()) as stub:
                done = run("call", stub.url, "t", *[part for each in given for part in ("--arg", each)])
                self.assertEqual(done.status, 0, done.err)
            self.assertEqual(stub.seen[1].params["arguments"], {"zip": "7\n", "n": 7, "s": "@home", "note": "a@b"})
            with open(text, "w", encoding="utf-8-sig") as file:
                file.write('{"a": "é"}')
            for value, piped in ((f"@{text}", ""), ("-", '{"a": "é"}'), ("@-", '{"a": "é"}\n')):
                with Stub(said()) as stub:
                    self.assertEqual(run("call", stub.url, "t", "--json", value, stdin=io.StringIO(piped)).status, 0)
                self.assertEqual(stub.seen[0].params["arguments"], {"a": "é"})
            with Stub(result(tools=[TOOL])) as stub:
                for options, words in ((("--json", f"@{folder}/none"), "none': No such file"),
                                       (("--json", f"@{octets}"), "no text in UTF-8"), (("--json", "@"), "cannot read"),
                                       (("--arg", f"s=@{folder}"), "cannot read"), (("--json", "-"), "not valid JSON"),
                                       (("--json", "-", "--stdin"), "for one thing alone"),
                                       (("--arg", "a=@-", "--arg", "b=@-"), "for one thing alone")):
                    self.fails(run("call", stub.url, "t", *options), 2, words)
                self.assertEqual(stub.seen, [])

    def test_schemas_that_make_no_sense_are_no_obstacle(self) -> None:
        odd: List[Any] = [True, 7, {"type": 7}, {"type": []}, {"anyOf": 3}, {"$ref": "#/x"}, {"$ref": "http://x"},
                          {"$ref": "#/properties/a"}, {"enum": []}]
        for field in odd:
            self.assertEqual(from_pairs([("a", "x")], {"properties": {"a": field}}), {"a": "x"}, field)
        self.assertEqual(from_pairs([("a", "1")], {"properties": []}), {"a": 1})


class Output(Case):
    def test_content(self) -> None:
        blocks = [{"type": "text", "text": "hi"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                  {"type": "resource_link", "uri": "file:///x", "name": "x"},
                  {"type": "resource", "resource": {"uri": "u\n[forged]", "text": "t"}}, {"type": 7}, {}]
        with Stub(result(content=blocks, structuredContent={"a": 1})) as stub:
            self.assertEqual(run("call", stub.url, "t").out.splitlines(), [
                "hi", "[image, image/png, 3 octets]", "[resource_link, x, file:///x]", "[resource, u\\n[forged]]",
                "[7]",
                "[block of no type]"])
            self.assertEqual(json.loads(run("call", stub.url, "t", "--output", "json").out)["content"], blocks)
        with Stub(result(content=[], structuredContent={"a": 1})) as stub:
            self.assertEqual(json.loads(run("call", stub.url, "t").out), {"a": 1})

    def test_a_failed_tool(self) -> None:
        with Stub(result(content=[{"type": "text", "text": "no"}], isError=True)) as stub:
            self.assertEqual(run("call", stub.url, "t"), Done(1, "no\n", ""))

    def test_discover_and_list(self) -> None:
        info = {SERVER_INFO: {"name": "s", "version": "1"}}
        found = result(supportedVersions=["2026-07-28"], capabilities={"tools": {}}, instructions="Ask.", _meta=info)
        with Stub(found) as stub:
            self.assertEqual(run("discover", stub.url).out,
                             "s 1\nversions: 2026-07-28\ncapabilities: tools\nAsk.\n")
        with Stub(result(_meta=7)) as stub:
            self.assertEqual(run("discover", stub.url).status, 0)
        with Stub(result(tools=[TOOL])) as stub:
            self.assertRegex(run("list", stub.url).out, r"^t\(zip\?: string, .*, any\?: any\)  Does it\.\n$")
            self.assertEqual(json.loads(run("list", stub.url, "--output", "json").out), {"tools": [TOOL]})
        with Stub(result(resourceTemplates=[{"uriTemplate": "x://{y}", "name": "n"}])) as stub:
            self.assertEqual(run("list", stub.url, "--kind", "templates").out, "x://{y}\n")

    def test_progress_goes_to_the_standard_error(self) -> None:
        note = {"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": 1, "progress": 1, "total": 2, "message": "half\x1b"}}
        with Stub(events(note, last=said())) as stub:
            self.assertEqual(run("call", stub.url, "t"), Done(0, "ok\n", "progress 1/2 half\\x1b\n"))

    def test_what_the_client_warns_of_is_a_note(self) -> None:
        with Stub(result(tools=[{**TOOL, "inputSchema": {"type": "object"}}, 7])) as stub:
            done = run("list", stub.url)
            self.assertEqual((done.status, len(done.out.splitlines())), (0, 1))
            self.assertRegex(done.err, "^mcp_ref: .*left out.*\n$")
            self.assertEqual(run("list", stub.url).err, done.err, "once each time")

    def test_on_a_terminal_progress_is_gone_before_anything_else_is_shown(self) -> None:
        screen = Terminal()
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "x"}}
        ended = events(note, last=error(-32603, "broken"))
        with Stub(events(note, log, note, last=asks(FORM)), events(note, last=said()), ended) as stub, \
                mock.patch.dict("os.environ", {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "80"}), \
                mock.patch.object(sys, "stdin", Terminal("Ada\ns\n")), contextlib.redirect_stdout(screen), \
                contextlib.redirect_stderr(screen):
            self.assertEqual(main(["call", "--era", "modern", stub.url, "t", "--log-level", "info"]), 0)
            self.assertEqual(main(["call", "--era", "modern", stub.url, "t"]), 1)
        bar, gone = "\r1\x1b[K", "\r\x1b[K"
        self.assertTrue(screen.getvalue().startswith(f"{bar}{gone}error: x\n{bar}{gone}http://"), screen.getvalue())
        self.assertTrue(screen.getvalue().endswith(f"{bar}{gone}ok\n{bar}{gone}mcp_ref: -32603 broken\n"))

    def test_raw(self) -> None:
        with Stub(said("hi")) as stub:
            done = run("call", stub.url, "t", "--raw", "--header", "Authorization: Bearer tok")
        self.assertIn(f"POST /mcp HTTP/1.1\nHost: {stub.place}\n", done.out)
        self.assertIn("\n\n" + stub.seen[0].body.decode() + "\n", done.out)
        self.assertRegex(done.out, r'(?s)\nHTTP/1.0 200 OK\n.*"text": "hi"')
        self.assertIn("Authorization: …\n", done.out)
        self.assertNotIn("tok\n", done.out)
        self.assertEqual(stub.seen[0].header("Authorization"), "Bearer tok")

    def test_control_characters_are_escaped_on_a_terminal_only(self) -> None:
        with Stub(said("a\x1b[2Jb\n\tc")) as stub:
            self.assertEqual(run("call", stub.url, "t").out, "a\x1b[2Jb\n\tc\n")
            screen = Terminal()
            with contextlib.redirect_stdout(screen):
                main(["call", "--era", "modern", stub.url, "t"])
            self.assertEqual(screen.getvalue(), "a\\x1b[2Jb\n\tc\n")


    def test_json_is_safe_and_valid_on_a_terminal(self) -> None:
        text = "a\x1b[2J\x9b\u202eé"
        with Stub(said(text)) as stub:
            screen = Terminal()
            with contextlib.redirect_stdout(screen):
                main(["call", "--era", "modern", stub.url, "t", "--output", "json"])
            self.assertNotRegex(screen.getvalue(), "[\x1b\x9b\u202e]")
            self.assertEqual(json.loads(screen.getvalue())["content"][0]["text"], text)
        with Stub(result(content=[], structuredContent={"x": text})) as stub:
            screen = Terminal()
            with contextlib.redirect_stdout(screen):
                main(["call", "--era", "modern", stub.url, "t"])
            self.assertEqual(json.loads(screen.getvalue()), {"x": text})

    def test_a_servers_log(self) -> None:
        notes = [{"jsonrpc": "2.0", "method": "notifications/message", "params": params} for params in (
            {"level": "warning", "logger": "travel", "data": "late\n\x1b"}, {"level": "error", "data": {"é": 1}})]
        with Stub(events(*notes, last=said())) as stub:
            self.assertEqual(run("call", stub.url, "t", "--log-level", "warning"),
                             Done(0, "ok\n", 'warning travel: late\\n\\x1b\nerror: {"é": 1}\n'))
            self.assertEqual(run("call", stub.url, "t"), Done(0, "ok\n", ""))
            self.assertEqual(run("call", stub.url, "t", "--log-level", "loud").status, 2)
        self.assertEqual([seen.params["_meta"].get(LOG_LEVEL) for seen in stub.seen], ["warning", None])

    def test_pretty(self) -> None:
        with Stub(said("hi")) as stub:
            done = run("call", stub.url, "t", "--pretty")
        self.assertIn('\n\n{\n  "jsonrpc": "2.0",\n', done.out)
        self.assertIn('        "text": "hi"\n', done.out)
        with Stub(events({"jsonrpc": "2.0", "method": "x"}, last=said("hi"))) as stub:
            self.assertNotIn("\n\n\n", run("call", stub.url, "t", "--pretty").out.rstrip())
        with Stub(raw(200, b"login: {\n7\n{broken\n", "text/html")) as stub:
            self.assertIn("\n\nlogin: {\n7\n{broken\n", run("call", stub.url, "t", "--pretty").out)

    def test_completion(self) -> None:
        more = {"completion": {"values": ["Flatland", "a\nb"], "hasMore": True, "total": 9}}
        with Stub(result(**more), result(completion={"values": []})) as stub:
            self.assertEqual(run("complete", stub.url, "review", "title", "Fl", "--arg", "tone=kind"),
                             Done(0, "Flatland\na\\nb\n", "mcp_ref: there are more, 9 in all\n"))
            self.assertEqual(run("complete", stub.url, "library://books/{number}", "number"), Done(0, "", ""))
            self.assertEqual(json.loads(run("complete", stub.url, "p", "a", "--output", "json").out), {"values": []})
        self.assertEqual([seen.params["ref"] for seen in stub.seen], [
            {"type": "ref/prompt", "name": "review"}, {"type": "ref/resource", "uri": "library://books/{number}"},
            {"type": "ref/prompt", "name": "p"}])
        self.assertEqual(stub.seen[0].params["argument"], {"name": "title", "value": "Fl"})
        self.assertEqual(stub.seen[0].params["context"], {"arguments": {"tone": "kind"}})
        self.assertEqual(stub.seen[1].params["argument"], {"name": "number", "value": ""})
        with HTTPServer(library, port=0) as running:
            self.assertEqual(run("complete", running.url, "library://books/{number}", "number", "2").out, "2\n")


class Failures(Case):
    def test_the_server_says_no(self) -> None:
        with Stub(error(-32602, "bad\x1b\nthing", data={"supported": ["x"]})) as stub:
            self.fails(run("call", stub.url, "t"), 1, '-32602 bad\\x1b thing {"supported": ["x"]}')
        with Stub(raw(401, b"login\nfirst", "text/plain")) as stub:
            self.fails(run("discover", stub.url), 1, "HTTP 401: login first")
        with Stub(raw(200, b"[]")) as stub:
            self.fails(run("list", stub.url), 1, "array")
        with Stub(said()) as stub:
            stub.script = [raw(200, stub.drip(b" "))]
            self.fails(run("call", stub.url, "t", "--timeout", "0.2"), 3, "no answer within 0.2 s")
        with Stub(raw(200, b"{", Content_Length="9")) as stub:
            self.fails(run("call", stub.url, "t"), 3, "octets short")

    @proves("C100")
    def test_one_server_that_fails_is_no_failure_of_another_and_says_why(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            gone = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        found = result(supportedVersions=["2026-07-28"], capabilities={"tools": {}})
        missing = error(-32601, "Method not found", status=404)
        with Stub(found, result(tools=[TOOL]), found) as good, Stub(missing) as bare:
            FINDINGS.clear()  # as in a process of its own
            done = run("list", good.url, "--era", "auto")
            self.assertIn("t(", done.out, done.err)
            self.fails(run("list", gone), 3, f"cannot reach {gone}: ")
            for kind in ("prompts", "resources", "templates"):
                for url, era in ((good.url, "auto"), (bare.url, "modern")):
                    FINDINGS.clear()
                    done = run("list", url, "--kind", kind, "--era", era)
                    self.assertEqual((done.status, done.err), (0, ""))
                    self.assertRegex(done.out, rf"\A{url} has no (resource )?{kind}\n\Z")
        self.assertEqual({seen.header("Mcp-Method") for seen in good.seen}, {"server/discover", "tools/list"})
        refused = error(-32600, "this server has no initialize; supported: 2026-07-28", status=400)
        with Stub(refused) as modern:
            self.fails(run("list", modern.url, "--era", "legacy"), 1, "no initialize; supported: 2026-07-28")
        refused = error(-32022, "unsupported", status=400, data={"supported": ["2030-01-01"]})
        with Stub(refused) as newer:
            done = run("list", newer.url, "--era", "auto")
        self.fails(done, 1, "The server speaks 2030-01-01, this client 2026-07-28, 2025-11-25")

    def test_usage_and_unreachable(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            url = f"http://u:secret@127.0.0.1:{taken.getsockname()[1]}/mcp"
        done = run("discover", url)
        self.fails(done, 3, "cannot reach http://127.0.0.1:")
        self.assertNotIn("secret", done.err)
        for word in ("x", "127.0.0.1:8000/mcp", "ftp://x", ""):
            for first, *more in (["discover"], ["send", "x"], ["login"]):
                self.fails(run(first, word, *more), 2, "; expected one such as http://127.0.0.1:8000/mcp")
        for first, *more in (["call", "\udcff"], ["call", "t", "--arg", "a=\udcff"], ["read", "\udcff"],
                             ["prompt", "\udcff"], ["complete", "\udcff", "a"], ["complete", "p", "\udcff"],
                             ["complete", "p", "a", "\udcff"], ["call", "t", "--json", '"\udcff"']):
            self.fails(run(first, url, *more), 2, "\\udcff")
        for arguments, words in ((("discover", "ftp://x"), "http://"),
                                 (("discover", url, "--timeout", "-1"), "timeout"),
                                 (("list", url, "--header", "x"), "Name: value"),
                                 (("list", url, "--header", "Mcp-Name: x"), "set by the protocol")):
            self.fails(run(*arguments), 2, words)
        self.assertEqual(run("list", url, "--kind", "x").status, 2)
        self.assertEqual(run("call", url).status, 2)


def interrupted(process: "subprocess.Popen[str]") -> Any:
    """What a process prints, and how it ends, when its user interrupts it: again where it did not hear it.

    An interrupt that comes just before a process begins to wait can be lost, on PyPy above all.
    """
    for _ in range(12):
        process.send_signal(signal.SIGINT)
        try:
            return (*process.communicate(timeout=5), process.returncode)
        except subprocess.TimeoutExpired:
            pass
    raise AssertionError("it does not end")


class Input(Case):
    def test_without_a_terminal_it_is_declined_with_a_note(self) -> None:
        with Stub(asks(FORM), said()) as stub:
            done = run("call", stub.url, "t", stdin=io.StringIO("Ada\ns\n"))
        self.assertEqual((done.status, done.out), (0, "ok\n"))
        self.assertRegex(done.err, r"^mcp_ref: http://127.* declined: standard input is no terminal.*--stdin.*\n$")
        self.assertEqual(stub.seen[1].params["inputResponses"], {"a": {"action": "decline"}})

    def test_in_a_terminal_or_from_a_pipe_on_request(self) -> None:
        for options, stdin in (((), Terminal("Ada\ns\n")), (("--stdin",), io.StringIO("Ada\ns\n"))):
            with Stub(asks(FORM), said()) as stub:
                done = run("call", stub.url, "t", *options, stdin=stdin)
            self.assertEqual(done.out, "ok\n")
            self.assertIn(f"{stub.url} asks for information", done.err)
            self.assertEqual(stub.seen[1].params["inputResponses"],
                             {"a": {"action": "accept", "content": {"name": "Ada"}}})

    def test_no_input_declares_nothing(self) -> None:
        with Stub(said()) as stub:
            run("call", stub.url, "t", "--no-input")
            run("call", stub.url, "t")
        declared = [seen.params["_meta"][CLIENT_CAPABILITIES] for seen in stub.seen]
        self.assertEqual(declared, [{}, {"elicitation": {"form": {}, "url": {}}}])


    def test_an_interrupt_at_a_question_cancels_it_and_ends_with_130(self) -> None:
        class Interrupted(Terminal):
            def readline(self, *_: Any) -> Any:
                raise KeyboardInterrupt

        with Stub(asks(FORM), said()) as stub:
            done = run("call", stub.url, "t", stdin=Interrupted())
        self.assertEqual((done.status, done.out), (130, "ok\n"))
        self.assertEqual(stub.seen[1].params["inputResponses"], {"a": {"action": "cancel"}})
        with Stub(LISTED) as stub:
            self.assertEqual(run("prompt", stub.url, "p", stdin=Interrupted()).status, 130)

    def test_an_interrupt_while_waiting(self) -> None:
        asked, over = threading.Event(), threading.Event()

        def waiting(seen: Any) -> Any:
            asked.set()
            over.wait(120)
            return said()(seen)

        for words in (["call", "URL", "t"], ["send", "URL", "tools/list"], ["list", "URL"]):
            asked.clear()
            with Stub(waiting) as stub:
                command = [sys.executable, "-m", "mcp_ref", *(stub.url if word == "URL" else word for word in words)]
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                try:
                    self.assertTrue(asked.wait(60))
                    self.assertEqual(interrupted(process), ("", "", 130))
                finally:
                    process.kill()
                    over.set()
                over.clear()


class Resources(Case):
    def test_text_and_blobs(self) -> None:
        text, blob = {"uri": "a", "text": "hi\n"}, {"uri": "b", "blob": "-_8", "mimeType": "image/png"}
        with Stub(result(contents=[text, blob])) as stub, tempfile.TemporaryDirectory() as folder:
            pipe = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
            with contextlib.redirect_stdout(pipe):
                self.assertEqual(main(["read", "--era", "modern", stub.url, "a"]), 0)
            self.assertEqual(pipe.buffer.getvalue(), b"hi\n\n\xfb\xff")
            screen = Terminal()
            with contextlib.redirect_stdout(screen):
                main(["read", "--era", "modern", stub.url, "a"])
            self.assertEqual(screen.getvalue(), "hi\n\n[blob, b, image/png, 2 octets; --out FILE or --save DIR "
                                               "takes them]\n")
            file = os.path.join(folder, "out")
            self.assertEqual(run("read", stub.url, "a", "--out", file), Done(0, "", ""))
            with open(file, "rb") as written:
                self.assertEqual(written.read(), b"hi\n\xfb\xff")
            self.fails(run("read", stub.url, "a", "--out", folder), 2, "cannot write")
            with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as pipe:
                self.assertEqual(main(["read", "--era", "modern", stub.url, "a", "--out", "-"]), 0)
            self.assertEqual(pipe.buffer.getvalue(), b"hi\n\xfb\xff")
            self.assertEqual(json.loads(run("read", stub.url, "a", "--output", "json").out)["contents"], [text, blob])

    def test_what_is_no_base64_spoils_no_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder, Stub(result(contents=[{"uri": "b", "blob": "!"}])) as stub:
            file = os.path.join(folder, "out")
            with open(file, "w", encoding="utf-8") as before:
                before.write("mine")
            self.fails(run("read", stub.url, "b", "--out", file), 1, "Base64")
            with open(file, encoding="utf-8") as after:
                self.assertEqual(after.read(), "mine")

    def test_what_is_not_there_and_what_is_empty(self) -> None:
        with Stub(error(-32602, "Resource not found", data={"uri": "x"})) as stub:
            self.fails(run("read", stub.url, "x"), 1, "Resource not found")
        with Stub(result(contents=[])) as stub:
            self.assertEqual(run("read", stub.url, "x"), Done(0, "", ""))


LISTED = result(prompts=[{"name": "p", "arguments": [{"name": "a", "required": True, "description": "First"},
                                                     {"name": "b"}, {"name": "c", "required": False}, 7, {}]}])
GOT = result(messages=[{"role": "user", "content": {"type": "text", "text": "hi"}},
                       {"role": "assistant", "content": {"type": "image", "mimeType": "image/png"}}, {}])


class Prompts(Case):
    def test_blank_arguments_are_left_out(self) -> None:
        with Stub(LISTED, GOT) as stub:
            done = run("prompt", stub.url, "p", "--arg", "a=1=2", "--arg", "b=", "--arg", "zz= ")
            self.assertEqual(done, Done(0, "user: hi\nassistant: [image, image/png]\nNone: [block of no type]\n", ""))
        self.assertEqual(stub.seen[1].params["arguments"], {"a": "1=2"})  # C054

    def test_a_required_one_is_asked_for_again(self) -> None:
        for options, stdin in (((), Terminal("\n \nx\n\nz\ns\n")), (("--stdin",), io.StringIO("\n \nx\n\nz\ns\n"))):
            with Stub(LISTED, GOT) as stub:
                done = run("prompt", stub.url, "p", "--arg", "a=", *options, stdin=stdin)
            self.assertEqual(done.status, 0, done.err)
            self.assertEqual(done.err.count("a (text): "), 3, done.err)
            self.assertIn("  | First", done.err)
            self.assertEqual(stub.seen[1].params["arguments"], {"a": "x", "c": "z"})

    def test_without_a_terminal_it_is_named(self) -> None:
        with Stub(LISTED) as stub:
            self.fails(run("prompt", stub.url, "p", "--arg", "b=1"), 2, "the prompt p needs the argument a")
            self.fails(run("prompt", stub.url, "p", "--no-input", stdin=Terminal("x\n")), 2, "needs the argument a")
            self.fails(run("prompt", stub.url, "p", "--arg", "a=1", "--arg", "a=2"), 2, "twice")
            self.assertEqual(run("prompt", stub.url, "p", stdin=Terminal(":cancel\n")).status, 2)
        self.assertNotIn("prompts/get", [seen.header("Mcp-Method") for seen in stub.seen])
        with Stub(result(prompts=[]), error(-32602, "no prompt")) as stub:
            self.fails(run("prompt", stub.url, "p", "--arg", "a=1"), 1, "no prompt")
        for odd in (7, [7], [{"required": True}], [{"name": ["a"], "required": True}]):
            with Stub(result(prompts=[{"name": "p", "arguments": odd}]), GOT) as stub:
                self.assertEqual(run("prompt", stub.url, "p").status, 0, odd)


class Listening(Case):
    ACK = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
           "params": {"_meta": {SUBSCRIPTION_ID: 1}, "notifications": {}}}
    NOTE = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {SUBSCRIPTION_ID: 1}}}

    def test_a_line_each_until_the_server_ends_it(self) -> None:
        with Stub(events(self.ACK, self.NOTE, self.NOTE, last=result())) as stub:
            done = run("listen", stub.url, "--tools", "--uri", "file:///a")
            self.assertEqual((done.status, done.err), (0, "mcp_ref: granted: {}\n"))
            self.assertEqual([json.loads(line) for line in done.out.splitlines()], [self.NOTE] * 2)
            run("listen", stub.url)
        self.assertEqual([seen.params["notifications"] for seen in stub.seen], [
            {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]},
            {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}])

    def test_count_and_faults(self) -> None:
        with Stub(events(self.ACK, self.NOTE, self.NOTE)) as stub:
            self.assertEqual(len(run("listen", stub.url, "--count", "2").out.splitlines()), 2)
            done = run("listen", stub.url)
            self.assertEqual((done.status, done.err.splitlines()[1:]), (3, ["mcp_ref: the server broke the "
                                                                            "subscription off"]))
            self.assertIn("subscriptionId", run("listen", stub.url, "--raw", "--count", "1").out)
            self.fails(run("listen", stub.url, "--count", "0"), 2, "--count")
        with Stub(error(-32601, "Method not found", status=404)) as stub:
            self.fails(run("listen", stub.url), 1, "Method not found")


class AgainstTheDemo(Case):
    def test_listening_until_ctrl_c(self) -> None:
        with HTTPServer(library, port=0) as running:
            command = [sys.executable, "-m", "mcp_ref", "listen", running.url, "--uri", "library://catalogue"]
            listening = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
            try:
                assert listening.stdout is not None and listening.stderr is not None
                self.assertIn("library://catalogue", listening.stderr.readline())
                library.notify_resource_updated("library://catalogue")
                self.assertEqual(json.loads(listening.stdout.readline())["params"]["uri"], "library://catalogue")
                self.assertEqual(interrupted(listening), ("", "", 0))
            finally:
                listening.kill()
                listening.communicate()
            self.assertIn("1 Flatland", run("read", running.url, "library://catalogue").out)

    def test_a_process_of_its_own(self) -> None:
        with HTTPServer(demo, port=0) as running:
            command = [sys.executable, "-m", "mcp_ref", "call", running.url, "greet", "--stdin"]
            done = subprocess.run(command, input="Ada\ns\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  encoding="utf-8", timeout=60)
            self.assertEqual((done.returncode, done.stdout), (0, "Hello, Ada!\n"), done.stderr)
            done = subprocess.run(command, input="Zoë\nAda\ns\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  encoding="utf-8", timeout=60, env={**os.environ, "PYTHONIOENCODING": "ascii"})
            self.assertEqual((done.returncode, done.stdout), (0, "Hello, Ada!\n"), done.stderr)
            self.assertIn("That must be text in the encoding of this terminal.", done.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "this system has no device that is full")
    def test_what_is_said_on_the_way_and_cannot_be_written(self) -> None:
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
        with Stub(events(note, last=said())) as stub, open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([sys.executable, "-m", "mcp_ref", "call", stub.url, "t", "--era", "modern"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=full, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (1, b""))

    @unittest.skipIf(os.name == "nt", "no shell of this kind")
    def test_streams_that_are_closed(self) -> None:
        """What would go to a stream that is closed goes nowhere, and not to the other one."""
        with Stub(asks(FORM), result(contents=[{"uri": "b", "blob": "/w=="}])) as stub:
            for closed, words, status in ((2, ["call", stub.url, "t"], 1), (1, ["read", stub.url, "x"], 0),
                                          (2, ["list", "x"], 2), (2, ["list"], 2)):
                command = [sys.executable, "-m", "mcp_ref", *words, "--era", "modern"]
                done = subprocess.run(["sh", "-c", f'"$@" {closed}>&-', "sh", *command], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (status, b"", b""), words)


if __name__ == "__main__":
    unittest.main()
