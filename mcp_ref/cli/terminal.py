"""client/elicitation, User Interaction Model: a form asked field by field, or consent to a URL, in a terminal.

Implements ELIC-03 to ELIC-07, ELIC-16, ELIC-21, ELIC-35 to ELIC-38, ELIC-43 to ELIC-50.

A server's texts are foreign: what is not printable in them is shown as an escape, and each of their lines has a bar in
front, so that none can pass for a line of this program. A URL is shown, never fetched, opened or made clickable.
"""

from __future__ import annotations

import contextlib
import re
import sys
from typing import Any, Dict, List, Mapping, Optional, TextIO, Tuple

from ..client.elicitation import ElicitResult, accept, cancel, decline, defaults, is_url
from ..lib.json_schema import compile_schema
from ..lib.strict_json import NotJson, decode
from ..lib.text import printable
from ..lib.uri import DEFAULT_PORTS, is_loopback, parsed
from .screen import columns, is_terminal, paint, wrap

HELP = ("Answer each, or type :decline to refuse or :cancel to stop. An empty line takes what stands in [ ]; :clear "
        "leaves a field out.")
KINDS = {"string": "text", "number": "a number", "integer": "a whole number", "boolean": "yes or no"}
WORDS = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
LIMITS = {"minLength": "length {} or more", "maxLength": "length {} or less", "minimum": "{} or more",
          "maximum": "{} or less", "minItems": "at least {}", "maxItems": "at most {}", "format": "as {}"}

BAR = "  | "

Choices = List[Tuple[Any, str]]


class _Stop(Exception):
    """The user refused or stopped, with the ElicitResult that this is."""


class Interrupted(ElicitResult):
    """The cancel that an interrupt (Ctrl-C) is."""


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
        made: ElicitResult = stop.args[0]
        return made
    except KeyboardInterrupt:
        dialogue.say("")
        return Interrupted(cancel())


class _Dialogue:
    def __init__(self, server: str, source: TextIO, output: TextIO) -> None:
        self._server, self._input, self._output = printable(server), source, output
        self._width = columns(output) if is_terminal(output) else sys.maxsize
        _forget_typed(source)

    def say(self, text: str, end: str = "\n", indent: str = "") -> None:
        """Print a text of this program's own, wrapped; further lines begin with `indent`."""
        lines = wrap(text, self._width - len(indent))
        print(("\n" + indent).join(lines), end=end, file=self._output, flush=True)

    def quote(self, text: Any) -> None:
        """Print a text of the server's, marked as such line by line."""
        for line in str(text).splitlines():
            for part in wrap(printable(line), self._width - len(BAR)):
                print(BAR + part, file=self._output, flush=True)

    def whole(self, text: str) -> None:
        """Print a line that is to be taken as one, such as a URL, however long it is."""
        print(printable(text), file=self._output, flush=True)

    def expect(self, *lines: str) -> None:
        """Say what is read, where nobody sits before it."""
        if not is_terminal(self._input):
            self.say(f"The lines that the input is to hold: {', '.join(lines)}; its end cancels.")

    def read(self, prompt: str) -> str:
        """One line from the user. Raises _Stop for :decline, :cancel, the end of the input and what is no text."""
        self.say(prompt, end="")
        try:
            line = self._input.readline()
        except UnicodeDecodeError:
            line = ""
        if not line or not is_terminal(self._input):
            self.say("")
        command = line.strip().lower()
        if not line or command == ":cancel":
            raise _Stop(cancel())
        if command == ":decline":
            raise _Stop(decline())
        return line.rstrip("\r\n")

    def choose(self, question: str, *options: str) -> str:
        """The option that the user names, whole or by its first letter."""
        listed = ", ".join(f"[{option[0]}]{option[1:]}" for option in options)
        while True:
            said = self.read(f"{question} {listed}: ").strip().lower()
            for option in options:
                if said in (option, option[0]):
                    return option

    # A form

    def form(self, params: Mapping[str, Any]) -> ElicitResult:
        """Ask for each field, then show all and ask whether to send it."""
        schema = params["requestedSchema"]
        whole = compile_schema(schema, formats=True)
        self.say(f"{self._server} asks for information:")
        self.quote(params["message"])
        self.say(HELP)
        fields = schema.get("properties", {})
        self.expect(*map(printable, fields), "then send, edit, decline or cancel")
        content = defaults(schema)
        said = "edit"
        while said == "edit":
            for name, field in fields.items():
                self._ask(name, field, name in schema.get("required", ()), content)
            self.say(f"This would go to {self._server}:")
            for name, field in fields.items():
                value = f"= {_shown(content[name], _choices(field))}" if name in content else "is left out"
                self.say(f"  {printable(name)} {value}", indent="    ")
            violations = whole.errors(content)
            for violation in violations:
                self.say("Not valid: " + printable(violation.text()))
            if not violations:
                said = self.choose("Send it?", "send", "edit", "decline", "cancel")
        return {"send": accept(content), "decline": decline(), "cancel": cancel()}[said]

    def _ask(self, name: str, field: Mapping[str, Any], required: bool, content: Dict[str, Any]) -> None:
        """Ask for one field until the answer is valid, and put it into `content`, or take it out."""
        choices = _choices(field)
        self.say("")
        self.quote(field.get("title", ""))
        self.quote(field.get("description", ""))
        for number, (value, title) in enumerate(choices, 1):
            self.say(f"    {number}. {_titled(value, title)}", indent="       ")
        expected = _expected(field, choices) + ("" if required else ", optional")
        while True:
            kept = f" [{_shown(content[name], choices)}]" if name in content else ""
            text = self.read(f"{printable(name)} ({expected}){kept}: ")
            if text.strip().lower() == ":clear":
                content.pop(name, None)
                text = ""
            if not text.strip() and (name in content or not required):
                return
            try:
                content[name] = _value(text, field, choices)
                return
            except ValueError as error:
                self.say(f"That {printable(str(error))}.")

    # A URL

    def link(self, params: Mapping[str, Any]) -> ElicitResult:
        """Show the URL, its host and what is suspicious about it, and ask for consent."""
        host, warnings = suspicions(params["url"])
        self.say(f"{self._server} asks you to open a web page in your browser:")
        self.quote(params["message"])
        self.whole(f"  URL:  {params['url']}")
        self.whole(f"  Host: >>> {host} <<<")
        for warning in warnings:
            self.say("  " + paint("Warning:", "yellow", self._output) + f" {warning}", indent="    ")
        if not host:
            self.say("Declined: this is not the URL of a web page.")
            return decline()
        self.expect("yes, no or cancel", "then an empty one once the page is done with")
        said = self.choose("Do you agree to open it yourself?", "yes", "no", "cancel")
        if said != "yes":
            return decline() if said == "no" else cancel()
        self.read("Open the URL now, and press Enter when you are done there (or :cancel): ")
        return accept()


def suspicions(url: str) -> Tuple[str, List[str]]:
    """The host of a URL, "" where it is not that of a web page, and warnings for the user about it."""
    try:
        uri = parsed(url)
    except ValueError:
        return "", ["the URL is malformed"]
    host = uri.host
    if uri.scheme not in DEFAULT_PORTS or not host:
        return "", ["the URL is not of the kind http or https"]
    doubts = (
        (uri.scheme != "https" and not is_loopback(host), "the connection would not be encrypted (no https)"),
        (re.search(r"(^|\.)xn--", host), "the host is in Punycode; it may look like another one in your browser"),
        (not host.isascii(), "the host holds letters outside ASCII, which may look like others"),
        (uri.user is not None, "what stands before the @ is not the host"),
        (not url.isprintable(), "the URL holds characters that do not belong in one"))
    return host, [words for doubtful, words in doubts if doubtful]


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
    options = inner.get("oneOf", inner.get("anyOf", ()))
    return [(option["const"], str(option.get("title", option["const"]))) for option in options
            if isinstance(option, Mapping) and "const" in option]


def _expected(field: Mapping[str, Any], choices: Choices) -> str:
    kind = KINDS.get(str(field.get("type")), "JSON")
    if choices:
        kind = "numbers or values, separated by commas" if field.get("type") == "array" else "a number or value"
    limits = [words.format(printable(str(field[limit]))) for limit, words in LIMITS.items() if limit in field]
    return ", ".join([kind, *limits])


def _value(text: str, field: Mapping[str, Any], choices: Choices) -> Any:
    """The value that a line stands for. Raises ValueError that says what it must be."""
    said, kind = text.strip(), field.get("type")
    value: Any = said
    if kind == "array" and choices:
        value = [_chosen(part.strip(), choices) for part in said.split(",") if part.strip()]
    elif choices:
        value = _chosen(said, choices)
    elif kind == "boolean":
        value = WORDS.get(said.lower(), said)
    elif kind == "string":
        value = text if said else None
    else:
        with contextlib.suppress(NotJson):
            value = decode(said.encode("utf-8", "replace"))
    violations = compile_schema(field, formats=True).errors(value)
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError("must be text in the encoding of this terminal")
    if violations and violations[0].keyword == "type":
        raise ValueError("must be " + KINDS.get(str(kind), "JSON of another type") if said else "must not be empty")
    if violations and choices and violations[0].keyword in ("enum", "oneOf", "anyOf", "const"):
        raise ValueError(f"must be a number from 1 to {len(choices)}, or one of the values")
    if violations:
        raise ValueError(violations[0].message)
    return value


def _chosen(text: str, choices: Choices) -> Any:
    """The choice of that value, title or number, in this order; the text itself where there is none."""
    for value, title in choices:
        if text in (str(value), title):
            return value
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= len(choices):
        return choices[int(text[:9]) - 1][0]
    return text


def _titled(value: Any, title: str) -> str:
    """A choice: what it is called, and its value where that is something else."""
    return printable(title) + ("" if title == str(value) else f" ({printable(str(value))})")


def _shown(value: Any, choices: Choices) -> str:
    """A value for review: a choice by its title, a truth value as yes or no, several separated by commas."""
    if isinstance(value, list):
        return ", ".join(_shown(each, choices) for each in value)
    for choice, title in choices:
        if choice == value:
            return _titled(value, title)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value)) if value != "" else '""'


def _forget_typed(source: TextIO) -> None:
    """Drop what was typed at a terminal before there was a question that it could answer."""
    try:
        import termios
    except ImportError:  # another kind of terminal
        return
    with contextlib.suppress(termios.error, OSError, ValueError):
        if source.isatty():
            termios.tcflush(source.fileno(), termios.TCIFLUSH)
