"""Bars that lie: a label, a bar and its value in each row; in groups, in parts, or against a mark. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bench.charts_svg import LABEL, MARGIN, SMALL, WIDTH, frame, line, rect, text, width

__all__ = ["Bar", "Bars", "Group", "draw_bars"]

TOP = 76
ROW, THICK = 26, 16
HEADING = 30
GAP = 10
"""The room between a label, its bar and its value."""

LEAST = 1e-6
"""The size of a chart whose bars are all empty."""


@dataclass(frozen=True)
class Bar:
    """One row: the sizes of the parts of its bar, each in a colour, and the words for its value."""

    label: str
    parts: tuple[tuple[float, str], ...]
    value: str
    of: str = "ink"
    """The colour of the words."""

    @property
    def size(self) -> float:
        """The size of the whole bar."""
        return sum(size for size, _ in self.parts)


@dataclass(frozen=True)
class Group:
    """Rows that are compared with each other."""

    heading: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Bars:
    """A chart of bars."""

    name: str
    title: str
    subtitle: str
    groups: tuple[Group, ...]
    shared: bool = True
    """Whether all groups have one scale."""
    mark: tuple[float, str] | None = None
    """A size at which a line stands, and its words."""
    cap: float | None = None
    """The size beyond which a bar is cut off; its value tells the whole."""
    key: tuple[tuple[str, str], ...] = ()
    """What the colours of the parts mean."""

    @property
    def description(self) -> str:
        """The chart in words."""
        groups = []
        for group in self.groups:
            bars = ", ".join(f"{bar.label} {bar.value}" for bar in group.bars)
            groups.append(f"{group.heading}: {bars}" if group.heading else bars)
        return f"{self.title}, {self.subtitle}. {'; '.join(groups)}."


def draw_bars(chart: Bars) -> str:
    """Return the chart as a file."""
    bars = [bar for group in chart.groups for bar in group.bars]
    left = MARGIN + max(width(bar.label, LABEL, bold=True) for bar in bars) + GAP
    room = WIDTH - MARGIN - max(width(bar.value, LABEL, bold=True) for bar in bars) - GAP - left
    most = max(_longest(chart, group) for group in chart.groups)
    parts, y = _key(chart), TOP + (ROW if chart.key else 0)
    for group in chart.groups:
        if group.heading:
            parts.append(text(MARGIN, y + HEADING - 10, group.heading, of="title"))
            y += HEADING
        if chart.mark is not None and group is chart.groups[0]:
            x = left + chart.mark[0] * room / most
            parts.append(text(x, y - 7, chart.mark[1], size=SMALL, of="soft", anchor="middle"))
        parts += _group(chart, group, (left, y), room / (most if chart.shared else _longest(chart, group)))
        y += ROW * len(group.bars) + GAP
    return frame(chart.title, chart.subtitle, chart.description, y + MARGIN - GAP, parts)


def _group(chart: Bars, group: Group, corner: tuple[float, float], scale: float) -> list[str]:
    left, top = corner
    bottom = top + ROW * len(group.bars)
    drawn = [part for row, bar in enumerate(group.bars) for part in _bar(chart, bar, (left, top + ROW * row), scale)]
    drawn.append(line([(left, top), (left, bottom)], "axis-line"))
    if chart.mark is not None:
        x = left + chart.mark[0] * scale
        drawn.append(line([(x, top - 2), (x, bottom)], "ink-line", 1.5, "4 3"))
    return drawn


def _longest(chart: Bars, group: Group) -> float:
    return max(LEAST, *(_shown(chart, bar) for bar in group.bars))


def _shown(chart: Bars, bar: Bar) -> float:
    return min(bar.size, chart.cap) if chart.cap is not None else bar.size


def _bar(chart: Bars, bar: Bar, corner: tuple[float, float], scale: float) -> list[str]:
    left, middle = corner[0], corner[1] + ROW / 2
    base = middle + 4.5
    is_ours = not chart.key and chart.mark is None and bar.parts[0][1] == "signet"
    of = "signet-text" if is_ours else "ink"
    drawn = [text(left - GAP, base, bar.label, of=of, anchor="end")]
    x, room = left, _shown(chart, bar) * scale
    for size, colour in bar.parts:
        wide = min(size * scale, left + room - x)
        drawn.append(rect(x, middle - THICK / 2, max(wide, 1.0), THICK, colour))
        x += wide
    if room < bar.size * scale:
        # A cut through the bar: it goes on beyond the chart.
        drawn.append(line([(x - 16, middle + 11), (x - 8, middle - 11)], "ground-line", 4))
    if chart.mark is not None:
        # The values stand beside each other, clear of the mark.
        return [*drawn, text(WIDTH - MARGIN, base, bar.value, of=bar.of, anchor="end")]
    return [*drawn, text(x + GAP - 2, base, bar.value, of=of)]


def _key(chart: Bars) -> list[str]:
    drawn, x = [], float(MARGIN)
    for colour, words in chart.key:
        drawn += [rect(x, TOP - 2, 12, 12, colour), text(x + 18, TOP + 8.5, words, size=SMALL, of="soft")]
        x += 18 + width(words, SMALL) + 2 * GAP
    return drawn
