"""An answer of the Bank's in JSON.

    {"STATUS": …, "PARAMETER": {…}, "RESULTSET": [row, row, …]}

Pure. Only the outline is read at once; rows and values stay the bytes that they are until it is their turn, so that
no step takes long. Names are matched in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Raw

from .faults import too_large, undecodable
from .fields import MAX_ROWS, MORE_ROWS, as_entry, as_series
from .models import MetadataEntry, Series
from .points import from_arrays, text_of

__all__ = ["JsonResponse"]

MAX_VALUES: Final = 700_000
"""More than 60,000 points or a list of 33,000 series have; at worst each takes 65 ns of one single step."""
MORE_VALUES: Final = f"it has more than the {MAX_VALUES:,} values that are read"
PIECE_BYTES: Final = 65_536

_OBJECT: Final = msgspec.json.Decoder(dict[str, Raw])
_ARRAY: Final = msgspec.json.Decoder(list[Raw])
NULL: Final = Raw(b"null")


class JsonResponse:
    """A JSON answer, opened; one that has too much in it is refused with an advice."""

    def __init__(self, body: bytes, advice: str) -> None:
        if body.count(b"{") > MAX_ROWS:
            raise too_large(MORE_ROWS, advice)
        # Few answers have so many commas that it matters which of them stand in texts.
        if body.count(b",") > MAX_VALUES and _separators(body) > MAX_VALUES:
            raise too_large(MORE_VALUES, advice)
        self._body = body
        self._frame = {name.upper(): value for name, value in _OBJECT.decode(body).items()}

    def fact(self, name: str) -> str | None:
        """Give a line of the head, such as STATUS."""
        return text_of(self._frame.get(name))

    def parameter(self) -> dict[str, str | None]:
        """Give what the Bank says that it understood."""
        raw = self._frame.get("PARAMETER")
        return {} if raw is None or raw == NULL else _texts(_OBJECT.decode(raw))

    def series(self) -> list[Series]:
        """Give the rows of a data answer."""
        return [_series(row) for row in self._rows()]

    def entries(self) -> list[MetadataEntry]:
        """Give the rows of a metadata answer."""
        return [as_entry(_texts(row)) for row in self._rows()]

    def text(self) -> str:
        """Give the whole answer as it came."""
        return self._body.decode()

    def _rows(self) -> Iterator[dict[str, Raw]]:
        raw = self._frame.get("RESULTSET")
        if raw is None:
            return iter(())
        return (_OBJECT.decode(row) for row in _ARRAY.decode(raw))


def _separators(body: bytes) -> int:
    """Count the commas that stand outside of strings, piece by piece."""
    count = within = start = 0
    while start < len(body):
        piece = body[start : start + PIECE_BYTES]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            # The last backslash belongs to what follows it.
            piece = body[start : start + PIECE_BYTES + 1]
        start += len(piece)
        parts = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        count += b"".join(parts[within::2]).count(b",")
        within ^= (len(parts) - 1) % 2
    return count


def _texts(values: dict[str, Raw]) -> dict[str, str | None]:
    return {name: text_of(value) for name, value in values.items()}


def _series(row: dict[str, Raw]) -> Series:
    """Read one row of a data answer: plain attributes, and VALUES with the two arrays."""
    held = next((name for name in row if name.upper() == "VALUES"), None)
    if held is None:
        raise undecodable("a series has no VALUES")
    arrays = {name.upper(): value for name, value in _OBJECT.decode(row.pop(held)).items()}
    if "SURVEY_DATES" not in arrays or "VALUES" not in arrays:
        raise undecodable("VALUES of a series has not both SURVEY_DATES and VALUES")
    return as_series(_texts(row), from_arrays(arrays["SURVEY_DATES"], arrays["VALUES"]))
