"""The pace of requests to one service: the least time between two of them, in this process and beside others.

    slot ── the callers of this process, in turns ── the interval ── a turn in each place that others share
      └──▶ Slot ── start: the request goes out ── arrived: its answer begins

Callers take turns, however many requests each of them has waiting. A message to a waiting caller says how many requests
are ahead of its own. While it cannot be known when other processes have sent, requests wait for some seconds and then
fail; none is sent in a hurry.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from signet.kernel.caller import holder_now
from signet.kernel.errors import Code, Fault
from signet.kernel.turns import Turns, TurnsError
from signet.kernel.waiting import Waiting

if TYPE_CHECKING:
    import asyncio

    from signet.system.places import FairTurns

__all__ = ["NoTurn", "Pace", "Slot"]

SETTLE: Final = 0.5
SETTLE_S: Final = 0.25
"""The time that a request may need to arrive, as a share of the interval and at most; its answer may end it before."""
RETRY_S: Final = 0.25
"""The pause before turns that could not be had are asked for again."""
PATIENCE_S: Final = 4.0
"""The time for which requests wait for turns that cannot be had."""


class NoTurn(Fault):
    """The fault of a request that was not sent, because no turn could be had: it says nothing of the service."""


class Slot:
    """The right to send one request. It ends when the request has been sent, or after the interval of the pace."""

    def __init__(self, pace: Pace | None = None, owner: str = "", holder: str = "") -> None:
        import asyncio

        self._pace = pace
        self._holder = holder
        """Whose turn it is."""
        self._owner = owner
        """The owner of the shared turns, until these have ended."""
        self._is_sent = False
        self._is_counted = pace is None
        # A request that cannot connect does not hold up the others for longer.
        self._timer = None if pace is None else asyncio.get_running_loop().call_later(pace.interval_s, self._end)

    async def start(self) -> None:
        """Count the request as sent now: its bytes go out next.

        Raises:
            Fault: the turn that is shared with other processes was lost, and there is no other.
        """
        if self._owner and self._pace is not None:
            await self._pace.start(self._owner)
            self._is_sent = True
        self.release()

    def arrived(self) -> None:
        """Say that the request has arrived: its answer begins."""
        if self._owner and self._pace is not None:
            self._pace.end(self._owner)
            self._owner = ""

    def release(self) -> None:
        """Start the interval before the next slot now. Idempotent."""
        if self._pace is not None and not self._is_counted:
            self._is_counted = True
            self._pace.start_interval()
            if not self._is_sent:
                self.arrived()
        self._end()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._pace is not None:
                self._pace.open_gate(self._holder)


class Pace:
    """Gives out slots one after the other, to callers in turn; an interval counts from when its request was sent."""

    def __init__(
        self, interval_s: float = 0.0, called: str = "the service", name: str = "", places: Sequence[Turns] = ()
    ) -> None:
        """Give a slot every `interval_s`; `name` is that of the service in the places where turns are shared."""
        self.interval_s = interval_s
        self._called = called
        self._name = name
        self._places = places
        """Where the turn is shared with other processes: a request needs one in all of them."""
        self._queue: dict[object, str] = {}
        """Those who wait for a slot, in the order in which they came, and whose share each is of."""
        self._next_s = 0.0
        self._away_s: dict[Turns, tuple[float, float]] = {}
        """When the turns of a place could not be had for the first and the last time, until they can be again."""
        self._ending: set[asyncio.Future[None]] = set()

    @cached_property
    def _gate(self) -> FairTurns:
        # Made when it is needed: a server that is only asked for its tools loads no event loop.
        from signet.system.places import FairTurns

        return FairTurns("turns at a service", 1)

    async def slot(self, wait: Waiting | None = None) -> Slot:
        """Wait for the next slot: of one caller first come, first served, and callers in turn.

        Raises:
            Fault: it is not known when others have sent, and has not been for some time.
        """
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

    async def start(self, owner: str) -> None:
        """Count the request as sent now in all places; where the turn has been lost, wait for another one first.

        Raises:
            Fault: as `slot` does.
        """
        while not await self._start(owner):
            await self._take(owner)

    def end(self, owner: str) -> None:
        """Say in all places, soon, that a request has arrived, or that nothing was sent in its turn."""
        import asyncio

        ending = asyncio.ensure_future(self._end(owner))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _await_turn(self, holder: str) -> str:
        """Wait until the interval is over, and for the shared turns; who leaves before lets the next one in."""
        import asyncio

        try:
            while (wait_s := self._next_s - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110 - a time, no event
                await asyncio.sleep(wait_s)
            if not self._places:
                return ""
            owner = os.urandom(8).hex()
            await self._take(owner)
        except BaseException:
            self._gate.give_back(holder)
            raise
        return owner

    async def _take(self, owner: str) -> None:
        """Wait for the turn in each place."""
        import asyncio

        try:
            for place in self._places:
                while (wait_s := await self._ask(place, owner)) > 0:  # noqa: ASYNC110 - no event of another process
                    await asyncio.sleep(wait_s)
        except BaseException:
            self.end(owner)
            raise

    async def _ask(self, place: Turns, owner: str) -> float:
        """Return the seconds to wait before the next question; 0 where the turn is held."""
        import asyncio

        try:
            wait_s = await place.take(self._name, owner, self.interval_s)
        except TurnsError as error:
            now_s = asyncio.get_running_loop().time()
            first_s, last_s = self._away_s.get(place, (now_s, now_s))
            first_s = first_s if now_s - last_s <= PATIENCE_S else now_s
            self._away_s[place] = first_s, now_s
            if now_s - first_s < PATIENCE_S:
                return RETRY_S
            message = f"request failed: no turn to ask {self._called}, {error}; try again in some seconds"
            raise NoTurn(Code.INTERNAL_ERROR, message, name="UPSTREAM_FAILED", as_tool_result=False) from None
        self._away_s.pop(place, None)
        return wait_s

    async def _start(self, owner: str) -> bool:
        settle_s = min(self.interval_s * SETTLE, SETTLE_S)
        try:
            for place in self._places:
                if not await place.start(self._name, owner, settle_s):
                    return False
        except TurnsError:
            return False
        return True

    async def _end(self, owner: str) -> None:
        for place in self._places:
            with suppress(TurnsError):
                await place.end(self._name, owner)

    def _words(self, place: object) -> str:
        """Return what somebody in the queue waits for; of each other caller, no more are ahead than it has waiting."""
        mine = [other for other, holder in self._queue.items() if holder == self._queue.get(place)]
        before = mine.index(place) if place in mine else 0
        others = Counter(holder for holder in self._queue.values() if holder != self._queue.get(place))
        ahead = before + sum(min(count, before + 1) for count in others.values())
        pace = "a second" if self.interval_s == 1 else f"every {self.interval_s:g} s"
        return f"waiting for a turn: one request {pace} to {self._called}, {ahead} ahead"
