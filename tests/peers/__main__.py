"""`python3 -m tests.peers`: mcp_ref and the two official SDKs, each as server and as client of mcp_ref; their 1.x as
clients that begin with initialize.

The SDKs are installed under build/peers, as the bench does it. Each pair of a server and a client does the steps of
steps.py; a line `ok SERVER < CLIENT: STEP` or `FAILED …: why` for each, a line `differs …` for what a peer does against
the specification (steps.py says where), then `N passed, N failed`; the exit status is 1 unless none failed.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Tuple

from tests.bench.servers import (
    NODE_HOME,
    PYTHON_1_HOME,
    PYTHON_1_PACKAGES,
    PYTHON_HOME,
    ROOT,
    SOURCES,
    install_python_sdk,
    install_typescript_sdk,
    installed_in,
)
from tests.bench.wrk import BenchError

from .steps import COMMANDS, DIFFERENCES, EXPECTED, LEGACY

START_TIMEOUT = 30.0
PAIR_TIMEOUT = 180.0
PYTHON = str(PYTHON_HOME / "bin" / "python")
NODE = str(NODE_HOME / "node_modules" / "node" / "bin" / "node")

SERVERS: Dict[str, List[str]] = {
    "mcp_ref": [sys.executable, "-m", "mcp_ref", "serve", "tests.peers.server:server", "--port"],
    "python_sdk": [PYTHON, "-W", "ignore", str(SOURCES / "python_sdk_contract.py")],
    "typescript_sdk": [NODE, str(NODE_HOME / "typescript_sdk_contract.mjs")],
}
CLIENTS: Dict[str, List[str]] = {
    "mcp_ref": [sys.executable, "-m", "tests.peers.client"],
    "mcp_ref command line": [sys.executable, "-m", "tests.peers.command_line"],
    "python_sdk": [PYTHON, "-W", "ignore", str(SOURCES / "python_sdk_client.py")],
    "typescript_sdk": [NODE, str(NODE_HOME / "typescript_sdk_client.mjs")],
    "python_sdk 1.x": [str(PYTHON_1_HOME / "bin" / "python"), "-W", "ignore", str(SOURCES / "python_sdk_1_client.py")],
    "typescript_sdk 1.x": [NODE, str(NODE_HOME / "typescript_sdk_1_client.mjs")],
}
WANTED = {"mcp_ref command line": {step: EXPECTED[step] for step in COMMANDS},
          "python_sdk 1.x": LEGACY, "typescript_sdk 1.x": LEGACY}
"""What a client must get where that is not all that EXPECTED has."""
# Every pair of which one is ours.
PAIRS = [(server, client) for server in SERVERS for client in CLIENTS if "mcp_ref" in server + client]


@contextmanager
def started(name: str) -> Iterator[Tuple[str, "subprocess.Popen[bytes]"]]:
    """Run a server on a free loopback port; its URL and its process. Raises BenchError."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log_path = ROOT / "build" / "peers" / f"{name}-server.log"
    with open(log_path, "wb") as log:
        process = subprocess.Popen([*SERVERS[name], str(port)], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log)
    try:
        deadline = time.monotonic() + START_TIMEOUT
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"{name} does not start, see {log_path}")
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/mcp")
        return connection.getresponse().status > 0
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def said_by(client: str, url: str, server: "subprocess.Popen[bytes]") -> Dict[str, Dict[str, Any]]:
    """Run a client against a server: step to what it said. The server is told to end once the client listens to it."""
    found: Dict[str, Dict[str, Any]] = {}
    process = subprocess.Popen([*CLIENTS[client], url], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8",
                               env={**os.environ, "PYTHONIOENCODING": "utf-8"})
    late = threading.Timer(PAIR_TIMEOUT, process.kill)
    errors: List[str] = []
    assert process.stdout is not None and process.stderr is not None
    reader = threading.Thread(target=errors.extend, args=(process.stderr,), daemon=True)
    late.start()
    reader.start()
    try:
        for line in process.stdout:
            said = json.loads(line)
            if "listening" in said:
                server.terminate()
            else:
                found[said.pop("step")] = said
        process.wait()
    finally:
        late.cancel()
        process.kill()
        reader.join()
    if process.returncode:
        print(f"{client} ended with status {process.returncode}: {''.join(errors).strip()[-500:]}")
    return found


def matches(said: Dict[str, Any], wanted: Dict[str, Any]) -> bool:
    """Whether a client said what is wanted, whose `words` are a part of those said."""
    return {**said, "words": ""} == {**wanted, "words": ""} and wanted.get("words", "") in said.get("words", "")


def shown(said: Dict[str, Any]) -> str:
    """On one line."""
    return json.dumps(said, ensure_ascii=False)


def report(server: str, client: str, found: Dict[str, Dict[str, Any]]) -> Tuple[int, int]:
    """Print a line for each step of a pair; the numbers of those that passed and of those that did not."""
    failed = 0
    steps = WANTED.get(client, EXPECTED)
    for step in steps:
        wanted, why = DIFFERENCES.get((server, step), (steps[step], ""))
        pair, said = f"{server} < {client}: {step}", found.get(step, {})
        if not matches(said, wanted):
            failed += 1
            print(f"FAILED {pair}: {shown(said)}, not {shown(wanted)}")
        elif why:
            print(f"differs {pair}: {why}")
        else:
            print(f"ok {pair}")
    return len(steps) - failed, failed


def main() -> int:
    """Run all pairs and report; the exit status."""
    passed = failed = 0
    try:
        install_python_sdk()
        install_typescript_sdk()
        installed_in(PYTHON_1_HOME, PYTHON_1_PACKAGES)
        for server, client in PAIRS:
            with started(server) as (url, process):
                good, bad = report(server, client, said_by(client, url, process))
            passed, failed = passed + good, failed + bad
    except BenchError as error:
        print(f"FAILED: {error}")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
