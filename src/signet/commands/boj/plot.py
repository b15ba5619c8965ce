"""`signet boj plot`: draw series as text, and as an image: PNG or SVG, the same bytes for the same chart.

The text has colours on a terminal, and a sign per series elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import warnings
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final

from signet.commands.terminal import on_terminal, say, write
from signet.kernel.errors import Fault
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.installation import install_command
from signet.system.text import SPACES, printable

from . import CREDIT, SAMPLE_SOURCE
from .chart import Chart, Curve, Panel, chart_of
from .extent import language_note
from .output_files import replacing_output, suffix_of
from .series_query import FetchedSeries, open_query, read_pages, to_flags

__all__ = ["JAPANESE_FONTS", "draw_text", "paint", "plot"]

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

TEXT_COLORS: Final = ("blue+", "red+", "green", "magenta+", "cyan", "orange", "gray+", "gray")
SIGNS: Final = "*+ox#@%&"
FINE: Final = "braille"

IMAGE_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
"""Colours that colour-blind readers can tell apart."""
LINES: Final = ("-", "--")
INK: Final = "#222222"
FAINT: Final = "#666666"
GRID: Final = "#dddddd"

JAPANESE_FONTS: Final = (
    "Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans JP", "IPAexGothic", "IPAGothic", "TakaoGothic", "VL Gothic",
    "Hiragino Sans", "Hiragino Kaku Gothic ProN", "Yu Gothic", "Meiryo", "MS Gothic",
)  # fmt: skip
WIDTH_IN: Final = 9.0
LEFT_IN: Final = 0.95
UNIT_IN: Final = 0.45
"""The room for the unit of a panel, left of the numbers on its axis."""
RIGHT_IN: Final = 0.25
HEAD_IN: Final = 0.5
ROW_IN: Final = 0.2
PANEL_IN: Final = 3.0
DATES_IN: Final = 0.6
FOOT_IN: Final = 0.1
"""The layout in inches, from the top: it depends on nothing but the chart."""

TICKS: Final = 9
DPI: Final = 150
RC: Final = {"svg.hashsalt": "signet", "text.parse_math": False, "axes.unicode_minus": False}
"""Reproducible ids in SVG, and no formulas between dollar signs."""
METADATA: Final[dict[str, dict[str, Any]]] = {"png": {"Software": "Signet"}, "svg": {"Date": None, "Creator": "Signet"}}
"""No date and no version of matplotlib: they would change the bytes."""
SUFFIXES: Final = tuple(METADATA)


def plot(args: Any, settings: Settings) -> int:
    """Draw the series; return the exit status.

    Raises:
        UsageError: the query or the output file is not valid, or a package is missing.
    """
    server, query = open_query(args, settings)
    if (query.last_position or 0) > MAX_SERIES:
        raise UsageError(f"more than {MAX_SERIES} series cannot be told apart: write fewer --codes")
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
    _print(plotext, chart, query.lang)
    return 0


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise UsageError(f"drawing needs plotext and matplotlib: {install_command('plot')}") from None


def _print(plotext: Any, chart: Chart, lang: str) -> None:
    columns, lines = shutil.get_terminal_size(DEFAULT_SIZE)
    size = max(MIN_COLUMNS, columns), max(MIN_LINES, min(MAX_LINES, lines - SPARE_LINES))
    color = on_terminal() and not os.environ.get("NO_COLOR")
    scale = chart.scale
    note = f"Periods: one value per {scale.word}, {scale.label(chart.first)} to {scale.label(chart.last)}"
    drawing = draw_text(plotext, chart, size, color=color)
    write(f"{drawing}\n{note}\nLanguage: {language_note(lang)}\nSource: {chart.source}\n{CREDIT}")


def draw_text(plotext: Any, chart: Chart, size: tuple[int, int], *, color: bool) -> str:
    """Return a chart as text, in so many columns, and so many lines per panel."""
    parts = [f"{chart.title}  (sample data)" if chart.source == SAMPLE_SOURCE else chart.title]
    for panel in chart.panels:
        drawing = _draw_panel(plotext, chart, panel, size, color=color)
        keys = [_key(plotext, curve, color=color) for curve in panel.curves]
        parts += [panel.unit and f"Unit: {_safe(panel.unit)}", drawing.rstrip("\n"), *keys]
    return "\n".join(part for part in parts if part)


def _draw_panel(plotext: Any, chart: Chart, panel: Panel, size: tuple[int, int], *, color: bool) -> str:
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
    return TEXT_COLORS[curve.number % len(TEXT_COLORS)]


def _safe(text: str) -> str:
    return printable(text, keep=SPACES)


def japanese_font() -> str:
    """Return an installed font that has Japanese characters; raise UsageError if there is none."""
    from matplotlib.font_manager import get_font_names

    installed = set(get_font_names())
    font = next((name for name in JAPANESE_FONTS if name in installed), None)
    if font is None:
        message = f"no font with Japanese characters is installed: install {JAPANESE_FONTS[0]}, or leave out --lang jp"
        raise UsageError(message)
    return font


def paint(chart: Chart, file: IO[bytes], suffix: str, font: str | None = None) -> None:
    """Draw a chart into a file, with a second font for characters that the first one lacks."""
    import matplotlib as mpl

    families = ["DejaVu Sans"] if font is None else ["DejaVu Sans", font]
    # A character that no font has becomes a box in the image; the warning would only clutter the screen.
    with mpl.rc_context(), warnings.catch_warnings(action="ignore"):
        mpl.rcdefaults()
        mpl.rcParams.update({**RC, "font.family": families})
        # It tells of every weight that a font lacks; the text is drawn in the weight that there is.
        logger = logging.getLogger("matplotlib.font_manager")
        logger.addFilter(_no_record)
        try:
            _figure(chart).savefig(file, format=suffix, dpi=DPI, metadata=METADATA[suffix])
        finally:
            logger.removeFilter(_no_record)


def _no_record(_: logging.LogRecord) -> bool:
    return False


def _figure(chart: Chart) -> Any:
    """Return a figure with title, panels and source from top to bottom."""
    from matplotlib.figure import Figure

    foot = (f"Source: {chart.source}", CREDIT)
    rows = [len(panel.curves) for panel in chart.panels]
    height_in = HEAD_IN + sum(rows) * ROW_IN + len(rows) * (PANEL_IN + DATES_IN) + len(foot) * ROW_IN + FOOT_IN
    figure = Figure((WIDTH_IN, height_in), facecolor="white")
    _write(figure, chart.title, 0.3, size=13, weight="bold")
    if chart.source == SAMPLE_SOURCE:
        _write(figure, "sample data", 0.3, x_in=WIDTH_IN - RIGHT_IN, ha="right", size=11, color=IMAGE_COLORS[1])
    top_in = HEAD_IN
    for panel in chart.panels:
        top_in += len(panel.curves) * ROW_IN
        axes = figure.add_axes((0, 1 - (top_in + PANEL_IN) / height_in, 1, PANEL_IN / height_in))
        _paint_panel(axes, chart, panel)
        top_in += PANEL_IN + DATES_IN
    _set_margin(figure)
    for number, line in enumerate(foot):
        _write(figure, line, top_in + number * ROW_IN, size=7.5, color=FAINT)
    return figure


def _set_margin(figure: Any) -> None:
    """Give all panels a left margin in which the longest number of an axis has room beside the unit."""
    left_in = LEFT_IN
    for _ in range(2):
        # The numbers depend on the width of a panel, and its width on the longest of them.
        for axes in figure.axes:
            place = axes.get_position()
            axes.set_position(
                (left_in / WIDTH_IN, place.y0, 1 - (left_in + RIGHT_IN) / WIDTH_IN, place.height), which="both"
            )
        figure.draw_without_rendering()
        widths = [label.get_window_extent().width for axes in figure.axes for label in axes.get_yticklabels()]
        left_in = max(LEFT_IN, max(widths, default=0) / figure.dpi + UNIT_IN)


def _write(figure: Any, text: str, top_in: float, *, x_in: float = RIGHT_IN, **look: Any) -> None:
    figure.text(x_in / WIDTH_IN, 1 - top_in / figure.get_figheight(), text, **{"color": INK, "va": "center", **look})


def _paint_panel(axes: Any, chart: Chart, panel: Panel) -> None:
    for curve in panel.curves:
        _paint_curve(axes, curve)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=9, length=3)
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel(panel.unit, color=INK, fontsize=9)
    axes.set_xlabel(chart.scale.word, color=FAINT, fontsize=9)
    axes.set_xlim(chart.first, max(chart.last, chart.first + 1))
    ticks = chart.scale.ticks(chart.first, chart.last, TICKS)
    axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.01), frameon=False, fontsize=9, borderpad=0, borderaxespad=0,
        labelspacing=0.35, handlelength=1.8,
    )  # fmt: skip


def _paint_curve(axes: Any, curve: Curve) -> None:
    """Draw the runs of a series; a single value is a dot."""
    color = IMAGE_COLORS[curve.number % len(IMAGE_COLORS)]
    line = LINES[curve.number // len(IMAGE_COLORS) % len(LINES)]
    label: str | None = f"{curve.code}  {curve.name}".rstrip()
    for run in curve.runs or [[]]:
        places, values = [place for place, _ in run], [value for _, value in run]
        dot = "." if len(run) == 1 else None
        axes.plot(places, values, line, color=color, linewidth=1.5, marker=dot, label=label)
        label = None
