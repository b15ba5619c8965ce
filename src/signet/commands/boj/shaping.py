"""Series in the form in which they are written: real dates beside the Bank's labels, and other units.

Pure. The stored pages keep what the Bank sent; the form is applied when a file is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final, NamedTuple

from msgspec import Struct

from signet.kernel.errors import Code, Fault
from signet.toolsets.boj.periods import days_of, frequency_code, read_bound
from signet.toolsets.boj_explore.columns import Column, label_units, transform

from .series_query import FetchedSeries, SeriesPage

__all__ = ["AS_SENT", "OutputForm", "ShapedPoint", "ShapedSeries", "shape", "shape_all", "start_before"]

YEAR_DIGITS: Final = 4


class OutputForm(Struct, frozen=True):
    """The form of the output."""

    units: str = "level"
    base: str | None = None
    """The base of an index."""
    since: str | None = None
    """The first label to write, where earlier periods were fetched to compute with."""
    period_end: bool = False
    """Whether the date is the last day of the period, not the first."""


AS_SENT: Final = OutputForm()


class ShapedPoint(NamedTuple):
    """One observation; the date is None for a label that has none."""

    survey_date: str
    date: date | None
    value: str | None


class ShapedSeries(NamedTuple):
    """A series as it is written."""

    series_code: str
    name: str | None
    unit: str | None
    frequency: str | None
    points: list[ShapedPoint]


def start_before(start: str | None, units: str) -> str | None:
    """Return the period from which to fetch: a year earlier where changes are computed."""
    if start is None or units in {"level", "index", "log"} or not start[:YEAR_DIGITS].isdecimal():
        return start
    return f"{int(start[:YEAR_DIGITS]) - 1:04}{start[YEAR_DIGITS:]}"


def shape_all(pages: Iterable[SeriesPage], form: OutputForm) -> Iterator[ShapedSeries]:
    """Yield every series of some pages in a form."""
    return (shape(series, form) for page in pages for series in page.series)


def shape(series: FetchedSeries, form: OutputForm) -> ShapedSeries:
    """Return a series in a form.

    Raises:
        Fault: what is to be computed cannot be computed of it.
    """
    observed = series.observations()
    labels, values = [point.survey_date for point in observed], [point.value for point in observed]
    unit = series.unit
    if form.units != "level":
        try:
            frequency = frequency_code(series.frequency)
            base = read_bound(form.base, frequency) if form.base else None
            values = transform(Column(frequency, labels, values), form.units, base).values
        except ValueError as error:
            raise Fault(Code.INVALID_INPUT, f"{series.series_code}: {error}") from None
        unit = label_units(form.units, unit or "", frequency, form.base)
    points = [
        ShapedPoint(label, _date(series.frequency, label, form), value)
        for label, value in zip(labels, values, strict=True)
        if form.since is None or label >= form.since
    ]
    return ShapedSeries(series.series_code, series.name, unit, series.frequency, points)


def _date(frequency: str | None, label: str, form: OutputForm) -> date | None:
    try:
        days = days_of(frequency_code(frequency), label)
    except ValueError:
        return None
    return days.last if form.period_end else days.first
