"""The figures of limits: plain numbers that telemetry reads."""

from __future__ import annotations

from collections import defaultdict

__all__ = ["Figures"]


class Figures:
    """What the gates of one process have decided since its start."""

    def __init__(self) -> None:
        self.decisions: defaultdict[tuple[str, str], int] = defaultdict(int)
        """The number of decisions by (`allowed` or `refused`, scope).

        The scope is `principal`, `address`, `process`, `tool` or `concurrency`; of an allowed call, whose it is.
        """
        self.fail_open = 0
        """The number of calls that were let in because the store was away."""
        self.fail_closed = 0
        """The number of calls that were refused because the store was away."""
        self.store_errors = 0
        self.checks = 0
        self.check_s = 0.0
        """The number of checks of rates and quotas, and the seconds that they took."""

    def decided(self, decision: tuple[str, str]) -> None:
        """Count a decision: `allowed` or `refused`, and its scope."""
        self.decisions[decision] += 1

    def checked(self, took_s: float) -> None:
        """Count a check of rates and quotas."""
        self.checks += 1
        self.check_s += took_s

    def store_failed(self) -> None:
        """Count a question that the store could not be asked."""
        self.store_errors += 1

    def failed_open(self) -> None:
        """Count a call that was let in because the store was away."""
        self.fail_open += 1
