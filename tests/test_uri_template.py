"""URI templates: the examples of RFC 6570, matching as the inverse of expanding, hostile URIs, bad templates."""

import random
import time
import unittest
from urllib.parse import quote

from mcp_ref.base.errors import SchemaError
from mcp_ref.lib.uri import is_uri
from mcp_ref.lib.uri_template import MAX_URI, UriTemplate

from .support import proves

MATCHED = [
    ("test://template/{id}/data", "test://template/123/data", {"id": "123"}),
    ("test://template/{id}/data", "test://template/1%2F2/data", {"id": "1/2"}),
    ("test://template/{id}/data", "test://template/1/2/data", None),
    ("test://template/{id}/data", "test://template//data", None),
    ("test://template/{id}/data", "test://template/1/data?x", None),
    ("x://i/{id}", "x://i/", None),
    ("x://i/{id}", "x://i/a?b", None),
    ("x://i/{id}", "x://i/a#b", None),
    ("file:///{+path}", "file:///a/b%20c", {"path": "a/b c"}),
    ("p:///{+url}", "p:///http://x/y?z=1#3", {"url": "http://x/y?z=1#3"}),
    ("x://{+dir}/{name}", "x://a/b/c", {"dir": "a/b", "name": "c"}),
    ("x://{+a}/x{b}", "x://1/x2/x3", {"a": "1/x2", "b": "3"}),
    ("x://{a}/x{+b}", "x://1/x2/x3", {"a": "1", "b": "2/x3"}),
    ("x://{name}{.ext}", "x://a.tar.gz", {"name": "a.tar", "ext": "gz"}),
    ("x://{name}{.ext}", "x://a", {"name": "a"}),
    ("x://t{/a,b}", "x://t/1", {"a": "1"}),
    ("x://t{/a,b}", "x://t/1/2", {"a": "1", "b": "2"}),
    ("x://t{/a,b}", "x://t/1/2/3", None),
    ("x://t{/s*}", "x://t/a/b%2Fc/d", {"s": ["a", "b/c", "d"]}),
    ("x://t{/s*}", "x://t", {}),
    ("x://t{/s*}", "x://t/a//b", None),
    ("x://{a,b}", "x://1,2", {"a": "1", "b": "2"}),
    ("x://m{;a,b}", "x://m;a=1;b=2", {"a": "1", "b": "2"}),
    ("x://m{;a,b}", "x://m;b=2", {"b": "2"}),
    ("x://s{?q,n}", "x://s?n=1&q=a%26b", {"q": "a&b", "n": "1"}),
    ("x://s{?q,n}", "x://s?q=", {"q": ""}),
    ("x://s{?q,n}", "x://s?q=a+b", {"q": "a+b"}),
    ("x://s{?q,n}", "x://s", {}),
    ("x://s{?q,n}", "x://s?z=1", None),
    ("x://s{?q,n}", "x://s?q=1&q=2", None),
    ("x://s{?q,n}", "x://s?q=1&%71=2", None),
    ("x://s{?q,n}", "x://s?q=1#f", None),
    ("x://s{?q,rest*}", "x://s?z=1&q=2&y=%C3%A9", {"q": "2", "rest": {"z": "1", "y": "é"}}),
    ("x://s{?rest*}", "x://s", {"rest": {}}),
    ("x://s?q={q}&l=en{&n}", "x://s?n=2&l=en&q=a", {"q": "a", "n": "2"}),
    ("x://s?q={q}&l=en{&n}", "x://s?l=en&q=", {"q": ""}),
    ("x://s?q={q}&l=en{&n}", "x://s?l=fr&q=", None),
    ("x://s?q={q}", "x://s", None),
    ("x://{+p}{?q}{#f}", "x://a/b?q=1#c/d", {"p": "a/b", "q": "1", "f": "c/d"}),
    ("x://t{#f}", "x://t", {}),
    ("x://t#top-{f}", "x://t#top-1", {"f": "1"}),
    ("x://t#top-{f}", "x://t", None),
    ("x://Zü/{a}", "x://Z%C3%BC/ß", {"a": "ß"}),
    ("x://Z%C3%BC/{a}", "x://Zü/%C3%9F", {"a": "ß"}),
    ("x://{a}", "x://..", None),
    ("x://{a}", "x://%2e%2E", None),
    ("x://{a}", "x://..%2fetc", None),
    ("x://{a}", "x://a%5c..", None),
    ("x://{+a}", "x://a/../b", None),
    ("x://{+a}", "x://a/..b/c..", {"a": "a/..b/c.."}),
    ("x://t{/s*}", "x://t/a/%2e./b", None),
    ("x://{a}", "x://%252e%252e", {"a": "%2e%2e"}),
    ("x://{a}F", "x://%2f", None),
    ("x://{a}2F", "x://b%2F", None),
    ("x://{a}2{b}", "x://12%2F", {"a": "1", "b": "/"}),
    ("x://{a}2{b}", "x://1%2F2z", {"a": "1/", "b": "z"}),
    ("x://{a}", "x://a%zz", None),
    ("x://{a}", "x://a%2", None),
    ("x://{a}", "x://%00", None),
    ("x://{a}", "x://%c3%28", None),
    ("x://{a}", "x://%ed%a0%80", None),
    ("x://s{?q}", "x://s?q=%", None),
    ("x://{a}", "x://a%0Ab", None),
    ("x://{a}", "x://%7f", None),
    ("x://{a}", "x://%C2%9b", None),
    ("x://{+a}", "x://b/%1b%5B2J", None),
    ("x://s{?q}", "x://s?q=%0d%0A", None),
    ("x://s?q={q}", "x://s?q=..%2Fetc", None),
    ("x://s{?r*}", "x://s?a=%00", None),
    ("x://t{#f}", "x://t#%09", None),
    ("file:///{name}", "file:///passwd", {"name": "passwd"}),
    ("file:///{name}", "file:///%2Fetc%2Fpasswd", None),
    ("file:///{name}", "FILE:///%2fetc", None),
    ("file:///{name}", "file:///a%5Cb", None),
    ("file:///{name}", "file:///C:", None),
    ("file:///{name}", "file:///c%3a", None),
    ("file:///{name}", "file:///c%7Cx", None),
    ("file:///{name}", "file:///a:b", None),
    ("file:///{name}", "file:///ab:c", {"name": "ab:c"}),
    ("file:///d/{a,b}", "file:///d/1,%2Fetc", None),
    ("file:///d{/s*}", "file:///d/a/b", {"s": ["a", "b"]}),
    ("file:///d{/s*}", "file:///d/a/%2Fetc", None),
    ("file:///d/{name}{.ext}", "file:///d/a.%2Fetc", None),
    ("file:///d{;v}", "file:///d;v=%2Fetc", None),
    ("file:///d{?q}", "file:///d?q=%2Fetc", None),
    ("file:///d?q={q}", "file:///d?q=/etc", None),
    ("file:///d/{+path}", "file:///d/a/b", {"path": "a/b"}),
    ("file:///d/{+path}", "file:///d/a%2Fb", None),
    ("file:///d/{+path}", "file:///d//etc/passwd", None),
    ("file:///d/{+path}", "file:///d/%2Fetc/passwd", None),
    ("file:///d/{+path}", "file:///d/C:/x", None),
    ("file:///d/{+path}", "file:///d/a%5c..%5cb", None),
    ("file://{+path}", "file:///etc/hosts", {"path": "/etc/hosts"}),
    ("{+uri}", "file:///a%2Fb", None),
    ("x://caf%c3%a9/{a}", "x://caf%C3%A9/1", {"a": "1"}),
    ("x://caf%C3%A9/{a}", "x://caf%c3%a9/1", {"a": "1"}),
    ("x://s?n%c3%bc={v}", "x://s?n%C3%BC=1", {"v": "1"}),
    ("x://s?l=%c3%a9{&v}", "x://s?l=%C3%A9&v=1", {"v": "1"}),
    ("x://s{?n%C3%BC}", "x://s?n%c3%bc=1", {"n%C3%BC": "1"}),
    ("x://m{;n%c3%bc}", "x://m;n%C3%BC=1", {"n%c3%bc": "1"}),
    ("x://t#%c3%a9-{f}", "x://t#%C3%A9-1", {"f": "1"}),
]

BAD = ["x://{", "x://{}", "x://}", "x://{a", "x://{a b}", "x://{a}}", "x://{{a}}", "x://{=a}", "x://{!a}", "x://{a,}",
       "x://{a:0}", "x://{a:10000}", "x://{a*:3}", "x://{.a.}", "x://a b/{c}", "x://%/{a}", "x://\\{a}", "x://{a..b}"]
UNREADABLE = ["x://{a}{b}", "x://{+a}{b}", "x://{a}/{a}", "x://{a:3}", "x://{&q}", "x://s{?a}{?b}", "x://s{?a*,b*}",
              "x://s?{a}={b}", "x://s?a={b}{c}", "x://s{#f}{?q}", "x://s{;a*}", "x://s?q=1&q={q}", "x://s?q=1&%71={q}", "x://s?%ff={q}",
              "x://s?l=%ff{&q}", "x://s?l=..", "x://s?a{b}",
              "x://t{#a}{#b}",
              "x://s?a={b}{/c}"]


def filled(text, values):
    """A template of plain variables with the values in their places."""
    for name, value in values.items():
        text = text.replace("{%s}" % name, quote(value, safe=""))
    return text


class Matching(unittest.TestCase):
    def test_the_table(self):
        for text, uri, expected in MATCHED:
            with self.subTest(f"{text} {uri}"):
                self.assertEqual(UriTemplate(text).match(uri), expected)

    def test_what_was_put_in_comes_out(self):
        draw = random.Random(6570)
        alphabet = "ab.-_~ /?#&=,;%+é漢😀"
        for text in ("x://{a}/{b}", "x://q?b={b}&a={a}", "x://{a}#{b}", "x://s?a={a}&b={b}", "x://z/{a},{b}"):
            template = UriTemplate(text)
            for _ in range(150):
                values = {name: "v" + "".join(draw.choices(alphabet, k=draw.randint(0, 6))).replace("..", ".")
                          for name in template.variables}
                values = {name: value.replace("/.", "/v") for name, value in values.items()}
                uri = filled(text, values)
                self.assertEqual(template.match(uri), values, f"{text} {uri}")
                self.assertTrue(is_uri(uri), uri)

    def test_ambiguity_costs_no_more_than_length(self):
        for text in ("x://{+a}-{+b}-{+c}-{+d}-{+e}x", "x://{a}-{b}-{c}-{d}{/e*}!", "x://{+a}a{+b}a{+c}{.d}{.e}{.f}!"):
            template = UriTemplate(text)
            for filler in ("-", "a", "/", ".", "%2d", "a-"):
                uri = "x://" + (filler * MAX_URI)[:MAX_URI - 5]
                began = time.perf_counter()
                template.match(uri)
                self.assertLess(time.perf_counter() - began, 30, f"{text} against {filler}…")

    def test_no_uri_beyond_the_bound_matches(self):
        template = UriTemplate("x://{a}")
        self.assertIsNotNone(template.match("x://" + "a" * (MAX_URI - 4)))
        self.assertIsNone(template.match("x://" + "a" * (MAX_URI - 3)))


class Faults(unittest.TestCase):
    def test_what_is_no_template(self):
        for text in BAD:
            with self.subTest(text), self.assertRaises(SchemaError):
                UriTemplate(text)

    def test_what_cannot_be_matched_back(self):
        for text in UNREADABLE:
            with self.subTest(text), self.assertRaisesRegex(SchemaError, "cannot be told apart"):
                UriTemplate(text)

    def test_the_fault_is_named(self):
        with self.assertRaisesRegex(SchemaError, r"\{a b\}"):
            UriTemplate("x://{a b}")
        with self.assertRaisesRegex(SchemaError, r"nothing stands between \{a\} and \{b\}"):
            UriTemplate("x://{a}{b}")


class Uris(unittest.TestCase):
    @proves("RES-09")
    def test_is_uri(self):
        for text in ("file:///a", "x:y", "urn:isbn:1", "a+b.c-d://h/p?q#f", "x://é"):
            self.assertTrue(is_uri(text), text)
        for text in ("", "a", "/a", "://a", "1x://a", "x://a b", "x://a\n", "x://%", "x://%zz", "x://{a}", "x://\\",
                     'x://"',
                     "x_y://a", "x://a\x7f", "x://<a>"):
            self.assertFalse(is_uri(text), text)


if __name__ == "__main__":
    unittest.main()
