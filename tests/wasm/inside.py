"""All tests, on a Python that has neither threads nor sockets nor processes: one that asks for such is skipped there.

Only the test's own asking skips it, and the HTTP server's and client's: what of the package is meant to go without, a
call with a timeout and an async handler, is let go on to fail as it does, and has to manage.
"""

import logging
import socket
import subprocess
import sys
import threading
import unittest

WITHOUT = ("mcp_ref.transports.memory", "mcp_ref.server.event_loop")
"""The modules that go on without a thread."""


def lacking(what, asked):
    """`asked`, which skips the test that needs it, unless one of WITHOUT asks."""
    def ask(*arguments, **options):
        frame = sys._getframe(1)
        if frame.f_globals.get("__name__") in WITHOUT:
            return asked(*arguments, **options)
        raise unittest.SkipTest(f"needs {what}")
    return ask


def main(names):
    """Run the modules named, or all; 1 if any test failed."""
    threading.Thread.start = lacking("threads", threading.Thread.start)
    subprocess.Popen.__init__ = lacking("processes", subprocess.Popen.__init__)
    for name in ("bind", "connect", "listen"):
        setattr(socket.socket, name, lacking("sockets", None))
    socket.socketpair = lacking("sockets", None)
    logging.getLogger("mcp_ref").addHandler(logging.NullHandler())
    logging.getLogger("mcp_ref").propagate = False
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames([f"tests.{name}" for name in names]) if names else loader.discover(
        "tests", top_level_dir=".")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1, buffer=False).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or result.testsRun == skipped else 0
