"""Answers that clients have not taken yet: the bytes that a process holds of them, for whom, and who gives way. Pure.

    a large answer ── has_room ── no: it is refused with the reason
    what the client does not take at once ── hold ── beyond the bound: the greediest holder's oldest answer is dropped

One bound holds for all doors of a process: connections, streams, the event logs of sessions, stdio.
"""

from __future__ import annotations

from typing import Final, Protocol

from signet.kernel.errors import Code, Fault
from signet.system.places import Shares

from .memory import map_large_pieces

__all__ = ["COUNTED_BYTES", "UNREAD", "UNREAD_BYTES", "Holding", "UnreadAnswers", "left_unread"]

UNREAD_BYTES: Final = 256 << 20
"""The bytes of unread answers that one process holds."""
OWN_BYTES: Final = 64 << 20
"""What a process may hold beside its largest possible answer."""
COUNTED_BYTES: Final = 65_536
"""The size above which an answer needs room before it is sent; of any answer, what the client leaves is counted."""
CROWDED_BYTES: Final = 64 << 20
"""The unread answers from which on their memory has to be given back as soon as it is free."""
MIB: Final = 1 << 20


class Holding(Protocol):
    """Somewhere an answer is held: a connection, or the event log of a stream."""

    def give_way(self) -> None:
        """Drop what is held."""


class UnreadAnswers:
    """The unread answers of one process. For one thread."""

    def __init__(self, total: int = UNREAD_BYTES) -> None:
        self.shares = Shares("unread answers", total)
        self._amounts: dict[Holding, tuple[str, int]] = {}
        self._by_holder: dict[str, dict[Holding, None]] = {}
        """The places where each holder's answers are; the one that was read from last is the last."""
        self._was_crowded = False

    def fit(self, largest: int) -> None:
        """Let the bound be no smaller than the largest answer and some more."""
        self.shares.total = max(self.shares.total, largest + OWN_BYTES)

    def has_room(self, holder: str, amount: int) -> bool:
        """Return whether an answer may be sent to a holder; those who hold more give way to it.

        A holder that has no unread answer may have one whatever the others hold; others give way to it.
        """
        shares = self.shares
        while not self._fits(holder, amount):
            if not shares.held:
                # However large it is, no other caller needs the room.
                return True
            mine, greediest = shares.of(holder), shares.greediest()
            if mine and (greediest == holder or shares.of(greediest) <= mine + amount):
                return False
            self._drop_oldest(greediest)
        return True

    def hold(self, holding: Holding, holder: str, amount: int) -> None:
        """Count what is held in one place now; beyond the bound, the greediest holder's oldest answer is dropped."""
        if holding in self._amounts:
            self.release(holding)
        if not amount:
            return
        shares = self.shares
        self._amounts[holding] = holder, amount
        mine = self._by_holder.get(holder)
        if mine is None:
            mine = self._by_holder[holder] = {}
        mine[holding] = None
        shares.hold(holder, amount)
        if shares.held > CROWDED_BYTES and not self._was_crowded:
            self._was_crowded = True
            map_large_pieces()
        while shares.held > shares.total and len(self._amounts) > 1:
            self._drop_oldest(shares.greediest())

    def release(self, holding: Holding) -> None:
        """Note that nothing is held in one place any more."""
        found = self._amounts.pop(holding, None)
        if found is None:
            return
        holder, amount = found
        self.shares.give_back(holder, amount)
        mine = self._by_holder[holder]
        del mine[holding]
        if not mine:
            del self._by_holder[holder]

    def _fits(self, holder: str, amount: int) -> bool:
        shares = self.shares
        return shares.has_room(holder, amount) if shares.of(holder) else shares.held + amount <= shares.total

    def _drop_oldest(self, holder: str) -> None:
        oldest = next(iter(self._by_holder[holder]))
        self.release(oldest)
        oldest.give_way()


UNREAD: Final = UnreadAnswers()
"""The unread answers of this process."""


def left_unread(amount: int) -> Fault:
    """Return the fault for an answer that finds no room."""
    why = f"There is no room for this answer of {amount / MIB:.1f} MiB beside those that this caller has not read"
    message = f"{why}: read them, then ask again"
    return Fault(Code.INTERNAL_ERROR, message, name="UNREAD_ANSWERS", status=503)
