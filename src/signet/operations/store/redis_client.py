"""The client of a Redis store: a pool of connections to a server, to a master that sentinels know, or to a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .address import StoreAddress

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.cluster import RedisCluster

__all__ = ["ANSWER_S", "MAX_IN_FLIGHT", "close_client", "open_client", "reason_of"]

ANSWER_S: Final = 1.0
"""The time for a connection, and the time for an answer."""
MAX_IN_FLIGHT: Final = 32
"""The number of questions under way, each with a connection of its own; more of them wait."""
IDLE_CHECK_S: Final = 30
"""The age of an idle connection at which it is tried before it is used."""


def open_client(address: StoreAddress) -> Redis | RedisCluster:
    """Return a client without a connection; raise ImportError where the extra `redis` is not installed."""
    from redis.asyncio import Redis, Sentinel
    from redis.asyncio.cluster import ClusterNode, RedisCluster
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    # What is asked again, and when, the store decides.
    options: dict[str, Any] = {
        "username": address.username,
        "password": address.password,
        "socket_connect_timeout": ANSWER_S,
        "socket_timeout": ANSWER_S,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": IDLE_CHECK_S,
        "protocol": 2,
        **_tls_options(address),
    }
    if address.kind == "cluster":
        nodes = [ClusterNode(host, port) for host, port in address.hosts]
        return RedisCluster(startup_nodes=nodes, max_connections=MAX_IN_FLIGHT, **options)
    options |= {"db": address.db, "max_connections": MAX_IN_FLIGHT}
    if address.kind == "sentinel":
        # Sentinels are asked as nobody: their users, where they have some, are not those of the server.
        plain = {name: value for name, value in options.items() if name not in {"username", "password", "db"}}
        sentinel: Any = Sentinel(list(address.hosts), sentinel_kwargs=plain, **options)  # type: ignore[no-untyped-call] # redis has no types for it
        master: Redis = sentinel.master_for(address.service)
        return master
    if address.kind == "unix":
        return Redis(unix_socket_path=address.path, **options)
    [(host, port)] = address.hosts
    return Redis(host=host, port=port, **options)


async def close_client(client: Redis | RedisCluster) -> None:
    """Close all connections of a client, those to sentinels too."""
    await client.aclose()
    pool = getattr(client, "connection_pool", None)
    if pool is not None:
        await pool.aclose()
        for sentinel in getattr(getattr(pool, "sentinel_manager", None), "sentinels", ()):
            await sentinel.aclose()


def reason_of(error: Exception) -> str:
    """Return why a store could not be asked; the text of the error is not repeated, it may have a password."""
    from redis import exceptions as told

    reasons: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
        ((told.AuthenticationError, told.AuthorizationError), "it refuses the user or the password"),
        ((told.NoPermissionError,), "its user may not do what is needed"),
        ((told.BusyLoadingError,), "it is loading its data"),
        ((told.OutOfMemoryError,), "its memory is full"),
        ((told.ReadOnlyError,), "it is a replica"),
        ((told.ClusterError, told.RedisClusterException), "the cluster is not whole"),
        ((told.TimeoutError, TimeoutError), f"no answer within {ANSWER_S:g} s"),
        ((told.ConnectionError, OSError), "no connection"),
    )
    return next((text for kinds, text in reasons if isinstance(error, kinds)), type(error).__name__)


def _tls_options(address: StoreAddress) -> dict[str, Any]:
    if not address.tls:
        return {}
    checks = {} if address.verified else {"ssl_cert_reqs": "none", "ssl_check_hostname": False}
    return {"ssl": True, **address.tls_options, **checks}
