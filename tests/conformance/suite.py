"""How the official conformance suite is run: by npx, which fetches it and a Node that it runs on."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Sequence

ROOT = Path(__file__).resolve().parents[2]
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "node@24"


class SuiteError(Exception):
    """The suite could not be run; the message says why."""


def conformance(arguments: Sequence[str], log: Path, timeout: float) -> None:
    """Run the suite's command, its output into `log`. Raises SuiteError; what the suite found is in its results."""
    npx = shutil.which("npx")
    if npx is None:
        raise SuiteError("npx is not installed")
    command = [npx, "--yes", "-p", NODE, "-p", SUITE, "-c", shlex.join(["conformance", *arguments])]
    try:
        with open(log, "ab") as output:
            subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                           timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SuiteError(f"the suite cannot be run: {error}") from None
