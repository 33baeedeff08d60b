"""mcp_ref behind front ends that people run, each with the configuration of mcp_ref/README.md.

The same tests for all of them, over raw sockets; then what each line of a configuration is for, shown by what breaks
without it.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
import unittest
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Dict, Iterator, List, Mapping, Sequence

from mcp_ref.transports.bounds import Limits
from tests.support import RawClient, RawResponse, accept, asking, headers, message

from .processes import BLOCKS, HOST, PATIENCE, Front, Upstream, parts
from .upstream import MOST_SUBSCRIPTIONS

PAIR: List[Upstream] = []
"""Two processes that share a key, for all tests that end neither."""


def setUpModule() -> None:
    for name in ("one", "two"):
        PAIR.append(Upstream(name))
        unittest.addModuleCleanup(PAIR[-1].end)


OLD_HTTP = {"        proxy_http_version 1.1;\n": "", '        proxy_set_header Connection "";\n': ""}
"""Of nginx's configuration, without which it speaks HTTP/1.0 to the processes."""


class Case(unittest.TestCase):
    """What a test of a front end does."""

    def front(self, kind: str, upstreams: Sequence[Upstream], edits: Mapping[str, str] = MappingProxyType({})) -> Front:
        """Start a front end for this test."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        started = Front(kind, Path(folder.name), upstreams, edits)
        self.addCleanup(started.end)
        return started

    def upstream(self, name: str, *options: str) -> Upstream:
        """Start a process for this test."""
        started = Upstream(name, *options)
        self.addCleanup(started.end)
        return started

    def client(self, at: Any, host: str = HOST) -> RawClient:
        made = RawClient(at.url, PATIENCE)
        made.host = host
        self.addCleanup(made.socket.close)
        return made

    def call(self, at: Any, tool: str, /, **arguments: Any) -> RawResponse:
        """tools/call on a connection of its own."""
        with self.client(at) as client:
            client.request(asking(tool, **arguments))
            return client.response()

    def text(self, at: Any, tool: str, /, **arguments: Any) -> str:
        response = self.call(at, tool, **arguments)
        self.assertEqual(response.status, 200, response.body[:500])
        return str(response.json["result"]["content"][0]["text"])

    def stream(self, client: RawClient, body: Dict[str, Any]) -> Iterator[bytes]:
        """What comes of a request whose answer is an event stream."""
        client.request(body)
        head = client.head()
        self.assertEqual((head.status, head.headers.get("content-type")), (200, "text/event-stream"))
        return parts(client)

    def listen(self, client: RawClient) -> Iterator[bytes]:
        """A subscription whose acknowledgement has come."""
        stream = self.stream(client, message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
        self.assertIn(b"acknowledged", next(stream))
        return stream


    def listening(self, at: Any) -> int:
        """The status of a subscription that is left at once."""
        with self.client(at) as client:
            client.request(message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
            return client.head().status

    def silent(self, seconds: float, process: Any, words: str) -> None:
        """What would be said at once is not."""
        with self.assertRaises(AssertionError):
            process.says(words, seconds)


def data(part: bytes) -> Dict[str, Any]:
    """The message of an event."""
    found: Dict[str, Any] = json.loads(part.partition(b"data: ")[2])
    return found


def certificate_in(folder: Path) -> Path:
    """A certificate for HOST and its key, in one file."""
    made = folder / "both.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}",
                    "-keyout", made, "-out", folder / "certificate.pem"], check=True, capture_output=True)
    made.write_text(made.read_text() + (folder / "certificate.pem").read_text())
    for each in (folder, made):
        each.chmod(0o755)
    return made


@contextmanager
def curl(at: Front, body: Dict[str, Any]) -> Iterator[Any]:
    """What curl prints of a POST over HTTP/2, the head first; it is killed at the end."""
    fields = [f"{name}: {value}" for name, value in headers(body, host=None).items()]
    command = ["curl", "-sNki", "--http2", "--max-time", str(PATIENCE), "--resolve", f"{HOST}:{at.port}:127.0.0.1",
               *(word for each in fields for word in ("-H", each)), "-d", json.dumps(body),
               f"https://{HOST}:{at.port}/mcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            yield process.stdout
        finally:
            process.kill()


class Common:
    """What holds behind every front end."""

    class Tests(Case):
        kind = ""
        at: Front

        @classmethod
        def setUpClass(cls) -> None:
            folder = tempfile.TemporaryDirectory()
            cls.addClassCleanup(folder.cleanup)
            cls.at = Front(cls.kind, Path(folder.name), PAIR)
            cls.addClassCleanup(cls.at.end)

        def test_requests_go_to_both_processes_in_turn(self) -> None:
            said = [self.text(self.at, "who") for _ in range(4)]
            self.assertEqual(said.count("one"), 2, said)
            self.assertEqual(said.count("two"), 2, said)

        def test_the_rounds_of_a_question_land_on_different_processes(self) -> None:
            given: Dict[str, Any] = {}
            for number in ("1", "2", "3"):
                with self.client(self.at) as client:
                    client.request(message("tools/call", {"name": "rounds", "arguments": {}, **given}))
                    result = client.response().json["result"]
                self.assertEqual(result["resultType"], "input_required")
                self.assertEqual(list(result["inputRequests"]), [number])
                given = {"requestState": result["requestState"], "inputResponses": {number: accept(answer="yes")}}
            with self.client(self.at) as client:
                client.request(message("tools/call", {"name": "rounds", "arguments": {}, **given}))
                result = client.response().json["result"]
            self.assertIn(result["content"][0]["text"], ("one two one two", "two one two one"))

        def test_progress_comes_one_by_one(self) -> None:
            """The next step is taken when the client, who has the one before, says so."""
            stream = self.stream(self.client(self.at), asking("steps", "p", count=3))
            for step in (1, 2, 3):
                params = data(next(stream))["params"]
                self.assertEqual(params["progress"], step)
                (process,) = [each for each in PAIR if each.name == params["message"]]
                self.assertEqual(self.text(process, "go"), process.name)
            self.assertEqual(data(next(stream))["result"]["content"][0]["text"], "done")
            self.assertEqual(list(stream), [])

        def test_a_client_that_leaves_a_stream_is_gone_for_the_handler(self) -> None:
            client = self.client(self.at)
            name = data(next(self.stream(client, asking("wait", "p"))))["params"]["message"]
            client.socket.close()
            (process,) = [each for each in PAIR if each.name == name]
            process.says("cancelled")

        def test_a_client_that_leaves_before_its_answer_is_gone_for_the_handler(self) -> None:
            lonely = self.upstream("one")
            at = self.front(self.kind, [lonely])
            with self.client(at) as client:
                client.request(asking("wait", quiet=True))
                lonely.says("waiting")
            lonely.says("cancelled")

        def test_a_subscription_hears_of_changes_and_of_the_end(self) -> None:
            lonely = self.upstream("one")
            stream = self.listen(self.client(self.front(self.kind, [lonely])))
            self.text(lonely, "grow")
            self.assertIn(b"notifications/tools/list_changed", next(stream))
            lonely.terminate()
            last = [data(part) for part in stream][-1]
            self.assertEqual(last["result"]["resultType"], "complete")

        def test_a_client_that_leaves_a_subscription_closes_it(self) -> None:
            lonely = self.upstream("one")
            at = self.front(self.kind, [lonely])
            clients = [self.client(at) for _ in range(MOST_SUBSCRIPTIONS)]
            for client in clients:
                self.listen(client)
            self.assertEqual(self.listening(at), 503)
            clients[0].socket.close()
            until = time.monotonic() + PATIENCE
            while self.listening(at) != 200:
                self.assertLess(time.monotonic(), until)

        def test_large_bodies_pass_both_ways(self) -> None:
            self.assertEqual(self.text(self.at, "length", text="x" * 3_000_000), "3000000")
            self.assertEqual(len(self.text(self.at, "repeat", count=3_000_000)), 3_000_000)

        def test_a_body_that_is_too_large_is_413(self) -> None:
            client = self.client(self.at)
            try:
                client.request(asking("length", text="x" * (5 << 20)))
            except ConnectionError:
                pass  # refused from the head alone
            self.assertEqual(client.head().status, 413)

        def test_expect_100_continue(self) -> None:
            body = asking("length", text="x" * 100_000)
            client = self.client(self.at)
            head, end, rest = client.octets(body, expect="100-continue").partition(b"\r\n\r\n")
            client.send(head + end)
            self.assertEqual(client.head().status, 100)
            client.send(rest)
            response = client.response()
            while response.status == 100:  # caddy sends its own and the process's
                response = client.response()
            self.assertEqual(response.json["result"]["content"][0]["text"], "100000")

        def test_a_chunked_body(self) -> None:
            client = self.client(self.at)
            body = json.dumps(asking("length", text="x" * 1000)).encode()
            head = client.octets(asking("length"), content_length=None, transfer_encoding="chunked")
            client.send(head.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
            for piece in (body[:500], body[500:], b""):
                client.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.assertEqual(client.response().json["result"]["content"][0]["text"], "1000")

        def test_many_requests_on_one_connection(self) -> None:
            with self.client(self.at) as client:
                for number in range(20):
                    client.request(asking("who", id=number))
                    self.assertEqual(client.response().json["id"], number)

        def test_the_mirrored_headers_arrive(self) -> None:
            with self.client(self.at) as client:
                client.request(asking("who"), mcp_name="whom")
                self.assertEqual(client.response().json["error"]["code"], -32020)

        def test_an_origin_is_let_in_if_it_is_known(self) -> None:
            for origin, status in (("https://mcp.example", 200), ("https://evil.example", 403)):
                with self.client(self.at) as client:
                    client.request(asking("who"), origin=origin)
                    self.assertEqual(client.response().status, status, origin)

        def test_the_health_of_a_process_is_asked_through_it(self) -> None:
            with self.client(self.at) as client:
                client.send(f"GET /health HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
                self.assertEqual(client.response().json, {"status": "ok"})

        def test_a_process_that_has_gone_is_passed_over(self) -> None:
            first, second = self.upstream("one"), self.upstream("two")
            at = self.front(self.kind, [first, second])
            self.assertEqual({self.text(at, "who") for _ in range(4)}, {"one", "two"})
            first.end()
            if self.kind == "caddy":  # which finds out by one request, and does not try that again
                statuses = [self.call(at, "who").status for _ in range(2)]
                self.assertLessEqual(statuses.count(502), 1)
            self.assertEqual({self.text(at, "who") for _ in range(6)}, {"two"})

        def test_what_a_client_says_of_forwarding_changes_nothing(self) -> None:
            with self.client(self.at) as client:
                client.request(asking("who"), x_forwarded_for="127.0.0.1", x_forwarded_host="evil.example",
                               x_forwarded_proto="gopher", forwarded="host=evil.example")
                self.assertEqual(client.response().status, 200)


        def test_comments_keep_a_silent_stream_beyond_the_read_timeout(self) -> None:
            talking = self.upstream("one", "--keep-alive", "0.3")
            stream = self.listen(self.client(self.front(self.kind, [talking], self.times)))
            for _ in range(6):
                self.assertEqual(next(stream), b": keep-alive")

        def test_streams_and_leaving_over_http_2_and_tls(self) -> None:
            lonely = self.upstream("one")
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            certificate = certificate_in(Path(folder.name))
            at = self.front(self.kind, [lonely], {old: new.format(pem=certificate) for old, new in self.tls.items()})
            with curl(at, asking("steps", "p", count=2)) as said:
                self.assertIn("HTTP/2 200", said.readline())
                for step in (1, 2):
                    line = next(line for line in said if line.startswith("data:"))
                    self.assertEqual(json.loads(line[5:])["params"]["progress"], step)
                    self.text(lonely, "go")
                self.assertIn("done", said.read())
            with curl(at, asking("wait", quiet=True)):
                lonely.says("waiting")
            lonely.says("cancelled")

        tls: Dict[str, str] = {}
        times: Dict[str, str] = {"300s": "1s"}

    class Asking(Tests):
        """And behind those that ask by themselves whether a process lives."""

        def test_it_asks_for_the_health_of_a_process(self) -> None:
            lonely = self.upstream("one")
            self.front(self.kind, [lonely])
            lonely.says('"" id=null 200')


class Nginx(Common.Tests):
    kind = "nginx"
    tls = {"listen 8080;": "listen 8080 ssl http2; ssl_certificate {pem}; ssl_certificate_key {pem};"}

    def test_the_map_routes_by_what_headers_say(self) -> None:
        at = self.front("nginx", [*PAIR, self.upstream("three")])
        for _ in range(3):
            self.assertEqual(self.text(at, "report"), "three")
            self.assertIn(self.text(at, "who"), ("one", "two"))
        with self.client(at) as client:  # what the map reads is what the body says, or it is refused
            client.request(asking("who"), mcp_name="report")
            self.assertEqual(client.response().json["error"]["code"], -32020)

    def test_without_the_host_it_names_its_upstream(self) -> None:
        at = self.front("nginx", PAIR, {"        proxy_set_header Host $host;\n": ""})
        self.assertEqual(self.call(at, "who").status, 403)

    def test_without_its_size_large_bodies_are_refused(self) -> None:
        at = self.front("nginx", PAIR, {"    client_max_body_size 4m;\n": ""})
        self.assertEqual(self.call(at, "length", text="x" * 2_000_000).status, 413)

    def test_http_1_0_is_enough(self) -> None:
        self.at = self.front("nginx", PAIR, OLD_HTTP)
        self.test_progress_comes_one_by_one()
        self.test_a_client_that_leaves_a_stream_is_gone_for_the_handler()
        self.test_large_bodies_pass_both_ways()

    def test_streams_are_not_buffered_whichever_way_it_is_told(self) -> None:
        """By the line, or by the field X-Accel-Buffering of the stream."""
        line = "proxy_buffering off;"
        deaf = "proxy_ignore_headers X-Accel-Buffering;"
        for edit in ("", f"{line} {deaf}"):
            self.at = self.front("nginx", PAIR, {**OLD_HTTP, line: edit})
            self.test_progress_comes_one_by_one()
        self.at = self.front("nginx", PAIR, {**OLD_HTTP, line: deaf})
        client = self.client(self.at)
        client.socket.settimeout(1)
        with self.assertRaises(TimeoutError):
            next(self.stream(client, asking("steps", "p", count=1)))
        for process in PAIR:
            self.text(process, "go")

    def test_a_read_timeout_below_the_keep_alive_cuts_streams(self) -> None:
        stream = self.listen(self.client(self.front("nginx", PAIR, self.times)))
        with self.assertRaises(ConnectionError):
            next(stream)


class Haproxy(Common.Asking):
    kind = "haproxy"
    tls = {"bind 127.0.0.1:8080": "bind 127.0.0.1:8080 ssl crt {pem} alpn h2,http/1.1"}

    def test_with_no_delay_an_event_does_not_wait(self) -> None:
        self.assertLess(self.quickest({}), 0.1)
        self.assertGreater(self.quickest({"    option http-no-delay\n": ""}), 0.15)

    def quickest(self, edits: Dict[str, str]) -> float:
        """Seconds from the leave to send an event to its arrival, of all but the first the least."""
        lonely = self.upstream("one")
        stream = self.stream(self.client(self.front("haproxy", [lonely], edits)), asking("steps", "p", count=4))
        next(stream)
        times = []
        for _ in range(3):
            began = time.monotonic()
            self.text(lonely, "go")
            next(stream)
            times.append(time.monotonic() - began)
        self.text(lonely, "go")
        return min(times)

    def test_without_abortonclose_nobody_hears_that_a_client_has_left(self) -> None:
        lonely = self.upstream("one")
        with self.client(self.front("haproxy", [lonely], {"    option abortonclose\n": ""})) as client:
            client.request(asking("wait", quiet=True))
            lonely.says("waiting")
        self.silent(1.0, lonely, "cancelled")

    def test_a_server_timeout_below_the_keep_alive_cuts_streams(self) -> None:
        stream = self.listen(self.client(self.front("haproxy", PAIR, {"timeout server 300s": "timeout server 1s"})))
        with self.assertRaises(ConnectionError):
            next(stream)


class Caddy(Common.Asking):
    kind = "caddy"
    tls = {"http://mcp.example:8080 {": "https://mcp.example:8080 {{\n\ttls {pem} {pem}"}
    times: Dict[str, str] = {}  # it has none of its own

    def test_with_flush_interval_nobody_hears_that_a_client_has_left(self) -> None:
        lonely = self.upstream("one")
        edit = {"health_uri /health": "health_uri /health\n\t\tflush_interval -1"}
        with self.client(self.front("caddy", [lonely], edit)) as client:
            client.request(asking("wait", quiet=True))
            lonely.says("waiting")
        self.silent(1.0, lonely, "cancelled")

    def test_it_ends_idle_connections_before_mcp_ref_does(self) -> None:
        (seconds,) = re.findall(r"keepalive (\d+)s", BLOCKS["caddy"])
        self.assertLess(int(seconds), Limits().idle)
