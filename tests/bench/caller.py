"""One client under test: `python3 -m tests.bench.caller NAME URL SECONDS THREADS` calls the echo tool again and again.

Prints `first` when the first answer is there, then a line of JSON: calls a second, and the median of one in
milliseconds. NAME is mcp_ref, or bare: an `http.client` loop that sends the same octets and parses the JSON.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from statistics import median
from typing import Any, Callable, List
from urllib.parse import urlsplit

from .request import BODY, HEADERS, TEXT

Call = Callable[[], None]


def main(name: str, url: str, seconds: float, threads: int) -> None:
    """Measure, and print."""
    callers = {"mcp_ref": ours, "bare": bare}[name](url, threads)
    callers[0]()
    print("first", flush=True)
    took: List[List[float]] = [[] for _ in callers]
    begin = time.perf_counter()
    running = [threading.Thread(target=work, args=(call, begin + seconds, times)) for call, times in zip(callers, took)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    spent = time.perf_counter() - begin
    every = [each for times in took for each in times]
    print(json.dumps({"per_second": len(every) / spent, "p50_ms": median(every) * 1000}), flush=True)


def work(call: Call, until: float, took: List[float]) -> None:
    """Call until then, and write down how long each call took."""
    now = time.perf_counter()
    while now < until:
        call()
        then = time.perf_counter()
        took.append(then - now)
        now = then


def ours(url: str, threads: int) -> List[Call]:
    """All threads share one client, as a program's would."""
    from mcp_ref import Client

    client = Client(url)

    def call() -> None:
        if client.call_tool("echo", {"text": TEXT})["content"][0]["text"] != TEXT:
            raise SystemExit("a wrong answer")
    return [call] * threads


def bare(url: str, threads: int) -> List[Call]:
    """A connection for each thread."""
    return [_bare(url) for _ in range(threads)]


def _bare(url: str) -> Call:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    body = BODY.encode("utf-8")

    def call() -> None:
        connection.request("POST", place.path, body, HEADERS)
        answer: Any = json.loads(connection.getresponse().read())
        if answer["result"]["content"][0]["text"] != TEXT:
            raise SystemExit("a wrong answer")
    return call


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
