"""The command line of the server: it starts, says where it is, is told what is wrong, and stops cleanly."""

import base64
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from mcp_ref.base.errors import ERRORS
from mcp_ref.cli.faults import called
from mcp_ref.cli.program import parser
from mcp_ref.cli.serve import load_server
from mcp_ref.explain import explain, ids_in, statements
from mcp_ref.ladder import LADDER

from .support import ROOT, RawClient, message, not_on_wasm, proves, working_in
from .support import run_command as run


class Serving(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, *arguments, cwd=None, **environment):
        process = subprocess.Popen([sys.executable, "-m", "mcp_ref", "serve", *arguments], cwd=cwd or self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                                   env={**os.environ, "PYTHONPATH": str(ROOT), **environment})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def banner(self, process):
        lines = [process.stdout.readline() for _ in range(4)]
        self.assertTrue(lines[0], "no banner was printed")
        return re.search(r"http://\S+", lines[0]).group(), lines[2]

    def module(self, name, text):
        (self.folder / f"{name}.py").write_text(text, encoding="utf-8")

    def fails(self, *arguments, says, **environment):
        with working_in(self.folder):
            status, out, err = run("serve", *arguments, **environment)
        self.assertEqual((status, out), (2, ""), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(says, err)

    def served(self, *arguments, ask):
        """What `ask` gives of a client of `serve` in this process, and of the lines it printed."""
        given = []

        def wait(announce):
            announce()
            lines = sys.stdout.getvalue().splitlines()
            with RawClient(re.search(r"http://\S+", lines[0]).group()) as client:
                given.append(ask(client, lines))

        with mock.patch("mcp_ref.transports.http_server.wait_for_signal", wait), \
                mock.patch("mcp_ref.cli.serve._allow_open_files"):
            self.assertEqual(run("serve", "--port", "0", *arguments)[0], 0)
        return given[0]

    def test_the_demo_answers_and_stops_at_either_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start("--port", "0")
            url, _ = self.banner(process)
            with RawClient(url) as client:
                client.request(message("tools/call", {"name": "echo", "arguments": {"text": "hi"}}))
                self.assertEqual(client.response().json["result"]["content"][0]["text"], "hi")
                process.send_signal(number)
                self.assertEqual(process.wait(60), 0)
            self.assertEqual(process.stderr.read(), "")

    @unittest.skipUnless(hasattr(signal, "pthread_kill"), "this system does not send signals to one thread")
    def test_a_signal_that_another_thread_takes_stops_it_too(self):
        lines = ("import signal, threading", "from mcp_ref import Server", "server = Server('stopping', '1')",
                 "@server.tool", "def stop() -> str:",
                 "    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)", "    return 'stopped'")
        self.module("stopping", "\n".join(lines))
        process = self.start("stopping:server", "--port", "0")
        with RawClient(self.banner(process)[0]) as client:
            client.request(message("tools/call", {"name": "stop"}))
            self.assertIn(b"stopped", client.response().body)
            self.assertEqual(process.wait(60), 0)

    def test_a_handler_that_never_ends_does_not_keep_the_process(self):
        lines = ("import asyncio, threading", "from mcp_ref import Server", "server = Server('stuck', '1')",
                 "@server.tool", "async def wait(ctx) -> str:", "    ctx.progress(1)",
                 "    await asyncio.to_thread(threading.Event().wait)", "    return ''")
        self.module("stuck", "\n".join(lines))
        process = self.start("stuck:server", "--port", "0", "--grace", "0.1")
        with RawClient(self.banner(process)[0]) as client:
            body = message("tools/call", {"name": "wait"})
            body["params"]["_meta"]["progressToken"] = 1
            client.request(body)
            client.head()
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), 0)

    def test_an_answer_under_way_is_finished(self):
        process = self.start("--port", "0")
        url, _ = self.banner(process)
        with RawClient(url) as client:
            body = message("tools/call", {"name": "count", "arguments": {"to": 3, "pause": 0.2}})
            body["params"]["_meta"]["progressToken"] = 1
            client.request(body)
            client.head()
            process.send_signal(signal.SIGTERM)
            chunks = b"".join(iter(client.chunk, b""))
        self.assertIn(b"counted to 3", chunks)
        self.assertEqual(process.wait(60), 0)

    @unittest.skipUnless(shutil.which("curl"), "curl is not here: its line is not tried")
    def test_the_curl_line_can_be_pasted(self):
        def paste(_, lines):
            self.assertTrue(lines[0].endswith("/other"))
            return subprocess.run(shlex.split(lines[2]), capture_output=True, text=True, timeout=60).stdout

        self.assertIn('"name":"echo"', self.served("--path", "/other", ask=paste))

    def test_a_server_of_ones_own_with_trace_and_origin(self):
        self.module("travel", "from mcp_ref import Server\nserver = Server('travel', '1')\n"
                              "@server.tool\ndef book(ctx, flight: str) -> str:\n    return flight\n")
        process = self.start("travel:server", "--port", "0", "--trace", "--origin", "https://app.example")
        url, _ = self.banner(process)
        with RawClient(url) as client:
            client.request(message("tools/call", {"name": "book", "arguments": {"flight": "MC1"}}),
                           origin="https://app.example")
            self.assertEqual(client.response().status, 200)
            client.request(message("nothing", id=2))
            self.assertEqual(client.response().status, 404)
            client.request(message("tools/call", {"name": "nothing"}, id=3))
            self.assertEqual(client.response().status, 400)
        passed = [f"{rung.name} ok" for rung in LADDER]
        self.assertRegex(process.stderr.readline(), "^tools/call id=1: " + " ".join(passed) +
                         r" handler ok -> 200 complete \(book, round 1\) [0-9.]+ ms$")
        self.assertRegex(process.stderr.readline(), "^nothing id=2: " + " ".join(passed[:-1]) +
                         " method NO -> 404 -32601 Method not found [0-9.]+ ms$")
        self.assertIn(" ".join(passed) + " handler NO -> 400 -32602", process.stderr.readline())

    def test_a_module_or_a_file_with_one_server(self):
        self.module("travel", "from mcp_ref import Server\nimport helper\nmade = again = Server(helper.NAME, '1')\n")
        self.module("helper", "NAME = 'travel'")
        self.module("two", "from travel import made\nfrom mcp_ref import Server\nother = Server('x', '1')")
        (self.folder / "my-server.py").write_text("import mcp_ref\nx = mcp_ref.Server('mine', '1')", encoding="utf-8")
        away = self.folder / "away"
        away.mkdir()
        whole = str(self.folder / "travel.py")
        for name, found in (("travel", "travel"), ("travel.py", "travel"), (whole, "travel"),
                            ("../travel.py:again", "travel"), ("../my-server.py", "mine"), ("two:other", "x")):
            with working_in(self.folder):
                os.chdir(away if "/" in name else self.folder)
                self.assertEqual(load_server(name).name, found, name)
        self.assertIn("mine at", self.start("my-server.py", "--port", "0").stdout.readline())
        self.fails("two", says="several servers; say which: two:made, two:other")
        self.fails("helper.py", says="helper.py has no Server")
        self.fails("none.py", says="no file none.py")
        self.fails("two:helper", says="has no helper")

    def test_a_server_of_another_copy_is_named_with_both(self):
        shutil.copytree(ROOT / "mcp_ref", self.folder / "vendored", ignore=shutil.ignore_patterns("__pycache__"))
        self.module("travel", "from vendored import Server\nclass Mine(Server):\n    pass\nserver = Mine('x', '1')")
        for name in ("travel", "travel:server", "travel.py"):
            self.fails(name, says="Server of another copy of this package: it comes from vendored in "
                                  f"{self.folder / 'vendored'}, and this is mcp_ref in {ROOT / 'mcp_ref'}")

    def test_bounds_of_the_transport_and_the_state(self):
        process = self.start("--port", "0", "--state-ttl", "60", "--trace")
        with RawClient(self.banner(process)[0]) as client:
            client.request(message("tools/call", {"name": "greet"}))
            token = client.response().json["result"]["requestState"].split(".")[1]
            expiry = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))[0]
            self.assertTrue(0 < expiry - time.time() * 1000 <= 60_000)
        self.assertIn("-> 200 input_required (greet, round 1) ", process.stderr.readline())
        for option in ("--state-ttl", "--max-body"):
            self.assertEqual(run("serve", option, "x")[0], 2)

    def test_a_body_beyond_the_bound(self):
        def send(client, _):
            client.request(message("tools/call", {"name": "echo", "arguments": {"text": "x" * 1000}}))
            return client.response().status

        self.assertEqual(self.served("--max-body", "1000", ask=send), 413)
        self.fails("--max-body", "0", says="0")

    def test_health(self):
        def send(client, _):
            client.send(b"GET /healthz HTTP/1.1\r\nHost: probe.example\r\n\r\n")
            return client.response().status

        self.assertEqual(self.served("--health", "/healthz", ask=send), 200)

    def test_eras_and_sessions(self):
        self.module("mine", "from mcp_ref import Server\nserver = Server('mine', '1')\n")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                           "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})

        def send(client, _):
            client.send((f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
            reply = client.response()
            client.request(message("server/discover"))
            return reply.status, "mcp-session-id" in reply.headers, client.response().status

        for options, expected in (((), (200, True, 200)), (("--era", "dual"), (200, True, 200)),
                                  (("--era", "modern"), (400, False, 200)),
                                  (("--legacy-sessions", "off"), (200, False, 200)),
                                  (("--legacy-sessions=on",), (200, True, 200))):
            with working_in(self.folder):
                self.assertEqual(self.served("mine", *options, ask=send), expected, options)

    def test_what_cannot_be_served(self):
        self.module("broken", "\n1/0")
        self.module("painted", "raise ValueError('\\x1b[31m')")
        self.fails("painted", says="ValueError: \\x1b[31m")
        self.module("garbled", "def")
        self.module("empty", "server = 7")
        self.module("wrong", "import os\nos.nothing")
        self.module("leaves", "raise SystemExit(3)")
        self.fails("travel", says="MODULE:SERVER")
        self.fails("nowhere:server", says="nowhere")
        where = f"({self.folder / 'broken.py'}, line 2)"
        self.fails("broken:server", says=f"ZeroDivisionError: division by zero {where}")
        self.fails("garbled.py", says="SyntaxError")
        self.fails("a/b", says="MODULE:SERVER")
        self.fails("empty:server", says="not a mcp_ref Server")
        self.fails("empty:other", says="other")
        self.fails("wrong:server", says="nothing")
        self.fails("leaves:server", says="SystemExit")
        self.fails("--origin", "app.example", says="web origin")
        self.fails("--path", "mcp", says="begins with /")
        self.fails("--path", "/mcp?a", says="'/mcp?a'")
        self.fails("--keep-alive", "0", says="keep-alive")
        self.fails("--keep-alive", "nan", says="keep-alive")
        self.fails("--port", "99999", says="99999")
        for grace in ("-1", "nan"):
            self.fails("--grace", grace, says=f"--grace is a number of seconds of at least 0, not {grace}")
        for place in ("--host", "--unix"):
            self.fails(place, "", says="name a place to listen on, and are not empty")
        self.fails("--host", "no.such.host.invalid", says="no.such.host.invalid")
        self.fails("--state-key-env", "NO_SUCH_KEY", says="NO_SUCH_KEY")
        self.fails("--state-key-env", "KEY", KEY="short", says="16")
        with socket.socket() as busy:
            busy.bind(("127.0.0.1", 0))
            busy.listen()
            self.fails("--port", str(busy.getsockname()[1]), says="in use; --port names another")

    @proves("C031")
    def test_two_processes_share_a_key(self):
        keyed = [self.banner(self.start("--port", "0", "--state-key-env", "KEY", KEY="k" * 32))[0] for _ in range(2)]
        own = self.banner(self.start("--port", "0"))[0]
        with RawClient(keyed[0]) as client:
            client.request(message("tools/call", {"name": "greet"}))
            state = client.response().json["result"]["requestState"]
        retry = message("tools/call", {"name": "greet", "requestState": state, "inputResponses": {
            "name": {"action": "accept", "content": {"name": "Ada"}}}})
        for url, status in ((keyed[0], 200), (keyed[1], 200), (own, 400)):
            with RawClient(url) as client:
                client.request(retry)
                self.assertEqual(client.response().status, status, url)


class Explaining(unittest.TestCase):
    def test_the_ladder_and_its_parts(self):
        status, whole, _ = run("explain")
        self.assertEqual(status, 0)
        self.assertEqual([name for name in re.findall(r"^\d (\w+)", whole, re.M)],
                         [rung.name for rung in LADDER] + ["handler"])
        for topic, name in (("-32020", "mirrors"), ("accept", "accept"), ("406", "accept"), ("-32021", "handler")):
            status, text, _ = run("explain", topic)
            self.assertEqual(status, 0)
            self.assertIn(name, text)
            self.assertLess(len(text), len(whole))
        for topic in ("banana", "", "#top", "-1", "None", "\x1b[31m"):
            status, _, err = run("explain", topic)
            self.assertEqual((status, len(err.splitlines())), (2, 1))
            self.assertNotIn("\x1b", err)

    def test_a_code_or_a_status_marks_its_lines(self):
        for topic in [str(error.defined) for error in ERRORS] + ["406", "413"]:
            marked = [line for line in explain(topic).splitlines() if line.startswith("  > answers")]
            self.assertTrue(marked, topic)
            self.assertTrue(all(topic in line.split()[2:4] for line in marked), marked)
            others = [line for line in explain(topic).splitlines() if line.startswith("    answers")]
            self.assertFalse(any(topic in line.split()[1:3] for line in others), topic)
        self.assertNotIn("  > ", explain() + explain("accept"))
        self.assertEqual((explain("32021"), explain("Accept")), (explain("-32021"), explain("accept")))

    def test_an_id(self):
        for topic in ("HTTP-14", "http-14"):
            text = explain(topic)
            for words in ("HTTP-14  A request is answered either as", "level    MUST (server, http)",
                          "page     basic/transports/streamable-http#sending-messages",
                          "module   transports.", "test     test_http_server.Streams.test_progress"):
                self.assertIn(words, text)
        self.assertIn("rung     version\n    module   ladder\n", explain("HTTP-25"))
        for row in statements()[::40]:
            self.assertIn(row.sentence, explain(row.id))
        self.assertEqual(list(ids_in("BASE-01, HTTP-34 to HTTP-36, CANC-06 to 07 and MRTR-01..02 (RFC-1)")),
                         ["BASE-01", "HTTP-34", "HTTP-35", "HTTP-36", "CANC-06", "CANC-07", "MRTR-01", "MRTR-02"])

    def test_a_page(self):
        site = "https://modelcontextprotocol.io/specification/2026-07-28/"
        for topic in ("basic/patterns/mrtr", "mrtr", "MRTR", site + "basic/patterns/mrtr", "basic/patterns/mrtr.mdx",
                      site.replace("2026-07-28", "draft") + "basic/patterns/mrtr.md#no-section-of-ours"):
            text = explain(topic)
            self.assertTrue(text.startswith("basic/patterns/mrtr\n    module   "), topic)
            self.assertIn("patterns.state_sealer", text)
            self.assertEqual(len(re.findall("^    MRTR-", text, re.M)),
                             sum(row.page.startswith("basic/patterns/mrtr#") for row in statements()))
        section = explain("streamable-http#sending-messages")
        self.assertIn("HTTP-14", section)
        self.assertNotIn("HTTP-54", section)
        self.assertIn("\nbasic/transports/index\n", explain("index"))
        self.assertIn("basic/index", explain("index"))

    def test_away_from_the_repository_there_are_no_tests_to_name(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "mcp_ref", Path(folder) / "other", ignore=shutil.ignore_patterns("__pycache__"))
            done = subprocess.run([sys.executable, "-m", "other", "explain", "HTTP-14"], cwd=folder,
                                  capture_output=True, encoding="utf-8", timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("module   transports.", done.stdout)
        self.assertNotIn("test ", done.stdout)


class Program(unittest.TestCase):
    def test_every_command_has_help_with_the_statuses(self):
        status, text, _ = run("--help")
        self.assertEqual(status, 0)
        for command in parser()._subparsers._group_actions[0].choices:
            self.assertIn(command, text)
            status, told, _ = run(command, "--help")
            self.assertEqual(status, 0)
            for line in ("  0    done", "  1    ", "  2    ", "  3    ", "  130  "):
                self.assertIn("\n" + line, told, command)
            self.assertEqual("--no-input" in told, "asked in the terminal" in told, f"{command} asks, or does not")
        self.assertEqual(run()[::2], (2, text), "without a command, the help is what went wrong")

    def test_version(self):
        self.assertRegex(run("--version")[1], r"^mcp_ref \d+\.\d+\.\d+ \(Model Context Protocol 2026-07-28\)\n$")

    @not_on_wasm("needs processes")
    def test_it_is_named_as_it_was_called(self):
        with mock.patch.object(sys, "argv", ["/x/mcp_ref/__main__.py"]):
            self.assertRegex(called(), r"^py\S* -m mcp_ref$")
        for given in ("dist/mcp_ref.pyz", "/nowhere/mcp-ref"):
            with mock.patch.object(sys, "argv", [given]):
                self.assertEqual(called(), given)
                self.assertIn(f"usage: {given} ", run("--help")[1])
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "mcp-ref"
            script.touch(mode=0o755)
            with mock.patch.object(sys, "argv", [str(script)]), mock.patch.dict(os.environ, {"PATH": folder}):
                self.assertEqual(called(), "mcp-ref")
            shutil.copytree(ROOT / "mcp_ref", Path(folder) / "app" / "_vendor" / "mcp_ref",
                            ignore=shutil.ignore_patterns("__pycache__"))
            done = subprocess.run([sys.executable, "-m", "app._vendor.mcp_ref", "--help"], cwd=folder,
                                  capture_output=True, encoding="utf-8", timeout=60)
            self.assertIn(" -m app._vendor.mcp_ref [-h]", done.stdout)

    def test_secrets_are_not_repeated(self):
        for words in (("discover", "http://x/", "--headr", "Authorization: Bearer s3cret"),
                      ("discover", "http://x/", "--headers=X-Api-Key: s3cret"), ("discover", "a", "http://u:s3cret@x/"),
                      ("call", "http://x/", "t", "--timeout", "token=s3cret"),
                      ("list", "http://x/", "--api-key", "s3cret", "--nope=s3cret", "x"),
                      ("list", "http://x/", "--login=s3cret"), ("list", "http://x/", "--bearer=s3cret"),
                      ("list", "http://x/", "--header", "Authorization:", "Bearer", "s3cret"),
                      ("list", "http://x/", "--header=Cookie:", "a=b;", "c=s3cret", "--raw")):
            status, out, err = run(*words)
            self.assertEqual(status, 2, err)
            self.assertNotIn("s3cret", out + err)
        self.assertIn("--state-key-env", run("serve", "--state-key-env")[2])
        self.assertRegex(run("list", "http://x/", "--x", "1", "--y=2", "3")[2],
                         "unrecognized arguments: --x( …)? --y …\n")  # Python 3.14 takes the 1 for a NAME
        self.assertIn("unrecognized arguments: b --y\n", run("list", "http://x/", "a", "b", "--y")[2])

    @unittest.skipUnless(os.path.exists("/dev/full"), "this system has no device that is full")
    def test_output_that_cannot_be_written(self):
        for words in (["explain"], ["serve", "--port", "0"], ["--version"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([sys.executable, "-m", "mcp_ref", *words], cwd=ROOT, stdout=full,
                                      stderr=subprocess.PIPE, encoding="utf-8", timeout=60)
            self.assertEqual((done.returncode, done.stderr),
                             (1, "mcp_ref: the input or the output failed: No space left on device\n"), words)

    @unittest.skipIf(os.name == "nt", "no pipes of this kind")
    def test_output_that_nobody_reads_on(self):
        for words in ("explain", "--version"):
            ours, theirs = os.pipe()
            os.close(ours)
            try:
                done = subprocess.run([sys.executable, "-m", "mcp_ref", words], cwd=ROOT, stdout=theirs,
                                      stderr=subprocess.PIPE, encoding="utf-8", timeout=60)
            finally:
                os.close(theirs)
            self.assertEqual((done.returncode, done.stderr), (1, ""))


if __name__ == "__main__":
    unittest.main()
