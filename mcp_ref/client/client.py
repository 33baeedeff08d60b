"""client: what a program calls a server with.

Implements META-06, META-07, META-10, PAGE-01, PAGE-02, PAGE-05, PAGE-06, TOOL-01, TOOL-11, TOOL-46.

The flow of one request:

    request                 what the cache has of it, see client/cache; its `_meta`, deadline and progress token: once
     choice.speak           in the era of the server, see client/choice; of those before legacy/client has the rest
      rounds.converse       rounds, corrections, attempts: see client/rounds; `listen` begins at its send
       transport.post       a message on its way, and what came as its response
"""

from __future__ import annotations

import functools
import os
import threading
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    TextIO,
    Tuple,
    Union,
)

from ..base import meta as reserved
from ..base import versioning
from ..base.errors import CallCancelled, InvalidParams, McpError, ProtocolError, TransportError
from ..base.versioning import RELEASE
from ..patterns import mrtr
from ..patterns.subscriptions import LIST_CHANGED
from ..transports.calls import MAX_SECONDS, CallHandle, Deadline, Headers, Notified, Sent, Silence, Wire
from .choice import AUTO, Choice, transport_to
from .elicitation import Inputs, OnElicit, OnListRoots, OnSample
from .pages import LISTS, at, checked, whole
from .resources import not_found
from .responses import Heard, OnLog, OnProgress, Tokens, items, result_of
from .rounds import Rounds, answers, not_by_hand
from .subscription import Listener
from .tools import KnownTools, check_output

if TYPE_CHECKING:
    from ..authorization.oauth_client import Authorization
    from ..legacy.client import Session
    from ..server.server import Server
    from .cache import Cache, Share

Timing = Union[float, Deadline, None]
Meta = Optional[Mapping[str, Any]]


class Client:
    """A client of one server, also a context manager. Any number of threads may use it at once.

    server: the URL of an MCP endpoint; the command of a stdio server, as ["python3", "server.py"]; or a `Server` of
        this process, which is then called without a socket, see transports.memory.
    era: "modern" for 2026-07-28, "legacy" for 2025-11-25 and before, "auto" to find out what the server speaks, see
        client.choice; a server of this process is modern unless it is told otherwise.
    name, version: its clientInfo, left out with send_client_info=False.
    timeout: seconds that a call may take in all, its rounds and pages included; what a callback takes to answer the
        server is not counted. 60 by default, and without end in this process. max_timeout: with it every progress
        notification of a call begins `timeout` anew, until the call has taken so long in all.
    headers: sent with every request, or a callable that makes them for each, to renew a token for example.
    wire: called after each exchange with what was sent and received, see transports.exchange.Exchange.
    on_elicit, on_sample, on_list_roots: answer the server's questions, see client.elicitation; the client declares
        exactly what they cover. elicit_modes: what on_elicit handles of "form" and "url". sample_tools: whether
        on_sample lets its model use the tools that a server offers it.
    on_progress, on_log: see client.responses. log_level: the least level to be sent; "info" when only on_log is given.
    max_rounds: input_required results that one call goes along with.
    extensions: identifier to settings of the extensions it supports, as {"com.example/map": {}}, which it declares.
    validate_output: whether structuredContent is held against the outputSchema of its tool.
    auth: gets the access tokens that an HTTP server asks for, see authorization.login.OAuth.
    cache: keeps what the server allows to be kept, and answers with it, see client.cache; none by default.
    env, cwd, stderr, restart: of a stdio server's process, see transports.stdio_client; `close` ends it.

    Raises ValueError for an argument that cannot be used. Every method that calls the server raises ProtocolError
    (or a subclass) for the error it answers with, and otherwise HTTPError, Timeout, TransportError, AuthorizationError
    where no token is to be had, InvalidParams for a callback's answer that was not sent, or TooManyRounds. The `note`
    of the first two says so where the answer shows that the server speaks an older era.
    """

    versions: Tuple[str, ...] = versioning.MODERN

    def __init__(self, server: "Union[str, Sequence[str], Server]", *, era: str = AUTO, name: str = "mcp_ref",
                 version: str = RELEASE, timeout: Optional[float] = None, max_timeout: Optional[float] = None,
                 headers: Headers = None, on_elicit: Optional[OnElicit] = None, on_sample: Optional[OnSample] = None,
                 on_list_roots: Optional[OnListRoots] = None, on_progress: Optional[OnProgress] = None,
                 on_log: Optional[OnLog] = None, log_level: Optional[str] = None, max_rounds: int = 10,
                 send_client_info: bool = True, elicit_modes: Sequence[str] = mrtr.MODES, sample_tools: bool = False,
                 wire: Optional[Wire] = None, extensions: Optional[Mapping[str, Mapping[str, Any]]] = None,
                 validate_output: bool = True,
                 auth: "Optional[Authorization]" = None, env: Optional[Mapping[str, str]] = None,
                 cwd: "Union[str, os.PathLike[str], None]" = None, stderr: Optional[TextIO] = None,
                 restart: bool = False, cache: "Optional[Cache]" = None) -> None:
        self._transport = transport_to(server, headers, wire, auth, env=env, cwd=cwd, stderr=stderr, restart=restart)
        self.timeout = Deadline(self._transport.timeout if timeout is None else timeout, None, max_timeout).seconds
        self.max_timeout = max_timeout
        self.validate_output = validate_output
        self._inputs = Inputs(on_elicit, on_sample, on_list_roots, elicit_modes, sample_tools)
        self._on_progress, self._on_log = on_progress, on_log
        capabilities = dict(self._inputs.capabilities)
        if extensions:
            capabilities["extensions"] = reserved.checked_extensions(extensions)
        self._info = {"name": name, "version": version}
        self._fields: Dict[str, Any] = {reserved.CLIENT_CAPABILITIES: capabilities}
        if send_client_info:
            self._fields[reserved.CLIENT_INFO] = self._info
        if log_level is not None or on_log is not None:
            self._fields[reserved.LOG_LEVEL] = reserved.checked_level(log_level or "info")
        self._tokens = Tokens()
        self._closed = threading.Event()
        self._tools = KnownTools()
        self._rounds = Rounds(self._inputs, self.versions, max_rounds, self._tools,
                              lambda deadline: self.list_tools(timeout=deadline, fresh=True), self._closed)
        self._streams: Set[Listener] = set()
        self._cache: "Optional[Share]" = None
        if cache is not None:
            from .cache import Share

            self._cache = Share(cache, self._transport)
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

    # Methods of the protocol. Their keywords are those of `request`.

    def discover(self, *, timeout: Timing = None, max_timeout: Optional[float] = None,
                 on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                 handle: Optional[CallHandle] = None, fresh: bool = False) -> Dict[str, Any]:
        """server/discover: supportedVersions, capabilities, instructions (server/discover)."""
        return self.request("server/discover", timeout=timeout, max_timeout=max_timeout, on_progress=on_progress,
                            meta=meta, log_level=log_level, handle=handle, fresh=fresh)

    def list_tools(self, *, timeout: Timing = None, max_timeout: Optional[float] = None,
                   on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                   handle: Optional[CallHandle] = None, fresh: bool = False) -> List[Dict[str, Any]]:
        """All tools of all pages, but for those with an invalid `x-mcp-header`, which are logged (server/tools).

        Of several calls at once the one begun last says what the arguments of a tool are mirrored by, whichever answer
        comes last.
        """
        number = self._tools.begin()
        return self._tools.learn(self._whole("tools/list", self._deadline(timeout, handle, max_timeout), fresh,
                                             on_progress, meta, log_level), number)

    def list_resources(self, *, timeout: Timing = None, max_timeout: Optional[float] = None,
                       on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                       handle: Optional[CallHandle] = None, fresh: bool = False) -> List[Dict[str, Any]]:
        """All resources of all pages (server/resources)."""
        return self._whole("resources/list", self._deadline(timeout, handle, max_timeout), fresh, on_progress, meta,
                           log_level)

    def list_resource_templates(self, *, timeout: Timing = None, max_timeout: Optional[float] = None,
                                on_progress: Optional[OnProgress] = None, meta: Meta = None,
                                log_level: Optional[str] = None, handle: Optional[CallHandle] = None,
                                fresh: bool = False) -> List[Dict[str, Any]]:
        """All resource templates of all pages (server/resources)."""
        return self._whole("resources/templates/list", self._deadline(timeout, handle, max_timeout), fresh,
                           on_progress, meta, log_level)

    def list_prompts(self, *, timeout: Timing = None, max_timeout: Optional[float] = None,
                     on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                     handle: Optional[CallHandle] = None, fresh: bool = False) -> List[Dict[str, Any]]:
        """All prompts of all pages (server/prompts)."""
        return self._whole("prompts/list", self._deadline(timeout, handle, max_timeout), fresh, on_progress, meta,
                           log_level)

    def page(self, method: str, cursor: Optional[str] = None, *, timeout: Timing = None,
             max_timeout: Optional[float] = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
             log_level: Optional[str] = None, handle: Optional[CallHandle] = None,
             fresh: bool = False) -> Dict[str, Any]:
        """One page of the list that `method` is, as "tools/list": the result, whose `nextCursor` is that of the next.

        cursor: None for the first page. Tools are left out, and known to later calls, as by list_tools. Raises
        InvalidParams for a cursor that the server does not know: the list begins anew without one.
        """
        if method not in LISTS:
            raise ValueError(f"a list is one of {', '.join(LISTS)}, not {method!r}")
        page = checked(self.request(method, at(cursor), timeout=timeout, max_timeout=max_timeout,
                                    on_progress=on_progress, meta=meta, log_level=log_level, handle=handle,
                                    fresh=fresh), method)
        if method == "tools/list":
            page["tools"] = self._tools.learn(page["tools"])
        return page

    def pages(self, method: str, cursor: Optional[str] = None, *, timeout: Timing = None,
              max_timeout: Optional[float] = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
              log_level: Optional[str] = None, handle: Optional[CallHandle] = None,
              fresh: bool = False) -> Iterator[Dict[str, Any]]:
        """The pages of a list from `cursor` on, each as `page` gives it, and asked for when it is wanted.

        timeout: of each page. A server may go on without end: it is the caller who stops.
        """
        while True:
            page = self.page(method, cursor, timeout=timeout, max_timeout=max_timeout, on_progress=on_progress,
                             meta=meta, log_level=log_level, handle=handle, fresh=fresh)
            yield page
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def call_tool(self, name: str, arguments: Optional[Mapping[str, Any]] = None, *, timeout: Timing = None,
                  max_timeout: Optional[float] = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
                  log_level: Optional[str] = None, handle: Optional[CallHandle] = None, rounds: Optional[int] = None,
                  input_responses: Optional[Mapping[str, Any]] = None,
                  request_state: Optional[str] = None) -> Dict[str, Any]:
        """Call a tool; returns the CallToolResult, also one with `isError: true` (server/tools).

        After list_tools the annotated arguments are mirrored in headers at once, and structuredContent is checked
        against the tool's outputSchema. Raises also SchemaError, before anything is sent, for an outputSchema that
        cannot be used, and TransportError for a tool that list_tools left out.
        """
        tool = self._tools.find(name)
        promised = None if tool is None or not self.validate_output else tool.output
        result = self.request("tools/call", _named(name, arguments), timeout=timeout, max_timeout=max_timeout,
                              on_progress=on_progress, meta=meta, log_level=log_level, handle=handle, rounds=rounds,
                              input_responses=input_responses, request_state=request_state)
        items(result, "content")
        if promised is not None:
            check_output(name, promised, result)
        return result

    def read_resource(self, uri: str, *, timeout: Timing = None, max_timeout: Optional[float] = None,
                      on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                      handle: Optional[CallHandle] = None, fresh: bool = False, rounds: Optional[int] = None,
                      input_responses: Optional[Mapping[str, Any]] = None,
                      request_state: Optional[str] = None) -> Dict[str, Any]:
        """The ReadResourceResult for a URI; `client.resources.octets` decodes each of its contents (server/resources).

        Raises ResourceNotFound, an InvalidParams, where there is no such resource: for -32602 and for the older -32002,
        since the parameters are well-formed. Contents that are an empty list are those of a resource without any.
        """
        try:
            result = self.request("resources/read", {"uri": uri}, timeout=timeout, max_timeout=max_timeout,
                                  on_progress=on_progress, meta=meta, log_level=log_level, handle=handle, fresh=fresh,
                                  rounds=rounds, input_responses=input_responses, request_state=request_state)
        except ProtocolError as error:
            raise not_found(error) from None
        items(result, "contents")
        return result

    def get_prompt(self, name: str, arguments: Optional[Mapping[str, Optional[str]]] = None, *, timeout: Timing = None,
                   max_timeout: Optional[float] = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
                   log_level: Optional[str] = None, handle: Optional[CallHandle] = None, rounds: Optional[int] = None,
                   input_responses: Optional[Mapping[str, Any]] = None,
                   request_state: Optional[str] = None) -> Dict[str, Any]:
        """The GetPromptResult of a prompt (server/prompts). An argument that is None is left out; "" is sent."""
        given = arguments and {each: value for each, value in arguments.items() if value is not None}
        result = self.request("prompts/get", _named(name, given), timeout=timeout, max_timeout=max_timeout,
                              on_progress=on_progress, meta=meta, log_level=log_level, handle=handle, rounds=rounds,
                              input_responses=input_responses, request_state=request_state)
        items(result, "messages")
        return result

    def complete(self, ref: Mapping[str, Any], name: str, value: str, context: Optional[Mapping[str, str]] = None, *,
                 timeout: Timing = None, max_timeout: Optional[float] = None,
                 on_progress: Optional[OnProgress] = None, meta: Meta = None, log_level: Optional[str] = None,
                 handle: Optional[CallHandle] = None) -> Dict[str, Any]:
        """The `completion` object for an argument's beginnings (server/utilities/completion).

        ref: {"type": "ref/prompt", "name": …} or {"type": "ref/resource", "uri": …}. context: the arguments known.
        """
        named = ref.get({"ref/prompt": "name", "ref/resource": "uri"}.get(str(ref.get("type")), ""))
        if not all(isinstance(each, str) for each in (named, name, value, *(context or {}), *(context or {}).values())):
            raise ValueError("a completion has a ref with type and name or uri, an argument's name and value, and "
                             "context, all texts")
        params: Dict[str, Any] = {"ref": dict(ref), "argument": {"name": name, "value": value}}
        if context is not None:
            params["context"] = {"arguments": dict(context)}
        completion = self.request("completion/complete", params, timeout=timeout, max_timeout=max_timeout,
                                  on_progress=on_progress, meta=meta, log_level=log_level,
                                  handle=handle).get("completion")
        if not isinstance(completion, dict):
            raise TransportError("the server's result needs completion, an object")
        return completion

    def listen(self, *, tools: bool = False, prompts: bool = False, resources: bool = False, uris: Sequence[str] = (),
               timeout: Timing = None, idle: Optional[float] = None, reconnect: bool = False) -> Listener:
        """subscriptions/listen: a stream of notifications, returned once the server has acknowledged it.

        tools, prompts, resources: changes of these lists. uris: updates of these resources. timeout: seconds until the
        acknowledgment; the open stream has no end. idle: seconds without an octet, comments included, after which it
        counts as dead; servers send a comment every 15 s or so. reconnect: whether one that is lost is opened anew, see
        client.subscription; a stdio server then needs restart=True. Raises MethodNotFound where the server has no
        subscriptions. Compare `honoured` with what was asked for. What changed before the acknowledgment is not
        told: fetch the lists and resources once after it (basic/patterns/subscriptions).
        """
        if isinstance(uris, str):
            raise ValueError("uris is a sequence of URIs, not one")
        wanted: Dict[str, Any] = {name: True for name, asked in zip(LIST_CHANGED, (tools, prompts, resources)) if asked}
        if uris:
            wanted["resourceSubscriptions"] = list(uris)
        if reconnect and not getattr(self._transport, "restarts", True):
            raise ValueError("reconnect=True needs restart=True where the server is a process of this client's")
        silence, handle = Silence(MAX_SECONDS if idle is None else idle), CallHandle() if reconnect else None

        def begin() -> Listener:
            deadline = self._deadline(timeout, handle)

            def post(message: Dict[str, Any], headers: Dict[str, str]) -> Listener:
                answer = self._transport.answer(message, headers, deadline)
                return Listener(answer, message["id"], silence, self._streams)

            def modern() -> Listener:
                made: Listener = self._rounds.send("subscriptions/listen", {"_meta": self._fields,
                                                                            "notifications": wanted}, deadline, post)
                return made

            return self.choice.speak("subscriptions/listen", deadline, modern,
                                     lambda session: session.listen(wanted, deadline, silence))

        made = begin()
        if self._cache is not None:
            made.hear = self._cache.hear
        if handle is not None:
            made.last(begin, handle)
        if self._closed.is_set():
            made.close()
        return made

    def request(self, method: str, params: Optional[Mapping[str, Any]] = None, *, timeout: Timing = None,
                max_timeout: Optional[float] = None, on_progress: Optional[OnProgress] = None, meta: Meta = None,
                log_level: Optional[str] = None, handle: Optional[CallHandle] = None, fresh: bool = False,
                rounds: Optional[int] = None, input_responses: Optional[Mapping[str, Any]] = None,
                request_state: Optional[str] = None) -> Dict[str, Any]:
        """Send any request, answer what the server asks on the way, and return the complete result.

        timeout: seconds in all, the client's by default, or a Deadline that several requests share. max_timeout: as the
        client's. on_progress: for this request. meta: more `_meta` fields, which win over the client's own, but for the
        version; ValueError for a key or a trace context that is malformed (META-02, META-18). log_level: the least
        level of this request's log messages, which wins over both. handle: another thread may cancel it with that;
        CallCancelled is raised then. fresh: whether the server is asked whatever the cache has.

        rounds: how often the callbacks answer; what is asked then is raised as InputRequired, whose input_requests and
        request_state are what JSON can carry. With 0 all is left to the caller, who goes on, in another process if need
        be, by the same request with the answers as input_responses, by key, and that request_state (MRTR). Raises
        UnsupportedProtocolVersion where the server is of an older era, which asks by requests of its own.
        """
        by_hand = answers(rounds, input_responses, request_state)
        given = {**((params or {}).get("_meta") or {}), **(meta or {})}
        deadline, unknown = self._deadline(timeout, handle, max_timeout), self.choice.finding is None
        full = {**(params or {}), **by_hand, "_meta": self._envelope(given, log_level)}
        kept = None if fresh or self._cache is None else self._cache.find(method, self._rounds.stamped(full))
        if kept is not None and not self._closed.is_set() and deadline.left():
            return kept

        def post(message: Dict[str, Any], headers: Dict[str, str]) -> Dict[str, Any]:
            ask = functools.partial(self._result, message, headers, deadline, heard)
            return ask() if self._cache is None else self._cache.ask(method, message["params"], ask)

        def modern() -> Dict[str, Any]:
            if unknown and method == "server/discover" and self.choice.discovered is not None and not given:
                return self.choice.discovered  # which has been asked for a moment ago
            return self._rounds.converse(method, full, deadline, post, rounds)

        def legacy(session: "Session") -> Dict[str, Any]:
            if by_hand or rounds is not None:
                raise not_by_hand(session.version)
            return session.request(method, full, deadline, heard)

        heard = self._tokens.hearing(full["_meta"], on_progress or self._on_progress, self._on_log, deadline)
        try:
            return self.choice.speak(method, deadline, modern, legacy)
        except McpError as error:
            if deadline.handle is not None and deadline.handle.cancelled:  # whatever a broken connection looks like
                raise CallCancelled() from (None if isinstance(error, CallCancelled) else error)
            if isinstance(error, InvalidParams) and self._cache is not None:
                self._cache.refused(method, full)
            raise
        finally:
            self._tokens.release(heard)

    # One request

    def _deadline(self, timeout: Timing, handle: Optional[CallHandle] = None,
                  longest: Optional[float] = None) -> Deadline:
        if not isinstance(timeout, Deadline):
            longest = self.max_timeout if longest is None else longest
            return Deadline(self.timeout if timeout is None else timeout, handle, longest)
        if handle is not None and handle is not timeout.handle:
            raise ValueError("a Deadline that is shared has its own handle: Deadline(seconds, handle)")
        return timeout

    def _result(self, message: Dict[str, Any], headers: Dict[str, str], deadline: Deadline, notified: Notified,
                sent: Optional[Sent] = None) -> Dict[str, Any]:
        """What one message comes to."""
        return result_of(self._transport.post(message, headers, deadline, notified, sent), message["id"])

    def _envelope(self, given: Mapping[str, Any], log_level: Optional[str]) -> Dict[str, Any]:
        """The `_meta` of a request. given: what its caller has for it."""
        reserved.checked_meta(given)
        level = {} if log_level is None else {reserved.LOG_LEVEL: reserved.checked_level(log_level)}
        return {**self._fields, **given, **level}

    def _whole(self, method: str, deadline: Deadline, fresh: bool, on_progress: Optional[OnProgress], meta: Meta,
               log_level: Optional[str]) -> List[Dict[str, Any]]:
        """The items of a whole list: of pages that were kept, if all are fresh, and else of pages all fetched anew."""
        if self._cache is not None and not fresh and not self._closed.is_set():
            fields = {"_meta": self._envelope(meta or {}, log_level)}
            kept = self._cache.pages(method, self._rounds.stamped(fields))
            if kept is not None and deadline.left():
                return [item for page in kept for item in checked(page, method)[LISTS[method]]]
        return whole(self.request, method, deadline, on_progress=on_progress, meta=meta, log_level=log_level,
                     fresh=True)

    def _probe(self, version: str, deadline: Deadline) -> Dict[str, Any]:
        """server/discover in a version, to find out whether the server speaks it."""
        self._rounds.version = version

        result: Dict[str, Any] = self._rounds.attempt(
            "server/discover", {"_meta": self._fields},
            lambda message, headers: self._result(message, headers, deadline, lambda _: None))
        return result

    def _session(self) -> "Session":
        """A session of an older era, which begins with initialize."""
        from ..legacy.client import Session

        return Session(self._transport, self._inputs, self._info, Heard(None, self._on_progress, self._on_log),
                       self._fields.get(reserved.LOG_LEVEL), self._rounds.ids, self._streams)


def _named(name: str, arguments: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {"name": name} if arguments is None else {"name": name, "arguments": dict(arguments)}
