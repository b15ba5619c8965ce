"""The store in this process: it answers at once, knows this process alone, and forgets all with it.

Rates are decided by GCRA: a bucket is one number, the time at which it would be empty again. Numbers are whole
nanoseconds of a clock that no one sets; a quota's day is that of the clock on the wall, by UTC.

The numbers of keys have bounds. A key that has run out makes room. At the bound, where none has, a caller without a
bucket of its own shares one with all who come so late: nobody gets more than a limit allows, from whatever address.
"""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final, NamedTuple

from .held import SECOND_NS, HeldValues
from .store import Bucket, Decision, Kept

__all__ = ["MAX_BUCKETS", "MemoryStore"]

MAX_BUCKETS: Final = 100_000
"""The number of buckets; a quota's bucket lives until the day ends, a rate's until it is empty."""
MAX_ANSWER_BYTES: Final = 67_108_864
"""The size of the answers that are kept by their idempotency keys; of each caller the oldest go first."""
LOOKED_AT: Final = 4
"""The number of old buckets that are looked at for each new one."""
MILLISECOND_NS: Final = 1_000_000
DAY_BITS: Final = 40
"""The bits below a quota's day: no day has so many calls."""
DAY_NS: Final = 86_400 * SECOND_NS


_Charge = tuple[int, int, int, int]
"""A bucket with one call more: its value, the time from which it need not be kept, the calls left, the time to wait.

The value of a rate is the time at which the bucket is empty; that of a quota has the day above `DAY_BITS` and the calls
of the day below. The last is 0 where the call may be made.
"""
UNUSED: Final = (0, 0)


class _Answer(NamedTuple):
    """The state of an idempotency key."""

    digest: str
    runner: str
    body: bytes | None
    """None while the call runs."""
    is_gone: bool = False
    """Whether the call was made, and there was no room for its answer."""


class MemoryStore:
    """A Store for one process; its methods may be called by any thread."""

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        wall_ns: Callable[[], int] = time.time_ns,
        max_buckets: int = MAX_BUCKETS,
    ) -> None:
        """Begin empty, with a clock that never goes back and one that knows the day."""
        self._clock_ns = clock_ns
        self._wall_ns = wall_ns
        self._max_buckets = max_buckets
        self._buckets: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """The value of each bucket, and the time from which it need not be kept."""
        self._answers = HeldValues[_Answer]("kept answers of idempotency keys", MAX_ANSWER_BYTES)
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._buckets) + len(self._answers)

    def decide(self, buckets: Sequence[Bucket]) -> Decision:
        """Charge one call to all buckets, or to none if one of them refuses."""
        now_ns = self._clock_ns()
        kept = self._buckets
        charged: list[tuple[str, tuple[int, int]]] = []
        refused, longest_ns, least = 0, 0, sys.maxsize
        with self._lock:
            for index, bucket in enumerate(buckets):
                key = bucket.key
                if key not in kept and not self._has_room(now_ns):
                    key = _shared_key(bucket)
                charge = _charge_rate if bucket.period_s else self._charge_quota
                value, until_ns, left, wait_ns = charge(bucket, kept.get(key, UNUSED)[0], now_ns)
                if wait_ns > longest_ns:
                    refused, longest_ns = index, wait_ns
                least = min(least, left)
                charged.append((key, (value, until_ns)))
            if not longest_ns:
                kept.update(charged)
                return Decision(remaining=least)
        # Whole milliseconds, as the wire has them: a caller that waits so long is let in.
        return Decision(refused, -(-longest_ns // MILLISECOND_NS) / 1000)

    def begin(self, key: str, digest: str, runner: str, running_s: float, *, holder: str = "") -> Kept:
        """Return what is known of an idempotency key, and note who runs a call with this digest if it is new."""
        now_ns = self._clock_ns()
        with self._lock:
            answer = self._answers.get(key, now_ns)
            if answer is None or (answer.runner == runner and answer.body is None):
                running = _Answer(digest, runner, None)
                has_room = self._answers.put(key, running, now_ns, running_s, holder=holder, is_fixed=True)
                return Kept("new" if has_room else "full")
        if answer.digest != digest:
            return Kept("conflict")
        if answer.is_gone:
            return Kept("gone")
        return Kept("running") if answer.body is None else Kept("done", answer.body)

    def finish(
        self, key: str, digest: str, runner: str, body: bytes | None, keep_s: float, *, holder: str = ""
    ) -> None:
        """Keep the answer of a call; without one, forget that it ran."""
        now_ns = self._clock_ns()
        with self._lock:
            answer = self._answers.get(key, now_ns)
            if answer is not None and (answer.runner != runner or answer.body is not None):
                return
            if body is None:
                self._answers.drop(key)
                return
            done = _Answer(digest, runner, body)
            if not self._answers.put(key, done, now_ns, keep_s, holder=holder, size=len(body)):
                gone = _Answer(digest, runner, b"", is_gone=True)
                self._answers.put(key, gone, now_ns, keep_s, holder=holder)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _charge_quota(self, bucket: Bucket, value: int, now_ns: int) -> _Charge:
        day, passed_ns = divmod(self._wall_ns(), DAY_NS)
        value = (value if value >> DAY_BITS == day else day << DAY_BITS) + 1
        left = bucket.count - (value & (1 << DAY_BITS) - 1)
        rest_ns = DAY_NS - passed_ns
        return value, now_ns + rest_ns, left, rest_ns if left < 0 else 0

    def _has_room(self, now_ns: int) -> bool:
        """Return whether one more bucket may be kept; forget some that need not be."""
        buckets = self._buckets
        for _ in range(min(LOOKED_AT, len(buckets))):
            key = next(iter(buckets))
            if buckets[key][1] > now_ns:
                buckets.move_to_end(key)
            else:
                del buckets[key]
        return len(buckets) < self._max_buckets


def _charge_rate(bucket: Bucket, empty_ns: int, now_ns: int) -> _Charge:
    step_ns = int(bucket.period_s * SECOND_NS) // bucket.count or 1
    empty_ns = (max(now_ns, empty_ns)) + step_ns
    left_ns = step_ns * (bucket.burst or bucket.count) - (empty_ns - now_ns)
    return empty_ns, empty_ns, left_ns // step_ns, -left_ns if left_ns < 0 else 0


def _shared_key(bucket: Bucket) -> str:
    """Return the name of the bucket that those share who come when no more buckets can be kept."""
    return f"late:{bucket.count}/{bucket.period_s:g}:{bucket.burst}"
