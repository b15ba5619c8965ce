"""The turn of one service, shared with other processes: on this machine, and by a store with other machines.

While it cannot be known when others have sent, requests wait for some seconds and then fail; none is sent in a hurry.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from signet.kernel.errors import Code, Fault
from signet.kernel.turns import Turns, TurnsError

if TYPE_CHECKING:
    import asyncio

__all__ = ["NoTurn", "SharedTurn"]

SETTLE: Final = 0.5
SETTLE_S: Final = 0.25
"""The time that a request may need to arrive, as a share of the interval and at most; its answer may end it before."""
RETRY_S: Final = 0.25
"""The pause before turns that could not be had are asked for again."""
PATIENCE_S: Final = 4.0
"""The time for which requests wait for turns that cannot be had."""


class NoTurn(Fault):
    """The fault of a request that was not sent, because no turn could be had: it says nothing of the service."""


class SharedTurn:
    """The turns of one service, in each place where they are shared: a request needs a turn in all of them."""

    def __init__(self, name: str, interval_s: float, places: Sequence[Turns], called: str = "the service") -> None:
        self._name = name
        self._interval_s = interval_s
        self._settle_s = min(interval_s * SETTLE, SETTLE_S)
        self._places = places
        self._called = called
        self._away_s: dict[Turns, tuple[float, float]] = {}
        """When the turns of a place could not be had for the first and the last time, until they can be again."""
        self._ending: set[asyncio.Future[None]] = set()

    async def take(self, owner: str = "") -> str:
        """Wait for the turn, and return its owner.

        Raises:
            Fault: it is not known when others have sent, and has not been for some time.
        """
        import asyncio

        owner = owner or os.urandom(8).hex()
        try:
            for place in self._places:
                while (wait_s := await self._ask(place, owner)) > 0:  # noqa: ASYNC110 - no event of another process
                    await asyncio.sleep(wait_s)
        except BaseException:
            self.end(owner)
            raise
        return owner

    async def start(self, owner: str) -> None:
        """Count the request as sent now; where the turn has been lost, wait for another one first.

        Raises:
            Fault: as `take` does.
        """
        while not await self._start(owner):
            await self.take(owner)

    def end(self, owner: str) -> None:
        """Say, soon, that a request has arrived, or that nothing was sent in its turn."""
        import asyncio

        ending = asyncio.ensure_future(self._end(owner))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _ask(self, place: Turns, owner: str) -> float:
        """Return the seconds to wait before the next question; 0 where the turn is held."""
        import asyncio

        try:
            wait_s = await place.take(self._name, owner, self._interval_s)
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
        try:
            for place in self._places:
                if not await place.start(self._name, owner, self._settle_s):
                    return False
        except TurnsError:
            return False
        return True

    async def _end(self, owner: str) -> None:
        for place in self._places:
            with suppress(TurnsError):
                await place.end(self._name, owner)
