"""A rate limiter: the least time between the starts of two requests to one service."""

from __future__ import annotations

import asyncio

__all__ = ["RateLimiter", "Slot"]


class Slot:
    """The right to send one request. It ends when the request has been sent, or after the limiter's interval."""

    def __init__(self, limiter: RateLimiter | None = None) -> None:
        self._limiter = limiter
        self._is_counted = limiter is None
        # A request that cannot connect does not hold up the others for longer.
        self._timer = None if limiter is None else asyncio.get_running_loop().call_later(limiter.interval_s, self._end)

    def release(self) -> None:
        """Start the interval before the next slot now. Idempotent."""
        if self._limiter is not None and not self._is_counted:
            self._is_counted = True
            self._limiter.start_interval()
        self._end()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._limiter is not None:
                self._limiter.open_gate()


class RateLimiter:
    """Gives out slots one after the other; an interval counts from when its request was sent."""

    def __init__(self, interval_s: float = 0.0) -> None:
        self.interval_s = interval_s
        self._next_s = 0.0
        self._gate = asyncio.Lock()

    async def slot(self) -> Slot:
        """Wait for the next slot; first come, first served."""
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

    def start_interval(self) -> None:
        """Count the interval from now."""
        self._next_s = asyncio.get_running_loop().time() + self.interval_s

    def open_gate(self) -> None:
        """Let the next caller wait for its time."""
        self._gate.release()
