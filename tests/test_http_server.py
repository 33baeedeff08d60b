"""The HTTP binding on the wire: framing, limits, keep-alive, streams, and clients that go away."""

import json
import logging
import select
import socket
import threading
import unittest

from mcp_ref import Client, HTTPError, ResourceServer, Server, static_tokens
from mcp_ref.transports import sse
from mcp_ref.transports.http_server import HTTPServer, Limits

from .support import RawClient, at_some_pace, events, message, proves, until


def make():
    server = Server("wire", "1", logging=True)

    @server.tool
    def echo(ctx, text: str = "") -> str:
        return text

    @server.tool
    def steps(ctx, fail: bool = False) -> str:
        for value in (1, 2, 2, 3):
            ctx.progress(value, total=3)
        if fail:
            raise RuntimeError("secret")
        return "done"

    return server


class Wire(unittest.TestCase):
    limits = dict(connections=8, idle=60.0, arrive=60.0, grace=10.0)

    def setUp(self):
        self.mcp = make()
        self.http = HTTPServer(self.mcp, port=0, limits=Limits(**self.limits)).start()
        self.addCleanup(self.http.stop)

    def client(self, timeout=60.0):
        made = RawClient(self.http.url, timeout)
        self.addCleanup(made.socket.close)
        return made

    def assert_alive(self, client=None):
        client = client or self.client()
        client.request(message("server/discover"))
        self.assertEqual(client.response().status, 200)


@proves("C094")
class Framing(Wire):
    BODY = message("tools/call", {"name": "echo", "arguments": {"text": "hi"}})

    @proves("HTTP-01")
    def test_keep_alive_and_pipelining(self):
        client = self.client()
        client.send(client.octets(self.BODY) * 3)
        for _ in range(3):
            reply = client.response()
            self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/json"))
            self.assertEqual(reply.json["result"]["content"][0]["text"], "hi")
            self.assertNotIn("connection", reply.headers)
            self.assertNotIn("mcp-session-id", reply.headers)

    def test_one_octet_at_a_time(self):
        client = self.client()
        for octet in client.octets(self.BODY):
            client.send(bytes([octet]))
        self.assertEqual(client.response().status, 200)

    @proves("HTTP-74", "C014")
    def test_white_space_and_case_of_field_names(self):
        raw = json.dumps(self.BODY).encode()
        client = self.client()
        client.send(b"POST /mcp HTTP/1.1\r\nHOST:localhost\r\ncontent-TYPE: application/json\r\naccept:*/*\r\n"
                    b"mcp-method:tools/call\r\nMCP-NAME: \t echo \t\r\nmcp-protocol-version:  2026-07-28 \r\n"
                    b"Mcp-Session-Id: x\r\nLast-Event-ID: 7\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw)
        self.assertEqual(client.response().status, 200)

    def test_absolute_target(self):
        client = self.client()
        client.send(client.octets(self.BODY).replace(b"POST /mcp", b"POST http://localhost/mcp"))
        self.assertEqual(client.response().status, 200)
        client.send(client.octets(self.BODY).replace(b"POST /mcp", b"POST http://evil.example/mcp"))
        self.assertEqual(client.response().status, 403)

    def test_chunked_body(self):
        raw = json.dumps(self.BODY).encode()
        client = self.client()
        octets = client.octets(self.BODY, content_length=None, transfer_encoding="chunked")[: -len(raw)]
        chunks = b"".join(b"%X;ext=1\r\n%s\r\n" % (len(raw[i:i + 7]), raw[i:i + 7]) for i in range(0, len(raw), 7))
        client.send(octets + chunks + b"0\r\nTrailer: x\r\n\r\n")
        self.assertEqual(client.response().status, 200)
        self.assert_alive(client)

    def test_malformed_chunks(self):
        for chunks in (b"zz\r\n", b"-1\r\n", b"5\r\nabcdefg\r\n", b"\r\n", b"0x5\r\nabcde\r\n", b"FFFFFFFFF\r\n",
                       b"5" + b" " * 2000):
            client = self.client()
            client.send(client.octets(b"", content_length=None, transfer_encoding="chunked") + chunks)
            reply = client.response()
            self.assertEqual((reply.status, reply.headers.get("connection")), (400, "close"), chunks[:20])
            self.assertTrue(client.closed())

    def test_a_chunked_body_over_the_limit(self):
        self.http.endpoint.max_body = 100_000
        client = self.client()
        client.send(client.octets(b"", content_length=None, transfer_encoding="chunked"))
        try:
            for _ in range(40):
                client.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        except ConnectionError:
            pass
        self.assertEqual(client.response().status, 413)

    def test_bad_lengths_are_answered_and_the_connection_closed(self):
        for fields, status in (({"content_length": "-1"}, 400), ({"content_length": "abc"}, 400),
                               ({"content_length": "5, 6"}, 400), ({"content_length": "+5"}, 400),
                               ({"content_length": ""}, 400), ({"content_length": "99999999"}, 413),
                               ({"content_length": "5", "transfer_encoding": "chunked"}, 400),
                               ({"content_length": None, "transfer_encoding": "gzip, chunked"}, 400)):
            client = self.client()
            client.send(client.octets(b"hello", **fields))
            reply = client.response()
            self.assertEqual((reply.status, reply.headers.get("connection")), (status, "close"), fields)
            self.assertTrue(client.closed())

    def test_two_content_lengths(self):
        client = self.client()
        client.send(client.octets(b"hello").replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n"))
        self.assertEqual(client.response().status, 400)
        self.assertTrue(client.closed())

    def test_no_length(self):
        client = self.client()
        client.send(client.octets(b"", content_length=None))
        self.assertEqual(client.response().status, 411)
        self.assert_alive(client)

    def test_a_body_that_ends_early(self):
        client = self.client()
        client.send(client.octets(self.BODY, content_length="5000"))
        client.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(client.response().status, 400)
        self.assert_alive()

    def test_octets_of_a_refused_body_are_never_a_request(self):
        smuggled = b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n".ljust(300, b" ")
        for fields, line, status in (({"host": "evil.example"}, b"POST /mcp", 403), ({}, b"POST /x", 404),
                                     ({}, b"PUT /mcp", 405), ({"accept": "text/html"}, b"POST /mcp", 406)):
            client = self.client()
            client.send(client.octets(smuggled, **fields).replace(b"POST /mcp", line) + client.octets(self.BODY))
            self.assertEqual(client.response().status, status)
            self.assertEqual(client.response().status, 200)

    def test_malformed_heads(self):
        for raw in (b"\x00\x01\r\n\r\n", b"POST /mcp\r\n\r\n", b"POST /mcp HTTP/2.0\r\n\r\n",
                    b"POST  /mcp HTTP/1.1\r\n\r\n", b"POST /m cp HTTP/1.1\r\n\r\n",
                    b"POST /mcp HTTP/1.1\r\nNo colon\r\n\r\n",
                    b"POST /mcp HTTP/1.1\r\nHost : x\r\n\r\n", b"POST /mcp HTTP/1.1\r\n: x\r\n\r\n",
                    b"POST /mcp HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", b"POST /mcp HTTP/1.1\r\nA: b\x00\r\n\r\n",
                    b"POST /mcp HTTP/1.1\r\nA: b\nC: d\r\n\r\n", b"POST /mcp HTTP/1.1\rHost: x\r\n\r\n"):
            client = self.client()
            client.send(raw)
            reply = client.response()
            self.assertEqual((reply.status, reply.headers["connection"]), (400, "close"), raw)
            client.socket.close()

    def test_what_begins_like_no_head_is_refused_at_once(self):
        for raw in (b"\x16\x03\x01\x02\x00\x01", b"\x00", b" POST"):
            client = self.client()
            client.send(raw)
            client.socket.settimeout(self.limits["arrive"] / 2)
            self.assertEqual(client.response().status, 400)

    def test_a_head_too_large(self):
        for extra in (b"A: " + b"x" * 40000, b"\r\n".join(b"A%d: x" % i for i in range(200))):
            client = self.client()
            client.send(b"POST /mcp HTTP/1.1\r\n" + extra + b"\r\n\r\n")
            self.assertEqual(client.response().status, 431)

    @proves("C008")
    def test_the_socket_sees_a_repeated_mirror(self):
        for name in ("Mcp-Method: tools/list", "Mcp-Name: drop", "MCP-Protocol-Version: 2025-11-25"):
            client = self.client()
            client.send(client.octets(self.BODY).replace(b"\r\n\r\n", f"\r\n{name}\r\n\r\n".encode(), 1))
            reply = client.response()
            self.assertEqual((reply.status, reply.json["error"]["code"], reply.json["id"]), (400, -32020, 1))

    @proves("C092")
    def test_two_hosts(self):
        client = self.client()
        client.send(client.octets(self.BODY).replace(b"\r\n\r\n", b"\r\nHost: localhost\r\n\r\n", 1))
        self.assertEqual(client.response().status, 400)

    def test_expect_100_continue(self):
        client = self.client()
        octets = client.octets(self.BODY, expect="100-continue")
        head, _, body = octets.partition(b"\r\n\r\n")
        client.send(head + b"\r\n\r\n")
        self.assertEqual(client.head().status, 100)
        client.send(body)
        self.assertEqual(client.response().status, 200)
        client.send(head.replace(b"/mcp", b"/other") + b"\r\n\r\n")
        reply = client.response()
        self.assertEqual((reply.status, reply.headers["connection"]), (404, "close"))

    def test_http_1_0_and_connection_close(self):
        for octets in (self.client().octets(self.BODY).replace(b"HTTP/1.1", b"HTTP/1.0"),
                       self.client().octets(self.BODY, connection="close")):
            client = self.client()
            client.send(octets)
            reply = client.response()
            self.assertEqual((reply.status, reply.headers["connection"]), (200, "close"))
            self.assertTrue(client.closed())

    @proves("TRANS-02", "HTTP-12", "C097")
    def test_a_notification_has_no_body(self):
        client = self.client()
        client.request({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        reply = client.response()
        self.assertEqual((reply.status, reply.body), (202, b""))
        self.assert_alive(client)


class Refusals(Wire):
    """What is refused by the head alone is answered before the body has come."""

    REFUSED = [({}, b"POST /other", 404), ({}, b"PUT /mcp", 405), ({}, b"GET /mcp", 405),
               ({"host": "evil.example"}, b"POST /mcp", 403), ({"origin": "https://evil.example"}, b"POST /mcp", 403),
               ({"accept": "text/html"}, b"POST /mcp", 406), ({"content_type": "text/plain"}, b"POST /mcp", 415)]

    def head_and_body(self, client, line, **fields):
        head, _, body = client.octets(Framing.BODY, **fields).replace(b"POST /mcp", line).partition(b"\r\n\r\n")
        return head + b"\r\n\r\n", body

    def test_a_refusal_does_not_wait_for_the_body(self):
        for fields, line, status in self.REFUSED:
            client = self.client(timeout=self.limits["arrive"] / 2)
            head, body = self.head_and_body(client, line, **fields)
            client.send(head)
            reply = client.response()
            self.assertEqual((reply.status, reply.headers.get("connection")), (status, None), line)
            client.send(body[:9])
            client.send(body[9:] + client.octets(Framing.BODY) * 2)
            self.assertEqual([client.response().status for _ in range(2)], [200, 200], line)

    def test_nor_does_one_for_want_of_a_token(self):
        self.mcp.state.auth = ResourceServer(static_tokens({"good": {"sub": "a"}}), "http://localhost/mcp",
                                       ["https://as.example"])
        client = self.client(timeout=self.limits["arrive"] / 2)
        head, body = self.head_and_body(client, b"POST /mcp")
        client.send(head)
        self.assertEqual(client.response().status, 401)
        client.send(body + client.octets(Framing.BODY, authorization="Bearer good"))
        self.assertEqual(client.response().status, 200)

    def test_a_body_that_never_comes_does_not_hold_the_connection(self):
        self.http.limits.arrive = 0.2
        client = self.client()
        client.send(self.head_and_body(client, b"POST /other")[0])
        self.assertEqual(client.response().status, 404)
        self.assertTrue(client.closed())

    def test_a_body_that_is_not_read_away_closes_the_connection(self):
        for fields in ({"expect": "100-continue"}, {"content_length": "70000"},
                       {"content_length": None, "transfer_encoding": "chunked"}):
            client = self.client(timeout=self.limits["arrive"] / 2)
            client.send(self.head_and_body(client, b"POST /other", **fields)[0])
            reply = client.response()
            self.assertEqual((reply.status, reply.headers.get("connection")), (404, "close"), fields)
            self.assertTrue(client.closed())

    def test_the_413_reaches_who_is_still_sending(self):
        size = 3 * self.http.endpoint.max_body
        for fields, octets in (({"content_length": str(size)}, b"x" * size),
                               ({"content_length": None, "transfer_encoding": "chunked"},
                                b"10000\r\n" + b"x" * 65536 + b"\r\n" + b"ffffff\r\n" + b"x" * size)):
            client = self.client()
            client.send(client.octets(b"", **fields))
            client.send(octets)  # which would break if the server hung up
            reply = client.response()
            self.assertEqual((reply.status, reply.headers["connection"]), (413, "close"))
            self.assertTrue(client.closed())

    def test_our_client_hears_it(self):
        with Client(self.http.url) as client:
            for _ in range(3):
                with self.assertRaises(HTTPError) as caught:
                    client.call_tool("echo", {"text": "x" * 30_000_000})
                self.assertEqual(caught.exception.status, 413)
                self.assertIn("octets", caught.exception.body)
        self.assert_alive()


class Bounds(unittest.TestCase):
    def test_the_largest_body(self):
        body = message("tools/call", {"name": "echo", "arguments": {"text": "x"}})
        size = len(json.dumps(body))
        for limit, status in ((size, 200), (size - 1, 413)):
            with HTTPServer(make(), port=0, limits=Limits(max_body=limit)) as http, RawClient(http.url) as client:
                client.request(body)
                reply = client.response()
                self.assertEqual(reply.status, status)
                octets = client.octets(body, content_length=None, transfer_encoding="chunked")
                client.send(octets[:-size] + b"%x\r\n" % size + octets[-size:] + b"\r\n0\r\n\r\n")
                self.assertEqual(client.response().status, status)
        self.assertIn(str(limit), reply.json["detail"])

    def test_what_is_no_bound(self):
        for limit in (0, -1, 1.5, True, "4", None):
            with self.assertRaisesRegex(ValueError, "max_body"):
                HTTPServer(make(), port=0, limits=Limits(max_body=limit))


class Health(Wire):
    def setUp(self):
        self.mcp = make()
        self.mcp.state.auth = ResourceServer(static_tokens({"good": {"sub": "a"}}), "http://localhost/mcp",
                                       ["https://as.example"])
        self.http = HTTPServer(self.mcp, port=0, health="/live").start()
        self.addCleanup(self.http.stop)

    def ask(self, line, *fields):
        client = self.client()
        client.send("\r\n".join((line, *fields, "", "")).encode())
        return client.head() if line.startswith("HEAD") else client.response()

    def test_it_answers_anybody(self):
        for fields in (["Host: localhost"], ["Host: 10.1.2.3:8000"], ["Host: lb.example"], [], ["Host:"],
                       ["Host: localhost", "Origin: http://localhost:3000"], ["Host: x", "Authorization: Bearer bad"]):
            for line in ("GET /live HTTP/1.1", "GET /live?x=1 HTTP/1.1", "HEAD /live HTTP/1.1", "GET /live HTTP/1.0"):
                reply = self.ask(line, *fields)
                self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/json"), fields)
        self.assertEqual(self.ask("GET /live HTTP/1.1", "Host: x").json, {"status": "ok"})

    def test_nothing_else(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            reply = self.ask(f"{method} /live HTTP/1.1", "Host: localhost", "Content-Length: 0")
            self.assertEqual((reply.status, reply.headers["allow"]), (405, "GET, HEAD"))
        self.assertEqual(self.ask("GET /live HTTP/1.1", "Host: x", "Origin: https://evil.example").status, 403)
        self.assertEqual(self.ask("GET /live/ HTTP/1.1", "Host: localhost").status, 404)
        self.assertEqual(self.ask("PUT /mcp HTTP/1.1", "Host: localhost").status, 405)

    def test_the_path(self):
        for path in ("/mcp", "live", "", "/a b", "/live?x"):
            with self.assertRaises(ValueError, msg=path):
                HTTPServer(make(), port=0, health=path)
        with HTTPServer(make(), port=0) as http, RawClient(http.url) as client:
            client.send(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(client.response().status, 404)


@proves("C021", "C041")
class Streams(Wire):
    def steps(self, token, **arguments):
        params = {"name": "steps", "arguments": arguments}
        body = message("tools/call", params, id=3)
        if token is not None:
            body["params"]["_meta"]["progressToken"] = token
        return body

    @proves("HTTP-14", "PROG-03", "C023")
    def test_progress_then_the_response_then_the_end(self):
        for token in ("p", 0, ""):
            client = self.client()
            client.request(self.steps(token))
            reply = client.response()
            self.assertEqual((reply.status, reply.headers["content-type"], reply.headers["x-accel-buffering"],
                              reply.headers["transfer-encoding"]), (200, "text/event-stream", "no", "chunked"))
            *sent, last = events(reply.body)
            self.assertEqual([one["params"]["progress"] for one in sent], [1, 2, 3])
            for one in sent:
                self.assertEqual((one["method"], one["params"]["progressToken"], type(one["params"]["progressToken"])),
                                 ("notifications/progress", token, type(token)))
                self.assertNotIn("id", one)
            self.assertEqual((last["id"], last["result"]["content"][0]["text"]), (3, "done"))
            self.assert_alive(client)

    def test_threads_of_a_handler_do_not_send_into_each_other(self):
        @self.mcp.tool
        def crowd(ctx) -> str:
            ready = threading.Barrier(4)

            def shout(name):
                ready.wait(5)
                ctx.log("error", name * 2_000_000)

            threads = [threading.Thread(target=shout, args=(name,)) for name in "abcd"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            return "done"

        client = self.client()
        body = message("tools/call", {"name": "crowd"})
        body["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = "error"
        client.request(body)
        *logged, result = events(client.response().body)
        self.assertEqual(sorted(one["params"]["data"][::1_999_999] for one in logged), ["aa", "bb", "cc", "dd"])
        self.assertEqual(result["result"]["content"][0]["text"], "done")
        self.assert_alive(client)

    @proves("HTTP-14")
    def test_without_a_token_there_is_no_stream(self):
        client = self.client()
        client.request(self.steps(None))
        self.assertEqual(client.response().headers["content-type"], "application/json")

    def test_an_error_after_the_stream_is_open_is_its_last_message(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        client = self.client()
        client.request(self.steps("p", fail=True))
        reply = client.response()
        last = events(reply.body)[-1]
        self.assertTrue(last["result"]["isError"])
        self.assertNotIn("secret", reply.body.decode())

    def test_http_1_0_gets_a_stream_that_ends_with_the_connection(self):
        client = self.client()
        client.send(client.octets(self.steps("p")).replace(b"HTTP/1.1", b"HTTP/1.0"))
        self.assertNotIn("transfer-encoding", client.head().headers)
        while client.more():
            pass
        self.assertEqual(len(events(client.buffer)), 4)


class KeptAlive(unittest.TestCase):
    """An event stream of a call whose handler is silent."""

    def setUp(self):
        self.mcp, self.release, self.gone = Server("wire", "1"), threading.Event(), threading.Event()
        self.addCleanup(self.release.set)

        @self.mcp.tool
        def wait(ctx, steps: int = 1) -> str:
            for step in range(steps):
                ctx.progress(step)
            while not ctx.cancelled:
                if self.release.wait(0.01):
                    return "done"
            self.gone.set()
            return "never sent"

        self.http = HTTPServer(self.mcp, port=0, keep_alive=0.3).start()
        self.addCleanup(self.http.stop)
        self.client = RawClient(self.http.url)
        self.addCleanup(self.client.socket.close)

    def request(self, **arguments):
        body = message("tools/call", {"name": "wait", "arguments": arguments}, id=7)
        body["params"]["_meta"]["progressToken"] = 1
        return body

    def test_comments_come_and_the_stream_stays_whole(self):
        for version in (b"HTTP/1.1", b"HTTP/1.0"):
            octets = self.client.octets(self.request()).replace(b"HTTP/1.1", version)
            self.release.clear()
            client = RawClient(self.http.url)
            self.addCleanup(client.socket.close)
            client.send(octets)
            chunked = client.head().headers.get("transfer-encoding") == "chunked"
            while client.buffer.count(sse.KEEP_ALIVE) < 3:
                self.assertTrue(client.more())
            self.release.set()
            if chunked:
                body = b"".join(iter(client.chunk, b""))
                client.request(message("server/discover"))
                self.assertEqual(client.response().status, 200)
            else:
                while client.more():
                    pass
                body = client.buffer
            sent, last = events(body)
            self.assertEqual((sent["method"], last["id"], last["result"]["content"][0]["text"]),
                             ("notifications/progress", 7, "done"))

    def test_not_before_the_stream_is_open_nor_while_the_handler_speaks(self):
        client = self.client
        client.request(self.request(steps=0))
        self.assertEqual(select.select([client.socket], [], [], 0.7)[0], [])
        self.release.set()
        self.assertEqual(client.response().headers["content-type"], "application/json")

    def test_a_reader_that_stalls_holds_up_nobody_else(self):
        @self.mcp.tool
        def flood(ctx) -> str:
            ctx.log("error", "x" * 200_000)
            while not ctx.cancelled and not self.release.wait(0.01):
                pass
            return "done"

        body = message("tools/call", {"name": "flood"})
        body["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = "error"
        stalled = RawClient(self.http.url)
        self.addCleanup(stalled.socket.close)
        stalled.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.request(body)
        self.client.request(self.request())
        self.client.head()
        while self.client.buffer.count(sse.KEEP_ALIVE) < 3:
            self.assertTrue(self.client.more())


@proves("C098")
class Leaving(Wire):
    def setUp(self):
        super().setUp()
        self.started, self.noticed, self.release = threading.Event(), threading.Event(), threading.Event()
        self.addCleanup(self.release.set)

        @self.mcp.tool
        def hold(ctx, report: bool = False) -> str:
            self.started.set()
            while not ctx.cancelled:
                if report:
                    ctx.progress(0)
                if self.release.wait(0.01):
                    return "released"
            self.noticed.set()
            ctx.check_cancelled()
            return "never sent"

    @proves("HTTP-20", "CANC-04")
    def test_a_client_that_goes_away_cancels_its_request(self):
        for report in (False, True):
            self.started.clear(), self.noticed.clear()
            body = message("tools/call", {"name": "hold", "arguments": {"report": report}})
            body["params"]["_meta"]["progressToken"] = 1
            client = self.client()
            client.request(body)
            self.assertTrue(self.started.wait(60))
            client.socket.close()
            self.assertTrue(self.noticed.wait(60), f"report={report}")
        self.assert_alive()

    @proves("CANC-19")
    def test_resets_leave_no_trace(self):
        records = []
        watch = logging.Handler()
        watch.emit = records.append
        logging.getLogger("mcp_ref").addHandler(watch)
        self.addCleanup(logging.getLogger("mcp_ref").removeHandler, watch)
        for cut in (0, 10, 100, 400):
            client = self.client()
            client.send(client.octets(Framing.BODY)[:cut] if cut else b"")
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            client.socket.close()
        while self.http.open:
            threading.Event().wait(0.01)
        self.assertEqual(records, [])
        self.assert_alive()

    def test_stopping_finishes_what_is_under_way(self):
        client = self.client()
        client.request(message("tools/call", {"name": "hold"}))
        idle = self.client()
        self.assertTrue(self.started.wait(60))
        stopping = threading.Thread(target=self.http.stop)
        stopping.start()
        self.release.set()
        reply = client.response()
        self.assertEqual((reply.json["result"]["content"][0]["text"], reply.headers["connection"]),
                         ("released", "close"))
        self.assertTrue(idle.closed())
        stopping.join(60)
        self.assertFalse(stopping.is_alive())
        with self.assertRaises(OSError):
            RawClient(self.http.url)

    def test_stopping_cancels_what_does_not_end(self):
        self.http.limits.grace = 0.05
        client = self.client()
        client.request(message("tools/call", {"name": "hold"}))
        self.assertTrue(self.started.wait(60))
        self.http.stop()
        self.assertTrue(self.noticed.wait(60))


class Slow(Wire):
    limits = dict(connections=4, idle=0.3, arrive=0.3, grace=1.0)

    def assert_alive(self, client=None):
        if client is None:
            self.http.limits.idle = self.http.limits.arrive = 60.0
        super().assert_alive(client)

    def test_a_request_that_does_not_arrive(self):
        octets = self.client().octets(Framing.BODY)
        for cut in (20, len(octets) - 5):
            client = self.client()
            client.send(octets[:cut])
            reply = client.response()
            self.assertEqual((reply.status, reply.headers["connection"]), (408, "close"))

    def test_a_drip_is_not_an_arrival(self):
        client = self.client()
        stop = threading.Event()

        def drip():
            try:
                client.send(b"POST /mcp HTTP/1.1\r\nX: ")
                while not stop.wait(0.05):
                    client.send(b"x")
            except OSError:
                pass

        thread = threading.Thread(target=drip)
        thread.start()
        self.assertEqual(client.response().status, 408)
        stop.set()
        thread.join()

    def test_an_idle_connection_is_closed(self):
        def attempt(seconds):
            self.http.limits.idle = self.http.limits.arrive = seconds
            client = self.client()
            self.assert_alive(client)
            self.assertTrue(client.closed())

        at_some_pace(attempt, 0.3)

    def test_a_client_that_does_not_read_its_answer(self):
        self.http.limits.write = 0.2
        client = self.client()
        body = message("tools/call", {"name": "echo", "arguments": {"text": "x" * 3_000_000}})
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(8):
            try:
                client.request(body)
            except OSError:
                break
        until(lambda: not self.http.open)
        self.assert_alive()

    def test_the_longest_idle_gives_way(self):
        self.http.limits.idle = 10.0
        held = [self.client() for _ in range(4)]
        for client in held[1:] + held[:1]:
            self.assert_alive(client)
        self.assert_alive()
        self.assertTrue(held[1].closed())
        for client in held[2:] + held[:1]:
            self.assert_alive(client)

    @proves("C098")
    def test_more_connections_than_allowed(self):
        begun, release = threading.Semaphore(0), threading.Event()
        self.addCleanup(release.set)

        @self.mcp.tool
        def hold() -> str:
            begun.release()
            release.wait(30)
            return ""

        held = [self.client() for _ in range(4)]
        for client in held:
            client.request(message("tools/call", {"name": "hold"}))
            self.assertTrue(begun.acquire(timeout=30))
        reply = self.client().response()
        self.assertEqual((reply.status, reply.headers["retry-after"]), (503, "1"))
        release.set()
        for client in held:
            self.assertEqual(client.response().status, 200)
            self.assert_alive(client)


if __name__ == "__main__":
    unittest.main()
