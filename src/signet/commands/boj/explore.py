"""`signet boj search` and `signet boj info`: find series by words, and show what the Bank says of them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from signet.app import build_server, resolve
from signet.commands.terminal import Cell, on_terminal, say, table, write, write_json
from signet.kernel.errors import Fault
from signet.kernel.outcome import Call, Outcome
from signet.kernel.server import QUIET_CONTEXT, Server
from signet.settings.model import Settings
from signet.toolsets.boj_explore.codes import closest_text, unknown_database
from signet.toolsets.boj_explore.service import FoundCode, FoundCodes, IndexState
from signet.toolsets.boj_explore.shelf import ORDER
from signet.toolsets.boj_explore.store import IndexedSeries
from signet.toolsets.boj_explore.upstream import index_request

from .series_query import codes_in

__all__ = ["info", "search"]

FAILED: Final = 1
INTERRUPTED: Final = 130
WAIT_MS: Final = 120_000
"""How long to wait for the list of one database."""


def search(args: Any, settings: Settings) -> int:
    """Print the series that have some words; return the exit status."""
    given = {"query": " ".join(args.text), "db": args.db, "limit": args.limit}
    arguments = {name: value for name, value in given.items() if value is not None}
    if args.frequency:
        arguments["frequency"] = args.frequency.upper()
    outcome = asyncio.run(_call(build_server(resolve(settings)), "boj_search", arguments))
    if outcome.fault is not None:
        say(outcome.fault.message)
        return FAILED
    result = outcome.result
    if args.json:
        write_json(outcome.body.decode())
    elif result["hits"]:
        write(_hits(result["hits"]))
    if result["note"]:
        say(result["note"])
    elif result["total"] > len(result["hits"]):
        say(f"{len(result['hits'])} of {result['total']:,}; --limit shows more")
    return 0 if result["hits"] else FAILED


async def _call(server: Server, tool: str, arguments: dict[str, Any]) -> Outcome:
    try:
        context = msgspec.structs.replace(QUIET_CONTEXT, progress=lambda _, __, text: say(f"{text} …"))
        pending = server.pipeline.run(Call(tool, arguments, context))
        return pending if isinstance(pending, Outcome) else await pending
    finally:
        await server.close()


def _hits(hits: list[dict[str, Any]]) -> str:
    """Return hits as a table with some lines for each, or as lines with tabs into a pipe."""
    if not on_terminal():
        columns = ("db", "code", "name", "name_j", "unit", "frequency", "start", "end")
        return "\n".join("\t".join(str(hit[name]) for name in columns) for hit in hits)
    from rich.table import Column

    rows: list[tuple[Cell, ...]] = []
    for hit in hits:
        name, *more = [text for text in (hit["name"], hit["name_j"]) if text] or ["(no name)"]
        facts = f"{hit['unit'] or 'no unit'}; {hit['frequency']}, {hit['start']} to {hit['end']}"
        rows += [(f"{hit['db']}:{hit['code']}", name), *(("", other) for other in more), ("", (facts, "dim"))]
    return table((Column("series", no_wrap=True), "name in both languages; unit; frequency, periods"), rows)


def info(args: Any, settings: Settings) -> int:
    """Print what the Bank says of some series; return the exit status.

    Raises:
        UsageError: a code is one of another database.
    """
    codes = codes_in(args.db, args.codes)
    try:
        found = asyncio.run(_find(build_server(resolve(settings)), args.db.strip().upper(), codes))
    except Fault as fault:
        say(fault.message)
        return FAILED
    known = [series for one in found for series in one.series]
    if args.json:
        write_json(msgspec.json.encode(known).decode())
    elif known:
        write("\n\n".join(map(_facts, known)))
    for one in found:
        if not one.series:
            hint = closest_text(one.closest)
            say(f"there is no series '{one.code}' in {args.db.upper()}" + (f"; {hint}" if hint else ""))
    return 0 if all(one.series for one in found) else FAILED


async def _find(server: Server, db: str, codes: tuple[str, ...]) -> list[FoundCode]:
    """Return what the index has for some codes, after it has the list of their database."""
    if db not in ORDER:
        raise unknown_database(db)
    send = server.upstreams[-1].send
    try:
        answer = await send(index_request("build", db=db, only=1, wait_ms=WAIT_MS))
        state = msgspec.json.decode(answer.body, type=IndexState)
        if db in state.missing:
            from signet.kernel.errors import Code

            raise Fault(Code.INTERNAL_ERROR, f"the list of {db} did not come: {state.trouble or 'it takes too long'}")
        answer = await send(index_request("find", codes=",".join(codes), db=db))
        return msgspec.json.decode(answer.body, type=FoundCodes).codes
    finally:
        await server.close()


def _facts(series: IndexedSeries) -> str:
    """Return a series for people to read."""
    lines = {
        "name": series.name, "": series.name_j, "unit": f"{series.unit}  {series.unit_j}".strip(),
        "frequency": series.frequency, "periods": f"{series.start} to {series.end}", "updated": series.updated,
        "category": series.category, "layers": ",".join(map(str, series.layers)), "path": " > ".join(series.path),
    }  # fmt: skip
    shown = [f"  {label:<10} {text}" for label, text in lines.items() if text]
    return "\n".join([f"{series.db}:{series.code}", *shown])
