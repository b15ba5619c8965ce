"""How a wrapped server stands: its losses and restarts, and what differs from the lock. Pure."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Standing"]


def _nothing(_: Standing) -> None:
    """Do nothing."""


class Standing:
    """Counts the losses and the restarts of one server, and keeps the last judgement of the lock."""

    def __init__(self) -> None:
        self.restarts = 0
        """The number of starts that came after the loss of an instance."""
        self.why_lost = ""
        """The reason of the last loss or of the last failed start, until an instance runs again."""
        self.drift: int | None = None
        """The number of differences from the lock; None where no lock pins the server."""
        self.blocked = 0
        """The number of entries that the lock blocks."""
        self.on_change: Callable[[Standing], None] = _nothing
        self._lost = 0

    def begun(self) -> None:
        """Note that an instance runs."""
        self.why_lost = ""
        if self._lost:
            self._lost -= 1
            self.restarts += 1
        self.on_change(self)

    def lost(self, why: str) -> None:
        """Note that an instance ended by itself."""
        self._lost += 1
        self.why_lost = why
        self.on_change(self)

    def judged(self, drift: int, blocked: int) -> None:
        """Note what the lock found."""
        self.drift, self.blocked = drift, blocked
        self.on_change(self)
