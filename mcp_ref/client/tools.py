"""server/tools, the client's side: the tools that can be called, and what their definitions ask of a call.

Implements HTTP-33, HTTP-43 to HTTP-45, TOOL-29 to TOOL-31, TOOL-36, TOOL-44, TOOL-45.
"""

from __future__ import annotations

import logging
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from ..base.errors import SchemaError, TransportError
from ..base.json_schema import Schema, compile_schema
from ..base.jsonrpc import shown
from ..transports.mirrors import Parameter, annotated_parameters

log = logging.getLogger("mcp_ref")


class KnownTool:
    """A tool as listed. Raises SchemaError for a definition that a client must not use."""

    def __init__(self, definition: Mapping[str, Any]) -> None:
        schema = definition.get("inputSchema")
        if not isinstance(definition.get("name"), str) or not isinstance(schema, dict):
            raise SchemaError("a tool has a name and an inputSchema")
        self.name: str = definition["name"]
        self.mirrored: Sequence[Parameter] = annotated_parameters(schema)
        self._output_schema = definition.get("outputSchema")
        self._output: Optional[Schema] = None

    def prepare(self) -> None:
        """Compile the outputSchema. Raises SchemaError, ahead of the call rather than after its effects."""
        if self._output is None and self._output_schema is not None:
            try:
                self._output = compile_schema(self._output_schema)
            except SchemaError as error:
                raise SchemaError(f"the outputSchema of tool {shown(self.name)} cannot be used: {error}") from None

    def check(self, result: Mapping[str, Any]) -> None:
        """Raise TransportError unless the structuredContent of a result is what the outputSchema promises."""
        self.prepare()
        if self._output is None or result.get("isError") is True:
            return
        where = f"the result of tool {shown(self.name)}"
        if "structuredContent" not in result:
            raise TransportError(f"{where} has no structuredContent, though the tool has an outputSchema")
        violations = self._output.errors(result["structuredContent"])
        if violations:
            raise TransportError(f"{where} breaks its outputSchema: {violations[0].text('structuredContent')}")


class KnownTools:
    """The tools of the last listing by name, and those that were turned down, by name, with the reason."""

    def __init__(self) -> None:
        self._known: Dict[str, KnownTool] = {}
        self._rejected: Dict[str, str] = {}

    def learn(self, definitions: Iterable[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """Put a whole listing in place of the last; returns the definitions that can be used."""
        known: Dict[str, KnownTool] = {}
        rejected: Dict[str, str] = {}
        usable = []
        for definition in definitions:
            name = definition.get("name")
            try:
                tool = KnownTool(definition)
            except SchemaError as error:
                log.warning("tool %s is left out: %s", shown(name), error)
                rejected[str(name)] = str(error)
                continue
            known[tool.name] = tool
            usable.append(definition)
        self._known, self._rejected = known, rejected
        return usable

    def get(self, name: Any) -> Optional[KnownTool]:
        """The tool of that name, None where it was not listed. Raises TransportError where it was turned down."""
        if not isinstance(name, str):
            return None
        if name in self._known:
            return self._known[name]
        if name in self._rejected:
            raise TransportError(f"tool {shown(name)} cannot be called: {self._rejected[name]}")
        return None
