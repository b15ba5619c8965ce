"""Readings: the lists of wrapped servers are read once for all who wait for them, and no server holds up the others.

Where sessions have instances of their own, those who wait for one instance share its reading: one that its session
keeps busy delays no others.

A server that is not known yet is waited for a short time, one that is known for a moment: what is known of it is
served meanwhile. One that took longer is not waited for again until it is fast.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from signet.kernel.relay import RpcRequest
from signet.mcp.snapshot import Snapshot

from .wrapped_server import WrappedServer

__all__ = ["Reading", "Readings"]

WAIT_S: Final = 5.0
"""How long a server that has not listed its tools holds up the others: clients give up after 10 s or more."""
KNOWN_WAIT_S: Final = 1.0
"""How long a request for lists waits for a new list of a server whose last one is known."""

Read = Callable[[WrappedServer, RpcRequest | None], Awaitable[None]]
"""Read the lists of a server, and serve them."""
Known = Callable[[str], Snapshot | None]


class Reading(msgspec.Struct, eq=False):
    """The lists of a server that are being read."""

    server: WrappedServer
    own: str
    """The session whose instance is read; empty for the one that is read for all."""
    before: Snapshot | None
    wait_s: float
    """How long others wait for it."""
    asked_s: float
    task: asyncio.Future[None]
    next: Reading | None = None
    """The one that begins when this one ends, for those who asked after it had begun."""
    took_s: float = 0.0
    is_late: bool = False
    """Whether others have gone on without it."""


class Readings:
    """The readings of each server: one at a time, and at most one behind it."""

    def __init__(self, read: Read, known: Known, log: Callable[..., None]) -> None:
        self._read = read
        self._known = known
        self._log = log
        self._current: dict[tuple[str, str], Reading] = {}
        self._slow: set[str] = set()
        """The servers that took longer than others waited: requests do not wait for them until they are fast."""
        self.on_late: Callable[[WrappedServer, Snapshot], None] | None = None
        """Called when a server that others went on without has other lists than before."""

    def of(self, server: WrappedServer, caller: RpcRequest | None, *, again: bool = False) -> Reading:
        """Return what reads a server, begun now unless it is under way.

        A reading from before a request does not answer it: `again` shares one that has begun only where it is late.
        """
        own = server.own_session(caller)
        current = self._current.get((server.name, own))
        if current is None:
            current = self._current[server.name, own] = self._begin(server, caller, own)
        elif again and not current.is_late:
            current.next = current.next or self._begin(server, caller, own, behind=current)
            return current.next
        return current

    async def wait(self, readings: Sequence[Reading]) -> None:
        """Wait until servers were read, but for no longer than each may hold up the others."""
        now_s = asyncio.get_running_loop().time()
        awaited = [one for one in readings if one.asked_s + one.wait_s > now_s]
        if awaited:
            longest_s = max(one.asked_s + one.wait_s for one in awaited) - now_s
            await asyncio.wait([one.task for one in awaited], timeout=longest_s)
        for one in [late for late in readings if not late.task.done() and not late.is_late]:
            one.is_late = True
            if not one.own and one.server.name not in self._slow:
                self._slow.add(one.server.name)
                why = f"it has not listed its tools within {one.wait_s:g} s: they are served as soon as it has"
                self._log("server.late", server=one.server.name, why=why)
        await self.wait_to_the_end([one for one in readings if one.task.done()])

    async def wait_to_the_end(self, readings: Sequence[Reading]) -> None:
        """Wait until servers were read, however long that takes."""
        if readings:
            await asyncio.gather(*[asyncio.shield(one.task) for one in readings])

    def close(self) -> None:
        """Read nothing more."""
        for reading in self._current.values():
            reading.task.cancel()
            if reading.next is not None:
                reading.next.task.cancel()

    def _begin(
        self, server: WrappedServer, caller: RpcRequest | None, own: str, behind: Reading | None = None
    ) -> Reading:
        loop, before = asyncio.get_running_loop(), self._known(server.name)
        wait_s = WAIT_S if before is None else KNOWN_WAIT_S
        most_s = 0.0 if not own and server.name in self._slow else wait_s
        reading = Reading(server, own, before, most_s, loop.time(), loop.create_future())
        reading.task = loop.create_task(self._run(reading, caller, behind))
        reading.task.add_done_callback(partial(self._has_read, reading, wait_s))
        return reading

    async def _run(self, reading: Reading, caller: RpcRequest | None, behind: Reading | None) -> None:
        if behind is not None:
            await asyncio.wait([behind.task])
        begun_s = asyncio.get_running_loop().time()
        try:
            await self._read(reading.server, caller)
        finally:
            reading.took_s = asyncio.get_running_loop().time() - begun_s

    def _has_read(self, reading: Reading, wait_s: float, done: asyncio.Future[None]) -> None:
        name, key = reading.server.name, (reading.server.name, reading.own)
        if self._current.get(key) is reading:
            del self._current[key]
            if reading.next is not None:
                self._current[key] = reading.next
        if done.cancelled() or done.exception() is not None:  # those that wait get it; there may be none
            return
        if not reading.own and reading.took_s < wait_s:
            self._slow.discard(name)
        known = self._known(name)
        if reading.is_late and known is not None and known != reading.before and self.on_late is not None:
            self.on_late(reading.server, known)
