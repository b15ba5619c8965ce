"""The charts that there are, and the rows that each shows; a chart whose rows are missing is left out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import domains, growth, growth_http, memory, wrap
from bench.calls import IN_FLIGHT
from bench.charts_bars import Bar, Bars, Group
from bench.charts_lines import Curve, Lines
from bench.charts_svg import amount
from bench.contenders import BARE_NAME, FASTMCP, MCP_PROXY, NAMES, PROTOCOL_NAME, SDK, SDK_HIGH, TYPESCRIPT
from bench.frames import LEGACY, MODERN
from bench.goals import GOALS, verdicts
from bench.plan import FULL
from bench.rows import BOUND, SIGNET, Row

__all__ = ["catalogue"]

COLOURS = {
    SIGNET: "signet",
    FASTMCP: "s1",
    SDK: "s2",
    SDK_HIGH: "s3",
    TYPESCRIPT[0]: "s4",
    TYPESCRIPT[1]: "s5",
    BARE_NAME: "s6",
    PROTOCOL_NAME: "s7",
    MCP_PROXY: "s3",
}
BOUNDS = {BARE_NAME, PROTOCOL_NAME, BOUND}
"""Not rivals, but what can hardly be beaten: paler bars, broken lines."""
UNITS = {
    "ms": "milliseconds",
    "µs": "microseconds",
    "calls/s": "calls per second",
    "MB": "megabytes",
    "KB": "kilobytes",
}
GOAL_CAP = 2.5
MEGABYTE = 1e6


def catalogue(rows: Sequence[Row]) -> Iterator[Bars | Lines]:
    """Return the charts for which there are rows, in the order of the page."""
    yield from _goals(rows)
    for chart in BARS:
        yield from chart.drawn(rows)
    yield from _http(rows)
    for curve in CURVES:
        yield from curve.drawn(rows)
    yield from _workers(rows)
    yield from _domains(rows)


@dataclass(frozen=True)
class BarChart:
    """A chart of bars: the section of its rows, and the rows by the headings of their groups."""

    name: str
    title: str
    section: str
    rows: dict[str, str]
    shared: bool = True

    def drawn(self, rows: Sequence[Row]) -> Iterator[Bars]:
        """Return the chart, if it has rows."""
        by_name = {row.metric.name: row for row in rows if row.metric.section == self.section}
        found = {heading: by_name[name] for heading, name in self.rows.items() if name in by_name}
        if found:
            groups = tuple(
                Group(heading if len(self.rows) > 1 else "", tuple(map(_bar, _sorted(row))))
                for heading, row in found.items()
            )
            first = next(iter(found.values()))
            yield Bars(self.name, self.title, f"{_unit(first)}, {_reading(first)}", groups, shared=self.shared)


@dataclass(frozen=True)
class CurveChart:
    """A chart of lines: the section and the name of its rows, and the label of its lower axis."""

    name: str
    title: str
    section: str
    metric: str
    x_label: str
    log_x: bool = True
    log_y: bool = True
    spell: str = ""
    """The unit of a place on the lower axis."""

    def drawn(self, rows: Sequence[Row]) -> Iterator[Lines]:
        """Return the chart, if it has rows."""
        found = {
            row.metric.at: row
            for row in rows
            if (row.metric.section, row.metric.name) == (self.section, self.metric) and row.metric.at is not None
        }
        if len(found) > 1:
            yield _lines(self, found)


BARS = (
    BarChart("cold-start", "Cold start: from spawn to tools/list", "cold start", {"": "spawn to tools/list answered"}),
    BarChart(
        "stdio",
        f"Throughput on stdio, {IN_FLIGHT} calls in flight",
        "stdio",
        {
            "400-byte texts": f"{IN_FLIGHT} in flight, small",
            "20-KB texts, bounded by deflate": f"{IN_FLIGHT} in flight, large",
        },
        shared=False,
    ),
    BarChart(
        "stdio-latency",
        "One call at a time on stdio, the median",
        "stdio",
        {"400-byte texts": "one at a time, small, p50", "20-KB texts, bounded by deflate": "one at a time, large, p50"},
        shared=False,
    ),
    BarChart(
        "memory",
        f"Memory after {FULL.memory_calls // 10:,} calls",
        memory.SECTION,
        {door: memory.moment(door, "resident", FULL.memory_calls // 10) for door in ("stdio", "HTTP")},
    ),
    BarChart(
        "wrapped",
        "Time that a wrapper adds to a call",
        wrap.SECTION,
        {f"caller on {door}": f"{door}, {wrap.ADDED}" for door in wrap.DOORS},
    ),
)

_TOOLS_AXIS = "tools that the server has"
_LINKS_AXIS = "connections, each with one call in flight"
CURVES = (
    CurveChart("tools-start", "Cold start by number of tools", growth.TOOLS, growth.START, _TOOLS_AXIS),
    CurveChart("tools-first", "First tools/list by number of tools", growth.TOOLS, growth.FIRST, _TOOLS_AXIS),
    CurveChart("tools-again", "Every further tools/list by number of tools", growth.TOOLS, growth.AGAIN, _TOOLS_AXIS),
    CurveChart("tools-memory", "Memory by number of tools", growth.TOOLS, growth.RESIDENT, _TOOLS_AXIS, log_y=False),
    CurveChart("arguments", "Time of a call on stdio by size of its text", growth.ARGUMENTS, growth.CALL,
               "size of the text", spell="B"),
    CurveChart("connections", "Throughput over HTTP by number of connections", growth_http.CONNECTIONS,
               growth_http.CALLS, _LINKS_AXIS),
    CurveChart("connections-p99", "Slowest hundredth of calls by number of connections", growth_http.CONNECTIONS,
               growth_http.SLOWEST, _LINKS_AXIS),
    CurveChart("connections-memory", "Memory per connection", growth_http.CONNECTIONS, growth_http.PER_CONNECTION,
               "open connections", log_y=False),
    CurveChart("steady", "Ten minutes of calls: throughput", growth_http.STEADY, growth_http.STEADY_CALLS, "minute",
               log_x=False, log_y=False),
    CurveChart("steady-memory", "Ten minutes of calls: resident memory", growth_http.STEADY,
               growth_http.STEADY_MEMORY, "minute", log_x=False, log_y=False),
)  # fmt: skip


def _reading(row: Row) -> str:
    """Return how the values are to be read."""
    rounds = max(map(len, row.values.values()))
    return f"{row.metric.better} is better" + (f"; median of {rounds} rounds" if rounds > 1 else "")


def _unit(row: Row) -> str:
    return UNITS.get(row.metric.unit, row.metric.unit)


def _sorted(row: Row) -> list[tuple[Row, str]]:
    """Return the contenders of a row, the best first; an echo is none, but an interpreter that does nothing is one."""
    shown = [name for name in row.values if name != BOUND or row.metric.unit == "ms"]
    names = sorted(shown, key=row.median, reverse=row.metric.better == "more")
    return [(row, name) for name in names]


def _bar(cell: tuple[Row, str]) -> Bar:
    row, name = cell
    colour = "signet" if name == SIGNET else "bound" if name in BOUNDS else "peer"
    value = row.median(name)
    return Bar(
        "python -c pass" if name == BOUND else name, ((max(value, 0.0), colour),), f"{amount(value)} {row.metric.unit}"
    )


def _lines(chart: CurveChart, found: dict[float, Row]) -> Lines:
    places = sorted(found)
    first = found[places[0]]
    names = [name for name in NAMES if name != BOUND and any(name in row.values for row in found.values())]
    curves = tuple(
        Curve(
            name,
            COLOURS[name],
            tuple((x, found[x].median(name)) for x in places if name in found[x].values),
            "5 4" if name in BOUNDS else "",
        )
        for name in names
    )
    return Lines(
        chart.name,
        chart.title,
        _reading(first),
        chart.x_label,
        _unit(first),
        first.metric.unit,
        curves,
        log_x=chart.log_x,
        log_y=chart.log_y,
        spell=_bytes if chart.spell == "B" else amount,
    )


def _bytes(size: float) -> str:
    return f"{size / MEGABYTE:g} MB" if size >= MEGABYTE else f"{size / 1e3:g} KB"


def _http(rows: Sequence[Row]) -> Iterator[Lines]:
    """Return the throughput by connections; the number of them stands in the names of the rows."""
    for era in (LEGACY, MODERN):
        found: dict[float, Row] = {}
        for row in rows:
            match = re.fullmatch(rf"{era}, (\d+) connections?", row.metric.name)
            if row.metric.section == "HTTP" and match:
                found[float(match[1])] = row
        if len(found) > 1:
            title = f"Throughput over HTTP, protocol {era}"
            yield _lines(CurveChart(f"http-{era}", title, "HTTP", "", _LINKS_AXIS), found)


def _goals(rows: Sequence[Row]) -> Iterator[Bars]:
    """Return what was reached of each goal: 1 is the goal itself."""
    groups: dict[str, list[Bar]] = {}
    for verdict in verdicts(rows, GOALS):
        reached = verdict.surplus + 1
        met = reached >= 1
        value = f"{reached:.2f}" if met else f"{reached:.2f}, missed"
        label = "after a tenth" if verdict.rival == memory.BEFORE else verdict.rival
        bar = Bar(label, ((reached, "signet" if met else "missed"),), value, "ink" if met else "missed-text")
        groups.setdefault(f"{verdict.row.metric.section}: {verdict.row.metric.name}", []).append(bar)
    if groups:
        yield Bars(
            "goals",
            "What was reached of each goal",
            "the measured ratio to each peer, divided by the goal for it; at 1 and beyond the goal is met",
            tuple(Group(heading, tuple(bars)) for heading, bars in groups.items()),
            mark=(1.0, "goal"),
            cap=GOAL_CAP,
        )


def _workers(rows: Sequence[Row]) -> Iterator[Bars]:
    """Return the throughput by the number of workers."""
    found = sorted(
        (row for row in rows if row.metric.section == growth_http.WORKERS), key=lambda row: row.metric.at or 0
    )
    if found:
        bars = tuple(
            Bar(
                f"{row.metric.at:g} worker{'s' if row.metric.at != 1 else ''}",
                ((row.median(SIGNET), "signet"),),
                f"{amount(row.median(SIGNET))} {row.metric.unit}",
            )
            for row in found
        )
        reading = f"{_unit(found[0])}, {_reading(found[0])}; load and workers share two cores"
        title = f"Throughput over HTTP by workers, {growth_http.WORKER_CONNECTIONS} connections"
        yield Bars("workers", title, reading, (Group("", bars),))


def _domains(rows: Sequence[Row]) -> Iterator[Bars]:
    """Return the time of each tool's call in two parts: the upstream's own, and what Signet adds."""
    found = {row.metric.name: row for row in rows if row.metric.section == domains.SECTION}
    groups = []
    for toolset, calls in domains.CALLS.items():
        bars = []
        for tool in calls:
            if tool in found and tool + domains.ADDED in found:
                upstream = found[tool].median(domains.UPSTREAM) / 1e3
                added = max(0.0, found[tool + domains.ADDED].median(SIGNET) / 1e3)
                value = f"{upstream:.2f} + {added:.2f} ms"
                bars.append(Bar(tool, ((upstream, "peer"), (added, "signet")), value))
        if bars:
            groups.append(Group({"oj": "Online judges", "boj": "Bank of Japan"}[toolset], tuple(bars)))
    if groups:
        yield Bars(
            "domains",
            "A call end to end: the upstream's time and Signet's",
            "milliseconds, one call at a time; the upstream is the sandbox on the same machine",
            tuple(groups),
            key=(("peer", "the upstream's own time for the same requests"), ("signet", "added by Signet")),
        )
