"""The outline of a JSON object: where its members and the rows of one of them are, found without decoding them.

    {"STATUS": 200, …, "RESULTSET": [{…}, {…}, …]}
               └─┘                   └─┘  └─┘         spans of bytes

Pure. A decoder would make one step of a response of 100 MB, and hold the interpreter for all of it. Here every step
ends after one row or one MiB. Grammar is checked where a span is decoded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from signet.kernel.wire import without_halves

__all__ = ["Buffer", "ResultOutline", "Span", "checked", "more_members", "read_outline", "slices"]

Buffer = bytes | bytearray
T = TypeVar("T")

STEP_BYTES: Final = 1_048_576
"""The bytes that one step looks at."""
MAX_CHECKED_BYTES: Final = STEP_BYTES
"""The largest unknown member whose grammar is checked."""

NOT_BLANK: Final = re.compile(rb"[^ \t\r\n]")
SCALAR: Final = re.compile(rb'[^\s,:"\[\]{}]{1,4194304}+')
TEXT: Final = re.compile(rb'[^"\\]{0,%d}+(?:\\.[^"\\]{0,64}+|(?!)){0,4096}+' % STEP_BYTES, re.DOTALL)
"""A part of a string."""
FLAT: Final = re.compile(rb'\{[^]["{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+|(?!))*+"[^]["{}]*+|(?!))*+\}', re.DOTALL)
"""An object that holds scalars alone; as fast as a row can be found."""
STOP: Final = re.compile(rb'["\[\]{}]')
TRUNCATED: Final = "Input data was truncated"

_check: Final = msgspec.json.Decoder(msgspec.Raw).decode
_name: Final = msgspec.json.Decoder(str).decode


class Span(NamedTuple):
    """The place of a value."""

    start: int
    end: int


class ResultOutline(NamedTuple):
    """The members of an object by their names in upper case, and the rows of one of them."""

    members: dict[str, Span]
    rows: array[int]
    """The start and the end of each row, one after the other; empty if the member is not an array."""


def more_members(limit: int) -> str:
    """Return the words for an object that has too many members."""
    return f"an object of it has more than the {limit:,} members that are read"


def slices(text: Buffer) -> range:
    """Return the starts of the slices of `STEP_BYTES` that a text has."""
    return range(0, len(text), STEP_BYTES)


def read_outline(text: Buffer, start: int, rows_of: str, max_members: int) -> ResultOutline:
    """Return the outline of the object that begins at `start`; of equal names, the last counts.

    Raises:
        ValueError: the text is not a JSON object, or has too many members.
    """
    outline, count = ResultOutline({}, array("Q")), 0
    place = _expect(text, start, b"{")
    if _peek(text, place) == b"}":
        return _ended(text, _expect(text, place, b"}"), outline)
    while True:
        place, key = _key(text, place)
        first = _skip_blank(text, place)
        if key == rows_of and text[first : first + 1] == b"[":
            del outline.rows[:]
            end = _read_rows(text, first, outline.rows)
        else:
            end = _skip_value(text, first)
            if end - first <= MAX_CHECKED_BYTES:
                checked(_check, text[first:end])
        outline.members[key] = Span(first, end)
        count += 1
        if count > max_members:
            raise ValueError(more_members(max_members))
        mark = _peek(text, end)
        place = _expect(text, end, b"," if mark == b"," else b"}")
        if mark != b",":
            return _ended(text, place, outline)


def checked(decode: Callable[[Any], T], text: Buffer | memoryview) -> T:
    """Decode JSON; raise ValueError with the reason where msgspec's own is wrong."""
    try:
        return decode(text)
    except msgspec.DecodeError:
        if without_halves(bytes(text), rb"\ufffd") != text:
            raise ValueError("a text holds half a surrogate pair") from None
        raise


def _ended(text: Buffer, place: int, outline: ResultOutline) -> ResultOutline:
    if _skip_blank(text, place) < len(text):
        raise ValueError("there is more behind the end of the JSON")
    return outline


def _key(text: Buffer, place: int) -> tuple[int, str]:
    """Return the end of a name with its colon, and the name."""
    start = _skip_blank(text, place)
    if text[start : start + 1] != b'"':
        raise ValueError(TRUNCATED if start >= len(text) else "a member has no name")
    end = _skip_string(text, start)
    return _expect(text, end, b":"), checked(_name, text[start:end]).upper()


def _read_rows(text: Buffer, start: int, rows: array[int]) -> int:
    """Note the spans of the items of an array, and return its end."""
    place = _expect(text, start, b"[")
    if _peek(text, place) == b"]":
        return _expect(text, place, b"]")
    while True:
        first = _skip_blank(text, place)
        end = _skip_value(text, first)
        rows.append(first)
        rows.append(end)
        mark = _peek(text, end)
        place = _expect(text, end, b"," if mark == b"," else b"]")
        if mark != b",":
            return place


def _skip_value(text: Buffer, start: int) -> int:
    """Return the end of the value that begins at `start`."""
    flat = FLAT.match(text, start, start + STEP_BYTES)
    if flat is not None:
        return flat.end()
    first = text[start : start + 1]
    if first == b'"':
        return _skip_string(text, start)
    if first not in (b"{", b"["):
        scalar = SCALAR.match(text, start)
        if scalar is None:
            raise ValueError(TRUNCATED if start >= len(text) else "a value is missing")
        return scalar.end()
    return _skip_nested(text, start)


def _skip_nested(text: Buffer, start: int) -> int:
    depth, place = 0, start
    while place < len(text):
        stop = STOP.search(text, place, place + STEP_BYTES)
        if stop is None:
            place += STEP_BYTES
            continue
        mark = stop[0]
        place = stop.end()
        if mark == b'"':
            place = _skip_string(text, stop.start())
        else:
            depth += 1 if mark in b"{[" else -1
            if depth == 0:
                return place
    raise ValueError(TRUNCATED)


def _skip_string(text: Buffer, start: int) -> int:
    place = start + 1
    while True:
        part = TEXT.match(text, place)
        if part is None or part.end() == place:
            break
        place = part.end()
    if text[place : place + 1] != b'"':
        raise ValueError(TRUNCATED)
    return place + 1


def _skip_blank(text: Buffer, place: int) -> int:
    while place < len(text):
        found = NOT_BLANK.search(text, place, place + STEP_BYTES)
        if found is not None:
            return found.start()
        place += STEP_BYTES
    return len(text)


def _peek(text: Buffer, place: int) -> Buffer:
    at = _skip_blank(text, place)
    return text[at : at + 1]


def _expect(text: Buffer, place: int, mark: bytes) -> int:
    """Return the place behind a mark; raise ValueError if anything else is there."""
    at = _skip_blank(text, place)
    if text[at : at + 1] != mark:
        raise ValueError(TRUNCATED if at >= len(text) else f"it is no JSON: {mark.decode()!r} is missing")
    return at + 1
