"""The ladder: what every request is asked, in the order in which it is asked.

One table, and the conditions themselves, top to bottom. A rung is a function that returns nothing or raises the error
that becomes the answer; the first that raises answers. What is long, a codec or a grammar, is called by name. The table
is what the server climbs, and what `explain`, the trace and the tests read, so that none of them can drift from it.

What does not climb is no message, and stands in a row of its own, ASIDE: `serve` answers it ahead of the ladder. A
notification climbs as far as the era and ends there with 202.

The era is asked of each message by itself. One of the revisions before 2026-07-28 leaves the ladder there for LEGACY, a
shorter one; so do GET and DELETE, which only those have, once they are in and their Accept is heard.

Implements, rung by rung, the ids that the table names.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple, Optional, Tuple

from .base.errors import (
    HeaderMismatch,
    HTTPError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    ParseError,
    UnsupportedProtocolVersion,
    refusal,
)
from .base.headers import NAMED_BY, check_parameter, decoded
from .base.meta import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    LOG_LEVELS,
    OBJECTS,
    PROGRESS_TOKEN,
    PROTOCOL_VERSION,
    malformed,
)
from .base.request import Head, Request
from .base.versioning import HEADER, LATEST
from .base.versioning import LEGACY as LEGACY_VERSIONS
from .legacy.lifecycle import call, named_session, phase, revision, session
from .lib.media import accepts, is_json
from .lib.strict_json import NotJson, decode
from .lib.text import shown
from .lib.uri import authority
from .server.state import State
from .transports.endpoint import EVENT_STREAM, JSON, Endpoint


def octets(request: Request, state: State) -> None:
    """There is a request: a head that is HTTP/1.1, in time and of bounded size, and a place to serve it."""
    if request.fault is not None:  # the transport's own finding
        raise request.fault


def door(request: Request, state: State) -> None:
    """Who may come in, at which door, with how much: all of it from the head, so that a refusal costs no body."""
    head, endpoint = request.head, request.endpoint
    assert head is not None
    length, coding = head.headers.get("content-length"), head.headers.get("transfer-encoding")
    if endpoint is not None:
        known_host(head, endpoint)
        known_origin(head, endpoint)
        if head.target.split("?", 1)[0] != endpoint.path:
            raise refusal(404, "not found", f"the MCP endpoint of this server is {endpoint.path}")
        if head.method != "POST" and head.method not in taken_methods(head, state):
            taken = taken_methods(head, state)
            raise refusal(405, "method not allowed", f"the MCP endpoint takes {' and '.join(taken)}",
                          [("Allow", ", ".join(taken))])
        if coding is not None and length is not None:
            raise refusal(400, "bad request", "Content-Length beside Transfer-Encoding")
        if coding is not None and coding.lower() != "chunked":
            raise refusal(400, "bad request", "the only Transfer-Encoding taken is chunked")
        if coding is None and length is None and head.method == "POST":
            raise refusal(411, "length required", "Content-Length or Transfer-Encoding: chunked is required")
        if length is not None and not (length.isascii() and length.isdigit()):
            raise refusal(400, "bad request", "Content-Length must be one decimal number")
        if length is not None and (len(length) > 15 or int(length) > endpoint.max_body):
            raise endpoint.too_large()
    if state.auth is not None:
        state.auth.authorize(request, state.scopes_of)


def taken_methods(head: Head, state: State) -> Tuple[str, ...]:
    """The HTTP methods of the endpoint: GET and DELETE are for sessions, of which 2026-07-28 has none."""
    sessions = state.era != "modern" and state.legacy_sessions and head.headers.get(HEADER) not in state.versions
    return ("POST", "GET", "DELETE") if sessions else ("POST",)


def known_host(head: Head, endpoint: Endpoint) -> None:
    """The door's first question, at every path: a page that got here by DNS rebinding is told nothing (HTTP-02)."""
    host = head.headers.get("host")
    if not host or "host" in head.repeated:
        raise refusal(400, "bad request", "exactly one Host header is required")
    place = authority(host)
    if place is None or not endpoint.is_called(place[0]):
        raise refusal(403, "forbidden", f"the Host header names {shown(host)}, which this server does not know; "
                                        "--origin URL (origins=) names a host that it is reached by")


def known_origin(head: Head, endpoint: Endpoint) -> None:
    """The door's second question, at every path (HTTP-02, HTTP-03)."""
    origin = head.headers.get("origin")
    if origin is not None and not endpoint.lets_in(origin):  # an empty one is no origin that anybody sends
        raise refusal(403, "forbidden", "the Origin header names no origin that this server allows")


def accept(request: Request, state: State) -> None:
    """Accept takes the content types that an answer can have: both of them for a POST, but to a session's address.

    A GET without a session begins one, and a stream without end: only where it names that, which curl does not.
    """
    head = request.head
    assert head is not None
    if head.method == "POST":
        if not accepts(head.headers.get("accept", ""), (JSON, EVENT_STREAM)) and (
                state.era == "modern" or not named_session(head)[1]):
            raise HTTPError(406, '{"error": "not acceptable", "detail": '
                                 '"POST requires Accept: application/json, text/event-stream"}')
        return
    request.legacy = True
    begins = named_session(head)[0] is None
    if head.method == "GET" and not accepts(head.headers.get("accept", ""), (EVENT_STREAM,), by_name=begins):
        raise refusal(406, "not acceptable", "GET requires Accept: text/event-stream")


def framing(request: Request, state: State) -> None:
    """The body is declared as JSON, and is one JSON-RPC 2.0 request or notification; of a request on a channel for
    all, no other one under way has its id.

    What only the revisions before 2026-07-28 have, a response or a batch, is left to the era to judge. On a channel for
    all nothing answers a response, whatever the era. Sets id, method and params; an id that can be read before anything
    is refused, so that the refusal carries it.
    """
    if request.head is not None and not is_json(request.head.headers.get("content-type", "")):
        raise refusal(415, "unsupported media type", "Content-Type must be application/json")
    try:
        message = decode(request.read_body())
    except NotJson as error:
        raise ParseError(f"Parse error: {error}") from None
    if type(message) is not dict or "method" not in message:
        response = is_response(message)
        if state.era != "modern" and (response or type(message) is list) or response and request.peer is not None:
            request.message = message
            return
    frame(request, message)
    if request.peer is not None and request.id is not None:
        request.peer.begin(request)


def is_response(message: Any) -> bool:
    """Whether a message means to be a response."""
    return isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message)


def frame(request: Request, message: Any) -> None:
    """One object; jsonrpc 2.0; method; id; params an object."""
    if not isinstance(message, dict):
        raise InvalidRequest("Invalid Request: body must be a single JSON-RPC request object")
    has_id = "id" in message
    good_id = has_id and type(message["id"]) in (str, int)
    if good_id:
        request.id = message["id"]
    if message.get("jsonrpc") != "2.0":
        raise InvalidRequest('Invalid Request: jsonrpc must be "2.0"')
    method = message.get("method")
    if not isinstance(method, str) or not method:
        raise InvalidRequest("Invalid Request: method must be a non-empty string")
    if has_id and not good_id:
        raise InvalidRequest("Invalid Request: id must be a string or an integer")
    request.method = method
    params = message.get("params", {})
    if not isinstance(params, dict):
        raise InvalidParams("Invalid params: params must be an object")
    request.params = params


def era(request: Request, state: State) -> None:
    """Which era the message belongs to, whatever came before it: to 2026-07-28 where its `_meta` or its header says so.

    server/discover says so by itself, since no revision before has it. Sets legacy and outlives.
    """
    if state.era == "modern" and request.message is None:
        return
    fields = request.params.get("_meta")
    named = None if request.head is None else request.head.headers.get(HEADER)
    modern = state.era == "dual" and (
        request.method == "server/discover"
        or isinstance(fields, dict) and PROTOCOL_VERSION in fields
        or named in state.versions
        # a revision that nobody here knows: whoever names a session means one before
        or request.head is not None and bool(named) and named not in LEGACY_VERSIONS
        and named_session(request.head)[0] is None)
    if not modern:
        request.legacy = request.outlives = True
    elif not request.method:
        frame(request, request.message)


def version(request: Request, state: State) -> None:
    """Header and `_meta` name one and the same version, and it is served. On stdio there is no header.

    A client of another era names its version in the header alone: it is told the served ones, by which it can go on,
    before it is told what its `_meta` lacks. Sets meta and version.
    """
    head, fields = request.head, request.params.get("_meta")
    named = fields.get(PROTOCOL_VERSION) if isinstance(fields, dict) else None
    header = None if head is None else head.headers.get(HEADER)
    if head is not None and not header:
        raise HeaderMismatch("Header mismatch: MCP-Protocol-Version header is required")
    if head is not None and HEADER in head.repeated:
        raise HeaderMismatch("Header mismatch: MCP-Protocol-Version header is repeated")
    if header is not None and header not in state.versions and not isinstance(named, str):
        raise UnsupportedProtocolVersion(header, state.versions)
    if not isinstance(fields, dict):
        raise InvalidParams("Invalid params: params._meta is required and must be an object")
    if not isinstance(named, str):
        raise InvalidParams(f"Invalid params: params._meta.{PROTOCOL_VERSION} is required and must be a string")
    if header is not None and header != named:
        raise HeaderMismatch("Header mismatch: MCP-Protocol-Version header does not match params._meta")
    if named not in state.versions:
        raise UnsupportedProtocolVersion(named, state.versions)
    request.meta = fields
    request.version = named


def meta(request: Request, state: State) -> None:
    """`_meta` declares the client's capabilities, and what else it holds is well-formed. Sets capabilities."""
    fields = request.meta
    capabilities = fields.get(CLIENT_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise InvalidParams(f"Invalid params: params._meta.{CLIENT_CAPABILITIES} is required and must be an object")
    for name in OBJECTS:
        if name in capabilities and not isinstance(capabilities[name], dict):
            raise malformed(f"{CLIENT_CAPABILITIES}.{name}", "an object")
    request.capabilities = capabilities
    if CLIENT_INFO in fields:
        info = fields[CLIENT_INFO]
        if not isinstance(info, dict):
            raise malformed(CLIENT_INFO, "an object")
        for name in ("name", "version"):
            if not isinstance(info.get(name), str):
                raise malformed(f"{CLIENT_INFO}.{name}", "a string")
    if LOG_LEVEL in fields and fields[LOG_LEVEL] not in LOG_LEVELS:
        raise malformed(LOG_LEVEL, "one of " + ", ".join(LOG_LEVELS))
    if PROGRESS_TOKEN in fields and type(fields[PROGRESS_TOKEN]) not in (str, int):
        raise malformed(PROGRESS_TOKEN, "a string or an integer")


def mirrors(request: Request, state: State) -> None:
    """The headers that repeat the body repeat it truly, once decoded: a gateway routes on them, the server does not."""
    head, method = request.head, request.method
    assert head is not None
    if head.headers.get("mcp-method") != method or "mcp-method" in head.repeated:
        raise HeaderMismatch("Header mismatch: Mcp-Method header is required and must match the body method")
    member = NAMED_BY.get(method)
    if member is None:
        return
    name = decoded(head, "mcp-name", "Mcp-Name")
    if name is None or name != request.params.get(member):
        raise HeaderMismatch(f"Header mismatch: Mcp-Name header is required and must match params.{member}")
    tool = state.tools.get(name) if method == "tools/call" else None
    for parameter in () if tool is None else tool.mirrored:
        check_parameter(head, parameter, request.params.get("arguments"))


def method(request: Request, state: State) -> None:
    """The method exists, and the capability it belongs to is advertised."""
    if request.method not in state.methods:
        raise MethodNotFound("Method not found")


class Rung(NamedTuple):
    """One row of the ladder, or of LEGACY.

    name; asks: what it asks; answers: (HTTP status, JSON-RPC code or None, when) of each refusal; page: of the
    specification; ids: rows of spec/requirements.tsv; http: whether stdio does without it; notifications: whether they
    climb it too, and after the last such rung end with 202; check: the rule, None for what is not climbed; era: whose
    messages are asked, "" for those of both.
    """

    name: str
    asks: str
    answers: Tuple[Tuple[int, Optional[int], str], ...]
    page: str
    ids: Tuple[str, ...]
    http: bool
    notifications: bool
    check: Optional[Callable[[Request, State], None]]
    era: str = ""


STREAMABLE = "basic/transports/streamable-http"
MODERN_ERA, LEGACY_ERA = LATEST, "before " + LATEST

LADDER: Tuple[Rung, ...] = (
    Rung("octets", "a head that is HTTP/1.1, in time, of bounded size; a free place",
         ((400, None, "no head of HTTP/1.1, or cut short"), (408, None, "did not arrive in time"),
          (431, None, "head too large"), (503, None, "too many connections (Retry-After)")),
         STREAMABLE + "#sending-messages", (), True, True, octets),
    Rung("door", "Host and Origin, path, POST (GET and DELETE too where sessions are kept), length and size of the "
         "body, authorization",
         ((400, None, "no single Host, bad length, two tokens"), (403, None, "foreign Host or Origin, scope missing"),
          (404, None, "another path"), (405, None, "another method (Allow)"), (411, None, "no length"),
          (413, None, "too large"), (401, None, "no valid token"), (503, None, "no way to verify tokens now")),
         STREAMABLE + "#security--endpoint",
         ("HTTP-01", "HTTP-02", "HTTP-03", "HTTP-91", "HTTP-92"), True, True, door),
    Rung("accept", "Accept takes application/json and text/event-stream; of a GET the latter, by its name where no "
         "session is named",
         ((406, None, "either is missing or has q=0"),),
         STREAMABLE + "#sending-messages", ("HTTP-08",), True, True, accept),
    Rung("framing", "Content-Type is JSON; the body arrives; strict UTF-8 JSON; one object; jsonrpc 2.0; method; id; "
         "params an object",
         ((415, None, "another Content-Type"), (400, None, "the body is cut short or its chunks malformed"),
          (408, None, "it did not arrive in time"), (413, None, "its chunks are too large"),
          (503, None, "no room for it came free in time (Retry-After)"), (400, -32700, "not strict JSON"),
          (400, -32600, "no JSON-RPC request or notification"), (400, -32602, "params is no object")),
         "basic/index#messages", ("BASE-02", "BASE-03", "BASE-04", "HTTP-10", "TRANS-01"), False, True,
         framing),
    Rung("era", "is it of 2026-07-28: _meta has protocolVersion, or the header names it or a revision unheard of, or "
         "it is server/discover; any other message leaves here for the rungs of the eras before",
         ((400, -32600, "a batch or a response whose header names 2026-07-28"),),
         "basic/versioning#protocol-version-negotiation", (), False, True, era),
    Rung("version", "version header and _meta are there, say the same version, and it is implemented",
         ((400, -32020, "no header"), (400, -32022, "the header's is not implemented, and _meta names none"),
          (400, -32602, "no _meta, or no version in it"), (400, -32020, "the two differ"),
          (400, -32022, "not implemented; data names the supported ones")),
         "basic/versioning#protocol-version-negotiation",
         ("VERS-01", "META-06", "META-08", "HTTP-23", "HTTP-24", "HTTP-25", "HTTP-26", "HTTP-28", "HTTP-79"),
         False, False, version, MODERN_ERA),
    Rung("meta", "clientCapabilities is an object; clientInfo, logLevel, progressToken well-formed where given",
         ((400, -32602, "not so"),),
         "basic/index#meta", ("META-07", "META-08", "META-09", "LOG-07", "PROG-01"), False, False, meta, MODERN_ERA),
    Rung("mirrors", "Mcp-Method, Mcp-Name and Mcp-Param-* equal, once decoded, what the body says",
         ((400, -32020, "missing, repeated, malformed or different"),),
         STREAMABLE + "#server-validation",
         ("HTTP-65", "HTTP-66", "HTTP-75", "HTTP-77", "HTTP-78", "HTTP-80", "HTTP-81", "HTTP-82"), True, False,
         mirrors, MODERN_ERA),
    Rung("method", "the method exists and its capability is advertised",
         ((404, -32601, "not so; to initialize, with the supported versions"),),
         STREAMABLE + "#protocol-version-header", ("HTTP-27",), False, False, method,
         MODERN_ERA),
)

HANDLER = Rung(
    "handler", "what lies beyond the ladder: the method's own parameters, and what it needs of the client",
    ((400, -32602, "unknown tool, prompt, resource or cursor; bad arguments; a requestState that is not ours"),
     (200, None, "a tool's bad arguments or its failure: a result with isError"),
     (403, None, "the token lacks a scope of what is called"),
     (400, -32021, "needs capabilities that the request does not declare; data names them all"),
     (404, -32601, "raised by the handler"), (500, -32603, "the server's own fault, told to its log alone"),
     (429, 1429, "asked too often"), (503, 1503, "too many subscriptions"), (200, None, "an application's own code")),
    "basic/index#error-codes", (), False, False, None, MODERN_ERA)

TRANSPORTS_BEFORE, LIFECYCLE_BEFORE = "2025-11-25/basic/transports", "2025-11-25/basic/lifecycle"

LEGACY: Tuple[Rung, ...] = (
    Rung("session", "the session that is named is one of here and of the caller's",
         ((404, None, "unknown, over, or somebody else's: the client begins a new one"),),
         TRANSPORTS_BEFORE + "#session-management", (), False, True, session, LEGACY_ERA),
    Rung("revision", "MCP-Protocol-Version, where it is there, is a revision before 2026-07-28",
         ((400, -32600, "it is none"),),
         TRANSPORTS_BEFORE + "#protocol-version-header", (), True, True, revision, LEGACY_ERA),
    Rung("call", "the method exists in these revisions, and its capability is advertised",
         ((200, -32601, "not so; to server/discover, where 2026-07-28 is not served"),),
         LIFECYCLE_BEFORE + "#capability-negotiation", (), False, False, call, LEGACY_ERA),
    Rung("phase", "initialize comes first, and once; a batch in sessions of 2025-03-26",
         ((400, -32600, "no session, initialized already, a batch elsewhere, empty or too large"),),
         LIFECYCLE_BEFORE + "#lifecycle-phases", (), False, False, phase, LEGACY_ERA),
)

SERVED = Rung(
    "served", "what lies beyond: the method's own parameters, the handler, and what the shim asks the client for it",
    ((200, None, "the result; an event stream; an application's own code"), (202, None, "no answer, or by another way"),
     (200, -32602, "unknown tool, prompt or cursor; bad arguments"), (200, -32002, "unknown resource"),
     (200, -32601, "raised by the handler"),
     (200, -32603, "the server's own fault; what the client cannot be asked; more rounds than there may be"),
     (400, -32600, "the id of a request that is under way"), (400, None, "a Last-Event-ID that cannot be resumed"),
     (403, None, "the token lacks a scope of what is called"), (409, None, "a second GET stream"),
     (503, None, "too many event streams (Retry-After)")),
    TRANSPORTS_BEFORE + "#sending-messages-to-the-server", (), False, False, None, LEGACY_ERA)

ASIDE = Rung(
    "aside", "what is no message and climbs nothing: a health check, a browser's preflight, the metadata document; of "
    "these too the door asks Host and Origin first",
    ((200, None, "the server lives; the document"), (204, None, "what a page may send"),
     (405, None, "neither GET nor HEAD (Allow: GET, HEAD)")),
    "basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements", (), True,
    False, None)

Step = Tuple[str, Any, bool]


def _steps(rungs: Iterable[Rung]) -> Tuple[Step, ...]:
    """What `climb` needs of each rung: name, check, notifications."""
    return tuple((rung.name, rung.check, rung.notifications) for rung in rungs)


_HTTP, _STDIO, _BEFORE = _steps(LADDER), _steps(rung for rung in LADDER if not rung.http), _steps(LEGACY)
_INSIDE = _HTTP[[name for name, _, _ in _HTTP].index("framing"):]


def climb(request: Request, state: State) -> None:
    """Ask `request` everything. Raises what the first refusing rung raises; `request.rung` is how far it came.

    Called again for a request whose body was not there yet, it goes on from that rung. What is asked of the head alone
    is asked once of those that are the same to the octet, unless a token has to be good each time.
    """
    rungs = _BEFORE if request.legacy else _STDIO if request.head is None else _HTTP
    if request.rung:
        rungs = rungs[[name for name, _, _ in rungs].index(request.rung):]
    elif request.let_in and state.auth is None:
        rungs = _INSIDE
    for name, check, notifications in rungs:
        if not notifications and request.id is None and request.method:
            return
        request.rung = name
        check(request, state)
        if request.legacy and rungs is not _BEFORE:
            request.rung = ""
            return climb(request, state)
    request.rung = SERVED.name if request.legacy else HANDLER.name


def passed(request: Request) -> Tuple[str, ...]:
    """The names of all that a request had to climb, or would have, with what lies beyond."""
    names = [name for name, _, _ in (_STDIO if request.head is None else _HTTP)]
    if not request.legacy:
        return (*names, HANDLER.name)
    until = "era" if request.head is None or request.head.method == "POST" else "accept"
    return (*names[:names.index(until) + 1], *(rung.name for rung in LEGACY), SERVED.name)
