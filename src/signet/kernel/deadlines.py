"""Deadlines: the waits of one event loop that end after a time, all with one timer.

A timer for each call costs more than the rest of the wait, and almost none of them is ever needed. Every wait may last
equally long, so the one that began first is the first that is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

__all__ = ["Deadlines", "in_thread"]

T = TypeVar("T")

GRAIN_S: Final = 0.001
"""What is over within this time is over now: some event loops have timers that are no finer."""


async def in_thread(function: Callable[..., T], /, *args: object) -> T:
    """Run a function in a thread and return its result."""
    # Loaded here: a server that awaits nothing needs no event loop.
    from asyncio import to_thread

    return await to_thread(function, *args)


class Deadlines:
    """The waits of an event loop that have not ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, timeout_s: float) -> None:
        self.loop = loop
        self._timeout_s = timeout_s
        self._waits: dict[asyncio.Future[None], float] = {}
        """Each wait and when it is over, in the order of both."""
        self._has_timer = False

    def begin(self) -> asyncio.Future[None]:
        """Return a future that is done when its time is over, unless it was ended before."""
        wait: asyncio.Future[None] = self.loop.create_future()
        over_s = self._waits[wait] = self.loop.time() + self._timeout_s
        if not self._has_timer:
            self._has_timer = True
            self.loop.call_at(over_s, self._end_overdue)
        return wait

    def wait_for(self, task: asyncio.Future[object]) -> asyncio.Future[None]:
        """Return a future that is done when a task ends or its time is over; `asyncio.wait` costs twice."""
        wait = self.begin()

        def end(_: object) -> None:
            if not wait.done():
                wait.set_result(None)

        task.add_done_callback(end)
        return wait

    def forget(self, wait: asyncio.Future[None]) -> None:
        """Take note that nobody waits any more."""
        del self._waits[wait]

    def _end_overdue(self) -> None:
        """End the waits whose time is over, and set the timer for the next one."""
        self._has_timer = False
        now_s = self.loop.time() + GRAIN_S
        for wait, over_s in self._waits.items():
            if over_s > now_s:
                self._has_timer = True
                self.loop.call_at(over_s, self._end_overdue)
                return
            if not wait.done():
                wait.set_result(None)
