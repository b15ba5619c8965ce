"""Files of `signet boj fetch` in the hands of pandas, polars and DuckDB: the dates of every frequency are dates."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

import duckdb
import pandas as pd
import polars as pl
import pytest

from boj_harness import BojHarness, boj_sandbox
from processes import ROOT
from signet.commands.cli import main
from signet.toolsets.boj.periods import days_of

MEANING = {
    "CY": ("BP01", "BPBP6KA", "2023", "2023 2023-01-01 2023-12-31", "2024 2024-01-01 2024-12-31"),
    "FY": ("LA03", "DLKCK_DLKCTL", "2024", "2024 2023-04-01 2024-03-31", "2025 2024-04-01 2025-03-31"),
    "CH": ("DER", "D5101010101501", "202402", "202402 2024-07-01 2024-12-31", "202501 2025-01-01 2025-06-30"),
    "FH": ("FF", "FOF_FFZ120A298TT", "202402", "202402 2024-10-01 2025-03-31", "202501 2025-04-01 2025-09-30"),
    "Q": ("CO", "TK99F1000601GCQ01000", "202602", "202602 2026-04-01 2026-06-30", "202603 2026-07-01 2026-09-30"),
    "M": ("BP01", "BPBP6JYNCB", "202507", "202507 2025-07-01 2025-07-31", "202508 2025-08-01 2025-08-31"),
    "W": ("IR02", "SAMPLE_IR02_W11", "202609", "20260907 2026-09-07 2026-09-07", "20260914 2026-09-14 2026-09-14"),
    "D": ("FM01", "STRDCLUCON", "202610", "20261001 2026-10-01 2026-10-01", "20261002 2026-10-02 2026-10-02"),
}
"""For each frequency a series, a first period, and what its next periods mean: the table of docs/periods.md."""


@pytest.fixture(scope="module")
def bank() -> Iterator[BojHarness]:
    with boj_sandbox() as harness:
        yield harness


class Done(NamedTuple):
    """What a command gave."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(bank: BojHarness, capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run `signet boj fetch` in this process, against the played Bank."""

    def fetch(*args: str) -> Done:
        status = main(["boj", "fetch", *args, "--boj-base-url", bank.url])
        sys.stdout.flush()
        return Done(status, *capfd.readouterr())

    return fetch


Run = Callable[..., Done]


def fetched(run: Run, out: Path | str, db: str, codes: str, start: str, *flags: str) -> str:
    """Run a fetch; return what it wrote to standard output."""
    done = run(db, "--codes", codes, "--start", start, *flags, "--out", str(out))
    assert done.status == 0, done.err
    return done.out


def read_by_all(path: Path) -> dict[str, list[tuple[str, date]]]:
    """Return labels and dates of a file as each library reads them, without being told any type but that of labels."""
    labels = {"survey_date": "str"}
    if path.suffix == ".csv":
        panda = pd.read_csv(path, parse_dates=["date"], dtype=labels)
        polar = pl.read_csv(path, try_parse_dates=True, schema_overrides={"survey_date": pl.String})
        relation = duckdb.sql(f"SELECT survey_date, date FROM read_csv('{path}', types={{'survey_date': 'VARCHAR'}})")
    else:
        panda = pd.read_parquet(path)
        polar = pl.read_parquet(path)
        relation = duckdb.sql(f"SELECT survey_date, date FROM '{path}'")
    assert polar.schema["date"] == pl.Date
    assert [str(kind) for kind in relation.types] == ["VARCHAR", "DATE"]
    days = pd.to_datetime(panda["date"]).dt.date
    return {
        "pandas": list(zip(panda["survey_date"], days, strict=True)),
        "polars": list(zip(polar["survey_date"], polar["date"], strict=True)),
        "duckdb": relation.fetchall(),
    }


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("frequency", MEANING)
def test_three_libraries_read_the_dates_of_every_frequency(run: Run, tmp_path: Path, frequency: str, form: str) -> None:
    db, code, start, *rows = MEANING[frequency]
    periods = [row.split() for row in rows]
    fetched(run, tmp_path / f"first.{form}", db, code, start)
    fetched(run, tmp_path / f"last.{form}", db, code, start, "--period-end")

    first, last = (read_by_all(tmp_path / f"{name}.{form}") for name in ("first", "last"))

    shown = len(periods)
    expected_first = [(label, date.fromisoformat(day)) for label, day, _ in periods]
    expected_last = [(label, date.fromisoformat(day)) for label, _, day in periods]
    assert {name: rows[:shown] for name, rows in first.items()} == dict.fromkeys(first, expected_first)
    assert {name: rows[:shown] for name, rows in last.items()} == dict.fromkeys(last, expected_last)


def test_a_wide_file_has_a_row_for_each_period_and_a_column_for_each_series(run: Run, tmp_path: Path) -> None:
    question = ("FM08", "FXERD01,FXERD02", "202610", "--wide")
    fetched(run, tmp_path / "wide.csv", *question)
    fetched(run, tmp_path / "wide.parquet", *question)

    by_csv = pd.read_csv(tmp_path / "wide.csv", index_col="date", parse_dates=True)
    by_parquet = pl.read_parquet(tmp_path / "wide.parquet")

    assert list(by_csv.columns) == ["survey_date", "FXERD01", "FXERD02"]
    assert by_csv.loc["2026-10-02", "FXERD01"] == 157.94
    assert by_csv["FXERD01"].isna().sum() == 2
    assert by_parquet.columns == ["date", "survey_date", "FXERD01", "FXERD02"]
    assert by_parquet.filter(pl.col("date") == date(2026, 10, 2))["FXERD01"].to_list() == [157.94]


def test_changes_are_computed_with_what_is_before_the_span(run: Run, tmp_path: Path) -> None:
    """11, 13, 13, 14 in 2024; 12 in the first quarter of 2025."""
    for units, value in (("change", "-2"), ("percent_change_year_ago", "9.0909")):
        out = tmp_path / f"{units}.csv"
        fetched(run, out, "CO", "TK99F1000601GCQ01000", "202501", "--end", "202501", "--units", units)

        (row,) = csv.DictReader(io.StringIO(out.read_text()))
        assert (row["survey_date"], row["value"]) == ("202501", value)
        assert "change" in row["unit"]


def test_an_index_needs_a_base(run: Run, tmp_path: Path) -> None:
    question = ("CO", "--codes", "TK99F1000601GCQ01000", "--start", "202401")
    out = ("--out", str(tmp_path / "index.csv"), "--units", "index")

    refused = run(*question, *out)
    done = run(*question, *out, "--base", "2024Q1")

    assert (refused.status, done.status) == (2, 0)
    assert "--base" in refused.err
    rows = list(csv.DictReader(io.StringIO((tmp_path / "index.csv").read_text())))
    assert [row["value"] for row in rows[:2]] == ["100.0000", "118.1818"]


def test_standard_output_gets_csv_and_nothing_else(run: Run, tmp_path: Path) -> None:
    fetched(run, tmp_path / "file.csv", "FM08", "FXERD01", "202610")

    shown = fetched(run, "-", "FM08", "FXERD01", "202610")

    assert shown == (tmp_path / "file.csv").read_text()
    assert shown.startswith("series_code,name,unit,frequency,survey_date,date,value\n")


@pytest.mark.parametrize("more", [(), ("--wide",)])
def test_an_answer_without_a_value_fails_and_leaves_the_file_alone(
    run: Run, tmp_path: Path, more: tuple[str, ...]
) -> None:
    out = tmp_path / "rates.csv"
    out.write_text("of yesterday")
    span = ("--start", "190001", "--end", "190012", *more)

    done = run("FM08", "--codes", "FXERD01", *span, "--out", str(out))

    assert done.status == 1
    assert "no value in the span" in done.err
    assert out.read_text() == "of yesterday"
    assert [path.name for path in tmp_path.iterdir()] == ["rates.csv"]


def test_a_span_without_a_value_fails_though_an_earlier_year_was_fetched(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    out.write_text("kept")
    span = ("--start", "202611", "--end", "202612", "--units", "percent_change")

    done = run("FM08", "--codes", "FXERD01", *span, "--out", str(out))

    assert done.status == 1
    assert "there is no value in the span asked for" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
    assert out.read_text() == "kept"


@pytest.mark.parametrize(
    ("span", "base", "periods"),
    [
        (("--start", "202601", "--end", "202603"), "2020", ["202601", "202602", "202603"]),
        (("--start", "200001", "--end", "200002"), "2020-03", ["200001", "200002"]),
        (("--start", "202601", "--end", "202602"), "202601", ["202601", "202602"]),
    ],
)
def test_an_index_has_its_base_outside_of_its_span(
    run: Run, tmp_path: Path, span: tuple[str, ...], base: str, periods: list[str]
) -> None:
    units = ("--units", "index", "--base", base, "--out")
    part, whole = tmp_path / "part.csv", tmp_path / "whole.csv"
    assert run("FM09", "--codes", "FX180110001", *span, *units, str(part)).status == 0
    assert run("FM09", "--codes", "FX180110001", *units, str(whole)).status == 0

    head, *rows = part.read_text(encoding="utf-8-sig").splitlines()

    assert [row["survey_date"] for row in csv.DictReader([head, *rows])] == periods
    assert set(rows) < set(whole.read_text(encoding="utf-8-sig").splitlines())


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (("--start", "202601", "--end", "202512", "--units", "change"), "comes after --end 202512"),
        (("--start", "202601", "--end", "202512", "--units", "index", "--base", "2020"), "comes after --end 202512"),
        (("--units", "index", "--base", "once"), "--base: 'once' is no date"),
    ],
)
def test_a_span_or_base_that_is_none_is_told_before_anybody_is_asked(
    run: Run, bank: BojHarness, tmp_path: Path, more: tuple[str, ...], word: str
) -> None:
    bank.clear()

    done = run("FM09", "--codes", "FX180110001", *more, "--out", str(tmp_path / "x.csv"))

    assert (done.status, bank.requests()) == (2, ())
    assert word in done.err


def test_what_cannot_be_computed_leaves_nothing_to_go_on_with(run: Run, tmp_path: Path) -> None:
    index = ("--units", "index", "--base", "1950", "--out", str(tmp_path / "x.csv"))

    done = run("FM09", "--codes", "FX180110001", "--start", "202601", *index)

    assert done.status == 1
    assert "no value other than 0 in the base period" in done.err
    assert "goes on" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_the_summary_tells_what_the_file_has(run: Run, tmp_path: Path) -> None:
    span = ("--start", "202601", "--end", "202603", "--units", "percent_change")

    done = run("FM09", "--codes", "FX180110001", *span, "--out", str(tmp_path / "x.csv"))

    assert "1 series, 3 observations; source:" in done.err
    assert "periods from 202601 to 202603 (MONTHLY, written YYYYMM)" in done.err
    assert "unit: percent change from the previous month" in done.err


def test_json_has_no_wide_form(run: Run, tmp_path: Path) -> None:
    done = run("FM08", "--codes", "FXERD01", "--wide", "--out", str(tmp_path / "x.json"))

    assert done.status == 2
    assert "--wide writes .csv or .parquet" in done.err


def test_a_wide_file_has_all_pages_in_it(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "deposits.csv"

    done = run("MD10", "--layers", "*", "--frequency", "Q", "--start", "202501", "--wide", "--out", str(out))

    assert done.status == 0, done.err
    rows = list(csv.reader(io.StringIO(out.read_text())))
    assert (len(rows), {len(row) for row in rows}) == (4, {2 + 1214})


def test_the_page_on_periods_says_what_the_files_say() -> None:
    page = (ROOT / "docs/periods.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]*\| (\w*) \|[^|]*\| `(\d+)` \| (\S+) \| (\S+) \|$", page, re.MULTILINE)
    told: dict[str, list[str]] = {}
    for code, label, first, last in rows:
        # A second example of a frequency leaves its code out.
        told.setdefault(code or list(told)[-1], []).append(f"{label} {first} {last}")

    assert set(told) == set(MEANING)
    for frequency, examples in told.items():
        for example in examples:
            label, first, last = example.split()
            assert days_of(frequency, label) == (date.fromisoformat(first), date.fromisoformat(last))
