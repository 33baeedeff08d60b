"""Client(server): all that a client can do, in one process; what it sees is what it would see over HTTP."""

import contextlib
import itertools
import json
import threading
import time
import unittest
from typing import Annotated, Any, Dict, Iterator, List
from unittest import mock

from mcp_ref import (
    CallCancelled,
    CallHandle,
    Client,
    Context,
    HTTPError,
    HTTPServer,
    InputRequired,
    McpError,
    ProtocolError,
    ResourceServer,
    Server,
    Timeout,
    ToolError,
    TransportError,
    accept,
    static_tokens,
)
from mcp_ref.base.errors import MethodNotFound, ResourceNotFound, TooManySubscriptions
from mcp_ref.base.meta import PROTOCOL_VERSION
from mcp_ref.patterns.subscriptions import MAX_QUEUED
from tests.support import at_some_pace

from .support import not_on_wasm, proves

FIELDS = {"agree": {"type": "boolean"}}


def made(**options: Any) -> Server:
    server = Server("travel", "1.0.0", page_size=2, logging=True, **options)

    @server.tool
    def book(ctx: Context, flight: str) -> str:
        """Book a flight."""
        if not ctx.elicit(f"Book {flight}?", FIELDS, "agree")["agree"]:
            raise ToolError("not booked")
        ctx.progress(1, total=2, message="asking")
        ctx.log("info", {"flight": flight})
        return f"{flight} booked"

    @server.tool
    def where(region: Annotated[str, {"x-mcp-header": "Region"}]) -> Dict[str, str]:
        return {"region": region}

    @server.tool
    async def later(ctx: Context) -> int:
        ctx.progress(1)
        return 7

    @server.tool
    def quota(ctx: Context, report: bool) -> None:
        if report:
            ctx.progress(1)
        raise ProtocolError(4711, "no quota left", {"limit": 1})

    @server.tool
    def fail() -> None:
        raise RuntimeError("secret")

    @server.tool
    def thread() -> str:
        return threading.current_thread().name

    @server.tool
    def headers(ctx: Context) -> str:
        return " ".join(sorted(ctx.headers))

    @server.resource("demo://{name}")
    def resource(name: str) -> str:
        if name == "none":
            raise ResourceNotFound()
        return name.upper()

    @server.prompt
    def advice(plant: str) -> str:
        return f"How is the {plant}?"

    @server.completion("advice", "plant")
    def plants(value: str) -> List[str]:
        return [name for name in ("fern", "cactus") if name.startswith(value)]

    return server


@proves("TRANS-04..06")
class SameAsOverHTTP(unittest.TestCase):
    """Each request twice, in process and over HTTP: results, errors, and what is heard on the way are the same."""

    def both(self, use: Any, **options: Any) -> Any:
        seen = []
        server = made()
        with HTTPServer(server, port=0) as running:
            for place in (server, running.url):
                heard: List[Any] = []
                with Client(place, timeout=10, on_elicit=lambda question: {"agree": True}, log_level="info",
                            on_progress=lambda *given: heard.append(given),  # noqa: B023
                            on_log=lambda *given: heard.append(given), **options) as client:  # noqa: B023
                    try:
                        outcome: Any = use(client)
                    except McpError as error:
                        outcome = (type(error), str(error), getattr(error, "data", None), getattr(error, "status", 0))
                seen.append((outcome, heard))
        self.assertEqual(*seen)
        return seen[0]

    def test_what_every_method_gives(self) -> None:
        uses: List[Any] = [
            lambda client: client.discover(), lambda client: client.list_tools(), lambda client: client.list_prompts(),
            lambda client: client.list_resource_templates(), lambda client: client.list_resources(),
            lambda client: client.call_tool("book", {"flight": "MC 1"}), lambda client: client.call_tool("later"),
            lambda client: client.call_tool("where", {"region": "north"}), lambda client: client.call_tool("fail"),
            lambda client: client.call_tool("where", {"region": 7}), lambda client: client.call_tool("nobody"),
            lambda client: (client.list_tools(), client.call_tool("where", {"region": "größe"})),
            lambda client: client.read_resource("demo://fern"), lambda client: client.read_resource("demo://none"),
            lambda client: client.get_prompt("advice", {"plant": "fern"}), lambda client: client.get_prompt("advice"),
            lambda client: client.complete({"type": "ref/prompt", "name": "advice"}, "plant", "f"),
            lambda client: client.call_tool("quota", {"report": False}),
            lambda client: client.call_tool("quota", {"report": True}), lambda client: client.request("initialize"),
            lambda client: client.request("tools/nothing"),
            lambda client: client.call_tool("where", {"region": object()}),
            lambda client: client.call_tool("book", {"flight": "MC 1"}, timeout=10, log_level="error")]
        for number, use in enumerate(uses):
            with self.subTest(number):
                self.both(use)

    def test_what_is_heard_on_the_way(self) -> None:
        result, heard = self.both(lambda client: client.call_tool("book", {"flight": "MC 1"}))
        self.assertEqual(result["content"][0]["text"], "MC 1 booked")
        self.assertEqual(heard, [(1, 2, "asking"), ("info", {"flight": "MC 1"}, None)])

    def test_headers(self) -> None:
        (outcome, _) = self.both(lambda client: set(client.call_tool("headers")["content"][0]["text"].split())
                                 - {"connection", "accept-encoding"},
                                 headers={"X-Team": "blue", "Cookie": "c", "Proxy-Authorization": "p",
                                          "Authorization": "Basic x"})
        self.assertEqual(outcome, {"accept", "content-length", "content-type", "host", "mcp-method", "mcp-name",
                                   "mcp-protocol-version", "user-agent", "x-team"})

    def test_a_foreign_origin_stays_outside(self) -> None:
        (kind, words, *_), _ = self.both(lambda client: client.discover(), headers={"Origin": "https://evil.example"})
        self.assertIs(kind, HTTPError)
        self.assertIn("403", words)


class InProcess(unittest.TestCase):
    def test_every_rung_is_climbed(self) -> None:
        server = made()
        lines: List[str] = []
        server.on_trace = lines.append
        with Client(server) as client:
            client.call_tool("thread")
            self.assertEqual(client.url, "memory:travel")
        for rung in ("door", "accept", "framing", "version", "meta", "mirrors", "method"):
            self.assertIn(f"{rung} ok", lines[0])

    def test_a_body_that_is_too_large(self) -> None:
        with Client(made()) as client, self.assertRaises(HTTPError) as caught:
            client.call_tool("where", {"region": "x" * 5_000_000})
        self.assertEqual(caught.exception.status, 413)

    @not_on_wasm("needs threads")
    def test_a_plain_call_runs_in_the_thread_of_its_caller(self) -> None:
        with Client(made()) as client:
            here = threading.current_thread().name
            self.assertEqual(client.call_tool("thread")["content"][0]["text"], here)
            self.assertNotEqual(client.call_tool("thread", timeout=10)["content"][0]["text"], here)
            self.assertNotEqual(client.call_tool("thread", handle=CallHandle())["content"][0]["text"], here)

    def test_without_threads_a_call_with_a_timeout_runs_here_too(self) -> None:
        heard: List[Any] = []
        with Client(made(), on_elicit=lambda question: {"agree": True}) as client:
            with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
                result = client.call_tool("book", {"flight": "a"}, timeout=10,
                                          on_progress=lambda *given: heard.append(given))
        self.assertEqual(result["content"][0]["text"], "a booked")
        self.assertEqual(heard, [(1, 2, "asking")])

    @not_on_wasm("needs threads")
    def test_notifications_arrive_while_the_handler_runs(self) -> None:
        server = Server("s", "1")
        heard = threading.Event()

        @server.tool
        def step(ctx: Context) -> str:
            ctx.progress(1)
            return "heard" if heard.wait(10) else "not heard"

        for timeout in (None, 20):
            heard.clear()
            with self.subTest(timeout), Client(server) as client:
                result = client.call_tool("step", on_progress=lambda *given: heard.set(), timeout=timeout)
                self.assertEqual(result["content"][0]["text"], "heard")

    def test_authorization(self) -> None:
        auth = ResourceServer(static_tokens({"s3cret": {"sub": "alice"}}), resource="https://h.example/mcp",
                              authorization_servers=["https://as.example"])
        server = Server("vault", "1", auth=auth)

        @server.tool
        def who(ctx: Context) -> str:
            return f"{(ctx.principal or {})['sub']} {'authorization' in ctx.headers}"

        with Client(server) as client, self.assertRaises(HTTPError) as caught:
            client.call_tool("who")
        self.assertEqual(caught.exception.status, 401)
        with Client(server, headers={"Authorization": "Bearer s3cret"}) as client:
            self.assertEqual(client.call_tool("who")["content"][0]["text"], "alice False")

    @proves("TRANS-04..06")
    def test_the_wire_shows_the_messages(self) -> None:
        seen: List[Any] = []
        with Client(made(), on_elicit=lambda question: {"agree": True}, on_progress=lambda *_: None,
                    wire=lambda sent, received: seen.append((sent, received))) as client:
            client.call_tool("book", {"flight": "a"})
        self.assertEqual(len(seen), 2)
        self.assertIn('"method":"tools/call"', seen[0][0])
        for sent, _ in seen:
            asked = json.loads(sent)
            self.assertEqual((asked["jsonrpc"], asked["params"]["_meta"][PROTOCOL_VERSION]), ("2.0", "2026-07-28"))
        self.assertIn("input_required", seen[0][1])
        self.assertEqual([line.split(",")[1][:9] for line in seen[1][1].splitlines()], ['"method":', '"id":2'[:9]])

    def test_arguments_are_not_shared_with_the_handler(self) -> None:
        server = Server("s", "1")

        @server.tool
        def change(names: List[str]) -> None:
            names.clear()

        names = ["a"]
        with Client(server) as client:
            client.call_tool("change", {"names": names})
        self.assertEqual(names, ["a"])

    def test_a_tool_that_calls_a_server_in_process(self) -> None:
        inner, outer = made(), Server("outer", "1")

        @outer.tool
        def relay(tool: str) -> str:
            with Client(inner) as client:
                return str(client.call_tool(tool)["content"][0]["text"])

        with Client(outer) as client:
            self.assertIn("Thread", client.call_tool("relay", {"tool": "thread"})["content"][0]["text"])
            with self.assertLogs("mcp_ref", "ERROR"):
                result = client.call_tool("relay", {"tool": "nobody"})
        self.assertTrue(result["isError"], "an error of the inner server is not passed on as one of the outer")

    def test_what_is_no_server(self) -> None:
        for place in (None, 7, object(), Server, b"http://x/"):
            with self.assertRaisesRegex(TypeError, "list of strings, or a mcp_ref.server.server.Server"):
                Client(place)  # type: ignore[arg-type]
        for headers in ({"Mcp-Method": "x"}, {"a b": "x"}, {7: "x"}):
            with self.assertRaises(ValueError):
                Client(made(), headers=headers)  # type: ignore[arg-type]
        with Client(made()) as client:
            client.close()
            with self.assertRaisesRegex(TransportError, "closed"):
                client.discover()


class Ending(unittest.TestCase):
    """A call that ends before its handler does, the same in process and over HTTP."""

    def setUp(self) -> None:
        self.server = Server("s", "1")
        self.begun, self.ended = threading.Event(), threading.Event()

        @self.server.tool
        def wait(ctx: Context) -> None:
            self.begun.set()
            while not ctx.cancelled:
                time.sleep(0.005)
            self.ended.set()

        @self.server.tool
        def ask(ctx: Context) -> str:
            ctx.elicit("?", FIELDS, "a")
            self.ended.set()
            return "asked"

        @self.server.tool
        def pause(ctx: Context) -> InputRequired:
            self.begun.set()
            return InputRequired(request_state=1)

    @contextlib.contextmanager
    def clients(self, **options: Any) -> Iterator[List[Client]]:
        with HTTPServer(self.server, port=0) as running:
            with Client(self.server, **options) as here, Client(running.url, **options) as there:
                yield [here, there]

    def cancelled(self, handle: CallHandle) -> None:
        """Cancel once the handler runs, from another thread."""
        self.begun.clear()
        self.ended.clear()

        def run() -> None:
            self.begun.wait(10)
            handle.cancel()
        threading.Thread(target=run, daemon=True).start()

    def test_timeout(self) -> None:
        with self.clients() as clients:
            for client in clients:
                self.ended.clear()

                def attempt(seconds: float, client: Client = client) -> None:
                    self.begun.clear()
                    with self.assertRaisesRegex(Timeout, f"within {seconds:g} s"):
                        client.call_tool("wait", timeout=seconds)
                    self.assertTrue(self.begun.is_set())
                    self.assertTrue(self.ended.wait(60), "the handler learns of it")

                at_some_pace(attempt, 0.1)
        with Client(self.server, timeout=0.1) as client, self.assertRaises(Timeout):
            client.call_tool("wait")

    def test_cancelled_from_another_thread(self) -> None:
        with self.clients() as clients:
            for client in clients:
                handle = CallHandle()
                self.cancelled(handle)
                with self.subTest(client.url), self.assertRaises(CallCancelled):
                    client.call_tool("wait", handle=handle)
                self.assertTrue(handle.cancelled)
                self.assertTrue(self.ended.wait(60), "the handler learns of it")

    def test_a_cancelled_handle_sends_nothing(self) -> None:
        handle = CallHandle()
        handle.cancel()
        handle.cancel()
        with self.clients() as clients:
            for client in clients:
                for use in (lambda: client.call_tool("wait", handle=handle), lambda: client.list_tools(handle=handle),  # noqa: B023
                            lambda: client.request("tools/call", {"name": "wait"}, handle=handle)):  # noqa: B023
                    with self.subTest(client.url), self.assertRaises(CallCancelled):
                        use()
        self.assertFalse(self.begun.is_set())

    def test_cancelled_while_the_user_is_asked(self) -> None:
        handles: List[CallHandle] = []

        def answer(question: Dict[str, Any]) -> Any:
            handles[-1].cancel()
            return accept({"agree": True})

        with self.clients(on_elicit=answer) as clients:
            for client in clients:
                handles.append(CallHandle())
                with self.subTest(client.url), self.assertRaises(CallCancelled):
                    client.call_tool("ask", handle=handles[-1])
        self.assertFalse(self.ended.is_set(), "the answer is not sent")

    def test_cancelled_between_two_rounds(self) -> None:
        with self.clients(max_rounds=1000) as clients:
            for client in clients:
                handle = CallHandle()
                self.cancelled(handle)
                with self.subTest(client.url), self.assertRaises(CallCancelled):
                    client.call_tool("pause", handle=handle)

    def test_one_handle_for_several_calls(self) -> None:
        handle = CallHandle()
        outcomes: List[Any] = []

        def call(client: Client) -> None:
            try:
                client.call_tool("wait", handle=handle)
            except CallCancelled as error:
                outcomes.append(error)

        with self.clients() as clients:
            threads = [threading.Thread(target=call, args=(client,)) for client in clients]
            for thread in threads:
                thread.start()
            self.cancelled(handle)
            for thread in threads:
                thread.join(60)
        self.assertEqual(len(outcomes), 2)

    def test_a_handle_is_a_handle(self) -> None:
        with Client(self.server) as client, self.assertRaisesRegex(TypeError, "CallHandle"):
            client.call_tool("wait", handle=threading.Event())  # type: ignore[arg-type]


class Listening(unittest.TestCase):
    def setUp(self) -> None:
        self.server = made(max_subscriptions=1)

    def change(self, names: Any = itertools.count()) -> None:  # noqa: B008
        self.server.add_tool(lambda: "", name=f"new_{next(names)}")

    def test_changes_are_told(self) -> None:
        with Client(self.server) as client, client.listen(tools=True, uris=["demo://a", "other://a"]) as heard:
            self.assertEqual(heard.honoured, {"toolsListChanged": True, "resourceSubscriptions": ["demo://a"]})
            self.change()
            self.server.notify_resource_updated("demo://a")
            self.assertEqual(next(heard)["method"], "notifications/tools/list_changed")
            self.assertEqual(next(heard)["params"]["uri"], "demo://a")
            threading.Timer(0.01, self.change).start()
            self.assertEqual(next(heard)["method"], "notifications/tools/list_changed")
        self.assertEqual(len(self.server.subscriptions), 0)

    def test_it_ends_from_either_side(self) -> None:
        with Client(self.server) as client:
            heard = client.listen(tools=True)
            threading.Timer(0.01, heard.close).start()
            self.assertEqual(list(heard), [])
            heard = client.listen(tools=True)
            self.change()
            threading.Timer(0.01, next(iter(self.server.subscriptions.streams)).end).start()
            self.assertEqual(len(list(heard)), 1)
            heard = client.listen(tools=True)
            client.close()
            self.assertEqual(list(heard), [])
        self.assertEqual(len(self.server.subscriptions), 0)

    def test_what_refuses_it(self) -> None:
        with Client(self.server) as client, client.listen(tools=True):
            with self.assertRaises(ProtocolError) as caught:
                client.listen(tools=True)
            self.assertEqual(caught.exception.code, TooManySubscriptions(1).code)
        with Client(Server("s", "1")) as client, self.assertRaises(MethodNotFound):
            client.listen(tools=True)

    def test_silence_and_a_reader_that_is_too_slow(self) -> None:
        with Client(self.server) as client:
            with client.listen(tools=True, idle=0.01) as heard, self.assertRaisesRegex(Timeout, "nothing came"):
                next(heard)
            with client.listen(uris=["demo://a"]) as heard:
                for _ in range(MAX_QUEUED // 100):
                    self.server.notify_resource_updated("demo://a")
                with self.assertRaises(TransportError):
                    next(heard)

    def test_it_lasts_no_longer_than_the_token(self) -> None:
        def attempt(seconds: float) -> None:
            claims = {"sub": "a", "aud": "https://h.example/mcp", "exp": time.time() + seconds}
            auth = ResourceServer(lambda token: claims, resource="https://h.example/mcp",
                                  authorization_servers=["https://as.example"])
            server = Server("s", "1", auth=auth)
            server.add_tool(lambda: "", name="t")
            with Client(server, headers={"Authorization": "Bearer x"}) as client:
                self.assertEqual(list(client.listen(tools=True)), [])

        at_some_pace(attempt, 0.1)

    def test_a_listen_request_ends_with_its_result(self) -> None:
        with Client(self.server) as client:
            def end() -> None:
                while not self.server.subscriptions.streams:
                    time.sleep(0.005)
                next(iter(self.server.subscriptions.streams)).end()
            threading.Thread(target=end, daemon=True).start()
            client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            with self.assertRaises(Timeout):
                client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, timeout=0.05)
        self.assertEqual(len(self.server.subscriptions), 0)


if __name__ == "__main__":
    unittest.main()
