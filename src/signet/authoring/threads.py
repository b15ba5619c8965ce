"""Threads for functions that may block: daemons, so that one that never returns holds nobody up at the end.

    event loop ── run ── jobs ── a thread ── done ── event loop, woken once for all that is done

Quick functions follow each other in one thread, because threads that take turns cost more than the functions. A job
that has waited for a millisecond brings more threads; where nothing was finished meanwhile, one for each job.

Callers share the threads: the next job is of the caller with the fewest that run. A thread whose caller has given up is
lost: another takes its place, until its caller has lost `MAX_LOST` with a tool, or a share of `MAX_ALL_LOST` with all.
Who makes calls and leaves them is refused then, and the tool is there for the others.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context as Variables
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final
from weakref import WeakKeyDictionary

from signet.kernel.caller import holder_now
from signet.system.places import Line, Shares

__all__ = ["MAX_LOST", "Job", "Threads", "threads_of"]

MAX_THREADS: Final = 64
"""The calls of plain functions that run at once; further ones wait for their turn.

As many threads again are for callers that have none: one for each.
"""
PATIENCE_S: Final = 0.001
"""How long a job waits for a thread that is at work before others are woken."""
MAX_LOST: Final = 16
"""The calls of one caller to one tool that may run on after their client has left; beyond it, the caller is refused."""
MAX_ALL_LOST: Final = 128
"""The calls of all callers that may do so and have other threads in their places; of the rest, none has."""
IDLE_S: Final = 60.0
"""How long a thread waits for work before it ends."""


class Job:
    """A function that is to run in a thread."""

    __slots__ = ("drop", "future", "holder", "is_abandoned", "is_lost", "is_running", "owner", "variables", "work")

    def __init__(
        self,
        work: Callable[[Job], Any],
        future: asyncio.Future[Any],
        owner: str,
        holder: str,
        drop: Callable[[Job], None],
    ) -> None:
        self.work = work
        self.future = future
        self.owner = owner
        """The tool."""
        self.holder = holder
        """Whose share of the threads it uses."""
        self.variables: Variables = copy_context()
        self.drop = drop
        self.is_running = False
        self.is_abandoned = False
        """Whether nobody waits for it any more."""
        self.is_lost = False
        """Whether its thread is counted no more."""

    def abandon(self, future: asyncio.Future[Any]) -> None:
        """Take note that the call has ended; one that was cancelled has left its function behind."""
        if future.cancelled():
            self.drop(self)


class Threads:
    """A bounded number of threads that run the jobs of one event loop."""

    def __init__(self, limit: int = MAX_THREADS) -> None:
        self._new: deque[Job] = deque()
        """The jobs that have come since a thread took one."""
        self._shares = Shares("threads of plain functions", limit)
        self._jobs: Line[Job] = Line(self._shares, spare=limit)
        """The jobs that wait and, by their callers, those that run."""
        self._limit = self._jobs.most
        self._lock = threading.Lock()
        self._active = 0
        """The threads that are at work."""
        self._started = 0
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._finished = 0
        """The number of jobs that have ended, ever."""
        self._seen = 0
        """What that was when the jobs were looked at last."""
        self._is_begun = False
        self._is_watched = False
        self._done: deque[tuple[Job, Any]] = deque()
        self._is_told = False
        self._lost = Shares("threads of calls that were left", MAX_ALL_LOST)
        self.left: dict[tuple[str, str], int] = {}
        """The calls that were left and run on, by caller and tool."""

    def lost_by(self, holder: str, owner: str) -> int:
        """Return how many calls of a caller have not returned, if they are so many that no further one may begin.

        These are the calls of one tool, or of all tools.
        """
        mine = self.left.get((holder, owner), 0)
        if mine >= MAX_LOST:
            return mine
        everything = self._lost.of(holder)
        return 0 if not everything or self._lost.has_room(holder) else everything

    def run(
        self,
        work: Callable[[Job], Any],
        owner: str = "",
        holder: str | None = None,
        on_wait: Callable[[str], None] | None = None,
    ) -> asyncio.Future[Any]:
        """Run a tool's function in a thread; the future's result is its value, or the exception that it raised.

        Without a holder, it is of the caller whose call runs now. `on_wait` gets a text first where it must wait.
        """
        if holder is None:
            holder = holder_now()
        if on_wait is not None and self._active and not self._jobs.may_have(holder):
            on_wait("waiting for a free thread")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        job = Job(work, future, owner, holder, self._drop)
        future.add_done_callback(job.abandon)
        self._new.append(job)
        if not self._is_begun:
            # After what else the loop has to do now, which may bring more jobs.
            self._is_begun = True
            loop.call_soon(self._begin, loop)
        return future

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_begun = False
        if not self._active:
            self._wake(1)
        if not self._is_watched:
            self._is_watched = True
            self._seen = self._finished
            loop.call_later(PATIENCE_S, self._watch, loop)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake more threads for jobs that still wait, until there are none of either.

        Where no job may begin, the first thread that is done takes the next one by itself.
        """
        is_over = self._active >= self._limit or not (self._new or self._jobs.count)
        if not is_over:
            with self._lock:
                self._queue_new()
                is_over = not self._jobs.ready(1)
        if is_over:
            self._is_watched = False
            return
        stuck = self._finished == self._seen
        self._wake(self._jobs.count if stuck else max(1, self._active))
        self._seen = self._finished
        loop.call_later(PATIENCE_S, self._watch, loop)

    def _wake(self, count: int) -> None:
        with self._lock:
            if count > 1:
                self._queue_new()
                count = self._jobs.ready(count)
            elif not self._new and not self._jobs.count:
                return
            count = max(0, min(count, self._limit - self._active))
            self._active += count
            fresh = max(0, self._active - self._started)
            self._started += fresh
            for _ in range(count):
                self._wakes.put(None)
        for _ in range(fresh):
            threading.Thread(target=self._work, name="signet-tool", daemon=True).start()

    def _work(self) -> None:
        while self._is_woken():
            while (job := self._next()) is not None:
                value = None if job.is_abandoned else _value_of(job)
                self._finished += 1
                if self._has_lost(job):
                    return
                self._done.append((job, value))
                if not self._is_told:
                    self._is_told = True
                    self._tell(job)

    def _is_woken(self) -> bool:
        """Wait for work; a thread that nobody has woken for a while ends."""
        while True:
            try:
                self._wakes.get(timeout=IDLE_S)
            except Empty:
                with self._lock:
                    if self._wakes.empty():
                        self._started -= 1
                        return False
            else:
                return True

    def _next(self) -> Job | None:
        """Return the next job; without one the thread is at work no longer."""
        with self._lock:
            new, jobs, shares = self._new, self._jobs, self._shares
            if new and not jobs.count and (not shares.held or jobs.may_have(new[0].holder)):
                # The quick way: the queue is empty, and the first that came may begin.
                shares.hold(new[0].holder)
                job: Job | None = new.popleft()
            else:
                if new:
                    self._queue_new()
                job = jobs.next() if jobs.count else None
            if job is not None:
                job.is_running = True
                return job
            self._active -= 1
            return None

    def _queue_new(self) -> None:
        """Let the jobs wait that have come, each with those of its caller; below the lock."""
        new, jobs = self._new, self._jobs
        while new:
            job = new.popleft()
            jobs.add(job.holder, job)

    def _has_lost(self, job: Job) -> bool:
        """Return whether the thread of a job that has ended was given up; another one is in its place."""
        with self._lock:
            job.is_running = False
            if job.is_abandoned:
                self._count_lost(job, -1)
            if job.is_lost:
                self._lost.give_back(job.holder)
            else:
                self._shares.give_back(job.holder)
            return job.is_lost

    def _drop(self, job: Job) -> None:
        """Forget a job that nobody waits for; one that runs has its thread for itself from now on."""
        with self._lock:
            job.is_abandoned = True
            if not job.is_running:
                self._queue_new()
                self._jobs.drop(job.holder, job)
                return
            self._count_lost(job, 1)
            if not self._lost.take(job.holder):
                # It keeps its place among those that run: the number of threads is bounded by them.
                return
            job.is_lost = True
            self._jobs.give_back(job.holder)
            self._active -= 1
            self._started -= 1
        self._wake(1)

    def _count_lost(self, job: Job, more: int) -> None:
        """Count one more or one less of the calls that were left, by their caller and tool."""
        key = job.holder, job.owner
        left = self.left.get(key, 0) + more
        if left:
            self.left[key] = left
        else:
            del self.left[key]

    def _tell(self, job: Job) -> None:
        try:
            job.future.get_loop().call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The loop has ended, and with it everybody who waited.
            self._is_told = False
            self._done.clear()

    def _deliver(self) -> None:
        # First the mark, then the results: one that comes between the two tells the loop again.
        self._is_told = False
        while self._done:
            job, value = self._done.popleft()
            if not job.future.done():
                job.future.set_result(value)
        if self._jobs.count and not self._is_watched:
            # What ended may have been in the way of more than the one job that is in its place.
            self._begin(asyncio.get_running_loop())


_POOLS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Threads]] = WeakKeyDictionary()


def threads_of(loop: asyncio.AbstractEventLoop) -> Threads:
    """Return the threads of an event loop."""
    threads = _POOLS.get(loop)
    if threads is None:
        threads = _POOLS[loop] = Threads()
    return threads


def _value_of(job: Job) -> Any:
    """Return what a job returns or raises; not even SystemExit may end a thread that others wait for."""
    try:
        return job.variables.run(job.work, job)
    except BaseException as error:  # noqa: BLE001 - a tool's failure is its value
        return error
