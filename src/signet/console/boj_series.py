"""The series in the results of the Bank of Japan's tools; pure.

A missing period breaks the line, as in `signet boj plot`: a null, or a period that is not there. A weekend of a daily
series is no gap, and neither is a day that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import msgspec
from msgspec import Struct

from signet.kernel.errors import Fault
from signet.toolsets.boj.databases import DATABASES
from signet.toolsets.boj.periods import days_of, frequency_code
from signet.toolsets.boj.scale import Scale, scale_of

from .series import DAY_MS, EPOCH, MAX_POINTS, SeriesPoint, SeriesView, ViewedSeries, day_ms, drawable

__all__ = ["read_bank"]


class BankPoint(Struct, frozen=True, gc=False):
    """One observation."""

    survey_date: str
    value: str | None


class PagedSeries(Struct, frozen=True):
    """A series as `boj_get_data_code` and `boj_get_data_layer` give it."""

    series_code: str
    name_of_time_series: str | None
    name_of_time_series_j: str | None
    unit: str | None
    unit_j: str | None
    frequency: str | None
    points: list[BankPoint]


class PageParameter(Struct, frozen=True):
    """What was asked for."""

    db: str | None = None
    lang: str | None = None


class BankPage(Struct, frozen=True):
    """A result of these two tools, without what is not drawn."""

    parameter: PageParameter
    series: list[PagedSeries]


class ColumnSeries(Struct, frozen=True):
    """A series as `boj_get_series` gives it: its periods as the Bank labels them, its values as texts."""

    code: str
    db: str
    name: str
    unit: str
    frequency: str
    periods: list[str]
    values: list[str | None]


class BankColumns(Struct, frozen=True):
    """A result of this tool."""

    series: list[ColumnSeries]


def read_bank(result: Any) -> SeriesView | None:
    """Return the chart of a result of one of the Bank's tools; None if it has not their form."""
    is_page = isinstance(result, dict) and "parameter" in result
    try:
        if is_page:
            page = msgspec.convert(result, BankPage)
            title = _title([page.parameter.db or ""], japanese=page.parameter.lang == "JP")
            return _view(title, [_columns(series) for series in page.series])
        columns = msgspec.convert(result, BankColumns).series
    except msgspec.ValidationError:
        return None
    return _view(_title([series.db for series in columns], japanese=False), columns)


def _title(codes: list[str], *, japanese: bool) -> str:
    names = {one.code: one.japanese if japanese else one.english for one in DATABASES}
    return ", ".join(f"{code} {names.get(code, '')}".strip() for code in dict.fromkeys(codes))


def _columns(series: PagedSeries) -> ColumnSeries:
    return ColumnSeries(
        series.series_code,
        "",
        series.name_of_time_series or series.name_of_time_series_j or "",
        series.unit or series.unit_j or "",
        series.frequency or "",
        [point.survey_date for point in series.points],
        [point.value for point in series.points],
    )


def _view(title: str, found: list[ColumnSeries]) -> SeriesView:
    viewed: list[ViewedSeries] = []
    unread, odd, room = 0, 0, MAX_POINTS
    for series in found:
        values = [_number(value) for value in series.values]
        odd += sum(number is None and value is not None for number, value in zip(values, series.values, strict=True))
        try:
            frequency = frequency_code(series.frequency)
            points = list(_points(series.periods, values, scale_of(series.frequency), frequency, room))
        except (Fault, ValueError):
            unread += 1
            continue
        room = max(room - len(points), 0)
        viewed.append(ViewedSeries(series.name, points, series.code, series.unit, frequency))
    notes = [
        f"{unread:,} series have a frequency or dates that cannot be drawn." if unread else "",
        f"{odd:,} values are no numbers that can be drawn." if odd else "",
    ]
    return SeriesView(title, viewed, " ".join(filter(None, notes)))


def _number(text: str | None) -> float | None:
    """Return a value in the syntax of JSON as a number; None for what is none."""
    try:
        return None if text is None else drawable(msgspec.json.decode(text, type=float))
    except msgspec.MsgspecError:
        return None


def _points(
    labels: list[str], values: list[float | None], scale: Scale, frequency: str, room: int
) -> Iterator[SeriesPoint]:
    """Yield the points of a series, with a null for each period that is not there; one for all beyond the room."""
    before: int | None = None
    filled = len(labels)
    for label, value in zip(labels, values, strict=True):
        place = scale.place(label)
        if value is None and scale.is_weekend(place):
            continue
        if before is not None and scale.skips(before, place):
            missing = range(before + scale.step, place, scale.step)
            filled += len(missing)
            for absent in missing if filled <= room else missing[:1]:
                yield _start_ms(scale, frequency, absent), None
        yield _start_ms(scale, frequency, place), value
        before = place


def _start_ms(scale: Scale, frequency: str, place: int) -> int:
    """Return the start of the period at a place; raise ValueError if there is none."""
    if scale.parts == 0:
        return (place - EPOCH) * DAY_MS
    year, part = divmod(place, scale.parts)
    label = f"{year:04}" if scale.parts == 1 else f"{year:04}{part + 1:02}"
    return day_ms(_first_day(frequency, label))


def _first_day(frequency: str, label: str) -> date:
    return days_of(frequency, label).first
