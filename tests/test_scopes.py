"""basic/authorization, Scope Challenge Handling: what a token may do, and how more is asked for."""

import unittest
from typing import Any, List, Literal, Tuple

from mcp_ref import Server
from mcp_ref.authorization.scopes import scope_names
from tests.support import call, message, post
from tests.test_authorization import CHALLENGE, auth, bearer, server

from .support import proves


class Scopes(unittest.TestCase):
    """What a token may do, and the step-up challenge for what it may not."""

    def setUp(self) -> None:
        self.server = server(page_size=1, cache_scope="public")

    def insufficient(self, scope: str) -> str:
        return (f'{CHALLENGE}, scope="{scope}", error="insufficient_scope", '
                'error_description="the token lacks a scope that this operation needs"')

    def listed(self, token: str) -> Tuple[List[str], List[str]]:
        names, hints, cursor = [], [], {}
        while True:
            result = post(self.server, message("tools/list", cursor), bearer(token)).result
            names += [tool["name"] for tool in result["tools"]]
            hints.append(result["cacheScope"])
            if "nextCursor" not in result:
                return names, hints
            cursor = {"cursor": result["nextCursor"]}

    @proves("AUTH-59", "AUTH-60")
    def test_every_request_needs_the_servers_scopes(self) -> None:
        for token in ("nothing", "oddscope"):
            reply = post(self.server, message("tools/list"), bearer(token))
            self.assertEqual((reply.status, reply.headers["WWW-Authenticate"]), (403, self.insufficient("mcp")))

    @proves("AUTH-60")
    def test_a_tool_needs_its_own_as_well(self) -> None:
        reply = call(self.server, "write", extra=bearer("guest"))
        self.assertEqual((reply.status, reply.headers["WWW-Authenticate"]), (403, self.insufficient("mcp w")))
        self.assertEqual(call(self.server, "write", extra=bearer("alice")).text, "written")

    def test_all_that_is_needed_in_one_challenge(self) -> None:
        reply = call(self.server, "erase", extra=bearer("nothing"))
        self.assertEqual((reply.status, reply.headers["WWW-Authenticate"]), (403, self.insufficient("mcp w x")))
        for name in ("=?base64?!!?=", "none"):
            reply = call(self.server, "erase", extra={**bearer("nothing"), "mcp-name": name})
            self.assertEqual((reply.status, reply.headers["WWW-Authenticate"]), (403, self.insufficient("mcp")))

    def test_refused_before_arguments_are_looked_at(self) -> None:
        self.assertEqual(call(self.server, "write", {"text": 7}, extra=bearer("guest")).status, 403)

    def test_unknown_tool_is_still_that(self) -> None:
        reply = call(self.server, "none", extra=bearer("guest"))
        self.assertEqual((reply.status, reply.error["code"]), (400, -32602))

    @proves("AUTH-78")
    def test_broader_scope_implies_narrower(self) -> None:
        self.assertEqual(call(self.server, "write", extra=bearer("root")).text, "written")
        self.assertEqual(call(self.server, "erase", extra=bearer("root")).status, 403)
        cycle = auth(implied={"a": ["b"], "b": ["a", "c"]})
        self.assertEqual(cycle.granted({"scope": "a"}), {"a", "b", "c"})

    @proves("TOOL-07", "CACHE-22", "CACHE-23", "AUTHSEC-31")
    def test_lists_show_what_the_token_permits_and_are_private(self) -> None:
        self.assertEqual(self.listed("guest"), (["who"], ["private"]))
        self.assertEqual(self.listed("alice"), (["who", "write"], ["private"] * 2))

    def test_list_without_scopes_keeps_the_servers_hint(self) -> None:
        for name in ("write", "erase"):
            self.server.remove_tool(name)
        self.assertEqual(self.listed("guest"), (["who"], ["public"]))

    def test_cursor_is_the_principals(self) -> None:
        first = post(self.server, message("tools/list"), bearer("alice")).result
        reply = post(self.server, message("tools/list", {"cursor": first["nextCursor"]}), bearer("guest"))
        self.assertEqual((reply.status, reply.error["code"]), (400, -32602))

    def test_scopes_without_authorization_are_not_open(self) -> None:
        made = Server("t", "1")
        made.add_tool(lambda: "written", name="write", scopes=("w",))
        self.assertEqual(call(made, "write").status, 403)
        self.assertEqual(post(made, message("tools/list")).result["tools"], [])

    def test_scopes_that_are_none(self) -> None:
        refused: List[Any] = [['a"b'], ["a b"], [7], "offline_access"]
        for scopes in refused:
            with self.subTest(scopes=scopes), self.assertRaises(ValueError):
                Server("t", "1").add_tool(lambda: "", name="t", scopes=scopes)
        self.assertEqual(scope_names("a b a"), ("a", "b"))


@proves("AUTHSEC-31")
class ScopesElsewhere(unittest.TestCase):
    """The same rules for resources, templates, prompts and completion."""

    def setUp(self) -> None:
        self.server = made = server(cache_scope="public")

        @made.resource("a://open")
        def everybody() -> str:
            return "open"

        @made.resource("a://closed", scopes="w")
        def few() -> str:
            return "closed"

        @made.resource("b://{name}", scopes="w", instances=lambda: [{"uri": "b://1", "name": "one"}])
        def several(name: Literal["1", "2"]) -> str:
            return name

        @made.resource("c://{name}", instances=lambda: [{"uri": "c://1", "name": "one"},
                                                        {"uri": "a://closed", "name": "taken"}])
        def any_of(name: str) -> str:
            return name

        @made.prompt(scopes="w")
        def greet(name: Literal["x", "y"]) -> str:
            return name

        @made.prompt
        def wave() -> str:
            return "bye"

    def ask(self, token: str, method: str, **params: Any) -> Any:
        return post(self.server, message(method, params), bearer(token))

    @proves("PROMPT-03", "RES-03")
    def test_lists(self) -> None:
        every = {("resources/list", "resources", "uri"): ["a://open", "c://1", "a://closed", "b://1"],
                 ("resources/templates/list", "resourceTemplates", "uriTemplate"): ["c://{name}", "b://{name}"],
                 ("prompts/list", "prompts", "name"): ["wave", "greet"]}
        for (method, member, key), names in every.items():
            for token, expected in (("alice", set(names)), ("guest", set(names[:len(names) // 2]))):
                result = self.ask(token, method).result
                self.assertEqual({item[key] for item in result[member]}, expected, (method, token))
                self.assertEqual(result["cacheScope"], "private", method)

    @proves("AUTH-60")
    def test_use(self) -> None:
        prompt, template = {"type": "ref/prompt", "name": "greet"}, {"type": "ref/resource", "uri": "b://{name}"}
        typed = {"argument": {"name": "name", "value": ""}}
        for method, params in (("resources/read", {"uri": "a://closed"}), ("resources/read", {"uri": "b://1"}),
                               ("prompts/get", {"name": "greet", "arguments": {"name": "x"}}),
                               ("completion/complete", {"ref": prompt, **typed}),
                               ("completion/complete", {"ref": template, **typed}),
                               ("completion/complete", {"ref": {**template, "uri": "b://1"}, **typed})):
            reply = self.ask("guest", method, **params)
            self.assertEqual(reply.status, 403, (method, params))
            self.assertIn('scope="mcp w", error="insufficient_scope"', reply.headers["WWW-Authenticate"])
            self.assertEqual(self.ask("alice", method, **params).status, 200, (method, params))
        self.assertEqual(self.ask("guest", "prompts/get", name="wave").status, 200)

    def test_what_is_read_by_few_is_private(self) -> None:
        for uri, scope in (("a://open", "public"), ("a://closed", "private"), ("b://1", "private")):
            self.assertEqual(self.ask("alice", "resources/read", uri=uri).result["cacheScope"], scope)

    def test_all_that_is_needed_in_one_challenge(self) -> None:
        for method, params in (("resources/read", {"uri": "a://closed"}), ("prompts/get", {"name": "greet"})):
            reply = self.ask("nothing", method, **params)
            self.assertIn('scope="mcp w"', reply.headers["WWW-Authenticate"])


if __name__ == "__main__":
    unittest.main()
