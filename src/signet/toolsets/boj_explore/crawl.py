"""Filling the shelf: one list after the other is asked of the Bank, at the pace of its upstream.

    wanted words ── next list ──▶ upstream ──▶ store on the shelf ── again until none is missing or old

One process at a time asks the Bank for one folder; the others look at what it has put there. A crawl that is killed
loses the list that was on its way, and the next one goes on with the lists that are still missing. A list that did not
come is asked for again by a later crawl, after a pause.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from signet.kernel.errors import Fault
from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse
from signet.toolsets.boj import BojSettings
from signet.toolsets.boj.databases import DATABASES, Database
from signet.toolsets.boj.faults import transport
from signet.toolsets.boj.tools import delay_ms

from .lists import made_at, read_rows, request_list
from .shelf import ORDER, Shelf, database_words
from .store import ListFacts
from .words import SearchQuery, read_query

__all__ = ["Crawl", "likely"]

DAY_S: Final = 86_400
OTHERS_S: Final = 0.5
"""How often to look at what another process does."""
RETRY_S: Final = 5.0
"""How long a list that did not come is left alone; twice as long after each further time."""
MAX_DOUBLINGS: Final = 9
"""The longest such pause is about 40 minutes."""
NO_WORDS: Final = read_query("")
LARGE: Final = ("CO", "FF", "BIS", "PR01", "PR03", "BP01")
"""The databases whose lists have more than ten million bytes: they come last, unless their names are asked for."""

HINTS: Final = {
    "FM08": ("dollar", "yen", "euro", "ドル", "円", "為替", "fxer"),
    "FM09": ("effective", "実効", "fx18"),
    "FM01": ("call", "overnight", "コール", "policy", "政策金利", "strdc"),
    "IR01": ("discount", "公定歩合", "policy", "政策金利", "madr"),
    "CO": ("tankan", "短観", "業況", "business condition", "tk99"),
    "PR01": ("cgpi", "企業物価", "wholesale", "prcg"),
    "BP01": ("current account", "経常収支", "trade", "bpbp"),
    "MD01": ("monetary base", "マネタリーベース"),
    "MD02": ("m2", "money stock", "マネーストック"),
    "MD10": ("deposit", "預金", "dldd"),
    "BS01": ("balance sheet", "assets", "総資産"),
}
"""What people call the contents of a database, and how its codes begin, where its names do not say so."""


def likely(database: Database, query: SearchQuery) -> int:
    """Return how likely a database has what is looked for."""
    text = " ".join((query.phrase, *query.words))
    return 2 * len(database_words(database, query.words)) + sum(hint in text for hint in HINTS.get(database.code, ()))


class Crawl:
    """The lists that are asked for in the background, while the server lives."""

    def __init__(self, shelf: Shelf, upstream: Upstream, settings: BojSettings) -> None:
        self.shelf = shelf
        self.trouble = ""
        """Why the last crawl ended early."""
        self.on_list: Callable[[str, ListFacts | None, int], Any] = lambda *_: None
        """Called with each database that came, its facts, and the number of those still due."""
        self._upstream = upstream
        self._settings = settings
        self._query = NO_WORDS
        self._first = ""
        self._oldest_s = 0.0
        self._wanted: set[str] = set()
        """The databases that this crawl is for; a call that wants more adds to them."""
        self._asked: set[str] = set()
        """The databases of this crawl so far: none is asked for twice, whatever came."""
        self._failures: dict[str, tuple[int, float]] = {}
        """How often in a row a list did not come or could not be kept, and when it may be asked for again."""
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    async def go(
        self,
        query: SearchQuery = NO_WORDS,
        db: str | None = None,
        *,
        wait_s: float,
        only: bool = False,
        everything: bool = False,
    ) -> None:
        """Ask for what is missing or old, the likely databases first, and wait until `db` or all is there.

        With `only`, no other database than `db` is asked for; with `everything`, every list is old.
        """
        if everything:
            self._oldest_s = time.time()
        if not only:
            self._query = query
        if db:
            self._first = db
        deadline = asyncio.get_running_loop().time() + wait_s
        wanted = {db} if only and db else set(ORDER)
        if not self.is_running and not await asyncio.to_thread(self._due, wanted):
            return
        self._wanted |= wanted
        if self._task is None or self._task.done():
            self.trouble = ""
            self._task = asyncio.ensure_future(self._run())
        while not self._task.done():
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0 or (db and (db in self._asked or await asyncio.to_thread(self.shelf.has, db))):
                return
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait((self._task, news), timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()

    @property
    def is_running(self) -> bool:
        """Whether lists are being asked for."""
        return self._task is not None and not self._task.done()

    async def close(self) -> None:
        """Stop; what is on the shelf stays there."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        """Ask for what is wanted, and forget what was, so that the next crawl begins anew."""
        try:
            await self._share()
        finally:
            self._wanted.clear()
            self._asked.clear()

    async def _share(self) -> None:
        """Ask for one list after the other, while this process has the lock of the folder."""
        while await self._next():
            held = await asyncio.to_thread(self.shelf.lock)
            if held is None:
                await asyncio.sleep(OTHERS_S)
                self._news.set()
                continue
            try:
                if not await self._fill():
                    return
            finally:
                if held >= 0:
                    os.close(held)

    async def _fill(self) -> bool:
        while due := await self._next():
            db, can_go_on = due[0], True
            try:
                await self._read(db)
            except Fault as fault:
                self.trouble = fault.message
                # Where the Bank could not be reached, the other lists would not come either.
                can_go_on = fault.data.get("error_type") != "TRANSPORT_ERROR"
            facts = (await asyncio.to_thread(self.shelf.facts)).get(db)
            self._asked.add(db)
            self._count(db, facts)
            if not can_go_on:
                return False
            self.on_list(db, facts, len(due) - 1)
            self._news.set()
        return True

    async def _next(self) -> list[str]:
        """Return what is due, also of what came to be wanted while this was looked up."""
        while True:
            extent = len(self._wanted)
            due = await asyncio.to_thread(self._due, self._wanted)
            if due or len(self._wanted) == extent:
                return due

    def _count(self, db: str, facts: ListFacts | None) -> None:
        """Note whether a list that was asked for is there now."""
        if facts is not None and facts.built_s >= self._oldest():
            self._failures.pop(db, None)
            return
        count = self._failures.get(db, (0, 0.0))[0]
        self._failures[db] = (count + 1, time.monotonic() + RETRY_S * 2 ** min(count, MAX_DOUBLINGS))

    def _oldest(self) -> float:
        """Return the time before which a list was built that is old now."""
        return max(self._oldest_s, time.time() - self._settings.index_days * DAY_S)

    def _due(self, wanted: set[str]) -> list[str]:
        """Return the databases to ask for, the most wanted first: missing ones before old ones."""
        facts = self.shelf.facts()
        oldest_s, now_s = self._oldest(), time.monotonic()
        due = [
            (db.code != self._first, db.code in facts, -likely(db, self._query), db.code in LARGE, ORDER[db.code])
            for db in DATABASES
            if db.code in wanted
            and db.code not in self._asked
            and (db.code not in facts or facts[db.code].built_s < oldest_s)
            and self._failures.get(db.code, (0, now_s))[1] <= now_s
        ]
        return [DATABASES[place].code for *_, place in sorted(due)]

    async def _read(self, db: str) -> None:
        """Ask for a list and put it on the shelf; retry as the toolset's policy says."""
        request = request_list(db)
        attempt = 0
        while True:
            try:
                response = await self._send(request)
                rows = partial(read_rows, response, db)
                await asyncio.to_thread(self.shelf.put, db, made_at(response.body), rows)
            except Fault as fault:
                pause_ms = delay_ms(self._settings, attempt, fault)
                if pause_ms is None:
                    raise
            else:
                return
            await asyncio.sleep(pause_ms / 1000)
            request = replace(request, is_retry=True)
            attempt += 1

    async def _send(self, request: UpstreamRequest) -> UpstreamResponse:
        try:
            response = await self._upstream.send(request)
        except Fault as fault:
            raise transport(fault.message) from None
        if response.broken:
            raise transport(response.broken)
        return response
