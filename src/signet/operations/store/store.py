"""What a store does for gates: decide over limits, and keep answers by their idempotency keys.

Each operation is one decision, made at once and by the clock of the store. A store in the process answers at once; one
that other processes share has to be awaited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Literal, Protocol

import msgspec

__all__ = ["Bucket", "Decision", "Kept", "Store", "StoreError", "StoreFullError"]


class StoreError(Exception):
    """The store cannot be asked; the text says why, without its password."""


class StoreFullError(StoreError):
    """The store is there and takes nothing more: it is not away, and no limit ends for that."""


class Bucket(msgspec.Struct, frozen=True):
    """One limit for one caller: a rate (GCRA), or a number of calls per UTC day."""

    key: str
    """The name of the bucket, without a prefix: `principal:alice`, `tool:boj.get_data:principal:alice`."""
    count: int
    """The number of calls in a period; for a quota, in a day."""
    period_s: float = 0.0
    """The period of a rate; 0 marks a quota, whose period is the UTC day."""
    burst: int = 0
    """The number of calls that may come at once; 0 stands for `count`."""
    together: bool = False
    """Whether it may be decided over together with a bucket of all callers: a cluster keeps both in one place."""


class Decision(msgspec.Struct, frozen=True):
    """Whether a call may be made now: each bucket is charged, or none is."""

    refused: int | None = None
    """The index of the bucket that refuses (the one to wait for longest), or None."""
    retry_after_s: float = 0.0
    remaining: int = 0
    """The number of further calls that the tightest bucket has left."""


class Kept(msgspec.Struct, frozen=True):
    """What a store knows of an idempotency key."""

    state: Literal["new", "running", "done", "gone", "conflict", "full"]
    """`new`: the caller is to run the call now, and to `finish` it. `conflict`: another call had the same key.

    `gone`: the call is done, and its answer found no room. `full`: another key finds no room.
    """
    body: bytes = b""
    """The answer of a call that is done."""


class Store(Protocol):
    """The state that processes share. Each method raises StoreError where the store cannot be asked."""

    def decide(self, buckets: Sequence[Bucket]) -> Decision | Awaitable[Decision]:
        """Charge one call to all buckets, or to none if one of them refuses."""

    def begin(
        self, key: str, digest: str, runner: str, running_s: float, *, holder: str = ""
    ) -> Kept | Awaitable[Kept]:
        """Return what is known of an idempotency key, and note who runs a call with this digest if it is new.

        The note is forgotten after `running_s`: whoever runs the call may die. A runner that has the key already, and
        was not told, has it again. It takes the holder's share of the room; a call that runs gives way to nothing.
        """

    def finish(
        self, key: str, digest: str, runner: str, body: bytes | None, keep_s: float, *, holder: str = ""
    ) -> Awaitable[None] | None:
        """Keep the answer of a call; without one, forget that it ran.

        Nothing is changed where the key has come to belong to another runner, or has its answer already: a runner that
        was taken for dead may come back. Where the holder has no room, its own oldest answers give way.
        """

    async def close(self) -> None:
        """Close the connections."""
