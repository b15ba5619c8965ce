"""The charts: each shows every contender, in both colour schemes, and no label leaves the picture or hides another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from bench import charts, domains, growth, growth_http, memory, wrap
from bench.charts_bars import Bar, Bars, Group, draw_bars
from bench.contenders import BARE_NAME, FASTMCP, MCP_PROXY, NAMES, PROTOCOL_NAME, SDK, SDK_HIGH, TYPESCRIPT
from bench.frames import LEGACY, MODERN
from bench.rows import SIGNET, Metric, Row

SVG = "{http://www.w3.org/2000/svg}"
EVERYONE = [name for name in NAMES if name != MCP_PROXY]
CURVE_PEERS = (SIGNET, SDK, FASTMCP)

SINGLE = {
    ("cold start", "spawn to tools/list answered", "ms", "less"): (62, 508, 571, 871, 246, 212, 51, None, 11),
    ("stdio", "64 in flight, small", "calls/s", "more"): (
        44_120, 1_997, 1_738, 1_113, 23_190, 11_110, 61_723, None, 361_000,
    ),
    ("stdio", "64 in flight, large", "calls/s", "more"): (2_622, 921, 915, 695, 1_815, 1_748, 2_718, None, 44_000),
    ("stdio", "one at a time, small, p50", "µs", "less"): (81, 488, 582, 815, 190, 244, 67, None, 32),
    ("memory", memory.moment("stdio", "resident", 10_000), "MB", "less"): (28, 71, 68, 92, 66, 69, 21, None, None),
    ("memory", memory.moment("HTTP", "resident", 10_000), "MB", "less"): (41, 83, 80, 104, 79, 84, 38, 35, None),
    ("HTTP", f"{LEGACY}, 1 connection", "calls/s", "more"): (
        8_343, 1_612, 1_438, 1_043, 968, 1_609, 9_313, 10_842, 14_000,
    ),
    ("HTTP", f"{LEGACY}, 16 connections", "calls/s", "more"): (
        21_470, 1_662, 1_547, 922, 1_178, 1_940, 18_545, 42_015, 61_000,
    ),
    ("HTTP", f"{LEGACY}, 64 connections", "calls/s", "more"): (
        22_188, 1_372, 1_276, 681, 1_265, 1_751, 18_216, 41_846, 64_000,
    ),
    ("HTTP", f"{MODERN}, 1 connection", "calls/s", "more"): (
        8_454, 2_647, 2_467, 925, None, 1_505, 9_210, 10_700, 14_000,
    ),
    ("HTTP", f"{MODERN}, 16 connections", "calls/s", "more"): (
        20_011, 3_010, 2_600, 730, None, 1_640, 18_300, 41_000, 60_000,
    ),
    ("HTTP", f"{MODERN}, 64 connections", "calls/s", "more"): (
        21_520, 3_033, 2_634, 636, None, 1_673, 18_000, 40_900, 63_000,
    ),
}  # fmt: skip
"""What a run may tell, in the order of EVERYONE."""


def curve(section: str, name: str, unit: str, better: str, points: dict[float, Sequence[float]]) -> list[Row]:
    return [
        Row(
            Metric(section, name, unit, better, at=at),
            {who: [value] for who, value in zip(CURVE_PEERS, values, strict=False)},
        )
        for at, values in points.items()
    ]


def results() -> list[Row]:
    """Return rows for every chart."""
    rows = [
        Row(Metric(*metric), {who: [v, v * 1.1, v * 0.9] for who, v in zip(EVERYONE, values, strict=True) if v})
        for metric, values in SINGLE.items()
    ]  # fmt: skip
    for door, values in {"stdio": (96, 800), "HTTP": (140, 1_050, 2_240)}.items():
        added = zip((SIGNET, FASTMCP, MCP_PROXY), values, strict=False)
        rows.append(
            Row(Metric(wrap.SECTION, f"{door}, {wrap.ADDED}", "µs", "less"), {who: [one] for who, one in added})
        )
    for door in ("stdio", "HTTP"):
        grown = Metric(memory.SECTION, memory.growth_name(door, 100_000), "MB", "less")
        rows.append(Row(grown, {SIGNET: [41.2], memory.BEFORE: [41.0]}))
    tools = growth.TOOL_COUNTS
    rows += curve(growth.TOOLS, growth.START, "ms", "less",
                  {n: (60 + 0.3 * n, 520 + 0.8 * n, 900 + 5 * n) for n in tools})  # fmt: skip
    rows += curve(
        growth.TOOLS, growth.FIRST, "ms", "less", {n: (0.2 + 0.007 * n, 2 + 0.08 * n, 210 + n) for n in tools}
    )
    rows += curve(
        growth.TOOLS, growth.AGAIN, "µs", "less", {n: (40 + 1.2 * n, 400 + 60 * n, 800 + 190 * n) for n in tools}
    )
    rows += curve(growth.TOOLS, growth.RESIDENT, "MB", "less",
                  {n: (25 + 0.012 * n, 68 + 0.02 * n, 93 + 0.05 * n) for n in tools})  # fmt: skip
    rows += curve(growth.ARGUMENTS, growth.CALL, "µs", "less",
                  {n: (80 + n * 0.0036, 480 + n * 0.002, 810 + n * 0.003) for n in growth.SIZES})  # fmt: skip
    rates = zip(growth_http.CONNECTION_COUNTS, (8_343, 20_470, 22_188, 21_100, 17_950), strict=True)
    rows += curve(
        growth_http.CONNECTIONS,
        growth_http.CALLS,
        "calls/s",
        "more",
        {n: (v, 1_500 - n / 3, 900 - n / 4) for n, v in rates},
    )
    rows += curve(growth_http.CONNECTIONS, growth_http.SLOWEST, "ms", "less",
                  {n: (0.2 + n / 15, 0.9 + n / 1.2, 1.6 + n / 0.7) for n in growth_http.CONNECTION_COUNTS})  # fmt: skip
    rows += curve(growth_http.CONNECTIONS, growth_http.PER_CONNECTION, "KB", "less",
                  {100: (14.1, 70, 94), 300: (11.5, 65, 93), 1_000: (9.2, 64, 92)})  # fmt: skip
    rows += curve(growth_http.WORKERS, growth_http.WORKER_CALLS, "calls/s", "more", {1: (15_200,), 2: (17_900,)})
    minutes = range(1, 11)
    rows += curve(
        growth_http.STEADY, growth_http.STEADY_CALLS, "calls/s", "more", {n: (15_000 + 97 * (n % 3),) for n in minutes}
    )
    rows += curve(growth_http.STEADY, growth_http.STEADY_MEMORY, "MB", "less", {n: (44.4 + 0.05 * n,) for n in minutes})
    for number, tool in enumerate(tool for calls in domains.CALLS.values() for tool in calls):
        upstream, added = 180.0 + 70 * number, 420.0 + 31 * number
        metric = Metric(domains.SECTION, tool, "µs", "less")
        rows.append(Row(metric, {SIGNET: [upstream + added], domains.UPSTREAM: [upstream]}))
        rows.append(Row(Metric(domains.SECTION, tool + domains.ADDED, "µs", "less"), {SIGNET: [added]}))
    return rows


DRAWN = charts.draw(results())
LISTED = {chart.file: chart for chart in charts.charts(results())}
LETTER_EM, LINE_EM = 0.52, 0.8
"""An average letter, and the height of a line without the room below it; not the estimates that the charts use."""


def texts(svg: str) -> list[tuple[str, float, float, float, float]]:
    """Return each text with its left, top, right and bottom."""
    found = []
    for node in ET.fromstring(svg).iter(f"{SVG}text"):
        words, size = node.text or "", float(node.attrib["font-size"])
        wide = len(words) * size * LETTER_EM
        left = float(node.attrib["x"]) - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[node.attrib["text-anchor"]]
        base = float(node.attrib["y"])
        found.append((words, left, base - size * LINE_EM, left + wide, base))
    return found


def test_each_result_has_its_chart() -> None:
    assert list(DRAWN) == list(LISTED) == [
        "goals.svg", "cold-start.svg", "stdio.svg", "stdio-latency.svg", "memory.svg", "wrapped.svg",
        "http-2025-11-25.svg", "http-2026-07-28.svg", "tools-start.svg", "tools-first.svg", "tools-again.svg",
        "tools-memory.svg", "arguments.svg", "connections.svg", "connections-p99.svg", "connections-memory.svg",
        "steady.svg", "steady-memory.svg", "workers.svg", "domains.svg",
    ]  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_leaves_the_picture(name: str) -> None:
    _, _, wide, high = map(float, ET.fromstring(DRAWN[name]).attrib["viewBox"].split())

    outside = [one for one in texts(DRAWN[name]) if one[1] < 8 or one[2] < 8 or one[3] > wide - 8 or one[4] > high - 8]

    assert wide == 720
    assert outside == []


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_hides_another(name: str) -> None:
    hidden = [
        (one[0], other[0])
        for one, other in combinations(texts(DRAWN[name]), 2)
        if one[1] < other[3] and other[1] < one[3] and one[2] < other[4] and other[2] < one[4]
    ]

    assert hidden == []


@pytest.mark.parametrize("name", DRAWN)
def test_every_colour_is_defined_for_both_schemes(name: str) -> None:
    root = ET.fromstring(DRAWN[name])
    light, dark = str(root.findtext(f"{SVG}style")).split("@media (prefers-color-scheme:dark)")
    used = {node.attrib["class"] for node in root.iter() if "class" in node.attrib}

    for scheme in (light, dark):
        assert {of for of in used if f".{of}{{" not in scheme} == set()
    assert set(re.findall(r"\.ground\{fill:(#\w+)", light)) != set(re.findall(r"\.ground\{fill:(#\w+)", dark))


@pytest.mark.parametrize("name", DRAWN)
def test_a_chart_can_be_heard(name: str) -> None:
    root = ET.fromstring(DRAWN[name])

    assert root.attrib["role"] == "img"
    assert (root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")) == (LISTED[name].title, LISTED[name].alt)


@pytest.mark.parametrize("name", ["cold-start.svg", "stdio.svg", "memory.svg", "http-2025-11-25.svg"])
def test_a_chart_shows_every_server_that_was_measured(name: str) -> None:
    shown = " ".join(one[0] for one in texts(DRAWN[name]))
    servers = {SIGNET, SDK, SDK_HIGH, FASTMCP, *TYPESCRIPT, BARE_NAME}
    servers |= {PROTOCOL_NAME} if name in {"memory.svg", "http-2025-11-25.svg"} else set()

    assert {server for server in servers if server not in shown} == set()


def test_the_values_are_medians_and_the_best_stands_first() -> None:
    row = Row(
        Metric("cold start", "spawn to tools/list answered", "ms", "less"),
        {FASTMCP: [900.0] * 3, SIGNET: [70.0, 62.5, 10.0]},
    )

    svg = charts.draw([row])["cold-start.svg"]

    shown = [one[0] for one in texts(svg)]
    assert shown[2:] == ["Signet", "62.5 ms", "FastMCP", "900 ms"]
    wide = [float(node.attrib["width"]) for node in ET.fromstring(svg).iter(f"{SVG}rect")][1:]
    assert wide[0] / wide[1] == pytest.approx(62.5 / 900, rel=0.01)


def test_a_goal_that_is_missed_ends_before_the_line_and_says_so() -> None:
    metric = Metric("HTTP", f"{LEGACY}, 16 connections", "calls/s", "more")
    row = Row(metric, {SIGNET: [50.0], FASTMCP: [1.0], SDK: [5.0]})

    root = ET.fromstring(charts.draw([row])["goals.svg"])

    bars = list(root.iter(f"{SVG}rect"))[1:]
    ends = [float(bar.attrib["x"]) + float(bar.attrib["width"]) for bar in bars]
    mark = next(node for node in root.iter(f"{SVG}polyline") if node.attrib["class"] == "ink-line")
    line = float(mark.attrib["points"].split(",")[0])
    assert [bar.attrib["class"] for bar in bars] == ["signet", "missed"]
    assert ends[1] < line < ends[0]
    assert {"2.00", "0.71, missed"} <= {node.text for node in root.iter(f"{SVG}text")}


def test_a_logarithmic_axis_has_equal_steps_for_equal_ratios() -> None:
    rows = curve(growth.ARGUMENTS, growth.CALL, "µs", "less", {1_000: (10,), 10_000: (100,), 100_000: (1_000,)})

    root = ET.fromstring(charts.draw(rows)["arguments.svg"])

    path = next(node for node in root.iter(f"{SVG}polyline") if node.attrib["class"] == "signet-line").attrib["points"]
    (x1, y1), (x2, y2), (x3, y3) = (map(float, point.split(",")) for point in path.split())
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert y1 - y2 == pytest.approx(y2 - y3, abs=0.2)
    assert y2 < y1


def test_lines_that_end_together_have_names_apart() -> None:
    names = {name: [1_000.0] for name in EVERYONE}
    rows = [Row(Metric("HTTP", f"{LEGACY}, {count} connections", "calls/s", "more"), dict(names)) for count in (16, 64)]

    svg = charts.draw(rows)["http-2025-11-25.svg"]

    tops = sorted(one[2] for one in texts(svg) if one[0].endswith("calls/s"))
    assert len(tops) == len(EVERYONE) - 1
    assert min(after - before for before, after in pairwise(tops)) >= 12


def test_bars_that_are_empty_and_words_that_mean_something_in_xml_are_drawn() -> None:
    bars = Bars("odd", "a < b", "c & d", (Group("<e>", (Bar("f & g", ((0.0, "peer"),), '"0"'),)),))

    assert [one[0] for one in texts(draw_bars(bars))] == ["a < b", "c & d", "<e>", "f & g", '"0"']


def test_rows_that_are_missing_leave_their_chart_out() -> None:
    assert charts.draw([]) == {}
    assert list(charts.draw([row for row in results() if row.metric.section == "cold start"])) == [
        "goals.svg",
        "cold-start.svg",
    ]


def test_the_same_rows_give_the_same_files(tmp_path: Path) -> None:
    listed = charts.write(results(), tmp_path / "charts")

    assert {path.name: path.read_text() for path in (tmp_path / "charts").iterdir()} == DRAWN
    assert [chart.file for chart in listed] == list(DRAWN)
