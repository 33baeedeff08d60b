"""Lists of every kind (server/utilities/pagination, caching): they do not vary, and say how long they hold."""

import logging
import unittest

from mcp_ref import Server
from mcp_ref.transports.http_server import HTTPServer

from .support import LISTS, RawClient, full_server, message, post, proves
from .test_base import GOOD

MEMBERS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
           "resources/templates/list": "resourceTemplates"}


@proves("C061")
class Lists(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    @proves("PROMPT-04", "PROMPT-05", "RES-04", "RES-05", "TOOL-08", "TOOL-09")
    def test_neither_connection_nor_other_requests_alter_a_list(self):
        with HTTPServer(full_server(), port=0) as running, \
                RawClient(running.url) as used, RawClient(running.url) as fresh:
            def listed(client):
                found = {}
                for method in LISTS:
                    client.request(message(method))
                    found[method] = client.response().json["result"][MEMBERS[method]]
                return found

            before = listed(used)
            self.assertTrue(all(before.values()), before)
            for method, params in GOOD:
                for capabilities in (None, {}):
                    used.request(message(method, params, capabilities=capabilities))
                    used.response()
            self.assertEqual(listed(used), before, "not after other requests")
            self.assertEqual(listed(fresh), before, "nor on another connection")

    @proves("PROMPT-02", "PROMPT-03", "RES-03", "TOOL-06", "TOOL-07")
    def test_each_capability_comes_with_its_lists(self):
        capabilities = post(full_server(), message("server/discover")).result["capabilities"]
        for method in LISTS:
            self.assertIn(method.split("/")[0], capabilities)
            self.assertEqual(post(full_server(), message(method)).result["resultType"], "complete")

    @proves("CACHE-01..06")
    def test_every_list_and_read_has_its_caching_hints(self):
        for method, params in (("server/discover", {}), *((method, {}) for method in LISTS),
                               ("resources/read", {"uri": "demo://one"}), ("resources/read", {"uri": "demo://x"})):
            made = post(full_server(ttl_ms=7, cache_scope="public"), message(method, params)).result
            self.assertEqual((made["ttlMs"], made["cacheScope"]), (7, "public"), method)

    @proves("CACHE-22", "CACHE-23")
    def test_pages_of_a_private_list_are_all_private(self):
        for scope in ("private", "public"):
            server = Server("pages", "1", page_size=1, cache_scope=scope)
            for number in range(3):
                server.add_tool(lambda: "", name=f"t{number}")
            scopes, params = [], {}
            while params is not None:
                made = post(server, message("tools/list", params)).result
                scopes.append(made["cacheScope"])
                params = {"cursor": made["nextCursor"]} if "nextCursor" in made else None
            self.assertEqual(scopes, [scope] * 3)


if __name__ == "__main__":
    unittest.main()
