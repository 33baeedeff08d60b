"""The event loop on which a server's async handlers run, all of them on one, in a thread of its own.

One loop for all calls, so that what belongs to a loop (an asyncio.Lock, a queue, an HTTP session) can be shared by
them. A plain handler never comes here. Where no thread can be started, as on WebAssembly, each is run in place by
asyncio.run: they share no loop there, and nothing cancels them.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Awaitable, Dict, Optional

from ..base.log import log
from ..base.request import Request
from ..patterns.mrtr import InputRequired
from ..patterns.notifications import Cancelled

if TYPE_CHECKING:
    import asyncio

TICK = 0.1
"""Seconds between two looks at whether the client is still there."""


class EventLoop:
    """Runs async handlers for threads that wait for them. Its thread begins with the first and ends with it."""

    def __init__(self) -> None:
        self._loop: "Optional[asyncio.AbstractEventLoop]" = None
        self._thread: Optional[threading.Thread] = None
        self._lock = threading.Lock()

    def run(self, awaitable: "Awaitable[Any]", request: Request) -> Any:
        """What `awaitable` returns, run in a copy of the caller's context; raises what it raises.

        When the request is cancelled, the task is (CancelledError at its await), and Cancelled is raised once it has
        ended. To be called from a thread of its own for each request; raises RuntimeError in that of the loop, which
        would wait for itself, and with it every async handler.
        """
        import asyncio  # only servers with async handlers pay for it

        tasks: "list[asyncio.Task[Any]]" = []
        ended = threading.Event()

        async def whole() -> Any:
            try:
                return await awaitable
            except (SystemExit, KeyboardInterrupt) as error:  # which would end the loop
                raise RuntimeError(f"the handler raised {type(error).__name__}") from error

        loop = self._started()
        if loop is None:
            return asyncio.run(whole())
        if threading.current_thread() is self._thread:
            getattr(awaitable, "close", bool)()
            raise RuntimeError("an async handler waits for another of its server's: call the function itself, or have "
                               "the Client wait in a thread, as await loop.run_in_executor(None, …)")

        def begin() -> None:
            tasks.append(loop.create_task(whole()))
            tasks[0].add_done_callback(lambda _: ended.set())

        loop.call_soon_threadsafe(begin)  # in a copy of this thread's context, which the task copies in turn
        while not ended.wait(TICK):
            if request.cancelled and tasks:
                loop.call_soon_threadsafe(tasks[0].cancel)
                ended.wait()
        try:
            return tasks[0].result()
        except asyncio.CancelledError:
            if request.cancelled:
                raise Cancelled() from None
            raise

    def _started(self) -> "Optional[asyncio.AbstractEventLoop]":
        """The loop, running; None where no thread can be started."""
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():  # in a fork it is not
                import asyncio

                loop, ending = asyncio.new_event_loop(), threading.Event()
                loop.set_exception_handler(_heard)
                self._thread = threading.Thread(target=_run, args=(loop, ending), name="mcp-event-loop", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:
                    loop.close()
                    return None
                self._loop = loop
                weakref.finalize(self, _end, loop, ending)
            return self._loop


def _run(loop: "asyncio.AbstractEventLoop", ending: threading.Event) -> None:
    while not ending.is_set():  # and not when a handler stops it, for there are others
        try:
            loop.run_forever()
        except BaseException:  # a sys.exit in a task that a handler started; the others go on
            log.exception("a task of an async handler tried to end the process")
    loop.close()


def _heard(loop: "asyncio.AbstractEventLoop", context: Dict[str, Any]) -> None:
    """What asyncio has to tell, but that a question or a cancellation ended a task that nobody awaits: no fault."""
    if not isinstance(context.get("exception"), (InputRequired, Cancelled)):
        loop.default_exception_handler(context)


def _end(loop: "asyncio.AbstractEventLoop", ending: threading.Event) -> None:
    ending.set()
    loop.call_soon_threadsafe(loop.stop)
