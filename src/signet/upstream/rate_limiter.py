"""The pace at which a service is asked: the least time between the starts of two requests."""

from __future__ import annotations

import asyncio

__all__ = ["RateLimiter", "Slot"]


class Slot:
    """One request's turn: it lasts until the request has gone out, or for as long as two requests are to be apart."""

    def __init__(self, pace: RateLimiter | None = None) -> None:
        self._pace = pace
        self._is_gone = pace is None
        # Whoever cannot connect does not hold up the others for longer.
        self._timer = None if pace is None else asyncio.get_running_loop().call_later(pace.interval_s, self._end)

    def gone(self) -> None:
        """Let the next turn begin, counted from now; said again, it says nothing."""
        if self._pace is not None and not self._is_gone:
            self._is_gone = True
            self._pace.count()
        self._end()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._pace is not None:
                self._pace.release()


class RateLimiter:
    """Gives turns; a turn counts from when its request really went out, not from when it was allowed to."""

    def __init__(self, interval_s: float = 0.0) -> None:
        self.interval_s = interval_s
        self._next_s = 0.0
        self._gate = asyncio.Lock()

    async def turn(self) -> Slot:
        """Return when the service may be asked again; whoever waits longer goes first."""
        if self.interval_s <= 0:
            return Slot()
        await self._gate.acquire()
        try:
            while (wait_s := self._next_s - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110 - a time, no event
                await asyncio.sleep(wait_s)
        except BaseException:
            self._gate.release()
            raise
        return Slot(self)

    def count(self) -> None:
        """Count from now: a request is on its way, or never will be."""
        self._next_s = asyncio.get_running_loop().time() + self.interval_s

    def release(self) -> None:
        """Let the next one wait for its time."""
        self._gate.release()
