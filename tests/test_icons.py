"""basic/index, Icons: which pictures a client fetches, how, and what it takes for one."""

import base64
import os
import socket
import ssl
import struct
import unittest
from typing import Any, Dict, Optional
from unittest import mock

from mcp_ref.base.errors import HTTPError, TransportError
from mcp_ref.client.icons import JPEG, MAX_OCTETS, MAX_SIDE, PNG, Picture, picture

from .raw_peer import Peer, Script
from .stub_http import ClientCase, result
from .support import proves
from .test_bad_servers import OTHER_EXAMPLE, body

SERVER = "https://other.example/mcp"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
GIF = b"GIF89a\x01\x00\x01\x00\x80\x00\x00"


def chunk(kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + kind + data + b"\0\0\0\0"


def png(width: int = 2, height: int = 3, *more: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">II", width, height) + b"\x08\x02\0\0\0")
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + chunk(b"IDAT", b"x" * 9) + chunk(b"IEND")


def jpeg(width: int = 2, height: int = 3, frame: int = 0xC2) -> bytes:
    size = struct.pack(">HBHHB", 8, 8, height, width, 1)
    return b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x03x\xff" + bytes([frame]) + size + b"\xff\xd9"


def embedded(octets: bytes, kind: str = PNG) -> str:
    return f"data:{kind};base64,{base64.b64encode(octets).decode()}"


class Icons(unittest.TestCase):
    def refused(self, src: Any, words: str, declared: Optional[str] = None, server: str = SERVER) -> None:
        icon: Dict[str, Any] = {"src": src} if declared is None else {"src": src, "mimeType": declared}
        with self.subTest(src=str(src)[:60]), mock.patch.object(socket, "getaddrinfo") as looked_up:
            with self.assertRaisesRegex(TransportError, words):
                picture(icon, server)
            looked_up.assert_not_called()


class Embedded(Icons):
    @proves("ICON-06", "ICON-15")
    def test_png_and_jpeg(self) -> None:
        self.assertEqual(picture({"src": embedded(png())}, SERVER), Picture(PNG, png(), 2, 3))
        for frame in (0xC0, 0xC2, 0xCF):
            octets = jpeg(frame=frame)
            for kind in (JPEG, "image/jpg", "IMAGE/JPEG"):
                icon = {"src": embedded(octets, kind).replace("data:", "DATA:"), "mimeType": kind}
                self.assertEqual(picture(icon, SERVER), Picture(JPEG, octets, 2, 3))

    @proves("ICON-13..15")
    def test_what_it_is_and_what_it_is_said_to_be(self) -> None:
        self.refused(embedded(png(), JPEG), "said to be")
        self.refused(embedded(jpeg(), PNG), "said to be")
        self.refused(embedded(png()), "said to be", JPEG)
        for kind in ("image/svg+xml", "image/x", "", "text/html"):
            self.refused(embedded(png(), kind), "said to be")
        for octets in (SVG, GIF, b"RIFF\0\0\0\0WEBPVP8 ", b"<html>", b"", b"\xff\xd8"):
            for kind in (PNG, "image/svg+xml", "image/gif"):
                self.refused(embedded(octets, kind), "is a PNG or a JPEG")
        for octets in (png()[:-1], png()[:20], png()[:30], jpeg()[:-6], b"\xff\xd8\xff"):
            self.refused(embedded(octets, PNG), "cut off")
        self.refused(embedded(b"\x89PNG\r\n\x1a\n" + chunk(b"IEND")), "begin with its size")
        self.refused(embedded(b"\xff\xd8\xff\xe0\0\x02\0\0\0\0\0\0\0", JPEG), "cannot be found")

    @proves("ICON-09")
    def test_bounds(self) -> None:
        for side in (0, MAX_SIDE + 1, 2**31):
            for octets in (png(side, 1), png(1, side)):
                self.refused(embedded(octets), "pixels")
        self.refused(embedded(jpeg(65_535, 1), JPEG), "pixels")
        self.assertEqual(picture({"src": embedded(png(MAX_SIDE, MAX_SIDE))}, SERVER).width, MAX_SIDE)
        self.refused(embedded(png(1, 1, chunk(b"acTL", struct.pack(">II", 2**31, 0)))), "moves")
        self.refused(embedded(png() + b"\0" * MAX_OCTETS), "at most")

    def test_what_is_no_data_uri_of_base64(self) -> None:
        for src in ("data:", "data:image/png;base64", "data:image/png,x", "data:image/png;base64;x=y,AAAA"):
            self.refused(src, "holds Base64")
        self.refused("data:image/png;base64,AA=A!", "is not Base64")

    @proves("ICON-06", "ICON-07")
    def test_other_schemes(self) -> None:
        for src in ("http://other.example/a.png", "javascript:alert(1)", "file:///etc/passwd", "ftp://other.example/a",
                    "ws://other.example/a", "wss://other.example/a", "myapp:open", "//other.example/a.png", "/a.png",
                    "", " https://other.example/a.png", None, 7, ["https://other.example/a.png"]):
            self.refused(src, "https or a data URI")

    @proves("ICON-11")
    def test_other_origins(self) -> None:
        for src in ("https://third.example/a.png", "https://other.example:8443/a.png", "https://x.other.example/a.png",
                    "https://other.example@third.example/a.png", "https://", "https://a b/", "https://other.example:x/"):
            self.refused(src, "own origin")
        for server in ("http://other.example/mcp", "http://127.0.0.1:8000/mcp", "stdio:python3", "memory:demo"):
            self.refused("https://other.example/a.png", "own origin", server=server)


class Fetched(Icons):
    """Over TLS, from a server whose name and certificate are good."""

    def fetch(self, script: Script, path: str = "/a.png", user: str = "", **icon: Any) -> Any:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(OTHER_EXAMPLE))
        known = socket.getaddrinfo
        with Peer(script, context) as peer, mock.patch.dict(
                os.environ, {"SSL_CERT_FILE": str(OTHER_EXAMPLE), "NO_PROXY": "*", "no_proxy": "*"}), mock.patch.object(
                socket, "getaddrinfo", lambda host, *rest: known("127.0.0.1", *rest)):
            place = f"other.example:{peer.place.rpartition(':')[2]}"
            self.peer = peer
            return picture({"src": f"https://{user}{place}{path}", **icon}, f"https://{place}/mcp")

    @proves("ICON-10", "ICON-13")
    def test_it_is_fetched_without_credentials(self) -> None:
        self.assertEqual(self.fetch(body(png(), PNG, Set_Cookie="a=b"), user="ada:pw@"), Picture(PNG, png(), 2, 3))
        lines = self.peer.heads[0].decode().split("\r\n")
        self.assertEqual(lines[0], "GET /a.png HTTP/1.1")
        self.assertEqual(sorted(line.partition(":")[0] for line in lines[1:] if line),
                         ["Accept", "Accept-Encoding", "Host", "User-Agent"])

    @proves("ICON-13", "ICON-14")
    def test_a_generic_type_says_nothing_and_another_is_held_against_it(self) -> None:
        for kind in ("application/octet-stream", "", "image/PNG; x=y"):
            self.assertEqual(self.fetch(body(png(), kind), mimeType=PNG).kind, PNG)
        for kind in (JPEG, "text/html", "image/svg+xml"):
            with self.assertRaisesRegex(TransportError, "said to be"):
                self.fetch(body(png(), kind), mimeType=PNG)
        with self.assertRaisesRegex(TransportError, "said to be"):
            self.fetch(body(png(), PNG), mimeType=JPEG)

    @proves("ICON-07", "ICON-08")
    def test_no_redirect_is_followed(self) -> None:
        for status in ("301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"):
            for place in ("http://other.example/a.png", "https://third.example/a.png", "file:///etc/passwd", "/b.png"):
                with self.assertRaises(HTTPError) as caught:
                    self.fetch(body(png(), PNG, status, Location=place))
                self.assertEqual((caught.exception.status, self.peer.requests), (int(status[:3]), 1))
        for status in ("404 Not Found", "401 Unauthorized", "204 No Content"):
            with self.assertRaises(HTTPError):
                self.fetch(body(b"", PNG, status))

    @proves("ICON-09")
    def test_it_is_bounded(self) -> None:
        def endless(peer: Peer, number: int, message: Any) -> bool:
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n")
            while True:
                peer.send(png() * 100)

        for script in (body(png(), PNG, Content_Length=10**10), endless):
            with self.assertRaisesRegex(TransportError, f"exceeds {MAX_OCTETS}"):
                self.fetch(script)


class Unasked(ClientCase):
    @proves("ICON-10", "ICON-11")
    def test_nothing_is_fetched_that_nobody_wants_to_see(self) -> None:
        with self.talk(result(tools=[])) as (stub, client):
            here = stub.url.replace("/mcp", "/icon.png")
            listed = [{"name": "t", "inputSchema": {}, "icons": [{"src": src} for src in (here, embedded(png()), 7)]}]
            stub.script[:] = [result(tools=listed)]
            self.assertEqual(client.list_tools(), listed)
            self.assertEqual([seen.method for seen in stub.seen], ["POST"])


if __name__ == "__main__":
    unittest.main()
