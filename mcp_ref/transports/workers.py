"""basic/transports/streamable-http by several processes: a parent that serves nothing, and workers that all serve.

Not a page of the specification. The parent has loaded the server and bound the socket, and forks; each worker starts
its own threads on the same listening socket, so that one which is busy accepts less than one which is not. What was
made before the fork is the same in all: the key of requestState, the bus. A connection, and with it a stream, stays
with the worker that accepted it.

    a worker ends      another is forked in its place, at most one a second for each place; its clients connect anew
    SIGINT, SIGTERM    each worker ends by itself within the grace period, or is killed a moment after
    the parent ends    however it does, the pipe that it alone holds open ends, and each worker stops
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from typing import Callable, Dict, List

from ..base.log import log
from .process import STOPS

PACE = 1.0
"""Seconds between two processes in one place."""


class Workers:
    """count: processes. work: what each does until it is sent SIGTERM. grace: seconds that it may take from then on.
    Raises OSError where the system cannot fork."""

    def __init__(self, count: int, work: Callable[[], object], grace: float) -> None:
        if not hasattr(os, "fork"):
            raise OSError("this system cannot fork, and runs one process only")
        self._count, self._work, self._grace = count, work, grace
        self._began: Dict[int, float] = {}  # by process
        self._due: List[float] = []  # when the next is forked, for each empty place

    def run(self, announce: Callable[[], None]) -> None:
        """Keep them running until SIGINT or SIGTERM; from the main thread. announce: called once they are there."""
        self._heard, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._held, self._holds = os.pipe()
        with self._heard, self._woken:
            numbers = (*STOPS, signal.SIGCHLD)
            before = {number: signal.signal(number, lambda *_: None) for number in numbers}
            signal.set_wakeup_fd(self._woken.fileno(), warn_on_full_buffer=False)
            try:
                self._due = [0.0] * self._count
                self._fill()
                announce()
                while self._next() not in STOPS:
                    self._reap()
                    self._fill()
            finally:
                self._stop()
                signal.set_wakeup_fd(-1)
                for number in numbers:
                    signal.signal(number, before[number])
                os.close(self._held)
                os.close(self._holds)

    def _next(self) -> int:
        """The next signal; 0 when a place is due to be filled first."""
        wait = max(0.0, min(self._due) - time.monotonic()) if self._due else None
        if not select.select([self._heard], [], [], wait)[0]:
            return 0
        return self._heard.recv(1)[0]

    def _fill(self) -> None:
        now = time.monotonic()
        for due in [each for each in self._due if each <= now]:
            self._due.remove(due)
            try:
                self._fork()
            except OSError as error:
                log.error("no further worker can be forked: %s", error)
                self._due.append(now + PACE)

    def _fork(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # one meant for the child would wake the parent
        try:
            process = os.fork()
            if not process:
                self._be_one()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        self._began[process] = time.monotonic()

    def _be_one(self) -> None:
        """All of a worker's life; does not return."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (*STOPS, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
            os.close(self._holds)
            self._heard.close()
            self._woken.close()
            threading.Thread(target=self._watch_the_parent, daemon=True).start()
            self._work()
            status = 0
        except BaseException:
            log.exception("a worker failed")
        finally:
            try:
                logging.shutdown()
                sys.stdout.flush()
            finally:
                os._exit(status)

    def _watch_the_parent(self) -> None:
        os.read(self._held, 1)
        log.warning("the parent of the workers is gone, and so are they")
        os.kill(os.getpid(), signal.SIGTERM)

    def _reap(self) -> None:
        """Notice which have ended, and when their places are due."""
        for process, began in list(self._began.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                del self._began[process]
                self._due.append(max(time.monotonic(), began + PACE))
                if status:
                    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {status >> 8}"
                    log.warning("worker %d ended with %s; another takes its place", process, how)

    def _stop(self) -> None:
        for number, until in ((signal.SIGTERM, time.monotonic() + self._grace + 1.0), (signal.SIGKILL, float("inf"))):
            for process in self._began:
                os.kill(process, number)
            while self._began and time.monotonic() < until:
                self._reap()
                time.sleep(0.01)
