"""The connections of one server process: how many there may be, whose time is over, and who makes room."""

from __future__ import annotations

import asyncio
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Final

import msgspec

__all__ = ["ConnectionLimits", "Member", "Slots", "exact_address", "http_date", "network_of"]

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

MAX_REFUSED: Final = 256
"""The number of connections beyond the slots that are told so; further ones are closed without a word."""


class ConnectionLimits(msgspec.Struct, frozen=True):
    """The limits of a server's connections, in seconds and in numbers."""

    head_s: float = 30.0
    """The time for a request's head, from its first byte or from the start of the connection."""
    body_s: float = 30.0
    """The time for a request's body, from the end of its head."""
    write_s: float = 30.0
    """The time for a client to take what was sent to it."""
    idle_s: float = 75.0
    """The time without a request after which a connection is closed."""
    half_closed_s: float = 1.0
    """The time for responses after the client has closed its sending side: it may still read, or be gone."""
    linger_s: float = 2.0
    """The time for a client to read the last response before the connection is closed."""
    grace_s: float = 10.0
    """The time for calls in flight to end after the signal to stop."""
    retire_s: float = 5.0
    """The time for the clients of a process that is replaced to send one more request on the connections they have."""
    connections: int = 4096
    per_address: int = 1024
    handshake_s: float = 10.0
    """The time for a TLS handshake."""


class Member(ABC):
    """What the slots know of a connection."""

    address = ""
    """The client's address; empty on a unix socket, where all clients come through one proxy."""
    waits_since = inf
    """The time at which the connection began to wait for its client; infinite while it works for it."""
    deadline = inf
    """The time at which `expire` is called."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def wait(self, limit_s: float) -> None:
        """Note that the client is awaited, for a limited time."""
        self.waits_since = now = monotonic()
        self.deadline = now + limit_s

    def work(self) -> None:
        """Note that the client waits."""
        self.waits_since = self.deadline = inf

    @abstractmethod
    def expire(self) -> None:
        """Close the connection because its time is over."""

    @abstractmethod
    def drain(self) -> None:
        """Close the connection now if it waits for its client, else after the responses that are due.

        While the process is being replaced, a connection in the middle of a request is left open.
        """

    @abstractmethod
    def abort(self) -> None:
        """Close the connection at once."""


class Slots:
    """The places of all connections."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.date = b""
        """The header with the present time, as bytes."""
        self.draining = False
        self.last_answers = False
        """Whether each connection ends with its next response, and is left open until then."""
        self.is_retiring = False
        """Whether the process is being replaced: every request that has begun to come is answered."""
        self._members: set[Member] = set()
        self._by_address: dict[str, set[Member]] = {}
        self._refused: set[Member] = set()
        self._empty = asyncio.Event()
        self._flushes: list[Callable[[], None]] = []
        self._tick_s = min(1.0, min(limits.head_s, limits.body_s, limits.write_s, limits.half_closed_s) / 4)
        self._tick()

    def flush_later(self, flush: Callable[[], None]) -> None:
        """Let a connection write at the end of this turn of the loop, together with all others.

        A client that waits is woken by what is written to it, which may take longer than to write; one that has many
        connections, or a proxy, is then woken once.
        """
        if not self._flushes:
            self.loop.call_soon(self._flush)
        self._flushes.append(flush)

    def _flush(self) -> None:
        flushes, self._flushes = self._flushes, []
        for flush in flushes:
            flush()

    def take(self, member: Member) -> bool:
        """Give a new connection a place, if need be that of one that waits for its client; return whether it has one.

        If the address of the connection has all the places that one address may have, another connection of the same
        address makes room; else, if no place is free, one of the address that has most places.
        """
        mine = self._by_address.get(member.address, set())
        has_room = True
        if member.address and len(mine) >= self.limits.per_address:
            has_room = self._make_room(mine)
        elif len(self._members) >= self.limits.connections:
            has_room = self.make_room(member.address)
        if not has_room or (self.draining and not self.is_retiring):
            self._refused.add(member)
            return False
        self._members.add(member)
        self._by_address.setdefault(member.address, set()).add(member)
        return True

    def make_room(self, address: str | None = None) -> bool:
        """Close the connection that has waited longest of those of the greediest address; return whether there is one.

        A new connection of an `address` counts as one of its own, so that it makes room itself where it has most. The
        only connection of an address makes room for an address that has none.
        """
        by_address, mine = self._by_address, self._by_address.get(address or "", ())
        greediest = max(by_address.values(), key=len, default=set())
        if len(greediest) > len(mine) + 1 and self._make_room(greediest):
            return True
        for found in sorted(by_address, key=lambda found: len(by_address[found]) + (found == address), reverse=True):
            if len(by_address[found]) == 1 and found != address:
                # None of those that follow has more than one connection either.
                return not mine and self._make_room(self._members)
            if self._make_room(by_address[found]):
                return True
        return False

    def holds(self, member: Member) -> bool:
        """Return whether a connection has a place."""
        return member in self._members

    def is_crowded(self) -> bool:
        """Return whether so many connections are being refused that the next is to be closed without a response."""
        return len(self._refused) > MAX_REFUSED

    def release(self, member: Member) -> None:
        """Take the place of a connection back."""
        self._refused.discard(member)
        self._members.discard(member)
        mine = self._by_address.get(member.address)
        if mine is not None:
            mine.discard(member)
            if not mine:
                del self._by_address[member.address]
        if not self._members:
            self._empty.set()

    async def retire(self, limit_s: float) -> None:
        """Let the clients send one more request each, close the idle connections, and let the others end by themselves.

        All of that takes a limited time.
        """
        self.last_answers = self.is_retiring = True
        await self.emptied(self.limits.retire_s)
        self.draining = True
        for member in (*self._members, *self._refused):
            member.drain()
        await self.emptied(limit_s - self.limits.retire_s)

    async def drain(self, grace_s: float) -> None:
        """Let the requests in flight be answered, for a limited time, and close all connections."""
        self.draining = self.last_answers = True
        self.is_retiring = False
        for member in (*self._members, *self._refused):
            member.drain()
        await self.emptied(grace_s)
        for member in (*self._members, *self._refused):
            member.abort()

    async def emptied(self, limit_s: float) -> None:
        """Wait until there is no connection, for a limited time."""
        self._empty.clear()
        if self._members:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), limit_s)

    def _make_room(self, candidates: Iterable[Member]) -> bool:
        longest = min(candidates, key=_waits_since)
        if longest.waits_since == inf:
            return False
        self.release(longest)
        longest.abort()
        return True

    def _tick(self) -> None:
        self.date = b"date: " + http_date(time.gmtime()).encode() + b"\r\n"
        now = monotonic()
        for member in [member for member in (*self._members, *self._refused) if member.deadline <= now]:
            member.expire()
        self.loop.call_later(self._tick_s, self._tick)


def http_date(now: time.struct_time) -> str:
    """Return a time as HTTP writes it, in English whatever the locale."""
    day, month = DAYS[now.tm_wday], MONTHS[now.tm_mon - 1]
    return f"{day}, {now.tm_mday:02} {month} {now.tm_year} {now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02} GMT"


def exact_address(host: str) -> str:
    """Return the address of a client as it is written down, without its zone; an IPv4 address within IPv6 is one."""
    return host.partition("%")[0].removeprefix("::ffff:")


def network_of(address: str) -> str:
    """Return the network of an exact IPv6 address, in which one client has all addresses; empty for any other one."""
    if ":" not in address or address == "::1":
        return ""
    try:
        network = socket.inet_pton(socket.AF_INET6, address)[:8] + bytes(8)
    except OSError:
        # Another server may call its clients by any name.
        return ""
    return socket.inet_ntop(socket.AF_INET6, network) + "/64"


def _waits_since(member: Member) -> float:
    return member.waits_since
