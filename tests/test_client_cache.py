"""server/utilities/caching, the client's side: what is kept, for whom and how long; the Cache
by itself, and what reaches a server."""

import threading
import unittest
from typing import Any, Callable, Dict, List, Optional

from mcp_ref import CallCancelled, CallHandle, Client, Server, TransportError
from mcp_ref.base.errors import InvalidParams
from mcp_ref.base.request import CACHEABLE
from mcp_ref.client.cache import Cache

from .stub_http import Answer, ClientCase, Seen, error, events, result, said, tool
from .support import proves
from .test_client_listen import ack, note

SERVER, OTHER = "http://one.example/mcp", "http://two.example/mcp"


def listed(ttl: Any = 1000, scope: Any = "private", **more: Any) -> Dict[str, Any]:
    return {"resultType": "complete", "tools": [{"name": "a"}], "ttlMs": ttl, "cacheScope": scope, **more}


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 100.0
        self.cache = Cache(clock=lambda: self.now)

    def put(self, result: Any, method: str = "tools/list", params: Optional[Dict[str, Any]] = None,
            token: str = "A", server: str = SERVER) -> None:
        self.cache.put(server, method, params or {}, {"Authorization": token}, result, self.cache.changes)

    def get(self, method: str = "tools/list", params: Optional[Dict[str, Any]] = None, token: str = "A",
            server: str = SERVER) -> Any:
        return self.cache.get(server, method, params or {}, {"authorization": token})

    @proves("CACHE-10", "CACHE-14", "CACHE-15")
    def test_fresh_until_the_millisecond_that_the_server_said(self) -> None:
        self.put(listed(1500))
        self.now += 1.499
        self.assertEqual(self.get(), listed(1500))
        self.now += 0.001
        self.assertIsNone(self.get())

    @proves("CACHE-09", "CACHE-11", "CACHE-12")
    def test_what_is_no_positive_integer_is_stale_at_once(self) -> None:
        for ttl in (0, -1, -1500, None, 1.5, "1000", True, [1000]):
            self.put(listed(ttl))
            self.assertIsNone(self.get(), ttl)
        self.put({"resultType": "complete", "tools": []})
        self.assertEqual((self.get(), len(self.cache)), (None, 0))
        self.put(listed(10**600))
        self.assertIsNotNone(self.get())

    @proves("CACHE-07")
    def test_only_the_very_request_is_answered(self) -> None:
        uri, meta = {"uri": "demo://a"}, {"com.example/locale": "de"}
        self.put(listed(), "resources/read", uri)
        self.put(listed(), "tools/list", {"cursor": "2"})
        self.put(listed(), "prompts/list", {"_meta": meta})
        for method, params in (("resources/read", {"uri": "demo://b"}), ("resources/read", {}), ("tools/list", {}),
                               ("tools/list", {"cursor": "3"}), ("resources/list", {"cursor": "2"}),
                               ("prompts/list", {}), ("prompts/list", {"_meta": {"com.example/locale": "fr"}})):
            self.assertIsNone(self.get(method, params), (method, params))
        self.assertIsNone(self.get("resources/read", uri, server=OTHER))
        self.assertIsNotNone(self.get("resources/read", uri))
        self.assertIsNotNone(self.get("prompts/list", {"_meta": {**meta, "progressToken": 7}}))

    def test_other_methods_are_not_kept(self) -> None:
        for method in ("tools/call", "prompts/get", "completion/complete", "com.example/any"):
            self.put(listed(), method)
            self.assertIsNone(self.get(method))
        for method in CACHEABLE:
            self.put(listed(), method)
            self.assertIsNotNone(self.get(method), method)

    @proves("CACHE-08")
    def test_nothing_that_questions_led_to(self) -> None:
        for member in ("inputResponses", "requestState"):
            self.put(listed(), "resources/read", {"uri": "demo://a", member: {}})
        self.assertEqual(len(self.cache), 0)

    @proves("CACHE-17")
    def test_a_private_result_is_for_its_own_authorization(self) -> None:
        self.put(listed(scope="private"))
        self.assertIsNone(self.get(token="B"))
        self.assertIsNone(self.cache.get(SERVER, "tools/list", {}, {}))
        self.assertIsNotNone(self.get(token="A"))
        for scope in (None, "PUBLIC", "shared", 1):
            self.put(listed(scope=scope), token=f"of {scope}")
            self.assertIsNone(self.get(token="C"), scope)

    def test_a_public_one_is_for_all(self) -> None:
        self.put(listed(scope="public"), token="A")
        self.assertIsNotNone(self.get(token="B"))
        self.put(listed(scope="private", tools=[]), token="A")
        self.assertEqual(self.get(token="A")["tools"], [])
        self.assertIsNone(self.get(token="B"))

    def test_nobody_alters_what_is_kept(self) -> None:
        given = listed()
        self.put(given)
        given["tools"].clear()
        self.get()["tools"].clear()
        self.assertEqual(self.get(), listed())

    def test_notifications_make_stale(self) -> None:
        told = {"notifications/tools/list_changed": ["tools/list"],
                "notifications/prompts/list_changed": ["prompts/list"],
                "notifications/resources/list_changed": ["resources/list", "resources/templates/list"]}
        for notification, methods in told.items():
            for method in CACHEABLE:
                self.put(listed(), method)
                self.put(listed(), method, {"cursor": "2"})
            self.cache.hear(OTHER, {"method": notification})
            self.cache.hear(SERVER, {"method": "notifications/message"})
            self.assertEqual([method for method in CACHEABLE if self.get(method) is None], [])
            self.cache.hear(SERVER, {"method": notification})
            self.assertEqual([method for method in CACHEABLE if self.get(method) is None], methods)
            self.assertEqual([method for method in CACHEABLE if self.get(method, {"cursor": "2"}) is None], methods)

    def test_an_update_is_of_one_resource(self) -> None:
        for uri in ("demo://a", "demo://b"):
            self.put(listed(), "resources/read", {"uri": uri})
        self.cache.hear(SERVER, {"method": "notifications/resources/updated", "params": {"uri": "demo://a"}})
        self.assertIsNone(self.get("resources/read", {"uri": "demo://a"}))
        self.assertIsNotNone(self.get("resources/read", {"uri": "demo://b"}))

    def test_a_result_that_was_on_its_way_when_a_change_was_told_is_not_kept(self) -> None:
        before = self.cache.changes
        self.cache.hear(SERVER, {"method": "notifications/tools/list_changed"})
        self.cache.put(SERVER, "tools/list", {}, {}, listed(), before)
        self.assertIsNone(self.cache.get(SERVER, "tools/list", {}, {}))

    def test_the_bound_is_one_of_memory(self) -> None:
        self.cache = Cache(10_000, clock=lambda: self.now)
        for number in range(100):
            self.put(listed(text="x" * 1000), "resources/read", {"uri": f"demo://{number}"})
            self.get("resources/read", {"uri": "demo://0"})
        self.assertEqual(len(self.cache), 9)
        self.assertIsNotNone(self.get("resources/read", {"uri": "demo://0"}))
        self.assertIsNone(self.get("resources/read", {"uri": "demo://1"}))
        self.put(listed(text="x" * 2500), "tools/list")
        self.assertEqual((self.get(), len(self.cache)), (None, 9))
        with self.assertRaisesRegex(ValueError, "max_octets is a number of octets"):
            Cache(0)

    def test_threads_share_it(self) -> None:
        self.cache = Cache(5_000, clock=lambda: self.now)

        def work(name: str) -> None:
            for number in range(300):
                self.put(listed(text=name), "resources/read", {"uri": f"demo://{number % 40}"}, token=name)
                found = self.get("resources/read", {"uri": f"demo://{number % 40}"}, token=name)
                if found is not None and found["text"] != name:
                    mixed.append(found)
                self.cache.hear(SERVER, {"method": "notifications/resources/updated",
                                         "params": {"uri": f"demo://{number % 7}"}})

        mixed: list = []  # type: ignore[type-arg]
        threads = [threading.Thread(target=work, args=(name,)) for name in "ABCD"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(mixed, [])


def page(*names: str, after: Optional[str] = None, ttl: Any = 60_000, **more: Any) -> Callable[[Seen], Answer]:
    more = more if after is None else {"nextCursor": after, **more}
    return result(**{"tools": [tool(name, {}) for name in names], "ttlMs": ttl, "cacheScope": "private", **more})


def read(text: str = "x", scope: str = "private", ttl: Any = 60_000) -> Callable[[Seen], Answer]:
    return result(contents=[{"uri": "x:a", "text": text}], ttlMs=ttl, cacheScope=scope)


class OnTheWire(ClientCase):
    """What reaches the server, and what does not."""

    def setUp(self) -> None:
        self.now = 100.0
        self.cache = Cache(clock=lambda: self.now)

    def keeping(self, *script: Any, **options: Any) -> Any:
        return self.talk(*script, cache=self.cache, **options)

    @proves("CACHE-10", "CACHE-14", "CACHE-15")
    def test_each_method_is_asked_once_while_it_is_fresh(self) -> None:
        hints = {"ttlMs": 1000, "cacheScope": "private"}
        both = result(tools=[], prompts=[], resources=[], resourceTemplates=[], contents=[], supportedVersions=[],
                      capabilities={}, **hints)
        with self.keeping(both) as (stub, client):
            asks_for: List[Callable[..., Any]] = [
                client.discover, client.list_tools, client.list_prompts, client.list_resources,
                client.list_resource_templates, lambda **more: client.read_resource("x:a", **more),
                lambda **more: client.page("tools/list", "7", **more)]
            for number, ask in enumerate(asks_for, 1):
                first = ask()
                self.assertEqual((ask(), ask(), len(stub.seen)), (first, first, number))
            count = len(stub.seen)
            for ask in asks_for:
                ask(fresh=True)
            self.assertEqual(len(stub.seen), 2 * count)
            self.now += 1.0
            self.assertEqual(len(stub.seen), 2 * count, "nothing is fetched that nobody asks for")
            client.discover()
            self.assertEqual(len(stub.seen), 2 * count + 1)
        with self.talk(both) as (stub, client):
            client.discover()
            client.discover()
            self.assertEqual(len(stub.seen), 2, "off by default")
            with self.assertRaisesRegex(TypeError, "cache is a Cache"):
                Client(stub.url, cache=True)  # type: ignore[arg-type]

    @proves("CACHE-09", "CACHE-11", "CACHE-12")
    def test_what_may_not_be_kept(self) -> None:
        for ttl in (0, -1, None, 1.5, "1000", True):
            with self.keeping(read(ttl=ttl)) as (stub, client):
                client.read_resource("x:a")
                client.read_resource("x:a")
                self.assertEqual(len(stub.seen), 2, ttl)
        with self.keeping(result(contents=[])) as (stub, client):
            client.read_resource("x:a")
            client.read_resource("x:a")
            self.assertEqual(len(stub.seen), 2)

    @proves("CACHE-08")
    def test_nothing_of_rounds(self) -> None:
        begun = result(resultType="input_required", requestState="S", ttlMs=60_000, cacheScope="public")
        with self.keeping(begun, read(), begun, read()) as (stub, client):
            client.read_resource("x:a")
            client.read_resource("x:a")
            self.assertEqual(len(stub.seen), 4)
            client.read_resource("x:a", request_state="S")
            client.read_resource("x:a", request_state="S")
            self.assertEqual((len(stub.seen), len(self.cache)), (6, 0))

    @proves("CACHE-07")
    def test_other_requests_are_others(self) -> None:
        with self.keeping(read()) as (stub, client):
            for uri, options in (("x:a", {}), ("x:b", {}), ("x:a", {"meta": {"com.example/l": "de"}})):
                client.read_resource(uri, **options)  # type: ignore[arg-type]
            client.read_resource("x:a", on_progress=lambda *_: None, log_level="error")
            self.assertEqual(len(stub.seen), 3)
            with Client(stub.url + "?x=1", era="modern", cache=self.cache) as other:
                other.read_resource("x:a")
                self.assertEqual(len(stub.seen), 4)
            with Client(stub.url, era="modern", cache=self.cache) as same:
                same.read_resource("x:a")
                self.assertEqual(len(stub.seen), 4, "clients share it")

    @proves("CACHE-17")
    def test_private_results_never_cross_tokens(self) -> None:
        for one, other in (({"Authorization": "Bearer a"}, {"Authorization": "Bearer b"}), ({"X-Api-Key": "a"}, {})):
            for scope, count in (("private", 2), ("public", 1), ("else", 2)):
                self.cache = Cache()
                with self.keeping(read(scope=scope), headers=one) as (stub, client):
                    client.read_resource("x:a")
                    with Client(stub.url, era="modern", cache=self.cache, headers=other) as second:
                        second.read_resource("x:a")
                    client.read_resource("x:a")
                    self.assertEqual(len(stub.seen), count, scope)

    @proves("CACHE-17")
    def test_the_user_of_the_url_counts_and_is_not_kept(self) -> None:
        with self.keeping(read()) as (stub, client):
            for user in ("ada:pw", "bob:pw", "ada:pw"):
                with Client(stub.url.replace("://", f"://{user}@"), era="modern", cache=self.cache) as named:
                    named.read_resource("x:a")
            client.read_resource("x:a")
            self.assertEqual(len(stub.seen), 3)
        self.assertNotIn("pw", repr(self.cache._kept))

    @proves("CACHE-17")
    def test_what_counts_is_what_was_sent(self) -> None:
        tokens = iter(["a", "b", "a", "b"])
        with self.keeping(read("of b"), headers=lambda: {"Authorization": next(tokens)}) as (stub, client):
            client.read_resource("x:a")  # looked for with a, sent with b
            self.assertEqual(stub.seen[0].header("Authorization"), "b")
            client.read_resource("x:a")  # looked for with a: not there; sent with b
            self.assertEqual(len(stub.seen), 2)
            with Client(stub.url, era="modern", cache=self.cache, headers={"Authorization": "b"}) as second:
                second.read_resource("x:a")
                self.assertEqual(len(stub.seen), 2)

    @proves("CACHE-20", "CACHE-21")
    def test_a_whole_list_is_of_one_time(self) -> None:
        first, second = page("a", after="2", ttl=60_000), page("b", ttl=1000)
        with self.keeping(first, second, page("c", after="2"), page("d")) as (stub, client):
            for _ in range(2):
                self.assertEqual([each["name"] for each in client.list_tools()], ["a", "b"])
            self.assertEqual(len(stub.seen), 2)
            self.now += 1
            self.assertEqual([each["name"] for each in client.list_tools()], ["c", "d"], "both, though one was fresh")
            self.assertEqual([seen.params.get("cursor") for seen in stub.seen], [None, "2", None, "2"])

    @proves("CACHE-19")
    def test_a_stale_page_is_fetched_by_its_own_cursor(self) -> None:
        with self.keeping(page("a", after="2"), page("b", ttl=1000), page("c")) as (stub, client):
            self.assertEqual(len(list(client.pages("tools/list"))), 2)
            self.now += 1
            self.assertEqual(client.page("tools/list")["tools"][0]["name"], "a")
            self.assertEqual(client.page("tools/list", "2")["tools"][0]["name"], "c")
            self.assertEqual([seen.params.get("cursor") for seen in stub.seen], [None, "2", "2"])

    @proves("CACHE-21")
    def test_a_refused_cursor_drops_every_page(self) -> None:
        with self.keeping(page("a", after="2"), error(-32602), page("new")) as (stub, client):
            client.page("tools/list")
            with self.assertRaises(InvalidParams):
                client.page("tools/list", "2")
            self.assertEqual(client.page("tools/list")["tools"][0]["name"], "new")
            self.assertEqual(len(stub.seen), 3)
        self.cache = Cache()
        with self.keeping(page("a", after="2"), error(-32602), page("new")) as (stub, client):
            self.assertEqual([each["name"] for each in client.list_tools()], ["new"])
            self.assertEqual([each["name"] for each in client.list_tools()], ["new"])
            self.assertEqual(len(stub.seen), 3)

    def test_pages_without_an_end_are_not_walked_for_ever(self) -> None:
        with self.keeping(page("a", after="same")) as (stub, client):
            client.page("tools/list")
            client.page("tools/list", "same")
            with self.assertRaisesRegex(TransportError, "goes on beyond"):
                client.list_tools()

    def test_an_unknown_tool_may_be_of_an_old_list(self) -> None:
        with self.keeping(page("a"), error(-32602), page("b")) as (stub, client):
            client.list_tools()
            with self.assertRaises(InvalidParams):
                client.call_tool("a")
            self.assertEqual([each["name"] for each in client.list_tools()], ["b"])

    def test_a_tool_from_the_cache_is_mirrored_and_checked(self) -> None:
        typed = tool("t", {"v": {"type": "string", "x-mcp-header": "V"}}, outputSchema={"type": "object"})
        with self.keeping(result(tools=[typed], ttlMs=1000, cacheScope="public"), said()) as (stub, client):
            client.list_tools()
            with Client(stub.url, era="modern", cache=self.cache) as second:
                second.list_tools()
                with self.assertRaisesRegex(TransportError, "structuredContent"):
                    second.call_tool("t", {"v": "x"})
            self.assertEqual((len(stub.seen), stub.seen[1].header("Mcp-Param-V")), (2, "x"))

    def test_headers_that_do_not_fit_fetch_the_list_anew(self) -> None:
        before, after = (result(tools=[tool("t", {"v": {"type": "string", "x-mcp-header": name}})], ttlMs=60_000)
                         for name in ("Old", "New"))
        with self.keeping(before, error(-32020), after, said()) as (stub, client):
            client.list_tools()
            client.call_tool("t", {"v": "x"})
            self.assertEqual(stub.seen[-1].header("Mcp-Param-New"), "x")

    def test_who_is_closed_or_cancelled_is_told_nothing(self) -> None:
        handle = CallHandle()
        handle.cancel()
        with self.keeping(read()) as (stub, client):
            client.read_resource("x:a")
            with self.assertRaises(CallCancelled):
                client.read_resource("x:a", handle=handle)
        for ask in (lambda: client.read_resource("x:a"), client.list_tools):
            with self.assertRaisesRegex(TransportError, "closed"):
                ask()

    def test_servers_of_this_process_share_nothing(self) -> None:
        servers = [Server("same", "1") for _ in range(2)]
        for number, server in enumerate(servers):
            server.add_tool(lambda: "", name=f"t{number}")
        names = [[each["name"] for each in Client(server, cache=self.cache).list_tools()] for server in servers]
        self.assertEqual(names, [["t0"], ["t1"]])


class Notified(ClientCase):
    """What `listen` hears makes stale, while it is read."""

    def test_a_list_and_a_resource(self) -> None:
        told = [note(2), note(2, "notifications/resources/updated", uri="x:a")]
        cache = Cache()
        stream = events(ack(2, toolsListChanged=True, resourceSubscriptions=["x:a"]), *told,
                        last=result(_meta={"io.modelcontextprotocol/subscriptionId": 2}))
        with self.talk(page("a"), stream, cache=cache) as (stub, client):
            client.list_tools()
            subscription = client.listen(tools=True, uris=["x:a"])
            stub.script = [read()]
            client.read_resource("x:a")
            client.read_resource("x:b")
            self.assertEqual(len(cache), 3)
            next(subscription)
            self.assertEqual(len(cache), 2)
            next(subscription)
            self.assertEqual(len(cache), 1)
            client.read_resource("x:b")
            self.assertEqual(len(stub.seen), 4)
            self.assertEqual(list(subscription), [])


if __name__ == "__main__":
    unittest.main()
