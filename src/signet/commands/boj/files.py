"""The file that a fetch ends in: CSV, JSON or Parquet, whole or not there at all.

It is made of the stored pages and nothing else, so that the same pages are always the same bytes.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.settings import UsageError

from .pages import FetchedSeries, SeriesPage, is_number, points_of
from .series_query import SeriesQuery

__all__ = ["FORMS", "check_form", "form_of", "write_file"]

COLUMNS: Final = ("series_code", "name", "unit", "frequency", "survey_date", "value")

_encode: Final = msgspec.json.Encoder().encode


def form_of(out: Path, forms: Iterable[str]) -> str:
    """Tell by its ending what a file is to be.

    Raises:
        UsageError: it cannot be told, or is a folder.
    """
    form = out.suffix.lower().removeprefix(".")
    if form not in forms:
        message = f"--out {out}: write a name that ends in {', '.join('.' + one for one in forms)}"
        raise UsageError(message)
    if out.is_dir():
        message = f"--out {out} is a folder; write the name of a file"
        raise UsageError(message)
    return form


def check_form(form: str) -> None:
    """See that all is there that a form needs, before anybody is asked for its content.

    Raises:
        UsageError: it is not.
    """
    if form == "parquet":
        _arrow()


def write_file(out: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file beside its place and put it there when all of it is on the disk.

    Raises:
        OSError: it cannot be written; what was there before still is.
    """
    new = out.with_name(f"{out.name}.part.new")
    try:
        with new.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(out)
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def write_csv(file: IO[bytes], _: SeriesQuery, pages: Iterable[SeriesPage]) -> None:
    """Write a line for each observation; a value that is missing is empty."""
    file.write(_lines([COLUMNS]))
    for series in _each(pages):
        head = (series.series_code, series.name, series.unit, series.frequency)
        file.write(_lines((*head, point.survey_date, point.value) for point in points_of(series)))


def _lines(rows: Iterable[Iterable[str | None]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def write_json(file: IO[bytes], question: SeriesQuery, pages: Iterable[SeriesPage]) -> None:
    """Write one object; a value is a number with the Bank's own digits, or null."""
    head = {"source": question.source, "db": question.db, "lang": question.lang}
    file.write(_encode(head)[:-1] + b',"series":[')
    comma = b""
    for series in _each(pages):
        file.write(comma + _encode(msgspec.structs.replace(series, points=msgspec.Raw(_numbers(series)))))
        comma = b","
    file.write(b"]}\n")


def _numbers(series: FetchedSeries) -> bytes:
    points = (
        b'{"survey_date":%b,"value":%b}' % (_encode(point.survey_date), _number(point.value))
        for point in points_of(series)
    )
    return b"[" + b",".join(points) + b"]"


def _number(value: str | None) -> bytes:
    return value.encode() if value is not None and is_number(value) else _encode(value)


def write_parquet(file: IO[bytes], question: SeriesQuery, pages: Iterable[SeriesPage]) -> None:
    """Write a group of rows for each page; values are doubles.

    Raises:
        Fault: a value is no number, or too large for a double.
    """
    pa, parquet = _arrow()
    types = [pa.field(name, pa.string()) for name in COLUMNS[:-1]]
    schema = pa.schema([*types, pa.field(COLUMNS[-1], pa.float64())], {"source": question.source})
    with parquet.ParquetWriter(file, schema) as writer:
        for page in pages:
            rows = [
                (one.series_code, one.name, one.unit, one.frequency, point.survey_date, _double(one, point.value))
                for one in page.series
                for point in points_of(one)
            ]
            columns = zip(*rows, strict=True) if rows else ([] for _ in COLUMNS)
            writer.write_table(pa.Table.from_pydict(dict(zip(COLUMNS, columns, strict=True)), schema=schema))


def _double(series: FetchedSeries, value: str | None) -> float | None:
    if value is None:
        return None
    if not is_number(value) or math.isinf(float(value)):
        message = f"series {series.series_code} has the value '{value}', which Parquet cannot hold: fetch .csv or .json"
        raise Fault(Code.INVALID_OUTPUT, message)
    return float(value)


def _arrow() -> tuple[Any, Any]:
    """Load what Parquet files are written with.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        message = "Parquet files need pyarrow: pip install 'signet-mcp[parquet]', or write .csv or .json"
        raise UsageError(message) from None
    return pa, parquet


def _each(pages: Iterable[SeriesPage]) -> Iterable[FetchedSeries]:
    return (series for page in pages for series in page.series)


FORMS: Final[dict[str, Callable[[IO[bytes], SeriesQuery, Iterable[SeriesPage]], None]]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}
"""What can be written, by the file's ending."""
