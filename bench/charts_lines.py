"""Lines: how a value grows, with the name and the last value at the end of each line instead of a legend. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.charts_svg import MARGIN, SMALL, WIDTH, amount, frame, line, text, width

__all__ = ["Curve", "Lines", "draw_lines"]

TOP, HIGH = 100, 250
"""The upper edge of the plot, and its height."""
SPACE = 17
"""The least distance of two labels."""
TICKS = 4
INSET = 30
"""The room between the axis and the first point, in which the value of that point stands."""
AIR = 0.06
"""The part of a logarithmic axis that stays free beyond its values."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """A line: its name, its colour and its points."""

    name: str
    of: str
    points: tuple[Point, ...]
    dash: str = ""


@dataclass(frozen=True)
class Lines:
    """A chart of lines."""

    name: str
    title: str
    subtitle: str
    x_label: str
    y_label: str
    unit: str
    curves: tuple[Curve, ...]
    log_x: bool = True
    log_y: bool = True
    spell: Callable[[float], str] = amount
    """How a place on the lower axis is written."""

    @property
    def description(self) -> str:
        """The chart in words."""
        curves = (
            f"{curve.name}: " + ", ".join(f"{amount(y)} at {self.spell(x)}" for x, y in curve.points)
            for curve in self.curves
        )
        return f"{self.title}, {self.y_label} by {self.x_label}. {'; '.join(curves)}."


@dataclass(frozen=True)
class _Axis:
    """An axis: the values at its ends, and the places of these."""

    low: float
    high: float
    begin: float
    end: float
    log: bool

    def at(self, value: float) -> float:
        """Return the place of a value."""
        low, high, value = (math.log10(max(one, 1e-9)) if self.log else one for one in (self.low, self.high, value))
        part = (value - low) / (high - low) if high > low else 0.5
        return self.begin + part * (self.end - self.begin)


def draw_lines(chart: Lines) -> str:
    """Return the chart as a file."""
    x_axis, y_axis = _axes(chart)
    left, bottom = x_axis.begin - INSET, TOP + HIGH
    parts = [text(MARGIN, TOP - 16, chart.y_label, size=SMALL, of="soft")]
    for tick in _ticks(y_axis):
        y = y_axis.at(tick)
        parts.append(line([(left, y), (x_axis.end, y)], "grid-line"))
        parts.append(text(left - 8, y + 4, amount(tick), size=SMALL, of="soft", anchor="end"))
    parts.append(line([(left, bottom), (x_axis.end, bottom)], "axis-line"))
    parts += _x_ticks(chart, x_axis, bottom)
    middle = (x_axis.begin + x_axis.end) / 2
    parts.append(text(middle, bottom + 40, chart.x_label, size=SMALL, of="soft", anchor="middle"))
    placed = [[(x_axis.at(x), y_axis.at(y)) for x, y in curve.points] for curve in chart.curves]
    # The first curve is drawn last, above the others.
    for curve, points in reversed(list(zip(chart.curves, placed, strict=True))):
        parts += _curve(curve, points)
    parts += _ends(chart, placed, bottom)
    parts += _values(chart, placed, bottom)
    return frame(chart.title, chart.subtitle, chart.description, bottom + 56, parts)


def _axes(chart: Lines) -> tuple[_Axis, _Axis]:
    xs = [x for curve in chart.curves for x, _ in curve.points]
    ys = [y for curve in chart.curves for _, y in curve.points]
    if chart.log_y:
        air = (max(ys) / min(ys)) ** AIR if max(ys) > min(ys) else 2.0
        low, high = min(ys) / air, max(ys) * air
    else:
        low, high = 0.0, max(ys) * 1.15
    y_axis = _Axis(low, high, TOP + HIGH, TOP, chart.log_y)
    begin = MARGIN + max(width(amount(tick), SMALL) for tick in _ticks(y_axis)) + 8
    labels = max(width(_end_words(chart, curve), SMALL, bold=True) for curve in chart.curves)
    return _Axis(min(xs), max(xs), begin + INSET, WIDTH - MARGIN - labels - 24, chart.log_x), y_axis


def _ticks(axis: _Axis) -> list[float]:
    """Return a few round values on an axis."""
    if not axis.log:
        step = 10 ** math.floor(math.log10(axis.high / TICKS))
        step *= next(factor for factor in (1, 2, 2.5, 5, 10) if axis.high / (step * factor) <= TICKS + 1)
        return [step * count for count in range(int(axis.high / step) + 1)]
    exponents = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5)):
        found = [factor * 10.0**power for power in exponents for factor in factors]
        found = [tick for tick in found if axis.low <= tick <= axis.high]
        if len(found) >= TICKS - 1:
            break
    return found


def _x_ticks(chart: Lines, axis: _Axis, bottom: float) -> list[str]:
    """Return the measured places below the axis, those that have room."""
    drawn: list[str] = []
    free = -math.inf
    for value in sorted({x for curve in chart.curves for x, _ in curve.points}):
        x, words = axis.at(value), chart.spell(value)
        half = width(words, SMALL) / 2
        drawn.append(line([(x, bottom), (x, bottom + 4)], "axis-line"))
        if x - half >= free:
            drawn.append(text(x, bottom + 19, words, size=SMALL, of="soft", anchor="middle"))
            free = x + half + 6
    return drawn


def _curve(curve: Curve, points: Sequence[Point]) -> list[str]:
    strong = curve.of == "signet"
    radius = 4 if strong else 2.5
    dots = [f'<circle class="{curve.of}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in points]
    return [line(points, f"{curve.of}-line", 3 if strong else 1.75, curve.dash), *dots]


def _end_words(chart: Lines, curve: Curve) -> str:
    return f"{curve.name} {amount(curve.points[-1][1])} {chart.unit}"


def _ends(chart: Lines, placed: Sequence[Sequence[Point]], bottom: float) -> list[str]:
    """Return the names at the ends of the lines, moved apart where they would overlap."""
    order = sorted(range(len(placed)), key=lambda index: (placed[index][-1][1], index))
    heights = _apart([placed[index][-1][1] for index in order], TOP, bottom)
    x = max(points[-1][0] for points in placed) + 18
    drawn: list[str] = []
    for index, height in zip(order, heights, strict=True):
        curve, (end_x, end_y) = chart.curves[index], placed[index][-1]
        drawn.append(line([(end_x + 6, end_y), (x - 3, height)], f"{curve.of}-line", 0.75))
        of = "signet-text" if curve.of == "signet" else "ink"
        drawn.append(text(x, height + 4, _end_words(chart, curve), size=SMALL, of=of))
    return drawn


def _apart(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return heights near the wanted ones, which are in order, with the least distance between any two."""
    found = list(wanted)
    for index, (above, below) in enumerate(pairwise(wanted), start=1):
        del above
        found[index] = max(below, found[index - 1] + SPACE)
    limit = bottom
    for index in range(len(found) - 1, -1, -1):
        found[index] = min(found[index], limit)
        limit = found[index] - SPACE
    return [max(height, top + SPACE * index) for index, height in enumerate(found)]


def _values(chart: Lines, placed: Sequence[Sequence[Point]], bottom: float) -> list[str]:
    """Return the values of the first curve but its last, each on the side where the next curve is further away."""
    drawn: list[str] = []
    free = -math.inf
    for (x, y), (_, value) in zip(placed[0][:-1], chart.curves[0].points[:-1], strict=True):
        others = [other_y for points in placed[1:] for other_x, other_y in points if abs(other_x - x) < 1]
        above = y - max((one for one in others if one <= y), default=TOP - 40)
        below = min((one for one in others if one > y), default=bottom) - y
        half = width(amount(value), SMALL, bold=True) / 2
        if x - half < free:
            continue
        free = x + half + 12
        drawn.append(
            text(x, y - 10 if above >= below else y + 20, amount(value), size=SMALL, of="signet-text", anchor="middle")
        )
    return drawn
