"""The figures of the last hour: exact counts, quantiles near the truth, bounded memory, processes that add up."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import msgspec
import pytest

from signet.console.health import tallies_of
from signet.console.health_summary import summarise
from signet.console.processes import ProcessExchange, ProcessState
from signet.console.spool import Spool
from signet.console.upstreams import UpstreamNow
from signet.journal.record import JournalEntry
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Door
from signet.kernel.tools import NULL_CONTEXT
from signet.kernel.upstream import CacheState
from signet.system.figures.families import HOUR_CALLS, HOUR_REFUSALS
from signet.system.figures.hour import HourFigures
from signet.toolsets.oj.tools import TOOLS

START_S = 1_800_000_000.0
DOORS = [Door("http", "/mcp", "http mcp"), Door("http", "/api/tools/x", "rest")]
NOT_THERE = Fault(Code.NOT_FOUND, "no such problem")


def batch(*entries: JournalEntry) -> list[tuple[JournalEntry, None]]:
    return [(entry, None) for entry in entries]


def entry(
    took_s: float, *, at_s: float = START_S, tool: object = TOOLS[0], door: Door = DOORS[0], fault: Fault | None = None
) -> JournalEntry:
    call = Call("a name from outside", {}, NULL_CONTEXT, door)
    return JournalEntry(call, tool, fault, None, 0, at_s, took_s)


class Clock:
    """The time, as a test wants it."""

    def __init__(self) -> None:
        self.now_s = START_S

    def __call__(self) -> float:
        return self.now_s


class ListSpool(Spool):
    """What several processes tell each other, in lists."""

    is_shared = True

    def __init__(self, lines: list[tuple[object, str, bytes]]) -> None:
        self.lines = lines
        self.read = 0

    def publish(self, kind: str, lines: Sequence[bytes]) -> None:
        self.lines += [(self, kind, line) for line in lines]

    def others(self, kind: str) -> Iterable[bytes]:
        new, self.read = self.lines[self.read :], len(self.lines)
        return [line for owner, of, line in new if owner is not self and of == kind]


def state(pid: int = 0, **more: object) -> ProcessState:
    values = {"in_flight": 0, "lag_s": 0.0, "written": 0, "upstreams": []} | more
    return ProcessState(pid or os.getpid(), START_S, **values)


def test_a_batch_is_counted_by_tool_door_code_and_slice() -> None:
    figures = HourFigures(clock=Clock())
    rows = [entry(0.010), entry(0.010, fault=NOT_THERE), entry(0.020, door=DOORS[1]), entry(0.030, tool=None)]

    figures.add(tallies_of(batch(*rows)))

    found = {labels: (one.count, one.faults) for labels, one in figures.totals(HOUR_CALLS).items()}
    name = TOOLS[0].name
    assert found == {
        (name, "http mcp"): (2, {"NOT_FOUND/NOT_FOUND": 1}),
        (name, "rest"): (1, {}),
        ("", "http mcp"): (1, {}),
    }
    assert [tally.count for _, tally in figures.minutes()] == [0] * 59 + [4]


def test_what_is_older_than_an_hour_is_gone_and_what_is_younger_is_there() -> None:
    clock = Clock()
    figures = HourFigures(clock=clock)
    figures.add(tallies_of(batch(entry(0.01))))

    counts = []
    for minutes in (0, 30, 59, 61):
        clock.now_s = START_S + 60 * minutes
        counts.append(
            (
                sum(tally.count for tally in figures.totals(HOUR_CALLS).values()),
                sum(t.count for _, t in figures.minutes()),
            )
        )
    figures.add(tallies_of(batch(entry(0.01, at_s=START_S))))

    assert counts == [(1, 1), (1, 1), (1, 1), (0, 0)]
    assert figures.totals(HOUR_CALLS) == {}
    assert (figures._slices, figures._minutes, figures._totals) == ({}, {}, {})


def test_a_server_that_nobody_looks_at_forgets_all_the_same() -> None:
    clock = Clock()
    figures = HourFigures(clock=clock)

    for minute in range(300):
        clock.now_s = START_S + 60 * minute
        figures.add(tallies_of(batch(entry(0.01, at_s=clock.now_s))))

    [total] = figures.totals(HOUR_CALLS).values()
    assert total.count == sum(tally.count for _, tally in figures.minutes()) == 60
    assert len(figures._minutes) <= 60
    assert len(figures._slices) <= 360


def test_a_clock_that_was_set_back_leaves_nothing_in_the_future() -> None:
    clock = Clock()
    figures = HourFigures(clock=clock)

    figures.add(tallies_of(batch(entry(0.01, at_s=START_S + 86_400))))

    assert figures.minutes()[-1][1].count == 1


def test_after_a_clock_was_set_back_only_what_happened_since_is_shown_and_nothing_comes_again() -> None:
    clock = Clock()
    figures = HourFigures(clock=clock)
    figures.add(tallies_of(batch(*[entry(0.01, at_s=clock()) for _ in range(10)])))

    clock.now_s -= 7200
    figures.add(tallies_of(batch(*[entry(0.01, at_s=clock()) for _ in range(5)])))

    assert [tally.count for tally in figures.totals(HOUR_CALLS).values()] == [5]
    clock.now_s += 7200
    assert [tally.count for tally in figures.totals(HOUR_CALLS).values()] == []
    assert sum(tally.count for _, tally in figures.minutes()) == 0


def test_any_number_of_names_takes_bounded_memory_and_loses_no_count() -> None:
    figures = HourFigures(clock=Clock())
    number = 3000
    tools = [msgspec.structs.replace(TOOLS[0], name=f"tool_{at}") for at in range(number)]

    figures.add(
        tallies_of(
            batch(*[entry(0.01, tool=tool, fault=Fault(Code.NOT_FOUND, "", name=f"N{tool.name}")) for tool in tools])
        )
    )
    for at in range(number):
        figures.note(HOUR_REFUSALS, (f"reason {at}", "400"))

    calls, refusals = figures.totals(HOUR_CALLS), figures.totals(HOUR_REFUSALS)
    assert len(calls) <= 501
    assert sum(tally.count for tally in calls.values()) == sum(tally.failed for tally in calls.values()) == number
    assert len(refusals) <= 51
    assert refusals["…", "…"].count == number - 50
    assert max(len(tally.faults) for _, tally in figures.minutes()) <= 41


def test_the_answer_for_a_hundred_tools_is_short() -> None:
    figures = HourFigures(clock=Clock())
    doors = [Door("http", "", name) for name in ("http mcp", "rest", "http envelope", "console")]
    tools = [msgspec.structs.replace(TOOLS[0], name=f"toolset_verb_a_long_noun_{at}") for at in range(100)]
    faults = [None, NOT_THERE, Fault(Code.INVALID_INPUT, ""), Fault(Code.INTERNAL_ERROR, "")]
    rows = [entry(0.01, tool=tool, door=door, fault=fault) for tool in tools for door in doors for fault in faults]
    figures.add(tallies_of(batch(*rows)))

    summary = summarise(figures, [state()], [], keeps_journal=True)

    assert len(summary.rows) == 400
    assert len(msgspec.json.encode(summary)) < 200_000


def test_processes_add_up_and_each_tells_its_own_state() -> None:
    lines: list[tuple[object, str, bytes]] = []
    clock = Clock()
    figures = [HourFigures(clock=clock) for _ in range(2)]
    cached = UpstreamNow("oj", "http://oj.example", "200", START_S, "open", 3, (CacheState("responses", 2, 1, 1),))
    present = [
        state(os.getpid(), in_flight=1, written=2, upstreams=[cached]),
        state(
            os.getppid(),
            in_flight=2,
            written=3,
            lag_s=4.5,
            upstreams=[msgspec.structs.replace(cached, breaker="closed")],
        ),
    ]
    exchanges = [ProcessExchange(ListSpool(lines), figures[at], lambda at=at: present[at]) for at in range(2)]
    figures[0].add(tallies_of(batch(entry(0.010), entry(0.010, fault=NOT_THERE))))
    figures[1].add(tallies_of(batch(entry(0.010), entry(0.020, door=DOORS[1]))))

    for one in (*exchanges, *exchanges):
        one.exchange()

    both = [summarise(figures[at], [present[at], *exchanges[at].others()], [], keeps_journal=True) for at in range(2)]
    assert both[0].total == both[1].total
    assert (both[0].total.calls, both[0].total.errors) == (4, 1)
    assert sorted((row.door, row.calls) for row in both[0].rows) == [("http mcp", 3), ("rest", 1)]
    assert both[0].minutes.calls == both[1].minutes.calls == [0] * 59 + [4]
    assert (both[0].in_flight, both[0].records_written, both[0].journal_lag_s) == (3, 5, 4.5)
    assert {row.pid: (row.in_flight, row.is_answering) for row in both[1].processes} == {
        os.getpid(): (1, False),
        os.getppid(): (2, True),
    }
    [upstream] = both[0].upstreams
    assert (upstream.breaker, upstream.caches[0].hits, upstream.caches[0].entries) == ("open", 4, 2)
    told = len(lines)
    for one in exchanges:
        one.exchange()
    assert len(lines) == told, "nothing is told twice"


def test_a_process_that_has_ended_leaves_its_figures_and_not_its_state() -> None:
    lines: list[tuple[object, str, bytes]] = []
    clock = Clock()
    child = os.spawnlp(os.P_NOWAIT, "true", "true")
    os.waitpid(child, 0)
    gone = HourFigures(clock=clock)
    ended = ProcessExchange(ListSpool(lines), gone, lambda: state(child))
    gone.add(tallies_of(batch(entry(0.010))))
    ended.exchange()
    figures = HourFigures(clock=clock)
    exchange = ProcessExchange(ListSpool(lines), figures, state)

    exchange.exchange()

    assert exchange.others() == []
    assert sum(tally.count for tally in figures.totals(HOUR_CALLS).values()) == 1


def test_one_process_alone_keeps_nothing_for_others() -> None:
    figures = HourFigures(clock=Clock())
    ProcessExchange(Spool(), figures, state)

    figures.add(tallies_of(batch(entry(0.010))))

    assert figures.take_unsent() == {}


@pytest.mark.parametrize("key", [["signet.hour.calls", ["a", "b", "c"]], ["signet.hour.others", ["a", "b"]]])
def test_a_figure_of_another_version_is_passed_over(key: list[object]) -> None:
    told = {"state": state(), "tallies": [[int(START_S) // 10, key, {"times": {"1": 1}, "faults": {}}]]}
    lines: list[tuple[object, str, bytes]] = [(None, "health", msgspec.json.encode(told))]
    figures = HourFigures(clock=Clock())

    ProcessExchange(ListSpool(lines), figures, state).exchange()

    assert summarise(figures, [state()], [], keeps_journal=True).total.calls == 0


def test_a_line_that_is_not_understood_is_passed_over() -> None:
    lines: list[tuple[object, str, bytes]] = [(None, "health", b"{}"), (None, "health", b"\xff")]
    figures = HourFigures(clock=Clock())

    ProcessExchange(ListSpool(lines), figures, state).exchange()

    assert figures.totals(HOUR_CALLS) == {}
