"""The figures of one process: counters, gauges and histograms over cells that other processes may read; the last hour.

    registry.counter("signet_rate_limit_decisions_total", {"decision": "allow", "scope": "principal"}).inc()

A figure is looked up by its labels once and kept by whoever counts with it; to count is one addition in a cell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from threading import Lock
from typing import Final, Protocol

from .families import BY_NAME, Family, Key
from .hour import HourFigures

__all__ = [
    "ITEM_BYTES",
    "MAX_CELLS",
    "Cells",
    "Counter",
    "Figures",
    "Gauge",
    "Histogram",
    "HistogramSeries",
    "MemoryCells",
    "Registry",
    "Values",
]

MAX_CELLS: Final = 65_536
"""The number of cells of one process: 4096 histograms. Labels do not come from clients, so it is never reached."""
ITEM_BYTES: Final = 8

Figures = dict[Key, list[float]]
"""The cells of each figure, by the name of its family and the values of its labels."""


class Values(Protocol):
    """Numbers by their places."""

    def __getitem__(self, index: int, /) -> float:
        """Return a number."""

    def __setitem__(self, index: int, value: float, /) -> None:
        """Set a number."""


class Cells(Protocol):
    """Where the figures of a process are kept."""

    values: Values

    def note(self, key: Key, at: int) -> None:
        """Write down whose cells begin at a place."""

    def close(self) -> None:
        """Give the cells up; what is in them stays, where others can read it."""


class MemoryCells:
    """Cells that nobody else reads."""

    def __init__(self) -> None:
        # Of pages that nothing was counted in, the system has none.
        cells = mmap(-1, MAX_CELLS * ITEM_BYTES, flags=MAP_PRIVATE | MAP_ANONYMOUS)
        self.values: Values = memoryview(cells).cast("d")

    def note(self, key: Key, at: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class _Figure:
    """One figure: its cells, and the lock that makes an addition whole."""

    __slots__ = ("_lock", "_values", "at")

    def __init__(self, values: Values, at: int, lock: Lock) -> None:
        self._values = values
        self.at = at
        self._lock = lock


class Counter(_Figure):
    """A number that grows."""

    __slots__ = ()

    @property
    def value(self) -> float:
        """The number in this process."""
        return self._values[self.at]

    def inc(self, by: float = 1.0) -> None:
        """Add to the number."""
        with self._lock:
            self._values[self.at] += by


class Gauge(Counter):
    """A number that grows and shrinks."""

    __slots__ = ()

    def dec(self, by: float = 1.0) -> None:
        """Subtract from the number."""
        self.inc(-by)

    def set(self, value: float) -> None:
        """Set the number."""
        self._values[self.at] = value


class Histogram(_Figure):
    """Durations, counted by bounds."""

    __slots__ = ("bounds", "sum_at")

    def __init__(self, values: Values, at: int, lock: Lock, bounds: tuple[float, ...] = ()) -> None:
        super().__init__(values, at, lock)
        self.bounds = bounds
        self.sum_at = at + len(bounds) + 1

    def observe(self, value: float) -> None:
        """Count one duration."""
        values = self._values
        with self._lock:
            values[self.at + bisect_left(self.bounds, value)] += 1.0
            values[self.sum_at] += value

    def observe_with(self, other: Histogram, value: float) -> None:
        """Count one duration here and in another histogram of the same registry, at the price of one."""
        values = self._values
        with self._lock:
            values[self.at + bisect_left(self.bounds, value)] += 1.0
            values[self.sum_at] += value
            values[other.at + bisect_left(other.bounds, value)] += 1.0
            values[other.sum_at] += value


class HistogramSeries(dict[tuple[str, ...], Histogram]):
    """The histograms of one family by the values of their labels; a missing one is made."""

    def __init__(self, registry: Registry, family: Family) -> None:
        super().__init__()
        self._registry = registry
        self._family = family

    def __missing__(self, labels: tuple[str, ...]) -> Histogram:
        """Make the histogram of some labels."""
        figure = self[labels] = self._registry.histogram_of(self._family, labels)
        return figure


class Registry:
    """All figures of one process."""

    def __init__(self, cells: Cells | None = None) -> None:
        self.hour = HourFigures()
        self._cells = cells or MemoryCells()
        self._places: dict[Key, int] = {}
        self._end = 0
        self._adding = Lock()
        self._counting = Lock()

    def counter(self, name: str, labels: Mapping[str, str] | None = None) -> Counter:
        """Return a counter by its name for Prometheus."""
        return Counter(self._cells.values, self._place(*_key(name, labels)), self._counting)

    def gauge(self, name: str, labels: Mapping[str, str] | None = None) -> Gauge:
        """Return a gauge by its name for Prometheus."""
        return Gauge(self._cells.values, self._place(*_key(name, labels)), self._counting)

    def histogram(self, name: str, labels: Mapping[str, str] | None = None) -> Histogram:
        """Return a histogram by its name for Prometheus."""
        return self.histogram_of(*_key(name, labels))

    def histogram_of(self, family: Family, labels: tuple[str, ...]) -> Histogram:
        """Return a histogram by its family and the values of its labels, in their order."""
        return Histogram(self._cells.values, self._place(family, labels), self._counting, family.bounds)

    def figures(self) -> Figures:
        """Return what the process has counted."""
        values, places = self._cells.values, dict(self._places)
        return {key: [values[at + step] for step in range(BY_NAME[key[0]].width)] for key, at in places.items()}

    def close(self) -> None:
        """Give the cells up."""
        self._cells.close()

    def _place(self, family: Family, labels: tuple[str, ...]) -> int:
        """Return where the cells of a figure begin; figures for which there is no room share the last cells."""
        key = family.exposed, labels
        with self._adding:
            at = self._places.get(key)
            if at is None:
                if self._end + 2 * family.width > MAX_CELLS:
                    return MAX_CELLS - family.width
                at = self._places[key] = self._end
                self._end += family.width
                self._cells.note(key, at)
            return at


def _key(name: str, labels: Mapping[str, str] | None) -> tuple[Family, tuple[str, ...]]:
    family = BY_NAME[name]
    given = labels or {}
    return family, tuple(given[label] for label in family.exposed_labels)
