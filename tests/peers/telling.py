"""What the Python programs of the peers share: what they were asked to do, and what they say of it.

It runs in the peers' own virtual environments, beside the program that imports it, and needs nothing but Python.
"""

import asyncio
import json
import sys

ERA = sys.argv[1] if len(sys.argv) > 1 else ""
"""`2026-07-28`, or `2025-11-25` for the revisions before."""
TARGET = sys.argv[2:]
"""The URL of a server, or the command of one that is started."""
OVER_HTTP = len(TARGET) == 1
MODERN = ERA == "2026-07-28"
TIMEOUT = 20.0

ANSWERS = {"agree": True, "seat": "aisle", "name": "Ada"}
ABOUT = "peers://about"


def listening():
    """Tell the driver that somebody listens, so that it ends the server."""
    print(json.dumps({"listening": True}), flush=True)


async def tell(steps, code=lambda error: None):
    """Do the steps, and print a line of JSON for each: its name, and what it got or the error it ended with.

    steps: name to a function without arguments whose coroutine gives what the step got. code: that of an error, where
    it is one of JSON-RPC.
    """
    for name, step in steps.items():
        try:
            said = {"step": name, "got": await asyncio.wait_for(step(), TIMEOUT)}
        except Exception as error:
            found = code(error)
            said = {"step": name, "error": f"{type(error).__name__}: {error}" if found is None else found}
        print(json.dumps(said), flush=True)
