"""basic/patterns/mrtr, Server Requirements 4 and 5: tokens that travel through the client and come back unaltered.

Implements MRTR-07 to MRTR-12, MRTR-28.

A token is `v1.<payload>.<mac>`, both parts base64url without padding; the MAC is HMAC-SHA256 over `v1.<payload>` under
a key derived for one purpose, so that a requestState is never accepted as a cursor. The MAC is compared before
anything in the payload is looked at. Signed, not secret: whoever holds the token can read it.

The payload binds the token to who may use it, for what and until when: the caller names those as a `Claim`, and a
token whose claim differs in any part, or whose time is over, is refused like one that was forged.

What hashes is loaded for the first token: OpenSSL takes a server's start some milliseconds, and many never ask.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import time
from functools import cached_property
from typing import Any, Callable, List, NamedTuple, Sequence, Union

from ..base.errors import InvalidParams, McpError

VERSION = "v1"
MAX_TOKEN = 256 * 1024
MIN_KEY = 16
MAX_TTL = 10.0 ** 10


class BadKey(McpError, ValueError):
    """A state key that cannot be used: too short, or not there."""


class Claim(NamedTuple):
    """What a token is bound to.

    principal: who the request is from, "" for nobody in particular. method: the JSON-RPC method. target: the tool,
    prompt or URI. arguments: any JSON value; only its digest travels. audience: the server that made the token.
    """

    principal: str
    method: str
    target: str
    arguments: Any
    audience: str

    def members(self) -> List[str]:
        """The bound parts as they stand in the payload."""
        return [self.principal, self.method, self.target, digest(self.arguments), self.audience]


def digest(value: Any) -> str:
    """SHA-256 of a JSON value, the same for members in any order. Raises TypeError or ValueError for no JSON value."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    import hashlib

    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _to_text(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")


def _to_octets(text: str) -> bytes:
    octets = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if _to_text(octets) != text:
        raise ValueError("not the one spelling of these octets")
    return octets


class StateSealer:
    """Seals and opens tokens of one purpose.

    keys: secrets of at least 16 octets (or text, taken as UTF-8); the first signs, all verify, so that a new key is
    put in front and the old one kept until the last token it signed is over. purpose: what the tokens are for.
    ttl: how long a token holds, in seconds. clock: the time in seconds since the epoch.
    """

    def __init__(self, keys: Sequence[Union[str, bytes]], purpose: str, ttl: float = 600.0,
                 clock: Callable[[], float] = time.time) -> None:
        if not keys:
            raise BadKey("at least one state key is needed")
        if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not 0 < ttl < math.inf:
            raise ValueError(f"the time to live of a {purpose} is a finite number of seconds above 0, not {ttl!r}")
        self._secrets = [self._checked(key) for key in keys]
        self._what = purpose
        self._ttl = min(ttl, MAX_TTL)
        self._clock = clock

    @staticmethod
    def _checked(key: Union[str, bytes]) -> bytes:
        secret = key.encode("utf-8") if isinstance(key, str) else key
        if len(secret) < MIN_KEY:
            raise BadKey(f"a state key has at least {MIN_KEY} octets, this one has {len(secret)}")
        return secret

    @cached_property
    def _keys(self) -> List[bytes]:
        return [self._derived(secret, self._what) for secret in self._secrets]

    @staticmethod
    def _derived(secret: bytes, purpose: str) -> bytes:
        import hashlib

        digest = hashlib.sha256(secret).digest()  # HMAC itself takes a key and the same with NULs behind it for one
        return StateSealer._mac(digest, "mcp_ref " + purpose)

    @staticmethod
    def _mac(key: bytes, signed: str) -> bytes:
        import hmac

        return hmac.digest(key, signed.encode("ascii"), "sha256")

    def seal(self, claim: Claim, content: Any) -> str:
        """The token that carries `content`, any JSON value, bound to `claim` for the sealer's ttl.

        Raises ValueError for content that is not JSON, or too much of it, and TypeError.
        """
        payload = json.dumps([int((self._clock() + self._ttl) * 1000), claim.members(), content],
                             separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        signed = f"{VERSION}.{_to_text(payload.encode('utf-8'))}"
        token = f"{signed}.{_to_text(self._mac(self._keys[0], signed))}"
        if len(token) > MAX_TOKEN:
            raise ValueError(f"the {self._what} would exceed {MAX_TOKEN} characters")
        return token

    def open(self, token: Any, claim: Claim) -> Any:
        """The content of a token of ours that is in time and bound to `claim`; raises InvalidParams for all else."""
        expiry, members, inner = self._verified(token)
        if self._clock() * 1000 >= expiry:
            raise InvalidParams(f"Invalid params: the {self._what} has expired")
        if members != claim.members():
            raise InvalidParams(f"Invalid params: the {self._what} belongs to another request")
        return inner

    def _verified(self, token: Any) -> List[Any]:
        refused = InvalidParams(f"Invalid params: the {self._what} is not one that this server handed out")
        if not isinstance(token, str) or not token.isascii() or len(token) > MAX_TOKEN:
            raise refused
        version, _, rest = token.partition(".")
        payload, _, mac = rest.partition(".")
        if version != VERSION:
            raise refused
        try:
            given = _to_octets(mac)
            content = _to_octets(payload)
        except (binascii.Error, ValueError):
            raise refused from None
        signed = f"{version}.{payload}"
        import hmac

        good = [hmac.compare_digest(self._mac(key, signed), given) for key in self._keys]
        if not any(good):
            raise refused
        opened: List[Any] = json.loads(content)
        return opened


def random_key() -> bytes:
    """A fresh key of 32 octets, good for this process only."""
    return os.urandom(32)
