"""The console's own threads: what a view reads or computes off the event loop, so that the doors never wait for it.

    await work(function, *args) ── a bounded line ── one of two threads

The doors share the threads of the event loop; the console takes none of them. What runs here is short, and bounded in
work and memory by whoever hands it in: it reads files of a known size, or turns one answer into JSON. It waits for no
network and no other process. So one that is stuck, in a file system that does not answer, leaves the other thread; with
both stuck the console says that it is busy, and tools are served as before. What may take seconds has its own threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from signet.kernel.errors import Code, Fault

__all__ = ["Threads", "work"]

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 2
MAX_WAITING: Final = 32
"""The number of functions that wait for a thread: whoever finds more is told to ask again."""


class Threads:
    """A few threads, made when they are first needed; they keep no process from ending."""

    def __init__(self, name: str, count: int, max_waiting: int, advice: str) -> None:
        """Name the threads, and the sentence for whoever finds too many waiting."""
        self._name = name
        self._count = count
        self._max_waiting = max_waiting
        self._advice = advice
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._made = 0
        self._busy = 0

    async def run(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Return what a function returns in a thread; one that still waits when its caller leaves is never called.

        Raises:
            Fault: too many are waiting.
        """
        job = Future[T](), partial(copy_context().run, function, *args, **named)
        self._put(job)
        try:
            return await asyncio.wrap_future(job[0])
        except asyncio.CancelledError:
            with self._changed, suppress(ValueError):
                self._waiting.remove(job)
            raise

    def _put(self, job: tuple[Future[Any], Callable[[], Any]]) -> None:
        with self._changed:
            if self._busy + len(self._waiting) >= self._count + self._max_waiting:
                raise Fault(Code.INTERNAL_ERROR, self._advice, name="CONSOLE_BUSY", status=503)
            if self._made < self._count and self._made <= self._busy + len(self._waiting):
                threading.Thread(target=self._work, name=f"{self._name}-{self._made}", daemon=True).start()
                self._made += 1
            self._waiting.append(job)
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                self._busy += 1
                job, function = self._waiting.popleft()
            _fulfil(job, function)
            # Nothing of the last answer is kept until the next question.
            del job, function
            with self._changed:
                self._busy -= 1


def _fulfil(job: Future[Any], function: Callable[[], Any]) -> None:
    if not job.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
        job.set_exception(error)
    else:
        job.set_result(result)


work: Final = Threads(
    "signet-console", THREADS, MAX_WAITING, "The console is busy with other requests: ask again in a few seconds"
).run
"""Return what a function returns in one of the console's threads; raise Fault if too many wait for one."""
