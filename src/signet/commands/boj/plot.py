"""`signet boj plot`: draw series as text, in colours on a terminal and with a sign per series elsewhere."""

from __future__ import annotations

import asyncio
import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from signet.commands.terminal import SPACES, on_terminal, printable, say, write
from signet.kernel.errors import Fault
from signet.settings import Settings, UsageError

from . import CREDIT, SAMPLE_SOURCE
from .chart import Chart, Curve, Panel, chart_of
from .image_chart import SUFFIXES, japanese_font, paint
from .output_files import replacing_output, suffix_of
from .series_query import FetchedSeries, open_query, read_pages, to_flags

__all__ = ["draw_text", "plot"]

FAILED: Final = 1
MAX_SERIES: Final = 16
"""As many curves as can be told apart."""

DEFAULT_SIZE: Final = (100, 30)
"""Columns and lines where there is no terminal."""
MIN_COLUMNS: Final = 50
MIN_LINES: Final = 12
MAX_LINES: Final = 24
SPARE_LINES: Final = 8
"""The lines above and below a panel."""
TICK_COLUMNS: Final = 14
"""The width of a date on the axis, with a margin."""
AXIS_COLUMNS: Final = 12
"""The width of the numbers on the axis."""

COLORS: Final = ("blue+", "red+", "green", "magenta+", "cyan", "orange", "gray+", "gray")
SIGNS: Final = "*+ox#@%&"
FINE: Final = "braille"


def plot(args: Any, settings: Settings) -> int:
    """Draw the series; return the exit status.

    Raises:
        UsageError: the query or the output file is not valid, or a package is missing.
    """
    server, query = open_query(args, settings)
    if (query.last_position or 0) > MAX_SERIES:
        message = f"more than {MAX_SERIES} series cannot be told apart: write fewer --codes"
        raise UsageError(message)
    out = None if args.out is None else Path(args.out)
    suffix = "" if out is None else suffix_of(out, SUFFIXES)
    plotext, font = _load("plotext"), None
    if out is not None:
        _load("matplotlib.figure")
        font = japanese_font() if query.lang == "jp" else None
    series: list[FetchedSeries] = []
    try:
        asyncio.run(read_pages(server, query, lambda page: series.extend(page.series)))
        chart = chart_of(query, series)
    except Fault as fault:
        say(to_flags(fault))
        return FAILED
    try:
        if out is not None:
            with replacing_output(out) as file:
                paint(chart, file, suffix, font)
            say(f"wrote {out}")
    except OSError as error:
        say(f"cannot write {out} ({error.strerror}); write another --out")
        return FAILED
    _print(plotext, chart)
    return 0


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        message = "drawing needs plotext and matplotlib: pip install 'signet-mcp[plot]'"
        raise UsageError(message) from None


def _print(plotext: Any, chart: Chart) -> None:
    columns, lines = shutil.get_terminal_size(DEFAULT_SIZE)
    size = max(MIN_COLUMNS, columns), max(MIN_LINES, min(MAX_LINES, lines - SPARE_LINES))
    color = on_terminal() and not os.environ.get("NO_COLOR")
    write(f"{draw_text(plotext, chart, size, color=color)}\nSource: {chart.source}\n{CREDIT}")


def draw_text(plotext: Any, chart: Chart, size: tuple[int, int], *, color: bool) -> str:
    """Return a chart as text, in so many columns, and so many lines per panel."""
    parts = [f"{chart.title}  (sample data)" if chart.source == SAMPLE_SOURCE else chart.title]
    for panel in chart.panels:
        drawing = _panel(plotext, chart, panel, size, color=color)
        keys = [_key(plotext, curve, color=color) for curve in panel.curves]
        parts += [_safe(panel.unit), drawing.rstrip("\n"), *keys]
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
    return f"  {sign} {_safe(curve.code)}  {_safe(curve.name)}".rstrip()


def _marker(curve: Curve, *, color: bool) -> str:
    return FINE if color else SIGNS[curve.number % len(SIGNS)]


def _color(curve: Curve) -> str:
    return COLORS[curve.number % len(COLORS)]


def _safe(text: str) -> str:
    return printable(text, keep=SPACES)
