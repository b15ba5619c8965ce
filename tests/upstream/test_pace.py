"""The pace of requests: turns that last until a request has gone out, redirects and all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from boj_harness import CODE, SPOT, BojHarness, call, serving_boj
from processes import Pipe
from signet.kernel.caller import CALLER, Caller
from signet.kernel.waiting import Waiting
from signet.upstream.pace import Pace

APART_S = 0.3


@pytest.fixture
def pipe(bank: BojHarness) -> Iterator[Pipe]:
    with serving_boj(bank.url, "--min-interval-ms", "600") as pipe:
        yield pipe


@pytest.mark.spec("3.polite.spaced")
def test_a_request_that_is_long_on_its_way_out_keeps_the_next_one_waiting() -> None:
    async def run() -> None:
        pace = Pace(0.5)
        first = await pace.slot()
        second = asyncio.ensure_future(pace.slot())
        await asyncio.sleep(0)
        assert not second.done()
        first.release()
        first.release()
        (await second).release()

    asyncio.run(run())


def test_a_request_that_never_gets_out_does_not_hold_the_others_up() -> None:
    async def run() -> None:
        pace = Pace(0.05)
        stuck = await pace.slot()
        (await pace.slot()).release()
        stuck.release()
        (await pace.slot()).release()

    asyncio.run(run())


def test_who_leaves_the_queue_lets_the_next_one_in() -> None:
    async def run() -> None:
        pace = Pace(0.05)
        (await pace.slot()).release()
        left = asyncio.ensure_future(pace.slot())
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.wait([left])
        (await pace.slot()).release()

    asyncio.run(run())


def test_callers_wait_in_turns() -> None:
    given = []

    async def one(pace: Pace, holder: str, number: int) -> None:
        CALLER.set(Caller(address=holder))
        slot = await pace.slot()
        given.append((holder, number))
        slot.release()

    async def run() -> None:
        pace = Pace(0.001)
        asked = [one(pace, "a", number) for number in range(4)] + [one(pace, "b", number) for number in range(2)]
        await asyncio.gather(*asked)

    asyncio.run(run())

    assert given == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("a", 3), ("b", 1)]


def test_who_waits_hears_of_one_request_of_each_other_caller_for_each_of_its_own() -> None:
    async def run() -> list[str]:
        pace, waits, asked = Pace(100.0), [Waiting() for _ in range(5)], []
        (await pace.slot()).release()
        for holder, wait in zip("aaabb", waits, strict=True):
            CALLER.set(Caller(address=holder))
            asked.append(asyncio.ensure_future(pace.slot(wait)))
        await asyncio.sleep(0)
        told = [wait.text().rpartition(", ")[2] for wait in waits]
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)
        return told

    assert asyncio.run(run()) == ["1 ahead", "3 ahead", "4 ahead", "1 ahead", "3 ahead"]


@pytest.mark.spec("3.polite.spaced")
def test_redirected_requests_are_spaced_too(bank: BojHarness, pipe: Pipe) -> None:
    bank.order("redirect", hops=2)

    assert call(pipe, CODE, **SPOT)["series_count"] == 1
    assert len(bank.gaps_s()) == 2
    assert min(bank.gaps_s()) > APART_S


@pytest.mark.spec("3.polite.spaced")
def test_waiting_for_a_turn_takes_nothing_from_a_requests_time(bank: BojHarness) -> None:
    """Two redirects, each of which waits longer for its turn than a request may take."""
    bank.order("redirect", hops=2)
    with serving_boj(bank.url, "--min-interval-ms", "1800", "--timeout-ms", "1500", "--retry-max", "0") as pipe:
        assert call(pipe, CODE, **SPOT)["series_count"] == 1

    assert len(bank.targets()) == 3
