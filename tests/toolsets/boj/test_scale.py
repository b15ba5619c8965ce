"""Axes of periods: the places of the Bank's dates, their labels, and the round dates of an axis."""

from __future__ import annotations

from datetime import date

import pytest

from signet.kernel.errors import Fault
from signet.toolsets.boj.scale import Scale, scale_of

FIRST = date(2024, 1, 1).toordinal()
"""A Monday."""


@pytest.mark.parametrize(
    ("frequency", "word"),
    [
        ("ANNUAL", "year"),
        ("ANNUAL(MAR)", "fiscal year"),
        ("SEMIANNUAL", "half of the year"),
        ("SEMIANNUAL(SEP)", "half of the fiscal year"),
        ("QUARTERLY", "quarter"),
        ("MONTHLY", "month"),
        ("WEEKLY", "week"),
        ("WEEKLY(MONDAY)", "week (Mondays)"),
        ("Weekly(Friday)", "week (Fridays)"),
        ("DAILY", "day"),
        ("CY", "year"),
        ("FY", "fiscal year"),
        ("CH", "half of the year"),
        ("fh", "half of the fiscal year"),
        ("Q", "quarter"),
        ("m", "month"),
        ("W", "week"),
        ("D", "day"),
    ],
)
def test_a_frequency_is_known_by_its_name_and_by_its_code(frequency: str, word: str) -> None:
    assert scale_of(frequency).word == word


@pytest.mark.parametrize(
    ("frequency", "shown"),
    [("decennial", "DECENNIAL"), (None, ""), ("", ""), ("WEEKLY(MONDAY", "WEEKLY(MONDAY"), ("x" * 51, "X" * 50)],
)
def test_another_frequency_cannot_be_drawn(frequency: str | None, shown: str) -> None:
    with pytest.raises(Fault) as caught:
        scale_of(frequency)

    assert caught.value.code == "INVALID_OUTPUT"
    assert caught.value.message == f"the frequency '{shown}' is unknown: it cannot be drawn"


@pytest.mark.parametrize(
    ("frequency", "dates", "labels"),
    [
        ("CY", ["2023", "2024"], ["2023", "2024"]),
        ("FY", ["2023", "2024"], ["2023", "2024"]),
        ("CH", ["202302", "202401", "202402"], ["2023 H2", "2024 H1", "2024 H2"]),
        ("FH", ["202302", "202401"], ["2023 H2", "2024 H1"]),
        ("Q", ["202304", "202401", "202402"], ["2023 Q4", "2024 Q1", "2024 Q2"]),
        ("M", ["202312", "202401", "202402"], ["2023-12", "2024-01", "2024-02"]),
        ("D", ["20240228", "20240229", "20240301"], ["2024-02-28", "2024-02-29", "2024-03-01"]),
    ],
)
def test_periods_that_follow_each_other_have_places_that_do(
    frequency: str, dates: list[str], labels: list[str]
) -> None:
    scale = scale_of(frequency)

    places = [scale.place(one) for one in dates]

    assert places == list(range(places[0], places[0] + len(dates)))
    assert [scale.label(place) for place in places] == labels


def test_the_places_of_weeks_are_seven_days_apart() -> None:
    scale = scale_of("WEEKLY(MONDAY)")

    assert scale.place("20240108") - scale.place("20240101") == 7
    assert scale.label(scale.place("20240108")) == "2024-01-08"


def test_a_month_is_counted_from_the_year_0() -> None:
    assert scale_of("MONTHLY").place("202403") == 2024 * 12 + 2


@pytest.mark.parametrize(
    ("frequency", "label", "word"),
    [
        ("CY", "202402", "year"),
        ("CH", "202400", "half of the year"),
        ("CH", "202403", "half of the year"),
        ("Q", "202400", "quarter"),
        ("Q", "202405", "quarter"),
        ("M", "202400", "month"),
        ("M", "202413", "month"),
        ("M", "soon", "month"),
        ("D", "20240230", "day"),
        ("D", "202402", "day"),
        ("W", "20241301", "week"),
    ],
)
def test_what_is_no_date_of_the_frequency_cannot_be_drawn(frequency: str, label: str, word: str) -> None:
    with pytest.raises(Fault) as caught:
        scale_of(frequency).place(label)

    assert caught.value.code == "INVALID_OUTPUT"
    assert caught.value.message == f"'{label}' is no {word}: it cannot be drawn"


def test_a_long_text_that_is_no_date_is_cut() -> None:
    with pytest.raises(Fault) as caught:
        scale_of("M").place("x" * 51)

    assert caught.value.message == f"'{'x' * 50}' is no month: it cannot be drawn"


def test_saturdays_and_sundays_are_the_weekend_of_days_only() -> None:
    week = [scale_of("D").is_weekend(FIRST + day) for day in range(7)]

    assert week == [False] * 5 + [True] * 2
    assert not any(scale_of(name).is_weekend(FIRST + 5) for name in ("W", "M", "CY"))


@pytest.mark.parametrize(
    ("frequency", "distance", "skips"),
    [("M", 1, False), ("M", 2, True), ("W", 7, False), ("W", 8, True), ("D", 1, False), ("D", 4, False)],
)
def test_a_period_is_missing_where_two_are_further_apart_than_they_follow(
    frequency: str, distance: int, skips: bool
) -> None:
    assert scale_of(frequency).skips(FIRST, FIRST + distance) is skips


def ticks(scale: Scale, first: str, last: str, limit: int) -> list[str]:
    """Return the labels of an axis, after a look at their places."""
    found = scale.ticks(scale.place(first), scale.place(last), limit)
    assert all(scale.place(first) <= place <= scale.place(last) for place, _ in found)
    assert len(found) <= limit
    return [label for _, label in found]


@pytest.mark.parametrize(
    ("frequency", "first", "last", "limit", "labels"),
    [
        ("M", "202401", "202403", 3, "2024-01 2024-02 2024-03"),
        ("M", "202401", "202406", 5, "2024-01 2024-03 2024-05"),
        ("M", "202402", "202412", 4, "2024-04 2024-07 2024-10"),
        ("M", "202402", "202412", 2, "2024-05 2024-09"),
        ("M", "202401", "202512", 4, "2024-01 2024-07 2025-01 2025-07"),
        ("M", "202401", "202612", 3, "2024 2025 2026"),
        ("M", "202402", "202801", 4, "2025 2026 2027 2028"),
        ("Q", "202401", "202404", 4, "2024 Q1|2024 Q2|2024 Q3|2024 Q4"),
        ("Q", "202401", "202404", 3, "2024 Q1|2024 Q3"),
        ("Q", "202401", "202504", 2, "2024 2025"),
        ("CH", "202401", "202502", 4, "2024 H1|2024 H2|2025 H1|2025 H2"),
        ("CY", "2001", "2004", 4, "2001 2002 2003 2004"),
        ("CY", "2001", "2008", 4, "2002 2004 2006 2008"),
        ("CY", "2001", "2016", 4, "2005 2010 2015"),
        ("CY", "2001", "2040", 4, "2010 2020 2030 2040"),
        ("CY", "1961", "2040", 4, "1980 2000 2020 2040"),
        ("CY", "1951", "2025", 3, "1975 2000 2025"),
        ("CY", "1850", "2050", 5, "1850 1900 1950 2000 2050"),
        ("CY", "1850", "2050", 3, "1900 2000"),
        ("CY", "1850", "2050", 1, "2000"),
        ("D", "20240101", "20240103", 3, "2024-01-01 2024-01-02 2024-01-03"),
        ("D", "20240101", "20240105", 3, "2024-01-01 2024-01-03 2024-01-05"),
        ("D", "20240101", "20240115", 3, "2024-01-01 2024-01-08 2024-01-15"),
        ("D", "20240101", "20240129", 3, "2024-01-01 2024-01-15 2024-01-29"),
        ("D", "20240101", "20240301", 3, "2024-01 2024-02 2024-03"),
        ("D", "20240102", "20240331", 3, "2024-02 2024-03"),
        ("D", "20231130", "20250131", 3, "2024-01 2024-07 2025-01"),
        ("D", "20221231", "20251231", 3, "2023 2024 2025"),
        ("W", "20240101", "20240115", 3, "2024-01-01 2024-01-08 2024-01-15"),
    ],
)
def test_an_axis_has_the_round_dates_that_fit(frequency: str, first: str, last: str, limit: int, labels: str) -> None:
    assert ticks(scale_of(frequency), first, last, limit) == labels.split("|" if "|" in labels else " ")


def test_the_ticks_of_days_stand_at_the_first_days_of_months() -> None:
    scale = scale_of("D")

    found = scale.ticks(scale.place("20231231"), scale.place("20240331"), 3)

    assert [date.fromordinal(place).isoformat() for place, _ in found] == ["2024-01-01", "2024-02-01", "2024-03-01"]
