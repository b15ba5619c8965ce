"""Good manners towards a service: equal questions asked once, some answers kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse

__all__ = ["CachePolicy", "CachingUpstream"]

MAX_KEPT_BYTES: Final = 67_108_864
"""The most that kept answers may take together; the oldest go first."""


class CachePolicy(msgspec.Struct, frozen=True):
    """How a service is to be treated."""

    keep_s: float = 0.0
    """How long an answer that may be kept is kept."""
    may_keep: Callable[[UpstreamRequest, UpstreamResponse], bool] = lambda _, __: False


class _Shared(msgspec.Struct):
    """One request that several callers wait for."""

    task: asyncio.Task[UpstreamResponse]
    waiting: int = 0


class CachingUpstream:
    """A way out with manners; what is answered is what the way out behind it answers."""

    def __init__(self, inner: Upstream, manners: CachePolicy) -> None:
        self.origin = inner.origin
        self.has_token = inner.has_token
        self._inner = inner
        self._manners = manners
        self._asked: dict[str, _Shared] = {}
        self._kept: dict[str, tuple[float, UpstreamResponse]] = {}

    async def send(self, ask: UpstreamRequest) -> UpstreamResponse:
        """Give a kept answer, join a request that is under way, or make one."""
        kept = self._kept_answer(ask)
        if kept is not None:
            return kept
        shared = self._asked.get(ask.target)
        if shared is None:
            shared = own = self._asked[ask.target] = _Shared(asyncio.ensure_future(self._ask(ask)))
            own.task.add_done_callback(lambda _: self._done(ask, own))
        shared.waiting += 1
        try:
            # Shielded: one caller who leaves must not take the answer from the others.
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if shared.waiting == 0 and not shared.task.done():
                shared.task.cancel()
                self._done(ask, shared)

    def warm(self) -> None:
        """Get ready for the first request."""
        self._inner.warm()

    async def close(self) -> None:
        """Hang up."""
        await self._inner.close()

    def forget(self, ask: UpstreamRequest) -> None:
        """Keep an answer no longer: whoever read it could not."""
        self._kept.pop(ask.target, None)

    def _done(self, ask: UpstreamRequest, shared: _Shared) -> None:
        """Let nobody join a request any more; one that was begun in its place is not touched."""
        if self._asked.get(ask.target) is shared:
            del self._asked[ask.target]

    async def _ask(self, ask: UpstreamRequest) -> UpstreamResponse:
        answer = await self._inner.send(ask)
        if self._manners.keep_s > 0 and self._manners.may_keep(ask, answer):
            self._keep(ask, answer)
        return answer

    def _kept_answer(self, ask: UpstreamRequest) -> UpstreamResponse | None:
        until, answer = self._kept.get(ask.target, (0.0, None))
        if answer is not None and until <= asyncio.get_running_loop().time():
            del self._kept[ask.target]
            return None
        return answer

    def _keep(self, ask: UpstreamRequest, answer: UpstreamResponse) -> None:
        self._kept.pop(ask.target, None)
        self._kept[ask.target] = (asyncio.get_running_loop().time() + self._manners.keep_s, answer)
        while sum(len(one.body) for _, one in self._kept.values()) > MAX_KEPT_BYTES:
            del self._kept[next(iter(self._kept))]
