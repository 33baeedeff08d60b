"""basic/authorization, the flow: what is asked for in the browser, and which answers are taken."""

import socket
import threading
import unittest
import urllib.request
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

from mcp_ref import AuthorizationError, CallCancelled, CallHandle, Client, OAuth, Server, Timeout, TokenStore
from mcp_ref.authorization.loopback import MAX_CONNECTIONS, Loopback
from mcp_ref.transports.calls import Deadline

from .fake_oauth import OAUTH, OPENID, OAuthCase, in_turn, page
from .support import at_some_pace, proves


class Request(OAuthCase):
    @proves("AUTH-33..36", "AUTH-41", "AUTHSEC-03", "AUTHSEC-11", "AUTHSEC-13", "AUTHSEC-21", "AUTHSEC-36")
    def test_what_is_asked_for(self):
        realm = self.realm()
        self.client(realm).list_tools()
        (asked,), (token,) = realm.logins, realm.token_requests
        self.assertEqual({name: asked[name] for name in ("response_type", "code_challenge_method", "resource")},
                         {"response_type": "code", "code_challenge_method": "S256", "resource": realm.url})
        self.assertGreaterEqual(len(asked["state"]), 32)
        self.assertEqual(len(asked["code_challenge"]), 43)
        self.assertEqual(token, {
            "grant_type": "authorization_code", "code": "code-2-secret", "redirect_uri": asked["redirect_uri"],
            "code_verifier": token["code_verifier"], "resource": realm.url, "client_id": "client-1-secret"})
        self.assertGreaterEqual(len(token["code_verifier"]), 43)  # the realm holds it against the challenge

    @proves("AUTH-37", "AUTH-40")
    def test_the_resource_is_sent_as_the_metadata_has_it(self):
        for make in (lambda realm: realm.site.url, lambda realm: realm.site.url + "/",
                     lambda realm: realm.url.replace("http", "HTTP")):
            realm = self.realm()
            realm.metadata["resource"] = make(realm)
            self.client(realm).list_tools()
            self.assertEqual({form["resource"] for form in realm.logins + realm.token_requests}, {make(realm)})

    @proves("AUTH-42..45")
    def test_the_token_goes_with_every_request_and_into_no_url(self):
        realm = self.realm()
        client = self.client(realm)
        client.list_tools()
        client.call_tool("t")
        with self.assertRaises(Exception):
            client.listen()
        token = next(iter(realm.idp.good))
        self.assertEqual(realm.sent, [None] + [f"Bearer {token}"] * 3)
        self.assertFalse([path for path in realm.site.paths(query=True) + realm.idp.paths(query=True) if token in path])

    def test_two_logins_share_nothing(self):
        realm = self.realm()
        for _ in range(2):
            self.client(realm).list_tools()
            realm.idp.good.clear()
        first, second = realm.logins
        for name in ("state", "code_challenge"):
            self.assertNotEqual(first[name], second[name])

    def test_an_endpoint_with_a_query_keeps_it(self):
        realm = self.realm()
        realm.idp.metadata["authorization_endpoint"] += "?tenant=1"
        self.client(realm).list_tools()
        self.assertEqual(realm.logins[0]["tenant"], "1")

    @proves("AUTHSEC-12", "AUTHSEC-14..17")
    def test_without_pkce_nothing_is_asked(self):
        for methods in (None, [], ["plain"], "S256", ["s256"]):
            for place in (OAUTH, OPENID):
                realm = self.realm()
                realm.idp.metadata["code_challenge_methods_supported"] = methods
                if methods is None:
                    del realm.idp.metadata["code_challenge_methods_supported"]
                realm.idp.pages[place] = realm.idp.pages.pop(OAUTH)
                self.refused(realm, "does not list S256")
                self.assertFalse({"/register", "/authorize", "/token"} & set(realm.idp.paths()))

    @proves("AUTH-02")
    def test_only_over_http(self):
        with self.assertRaisesRegex(ValueError, "reached by HTTP"):
            Client(Server("s", "1"), auth=OAuth())


class Scopes(OAuthCase):
    def scope(self, challenge=None, supported=None, offered=None):
        realm = self.realm()
        realm.challenge = challenge
        realm.metadata["scopes_supported"] = supported
        realm.idp.metadata["scopes_supported"] = offered
        self.client(realm).list_tools()
        return realm.logins[0].get("scope")

    @proves("AUTH-14", "AUTH-15", "AUTH-18..21")
    def test_by_priority(self):
        self.assertEqual(self.scope("Bearer scope=x", ["a", "b"]), "x")
        self.assertEqual(self.scope('Bearer scope="b c"', ["a", "b"]), "b c")
        self.assertEqual(self.scope("Bearer", ["a", "b"]), "a b")
        self.assertEqual(self.scope('Bearer scope=""', ["a", "b"]), "a b")
        for nothing in (None, [], "a b", [7]):
            self.assertIsNone(self.scope("Bearer", nothing))

    def test_offline_access_only_where_it_is_offered(self):
        self.assertEqual(self.scope("Bearer scope=x", None, ["x", "offline_access"]), "x offline_access")
        self.assertEqual(self.scope("Bearer scope=x", None, ["x"]), "x")
        self.assertIsNone(self.scope("Bearer", None, ["offline_access"]), "that would leave out what is the default")


@proves("AUTH-22", "AUTH-23", "AUTH-26..31", "C082")
class Answers(OAuthCase):
    """Case C082: `iss` held against the issuer, as text; and whatever else can be wrong with an answer."""

    def sent_back(self, words, promised=True, **members):
        """How a login ends whose answer has these members; words: of the refusal, None for none."""
        realm = self.realm()
        realm.idp.metadata["authorization_response_iss_parameter_supported"] = promised
        realm.idp.sent_back = {name: value.replace("{}", realm.idp.issuer) if isinstance(value, str) else value
                               for name, value in members.items()}
        if words is None:
            self.client(realm).list_tools()
            return None
        error = self.refused(realm, words)
        self.assertEqual(len(realm.logins), 1)
        self.assertEqual(realm.token_requests, [], "the code has gone somewhere")
        return error

    def test_a_and_d_proceed(self):
        self.sent_back(None, iss="{}")
        for promised in (False, None, "true"):
            self.sent_back(None, promised, iss=None)
            self.sent_back(None, promised, iss="{}")

    def test_b_missing_though_promised(self):
        self.sent_back("does not say who issued it", iss=None)
        self.sent_back("was issued by", iss="")

    def test_c_nothing_is_normalised(self):
        for wrong in ("{}/", "{}#", " {}", "{} "):
            self.sent_back("was issued by", iss=wrong)
        realm = self.realm()
        for wrong in (realm.idp.issuer.replace("http", "HTTP"), realm.idp.issuer.replace("127", "%3127"),
                      realm.idp.issuer.replace("127.0.0.1", "localhost")):
            realm.idp.sent_back = {"iss": wrong}
            self.refused(realm, "was issued by")

    def test_e_wrong_though_not_promised(self):
        self.sent_back("was issued by", None, iss="https://evil.example")
        self.sent_back("was issued by", False, iss="{}/")

    @proves("AUTH-32")
    def test_f_of_somebody_elses_error_nothing_is_shown(self):
        for issuer, promised in (("https://evil.example", True), ("https://evil.example", None), (None, True)):
            error = self.sent_back("issued", promised, iss=issuer, code=None, error="access_denied",
                                   error_description="call 555", error_uri="https://evil.example/help")
            for text in ("access_denied", "555", "help"):
                self.assertNotIn(text, str(error))
            self.assertIsNone(error.code)

    def test_g_twice(self):
        self.sent_back('"iss" more than once', iss=["https://as", "https://as"])
        self.sent_back('"code" more than once', code=["a", "b"])

    def test_an_error_of_the_one_asked_is_told(self):
        error = self.sent_back('the login was refused: "access_denied: not \\u001b[1m today"', code=None,
                               error="access_denied", error_description="not \x1b[1m today")
        self.assertEqual(error.code, "access_denied")

    @proves("AUTHSEC-22")
    def test_state(self):
        for wrong in (None, "", "other", ["x", "y"]):
            self.sent_back("has not the state", state=wrong, error="access_denied")

    def test_neither_code_nor_error(self):
        for wrong in (None, ""):
            self.sent_back("neither code nor error", code=wrong)

    def test_a_visit_that_comes_back_with_anything(self):
        realm = self.realm()
        for wrong in ("", "about:blank", "?" + "a=b&" * 500, "http://127.0.0.1/callback?state=%ff"):
            self.refused(realm, "has not the state", self.oauth(realm, visit=lambda url, wrong=wrong: wrong))

    def test_a_state_of_an_earlier_login(self):
        realm = self.realm()
        answers = []
        self.client(realm, self.oauth(realm, visit=lambda url: answers.append(realm.visit(url)) or answers[0])
                    ).list_tools()
        realm.idp.good.clear()
        self.refused(realm, "has not the state", self.oauth(realm, visit=lambda url: answers[0]))
        self.assertEqual(len(realm.token_requests), 1)


class Listening(OAuthCase):
    """The listener on loopback."""

    def browser(self, realm, *stray):
        """What opens a URL in a browser: it follows the redirect, after requests that are nobody's answer."""
        pages = []

        def open_url(url):
            def run():
                back = realm.visit(url)
                for each in stray:
                    self.got(back, each)
                with urllib.request.urlopen(back, timeout=10) as answer:
                    pages.append((answer.status, answer.headers, answer.read().decode()))
            self.browsing = threading.Thread(target=run, daemon=True)
            self.browsing.start()
        return open_url, pages

    def got(self, back, target):
        place = urlsplit(back)
        with socket.create_connection((place.hostname, place.port), 10) as client:
            target = target.replace("{query}", place.query) if isinstance(target, str) else target
            client.sendall(target if isinstance(target, bytes) else f"{target} HTTP/1.1\r\n\r\n".encode())
            client.shutdown(socket.SHUT_WR)
            said = client.makefile("rb").read()
            self.assertTrue(said.startswith(b"HTTP/1.1 400 ") or not said, said)
            self.assertNotIn(b"evil", said)

    @proves("AUTHSEC-10", "AUTHSEC-21", "AUTHSEC-22")
    def test_it_takes_the_one_answer(self):
        realm = self.realm()
        stray = ["GET /favicon.ico", "GET /callback", "GET /callback?code=evil&state=evil", "GET /other?{query}",
                 "POST /callback?{query}", "GET /callback/?{query}", b"\x16\x03\x01\x00",
                 b"GET " + b"x" * 20000, b"", b"GET /callback?state=evil\r\n\r\n"]
        open_url, pages = self.browser(realm, *stray)
        self.client(realm, OAuth(open_url=open_url)).list_tools()
        self.browsing.join(20)
        (status, headers, text), = pages
        self.assertEqual(status, 200)
        self.assertIn("Close this window and go back to the program", text)
        self.assertEqual((headers["Cache-Control"], headers["Referrer-Policy"]), ("no-store", "no-referrer"))
        back = urlsplit(realm.logins[0]["redirect_uri"])
        self.assertEqual((back.scheme, back.hostname, back.path), ("http", "127.0.0.1", "/callback"))
        with self.assertRaises(OSError):
            socket.create_connection((back.hostname, back.port), 5)

    def test_it_is_registered_with_its_port_and_keeps_it(self):
        realm = self.realm()
        open_url, _ = self.browser(realm)
        auth = OAuth(open_url=open_url)
        for _ in range(2):
            self.client(realm, auth).list_tools()
            realm.idp.good.clear()
            realm.idp.refreshing.clear()
        self.browsing.join(20)
        self.assertEqual(realm.idp.paths().count("/register"), 1)
        self.assertEqual(len({form["redirect_uri"] for form in realm.logins}), 1)

    def test_it_listens_at_the_uri_that_is_given(self):
        with socket.create_server(("127.0.0.1", 0)) as found:
            free = found.getsockname()[1]
        for path in ("/back/here", "/callback", "", "/here?of=ours"):
            realm = self.realm()
            open_url, pages = self.browser(realm, "GET /elsewhere?{query}")
            given = f"http://127.0.0.1:{free}{path}"
            self.client(realm, OAuth(redirect_uri=given, open_url=open_url)).list_tools()
            self.browsing.join(20)
            self.assertEqual({form["redirect_uri"] for form in realm.logins + realm.token_requests}, {given})
            self.assertEqual([status for status, _, _ in pages], [200])

    def test_where_another_client_came_back_to_is_not_listened_at(self):
        realm, store = self.realm(), TokenStore()
        self.client(realm, self.oauth(realm, store=store, redirect_uri="https://app.example/back")).list_tools()
        realm.idp.good.clear()
        realm.idp.refreshing.clear()
        open_url, _ = self.browser(realm)
        self.client(realm, OAuth(store=store, open_url=open_url)).list_tools()
        self.browsing.join(20)
        back = urlsplit(realm.logins[1]["redirect_uri"])
        self.assertEqual((back.hostname, back.path), ("127.0.0.1", "/callback"))
        self.assertNotEqual(back.port, 80)

    def test_a_port_that_is_taken(self):
        realm = self.realm()
        open_url, _ = self.browser(realm)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            fixed = f"http://127.0.0.1:{taken.getsockname()[1]}/callback"
            self.refused(realm, "cannot be listened on", OAuth(redirect_uri=fixed, open_url=open_url))
            with mock.patch("mcp_ref.authorization.login.Loopback", mock.Mock(side_effect=[OSError, Loopback()])):
                self.client(realm, OAuth(open_url=open_url)).list_tools()
        self.browsing.join(20)

    def test_nobody_comes(self):
        realm = self.realm()
        self.refused(realm, "nobody has logged in within 0.2 s", OAuth(open_url=str, login_timeout=0.2))

    def test_the_request_is_cancelled(self):
        realm, handle, seen = self.realm(), CallHandle(), []
        client = self.client(realm, OAuth(open_url=lambda url: (seen.append(url), handle.cancel())))
        with self.assertRaises(CallCancelled):
            client.request("tools/list", handle=handle)
        self.assertTrue(dict(parse_qsl(seen[0])))

    def test_no_browser(self):
        realm = self.realm()
        with mock.patch("webbrowser.open", return_value=False) as opened:
            self.refused(realm, "no browser can be opened", OAuth())
        opened.assert_called_once()

    def test_idle_connections_do_not_hold_it_up(self):
        with Loopback() as listener:
            place = urlsplit(listener.redirect_uri)
            idle = [socket.create_connection((place.hostname, place.port), 10) for _ in range(MAX_CONNECTIONS + 8)]
            with socket.create_connection((place.hostname, place.port), 10) as client:
                client.sendall(b"GET /callback?code=c&state=s HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(listener.answer("s", Deadline(10)), listener.redirect_uri + "?code=c&state=s")
            self.assertEqual(idle[0].recv(1), b"", "the oldest has not given way")
            for each in idle:
                each.close()

    def test_a_head_without_end_is_not_kept(self):
        with Loopback() as listener:
            place = urlsplit(listener.redirect_uri)
            with socket.create_connection((place.hostname, place.port), 10) as endless:
                endless.sendall(b"GET /" + b"x" * 20000)
                with self.assertRaises(Timeout):
                    listener.answer("s", Deadline(0.5))
                self.assertEqual(endless.recv(12), b"HTTP/1.1 400")

    def test_what_a_person_takes_is_not_the_servers_time(self):
        def attempt(pace):
            realm = self.realm()

            def slowly(url):
                threading.Event().wait(1.2 * pace)
                return realm.visit(url)

            with Client(realm.url, auth=self.oauth(realm, visit=slowly), era="modern") as client:
                client.request("tools/list", timeout=pace)

        at_some_pace(attempt, 0.5)


class Redirected(OAuthCase):
    @proves("C087", "AUTH-50")
    def test_the_token_does_not_leave_its_origin(self):
        """Case C087, with a token."""
        realm, elsewhere = self.realm(), self.site()
        client = self.client(realm)
        client.list_tools()
        token = realm.sent[-1]
        good, port = realm.site.pages["/mcp"], realm.site.url.rpartition(":")[2]
        realm.site.pages["/mcp/"] = good
        for status, target in ((307, "/mcp/"), (308, realm.site.url + "/mcp/")):
            realm.site.pages["/mcp"] = page(b"", status, Location=target)
            realm.site.seen.clear()
            client.list_tools()
            first, second = realm.site.seen
            self.assertEqual((second.method, second.path, second.body), ("POST", "/mcp/", first.body))
            self.assertEqual(second.header("Authorization"), token)
        for status, target in ((302, "/mcp/"), (301, "/mcp/"), (303, "/mcp/"), (307, elsewhere.url + "/mcp"),
                               (302, f"http://localhost:{port}/mcp"), (307, f"http://localhost:{port}/mcp")):
            realm.site.pages["/mcp"] = page(b"", status, Location=target)
            realm.site.seen.clear()
            with self.assertRaisesRegex(Exception, f"HTTP {status}: redirected to http://"):
                client.list_tools()
            self.assertEqual(len(realm.site.seen), 1)
        self.assertEqual(elsewhere.seen, [])
        realm.site.pages["/mcp"] = realm.site.pages["/mcp/"] = page(b"", 307, Location="/mcp")
        realm.site.seen.clear()
        with self.assertRaisesRegex(Exception, "redirects more than"):
            client.list_tools()
        self.assertLess(len(realm.site.seen), 10)


class NotOurs(OAuthCase):
    """Refusals that no login would change."""

    def test_a_403_without_a_scope(self):
        realm = self.realm()
        good = realm.site.pages["/mcp"]
        client = self.client(realm)
        client.list_tools()
        for challenge in ([], "Bearer", 'Basic error="insufficient_scope"', 'Bearer error="invalid_token"'):
            realm.site.pages["/mcp"] = in_turn(realm.refused(403, challenge), good)
            with self.assertRaisesRegex(Exception, "HTTP 403"):
                client.list_tools()
        self.assertEqual(len(realm.logins), 1)

    def test_a_server_that_wants_no_token_gets_none(self):
        realm = self.realm()
        realm.site.pages["/mcp"] = page({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})
        self.client(realm).list_tools()
        self.assertEqual((realm.sent, realm.idp.seen), ([None], []))

    def test_an_error_response_in_a_401_without_authorization(self):
        realm = self.realm()
        with Client(realm.url, era="modern") as client, self.assertRaisesRegex(Exception, "HTTP 401"):
            client.list_tools()

    def test_reprs_hold_no_secret(self):
        realm = self.realm()
        auth = self.oauth(realm, "me", "the-secret")
        client = self.client(realm, auth)
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        client.list_tools()
        session = client._transport._auth
        shown = " ".join(map(repr, (auth, auth.client, session, session._held, auth.store, client)))
        for secret in ("the-secret", *realm.idp.good, *realm.idp.refreshing):
            self.assertNotIn(secret, shown)


class Typed(unittest.TestCase):
    def test_an_authorization_error_is_brief_and_printable(self):
        error = AuthorizationError("\x1b[31m" + "x" * 5000, "invalid_grant")
        self.assertLess(len(str(error)), 1100)
        self.assertTrue(str(error).isprintable())
        self.assertEqual(error.code, "invalid_grant")


if __name__ == "__main__":
    unittest.main()
