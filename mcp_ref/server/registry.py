"""What is registered on a server: read without a lock by every request, changed at any time from any thread."""

from __future__ import annotations

import threading
from typing import Callable, Dict, Generic, ItemsView, Iterator, Mapping, TypeVar, ValuesView

Item = TypeVar("Item")


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

    def add(self, key: str, item: Item) -> None:
        """Register `item`. Raises ValueError where the key is in use."""
        with self._lock:
            if key in self._items:
                raise ValueError(f"there is a {self._what} {key} already")
            self._items = {**self._items, key: item}
            self.used = True
        self._changed()

    def remove(self, key: str) -> None:
        """Take an item away. Raises KeyError where there is none."""
        with self._lock:
            left = dict(self._items)
            del left[key]
            self._items = left
        self._changed()

    def get(self, key: object, default: object = None) -> "Item | None":  # type: ignore[override]
        """The item of that key, or None."""
        return self._items.get(key)  # type: ignore[call-overload,no-any-return]

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
