"""The client against a network that fails, drips, redirects and streams."""

import contextlib
import os
import socket
import threading
import time
import unittest
from typing import Any, Dict, List, Tuple
from unittest import mock

from mcp_ref.base.errors import (
    HTTPError,
    Timeout,
    TransportError,
    Unreachable,
)
from mcp_ref.base.meta import LOG_LEVEL
from mcp_ref.client.client import Client
from mcp_ref.lib.uri import Address
from mcp_ref.transports.calls import Deadline
from mcp_ref.transports.exchange import Exchange, _without_secrets
from mcp_ref.transports.pool import Pool
from tests.stub_http import ClientCase, Stub, events, raw, said

from .support import proves


class Streams(ClientCase):
    def progress(self, token: Any, value: Any, **more: Any) -> Dict[str, Any]:
        return {"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": value, **more}}

    @proves("BASE-24")
    def test_progress_of_this_request_alone(self) -> None:
        heard: List[Any] = []
        notes = [b": hello\r\n\r\n", b"event: message\r\nid: 1\r\ndata: \r\n\r\n",
                 self.progress(1, 1, total=3, message="a"), self.progress("1", 2),
                 self.progress(True, 2), self.progress(2, 2), self.progress(1, "2"),
                 self.progress(1, 2.5), {"jsonrpc": "2.0", "method": "notifications/progress"},
                 {"jsonrpc": "2.0", "method": "notifications/other", "params": {}},
                 {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}, {**self.progress(1, 9), "id": 3}]
        with self.talk(events(*notes, last=said(), kind="Text/Event-Stream;charset=utf-8")) as (stub, client):
            client.call_tool("t", on_progress=lambda *given: heard.append(given))
            client.call_tool("t", on_progress=lambda *given: None)
            client.call_tool("t")
        self.assertEqual(heard, [(1, 3, "a"), (2.5, None, None)])
        tokens = [seen.params["_meta"].get("progressToken") for seen in stub.seen]
        self.assertEqual(tokens, [1, 2, None], "PROG-02, and none where nobody listens")
        self.assertEqual(len(stub.seen), 3, "a server's request is never answered (HTTP-11)")

    def test_a_token_of_the_callers_own_keeps_its_type(self) -> None:
        for token in (0, ""):
            heard: List[Any] = []
            other = "0" if token == 0 else 0
            with self.talk(events(self.progress(token, 1), self.progress(other, 2), last=said())) as (stub, client):
                client.call_tool("t", meta={"progressToken": token}, on_progress=lambda *given: heard.append(given[0]))
            self.assertEqual((stub.seen[0].params["_meta"]["progressToken"], heard), (token, [1]))

    def test_log_messages(self) -> None:
        heard: List[Any] = []
        notes = [{"jsonrpc": "2.0", "method": "notifications/message", "params": params} for params in (
            {"level": "info", "data": {"a": 1}, "logger": "db"}, {"level": "loud", "data": 1}, {"level": "info"})]
        with self.talk(events(*notes, last=said()), on_log=lambda *given: heard.append(given)) as (stub, client):
            client.call_tool("t")
        self.assertEqual(heard, [("info", {"a": 1}, "db")])
        self.assertEqual(stub.seen[0].params["_meta"][LOG_LEVEL], "info")

    def test_a_stream_without_the_response(self) -> None:
        self.refused(events(self.progress(1, 1)), TransportError, "without the response")
        whole = b'data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n'
        self.refused(events(whole), TransportError, "without the response")
        self.refused(events(b"data: hello\n\n"), TransportError, "strict JSON")

    def test_a_callback_that_fails_is_logged_and_the_call_goes_on(self) -> None:
        heard: List[Any] = []

        def fail(*given: Any) -> None:
            heard.append(given[0])
            raise fault

        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        for kind in (KeyError, ValueError, Timeout, StopIteration, AssertionError):
            fault = kind("mine")
            for name, notes in (("on_progress", [self.progress(1, 1), self.progress(1, 2)]), ("on_log", [log, log])):
                heard.clear()
                options: Dict[str, Any] = {name: fail}
                with self.talk(events(*notes, last=said()), **options) as (_, client):
                    with self.assertLogs("mcp_ref", "ERROR") as logged:
                        self.assertEqual(client.call_tool("t")["content"][0]["text"], "ok")
                self.assertEqual(len(heard), 2, "the next one is told as well")
                self.assertEqual([name in line and "mine" in line for line in logged.output], [True, True])

    def test_what_ends_a_program_passes_a_callback(self) -> None:
        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        with self.talk(events(self.progress(1, 1), last=said())) as (_, client), self.assertRaises(KeyboardInterrupt):
            client.call_tool("t", on_progress=stop)

    def test_numbers_that_no_double_holds_are_passed_over(self) -> None:
        heard: List[Any] = []
        notes = [self.progress(1, 10**400), self.progress(1, -10**400), self.progress(1, 3, total=10**400),
                 *(self.progress(1, each) for each in (True, False, None, [1])), self.progress(1, 4, total=True)]
        with self.talk(events(*notes, last=said())) as (_, client):
            client.call_tool("t", on_progress=lambda *given: heard.append(given))
        self.assertEqual(heard, [(3, None, None), (4, None, None)])


class Hasty:
    """A server that answers at the head of a request, whatever is still to come. then: what it does next."""

    def __init__(self, answer: bytes, then: str) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d/mcp" % self.listener.getsockname()[1]
        self.answer, self.then = answer, then
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection:
            seen = b""
            while b"\r\n\r\n" not in seen:
                seen += connection.recv(1024)
            connection.sendall(self.answer)
            if self.then == "reads on":
                while connection.recv(65536):
                    pass
            elif self.then == "stalls":
                self.over.wait(20)

    def __enter__(self) -> "Hasty":
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.listener.close()
        self.thread.join(60)


INTERIM = (b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
           b"HTTP/1.1 102 Processing\r\n\r\n" * 2 + b"HTTP/1.1 100 Continue\r\n\r\n")
"""What may come before an answer, any number of times (RFC 9110, section 15.2)."""


class EarlyAnswers(unittest.TestCase):
    """A server that has its answer before it has the request (RFC 9112, section 9.5)."""

    def call(self, answer: bytes, then: str) -> Any:
        with Hasty(answer, then) as server, Client(server.url, timeout=10) as client:
            return client.call_tool("t", {"text": "x" * 16_000_000})

    def test_its_answer_is_heard_whatever_it_does_with_the_rest(self) -> None:
        for status in (401, 403, 413, 503):
            body = b'{"error": "early"}'
            answer = b"HTTP/1.1 %d No\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body)) + body
            for then in ("reads on", "stalls", "closes"):
                for first in INTERIM if then == "reads on" else (b"",):
                    with self.assertRaises(HTTPError) as caught:
                        self.call(first + answer, then)
                    self.assertEqual((caught.exception.status, caught.exception.body), (status, body.decode()), then)

    def test_its_connection_is_not_used_again(self) -> None:
        answer = b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n"
        with Hasty(answer, "reads on") as server, contextlib.closing(Pool(direct=True)) as pool:
            with Exchange(Address(server.url), Deadline(10), pool=pool) as exchange:
                self.assertEqual(exchange.open("POST", server.url, b"x" * 16_000_000, {}).status, 413)
            self.assertEqual(pool._idle, [])

    def test_without_one_the_exchange_broke_off(self) -> None:
        with self.assertRaisesRegex(TransportError, "broke off"):
            self.call(b"", "closes")


class Network(ClientCase):
    def test_the_timeout_is_total(self) -> None:
        for part, kind in ((b": still here\n\n", "text/event-stream"), (b" ", "application/json")):
            with self.talk(said()) as (stub, client):
                stub.script = [raw(200, stub.drip(part), kind)]
                began = time.monotonic()
                with self.assertRaisesRegex(Timeout, "0.3 s"):
                    client.call_tool("t", timeout=0.3)
                self.assertLess(time.monotonic() - began, 30)

    def test_a_connection_that_takes_too_long(self) -> None:
        with mock.patch("socket.socket.connect", side_effect=socket.timeout("timed out")):
            with Client("http://127.0.0.1:1/mcp", era="modern", timeout=7) as client:
                with self.assertRaisesRegex(Timeout, "within 7 s"):
                    client.call_tool("t")

    def test_one_whose_time_is_over_before_it_begins_is_closed(self) -> None:
        made: List[socket.socket] = []
        real, resolved = socket.socket, socket.getaddrinfo

        def late(*given: Any) -> Any:
            time.sleep(0.3)
            return resolved(*given)

        def opened(*given: Any) -> socket.socket:
            made.append(real(*given))
            return made[-1]

        with mock.patch.object(socket, "getaddrinfo", late), mock.patch.object(socket, "socket", opened):
            with Client("http://127.0.0.1:1/mcp", era="modern") as client, self.assertRaises(Timeout):
                client.call_tool("t", timeout=0.2)
        self.assertEqual([each.fileno() for each in made], [-1])

    def test_no_timeout_is_more_than_poll_takes(self) -> None:
        self.assertLess(Deadline(float("inf")).left() * 1000, 2**31)

    def test_a_head_that_never_ends_times_out(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            def drip() -> None:
                peer, _ = listening.accept()
                with peer, contextlib.suppress(OSError):
                    peer.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
                    while not over.wait(0.02):
                        peer.sendall(b"a")

            over = threading.Event()
            thread = threading.Thread(target=drip)
            thread.start()
            with self.assertRaises(Timeout):
                Client(f"http://127.0.0.1:{listening.getsockname()[1]}/").discover(timeout=0.3)
            over.set()
            thread.join()

    def test_unreachable_names_the_url_without_its_secrets(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with self.assertRaises(Unreachable) as caught:
            Client(f"http://ada:secret@127.0.0.1:{port}/mcp").discover()
        self.assertIn(f"cannot reach http://127.0.0.1:{port}/mcp", str(caught.exception))
        self.assertNotIn("secret", str(caught.exception))
        self.assertIsNone(caught.exception.__cause__)

    def test_a_server_that_hangs_up(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = threading.Thread(target=lambda: listening.accept()[0].close())
            thread.start()
            with self.assertRaisesRegex(TransportError, "broke off") as caught:
                Client(f"http://127.0.0.1:{listening.getsockname()[1]}/").discover(timeout=5)
            self.assertNotIsInstance(caught.exception, Unreachable)
            thread.join()

    @proves("C087")
    def test_redirects(self) -> None:
        with Stub(said()) as other:
            for status, target in ((302, "/there"), (301, "/there"), (303, "/there"), (307, f"{other.url}?x"),
                                   (308, f"{other.url}?x")):
                made = self.refused(raw(status, b"", Location=target), HTTPError, "redirected to http://127.0.0.1:")
                self.assertEqual(made.status, status)
            self.refused(raw(307, b"", Location="javascript:1"), HTTPError)
            self.assertEqual(other.seen, [], "nothing may be sent to another origin")
        with self.talk(raw(307, b"", Location="/there"), said()) as (stub, client):
            client.call_tool("t")
            self.assertEqual([(seen.method, seen.path) for seen in stub.seen], [("POST", "/mcp"), ("POST", "/there")])
            self.assertEqual(stub.seen[0].body, stub.seen[1].body)
        self.refused(raw(308, b"", Location="/mcp"), TransportError, "redirects more than")

    @proves("C090")
    def test_proxies_are_honoured_but_never_for_loopback(self) -> None:
        with Stub(said()) as proxy:
            settings = {"http_proxy": f"http://{proxy.place}", "no_proxy": ""}
            with mock.patch.dict(os.environ, settings), mock.patch("socket.socket.connect", side_effect=OSError("no")):
                for place in ("127.0.0.1", "localhost", "[::1]", "127.9.9.9"):
                    with self.assertRaises(Unreachable):
                        Client(f"http://{place}:1/mcp", era="modern").call_tool("t")
            self.assertEqual(proxy.seen, [])
            settings["no_proxy"] = "direct.test"
            with mock.patch.dict(os.environ, settings):
                Client("http://server.test/mcp", era="modern").call_tool("t")
                self.assertEqual(proxy.seen[0].path, "http://server.test/mcp")
                with self.assertRaises(Unreachable), mock.patch("socket.getaddrinfo", side_effect=OSError("no name")):
                    Client("http://direct.test/mcp", era="modern").call_tool("t")
                with Stub(said()) as stub:
                    for host in ("127.0.0.1", "localhost"):
                        Client(stub.url.replace("127.0.0.1", host), era="modern").call_tool("t")
                    self.assertEqual([seen.path for seen in stub.seen], ["/mcp", "/mcp"])
            self.assertEqual(len(proxy.seen), 1)

    def test_the_wire_hook_sees_all_but_secrets(self) -> None:
        seen: List[Tuple[str, str]] = []
        with self.talk(said("hi"), headers={"Authorization": "Bearer tok"}, wire=lambda *both: seen.append(both)) as (
                stub, client):
            client.call_tool("t")
        (sent, received), = seen
        self.assertTrue(sent.startswith("POST /mcp HTTP/1.1\r\n"), sent)
        for line in (f"Host: {stub.place}", "Content-Length: ", "Mcp-Name: t", "Authorization: …"):
            self.assertIn("\r\n" + line, sent)
        self.assertTrue(sent.encode().endswith(b"\r\n\r\n" + stub.seen[0].body))
        self.assertNotIn("tok", sent)
        self.assertEqual(stub.seen[0].header("Authorization"), "Bearer tok")
        self.assertRegex(received, r"(?s)^HTTP/1.0 200 OK\r\n.*\r\n\r\n\{.*\}$")

    def test_secrets_are_found_behind_interim_answers_and_in_linear_time(self) -> None:
        text = ("HTTP/1.1 103 Early Hints\r\nX-Token: a1\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: a2\r\n\r\n"
                "token: b\r\n\r\n")
        shown = text.replace("a1", "…").replace("a2", "…")
        self.assertEqual(_without_secrets(bytearray(text, "ascii")), shown)
        began = time.process_time()
        for line in ("token" * 100_000, "a" * 500_000, "HTTP/1.1 103\r\n" * 30_000):
            self.assertEqual(_without_secrets(bytearray(line, "ascii")), line)
        self.assertLess(time.process_time() - began, 10.0)  # each looked at from each place takes minutes

    def test_user_and_password_of_the_url_become_authorization(self) -> None:
        with Stub(said()) as stub:
            client = Client(stub.url.replace("http://", "http://ada:p%40ss@"), era="modern")
            client.call_tool("t")
            self.assertEqual(client.url, stub.url)
        self.assertEqual(stub.seen[0].header("Authorization"), "Basic YWRhOnBAc3M=")

    def test_a_closed_client_sends_nothing(self) -> None:
        with self.talk(said()) as (stub, client):
            client.close()
            with self.assertRaisesRegex(TransportError, "closed"):
                client.call_tool("t")
            self.assertEqual(stub.seen, [])


if __name__ == "__main__":
    unittest.main()
