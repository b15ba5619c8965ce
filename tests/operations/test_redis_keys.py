"""Idempotency keys in a real Redis: each caller's share of the room, what gives way, and what the books say of it."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest

from limit_counts import LimitCounts
from limit_harness import Clock, Elsewhere, call, entered, tool
from redis_server import RedisServer, redis_server
from signet.kernel.gate import Entry
from signet.operations.limits.gate import LimitGate
from signet.operations.limits.outage import StoreOutage
from signet.operations.limits.policy import read_policy
from signet.operations.store import redis_store
from signet.operations.store.address import parse_address
from signet.operations.store.redis_store import RedisStore
from signet.operations.store.store import Bucket, Decision, Kept, StoreFullError

COST = 512
DIGEST, RUNNER = "d" * 64, "r" * 16
HEAD = 2 + 64 + 1 + 16 + 1 + 13 + 1
"""What stands before an answer: its state, its digest, who ran it, and until when it is kept."""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _empty(redis: RedisServer) -> None:
    redis.cli("FLUSHALL")
    redis.cli("CONFIG", "SET", "maxmemory", "0")


def with_room(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch, entries: int, act: Callable[[RedisStore], Awaitable[None]]
) -> None:
    """Use a store that has room for some answers of 1,000 bytes."""
    monkeypatch.setattr(redis_store, "MAX_ANSWER_BYTES", entries * (HEAD + COST + 1_000))

    async def main() -> None:
        store = RedisStore(parse_address(redis.url))
        try:
            await act(store)
        finally:
            store._runners.clear()
            await store.close()

    asyncio.run(main())


async def keep(store: RedisStore, key: str, holder: str, size: int = 1_000, keep_s: float = 60) -> str:
    """Begin and end a call; return the state of its key before."""
    state = (await store.begin(key, DIGEST, RUNNER, keep_s, holder=holder)).state
    if state == "new":
        await store.finish(key, DIGEST, RUNNER, b"x" * size, keep_s, holder=holder)
    return state


async def states(store: RedisStore, keys: list[str], holder: str) -> list[str]:
    """Return what is known of keys; one that is not known runs from now on."""
    return [(await store.begin(key, DIGEST, "another", 60, holder=holder)).state for key in keys]


def test_a_callers_own_oldest_give_way_and_no_others(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(store: RedisStore) -> None:
        await keep(store, "alice", "principal alice")
        for number in range(50):
            assert await keep(store, f"m{number}", "principal mallory") == "new"

        assert await states(store, ["alice"], "principal alice") == ["done"]
        # Ten have room: one half of them for who is greedy.
        assert await states(store, ["m46", "m47", "m48", "m49"], "principal mallory") == ["done"] * 4
        assert await states(store, ["m0"], "principal mallory") == ["new"]

    with_room(redis, monkeypatch, 10, act)


def test_where_callers_cannot_be_told_apart_they_have_all_of_it(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(store: RedisStore) -> None:
        for number in range(12):
            await keep(store, str(number), "")

        assert await states(store, [str(number) for number in range(2, 12)], "") == ["done"] * 10

    with_room(redis, monkeypatch, 10, act)


def test_calls_that_run_give_way_to_nothing_and_a_new_key_is_refused_then(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(store: RedisStore) -> None:
        room = redis_store.MAX_ANSWER_BYTES // (HEAD + COST)
        running = [str(number) for number in range(room)]
        begun = [(await store.begin(key, DIGEST, RUNNER, 60)).state for key in running]
        full = await store.begin("more", DIGEST, RUNNER, 60)
        await store.finish("0", DIGEST, RUNNER, b"x" * 1_000, 60)

        assert begun == ["new"] * room
        assert full == Kept("full")
        # Its answer has no room beside those that run, and is not forgotten to be one.
        assert await states(store, running[:3], "") == ["gone", "running", "running"]
        # What has ended gives way.
        assert await store.begin("more", DIGEST, RUNNER, 60) == Kept("new")

    with_room(redis, monkeypatch, 4, act)


def test_an_answer_that_is_larger_than_the_share_is_known_to_be_gone(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(store: RedisStore) -> None:
        await keep(store, "small", "principal alice")
        await keep(store, "large", "principal alice", 6_000)

        assert await states(store, ["small", "large"], "principal alice") == ["done", "gone"]

    with_room(redis, monkeypatch, 4, act)


def test_what_has_run_out_counts_no_more_whoever_comes(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(store: RedisStore) -> None:
        for number in range(4):
            await keep(store, f"m{number}", "principal mallory", keep_s=0.05)
        await store.begin("dead", DIGEST, RUNNER, 0.05, holder="principal dead")
        await asyncio.sleep(0.1)
        for number in range(8):
            await keep(store, f"a{number}", "")

        assert await states(store, [f"a{number}" for number in range(8)], "") == ["done"] * 8

    with_room(redis, monkeypatch, 8, act)
    assert redis.cli("ZRANGE", "signet:{keys}:holders", "0", "-1").split("\n")[:-1] == ["of process"]


def test_entries_that_run_out_at_once_are_taken_out_of_the_books_once(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key of Redis is there until its last millisecond is over: a holder whose entries all end then has them."""

    async def act(store: RedisStore) -> None:
        await keep(store, "lasting", "principal b")
        for number in range(1_500):
            await store.begin(f"a{number}", DIGEST, RUNNER, 0.001, holder=f"principal a{number % 2}")

    with_room(redis, monkeypatch, 100, act)

    books = redis.cli("HGETALL", "signet:{keys}:bytes").split()
    known = {name: int(size) for name, size in itertools.pairwise(books) if size.isdigit()}
    assert redis.cli("HLEN", "signet:{keys}:entries:principal%20b").strip() == "1"
    assert known.pop("all") == sum(known.values()) >= HEAD + COST + 1_000


@pytest.mark.parametrize("seed", range(3))
def test_the_books_are_those_of_what_is_kept(redis: RedisServer, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    holders = ["", "principal a", "principal b", "address c"]

    async def act(store: RedisStore) -> None:
        for _ in range(150):
            holder, key = chance.choice(holders), str(chance.randrange(12))
            await store.begin(f"{holder}{key}", DIGEST, RUNNER, chance.choice((0.01, 60)), holder=holder)
            body = None if chance.random() < 0.3 else b"x" * chance.randrange(3_000)
            if chance.random() < 0.8:
                keep_s = chance.choice((0.01, 60))
                await store.finish(f"{holder}{key}", DIGEST, RUNNER, body, keep_s, holder=holder)

    with_room(redis, monkeypatch, 12, act)

    script = """
    local all = 0
    for _, name in ipairs(redis.call('KEYS', 'signet:{keys}:entries:*')) do
      local values = redis.call('HVALS', name)
      local order = string.gsub(name, ':entries:', ':order:')
      if #values ~= redis.call('ZCARD', order) then return 'order of ' .. name end
      local sum = 0
      for _, value in ipairs(values) do sum = sum + #value + 512 end
      local who = 'of ' .. string.sub(name, #'signet:{keys}:entries:' + 1)
      local told = tonumber(redis.call('HGET', 'signet:{keys}:bytes', who)) or 0
      if told ~= sum then return who .. ' ' .. told .. ' ' .. sum end
      all = all + sum
    end
    local told = tonumber(redis.call('HGET', 'signet:{keys}:bytes', 'all')) or 0
    local most = tonumber(ARGV[1])
    return (told >= all and told <= most) and 'right' or ('all ' .. told .. ' ' .. all .. ' ' .. most)
    """
    assert redis.cli("EVAL", script, "0", str(12 * (HEAD + COST + 1_000))).strip() == "right"


def test_the_room_is_a_quarter_of_the_servers_memory_at_most(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis.cli("CONFIG", "SET", "maxmemory", "16mb")

    async def act(store: RedisStore) -> None:
        for number in range(40):
            await keep(store, str(number), "principal mallory", 250_000)

    with_room(redis, monkeypatch, 1_000_000, act)

    held = int(redis.cli("HGET", "signet:{keys}:bytes", "all"))
    assert 1_500_000 < held <= 2_097_152


def test_evicted_entries_leave_no_trace_in_the_books(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a server does whose policy is `volatile-ttl`."""

    async def act(store: RedisStore) -> None:
        for number in range(4):
            await keep(store, str(number), "principal alice")
        redis.cli("DEL", "signet:{keys}:entries:principal%20alice")
        await keep(store, "again", "principal alice")
        assert await states(store, ["again"], "principal alice") == ["done"]

    with_room(redis, monkeypatch, 10, act)

    assert redis.cli("HGET", "signet:{keys}:bytes", "all").strip() == str(HEAD + COST + 1_000)


def test_a_store_whose_memory_is_full_decides_and_gives_turns_and_takes_no_values() -> None:
    """Notes of a few bytes are written behind a command that takes no memory."""
    changes: list[str] = []
    bucket = Bucket("principal:alice", 3, 3600.0)

    async def main(redis: RedisServer) -> None:
        store = RedisStore(parse_address(redis.url), changes.append)
        redis.cli("CONFIG", "SET", "maxmemory", "1")
        assert "OOM" in redis.cli("SET", "one:more", "x")
        decisions = [(await store.decide([bucket, Bucket("quota:principal:alice", 9)])).refused for _ in range(5)]
        wait_s = await store.take("bank", "me", 1.0)
        await store.write("a", b"x" * 1_000, 60)
        assert await store.read("a") is None
        # A quarter of nothing is no room for a key.
        assert await store.begin("k", DIGEST, RUNNER, 60, holder="principal alice") == Kept("full")
        store._runners.clear()
        await store.close()

        assert decisions == [None, None, None, 0, 0]
        assert 0 < wait_s <= 1

    with redis_server() as own:
        asyncio.run(main(own))
    assert changes == []


class Full(Elsewhere):
    """A store that takes nothing at all."""

    async def decide(self, buckets: Sequence[Bucket]) -> Decision:
        raise StoreFullError(f"no memory for {len(buckets)} notes")


def test_where_a_store_takes_no_note_at_all_the_process_counts_by_itself() -> None:
    figures, store = LimitCounts(), Full(Clock().store())
    gate = LimitGate(read_policy({"rate": "3/h"}), store, figures.events, StoreOutage(figures.events))

    async def main() -> list[Entry]:
        return [await entered(gate, call("alice"), tool()) for _ in range(5)]

    entries = asyncio.run(main())

    assert [entry is None for entry in entries] == [True] * 3 + [False] * 2
    assert (figures.fail_open, figures.store_errors) == (0, 0)
