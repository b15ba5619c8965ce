"""A rate limiter: the least time between the starts of two requests to one service.

Callers take turns, however many requests each of them has waiting. A message to a waiting caller says how many requests
are ahead of its own.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from signet.kernel.caller import holder_now
from signet.kernel.waiting import Waiting

from .shared_turn import SharedTurn

if TYPE_CHECKING:
    from signet.kernel.fair_turns import FairTurns

__all__ = ["RateLimiter", "Slot"]


class Slot:
    """The right to send one request. It ends when the request has been sent, or after the limiter's interval."""

    def __init__(self, limiter: RateLimiter | None = None, owner: str = "", holder: str = "") -> None:
        import asyncio

        self._limiter = limiter
        self._holder = holder
        """Whose turn it is."""
        self._owner = owner
        """The owner of the shared turn, until that has ended."""
        self._is_sent = False
        self._is_counted = limiter is None
        # A request that cannot connect does not hold up the others for longer.
        self._timer = None if limiter is None else asyncio.get_running_loop().call_later(limiter.interval_s, self._end)

    async def start(self) -> None:
        """Count the request as sent now: its bytes go out next.

        Raises:
            Fault: the turn that is shared with other processes was lost, and there is no other.
        """
        if self._owner and self._limiter is not None and self._limiter.shared is not None:
            await self._limiter.shared.start(self._owner)
            self._is_sent = True
        self.release()

    def arrived(self) -> None:
        """Say that the request has arrived: its answer begins."""
        if self._owner and self._limiter is not None and self._limiter.shared is not None:
            self._limiter.shared.end(self._owner)
            self._owner = ""

    def release(self) -> None:
        """Start the interval before the next slot now. Idempotent."""
        if self._limiter is not None and not self._is_counted:
            self._is_counted = True
            self._limiter.start_interval()
            if not self._is_sent:
                self.arrived()
        self._end()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._limiter is not None:
                self._limiter.open_gate(self._holder)


class RateLimiter:
    """Gives out slots one after the other, to callers in turn; an interval counts from when its request was sent."""

    def __init__(self, interval_s: float = 0.0, called: str = "the service", shared: SharedTurn | None = None) -> None:
        self.interval_s = interval_s
        self.shared = shared
        """The turn that other processes wait for too."""
        self._called = called
        self._queue: dict[object, str] = {}
        """Those who wait for a slot, in the order in which they came, and whose share each is of."""
        self._next_s = 0.0

    @cached_property
    def _gate(self) -> FairTurns:
        # Made when it is needed: a server that is only asked for its tools loads no event loop.
        from signet.kernel.fair_turns import FairTurns

        return FairTurns("turns at a service", 1)

    async def slot(self, wait: Waiting | None = None) -> Slot:
        """Wait for the next slot: of one caller first come, first served, and callers in turn."""
        if self.interval_s <= 0:
            return Slot()
        place, holder = object(), holder_now()
        self._queue[place] = holder
        if wait is not None:
            wait.now = lambda: self._words(place)
        try:
            await self._gate.take(holder)
            owner = await self._await_turn(holder)
        finally:
            del self._queue[place]
        return Slot(self, owner, holder)

    def slot_at_once(self) -> Slot:
        """Return a slot without a wait, for a request that is sent again; the next caller waits for its interval."""
        if self.interval_s > 0:
            self.start_interval()
        return Slot()

    def start_interval(self) -> None:
        """Count the interval from now."""
        import asyncio

        self._next_s = asyncio.get_running_loop().time() + self.interval_s

    def open_gate(self, holder: str) -> None:
        """Let the next caller wait for its time."""
        self._gate.give_back(holder)

    async def _await_turn(self, holder: str) -> str:
        """Wait until the interval is over, and for the shared turn; who leaves before lets the next one in."""
        import asyncio

        try:
            while (wait_s := self._next_s - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110 - a time, no event
                await asyncio.sleep(wait_s)
            return await self.shared.take() if self.shared is not None else ""
        except BaseException:
            self._gate.give_back(holder)
            raise

    def _words(self, place: object) -> str:
        """Return what somebody in the queue waits for; of each other caller, no more are ahead than it has waiting."""
        mine = [other for other, holder in self._queue.items() if holder == self._queue.get(place)]
        before = mine.index(place) if place in mine else 0
        others = Counter(holder for holder in self._queue.values() if holder != self._queue.get(place))
        ahead = before + sum(min(count, before + 1) for count in others.values())
        pace = "a second" if self.interval_s == 1 else f"every {self.interval_s:g} s"
        return f"waiting for a turn: one request {pace} to {self._called}, {ahead} ahead"
