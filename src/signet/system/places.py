"""Places at one scarce thing: what each holder has of it, and the line of those who wait. Imports asyncio late.

    take ── has an amount ── give_back                                Shares, for one thread or below a lock
    add ── waits ── next ── has a part of the thing ── give_back      Line, likewise
    take ── waits on the event loop ── has a turn ── give_back        FairTurns

A holder may have as much as is left for all others: the first at most one half, a second one half of the rest, and so
on. A holder is `Caller.holder`: a principal, else an address. Where callers cannot be told apart (stdio, a unix
socket), the holder is empty and may have everything.

In the line, of a holder first come, first served; of the holders, the one that has least: a holder with more than
others waits behind its own requests, and a holder that has nothing is always the next.

Every scarce thing that several callers use has one of these, and a row in docs/shared-fairly.md.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio

__all__ = ["FairTurns", "Line", "Shares"]

T = TypeVar("T", bound=Hashable)


class Shares:
    """The amounts of one thing (places, threads, bytes) by holder. For one thread, or below a lock."""

    __slots__ = ("_held", "_most", "held", "thing", "total")

    def __init__(self, thing: str, total: int, most: int | None = None) -> None:
        self.thing = thing
        """The name of the thing in the table of docs/shared-fairly.md."""
        self.total = total
        """The amount that all holders may have together."""
        self._most = total if most is None else most
        self.held = 0
        """The amount that all holders have together."""
        self._held: dict[str, int] = {}

    def of(self, holder: str) -> int:
        """Return the amount that a holder has."""
        return self._held.get(holder, 0)

    def has_room(self, holder: str, amount: int = 1) -> bool:
        """Return whether a holder may have so much more."""
        held = self.held + amount
        if held + held <= self.total and held <= self._most:
            return True
        mine = self._held.get(holder, 0) + amount
        # The last part of the amount is weighed as it would be if the parts were taken one by one.
        return mine <= self._most and held + (mine - 1 if holder else 0) <= self.total

    def take(self, holder: str, amount: int = 1) -> bool:
        """Give a holder so much more, unless it may not have it; return whether it has it."""
        if not self.has_room(holder, amount):
            return False
        self.hold(holder, amount)
        return True

    def hold(self, holder: str, amount: int = 1) -> None:
        """Count an amount that a holder has, whether it may have it or not."""
        self._held[holder] = self._held.get(holder, 0) + amount
        self.held += amount

    def give_back(self, holder: str, amount: int = 1) -> None:
        """Take an amount back from a holder that has it."""
        left = self._held[holder] - amount
        self.held -= amount
        if left:
            self._held[holder] = left
        else:
            del self._held[holder]

    def greediest(self) -> str:
        """Return the holder that has most; of several, the one that came first."""
        return max(self._held, key=self._held.__getitem__)


class Line(Generic[T]):
    """Those who wait, by holder, and what each holder has. For one thread, or below a lock."""

    def __init__(self, shares: Shares, *, spare: int = 0, reserves: bool = True) -> None:
        """Give out the thing that `shares` counts.

        `spare` is what there is beyond it for holders that have nothing, one for each. Without `reserves`, a holder may
        have all that is left, and the others wait until some of it is given back.
        """
        self._shares = shares
        self._spare = spare
        self._reserves = reserves
        self._waiting: OrderedDict[str, dict[T, None]] = OrderedDict()
        self.count = 0
        """The number of those who wait."""
        self._empty: dict[T, None] | None = None
        """What the last holder that has left waited in, for the next one."""

    @property
    def held(self) -> int:
        """Return the amount that all holders have."""
        return self._shares.held

    @property
    def most(self) -> int:
        """Return the amount that all holders may have, with what is spare."""
        return self._shares.total + self._spare

    def of(self, holder: str) -> int:
        """Return the amount that a holder has."""
        return self._shares.of(holder)

    def has(self, holder: str) -> bool:
        """Return whether a holder has a part of the thing, or waits for one."""
        return holder in self._waiting or self._shares.of(holder) > 0

    def may_have(self, holder: str) -> bool:
        """Return whether a holder may have one more now."""
        shares = self._shares
        if not holder or not self._reserves:
            if shares.held < shares.total:
                return True
        elif shares.has_room(holder):
            return True
        return self._spare > 0 and not shares.of(holder) and shares.held < shares.total + self._spare

    def add(self, holder: str, item: T) -> None:
        """Let somebody wait, behind the others of the same holder."""
        mine = self._waiting.get(holder)
        if mine is None:
            mine, self._empty = {} if self._empty is None else self._empty, None
            self._waiting[holder] = mine
        mine[item] = None
        self.count += 1

    def drop(self, holder: str, item: T) -> bool:
        """Forget somebody who waits; return whether there was one."""
        mine = self._waiting.get(holder)
        if mine is None or item not in mine:
            return False
        del mine[item]
        self._left(holder, mine)
        return True

    def next(self) -> T | None:
        """Return the next in the queue, which now has a part; None where no holder may have more."""
        if not self.count:
            return None
        waiting = self._waiting
        holder = next(iter(waiting)) if len(waiting) == 1 else self._next_holder()
        if holder is None or not self.may_have(holder):
            return None
        self._shares.hold(holder)
        mine = waiting[holder]
        item = next(iter(mine))
        del mine[item]
        if mine:
            # Of those that have equally much, the holder that had its turn last comes last.
            waiting.move_to_end(holder)
        self._left(holder, mine)
        return item

    def ready(self, limit: int) -> int:
        """Return the number of those who may be next at once, up to a limit; it may be too large, and is never 0 then.

        Each holder is looked at by itself, as if the others waited for nothing.
        """
        count, shares = 0, self._shares
        for holder, mine in self._waiting.items():
            if not self.may_have(holder):
                continue
            room = shares.total - shares.held
            if holder and self._reserves:
                room = (room - shares.of(holder) + 1) // 2
            count += max(1, min(len(mine), room))
            if count >= limit:
                return limit
        return count

    def take_at_once(self, holder: str) -> bool:
        """Give a holder one more without a wait if the queue is empty and it may have it; return whether it has it."""
        shares = self._shares
        if self.count or (shares.held and not self.may_have(holder)):
            return False
        shares.hold(holder)
        return True

    def give_back(self, holder: str) -> None:
        """Take a part back."""
        self._shares.give_back(holder)

    def _next_holder(self) -> str | None:
        found, least = None, -1
        for holder in self._waiting:
            has = self._shares.of(holder)
            if (found is None or has < least) and self.may_have(holder):
                found, least = holder, has
                if not has:
                    break
        return found

    def _left(self, holder: str, mine: dict[T, None]) -> None:
        self.count -= 1
        if not mine:
            del self._waiting[holder]
            self._empty = mine


class FairTurns(Line["asyncio.Future[None]"]):
    """So many turns at once; who waits longest does not go first where its holder has more than another."""

    def __init__(
        self, thing: str, count: int, max_waiting: int | None = None, *, reserves: bool = False, spare: int = 0
    ) -> None:
        """Give out `count` turns, and `spare` more to holders that have none; `max_waiting` may wait, by shares.

        With `reserves`, a holder leaves as many turns as it has to all others; without it, all that are free are its.
        """
        super().__init__(Shares(thing, count), spare=spare, reserves=reserves)
        self._queue = None if max_waiting is None else Shares(f"{thing}: who waits", max_waiting)

    def must_wait(self, holder: str) -> bool:
        """Return whether a holder would have to wait for a turn."""
        return self.count > 0 or not self.may_have(holder)

    def may_wait(self, holder: str) -> bool:
        """Return whether a holder may let one more wait."""
        return self._queue is None or self._queue.has_room(holder)

    async def take(self, holder: str) -> None:
        """Wait for a turn; the caller returns it with `give_back`."""
        if self.take_at_once(holder):
            return
        import asyncio

        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.add(holder, turn)
        if self._queue is not None:
            self._queue.hold(holder)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if not self.drop(holder, turn):
                self.give_back(holder)
            raise
        finally:
            if self._queue is not None:
                self._queue.give_back(holder)

    def give_back(self, holder: str) -> None:
        """Give a turn back, and let in the next in the queue."""
        self._shares.give_back(holder)
        if self.count:
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
        while (turn := self.next()) is not None:
            # One that was left at this moment gives its turn back by itself.
            if not turn.done():
                turn.set_result(None)
