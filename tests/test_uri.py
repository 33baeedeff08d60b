"""One RFC 3986: every place that is given a URI reads it alike, and what is made of it."""

import unittest

from mcp_ref.authorization.resource_server import canonical, web_url
from mcp_ref.base.errors import InvalidParams
from mcp_ref.cli.terminal import suspicions
from mcp_ref.lib.json_schema import compile_schema
from mcp_ref.lib.uri import (
    Address,
    authority,
    is_loopback,
    is_uri,
    joined,
    origin,
    parsed,
    percent_decoded,
    percent_encoded,
)
from mcp_ref.patterns.mrtr import check_answer, check_question, link, roots
from mcp_ref.server.content import check_uri
from mcp_ref.transports.endpoint import Endpoint

BAD = ("https://[::1/", "https://::1]/", "https://[::1]x/", "https://[1::2::3]/", "https://[::g]/", "https://h:99999/",
       "https://h:65536", "http://h:" + "9" * 5000, "https://h:8a/", "https:///a", "https:a", "https://:80/", "https://",
       "https://u@/", "https://h /", "https://h\\a/", "https://h/%", "https://h/%zz", "https://h/{a}", "https://h/[a]",
       "https://[v1.a]/", "https://[v1.a:b]/", "https://h/#a#b", "https://h/\n", "https://h/\ud800", "//h/", "h", "")
GOOD = ("https://[::1]/", "https://[2001:db8::1]:8443/a", "https://h:65535/", "https://h:0080/", "https://h:/",
        "https://a-b.example/%2F;a=1,b(c)'!$&*+~", "HTTPS://H/")
BEYOND = ("https://é.example/", "https://h/größe", "https://日本.example/")


def fails(call, *given):
    try:
        call(*given)
    except (ValueError, InvalidParams):
        return True
    return False


def asked(url):
    check_question("k", link("Open it.", url))


def formatted(url):
    if compile_schema({"format": "uri"}, formats=True).errors(url):
        raise ValueError


def shown(url):
    if not suspicions(url)[0]:
        raise ValueError


def root(url):
    check_answer("k", roots(), {"roots": [{"uri": url.replace("https:", "file:").replace("http:", "file:")}]})


class OneReading(unittest.TestCase):
    """The client's URL, a resource server's, a question's, the terminal's, a schema's format, and a resource's."""

    iris = (parsed, Address, asked, shown, check_uri)
    uris = (formatted, lambda url: web_url(url, "it"), lambda url: parsed(url, ascii=True))

    def test_what_is_none_is_none_anywhere(self):
        for url in BAD:
            for reader in self.iris + self.uris:
                self.assertTrue(fails(reader, url), f"{reader} reads {url[:40]!r}")

    def test_what_is_one_is_one_everywhere(self):
        for url in GOOD:
            for reader in self.iris + self.uris:
                self.assertFalse(fails(reader, url), f"{reader} does not read {url}")

    def test_characters_beyond_ascii_stand_in_what_people_name_and_in_no_identifier(self):
        for url in BEYOND:
            for reader in self.iris:
                self.assertFalse(fails(reader, url), f"{reader} does not read {url}")
            for reader in self.uris:
                self.assertTrue(fails(reader, url), f"{reader} reads {url}")

    def test_other_schemes_have_any_host_and_any_port(self):
        for uri in ("x://h:99999/", "http://h:" + "0" * 5000 + "80", "x:///a", "x:a", "urn:isbn:1", "file:///C:/a%20b",
                    "x://[v1.a:b]/", "x://"):
            self.assertTrue(is_uri(uri), uri)
        for uri in ("x://[::1/", "x://a:b/", "x:a[1]", "x:{a}"):
            self.assertFalse(is_uri(uri), uri)

    def test_hosts_and_origins(self):
        for value, place in (("H", ("h", "")), ("[::1]:80", ("::1", "80")), ("h:0080", ("h", "80")),
                             ("h:" + "0" * 5000 + "80", ("h", "80"))):
            self.assertEqual(authority(value), place)
            self.assertEqual(origin("HTTP://" + value), ("http", place[0], place[1] or "80"))
        for value in ("", "[::1", "::1", "h:99999", "é.example", "h:", "u@h", "h/", "a b", "[::1]x", ":80"):
            self.assertIsNone(authority(value), value)
            self.assertIsNone(origin("http://" + value), value)

    def test_roots(self):
        for url in ("https://[::1/", "https://h\\a/", "https://h/%zz", "https://h/../a", "https://h/a%2f..", "https://h"):
            self.assertTrue(fails(root, url), url)
        for url in ("https:///a", "https://h/größe"):
            self.assertFalse(fails(root, url), url)


class Loopback(unittest.TestCase):
    HERE = ("localhost", "LOCALHOST.", "127.0.0.1", "127.255.3.4", "::1", "0:0:0:0:0:0:0:1")
    ELSEWHERE = ("localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.256", "127.1", "0.0.0.0", "::",
                 "128.0.0.1", "127.0.0.01", "", "evil")

    def test_one_notion(self):
        for host in self.HERE + self.ELSEWHERE:
            here = host in self.HERE
            url = f"http://[{host}]/" if ":" in host else f"http://{host}/"
            self.assertEqual(is_loopback(host), here, host)
            if host:
                self.assertEqual(Address(url).loopback, here, host)
                self.assertEqual(not fails(web_url, url, "it"), here, host)
                self.assertEqual(suspicions(url)[1] == [], here, host)
            self.assertEqual(Endpoint().is_called(host), here, host)
            self.assertEqual(Endpoint(host=host).local, here, host)
        self.assertFalse(is_loopback("v1.a:b"))


class Made(unittest.TestCase):
    def test_an_address_is_what_is_requested(self):
        for text, url in (("HTTP://Ada:s@H:080", "http://h/"), ("https://[::1]:8443/a?b#c", "https://[::1]:8443/a?b"),
                          ("https://é.example/ö?ß", "https://xn--9ca.example/%C3%B6?%C3%9F"),
                          ("http://h:/%7e", "http://h/%7e")):
            self.assertEqual(str(Address(text)), url)
        self.assertEqual(Address("http://a%40b:c%3Ad@h/").authorization(), {"Authorization": "Basic YUBiOmM6ZA=="})
        self.assertEqual(Address("http://h/").authorization(), {})

    def test_canonical(self):
        for given, made in (("https://H:0443/", "https://h"), ("http://[::1]:080/A?b#c", "http://[::1]/A?b#c"),
                            ("https://h:99999/", "https://h:99999/"), ("https://u@h/", "https://u@h/")):
            self.assertEqual(canonical(given), made)

    def test_references(self):
        """The examples of RFC 3986, section 5.4, that differ in kind."""
        base = "http://a/b/c/d;p?q"
        for reference, made in (("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
                                ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y#s", "http://a/b/c/g?y#s"),
                                ("#s", "http://a/b/c/d;p?q#s"), ("", base), (".", "http://a/b/c/"), ("..", "http://a/b/"),
                                ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("g/../h", "http://a/b/c/h"),
                                ("..g", "http://a/b/c/..g"), ("g?y/../x", "http://a/b/c/g?y/../x")):
            self.assertEqual(joined(base, reference), made, reference)
        self.assertEqual(joined("http://a", "g"), "http://a/g")
        self.assertEqual(joined("urn:a:b", "c"), "urn:c")
        self.assertEqual(joined("", "a/../b"), "a/../b")

    def test_percent_encoding(self):
        self.assertEqual(percent_encoded("a b/ü%41", "/"), "a%20b/%C3%BC%2541")
        self.assertEqual(percent_encoded("a b/ü%41"), "a%20b/%C3%BC%41")
        self.assertEqual(percent_decoded("%41%2541é%e9%"), b"A%41\xc3\xa9\xe9%")


if __name__ == "__main__":
    unittest.main()
