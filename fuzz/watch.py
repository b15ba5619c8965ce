"""What is watched while an input runs: CPU time, memory, hangs, and blocks of the event loop.

Nothing is judged by the clock on the wall: the machine may be busy. Time is CPU time, and a time that is too long is
measured again before it counts.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["HANG_S", "MIB", "Hang", "WatchedSelector", "forget_peak", "hang_guard", "memory", "peak_memory"]

MIB = 1 << 20
HANG_S = 10.0
"""The CPU time after which an input is given up."""
PAGE = os.sysconf("SC_PAGE_SIZE")


class Hang(KeyboardInterrupt):
    """An input takes too long; a `KeyboardInterrupt`, because an event loop lets no other exception pass."""


@contextlib.contextmanager
def hang_guard() -> Iterator[None]:
    """Raise `Hang` in the main thread once the process has worked for `HANG_S` inside of the block."""

    def give_up(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def memory() -> int:
    """Return the bytes that the process holds now."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * PAGE


def forget_peak() -> None:
    """Let `peak_memory` begin anew."""
    with open("/proc/self/clear_refs", "wb", buffering=0) as file:
        file.write(b"5")


def peak_memory() -> int:
    """Return the most bytes that the process has held since `forget_peak`."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class WatchedSelector(selectors.DefaultSelector):
    """A selector that knows how long an event loop works between two waits, in CPU time of its thread."""

    def __init__(self) -> None:
        super().__init__()
        self.longest_s = 0.0
        self._since_s = time.thread_time()

    def select(self, timeout: float | None = None) -> Any:
        """Wait, and note how long the work before took."""
        self.longest_s = max(self.longest_s, time.thread_time() - self._since_s)
        try:
            return super().select(timeout)
        finally:
            self._since_s = time.thread_time()

    def forget(self) -> None:
        """Forget the longest work so far."""
        self.longest_s = 0.0
        self._since_s = time.thread_time()
