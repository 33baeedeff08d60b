"""The root of the package's errors, and the one that stands for a schema: what lib raises and base.errors builds on."""

from __future__ import annotations


class McpError(Exception):
    """The root of every error that this package raises on purpose.

    note: a sentence of this side's own about what a peer answered, "" where there is nothing to say; str() ends in it.
    """

    note = ""

    def __str__(self) -> str:
        return self._noted(super().__str__())

    def _noted(self, text: str) -> str:
        return f"{text.rstrip('. ')}. {self.note}" if self.note else text


class SchemaError(McpError, ValueError):
    """A JSON Schema that is invalid, of an unknown dialect, over the bounds, or with a `$ref` that is not there."""
