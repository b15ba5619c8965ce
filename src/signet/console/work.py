"""The console's own threads: what a view reads or computes off the event loop, so that the doors never wait for it.

    await work(function, *args) ── a bounded line, in turn for each caller ── one of two threads

The doors share the threads of the event loop; the console takes none of them. What runs here is short, and bounded in
work and memory by whoever hands it in: it reads files of a known size, or turns one answer into JSON. It waits for no
network and no other process. So one that is stuck, in a file system that does not answer, leaves the other thread; with
both stuck the console says that it is busy, and tools are served as before. What may take seconds has its own threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar

from signet.kernel.caller import holder_now
from signet.kernel.errors import Code, Fault
from signet.kernel.line import Line
from signet.kernel.shares import Shares
from signet.transports.fair_executor import Job

__all__ = ["Threads", "work"]

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 2
MAX_WAITING: Final = 32
"""The number of functions that wait for a thread: a caller whose share of them waits gets 503."""


class Threads:
    """A few threads, made when they are first needed; they keep no process from ending."""

    def __init__(self, name: str, count: int, max_waiting: int, advice: str) -> None:
        """Name the threads, and the sentence for whoever finds too many waiting."""
        self._name = name
        self._count = count
        self._advice = advice
        self._changed = threading.Condition()
        self._line: Line[Job] = Line(Shares(f"threads of {name}", count), reserves=False)
        self._shares = Shares(f"functions in {name}", count + max_waiting)
        """Those that run, and those that wait."""
        self._made = 0

    async def run(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Return what a function returns in a thread; one that still waits when its caller leaves is never called.

        Raises:
            Fault: too many are waiting.
        """
        job = Job(partial(copy_context().run, function, *args, **named), holder_now())
        self._put(job)
        try:
            value: T = await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            with self._changed:
                if self._line.drop(job.holder, job):
                    self._shares.give_back(job.holder)
            raise
        finally:
            # The traceback of an error, which the job holds, holds this frame.
            del job
        return value

    def _put(self, job: Job) -> None:
        with self._changed:
            if not self._shares.has_room(job.holder):
                raise Fault(Code.INTERNAL_ERROR, self._advice, name="CONSOLE_BUSY", status=503)
            if self._made < self._count and self._made <= self._shares.held:
                # First of all: where the system has no thread left, nothing is counted.
                threading.Thread(target=self._work, name=f"{self._name}-{self._made}", daemon=True).start()
                self._made += 1
            self._shares.hold(job.holder)
            self._line.add(job.holder, job)
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while (job := self._line.next()) is None:
                    self._changed.wait()
            holder = job.holder
            job.run()
            # Nothing of the last answer is kept until the next question.
            del job
            with self._changed:
                self._line.give_back(holder)
                self._shares.give_back(holder)


work: Final = Threads(
    "signet-console", THREADS, MAX_WAITING, "The console is busy with other requests: ask again in a few seconds"
).run
"""Return what a function returns in one of the console's threads; raise Fault if too many wait for one."""
