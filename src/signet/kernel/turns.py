"""Turns: the right to send the next request to a service, which processes share.

take ── 0, the turn is held ── the connection is made ── start ── the request is sent ── its answer begins ── end
  └──── seconds, then ask again                            └──── False, the turn was lost: take again

A turn that is held and not started ends by itself, so a process that dies holds nobody up for long. A request that was
started counts as sent a moment later, until its answer shows that it has arrived: it may be held up on its way.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, Protocol

__all__ = ["HELD_POLL_S", "HOLD_S", "MAX_SETTLE_S", "Turns", "TurnsError"]

HOLD_S: Final = 5.0
"""The time for which a turn is held: that of a slow connection."""
MAX_SETTLE_S: Final = 1.0
"""The longest time by which a request may count as sent later than it was started."""
HELD_POLL_S: Final = 0.02
"""The time after which to ask again while another process holds the turn."""


class TurnsError(Exception):
    """No turn can be had now: nobody knows when others have sent. The text says why, without secrets."""


class Turns(Protocol):
    """The turns of all services. Each method raises TurnsError where nothing can be said about turns now."""

    def take(self, name: str, owner: str, interval_s: float) -> Awaitable[float]:
        """Return 0 if the owner holds the service's turn now, otherwise the seconds after which to ask again.

        A turn can be had when the last request was sent at least `interval_s` ago.
        """

    def start(self, name: str, owner: str, settle_s: float) -> Awaitable[bool]:
        """Count the owner's request as sent in `settle_s` from now; return False if the turn is no longer held."""

    def end(self, name: str, owner: str) -> Awaitable[None]:
        """Count the owner's request as sent now at the latest; give the turn up if nothing was sent."""
