"""Servers that misbehave: each gives one typed error that names what was wrong, in time, and leaves nothing behind."""

import gc
import gzip
import itertools
import json
import os
import socket
import ssl
import struct
import threading
import time
import unittest
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, Tuple, Type
from unittest import mock

from mcp_ref import Client, HTTPError, McpError, ProtocolError, Server, Timeout, TransportError
from mcp_ref.base.errors import BrokenOff, Unreachable
from mcp_ref.transports.http_server import HTTPServer

from .raw_peer import Peer, Script, answered

SECRET = "s3cret-token-of-the-user"
STALL = 0.3
"""Seconds that a call may take of a server that never comes to an end."""
OTHER_EXAMPLE = Path(__file__).with_name("other_example.pem")
"""A key, and its certificate for other.example, which no test connects to."""

Fault = Tuple[Type[McpError], str]


def body(data: bytes, kind: str = "application/json", status: str = "200 OK", **fields: Any) -> Script:
    """An answer with this body; `_` in a field's name stands for `-`, and Content_Length may lie."""
    made = {"Content-Type": kind, "Content-Length": len(data), **{name.replace("_", "-"): value
                                                                  for name, value in fields.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in made.items() if value is not None)

    def script(peer: Peer, number: int, message: Any) -> bool:
        peer.send(f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + data)
        return False
    return script


def says(make: Callable[[Any], Any], **fields: Any) -> Script:
    """An answer with the JSON of what is made of the request's id."""
    return lambda peer, number, message: body(json.dumps(make(message["id"])).encode(), **fields)(peer, number, message)


def responds(**members: Any) -> Script:
    return says(lambda id: {"jsonrpc": "2.0", "id": id, **members})


def octets(data: bytes) -> Script:
    def script(peer: Peer, number: int, message: Any) -> bool:
        peer.send(data)
        return False
    return script


def streams(*parts: bytes, then: bool = False) -> Script:
    """An event stream of these parts. then: whether it stays open."""
    def script(peer: Peer, number: int, message: Any) -> bool:
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for part in parts:
            peer.send(part)
        return then
    return script


def endless(first: bytes, piece: bytes) -> Script:
    """This, and then a piece again and again, until the client has gone."""
    def script(peer: Peer, number: int, message: Any) -> bool:
        peer.send(first)
        while True:
            peer.send(piece)
    return script


def drips(data: bytes) -> Script:
    """An octet now and then."""
    def script(peer: Peer, number: int, message: Any) -> bool:
        for octet in itertools.cycle(data):
            peer.send(bytes([octet]))
            time.sleep(0.01)
        return False
    return script


def resets(peer: Peer, number: int, message: Any) -> bool:
    peer.hang_up(struct.pack("ii", 1, 0))
    return False


def stays(data: bytes) -> Script:
    """These octets, and the connection stays open."""
    def script(peer: Peer, number: int, message: Any) -> bool:
        peer.send(data)
        return True
    return script


def silent(peer: Peer, number: int, message: Any) -> bool:
    return True


GOOD = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "content": []}}).encode()
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
BOMB = zlib.compressobj(9, zlib.DEFLATED, 31)

WAYS: Dict[str, Tuple[Script, Fault]] = {
    "a sign-in page": (body(b"<html>Sign in</html>", "text/html"), (HTTPError, "answered with \"text/html\": <html>")),
    "JSON by another name": (body(GOOD, "text/plain"), (HTTPError, "answered with \"text/plain\"")),
    "no Content-Type": (octets(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), (HTTPError, "answered with")),
    "half a JSON": (body(GOOD[:40]), (TransportError, "not strict JSON: not valid JSON at character")),
    "an empty body": (body(b""), (TransportError, "not strict JSON")),
    "no content": (octets(b"HTTP/1.1 204 No Content\r\n\r\n"), (HTTPError, "HTTP 204")),
    "202 for a request": (octets(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"), (HTTPError, "HTTP 202")),
    "a body cut short": (body(GOOD[:40], Content_Length=len(GOOD)), (BrokenOff, f"{len(GOOD) - 40} octets short")),
    "no UTF-8": (body(GOOD[:-1] + b"\xff}"), (TransportError, "not UTF-8")),
    "a byte order mark": (body(b"\xef\xbb\xbf" + GOOD), (TransportError, "byte order mark")),
    "NaN": (body(GOOD[:-2] + b",\"a\":NaN}}"), (TransportError, "NaN is not JSON")),
    "a name twice": (body(GOOD[:-1] + b",\"id\":1}"), (TransportError, "\"id\" is repeated")),
    "much nesting": (body(b"[" * 5000 + b"]" * 5000), (TransportError, "nested deeper")),
    "a lone surrogate": (body(GOOD[:-1] + b",\"a\":\"\\ud800\"}"), (TransportError, "surrogate")),
    "an array": (body(b"[" + GOOD + b"]"), (TransportError, "JSON array")),
    "a number": (body(b"7"), (TransportError, "no JSON-RPC 2.0 response")),
    "another id": (says(lambda id: {"jsonrpc": "2.0", "id": 77, "result": {}}), (TransportError, "has the id 77, not")),
    "the id as a text": (says(lambda id: {"jsonrpc": "2.0", "id": str(id), "result": {}}), (TransportError, "the id")),
    "no id": (says(lambda id: {"jsonrpc": "2.0", "id": None, "result": {}}), (TransportError, "has the id null")),
    "an older JSON-RPC": (says(lambda id: {"jsonrpc": "1.0", "id": id, "result": {}}), (TransportError, "no JSON-RPC")),
    "result and error": (responds(result={}, error={"code": 1, "message": "x"}),
                         (TransportError, "either a result or")),
    "neither": (responds(), (TransportError, "either a result or an error")),
    "a result that is a text": (responds(result="x"), (TransportError, "result must be an object")),
    "a result without content": (responds(result={"resultType": "complete"}),
                                 (TransportError, "needs content, a list")),
    "an unknown resultType": (responds(result={"resultType": "later"}), (TransportError, "unknown resultType")),
    "input_required of nothing": (responds(result={"resultType": "input_required"}), (TransportError, "neither input")),
    "an error that is a text": (responds(error="x"), (ProtocolError, "without an integer code")),
    "an error without code": (responds(error={"message": "x"}), (ProtocolError, "without an integer code")),
    "a code that is no integer": (responds(error={"code": 1.5, "message": "x"}), (ProtocolError, "without an integer")),
    "500 with a long page": (body(b"x" * 3_000_000, "text/html", "500 Oops"), (HTTPError, "HTTP 500")),
    "401 without a word": (octets(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"), (HTTPError, "HTTP 401")),
    "a Content-Length of 10 GB": (octets(OK + b"Content-Length: 10000000000\r\n\r\n{"), (TransportError, "exceeds")),
    "a negative Content-Length": (octets(OK + b"Content-Length: -5\r\n\r\n"), (TransportError, "Content-Length")),
    "two Content-Lengths": (octets(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n[1,2]"),
                            (TransportError, "Content-Length")),
    "a header of 1 MB": (octets(OK + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n"), (TransportError, "more than 65536")),
    "1,000 headers": (octets(OK + b"X: x\r\n" * 1000 + b"\r\n"), (TransportError, "at most 100 fields")),
    "headers without end": (endless(OK, b"X: x\r\n"), (TransportError, "head of the response has more")),
    "interim answers without end": (endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"), (TransportError, "interim")),
    "no HTTP at all": (octets(b"SSH-2.0-OpenSSH_9.0\r\n"), (BrokenOff, "SSH-2.0")),
    "chunks that are none": (octets(OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n"), (BrokenOff, "broke off")),
    "chunks cut short": (octets(OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{"), (BrokenOff, "broke off")),
    "a bomb of gzip": (body(BOMB.compress(bytes(80_000_000)) + BOMB.flush(), Content_Encoding="gzip"),
                       (TransportError, "exceeds")),
    "half of a gzip": (body(gzip.compress(GOOD)[:-9], Content_Encoding="gzip"), (TransportError, "cut off")),
    "what is no gzip": (body(GOOD, Content_Encoding="gzip"), (TransportError, "not in the coding")),
    "a coding that nobody asked for": (body(GOOD, Content_Encoding="br"), (TransportError, "the coding \"br\"")),
    "302 to another origin": (octets(b"HTTP/1.1 302 Found\r\nLocation: https://evil.example/\r\nContent-Length: 0\r\n"
                                     b"\r\n"), (HTTPError, "redirected to https://evil.example/, where nothing")),
    "307 to another origin": (octets(b"HTTP/1.1 307 There\r\nLocation: http://127.0.0.2:9/mcp\r\nContent-Length: 0\r\n"
                                     b"\r\n"), (HTTPError, "redirected to http://127.0.0.2:9/mcp, where nothing")),
    "307 to itself": (stays(b"HTTP/1.1 307 x\r\nLocation: /mcp\r\nContent-Length: 0\r\n\r\n"),
                      (TransportError, "redirects more than")),
    "307 to a file": (octets(b"HTTP/1.1 307 x\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
                      (HTTPError, "no http or https URL")),
    "308 to nowhere": (octets(b"HTTP/1.1 308 x\r\nContent-Length: 0\r\n\r\n"), (HTTPError, "HTTP 308")),
    "a hang-up without a word": (octets(b""), (BrokenOff, "without response")),
    "a reset": (resets, (BrokenOff, "broke off")),
    "a stream without the answer": (streams(b": hi\n\n"), (BrokenOff, "ended its answer without the response")),
    "a stream cut in the answer": (streams(b"data: " + GOOD), (BrokenOff, "ended its answer without the response")),
    "an event of 100 MB": (endless(EVENTS + b"data: ", b"x" * 1_000_000),
                           (TransportError, "of the event stream exceeds")),
    "an event of many lines": (endless(EVENTS, b"data: x\n" * 100_000),
                               (TransportError, "event of the stream exceeds")),
    "an event that is no JSON": (streams(b"data: hello\n\n"), (TransportError, "not strict JSON")),
    "silence": (silent, (Timeout, f"no answer within {STALL:g} s")),
    "silence after the head": (stays(OK + b"Content-Length: 5\r\n\r\n"), (Timeout, "within")),
    "a stall at every octet": (drips(OK), (Timeout, f"no answer within {STALL:g} s")),
    "a body that drips": (drips(OK + b"Content-Length: 9999\r\n\r\n" + b" " * 9999), (Timeout, "no answer within")),
    "comments without end": (drips(EVENTS + b": hello\n\n" * 10_000), (Timeout, "no answer within")),
    "notifications without end": (drips(EVENTS + b"data: {\"method\":\"a\"}\n\n" * 1000),
                                  (Timeout, "no answer within")),
}


def left() -> Tuple[int, int]:
    """Threads, and open files, of this process."""
    gc.collect()
    return threading.active_count(), len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def call(url: str, fault: Fault, test: unittest.TestCase) -> None:
    stalls, began = issubclass(fault[0], Timeout), time.monotonic()
    with Client(url, era="modern", timeout=STALL if stalls else 60.0,
                headers={"Authorization": f"Bearer {SECRET}"}) as client, test.assertRaises(McpError) as caught:
        client.call_tool("t")
    error = caught.exception
    test.assertLess(time.monotonic() - began, 30)
    test.assertIsInstance(error, fault[0], f"{error!r}")
    test.assertIn(fault[1], str(error))
    test.assertNotIn(SECRET, f"{error!r} {error} {vars(error)}")
    test.assertLess(len(str(error)), 1000)


class Misbehaving(unittest.TestCase):
    def test_each_way(self) -> None:
        before = left()
        for name, (script, fault) in WAYS.items():
            with self.subTest(name), Peer(script) as peer:
                call(peer.url, fault, self)
                for _ in range(peer.connections):
                    self.assertTrue(peer.closed.acquire(timeout=60))
        self.assertLessEqual(left(), before)

    def test_a_port_where_nobody_listens(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            call(f"http://127.0.0.1:{free.getsockname()[1]}/mcp", (Unreachable, "cannot reach"), self)

    def test_malformed_notifications_are_passed_over(self) -> None:
        bad = [{"method": "notifications/progress"}, {"method": "notifications/progress", "params": [1]}, {"method": 7},
               {"method": "notifications/message", "params": {"level": "loud", "data": 1}}, {"method": "x", "id": 1},
               {"method": "notifications/progress", "params": {"progressToken": 1, "progress": "much"}}]
        events = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in bad)

        def script(peer: Peer, number: int, message: Any) -> bool:
            peer.send(EVENTS + events + b"data: " + answered(message).partition(b"\r\n\r\n")[2] + b"\n\n")
            return False

        heard: Any = []
        with Peer(script) as peer, Client(peer.url, era="modern", on_progress=lambda *each: heard.append(each),
                                          on_log=lambda *each: heard.append(each)) as client:
            self.assertEqual(client.call_tool("t")["content"], [])
        self.assertEqual(heard, [])


    def test_one_that_never_lets_us_wait(self) -> None:
        note = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n'

        def script(peer: Peer, number: int, message: Any) -> bool:
            peer.send(EVENTS + note + b": hello\n\n" * 50_000
                      + b"data: " + answered(message).partition(b"\r\n\r\n")[2] + b"\n\n")
            return False

        with Peer(script) as peer, Client(peer.url, era="modern", timeout=STALL,
                                          on_log=lambda *_: time.sleep(2 * STALL)) as client:
            self.assertRaises(Timeout, client.call_tool, "t")


class Tls(unittest.TestCase):
    """A server's certificate is verified, always."""

    def refused(self, trusted: str, words: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(OTHER_EXAMPLE))
        with Peer(silent, context) as peer, mock.patch.dict(os.environ, {"SSL_CERT_FILE": trusted}):
            call(peer.url, (Unreachable, words), self)
            self.assertEqual(peer.requests, 0)

    def test_one_that_nobody_vouches_for(self) -> None:
        self.refused("", "CERTIFICATE_VERIFY_FAILED")

    def test_one_of_another_name(self) -> None:
        self.refused(str(OTHER_EXAMPLE), "IP address mismatch")

    def test_a_server_without_tls(self) -> None:
        with HTTPServer(Server("demo", "1"), port=0) as running:
            call(running.url.replace("http:", "https:"), (Unreachable, "cannot reach"), self)


if __name__ == "__main__":
    unittest.main()
