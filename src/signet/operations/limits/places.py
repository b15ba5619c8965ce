"""The gate of places: so many calls of a tool run at once in this process, some wait, and the others are refused.

A place goes from the call that ends to the caller that has the fewest of them; the calls of one caller are let in first
come, first served. Of the places and the queue together, each caller has a share, and who has nothing finds a seat.

A call that finds no room is refused before it is charged to any limit: it has a seat, one for each place and each
in the queue, from before the other limits are asked until its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from signet.kernel.errors import Fault, rate_limited
from signet.kernel.events import Events
from signet.kernel.outcome import Call, Outcome
from signet.kernel.tools import Tool
from signet.system.places import FairTurns, Shares

from .policy import PlaceLimit, Policy

__all__ = ["QUEUE_S", "PlaceGate", "Places", "SeatGate"]

QUEUE_S: Final = 10.0
"""The longest time in the queue; the time of the call begins behind it."""
RETRY_S: Final = 1.0


class Places:
    """The places of one tool, and the queue before them. For the event loop alone."""

    def __init__(self, limit: PlaceLimit, queue_s: float = QUEUE_S) -> None:
        self.limit = limit
        self.seats = Shares("places and queue of a tool", limit.concurrency + limit.queue)
        """The calls that have come in, to a place or to the queue."""
        self._turns = FairTurns("places of a tool", limit.concurrency)
        self._queue_s = queue_s

    @property
    def running(self) -> int:
        """Return the number of calls that have a place."""
        return self._turns.held

    @property
    def waiting(self) -> int:
        """Return the number of calls in the queue."""
        return self._turns.count

    def sit(self, holder: str) -> bool:
        """Let a call of a holder come in, to a place or to the queue; return False if all its seats are taken.

        A holder has a share of the seats, and where others leave them free, all places and one more. One that has none
        finds a seat beyond them all.
        """
        seats, mine = self.seats, self.seats.of(holder)
        is_free = seats.held < seats.total and mine <= self.limit.concurrency
        is_spare = bool(holder) and not mine and seats.held < 2 * seats.total
        if seats.has_room(holder) or is_free or is_spare:
            seats.hold(holder)
            return True
        return False

    async def take(self, call: Call) -> bool:
        """Wait for a place; return False if there is none: the queue is full, or the wait was too long."""
        turns, holder = self._turns, call.caller.holder
        if not turns.must_wait(holder):
            await turns.take(holder)
            return True
        if turns.count >= self.limit.queue and (not holder or turns.has(holder)):
            return False
        call.context.waiting(lambda: f"waiting for a place: {self.limit.concurrency} calls of the tool run at once")
        try:
            async with asyncio.timeout(self._queue_s):
                await turns.take(holder)
        except TimeoutError:
            return False
        return True

    def give_back(self, holder: str) -> None:
        """Let in who is next in the queue, or note that a place is free."""
        self._turns.give_back(holder)


class _Right:
    """What a call has until its end, given back once."""

    def __init__(self, give_back: Callable[[str], None], holder: str) -> None:
        self._give_back: Callable[[str], None] | None = give_back
        self._holder = holder

    def leave(self, _: Outcome | None) -> None:
        """Give it back."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back(self._holder)


class PlaceGate:
    """Lets a call in if its tool has a place."""

    def __init__(self, policy: Policy, events: Events, queue_s: float = QUEUE_S) -> None:
        self._policy = policy
        self._events = events
        self._queue_s = queue_s
        self._places: dict[str, Places | None] = {}

    def enter(self, call: Call, tool: Tool) -> Awaitable[Fault | _Right] | None:
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

    async def _enter(self, call: Call, tool: Tool, places: Places) -> Fault | _Right:
        if await places.take(call):
            return _Right(places.give_back, call.caller.holder)
        return self.refuse(tool, places)

    def refuse(self, tool: Tool, places: Places, holder: str = "") -> Fault:
        """Return the fault of a call for which there is no place."""
        if self._events.limit_decided is not None:
            self._events.limit_decided("refused", "concurrency")
        seats = places.seats
        if (mine := seats.of(holder)) and seats.held < seats.total:
            message = f"You have {mine} calls of {tool.name} here, and others need room"
            return rate_limited(f"{message}: wait {RETRY_S:g} s, then make the same call again", RETRY_S)
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

    def enter(self, call: Call, tool: Tool) -> Awaitable[Fault | _Right] | None:
        """Return an awaitable of a seat or of the fault for a call without one; None for a tool without a limit."""
        places = self._gate.places_of(tool)
        return None if places is None else self._enter(call.caller.holder, tool, places)

    async def _enter(self, holder: str, tool: Tool, places: Places) -> Fault | _Right:
        # Not before it is awaited: what was given at once to a call that never begins would be lost.
        if places.sit(holder):
            return _Right(places.seats.give_back, holder)
        return self._gate.refuse(tool, places, holder)
