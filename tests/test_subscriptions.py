"""subscriptions/listen: acknowledged first, tagged, filtered, ended gracefully; streams that cost no thread."""

import json
import logging
import socket
import threading
import time
import unittest
from unittest import mock

from mcp_ref import ResourceServer, Server, static_tokens
from mcp_ref.base.request import Request
from mcp_ref.patterns.subscriptions import MAX_QUEUED, MAX_URIS
from mcp_ref.transports import connection
from mcp_ref.transports.http_server import HTTPServer, Limits

from .support import Clock, RawClient, events, message, post, proves, until

ID = "io.modelcontextprotocol/subscriptionId"
ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


def make(**options):
    server = Server("subs", "1", **options)
    server.tool(name="t")(lambda ctx: "")
    server.resource("demo://one", name="one")(lambda: "1")
    server.resource("demo://item/{n}", name="item")(lambda n: n)

    @server.prompt
    def hello() -> str:
        return "hello"

    return server


def listen(server, notifications, id=1):
    """The subscription that the core opens, and what it has queued."""
    body = message("subscriptions/listen", {"notifications": notifications}, id)
    answer = server.handle(Request(lambda: json.dumps(body).encode()))
    return answer.stream if answer.stream is not None else json.loads(answer.body)


def taken(subscription):
    return [json.loads(data) for data in subscription.take()]


class Core(unittest.TestCase):
    def setUp(self):
        self.server = make()

    @proves("BASE-01", "META-17", "SUBS-02", "SUBS-03", "RES-14")
    def test_acknowledged_first_with_what_is_honoured(self):
        for id in (1, "1", "é", 0):
            subscription = listen(self.server, {**ALL, "resourceSubscriptions": [
                "demo://one", "demo://item/7", "demo://nothing", "demo://item/{n}", "demo://one"]}, id)
            ack, = taken(subscription)
            self.assertEqual(ack, {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
                "_meta": {ID: id}, "notifications": {**ALL, "resourceSubscriptions": [
                    "demo://one", "demo://item/7", "demo://item/{n}"]}}})
            self.assertIs(type(ack["params"]["_meta"][ID]), type(id))
        only_tools = Server("s", "1")
        only_tools.tool(name="t")(lambda ctx: "")
        ack, = taken(listen(only_tools, {**ALL, "resourceSubscriptions": ["demo://one"]}))
        self.assertEqual(ack["params"]["notifications"], {"toolsListChanged": True})
        ack, = taken(listen(self.server, {"toolsListChanged": False, "somethingNew": True}))
        self.assertEqual(ack["params"]["notifications"], {})

    @proves("META-17", "SUBS-01")
    def test_only_what_was_asked_for(self):
        streams = {name: listen(self.server, {name: True}, name) for name in ALL}
        streams["none"] = listen(self.server, {}, "none")
        streams["one"] = listen(self.server, {"resourceSubscriptions": ["demo://one"]}, "one")
        streams["template"] = listen(self.server, {"resourceSubscriptions": ["demo://item/{n}"]}, "template")
        for subscription in streams.values():
            taken(subscription)
        self.server.notify_tools_changed()
        self.server.notify_prompts_changed()
        self.server.notify_resources_changed()
        self.server.notify_resource_updated("demo://one")
        self.server.notify_resource_updated("demo://item/9")
        got = {name: [(one["method"].split("/", 1)[1], one["params"].get("uri"), one["params"]["_meta"][ID])
                      for one in taken(subscription)] for name, subscription in streams.items()}
        self.assertEqual(got, {
            "toolsListChanged": [("tools/list_changed", None, "toolsListChanged")],
            "promptsListChanged": [("prompts/list_changed", None, "promptsListChanged")],
            "resourcesListChanged": [("resources/list_changed", None, "resourcesListChanged")], "none": [],
            "one": [("resources/updated", "demo://one", "one")],
            "template": [("resources/updated", "demo://item/9", "template")]})

    @proves("C035")
    def test_ids_1_and_text_1_are_two_subscriptions(self):
        number, text = listen(self.server, ALL, 1), listen(self.server, ALL, "1")
        self.server.notify_tools_changed()
        for subscription, id in ((number, 1), (text, "1")):
            self.assertEqual([one["params"]["_meta"][ID] for one in taken(subscription)], [id, id])

    def test_adding_and_removing_notifies_by_itself(self):
        subscription = listen(self.server, ALL)
        taken(subscription)
        self.server.add_tool(lambda ctx: "", name="new")
        self.server.remove_tool("new")
        self.server.add_prompt(lambda: "", name="p")
        self.server.remove_prompt("p")
        self.server.add_resource("demo://x", lambda: "", name="x")
        self.server.remove_resource("demo://x")
        self.assertEqual([one["method"].split("/")[1] for one in taken(subscription)],
                         ["tools", "tools", "prompts", "prompts", "resources", "resources"])

    def test_what_is_no_uri_is_not_updated(self):
        for uri in (None, 5, b"demo://one"):
            with self.assertRaisesRegex(TypeError, "by its URI, a text"):
                self.server.notify_resource_updated(uri)

    def test_malformed_filters(self):
        for notifications in (None, [], "x", {"toolsListChanged": 1}, {"toolsListChanged": None},
                              {"resourceSubscriptions": "demo://one"}, {"resourceSubscriptions": [1]},
                              {"resourceSubscriptions": ["demo://item/1"] * (MAX_URIS + 1)}):
            self.assertEqual(listen(self.server, notifications)["error"]["code"], -32602, notifications)
        body = message("subscriptions/listen", id=1)
        self.assertEqual(post(self.server, body).error["code"], -32602)

    def test_the_limit(self):
        server = make(max_subscriptions=2)
        first = listen(server, {})
        listen(server, {})
        body = message("subscriptions/listen", {"notifications": {}}, 3)
        answer = server.handle(Request(lambda: json.dumps(body).encode()))
        self.assertEqual((answer.status, json.loads(answer.body)["error"]["data"]), (503, {"limit": 2}))
        first.close()
        self.assertEqual(len(taken(listen(server, {}))), 1)

    def test_the_end(self):
        subscription = listen(self.server, ALL, "x")
        taken(subscription)
        subscription.end()
        self.server.notify_tools_changed()
        last, = taken(subscription)
        self.assertEqual((last["id"], last["result"]["resultType"]), ("x", "complete"))
        self.assertEqual(last["result"]["_meta"][ID], "x")
        self.assertIn("io.modelcontextprotocol/serverInfo", last["result"]["_meta"])
        self.assertEqual(len(self.server.subscriptions), 0)

    def test_a_reader_too_slow_is_dropped_and_holds_no_memory(self):
        subscription = listen(self.server, ALL)
        for _ in range(MAX_QUEUED // 50):
            self.server.notify_tools_changed()
        self.assertTrue(subscription.overrun)
        self.assertEqual(taken(subscription), [])

    def test_nothing_to_subscribe_to(self):
        body = message("subscriptions/listen", {"notifications": {}})
        self.assertEqual(post(Server("s", "1"), body).error["code"], -32601)

    @proves("SUBS-02", "SUBS-03", "C037")
    @mock.patch("mcp_ref.patterns.subscriptions.MAX_QUEUED", 2**30)
    def test_nothing_between_the_ack_and_the_registration_is_lost(self):
        """A thread fires in a tight loop while streams are opened: the ack is first, nothing after it is missing."""
        stop = threading.Event()
        count = [0]

        def fire():
            while not stop.is_set():
                self.server.subscriptions.publish("notifications/tools/list_changed")
                count[0] += 1

        thread = threading.Thread(target=fire)
        thread.start()
        try:
            for id in range(50):
                before = count[0]
                subscription = listen(self.server, ALL, id)
                opened = count[0]
                while count[0] < opened + 3:
                    time.sleep(0)
                lower = count[0] - opened
                got = taken(subscription)
                self.assertEqual(got[0]["method"], "notifications/subscriptions/acknowledged")
                self.assertGreaterEqual(len(got) - 1, lower - 1)
                self.assertLessEqual(len(got) - 1, count[0] + 1 - before)
                subscription.close()
        finally:
            stop.set()
            thread.join()


class Streams(unittest.TestCase):
    def setUp(self):
        self.server = make()
        self.http = HTTPServer(self.server, port=0, limits=Limits(connections=4, grace=2), keep_alive=0.2).start()
        self.addCleanup(self.http.stop)

    def open(self, notifications=ALL, id=1, **more):
        client = RawClient(self.http.url)
        self.addCleanup(client.socket.close)
        client.request(message("subscriptions/listen", {"notifications": notifications}, id), **more)
        head = client.head()
        self.assertEqual((head.status, head.headers["content-type"]), (200, "text/event-stream"))
        self.assertEqual(head.headers["x-accel-buffering"], "no")
        ack, = self.next(client)
        self.assertEqual(ack["method"], "notifications/subscriptions/acknowledged")
        return client

    def next(self, client):
        """The messages of the next chunk that is more than a comment."""
        while True:
            chunk = client.chunk()
            if not chunk or not chunk.startswith(b":"):
                return events(chunk)

    @proves("TRANS-03")
    def test_more_streams_than_connections_and_none_is_lost(self):
        before = threading.active_count()
        clients = [self.open(id=number) for number in range(20)]
        for _ in range(3):
            self.server.notify_tools_changed()
        for number, client in enumerate(clients):
            got = []
            while len(got) < 3:
                got += self.next(client)
            self.assertEqual([one["params"]["_meta"][ID] for one in got], [number] * 3)
        self.assertLess(threading.active_count() - before, 10, threading.enumerate())

    def test_comments_keep_a_silent_stream_alive(self):
        client = self.open()
        self.assertEqual(client.chunk(), b": keep-alive\n\n")
        self.assertEqual(client.chunk(), b": keep-alive\n\n")

    @proves("HTTP-20")
    def test_a_client_that_leaves_is_forgotten(self):
        client = self.open()
        self.assertEqual(len(self.server.subscriptions), 1)
        client.socket.close()
        until(lambda: (len(self.server.subscriptions), len(self.http.listening)) == (0, 0))

    def test_the_end_at_shutdown(self):
        client = self.open(id="x")
        self.http.stop()
        last, = self.next(client)
        self.assertEqual((last["id"], last["result"]["_meta"][ID]), ("x", "x"))
        self.assertEqual(client.chunk(), b"")
        self.assertTrue(client.closed())

    def test_a_stream_lasts_no_longer_than_its_token(self):
        token = {"t": {"sub": "alice", "exp": time.time() + 1000}}
        server = make(auth=ResourceServer(static_tokens(token), "http://127.0.0.1/mcp", ["https://as.example"]))
        clock = Clock()
        with HTTPServer(server, port=0, keep_alive=0.2) as http, RawClient(http.url) as client:
            client.request(message("subscriptions/listen", {"notifications": ALL}, "x"), authorization="Bearer t")
            self.assertEqual(client.head().status, 200)
            self.next(client)
            with mock.patch.object(connection, "time", clock):
                clock.ahead = 1000
                last, = self.next(client)
            self.assertEqual((last["id"], last["result"]["resultType"]), ("x", "complete"))

    def test_a_slow_reader_is_dropped_and_blocks_nobody(self):
        slow, quick = self.open(id="slow"), self.open(id="quick")
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        until = time.monotonic() + 60
        sent = received = 0
        while len(self.server.subscriptions) > 1 and time.monotonic() < until:
            for _ in range(200):
                self.server.subscriptions.publish("notifications/tools/list_changed")
            sent += 200
            while received < sent:
                received += len(self.next(quick))
        self.assertEqual(len(self.server.subscriptions), 1)
        self.assertEqual(received, sent, "the quick reader got every one")

    def test_http_1_0(self):
        client = RawClient(self.http.url)
        self.addCleanup(client.socket.close)
        octets = client.octets(message("subscriptions/listen", {"notifications": ALL}))
        client.send(octets.replace(b"HTTP/1.1", b"HTTP/1.0"))
        self.assertNotIn("transfer-encoding", client.head().headers)
        while b"acknowledged" not in client.buffer:
            client.more()

    def test_what_a_client_sends_on_its_stream_is_read_away(self):
        client = self.open()
        client.send(b"x" * 10000)
        self.server.notify_tools_changed()
        self.assertEqual(self.next(client)[0]["method"], "notifications/tools/list_changed")


class Browsers(unittest.TestCase):
    ORIGIN = "https://app.example"

    def setUp(self):
        self.server = make(cors=[self.ORIGIN])
        self.http = HTTPServer(self.server, port=0).start()
        self.addCleanup(self.http.stop)
        self.client = RawClient(self.http.url)
        self.addCleanup(self.client.socket.close)

    def options(self, **fields):
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
        self.client.send(f"OPTIONS /mcp HTTP/1.1\r\nHost: {self.client.host}\r\n{lines}\r\n".encode())
        return self.client.response()

    def test_a_preflight_is_answered(self):
        reply = self.options(Origin=self.ORIGIN, Access_Control_Request_Method="POST",
                             Access_Control_Request_Headers="content-type,Mcp-Method,mcp-param-region,authorization,x-evil")
        self.assertEqual(reply.status, 204)
        self.assertEqual(reply.headers["access-control-allow-origin"], self.ORIGIN)
        self.assertIn("POST", reply.headers["access-control-allow-methods"])
        self.assertEqual(reply.headers["access-control-allow-headers"],
                         "content-type, mcp-method, mcp-param-region, authorization")
        self.client.request(message("tools/list"), origin=self.ORIGIN)
        reply = self.client.response()
        self.assertEqual((reply.status, reply.headers["access-control-allow-origin"]), (200, self.ORIGIN))
        self.assertEqual(reply.headers["vary"], "Origin")
        self.assertIn("WWW-Authenticate", reply.headers["access-control-expose-headers"])

    def test_streams_are_exposed_too(self):
        self.client.request(message("subscriptions/listen", {"notifications": ALL}), origin=self.ORIGIN)
        self.assertEqual(self.client.head().headers["access-control-allow-origin"], self.ORIGIN)

    def test_nobody_else(self):
        self.assertEqual(self.options(Origin="https://evil.example", Access_Control_Request_Method="POST").status, 403)
        self.assertEqual(self.options(Origin=self.ORIGIN).status, 405)
        self.client.request(message("tools/list"), origin="https://evil.example")
        reply = self.client.response()
        self.assertEqual(reply.status, 403)
        self.assertNotIn("access-control-allow-origin", reply.headers)
        self.client.request(message("tools/list"))
        self.assertNotIn("access-control-allow-origin", self.client.response().headers)

    def test_without_cors(self):
        with HTTPServer(make(), port=0) as http, RawClient(http.url) as client:
            client.send(f"OPTIONS /mcp HTTP/1.1\r\nHost: {client.host}\r\nOrigin: {self.ORIGIN}\r\n"
                        "Access-Control-Request-Method: POST\r\n\r\n".encode())
            self.assertEqual(client.response().status, 403)

    def test_a_preflight_asks_host_as_any_request_does(self):
        for hosts, status in ((["evil.example"], 403), ([], 400), (["localhost", "localhost"], 400), ([""], 400),
                              (["app.example"], 204)):
            host = "".join(f"Host: {name}\r\n" for name in hosts)
            self.client.send(f"OPTIONS /mcp HTTP/1.1\r\n{host}Origin: {self.ORIGIN}\r\n"
                             "Access-Control-Request-Method: POST\r\n\r\n".encode())
            self.assertEqual(self.client.response().status, status, host)

    def test_head_has_no_body(self):
        self.client.send(f"HEAD /mcp HTTP/1.1\r\nHost: {self.client.host}\r\n\r\n".encode())
        self.assertEqual(self.client.head().status, 405)
        self.assertEqual(self.client.buffer, b"")
        self.client.request(message("tools/list"))
        self.assertEqual(self.client.response().status, 200)


if __name__ == "__main__":
    logging.basicConfig()
    unittest.main()
