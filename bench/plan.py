"""Plans: how long each benchmark runs, briefly for a check or fully for the published page."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "Plan"]


@dataclass(frozen=True)
class Plan:
    """Rounds and durations; they bound every loop of this package."""

    cold_rounds: int
    stdio_rounds: int
    http_rounds: int
    memory_rounds: int
    cell_s: float
    """How long one cell is measured."""
    warm_s: float
    """How long a cell runs before it is measured."""
    memory_calls: int = 100_000
    """The most calls after which the memory is read; a tenth of them is the other reading."""
    max_calls: int = 200_000
    """The most calls that one cell sends."""
    growth_rounds: int = 3
    """The rounds of each curve."""
    steady_s: float = 600.0
    """How long the calls go on that show whether a server slows down or grows in time."""
    steady_window_s: float = 60.0
    """The part of that time after which its calls are counted and its memory is read."""


FULL = Plan(cold_rounds=15, stdio_rounds=7, http_rounds=5, memory_rounds=2, cell_s=0.6, warm_s=0.2)
QUICK = Plan(
    cold_rounds=3,
    stdio_rounds=1,
    http_rounds=1,
    memory_rounds=1,
    cell_s=0.4,
    warm_s=0.15,
    memory_calls=5_000,
    growth_rounds=1,
    steady_s=9.0,
    steady_window_s=3.0,
)
