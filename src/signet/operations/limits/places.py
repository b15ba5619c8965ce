"""The gate of places: so many calls of a tool run at once in this process, some wait, and the others are refused.

Who waits is let in first come, first served; a place goes from the call that ends to the one that waits longest.

A call that finds no room is refused before it is charged to any limit: it has a seat, one for each place and each
in the queue, from before the other limits are asked until its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from signet.kernel.errors import Fault, rate_limited
from signet.kernel.outcome import Call, Outcome
from signet.kernel.tools import Tool

from .figures import Figures
from .policy import PlaceLimit, Policy

__all__ = ["QUEUE_S", "PlaceGate", "Places", "SeatGate"]

QUEUE_S: Final = 10.0
"""The longest time in the queue; the time of the call begins behind it."""
RETRY_S: Final = 1.0


class Places:
    """The places of one tool, and the queue before them. For the event loop alone."""

    def __init__(self, limit: PlaceLimit, queue_s: float = QUEUE_S) -> None:
        self.limit = limit
        self.running = 0
        self.seats = limit.concurrency + limit.queue
        """The number of further calls that may come in, to a place or to the queue."""
        self._queue_s = queue_s
        self._queue: dict[asyncio.Future[None], None] = {}
        """Those who wait, in their order."""

    @property
    def waiting(self) -> int:
        """Return the number of calls in the queue."""
        return len(self._queue)

    async def take(self, call: Call) -> bool:
        """Wait for a place; return False if there is none: the queue is full, or the wait was too long."""
        if self.running < self.limit.concurrency:
            self.running += 1
            return True
        if len(self._queue) >= self.limit.queue:
            return False
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue[turn] = None
        call.context.waiting(lambda: f"waiting for a place: {self.limit.concurrency} calls of the tool run at once")
        try:
            async with asyncio.timeout(self._queue_s):
                await turn
        except TimeoutError:
            # The place may have come with the end of the time.
            return turn.done() and not turn.cancelled()
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise
        finally:
            self._queue.pop(turn, None)
        return True

    def give_back(self) -> None:
        """Let the first in the queue in, or note that a place is free."""
        while self._queue:
            turn = next(iter(self._queue))
            del self._queue[turn]
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1


class _Seat:
    """One seat, given back once."""

    def __init__(self, places: Places) -> None:
        places.seats -= 1
        self._places: Places | None = places

    def leave(self, _: Outcome | None) -> None:
        """Give the seat back."""
        places, self._places = self._places, None
        if places is not None:
            places.seats += 1


class _Place:
    """One place, given back once."""

    def __init__(self, places: Places) -> None:
        self._places: Places | None = places

    def leave(self, _: Outcome | None) -> None:
        """Give the place back."""
        places, self._places = self._places, None
        if places is not None:
            places.give_back()


class PlaceGate:
    """Lets a call in if its tool has a place."""

    def __init__(self, policy: Policy, figures: Figures, queue_s: float = QUEUE_S) -> None:
        self._policy = policy
        self._figures = figures
        self._queue_s = queue_s
        self._places: dict[str, Places | None] = {}

    def enter(self, call: Call, tool: Tool) -> Awaitable[Fault | _Place] | None:
        """Return an awaitable of a place or of the fault for a call without one; None for a tool without a limit."""
        places = self.places_of(tool)
        return None if places is None else self._enter(call, tool, places)

    def places_of(self, tool: Tool) -> Places | None:
        """Return the places of a tool; None if it has no limit."""
        if tool.slug not in self._places:
            policy = self._policy
            limit = policy.places.get(tool.slug) or policy.places.get(tool.name) or policy.default_places
            self._places.setdefault(tool.slug, None if limit is None else Places(limit, self._queue_s))
        return self._places[tool.slug]

    async def _enter(self, call: Call, tool: Tool, places: Places) -> Fault | _Place:
        return _Place(places) if await places.take(call) else self.refuse(tool, places)

    def refuse(self, tool: Tool, places: Places) -> Fault:
        """Return the fault of a call for which there is no place."""
        self._figures.decided(("refused", "concurrency"))
        count = places.limit.concurrency
        taken = (
            "The place for calls of {} is taken" if count == 1 else f"All {count} places for calls of {{}} are taken"
        )
        message = f"{taken.format(tool.name)}: wait {RETRY_S:g} s, then make the same call again"
        return rate_limited(message, RETRY_S)


class SeatGate:
    """Refuses a call that would find the queue of its tool full; it stands before all that a call is charged to."""

    def __init__(self, gate: PlaceGate) -> None:
        self._gate = gate

    def enter(self, _: Call, tool: Tool) -> Awaitable[Fault | _Seat] | None:
        """Return an awaitable of a seat or of the fault for a call without one; None for a tool without a limit."""
        places = self._gate.places_of(tool)
        return None if places is None else self._enter(tool, places)

    async def _enter(self, tool: Tool, places: Places) -> Fault | _Seat:
        # Not before it is awaited: what was given at once to a call that never begins would be lost.
        return _Seat(places) if places.seats > 0 else self._gate.refuse(tool, places)
