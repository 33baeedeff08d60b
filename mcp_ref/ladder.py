"""The ladder: what every request is asked, in the order in which it is asked.

One table. The server climbs it, `explain` and `--trace` print it, the tests walk it; none of them can drift from it.
A rung is a small function that returns nothing or raises the error that becomes the answer; the first that raises
answers. The rules themselves stand in the modules of their pages; this module stands above base and transports since
its rungs come from both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple, Optional, Tuple

from .base import jsonrpc, versioning
from .base import meta as base_meta
from .base.errors import MethodNotFound
from .base.request import Request
from .transports import endpoint
from .transports import mirrors as mirroring

if TYPE_CHECKING:
    from .server.server import Server


class Rung(NamedTuple):
    """One row of the ladder.

    name; asks: what it asks; answers: (HTTP status, JSON-RPC code or None, when) of each refusal; page: of the
    specification; ids: rows of the requirements table; http_only: whether stdio does without it; check: the rule.
    """

    name: str
    asks: str
    answers: Tuple[Tuple[int, Optional[int], str], ...]
    page: str
    ids: Tuple[str, ...]
    http_only: bool
    check: Callable[[Request, "Server"], None]


def door(request: Request, server: "Server") -> None:
    """Host, Origin, path, method, length: the door of the endpoint the request came through; then authorization.

    What a browser asks before it sends, a health check and the metadata document are answered ahead of the table.
    """
    if request.head is not None and request.endpoint is not None:
        request.endpoint.door(request.head)
    if request.head is not None and server.auth is not None:
        server.auth.authorize(request, server)


def accept(request: Request, server: "Server") -> None:
    """Accept takes both content types that an answer can have."""
    if request.head is not None:
        endpoint.accept(request.head)


def framing(request: Request, server: "Server") -> None:
    """The body is declared as JSON, and is one JSON-RPC 2.0 request or notification."""
    if request.head is not None:
        endpoint.content_type(request.head)
    jsonrpc.framing(request)


def version(request: Request, server: "Server") -> None:
    """Header and `_meta` name one and the same version, and it is implemented."""
    versioning.version(request, server.supported_versions)


def meta(request: Request, server: "Server") -> None:
    """`_meta` declares the client's capabilities, and what else it holds is well-formed."""
    base_meta.meta(request)


def mirrors(request: Request, server: "Server") -> None:
    """The headers that repeat the body repeat it truly."""
    mirroring.mirrors(request, server.mirrored(request))


def method(request: Request, server: "Server") -> None:
    """The method exists, and the capability it belongs to is advertised."""
    if request.method not in server.methods:
        raise MethodNotFound("Method not found")


STREAMABLE = "basic/transports/streamable-http"

LADDER: Tuple[Rung, ...] = (
    Rung("door", "Host and Origin, path, POST, length and size of the body, authorization",
         ((400, None, "no single Host, bad length"), (403, None, "foreign Host or Origin, scope missing"),
          (404, None, "another path"), (405, None, "not POST (Allow: POST)"), (411, None, "no length"),
          (413, None, "too large"),
          (401, None, "no valid token"), (408, None, "did not arrive in time"), (431, None, "head too large"),
          (503, None, "too many connections, or no way to verify tokens now")),
         STREAMABLE + "#security--endpoint",
         ("HTTP-01", "HTTP-02", "HTTP-03", "HTTP-91", "HTTP-92", "AUTH-46", "AUTH-47", "AUTH-59", "AUTH-60", "AUTH-61"),
         True, door),
    Rung("accept", "Accept takes application/json and text/event-stream",
         ((406, None, "either is missing or has q=0"),),
         STREAMABLE + "#sending-messages", ("HTTP-08", "HTTP-14"), True, accept),
    Rung("framing", "Content-Type is JSON; strict UTF-8 JSON; one object; jsonrpc 2.0; method; id; params an object",
         ((415, None, "another Content-Type"), (400, -32700, "not strict JSON"),
          (400, -32600, "no JSON-RPC request or notification"), (400, -32602, "params is no object")),
         "basic/index#messages", ("BASE-02", "BASE-03", "BASE-04", "BASE-12", "HTTP-10", "TRANS-01"), False, framing),
    Rung("version", "version header and _meta are there, say the same version, and it is implemented",
         ((400, -32020, "no header"), (400, -32022, "the header's is not implemented, and _meta names none"),
          (400, -32602, "no _meta, or no version in it"), (400, -32020, "the two differ"),
          (400, -32022, "not implemented; data names the supported ones")),
         "basic/versioning#protocol-version-negotiation",
         ("VERS-01", "META-06", "META-08", "HTTP-23", "HTTP-24", "HTTP-25", "HTTP-26", "HTTP-28", "HTTP-79"),
         False, version),
    Rung("meta", "clientCapabilities is an object; clientInfo, logLevel, progressToken well-formed where given",
         ((400, -32602, "not so"),),
         "basic/index#meta", ("META-07", "META-08", "META-09", "LOG-07", "PROG-01"), False, meta),
    Rung("mirrors", "Mcp-Method, Mcp-Name and Mcp-Param-* equal, once decoded, what the body says",
         ((400, -32020, "missing, repeated, malformed or different"),),
         STREAMABLE + "#server-validation",
         ("HTTP-54", "HTTP-65", "HTTP-66", "HTTP-74", "HTTP-75", "HTTP-76", "HTTP-77", "HTTP-78", "HTTP-80",
          "HTTP-81", "HTTP-82", "HTTP-84"), True, mirrors),
    Rung("method", "the method exists and its capability is advertised",
         ((404, -32601, "not so"),),
         STREAMABLE + "#protocol-version-header", ("HTTP-27",), False, method),
)
HANDLER = Rung(
    "handler", "what lies beyond the ladder: the method's own parameters, and what it needs of the client",
    ((400, -32602, "unknown tool, prompt, resource or cursor; bad arguments; a requestState that is not ours"),
     (400, -32021, "needs a capability that the request does not declare; data names it"),
     (500, -32603, "the server's own fault, told to its log alone"), (429, 1429, "asked too often"),
     (503, 1503, "too many subscriptions"), (200, None, "an application's own error code")),
    "basic/index#error-codes", ("META-12", "META-13", "MRTR-09", "MRTR-15", "BASE-23"), False, method)

_STDIO = tuple(rung for rung in LADDER if not rung.http_only)


def rungs_of(request: Request) -> Tuple[Rung, ...]:
    """The rungs that a request climbs: without an HTTP head some fall away."""
    return LADDER if request.head is not None else _STDIO


def climb(request: Request, server: "Server") -> None:
    """Ask `request` everything. Raises what the first refusing rung raises; `request.rung` is how far it came.

    A notification is done once its framing is known to be good: no later rung is defined for it.
    """
    for rung in rungs_of(request):
        request.rung = rung.name
        rung.check(request, server)
        if request.id is None and request.method:
            return
