"""How a result is best shown to people: Markdown as a page, series as a chart, diagrams as a picture, else JSON.

What a result is, is told by its shape, so that tools of a user are shown as well as Signet's own.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from signet.kernel.tools import Tool

from .series import MAX_POINTS, MAX_SERIES, SeriesView, ViewedSeries
from .twin import Shown

__all__ = ["ResultView", "series_view", "view_of"]

MAX_MARKDOWN_CHARS: Final = 100_000
"""The longest text that is rendered; a longer one is shown as it is."""
TOO_LONG: Final = f"A text of more than {MAX_MARKDOWN_CHARS:,} characters is not shown as a page."
DIAGRAMS: Final[dict[str, Literal["link", "picture", "check"]]] = {
    "plantuml.encode": "link",
    "plantuml.link": "link",
    "plantuml.render": "picture",
    "plantuml.check": "check",
}
"""What the results of the diagram tools are, by slug."""


class ResultView(Shown, frozen=True, omit_defaults=True):
    """How a result is shown."""

    kind: Literal["json", "markdown", "series", "diagram"]
    title: str = ""
    """Series: what is above the chart."""
    series: list[ViewedSeries] = msgspec.field(default_factory=list)
    note: str = ""
    """What is not drawn, and why."""
    html: str = ""
    """Markdown: the page, which has no HTML of its author in it."""
    diagram: Literal["", "link", "picture", "check"] = ""
    """Diagrams: what the result is."""


BANK_TOOLS: Final = frozenset({"boj_get_data_code", "boj_get_data_layer", "boj_get_series"})

JSON_VIEW: Final = ResultView("json")


def view_of(tool: Tool | None, result: Any) -> ResultView:
    """Return how a result is shown; slow, so for a thread."""
    if tool is None or not isinstance(result, dict):
        return JSON_VIEW
    if tool.slug in DIAGRAMS:
        return ResultView("diagram", diagram=DIAGRAMS[tool.slug])
    text = result.get("markdown")
    if isinstance(text, str) and len(result) == 1:
        if len(text) > MAX_MARKDOWN_CHARS:
            return ResultView("json", note=TOO_LONG)
        from .markdown import to_html

        return ResultView("markdown", html=to_html(text))
    found = series_view(tool.name, result)
    return JSON_VIEW if found is None else ResultView("series", found.title, found.series, found.note)


def series_view(tool: str, result: Any) -> SeriesView | None:
    """Return the chart of a tool's result, which is a value as JSON has them; None if it is no series."""
    found = None
    if tool in BANK_TOOLS:
        # Loaded for the Bank's tools alone: a server may have none of them.
        from .boj_series import read_bank

        found = read_bank(result)
    if found is None:
        from .dated_rows import read_dated

        found = read_dated(tool, result)
    return None if found is None or not _has_value(found) else _bounded(found)


def _has_value(view: SeriesView) -> bool:
    return any(value is not None for series in view.series for _, value in series.points)


def _bounded(view: SeriesView) -> SeriesView:
    """Return a view without the series and the points beyond the limits, which its note counts."""
    room = MAX_POINTS
    kept = []
    for series in view.series[:MAX_SERIES]:
        points = series.points[-room:] if room else []
        room -= len(points)
        kept.append(msgspec.structs.replace(series, points=points))
    notes = [view.note]
    if len(view.series) > MAX_SERIES:
        notes.append(f"Only the first {MAX_SERIES} of {len(view.series):,} series are drawn.")
    lost = sum(len(series.points) for series in view.series[:MAX_SERIES]) - (MAX_POINTS - room)
    if lost:
        notes.append(f"{lost:,} points are not drawn: a chart has at most {MAX_POINTS:,}.")
    return SeriesView(view.title, kept, " ".join(filter(None, notes)))
