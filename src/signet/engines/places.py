"""The places of the diagrams that one engine draws at once: a bounded number waits for one, and who leaves frees it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from signet.kernel.caller import holder_now
from signet.kernel.fair_turns import FairTurns
from signet.system.piped_process import Hold

from .renderer import busy

__all__ = ["Places"]

T = TypeVar("T")

MAX_WAITING: Final = 32
"""The number of diagrams that wait for a place, of which each caller has a share.

Each takes seconds: clients do not wait longer.
"""


class Places:
    """As many threads as diagrams are drawn at once."""

    def __init__(self, count: int, name: str) -> None:
        self._turns = FairTurns("diagrams of one engine", count, MAX_WAITING)
        self._threads = ThreadPoolExecutor(count, name)

    async def run(self, work: Callable[[Hold], T]) -> T:
        """Return what work in a thread returns; when the caller leaves, the child that the work holds is killed.

        Raises:
            Fault: too many are waiting.
        """
        turns, holder = self._turns, holder_now()
        if turns.must_wait(holder) and not turns.may_wait(holder):
            raise busy()
        await turns.take(holder)
        loop = asyncio.get_running_loop()
        hold = Hold()
        try:
            job = self._threads.submit(work, hold)
        except BaseException:
            turns.give_back(holder)
            raise

        def give_back(_: Future[T]) -> None:
            # The place is free when the thread is, which may be after its caller has left, or its loop has ended.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(turns.give_back, holder)

        job.add_done_callback(give_back)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            loop.run_in_executor(None, hold.end)
            raise

    def close(self) -> None:
        """Take no more work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
