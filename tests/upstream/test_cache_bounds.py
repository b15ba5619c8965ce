"""What is kept of responses: callers make up their targets, and many of them fill neither the process nor the store."""

from __future__ import annotations

import asyncio

from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.upstream.caching import CachingUpstream

MIB = 1_048_576
URL = "http://127.0.0.1"


class CountingUpstream:
    """An upstream whose responses are small."""

    origin = URL
    has_token = False

    def __init__(self) -> None:
        self.sent = 0

    async def send(self, _request: UpstreamRequest, _wait: Waiting | None = None) -> UpstreamResponse:
        self.sent += 1
        return UpstreamResponse(200, "application/json", b"{}")

    def warm(self) -> None: ...

    async def close(self) -> None: ...


class CommonCache:
    """A cache of several processes."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    async def read(self, key: str) -> bytes | None:
        return self.values.get(key)

    async def write(self, key: str, value: bytes, _keep_s: float) -> None:
        self.values[key] = value


def test_targets_that_callers_make_up_have_a_bound() -> None:
    """A response takes little, and its target much; what gives way here gives way in the common cache."""
    targets = [f"/{number}?{'x' * MIB}" for number in range(10)]

    async def run() -> tuple[int, int, int]:
        spec = UpstreamSpec(base_url=URL, cache_s=3600, may_cache=lambda *_: True)
        inner, common = CountingUpstream(), CommonCache()
        polite = CachingUpstream(inner, spec, common)
        for target in targets:
            await polite.send(UpstreamRequest(target))
        await asyncio.gather(*polite._forgetting)
        kept, shared = len(polite._cache), sum(map(bool, common.values.values()))
        await polite.send(UpstreamRequest(targets[-1]))
        return kept, shared, inner.sent

    assert asyncio.run(run()) == (7, 7, 10)


def test_responses_whose_time_is_over_make_room_when_others_come() -> None:
    async def run() -> int:
        spec = UpstreamSpec(base_url=URL, cache_s=0.001, may_cache=lambda *_: True)
        polite = CachingUpstream(CountingUpstream(), spec)
        for number in range(5):
            await polite.send(UpstreamRequest(f"/{number}"))
            await asyncio.sleep(0.01)
        return len(polite._cache)

    assert asyncio.run(run()) == 1
