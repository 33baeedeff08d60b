"""What runs in the tests of front ends: processes of mcp_ref, and a front end before them with a configuration of
mcp_ref/README.md. Each is ended by its own handle, and every wait has an end."""

from __future__ import annotations

import os
import queue
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import MappingProxyType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from tests.support import ROOT

HOST = "mcp.example"
KEY = "a key that all of the processes share"
PATIENCE = 20.0
"""Seconds that anything may take."""
PLACES = {"front": "8080", "one": "8001", "two": "8002", "three": "8003"}
"""The ports in the README's configurations, which the tests replace."""
BLOCKS = dict(re.findall(r"^```(nginx|haproxy|caddy)\n(.*?)^```", (ROOT / "mcp_ref" / "README.md").read_text(
    encoding="utf-8"), re.M | re.S))

NGINX = """daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
{block}}}
"""
WRAPPED = {"nginx": NGINX, "haproxy": "{block}", "caddy": "{{\n\tadmin off\n\tgrace_period 100ms\n}}\n{block}"}
COMMANDS: Dict[str, Sequence[str]] = {
    "nginx": ("nginx", "-e", "stderr", "-p", "{folder}", "-c", "{config}"),
    "haproxy": ("haproxy", "-db", "-f", "{config}"),
    "caddy": ("caddy", "run", "--adapter", "caddyfile", "--config", "{config}"),
}


def missing() -> List[str]:
    """The programs that are not here."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    return [name for name in (*COMMANDS, "curl", "openssl") if shutil.which(name, path=path) is None]


class Process:
    """A program that runs, and the lines that it has written."""

    def __init__(self, command: Sequence[str], **environment: str) -> None:
        path = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin"
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                                         env={**os.environ, "PATH": path, **environment})
        self.written: List[str] = []
        self._lines: "queue.Queue[Optional[str]]" = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.written.append(line)
            self._lines.put(line)
        self._lines.put(None)

    def says(self, words: str, seconds: float = PATIENCE) -> str:
        """The next line with these words, once it is written. Raises AssertionError where none comes."""
        until = time.monotonic() + seconds
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"{words!r} was not said: {''.join(self.written)[-2000:]}")
            if words in line:
                return line

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def terminate(self) -> None:
        """Tell it to end."""
        self._process.terminate()

    def end(self) -> None:
        """End it, and wait for that."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Upstream(Process):
    """A process of mcp_ref that serves upstream.py under a name. url: where it is reached without a front end."""

    def __init__(self, name: str, *options: str) -> None:
        super().__init__([sys.executable, "-m", "mcp_ref", "serve", "tests.frontends.upstream:server", "--port", "0",
                          "--health", "/health", "--origin", f"https://{HOST}", "--state-key-env", "FRONTENDS_KEY",
                          "--log-level", "info", *options], FRONTENDS_NAME=name, FRONTENDS_KEY=KEY)
        self.name = name
        self.url = self.says("http://").split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1].split("/")[0])


class Front(Process):
    """A front end of this kind with the README's configuration, before processes of mcp_ref.

    edits: what is replaced in that configuration, each of which must be there. url: where it is reached.
    """

    def __init__(self, kind: str, folder: Path, upstreams: Sequence[Upstream],
                 edits: Mapping[str, str] = MappingProxyType({})) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        ports = {"front": self.port, **{each.name: each.port for each in upstreams}}
        block = BLOCKS[kind]
        for old, new in edits.items():
            assert old in block, f"the {kind} configuration has no {old!r}"
            block = block.replace(old, new)
        for name, port in PLACES.items():
            block = re.sub(rf"\b{port}\b", str(ports.get(name, ports["one"])), block)
        config = folder / "config"
        config.write_text(WRAPPED[kind].format(block=block, folder=folder), encoding="utf-8")
        os.chmod(folder, 0o777)  # nginx's workers give up root
        home = str(folder)
        super().__init__([word.format(folder=folder, config=config) for word in COMMANDS[kind]],
                         HOME=home, XDG_DATA_HOME=home, XDG_CONFIG_HOME=home)
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        until = time.monotonic() + PATIENCE
        while not self._listens():
            if not self.running or time.monotonic() > until:
                self.end()
                raise AssertionError(f"{kind} does not start: {''.join(self.written)}")
            time.sleep(0.02)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def parts(client: Any) -> Iterator[bytes]:
    """The events and comments of a stream whose head has been read, each as soon as it is there."""
    rest = b""
    while True:
        *whole, rest = rest.split(b"\n\n")
        yield from whole
        chunk = client.chunk()
        if not chunk:
            return
        rest += chunk
