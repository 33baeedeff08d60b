"""basic/transports/streamable-http, connections: what outlives a request, and what must not."""

import gc
import json
import select
import socket
import threading
import time
import unittest

from mcp_ref import Server
from mcp_ref.base.request import Request
from mcp_ref.transports.http_server import HTTPServer, Limits

from .support import SHARED, RawClient, ServerCase, echo_server, message, until

CASES = SHARED / "cases" / "known-failures.jsonl"


def held(id):
    """The requests of that id that something still refers to."""
    return [each for each in gc.get_objects() if type(each) is Request and each.id == id]


class Connections(ServerCase):
    def setUp(self):
        self.mcp = echo_server()
        self.serve(self.mcp, limits=Limits(arrive=5.0, grace=1.0))
        self.kept = self.client()
        self.octets = self.kept.octets(message("server/discover"))

    def test_an_empty_line_between_requests_however_it_arrives(self):
        self.kept.send(self.octets + b"\r\n" + self.octets)
        self.assertEqual([self.kept.response().status for _ in range(2)], [200, 200])
        self.kept.send(b"\r\n")
        self.kept.send(self.octets)
        self.assertEqual(self.kept.response().status, 200)

    def test_an_absolute_target_does_not_stand_in_for_the_host_header(self):
        octets = self.octets.replace(b"POST /mcp", b"POST http://localhost/mcp")
        self.kept.send(b"\r\n".join(line for line in octets.split(b"\r\n") if not line.startswith(b"host:")))
        self.assertEqual(self.kept.response().status, 400)

    def test_http_1_0_knows_no_100(self):
        head, _, body = self.octets.partition(b"\r\n\r\n")
        self.kept.send(head.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(select.select([self.kept.socket], [], [], 0.2)[0], [])
        self.kept.send(body)
        self.assertEqual(self.kept.response().status, 200)

    def test_an_idle_connection_holds_nothing_of_its_last_request(self):
        self.kept.request(message("tools/call", {"name": "nothing", "arguments": {"a": [[]] * 1000}}, id="marked"))
        self.assertEqual(self.kept.response().status, 400)
        until(lambda: not held("marked"))

    def test_who_connects_while_it_stops_is_refused_at_once(self):
        entered, leave = threading.Event(), threading.Event()
        self.addCleanup(leave.set)
        self.mcp.add_tool(lambda: entered.set() or leave.wait(10), name="wait")
        self.kept.request(message("tools/call", {"name": "wait"}))
        self.assertTrue(entered.wait(60))
        self.http.limits.grace = 60.0
        stopping = threading.Thread(target=self.http.stop)
        stopping.start()
        self.addCleanup(stopping.join)
        address, until, refused = self.http.server_address, time.monotonic() + 30, False
        while not refused and time.monotonic() < until:
            try:
                socket.create_connection(address, 1).close()
            except OSError:
                refused = True
        self.assertTrue(refused and stopping.is_alive(), "connections are taken that nobody will answer")
        leave.set()

    def test_a_thread_that_outlives_its_handler_writes_into_no_other_answer(self):
        answered, done = threading.Event(), threading.Event()

        @self.mcp.tool
        def spawn(ctx) -> str:
            def late():
                answered.wait(5)
                ctx.progress(1)
                ctx.log("error", "late")
                done.set()
            threading.Thread(target=late, daemon=True).start()
            return "ok"
        body = message("tools/call", {"name": "spawn"})
        body["params"]["_meta"].update({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"})
        self.kept.request(body)
        self.assertEqual(self.kept.response().headers["content-type"], "application/json")
        answered.set()
        self.assertTrue(done.wait(60))
        self.kept.send(self.octets)
        self.assertEqual(self.kept.response().headers["content-type"], "application/json")

    def test_stopping_what_never_started(self):
        server = HTTPServer(self.mcp, port=0)
        thread = threading.Thread(target=server.stop, daemon=True)
        thread.start()
        thread.join(60)
        self.assertFalse(thread.is_alive(), "stop hangs")


def cases():
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


@unittest.skipUnless(CASES.exists(), "../shared is not here: the recorded requests are not sent")
class Recorded(unittest.TestCase):
    """The requests as recorded, octet for octet; each is followed by one that is served."""

    EXPECTED = {"C004": (400, -32600), "C008": (400, -32020), "C009": (200, None), "C018": (400, -32022),
                "C021": (200, None)}

    def test_over_a_socket(self):
        server = Server("known", "1")
        server.tool(name="slow")(lambda ctx: [ctx.progress(step, 3) for step in (1, 2, 3)] and "done")
        server.tool(name="drop_table")(lambda: self.fail("it ran"))
        server.tool(name="größe")(lambda: "groß")
        seen = set()
        with HTTPServer(server, port=0) as http:
            for case in cases():
                start = case["input"].find("POST /mcp")
                if case["id"] not in self.EXPECTED or start < 0:
                    continue
                head, _, rest = case["input"][start:].partition("\r\n\r\n")
                length = int(head.lower().split("content-length:")[1].split("\r\n")[0])
                body = rest.encode()[:length]
                with RawClient(http.url) as client:
                    client.send(head.encode() + b"\r\n\r\n" + body)
                    reply = client.response()
                    status, code = self.EXPECTED[case["id"]]
                    self.assertEqual(reply.status, status, case["id"])
                    if code is not None:
                        self.assertEqual(reply.json["error"]["code"], code, case["id"])
                    if case["id"] == "C021":
                        self.assertEqual(reply.headers["content-type"], "text/event-stream")
                        self.assertEqual(reply.body.count(b"notifications/progress"), 3)
                    client.request(message("server/discover"))
                    self.assertEqual(client.response().status, 200)
                seen.add(case["id"])
        self.assertEqual(seen, set(self.EXPECTED))


if __name__ == "__main__":
    unittest.main()
