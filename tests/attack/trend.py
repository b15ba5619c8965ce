"""Samples of a process over time, and whether they rise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attack.observation import MIB

MEMORY_RISE = 16 * MIB
"""The rise of memory over the second half of a run that counts as a leak.

An allocator's heap wanders by some MiB when bodies of a mebibyte come and go in several threads. The mixed traffic has
a hundred requests a second and more: in the second half of ten minutes, 560 bytes kept of each request are 16 MiB.
"""
DESCRIPTOR_RISE = 128
"""The rise of descriptors over the second half of a run that counts as a leak: the traffic itself holds up to some
hundreds at a time, in number without a trend. What is still held at the end is counted exactly, when all have left."""

SHORTEST_MINUTES = 0.4
"""The length of a second half below which there is no trend to tell: the traffic has only begun."""


@dataclass(frozen=True)
class Sample:
    """The memory and the descriptors of a process at a time."""

    at_s: float
    memory: int
    descriptors: int


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the straight line that fits points best (least squares); 0 for fewer than two."""
    count = len(points)
    if count < 2:
        return 0.0
    mean_x, mean_y = (sum(values) / count for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


@dataclass(frozen=True)
class Trend:
    """How memory and descriptors change over the second half of a run."""

    memory_per_minute: float
    descriptors_per_minute: float
    minutes: float

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Trend:
        """Return the trend of the second half; the first fills caches and pools."""
        half = [sample for sample in samples if sample.at_s >= samples[-1].at_s / 2]
        memory = slope([(sample.at_s, sample.memory) for sample in half]) * 60
        descriptors = slope([(sample.at_s, sample.descriptors) for sample in half]) * 60
        return cls(memory, descriptors, (half[-1].at_s - half[0].at_s) / 60)

    def complaints(self) -> list[str]:
        """Return a sentence for each of the two that rises."""
        found: list[str] = []
        if self.minutes < SHORTEST_MINUTES:
            return found
        if self.memory_per_minute * self.minutes > MEMORY_RISE:
            found.append(f"memory rises by {self.memory_per_minute / MIB:.1f} MiB a minute")
        if self.descriptors_per_minute * self.minutes > DESCRIPTOR_RISE:
            found.append(f"descriptors rise by {self.descriptors_per_minute:.0f} a minute")
        return found
