"""The threads that an event loop lends to `asyncio.to_thread` and `ctx.offload`, shared by callers.

A caller has at most as many as it leaves to all others. A function whose caller has left keeps its thread, and counts
to that caller, until it returns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from signet.kernel.caller import holder_now
from signet.kernel.line import Line
from signet.kernel.shares import Shares

__all__ = ["FairExecutor", "Job"]

T = TypeVar("T")

THREADS: Final = 8
"""The number of such threads: what they do is short, or waits for a disk."""
SPARE: Final = 24
"""The number of further ones, one for each caller that has none."""


class Job(Future[Any]):
    """A function that waits for a thread, and whose share it uses; the future of its result.

    It is freed with the last reference, not by the garbage collector: its result may be large.
    """

    def __init__(self, call: Callable[[], Any], holder: str, on_cancelled: Callable[[Job], None] | None = None) -> None:
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
    """A pool of threads whose line is shared by holders; what runs outside of a call has no holder."""

    def __init__(self, threads: int = THREADS, spare: int = SPARE) -> None:
        super().__init__(threads + spare, "signet-work")
        self._line: Line[Job] = Line(Shares("threads of offloaded work", threads), spare=spare)
        self._line_lock = threading.Lock()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run a function when it is its holder's turn; return what will be its result."""
        job = Job(partial(fn, *args, **kwargs), holder_now(), self._forget)
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

    def _forget(self, job: Job) -> None:
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
