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

from .searches import Searches
from .signing_keys import KeySet, SigningKey, read_keys

__all__ = ["Jwks"]

REFRESH_S: Final = 300.0
EXPIRY_S: Final = 600.0
STALE_S: Final = 3600.0
FIRST_RETRY_S: Final = 1.0
LAST_RETRY_S: Final = 60.0
"""The pauses after a fetch that failed: each is twice as long as the one before."""
MAX_RETIRED: Final = 1000


class Jwks:
    """Keeps the keys of one issuer."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[list[Any]]],
        warn: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Keep what `fetch` returns; what it raises, `warn` is told once until it works."""
        self._fetch = fetch
        self._warn = warn
        self._clock = clock
        self._keys: KeySet | None = None
        self._retired: frozenset[str] = frozenset()
        """The ids of keys that the issuer no longer publishes: a token of theirs is no reason to ask again."""
        self._fetched_s = 0.0
        self._failures = 0
        self._retry_s = float("-inf")
        self._searches = Searches(clock)
        self._doubts = Searches(clock)
        """The searches for other keys under known ids, which anybody can cause who has seen the keys."""
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

    def may_doubt(self, kid: str | None) -> bool:
        """Return whether another key under a known id may be sought now."""
        return self._task is not None or self._doubts.allow(kid)

    async def seek(self, algorithm: str, kid: str | None, tried: KeySet | None = None) -> list[SigningKey] | None:
        """Return the keys that fit, after asking the issuer for new ones; None if it could not be asked.

        Those of `tried` do not count: another key may have their id by now.
        """
        found = self._find(algorithm, kid, tried)
        if found or kid in self._retired:
            return found
        if self._task is not None:
            # It may have begun before the key was there; then it is not the last word.
            await self._renew()
            found = self._find(algorithm, kid, tried)
        searches = self._searches if tried is None else self._doubts
        if not found and searches.allow(kid):
            searches.begin()
            await self._renew()
            found = self._find(algorithm, kid, tried)
            if found or self._failures:
                searches.forgive()
            else:
                searches.miss(kid)
        return None if self._failures and not found else found

    def wait_s(self) -> float:
        """Return the time until the keys may be fetched again."""
        return max(0.0, self._retry_s - self._clock())

    def reload(self) -> None:
        """Fetch the keys now, in the background."""
        self._retry_s = float("-inf")
        self._start()

    def _find(self, algorithm: str, kid: str | None, tried: KeySet | None) -> list[SigningKey]:
        keys = self.current()
        return keys.find(algorithm, kid) if keys is not None and keys is not tried else []

    async def _renew(self) -> None:
        """Await the fetch that runs, or a new one; whoever leaves does not stop it for the others."""
        self._start()
        if self._task is not None:
            await asyncio.wait((self._task,))

    def _start(self) -> None:
        if self._task is None and self._clock() >= self._retry_s:
            self._task = asyncio.get_running_loop().create_task(self._fetch_once())
            self._task.add_done_callback(self._end)

    async def _fetch_once(self) -> None:
        self._keep(await self._fetch())

    def _end(self, task: asyncio.Task[None]) -> None:
        """Note how a fetch has ended: whatever an issuer makes go wrong, it is asked again after a pause."""
        self._task = None
        error = OSError("it was given up") if task.cancelled() else task.exception()
        if error is None:
            self._failures, self._fetched_s = 0, self._clock()
            return
        pause_s = min(LAST_RETRY_S, FIRST_RETRY_S * 2.0 ** min(self._failures, 10))
        self._failures, self._retry_s = self._failures + 1, self._clock() + pause_s
        if self._failures == 1:
            # The text of an error that nobody has thought of may be anything.
            told = str(error) if isinstance(error, OSError | ValueError) else ""
            self._warn(told or type(error).__name__)

    def _keep(self, published: list[Any]) -> None:
        """Read the keys that are published; the same ones stay the same value: what they have proven still holds."""
        if self._keys is None or self._keys.published != published:
            before, self._keys = self._keys, read_keys(published)
            self._retired = _retired(self._retired, before, self._keys)


def _retired(retired: frozenset[str], before: KeySet | None, now: KeySet) -> frozenset[str]:
    """Return the ids of all keys that were published once and are not now."""
    kept = retired if len(retired) < MAX_RETIRED else frozenset()
    return (kept | (before.ids if before is not None else frozenset())) - now.ids
