"""basic/authorization: opaque tokens verified by an introspection endpoint (RFC 7662), over loopback sockets."""

import base64
import http.server
import json
import threading
import time
import unittest
from typing import Any, Dict, List, Tuple
from urllib.parse import parse_qs

from mcp_ref.authorization.introspection import MAX_ANSWER, Introspection
from mcp_ref.base.errors import TransportError
from tests.support import message, post
from tests.test_authorization import NOW, RESOURCE, auth, bearer, server

from .support import proves


class Endpoints(http.server.BaseHTTPRequestHandler):
    """An introspection endpoint on loopback that answers what the test has put there."""

    class Server(http.server.ThreadingHTTPServer):
        """With room for all the test's threads at once."""

        request_queue_size = 64

    answer: Any = (200, {}, b"{}")
    seen: List[Tuple[Dict[str, str], Dict[str, List[str]]]] = []
    release = threading.Event()

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen.append((dict(self.headers), parse_qs(form)))
        status, fields, body = self.answer
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        if body is None:
            self.release.wait(10)
        else:
            self.wfile.write(body)

    def do_GET(self) -> None:
        self.seen.append(({"redirected": "yes"}, {}))

    def log_message(self, *_: Any) -> None:
        pass


class Introspected(unittest.TestCase):
    """RFC 7662 against an endpoint on loopback."""

    def setUp(self) -> None:
        class Handler(Endpoints):
            seen: List[Any] = []
            release = threading.Event()
        self.handler = Handler
        self.endpoint = Endpoints.Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.endpoint.server_address[1]}/introspect"
        thread = threading.Thread(target=self.endpoint.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        self.addCleanup(self.endpoint.server_close)
        self.addCleanup(self.endpoint.shutdown)
        self.addCleanup(Handler.release.set)

    def says(self, value: Any, status: int = 200, **fields: str) -> None:
        body = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        self.handler.answer = (status, fields, body)

    def verifier(self, **options: Any) -> Introspection:
        return Introspection(self.url, "the client", "s:cr%t/é", **options)

    def test_question(self) -> None:
        self.says({"active": True, "sub": "a"})
        self.assertEqual(self.verifier()("tok+en=="), {"active": True, "sub": "a"})
        fields, form = self.handler.seen[0]
        self.assertEqual(form, {"token": ["tok+en=="], "token_type_hint": ["access_token"]})
        pair = base64.b64decode(fields["Authorization"].split()[1]).decode()
        self.assertEqual(pair, "the+client:s%3Acr%25t%2F%C3%A9")

    def test_active_means_true(self) -> None:
        for value in (False, None, 1, "true"):
            self.says({"active": value, "sub": "a"})
            self.assertIsNone(self.verifier()("t"), value)
        self.says({"sub": "a"})
        self.assertIsNone(self.verifier()("t"))

    def test_remembers_good_tokens_for_a_while(self) -> None:
        self.says({"active": True, "sub": "a"})
        verifier = self.verifier(cache_size=2)
        for token in ("a", "a", "b", "c", "c", "a"):
            verifier(token)
        self.assertEqual([form["token"][0] for _, form in self.handler.seen], ["a", "b", "c", "a"])
        for token in ("a", "a"):
            self.verifier(cache_seconds=0)(token)
        self.assertEqual(len(self.handler.seen), 6)
        self.says({"active": False})
        bad = self.verifier()
        bad("x"), bad("x")
        self.assertEqual(len(self.handler.seen), 8, "a bad token is asked about each time")

    def test_what_is_remembered_is_over_at_exp(self) -> None:
        self.says({"active": True, "sub": "a", "aud": RESOURCE, "exp": NOW, "scope": "mcp"})
        now = [NOW - 1]
        made = server(auth(self.verifier(), clock=lambda: now[0]))
        self.assertEqual(post(made, message("tools/list"), bearer("t")).status, 200)
        now[0] = NOW
        self.assertEqual(post(made, message("tools/list"), bearer("t")).status, 401)
        self.assertEqual(len(self.handler.seen), 1)

    @proves("AUTH-47", "AUTH-51", "AUTH-52", "AUTHSEC-04", "AUTHSEC-30", "AUTHSEC-33", "AUTHSEC-34")
    def test_audience(self) -> None:
        for claims, checked, status in (({}, False, 401), ({}, True, 200), ({"aud": "https://o"}, True, 401),
                                        ({"aud": "THIS_RESOURCE"}, False, 401)):
            self.says({"active": True, "sub": "a", "scope": "mcp", **claims})
            made = server(auth(self.verifier(audience_checked=checked)))
            self.assertEqual(post(made, message("tools/list"), bearer("t")).status, status, (claims, checked))

    def test_answers_that_are_none(self) -> None:
        bad: List[Tuple[Any, int, Dict[str, str]]] = [
            (b"active", 200, {}), ([], 200, {}), ({"active": True}, 401, {}), ({"active": True}, 500, {}),
            ({"active": True}, 302, {"Location": self.url}), ({"active": True}, 307, {"Location": self.url}),
            (b'{"active": false, "active": true}', 200, {}), (b'{"active": true}' + b" " * MAX_ANSWER, 200, {}),
            (b'{"active": true}', 200, {"Content-Length": "99"}), (b"", 204, {})]
        for value, status, fields in bad:
            self.says(value, status, **fields)
            with self.subTest(value=value[:20] if isinstance(value, bytes) else value, status=status):
                with self.assertRaises(TransportError) as raised:
                    self.verifier()("s3cret")
                self.assertNotIn("s3cret", str(raised.exception))
        self.assertEqual(len(self.handler.seen), len(bad), "a redirect was followed")

    def test_silence_and_absence(self) -> None:
        self.says(None)
        begun = time.monotonic()
        self.assertRaises(TransportError, self.verifier(timeout=0.2), "t")
        self.assertLess(time.monotonic() - begun, 8)
        self.handler.release.set()
        closed = http.server.HTTPServer(("127.0.0.1", 0), Endpoints)
        closed.server_close()
        url = f"http://127.0.0.1:{closed.server_address[1]}/"
        self.assertRaises(TransportError, Introspection(url, "a", "b"), "t")

    def test_down_is_503_and_the_log_says_so(self) -> None:
        self.says({}, 500)
        with self.assertLogs("mcp_ref", "ERROR") as logged:
            self.assertEqual(post(server(auth(self.verifier())), message("tools/list"), bearer("t")).status, 503)
        self.assertIn("answered 500", logged.output[0])

    def test_many_threads(self) -> None:
        self.says({"active": True, "sub": "a"})
        verifier = self.verifier(cache_size=3)
        failures: List[Any] = []

        def work(number: int) -> None:
            for step in range(10):
                try:
                    claims = verifier(f"t{(number + step) % 5}")
                    assert claims == {"active": True, "sub": "a"}, claims
                except Exception as error:
                    failures.append(error)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(failures, [])

    def test_places_it_does_not_ask(self) -> None:
        for url in ("http://as.example/introspect", "ftp://as.example", "as.example", "https://u:p@as.example/"):
            self.assertRaises(ValueError, Introspection, url, "a", "b")
        self.assertRaises(ValueError, Introspection, "https://as.example/?t=1", "a", "b", timeout=0)


if __name__ == "__main__":
    unittest.main()
