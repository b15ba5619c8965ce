"""Series ready for use: every page, the asked span, other units, a lower frequency, a citation.

codes ── locate ── pages of each database ── Column ── lower_frequency ── transform ── span ──▶ SeriesOut
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final
from unicodedata import normalize

from msgspec import Struct

from signet.kernel.errors import Code, Fault
from signet.kernel.tools import Context
from signet.toolsets.boj.databases import DATABASES
from signet.toolsets.boj.models import DataOut, Series, decode_points
from signet.toolsets.boj.periods import (
    FIRST_YEAR,
    LAST_YEAR,
    Days,
    days_of,
    frequency_code,
    label_of,
    read_bound,
    request_label,
)
from signet.toolsets.boj.query import DataCodeIn, check, request_of
from signet.toolsets.boj.tools import get_data_code

from .citation import cite, short_table
from .codes import WantedSeries, closest_in, locate, read_code, unknown_code, unknown_database
from .columns import Column, label_units, lower_frequency, rounding_of, transform
from .models import FetchedColumn, SeriesIn, SeriesOut

__all__ = ["MAX_POINTS", "check_series", "read_series"]

MAX_POINTS: Final = 20_000
"""The most observations of one answer."""
MAX_PAGES: Final = 12
UNKNOWN_CODE: Final = "M181013E"
UNKNOWN_DATABASE: Final = "M181005E"
MIXED: Final = "M181014E"
MAX_ALONE: Final = 8
"""The most series that are asked for one by one, where their frequencies differ and the index does not know them."""
SEPARATORS: Final = re.compile(r"\s*[,;]\s*")
A_YEAR: Final = timedelta(days=380)


class ListedSeries(Struct, frozen=True):
    """One response of the Bank, and its request."""

    db: str
    url: str
    result: DataOut


class Asked(Struct, frozen=True):
    """The series that came, with what is said about all of them."""

    series: list[tuple[WantedSeries, Series]]
    url: str
    retrieved_at: str
    complete: bool


async def read_series(args: SeriesIn, ctx: Context) -> SeriesOut:
    """Read series as the tool `boj_get_series` says."""
    check_series(args)
    db = args.db.strip().upper() if args.db and args.db.strip() else None
    codes = [(own or db, code) for own, code in dict.fromkeys(map(read_code, args.codes))]
    has_span = args.start is not None or args.end is not None
    found = await locate(ctx, codes, needs_frequency=has_span or len(codes) > 1)
    # A series that is written in two ways is one.
    unique: dict[tuple[str, str], WantedSeries] = {}
    for one in found:
        unique.setdefault((one.db, one.code.upper()), one)
    asked = await _ask(ctx, args, list(unique.values()))
    try:
        return await ctx.offload(_result, args, asked, ctx.upstream.origin if ctx.upstream else "")
    except ValueError as error:
        raise Fault(Code.INVALID_INPUT, str(error)) from None


def check_series(args: SeriesIn) -> None:
    """Raise Fault for arguments that do not go together."""
    if not any(code.strip() for code in args.codes):
        raise Fault(Code.INVALID_INPUT, "codes is empty: give at least one series code, for example FM08:FXERD01")
    for code in args.codes:
        if len(items := SEPARATORS.split(normalize("NFKC", code).strip())) > 1:
            text = f"codes has several codes in '{code[:64]}': give each code as an item of its own, {items[:2]}"
            raise Fault(Code.INVALID_INPUT, text)
    if (args.units == "index") != (args.base is not None):
        text = "units=index needs base, the period that is 100, for example 2020 or 2020-01; other units take no base"
        raise Fault(Code.INVALID_INPUT, text)
    if args.method is not None and args.frequency is None:
        raise Fault(Code.INVALID_INPUT, "method says how to lower the frequency: give frequency too")
    try:
        # Before anything is asked: a series of any frequency would refuse these.
        bounds = [
            read_bound(text, args.frequency or "D") for text in (args.start, args.end, args.base) if text is not None
        ]
    except ValueError as error:
        raise Fault(Code.INVALID_INPUT, str(error)) from None
    if args.start and args.end and bounds[0].first > bounds[1].last:
        raise Fault(Code.INVALID_INPUT, f"start {args.start} comes after end {args.end}: give them in order")


# --- asking


async def _ask(ctx: Context, args: SeriesIn, wanted: list[WantedSeries]) -> Asked:
    """Read all pages of all series, in one group for each database and frequency."""
    groups: dict[tuple[str, str], list[WantedSeries]] = {}
    for one in wanted:
        groups.setdefault((one.db, one.known.frequency if one.known else ""), []).append(one)
    pages: list[ListedSeries] = []
    complete = True
    for (_, frequency), group in groups.items():
        query = _query(args, group, frequency)
        got, whole = await _pages(ctx, query, group, max(MAX_PAGES - len(pages), 1))
        pages += got
        complete = complete and whole
        ctx.progress(len(pages), None, f"{len(pages)} pages have come")
    came = {(page.db, series.series_code.upper()): series for page in pages for series in page.result.series}
    named = [(one, came.get((one.db, one.code.upper()))) for one in wanted]
    first = pages[0]
    at = first.result.meta.date or ctx.today()
    return Asked([(one, series) for one, series in named if series is not None], first.url, at, complete)


async def _pages(
    ctx: Context, query: DataCodeIn, group: list[WantedSeries], limit: int
) -> tuple[list[ListedSeries], bool]:
    """Return the pages of a group, and whether they are all; series of several frequencies are asked for alone."""
    try:
        return await _each_page(ctx, query, limit)
    except Fault as fault:
        message = fault.data.get("message_id")
        if message == UNKNOWN_CODE:
            raise await _no_such_code(ctx, fault, group) from None
        if message == UNKNOWN_DATABASE:
            raise unknown_database(query.db) from None
        if message != MIXED or len(group) > MAX_ALONE:
            raise
    pages: list[ListedSeries] = []
    complete = True
    for one in group:
        alone = DataCodeIn(one.db, (one.code,), lang=query.lang)
        got, whole = await _each_page(ctx, alone, max(limit - len(pages), 1))
        pages += got
        complete = complete and whole
    return pages, complete


async def _each_page(ctx: Context, query: DataCodeIn, limit: int) -> tuple[list[ListedSeries], bool]:
    pages: list[ListedSeries] = []
    position = 1
    while True:
        at = DataCodeIn(
            query.db, query.codes, lang=query.lang, start_date=query.start_date, end_date=query.end_date,
            start_position=position if position > 1 else None,
        )  # fmt: skip
        result = await get_data_code.run(at, ctx)
        origin = ctx.upstream.origin if ctx.upstream else ""
        pages.append(ListedSeries(query.db, origin + request_of(check(at)).target, result))
        following = result.next_position
        if following is None or following <= position:
            return pages, following is None
        if len(pages) >= limit:
            return pages, False
        position = following


async def _no_such_code(ctx: Context, fault: Fault, group: list[WantedSeries]) -> Fault:
    """Return the fault for a code that the Bank does not know, with the closest ones."""
    number = "".join(char for char in fault.data.get("message", "") if char.isdecimal())
    place = int(number) - 1 if number else 0
    one = group[place] if place < len(group) else group[0]
    return unknown_code(one.code, one.db, await closest_in(ctx.send, one))


def _query(args: SeriesIn, group: list[WantedSeries], frequency: str) -> DataCodeIn:
    """Return the query for a group; without a known frequency the whole series is asked for, and cut here."""
    start = end = None
    if frequency:
        first, last = _span(args, frequency)
        base = _base(args, frequency)
        if first is not None:
            first = min(first - A_YEAR if args.units not in {None, "level"} else first, base.first if base else first)
            start = request_label(frequency, max(first, date(FIRST_YEAR, 4, 1)))
        if last is not None:
            last = max(last, base.last if base else last)
            end = request_label(frequency, min(last, date(LAST_YEAR, 1, 1)))
    codes = tuple(one.code for one in group)
    return DataCodeIn(group[0].db, codes, lang=args.lang or "en", start_date=start, end_date=end)


def _span(args: SeriesIn, frequency: str) -> tuple[date | None, date | None]:
    """Return the days from which and up to which observations are needed: whole periods of the lower frequency."""
    first = _days(args, args.start, frequency).first if args.start else None
    return first, _days(args, args.end, frequency).last if args.end else None


def _base(args: SeriesIn, frequency: str) -> Days | None:
    return _days(args, args.base, frequency) if args.base else None


def _days(args: SeriesIn, text: str, frequency: str) -> Days:
    """Return the days of a date or period; with a lower frequency it is one of the result, and whole."""
    if args.frequency is None:
        return read_bound(text, frequency)
    days = read_bound(text, args.frequency)
    return Days(_period(args.frequency, days.first).first, _period(args.frequency, days.last).last)


def _period(frequency: str, day: date) -> Days:
    return days_of(frequency, label_of(frequency, day))


# --- the result


def _result(args: SeriesIn, asked: Asked, origin: str) -> SeriesOut:
    """Compute what was asked for; raise ValueError for what cannot be computed."""
    units, lang = args.units or "level", args.lang or "en"
    method = (args.method or "average") if args.frequency else None
    per_series = MAX_POINTS // max(len(asked.series), 1)
    cut = False
    out: list[FetchedColumn] = []
    for one, series in asked.series:
        column = _column(args, series, method)
        cut = cut or len(column.labels) > per_series
        column = column.last(per_series)
        name, unit = (
            (series.name_of_time_series, series.unit) if lang == "en" else (series.name_of_time_series_j, series.unit_j)
        )
        labelled = label_units(units, unit or "", column.frequency, args.base)
        dates = [days.first.isoformat() for days in column.days()]
        head = (series.series_code, one.db, name or "", labelled, column.frequency)
        out.append(FetchedColumn(*head, column.labels, dates, column.values, series.last_update))
    databases = {one.code: one.english for one in DATABASES}
    citation = cite(out, databases, origin, asked.url, asked.retrieved_at)
    notes = [rounding_of(units, method), _cut_note(per_series) if cut else "", "" if asked.complete else MORE_PAGES]
    note = "; ".join(filter(None, notes))
    truncated = cut or not asked.complete
    return SeriesOut(out, units, args.base, method, truncated, note, citation, short_table(out, citation))


def _column(args: SeriesIn, series: Series, method: str | None) -> Column:
    frequency = frequency_code(series.frequency)
    points = decode_points(series.points)
    column = Column(frequency, [point.survey_date for point in points], [point.value for point in points])
    base = _base(args, frequency)
    first, last = _span(args, frequency)
    if args.frequency is not None and method is not None:
        column = lower_frequency(column, args.frequency, method)
    return transform(column, args.units or "level", base).within(first, last)


MORE_PAGES: Final = f"more than {MAX_PAGES} pages: the last series are not here; ask for fewer codes or a shorter span"


def _cut_note(count: int) -> str:
    return (
        f"only the last {count:,} periods of each series are here, {MAX_POINTS:,} in all: "
        "give start and end, fewer codes, or a lower frequency"
    )
