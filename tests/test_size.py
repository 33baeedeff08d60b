"""What `make size` counts."""

import unittest
from pathlib import Path

from . import size


class Size(unittest.TestCase):
    def test_every_line_counts_once(self):
        text = ('"""A.\n\nB."""\n\nX = 1  # one\n"""Of X."""\n\n\n# why\ndef f():\n    """C."""\n'
                '    return """no\n\ndocstring"""\n')
        lines = size.lines_of(text)
        self.assertEqual(lines, size.Lines(code=4, docstrings=5, blank=5))
        self.assertEqual(sum(lines), len(text.splitlines()))

    def test_every_file_is_in_a_room(self):
        for path, expected in [("mcp_ref/ladder.py", "protocol"), ("mcp_ref/server/tools.py", "protocol"),
                               ("mcp_ref/lib/uri.py", "lib"), ("mcp_ref/lib/typed/typed.py", "lib"),
                               ("mcp_ref/cli/send.py", "cli"), ("tests/size.py", "tests"),
                               ("tests/peers/steps.py", "tests")]:
            self.assertEqual(size.room_of(size.ROOT / Path(path))[0], expected, path)
        counted = size.sizes()
        self.assertEqual(list(counted), ["protocol", "lib", "cli", "tests"])
        whole = sum(sum(lines) for rooms in counted.values() for lines in rooms.values())
        files = [path for folder in ("mcp_ref", "tests") for path in (size.ROOT / folder).rglob("*.py")]
        self.assertEqual(whole, sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files))
