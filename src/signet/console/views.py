"""How a result is best shown to people: Markdown as a page, series as a chart, diagrams as a picture, else JSON.

What a result is, is told by its shape, so that tools of a user are shown as well as Signet's own.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from signet.kernel.tools import Tool

from .series import ViewedSeries, series_view
from .twin import Shown

__all__ = ["ResultView", "view_of"]

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
