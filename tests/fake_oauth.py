"""A protected MCP server and its authorization server, on loopback, which keep to the specification until told not to.

Each is a Site: `pages` answers a path, `seen` has what came. A Realm is both, with the metadata and tokens that belong
together; a test changes one thing of it and looks at what the client makes of that.
"""

import base64
import gc
import hashlib
import http.server
import json
import os
import sys
import threading
import unittest
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, List, Optional
from unittest import mock
from urllib.parse import parse_qs, parse_qsl, urlencode

from mcp_ref import AuthorizationError, Client, OAuth
from mcp_ref.authorization import web

from .stub_http import JSON, Answer, Seen

REDIRECT = "http://127.0.0.1:9/callback"
DOCUMENT = "https://app.example/client.json"
PRM, OAUTH, OPENID = (f"/.well-known/{name}" for name in (
    "oauth-protected-resource", "oauth-authorization-server", "openid-configuration"))

Page = Callable[[Seen], Answer]


def page(value: Any, status: int = 200, **fields: str) -> Page:
    """A page of JSON, or of octets as they are; `_` in a field's name stands for `-`."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    made = {"Content-Type": JSON, "Content-Length": str(len(body))}
    made.update({name.replace("_", "-"): text for name, text in fields.items()})
    return lambda seen: Answer(status, body, made)


def in_turn(*pages: Page) -> Page:
    """One page after the other, the last one from then on."""
    left = list(pages)
    return lambda seen: (left.pop(0) if len(left) > 1 else left[0])(seen)


MISSING = page({"error": "no such page"}, 404)


class Site:
    """An HTTP server of pages by path, without a query."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.pages: Dict[str, Page] = {}
        self.seen: List[Seen] = []
        self.stopping = threading.Event()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                site._serve(self)

            do_GET = do_DELETE = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 64
            daemon_threads = False  # so that server_close waits for them

        self._server = Server((host, 0), Handler)
        self.url = f"http://{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def _serve(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        seen = Seen(handler.command, handler.path, handler.headers.items(), body)
        self.seen.append(seen)
        answer = self.pages.get(handler.path.partition("?")[0], MISSING)(seen)
        try:
            handler.send_response(answer.status)
            for name, value in answer.fields.items():
                for each in value if isinstance(value, list) else [value]:
                    handler.send_header(name, each)
            handler.end_headers()
            for part in [answer.body] if isinstance(answer.body, bytes) else answer.body:
                handler.wfile.write(part)
        except OSError:
            pass

    def paths(self, *, query: bool = False) -> List[str]:
        """What was asked for, in order."""
        return [each.path if query else each.path.partition("?")[0] for each in self.seen]

    def forms(self, path: str) -> List[Dict[str, str]]:
        """The forms posted to a path; of one that was got, the queries."""
        return [dict(parse_qsl(each.body.decode() or each.path.partition("?")[2]))
                for each in self.seen if each.path.partition("?")[0] == path]

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Issuer(Site):
    """An authorization server. metadata: what its well-known page says. granted: what its token endpoint answers next,
    members over the usual ones, None leaving one out. sent_back: the same for what /authorize sends back with.
    """

    def __init__(self, path: str = "") -> None:
        super().__init__()
        self.issuer = self.url + path
        self.metadata: Dict[str, Any] = {
            "issuer": self.issuer, "authorization_endpoint": self.url + "/authorize",
            "token_endpoint": self.url + "/token", "registration_endpoint": self.url + "/register",
            "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"], "authorization_response_iss_parameter_supported": True}
        self.granted: Dict[str, Any] = {}
        self.sent_back: Dict[str, Any] = {}
        self.good: Dict[str, List[str]] = {}  # the tokens that the MCP server takes, and their scopes
        self.refreshing: Dict[str, List[str]] = {}
        self._codes: Dict[str, Dict[str, str]] = {}
        self._count = 0
        self._lock = threading.Lock()
        self.pages.update({OAUTH + path: lambda seen: page(self.metadata)(seen), "/authorize": self._authorize,
                           "/token": self._token, "/register": self._register})

    def _named(self, kind: str) -> str:
        with self._lock:
            self._count += 1
            return f"{kind}-{self._count}-secret"

    def _register(self, seen: Seen) -> Answer:
        return page({"client_id": self._named("client"), "token_endpoint_auth_method": "none",
                     **json.loads(seen.body)}, 201)(seen)

    def _authorize(self, seen: Seen) -> Answer:
        asked = dict(parse_qsl(seen.path.partition("?")[2]))
        code = self._named("code")
        self._codes[code] = asked
        back = asked["redirect_uri"]
        given = {"code": code, "state": asked["state"], "iss": self.issuer, **self.sent_back}
        pairs = [(name, each) for name, value in given.items() if value is not None
                 for each in (value if isinstance(value, list) else [value])]
        return page(b"", 302, Location=f"{back}{'&' if '?' in back else '?'}{urlencode(pairs)}")(seen)

    def _token(self, seen: Seen) -> Answer:
        form = {name: values[0] for name, values in parse_qs(seen.body.decode()).items()}
        if form["grant_type"] == "authorization_code":
            asked = self._codes.pop(form["code"])
            proof = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert asked["code_challenge"] == base64.urlsafe_b64encode(proof).rstrip(b"=").decode()
            assert asked["redirect_uri"] == form["redirect_uri"]
            scopes = asked.get("scope", "").split()
        elif form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refreshing:
                return page({"error": "invalid_grant", "error_description": f"{form['refresh_token']} is gone"},
                            400)(seen)
            scopes = self.refreshing.pop(form["refresh_token"])
        else:
            scopes = form.get("scope", "").split()
        token, refresh = self._named("access"), self._named("refresh")
        self.good[token] = scopes
        self.refreshing[refresh] = scopes
        given = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh,
                 **self.granted}
        return page({name: value for name, value in given.items() if value is not None})(seen)


class Realm:
    """The MCP server `site`, at `url`, and the authorization server `idp` that its metadata names.

    challenge: what a 401 carries, {metadata} in it standing for the metadata's URL; None for nothing. needed: method
    to the scopes that it needs, beyond which a 403 tells of them.
    """

    def __init__(self, path: str = "/mcp", issuer: str = "") -> None:
        self.site, self.idp = Site(), Issuer(issuer)
        self.url = self.site.url + path
        self.metadata: Dict[str, Any] = {"resource": self.url, "authorization_servers": [self.idp.issuer]}
        self.challenge: Any = 'Bearer resource_metadata="{metadata}"'
        self.needed: Dict[str, List[str]] = {}
        self.forever_403: Optional[str] = None
        self.site.pages[PRM + path] = lambda seen: page(self.metadata)(seen)
        self.site.pages[path] = self._mcp

    def _mcp(self, seen: Seen) -> Answer:
        token = (seen.header("Authorization") or "").partition(" ")[2]
        if token not in self.idp.good:
            return self.refused(401, self.challenge)(seen)
        if self.forever_403 is not None:
            return self.refused(403, f'Bearer error="insufficient_scope", scope="{self.forever_403}"')(seen)
        message = seen.message
        needed = self.needed.get(message["method"], [])
        if not set(needed) <= set(self.idp.good[token]):
            return self.refused(403, f'Bearer error="insufficient_scope", scope="{" ".join(needed)}"')(seen)
        result = {"resultType": "complete", "tools": [], "content": [], "ttlMs": 0, "cacheScope": "private",
                  "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        return page({"jsonrpc": "2.0", "id": message["id"], "result": result})(seen)

    def refused(self, status: int, challenge: Any) -> Page:
        """A refusal with this challenge, or several."""
        listed = [challenge] if isinstance(challenge, str) else challenge or []
        place = self.site.url + PRM + self.url[len(self.site.url):]
        fields: Any = {"WWW_Authenticate": [each.replace("{metadata}", place) for each in listed]}
        return page({"error": "refused"}, status, **(fields if listed else {}))

    def visit(self, url: str) -> str:
        """Log in as a browser does, but for the last step: where it is sent back to."""
        class NotFollowed(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                return None

        try:
            urllib.request.build_opener(NotFollowed).open(url, timeout=10).close()
        except urllib.error.HTTPError as answer:
            with answer:
                return str(answer.headers["Location"])
        raise AssertionError("not redirected")

    @property
    def logins(self) -> List[Dict[str, str]]:
        """The authorization requests so far."""
        return self.idp.forms("/authorize")

    @property
    def token_requests(self) -> List[Dict[str, str]]:
        return self.idp.forms("/token")

    @property
    def sent(self) -> List[Optional[str]]:
        """The Authorization values that came to the MCP server's endpoint, in order."""
        return [seen.header("Authorization") for seen in self.site.seen if seen.path == self.url[len(self.site.url):]]

    def stop(self) -> None:
        self.site.stop()
        self.idp.stop()


class OAuthCase(unittest.TestCase):
    """A test of a client in a Realm. What is made here ends with the test, and leaves no thread and no socket."""

    def setUp(self) -> None:
        self._threads, self._sockets = set(threading.enumerate()), sockets()
        self._sites: List[Any] = []
        self._clients: List[Client] = []

    def tearDown(self) -> None:
        for each in self._clients:
            each.close()
        for each in self._sites:
            each.stop()
        gc.collect()
        self.assertEqual(set(threading.enumerate()) - self._threads, set(), "threads are left")
        self.assertLessEqual(sockets(), self._sockets, "sockets are left")

    def realm(self, *given: str, **named: str) -> Realm:
        made = Realm(*given, **named)
        self._sites.append(made)
        return made

    def issuer(self) -> Issuer:
        made = Issuer()
        self._sites.append(made)
        return made

    def site(self, host: str = "127.0.0.1") -> Site:
        made = Site(host)
        self._sites.append(made)
        return made

    def oauth(self, realm: Realm, *given: Any, **options: Any) -> OAuth:
        return OAuth(*given, **{"redirect_uri": REDIRECT, "visit": realm.visit, "timeout": 5.0, **options})

    def client(self, realm: Realm, auth: Any = None, **options: Any) -> Client:
        made = Client(realm.url, auth=self.oauth(realm) if auth is None else auth, era="modern", timeout=20.0,
                      **options)
        self._clients.append(made)
        return made

    def refused(self, realm: Realm, words: str, auth: Any = None) -> AuthorizationError:
        """The one error of a request that gets no token. It names what was wrong, and no secret of the realm's."""
        caught: Any
        with self.assertRaises(AuthorizationError) as caught:
            self.client(realm, auth).list_tools()
        self.assertIn(words, str(caught.exception))
        for known in secrets_of(realm):
            self.assertNotIn(known, f"{caught.exception!r} {caught.exception}")
        error: AuthorizationError = caught.exception
        return error


def secrets_of(realm: Realm) -> List[str]:
    """What the authorization server has given out, and been sent, that is nobody else's business."""
    names = ("code", "code_verifier", "refresh_token", "client_secret", "assertion", "client_assertion")
    return [*realm.idp.good, *realm.idp.refreshing] + [
        form[name] for form in realm.token_requests for name in names if name in form]


def sockets() -> int:
    """How many sockets this process holds open; 0 where that cannot be told."""
    if not sys.platform.startswith("linux"):
        return 0
    found = 0
    for each in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{each}").startswith("socket:")
        except OSError:
            pass
    return found


def public(*private: str) -> Any:
    """Have every address of loopback but these count as everybody's."""
    return mock.patch.object(web, "is_private", lambda host: host in private)
