"""`login`, `logout` and the token that every command sends: what is asked for, kept, refreshed and shown."""

import base64
import contextlib
import io
import json
import os
import re
import shlex
import stat
import tempfile
import threading
import time
import unittest
import urllib.request
import webbrowser
from pathlib import Path
from unittest import mock

from mcp_ref.cli import main, tokens
from mcp_ref.cli.faults import called

from .fake_oauth import DOCUMENT, MISSING, OAUTH, PRM, OAuthCase, page, secrets_of
from .stub_http import Stub, asks, error, events, raw, result, said
from .support import ROOT, working_in


class Written(io.StringIO):
    """A standard error that tells of each line, as it comes."""

    def __init__(self, heard):
        super().__init__()
        self._heard = heard

    def write(self, text):
        for line in text.split():
            if line.startswith("http://") and "/authorize?" in line:
                self._heard(line)
        return super().write(text)


class Case(OAuthCase):
    """A user whose browser does all by itself. shown: everything that any command has printed."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = Path(folder.name) / "config" / "mcp_ref" / "tokens.json"
        self.environment = {"XDG_CONFIG_HOME": str(self.store.parent.parent), "HOME": folder.name}
        self.shown, self.visits = "", []

    def tearDown(self):
        for visit in self.visits:
            visit.join()
        super().tearDown()

    def browse(self, realm):
        """A browser: it goes where the authorization server sends it, in its own time."""
        def follow(url):
            urllib.request.urlopen(realm.visit(url), timeout=10).close()

        def opened(url):
            self.visits.append(threading.Thread(target=follow, args=(url,)))
            self.visits[-1].start()
            return True
        return opened

    def run_in(self, realm, *words, status=0, **environment):
        """(standard output, standard error) of a command, which ends with this status."""
        browser = self.browse(realm)
        out, err = io.StringIO(), Written(browser if "--no-browser" in words else lambda url: None)
        with mock.patch.object(webbrowser, "open", browser), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err), mock.patch.object(os, "environ", {**self.environment, **environment}):
            self.assertEqual(main([*words]), status, err.getvalue())
        self.shown += out.getvalue() + err.getvalue()
        return out.getvalue(), err.getvalue()

    def kept(self):
        return json.loads(self.store.read_bytes())

    def expire(self, realm):
        """The kept token's time is over."""
        kept = self.kept()
        kept[f"token {realm.url}"]["expires"] = time.time() - 1
        self.store.write_text(json.dumps(kept), encoding="utf-8")

    def nothing_secret(self, realm):
        for known in secrets_of(realm):
            self.assertNotIn(known, self.shown)


class Login(Case):
    def test_a_login_is_kept_and_used_by_every_command(self):
        realm = self.realm()
        self.assertEqual(self.run_in(realm, "list", realm.url, status=1)[1],
                         "mcp_ref: HTTP 401: {\"error\": \"refused\"}. The server wants a token. To get one: "
                         f"{called()} login {realm.url}\n")
        self.assertIn(f" login {realm.url}\n", self.run_in(realm, "list", realm.url, "--era", "legacy", status=1)[1])
        _, err = self.run_in(realm, "send", realm.url, "tools/list", status=1)
        self.assertEqual(err, f"mcp_ref: The server wants a token. To get one: {called()} login {realm.url}\n")
        with Stub(raw(403, b"no", "text/plain")) as stub:
            self.assertNotIn("login", self.run_in(realm, "list", stub.url, status=1)[1])
        self.assertEqual(realm.logins, [], "no command but login begins one")
        out, err = self.run_in(realm, "login", realm.url)
        self.assertRegex(err, rf"\Amcp_ref: {realm.idp.issuer} is asked for no scopes, by the client client-1-secret"
                              rf"; to log in, go to\n{realm.idp.url}/authorize\?\S+\n\Z")
        self.assertRegex(out, rf"\Aserver: {realm.url}\nissuer: {realm.idp.issuer}\nclient: client-1-secret\n"
                              r"asked: no scopes\ngranted: no scopes\nexpires: 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\n"
                              rf"refreshed: by itself\nkept: {self.store}\n\Z")
        self.assertEqual(stat.S_IMODE(self.store.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.store.parent.stat().st_mode), 0o700)
        for command in (["list"], ["call", "t"], ["probe"], ["discover"], ["send", "tools/list"]):
            self.run_in(realm, command[0], realm.url, *command[1:])
            self.assertEqual(realm.sent[-1], "Bearer access-3-secret", command)
        self.assertEqual((len(realm.logins), len(realm.token_requests)), (1, 1))
        self.run_in(realm, "list", realm.url, "--output", "json")
        self.nothing_secret(realm)

    def test_what_was_asked_for_and_what_was_granted(self):
        realm = self.realm()
        realm.idp.metadata["scopes_supported"] = ["read", "write", "offline_access"]
        realm.idp.granted = {"scope": "read", "expires_in": None, "refresh_token": None}
        out, err = self.run_in(realm, "login", realm.url, "--scope", "read write")
        self.assertIn("is asked for the scopes read write offline_access, by", err)
        self.assertIn("asked: read write offline_access\ngranted: read\nexpires: not said\nrefreshed: by another "
                      "login\n", out)
        out, _ = self.run_in(realm, "login", realm.url, "--output", "json")
        told = json.loads(out)
        self.assertEqual([told[name] for name in ("asked", "granted", "expires", "refreshed")],
                         [[], ["read"], None, False])
        self.assertEqual([login.get("scope") for login in realm.logins], ["read write offline_access", None],
                         "a login begins from nothing")

    def test_without_a_browser_the_url_is_printed(self):
        realm = self.realm()
        self.run_in(realm, "login", realm.url, "--no-browser")
        self.run_in(realm, "list", realm.url)
        self.assertEqual((len(realm.logins), len(self.visits)), (1, 1))

    def test_a_refresh_goes_by_itself(self):
        realm = self.realm()
        self.run_in(realm, "login", realm.url)
        for command in (["list", realm.url], ["send", realm.url, "tools/list"]):
            self.expire(realm)
            self.run_in(realm, *command)
        self.assertEqual([form["grant_type"] for form in realm.token_requests],
                         ["authorization_code", "refresh_token", "refresh_token"])
        self.assertEqual(len(realm.logins), 1)
        self.nothing_secret(realm)

    def test_what_is_kept_no_longer_holds(self):
        """No command begins a login by itself; it says how to."""
        realm = self.realm()
        self.run_in(realm, "login", realm.url)
        realm.idp.good.clear()
        realm.idp.refreshing.clear()
        before = self.kept()[f"token {realm.url}"]
        _, err = self.run_in(realm, "list", realm.url, status=1)
        self.assertEqual(err, f"mcp_ref: the token that is kept is not taken: {called()} login {realm.url}\n")
        realm.idp.granted = {"refresh_token": None}
        self.run_in(realm, "list", realm.url, "--login")
        realm.idp.granted = {}
        self.assertNotEqual(self.kept()[f"token {realm.url}"]["access"], before["access"])
        self.assertEqual(len(realm.logins), 2)
        realm.idp.good.clear()
        self.assertEqual(self.run_in(realm, "list", realm.url, status=1)[1], err)
        self.nothing_secret(realm)

    def test_more_scopes_are_for_a_login_too(self):
        realm = self.realm()
        self.run_in(realm, "login", realm.url, "--scope", "read")
        realm.needed = {"tools/call": ["write"]}
        _, err = self.run_in(realm, "call", realm.url, "t", status=1)
        self.assertEqual(err, "mcp_ref: this needs a login with more scopes: "
                              f"{called()} login {realm.url} --scope 'read write'\n")
        self.run_in(realm, "list", realm.url)
        self.run_in(realm, "call", realm.url, "t", "--login")
        self.assertEqual([login["scope"] for login in realm.logins], ["read", "read write"])
        self.run_in(realm, "call", realm.url, "t")

    def test_with_the_option_any_command_logs_in(self):
        realm = self.realm()
        self.run_in(realm, "list", realm.url, "--login")
        self.run_in(realm, "list", realm.url)
        self.assertEqual(len(realm.logins), 1)

    def test_a_new_login_takes_the_place_of_the_old_one_once_it_is_done(self):
        realm = self.realm()
        self.run_in(realm, "login", realm.url)
        before = self.kept()
        realm.idp.sent_back = {"error": "access_denied", "code": None}
        _, err = self.run_in(realm, "login", realm.url, status=1)
        self.assertIn("access_denied", err)
        self.assertEqual(self.kept(), before)
        realm.idp.sent_back = {}
        self.run_in(realm, "login", realm.url)
        self.assertEqual(len(realm.logins), 3)
        self.assertNotEqual(self.kept()[f"token {realm.url}"], before[f"token {realm.url}"])
        self.run_in(realm, "list", realm.url)

    def test_a_server_that_asks_for_no_token_yet(self):
        """Its metadata says where to log in; without, there is nothing to log in at."""
        realm = self.realm()
        realm.site.pages["/mcp"] = lambda seen: result(tools=[], supportedVersions=["2026-07-28"])(seen)
        self.run_in(realm, "login", realm.url)
        self.run_in(realm, "list", realm.url)
        self.assertRegex(realm.sent[-1], "Bearer access-.*")
        realm.site.pages[PRM + "/mcp"] = MISSING
        _, err = self.run_in(realm, "login", realm.url, status=1)
        self.assertIn("the protected resource metadata at", err)

    def test_nobody_logs_in(self):
        realm = self.realm()
        self.browse = lambda realm: lambda url: False
        _, err = self.run_in(realm, "login", realm.url, "--timeout", "0.3", status=1)
        self.assertIn("nobody has logged in within 0.3 s", err)
        del self.browse
        self.run_in(realm, "login", realm.url)
        self.assertEqual(realm.idp.paths().count("/register"), 2, "the client was known no longer, perhaps")


class Clients(Case):
    """What the client is known by, for the login and for every refresh after it."""

    def test_a_client_registered_beforehand(self):
        realm = self.realm()
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        words = ("--client-id", "mine", "--client-secret-env", "SECRET", "--issuer", realm.idp.issuer)
        self.run_in(realm, "login", realm.url, *words, SECRET="s3cret-of-the-client")
        self.assertNotIn("s3cret-of-the-client", self.store.read_text(encoding="utf-8"))
        kept = self.kept()
        kept[f"token {realm.url} mine"]["expires"] = 1
        self.store.write_text(json.dumps(kept), encoding="utf-8")
        _, err = self.run_in(realm, "list", realm.url, status=2)
        self.assertIn(f"the name that --client-secret-env of the login to {realm.url} gives", err)
        self.run_in(realm, "list", realm.url, SECRET="s3cret-of-the-client", status=0)
        self.assertEqual([(form["client_id"], form["client_secret"]) for form in realm.token_requests],
                         [("mine", "s3cret-of-the-client")] * 2)
        self.assertNotIn("s3cret-of-the-client", self.shown)
        self.run_in(realm, "login", realm.url, status=0)
        self.assertNotIn(f"token {realm.url} mine", self.kept(), "the one of before is dropped")
        self.assertNotIn(f"login {realm.url}", self.kept())

    def test_a_metadata_document(self):
        realm = self.realm()
        realm.idp.metadata["client_id_metadata_document_supported"] = True
        self.run_in(realm, "login", realm.url, "--client-metadata-url", DOCUMENT)
        self.expire(realm)
        self.run_in(realm, "list", realm.url)
        self.assertEqual([form["client_id"] for form in realm.token_requests], [DOCUMENT] * 2)

    def test_what_cannot_be_used_is_named(self):
        realm = self.realm()
        for words, said_ in ((("--client-secret-env", "SECRET"), "belongs to a client_id"),
                             (("--client-metadata-url", "http://x/"), "must be https"),
                             (("--client-id", "a", "--client-secret-env", "s3cret-itself"), "no environment variable"),
                             (("--token-env", "SECRET"), "not to log in as well"),
                             (("--header", "authorization: Bearer x"), "not to log in as well")):
            _, err = self.run_in(realm, "login", realm.url, *words, status=2, SECRET="some-token")
            self.assertIn(said_, err)
            self.assertEqual(err.count("\n"), 1, err)
        self.run_in(realm, "login", "http://mcp.example/", status=2)
        _, err = self.run_in(realm, "login", realm.url, "--issuer", "https://other.example", status=1)
        self.assertIn("https://other.example", err)
        self.assertNotIn("s3cret-itself", self.shown)
        with contextlib.redirect_stderr(io.StringIO()) as told:
            self.assertEqual(main(["login", "--", "python3", "server.py"]), 2)
        self.assertIn("a stdio server asks for no login", told.getvalue())
        self.assertEqual(realm.logins, [])


class Store(Case):
    def test_logout(self):
        realm = self.realm()
        self.assertEqual(self.run_in(realm, "logout", realm.url)[0], f"no token is kept for {realm.url}\n")
        self.assertFalse(self.store.exists(), "nothing is made to be dropped")
        self.run_in(realm, "login", realm.url, "--issuer", realm.idp.issuer)
        self.assertEqual(self.run_in(realm, "logout", realm.url)[0], f"logged out of {realm.url}\n")
        self.assertEqual(list(self.kept()), [f"client {realm.idp.issuer}"])
        self.run_in(realm, "list", realm.url, status=1)
        self.assertIsNone(realm.sent[-1])
        self.run_in(realm, "logout", "ftp://x", status=2)

    def test_where_it_is(self):
        realm = self.realm()
        folder = self.store.parent.parent
        for words, environment, place in (
                (("--token-store", str(folder / "a")), {}, folder / "a"),
                ((), {"MCP_TOKEN_STORE": str(folder / "b")}, folder / "b"),
                ((), {"XDG_CONFIG_HOME": "relative", "HOME": str(folder)}, folder / ".config/mcp_ref/tokens.json")):
            self.run_in(realm, "login", realm.url, *words, **environment)
            self.assertTrue(place.is_file(), place)
            self.run_in(realm, "list", realm.url, *words, **environment)
        self.assertFalse(self.store.exists())
        self.run_in(realm, "list", realm.url, status=1)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "this system has no pipes with names")
    def test_what_is_no_file_is_neither_read_nor_replaced(self):
        realm = self.realm()
        folder = self.store.parent.parent.parent
        os.mkfifo(folder / "pipe")
        for place in (folder, folder / "pipe"):
            for command, status in (("login", 2), ("logout", 2), ("list", 1)):
                _, err = self.run_in(realm, command, realm.url, "--token-store", str(place), status=status)
                self.assertIn("server wants a token" if status == 1 else "in a file, which", err)
        self.assertTrue(stat.S_ISFIFO((folder / "pipe").stat().st_mode))

    def test_a_user_without_a_home(self):
        realm = self.realm()
        with mock.patch.object(tokens.os.path, "expanduser", lambda path: path):
            self.assertIn("login", self.run_in(realm, "list", realm.url, status=1, XDG_CONFIG_HOME="")[1])
            self.assertIn("no home folder", self.run_in(realm, "login", realm.url, status=2, XDG_CONFIG_HOME="")[1])

    def test_what_is_damaged_or_foreign_is_no_token(self):
        realm = self.realm()
        self.store.parent.mkdir(parents=True)
        for text in ("{", "[]", json.dumps({f"token {realm.url}": 7, f"login {realm.url}": {"client_id": 7}})):
            self.store.write_text(text, encoding="utf-8")
            self.run_in(realm, "list", realm.url, status=1)
            self.assertIsNone(realm.sent[-1])
        kept = {f"token {realm.url}": {"access": "x"}, f"login {realm.url}": {"client_metadata_url": "http://x/"}}
        self.store.write_text(json.dumps(kept), encoding="utf-8")
        for command in (["list"], ["send", "tools/list"]):
            _, err = self.run_in(realm, command[0], realm.url, *command[1:], status=2)
            self.assertRegex(err, "^mcp_ref: .*must be https.*\n$")

    def test_a_token_is_for_its_server_alone(self):
        realm, other = self.realm(), self.realm()
        self.run_in(realm, "login", realm.url)
        self.assertIn("The server wants a token", self.run_in(other, "list", other.url, status=1)[1])
        self.run_in(realm, "list", realm.url.replace("127.0.0.1", "localhost"), status=1)
        self.assertEqual([value for value in (*other.sent, realm.sent[-1]) if value], [])


class Given(Case):
    """--token-env and --header: what the user has is sent, and nothing else."""

    def test_a_token_of_the_environment(self):
        realm = self.realm()
        realm.idp.good["my-own-token"] = []
        self.run_in(realm, "login", realm.url)
        for command in (["list"], ["call", "t"], ["send", "tools/list"]):
            self.run_in(realm, command[0], realm.url, *command[1:], "--token-env", "MINE", MINE="my-own-token\n")
            self.assertEqual(realm.sent[-1], "Bearer my-own-token")
        before = len(realm.site.seen)
        _, err = self.run_in(realm, "list", realm.url, "--token-env", "MINE", status=1, MINE="not-any-more")
        self.assertEqual(err, 'mcp_ref: HTTP 401: {"error": "refused"}\n')
        self.assertEqual(len(realm.site.seen), before + 1, "the one that is kept is not sent in its place")
        self.assertNotIn("my-own-token", self.shown)

    def test_what_is_no_token_is_refused_and_not_shown(self):
        realm = self.realm()
        for words, environment, told in (
                (("--token-env", "s3cret-itself"), {}, "no environment variable"),
                (("--token-env", "MINE"), {"MINE": " "}, "nothing in it"),
                (("--token-env", "MINE"), {"MINE": "s3cret itself"}, "no blanks"),
                (("--token-env", "MINE"), {"MINE": "s3cret-itself\x00é"}, "no blanks"),
                (("--token-env", "MINE", "--header", "Authorization: Basic s3cret-itself"), {"MINE": "a"}, "by both")):
            _, err = self.run_in(realm, "list", realm.url, *words, status=2, **environment)
            self.assertIn(told, err)
        self.assertNotIn("itself", self.shown)
        self.assertEqual(realm.site.seen, [])
        with contextlib.redirect_stderr(io.StringIO()) as told, mock.patch.dict(os.environ, {"MINE": "a-token"}):
            for command in (["list"], ["send", "tools/list"]):
                self.assertEqual(main([*command, "--token-env", "MINE", "--", "python3", "server.py"]), 2)
        self.assertEqual(told.getvalue().count("header"), 2)

    def test_a_header_of_the_user_comes_first(self):
        realm = self.realm()
        self.run_in(realm, "login", realm.url)
        for url, words, sent in ((realm.url, ("--header", "AUTHORIZATION: Bearer other-token"), "Bearer other-token"),
                                 (realm.url.replace("//", "//user:password@"), (), "Basic dXNlcjpwYXNzd29yZA==")):
            _, err = self.run_in(realm, "list", url, *words, status=1)
            self.assertEqual(realm.sent[-1], sent)
            self.assertNotIn("login", err)
        self.expire(realm)
        given = ("--set-header", "Authorization: Bearer other-token")
        self.run_in(realm, "send", realm.url, "tools/list", *given, status=1)
        self.assertEqual((realm.sent[-1], len(realm.token_requests)), ("Bearer other-token", 1))


class Raw(Case):
    """Every exchange is shown, those with the authorization server too; what is secret in them is not."""

    def test_a_login_and_a_refresh(self):
        realm = self.realm()
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        realm.idp.granted = {"id_token": "who-it-is-secret", "scope": "read"}
        words = ("--client-id", "mine", "--client-secret-env", "SECRET")
        out, _ = self.run_in(realm, "login", realm.url, "--raw", *words, SECRET="s3cret-of-the-client")
        for part in (f"GET {PRM}/mcp HTTP/1.1\n", f"GET {OAUTH} HTTP/1.1\n", "POST /token HTTP/1.1\n",
                     "&code=…&", "&code_verifier=…&", "&client_secret=…", '"access_token": "…"', '"refresh_token": "…"',
                     '"id_token": "…"', '"scope": "read"', "\nAuthorization: …\n", "HTTP/1.0 401 "):
            self.assertIn(part, out)
        kept = self.kept()
        kept[f"token {realm.url} mine"]["expires"] = 1
        self.store.write_text(json.dumps(kept), encoding="utf-8")
        out, _ = self.run_in(realm, "list", realm.url, "--pretty", SECRET="s3cret-of-the-client")
        self.assertIn("grant_type=refresh_token&refresh_token=…&", out)
        self.assertIn('\n  "access_token": "…",\n', out)
        realm.idp.refreshing.clear()
        self.store.write_text(json.dumps(kept), encoding="utf-8")
        out, _ = self.run_in(realm, "list", realm.url, "--raw", status=1, SECRET="s3cret-of-the-client")
        self.assertIn('"error_description": "… is gone"', out)
        self.nothing_secret(realm)
        self.assertNotIn("who-it-is-secret", self.shown)

    def test_a_registration(self):
        realm = self.realm()
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
        realm.idp.pages["/register"] = page({"client_id": "c", "client_secret": "s3cret-issued",
                                             "registration_access_token": "to-manage-secret"}, 201)
        out, _ = self.run_in(realm, "login", realm.url, "--raw")
        self.assertIn('"client_secret": "…", "registration_access_token": "…"', out)
        self.run_in(realm, "list", realm.url, "--raw")
        for known in ("s3cret-issued", "to-manage-secret", "YzpzM2NyZXQtaXNzdWVk"):
            self.assertNotIn(known, self.shown)

    def test_a_body_in_chunks_is_shown_whole(self):
        realm = self.realm()
        grant = realm.idp.pages["/token"]

        def chunked(seen):
            answer = grant(seen)
            parts = [answer.body[at:at + 7] for at in range(0, len(answer.body), 7)]
            return answer._replace(body=b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [*parts, b""]),
                                   fields={"Content-Type": "application/json", "Transfer-Encoding": "chunked"})

        realm.idp.pages["/token"] = chunked
        with mock.patch("http.server.BaseHTTPRequestHandler.protocol_version", "HTTP/1.1"):
            out, _ = self.run_in(realm, "login", realm.url, "--raw")
        self.assertIn('"access_token": "…"', out)
        self.nothing_secret(realm)
        self.assertNotIn("secret", "".join(out.split("client-1-secret")))

    def test_a_server_that_repeats_what_it_was_sent(self):
        def echo(seen):
            sent = " ".join(value for _, value in seen.fields)
            repeats = said(sent) if seen.message["params"].get("name") == "t" else raw(418, sent.encode(), "text/plain")
            return repeats(seen)

        for words, secret in ((("--token-env", "MINE"), "token-of-mine"),
                              (("--header", "X-Api-Key: key-of-mine"), "key-of-mine"),
                              (("--header", "X-Auth-Key: auth-of-mine"), "auth-of-mine"),
                              (("--header", "DPoP: proof-of-mine"), "proof-of-mine")):
            with Stub(echo) as stub:
                for command in (("call", stub.url, "t"), ("call", stub.url, "t", "--output", "json"),
                                ("call", stub.url, "t", "--raw"), ("call", stub.url, "u"),
                                ("send", stub.url, "tools/call", "--params", '{"name": "t"}')):
                    given = ("--set-header", *words[1:]) if command[0] == "send" and words[0] == "--header" else words
                    self.run_in(None, *command, *given, "--era", "modern", MINE="token-of-mine",
                                status=int("u" in command))
                self.assertIn(secret, [value.rpartition(" ")[2] for _, value in stub.seen[-1].fields])
            self.assertNotIn(secret, self.shown)
        self.assertIn("Bearer …", self.shown)
        realm = self.realm()
        self.run_in(realm, "login", realm.url)
        realm.site.pages["/mcp"] = echo
        self.run_in(realm, "list", realm.url, "--era", "modern", status=1)
        self.assertRegex(realm.sent[-1], "Bearer access-.*")
        self.nothing_secret(realm)


class Repeated(Case):
    """Whatever a server makes of a secret that it was sent, nobody reads it."""

    TOKEN = 'tok"en-of/mine-0123456789'
    GIVEN = ("--token-env", "MINE", "--era", "modern")

    def run_with(self, script, *words, status=0):
        """All that a command prints; its answers are scripted."""
        self.shown = ""
        with Stub(*script) as stub:
            self.run_in(None, words[0], stub.url, *words[1:], *self.GIVEN, status=status, MINE=self.TOKEN)
            self.assertEqual(stub.seen[-1].header("Authorization"), f"Bearer {self.TOKEN}")
        self.assertNotIn(self.TOKEN, self.shown)
        self.assertNotIn(json.dumps(self.TOKEN)[1:-1], self.shown)
        self.assertIn("…", self.shown, "it was there")
        return self.shown

    def test_rows_and_definitions(self):
        tool = {"name": self.TOKEN, "title": self.TOKEN, "description": f"a\n{self.TOKEN}", "inputSchema": {
            "type": "object", "properties": {self.TOKEN: {"type": "string", "default": self.TOKEN}}}}
        listed = result(tools=[tool], prompts=[{"name": self.TOKEN}])
        for words in (["list"], ["list", "--output", "json"], ["list", "--raw"], ["list", "--pretty"],
                      ["list", "--kind", "prompts"], ["list", self.TOKEN]):
            self.run_with([listed], *words)
        self.assertIn("default …", self.run_with([listed], "list", self.TOKEN).replace('"', ""))
        self.run_with([result(tools=[tool], supportedVersions=["2026-07-28"], capabilities={"tools": {}},
                              instructions=self.TOKEN)], "discover")

    def test_what_it_says_on_the_way(self):
        form = {"a": {"method": "elicitation/create", "params": {"message": self.TOKEN, "requestedSchema": {
            "type": "object", "properties": {"x": {"type": "string", "title": self.TOKEN, "default": self.TOKEN}}}}}}
        notes = [{"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params} for method, params in (
            ("progress", {"progressToken": 1, "progress": 1, "message": self.TOKEN}),
            ("message", {"level": "error", "logger": self.TOKEN, "data": {"it is": self.TOKEN}}))]
        with mock.patch("sys.stdin", io.StringIO("\ns\n")):
            shown = self.run_with([events(*notes, last=asks(form)), said()], "call", "t", "--log-level", "info",
                                  "--stdin")
        for words in ("progress 1 …\n", 'error …: {"it is": "…"}\n', "  | …\n", "[…]: ", "  x = …\n"):
            self.assertIn(words, shown)

    def test_errors_even_cut_off(self):
        self.assertIn("-32603 … {\"a\": \"…\"}", self.run_with(
            [error(-32603, self.TOKEN, data={"a": self.TOKEN})], "call", "t", status=1))
        for size in range(180, 200):
            shown = self.run_with([raw(418, b"x" * size + self.TOKEN.encode(), "text/plain")], "call", "t", status=1)
            self.assertNotIn(self.TOKEN[:8], shown)

    def test_octets(self):
        contents = [{"uri": "a", "text": self.TOKEN},
                    {"uri": "b", "blob": base64.b64encode(b"\xff" + self.TOKEN.encode()).decode()}]
        for words in ((), ("--out", "-")):
            pipe = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
            with Stub(result(contents=contents)) as stub, contextlib.redirect_stdout(pipe), \
                    mock.patch.object(os, "environ", {"MINE": self.TOKEN}):
                self.assertEqual(main(["read", stub.url, "a", *self.GIVEN, *words]), 0)
            self.assertEqual(pipe.buffer.getvalue().replace(b"\n", b""), "…".encode() + b"\xff" + "…".encode())

    def test_what_comes_in_pieces(self):
        pieces = [f"a\n{self.TOKEN[:9]}".encode(), self.TOKEN[9:].encode() + b"\nb"]
        shown = self.run_with([raw(200, pieces, "text/plain")], "send", "x", status=1)
        self.assertEqual(shown, "HTTP 200 OK\na\n…\nb\n")
        chunks = raw(200, [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b"")], "text/plain",
                     Transfer_Encoding="chunked")
        with mock.patch("http.server.BaseHTTPRequestHandler.protocol_version", "HTTP/1.1"):
            for option in ("--raw", "--pretty"):
                shown = self.run_with([chunks], "send", "x", option, status=1)
                for part in (self.TOKEN[:9], self.TOKEN[9:]):
                    self.assertNotIn(part, shown)

    def test_what_a_terminal_would_break_in_two(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        note = {"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": 1, "progress": 1, "message": f"of {self.TOKEN}"}}
        tool = {"name": "t", "description": f"It is {self.TOKEN}.", "inputSchema": {"type": "object"}}
        for words, answer in ((["list"], result(tools=[tool])), (["call", "t"], events(note, last=said()))):
            screen = Terminal()
            with Stub(answer) as stub, contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen), \
                    mock.patch.object(os, "environ", {"MINE": self.TOKEN, "COLUMNS": "14", "TERM": "xterm"}):
                self.assertEqual(main([words[0], stub.url, *words[1:], *self.GIVEN]), 0)
            self.assertIn("…", screen.getvalue())
            for part in (self.TOKEN[:4], self.TOKEN[-4:]):
                self.assertNotIn(part, screen.getvalue())

    def test_short_ones_and_those_of_a_url_or_a_cookie(self):
        def echo(seen):
            sent = [value for name, value in seen.fields if name in ("Authorization", "Cookie", "X-Api-Key")]
            plain = base64.b64decode(sent[0].split()[1]).decode() if sent[0].startswith("Basic ") else ""
            return said(f"{sent[0]} ({re.split('[ =]', sent[0])[-1]}, {plain}) in Bearertown")(seen)

        for credentials, words, told in (
                ("", ("--header", "Authorization: Bearer s3cr"), "… (…, ) in Bearertown"),
                ("", ("--header", "X-Api-Key: town"), "… (…, ) in Bearertown"),
                ("", ("--header", "Cookie: a=b; session=s3cret-one"), "… (…, ) in Bearertown"),
                ("me:pass-word@", (), "Basic … (…, me:…) in Bearertown")):
            with Stub(echo) as stub:
                out, _ = self.run_in(None, "call", stub.url.replace("//", f"//{credentials}"), "t", *words, "--era",
                                     "modern")
            self.assertEqual(out, f"{told}\n")
        both = ("--set-header", "X-Api-Key: key-of-mine", "--set-header", "X-Api-Key: another-one")
        with Stub(lambda seen: said(repr(seen.fields))(seen)) as stub:
            out, _ = self.run_in(None, "send", stub.url, "x", *both)
        self.assertEqual(out.count("('X-Api-Key', '…')"), 2, out)


class Readme(Case):
    """The section of README.md on servers that want a token."""

    TEXT = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Servers that want a token")[2]
    SECTION = TEXT.partition("\n## ")[0]

    def blocks(self, realm, kind):
        return [text.replace("https://mcp.example/mcp", realm.url)
                for text in re.findall(rf"^```{kind}\n(.*?)^```", self.SECTION, re.M | re.S)]

    def test_its_commands(self):
        realm = self.realm()
        realm.idp.good["a-token-from-elsewhere"] = []
        (lines,) = self.blocks(realm, "sh")
        for line in lines.splitlines():
            words = shlex.split(line)
            start = words.index("python3")
            self.assertEqual(words[start:start + 3], ["python3", "-m", "mcp_ref"])
            self.run_in(realm, *words[start + 3:], **dict(word.split("=", 1) for word in words[:start]))
        self.assertEqual([login.get("scope") for login in realm.logins], [None, "read write"])
        self.assertEqual(realm.sent[-1], "Bearer a-token-from-elsewhere")
        self.nothing_secret(realm)

    def test_its_program(self):
        realm = self.realm()
        (code,) = self.blocks(realm, "python")
        self.store.parent.mkdir(parents=True)
        for _ in range(2):
            with mock.patch.object(webbrowser, "open", self.browse(realm)), working_in(self.store.parent), \
                    contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, {})
            self.assertEqual(out.getvalue(), "[]\n")
        self.assertEqual(len(realm.logins), 1)
        self.run_in(realm, "list", realm.url)


if __name__ == "__main__":
    unittest.main()
