"""Turns at one scarce thing on the event loop: a semaphore whose line is shared by holders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .line import Line
from .shares import Shares

__all__ = ["FairTurns"]


class FairTurns(Line[asyncio.Future[None]]):
    """So many turns at once; who waits longest does not go first where its holder has more than another."""

    def __init__(
        self, thing: str, count: int, max_waiting: int | None = None, *, reserves: bool = False, spare: int = 0
    ) -> None:
        """Give out `count` turns, and `spare` more to holders that have none; `max_waiting` may wait, by shares.

        With `reserves`, a holder leaves as many turns as it has to all others; without it, all that are free are its.
        """
        super().__init__(Shares(thing, count), spare=spare, reserves=reserves)
        self._queue = None if max_waiting is None else Shares(f"{thing}: who waits", max_waiting)

    def must_wait(self, holder: str) -> bool:
        """Return whether a holder would have to wait for a turn."""
        return self.count > 0 or not self.may_have(holder)

    def may_wait(self, holder: str) -> bool:
        """Return whether a holder may let one more wait."""
        return self._queue is None or self._queue.has_room(holder)

    async def take(self, holder: str) -> None:
        """Wait for a turn; the caller returns it with `give_back`."""
        if self.take_at_once(holder):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.add(holder, turn)
        if self._queue is not None:
            self._queue.hold(holder)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if not self.drop(holder, turn):
                self.give_back(holder)
            raise
        finally:
            if self._queue is not None:
                self._queue.give_back(holder)

    def give_back(self, holder: str) -> None:
        """Give a turn back, and let in the next in the queue."""
        self._shares.give_back(holder)
        if self.count:
            self._let_in()

    @asynccontextmanager
    async def turn(self, holder: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it until the block ends."""
        await self.take(holder)
        try:
            yield
        finally:
            self.give_back(holder)

    def _let_in(self) -> None:
        while (turn := self.next()) is not None:
            # One that was left at this moment gives its turn back by itself.
            if not turn.done():
                turn.set_result(None)
