"""A folder by itself: which names lead to a file, what is read and listed. What a server makes of it: test_files."""

import os
import tempfile
import unittest
from pathlib import Path

from mcp_ref.lib.folder import Folder, has_unsafe_character, is_device, is_drive, is_nameless, media_type


class Names(unittest.TestCase):
    def test_each_predicate(self):
        told = ((is_nameless, ("", ".", "..", "a.", "a "), ("a", ".a", "a.b", "..a")),
                (has_unsafe_character, ("a\n", "\x7f", "a\\b", "\ud800", "%2e", "%252F", "%00"), ("a b", "é", "%41")),
                (is_drive, ("C:", "c:x"), ("c", "1:", "ab:c", ":")),
                (is_device, ("con", "NUL.txt", "com1", "LPT¹ .x", "aux:"), ("cone", "com", "com10", "xcon")))
        for predicate, yes, no in told:
            for name in yes + no:
                self.assertEqual(predicate(name), name in yes, f"{predicate.__name__} {name!r}")

    def test_media_types(self):
        for name, kind in (("a.md", "text/markdown"), ("a.tar.gz", "application/gzip"), ("a", None)):
            self.assertEqual(media_type(name), kind)


class Files(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = Path(place.name) / "root"
        for name in ("a.txt", "sub/b.txt", ".hidden", "con"):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name, encoding="utf-8")
        (Path(place.name) / "outside.txt").write_text("secret", encoding="utf-8")

    def listed(self, **options):
        return [path for path, _ in Folder(self.root, **options).files()]

    def test_what_is_listed_can_be_read_and_nothing_else(self):
        folder = Folder(self.root)
        self.assertEqual(self.listed(), ["a.txt", "sub/b.txt"])
        self.assertEqual([folder.read(path) for path in self.listed()], [b"a.txt", b"sub/b.txt"])
        for path in (".hidden", "con", "sub", "", "../outside.txt", "sub/../../outside.txt", "/a.txt", "sub//b.txt"):
            self.assertIsNone(folder.read(path), path)
        self.assertEqual(self.listed(hidden=True), [".hidden", "a.txt", "sub/b.txt"])
        self.assertEqual(self.listed(pattern="*.txt"), ["a.txt"])
        self.assertIsNone(Folder(self.root, "*.txt").read("sub/b.txt"))

    def test_a_large_file_is_read_as_far_as_one_octet_more(self):
        self.assertEqual(self.listed(max_size=5), ["a.txt"])
        self.assertEqual(Folder(self.root, max_size=3).read("a.txt"), b"a.tx")

    @unittest.skipUnless(hasattr(os, "symlink"), "no links here")
    def test_links_lead_to_what_could_be_read_without_them(self):
        for name, target in (("in.txt", "sub/b.txt"), ("out.txt", "../outside.txt"), ("secret.txt", ".hidden")):
            (self.root / name).symlink_to(target)
        folder = Folder(self.root)
        self.assertEqual([folder.read(name) for name in ("in.txt", "out.txt", "secret.txt")],
                         [b"sub/b.txt", None, None])
        self.assertEqual(self.listed(), ["a.txt", "in.txt", "sub/b.txt"])

    def test_there_must_be_a_folder(self):
        for path in (self.root / "nowhere", self.root / "a.txt"):
            with self.assertRaisesRegex(ValueError, "there is no folder"):
                Folder(path)


if __name__ == "__main__":
    unittest.main()
