"""The metadata of CO in their real size, made while they are sent: about 100 MB that are never held.

Every row that is made is as long as every other, so that any slice can be made by itself.
"""

from __future__ import annotations

import zlib
from typing import Final, SupportsIndex, overload

import msgspec

from .database import SampleDatabase
from .metadata import opening_of, told_rows
from .response_format import ResponseFormat
from .series import SampleRow

__all__ = ["SERIES", "Whole", "gzipped", "whole_of"]

SERIES: Final = 166_513
"""How many series the real database has."""

FIRST: Final = 1_000_000
"""The number of the first row that is made; all have as many digits."""

NAMES: Final = (
    "D.I./見本項目/全規模/全産業/実績/系列1000000/規則による生成値",
    "D.I./Sample Item/All Enterprises/All Industries/Actual result/Series 1000000/Made by Rule",
)
PIECE_BYTES: Final = 1 << 16
GZIP: Final = 16 + zlib.MAX_WBITS


class Whole(bytes):
    """Bytes that are made when a slice of them is taken: an opening, rows that differ in their number, a closing."""

    opening: bytes
    row: bytes
    many: int
    closing: bytes

    @classmethod
    def of(cls, opening: bytes, row: bytes, many: int, closing: bytes) -> Whole:
        """Describe them."""
        whole = cls()
        whole.opening, whole.row, whole.many, whole.closing = opening, row, many, closing
        return whole

    def __len__(self) -> int:
        return len(self.opening) + len(self.row) * self.many + len(self.closing)

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...
    def __getitem__(self, key: SupportsIndex | slice, /) -> int | bytes:
        if not isinstance(key, slice):
            place = range(len(self))[key]
            return self[place : place + 1][0]
        start, stop, _ = key.indices(len(self))
        rows, closing = len(self.opening), len(self) - len(self.closing)
        first = min(max(0, start - rows) // len(self.row), self.many)
        last = min(-(-max(0, stop - rows) // len(self.row)), self.many)
        made = b"".join(self.row.replace(b"%d" % FIRST, b"%d" % (FIRST + n)) for n in range(first, last))
        parts = ((0, self.opening), (rows + first * len(self.row), made), (closing, self.closing))
        return b"".join(part[max(0, start - at) : max(0, stop - at)] for at, part in parts)


def whole_of(manner: ResponseFormat, co: SampleDatabase) -> Whole:
    """Describe the metadata: the rows that the samples have, and then so many more."""
    last = co.rows[-1]
    opening, closing = opening_of(manner, "CO")
    row = told_rows(manner, [_made(last)])
    separated = b"," + row if manner.format == "json" else row
    have = sum(1 for one in co.rows if one.code)
    return Whole.of(opening + told_rows(manner, co.rows), separated, SERIES - have, closing)


def gzipped(body: bytes) -> bytes:
    """Compress a body piece by piece; what is made by rule shrinks to little."""
    press = zlib.compressobj(6, wbits=GZIP)
    pieces = (body[start : start + PIECE_BYTES] for start in range(0, len(body), PIECE_BYTES))
    return b"".join(map(press.compress, pieces)) + press.flush()


def _made(row: SampleRow) -> SampleRow:
    return msgspec.structs.replace(row, code=f"TK00S{FIRST}GCQ00000", names=NAMES, layers=(3, FIRST, 0, 0, 0))
