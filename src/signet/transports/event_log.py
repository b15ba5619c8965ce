"""The event log of one stream: messages as numbered events, kept for a client whose connection was cut.

    push ── events ──┬── follow: the one reader of the moment
                     └── follow(after): a reader that comes back, and is sent what it missed

An event's id is `<stream>-<number>`. The events that are kept have a bound; the oldest make room.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from typing import Final

import msgspec

from .unread import UNREAD

__all__ = ["RESUMABLE_SINCE", "Budget", "EventLog", "parse_id"]

MAX_EVENTS: Final = 256
MAX_BYTES: Final = 1_048_576
TOTAL_BYTES: Final = 67_108_864
"""The bytes that are kept of all streams together."""
HEARTBEAT_S: Final = 15.0
"""After so long without an event a comment is sent, so that a client that is gone is noticed."""
RETRY_MS: Final = 1_000
RESUMABLE_SINCE: Final = "2025-11-25"
"""The revision since which a stream may begin with an event that has an id and no message."""
COMMENT: Final = b": \r\n\r\n"
MAX_ID_CHARS: Final = 40


class Budget(msgspec.Struct):
    """The bytes that are kept of all streams of a server."""

    held_bytes: int = 0
    limit_bytes: int = TOTAL_BYTES

    @property
    def is_over(self) -> bool:
        """Return whether more is held than may be."""
        return self.held_bytes > self.limit_bytes


class EventLog:
    """The events of one stream."""

    def __init__(self, name: str, budget: Budget, holder: str = "", *, is_awaited: bool = True) -> None:
        """Begin a stream, whose name is unique in its session; `is_awaited` says that a client waits for it.

        Its events count as unread answers of the `holder`.
        """
        self._holder = holder
        self._name = name
        self._budget = budget
        self._events: deque[tuple[int, bytes]] = deque()
        self._held_bytes = 0
        self._count = 0
        self._sent = 0
        """The number of the last event that went out."""
        self._wake = asyncio.Event()
        self._reader: object = None
        self._is_awaited = is_awaited
        """Whether a client reads, or is about to."""
        self.is_ended = False
        """Whether no event follows."""

    @property
    def has_reader(self) -> bool:
        """Return whether somebody reads the stream now."""
        return self._reader is not None

    @property
    def last(self) -> int:
        """Return the number of the newest event."""
        return self._count

    def prime(self) -> None:
        """Begin with an event that has an id and no message."""
        self._add(b"retry: %d\r\ndata: " % RETRY_MS)

    def push(self, message: bytes) -> None:
        """Add a message."""
        if not self.is_ended:
            self._add(b"event: message\r\ndata: " + message)

    def end(self, reply: bytes | None = None) -> None:
        """Add the last message, if there is one, and end the stream."""
        if reply is not None:
            self.push(reply)
        self.is_ended = True
        self._wake.set()

    async def begun(self) -> None:
        """Wait for the first event, or for the end of a stream without one."""
        while not (self._count or self.is_ended):
            self._wake.clear()
            await self._wake.wait()

    def forget(self) -> None:
        """Drop all events: nobody may come back."""
        self.is_ended = True
        self.give_way()

    def give_way(self) -> None:
        """Drop all events: their client has left too much unread."""
        self._events.clear()
        self._budget.held_bytes -= self._held_bytes
        self._held_bytes = 0
        UNREAD.release(self)
        self._wake.set()

    async def follow(self, after: int | None = None) -> AsyncGenerator[tuple[int, bytes], None]:
        """Yield the number and the bytes of each event after one, or of each that was not sent; comments have number 0.

        Another reader takes the place of this one.
        """
        reader = self._reader = object()
        self._is_awaited = True
        self._wake.set()
        wake = self._wake = asyncio.Event()
        at = self._sent if after is None else min(after, self._count)
        try:
            while self._reader is reader:
                wake.clear()
                for number, event in [(number, event) for number, event in self._events if number > at]:
                    at = number
                    self._sent = max(self._sent, number)
                    yield number, event
                    if self._reader is not reader:
                        return
                if at >= self._count or not self._events:
                    if self.is_ended:
                        return
                    if not await _is_set(wake):
                        yield 0, COMMENT
        finally:
            if self._reader is reader:
                self._reader = None
                self._is_awaited = False
                if self._make_room():
                    UNREAD.hold(self, self._holder, self._held_bytes)

    def _add(self, fields: bytes) -> None:
        self._count += 1
        event = b"id: %s-%d\r\n%b\r\n\r\n" % (self._name.encode(), self._count, fields)
        self._events.append((self._count, event))
        self._held_bytes += len(event)
        self._budget.held_bytes += len(event)
        while len(self._events) > 1 and (len(self._events) > MAX_EVENTS or self._held_bytes > MAX_BYTES):
            self._drop()
        self._make_room()
        UNREAD.hold(self, self._holder, self._held_bytes)
        self._wake.set()

    def _make_room(self) -> bool:
        """Where all streams together hold too much, keep what a client is about to read; return whether any goes."""
        before = len(self._events)
        while self._budget.is_over and self._events and (not self._is_awaited or self._events[0][0] <= self._sent):
            self._drop()
        return len(self._events) < before

    def _drop(self) -> None:
        _, event = self._events.popleft()
        self._held_bytes -= len(event)
        self._budget.held_bytes -= len(event)


def parse_id(text: str) -> tuple[str, int] | None:
    """Return the stream and the number that an event id names, or None."""
    stream, dash, number = text.partition("-")
    if not dash or len(text) > MAX_ID_CHARS or not (number.isascii() and number.isdecimal()):
        return None
    return stream, int(number)


async def _is_set(event: asyncio.Event) -> bool:
    """Wait for an event for as long as a stream may be silent; return whether it was set."""
    try:
        async with asyncio.timeout(HEARTBEAT_S):
            await event.wait()
    except TimeoutError:
        return False
    return True
