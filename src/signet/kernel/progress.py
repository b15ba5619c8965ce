"""Reports to a client that gave a progress token: those of the tool, and a heartbeat while the call waits.

    tool ── report ─────────────┐
    Waiting ── beat, by a timer ┴── notifications/progress, each with a greater number than the one before

A client that counts the time since the last report does not give up a call that goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf, nextafter
from typing import TYPE_CHECKING, Final, TypeVar

from .protocol import progress_notification
from .waiting import Waiting
from .wire import Id

if TYPE_CHECKING:
    import asyncio

__all__ = ["INTERVAL_S", "ProgressReports"]

T = TypeVar("T")

INTERVAL_S: Final = 4.0
"""The silence after which the client is told what its call waits for: less than 5 s, also where timers are late."""
STEP: Final = 0.001
"""The least that a report adds to the number of the one before."""
LARGEST: Final = 1e300
"""The largest number of a report: JSON has no infinity, and the next one must be greater."""
WORKING: Final = "working"
"""The text of a heartbeat where nobody said what the call waits for."""


class ProgressReports:
    """The reports of one call."""

    def __init__(self, send: Callable[[bytes], None], token: Id, interval_s: float = INTERVAL_S) -> None:
        self.waiting = Waiting()
        self._send = send
        self._token = token
        self._interval_s = interval_s
        self._last: float | None = None
        """The number of the last report."""
        self._total: float | None = None
        self._has_numbers = False
        """Whether the tool counts by itself; a heartbeat then adds next to nothing to its numbers."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False

    async def during(self, reply: Awaitable[T]) -> T:
        """Await a reply, and report while it takes; nothing is sent after it."""
        from asyncio import get_running_loop

        self._loop = get_running_loop()
        self._started_s = self._loop.time()
        self._timer = self._loop.call_later(self._interval_s, self._beat)
        try:
            return await reply
        finally:
            self._is_over = True
            self._timer.cancel()

    def report(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Send the tool's own report; one whose number is none is left out, because no call fails by its reports."""
        number = _number(done)
        if number is None:
            return
        self._has_numbers = True
        self._total = _number(total)
        self._put(number, message)
        if self._timer is not None and not self._is_over:
            self._timer.cancel()
            self._timer = self._loop.call_later(self._interval_s, self._beat)

    def _beat(self) -> None:
        # The number is the time that the call has taken, in seconds, where the tool does not count.
        done = self._last if self._has_numbers and self._last is not None else self._loop.time() - self._started_s
        self._put(round(done, 3), self.waiting.text() or WORKING)
        self._timer = self._loop.call_later(self._interval_s, self._beat)

    def _put(self, done: float, message: str | None) -> None:
        if self._is_over:
            return
        if self._last is not None and done <= self._last:
            done = max(round(self._last + STEP, 3), nextafter(self._last, inf))
        self._last = done
        self._send(progress_notification(self._token, done, self._total, _text(message)))


def _number(value: object) -> float | None:
    """Return a number that JSON can write, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        return None
    # A number of another library may be a subclass, which the encoder does not know.
    return float(value) if isinstance(value, float) else int(value)


def _text(value: object) -> str | None:
    """Return a text that can be sent, or None for anything else."""
    if not isinstance(value, str):
        return None
    return value if value.isascii() else value.encode(errors="replace").decode()
