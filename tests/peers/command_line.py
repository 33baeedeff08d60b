"""mcp_ref's command line: `python3 -m tests.peers.command_line ERA TARGET` does what it can of steps.py.

Each is one run of `python3 -m mcp_ref`. Prints a line of JSON for each step: its name, and what it got or the error it
ended with.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List, Tuple

TIMEOUT = 30.0
ERA, *TARGET = sys.argv[1:]


class Refused(Exception):
    """A command ended with another status than 0; the message is what it said."""


def line(command: str, *words: str) -> List[str]:
    """The whole command line of a command to the target: a URL comes first, the command of a server last."""
    era = [] if ERA == "2026-07-28" else ["--era", "legacy"]
    url, server = (TARGET, []) if len(TARGET) == 1 else ([], ["--", *TARGET])
    return [sys.executable, "-m", "mcp_ref", command, *url, *words, *era, *server]


def run(command: str, *words: str, stdin: str = "", failing: bool = False) -> "subprocess.CompletedProcess[bytes]":
    """Run one command to its end. failing: whether status 1 is what is wanted. Raises Refused."""
    done = subprocess.run(line(command, *words), capture_output=True,
                          input=stdin.encode("utf-8"), timeout=TIMEOUT, check=False)
    if done.returncode != int(failing):
        raise Refused(done.stderr.decode("utf-8").strip())
    return done


def text(command: str, *words: str, **options: Any) -> str:
    """What a command printed, without the line's end."""
    return run(command, *words, **options).stdout.decode("utf-8").rstrip("\n")


def lines(command: str, *words: str) -> List[str]:
    """The name at the beginning of each line that a command printed, without its arguments."""
    return sorted(re.split(r"[\s(]", line)[0] for line in text(command, *words).splitlines())


def connect() -> Any:
    name, versions, _, instructions = text("discover").splitlines()
    return [versions.split()[1].rstrip(","), name.split()[0], instructions]


def structured() -> Any:
    return json.loads(text("call", "add", "--arg", "a=2", "--arg", "b=3", "--output", "json"))["structuredContent"]


def tool_error() -> Any:
    return [True, text("call", "fail", failing=True)]


def unknown_tool() -> Any:
    """The text, where a server makes a tool result of it."""
    done = run("call", "nothing", failing=True)
    if not done.stdout:
        raise Refused(done.stderr.decode("utf-8").strip())
    return done.stdout.decode("utf-8").strip()


def progress() -> Any:
    done = run("call", "count")
    heard = re.findall(r"progress (\d)/(\d) (.+)", done.stderr.decode("utf-8"))
    return [done.stdout.decode("utf-8").strip(), [[int(step), int(total), said] for step, total, said in heard]]


def listen() -> Any:
    """Start to listen, and change things once the server has agreed."""
    process = subprocess.Popen(line("listen", "--tools", "--uri", "peers://about"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8")
    late = threading.Timer(TIMEOUT, process.kill)
    late.start()
    try:
        assert process.stdout is not None and process.stderr is not None
        process.stderr.readline()
        run("call", "grow")
        first = json.loads(process.stdout.readline())["method"]
        run("call", "water")
        updated = next(each for each in map(json.loads, process.stdout) if each["method"].endswith("updated"))
        return [first == "notifications/tools/list_changed", updated["params"]["uri"]]
    finally:
        late.cancel()
        process.kill()
        process.communicate()


STEPS: Tuple[Tuple[str, Callable[[], Any]], ...] = (
    ("connect", connect),
    ("list_tools", lambda: lines("list")),
    ("call", lambda: text("call", "echo", "--arg", "text=hi, Zürich ☃")),
    ("structured", structured),
    ("tool_error", tool_error),
    ("unknown_tool", unknown_tool),
    ("mirrored", lambda: text("call", "route", "--arg", "region=Zürich", "--arg", "shard=-7", "--arg", "dry=true")),
    ("odd_name", lambda: text("call", "grüße")),
    ("elicit_accept", lambda: text("call", "book", "--arg", "flight=MC 1", "--stdin",
                                   stdin="yes\ns\naisle\ns\n").splitlines()[-1]),
    ("elicit_decline", lambda: text("call", "book", "--arg", "flight=MC 1")),
    ("undeclared", lambda: text("call", "visit", "--no-input")),
    ("progress", progress),
    ("list_resources", lambda: lines("list", "--kind", "resources")),
    ("read", lambda: text("read", "peers://about")),
    ("read_octets", lambda: base64.b64encode(run("read", "peers://dot").stdout).decode("ascii")),
    ("read_template", lambda: text("read", "peers://plants/fern")),
    ("unknown_resource", lambda: text("read", "peers://nothing")),
    ("get_prompt", lambda: text("prompt", "advice", "--arg", "plant=fern").partition(": ")[2]),
    ("listen", listen),
)


def main() -> None:
    """Do the steps, one after the other."""
    wanted = os.environ.get("PEER_STEPS", "").split(",")
    for name, step in STEPS:
        if name not in wanted:
            continue
        try:
            said: Dict[str, Any] = {"step": name, "got": step()}
        except Refused as error:
            code = re.search(r"-32\d{3}", str(error))
            said = {"step": name, "error": int(code.group()) if code else "refused", "words": str(error)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
