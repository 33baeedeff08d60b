"""client/elicitation, client/sampling, client/roots of 2025-11-25: handlers that ask as in 2026-07-28, for older clients.

Before 2026-07-28 a server asks by requests of its own, and a result that asks is unknown. So what the handler asks
is sent as real requests, all of a round at once, on the stream of the request that is served; once the last is answered the method
is called again as a modern client would call it, with inputResponses and requestState (patterns/mrtr). All that binds
an answer to its question is done there, the same for both eras. Nobody waits: the answer that completes a round has
the next one run by a thread of the transport's.

What goes wrong is told as each family of methods tells it: tools/call in a result with isError, for the model, the others by
-32603. A handler that goes on asking is -32603 whatever it is.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, Optional, Protocol, Union

from ..base.errors import HTTPError, InternalError, InvalidParams, MissingClientCapability, ProtocolError, from_handler
from ..base.log import log
from ..base.request import Request, RequestId
from ..base.versioning import LATEST
from ..lib.text import shown
from ..patterns.mrtr import Incomplete, check_answer
from ..patterns.notifications import Cancelled
from ..server.invoke import Asks
from ..server.state import State
from ..server.tools import failed
from .revisions import notification, question

MAX_ROUNDS = 8
PAUSE = 0.05
"""Seconds before a round that asks nothing, twice as many each time, since nothing but time can have changed."""

Outcome = Union[Dict[str, Any], ProtocolError, None]


class Outlet(Protocol):
    """Where messages to the client go: the stream of the request that is served, or the pipe."""

    def send(self, message: Dict[str, Any]) -> None:
        """Send it, or keep it for a client that comes back."""


class Session(Protocol):
    """What is asked of legacy.sessions.Session. version: the revision that was negotiated."""

    version: str

    def ask(self, outlet: Outlet, question: Dict[str, Any], hear: Callable[[Dict[str, Any]], None]) -> RequestId:
        """Send a request; `hear` is given its response, from any thread and once."""

    def withdraw(self, id: RequestId) -> None:
        """Tell the client that nobody waits for the answer any more; `hear` is not called."""


def converse(state: State, request: Request, session: Optional[Session], outlet: Outlet, asks: Asks,
             finish: Callable[[Outcome], None]) -> Conversation:
    """Have the questions of `asks` answered, and run the method again, until it has a result.

    session: None where none is kept. finish: called once, from any thread: with the result, as 2026-07-28 has it, with
    the error, or with None for a request that was cancelled, which nobody answers. What the handler reports in the rounds
    to come goes to the outlet. The Conversation is for `cancel`.
    """


def told(state: State, request: Request, session: Optional[Session], error: ProtocolError) -> Outcome:
    """An error of a method, as a legacy client is told: of a capability that it lacks -32021 would say nothing to it."""


class Conversation:
    """The rounds of one request."""

    def cancel(self) -> None:
        """The client has cancelled the request: its questions are withdrawn, and there is no answer."""
