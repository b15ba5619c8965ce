"""What the index answers, each action as a value.

/_index/build?q=…&db=…&wait_ms=…         fill the shelf for a while; IndexState
/_index/search?q=…&db=…&frequency=…      FoundSeries
/_index/find?codes=A,B&db=…              FoundCodes
anything else                            the Bank
"""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from signet.kernel.upstream import Upstream
from signet.system.files import user_cache
from signet.toolsets.boj import BojSettings

from .crawl import Crawl
from .shelf import ORDER, Shelf, folder_of
from .store import IndexedSeries, check_sqlite
from .words import read_query

__all__ = ["FoundCode", "FoundCodes", "FoundSeries", "IndexService", "IndexState", "open_shelf"]

LOOPBACK: Final = ("127.", "localhost", "[::1]", "::1")


class IndexState(Struct, frozen=True):
    """What is on the shelf."""

    databases: int
    series: int
    built_at: str | None
    """When the Bank made the oldest of the lists."""
    missing: list[str]
    trouble: str
    """Why something is missing, or not on the disk."""
    running: bool = False
    """Whether more is on its way."""
    total: int = len(ORDER)


class FoundSeries(Struct, frozen=True):
    """The answer to a search."""

    total: int
    hits: list[IndexedSeries]
    some: bool
    closest: list[IndexedSeries]
    """The series with the closest codes, where nothing was found."""
    index: IndexState


class FoundCode(Struct, frozen=True):
    """What the index has for one code."""

    code: str
    series: list[IndexedSeries]
    closest: list[IndexedSeries]


class FoundCodes(Struct, frozen=True):
    """The answer to a question for codes, in their order."""

    codes: list[FoundCode]
    known: list[str]
    """The databases that are indexed."""
    trouble: str


def open_shelf(settings: BojSettings, origin: str) -> Shelf:
    """Return the shelf of an origin: in the folder that was named, in the user's, or in memory for this machine."""
    if settings.index_dir:
        return Shelf(folder_of(settings.index_dir, origin))
    is_here = origin.partition("://")[2].lower().startswith(LOOPBACK)
    return Shelf(None if is_here else folder_of(user_cache("boj"), origin))


class IndexService:
    """The index of one origin."""

    def __init__(self, settings: BojSettings, bank: Upstream) -> None:
        self.crawl = Crawl(open_shelf(settings, bank.origin), bank, settings)
        self._actions = {"build": self._build, "search": self._search, "find": self._find}

    def knows(self, action: str) -> bool:
        """Return True for an action of the index."""
        return action in self._actions

    async def answer(self, action: str, query: str) -> bytes:
        """Return the answer to an action as JSON."""
        values = {name: texts[0] for name, texts in parse_qs(query).items()}
        return msgspec.json.encode(await self._actions[action](values))

    async def close(self) -> None:
        """Stop the crawl and close the stores."""
        await self.crawl.close()
        await asyncio.to_thread(self.crawl.shelf.close)

    async def _build(self, values: dict[str, str]) -> IndexState:
        """Ask for lists, unless this SQLite cannot hold them."""
        cannot = await asyncio.to_thread(check_sqlite)
        if cannot:
            return msgspec.structs.replace(await self._state(), trouble=cannot)
        db = values.get("db") if values.get("db") in ORDER else None
        missing = (await self._state()).missing
        # Lists that are only old are asked for in the background.
        wait_ms = int(values.get("wait_ms", "0")) if (db in missing if db else missing) else 0
        await self.crawl.go(read_query(values.get("q", "")), db, wait_s=wait_ms / 1000, only="only" in values)
        return await self._state()

    async def _search(self, values: dict[str, str]) -> FoundSeries:
        query, db, limit = values.get("q", ""), values.get("db"), int(values.get("limit", "10"))
        shelf = self.crawl.shelf
        state = await self._state()
        found = await asyncio.to_thread(shelf.search, read_query(query), db, values.get("frequency"), limit)
        closest: list[IndexedSeries] = []
        if not found.total:
            closest = await asyncio.to_thread(shelf.nearest, query.strip(), db)
        return FoundSeries(found.total, found.hits, found.some, closest, state)

    async def _find(self, values: dict[str, str]) -> FoundCodes:
        return await asyncio.to_thread(self._find_codes, values.get("codes", "").split(","), values.get("db"))

    def _find_codes(self, codes: list[str], db: str | None) -> FoundCodes:
        shelf = self.crawl.shelf
        known = list(shelf.facts())
        found = []
        for code in codes:
            series = shelf.find(code, db)
            found.append(FoundCode(code, series, [] if series else shelf.nearest(code, db)))
        return FoundCodes(found, known, self._trouble())

    async def _state(self) -> IndexState:
        facts = await asyncio.to_thread(self.crawl.shelf.facts)
        made = [one.made_at for one in facts.values() if one.made_at]
        missing = [db for db in ORDER if db not in facts]
        series = sum(one.series for one in facts.values())
        return IndexState(len(facts), series, min(made, default=None), missing, self._trouble(), self.crawl.is_running)

    def _trouble(self) -> str:
        return self.crawl.trouble or self.crawl.shelf.trouble
