"""client/elicitation, User Interaction Model: a form asked field by field, or consent to a URL, in a terminal.

Implements ELIC-03 to ELIC-07, ELIC-16, ELIC-21, ELIC-35 to ELIC-38, ELIC-43 to ELIC-50, ELIC-54.

A server's texts are foreign: what is not printable in them is shown as an escape, and each of their lines has a bar in
front, so that none can pass for a line of this program. A URL is shown, never fetched, opened or made clickable.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, List, Mapping, Optional, TextIO, Tuple
from urllib.parse import urlsplit

from ..base.errors import ParseError
from ..base.json_schema import compile_schema
from ..base.jsonrpc import decode
from ..transports.url import is_loopback
from .elicitation import ElicitResult, accept, cancel, decline, defaults, is_url

HELP = "Answer each, or type :decline to refuse or :cancel to stop. Empty takes the default; :clear leaves out."
KINDS = {"string": "text", "number": "a number", "integer": "a whole number", "boolean": "yes or no"}
YES, NO = ("y", "yes", "true"), ("n", "no", "false")
LIMITS = (("minLength", "at least {} characters"), ("maxLength", "at most {} characters"), ("minimum", "{} or more"),
          ("maximum", "{} or less"), ("minItems", "at least {}"), ("maxItems", "at most {}"), ("format", "as {}"))

Choices = List[Tuple[Any, str]]


class _Stop(Exception):
    """The user refused or stopped; `result` says which."""

    def __init__(self, result: ElicitResult) -> None:
        super().__init__()
        self.result = result


def printable(text: str, keep: str = "") -> str:
    """`text` with every character that a terminal could act on, but for those in `keep`, written as an escape."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


def terminal(params: Mapping[str, Any], server: str = "", input: Optional[TextIO] = None,
             output: Optional[TextIO] = None) -> ElicitResult:
    """An on_elicit callback: ask the user at a terminal.

    params: of elicitation/create. server: which server asks, in words for the user. input, output: text streams, the
    standard input and standard error by default. The end of the input and an interrupt (Ctrl-C) mean cancel.
    Raises SchemaError for a form whose schema cannot be used.
    """
    dialogue = _Dialogue(server or "the server", input or sys.stdin, output or sys.stderr)
    try:
        return dialogue.link(params) if is_url(params) else dialogue.form(params)
    except _Stop as stop:
        return stop.result
    except KeyboardInterrupt:
        dialogue.say("")
        return cancel()


class _Dialogue:
    def __init__(self, server: str, source: TextIO, output: TextIO) -> None:
        self._server, self._input, self._output = printable(server), source, output

    def say(self, text: str) -> None:
        """Print one line of this program's own."""
        print(text, file=self._output, flush=True)

    def quote(self, text: Any) -> None:
        """Print a text of the server's, marked as such line by line."""
        for line in str(text).splitlines():
            self.say("  | " + printable(line))

    def read(self, prompt: str) -> str:
        """One line from the user. Raises _Stop for :decline, :cancel and the end of the input."""
        print(prompt, end="", file=self._output, flush=True)
        try:
            line = self._input.readline()
        except UnicodeDecodeError:
            self.say("That was no text in the encoding of this terminal.")
            raise _Stop(cancel()) from None
        if not line:
            self.say("")
        command = line.strip().lower()
        if not line or command == ":cancel":
            raise _Stop(cancel())
        if command == ":decline":
            raise _Stop(decline())
        return line.rstrip("\r\n")

    # A form

    def form(self, params: Mapping[str, Any]) -> ElicitResult:
        """Ask for each field, then show all and ask whether to send it."""
        schema = params["requestedSchema"]
        whole = compile_schema(schema, formats=True)
        self.say(f"{self._server} asks for information:")
        self.quote(params["message"])
        self.say(HELP)
        content = defaults(schema)
        while True:
            for name, field in schema.get("properties", {}).items():
                self._ask(name, field, name in schema.get("required", ()), content)
            self.say(f"This would go to {self._server}:")
            for name, value in content.items():
                self.say(f"  {printable(name)} = {_shown(value)}")
            violations = whole.errors(content)
            for violation in violations:
                self.say("Not valid: " + printable(violation.text()))
            if not violations and self._agreed("Send it? [s]end, [e]dit, [d]ecline, [c]ancel: "):
                return accept(content)

    def _agreed(self, prompt: str) -> bool:
        """True for send, False for edit; the others are _Stop."""
        while True:
            said = self.read(prompt).strip().lower()
            if said in ("s", "send") or said in YES:
                return True
            if said in ("e", "edit"):
                return False
            if said in ("d", "decline") or said in NO:
                raise _Stop(decline())
            if said in ("c", "cancel"):
                raise _Stop(cancel())

    def _ask(self, name: str, field: Mapping[str, Any], required: bool, content: Dict[str, Any]) -> None:
        """Ask for one field until the answer is valid, and put it into `content`, or take it out."""
        check = compile_schema(field, formats=True)
        choices = _choices(field)
        self.say("")
        self.quote(field.get("title", ""))
        self.quote(field.get("description", ""))
        for number, (value, title) in enumerate(choices, 1):
            self.say(f"    {number}. {printable(title)}" + ("" if title == value else f" ({printable(str(value))})"))
        expected = _expected(field, choices) + ("" if required else ", optional")
        while True:
            kept = f" [{_shown(content[name])}]" if name in content else ""
            text = self.read(f"{printable(name)} ({expected}){kept}: ")
            if not text.strip() and (name in content or not required):
                return
            if text.strip().lower() == ":clear":
                content.pop(name, None)
                if not required:
                    return
                continue
            try:
                value = _value(text, field, choices)
            except ValueError as error:
                self.say(f"That is not {error}.")
                continue
            violations = check.errors(value)
            if not violations and (text.strip() or field.get("type") != "string" or not required):
                content[name] = value
                return
            self.say("An answer is needed." if not violations else "That " + printable(violations[0].message) + ".")

    # A URL

    def link(self, params: Mapping[str, Any]) -> ElicitResult:
        """Show the URL, its host and what is suspicious about it, and ask for consent."""
        url = params["url"]
        self.say(f"{self._server} asks you to open a web page in your browser:")
        self.quote(params["message"])
        host, warnings = suspicions(url)
        self.say(f"  URL:  {printable(url)}")
        self.say(f"  Host: >>> {printable(host)} <<<")
        for warning in warnings:
            self.say(f"  Warning: {warning}")
        if not host:
            self.say("Declined: this is not the URL of a web page.")
            return decline()
        while True:
            said = self.read("Do you agree to open it yourself? [y]es, [n]o, :cancel: ").strip().lower()
            if said in NO:
                return decline()
            if said in YES:
                break
        self.read("Open the URL now, and press Enter when you are done there (or :cancel): ")
        return accept()


def suspicions(url: str) -> Tuple[str, List[str]]:
    """The host of a URL, "" where it is not that of a web page, and warnings for the user about it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", ["the URL is malformed"]
    if parts.scheme.lower() not in ("http", "https") or not host:
        return "", ["the URL is not of the kind http or https"]
    warnings = []
    if parts.scheme.lower() != "https" and not is_loopback(host):
        warnings.append("the connection would not be encrypted (no https)")
    if re.search(r"(^|\.)xn--", host):
        warnings.append("the host is in Punycode; it may look like another one in your browser")
    if not host.isascii():
        warnings.append("the host holds letters outside ASCII, which may look like others")
    if "@" in parts.netloc:
        warnings.append("what stands before the @ is not the host")
    if not all(c.isprintable() for c in url) or "\\" in url or " " in url:
        warnings.append("the URL holds characters that do not belong in one")
    return host, warnings


# Fields

def _choices(field: Mapping[str, Any]) -> Choices:
    """The values of an enum and what each is called: enum with enumNames, or oneOf and anyOf of const and title."""
    inner = field.get("items", {}) if field.get("type") == "array" else field
    if not isinstance(inner, Mapping):
        return []
    values, names = inner.get("enum"), inner.get("enumNames")
    if isinstance(values, list):
        named = names if isinstance(names, list) and len(names) == len(values) else values
        return [(value, str(name)) for value, name in zip(values, named)]
    options = inner.get("oneOf", inner.get("anyOf", []))
    return [(option["const"], str(option.get("title", option["const"]))) for option in options
            if isinstance(option, Mapping) and "const" in option]


def _expected(field: Mapping[str, Any], choices: Choices) -> str:
    if choices:
        parts = ["numbers or values, separated by commas" if field.get("type") == "array" else "a number or value"]
    else:
        parts = [KINDS.get(str(field.get("type")), "JSON")]
    parts += [words.format(printable(str(field[limit]))) for limit, words in LIMITS if limit in field]
    return ", ".join(parts)


def _value(text: str, field: Mapping[str, Any], choices: Choices) -> Any:
    """The value that a line stands for. Raises ValueError with what was expected."""
    kind = field.get("type")
    if kind == "array" and choices:
        return [_chosen(part.strip(), choices) for part in text.split(",") if part.strip()]
    if choices:
        return _chosen(text.strip(), choices)
    if kind == "boolean":
        said = text.strip().lower()
        if said not in YES + NO:
            raise ValueError(KINDS["boolean"])
        return said in YES
    if kind == "string":
        if not all(c < "\ud800" or c > "\udfff" for c in text):
            raise ValueError("text in the encoding of this terminal")
        return text
    try:
        return decode(text.strip().encode("utf-8"))
    except (ParseError, UnicodeEncodeError):
        raise ValueError(KINDS.get(str(kind), "JSON")) from None


def _chosen(text: str, choices: Choices) -> Any:
    """The choice of that value, title or number, in this order."""
    for value, title in choices:
        if text in (str(value), title):
            return value
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= len(choices):
        return choices[int(text[:9]) - 1][0]
    raise ValueError("one of the choices")


def _shown(value: Any) -> str:
    """A value for review: text as it is, a truth value as yes or no, several separated by commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_shown(each) for each in value)
    return printable(str(value)) if value != "" else '""'
