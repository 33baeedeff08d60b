"""The edits of the command line's login, as edits.py has them."""

from typing import Dict, List, Tuple

Edits = List[Tuple[str, str]]

TOKENS: Edits = [
    ("    conceal(value)\n", ""),
    (" if re.match(SECRET_FIELD, line)", " if False"),
    ("    if _has_header(options):", "    if False:"),
    ('    if not re.fullmatch(r"[\\x21-\\x7e]+", token):', "    if False:"),
    ("    if not os.path.isabs(folder):  #", "    if not folder:  #"),
    ("    if not os.path.isabs(folder):\n        raise", "    if False:\n        raise"),
    ("options.token_store or os.environ.get(STORE)", "options.token_store"),
    (" or bool(server.authorization())", ""),
    ("_has_header(options) or bool", "bool"),
    ("return options.token_env is not None or", "return"),
    ("anew=new", "anew=False"),
    ("        raise UsageError(str(error)) from None", "        raise"),
    ("conceal(value, *value", "conceal(*value"),
    ("*value.split()[-1:], ", ""),
    (', *re.findall(r"[^\\s;=]+=\\s*([^\\s;]+)", value)', ""),
    ("        conceal(basic, base64", "        conceal(base64"),
    ('.partition(":")[2])', '.partition(":")[0])'),
    ("    if not login and store.token() is None:\n        return None\n", ""),
    ("    if status != 401 or", "    if status not in (401, 403) or"),
    ('return "" if _is_given(options, server) else', "return"),
    ('.strip().lower() == "authorization"', '.strip() == "Authorization"'),
]

SCREEN: Edits = [
    ("        if Bar.standing is not None:", "        if False:"),
    ("write(hidden(data))", "write(data)"),
    ("hidden(text).split", "text.split"),
    ("    if len(text) > len(secret) and", "    if False and"),
    ("    text = hidden(text)\n", ""),
    ("return Output(self._stream.buffer)", "return self._stream.buffer"),
    ("        for part in parts:\n            self.write(part)", "        self._stream.writelines(parts)"),
    ("json.dumps(secret)[1:-1], ", ""),
    (', json.dumps(secret, ensure_ascii=False)[1:-1]', ""),
    ("secret.startswith(found[0][:-1])", "False"),
    ("    if len(secret) < ANYWHERE:", "    if False:"),
    ("        if len(secret) >= LEAST:", "        if True:"),
    ("    _secrets.clear()\n", ""),
]

PERSON: Edits = [
    (' and key.startswith("token ")', ""),
    ("None if self._anew and", "None if False and"),
    ("else _quiet(super().load(key))", "else super().load(key)"),
    ('if not getattr(self._options, "login", False):', "if False:"),
    ("target if wanted is None else target._replace(scopes=tuple(wanted.split()))", "target"),
    ("        self.save(self._key(), None)\n", ""),
    ("                registration.forget(self.store, self._issuer)", "                pass"),
    ("held.good and target.scopes != held.scopes", "held.good"),
    ("held.good and target.scopes != held.scopes", "False"),
    ('if not getattr(self._options, "no_browser", False):', "if True:"),
    ("self.asked if held.allowed is None else held.allowed", "self.asked"),
    ("dict(told) or None", "None"),
    ("said.get(\"client_id\"), secret,", "said.get(\"client_id\"), None,"),
    ('issuer=said.get("issuer"), ', ""),
    ("open_url=self._show, wire=wire,", "open_url=self._show,"),
    ("login_timeout=options.timeout if self._anew else PATIENCE", "login_timeout=PATIENCE"),
]

LOGIN: Edits = [
    ("        if person.granted is None:  #", "        if False:  #"),
    ("    if store.token() is not None:", "    if True:"),
    ("        store.replace({})\n", ""),
]

CLI: Dict[str, Tuple[str, Edits]] = {
    f"cli/{name}.py": ("test_cli_login", edits)
    for name, edits in (("tokens", TOKENS), ("person", PERSON), ("login", LOGIN))}
CLI["cli/screen.py"] = ("test_screen test_cli_login.Repeated test_cli_client.Output", SCREEN)
