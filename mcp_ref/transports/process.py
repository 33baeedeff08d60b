"""What a server takes of the process it is: the signals that end it and, on stdio, its standard streams (STDIO-03)."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager
from typing import BinaryIO, Callable, Iterator, Optional, Tuple

STOPS = (signal.SIGINT, signal.SIGTERM)


class Bell:
    """Ends the waiting of `wait_for_signal` as a signal does: `ring`, from any thread, before or while it waits."""

    def __init__(self) -> None:
        self.heard, self.woken = socket.socketpair()
        self.woken.setblocking(False)

    def ring(self) -> None:
        """End the waiting."""
        try:
            self.woken.send(b"\0")
        except OSError:  # it is over
            pass


@contextmanager
def stops_lent() -> Iterator[None]:
    """After it SIGINT and SIGTERM do what they did before, so that who goes on after serving can be interrupted."""
    before = [(number, signal.getsignal(number)) for number in STOPS]
    try:
        yield
    finally:
        for number, handler in before:
            if handler is not None and threading.current_thread() is threading.main_thread():
                signal.signal(number, handler)


def wait_for_signal(announce: Callable[[], None], bell: Optional[Bell] = None) -> None:
    """Return at the bell and, in the main thread, SIGINT or SIGTERM. announce: called once none can be missed.

    It waits at a socket: on a lock, a signal that another thread takes, or that comes just before, wakes nobody.
    """
    bell = bell or Bell()
    main = threading.current_thread() is threading.main_thread()
    woken = signal.set_wakeup_fd(bell.woken.fileno()) if main else -1
    if main:
        for number in STOPS:
            signal.signal(number, lambda *_: None)
    try:
        announce()
        while bell.heard.recv(1)[0] not in (0, *STOPS):
            pass
    finally:
        if main:
            signal.set_wakeup_fd(woken)
        bell.heard.close()
        bell.woken.close()


def take_over() -> Tuple[BinaryIO, BinaryIO]:
    """The process's standard input and output, taken from it: from now on what it and its children read there is
    empty, and what they write there goes to standard error. What was printed and not yet flushed goes there too."""
    while True:
        null = os.open(os.devnull, os.O_RDWR)
        if null > 2:  # whichever of the three was closed is open now, and cannot become another file
            break
    source, sink = os.dup(0), os.dup(1)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    sys.stdout = sys.stderr
    return open(source, "rb", buffering=0), open(sink, "wb", buffering=0)
