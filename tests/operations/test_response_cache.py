"""Responses of upstreams in a store: found by other processes, forgotten if they cannot be read, missed at no cost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from redis_server import RedisServer, redis_server
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.operations.store.address import parse_address
from signet.operations.store.redis_store import RedisStore
from signet.operations.store.response_cache import StoreCache
from signet.upstream.caching import CachingUpstream

LIST = UpstreamRequest("/list?token=canary-in-a-query")
ANSWER = UpstreamResponse(200, "application/json", b'{"a":"\xc3\xa9"}', origin="http://bank.example")


class Counted:
    """A service that counts what it is asked."""

    has_token = False

    def __init__(self, origin: str = "http://bank.example") -> None:
        self.origin = origin
        self.asked = 0

    async def send(self, _: UpstreamRequest, __: Waiting | None = None) -> UpstreamResponse:
        self.asked += 1
        return ANSWER

    def warm(self) -> None:
        """Be ready."""

    def forget(self, _: UpstreamRequest) -> None:
        """Keep nothing."""

    async def close(self) -> None:
        """Hold nothing."""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _empty(redis: RedisServer) -> None:
    redis.cli("FLUSHALL")


def process(inner: Counted, store: RedisStore, token: str | None = None) -> CachingUpstream:
    """Return the upstream that a process of its own would have."""
    spec = UpstreamSpec(base_url=None, token=token, cache_s=60, may_cache=lambda *_: True, coalesce=True)
    return CachingUpstream(inner, spec, StoreCache(store))


def test_what_one_process_was_sent_another_one_does_not_ask_for(redis: RedisServer) -> None:
    service = Counted()

    async def act() -> list[UpstreamResponse]:
        store = RedisStore(parse_address(redis.url))
        try:
            return [await process(service, store).send(LIST) for _ in range(3)]
        finally:
            await store.close()

    assert asyncio.run(act()) == [ANSWER] * 3
    assert service.asked == 1
    [(name, left_ms)] = redis.keys().items()
    assert "canary" not in name
    assert 0 < left_ms <= 60_000


def test_other_origins_tokens_and_headers_have_responses_of_their_own(redis: RedisServer) -> None:
    service, elsewhere = Counted(), Counted("http://other.example")

    async def act() -> None:
        store = RedisStore(parse_address(redis.url))
        try:
            await process(service, store).send(LIST)
            await process(elsewhere, store).send(LIST)
            await process(service, store, token="another").send(LIST)
            await process(service, store).send(UpstreamRequest(LIST.target, fixed_headers=(("account", "b"),)))
        finally:
            await store.close()

    asyncio.run(act())

    assert (service.asked, elsewhere.asked) == (3, 1)


@pytest.mark.parametrize("how", ["forgotten", "garbage"])
def test_a_response_that_cannot_be_read_is_asked_for_again(redis: RedisServer, how: str) -> None:
    service = Counted()

    async def act() -> None:
        store = RedisStore(parse_address(redis.url))
        try:
            first = process(service, store)
            await first.send(LIST)
            if how == "garbage":
                [name] = redis.keys()
                redis.cli("SET", name, "not a response", "PX", "60000")
            else:
                first.forget(LIST)
                await asyncio.gather(*first._forgetting)
            assert await process(service, store).send(LIST) == ANSWER
        finally:
            await store.close()

    asyncio.run(act())

    assert service.asked == 2


def test_without_the_store_a_process_has_its_own_cache() -> None:
    service = Counted()

    async def act() -> None:
        store = RedisStore(parse_address("redis://127.0.0.1:1"))
        try:
            alone = process(service, store)
            assert [await alone.send(LIST) for _ in range(3)] == [ANSWER] * 3
            alone.forget(LIST)
        finally:
            await store.close()

    asyncio.run(act())

    assert service.asked == 1
