"""The page of the benchmarks: a goal is judged by the median, and the page is what the stored runs give."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import msgspec
import pytest
from bench.charts import draw
from bench.contenders import BARE_NAME, FASTMCP, PEERS, SDK, TYPESCRIPT
from bench.frames import LEGACY, MODERN
from bench.goals import FURTHER, GOALS, REASONS, Goal, verdicts
from bench.machine import versions
from bench.memory import field_mb, growth
from bench.own import KINDS, QUICK, SECTION, TWIN
from bench.report import page
from bench.results import Setting, Sitting, load, merged, rows_of, save
from bench.rows import SIGNET, Metric, Row

CALLS = Metric("stdio", "64 in flight, small", "calls/s", "more")
LARGE_CALLS = Metric("stdio", "64 in flight, large", "calls/s", "more")
START = Metric("cold start", "spawn to tools/list", "ms", "less")
START_TITLE, CALLS_TITLE = "| cold start: spawn to tools/list", "| stdio: 64 in flight, small"
RECORDS = (
    "of the 24 µs of a call, its work takes 12; the checks of a protocol, limits and ids 5; its record in the journal, "
    "by a thread on the same core, 5"
)
REASON = "the command line, the settings, the protocol and the journal are loaded too; the bare loop has none"
V1, V2 = TYPESCRIPT
SETTING = Setting("a machine", "versions", two_cores=True, others=0.15, today=dt.date(2026, 1, 2))


def test_a_goal_is_judged_by_the_median_of_the_rounds() -> None:
    rows = [
        Row(CALLS, {SIGNET: [36.0, 44.0, 40.0], FASTMCP: [1.0, 1.0, 1.0], BARE_NAME: [40.0, 80.0, 80.0]}),
        Row(START, {SIGNET: [50.0], SDK: [500.0]}),
    ]
    goals = [
        Goal("stdio", "64 in flight, small", (FASTMCP,), 32),
        Goal("stdio", "64 in flight, small", (BARE_NAME,), 0.6875),
        Goal("cold start", "spawn", (SDK,), 0.125),
        Goal("cold start", "spawn", (SDK,), 0.05),
        Goal("HTTP", "not measured", (SDK,), 14),
    ]

    found = verdicts(rows, goals)

    assert [verdict.goal for verdict in found] == goals[:4]
    assert [round(verdict.surplus, 3) for verdict in found] == [0.25, -0.2, 0.25, -0.5]


def test_the_page_tells_each_goal_its_ratio_and_by_how_much_it_is_met_or_missed() -> None:
    rows = [
        Row(
            CALLS,
            {
                SIGNET: [44.0, 45.0, 54.0],
                FASTMCP: [1.0, 1.0, 1.0],
                V1: [11.0, 15.0, 18.0],
                V2: [24.0, 25.0, 30.0],
                BARE_NAME: [80.0, 90.0, 90.0],
            },
        ),
        Row(START, {SIGNET: [50.0], SDK: [500.0], BARE_NAME: [40.0]}),
    ]

    text = page([Sitting(SETTING, rows)])

    told = [line for line in text.splitlines() if "at least" in line or "at most" in line]
    assert told == [
        f"{START_TITLE} | SDK, low level | at most 1/7.5 | **1/10** (10 to 10) | met by 33% |  |",
        f"{START_TITLE} | bare server | at most 1.15x | **1.25x** (1.25 to 1.25) | **missed** by 8% | {REASON} |",
        f"{CALLS_TITLE} | FastMCP | at least 36x | **45x** (44 to 54) | met by 25% |  |",
        f"{CALLS_TITLE} | {V2}, the better of v1 and v2 | at least 1.8x | **1.8x** (1.8 to 1.8) | met by 0% |  |",
        f"{CALLS_TITLE} | bare server | at least 0.70x | **0.55x** (0.50 to 0.60) | **missed** by 21% | {RECORDS} |",
    ]
    assert "Other work took 15% of the processor meanwhile." in text


def test_a_package_that_is_not_installed_is_named_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("bench.machine.PACKAGES", ("msgspec", "no-such-package"))

    monkeypatch.setattr("bench.machine.PROXY_ENVIRONMENT", tmp_path)
    monkeypatch.setattr("bench.machine.ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    found = versions()

    assert found == (
        f"msgspec {msgspec.__version__}, no-such-package (not installed), mcp-proxy (not installed), "
        "@modelcontextprotocol/sdk (not installed), @modelcontextprotocol/server (not installed), "
        "Node.js (not installed), Redis (not installed)"
    )


def test_a_page_without_goals_has_no_table_of_them() -> None:
    assert "## Goals" not in page([Sitting(SETTING, [Row(LARGE_CALLS, {SIGNET: [50.0], FASTMCP: [10.0]})])])


def test_a_partial_run_replaces_the_sections_that_it_measured_and_keeps_the_others(tmp_path: Path) -> None:
    file = tmp_path / "benchmarks.json"
    calls, start = Row(CALLS, {SIGNET: [44.0]}), Row(START, {SIGNET: [50.0]})
    faster = Row(CALLS, {SIGNET: [55.0]})
    later = Setting("a machine", "versions", two_cores=True, others=None, today=dt.date(2026, 1, 3))

    save([Sitting(SETTING, [calls, start])], file)
    save(merged(load(file), Sitting(later, [faster])), file)

    assert load(file) == [Sitting(SETTING, [start]), Sitting(later, [faster])]


def test_sections_stand_in_their_order_and_tell_their_run_where_runs_differ() -> None:
    later = Setting("a machine", "versions", two_cores=True, others=None, today=dt.date(2026, 1, 3))
    calls, start = Row(CALLS, {SIGNET: [44.0], SDK: [4.0]}), Row(START, {SIGNET: [50.0], SDK: [500.0]})

    text = page([Sitting(SETTING, [calls]), Sitting(later, [start])])

    assert [line for line in text.splitlines() if line.startswith(("Measured", "Versions"))] == [
        "Measured 2026-01-02 on a machine (stdio). Other work took 15% of the processor meanwhile.",
        "Versions: versions.",
        "Measured 2026-01-03 on a machine (cold start).",
    ]
    medians = text.partition("## Medians")[2]
    assert medians.index("cold start: spawn") < medians.index("stdio: 64 in flight")


@pytest.mark.parametrize(("others", "warns"), [(0.04, False), (0.2, False), (0.21, True)])
def test_the_page_warns_of_figures_of_a_busy_machine(others: float, warns: bool) -> None:
    setting = Setting("a machine", "versions", two_cores=True, others=others, today=dt.date(2026, 1, 2))

    text = page([Sitting(setting, [Row(CALLS, {SIGNET: [44.0]})])])

    assert ("measure again on a quiet one" in text) == warns


def test_the_page_and_its_charts_are_what_the_stored_runs_give() -> None:
    """`python -m bench --draw` mends it."""
    sittings = load()

    assert Path("docs/benchmarks.md").read_text(encoding="utf-8") == page(sittings)
    charts = {file.name: file.read_text(encoding="utf-8") for file in Path("docs/images/bench").glob("*.svg")}
    assert charts == draw(rows_of(sittings))


def test_a_peer_without_an_era_is_left_out_of_its_row_alone() -> None:
    old = Row(Metric("HTTP", f"{LEGACY}, 16 connections", "calls/s", "more"), {SIGNET: [9.0], V1: [1.0], V2: [2.0]})
    new = Row(Metric("HTTP", f"{MODERN}, 16 connections", "calls/s", "more"), {SIGNET: [9.0], V2: [1.0]})

    found = verdicts([old, new])

    assert [(verdict.rival, verdict.measured.median) for verdict in found] == [(V2, 4.5), (V2, 9.0)]
    assert "| HTTP: 2025-11-25, 16 connections | **9.0x** (9.0 to 9.0) | **4.5x** (4.5 to 4.5) |" in page(
        [Sitting(SETTING, [old, new])]
    )


def test_memory_is_judged_by_the_leanest_peer_and_by_its_growth() -> None:
    used = Row(
        Metric("memory", "stdio, resident after 10,000 calls", "MB", "less"),
        {SIGNET: [33.0, 31.0], **{peer: [90.0, 92.0] for peer in PEERS}, V2: [66.0, 62.0]},
    )
    whole = Row(Metric("memory", "stdio, resident after 100,000 calls", "MB", "less"), {SIGNET: [33.0, 31.31]})

    rows = [used, whole, growth([used, whole], "stdio", 100_000)]

    found = [
        (verdict.rival, round(verdict.measured.median, 3), round(verdict.surplus, 3)) for verdict in verdicts(rows)
    ]
    assert found == [(V2, 0.5, 0.0), ("Signet after a tenth of the calls", 1.005, 0.015)]


def test_the_memory_of_a_process_is_read_from_the_kernel() -> None:
    assert 0 < field_mb(os.getpid(), "resident") <= field_mb(os.getpid(), "peak")


def test_every_reason_belongs_to_a_goal() -> None:
    assert REASONS.keys() <= {goal.key for goal in (*GOALS, *FURTHER)}


def test_a_curve_is_a_table_of_its_own_and_no_goal() -> None:
    rows = [
        Row(Metric("stdio", "64 in flight, small", "calls/s", "more", at=at), {SIGNET: [value], FASTMCP: [1.0]})
        for at, value in ((500, 20.0), (1, 90.0))
    ]

    text = page([Sitting(SETTING, rows)])

    assert verdicts(rows) == []
    assert (
        "| stdio: 64 in flight, small, calls/s | Signet | FastMCP |\n|---|---|---|\n"
        "| 1 | 90.0 | 1.0 |\n| 500 | 20.0 | 1.0 |\n"
    ) in text


def test_each_kind_of_own_tool_is_judged_by_its_twin_and_shown_beside_the_quick_function() -> None:
    rows = [
        Row(
            Metric(SECTION, f"{words}, 64 in flight", "calls/s", "more"),
            {SIGNET: [95.0], TWIN: [100.0], QUICK: [190.0]},
        )
        for words in KINDS.values()
    ]

    found = verdicts(rows)

    assert [(verdict.row, verdict.rival) for verdict in found] == [
        *((row, TWIN) for row in rows),
        (rows[0], QUICK),
    ]
    assert [round(verdict.surplus, 2) for verdict in found] == [0.0, 0.0, 0.0, -0.47]
    assert "| own tool: a coroutine, 64 in flight | **0.95x** (0.95 to 0.95) | **0.50x** (0.50 to 0.50) |" in page(
        [Sitting(SETTING, rows)]
    )
