"""Values that are kept for some time, in bytes that callers share; a caller's own oldest give way, no other's. Pure.

A fixed value gives way to nothing: it stays until it is dropped or its time is over.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, NamedTuple, TypeVar

from signet.system.places import Shares

__all__ = ["COST_BYTES", "SECOND_NS", "HeldValues"]

T = TypeVar("T")
SECOND_NS: Final = 1_000_000_000
COST_BYTES: Final = 512
"""What a value takes beside its own size: its key, and where it is noted."""
LOOKED_AT: Final = 4
"""The number of old values that are looked at for each new one."""


class _Entry(NamedTuple, Generic[T]):
    value: T
    until_ns: int
    cost: int
    holder: str
    is_fixed: bool


class HeldValues(Generic[T]):
    """Values by their keys, each with its holder."""

    def __init__(self, thing: str, max_bytes: int) -> None:
        self._shares = Shares(thing, max_bytes)
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._loose: dict[str, OrderedDict[str, None]] = {}
        """The keys of each holder's values that may give way, the oldest first."""
        self._loose_bytes: dict[str, int] = {}

    def __len__(self) -> int:
        """Return the number of values, those that have run out and were not looked at since included."""
        return len(self._entries)

    def oldest(self) -> str | None:
        """Return the key of a value that was kept before the others."""
        return next(iter(self._entries), None)

    def get(self, key: str, now_ns: int) -> T | None:
        """Return a value whose time has not run out."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.until_ns > now_ns:
            return entry.value
        self.drop(key)
        return None

    def put(
        self, key: str, value: T, now_ns: int, keep_s: float, *, holder: str, size: int = 0, is_fixed: bool = False
    ) -> bool:
        """Keep a value as its holder's newest one; return False, and change nothing, where it finds no room."""
        self._forget_old(now_ns)
        before = self._entries.get(key)
        cost = size + COST_BYTES
        if not self._can_have(holder, cost, before):
            return False
        self.drop(key)
        while not self._shares.take(holder, cost):
            self.drop(next(iter(self._loose[holder])))
        self._entries[key] = _Entry(value, now_ns + int(keep_s * SECOND_NS), cost, holder, is_fixed)
        if not is_fixed:
            self._loose.setdefault(holder, OrderedDict())[key] = None
            self._loose_bytes[holder] = self._loose_bytes.get(holder, 0) + cost
        return True

    def drop(self, key: str) -> None:
        """Forget a value."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        holder = entry.holder
        self._shares.give_back(holder, entry.cost)
        if entry.is_fixed:
            return
        del self._loose[holder][key]
        self._loose_bytes[holder] -= entry.cost
        if not self._loose[holder]:
            del self._loose[holder], self._loose_bytes[holder]

    def _can_have(self, holder: str, cost: int, before: _Entry[T] | None) -> bool:
        """Return whether there is room when all of the holder's values that may give way are gone, and `before`."""
        shares, mine = self._shares, self._loose_bytes.get(holder, 0)
        others = 0
        if before is not None and (before.is_fixed or before.holder != holder):
            others = before.cost
            shares.give_back(before.holder, others)
        if mine:
            shares.give_back(holder, mine)
        can = shares.has_room(holder, cost)
        if mine:
            shares.hold(holder, mine)
        if before is not None and others:
            shares.hold(before.holder, others)
        return can

    def _forget_old(self, now_ns: int) -> None:
        """Forget some values whose time is over."""
        entries = self._entries
        for _ in range(min(LOOKED_AT, len(entries))):
            key = next(iter(entries))
            entry = entries[key]
            if entry.until_ns <= now_ns:
                self.drop(key)
            elif entry.is_fixed:
                entries.move_to_end(key)
            else:
                return
