"""The bus between processes: what one announces reaches the streams of all, once, whoever dies."""

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from mcp_ref import Server
from mcp_ref.patterns import relay
from mcp_ref.transports import bus
from mcp_ref.transports.bus import MAX_MESSAGE, UnixBus

from .support import ROOT, message, post

LISTEN = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["demo://one"]}}


class Recorder:
    """A bus that hands everything to all its servers at once, the sender too, and notes it."""

    def __init__(self):
        self.sent, self.hearers = [], []

    def publish(self, data):
        self.sent.append(data)
        for hear in self.hearers:
            hear(data)

    def subscribe(self, hear):
        self.hearers.append(hear)


def serving(**options):
    server = Server("s", "1", **options)
    server.add_tool(lambda: "", name="one")
    server.add_resource("demo://one", lambda: "1", name="one")
    return server


def listening(server):
    """A stream of it, its acknowledgment taken."""
    from mcp_ref.base.request import Request
    from mcp_ref.transports.memory import Memory

    body = json.dumps(message("subscriptions/listen", LISTEN)).encode()
    made = Memory(server).request(body, {"Mcp-Method": "subscriptions/listen", "MCP-Protocol-Version": "2026-07-28"})
    assert isinstance(made, Request)
    stream = server.handle(made).stream
    stream.take()
    return stream


def methods(stream):
    return [json.loads(data)["method"].rpartition("/")[2] for data in stream.take()]


class Relaying(unittest.TestCase):
    def test_every_process_is_told_once(self):
        between = Recorder()
        one, other = serving(bus=between), serving(bus=between)
        here, there = listening(one), listening(other)
        one.notify_tools_changed()
        other.notify_resource_updated("demo://one")
        other.notify_resource_updated("demo://two")
        for stream in (here, there):
            self.assertEqual(methods(stream), ["list_changed", "updated"])

    def test_without_a_bus_and_with_one_that_is_out_of_order(self):
        alone = serving()
        stream = listening(alone)
        alone.notify_tools_changed()
        self.assertEqual(methods(stream), ["list_changed"])
        broken = mock.Mock(**{"publish.side_effect": OSError("down"), "subscribe.side_effect": OSError("down")})
        with self.assertLogs("mcp_ref", "ERROR"):
            server = serving(bus=broken)
            stream = listening(server)
        with self.assertLogs("mcp_ref", "ERROR"):
            server.notify_tools_changed()
        self.assertEqual(methods(stream), ["list_changed"])
        post(server, message("tools/list"))
        self.assertEqual(broken.subscribe.call_count, 1, "it is not asked with every request")
        broken.subscribe.side_effect = None
        with mock.patch.object(relay.time, "monotonic", lambda: time.perf_counter() + 1e9):
            for _ in range(3):
                post(server, message("tools/list"))
        self.assertEqual(broken.subscribe.call_count, 2)

    def test_what_is_no_news_is_passed_over(self):
        between = Recorder()
        server = serving(bus=between)
        stream = listening(server)
        for data in (b"", b"\xff", b"[]", b"{}", b"7", b'"x"', b'{"method": "notifications/x"}', b'{"method": []}',
                     b'{"method": "notifications/resources/updated"}', b"[" * 5000,
                     b'{"method": "notifications/resources/updated", "uri": 7}'):
            between.publish(data)
        self.assertEqual(methods(stream), [])
        between.publish(b'{"method": "notifications/tools/list_changed"}')
        self.assertEqual(methods(stream), ["list_changed"])

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_process_is_another_one(self):
        between = Recorder()
        server = serving(bus=between)
        server.notify_tools_changed()
        with mock.patch.object(relay.os, "getpid", lambda: 1):
            server.notify_tools_changed()
            post(server, message("tools/list"))
            post(server, message("tools/list"))
        post(server, message("tools/list"))
        first, second = (json.loads(data)["from"] for data in between.sent[-2:])
        self.assertNotEqual(first, second)
        self.assertEqual(len(between.hearers), 2, "each process subscribes for itself, once")


MEMBER = """
import sys
from mcp_ref.transports.bus import UnixBus
bus = UnixBus(sys.argv[1])
bus.subscribe(lambda data: print(data.decode("ascii"), flush=True))
print("here", flush=True)
for line in sys.stdin:
    bus.publish(line.strip().encode("ascii"))
"""


@unittest.skipUnless(hasattr(socket, "AF_UNIX"), "this system has no Unix sockets")
class Unix(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "bus"

    def member(self):
        """A process on the bus, which prints what it hears and publishes what it is told."""
        process = subprocess.Popen([sys.executable, "-c", MEMBER, str(self.path)], cwd=ROOT, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, encoding="ascii", bufsize=1)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        late = threading.Timer(60, process.kill)  # who waits for a line of it then finds its end
        late.start()
        self.addCleanup(late.cancel)
        self.assertEqual(process.stdout.readline(), "here\n")
        return process

    def made(self):
        bus = UnixBus(self.path)
        self.addCleanup(bus.close)
        return bus

    def test_where_nobody_can_read_nothing_is_left_open(self):
        bus, made = self.made(), []

        class Kept(socket.socket):
            def __init__(self, *given):
                super().__init__(*given)
                made.append(self)
        for module, name in ((os, "chmod"), (threading.Thread, "start")):
            with self.subTest(name), mock.patch.object(module, name, side_effect=OSError), \
                    mock.patch.object(socket, "socket", Kept), self.assertRaises(OSError):
                bus.subscribe(print)
        self.assertEqual([each.fileno() for each in made], [-1, -1])
        self.assertEqual(os.listdir(self.path), [])
        _, await_ = self.heard(bus)
        bus.publish(b"x")
        await_(1)

    def heard(self, made):
        """What it hears, as a list, and a condition to wait on for it."""
        got, came = [], threading.Condition()

        def hear(data):
            with came:
                got.append(data)
                came.notify_all()

        made.subscribe(hear)
        return got, lambda count: self.assertTrue(self._wait(came, lambda: len(got) >= count), got[:5])

    @staticmethod
    def _wait(came, there):
        with came:
            return came.wait_for(there, 30)

    def test_all_of_it_in_order_and_once_through_the_death_of_any(self):
        """Three processes and this one; whichever is killed, the others lose nothing."""
        here = self.made()
        got, await_ = self.heard(here)
        members = [self.member() for _ in range(3)]
        heard = [[] for _ in members]
        wanted = []
        for killed in range(3):
            for member in members[killed:]:
                for number in range(100):
                    word = f"{killed}.{members.index(member)}.{number}"
                    member.stdin.write(word + "\n")
                    wanted.append(word)
            await_(len(wanted))
            for member, words in list(zip(members, heard))[killed:]:  # one that is killed while it sends is not heard
                words += [member.stdout.readline().strip() for _ in range(len(wanted) - len(words))]
            members[killed].kill()
            members[killed].wait()
        here.publish(b"last")
        await_(len(wanted) + 1)
        self.assertEqual(len(os.listdir(self.path)), 1, "the names of the dead are gone")
        for words in ([data.decode() for data in got[:-1]], heard[2]):
            self.assertEqual(sorted(words), sorted(wanted))
            for source in {word.rpartition(".")[0] for word in wanted}:
                self.assertEqual([word for word in words if word.startswith(source + ".")],
                                 [f"{source}.{number}" for number in range(100)])

    def test_who_may_reach_it(self):
        made = self.made()
        self.heard(made)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o700)
        (name,) = os.listdir(self.path)
        self.assertEqual(stat.S_IMODE(os.stat(self.path / name).st_mode), 0o600)
        os.chmod(self.path, 0o755)
        with self.assertRaises(PermissionError):
            UnixBus(self.path)
        os.chmod(self.path, 0o700)
        link = self.path.parent / "link"
        link.symlink_to(self.path)
        with self.assertRaises(PermissionError):
            UnixBus(link)
        file = self.path.parent / "file"
        file.write_text("", encoding="ascii")
        with self.assertRaises(PermissionError):
            UnixBus(file)
        with self.assertRaisesRegex(ValueError, "80 octets"):
            UnixBus("/" + "x" * 80)
        with self.assertRaises(FileNotFoundError):
            UnixBus(self.path / "a" / "b")

    def test_foreign_files_and_octets(self):
        (made, other) = (self.made(), self.made())
        got, await_ = self.heard(made)
        (name,) = os.listdir(self.path)
        (self.path / "file").write_text("x", encoding="ascii")
        made.publish(b"one")
        self.assertEqual((self.path / "file").read_text(encoding="ascii"), "x")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as foreign:
            foreign.sendto(b"x" * (MAX_MESSAGE + 100), str(self.path / name))
            foreign.sendto(b"", str(self.path / name))
        other.publish(b"y" * MAX_MESSAGE)
        await_(3)
        self.assertEqual(got, [b"one", b"", b"y" * MAX_MESSAGE])
        with self.assertRaises(ValueError):
            made.publish(b"z" * (MAX_MESSAGE + 1))

    def test_one_that_does_not_read_is_waited_for_once(self):
        made = self.made()
        stuck, release = threading.Event(), threading.Event()
        self.addCleanup(release.set)

        def hold(data):
            stuck.set()
            release.wait(60)

        made.subscribe(hold)
        other = self.made()
        got, await_ = self.heard(other)
        with mock.patch.object(bus, "MAX_PATIENCE", 0.1), self.assertLogs("mcp_ref", "WARNING") as logged:
            for number in range(1000):  # more than any queue of the system holds
                other.publish(b"%d" % number + b"x" * 8000)
        self.assertEqual(len(logged.output), 1)
        await_(1000)
        self.assertTrue(stuck.is_set())

    def test_a_hearer_that_fails_and_several_in_one_process(self):
        made = self.made()
        made.subscribe(lambda data: 1 / 0)
        got, await_ = self.heard(made)
        with self.assertLogs("mcp_ref", "ERROR"):
            made.publish(b"one")
            await_(1)

    def test_nobody_hears(self):
        self.made().publish(b"nobody")

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_process_forked_later_hears_for_itself(self):
        """And takes nothing from the one that it was forked from."""
        code = ("import os, sys, time; from mcp_ref.transports.bus import UnixBus\n"
                "bus, got = UnixBus(sys.argv[1]), []; bus.subscribe(got.append)\n"
                "child = os.fork(); mine = []\n"
                "if not child: bus.subscribe(mine.append)\n"
                "until = time.monotonic() + 30\n"
                "while len(os.listdir(sys.argv[1])) < 2 and time.monotonic() < until: time.sleep(0.01)\n"
                "if child: bus.publish(b'news')\n"
                "while not (got if child else mine) and time.monotonic() < until: time.sleep(0.01)\n"
                "if not child: os._exit(len(mine) + 10 * len(got))\n"
                "print(got, os.waitpid(child, 0)[1] >> 8)")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(self.path)], cwd=ROOT,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("[b'news'] 1\n", ""))


if __name__ == "__main__":
    unittest.main()
