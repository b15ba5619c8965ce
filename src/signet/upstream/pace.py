"""The pace at which a service is asked: the least time between the starts of two requests."""

from __future__ import annotations

import asyncio

__all__ = ["Pace"]


class Pace:
    """Gives turns; a turn counts from when its request really went out, not from when it was allowed to."""

    def __init__(self, interval_s: float = 0.0) -> None:
        self._interval_s = interval_s
        self._next_s = 0.0
        self._gate = asyncio.Lock()

    async def turn(self) -> None:
        """Return when the service may be asked again; whoever waits longer goes first."""
        if self._interval_s <= 0:
            return
        async with self._gate:
            while (wait_s := self._next_s - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110 - a time, no event
                await asyncio.sleep(wait_s)
            self.gone()

    def gone(self) -> None:
        """Count from now: a request is on its way."""
        self._next_s = asyncio.get_running_loop().time() + self._interval_s
