"""basic/authorization/client-registration: who the client is, in the order of the page, and how it shows that."""

import json
import unittest

from mcp_ref import Client, ClientCredentials, OAuth, TokenStore
from mcp_ref.authorization.registration import client_metadata

from . import p256
from .fake_oauth import DOCUMENT, REDIRECT, OAuthCase, page
from .support import proves
from .test_oauth_grants import claims_of


class Priorities(OAuthCase):
    def ids(self, realm):
        return [form["client_id"] for form in realm.logins + realm.token_requests]

    @proves("AUTH-12", "REG-01", "REG-21")
    def test_first_what_was_registered_beforehand(self):
        realm = self.realm()
        realm.idp.metadata["client_id_metadata_document_supported"] = True
        self.client(realm, self.oauth(realm, "mine", metadata_url=DOCUMENT)).list_tools()
        self.assertEqual(self.ids(realm), ["mine", "mine"])
        self.assertNotIn("/register", realm.idp.paths())

    @proves("AUTH-06", "REG-02", "REG-05", "REG-20")
    def test_then_the_metadata_document(self):
        for supported, expected in ((True, DOCUMENT), (False, "client-1-secret"), (None, "client-1-secret"),
                                    ("true", "client-1-secret")):
            realm = self.realm()
            realm.idp.metadata["client_id_metadata_document_supported"] = supported
            self.client(realm, self.oauth(realm, metadata_url=DOCUMENT)).list_tools()
            self.assertEqual(self.ids(realm), [expected, expected])

    @proves("REG-03")
    def test_then_registration(self):
        realm = self.realm()
        self.client(realm).list_tools()
        self.assertEqual(self.ids(realm), ["client-1-secret"] * 2)

    @proves("REG-04")
    def test_then_the_user_is_told(self):
        realm = self.realm()
        del realm.idp.metadata["registration_endpoint"]
        self.refused(realm, "register one by hand and give its client_id")
        self.assertEqual(realm.logins, [])


class Dynamic(OAuthCase):
    @proves("AUTH-55", "REG-22..24")
    def test_what_is_registered(self):
        realm = self.realm()
        self.client(realm, self.oauth(realm, name="shop")).list_tools()
        sent = json.loads(next(seen.body for seen in realm.idp.seen if seen.path == "/register"))
        self.assertEqual(sent, {"client_name": "shop", "redirect_uris": [REDIRECT], "application_type": "native",
                                "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
                                "token_endpoint_auth_method": "none"})
        self.assertEqual(client_metadata("n", "https://app.example/cb")["application_type"], "web")
        for host in ("localhost", "127.0.0.1", "[::1]"):
            self.assertEqual(client_metadata("n", f"http://{host}:1/cb")["application_type"], "native")

    @proves("REG-27", "ASDISC-03")
    def test_it_is_kept_by_issuer_and_used_again(self):
        realm, store = self.realm(), TokenStore()
        for _ in range(2):
            realm.idp.good.clear()
            realm.idp.refreshing.clear()
            self.client(realm, self.oauth(realm, store=store)).list_tools()
        self.assertEqual(realm.idp.paths().count("/register"), 1)
        self.assertEqual(len(realm.logins), 2)
        self.assertIsNotNone(store.load(f"client {realm.idp.issuer}"))
        elsewhere = self.oauth(realm, store=store, redirect_uri="http://127.0.0.1:10/callback")
        realm.idp.good.clear()
        realm.idp.refreshing.clear()
        self.client(realm, elsewhere).list_tools()
        self.assertEqual(realm.idp.paths().count("/register"), 2, "it is bound to its redirect URI")

    def test_a_secret_that_has_run_out(self):
        realm, store = self.realm(), TokenStore()
        realm.idp.pages["/register"] = page({"client_id": "c", "client_secret": "s", "client_secret_expires_at": 1,
                                             "token_endpoint_auth_method": "client_secret_basic"}, 201)
        for _ in range(2):
            realm.idp.good.clear()
            realm.idp.refreshing.clear()
            self.client(realm, self.oauth(realm, store=store)).list_tools()
        self.assertEqual(realm.idp.paths().count("/register"), 2)

    @proves("REG-25", "REG-26")
    def test_a_refusal_is_told(self):
        realm = self.realm()
        realm.idp.pages["/register"] = page({"error": "invalid_redirect_uri", "error_description": "no \x1b[2J native"},
                                            400)
        error = self.refused(realm, r'the registration endpoint refuses: "invalid_redirect_uri: no \u001b[2J native"')
        self.assertEqual(error.code, "invalid_redirect_uri")

    def test_one_without_a_client_id(self):
        for answer in ({}, {"client_id": 7}, {"client_id": ""}):
            realm = self.realm()
            realm.idp.pages["/register"] = page(answer, 201)
            self.refused(realm, "without a client_id")


class Documents(unittest.TestCase):
    """Client ID Metadata Documents."""

    @proves("REG-10", "REG-11")
    def test_its_url(self):
        for wrong in ("http://app.example/client.json", "https://app.example", "https://app.example/", "app.example/x",
                      "https://app.example/c#f", "http://127.0.0.1/client.json"):
            with self.assertRaisesRegex(ValueError, "metadata_url"):
                OAuth(metadata_url=wrong)

    @proves("REG-12", "REG-13")
    def test_its_content(self):
        made = OAuth(metadata_url=DOCUMENT, redirect_uri="http://127.0.0.1:3000/callback", name="shop")
        document = made.client_metadata()
        self.assertEqual(document["client_id"], DOCUMENT)
        self.assertEqual(document["client_name"], "shop")
        self.assertEqual(document["redirect_uris"], ["http://127.0.0.1:3000/callback"])
        with self.assertRaises(ValueError):
            OAuth(metadata_url=DOCUMENT).client_metadata()


class Authentication(OAuthCase):
    """How a client authenticates at the token endpoint."""

    def request(self, supported, registered=None, client=("id +", "se:cret"), **options):
        realm = self.realm()
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = supported
        if registered is not None:
            realm.idp.pages["/register"] = page({"client_id": "id +", **registered}, 201)
            client = ()
        self.client(realm, self.oauth(realm, *client, **options)).list_tools()
        seen = next(seen for seen in realm.idp.seen if seen.path == "/token")
        form = realm.token_requests[0]
        return seen.header("Authorization"), form.get("client_id"), form.get("client_secret"), form

    BASIC = ("Basic aWQrJTJCOnNlJTNBY3JldA==", "id +", None)  # id+%2B:se%3Acret
    POSTED = (None, "id +", "se:cret")
    NONE = (None, "id +", None)

    def test_as_the_server_lists(self):
        for supported, expected in (
                (["client_secret_basic"], self.BASIC), (["client_secret_post"], self.POSTED), (["none"], self.NONE),
                (["client_secret_post", "client_secret_basic"], self.BASIC), (None, self.BASIC), ([], self.BASIC)):
            self.assertEqual(self.request(supported)[:3], expected, supported)

    def test_as_the_registration_says(self):
        both = {"client_secret": "se:cret"}
        for registered, supported, expected in (
                ({**both, "token_endpoint_auth_method": "client_secret_post"}, ["none"], self.POSTED),
                ({**both, "token_endpoint_auth_method": "client_secret_basic"}, ["none"], self.BASIC),
                ({**both, "token_endpoint_auth_method": "none"}, ["client_secret_basic"], self.NONE),
                (both, ["none"], self.NONE), (both, ["client_secret_post"], self.POSTED), ({}, ["none"], self.NONE)):
            self.assertEqual(self.request(supported, registered)[:3], expected, registered)

    def test_by_a_key(self):
        key = p256.signer(7)
        none, client_id, secret, form = self.request(["private_key_jwt", "client_secret_basic"], client=("me",),
                                                     signer=key)
        self.assertEqual((none, client_id, secret), (None, None, None))
        header, claims = claims_of(form["client_assertion"], p256.times(7, p256.G))
        self.assertEqual((header["alg"], claims["iss"], claims["sub"]), ("ES256", "me", "me"))
        self.assertLessEqual(claims["exp"] - claims["iat"], 300)

    def test_what_cannot_be(self):
        realm = self.realm()
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = ["tls_client_auth"]
        self.refused(realm, 'authenticate by "tls_client_auth"', self.oauth(realm, "id", "secret"))
        self.refused(realm, 'authenticate by "tls_client_auth"', ClientCredentials("id", signer=p256.signer(7)))
        realm.idp.pages["/register"] = page({"client_id": "c", "client_secret": "se", "token_endpoint_auth_method":
                                             "private_key_jwt"}, 201)
        self.refused(realm, "which it cannot")

    def test_arguments(self):
        for options in ({"client_secret": "s"}, {"signer": p256.signer(7)}, {"redirect_uri": "http://h.example/cb"},
                        {"redirect_uri": "https://h.example/cb"}, {"visit": str}, {"timeout": 0}):
            with self.subTest(options=options), self.assertRaises(ValueError):
                OAuth(**options)
        with self.assertRaises(ValueError):
            ClientCredentials("id")
        with self.assertRaisesRegex(ValueError, "https unless it is on loopback"):
            Client("http://h.example/mcp", auth=OAuth())


if __name__ == "__main__":
    unittest.main()
