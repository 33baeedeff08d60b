"""The walkthrough's fixture, era_stub.py, as a process: its command line, its log, and that nothing takes it down."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import era_stub
from tests.bench.servers import free_port
from tests.test_era_stub import (
    ABSENT,
    ANSWERS,
    ECHOED,
    FAULTS,
    MODES,
    PARSE_ERROR,
    PORTS,
    STUB,
    VARIANTS,
    exchange,
    modern,
    post,
    raw,
    read_all,
    serve,
    setUpModule,
    tearDownModule,
)

__all__ = ["setUpModule", "tearDownModule"]  # unittest runs them here too


BAD_LENGTHS = (b"", b"Content-Length:\r\n", b"Content-Length: x\r\n", b"Content-Length: -1\r\n",
               b"Content-Length: +2\r\n", b"Content-Length: 2_0\r\n", b"Content-Length: \xb2\r\n",
               b"Content-Length: 2\r\nContent-Length: 2\r\n", b"Content-Length: 2, 2\r\n",
               b"Content-Length: 999999999\r\n", b"Content-Length: " + b"9" * 5000 + b"\r\n",
               b"Transfer-Encoding: chunked\r\n", b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n")


class Bodies(unittest.TestCase):
    """Bodies that cannot be had: 400, and the connection is closed."""

    def refused(self, answer: bytes, what: Any) -> None:
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), f"{what!r}: {answer!r}")
        self.assertIn(b"\r\nConnection: close\r\n", answer, what)
        self.assertTrue(answer.endswith(PARSE_ERROR.encode("ascii")), f"{what!r}: {answer!r}")

    def test_no_valid_content_length(self) -> None:
        for mode in ("modern", "legacy"):
            for length in BAD_LENGTHS:
                self.refused(raw(PORTS[mode], b"POST / HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n"), length)

    def test_a_body_that_ends_early(self) -> None:
        self.refused(raw(PORTS["modern"], b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}"), "ends early")

    def test_a_body_that_never_ends(self) -> None:
        with mock.patch.object(era_stub.Handler, "timeout", 0.2), \
                socket.create_connection(("127.0.0.1", PORTS["modern"]), 10) as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}")
            self.refused(read_all(sock), "never ends")


def launch(mode: str, *more: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start era_stub.py as its own process; a port that another took meanwhile is given up for the next."""
    for _ in range(5):
        port = free_port()
        process = subprocess.Popen([sys.executable, str(STUB), str(port), mode, *more],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return process, port
            except OSError:
                time.sleep(0.01)  # it prints nothing, so that it listens can only be tried
        process.kill()
        process.communicate()
    raise AssertionError(f"era_stub.py did not start in mode {mode}")


def end(process: subprocess.Popen[bytes], by: int = signal.SIGTERM) -> tuple[int, bytes, bytes]:
    """Exit status, standard output and standard error."""
    process.send_signal(by)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    return process.returncode, out, err


CLEAN = (0 if os.name == "posix" else 1, b"", b"")  # elsewhere a process cannot be asked to end


@contextlib.contextmanager
def temporary_log() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "methods.log"
        path.write_text("an earlier run\n", encoding="utf-8")
        yield path


class Process(unittest.TestCase):
    """The command line, and what a process of it survives."""

    def test_every_mode_starts_and_ends_quietly(self) -> None:
        processes = [(mode, *launch(mode)) for mode in MODES]
        for mode, _, port in processes:
            answer = post(port, *modern({}))
            self.assertEqual(answer, post(PORTS[mode], *modern({})), mode)
        for mode, process, _ in processes:
            by = signal.SIGINT if mode == "legacy" and os.name == "posix" else signal.SIGTERM
            self.assertEqual(end(process, by), CLEAN, mode)

    def test_nothing_takes_it_down(self) -> None:
        process, port = launch("modern")
        idle = []
        for start in (b"", b"POST", b"POST / HTTP/1.1\r\nAcc", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"):
            for _ in range(10):
                idle.append(socket.create_connection(("127.0.0.1", port), 10))
                idle[-1].sendall(start)
        for data in (*(b"POST / HTTP/1.1\r\n" + length + b"\r\n{}" for length in BAD_LENGTHS),
                     b"\0\xff" * 99, b"\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 70000,
                     b"POST / HTTP/1.1\r\n: x\r\n\r\n",
                     b"POST / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"BREW / HTTP/1.1\r\n\r\n"):
            raw(port, data)
            with socket.create_connection(("127.0.0.1", port), 10) as sock:  # the same, and reset at once
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.sendall(data)
        for number, fault in VARIANTS:
            self.assertEqual(post(port, *modern(fault))[0], ANSWERS[number][0], str(fault)[:80])
        self.assertEqual(post(port, *modern({})), (200, "application/json", ECHOED))
        for sock in idle:
            sock.close()
        self.assertEqual(end(process), CLEAN)

    def test_the_log_has_the_method_of_each_post(self) -> None:
        with temporary_log() as path:
            process, port = launch("modern", "--log", str(path))
            self.assertEqual(path.read_bytes(), b"", "emptied at start")
            for parts in ({"method": "server/discover"}, {}, FAULTS[1], FAULTS[2], FAULTS[3], {"method": ABSENT},
                          {"method": 5}, {"method": "a\nb\ud800"}, {"method": "\u00e9"}):
                post(port, *modern({"Mcp-Method": "x", **parts}))
            exchange(port, {}, "", "GET")
            lines = ["server/discover", "tools/call", "tools/call", "None", "None", "None", "None",
                     "'a\\nb\\ud800'", "\u00e9"]
            self.assertEqual(path.read_text(encoding="utf-8").splitlines(), lines)
            self.assertEqual(end(process), CLEAN)

    def test_the_log_is_kept_in_every_mode(self) -> None:
        with temporary_log() as path:
            for mode in MODES:
                port = serve(mode, str(path))
                post(port, *modern({}))
                raw(port, b"POST / HTTP/1.1\r\n\r\n")
                self.assertEqual(path.read_text(encoding="utf-8"), "tools/call\nNone\n", mode)

    def main(self, *arguments: str) -> tuple[int, str]:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            return era_stub.main(list(arguments)), err.getvalue()

    def test_usage(self) -> None:
        for arguments in ((), ("8000",), ("modern",), ("modern", "8000"), ("8000", "other"), ("8000", ""),
                          ("80x", "modern"), ("-1", "modern"), ("", "modern"), ("\u0662", "modern"),
                          ("70000", "modern"), ("9" * 5000, "modern"), ("8000", "modern", "--log"),
                          ("8000", "modern", "x", "y"),
                          ("--log", "f", "8000", "modern"), ("8000", "modern", "--log", "f", "g"), ("--help",)):
            self.assertEqual(self.main(*arguments), (2, era_stub.USAGE), arguments)
        for mode in MODES:
            self.assertIn(f"\n  {mode} ", era_stub.USAGE)
        ran = subprocess.run([sys.executable, str(STUB)], capture_output=True, timeout=60, check=False)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""))
        self.assertTrue(ran.stderr.startswith(b"usage: era_stub.py PORT MODE [--log FILE]"), ran.stderr)

    def test_a_busy_port_is_told_in_one_line_and_leaves_the_log_alone(self) -> None:
        with temporary_log() as path:
            status, text = self.main(str(PORTS["modern"]), "modern", "--log", str(path))
            self.assertEqual(status, 2)
            self.assertRegex(text, r"\Aera_stub.py: cannot serve on port [0-9]+: .+\n\Z")
            self.assertEqual(path.read_text(encoding="utf-8"), "an earlier run\n")

    def test_a_log_that_cannot_be_written_is_told_in_one_line(self) -> None:
        with temporary_log() as path:
            status, text = self.main("0", "modern", "--log", str(path.parent))
            self.assertEqual((status, text.count("\n")), (2, 1), text)


if __name__ == "__main__":
    unittest.main()
