"""The places of the diagrams that one engine draws at once: a bounded number waits for one, and who leaves frees it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from signet.system.child import Hold

from .renderer import busy

__all__ = ["Places"]

T = TypeVar("T")

MAX_WAITING: Final = 32
"""The number of diagrams that wait for a place: each takes seconds, and whoever waits longer has left."""


class Places:
    """As many threads as diagrams are drawn at once."""

    def __init__(self, count: int, name: str) -> None:
        self._free = asyncio.Semaphore(count)
        self._threads = ThreadPoolExecutor(count, name)
        self._waiting = 0

    async def run(self, work: Callable[[Hold], T]) -> T:
        """Return what work in a thread returns; when the caller leaves, the child that the work holds is killed.

        Raises:
            Fault: too many are waiting.
        """
        if self._free.locked() and self._waiting >= MAX_WAITING:
            raise busy()
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        loop = asyncio.get_running_loop()
        hold = Hold()
        try:
            job = self._threads.submit(work, hold)
        except BaseException:
            self._free.release()
            raise

        def give_back(_: Future[T]) -> None:
            # The place is free when the thread is, which may be after its caller has left, or its loop has ended.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._free.release)

        job.add_done_callback(give_back)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            loop.run_in_executor(None, hold.end)
            raise

    def close(self) -> None:
        """Take no more work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
