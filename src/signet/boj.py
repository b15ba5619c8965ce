"""Bank of Japan series as data frames: `signet.boj.frame("FM08", ["FXERD01"], start="2020-01")`.

The figures go through the same pipeline, tool and rate-limited upstream as everything else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, Final, Literal

from signet.commands.boj.series_query import (
    PARAMETERS,
    FetchedSeries,
    SeriesPage,
    SeriesQuery,
    open_query,
    read_pages,
)
from signet.commands.boj.shaping import OutputForm, ShapedSeries, shape
from signet.kernel.errors import Fault
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.toolsets.boj.databases import DATABASES
from signet.toolsets.boj.periods import days_of, frequency_code, read_bound
from signet.toolsets.boj_explore.citation import cite_in_words
from signet.toolsets.boj_explore.columns import UNITS

__all__ = ["BojError", "frame"]

JAPAN: Final = timezone(timedelta(hours=9))
"""The time zone of every citation, as the Bank's own answers have it."""
NEEDS: Final = "signet.boj.frame needs {engine}; type: {install}"


class BojError(Exception):
    """The Bank refused the query or could not be asked; the text says what to do."""


def frame(
    db: str,
    codes: str | Sequence[str],
    start: str | date | None = None,
    end: str | date | None = None,
    *,
    lang: Literal["en", "jp"] = "en",
    units: str = "level",
    base: str | date | None = None,
    period_end: bool = False,
    engine: Literal["pandas", "polars"] = "pandas",
    base_url: str | None = None,
) -> Any:
    """Return series of one frequency as a data frame: a row for each period, a column of numbers for each series.

    A code is written alone or after its database: FXERD01, FM08:FXERD01, FM08'FXERD01.
    pandas has a DatetimeIndex, polars a column `date`: the first day of each period, or the last with `period_end`.
    `start`, `end` and `base` (for `units="index"`) are texts, "2020", "2020-01", "2020-01-15" or "2020Q1", or a date, a
    datetime or a pandas Timestamp. `attrs` of the frame holds the unit, the names, the frequency and the citation.
    `base_url` is the origin of the API (default: BOJ_BASE_URL, else the Bank's own).

    Raises:
        ImportError: the engine is not installed.
        ValueError: an argument cannot be used.
        BojError: the Bank refused the query or could not be asked.
    """
    library = _library(engine)
    start, end, base = _as_text("start", start), _as_text("end", end), _as_text("base", base)
    _check(start, end, units, base)
    names = [codes] if isinstance(codes, str) else codes
    asked, fetched = _fetch(db, ",".join(names), lang, base_url)
    try:
        shaped = [shape(series, OutputForm(units, base, period_end=period_end)) for series in fetched]
    except Fault as fault:
        raise ValueError(fault.message) from None
    kept = [series._replace(points=_within(series, start, end)) for series in shaped]
    return _build(library, engine, kept, _attributes(kept, asked.source, asked.db))


def _as_text(name: str, given: str | date | None) -> str | None:
    """Return a date or a period as text; raise ValueError for any other value."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, date):
        # A datetime and a Timestamp are dates too.
        return given.isoformat()[: len("YYYY-MM-DD")]
    raise ValueError(f"{name} is {given!r}: write a date, or a text such as '2020-01-15', '2020-01' or '2020'")


def _check(start: str | None, end: str | None, units: str, base: str | None) -> None:
    """Raise ValueError for arguments that cannot be used, before anything is asked for."""
    if units not in UNITS:
        raise ValueError(f"units is {units!r}: write {', '.join(map(repr, UNITS))}")
    if (units == "index") != (base is not None):
        raise ValueError("units='index' needs base, the period that is 100; other units take none")
    bounds = [read_bound(text, "D") for text in (start, end, base) if text]
    if start and end and bounds[0].first > bounds[1].last:
        raise ValueError(f"start {start} comes after end {end}: give them in order")


def _fetch(db: str, codes: str, lang: str, base_url: str | None) -> tuple[SeriesQuery, list[FetchedSeries]]:
    """Return the query, and every page of its series from the first period to the last."""
    given = {} if base_url is None else {"boj_base_url": base_url}
    query = SimpleNamespace(db=db, codes=codes, layers=None, frequency=None, lang=lang, start=None, end=None)
    pages: list[SeriesPage] = []
    try:
        settings = Settings.read(os.environ, {"toolsets": "boj,boj-explore", **given})
        server, asked = open_query(query, settings, PARAMETERS)
        _run(read_pages(server, asked, pages.append))
    except UsageError as error:
        raise ValueError(str(error)) from None
    except Fault as fault:
        raise BojError(fault.message) from None
    return asked, [series for page in pages for series in page.series]


def _library(engine: str) -> Any:
    """Import the library of an engine."""
    from importlib import import_module

    if engine not in {"pandas", "polars"}:
        raise ValueError(f"engine is {engine!r}: write 'pandas' or 'polars'")
    try:
        return import_module(engine)
    except ImportError:
        raise ImportError(NEEDS.format(engine=engine, install=advise("extra", install=engine))) from None


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end; in a thread of its own, because a notebook has a running event loop already."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


def _within(series: ShapedSeries, start: str | None, end: str | None) -> list[Any]:
    """Return the points that have a day in the asked span."""
    frequency = frequency_code(series.frequency)
    first = read_bound(start, frequency).first if start else None
    last = read_bound(end, frequency).last if end else None
    spans = ((point, days_of(frequency, point.survey_date)) for point in series.points)
    return [
        point for point, days in spans if (first is None or days.last >= first) and (last is None or days.first <= last)
    ]


def _attributes(shaped: list[ShapedSeries], source: str, db: str) -> dict[str, Any]:
    """Return what is known of the figures beside the figures."""
    names = {database.code: database.english for database in DATABASES}
    dataset = f"{names[db]} ({db})" if db in names else db
    codes = [series.series_code for series in shaped]
    today = datetime.now(JAPAN).isoformat(timespec="seconds")
    sentence = cite_in_words(source, dataset, codes, today)
    units = {series.series_code: series.unit or "" for series in shaped}
    return {
        "unit": next(iter(units.values()), "") if len(set(units.values())) == 1 else units,
        "names": {series.series_code: series.name or "" for series in shaped},
        "frequency": frequency_code(shaped[0].frequency) if shaped else None,
        "citation": {
            "source": source, "dataset": dataset, "series": codes, "retrieved_at": today, "sentence": sentence,
        },
    }  # fmt: skip


def _build(library: Any, engine: str, all_series: list[ShapedSeries], attributes: dict[str, Any]) -> Any:
    """Return the frame of some series, with a row for each date that one of them has."""
    points = (point for series in all_series for point in series.points)
    dates = sorted({point.date for point in points if point.date is not None})
    columns = {}
    for series in all_series:
        values = {point.date: point.value for point in series.points}
        columns[series.series_code] = [None if (text := values.get(day)) is None else float(text) for day in dates]
    if engine == "pandas":
        index = library.DatetimeIndex(dates, name="date")
        built = library.DataFrame(columns, index=index, dtype="float64")
    else:
        schema = {"date": library.Date, **dict.fromkeys(columns, library.Float64)}
        built = library.DataFrame({"date": dates, **columns}, schema=schema)
    built.attrs = attributes
    return built
