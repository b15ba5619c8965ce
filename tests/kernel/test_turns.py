"""The rules of turns, which hold in the file of a machine and in a store alike."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from processes import PATIENCE_S
from redis_server import RedisServer, redis_server
from signet.kernel.turns import HELD_POLL_S, Turns
from signet.operations.store.address import parse_address
from signet.operations.store.redis_store import RedisStore
from signet.operations.store.turns import StoreTurns
from signet.upstream.machine_turns import MachineTurns

LONG_S = 3600.0
Act = Callable[[Turns], Awaitable[None]]


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(params=["machine", "store"])
def with_turns(request: pytest.FixtureRequest, redis: RedisServer, tmp_path: Path) -> Callable[[Act], None]:
    """Run a test with turns of each kind, which the service `bank` has used an hour ago."""
    redis.cli("FLUSHALL")

    async def on_machine(act: Act) -> None:
        await act(MachineTurns(lambda: [str(tmp_path)], 2))

    async def in_store(act: Act) -> None:
        store = RedisStore(parse_address(redis.url))
        try:
            # A store that has never heard of a service lets nobody in for an interval.
            await store.take("bank", "first", LONG_S)
            await act(StoreTurns(store))
        finally:
            await store.close()

    kind = on_machine if request.param == "machine" else in_store
    return lambda act: asyncio.run(kind(act))


def test_a_turn_is_held_by_one_until_its_request_is_sent(with_turns: Callable[[Act], None]) -> None:
    async def act(turns: Turns) -> None:
        assert await turns.take("bank", "a", 0) == 0
        assert await turns.take("bank", "b", 0) == HELD_POLL_S
        assert await turns.take("bank", "a", 0) == 0
        assert await turns.start("bank", "b", 0) is False
        assert await turns.start("bank", "a", 0) is True
        assert await turns.start("bank", "a", 0) is False
        assert await turns.take("bank", "b", 0) == 0

    with_turns(act)


def test_the_interval_counts_from_when_a_request_was_sent(with_turns: Callable[[Act], None]) -> None:
    async def act(turns: Turns) -> None:
        await turns.take("bank", "a", 0)
        await turns.start("bank", "a", 0)
        wait_s = await turns.take("bank", "b", LONG_S)
        assert LONG_S - PATIENCE_S < wait_s <= LONG_S
        # Who keeps to a shorter interval waits less.
        assert await turns.take("bank", "b", 0) == 0

    with_turns(act)


def test_a_request_counts_as_sent_late_until_it_has_arrived(with_turns: Callable[[Act], None]) -> None:
    async def act(turns: Turns) -> None:
        await turns.take("bank", "a", 0)
        assert await turns.start("bank", "a", 1.0) is True
        assert LONG_S < await turns.take("bank", "b", LONG_S) <= LONG_S + 1
        await turns.end("bank", "b")
        assert await turns.take("bank", "b", LONG_S) > LONG_S
        await turns.end("bank", "a")
        assert LONG_S - PATIENCE_S < await turns.take("bank", "b", LONG_S) <= LONG_S

    with_turns(act)


def test_a_turn_in_which_nothing_was_sent_delays_nobody(with_turns: Callable[[Act], None]) -> None:
    async def act(turns: Turns) -> None:
        await turns.take("bank", "a", 0)
        await turns.end("bank", "other")
        assert await turns.take("bank", "b", 0) == HELD_POLL_S
        await turns.end("bank", "a")
        assert await turns.take("bank", "b", 0) == 0

    with_turns(act)


def test_a_turn_whose_owner_died_ends_by_itself_and_is_lost_to_the_owner(
    with_turns: Callable[[Act], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signet.upstream.machine_turns.HOLD_NS", 50_000_000)
    monkeypatch.setattr("signet.operations.store.redis_store.HOLD_S", 0.05)

    async def act(turns: Turns) -> None:
        assert await turns.take("bank", "dead", 0) == 0
        deadline = time.monotonic() + PATIENCE_S
        while await turns.take("bank", "b", 0):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.005)
        assert await turns.start("bank", "dead", 0) is False

    with_turns(act)


def test_services_have_turns_of_their_own(with_turns: Callable[[Act], None]) -> None:
    async def act(turns: Turns) -> None:
        await turns.take("bank", "a", 0)
        await turns.start("bank", "a", 0)
        assert await turns.take("bank", "b", LONG_S) > 0
        assert await turns.take("other", "b", 0) == 0

    with_turns(act)
