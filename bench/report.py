"""The page: goals first, then ratios, medians, curves and the method; drawn from the stored runs alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bench.charts import charts
from bench.contenders import NAMES
from bench.goals import FURTHER, GOALS, Goal, Verdict, verdicts
from bench.method import CURVES_READING, FURTHER_READING, GOALS_READING, INTRO, METHOD, READING
from bench.process import ALLOCATOR
from bench.results import Sitting, rows_of
from bench.rows import Ratio, Row

__all__ = ["page"]

ROUND_FROM = 10
"""From this value on a ratio has no decimals."""
NEAR = 1.5
"""Below this value a ratio has two decimals: it is near to one, and its goal may be too."""
NOISY = 0.2
"""The share of the processor that other work may take before the page warns of its own figures."""
SECTIONS = ("cold start", "stdio", "HTTP", "REST", "envelope", "memory", "wrap", "options", "journal", "own tool")
"""The order of the sections, however many runs they are from; others stand behind them."""


def page(sittings: Sequence[Sitting]) -> str:
    """Return the whole page; its charts are files below `docs/images/bench`."""
    rows = sorted(rows_of(sittings), key=_place)
    single = [row for row in rows if row.metric.at is None]
    parts = [
        INTRO,
        *_settings(sittings),
        *_goals(single, GOALS, "## Goals", GOALS_READING),
        *_goals(single, FURTHER, "### Goals of earlier versions", FURTHER_READING),
        *_glance(rows),
        "## Signet compared",
        READING,
        *(_ratios(group) for group in _by_rivals(single)),
        "## Medians",
        *map(_medians, _by_section(single)),
        *_curves([row for row in rows if row.metric.at is not None]),
        "## How",
        METHOD + "\n" + _conditions(sittings),
    ]
    return "\n\n".join(parts) + "\n"


def _glance(rows: Sequence[Row]) -> list[str]:
    shown = [f"![{chart.alt}](images/bench/{chart.file})" for chart in charts(rows)]
    return ["## At a glance", *shown] if shown else []


def _place(row: Row) -> int:
    section = row.metric.section
    return SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)


def _settings(sittings: Sequence[Sitting]) -> list[str]:
    """Return when and where each run was made; where there are several, with the sections of each."""
    parts: list[str] = []
    for sitting in sittings:
        setting = sitting.setting
        sections = ", ".join(dict.fromkeys(row.metric.section for row in sitting.rows))
        which = f" ({sections})" if len(sittings) > 1 else ""
        parts.append(f"Measured {setting.today} on {setting.hardware}{which}.{_quiet(setting.others)}")
        versions = f"Versions: {setting.versions}."
        parts += [versions] if versions not in parts else []
    return parts


def _goals(rows: Sequence[Row], goals: Sequence[Goal], title: str, reading: str) -> list[str]:
    """Return the table of the goals whose rows were measured."""
    found = verdicts(rows, goals)
    if not found:
        return []
    head = ("", "against", "goal", "measured", "", "reason")
    return [title, reading, _table([head, *map(_goal_line, found)])]


def _goal_line(verdict: Verdict) -> tuple[str, ...]:
    goal, row, rival, measured, surplus = verdict
    better = row.metric.better
    limit = f"{'at least' if better == 'more' else 'at most'} {_multiple(goal.ratio, better)}"
    result = f"{'met' if surplus >= 0 else '**missed**'} by {abs(surplus):.0%}"
    against = f"{rival}, {goal.best}" if goal.best else rival
    return _title(row), against, limit, ratio_text(measured, better), result, verdict.reason


def _multiple(ratio: float, better: str) -> str:
    if better == "less" and ratio < 1:
        return f"1/{_short(1 / ratio)}"
    return f"{_short(ratio)}x"


def ratio_text(ratio: Ratio, better: str) -> str:
    """Return a fraction if less is better and Signet needs less, otherwise a multiple."""
    if better == "less" and ratio.median < 1:
        low, high = 1 / ratio.high, 1 / ratio.low
        return f"**1/{_short(1 / ratio.median)}** ({_short(low)} to {_short(high)})"
    return f"**{_short(ratio.median)}x** ({_short(ratio.low)} to {_short(ratio.high)})"


def _quiet(others: float | None) -> str:
    if others is None:
        return ""
    noisy = " **Figures of so busy a machine say little: measure again on a quiet one.**" if others > NOISY else ""
    return f" Other work took {others:.0%} of the processor meanwhile.{noisy}"


def _short(value: float) -> str:
    if value >= ROUND_FROM:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= NEAR else f"{value:.2f}"


def _by_rivals(rows: Sequence[Row]) -> list[list[Row]]:
    """Group the rows by their rivals; each group has a table of its own. A row without a rival is in none."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.rivals:
            groups.setdefault(row.rivals, []).append(row)
    return list(groups.values())


def _ratios(rows: Sequence[Row]) -> str:
    rivals = rows[0].rivals
    lines = [("", *(f"against {rival}" for rival in rivals))]
    lines += [(_title(row), *(ratio_text(row.ratio(rival), row.metric.better) for rival in rivals)) for row in rows]
    return _table(lines)


def _by_section(rows: Sequence[Row]) -> list[list[Row]]:
    """Group the rows by their sections; each has a table of its own, with the columns that it needs."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.metric.section, []).append(row)
    return list(groups.values())


def _medians(rows: Sequence[Row]) -> str:
    seen = {name for row in rows for name in row.values}
    names = [name for name in NAMES if name in seen] + sorted(seen - set(NAMES))
    lines = [("", "unit", *names)]
    for row in rows:
        cells = [f"{row.median(name):,.0f}" if name in row.values else "" for name in names]
        lines.append((_title(row), row.metric.unit, *cells))
    return _table(lines)


def _curves(rows: Sequence[Row]) -> list[str]:
    """Return a table for each curve: a line for each place on it, a column for each contender."""
    curves: dict[str, list[Row]] = {}
    for row in rows:
        curves.setdefault(f"{_title(row)}, {row.metric.unit}", []).append(row)
    return ["## How cost grows", CURVES_READING, *map(_curve, curves, curves.values())] if curves else []


def _curve(title: str, rows: Sequence[Row]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    lines = [(title, *names)]
    for row in sorted(rows, key=lambda row: row.metric.at or 0):
        cells = [f"{row.median(name):,.1f}" if name in row.values else "" for name in names]
        lines.append((f"{row.metric.at:,g}", *cells))
    return _table(lines)


def _title(row: Row) -> str:
    return f"{row.metric.section}: {row.metric.name}"


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body])


def _conditions(sittings: Sequence[Sitting]) -> str:
    rounds: dict[str, int] = {}
    for row in rows_of(sittings):
        most = max(map(len, row.values.values()))
        rounds[row.metric.section] = max(most, rounds.get(row.metric.section, 0))
    counts = ", ".join(f"{section} {count}" for section, count in rounds.items())
    cores = (
        "The server is pinned to one core and the client to another"
        if all(sitting.setting.two_cores for sitting in sittings)
        else "There was only one core, so server and client shared it"
    )
    allocator = " ".join(f"`{name}={value}`" for name, value in ALLOCATOR.items())
    return f"- {cores}; all is on loopback or pipes. Rounds: {counts}.\n- All servers run with {allocator}."
