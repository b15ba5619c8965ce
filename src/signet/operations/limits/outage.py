"""An outage of the store: told once when it begins and once when it ends, and counted."""

from __future__ import annotations

from collections.abc import Callable

from signet.kernel.errors import Fault, rate_limited
from signet.kernel.events import Events
from signet.operations.store.store import StoreError

__all__ = ["StoreOutage"]

RETRY_S = 1.0


class StoreOutage:
    """Knows whether the store is away, and what becomes of calls meanwhile."""

    def __init__(self, events: Events, log: Callable[..., None] = lambda _, **__: None) -> None:
        self._events = events
        self._log = log
        self.is_on = False
        """Whether the store is away, as far as anybody has asked it."""

    def begin(self, error: StoreError, *, denies: bool) -> Fault | None:
        """Note that the store could not be asked about a call; return the fault of a call that is refused for it."""
        if self._events.store_failed is not None:
            self._events.store_failed()
        if not self.is_on:
            self.is_on = True
            self._log("limits.unchecked", why=str(error))
        if not denies:
            if self._events.failed_open is not None:
                self._events.failed_open()
            return None
        message = f"Limits cannot be checked at the moment: wait {RETRY_S:g} s, then make the same call again"
        return rate_limited(message, RETRY_S)

    def end(self) -> None:
        """Note that the store has answered."""
        if self.is_on:
            self.is_on = False
            self._log("limits.checked")
