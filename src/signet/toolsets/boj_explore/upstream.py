"""The Bank with an index before it: tools ask both through their context, so both are recorded and replayed.

/_index/build, /_index/search, /_index/find ──▶ IndexService, made when it is first asked
anything else ──▶ the Bank
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from signet.kernel.upstream import CacheState, Upstream, UpstreamRequest, UpstreamResponse, UpstreamState, states_of
from signet.kernel.waiting import Waiting

if TYPE_CHECKING:
    from .service import IndexService

__all__ = ["IndexUpstream", "index_request"]

PREFIX: Final = "/_index/"


def index_request(action: str, **values: object) -> UpstreamRequest:
    """Return a request to the index; values that are None are left out."""
    from urllib.parse import quote

    pairs = (f"{name}={quote(str(value), safe='')}" for name, value in values.items() if value is not None)
    return UpstreamRequest(f"{PREFIX}{action}?{'&'.join(pairs)}")


class IndexUpstream:
    """The Bank with an index before it."""

    def __init__(self, settings: Any, bank: Upstream) -> None:
        self.origin = bank.origin
        self.has_token = bank.has_token
        self._settings = settings
        self._bank = bank
        self._index: IndexService | None = None
        self._hits = self._misses = 0

    @property
    def index(self) -> IndexService:
        """The index; SQLite is loaded for it, which a list of tools does not need."""
        if self._index is None:
            from .service import IndexService

            self._index = IndexService(self._settings, self._bank)
        return self._index

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return the answer of the index, or that of the Bank."""
        path, _, query = request.target.partition("?")
        if not path.startswith(PREFIX) or not self.index.knows(path.removeprefix(PREFIX)):
            self._misses += 1
            return await self._bank.send(request, wait)
        self._hits += 1
        if wait is not None:
            wait.now = "waiting for the index of the Bank of Japan's series"
        body = await self.index.answer(path.removeprefix(PREFIX), query)
        return UpstreamResponse(200, "application/json", body)

    def states(self) -> list[UpstreamState]:
        """Return the state of the Bank; the index counts the requests that it answered as hits."""
        own = CacheState("index", self._hits, self._misses)
        return [replace(one, caches=(own, *one.caches)) for one in states_of(self._bank)]

    def warm(self) -> None:
        """Load what the first request needs."""
        self._bank.warm()

    def forget(self, request: UpstreamRequest) -> None:
        """Drop a cached response of the Bank."""
        self._bank.forget(request)

    async def close(self) -> None:
        """Stop the index, and close the Bank's connections."""
        if self._index is not None:
            await self._index.close()
        await self._bank.close()
