"""The benchmarks: a goal is judged by the median, and a peer is fast only with answers that are right."""

from __future__ import annotations

import asyncio
import datetime as dt
from pathlib import Path

import msgspec
import pytest
from bench.contenders import BARE_NAME, FASTMCP, SDK
from bench.frames import FIRST, LEGACY, MODERN, SMALL, Call, RestCall, WrongAnswerError
from bench.goals import Goal, verdicts
from bench.machine import versions
from bench.own import KINDS, QUICK, SECTION, TWIN
from bench.peers import built_in
from bench.peers.bare import answer, answer_rest, to_request
from bench.peers.plantuml import VIEWER, Encoded
from bench.report import page
from bench.results import Setting, Sitting, load, merged, save
from bench.rows import SIGNET, Metric, Row

from signet.authoring.target import load_target
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool

CALLS = Metric("stdio", "64 in flight, small", "calls/s", "more")
START = Metric("cold start", "spawn to tools/list", "ms", "less")
SETTING = Setting("a machine", "versions", two_cores=True, others=0.25, today=dt.date(2026, 1, 2))


def test_a_goal_is_judged_by_the_median_of_the_rounds() -> None:
    rows = [
        Row(CALLS, {SIGNET: [36.0, 44.0, 40.0], FASTMCP: [1.0, 1.0, 1.0], BARE_NAME: [40.0, 80.0, 80.0]}),
        Row(START, {SIGNET: [50.0], SDK: [500.0]}),
    ]
    goals = [
        Goal("stdio", "64 in flight, small", FASTMCP, 32),
        Goal("stdio", "64 in flight, small", BARE_NAME, 0.6875),
        Goal("cold start", "spawn", SDK, 0.125),
        Goal("cold start", "spawn", SDK, 0.05),
        Goal("HTTP", "not measured", SDK, 14),
    ]

    found = verdicts(rows, goals)

    assert [verdict.goal for verdict in found] == goals[:4]
    assert [round(verdict.surplus, 3) for verdict in found] == [0.25, -0.2, 0.25, -0.5]


def test_the_page_tells_each_goal_its_ratio_and_by_how_much_it_is_met_or_missed() -> None:
    rows = [
        Row(CALLS, {SIGNET: [44.0, 45.0, 54.0], FASTMCP: [1.0, 1.0, 1.0], BARE_NAME: [80.0, 90.0, 90.0]}),
        Row(START, {SIGNET: [50.0], SDK: [500.0]}),
    ]

    text = page(rows, SETTING)

    told = [line for line in text.splitlines() if "at least" in line or "at most" in line]
    assert told == [
        "| stdio: 64 in flight, small | FastMCP | at least 36x | **45x** (44 to 54) | met by 25% |",
        "| stdio: 64 in flight, small | bare server | at least 0.70x | **0.55x** (0.50 to 0.60) | **missed** by 21% |",
        "| cold start: spawn to tools/list | official SDK | at most 1/7.8 | **1/10** (10 to 10) | met by 28% |",
    ]
    assert "Other work took 25% of the processor meanwhile." in text


def test_a_package_that_is_not_installed_is_named_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("bench.machine.PACKAGES", ("msgspec", "no-such-package"))

    monkeypatch.setattr("bench.machine.PROXY_ENVIRONMENT", tmp_path)

    found = versions()

    assert found == f"msgspec {msgspec.__version__}, no-such-package (not installed), mcp-proxy (not installed)"


def test_a_page_without_goals_has_no_table_of_them() -> None:
    assert "## Goals" not in page([Row(START, {SIGNET: [50.0], FASTMCP: [500.0]})], SETTING)


def test_a_partial_run_replaces_the_sections_that_it_measured_and_keeps_the_others(tmp_path: Path) -> None:
    file = tmp_path / "benchmarks.json"
    calls, start = Row(CALLS, {SIGNET: [44.0]}), Row(START, {SIGNET: [50.0]})
    faster = Row(CALLS, {SIGNET: [55.0]})
    later = Setting("a machine", "versions", two_cores=True, others=None, today=dt.date(2026, 1, 3))

    save([Sitting(SETTING, [calls, start])], file)
    save(merged(load(file), Sitting(later, [faster])), file)

    assert load(file) == [Sitting(SETTING, [start]), Sitting(later, [faster])]


@pytest.mark.parametrize("era", [LEGACY, MODERN])
def test_the_bare_server_answers_the_same_call_in_both_eras(era: str) -> None:
    call = Call.of(SMALL, era)

    replies = [answer(to_request(call.frame(number))) for number in (FIRST, FIRST + 1)]

    call.check(replies, [FIRST + 1, FIRST])


def test_a_rest_call_is_known_by_its_text() -> None:
    call = RestCall.of(SMALL)
    replies = [answer_rest(call.frame(number)) for number in (FIRST, FIRST + 1)]

    call.check(replies, [FIRST + 1, FIRST])
    with pytest.raises(WrongAnswerError):
        call.check(replies, [FIRST, FIRST + 2])
    with pytest.raises(WrongAnswerError):
        call.check(replies[:1], [FIRST, FIRST + 1])
    with pytest.raises(WrongAnswerError):
        call.check([b'{"success":false,"error":{}}'], [FIRST])


def test_the_bare_server_refuses_arguments_that_break_the_contract() -> None:
    with pytest.raises(ValueError, match="contract"):
        answer_rest(b'{"plantumlCode":1}')


def peers_of(kind: str) -> tuple[Tool, Tool, dict[str, object], dict[str, object]]:
    """Return the own tool of a kind and its twin, and their contracts without the slug."""
    (own,) = load_target(f"bench/peers/own_{kind}.py")
    twin = getattr(built_in, kind.upper())
    (own_tool,), (twin_tool,) = own.tools(), twin.tools()
    files = Path(twin.schema_root, "tools", f"{twin_tool.slug}.json").read_bytes()
    contracts = [msgspec.json.decode(bundle) for bundle in (own.bundles()[own_tool.slug], files)]
    for contract in contracts:
        del contract["tool"]
    return own_tool, twin_tool, contracts[0], contracts[1]


@pytest.mark.parametrize("kind", KINDS)
def test_an_own_tool_and_its_built_in_twin_have_one_contract(kind: str) -> None:
    own, twin, own_contract, twin_contract = peers_of(kind)

    assert own_contract == twin_contract
    assert (own.name, own.description) == (twin.name, twin.description + ".")


@pytest.mark.parametrize("kind", KINDS)
def test_an_own_tool_and_its_built_in_twin_give_the_same_result(kind: str) -> None:
    async def results() -> list[object]:
        given = {"plantumlCode": "@startuml\na -> b\n@enduml"}
        pending = [tool.run(msgspec.convert(given, tool.args), QUIET_CONTEXT) for tool in peers_of(kind)[:2]]
        return [await one if hasattr(one, "__await__") else one for one in pending]

    own, twin = asyncio.run(results())

    assert own == twin
    assert isinstance(own, Encoded)
    assert own.encoded
    assert own.url == VIEWER + own.encoded


def test_each_kind_of_own_tool_is_judged_by_its_twin_and_shown_beside_the_quick_function() -> None:
    rows = [
        Row(
            Metric(SECTION, f"{words}, 64 in flight", "calls/s", "more"),
            {SIGNET: [95.0], TWIN: [100.0], QUICK: [190.0]},
        )
        for words in KINDS.values()
    ]

    found = verdicts(rows)

    assert [(verdict.row, verdict.goal.rival) for verdict in found] == [
        *((row, TWIN) for row in rows),
        (rows[0], QUICK),
    ]
    assert [round(verdict.surplus, 2) for verdict in found] == [0.0, 0.0, 0.0, -0.47]
    assert "| own tool: a coroutine, 64 in flight | **0.95x** (0.95 to 0.95) | **0.50x** (0.50 to 0.50) |" in page(
        rows, SETTING
    )
