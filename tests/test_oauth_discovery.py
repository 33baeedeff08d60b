"""basic/authorization/authorization-server-discovery: where a client looks, in which order, and what it believes."""

import unittest

from mcp_ref.authorization.discovery import authorization_server, protected_resource
from mcp_ref.authorization.web import Web
from mcp_ref.lib.uri import Address

from .fake_oauth import OAUTH, OPENID, PRM, OAuthCase, in_turn, page
from .support import not_on_wasm, proves


@proves("AUTH-08", "ASDISC-06..08", "ASDISC-10", "C080")
class ResourceMetadata(OAuthCase):
    def looked_at(self, realm):
        """The metadata pages that were asked for, in order, on the way to a list of tools."""
        self.assertEqual(self.client(realm).list_tools(), [])
        return [seen.path for seen in realm.site.seen if seen.method == "GET"]

    def test_where_the_challenge_says(self):
        realm = self.realm()
        realm.site.pages["/elsewhere/prm.json"] = realm.site.pages.pop(PRM + "/mcp")
        realm.challenge = f'Bearer resource_metadata="{realm.site.url}/elsewhere/prm.json?x=1"'
        self.assertEqual(self.looked_at(realm), ["/elsewhere/prm.json?x=1"])

    @not_on_wasm("it needs sockets")
    def test_at_the_well_known_places_otherwise(self):
        for challenge in (None, "Bearer", 'Bearer not_resource_metadata="https://evil.example/"', "Basic realm=x"):
            with self.subTest(challenge=challenge):
                realm = self.realm()
                realm.challenge = challenge
                self.assertEqual(self.looked_at(realm), [PRM + "/mcp"])
        realm.site.pages[PRM] = realm.site.pages.pop(PRM + "/mcp")
        realm.idp.good.clear()
        realm.site.seen.clear()
        self.assertEqual(self.looked_at(realm), [PRM + "/mcp", PRM])

    def test_a_server_at_the_root_has_one_place(self):
        realm = self.realm("/")
        realm.site.pages[PRM] = realm.site.pages.pop(PRM + "/")
        realm.metadata["resource"] = realm.site.url
        realm.challenge = None
        self.assertEqual(self.looked_at(realm), [PRM])
        del realm.site.pages[PRM]
        realm.idp.good.clear()
        realm.site.seen.clear()
        self.refused(realm, "answered 404")
        self.assertEqual([seen.path for seen in realm.site.seen if seen.method == "GET"], [PRM])

    def test_the_place_of_the_challenge_is_the_only_one(self):
        realm = self.realm()
        realm.challenge = f'Bearer resource_metadata="{realm.site.url}/gone"'
        self.refused(realm, "/gone\" answered 404")
        self.assertEqual(realm.logins, [])


@proves("AUTH-36", "AUTH-37", "AUTH-38", "AUTH-39")
class WhichResource(unittest.TestCase):
    """What counts as the resource of a URL; anything else would make the token somebody else's."""

    def found(self, url, resource):
        class Told(Web):
            def __init__(self):
                pass

            def get(self, place, what):
                reply = page({"resource": resource, "authorization_servers": ["https://as.example"]})

                class Reply:
                    status = 200

                    @staticmethod
                    def object():
                        return __import__("json").loads(reply(None).body)
                return Reply

        return protected_resource(Told(), Address(url), None).resource

    def test_the_url_itself_or_what_it_is_part_of(self):
        for url, resource in (
                ("https://h.example/mcp", "https://h.example/mcp"), ("https://h.example/mcp", "https://h.example"),
                ("https://h.example/mcp", "https://h.example/"), ("https://h.example/a/mcp", "https://h.example/a"),
                ("https://h.example/mcp", "HTTPS://H.example:443/mcp"), ("https://h.example/", "https://h.example"),
                ("https://h.example/mcp/", "https://h.example/mcp"), ("https://h.example/m?a=1", "https://h.example/m"),
                ("https://h.example/m?a=1", "https://h.example/m?a=1")):
            self.assertEqual(self.found(url, resource), resource)

    def test_nothing_else(self):
        for resource in ("https://evil.example/mcp", "http://h.example/mcp", "https://h.example:444/mcp",
                         "https://h.example/mc", "https://h.example/mcp/more", "https://h.example/mcp#f",
                         "https://h.example/mcp?a=1", "https://h.example@evil.example/", "h.example/mcp", "", 7, None,
                         "https://u@h.example/mcp", "https://h.example.evil.example/mcp", "https://H.example/MCP"):
            with self.subTest(resource=resource), self.assertRaisesRegex(Exception, "protected resource metadata"):
                self.found("https://h.example/mcp", resource)


@proves("AUTH-09", "AUTH-10", "AUTH-11", "ASDISC-11..17", "ASDISC-19", "ASDISC-20")
class ServerMetadata(OAuthCase):
    def tried(self, path, found_at):
        realm = self.realm(issuer=path)
        realm.idp.pages[found_at] = realm.idp.pages.pop(OAUTH + path)
        if found_at == OAUTH + path:
            found_at = None
        self.client(realm).list_tools()
        return [each for each in realm.idp.paths() if ".well-known" in each]

    def test_an_issuer_without_a_path(self):
        self.assertEqual(self.tried("", OAUTH), [OAUTH])
        self.assertEqual(self.tried("", OPENID), [OAUTH, OPENID])

    def test_no_other_place_is_tried(self):
        realm = self.realm()
        del realm.idp.pages[OAUTH]
        self.refused(realm, "answered 404")
        self.assertEqual(realm.idp.paths(), [OAUTH, OPENID])

    def test_an_issuer_with_a_path(self):
        order = [OAUTH + "/t/1", OPENID + "/t/1", "/t/1" + OPENID]
        for number, place in enumerate(order, 1):
            self.assertEqual(self.tried("/t/1", place), order[:number])

    def test_the_slash_at_the_end_of_an_issuer(self):
        realm = self.realm()
        issuer = realm.idp.url + "/t/"
        realm.metadata["authorization_servers"] = [issuer]
        realm.idp.metadata["issuer"] = realm.idp.issuer = issuer
        realm.idp.pages["/t" + OPENID] = realm.idp.pages.pop(OAUTH)
        self.client(realm).list_tools()
        self.assertEqual(realm.idp.paths()[:3], [OAUTH + "/t", OPENID + "/t", "/t" + OPENID])

    def test_a_page_that_is_no_metadata_is_passed_over(self):
        realm = self.realm()
        realm.idp.pages[OPENID] = realm.idp.pages[OAUTH]
        for wrong in (page(b"<html>sign in</html>"), page(b"[]"), page({}, 500), page({}, 401)):
            realm.idp.pages[OAUTH] = wrong
            realm.idp.good.clear()
            self.client(realm).list_tools()

    def test_the_issuer_is_the_one_asked_for_to_the_letter(self):
        for wrong in ("https://honest.example", "{}/", "{}/x", None, 7, ["{}"]):
            realm = self.realm()
            realm.idp.pages[OPENID] = realm.idp.pages[OAUTH]
            realm.idp.metadata["issuer"] = wrong.format(realm.idp.url) if isinstance(wrong, str) else wrong
            self.refused(realm, "is that of")
            self.assertEqual(realm.idp.paths(), [OAUTH], wrong)

    def test_the_issuer_of_another_spelling_is_another(self):
        realm = self.realm()
        realm.metadata["authorization_servers"] = [realm.idp.url.replace("http:", "HTTP:")]
        self.refused(realm, "is that of")

    def test_several_issuers(self):
        realm, other = self.realm(), self.issuer()
        realm.metadata["authorization_servers"] = [realm.idp.issuer, other.issuer]
        self.client(realm).list_tools()
        self.assertEqual(other.seen, [])
        wanted = self.realm()
        wanted.metadata["authorization_servers"] = [other.issuer, wanted.idp.issuer]
        self.client(wanted, self.oauth(wanted, issuer=wanted.idp.issuer)).list_tools()
        self.assertEqual(other.seen, [])

    def test_a_place_is_asked_no_more_than_once(self):
        web = Web(Address("http://127.0.0.1/"), 5.0)
        realm = self.realm()
        self.assertEqual(authorization_server(web, realm.idp.issuer).issuer, realm.idp.issuer)
        self.assertEqual(len(realm.idp.seen), 1)


class Migration(OAuthCase):
    """The metadata is read anew at each 401."""

    @proves("AUTH-50", "ASDISC-03", "ASDISC-04", "REG-27..29")
    def test_to_another_authorization_server(self):
        realm, other = self.realm(), self.issuer()
        client = self.client(realm)
        client.list_tools()
        old = dict(realm.idp.good)
        realm.idp.seen.clear()
        realm.metadata["authorization_servers"] = [other.issuer]
        realm.idp.good = other.good
        other.granted = {"access_token": "other-token"}
        other.pages["/token"] = in_turn(page({
            "access_token": "other-token", "token_type": "Bearer", "refresh_token": "other-refresh"}))
        other.good["other-token"] = []
        client.list_tools()
        self.assertEqual(realm.idp.seen, [])
        self.assertEqual([path for path in other.paths() if not path.startswith("/.well")],
                         ["/register", "/authorize", "/token"])
        told = " ".join(other.paths(query=True)) + " ".join(str(seen.body) for seen in other.seen)
        for known in (*old, *realm.idp.refreshing, "client-1-secret"):
            self.assertEqual(told.count(known), told.count("client_id=" + known) if known == "client-1-secret" else 0)
        self.assertEqual(realm.sent[-1], "Bearer other-token")

    @proves("REG-27", "REG-30")
    def test_what_was_registered_beforehand_does_not_come_along(self):
        realm, other = self.realm(), self.issuer()
        client = self.client(realm, self.oauth(realm, "mine"))
        client.list_tools()
        realm.metadata["authorization_servers"] = [other.issuer]
        realm.idp.good.clear()
        with self.assertRaisesRegex(Exception, f"credentials are for {realm.idp.issuer}"):
            client.list_tools()
        self.refused(realm, "credentials are for https://mine.example",
                     self.oauth(realm, "mine", issuer="https://mine.example"))
        self.assertEqual(other.seen, [])


if __name__ == "__main__":
    unittest.main()
