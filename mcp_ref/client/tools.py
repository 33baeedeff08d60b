"""server/tools, the client's side: what the definition of a listed tool asks of a call and promises of its result.

Implements HTTP-33, HTTP-43 to HTTP-45, TOOL-29 to TOOL-31, TOOL-36, TOOL-44, TOOL-45.
"""

from __future__ import annotations

import itertools
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Union

from ..base.errors import SchemaError, TransportError
from ..base.headers import annotated_parameters
from ..base.log import log
from ..lib.text import shown

if TYPE_CHECKING:
    from ..lib.json_schema import Schema


class KnownTool:
    """A tool as listed. Raises SchemaError for a definition that a client must not use."""

    def __init__(self, definition: Dict[str, Any]) -> None:
        if not isinstance(definition.get("inputSchema"), dict):
            raise SchemaError("a tool has an inputSchema, an object")
        self.definition = definition
        self.mirrored = annotated_parameters(definition["inputSchema"])

    @cached_property
    def output(self) -> "Optional[Schema]":
        """The outputSchema, None where there is none. Raises SchemaError for one that cannot be used."""
        schema, name = self.definition.get("outputSchema"), self.definition["name"]
        if schema is None:
            return None
        from ..lib.json_schema import compile_schema  # loaded when there is one: it is a third of what a client loads

        try:
            return compile_schema(schema)
        except SchemaError as error:
            raise SchemaError(f"the outputSchema of tool {shown(name)} cannot be used: {error}") from None


def check_output(name: str, schema: "Schema", result: Mapping[str, Any]) -> None:
    """Raise TransportError unless the structuredContent of a tool's result is what its outputSchema promises."""
    if result.get("isError") is True:
        return
    if "structuredContent" not in result:
        raise TransportError(f"the result of tool {shown(name)} has no structuredContent, which its outputSchema needs")
    violations = schema.errors(result["structuredContent"])
    if violations:
        where = violations[0].text("structuredContent")
        raise TransportError(f"the result of tool {shown(name)} breaks its outputSchema: {where}")


class KnownTools:
    """The tools that were listed, for the calls of any thread.

    Of several listings at once the one begun last counts, whichever answer comes last.
    """

    def __init__(self) -> None:
        self._tools: Dict[str, Union[KnownTool, str]] = {}
        self._numbers, self._newest, self._lock = itertools.count(1), 0, threading.Lock()

    def begin(self) -> int:
        """The number of a whole listing that begins now."""
        return next(self._numbers)

    def learn(self, definitions: Iterable[Dict[str, Any]], number: Optional[int] = None) -> List[Dict[str, Any]]:
        """Take a listing in; gives the tools that can be used. number: of a whole one; None for a page, which adds."""
        tools = _known(definitions)
        with self._lock:
            if number is None:
                self._tools = {**self._tools, **tools}
            elif number > self._newest:
                self._newest, self._tools = number, tools
        return [tool.definition for tool in tools.values() if isinstance(tool, KnownTool)]

    def find(self, name: Any) -> Optional[KnownTool]:
        """The tool as last listed, None where it was not. Raises TransportError for one that was turned down."""
        tool = self._tools.get(name) if isinstance(name, str) else None
        if isinstance(tool, str):
            raise TransportError(f"tool {shown(name)} cannot be called: {tool}")
        return tool


def _known(definitions: Iterable[Dict[str, Any]]) -> Dict[str, Union[KnownTool, str]]:
    """Name to tool; for a tool that must not be used the reason, which is logged too."""
    tools: Dict[str, Union[KnownTool, str]] = {}
    for definition in definitions:
        name = definition["name"]
        try:
            tools[name] = KnownTool(definition)
        except SchemaError as error:
            log.warning("tool %s is left out: %s", shown(name), error)
            tools.setdefault(name, str(error))
    return tools
