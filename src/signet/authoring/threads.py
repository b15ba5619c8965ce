"""Threads for functions that may block: daemons, so that one that never returns holds nobody up at the end.

    event loop ── run ── jobs ── a thread ── done ── event loop, woken once for all that is done

Quick functions follow each other in one thread, because threads that take turns cost more than the functions. A job
that has waited for a millisecond brings more threads; where nothing was finished meanwhile, one for each job.
A thread whose caller has given up is lost: another takes its place, until a tool has lost `MAX_LOST`.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from contextvars import Context as Variables
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final
from weakref import WeakKeyDictionary

__all__ = ["MAX_LOST", "Job", "Threads", "threads_of"]

MAX_THREADS: Final = 64
"""The calls of plain functions that run at once; further ones wait for their turn."""
PATIENCE_S: Final = 0.001
"""How long a job waits for a thread that is at work before others are woken."""
MAX_LOST: Final = 16
"""The calls of one tool that may run on although nobody waits for them; then the tool is refused."""
IDLE_S: Final = 60.0
"""How long a thread waits for work before it ends."""


class Job:
    """A function that is to run in a thread."""

    __slots__ = ("drop", "future", "is_abandoned", "is_lost", "is_running", "owner", "variables", "work")

    def __init__(
        self,
        work: Callable[[Job], Any],
        future: asyncio.Future[Any],
        owner: str,
        drop: Callable[[Job], None],
    ) -> None:
        self.work = work
        self.future = future
        self.owner = owner
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
            self.is_abandoned = True
            self.drop(self)


class Threads:
    """A bounded number of threads that run the jobs of one event loop."""

    def __init__(self, limit: int = MAX_THREADS) -> None:
        self._limit = limit
        self._jobs: OrderedDict[Job, None] = OrderedDict()
        """The jobs that wait, first come first served."""
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
        self._lost: dict[str, int] = {}
        """The calls of each tool that run on although nobody waits for them."""

    def is_stuck(self, owner: str) -> bool:
        """Return whether so many calls of a tool have not returned that no further one may begin."""
        return self._lost.get(owner, 0) >= MAX_LOST

    @property
    def has_room(self) -> bool:
        """Whether a job would begin soon."""
        return self._active < self._limit

    def run(self, work: Callable[[Job], Any], owner: str = "") -> asyncio.Future[Any]:
        """Run a tool's function in a thread; the future's result is its value, or the exception that it raised."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        job = Job(work, future, owner, self._drop)
        future.add_done_callback(job.abandon)
        self._jobs[job] = None
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

        Where all threads are at work, the first that is done takes the next job by itself.
        """
        if not self._jobs or self._active >= self._limit:
            self._is_watched = False
            return
        stuck = self._finished == self._seen
        self._wake(len(self._jobs) if stuck else max(1, self._active))
        self._seen = self._finished
        loop.call_later(PATIENCE_S, self._watch, loop)

    def _wake(self, count: int) -> None:
        with self._lock:
            count = min(count, len(self._jobs), self._limit - self._active)
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
            if self._jobs:
                job = self._jobs.popitem(last=False)[0]
                job.is_running = True
                return job
            self._active -= 1
            return None

    def _has_lost(self, job: Job) -> bool:
        """Return whether the thread of a job that has ended was given up; another one is in its place."""
        with self._lock:
            job.is_running = False
            if job.is_lost:
                self._lost[job.owner] -= 1
            return job.is_lost

    def _drop(self, job: Job) -> None:
        """Forget a job that nobody waits for; one that runs has its thread for itself from now on."""
        with self._lock:
            if not job.is_running:
                self._jobs.pop(job, None)
                return
            job.is_lost = True
            self._lost[job.owner] = self._lost.get(job.owner, 0) + 1
            self._active -= 1
            self._started -= 1
        if self._jobs:
            self._wake(1)

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
