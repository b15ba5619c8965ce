"""Shares: what each holder has of one scarce thing, and whether it may have more. Pure.

A holder may have as much as is left for all others: the first at most one half, a second one half of the rest, and so
on. A holder is `Caller.holder`: a principal, else an address. Where callers cannot be told apart (stdio, a unix
socket), the holder is empty and may have everything.

Every scarce thing that several callers use has one of these, and a row in docs/shared-fairly.md.
"""

from __future__ import annotations

__all__ = ["Shares"]


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
