"""basic/authorization: the server as an OAuth 2.1 resource server, with and without sockets."""

import json
import unittest
from typing import Any, Callable, Dict, List, Optional, Tuple

from mcp_ref import Server
from mcp_ref.authorization.resource_server import THIS_RESOURCE, ResourceServer, canonical, static_tokens
from mcp_ref.base.errors import TransportError
from mcp_ref.base.request import Head, Request
from mcp_ref.server.invoke import principal_name
from mcp_ref.transports.endpoint import Endpoint
from mcp_ref.transports.http_server import HTTPServer
from tests.support import RawClient, call, exchange, headers, message, post, stdio

from .support import proves

RESOURCE = "https://h.example/mcp"
ISSUER = "https://as.example"
METADATA = "https://h.example/.well-known/oauth-protected-resource/mcp"
NOW = 1_800_000_000.0
CHALLENGE = f'Bearer resource_metadata="{METADATA}"'
INVALID = (CHALLENGE + ', scope="mcp", error="invalid_token", error_description="the access token is invalid, expired '
           'or not for this resource"')

CLAIMS: Dict[str, Dict[str, Any]] = {
    "alice": {"sub": "alice", "scope": "mcp w"},
    "guest": {"sub": "guest", "scope": "mcp"},
    "root": {"sub": "root", "scope": "admin"},
    "nothing": {"sub": "nobody", "scope": "other"},
    "late": {"sub": "alice", "scope": "mcp w", "exp": NOW},
    "early": {"sub": "alice", "scope": "mcp w", "nbf": NOW + 1},
    "timely": {"sub": "alice", "scope": "mcp w", "exp": NOW + 0.5, "nbf": NOW, "iss": ISSUER},
    "elsewhere": {"sub": "alice", "scope": "mcp w", "aud": "https://other.example"},
    "slashed": {"sub": "alice", "scope": "mcp w", "aud": RESOURCE + "/"},
    "unbound": {"sub": "alice", "scope": "mcp w", "aud": None},
    "shouted": {"sub": "alice", "scopes": ["mcp", "w"], "aud": ["https://other.example", "HTTPS://H.Example:443/mcp"]},
    "misissued": {"sub": "alice", "scope": "mcp w", "iss": "https://rogue.example"},
    "anonymous": {"scope": "mcp w"},
    "machine": {"client_id": "alice", "scope": "mcp w"},
    "inactive": {"sub": "alice", "scope": "mcp w", "active": False},
    "badexp": {"sub": "alice", "scope": "mcp w", "exp": "never"},
    "nanexp": {"sub": "alice", "scope": "mcp w", "exp": float("nan")},
    "oddscope": {"sub": "alice", "scope": 7, "scopes": {"mcp": True}},
}


def auth(verifier: Any = None, **options: Any) -> ResourceServer:
    options = {"scopes": ("mcp",), "implied": {"admin": ["mcp", "writer"], "writer": ["w"]}, "clock": lambda: NOW,
               **options}
    return ResourceServer(verifier or static_tokens(CLAIMS), RESOURCE, [ISSUER], **options)


def server(resource: Optional[ResourceServer] = None, **options: Any) -> Server:
    made = Server("t", "1", auth=resource or auth(), **options)

    @made.tool
    def who(ctx: Any) -> str:
        return json.dumps(ctx.principal)

    @made.tool(scopes=("w",))
    def write(text: str = "") -> str:
        return "written"

    @made.tool(scopes="w x")
    def erase() -> str:
        return "erased"

    return made


def bearer(token: str) -> Dict[str, str]:
    return {"authorization": "Bearer " + token}


def get(made: Server, target: str, method: str = "GET", endpoint: Optional[Endpoint] = None, **fields: str) -> Any:
    return exchange(made, b"", Head(method, target, {"host": "127.0.0.1", **fields}), endpoint)


class Tokens(unittest.TestCase):
    """Who is let in, and what those who are not are told."""

    def setUp(self) -> None:
        self.server = server()

    def challenge(self, fields: Dict[str, Any], **more: Any) -> Tuple[int, str]:
        reply = call(self.server, "who", extra=fields, **more)
        return reply.status, reply.headers.get("WWW-Authenticate", "")

    @proves("AUTH-42", "AUTH-46", "AUTH-59", "AUTH-60", "AUTHSEC-32", "ASDISC-05")
    def test_no_token(self) -> None:
        bare = (401, CHALLENGE + ', scope="mcp"')
        for value in (None, "", "Bearer", "Bearer  ", "Basic YTpi", "alice", "Bearer\talice"):
            with self.subTest(authorization=value):
                self.assertEqual(self.challenge({"authorization": value}), bare)

    def test_a_head_that_was_let_in_before_is_asked_for_its_token_again(self) -> None:
        body = message("tools/list")
        request = Request(lambda: json.dumps(body).encode(), Head("POST", "/mcp", headers(body, content_length="9")),
                          endpoint=Endpoint(), let_in=True)
        self.assertEqual(self.server.handle(request).status, 401)

    @proves("AUTH-46..49", "AUTH-51", "AUTH-52", "AUTHSEC-04", "AUTHSEC-30", "AUTHSEC-32..34")
    def test_what_is_wrong_with_a_token_is_not_told(self) -> None:
        for token in ("unknown", "late", "early", "elsewhere", "slashed", "unbound", "misissued", "anonymous",
                      "inactive", "badexp", "nanexp", "a b", "alice,", "älice", "alice, Bearer alice", "ali=ce"):
            with self.subTest(token=token):
                self.assertEqual(self.challenge(bearer(token)), (401, INVALID))

    def test_a_token_that_is_spelt_like_its_subject(self) -> None:
        reply = call(self.server, "who", extra=bearer("alice"))
        self.assertEqual(json.loads(reply.text)["sub"], "alice")

    @proves("AUTH-42", "AUTH-46", "AUTHSEC-32")
    def test_good_tokens(self) -> None:
        for value in ("Bearer alice", "bearer alice", "BEARER   alice", "Bearer timely", "Bearer shouted",
                      "Bearer machine", "Bearer root"):
            with self.subTest(authorization=value):
                self.assertEqual(self.challenge({"authorization": value}), (200, ""))

    @proves("AUTH-61")
    def test_two_headers_are_malformed(self) -> None:
        reply = post(self.server, message("tools/list"), bearer("alice, Bearer alice"), repeated=["authorization"])
        self.assertEqual(reply.status, 400)
        self.assertIn('error="invalid_request"', reply.headers["WWW-Authenticate"])

    @proves("AUTH-42", "AUTH-46", "AUTH-61", "AUTHSEC-32")
    def test_token_in_the_query(self) -> None:
        for query in ("access_token=alice", "a=1&access_token=alice", "acc%65ss_token=alice", "access_token"):
            for fields, status in (({}, 401), (bearer("alice"), 400)):
                with self.subTest(query=query, fields=fields):
                    raw = json.dumps(message("tools/list")).encode()
                    head = Head("POST", "/mcp?" + query, {**headers(message("tools/list")), **fields,
                                                          "content-length": str(len(raw))})
                    reply = exchange(self.server, raw, head)
                    self.assertEqual(reply.status, status)
                    self.assertNotIn("alice", json.dumps([reply.body, reply.headers]))

    @proves("ELIC-24")
    def test_principal_is_the_claims_and_the_token_is_gone(self) -> None:
        seen: List[Any] = []

        def listed(_: Any, request: Any) -> Any:
            seen.append(request)
            return {}
        made = server(auth(lambda token: {"sub": "bob", "scope": "mcp", "aud": THIS_RESOURCE, "raw": token}))
        made.state.methods = {**made.state.methods, "tools/list": listed}
        self.assertEqual(post(made, message("tools/list"), bearer("s3cret")).status, 200)
        request = seen[0]
        self.assertEqual(request.principal, {"sub": "bob", "scope": "mcp", "aud": RESOURCE})
        self.assertNotIn("s3cret", repr(request.head))

    @proves("AUTHSEC-30")
    def test_before_the_body_and_after_the_door(self) -> None:
        def unread() -> bytes:
            raise AssertionError("the body was read")
        head = Head("POST", "/mcp", {"host": "127.0.0.1", "content-length": "9"})
        self.assertEqual(self.server.handle(Request(unread, head, None, Endpoint())).status, 401)
        self.assertEqual(self.server.handle(Request(unread, head)).status, 401, "a transport without a door")
        self.assertEqual(get(self.server, "/mcp").status, 401, "a session's stream needs a token as well")
        self.assertEqual(get(self.server, "/mcp", "PUT").status, 405)
        self.assertEqual(get(self.server, "/mcp", "OPTIONS").status, 405)
        self.assertEqual(get(self.server, "/other").status, 404)

    @proves("AUTHSEC-31")
    def test_notifications_need_a_token_too(self) -> None:
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        self.assertEqual(post(self.server, note).status, 401)
        self.assertEqual(post(self.server, note, bearer("alice")).status, 202)

    def test_stdio_asks_for_none(self) -> None:
        body = message("tools/call", {"name": "write", "arguments": {}})
        self.assertEqual(stdio(self.server, body).text, "written")
        self.assertEqual(len(stdio(self.server, message("tools/list")).result["tools"]), 3)

    def test_failing_verifier_is_503_and_tells_no_token(self) -> None:
        def leaky(token: str) -> None:
            raise RuntimeError(f"cannot look up {token}")

        def ours(token: str) -> None:
            raise TransportError(f"no answer about {token}")
        for verifier, words in ((leaky, "RuntimeError at"), (ours, "no answer about …")):
            with self.assertLogs("mcp_ref", "DEBUG") as logged:
                reply = post(server(auth(verifier)), message("tools/list"), bearer("s3cret"))
            self.assertEqual(reply.status, 503)
            self.assertGreater(int(reply.headers["Retry-After"]), 0)
            self.assertIn(words, logged.output[0])
            self.assertNotIn("s3cret", "".join(logged.output) + json.dumps([reply.body, reply.headers]))

    def test_the_log_says_why_without_the_token(self) -> None:
        with self.assertLogs("mcp_ref", "INFO") as logged:
            call(self.server, "who", extra=bearer("elsewhere"))
            call(self.server, "who", extra=bearer("late"))
        self.assertIn("aud does not hold " + RESOURCE, logged.output[0])
        self.assertIn("expired", str(logged.output))
        self.assertNotIn("elsewhere", logged.output[0])

    def test_verifier_that_returns_no_claims(self) -> None:
        for value in (True, "alice", 1, [], {}):
            with self.subTest(value=value):
                reply = post(server(auth(lambda _, value=value: value)), message("tools/list"), bearer("alice"))
                self.assertEqual(reply.status, 401)

    def test_trace_and_document(self) -> None:
        lines: List[str] = []
        self.server.on_trace = lines.append
        call(self.server, "who", extra=bearer("s3cret"))
        call(self.server, "write", extra=bearer("guest"))
        get(self.server, "/.well-known/oauth-protected-resource")
        self.assertEqual(len(lines), 3)
        self.assertIn("door NO -> 401", lines[0])
        self.assertIn("handler NO -> 403", lines[1])
        self.assertNotIn("s3cret", "".join(lines))


@proves("ELIC-24", "ELIC-34")
class Principals(unittest.TestCase):
    """What sealed tokens are bound to."""

    @staticmethod
    def name(**claims: Any) -> str:
        request = Request(lambda: b"")
        request.principal = claims
        return principal_name(request)

    def test_distinct(self) -> None:
        names = {self.name(sub="a"), self.name(client_id="a"), self.name(sub="a", iss="https://x"),
                 self.name(sub="a", iss="https://y"), self.name(sub="b"), self.name(client_id="b")}
        self.assertEqual(len(names), 6)
        self.assertEqual(self.name(sub="a", client_id="x"), self.name(sub="a", client_id="y"))

    @proves("AUTHSEC-31")
    def test_request_state_of_another(self) -> None:
        made = server()

        @made.tool
        def ask(ctx: Any) -> str:
            return "yes" if ctx.elicit("OK?", {"ok": {"type": "boolean"}}, "ok").accepted else "no"

        first = call(made, "ask", extra=bearer("alice")).result
        answer = {"requestState": first["requestState"],
                  "inputResponses": {"ok": {"action": "accept", "content": {"ok": True}}}}
        self.assertEqual(call(made, "ask", extra=bearer("alice"), **answer).text, "yes")
        for token in ("guest", "machine"):
            self.assertEqual(call(made, "ask", extra=bearer(token), **answer).error["code"], -32602)


class Metadata(unittest.TestCase):
    """The protected resource metadata (RFC 9728)."""

    PLACES = ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource",
              "/.well-known/oauth-protected-resource?x=1")

    @proves("AUTH-07", "AUTH-11", "ASDISC-01", "ASDISC-02", "ASDISC-05")
    def test_document(self) -> None:
        made = server(auth(resource_name="Travel", resource_documentation="https://h.example/docs#auth"))
        for place in self.PLACES:
            reply = get(made, place)
            self.assertEqual((reply.status, reply.body), (200, {
                "resource": RESOURCE, "authorization_servers": [ISSUER], "scopes_supported": ["mcp"],
                "bearer_methods_supported": ["header"], "resource_name": "Travel",
                "resource_documentation": "https://h.example/docs#auth"}), place)

    def test_places_that_are_none(self) -> None:
        for place in ("/.well-known/oauth-protected-resource/", "/.well-known/oauth-protected-resource/mcp/x",
                      "/.well-known/oauth-authorization-server"):
            self.assertEqual(get(server(), place).status, 404, place)
        self.assertEqual(get(Server("t", "1"), self.PLACES[0]).status, 404)

    def test_methods(self) -> None:
        self.assertEqual(get(server(), self.PLACES[0], "HEAD"), get(server(), self.PLACES[0]))
        for method in ("POST", "PUT", "DELETE"):
            reply = get(server(), self.PLACES[0], method)
            self.assertEqual((reply.status, reply.headers["Allow"]), (405, "GET, HEAD"))

    @proves("HTTP-02", "HTTP-03")
    def test_host_and_origin_are_the_doors(self) -> None:
        self.assertEqual(get(server(), self.PLACES[0], host="rebound.example").status, 403)
        self.assertEqual(get(server(), self.PLACES[0], origin="https://evil.example").status, 403)
        self.assertEqual(get(server(), self.PLACES[0], origin="http://localhost:6274").status, 200)
        proxied = Endpoint(origins=["https://h.example"])
        self.assertEqual(get(server(), self.PLACES[0], endpoint=proxied, host="h.example").status, 200)

    def test_resource_at_the_root(self) -> None:
        made = ResourceServer(static_tokens({}), "HTTPS://H.Example:443/", ISSUER)
        self.assertEqual(made.resource, "https://h.example")
        self.assertEqual(made.metadata_url, "https://h.example/.well-known/oauth-protected-resource")
        self.assertNotIn("scopes_supported", made.metadata)

    def test_canonical(self) -> None:
        for given, made in (("HTTP://[::1]:80/A", "http://[::1]/A"), ("https://H:8443", "https://h:8443"),
                            ("https://h/a/", "https://h/a/"), ("api://H", "api://H"), ("https://h:99/", "https://h:99")):
            self.assertEqual(canonical(given), made)

    @proves("AUTH-07", "AUTH-11", "ASDISC-01", "ASDISC-02")
    def test_what_cannot_be_used(self) -> None:
        def make(resource: Any = RESOURCE, servers: Any = (ISSUER,), **options: Any) -> Callable[[], Any]:
            return lambda: ResourceServer(static_tokens({}), resource, servers, **options)
        bad = [make(resource) for resource in
               ("h.example/mcp", "http://h.example/mcp", "https://h.example/mcp#a", "https://h.example/mcp?a", "https://",
                "https://u:p@h.example/mcp", "https://h.example/a b", 'https://h.example/"', "/mcp", None,
                "http://127.0.0.1.evil.example/mcp", "https://h.example/mcp\n")]
        bad += [make(servers=servers) for servers in ([], ["as.example"], ["http://as.example"])]
        bad += [make(scopes=["offline_access"]), make(scopes_supported="mcp offline_access"), make(scopes=['"']),
                make(realm='a"b'), make(realm="a\r\nb"), make(resource_documentation="docs")]
        for one in bad:
            self.assertRaises(ValueError, one)
        for resource in ("http://127.0.0.1:8000/mcp", "http://localhost/mcp", "http://[::1]:1/mcp", "http://127.9.9.9"):
            make(resource)()
        self.assertRaises(ValueError, static_tokens, {"a b": {}})

    def test_realm(self) -> None:
        reply = call(server(auth(realm="travel")), "who")
        self.assertTrue(reply.headers["WWW-Authenticate"].endswith(', realm="travel"'))


@proves("AUTH-49", "AUTH-59", "AUTH-60", "C086")
class OverSockets(unittest.TestCase):
    """C086, as listed."""

    def test_c086(self) -> None:
        verifier = static_tokens({"B": {"sub": "b", "scope": "w", "exp": 1}, "T": {"sub": "h", "scope": "w"},
                                  "C": {"sub": "c", "scope": "w", "aud": "https://other"}, "D": {"sub": "d"}})
        made = Server("t", "1", auth=ResourceServer(verifier, RESOURCE, [ISSUER]))
        made.add_tool(lambda: "written", name="write", scopes=("w",))
        body = message("tools/call", {"name": "write", "arguments": {}})
        with HTTPServer(made, port=0) as running, RawClient(running.url) as client:
            def ask(octets: bytes) -> Tuple[int, str, Any]:
                client.send(octets)
                reply = client.response()
                return reply.status, reply.headers.get("www-authenticate", ""), reply

            self.assertEqual(ask(client.octets(body))[:2], (401, CHALLENGE), "A")
            for token in "BC":
                status, challenge, _ = ask(client.octets(body, authorization="Bearer " + token))
                self.assertEqual((status, challenge[:len(CHALLENGE)]), (401, CHALLENGE), token)
                self.assertIn('error="invalid_token"', challenge)
            status, challenge, _ = ask(client.octets(body, authorization="Bearer D"))
            self.assertEqual(status, 403, "D")
            self.assertIn(f'{CHALLENGE}, scope="w", error="insufficient_scope"', challenge)
            queried = client.octets(body).replace(b"POST /mcp ", b"POST /mcp?access_token=T ")
            self.assertEqual(ask(queried)[:2], (401, CHALLENGE), "E")
            status, _, reply = ask(f"GET {METADATA[17:]} HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
            self.assertEqual((status, reply.json["resource"]), (200, RESOURCE), "F")
            self.assertEqual(reply.headers["content-type"], "application/json")
            status, challenge, _ = ask(f"OPTIONS /mcp HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
            self.assertNotEqual(status, 401, "G")
            self.assertEqual(challenge, "", "G")
            status, _, reply = ask(client.octets(body, authorization="bearer T"))
            self.assertEqual((status, reply.json["result"]["content"][0]["text"]), (200, "written"), "H")


if __name__ == "__main__":
    unittest.main()
