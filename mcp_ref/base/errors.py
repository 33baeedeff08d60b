"""basic/index, Error Codes: the one family of errors, each with its code, its HTTP status and what it names.

Implements BASE-13, BASE-14, BASE-16, BASE-18 to BASE-20, BASE-22, BASE-23, META-13.

    McpError
      ProtocolError        a JSON-RPC error: raised here to be sent, raised by the client when received
        ParseError -32700, InvalidRequest -32600, MethodNotFound -32601, InvalidParams -32602 (ResourceNotFound),
        InternalError -32603, HeaderMismatch -32020, MissingClientCapability -32021,
        UnsupportedProtocolVersion -32022; RateLimited 1429 and TooManySubscriptions 1503, which are our own
      HTTPError            an HTTP answer that is no JSON-RPC message
      Timeout              no answer within the time given
      CallCancelled        ended by its CallHandle before there was an answer
      TransportError       the peer cannot be reached, or what it sent is not MCP
        Unreachable        no connection came about, so nothing of the request was sent
        BrokenOff          the connection ended before the answer was whole
      AuthorizationError   no access token is to be had, or none that the server takes
      TooManyRounds        a server that goes on asking beyond the bound
      ToolError            a tool's own failure, told to the model
      SchemaError          a JSON Schema that cannot be used
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type

from ..lib.errors import McpError as McpError
from ..lib.errors import SchemaError as SchemaError
from ..lib.text import cut, printable

RETIRED = -32002
RESERVED = (-32768, -32000)
"""JSON-RPC's own codes; an application's lie outside (BASE-14, BASE-18, BASE-23)."""


class ProtocolError(McpError):
    """A JSON-RPC error response.

    code: an integer; an application's own lies outside -32768..-32000 (BASE-23).
    message: one sentence that names what was wrong and what was expected.
    data: any JSON value, or None for no `data` member.
    status: the HTTP status that carries it, of a peer's error the one it came with; 200 for an application's own code.
    remote: whether it came from a peer, and is not ours to pass on. id: of an HTTP error's message, None without one.
    """

    status = 200
    remote = False
    id: Any = None

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return self._noted(f"{self.code} {self.message}")

    def body(self) -> Dict[str, Any]:
        """The `error` member of the response."""
        error: Dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


class _Defined(ProtocolError):
    """An error whose code the specification defines."""

    defined: int
    status = 400

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(self.defined, message, data)


class ParseError(_Defined):
    """-32700: the body is not strict UTF-8 JSON."""

    defined = -32700


class InvalidRequest(_Defined):
    """-32600: the body is JSON but no JSON-RPC 2.0 request or notification."""

    defined = -32600


class MethodNotFound(_Defined):
    """-32601: no such method here, or its capability is not advertised (HTTP 404, HTTP-27)."""

    defined = -32601
    status = 404


class InvalidParams(_Defined):
    """-32602: the parameters, `_meta` included, are not what the method takes."""

    defined = -32602


class ResourceNotFound(InvalidParams):
    """-32602 "Resource not found", the URI in its data. A handler raises it, without arguments, to say so; a client
    raises it for what a server answers resources/read with, be it -32602 or the older -32002 (RES-10, RES-12).
    """

    def __init__(self, uri: Optional[str] = None) -> None:
        super().__init__("Resource not found", None if uri is None else {"uri": uri})


class InternalError(_Defined):
    """-32603: the server's own fault; says nothing of the cause, which is in the server's log (HTTP 500)."""

    defined = -32603
    status = 500


class HeaderMismatch(_Defined):
    """-32020: a header is missing, malformed or differs from the body."""

    defined = -32020


class MissingClientCapability(_Defined):
    """-32021: the request needs a capability that its `_meta` does not declare (META-12).

    required: the capabilities object that was needed, for example {"elicitation": {"form": {}}}. found: whether
    meta.require_capabilities raised it; a handler says what it needs by asking for it, and not by this error.
    """

    defined = -32021
    found = False

    def __init__(self, message: str, required: Mapping[str, Any]) -> None:
        super().__init__(message, {"requiredCapabilities": dict(required)})


class UnsupportedProtocolVersion(_Defined):
    """-32022: a version this server does not implement; data names the supported ones (HTTP-26)."""

    defined = -32022

    def __init__(self, requested: str, supported: Sequence[str]) -> None:
        super().__init__("Unsupported protocol version", {"supported": list(supported), "requested": requested})


class TooManySubscriptions(ProtocolError):
    """1503, a code of this server's own: it holds as many subscriptions as it is set to; try later (HTTP 503)."""

    status = 503

    def __init__(self, limit: int) -> None:
        super().__init__(1503, f"Too many subscriptions: this server holds at most {limit}", {"limit": limit})


class RateLimited(ProtocolError):
    """1429, a code of this server's own: this caller asks this method too often (HTTP 429)."""

    status = 429

    def __init__(self, method: str, limit: float) -> None:
        super().__init__(1429, f"Too many requests: {method} is limited to {limit:g} a second", {"limit": limit})


PASSING = (429, 502, 503, 504)
"""HTTP statuses of a server that is not there just now."""


class HTTPError(McpError):
    """An HTTP answer that is not a JSON-RPC message.

    The server raises it at the door; the client raises it for such an answer of a peer.

    status: the HTTP status code.
    body: the answer's body as text.
    headers: further header fields, as (name, value) pairs.
    """

    def __init__(self, status: int, body: str = "", headers: Sequence[Tuple[str, str]] = ()) -> None:
        super().__init__(f"HTTP {status}: {body}" if body else f"HTTP {status}")
        self.status = status
        self.body = body
        self.headers = tuple(headers)


def refusal(status: int, error: str, detail: str, headers: Iterable[Tuple[str, str]] = ()) -> HTTPError:
    """The HTTPError for what is refused in plain HTTP; its body is a JSON object with `error` and `detail`."""
    return HTTPError(status, json.dumps({"error": error, "detail": detail}), tuple(headers))


class Timeout(McpError):
    """No answer within the time given, in seconds."""


class CallCancelled(McpError):
    """The request was cancelled by its CallHandle before there was an answer."""

    def __init__(self) -> None:
        super().__init__("the request was cancelled")


class TransportError(McpError):
    """The peer cannot be reached, hung up, or sent what is not MCP."""


class Unreachable(TransportError):
    """No connection to the peer came about: nothing of the request was sent."""


class BrokenOff(TransportError):
    """The connection ended before the answer was whole: whether the peer acted on the request is not known."""


class AuthorizationError(McpError):
    """No access token is to be had, or none that the server takes; says why, briefly, and nothing that is secret.

    code: the OAuth error that an authorization server answered with, None where it is this side's finding. passing:
    whether it is none of a token, since somebody who is to be asked is not there just now.
    """

    def __init__(self, message: str, code: Optional[str] = None, passing: bool = False) -> None:
        super().__init__(cut(printable(message), 1000))
        self.code, self.passing = code, passing


class TooManyRounds(McpError):
    """The server still answers input_required after as many rounds as the client goes along with."""


class ToolError(McpError):
    """A tool's failure in words meant for the model: becomes a result with `isError: true`."""


ERRORS: List[Type[_Defined]] = [
    ParseError, InvalidRequest, MethodNotFound, InvalidParams, InternalError,
    HeaderMismatch, MissingClientCapability, UnsupportedProtocolVersion,
]
_BY_CODE = {error.defined: error for error in ERRORS}


HANDLERS_OWN = (MethodNotFound, InvalidParams, InternalError)
"""Those defined errors that a handler may raise; the others are for the ladder to find."""


def from_handler(error: ProtocolError) -> ProtocolError:
    """`error` as it goes out where a handler raised it: with the HTTP status of its code, if that is a defined one.

    Raises ValueError, which says why, for an error that is not a handler's to raise.
    """
    code = error.code
    if error.remote:
        raise ValueError("it came from a peer, and says nothing of this request")
    if not isinstance(code, int) or isinstance(code, bool):
        raise ValueError(f"its code is an integer, not {code!r}")
    if not isinstance(error.message, str):
        raise ValueError(f"its message is a text, not {error.message!r}")
    kind = _BY_CODE.get(code)
    if kind in HANDLERS_OWN:
        error.status = _BY_CODE[code].status
    elif kind is not None and not (isinstance(error, MissingClientCapability) and error.found):
        raise ValueError(f"{code} is for the protocol to find, and not a handler's to raise")
    elif kind is None and RESERVED[0] <= code <= RESERVED[1]:
        raise ValueError(f"{code} is reserved; a handler's own codes lie outside {RESERVED[0]} to {RESERVED[1]}")
    return error


def received(error: Any, status: int = 200) -> ProtocolError:
    """The typed error for a peer's `error` member; malformed members become an InternalError that says so.

    status: the HTTP status it came with.
    """
    if isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str):
        code, message, data = error["code"], error["message"], error.get("data")
        made = ProtocolError(code, message, data)
        if code == MissingClientCapability.defined:
            made = MissingClientCapability(message, {})
        elif code == UnsupportedProtocolVersion.defined:
            made = UnsupportedProtocolVersion("", ())
        elif code in _BY_CODE:
            made = _BY_CODE[code](message)
        made.message, made.data = message, data  # as the peer has them, whatever the class would say
    else:
        made = InternalError("the peer sent an error without an integer code and a text message")
    made.status, made.remote = status, True
    return made
