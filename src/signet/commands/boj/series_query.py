"""A query for series: from the command line, page by page, to the series that are kept.

    command line ── open_query ──▶ SeriesQuery ── read_pages ──▶ SeriesPage, SeriesPage, …
                        └─ a broken rule, with flags in place of arguments ──▶ UsageError

A query is checked against the rules of the toolset before anything is opened or sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, structs, to_builtins

from signet.app import build_server, resolve
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Outcome
from signet.kernel.server import QUIET_CONTEXT, Server
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.toolsets.boj.models import Point, Series, decode_points
from signet.toolsets.boj.query import DataCodeIn, DataLayerIn, check
from signet.toolsets.boj.sources import source_of
from signet.toolsets.boj.validation import BANK_NAMES
from signet.toolsets.boj_explore.codes import WantedSeries, closest_in, closest_text, read_code
from signet.toolsets.boj_explore.shelf import ORDER

from . import SAMPLE_SOURCE

__all__ = [
    "PARAMETERS",
    "FetchedSeries",
    "SeriesPage",
    "SeriesQuery",
    "check_query",
    "codes_in",
    "is_number",
    "open_query",
    "read_pages",
    "to_flags",
]

FLAGS: Final = {
    "boj_get_metadata": f"`{advise('boj.list', here=False, arguments='db=DB')}`",
    "codes": "--codes",
    "db": "the database",
    "end_date": "--end",
    "frequency": "--frequency",
    "lang": "--lang",
    "layers": "--layers",
    "layers_example": "'1,*,2'",
    "start_date": "--start",
    "fix_position": "Begin again: `signet boj fetch` does with --restart.",
    # The commands have no such flags.
    "fix_format": "",
    "without_raw": "",
}
"""The words of `signet boj` for the parameters of the toolset's faults."""

PARAMETERS: Final = {**FLAGS, "codes": "codes", "db": "db", "end_date": "end", "lang": "lang", "start_date": "start"}
"""The words of `signet.boj.frame`."""

UNKNOWN_CODE: Final = "M181013E"
"""The Bank's message for a code that does not exist; it has the place of the code."""

CLOSEST_MS: Final = 30_000
"""How long to wait for the list that has the closest codes."""

NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class SeriesQuery(Struct, frozen=True):
    """A tool and its arguments in the Bank's spelling; equal queries have equal results."""

    origin: str
    """The origin of the API; a fixed name for the sandbox, whose port changes with every start."""
    tool: str
    arguments: dict[str, Any]

    @property
    def db(self) -> str:
        """The database."""
        return str(self.arguments["db"])

    @property
    def lang(self) -> str:
        """The language of names and units."""
        return str(self.arguments["lang"])

    @property
    def source(self) -> str:
        """The source of the figures; only the Bank's own host is named as the Bank."""
        return source_of(self.origin)

    @property
    def last_position(self) -> int | None:
        """The last position of a query by codes; None for a query by layers, where only the Bank knows it."""
        codes = self.arguments.get("codes")
        return None if codes is None else len(codes)

    def at(self, position: int) -> dict[str, Any]:
        """Return the arguments for the page that starts at this position."""
        return self.arguments if position == 1 else {**self.arguments, "start_position": position}


class FetchedSeries(Struct, frozen=True, gc=False):
    """The part of a series that is kept; it is equal for equal queries, unlike the time of the response."""

    series_code: str
    name: str | None
    unit: str | None
    frequency: str | None
    points: Raw
    """The list of observations as JSON."""

    def observations(self) -> list[Point]:
        """Return the observations as values."""
        return decode_points(self.points)


class SeriesPage(Struct, frozen=True):
    """The series of one request, its position, and the position of the next page, if any."""

    start: int
    next: int | None
    series: list[FetchedSeries]


class _PageResult(Struct):
    """The part of `DataOut` that is read."""

    next_position: int | None
    series: list[Series]


_results: Final = msgspec.json.Decoder(_PageResult)


def open_query(args: Any, settings: Settings, names: Mapping[str, str] = FLAGS) -> tuple[Server, SeriesQuery]:
    """Build a server, and the query of the command line; raise UsageError if the query breaks a rule.

    The error has the names that its reader knows the arguments by.
    """
    server = build_server(resolve(settings))
    tool, checked = check_query(args, names)
    return server, _query(origin_of(settings, server), tool, checked)


def check_query(args: Any, names: Mapping[str, str] = FLAGS) -> tuple[str, DataCodeIn | DataLayerIn]:
    """Return the tool and the query of the command line; raise UsageError if the query breaks a rule."""
    span = {"lang": args.lang, "start_date": args.start, "end_date": args.end}
    try:
        if args.codes is not None:
            return "boj_get_data_code", check(DataCodeIn(args.db, codes_in(args.db, _items(args.codes)), **span))
        return "boj_get_data_layer", check(DataLayerIn(args.db, args.frequency, _items(args.layers), **span))
    except Fault as fault:
        raise UsageError(to_flags(fault, names)) from None


def codes_in(db: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return series codes of a database, each written alone or after its database, as in FM08:FXERD01.

    Raises:
        UsageError: a code is written after another database.
    """
    codes = []
    for text in texts:
        own, code = read_code(text)
        if own not in ORDER:
            codes.append(text)
            continue
        if own != db.strip().upper():
            raise UsageError(f"'{text[:50]}' is a series of {own}, not of {db}: ask for each database by itself")
        codes.append(code)
    return tuple(codes)


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(","))


def _query(origin: str, tool: str, checked: DataCodeIn | DataLayerIn) -> SeriesQuery:
    fields = structs.asdict(checked).items()
    arguments = {name: value for name, value in fields if value is not None and value is not False}
    return SeriesQuery(origin, tool, to_builtins(arguments))


def origin_of(settings: Settings, server: Server) -> str:
    """Return the origin that a server reads from; a replay has the recorded one."""
    is_sample = settings.sandbox and not settings.replay
    return SAMPLE_SOURCE if is_sample else server.upstreams[0].origin


def to_flags(fault: Fault, names: Mapping[str, str] = FLAGS) -> str:
    """Return the message of a fault, with flags or other names in place of the tools' arguments."""
    if fault.wording is None:
        return fault.message
    return fault.wording.render({**BANK_NAMES, **names}).rstrip()


async def read_pages(
    server: Server, query: SeriesQuery, keep: Callable[[SeriesPage], None], position: int | None = 1
) -> None:
    """Read the pages from a position on, and pass each to `keep` before the next is requested; close the server.

    Raises:
        Fault: a page cannot be read.
    """
    try:
        while position is not None:
            page = await _read_page(server, query, position)
            keep(page)
            position = page.next
    except Fault as fault:
        raise await _with_closest(server, query, fault) from fault.__cause__
    finally:
        await server.close()


async def _with_closest(server: Server, query: SeriesQuery, fault: Fault) -> Fault:
    """Return a fault for an unknown code with the closest codes that exist, as far as the index has them."""
    codes = query.arguments.get("codes")
    if fault.data.get("message_id") != UNKNOWN_CODE or not codes:
        return fault
    number = "".join(char for char in str(fault.data.get("message", "")) if char.isdecimal())
    place = min(max(int(number or "1"), 1), len(codes)) - 1
    wanted = WantedSeries(query.db, codes[place])
    found = closest_text(await closest_in(server.upstreams[-1].send, wanted, CLOSEST_MS))
    if not found:
        return fault
    text = f"the Bank of Japan has no series {codes[place]} in {query.db} ({UNKNOWN_CODE}); {found}"
    return Fault(fault.code, text, data=fault.data)


async def _read_page(server: Server, query: SeriesQuery, position: int) -> SeriesPage:
    pending = server.pipeline.run(Call(query.tool, query.at(position), QUIET_CONTEXT))
    outcome = pending if isinstance(pending, Outcome) else await pending
    if outcome.fault is not None:
        raise outcome.fault
    result = _results.decode(outcome.body)
    # Otherwise the same pages would be requested without end.
    if result.next_position is not None and result.next_position <= position:
        message = f"the Bank of Japan says to go on at position {result.next_position}, which is not after {position}"
        raise Fault(Code.INTERNAL_ERROR, message)
    return SeriesPage(position, result.next_position, [_fetched(series, query.lang) for series in result.series])


def _fetched(series: Series, lang: str) -> FetchedSeries:
    is_english = lang == "en"
    name = series.name_of_time_series if is_english else series.name_of_time_series_j
    unit = series.unit if is_english else series.unit_j
    return FetchedSeries(series.series_code, name, unit, series.frequency, series.points)


def is_number(text: str) -> bool:
    """Return True if a value is a number in the syntax of JSON, as the Bank's values are."""
    return NUMBER.fullmatch(text) is not None
