"""A wide file: one row for each period, one column for each series, as CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Final

from signet.kernel.errors import Code, Fault

from .output_files import Writer, csv_lines, double, import_arrow, iso
from .series_query import SeriesPage, SeriesQuery
from .shaping import OutputForm, ShapedSeries, shape_all

__all__ = ["WIDE"]

KEYS: Final = ("date", "survey_date")


def _rows(pages: Iterable[SeriesPage], form: OutputForm) -> tuple[list[ShapedSeries], list[tuple[str, str]]]:
    """Return the series, and the date and label of every period that one of them has, in order."""
    all_series = list(shape_all(pages, form))
    if len({series.frequency for series in all_series}) > 1:
        raise Fault(Code.INVALID_INPUT, "a wide file has one row for each period: its series need one frequency")
    labels = {label: iso(day) or "" for series in all_series for label, day, _ in series.points}
    return all_series, [(day, label) for label, day in sorted(labels.items())]


def write_wide_csv(file: IO[bytes], _: SeriesQuery, pages: Iterable[SeriesPage], form: OutputForm) -> None:
    """Write a line per period; a missing value is empty."""
    all_series, rows = _rows(pages, form)
    columns = [{label: value for label, _, value in series.points} for series in all_series]
    file.write(csv_lines([(*KEYS, *(series.series_code for series in all_series))]))
    for day, label in rows:
        file.write(csv_lines([(day, label, *(column.get(label) for column in columns))]))


def write_wide_parquet(file: IO[bytes], query: SeriesQuery, pages: Iterable[SeriesPage], form: OutputForm) -> None:
    """Write a column of doubles per series; raise Fault for a value that is no double."""
    from datetime import date

    pa, parquet = import_arrow()
    all_series, rows = _rows(pages, form)
    arrays = [
        pa.array([date.fromisoformat(day) if day else None for day, _ in rows], pa.date32()),
        pa.array([label for _, label in rows], pa.string()),
    ]
    for series in all_series:
        values = {label: double(series.series_code, value) for label, _, value in series.points}
        arrays.append(pa.array([values.get(label) for _, label in rows], pa.float64()))
    names = [*KEYS, *(series.series_code for series in all_series)]
    table = pa.table(arrays, names=names).replace_schema_metadata({"source": query.source})
    parquet.write_table(table, file)


WIDE: Final[dict[str, Writer]] = {"csv": write_wide_csv, "parquet": write_wide_parquet}
"""The writer of each format that can be wide, by the suffix of the file."""
