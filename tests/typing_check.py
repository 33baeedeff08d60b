"""What a checker of types says of programs that use the package: nothing of right ones, and each fault of a wrong one.

    python -m tests.typing_check [pyright]      mypy --strict by default, of the Python that runs this

The right ones are the snippets of the README. In the wrong one, below, each line that ends with `# wrong` must be
reported and no other. `make lint` runs it: it needs mypy, which the tests do not.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, Set, Tuple

from .support import ROOT
from .test_readme import TEXT

MYPY = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.9", "--cache-dir", "mypy"]

WRONG = '''
from typing import Any, Dict, List
from mcp_ref import Cache, CallHandle, Client, Context, HTTPServer, Limits, Server, accept, cancel, decline

server = Server("s", "1", extensions={"com.example/map": {"scale": 2}})
Server("s", "1", titel="x")  # wrong
Server("s")  # wrong
Server(7, "1")  # wrong

@server.tool
def bare(ctx: Context, a: int) -> str:
    return ctx.headers["host"]

@server.tool(title="T", strict=True, annotations={"readOnlyHint": True}, scopes=["x"])
async def given(a: int) -> Dict[str, int]:
    return {"a": a}

@server.resource("demo://{name}", mime_type="text/plain", ttl_ms=1)
def resource(name: str) -> bytes:
    return name.encode()

@server.prompt
def prompt(a: str) -> str:
    return a

@server.prompt(title="P")
def titled(a: str) -> str:
    return a

@server.completion("prompt", "a")
def complete(value: str) -> List[str]:
    return [value]

def use(ctx: Context) -> None:
    bare(ctx, 1).upper()
    bare(ctx, "1")  # wrong
    bare(ctx, 1).nothing()  # wrong
    resource("a").hex()
    resource(1)  # wrong
    prompt("a").upper()
    prompt(1)  # wrong
    titled("a").upper()
    titled(1)  # wrong
    complete("a").append("b")
    complete(1)  # wrong

async def use_async() -> None:
    (await given(1))["a"].bit_length()
    await given("1")  # wrong

server.tool(titel="x")  # wrong
server.tool(bare, titel="x")  # wrong
server.tool(strict="yes", scopes=3)  # wrong
server.add_tool(bare, titel="x")  # wrong
server.resource("demo://a", titel="x")  # wrong
server.resource("demo://a", size="1")  # wrong
server.add_resource("demo://a", resource, titel="x")  # wrong
server.add_resource_template("demo://{a}", resource, size=1)  # wrong
server.add_folder("file:///a/", ".", patern="*")  # wrong
server.prompt(titel="x")  # wrong
server.add_prompt(prompt, strict=True)  # wrong
server.serve(prot=1)  # wrong
server.serve(port=8000, limits=Limits(idle=1.0), origins=["https://app.example"])
server.add_tool(bare, name="n", input_schema={"type": "object"}).name.upper()

client = Client(server, headers=lambda: {"X-Team": "blue"}, validate_output=False, extensions={"com.example/a": {}})
Client("http://127.0.0.1/", on_elicit=lambda question: accept({"a": 1}) if question else decline() or cancel())
Client(7)  # wrong
Client(server, titel="x")  # wrong
Client(server, headers=[("a", "b")])  # wrong
handle = CallHandle()
client.call_tool("bare", {"a": 1}, timeout=1, meta={"com.example/a": 1}, log_level="info", handle=handle)["content"]
client.call_tool("bare", rounds=0, max_timeout=9.0, input_responses={"a": {"action": "decline"}}, request_state="s")
client.call_tool("bare", titel="x")  # wrong
client.call_tool("bare", rounds="0")  # wrong
client.call_tool("bare", fresh=True)  # wrong
client.call_tool("bare", max_timeout="9")  # wrong
client.page("tools/list", None, fresh=True)["tools"]
client.page("tools/list", 7)  # wrong
[page.get("nextCursor") for page in client.pages("tools/list", fresh=True)]
client.pages("tools/list", titel="x")  # wrong
Client(server, cache=Cache(1000), max_timeout=60).read_resource("demo://a", fresh=True, rounds=0)
Client(server, cache=True)  # wrong
client.listen(tools=True, reconnect=True).honoured.get("toolsListChanged")
client.call_tool("bare", timeout="x")  # wrong
client.call_tool("bare", handle=7)  # wrong
client.discover(titel="x")  # wrong
client.list_tools(titel="x")  # wrong
client.list_resources(titel="x")  # wrong
client.list_resource_templates(titel="x")  # wrong
client.list_prompts(titel="x")  # wrong
client.read_resource("demo://a", titel="x")  # wrong
client.get_prompt("prompt", titel="x")  # wrong
client.complete({"type": "ref/prompt", "name": "prompt"}, "a", "", titel="x")  # wrong
client.listen(tool=True)  # wrong
client.request("tools/list", titel="x")  # wrong
HTTPServer(server, prot=0)  # wrong
Limits(idel=1)  # wrong
'''


def snippets() -> List[Tuple[str, str]]:
    """Name and text of each Python block of the README: the name is the file that the line before it names.

    Without the one that imports a package that need not be here.
    """
    found = re.findall(r"(?:`(\w+)\.py`:\n\n)?^```python\n(.*?)^```", TEXT, re.M | re.S)
    named = [(name or f"snippet_{number}", text) for number, (name, text) in enumerate(found)]
    return [(name, text) for name, text in named if "import redis" not in text]


def reported(command: List[str], folder: Path, files: List[str]) -> Tuple[Set[Tuple[str, int]], str]:
    """File and line of each error that a checker reports, and all that it says."""
    environment = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, *files], cwd=folder, env=environment, capture_output=True, encoding="utf-8")
    said = done.stdout + done.stderr
    found = re.findall(r"(\w+\.py):(\d+)(?::\d+)?(?::| -) error", said)
    return {(name, int(line)) for name, line in found}, said


def main(command: List[str]) -> int:
    """Check the snippets and the wrong program; 1 where a report is missing, or one too many."""
    with tempfile.TemporaryDirectory() as folder:
        files = {**dict(snippets()), "wrong": WRONG}
        for name, text in files.items():
            (Path(folder) / f"{name}.py").write_text(text, encoding="utf-8")
        found, said = reported(command, Path(folder), [f"{name}.py" for name in files])
    lines = enumerate(WRONG.splitlines(), 1)
    expected = {("wrong.py", number) for number, line in lines if line.endswith("# wrong")}
    for _, number in sorted(expected - found):
        print(f"nothing is reported of {WRONG.splitlines()[number - 1]!r}")
    for line in said.splitlines() if found - expected or not found else ():
        if not any(line.startswith(f"{name}:{number}:") for name, number in expected):
            print(line)
    outcome = "as expected" if found == expected else "not as expected"
    print(f"{len(files) - 1} snippets of the README and {len(expected)} faults: {outcome}")
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or MYPY))
