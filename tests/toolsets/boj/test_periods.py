"""What each of the Bank's periods means in days, and how people's dates are read."""

from __future__ import annotations

from datetime import date

import pytest

from signet.toolsets.boj.periods import (
    days_of,
    frequency_code,
    label_of,
    nests_in,
    read_bound,
    request_label,
    year_before,
)

MEANING = [
    ("CY", "2024", "2024-01-01", "2024-12-31"),
    ("FY", "2025", "2024-04-01", "2025-03-31"),
    ("CH", "202401", "2024-01-01", "2024-06-30"),
    ("CH", "202402", "2024-07-01", "2024-12-31"),
    ("FH", "202501", "2025-04-01", "2025-09-30"),
    ("FH", "202502", "2025-10-01", "2026-03-31"),
    ("Q", "202401", "2024-01-01", "2024-03-31"),
    ("Q", "202404", "2024-10-01", "2024-12-31"),
    ("M", "202402", "2024-02-01", "2024-02-29"),
    ("M", "202302", "2023-02-01", "2023-02-28"),
    ("W", "20240104", "2024-01-04", "2024-01-04"),
    ("D", "20240229", "2024-02-29", "2024-02-29"),
]


@pytest.mark.parametrize(("frequency", "label", "first", "last"), MEANING)
def test_a_label_means_these_days(frequency: str, label: str, first: str, last: str) -> None:
    days = days_of(frequency, label)

    assert (days.first.isoformat(), days.last.isoformat()) == (first, last)
    assert label_of(frequency, days.first) == label_of(frequency, days.last) == label


@pytest.mark.parametrize(
    ("frequency", "label"),
    [("CY", "202401"), ("FY", "24"), ("CH", "202403"), ("FH", "202400"), ("Q", "202405"), ("M", "202413"),
     ("D", "20240230"), ("W", "202401"), ("M", "２０２６０１"), ("Q", "")],
)  # fmt: skip
def test_what_is_no_period_of_its_frequency_is_refused(frequency: str, label: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        days_of(frequency, label)


@pytest.mark.parametrize(
    ("name", "code"),
    [("ANNUAL", "CY"), ("ANNUAL(MAR)", "FY"), ("SEMIANNUAL", "CH"), ("SEMIANNUAL(SEP)", "FH"), ("QUARTERLY", "Q"),
     ("monthly", "M"), ("WEEKLY(MONDAY)", "W"), ("WEEKLY(SUNDAY)", "W"), ("DAILY", "D"), ("q", "Q")],
)  # fmt: skip
def test_the_banks_names_of_frequencies_have_codes(name: str, code: str) -> None:
    assert frequency_code(name) == code


@pytest.mark.parametrize(
    ("text", "frequency", "first", "last"),
    [
        ("2020", "M", "2020-01-01", "2020-12-31"),
        ("2020", "FY", "2019-04-01", "2020-03-31"),
        ("2020-01", "D", "2020-01-01", "2020-01-31"),
        ("2020-1", "D", "2020-01-01", "2020-01-31"),
        ("2020-01-15", "D", "2020-01-15", "2020-01-15"),
        ("2020/01/15", "M", "2020-01-15", "2020-01-15"),
        ("20200115", "D", "2020-01-15", "2020-01-15"),
        ("202002", "M", "2020-02-01", "2020-02-29"),
        ("202002", "Q", "2020-04-01", "2020-06-30"),
        ("202007", "Q", "2020-07-01", "2020-07-31"),
        ("202002", "FH", "2020-10-01", "2021-03-31"),
        ("202002", "CH", "2020-07-01", "2020-12-31"),
        ("202002", "CY", "2020-02-01", "2020-02-29"),
        ("2020Q1", "M", "2020-01-01", "2020-03-31"),
        ("2020-Q4", "Q", "2020-10-01", "2020-12-31"),
        ("2020q2", "D", "2020-04-01", "2020-06-30"),
        ("2020H1", "M", "2020-01-01", "2020-06-30"),
        ("2020H1", "FH", "2020-04-01", "2020-09-30"),
        ("２０２０年".removesuffix("年"), "M", "2020-01-01", "2020-12-31"),
    ],
)
def test_a_persons_date_is_read_for_the_frequency_of_the_series(
    text: str, frequency: str, first: str, last: str
) -> None:
    days = read_bound(text, frequency)

    assert (days.first.isoformat(), days.last.isoformat()) == (first, last)


@pytest.mark.parametrize(
    "text", ["", "soon", "2020-13", "2020-02-30", "20", "2020Q5", "202013", "1700", "9999", "2020-0"]
)
def test_what_is_no_date_is_told_with_the_forms_of_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"write 2020, 2020-01|between the years"):
        read_bound(text, "M")


@pytest.mark.parametrize(
    ("frequency", "day", "label"),
    [("D", "2024-05-17", "202405"), ("W", "2024-05-17", "202405"), ("M", "2024-05-17", "202405"),
     ("Q", "2024-05-17", "202402"), ("CH", "2024-05-17", "202401"), ("FH", "2024-03-31", "202302"),
     ("CY", "2024-05-17", "2024"), ("FY", "2024-05-17", "2025"), ("FY", "2024-03-31", "2024")],
)  # fmt: skip
def test_a_request_names_the_period_of_a_day(frequency: str, day: str, label: str) -> None:
    assert request_label(frequency, date.fromisoformat(day)) == label


def test_only_whole_periods_make_a_longer_one() -> None:
    assert nests_in("Q", "FY")
    assert nests_in("FH", "FY")
    assert not nests_in("FH", "CY")
    assert not nests_in("CH", "FY")
    assert not nests_in("Q", "M")


FORMS = "2020, 2020-01, 2020-01-15, 2020Q1, 2020H1, or a period as the Bank writes it (202001)"


@pytest.mark.parametrize(
    ("text", "last"), [("1850", "1850-12-31"), ("2050", "2050-12-31"), ("2051", "2051-12-31"), ("185001", "1850-01-31")]
)
def test_the_years_of_the_bank_and_the_fiscal_year_after_them_are_taken(text: str, last: str) -> None:
    assert read_bound(text, "M").last.isoformat() == last


@pytest.mark.parametrize("text", ["1849", "1849-12-31", "2052", "2052-01-01"])
def test_other_years_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^'{text}' is not between the years 1850 and 2050$"):
        read_bound(text, "M")


@pytest.mark.parametrize(("text", "shown"), [("soon", "soon"), ("x" * 50, "x" * 50), ("x" * 51, "x" * 50)])
def test_a_text_that_is_no_date_is_quoted_and_cut(text: str, shown: str) -> None:
    with pytest.raises(ValueError, match="is no date") as caught:
        read_bound(text, "M")

    assert str(caught.value) == f"'{shown}' is no date: write {FORMS}"


@pytest.mark.parametrize(
    ("text", "frequency", "first", "last"),
    [
        ("2020H2", "FY", "2020-10-01", "2021-03-31"),
        ("2020H2", "Q", "2020-07-01", "2020-12-31"),
        ("2020 Q3", "M", "2020-07-01", "2020-09-30"),
        (" 2020 ", "M", "2020-01-01", "2020-12-31"),
        ("202002", "D", "2020-02-01", "2020-02-29"),
        ("202002", "W", "2020-02-01", "2020-02-29"),
        ("202002", "FY", "2020-02-01", "2020-02-29"),
        ("202004", "Q", "2020-10-01", "2020-12-31"),
        ("202005", "Q", "2020-05-01", "2020-05-31"),
        ("202003", "CH", "2020-03-01", "2020-03-31"),
        ("202012", "M", "2020-12-01", "2020-12-31"),
        ("2020/1", "M", "2020-01-01", "2020-01-31"),
        ("2020-1-5", "M", "2020-01-05", "2020-01-05"),
    ],
)
def test_digits_are_the_banks_label_where_they_can_be_one(text: str, frequency: str, first: str, last: str) -> None:
    days = read_bound(text, frequency)

    assert (days.first.isoformat(), days.last.isoformat()) == (first, last)


@pytest.mark.parametrize(
    ("frequency", "label", "told"),
    [
        ("D", "2024", "'2024' is no date of the frequency D"),
        ("W", "2024010１", "'2024010１' is no date of the frequency W"),
        ("D", "x" * 51, f"'{'x' * 50}' is no date of the frequency D"),
        ("M", "202400", "'202400' is no period of the frequency M"),
        ("Q", "20241", "'20241' is no period of the frequency Q"),
        ("CY", "0000", "'0000' is no period of the frequency CY"),
        ("CY", "x" * 51, f"'{'x' * 50}' is no period of the frequency CY"),
    ],
)
def test_a_label_of_another_frequency_is_told(frequency: str, label: str, told: str) -> None:
    with pytest.raises(ValueError, match="is no") as caught:
        days_of(frequency, label)

    assert str(caught.value) == told


def test_the_first_year_has_days() -> None:
    assert days_of("CY", "0001").first == date(1, 1, 1)


@pytest.mark.parametrize(
    ("name", "shown"), [(None, ""), ("", ""), (" decennial ", "DECENNIAL"), ("MONTHLY(MAR)", "MONTHLY(MAR)")]
)
def test_a_frequency_that_nobody_knows_is_told(name: str | None, shown: str) -> None:
    with pytest.raises(ValueError, match="unknown") as caught:
        frequency_code(name)

    assert str(caught.value) == f"the frequency '{shown}' is unknown"


def test_a_long_frequency_is_cut() -> None:
    with pytest.raises(ValueError, match=f"^the frequency '{'X' * 50}' is unknown$"):
        frequency_code("x" * 51)


@pytest.mark.parametrize(
    ("day", "before"),
    [
        ("2024-02-29", "2023-02-28"),
        ("2024-03-01", "2023-03-01"),
        ("2025-02-28", "2024-02-28"),
        ("2024-01-01", "2023-01-01"),
    ],
)
def test_a_year_before_a_leap_day_is_the_28th(day: str, before: str) -> None:
    assert year_before(date.fromisoformat(day)).isoformat() == before


@pytest.mark.parametrize(
    ("frequency", "lower"),
    [("D", "M Q CH FH CY FY"), ("W", "M Q CH FH CY FY"), ("M", "Q CH FH CY FY"), ("Q", "CH FH CY FY"), ("CH", "CY"),
     ("FH", "FY"), ("CY", ""), ("FY", "")],
)  # fmt: skip
def test_a_frequency_nests_in_these_and_no_other(frequency: str, lower: str) -> None:
    every = ("CY", "FY", "CH", "FH", "Q", "M", "W", "D")

    assert {one for one in every if nests_in(frequency, one)} == set(lower.split())
