"""Threads that callers share, off the event loop: no caller can take them all, and all that wait are bounded.

    FairExecutor   the threads of `asyncio.to_thread` and `ctx.offload`
    WorkThreads    a few threads for short functions, so that what is stuck elsewhere does not reach them
    WorkPlaces     a thread for each piece of work that waits for child processes

The threads of plain functions of tools, which are the quickest way for most calls, are in `authoring/threads`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .places import FairTurns, Line, Shares

if TYPE_CHECKING:
    from .piped_process import KillHandle

__all__ = ["BusyError", "FairExecutor", "WorkPlaces", "WorkThreads"]

T = TypeVar("T")

THREADS: Final = 8
"""The number of threads of an executor: what they do is short, or waits for a disk."""
SPARE: Final = 24
"""The number of further ones, one for each caller that has none."""


class BusyError(Exception):
    """Too many are waiting for a thread, or one has waited too long."""


class _Job(Future[Any]):
    """A function that waits for a thread, and whose share it uses; the future of its result.

    It is freed with the last reference, not by the garbage collector: its result may be large.
    """

    def __init__(
        self, call: Callable[[], Any], holder: str, on_cancelled: Callable[[_Job], None] | None = None
    ) -> None:
        super().__init__()
        self.holder = holder
        self._call = call
        self._on_cancelled = on_cancelled

    def run(self) -> None:
        """Call the function, unless the job was cancelled before. Once."""
        call = self._call
        del self._call
        if not self.set_running_or_notify_cancel():
            return
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
            self.set_exception(error)
            # The traceback of the error holds this frame.
            del self
        else:
            self.set_result(value)

    def cancel(self) -> bool:
        """Cancel the job unless it has begun; return whether it is cancelled."""
        is_cancelled = super().cancel()
        if is_cancelled and self._on_cancelled is not None:
            self._on_cancelled(self)
        return is_cancelled


class FairExecutor(ThreadPoolExecutor):
    """A pool of threads whose line is shared by holders, for `asyncio.to_thread`.

    A holder has at most as many as it leaves to all others. A function whose caller has left keeps its thread, and
    counts to that holder, until it returns.
    """

    def __init__(self, holder_now: Callable[[], str], threads: int = THREADS, spare: int = SPARE) -> None:
        """Take the holder of each function from `holder_now`; what runs outside of a call has none."""
        super().__init__(threads + spare, "signet-work")
        self._holder_now = holder_now
        self._line: Line[_Job] = Line(Shares("threads of offloaded work", threads), spare=spare)
        self._line_lock = threading.Lock()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run a function when it is its holder's turn; return what will be its result."""
        job = _Job(partial(fn, *args, **kwargs), self._holder_now(), self._forget)
        with self._line_lock:
            self._line.add(job.holder, job)
        try:
            # Each takes the job that is next, so there are always as many as may run.
            super().submit(self._run_next)
        except BaseException:
            # The pool is closed, or the system has no thread left: the caller gets this exception, so
            # the job must not run later.
            job.cancel()
            raise
        return job

    def _forget(self, job: _Job) -> None:
        with self._line_lock:
            is_dropped = self._line.drop(job.holder, job)
        if is_dropped:
            # No thread comes to it, so `wait` and `as_completed` are notified here.
            job.run()

    def _run_next(self) -> None:
        while True:
            with self._line_lock:
                job = self._line.next()
            if job is None:
                return
            holder = job.holder
            job.run()
            # Nothing of it is kept until the next one.
            del job
            with self._line_lock:
                self._line.give_back(holder)
                is_more = self._line.ready(2) > 1
            if is_more:
                # Its end may let in more than the one that comes in its place.
                with suppress(RuntimeError):
                    super().submit(self._run_next)


class WorkThreads:
    """A few threads for short functions, made when they are first needed; they keep no process from ending."""

    def __init__(self, name: str, count: int, max_waiting: int) -> None:
        """Name the threads; `max_waiting` functions wait for one, of which each holder has a share."""
        self._name = name
        self._count = count
        self._changed = threading.Condition()
        self._line: Line[_Job] = Line(Shares(f"threads of {name}", count), reserves=False)
        self._shares = Shares(f"functions in {name}", count + max_waiting)
        """Those that run, and those that wait."""
        self._made = 0

    async def run(self, holder: str, call: Callable[[], T]) -> T:
        """Return the value of a call in a thread; one that still waits when its caller leaves is never made.

        Raises:
            BusyError: too many are waiting.
        """
        job = _Job(partial(copy_context().run, call), holder)
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

    def _put(self, job: _Job) -> None:
        with self._changed:
            if not self._shares.has_room(job.holder):
                raise BusyError
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


class WorkPlaces:
    """A thread for each place, for work that waits for child processes. For one event loop."""

    def __init__(self, turns: FairTurns, name: str, wait_s: float | None = None) -> None:
        """Name the threads; work waits for `wait_s` at most, or as long as it takes."""
        self._turns = turns
        self._name = name
        self._wait_s = wait_s

    async def run(self, work: Callable[[KillHandle], T], holder: str = "") -> T:
        """Return the result of work in a thread; the child that the work holds is killed when the caller leaves.

        Raises:
            BusyError: too many are waiting, or this one has waited too long.
        """
        turns = self._turns
        if turns.must_wait(holder) and not turns.may_wait(holder):
            raise BusyError
        try:
            async with asyncio.timeout(self._wait_s):
                await turns.take(holder)
        except TimeoutError:
            raise BusyError from None
        return await self._run(work, holder)

    async def _run(self, work: Callable[[KillHandle], T], holder: str) -> T:
        from .piped_process import KillHandle

        hold, done, loop = KillHandle(), Future[T](), asyncio.get_running_loop()
        done.set_running_or_notify_cancel()

        def ended(_: Future[T]) -> None:
            # The place is free when the child has ended, also where its caller has left. A loop may be gone by then.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._turns.give_back, holder)

        try:
            threading.Thread(target=_fulfil, args=(done, work, hold), name=self._name, daemon=True).start()
        except RuntimeError:
            # The system has no thread left.
            self._turns.give_back(holder)
            raise BusyError from None
        done.add_done_callback(ended)
        try:
            return await asyncio.shield(asyncio.wrap_future(done))
        except asyncio.CancelledError:
            # Its end is waited for, which is not for the event loop to do.
            threading.Thread(target=hold.end, daemon=True).start()
            raise


def _fulfil(done: Future[T], work: Callable[[KillHandle], T], hold: KillHandle) -> None:
    try:
        result = work(hold)
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
        done.set_exception(error)
    else:
        done.set_result(result)
