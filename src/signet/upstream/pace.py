"""The pace at which a service is asked: the least time between the starts of two requests."""

from __future__ import annotations

import asyncio

__all__ = ["Pace", "Turn"]


class Turn:
    """One request's turn, which lasts until it has gone out."""

    def __init__(self, pace: Pace | None = None) -> None:
        self._pace = pace

    def gone(self) -> None:
        """Let the next turn begin, counted from now; said again, it says nothing."""
        pace, self._pace = self._pace, None
        if pace is not None:
            pace.end_turn()


class Pace:
    """Gives turns; a turn counts from when its request really went out, not from when it was allowed to."""

    def __init__(self, interval_s: float = 0.0) -> None:
        self._interval_s = interval_s
        self._next_s = 0.0
        self._gate = asyncio.Lock()

    async def turn(self) -> Turn:
        """Return when the service may be asked again; whoever waits longer goes first."""
        if self._interval_s <= 0:
            return Turn()
        await self._gate.acquire()
        try:
            while (wait_s := self._next_s - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110 - a time, no event
                await asyncio.sleep(wait_s)
        except BaseException:
            self._gate.release()
            raise
        return Turn(self)

    def end_turn(self) -> None:
        """Count from now: a request is on its way, or never will be."""
        self._next_s = asyncio.get_running_loop().time() + self._interval_s
        self._gate.release()
