"""The guides: each page of the specification has its module, and what they name is there."""

import ast
import re
import unittest

from mcp_ref.explain import statements

from .support import ROOT

PACKAGE = ROOT / "mcp_ref"
OPEN = ("section", "basic/transports/index", "basic/patterns/index")
"""The head of the table of requirements, and pages without rules of their own."""


def table(heading):
    """The rows below a heading of README.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text[text.index(f"## {heading}\n"):].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    return rows[2:]


class Pages(unittest.TestCase):
    def test_every_page_has_its_modules(self):
        listed = {page: modules.split(", ") for page, modules in table("Where a page is")}
        pages = {row.page.partition("#")[0] for row in statements()} - set(OPEN)
        for page in pages:
            self.assertTrue(page in listed or page.rpartition("/")[0] in listed, page)
        for page, modules in listed.items():
            for name in modules:
                path = PACKAGE / (name.replace(".", "/") + ".py")
                text = path.read_text(encoding="utf-8")
                families = {row.id.split("-")[0] for row in statements() if row.page.startswith(page)}
                named = page in text or families & set(re.findall(r"\b([A-Z]+)-\d\d", text))
                self.assertTrue(named, f"{name} does not say that it has to do with {page}")


class Guide(unittest.TestCase):
    def test_its_snippets_run(self):
        text = (PACKAGE / "README.md").read_text(encoding="utf-8")
        snippets = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertTrue(snippets)
        for snippet in snippets:
            exec(compile(snippet, "mcp_ref/README.md", "exec"), {})

    def test_the_files_and_functions_it_names_are_there(self):
        text = (PACKAGE / "README.md").read_text(encoding="utf-8")
        files = set(re.findall(r"`([a-z_0-9/]+(?:\.py|/))`", text))
        self.assertGreater(len(files), 30)
        for name in files:
            self.assertTrue((PACKAGE / name).exists(), name)
        for step, path, functions in re.findall(r"^\| ([^|]+) \| `([^`|]+\.py)` \| ([^|]+) \|$", text, re.MULTILINE):
            tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
            defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            for function in re.findall(r"`(\w+)`", functions):
                self.assertIn(function, defined, f"{path}, {step}")
