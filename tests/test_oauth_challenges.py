"""basic/authorization, Error Handling: challenges of every scheme, and what they ask for."""

import unittest

from mcp_ref.authorization.challenges import Asked, Challenge, asked, challenges

from .support import proves


def read(*values):
    return challenges([("Content-Type", "text/html"), *(("WWW-Authenticate", value) for value in values)])


def wanted(*values):
    return asked([("www-authenticate", value) for value in values])


@proves("ASDISC-09", "AUTH-72")
class Grammar(unittest.TestCase):
    """RFC 9110, section 11.6.1."""

    def test_one_challenge(self):
        for value, found in (
                ("Bearer", ("bearer", {})),
                ("bearer ", ("bearer", {})),
                ("BEARER a=b", ("bearer", {"a": "b"})),
                ('Bearer A = "b c" ,, d=e', ("bearer", {"a": "b c", "d": "e"})),
                ("Bearer a=https://h:1/p?q=r", ("bearer", {"a": "https://h:1/p?q=r"})),
                (r'Bearer a="\"b\\c\""', ("bearer", {"a": '"b\\c"'})),
                ('Bearer a="", b=""', ("bearer", {"a": "", "b": ""})),
                ("Negotiate YWJj==", ("negotiate", {})),
                ("Bearer a=1, a=2", ("bearer", {"a": "1"}))):
            with self.subTest(value=value):
                self.assertEqual(read(value), [Challenge(*found)])

    def test_several(self):
        both = [Challenge("basic", {"realm": "x, Bearer a=b"}), Challenge("bearer", {"error": "e", "scope": "s"})]
        first, second = 'Basic realm="x, Bearer a=b"', "Bearer error=e, scope=s"
        self.assertEqual(read(f"{first}, {second}"), both)
        self.assertEqual(read(f"{first},{second}"), both)
        self.assertEqual(read(first, second), both)
        self.assertEqual(read("Negotiate, NTLM abc=, Bearer x=y"), [
            Challenge("negotiate", {}), Challenge("ntlm", {}), Challenge("bearer", {"x": "y"})])

    def test_what_is_no_challenge_is_passed_over(self):
        for value in ("", ",", " , ,", "=", '"Bearer"', "=x, ="):
            self.assertEqual(read(value), [])
        self.assertEqual(read('Bearer a="b, scope="c", d=e')[0].parameters.get("d"), "e")
        self.assertEqual(read('Bearer a="b'), [Challenge("bearer", {})])
        self.assertEqual(read('a=b, Bearer c=d'), [Challenge("bearer", {"c": "d"})])

    def test_it_takes_no_longer_than_it_is_long(self):
        for value in ('Bearer a="' + "\\" * 60000, "Bearer " + "a=" * 30000, "a " * 30000, "," * 60000,
                      'Bearer a="b" ' * 5000):
            read(value)


@proves("ASDISC-09", "C080")
class Needs(unittest.TestCase):
    """Case C080, as listed."""

    def test_quoted_or_not_in_any_case(self):
        place = "https://h/.well-known/oauth-protected-resource/mcp"
        self.assertEqual(wanted(f'Bearer resource_metadata="{place}", scope="a b"'), Asked(("a", "b"), place))
        self.assertEqual(wanted("bearer scope=x,resource_metadata=https://h/p"), Asked(("x",), "https://h/p"))

    def test_of_its_own_scheme_alone(self):
        self.assertEqual(wanted(r'Basic realm="x, Bearer", Bearer error="invalid_token", scope="s,\"t\""'),
                         Asked(('s,"t"',), None, "invalid_token"))
        self.assertEqual(wanted('Basic realm="x", scope="no"', "Bearer scope=yes"), Asked(("yes",)))
        self.assertEqual(wanted("Basic scope=no, error=no, Bearer"), Asked())

    def test_names_are_whole(self):
        self.assertEqual(wanted('Bearer not_resource_metadata="https://evil/"'), Asked())

    def test_a_repeated_one_is_never_both(self):
        self.assertEqual(wanted('Bearer resource_metadata="https://h/1", resource_metadata="https://h/2"').metadata,
                         "https://h/1")

    def test_nothing_asked(self):
        self.assertEqual(wanted("Bearer"), Asked())
        self.assertEqual(wanted(), Asked())

    def test_metadata_of_any_scheme(self):
        self.assertEqual(wanted("DPoP resource_metadata=https://h/p, error=use_dpop_nonce"),
                         Asked((), "https://h/p", "use_dpop_nonce"))
        self.assertEqual(wanted("Other resource_metadata=https://h/o, error=e"), Asked((), "https://h/o"))
        self.assertEqual(wanted("Other resource_metadata=https://h/o", "Bearer resource_metadata=https://h/b"),
                         Asked((), "https://h/b"))


if __name__ == "__main__":
    unittest.main()
