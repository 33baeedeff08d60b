"""basic/index, Responses: what a client makes of a JSON-RPC response, before anybody gets to see its result.

Implements BASE-09 to BASE-11, BASE-17, BASE-21.
"""

from __future__ import annotations

from typing import Any, Dict

from ..base.errors import TransportError, received
from ..base.jsonrpc import shown
from ..base.request import RequestId

COMPLETE, INPUT_REQUIRED = "complete", "input_required"


def result_of(message: Any, request_id: RequestId) -> Dict[str, Any]:
    """The result of the response to the request of that id.

    Raises the ProtocolError that the response carries, or TransportError for what is no response to this request. An
    error may lack the id, or have null, where the server could not read it; a result may not.
    """
    if isinstance(message, list):
        raise TransportError("the server answered with a JSON array where one response object belongs")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or "method" in message:
        raise TransportError(f"the server answered with what is no JSON-RPC 2.0 response: {shown(message)}")
    if ("result" in message) == ("error" in message):
        raise TransportError("the server's response must have either a result or an error")
    given = message.get("id")
    if given is None and "error" in message:
        given = request_id
    if type(given) is not type(request_id) or given != request_id:
        raise TransportError(f"the server's response has the id {shown(given)}, not {shown(request_id)}")
    if "error" in message:
        raise received(message["error"])
    result = message["result"]
    if not isinstance(result, dict):
        raise TransportError(f"the server's result must be an object, not {shown(result)}")
    kind = result.get("resultType", COMPLETE)
    if kind not in (COMPLETE, INPUT_REQUIRED):
        raise TransportError(f"the server's result has the unknown resultType {shown(kind)}")
    return result


def member(result: Dict[str, Any], name: str, kind: type) -> Any:
    """A member that a result must have. Raises TransportError where it is missing or of another type."""
    value = result.get(name)
    if not isinstance(value, kind):
        raise TransportError(f"the server's result needs {name}, {'a list' if kind is list else 'an object'}")
    return value


def items(result: Dict[str, Any], name: str) -> Any:
    """A member that is a list of objects. Raises TransportError."""
    listed = member(result, name, list)
    if not all(isinstance(item, dict) for item in listed):
        raise TransportError(f"each of {name} in the server's result must be an object")
    return listed
