"""The server's process and what the system tells of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional

from ..support import ROOT


class Process:
    """`python3 -m mcp_ref serve tests.load.server:server`, at `url` once it is made. Raises OSError if it is not up."""

    def __init__(self, keep_alive: float) -> None:
        command = [sys.executable, "-m", "mcp_ref", "serve", "tests.load.server:server", "--port", "0",
                   "--keep-alive", str(keep_alive)]
        self.process = subprocess.Popen(command, cwd=str(ROOT), stdout=subprocess.PIPE, text=True, encoding="utf-8")
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        self.url = first.partition(" at ")[2].strip()
        if not self.url:
            self.kill()
            raise OSError(f"the server did not start: {first!r}")

    def resident(self) -> Optional[int]:
        """Octets of memory that are resident; None where the system does not tell."""
        for line in self._told("status").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return None

    def processor_seconds(self) -> Optional[float]:
        """Processor time used so far; None where the system does not tell."""
        fields = self._told("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else None

    def _told(self, name: str) -> str:
        try:
            return Path(f"/proc/{self.process.pid}/{name}").read_text(encoding="utf-8")
        except OSError:
            return ""

    def terminate(self) -> None:
        """Ask it to end."""
        self.process.send_signal(signal.SIGTERM)

    def status(self, seconds: float) -> Optional[int]:
        """Its exit status, waited for; None if it does not end in time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End it if it has not ended, and what is held of it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Calls:
    """The calling process, under way from the moment it is made."""

    def __init__(self, url: str, clients: int, seconds: float, rate: float) -> None:
        command = [sys.executable, "-m", "tests.load.calls", url, str(clients), str(seconds), str(rate)]
        self._printed = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, cwd=str(ROOT), stdout=self._printed)

    def ended(self) -> bool:
        """Whether it has made all its calls."""
        return self._process.poll() is not None

    def output(self) -> str:
        """What it printed; it is ended if it has not."""
        if not self.ended():
            self._process.kill()
            self._process.wait()
        with self._printed:
            self._printed.seek(0)
            return self._printed.read().decode("utf-8")
