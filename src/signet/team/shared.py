"""The store that processes share: what `--store` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signet.settings.model import Settings
from signet.settings.process import MEMORY
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.system.logs import WARN, Log

if TYPE_CHECKING:
    from signet.operations.store.redis_store import RedisStore

__all__ = ["open_store", "try_store"]


def open_store(settings: Settings, log: Log) -> RedisStore | None:
    """Return the store that processes share, without a connection; None where state stays in the process.

    Raises:
        UsageError: its address cannot be used, or its client is not installed.
    """
    if settings.store == MEMORY:
        return None
    from signet.operations.store.address import parse_address

    def on_change(why: str) -> None:
        # Without the password, which is in the URL alone.
        log.line(
            WARN, "store", "store.away" if why else "store.back", at=address.shown, **({"why": why} if why else {})
        )

    try:
        address = parse_address(settings.store)
        from signet.operations.store.redis_store import RedisStore

        return RedisStore(address, on_change)
    except ImportError:
        raise UsageError(f"--store needs the client of Redis; type: {advise('extra', install='redis')}") from None
    except (ValueError, OSError) as error:
        raise UsageError(f"--store (SIGNET_STORE): {error}") from None


def try_store(settings: Settings, log: Log) -> None:
    """Ask the store once before serving: a store that is away is a warning in the log, and may come back."""
    store = open_store(settings, log)
    if store is None:
        return
    import asyncio

    from signet.operations.store.store import StoreError

    async def ask() -> None:
        try:
            await store.read("")
        except StoreError:
            return
        finally:
            await store.close()

    asyncio.run(ask())
