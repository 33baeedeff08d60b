"""client: what a program calls a server with.

Implements BASE-03 to BASE-05, META-06, META-07, META-10, VERS-02, VERS-03, HTTP-23, HTTP-24, HTTP-56 to HTTP-58,
HTTP-61, HTTP-62, MRTR-02, MRTR-03, MRTR-19 to MRTR-23, TOOL-01, TOOL-11, TOOL-46, PAGE-01, PAGE-02, PAGE-05, PAGE-06.

The flow of one request:

    request                 its `_meta`, its deadline, its progress token: made once; `listen` begins at speak
     choice.speak           in the era of the server, see client/choice; of those before legacy/client has the rest
      _converse             rounds: an input_required result is answered and the request sent again (MRTR)
        _send               corrections: another version after -32022, a fresh tool list after -32020
          _attempt          one POST with a fresh id and the headers that mirror it
"""

from __future__ import annotations

import itertools
import os
import threading
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    TextIO,
    Tuple,
    TypeVar,
    Union,
)

from ..base import meta as reserved
from ..base import versioning
from ..base.errors import (
    CallCancelled,
    HeaderMismatch,
    HTTPError,
    McpError,
    ProtocolError,
    TooManyRounds,
    TransportError,
    UnsupportedProtocolVersion,
)
from ..base.headers import Parameter, mirrored_headers
from ..base.versioning import RELEASE
from ..lib.text import shown
from ..patterns import mrtr
from ..patterns.subscriptions import LIST_CHANGED
from ..transports.calls import MAX_SECONDS, CallHandle, Deadline, Headers, Silence, Wire
from .choice import AUTO, Choice, transport_to
from .elicitation import Inputs, OnElicit, OnListRoots, OnSample
from .era import older_era
from .pages import pages
from .resources import not_found
from .responses import INPUT_REQUIRED, Heard, OnLog, OnProgress, items, result_of
from .subscription import Listener
from .tools import KnownTool, check_output, known

if TYPE_CHECKING:
    from ..authorization.oauth_client import Authorization
    from ..legacy.client import Session
    from ..server.server import Server

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0

Timing = Union[float, Deadline, None]
Meta = Optional[Mapping[str, Any]]
Post = Callable[[Dict[str, Any], Dict[str, str]], Any]
Spoken = TypeVar("Spoken")


class Client:
    """A client of one server, also a context manager. Any number of threads may use it at once.

    server: the URL of an MCP endpoint; the command of a stdio server, as ["python3", "server.py"]; or a `Server` of
        this process, which is then called without a socket, see transports.memory.
    era: "modern" for 2026-07-28, "legacy" for 2025-11-25 and before, "auto" to find out what the server speaks, see
        client.choice; a server of this process is modern unless it is told otherwise.
    name, version: its clientInfo, left out with send_client_info=False.
    timeout: seconds that a call may take in all, its rounds and pages included; what a callback takes to answer the
        server is not counted. 60 by default, and without end in this process.
    headers: sent with every request, or a callable that makes them for each, to renew a token for example.
    wire: called after each exchange with what was sent and received, see transports.connection.Exchange.
    on_elicit, on_sample, on_list_roots: answer the server's questions, see client.elicitation; the client declares
        exactly what they cover. elicit_modes: what on_elicit handles of "form" and "url".
    on_progress, on_log: see client.received. log_level: the least level to be sent; "info" when only on_log is given.
    max_rounds: input_required results that one call goes along with.
    extensions: identifier to settings of the extensions it supports, as {"com.example/map": {}}, which it declares.
    validate_output: whether structuredContent is held against the outputSchema of its tool.
    auth: gets the access tokens that an HTTP server asks for, see authorization.login.OAuth.
    env, cwd, stderr, restart: of a stdio server's process, see transports.stdio_client; `close` ends it.

    Raises ValueError for an argument that cannot be used. Every method that calls the server raises ProtocolError
    (or a subclass) for the error it answers with, and otherwise HTTPError, Timeout, TransportError, AuthorizationError
    where no token is to be had, InvalidParams for a callback's answer that was not sent, or TooManyRounds. The `note`
    of the first two says so where the answer shows that the server speaks an older era.
    """

    versions: Tuple[str, ...] = versioning.MODERN

    def __init__(self, server: "Union[str, Sequence[str], Server]", *, era: str = AUTO, name: str = "mcp_ref",
                 version: str = RELEASE, timeout: Optional[float] = None, headers: Headers = None,
                 on_elicit: Optional[OnElicit] = None, on_sample: Optional[OnSample] = None,
                 on_list_roots: Optional[OnListRoots] = None, on_progress: Optional[OnProgress] = None,
                 on_log: Optional[OnLog] = None, log_level: Optional[str] = None, max_rounds: int = 10,
                 send_client_info: bool = True,
                 elicit_modes: Sequence[str] = mrtr.MODES, wire: Optional[Wire] = None,
                 extensions: Optional[Mapping[str, Mapping[str, Any]]] = None, validate_output: bool = True,
                 auth: "Optional[Authorization]" = None, env: Optional[Mapping[str, str]] = None,
                 cwd: "Union[str, os.PathLike[str], None]" = None, stderr: Optional[TextIO] = None,
                 restart: bool = False) -> None:
        self._transport = transport_to(server, headers, wire, auth, env=env, cwd=cwd, stderr=stderr, restart=restart)
        self.timeout = Deadline(self._transport.timeout if timeout is None else timeout).seconds
        self.max_rounds = max_rounds
        self.validate_output = validate_output
        self._inputs = Inputs(on_elicit, on_sample, on_list_roots, elicit_modes)
        self._on_progress, self._on_log = on_progress, on_log
        capabilities = dict(self._inputs.capabilities)
        if extensions:
            capabilities["extensions"] = reserved.checked_extensions(extensions)
        self._info = {"name": name, "version": version}
        self._fields: Dict[str, Any] = {reserved.CLIENT_CAPABILITIES: capabilities}
        if send_client_info:
            self._fields[reserved.CLIENT_INFO] = self._info
        if log_level is not None or on_log is not None:
            self._fields[reserved.LOG_LEVEL] = _level(log_level or "info")
        self._version = self.versions[0]
        self._ids, self._tokens = itertools.count(1), itertools.count(1)
        self._tools: Dict[str, Union[KnownTool, str]] = {}
        self._listings, self._tools_of = itertools.count(1), 0
        self._listing = threading.Lock()
        self._closed = threading.Event()
        self._streams: Set[Listener] = set()
        self.choice = Choice(self._transport, era, self._probe, self._session)

    @property
    def url(self) -> str:
        """The endpoint's URL, without user and password; of a server in this process `memory:` and its name, of a
        stdio server `stdio:` and its command."""
        return str(self._transport.address)

    def close(self) -> None:
        """End the client, its subscriptions and a stdio server: no request is begun any more, nor one that waits sent
        again."""
        self._closed.set()
        for subscription in list(self._streams):
            subscription.close()
        self.choice.close()
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Methods of the protocol. Their keywords timeout, on_progress, meta, log_level and handle are those of `request`.

    def discover(self, *, timeout: Timing = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
                 log_level: Optional[str] = None, handle: Optional[CallHandle] = None) -> Dict[str, Any]:
        """server/discover: supportedVersions, capabilities, instructions (server/discover)."""
        return self.request("server/discover", timeout=timeout, on_progress=on_progress, meta=meta, log_level=log_level,
                            handle=handle)

    def list_tools(self, *, timeout: Timing = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
                   log_level: Optional[str] = None, handle: Optional[CallHandle] = None) -> List[Dict[str, Any]]:
        """All tools of all pages, but for those with an invalid `x-mcp-header`, which are logged (server/tools).

        Of several calls at once the one begun last says what the arguments of a tool are mirrored by, whichever answer
        comes last.
        """
        number = next(self._listings)
        tools = known(pages(self.request, "tools/list", "tools", self._deadline(timeout, handle),
                            on_progress=on_progress, meta=meta, log_level=log_level))
        with self._listing:
            if number > self._tools_of:
                self._tools_of, self._tools = number, tools
        return [tool.definition for tool in tools.values() if isinstance(tool, KnownTool)]

    def list_resources(self, *, timeout: Timing = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
                       log_level: Optional[str] = None, handle: Optional[CallHandle] = None) -> List[Dict[str, Any]]:
        """All resources of all pages (server/resources)."""
        return pages(self.request, "resources/list", "resources", self._deadline(timeout, handle),
                     on_progress=on_progress, meta=meta, log_level=log_level)

    def list_resource_templates(self, *, timeout: Timing = None, on_progress: Optional[OnProgress] = None,
                                meta: Meta = None, log_level: Optional[str] = None,
                                handle: Optional[CallHandle] = None) -> List[Dict[str, Any]]:
        """All resource templates of all pages (server/resources)."""
        return pages(self.request, "resources/templates/list", "resourceTemplates", self._deadline(timeout, handle),
                     on_progress=on_progress, meta=meta, log_level=log_level)

    def list_prompts(self, *, timeout: Timing = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
                     log_level: Optional[str] = None, handle: Optional[CallHandle] = None) -> List[Dict[str, Any]]:
        """All prompts of all pages (server/prompts)."""
        return pages(self.request, "prompts/list", "prompts", self._deadline(timeout, handle),
                     on_progress=on_progress, meta=meta, log_level=log_level)

    def call_tool(self, name: str, arguments: Optional[Mapping[str, Any]] = None, *, timeout: Timing = None,
                  on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                  handle: Optional[CallHandle] = None) -> Dict[str, Any]:
        """Call a tool; returns the CallToolResult, also one with `isError: true` (server/tools).

        After list_tools the annotated arguments are mirrored in headers at once, and structuredContent is checked
        against the tool's outputSchema. Raises also SchemaError, before anything is sent, for an outputSchema that
        cannot be used, and TransportError for a tool that list_tools left out.
        """
        tool = self._tool(name)
        promised = None if tool is None or not self.validate_output else tool.output
        result = self.request("tools/call", _named(name, arguments), timeout=timeout, on_progress=on_progress,
                              meta=meta, log_level=log_level, handle=handle)
        items(result, "content")
        if promised is not None:
            check_output(name, promised, result)
        return result

    def read_resource(self, uri: str, *, timeout: Timing = None, on_progress: Optional[OnProgress] = None,
                      meta: Meta = None, log_level: Optional[str] = None,
                      handle: Optional[CallHandle] = None) -> Dict[str, Any]:
        """The ReadResourceResult for a URI; `client.resources.octets` decodes each of its contents (server/resources).

        Raises ResourceNotFound, an InvalidParams, where there is no such resource: for -32602 and for the older -32002,
        since the parameters are well-formed. Contents that are an empty list are those of a resource without any.
        """
        try:
            result = self.request("resources/read", {"uri": uri}, timeout=timeout, on_progress=on_progress, meta=meta,
                                  log_level=log_level, handle=handle)
        except ProtocolError as error:
            raise not_found(error) from None
        items(result, "contents")
        return result

    def get_prompt(self, name: str, arguments: Optional[Mapping[str, Optional[str]]] = None, *, timeout: Timing = None,
                   on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                   handle: Optional[CallHandle] = None) -> Dict[str, Any]:
        """The GetPromptResult of a prompt (server/prompts). An argument that is None is left out; "" is sent."""
        given = arguments and {each: value for each, value in arguments.items() if value is not None}
        result = self.request("prompts/get", _named(name, given), timeout=timeout, on_progress=on_progress, meta=meta,
                              log_level=log_level, handle=handle)
        items(result, "messages")
        return result

    def complete(self, ref: Mapping[str, Any], name: str, value: str, context: Optional[Mapping[str, str]] = None, *,
                 timeout: Timing = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
                 log_level: Optional[str] = None, handle: Optional[CallHandle] = None) -> Dict[str, Any]:
        """The `completion` object for an argument's beginnings (server/utilities/completion).

        ref: {"type": "ref/prompt", "name": …} or {"type": "ref/resource", "uri": …}. context: the arguments known.
        """
        params: Dict[str, Any] = {"ref": dict(ref), "argument": {"name": name, "value": value}}
        if context is not None:
            params["context"] = {"arguments": dict(context)}
        completion = self.request("completion/complete", params, timeout=timeout, on_progress=on_progress, meta=meta,
                                  log_level=log_level, handle=handle).get("completion")
        if not isinstance(completion, dict):
            raise TransportError("the server's result needs completion, an object")
        return completion

    def listen(self, *, tools: bool = False, prompts: bool = False, resources: bool = False, uris: Sequence[str] = (),
               timeout: Timing = None, idle: Optional[float] = None) -> Listener:
        """subscriptions/listen: a stream of notifications, returned once the server has acknowledged it.

        tools, prompts, resources: changes of these lists. uris: updates of these resources. timeout: seconds until the
        acknowledgment; the open stream has no end. idle: seconds without an octet, comments included, after which it
        counts as dead; servers send a comment every 15 s or so. Raises MethodNotFound where the server has no
        subscriptions. Compare `honoured` with what was asked for. What changed before the acknowledgment is not
        told: fetch the lists and resources once after it (basic/patterns/subscriptions).
        """
        if isinstance(uris, str):
            raise ValueError("uris is a sequence of URIs, not one")
        wanted: Dict[str, Any] = {name: True for name, asked in zip(LIST_CHANGED, (tools, prompts, resources)) if asked}
        if uris:
            wanted["resourceSubscriptions"] = list(uris)
        deadline, silence = self._deadline(timeout), Silence(MAX_SECONDS if idle is None else idle)

        def post(message: Dict[str, Any], headers: Dict[str, str]) -> Listener:
            answer = self._transport.answer(message, headers, deadline)
            return Listener(answer, message["id"], silence, self._streams)

        def modern() -> Listener:
            made: Listener = self._send("subscriptions/listen", {"_meta": self._fields, "notifications": wanted},
                                        deadline, post)
            return made

        made = self.choice.speak("subscriptions/listen", deadline, modern,
                           lambda session: session.listen(wanted, deadline, silence))
        if self._closed.is_set():
            made.close()
        return made

    def request(self, method: str, params: Optional[Mapping[str, Any]] = None, *, timeout: Timing = None,
                on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                handle: Optional[CallHandle] = None) -> Dict[str, Any]:
        """Send any request, answer what the server asks on the way, and return the complete result.

        timeout: seconds in all, the client's by default, or a Deadline that several requests share. on_progress: for
        this request. meta: more `_meta` fields, which win over the client's own, but for the version; ValueError for a
        key or a trace context that is malformed (META-02, META-18). log_level: the least level of this request's log
        messages, which wins over both. handle: another thread may cancel it with that; CallCancelled is raised then.
        """
        given = {**((params or {}).get("_meta") or {}), **(meta or {})}
        reserved.checked_meta(given)
        fields = {**self._fields, **given}
        if log_level is not None:
            fields[reserved.LOG_LEVEL] = _level(log_level)
        on_progress = on_progress or self._on_progress
        if on_progress is not None and type(fields.get(reserved.PROGRESS_TOKEN)) not in (str, int):
            fields[reserved.PROGRESS_TOKEN] = next(self._tokens)
        heard = Heard(fields.get(reserved.PROGRESS_TOKEN), on_progress, self._on_log)
        deadline = self._deadline(timeout, handle)

        def post(message: Dict[str, Any], headers: Dict[str, str]) -> Dict[str, Any]:
            return result_of(self._transport.post(message, headers, deadline, heard), message["id"])

        whole, unknown = {**(params or {}), "_meta": fields}, self.choice.finding is None

        def modern() -> Dict[str, Any]:
            if unknown and method == "server/discover" and self.choice.discovered is not None and not given:
                return self.choice.discovered  # which has been asked for a moment ago
            return self._converse(method, whole, deadline, post)

        try:
            return self.choice.speak(method, deadline, modern,
                                     lambda session: session.request(method, whole, deadline, heard))
        except McpError as error:
            if deadline.handle is not None and deadline.handle.cancelled:  # whatever a broken connection looks like
                raise CallCancelled() from (None if isinstance(error, CallCancelled) else error)
            raise

    # One request

    def _deadline(self, timeout: Timing, handle: Optional[CallHandle] = None) -> Deadline:
        if not isinstance(timeout, Deadline):
            return Deadline(self.timeout if timeout is None else timeout, handle)
        if handle is not None and handle is not timeout.handle:
            raise ValueError("a Deadline that is shared has its own handle: Deadline(seconds, handle)")
        return timeout

    def _probe(self, version: str, deadline: Deadline) -> Dict[str, Any]:
        """server/discover in a version, to find out whether the server speaks it."""
        self._version = version
        result: Dict[str, Any] = self._attempt("server/discover", {"_meta": self._fields}, lambda message, headers: (
            result_of(self._transport.post(message, headers, deadline, lambda _: None), message["id"])))
        return result

    def _session(self) -> "Session":
        """A session of an older era, which begins with initialize."""
        from ..legacy.client import Session

        return Session(self._transport, self._inputs, self._info, Heard(None, self._on_progress, self._on_log),
                       self._fields.get(reserved.LOG_LEVEL), self._ids, self._streams)

    def _converse(self, method: str, params: Dict[str, Any], deadline: Deadline, post: Post) -> Dict[str, Any]:
        """Rounds until the result is complete; each retry has the original params and this round's answers only."""
        original = {name: value for name, value in params.items() if name not in ("inputResponses", "requestState")}
        rounds = 0
        while True:
            result: Dict[str, Any] = self._send(method, params, deadline, post)
            if result.get("resultType") != INPUT_REQUIRED:
                return result
            if method not in mrtr.METHODS:
                raise TransportError(f"the server answered {method} with input_required, which it may not")
            if rounds >= self.max_rounds:
                raise TooManyRounds(f"the server still asks for input after {rounds} rounds")
            with deadline.on_hold():
                retry = self._inputs.retry(result)
            if "inputResponses" not in retry:  # a server that asks nothing needs time to get on
                deadline.pause(min(FIRST_PAUSE * 2**rounds, LONGEST_PAUSE), self._closed)
            params = {**original, **retry}
            rounds += 1

    def _send(self, method: str, params: Dict[str, Any], deadline: Deadline, post: Post) -> Any:
        """One attempt, and a second one where the server's error says how to do better."""
        version = self._version
        try:
            return self._attempt(method, params, post)
        except UnsupportedProtocolVersion as error:
            common = self._common_version(error, version)
            if common is None:
                raise
            self._version = common
        except HeaderMismatch:
            if method != "tools/call" or not self._mirrors_anew(params, deadline):
                raise
        return self._attempt(method, params, post)

    def _common_version(self, error: UnsupportedProtocolVersion, refused: str) -> Optional[str]:
        """A version of ours that the server says it supports, the refused one if there is no other (VERS-02)."""
        supported = error.data.get("supported") if isinstance(error.data, dict) else None
        common = [each for each in self.versions if isinstance(supported, list) and each in supported]
        return min(common, key=refused.__eq__, default=None)

    def _mirrors_anew(self, params: Mapping[str, Any], deadline: Deadline) -> bool:
        """List the tools again; whether the called one now has other headers (HTTP-61)."""
        before = self._mirrored("tools/call", params)
        try:
            self.list_tools(timeout=deadline)
        except ProtocolError:
            return False
        return self._mirrored("tools/call", params) != before

    def _attempt(self, method: str, params: Dict[str, Any], post: Post) -> Any:
        if self._closed.is_set():
            raise TransportError("the client is closed")
        version = self._version
        params = {**params, "_meta": {**params["_meta"], reserved.PROTOCOL_VERSION: version}}
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        headers = {"MCP-Protocol-Version": version, **mirrored_headers(message, self._mirrored(method, params))}
        try:
            return post(message, headers)
        except (ProtocolError, HTTPError) as error:
            error.note = older_era(error, method)
            raise

    def _mirrored(self, method: str, params: Mapping[str, Any]) -> Sequence[Parameter]:
        tool = self._tool(params.get("name")) if method == "tools/call" else None
        return () if tool is None else tool.mirrored

    def _tool(self, name: Any) -> Optional[KnownTool]:
        """The tool as last listed, None where it was not. Raises TransportError for one that was turned down."""
        tool = self._tools.get(name) if isinstance(name, str) else None
        if isinstance(tool, str):
            raise TransportError(f"tool {shown(name)} cannot be called: {tool}")
        return tool


def _named(name: str, arguments: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {"name": name} if arguments is None else {"name": name, "arguments": dict(arguments)}


def _level(name: str) -> str:
    if name not in reserved.LOG_LEVELS:
        raise ValueError(f"log_level is one of {', '.join(reserved.LOG_LEVELS)}, not {name!r}")
    return name
