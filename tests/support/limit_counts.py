"""Counts what the gates of limits decide, as a listener of their events."""

from __future__ import annotations

from collections import Counter

from signet.kernel.events import Events

__all__ = ["LimitCounts"]


class LimitCounts:
    """The decisions, checks and failures that gates have told to `events`."""

    def __init__(self) -> None:
        self.decisions: Counter[tuple[str, str]] = Counter()
        self.checks_s: list[float] = []
        self.store_errors = self.fail_open = 0
        self.events = Events(
            limit_decided=lambda *decision: self.decisions.update([decision]),
            limit_checked=self.checks_s.append,
            store_failed=self._fail,
            failed_open=self._open,
        )

    @property
    def fail_closed(self) -> int:
        """The number of calls that were refused because the store was away."""
        return self.store_errors - self.fail_open

    def _fail(self) -> None:
        self.store_errors += 1

    def _open(self) -> None:
        self.fail_open += 1
