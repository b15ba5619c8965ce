"""The searches for keys that an issuer may have published a moment ago: how many there may be, whoever asks. Pure.

Anybody can send a token that names an invented key. So there are never many searches; yet what strangers have asked for
delays those who bring a new key by seconds, and not by a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["Searches"]

PAUSE_S: Final = 3.0
"""The time from one search to the next."""
PER_MINUTE: Final = 10
REFILL_S: Final = 60.0 / PER_MINUTE
MISSING_S: Final = 30.0
"""The time for which a key that was not found is not sought again."""
MAX_MISSING: Final = 1000


class Searches:
    """Counts the searches, and knows what they have not found."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left = float(PER_MINUTE)
        self._counted_s = clock()
        self._next_s = float("-inf")
        self._missing: dict[str | None, float] = {}
        """The ids of keys that were not found, the oldest first, and until when each is not sought."""

    def allow(self, kid: str | None) -> bool:
        """Return whether a key may be sought now."""
        now = self._clock()
        self._left = min(float(PER_MINUTE), self._left + (now - self._counted_s) / REFILL_S)
        self._counted_s = now
        return self._left >= 1 and now >= self._next_s and now >= self._missing.get(kid, now)

    def begin(self) -> None:
        """Count a search that is allowed."""
        self._left -= 1
        self._next_s = self._clock() + PAUSE_S

    def forgive(self) -> None:
        """Take back a search that found a key, or that nobody answered: it delays no other."""
        self._left += 1
        self._next_s = float("-inf")

    def miss(self, kid: str | None) -> None:
        """Note that a search has not found a key."""
        self._missing.pop(kid, None)
        if len(self._missing) >= MAX_MISSING:
            del self._missing[next(iter(self._missing))]
        self._missing[kid] = self._clock() + MISSING_S
