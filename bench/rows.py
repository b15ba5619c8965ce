"""Measurements: the values of each round beside each other, and the ratios within a round.

    Sheet.add(metric, contender, value)  ──▶  Sheet.rows()  ──▶  Row.ratio(rival)

A benchmark fills a sheet and returns its rows; `report` decides how they are shown.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

__all__ = ["BOUND", "SIGNET", "Metric", "Ratio", "Row", "Sheet", "rotated"]

SIGNET = "Signet"
BOUND = "bound"
"""The contender that does no work and shows the cost of the driver itself; it is not a rival."""

T = TypeVar("T")


@dataclass(frozen=True)
class Metric:
    """One line of a table: the quantity, its unit, and whether less or more is better."""

    section: str
    name: str
    unit: str
    better: Literal["less", "more"]
    at: float | None = None
    """The place on a curve, such as the number of tools; None for a value that stands alone."""


@dataclass(frozen=True)
class Ratio:
    """Signet's value divided by a rival's: the median, smallest and largest of the rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """All values of one metric: for each contender one value per round, in order."""

    metric: Metric
    values: dict[str, list[float]]

    @property
    def rivals(self) -> tuple[str, ...]:
        """The contenders that Signet is compared with."""
        return tuple(name for name in self.values if name not in {SIGNET, BOUND})

    def median(self, contender: str) -> float:
        """Return the median of one contender over all rounds."""
        return statistics.median(self.values[contender])

    def ratio(self, rival: str) -> Ratio:
        """Return the ratio to a rival, computed within each round, so that a slow moment affects both sides."""
        pairs = zip(self.values[SIGNET], self.values[rival], strict=True)
        ratios = [ours / theirs for ours, theirs in pairs]
        return Ratio(statistics.median(ratios), min(ratios), max(ratios))


@dataclass
class Sheet:
    """The rows of one benchmark while it runs."""

    _values: dict[Metric, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, metric: Metric, contender: str, value: float) -> None:
        """Store one value and log it to standard error."""
        self._values.setdefault(metric, {}).setdefault(contender, []).append(value)
        count = len(self._values[metric][contender])
        place = "" if metric.at is None else f" {metric.at:,g}"
        line = f"{metric.section}: {metric.name}{place}, {contender}, round {count}: {value:,.1f} {metric.unit}"
        print(line, file=sys.stderr, flush=True)

    def rows(self, order: Sequence[str]) -> list[Row]:
        """Return the rows, with the contenders in this order."""
        return [
            Row(metric, {name: values[name] for name in order if name in values})
            for metric, values in self._values.items()
        ]


def rotated(items: Sequence[T], by: int) -> list[T]:
    """Return the items rotated by some places, so that no contender is always first in its round."""
    shift = by % len(items)
    return [*items[shift:], *items[:shift]]
