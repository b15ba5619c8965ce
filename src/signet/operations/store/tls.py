"""TLS to a Redis store: one context for all connections, of which few are opened at once.

The client makes a context for each connection, and each reads the authorities of the system: 30 ms of the event loop.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, Final

from .address import StoreAddress

if TYPE_CHECKING:
    from redis.asyncio import Redis, SSLConnection
    from redis.asyncio.cluster import RedisCluster

__all__ = ["open_context", "share_context"]

OPENING: Final = 4
"""The number of connections that are opened at once: a handshake takes some milliseconds of the event loop."""


def open_context(address: StoreAddress) -> ssl.SSLContext:
    """Return the context for an address; raise OSError where one of its files cannot be used."""
    options = address.tls_options
    context = ssl.create_default_context()
    if not address.verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if authority := options.get("ssl_ca_certs"):
        context.load_verify_locations(cafile=authority)
    if options.keys() & {"ssl_certfile", "ssl_keyfile"}:
        context.load_cert_chain(options.get("ssl_certfile", ""), options.get("ssl_keyfile"))
    return context


def share_context(client: Redis | RedisCluster, context: ssl.SSLContext) -> None:
    """Give a context to all connections that a client will open, those to sentinels too."""
    opening = asyncio.Semaphore(OPENING)
    if (pool := getattr(client, "connection_pool", None)) is None:
        cluster: Any = client
        shared = _sharing(cluster.connection_kwargs["connection_class"], context, opening)
        # The nodes that the cluster tells of later are made from the same options.
        cluster.connection_kwargs["connection_class"] = shared
        for node in cluster.startup_nodes:
            node.connection_class = shared
        return
    for one in (pool, *(other.connection_pool for other in sentinels_of(pool))):
        one.connection_class = _sharing(one.connection_class, context, opening)


def sentinels_of(pool: Any) -> tuple[Any, ...]:
    """Return the clients of the sentinels that know where the master of a pool is."""
    return tuple(getattr(getattr(pool, "sentinel_manager", None), "sentinels", ()))


def _sharing(kind: type[SSLConnection], context: ssl.SSLContext, opening: asyncio.Semaphore) -> type[SSLConnection]:
    """Return a kind of connection that uses the one context, and waits while too many are opened."""

    class Sharing(kind):  # type: ignore[misc, valid-type] # which of the client's kinds it is, the address decides
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.ssl_context.context = context

        async def connect(self) -> None:
            if self.is_connected:
                await super().connect()
                return
            async with opening:
                await super().connect()

    return Sharing
