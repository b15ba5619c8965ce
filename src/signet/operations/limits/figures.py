"""The figures of limits: plain numbers that telemetry reads."""

from __future__ import annotations

from collections import defaultdict

import msgspec

__all__ = ["Figures"]


class Figures(msgspec.Struct):
    """What the gates of one process have decided since its start."""

    decisions: defaultdict[tuple[str, str], int] = msgspec.field(default_factory=lambda: defaultdict(int))
    """The number of decisions by (`allowed` or `refused`, scope).

    The scope is `principal`, `address`, `process`, `tool` or `concurrency`; of an allowed call, whose it is.
    """
    fail_open: int = 0
    """The number of calls that were let in because the store was away."""
    fail_closed: int = 0
    """The number of calls that were refused because the store was away."""
    store_errors: int = 0
    checks: int = 0
    check_s: float = 0.0
    """The number of checks of rates and quotas, and the seconds that they took."""
