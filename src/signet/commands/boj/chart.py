"""Series as a chart: runs of consecutive values on an axis of periods, in one panel per unit; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from signet.kernel.errors import Code, Fault
from signet.toolsets.boj.databases import DATABASES
from signet.toolsets.boj.scale import Scale, scale_of

from .series_query import FetchedSeries, SeriesQuery, is_number

__all__ = ["Chart", "Curve", "CurveRun", "Panel", "Scale", "chart_of", "scale_of"]

MAX_DRAWN: Final = 1e300
"""The limit of a value: beyond it, the margin around a curve would not fit into a double."""


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
