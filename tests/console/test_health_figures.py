"""The figures of the last hour: exact counts, quantiles near the truth, bounded memory, processes that add up."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence

import msgspec
import pytest

from signet.console.figures import CALLS, OTHERS, REFUSALS, HourFigures, Tally, Thing, tallies_of
from signet.console.health_summary import summarise
from signet.console.histogram import bucket_of, quantiles_ms
from signet.console.processes import Exchange, ProcessState
from signet.console.spool import Spool
from signet.console.upstreams import UpstreamNow
from signet.journal.record import JournalEntry
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Door
from signet.kernel.tools import NULL_CONTEXT
from signet.kernel.upstream import CacheState
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


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.5])
def test_a_quantile_is_within_five_percent_of_the_duration_that_it_stands_for(spread: float) -> None:
    chance = random.Random(7)
    durations = sorted(min(chance.lognormvariate(-6, spread), 3000.0) for _ in range(5000))
    counts: dict[int, int] = {}
    for one in durations:
        counts[bucket_of(one)] = counts.get(bucket_of(one), 0) + 1

    found = quantiles_ms(counts, (0.5, 0.95, 0.99))

    truth = [durations[rank - 1] * 1000 for rank in (2500, 4750, 4950)]
    assert found == [pytest.approx(one, rel=0.05) for one in truth]


@pytest.mark.parametrize("took_s", [0.0, 1e-9, 0.000_02, 0.001, 1.0, 49.9, 3599.0])
def test_one_duration_is_all_its_quantiles(took_s: float) -> None:
    found = quantiles_ms({bucket_of(took_s): 1}, (0.5, 0.99))

    assert found[0] == found[1] == pytest.approx(took_s * 1000, rel=0.05, abs=0.001)


def test_what_takes_days_and_what_never_happened_have_figures_too() -> None:
    assert quantiles_ms({bucket_of(1e9): 3}, (0.5,))[0] >= 3_600_000
    assert quantiles_ms({}, (0.5, 0.95)) == [None, None]


def test_a_batch_is_counted_by_tool_door_code_and_slice() -> None:
    figures = HourFigures(clock=Clock())
    rows = [entry(0.010), entry(0.010, fault=NOT_THERE), entry(0.020, door=DOORS[1]), entry(0.030, tool=None)]

    figures.add(tallies_of(batch(*rows)))

    found = {(thing.name, thing.place): (one.count, one.faults) for thing, one in figures.totals().items()}
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
            (sum(tally.count for tally in figures.totals().values()), sum(t.count for _, t in figures.minutes()))
        )
    figures.add(tallies_of(batch(entry(0.01, at_s=START_S))))

    assert counts == [(1, 1), (1, 1), (1, 1), (0, 0)]
    assert figures.totals() == {}
    assert (figures._slices, figures._minutes, figures._totals) == ({}, {}, {})


def test_a_server_that_nobody_looks_at_forgets_all_the_same() -> None:
    clock = Clock()
    figures = HourFigures(clock=clock)

    for minute in range(300):
        clock.now_s = START_S + 60 * minute
        figures.add(tallies_of(batch(entry(0.01, at_s=clock.now_s))))

    [total] = figures.totals().values()
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

    assert [tally.count for tally in figures.totals().values()] == [5]
    clock.now_s += 7200
    assert [tally.count for tally in figures.totals().values()] == []
    assert sum(tally.count for _, tally in figures.minutes()) == 0


def test_a_fault_that_is_not_told_apart_keeps_its_code() -> None:
    tally = Tally()
    for at in range(100):
        tally.add(Tally({1: 1}, {f"INTERNAL_ERROR/NAME_{at}": 1}))

    assert tally.faults["INTERNAL_ERROR/…"] == 60
    assert {fault.partition("/")[0] for fault in tally.faults} == {"INTERNAL_ERROR"}


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
        figures.note(REFUSALS, f"reason {at}", "400")

    totals = figures.totals()
    calls = {thing: tally for thing, tally in totals.items() if thing.kind == CALLS}
    assert len(calls) <= 501
    assert sum(tally.count for tally in calls.values()) == sum(tally.failed for tally in calls.values()) == number
    assert sum(thing.kind == REFUSALS for thing in totals) <= 51
    assert totals[Thing(REFUSALS, OTHERS, OTHERS)].count == number - 50
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
    figures = [HourFigures(keeps_unsent=True, clock=clock) for _ in range(2)]
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
    exchanges = [Exchange(ListSpool(lines), figures[at], lambda at=at: present[at]) for at in range(2)]
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
    gone = HourFigures(keeps_unsent=True, clock=clock)
    gone.add(tallies_of(batch(entry(0.010))))
    Exchange(ListSpool(lines), gone, lambda: state(child)).exchange()
    figures = HourFigures(keeps_unsent=True, clock=clock)
    exchange = Exchange(ListSpool(lines), figures, state)

    exchange.exchange()

    assert exchange.others() == []
    assert sum(tally.count for tally in figures.totals().values()) == 1


def test_a_line_that_is_not_understood_is_passed_over() -> None:
    lines: list[tuple[object, str, bytes]] = [(None, "health", b"{}"), (None, "health", b"\xff")]
    figures = HourFigures(keeps_unsent=True, clock=Clock())

    Exchange(ListSpool(lines), figures, state).exchange()

    assert figures.totals() == {}


def test_tallies_add_up() -> None:
    tally = Tally({1: 2}, {"a": 1})

    tally.add(Tally({1: 1, 3: 1}, {"a": 1, "b": 1}))

    assert tally == Tally({1: 3, 3: 1}, {"a": 2, "b": 1})


def test_what_was_added_can_be_taken_away_even_where_it_is_not_told_apart() -> None:
    tally, added = Tally(), [Tally({1: 2}, {f"fault {at}": 2}) for at in range(60)]
    for one in added:
        tally.add(one)
    names = len(tally.faults)

    for one in added[:-1]:
        tally.take(one)

    assert names == 41
    assert (tally.count, tally.failed) == (2, 2)
    tally.take(added[-1])
    assert tally == Tally()
