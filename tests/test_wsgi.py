"""The WSGI application: the same ladder and the same answers below another server, held by wsgiref.validate."""

import io
import json
import socketserver
import threading
import time
import unittest
import wsgiref.simple_server
import wsgiref.util
import wsgiref.validate

from mcp_ref import Client, ProtocolError, ResourceServer, Server, static_tokens
from mcp_ref.transports.wsgi import QUEUED, WSGIApp

from .support import RawClient, accept, asking, echo_server, events, full_server, headers, message, post, proves


class Got:
    """What a WSGI server is given, by way of the validator. pieces: of the body, taken one by one with `take`."""

    def __init__(self, app, body, method="POST", path="/mcp", script="", query="", length=True, environ=(), **more):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        shape = body if isinstance(body, dict) else {"method": "tools/list"}
        made = {"REQUEST_METHOD": method, "SCRIPT_NAME": script, "PATH_INFO": path, "QUERY_STRING": query,
                "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.input": io.BytesIO(raw)}
        for name, value in headers(shape, **more).items():
            made["HTTP_" + name.upper().replace("-", "_")] = value
        made["CONTENT_TYPE"] = made.pop("HTTP_CONTENT_TYPE", "")
        if length:
            made["CONTENT_LENGTH"] = str(len(raw) if length is True else length)
        made.update(environ)
        host = made.get("HTTP_HOST")
        wsgiref.util.setup_testing_defaults(made)
        if host is None:
            del made["HTTP_HOST"]
        made["wsgi.multithread"] = dict(environ).get("wsgi.multithread", True)
        self.iterable = wsgiref.validate.validator(app)(made, self._start)
        self._pieces = iter(self.iterable)
        if self.headers.get("content-type") != "text/event-stream":
            self._pieces = iter([self.read()])  # a validator wants every body to be read and closed

    def _start(self, status, fields, exc_info=None):
        self.status, self.headers = int(status.split()[0]), {name.lower(): value for name, value in fields}

    def take(self):
        return next(self._pieces)

    def close(self):
        self.iterable.close()

    def read(self):
        """The rest of the body, and the end."""
        try:
            return b"".join(self._pieces)
        finally:
            self.close()

    @property
    def json(self):
        return json.loads(self.read())


def get(app, path, method="GET", **more):
    return Got(app, b"", method, path, length=None, content_type="", accept=None, **more)


class Answers(unittest.TestCase):
    def setUp(self):
        self.server = full_server()
        self.app = self.server.wsgi_app(health="/health")

    def test_the_answers_are_those_of_the_core_to_the_octet(self):
        """Every rung but the server's own: the same status and body, and the fields of its own."""
        for body, changed in (
                (message("server/discover"), {}), (message("tools/list"), {}), (message("tools/call"), {}),
                (message("tools/call", {"name": "echo", "arguments": {"text": "é"}}), {}),
                (message("tools/call", {"name": "broken"}), {}), (message("none"), {}),
                ({"jsonrpc": "2.0", "method": "notifications/x"}, {}), (b"{", {}), (b"[]", {}),
                (message("tools/list"), {"host": None}), (message("tools/list"), {"host": "evil.example"}),
                (message("tools/list"), {"origin": "https://evil.example"}), (message("tools/list"), {"accept": "a/b"}),
                (message("tools/list"), {"content_type": "text/plain"}), (message("tools/list"), {"mcp_method": "x"}),
                (message("tools/list"), {"mcp_protocol_version": None}),
                (message("tools/list"), {"mcp_protocol_version": "1999-01-01"}),
                (message("tools/list", {"_meta": {}}), {})):
            wanted = post(self.server, body, changed)
            got = Got(self.app, body, **changed)
            data = got.read()
            self.assertEqual((got.status, json.loads(data) if data else None), (wanted.status, wanted.body), changed)
            self.assertEqual(got.headers["content-length"], str(len(data)))

    def test_other_paths_and_methods(self):
        self.assertEqual(get(self.app, "/other").status, 404)
        self.assertIn("the MCP endpoint of this server is /mcp", get(self.app, "/other").read().decode())
        for method in ("GET", "DELETE", "PUT"):
            got = get(self.app, "/mcp", method)
            self.assertEqual((got.status, got.headers["allow"]), (405, "POST"))
        self.assertEqual(Got(self.app, message("tools/list"), query="a=1").status, 200)
        self.assertEqual(Got(self.app, message("tools/list"), path="/m%63p").status, 404)
        self.assertEqual(Got(self.app, message("tools/list"), path="/\xff\xfe").status, 404)

    def test_health_and_preflight_and_cors(self):
        self.assertEqual(get(self.app, "/health", host="evil.example").json, {"status": "ok"})
        head = get(self.app, "/health", "HEAD")
        self.assertEqual((head.status, head.read()), (200, b""))
        app = self.server.wsgi_app(cors=["https://app.example"])
        asked = get(app, "/mcp", "OPTIONS", origin="https://app.example", access_control_request_method="POST",
                    access_control_request_headers="mcp-method")
        self.assertEqual((asked.status, asked.headers["access-control-allow-headers"], asked.read()),
                         (204, "mcp-method", b""))
        got = Got(app, message("tools/list"), origin="https://app.example")
        self.assertEqual((got.status, got.headers["access-control-allow-origin"]), (200, "https://app.example"))

    def test_where_it_is_reached(self):
        self.assertEqual(Got(self.app, message("tools/list"), host="app.example").status, 403)
        app = self.server.wsgi_app(origins=["https://app.example"])
        self.assertEqual(Got(app, message("tools/list"), host="app.example").status, 200)
        self.assertEqual(Got(app, message("tools/list"), host="app.example,app.example").status, 403)
        for wrong in ({"path": "mcp"}, {"origins": ["x"]}, {"keep_alive": 0}, {"max_body": 0}, {"health": "/mcp"}):
            with self.assertRaises(ValueError):
                self.server.wsgi_app(**wrong)

    def test_mounted_anywhere(self):
        whole = self.server.wsgi_app(path="/", health="/up")
        for app, script, path, status in (
                (self.app, "/api", "/mcp", 200), (self.app, "/api/", "/mcp", 404), (self.app, "/mcp", "", 404),
                (self.app, "/api", "/", 404), (whole, "/mcp", "", 200), (whole, "/mcp", "/", 200),
                (whole, "", "/", 200), (whole, "/a b", "", 200), (whole, "/mcp", "/x", 404)):
            got = Got(app, message("tools/list"), path=path, script=script.rstrip("/"))
            self.assertEqual(got.status, 200 if script == "/api/" else status, (script, path))
        self.assertEqual(get(whole, "/up", script="/mcp").status, 200)
        self.assertIn("is /api/mcp", get(self.app, "/x", script="/api").read().decode())

    def test_authorization_and_its_page(self):
        auth = ResourceServer(static_tokens({"s3cret": {"sub": "a"}}), resource="https://app.example/api/mcp",
                              authorization_servers=["https://as.example"])
        app = Server("s", "1", auth=auth).wsgi_app()
        got = Got(app, message("server/discover"), script="/api", host="app.example")
        self.assertEqual(got.status, 401)
        self.assertIn("resource_metadata", got.headers["www-authenticate"])
        for token, status in (("Bearer s3cret", 200), ("Bearer s3cret,Bearer s3cret", 401)):
            self.assertEqual(Got(app, message("server/discover"), script="/api", host="app.example",
                                 authorization=token).status, status)
        page = get(app, "/api/mcp", script="/.well-known/oauth-protected-resource", host="app.example")
        self.assertEqual(page.json["resource"], "https://app.example/api/mcp")

    def test_a_repeated_mirror_joined_by_the_server_is_refused(self):
        for name, value in (("mcp_method", "tools/list,tools/list"),
                            ("mcp_protocol_version", "2026-07-28, 2026-07-28")):
            got = Got(self.app, message("tools/list"), **{name: value})
            self.assertEqual((got.status, got.json["error"]["code"] in (-32020, -32022)), (400, True), name)


class Bodies(unittest.TestCase):
    def setUp(self):
        self.app = echo_server().wsgi_app(max_body=1000)

    def test_lengths(self):
        good = message("tools/list")
        for length, status in (("", 411), ("1001", 413), ("900", 400), ("9" * 30, 413)):
            self.assertEqual(Got(self.app, good, length=length).status, status, length)
        self.assertEqual(Got(self.app, good, transfer_encoding="chunked").status, 400, "with a length beside it")

    def test_chunks_that_the_server_has_undone(self):
        for terminated, body, status in (({"wsgi.input_terminated": True}, message("tools/list"), 200),
                                         ({"wsgi.input_terminated": True}, b" " * 1000, 400),
                                         ({"wsgi.input_terminated": True}, b" " * 1001, 413),
                                         ({}, message("tools/list"), 411)):
            got = Got(self.app, body, length=None, transfer_encoding="chunked", environ=terminated)
            self.assertEqual(got.status, status, (terminated, len(body)))

    def test_a_body_that_cannot_be_read(self):
        class Broken(io.BytesIO):
            def read(self, size=-1):
                raise RuntimeError("not chunks")

        got = Got(self.app, message("tools/list"), environ={"wsgi.input": Broken()})
        self.assertEqual(got.status, 400)

    def test_a_refusal_of_the_head_reads_nothing(self):
        source = io.BytesIO(b"{}")
        self.assertEqual(Got(self.app, b"{}", host="evil.example", environ={"wsgi.input": source}).status, 403)
        self.assertEqual(source.tell(), 0)


class Streams(unittest.TestCase):
    def setUp(self):
        self.server = full_server()
        self.app = WSGIApp(self.server, keep_alive=0.05)
        self.here, self.ran, self.ended = threading.Event(), [], threading.Event()

        @self.server.tool
        def steps(ctx, count: int = 1, tell: bool = True) -> str:
            self.ran.append(threading.current_thread())
            try:
                for step in range(count):
                    if tell:
                        ctx.progress(step + 1, total=step + 1)
                while not self.here.wait(0.01):
                    ctx.check_cancelled()
                return "done"
            finally:
                self.ended.set()

    @proves("HTTP-18")
    def test_notifications_are_an_event_stream_with_comments(self):
        got = Got(self.app, asking("steps", token="t"))
        self.assertEqual((got.status, got.headers["content-type"]), (200, "text/event-stream"))
        self.assertNotIn("content-length", got.headers)
        self.assertEqual(events(got.take())[0]["params"]["progressToken"], "t")
        self.assertEqual(got.take(), b": keep-alive\n\n")
        self.here.set()
        (last,) = events(got.read())
        self.assertEqual(last["result"]["content"][0]["text"], "done")
        self.assertIsNot(self.ran[0], threading.current_thread())

    def test_what_sends_nothing_is_one_answer(self):
        self.here.set()
        for token in (None, "t", "\u00e9"):
            got = Got(self.app, asking("steps", token=token, tell=False))
            self.assertEqual((got.status, got.headers["content-type"]), (200, "application/json"))
            self.assertEqual(got.json["result"]["content"][0]["text"], "done")
        self.assertEqual([thread is threading.current_thread() for thread in self.ran], [True, False, False])

    def test_log_messages_and_a_name_that_is_spelled_with_escapes(self):
        for text in (json.dumps(asking("work", level="info")),
                     json.dumps(asking("work", token=1)).replace("progressT", "progress\\u0054")):
            got = Got(self.app, text.encode(), mcp_method="tools/call", mcp_name="work")
            self.assertEqual(got.headers["content-type"], "text/event-stream")
            self.assertGreater(len(events(got.read())), 1)

    @proves("CANC-04")
    def test_a_client_that_goes_away_cancels(self):
        got = Got(self.app, asking("steps", token="t"))
        got.take()
        self.assertFalse(self.ended.is_set())
        got.close()
        self.assertTrue(self.ended.wait(20))

    def test_a_stream_that_nobody_has_begun_to_read_is_closed_too(self):
        for body in (asking("flood", token="t"), message("subscriptions/listen", {"notifications": {
                "toolsListChanged": True}})):
            over = threading.Event()

            @self.server.tool(name="flood")
            def flood(ctx) -> str:
                try:
                    for step in range(10 * QUEUED):
                        ctx.progress(step + 1, total=step + 1)
                    return ""
                finally:
                    over.set()

            got = Got(self.app, body)
            self.assertFalse(over.wait(0.05), "it waits for room")
            got.close()
            if body["method"] == "tools/call":
                self.assertTrue(over.wait(10))
            self.assertEqual(len(self.server.subscriptions), 0)
            self.server.remove_tool("flood")

    def test_a_subscription(self):
        got = Got(self.app, message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
        self.assertEqual((got.status, got.headers["content-type"]), (200, "text/event-stream"))
        self.assertEqual(events(got.take())[0]["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(got.take(), b": keep-alive\n\n")
        self.server.notify_tools_changed()
        self.assertEqual(events(got.take())[0]["method"], "notifications/tools/list_changed")
        (stream,) = self.server.subscriptions.streams
        stream.end()
        self.assertEqual([event["result"]["resultType"] for event in events(got.read())], ["complete"])
        self.assertEqual(len(self.server.subscriptions), 0)

    def test_a_subscription_ends_with_its_token_and_with_a_reader_too_slow(self):
        auth = ResourceServer(static_tokens({"s": {"sub": "a", "exp": time.time() + 0.3}}),
                              resource="http://127.0.0.1/mcp", authorization_servers=["https://as.example"])
        server = full_server(auth=auth)
        listen = message("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        got = Got(server.wsgi_app(), listen, authorization="Bearer s")
        self.assertIn("result", events(got.read())[-1])
        got = Got(self.app, listen)
        (stream,) = self.server.subscriptions.streams
        got.take()
        with self.server.subscriptions.lock:
            stream.queue(b"x" * 1_000_000)
        self.assertEqual(got.read(), b"")

    def test_one_thread_is_not_given_to_a_stream(self):
        listen = message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=7)
        got = Got(self.app, listen, environ={"wsgi.multithread": False})
        said = got.json
        self.assertEqual((got.status, said["id"], said["error"]["code"]), (503, 7, 1503))
        self.assertEqual(len(self.server.subscriptions), 0)

    def test_without_a_thread_to_be_had_it_runs_here_and_sends_none(self):
        start, threading.Thread.start = threading.Thread.start, lambda self: (_ for _ in ()).throw(RuntimeError())
        try:
            got = Got(self.app, asking("work", token="t"))
        finally:
            threading.Thread.start = start
        self.assertEqual(got.headers["content-type"], "application/json")
        self.assertEqual(got.json["result"]["content"][0]["text"], "done")


class Older(unittest.TestCase):
    """Clients before 2026-07-28 are served without sessions, since who is asked next may be another process."""

    def ask(self, method, **params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        more = {} if method == "initialize" else {"mcp_protocol_version": "2025-11-25"}
        return Got(self.app, body, **{"mcp_protocol_version": None, "mcp_method": None, "mcp_name": None, **more})

    def setUp(self):
        self.app = full_server().wsgi_app()

    def test_without_a_session(self):
        begun = self.ask("initialize", protocolVersion="2025-11-25", capabilities={"elicitation": {}},
                         clientInfo={"name": "old", "version": "1"})
        self.assertEqual((begun.status, begun.json["result"]["protocolVersion"]), (200, "2025-11-25"))
        self.assertNotIn("mcp-session-id", begun.headers)
        listed = self.ask("tools/list")
        self.assertIn("echo", [tool["name"] for tool in json.loads(listed.read())["result"]["tools"]])
        for tool, params, failed in (("work", {"_meta": {"progressToken": 1}}, False), ("ask", {}, True)):
            got = self.ask("tools/call", name=tool, **params)
            self.assertEqual((got.status, got.headers["content-type"]), (200, "application/json"))
            self.assertEqual(got.json["result"].get("isError", False), failed, tool)
        for method in ("GET", "DELETE"):
            self.assertEqual(get(self.app, "/mcp", method, mcp_session_id="x").status, 405)


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Threading(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True

    def get_app(self):
        return lambda environ, start: self.application({**environ, "wsgi.multithread": True}, start)


class OverASocket(unittest.TestCase):
    """Under the server of the standard library, with our client and with a socket."""

    def setUp(self):
        self.mcp = full_server()
        self.gone = threading.Event()

        @self.mcp.tool
        def wait(ctx) -> str:
            ctx.progress(1, total=2)
            while not ctx.cancelled:
                time.sleep(0.01)
            self.gone.set()
            return ""

        app = wsgiref.validate.validator(WSGIApp(self.mcp, keep_alive=0.05))
        self.http = wsgiref.simple_server.make_server("127.0.0.1", 0, app, Threading, Quiet)
        self.addCleanup(self.http.server_close)
        thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(self.http.shutdown)
        self.url = f"http://127.0.0.1:{self.http.server_port}/mcp"

    def test_a_client(self):
        seen = []
        with Client(self.url, on_elicit=lambda _: accept(name="Ada")["content"]) as client:
            self.assertEqual(client.call_tool("ask")["content"][0]["text"], "Ada")
            client.call_tool("work", on_progress=lambda *said: seen.append(said))
            self.assertEqual(len(seen), 2)
            with self.assertRaises(ProtocolError):
                client.call_tool("none")
            with client.listen(tools=True) as news:
                self.mcp.notify_tools_changed()
                self.assertEqual(next(iter(news))["method"], "notifications/tools/list_changed")

    def test_a_client_that_hangs_up_cancels(self):
        with RawClient(self.url) as client:
            client.request(asking("wait", token="t"))
            self.assertIn("text/event-stream", client.head().headers["content-type"])
        self.assertTrue(self.gone.wait(20))


if __name__ == "__main__":
    unittest.main()
