"""Series in the form in which they are written: real dates beside the Bank's labels, and other units.

Pure. The stored pages keep what the Bank sent; the form is applied when a file is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final, NamedTuple

from msgspec import Struct

from signet.kernel.errors import Code, Fault
from signet.toolsets.boj.periods import FIRST_YEAR, LAST_YEAR, days_of, frequency_code, read_bound
from signet.toolsets.boj_explore.columns import Column, label_units, transform

from .series_query import FetchedSeries, SeriesPage

__all__ = ["AS_SENT", "OutputForm", "ShapedPoint", "ShapedSeries", "shape", "shape_all", "span_to_fetch"]

YEAR_DIGITS: Final = 4


class OutputForm(Struct, frozen=True):
    """The form of the output."""

    units: str = "level"
    base: str | None = None
    """The base of an index."""
    since: str | None = None
    """The first label to write, where earlier periods were fetched to compute with."""
    until: str | None = None
    """The last label to write, or how it begins, where later periods were fetched to compute with."""
    period_end: bool = False
    """Whether the date is the last day of the period, not the first."""

    def has(self, label: str) -> bool:
        """Return True for a label to write."""
        is_late = self.since is None or label >= self.since
        return is_late and (self.until is None or label[: len(self.until)] <= self.until)


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


def span_to_fetch(form: OutputForm) -> tuple[str | None, str | None]:
    """Return the periods from which and up to which to fetch, so that all of a valid span can be computed.

    Changes need a year more, and an index its base. Only the Bank knows the frequency of a code: the years around the
    base are asked for, and their first period, which every frequency has.

    Raises:
        ValueError: the base is no date.
    """
    start, end = form.since, form.until
    if form.base is not None:
        base = read_bound(form.base, "D")
        start = start and min(start, _first_of(base.first.year - 1, start))
        end = end and max(end, _first_of(base.last.year + 1, end))
    elif form.units != "log":
        start = start and _first_of(int(start[:YEAR_DIGITS]) - 1, start)[:YEAR_DIGITS] + start[YEAR_DIGITS:]
    return start, end


def _first_of(year: int, like: str) -> str:
    """Return the first period of a year, or of the nearest that the Bank takes, written like another period."""
    return f"{min(max(year, FIRST_YEAR), LAST_YEAR)}01"[: len(like)]


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
        if form.has(label)
    ]
    return ShapedSeries(series.series_code, series.name, unit, series.frequency, points)


def _date(frequency: str | None, label: str, form: OutputForm) -> date | None:
    try:
        days = days_of(frequency_code(frequency), label)
    except ValueError:
        return None
    return days.last if form.period_end else days.first
