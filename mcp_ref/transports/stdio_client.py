"""basic/transports/stdio, Sending Messages, Receiving Messages and Cancellation: the client's end of a server's pipes.

Implements STDIO-04, STDIO-06, STDIO-07, STDIO-09, STDIO-16, CANC-05, SUBS-05. How a process is run is in
transports/child.

All requests share two pipes. One thread reads what the server writes and hands each message to the request it is for:
a response by its id, progress by its token, what a subscription tells by its subscriptionId, a log message, which names
none, to one of those that wait. What is for none of them goes to `on_message`, and to nobody where there is none: the
late answer to a request that was given up, or a request of a server that may not send one.

What is no message at all, such as a line that a library prints before the server has begun, is passed over, with one
warning in the log: a server that logs on the wrong stream is of use all the same.
"""

from __future__ import annotations

import collections
import functools
import os
import queue
import re
import threading
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, Optional, Sequence, TextIO, Tuple, Type, Union

from ..base.errors import BrokenOff, McpError, TransportError, Unreachable
from ..base.log import log
from ..base.meta import PROGRESS_TOKEN, SUBSCRIPTION_ID
from ..lib.strict_json import NotJson, decode
from ..lib.text import shown
from .calls import GLANCE, Deadline, Notified, Sent, Wire, encoded
from .child import MAX_LINE, PATIENCE, Child, Line, named

MAX_UNREAD = 8 * 1024 * 1024
"""Octets that may wait for a request whose caller does not read them."""
MAX_STARTS = 3
"""Starts of a server that dies without an answer, until it is given up."""
HASTE = 0.5
"""Seconds for each step of ending a server that is to be started anew."""
MAX_GIVEN_UP = 1000

_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*'
_JSONRPC = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_FIRST = re.compile(rb'\s*\{\s*(?:' + _JSONRPC + rb',\s*)?' + _ID + rb',\s*"(?:result|error)"')
_LAST = re.compile(rb',\s*(?:' + _JSONRPC + rb',\s*)?' + _ID + rb'(?:,\s*' + _JSONRPC + rb')?\}\s*$')
"""The id of a response that is no strict JSON, before its result or after it."""
WHERE_IDS_ARE = 300

Key = Tuple[type, Any]
Happened = Union[Tuple[Dict[str, Any], bytes], Callable[[], McpError], None]


class StdioClient:
    """Sends messages to a server that it starts as a process. Any number of threads may use it at once.

    command: the program and its arguments; no shell reads them. env: variables to set beside those of this process.
    cwd: the folder to start it in. stderr: the text stream that what the server writes on its standard error is passed
    on to, with an escape for every character that a terminal could act on; `sys.stderr` by default. restart: whether a
    server that has died is started again by the next request; the requests that were under way and the subscriptions
    end with BrokenOff either way, and MAX_STARTS in a row without an answer are the last. wire: called after each
    exchange with what was sent and what was received, JSON messages of one line each. Raises ValueError for an argument
    that cannot be used.

    The process is started by the first request, and ended by `close`, when the client is forgotten, and when this
    program ends. on_message: called, in the thread that reads, with each message that is for no request under way.
    on_ended: called when the process has ended. starts: how often it was started; a session of an older era ends with
    the process that it was begun with.
    """

    timeout = 60.0

    def __init__(self, command: Sequence[str], *, env: Optional[Mapping[str, str]] = None,
                 cwd: "Union[str, os.PathLike[str], None]" = None, stderr: Optional[TextIO] = None,
                 restart: bool = False, wire: Optional[Wire] = None) -> None:
        words = [*command, *(env or {}), *(env or {}).values()]
        if isinstance(command, str) or not command or not all(isinstance(word, str) for word in words):
            raise ValueError('the command of a stdio server is a list of strings, such as ["python3", "server.py"], '
                             'and so are the names and values of env')
        if stderr is not None and not hasattr(stderr, "write"):
            raise ValueError("stderr is a text stream, such as an open file")
        self.address = named(command)
        self.wire = wire
        self.on_message: Optional[Callable[[Dict[str, Any]], None]] = None
        self.on_ended: Optional[Callable[[], None]] = None
        self.starts = 0
        self.restarts, self._closed, self._warned, self._unanswered = restart, False, False, 0
        self._starting, self._routing = threading.RLock(), threading.Lock()
        self._calls: Dict[Key, Call] = {}
        self._given_up: Deque[Key] = collections.deque(maxlen=MAX_GIVEN_UP)
        self._child: Optional[Child] = None
        self._start = functools.partial(Child, list(command), self.address, weakref.WeakMethod(self._hear),
                                        weakref.WeakMethod(self._lost), env, cwd, stderr)

    def authorized(self) -> Dict[str, str]:
        """Nothing: who started the process is whom it serves."""
        return {}

    @property
    def ended(self) -> bool:
        """Whether the process that was started last is over."""
        child = self._child
        return child is not None and child.fate is not None

    def post(self, message: Mapping[str, Any], headers: Mapping[str, str], deadline: Deadline,
             notified: Notified, sent: Optional[Sent] = None) -> Any:
        """Send one request; returns what came as its response. notified: called with each notification ahead of it.

        headers, sent: not of use here. Raises Timeout, CallCancelled, Unreachable for a server that cannot be started
        or has ended, BrokenOff for one that ends before it has answered, and TransportError, for a message that is not
        JSON before anything is sent.
        """
        with self.answer(message, headers, deadline) as (_, messages):
            for answer in messages:
                if "method" not in answer:
                    return answer
                notified(answer)
        raise BrokenOff(f"{self.address} ended its answer without the response")

    @contextmanager
    def answer(self, message: Mapping[str, Any], headers: Mapping[str, str],
               deadline: Deadline) -> Iterator[Tuple["Call", Iterator[Dict[str, Any]]]]:
        """Send one request; gives the call, and the messages of its answer as they arrive. Leaving it ends it: the
        server is told so where it has not answered.

        It, and the iterator, raise what `post` does.
        """
        call = Call(self, message, encoded(message), deadline)
        deadline.left()
        handle = deadline.handle
        if handle is not None:
            handle.add(call.hang_up)
        try:
            self._begin(call)
            try:
                yield call, call.messages()
            finally:
                self._give_up(call)
                if self.wire is not None:
                    self.wire(call.sent.decode("ascii"), b"\n".join(call.received).decode("utf-8"))
        finally:
            if handle is not None:
                handle.discard(call.hang_up)

    def notify(self, message: Mapping[str, Any], headers: Mapping[str, str], deadline: Deadline) -> None:
        """Send a notification or, in the older eras, a response; returns once it is written. Raises as `post` does."""
        sent = encoded(message)
        child, line = self._running(), Line(sent)
        child.send(line)
        try:
            while not line.written.wait(min(GLANCE, deadline.left())):
                if child.fate is not None:
                    raise BrokenOff(f"{self.address} {child.fate}")
        finally:
            line.withdraw()
        if self.wire is not None:
            self.wire(sent.decode("ascii"), "")

    def restart(self, deadline: Deadline) -> None:
        """Kill the server, as one that answers nothing; the next request starts it anew. What is under way ends with
        BrokenOff."""
        deadline.left()
        with self._starting:
            self._end(HASTE, "was ended to be started anew")

    def close(self) -> None:
        """End the server: its input is closed, then it is told to end, then made to. It takes seconds at most."""
        self._closed = True
        with self._starting:
            self._end(PATIENCE, "was ended by its client")

    # The process

    def _running(self) -> Child:
        """The server's process, which is started where there is none. Raises Unreachable, TransportError."""
        child = self._child
        if child is not None and child.fate is None:
            return child
        with self._starting:
            if self._closed:
                raise TransportError("the client is closed")
            child = self._child
            if child is not None and child.fate is not None:
                if not self.restarts or self._unanswered >= MAX_STARTS:
                    often = f", {self._unanswered} times without an answer" if self._unanswered > 1 else ""
                    raise Unreachable(f"{self.address} {child.fate}{often}")
                self._end(HASTE, child.fate)
            if self._child is None:
                self._child = self._start()
                self._finish = weakref.finalize(self, self._child.end)  # also when the program ends
                self.starts += 1
                self._unanswered += 1
            return self._child

    def _end(self, patience: float, why: str) -> None:
        child = self._child
        if child is not None:
            self._fail(child, why)
            child.end(patience)
            self._finish.detach()
            self._child = None

    def _lost(self, child: Child) -> None:
        self._fail(child, str(child.fate))
        if self.on_ended is not None:
            self.on_ended()

    def _fail(self, child: Child, why: str, kind: Type[McpError] = BrokenOff) -> None:
        """End every request that is under way in that process."""
        with self._routing:
            calls = [call for call in self._calls.values() if call.child is child]
            for call in calls:
                del self._calls[call.key]
        for call in calls:
            call.end(why, kind)

    # Messages to their requests

    def _begin(self, call: "Call") -> None:
        """Send the request of a call; its answer finds it from now on."""
        child = call.child = self._running()
        with self._routing:
            if call.key in self._calls:
                raise TransportError(f"not sent: a request with the id {shown(call.key[1])} is under way already")
            self._calls[call.key] = call
        child.send(call.line)
        if child.fate is not None:  # it may have been told before the call was there
            self._fail(child, child.fate)

    def _give_up(self, call: "Call") -> None:
        """Nobody waits for the call any more; where it has no answer, the server is told so."""
        with self._routing:
            if self._calls.get(call.key) is not call:
                return
            del self._calls[call.key]
            self._given_up.append(call.key)
        if not call.line.withdraw() and call.method != "initialize":  # which may not be cancelled
            message = encoded({"jsonrpc": "2.0", "method": "notifications/cancelled",
                               "params": {"requestId": call.key[1]}})
            call.sent += b"\n" + message
            call.child.send(Line(message))

    def _hear(self, line: Optional[bytes]) -> None:
        """One line of the server's output, in the thread that reads."""
        if line is None:  # whose answer it was is not known, and they need not wait for it
            for child in {call.child for call in list(self._calls.values())}:
                self._fail(child, f"sent a line of more than {MAX_LINE} octets", TransportError)
            return
        try:
            message = decode(line)
        except NotJson as error:
            return self._unreadable(line, error)
        if isinstance(message, list) and self.on_message is not None:  # a batch, of a server of 2025-03-26
            for each in message:
                if isinstance(each, dict):
                    self._hear(encoded(each))
            return
        if not isinstance(message, dict):
            return self._foreign(line)
        if message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str):
            call = self._told(message)
            if call is not None and not call.put(message, line):
                self._give_up(call)
                call.end("sent more than was read", TransportError)
            elif call is None and self.on_message is not None:
                if self.wire is not None:
                    self.wire("", line.decode("utf-8"))
                self.on_message(message)
        elif "result" in message or "error" in message:
            message.pop("method", None)  # one that is no text makes no request of it
            self._answered(message, line)
        else:
            self._foreign(line)

    def _answered(self, message: Dict[str, Any], line: bytes) -> None:
        """A response. An error without an id, since the server could not read it, is that of the one that waits."""
        with self._routing:
            key = _key(message.get("id"))
            if message.get("id") is None and message.get("jsonrpc") == "2.0" and "error" in message:
                waiting = [call.key for call in self._calls.values() if not call.opened]
                key = waiting[0] if len(waiting) == 1 else key
            call = self._calls.pop(key, None)
            late = call is None and key in self._given_up
        if call is not None:
            self._unanswered = 0
            call.put(message, line)
        elif not late:
            self._foreign(line)

    def _told(self, message: Dict[str, Any]) -> Optional["Call"]:
        """The request under way that a notification is for."""
        method = message["method"]
        params = message.get("params")
        if "id" in message or not isinstance(params, dict):
            return None
        fields = params.get("_meta")
        with self._routing:
            if method == "notifications/progress":
                token = _key(params.get("progressToken"))
                return next((call for call in self._calls.values() if call.token == token), None)
            if method == "notifications/cancelled":  # the end of a subscription; of nothing else of ours
                call = self._calls.get(_key(params.get("requestId")))
                return call if call is not None and call.listens else None
            if isinstance(fields, dict) and SUBSCRIPTION_ID in fields:
                return self._calls.get(_key(fields[SUBSCRIPTION_ID]))
            if method == "notifications/message":
                return next((call for call in self._calls.values() if not call.listens), None)
        return None

    def _unreadable(self, line: bytes, error: NotJson) -> None:
        """What is not strict JSON; where it is the response to a request all the same, that one ends."""
        found = _FIRST.match(line[:WHERE_IDS_ARE]) or _LAST.search(line[-WHERE_IDS_ARE:])
        with self._routing:
            call = self._calls.pop(_key(decode(found.group(1))), None) if found else None
        if call is not None:
            call.end(f"sent what is not strict JSON: {error}", TransportError)
        elif line.strip():
            self._foreign(line)

    def _foreign(self, line: bytes) -> None:
        if not self._warned:
            self._warned = True
            log.warning("%s wrote to its standard output what no request waits for; it is passed over: %s",
                        self.address, shown(line[:200].decode("utf-8", "replace")))


def _key(id: Any) -> Key:
    """An id or token, its JSON type included: 1, "1", 1.0 and true are four."""
    return (type(id), id if isinstance(id, (str, int, float)) else None)


class Call:
    """One request and its answer. deadline: of each wait, and may be changed on the way. received: lines, for `wire`.

    headers, until: those of its answer, and of its token, of which there are none here.
    """

    headers: Mapping[str, str] = {}
    until: Optional[float] = None
    child: Child

    def __init__(self, transport: StdioClient, message: Mapping[str, Any], sent: bytes, deadline: Deadline) -> None:
        self.deadline, self.sent, self.line = deadline, sent, Line(sent)
        self.key, self.method = _key(message.get("id")), message.get("method")
        self.listens, self.opened = self.method == "subscriptions/listen", False
        params = message.get("params")
        fields = params.get("_meta") if isinstance(params, dict) else None
        token = fields.get(PROGRESS_TOKEN) if isinstance(fields, dict) else None
        self.token = None if token is None else _key(token)
        self._transport = transport
        self.received: List[bytes] = []
        self._came, self._taken = 0, 0
        self._happened: "queue.SimpleQueue[Happened]" = queue.SimpleQueue()

    def hang_up(self) -> None:
        """End it, from any thread: whoever waits looks up."""
        self._happened.put(None)

    def end(self, why: str, kind: Type[McpError]) -> None:
        """Its answer will not come, for that reason."""
        self._happened.put(functools.partial(kind, f"{self._transport.address} {why}"))

    def put(self, message: Dict[str, Any], line: bytes) -> bool:
        """A message for it has come; whether those that nobody has read yet are not too many."""
        self.opened = self.listens
        self._came += len(line)
        self._happened.put((message, line))
        return self._came - self._taken <= MAX_UNREAD

    def messages(self) -> Iterator[Dict[str, Any]]:
        """The messages of the answer: notifications, then the response. A subscription that the server only tears
        down, and one that was hung up, end without."""
        while True:
            try:
                happened = self._happened.get(timeout=self.deadline.left())
            except queue.Empty:
                self.deadline.waited()
                continue
            if happened is None:
                self.deadline.left()
                return
            if not isinstance(happened, tuple):
                raise happened()
            message, line = happened
            self._taken += len(line)
            if self._transport.wire is not None:
                self.received.append(line)
            if message.get("method") == "notifications/cancelled":
                return
            yield message
            if "method" not in message:
                return
