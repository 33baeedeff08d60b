"""ES256 for tests: P-256 signatures by RFC 6979, and a private key out of PKCS #8. Not in constant time.

The package signs nothing by itself; this is what a caller plugs in.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Any, Dict, Iterator, Optional, Tuple

from mcp_ref import Signer

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)

Point = Optional[Tuple[int, int]]
"""None is the point at infinity."""


def add(one: Point, other: Point) -> Point:
    """The sum of two points of the curve."""
    if one is None or other is None:
        return one or other
    if one[0] == other[0]:
        if (one[1] + other[1]) % P == 0:
            return None
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, P)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P)
    x = (slope * slope - one[0] - other[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def times(factor: int, point: Point) -> Point:
    """A multiple of a point."""
    made: Point = None
    while factor:
        if factor & 1:
            made = add(made, point)
        point, factor = add(point, point), factor >> 1
    return made


def nonces(key: int, digest: bytes) -> Iterator[int]:
    """RFC 6979, section 3.2: the nonces for a digest, to be tried in order."""
    seed = key.to_bytes(32, "big") + (int.from_bytes(digest, "big") % N).to_bytes(32, "big")
    k, v = bytes(32), b"\1" * 32
    for mark in (b"\0", b"\1"):
        k = hmac.digest(k, v + mark + seed, "sha256")
        v = hmac.digest(k, v, "sha256")
    while True:
        v = hmac.digest(k, v, "sha256")
        if 0 < int.from_bytes(v, "big") < N:
            yield int.from_bytes(v, "big")
        k = hmac.digest(k, v + b"\0", "sha256")
        v = hmac.digest(k, v, "sha256")


def sign(key: int, data: bytes) -> bytes:
    """The 64 octets of r and s, as JWS has them."""
    digest = hashlib.sha256(data).digest()
    for nonce in nonces(key, digest):
        point = times(nonce, G)
        assert point is not None
        r = point[0] % N
        s = pow(nonce, -1, N) * (int.from_bytes(digest, "big") + r * key) % N
        if r and s:
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    raise AssertionError("nonces do not end")


def verify(point: Point, data: bytes, signature: bytes) -> bool:
    """Whether a signature of 64 octets is that of the key with this public point."""
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if len(signature) != 64 or not (0 < r < N and 0 < s < N):
        return False
    inverse, digest = pow(s, -1, N), int.from_bytes(hashlib.sha256(data).digest(), "big")
    found = add(times(digest * inverse % N, G), times(r * inverse % N, point))
    return found is not None and found[0] % N == r


def private_key(pem: str) -> int:
    """The private key in a PKCS #8 PEM: SEQUENCE { version, algorithm, OCTET STRING { ECPrivateKey } }."""
    body = pem.split("-----BEGIN PRIVATE KEY-----")[1].split("-----END")[0]
    inner = list(_items(next(_items(base64.b64decode(body)))[1]))
    return int.from_bytes(list(_items(next(_items(inner[2][1]))[1]))[1][1], "big")


def _items(der: bytes) -> Iterator[Tuple[int, bytes]]:
    """The tags and contents of DER values one after another."""
    while der:
        tag, length, at = der[0], der[1], 2
        if length & 0x80:
            at += length & 0x7F
            length = int.from_bytes(der[2:at], "big")
        yield tag, der[at:at + length]
        der = der[at + length:]


def jwk(key: int) -> Dict[str, Any]:
    """The public key as a JWK."""
    point = times(key, G)
    assert point is not None
    x, y = (base64.urlsafe_b64encode(part.to_bytes(32, "big")).rstrip(b"=").decode() for part in point)
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y}


def signer(key: Optional[int] = None) -> Signer:
    """A Signer with this private key, or a new one."""
    held = secrets.randbelow(N - 1) + 1 if key is None else key
    return Signer(lambda data: sign(held, data), jwk(held))
