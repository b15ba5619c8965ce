"""What is computed from the Bank's values: held against figures that were worked out by hand."""

from __future__ import annotations

import pytest

from signet.toolsets.boj.periods import read_bound
from signet.toolsets.boj_explore.columns import Column, label_units, lower_frequency, transform

QUARTERS = Column("Q", ["202301", "202302", "202303", "202304", "202401"], ["100", "110.5", None, "99", "121"])
WEEKEND = Column("D", ["20240105", "20240106", "20240107", "20240108"], ["144.10", None, None, "144.31"])


@pytest.mark.parametrize(
    ("units", "values"),
    [
        ("level", ["100", "110.5", None, "99", "121"]),
        ("change", [None, "10.5", None, None, "22"]),
        ("percent_change", [None, "10.5000", None, None, "22.2222"]),
        ("percent_change_year_ago", [None, None, None, None, "21.0000"]),
        ("log", ["4.605170", "4.705016", None, "4.595120", "4.795791"]),
    ],
)
def test_a_missing_value_stays_missing_and_so_does_what_needs_it(units: str, values: list[str | None]) -> None:
    assert transform(QUARTERS, units).values == values


def test_an_index_is_100_on_the_average_of_its_base() -> None:
    by_quarter = transform(QUARTERS, "index", read_bound("2023Q1", "Q")).values
    by_year = transform(QUARTERS, "index", read_bound("2023", "Q")).values

    assert by_quarter == ["100.0000", "110.5000", None, "99.0000", "121.0000"]
    # The average of 100, 110.5 and 99 is 103.166…
    assert by_year == ["96.9305", "107.1082", None, "95.9612", "117.2859"]


def test_nothing_passes_through_binary_fractions() -> None:
    column = Column("M", ["202401", "202402"], ["0.1", "0.3"])

    assert transform(column, "change").values == [None, "0.2"]


def test_the_day_after_a_weekend_is_compared_with_the_day_before_it() -> None:
    assert transform(WEEKEND, "change").values == [None, None, None, "0.21"]


def test_a_year_before_a_day_is_the_last_value_up_to_that_day() -> None:
    column = Column("D", ["20230106", "20230107", "20230108", "20240108"], ["100", None, None, "150"])

    assert transform(column, "percent_change_year_ago").values == [None, None, None, "50.0000"]


def test_a_year_before_a_week_is_52_weeks_before() -> None:
    column = Column("W", ["20230102", "20240101"], ["2", "3"])

    assert transform(column, "percent_change_year_ago").values == [None, "50.0000"]


def test_there_is_no_percentage_of_nothing_and_no_logarithm_of_it() -> None:
    column = Column("M", ["202401", "202402", "202403"], ["0", "5", "-5"])

    assert transform(column, "percent_change").values == [None, None, "-200.0000"]
    assert transform(column, "log").values == [None, "1.609438", None]


def test_a_fall_from_a_negative_value_is_a_fall() -> None:
    assert transform(Column("Q", ["202401", "202402"], ["-10", "-15"]), "percent_change").values == [None, "-50.0000"]


@pytest.mark.parametrize(
    ("method", "values"), [("average", ["2.000", None]), ("end", ["3.5", None]), ("sum", ["6.0", None])]
)
def test_months_make_a_quarter_and_an_unfinished_one_is_missing(method: str, values: list[str | None]) -> None:
    months = Column("M", ["202401", "202402", "202403", "202404"], ["1", "1.5", "3.5", "9"])

    assert lower_frequency(months, "Q", method) == Column("Q", ["202401", "202402"], values)


def test_a_month_without_a_value_makes_its_quarter_missing() -> None:
    months = Column("M", ["202401", "202402", "202403"], ["1", None, "3"])

    assert lower_frequency(months, "Q", "sum").values == [None]


def test_days_without_a_value_are_left_out_of_a_month() -> None:
    days = [f"202402{day:02}" for day in range(1, 30)]
    values = [None if int(day) % 7 in {3, 4} else "2.5" for day in days]

    assert lower_frequency(Column("D", days, values), "M", "average") == Column("M", ["202402"], ["2.500"])
    assert lower_frequency(Column("D", days[:-1], values[:-1]), "M", "average").values == [None]


def test_quarters_make_a_fiscal_year_that_ends_in_march() -> None:
    quarters = Column("Q", ["202402", "202403", "202404", "202501"], ["1", "2", "3", "4"])

    assert lower_frequency(quarters, "FY", "sum") == Column("FY", ["2025"], ["10"])


@pytest.mark.parametrize(("frequency", "lower"), [("M", "D"), ("Q", "M"), ("FH", "CY"), ("CY", "FY"), ("M", "W")])
def test_what_does_not_consist_of_whole_periods_is_refused(frequency: str, lower: str) -> None:
    labels = {"M": "202401", "Q": "202401", "FH": "202401", "CY": "2024"}

    with pytest.raises(ValueError, match="cannot be read at the frequency"):
        lower_frequency(Column(frequency, [labels[frequency]], ["1"]), lower, "sum")


@pytest.mark.parametrize("value", ["n.a.", "1e999", "NaN", "Infinity", "1e-99"])
def test_what_is_no_number_to_compute_with_is_told(value: str) -> None:
    with pytest.raises(ValueError, match="cannot be computed with"):
        transform(Column("M", ["202401"], [value]), "log")


def test_units_are_labelled() -> None:
    assert label_units("level", "Yen", "M", None) == "Yen"
    assert label_units("change", "Yen", "Q", None) == "Yen, change from the previous quarter"
    assert label_units("index", "Yen", "Q", "2020") == "index, 2020 = 100"
