"""The Bank's responses, opened: one class for JSON, one for CSV, with the same methods.

    {"STATUS": …, "PARAMETER": {…}, "RESULTSET": [row, row, …]}

    STATUS,200                             the head: one fact per line
    PARAMETER,DB,FM08
    SERIES_CODE,NAME_OF_TIME_SERIES,…      the names of the columns
    FXERD01,…,20261001,157.56              one observation, or one row of the tree, per line

Pure. Names match in any case. Of JSON only the outline is decoded at once, and rows and values stay bytes until they
are read; CSV is decoded line by line. So no single step takes long. A CSV row may have fewer or more cells than there
are columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

import msgspec
from msgspec import Raw

from signet.kernel.json_limits import outside_strings

from .faults import too_large, undecodable
from .fields import NESTED, Fields, append_point, as_entry, as_series, close_points, points_from_arrays, text_of
from .models import MetadataEntry, Series
from .validation import WHITE

__all__ = ["BankResponse", "CsvResponse", "JsonResponse"]

MAX_ROWS: Final = 200_000
"""More than the series of the largest database."""
MORE_ROWS: Final = f"it has more than the {MAX_ROWS:,} rows that are read"
MAX_VALUES: Final = 700_000
"""More than 60,000 points or a list of 33,000 series have; one value takes at most 65 ns of a single step."""
MORE_VALUES: Final = f"it has more than the {MAX_VALUES:,} values that are read"
MAX_ARRAYS: Final = 2 * MAX_ROWS + 1
"""Two for each row, and the rows themselves."""
MAX_MEMBERS: Final = 1_000
"""The members of an object, or the parameters in a table: fifty times as many as the Bank sends."""
FEW_MEMBERS: Final = 50_000
"""So many members are made in 25 ms, if one object has them all."""
MORE_MEMBERS: Final = f"an object of it has more than the {MAX_MEMBERS:,} members that are read"
OPENINGS: Final = {b"{": 0, b"[": -MAX_VALUES}
"""The width with which an object or an array begins: the items of an array do not count."""
BRACKET: Final = re.compile(rb"([^][{}]*+)([][{}]|\Z)")

MAX_LINE_BYTES: Final = 1_048_576
"""The longest line of a table; a line is made text in one step."""
MAX_CELLS: Final = 2_000_000
"""More than the longest table of observations has, of nine columns."""
MORE_CELLS: Final = f"it has more than the {MAX_CELLS:,} cells that are read"
MAX_COLUMNS: Final = 100
"""Five times the columns of a list of series; every row is made as wide as the names of the columns."""
MAX_COMMAS: Final = 10_000
"""The commas of one row, inside of quoted cells or not: they are counted before the row is split."""

HEADER: Final = "SERIES_CODE"
DATE: Final = "SURVEY_DATES"
VALUE: Final = "VALUES"

NULL: Final = Raw(b"null")
_OBJECT: Final = msgspec.json.Decoder(dict[str, Raw])
_ARRAY: Final = msgspec.json.Decoder(list[Raw])


class BankResponse(Protocol):
    """A response of the Bank; its parts are read when a method asks for them."""

    def fact(self, name: str) -> str | None:
        """Return a fact of the head, such as STATUS."""

    def parameter(self) -> Fields:
        """Return the query as the Bank understood it."""

    def series(self) -> list[Series]:
        """Return the rows of a data response."""

    def entries(self) -> list[MetadataEntry]:
        """Return the rows of a metadata response."""

    def text(self) -> str:
        """Return the whole response as text."""


class JsonResponse:
    """A response in JSON."""

    def __init__(self, body: bytes, remedy: str) -> None:
        """Decode the outline; raise Fault, with the remedy as its hint, for too many rows or values."""
        if body.count(b"{") > MAX_ROWS:
            raise too_large(MORE_ROWS, remedy)
        if body.count(b"[") > MAX_ARRAYS:
            raise undecodable(NESTED)
        # The exact counts are slow, and few responses have so many commas or members, inside of strings or not.
        if body.count(b",") > MAX_VALUES or body.count(b":") > FEW_MEMBERS:
            _check_values(body, remedy)
        self._body = body
        self._outline = {name.upper(): value for name, value in _OBJECT.decode(body).items()}

    def fact(self, name: str) -> str | None:
        """Return a fact of the head, such as STATUS."""
        return text_of(self._outline.get(name))

    def parameter(self) -> Fields:
        """Return the query as the Bank understood it."""
        raw = self._outline.get("PARAMETER")
        return {} if raw is None or raw == NULL else _texts(_OBJECT.decode(raw))

    def series(self) -> list[Series]:
        """Return the rows of a data response."""
        return [_series(row) for row in self._rows()]

    def entries(self) -> list[MetadataEntry]:
        """Return the rows of a metadata response."""
        return [as_entry(_texts(row)) for row in self._rows()]

    def text(self) -> str:
        """Return the whole response as text."""
        return self._body.decode()

    def _rows(self) -> Iterator[dict[str, Raw]]:
        raw = self._outline.get("RESULTSET")
        if raw is None:
            return iter(())
        return (_OBJECT.decode(row) for row in _ARRAY.decode(raw))


def _check_values(body: bytes, remedy: str) -> None:
    """Raise Fault for too many values, or too many members of one object, which is made in one step."""
    commas = 0
    widths = [0]
    for part in outside_strings(body):
        commas += part.count(b",")
        if commas > MAX_VALUES:
            raise too_large(MORE_VALUES, remedy)
        for between, bracket in BRACKET.findall(part):
            widths[-1] += between.count(b",")
            if widths[-1] >= MAX_MEMBERS:
                raise undecodable(MORE_MEMBERS)
            if bracket in OPENINGS:
                widths.append(OPENINGS[bracket])
            elif bracket and len(widths) > 1:
                widths.pop()


def _texts(values: dict[str, Raw]) -> dict[str, str | None]:
    return {name: text_of(value) for name, value in values.items()}


def _series(row: dict[str, Raw]) -> Series:
    """Read a row of a data response: scalar attributes, and VALUES with the two arrays."""
    key = next((name for name in row if name.upper() == VALUE), None)
    if key is None:
        raise undecodable("a series has no VALUES")
    arrays = {name.upper(): value for name, value in _OBJECT.decode(row.pop(key)).items()}
    if DATE not in arrays or VALUE not in arrays:
        raise undecodable("VALUES of a series has not both SURVEY_DATES and VALUES")
    return as_series(_texts(row), points_from_arrays(arrays[DATE], arrays[VALUE]))


class CsvResponse:
    """A response in CSV, read as far as the names of its columns."""

    def __init__(self, body: bytes, charset: str, remedy: str) -> None:
        self._body = body
        self._charset = charset
        self._remedy = remedy
        self._row_commas = 0
        self._cells = self._read()
        self._facts: dict[str, str] = {}
        self._parameter: dict[str, str | None] = {}
        self._names = self._read_head()

    def fact(self, name: str) -> str | None:
        """Return a fact of the head, such as STATUS."""
        return self._facts.get(name)

    def parameter(self) -> Fields:
        """Return the query as the Bank understood it."""
        return self._parameter

    def series(self) -> list[Series]:
        """Return the series of a data response: rows with equal attributes are one, in the order of the first row."""
        if not self._names:
            return []
        names = [name.upper() for name in self._names]
        if DATE not in names or VALUE not in names:
            raise undecodable(f"the table has not both columns {DATE} and {VALUE}")
        date_at, value_at = names.index(DATE), names.index(VALUE)
        points_by_attributes: dict[tuple[str, ...], bytearray] = {}
        for row in self._rows():
            date, value = row[date_at], row[value_at]
            if not date:
                raise undecodable(f"a row has no {DATE}")
            row[date_at] = row[value_at] = ""
            points = points_by_attributes.setdefault(tuple(row), bytearray())
            append_point(points, date, None if value.lower() in {"", "null"} else value)
        return [as_series(self._attributes(row), close_points(points)) for row, points in points_by_attributes.items()]

    def entries(self) -> list[MetadataEntry]:
        """Return the rows of a metadata response."""
        return [as_entry(dict(zip(self._names, row, strict=True))) for row in self._rows()]

    def text(self) -> str:
        """Return the whole response as text."""
        return self._body.decode(self._charset)

    def _lines(self) -> Iterator[str]:
        """Yield the lines as text; a quoted cell may hold line ends, so that a row may have several lines."""
        from io import BytesIO

        for line in BytesIO(self._body):
            self._row_commas += line.count(b",")
            if self._row_commas > MAX_COMMAS:
                raise undecodable(f"a row has more than {MAX_COMMAS:,} commas")
            if len(line) > MAX_LINE_BYTES:
                raise undecodable(f"a line has more than {MAX_LINE_BYTES:,} bytes")
            yield line.decode(self._charset)

    def _read(self) -> Iterator[list[str]]:
        """Yield the trimmed cells of each line that is not blank."""
        import csv

        try:
            # Only the CSV reader knows where a row ends.
            for count, row in enumerate(csv.reader(self._lines())):
                self._row_commas = 0
                if count == MAX_ROWS:
                    raise too_large(MORE_ROWS, self._remedy)
                cells = [cell.strip(WHITE) for cell in row]
                if any(cells):
                    yield cells
        except csv.Error as error:
            raise undecodable(f"it is no CSV: {error}") from None

    def _read_head(self) -> list[str]:
        """Read the head and return the names of the columns; every line before them is a fact, known or not."""
        for name, *rest in self._cells:
            if name.upper() == HEADER:
                if len(rest) >= MAX_COLUMNS:
                    raise undecodable(f"the table has more than {MAX_COLUMNS} columns")
                return [name, *rest]
            value, second = (*rest, "", "")[:2]
            if name.upper() == "PARAMETER":
                self._parameter[value] = second
                if len(self._parameter) > MAX_MEMBERS:
                    raise undecodable(f"it has more than {MAX_MEMBERS:,} parameters")
            else:
                self._facts[name.upper()] = value
        return []

    def _rows(self) -> Iterator[list[str]]:
        """Yield the rows, each as wide as the names of the columns; the line of names may be repeated."""
        width = len(self._names)
        for count, cells in enumerate(self._cells):
            if count * width > MAX_CELLS:
                raise too_large(MORE_CELLS, self._remedy)
            if cells[0].upper() != HEADER:
                yield (cells + [""] * (width - len(cells)))[:width]

    def _attributes(self, row: tuple[str, ...]) -> Fields:
        return {name: cell for name, cell in zip(self._names, row, strict=True) if name.upper() not in {DATE, VALUE}}
