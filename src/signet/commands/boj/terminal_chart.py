"""A chart as text: in colours for a terminal, with a sign for each series where there are none."""

from __future__ import annotations

from typing import Any, Final

from . import SAMPLE_SOURCE
from .chart import Chart, Curve, Panel
from .progress import printable

__all__ = ["drawn"]

COLORS: Final = ("blue+", "red+", "green", "magenta+", "cyan", "orange", "gray+", "gray")
SIGNS: Final = "*+ox#@%&"
FINE: Final = "braille"
TICK_COLUMNS: Final = 14
"""What a date below the axis takes, with room about it."""
AXIS_COLUMNS: Final = 12
"""What the numbers beside it take."""


def drawn(plotext: Any, chart: Chart, size: tuple[int, int], *, color: bool) -> str:
    """Draw a chart in so many columns, and so many lines for each panel."""
    parts = [f"{chart.title}  (sample data)" if chart.source == SAMPLE_SOURCE else chart.title]
    for panel in chart.panels:
        picture = _panel(plotext, chart, panel, size, color=color)
        key = [_key(plotext, curve, color=color) for curve in panel.curves]
        parts += [printable(panel.unit), picture.rstrip("\n"), *key]
    return "\n".join(part for part in parts if part)


def _panel(plotext: Any, chart: Chart, panel: Panel, size: tuple[int, int], *, color: bool) -> str:
    width, height = size
    plotext.clear_figure()
    plotext.limit_size(width=False, height=False)
    plotext.plotsize(width, height)
    plotext.theme("clear")
    for curve in panel.curves:
        for run in curve.runs:
            places, values = [place for place, _ in run], [value for _, value in run]
            look = {"marker": _marker(curve, color=color), "color": _color(curve)}
            (plotext.plot if len(run) > 1 else plotext.scatter)(places, values, **look)
    first, last = chart.first, max(chart.last, chart.first + 1)
    plotext.xlim(first, last)
    ticks = chart.scale.ticks(first, last, max(2, (width - AXIS_COLUMNS) // TICK_COLUMNS))
    plotext.xticks([place for place, _ in ticks], [text for _, text in ticks])
    text: str = plotext.build()
    return text if color else "\n".join(line.rstrip() for line in plotext.uncolorize(text).split("\n"))


def _key(plotext: Any, curve: Curve, *, color: bool) -> str:
    sign = plotext.colorize("──", _color(curve)) if color else _marker(curve, color=False) * 2
    return f"  {sign} {printable(curve.code)}  {printable(curve.name)}".rstrip()


def _marker(curve: Curve, *, color: bool) -> str:
    return FINE if color else SIGNS[curve.number % len(SIGNS)]


def _color(curve: Curve) -> str:
    return COLORS[curve.number % len(COLORS)]
