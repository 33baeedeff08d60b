"""basic/transports/stdio, the server's side at its edges: streams that fail or have nothing, what is sent to nobody."""

import io
import os
import select
import subprocess
import sys
import threading
import unittest
from unittest import mock

from mcp_ref.base.log import log
from mcp_ref.base.request import Request
from mcp_ref.patterns.notifications import Cancelled
from mcp_ref.transports import outbox
from mcp_ref.transports.outbox import Outbox
from mcp_ref.transports.stdio import StdioServer

from .fake_oauth import sockets
from .support import ROOT, echo_server, message, not_on_wasm, proves, until
from .test_stdio import SECONDS, line


class Source(io.RawIOBase):
    """The reading end of a pipe that first gives what it is told to: None for nothing yet, an error to raise."""

    def __init__(self, file, *first):
        super().__init__()
        self.file, self.first = file, list(first)

    def fileno(self):
        return self.file

    def read(self, size=-1):
        given = self.first.pop(0) if self.first else os.read(self.file, size)
        if isinstance(given, OSError):
            raise given
        return given


class Endless(io.BufferedIOBase):
    """Gives nothing, and no end, until it is told to."""

    def __init__(self):
        super().__init__()
        self.over = threading.Event()

    def read1(self, size=-1):
        self.over.wait(SECONDS)
        return b""


@not_on_wasm("there are no threads")
class Input(unittest.TestCase):
    def served(self, *first):
        """What is sent back to one request, or to the end of the input, where the first reads come to that."""
        (read, write), ended, answers = os.pipe(), threading.Event(), io.BytesIO()
        try:
            with StdioServer(echo_server(), Source(read, *first), answers, on_end=ended.set):
                os.write(write, line(message("server/discover")))
                if not any(first):
                    os.close(write)
                    write = None
                self.assertTrue(ended.wait(SECONDS))
        finally:
            for each in (read, write):
                if each is not None:
                    os.close(each)
        return answers.getvalue().count(b"\n")

    def test_nothing_yet_is_not_the_end(self):
        with self.assertLogs("mcp_ref", "WARNING") as logged:
            log.warning("the only one")
            self.assertEqual(self.served(None, None), 1)
        self.assertEqual(len(logged.output), 1, logged.output)

    def test_what_it_is_read_through_ends_with_it(self):
        """A source that no selector takes is pumped through a socket."""
        until(lambda: not [each for each in threading.enumerate() if each.name == "mcp-loop"])
        before = sockets()
        for source, ended in ((io.BytesIO(line(message("server/discover"))), True), (Endless(), False)):
            answers = io.BytesIO()
            with StdioServer(echo_server(), source, answers) as kept:
                if ended:
                    until(answers.getvalue)
            until(lambda: sockets() <= before + (not ended) and kept)
            if not ended:
                source.over.set()
                until(lambda: sockets() <= before)

    def test_an_error_is_the_end(self):
        self.assertEqual(self.served(ConnectionResetError()), 0)


class Sink(io.RawIOBase):
    """Takes everything, but for the first times, in which it has no room."""

    def __init__(self, full=0):
        super().__init__()
        self.full, self.taken = full, b""

    def write(self, data):
        if self.full:
            self.full -= 1
            return None
        self.taken += bytes(data)
        return len(data)


class Output(unittest.TestCase):
    def setUp(self):
        self.channel = mock.Mock()
        self.request = Request(bytes)
        self.request.id = 1

    def outbox(self, sink):
        return Outbox(sink, self.channel, threading.Condition())

    @proves("STDIO-11")
    def test_who_sends_for_a_cancelled_request_is_told(self):
        sink = Sink()
        out = self.outbox(sink)
        out.put(self.request, b"1")
        self.request.cancelled = True
        with self.assertRaises(Cancelled):
            out.put(self.request, b"2")
        self.assertEqual(sink.taken, b"1\n")

    def test_who_sends_to_nobody_is_told(self):
        sink = Sink()
        out = self.outbox(sink)
        out.close()
        for request in (None, self.request):
            with self.assertRaises(Cancelled):
                out.put(request, b"1")
        subscription = mock.Mock()
        out.listen(self.request, subscription)
        self.assertEqual((sink.taken, self.channel.loop.submit.called), (b"", False))

    def test_a_pipe_without_room_is_waited_for(self):
        sink = Sink(full=2)
        with mock.patch.object(outbox, "select", mock.Mock(spec=select)) as waiting:
            self.outbox(sink).put(self.request, b"1")
        self.assertEqual(sink.taken, b"1\n")
        self.assertEqual(waiting.select.call_args_list, [mock.call([], [sink], [])] * 2)


TAKING = """
import os, sys
from mcp_ref.transports.process import take_over
told = os.dup(2)
while told < 10:
    told = os.dup(told)
for number in map(int, sys.argv[1:]):
    os.close(number)
source, sink = take_over()
opened = os.open(os.devnull, os.O_RDONLY)
print("printed", end=" ")
same = (os.fstat(1).st_ino, os.fstat(1).st_dev) == (os.fstat(2).st_ino, os.fstat(2).st_dev)
os.write(told, b"%d %d %d" % (os.read(0, 1) == b"", same, opened > 2))
sys.stderr.flush()
os._exit(0)
"""


@not_on_wasm("there are no processes")
class Taken(unittest.TestCase):
    def test_the_three_stay_open_whichever_were_closed(self):
        for closed in ((), (0,), (1,), (0, 1), (0, 1, 2)):
            done = subprocess.run([sys.executable, "-c", TAKING, *map(str, closed)], input=b"in", capture_output=True,
                                  cwd=ROOT, timeout=SECONDS, env={**os.environ, "PYTHONUNBUFFERED": ""})
            self.assertEqual((done.returncode, done.stdout), (0, b""))
            said = b"1 1 1" if 2 in closed else b"1 1 1printed "
            self.assertEqual(sorted(done.stderr), sorted(said), closed)


if __name__ == "__main__":
    unittest.main()
