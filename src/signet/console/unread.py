"""The latest records of a process that no page has shown yet, packed: most of them are never shown.

    a batch ── add ── one text ── take ── its records, when somebody looks

Ten thousand records as objects would fill the caches of the processor, and each call would pay for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from signet.journal.record import JournalRecord

__all__ = ["Trouble", "UnreadRecord", "UnreadRecords"]


class Trouble(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The error of a call."""

    code: str
    stage: str
    shadow: bool
    place: str
    keyword: str


class UnreadRecord(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What the console shows of a call; neither its arguments nor its result, which may be large."""

    record: JournalRecord
    tool: str
    door: str
    caller: str
    exchange: str
    ended_s: float
    trouble: Trouble | None


_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(list[UnreadRecord]).decode


class UnreadRecords:
    """So many records at least, the latest; whole batches of the oldest are forgotten. The caller holds a lock."""

    def __init__(self, least: int) -> None:
        self._least = least
        self._batches: deque[tuple[int, bytes]] = deque()
        self._count = 0

    def __len__(self) -> int:
        return min(self._count, self._least)

    def add(self, batch: Sequence[UnreadRecord]) -> None:
        """Keep a batch."""
        kept = batch[-self._least :]
        if not kept:
            return
        self._batches.append((len(kept), _pack(kept)))
        self._count += len(kept)
        while self._count - self._batches[0][0] >= self._least:
            self._count -= self._batches.popleft()[0]

    def take(self) -> list[UnreadRecord]:
        """Return the latest records in their order, and keep none."""
        found = [one for _, packed in self._batches for one in _unpack(packed)]
        self._batches.clear()
        self._count = 0
        return found[-self._least :]
