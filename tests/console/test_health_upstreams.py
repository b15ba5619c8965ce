"""Upstreams in health: what was asked, how it ended, whether the breaker is open, what the caches had."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from signet.console.upstreams import UpstreamNow, UpstreamWatch
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import CacheState, UpstreamRequest, UpstreamResponse, UpstreamState, states_of
from signet.kernel.waiting import Waiting
from signet.system.figures.families import HOUR_UPSTREAMS
from signet.system.figures.hour import HourFigures
from signet.toolsets.boj import BojSettings
from signet.toolsets.boj_explore.upstream import IndexUpstream, index_request
from signet.toolsets.oj.statement_cache import StatementCache
from signet.upstream.breaker import BreakerUpstream
from signet.upstream.caching import CachingUpstream
from signet.upstream.retrying import RetryingUpstream
from signet.upstream.switchboard import Switchboard

SPEC = UpstreamSpec(base_url="http://service.example", cache_s=60, called="the service", may_cache=lambda *_: True)
FAILED = Fault(Code.INTERNAL_ERROR, "request failed", name="UPSTREAM_FAILED")


class Service:
    """An upstream that answers as it is told."""

    origin = "http://service.example/below"
    has_token = False

    def __init__(self) -> None:
        self.says: UpstreamResponse | Fault = UpstreamResponse(200, "text/plain", b"fine")

    async def send(self, _: UpstreamRequest, __: Waiting | None = None) -> UpstreamResponse:
        if isinstance(self.says, Fault):
            raise self.says
        return self.says

    def warm(self) -> None: ...

    def forget(self, request: UpstreamRequest) -> None: ...

    async def close(self) -> None: ...


def test_a_breaker_tells_whether_it_is_open_and_after_how_many_failures() -> None:
    async def scenario() -> None:
        service = Service()
        breaker = BreakerUpstream(RetryingUpstream(service, SPEC), 2, "the service")
        seen = [states_of(breaker)]
        service.says = FAILED
        for _ in range(2):
            with pytest.raises(Fault):
                await breaker.send(UpstreamRequest("/", method="POST"))
            seen.append(states_of(breaker))

        assert seen == [
            [UpstreamState(service.origin, "closed", 0)],
            [UpstreamState(service.origin, "closed", 1)],
            [UpstreamState(service.origin, "open", 2)],
        ]

    asyncio.run(scenario())


def test_a_cache_tells_how_often_it_had_the_answer() -> None:
    async def scenario() -> None:
        cache = CachingUpstream(Service(), SPEC)
        for target in ("/a", "/b", "/a", "/a"):
            await cache.send(UpstreamRequest(target))

        assert states_of(cache) == [UpstreamState(Service.origin, caches=(CacheState("responses", 2, 2, 2),))]
        assert states_of(Switchboard(lambda _: cache, {SPEC: cache})) == states_of(cache)

    asyncio.run(scenario())


def test_the_folder_of_statements_counts_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        service = Service()
        problem = {"id": "1", "source": "leetcode", "slug": "a", "title": "A", "content": "text"}
        service.says = UpstreamResponse(200, "application/json", msgspec.json.encode(problem))
        statements = StatementCache(service, str(tmp_path))
        for _ in range(3):
            await statements.send(UpstreamRequest("/api/v1/problems/leetcode/1"))

        assert states_of(statements)[0].caches == (CacheState("statements", 2, 1),)

    asyncio.run(scenario())


def test_the_index_counts_what_it_answers_in_place_of_the_bank() -> None:
    async def scenario() -> None:
        service = Service()
        service.origin = "http://127.0.0.1:1"  # its index is kept in memory
        index = IndexUpstream(BojSettings(), service)
        await index.send(UpstreamRequest("/api/v1/getDataCode"))
        await index.send(index_request("search", q="deposits", limit=1))
        await index.send(index_request("search", q="loans", limit=1))
        await index.close()

        assert states_of(index)[0].caches == (CacheState("index", 2, 1),)

    asyncio.run(scenario())


def test_requests_are_counted_by_upstream_with_their_failures() -> None:
    figures = HourFigures()
    watch = UpstreamWatch((Service(),), {"http://service.example": "named"}, figures)
    events = Events(upstream_response=watch.answered)
    unasked = watch.now()

    for code in ("200", "200", "304", "404", "503", "timeout", "failed", "cancelled"):
        events.visit("named", "GET", "http://service.example").end(code)

    [tally] = figures.totals(HOUR_UPSTREAMS).values()
    [now] = watch.now()
    assert unasked == [UpstreamNow("named", "http://service.example")]
    assert (tally.count, tally.faults) == (7, {"404": 1, "503": 1, "timeout": 1, "failed": 1})
    assert (now.name, now.origin, now.last_code) == ("named", "http://service.example", "failed")


def test_services_of_any_number_take_bounded_memory() -> None:
    watch = UpstreamWatch((), {}, HourFigures())
    events = Events(upstream_response=watch.answered)

    for number in range(300):
        events.visit(f"service {number}", "GET", f"http://{number}.example").end("200")

    assert len(watch.now()) == 50


def test_two_toolsets_that_share_a_service_are_one_upstream() -> None:
    cache = CachingUpstream(Service(), SPEC)
    index = IndexUpstream(BojSettings(), cache)

    [now] = UpstreamWatch((cache, index), {}, HourFigures()).now()

    assert [one.name for one in now.caches] == ["responses", "index"]
