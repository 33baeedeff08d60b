"""Clients that are command lines: `python3 tool_client.py NAME ERA TARGET` does what each can of the steps of steps.py.

NAME is `inspector` or `mcporter`, whose program PEER_PROGRAM names. Each step is one run of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

NAME = sys.argv.pop(1)  # before what telling reads

from telling import ABOUT, MODERN, OVER_HTTP, TARGET, TIMEOUT, tell  # noqa: E402

PROGRAM = json.loads(os.environ["PEER_PROGRAM"])
ERA_NAME = ("auto" if OVER_HTTP else "modern") if MODERN else "legacy"
HOME = tempfile.mkdtemp()


class Refused(Exception):
    """The program ended with another status than 0."""


def run(*words):
    """What it printed. Raises Refused."""
    done = subprocess.run([*PROGRAM, *words], capture_output=True, encoding="utf-8", timeout=TIMEOUT, check=False,
                          env={**os.environ, "HOME": HOME, "XDG_CONFIG_HOME": HOME}, cwd=os.getcwd(),
                          stdin=subprocess.DEVNULL)
    if done.returncode and not done.stdout.strip():
        raise Refused(done.stderr.strip()[-500:])
    return done.stdout


def code(error):
    found = re.search(r"-32\d{3}", str(error))
    return int(found.group()) if found else None


# The Inspector's


def inspect(method, *words):
    """The result of one method."""
    to = ["--server-url", TARGET[0], "--transport", "http"] if OVER_HTTP else TARGET
    options = ["--protocol-era", ERA_NAME, "--format", "json", "-q", "--method", method]
    shown = json.loads(run("--cli", *options, *words, *to) if OVER_HTTP else run("--cli", *to, *options, *words))
    return shown.get("result", shown)


def inspected(tool, **arguments):
    return inspect("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))


def inspected_error():
    found = inspected("fail")
    return [found["isError"], found["content"][0]["text"]]


INSPECTOR = {
    "list_tools": lambda: sorted(tool["name"] for tool in inspect("tools/list")["tools"]),
    "call": lambda: inspected("echo", text="hi, Zürich ☃")["content"][0]["text"],
    "structured": lambda: inspected("add", a=2, b=3)["structuredContent"],
    "tool_error": inspected_error,
    "bad_arguments": lambda: inspected("add", a="two", b=3)["isError"],
    "mirrored": lambda: inspected("route", region="Zürich", shard=-7, dry=True)["content"][0]["text"],
    "odd_name": lambda: inspected("grüße")["content"][0]["text"],
    "list_resources": lambda: sorted(each["uri"] for each in inspect("resources/list")["resources"]),
    "read": lambda: inspect("resources/read", "--uri", ABOUT)["contents"][0]["text"],
    "read_octets": lambda: inspect("resources/read", "--uri", "peers://dot")["contents"][0]["blob"],
    "list_templates": lambda: [each["uriTemplate"]
                               for each in inspect("resources/templates/list")["resourceTemplates"]],
    "read_template": lambda: inspect("resources/read", "--uri", "peers://plants/fern")["contents"][0]["text"],
    "unknown_resource": lambda: inspect("resources/read", "--uri", "peers://nothing"),
    "list_prompts": lambda: [[each["name"], [[given["name"], given.get("required", False)]
                                             for given in each["arguments"]]]
                             for each in inspect("prompts/list")["prompts"]],
    "get_prompt": lambda: inspect("prompts/get", "--prompt-name", "advice", "--prompt-args",
                                  "plant=fern")["messages"][0]["content"]["text"],
}


# mcporter's


def port(command, *words):
    to = ["--http-url", TARGET[0], "--allow-http"] if OVER_HTTP else ["--stdio", shlex.join(TARGET)]
    return run(command, *to, "--name", "peers", *words)


def ported(tool, **arguments):
    return json.loads(port("call", "--tool", tool, "--args", json.dumps(arguments), "--output", "json"))


def ported_error():
    found = ported("fail")
    return [found["isError"], found["content"][0]["text"]]


MCPORTER = {
    "list_tools": lambda: sorted(tool["name"] for tool in json.loads(port("list", "--json"))["tools"]),
    "call": lambda: ported("echo", text="hi, Zürich ☃")["content"][0]["text"],
    "structured": lambda: ported("add", a=2, b=3),
    "tool_error": ported_error,
    "mirrored": lambda: ported("route", region="Zürich", shard=-7, dry=True)["content"][0]["text"],
    "odd_name": lambda: ported("grüße")["content"][0]["text"],
}


def later(step):
    return lambda: asyncio.to_thread(step)


if __name__ == "__main__":
    chosen = {"inspector": INSPECTOR, "mcporter": MCPORTER}[NAME]
    asyncio.run(tell({name: later(step) for name, step in chosen.items()}, code))
