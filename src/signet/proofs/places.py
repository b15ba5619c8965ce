"""Places for children on a running server: a few at once, a short line before them, each holder's share of both.

    await places.run(work, holder) ── wait for a place ── a thread ── work(Asker): children, limits ── result

Neither the event loop nor the thread does the work: the thread waits for a child.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from signet.kernel.shares import Shares
from signet.system.piped_process import Hold

from .asking import Asker

__all__ = ["BusyError", "Places"]

T = TypeVar("T")


class BusyError(Exception):
    """Too many questions are waiting."""


class Places:
    """So many children at once, and so many questions that wait. For one event loop."""

    def __init__(self, thing: str, places: int, max_waiting: int, wait_s: float | None) -> None:
        """Name what is shared; a question waits for `wait_s` at most, or as long as it takes."""
        self._wait_s = wait_s
        self._asked = Shares(thing, places + max_waiting)
        self._running = Shares(thing, places)
        self._freed = asyncio.Event()

    async def run(self, work: Callable[[Asker], T], holder: str = "") -> T:
        """Return what work with an Asker returns; its child is killed when the caller leaves.

        Raises:
            BusyError: too many questions are waiting, or this one has waited too long.
        """
        if not self._asked.take(holder):
            raise BusyError
        try:
            async with asyncio.timeout(self._wait_s):
                while not self._running.take(holder):
                    await self._freed.wait()
        except BaseException as error:
            self._asked.give_back(holder)
            if isinstance(error, TimeoutError):
                raise BusyError from None
            raise
        return await self._run(work, holder)

    async def _run(self, work: Callable[[Asker], T], holder: str) -> T:
        hold, done, loop = Hold(), Future[T](), asyncio.get_running_loop()
        done.set_running_or_notify_cancel()

        def ended(_: Future[T]) -> None:
            # The place is free when the child has ended, also where its caller has left. A loop may be gone by then.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._leave, holder)

        try:
            threading.Thread(target=_fulfil, args=(done, work, hold), name="signet-proof", daemon=True).start()
        except RuntimeError:
            # The system has no thread left.
            self._leave(holder)
            raise BusyError from None
        done.add_done_callback(ended)
        try:
            return await asyncio.shield(asyncio.wrap_future(done))
        except asyncio.CancelledError:
            # Its end is waited for, which is not for the event loop to do.
            threading.Thread(target=hold.end, daemon=True).start()
            raise

    def _leave(self, holder: str) -> None:
        self._asked.give_back(holder)
        self._running.give_back(holder)
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()


def _fulfil(done: Future[T], work: Callable[[Asker], T], hold: Hold) -> None:
    try:
        with Asker(hold) as asker:
            result = work(asker)
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
        done.set_exception(error)
    else:
        done.set_result(result)
