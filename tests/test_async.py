"""Async handlers: one event loop for a server, cancellation at an await, questions in tasks; contexts of their own."""

import asyncio
import contextvars
import gc
import json
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

from mcp_ref import Client, Server
from mcp_ref.base.request import Request
from mcp_ref.patterns.notifications import Cancelled
from mcp_ref.transports.http_server import HTTPServer

from .support import RawClient, accept, call, message, not_on_wasm

TaskGroup: Any = getattr(asyncio, "TaskGroup", None)
NAME = {"name": {"type": "string"}}


class OneLoop(unittest.TestCase):
    def test_what_belongs_to_a_loop_is_shared_by_calls(self) -> None:
        server = Server("s", "1")
        shared: List[Any] = []
        order: List[str] = []

        @server.tool
        async def work(ctx, n: int) -> str:
            if not shared:
                shared.append(asyncio.Lock())
            async with shared[0]:
                order.append(f"in {n}")
                await asyncio.sleep(0.01)
                order.append(f"out {n}")
            return str(id(asyncio.get_running_loop()))

        with ThreadPoolExecutor(3) as pool:
            replies = list(pool.map(lambda n: call(server, "work", {"n": n}), range(3)))
        self.assertEqual(len({reply.text for reply in replies}), 1)
        self.assertEqual([line.split()[0] for line in order], ["in", "out"] * 3)

    def test_calls_wait_for_each_other_by_a_queue(self) -> None:
        server = Server("s", "1")
        queues: List[Any] = []
        waiting = threading.Event()

        @server.tool
        async def get(ctx) -> str:
            queues.append(asyncio.Queue())
            waiting.set()
            return await queues[0].get()

        @server.tool
        async def put(ctx) -> str:
            await queues[0].put("handed over")
            return "put"

        with ThreadPoolExecutor(2) as pool:
            got = pool.submit(call, server, "get")
            self.assertTrue(waiting.wait(30))
            self.assertEqual(call(server, "put").text, "put")
            self.assertEqual(got.result(30).text, "handed over")

    @not_on_wasm("needs threads")
    def test_a_task_that_would_end_the_process_ends_nothing_else(self) -> None:
        server = Server("s", "1")

        @server.tool
        async def leaves(ctx, how: str) -> str:
            if how == "here":
                sys.exit(3)
            task = asyncio.ensure_future(self.leave())
            await asyncio.wait([task])
            return "still here"

        @server.tool
        async def fine(ctx) -> str:
            await asyncio.sleep(0)
            return "fine"

        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertTrue(call(server, "leaves", {"how": "here"}).result["isError"])
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertEqual(call(server, "leaves", {"how": "in a task"}).text, "still here")
        self.assertEqual(call(server, "fine").text, "fine")

    @staticmethod
    async def leave() -> None:
        sys.exit(3)

    @not_on_wasm("needs threads")
    def test_a_handler_that_stops_the_loop_stops_nobody(self) -> None:
        server = Server("s", "1")

        @server.tool
        async def stop() -> str:
            asyncio.get_running_loop().stop()
            await asyncio.sleep(0.01)
            return "goes on"

        self.assertEqual([call(server, "stop").text, call(server, "stop").text], ["goes on"] * 2)

    @not_on_wasm("there each handler has a loop of its own")
    def test_a_handler_that_waits_for_another_of_its_server_is_told_and_stops_nobody(self) -> None:
        server = Server("s", "1")

        @server.tool
        async def inner() -> str:
            return "in"

        @server.tool
        async def outer(beside: bool) -> str:
            def through() -> str:
                with Client(server) as client:
                    return str(client.call_tool("inner")["content"][0]["text"])
            return await asyncio.get_running_loop().run_in_executor(None, through) if beside else through()

        said: List[str] = []
        inside = {"beside": False}
        asking = threading.Thread(target=lambda: said.append(call(server, "outer", inside).text), daemon=True)
        with self.assertLogs("mcp_ref", "ERROR") as logs:
            asking.start()
            asking.join(10)
        self.assertEqual(said, ["The tool inner failed; the server's log says why."])
        self.assertIn("as await loop.run_in_executor", "".join(logs.output))
        self.assertEqual(call(server, "outer", {"beside": True}).text, "in")

    @not_on_wasm("JavaScript awaits whatever a promise is resolved with")
    def test_whatever_can_be_awaited_is(self) -> None:
        server = Server("s", "1")

        class Later:
            def __await__(self):
                yield from asyncio.sleep(0).__await__()
                return "now"

        @server.tool
        def later() -> Any:
            return Later()

        @server.tool
        async def forgotten() -> str:
            return Later()  # type: ignore[return-value]

        self.assertEqual(call(server, "later").text, "now")
        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertIn("await it", call(server, "forgotten").text)

    @not_on_wasm("needs threads")
    def test_the_loop_ends_with_its_server(self) -> None:
        threads: List[threading.Thread] = []

        async def t() -> str:
            threads.append(threading.current_thread())
            return "x"

        server = Server("s", "1")
        server.add_tool(t)
        call(server, "t")
        del server
        gc.collect()
        threads[0].join(30)
        self.assertFalse(threads[0].is_alive())


class Cancelling(unittest.TestCase):
    def test_a_client_that_leaves_cancels_the_task_at_its_await(self) -> None:
        server = Server("s", "1")
        begun, ended = threading.Event(), threading.Event()
        seen: List[Any] = []

        @server.tool
        async def wait(ctx) -> str:
            begun.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                seen.append(ctx.cancelled)
                raise
            finally:
                ended.set()
            return "never"

        with HTTPServer(server, port=0) as running:
            with RawClient(running.url) as client:
                client.request(message("tools/call", {"name": "wait"}))
                self.assertTrue(begun.wait(30))
            self.assertTrue(ended.wait(30))
        self.assertEqual(seen, [True])

    def test_the_request_has_no_answer_any_more(self) -> None:
        server = Server("s", "1")
        begun = threading.Event()

        @server.tool
        async def wait(ctx) -> str:
            begun.set()
            await asyncio.sleep(3600)
            return "never"

        body = json.dumps(message("tools/call", {"name": "wait"})).encode()
        request = Request(lambda: body)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(server.handle, request)
            self.assertTrue(begun.wait(30))
            request.cancelled = True
            self.assertRaises(Cancelled, answer.result, 30)

    def test_a_cancellation_of_its_own_is_a_failure(self) -> None:
        server = Server("s", "1")

        @server.tool
        async def t(ctx) -> str:
            raise asyncio.CancelledError()

        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertTrue(call(server, "t").result["isError"])


class Asking(unittest.TestCase):
    """A question in a task ends the round, not the tool."""

    def both(self, tool: str, server: Server) -> None:
        reply = call(server, tool)
        self.assertEqual(reply.result["resultType"], "input_required", reply.body)
        asked = {request["params"]["message"]: key for key, request in reply.result["inputRequests"].items()}
        self.assertEqual(sorted(asked), ["first?", "last?"])
        done = call(server, tool, requestState=reply.result["requestState"],
                    inputResponses={asked["first?"]: accept(name="Ada"), asked["last?"]: accept(name="Lovelace")})
        self.assertEqual(done.text, "Ada Lovelace")

    def test_gather(self) -> None:
        server = Server("s", "1")

        @server.tool
        async def gathers(ctx) -> str:
            async def ask(what: str) -> str:
                await asyncio.sleep(0)
                return ctx.elicit(f"{what}?", NAME)["name"]
            return " ".join(await asyncio.gather(ask("first"), ask("last")))

        self.both("gathers", server)

    def test_gather_that_returns_exceptions(self) -> None:
        server = Server("s", "1")

        @server.tool
        async def gathered(ctx) -> str:
            async def ask(key: str) -> str:
                return ctx.elicit(f"{key}?", NAME, key=key)["name"]
            said = await asyncio.gather(ask("first"), ask("last"), return_exceptions=True)
            return " ".join(said)  # type: ignore[arg-type] # which fails for an exception

        self.both("gathered", server)

    @not_on_wasm("there each handler has a loop of its own")
    def test_questions_of_tasks_that_are_looked_at_and_not_awaited(self) -> None:
        """Are asked, and asyncio has nothing to tell of them; of a failure it has."""
        server = Server("s", "1")

        async def ask(ctx, key: str) -> str:
            return str(ctx.elicit(f"{key}?", NAME, key)["name"])

        async def fail() -> None:
            raise ValueError("failed")

        @server.tool
        async def waits(ctx) -> str:
            tasks = [asyncio.ensure_future(ask(ctx, key)) for key in "ab"]
            await asyncio.wait(tasks)
            return " ".join(task.result() for task in tasks)

        @server.tool
        async def forgets(ctx) -> str:
            await asyncio.wait([asyncio.ensure_future(fail())])
            return ""

        with self.assertLogs("asyncio", "ERROR") as logs:
            asked = call(server, "waits").result
            self.assertEqual(sorted(asked["inputRequests"]), ["a", "b"])
            gc.collect()
            call(server, "forgets")
            for _ in range(3):
                gc.collect()
        self.assertEqual(len(logs.output), 1, logs.output)
        self.assertIn("ValueError: failed", logs.output[0])
        answers = {key: accept(name=key) for key in "ab"}
        self.assertEqual(call(server, "waits", inputResponses=answers, requestState=asked["requestState"]).text, "a b")

    @unittest.skipIf(TaskGroup is None, "task groups came with Python 3.11")
    def test_task_group(self) -> None:
        server = Server("s", "1")

        @server.tool
        async def groups(ctx) -> str:
            async def ask(what: str) -> str:
                await asyncio.sleep(0)
                return ctx.elicit(f"{what}?", NAME)["name"]
            async with TaskGroup() as outer:
                first = outer.create_task(ask("first"))
                async with TaskGroup() as inner:
                    last = inner.create_task(ask("last"))
            return f"{first.result()} {last.result()}"

        self.both("groups", server)

    @unittest.skipIf(TaskGroup is None, "task groups came with Python 3.11")
    def test_a_failure_beside_a_question_is_a_failure(self) -> None:
        server = Server("s", "1")

        @server.tool
        async def t(ctx) -> str:
            async def fail() -> None:
                raise ValueError("no")
            async def ask() -> None:
                ctx.elicit("?", NAME)
            async with TaskGroup() as group:
                group.create_task(ask())
                group.create_task(fail())
            return "never"

        with self.assertLogs("mcp_ref", "ERROR"):
            self.assertTrue(call(server, "t").result["isError"])


class Contexts(unittest.TestCase):
    def test_nothing_of_one_request_is_seen_by_the_next(self) -> None:
        """Plain and async handlers, on one connection, which one thread serves."""
        variable: "contextvars.ContextVar[str]" = contextvars.ContextVar("variable", default="clean")
        server = Server("s", "1")

        @server.tool
        def plain(ctx, value: str) -> str:
            before = variable.get()
            variable.set(value)
            return before

        @server.tool
        async def waits(ctx, value: str) -> str:
            before = variable.get()
            variable.set(value)
            await asyncio.sleep(0)
            return before if variable.get() == value else "lost"

        with HTTPServer(server, port=0) as running, RawClient(running.url) as client:
            for tool in ("plain", "plain", "waits", "waits", "plain"):
                client.request(message("tools/call", {"name": tool, "arguments": {"value": tool}}))
                self.assertEqual(client.response().json["result"]["content"][0]["text"], "clean")

    def test_what_the_caller_set_is_seen(self) -> None:
        variable: "contextvars.ContextVar[str]" = contextvars.ContextVar("variable", default="clean")
        server = Server("s", "1")
        server.tool(name="plain")(lambda: variable.get())

        @server.tool
        async def waits() -> str:
            return variable.get()

        variable.set("of the caller")
        self.assertEqual([call(server, name).text for name in ("plain", "waits")], ["of the caller"] * 2)


if __name__ == "__main__":
    unittest.main()
