"""A histogram of durations with buckets of equal ratio: a quantile is at most 5 % away from the duration it stands for.

A histogram is a dictionary from a bucket's number to a count, so that it takes no more memory than it has to. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Final, TypeVar

__all__ = ["bucket_of", "merge_counts", "quantiles_ms"]

Key = TypeVar("Key")

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


def quantiles_ms(counts: Mapping[int, int], shares: Sequence[float]) -> list[float | None]:
    """Return the durations in milliseconds below which these shares of all are, in rising order; None without any."""
    total = sum(counts.values())
    found: list[float | None] = []
    seen, ranked = 0, iter(sorted(counts))
    bucket = 0
    for share in shares:
        wanted = max(1, -int(-share * total // 1))
        while total and seen < wanted:
            bucket = next(ranked)
            seen += counts[bucket]
        found.append(_duration_ms(bucket) if total else None)
    return found


def _duration_ms(bucket: int) -> float:
    """Return the duration that stands for a bucket, with three digits that mean something."""
    bound = BOUNDS[min(bucket, BUCKETS - 1)]
    return float(f"{bound * (1.0 if bucket >= BUCKETS else MIDDLE) * 1000:.3g}")
