"""The client of a Redis store: a pool of connections to a server, to a master that sentinels know, or to a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .address import StoreAddress
from .tls import open_context, sentinels_of, share_context

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.cluster import RedisCluster

__all__ = ["ANSWER_S", "MAX_IN_FLIGHT", "close_client", "is_full", "is_refusal", "open_client", "reason_of"]

ANSWER_S: Final = 1.0
"""The time for a connection, and the time for an answer."""
MAX_IN_FLIGHT: Final = 32
"""The number of questions under way, each with a connection of its own; more of them wait."""
IDLE_CHECK_S: Final = 30
"""The age of an idle connection at which it is tried before it is used."""


def open_client(address: StoreAddress) -> Redis | RedisCluster:
    """Return a client without a connection.

    Raises:
        ImportError: the extra `redis` is not installed.
        OSError: a file of TLS cannot be used.
    """
    client = _new_client(address)
    if address.tls:
        share_context(client, open_context(address))
    return client


def _new_client(address: StoreAddress) -> Redis | RedisCluster:
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
        **({"ssl": True} if address.tls else {}),
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
        for sentinel in sentinels_of(pool):
            await sentinel.aclose()


def is_refusal(error: Exception) -> bool:
    """Return whether the store is there and refuses one question: the next one may be answered."""
    from redis import exceptions as told

    if isinstance(error, told.RedisClusterException):
        return "same key slot" in str(error)
    away = told.ReadOnlyError, told.NoPermissionError, told.ClusterError
    return isinstance(error, told.ResponseError) and not isinstance(error, away)


def is_full(error: Exception) -> bool:
    """Return whether the store is there and has no memory for what a question brings."""
    from redis.exceptions import OutOfMemoryError

    return isinstance(error, OutOfMemoryError)


def reason_of(error: Exception) -> str:
    """Return why a store could not be asked; the text of the error is not repeated, it may have a password."""
    from redis import exceptions as told

    reasons: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
        ((told.AuthenticationError, told.AuthorizationError), "it refuses the user or the password"),
        ((told.NoPermissionError,), "its user may not do what is needed"),
        ((told.BusyLoadingError,), "it is loading its data"),
        ((told.OutOfMemoryError,), "its memory is full"),
        ((told.ReadOnlyError,), "it is a replica"),
        ((told.ClusterCrossSlotError,), "the keys of one decision are not in one slot"),
        ((told.ClusterError, told.RedisClusterException), "the cluster is not whole"),
        ((told.TimeoutError, TimeoutError), f"no answer within {ANSWER_S:g} s"),
        ((told.ConnectionError, OSError), "no connection"),
        ((told.ResponseError,), "it refuses the question"),
    )
    return next((text for kinds, text in reasons if isinstance(error, kinds)), type(error).__name__)
