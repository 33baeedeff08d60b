"""basic/index, JSON Schema Usage: the public JSON-Schema-Test-Suite's required tests, in-process (BASE-33, BASE-37).

    python3 -m tests.schema_suite [--suite DIR]

DIR is the suite's root, with `tests` and `remotes` in it. Without it, the copy inside the source distribution of the
package jsonschema is downloaded, by pip, into build/schema-suite; nothing of that package is built or run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from mcp_ref.lib.json_schema import DRAFT_07, DRAFT_2020_12, SchemaError, compile_schema

PACKAGE, VERSION = "jsonschema", "4.26.0"
BUILD = Path(__file__).resolve().parent.parent / "build" / "schema-suite"
EXPECTED = {"draft2020-12": 1_257, "draft7": 913}
URIS = {"draft2020-12": DRAFT_2020_12, "draft7": DRAFT_07 + "#"}
BACKEND = f"""
import os
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    name = "{PACKAGE}-{VERSION}.dist-info"
    os.mkdir(os.path.join(directory, name))
    with open(os.path.join(directory, name, "METADATA"), "w", encoding="utf-8") as file:
        file.write("Metadata-Version: 2.1\\nName: {PACKAGE}\\nVersion: {VERSION}\\n")
    return name
"""


def download() -> Path:
    """The suite's root, downloaded unless it is there.

    pip insists on asking a source distribution's build backend for its name and version before it keeps the file. It
    gets a stand-in of ten lines that answers, in place of the real one with its dependencies.
    """
    root = BUILD / f"{PACKAGE}-{VERSION}" / "json"
    if not root.is_dir():
        backend = BUILD / "backend" / "hatchling"
        backend.mkdir(parents=True, exist_ok=True)
        (backend / "__init__.py").write_text("", encoding="utf-8")
        (backend / "build.py").write_text(BACKEND, encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                   "--no-binary", ":all:", "--no-build-isolation", "--dest", str(BUILD), f"{PACKAGE}=={VERSION}"]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(backend.parent)}, timeout=300)
        with tarfile.open(BUILD / f"{PACKAGE}-{VERSION}.tar.gz") as archive:
            unpack(archive)
    return root


def unpack(archive: tarfile.TarFile) -> None:
    """Write the suite's plain files and nothing else."""
    for member in archive.getmembers():
        parts = member.name.split("/")
        if member.isfile() and parts[1:2] == ["json"] and ".." not in parts and member.name.endswith(".json"):
            content = archive.extractfile(member)
            if content is not None:
                target = BUILD.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())


def remotes(root: Path) -> Dict[str, Any]:
    """The documents that the suite expects to be found at http://localhost:1234/."""
    folder = root / "remotes"
    return {"http://localhost:1234/" + path.relative_to(folder).as_posix(): json.loads(path.read_text("utf-8"))
            for path in folder.rglob("*.json")}


def tests(root: Path, draft: str) -> Iterator[Tuple[str, Any, Any, bool]]:
    """(name, schema, instance, whether it is valid) of each required test of a draft."""
    for path in sorted((root / "tests" / draft).glob("*.json")):
        for group in json.loads(path.read_text("utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema:
                schema = {"$schema": URIS[draft], **schema}
            for test in group["tests"]:
                yield f"{path.name}: {group['description']}: {test['description']}", schema, test["data"], test["valid"]


def run(root: Path, draft: str) -> Tuple[int, List[str]]:
    """How many tests passed, and the names of those that failed."""
    documents = remotes(root)
    passed, failed = 0, []
    for name, schema, instance, valid in tests(root, draft):
        try:
            held = compile_schema(schema, documents=documents).is_valid(instance) is valid
        except SchemaError as error:
            held, name = False, f"{name} ({error})"
        passed += held
        failed += [] if held else [name]
    return passed, failed


def main() -> int:
    """Run both drafts; the last line is 2020-12's. 1 when a test fails or some were not there to run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", type=Path, help="the suite's root folder")
    root = parser.parse_args().suite or download()
    good = True
    for draft in ("draft7", "draft2020-12"):
        passed, failed = run(root, draft)
        good = good and not failed and passed >= EXPECTED[draft]
        for name in failed:
            print(f"failed: {name}")
        prefix = f"{draft}: " if draft != "draft2020-12" else ""
        print(f"{prefix}{passed} passed, {len(failed)} failed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
