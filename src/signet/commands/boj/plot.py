"""`signet boj plot`: series drawn in the terminal, and into a picture."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from signet.app import build_server, resolve
from signet.commands.terminal import write
from signet.kernel.errors import Fault
from signet.kernel.server import Server
from signet.settings import Settings, UsageError
from signet.toolsets.boj.databases import DATABASES

from . import CREDIT
from .chart import Chart, chart_of
from .cli_errors import to_flags
from .files import form_of, write_file
from .image_chart import JAPANESE, paint
from .pages import FetchedSeries, read_page
from .progress import say
from .series_query import SeriesQuery, origin_of, series_query_of
from .terminal_chart import drawn

__all__ = ["plot"]

FAILED: Final = 1
MAX_SERIES: Final = 16
"""As many as can be told apart."""
FORMS: Final = ("png", "svg")
NEED: Final = "drawing needs plotext and matplotlib: pip install 'signet-mcp[plot]'"
SIZE: Final = (100, 30)
"""Columns and lines where there is no terminal to ask."""
MIN_COLUMNS: Final = 50
MIN_LINES: Final = 12
MAX_LINES: Final = 24
SPARE_LINES: Final = 8
"""What stands about a panel."""


def plot(asked: Any, settings: Settings) -> int:
    """Draw what was asked for; the result is the exit status.

    Raises:
        UsageError: it cannot be drawn.
    """
    server = build_server(resolve(settings))
    question = series_query_of(asked, origin_of(settings, server))
    if (question.last_position or 0) > MAX_SERIES:
        message = f"more than {MAX_SERIES} series cannot be told apart: write fewer --codes"
        raise UsageError(message)
    out = None if asked.out is None else Path(asked.out)
    form = None if out is None else form_of(out, FORMS)
    plotext, matplotlib = _plotext(), None if out is None else _matplotlib()
    font = _font(question) if out is not None else None
    try:
        chart = chart_of(question, _title(question), asyncio.run(_collect(server, question)))
    except Fault as fault:
        say(to_flags(fault))
        return FAILED
    try:
        if out is not None and form is not None:
            write_file(out, lambda file: paint(matplotlib, chart, file, form, font))
            say(f"wrote {out}")
    except OSError as error:
        say(f"cannot write {out} ({error.strerror}); write another --out")
        return FAILED
    _show(plotext, chart)
    return 0


async def _collect(server: Server, question: SeriesQuery) -> list[FetchedSeries]:
    found: list[FetchedSeries] = []
    position: int | None = 1
    try:
        while position is not None:
            page = await read_page(server, question, position)
            found += page.series
            position = page.next
    finally:
        await server.close()
    return found


def _title(question: SeriesQuery) -> str:
    names = {one.code: one.english if question.lang == "en" else one.japanese for one in DATABASES}
    return f"{question.db}  {names.get(question.db, '')}".rstrip()


def _show(plotext: Any, chart: Chart) -> None:
    """Draw for whoever reads standard output."""
    columns, lines = shutil.get_terminal_size(SIZE)
    size = max(MIN_COLUMNS, columns), max(MIN_LINES, min(MAX_LINES, lines - SPARE_LINES))
    color = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    picture = drawn(plotext, chart, size, color=color)
    write(f"{picture}\nSource: {chart.source}\n{CREDIT}")


def _plotext() -> Any:
    try:
        import plotext
    except ImportError:
        raise UsageError(NEED) from None
    return plotext


def _matplotlib() -> Any:
    try:
        import matplotlib as mpl
        import matplotlib.figure
    except ImportError:
        raise UsageError(NEED) from None
    return mpl


def _font(question: SeriesQuery) -> str | None:
    """Give a font for names in Japanese.

    Raises:
        UsageError: none is installed.
    """
    if question.lang == "en":
        return None
    from matplotlib.font_manager import get_font_names

    installed = set(get_font_names())
    found = next((name for name in JAPANESE if name in installed), None)
    if found is None:
        message = f"no font with Japanese characters is installed: install {JAPANESE[0]}, or leave out --lang jp"
        raise UsageError(message)
    return found
