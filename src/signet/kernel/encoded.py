"""A result that its tool has written as JSON already, with one long list of rows.

    {"meta":{…},"entries":[row,row,…,row],"raw":"…"}
     └───────────────────┘ └──────┘        └──────┘   the outline, and batches of rows

Pure. As Python values a large list takes ten times the memory of its text, so the rows of a large result become values
one batch at a time: to be checked, and to be shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

import msgspec

from .wire import LARGE_RESULT_BYTES, decode_in_chunks, encode

if TYPE_CHECKING:
    from array import array

__all__ = ["EncodedResult", "EncodedRows", "ResultWriter"]

BATCH_ROWS: Final = 256
BATCH_BYTES: Final = 1_048_576
"""The size at which a batch ends, even if it has fewer rows."""
MAX_SHOWN_CHARS: Final = 1_000
"""The part of a long text that stands beside the second and later batches of a check."""

Json = dict[str, Any]


class EncodedResult(msgspec.Struct, frozen=True):
    """The JSON of a result."""

    body: bytearray
    rows: EncodedRows

    @property
    def is_large(self) -> bool:
        """Whether the result is too large to be one value."""
        return len(self.body) > LARGE_RESULT_BYTES

    def view(self) -> Json:
        """Return the result with rows that become values when they are read."""
        return {**self._outline(), self.rows.name: self.rows}

    def parts(self) -> Iterator[Json]:
        """Yield results with one batch of the rows each; together they have all that the result has."""
        outline = self._outline()
        for batch in self.rows.batches():
            yield {**outline, self.rows.name: batch}
            outline = {
                name: value[:MAX_SHOWN_CHARS] if type(value) is str else value for name, value in outline.items()
            }

    def _outline(self) -> Json:
        rows = self.rows
        outline: Json = decode_in_chunks(bytes(self.body[: rows.start]) + bytes(self.body[rows.ends[-1] :]))
        return outline


class EncodedRows(Sequence[Any]):
    """The rows of a result; a batch of them becomes values when one of them is read."""

    def __init__(self, body: bytearray, name: str, start: int, ends: array[int], firsts: array[int]) -> None:
        self.name = name
        """The member of the result that has the rows."""
        self.start = start
        self.ends = ends
        """The place behind each batch; without rows, the start alone."""
        self._body = body
        self._firsts = firsts
        """The number of the first row of each batch, and of all rows."""
        self._count = firsts[-1]
        self._read: tuple[int, list[Any]] = -1, []

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(self._count))]
        at = range(self._count)[place]
        number = self._read[0]
        if number < 0 or not self._firsts[number] <= at < self._firsts[number + 1]:
            from bisect import bisect

            number = bisect(self._firsts, at) - 1
            self._read = number, self._batch(number)
        return self._read[1][at - self._firsts[number]]

    def __iter__(self) -> Iterator[Any]:
        return (row for batch in self.batches() for row in batch)

    def batches(self) -> Iterator[list[Any]]:
        """Yield the rows in lists; one empty list where there are none."""
        return (self._batch(number) for number in range(len(self.ends)))

    def _batch(self, number: int) -> list[Any]:
        # Behind each batch but the last there is a comma.
        start = self.start if number == 0 else self.ends[number - 1] + 1
        rows: list[Any] = decode_in_chunks(b"[" + self._body[start : self.ends[number]] + b"]")
        return rows


class ResultWriter:
    """Writes a result whose list of rows is the last of its members, or the last but for a text."""

    def __init__(self, name: str, room: int) -> None:
        """Write the rows of the member `name`; `room` is kept for all that stands before them."""
        from array import array

        self.body = bytearray(room)
        self._name = name
        self._room = room
        self._ends = array("Q")
        self._firsts = array("Q", [0])
        self._batch_start = room
        self.count = 0

    def append(self, row: object) -> None:
        """Write a row."""
        is_full = self.count - self._firsts[-1] == BATCH_ROWS or len(self.body) - self._batch_start >= BATCH_BYTES
        if is_full:
            self._batch_start = len(self.body)
            self._ends.append(self._batch_start)
            self._firsts.append(self.count)
        if self.count:
            self.body += b","
        self.body += encode(row)
        self.count += 1

    def end(self, head: bytes, tail: Iterator[bytes]) -> EncodedResult:
        """Return the result: `head` is its JSON up to the list, `tail` what comes behind the last row."""
        # The room is cut off at the front, which moves nothing.
        unused = self._room - len(head)
        self._ends.append(len(self.body))
        self._firsts.append(self.count)
        for piece in tail:
            self.body += piece
        self.body[unused : self._room] = head
        del self.body[:unused]
        from array import array

        ends = array("Q", (end - unused for end in self._ends))
        return EncodedResult(self.body, EncodedRows(self.body, self._name, len(head), ends, self._firsts))
