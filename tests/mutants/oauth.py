"""The edits of the OAuth client, as edits.py has them."""

from typing import Dict, List, Tuple

Edits = List[Tuple[str, str]]

CHALLENGES: Edits = [
    ('.lower() == "www-authenticate"', ' == "WWW-Authenticate"'),
    ("current.parameters.setdefault(name.lower(), plain", "current.parameters.setdefault(name, plain"),
    ("plain or re.sub(", "plain or quoted or re.sub("),
    ("found.append(current)", "found[:] = [current]"),
    ("scheme.end() if secret is None else secret.end()", "scheme.end()"),
    ('if each.scheme in ("bearer", "dpop")]', 'if each.scheme == "bearer"]'),
    ('if each.scheme in ("bearer", "dpop")]', "]"),
    ("places = ours + [each.parameters for each in listed]", "places = ours"),
    ("places = ours + [each.parameters for each in listed]", "places = [each.parameters for each in listed]"),
    ('("error", ours)', '("error", places)'),
    ('("scope", ours)', '("scope", places)'),
]

DISCOVERY: Edits = [
    ("places = [place] if place is not None else", "places = [place, uri.site + WELL_KNOWN + path] if place else"),
    ("[uri.site + WELL_KNOWN + path, uri.site + WELL_KNOWN]", "[uri.site + WELL_KNOWN, uri.site + WELL_KNOWN + path]"),
    ("[uri.site + WELL_KNOWN + path, uri.site + WELL_KNOWN]", "[uri.site + WELL_KNOWN + path]"),
    ("list(dict.fromkeys(places))", "places"),
    ("    if not _covers(resource, uri):", "    if False:"),
    ("    if not issuers:", "    if False:"),
    ("    if not isinstance(resource, str):", "    if False:"),
    ("[uri.site + OAUTH + path, uri.site + OPENID + path]", "[uri.site + OPENID + path, uri.site + OAUTH + path]"),
    ("[uri.site + path + OPENID] if path else []", "[]"),
    ("[uri.site + path + OPENID] if path else []", "[uri.site + path + OPENID]"),
    ('path = uri.path.rstrip("/")\n    places', "path = uri.path\n    places"),
    ('metadata.get("issuer") != issuer', "False"),
    ('metadata.get("issuer") != issuer', 'str(metadata.get("issuer")).rstrip("/") != issuer.rstrip("/")'),
    ('    web.checked(metadata.get("token_endpoint"), "the token endpoint")\n', ""),
    ("parsed(web_url(issuer, \"an issuer\"))", "parsed(issuer)"),
    ("if reply.status == 200:", "if reply.status < 500:"),
    ("uri.origin != server.origin or ", ""),
    (" or uri.user is not None", ""),
    (" or uri.fragment is not None", ""),
    ('server.path.startswith(path + "/")', "server.path.startswith(path)"),
    ("return below and uri.query in (None, server.query)", "return below"),
    (", passing=any(fault.passing for fault in faults)", ""),
]

DPOP: Edits = [
    ("_PRIVATE.intersection(jwk) or ", ""),
    (' or jwk.get("kty") not in ("EC", "RSA", "OKP")', ""),
    ('"jti": secrets.token_urlsafe(16), ', '"jti": "1", '),
    ('"sub": client_id, ', ""),
    ('"htu": uri.site + uri.path', '"htu": url'),
    ('claims["ath"]', 'claims["_"]'),
    ('claims["nonce"] = self._nonces[uri.site]', "pass"),
    ('"typ": "dpop+jwt"', '"typ": "jwt"'),
]

LOGIN: Edits = [
    ('"code_challenge_method": "S256"', '"code_challenge_method": "plain"'),
    ("hashlib.sha256(self.verifier.encode(\"ascii\")).digest()", "self.verifier.encode('ascii')"),
    ("        if not has_state(answer, self.state):", "        if False:"),
    ("        if repeated:", "        if False:"),
    ("issuer != self.server.issuer and (promised or issuer is not None)", "False"),
    ("(promised or issuer is not None)", "promised"),
    ("(promised or issuer is not None)", "issuer is not None"),
    ("is True\n        if issuer !=", "is not None\n        if issuer !="),
    ("issuer != self.server.issuer and", "(issuer or '').rstrip('/') != self.server.issuer and"),
    ('        if "error" in given:', "        if False:"),
    ('if not given.get("code", [""])[0]:', "if False:"),
    ('"S256" not in server.lists("code_challenge_methods_supported")', "False"),
    ('"S256" not in server.lists("code_challenge_methods_supported")',
     '"S256" not in (server.lists("code_challenge_methods_supported") or ["S256"])'),
    ('        web.checked(server.metadata.get("authorization_endpoint"), "the authorization endpoint")\n', ""),
    (" and OFFLINE in server.lists(\"scopes_supported\")", ""),
    ("asked = (*target.scopes, OFFLINE)", "asked = target.scopes"),
    ("if known is None or known.redirect_uri not in (None, redirect_uri):", "if known is None:"),
    ("if known is None or known.redirect_uri not in (None, redirect_uri):", "if True:"),
    ("if self.client is None and self._document and (", "if self._document and ("),
    ('server.metadata.get("client_id_metadata_document_supported") is True', "True"),
    ("'&' if '?' in endpoint else '?'", "'?'"),
    ('"resource": resource,', ""),
    ("secrets.token_urlsafe(32), secrets.token_urlsafe(32))", "'s' * 43, secrets.token_urlsafe(32))"),
    ("secrets.token_urlsafe(32), secrets.token_urlsafe(32))", "secrets.token_urlsafe(32), 'v' * 43)"),
    ("            error.passing = False ", "            pass "),
]

LOOPBACK: Edits = [
    ("return len(given) == 1 and", "return"),
    ('good = target.partition("?")[0] == self._path and has_state(target, state)', 'good = has_state(target, state)'),
    ('good = target.partition("?")[0] == self._path and has_state(target, state)', "good = True"),
    ("self._path = uri.path or", "self._path = PATH or"),
    ("redirect_uri or self._site + PATH", "self._site + PATH"),
    ("if len(self._heads) > MAX_CONNECTIONS:", "if False:"),
    (' and words[0] == b"GET" and data else ""', ' and data else ""'),
    (" and len(head) <= MAX_HEAD", ""),
    ("Cache-Control: no-store\\r\\nReferrer-Policy: no-referrer\\r\\n", ""),
]

OAUTH_CLIENT: Edits = [
    ('        web_url(server.url, "an MCP server that tokens are sent to", bare=False)\n', ""),
    ("if held is None or held.good:", "if True:"),
    ("if self._ended != seen and self._failure is not None:", "if False:"),
    ("            if self._is_better(sent, asked):\n                return False\n", ""),
    ("or (sent is not None and held.access == sent.access)", ""),
    ("return set(asked.scopes) <= set(held.scopes)", "return True"),
    ("(*(before.scopes if before else ()), *asked.scopes)", "asked.scopes"),
    (" or resource.scopes", ""),
    ("or resource.scopes", "+ resource.scopes"),
    ("before is not None and before.issuer != server.issuer", "False"),
    ("elif before is not None and refreshing and before.refresh", "elif before is not None and before.refresh"),
    ("        if bound not in resource.issuers:", "        if False:"),
    ("if bound is None and self._auth.client is not None and before is not None:", "if False:"),
    ("client is None or client.client_id != before.client_id", "client is None"),
    ("                if error.code not in _DEAD:\n                    raise\n", ""),
    ("self._keep(replace(before, access=None, refresh=None))", "pass"),
    ("forget(self._auth.store, target.server.issuer)", "pass"),
    ("refresh=made.refresh or before.refresh", "refresh=made.refresh"),
    ("refresh=made.refresh or before.refresh", "refresh=before.refresh"),
    ("held.refresh != before.refresh and held.good", "False"),
    ('if status == 401 and asked.error == "use_dpop_nonce":', "if False:"),
    ("self._nonces < MAX_RENEWALS and ", ""),
    ('if status != 401 and (status != 403 or asked.error != "insufficient_scope"):', "if status != 401:"),
    (' or asked.error != "insufficient_scope"', ""),
    ("self._renewals == MAX_RENEWALS or ", ""),
    ("(self._fresh and not more)", "False"),
    ("self._session.gives_up(asked.scopes)", "False"),
    ("self._refreshing and status == 401", "status == 401"),
    ("self._refreshing and status == 401", "self._refreshing"),
    ('made["DPoP"] =', "_ ="),
    ("proofs.algorithm in server.lists(\"dpop_signing_alg_values_supported\")", "True"),
    ('resource.metadata.get("dpop_bound_access_tokens_required") is True', "False"),
    ("with deadline.on_hold():", "if True:"),
    ("str(error), error.code, error.passing", "str(error), error.code, False"),
    ('if held.good else None\n\n    def at_hand', "\n\n    def at_hand"),
    ("            return {}\n        return {", "            return None\n        return {"),
    ("return None if self._sent is None else self._sent.expires", "return None"),
]

REGISTRATION: Edits = [
    ("method = self.method or self._method(server)", "method = self._method(server)"),
    ("quote_plus(self.client_id)}:{quote_plus(self.secret)", "self.client_id}:{self.secret"),
    ("for method in able:\n            if method in offered:\n                return method", "return able[0]"),
    ('or (BASIC,)', "or (NONE,)"),
    ('"application_type": kind, ', ""),
    ('kind = "native" if', 'kind = "web" if'),
    ('["authorization_code", "refresh_token"]', '["authorization_code"]'),
    ('uri.scheme != "https" or ', ""),
    (' or uri.path in ("", "/")', ""),
    (" or 0 < found.expires <= time.time()", ""),
    ("if reply.status not in (200, 201):", "if False:"),
    ("    if not client_id:", "    if False:"),
    ('return f"client {issuer}"', 'return "client"'),
    ("self.signer.assertion(self.client_id, server.issuer)",
     'self.signer.assertion(self.client_id, server.metadata["token_endpoint"])'),
]

TOKEN_STORE: Edits = [
    ("0o600), \"wb\"", "0o644), \"wb\""),
    ("mkdir(mode=0o700, ", "mkdir("),
    ("os.replace(made, self._path)", "self._path.write_bytes(made.read_bytes())"),
    ("                with suppress(OSError):\n                    os.unlink(made)\n", ""),
    ("return record if isinstance(record, dict) else None", "return record"),
    ("return found if isinstance(found, dict) else {}", "return found"),
    ("except (OSError, NotJson):", "except OSError:"),
    ("fcntl.LOCK_EX", "fcntl.LOCK_SH"),
    ('self._locked(".lock", deadline)', 'self._locked(".write.lock", deadline)'),
    ("with self._lock, self._locked(\".write.lock\", Deadline(60)):", "with self._lock:"),
]

TOKENS: Edits = [
    ("time.time() < self.expires", "True"),
    ('"resource": self.resource.resource, ', ""),
    ('        if "error" in given:\n            raise reply.refusal()\n', ""),
    ("not isinstance(kind, str) or kind.lower() != wanted.lower()", "False"),
    ("kind.lower() != wanted.lower()", "kind != wanted"),
    (" or not _TOKEN.fullmatch(token)", ""),
    ("and expires > 0:", ":"),
    ("min(expires, MAX_LIFETIME)", "expires"),
    ("self.proofs.take_nonce(endpoint, reply.headers.get(\"DPoP-Nonce\"))", "False"),
    ("refresh if isinstance(refresh, str) else None", "None"),
    ("if reply.status != 200:", "if reply.status >= 500:"),
    ("all(isinstance(text, str) for text in texts)", "True"),
]

WEB: Edits = [
    ("for _ in range(MAX_REDIRECTS + 1):", "for _ in range(100):"),
    ("if self._public and is_private(host):", "if False:"),
    ("        return is_loopback(host)", "        return False"),
    ("exchange.barred = is_private if self._public else None", "pass"),
    ("exchange.whole(response, MAX_ANSWER)", "exchange.whole(response, 10**10)"),
    ("        text = text.replace(secret, \"…\")\n", "        pass\n"),
    (', "": secret}', "}"),
    ("Address(web_url(url, f\"the URL of {what}\", bare=False))", "Address(url)"),
    ("Deadline(self._timeout, self._handle)", "Deadline(30.0, self._handle)"),
    ("return all(map(is_private, found))", "return any(map(is_private, found))"),
    (", code, self.status in PASSING)", ", code)"),
    ("passing=isinstance(error, (Timeout, Unreachable, BrokenOff))", "passing=False"),
]

GRANTS: Edits = [
    ('"audience": target.server.issuer,', '"audience": target.server.metadata["token_endpoint"],'),
    ('"subject_token_type": ID_TOKEN,', '"subject_token_type": ID_JAG,'),
    ('given.get("issued_token_type") != ID_JAG or ', ""),
    ("assertion if callable(assertion) else lambda: assertion", "lambda: str(assertion)"),
    ('web_url(idp_token_endpoint, "idp_token_endpoint", bare=False)', "idp_token_endpoint"),
    ("if client_secret is None and options.get(\"signer\") is None:", "if False:"),
]

_ALL = ("test_oauth_challenges test_oauth_discovery test_oauth_registration test_oauth_login test_oauth_grants "
        "test_oauth_tokens test_oauth_lasting test_oauth_bad_servers").split()

OAUTH: Dict[str, Tuple[str, Edits]] = {
    f"authorization/{name}.py": (" ".join(dict.fromkeys((*first.split(), *_ALL))), edits) for name, first, edits in (
        ("challenges", "test_oauth_challenges", CHALLENGES), ("discovery", "test_oauth_discovery", DISCOVERY),
        ("dpop", "test_oauth_grants", DPOP), ("grants", "test_oauth_grants", GRANTS),
        ("login", "test_oauth_login", LOGIN), ("loopback", "test_oauth_login.Listening", LOOPBACK),
        ("oauth_client", "test_oauth_tokens test_oauth_discovery", OAUTH_CLIENT),
        ("registration", "test_oauth_registration", REGISTRATION),
        ("token_store", "test_oauth_tokens.Kept", TOKEN_STORE),
        ("tokens", "test_oauth_tokens test_oauth_bad_servers.Tokens", TOKENS), ("web", "test_oauth_bad_servers", WEB))
}
