"""One loop on one selector, and the threads that take turns at it.

Not a page of the specification: it is how one process serves many connections, and knows nothing of HTTP or MCP.

One thread, the leader, has the loop: it waits on the selector and calls what is ready. Work that is likely to be quick
runs right there, inside `inline`, since to hand it to another thread costs more than to do it. If it has not come back
after `patience`, the thread that stands by takes the loop over, and the one that works keeps its work as a stray:
nobody else waits for it. So a quick call never changes threads, and a slow one holds nothing up. Work that is known to
be slow goes to a thread from the start (`submit`). Either way, what work returns is called by the leader, so that all
else belongs to one thread at a time and needs no lock.

What `call_soon` is given is done after what the selector has found. So answers leave together, where several requests
came together: their client is woken once for all of them, and to wake it is half of what a quick answer costs.

What threads share, and what keeps it right:

    _soon                        a deque: append and popleft are atomic
    _woken                       set before the octet that wakes, cleared after it is read: see `_hear`
    _leader, _inside, _strays,   change under `_lock` alone, but for the first lines of `inline`. Only the leader runs
    _jobs, _running, _threads,   those, and a thread that stands by can misread them only as "another call by now", so
    _resting, _standing_by       that it looks again. Outside of `inline` nobody takes the loop from its leader.
    the selector                 the leader's own; who else wants something of it says so by `call_soon`
"""

from __future__ import annotations

import collections
import functools
import selectors
import socket
import threading
import time
from typing import Any, Callable, Deque, List, Optional

from ..base.log import log

Then = Callable[[], Any]
"""What is to be done by the thread that has the loop."""
Work = Callable[[], Then]
"""Done by any thread; what it returns is then done by the one that has the loop."""

IN_A_ROW = 64
"""Calls of `call_soon` that are made before the selector is asked again."""
TOGETHER = 0.001
"""Seconds of quick calls after which those of `call_soon` are made, before what else the selector found."""
REST = 10.0
"""Seconds after which a thread that has nothing to do ends."""


def nothing() -> None:
    """Follows work that leaves nothing to do."""


class Loop:
    """A selector and its threads. workers: pieces of slow work at once. tick: seconds between two calls of `on_tick`.

    patience: seconds that inline work may take before another thread has the loop. The selector is there from `start`
    on, so that a process may fork before.
    """

    selector: selectors.BaseSelector

    def __init__(self, on_tick: Then, tick: float = 0.1, workers: int = 64, patience: float = 0.004) -> None:
        self._on_tick, self._tick, self._workers, self._patience = on_tick, tick, workers, patience
        self._soon: Deque[Then] = collections.deque()
        self._jobs: Deque[Work] = collections.deque()
        self._lock = threading.Lock()
        self._resting: List[threading.Event] = []  # a bell for each thread that has nothing to do
        self._leader = 0  # the thread that has the loop
        self._standing_by = False
        self._call, self._inside = 0, False  # the number of the inline call, and whether it is under way
        self._late: Then = nothing  # told when the inline call is late
        self._watching = False  # whether `_working` is set
        self._working = threading.Event()  # there may be an inline call to watch
        self._running = self._strays = self._threads = 0
        self._stopping = self._woken = False
        self._due = 0.0  # when `on_tick` is called next
        self._awake = 0.0  # until when the leader does not sleep

    def start(self) -> None:
        """Start the threads: one that leads, one that stands by. Raises RuntimeError where none can be started."""
        self.selector = selectors.DefaultSelector()
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self.selector.register(self._wake_out, selectors.EVENT_READ, self._hear)
        with self._lock:
            try:
                self._spawn()
                self._spawn()
            except RuntimeError:
                self._close()
                raise

    def stop(self) -> None:
        """End the loop. Work under way goes on to its end; nothing new is begun."""
        with self._lock:
            self._stopping = True
            for bell in self._resting:
                bell.set()
        self._working.set()
        if self.started:
            self._wake()

    @property
    def started(self) -> bool:
        """Whether there are threads."""
        return self._threads > 0

    @property
    def crowded(self) -> bool:
        """Whether so much inline work turned out slow that no more should be begun."""
        return self._strays >= self._workers

    def leads(self) -> bool:
        """Whether the calling thread has the loop."""
        return self._leader == threading.get_ident()

    def stay_awake(self, seconds: float) -> None:
        """Let the leader, who calls this, look again and again for so long before it sleeps.

        For a lone client that asks at once after each answer: to be woken takes longer than to answer.
        """
        self._awake = time.perf_counter() + seconds

    def call_soon(self, then: Then) -> None:
        """Have `then` done by the thread that has the loop, in order; from any thread."""
        self._soon.append(then)
        if not self._woken and self._leader != threading.get_ident():
            self._wake()

    def inline(self, work: Work, late: Then) -> None:
        """Do quick work on the loop's thread, which may have lost the loop when this returns: ask `leads`.

        late: called, by the thread that has taken the loop over, if it was not quick.
        """
        self._late = late
        self._call += 1
        self._inside = True
        if not self._watching:
            self._watching = True
            self._working.set()
        then: Then = nothing
        try:
            then = work()
        finally:
            with self._lock:
                leads = self._leader == threading.get_ident()
                if leads:
                    self._inside = False
                else:
                    self._strays -= 1
        if leads:
            then()
        else:
            self.call_soon(then)

    def submit(self, work: Work) -> None:
        """Have slow work done by a thread of its own, once there are fewer than `workers`; from any thread."""
        with self._lock:
            self._jobs.append(work)
            if self._running + self._strays < self._workers:
                self._call_one()

    # The threads

    def _call_one(self) -> None:
        """Have one more thread look for a part; with the lock held."""
        if self._resting:
            self._resting.pop().set()
        elif self._threads < self._workers + self._strays + 2:
            self._spawn()

    def _spawn(self) -> None:
        thread = threading.Thread(target=self._take_part, name="mcp-loop", daemon=True)
        self._threads += 1
        try:
            thread.start()
        except RuntimeError:  # no more threads to be had: those that there are go on
            self._threads -= 1
            if not self._threads:
                raise

    def _take_part(self) -> None:
        """Whatever there is to do: to lead, to stand by, or to work; ends when nothing came for a while."""
        part = self._next_part()
        while part is not None:
            try:
                part()
            except BaseException:  # a sys.exit that nobody has caught ends no thread that others count on
                log.exception("a fault of the loop")
            part = self._next_part()

    def _next_part(self) -> Optional[Callable[[], None]]:
        bell = threading.Event()
        while True:
            with self._lock:
                if self._leader in (0, threading.get_ident()) and not self._stopping:
                    self._leader = threading.get_ident()
                    return self._lead
                if not self._standing_by and not self._stopping:
                    self._standing_by = True
                    return self._stand_by
                if self._jobs and self._running + self._strays < self._workers and not self._stopping:
                    self._running += 1
                    return functools.partial(self._work, self._jobs.popleft())
                if not self._stopping and bell not in self._resting:
                    bell.clear()
                    self._resting.append(bell)
            rung = bell.wait(0.0 if self._stopping else REST)
            with self._lock:
                if self._stopping or not rung and bell in self._resting:
                    if bell in self._resting:
                        self._resting.remove(bell)
                    self._threads -= 1
                    if self._leader == threading.get_ident():
                        self._close()
                    return None

    def _work(self, work: Work) -> None:
        try:
            self.call_soon(work())
        finally:
            with self._lock:
                self._running -= 1

    def _stand_by(self) -> None:
        """Watch the inline work of the leader, and become the leader when it does not come back."""
        while not self._stopping:
            self._working.wait()
            call = self._call
            time.sleep(self._patience)
            with self._lock:
                if self._call != call or self._stopping:
                    continue
                if self._inside:
                    self._leader, self._inside, self._standing_by = threading.get_ident(), False, False
                    self._strays += 1
                    late = self._late
                    self._call_one()  # somebody stands by in turn
                    break
                self._working.clear()
                self._watching = False
                if self._inside:  # which began after the look at it, and may have taken the watch for awake
                    self._watching = True
                    self._working.set()
        else:
            return
        late()

    def _lead(self) -> None:
        me, soon = threading.get_ident(), self._soon
        while not self._stopping and self._catch_up(me):
            now = time.monotonic()
            if now >= self._due:
                self._due = now + self._tick
                self._on_tick()
            found = self._ready(0 if soon else self._tick)
            until = time.perf_counter() + TOGETHER
            for key, events in found:
                key.data(events)
                if self._leader != me:
                    return
                if time.perf_counter() > until:
                    if not self._catch_up(me):
                        return
                    until = time.perf_counter() + TOGETHER

    def _catch_up(self, me: int) -> bool:
        """Make the calls of `call_soon` there were; whether the thread `me` has the loop still."""
        for _ in range(min(len(self._soon), IN_A_ROW)):
            self._soon.popleft()()
            if self._leader != me:
                return False
        return True

    def _ready(self, seconds: float) -> Any:
        """What the selector finds, within so many seconds."""
        if self._awake:
            until, self._awake = self._awake, 0.0
            while time.perf_counter() < until:
                found = self.selector.select(0)
                if found:
                    return found
        return self.selector.select(seconds)

    def _close(self) -> None:
        self._leader = 0
        self.selector.close()
        self._wake_in.close()
        self._wake_out.close()

    def _wake(self) -> None:
        self._woken = True
        try:
            self._wake_in.send(b"x")
        except OSError:  # it is full, so that the thread wakes anyway; or there is no loop any more
            pass

    def _hear(self, _events: int) -> None:
        """Take the octets that woke this thread, then ask for new ones; the other way round, one sent between the two
        would be taken and its sender believe the thread awake."""
        try:
            while self._wake_out.recv(4096):
                pass
        except OSError:
            pass
        self._woken = False
