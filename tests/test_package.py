"""What holds of the package as a whole: its imports, its vendoring, its zipapp, and what it says of itself."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from .support import ROOT

SOURCES = sorted((ROOT / "mcp_ref").rglob("*.py"))
TESTS = [path for path in sorted((ROOT / "tests").rglob("*.py")) if "peers" not in path.relative_to(ROOT).parts]
STANDARD = getattr(sys, "stdlib_module_names", None)


def imports(path):
    """(level, module) of every import in a file, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


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
        """base knows nothing of the others; patterns know base; nothing imports the command line."""
        allowed = {"base": {"base"}, "patterns": {"base", "patterns"},
                   "transports": {"base", "patterns", "transports"}}
        for path in SOURCES:
            folder = path.relative_to(ROOT / "mcp_ref").parts[0]
            tree = ast.parse(path.read_text(encoding="utf-8"))
            typing_only = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If)
                           and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
                           for inner in ast.walk(node)}
            for node in ast.walk(tree):
                if not isinstance(node, ast.ImportFrom) or not node.level or id(node) in typing_only:
                    continue
                here = path.relative_to(ROOT / "mcp_ref").parts[:-1]
                target = (here[: len(here) - node.level + 1] + tuple((node.module or "").split(".")))[0]
                if folder in allowed and target:
                    self.assertIn(target, allowed[folder], f"{path} imports {target}")
                if not folder.startswith(("cli", "__main__")):
                    self.assertFalse(target.startswith("cli"), f"{path} imports {target}")

    def test_the_core_loads_without_sockets(self):
        code = ("import sys; sys.modules.update(dict.fromkeys(('socket', 'ssl', 'select', 'http', 'http.server', "
                "'urllib.request', 'socketserver', '_socket')));"
                "from mcp_ref import Server; import mcp_ref.ladder; Server('x', '1')")
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_text_stream_names_its_encoding(self):
        for path in SOURCES + [ROOT / "era_stub.py"]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                    given = {keyword.arg for keyword in node.keywords}
                    if name in ("read_text", "write_text", "TextIOWrapper"):
                        self.assertIn("encoding", given, f"{path.name}:{node.lineno}")
                    if isinstance(node.func, ast.Name) and name == "open":
                        mode = [arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
                        self.assertTrue("encoding" in given or (mode and "b" in mode[0]), f"{path.name}:{node.lineno}")


class Shape(unittest.TestCase):
    def test_a_module_is_a_few_hundred_lines_and_says_its_page(self):
        for path in SOURCES:
            text = path.read_text(encoding="utf-8")
            self.assertLessEqual(len(text.splitlines()), 450, path)
            if path.name != "__init__.py" or text.strip():
                self.assertTrue(ast.get_docstring(ast.parse(text)), path)

    def test_functions_of_one_screen(self):
        for path in SOURCES:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    self.assertLessEqual(node.end_lineno - node.lineno, 50, f"{path.name} {node.name}")

    def test_requirement_ids_in_docstrings_exist(self):
        table = ROOT.parent / "shared" / "spec" / "requirements.tsv"
        if not table.exists():
            self.skipTest("../shared is not here: the ids are not checked")
        known = {row.split("\t")[0] for row in table.read_text(encoding="utf-8").splitlines()[1:]}
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

    @unittest.skipUnless(shutil.which("make"), "make is not here: the zipapp is not built")
    def test_the_zipapp_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("mcp_ref", "Makefile"):
                source = ROOT / name
                if source.is_dir():
                    shutil.copytree(source, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(source, folder)
            subprocess.run(["make", "-s", "dist", f"PYTHON={sys.executable}"], cwd=folder, check=True)
            done = subprocess.run([sys.executable, str(Path(folder) / "dist" / "mcp_ref.pyz"), "explain", "-32020"],
                                  cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("mirrors", done.stdout)


if __name__ == "__main__":
    unittest.main()
