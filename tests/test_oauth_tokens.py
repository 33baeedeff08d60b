"""basic/authorization, tokens in time: refreshed, stepped up, shared by threads and processes, kept in a store."""

import concurrent.futures
import contextlib
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

from mcp_ref import AuthorizationError, Client, ClientCredentials, FileTokenStore, HTTPError, Timeout, TokenStore
from mcp_ref.authorization import token_store, tokens
from mcp_ref.authorization.oauth_client import Session
from mcp_ref.transports.calls import Deadline

from .fake_oauth import OAuthCase, in_turn, page
from .support import ROOT, proves


class Lifetime(OAuthCase):
    """Case C084, A and B."""

    def later(self, seconds):
        """The clock moved on by so much."""
        ahead = time.time() + seconds
        return mock.patch.object(tokens.time, "time", lambda: ahead)

    @proves("C084", "AUTH-54")
    def test_the_end_is_kept_as_a_time_and_not_counted_anew(self):
        realm, store = self.realm(), TokenStore()
        self.client(realm, self.oauth(realm, store=store)).list_tools()
        first = realm.sent[-1]
        for after, expected in ((3500, first), (7200, "another")):
            with self.later(after):
                self.client(realm, self.oauth(realm, store=store)).list_tools()
            self.assertEqual(realm.sent[-1] == first, expected == first)
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["authorization_code", "refresh_token"])
        self.assertEqual(realm.sent.count(first), 2, "it was sent once more when its time was over")

    def test_a_401_before_the_end(self):
        realm = self.realm()
        client = self.client(realm)
        client.list_tools()
        realm.idp.good.clear()
        client.list_tools()
        (form,) = realm.token_requests[1:]
        self.assertEqual(form, {"grant_type": "refresh_token", "refresh_token": "refresh-4-secret",
                                "resource": realm.url, "client_id": "client-1-secret"})
        self.assertEqual(len(realm.logins), 1)

    def test_a_refresh_token_rotates_or_stays(self):
        for rotated in (True, False):
            realm = self.realm()
            client = self.client(realm)
            client.list_tools()
            if not rotated:
                realm.idp.granted = {"refresh_token": None}
                pop = realm.idp.refreshing
                realm.idp.refreshing = type("Lasting", (dict,), {"pop": dict.__getitem__})(pop)
            for _ in range(2):
                realm.idp.good.clear()
                client.list_tools()
            spent = [form["refresh_token"] for form in realm.token_requests[1:]]
            self.assertEqual(len(set(spent)), 2 if rotated else 1)
            self.assertEqual(len(realm.logins), 1)

    @proves("C084")
    def test_a_dead_refresh_token_is_dropped(self):
        realm, store = self.realm(), TokenStore()
        client = self.client(realm, self.oauth(realm, store=store))
        client.list_tools()
        realm.idp.good.clear()
        realm.idp.refreshing.clear()
        realm.idp.granted = {"refresh_token": None}
        client.list_tools()
        kinds = [form["grant_type"] for form in realm.token_requests]
        self.assertEqual(kinds, ["authorization_code", "refresh_token", "authorization_code"])
        realm.idp.good.clear()
        client.list_tools()
        self.assertEqual([form["grant_type"] for form in realm.token_requests][3:], ["authorization_code"])

    def test_it_is_dropped_even_where_the_login_comes_to_nothing(self):
        realm, store = self.realm(), TokenStore()
        self.client(realm, self.oauth(realm, store=store)).list_tools()
        realm.idp.good.clear()
        realm.idp.refreshing.clear()
        for expected in (1, 1):
            with self.assertRaises(AuthorizationError):
                self.client(realm, self.oauth(realm, store=store, visit=lambda url: "")).list_tools()
            self.assertEqual([form["grant_type"] for form in realm.token_requests].count("refresh_token"), expected)

    def test_a_registration_that_is_gone_is_made_anew(self):
        realm = self.realm()
        client = self.client(realm)
        client.list_tools()
        realm.idp.good.clear()
        realm.idp.pages["/token"] = in_turn(page({"error": "invalid_client"}, 401), realm.idp.pages["/token"])
        client.list_tools()
        self.assertEqual(realm.idp.paths().count("/register"), 2)

    def test_a_refresh_that_only_fails_is_no_end_of_it(self):
        realm = self.realm()
        client = self.client(realm)
        client.list_tools()
        realm.idp.good.clear()
        realm.idp.pages["/token"] = in_turn(page(b"<html>busy", 503), realm.idp.pages["/token"])
        with self.assertRaisesRegex(AuthorizationError, "answered 503 without an OAuth error"):
            client.list_tools()
        client.list_tools()
        self.assertEqual(len(realm.logins), 1)

    def test_a_refresh_token_belongs_to_the_client_that_got_it(self):
        realm, store = self.realm(), TokenStore()
        self.client(realm, self.oauth(realm, store=store)).list_tools()
        store.save(f"client {realm.idp.issuer}", None)
        realm.idp.good.clear()
        self.client(realm, self.oauth(realm, store=store)).list_tools()
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["authorization_code"] * 2)

    @proves("AUTH-56")
    def test_no_refresh_token_is_counted_on(self):
        realm = self.realm()
        realm.idp.granted = {"refresh_token": None, "expires_in": None}
        client = self.client(realm)
        client.list_tools()
        realm.idp.good.clear()
        client.list_tools()
        self.assertEqual(len(realm.logins), 2)

    def test_lifetimes_that_say_nothing(self):
        for given in (None, -1, 0, "3600", True, 31536000, 10 ** 400, 1e300, [], 0.5):
            realm = self.realm()
            realm.idp.granted = {"expires_in": given}
            client = self.client(realm)
            client.list_tools()
            client.list_tools()
            self.assertEqual(len(realm.logins), 1, given)
            if given not in (True, 0.5):  # a time that may be over already
                self.assertEqual(len(realm.token_requests), 1, given)


class Beside(OAuthCase):
    def test_a_token_goes_instead_of_what_the_caller_has_for_it(self):
        realm = self.realm()
        client = self.client(realm, headers={"authorization": "Basic x", "user-agent": "y"})
        client.list_tools()
        self.assertEqual(realm.sent, ["Basic x", f"Bearer {next(iter(realm.idp.good))}"])
        self.assertEqual([seen.header("User-Agent") for seen in realm.site.seen if seen.path == "/mcp"], ["y", "y"])
        with Client(realm.url.replace("://", "://ada:pw@"), headers={"authorization": "Basic x"}) as plain:
            with self.assertRaises(HTTPError):
                plain.list_tools()
        self.assertEqual(realm.sent[2:], ["Basic x"])


class StepUp(OAuthCase):
    """Case C084, D to F."""

    def stepping(self, needed):
        realm = self.realm()
        realm.challenge = 'Bearer scope="r"'
        realm.needed = {"tools/list": ["r"], "tools/call": [needed]}
        return realm, self.client(realm)

    @proves("C084", "AUTH-16", "AUTH-70", "AUTH-71", "AUTH-73", "AUTH-74")
    def test_d_by_a_new_login_with_the_union(self):
        realm, client = self.stepping("w")
        client.list_tools()
        client.call_tool("t")
        self.assertEqual([form["scope"] for form in realm.logins], ["r", "r w"])
        self.assertNotIn("refresh_token", [form["grant_type"] for form in realm.token_requests])
        client.list_tools()
        client.call_tool("t")
        self.assertEqual(len(realm.logins), 2)

    def test_what_was_asked_for_is_remembered(self):
        realm, client = self.stepping("w")
        client.list_tools()
        client.call_tool("t")
        realm.idp.good.clear()
        realm.idp.refreshing.clear()
        client.list_tools()
        self.assertEqual([form["scope"] for form in realm.logins], ["r", "r w", "r w"])

    def test_a_step_up_that_fails_leaves_the_token(self):
        realm, client = self.stepping("w")
        client.list_tools()
        realm.idp.sent_back = {"code": None, "error": "access_denied"}
        with self.assertRaisesRegex(AuthorizationError, "access_denied"):
            client.call_tool("t")
        client.list_tools()
        self.assertEqual(len(realm.logins), 2)

    @proves("C084", "AUTH-75..77")
    def test_e_the_same_403_for_ever(self):
        realm, client = self.stepping("w")
        client.list_tools()
        realm.forever_403 = "w"
        for logins in (2, 3, 3, 3):
            with self.assertRaisesRegex(AuthorizationError, "answers 403 insufficient_scope for scope w"):
                client.call_tool("t")
            self.assertEqual(len(realm.logins), logins)

    @proves("AUTH-75", "AUTH-76")
    def test_a_server_that_asks_for_more_each_time(self):
        realm, client = self.stepping("w")
        client.list_tools()
        pages = [realm.refused(403, f'Bearer error="insufficient_scope", scope="s{n}"') for n in range(20)]
        realm.site.pages["/mcp"] = in_turn(*pages)
        with self.assertRaisesRegex(AuthorizationError, "answers 403"):
            client.call_tool("t")
        self.assertLessEqual(len(realm.logins), 4)

    @proves("C084", "AUTH-75")
    def test_f_a_401_for_every_token(self):
        realm = self.realm()
        realm.idp.good = type("Never", (dict,), {"__contains__": lambda self, key: False})()
        client = self.client(realm)
        with self.assertRaisesRegex(AuthorizationError, "answers 401 unauthorized"):
            client.list_tools()
        self.assertEqual(len(realm.logins), 1)
        with self.assertRaisesRegex(AuthorizationError, "answers 401"):
            client.list_tools()
        self.assertEqual([form["grant_type"] for form in realm.token_requests],
                         ["authorization_code", "refresh_token", "authorization_code"])

    def test_a_refreshed_token_that_is_refused_is_followed_by_a_login(self):
        realm = self.realm()
        client = self.client(realm)
        client.list_tools()
        realm.idp.good.clear()
        realm.idp.pages["/token"] = in_turn(page({"access_token": "stale", "token_type": "bearer"}),
                                            realm.idp.pages["/token"])
        client.list_tools()
        self.assertEqual(realm.sent[-2], "Bearer stale")
        self.assertEqual(len(realm.logins), 2)

    def test_a_403_that_names_no_scope(self):
        realm, client = self.stepping("r")
        client.list_tools()
        realm.site.pages["/mcp"] = in_turn(realm.refused(403, 'Bearer error="insufficient_scope"'),
                                           realm.site.pages["/mcp"])
        client.call_tool("t")
        self.assertEqual([form["scope"] for form in realm.logins], ["r", "r"])

    def test_a_client_on_its_own_behalf_may_step_up_too(self):
        realm = self.realm()
        realm.challenge = 'Bearer scope="r"'
        realm.needed = {"tools/call": ["w"]}
        client = self.client(realm, ClientCredentials("me", "secret"))
        client.call_tool("t")
        self.assertEqual([form["scope"] for form in realm.token_requests], ["r", "r w"])


class Together(OAuthCase):
    """Case C084, C: threads that meet one refusal."""

    THREADS = 12

    def at_once(self, call, number=THREADS):
        start = threading.Barrier(number)

        def run(_):
            start.wait(20)
            return call()

        with concurrent.futures.ThreadPoolExecutor(number) as pool:
            return [each.exception() or each.result() for each in
                    concurrent.futures.wait([pool.submit(run, n) for n in range(number)])[0]]

    @proves("C084")
    def test_one_login_and_one_refresh_for_all(self):
        realm = self.realm()
        client = self.client(realm)
        self.assertEqual(self.at_once(client.list_tools), [[]] * self.THREADS)
        self.assertEqual((len(realm.logins), len(realm.token_requests)), (1, 1))
        realm.idp.good.clear()
        self.assertEqual(self.at_once(client.list_tools), [[]] * self.THREADS)
        self.assertEqual((len(realm.logins), len(realm.token_requests)), (1, 2))

    def test_one_step_up_for_all(self):
        realm = self.realm()
        realm.challenge = 'Bearer scope="r"'
        realm.needed = {"tools/call": ["w"]}
        client = self.client(realm)
        client.list_tools()
        self.assertEqual(len(self.at_once(lambda: client.call_tool("t")["content"])), self.THREADS)
        self.assertEqual([form["scope"] for form in realm.logins], ["r", "r w"])

    def test_one_failure_is_everybodys(self):
        realm = self.realm()
        waiting, renew = threading.Semaphore(0), Session.renew

        def counted(*arguments):
            waiting.release()
            return renew(*arguments)

        def visit(url):
            self.assertTrue(all(waiting.acquire(timeout=20) for _ in range(self.THREADS)))
            realm.visit(url)
            return "http://127.0.0.1/callback?state=wrong"

        client = self.client(realm, self.oauth(realm, visit=visit))
        with mock.patch.object(Session, "renew", counted):
            failures = self.at_once(client.list_tools)
        self.assertEqual({type(each) for each in failures}, {AuthorizationError})
        self.assertEqual(len(realm.logins), 1)

    def test_two_clients_of_one_authorization(self):
        first, second = self.realm(), self.realm()
        second.metadata["authorization_servers"] = first.metadata["authorization_servers"]
        second.idp.good = first.idp.good
        auth = self.oauth(first)
        self.client(first, auth).list_tools()
        self.client(second, auth).list_tools()
        self.assertEqual([form["resource"] for form in first.logins], [first.url, second.url])
        self.assertEqual(first.idp.paths().count("/register"), 1)
        self.assertNotEqual(first.sent[-1], second.sent[-1])
        self.client(first, auth).list_tools()
        self.assertEqual(len(first.logins), 2, "tokens are kept with the authorization")


class Kept(OAuthCase):
    """FileTokenStore."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "made" / "tokens.json"

    @proves("AUTH-54", "AUTHSEC-05")
    def test_only_its_owner_reads_it(self):
        before = os.umask(0)
        try:
            FileTokenStore(self.path).save("k", {"access": "x"})
        finally:
            os.umask(before)
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.path.parent.stat().st_mode), 0o700)
        self.assertEqual({stat.S_IMODE(each.stat().st_mode) for each in self.path.parent.iterdir()}, {0o600})

    def test_it_is_replaced_as_a_whole(self):
        store = FileTokenStore(self.path)
        store.save("k", {"access": "x"})
        before = self.path.stat().st_ino
        with mock.patch.object(token_store.json, "dumps", side_effect=OSError("disk full")):
            with self.assertRaisesRegex(AuthorizationError, "tokens cannot be kept in .*: disk full"):
                store.save("k", {"access": "y"})
        self.assertEqual(store.load("k"), {"access": "x"})
        self.assertEqual(len([each for each in self.path.parent.iterdir() if not each.name.endswith(".lock")]), 1)
        store.save("k", {"access": "z"})
        self.assertNotEqual(self.path.stat().st_ino, before)
        store.save("k", None)
        self.assertIsNone(store.load("k"))
        store.save("k", None)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "this system has no named pipes")
    def test_what_is_no_file_is_not_replaced_and_a_link_stays_one(self):
        self.path.parent.mkdir()
        os.mkfifo(self.path)
        store = FileTokenStore(self.path)
        self.assertIsNone(store.load("k"))
        with self.assertRaisesRegex(AuthorizationError, "kept in a file, which .*tokens.json is not"):
            store.save("k", {"access": "x"})
        self.assertTrue(self.path.is_fifo())
        link = self.path.with_name("link")
        link.symlink_to("there")
        FileTokenStore(link).save("k", {"access": "x"})
        self.assertTrue(link.is_symlink())
        self.assertEqual(FileTokenStore(link.with_name("there")).load("k"), {"access": "x"})

    def test_a_place_where_nothing_can_be_kept(self):
        self.path.parent.write_bytes(b"a file")
        realm = self.realm()
        self.refused(realm, "tokens cannot be kept in", self.oauth(realm, store=FileTokenStore(self.path)))

    def test_what_is_damaged_holds_nothing(self):
        store = FileTokenStore(self.path)
        self.assertIsNone(store.load("k"))
        store.save("k", {"access": "x"})
        for octets in (b"", b"[1]", b"{", b'{"k": 7}', b"\xff", b'{"k": {}, "k": {}}'):
            self.path.write_bytes(octets)
            self.assertIsNone(store.load("k"))
            store.save("k", {"access": "x"})
            self.assertEqual(store.load("k"), {"access": "x"})

    def test_records_that_are_none_of_ours_are_no_token(self):
        realm, store = self.realm(), FileTokenStore(self.path)
        self.client(realm, self.oauth(realm, store=store)).list_tools()
        key = f"token {realm.url}"
        good = store.load(key)
        for wrong in ({"issuer": 7}, {**good, "access": 7}, {**good, "more": 1}, {**good, "scopes": [1]},
                      {**good, "scopes": 3}, {**good, "expires": "soon"}, {}, {**good, "kind": None}):
            store.save(key, wrong)
            realm.idp.refreshing.clear()
            realm.idp.good.clear()
            self.client(realm, self.oauth(realm, store=store)).list_tools()
        store.save(f"client {realm.idp.issuer}", {"what": "is this"})
        store.save(key, None)
        self.client(realm, self.oauth(realm, store=store)).list_tools()

    def test_another_client_takes_up_what_is_kept(self):
        realm = self.realm()
        for _ in range(2):
            self.client(realm, self.oauth(realm, store=FileTokenStore(self.path))).list_tools()
        self.assertEqual((len(realm.logins), realm.idp.paths().count("/register")), (1, 1))
        self.assertEqual(realm.sent.count(None), 1, "the second has a token from the start")

    def test_what_another_has_refreshed_is_taken(self):
        realm = self.realm()
        clients = [self.client(realm, self.oauth(realm, store=FileTokenStore(self.path))) for _ in range(2)]
        for client in clients:
            client.list_tools()
        realm.idp.good.clear()
        for client in clients:
            client.list_tools()
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["authorization_code", "refresh_token"])

    def test_what_another_refreshes_at_that_very_moment_is_taken(self):
        class Overtaken(TokenStore):
            meanwhile = list.clear

            @contextlib.contextmanager
            def alone(self, deadline):
                hook, self.meanwhile = self.meanwhile, list.clear
                hook([])
                yield

        realm, store = self.realm(), Overtaken()
        first, second = (self.client(realm, self.oauth(realm, store=store)) for _ in range(2))
        first.list_tools()
        second.list_tools()
        realm.idp.good.clear()
        store.meanwhile = lambda _: second.list_tools()
        first.list_tools()
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["authorization_code", "refresh_token"])

    @unittest.skipUnless(find_spec("fcntl"), "without fcntl there is no lock between processes")
    @proves("AUTHSEC-05")
    def test_processes_change_it_one_at_a_time(self):
        code = ("import sys; from mcp_ref import FileTokenStore as S\n"
                "for n in range(20): S(sys.argv[1]).save(sys.argv[2] + str(n), {'n': n})")
        running = [subprocess.Popen([sys.executable, "-c", code, str(self.path), name], cwd=ROOT) for name in "abc"]
        self.assertEqual([each.wait(60) for each in running], [0, 0, 0])
        self.assertEqual(len(json.loads(self.path.read_text())), 60)

    @unittest.skipUnless(find_spec("fcntl"), "without fcntl there is no lock between processes")
    def test_one_refreshes_while_another_waits(self):
        store = FileTokenStore(self.path)
        store.save("k", {})
        code = ("import sys; from mcp_ref import FileTokenStore as S\nfrom mcp_ref.transports.calls import Deadline\n"
                "with S(sys.argv[1]).alone(Deadline(60)): print('in', flush=True); sys.stdin.read()")
        held = subprocess.Popen([sys.executable, "-c", code, str(self.path)], cwd=ROOT, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(held.stdout.readline(), "in\n")
        with self.assertRaises(Timeout), store.alone(Deadline(0.2)):
            self.fail("it was not alone")
        store.save("k", {"x": 1})
        held.communicate("", timeout=60)
        with store.alone(Deadline(20)):
            pass


if __name__ == "__main__":
    unittest.main()
