"""`python3 -m tests.dist`: makes the zipapp, the sdist and the wheel in dist/, and checks each by a call with it.

Each is checked in a fresh virtual environment and an empty folder, so that nothing but what was packed is found. Closes
with `N passed, N failed`.
"""

import shutil
import subprocess
import sys
import tempfile
import zipapp
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILD = ROOT / "build" / "dist"
TOOLS = ("build==1.3.0", "setuptools==80.9.0")
CALL = ("from mcp_ref import Client; from mcp_ref.demo import server; "
        "print(Client(server).call_tool('echo', {'text': 'hi'})['content'][0]['text'])")


def made_venv(folder):
    """The interpreter of a new virtual environment."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    return str(folder / "bin" / "python")


def zipped(source, archive):
    """Make the zipapp `archive`, from a copy of the package in the folder `source`, which is made."""
    shutil.copytree(ROOT / "mcp_ref", source / "mcp_ref", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "__main__.py").write_text("import mcp_ref.__main__\n", encoding="utf-8")
    zipapp.create_archive(source, archive, "/usr/bin/env python3", compressed=True)


def make():
    """The three files, the zipapp first."""
    for folder in (DIST, BUILD):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    zipped(BUILD / "zipapp", DIST / "mcp_ref.pyz")
    # A copy, for the backend leaves folders of its own beside what it packs.
    tree = BUILD / "tree"
    shutil.copytree(BUILD / "zipapp" / "mcp_ref", tree / "mcp_ref")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    python = made_venv(BUILD / "tools")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *TOOLS], check=True)
    subprocess.run([python, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(tree)], check=True,
                   stdout=subprocess.DEVNULL)
    return [DIST / "mcp_ref.pyz", *sorted(DIST.glob("*.tar.gz")), *sorted(DIST.glob("*.whl"))]


def check(package, folder):
    """Raise AssertionError unless a call, a command and the table of requirements work from `package` alone."""
    python = made_venv(folder / "venv")
    environment = {"PATH": "/usr/bin:/bin"}
    if package.suffix == ".pyz":
        command = [python, str(package)]
        environment["PYTHONPATH"] = str(package)
    else:
        command = [str(folder / "venv" / "bin" / "mcp-ref")]
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(package)], check=True, cwd=folder)
    for asked, expected in (([python, "-c", CALL], "hi\n"), ([*command, "explain", "HTTP-08"], "rung     accept")):
        done = subprocess.run(asked, cwd=folder, env=environment, capture_output=True, text=True)
        assert expected in done.stdout and not done.returncode, f"{' '.join(asked)}: {done.stdout}{done.stderr}"


def main():
    """Make and check; the exit status."""
    failed = 0
    packages = make()
    for package in packages:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(package, Path(folder))
                print(f"ok      {package.name}")
            except (AssertionError, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"FAILED  {package.name}: {error}")
    print(f"{len(packages) - failed} passed, {failed} failed")
    return 1 if failed or len(packages) != 3 else 0


if __name__ == "__main__":
    sys.exit(main())
