"""RFC 9449 and RFC 7523, which the authorization extensions build on: proofs and assertions signed by the caller's key.

Asymmetric signatures are the caller's: a `Signer` is a callable and the public key as a JWK. There is no elliptic
curve in this package.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from typing import Any, Callable, Dict, Mapping, Optional

from ..lib.uri import parsed

_PRIVATE = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))


class Signer:
    """Signs what has to be proven with a key.

    sign: octets to the signature that JWS wants of the algorithm (for ES256 the 64 octets of r and s). jwk: the public
    key. algorithm: asymmetric, as "ES256" or "RS256". Raises ValueError for a JWK with private members.
    """

    def __init__(self, sign: Callable[[bytes], bytes], jwk: Mapping[str, Any], algorithm: str = "ES256") -> None:
        if _PRIVATE.intersection(jwk) or jwk.get("kty") not in ("EC", "RSA", "OKP"):
            raise ValueError("a Signer's JWK is the public part of an asymmetric key")
        self.jwk, self.algorithm = dict(jwk), algorithm
        self._sign = sign

    def jwt(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        """A signed JWT, issued now under an id of its own."""
        whole = {"alg": self.algorithm, **header}, {"jti": secrets.token_urlsafe(16), "iat": int(time.time()), **claims}
        text = ".".join(base64url(json.dumps(part, separators=(",", ":")).encode("ascii")) for part in whole)
        return f"{text}.{base64url(self._sign(text.encode('ascii')))}"

    def assertion(self, client_id: str, audience: str, lifetime: int = 60) -> str:
        """The JWT by which a client authenticates itself (RFC 7523, section 3)."""
        key = {"kid": self.jwk["kid"]} if "kid" in self.jwk else {}
        return self.jwt({"typ": "JWT", **key}, {"iss": client_id, "sub": client_id, "aud": audience,
                                                "exp": int(time.time()) + lifetime})


class Proofs:
    """The DPoP proofs of one client, with the nonce that each server gave last."""

    def __init__(self, signer: Signer) -> None:
        self.algorithm = signer.algorithm
        self._signer = signer
        self._nonces: Dict[str, str] = {}

    def proof(self, method: str, url: str, token: Optional[str] = None) -> str:
        """The value of a DPoP field for one request; each has an id of its own. token: which it goes with."""
        uri = parsed(url)
        claims: Dict[str, Any] = {"htm": method, "htu": uri.site + uri.path}
        if token is not None:
            claims["ath"] = base64url(hashlib.sha256(token.encode("ascii")).digest())
        if uri.site in self._nonces:
            claims["nonce"] = self._nonces[uri.site]
        return self._signer.jwt({"typ": "dpop+jwt", "jwk": self._signer.jwk}, claims)

    def take_nonce(self, url: str, nonce: Optional[str]) -> bool:
        """Keep the nonce that the server at `url` asks for; whether there is one."""
        if nonce:
            self._nonces[parsed(url).site] = nonce
        return bool(nonce)


def base64url(data: bytes) -> str:
    """Octets in the alphabet for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
