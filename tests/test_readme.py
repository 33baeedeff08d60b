"""The README is true: its commands are run, its snippets executed, its table compared with the ladder."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import era_stub
from mcp_ref import Client
from mcp_ref.ladder import LADDER, LEGACY

from .hosting.__main__ import SERVERS
from .support import ROOT, RawClient, message, run_command, working_in
from .test_stdio_client import PREAMBLE

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.M | re.S)
LINES = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
SNIPPETS = [text for kind, text in BLOCKS if kind == "python"]
SERVING = """
for message in requests():
    reply(message, supportedVersions=["2026-07-28"], tools=[{"name": "echo", "inputSchema": {"type": "object"}}],
          content=[])
"""
NAMED = dict(re.findall(r"`(\w+)\.py`:\n\n```python\n(.*?)^```", TEXT, re.M | re.S))


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        shutil.copy(ROOT / "era_stub.py", cls.folder)
        for name in ("mcp_ref", "tests"):
            shutil.copytree(ROOT / name, cls.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name, snippet in NAMED.items():
            (cls.folder / f"{name}.py").write_text(snippet, encoding="utf-8")

    def command(self, line):
        """The line with this interpreter for python3, and the settings before it."""
        words = shlex.split(line)
        settings = {}
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            settings[name] = value
        self.assertEqual(words[0], "python3", line)
        return [sys.executable, *words[1:]], {**os.environ, **settings}

    def serve(self, line):
        command, environment = self.command(line)
        process = subprocess.Popen([*command, "--port", "0"], cwd=self.folder, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        first = process.stdout.readline()
        self.assertIn("http://", first, line)
        return re.search(r"http://\S+", first).group()

    def run_line(self, command, environment=None, **options):
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, encoding="utf-8",
                              timeout=60, **options)
        self.assertEqual(done.returncode, 0, (command, done.stdout, done.stderr))
        return done.stdout

    def run_here(self, line):
        """A line with `python3 -m mcp_ref`, in this process."""
        words = shlex.split(line)
        start = words.index("python3")
        self.assertEqual(words[start:start + 3], ["python3", "-m", "mcp_ref"], line)
        settings = dict(word.split("=", 1) for word in words[:start])
        with working_in(self.folder):
            status, out, err = run_command(*words[start + 3:], **settings)
        self.assertEqual(status, 0, (line, out, err))
        return out

    def test_the_test_command(self):
        self.assertIn("python3 -m tests", LINES)
        command, environment = self.command("python3 -m tests")
        out = self.run_line([*command, "test_state_sealer"], environment)
        self.assertRegex(out.splitlines()[-1], r"\A\d+ passed, 0 failed\Z")

    def test_every_way_to_serve(self):
        lines = [line for line in LINES if re.search(r" mcp_ref serve", line) and "--stdio" not in line]
        self.assertIn("python3 -m mcp_ref serve", lines)
        for line in lines:
            with RawClient(self.serve(line)) as client:
                client.request(message("tools/list"))
                self.assertEqual(client.response().status, 200, line)

    def test_over_standard_input_and_output(self):
        """Its command, and what hosts are told, with the places that stand there for others."""
        (hosts,) = [json.loads(text) for kind, text in BLOCKS if kind == "json" and "mcpServers" in text]
        (travel,) = hosts["mcpServers"].values()
        self.assertEqual(travel["command"], "python3")
        here = [word.replace("/home/me", str(self.folder)) for word in travel["args"]]
        settings = {name: value.replace("/home/me", str(self.folder)) for name, value in travel["env"].items()}
        (line,) = [line for line in LINES if "--stdio" in line]
        ways = [self.command(line), ([sys.executable, *here], {**os.environ, **settings})]
        program = self.folder / "program.py"
        program.write_text(NAMED["travel"] + "server.serve_stdio()\n", encoding="utf-8")
        ways.append(([sys.executable, str(program)], {**os.environ, **settings}))
        for command, environment in ways:
            out = self.run_line(command, environment, input=json.dumps(message("tools/list")) + "\n")
            self.assertEqual([tool["name"] for tool in json.loads(out)["result"]["tools"]], ["book"], command)

    def test_every_client_command(self):
        url = self.serve("python3 -m mcp_ref serve")
        lines = [line for line in LINES if "http://127.0.0.1:8000/mcp" in line]
        self.assertGreaterEqual(len(lines), 5)
        for line in lines:
            self.assertTrue(self.run_here(line.replace("http://127.0.0.1:8000/mcp", url)).strip(), line)
        self.assertEqual(self.run_here(f"python3 -m mcp_ref call {url} echo --arg text=hi"), "hi\n")

    def test_the_rest_of_the_commands(self):
        for line in LINES:
            if "explain" in line:
                self.run_here(line)
            elif line.startswith("python3 -m tests "):
                self.run_line(*self.command(line))
            elif "unittest" in line:
                self.run_line(*self.command(line))
            elif "secrets" in line:
                self.assertGreaterEqual(len(self.run_line(*self.command(line)).strip()), 43)
            elif " -- " in line:
                (self.folder / "weather.py").write_text(PREAMBLE + SERVING, encoding="utf-8")
                self.assertTrue(self.run_here(line.replace("-- python3", f"-- {shlex.quote(sys.executable)}")), line)
            elif "_vendor" in line:
                self.run_line(["sh", "-c", line.replace("python3", sys.executable)])
            else:
                self.assertTrue("http://127" in line or "//mcp.example" in line or " serve" in line
                                or "era_stub" in line or line == "python3 -m tests" or line.endswith(" hosted:app"),
                                f"no test runs {line!r}")

    def test_the_walkthrough(self):
        lines = [line for line in LINES if "8800" in line]
        command, environment = self.command(lines[0].replace("8800", "0"))
        code = ("import sys, era_stub; made = era_stub.Fixture\n"
                "def fixture(*given):\n    server = made(*given)\n    print(server.server_address[1], flush=True)\n"
                "    return server\nera_stub.Fixture = fixture\nera_stub.main(sys.argv[1:])")
        process = subprocess.Popen([command[0], "-c", code, *command[2:]], cwd=self.folder, env=environment,
                                   stdout=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        place = f"127.0.0.1:{process.stdout.readline().strip()}"
        answers = []
        for line in lines[1:]:
            command, environment = self.command(line.replace("127.0.0.1:8800", place))
            done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, encoding="utf-8",
                                  timeout=60)
            self.assertEqual(done.stderr, "", line)
            answers.append((done.returncode, re.search(r"input_required|-32\d{3}|Not Acceptable", done.stdout).group()))
        self.assertEqual(answers, [(0, "input_required"), (1, "-32021"), (1, "-32020"), (1, "-32020"),
                                   (1, "Not Acceptable"), (1, "-32600")])
        self.assertEqual((self.folder / "methods.log").read_text(encoding="utf-8").splitlines(), [
            "tools/call", "tools/call", "tools/list", "tools/list", "tools/list", "None"])

    def test_every_mode_of_the_fixture_is_told(self):
        for mode in (*era_stub.MODERN_MODES, *era_stub.LEGACY_MODES, *era_stub.FIXED_ANSWERS):
            self.assertRegex(TEXT, rf"(?m)^\| .*`{mode}`.* \|$")

    def test_the_snippets(self):
        url = self.serve("python3 -m mcp_ref serve travel:server")
        self.assertLessEqual(len([line for line in NAMED["travel"].splitlines() if line.strip()]), 10)
        (code,) = [text for text in SNIPPETS if text not in NAMED.values()]
        code = code.replace("http://127.0.0.1:8000/mcp", url)
        out = self.run_line([sys.executable, "-c", code])
        self.assertEqual(out, "['book']\nMC 1 booked\n")

    def test_the_shop(self):
        """Each tool asks, and goes on with the answers."""
        content = {"value": True, "street": "Main Street", "agree": True, "name": "Ada"}
        said = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Oslo"}}

        def agree(params):
            return {name: content[name] for name in params["requestedSchema"]["properties"] if name in content}

        url = self.serve("python3 -m mcp_ref serve shop:server")
        for tool, arguments, text in (("order", {"item": "tea", "price": 3}, "tea to Main Street, tomorrow"),
                                      ("remove", {"names": ["a", "b"]}, "a, b"), ("pay", {"amount": 5}, "paid 5"),
                                      ("plan", {}, "accept: Oslo, 1 roots")):
            with Client(url, on_elicit=agree, on_sample=lambda _: said,
                        on_list_roots=lambda: [{"uri": "file:///x"}]) as client:
                self.assertEqual(client.call_tool(tool, arguments)["content"][0]["text"], text)

    def test_the_garden(self):
        url = self.serve("python3 -m mcp_ref serve garden:server")
        for method, params, words in (
                ("tools/call", {"name": "water", "arguments": {"plant": "fern"}}, b"watered fern"),
                ("resources/read", {"uri": "garden://plants/cactus"}, b"sun"),
                ("resources/read", {"uri": "garden://plants/oak"}, b"-32602"),
                ("resources/read", {"uri": "garden://about"}, b"A small garden."),
                ("prompts/get", {"name": "advice", "arguments": {"plant": "fern"}}, b"in spring?"),
                ("completion/complete", {"ref": {"type": "ref/resource", "uri": "garden://plants/{name}"},
                                         "argument": {"name": "name", "value": "f"}}, b'"values":["fern"]')):
            with RawClient(url) as client:
                client.request(message(method, params))
                self.assertIn(words, client.response().body, method)

    def test_the_vault(self):
        with RawClient(self.serve("python3 -m mcp_ref serve vault:server")) as client:
            client.request(message("tools/list"))
            self.assertEqual(client.response().status, 401)
            client.request(message("tools/list"), authorization="Bearer s3cret")
            self.assertEqual(client.response().json["result"]["tools"], [])
            client.request(message("tools/call", {"name": "store", "arguments": {"text": "x"}}),
                           authorization="Bearer s3cret")
            self.assertEqual(client.response().status, 403)

    def test_rounds_by_hand_and_what_is_kept(self):
        for program in ("by_hand.py", "kept.py"):
            self.assertEqual(self.run_line([sys.executable, program]), "")

    def test_the_program_with_a_server_in_it(self):
        self.assertEqual(self.run_line([sys.executable, "embedded.py"]), "['book']\n")

    def test_the_application_below_another_server(self):
        """It is served by the library's own; make hosting runs the two commands of the README."""
        code = ("import sys; from wsgiref.simple_server import make_server; from hosted import app\n"
                "http = make_server('127.0.0.1', 0, app); print(http.server_port, flush=True); http.serve_forever()")
        process = subprocess.Popen([sys.executable, "-c", code], cwd=self.folder, stdout=subprocess.PIPE,
                                   env={**os.environ, "MCP_STATE_KEY": "a-secret-of-16-octets"},
                                   stderr=subprocess.DEVNULL, encoding="utf-8")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        port = int(process.stdout.readline())
        with Client(f"http://127.0.0.1:{port}/mcp") as client:
            self.assertEqual(client.call_tool("plant", {"name": "fern"})["content"][0]["text"], "fern planted")
        for name in SERVERS.keys() - {"gunicorn sync"}:
            options = [word for word in SERVERS[name][1:-1] if "{port}" not in word and word != "--bind"]
            self.assertIn(f"{os.path.basename(SERVERS[name][0])} {' '.join(options)} hosted:app", LINES)

    def test_the_bus_over_redis_is_the_one_that_is_tried(self):
        tried = (ROOT / "tests" / "peers" / "redis_bus.py").read_text(encoding="utf-8")
        self.assertIn(NAMED["redis_bus"].replace("\n\nclass", "\n\n\nclass"), tried)

    def test_the_ladder_is_the_table_of_the_server(self):
        rows = re.findall(r"^\| (\w+) \| ([^|]+) \| ([^|]+) \|$", TEXT, re.M)
        for rung in (*LADDER, *LEGACY):
            row = next((row for row in rows if row[0] == rung.name), None)
            self.assertIsNotNone(row, rung.name)
            self.assertEqual(row[1], rung.asks)
            codes = {f"{status}{'' if code is None else f' {code}'}" for status, code, _ in rung.answers}
            self.assertEqual(set(row[2].split(", ")), codes, rung.name)

    def test_every_make_target_it_names_is_there(self):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in re.findall(r"`make ([a-z-]+)`", TEXT):
            self.assertRegex(makefile, rf"(?m)^{target}:")


if __name__ == "__main__":
    unittest.main()
