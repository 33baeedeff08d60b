"""What holds of the package as a whole: its imports, its vendoring, its zipapp, and what it says of itself."""

import ast
import functools
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from graphlib import TopologicalSorter
from pathlib import Path

import mcp_ref
from mcp_ref import Client, Server
from mcp_ref.explain import statements
from mcp_ref.server.folders import FolderTemplate
from mcp_ref.server.prompts import Prompt
from mcp_ref.server.resources import Resource, ResourceTemplate
from mcp_ref.server.tools import Tool

from . import dist
from .support import ROOT, SHARED, working_in

SOURCES = sorted((ROOT / "mcp_ref").rglob("*.py"))
TESTS = [path for path in sorted((ROOT / "tests").rglob("*.py")) if "peers" not in path.relative_to(ROOT).parts]
STANDARD = getattr(sys, "stdlib_module_names", None)


@functools.lru_cache(maxsize=None)
def parsed(path):
    """The tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path):
    """(level, module) of every import in a file, wherever it stands."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


MODULES = {".".join(path.relative_to(ROOT / "mcp_ref").with_suffix("").parts).replace(".__init__", ""): path
           for path in SOURCES}
LAYERS = (("lib",), ("base",), ("patterns",), ("transports",), ("authorization",), ("server",), ("legacy",),
          ("ladder", "explain", "trace", "serve", "legacy.serve"), ("server.server",), ("client",),
          ("legacy.ways", "legacy.in_process", "legacy.client"), ("client.choice", "client.client"), ("demo",),
          ("cli",), ("__init__", "__main__"))
"""Rooms, from the lowest up; `server` is state and features, and server.server the author's API over all of them."""


def layer(module):
    """How high a module stands: where the longest name in LAYERS does that it begins with."""
    return max((len(name), number) for number, names in enumerate(LAYERS) for name in names
               if module == name or module.startswith(name + "."))[1]


def known_to(module):
    """The modules of the package that one imports, wherever and for whatever."""
    path = MODULES[module]
    here = path.relative_to(ROOT / "mcp_ref").parts[:-1]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = ".".join([*here[:len(here) - node.level + 1], *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{start}.{alias.name}".strip(".")
                yield inner if inner in MODULES else start or "__init__"


GRAPH = {module: set(known_to(module)) for module in MODULES}


TELLING = """
import gc, sys
from mcp_ref import Server
server = Server("telling", "1")

@server.tool
def loaded() -> list:
    return sorted(sys.modules)

@server.tool
def collects() -> bool:
    return gc.isenabled()
"""


class Imports(unittest.TestCase):
    @unittest.skipIf(STANDARD is None, "sys.stdlib_module_names is new in Python 3.10")
    def test_only_the_standard_library(self):
        for path in SOURCES + TESTS + [ROOT / "era_stub.py"]:
            for level, module in imports(path):
                if level == 0:
                    top = module.split(".")[0]
                    own = ("mcp_ref", "era_stub", "tests") if "tests" in path.relative_to(ROOT).parts else ()
                    self.assertTrue(top in STANDARD or top in own, f"{path.name} imports {module}")

    def test_inside_the_package_every_import_is_relative(self):
        for path in SOURCES:
            for level, module in imports(path):
                self.assertFalse(level == 0 and module.split(".")[0] == "mcp_ref", f"{path.name} imports {module}")

    def test_imports_point_one_way(self):
        """Every module knows its own room and those below it, in imports for the checker of types as well."""
        for module, known in GRAPH.items():
            for other in known:
                self.assertLessEqual(layer(other), layer(module), f"{module} imports {other}")

    def test_no_module_imports_another_in_a_circle(self):
        TopologicalSorter(GRAPH).prepare()

    def test_who_touches_sockets_files_and_processes(self):
        outside = {"socket", "ssl", "select", "selectors", "socketserver", "http", "urllib", "subprocess", "signal",
                   "tempfile", "shutil", "pathlib", "mimetypes", "multiprocessing"}
        allowed = ("transports", "authorization", "lib.folder", "cli", "explain")  # which reads its table
        for module, path in MODULES.items():
            used = {name.split(".")[0] for level, name in imports(path) if level == 0} & outside
            if not module.startswith(allowed):
                self.assertEqual(used, set(), module)

    def test_a_server_loads_no_sockets_and_no_parser_of_urls(self):
        code = ("import sys, hashlib; own = set(sys.modules); import mcp_ref.server.server;"  # PyPy's hashlib has some
                "print(sorted((set(sys.modules) - own) & {'http', 'urllib', 'socket', "
                "'ssl', 'select', 'asyncio', 'ipaddress', 'mimetypes'}))")
        done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))

    def test_a_started_server_has_loaded_nothing_of_what_it_does_not_do(self):
        own = "import http.server, json, sys; print(json.dumps(sorted(sys.modules)))"  # beside it, this is not ours
        own = set(json.loads(subprocess.run([sys.executable, "-c", own], capture_output=True, text=True).stdout))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "telling.py").write_text(TELLING, encoding="utf-8")
            command = [sys.executable, "-m", "mcp_ref", "serve", "telling", "--port", "0"]
            with subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
                                  stdout=subprocess.PIPE) as process:
                try:
                    url = process.stdout.readline().split()[-1]
                    with Client(url) as client:
                        found = client.call_tool("loaded")["structuredContent"]
                        collects = client.call_tool("collects")["structuredContent"]
                finally:
                    process.terminate()
        standard = {"asyncio", "concurrent", "decimal", "difflib", "glob", "hashlib", "hmac", "multiprocessing",
                    "random", "secrets", "subprocess", "tempfile", "urllib.request", "uuid"}
        self.assertEqual((set(found) - own) & standard, set())
        ours = ("client", "explain", "legacy.serve", "legacy.shim", "cli.commands", "cli.send", "cli.terminal",
                "lib.folder", "lib.json_schema.patterns", "transports.stdio", "transports.http_client",
                "transports.pool", "transports.child", "transports.workers", "transports.wsgi", "transports.memory",
                "transports.bus")
        self.assertIn("mcp_ref.serve", found)
        self.assertTrue(collects, "garbage is looked for again, once all is loaded")
        self.assertEqual([name for name in found if name.startswith(tuple(f"mcp_ref.{each}" for each in ours))], [])
        self.assertEqual([name for name in found if name.startswith("mcp_ref.authorization.")],
                         ["mcp_ref.authorization.scopes"])

    def test_the_core_loads_without_sockets(self):
        code = ("import sys; sys.modules.update(dict.fromkeys(('socket', 'ssl', 'select', 'http', 'http.server', "
                "'urllib.request', 'socketserver', '_socket')));"
                "from mcp_ref import Client, Server; import mcp_ref.ladder; server = Server('x', '1');"
                "server.tool(name='t')(lambda: 'ran'); client = Client(server); client.list_tools();"
                "assert client.call_tool('t')['content'][0]['text'] == 'ran'")
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_text_stream_names_its_encoding(self):
        for path in SOURCES + [ROOT / "era_stub.py"]:
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                    given = {keyword.arg for keyword in node.keywords}
                    if name in ("read_text", "write_text", "TextIOWrapper"):
                        self.assertIn("encoding", given, f"{path.name}:{node.lineno}")
                    if isinstance(node.func, ast.Name) and name == "open":
                        mode = [arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
                        self.assertTrue("encoding" in given or (mode and "b" in mode[0]), f"{path.name}:{node.lineno}")


class PublicNames(unittest.TestCase):
    def test_every_name_is_there_for_checkers_of_types_and_at_run_time(self):
        tree = ast.parse((ROOT / "mcp_ref" / "__init__.py").read_text(encoding="utf-8"))
        typed = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level
                 for alias in node.names} - {"RELEASE"}
        self.assertEqual(typed, set(mcp_ref.__all__))
        self.assertEqual(sorted(mcp_ref.__all__, key=lambda name: (name[0].islower(), name)), mcp_ref.__all__)
        for name in mcp_ref.__all__:
            self.assertIsNotNone(getattr(mcp_ref, name), name)
        for name in ("accept", "decline", "cancel", "Limits", "HTTPServer", "CallHandle", "CallCancelled"):
            self.assertIn(name, mcp_ref.__all__)

    def test_the_package_says_that_it_is_typed(self):
        self.assertTrue((ROOT / "mcp_ref" / "py.typed").exists())
        settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        self.assertIn('mcp_ref = ["README.md", "py.typed", "spec/*.tsv"]', settings)

    def test_help_tells_every_option(self):
        for method in (Server.tool, Server.resource, Server.prompt, Server.add_folder, Server.serve, Server.__init__,
                       Client.__init__):
            text = (Server if method is Server.__init__ else Client if method is Client.__init__ else method).__doc__
            for name, parameter in inspect.signature(method).parameters.items():
                self.assertNotEqual(parameter.kind, parameter.VAR_KEYWORD, method)
                if parameter.kind is parameter.KEYWORD_ONLY and method is not Server.add_folder:
                    self.assertRegex(text, rf"\b{name}\b", method)

    def test_a_wrong_keyword_is_told_in_the_name_of_the_method_that_was_called(self):
        server = Server("s", "1")
        client = Client(server)
        calls = [(server.tool, ()), (server.tool, (len,)), (server.add_tool, (len,)), (server.resource, ("demo://a",)),
                 (server.add_resource, ("demo://a", len)), (server.add_resource_template, ("demo://{a}", len)),
                 (server.add_folder, ("file:///a/", ".")), (server.prompt, ()), (server.add_prompt, (len,)),
                 (server.serve, ()), (client.discover, ()), (client.list_tools, ()), (client.list_resources, ()),
                 (client.list_resource_templates, ()), (client.list_prompts, ()), (client.call_tool, ("t",)),
                 (client.read_resource, ("demo://a",)), (client.get_prompt, ("p",)), (client.listen, ()),
                 (client.complete, ({}, "a", "")), (client.request, ("tools/list",))]
        for method, given in calls:
            owner = f"{type(method.__self__).__name__}." if sys.version_info >= (3, 10) else ""
            with self.subTest(method.__name__), self.assertRaises(TypeError) as caught:
                method(*given, titel="x")
            said = f"{owner}{method.__name__}() got an unexpected keyword argument 'titel'"
            self.assertEqual(str(caught.exception)[:len(said)], said)

    def test_the_options_are_those_of_what_is_registered(self):
        """What a method writes out is what the class takes that it makes."""
        for method, made in ((Server.tool, Tool), (Server.add_tool, Tool), (Server.add_resource, Resource),
                             (Server.add_resource_template, ResourceTemplate), (Server.add_folder, FolderTemplate),
                             (Server.prompt, Prompt), (Server.add_prompt, Prompt)):
            taken = {name for base in made.__mro__[:-1] if "__init__" in vars(base)
                     for name, parameter in inspect.signature(base.__init__).parameters.items()
                     if parameter.kind is parameter.KEYWORD_ONLY}
            written = {name for name, parameter in inspect.signature(method).parameters.items()
                       if parameter.kind is parameter.KEYWORD_ONLY}
            fixed = {"schema"} | ({"instances", "mime_type"} if made is FolderTemplate else set())
            self.assertEqual(written, taken - fixed, method)


class Shape(unittest.TestCase):
    def test_a_module_is_a_few_hundred_lines_and_says_its_page(self):
        for path in SOURCES:
            text = path.read_text(encoding="utf-8")
            self.assertLessEqual(len(text.splitlines()), 450, path)
            if path.name != "__init__.py" or text.strip():
                self.assertTrue(ast.get_docstring(parsed(path)), path)

    def test_functions_of_one_screen(self):
        for path in SOURCES:
            for node in ast.walk(parsed(path)):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    self.assertLessEqual(node.end_lineno - node.lineno, 50, f"{path.name} {node.name}")

    @unittest.skipUnless(SHARED.exists(), "../shared is not here: its table is not compared")
    def test_the_requirements_are_those_of_the_project(self):
        table = Path("spec") / "requirements.tsv"
        self.assertEqual((ROOT / "mcp_ref" / table).read_bytes(), (SHARED / table).read_bytes())

    def test_requirement_ids_in_docstrings_exist(self):
        known = {row.id for row in statements()}
        prefixes = {row.split("-")[0] for row in known}
        for path in SOURCES:
            for prefix, number in re.findall(r"\b([A-Z]+)-(\d\d)\b", path.read_text(encoding="utf-8")):
                if prefix in prefixes:
                    self.assertTrue(f"{prefix}-{number}" in known, f"{path.name} names {prefix}-{number}")


SERVE_AND_LIST = """
import json, sys, urllib.request
sys.path.insert(0, {path!r})
from {package}.demo import server
from {package}.transports.http_server import HTTPServer
from {package}.client.client import Client
with HTTPServer(server, port=0) as running:
    with Client(running.url) as client:
        print(json.dumps([tool["name"] for tool in client.list_tools()]))
assert not any(name.split(".")[0] == "mcp_ref" for name in sys.modules)
"""


class Vendoring(unittest.TestCase):
    def test_the_folder_works_under_another_name(self):
        with tempfile.TemporaryDirectory() as folder:
            vendor = Path(folder) / "app" / "_vendor"
            shutil.copytree(ROOT / "mcp_ref", vendor / "protocol", ignore=shutil.ignore_patterns("__pycache__"))
            code = SERVE_AND_LIST.format(path=folder, package="app._vendor.protocol")
            done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("echo", json.loads(done.stdout))

    def test_a_server_of_another_copy_is_named_with_both(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "mcp_ref", Path(folder) / "vendored", ignore=shutil.ignore_patterns("__pycache__"))
            where = (f"a Server of another copy of this package: it comes from vendored in {folder}/vendored, and this "
                     f"is mcp_ref in {ROOT / 'mcp_ref'}")
            with working_in(Path(folder)), self.assertRaisesRegex(TypeError, re.escape(where)):
                sys.path.insert(0, folder)
                Client(importlib.import_module("vendored").Server("x", "1"))
        for other in (7, None, object(), Server):
            with self.assertRaises(TypeError) as caught:
                Client(other)
            self.assertNotIn("another copy", str(caught.exception))

    def test_the_zipapp_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "mcp_ref.pyz"
            dist.zipped(Path(folder) / "source", archive)
            done = subprocess.run([sys.executable, str(archive), "explain", "HTTP-14"], cwd=folder, capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            for words in ("text/event-stream", "level    MUST", "module   transports."):
                self.assertIn(words, done.stdout)


if __name__ == "__main__":
    unittest.main()
