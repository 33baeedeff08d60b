"""basic/authorization/security-considerations: authorization servers, and metadata, that misbehave.

Each gives one AuthorizationError that names what was wrong, within its time, and leaks no thread, no socket, no secret
(OAuthCase sees to that). Wrong issuers, `iss` and states are in test_oauth_discovery and test_oauth_login, lifetimes
and refresh tokens in test_oauth_tokens, client authentication in test_oauth_registration.
"""

import gzip
import socket
import time
import unittest
from unittest import mock

from mcp_ref import AuthorizationError, ClientCredentials
from mcp_ref.authorization import web
from mcp_ref.authorization.web import MAX_ANSWER, MAX_REDIRECTS, Web, is_private
from mcp_ref.lib.uri import Address

from .fake_oauth import OAUTH, PRM, OAuthCase, in_turn, page, public
from .stub_http import Answer
from .support import proves

DUE = 8.0
"""Seconds that any of these may take."""
TIMEOUT = 0.5
HTML = page(b"<!doctype html><title>Sign in</title>", Content_Type="text/html")


def drip(site, part, first=b""):
    """An answer that goes on until the test is over."""
    def octets():
        yield first
        until = time.monotonic() + 60
        while not site.stopping.wait(0.05) and time.monotonic() < until:
            yield part
    return lambda seen: Answer(200, octets(), {"Content-Type": "application/json"})


def endless(part, first=b""):
    """The same as fast as it is taken, up to far beyond any bound."""
    def octets():
        yield first
        for _ in range(200):
            yield part * (64 * 1024 // len(part))
    return lambda seen: Answer(200, octets(), {"Content-Type": "application/json"})


def cut_off(seen):
    return Answer(200, b'{"access_token": ', {"Content-Length": "1000"})


class BadCase(OAuthCase):
    def bad(self, words, spoil, auth=None):
        """What a client makes of a realm that `spoil` has changed."""
        realm = self.realm()
        spoil(realm)
        began = time.monotonic()
        error = self.refused(realm, words, auth or self.oauth(realm, timeout=TIMEOUT))
        self.assertLess(time.monotonic() - began, DUE)
        return realm, error

    def each(self, cases):
        for name, (words, spoil) in cases.items():
            with self.subTest(name):
                self.bad(words, spoil)


def at(place, made):
    """Put a page there: of the MCP server's site where it is its metadata, else of the authorization server's."""
    return lambda realm: (realm.site if place.startswith(PRM) else realm.idp).pages.update({place: made})


def says(**members):
    """Change the authorization server's metadata; {} stands for its own URL."""
    return lambda realm: realm.idp.metadata.update(
        {name: value.replace("{}", realm.idp.url) if isinstance(value, str) else value
         for name, value in members.items()})


def resource_says(**members):
    return lambda realm: realm.metadata.update(members)


class Metadata(BadCase):
    def test_that_is_no_metadata(self):
        self.each({
            "nothing": ("answered 404", lambda realm: realm.site.pages.pop(PRM + "/mcp")),
            "a sign-in page": ("answered 200 with what is not JSON", at(PRM + "/mcp", HTML)),
            "a server out of order": ("answered 503", at(PRM + "/mcp", page(b"", 503))),
            "an array": ("JSON that is no object", at(PRM + "/mcp", page([]))),
            "a name twice": ("repeated in one object", at(PRM + "/mcp", page(b'{"resource": "a", "resource": "b"}'))),
            "nested too deeply": ("nested deeper", at(PRM + "/mcp", page(b"[" * 5000 + b"]" * 5000))),
            "not UTF-8": ("not UTF-8", at(PRM + "/mcp", page(b'{"resource": "\xff"}'))),
            "cut off": ("octets short", at(PRM + "/mcp", cut_off)),
            "no metadata of the authorization server": ("answered 404", lambda realm: realm.idp.pages.pop(OAUTH)),
            "a sign-in page there": ("what is not JSON", at(OAUTH, HTML))})

    def test_that_names_too_little(self):
        self.each({
            "no resource": ("names no resource", resource_says(resource=None)),
            "no authorization server": ("names no authorization server", resource_says(authorization_servers=[])),
            "a text of them": ("names no authorization server", resource_says(authorization_servers="https://a")),
            "numbers": ("names no authorization server", resource_says(authorization_servers=[1, None, {}])),
            "an issuer that is no URL": ("an issuer must be an", resource_says(authorization_servers=["a"])),
            "an issuer with a query": ("an issuer must be", resource_says(authorization_servers=["https://a/?b"])),
            "no token endpoint": ("the token endpoint must be an absolute URL", says(token_endpoint=None)),
            "a number for it": ("the token endpoint must be", says(token_endpoint=7)),
            "no authorization endpoint": ("the authorization endpoint must be", says(authorization_endpoint=None)),
            "a number to register at": ("the registration endpoint must be", says(registration_endpoint=7))})

    def test_that_no_login_would_lead_anywhere_is_found_before_it(self):
        for endpoint in (None, "http://as.example/token"):
            realm, _ = self.bad("the token endpoint must be", says(token_endpoint=endpoint))
            self.assertEqual(realm.logins, [])

    @proves("AUTHSEC-08", "AUTHSEC-09")
    def test_http_where_https_is_due(self):
        self.each({
            "the resource's metadata": ("must be https", lambda realm: setattr(
                realm, "challenge", 'Bearer resource_metadata="http://h.example/prm"')),
            "the issuer": ("must be https", resource_says(authorization_servers=["http://as.example"])),
            "the token endpoint": ("must be https", says(token_endpoint="http://as.example/token")),
            "the authorization endpoint": ("must be https", says(authorization_endpoint="http://as.example/a")),
            "the registration endpoint": ("must be https", says(registration_endpoint="http://as.example/r")),
            "a redirect": ("must be https", at(OAUTH, page(b"", 302, Location="http://as.example/metadata")))})

    def test_what_no_browser_should_be_given(self):
        for url in ("javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "//as.example/authorize",
                    "https://user:word@as.example/a", "https:///a", "https://as.example/a b"):
            realm, _ = self.bad("the authorization endpoint must be", says(authorization_endpoint=url))
            self.assertEqual(realm.logins, [])

    def test_redirects(self):
        loop = page(b"", 302, Location=OAUTH)
        realm, _ = self.bad("redirects more than", at(OAUTH, loop))
        self.assertEqual(realm.idp.paths().count(OAUTH), MAX_REDIRECTS + 1)
        self.each({
            "of the resource's metadata": ("redirects more than", at(PRM + "/mcp", page(b"", 307, Location="?"))),
            "to another scheme": ("must be", at(OAUTH, page(b"", 302, Location="ftp://h/"))),
            "to nonsense": ("must be", at(OAUTH, page(b"", 302, Location="http://[::"))),
            "to nowhere": ("answered 302", at(OAUTH, page(b"", 302)))})
        realm = self.realm()
        realm.idp.pages["/moved"] = realm.idp.pages.pop(OAUTH)
        realm.idp.pages[OAUTH] = page(b"", 301, Location="/moved")
        self.client(realm).list_tools()

    def test_too_much_and_too_slow(self):
        self.each({
            "endless JSON": (f"exceeds {MAX_ANSWER} octets", at(OAUTH, endless(b'"x",', b"["))),
            "announced as 10 GB": ("gives no answer", at(OAUTH, lambda seen: Answer(
                200, b"[" * 1000, {"Content-Length": str(10 ** 10)}))),
            "a compressed bomb": (f"exceeds {MAX_ANSWER} octets", at(OAUTH, page(
                gzip.compress(b" " * 10 ** 8, 1), Content_Encoding="gzip"))),
            "an octet now and then": ("no answer within 0.5 s", lambda realm: realm.site.pages.update(
                {PRM + "/mcp": drip(realm.site, b" ")})),
            "the token now and then": ("no answer within 0.5 s", lambda realm: realm.idp.pages.update(
                {"/token": drip(realm.idp, b" ", b"{")}))})

    def test_a_challenge_of_many_octets(self):
        realm, error = self.bad("answered 404", lambda realm: setattr(
            realm, "challenge", f'Bearer resource_metadata="{realm.site.url}/{"x" * 50000}"'))
        self.assertLess(len(str(error)), 1100)

    def test_nobody_there(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            gone = f"http://127.0.0.1:{taken.getsockname()[1]}"
        self.each({"at the issuer": ("cannot reach", resource_says(authorization_servers=[gone])),
                   "at the token endpoint": ("cannot reach", says(token_endpoint=gone))})


class Tokens(BadCase):
    def test_answers_that_grant_nothing(self):
        good = {"access_token": "t", "token_type": "Bearer"}
        self.each({name: (words, at("/token", answer)) for name, (words, answer) in {
            "a sign-in page": ("answered 200 with what is not JSON", HTML),
            "an error page": ("answered 500 without an OAuth error", page(b"<html>", 500)),
            "an error of another kind": ("answered 400 without an OAuth error", page({"error": {"code": 1}}, 400)),
            "an error that is fine": ('refuses: "invalid_scope"', page({"error": "invalid_scope"})),
            "an array": ("JSON that is no object", page([good])),
            "no token": ("no access_token that a header can carry", page({"token_type": "Bearer"})),
            "an empty one": ("no access_token", page({**good, "access_token": ""})),
            "one that is two lines": ("no access_token", page({**good, "access_token": "a\r\nX: y"})),
            "one with a blank": ("no access_token", page({**good, "access_token": "a b"})),
            "one beyond ASCII": ("no access_token", page({**good, "access_token": "é"})),
            "a list of them": ("no access_token", page({**good, "access_token": ["t"]})),
            "no type": ("of the type null, not Bearer", page({"access_token": "t"})),
            "another type": ('of the type "mac"', page({**good, "token_type": "mac"})),
            "a bound one": ('of the type "DPoP"', page({**good, "token_type": "DPoP"})),
            "a name twice": ("repeated", page(b'{"access_token": "a", "access_token": "b", "token_type": "Bearer"}')),
            "cut off": ("octets short", cut_off)}.items()})

    def test_secrets_that_an_error_quotes(self):
        def quotes(seen):
            return page({"error": "invalid_grant", "error_description": seen.body.decode()}, 400)(seen)

        realm, error = self.bad("invalid_grant", at("/token", quotes))
        self.assertIn("\\u2026", str(error))

        def knows(seen):
            return page({"error": "invalid_client", "error_description": "is top-secret your secret?"}, 401)(seen)

        _, error = self.bad("invalid_client", at("/token", knows), ClientCredentials("me", "top-secret"))
        self.assertNotIn("top-secret", str(error))

    @proves("AUTH-50")
    def test_no_secret_follows_a_redirect(self):
        elsewhere = self.site()
        for status in (301, 302, 303, 307, 308):
            for place in ("/token", "/register"):
                realm, _ = self.bad(f"answered {status} without an OAuth error", at(
                    place, page(b"", status, Location=elsewhere.url + place)))
        self.assertEqual(elsewhere.seen, [])

    def test_registration_that_registers_nobody(self):
        self.each({"a page": ("answered 200 with what is not JSON", at("/register", HTML)),
                   "no": ("answered 403 without an OAuth error", at("/register", page(b"", 403)))})

    def test_a_server_that_hangs_up(self):
        def hang_up(seen):
            raise OSError("gone")

        with mock.patch("socketserver.BaseServer.handle_error"):
            self.bad("the token endpoint gives no answer", at("/token", hang_up))


def everybodys(made):
    """Address.__init__, after which no address is one of loopback."""
    def init(address, text):
        made(address, text)
        address.loopback = False

    return init


@proves("AUTHSEC-02")
class Inward(BadCase):
    """Nobody is sent into a private network by a public server. Here 127.0.0.1 is public, and 127.0.0.2 is not."""

    def setUp(self):
        super().setUp()
        self.inside = self.site("127.0.0.2")
        self.inside.pages["/"] = page({"inside": "knowledge"})
        patch = public("127.0.0.2")
        patch.start()
        self.addCleanup(patch.stop)

    def bad_and_unseen(self, spoil, words="a private address named by a public server"):
        with mock.patch.object(web, "_resolves_privately", return_value=False), \
                mock.patch("mcp_ref.lib.uri.Address.__init__", everybodys(Address.__init__)):
            self.bad(words, spoil)
        self.assertEqual(self.inside.seen, [])

    def test_by_a_challenge(self):
        self.bad_and_unseen(lambda realm: setattr(
            realm, "challenge", f'Bearer resource_metadata="{self.inside.url}/"'))

    def test_by_metadata(self):
        self.bad_and_unseen(resource_says(authorization_servers=[self.inside.url]))
        for name in ("token_endpoint", "authorization_endpoint", "registration_endpoint"):
            self.bad_and_unseen(says(**{name: self.inside.url + "/"}))

    def test_by_a_redirect(self):
        self.bad_and_unseen(at(OAUTH, page(b"", 302, Location=self.inside.url + "/")))
        self.bad_and_unseen(at(PRM + "/mcp", page(b"", 302, Location=self.inside.url + "/")))

    def test_by_a_name(self):
        resolve, port = socket.getaddrinfo, int(self.inside.url.rpartition(":")[2])

        def resolved(host, *rest, **named):
            return resolve("127.0.0.2" if host == "localhost" else host, *rest, **named)

        with mock.patch.object(socket, "getaddrinfo", resolved):
            self.bad_and_unseen(resource_says(authorization_servers=[f"http://localhost:{port}"]),
                                "its address is a private one")

    def test_a_private_server_may(self):
        realm = self.realm()
        self.client(realm).list_tools()


class Addresses(unittest.TestCase):
    """Which addresses are private, and which server is public."""

    def test_private(self):
        for host in ("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "::1",
                     "fe80::1", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "100.64.0.1",
                     "localhost", "::"):
            self.assertTrue(is_private(host), host)
        for host in ("8.8.8.8", "2001:4860:4860::8888", "as.example"):
            self.assertFalse(is_private(host), host)

    def public(self, url, *found):
        answer = [(0, 0, 0, "", (each, 0)) for each in found]
        with mock.patch.object(socket, "getaddrinfo", mock.Mock(return_value=answer, side_effect=None if found
                                                                else OSError)):
            made = Web(Address(url), 1.0)
        try:
            made.checked("https://10.0.0.1/", "it")
        except AuthorizationError:
            return True
        return False

    def test_public(self):
        self.assertTrue(self.public("https://h.example/", "8.8.8.8"))
        self.assertTrue(self.public("https://h.example/", "10.0.0.1", "8.8.8.8"))
        self.assertTrue(self.public("https://h.example/"), "a name that only a proxy knows")
        self.assertFalse(self.public("https://h.example/", "10.0.0.1"))
        self.assertFalse(self.public("https://10.1.1.1/"))
        self.assertFalse(self.public("http://127.0.0.1/", "127.0.0.1"))

    def test_loopback_is_private_too(self):
        with mock.patch.object(web, "_resolves_privately", return_value=False):
            made = Web(Address("https://h.example/"), 1.0)
        for url in ("http://localhost:1/", "https://127.0.0.1/", "https://localhost/", "https://[::1]/"):
            with self.assertRaisesRegex(AuthorizationError, "a private address named by a public server"):
                made.checked(url, "it")


class InTurn(unittest.TestCase):
    def test_pages_in_turn(self):
        pages = in_turn(page(1), page(2))
        self.assertEqual([pages(None).body for _ in range(3)], [b"1", b"2", b"2"])


if __name__ == "__main__":
    unittest.main()
