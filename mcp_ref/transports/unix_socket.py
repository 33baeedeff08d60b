"""basic/transports/streamable-http on a Unix socket: its file, which outlives a process that did not remove it."""

from __future__ import annotations

import errno
import os
import socket
import stat

LONGEST = 100
"""Octets of a path that every system has room for."""


def family() -> int:
    """The address family of Unix sockets. Raises OSError where the system has none."""
    if not hasattr(socket, "AF_UNIX"):
        raise OSError("this system has no Unix sockets")
    return socket.AF_UNIX


def bind(listener: socket.socket, path: str) -> int:
    """Bind to a new file at `path`, for its owner alone (0600), in place of one that nobody serves; its number.

    Raises OSError: EADDRINUSE where somebody does, FileExistsError for a file that is no socket, and what bind raises.
    """
    if len(os.fsencode(path)) > LONGEST:
        raise OSError(errno.ENAMETOOLONG, f"the path of a Unix socket has at most {LONGEST} octets")
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        found = None
    if found is not None:
        if not stat.S_ISSOCK(found.st_mode):
            raise FileExistsError(errno.EEXIST, "there is a file that is no socket")
        with socket.socket(family(), socket.SOCK_STREAM) as asking:
            asking.setblocking(False)  # one with a full queue is alive too
            if asking.connect_ex(path) not in (errno.ECONNREFUSED, errno.ENOENT):
                raise OSError(errno.EADDRINUSE, "another server listens there")
        os.unlink(path)
    listener.bind(path)
    os.chmod(path, 0o600)  # before anybody can connect, since it does not listen yet
    return os.stat(path).st_ino


def remove(path: str, number: int) -> None:
    """Take away the file that `bind` made, unless another has its name by now."""
    try:
        if os.lstat(path).st_ino == number:
            os.unlink(path)
    except OSError:
        pass
