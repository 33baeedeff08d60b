"""A server in a program's own threads, and on a Unix socket."""

import errno
import io
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from mcp_ref import Client, HTTPServer, Limits, Server

from .support import ROOT, RawClient, echo_server, message, run_command, until

UNIX = unittest.skipUnless(hasattr(socket, "AF_UNIX"), "this system has no Unix sockets")


class Embedded(unittest.TestCase):
    def setUp(self):
        self.server = echo_server()
        self.addCleanup(self.server.stop)

    def echo(self, url):
        with Client(url) as client:
            return client.call_tool("echo", {"text": "hi"})["content"][0]["text"]

    def test_started_from_any_thread_and_stopped_twice(self):
        begun = []
        thread = threading.Thread(target=lambda: begun.append(self.server.start(port=0)))
        thread.start()
        thread.join()
        url = begun[0].url
        self.assertEqual(self.echo(url), "hi")
        stopping = [threading.Thread(target=self.server.stop) for _ in range(3)]
        for each in stopping:
            each.start()
        for each in stopping:
            each.join(20)
        self.server.stop()
        with self.assertRaises(OSError):
            RawClient(url)

    def test_who_goes_on_after_serving_is_interrupted_as_before(self):
        heard = []
        before = {each: signal.signal(each, lambda number, _: heard.append(number))
                  for each in (signal.SIGINT, signal.SIGTERM)}
        self.addCleanup(lambda: [signal.signal(*pair) for pair in before.items()])
        ours = signal.getsignal(signal.SIGTERM)

        def end():
            until(lambda: signal.getsignal(signal.SIGTERM) is not ours)
            os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=end)
        thread.start()
        self.server.serve(port=0)
        thread.join()
        self.assertEqual(heard, [])
        echo_server().serve_stdio(io.BytesIO(), io.BytesIO())
        for each in before:
            os.kill(os.getpid(), each)
        until(lambda: heard == list(before))

    def test_again_on_the_same_port_and_several_at_once(self):
        with self.server.start(port=0) as first:
            port = first.server_address[1]
            with self.server.start(port=0, path="/other") as second:
                self.assertEqual((self.echo(first.url), self.echo(second.url)), ("hi", "hi"))
            with self.assertRaises(OSError) as caught:
                self.server.start(port=port)
            self.assertEqual(caught.exception.errno, errno.EADDRINUSE)
        with self.server.start(port=port) as again:
            self.assertEqual(self.echo(again.url), "hi")
        with self.assertRaises(RuntimeError):
            again.start()
        self.server.stop()

    def test_options_are_those_of_serve(self):
        for wrong in ({"path": "x"}, {"keep_alive": 0}, {"origins": ["x"]}, {"health": "/mcp"}):
            with self.assertRaises(ValueError):
                self.server.start(port=0, **wrong)
        running = self.server.start(port=0, path="/a", health="/up", limits=Limits(max_body=10))
        with RawClient(running.url) as client:
            client.send(b"GET /up HTTP/1.1\r\n\r\n")
            self.assertEqual(client.response().status, 200)

    def test_streams_are_ended_by_stop(self):
        with Client(self.server.start(port=0).url) as client, client.listen(tools=True) as news:
            self.server.stop()
            self.assertEqual(list(news), [])

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_in_a_fork_nothing_runs_and_stop_disturbs_nobody(self):
        code = ("import os; from tests.support import echo_server; from mcp_ref import Client\n"
                "server = echo_server(); running = server.start(port=0); path = os.path.abspath('s')\n"
                "import tempfile; path = tempfile.mkdtemp() + '/s'; unix = server.start(unix=path)\n"
                "child = os.fork()\n"
                "if not child:\n"
                "    server.stop(); running.stop()\n"
                "    with server.start(port=0) as own: Client(own.url).call_tool('echo', {'text': 'x'})\n"
                "    os._exit(7)\n"
                "assert os.waitpid(child, 0)[1] == 7 << 8\n"
                "assert os.path.exists(path)\n"
                "print(Client(running.url).call_tool('echo', {'text': 'still'})['content'][0]['text'])\n"
                "server.stop(); assert not os.path.exists(path); os.rmdir(os.path.dirname(path))")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("still\n", ""))

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_async_handlers_run_on_both_sides_of_a_fork(self):
        code = ("import os; from mcp_ref import Client, Server\n"
                "server = Server('s', '1')\n"
                "async def t() -> str: return 'ran'\n"
                "server.tool(t); run = lambda: Client(server).call_tool('t')['content'][0]['text']\n"
                "run(); child = os.fork()\n"
                "if not child: os._exit(7 if run() == 'ran' else 1)\n"
                "import time; end = time.monotonic() + 20\n"
                "while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end: time.sleep(0.01)\n"
                "print(ended[1] == 7 << 8, run())\n"
                "if not ended[0]: os.kill(child, 9)")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("True ran\n", ""))


@UNIX
class OnAUnixSocket(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "s")
        self.server = echo_server()
        self.addCleanup(self.server.stop)

    def ask(self, host="localhost", body=None):
        client = RawClient.__new__(RawClient)
        client.socket, client.buffer, client.host = socket.socket(socket.AF_UNIX), b"", host
        with client:
            client.socket.settimeout(20)
            client.socket.connect(self.path)
            client.request(body or message("tools/list"))
            return client.response()

    def test_the_file_is_the_owners_and_goes_at_the_end(self):
        running = self.server.start(unix=self.path)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        self.assertEqual(self.ask().status, 200)
        self.assertEqual(running.url, f"http+unix://{self.path.replace('/', '%2F')}/mcp")
        self.server.stop()
        self.assertFalse(os.path.exists(self.path))

    def test_host_is_asked_as_on_loopback(self):
        self.server.start(unix=self.path, origins=["https://app.example"], host="0.0.0.0")
        for host, status in (("localhost", 200), ("app.example", 200), ("evil.example", 403)):
            self.assertEqual(self.ask(host).status, status, host)

    def test_a_stale_file_is_replaced_and_a_live_one_refused(self):
        left = socket.socket(socket.AF_UNIX)
        left.bind(self.path)
        left.close()
        self.server.start(unix=self.path)
        self.assertEqual(self.ask().status, 200)
        with self.assertRaises(OSError) as caught:
            HTTPServer(self.server, unix=self.path)
        self.assertEqual(caught.exception.errno, errno.EADDRINUSE)
        self.assertEqual(self.ask().status, 200, "and it is still there")
        status, _, err = run_command("serve", "--unix", self.path)
        self.assertEqual((status, err), (2, f"mcp_ref: cannot serve on {self.path}: another server listens there\n"))

    def test_what_is_no_socket_is_left_alone(self):
        Path(self.path).write_text("mine", encoding="ascii")
        with self.assertRaises(FileExistsError):
            self.server.start(unix=self.path)
        self.assertEqual(Path(self.path).read_text(encoding="ascii"), "mine")
        with self.assertRaises(OSError) as caught:
            self.server.start(unix="/" + "x" * 200)
        self.assertEqual(caught.exception.errno, errno.ENAMETOOLONG)
        with self.assertRaises(FileNotFoundError):
            self.server.start(unix=os.path.join(os.path.dirname(self.path), "none", "s"))

    def test_a_successor_keeps_its_file(self):
        first = self.server.start(unix=self.path)
        os.unlink(self.path)
        self.server.start(unix=self.path)
        first.stop()
        self.assertEqual(self.ask().status, 200)

    def test_the_command_prints_a_line_for_curl(self):
        process = subprocess.Popen([sys.executable, "-m", "mcp_ref", "serve", "--unix", self.path], cwd=ROOT,
                                   stdout=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn("http+unix://", process.stdout.readline())
        process.stdout.readline()
        self.assertIn(f"curl -s --unix-socket {self.path} http://localhost/mcp -H", process.stdout.readline())
        self.assertEqual(self.ask().status, 200)
        process.terminate()
        self.assertEqual(process.wait(20), 0)
        self.assertFalse(re.search("s$", " ".join(os.listdir(os.path.dirname(self.path)))))


class Shape(unittest.TestCase):
    def test_nothing_runs_at_first(self):
        Server("s", "1").stop()


if __name__ == "__main__":
    unittest.main()
