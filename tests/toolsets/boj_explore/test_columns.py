"""What is computed from the Bank's values: held against figures that were worked out by hand."""

from __future__ import annotations

from datetime import date

import pytest

from signet.toolsets.boj.periods import read_bound
from signet.toolsets.boj_explore.columns import Column, label_units, lower_frequency, rounding_of, transform

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


@pytest.mark.parametrize(
    ("units", "frequency", "label"),
    [
        ("level", "M", "Yen"),
        ("change", "CY", "Yen, change from the previous year"),
        ("change", "FY", "Yen, change from the previous fiscal year"),
        ("change", "CH", "Yen, change from the previous half"),
        ("change", "FH", "Yen, change from the previous fiscal half"),
        ("percent_change", "M", "percent change from the previous month"),
        ("percent_change", "W", "percent change from the previous week"),
        ("percent_change", "D", "percent change from the previous value"),
        ("percent_change_year_ago", "M", "percent change from a year ago"),
        ("index", "M", "index, 2020 = 100"),
        ("log", "M", "natural logarithm of Yen"),
    ],
)
def test_each_unit_is_labelled(units: str, frequency: str, label: str) -> None:
    assert label_units(units, "Yen", frequency, "2020") == label


def test_a_series_without_a_unit_has_values() -> None:
    assert label_units("log", "", "M", None) == "natural logarithm of value"
    assert label_units("level", "", "M", None) == ""


HALVES = "halves are rounded to the even digit"


@pytest.mark.parametrize(
    ("units", "method", "said"),
    [
        ("level", None, []),
        ("change", "sum", []),
        ("level", "average", ["averages have 2 decimals more than the Bank's values", HALVES]),
        ("log", None, ["logarithms have 6 decimals", HALVES]),
        ("index", "end", ["computed values have 4 decimals", HALVES]),
        ("percent_change", None, ["computed values have 4 decimals", HALVES]),
        ("percent_change_year_ago", None, ["computed values have 4 decimals", HALVES]),
        (
            "log",
            "average",
            ["averages have 2 decimals more than the Bank's values", "logarithms have 6 decimals", HALVES],
        ),
    ],
)
def test_what_is_rounded_is_said(units: str, method: str | None, said: list[str]) -> None:
    assert rounding_of(units, method) == "; ".join(said)


@pytest.mark.parametrize(
    ("first", "last", "labels"),
    [
        (None, None, ["202301", "202302", "202303", "202304", "202401"]),
        ("2023-06-30", None, ["202302", "202303", "202304", "202401"]),
        ("2023-07-01", None, ["202303", "202304", "202401"]),
        (None, "2023-04-01", ["202301", "202302"]),
        (None, "2023-03-31", ["202301"]),
        ("2023-05-01", "2023-05-01", ["202302"]),
        ("2025-01-01", None, []),
    ],
)
def test_a_span_has_the_periods_with_a_day_in_it(first: str | None, last: str | None, labels: list[str]) -> None:
    start, end = (None if day is None else date.fromisoformat(day) for day in (first, last))

    column = QUARTERS.within(start, end)

    assert column.labels == labels
    assert column.values == [QUARTERS.values[QUARTERS.labels.index(label)] for label in labels]
    assert column.frequency == "Q"


def test_the_last_periods_are_kept() -> None:
    assert QUARTERS.last(2) == Column("Q", ["202304", "202401"], ["99", "121"])


@pytest.mark.parametrize("value", ["1e40", "1e-40", "-9e40", "0." + "0" * 39 + "1"])
def test_a_number_of_forty_places_is_computed_with(value: str) -> None:
    assert transform(Column("M", ["202401", "202402"], [value, value]), "change").values[0] is None


@pytest.mark.parametrize("value", ["1e41", "1e-41", "0." + "0" * 40 + "1", "1." + "0" * 41, "x"])
def test_a_number_of_more_places_is_told(value: str) -> None:
    with pytest.raises(ValueError, match="computed with") as caught:
        transform(Column("M", ["202401"], [value]), "change")

    assert str(caught.value) == f"the value '{value}' cannot be computed with"


def test_a_long_value_is_cut_where_it_is_told() -> None:
    with pytest.raises(ValueError, match=f"^the value '{'x' * 50}' cannot be computed with$"):
        transform(Column("M", ["202401"], ["x" * 51]), "change")


def test_an_index_needs_a_base_with_a_value() -> None:
    zero = Column("M", ["202401", "202402"], ["0", "5"])

    with pytest.raises(ValueError, match=r"^an index needs a base$"):
        transform(zero, "index")
    for base in ("2024-01", "2023"):
        with pytest.raises(ValueError, match=r"^the series has no value other than 0 in the base period$"):
            transform(zero, "index", read_bound(base, "M"))


@pytest.mark.parametrize(
    ("base", "values"),
    [("2024-02-01", ["50.0000", "100.0000", "150.0000"]), ("2024-02-29", ["50.0000", "100.0000", "150.0000"]),
     ("2024-03-01", ["33.3333", "66.6667", "100.0000"])],
)  # fmt: skip
def test_a_day_stands_for_the_period_that_it_falls_into(base: str, values: list[str]) -> None:
    months = Column("M", ["202401", "202402", "202403"], ["1", "2", "3"])

    assert transform(months, "index", read_bound(base, "M")).values == values


@pytest.mark.parametrize(
    ("first", "last", "whole"),
    [("20240101", "20240129", True), ("20240107", "20240125", True), ("20240108", "20240129", False),
     ("20240102", "20240124", False)],
)  # fmt: skip
def test_weeks_make_a_month_that_they_reach_both_ends_of(first: str, last: str, whole: bool) -> None:
    weeks = Column("W", [first, "20240115", last], ["1", "2", "4"])

    assert lower_frequency(weeks, "M", "sum") == Column("M", ["202401"], ["7" if whole else None])


@pytest.mark.parametrize(("first", "last"), [("20240102", "20240131"), ("20240101", "20240130")])
def test_days_that_miss_an_end_of_the_month_make_none(first: str, last: str) -> None:
    assert lower_frequency(Column("D", [first, last], ["1", "2"]), "M", "end").values == [None]


def test_a_month_of_days_without_any_value_is_missing() -> None:
    assert lower_frequency(Column("D", ["20240101", "20240131"], [None, None]), "M", "sum").values == [None]


def test_a_column_at_its_own_frequency_is_the_same() -> None:
    assert lower_frequency(QUARTERS, "Q", "sum") is QUARTERS


@pytest.mark.parametrize(
    ("labels", "values"),
    [(["20240101", "20240108"], [None, "50.0000"]), (["20240101", "20240109"], [None, None])],
)
def test_the_week_before_is_seven_days_before(labels: list[str], values: list[str | None]) -> None:
    assert transform(Column("W", labels, ["2", "3"]), "percent_change").values == values


@pytest.mark.parametrize(
    ("then", "value"), [("20230108", "50.0000"), ("20230102", "50.0000"), ("20230101", None), ("20230109", None)]
)
def test_a_year_before_a_day_is_looked_for_in_the_week_up_to_it(then: str, value: str | None) -> None:
    column = Column("D", [then, "20240108"], ["100", "150"])

    assert transform(column, "percent_change_year_ago").values == [None, value]


@pytest.mark.parametrize(
    ("frequency", "labels"), [("M", ["202301", "202401"]), ("CY", ["2023", "2024"]), ("FH", ["202302", "202402"])]
)
def test_a_year_before_a_period_has_the_same_place_in_its_year(frequency: str, labels: list[str]) -> None:
    assert transform(Column(frequency, labels, ["4", "5"]), "percent_change_year_ago").values == [None, "25.0000"]


def test_halves_are_rounded_to_the_even_digit() -> None:
    column = Column("M", ["202401", "202402"], ["200000", "200000.1"])
    more = Column("M", ["202401", "202402"], ["200000", "200000.3"])

    assert transform(column, "percent_change").values[1] == "0.0000"
    assert transform(more, "percent_change").values[1] == "0.0002"


@pytest.mark.parametrize(
    ("values", "average"),
    [
        (["1", "2", "2"], "1.67"),
        (["1.5", "2", "2"], "1.833"),
        (["10", "20", "1e1"], "13.33"),
        (["1.25", "1", "1"], "1.0833"),
    ],
)
def test_an_average_has_two_decimals_more_than_its_values(values: list[str | None], average: str) -> None:
    assert lower_frequency(Column("M", ["202401", "202402", "202403"], values), "Q", "average").values == [average]
