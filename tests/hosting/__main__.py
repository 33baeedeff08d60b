"""`python3 -m tests.hosting`: see the package."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

from mcp_ref import CallCancelled, CallHandle, Client
from tests.bench.servers import ROOT, free_port, installed_in
from tests.bench.wrk import BenchError
from tests.support import RawClient, accept, message

HOME = ROOT / "build" / "hosting" / f"python-{sys.implementation.cache_tag}"
PACKAGES = ["gunicorn==27.0.1", "waitress==3.0.2", "redis==8.1.0"]
BIN = HOME / "bin"
PATIENCE = 30.0
THREADED = ["--worker-class", "gthread", "--workers", "2", "--threads", "16", "--graceful-timeout", "2"]
SERVERS: Dict[str, List[str]] = {
    "gunicorn sync": [str(BIN / "gunicorn"), "--workers", "2", "--bind", "127.0.0.1:{port}", "tests.hosting.app:app"],
    "gunicorn gthread": [str(BIN / "gunicorn"), *THREADED, "--bind", "127.0.0.1:{port}", "tests.hosting.app:app"],
    "waitress": [str(BIN / "waitress-serve"), "--listen=127.0.0.1:{port}", "--threads=16",
                 "--max-request-body-size=4194304", "tests.hosting.app:app"],
}
ONE_THREAD, SEVERAL = {"gunicorn sync"}, {"gunicorn sync", "gunicorn gthread"}
"""Those that serve one request at a time in each process, and those with two processes."""


def until(there: Callable[[], Any]) -> Any:
    """What `there` returns once that is true. Raises BenchError."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = there()
        if found:
            return found
        time.sleep(0.05)
    raise BenchError(f"not within {PATIENCE:.0f} s")


@contextlib.contextmanager
def running(command: List[str], alive: Callable[[], Any], environment: Dict[str, str], log: str) -> Iterator[None]:
    """Run a program until the block ends; it has begun once `alive` is true."""
    path = ROOT / "build" / "hosting" / f"{log.replace(' ', '-')}.log"
    with open(path, "wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out)
    try:
        until(lambda: process.poll() is not None or alive())
        if process.poll() is not None:
            raise BenchError(f"{log} does not start, see {path}")
        yield
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def healthy(port: int) -> bool:
    """Whether the server answers its health check."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


class Steps:
    """What each of them must do. url: of the endpoint. gone: the file that the tool `wait` leaves."""

    def __init__(self, url: str, gone: str, name: str) -> None:
        self.url, self.gone = url, gone
        self.processes = 2 if name in SEVERAL else 1

    def client(self, **options: Any) -> Client:
        """A client with a connection of its own."""
        return Client(self.url, timeout=PATIENCE, **options)

    def text(self, tool: str, **options: Any) -> str:
        """What a tool says, called over a connection of its own."""
        with self.client(**options) as client:
            return str(client.call_tool(tool)["content"][0]["text"])

    def all_processes(self) -> Set[str]:
        """Every process that serves, by its number."""
        found: Set[str] = set()

        def look() -> bool:
            ask = [threading.Thread(target=lambda: found.add(self.text("who"))) for _ in range(4)]
            for each in ask:
                each.start()
            for each in ask:
                each.join()
            return len(found) >= self.processes
        until(look)
        return found

    def step_rounds_land_on_any_process(self) -> None:
        """Three rounds, a connection each, until those of one conversation were served by different processes."""
        def talk() -> bool:
            more: Dict[str, Any] = {}
            while True:
                with RawClient(self.url) as client:
                    client.request(message("tools/call", {"name": "book", **more}))
                    result = client.response().json["result"]
                if result["resultType"] == "complete":
                    processes, said = result["content"][0]["text"].split(";")
                    assert said == "True, True" and len(processes.split()) == 3, result
                    return len(set(processes.split())) == self.processes
                more = {"requestState": result["requestState"],
                        "inputResponses": {key: accept(value=True) for key in result["inputRequests"]}}
        until(talk)

    def step_a_streamed_call(self) -> None:
        """Progress ahead of the result."""
        seen: List[Any] = []
        with self.client() as client:
            client.call_tool("count", on_progress=lambda *said: seen.append(said[0]))
        assert len(seen) == 3, seen

    def step_a_client_that_goes_away_cancels(self) -> None:
        """Noticed at the comment after it has gone."""
        handle, begun = CallHandle(), threading.Event()

        def call() -> None:
            with contextlib.suppress(CallCancelled), self.client() as client:
                client.call_tool("wait", handle=handle, on_progress=lambda *_: begun.set())
        thread = threading.Thread(target=call)
        thread.start()
        assert begun.wait(PATIENCE)
        handle.cancel()
        thread.join()
        until(lambda: os.path.exists(self.gone))

    def step_news_reaches_the_streams_of_all_processes(self) -> None:
        """Whoever announces: each of the streams hears it, once."""
        self.all_processes()
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(self.client()) for _ in range(8)]
            streams = [stack.enter_context(client.listen(tools=True, idle=PATIENCE)) for client in clients]
            tellers: Set[str] = set()
            told = 0
            while len(tellers) < self.processes and told < 200:
                tellers.add(self.text("tell"))
                told += 1
            assert len(tellers) == self.processes, tellers
            for stream in streams:
                for _ in range(told):
                    assert next(iter(stream))["method"] == "notifications/tools/list_changed"

    def step_a_stream_is_refused_in_words(self) -> None:
        """Where one thread would be held by it."""
        from mcp_ref import ProtocolError

        with self.client() as client:
            try:
                client.listen(tools=True)
            except ProtocolError as error:
                assert error.code == 1503 and "one thread" in error.message, error
            else:
                raise AssertionError("it was not refused")

    def step_chunks_and_bad_bodies(self) -> None:
        """A chunked body is read, and what is none is answered without a 500."""
        for head, wanted in ((b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b" 400 "),
                             (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b" 400 "),
                             (b"Content-Length: 2\r\n\r\n{}", b" 400 "), (b"\r\n", b" 411 "),
                             (b"Content-Length: 99999999\r\n\r\n", b" 413 ")):
            host, port = self.url.split("/")[2].split(":")
            with socket.create_connection((host, int(port)), PATIENCE) as raw:
                raw.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                            b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" + head)
                said = raw.recv(65536)
                assert wanted in said.split(b"\r\n")[0] or b"zz" in head and said == b"", (head, said)

    def all(self, name: str) -> Iterator[Tuple[str, Callable[[], None]]]:
        """The steps that a server of this kind takes."""
        for step in dir(self):
            listens = step == "step_news_reaches_the_streams_of_all_processes"
            refuses = step == "step_a_stream_is_refused_in_words"
            if step.startswith("step_") and not (listens if name in ONE_THREAD else refuses):
                yield step[len("step_"):].replace("_", " "), getattr(self, step)


def report(name: str, between: str, folder: str) -> Tuple[int, int]:
    """Run a server over a bus and print a line for each step; how many passed and failed."""
    port, counts = free_port(), {True: 0, False: 0}
    environment = {"BUS": between, "FOLDER": folder, "MCP_STATE_KEY": "a-key-that-all-of-them-share"}
    command = [word.format(port=port) for word in SERVERS[name]]
    label = f"{name} on {'redis' if between.startswith('redis') else 'unix sockets'}"
    with running(command, lambda: healthy(port), environment, label):
        steps = Steps(f"http://127.0.0.1:{port}/mcp", os.path.join(folder, "gone"), name)
        for title, step in steps.all(name):
            try:
                step()
                print(f"ok {label}: {title}", flush=True)
                counts[True] += 1
            except Exception as error:
                print(f"FAILED {label}: {title}: {type(error).__name__}: {error}", flush=True)
                counts[False] += 1
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "gone"))
    return counts[True], counts[False]


def require_redis() -> str:
    """Debian's Redis, installed when allowed to; its program. Raises BenchError."""
    if not shutil.which("redis-server") and shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "redis-server"]):
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    found = shutil.which("redis-server")
    if not found:
        raise BenchError("Redis is needed: install the Debian package `redis-server` and run this again")
    return found


def main() -> int:
    """Run all and report; the exit status."""
    passed = failed = 0
    try:
        installed_in(HOME, PACKAGES)
        redis, port = require_redis(), free_port()
        with tempfile.TemporaryDirectory() as folder:
            def answers() -> bool:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    return True
                return False

            quiet = ["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", folder]
            with running([redis, "--port", str(port), *quiet], answers, {}, "redis"):
                for name in SERVERS:
                    for between in (os.path.join(folder, "bus"), f"redis://127.0.0.1:{port}"):
                        good, bad = report(name, between, folder)
                        passed, failed = passed + good, failed + bad
    except BenchError as error:
        print(f"FAILED: {error}")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
