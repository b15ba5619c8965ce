"""Charts: the results as pictures that are read at a glance, one SVG each; drawn by our own few lines.

rows ── catalogue ──▶ Bars, Lines ── draw ──▶ SVG
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.charts_bars import Bars, draw_bars
from bench.charts_catalogue import catalogue
from bench.charts_lines import draw_lines
from bench.rows import Row

__all__ = ["FOLDER", "Chart", "charts", "draw", "write"]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images" / "bench"


@dataclass(frozen=True)
class Chart:
    """A chart that was drawn: the name of its file, its title, and its text for those who do not see it."""

    file: str
    title: str
    alt: str


def charts(rows: Sequence[Row]) -> list[Chart]:
    """Return the charts for which there are rows, in the order of the page."""
    return [Chart(f"{one.name}.svg", one.title, one.description) for one in catalogue(rows)]


def draw(rows: Sequence[Row]) -> dict[str, str]:
    """Return the text of each file by its name; the same rows give the same texts."""
    return {f"{one.name}.svg": draw_bars(one) if isinstance(one, Bars) else draw_lines(one) for one in catalogue(rows)}


def write(rows: Sequence[Row], folder: Path = FOLDER) -> list[Chart]:
    """Write the files into a folder and return what was drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in draw(rows).items():
        (folder / name).write_text(svg, encoding="utf-8")
    return charts(rows)
