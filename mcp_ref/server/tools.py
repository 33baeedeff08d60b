"""server/tools: functions that a model may call.

Implements TOOL-06 to TOOL-10, TOOL-12, TOOL-13, TOOL-15 to TOOL-19, TOOL-22 to TOOL-28, TOOL-33 to TOOL-35, TOOL-38.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from ..authorization.scopes import require_scopes
from ..base.errors import InvalidParams, ProtocolError, SchemaError, ToolError
from ..base.json_schema import compile_schema
from ..base.jsonrpc import encode, shown
from ..base.log import log
from ..base.request import Request
from ..patterns.cancellation import Cancelled
from ..transports.mirrors import annotated_parameters
from . import content as blocks
from .pagination import listed
from .registry import Registered
from .running import attempt
from .signature import typed

if TYPE_CHECKING:
    from .server import Server

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT"})()
"""Stands for no structuredContent, since null is a value that it can have."""


@dataclasses.dataclass
class ToolResult:
    """A whole tool result, for handlers that want more than a text or a list of blocks.

    content: blocks as the functions of mcp_ref.content make them, or a text. structured: any JSON value for
    structuredContent; leave it out for none. is_error: the tool failed in a way the model should read.
    """

    content: Any = ()
    structured: Any = ABSENT
    is_error: bool = False
    meta: Optional[Dict[str, Any]] = None


class Tool(Registered):
    """A registered tool, and all that was compiled from its definition once.

    input_schema: what the annotations say by default. output_schema: that of a returned dataclass or TypedDict by
    default. annotations: as listed. strict: whether arguments that break the schema are a protocol error, not one for
    the model. accept_unasked: whether answers count that no state shows asked. The other options are those of
    Registered.

    Raises SchemaError or ValueError for a definition that breaks a rule of the page.
    """

    def __init__(self, function: Callable[..., Any], *, input_schema: Optional[Dict[str, Any]] = None,
                 output_schema: Optional[Dict[str, Any]] = None, annotations: Optional[Dict[str, Any]] = None,
                 strict: bool = False, accept_unasked: bool = False, **options: Any) -> None:
        super().__init__(function, schema=input_schema, **options)
        if not _NAME.fullmatch(self.name):
            log.warning("tool %s: names should have 1 to 128 of A-Z a-z 0-9 _ - . (TOOL-15, TOOL-17)", shown(self.name))
        self.strict = strict
        self.accept_unasked = accept_unasked
        schema = self.signature.schema
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise SchemaError(f"the inputSchema of {self.name} must be an object with type: object")
        self.mirrored = tuple(annotated_parameters(schema))
        output_schema = _output_schema(output_schema, self.signature.returns, self.name)
        self.output = None if output_schema is None else compile_schema(output_schema)
        self.define(inputSchema=schema, outputSchema=output_schema, annotations=annotations)

    def result(self, value: Any) -> Dict[str, Any]:
        """The CallToolResult for what the handler returned. Raises BadOutput where it breaks outputSchema."""
        if not isinstance(value, ToolResult):
            value = self._as_result(value)
        result: Dict[str, Any] = {"resultType": "complete", "content": _blocks(value.content)}
        if value.structured is not ABSENT:
            result["structuredContent"] = value.structured
            if not result["content"]:
                result["content"] = [blocks.text(encode(value.structured).decode("ascii"))]
        if self.output is not None and not value.is_error:
            self._check_output(result)
        if value.is_error:
            result["isError"] = True
        if value.meta:
            result["_meta"] = value.meta
        return result

    def _as_result(self, value: Any) -> ToolResult:
        if self.output is not None:
            return ToolResult(structured=_plain(value))
        if value is None:
            return ToolResult()
        if isinstance(value, str) or _is_block(value):
            return ToolResult([value])
        if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) or _is_block(v) for v in value):
            return ToolResult(value)
        return ToolResult([blocks.text(encode(_plain(value)).decode("ascii"))])

    def _check_output(self, result: Dict[str, Any]) -> None:
        assert self.output is not None
        if "structuredContent" not in result:
            raise BadOutput(f"tool {self.name} has an outputSchema and returned no structured content")
        violations = self.output.errors(result["structuredContent"])
        if violations:
            raise BadOutput(f"tool {self.name} broke its outputSchema: {violations[0].text('structuredContent')}")


class BadOutput(ValueError):
    """A tool's own fault: what it returned is not what its outputSchema promises."""


def _output_schema(given: Optional[Dict[str, Any]], returns: Any, name: str) -> Optional[Dict[str, Any]]:
    if given is not None or returns is None:
        return given
    if dataclasses.is_dataclass(returns) and returns is not ToolResult or hasattr(returns, "__total__"):
        return typed(returns, f"{name} -> ").schema
    return None


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _blocks(content: Any) -> List[Dict[str, Any]]:
    if isinstance(content, str) or _is_block(content):
        content = [content]
    return [blocks.text(part) if isinstance(part, str) else part for part in content]


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def failed(text: str) -> Dict[str, Any]:
    """A result with `isError: true` whose text tells the model what went wrong."""
    return {"resultType": "complete", "content": [blocks.text(text)], "isError": True}


def advertise(server: "Server", methods: Dict[str, Any], capabilities: Dict[str, Any]) -> None:
    """Add the capability and the methods of this page, if there are, or were, tools (TOOL-06)."""
    if server.tools.used:
        capabilities["tools"] = {"listChanged": True}
        methods["tools/list"] = list_tools
        methods["tools/call"] = call


def list_tools(server: "Server", request: Request) -> Dict[str, Any]:
    """tools/list: those that the caller may use, in the order of registration (TOOL-07 to TOOL-10)."""
    return listed(server, request, "tools", server.tools)


def call(server: "Server", request: Request) -> Dict[str, Any]:
    """tools/call: the tool is there, the caller may use it, its arguments are valid, it runs.

    Raises ProtocolError, and HTTPError 403 where the caller's token lacks a scope.
    """
    tool = server.tools.named(request.params.get("name"))
    require_scopes(server, request, tool.scopes)
    arguments = request.params.get("arguments", {})
    if not isinstance(arguments, dict):
        raise InvalidParams("Invalid params: arguments must be an object")
    faults = tool.faults(arguments)
    if faults and tool.strict:
        raise InvalidParams("Invalid params: " + faults)
    if faults:
        return failed("Invalid arguments: " + faults)
    try:
        return attempt(server, request, tool.name, arguments, tool.handler(arguments), tool.result, tool.accept_unasked)
    except ToolError as error:
        return failed(str(error))
    except (ProtocolError, Cancelled, KeyboardInterrupt):
        raise
    except BaseException:  # a sys.exit in a tool is a failure of the tool
        log.exception("tool %s failed (request %s)", tool.name, shown(request.id))
        return failed(f"The tool {tool.name} failed; the server's log says why.")
