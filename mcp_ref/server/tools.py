"""server/tools: functions that a model may call.

Implements TOOL-07 to TOOL-10, TOOL-15 to TOOL-19, TOOL-28, TOOL-33 to TOOL-35, TOOL-38.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Dict, Optional

from ..authorization.scopes import permit
from ..base.errors import InvalidParams, ProtocolError, SchemaError, ToolError
from ..base.headers import annotated_parameters
from ..base.log import log
from ..base.request import Request
from ..lib.strict_json import readable
from ..lib.text import shown
from ..lib.typed.scalars import Unfit
from ..lib.typed.typed import plain
from ..patterns.notifications import Cancelled
from . import content as blocks
from .definitions import BadArguments, Registered
from .invoke import Asks, run
from .lists import listed
from .state import State

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class Absent:
    """The class of ABSENT."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = Absent()
"""Stands for no structuredContent, since null is a value that it can have."""


@dataclasses.dataclass
class ToolResult(blocks.Sent):
    """A whole tool result, for handlers that want more than a text or a list of blocks.

    content: blocks as the functions of mcp_ref.content make them, or a text. structured: any JSON value for
    structuredContent; leave it out for none. is_error: the tool failed in a way the model should read.
    """

    place = "what a tool returns"

    content: Any = ()
    structured: Any = ABSENT
    is_error: bool = False
    meta: Optional[Dict[str, Any]] = None


class BadOutput(ValueError):
    """A tool's own fault: what it returned is not what it promises, or not what JSON can carry."""


class Tool(Registered):
    """A registered tool, and all that was compiled from its definition once.

    input_schema: what the annotations say by default; one that lets more through than the function takes is refused.
    output_schema: that of the return annotation by default, unless that is or can be a text or content. annotations: as
    listed. strict: whether arguments that break the schema are a protocol error, not one for the model. accept_unasked:
    whether answers count that no state shows asked. The other options are those of Registered.

    Raises SchemaError or ValueError for a definition that breaks a rule of the page.
    """

    own = (str, blocks.Block, ToolResult)

    def __init__(self, function: Callable[..., Any], *, input_schema: Optional[Dict[str, Any]] = None,
                 output_schema: Optional[Dict[str, Any]] = None, annotations: Optional[Dict[str, Any]] = None,
                 strict: bool = False, accept_unasked: bool = False, **options: Any) -> None:
        if input_schema is not None and not (isinstance(input_schema, dict) and input_schema.get("type") == "object"):
            raise SchemaError(f"an inputSchema is an object with type: object, not {shown(input_schema)}")
        if not isinstance(output_schema, (dict, type(None))):
            raise SchemaError(f"an outputSchema is an object, or left to the return annotation, not "
                              f"{shown(output_schema)}")
        super().__init__(function, input_schema, **options)
        if not _NAME.fullmatch(self.name):
            log.warning("tool %s: names should have 1 to 128 of A-Z a-z 0-9 _ - . (TOOL-15, TOOL-17)", shown(self.name))
        self.require("strict", strict, blocks.check_flag)
        self.require("accept_unasked", accept_unasked, blocks.check_flag)
        self.strict, self.accept_unasked = strict, accept_unasked
        schema = self.signature.schema
        self.mirrored = tuple(annotated_parameters(schema))
        self.checked = output_schema is not None  # what is written by the annotation needs no check
        output_schema = self.returned.schema if output_schema is None else output_schema
        self.structured = output_schema is not None
        self.output = self.compiled("outputSchema", output_schema) if self.structured else None
        self.define({"annotations": _check_annotations}, inputSchema=schema, outputSchema=output_schema,
                    annotations=annotations)

    def check(self, arguments: Any) -> Callable[[Any], Any]:
        """As of Registered. Raises InvalidParams for what is no object, and if strict in place of BadArguments."""
        if not isinstance(arguments, dict):
            raise InvalidParams("Invalid params: arguments must be an object")
        try:
            return super().check(arguments)
        except BadArguments as error:
            if self.strict:
                raise InvalidParams(f"Invalid params: {error}") from None
            raise

    def finish(self, value: Any) -> Dict[str, Any]:
        """The CallToolResult for what the handler returned.

        Raises BadOutput for what breaks a promise of the tool, is no content, or cannot be JSON.
        """
        if type(value) is str and not self.structured and value.isascii() and not self.returned.typed:
            return {"resultType": "complete", "content": [blocks.text(value)]}
        if isinstance(value, ToolError):
            log.error("tool %s returned a ToolError, which is raised", self.name)
            return self._told(value)
        try:
            if isinstance(value, ToolResult):
                return self._result(value, True)
            return self._result(self._as_result(value), self.checked)
        except Unfit as error:
            raise BadOutput(f"tool {self.name} returned what it cannot: {error.text('it')}") from None
        except RecursionError:
            raise BadOutput(f"tool {self.name} returned what is nested too deeply, or holds itself") from None
        except ValueError as error:
            raise BadOutput(f"tool {self.name} returned what it cannot: {error}") from None

    def _told(self, error: ToolError) -> Dict[str, Any]:
        """The failed result of a ToolError. Raises ValueError for a text that cannot be sent."""
        text = str(error) or f"The tool {self.name} failed, and does not say why."
        blocks.check_text(text)
        return failed(text)

    def failed(self, request: Request, error: BaseException) -> Dict[str, Any]:
        """The failed result of an error on the way, told to the model, and to the log where it is the tool's fault."""
        if isinstance(error, ToolError):
            try:
                return self._told(error)
            except ValueError as unsent:
                error = unsent
        if isinstance(error, BadArguments):
            return failed(f"Invalid arguments: {error}")
        if isinstance(error, BadOutput):
            log.error("%s (request %s)", error, shown(request.id))
            return failed(f"The {error}")
        log.error("tool %s failed (request %s)", self.name, shown(request.id), exc_info=error)
        return failed(f"The tool {self.name} failed; the server's log says why.")

    def _result(self, value: ToolResult, checked: bool) -> Dict[str, Any]:
        result: Dict[str, Any] = {"resultType": "complete", "content": blocks.content_blocks(value.content)}
        if value.structured is not ABSENT:
            result["structuredContent"] = plain(value.structured)
            written = readable(result["structuredContent"])
            if not result["content"]:
                result["content"] = [blocks.text(written)]
        if value.is_error:
            result["isError"] = True
        elif self.structured and value.structured is ABSENT:
            raise ValueError("there is an outputSchema, and no structured content")
        elif self.output is not None and checked:
            violations = self.output.errors(result["structuredContent"])
            if violations:
                raise ValueError("it breaks its outputSchema: " + violations[0].text("structuredContent"))
        if value.meta:
            blocks.check_meta(value.meta)
            result["_meta"] = value.meta
        return result

    def _as_result(self, value: Any) -> ToolResult:
        content = _content(value)
        if self.structured:
            known = self.returned.typed is not None or value is None
            return ToolResult(content, self.returned.data(value) if known else plain(value))
        if content or isinstance(value, str):
            return ToolResult(content or value)
        if value is None and self.returned.none:
            return ToolResult()
        if isinstance(value, (list, tuple)) and self.returned.named and self.returned.typed is None:
            return ToolResult(value)
        return ToolResult(readable(self.returned.data(value)))


def _content(value: Any) -> Any:
    """What is content of what a handler returned: a block, or a list with a block in it, of which data is text; or ().
    """
    listed = value if isinstance(value, (list, tuple)) else [value]
    if not any(isinstance(part, blocks.Block) for part in listed):
        return ()
    return [part if isinstance(part, (str, blocks.Block)) else readable(plain(part)) for part in listed]


def _check_annotations(value: Any) -> None:
    blocks.check_known("annotations", value, blocks.TOOL_ANNOTATIONS)


def failed(text: str) -> Dict[str, Any]:
    """A result with `isError: true` whose text tells the model what went wrong."""
    return {"resultType": "complete", "content": [blocks.text(text)], "isError": True}


def advertise(state: State, methods: Dict[str, Any], capabilities: Dict[str, Any]) -> None:
    """Add the capability and the methods of this page, if there are, or were, tools (TOOL-06)."""
    if state.tools.used:
        capabilities["tools"] = {"listChanged": True}
        methods["tools/list"] = list_tools
        methods["tools/call"] = call


def list_tools(state: State, request: Request) -> Dict[str, Any]:
    """tools/list: those that the caller may use, in the order of registration (TOOL-07 to TOOL-10)."""
    return listed(state, request, "tools", state.tools)


def call(state: State, request: Request) -> Dict[str, Any]:
    """tools/call. What goes wrong with a tool is a result with isError, so that the model can correct itself.

    Raises ProtocolError, and HTTPError 403 where the caller's token lacks a scope.
    """
    tool: Tool = state.tools.find(request.params.get("name"))
    permit(state.auth, request, tool.scopes)
    try:
        handler = tool.check(request.params.get("arguments", {}))
        value = run(state, request, handler, tool.accept_unasked)
        return value if isinstance(value, Asks) else tool.finish(value)
    except (ProtocolError, Cancelled, KeyboardInterrupt):
        raise
    except BaseException as error:  # a sys.exit in a tool is a failure of the tool
        return tool.failed(request, error)
