"""`python3 -m tests.wasm [NAME …]`: the tests on CPython 3.14 compiled to WebAssembly (npm's pyodide, under Node).

Both are installed under build/wasm. What needs threads, sockets or processes is skipped there, by tests/wasm/inside;
all else has to pass. Closes with `N passed, N failed, N skipped`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / "build" / "wasm"
PACKAGES = {"node": "24.21.0", "pyodide": "314.0.7"}
SECONDS = 900
STACK_KB = 60_000
"""What the depths that hostile messages are tried at take, and more than Node gives by itself."""


def main(names):
    """Install what is not there yet, run; the exit status."""
    marker, wanted = HOME / "installed.json", json.dumps(PACKAGES)
    if not marker.is_file() or marker.read_text(encoding="utf-8") != wanted:
        if shutil.which("npm") is None:
            print("npm is not installed", file=sys.stderr)
            return 2
        HOME.mkdir(parents=True, exist_ok=True)
        manifest = {"private": True, "dependencies": PACKAGES, "allowScripts": {"node": True}}
        (HOME / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
        subprocess.run(["npm", "install", "--prefix", str(HOME), "--no-audit", "--no-fund", "--loglevel=error"],
                       check=True)
        marker.write_text(wanted, encoding="utf-8")
    program = HOME / "run.mjs"
    shutil.copy(Path(__file__).with_name("run.mjs"), program)
    node = HOME / "node_modules" / "node" / "bin" / "node"
    options = [f"--stack-size={STACK_KB}", f"--wasm-stack-switching-stack-size={STACK_KB}"]
    return subprocess.run([str(node), *options, str(program), str(ROOT), *names], timeout=SECONDS).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
