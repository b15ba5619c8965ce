"""Series by words: the index is filled as far as a call may take, and searched."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.tools import Context
from signet.toolsets.boj.databases import DATABASES

from .codes import build_index, closest_text, unknown_database
from .models import Hit, IndexFacts, NextCall, SearchIn, SearchOut
from .service import FoundSeries
from .shelf import ORDER
from .store import IndexedSeries
from .upstream import index_request

__all__ = ["find_series"]

DEFAULT_LIMIT: Final = 10
NAMES: Final = {database.code: database.english for database in DATABASES}


async def find_series(args: SearchIn, ctx: Context) -> SearchOut:
    """Search as the tool `boj_search` says."""
    db = args.db.strip().upper() if args.db and args.db.strip() else None
    if db is not None and db not in ORDER:
        raise unknown_database(db)
    state = await build_index(ctx, args.query, db)
    limit = args.limit or DEFAULT_LIMIT
    response = await ctx.send(index_request("search", q=args.query, db=db, frequency=args.frequency, limit=limit))
    found = msgspec.json.decode(response.body, type=FoundSeries)
    if not found.index.databases:
        why = state.trouble or "no list has come within this call: ask again"
        raise Fault(Code.INTERNAL_ERROR, f"the index of series is still empty: {why}")
    index = IndexFacts(found.index.databases, found.index.series, found.index.built_at, found.index.missing)
    return SearchOut(
        [_hit(series) for series in found.hits],
        found.total,
        index,
        _matched(found),
        [_hit(series) for series in found.closest],
        _note(found, db, state.trouble),
    )


def _hit(series: IndexedSeries) -> Hit:
    return Hit(
        series.code, series.db, series.name, series.name_j, series.unit, series.frequency, series.start, series.end,
        NextCall("boj_get_series", {"db": series.db, "codes": [series.code]}),
        NAMES[series.db], series.path, series.current,
    )  # fmt: skip


def _matched(found: FoundSeries) -> Literal["all", "some", "none"]:
    if not found.total:
        return "none"
    return "some" if found.some else "all"


def _note(found: FoundSeries, db: str | None, trouble: str) -> str:
    """Say what a reader should know of the answer; empty where there is nothing."""
    notes = []
    if not found.total:
        notes.append(f"nothing was found; {closest_text(found.closest) or 'try fewer or other words'}")
    elif found.some:
        notes.append("no series has all of the words: these have most of them")
    missing = len(found.index.missing)
    if missing and (db is None or db in found.index.missing):
        notes.append(f"{missing} of {found.index.total} databases are not indexed yet: ask again in a minute")
    if trouble:
        notes.append(trouble.removesuffix("."))
    return "; ".join(notes)
