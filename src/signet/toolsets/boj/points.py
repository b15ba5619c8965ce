"""Observations, written as JSON while they are read, so that none of them ever becomes a Python value of its own.

    [202401,202402]  [11.50,null]  ──▶  [{"survey_date":"202401","value":"11.50"},{"survey_date":"202402","value":null}]

Pure. A number keeps its very digits. Arrays are taken in pieces: none holds the interpreter for more than a moment,
and a series of 60,000 points takes three times the room of the Bank's own text where Python values would take ten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Final

import msgspec
from msgspec import Raw

from .faults import undecodable

__all__ = ["EMPTY", "append_point", "close_points", "from_arrays", "text_of"]

EMPTY: Final = b"[]"
BATCH: Final = 512
PIECE_BYTES: Final = 8_192
BLANKS: Final = b" \t\r\n"
NESTED: Final = "a value is nested where a plain one should be"
NO_DATE: Final = "a date is null"
UNEQUAL: Final = "a series has not as many values as dates"
TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s,"]++')
"""A scalar, or what opens something nested; the array is known to be JSON."""

_encode: Final = msgspec.json.Encoder().encode
_decode_text: Final = msgspec.json.Decoder(str).decode


def text_of(raw: Raw | None) -> str | None:
    """Give a JSON scalar as text: a string's characters, a number's digits; null and nothing are none.

    Raises:
        Fault: it is an array or an object.
        ValueError: it is no Unicode text.
    """
    return None if raw is None else _text(bytes(raw))


def _text(token: bytes) -> str | None:
    if token == b'""':
        return ""
    if token == b"null":
        return None
    if token[:1] == b'"':
        return _decode_text(token)
    if token[:1] in {b"[", b"{"}:
        raise undecodable(NESTED)
    return token.decode()


def from_arrays(dates: Raw, values: Raw) -> bytes | bytearray:
    """Write the observations of a series from its two arrays.

    Raises:
        Fault: they are no arrays of plain values, have different lengths, or a date is null.
    """
    one, two = bytes(dates), bytes(values)
    if one[:1] != b"[" or two[:1] != b"[":
        raise undecodable("SURVEY_DATES and VALUES must be arrays")
    if b'"' in one or b'"' in two:
        return _joined(_any_pairs(one, two))
    one, two = one.translate(None, BLANKS), two.translate(None, BLANKS)
    if b"{" in one or b"{" in two or one.count(b"[") + two.count(b"[") > len((one, two)):
        raise undecodable(NESTED)
    # Of all that is plain, only null has this letter.
    if b"n" in one:
        raise undecodable(NO_DATE)
    if one.count(b",") != two.count(b",") or (one == EMPTY) != (two == EMPTY):
        raise undecodable(UNEQUAL)
    return _joined(_plain_pairs(one, two))


def append_point(points: bytearray, date: str, value: str | None) -> None:
    """Write one more observation behind those that are there; `close_points` ends the array."""
    points += b',{"survey_date":%b,"value":%b}' % (_encode(date), _encode(value))


def close_points(points: bytearray) -> bytes | bytearray:
    """End an array that was begun by `append_point`."""
    if not points:
        return EMPTY
    points[:1] = b"["
    points += b"]"
    return points


def _joined(objects: Iterator[bytes]) -> bytes | bytearray:
    points = bytearray()
    while batch := b",".join(islice(objects, BATCH)):
        points += b","
        points += batch
    return close_points(points)


def _plain_pairs(dates: bytes, values: bytes) -> Iterator[bytes]:
    """Write pairs of numbers, whose text needs no escaping."""
    return (
        b'{"survey_date":"%b","value":"%b"}' % (date, value)
        if value != b"null"
        else b'{"survey_date":"%b","value":null}' % date
        for date, value in zip(_split(dates), _split(values), strict=True)
    )


def _split(array: bytes) -> Iterator[bytes]:
    """Cut an array of numbers at its commas, a piece at a time."""
    start, last = 1, len(array) - 1
    while start < last:
        end = array.find(b",", start + PIECE_BYTES)
        end = last if end < 0 else end
        yield from array[start:end].split(b",")
        start = end + 1


def _any_pairs(dates: bytes, values: bytes) -> Iterator[bytes]:
    """Write pairs of whatever plain values there are."""
    for date, value in zip_longest(_tokens(dates), _tokens(values), fillvalue=b""):
        if not date or not value:
            raise undecodable(UNEQUAL)
        if date == b"null":
            raise undecodable(NO_DATE)
        yield b'{"survey_date":%b,"value":%b}' % (_encode(_text(date)), _encode(_text(value)))


def _tokens(array: bytes) -> Iterator[bytes]:
    return (found[0] for found in TOKEN.finditer(array, 1, len(array) - 1))
