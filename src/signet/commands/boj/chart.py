"""Series as curves: runs of neighbouring values, gaps left out, in panels of one unit each.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from signet.kernel.errors import Code, Fault

from .pages import FetchedSeries, is_number, points_of
from .periods import Scale, scale_of
from .series_query import SeriesQuery

__all__ = ["Chart", "Curve", "CurveRun", "Panel", "chart_of"]

MAX_DRAWN: Final = 1e300
"""Beyond it the room about a curve is no double any more."""

CurveRun = list[tuple[int, float]]
"""Places and values without a gap between them."""


class Curve(NamedTuple):
    """One series."""

    code: str
    name: str
    runs: list[CurveRun]
    number: int
    """Its place among all curves of the chart, for colours."""


class Panel(NamedTuple):
    """The curves of one unit, which can be read on one axis."""

    unit: str
    curves: list[Curve]


class Chart(NamedTuple):
    """All that is to be drawn."""

    title: str
    source: str
    scale: Scale
    first: int
    last: int
    panels: list[Panel]


def chart_of(question: SeriesQuery, title: str, found: Iterable[FetchedSeries]) -> Chart:
    """Make a chart of series of one frequency.

    Raises:
        Fault: they have no value, or one that cannot be drawn.
    """
    all_series = list(found)
    scale = scale_of(all_series[0].frequency if all_series else "DAILY")
    panels: dict[str, Panel] = {}
    for number, series in enumerate(all_series):
        unit = series.unit or ""
        curve = Curve(series.series_code, series.name or "", list(_runs(series, scale)), number)
        panels.setdefault(unit, Panel(unit, [])).curves.append(curve)
    places = [place for panel in panels.values() for one in panel.curves for run in one.runs for place, _ in run]
    if not places:
        raise Fault(Code.NOT_FOUND, "there is no value in the span asked for: nothing to draw")
    return Chart(title, question.source, scale, min(places), max(places), list(panels.values()))


def _runs(series: FetchedSeries, scale: Scale) -> Iterator[CurveRun]:
    """Give the runs of a series: cut at each value and at each date that is missing."""
    run: CurveRun = []
    for point in points_of(series):
        place = scale.place(point.survey_date)
        if point.value is None and scale.is_rest(place):
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
