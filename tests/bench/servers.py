"""The servers under test: how each is installed, started, timed and stopped."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .placement import pinning
from .request import ask
from .wrk import BenchError

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "peers"
# A virtual environment belongs to the interpreter that made it, and the comparison is fair under the same one only.
PYTHON_HOME = ROOT / "build" / "peers" / f"python-{sys.implementation.cache_tag}"
NODE_HOME = ROOT / "build" / "peers" / "typescript"
PYTHON_PACKAGES = ["mcp==2.3.0", "uvloop==0.23.0", "httptools==0.9.0"]
NODE_PACKAGES = {
    "@modelcontextprotocol/server": "2.4.0",
    "@modelcontextprotocol/node": "2.1.2",
    "node": "24.21.0",
}
# Not measured; tests/peers has them call our server, those of 1.x as clients that begin with initialize.
NODE_CLIENT = {"@modelcontextprotocol/client": "2.4.0", "@modelcontextprotocol/sdk": "1.32.2"}
PYTHON_1_HOME = ROOT / "build" / "peers" / f"python-1-{sys.implementation.cache_tag}"
PYTHON_1_PACKAGES = ["mcp==1.30.0"]
START_TIMEOUT = 30.0
INSTALL_TIMEOUT = 600.0


@dataclass(frozen=True)
class Server:
    """One row of the table: `command` makes the argument list for a port, `install` raises BenchError if it cannot."""

    name: str
    what: str
    command: Callable[[int], list[str]]
    install: Callable[[], None]


def install_nothing() -> None:
    """Nothing to install: the server is in this repository."""


def ours(port: int) -> list[str]:
    """The arguments of an interpreter that serves this project."""
    return ["-m", "mcp_ref", "serve", "tests.bench.server:server", "--port", str(port)]


def install_pypy() -> None:
    """Debian's PyPy, which the system may install or not."""
    if shutil.which("pypy3") is None and shutil.which("apt-get") and os.geteuid() == 0:
        _run(["apt-get", "install", "-y", "-qq", "pypy3"])
    if shutil.which("pypy3") is None:
        raise BenchError("PyPy is needed: install the Debian package `pypy3` and run this again")


def install_python_sdk() -> None:
    """The Python SDK in its own virtual environment, with the event loop and parser that its web server prefers."""
    installed_in(PYTHON_HOME, PYTHON_PACKAGES)


def installed_in(home: Path, packages: list[str]) -> None:
    """These packages in a virtual environment of their own."""
    if _installed(home, packages):
        return
    _run([sys.executable, "-m", "venv", "--clear", str(home)])
    _run([str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages])
    _mark(home, packages)


def install_typescript_sdk() -> None:
    """The TypeScript SDK and a current Node in one folder, our programs' sources beside them."""
    node_installed_in(NODE_HOME, {**NODE_PACKAGES, **NODE_CLIENT})


def node_installed_in(home: Path, packages: dict[str, str]) -> None:
    """Packages of npm, name to version, in a folder, unless they are there; our programs' sources beside them."""
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    if not _installed(home, wanted):
        if shutil.which("npm") is None:
            raise BenchError("npm is not installed")
        home.mkdir(parents=True, exist_ok=True)
        # Node's package puts its binary in place by an install script, which newer npm runs only if it is listed.
        manifest = {"private": True, "dependencies": packages, "allowScripts": {"node": True}}
        (home / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
        _run(["npm", "install", "--prefix", str(home), "--no-audit", "--no-fund", "--loglevel=error"])
        _mark(home, wanted)
    for source in SOURCES.glob("*.mjs"):
        shutil.copy(source, home)


def _installed(home: Path, wanted: list[str]) -> bool:
    marker = home / "installed.txt"
    return marker.is_file() and marker.read_text(encoding="utf-8").split() == wanted


def _mark(home: Path, wanted: list[str]) -> None:
    (home / "installed.txt").write_text("\n".join(wanted) + "\n", encoding="utf-8")


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", timeout=INSTALL_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"cannot be installed: {error}") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise BenchError(f"cannot be installed: {said[-1] if said else f'status {done.returncode}'}")


def python_sdk(*options: str) -> Callable[[int], list[str]]:
    """The command of the Python SDK's server with the options given."""
    program = [str(PYTHON_HOME / "bin" / "python"), str(SOURCES / "python_sdk_server.py")]
    return lambda port: [*program, str(port), *options]


SERVERS = (
    Server(
        "mcp_ref",
        "this project",
        lambda port: [sys.executable, *ours(port)],
        install_nothing,
    ),
    Server(
        "bare",
        "http.server alone: parses JSON, answers a constant",
        lambda port: [sys.executable, "-m", "tests.bench.bare", str(port)],
        install_nothing,
    ),
    Server(
        "ceiling",
        "one selector alone: parses JSON, answers a constant",
        lambda port: [sys.executable, "-m", "tests.bench.ceiling", str(port)],
        install_nothing,
    ),
    Server(
        "mcp_ref_workers",
        "this project by two processes",
        lambda port: [sys.executable, *ours(port), "--workers", "2"],
        install_nothing,
    ),
    Server("mcp_ref_pypy", "this project on PyPy", lambda port: ["pypy3", *ours(port)], install_pypy),
    Server("python_sdk", f"{PYTHON_PACKAGES[0]} as installed", python_sdk(), install_python_sdk),
    Server(
        "python_sdk_uvloop",
        f"{' '.join(PYTHON_PACKAGES)} (C event loop and HTTP parser added)",
        python_sdk("--uvloop"),
        install_python_sdk,
    ),
    Server(
        "typescript_sdk",
        " ".join(f"{name}@{version}" for name, version in NODE_PACKAGES.items()),
        lambda port: [
            str(NODE_HOME / "node_modules" / "node" / "bin" / "node"),
            str(NODE_HOME / "typescript_sdk_server.mjs"),
            str(port),
        ],
        install_typescript_sdk,
    ),
)


@dataclass(frozen=True)
class Running:
    """A started server: its port, its process, and the seconds from start to the first right answer."""

    port: int
    pid: int
    first_answer: float

    def resident_bytes(self) -> int:
        """Resident memory of the process and its children now; 0 where there is no /proc."""
        return sum(_resident(pid) for pid in _with_children(self.pid))

    def check(self) -> None:
        """Raise BenchError unless the server answers right."""
        try:
            wrong = ask(self.port, 5.0)
        except (OSError, http.client.HTTPException) as error:
            wrong = f"no answer: {error!r}"
        if wrong:
            raise BenchError(wrong)


def _environment() -> dict[str, str]:
    """The environment of a user: bytecode is kept between starts, under build/, whatever is set here."""
    made = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**made, "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "bytecode")}


@contextmanager
def started(server: Server, processor: int | None = None) -> Iterator[Running]:
    """Start a server on a free loopback port, wait for its first right answer, and end it afterwards."""
    port = free_port()
    with tempfile.TemporaryFile() as log:
        begin = time.perf_counter()
        try:
            process = subprocess.Popen(
                [*pinning(processor), *server.command(port)],
                cwd=ROOT,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise BenchError(f"cannot be started: {error}") from None
        try:
            wrong = _await_answer(process, port, begin + START_TIMEOUT)
            first_answer = time.perf_counter() - begin
            if wrong:
                log.seek(0)
                said = log.read().decode("utf-8", "replace").strip()
                raise BenchError(f"{wrong}; it said: {said[-300:]}" if said else wrong)
            yield Running(port, process.pid, first_answer)
        finally:
            _end(process)


def free_port() -> int:
    """A port of the loopback that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_answer(process: subprocess.Popen[bytes], port: int, deadline: float) -> str:
    """Poll at steps of 1 ms; an empty string once an answer is right, else the last thing that was wrong."""
    wrong = "no answer"
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            return f"ended with status {process.returncode} before it answered"
        try:
            wrong = ask(port, START_TIMEOUT)
        except (OSError, http.client.HTTPException) as error:
            wrong = f"no answer: {error!r}"
        if not wrong:
            return ""
        time.sleep(0.001)
    return f"no right answer within {START_TIMEOUT:.0f} s ({wrong})"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _with_children(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return [pid]
    return [pid] + [found for child in children for found in _with_children(int(child))]


def _resident(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:")), 0)
