"""Figures: quantiles near the truth, tallies that add up, one registry for the cells and for the hour."""

from __future__ import annotations

import random

import pytest

from signet.system.figures.families import HOUR_UPSTREAMS, JOURNAL_RECORDS
from signet.system.figures.hour import Tally
from signet.system.figures.quantiles import bucket_of, quantiles, quantiles_ms
from signet.system.figures.registry import Registry


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


def test_a_fault_that_is_not_told_apart_keeps_its_code() -> None:
    tally = Tally()
    for at in range(100):
        tally.add(Tally({1: 1}, {f"INTERNAL_ERROR/NAME_{at}": 1}))

    assert tally.faults["INTERNAL_ERROR/…"] == 60
    assert {fault.partition("/")[0] for fault in tally.faults} == {"INTERNAL_ERROR"}


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


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100)])
def test_a_quantile_of_exact_values_is_a_value_that_was_measured(share: float, value: float) -> None:
    assert quantiles({float(number): 1 for number in range(1, 101)}, [share]) == [value]
    assert quantiles({7.0: 3}, [share]) == [7.0]


def test_without_values_there_are_no_quantiles() -> None:
    assert quantiles({}, [0.5, 0.95]) == []


def test_a_counter_that_is_looked_up_twice_is_one_figure() -> None:
    registry = Registry()
    registry.counter(JOURNAL_RECORDS.exposed).inc(3)

    assert registry.counter(JOURNAL_RECORDS.exposed).value == 3
    assert registry.figures() == {("signet_journal_records_total", ()): [3.0]}


def test_a_registry_keeps_the_hour_beside_its_cells() -> None:
    registry = Registry()
    registry.hour.note(HOUR_UPSTREAMS, ("oj", "https://judge.example"), 0.25, "503")

    assert registry.hour.totals(HOUR_UPSTREAMS) == {
        ("oj", "https://judge.example"): Tally({bucket_of(0.25): 1}, {"503": 1})
    }
    assert registry.figures() == {}, "no page of metrics shows it"
