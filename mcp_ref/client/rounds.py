"""basic/patterns/mrtr, the client's side: a request of 2026-07-28 on its way, until its result is complete.

Implements BASE-03 to BASE-05, HTTP-23, HTTP-24, HTTP-56 to HTTP-58, HTTP-61, HTTP-62, MRTR-02, MRTR-03, MRTR-19 to
MRTR-23, VERS-02, VERS-03.

    converse    rounds: an input_required result is answered and the request sent again
    send        corrections: another version after -32022, a fresh tool list after -32020
    attempt     one message with a fresh id and the headers that mirror it
"""

from __future__ import annotations

import itertools
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..base.errors import (
    HeaderMismatch,
    HTTPError,
    ProtocolError,
    TooManyRounds,
    TransportError,
    UnsupportedProtocolVersion,
)
from ..base.headers import Parameter, mirrored_headers
from ..base.meta import PROTOCOL_VERSION
from ..base.versioning import MODERN
from ..patterns import mrtr
from ..transports.calls import Deadline
from .elicitation import Inputs, asked
from .era import older_era
from .responses import INPUT_REQUIRED
from .tools import KnownTools

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0

Post = Callable[[Dict[str, Any], Dict[str, str]], Any]
"""Sends a message, with the headers that mirror it, and gives what it comes to."""


class Rounds:
    """How one client's requests go. Any number of threads may use it at once.

    inputs: its callbacks. versions: that it speaks, the first to begin with. max_rounds: that it goes along with.
    tools: those it knows. relist: fetches them anew, within a deadline. closed: set once it has ended.
    """

    def __init__(self, inputs: Inputs, versions: Sequence[str], max_rounds: int, tools: KnownTools,
                 relist: Callable[[Deadline], Any], closed: threading.Event) -> None:
        self.ids = itertools.count(1)
        self.version = versions[0]
        self.max_rounds = max_rounds
        self._inputs, self._versions, self._tools = inputs, versions, tools
        self._relist, self._closed = relist, closed

    def converse(self, method: str, params: Dict[str, Any], deadline: Deadline, post: Post,
                 by_hand: Optional[int] = None) -> Dict[str, Any]:
        """Rounds until the result is complete; each retry has the original params and this round's answers only.

        by_hand: how many are gone along with; the question of the next is raised as InputRequired.
        """
        rounds = 0
        while True:
            result: Dict[str, Any] = self.send(method, params, deadline, post)
            if result.get("resultType") != INPUT_REQUIRED:
                return result
            if method not in mrtr.METHODS:
                raise TransportError(f"the server answered {method} with input_required, which it may not")
            if rounds == by_hand:
                raise asked(result)
            if by_hand is None and rounds >= self.max_rounds:
                raise TooManyRounds(f"the server still asks for input after {rounds} rounds")
            with deadline.on_hold():
                retry = self._inputs.retry(result)
            if "inputResponses" not in retry:  # a server that asks nothing needs time to get on
                deadline.pause(min(FIRST_PAUSE * 2**rounds, LONGEST_PAUSE), self._closed)
            original = {name: value for name, value in params.items() if name not in ("inputResponses", "requestState")}
            params = {**original, **retry}
            rounds += 1

    def send(self, method: str, params: Dict[str, Any], deadline: Deadline, post: Post) -> Any:
        """One attempt, and a second one where the server's error says how to do better."""
        version = self.version
        try:
            return self.attempt(method, params, post)
        except UnsupportedProtocolVersion as error:
            common = self._common_version(error, version)
            if common is None:
                raise
            self.version = common
        except HeaderMismatch:
            if method != "tools/call" or not self._mirrors_anew(params, deadline):
                raise
        return self.attempt(method, params, post)

    def attempt(self, method: str, params: Mapping[str, Any], post: Post) -> Any:
        """One message. Raises TransportError once the client is closed."""
        if self._closed.is_set():
            raise TransportError("the client is closed")
        params = self.stamped(params)
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        headers = {"MCP-Protocol-Version": params["_meta"][PROTOCOL_VERSION],
                   **mirrored_headers(message, self._mirrored(method, params))}
        try:
            return post(message, headers)
        except (ProtocolError, HTTPError) as error:
            error.note = older_era(error, method)
            raise

    def stamped(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """Params with the version in their `_meta`."""
        return {**params, "_meta": {**params["_meta"], PROTOCOL_VERSION: self.version}}

    def _common_version(self, error: UnsupportedProtocolVersion, refused: str) -> Optional[str]:
        """A version of ours that the server says it supports, the refused one if there is no other (VERS-02)."""
        supported = error.data.get("supported") if isinstance(error.data, dict) else None
        common: List[str] = [each for each in self._versions if isinstance(supported, list) and each in supported]
        return min(common, key=refused.__eq__, default=None)

    def _mirrors_anew(self, params: Mapping[str, Any], deadline: Deadline) -> bool:
        """List the tools again; whether the called one now has other headers (HTTP-61)."""
        before = self._mirrored("tools/call", params)
        try:
            self._relist(deadline)
        except ProtocolError:
            return False
        return self._mirrored("tools/call", params) != before

    def _mirrored(self, method: str, params: Mapping[str, Any]) -> Sequence[Parameter]:
        tool = self._tools.find(params.get("name")) if method == "tools/call" else None
        return () if tool is None else tool.mirrored


def answers(rounds: Optional[int], responses: Optional[Mapping[str, Any]], state: Optional[str]) -> Dict[str, Any]:
    """What a request has beside its params where the caller answers by hand. Raises ValueError for such `rounds`."""
    if rounds is not None and (type(rounds) is not int or rounds < 0):
        raise ValueError(f"rounds is a number of at least 0, not {rounds!r}")
    made: Dict[str, Any] = {} if responses is None else {"inputResponses": dict(responses)}
    return made if state is None else {**made, "requestState": state}


def not_by_hand(version: str) -> UnsupportedProtocolVersion:
    """What tells the caller of rounds by hand that the server speaks an older version."""
    made = UnsupportedProtocolVersion(MODERN[0], [version])
    made.note = "Rounds by hand need 2026-07-28; a server of an older era asks by requests, which callbacks answer."
    return made
