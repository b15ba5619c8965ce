"""Threads for functions that may block: daemons, so that one that never returns holds nobody up at the end.

event loop ── run ── queue ── a thread ── done ── event loop, woken once for all that is done
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context as Variables
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Final

__all__ = ["Job", "Threads"]

MAX_THREADS: Final = 64
"""The calls of plain functions that run at once; further ones wait for their turn."""


class Job:
    """A function that is to run in a thread."""

    __slots__ = ("future", "is_abandoned", "variables", "work")

    def __init__(self, work: Callable[[Job], Any], future: asyncio.Future[Any], variables: Variables) -> None:
        self.work = work
        self.future = future
        self.variables = variables
        self.is_abandoned = False
        """Whether nobody waits for it any more."""

    def abandon(self, future: asyncio.Future[Any]) -> None:
        """Take note that the call has ended; one that was cancelled has left its function behind."""
        self.is_abandoned = future.cancelled()


class Threads:
    """A bounded number of threads that run jobs of one event loop."""

    def __init__(self, limit: int = MAX_THREADS) -> None:
        self._limit = limit
        self._queue: SimpleQueue[Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._running = 0
        """The jobs that wait or run."""
        self._started = 0
        self._done: deque[tuple[Job, Any]] = deque()
        self._is_woken = False

    @property
    def has_room(self) -> bool:
        """Whether a job would begin at once."""
        return self._running < self._limit

    def run(self, work: Callable[[Job], Any]) -> asyncio.Future[Any]:
        """Run a function in a thread; the future has its value, or the exception that it raised, as its result."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        job = Job(work, future, copy_context())
        future.add_done_callback(job.abandon)
        with self._lock:
            self._running += 1
            if self._running > self._started < self._limit:
                self._started += 1
                threading.Thread(target=self._work, name=f"signet-tool-{self._started}", daemon=True).start()
        self._queue.put(job)
        return future

    def _work(self) -> None:
        while True:
            job = self._queue.get()
            value = None if job.is_abandoned else _value_of(job)
            with self._lock:
                self._running -= 1
            self._done.append((job, value))
            if not self._is_woken:
                self._is_woken = True
                self._wake(job)

    def _wake(self, job: Job) -> None:
        try:
            job.future.get_loop().call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The loop has ended, and with it everybody who waited.
            self._is_woken = False
            self._done.clear()

    def _deliver(self) -> None:
        # First the mark, then the results: one that comes between the two wakes the loop again.
        self._is_woken = False
        while self._done:
            job, value = self._done.popleft()
            if not job.future.done():
                job.future.set_result(value)


def _value_of(job: Job) -> Any:
    """Return what a job returns or raises; not even SystemExit may end a thread that others wait for."""
    try:
        return job.variables.run(job.work, job)
    except BaseException as error:  # noqa: BLE001 - a tool's failure is its value
        return error
