"""server/tools, prompts and resources, rule by rule: lists that do not vary, and what prompts are made of."""

import logging
import unittest

from mcp_ref import Server, content
from mcp_ref.transports.http_server import HTTPServer

from .support import RawClient, message, post
from .test_rules_base import GOOD, LISTS, make

MEMBERS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
           "resources/templates/list": "resourceTemplates"}


class Lists(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def test_neither_connection_nor_other_requests_alter_a_list(self):
        with HTTPServer(make(), port=0) as running, RawClient(running.url) as used, RawClient(running.url) as fresh:
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

    def test_each_capability_comes_with_its_lists(self):
        capabilities = post(make(), message("server/discover")).result["capabilities"]
        for method in LISTS:
            self.assertIn(method.split("/")[0], capabilities)
            self.assertEqual(post(make(), message(method)).result["resultType"], "complete")

    def test_every_list_and_read_has_its_caching_hints(self):
        for method, params in (("server/discover", {}), *((method, {}) for method in LISTS),
                               ("resources/read", {"uri": "demo://one"}), ("resources/read", {"uri": "demo://x"})):
            made = post(make(ttl_ms=7, cache_scope="public"), message(method, params)).result
            self.assertEqual((made["ttlMs"], made["cacheScope"]), (7, "public"), method)

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


class PromptContent(unittest.TestCase):
    def get(self, block):
        server = Server("prompts", "1")
        server.add_prompt(lambda: block, name="p")
        return post(server, message("prompts/get", {"name": "p"}))

    def resource(self, **members):
        return {"type": "resource", "resource": {"uri": "demo://x", "mimeType": "text/plain", "text": "x", **members}}

    def test_what_is_sent(self):
        for block in (content.image(b"\xfb\xff", "image/svg+xml"), content.audio(b"", "audio/ogg; codecs=opus"),
                      {"type": "image", "data": "+/8=", "mimeType": "image/png"}, self.resource(),
                      content.embedded_resource("file:///a.bin", b"\xff", "application/octet-stream")):
            self.assertEqual(self.get(block).result["messages"], [{"role": "user", "content": block}])

    def refused(self, block):
        with self.assertLogs("mcp_ref", logging.ERROR):
            reply = self.get(block)
        self.assertEqual((reply.status, reply.error["code"]), (500, -32603), block)

    def test_data_is_base64(self):
        for kind, media in (("image", "image/png"), ("audio", "audio/wav")):
            for data in ("not base64!", "YQ", "Y\nQ==", "+_8=", "é", None, 7):
                self.refused({"type": kind, "data": data, "mimeType": media})

    def test_a_mime_type_is_one(self):
        for kind in ("image", "audio"):
            for media in ("", "png", "image/", "/png", "image png", "image/png\r\nx: y", None, 7):
                self.refused({"type": kind, "data": "YQ==", "mimeType": media})

    def test_an_embedded_resource_is_whole(self):
        for members in ({"uri": "nonsense"}, {"uri": ""}, {"uri": "a b:c"}, {"uri": None}, {"mimeType": None},
                        {"mimeType": "text"}, {"text": None}, {"text": 7}, {"blob": "eA=="}):
            self.refused(self.resource(**members))
        for blob in ("not base64!", "YQ", "+_8=", None, 7):
            self.refused({"type": "resource", "resource": {"uri": "demo://x", "mimeType": "a/b", "blob": blob}})
        self.refused(content.embedded_resource("demo://x", "x"))
        self.refused({"type": "resource", "resource": {"uri": "demo://x", "mimeType": "text/plain"}})


if __name__ == "__main__":
    unittest.main()
