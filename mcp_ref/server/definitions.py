"""What is registered on a server: read without a lock by every request, changed at any time from any thread."""

from __future__ import annotations

import inspect
import threading
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    ItemsView,
    Iterator,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    ValuesView,
)

from ..authorization.scopes import scope_names
from ..base.errors import InvalidParams, SchemaError
from ..lib.json_schema import Schema, compile_schema
from ..lib.strict_json import check_json
from ..lib.text import shown
from ..lib.typed.scalars import Unfit, within
from .content import check_icons, check_meta, check_text
from .returned import promised
from .signature import doc_of, handler, invoke, name_of, signature

Completer = Callable[[Any, str, Dict[str, str]], Any]
"""What suggests values: given the Context, the text typed so far, and the other arguments so far."""


class Registered:
    """What tools, prompts, resources and resource templates share: a handler, and its definition as listed.

    function: the handler, as `signature` has it; it may be async, and may ask. name: that of the function by default.
    description: its docstring by default. title, icons, meta: as listed. scopes: what a caller must be granted. schema:
    of the arguments; made from the function's annotations by default. key: what a registry has it under, its name
    unless it is found by a URI.

    Raises SchemaError or ValueError for a definition that breaks a rule.
    """

    own: Tuple[type, ...] = ()
    """The classes of what may be returned that speak for themselves; all else is data."""
    lists = False
    """Whether a list of texts does."""
    arguments: Sequence[str] = ()
    """The names of those that can be completed."""
    completers: Mapping[str, Completer] = {}
    """What suggests their values."""

    def __init__(self, function: Callable[..., Any], schema: Optional[Dict[str, Any]] = None, /, *,
                 name: Optional[str] = None, title: Optional[str] = None, description: Optional[str] = None,
                 icons: Optional[Sequence[Dict[str, Any]]] = None, meta: Optional[Dict[str, Any]] = None,
                 scopes: Sequence[str] = ()) -> None:
        self.function = handler(function)
        self.name = name_of(self.function) if name is None else name
        self.key = self.name
        if self.name == "":
            raise ValueError("a handler without a name of its own is given one, as name=…")
        self.scopes = scope_names(scopes)
        self.definition: Dict[str, Any] = {}
        text = doc_of(self.function) if description is None else description
        self.define({"name": check_text, "title": check_text, "description": check_text, "icons": check_icons,
                     "_meta": check_meta}, name=self.name, title=title, icons=icons, _meta=meta or None,
                    description=inspect.cleandoc(text) or None if isinstance(text, str) else text)
        self.signature = signature(self.function, schema)
        self.validator = self.compiled("inputSchema", self.signature.schema)
        self.returned = promised(self.signature.returns, self.signature.at, self.own, self.lists)

    def require(self, member: str, value: Any, rule: Callable[[Any], Any]) -> None:
        """Raise the ValueError of `rule` for this member of the definition, naming both."""
        try:
            rule(value)
        except ValueError as error:
            raise ValueError(f"{member} of {shown(self.name)}: {error}") from None

    def compiled(self, member: str, schema: Any) -> Schema:
        """The compiled schema of this member of the definition. Raises ValueError or SchemaError, naming both."""
        self.require(member, schema, check_json)
        try:
            return compile_schema(schema)
        except SchemaError as error:
            raise SchemaError(f"{member} of {shown(self.name)}: {error}") from None

    def define(self, rules: Mapping[str, Callable[[Any], Any]], **members: Any) -> None:
        """Add those members to the definition that are not None, each checked, so that it can be listed."""
        for member, value in members.items():
            if value is not None:
                self.require(member, value, rules.get(member, check_json))
                self.require(member, value, check_json)
                self.definition[member] = value

    def check(self, arguments: Any) -> Callable[[Any], Any]:
        """The handler with these arguments, each turned into its annotated type, for invoke.run.

        Raises BadArguments, which says where and how they break the schema, or are no value of that type, such as a
        date of 31 February.
        """
        violations = self.validator.errors(arguments)
        if violations:
            raise BadArguments("; ".join(violation.text("arguments") for violation in violations))
        called, function = self.signature, self.function
        values = {"arguments": arguments} if called.whole else dict(arguments)
        try:
            for name, convert in called.converts.items():
                if name in values:
                    values[name] = within(name, convert, values[name])
        except Unfit as error:
            raise BadArguments(error.text("arguments")) from None

        def handler(context: Any) -> Any:
            if called.context:
                values[called.context] = context
            return invoke(function, values, called.positional) if called.positional else function(**values)
        return handler


class BadArguments(ValueError):
    """Arguments that a handler does not take, in words for whoever sent them."""


Item = TypeVar("Item", bound=Registered)


class Registry(Mapping[str, Item], Generic[Item]):
    """Items by key, in the order of their registration.

    what: how a message calls an item. changed: called after each change. A change replaces the whole mapping, so that
    a request that is reading the old one goes on reading it. used: whether there ever was an item; a capability once
    advertised stays, with a list that may be empty.
    """

    def __init__(self, what: str, changed: Callable[[], None]) -> None:
        self._what, self._changed = what, changed
        self._items: Dict[str, Item] = {}
        self.used = False
        self._lock = threading.Lock()

    def add(self, item: Item) -> Item:
        """Register `item`, and return it. Raises ValueError where its key is in use."""
        with self._lock:
            if item.key in self._items:
                raise ValueError(f"there is a {self._what} {item.key} already")
            self._items = {**self._items, item.key: item}
            self.used = True
        self._changed()
        return item

    def remove(self, key: str) -> None:
        """Take an item away. Raises KeyError where there is none."""
        with self._lock:
            left = dict(self._items)
            del left[key]
            self._items = left
        self._changed()

    def find(self, name: Any) -> Item:
        """The item of a name that a client sent. Raises InvalidParams."""
        if not isinstance(name, str) or not name:
            raise InvalidParams("Invalid params: params.name must be a non-empty string")
        item = self._items.get(name)
        if item is None:
            raise InvalidParams(f"Invalid params: unknown {self._what} {shown(name)}")
        return item

    def items(self) -> ItemsView[str, Item]:
        """Keys and items as they are now."""
        return self._items.items()

    def values(self) -> ValuesView[Item]:
        """Items as they are now, in order."""
        return self._items.values()

    def get(self, key: Any, default: Any = None) -> Any:
        """The item of a key, as a mapping has it, which would catch a KeyError on the way."""
        return self._items.get(key, default)

    def __getitem__(self, key: str) -> Item:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
