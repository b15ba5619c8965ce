"""A log whose lines a server can bring about: so many of each kind in a second, and the number of the others."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

__all__ = ["LINES_PER_SECOND", "BoundedLog"]

LINES_PER_SECOND: Final = 200


class BoundedLog:
    """Passes lines on to a log."""

    def __init__(self, log: Callable[..., None], clock: Callable[[], float] = monotonic) -> None:
        self._log = log
        self._clock = clock
        self._second = clock()
        self._counts: dict[str, int] = {}
        """The lines of this second, by their kind."""

    def __call__(self, event: str, **fields: object) -> None:
        """Log a line, unless there were too many of its kind in this second."""
        now = self._clock()
        if now - self._second >= 1:
            counts, self._counts, self._second = self._counts, {}, now
            for kind, count in counts.items():
                if count > LINES_PER_SECOND:
                    self._log("server.log_dropped", kind=kind, lines=count - LINES_PER_SECOND)
        count = self._counts[event] = self._counts.get(event, 0) + 1
        if count <= LINES_PER_SECOND:
            self._log(event, **fields)
