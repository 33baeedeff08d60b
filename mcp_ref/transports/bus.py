"""basic/patterns/subscriptions, across the processes of one host: a bus of Unix sockets, for Server(bus=UnixBus(path)).

Not a page of the specification: what a Bus has to do stands in patterns/relay.

Nobody holds it. `path` is a folder in which each process that hears binds a datagram socket of its own, and who
publishes sends to each that is there. So no process is needed by the others, and the death of any is noticed by the
first who sends to it, and takes the name away that it left. A datagram is whole or not there, arrives once, and keeps
its order; a queue that is full makes the publisher wait. The folder is its owner's alone (0700), the sockets are 0600.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
import stat
import threading
import time
from typing import Callable, Dict, List, Optional

from ..base.log import log

MAX_MESSAGE = 64 * 1024
"""Octets of one message; what others send beyond it is cut, and so is no message."""
MAX_PATIENCE = 1.0
"""Seconds that a publisher waits for one that does not read. After that it is not waited for until it reads again."""
FULL = (errno.EAGAIN, errno.ENOBUFS)
OURS = re.compile("mcp-[0-9]+-[0-9a-f]{8}")
"""The names of sockets; all else in the folder is left alone."""
GONE = (errno.ECONNREFUSED, errno.ENOENT, errno.ECONNRESET)


class UnixBus:
    """A bus for the processes of one user on one host. path: a folder, made where there is none.

    Raises ValueError for a path too long for a socket, OSError where the folder cannot be made, is another user's, or
    is open to others, and where the system has no Unix sockets.
    """

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system has no Unix sockets")
        self.path = os.path.abspath(path)
        if len(os.fsencode(self.path)) > 80:
            raise ValueError(f"the path of a UnixBus has at most 80 octets, as sockets are named in it: {self.path}")
        try:
            os.mkdir(self.path, 0o700)
        except FileExistsError:
            pass
        found = os.lstat(self.path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(f"{self.path} is not a folder of this user's alone (mode 0700)")
        self._lock = threading.Lock()
        self._hearers: List[Callable[[bytes], None]] = []
        self._own: Optional[socket.socket] = None
        self._pid = 0
        self._deaf: Dict[str, None] = {}

    def publish(self, message: bytes) -> None:
        """Send to every process that subscribed, this one too. Raises ValueError beyond MAX_MESSAGE, OSError."""
        if len(message) > MAX_MESSAGE:
            raise ValueError(f"a message on the bus has at most {MAX_MESSAGE} octets")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MAX_MESSAGE)
            for name in os.listdir(self.path):
                if OURS.fullmatch(name):
                    self._send(sender, name, message)

    def _send(self, sender: socket.socket, name: str, message: bytes) -> None:
        place = os.path.join(self.path, name)
        until = time.monotonic() + (0.0 if name in self._deaf else MAX_PATIENCE)
        while True:
            try:
                sender.sendto(message, place)
                self._deaf.pop(name, None)
                return
            except OSError as error:
                if error.errno in GONE:  # a name is used once: who does not answer to it never will again
                    self._deaf.pop(name, None)
                    return _forget(place)
                if error.errno not in FULL:
                    return log.warning("the bus cannot send to %s: %s", place, error)
                if time.monotonic() >= until:
                    if name not in self._deaf:
                        log.warning("%s does not read what comes by the bus, and misses it", place)
                    self._deaf[name] = None
                    return
                time.sleep(0.001)

    def subscribe(self, hear: Callable[[bytes], None]) -> None:
        """Call `hear` with each message, on a thread of this process. Raises OSError."""
        with self._lock:
            if self._pid != os.getpid():  # none yet, or one that this process has from before it was forked
                self._hearers = [hear]
                self._bind()
            else:
                self._hearers.append(hear)

    def _bind(self) -> None:
        if self._own is not None:
            self._own.close()  # this process's share of what the one that forked it reads
        own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        place = os.path.join(self.path, f"mcp-{os.getpid()}-{secrets.token_hex(4)}")
        self._own, self._pid = own, os.getpid()
        try:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * MAX_MESSAGE)
            own.bind(place)
            os.chmod(place, 0o600)
            threading.Thread(target=self._read, args=(own,), name="mcp-bus", daemon=True).start()
        except BaseException:  # nobody reads there
            self._own, self._pid = None, 0
            own.close()
            _forget(place)
            raise

    def close(self) -> None:
        """Hear nothing any more; what is published goes out all the same."""
        with self._lock:
            own, ours = self._own, self._pid == os.getpid()
            place = own.getsockname() if own is not None and ours else ""
            self._own, self._pid, self._hearers = None, 0, []
        if place:
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                    sender.setblocking(False)
                    sender.sendto(b"", place)  # wakes the thread, unless it is awake
            except OSError:
                pass
            _forget(place)

    def _read(self, own: socket.socket) -> None:
        while True:
            message = own.recv(MAX_MESSAGE + 1)
            if self._own is not own:
                return own.close()
            for hear in list(self._hearers) if len(message) <= MAX_MESSAGE else ():
                try:
                    hear(message)
                except Exception:
                    log.exception("a message of the bus was not taken")


def _forget(place: str) -> None:
    try:
        os.unlink(place)
    except FileNotFoundError:
        pass
