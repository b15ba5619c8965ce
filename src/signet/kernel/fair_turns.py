"""Turns at one scarce thing on the event loop: a semaphore whose line is shared by holders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .line import Line
from .shares import Shares

__all__ = ["FairTurns"]


class FairTurns:
    """So many turns at once; who waits longest does not go first where its holder has more than another."""

    def __init__(
        self, thing: str, count: int, max_waiting: int | None = None, *, reserves: bool = False, spare: int = 0
    ) -> None:
        """Give out `count` turns, and `spare` more to holders that have none; `max_waiting` may wait, by shares.

        With `reserves`, a holder leaves as many turns as it has to all others; without it, all that are free are its.
        """
        self._line: Line[asyncio.Future[None]] = Line(Shares(thing, count), spare=spare, reserves=reserves)
        self._queue = None if max_waiting is None else Shares(f"{thing}: who waits", max_waiting)

    @property
    def held(self) -> int:
        """Return the number of turns that are taken."""
        return self._line.held

    @property
    def waiting(self) -> int:
        """Return the number of those who wait."""
        return self._line.count

    def must_wait(self, holder: str) -> bool:
        """Return whether a holder would have to wait for a turn."""
        return self._line.count > 0 or not self._line.may_have(holder)

    def may_wait(self, holder: str) -> bool:
        """Return whether a holder may let one more wait."""
        return self._queue is None or self._queue.has_room(holder)

    def has_room(self, holder: str) -> bool:
        """Return whether a holder may have one more turn now, regardless of the queue."""
        return self._line.may_have(holder)

    def of(self, holder: str) -> int:
        """Return the number of turns that a holder has."""
        return self._line.of(holder)

    def has(self, holder: str) -> bool:
        """Return whether a holder has a turn, or waits for one."""
        return self._line.has(holder)

    def take_at_once(self, holder: str) -> bool:
        """Take a turn without a wait if the queue is empty and the holder may have it; return whether it has it."""
        return self._line.take(holder)

    async def take(self, holder: str) -> None:
        """Wait for a turn; the caller returns it with `give_back`."""
        line = self._line
        if line.take(holder):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.add(holder, turn)
        if self._queue is not None:
            self._queue.hold(holder)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if not line.drop(holder, turn):
                self.give_back(holder)
            raise
        finally:
            if self._queue is not None:
                self._queue.give_back(holder)

    def give_back(self, holder: str) -> None:
        """Give a turn back, and let in the next in the queue."""
        self._line.give_back(holder)
        if self._line.count:
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
        while (turn := self._line.next()) is not None:
            # One that was left at this moment gives its turn back by itself.
            if not turn.done():
                turn.set_result(None)
