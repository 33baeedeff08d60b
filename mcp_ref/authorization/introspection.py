"""basic/authorization, Token Handling: opaque tokens, verified by asking the authorization server (RFC 7662).

Implements AUTHSEC-05, AUTHSEC-08.

What the authorization server says is remembered for a short while, by the token's digest: a token that is revoked is
good for at most `cache_seconds` more. Only good tokens are remembered, so nobody fills the memory with bad ones.
"""

from __future__ import annotations

import hashlib
import threading
import time
import weakref
from typing import Any, Dict, Mapping, Optional, Tuple
from urllib.parse import quote_plus, urlencode

from ..base.errors import Timeout, TransportError, Unreachable
from ..lib.strict_json import NotJson, decode
from ..lib.text import base64_text
from ..lib.uri import Address
from ..transports.calls import Deadline
from ..transports.exchange import Exchange
from ..transports.pool import Pool
from .resource_server import THIS_RESOURCE, web_url

MAX_ANSWER = 64 * 1024


class Introspection:
    """A verifier for ResourceServer that asks an introspection endpoint.

    url: the endpoint, https or loopback. client_id, client_secret: this server's own, sent by HTTP Basic.
    timeout: seconds for one question, the whole of it. cache_seconds: how long a good answer is used again, though
        never past the token's exp; 0 for not at all. cache_size: tokens remembered.
    audience_checked: whether an answer without `aud` counts as "for this resource", for an authorization server that
        says active only of tokens which the asking resource may take (RFC 7662, section 4). An `aud` that is there is
        always checked.

    Proxies are those of the environment, and none on loopback. Redirects are not followed. Raises ValueError for a
    url or a timeout that cannot be used.
    """

    def __init__(self, url: str, client_id: str, client_secret: str, *, timeout: float = 5.0,
                 cache_seconds: float = 30.0, cache_size: int = 1024, audience_checked: bool = False) -> None:
        self._address = Address(web_url(url, "the introspection endpoint", bare=False))
        pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
        self._headers = {"Authorization": "Basic " + base64_text(pair.encode("ascii")),
                         "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        self._pool = Pool(direct=self._address.loopback)
        weakref.finalize(self, self._pool.close)
        self._timeout = Deadline(timeout).seconds
        self._cache_seconds, self._cache_size = cache_seconds, cache_size
        self._audience_checked = audience_checked
        self._known: Dict[bytes, Tuple[float, Dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def __call__(self, token: str) -> Optional[Mapping[str, Any]]:
        """The claims of an active token, None for any other. Raises TransportError where no answer is to be had."""
        key = hashlib.sha256(token.encode("utf-8")).digest()
        asked = time.monotonic()
        with self._lock:
            until, claims = self._known.get(key, (0.0, {}))
        if asked < until:
            return dict(claims)
        answer = self._ask(token)
        active = answer.get("active") is True
        if self._audience_checked and answer.get("aud") is None:
            answer["aud"] = THIS_RESOURCE
        with self._lock:
            self._known.pop(key, None)
            if active:
                self._known[key] = (asked + self._cache_seconds, answer)
            while len(self._known) > self._cache_size:
                del self._known[next(iter(self._known))]
        return dict(answer) if active else None

    def _ask(self, token: str) -> Dict[str, Any]:
        """The introspection response. Raises TransportError that names neither the token nor what came back."""
        form = urlencode({"token": token, "token_type_hint": "access_token"}).encode("ascii")
        try:
            with Exchange(self._address, Deadline(self._timeout), pool=self._pool) as exchange:
                response = exchange.open("POST", self._address.url, form, self._headers, repeatable=True)
                body = exchange.whole(response, MAX_ANSWER)
            answer = decode(body) if response.status == 200 else None
        except (Timeout, Unreachable) as error:
            raise TransportError(f"the introspection endpoint gives no answer: {error}") from None
        except (TransportError, NotJson):
            raise TransportError("the introspection endpoint gives no answer that can be read") from None
        if response.status != 200:
            raise TransportError(f"the introspection endpoint answered {response.status}, not 200")
        if not isinstance(answer, dict):
            raise TransportError("the introspection endpoint answered JSON that is no object")
        return answer
