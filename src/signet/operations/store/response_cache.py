"""The responses of upstreams in a store: one process asks, all have the answer."""

from __future__ import annotations

from .redis_store import RedisStore
from .store import StoreError

__all__ = ["StoreCache"]


class StoreCache:
    """A cache of responses in a store; while the store cannot be asked, it has nothing and keeps nothing."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store

    async def read(self, key: str) -> bytes | None:
        """Return a value, or None."""
        try:
            return await self._store.read(key)
        except StoreError:
            return None

    async def write(self, key: str, value: bytes, keep_s: float) -> None:
        """Keep a value for some time."""
        try:
            await self._store.write(key, value, keep_s)
        except StoreError:
            return
