"""One who follows the feed: a bounded queue between the threads that make records and a stream on the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .feed import FeedRecord

__all__ = ["Follower"]

MAX_WAITING: Final = 2000
"""The number of records that wait for one stream; the oldest make room."""


class Follower:
    """The records that one stream has not sent yet; make it on the event loop."""

    def __init__(self, owner: str = "") -> None:
        """Follow for somebody, of whom only so many may."""
        self.owner = owner
        self._loop = asyncio.get_running_loop()
        self._told = asyncio.Event()
        self._waiting: deque[FeedRecord] = deque(maxlen=MAX_WAITING)
        self.missed = 0
        """The number of records that had to make room."""

    def tell(self, records: Sequence[FeedRecord]) -> None:
        """Take records, in any thread."""
        self.missed += max(0, len(self._waiting) + len(records) - MAX_WAITING)
        self._waiting.extend(records)
        # The loop may have been closed: nobody waits then.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._told.set)

    async def wait(self, limit_s: float) -> None:
        """Wait for records, for a limited time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), limit_s)
        self._told.clear()

    def take(self) -> list[FeedRecord]:
        """Return the records that wait, oldest first."""
        taken = []
        while self._waiting:
            taken.append(self._waiting.popleft())
        return taken
