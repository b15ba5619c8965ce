"""An upstream that shares requests: equal ones under way at once are sent once, and some responses are cached.

With a cache that processes share, a response is looked for there before its request is sent. A process keeps no more
there than in its own cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import (
    CacheState,
    ResponseCache,
    Upstream,
    UpstreamRequest,
    UpstreamResponse,
    UpstreamState,
    states_of,
)
from signet.kernel.waiting import Waiting

if TYPE_CHECKING:
    import asyncio

__all__ = ["CachingUpstream"]

MAX_CACHED_BYTES: Final = 67_108_864
"""The most that cached bodies may take together; the oldest are dropped first, and a larger body is not cached."""
MAX_CACHED_KEYS_BYTES: Final = 8_388_608
"""The most that their targets may take, which callers make up; each counts as `COST_BYTES` more than it has."""
COST_BYTES: Final = 512

NOTHING: Final = b""
FORGOTTEN_S: Final = 1.0
"""A shared response is forgotten by an empty value, which soon expires."""

_Key = tuple[str, tuple[tuple[str, str], ...]]
"""The target and the fixed headers: two accounts of one service do not share what it sends."""


class _SharedRequest(msgspec.Struct):
    """One request that several callers wait for."""

    task: asyncio.Task[UpstreamResponse]
    wait: Waiting
    callers: int = 0


class CachingUpstream:
    """Sends plain GET requests once for all who wait, and returns cached responses; the rest passes through."""

    def __init__(self, inner: Upstream, spec: UpstreamSpec, shared: ResponseCache | None = None) -> None:
        """Send with another upstream; cache responses in this process, and in a cache for all if there is one."""
        self.origin = inner.origin
        self.has_token = inner.has_token
        self._inner = inner
        self._spec = spec
        self._under_way: dict[_Key, _SharedRequest] = {}
        self._cache: dict[_Key, tuple[float, UpstreamResponse]] = {}
        self._body_bytes = self._key_bytes = 0
        """What the cached responses take, and their targets."""
        self._shared = shared if spec.cache_s > 0 else None
        self._forgetting: set[asyncio.Future[None]] = set()
        self._hits = self._misses = 0

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return a cached response, join an equal request that is under way, or send one."""
        import asyncio

        if not request.is_plain:
            return await self._inner.send(request, wait)
        cached = self._cached(request)
        if cached is not None:
            self._hits += 1  # rule: 3.polite.unseen
            return cached
        shared = self._under_way.get(_key(request))  # rule: 3.polite.shared
        if shared is None:
            self._misses += 1
            told = Waiting()
            shared = own = _SharedRequest(asyncio.ensure_future(self._send(request, told)), told)
            self._under_way[_key(request)] = own
            own.task.add_done_callback(lambda _: self._end(request, own))
        shared.callers += 1
        if wait is not None:
            wait.now = shared.wait.text
        try:
            # Shielded: one caller who leaves must not take the response from the others.
            return await asyncio.shield(shared.task)
        finally:
            shared.callers -= 1
            if shared.callers == 0 and not shared.task.done():
                shared.task.cancel()
                self._end(request, shared)

    def states(self) -> list[UpstreamState]:
        """Return the states of the services, with that of this process's cache."""
        caches = (
            (CacheState("responses", self._hits, self._misses, len(self._cache)),) if self._spec.cache_s > 0 else ()
        )
        return [msgspec.structs.replace(one, caches=caches + one.caches) for one in states_of(self._inner)]

    def warm(self) -> None:
        """Load what the first request needs."""
        self._inner.warm()

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()

    def forget(self, request: UpstreamRequest) -> None:
        """Drop a cached response: it could not be read."""
        self._drop(_key(request))
        self._forget_shared(_key(request))

    def _end(self, request: UpstreamRequest, shared: _SharedRequest) -> None:
        """Let nobody join a request any more; a later request for the same target is not touched."""
        if self._under_way.get(_key(request)) is shared:
            del self._under_way[_key(request)]

    async def _send(self, request: UpstreamRequest, wait: Waiting) -> UpstreamResponse:
        import asyncio

        kept = await self._read_shared(request)
        if kept is not None:
            return kept
        response = await self._inner.send(request, wait)
        fits = len(response.body) <= MAX_CACHED_BYTES
        if self._spec.cache_s > 0 and fits and self._spec.may_cache(request, response):
            if self._shared is not None:
                await self._shared.write(self._shared_key(_key(request)), _encode(response), self._spec.cache_s)
            self._keep(_key(request), response, asyncio.get_running_loop().time())
        return response

    def _keep(self, key: _Key, response: UpstreamResponse, now_s: float) -> None:
        """Keep a response as the newest one; drop expired responses, then the oldest until there is room."""
        self._drop(key)
        self._cache[key] = now_s + self._spec.cache_s, response
        self._body_bytes += len(response.body)
        self._key_bytes += len(key[0]) + COST_BYTES
        while (oldest := next(iter(self._cache))) != key:
            is_over = self._cache[oldest][0] <= now_s
            # rule: 3.polite.bounded
            if not is_over and self._body_bytes <= MAX_CACHED_BYTES and self._key_bytes <= MAX_CACHED_KEYS_BYTES:
                return
            self._drop(oldest)  # rule: 3.polite.bounded/2
            if not is_over:
                self._forget_shared(oldest)

    def _drop(self, key: _Key) -> None:
        kept = self._cache.pop(key, None)
        if kept is not None:
            self._body_bytes -= len(kept[1].body)
            self._key_bytes -= len(key[0]) + COST_BYTES

    def _forget_shared(self, key: _Key) -> None:
        import asyncio

        if self._shared is not None:
            forgetting = asyncio.ensure_future(self._shared.write(self._shared_key(key), NOTHING, FORGOTTEN_S))
            self._forgetting.add(forgetting)
            forgetting.add_done_callback(self._forgetting.discard)

    async def _read_shared(self, request: UpstreamRequest) -> UpstreamResponse | None:
        value = await self._shared.read(self._shared_key(_key(request))) if self._shared is not None else None
        try:
            return msgspec.msgpack.decode(value, type=UpstreamResponse) if value else None
        except ValueError:
            # Of another version, or not ours: the service knows better.
            return None

    def _shared_key(self, key: _Key) -> str:
        """Return the digest of a request: where it goes, as whom, and what it asks for."""
        from hashlib import sha256

        parts = (self.origin, self._spec.token or "", *key)
        return sha256(msgspec.json.encode(parts)).hexdigest()

    def _cached(self, request: UpstreamRequest) -> UpstreamResponse | None:
        import asyncio

        until, response = self._cache.get(_key(request), (0.0, None))
        if response is not None and until <= asyncio.get_running_loop().time():
            self._drop(_key(request))
            return None
        return response


def _encode(response: UpstreamResponse) -> bytes:
    return msgspec.msgpack.encode(response)


def _key(request: UpstreamRequest) -> _Key:
    return request.target, request.fixed_headers
