"""The three tools: find series by words, list the databases, read series ready for use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from signet.kernel.errors import Fault
from signet.kernel.tools import READ_ONLY, Context, Tool, tool

from .models import DatabaseFacts, DatabasesIn, DatabasesOut, SearchIn, SearchOut, SeriesIn, SeriesOut

__all__ = ["TOOLS"]

MAX_RESULT_BYTES: Final = 4_194_304


def _adapt(fault: Fault) -> Fault:
    """Return a fault as a result that the model reads: every one of them says what to do."""
    if fault.as_tool_result:
        return fault
    adapted = Fault(
        fault.code, fault.message, name=fault.name, status=fault.status, as_tool_result=True, data=fault.data
    )
    adapted.__cause__ = fault.__cause__
    return adapted


def _note(result: Any) -> str:
    """Return what a result says in words."""
    return result.get("note") or ""


def _explain(args: SeriesIn) -> None:
    """Raise a fault with the tool's own words for arguments that break its contract."""
    from .series import check_series

    check_series(args)


def _tool(
    name: str, title: str, example: dict[str, Any], **more: Any
) -> Callable[[Callable[[Any, Context], Any]], Tool]:
    return tool(
        name=f"boj_{name}",
        slug=f"boj.{name}",
        title=title,
        annotations={**READ_ONLY, "openWorldHint": True},
        adapt_fault=_adapt,
        example=example,
        **more,
    )


@_tool("search", "Search Bank of Japan series", {"query": "dollar yen", "frequency": "D", "limit": 3}, remark=_note)
async def search(args: SearchIn, ctx: Context) -> SearchOut:
    """Finds Bank of Japan time series by words in English or Japanese, or by a code.

    Use it first, when you know what the figures are about and not their codes.

    Each hit has the code, both names, the unit, the frequency, the first and the last period, and in `next` the call
    of boj_get_series that reads it. The index of names is filled on first use, which takes a minute or two;
    `index.missing` lists the databases that are not searched yet: ask again for them.
    """
    from .finding import find_series

    return await find_series(args, ctx)


@_tool("list_databases", "List the Bank of Japan's databases", {"query": "exchange"})
def list_databases(args: DatabasesIn, ctx: Context) -> DatabasesOut:
    """Lists the 50 databases of the Bank of Japan with code, both names and category.

    With a query, only those that have all of its words. Use it for an overview, or to narrow boj_search down to one
    database. It asks nobody and answers at once.
    """
    from signet.toolsets.boj.databases import search as search_databases

    found = search_databases((args.query or "").strip())
    note = "" if found else "no database has these words in its names: boj_search looks at the names of series too"
    return DatabasesOut(
        [
            DatabaseFacts(one.code, one.english, one.japanese, one.category_english, one.category_japanese)
            for one in found
        ],
        note,
    )


@_tool(
    "get_series",
    "Read Bank of Japan series",
    {"codes": ["FM08:FXERD01"], "start": "2026-09", "end": "2026-10-08"},
    max_result_bytes=MAX_RESULT_BYTES,
    validate_in_thread=True,
    summarize=lambda result: result["table"],
    explain=_explain,
    remark=_note,
)
async def get_series(args: SeriesIn, ctx: Context) -> SeriesOut:
    """Reads Bank of Japan time series by their codes, as columns of periods, dates and values.

    All pages are read at once, and the answer has a citation and a short table. Write a code as FM08:FXERD01, or as
    FXERD01 with db=FM08; boj_search finds codes. `start` and `end` are dates or periods (2020, 2020-01, 2020-01-15,
    2020Q1). `units` computes changes, percent changes, an index (with `base`) or a logarithm; `frequency` lowers the
    frequency by `method`. A missing value is null. Long answers are cut to the latest periods and say so in
    `truncated`: ask for a shorter span, fewer codes or a lower frequency.
    """
    from .series import read_series

    return await read_series(args, ctx)


TOOLS: Final = (search, list_databases, get_series)
