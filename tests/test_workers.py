"""`serve --workers`: processes that share a port, a key and news, and that die and end as they should."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from mcp_ref import Client
from mcp_ref.transports import workers
from mcp_ref.transports.workers import Workers

from .support import ROOT, RawClient, asking, run_command

SERVER = """
import os, time
from mcp_ref import Server

server = Server("several", "1")

@server.tool
def who(ctx) -> str:
    return str(os.getpid())

@server.tool
def asked(ctx) -> str:
    before = str(os.getpid())
    agreed = ctx.elicit("Go on?", bool).value
    return f"{before} {agreed}"

@server.tool
def tell(ctx) -> str:
    server.notify_tools_changed()
    return str(os.getpid())

@server.tool
def die(ctx) -> str:
    os._exit(3)

@server.tool
def hang(ctx) -> str:
    ctx.progress(1)
    time.sleep(600)
"""


@unittest.skipUnless(hasattr(os, "fork"), "needs fork")
class Several(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "several.py").write_text(SERVER, encoding="utf-8")

    def serve(self, *options):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.folder)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mcp_ref", "serve", "several.py", "--port", "0", "--workers", "2", *options],
            cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(self.end)
        line = self.process.stdout.readline()
        self.url = re.search(r"http\S+", line).group()
        return self.process

    def end(self):
        self.process.kill()
        self.process.communicate()

    def ask(self, tool, **options):
        with Client(self.url, timeout=30, **options) as client:
            return client.call_tool(tool)["content"][0]["text"]

    def workers(self):
        """The processes that answer, once there are two."""
        found = set()
        deadline = time.monotonic() + 30
        while len(found) < 2 and time.monotonic() < deadline:
            found |= {int(each) for each in together(lambda: self.ask("who"), 8)}
        self.assertEqual(len(found), 2)
        return found

    def gone(self, processes):
        """Whether none of them is there any more, within the time that that may take."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if not any(alive(process) for process in processes):
                return True
            time.sleep(0.02)
        return False

    def test_a_round_is_answered_by_whichever_process(self):
        self.serve()
        self.workers()
        seen = {}
        for _ in range(100):
            with Client(self.url, timeout=30, on_elicit=lambda _: {"value": True}) as client:
                first = client.call_tool("who")["content"][0]["text"]
                client.close()
                said = self.ask("asked", on_elicit=lambda _: {"value": True})
            seen[(first, said)] = None
            self.assertRegex(said, r"^\d+ True$")
            if len({process for process, _ in seen}) == 2:
                return
        self.fail("one process answered all")

    def test_the_streams_of_all_hear_what_one_announces(self):
        self.serve()
        processes = self.workers()
        streams, clients = [], []
        for _ in range(6):
            clients.append(Client(self.url, timeout=30))
            streams.append(clients[-1].listen(tools=True))
            self.addCleanup(clients[-1].close)
        teller = int(self.ask("tell"))
        self.assertIn(teller, processes)
        for stream in streams:
            self.assertEqual(next(iter(stream))["method"], "notifications/tools/list_changed")
        other = (processes - {teller}).pop()
        os.kill(teller, signal.SIGKILL)
        self.assertTrue(self.gone({teller}))
        told = int(self.ask("tell"))
        self.assertNotEqual(told, teller)
        self.assertTrue(alive(other))

    def test_one_that_dies_has_a_successor(self):
        self.serve()
        first = self.workers()
        with self.assertRaises(Exception):
            self.ask("die")
        then = self.workers()
        self.assertEqual(len(first & then), 1)
        self.process.terminate()
        out, err = self.process.communicate(timeout=30)
        self.assertEqual(self.process.returncode, 0)
        self.assertEqual(len(re.findall("ended with status 3; another takes its place", err)), 1)
        self.assertTrue(self.gone(first | then))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("mcp-")], [])

    def test_signals_stop_all_within_the_grace_period(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.serve("--grace", "0.3")
            processes = self.workers()
            with RawClient(self.url) as client:
                client.request(asking("hang", token=1))
                client.head()
                self.process.send_signal(number)
                self.assertEqual(self.process.wait(30), 0)
            self.assertTrue(self.gone(processes))
            with self.assertRaises(OSError):
                RawClient(self.url)
            self.end()

    def test_a_key_of_ctrl_c_reaches_all_at_once(self):
        self.serve()
        processes = self.workers()
        for process in (*processes, self.process.pid):
            os.kill(process, signal.SIGINT)
        self.assertEqual(self.process.wait(30), 0)
        self.assertTrue(self.gone(processes))

    def test_no_orphans_when_the_parent_is_killed(self):
        self.serve()
        processes = self.workers()
        self.process.kill()
        self.process.wait()
        self.assertTrue(self.gone(processes))

    def test_a_unix_socket_is_shared_too(self):
        path = str(self.folder / "s")
        self.serve("--unix", path)
        self.assertTrue(os.path.exists(path))
        self.process.terminate()
        self.assertEqual(self.process.wait(30), 0)
        self.assertFalse(os.path.exists(path))

    def test_older_clients_have_no_session_in_one_of_them(self):
        self.serve()
        with RawClient(self.url) as client:
            client.request({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}},
                mcp_protocol_version=None, mcp_method=None)
            begun = client.response()
            self.assertEqual(begun.json["result"]["protocolVersion"], "2025-11-25")
            self.assertNotIn("mcp-session-id", begun.headers)
        status, _, err = run_command("serve", "--workers", "2", "--legacy-sessions", "on")
        self.assertEqual(status, 2)
        self.assertIn("--legacy-sessions on is for one process", err)

    def test_wrong_numbers(self):
        for number in ("0", "-1"):
            status, _, err = run_command("serve", "--workers", number)
            self.assertEqual(status, 2)
            self.assertIn(f"at least 1, not {number}", err)


class Pace(unittest.TestCase):
    """One that dies at once is not forked again at once."""

    def made(self):
        made = Workers(3, lambda: 0, 1.0) if hasattr(os, "fork") else self.skipTest("needs fork")
        made._due = [0.0] * 3
        return made

    def test_a_place_is_filled_once_a_second(self):
        made, forks, now = self.made(), [], [100.0]

        def fork(self):
            forks.append(now[0])
            self._began[len(forks)] = now[0]

        with mock.patch.object(Workers, "_fork", fork), \
                mock.patch.object(workers.time, "monotonic", lambda: now[0]), \
                mock.patch.object(workers.os, "waitpid", lambda process, _: (process, 0)):
            for _ in range(1000):
                made._fill()
                made._reap()
                now[0] += 0.01
        self.assertLessEqual(len(forks), 3 * 11)
        self.assertGreaterEqual(len(forks), 3 * 9)

    def test_a_system_without_processes_to_spare_is_asked_again(self):
        made = self.made()
        with mock.patch.object(Workers, "_fork", mock.Mock(side_effect=OSError("none left"))):
            with self.assertLogs("mcp_ref", "ERROR"):
                made._fill()
        self.assertEqual(len(made._due), 3)
        self.assertGreater(min(made._due), time.monotonic())

    def test_a_system_that_cannot_fork(self):
        lacking = mock.patch.object(workers, "os", mock.Mock(spec=["getpid"]))
        with lacking, self.assertRaisesRegex(OSError, "one process"):
            Workers(2, lambda: 0, 1.0)


def together(function, count):
    """What `function` returns, called in so many threads at once."""
    results = []
    threads = [threading.Thread(target=lambda: results.append(function())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:  # one that has ended, and whose parent has not asked for it, is gone too
        return " Z " not in Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except OSError:
        return not os.path.exists("/proc")


if __name__ == "__main__":
    unittest.main()
