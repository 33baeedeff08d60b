"""`python3 -m tests.peers [NAME …]`: mcp_ref and what people run, each as a server and as a client of mcp_ref.

The peers are those of catalogue.py, installed under build/peers. Each pair of a server and a client does the steps of
steps.py, in each way that the peer knows: over HTTP or stdio, in 2026-07-28 or 2025-11-25. A line `ok SERVER < CLIENT,
WAY: STEP` or `FAILED …: why` for each, a line `differs …` for what a peer does against the specification or against
another peer (steps.py says where), then `N passed, N failed`; the exit status is 1 unless none failed. A run of all of
them writes the README's table; NAME is a peer, for a run of some.
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
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from tests.bench.servers import ROOT, install_typescript_sdk
from tests.bench.wrk import BenchError

from .catalogue import PEERS, Peer, Way
from .steps import COMMANDS, HTTP, MODERN, expected
from .table import Cells, write

START_TIMEOUT = 30.0
PAIR_TIMEOUT = 300.0
OURS = [sys.executable, "-m", "mcp_ref", "serve", "tests.peers.server:server"]
CLIENTS: Dict[str, List[str]] = {
    "mcp_ref": [sys.executable, "-m", "tests.peers.client"],
    "mcp_ref command line": [sys.executable, "-m", "tests.peers.command_line"],
}


class Pair(NamedTuple):
    """A server and a client of it, one of which is ours. server, client: the commands; steps: what the client does."""

    name: str
    server: List[str]
    client: List[str]
    steps: Sequence[str]
    environment: Dict[str, str] = {}
    bridge: Sequence[str] = ()


def pairs(peer: Peer, way: Way) -> Iterator[Tuple[str, Pair]]:
    """The peer's part in a pair, and the pair; those of a way that it knows.

    The command line goes over HTTP alone, since over stdio each command has a server of its own, and in 2026-07-28
    alone, since its eras are those of `Client`.
    """
    over_http = way.transport == HTTP
    if way in peer.calls:
        program = peer.installed(peer.program)
        yield "client", Pair(f"mcp_ref < {peer.name}", [*OURS, "--port" if over_http else "--stdio"],
                             peer.command(peer.client), list(peer.does(way)),
                             {"PEER_PROGRAM": json.dumps(program)} if program else {}, peer.installed(peer.bridge))
    if way in peer.serves:
        server = [*peer.command(peer.server), *([] if over_http else ["stdio"])]
        for name, client in CLIENTS.items() if way == Way(HTTP, MODERN) else [("mcp_ref", CLIENTS["mcp_ref"])]:
            steps = [step for step in peer.does(way) if step not in peer.unserved
                     and (name == "mcp_ref" or step in COMMANDS)]
            yield "server", Pair(f"{peer.name} < {name}", server, client, steps, {"PEER_STEPS": ",".join(steps)})


@contextmanager
def started(command: List[str]) -> Iterator[Tuple[str, "subprocess.Popen[bytes]"]]:
    """Run a server on a free loopback port; its URL and its process. Raises BenchError."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log_path = ROOT / "build" / "peers" / "server.log"
    with open(log_path, "wb") as log:
        process = subprocess.Popen([*command, str(port)], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_TIMEOUT
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"{command} does not start: {log_path.read_text('utf-8', 'replace')[-500:]}")
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")  # not the endpoint, where it could be a stream
        return connection.getresponse().status > 0
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def met(pair: Pair, way: Way) -> Dict[str, Dict[str, Any]]:
    """Have them meet: step to what the client said."""
    if way.transport != HTTP:
        return said_by(pair, way, pair.server, None)
    with started(pair.server) as (url, process):
        return said_by(pair, way, [*pair.bridge, url], process)


def said_by(pair: Pair, way: Way, target: List[str], server: "subprocess.Popen[bytes] | None"
            ) -> Dict[str, Dict[str, Any]]:
    """Run a client: step to what it said. The server is told to end once the client listens to it."""
    found: Dict[str, Dict[str, Any]] = {}
    process = subprocess.Popen([*pair.client, way.era, *target], cwd=ROOT, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                               env={**os.environ, "PYTHONIOENCODING": "utf-8", **pair.environment})
    late = threading.Timer(PAIR_TIMEOUT, process.kill)
    errors: List[str] = []
    assert process.stdout is not None and process.stderr is not None
    reader = threading.Thread(target=errors.extend, args=(process.stderr,), daemon=True)
    late.start()
    reader.start()
    try:
        for line in process.stdout:
            if not line.startswith("{"):  # mcp-use has its log there
                continue
            said = json.loads(line)
            if "listening" not in said:
                found[said.pop("step")] = said
            elif server is not None:
                server.terminate()
        process.wait()
    finally:
        late.cancel()
        process.kill()
        reader.join()
    if process.returncode:
        print(f"{pair.name} ended with status {process.returncode}: {''.join(errors).strip()[-500:]}")
    return found


def matches(said: Dict[str, Any], wanted: Dict[str, Any]) -> bool:
    """Whether a client said what is wanted, whose `words` are a part of those said."""
    return {**said, "words": ""} == {**wanted, "words": ""} and wanted.get("words", "") in said.get("words", "")


def shown(said: Dict[str, Any]) -> str:
    """On one line."""
    return json.dumps(said, ensure_ascii=False)


def judged(peer: str, pair: Pair, way: Way, found: Dict[str, Dict[str, Any]]) -> Dict[str, str]:
    """Print a line for each step of a pair; step to `ok`, `differs` or `FAILED`."""
    verdicts = {}
    for step in pair.steps:
        wanted, why = expected(peer, step, *way)
        line, said = f"{pair.name}, {way.transport} {way.era}: {step}", found.get(step, {})
        if not matches(said, wanted):
            verdicts[step] = "FAILED"
            print(f"FAILED {line}: {shown(said)}, not {shown(wanted)}")
        else:
            verdicts[step] = "differs" if why else "ok"
            print(f"{verdicts[step]} {line}" + (f": {why}" if why else ""), flush=True)
    return verdicts


def met_in_all_ways(peer: Peer) -> Iterator[Tuple[str, Way, Dict[str, str]]]:
    """The peer's part, the way, and the verdicts on its steps, for each pair that it is in."""
    peer.install()
    for way in dict.fromkeys((*peer.calls, *peer.serves)):
        for part, pair in pairs(peer, way):
            name = peer.name if part == "client" else f"{peer.name} server"
            yield part, way, judged(name, pair, way, met(pair, way))


def main(names: List[str]) -> int:
    """Run what is asked for and report; the exit status."""
    wanted = [peer for peer in PEERS if not names or peer.name in names]
    cells: Dict[Tuple[str, str, Way], Cells] = {}
    counted = {"ok": 0, "differs": 0, "FAILED": 0 if wanted else 1}
    try:
        install_typescript_sdk()  # whose Node runs the others
        for peer in wanted:
            for part, way, verdicts in met_in_all_ways(peer):
                row = cells.setdefault((peer.name, part, way), {})
                for step, verdict in verdicts.items():
                    counted[verdict] += 1
                    row.setdefault(step, []).append(verdict)
    except BenchError as error:
        print(f"FAILED: {error}")
        counted["FAILED"] += 1
    if len(wanted) == len(PEERS):
        write(cells)
    print(f"{counted['ok'] + counted['differs']} passed, {counted['FAILED']} failed")
    return 1 if counted["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
