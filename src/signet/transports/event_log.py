"""The event log of one stream: messages as numbered events, kept for a client whose connection was cut.

    push ── events ──┬── read, next, next …: the one reader of the moment
                     └── read(after), next …: one that comes back, and is sent what it missed

An event's id is `<stream>-<number>`. The events that are kept have a bound; the oldest make room.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

import msgspec

from signet.kernel.pipeline import Deadlines

from .unread import UNREAD

__all__ = ["COMMENT", "RESUMABLE_SINCE", "Budget", "EventLog", "Reader", "parse_id"]

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
    waits: Deadlines | None = None
    """The readers that wait for an event, in the event loop that runs."""

    @property
    def is_over(self) -> bool:
        """Return whether more is held than may be."""
        return self.held_bytes > self.limit_bytes

    def waits_now(self) -> Deadlines:
        """Return the waits of the running event loop."""
        loop = asyncio.get_running_loop()
        if self.waits is None or self.waits.loop is not loop:
            self.waits = Deadlines(loop, HEARTBEAT_S)
        return self.waits


class Reader:
    """A place in a log: the number of the last event that was read."""

    def __init__(self, at: int) -> None:
        self.at = at


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
        self._waiters: list[asyncio.Future[None]] = []
        self._changes = 0
        self._reader: Reader | None = None
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
        """Begin with an event that has an id and no message; what follows it is counted with it."""
        self._append(b"retry: %d\r\ndata: " % RETRY_MS)

    def push(self, message: bytes) -> None:
        """Add a message."""
        if not self.is_ended:
            self._append(b"event: message\r\ndata: " + message)
            self._make_room()
            UNREAD.hold(self, self._holder, self._held_bytes)
            self._wake()

    def end(self, reply: bytes | None = None) -> None:
        """Add the last message, if there is one, and end the stream."""
        if reply is not None:
            self.push(reply)
        self.is_ended = True
        self._wake()

    async def begun(self) -> None:
        """Wait for the first event, or for the end of a stream without one."""
        while not (self._count or self.is_ended):
            await self._is_changed()

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
        self._wake()

    def read(self, after: int | None = None) -> Reader:
        """Return a new reader, from the event after one, else from the first that was not sent.

        It takes the place of the reader before it, and ends with `leave`.
        """
        reader = self._reader = Reader(self._sent if after is None else min(after, self._count))
        self._is_awaited = True
        self._wake()
        return reader

    async def next(self, reader: Reader) -> tuple[int, bytes] | None:
        """Return the number and the bytes of the next event, or a comment, which has number 0; None at the end."""
        while self._reader is reader:
            events = self._events
            if events and events[-1][0] > reader.at:
                number, event = events[max(0, reader.at + 1 - events[0][0])]
                reader.at = number
                self._sent = max(self._sent, number)
                return number, event
            if self.is_ended:
                return None
            if not await self._is_changed():
                return 0, COMMENT
        return None

    def leave(self, reader: Reader) -> None:
        """Note that a reader reads no more: what was sent may make room."""
        if self._reader is reader:
            self._reader = None
            self._is_awaited = False
            if self._make_room():
                UNREAD.hold(self, self._holder, self._held_bytes)

    def _append(self, fields: bytes) -> None:
        self._count += 1
        event = b"id: %s-%d\r\n%b\r\n\r\n" % (self._name.encode(), self._count, fields)
        self._events.append((self._count, event))
        self._held_bytes += len(event)
        self._budget.held_bytes += len(event)
        while len(self._events) > 1 and (len(self._events) > MAX_EVENTS or self._held_bytes > MAX_BYTES):
            self._drop()

    def _wake(self) -> None:
        """Let all who wait look again."""
        self._changes += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _is_changed(self) -> bool:
        """Wait for a change, for as long as a stream may be silent; return whether there was one."""
        waits, before = self._budget.waits_now(), self._changes
        waiter = waits.begin()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            self._waiters.remove(waiter)
            waits.forget(waiter)
        return self._changes > before

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
