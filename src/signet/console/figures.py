"""The figures of the last hour: how often things happened, how long they took, how they failed; kept in memory.

    journal's thread ── a batch of calls ──▶ tallies ──┐
    event loop ── a refusal, a request to an upstream ─┼──▶ slices of 10 s, of all calls     for charts
    other processes ── their tallies ──────────────────┘    minutes, of each thing ── sum    for tables

Work is done for each batch, not for each call on its way; memory is bounded by the number of different things.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from .histogram import bucket_of, merge_counts
from .trial import door_of

if TYPE_CHECKING:
    from signet.journal.record import JournalEntry, JournalRecord

__all__ = ["CALLS", "MINUTES", "OTHERS", "REFUSALS", "SLICES_PER_MINUTE", "SLICE_S", "UPSTREAMS", "HourFigures"]
__all__ += ["Tallies", "Tally", "Thing", "tallies_of"]

Key = TypeVar("Key")

SLICE_S: Final = 10
SLICES_PER_MINUTE: Final = 6
MINUTES: Final = 60
CALLS, REFUSALS, UPSTREAMS = "calls", "refusals", "upstreams"
MAX_THINGS: Final = {CALLS: 500, REFUSALS: 50, UPSTREAMS: 50}
"""The number of different things of a kind that are told apart; the rest is one thing."""
OTHERS: Final = "…"
MAX_FAULTS: Final = 40
"""The number of faults of one thing that are told apart: a tool can give its faults any names."""
MAX_NAME_CHARS: Final = 80


class Thing(NamedTuple):
    """What is counted: a tool behind a door, a reason to refuse, an upstream at an origin."""

    kind: str
    name: str
    place: str


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


def _take(counts: dict[Key, int], key: Key, count: int) -> int:
    """Take a count away, as far as it is there, and return how much that was."""
    left = counts.pop(key, 0) - count
    if left > 0:
        counts[key] = left
    return count + min(left, 0)


Tallies = Mapping[tuple[int, Thing], Tally]
"""What happened, by the slice of its end and by what it was."""


def tallies_of(batch: list[tuple[JournalEntry, JournalRecord]]) -> Tallies:
    """Return the tallies of a batch of calls; tools that are not there count as one without a name."""
    found: dict[tuple[int, str, str], Tally] = {}
    for entry, _ in batch:
        tool, call = entry.tool, entry.call
        name = tool.name if tool is not None else ""
        key = (int(entry.ended_s) // SLICE_S, name, door_of(call.door, call.caller))
        tally = found.get(key)
        if tally is None:
            tally = found[key] = Tally()
        times, bucket = tally.times, bucket_of(entry.took_s)
        times[bucket] = times.get(bucket, 0) + 1
        fault = entry.fault
        if fault is not None:
            name = f"{fault.code.value}/{fault.name[:MAX_NAME_CHARS]}"
            tally.faults[name] = tally.faults.get(name, 0) + 1
    return {(number, Thing(CALLS, name, door)): tally for (number, name, door), tally in found.items()}


class HourFigures:
    """Keeps the figures of the last hour; from any thread, and each method holds its lock for a moment."""

    def __init__(self, *, keeps_unsent: bool = False, clock: Callable[[], float] = time.time) -> None:
        """Begin with nothing; what is to be told to other processes is kept until `take_unsent`."""
        self._clock = clock
        self._lock = threading.Lock()
        self._slices: dict[int, Tally] = {}
        self._minutes: dict[int, dict[Thing, Tally]] = {}
        self._totals: dict[Thing, Tally] = {}
        """The sum of all minutes, kept up to date: it is asked for every few seconds."""
        self._unsent: dict[tuple[int, Thing], Tally] | None = {} if keeps_unsent else None

    def note(self, kind: str, name: str, place: str, took_s: float = 0.0, fault: str = "") -> None:
        """Count one thing that has just happened."""
        tally = Tally({bucket_of(took_s): 1}, {fault[:MAX_NAME_CHARS]: 1} if fault else {})
        thing = Thing(kind, name[:MAX_NAME_CHARS], place[:MAX_NAME_CHARS])
        self.add({(self.present_slice(), thing): tally})

    def add(self, tallies: Tallies, *, are_own: bool = True) -> None:
        """Count what has happened, in this process or in another one."""
        present = self.present_slice()
        with self._lock:
            for (given, thing), tally in tallies.items():
                # A clock that was set back leaves slices in the future: they count as now.
                number = min(given, present)
                if number // SLICES_PER_MINUTE <= present // SLICES_PER_MINUTE - MINUTES:
                    continue
                known = self._add(number, thing, tally)
                if are_own and self._unsent is not None:
                    self._unsent.setdefault((number, known), Tally()).add(tally)
            self._forget(present)

    def _add(self, number: int, thing: Thing, tally: Tally) -> Thing:
        totals = self._totals
        if thing not in totals and sum(one.kind == thing.kind for one in totals) >= MAX_THINGS[thing.kind]:
            thing = Thing(thing.kind, OTHERS, OTHERS)
        totals.setdefault(thing, Tally()).add(tally)
        self._minutes.setdefault(number // SLICES_PER_MINUTE, {}).setdefault(thing, Tally()).add(tally)
        if thing.kind == CALLS:
            self._slices.setdefault(number, Tally()).add(tally)
        return thing

    def _forget(self, present: int) -> None:
        now = present // SLICES_PER_MINUTE
        # What is ahead of now was counted before the clock was set back: it would stay, and come again as new.
        for minute in [one for one in self._minutes if not now - MINUTES < one <= now]:
            for thing, tally in self._minutes.pop(minute).items():
                self._totals[thing].take(tally)
                if not self._totals[thing].times:
                    del self._totals[thing]
        for number in [one for one in self._slices if not present - MINUTES * SLICES_PER_MINUTE < one <= present]:
            del self._slices[number]

    def present_slice(self) -> int:
        """Return the number of the slice that lasts."""
        return int(self._clock()) // SLICE_S

    def totals(self) -> dict[Thing, Tally]:
        """Return the tally of each thing over the hour."""
        with self._lock:
            self._forget(self.present_slice())
            return {thing: tally.copy() for thing, tally in self._totals.items()}

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
