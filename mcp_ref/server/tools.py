"""server/tools: functions that a model may call.

Implements TOOL-06 to TOOL-10, TOOL-12, TOOL-13, TOOL-15 to TOOL-19, TOOL-22 to TOOL-28, TOOL-33 to TOOL-35, TOOL-38.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ..authorization.resource_server import is_scoped, require_scopes, scope_names, visible
from ..base.errors import InvalidParams, ProtocolError, SchemaError, ToolError
from ..base.json_schema import compile_schema
from ..base.jsonrpc import encode, shown
from ..base.meta import checked
from ..base.request import Request
from ..patterns.cancellation import Cancelled
from ..transports.mirrors import annotated_parameters
from . import content as blocks
from .context import Context
from .running import attempt
from .signature import signature, typed

if TYPE_CHECKING:
    from .server import Server

log = logging.getLogger("mcp_ref")

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


class Tool:
    """A registered tool: its definition as listed, and all that was compiled from it once.

    Raises SchemaError or ValueError for a definition that breaks a rule of the page.
    """

    def __init__(self, function: Callable[..., Any], *, name: Optional[str] = None, title: Optional[str] = None,
                 description: Optional[str] = None, input_schema: Optional[Dict[str, Any]] = None,
                 output_schema: Optional[Dict[str, Any]] = None, annotations: Optional[Dict[str, Any]] = None,
                 icons: Optional[Sequence[Dict[str, Any]]] = None, meta: Optional[Dict[str, Any]] = None,
                 strict: bool = False, accept_unasked: bool = False, scopes: Union[str, Sequence[str]] = ()) -> None:
        self.name = name or function.__name__
        if not self.name:
            raise ValueError("a tool has a name")
        if not _NAME.fullmatch(self.name):
            log.warning("tool %s: names should have 1 to 128 of A-Z a-z 0-9 _ - . (TOOL-15, TOOL-17)", shown(self.name))
        self.function = function
        self.strict = strict
        self.accept_unasked = accept_unasked
        self.scopes = scope_names(scopes)
        self.signature = signature(function, input_schema)
        schema = self.signature.schema
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise SchemaError(f"the inputSchema of {self.name} must be an object with type: object")
        self.validator = compile_schema(schema)
        self.mirrored = tuple(annotated_parameters(schema))
        output_schema = _output_schema(output_schema, self.signature.returns, self.name)
        self.output = None if output_schema is None else compile_schema(output_schema)
        text = description if description is not None else (function.__doc__ or "").strip()
        members = {"name": self.name, "title": title, "description": _dedented(text) or None, "inputSchema": schema,
                   "outputSchema": output_schema, "annotations": annotations, "icons": icons, "_meta": checked(meta)}
        self.definition = {key: value for key, value in members.items() if value is not None}

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


def _dedented(text: str) -> str:
    first, *rest = text.splitlines() or [""]
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first] + [line[margin:] for line in rest])


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
    registered = dict(server.tools.items())
    definitions = {name: tool.definition for name, tool in visible(server, request, registered).items()}
    return server.listed(request, "tools", definitions, private=is_scoped(registered))


def call(server: "Server", request: Request) -> Dict[str, Any]:
    """tools/call: the tool is there, the caller may use it, its arguments are valid, it runs.

    Raises ProtocolError, and HTTPError 403 where the caller's token lacks a scope.
    """
    params = request.params
    tool = named(server.tools, params.get("name"))
    require_scopes(server, request, tool.scopes)
    arguments = params.get("arguments")
    if arguments is None and "arguments" not in params:
        arguments = {}
    if not isinstance(arguments, dict):
        raise InvalidParams("Invalid params: arguments must be an object")
    violations = tool.validator.errors(arguments)
    if violations:
        text = "; ".join(violation.text("arguments") for violation in violations)
        if tool.strict:
            raise InvalidParams("Invalid params: " + text)
        return failed("Invalid arguments: " + text)
    return _run(server, request, tool, arguments)


def _run(server: "Server", request: Request, tool: Tool, arguments: Dict[str, Any]) -> Dict[str, Any]:
    def handler(context: Context) -> Any:
        return tool.signature.call(tool.function, context, arguments)

    try:
        return attempt(server, request, tool.name, arguments, handler, tool.result, tool.accept_unasked)
    except ToolError as error:
        return failed(str(error))
    except ProtocolError:
        raise
    except (Cancelled, KeyboardInterrupt):
        raise
    except BaseException:  # a sys.exit in a tool is a failure of the tool
        log.exception("tool %s failed (request %s)", tool.name, shown(request.id))
        return failed(f"The tool {tool.name} failed; the server's log says why.")


def named(tools: Mapping[str, Tool], name: Any) -> Tool:
    """The tool of that name. Raises InvalidParams."""
    if not isinstance(name, str) or not name:
        raise InvalidParams("Invalid params: params.name must be a non-empty string")
    tool = tools.get(name)
    if tool is None:
        raise InvalidParams(f"Invalid params: unknown tool {shown(name)}")
    return tool
