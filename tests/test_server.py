"""What an author hands to a Server, told in words where it is wrong; and what a handler reads of a request's head."""

import json
import unittest
from typing import Any

from mcp_ref import Context, Server
from mcp_ref.server.arguments import METHODS

from .support import call, message, stdio

PNG = {"src": "https://app.example/a.png", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark"}


class Arguments(unittest.TestCase):
    def refused(self, kind: type, words: str, *given: Any, **options: Any) -> None:
        with self.subTest(words=words, **options), self.assertRaisesRegex(kind, words):
            Server(*(given or ("s", "1")), **options)

    def test_what_a_server_is_called(self) -> None:
        self.refused(TypeError, "name is a text", 7, "1")
        self.refused(TypeError, "version is a text", "s", 1)
        self.refused(ValueError, "name of a server", "", "1")
        self.refused(ValueError, "version of a server", "s", "")
        for name in ("title", "description", "instructions"):
            self.refused(TypeError, f"{name} is a text", **{name: 7})
        self.refused(TypeError, "websiteUrl is a text", website_url=7)
        self.refused(ValueError, "website_url is a URI", website_url="app example")
        self.refused(ValueError, "surrogate", title="\ud800")
        info = Server("s", "1", title="T", website_url="https://app.example", icons=[PNG]).info
        self.assertEqual(info, {"name": "s", "version": "1", "title": "T", "websiteUrl": "https://app.example",
                                "icons": [PNG]})

    def test_icons(self) -> None:
        for icons in ("https://app.example/a.png", PNG, ["https://app.example/a.png"], 7):
            self.refused(ValueError, "must be a", icons=icons)
        for change, words in (({"src": None}, "src"), ({"src": "a.png"}, "src"), ({"src": "javascript:a"}, "src"),
                              ({"sizes": "48x48"}, "sizes"), ({"sizes": ["48"]}, "sizes"), ({"theme": "blue"}, "theme"),
                              ({"url": "https://a.example"}, "url"), ({"sizes": [["48x48"]]}, "sizes")):
            self.refused(ValueError, words, icons=[{**PNG, **change}])
        self.refused(ValueError, "mimeType", icons=[{**PNG, "mimeType": 7}])

    def test_numbers_and_lists(self) -> None:
        for name, least in (("page_size", 1), ("max_subscriptions", 0)):
            self.refused(ValueError, f"{name} is {least} or more", **{name: least - 1})
            for value in (True, 1.5, "1"):
                self.refused(TypeError, f"{name} is a whole number", **{name: value})
        self.refused(TypeError, "cors is a list", cors="https://app.example")
        self.refused(TypeError, "state_keys is a list", state_keys="a secret of more than sixteen octets")
        self.refused(TypeError, "state_keys is a list", state_keys=b"a secret of more than sixteen octets")
        self.refused(TypeError, "state_keys is a list", state_keys=[5])
        for limit in (0, -1, float("inf"), float("nan"), True, "5"):
            self.refused(ValueError, "a rate limit is a number", rate_limits={"tools/call": limit})
        for pair in (5, "public", (1,)):
            self.refused(TypeError, "caching of tools/list is a pair", caching={"tools/list": pair})

    def test_what_would_have_no_effect(self) -> None:
        pair = (1, "public")
        self.refused(ValueError, 'caching of "tool/list".*did you mean tools/list', caching={"tool/list": pair})
        self.refused(ValueError, 'caching of "tools/call".*none of its methods', caching={"tools/call": pair})
        self.refused(ValueError, 'rate_limits of "tools/cal".*mean tools/call', rate_limits={"tools/cal": 5})
        self.refused(ValueError, "rate_limits of 5", rate_limits={5: 5})
        self.refused(TypeError, "rate_limits is a dict by method", rate_limits=5)
        self.refused(TypeError, "caching is a dict by method", caching=[("tools/list", 5)])
        for method in METHODS:
            Server("s", "1", rate_limits={method: 1})
        self.refused(TypeError, "auth is a ResourceServer, .* verifier", auth=print)
        self.refused(TypeError, "bus is what has publish and subscribe", bus="/run/bus")
        for name in ("logging", "legacy_sessions", "input_required_legacy_shim"):
            for value in ("no", 1, None):
                self.refused(TypeError, f"{name} is True or False", **{name: value})

    def test_an_option_of_the_other_kind_of_resource(self) -> None:
        server = Server("s", "1")
        with self.assertRaisesRegex(TypeError, r"Server.resource\(\) takes no size"):
            server.resource("demo://{a}", size=1)
        with self.assertRaisesRegex(TypeError, r"Server.resource\(\) is given the URI"):
            server.resource(lambda: "x")  # type: ignore[arg-type, type-var]
        with self.assertRaisesRegex(TypeError, r"Server.resource\(\) takes no instances"):
            server.resource("demo://a", instances=list)


class Headers(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server("s", "1")

        @self.server.tool
        def told(ctx: Context) -> str:
            return json.dumps(dict(ctx.headers))

    def test_a_handler_reads_what_came(self) -> None:
        said = json.loads(call(self.server, "told", extra={
            "X-Team": "blue", "Authorization": "Bearer x", "Cookie": "a=b", "Proxy-Authorization": "Basic x"}).text)
        self.assertEqual(said["x-team"], "blue")
        self.assertEqual(said["mcp-method"], "tools/call")
        for name in ("authorization", "cookie", "proxy-authorization"):
            self.assertNotIn(name, said)

    def test_elsewhere_than_over_http_there_are_none(self) -> None:
        self.assertEqual(stdio(self.server, message("tools/call", {"name": "told"})).text, "{}")


if __name__ == "__main__":
    unittest.main()
