"""The command line of the server: it starts, says where it is, is told what is wrong, and stops cleanly."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from mcp_ref import cli
from mcp_ref.ladder import LADDER

from .support import ROOT, RawClient, message


class Serving(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, *arguments, **environment):
        process = subprocess.Popen([sys.executable, "-m", "mcp_ref", "serve", *arguments], cwd=self.folder, text=True,
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
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (2, ""), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(says, err)

    def test_the_demo_answers_and_stops_at_either_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start("--port", "0")
            url, _ = self.banner(process)
            with RawClient(url) as client:
                client.request(message("tools/call", {"name": "echo", "arguments": {"text": "hi"}}))
                self.assertEqual(client.response().json["result"]["content"][0]["text"], "hi")
                process.send_signal(number)
                self.assertEqual(process.wait(10), 0)
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
            self.assertEqual(process.wait(10), 0)

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
            self.assertEqual(process.wait(10), 0)

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
        self.assertEqual(process.wait(10), 0)

    @unittest.skipUnless(shutil.which("curl"), "curl is not here: its line is not tried")
    def test_the_curl_line_can_be_pasted(self):
        url, line = self.banner(self.start("--port", "0", "--path", "/other"))
        self.assertTrue(url.endswith("/other"))
        done = subprocess.run(shlex.split(line), capture_output=True, text=True, timeout=20)
        self.assertIn('"name":"echo"', done.stdout)

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
        self.assertEqual(process.stderr.readline(), "tools/call id=1: " + " ".join(passed) + "\n")
        self.assertEqual(process.stderr.readline(),
                         "nothing id=2: " + " ".join(passed[:-1]) + " method NO -> 404 -32601 Method not found\n")
        self.assertIn(" ".join(passed) + " handler NO -> 400 -32602", process.stderr.readline())

    def test_what_cannot_be_served(self):
        self.module("broken", "1/0")
        self.module("empty", "server = 7")
        self.module("wrong", "import os\nos.nothing")
        self.module("leaves", "raise SystemExit(3)")
        self.fails("travel", says="MODULE:SERVER")
        self.fails("nowhere:server", says="nowhere")
        self.fails("broken:server", says="ZeroDivisionError")
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
        self.fails("--host", "no.such.host.invalid", says="no.such.host.invalid")
        self.fails("--state-key-env", "NO_SUCH_KEY", says="NO_SUCH_KEY")
        self.fails("--state-key-env", "KEY", KEY="short", says="16")
        with socket.socket() as busy:
            busy.bind(("127.0.0.1", 0))
            busy.listen()
            self.fails("--port", str(busy.getsockname()[1]), says="in use")

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
    def run_cli(self, *arguments):
        done = subprocess.run([sys.executable, "-m", "mcp_ref", *arguments], cwd=ROOT, capture_output=True,
                              encoding="utf-8", timeout=20)
        return done.returncode, done.stdout, done.stderr

    def test_explain(self):
        status, whole, _ = self.run_cli("explain")
        self.assertEqual(status, 0)
        self.assertEqual([name for name in re.findall(r"^\d (\w+)", whole, re.M)],
                         [rung.name for rung in LADDER] + ["handler"])
        for topic, name in (("-32020", "mirrors"), ("accept", "accept"), ("406", "accept"), ("-32021", "handler")):
            status, text, _ = self.run_cli("explain", topic)
            self.assertEqual(status, 0)
            self.assertIn(name, text)
            self.assertLess(len(text), len(whole))
        status, _, err = self.run_cli("explain", "banana")
        self.assertEqual((status, len(err.splitlines())), (2, 1))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no device here that is full")
    def test_a_full_device_is_told_in_one_line(self):
        for arguments in (["serve", "--port", "0"], ["explain"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([sys.executable, "-m", "mcp_ref", *arguments], cwd=ROOT, stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=20)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, r"\Amcp_ref: [^\n]+\n\Z")

    def test_a_reader_that_left_is_no_news(self):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run([sys.executable, "-m", "mcp_ref", "explain"], cwd=ROOT, stdout=writing,
                                  stderr=subprocess.PIPE, text=True, timeout=20)
        finally:
            os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (1, ""))

    def test_every_command_has_help(self):
        status, text, _ = self.run_cli("--help")
        self.assertEqual(status, 0)
        for command in cli.parser()._subparsers._group_actions[0].choices:
            self.assertIn(command, text)
            status, told, _ = self.run_cli(command, "--help")
            self.assertEqual(status, 0)
            self.assertEqual("--no-input" in told, "asked in the terminal" in told, f"{command} asks, or does not")
        self.assertEqual(self.run_cli()[::2], (2, text), "without a command, the help is what went wrong")


if __name__ == "__main__":
    unittest.main()
