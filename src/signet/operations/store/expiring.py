"""Values that are kept for some time, within a number of values and of bytes; the oldest go first. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, NamedTuple, TypeVar

__all__ = ["SECOND_NS", "Expiring"]

T = TypeVar("T")
SECOND_NS: Final = 1_000_000_000


class _Entry(NamedTuple, Generic[T]):
    value: T
    until_ns: int
    size: int


class Expiring(Generic[T]):
    """Values by their keys."""

    def __init__(self, max_values: int, max_bytes: int) -> None:
        self._max_values = max_values
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        """Return the number of values, those that have run out and were not looked at since included."""
        return len(self._entries)

    def oldest(self) -> str | None:
        """Return the key of the value that was kept first."""
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

    def put(self, key: str, value: T, now_ns: int, keep_s: float, size: int = 0) -> None:
        """Keep a value as the newest one; a value that is larger than all may be together is not kept."""
        self.drop(key)
        if size > self._max_bytes:
            return
        self._entries[key] = _Entry(value, now_ns + int(keep_s * SECOND_NS), size)
        self._bytes += size
        while len(self._entries) > self._max_values or self._bytes > self._max_bytes:
            self.drop(next(iter(self._entries)))

    def drop(self, key: str) -> None:
        """Forget a value."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size
