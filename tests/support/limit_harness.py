"""Clocks to turn by hand, calls without a door, and a store that can be taken away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from signet.kernel.caller import Caller, Principal
from signet.kernel.gate import Entry, Gate
from signet.kernel.outcome import Call
from signet.kernel.tools import NULL_CONTEXT, Tool
from signet.operations.store.memory import MemoryStore
from signet.operations.store.store import Bucket, Decision, Kept, StoreError

SECOND_NS = 1_000_000_000


class Clock:
    """A clock that stands still until it is turned; both clocks of a store."""

    def __init__(self, wall_s: int = 1_900_000_000) -> None:
        self.ns = 7_000_000_123
        self.wall_ns = wall_s * SECOND_NS

    def __call__(self) -> int:
        return self.ns

    def wall(self) -> int:
        return self.wall_ns

    def turn(self, seconds: float) -> None:
        self.ns += round(seconds * SECOND_NS)
        self.wall_ns += round(seconds * SECOND_NS)

    def store(self, max_buckets: int = 100_000) -> MemoryStore:
        return MemoryStore(self, self.wall, max_buckets)


class Nothing(msgspec.Struct):
    """No arguments."""


def tool(slug: str = "odd.fine") -> Tool:
    name = slug.replace(".", "_")
    return Tool(name=name, slug=slug, title=name, description=name, args=Nothing, run=lambda *_: {})


def call(
    who: str | None = None, address: str = "", key: str = "", arguments: Any = None, subject: str | None = None
) -> Call:
    """Return a call of whoever has the token `who`, or of a subject of OAuth, which is known by its name alone."""
    principal = Principal(who) if who is not None else None
    principal = Principal(subject, None, f"oauth:{subject}") if subject is not None else principal
    caller = Caller(principal, address)
    return Call("odd.fine", arguments or {}, NULL_CONTEXT, caller=caller, idempotency_key=key)


async def entered(gate: Gate, one: Call, of: Tool) -> Entry:
    """Return the entry of a call, awaited if it has to be."""
    entry = gate.enter(one, of)
    return await entry if isinstance(entry, Awaitable) else entry


async def until(is_so: Callable[[], bool]) -> None:
    """Let others have their turns until something is so."""
    while not is_so():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0)


class Elsewhere:
    """A store that has to be awaited, and can be taken away."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.is_away = False
        self.is_deaf = False
        """Whether it notes a key, and its answer is lost."""
        self.holds: asyncio.Event | None = None
        """What the answer to a key waits for."""
        self.held = False

    async def decide(self, buckets: Sequence[Bucket]) -> Decision:
        self._check()
        return self._store.decide(buckets)

    async def begin(self, key: str, digest: str, runner: str, running_s: float, *, holder: str = "") -> Kept:
        self._check()
        kept = self._store.begin(key, digest, runner, running_s, holder=holder)
        if self.holds is not None:
            self.held = True
            await self.holds.wait()
        if self.is_deaf:
            raise StoreError("no answer within 1 s")
        return kept

    async def finish(
        self, key: str, digest: str, runner: str, body: bytes | None, keep_s: float, *, holder: str = ""
    ) -> None:
        self._check()
        self._store.finish(key, digest, runner, body, keep_s, holder=holder)

    async def close(self) -> None:
        pass

    def _check(self) -> None:
        if self.is_away:
            raise StoreError("Connection refused")
