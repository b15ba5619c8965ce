"""The figures of the last hour: how often things happened, how long they took, how they failed; kept in memory.

    a batch of calls, a refusal, a request to an upstream ─┬─▶ slices of 10 s, of all calls     for charts
    the tallies of other processes ────────────────────────┘    minutes, of each figure ── sum   for tables

Memory is bounded by the number of different labels. An hour of cells would be 60 times 258 numbers for each figure,
most of them 0, so the figures of the hour are dictionaries, beside the cells of the other figures.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from .families import HOUR_CALLS, HOURS, Family, Key
from .quantiles import bucket_of, merge_counts

__all__ = ["MAX_NAME_CHARS", "MINUTES", "OTHERS", "SLICES_PER_MINUTE", "SLICE_S", "HourFigures", "Tallies", "Tally"]

Name = TypeVar("Name")

SLICE_S: Final = 10
SLICES_PER_MINUTE: Final = 6
MINUTES: Final = 60
OTHERS: Final = "…"
MAX_FAULTS: Final = 40
"""The number of faults of one figure that are told apart: a tool can give its faults any names."""
MAX_NAME_CHARS: Final = 80


class Tally(msgspec.Struct):
    """How often something happened."""

    times: dict[int, int] = msgspec.field(default_factory=dict)
    """The durations, as a histogram; each occurrence has one."""
    faults: dict[str, int] = msgspec.field(default_factory=dict)
    """How it failed: the code and the name of a fault with a stroke between, or a kind of failure."""

    @property
    def count(self) -> int:
        """Return how often it happened."""
        return sum(self.times.values())

    @property
    def failed(self) -> int:
        """Return how often it failed."""
        return sum(self.faults.values())

    def add(self, other: Tally) -> None:
        """Add another tally."""
        merge_counts(self.times, other.times)
        for fault, count in other.faults.items():
            known = fault if fault in self.faults or len(self.faults) < MAX_FAULTS else _other(fault)
            self.faults[known] = self.faults.get(known, 0) + count

    def take(self, other: Tally) -> None:
        """Take away a tally that was added."""
        for bucket, count in other.times.items():
            _take(self.times, bucket, count)
        for fault, count in other.faults.items():
            # What was not told apart when it was added is among the others.
            _take(self.faults, _other(fault), count - _take(self.faults, fault, count))

    def copy(self) -> Tally:
        """Return the same tally, to keep."""
        return Tally(dict(self.times), dict(self.faults))


def _other(fault: str) -> str:
    """Return what stands for a fault that is not told apart: its code stays known."""
    code, stroke, _ = fault.partition("/")
    return f"{code}/{OTHERS}" if stroke else OTHERS


def _take(counts: dict[Name, int], key: Name, count: int) -> int:
    """Take a count away, as far as it is there, and return how much that was."""
    left = counts.pop(key, 0) - count
    if left > 0:
        counts[key] = left
    return count + min(left, 0)


Tallies = Mapping[tuple[int, Key], Tally]
"""What happened, by the slice of its end and by the figure that counts it."""


class HourFigures:
    """Keeps the figures of the last hour; from any thread, and each method holds its lock for a moment."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        """Begin with nothing."""
        self._clock = clock
        self._lock = threading.Lock()
        self._slices: dict[int, Tally] = {}
        self._minutes: dict[int, dict[Key, Tally]] = {}
        self._totals: dict[Key, Tally] = {}
        """The sum of all minutes, kept up to date: it is asked for every few seconds."""
        self._unsent: dict[tuple[int, Key], Tally] | None = None

    def share(self) -> None:
        """Keep what is counted in this process for the others, until `take_unsent`."""
        self._unsent = {}

    def note(self, family: Family, labels: tuple[str, ...], took_s: float = 0.0, fault: str = "") -> None:
        """Count what has just happened once."""
        tally = Tally({bucket_of(took_s): 1}, {fault[:MAX_NAME_CHARS]: 1} if fault else {})
        key = family.name, tuple([label[:MAX_NAME_CHARS] for label in labels])
        self.add({(self.present_slice(), key): tally})

    def add(self, tallies: Tallies, *, are_own: bool = True) -> None:
        """Count what has happened, in this process or in another one."""
        present = self.present_slice()
        with self._lock:
            for (given, key), tally in tallies.items():
                # A clock that was set back leaves slices in the future: they count as now.
                number = min(given, present)
                if number // SLICES_PER_MINUTE <= present // SLICES_PER_MINUTE - MINUTES:
                    continue
                known = self._add(number, key, tally)
                if are_own and self._unsent is not None:
                    self._unsent.setdefault((number, known), Tally()).add(tally)
            self._forget(present)

    def _add(self, number: int, key: Key, tally: Tally) -> Key:
        totals, (name, labels) = self._totals, key
        if key not in totals and sum(one == name for one, _ in totals) >= HOURS[name].most:
            key = name, (OTHERS,) * len(labels)
        totals.setdefault(key, Tally()).add(tally)
        self._minutes.setdefault(number // SLICES_PER_MINUTE, {}).setdefault(key, Tally()).add(tally)
        if name == HOUR_CALLS.name:
            self._slices.setdefault(number, Tally()).add(tally)
        return key

    def _forget(self, present: int) -> None:
        now = present // SLICES_PER_MINUTE
        # What is ahead of now was counted before the clock was set back: it would stay, and come again as new.
        for minute in [one for one in self._minutes if not now - MINUTES < one <= now]:
            for key, tally in self._minutes.pop(minute).items():
                self._totals[key].take(tally)
                if not self._totals[key].times:
                    del self._totals[key]
        for number in [one for one in self._slices if not present - MINUTES * SLICES_PER_MINUTE < one <= present]:
            del self._slices[number]

    def present_slice(self) -> int:
        """Return the number of the slice that lasts."""
        return int(self._clock()) // SLICE_S

    def totals(self, family: Family) -> dict[tuple[str, ...], Tally]:
        """Return the tally of each figure of a family over the hour, by its labels."""
        with self._lock:
            self._forget(self.present_slice())
            return {labels: tally.copy() for (name, labels), tally in self._totals.items() if name == family.name}

    def minutes(self) -> list[tuple[int, Tally]]:
        """Return the tally of all calls in each of the last 60 minutes up to now, with the slice after its end."""
        end = self.present_slice() + 1
        found = []
        with self._lock:
            for last in range(end - SLICES_PER_MINUTE * (MINUTES - 1), end + 1, SLICES_PER_MINUTE):
                tally = Tally()
                for number in range(last - SLICES_PER_MINUTE, last):
                    if number in self._slices:
                        tally.add(self._slices[number])
                found.append((last, tally))
        return found

    def take_unsent(self) -> Tallies:
        """Return what was counted here since the last time."""
        with self._lock:
            unsent, self._unsent = self._unsent or {}, {} if self._unsent is not None else None
        return unsent
