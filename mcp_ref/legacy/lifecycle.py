"""basic/lifecycle of 2025-11-25: what is asked of a message of the eras before, and the methods that only these have.

The first four functions are rungs of the ladder, whose table says what they answer. A server SHOULD NOT ask or tell a
client anything but pings and log messages before it is initialized, so its first request counts as that too: clients in
the field send notifications/initialized without their session.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from ..authorization.scopes import permit
from ..base.errors import InvalidParams, InvalidRequest, MethodNotFound
from ..base.meta import CLIENT_INFO, LOG_LEVEL, LOG_LEVELS, PROGRESS_TOKEN, malformed
from ..base.request import Head, Request
from ..base.versioning import HEADER as VERSION
from ..base.versioning import LEGACY
from ..lib.text import shown
from ..server.invoke import principal_name
from ..server.resources import find
from ..server.state import State
from .revisions import V2411, V2503, client_capabilities, negotiated
from .sessions import HEADER, Session, unknown

SHARED = ("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list",
          "resources/read", "completion/complete")
"""The methods that both eras have; they are served by the same functions."""
MAX_BATCH = 50
MAX_URIS, MAX_URI = 100, 1024
"""Resources that a session follows, and characters of the URI of one."""


def kept(state: State, request: Request) -> bool:
    """Whether there are sessions where this came from."""
    return request.peer is not None or request.head is not None and state.legacy_sessions


def named_session(head: Head) -> Tuple[Optional[str], bool]:
    """The id of the session that a head names, and whether by the address that HTTP+SSE gave."""
    query = head.target.partition("?")[2]
    if head.method == "POST" and query.startswith("session="):
        return query[len("session="):], True
    return head.headers.get(HEADER) or None, False


def session(request: Request, state: State) -> None:
    """A session that is named is one of here and of the caller's. Sets session."""
    head = request.head
    if request.peer is not None:
        request.session = request.peer.session
    elif head is not None and state.legacy_sessions:
        id, by_address = named_session(head)
        if id is not None:
            found = state.sessions.find(id, principal_name(request))
            if found is None or HEADER in head.repeated or (found.channel is not None) is not by_address:
                raise unknown()
            request.session = found


def revision(request: Request, state: State) -> None:
    """A version header names a revision before 2026-07-28; which of them is no matter, for clients are not exact."""
    named = request.head.headers.get(VERSION) if request.head is not None else None
    if named and named not in LEGACY and request.method != "server/discover":  # which the next rung tells apart
        raise InvalidRequest(f"Invalid Request: unsupported protocol version {shown(named)} in MCP-Protocol-Version; "
                             f"{', '.join(LEGACY)} are served, after initialize")


def call(request: Request, state: State) -> None:
    """The method exists in these revisions, and its capability is advertised."""
    if request.method and request.method not in OWN and (
            request.method not in SHARED or request.method not in state.methods):
        raise MethodNotFound("Method not found")
    if request.method == "logging/setLevel" and not (state.logging and kept(state, request)):
        raise MethodNotFound("Method not found")
    if request.method in ("resources/subscribe", "resources/unsubscribe") and not (
            "resources" in state.capabilities and kept(state, request)):
        raise MethodNotFound("Method not found")


def phase(request: Request, state: State) -> None:
    """The message is one for this time: initialize once and first, a batch where the revision has it."""
    found, head = request.session, request.head
    begun = found is not None and found.version != ""
    if head is not None and head.method == "GET" or isinstance(request.message, dict):  # which is a response
        return
    if request.method == "initialize" and begun:
        raise InvalidRequest("Invalid Request: this session is initialized already")
    if kept(state, request) and not begun and request.method not in (
            ("initialize", "ping") if found is not None or head is None else ("initialize",)):
        carried = "" if head is None else ", whose Mcp-Session-Id every message after it carries"
        modern = "" if state.era == "legacy" else f"; {', '.join(state.versions)} needs neither"
        raise InvalidRequest(f"Invalid Request: initialize comes first and begins a session{carried}{modern}")
    if isinstance(request.message, list):
        if found is None or found.version not in (V2503, V2411):
            raise InvalidRequest(f"Invalid Request: a batch is for sessions of {V2503} alone")
        if not 0 < len(request.message) <= MAX_BATCH:
            raise InvalidRequest(f"Invalid Request: a batch has 1 to {MAX_BATCH} messages")


def prepare(request: Request, session: Session) -> None:
    """Let the request look to features as one of 2026-07-28 does. Raises InvalidParams for a malformed `_meta`."""
    given = request.params.get("_meta", {})
    if not isinstance(given, dict):
        raise InvalidParams("Invalid params: params._meta must be an object")
    if PROGRESS_TOKEN in given and type(given[PROGRESS_TOKEN]) not in (str, int):
        raise malformed(PROGRESS_TOKEN, "a string or an integer")
    request.capabilities, info = session.declared
    request.meta = {**given, CLIENT_INFO: info, LOG_LEVEL: session.level}
    request.version = session.version
    request.params = {name: value for name, value in request.params.items()
                      if name not in ("inputResponses", "requestState")}  # these are the shim's to put


# The methods

Method = Callable[[State, Request, Session], Dict[str, Any]]


def initialize(state: State, request: Request, session: Session) -> Dict[str, Any]:
    """What is agreed on. Raises InvalidParams."""
    params = request.params
    asked, capabilities, info = params.get("protocolVersion"), params.get("capabilities"), params.get("clientInfo", {})
    if not isinstance(asked, str):
        raise InvalidParams("Invalid params: protocolVersion is required and must be a string")
    if not isinstance(capabilities, dict):
        raise InvalidParams("Invalid params: capabilities is required and must be an object")
    if not isinstance(info, dict):
        raise InvalidParams("Invalid params: clientInfo must be an object")
    version = negotiated(asked)
    session.agree(version, client_capabilities(version, capabilities), info)
    made: Dict[str, Any] = {"protocolVersion": version, "capabilities": _capabilities(state, request),
                            "serverInfo": state.info}
    if state.instructions is not None:
        made["instructions"] = state.instructions
    return made


def _capabilities(state: State, request: Request) -> Mapping[str, Any]:
    """What is advertised: without a session nobody is told of changes, and no level is kept."""
    if kept(state, request):
        return state.capabilities
    return {name: {inner: value for inner, value in each.items() if inner not in ("listChanged", "subscribe")}
            for name, each in state.capabilities.items() if name != "logging"}


def ping(state: State, request: Request, session: Session) -> Dict[str, Any]:
    """ping: it lives."""
    return {}


def set_level(state: State, request: Request, session: Session) -> Dict[str, Any]:
    """logging/setLevel, of the session. Raises InvalidParams."""
    level = request.params.get("level")
    if level not in LOG_LEVELS:
        raise InvalidParams(f"Invalid params: level must be one of {', '.join(LOG_LEVELS)}")
    session.level = level
    return {}


def subscribe(state: State, request: Request, session: Session) -> Dict[str, Any]:
    """resources/subscribe, to what the caller may read. Raises InvalidParams, ResourceNotFound, HTTPError."""
    uri = request.params.get("uri")
    permit(state.auth, request, find(state, uri)[0].scopes)
    uris = session.uris | {str(uri)}
    if len(uris) > MAX_URIS or len(str(uri)) > MAX_URI:
        raise InvalidParams(f"Invalid params: a session follows {MAX_URIS} resources, of {MAX_URI} characters each")
    session.uris = uris
    return {}


def unsubscribe(state: State, request: Request, session: Session) -> Dict[str, Any]:
    """resources/unsubscribe; of what was not subscribed to as well. Raises InvalidParams."""
    uri = request.params.get("uri")
    if not isinstance(uri, str):
        raise InvalidParams("Invalid params: params.uri must be a string")
    session.uris -= {uri}
    return {}


OWN: Mapping[str, Method] = {"initialize": initialize, "ping": ping, "logging/setLevel": set_level,
                             "resources/subscribe": subscribe, "resources/unsubscribe": unsubscribe}
