"""basic/authorization beside what lasts longer than a token: results that are kept, and subscriptions opened anew."""

import concurrent.futures
import threading
import time
from typing import Any, Dict, List, Optional
from unittest import mock

from mcp_ref import AuthorizationError, Cache, Client, OAuth, Signer, TokenStore
from mcp_ref.authorization.oauth_client import Session
from mcp_ref.base.errors import BrokenOff
from mcp_ref.client import subscription
from mcp_ref.legacy import ways

from .fake_oauth import OAuthCase, Realm, in_turn, page
from .stub_http import Answer, Seen, Stream, initialized, older
from .support import proves
from .test_client_listen import TOOLS
from .test_client_reconnect import DONE, opened

LIST, READ, LISTEN = "tools/list", "resources/read", "subscriptions/listen"


class Protected(OAuthCase):
    """A realm whose lists say which token they are for, and may be kept; what it tells is up to the test."""

    scope = "private"

    def setUp(self) -> None:
        super().setUp()
        self.cache = Cache()
        self.streams: List[Any] = []
        swift = mock.patch.multiple(subscription, FIRST_PAUSE=0.001, LONGEST_PAUSE=0.01)
        swift.start()
        self.addCleanup(swift.stop)

    def protected(self) -> Realm:
        realm = self.realm()
        refusing = realm.site.pages["/mcp"]

        def answer(seen: Seen) -> Answer:
            refused, method = refusing(seen), seen.message["method"]
            if refused.status != 200:
                return refused
            if method == LISTEN:
                made: Answer = self.streams.pop(0)(seen)
                return made
            name = (seen.header("Authorization") or "").partition(" ")[2]
            result = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": self.scope, "contents": [],
                      "tools": [{"name": name, "inputSchema": {"type": "object"}}]}
            return page({"jsonrpc": "2.0", "id": seen.message["id"], "result": result})(seen)

        realm.site.pages["/mcp"] = answer
        return realm

    def asked(self, realm: Realm, method: str = LIST) -> List[Optional[str]]:
        """The tokens that this was asked with."""
        return [(seen.header("Authorization") or "").partition(" ")[2] or None for seen in realm.site.seen
                if seen.method == "POST" and seen.message["method"] == method]

    def later(self, seconds: float = 7200) -> Any:
        """The clock moved on by so much, for tokens."""
        ahead = time.time() + seconds
        return mock.patch("time.time", lambda: ahead)

    def revoke(self, realm: Realm) -> None:
        realm.idp.good.clear()


def names(listed: List[Dict[str, Any]]) -> List[str]:
    return [each["name"] for each in listed]


class Kept(Protected):
    """A result that was kept is never told to another token than the one it came for."""

    @proves("CACHE-17")
    def test_a_result_is_of_the_token_that_it_came_with_in_the_end(self) -> None:
        realm = self.protected()
        client = self.client(realm, cache=self.cache)
        first = client.list_tools()
        self.assertEqual(self.asked(realm), [None, *names(first)])
        self.assertEqual(client.list_tools(), first)
        self.assertEqual(len(self.asked(realm)), 2)

    @proves("CACHE-17")
    def test_not_after_a_refresh(self) -> None:
        realm = self.protected()
        client = self.client(realm, cache=self.cache)
        before = client.list_tools()
        self.revoke(realm)
        self.assertEqual(client.list_tools(), before, "nothing has told the client")
        client.read_resource("x:a")
        after = client.list_tools()
        self.assertNotEqual(after, before)
        self.assertEqual(self.asked(realm)[2:], names(after))
        self.assertEqual(client.list_tools(), after)
        self.assertEqual((len(self.asked(realm)), len(realm.logins)), (3, 1))

    @proves("CACHE-17")
    def test_not_after_a_step_up(self) -> None:
        realm = self.protected()
        realm.challenge, realm.needed = 'Bearer scope="r"', {READ: ["w"]}
        client = self.client(realm, cache=self.cache)
        before = client.list_tools()
        client.read_resource("x:a")
        self.assertNotEqual(client.list_tools(), before)
        self.assertEqual([form["scope"] for form in realm.logins], ["r", "r w"])

    @proves("CACHE-17")
    def test_not_after_another_issuer_took_over(self) -> None:
        realm, other = self.protected(), self.issuer()
        other._count = 100  # so that no token of its is one of the other's
        client = self.client(realm, cache=self.cache)
        before = client.list_tools()
        realm.metadata["authorization_servers"] = [other.issuer]
        realm.idp.good, given = other.good, dict(realm.idp.good)
        client.read_resource("x:a")
        self.assertNotEqual(client.list_tools(), before)
        self.assertEqual(set(self.asked(realm)[-1:]) & set(given), set())

    @proves("CACHE-17")
    def test_not_to_another_person(self) -> None:
        for self.scope, both in (("private", 2), ("public", 1)):
            self.cache = Cache()
            realm = self.protected()
            first, second = (self.client(realm, self.oauth(realm), cache=self.cache) for _ in range(2))
            lists = [client.list_tools() for client in (first, second, first, second)]
            self.assertEqual(len({name for listed in lists for name in names(listed)}), both)
            self.assertEqual(len(realm.logins), both)

    @proves("CACHE-17")
    def test_nor_without_a_token_to_who_had_one(self) -> None:
        """What was kept for nobody in particular is not for one whose token is over."""
        realm, open_to_all = self.protected(), self.protected()
        self.assertNotEqual(realm.url, open_to_all.url)
        with mock.patch.dict(realm.site.pages, {"/mcp": page({"jsonrpc": "2.0", "id": 1, "result": {
                "resultType": "complete", "tools": [], "ttlMs": 60_000, "cacheScope": "private"}})}):
            self.client(realm, cache=self.cache).list_tools()
        client = self.client(realm, cache=self.cache)
        self.assertEqual(client.list_tools(), [], "without a token")
        client.read_resource("x:a")
        with self.later():
            self.assertEqual(names(client.list_tools()), self.asked(realm)[-1:])

    def test_a_proof_is_no_other_authorization(self) -> None:
        realm = self.protected()
        realm.idp.metadata["dpop_signing_alg_values_supported"] = ["ES256"]
        realm.idp.granted = {"token_type": "DPoP"}
        key = Signer(lambda octets: b"signed", {"kty": "EC"})
        client = self.client(realm, self.oauth(realm, dpop=key), cache=self.cache)
        self.assertEqual(client.list_tools(), client.list_tools())
        self.assertEqual(len(self.asked(realm)), 2)

    @proves("CACHE-17")
    def test_not_to_a_token_that_is_over(self) -> None:
        realm = self.protected()
        client = self.client(realm, cache=self.cache)
        before = client.list_tools()
        with self.later():
            self.assertNotEqual(client.list_tools(), before)

    def test_what_is_kept_needs_nobody(self) -> None:
        """A token whose time is over is renewed for a request, and not to look for what would be for another then."""
        self.scope = "public"
        realm = self.protected()
        client = self.client(realm, cache=self.cache)
        known = client.list_tools()
        before = len(realm.site.seen), len(realm.idp.seen)
        with self.later():
            self.assertEqual(client.list_tools(), known)
            self.assertEqual((len(realm.site.seen), len(realm.idp.seen)), before)
            self.scope = "private"
            renewed = client.list_tools(fresh=True)
            self.assertNotEqual(renewed, known)
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["authorization_code", "refresh_token"])

    def test_no_proof_is_made_to_look_for_it(self) -> None:
        realm, made = self.protected(), []
        realm.idp.metadata["dpop_signing_alg_values_supported"] = ["ES256"]
        realm.idp.granted = {"token_type": "DPoP"}
        key = Signer(lambda octets: made.append(octets) or b"", {"kty": "EC"})  # type: ignore[func-returns-value]
        client = self.client(realm, self.oauth(realm, dpop=key), cache=self.cache)
        client.list_tools()
        before = len(made)
        client.list_tools()
        self.assertEqual(len(made), before)


class Followed(Protected):
    """A subscription that is to last goes on with the next token."""

    def lasting(self, realm: Realm, *streams: Any, **options: Any) -> Any:
        self.streams[:] = streams
        client = self.client(realm, cache=self.cache, **options)
        return client, client.listen(tools=True, reconnect=True)

    def test_by_a_refresh_when_a_401_answers_the_reopening(self) -> None:
        realm = self.protected()
        client, heard = self.lasting(realm, opened(), opened(TOOLS, last=DONE))
        before = client.list_tools()
        self.revoke(realm)
        self.assertEqual((next(heard)["method"], heard.reopened), (TOOLS, 1))
        self.assertEqual(len(self.cache), 0, "what may have changed meanwhile is told, and forgotten")
        self.assertNotEqual(client.list_tools(), before)
        self.assertEqual([each["method"] for each in heard], [TOOLS])
        self.assertEqual(self.asked(realm, LISTEN), [None, *names(before), *names(before), self.asked(realm)[-1]])
        self.assertEqual(len(realm.logins), 1)

    def test_by_a_refresh_ahead_of_it_when_its_time_is_over(self) -> None:
        realm = self.protected()
        _, heard = self.lasting(realm, opened(), opened(last=DONE))
        with self.later():
            self.assertEqual(next(heard)["method"], TOOLS)
        self.assertEqual(len(self.asked(realm, LISTEN)), 3, "none of them in vain")

    def test_by_a_login_where_no_refresh_is_to_be_had(self) -> None:
        realm = self.protected()
        realm.idp.granted = {"refresh_token": None}
        _, heard = self.lasting(realm, opened(), opened(last=DONE))
        self.revoke(realm)
        self.assertEqual(next(heard)["method"], TOOLS)
        self.assertEqual(len(realm.logins), 2)

    def test_by_a_step_up(self) -> None:
        realm = self.protected()
        realm.challenge = 'Bearer scope="r"'
        _, heard = self.lasting(realm, opened(), opened(last=DONE))
        realm.needed = {LISTEN: ["w"]}
        self.assertEqual(next(heard)["method"], TOOLS)
        self.assertEqual([form["scope"] for form in realm.logins], ["r", "r w"])

    def test_two_that_are_lost_at_once_share_one_refresh(self) -> None:
        realm = self.protected()
        client, one = self.lasting(realm, *[opened()] * 2, *[opened(last=DONE)] * 2)
        two = client.listen(tools=True, reconnect=True)
        self.revoke(realm)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            told = list(pool.map(list, (one, two)))
        self.assertEqual([len(each) for each in told], [1, 1])
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["authorization_code", "refresh_token"])

    def test_they_share_what_is_only_for_now_too(self) -> None:
        realm, waiting, renew = self.protected(), threading.Semaphore(0), Session.renew
        client = self.client(realm)
        client.list_tools()
        self.revoke(realm)

        def counted(*given: Any) -> bool:
            waiting.release()
            return renew(*given)

        def away(seen: Seen) -> Answer:
            self.assertTrue(all(waiting.acquire(timeout=20) for _ in range(3)))
            return page(b"", 503)(seen)

        realm.idp.pages["/token"] = in_turn(away, realm.idp.pages["/token"])
        with mock.patch.object(Session, "renew", counted), concurrent.futures.ThreadPoolExecutor(3) as pool:
            met = [each.exception() for each in [pool.submit(client.list_tools) for _ in range(3)]]
        self.assertEqual([getattr(each, "passing", None) for each in met], [True] * 3)

    def test_what_no_token_is_good_enough_for_ends_it(self) -> None:
        realm = self.protected()
        _, heard = self.lasting(realm, opened())
        realm.idp.good = type("Never", (dict,), {"__contains__": lambda self, key: False})()
        with self.assertRaisesRegex(AuthorizationError, "answers 401"):
            next(heard)
        self.assertEqual(list(heard), [])

    def test_a_login_that_is_refused_ends_it(self) -> None:
        realm = self.protected()
        realm.idp.granted = {"refresh_token": None}
        client, heard = self.lasting(realm, opened())
        self.revoke(realm)
        realm.idp.sent_back = {"code": None, "error": "access_denied"}
        with self.assertRaisesRegex(AuthorizationError, "access_denied"):
            next(heard)
        self.assertEqual((len(realm.logins), client._streams), (2, set()))

    def test_an_authorization_server_that_is_away_just_then_is_asked_again(self) -> None:
        away = page(b"<html>soon", 503)
        for path, site in (("/token", "idp"), ("/.well-known/oauth-authorization-server", "idp"),
                           ("/.well-known/oauth-protected-resource/mcp", "site")):
            realm = self.protected()
            _, heard = self.lasting(realm, opened(), opened(last=DONE))
            self.revoke(realm)
            pages = getattr(realm, site).pages
            pages[path] = in_turn(away, away, pages[path])
            self.assertEqual((next(heard)["method"], heard.reopened), (TOOLS, 1), path)
            self.assertEqual(len(realm.logins), 1)

    def test_so_is_one_that_cannot_be_reached_but_not_for_ever(self) -> None:
        realm = self.protected()
        _, heard = self.lasting(realm, opened())
        self.revoke(realm)
        realm.metadata["authorization_servers"] = ["http://127.0.0.1:9"]
        with self.assertRaisesRegex(AuthorizationError, "cannot reach"):
            next(heard)
        self.assertGreater(len(self.asked(realm, LISTEN)), 5)

    def test_one_that_ends_with_its_token_goes_on_with_the_next(self) -> None:
        """Servers end a subscription in good order once the token that it was opened with is over."""
        realm = self.protected()
        _, heard = self.lasting(realm, opened(last=DONE), opened(TOOLS, last=DONE))
        with self.later(3597):  # seconds before the end of the token, as this side reckons it
            self.assertEqual((next(heard)["method"], heard.reopened), (TOOLS, 1))
        self.assertEqual([each["method"] for each in heard], [TOOLS], "the next is good for another hour")

    def test_one_that_is_not_to_last_ends_with_its_token(self) -> None:
        realm = self.protected()
        self.streams = [opened(last=DONE)]
        heard = self.client(realm).listen(tools=True)
        with self.later():
            self.assertEqual(list(heard), [])

    def test_the_server_s_own_end_is_the_end(self) -> None:
        realm = self.protected()
        _, heard = self.lasting(realm, opened(last=DONE))
        self.assertEqual(list(heard), [])

    def test_nobody_has_to_log_in_again_and_again(self) -> None:
        realm = self.protected()
        realm.idp.granted = {"refresh_token": None}
        _, heard = self.lasting(realm, opened())
        self.revoke(realm)
        realm.idp.pages["/token"] = page(b"<html>soon", 503)
        with self.assertRaisesRegex(AuthorizationError, "answered 503"):
            next(heard)
        self.assertEqual(len(realm.logins), 2)

    def test_closing_ends_a_login_on_the_way(self) -> None:
        for whose in ("subscription", "client"):
            realm, begun = self.protected(), threading.Event()
            store = TokenStore()
            self.client(realm, self.oauth(realm, store=store)).list_tools()
            client, heard = self.lasting(realm, opened(), auth=OAuth(
                store=store, open_url=lambda url, begun=begun: begun.set()))  # type: ignore[misc]
            realm.idp.refreshing.clear()
            self.revoke(realm)
            told: List[Any] = []
            thread = threading.Thread(target=lambda heard=heard, told=told: told.append(list(heard)))
            thread.start()
            self.assertTrue(begun.wait(20))
            (heard if whose == "subscription" else client).close()
            thread.join(20)
            self.assertEqual((told, client._streams), ([[]], set()))


class OfAnOlderEra(Protected):
    """The stream of a session is taken up again by a thread of its own."""

    def setUp(self) -> None:
        super().setUp()
        swift = mock.patch.multiple(ways, WAIT=0.001, LEAST_WAIT=0.001)
        swift.start()
        self.addCleanup(swift.stop)
        self.first, self.second = Stream(), Stream()

    def tearDown(self) -> None:
        self.first.end()
        self.second.end()
        super().tearDown()

    def session(self) -> Any:
        realm, streams = self.realm(), iter((self.first, self.second))
        answers = older({"GET": lambda seen: next(streams)(seen),
                         "initialize": initialized(session="s", tools={"listChanged": True})})

        def answer(seen: Seen) -> Answer:
            token = (seen.header("Authorization") or "").partition(" ")[2]
            return (answers if token in realm.idp.good else realm.refused(401, realm.challenge))(seen)

        realm.site.pages["/mcp"] = answer
        client = Client(realm.url, auth=self.oauth(realm), era="legacy", timeout=20.0)
        self._clients.append(client)
        heard = client.listen(tools=True)
        return realm, heard

    def gets(self, realm: Realm) -> int:
        return len([seen for seen in realm.site.seen if seen.method == "GET" and seen.path == "/mcp"])

    def test_with_a_token_that_is_refreshed(self) -> None:
        realm, heard = self.session()
        self.revoke(realm)
        self.first.end()
        self.assertEqual(next(heard)["method"], TOOLS)
        self.second.send({"method": TOOLS})
        self.assertEqual(next(heard)["method"], TOOLS)
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["authorization_code", "refresh_token"])
        heard.close()

    def test_a_login_that_is_refused_is_asked_for_once(self) -> None:
        realm, heard = self.session()
        self.revoke(realm)
        realm.idp.refreshing.clear()
        realm.idp.sent_back = {"code": None, "error": "access_denied"}
        self.first.end()
        with self.assertRaises(BrokenOff):
            next(heard)
        self.assertEqual((len(realm.logins), self.gets(realm)), (2, 2))
