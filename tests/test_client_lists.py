"""Lists as a client fetches them: pages, cursors, items that are malformed, and two fetched at once."""

import threading
import unittest
from typing import Any, Dict, List
from unittest import mock

from mcp_ref.base.errors import InvalidParams, ProtocolError, TransportError
from mcp_ref.client import pages as pages_module
from tests.stub_http import Answer, ClientCase, Seen, error, message, mirroring, result, said, tool

from .support import proves


@proves("C057", "C059")
class Pages(ClientCase):
    @proves("PAGE-02", "PAGE-10")
    def test_all_pages_with_cursors_as_they_came(self) -> None:
        script = [result(tools=[tool("a", {})], nextCursor=""), result(tools=[], nextCursor="x y"),
                  result(tools=[tool("b", {})], nextCursor=None)]
        with self.talk(*script) as (stub, client):
            self.assertEqual([each["name"] for each in client.list_tools()], ["a", "b"])
        self.assertEqual([seen.params.get("cursor") for seen in stub.seen], [None, "", "x y"])

    @proves("PAGE-07..10")
    def test_a_cursor_is_whatever_text_it_is(self) -> None:
        lists: Any = (("tools", "list_tools"), ("prompts", "list_prompts"), ("resources", "list_resources"),
                      ("resourceTemplates", "list_resource_templates"))
        cursors = ["", " ", "0", "-1", "null", "not base64!", "eyJwYWdlIjogMn0=", "\u2028\x00\U0001f600", "a" * 50_000,
                   "", '{"page": 2}', "https://x.example/?page=2"]
        for name, method in lists:
            with self.talk(*[result(**{name: []}, nextCursor=cursor) for cursor in cursors], result(**{name: []})) as (
                    stub, client):
                self.assertEqual(getattr(client, method)(), [])
            self.assertEqual([seen.params.get("cursor") for seen in stub.seen], [None, *cursors])

    @proves("PAGE-02")
    def test_pages_of_any_size(self) -> None:
        sizes = (1, 7, 0, 0, 300, 2)
        names = [[f"{page}-{at}" for at in range(size)] for page, size in enumerate(sizes)]
        pages = [result(tools=[tool(name, {}) for name in page], nextCursor="x") for page in names]
        with self.talk(*pages, result(tools=[])) as (_, client):
            self.assertEqual([each["name"] for each in client.list_tools()], [name for page in names for name in page])

    @proves("PAGE-07", "PAGE-09")
    def test_cursors_are_compared_with_nothing(self) -> None:
        pages = [result(tools=[tool(name, {})], nextCursor="same") for name in ("a", "b", "c")]
        with self.talk(*pages, result(tools=[tool("d", {})])) as (stub, client):
            self.assertEqual([each["name"] for each in client.list_tools()], ["a", "b", "c", "d"])
        self.assertEqual([seen.params.get("cursor") for seen in stub.seen], [None, "same", "same", "same"])

    def test_a_cursor_that_never_advances(self) -> None:
        for cursor in ("", "p2"):  # C057
            with self.talk(result(tools=[], nextCursor=cursor)) as (stub, client):
                with mock.patch.object(pages_module, "MAX_PAGES", 9):
                    with self.assertRaisesRegex(TransportError, "9 pages"):
                        client.list_tools()
                self.assertEqual(len(stub.seen), 9)

    def test_a_cursor_refused_on_the_way_starts_the_list_anew_once(self) -> None:
        lists: Any = (("tools", "list_tools", tool), ("prompts", "list_prompts", lambda name, _: {"name": name}),
                      ("resources", "list_resources", lambda name, _: {"uri": name}),
                      ("resourceTemplates", "list_resource_templates", lambda name, _: {"uriTemplate": name}))
        for name, method, made in lists:
            for refusal in (error(-32602), error(-32602, status=200), message({"id": "x", "error": {
                    "code": -32602, "message": "Unknown cursor"}}, 400)):
                old, new = ([made(each, {})] for each in ("old", "new"))
                script = [result(**{name: old}, nextCursor="1"), refusal,
                          result(**{name: new}, nextCursor="2"), result(**{name: []})]
                with self.talk(*script) as (stub, client):
                    self.assertEqual(getattr(client, method)(), new)
                self.assertEqual([seen.params.get("cursor") for seen in stub.seen], [None, "1", None, "2"])
        first = result(tools=[], nextCursor="1")
        with self.talk(first, error(-32602), first, error(-32602)) as (stub, client):
            with self.assertRaises(InvalidParams):
                client.list_tools()
            self.assertEqual(len(stub.seen), 4, "anew once, not more")
        for script, count in (([error(-32602)], 1), ([first, error(-32601, status=404)], 2), ([first, error(7)], 2)):
            with self.talk(*script) as (stub, client), self.assertRaises(ProtocolError):
                client.list_tools()
            self.assertEqual(len(stub.seen), count, "not what a refused cursor looks like")

    def test_bounds_of_a_list(self) -> None:
        def endless(seen: Seen) -> Answer:
            return result(tools=[tool("a", {})], nextCursor=str(seen.message["id"]))(seen)

        for bound in ("MAX_PAGES", "MAX_ITEMS"):
            with self.talk(endless) as (stub, client), mock.patch.object(pages_module, bound, 5):
                with self.assertRaisesRegex(TransportError, "beyond"):
                    client.list_tools()
                self.assertLess(len(stub.seen), 8)

    def test_malformed_pages(self) -> None:
        cursors: List[Any] = [7, True, 0, [], ["2"], {}, 1.5]
        pages: List[Dict[str, Any]] = [{}, {"tools": {}}, {"tools": None},
                                       *({"tools": [], "nextCursor": cursor} for cursor in cursors)]
        for members in pages:
            with self.talk(result(**members)) as (stub, client):
                with self.assertRaisesRegex(TransportError, "nextCursor" if "nextCursor" in members else "needs tools"):
                    client.list_tools()
                self.assertEqual(len(stub.seen), 1)

    def test_a_malformed_item_does_not_lose_the_list(self) -> None:
        lists: Any = (("tools", "list_tools", "name", {"inputSchema": {}}), ("prompts", "list_prompts", "name", {}),
                      ("resources", "list_resources", "uri", {"name": "x"}),
                      ("resourceTemplates", "list_resource_templates", "uriTemplate", {"name": "x"}))
        texts: List[Any] = [None, 7, ["a"], {}, True]
        for name, method, key, rest in lists:
            bad: List[Any] = [7, None, "x", [], {}, rest, *({key: value, **rest} for value in texts)]
            good = [{key: each, **rest} for each in ("a", "b")]
            with self.talk(result(**{name: [good[0], *bad, good[1]]})) as (_, client):
                with self.assertLogs("mcp_ref", "WARNING") as logged:
                    self.assertEqual(getattr(client, method)(), good)
            line, = logged.output  # one, however many there are
            self.assertIn(f"{len(bad)} of the {name} listed are left out: each needs {key}, a text, and the first of "
                          "them is 7", line)
        schemas: List[Any] = [None, 7, [], "x", {"properties": {"v": {"type": ["string"], "x-mcp-header": "V"}}}]
        listing = [tool("a", {}), *({"name": f"t{at}", "inputSchema": each} for at, each in enumerate(schemas)),
                   {"name": "none"}]
        with self.talk(result(tools=listing)) as (_, client), self.assertLogs("mcp_ref", "WARNING") as logged:
            self.assertEqual(client.list_tools(), [tool("a", {})])
        self.assertEqual(len(logged.records), len(schemas) + 1)

    def test_odd_cache_hints_do_no_harm(self) -> None:
        hints: List[Dict[str, Any]] = [{"cacheScope": ""}, {"ttlMs": -5}, {"ttlMs": None}, {"ttlMs": 1.5},
                                       {"ttlMs": 1e18}, {"cacheScope": "shared"}, {"ttlMs": "x", "cacheScope": 7}]
        for members in hints:  # C059
            with self.talk(result(tools=[tool("a", {})], **members)) as (_, client):
                self.assertEqual(len(client.list_tools()), 1)


class ListedTwice(ClientCase):
    """Two list_tools at once: the one asked for later decides what is mirrored."""

    def listing(self, header: str) -> Any:
        return result(tools=[mirroring("t", "v", "string", header)])

    def both(self, early: Any, late: Any, early_answers_first: bool) -> Any:
        """The header that a call has after both, and what each call returned, in the order asked for."""
        asked, first = threading.Event(), threading.Event()

        def answer_early(seen: Seen) -> Answer:
            asked.set()
            if not early_answers_first:
                first.wait(10)
            return early(seen)  # type: ignore[no-any-return]

        def answer_late(seen: Seen) -> Answer:
            if early_answers_first:
                first.wait(10)
            return late(seen)  # type: ignore[no-any-return]

        got: Dict[str, Any] = {}

        def fetch(name: str) -> None:
            try:
                got[name] = [each["inputSchema"]["properties"]["v"]["x-mcp-header"] for each in client.list_tools()]
            except ProtocolError as fault:
                got[name] = fault.code

        with self.talk(answer_early, answer_late, said()) as (stub, client):
            threads = [threading.Thread(target=fetch, args=(name,)) for name in ("early", "late")]
            threads[0].start()
            self.assertTrue(asked.wait(60))
            threads[1].start()
            for thread in threads if early_answers_first else reversed(threads):
                thread.join(60)
                first.set()
            client.call_tool("t", {"v": "x"})
        fields = [name.lower() for name, _ in stub.seen[-1].fields if name.lower().startswith("mcp-param-")]
        return fields, got["early"], got["late"]

    def test_whichever_answer_comes_last(self) -> None:
        for early_answers_first in (True, False):
            self.assertEqual(self.both(self.listing("Early"), self.listing("Late"), early_answers_first),
                             (["mcp-param-late"], ["Early"], ["Late"]))

    def test_one_that_fails_decides_nothing(self) -> None:
        for early_answers_first in (True, False):
            self.assertEqual(self.both(self.listing("Early"), error(-32603, status=500), early_answers_first),
                             (["mcp-param-early"], ["Early"], -32603))


if __name__ == "__main__":
    unittest.main()
