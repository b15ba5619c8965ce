"""Series codes as people write them, and the database of each.

FXERD01, FM08'FXERD01, FM08:FXERD01 ── read_code ── locate ──▶ WantedSeries
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from unicodedata import normalize

import msgspec
from msgspec import Struct

from signet.kernel.errors import Code, Fault
from signet.kernel.tools import Context
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.toolsets.boj.databases import DATABASES

from .crawl import LARGE
from .service import FoundCode, FoundCodes, IndexState
from .shelf import ORDER
from .store import IndexedSeries
from .upstream import index_request

__all__ = ["STEPS", "STEP_MS", "WantedSeries", "build_index", "closest_text", "locate", "read_code", "unknown_code"]

STEPS: Final = 10
STEP_MS: Final = 2_000
"""A call waits for the index in so many steps of this length, and reports its progress after each."""
Send = Callable[[UpstreamRequest], Awaitable[UpstreamResponse]]
LISTS_MS: Final = 12_000
"""How long a call waits for the lists of the databases that it names, together."""
CLOSEST_MS: Final = 4_000
"""How long an error waits for the list that it needs: all of this fits into the time of a call."""
MARKS: Final = "'\u2019\u2018`:/"
"""What people write between a database and a code."""


class WantedSeries(Struct, frozen=True):
    """A series to read, with what the index knows of it."""

    db: str
    code: str
    known: IndexedSeries | None = None


def read_code(text: str) -> tuple[str | None, str]:
    """Return the database, if it is written, and the code."""
    plain = normalize("NFKC", text).strip()
    for mark in MARKS:
        db, found, code = plain.partition(mark)
        if found and db.strip():
            return db.strip().upper(), code.strip()
    return None, plain


async def build_index(ctx: Context, query: str, db: str | None = None) -> IndexState:
    """Fill the index for as long as a call may take, the likely databases first; report the progress."""
    for _ in range(STEPS):
        response = await ctx.send(index_request("build", q=query, db=db, wait_ms=STEP_MS))
        state = msgspec.json.decode(response.body, type=IndexState)
        if not state.missing or not state.running or (db in ORDER and db not in state.missing):
            break
        ctx.progress(state.databases, state.total, f"{state.databases} of {state.total} databases are indexed")
    return state


async def locate(ctx: Context, codes: list[tuple[str | None, str]], *, needs_frequency: bool) -> list[WantedSeries]:
    """Return the series of some codes; raise Fault for one whose database is not known."""
    databases = dict.fromkeys(db for db, _ in codes if db in ORDER and db not in LARGE) if needs_frequency else {}
    for db in databases:
        # One list more, so that dates can be written as the Bank wants them; the largest would take too long.
        await ctx.send(index_request("build", db=db, only=1, wait_ms=LISTS_MS // len(databases)))
    homeless = [code for db, code in codes if db is None]
    found = await _find(ctx.send, homeless, None) if homeless else {}
    if any(not one.series for one in found.values()):
        await build_index(ctx, " ".join(homeless))
        found = await _find(ctx.send, homeless, None)
    wanted = [WantedSeries(db, code) if db else _single(found[code]) for db, code in codes]
    for db in dict.fromkeys(one.db for one in wanted):
        known = await _find(ctx.send, [one.code for one in wanted if one.db == db], db)
        wanted = [
            WantedSeries(db, known[one.code].series[0].code, known[one.code].series[0])
            if one.db == db and known[one.code].series
            else one
            for one in wanted
        ]
    return wanted


async def _find(send: Send, codes: list[str], db: str | None) -> dict[str, FoundCode]:
    unique = list(dict.fromkeys(codes))
    response = await send(index_request("find", codes=",".join(unique), db=db))
    return {one.code: one for one in msgspec.json.decode(response.body, type=FoundCodes).codes}


def _single(found: FoundCode) -> WantedSeries:
    if not found.series:
        raise unknown_code(found.code, None, found.closest)
    databases = [series.db for series in found.series]
    if len(databases) > 1:
        text = f"{found.code} is a series of {' and '.join(databases)}: write {databases[0]}:{found.code}, or give db"
        raise Fault(Code.INVALID_INPUT, text)
    return WantedSeries(databases[0], found.series[0].code, found.series[0])


async def closest_in(send: Send, wanted: WantedSeries, wait_ms: int = CLOSEST_MS) -> list[IndexedSeries]:
    """Return the series whose codes are the closest to one that the Bank does not know.

    The list of its database is asked for, unless it is there or one of the largest.
    """
    if wanted.db in ORDER and wanted.db not in LARGE:
        await send(index_request("build", db=wanted.db, only=1, wait_ms=wait_ms))
    return (await _find(send, [wanted.code], wanted.db))[wanted.code].closest


def unknown_code(code: str, db: str | None, closest: list[IndexedSeries]) -> Fault:
    """Return the fault for a code that no known database has, with the closest ones."""
    place = f"the database {db}" if db else "the databases that are indexed so far"
    hint = closest_text(closest)
    rest = hint or ("boj_search finds codes by words" if db else "give db, or find the series with boj_search")
    return Fault(Code.NOT_FOUND, f"there is no series '{code[:64]}' in {place}; {rest}")


def closest_text(closest: list[IndexedSeries]) -> str:
    """Return a phrase that names the closest series; empty if there is none."""
    names = [f"{series.db}:{series.code} ({series.name or series.name_j})" for series in closest]
    return f"did you mean {' or '.join(names)}?" if names else ""


def unknown_database(db: str) -> Fault:
    """Return the fault for a database that the Bank does not have, with those whose codes are alike."""
    from difflib import get_close_matches

    names = {database.code: database.english for database in DATABASES}
    alike = [f"{code} ({names[code]})" for code in get_close_matches(db, names, cutoff=0.5)]
    hint = f"did you mean {' or '.join(alike)}? " if alike else ""
    text = f"there is no database '{db[:64]}'; {hint}boj_list_databases lists all {len(names)}"
    return Fault(Code.NOT_FOUND, text)
