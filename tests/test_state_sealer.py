"""The state sealer: what it made it opens, and nothing else."""

import base64
import hashlib
import hmac
import unittest
from unittest import mock

from mcp_ref.base.errors import InvalidParams
from mcp_ref.patterns.state_sealer import MAX_TOKEN, BadKey, Claim, StateSealer

from .support import proves

OLD, NEW = b"o" * 32, b"n" * 32
CLAIM = Claim("alice", "tools/call", "refund", {"a": 1, "b": [True, None]}, "shop")


@proves("C032")
class Sealer(unittest.TestCase):
    def setUp(self):
        self.now = 1000.0
        self.sealer = self.make([NEW])

    def make(self, keys, purpose="requestState", ttl=60.0):
        return StateSealer(keys, purpose, ttl, lambda: self.now)

    def refused(self, token, claim=CLAIM, sealer=None):
        with self.assertRaises(InvalidParams) as caught:
            (sealer or self.sealer).open(token, claim)
        self.assertEqual(caught.exception.code, -32602)
        return caught.exception.message

    def test_round_trip(self):
        content = [1, {"näme": "ß"}, None, 1.5]
        self.assertEqual(self.sealer.open(self.sealer.seal(CLAIM, content), CLAIM), content)

    def test_the_form_of_a_token(self):
        version, payload, mac = self.sealer.seal(CLAIM, {}).split(".")
        self.assertEqual((version, len(mac)), ("v1", 43))
        self.assertRegex(payload, r"\A[A-Za-z0-9_-]+\Z")

    def test_members_in_another_order_are_the_same_arguments(self):
        other = CLAIM.__class__("alice", "tools/call", "refund", {"b": [True, None], "a": 1}, "shop")
        self.assertEqual(self.sealer.open(self.sealer.seal(CLAIM, 7), other), 7)

    def test_each_part_of_the_claim_counts(self):
        token = self.sealer.seal(CLAIM, {})
        for part, value in (("principal", "bob"), ("method", "prompts/get"), ("target", "delete"),
                            ("arguments", {"a": 2, "b": [True, None]}), ("arguments", {"a": True, "b": [True, None]}),
                            ("audience", "bank")):
            self.assertIn("another request", self.refused(token, CLAIM._replace(**{part: value})), part)

    def test_time(self):
        token = self.sealer.seal(CLAIM, {})
        self.now += 59.9
        self.sealer.open(token, CLAIM)
        self.now += 0.1
        self.assertIn("expired", self.refused(token))

    @proves("MRTR-08", "MRTR-28")
    def test_every_single_change_is_noticed(self):
        token = self.sealer.seal(CLAIM, {"x": 1})
        for at in range(len(token)):
            for letter in "A.b_=" + ("B" if token[at] == "A" else "A"):
                if letter != token[at]:
                    self.refused(token[:at] + letter + token[at + 1:])
            self.refused(token[:at])
            self.refused(token[:at] + token[at + 1:])

    @proves("MRTR-09", "MRTR-28")
    def test_what_is_no_token(self):
        good = self.sealer.seal(CLAIM, {})
        _, payload, mac = good.split(".")
        for token in ("", ".", "..", "v1..", "v1." + payload, f"v1.{payload}.", f"v2.{payload}.{mac}",
                      good + "-TAMPERED", f"V1.{payload}.{mac}", f"v1.{payload}.{mac}.",
                      f" {good}", f"{good}\n", f"v1.{payload}=.{mac}=",
                      "é" * 40, "x" * 1024 * 1024, "v1." + "A" * MAX_TOKEN + "." + mac, "\ud800", None, 7, {}):
            self.refused(token)

    def test_another_spelling_of_the_same_octets_is_refused(self):
        token = self.sealer.seal(CLAIM, {})
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        other = alphabet[alphabet.index(token[-1]) ^ 1]
        self.refused(token[:-1] + other)

    def test_unknown_key_and_rotation(self):
        token = self.make([OLD]).seal(CLAIM, 1)
        self.refused(token)
        self.assertEqual(self.make([NEW, OLD]).open(token, CLAIM), 1)
        newer = self.make([NEW, OLD]).seal(CLAIM, 2)
        self.assertEqual(self.sealer.open(newer, CLAIM), 2)
        self.refused(newer, sealer=self.make([OLD]))

    def test_a_token_of_another_purpose_is_refused(self):
        self.refused(self.make([NEW], "cursor").seal(CLAIM, {}))

    @proves("MRTR-07")
    def test_the_payload_is_not_read_before_the_mac(self):
        payload = base64.urlsafe_b64encode(b"not json").rstrip(b"=").decode()
        forged = base64.urlsafe_b64encode(hmac.new(OLD, f"v1.{payload}".encode(), hashlib.sha256).digest())
        self.assertIn("handed out", self.refused(f"v1.{payload}.{forged.rstrip(b'=').decode()}"))

    def test_no_two_keys_are_one(self):
        for one, other in ((NEW, NEW + b"\0"), (NEW, NEW + bytes(40)), (b"k" * 65, hashlib.sha256(b"k" * 65).digest()),
                           (b"k" * 16 + bytes(48), b"k" * 16)):
            self.refused(self.make([one]).seal(CLAIM, 1), sealer=self.make([other]))

    def test_a_version_that_is_not_ours_is_refused_even_under_our_key(self):
        payload = self.sealer.seal(CLAIM, {}).split(".")[1]
        for version in ("v2", "", "V1", "v1 "):
            signed = f"{version}.{payload}"
            mac = base64.urlsafe_b64encode(self.sealer._mac(self.sealer._keys[0], signed)).rstrip(b"=").decode()
            self.refused(f"{signed}.{mac}")

    def test_what_is_no_json_is_not_sealed(self):
        for content in (float("nan"), float("inf"), {1}, b"x", "\ud800"):
            self.assertRaises((TypeError, ValueError), self.sealer.seal, CLAIM, content)

    def test_keys(self):
        for keys in ([], [b"short"], ["x" * 15]):
            with self.assertRaises(BadKey):
                self.make(keys)
        self.make(["x" * 16])

    def test_too_much_content(self):
        with self.assertRaisesRegex(ValueError, "exceed"):
            self.sealer.seal(CLAIM, "x" * MAX_TOKEN)

    def test_comparison_takes_the_same_path_for_every_key(self):
        """All keys are compared by compare_digest, whether or not an earlier one fits."""
        sealer = self.make([NEW, OLD])
        token = sealer.seal(CLAIM, {})
        with mock.patch.object(hmac, "compare_digest", wraps=hmac.compare_digest) as compared:
            sealer.open(token, CLAIM)
        self.assertEqual(compared.call_count, 2)


if __name__ == "__main__":
    unittest.main()
