"""ext-auth and RFC 9449: grants without a person, proofs of a key; the tests' own ES256 against published vectors."""

import base64
import hashlib
import json
import time
import unittest

from mcp_ref import AuthorizationError, ClientCredentials, EnterpriseManaged, JWTBearer, Signer

from . import p256
from .fake_oauth import OAuthCase, in_turn, page
from .support import proves

KEY = 0x1234567890ABCDEF


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def claims_of(jwt, point=None):
    """The header and claims of a JWT, its signature checked."""
    header, claims, signature = jwt.split(".")
    point = p256.times(KEY, p256.G) if point is None else point
    assert p256.verify(point, f"{header}.{claims}".encode(), decoded(signature))
    return json.loads(decoded(header)), json.loads(decoded(claims))


class Vectors(unittest.TestCase):
    """The tests' P-256."""

    def test_rfc_6979(self):
        """Appendix A.2.5, with SHA-256."""
        key = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
        point = p256.times(key, p256.G)
        self.assertEqual(point, (0x60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6,
                                 0x7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299))
        for text, nonce, r, s in (
                (b"sample", 0xA6E3C57DD01ABE90086538398355DD4C3B17AA873382B0F24D6129493D8AAD60,
                 0xEFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716,
                 0xF7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8),
                (b"test", 0xD16B6AE827F17175E040871A1C7EC3500192C4C92677336EC2537ACAEE0008E0,
                 0xF1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367,
                 0x019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083)):
            self.assertEqual(next(p256.nonces(key, hashlib.sha256(text).digest())), nonce)
            signature = p256.sign(key, text)
            self.assertEqual(signature, r.to_bytes(32, "big") + s.to_bytes(32, "big"))
            self.assertTrue(p256.verify(point, text, signature))
            self.assertFalse(p256.verify(point, text + b".", signature))

    def test_rfc_7515(self):
        """Appendix A.3: a key as a JWK, and a signature by it."""
        point = tuple(int.from_bytes(decoded(part), "big") for part in (
            "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        key = int.from_bytes(decoded("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"), "big")
        self.assertEqual(p256.times(key, p256.G), point)
        text = (b"eyJhbGciOiJFUzI1NiJ9."
                b"eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ")
        signature = decoded("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
        self.assertTrue(p256.verify(point, text, signature))

    def test_pkcs_8(self):
        inner = b"\x30\x6b\x02\x01\x01\x04\x20" + KEY.to_bytes(32, "big") + b"\xa1\x44\x03\x42\x00\x04" + bytes(64)
        algorithm = bytes.fromhex("301306072a8648ce3d020106082a8648ce3d030107")
        der = b"\x02\x01\x00" + algorithm + b"\x04\x6d" + inner
        pem = base64.encodebytes(b"\x30\x81" + bytes([len(der)]) + der).decode()
        self.assertEqual(p256.private_key(f"-----BEGIN PRIVATE KEY-----\n{pem}-----END PRIVATE KEY-----\n"), KEY)


class Keys(unittest.TestCase):
    def test_a_signer_holds_a_public_key(self):
        public = p256.jwk(KEY)
        for wrong in ({**public, "d": "x"}, {"kty": "oct", "k": "x"}, {}, {"kty": "oct"}):
            with self.assertRaisesRegex(ValueError, "public"):
                Signer(lambda data: b"", wrong)
        self.assertNotIn(hex(KEY), repr(p256.signer(KEY)))

    def test_each_jwt_has_an_id_of_its_own(self):
        made = {claims_of(p256.signer(KEY).jwt({}, {}))[1]["jti"] for _ in range(5)}
        self.assertEqual(len(made), 5)


class OfTheClient(OAuthCase):
    """grant_type client_credentials."""

    def test_by_secret(self):
        realm = self.realm()
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
        realm.challenge = 'Bearer scope="a b"'
        self.client(realm, ClientCredentials("me", "secret")).list_tools()
        self.assertEqual(realm.token_requests, [
            {"grant_type": "client_credentials", "scope": "a b", "resource": realm.url, "client_id": "me"}])
        self.assertEqual(realm.idp.seen[-1].header("Authorization"), "Basic bWU6c2VjcmV0")
        self.assertNotIn("/register", realm.idp.paths())
        self.assertEqual(realm.logins, [])

    def test_by_key(self):
        realm = self.realm()
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]
        self.client(realm, ClientCredentials("me", signer=p256.signer(KEY))).list_tools()
        form = realm.token_requests[0]
        self.assertEqual(form.pop("client_assertion_type"), "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        header, claims = claims_of(form.pop("client_assertion"))
        self.assertEqual(header, {"alg": "ES256", "typ": "JWT"})
        self.assertEqual({name: claims[name] for name in ("iss", "sub", "aud")},
                         {"iss": "me", "sub": "me", "aud": realm.idp.issuer})
        self.assertAlmostEqual(claims["iat"], time.time(), delta=30)
        self.assertEqual(form, {"grant_type": "client_credentials", "resource": realm.url})

    def test_no_pkce_is_needed_where_no_code_is(self):
        realm = self.realm()
        del realm.idp.metadata["code_challenge_methods_supported"], realm.idp.metadata["authorization_endpoint"]
        self.client(realm, ClientCredentials("me", "secret")).list_tools()


class OfAnAssertion(OAuthCase):
    """grant_type jwt-bearer, by a workload's identity or an enterprise's."""

    BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    def test_a_workload(self):
        realm = self.realm()
        given = iter(("first-jwt", "second-jwt"))
        client = self.client(realm, JWTBearer("me", assertion=lambda: next(given)))
        client.list_tools()
        self.assertEqual(realm.token_requests, [
            {"grant_type": self.BEARER, "assertion": "first-jwt", "resource": realm.url, "client_id": "me"}])
        realm.idp.good.clear()
        realm.idp.refreshing.clear()
        realm.idp.pages["/token"] = in_turn(page({"error": "invalid_grant"}, 400), realm.idp.pages["/token"])
        client.list_tools()
        self.assertEqual([form["grant_type"] for form in realm.token_requests[1:]], ["refresh_token", self.BEARER])
        self.assertEqual(realm.token_requests[-1]["assertion"], "second-jwt")

    def test_one_request_and_no_other_grant(self):
        for code in ("invalid_grant", "invalid_scope", "unauthorized_client", "invalid_client", "invalid_request"):
            realm = self.realm()
            realm.idp.pages["/token"] = page({"error": code, "error_description": "the-jwt is not liked"}, 400)
            error = self.refused(realm, code, JWTBearer("me", assertion="the-jwt"))
            self.assertEqual(error.code, code)
            self.assertEqual(len(realm.token_requests), 1)
            self.assertEqual(realm.logins, [])

    def enterprise(self, realm, answer, status=200):
        provider = self.site()
        provider.pages["/exchange"] = page(answer, status)
        return provider, EnterpriseManaged("me", "secret", id_token="the-id-token", idp_client_id="idp-me",
                                           idp_token_endpoint=provider.url + "/exchange")

    def test_an_enterprise(self):
        realm = self.realm()
        realm.idp.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
        realm.challenge = "Bearer scope=chat"
        jag = "urn:ietf:params:oauth:token-type:id-jag"
        provider, auth = self.enterprise(realm, {"access_token": "the-jag", "issued_token_type": jag,
                                                 "token_type": "N_A"})
        self.client(realm, auth).list_tools()
        self.assertEqual(provider.forms("/exchange"), [{
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "requested_token_type": jag,
            "subject_token": "the-id-token", "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "audience": realm.idp.issuer, "resource": realm.url, "client_id": "idp-me", "scope": "chat"}])
        self.assertEqual(realm.token_requests, [
            {"grant_type": self.BEARER, "assertion": "the-jag", "scope": "chat", "resource": realm.url,
             "client_id": "me"}])
        self.assertEqual(realm.idp.seen[-1].header("Authorization"), "Basic bWU6c2VjcmV0")

    def test_what_the_provider_says_no_to(self):
        for answer, status, words in (
                ({"error": "invalid_grant", "error_description": "the-id-token!"}, 400, "invalid_grant: \\u2026!"),
                ({"access_token": "x", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}, 200,
                 "issued no assertion but"),
                ({"issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"}, 200, "issued no assertion"),
                (b"<html>", 502, "answered 502")):
            realm = self.realm()
            provider, auth = self.enterprise(realm, answer, status)
            error = self.refused(realm, words, auth)
            self.assertNotIn("the-id-token", str(error))
            self.assertEqual(realm.token_requests, [])
            self.assertEqual(len(provider.seen), 1)

    def test_the_provider_is_spoken_to_safely(self):
        with self.assertRaisesRegex(ValueError, "https"):
            EnterpriseManaged("me", id_token="t", idp_client_id="i", idp_token_endpoint="http://idp.example/token")


class Bound(OAuthCase):
    """DPoP."""

    def bound(self, **granted):
        realm = self.realm()
        realm.idp.metadata["dpop_signing_alg_values_supported"] = ["RS256", "ES256"]
        realm.idp.granted = {"token_type": "DPoP", **granted}
        return realm, self.oauth(realm, dpop=p256.signer(KEY))

    def proofs(self, seen):
        return [claims_of(each.header("DPoP")) for each in seen if each.header("DPoP")]

    def test_every_request_has_a_proof_of_its_own(self):
        realm, auth = self.bound()
        client = self.client(realm, auth)
        client.list_tools()
        client.list_tools()
        (header, claims), = self.proofs(realm.idp.seen)
        self.assertEqual(header, {"alg": "ES256", "typ": "dpop+jwt", "jwk": p256.jwk(KEY)})
        self.assertEqual((claims["htm"], claims["htu"]), ("POST", realm.idp.url + "/token"))
        self.assertNotIn("ath", claims)
        made = self.proofs(realm.site.seen)
        self.assertEqual(len(made), 2)
        token = next(iter(realm.idp.good))
        for _, claims in made:
            self.assertEqual((claims["htm"], claims["htu"]), ("POST", realm.url))
            self.assertEqual(decoded(claims["ath"]), hashlib.sha256(token.encode()).digest())
            self.assertAlmostEqual(claims["iat"], time.time(), delta=30)
        self.assertNotEqual(made[0][1]["jti"], made[1][1]["jti"])
        self.assertEqual(realm.sent[1:], [f"DPoP {token}"] * 2)

    def test_a_query_is_left_out_of_what_is_proven(self):
        proofs = ClientCredentials("me", "s", dpop=p256.signer(KEY)).proofs
        self.assertEqual(claims_of(proofs.proof("GET", "https://H.example:443/a?b=c"))[1]["htu"], "https://h.example/a")

    def test_nonces(self):
        realm, auth = self.bound()
        token, mcp = realm.idp.pages["/token"], realm.site.pages["/mcp"]
        asks = page({"error": "use_dpop_nonce"}, 400, DPoP_Nonce="as-nonce")
        realm.idp.pages["/token"] = in_turn(asks, token)
        again = page({}, 401, WWW_Authenticate='DPoP error="use_dpop_nonce"', DPoP_Nonce="rs-nonce")
        realm.site.pages["/mcp"] = in_turn(mcp, again, mcp)
        client = self.client(realm, auth)
        client.list_tools()
        self.assertEqual(len(realm.logins), 1)
        self.assertEqual([form["code"] for form in realm.token_requests], ["code-2-secret"] * 2, "the same code again")
        self.assertEqual([claims.get("nonce") for _, claims in self.proofs(realm.idp.seen)], [None, "as-nonce"])
        self.assertEqual([claims.get("nonce") for _, claims in self.proofs(realm.site.seen)], [None, "rs-nonce"])
        client.list_tools()
        self.assertEqual(self.proofs(realm.site.seen)[-1][1]["nonce"], "rs-nonce", "and it is kept")

    def test_a_server_that_is_never_content_with_a_nonce(self):
        realm, auth = self.bound()
        mcp = realm.site.pages["/mcp"]
        more = [page({}, 401, WWW_Authenticate='DPoP error="use_dpop_nonce"', DPoP_Nonce=f"n{n}") for n in range(9)]
        realm.site.pages["/mcp"] = in_turn(mcp, *more)
        with self.assertRaisesRegex(Exception, "HTTP 401"):
            self.client(realm, auth).list_tools()
        self.assertLessEqual(len(realm.sent), 5)
        self.assertEqual(len(realm.logins), 1, "a nonce is no reason to log in")
        realm, auth = self.bound()
        realm.idp.pages["/token"] = page({"error": "use_dpop_nonce"}, 400, DPoP_Nonce="n")
        self.refused(realm, "use_dpop_nonce", auth)
        self.assertEqual(len(realm.token_requests), 2)

    def test_where_the_server_knows_nothing_of_it(self):
        for listed in (None, [], ["RS256"]):
            realm = self.realm()
            realm.idp.metadata["dpop_signing_alg_values_supported"] = listed
            self.client(realm, self.oauth(realm, dpop=p256.signer(KEY))).list_tools()
            self.assertEqual(self.proofs(realm.idp.seen + realm.site.seen), [])
            self.assertTrue(str(realm.sent[-1]).startswith("Bearer "))

    def test_a_token_that_is_not_bound_after_all(self):
        realm, auth = self.bound(token_type="Bearer")
        self.refused(realm, 'type "Bearer", not DPoP', auth)

    def test_where_it_is_required_and_there_is_no_key(self):
        realm = self.realm()
        realm.metadata["dpop_bound_access_tokens_required"] = True
        self.refused(realm, "DPoP-bound tokens alone")

    def test_it_is_refreshed_with_the_same_key(self):
        realm, auth = self.bound()
        client = self.client(realm, auth)
        client.list_tools()
        realm.idp.good.clear()
        client.list_tools()
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["authorization_code", "refresh_token"])
        self.assertEqual(len(self.proofs(realm.idp.seen)), 2)


@proves("AUTH-75")
class Insistent(OAuthCase):
    def test_a_server_that_takes_no_token(self):
        realm = self.realm()
        realm.idp.good = type("Never", (dict,), {"__contains__": lambda self, key: False})()
        with self.assertRaisesRegex(AuthorizationError, "answers 401 unauthorized"):
            self.client(realm, ClientCredentials("me", "secret")).list_tools()
        self.assertEqual([form["grant_type"] for form in realm.token_requests], ["client_credentials"])


if __name__ == "__main__":
    unittest.main()
