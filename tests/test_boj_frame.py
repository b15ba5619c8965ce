"""`signet.boj.frame`: series of the played Bank as data frames."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import polars as pl
import pytest

from boj_harness import BojHarness, boj_sandbox
from signet.boj import BojError, frame
from signet.toolsets.boj.sources import CREDIT

DI = "TK99F1000601GCQ01000"


@pytest.fixture(scope="module")
def process() -> Iterator[BojHarness]:
    with boj_sandbox() as harness:
        yield harness


@pytest.fixture
def bank(process: BojHarness, monkeypatch: pytest.MonkeyPatch) -> BojHarness:
    process.clear()
    monkeypatch.setenv("BOJ_BASE_URL", process.url)
    return process


def test_pandas_has_a_datetime_index_and_numbers(bank: BojHarness) -> None:
    rates = frame("FM08", ["FXERD01"], start="2026-10", end="2026-10-05")

    assert isinstance(rates.index, pd.DatetimeIndex)
    assert rates.index.name == "date"
    assert list(rates.index.strftime("%Y-%m-%d")) == [f"2026-10-0{day}" for day in range(1, 6)]
    assert str(rates["FXERD01"].dtype) == "float64"
    assert rates["FXERD01"].dropna().to_list() == [157.56, 157.94, 157.74]
    assert rates["FXERD01"].isna().sum() == 2


@pytest.mark.parametrize(
    "day",
    [date(2026, 10, 4), datetime(2026, 10, 4, 23, 59, tzinfo=UTC), pd.Timestamp("2026-10-04 12:00"), "2026-10-04"],
    ids=["date", "datetime", "Timestamp", "text"],
)
def test_a_bound_may_be_any_kind_of_date(bank: BojHarness, day: Any) -> None:
    rates = frame("FM08", "FXERD01", start=day, end=date(2026, 10, 5))

    assert list(rates.index.strftime("%Y-%m-%d")) == ["2026-10-04", "2026-10-05"]


def test_every_citation_has_the_time_of_japan(bank: BojHarness) -> None:
    assert frame("FM08", "FXERD01").attrs["citation"]["retrieved_at"].endswith("+09:00")


def test_the_attributes_have_the_unit_and_the_citation(bank: BojHarness) -> None:
    attributes = frame("fm08", "FXERD01", start="2026-10").attrs

    assert attributes["unit"] == "Yen per U.S. Dollar"
    assert attributes["names"] == {"FXERD01": "US.Dollar/Yen Spot Rate at 9:00 in JST, Tokyo Market"}
    assert attributes["frequency"] == "D"
    assert attributes["citation"]["dataset"] == "Foreign Exchange Rates (FM08)"
    assert attributes["citation"]["sentence"].endswith(CREDIT)


def test_polars_has_a_column_of_dates(bank: BojHarness) -> None:
    survey = frame("CO", [DI], start="2024Q1", end="2024Q2", engine="polars")

    assert survey.schema == {"date": pl.Date, DI: pl.Float64}
    assert [str(day) for day in survey["date"]] == ["2024-01-01", "2024-04-01"]
    assert survey[DI].to_list() == [11.0, 13.0]
    assert survey.attrs["unit"] == "% points"


def test_dates_may_be_the_last_days_and_values_computed(bank: BojHarness) -> None:
    survey = frame("CO", DI, start="2025Q1", end="2025Q1", units="percent_change_year_ago", period_end=True)

    assert [str(day.date()) for day in survey.index] == ["2025-03-31"]
    assert survey[DI].to_list() == [9.0909]
    assert survey.attrs["unit"] == "percent change from a year ago"


def test_the_origin_may_be_given(bank: BojHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOJ_BASE_URL", "http://127.0.0.1:9")

    assert len(frame("FM08", "FXERD01", start="2026-10", base_url=bank.url)) == 8


def test_a_notebook_whose_event_loop_runs_gets_its_frame(bank: BojHarness) -> None:
    async def cell() -> int:
        return len(frame("FM08", "FXERD01", start="2026-10"))

    assert asyncio.run(cell()) == 8


def test_several_series_stand_side_by_side(bank: BojHarness) -> None:
    rates = frame("FM08", ["FXERD01", "FXERD06"], start="2026-10")

    assert list(rates.columns) == ["FXERD01", "FXERD06"]
    assert set(rates.attrs["unit"]) == {"FXERD01", "FXERD06"}, "two units"


@pytest.mark.parametrize("code", ["FM08:FXERD01", "FM08'FXERD01", "fm08：FXERD01", " FM08 : FXERD01 "])
def test_a_code_may_be_written_as_people_write_it(bank: BojHarness, code: str) -> None:
    assert list(frame("fm08", [code, "FXERD02"], start="2026-10").columns) == ["FXERD01", "FXERD02"]


def test_a_code_that_is_nearly_right_is_told_with_the_right_one(bank: BojHarness) -> None:
    with pytest.raises(BojError, match="did you mean FM08:FXERD01"):
        frame("FM08", ["FXERD1"])


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"start": "soon"}, "write 2020"),
        ({"start": 20240104}, "start is 20240104: write a date, or a text such as"),
        ({"end": 2024.0}, "end is 2024.0: write a date"),
        ({"start": pd.NaT}, "'NaT' is no date"),
        ({"units": "index", "base": 2020}, "base is 2020: write a date"),
        ({"end": "soon"}, "write 2020"),
        ({"start": "2025", "end": "2024-12-31"}, "start 2025 comes after end 2024-12-31"),
        ({"units": "foo"}, "units is 'foo': write 'level', 'change'"),
        ({"units": "index", "base": "once"}, "'once' is no date"),
        ({"lang": "fr"}, "lang must"),
        ({"codes": ["CO:FXERD01"]}, "'CO:FXERD01' is a series of CO, not of FM08"),
        ({"codes": []}, "codes"),
        ({"db": ""}, "db"),
        ({"units": "index"}, "needs base"),
        ({"engine": "arrow"}, "pandas"),
        ({"base_url": "nowhere"}, "nowhere"),
    ],
)
def test_an_argument_that_cannot_be_used_is_a_value_error(bank: BojHarness, more: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word) as raised:
        frame(**{"db": "FM08", "codes": ["FXERD01"], **more})

    assert "--" not in str(raised.value), "no flag of a command"
    assert bank.requests() == (), "nobody was asked"


@pytest.mark.parametrize("engine", ["pandas", "polars"])
def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setitem(sys.modules, engine, None)

    with pytest.raises(ImportError, match=rf"\[{engine}\]"):
        frame("FM08", ["FXERD01"], engine=engine)  # type: ignore[arg-type]
