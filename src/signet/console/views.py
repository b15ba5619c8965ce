"""How a result is best shown to people: Markdown as a page, series as a chart, diagrams as a picture, else JSON.

What a result is, is told by its shape, so that tools of a user are shown as well as Signet's own.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Final, Literal

import msgspec

from signet.kernel.tools import Tool

from .twin import Shown

__all__ = ["ResultView", "SeriesShown", "view_of"]

MAX_MARKDOWN_CHARS: Final = 300_000
"""The longest text that is rendered; a longer one is shown as it is."""
MAX_POINTS: Final = 400_000
"""The most points that are drawn; the tree shows all."""
DIAGRAMS: Final = {
    "plantuml.encode": "link",
    "plantuml.link": "link",
    "plantuml.render": "picture",
    "plantuml.check": "check",
}
"""What the results of the diagram tools are, by slug."""


class SeriesShown(Shown, frozen=True):
    """One series as a chart takes it."""

    name: str
    unit: str
    code: str
    frequency: str
    points: list[tuple[float, float | None]]
    """Milliseconds since the epoch, and the value; null is a gap."""


class ResultView(Shown, frozen=True, omit_defaults=True):
    """How a result is shown."""

    kind: Literal["json", "markdown", "series", "diagram"]
    html: str = ""
    """Markdown: the page, which has no HTML of its author in it."""
    series: list[SeriesShown] = msgspec.field(default_factory=list)
    diagram: Literal["", "link", "picture", "check"] = ""
    """Diagrams: what the result is."""


JSON_VIEW: Final = ResultView("json")


def view_of(tool: Tool | None, result: Any) -> ResultView:
    """Return how a result is shown; slow, so for a thread."""
    if tool is None or not isinstance(result, dict):
        return JSON_VIEW
    if tool.slug in DIAGRAMS:
        return ResultView("diagram", diagram=DIAGRAMS[tool.slug])  # type: ignore[arg-type]
    text = result.get("markdown")
    if isinstance(text, str) and len(result) == 1 and len(text) <= MAX_MARKDOWN_CHARS:
        from .markdown import to_html

        return ResultView("markdown", html=to_html(text))
    series = _series(result.get("series"))
    return ResultView("series", series=series) if series else JSON_VIEW


def _series(given: Any) -> list[SeriesShown]:
    """Return series that can be drawn; none if one of them cannot."""
    if not isinstance(given, list):
        return []
    drawn: list[SeriesShown] = []
    room = MAX_POINTS
    for one in given:
        try:
            points = _points(one)
        except (KeyError, TypeError, ValueError, AttributeError):
            return []
        room -= len(points)
        if room < 0:
            return []
        name = _text(one, "name", "name_of_time_series", "name_of_time_series_j")
        code = _text(one, "code", "series_code")
        drawn.append(SeriesShown(name or code, _text(one, "unit", "unit_j"), code, _text(one, "frequency"), points))
    return drawn


def _text(one: dict[str, Any], *names: str) -> str:
    return next((text for name in names if isinstance(text := one.get(name), str) and text), "")


def _points(one: dict[str, Any]) -> list[tuple[float, float | None]]:
    if "dates" in one and "values" in one:
        days = map(date.fromisoformat, one["dates"])
        return [(_ms(day), _number(value)) for day, value in zip(days, one["values"], strict=True)]
    from signet.toolsets.boj.periods import days_of, frequency_code

    code = frequency_code(one["frequency"])
    return [(_ms(days_of(code, point["survey_date"]).first), _number(point["value"])) for point in one["points"]]


def _ms(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000


def _number(value: str | float | None) -> float | None:
    return None if value is None else float(value)
