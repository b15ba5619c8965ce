"""The turns of requests to upstreams, in a store that machines share."""

from __future__ import annotations

from signet.kernel.turns import TurnsError

from .redis_store import RedisStore
from .store import StoreError

__all__ = ["StoreTurns"]


class StoreTurns:
    """Turns in a store: a store that cannot be asked gives none."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store

    async def take(self, name: str, owner: str, interval_s: float) -> float:
        """Return 0 if the owner holds the turn now, otherwise the seconds after which to ask again."""
        try:
            return await self._store.take(name, owner, interval_s)
        except StoreError as error:
            raise TurnsError(str(error)) from None

    async def start(self, name: str, owner: str, settle_s: float) -> bool:
        """Count the owner's request as sent in `settle_s` from now; return False if its turn is no longer held."""
        try:
            return await self._store.start(name, owner, settle_s)
        except StoreError as error:
            raise TurnsError(str(error)) from None

    async def end(self, name: str, owner: str) -> None:
        """Count the owner's request as sent now at the latest; give the turn up if nothing was sent."""
        try:
            await self._store.end(name, owner)
        except StoreError as error:
            raise TurnsError(str(error)) from None
