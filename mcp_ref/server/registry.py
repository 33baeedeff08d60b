"""What is registered on a server: read without a lock by every request, changed at any time from any thread."""

from __future__ import annotations

import inspect
import threading
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Generic,
    ItemsView,
    Iterator,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    ValuesView,
)

from ..authorization.scopes import scope_names
from ..base.errors import InvalidParams
from ..base.json_schema import compile_schema
from ..base.jsonrpc import shown
from ..base.meta import checked_meta
from .signature import signature

if TYPE_CHECKING:
    from .context import Context




class Registered:
    """What tools, prompts, resources and resource templates share: a handler, and its definition as listed.

    function: the handler, given the Context first if it takes `ctx`; it may be async, and may ask. name: that of the
    function by default. description: its docstring by default. title, icons, meta: as listed. scopes: what a caller
    must be granted. schema: of the arguments; made from the function's annotations by default. key: what a registry
    has it under, its name unless it is found by a URI.

    Raises SchemaError or ValueError for a definition that breaks a rule.
    """

    def __init__(self, function: Callable[..., Any], *, name: Optional[str] = None, title: Optional[str] = None,
                 description: Optional[str] = None, icons: Optional[Sequence[Dict[str, Any]]] = None,
                 meta: Optional[Dict[str, Any]] = None, scopes: Sequence[str] = (),
                 schema: Optional[Dict[str, Any]] = None) -> None:
        self.function = function
        self.name = str(name or getattr(function, "__name__", ""))
        self.key = self.name
        if not self.name:
            raise ValueError("a handler without a name of its own is given one, as name=…")
        self.scopes = scope_names(scopes)
        self.signature = signature(function, schema)
        self.validator = compile_schema(self.signature.schema)
        text = inspect.cleandoc(function.__doc__ or "" if description is None else description)
        self.definition: Dict[str, Any] = {}
        self.define(name=self.name, title=title, description=text or None, icons=icons, _meta=checked_meta(meta))

    def define(self, **members: Any) -> None:
        """Add those members to the definition that are not None."""
        self.definition.update((key, value) for key, value in members.items() if value is not None)

    def faults(self, arguments: Dict[str, Any]) -> str:
        """Where and how `arguments` break the schema, "" where they do not."""
        return "; ".join(violation.text("arguments") for violation in self.validator.errors(arguments))

    def handler(self, arguments: Dict[str, Any]) -> "Callable[[Context], Any]":
        """The handler with these valid arguments, as running.attempt takes it."""
        return lambda context: self.signature.call(self.function, context, arguments)


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

    def add(self, item: Item) -> None:
        """Register `item`. Raises ValueError where its key is in use."""
        with self._lock:
            if item.key in self._items:
                raise ValueError(f"there is a {self._what} {item.key} already")
            self._items = {**self._items, item.key: item}
            self.used = True
        self._changed()

    def remove(self, key: str) -> None:
        """Take an item away. Raises KeyError where there is none."""
        with self._lock:
            left = dict(self._items)
            del left[key]
            self._items = left
        self._changed()

    def named(self, name: Any) -> Item:
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

    def __getitem__(self, key: str) -> Item:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
