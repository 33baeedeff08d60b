"""`python3 -m tests.size`: the lines of each room of the house: of code, of docstrings, and blank or comment.

Protocol is what the specification asks for; lib knows nothing of MCP; cli is the command line. A line counts once: as
docstring where one covers it, as blank where it holds nothing but a comment, otherwise as code.
"""

import ast
import sys
from pathlib import Path
from typing import Dict, NamedTuple, Set, Tuple

ROOT = Path(__file__).resolve().parent.parent
PROTOCOL = ("base", "patterns", "transports", "authorization", "server", "client", "legacy")


class Lines(NamedTuple):
    """Of a file, or of many."""

    code: int = 0
    docstrings: int = 0
    blank: int = 0

    def plus(self, other: "Lines") -> "Lines":
        """The sum of both."""
        return Lines(*(one + more for one, more in zip(self, other)))


def lines_of(text: str) -> Lines:
    """The Lines of a module."""
    told: Set[int] = set()
    for node in ast.walk(ast.parse(text)):
        for each in getattr(node, "body", ()) if isinstance(getattr(node, "body", ()), list) else ():
            value = getattr(each, "value", None)
            if isinstance(each, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                told.update(range(each.lineno, (each.end_lineno or each.lineno) + 1))
    listed = text.splitlines()
    blank = sum(1 for number, line in enumerate(listed, 1)
                if number not in told and (not line.strip() or line.lstrip().startswith("#")))
    return Lines(len(listed) - len(told) - blank, len(told), blank)


def room_of(path: Path) -> Tuple[str, str]:
    """The sum that a file belongs to, and its room in it."""
    parts = path.relative_to(ROOT).parts
    if parts[0] == "tests":
        return "tests", parts[1] if len(parts) > 2 else "test modules"
    if len(parts) > 2 and parts[1] not in PROTOCOL:
        return parts[1], parts[2] if len(parts) > 3 else parts[1]
    return "protocol", parts[1] if len(parts) > 2 else "the ladder, serve, explain and names"


def sizes() -> Dict[str, Dict[str, Lines]]:
    """Sum to room to its Lines."""
    found: Dict[str, Dict[str, Lines]] = {"protocol": {}, "lib": {}, "cli": {}, "tests": {}}
    for folder in ("mcp_ref", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            total, room = room_of(path)
            rooms = found[total]
            rooms[room] = rooms.get(room, Lines()).plus(lines_of(path.read_text(encoding="utf-8")))
    return found


def main() -> int:
    """Print the table."""
    print(f"{'':38}{'all':>8}{'code':>8}{'docstrings':>12}{'blank':>8}")
    for total, rooms in sizes().items():
        summed = Lines()
        for each in rooms.values():
            summed = summed.plus(each)
        inner = [(f"  {room}", lines) for room, lines in rooms.items() if len(rooms) > 1]
        for name, lines in [(total, summed), *inner]:
            print(f"{name:38}{sum(lines):8}{lines.code:8}{lines.docstrings:12}{lines.blank:8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
