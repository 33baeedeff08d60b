"""Running `wrk`, the load generator, and reading what it prints."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from .placement import pinning
from .request import BODY, HEADERS, PATH

UNIT_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0, "h": 3_600_000.0}


class BenchError(Exception):
    """A figure that could not be had; the text is the reason shown."""


@dataclass(frozen=True)
class Load:
    """One run of wrk: requests per second, latencies in milliseconds."""

    per_second: float
    p50_ms: float
    p99_ms: float


def require() -> None:
    """Make sure `wrk` is there, installing Debian's package when allowed to; raises BenchError when it is not."""
    if shutil.which("wrk"):
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "wrk"]):
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if not shutil.which("wrk"):
        raise BenchError("wrk is needed: install the Debian package `wrk` (apt-get install wrk) and run this again")


def script() -> str:
    """The Lua script that makes wrk send the bench's request."""
    headers = "".join(f"wrk.headers[{_lua(name)}] = {_lua(value)}\n" for name, value in HEADERS.items())
    return f'wrk.method = "POST"\n{headers}wrk.body = {_lua(BODY)}\n'


def _lua(text: str) -> str:
    # A JSON string is a Lua string too, as long as it is ASCII without control characters.
    return json.dumps(text)


def run(port: int, connections: int, seconds: int, sample: Callable[[], None], processor: int | None = None) -> Load:
    """Load the server on `port` for `seconds`, calling `sample` ten times a second; raises BenchError on any error."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua", encoding="utf-8") as lua:
        lua.write(script())
        lua.flush()
        command = [
            *pinning(processor),
            "wrk",
            "-t",
            "1",
            "-c",
            str(connections),
            "-d",
            f"{seconds}s",
            "--latency",
            "--timeout",
            "10s",  # of 128 clients a thread each, some wait longer than the two seconds that wrk has by default
            "-s",
            lua.name,
        ]
        process = subprocess.Popen(
            [*command, f"http://127.0.0.1:{port}{PATH}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        while True:
            try:
                output, _ = process.communicate(timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                sample()
    if process.returncode != 0:
        raise BenchError(f"wrk failed with status {process.returncode}: {output.strip()[:200]}")
    return parse(output)


def parse(output: str) -> Load:
    """Read what `wrk --latency` printed; raises BenchError when a figure is missing or a request went wrong."""
    for pattern in (r"Socket errors: .*", r"Non-2xx or 3xx responses: .*"):
        complaint = re.search(pattern, output)
        if complaint:
            raise BenchError(f"wrk reports {complaint.group().strip()}")
    rate = re.search(r"^Requests/sec:\s+([\d.]+)", output, re.MULTILINE)
    if rate is None or float(rate.group(1)) == 0:
        raise BenchError(f"wrk measured no requests: {output.strip()[-200:]!r}")
    return Load(float(rate.group(1)), _percentile(output, 50), _percentile(output, 99))


def _percentile(output: str, percent: int) -> float:
    found = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s|m|h)\s*$", output, re.MULTILINE)
    if found is None:
        raise BenchError(f"wrk printed no {percent}% latency: {output.strip()[-200:]!r}")
    return float(found.group(1)) * UNIT_MS[found.group(2)]
