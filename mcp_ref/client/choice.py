"""basic/versioning, Backward Compatibility: how a client reaches its server, and in which era it speaks with it.

Implements VERS-08, VERS-09, VERS-11, STDIO-17 to STDIO-22, HTTP-88 to HTTP-90, DISC-02.

The first request finds out, by the table in client/era and with server/discover alone, never with what a caller wants
done. The finding holds for the client; over HTTP for the origin too, as long as this process lives, so that the next
client asks nothing. One that has stopped being true is dropped, and the server asked anew: the request that showed it
is sent again, unless it is a tools/call, which is never sent twice.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from ..base.errors import (
    HeaderMismatch,
    HTTPError,
    InvalidParams,
    McpError,
    MissingClientCapability,
    ProtocolError,
    TransportError,
    UnsupportedProtocolVersion,
)
from ..base.versioning import LEGACY, MODERN
from ..transports.calls import Deadline, Headers, Wire
from .era import AGAIN, DISCOVER, GET, GO_ON, INITIALIZE, SPAWN, STOP, Evidence, Row, judge

if TYPE_CHECKING:
    from ..authorization.oauth_client import Authorization
    from ..legacy.client import Session
    from ..server.server import Server
    from ..transports.http_client import HTTPClient
    from ..transports.memory import Memory
    from ..transports.stdio_client import StdioClient

AUTO, ERAS = "auto", ("auto", "modern", "legacy")
PATIENCE = 10.0
"""Seconds that a process has to answer the question which era it speaks; older ones may say nothing at all."""
GLANCE = 0.5
MAX_ORIGINS = 1000
Spoken = TypeVar("Spoken")

Transport = Union["HTTPClient", "Memory", "StdioClient"]
Probe = Callable[[str, Deadline], Dict[str, Any]]


class Finding(NamedTuple):
    """What is known of a server. version: the modern one to speak, or the older one to offer. old: by HTTP+SSE."""

    era: str
    version: str
    old: bool = False


FINDINGS: Dict[Tuple[str, str, str], Finding] = {}
"""Of this process, by origin."""


class Choice:
    """The era of one client: "modern" or "legacy" as it was told, or for "auto" as it finds.

    probe: sends server/discover in a version, and gives its result. begin: makes a session, on which nothing was sent.
    steps: what was asked to find out, what came, and the row of the table that it met. discovered: the DiscoverResult.
    """

    def __init__(self, transport: Transport, era: str, probe: Probe, begin: "Callable[[], Session]") -> None:
        if era not in ERAS:
            raise ValueError(f"era is one of {', '.join(ERAS)}, not {era!r}")
        self._probe, self._begin = probe, begin
        self._restart: Optional[Callable[[Deadline], None]] = getattr(transport, "restart", None)
        self._pipe = self._restart is not None
        self._origin = getattr(transport.address, "origin", None)
        self._era = getattr(transport, "era", era) if era == AUTO else era
        self._lock, self._closed = threading.Lock(), False
        self._session: "Optional[Session]" = None
        self.finding: Optional[Finding] = None
        self.steps: List[Tuple[str, str, Row]] = []
        self.discovered: Optional[Dict[str, Any]] = None
        if self._era == "modern" and not self._pipe:
            self.finding = Finding("modern", MODERN[0])

    def session(self, deadline: Deadline) -> "Optional[Session]":
        """The session with a server of an older era, begun if it has to be; None with a modern one.

        Raises whatever shows that there is neither.
        """
        if self._closed:
            raise TransportError("the client is closed")
        if self._session is not None and self._session.ended:
            with self._alone(deadline):
                if self._session is not None and self._session.ended:
                    self._drop()
        if self.finding is None:
            with self._alone(deadline):
                if self.finding is None:
                    self.finding = self._recalled(deadline) or self._found(deadline)
        return self._session

    def find(self, seconds: float) -> None:
        """Find it out, whatever was found before. Raises whatever shows that there is neither era."""
        deadline = Deadline(seconds)
        with self._alone(deadline):
            self._drop()
            self.finding = self._found(deadline)

    def about(self) -> Dict[str, Any]:
        """What the server said of itself when it was found out, as a DiscoverResult; {} where it did not."""
        return self._session.discovered() if self._session is not None else self.discovered or {}

    def outdated(self, error: Union[ProtocolError, HTTPError], session: "Optional[Session]") -> bool:
        """Whether an answer shows that the era is another than was found; what was found is dropped then."""
        if self._era != AUTO:
            return False
        if session is None:
            if not (error.note or isinstance(error, HTTPError) and error.status in (404, 405)):
                return False
        elif not session.ended and not _is_modern(error):
            return False
        with self._lock:
            if self._session is session:
                self._drop()
        return True

    def speak(self, method: str, deadline: Deadline, modern: Callable[[], Spoken],
              legacy: "Callable[[Session], Spoken]") -> Spoken:
        """What a request comes to, made in the era of the server. Where its answer shows that this is another than was
        found, it is found anew and the request made again, once; a tools/call is left to the caller to repeat.
        """
        for last in (False, True):
            session = self.session(deadline)
            try:
                return modern() if session is None else legacy(session)
            except (ProtocolError, HTTPError) as error:
                if last or not self.outdated(error, session):
                    raise
                if method == "tools/call":
                    error.note = "The server speaks another era than it did; the next request finds out which."
                    raise
        raise AssertionError("the second time is the last")

    def close(self) -> None:
        """End the session, if there is one, and begin no other."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()

    @contextmanager
    def _alone(self, deadline: Deadline) -> Iterator[None]:
        while not self._lock.acquire(timeout=min(deadline.left(), GLANCE)):
            pass
        try:
            yield
        finally:
            self._lock.release()

    def _drop(self) -> None:
        self._end()
        self._session = self.finding = None
        if self._origin is not None:
            FINDINGS.pop(self._origin, None)

    def _recalled(self, deadline: Deadline) -> Optional[Finding]:
        """What another client of this process found of the origin, if it still holds."""
        known = FINDINGS.get(self._origin) if self._origin is not None and self._era == AUTO else None
        if known is not None and known.era == "legacy":
            self._session = self._begin()
            asked = GET if known.old else INITIALIZE
            evidence = self._ask(asked, known.version, deadline)
            if known.old and evidence.error is None:
                evidence = self._ask(INITIALIZE, known.version, deadline)
            if evidence.error is not None:
                self._drop()
                return None
        return known

    def _found(self, deadline: Deadline) -> Finding:
        """Ask, judge what came, and do what the table says next, until it is known what the server speaks."""
        asked = INITIALIZE if self._era == "legacy" else DISCOVER
        version, old, again = (LEGACY if self._era == "legacy" else MODERN)[0], False, False
        refused: Optional[McpError] = None
        self.steps, self._session, self.discovered = [], None, None
        while True:
            evidence = self._ask(asked, version, deadline, again or old)
            row = judge(asked, evidence)
            self.steps.append((asked, str(evidence), row))
            refused = refused if asked == GET else evidence.error
            if row.step == STOP or row.verdict == "legacy" and self._era == "modern":
                self._end()
                raise _unspoken(row, evidence, refused)
            version = evidence.common(MODERN) or evidence.common(LEGACY) or version
            if row.step == GO_ON:
                return self._settled(Finding(row.verdict, version, old))
            if row.step == AGAIN:
                again = True
                continue
            if row.step == SPAWN and self._restart is not None:
                self._restart(deadline)
            again, old, asked = False, asked == GET, GET if row.step == GET else INITIALIZE
            version = version if version in LEGACY else LEGACY[0]

    def _settled(self, finding: Finding) -> Finding:
        if finding.era == "modern":
            self._session = None
        if self._origin is not None and self._era == AUTO:
            FINDINGS[self._origin] = finding
            if len(FINDINGS) > MAX_ORIGINS:
                FINDINGS.pop(next(iter(FINDINGS)), None)
        return finding

    def _ask(self, asked: str, version: str, deadline: Deadline, before: bool = False) -> Evidence:
        """What comes for one question. A caller that has no time left, or has gone, is no evidence: that is raised."""
        if asked == DISCOVER and self._pipe:
            deadline = Deadline(min(PATIENCE, deadline.left()), deadline.handle)
        try:
            if asked == DISCOVER:
                self.discovered = result = self._probe(version, deadline)
            else:
                self._session = self._session or self._begin()
                session = self._session
                result = session.connect(deadline) if asked == GET else session.initialize(version, deadline)
        except McpError as error:
            error.note = "" if self._era == AUTO else error.note  # it says what a client of one era makes of it
            return Evidence(None, error, before, self._pipe)
        return Evidence(result, None, before, self._pipe)


def _is_modern(error: Union[ProtocolError, HTTPError]) -> bool:
    """Whether only a server of 2026-07-28 answers a request of an older era so."""
    if isinstance(error, ProtocolError) and not error.remote:
        return False
    if isinstance(error, InvalidParams):
        return error.status == 400 and "_meta" in error.message
    return isinstance(error, (HeaderMismatch, MissingClientCapability, UnsupportedProtocolVersion))


def _unspoken(row: Row, evidence: Evidence, refused: Optional[McpError]) -> McpError:
    """The error that tells the caller that there is no speaking with this server, and why."""
    made = evidence.error if refused is None else refused
    if made is None:
        made = UnsupportedProtocolVersion("", evidence.versions or ())
    if row.asked == GET:
        made.note = "There is no MCP endpoint here: GET shows no `endpoint` event of HTTP+SSE either."
    elif row.verdict == "legacy":
        made.note = made.note or f"This server speaks an older era, this client {', '.join(MODERN)}."
    elif row.asked == DISCOVER and isinstance(made, UnsupportedProtocolVersion):
        theirs = ", ".join(evidence.versions or ()) or "no version that it names"
        made.note = f"The server speaks {theirs}, this client {', '.join((*MODERN, *LEGACY))}."
    return made


def transport_to(server: "Union[str, Sequence[str], Server]", headers: Headers, wire: Optional[Wire],
                 auth: "Optional[Authorization]" = None, **process: Any) -> Transport:
    """The way to a server: by HTTP for a URL. Each is loaded where it is used; the others need not be there."""
    if auth is not None and not isinstance(server, str):
        raise ValueError("auth is for servers that are reached by HTTP")
    if isinstance(server, (list, tuple)):
        from ..transports.stdio_client import StdioClient

        if headers:
            raise ValueError("a stdio server is sent no headers; env can hold what it is to know")
        return StdioClient(server, wire=wire, **process)
    if any(process.values()):
        raise ValueError(f"{', '.join(process)} are for a server that is started as a process, by its command")
    if isinstance(server, str):
        from ..transports.http_client import HTTPClient

        return HTTPClient(server, headers, wire, None if auth is None else auth.of)
    from ..server.server import Server
    from ..transports.memory import Memory

    if not isinstance(server, Server):
        from ..base.copies import other_copy

        given, ours = type(server), Server.__module__
        what = other_copy(server, Server) or f"a {given.__module__}.{given.__qualname__}"
        raise TypeError(f"a Client is given a URL, a command as a list of strings, or a {ours}.Server, not {what}")
    return Memory(server, headers, wire)
