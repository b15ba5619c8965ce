"""The file that a fetch writes: CSV, JSON or Parquet, complete or not there at all.

It is made from the stored pages alone, so that the same pages always give the same bytes.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.settings.usage import UsageError
from signet.system.files import replacing
from signet.system.installation import install_command

from .series_query import SeriesPage, SeriesQuery, is_number
from .shaping import AS_SENT, OutputForm, shape_all

__all__ = [
    "FORMATS", "Writer", "csv_lines", "double", "import_arrow", "iso", "replacing_output", "suffix_of", "write_csv",
]  # fmt: skip

Writer = Callable[[IO[bytes], SeriesQuery, Iterable[SeriesPage], OutputForm], None]
"""A function that writes all pages of a query to a file, in a form."""

COLUMNS: Final = ("series_code", "name", "unit", "frequency", "survey_date", "date", "value")

FORMULA_SIGNS: Final = "=+-@\t\r"
"""The first characters of a cell that spreadsheets evaluate."""

_encode: Final = msgspec.json.Encoder().encode


def suffix_of(out: Path, suffixes: Iterable[str]) -> str:
    """Return the suffix of an output file, which tells its format.

    Raises:
        UsageError: the suffix is unknown, or there is a folder, a FIFO or a device of this name.
    """
    suffix = out.suffix.lower().removeprefix(".")
    if suffix not in suffixes:
        raise UsageError(f"--out {out}: write a name that ends in {', '.join('.' + known for known in suffixes)}")
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder; write the name of a file")
    if out.exists() and not out.is_file():
        raise UsageError(f"--out {out} is not a regular file; write the name of a file")
    return suffix


def replacing_output(out: Path) -> AbstractContextManager[IO[bytes]]:
    """Open a new output file, which replaces the old one when it is complete and on the disk."""
    return replacing(str(out), f"{out}.part.new", sync=True)


def write_csv(
    file: IO[bytes],
    _: SeriesQuery,
    pages: Iterable[SeriesPage],
    form: OutputForm = AS_SENT,
    *,
    spreadsheet_safe: bool = True,
) -> None:
    """Write a line per observation; a missing value is empty.

    If `spreadsheet_safe`, no name and no unit is a formula to a spreadsheet.
    """
    file.write(csv_lines([COLUMNS]))
    for series in shape_all(pages, form):
        texts = (series.name, series.unit)
        name, unit = map(_without_formula, texts) if spreadsheet_safe else texts
        head = (series.series_code, name, unit, series.frequency)
        file.write(csv_lines((*head, label, iso(day), value) for label, day, value in series.points))


def iso(day: date | None) -> str | None:
    """Return a date as ISO writes it."""
    return None if day is None else day.isoformat()


def _without_formula(text: str | None) -> str | None:
    """Return a text that a spreadsheet takes for text: an apostrophe stands before the sign of a formula."""
    if text and text[0] in FORMULA_SIGNS and not is_number(text):
        text = f"'{text}"
    # The CSV writer does not quote a CR, which would begin a new row.
    return text.replace("\r", " ") if text else text


def csv_lines(rows: Iterable[Iterable[str | None]]) -> bytes:
    """Return rows as lines of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def write_json(file: IO[bytes], query: SeriesQuery, pages: Iterable[SeriesPage], form: OutputForm = AS_SENT) -> None:
    """Write one object; a value is a number with the Bank's own digits, or null."""
    head = {"source": query.source, "db": query.db, "lang": query.lang}
    file.write(_encode(head)[:-1] + b',"series":[')
    comma = b""
    for series in shape_all(pages, form):
        points = [
            {"survey_date": label, "date": iso(day), "value": _number(value)} for label, day, value in series.points
        ]
        file.write(comma + _encode({**series._asdict(), "points": points}))
        comma = b","
    file.write(b"]}\n")


def _number(value: str | None) -> msgspec.Raw | str | None:
    return msgspec.Raw(value) if value is not None and is_number(value) else value


def write_parquet(file: IO[bytes], query: SeriesQuery, pages: Iterable[SeriesPage], form: OutputForm = AS_SENT) -> None:
    """Write a row group per page; raise Fault for a value that is not a number, or too large for a double."""
    pa, parquet = import_arrow()
    types = [pa.field(name, pa.string()) for name in COLUMNS[:-2]]
    kinds = [*types, pa.field(COLUMNS[-2], pa.date32()), pa.field(COLUMNS[-1], pa.float64())]
    schema = pa.schema(kinds, {"source": query.source})
    with parquet.ParquetWriter(file, schema) as writer:
        for page in pages:
            rows = [
                (each.series_code, each.name, each.unit, each.frequency, label, day, double(each.series_code, value))
                for each in shape_all([page], form)
                for label, day, value in each.points
            ]
            columns = zip(*rows, strict=True) if rows else ([] for _ in COLUMNS)
            writer.write_table(pa.Table.from_pydict(dict(zip(COLUMNS, columns, strict=True)), schema=schema))


def double(code: str, value: str | None) -> float | None:
    """Return a value as a double; raise Fault if it is not a number, or too large."""
    if value is None:
        return None
    if not is_number(value) or math.isinf(float(value)):
        message = f"series {code} has the value '{value}', which Parquet cannot hold: fetch .csv or .json"
        raise Fault(Code.INVALID_OUTPUT, message)
    return float(value)


def import_arrow() -> tuple[Any, Any]:
    """Import pyarrow and its Parquet module; raise UsageError if pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        message = f"Parquet files need pyarrow: {install_command('parquet')}, or write .csv or .json"
        raise UsageError(message) from None
    return pa, parquet


FORMATS: Final[dict[str, Writer]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}
"""The writer of each format, by the suffix of the file."""
