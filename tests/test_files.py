"""A folder as resources: what is listed, what is read, and every way out of it that is closed."""

import base64
import os
import shutil
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from mcp_ref import Server
from mcp_ref.lib.folder import STEPWISE
from mcp_ref.server import folders as files

from .support import message, not_on_wasm, post, proves, stdio

PREFIX = "file:///docs/"


def read(server, uri):
    return stdio(server, message("resources/read", {"uri": uri}))


class FolderCase(unittest.TestCase):
    def setUp(self):
        self.base = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.base)
        self.root = self.base / "docs"
        self.put("docs/readme.md", "# Hello")
        self.put("docs/sub/deep/note.txt", "naïve")
        self.put("docs/sub/data.json", "{}")
        self.put("docs/pixel.png", b"\x89PNG\x00")
        self.put("docs/100% & ü.txt", "odd")
        self.put("docs/.hidden", "secret")
        self.put("docs/.git/config", "secret")
        self.put("outside.txt", "secret")
        self.put("docs-evil/file.txt", "secret")

    def put(self, name, content):
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def serve(self, **options):
        server = Server("files", "1")
        server.add_folder(PREFIX, str(self.root), **options)
        return server

    def listed(self, server):
        return stdio(server, message("resources/list")).result["resources"]

    def refused(self, server, uri):
        reply = read(server, uri)
        self.assertEqual((reply.status, reply.error["code"], reply.error["message"], reply.error.get("data")),
                         (400, -32602, "Resource not found", {"uri": uri}), uri)

    def text(self, server, path):
        return read(server, PREFIX + path).result["contents"][0]["text"]


class Listing(FolderCase):
    def test_files_in_order_with_size_type_and_time(self):
        os.utime(self.root / "readme.md", (1736686858, 1736686858))
        listed = self.listed(self.serve())
        self.assertEqual([entry["uri"] for entry in listed],
                         [PREFIX + path for path in ("100%25%20%26%20%C3%BC.txt", "pixel.png", "readme.md",
                                                     "sub/data.json",
                                                     "sub/deep/note.txt")])
        self.assertEqual(listed[2], {"uri": PREFIX + "readme.md", "name": "readme.md", "size": 7,
                                     "mimeType": "text/markdown",
                                     "annotations": {"lastModified": "2025-01-12T13:00:58Z"}})

    def test_the_list_follows_the_folder(self):
        server = self.serve()
        self.put("docs/new.txt", "new")
        self.assertIn(PREFIX + "new.txt", [entry["uri"] for entry in self.listed(server)])
        shutil.rmtree(self.root)
        self.assertEqual(self.listed(server), [])
        self.refused(server, PREFIX + "new.txt")
        self.base.joinpath("docs").mkdir()

    def test_the_template_is_listed(self):
        server = self.serve(name="Docs", title="All docs")
        listed = stdio(server, message("resources/templates/list")).result["resourceTemplates"]
        self.assertEqual(listed, [{"uriTemplate": PREFIX + "{+path}", "name": "Docs", "title": "All docs",
                                   "description": "Files of a folder, by their relative path"}])

    def test_every_listed_file_can_be_read(self):
        server = self.serve()
        for entry in self.listed(server):
            with self.subTest(entry["uri"]):
                result = post(server, message("resources/read", {"uri": entry["uri"]})).result
                self.assertEqual(result["contents"][0]["uri"], entry["uri"])
                self.assertEqual(result["contents"][0].get("mimeType"), entry.get("mimeType"))

    def test_the_list_is_bounded(self):
        server = self.serve(limit=2)
        self.assertEqual(len(self.listed(server)), 2)
        self.assertEqual(self.text(server, "readme.md"), "# Hello", "files beyond the limit can be read")

    def test_pages(self):
        server = Server("files", "1", page_size=2)
        server.add_folder(PREFIX, self.root)
        seen, params = [], {}
        while True:
            result = stdio(server, message("resources/list", params)).result
            seen += [entry["name"] for entry in result["resources"]]
            if "nextCursor" not in result:
                break
            params = {"cursor": result["nextCursor"]}
        self.assertEqual(seen, ["100% & ü.txt", "pixel.png", "readme.md", "data.json", "note.txt"])

    def test_pattern(self):
        server = self.serve(pattern="sub/**/*.txt")
        self.put("docs/sub/top.txt", "top")
        self.assertEqual([entry["name"] for entry in self.listed(server)], ["note.txt", "top.txt"])
        self.assertEqual(self.text(server, "sub/top.txt"), "top")
        self.refused(server, PREFIX + "readme.md")
        self.refused(server, PREFIX + "sub/data.json")
        flat = self.serve(pattern="*.md")
        self.assertEqual([entry["name"] for entry in self.listed(flat)], ["readme.md"])
        self.refused(flat, PREFIX + "sub/deep/note.txt")

    def test_hidden_files_when_allowed(self):
        server = self.serve(hidden=True)
        self.assertIn(PREFIX + ".git/config", [entry["uri"] for entry in self.listed(server)])
        self.assertEqual(self.text(server, ".hidden"), "secret")
        self.refused(server, PREFIX + ".")
        self.refused(server, PREFIX + "./readme.md")

    def test_what_cannot_be_a_folder(self):
        for uri, path in (("file:///docs", self.root), ("docs/", self.root), ("file:///{a}/", self.root),
                          ("file:///a?b/", self.root), (PREFIX, self.root / "absent"),
                          (PREFIX, self.root / "readme.md")):
            with self.subTest(uri=uri, path=path), self.assertRaises(ValueError):
                Server("files", "1").add_folder(uri, path)

    def test_options_that_cannot_be_used_are_told_at_once(self):
        for kind, words, options in ((ValueError, "limit is 0 or more", {"limit": -1}),
                                     (TypeError, "limit is a whole number", {"limit": "5"}),
                                     (ValueError, "max_size is 0 or more", {"max_size": -1}),
                                     (TypeError, "max_size is a whole number", {"max_size": None}),
                                     (TypeError, "hidden is True or False", {"hidden": "no"}),
                                     (TypeError, "pattern is a text", {"pattern": ["*.md"]})):
            with self.subTest(options), self.assertRaisesRegex(kind, words):
                self.serve(**options)
        self.assertEqual(self.listed(self.serve(limit=0)), [])


class Reading(FolderCase):
    def test_text_and_octets(self):
        server = self.serve(ttl_ms=5000, cache_scope="public")
        result = read(server, PREFIX + "readme.md").result
        self.assertEqual(result["contents"], [{"uri": PREFIX + "readme.md", "mimeType": "text/markdown",
                                               "text": "# Hello"}])
        self.assertEqual((result["ttlMs"], result["cacheScope"]), (5000, "public"))
        content = read(server, PREFIX + "pixel.png").result["contents"][0]
        self.assertEqual(content, {"uri": PREFIX + "pixel.png", "mimeType": "image/png",
                                   "blob": base64.b64encode(b"\x89PNG\x00").decode()})
        self.assertEqual(self.text(server, "sub/deep/note.txt"), "naïve")
        self.assertEqual(self.text(server, "100%25%20%26%20%C3%BC.txt"), "odd")

    def test_what_is_text(self):
        server = self.serve()
        for name, octets, kind in (("a.txt", b"\xff\xfe", "blob"), ("b.txt", b"a\0b", "blob"), ("c.txt", b"", "text"),
                                   ("d.unknown", b"plain", "text"), ("e.unknown", b"\xff", "blob"),
                                   ("f.svg", b"<svg/>", "text"),
                                   ("g.json", b"[]", "text"), ("h.png", b"ascii", "blob"), ("i.yaml", b"a: 1", "text"),
                                   ("j.txt.gz", b"ascii", "blob")):
            self.put("docs/" + name, octets)
            content = read(server, PREFIX + name).result["contents"][0]
            self.assertIn(kind, content, name)
            self.assertNotIn("text" if kind == "blob" else "blob", content, name)

    def test_the_size_is_bounded(self):
        server = self.serve(max_size=6)
        reply = read(server, PREFIX + "readme.md")
        self.assertEqual((reply.error["code"], reply.error["data"]), (-32602, {"uri": PREFIX + "readme.md"}))
        self.assertIn("larger than 6 bytes", reply.error["message"])
        self.assertNotIn("readme.md", [entry["name"] for entry in self.listed(server)])
        self.assertEqual(self.text(self.serve(max_size=7), "readme.md"), "# Hello", "exactly as large is served")

    def test_a_file_that_may_not_be_read_is_not_found(self):
        path = self.put("docs/locked.txt", "x")
        path.chmod(0)
        if os.access(path, os.R_OK):
            self.skipTest("this user may read everything")
        self.refused(self.serve(), PREFIX + "locked.txt")


@proves("RES-18")
class WaysOut(FolderCase):
    def test_uris_that_are_refused(self):
        self.put("docs/sub/a.txt", "x")
        server = self.serve()
        for path in ("../outside.txt", "sub/../../outside.txt", "sub/../readme.md", "..", ".", "sub/..", "./readme.md",
                     "%2e%2e/outside.txt", "%2E%2E%2Foutside.txt", ".%2e/outside.txt", "..%2foutside.txt",
                     "sub%2fa.txt",
                     "%252e%252e/outside.txt", "..%252foutside.txt", "%25252e%25252e/outside.txt", "readme%2emd",
                     "..%5coutside.txt", "..%255coutside.txt", "sub%5ca.txt", "..\\outside.txt", "sub\\a.txt",
                     "readme.md%00", "readme.md%00.txt", "%00", "%2500", "readme.md\0", "sub/%0a", "readme.md%0A",
                     "/etc/passwd", "//etc/passwd", "%2fetc/passwd", "/" + str(self.base / "outside.txt"), "sub//a.txt",
                     "C:/Windows/win.ini", "c:", "C%3A/x", "sub/C:a.txt", "NUL", "nul.txt", "CON", "sub/com1",
                     "LPT9.log",
                     "aux.", "PRN .txt", "COM%C2%B9", "readme.md.", "readme.md ", "readme.md%20", "sub/", "sub", "",
                     "readme.md/",
                     ".hidden", ".git/config", "sub/.x", "readme.md?x=1", "readme.md#top", "readme.md?", "absent.txt",
                     "../docs-evil/file.txt", "%c0%ae%c0%ae/outside.txt", "%e0%80%ae%e0%80%ae/outside.txt",
                     "..;/outside.txt",
                     "%uff0e%uff0e/outside.txt", "．．/outside.txt", "~/x", "a" * 300, "a/" * 3000 + "b", "%", "%2"):
            self.refused(server, PREFIX + path)
        for uri in ("file:///docs", "file:///etc/passwd", "file:///docs-evil/file.txt", "FILE:///docs/readme.md",
                    "file://localhost/docs/readme.md", "file:///docs/../docs/readme.md", "file:///%64ocs/readme.md"):
            self.refused(server, uri)
        self.assertEqual(self.text(server, "sub/a.txt"), "x")

    @unittest.skipUnless(os.name == "posix", "no such names can be made here")
    def test_files_with_names_that_are_refused(self):
        names = {"a%2fb.txt": "a%252fb.txt", "%2e%2e": "%252e%252e", "C:x.txt": "C:x.txt", "nul.txt": "nul.txt",
                 "AUX": "AUX",
                 "a\\b.txt": "a%5Cb.txt", "dot.": "dot.", "space ": "space%20", "a\nb": "a%0Ab"}
        for name in [*names, "q?x=1", "f#y"]:
            self.put("docs/names/" + name, "x")
        server = self.serve(pattern="names/*")
        for path in [*names.values(), "q?x=1", "f#y"]:
            self.refused(server, PREFIX + "names/" + path)
        self.assertEqual([entry["uri"] for entry in self.listed(server)],
                         [PREFIX + "names/f%23y", PREFIX + "names/q%3Fx%3D1"])
        self.assertEqual(self.text(server, "names/q%3Fx=1"), "x")

    @unittest.skipUnless(hasattr(os, "symlink"), "no symbolic links here")
    def test_links(self):
        os.symlink(self.base / "outside.txt", self.root / "out.txt")
        os.symlink(self.base, self.root / "up")
        os.symlink("/", self.root / "sub" / "top")
        os.symlink(self.base / "docs-evil", self.root / "evil")
        os.symlink(self.root / "readme.md", self.root / "in.txt")
        os.symlink(self.root / ".hidden", self.root / "shown.txt")
        os.symlink("loop", self.root / "loop")
        os.symlink(self.root / "sub", self.root / "other")
        server = self.serve()
        for path in ("out.txt", "up/outside.txt", "up/docs/readme.md/x", "sub/top/etc/passwd", "evil/file.txt",
                     "shown.txt",
                     "loop", "loop/x", "up", "other"):
            self.refused(server, PREFIX + path)
        self.assertEqual(self.text(server, "in.txt"), "# Hello", "a link that stays inside is followed")
        self.assertEqual(self.text(server, "other/deep/note.txt"), "naïve")
        self.assertEqual([entry["name"] for entry in self.listed(server)],
                         ["100% & ü.txt", "in.txt", "pixel.png", "readme.md", "data.json", "note.txt"])

    @unittest.skipUnless(hasattr(os, "symlink"), "no symbolic links here")
    def test_a_link_put_there_after_the_check_leads_nowhere(self):
        server = self.serve()
        folder = server.resource_templates[PREFIX + "{+path}"]._folder
        resolved = folder._resolved
        self.put("docs-evil/data.json", "secret")
        for target, link in ((self.base / "outside.txt", "readme.md"), (self.base / "docs-evil", "sub")):
            def swapping(segments, target=target, link=link):
                found = resolved(segments)
                path = self.root / link
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                os.symlink(target, path)
                return found
            folder._resolved = swapping
            self.refused(server, PREFIX + ("readme.md" if link == "readme.md" else "sub/data.json"))

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no FIFOs here")
    def test_what_is_no_regular_file_does_not_hang(self):
        os.mkfifo(self.root / "pipe.txt")
        server = self.serve()
        replies = []
        reader = threading.Thread(target=lambda: replies.append(read(server, PREFIX + "pipe.txt")), daemon=True)
        reader.start()
        reader.join(60)
        self.assertTrue(replies, "reading a FIFO hangs")
        self.assertEqual(replies[0].error["message"], "Resource not found")
        self.assertNotIn("pipe.txt", [entry["name"] for entry in self.listed(server)])

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no FIFOs here")
    def test_a_fifo_put_there_after_the_check_does_not_hang(self):
        server = self.serve()
        folder = server.resource_templates[PREFIX + "{+path}"]._folder
        descend = folder._descend

        def swapping(segments):
            (self.root / "readme.md").unlink()
            os.mkfifo(self.root / "readme.md")
            return descend(segments)
        folder._descend = swapping
        self.refused(server, PREFIX + "readme.md")

    def test_no_descriptor_is_left_open(self):
        if not os.path.isdir("/proc/self/fd"):
            self.skipTest("no /proc here")
        server = self.serve()
        before = len(os.listdir("/proc/self/fd"))
        for path in ("sub/deep/note.txt", "sub/deep/absent.txt", "readme.md/x", "sub", "sub/deep"):
            read(server, PREFIX + path)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


class Listed(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root, self.outside = Path(place.name) / "root", Path(place.name) / "outside"
        for folder, name in ((self.root / "sub", "inside.txt"), (self.outside, "secret.txt")):
            folder.mkdir(parents=True)
            (folder / name).write_text("x", encoding="utf-8")
        self.server = Server("hard", "1")
        self.server.add_folder("file:///d/", self.root)

    def names(self):
        return [entry["name"] for entry in post(self.server, message("resources/list")).result["resources"]]

    @unittest.skipUnless(STEPWISE, "no descriptors of folders here")
    @not_on_wasm("a folder cannot be listed by its descriptor")
    def test_a_folder_that_becomes_a_link_while_it_is_listed(self):
        scandir, places = os.scandir, []

        def swapping(place):
            places.append(place)
            if len(places) == 2:
                (self.root / "sub").rename(self.root / "moved")
                (self.root / "sub").symlink_to(self.outside)
            return scandir(place)
        with mock.patch("os.scandir", swapping), mock.patch("os.supports_fd", {swapping}):
            names = self.names()
        self.assertEqual((len(places), names), (2, ["inside.txt"]))

    def test_a_date_that_no_calendar_has(self):
        with mock.patch.object(files, "LAST_SECOND", 10):
            [entry] = post(self.server, message("resources/list")).result["resources"]
        self.assertEqual(entry["annotations"]["lastModified"], "1970-01-01T00:00:10Z")

    @unittest.skipUnless(os.path.isdir("/proc/self/fd"), "no /proc here")
    def test_listing_leaves_no_descriptor_open(self):
        before = len(os.listdir("/proc/self/fd"))
        self.names()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


if __name__ == "__main__":
    unittest.main()
