"""A client of the official Python SDK, or of FastMCP, for the bench: what tests/bench/caller.py is, on asyncio.

`python python_sdk_caller.py URL SECONDS` in the virtual environment of either.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from statistics import median

try:
    from fastmcp import Client
except ImportError:
    from mcp import Client

TEXT = "hello era"


async def main(url: str, seconds: float) -> None:
    took = []
    async with Client(url) as client:
        async def call() -> None:
            result = await client.call_tool("echo", {"text": TEXT})
            if result.content[0].text != TEXT:
                raise SystemExit("a wrong answer")

        await call()
        print("first", flush=True)
        begin = now = time.perf_counter()
        while now < begin + seconds:
            await call()
            then = time.perf_counter()
            took.append(then - now)
            now = then
    print(json.dumps({"per_second": len(took) / (now - begin), "p50_ms": median(took) * 1000}), flush=True)


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
