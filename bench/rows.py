"""What was measured: values of one round beside each other, and the ratios within that round.

    Sheet.add(metric, contender, value)  ──▶  Sheet.rows()  ──▶  Row.ratio(rival)

A benchmark fills a sheet and returns its rows; it decides nothing about how they are shown.
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
"""The contender that does no work, so that the driver's own cost is seen; it is no rival."""

T = TypeVar("T")


@dataclass(frozen=True)
class Metric:
    """One line of a table: what is measured, in what unit, and which way is good."""

    section: str
    name: str
    unit: str
    better: Literal["less", "more"]


@dataclass(frozen=True)
class Ratio:
    """Signet divided by a rival: the median of the rounds, and the smallest and largest of them."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """All values of one metric: per contender one value a round, in the order of the rounds."""

    metric: Metric
    values: dict[str, list[float]]

    @property
    def rivals(self) -> tuple[str, ...]:
        """Name everyone whom Signet is compared with here."""
        return tuple(name for name in self.values if name not in {SIGNET, BOUND})

    def median(self, contender: str) -> float:
        """Take the middle value of one contender over all rounds."""
        return statistics.median(self.values[contender])

    def ratio(self, rival: str) -> Ratio:
        """Pair the two values of each round, so that a slow minute touches both alike."""
        pairs = zip(self.values[SIGNET], self.values[rival], strict=True)
        ratios = [ours / theirs for ours, theirs in pairs]
        return Ratio(statistics.median(ratios), min(ratios), max(ratios))


@dataclass
class Sheet:
    """The rows of one benchmark while it runs."""

    _values: dict[Metric, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, metric: Metric, contender: str, value: float) -> None:
        """Keep one value and say so on standard error."""
        self._values.setdefault(metric, {}).setdefault(contender, []).append(value)
        count = len(self._values[metric][contender])
        line = f"{metric.section}: {metric.name}, {contender}, round {count}: {value:,.1f} {metric.unit}"
        print(line, file=sys.stderr, flush=True)

    def rows(self, order: Sequence[str]) -> list[Row]:
        """Give the finished rows, contenders in the given order rather than in that of a rotation."""
        return [
            Row(metric, {name: values[name] for name in order if name in values})
            for metric, values in self._values.items()
        ]


def rotated(items: Sequence[T], by: int) -> list[T]:
    """Give the same items from another start, so that no contender is always first in its round."""
    shift = by % len(items)
    return [*items[shift:], *items[:shift]]
