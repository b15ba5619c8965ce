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
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Final, Protocol

import msgspec
from msgspec import Raw

from signet.kernel.json_limits import outside_strings

from .faults import too_large, undecodable
from .fields import NESTED, Fields, append_point, as_entry, as_series, close_points, points_from_arrays, text_of
from .models import MetadataEntry, Series
from .outline import STEP_BYTES, Buffer, Span, checked, more_members, read_outline, slices
from .validation import WHITE

__all__ = ["MAX_DATA_VALUES", "MAX_LIST_VALUES", "SHIFT_JIS", "BankResponse", "CsvResponse", "JsonResponse"]

MAX_ROWS: Final = 200_000
"""More than the series of the largest database."""
MORE_ROWS: Final = f"it has more than the {MAX_ROWS:,} rows that are read"
MAX_DATA_VALUES: Final = 700_000
"""More than 60,000 points have, each of which becomes ten times its text."""
MAX_LIST_VALUES: Final = 20 * MAX_ROWS
"""More than the list of the largest database has."""
MAX_ARRAYS: Final = 2 * MAX_ROWS + 1
"""Two for each row, and the rows themselves."""
MAX_MEMBERS: Final = 50_000
"""The members of an object, which is made in one step: so many take 25 ms."""
MAX_PARAMETERS: Final = 1_000
"""The parameters in a table: fifty times as many as the Bank sends."""
MAX_ROW_BYTES: Final = 16_777_216
"""The longest row, which is looked at in one step: so many bytes take 25 ms."""

MAX_LINE_BYTES: Final = 1_048_576
"""The longest line of a table; a line is made text in one step."""
MAX_CELL_CHARS: Final = 4_194_304
"""The longest cell, which may have several lines."""
MAX_CELLS: Final = 10_000_000
"""More than twice the cells of the largest table."""
MORE_CELLS: Final = f"it has more than the {MAX_CELLS:,} cells that are read"
MAX_COMMAS: Final = 10_000
"""The commas of one row, inside of quoted cells or not: they are counted before the row is split."""
LINE: Final = re.compile(rb"[^\r\n]{0,%d}+(?:\r\n?|\n)?" % (MAX_LINE_BYTES + 1))
SHIFT_JIS: Final = "cp932"
"""Windows' variant of Shift_JIS: the Bank's tables hold characters that plain Shift_JIS lacks."""
INVENTED: Final = re.compile("[\uf8f0-\uf8f3]")
"""The characters that Python makes of bytes which stand for none in Shift_JIS."""

ROWS: Final = "RESULTSET"
HEADER: Final = "SERIES_CODE"
DATE: Final = "SURVEY_DATES"
VALUE: Final = "VALUES"

NULL: Final = b"null"
_OBJECT: Final = msgspec.json.Decoder(dict[str, Raw])


class BankResponse(Protocol):
    """A response of the Bank; its parts are read when a method asks for them."""

    def fact(self, name: str) -> str | None:
        """Return a fact of the head, such as STATUS."""

    def parameter(self) -> Fields:
        """Return the query as the Bank understood it."""

    def series(self) -> list[Series]:
        """Return the rows of a data response."""

    def entries(self) -> Iterator[MetadataEntry]:
        """Yield the rows of a metadata response."""

    def text(self) -> Iterator[str]:
        """Yield the whole response as text, in pieces."""


class JsonResponse:
    """A response in JSON."""

    def __init__(self, body: Buffer, start: int, remedy: str, max_values: int) -> None:
        """Find the outline; raise Fault, with the remedy as its hint, for too many rows or values."""
        self._body = body
        self._start = start
        if _count(body, b"{") > MAX_ROWS:
            raise too_large(MORE_ROWS, remedy)
        if _count(body, b"[") > MAX_ARRAYS:
            raise undecodable(NESTED)
        # The exact count is slow, and few responses have so many commas, inside of strings or not.
        if _count(body, b",") > max_values and _count_outside(body, b",") > max_values:
            raise too_large(_more_values(max_values), remedy)
        self._outline = read_outline(body, start, ROWS, MAX_MEMBERS)

    def fact(self, name: str) -> str | None:
        """Return a fact of the head, such as STATUS."""
        span = self._outline.members.get(name)
        return None if span is None else text_of(self._body[span.start : span.end], name)

    def parameter(self) -> Fields:
        """Return the query as the Bank understood it."""
        span = self._outline.members.get("PARAMETER")
        is_null = span is None or self._body[span.start : span.end] == NULL  # rule: 3.output.tolerant
        return {} if span is None or is_null else _texts(_object(self._body, span))

    def series(self) -> list[Series]:
        """Return the rows of a data response."""
        return [_series(row) for row in self._rows()]  # rule: 3.limits.memory/2

    def entries(self) -> Iterator[MetadataEntry]:
        """Yield the rows of a metadata response."""
        return (as_entry(_texts(row)) for row in self._rows())  # rule: 3.output.metadata

    def text(self) -> Iterator[str]:
        """Yield the whole response as text, in pieces."""
        return _text(self._body, self._start, "utf-8")

    def _rows(self) -> Iterator[dict[str, Raw]]:
        span = self._outline.members.get(ROWS)
        if span is not None and self._body[span.start : span.start + 1] != b"[":
            raise undecodable(f"{ROWS} must be an array")
        ends = iter(self._outline.rows)
        return (_object(self._body, Span(start, end)) for start, end in zip(ends, ends, strict=True))


def _more_values(limit: int) -> str:
    return f"it has more than the {limit:,} values that are read"


def _count(body: Buffer, mark: bytes) -> int:
    return sum(body.count(mark, start, start + STEP_BYTES) for start in slices(body))


def _count_outside(text: Buffer, mark: bytes) -> int:
    """Return how often a mark stands outside of strings."""
    return sum(part.count(mark) for part in outside_strings(text))


def _text(body: Buffer, start: int, charset: str) -> Iterator[str]:
    """Yield the text of a body from a place on; raise ValueError where it is none."""
    decoder = getincrementaldecoder(charset)()
    for at in range(start, len(body), STEP_BYTES):
        yield _checked(decoder.decode(body[at : at + STEP_BYTES]), charset)
    yield decoder.decode(b"", final=True)


def _checked(text: str, charset: str) -> str:
    if charset == SHIFT_JIS and INVENTED.search(text) is not None:
        raise ValueError("it has bytes that stand for no character in Shift_JIS")
    return text


def _object(text: Buffer, span: Span) -> dict[str, Raw]:
    """Decode an object, one level deep; raise Fault for one that would take a long step."""
    start, end = span
    if end - start > MAX_ROW_BYTES:
        raise undecodable(f"a row has more than {MAX_ROW_BYTES:,} bytes")
    if text.count(b":", start, end) > MAX_MEMBERS and _count_outside(text[start:end], b":") > MAX_MEMBERS:
        raise undecodable(more_members(MAX_MEMBERS))
    return checked(_OBJECT.decode, memoryview(text)[start:end])


def _texts(values: dict[str, Raw]) -> dict[str, str | None]:
    return {name: text_of(value, name) for name, value in values.items()}


def _series(row: dict[str, Raw]) -> Series:
    """Read a row of a data response: scalar attributes, and VALUES with the two arrays."""
    key = next((name for name in row if name.upper() == VALUE), None)
    if key is None:
        raise undecodable("a series has no VALUES")
    values = bytes(row.pop(key))
    arrays = {name.upper(): value for name, value in _object(values, Span(0, len(values))).items()}
    if DATE not in arrays or VALUE not in arrays:
        raise undecodable("VALUES of a series has not both SURVEY_DATES and VALUES")
    return as_series(_texts(row), points_from_arrays(arrays[DATE], arrays[VALUE]))


class CsvResponse:
    """A response in CSV, read as far as the names of its columns."""

    def __init__(self, body: Buffer, start: int, charsets: tuple[str, ...], remedy: str) -> None:
        """Read the head, in the first of some charsets in which the whole body is text."""
        self._body = body
        self._start = start
        *likely, last = charsets
        self._charset = next((charset for charset in likely if _is_text(body, start, charset)), last)
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
        for row in self._rows():  # rule: 3.limits.memory
            date, value = row[date_at], row[value_at]
            if not date:
                raise undecodable(f"a row has no {DATE}")
            row[date_at] = row[value_at] = ""
            points = points_by_attributes.setdefault(tuple(row), bytearray())
            if len(points_by_attributes) * len(row) > MAX_DATA_VALUES:
                raise too_large(_more_values(MAX_DATA_VALUES), self._remedy)
            append_point(points, date, None if value.lower() in {"", "null"} else value)
        return [as_series(self._attributes(row), close_points(points)) for row, points in points_by_attributes.items()]

    def entries(self) -> Iterator[MetadataEntry]:
        """Yield the rows of a metadata response."""
        names = self._names
        return (as_entry({name: cell or None for name, cell in zip(names, row, strict=True)}) for row in self._rows())

    def text(self) -> Iterator[str]:
        """Yield the whole response as text, in pieces."""
        return _text(self._body, self._start, self._charset)

    def _lines(self) -> Iterator[str]:
        """Yield the lines as text; a quoted cell may hold line ends, so that a row may have several lines."""
        place = self._start
        while place < len(self._body) and (match := LINE.match(self._body, place)) is not None:
            line, place = match[0], match.end()
            self._row_commas += line.count(b",")
            if self._row_commas > MAX_COMMAS:
                raise undecodable(f"a row has more than {MAX_COMMAS:,} commas")
            if len(line) > MAX_LINE_BYTES:
                raise undecodable(f"a line has more than {MAX_LINE_BYTES:,} bytes")
            yield _checked(line.decode(self._charset), self._charset)

    def _read(self) -> Iterator[list[str]]:
        """Yield the trimmed cells of each line that is not blank."""
        import csv

        # For the whole process, the only way that the module has; nothing else here reads CSV.
        csv.field_size_limit(MAX_CELL_CHARS)
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
                return [name, *rest]
            value, second = (*rest, "", "")[:2]
            if name.upper() == "PARAMETER":
                if value:
                    self._parameter[value] = second or None
                if len(self._parameter) > MAX_PARAMETERS:
                    raise undecodable(f"it has more than {MAX_PARAMETERS:,} parameters")
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
        return {
            name: cell or None for name, cell in zip(self._names, row, strict=True) if name.upper() not in {DATE, VALUE}
        }


def _is_text(body: Buffer, start: int, charset: str) -> bool:
    try:
        return all(piece is not None for piece in _text(body, start, charset))
    except ValueError:
        return False
