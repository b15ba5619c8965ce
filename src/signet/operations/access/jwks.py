"""The keys of an issuer as they are kept: fetched when needed, by one request for all who wait.

age of the keys     0 ────── 5 min ───────────── 10 min ─────────────────── 1 h ──────
                    used      used, and fetched   fetched before they are    not used
                              in the background   used; used all the same
                                                  while that fails
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final

from .signing_keys import KeySet, SigningKey, read_keys

__all__ = ["Jwks"]

REFRESH_S: Final = 300.0
EXPIRY_S: Final = 600.0
STALE_S: Final = 3600.0
SEEK_S: Final = 60.0
"""The time after a search for an unknown key in which there is no other, unless it found one."""
FIRST_RETRY_S: Final = 1.0
LAST_RETRY_S: Final = 60.0
MAX_RETIRED: Final = 1000
"""The pauses after a fetch that failed: each is twice as long as the one before."""


class Jwks:
    """Keeps the keys of one issuer."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[list[Any]]],
        warn: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Keep what `fetch` returns; it may raise OSError and ValueError, which `warn` is told once until it works."""
        self._fetch = fetch
        self._warn = warn
        self._clock = clock
        self._keys: KeySet | None = None
        self._retired: frozenset[str] = frozenset()
        """The ids of keys that the issuer no longer publishes: a token of theirs is no reason to ask again."""
        self._fetched_s = 0.0
        self._failures = 0
        self._retry_s = float("-inf")
        self._seek_s = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def current(self) -> KeySet | None:
        """Return the keys that may be used now; None if they have to be fetched before."""
        if self._keys is None:
            return None
        age_s = self._clock() - self._fetched_s
        if age_s > REFRESH_S:
            self._start()
        return self._keys if age_s <= (STALE_S if self._failures else EXPIRY_S) else None

    async def renewed(self) -> KeySet | None:
        """Fetch the keys, unless that failed a moment ago, and return those that may be used then."""
        await self._renew()
        return self.current()

    async def seek(self, algorithm: str, kid: str | None) -> list[SigningKey] | None:
        """Return the keys that fit, after asking the issuer for new ones; None if it could not be asked."""
        found: list[SigningKey] = []
        if kid in self._retired:
            return found
        if self._task is not None:
            # It may have begun before the key was there; then it is not the last word.
            await self._renew()
            found = self._find(algorithm, kid)
        if not found and self._clock() >= self._seek_s:
            self._seek_s = self._clock() + SEEK_S
            await self._renew()
            found = self._find(algorithm, kid)
            if found or self._failures:
                self._seek_s = float("-inf")
        return None if self._failures and not found else found

    def wait_s(self) -> float:
        """Return the time until the keys may be fetched again."""
        return max(0.0, self._retry_s - self._clock())

    def reload(self) -> None:
        """Fetch the keys now, in the background."""
        self._retry_s = float("-inf")
        self._start()

    def _find(self, algorithm: str, kid: str | None) -> list[SigningKey]:
        keys = self.current()
        return keys.find(algorithm, kid) if keys is not None else []

    async def _renew(self) -> None:
        """Await the fetch that runs, or a new one; whoever leaves does not stop it for the others."""
        self._start()
        if self._task is not None:
            await asyncio.shield(self._task)

    def _start(self) -> None:
        if self._task is None and self._clock() >= self._retry_s:
            self._task = asyncio.get_running_loop().create_task(self._fetch_once())

    async def _fetch_once(self) -> None:
        try:
            published = await self._fetch()
        except (OSError, ValueError) as error:
            pause_s = min(LAST_RETRY_S, FIRST_RETRY_S * 2.0 ** min(self._failures, 10))
            self._failures, self._retry_s = self._failures + 1, self._clock() + pause_s
            if self._failures == 1:
                self._warn(str(error) or type(error).__name__)
        else:
            # The same keys stay the same value: what they have proven still holds.
            if self._keys is None or self._keys.published != published:
                before, self._keys = self._keys, read_keys(published)
                self._retired = _retired(self._retired, before, self._keys)
            self._failures, self._fetched_s = 0, self._clock()
        finally:
            self._task = None


def _retired(retired: frozenset[str], before: KeySet | None, now: KeySet) -> frozenset[str]:
    """Return the ids of all keys that were published once and are not now."""
    kept = retired if len(retired) < MAX_RETIRED else frozenset()
    return (kept | (before.ids if before is not None else frozenset())) - now.ids
