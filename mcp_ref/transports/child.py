"""basic/transports/stdio, Shutdown and Unexpected Termination: one run of a server's process, and its lines.

Implements STDIO-01, STDIO-02, STDIO-12 to STDIO-14, for the client. What the lines say is for stdio_client to read.

Four threads, each of which waits for one thing and ends with it: what is to be written, standard output, standard
error, and the exit of the process. So no caller ever waits on a pipe, on any operating system, and the process is gone,
with all that it started and all that it held, when the four are. Where there are process groups the server leads one
of its own: Ctrl-C in a terminal is for the client to act on, and a signal reaches what the server has started too.
"""

from __future__ import annotations

import codecs
import itertools
import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Callable, Iterable, Iterator, Mapping, Optional, Sequence, TextIO, Union

from ..base.errors import Unreachable
from ..base.log import log
from ..lib.text import printable

MAX_LINE = 64 * 1024 * 1024
CHUNK = 64 * 1024
PATIENCE = 2.0
"""Seconds that a server is given to end, after its input was closed and after each signal."""
LAST_WORDS = 0.5
"""Seconds between the signs that a server has ended: its exit, and the end of what it wrote."""
TAIL = 1000

_PLAIN = re.compile(r"[\w@./\\+][\w@./\\+-]{0,80}|-[muy]")
"""A word of a command that names a program, a script or a package, and is no option, whose value may be a secret."""

Heard = Callable[[], Optional[Callable[[Optional[bytes]], None]]]
Lost = Callable[[], Optional[Callable[["Child"], None]]]


class Line:
    """A line on its way to the server: written whole, or withdrawn while none of it is."""

    def __init__(self, message: bytes) -> None:
        self.octets = message + b"\n"
        self.written = threading.Event()
        self._claim = threading.Lock()

    def take(self) -> bool:
        """Whether nobody has taken it yet, to write it or to withdraw it."""
        return self._claim.acquire(blocking=False)

    def withdraw(self) -> bool:
        """Whether nothing of it is written, nor will be."""
        taken = self.take()
        if taken:
            self.octets = b""
        return taken


class Child:
    """One process of a stdio server.

    command: the program and its arguments; no shell reads them. name: what it is called in messages. hear: gives what
    is called with each line of its output, None for one of more than MAX_LINE octets; lost: gives what is called once
    with this, when no more will come, and `fate` says why. They are weak references, so that the threads keep no client
    alive. env, cwd, stderr: see stdio_client.StdioClient. Raises Unreachable where it cannot be started.
    """

    def __init__(self, command: Sequence[str], name: str, hear: Heard, lost: Lost, env: Optional[Mapping[str, str]],
                 cwd: "Union[str, os.PathLike[str], None]", stderr: Optional[TextIO]) -> None:
        self.name = name
        self.fate: Optional[str] = None
        self._hear, self._lost, self._stderr, self._tail = hear, lost, stderr, ""
        self._lines: "queue.SimpleQueue[Optional[Line]]" = queue.SimpleQueue()
        self._exited, self._heard_all, self._passed_on = threading.Event(), threading.Event(), threading.Event()
        self._telling = threading.Lock()
        try:
            self._process = subprocess.Popen(
                list(command), bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={**os.environ, **env} if env else None, cwd=cwd, start_new_session=True)
        except (OSError, TypeError, ValueError, subprocess.SubprocessError) as error:
            raise Unreachable(f"cannot start {name}: {getattr(error, 'strerror', None) or error}") from None
        work = (self._pass_on, self._watch, self._write, self._read)
        self._threads = [threading.Thread(target=each, name=f"mcp-stdio{each.__name__}", daemon=True) for each in work]
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError as error:  # out of them
            self._process.kill()
            self._process.wait()
            self._threads = [thread for thread in self._threads if thread.ident is not None]
            self.end()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:  # each has its thread otherwise, which closes it
                    pipe.close()
            raise Unreachable(f"cannot start {name}: {error}") from None

    def send(self, line: Line) -> None:
        """Have a line written after those before it; returns at once."""
        self._lines.put(line)

    def end(self, patience: float = PATIENCE) -> None:
        """Close its input, wait; SIGTERM, wait; SIGKILL, wait. patience: seconds of each."""
        self._lines.put(None)
        others = [thread for thread in self._threads if thread is not threading.current_thread()]
        for step in (None, "SIGTERM", "SIGKILL"):
            if step is not None:
                self._signal(step)
            until = time.monotonic() + patience
            for thread in others:
                thread.join(max(0.0, until - time.monotonic()))
            if not any(thread.is_alive() for thread in others):
                return
        log.warning("what %s started holds its output open, beyond its end", self.name)

    def _signal(self, name: str) -> None:
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, getattr(signal, name))
            else:
                self._process.kill()

    # The threads

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as pipe:
                for line in iter(self._lines.get, None):
                    left = memoryview(line.octets if line.take() else b"")
                    while left:
                        left = left[pipe.write(left):]
                    line.written.set()
        except OSError:  # it reads no more
            self._tell()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            for line in lines(iter(lambda: pipe.read(CHUNK), b""), MAX_LINE):
                hear = self._hear()
                try:
                    if hear is not None:
                        hear(line)
                except Exception:
                    log.exception("what %s wrote could not be dealt with", self.name)
                del hear
        self._heard_all.set()
        self._tell()

    def _pass_on(self) -> None:
        assert self._process.stderr is not None
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        with self._process.stderr as pipe:
            for chunk in iter(lambda: pipe.read(CHUNK), b""):
                text = printable(decoder.decode(chunk).replace("\r\n", "\n"), "\n\t")
                self._tail = (self._tail + text)[-TAIL:]
                stream = sys.stderr if self._stderr is None else self._stderr
                with suppress(Exception):  # a server must not stall since nobody sees what it writes
                    stream.write(text)
                    stream.flush()
        self._passed_on.set()

    def _watch(self) -> None:
        self._process.wait()
        self._exited.set()
        if not self._heard_all.wait(LAST_WORDS):  # what it started holds its output open
            self._tell()

    def _tell(self) -> None:
        """Say once that it has ended, and how."""
        if not self._telling.acquire(blocking=False):
            return
        self._exited.wait(LAST_WORDS)
        self._passed_on.wait(LAST_WORDS)  # what it wrote last on standard error may say why
        words = self._tail.strip()
        self.fate = _ended(self._process.returncode) + (f"; its last words on standard error: {words}" if words else "")
        lost = self._lost()
        if lost is not None:
            lost(self)


def named(command: Sequence[str]) -> str:
    """What a server is called in messages: `stdio:` and the beginning of its command, up to the first option."""
    words = [command[0], *itertools.takewhile(_PLAIN.fullmatch, command[1:])]
    return "stdio:" + printable(shlex.join(words)) + (" …" if len(words) < len(command) else "")


def _ended(status: Optional[int]) -> str:
    if status is None:
        return "closed its pipes"
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def lines(chunks: Iterable[bytes], limit: int) -> Iterator[Optional[bytes]]:
    """The lines of octets that arrive in chunks, without the LF that ends each, and which alone does; what follows the
    last is no line. None stands for one of more than `limit` octets, of which none are kept."""
    held, size = bytearray(), 0
    for chunk in chunks:
        for number, piece in enumerate(chunk.split(b"\n")):
            if number:
                yield bytes(held) if size <= limit else None
                held, size = bytearray(), 0
            size += len(piece)
            if size <= limit:
                held += piece
            else:
                held.clear()
