"""Whether a store can be asked: after a failure it is left alone for a moment, then one question tries it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["Availability"]

PAUSE_S: Final = 0.5
"""The time after a failure in which the store is not asked."""


class Availability:
    """The state of one store, as the questions so far have found it."""

    def __init__(self, clock_s: Callable[[], float], on_change: Callable[[str], None]) -> None:
        """Begin with a store that can be asked; `on_change` is told why it is away, or nothing when it is back."""
        self._clock_s = clock_s
        self._on_change = on_change
        self.why = ""
        """Why the store is away; empty while it is not."""
        self._until_s = 0.0
        self._is_tried = False

    def may_ask(self) -> bool:
        """Return whether a question may be asked now; while the store is away, one at a time, after a pause."""
        if not self.why:
            return True
        if self._is_tried or self._clock_s() < self._until_s:
            return False
        self._is_tried = True
        return True

    def failed(self, why: str) -> None:
        """Note that a question was not answered."""
        was, self.why = self.why, why
        self._until_s = self._clock_s() + PAUSE_S
        self._is_tried = False
        if not was:
            self._on_change(why)

    def answered(self) -> None:
        """Note that a question was answered."""
        was, self.why = self.why, ""
        self._is_tried = False
        if was:
            self._on_change("")

    def left(self) -> None:
        """Note that a question was given up by who asked it: the next one may try."""
        self._is_tried = False
