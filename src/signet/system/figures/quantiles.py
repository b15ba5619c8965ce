"""Quantiles of counted values, and buckets of equal ratio: a bucket is at most 5 % away from the durations in it.

Counts are a dictionary from a value, or from the number of a bucket, to a count, so that they take no more memory than
they have to. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Final, TypeVar

__all__ = ["bucket_of", "merge_counts", "quantiles", "quantiles_ms"]

Key = TypeVar("Key")
Value = TypeVar("Value", int, float)

LEAST_S: Final = 0.000_001
RATIO: Final = 1.09
BUCKETS: Final = 257
"""The last bucket has all that takes longer than an hour."""
BOUNDS: Final = tuple(LEAST_S * RATIO**number for number in range(BUCKETS))
MIDDLE: Final = RATIO**-0.5


def bucket_of(seconds: float) -> int:
    """Return the number of the bucket of a duration."""
    return bisect_left(BOUNDS, seconds)


def merge_counts(into: MutableMapping[Key, int], counts: Mapping[Key, int]) -> None:
    """Add counts to others."""
    for key, count in counts.items():
        into[key] = into.get(key, 0) + count


def quantiles(counts: Mapping[Value, int], shares: Sequence[float]) -> list[Value]:
    """Return the least values that these shares of all do not exceed, in rising order; nothing without any."""
    total = sum(counts.values())
    if not total:
        return []
    found: list[Value] = []
    ranked = iter(sorted(counts))
    value = next(ranked)
    seen = counts[value]
    for share in shares:
        wanted = max(1, -int(-share * total // 1))
        while seen < wanted:
            value = next(ranked)
            seen += counts[value]
        found.append(value)
    return found


def quantiles_ms(counts: Mapping[int, int], shares: Sequence[float]) -> list[float | None]:
    """Return the durations in milliseconds below which these shares of all buckets are; None without any."""
    return [*map(_duration_ms, quantiles(counts, shares))] or [None] * len(shares)


def _duration_ms(bucket: int) -> float:
    """Return the duration that stands for a bucket, with three digits that mean something."""
    bound = BOUNDS[min(bucket, BUCKETS - 1)]
    return float(f"{bound * (1.0 if bucket >= BUCKETS else MIDDLE) * 1000:.3g}")
