"""The event log: one reader at a time, what is kept for it, and the bound of all logs together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from signet.transports import event_log
from signet.transports.event_log import Budget, EventLog, parse_id


async def follow(log: EventLog, after: int | None = None) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield all events, as a connection does."""
    reader = log.read(after)
    try:
        while (found := await log.next(reader)) is not None:
            yield found
    finally:
        log.leave(reader)


async def read(log: EventLog, count: int, after: int | None = None) -> list[int]:
    """Return the numbers of the next events."""
    found: list[int] = []
    async with aclosing(follow(log, after)) as events:
        async for number, _ in events:
            found.append(number)
            if len(found) == count:
                break
    return found


def test_events_are_numbered_and_read_once_unless_they_are_asked_for_again() -> None:
    async def act() -> list[list[int]]:
        log = EventLog("7", Budget())
        for text in (b"a", b"b", b"c"):
            log.push(text)
        return [await read(log, 2), await read(log, 1), await read(log, 2, after=1), await read(log, 1, after=2)]

    assert asyncio.run(act()) == [[1, 2], [3], [2, 3], [3]]


def test_an_event_has_an_id_a_name_and_its_message() -> None:
    async def act() -> list[bytes]:
        log = EventLog("7", Budget())
        log.prime()
        log.end(b"{}")
        return [event async for _, event in follow(log)]

    assert asyncio.run(act()) == [
        b"id: 7-1\r\nretry: 1000\r\ndata: \r\n\r\n",
        b"id: 7-2\r\nevent: message\r\ndata: {}\r\n\r\n",
    ]


def test_nothing_follows_the_end() -> None:
    async def act() -> list[int]:
        log = EventLog("7", Budget())
        log.end(b"a")
        log.push(b"b")
        return [number async for number, _ in follow(log)]

    assert asyncio.run(act()) == [1]


def test_the_oldest_events_make_room() -> None:
    async def act() -> tuple[list[int], int, int]:
        many, large = EventLog("1", Budget()), EventLog("2", budget := Budget())
        for _ in range(1000):
            many.push(b"x")
        for _ in range(10):
            large.push(b"x" * 300_000)
        many.end()
        return [number async for number, _ in follow(many)], budget.held_bytes, large.last

    numbers, held, last = asyncio.run(act())

    assert numbers == list(range(745, 1001))
    assert 900_000 < held < 1_048_576
    assert last == 10


def test_a_reply_larger_than_the_bound_is_kept_for_its_reader() -> None:
    async def act() -> list[int]:
        log = EventLog("1", Budget())
        log.push(b"early")
        log.end(b"x" * 3_000_000)
        return [len(event) async for _, event in follow(log)]

    assert asyncio.run(act()) == [3_000_000 + len("id: 1-2\r\nevent: message\r\ndata: \r\n\r\n")]


def test_where_all_logs_hold_too_much_only_what_is_about_to_be_read_is_kept() -> None:
    async def act() -> tuple[int, int, list[int]]:
        budget = Budget(limit_bytes=1000)
        read_whole, left, awaited = (
            EventLog("1", budget),
            EventLog("2", budget, is_awaited=False),
            EventLog("3", budget),
        )
        read_whole.end(b"x" * 2000)
        await read(read_whole, 1)
        freed = budget.held_bytes
        awaited.push(b"x" * 2000)
        left.push(b"x")
        held = budget.held_bytes
        awaited.end(b"y")
        return freed, held, [number async for number, _ in follow(awaited)]

    freed, held, numbers = asyncio.run(act())

    assert freed == 0
    assert 2000 < held < 2100
    assert numbers == [1, 2]


def test_a_forgotten_log_gives_its_bytes_back_and_ends_its_reader() -> None:
    async def act() -> int:
        log = EventLog("1", budget := Budget())
        log.push(b"x")
        reader = asyncio.ensure_future(read(log, 9))
        await asyncio.sleep(0)
        log.forget()
        assert await reader == [1]
        return budget.held_bytes

    assert asyncio.run(act()) == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3-14", ("3", 14)),
        ("3", None),
        ("-", None),
        ("3-x", None),
        ("3--1", None),
        ("3-٣", None),
        ("9" * 50 + "-1", None),
    ],
)
def test_an_event_id_names_its_stream_and_its_number(text: str, found: object) -> None:
    assert parse_id(text) == found


def test_a_silent_stream_has_a_comment_now_and_then_and_then_the_next_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "HEARTBEAT_S", 0.01)

    async def act() -> list[object]:
        log = EventLog("1", Budget())
        reader = log.read()
        silent = [await log.next(reader) for _ in range(2)]
        asyncio.get_running_loop().call_soon(log.push, b"x")
        while (found := await log.next(reader)) == silent[0]:
            pass
        log.end()
        return [*silent, found, await log.next(reader)]

    first, second, found, last = asyncio.run(act())

    assert first == second == (0, b": \r\n\r\n")
    assert found == (1, b"id: 1-1\r\nevent: message\r\ndata: x\r\n\r\n")
    assert last is None


def test_a_reader_whose_place_was_taken_leaves_the_new_one_alone() -> None:
    async def act() -> list[bool]:
        log = EventLog("1", Budget())
        log.push(b"x")
        old = follow(log)
        await anext(old)
        new = follow(log, after=0)
        await anext(new)
        await old.aclose()
        found = [log.has_reader]
        await new.aclose()
        return [*found, log.has_reader]

    assert asyncio.run(act()) == [True, False]


@pytest.mark.parametrize("ends", [False, True])
def test_the_wait_for_a_beginning_ends_with_an_event_or_with_the_stream(ends: bool) -> None:
    async def act() -> list[bool]:
        log = EventLog("1", Budget())
        waiting = asyncio.ensure_future(log.begun())
        await asyncio.sleep(0)
        found = [waiting.done()]
        if ends:
            log.end()
        else:
            log.push(b"x")
        for _ in range(3):
            await asyncio.sleep(0)
        return [*found, waiting.done()]

    assert asyncio.run(act()) == [False, True]
