"""server/utilities/caching, the client's side: what is kept, for whom and how long; the Cache by itself."""

import threading
import unittest
from typing import Any, Dict, Optional

from mcp_ref.client.cache import METHODS, Cache

from .support import proves

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
        for method in METHODS:
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
            for method in METHODS:
                self.put(listed(), method)
                self.put(listed(), method, {"cursor": "2"})
            self.cache.hear(OTHER, {"method": notification})
            self.cache.hear(SERVER, {"method": "notifications/message"})
            self.assertEqual([method for method in METHODS if self.get(method) is None], [])
            self.cache.hear(SERVER, {"method": notification})
            self.assertEqual([method for method in METHODS if self.get(method) is None], methods)
            self.assertEqual([method for method in METHODS if self.get(method, {"cursor": "2"}) is None], methods)

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


if __name__ == "__main__":
    unittest.main()
