"""An answer of the Bank's in CSV.

    STATUS,200                             a head: one fact a line
    PARAMETER,DB,FM08
    SERIES_CODE,NAME_OF_TIME_SERIES,…      the names of the columns
    FXERD01,…,20261001,157.56              one observation, or one row of the tree, a line

Pure. Lines are decoded and read one by one; a row may have fewer or more cells than there are columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .faults import too_large, undecodable
from .fields import MAX_ROWS, MORE_ROWS, Fields, as_entry, as_series
from .models import MetadataEntry, Series
from .points import append_point, close_points
from .validation import WHITE

__all__ = ["CsvResponse"]

HEADER: Final = "SERIES_CODE"
DATE: Final = "SURVEY_DATES"
VALUE: Final = "VALUES"


class CsvResponse:
    """A CSV answer, read as far as the names of its columns."""

    def __init__(self, body: bytes, charset: str, advice: str) -> None:
        self._body = body
        self._charset = charset
        self._advice = advice
        self._cells = self._read()
        self._facts: dict[str, str] = {}
        self._parameter: dict[str, str | None] = {}
        self._names = self._read_head()

    def fact(self, name: str) -> str | None:
        """Give a line of the head, such as STATUS."""
        return self._facts.get(name)

    def parameter(self) -> dict[str, str | None]:
        """Give what the Bank says that it understood."""
        return self._parameter

    def series(self) -> list[Series]:
        """Give the rows of a data answer, those with equal attributes as one series, in the order of their first."""
        if not self._names:
            return []
        names = [name.upper() for name in self._names]
        if DATE not in names or VALUE not in names:
            message = f"the table has not both columns {DATE} and {VALUE}"
            raise undecodable(message)
        date_at, value_at = names.index(DATE), names.index(VALUE)
        found: dict[tuple[str, ...], bytearray] = {}
        for row in self._rows():
            date, value = row[date_at], row[value_at]
            if not date:
                message = f"a row has no {DATE}"
                raise undecodable(message)
            row[date_at] = row[value_at] = ""
            points = found.setdefault(tuple(row), bytearray())
            append_point(points, date, None if value.lower() in {"", "null"} else value)
        return [as_series(self._fields(row), close_points(points)) for row, points in found.items()]

    def entries(self) -> list[MetadataEntry]:
        """Give the rows of a metadata answer."""
        return [as_entry(dict(zip(self._names, row, strict=True))) for row in self._rows()]

    def text(self) -> str:
        """Give the whole answer as text."""
        return self._body.decode(self._charset)

    def _lines(self) -> Iterator[str]:
        from io import BytesIO

        return (line.decode(self._charset) for line in BytesIO(self._body))

    def _read(self) -> Iterator[list[str]]:
        """Give the cells of each line, trimmed; blank lines are left out."""
        import csv

        try:
            # Quotes may hold line ends, so it is the reader that joins lines.
            for count, row in enumerate(csv.reader(self._lines())):
                if count == MAX_ROWS:
                    raise too_large(MORE_ROWS, self._advice)
                cells = [cell.strip(WHITE) for cell in row]
                if any(cells):
                    yield cells
        except csv.Error as error:
            message = f"it is no CSV: {error}"
            raise undecodable(message) from None

    def _read_head(self) -> list[str]:
        """Read up to the names of the columns; a line that nobody knows is nobody's."""
        for name, *rest in self._cells:
            if name.upper() == HEADER:
                return [name, *rest]
            value, second = (*rest, "", "")[:2]
            if name.upper() == "PARAMETER":
                self._parameter[value] = second
            else:
                self._facts[name.upper()] = value
        return []

    def _rows(self) -> Iterator[list[str]]:
        """Give the rows below the names of the columns, each as wide as those; the names may come again."""
        width = len(self._names)
        for cells in self._cells:
            if cells[0].upper() != HEADER:
                yield (cells + [""] * (width - len(cells)))[:width]

    def _fields(self, row: tuple[str, ...]) -> Fields:
        return {name: cell for name, cell in zip(self._names, row, strict=True) if name.upper() not in {DATE, VALUE}}
