"""Until when a process serves: waiting for the signals that tell it to stop."""

from __future__ import annotations

import signal
import socket
import threading
from typing import Callable, Optional

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

    def close(self) -> None:
        """Nobody waits any more."""
        self.heard.close()
        self.woken.close()


def wait_for_signal(announce: Callable[[], None], bell: Optional[Bell] = None) -> None:
    """Return at the bell and, in the main thread, SIGINT or SIGTERM. announce: called once none can be missed.

    It waits at a socket: on a lock, a signal that another thread takes, or that comes just before, wakes nobody.
    """
    bell = bell or Bell()
    main = threading.current_thread() is threading.main_thread()
    if main:
        signal.set_wakeup_fd(bell.woken.fileno())
        for number in STOPS:
            signal.signal(number, lambda *_: None)
    try:
        announce()
        while bell.heard.recv(1)[0] not in (0, *STOPS):
            pass
    finally:
        if main:
            signal.set_wakeup_fd(-1)
        bell.close()
