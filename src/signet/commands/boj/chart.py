"""Series as a chart: runs of consecutive values on an axis of periods, in one panel per unit.

    202403 of MONTHLY ── place ──▶ 24291 ── label ──▶ 2024-03

Pure. A place counts periods of the frequency of the series, so that no fiscal year or half is ever taken for a day.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final, NamedTuple

from signet.kernel.errors import Code, Fault
from signet.toolsets.boj.databases import DATABASES

from .series_query import FetchedSeries, SeriesQuery, is_number

__all__ = ["Chart", "Curve", "CurveRun", "Panel", "Scale", "chart_of", "scale_of"]

YEAR_DIGITS: Final = 4
MONTHS: Final = 12
WEEK: Final = 7
WEEKEND: Final = 5
"""Saturday, as `date.weekday` counts."""
YEAR_STEPS: Final = (1, 2, 5, 10, 20, 25, 50, 100, 200)
DAY_STEPS: Final = (1, 2, WEEK, 2 * WEEK)
PART_LABELS: Final = {2: " H{}", 4: " Q{}", MONTHS: "-{:02}"}
"""The label of a part of the year, by the number of parts."""

MAX_DRAWN: Final = 1e300
"""The limit of a value: beyond it, the margin around a curve would not fit into a double."""


class Scale(NamedTuple):
    """An axis of the periods of one frequency."""

    word: str
    """The name of one period."""
    parts: int
    """The number of periods in a year; 0 for days."""
    step: int = 1
    """The distance between two consecutive periods."""

    def place(self, label: str) -> int:
        """Return the place of a date in the Bank's format; raise Fault if it is no date of this frequency."""
        try:
            if self.parts == 0:
                return date(int(label[:4]), int(label[4:6]), int(label[6:])).toordinal()
            year, part = int(label[:YEAR_DIGITS]), int(label[YEAR_DIGITS:] or "1")
        except ValueError:
            part = 0
        if not 1 <= part <= self.parts:
            raise Fault(Code.INVALID_OUTPUT, f"'{label[:50]}' is no {self.word}: it cannot be drawn")
        return year * self.parts + part - 1

    def label(self, place: int) -> str:
        """Return the date of a place, for people."""
        if self.parts == 0:
            return date.fromordinal(place).isoformat()
        year, part = divmod(place, self.parts)
        return f"{year}" + PART_LABELS.get(self.parts, "").format(part + 1)

    def is_weekend(self, place: int) -> bool:
        """Return True for a Saturday or Sunday of a daily series, where a missing value is no gap."""
        return self._is_daily and date.fromordinal(place).weekday() >= WEEKEND

    def skips(self, before: int, place: int) -> bool:
        """Return True if a period is missing between two places; never for days, since weekends may be left out."""
        return not self._is_daily and place - before > self.step

    @property
    def _is_daily(self) -> bool:
        return self.parts == 0 and self.step == 1

    def ticks(self, first: int, last: int, limit: int) -> list[tuple[int, str]]:
        """Return at most `limit` round dates of an axis, as places and labels."""
        if self.parts == 0:
            return _day_ticks(self, first, last, limit)
        part_steps = [step for step in range(1, self.parts) if self.parts % step == 0]
        for step in (*part_steps, *(years * self.parts for years in YEAR_STEPS)):
            places = range(-(-first // step) * step, last + 1, step)
            if len(places) <= limit:
                break
        return [(place, self.label(place) if step < self.parts else str(place // self.parts)) for place in places]


def scale_of(frequency: str | None) -> Scale:
    """Return the scale of a frequency, as responses name it; raise Fault if it is unknown."""
    name = (frequency or "").upper()
    if name.startswith("WEEKLY(") and name.endswith(")"):
        return Scale(f"week ({name[7:-1].title()}s)", 0, WEEK)
    if name not in SCALES:
        raise Fault(Code.INVALID_OUTPUT, f"the frequency '{name[:50]}' is unknown: it cannot be drawn")
    return SCALES[name]


def _day_ticks(scale: Scale, first: int, last: int, limit: int) -> list[tuple[int, str]]:
    for step in DAY_STEPS:
        places = range(first, last + 1, step)
        if len(places) <= limit:
            return [(place, scale.label(place)) for place in places]
    start, end = (date.fromordinal(place) for place in (first, last))
    # The first month that does not begin before the axis.
    month = start.year * MONTHS + start.month - (start.day == 1)
    ticks = SCALES["MONTHLY"].ticks(month, end.year * MONTHS + end.month - 1, limit)
    return [(date(place // MONTHS, place % MONTHS + 1, 1).toordinal(), text) for place, text in ticks]


SCALES: Final = {
    "ANNUAL": Scale("year", 1),
    "ANNUAL(MAR)": Scale("fiscal year", 1),
    "SEMIANNUAL": Scale("half of the year", 2),
    "SEMIANNUAL(SEP)": Scale("half of the fiscal year", 2),
    "QUARTERLY": Scale("quarter", 4),
    "MONTHLY": Scale("month", MONTHS),
    "DAILY": Scale("day", 0),
}
"""The scale of each frequency but the seven weekly ones."""

CurveRun = list[tuple[int, float]]
"""Places and values without a gap between them."""


class Curve(NamedTuple):
    """One series."""

    code: str
    name: str
    runs: list[CurveRun]
    number: int
    """The place among all curves of the chart, which tells the colour."""


class Panel(NamedTuple):
    """The curves of one unit, on one axis."""

    unit: str
    curves: list[Curve]


class Chart(NamedTuple):
    """A chart, ready to be drawn."""

    title: str
    source: str
    scale: Scale
    first: int
    last: int
    panels: list[Panel]


def chart_of(query: SeriesQuery, all_series: list[FetchedSeries]) -> Chart:
    """Return the chart of series of one frequency; raise Fault if it has no value, or one that cannot be drawn."""
    scale = scale_of(all_series[0].frequency if all_series else "DAILY")
    panels: dict[str, Panel] = {}
    for number, series in enumerate(all_series):
        unit = series.unit or ""
        curve = Curve(series.series_code, series.name or "", list(_runs(series, scale)), number)
        panels.setdefault(unit, Panel(unit, [])).curves.append(curve)
    curves = (curve for panel in panels.values() for curve in panel.curves)
    places = [place for curve in curves for run in curve.runs for place, _ in run]
    if not places:
        raise Fault(Code.NOT_FOUND, "there is no value in the span asked for: nothing to draw")
    return Chart(_title(query), query.source, scale, min(places), max(places), list(panels.values()))


def _title(query: SeriesQuery) -> str:
    names = {each.code: each.english if query.lang == "en" else each.japanese for each in DATABASES}
    return f"{query.db}  {names.get(query.db, '')}".rstrip()


def _runs(series: FetchedSeries, scale: Scale) -> Iterator[CurveRun]:
    """Yield the runs of a series, which end at each missing value and each missing date."""
    run: CurveRun = []
    for point in series.observations():
        place = scale.place(point.survey_date)
        if point.value is None and scale.is_weekend(place):
            continue
        if run and (point.value is None or scale.skips(run[-1][0], place)):
            yield run
            run = []
        if point.value is not None:
            run.append((place, _float(series, point.value)))
    if run:
        yield run


def _float(series: FetchedSeries, value: str) -> float:
    number = float(value) if is_number(value) else None
    if number is None or abs(number) > MAX_DRAWN:
        why = "is no number" if number is None else "is too large to draw"
        raise Fault(Code.INVALID_OUTPUT, f"series {series.series_code} has the value '{value[:50]}', which {why}")
    return number
